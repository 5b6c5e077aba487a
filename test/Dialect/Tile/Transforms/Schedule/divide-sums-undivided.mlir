// RUN: fa-opt %s --tile-divide-sums --split-input-file --remarks=tile-divide-sums 2>&1 | FileCheck %s
// RUN: fa-opt %s --tile-divide-sums --split-input-file -o %t.divided
// RUN: fa-opt %s --split-input-file -o %t.undivided
// RUN: diff %t.divided %t.undivided

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!tile2 = tensor<64x64xf32, #acc>
!low = tensor<64x64xf16, #acc>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>
!view = !tile.view<?x64xf16>

// A tile that the loop carries cannot be sent: here each sum has it for its weights.
// CHECK: "one role has all sums", Reason="'arith.addf' takes {{.*}} of another role, which cannot be sent"
tile.func @carried(%x: !view, %y: !view, %a: !tile.view<?x64xf32>, %b: !tile.view<?x64xf32>, %end: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> !tile2
  %r:3 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %none, %sb = %none, %w = %none) -> (!tile2, !tile2, !tile2) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %ys = tile.get %ry : !ring -> !slot
    %la = arith.truncf %w : !tile2 to !low
    %pa = tile.dot_start %la, %xs, %sa : !low, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    tile.release %xs : !slot
    %twice = arith.addf %w, %w : !tile2
    %lb = arith.truncf %twice : !tile2 to !low
    %pb = tile.dot_start %lb, %ys, %sb : !low, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    tile.release %ys : !slot
    %nw = math.exp2 %w : !tile2
    scf.yield %na, %nb, %nw : !tile2, !tile2, !tile2
  }
  tile.store %r#0, %a[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#1, %b[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!tile2 = tensor<64x64xf32, #acc>
!low = tensor<64x64xf16, #acc>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>
!view = !tile.view<?x64xf16>

// A ring that the loop gets from twice has no reader for the second role beside both gets.
// CHECK: "one role has all sums", Reason="'tile.dot_start' takes !tile.slot<{{.*}}> of another role, which cannot be sent"
tile.func @twice(%x: !view, %y: !view, %a: !tile.view<?x64xf32>, %b: !tile.view<?x64xf32>, %end: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %rx = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> !tile2
  %ones = arith.constant dense<1.0> : !low
  %r:2 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %none, %sb = %none) -> (!tile2, !tile2) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %pa = tile.dot_start %ones, %xs, %sa : !low, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    %pb = tile.dot_start %ones, %xs, %sb : !low, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    tile.release %xs : !slot
    tile.put %rx, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    %ys = tile.get %rx : !ring -> !slot
    %v = tile.read %ys : !slot -> !low
    tile.release %ys : !slot
    scf.yield %na, %nb : !tile2, !tile2
  }
  tile.store %r#0, %a[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#1, %b[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!tile2 = tensor<64x64xf32, #acc>
!low = tensor<64x64xf16, #acc>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>
!view = !tile.view<?x64xf16>

// Two loops have sums.
// CHECK: "one role has all sums", Reason="several loops add up asynchronous products"
tile.func @several(%x: !view, %a: !tile.view<?x64xf32>, %b: !tile.view<?x64xf32>, %end: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %rx = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> !tile2
  %ones = arith.constant dense<1.0> : !low
  tile.put %rx, %x[%c0, %c0] dims [0, 1] copy(tma) : !ring, !view
  %xs = tile.get %rx : !ring -> !slot
  %q:2 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %none, %sb = %none) -> (!tile2, !tile2) {
    %pa = tile.dot_start %ones, %xs, %sa : !low, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    %pb = tile.dot_start %ones, %xs, %sb : !low, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    scf.yield %na, %nb : !tile2, !tile2
  }
  %r:2 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %q#0, %sb = %q#1) -> (!tile2, !tile2) {
    %pa = tile.dot_start %ones, %xs, %sa : !low, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    %pb = tile.dot_start %ones, %xs, %sb : !low, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    scf.yield %na, %nb : !tile2, !tile2
  }
  tile.release %xs : !slot
  tile.store %r#0, %a[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#1, %b[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.return
}
