// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#sw = #tile.swizzle<128>
tile.func @element(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #s>
  %r = tile.ring : !tile.ring<1 x 64x32xf32, #sw>
  %x = tile.slot_at %r[%c0] : !tile.ring<1 x 64x32xf32, #sw> -> !tile.slot<64x32xf32, #sw>
  %q = tile.ring : !tile.ring<1 x 16x32xf32, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x32xf32, #sw> -> !tile.slot<16x32xf32, #sw>
  // expected-error @+1 {{asynchronous products of 'f32' have no instruction; expected f16 or bf16, or tile.dot}}
  %p = tile.dot_start %x, %y, %zero transpose_b precision(tf32) : !tile.slot<64x32xf32, #sw>, !tile.slot<16x32xf32, #sw>, tensor<64x16xf32, #s> -> !tile.pending<tensor<64x16xf32, #s>>
  tile.return
}

// -----

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @registers(%a: !tile.view<64x16xf16>, %b: !tile.view<16x16xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #s>
  %x = tile.load %a[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16, #s>
  %y = tile.load %b[%c0, %c0] dims [0, 1] : !tile.view<16x16xf16> -> tensor<16x16xf16, #tile.frag<reg = [(8, 2, 0)], lane = [(16, 0, 1), (2, 1, 0)], warp = [(4, 0, 0)]>>
  // expected-error @+1 {{operand b of an asynchronous product must be in shared memory; run tile-promote-shared}}
  %p = tile.dot_start %x, %y, %zero : tensor<64x16xf16, #s>, tensor<16x16xf16, #tile.frag<reg = [(8, 2, 0)], lane = [(16, 0, 1), (2, 1, 0)], warp = [(4, 0, 0)]>>, tensor<64x16xf32, #s> -> !tile.pending<tensor<64x16xf32, #s>>
  tile.return
}

// -----

// 32 rows of 2 warps.
#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0)]>
#sw = #tile.swizzle<32>
tile.func @warps(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32, #s>
  %r = tile.ring : !tile.ring<1 x 32x16xf16, #sw>
  %x = tile.slot_at %r[%c0] : !tile.ring<1 x 32x16xf16, #sw> -> !tile.slot<32x16xf16, #sw>
  %q = tile.ring : !tile.ring<1 x 16x16xf16, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x16xf16, #sw> -> !tile.slot<16x16xf16, #sw>
  // expected-error @+1 {{expected the layout of wgmma accumulators, 16 rows for each of a multiple of 4 warps}}
  %p = tile.dot_start %x, %y, %zero : !tile.slot<32x16xf16, #sw>, !tile.slot<16x16xf16, #sw>, tensor<32x16xf32, #s> -> !tile.pending<tensor<32x16xf32, #s>>
  tile.return
}

// -----

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#sw = #tile.swizzle<32>
tile.func @more_warps(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #s>
  %r = tile.ring : !tile.ring<1 x 64x16xf16, #sw>
  %x = tile.slot_at %r[%c0] : !tile.ring<1 x 64x16xf16, #sw> -> !tile.slot<64x16xf16, #sw>
  %q = tile.ring : !tile.ring<1 x 16x16xf16, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x16xf16, #sw> -> !tile.slot<16x16xf16, #sw>
  // expected-error @+1 {{an asynchronous product is laid out over 4 warps, but 8 run it}}
  %p = tile.dot_start %x, %y, %zero : !tile.slot<64x16xf16, #sw>, !tile.slot<16x16xf16, #sw>, tensor<64x16xf32, #s> -> !tile.pending<tensor<64x16xf32, #s>>
  tile.return
}

// -----

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (33, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#sw = #tile.swizzle<32>
tile.func @columns(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x264xf32, #s>
  %r = tile.ring : !tile.ring<1 x 64x16xf16, #sw>
  %x = tile.slot_at %r[%c0] : !tile.ring<1 x 64x16xf16, #sw> -> !tile.slot<64x16xf16, #sw>
  %q = tile.ring : !tile.ring<1 x 16x264xf16, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x264xf16, #sw> -> !tile.slot<16x264xf16, #sw>
  // expected-error @+1 {{an asynchronous product of 264 columns over 16 has no instruction: expected a multiple of 8 columns up to 256, and a sum over a multiple of 16}}
  %p = tile.dot_start %x, %y, %zero : !tile.slot<64x16xf16, #sw>, !tile.slot<16x264xf16, #sw>, tensor<64x264xf32, #s> -> !tile.pending<tensor<64x264xf32, #s>>
  tile.return
}

// -----

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#sw = #tile.swizzle<32>
tile.func @block(%c: i1, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #s>
  %r = tile.ring : !tile.ring<1 x 64x16xf16, #sw>
  %x = tile.slot_at %r[%c0] : !tile.ring<1 x 64x16xf16, #sw> -> !tile.slot<64x16xf16, #sw>
  %q = tile.ring : !tile.ring<1 x 16x16xf16, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x16xf16, #sw> -> !tile.slot<16x16xf16, #sw>
  %p = tile.dot_start %x, %y, %zero : !tile.slot<64x16xf16, #sw>, !tile.slot<16x16xf16, #sw>, tensor<64x16xf32, #s> -> !tile.pending<tensor<64x16xf32, #s>>
  scf.if %c {
    // expected-error @+1 {{awaits a product that does not start in its block; a product must not run over the end of a loop or branch}}
    %t = tile.await %p : !tile.pending<tensor<64x16xf32, #s>> -> tensor<64x16xf32, #s>
  }
  tile.return
}

// -----

#s = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#t = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 16, 0)]>
#sw = #tile.swizzle<32>
tile.func @a(%v: !tile.view<64x16xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x16xf32, #s>
  %q = tile.ring : !tile.ring<1 x 16x16xf16, #sw>
  %y = tile.slot_at %q[%c0] : !tile.ring<1 x 16x16xf16, #sw> -> !tile.slot<16x16xf16, #sw>
  %x = tile.load %v[%c0, %c0] dims [0, 1] : !tile.view<64x16xf16> -> tensor<64x16xf16, #t>
  // expected-error @+1 {{expected the lanes and warps of the accumulator}}
  %p = tile.dot_start %x, %y, %zero : tensor<64x16xf16, #t>, !tile.slot<16x16xf16, #sw>, tensor<64x16xf32, #s> -> !tile.pending<tensor<64x16xf32, #s>>
  tile.return
}

// -----

tile.func @registers_of_roles(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 12 : i64} {
  // expected-error @+1 {{the roles ask for 66560 registers, but a launch of 12 warps gives 168 to each thread, 64512 in all}}
  tile.roles {
    tile.role "load" warps(4) registers(40) {
    }
    tile.role "compute" warps(8) registers(240) {
    }
  }
  tile.return
}

// -----

tile.func @behind(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  tile.roles {
    tile.role "all" warps(4) registers(0) {
    }
  }
  // expected-error @+1 {{stands behind tile.roles, whose warps have different numbers of registers; move it into a role}}
  tile.barrier
  tile.return
}

// -----

tile.func @barrier(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64} {
  tile.roles {
    tile.role "one" warps(4) registers(0) {
      // expected-error @+1 {{waits for all warps, but stands in a role; use tile.named_wait among the warps of the role}}
      tile.barrier
    }
    tile.role "other" warps(4) registers(0) {
    }
  }
  tile.return
}

// -----

#sw = #tile.swizzle<128>
// expected-error @+1 {{rings and barriers take 8216 bytes of shared memory, but tile.shared_bytes is 8192}}
tile.func @bytes(%i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 8 : i64, tile.shared_bytes = 8192 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %b = tile.barriers arrivals(1) : !tile.barriers<3>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @map(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %b = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  // expected-error @+1 {{copy(tma) has no tensor map; run tile-make-tensor-maps}}
  tile.copy %x[%i, %c0] dims [0, 1] to %s copy(tma) signal %b[%c0] : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #sw>, !tile.barriers<1>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @dims(%x: !tile.view<?x?x64xf16>, %m: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [0, 2]}, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %b = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  // expected-error @+1 {{the TMA moves a tile along the last dimension or the last two of a view of rank 2 to 4, got dims [0, 2] of '!tile.view<?x?x64xf16>'}}
  tile.copy %x[%i, %c0, %c0] dims [0, 2] to %s copy(tma) signal %b[%c0] map(%m) : !tile.view<?x?x64xf16>, !tile.slot<64x64xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x64xf16, #sw>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @out_map(%x: !tile.view<?x64xf16>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  // expected-error @+1 {{has no tensor map; run tile-make-tensor-maps}}
  tile.bulk_store %s to %x[%i, %c0] dims [0, 1] rows(64) : !tile.slot<64x64xf16, #sw>, !tile.view<?x64xf16>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @out_rows(%x: !tile.view<?x64xf16>, %m: !tile.tensor_map<32x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [0, 1]}, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  // expected-error @+1 {{copies 64 rows in boxes of 32, one by each warpgroup, but 4 warps run it}}
  tile.bulk_store %s to %x[%i, %c0] dims [0, 1] rows(32) map(%m) : !tile.slot<64x64xf16, #sw>, !tile.view<?x64xf16>, !tile.tensor_map<32x64xf16, #sw>
  tile.return
}

// -----

tile.func @scheduler_peek(%x: !tile.view<1xi64>, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-error @+1 {{is done once, but here by all warps; move it to a role that has no tiles}}
  %found = tile.scheduler_peek %x : !tile.view<1xi64>
  tile.return
}

// -----

tile.func @scheduler_reset(%x: !tile.view<1xi64>, %tag: i64, %n: i32, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-error @+1 {{is done once, but here by all warps; move it to a role that has no tiles}}
  tile.scheduler_reset %x found(%tag) first(%tag) total(%n) : !tile.view<1xi64>
  tile.return
}

// -----

tile.func @scheduler_next(%x: !tile.view<1xi64>, %tag: i64, %i: index) grid affine_map<() -> (1)> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-error @+1 {{is done once, but here by all warps; move it to a role that has no tiles}}
  %n = tile.scheduler_next %x first(%tag) : !tile.view<1xi64>
  tile.return
}

// -----

#sw = #tile.swizzle<128>
tile.func @not_for_slices(%x: !tile.view<?x64xf16>, %n: index, %m: !tile.tensor_map<64x64xf16, #sw> {tile.map_of = 0 : i64, tile.map_dims = [0, 1]}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #sw>
  %full = tile.barriers arrivals(1) : !tile.barriers<1>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 64x64xf16, #sw> -> !tile.slot<64x64xf16, #sw>
  %part = tile.slice %x dim 0 from %n size %n : !tile.view<?x64xf16> -> !tile.view<?x64xf16>
  // expected-error @+1 {{the map is not for slices of a view along the tile's rows, and the view is one; run tile-make-tensor-maps}}
  tile.copy %part[%t, %c0] dims [0, 1] to %s copy(tma) signal %full[%c0] map(%m) : !tile.view<?x64xf16>, !tile.slot<64x64xf16, #sw>, !tile.barriers<1>, !tile.tensor_map<64x64xf16, #sw>
  tile.return
}
