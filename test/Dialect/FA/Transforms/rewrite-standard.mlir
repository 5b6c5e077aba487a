// RUN: fa-opt %s -fa-rewrite-standard | FileCheck %s
// RUN: fa-opt %s -fa-rewrite-standard -fa-tile-attention | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: func.func @f
// CHECK:         %[[S:.*]] = fa.scores query(%{{.*}}) key(%{{.*}}) captures() scale(1.250000e-01) mask {
// CHECK:         %[[P:.*]], %[[LSE:.*]] = fa.softmax %[[S]] : (tensor<?x8x?x?xf32>) -> (tensor<?x8x?x?xbf16>, tensor<?x8x?xf32>)
// CHECK:         %[[O:.*]] = fa.weighted_sum %[[P]], %{{.*}}
// CHECK:         return %[[O]], %[[LSE]]

// TILED-LABEL: func.func @f
// TILED:         %[[S:.*]] = fa.map_blocks @f_scores over({{.*}}) axes(b, h, rows by 64) : tensor<?x8x?x64xbf16> -> tensor<?x8x?x?xf32>
// TILED:         %[[P:.*]]:2 = fa.map_blocks @f_softmax over(%[[S]])
// TILED:         %[[O:.*]] = fa.map_blocks @f_weighted_sum over(%[[P]]#0)
// TILED:         return %[[O]], %[[P]]#1
func.func @f(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>, %v: tensor<?x2x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>)
  return %o, %lse : tensor<?x8x?x64xbf16>, tensor<?x8x?xf32>
}

// A sink is where the maximum and the sum of a row begin.
// CHECK-LABEL: func.func @sink
// CHECK:         fa.softmax %{{.*}} sink(%{{.*}}) : (tensor<?x8x?x?xf32>, tensor<8xf32>)
// TILED-LABEL: func.func @sink
// TILED:         fa.map_blocks @sink_softmax
// TILED:           %[[Z:.*]] = tile.load {{.*}} : tensor<8xf32> -> f32
// TILED:           %[[SINK:.*]] = tile.broadcast %[[Z]] : f32 -> tensor<64xf32>
// TILED:           %[[M:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[SINK]])
// TILED:           %[[MOST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[M]]
// TILED:           arith.subf %[[SINK]], %[[MOST]]
// TILED:           %[[P:.*]] = math.exp2
// TILED:           scf.for {{.*}} iter_args(%{{.*}} = %[[P]])
func.func @sink(%q: tensor<?x8x?x64xf32>, %z: tensor<8xf32>) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%q) value(%q) sink(%z)
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<8xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
