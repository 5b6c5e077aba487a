// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise=by-key-heads | FileCheck %s
// RUN: fa-opt %s -split-input-file -fa-rewrite-pairwise=by-key-heads -fa-analyze-mask | FileCheck %s --check-prefix=MASK

// One block a key head has the sums at rows and at keys: it loops over keys, heads of the group, and rows. What
// is at a row is zero in memory at first, is added to for each tile, and gets its factor at the end. Weights are
// of rows by keys, so that both tiles of keys are second operands that stay.

// CHECK-LABEL: func.func @both(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: {{.*}}, %[[Y:[a-z0-9]+]]: tensor
// CHECK:         %[[R:.*]]:2 = fa.map_blocks @both_keys over(%[[Y]]) axes(b, hk) {{.*}} {
// CHECK-NEXT:    ^bb0(%[[B:[a-z0-9]+]]: index, %[[HK:[a-z0-9]+]]: index, %[[DX:[a-z0-9]+]]: !tile.view<?x8x?x64xf32>, %[[DY:[a-z0-9]+]]:
// CHECK:           scf.for %[[H:[a-z0-9_]+]] =
// CHECK:             scf.for %[[I:[a-z0-9_]+]] =
// CHECK:               tile.store %{{.*}}, %[[DX]][%[[B]], %[[H]], %[[I]], %{{.*}}] dims [2, 3]
// CHECK:           scf.for %[[J:[a-z0-9_]+]] =
// CHECK:             %[[YT:.*]] = tile.load %[[Y]][%[[B]], %[[HK]], %[[J]],
// CHECK:             %[[SUM:.*]] = scf.for %[[H:[a-z0-9_]+]] =
// CHECK:               scf.for %[[I:[a-z0-9_]+]] =
// CHECK:                 %[[XT:.*]] = tile.load %[[X]][%[[B]], %[[H]], %[[I]],
// CHECK:                 tile.dot %[[XT]], %[[YT]], %{{.*}} transpose_b {{.*}}tensor<?x?xf32, #fa.axes<rows, keys>>
// CHECK:                 %[[W:.*]] = fa.apply_mask
// CHECK:                 %[[OLD:.*]] = tile.load %[[DX]][%[[B]], %[[H]], %[[I]],
// CHECK:                 %[[NEW:.*]] = tile.dot %[[W]], %[[YT]], %[[OLD]] precision
// CHECK:                 tile.store %[[NEW]], %[[DX]][%[[B]], %[[H]], %[[I]],
// CHECK:                 %[[WT:.*]] = tile.transpose %[[W]]
// CHECK:                 tile.dot %[[WT]], %[[XT]], %{{.*}} precision
// CHECK:             tile.store %{{.*}}, %[[DY]][%[[B]], %[[HK]], %[[J]],
// CHECK:           scf.for %[[H:[a-z0-9_]+]] =
// CHECK:             scf.for %[[I:[a-z0-9_]+]] =
// CHECK:               %[[LAST:.*]] = tile.load %[[DX]][%[[B]], %[[H]], %[[I]],
// CHECK:               %[[SCALED:.*]] = arith.mulf %[[LAST]],
// CHECK:               tile.store %[[SCALED]], %[[DX]][%[[B]], %[[H]], %[[I]],
// CHECK:         return %[[R]]#0, %[[R]]#1

// The mask bounds the loop over rows, for what is stored there is added to.
// MASK-LABEL: func.func @both(
// MASK:         %[[SUM:.*]] = scf.for {{.*}} iter_args({{.*}}) -> (tensor<?x64xf32, #fa.axes<keys>>) {
// MASK:           %[[FIRST:.*]] = arith.divsi
// MASK:           %[[LO:.*]] = arith.muli %[[FIRST]]
// MASK:           scf.for %{{[a-z0-9_]+}} = %[[LO]] to
// MASK:             scf.if %{{.*}} -> (tensor<?x?xf32, #fa.axes<rows, keys>>) {
// MASK-NEXT:          fa.apply_mask
func.func @both(%x: tensor<?x8x?x64xf32>, %y: tensor<?x2x?x64xf32>)
    -> (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) {
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
    : (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>) -> (tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>)
  return %r#0, %r#1 : tensor<?x8x?x64xf32>, tensor<?x2x?x64xf32>
}

// -----

// Sums of two bytes are rounded when they are whole: blocks of rows and of keys, as without the option.

// CHECK-LABEL: func.func @narrow(
// CHECK:         fa.map_blocks @narrow_rows over(%{{.*}}) axes(b, h, rows by ?)
// CHECK:         fa.map_blocks @narrow_keys over(%{{.*}}) axes(b, hk, keys by ?)
// MASK-LABEL: func.func @narrow(
func.func @narrow(%x: tensor<?x8x?x64xf16>, %y: tensor<?x2x?x64xf16>)
    -> (tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>) {
  %r:2 = fa.pairwise rows(%x) columns(%y) captures() dropout() mask {} weights {
    ^bb0(%d: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      fa.yield %d : f32
    } sums [#fa.sum<0 [b, h, rows] times 0>, #fa.sum<0 [b, hk, keys] times 0>]
    : (tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>) -> (tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>)
  return %r#0, %r#1 : tensor<?x8x?x64xf16>, tensor<?x2x?x64xf16>
}
