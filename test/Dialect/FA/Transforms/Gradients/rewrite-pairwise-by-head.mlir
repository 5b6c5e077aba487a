// RUN: fa-opt %s --fa-rewrite-pairwise=split-groups=true -split-input-file | FileCheck %s
//
// Sums at keys a query head at a time.

// A block is of one query head and its keys, without a loop over a group; its sums are f32, the factor included, and
// as many as query heads. A kernel after it adds up those of a group, in order, and rounds.
// CHECK-LABEL: func.func @group(
// CHECK-SAME:    %[[X:.*]]: tensor<?x8x?x64xbf16>, %[[Y:.*]]: tensor<?x2x?x64xbf16>)
// CHECK:         %[[PARTS:.*]]:2 = fa.map_blocks @group_keys over(%[[X]], %[[Y]]) axes(b, h, keys by ?) : {{.*}} -> (tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
// CHECK-SAME:      {fa.sizes = [array<i64: 0, 0, 0, 1, 1, 2>, array<i64: 0, 0, 0, 1, 1, 2>]}
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[H:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK:           %[[HK:.*]] = arith.divui %[[H]],
// CHECK:           tile.load %[[Y]][%[[B]], %[[HK]], %[[J]],
// CHECK:           %[[S:.*]]:2 = scf.for
// CHECK-NOT:         scf.for
// CHECK:             tile.load %[[X]][%[[B]], %[[H]],
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[S]]#0
// CHECK:           tile.store %[[SCALED]], %{{.*}}[%[[B]], %[[H]], %[[J]],
// CHECK:           tile.store %[[S]]#1, %{{.*}}[%[[B]], %[[H]], %[[J]]]
// CHECK:         %[[SUM:.*]] = fa.map_blocks @group_keys_sum over(%[[Y]]) axes(b, hk, keys by ?) : {{.*}} -> tensor<?x2x?x64xbf16>
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[HK:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index,
// CHECK:           %[[ADDED:.*]] = scf.for %[[H:.*]] = %{{.*}} to %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}})
// CHECK:             %[[PART:.*]] = tile.load %[[PARTS]]#0[%[[B]], %[[H]], %[[J]], %{{.*}}] dims [2, 3]
// CHECK-NEXT:        %[[NEXT:.*]] = arith.addf %[[ACC]], %[[PART]]
// CHECK-NEXT:        scf.yield %[[NEXT]]
// CHECK:           %[[ROUNDED:.*]] = arith.truncf %[[ADDED]]
// CHECK:           tile.store %[[ROUNDED]], %{{.*}}[%[[B]], %[[HK]], %[[J]],
// CHECK:         return %[[SUM]], %[[PARTS]]#1
func.func @group(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x2x?x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0 factor 0.5 : f64>, #fa.sum<0 [b, h, keys]>]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>)
  return %r#0, %r#1 : tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>
}

// -----

// Each query head has one of its own: nothing to add up.
// CHECK-LABEL: func.func @heads(
// CHECK:         fa.map_blocks @heads_keys over(%{{.*}}) axes(b, hk, keys by ?) : {{.*}} -> tensor<?x8x?x64xbf16>
// CHECK-NOT:     fa.map_blocks
func.func @heads(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16> {
  %r = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %s : f32
    } sums [#fa.sum<0 [b, hk, keys] times 0>] : (tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>) -> tensor<?x8x?x64xbf16>
  return %r : tensor<?x8x?x64xbf16>
}
