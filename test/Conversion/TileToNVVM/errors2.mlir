// RUN: fa-opt %s --convert-tile-to-nvvm --split-input-file --verify-diagnostics

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#oth = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(2, 32, 0), (2, 16, 0)]>
!ringb = !tile.ring<1 x 16x16xf16, #tile.swizzle<32>>
!slotb = !tile.slot<16x16xf16, #tile.swizzle<32>>
tile.func @warps_of_a(%z: !tile.view<?x?xf32>, %x : !tile.view<?x?xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %rb = tile.ring : !ringb
  %a = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x16xf16, #oth>
  %b = tile.slot_at %rb[%c0] : !ringb -> !slotb
  %acc = arith.constant dense<0.0> : tensor<64x16xf32, #acc>
  // expected-error @+1 {{whose threads hold other rows than those of the accumulator, }}
  %s = tile.dot %a, %b, %acc : tensor<64x16xf16, #oth>, !slotb, tensor<64x16xf32, #acc>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<64x16xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// -----

#l = #tile.frag<reg = [(16, 0, 1)], lane = [(32, 1, 0)], warp = [(2,32,0)]>
tile.func @too_many_warps_of_layout(%z: !tile.view<?x?xf16>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a layout over 2 warps, but 1 run it, in}}
  %t = tile.load %z[%c0, %c0] dims [0, 1] : !tile.view<?x?xf16> -> tensor<64x16xf16, #l>
  tile.store %t, %z[%c0, %c0] dims [0, 1] : tensor<64x16xf16, #l>, !tile.view<?x?xf16>
  tile.return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 8, 0)]>
!ring = !tile.ring<1 x 32x16xf16, #tile.swizzle<32>>
!ringb = !tile.ring<1 x 16x16xf16, #tile.swizzle<32>>
!slot = !tile.slot<32x16xf16, #tile.swizzle<32>>
!slotb = !tile.slot<16x16xf16, #tile.swizzle<32>>
tile.func @accumulator_rows(%z: !tile.view<?x?xf32>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !ring
  %rb = tile.ring : !ringb
  %a = tile.slot_at %r[%c0] : !ring -> !slot
  %b = tile.slot_at %rb[%c0] : !ringb -> !slotb
  %acc = arith.constant dense<0.0> : tensor<32x16xf32, #acc>
  // expected-error @+1 {{expected the layout of mma.m16n8 accumulators, whose threads hold rows g and g + 8; run tile-assign-layouts}}
  %s = tile.dot %a, %b, %acc : !slot, !slotb, tensor<32x16xf32, #acc>
  tile.store %s, %z[%c0, %c0] dims [0, 1] : tensor<32x16xf32, #acc>, !tile.view<?x?xf32>
  tile.return
}

// -----

!ring = !tile.ring<1 x 32x16xf16, #tile.swizzle<32>>
!slot = !tile.slot<32x16xf16, #tile.swizzle<32>>
#l = #tile.frag<reg = [(16, 0, 1)], lane = [(32, 1, 0)], warp = []>
tile.func @ring_of_branch(%z: !tile.view<?x?xf16>, %c: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %r = tile.ring : !ring
  %r2 = tile.ring : !ring
  // expected-error @+1 {{is chosen as the kernel runs; use views and rings where they are defined, one use in each branch}}
  %r3 = scf.if %c -> !ring { scf.yield %r : !ring } else { scf.yield %r2 : !ring }
  %a = tile.slot_at %r3[%c0] : !ring -> !slot
  %t = tile.read %a : !slot -> tensor<32x16xf16, #l>
  tile.store %t, %z[%c0, %c0] dims [0, 1] : tensor<32x16xf16, #l>, !tile.view<?x?xf16>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @view_of_branch(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %z: !tile.view<?xf32>, %c: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{is chosen as the kernel runs; use views and rings where they are defined, one use in each branch}}
  %v = scf.if %c -> !tile.view<?xf32> { scf.yield %x : !tile.view<?xf32> } else { scf.yield %y : !tile.view<?xf32> }
  %t = tile.load %v[%c0] dims [0] : !tile.view<?xf32> -> tensor<32xf32, #l>
  tile.store %t, %z[%c0] dims [0] : tensor<32xf32, #l>, !tile.view<?xf32>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @view_of_loop(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %z: !tile.view<?xf32>, %c: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  // expected-error @+1 {{is chosen as the kernel runs; use views and rings where they are defined, one use in each branch}}
  %v:2 = scf.for %i = %c0 to %c4 step %c1 iter_args(%a = %x, %b = %y) -> (!tile.view<?xf32>, !tile.view<?xf32>) {
  %t = tile.load %a[%c0] dims [0] : !tile.view<?xf32> -> tensor<32xf32, #l>
  tile.store %t, %z[%c0] dims [0] : tensor<32xf32, #l>, !tile.view<?xf32>
   scf.yield %b, %a : !tile.view<?xf32>, !tile.view<?xf32> }
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @view_of_select(%x: !tile.view<?xf32>, %y: !tile.view<?xf32>, %z: !tile.view<?xf32>, %c: i1) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{is chosen as the kernel runs; use views and rings where they are defined, one use in each branch}}
  %v = arith.select %c, %x, %y : !tile.view<?xf32>
  %t = tile.load %v[%c0] dims [0] : !tile.view<?xf32> -> tensor<32xf32, #l>
  tile.store %t, %z[%c0] dims [0] : tensor<32xf32, #l>, !tile.view<?xf32>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @load_i4(%x: !tile.view<?xi4>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{elements of type 'i4' have no instruction that moves them; expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xi4> -> tensor<32xi4, #l>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @load_i24(%x: !tile.view<?xi24>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{elements of type 'i24' have no instruction that moves them; expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xi24> -> tensor<32xi24, #l>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @load_i128(%x: !tile.view<?xi128>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{elements of type 'i128' have no instruction that moves them; expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xi128> -> tensor<32xi128, #l>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @load_f8e4m3fn(%x: !tile.view<?xf8E4M3FN>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{elements of type 'f8E4M3FN' have no instruction that moves them; expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xf8E4M3FN> -> tensor<32xf8E4M3FN, #l>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @load_index(%x: !tile.view<?xindex>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{elements of type 'index' have no instruction that moves them; expected i1, i8, i16, i32, i64, f16, bf16, f32 or f64}}
  %t = tile.load %x[%c0] dims [0] : !tile.view<?xindex> -> tensor<32xindex, #l>
  tile.return
}

// -----

#l = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
tile.func @store_i4(%x: !tile.view<?xi4>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  %t = arith.constant dense<1> : tensor<32xi4, #l>
  // expected-error @+1 {{elements of type 'i4' have no instruction that moves them}}
  tile.store %t, %x[%c0] dims [0] : tensor<32xi4, #l>, !tile.view<?xi4>
  tile.return
}

// -----

// expected-error @+1 {{(func_c15) tile.warps must be an integer from 1 to 32, got 99999999999999999999 : i128}}
tile.func @warps_of_many_bits() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 99999999999999999999 : i128} {
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
#odd = #tile.frag<reg = [(3, 0, 1), (4, 1, 0)], lane = [(8, 0, 3), (4, 4, 0)], warp = []>
tile.func @across_boxes(%x: !tile.view<?x24xf32, #order>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 1 : i64} {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{a tile's layout does not go along the boxes of its memory}}
  %t = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x24xf32, #order> -> tensor<16x24xf32, #odd>
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = []>
tile.func @fewer_warps(%x: !tile.view<?x8xf32, #order>) grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %r = tile.ring : !tile.ring<1 x 128xf32, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128xf32, #tile.swizzle<128>> -> !tile.slot<128xf32, #tile.swizzle<128>>
  // expected-error @+1 {{adds what 4 warps have of a tile, got 'tensor<16x8xf32}}
  tile.bulk_accumulate %s to %x[%c0, %c0] dims [0, 1] tile(tensor<16x8xf32, #acc>) : !tile.slot<128xf32, #tile.swizzle<128>>, !tile.view<?x8xf32, #order>
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], warp = []>
tile.func @any_column(%x: !tile.view<?x8xf32, #order>, %i: index) grid affine_map<() -> (2)> sizes [] attributes {tile.warps = 1 : i64} {
  %r = tile.ring : !tile.ring<1 x 128xf32, #tile.swizzle<128>>
  %c0 = arith.constant 0 : index
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128xf32, #tile.swizzle<128>> -> !tile.slot<128xf32, #tile.swizzle<128>>
  // expected-error @+1 {{adds columns that may be out of range; use tile.accumulate}}
  tile.bulk_accumulate %s to %x[%c0, %i] dims [0, 1] tile(tensor<16x8xf32, #acc>) : !tile.slot<128xf32, #tile.swizzle<128>>, !tile.view<?x8xf32, #order>
  tile.return
}
