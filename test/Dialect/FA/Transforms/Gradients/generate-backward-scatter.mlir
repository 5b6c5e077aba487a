// RUN: fa-opt %s -split-input-file -fa-generate-backward | FileCheck %s
// RUN: not fa-opt %s -split-input-file -fa-generate-backward=deterministic=true 2>&1 | FileCheck %s --check-prefix=REFUSED

// What is read at computed indices, or at one index twice, gets its weights added where it was read: of f32 in f64,
// since one place may be that of all pairs.

// REFUSED: error: the gradient of 'table' takes atomics, which add in any order: the score reads it at an index that is not b, h, i or j, or at one of them twice, or of sequences at another than h; leave out deterministic, or choose the gradients without it (gradients=...)

// CHECK-LABEL: func.func @computed_backward(
// CHECK:         %[[R:.*]]:4 = fa.pairwise
// CHECK:           ^bb0({{.*}}, %[[H:[a-z0-9]+]]: index, %[[I:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: index, %{{[a-z0-9]+}}: tensor<?x?xf32>
// CHECK:           %[[D:.*]] = arith.subi %[[I]], %[[J]]
// CHECK:           fa.yield %{{.*}}, %[[DX:.*]], %[[DX]], %[[H]], %[[D]] : f32, f32, f32, index, index
// CHECK:         } sums [#fa.sum<1[b, h, rows] times 0 factor {{.*}}>, #fa.sum<1[b, hk, keys] times 0 factor {{.*}}>, #fa.sum<0[b, hk, keys] times 1>, #fa.sum<2 as 0 at[3, 4]>]
// CHECK-SAME:      tensor<?x?xf64>)
// CHECK:         %[[SUM:.*]] = fa.map_blocks @computed_backward_add_3 {{.*}} -> tensor<?x?xf32>
// CHECK:           tile.load %[[R]]#3{{.*}} -> tensor<128xf64>
// CHECK:           arith.truncf {{.*}} : tensor<128xf64> to tensor<128xf32>
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[SUM]]
func.func @computed(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"},
                    %table: tensor<?x?xf32> {fa.name = "table"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x?xf32>):
    %d = arith.subi %i, %j : index
    %x = tensor.extract %t[%h, %d] : tensor<?x?xf32>
    %y = arith.addf %s, %x : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x?xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// Of f16 in the table's own type, in f32 before; beside a place that is known.

// CHECK-LABEL: func.func @places_backward(
// CHECK:         %[[R:.*]]:5 = fa.pairwise
// CHECK:         } sums [{{.*}}, #fa.sum<2 as 0 at[3, 4]>, #fa.sum<5[h, keys]>]
// CHECK-SAME:      tensor<?x?xf32>, tensor<?x?xf32>)
// CHECK:         %[[SUM:.*]] = fa.map_blocks @places_backward_add_3 {{.*}} -> tensor<?x?xf16>
// CHECK:           tile.load %[[R]]#3
// CHECK:           tile.load %[[R]]#4
// CHECK:           arith.truncf
// CHECK:         return %[[R]]#0, %[[R]]#1, %[[R]]#2, %[[SUM]]
func.func @places(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}, %v: tensor<?x8x?x64xf32> {fa.name = "v"},
                  %table: tensor<?x?xf16> {fa.name = "table"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures(%table) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %t: tensor<?x?xf16>):
    %x0 = tensor.extract %t[%h, %h] : tensor<?x?xf16>
    %x1 = tensor.extract %t[%h, %j] : tensor<?x?xf16>
    %x = arith.addf %x0, %x1 : f16
    %e = arith.extf %x : f16 to f32
    %y = arith.addf %s, %e : f32
    fa.yield %y : f32
  } : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x?xf16>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}

// -----

// One tensor that is several operands: its gradients as each are added up, by blocks of rows, as what it is captured for.

// CHECK-LABEL: func.func @same_backward(
// CHECK-SAME:    -> (tensor<?x8x?x64xf32> {fa.dims = [{{.*}}], fa.name = "dq"}, tensor<?x8x?x64xf32> {fa.dims = [{{.*}}], fa.name = "dk"})
// CHECK:         %[[R:.*]]:3 = fa.pairwise rows(%[[Q:.*]], %{{.*}}) columns(%[[K:.*]], %[[Q]])
// CHECK:         } sums [#fa.sum<1[b, h, rows] times 0 factor {{.*}}>, #fa.sum<0[b, hk, keys] times 1>, #fa.sum<1[b, hk, keys] times 0 factor {{.*}}>]
// CHECK:         %[[SUM:.*]] = fa.map_blocks @same_backward_add_0 over(%[[Q]]) axes(b, h, rows by ?)
// CHECK:           tile.load %[[R]]#0
// CHECK:           tile.load %[[R]]#1
// CHECK:         return %[[SUM]], %[[R]]#2
func.func @same(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"}) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%q) : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
}
