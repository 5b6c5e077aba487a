// RUN: fa-opt %s --verify-roundtrip | FileCheck %s

// Roles take scalars, views, rings and turns from around.

// CHECK-LABEL: tile.func @roles
tile.func @roles(%x: !tile.view<?x64xbf16>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0] attributes {tile.warps = 12 : i64} {
  %r = tile.ring : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>>
  // CHECK: %[[TURN:.*]] = tile.pingpong : <2>
  %turn = tile.pingpong : !tile.pingpong<2>
  %c0 = arith.constant 0 : index
  // CHECK: tile.roles {
  tile.roles {
    // CHECK: tile.role "load" warps(4) registers(24) {
    tile.role "load" warps(4) registers(24) {
      tile.put %r, %x[%t, %c0] dims [0, 1] copy(tma) : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>>, !tile.view<?x64xbf16>
    }
    // CHECK: tile.role "compute" warps(8) registers(240) {
    tile.role "compute" warps(8) registers(240) {
      %s = tile.get %r : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>> -> !tile.slot<64x64xbf16, #tile.swizzle<128>>
      // CHECK: tile.pingpong_wait %[[TURN]] : <2>
      tile.pingpong_wait %turn : !tile.pingpong<2>
      // CHECK: tile.pingpong_arrive %[[TURN]] : <2>
      tile.pingpong_arrive %turn : !tile.pingpong<2>
      tile.release %s : !tile.slot<64x64xbf16, #tile.swizzle<128>>
    }
  }
  tile.return
}

// CHECK-LABEL: tile.func @lowered
// CHECK-SAME: %[[MAP:[a-z0-9]+]]: !tile.tensor_map<64x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 0 : i64}
tile.func @lowered(%x: !tile.view<?x64xbf16>, %i: index, %p: i1,
                   %m: !tile.tensor_map<64x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 0 : i64})
    grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  %r = tile.ring : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>>
  // CHECK: %[[FULL:.*]] = tile.barriers arrivals(1) : <2>
  %full = tile.barriers arrivals(1) : !tile.barriers<2>
  %s = tile.slot_at %r[%i] : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>> -> !tile.slot<64x64xbf16, #tile.swizzle<128>>
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      %q = tile.slot_at %r[%i] : !tile.ring<2 x 64x64xbf16, #tile.swizzle<128>> -> !tile.slot<64x64xbf16, #tile.swizzle<128>>
      // CHECK: tile.barrier_expect %[[FULL]][%[[I:.*]]] bytes(8192) : <2>
      tile.barrier_expect %full[%i] bytes(8192) : !tile.barriers<2>
      // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] to %[[Q:.*]] copy(tma) signal %[[FULL]][%[[I]]] : <?x64xbf16>, <64x64xbf16, #tile.swizzle<128>>, !tile.barriers<2>
      tile.copy %x[%i, %i] dims [0, 1] to %q copy(tma) signal %full[%i] : !tile.view<?x64xbf16>, !tile.slot<64x64xbf16, #tile.swizzle<128>>, !tile.barriers<2>
      // CHECK: tile.copy %{{.*}}[%{{.*}}, %{{.*}}] dims [0, 1] to %[[Q]] copy(tma) signal %[[FULL]][%[[I]]] map(%[[MAP]]) : <?x64xbf16>, <64x64xbf16, #tile.swizzle<128>>, !tile.barriers<2>, !tile.tensor_map<64x64xbf16, #tile.swizzle<128>>
      tile.copy %x[%i, %i] dims [0, 1] to %q copy(tma) signal %full[%i] map(%m) : !tile.view<?x64xbf16>, !tile.slot<64x64xbf16, #tile.swizzle<128>>, !tile.barriers<2>, !tile.tensor_map<64x64xbf16, #tile.swizzle<128>>
    }
    tile.role "compute" warps(4) registers(0) {
      // CHECK: tile.barrier_wait %[[FULL]][%[[I]]], %{{.*}} : <2>
      tile.barrier_wait %full[%i], %p : !tile.barriers<2>
      // CHECK: tile.barrier_arrive %[[FULL]][%[[I]]] : <2>
      tile.barrier_arrive %full[%i] : !tile.barriers<2>
      // CHECK: tile.barrier_arrive %[[FULL]][%[[I]]] reader(1) : <2>
      tile.barrier_arrive %full[%i] reader(1) : !tile.barriers<2>
      // CHECK: tile.warpgroup_condition %[[P:.*]], %[[P]]
      %own = tile.warpgroup_condition %p, %p
      // CHECK: tile.warpgroup : index
      %w = tile.warpgroup : index
      // CHECK: %[[B:.*]], %[[E:.*]] = tile.warpgroup_bounds %[[I]] to %[[I]] step %[[I]] own(%[[I]] to %[[I]])
      %b, %e = tile.warpgroup_bounds %i to %i step %i own(%i to %i)
      // CHECK: tile.warpgroup_bounds %[[B]] to %[[E]] step %[[I]] own(%[[B]] to %[[I]]) all(%[[E]])
      %c, %f = tile.warpgroup_bounds %b to %e step %i own(%b to %i) all(%e)
      // CHECK: tile.named_wait id(1) threads(256)
      tile.named_wait id(1) threads(256)
      // CHECK: %[[GROUP:.*]] = tile.warpgroup
      // CHECK: tile.named_wait id(2 + %[[GROUP]]) threads(128)
      // CHECK: tile.named_arrive id(1 + %[[GROUP]]) threads(256)
      %group = tile.warpgroup : index
      tile.named_wait id(2 + %group) threads(128)
      tile.named_arrive id(1 + %group) threads(256)
      // CHECK: tile.named_arrive id(15) threads(32)
      tile.named_arrive id(15) threads(32)
    }
  }
  tile.return
}

// Blocks that run several work tiles; numbers go through rings of one element.
// CHECK-LABEL: tile.func @persistent
// CHECK-SAME: tile.blocks_per_sm = 2 : i64
tile.func @persistent(%x: !tile.view<?xi32>, %c: !tile.view<1xi64> {tile.workspace = [1]}, %tag: i64 {tile.launch_epoch}, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.blocks_per_sm = 2 : i64} {
  // CHECK: %[[RING:.*]] = tile.ring : <2 x 1xi32, #tile.swizzle<32>>
  %r = tile.ring : !tile.ring<2 x 1xi32, #tile.swizzle<32>>
  %one = arith.constant 1 : i32
  // CHECK: tile.block_count : index
  %n = tile.block_count : index
  // CHECK: %[[FOUND:.*]] = tile.scheduler_peek %{{.*}} : <1xi64>
  %found = tile.scheduler_peek %c : !tile.view<1xi64>
  // CHECK: tile.scheduler_reset %{{.*}} found(%[[FOUND]]) first(%{{.*}}) total(%{{.*}}) : <1xi64>
  tile.scheduler_reset %c found(%found) first(%tag) total(%one) : !tile.view<1xi64>
  // CHECK: %[[OLD:.*]] = tile.scheduler_next %{{.*}} first(%{{.*}}) : <1xi64>
  %old = tile.scheduler_next %c first(%tag) : !tile.view<1xi64>
  // CHECK: tile.put_value %[[RING]], %[[OLD]] : <2 x 1xi32, #tile.swizzle<32>>, i32
  tile.put_value %r, %old : !tile.ring<2 x 1xi32, #tile.swizzle<32>>, i32
  %s = tile.get %r : !tile.ring<2 x 1xi32, #tile.swizzle<32>> -> !tile.slot<1xi32, #tile.swizzle<32>>
  // CHECK: %[[READ:.*]] = tile.read %{{.*}} : <1xi32, #tile.swizzle<32>> -> i32
  %m = tile.read %s : !tile.slot<1xi32, #tile.swizzle<32>> -> i32
  // CHECK: tile.write %[[READ]], %{{.*}} : i32, <1xi32, #tile.swizzle<32>>
  tile.write %m, %s : i32, !tile.slot<1xi32, #tile.swizzle<32>>
  tile.release %s : !tile.slot<1xi32, #tile.swizzle<32>>
  tile.return
}
