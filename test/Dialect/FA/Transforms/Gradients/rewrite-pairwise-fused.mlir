// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise=form=fused | FileCheck %s
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise="form=fused split-groups" | FileCheck %s --check-prefix=HEADS
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise="form=fused columns=32 narrow-columns=64" | FileCheck %s --check-prefix=WIDE
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise="form=fused sum-columns=128" | FileCheck %s --check-prefix=NARROW
// RUN: sed s/x64x/x96x/g %s | fa-opt -split-input-file -fa-rewrite-pairwise="form=fused sum-columns=128" | FileCheck %s --check-prefix=PADDED
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise=form=fused -fa-analyze-mask | FileCheck %s --check-prefix=MASK
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise=form=fused -o /dev/null --remarks=fa-rewrite-pairwise 2>&1 | FileCheck %s --check-prefix=REMARK

// Blocks of keys have all sums. To those at rows, which an earlier kernel sets to 0, they add the part of each
// tile by atomics; a last kernel multiplies them by their factor and rounds them.

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: {{.*}}, %[[Y:[a-z0-9]+]]: tensor
// CHECK:         %[[ZERO:.*]] = fa.map_blocks @both_keys_zero over(%[[X]]) axes(b, h, rows by ?) {{.*}} -> tensor<?x8x?x64xf32>
// CHECK:         %[[R:.*]]:2 = fa.map_blocks @both_keys over(%[[Y]]) inits(%[[ZERO]]) axes(b, hk, keys by ?) {{.*}} {
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[HK:[a-z0-9]+]]: index, %[[J:[a-z0-9]+]]: index, %[[DY:[a-z0-9]+]]: {{.*}}, %[[DX:[a-z0-9]+]]: !tile.view<?x8x?x64xf32>):
// CHECK:           %[[YT:.*]] = tile.load %[[Y]][%[[B]], %[[HK]], %[[J]],
// CHECK:           scf.for %[[H:[a-z0-9_]+]] =
// CHECK:             scf.for %[[I:[a-z0-9_]+]] =
// CHECK:               %[[XT:.*]] = tile.load %[[X]][%[[B]], %[[H]], %[[I]],
// CHECK:               %[[W:.*]] = fa.apply_mask
// CHECK-DAG:           %[[WT:.*]] = tile.transpose
// CHECK-DAG:           %[[PART:.*]] = tile.dot %{{.*}}, %[[YT]], %{{.*}} precision
// CHECK:               tile.accumulate %[[PART]], %[[DX]][%[[B]], %[[H]], %[[I]], %{{.*}}] dims [2, 3]
// CHECK:           tile.store %{{.*}}, %[[DY]][%[[B]], %[[HK]], %[[J]],
// CHECK:         %[[LAST:.*]] = fa.map_blocks @both_rows_convert over(%[[X]]) axes(b, h, rows by ?)
// CHECK:           %[[SUM:.*]] = tile.load %[[R]]#1
// CHECK:           %[[SCALED:.*]] = arith.mulf %[[SUM]],
// CHECK:           arith.truncf %[[SCALED]]
// CHECK:         return %[[LAST]], %[[R]]#0

// Memory has whole panels of columns where these are more than half of two; what is added to it, and what is converted,
// has the head's.
// NARROW-LABEL: func.func @both(
// NARROW: fa.map_blocks @both_keys_zero {{.*}} -> tensor<?x8x?x64xf32>
// PADDED-LABEL: func.func @both(
// PADDED: fa.map_blocks @both_keys_zero {{.*}} -> tensor<?x8x?x128xf32>
// PADDED: fa.map_blocks @both_keys over
// PADDED: tile.accumulate %{{.*}} inside : tensor<?x96xf32, {{.*}}>, <?x8x?x128xf32>
// PADDED: fa.map_blocks @both_rows_convert
// PADDED: tile.load %{{.*}} : tensor<?x8x?x128xf32> -> tensor<?x96xf32,
// PADDED: tile.store %{{.*}} : tensor<?x96xbf16, {{.*}}>, <?x8x?x96xbf16>

// Of one head each, where key blocks are few.
// HEADS-LABEL: func.func @both(
// HEADS:         fa.map_blocks @both_keys over(%{{.*}}, %{{.*}}) inits(%{{.*}}) axes(b, h, keys by ?)
// HEADS:           tile.accumulate
// HEADS:         fa.map_blocks @both_keys_sum
// HEADS:         fa.map_blocks @both_rows_convert

// What is added in memory takes no columns of accumulators; operands of 2 bytes may have more than others.
// WIDE-LABEL: func.func @both(
// WIDE:         fa.map_blocks @both_keys_zero
// WIDE:         fa.map_blocks @both_keys over
// WIDE-NOT:     @both_keys1

// The mask bounds the loop over rows.
// MASK-LABEL: func.func @both(
// MASK:         fa.map_blocks @both_keys over
// MASK:           %[[FIRST:.*]] = arith.divsi
// MASK:           %[[LO:.*]] = arith.muli %[[FIRST]]
// MASK:           scf.for %{{[a-z0-9_]+}} = %[[LO]] to
// MASK:             tile.accumulate
func.func @both(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x2x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout()
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %v = arith.cmpi sle, %j, %i : index
      fa.yield %v : i1
    } weights {
    ^bb0(%d: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %w = arith.mulf %d, %d : f32
      fa.yield %w : f32
    } sums [#fa.sum<0 [b, h, rows] times 0 factor 0.5 : f64>,
            #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>
}

// -----

// A sum over keys that is no product has blocks of rows, and then the product has, too.
// CHECK-LABEL: func.func @rows(
// CHECK:         fa.map_blocks @rows_rows over
// CHECK:         fa.map_blocks @rows_keys over
// CHECK-NOT:     tile.accumulate
// HEADS-LABEL: func.func @rows(
// WIDE-LABEL: func.func @rows(
// MASK-LABEL: func.func @rows(
// REMARK: Category:fa-rewrite-pairwise{{.*}}sums at rows by blocks of rows{{.*}}one is no product
func.func @rows(%x: tensor<?x8x?x64xbf16>, %y: tensor<?x2x?x64xbf16>)
    -> (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>) {
  %r:3 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%d: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %d : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>, #fa.sum<0 [b, h, rows]>]
    : (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>) -> (tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x8x?xf32>
}
