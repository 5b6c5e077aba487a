// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @roles_c1() {
  // expected-error @+1 {{(roles_c1) stands in the first block of a tile.func}}
  tile.roles {
    tile.role "all" warps(4) registers(0) {
    }
  }
  return
}

// -----

tile.func @roles_c1_twice() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-note @+1 {{the first}}
  tile.roles {
    tile.role "all" warps(4) registers(0) {
    }
  }
  // expected-error @+1 {{(roles_c1) stands once in a tile.func}}
  tile.roles {
    tile.role "all" warps(4) registers(0) {
    }
  }
  tile.return
}

// -----

tile.func @roles_c2() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  tile.roles {
    // expected-error @+1 {{(roles_c2) stands in tile.roles, which holds tile.role only}}
    %c = arith.constant 0 : index
  }
  tile.return
}

// -----

tile.func @roles_c2_names() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 8 : i64} {
  tile.roles {
    tile.role "all" warps(4) registers(0) {
    }
    // expected-error @+1 {{(roles_c2) has the name of another role, "all"}}
    tile.role "all" warps(4) registers(0) {
    }
  }
  tile.return
}

// -----

tile.func @roles_c3() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-error @+1 {{(roles_c3) has 8 warps, tile.warps of the tile.func is 12 : i64}}
  tile.roles {
    tile.role "load" warps(4) registers(0) {
    }
    tile.role "compute" warps(4) registers(0) {
    }
  }
  tile.return
}

// -----

tile.func @role_c1() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  tile.roles {
    // expected-error @+1 {{(role_c1) registers are 0 or a multiple of 8 from 24 to 256, got 20}}
    tile.role "all" warps(4) registers(20) {
    }
  }
  tile.return
}

// -----

tile.func @role_c1_warps() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 2 : i64} {
  tile.roles {
    // expected-error @+1 {{(role_c1) registers are given to whole warpgroups of 4 warps, got 2 warps}}
    tile.role "all" warps(2) registers(24) {
    }
  }
  tile.return
}

// -----

tile.func @role_c2(%x: f32) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %t = tile.broadcast %x : f32 -> tensor<64xf32>
  tile.roles {
    tile.role "all" warps(4) registers(0) {
      // expected-error @+1 {{(role_c2) takes 'tensor<64xf32>' into a role; compute it inside, or pass it through a ring}}
      %y = arith.addf %t, %t : tensor<64xf32>
    }
  }
  tile.return
}

// -----

func.func @pingpong_c1() {
  // expected-error @+1 {{(pingpong_c1) stands in the first block of a tile.func}}
  %t = tile.pingpong : !tile.pingpong<2>
  return
}

// -----

func.func @pingpong_wait_c1(%t: !tile.pingpong<2>) {
  // expected-error @+1 {{(pingpong_wait_c1) stands in a role of 2 warpgroups, got none}}
  tile.pingpong_wait %t : !tile.pingpong<2>
  return
}

// -----

tile.func @pingpong_arrive_c1() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %t = tile.pingpong : !tile.pingpong<2>
  tile.roles {
    tile.role "all" warps(4) registers(0) {
      // expected-error @+1 {{(pingpong_arrive_c1) stands in a role of 2 warpgroups, got one of 4 warps}}
      tile.pingpong_arrive %t : !tile.pingpong<2>
    }
  }
  tile.return
}

// -----

// expected-error @+1 {{a turn goes round 2 to 8 warpgroups, got 1}}
func.func @turn_type(%t: !tile.pingpong<1>)

// -----

// expected-error @+1 {{there are 1 to 16 barriers, as slots of a ring, got 0}}
func.func @barriers_type(%t: !tile.barriers<0>)

// -----

func.func @barriers_c1() {
  // expected-error @+1 {{(barriers_c1) stands in the first block of a tile.func}}
  %b = tile.barriers arrivals(1) : !tile.barriers<2>
  return
}

// -----

tile.func @barriers_c2() grid affine_map<() -> ()> sizes [] {
  // expected-error @+1 {{(barriers_c2) counts 1 to 1024 arrivals, got 0}}
  %b = tile.barriers arrivals(0) : !tile.barriers<2>
  tile.return
}

// -----

func.func @barrier_expect_c1(%b: !tile.barriers<2>, %i: index) {
  // expected-error @+1 {{(barrier_expect_c1) expects a multiple of 16 bytes less than 2^20, got 8}}
  tile.barrier_expect %b[%i] bytes(8) : !tile.barriers<2>
  return
}

// -----

func.func @named_wait_c1() {
  // expected-error @+1 {{(named_wait_c1) numbers of barriers are 1 to 15, got 0}}
  tile.named_wait id(0) threads(128)
  return
}

// -----

func.func @named_arrive_c1() {
  // expected-error @+1 {{(named_arrive_c1) threads are a multiple of 32 from 32 to 1024, got 100}}
  tile.named_arrive id(1) threads(100)
  return
}

// -----

func.func @copy_c4(%x: !tile.view<?x64xbf16>, %s: !tile.slot<64x64xbf16, #tile.swizzle<128>>, %i: index) {
  // expected-error @+1 {{(copy_c4) is copy(tma) with no barrier to signal and no map, expected a barrier with copy(tma), and neither with another copy; add or drop signal, or change copy}}
  tile.copy %x[%i, %i] dims [0, 1] to %s copy(tma) : !tile.view<?x64xbf16>, !tile.slot<64x64xbf16, #tile.swizzle<128>>
  return
}

// -----

func.func @copy_c5(%x: !tile.view<?x64xbf16>, %s: !tile.slot<64x64xbf16, #tile.swizzle<128>>, %i: index, %b: !tile.barriers<1>,
                   %m: !tile.tensor_map<32x64xbf16, #tile.swizzle<128>>) {
  // expected-error @+1 {{(copy_c5) the map brings tiles of '!tile.tensor_map<32x64xbf16, #tile.swizzle<128>>', the slot is '!tile.slot<64x64xbf16, #tile.swizzle<128>>'}}
  tile.copy %x[%i, %i] dims [0, 1] to %s copy(tma) signal %b[%i] map(%m) : !tile.view<?x64xbf16>, !tile.slot<64x64xbf16, #tile.swizzle<128>>, !tile.barriers<1>, !tile.tensor_map<32x64xbf16, #tile.swizzle<128>>
  return
}

// -----

// expected-error @+1 {{(func_c6) argument 0 is a tensor map, which needs tile.map_of and tile.map_dims}}
tile.func @func_c6(%m: !tile.tensor_map<32x64xbf16, #tile.swizzle<128>>) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c6) tile.map_of of argument 1 must be the number of a view of 'bf16', got 0 : i64}}
tile.func @func_c6_of(%x: !tile.view<?x64xf16>, %m: !tile.tensor_map<32x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 0 : i64}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c6) tile.map_dims of argument 1 must be distinct dimensions of '!tile.view<?x64xbf16>', one per dimension of}}
tile.func @func_c6_dims(%x: !tile.view<?x64xbf16>, %m: !tile.tensor_map<32x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 2], tile.map_of = 0 : i64}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c6) tile.map_slices of argument 1 has no value and is of a map of two dimensions, got unit of '!tile.tensor_map<64xbf16, #tile.swizzle<128>>'}}
tile.func @func_c6_slices(%x: !tile.view<?x64xbf16>, %m: !tile.tensor_map<64xbf16, #tile.swizzle<128>> {tile.map_dims = [1], tile.map_of = 0 : i64, tile.map_slices}) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

tile.func @block_count_c1(%x: !tile.view<?xf32>, %i: index, %j: index) grid affine_map<()[s0] -> (s0, 2)> sizes [0, 0] {
  // expected-error @+1 {{(block_count_c1) stands in a tile.func whose grid has one dimension, got 2}}
  %n = tile.block_count : index
  tile.return
}

// -----

func.func @scheduler_peek_c1(%x: !tile.view<1xi32>) {
  // expected-error @+1 {{(scheduler_peek_c1) counts in a view of 1xi64, got '!tile.view<1xi32>'}}
  %o = tile.scheduler_peek %x : !tile.view<1xi32>
  return
}

// -----

func.func @scheduler_reset_c1(%x: !tile.view<2xi64>, %found: i64, %first: i64, %n: i32) {
  // expected-error @+1 {{(scheduler_reset_c1) counts in a view of 1xi64, got '!tile.view<2xi64>'}}
  tile.scheduler_reset %x found(%found) first(%first) total(%n) : !tile.view<2xi64>
  return
}

// -----

func.func @scheduler_next_c1(%x: !tile.view<?xi64>, %first: i64) {
  // expected-error @+1 {{(scheduler_next_c1) counts in a view of 1xi64, got '!tile.view<?xi64>'}}
  %o = tile.scheduler_next %x first(%first) : !tile.view<?xi64>
  return
}

// -----

func.func @scheduler_next_c1_rank(%x: !tile.view<i64>, %first: i64) {
  // expected-error @+1 {{(scheduler_next_c1) counts in a view of 1xi64, got '!tile.view<i64>'}}
  %o = tile.scheduler_next %x first(%first) : !tile.view<i64>
  return
}

// -----

func.func @barrier_expect_c1_negative(%b: !tile.barriers<2>, %i: index) {
  // expected-error @+1 {{(barrier_expect_c1) expects a multiple of 16 bytes less than 2^20, got -16}}
  tile.barrier_expect %b[%i] bytes(-16) : !tile.barriers<2>
  return
}
