// RUN: fa-opt %s --tile-promote-shared --remarks --verify-diagnostics | FileCheck %s

#across = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#a = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#other = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 16, 0)]>
#lanes = #tile.frag<reg = [(32, 0, 1)], lane = [(2, 0, 32), (16, 1, 0)], warp = [(4, 16, 0)]>

// Two products in a loop; %x is loaded in front of it.
// CHECK-LABEL: tile.func @chain
tile.func @chain(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64},
                 %z: !tile.view<?x64xf16> {tile.align = 8 : i64}, %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] {
  // CHECK: %[[RX:.*]] = tile.ring : <1 x 64x64xf16, #tile.swizzle<128>>
  // CHECK-NEXT: %[[RY:.*]] = tile.ring
  // CHECK-NEXT: %[[RZ:.*]] = tile.ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %t, %c64 : index
  %n = tile.dim %y, 0 : !tile.view<?x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<64x64xf32>
  // CHECK: tile.put %[[RX]], %{{.*}} dims [0, 1] copy(cp_async)
  // expected-remark @+1 {{64x64xf16 to shared memory by cp_async", bytes=8192}}
  %a = tile.load %x[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: %[[A:.*]] = tile.get %[[RX]]
  // CHECK-NEXT: scf.for
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    // CHECK: tile.put %[[RY]], {{.*}} copy(cp_async)
    // CHECK-NEXT: %[[B:.*]] = tile.get %[[RY]]
    // CHECK-NEXT: tile.dot %[[A]], %[[B]], %{{.*}} transpose_b
    // CHECK-NEXT: tile.release %[[B]]
    // expected-remark @+1 {{64x64xf16 to shared memory by cp_async", bytes=8192}}
    %b = tile.load %y[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    // The put stands where the load stood, the get at its reader.
    // CHECK: tile.put %[[RZ]], {{.*}} copy(ld_st)
    // expected-remark @+1 {{64x64xf16 to shared memory by ld_st", Reason="the source has no tile.align 16", bytes=8192}}
    %c = tile.load %z[%j, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
    // CHECK-NEXT: arith.truncf
    %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
    // CHECK-NEXT: %[[C:.*]] = tile.get %[[RZ]]
    // CHECK-NEXT: tile.dot %{{.*}}, %[[C]], %{{.*}} : tensor<64x64xf16>, !tile.slot
    // CHECK-NEXT: tile.release %[[C]]
    %o = tile.dot %p, %c, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
    scf.yield %o : tensor<64x64xf32>
  }
  // CHECK: }
  // CHECK-NEXT: tile.release %[[A]]
  tile.store %r, %out[%i, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Why copies are not asynchronous; panels as wide as the rows.
// CHECK-LABEL: tile.func @copies
tile.func @copies(%x: !tile.view<?x?xf16> {tile.align = 16 : i64}, %y: !tile.view<?x8xf16> {tile.align = 16 : i64},
                  %w: !tile.view<?x24xf64> {tile.align = 16 : i64}, %e: !tile.view<?x32xf16>, %t: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %t, %c8 : index
  %j = arith.muli %t, %c4 : index
  // CHECK: tile.ring : <1 x 64x16xf16, #tile.swizzle<32>>
  // CHECK: tile.ring : <1 x 64x32xf16, #tile.swizzle<64>>
  %a = arith.constant dense<1.0> : tensor<16x64xf16>
  %a8 = arith.constant dense<1.0> : tensor<16x8xf16>
  %acc = tile.broadcast %zero : f32 -> tensor<16x16xf32>
  %acc32 = tile.broadcast %zero : f32 -> tensor<16x32xf32>
  %acc64 = tile.broadcast %zero : f32 -> tensor<16x64xf32>
  // A multiple of 8 elements.
  // CHECK: copy(cp_async)
  // expected-remark @+1 {{64x16xf16 to shared memory by cp_async", bytes=2048}}
  %0 = tile.load %x[%c0, %i] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x16xf16>
  %s0 = tile.dot %a, %0, %acc : tensor<16x64xf16>, tensor<64x16xf16>, tensor<16x16xf32>
  // CHECK: copy(ld_st)
  // expected-remark @+1 {{64x32xf16 to shared memory by ld_st", Reason="its rows may start anywhere", bytes=4096}}
  %1 = tile.load %x[%c0, %j] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x32xf16>
  %s1 = tile.dot %a, %1, %acc32 : tensor<16x64xf16>, tensor<64x32xf16>, tensor<16x32xf32>
  // CHECK: copy(ld_st)
  // expected-remark @+1 {{64x32xf16 to shared memory by ld_st", Reason="its rows do not run along the source's last dimension", bytes=4096}}
  %2 = tile.load %x[%i, %c0] dims [1, 0] : !tile.view<?x?xf16> -> tensor<64x32xf16>
  %s2 = tile.dot %a, %2, %acc32 : tensor<16x64xf16>, tensor<64x32xf16>, tensor<16x32xf32>
  // expected-remark @+1 {{8x4xf16 to shared memory by ld_st", Reason="its rows are no multiple of 16 bytes", bytes=256}}
  %3 = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<?x8xf16> -> tensor<8x4xf16>
  %acc4 = tile.broadcast %zero : f32 -> tensor<16x4xf32>
  %s3 = tile.dot %a8, %3, %acc4 : tensor<16x8xf16>, tensor<8x4xf16>, tensor<16x4xf32>
  tile.return
}

// An operand with a layout stays in registers; other readers of a slot read it;
// a reader in a nested region counts as the op that holds it.
// CHECK-LABEL: tile.func @readers
tile.func @readers(%x: !tile.view<?x64xf16>, %y: !tile.view<?x64xf16>, %out: !tile.view<?x64xf16>, %if: i1, %t: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  // CHECK: tile.load %{{.*}} -> tensor<64x64xf16, #{{.*}}>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16, #a>
  // CHECK: tile.put
  // expected-remark @+1 {{shared memory by ld_st}}
  %b = tile.load %y[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: %[[B:.*]] = tile.get
  // CHECK-NEXT: scf.if
  %s = scf.if %if -> tensor<64x64xf32, #acc> {
    // CHECK-NEXT: tile.dot %{{.*}}, %[[B]]
    %d = tile.dot %a, %b, %acc transpose_b : tensor<64x64xf16, #a>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
    scf.yield %d : tensor<64x64xf32, #acc>
  } else {
    scf.yield %acc : tensor<64x64xf32, #acc>
  }
  // CHECK: %[[T:.*]] = tile.read %[[B]]
  // CHECK-NEXT: tile.release %[[B]]
  // CHECK-NEXT: tile.store %[[T]]
  tile.store %b, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf16>, !tile.view<?x64xf16>
  tile.return
}

// CHECK-LABEL: tile.func @values
tile.func @values(%x: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16, #a>
  %w = arith.addf %a, %a : tensor<64x64xf16, #a>
  // A computed operand b.
  // CHECK: tile.put_value %[[R0:.*]], %{{.*}} : <1 x 64x64xf16
  // CHECK-NEXT: %[[W:.*]] = tile.get %[[R0]]
  // CHECK-NEXT: tile.dot %{{.*}}, %[[W]]
  // CHECK-NEXT: tile.release %[[W]]
  // expected-remark @+1 {{computed operand of 64x64xf16 to shared memory}}
  %s = tile.dot %a, %w, %acc : tensor<64x64xf16, #a>, tensor<64x64xf16, #a>, tensor<64x64xf32, #acc>
  // Between lanes only.
  // CHECK: tile.convert_layout
  %l = tile.convert_layout %s : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #lanes>
  // CHECK: tile.put_value %[[R1:.*]], %{{.*}} : <1 x 64x64xf32
  // CHECK-NEXT: %[[G:.*]] = tile.get %[[R1]]
  // CHECK-NEXT: %[[V:.*]] = tile.read %[[G]] : {{.*}} -> tensor<64x64xf32, #{{.*}}>
  // CHECK-NEXT: tile.release %[[G]]
  // CHECK-NEXT: tile.store %[[V]]
  // expected-remark @+1 {{layout conversion of 64x64xf32 through shared memory}}
  %o = tile.convert_layout %s : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #other>
  tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #other>, !tile.view<?x64xf32>
  tile.store %l, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32, #lanes>, !tile.view<?x64xf32>
  tile.return
}

// What is loaded from a view that the program stores to is put and got before
// the next store; a barrier in front of each access, since other threads may
// store an element than load it. The store to %z, which nothing loads, has none.
// CHECK-LABEL: tile.func @stored
// CHECK-SAME: (%[[X:.*]]: !tile.view<?x64xf16> {tile.align = 16 : i64}, %[[Z:.*]]: !tile.view
tile.func @stored(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %z: !tile.view<?x64xf32>, %t: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc = arith.constant dense<0.0> : tensor<64x64xf32>
  // CHECK: tile.barrier
  // CHECK-NEXT: tile.put %[[R:.*]], %[[X]]{{.*}} copy(ld_st)
  // CHECK-NEXT: %[[S:.*]] = tile.get %[[R]]
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.store %{{.*}}, %[[X]]
  // CHECK-NEXT: tile.dot %{{.*}}, %[[S]]
  // CHECK-NEXT: tile.release %[[S]]
  // CHECK-NEXT: tile.store %{{.*}}, %[[Z]]
  // expected-remark @+1 {{64x64xf16 to shared memory by ld_st", Reason="the program stores to its source", bytes=8192}}
  %b = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  tile.store %a, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf16>, !tile.view<?x64xf16>
  %s = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// What is far away is not looked at, however many ways lead there.
// CHECK-LABEL: tile.func @doubled
tile.func @doubled(%x: !tile.view<?x?xf16> {tile.align = 16 : i64}, %z: !tile.view<?x64xf32>, %t: index)
    grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc = arith.constant dense<0.0> : tensor<64x64xf32>
  %a0 = arith.muli %t, %c8 : index
  %a1 = arith.addi %a0, %a0 : index
  %a2 = arith.addi %a1, %a1 : index
  %a3 = arith.addi %a2, %a2 : index
  %a4 = arith.addi %a3, %a3 : index
  %a5 = arith.addi %a4, %a4 : index
  %a6 = arith.addi %a5, %a5 : index
  %a7 = arith.addi %a6, %a6 : index
  %a8 = arith.addi %a7, %a7 : index
  %a9 = arith.addi %a8, %a8 : index
  %a10 = arith.addi %a9, %a9 : index
  %a11 = arith.addi %a10, %a10 : index
  %a12 = arith.addi %a11, %a11 : index
  %a13 = arith.addi %a12, %a12 : index
  %a14 = arith.addi %a13, %a13 : index
  %a15 = arith.addi %a14, %a14 : index
  %a16 = arith.addi %a15, %a15 : index
  %a17 = arith.addi %a16, %a16 : index
  %a18 = arith.addi %a17, %a17 : index
  %a19 = arith.addi %a18, %a18 : index
  %a20 = arith.addi %a19, %a19 : index
  %a21 = arith.addi %a20, %a20 : index
  %a22 = arith.addi %a21, %a21 : index
  %a23 = arith.addi %a22, %a22 : index
  %a24 = arith.addi %a23, %a23 : index
  %a25 = arith.addi %a24, %a24 : index
  %a26 = arith.addi %a25, %a25 : index
  %a27 = arith.addi %a26, %a26 : index
  %a28 = arith.addi %a27, %a27 : index
  %a29 = arith.addi %a28, %a28 : index
  %a30 = arith.addi %a29, %a29 : index
  %a31 = arith.addi %a30, %a30 : index
  %a32 = arith.addi %a31, %a31 : index
  %a33 = arith.addi %a32, %a32 : index
  %a34 = arith.addi %a33, %a33 : index
  %a35 = arith.addi %a34, %a34 : index
  %a36 = arith.addi %a35, %a35 : index
  %a37 = arith.addi %a36, %a36 : index
  %a38 = arith.addi %a37, %a37 : index
  %a39 = arith.addi %a38, %a38 : index
  %a40 = arith.addi %a39, %a39 : index
  // CHECK: copy(ld_st)
  // expected-remark @+1 {{64x64xf16 to shared memory by ld_st", Reason="its rows may start anywhere", bytes=8192}}
  %b = tile.load %x[%c0, %a40] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x64xf16>
  %s = tile.dot %a, %b, %acc : tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

#row = #tile.frag<reg = [(2, 1), (8, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
#turned = #tile.frag<reg = [(2, 1, 0), (2, 0, 8), (8, 8, 0)], lane = [(4, 2, 0), (8, 0, 1)], warp = [(4, 0, 16)]>

// Sums of what several warps hold: along rows, and along columns.
// CHECK-LABEL: tile.func @sums
tile.func @sums(%x: f32, %y: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.broadcast %x : f32 -> tensor<64x64xf32, #acc>
  %i = tile.broadcast %x : f32 -> tensor<64xf32, #row>
  // CHECK: tile.put_value
  // CHECK: tile.reduce addf
  // CHECK: tile.put_value
  // expected-remark @below {{layout conversion of 64x64xf32 through shared memory}}
  // expected-remark @below {{layout conversion of 64xf32 through shared memory}}
  // expected-remark @+1 {{reduction of tensor<64x64xf32}}
  %r = tile.reduce addf %t init %i dim 0 : tensor<64x64xf32, #acc> -> tensor<64xf32, #row>
  tile.store %r, %y[%c0] dims [0] : tensor<64xf32, #row>, !tile.view<?xf32>
  %u = tile.broadcast %x : f32 -> tensor<64x64xf32, #turned>
  // CHECK: tile.reduce maxnumf
  // expected-remark @below {{layout conversion of 64x64xf32 through shared memory}}
  // expected-remark @below {{layout conversion of 64xf32 through shared memory}}
  // expected-remark @+1 {{reduction of tensor<64x64xf32}}
  %m = tile.reduce maxnumf %u init %r dim 1 : tensor<64x64xf32, #turned> -> tensor<64xf32, #row>
  tile.store %m, %y[%c0] dims [0] : tensor<64xf32, #row>, !tile.view<?xf32>
  tile.return
}

// Indices cross warps as i64.
// CHECK-LABEL: tile.func @indices
tile.func @indices(%y: !tile.view<?xi64>, %x: index, %t: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  // CHECK: %[[RING:.*]] = tile.ring : <1 x 64xi64
  // CHECK: %[[TILE:.*]] = tile.iota
  %i = tile.iota %x : index -> tensor<64xindex, #row>
  // CHECK: %[[WIDE:.*]] = arith.index_cast %[[TILE]] : tensor<64xindex, #{{.*}}> to tensor<64xi64, #{{.*}}>
  // CHECK: tile.put_value %[[RING]], %[[WIDE]]
  // CHECK: %[[READ:.*]] = tile.read
  // CHECK: arith.index_cast %[[READ]] : tensor<64xi64, #{{.*}}> to tensor<64xindex, #{{.*}}>
  // expected-remark @+1 {{layout conversion of 64xi64 through shared memory}}
  %j = tile.convert_layout %i : tensor<64xindex, #row> -> tensor<64xindex, #across>
  %n = arith.index_cast %j : tensor<64xindex, #across> to tensor<64xi64, #across>
  tile.store %n, %y[%c0] dims [0] : tensor<64xi64, #across>, !tile.view<?xi64>
  tile.return
}

// What one product takes transposed, and another of other warps, stands in shared memory once.
// CHECK-LABEL: tile.func @shared_a
tile.func @shared_a(%y: !tile.view<?x64xf16>, %b: !tile.view<?x64xf16>, %out: !tile.view<?x64xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [1, 0] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
  %x = tile.load %y[%t, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16, #acc>
  // expected-remark @+1 {{64x64xf16 to shared memory by ld_st"}}
  %k = tile.load %b[%t, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<64x64xf16>
  // CHECK: tile.put_value %[[RA:[a-z0-9_]+]], %{{.*}} : <1 x 64x64xf16
  // CHECK-NEXT: %[[A:.*]] = tile.get %[[RA]]
  // CHECK-NOT: tile.convert_layout
  // CHECK: tile.dot %[[A]], %[[B:.*]], %{{.*}} :
  // CHECK: tile.dot %[[A]], %[[B]], %{{.*}} transpose_a :
  // CHECK: tile.release %[[A]]
  %other = tile.convert_layout %x : tensor<64x64xf16, #acc> -> tensor<64x64xf16, #other>
  // expected-remark @+1 {{computed operand of 64x64xf16 to shared memory", bytes=8192}}
  %o = tile.dot %other, %k, %zero : tensor<64x64xf16, #other>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  %u = tile.dot %x, %k, %o transpose_a : tensor<64x64xf16, #acc>, tensor<64x64xf16>, tensor<64x64xf32, #acc>
  tile.store %u, %out[%t, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  tile.return
}
