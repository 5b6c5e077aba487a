// RUN: fa-opt %s --tile-split-warpgroup-loops --remarks --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// A band: both bounds of the warpgroup's own rows, the lower one before it is rounded. The
// condition inside asks for the same rows.
// CHECK-LABEL: tile.func @band
// CHECK-SAME: %[[N:[a-z0-9]+]]: index, %[[ID:[a-z0-9]+]]: index)
// CHECK-DAG: %[[C64:.*]] = arith.constant 64 : index
// CHECK-DAG: %[[C128:.*]] = arith.constant 128 : index
// CHECK: %[[ROW:.*]] = arith.muli %[[ID]], %[[C128]]
// CHECK: %[[LOWER:.*]] = arith.muli
// CHECK: %[[UPPER:.*]] = arith.minsi
// CHECK: %[[GROUP:.*]] = tile.warpgroup : index
// CHECK: %[[ROWS:.*]] = arith.muli %[[GROUP]], %{{.*}}
// CHECK: %[[MINE:.*]] = arith.addi %[[ROW]], %[[ROWS]]
// CHECK: %[[BACK:.*]] = arith.subi %[[MINE]], %[[C64]]
// CHECK-NEXT: %[[FIRST:.*]] = arith.maxsi %[[BACK]],
// CHECK-NOT: arith.divsi
// CHECK: %[[END:.*]] = arith.addi %[[MINE]], %{{.*}}
// CHECK-NEXT: %[[LAST:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK: %[[B:.*]], %[[E:.*]] = tile.warpgroup_bounds %[[LOWER]] to %[[UPPER]] step %[[C64]] own(%[[FIRST]] to %[[LAST]])
// CHECK-NOT: tile.row_derived
// CHECK: scf.for %[[J:.*]] = %[[B]] to %[[E]] step %[[C64]]
// CHECK: %[[WHOLE:.*]] = arith.cmpi slt, %[[ROW]], %[[J]]
// CHECK: %[[OWN:.*]] = arith.cmpi slt, %[[MINE]], %[[J]]
// CHECK: %[[EDGE:.*]] = tile.warpgroup_condition %[[WHOLE]], %[[OWN]]
// CHECK: scf.if %[[EDGE]]
tile.func @band(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %back = arith.subi %row, %c64 : index
  %some = arith.maxsi %back, %c0 : index
  %steps = arith.divsi %some, %c64 : index
  %lower = arith.muli %steps, %c64 : index
  %behind = arith.addi %row, %c128 : index
  %upper = arith.minsi %behind, %n : index
  // expected-remark @+1 {{each warpgroup runs the steps of its own rows}}
  %o = scf.for %j = %lower to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    %edge = arith.cmpi slt, %row, %j : index
    %t = scf.if %edge -> (tensor<128x64xf32, #acc>) {
      %u = arith.addf %s, %acc0 : tensor<128x64xf32, #acc>
      scf.yield %u : tensor<128x64xf32, #acc>
    } else {
      scf.yield %s : tensor<128x64xf32, #acc>
    } {tile.row_derived}
    scf.yield %t : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// All begin alike: with the least end of all warpgroups, which is the first one's where the
// bound rises with rows.
// CHECK-LABEL: tile.func @rising
// CHECK: tile.warpgroup
// CHECK: %[[LAST:.*]] = arith.minsi
// CHECK: %[[LEAST:.*]] = arith.minsi
// CHECK-NOT: arith.minsi
// CHECK: tile.warpgroup_bounds %[[C0:.*]] to %{{.*}} step %{{.*}} own(%[[C0]] to %[[LAST]]) all(%[[LEAST]])
// CHECK-LABEL: tile.func @open
// CHECK: tile.warpgroup
// CHECK: arith.remsi
// CHECK: %[[ONE:.*]] = arith.remsi
// CHECK: %[[OTHER:.*]] = arith.remsi
// CHECK: %[[LEAST:.*]] = arith.minsi %[[ONE]], %[[OTHER]]
// CHECK: tile.warpgroup_bounds {{.*}} all(%[[LEAST]])
tile.func @rising(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %behind = arith.addi %row, %c128 : index
  %upper = arith.minsi %behind, %n : index
  // expected-remark @+1 {{each warpgroup runs the steps of its own rows}}
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

tile.func @open(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %upper = arith.remsi %row, %n : index
  // expected-remark @+1 {{each warpgroup runs the steps of its own rows}}
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// Bounds without the attribute, or that depend on more of an id than the first row, stay, and
// those of a loop that reads under a condition.
// CHECK-NOT: tile.warpgroup_bounds
// CHECK-NOT: tile.row_derived
tile.func @unmarked(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %upper = arith.addi %row, %c128 : index
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  }
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

tile.func @id(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %upper = arith.addi %row, %id : index
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

tile.func @conditional(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %upper = arith.addi %row, %c128 : index
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    %some = arith.cmpi slt, %j, %n : index
    %s = scf.if %some -> (tensor<128x64xf32, #acc>) {
      tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
      %b = tile.get %r : !ring -> !slot
      %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
      %t = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
      tile.release %b : !slot
      scf.yield %t : tensor<128x64xf32, #acc>
    } else {
      scf.yield %acc : tensor<128x64xf32, #acc>
    }
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// All warps meet in each step.
tile.func @meeting(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %n: index, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %own = tile.ring : !tile.ring<2 x 128x64xf16, #tile.swizzle<128>>
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %row = arith.muli %id, %c128 : index
  %behind = arith.addi %row, %c128 : index
  %upper = arith.minsi %behind, %n : index
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    tile.put_value %own, %a : !tile.ring<2 x 128x64xf16, #tile.swizzle<128>>, tensor<128x64xf16, #acc>
    %mine = tile.get %own : !tile.ring<2 x 128x64xf16, #tile.swizzle<128>> -> !tile.slot<128x64xf16, #tile.swizzle<128>>
    tile.release %mine : !tile.slot<128x64xf16, #tile.swizzle<128>>
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// A number that is loaded from where a search ended is the same for all warpgroups.
// CHECK-LABEL: tile.func @searched
// CHECK: %[[N:.*]] = arith.index_cast %{{.*}} : i32 to index
// CHECK: tile.warpgroup : index
// CHECK: %[[MINE:.*]] = arith.addi %{{.*}}, %{{.*}}
// CHECK: %[[END:.*]] = arith.addi %[[MINE]], %{{.*}}
// CHECK: %[[LAST:.*]] = arith.minsi %[[END]], %[[N]]
// CHECK: tile.warpgroup_bounds %{{.*}} to %{{.*}} step %{{.*}} own(%{{.*}} to %[[LAST]])
tile.func @searched(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %sizes: !tile.view<?xi32>, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %count = tile.dim %sizes, 0 : !tile.view<?xi32>
  %part = scf.for %p = %c0 to %count step %c1 iter_args(%last = %c0) -> (index) {
    %in = arith.cmpi sle, %p, %id : index
    %found = arith.select %in, %p, %last : index
    scf.yield %found : index
  }
  %size = tile.load %sizes[%part] : !tile.view<?xi32> -> i32
  %n = arith.index_cast %size : i32 to index
  %row = arith.muli %id, %c128 : index
  %behind = arith.addi %row, %c128 : index
  %upper = arith.minsi %behind, %n : index
  // expected-remark @+1 {{each warpgroup runs the steps of its own rows}}
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<128x64xf32, #acc>>

// Of a table with an entry for 64 rows each, the tile reads two, a warpgroup one.
// CHECK-LABEL: tile.func @table
// CHECK: tile.load
// CHECK: tile.load
// CHECK: %[[GROUP:.*]] = tile.warpgroup : index
// CHECK: %[[MINE:.*]] = arith.addi
// CHECK: %[[SPAN:.*]] = arith.divui %[[MINE]], %{{.*}}
// CHECK-NOT: arith.minui
// CHECK: %[[X:.*]] = tile.load %{{.*}}[%[[SPAN]]]
// CHECK: %[[Y:.*]] = tile.load %{{.*}}[%[[SPAN]]]
// CHECK-NEXT: arith.maxsi %[[X]], %[[Y]]
// CHECK: tile.warpgroup_bounds
tile.func @table(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %ends: !tile.view<?xi32>, %id: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  %a = arith.constant dense<1.0> : tensor<128x64xf16, #acc>
  %rows = tile.dim %out, 0 : !tile.view<?x64xf32>
  %row = arith.muli %id, %c128 : index
  %behind = arith.addi %row, %c128 : index
  %end = arith.minsi %behind, %rows : index
  %last = arith.subi %end, %c1 : index
  %first_span = arith.divui %row, %c64 : index
  %last_span = arith.divui %last, %c64 : index
  %next_span = arith.addi %first_span, %c1 : index
  %second_span = arith.minui %next_span, %last_span : index
  %e0 = tile.load %ends[%first_span] : !tile.view<?xi32> -> i32
  %e1 = tile.load %ends[%second_span] : !tile.view<?xi32> -> i32
  %e = arith.maxsi %e0, %e1 : i32
  %upper = arith.index_cast %e : i32 to index
  // expected-remark @+1 {{each warpgroup runs the steps of its own rows}}
  %o = scf.for %j = %c0 to %upper step %c64 iter_args(%acc = %acc0) -> (tensor<128x64xf32, #acc>) {
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !tile.view<?x64xf16>
    %b = tile.get %r : !ring -> !slot
    %sp = tile.dot_start %a, %b, %acc transpose_b : tensor<128x64xf16, #acc>, !slot, tensor<128x64xf32, #acc> -> !pending
    %s = tile.await %sp : !pending -> tensor<128x64xf32, #acc>
    tile.release %b : !slot
    scf.yield %s : tensor<128x64xf32, #acc>
  } {tile.row_derived}
  tile.store %o, %out[%row, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}
