// RUN: fa-opt %s --tile-divide-sums --split-input-file --verify-diagnostics | FileCheck %s

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#vec = #tile.frag<reg = [(2, 1), (8, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
#sum = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
!tile2 = tensor<64x64xf32, #acc>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>
!view = !tile.view<?x64xf16>

// Two sums, a += f(x x) x and b += g(f(x x), y y) x, where a row of numbers is added in both: what b alone needs is the second
// role's, as are what adds up its weights, and what comes of b after the loop. x, which both read, has a reader for each; the
// vector is read by both; f(x x) goes through a ring.
// CHECK-LABEL: tile.func @two
// CHECK: %[[SENT:.*]] = tile.ring : <2 x 4096xf32, #tile.swizzle<128>>
// CHECK: %[[X:.*]] = tile.ring readers(2)
// CHECK: %[[Y:.*]] = tile.ring : <2
// CHECK: %[[N:.*]] = tile.ring readers(2) : <2 x 64xf32
// CHECK: scf.for
// CHECK: %[[XS:.*]] = tile.get %[[X]] : <
// CHECK-NEXT: %[[XS2:.*]] = tile.get %[[X]] reader(1) {tile.role = "second"}
// CHECK: tile.get %[[Y]] {tile.role = "second"}
// CHECK: tile.dot_start %[[XS]], %[[XS]], %{{.*}} transpose_b : !tile.slot
// CHECK: tile.await %{{.*}} : <tensor
// CHECK: tile.dot_start {{.*}} {tile.role = "second"}
// CHECK: tile.await {{.*}} {tile.role = "second"}
// CHECK: tile.get %[[N]] : <
// CHECK: tile.get %[[N]] reader(1) {tile.role = "second"}
// CHECK: tile.read %{{.*}} : <64xf32
// CHECK: tile.read %{{.*}} {tile.role = "second"} : <64xf32
// CHECK: %[[P:.*]] = math.exp2 %{{.*}} : tensor
// CHECK-NEXT: tile.put_value %[[SENT]], %[[P]] order(
// CHECK-NEXT: %[[S:.*]] = tile.get %[[SENT]] {tile.role = "second"}
// CHECK-NEXT: %[[MINE:.*]] = tile.read %[[S]] order({{.*}}) {tile.role = "second"}
// CHECK-NEXT: tile.release %[[S]] {tile.role = "second"}
// CHECK: arith.truncf %[[P]] : tensor
// CHECK: tile.dot_start %{{.*}}, %[[XS]], %{{.*}} : tensor
// CHECK: %[[W:.*]] = arith.mulf %[[MINE]], %{{.*}} {tile.role = "second"}
// CHECK: tile.reduce addf %[[W]] {{.*}}tile.role = "second"
// CHECK: tile.dot_start %{{.*}}, %[[XS2]], %{{.*}} {tile.role = "second"}
// CHECK: tile.release %[[XS2]] {tile.role = "second"}
// CHECK: scf.yield
// CHECK: tile.store %{{.*}}, %{{.*}} dims [0, 1] : tensor
// CHECK: arith.addf {{.*}} {tile.role = "second"}
// CHECK: tile.store {{.*}} {tile.role = "second"}
// CHECK: tile.store {{.*}} {tile.role = "second"}
tile.func @two(%x: !view, %y: !view, %n: !tile.view<?xf32>, %a: !tile.view<?x64xf32>, %b: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %end: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rn = tile.ring : !tile.ring<2 x 64xf32, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> !tile2
  %nosum = tile.broadcast %zero : f32 -> tensor<64xf32, #sum>
  %r:3 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %none, %sb = %none, %ss = %nosum) -> (!tile2, !tile2, tensor<64xf32, #sum>) {
    tile.put %rx, %x[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    tile.put %ry, %y[%j, %c0] dims [0, 1] copy(tma) : !ring, !view
    tile.put %rn, %n[%j] dims [0] copy(tma) : !tile.ring<2 x 64xf32, #tile.swizzle<128>>, !tile.view<?xf32>
    %xs = tile.get %rx : !ring -> !slot
    %ys = tile.get %ry : !ring -> !slot
    %p0 = tile.dot_start %xs, %xs, %none transpose_b : !slot, !slot, !tile2 -> !pending
    %s0 = tile.await %p0 : !pending -> !tile2
    %p1 = tile.dot_start %ys, %ys, %none transpose_b : !slot, !slot, !tile2 -> !pending
    %s1 = tile.await %p1 : !pending -> !tile2
    tile.release %ys : !slot
    %ns = tile.get %rn : !tile.ring<2 x 64xf32, #tile.swizzle<128>> -> !tile.slot<64xf32, #tile.swizzle<128>>
    %v = tile.read %ns : !tile.slot<64xf32, #tile.swizzle<128>> -> tensor<64xf32, #vec>
    tile.release %ns : !tile.slot<64xf32, #tile.swizzle<128>>
    %vb = tile.broadcast %v dim 0 : tensor<64xf32, #vec> -> !tile2
    %e = arith.addf %s0, %vb : !tile2
    %p = math.exp2 %e : !tile2
    %low = arith.truncf %p : !tile2 to tensor<64x64xf16, #acc>
    %pa = tile.dot_start %low, %xs, %sa : tensor<64x64xf16, #acc>, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    %d = arith.addf %s1, %vb : !tile2
    %w = arith.mulf %p, %d : !tile2
    %nsum = tile.reduce addf %w init %ss dim 1 : !tile2 -> tensor<64xf32, #sum>
    %wl = arith.truncf %w : !tile2 to tensor<64x64xf16, #acc>
    %pb = tile.dot_start %wl, %xs, %sb : tensor<64x64xf16, #acc>, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    tile.release %xs : !slot
    scf.yield %na, %nb, %nsum : !tile2, !tile2, tensor<64xf32, #sum>
  }
  tile.store %r#0, %a[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  %twice = arith.addf %r#1, %r#1 : !tile2
  tile.store %twice, %b[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#2, %s[%c0] dims [0] : tensor<64xf32, #sum>, !tile.view<?xf32>
  tile.return
}

// -----

// Nothing is divided where one role computes.
// CHECK-LABEL: tile.func @one
// CHECK-NOT: tile.role
tile.func @one(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 1 : i64} {
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// Without a loop of sums one role has all.
// CHECK-LABEL: tile.func @no_loop
// CHECK-NOT: tile.role
tile.func @no_loop(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  %s = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !slot
  %p = tile.dot_start %s, %s, %none transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
  %a = tile.await %p : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
  tile.release %s : !slot
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>

// expected-error @+1 {{tile.compute_roles is 1 or 2, got 3 : i64}}
tile.func @three(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 3 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> tensor<64x64xf32, #acc>
  %s = tile.get %r : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>> -> !slot
  %p = tile.dot_start %s, %s, %none transpose_b : !slot, !slot, tensor<64x64xf32, #acc> -> !tile.pending<tensor<64x64xf32, #acc>>
  %a = tile.await %p : !tile.pending<tensor<64x64xf32, #acc>> -> tensor<64x64xf32, #acc>
  tile.release %s : !slot
  tile.return
}

// -----

// Warps that wait for their products have no use for another role.
// CHECK-LABEL: tile.func @waits
// CHECK-NOT: tile.role
tile.func @waits(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (8, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#sum = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
!tile2 = tensor<64x64xf32, #acc>
!low = tensor<64x64xf16, #acc>
!ring = !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!pending = !tile.pending<tensor<64x64xf32, #acc>>
!view = !tile.view<?x64xf16>

// A product that neither sum needs, of a slot that the second one alone needs, is the second role's, as are the numbers that it is
// added up to; its other slot is from before the loop, and has a reader for each role. A scalar belongs to all.
// CHECK-LABEL: tile.func @beside
// CHECK: %[[X:.*]] = tile.ring : <
// CHECK: %[[Y:.*]] = tile.ring : <
// CHECK: %[[Z:.*]] = tile.ring readers(2) : <
// CHECK: %[[ZS:.*]] = tile.get %[[Z]] : <
// CHECK: %[[ZS2:.*]] = tile.get %[[Z]] reader(1) {tile.role = "second"}
// CHECK: scf.for
// CHECK: %[[N:.*]] = tile.load %{{.*}} : !tile.view<?xi32> -> i32
// CHECK: %[[N2:.*]] = tile.load %{{.*}} {tile.role = "second"} : !tile.view<?xi32> -> i32
// CHECK: arith.index_cast %[[N]] : i32
// CHECK: tile.get %[[X]] : <
// CHECK: tile.dot_start %{{.*}}, %[[ZS]], %{{.*}} : tensor
// CHECK: tile.await %{{.*}} : <tensor
// CHECK: %[[YS:.*]] = tile.get %[[Y]] {tile.role = "second"}
// CHECK: scf.if
// CHECK: sitofp %[[N2]]
// CHECK: tile.broadcast %[[N2]]
// CHECK: } {tile.role = "second"}
// CHECK: tile.dot_start %{{.*}}, %[[YS]], %{{.*}} {tile.role = "second"}
// CHECK: tile.await {{.*}} {tile.role = "second"}
// CHECK: tile.dot_start %[[ZS2]], %[[YS]], %{{.*}} {tile.role = "second"}
// CHECK: tile.await {{.*}} {tile.role = "second"}
// CHECK: tile.release %[[YS]] {tile.role = "second"}
// CHECK: tile.reduce addf {{.*}} {tile.role = "second"}
// CHECK: scf.yield
// CHECK: tile.release %[[ZS]] : <
// CHECK: tile.release %[[ZS2]] {tile.role = "second"}
tile.func @beside(%x: !view, %y: !view, %z: !view, %n: !tile.view<?xi32>, %a: !tile.view<?x64xf32>, %b: !tile.view<?x64xf32>, %s: !tile.view<?xf32>, %end: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64, tile.compute_roles = 2 : i64} {
  %rx = tile.ring : !ring
  %ry = tile.ring : !ring
  %rz = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %none = tile.broadcast %zero : f32 -> !tile2
  %nosum = tile.broadcast %zero : f32 -> tensor<64xf32, #sum>
  %ones = arith.constant dense<1.0> : !low
  tile.put %rz, %z[%c0, %c0] dims [0, 1] copy(tma) : !ring, !view
  %zs = tile.get %rz : !ring -> !slot
  %r:3 = scf.for %j = %c0 to %end step %c64 iter_args(%sa = %none, %sb = %none, %ss = %nosum) -> (!tile2, !tile2, tensor<64xf32, #sum>) {
    %number = tile.load %n[%j] : !tile.view<?xi32> -> i32
    %at = arith.index_cast %number : i32 to index
    tile.put %rx, %x[%at, %c0] dims [0, 1] copy(tma) : !ring, !view
    tile.put %ry, %y[%at, %c0] dims [0, 1] copy(tma) : !ring, !view
    %xs = tile.get %rx : !ring -> !slot
    %pa = tile.dot_start %ones, %zs, %sa : !low, !slot, !tile2 -> !pending
    %na = tile.await %pa : !pending -> !tile2
    %v = tile.read %xs : !slot -> !low
    tile.release %xs : !slot
    %ys = tile.get %ry : !ring -> !slot
    %some = arith.cmpi slt, %at, %end : index
    %w = scf.if %some -> (!low) {
      %f = arith.sitofp %number : i32 to f16
      %t = tile.broadcast %f : f16 -> !low
      scf.yield %t : !low
    } else {
      %t = tile.broadcast %number : i32 -> tensor<64x64xi32, #acc>
      %u = arith.sitofp %t : tensor<64x64xi32, #acc> to !low
      scf.yield %u : !low
    }
    %pb = tile.dot_start %w, %ys, %sb : !low, !slot, !tile2 -> !pending
    %nb = tile.await %pb : !pending -> !tile2
    %p = tile.dot_start %zs, %ys, %none transpose_b : !slot, !slot, !tile2 -> !pending
    %d = tile.await %p : !pending -> !tile2
    tile.release %ys : !slot
    %nsum = tile.reduce addf %d init %ss dim 1 : !tile2 -> tensor<64xf32, #sum>
    scf.yield %na, %nb, %nsum : !tile2, !tile2, tensor<64xf32, #sum>
  }
  tile.release %zs : !slot
  tile.store %r#0, %a[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#1, %b[%c0, %c0] dims [0, 1] : !tile2, !tile.view<?x64xf32>
  tile.store %r#2, %s[%c0] dims [0] : tensor<64xf32, #sum>, !tile.view<?xf32>
  tile.return
}
