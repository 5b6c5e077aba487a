// RUN: fa-opt %s -fa-derive-limits -fa-rewrite-pairwise | FileCheck %s
// RUN: fa-opt %s -fa-derive-limits -fa-rewrite-pairwise -fa-analyze-mask | FileCheck %s --check-prefix=BOUNDS
// RUN: fa-opt %s -fa-derive-limits -fa-rewrite-pairwise=by-key-heads -fa-analyze-mask | FileCheck %s --check-prefix=HEADS

// A kernel takes the mask by limits of its blocks, and the captures of that form; blocks of pairs take the
// mask as written.
// CHECK-LABEL: func.func @f(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: {{.*}}, %[[K:[a-z0-9]+]]: {{.*}}, %[[IDS:[a-z0-9]+]]: tensor<?x?xi32>
// CHECK:         %[[ROWS:.*]]:3 = fa.map_blocks @f_limits
// CHECK:         %[[KEYS:.*]]:3 = fa.map_blocks @f_key_limits
// CHECK:         fa.map_blocks @f_rows
// CHECK:           fa.apply_mask {{.*}} captures(%[[IDS]], %[[ROWS]]#0, %[[ROWS]]#1, %[[ROWS]]#2 :
// CHECK-COUNT-1:     fa.fallback = #fa<axis rows>
// CHECK:         fa.map_blocks @f_keys
// CHECK:           fa.apply_mask {{.*}} captures(%[[IDS]], %[[KEYS]]#0, %[[KEYS]]#1, %[[KEYS]]#2 :
// CHECK-COUNT-1:     fa.fallback = #fa<axis keys>
// CHECK:         fa.map_blocks @f_pairs
// CHECK:           fa.apply_mask {{.*}} captures(%[[IDS]] :
// CHECK-NOT:         fa.fallback

// Ranges of both limits bound the loop over rows for a block of keys, and say where the region is evaluated; where it is,
// ranges of what it reads tell which tiles show something.
// BOUNDS:        %[[KEYS:.*]]:3 = fa.map_blocks @f_key_limits
// BOUNDS:        fa.map_blocks @f_keys
// BOUNDS-SAME:     axes(b, hk, keys by ?)
// BOUNDS:          %[[HOLES:.*]], %{{.*}} = fa.range %[[KEYS]]#2[{{.*}} columns [4, 4]
// BOUNDS:          %[[EVALUATES:.*]] = arith.ori
// BOUNDS:          %[[FIRST:.*]], %{{.*}} = fa.range %[[KEYS]]#2[{{.*}} columns [0, 1]
// BOUNDS:          %{{.*}}, %[[LAST:.*]] = fa.range %[[KEYS]]#2[{{.*}} columns [2, 3]
// BOUNDS:          fa.range
// BOUNDS-NOT:      fa.range
// BOUNDS:          scf.for
// BOUNDS-NOT:        scf.for
// BOUNDS:            fa.range
// BOUNDS:            scf.if %{{.*}} -> (tensor<?x64xf32, #fa.axes<keys>>)
// BOUNDS:            scf.if %{{.*}} -> (tensor<?x?xf32, #fa.axes<keys, rows>>)
// BOUNDS-NEXT:         scf.if %[[EVALUATES]] -> (tensor<?x?xf32, #fa.axes<keys, rows>>)
// BOUNDS-NEXT:           fa.apply_mask
// BOUNDS:                  arith.cmpi eq
// BOUNDS:              } else {
// BOUNDS-NEXT:           fa.apply_mask
// BOUNDS:                  arith.cmpi sle
// BOUNDS:                  arith.cmpi slt

// Blocks of key heads loop over rows for some keys: nothing reads limits of rows, which are not found then.
// HEADS-LABEL: func.func @f(
// HEADS-NOT:     @f_limits
// HEADS:         fa.map_blocks @f_key_limits
// HEADS:         fa.map_blocks @f_keys
// HEADS-SAME:      axes(b, hk)
// HEADS-NOT:     @f_limits
// HEADS:         return
func.func @f(%q: tensor<?x4x?x64xf32> {fa.name = "q"}, %k: tensor<?x4x?x64xf32> {fa.name = "k"},
             %ids: tensor<?x?xi32> {fa.name = "ids"})
    -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xf32>) {
  %r:3 = fa.pairwise rows(%q) columns(%k) captures(%ids) dropout() mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    %own = tensor.extract %x[%b, %i] : tensor<?x?xi32>
    %other = tensor.extract %x[%b, %j] : tensor<?x?xi32>
    %v = arith.cmpi eq, %own, %other : i32
    fa.yield %v : i1
  } weights {
  ^bb0(%s: f32, %keep: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %x: tensor<?x?xi32>):
    fa.yield %s : f32
  } sums [#fa.sum<0[b, h, rows] times 0>, #fa.sum<0[b, hk, keys] times 0>, #fa.sum<0[rows, keys]>]
    : (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xi32>)
    -> (tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xf32>)
  return %r#0, %r#1, %r#2 : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>, tensor<?x?xf32>
}
