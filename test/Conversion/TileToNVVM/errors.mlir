// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

// expected-error @+1 {{a kernel needs tile.warps from 1 to 32; run tile-assign-layouts}}
tile.func @no_warps(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] {
  tile.return
}

// -----

// expected-error @+1 {{(func_c15) tile.warps must be an integer from 1 to 32, got 33 : i64}}
tile.func @too_many_warps(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 33 : i64} {
  tile.return
}

// -----

tile.func @no_layout(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a tile without a layout has no registers, got 'tensor<64xf32>'; run tile-assign-layouts}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  tile.return
}

// -----

tile.func @constant_without_layout(%x: !tile.view<?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-error @+1 {{a tile without a layout has no registers}}
  %t = arith.constant dense<0.0> : tensor<64xf32>
  tile.return
}

// -----

tile.func @branch_without_layout(%x: !tile.view<?xf32>, %flag: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  // expected-error @+1 {{a tile without a layout has no registers}}
  %t = scf.if %flag -> (tensor<64xf32>) {
    %a = arith.constant dense<0.0> : tensor<64xf32>
    scf.yield %a : tensor<64xf32>
  } else {
    %b = arith.constant dense<1.0> : tensor<64xf32>
    scf.yield %b : tensor<64xf32>
  }
  tile.return
}

// -----

tile.func @no_lowering(%x: !tile.view<?x64xf16> {tile.align = 16 : i64}) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{'tile.put' cannot be lowered to a GPU kernel here}}
  tile.put %r, %x[%c0, %c0] dims [0, 1] copy(cp_async) : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, !tile.view<?x64xf16>
  tile.return
}

// -----

#lanes = #tile.frag<reg = [(2, 32)], lane = [(32, 1)], warp = []>
tile.func @many_values() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  // expected-error @+1 {{a constant tile must have one value in every element}}
  %t = arith.constant dense<"0x0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F40"> : tensor<64xi8, #lanes>
  tile.return
}

// -----

#tall = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#columns = #tile.frag<reg = [(2, 1), (2, 8)], lane = [(4, 2), (8, 0)], warp = [(4, 0)]>
tile.func @across_warps(%x: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32, #columns>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #tall>
  // expected-error @+1 {{a reduction over elements of several warps goes through shared memory; run tile-promote-shared}}
  %s = tile.reduce addf %t init %zero dim 0 : tensor<64x16xf32, #tall> -> tensor<16xf32, #columns>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#rows = #tile.frag<reg = [(2, 8)], lane = [(4, 0), (8, 1)], warp = [(4, 16)]>
tile.func @narrow_reduction(%x: !tile.view<?x16xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64xf16, #rows>
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<64x16xf16, #acc>
  // expected-error @+1 {{reductions across threads are in f32 or i32, got 'f16'}}
  %s = tile.reduce addf %t init %zero dim 1 : tensor<64x16xf16, #acc> -> tensor<64xf16, #rows>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#other = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 16, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 0, 8)]>
tile.func @other_warps(%x: !tile.view<?x16xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<64x16xf32, #acc>
  // expected-error @+1 {{warps hold other parts of 'tensor<64x16xf32,}}
  %u = tile.convert_layout %t : tensor<64x16xf32, #acc> -> tensor<64x16xf32, #other>
  tile.return
}

// -----

#lanes = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @read_bytes() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %r = tile.ring : !tile.ring<1 x 32xi8, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 32xi8, #tile.swizzle<32>> -> !tile.slot<32xi8, #tile.swizzle<32>>
  // expected-error @+1 {{shared memory is read in elements of 16, 32 or 64 bits, got 'i8'}}
  %t = tile.read %s : !tile.slot<32xi8, #tile.swizzle<32>> -> tensor<32xi8, #lanes>
  tile.return
}

// -----

#lanes = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @write_bytes() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %r = tile.ring : !tile.ring<1 x 32xi8, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 32xi8, #tile.swizzle<32>> -> !tile.slot<32xi8, #tile.swizzle<32>>
  %t = arith.constant dense<0> : tensor<32xi8, #lanes>
  // expected-error @+1 {{shared memory is written in elements of 16, 32 or 64 bits, got}}
  tile.write %t, %s : tensor<32xi8, #lanes>, !tile.slot<32xi8, #tile.swizzle<32>>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @b_in_registers(%x: !tile.view<?x16xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<64x16xf16, #acc>
  %b = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<16x16xf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 0, 0)]>>
  // expected-error @+1 {{operand b of a product must be in shared memory; run tile-promote-shared}}
  %o = tile.dot %a, %b, %acc : tensor<64x16xf16, #acc>, tensor<16x16xf16, #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 0, 0)]>>, tensor<64x16xf32, #acc>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @ieee() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 64x16xf32, #tile.swizzle<64>>
  %rb = tile.ring : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 64x16xf32, #tile.swizzle<64>> -> !tile.slot<64x16xf32, #tile.swizzle<64>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>> -> !tile.slot<16x16xf32, #tile.swizzle<64>>
  // expected-error @+1 {{f32 products with precision ieee have no instruction on GPUs; use precision tf32x3, whose operands are finite}}
  %o = tile.dot %a, %b, %acc : !tile.slot<64x16xf32, #tile.swizzle<64>>, !tile.slot<16x16xf32, #tile.swizzle<64>>, tensor<64x16xf32, #acc>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
tile.func @doubles() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 64x16xf64, #tile.swizzle<128>>
  %rb = tile.ring : !tile.ring<1 x 16x16xf64, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 64x16xf64, #tile.swizzle<128>> -> !tile.slot<64x16xf64, #tile.swizzle<128>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf64, #tile.swizzle<128>> -> !tile.slot<16x16xf64, #tile.swizzle<128>>
  // expected-error @+1 {{products of 'f64' have no instruction; expected f16, bf16 or f32}}
  %o = tile.dot %a, %b, %acc : !tile.slot<64x16xf64, #tile.swizzle<128>>, !tile.slot<16x16xf64, #tile.swizzle<128>>, tensor<64x16xf32, #acc>
  tile.return
}

// -----

#wide = #tile.frag<reg = [(8, 0, 1)], lane = [(2, 0, 8), (16, 1, 0)], warp = [(4, 16, 0)]>
tile.func @accumulator(%x: !tile.view<?x16xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %ra = tile.ring : !tile.ring<1 x 64x16xf16, #tile.swizzle<32>>
  %rb = tile.ring : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #wide>
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 64x16xf16, #tile.swizzle<32>> -> !tile.slot<64x16xf16, #tile.swizzle<32>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>> -> !tile.slot<16x16xf16, #tile.swizzle<32>>
  // expected-error @+1 {{over 16 has no instructions: expected the layout of mma.m16n8 accumulators, columns in multiples of 16 and a sum in multiples of 16}}
  %o = tile.dot %a, %b, %acc : !tile.slot<64x16xf16, #tile.swizzle<32>>, !tile.slot<16x16xf16, #tile.swizzle<32>>, tensor<64x16xf32, #wide>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#wide = #tile.frag<reg = [(8, 0, 1)], lane = [(2, 0, 8), (16, 1, 0)], warp = [(4, 16, 0)]>
tile.func @operand(%x: !tile.view<?x16xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>> -> !tile.slot<16x16xf16, #tile.swizzle<32>>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<64x16xf16, #wide>
  // expected-error @+1 {{expected that of mma.m16n8 operands}}
  %o = tile.dot %a, %b, %acc : tensor<64x16xf16, #wide>, !tile.slot<16x16xf16, #tile.swizzle<32>>, tensor<64x16xf32, #acc>
  tile.return
}

// -----

// A warp's columns may not end within a panel that is not divided evenly.
#shares = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (6, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 48)]>
#whole = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 16, 0), (2, 0, 0)]>
tile.func @shares(%x: !tile.view<?x16xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %rb = tile.ring : !tile.ring<1 x 16x96xf16, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<32x96xf32, #shares>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x96xf16, #tile.swizzle<128>> -> !tile.slot<16x96xf16, #tile.swizzle<128>>
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<32x16xf16, #whole>
  // expected-error @+1 {{have 96 bytes each of rows of b, expected whole panels of 128 bytes or an equal part of one}}
  %o = tile.dot %a, %b, %acc : tensor<32x16xf16, #whole>, !tile.slot<16x96xf16, #tile.swizzle<128>>, tensor<32x96xf32, #shares>
  tile.return
}

// -----

// Nor may the second 16 rows of three warps carry into those of the next one, where a is transposed.
#third = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8), (2, 48, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(3, 16, 0)]>
tile.func @transposed_shares() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 3 : i64} {
  %ra = tile.ring : !tile.ring<1 x 16x96xf16, #tile.swizzle<64>>
  %rb = tile.ring : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>>
  %c0 = arith.constant 0 : index
  %acc = arith.constant dense<0.0> : tensor<96x16xf32, #third>
  %a = tile.slot_at %ra[%c0] : !tile.ring<1 x 16x96xf16, #tile.swizzle<64>> -> !tile.slot<16x96xf16, #tile.swizzle<64>>
  %b = tile.slot_at %rb[%c0] : !tile.ring<1 x 16x16xf16, #tile.swizzle<32>> -> !tile.slot<16x16xf16, #tile.swizzle<32>>
  // expected-error @+1 {{of rows of a, expected whole panels of 64 bytes or an equal part of one, at once or by turns; change the tile's size or tile.warps}}
  %s = tile.dot %a, %b, %acc transpose_a : !tile.slot<16x96xf16, #tile.swizzle<64>>, !tile.slot<16x16xf16, #tile.swizzle<32>>, tensor<96x16xf32, #third>
  tile.return
}
