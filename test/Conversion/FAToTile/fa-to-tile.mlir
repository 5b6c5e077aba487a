// RUN: fa-opt %s -fa-rewrite-online-softmax -fa-tile-attention -convert-fa-to-tile | FileCheck %s
// RUN: fa-opt %s -fa-rewrite-standard -fa-tile-attention -convert-fa-to-tile | FileCheck %s --check-prefix=STANDARD

// CHECK: #[[MAP:.*]] = affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 64)>
// CHECK:       tile.func @f(%[[Q:.*]]: !tile.view<?x8x?x64xbf16> {tile.dims = ["B", "Hq", "Sq", "D"], tile.name = "q"}, %[[K:.*]]: !tile.view<?x2x?x64xbf16> {tile.dims = ["B", "Hk", "Sk", "D"], tile.name = "k"},
// CHECK-SAME:    !tile.view<?x8x?x64xbf16> {tile.dims = ["B", "Hq", "Sq", "Dv"], tile.name = "o", tile.output}
// CHECK-SAME:    !tile.view<?x8x?xf32> {tile.dims = ["B", "Hq", "Sq"], tile.name = "lse", tile.output}
// CHECK-SAME:    %[[B:.*]]: index, %[[H:.*]]: index, %[[T:.*]]: index) grid #[[MAP]] sizes [0, 0, 0, 1, 0, 2]
// CHECK-SAME:    tile.entry = "f"
// CHECK:         %[[I:.*]] = arith.muli %[[T]]
// CHECK:         tile.dim %[[Q]], 2
// CHECK:         tile.load %[[Q]][%[[B]], %[[H]], %[[I]],
// CHECK-NOT:   func.func

// STANDARD:      tile.func @f_scores
// STANDARD-SAME:   {tile.name = "f_scores_ws", tile.output, tile.workspace = {{\[\[}}"q", 0], 8, ["q", 2], ["k", 2]]}
// STANDARD:      tile.func @f_softmax
// STANDARD-SAME:   {tile.name = "f_scores_ws", tile.workspace = {{\[\[}}"q", 0], 8, ["q", 2], ["k", 2]]}
// STANDARD-SAME:   {tile.dims = ["B", "Hq", "Sq"], tile.name = "lse", tile.output}
// STANDARD:      tile.func @f_weighted_sum
// STANDARD-SAME:   tile.name = "v"
func.func @f(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x2x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x2x?x64xbf16> {fa.name = "v"}) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}
