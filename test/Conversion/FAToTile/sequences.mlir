// RUN: fa-opt %s -fa-rewrite-online-softmax -fa-tile-attention -convert-fa-to-tile -split-input-file | FileCheck %s

// The grid follows from shapes alone. A block finds its sequence by bisection of the starts; rows and keys are slices.
// CHECK: #[[MAP:.*]] = affine_map<()[s0, s1, s2] -> (s0, s1 ceildiv 64 + s2)>
// CHECK:       tile.func @packed(%[[Q:[a-z0-9_]+]]: !tile.view<8x?x64xbf16> {tile.dims = ["Hq", "Tq", "D"], tile.name = "q"},
// CHECK-SAME:    %[[K:[a-z0-9_]+]]: !tile.view<2x?x64xbf16> {tile.dims = ["Hk", "Tk", "D"], tile.name = "k"},
// CHECK-SAME:    %[[CU:[a-z0-9_]+]]: !tile.view<?xi32> {tile.dims = ["B+1"], tile.name = "cu"},
// CHECK-SAME:    %[[O:[a-z0-9_]+]]: !tile.view<8x?x64xbf16> {tile.dims = ["Hq", "Tq", "Dv"], tile.name = "o", tile.output}
// CHECK-SAME:    %[[LSE:[a-z0-9_]+]]: !tile.view<8x?xf32> {tile.dims = ["Hq", "Tq"], tile.name = "lse", tile.output}
// CHECK-SAME:    %[[H:[a-z0-9_]+]]: index, %[[BLOCK:[a-z0-9_]+]]: index) grid #[[MAP]] sizes [0, 0, 0, 1, 3, 0]
// CHECK:         %[[TOKENS:[a-z0-9_]+]] = tile.dim %[[Q]], 1
// CHECK:         math.ctlz
// CHECK:         %[[NUMBER:.*]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK:         scf.for {{.*}} : i32
// CHECK-COUNT-3:   arith.cmpi sle, %{{.*}}, %[[NUMBER]] : i32
// CHECK:           scf.yield
// A block without a row of its sequence visits no key.
// CHECK:         %[[ANY:[a-z0-9_]+]] = arith.cmpi slt, %[[I:[a-z0-9_]+]], %{{.*}} : index
// CHECK:         %[[SK:[a-z0-9_]+]] = arith.select %[[ANY]], %{{.*}}, %{{.*}} : index
// CHECK:         %[[ROWS:[a-z0-9_]+]] = tile.slice %[[Q]] dim 1 from
// CHECK:         tile.load %[[ROWS]][%[[H]], %[[I]], %{{.*}}] dims [1, 2]
// CHECK:         %[[KEYS:[a-z0-9_]+]] = tile.slice %[[K]] dim 1 from
// CHECK:         scf.for %[[J:[a-z0-9_]+]] = %{{.*}} to %[[SK]]
// CHECK:           tile.load %[[KEYS]][%{{.*}}, %[[J]], %{{.*}}] dims [1, 2]
// CHECK:         tile.slice %[[O]] dim 1 from
// CHECK:         tile.slice %[[LSE]] dim 1 from
func.func @packed(%q: tensor<8x?x64xbf16> {fa.name = "q"}, %k: tensor<2x?x64xbf16> {fa.name = "k"},
                  %v: tensor<2x?x64xbf16> {fa.name = "v"}, %cu: tensor<?xi32> {fa.name = "cu"})
    -> (tensor<8x?x64xbf16>, tensor<8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<8x?x64xbf16>, tensor<2x?x64xbf16>, tensor<2x?x64xbf16>, tensor<?xi32>, tensor<?xi32>)
      -> (tensor<8x?x64xbf16>, tensor<8x?xf32>)
  return %o, %lse : tensor<8x?x64xbf16>, tensor<8x?xf32>
}

// -----

// Lengths alone leave the grid and the batch as they are.
// CHECK: #[[MAP:.*]] = affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 64)>
// CHECK:       tile.func @padded(%[[Q:[a-z0-9_]+]]: !tile.view<?x8x?x64xf32>
// CHECK-SAME:    %[[N:[a-z0-9_]+]]: !tile.view<?xi64> {tile.dims = ["B"], tile.name = "n"}
// CHECK-SAME:    %[[B:[a-z0-9_]+]]: index, %[[H:[a-z0-9_]+]]: index, %{{.*}}: index) grid #[[MAP]]
// CHECK:         tile.load %[[N]][%[[B]]] : !tile.view<?xi64> -> i64
// CHECK:         tile.slice %{{.*}} dim 2 from
func.func @padded(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x2x?x64xf32> {fa.name = "k"},
                  %v: tensor<?x2x?x64xf32> {fa.name = "v"}, %n: tensor<?xindex> {fa.name = "n"})
    -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) sequences(key_lengths(%n))
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?x2x?x64xf32>, tensor<?xindex>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
