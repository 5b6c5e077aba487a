// RUN: fa-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{a mode is an extent and one or two strides, as many as the modes before it have}}
func.func private @mode_of_no_stride(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32)], warp = []>>)

// -----

// expected-error @+1 {{a mode is an extent and one or two strides, as many as the modes before it have}}
func.func private @modes_of_two_ranks(%x: tensor<64xf32, #tile.frag<reg = [(2, 0, 1)], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{a mode is an extent and one or two strides, as many as the modes before it have}}
func.func private @mode_of_rank_3(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1, 0, 0)], warp = []>>)

// -----

// expected-error @+1 {{the extent of a mode must be from 1 to 2^20, got 0}}
func.func private @extent_0(%x: tensor<32xf32, #tile.frag<reg = [(0, 1)], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{the extent of a mode must be from 1 to 2^20, got 9999999}}
func.func private @extent_large(%x: tensor<32xf32, #tile.frag<reg = [(9999999, 1)], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{a stride must be from 0 to 2^20, got -1}}
func.func private @stride_negative(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32, -1)], warp = []>>)

// -----

// expected-error @+1 {{a layout without a mode has no rank}}
func.func private @no_modes(%x: tensor<32xf32, #tile.frag<reg = [], lane = [], warp = []>>)

// -----

// expected-error @+1 {{the layout has 16 lanes, expected 32}}
func.func private @lanes(%x: tensor<16xf32, #tile.frag<reg = [], lane = [(16, 1)], warp = []>>)

// -----

// expected-error @+1 {{the layout is of rank 1, the tile of rank 2}}
func.func private @rank(%x: tensor<32x1xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{the layout places an element at (31), outside of the tile}}
func.func private @outside(%x: tensor<31xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{the layout leaves out the element at (32)}}
func.func private @leaves_out(%x: tensor<33xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{the layout places the element at (2) in two registers of a thread}}
func.func private @twice(%x: tensor<97xf32, #tile.frag<reg = [(3, 1), (2, 2)], lane = [(32, 3)], warp = []>>)

// -----

// expected-error @+1 {{a tile with a layout has a static shape}}
func.func private @dynamic(%x: tensor<?xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{the layout is too large: expected at most 2^24 elements and 32 warps}}
func.func private @warps(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = [(64, 0)]>>)

// -----

// expected-error @+1 {{the layout is too large: expected at most 2^24 elements and 32 warps}}
func.func private @registers(%x: tensor<32xf32, #tile.frag<reg = [(1048576, 1), (1048576, 2), (1048576, 3), (1048576, 4), (1048576, 5)], lane = [(32, 1)], warp = []>>)

// -----

// expected-error @+1 {{a panel is 32, 64 or 128 bytes wide, got 96}}
func.func private @swizzle(%x: !tile.slot<16x16xf16, #tile.swizzle<96>>)

// -----

func.func @convert_layout_c1_shape(%x: tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>) {
  // expected-error @+1 {{(convert_layout_c1) takes a tile with a layout to another layout}}
  %0 = tile.convert_layout %x : tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>> -> tensor<64xf32, #tile.frag<reg = [(2, 1)], lane = [(32, 2)], warp = []>>
  return
}

// -----

func.func @convert_layout_c1_none(%x: tensor<32xf32>) {
  // expected-error @+1 {{(convert_layout_c1) takes a tile with a layout to another layout}}
  %0 = tile.convert_layout %x : tensor<32xf32> -> tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>
  return
}

// -----

func.func @if_any_c1(%rows: tensor<16xi1>, %x: tensor<16xf32>, %y: tensor<8xf32>) {
  // expected-error @+1 {{(if_any_c1) the region must yield values of the types of the inits}}
  %0 = tile.if_any %rows (%x) : tensor<16xi1>, (tensor<16xf32>) {
    tile.yield %y : tensor<8xf32>
  }
  return
}

// -----

#tile = #tile.frag<reg = [(4, 0, 1)], lane = [(32, 1, 0)], warp = []>
#other = #tile.frag<reg = [], lane = [(2, 16), (16, 1)], warp = []>
func.func @reduce_c3(%x: tensor<32x4xf32, #tile>, %init: tensor<32xf32, #other>) {
  // expected-error @+1 {{(reduce_c3) without dimension 1 the layout of 'tensor<32x4xf32, #tile.frag<reg = [(4, 0, 1)], lane = [(32, 1, 0)], warp = []>>' is #tile.frag<reg = [], lane = [(32, 1)], warp = []>}}
  %0 = tile.reduce addf %x init %init dim 1 : tensor<32x4xf32, #tile> -> tensor<32xf32, #other>
  return
}

// -----

#row = #tile.frag<reg = [], lane = [(32, 1)], warp = []>
func.func @broadcast_c3(%x: tensor<32xf32, #row>) {
  // expected-error @+1 {{(broadcast_c3) without dimension 1 the layout of 'tensor<32x4xf32>' is none, got 'tensor<32xf32, #tile.frag<reg = [], lane = [(32, 1)], warp = []>>'}}
  %0 = tile.broadcast %x dim 1 : tensor<32xf32, #row> -> tensor<32x4xf32>
  return
}

// -----

#tile = #tile.frag<reg = [(4, 0, 1)], lane = [(32, 1, 0)], warp = []>
func.func @transpose_c2(%x: tensor<32x4xf32, #tile>) {
  // expected-error @+1 {{(transpose_c2) the result must have the layout of}}
  %0 = tile.transpose %x : tensor<32x4xf32, #tile> -> tensor<4x32xf32>
  return
}

// -----

// expected-error @+1 {{ones stand behind whole panels of f16 or bf16, of rank 2}}
func.func private @ones(%x: !tile.slot<16x16xf16, #tile.swizzle<128, ones>>)
