// RUN: fa-opt %s -fa-generate-backward -fa-rewrite-pairwise | FileCheck %s

// Weights that only ask whether dropout keeps a pair take that, not its factor. What it clears of a weight is cleared
// after the mask: ds reads the masked P, as it does without dropout.

// CHECK-LABEL: fa.map_blocks @dropout_backward_keys
// CHECK:         %[[DOT0:.*]] = tile.dot
// CHECK:         %[[DOT1:.*]] = tile.dot
// CHECK:         %[[P:.*]] = fa.apply %[[DOT0]]
// CHECK-NOT:     arith.select
// CHECK:         %[[MASKED:.*]] = fa.apply_mask %[[P]]
// CHECK:         tile.random_bits
// CHECK:         %[[KEPT:.*]] = arith.cmpi uge
// CHECK:         %[[CLEARED:.*]] = arith.select %[[KEPT]], %[[MASKED]], %{{.*}}
// CHECK:         arith.truncf %[[CLEARED]]
// CHECK:         fa.apply {{.*}}%[[DOT1]], %[[MASKED]], %[[KEPT]]
// CHECK:           arith.select
func.func @dropout(%q: tensor<?x8x?x64xbf16> {fa.name = "q"}, %k: tensor<?x8x?x64xbf16> {fa.name = "k"},
    %v: tensor<?x8x?x64xbf16> {fa.name = "v"}, %p: f32 {fa.name = "p"}, %seed: i64 {fa.name = "seed"}, %offset: i64 {fa.name = "offset"})
    -> (tensor<?x8x?x64xbf16> {fa.name = "o"}, tensor<?x8x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) dropout(%p, %seed, %offset)
    : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>, f32, i64, i64)
    -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}
