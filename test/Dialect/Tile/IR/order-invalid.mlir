// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{(order_c1) a width is 1, 2 or 4 and divides the registers, got 3 of 4}}
func.func private @order_c1() attributes {a = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 3>}

// -----

// expected-error @+1 {{(order_c2) a box has 32 lanes, got 16}}
func.func private @order_c2_lanes() attributes {a = #tile.order<reg = [(2, 0, 1)], lane = [(4, 0, 2), (4, 1, 0)], width = 1>}

// -----

// expected-error @+1 {{(order_c2) modes along dimension 1 of a box leave a gap or overlap at 2: the next is at 4}}
func.func private @order_c2_gap() attributes {a = #tile.order<reg = [(2, 0, 1)], lane = [(4, 0, 4), (8, 1, 0)], width = 1>}

// -----

// expected-error @+1 {{(order_c2) a mode of a box goes along one dimension, got strides 1 and 1}}
func.func private @order_c2_mode() attributes {a = #tile.order<reg = [(2, 1, 1)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>}

// -----

// expected-error @+1 {{a mode of a box is an extent from 1 on and two strides from 0 on, up to 2^10 each}}
func.func private @order_mode() attributes {a = #tile.order<reg = [(2, 1)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
// expected-error @+1 {{(view_c1) boxes of 8 columns lie in a view of two dimensions or more}}
func.func private @view_c1(!tile.view<?x20xf32, #order>)

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @slice_c3(%x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(slice_c3) takes rows, dimension 0, of a view with an order, got dimension 1 of}}
  %s = tile.slice %x dim 1 from %i size %i : !tile.view<?x64xf32, #order> -> !tile.view<?x?xf32>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @gather_c3(%x: !tile.view<?x64xf32, #order>, %i: index, %j: tensor<8xindex>) {
  // expected-error @+1 {{(gather_c3) takes a view that lies row by row}}
  %s = tile.gather %x[%i, %j] : !tile.view<?x64xf32, #order>[index, tensor<8xindex>] -> tensor<8xf32>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @scatter_c3(%x: !tile.view<?x64xf32, #order>, %v: tensor<8xf32>, %i: index, %j: tensor<8xindex>) {
  // expected-error @+1 {{(scatter_c3) takes a view that lies row by row}}
  tile.scatter %v, %x[%i, %j] : tensor<8xf32>, !tile.view<?x64xf32, #order>[index, tensor<8xindex>]
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @scatter_add_c3(%x: !tile.view<?x64xf32, #order>, %v: tensor<8xf32>, %i: index, %j: tensor<8xindex>) {
  // expected-error @+1 {{(scatter_add_c3) takes a view that lies row by row}}
  tile.scatter_add %v, %x[%i, %j] : tensor<8xf32>, !tile.view<?x64xf32, #order>[index, tensor<8xindex>]
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @load_c4(%x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(load_c4) moves whole boxes of 16x8 along the last two dimensions of '!tile.view<?x64xf32, #tile.order}}
  %v = tile.load %x[%i, %i] : !tile.view<?x64xf32, #order> -> f32
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @store_c4(%x: !tile.view<?x64xf32, #order>, %v: tensor<24x64xf32>, %i: index) {
  // expected-error @+1 {{(store_c4) moves whole boxes of 16x8}}
  tile.store %v, %x[%i, %i] dims [0, 1] : tensor<24x64xf32>, !tile.view<?x64xf32, #order>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 1>
func.func @accumulate_c4(%x: !tile.view<?x64xf32, #order>, %v: tensor<64x64xf32>, %i: index) {
  // expected-error @+1 {{(accumulate_c4) moves whole boxes of 16x8}}
  tile.accumulate %v, %x[%i, %i] dims [1, 0] : tensor<64x64xf32>, !tile.view<?x64xf32, #order>
  return
}

// -----

tile.func @accumulate_c5(%x: !tile.view<?x64xf32>, %v: !tile.view<?x64xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %r = tile.ring : !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  %t = tile.load %v[%i, %i] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  // expected-error @+1 {{(accumulate_c5) goes through 4096 f32 in a row to a view with an order, got 4096x'f32' and '!tile.view<?x64xf32>'}}
  tile.accumulate %t, %x[%i, %i] dims [0, 1] through(%r) : tensor<64x64xf32>, !tile.view<?x64xf32>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
tile.func @accumulate_c5_slots(%x: !tile.view<?x64xf32, #order>, %v: !tile.view<?x64xf32>, %i: index) grid affine_map<()[s0] -> (s0)> sizes [1, 0] {
  %r = tile.ring : !tile.ring<2 x 2048xf32, #tile.swizzle<128>>
  %t = tile.load %v[%i, %i] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  // expected-error @+1 {{(accumulate_c5)}}
  tile.accumulate %t, %x[%i, %i] dims [0, 1] through(%r) : tensor<64x64xf32>, !tile.view<?x64xf32, #order>, !tile.ring<2 x 2048xf32, #tile.swizzle<128>>
  tile.return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
#rows = #tile.frag<reg = [(4, 0, 1), (4, 2, 0), (2, 32, 0)], lane = [(16, 0, 4), (2, 1, 0)], warp = [(4, 8, 0)]>
func.func @bulk_accumulate_c5(%s: !tile.slot<4096xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(bulk_accumulate_c5) adds what each warp has in runs of whole 16 bytes, held once}}
  tile.bulk_accumulate %s to %x[%i, %i] dims [0, 1] tile(tensor<64x64xf32, #rows>) : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x64xf32, #order>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @write_c2(%s: !tile.slot<64x64xf32, #tile.swizzle<128>>, %v: tensor<64x64xf32>) {
  // expected-error @+1 {{(write_c2) moves whole boxes of 16x8 f32 to or from as many in a row, got 'tensor<64x64xf32>' and 'tensor<64x64xf32>' in shared memory}}
  tile.write %v, %s order(#order) : tensor<64x64xf32>, !tile.slot<64x64xf32, #tile.swizzle<128>>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @read_c2(%s: !tile.slot<2048xf32, #tile.swizzle<128>>) -> tensor<64x64xf32> {
  // expected-error @+1 {{(read_c2) moves whole boxes of 16x8 f32 to or from as many in a row, got 'tensor<64x64xf32>' and 'tensor<2048xf32>' in shared memory}}
  %v = tile.read %s order(#order) : !tile.slot<2048xf32, #tile.swizzle<128>> -> tensor<64x64xf32>
  return %v : tensor<64x64xf32>
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @put_value_c2(%r: !tile.ring<2 x 4096xf32, #tile.swizzle<128>>, %v: tensor<64x64xbf16>) {
  // expected-error @+1 {{(put_value_c2) moves whole boxes of 16x8 f32 to or from as many in a row, got 'tensor<64x64xbf16>' and 'tensor<4096xf32>' in shared memory}}
  tile.put_value %r, %v order(#order) : !tile.ring<2 x 4096xf32, #tile.swizzle<128>>, tensor<64x64xbf16>
  return
}

// -----

#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @bulk_accumulate_c6(%s: !tile.slot<2048xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xf32, #order>, %i: index) {
  %c0 = arith.constant 0 : index
  // expected-error @+1 {{(bulk_accumulate_c6) adds a whole tile of all 64 columns of memory, from column 0 on, got 'tensor<64x32xf32, #tile.frag<}}
  tile.bulk_accumulate %s to %x[%i, %c0] dims [0, 1] tile(tensor<64x32xf32, #acc>) whole : !tile.slot<2048xf32, #tile.swizzle<128>>, !tile.view<?x64xf32, #order>
  return
}

// -----

func.func @bulk_accumulate_wait_c1_negative() {
  // expected-error @+1 {{(bulk_accumulate_wait_c1) leaves 0 or more ops pending, got -1}}
  tile.bulk_accumulate_wait pending(-1)
  return
}

// -----

func.func @bulk_accumulate_wait_c1_written() {
  // expected-error @+1 {{(bulk_accumulate_wait_c1) leaves 0 ops pending where it waits for memory, got 1}}
  tile.bulk_accumulate_wait written pending(1)
  return
}

// -----

func.func @bulk_accumulate_c3(%s: !tile.slot<4096xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xbf16>, %i: index) {
  // expected-error @+1 {{(bulk_accumulate_c3) adds f32 to f32, got 'tensor<64x64xbf16>' and '!tile.view<?x64xbf16>'}}
  tile.bulk_accumulate %s to %x[%i, %i] dims [0, 1] tile(tensor<64x64xbf16>) : !tile.slot<4096xf32, #tile.swizzle<128>>, !tile.view<?x64xbf16>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @put_c6(%r: !tile.ring<1 x 64x64xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(put_c6) takes a view that lies row by row}}
  tile.put %r, %x[%i, %i] dims [0, 1] copy(ld_st) : !tile.ring<1 x 64x64xf32, #tile.swizzle<128>>, !tile.view<?x64xf32, #order>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @copy_c6(%s: !tile.slot<64x64xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(copy_c6) takes a view that lies row by row}}
  tile.copy %x[%i, %i] dims [0, 1] to %s copy(ld_st) : !tile.view<?x64xf32, #order>, !tile.slot<64x64xf32, #tile.swizzle<128>>
  return
}

// -----

#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = 4>
func.func @bulk_store_c6(%s: !tile.slot<64x64xf32, #tile.swizzle<128>>, %x: !tile.view<?x64xf32, #order>, %i: index) {
  // expected-error @+1 {{(bulk_store_c6) takes a view that lies row by row}}
  tile.bulk_store %s to %x[%i, %i] dims [0, 1] rows(64) : !tile.slot<64x64xf32, #tile.swizzle<128>>, !tile.view<?x64xf32, #order>
  return
}
