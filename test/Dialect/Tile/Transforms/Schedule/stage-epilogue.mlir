// RUN: fa-opt %s --tile-stage-epilogue="shared-limit=40960" --remarks --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// A ring of its own behind the others, where shared memory is left. Elements of 4
// bytes, rows of tiles and views without a promise are stored as they were.
// CHECK-LABEL: tile.func @own
// CHECK: tile.ring : <1 x 64x64xf16
// CHECK-NEXT: %[[OWN:.*]] = tile.ring : <1 x 64x64xf16, #tile.swizzle<128>>
tile.func @own(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf16> {tile.align = 16 : i64},
               %f: !tile.view<?x64xf32> {tile.align = 16 : i64}, %free: !tile.view<?x64xf16>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  tile.put %r, %x[%i, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %a = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  %p = tile.dot_start %a, %a, %acc transpose_b : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.slot<64x64xf16, #tile.swizzle<128>>, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
  %s = tile.await %p : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
  // CHECK: tile.release
  tile.release %a : !tile.slot<64x64xf16, #tile.swizzle<128>>
  // CHECK: %[[O:.*]] = arith.truncf
  %o = arith.truncf %s : tensor<64x64xf32, #acc> to tensor<64x64xf16, #acc>
  // CHECK-NEXT: tile.put_value %[[OWN]], %[[O]]
  // CHECK-NEXT: %[[S:.*]] = tile.get %[[OWN]]
  // CHECK-NEXT: tile.bulk_store %[[S]] to %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] rows(64)
  // CHECK-NEXT: tile.release %[[S]]
  // expected-remark @+1 {{store of 64x64xf16 by way of shared memory of its own}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x64xf16, #acc>, !tile.view<?x64xf16>
  // CHECK-NEXT: tile.store
  // expected-remark @+1 {{store from registers", Reason="its elements do not have 2 bytes}}
  tile.store %s, %f[%i, %c0] dims [0, 1] : tensor<64x64xf32, #acc>, !tile.view<?x64xf32>
  // CHECK-NEXT: tile.store
  // expected-remark @+1 {{store from registers", Reason="its view has no tile.align 16}}
  tile.store %o, %free[%i, %c0] dims [0, 1] : tensor<64x64xf16, #acc>, !tile.view<?x64xf16>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#half = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#few = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// Else by way of a slot of its shape, which is released last; else not at all.
// CHECK-LABEL: tile.func @borrowed
// CHECK: tile.ring : <2 x 64x128xf16
// CHECK-NOT: tile.ring
tile.func @borrowed(%x: !tile.view<?x128xf16> {tile.align = 16 : i64}, %out: !tile.view<?x128xf16> {tile.align = 16 : i64}, %narrow: !tile.view<?x64xf16> {tile.align = 16 : i64}, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %w = tile.ring : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>>
  %r = tile.ring : !tile.ring<2 x 64x128xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x128xf32, #acc>
  %half = tile.broadcast %zero : f32 -> tensor<64x64xf32, #half>
  %few = tile.broadcast %zero : f32 -> tensor<64x8xf32, #few>
  tile.put %r, %x[%i, %c0] dims [0, 1] copy(tma) : !tile.ring<2 x 64x128xf16, #tile.swizzle<128>>, !tile.view<?x128xf16>
  // CHECK: %[[A:.*]] = tile.get
  %a = tile.get %r : !tile.ring<2 x 64x128xf16, #tile.swizzle<128>> -> !tile.slot<64x128xf16, #tile.swizzle<128>>
  %b = tile.get %w : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>> -> !tile.slot<8x128xf16, #tile.swizzle<128>>
  %p = tile.dot_start %a, %b, %few transpose_b : !tile.slot<64x128xf16, #tile.swizzle<128>>, !tile.slot<8x128xf16, #tile.swizzle<128>>, tensor<64x8xf32, #few> -> !tile.pending<tensor<64x8xf32, #few>>
  %s = tile.await %p : !tile.pending<tensor<64x8xf32, #few>> -> tensor<64x8xf32, #few>
  // CHECK-NOT: tile.release
  tile.release %a : !tile.slot<64x128xf16, #tile.swizzle<128>>
  %h = arith.truncf %half : tensor<64x64xf32, #half> to tensor<64x64xf16, #half>
  %o = arith.truncf %acc : tensor<64x128xf32, #acc> to tensor<64x128xf16, #acc>
  // CHECK: tile.write %{{.*}}, %[[A]]
  // CHECK-NEXT: tile.bulk_store %[[A]] to %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] rows(64)
  // expected-remark @+1 {{store of 64x128xf16 by way of a slot that products are done with", Reason="a ring of its own would make 51712 bytes and the limit is 40960}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x128xf16, #acc>, !tile.view<?x128xf16>
  // CHECK-NEXT: tile.write %{{.*}}, %[[A]]
  // CHECK-NEXT: tile.bulk_store %[[A]] to
  // expected-remark @+1 {{store of 64x128xf16 by way of the slot of a store before it}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x128xf16, #acc>, !tile.view<?x128xf16>
  // CHECK-NEXT: tile.store
  // expected-remark @+1 {{store of 64x64xf16 from registers", Reason="a ring of its own would make 43520 bytes, the limit is 40960, and no slot of this shape is free}}
  tile.store %h, %narrow[%i, %c0] dims [0, 1] : tensor<64x64xf16, #half>, !tile.view<?x64xf16>
  // CHECK-NEXT: tile.release %[[A]]
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#few = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// Two slots would fit, but not three: two that both tiles use in turn are better.
// CHECK-LABEL: tile.func @twin
// CHECK: tile.ring : <1 x 64x128xf16
// CHECK-NOT: tile.ring
tile.func @twin(%x: !tile.view<?x128xf16> {tile.align = 16 : i64}, %out: !tile.view<?x128xf16> {tile.align = 16 : i64}, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %w = tile.ring : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>>
  %r = tile.ring : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x128xf32, #acc>
  %few = tile.broadcast %zero : f32 -> tensor<64x8xf32, #few>
  tile.put %r, %x[%i, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>>, !tile.view<?x128xf16>
  // CHECK: %[[A:.*]] = tile.get
  %a = tile.get %r : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>> -> !tile.slot<64x128xf16, #tile.swizzle<128>>
  %b = tile.get %w : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>> -> !tile.slot<8x128xf16, #tile.swizzle<128>>
  %p = tile.dot_start %a, %b, %few transpose_b : !tile.slot<64x128xf16, #tile.swizzle<128>>, !tile.slot<8x128xf16, #tile.swizzle<128>>, tensor<64x8xf32, #few> -> !tile.pending<tensor<64x8xf32, #few>>
  %s = tile.await %p : !tile.pending<tensor<64x8xf32, #few>> -> tensor<64x8xf32, #few>
  tile.release %a : !tile.slot<64x128xf16, #tile.swizzle<128>>
  %o = arith.truncf %acc : tensor<64x128xf32, #acc> to tensor<64x128xf16, #acc>
  // CHECK: tile.write %{{.*}}, %[[A]]
  // CHECK-NEXT: tile.bulk_store %[[A]]
  // CHECK-NEXT: tile.release %[[A]]
  // expected-remark @+1 {{store of 64x128xf16 by way of a slot that products are done with", Reason="a ring of its own and another slot of that one would make 51712 bytes and the limit is 40960}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x128xf16, #acc>, !tile.view<?x128xf16>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (16, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#few = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>

// Where not even two fit, half of the columns after the other half, so that the slot
// of the operand is filled again meanwhile.
// CHECK-LABEL: tile.func @parts
// CHECK: %[[R:.*]] = tile.ring : <1 x 64x128xf16
// CHECK: tile.ring : <1 x 64x64xf16
// CHECK-NEXT: %[[OWN:.*]] = tile.ring : <1 x 64x64xf16, #tile.swizzle<128>>
tile.func @parts(%x: !tile.view<?x128xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x128xf16> {tile.align = 16 : i64}, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %w = tile.ring : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>>
  %r = tile.ring : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>>
  %other = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> tensor<64x128xf32, #acc>
  %few = tile.broadcast %zero : f32 -> tensor<64x8xf32, #few>
  tile.put %r, %x[%i, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>>, !tile.view<?x128xf16>
  // CHECK: %[[A:.*]] = tile.get %[[R]]
  %a = tile.get %r : !tile.ring<1 x 64x128xf16, #tile.swizzle<128>> -> !tile.slot<64x128xf16, #tile.swizzle<128>>
  %b = tile.get %w : !tile.ring<1 x 8x128xf16, #tile.swizzle<128>> -> !tile.slot<8x128xf16, #tile.swizzle<128>>
  %p = tile.dot_start %a, %b, %few transpose_b : !tile.slot<64x128xf16, #tile.swizzle<128>>, !tile.slot<8x128xf16, #tile.swizzle<128>>, tensor<64x8xf32, #few> -> !tile.pending<tensor<64x8xf32, #few>>
  %s = tile.await %p : !tile.pending<tensor<64x8xf32, #few>> -> tensor<64x8xf32, #few>
  // CHECK: tile.release %[[A]]
  tile.release %a : !tile.slot<64x128xf16, #tile.swizzle<128>>
  // CHECK: %[[O:.*]] = arith.truncf
  %o = arith.truncf %acc : tensor<64x128xf32, #acc> to tensor<64x128xf16, #acc>
  // CHECK-NEXT: %[[LEFT:.*]] = tile.columns %[[O]] first(0) : tensor<64x128xf16, #{{.*}}> -> tensor<64x64xf16, #{{.*}}>
  // CHECK-NEXT: tile.put_value %[[OWN]], %[[LEFT]]
  // CHECK-NEXT: %[[S:.*]] = tile.get %[[OWN]]
  // CHECK-NEXT: tile.bulk_store %[[S]] to %{{.*}}[%{{.*}}, %c0] dims [0, 1] rows(64)
  // CHECK-NEXT: tile.release %[[S]]
  // CHECK-NEXT: %[[RIGHT:.*]] = tile.columns %[[O]] first(64)
  // CHECK-NEXT: tile.put_value %[[OWN]], %[[RIGHT]]
  // CHECK-NEXT: %[[S1:.*]] = tile.get %[[OWN]]
  // CHECK-NEXT: %[[C64:.*]] = arith.constant 64
  // CHECK-NEXT: tile.bulk_store %[[S1]] to %{{.*}}[%{{.*}}, %[[C64]]] dims [0, 1] rows(64)
  // CHECK-NEXT: tile.release %[[S1]]
  // expected-remark @+1 {{store of 64x128xf16 by way of shared memory for 64 of its columns}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x128xf16, #acc>, !tile.view<?x128xf16>
  tile.return
}

// -----

// Without asynchronous products there will be no roles.
// CHECK-LABEL: tile.func @plain
tile.func @plain(%out: !tile.view<?x64xf16> {tile.align = 16 : i64}, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f16
  %v = tile.broadcast %z : f16 -> tensor<64x64xf16>
  // CHECK: tile.store
  tile.store %v, %out[%i, %c0] dims [0, 1] : tensor<64x64xf16>, !tile.view<?x64xf16>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
!sums = !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
!acc = tensor<64x64xf32, #acc>

// Else in the memory through which loops before it add, one behind the other while there is room.
// CHECK-LABEL: tile.func @inside
// CHECK: %[[SUMS:.*]] = tile.ring : <2 x 4096xf32, #tile.swizzle<128>>
// CHECK: %[[FIRST:.*]] = tile.ring in(%[[SUMS]] at 0 : !tile.ring<2 x 4096xf32, #tile.swizzle<128>>) : <1 x 64x64xf16, #tile.swizzle<128>>
// CHECK-NEXT: %[[SECOND:.*]] = tile.ring in(%[[SUMS]] at 8192 : !tile.ring<2 x 4096xf32, #tile.swizzle<128>>) : <1 x 64x64xf16, #tile.swizzle<128>>
tile.func @inside(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}, %out: !tile.view<?x64xf16> {tile.align = 16 : i64}, %y: !tile.view<?x64xf32, #order>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %sums = tile.ring : !sums
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %acc = tile.broadcast %zero : f32 -> !acc
  tile.put %r, %x[%i, %c0] dims [0, 1] copy(tma) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  %a = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !tile.slot<64x64xf16, #tile.swizzle<128>>
  %p = tile.dot_start %a, %a, %acc transpose_b : !tile.slot<64x64xf16, #tile.swizzle<128>>, !tile.slot<64x64xf16, #tile.swizzle<128>>, !acc -> !tile.pending<!acc>
  %s = tile.await %p : !tile.pending<!acc> -> !acc
  tile.release %a : !tile.slot<64x64xf16, #tile.swizzle<128>>
  scf.for %k = %c0 to %i step %c1 {
    tile.accumulate %s, %y[%c0, %c0] dims [0, 1] through(%sums) : !acc, !tile.view<?x64xf32, #order>, !sums
  }
  %o = arith.truncf %s : !acc to tensor<64x64xf16, #acc>
  // CHECK: tile.put_value %[[FIRST]]
  // CHECK-NEXT: %[[S:.*]] = tile.get %[[FIRST]]
  // CHECK-NEXT: tile.bulk_store %[[S]]
  // CHECK-NEXT: tile.release %[[S]]
  // expected-remark @+1 {{store of 64x64xf16 by way of shared memory through which loops add", Reason="its own would make 49664 bytes and the limit is 40960"}}
  tile.store %o, %out[%i, %c0] dims [0, 1] : tensor<64x64xf16, #acc>, !tile.view<?x64xf16>
  // CHECK: tile.put_value %[[SECOND]]
  // expected-remark @+1 {{store of 64x64xf16 by way of shared memory through which loops add}}
  tile.store %o, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf16, #acc>, !tile.view<?x64xf16>
  tile.return
}
