// RUN: fa-opt %s -fa-rewrite-standard -fa-tile-attention -convert-fa-to-tile | FileCheck %s

// The length of the scores comes from the key, whatever else is loaded along the keys.
// CHECK-LABEL: tile.func @bias_scores
// CHECK-SAME: tile.workspace = [1, 2, ["q", 2], ["k", 2]]
func.func @bias(%q: tensor<1x2x?x8xf32> {fa.name = "q"}, %k: tensor<1x2x?x8xf32> {fa.name = "k"},
                %v: tensor<1x2x?x8xf32> {fa.name = "v"},
                %x: tensor<?x?xf32> {fa.name = "x", fa.dims = ["Sq", "Sk"]}) -> tensor<1x2x?x8xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) with [bias(%x)]
    : (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<?x?xf32>) -> tensor<1x2x?x8xf32>
  return %o : tensor<1x2x?x8xf32>
}
