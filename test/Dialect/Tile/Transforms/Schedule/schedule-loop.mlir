// RUN: fa-opt %s --tile-schedule-loop --remarks --verify-diagnostics | FileCheck %s
// RUN: fa-opt %s --tile-schedule-loop=stages=2 | FileCheck %s --check-prefix=TWO
// RUN: fa-opt %s --tile-schedule-loop=stages=4,3 | FileCheck %s --check-prefix=FOUR
// RUN: fa-opt %s --tile-schedule-loop="stages=4 shared-limit=51000" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LIMIT

!ring = !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
!slot = !tile.slot<64x64xf16, #tile.swizzle<128>>
!view = !tile.view<?x64xf16>

// Two products with an elementwise function between them: each slot is filled
// behind the other product. The second get moves up to the release of the
// first slot, so that it is filled again at once.
// CHECK-LABEL: tile.func @chain
// CHECK: %[[RB:.*]] = tile.ring : <1 x
// CHECK: %[[RC:.*]] = tile.ring : <1 x
// CHECK: scf.for
// CHECK-DAG: tile.get %[[RB]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// CHECK-DAG: tile.put %[[RC]], {{.*}} {tile.order = 1 : i64, tile.stage = 1 : i64}
// CHECK-DAG: tile.dot {{.*}} transpose_b {tile.order = 2 : i64, tile.stage = 1 : i64}
// CHECK-DAG: tile.release {{.*}} {tile.order = 3 : i64, tile.stage = 1 : i64}
// CHECK-DAG: tile.get %[[RC]] {tile.order = 4 : i64, tile.stage = 1 : i64}
// CHECK-DAG: tile.put %[[RB]], {{.*}} {tile.order = 5 : i64, tile.stage = 0 : i64}
// CHECK-DAG: math.exp2 {{.*}}tile.order = 6 : i64, tile.stage = 1 : i64
// CHECK-DAG: tile.dot {{.*}} {tile.order = 8 : i64, tile.stage = 1 : i64}
// CHECK: scf.yield

// Two slots each: one barrier, at the gets in a row, serves both; the next
// iteration is filled behind them.
// TWO-LABEL: tile.func @chain
// TWO: %[[RB:.*]] = tile.ring : <2 x
// TWO: %[[RC:.*]] = tile.ring : <2 x
// TWO: scf.for
// TWO-DAG: tile.get %[[RB]] {tile.order = 0 : i64, tile.stage = 1 : i64}
// TWO-DAG: tile.get %[[RC]] {tile.order = 1 : i64, tile.stage = 1 : i64}
// TWO-DAG: tile.put %[[RB]], {{.*}} {tile.order = 2 : i64, tile.stage = 0 : i64}
// TWO-DAG: tile.put %[[RC]], {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
// TWO: scf.yield

// More of one than of the other: three iterations ahead and two.
// FOUR-LABEL: tile.func @chain
// FOUR: %[[RB:.*]] = tile.ring : <4 x
// FOUR: %[[RC:.*]] = tile.ring : <3 x
// FOUR: scf.for
// FOUR-DAG: tile.put %[[RC]], {{.*}} {tile.order = 2 : i64, tile.stage = 1 : i64}
// FOUR-DAG: tile.put %[[RB]], {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
// FOUR-DAG: tile.get %[[RB]] {tile.order = 0 : i64, tile.stage = 3 : i64}
// FOUR: scf.yield

// LIMIT: remark: ring of 64x64xf16: 3 stages, since the program's rings take 65536 bytes and the limit is 51000
// LIMIT: remark: ring of 64x64xf16: 3 stages, since the program's rings take 57344 bytes and the limit is 51000
tile.func @chain(%y: !view, %z: !view, %out: !tile.view<?x64xf32>, %n: index)
    grid affine_map<() -> (1)> sizes [] {
  %rb = tile.ring : !ring
  %rc = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    // expected-remark @+1 {{ring of 64x64xf16 filled after the get of 64x64xf16", iterationsAhead=1, stages=1}}
    tile.put %rb, %y[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %b = tile.get %rb : !ring -> !slot
    %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %b : !slot
    %e = math.exp2 %s : tensor<64x64xf32>
    // expected-remark @+1 {{ring of 64x64xf16 filled after the get of 64x64xf16", iterationsAhead=0, stages=1}}
    tile.put %rc, %z[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %p = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %c = tile.get %rc : !ring -> !slot
    %o = tile.dot %p, %c, %acc : tensor<64x64xf16>, !slot, tensor<64x64xf32>
    tile.release %c : !slot
    scf.yield %o : tensor<64x64xf32>
  }
  tile.store %r, %out[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// One product of two loaded operands: nothing hides a copy to the only slot,
// so two. What the indices need is copied to the stage of the put.
// CHECK-LABEL: tile.func @product
// CHECK: tile.ring : <2 x
// CHECK: tile.ring : <2 x
// CHECK: scf.for
// CHECK: arith.addi {{.*}} {tile.order = 2 : i64, tile.stage = 0 : i64}
// CHECK-NEXT: tile.put {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
// CHECK-NEXT: tile.put {{.*}} {tile.order = 4 : i64, tile.stage = 0 : i64}
// CHECK-NEXT: tile.get {{.*}} {tile.order = 0 : i64, tile.stage = 1 : i64}
// CHECK-NEXT: tile.get {{.*}} {tile.order = 1 : i64, tile.stage = 1 : i64}
// CHECK-NEXT: tile.dot {{.*}}tile.stage = 1 : i64
tile.func @product(%y: !view, %z: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !ring
  %rb = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    %i = arith.addi %j, %c64 : index
    // expected-remark @+1 {{ring of 64x64xf16 filled after the get of 64x64xf16", iterationsAhead=1, stages=2}}
    tile.put %ra, %y[%i, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    // expected-remark @+1 {{ring of 64x64xf16 filled after the get of 64x64xf16", iterationsAhead=1, stages=2}}
    tile.put %rb, %z[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %a = tile.get %ra : !ring -> !slot
    %b = tile.get %rb : !ring -> !slot
    %s = tile.dot %a, %b, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %b : !slot
    tile.release %a : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}

// Stages that the program gives stay; places that the loop carries, or that an
// op with an effect computes, cannot be known ahead.
// CHECK-LABEL: tile.func @given
// CHECK: tile.ring : <3 x
// CHECK: tile.ring : <1 x
tile.func @given(%y: !view, %z: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ra = tile.ring : !tile.ring<3 x 64x64xf16, #tile.swizzle<128>>
  %rb = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0, %k = %c0) -> (tensor<64x64xf32>, index) {
    // expected-remark @+1 {{iterationsAhead=2, stages=3}}
    tile.put %ra, %y[%j, %c0] dims [0, 1] copy(ld_st) : !tile.ring<3 x 64x64xf16, #tile.swizzle<128>>, !view
    // expected-remark @+1 {{ring of 64x64xf16 filled right before it is read", Reason="its place is carried by the loop", stages=1}}
    tile.put %rb, %z[%k, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %a = tile.get %ra : !tile.ring<3 x 64x64xf16, #tile.swizzle<128>> -> !slot
    %b = tile.get %rb : !ring -> !slot
    %s = tile.dot %a, %b, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    tile.release %b : !slot
    %next = arith.muli %k, %c64 : index
    scf.yield %s, %next : tensor<64x64xf32>, index
  }
  tile.return
}

// Under a condition nothing runs ahead, but the second slot is filled behind
// the first product.
// CHECK-LABEL: tile.func @conditional
// CHECK: scf.if
// CHECK-DAG: tile.put %[[R:[0-9]+]], {{.*}} {tile.order = 0 : i64, tile.stage = 0 : i64}
// CHECK-DAG: tile.get %[[R]] {tile.order = 1 : i64, tile.stage = 0 : i64}
// CHECK-DAG: tile.put %{{.*}} {tile.order = 2 : i64, tile.stage = 0 : i64}
// CHECK-DAG: tile.dot {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
// CHECK: else
tile.func @conditional(%y: !view, %z: !view, %if: i1, %n: index) grid affine_map<() -> (1)> sizes [] {
  %rb = tile.ring : !ring
  %rc = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %a = arith.constant dense<1.0> : tensor<64x64xf16>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-remark @+1 {{loop not scheduled", Reason="its rings are filled further inside}}
  %r = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    %u = scf.if %if -> tensor<64x64xf32> {
      // expected-remark @+1 {{ring of 64x64xf16 filled right before it is read", Reason="its slot is free no earlier", stages=1}}
      tile.put %rb, %y[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
      %b = tile.get %rb : !ring -> !slot
      %s = tile.dot %a, %b, %acc0 transpose_b : tensor<64x64xf16>, !slot, tensor<64x64xf32>
      tile.release %b : !slot
      // expected-remark @+1 {{ring of 64x64xf16 filled after the get of 64x64xf16", iterationsAhead=0, stages=1}}
      tile.put %rc, %z[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
      %p = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
      %c = tile.get %rc : !ring -> !slot
      %o = tile.dot %p, %c, %acc : tensor<64x64xf16>, !slot, tensor<64x64xf32>
      tile.release %c : !slot
      scf.yield %o : tensor<64x64xf32>
    } else {
      scf.yield %acc : tensor<64x64xf32>
    }
    scf.yield %u : tensor<64x64xf32>
  }
  tile.return
}

// A ring that is used in other ways is left alone.
// CHECK-LABEL: tile.func @other
// CHECK-NOT: tile.stage
tile.func @other(%y: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %r = tile.ring : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-remark @+1 {{loop not scheduled", Reason="a ring is used more than once in an iteration, or elsewhere}}
  %o = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    tile.put %r, %y[%j, %c0] dims [0, 1] copy(ld_st) : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>, !view
    tile.put %r, %y[%j, %c0] dims [0, 1] copy(ld_st) : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>>, !view
    %a = tile.get %r : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>> -> !slot
    %b = tile.get %r : !tile.ring<2 x 64x64xf16, #tile.swizzle<128>> -> !slot
    %s = tile.dot %a, %b, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    tile.release %b : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}

// Loops that yield an argument of their own are left alone.
// CHECK-LABEL: tile.func @swap
// CHECK-NOT: tile.stage
tile.func @swap(%y: !view, %z: !tile.view<?x64xf32>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ring = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  // expected-remark @+1 {{loop not scheduled", Reason="it yields one of its own arguments}}
  %o:3 = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0, %p = %c0, %q = %n)
      -> (tensor<64x64xf32>, index, index) {
    tile.put %ring, %y[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %a = tile.get %ring : !ring -> !slot
    %s = tile.dot %a, %a, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    scf.yield %s, %q, %p : tensor<64x64xf32>, index, index
  }
  tile.store %o#0, %z[%o#1, %o#2] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// The place is loaded from a table that the loop stores to: no running ahead.
// CHECK-LABEL: tile.func @table
// CHECK: tile.load {{.*}} {tile.order = 0 : i64, tile.stage = 0 : i64}
// CHECK: tile.put {{.*}} {tile.order = 1 : i64, tile.stage = 0 : i64}
// CHECK: tile.store {{.*}} {tile.order = 5 : i64, tile.stage = 0 : i64}
tile.func @table(%y: !view, %t: !tile.view<?xindex>, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ring = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %places = arith.constant dense<0> : tensor<1xindex>
  %o = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    %i = tile.load %t[%j] : !tile.view<?xindex> -> index
    // expected-remark @+1 {{ring of 64x64xf16 filled right before it is read", Reason="its place needs 'tile.load'", stages=1}}
    tile.put %ring, %y[%i, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %a = tile.get %ring : !ring -> !slot
    %s = tile.dot %a, %a, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    tile.store %places, %t[%j] dims [0] : tensor<1xindex>, !tile.view<?xindex>
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}

// Put and get stay in front of the store to their source, though the reader is behind it.
// CHECK-LABEL: tile.func @source
// CHECK: tile.put {{.*}} {tile.order = 0 : i64, tile.stage = 0 : i64}
// CHECK: tile.get {{.*}} {tile.order = 1 : i64, tile.stage = 0 : i64}
// CHECK: tile.store {{.*}} {tile.order = 2 : i64, tile.stage = 0 : i64}
// CHECK: tile.dot {{.*}} {tile.order = 3 : i64, tile.stage = 0 : i64}
tile.func @source(%y: !view, %n: index) grid affine_map<() -> (1)> sizes [] {
  %ring = tile.ring : !ring
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %ones = arith.constant dense<1.0> : tensor<64x64xf16>
  %o = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %acc0) -> (tensor<64x64xf32>) {
    // expected-remark @+1 {{ring of 64x64xf16 filled right before it is read", Reason="the program stores to its source", stages=1}}
    tile.put %ring, %y[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !view
    %a = tile.get %ring : !ring -> !slot
    tile.store %ones, %y[%j, %c0] dims [0, 1] : tensor<64x64xf16>, !view
    %s = tile.dot %a, %a, %acc : !slot, !slot, tensor<64x64xf32>
    tile.release %a : !slot
    scf.yield %s : tensor<64x64xf32>
  }
  tile.return
}
