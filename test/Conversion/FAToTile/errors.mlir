// RUN: fa-opt %s -convert-fa-to-tile -split-input-file -verify-diagnostics

func.func @computed(%x: tensor<2x8x4xf32> {fa.name = "x"}) -> tensor<2x8x4xf32> {
  %y = tensor.empty() : tensor<2x8x4xf32>
  // expected-error @+1 {{blocks go over arguments of the entry, or results of other blocks; pass what is computed before to another entry}}
  %r = fa.map_blocks @copy over(%y) axes(b, h, rows by 8) : tensor<2x8x4xf32> -> tensor<2x8x4xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<2x8x4xf32>):
    %t = tile.load %x[%b, %h, %i] dims [2] : tensor<2x8x4xf32> -> tensor<8xf32>
    tile.store %t, %view[%b, %h, %i] dims [2] : tensor<8xf32>, !tile.view<2x8x4xf32>
  }
  return %r : tensor<2x8x4xf32>
}

// -----

func.func @untiled(%x: tensor<2x8x4xf32> {fa.name = "x"}) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{tile sizes are not chosen; run fa-tile-attention}}
  %r = fa.map_blocks @copy over(%x) axes(b, h, rows) : tensor<2x8x4xf32> -> tensor<2x8x4xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<2x8x4xf32>):
  }
  return %r : tensor<2x8x4xf32>
}

// -----

// The workspace between two kernels has a size that no argument is known to have.
func.func @unknown(%x: tensor<2x8x4xf32> {fa.name = "x"}) -> tensor<2x8x4xf32> {
  // expected-error @+1 {{dimension 0 of result 0 is unknown, and no argument of the entry has it; fa.sizes names an argument and a dimension for each}}
  %y = fa.map_blocks @first over(%x) axes(b, h, rows by 8) : tensor<2x8x4xf32> -> tensor<?x8x4xf32> attributes {fa.sizes = [array<i64: 3, 0>]} {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<?x8x4xf32>):
  }
  %r = fa.map_blocks @second over(%y) axes(b, h, rows by 8) : tensor<?x8x4xf32> -> tensor<2x8x4xf32> {
  ^bb0(%b: index, %h: index, %i: index, %view: !tile.view<2x8x4xf32>):
  }
  return %r : tensor<2x8x4xf32>
}
