// RUN: fa-opt %s --tile-promote-shared="products=async" --remarks --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// What a loop loads gets two slots.
// CHECK-LABEL: tile.func @chain
// CHECK: %[[RX:.*]] = tile.ring : <1 x 64x64xf16
// CHECK: %[[RY:.*]] = tile.ring : <2 x 64x64xf16
// CHECK: %[[RZ:.*]] = tile.ring : <2 x 64x64xf16
tile.func @chain(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64},
                 %z: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %t, %c64 : index
  %n = tile.dim %y, 0 : !tile.view<?x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK: tile.put %[[RX]], {{.*}} copy(tma)
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: %[[A:.*]] = tile.get %[[RX]]
  // CHECK-NEXT: scf.for
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32, #acc>) {
    // CHECK: tile.put %[[RY]], {{.*}} copy(tma)
    // CHECK-NEXT: %[[B:.*]] = tile.get %[[RY]]
    // CHECK-NEXT: %[[P:.*]] = tile.dot_start %[[A]], %[[B]], %{{.*}} transpose_b : {{.*}} -> <tensor<64x64xf32, #[[ACC:.*]]>>
    // CHECK-NEXT: %[[S:.*]] = tile.await %[[P]]
    // CHECK-NEXT: tile.release %[[B]]
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %b = tile.load %y[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %c = tile.load %z[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // CHECK: arith.truncf %[[S]]
    %p = arith.truncf %s : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
    // CHECK: tile.dot_start
    // CHECK-NEXT: tile.await
    %o = tile.dot %p, %c, %acc : tensor<64x64xf16, #acc>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    scf.yield %o : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%i, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// The other schedule, since no TMA serves a view without a promise.
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK-LABEL: tile.func @not_aligned
tile.func @not_aligned(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK: copy(cp_async)
  // expected-remark @+1 {{shared memory by cp_async}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: copy(ld_st)
  // expected-remark @+2 {{no asynchronous products in this program, since 'tile.load' here does not allow them: its view has no tile.align 16}}
  // expected-remark @+1 {{shared memory by ld_st", Reason="the source has no tile.align 16", bytes=8192}}
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: tile.dot
  %s = tile.dot %a, %b, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8), (2, 64, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK-LABEL: tile.func @two_rows_of_warps
tile.func @two_rows_of_warps(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<128x64xf32, #acc>
  // expected-remark @+1 {{shared memory by cp_async}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<128x64xf16>
  // expected-remark @+1 {{shared memory by cp_async}}
  %b = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: tile.dot
  // expected-remark @+1 {{since 'tile.dot' here does not allow them: its rows are not 16 for each warp of whole warpgroups}}
  %s = tile.dot %a, %b, %acc transpose_b : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32, #acc>
  tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<128x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// Both roles can run an if about scalars.
// CHECK-LABEL: tile.func @in_an_if
tile.func @in_an_if(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %p: i1)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  scf.if %p {
    // CHECK: scf.if
    // CHECK-NEXT: tile.put {{.*}} copy(tma)
    // expected-remark @+1 {{shared memory by tma}}
    %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // CHECK: tile.dot_start
    %s = tile.dot %a, %a, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  }
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK-LABEL: tile.func @in_a_switch
tile.func @in_a_switch(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  scf.index_switch %i
  default {
    // CHECK: copy(cp_async)
    // expected-remark @+1 {{shared memory by cp_async}}
    %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // expected-remark @+1 {{since 'tile.dot' here does not allow them: it stands in 'scf.index_switch'}}
    %s = tile.dot %a, %a, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
    scf.yield
  }
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (6, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// Rows of 80 bytes: a panel of 128 bytes holds them, the rest is 0.
// CHECK-LABEL: tile.func @part_of_a_panel
// CHECK: tile.ring : <1 x 64x48xf16, #tile.swizzle<128>>
tile.func @part_of_a_panel(%x: !tile.view<?x40xf16> {tile.align = 16 : i64}, %y: !tile.view<?x40xf16> {tile.align = 16 : i64}, %out: !tile.view<?x48xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x48xf32, #acc>
  // expected-remark @+1 {{64x48xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x40xf16> -> tensor<64x48xf16>
  // expected-remark @+1 {{48x48xf16 to shared memory by tma", bytes=6144}}
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<?x40xf16> -> tensor<48x48xf16>
  // CHECK: tile.dot_start
  %s = tile.dot %a, %b, %acc transpose_b : tensor<64x48xf16>, tensor<48x48xf16>, tensor<64x48xf32, #acc>
  tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<64x48xf32, #acc>, !tile.view<?x48xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK-LABEL: tile.func @odd_rows
tile.func @odd_rows(%x: !tile.view<?x59xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK: copy(cp_async)
  // expected-remark @+2 {{no asynchronous products in this program, since 'tile.load' here does not allow them: its view's rows are no multiple of 16 bytes}}
  // expected-remark @+1 {{shared memory by cp_async}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x59xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %a, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  tile.store %s, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Slices of rows come by TMA, which clips at their ends, where no tile begins before the slice.
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK-LABEL: tile.func @slices
tile.func @slices(%x: !tile.view<?x?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x?x?x64xf16> {tile.align = 16 : i64}, %starts: !tile.view<?xi32>, %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  %start = tile.load %starts[%t] : !tile.view<?xi32> -> i32
  %from = arith.index_cast %start : i32 to index
  %part = tile.slice %x dim 1 from %from size %c64 : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  %before = arith.subi %c0, %from : index
  // CHECK: copy(tma)
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %part[%t, %c0, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
  // CHECK: copy(cp_async)
  // expected-remark @+1 {{64x64xf16 to shared memory by cp_async", Reason="its rows may begin before its view, a slice, where TMA finds those of another"}}
  %b = tile.load %part[%t, %before, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
  // Rows before a slice that says so are clipped.
  %front = tile.slice %x dim 1 from %from size %c64 front : !tile.view<?x?x64xf16> -> !tile.view<?x?x64xf16>
  // CHECK: copy(tma)
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %f = tile.load %front[%t, %before, %c0] dims [1, 2] : !tile.view<?x?x64xf16> -> tensor<64x64xf16>
  // Batches need no dimension of the map.
  %first = tile.slice %y dim 2 from %c0 size %from : !tile.view<?x?x?x64xf16> -> !tile.view<?x?x?x64xf16>
  // CHECK: copy(tma)
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %c = tile.load %first[%t, %c0, %c0, %c0] dims [2, 3] : !tile.view<?x?x?x64xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %b, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  %u = tile.dot %a, %c, %s transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  %r = tile.dot %a, %f, %u transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Tiles that a loop of products reads for other ops come by TMA, too, in rows of any length: %c again
// for each iteration; %d, transposed, is the same for all of them, and read transposed from one slot.
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// CHECK: #[[$TURNED:frag[0-9]*]] = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (8, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>
// CHECK-LABEL: tile.func @beside
// CHECK: tile.put %[[RD:[0-9]+]], %arg3[{{.*}} dims [0, 1] copy(tma) : <1 x
// CHECK: %[[D:.*]] = tile.get %[[RD]]
// CHECK: scf.for
// CHECK: tile.put {{.*}} dims [1, 2] copy(tma) {{.*}}<?x?x?xf16>
// CHECK: %[[C:.*]] = tile.get
// CHECK: tile.read %[[C]] {{.*}} -> tensor<64x64xf16
// CHECK: %[[READ:.*]] = tile.read %[[D]] {{.*}} -> tensor<64x64xf16, #[[$TURNED]]>
// CHECK: tile.transpose %[[READ]]
tile.func @beside(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64},
                  %bias: !tile.view<?x?x?xf16> {tile.align = 16 : i64}, %other: !tile.view<?x?xf16> {tile.align = 16 : i64},
                  %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %t, %c64 : index
  %n = tile.dim %y, 0 : !tile.view<?x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32, #acc>) {
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %b = tile.load %y[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %c = tile.load %bias[%t, %i, %j] dims [1, 2] : !tile.view<?x?x?xf16> -> tensor<64x64xf16, #acc>
    %wide = arith.extf %c : tensor<64x64xf16, #acc> to tensor<64x64xf32, #acc>
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %d = tile.load %other[%c0, %i] dims [1, 0] : !tile.view<?x?xf16> -> tensor<64x64xf16, #acc>
    %too = arith.extf %d : tensor<64x64xf16, #acc> to tensor<64x64xf32, #acc>
    %e = arith.addf %s, %wide : tensor<64x64xf32, #acc>
    %f = arith.mulf %e, %too : tensor<64x64xf32, #acc>
    %o = arith.addf %f, %acc : tensor<64x64xf32, #acc>
    scf.yield %o : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%i, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// A vector of a slice that begins at a multiple of 16 bytes comes from what it is a slice of; what is behind the slice's
// end is 0. One that begins anywhere is loaded by each thread.
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#row = #tile.frag<reg = [(2, 1), (8, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>

// CHECK-LABEL: tile.func @vectors_of_slices
tile.func @vectors_of_slices(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64},
                             %v: !tile.view<?x?xf32> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>,
                             %from: index, %size: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = tile.dim %y, 0 : !tile.view<?x64xf16>
  %start = arith.muli %from, %c16 : index
  %aligned = tile.slice %v dim 1 from %start size %size : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  %any = tile.slice %v dim 1 from %from size %size : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: scf.for %[[J:[a-z0-9]+]] =
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32, #acc>) {
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %b = tile.load %y[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[J]] : index
    // CHECK: tile.put %[[RING:.*]], %{{.*}}[%c0, %[[AT]]] dims [1] copy(tma)
    // CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %[[J]] : index
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : tensor<64xi32
    // CHECK: arith.select %[[INSIDE]],
    // CHECK: tile.load %{{.*}}[%c0, %[[J]]] dims [1]
    // expected-remark @+1 {{64xf32 to shared memory by tma", bytes=256}}
    %w = tile.load %aligned[%c0, %j] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32, #row>
    %u = tile.load %any[%c0, %j] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32, #row>
    %both = arith.addf %w, %u : tensor<64xf32, #row>
    %wide = tile.broadcast %both dim 0 : tensor<64xf32, #row> -> tensor<64x64xf32, #acc>
    %o = arith.addf %s, %wide : tensor<64x64xf32, #acc>
    scf.yield %o : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Steps that divide a slice of whole boxes, over no more than it has, load nothing behind its end. Steps over as many as
// a slice that is not rounded up may.
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#row = #tile.frag<reg = [(2, 1), (8, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>

// CHECK-LABEL: tile.func @vectors_within_slices
tile.func @vectors_within_slices(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64},
                                 %v: !tile.view<?x?xf32> {tile.align = 16 : i64}, %out: !tile.view<?x64xf32>,
                                 %from: index, %size: index)
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c127 = arith.constant 127 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %n = tile.dim %y, 0 : !tile.view<?x64xf16>
  %known = arith.maxsi %size, %c0 : index
  %start = arith.muli %from, %c128 : index
  %sum = arith.addi %known, %c127 : index
  %boxes = arith.divui %sum, %c128 : index
  %filled = arith.muli %boxes, %c128 : index
  %whole = tile.slice %v dim 1 from %start size %filled : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  %part = tile.slice %v dim 1 from %start size %known : !tile.view<?x?xf32> -> !tile.view<?x?xf32>
  %to = arith.minsi %n, %known : index
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: scf.for %[[J:[a-z0-9]+]] =
  %r = scf.for %j = %c0 to %to step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32, #acc>) {
    // expected-remark @+1 {{64x64xf16 to shared memory by tma", bytes=8192}}
    %b = tile.load %y[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %acc transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    // CHECK: %[[AT:.*]] = arith.addi %{{.*}}, %[[J]] : index
    // CHECK: tile.put %{{.*}}, %{{.*}}[%c0, %[[AT]]] dims [1] copy(tma)
    // CHECK-NOT: arith.select
    // CHECK: arith.addi %{{.*}}, %[[J]] : index
    // CHECK: arith.select
    // expected-remark @+1 {{64xf32 to shared memory by tma", bytes=256}}
    %w = tile.load %whole[%c0, %j] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32, #row>
    // expected-remark @+1 {{64xf32 to shared memory by tma", bytes=256}}
    %u = tile.load %part[%c0, %j] dims [1] : !tile.view<?x?xf32> -> tensor<64xf32, #row>
    %both = arith.addf %w, %u : tensor<64xf32, #row>
    %wide = tile.broadcast %both dim 0 : tensor<64xf32, #row> -> tensor<64x64xf32, #acc>
    %o = arith.addf %s, %wide : tensor<64x64xf32, #acc>
    scf.yield %o : tensor<64x64xf32, #acc>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}
