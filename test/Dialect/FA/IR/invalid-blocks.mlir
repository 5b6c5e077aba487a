// RUN: fa-opt %s -split-input-file -verify-diagnostics

func.func @map_blocks_c1(%q: tensor<4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c1) there must be one or two tensors of rank 3 or more to go over, and at most three axes, got 'tensor<4x4xf32>' and 3}}
  fa.map_blocks @f over(%q) axes(b, h, rows by 4) : tensor<4x4xf32> -> () {
  ^bb0(%b: index, %h: index, %i: index):
  }
  return
}

// -----

func.func @map_blocks_c1_none() {
  // expected-error @+1 {{(map_blocks_c1) there must be one or two tensors of rank 3 or more to go over, and at most three axes, got  and 1}}
  "fa.map_blocks"() <{kernel = "f", axes = [#fa<axis b>], blocks = array<i64: 1>}> ({
  ^bb0(%b: index):
    fa.yield
  }) : () -> ()
  return
}

// -----

func.func @map_blocks_c1_four(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{at most three axes, got 'tensor<1x4x4xf32>' and 4}}
  fa.map_blocks @f over(%q) axes(b, h, rows by 4, keys by 4) : tensor<1x4x4xf32> -> () {
  ^bb0(%b: index, %h: index, %i: index, %j: index):
  }
  return
}

// -----

func.func @map_blocks_c1_three(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{there must be one or two tensors of rank 3 or more to go over}}
  fa.map_blocks @f over(%q, %q, %q) axes(b) : tensor<1x4x4xf32>, tensor<1x4x4xf32>, tensor<1x4x4xf32> -> () {
  ^bb0(%b: index):
  }
  return
}

// -----

func.func @map_blocks_c1_twice(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c1) axis h stands there twice}}
  fa.map_blocks @f over(%q) axes(h, h) : tensor<1x4x4xf32> -> () {
  ^bb0(%b: index, %h: index):
  }
  return
}

// -----

func.func @map_blocks_c1_sizes(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c1) there must be a size of blocks for each axis}}
  "fa.map_blocks"(%q) <{kernel = "f", axes = [#fa<axis b>], blocks = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%b: index):
    fa.yield
  }) : (tensor<1x4x4xf32>) -> ()
  return
}

// -----

func.func @map_blocks_c2(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c2) the block takes an index for each axis, then a !tile.view of each result's type}}
  %o = fa.map_blocks @f over(%q) axes(b, h, rows by 4) : tensor<1x4x4xf32> -> tensor<1x4x4xf32> {
  ^bb0(%b: index, %h: index, %i: index, %x: tensor<1x4x4xf32>):
  }
  return
}

// -----

func.func @map_blocks_c2_count(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c2) the block takes an index for each axis, then a !tile.view of each result's type}}
  fa.map_blocks @f over(%q) axes(b, h, rows by 4) : tensor<1x4x4xf32> -> () {
  ^bb0(%b: index, %h: index):
  }
  return
}

// -----

func.func @map_blocks_c2_no_arguments(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c2) the block takes an index for each axis, then a !tile.view of each result's type}}
  fa.map_blocks @f over(%q) axes(b, h, rows by 4) : tensor<1x4x4xf32> -> () {
  }
  return
}

// -----

func.func @map_blocks_negative(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c1) blocks of axis rows must have a positive size, got 0}}
  fa.map_blocks @f over(%q) axes(b, h, rows by 0) : tensor<1x4x4xf32> -> () {
  ^bb0(%b: index, %h: index, %i: index):
  }
  return
}

// -----

func.func @map_blocks_c1_one(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{(map_blocks_c1) there are no blocks of axis one, for it has one index; leave it out}}
  "fa.map_blocks"(%q) <{kernel = "f", axes = [#fa<axis b>, #fa<axis one>], blocks = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 0, 0>}> ({
  ^bb0(%b: index, %one: index):
    fa.yield
  }) : (tensor<1x4x4xf32>) -> ()
  return
}

// -----

func.func @map_blocks_axis(%q: tensor<1x4x4xf32>) {
  // expected-error @+1 {{unknown axis 'columns': expected b, h, hk, rows or keys}}
  fa.map_blocks @f over(%q) axes(b, h, columns by 4) : tensor<1x4x4xf32> -> () {
  ^bb0(%b: index, %h: index, %i: index):
  }
  return
}

// -----

// expected-error @+1 {{#fa.axes must have an axis for each unknown size, got 1 for 2}}
func.func private @axes_few(tensor<?x?xf32, #fa.axes<rows>>)

// -----

// expected-error @+1 {{#fa.axes must have an axis for each unknown size, got 2 for 1}}
func.func private @axes_many(tensor<?x64xf32, #fa.axes<rows, keys>>)

// -----

func.func @apply_mask_c1_order(%x: tensor<?x?xf32, #fa.axes<keys, rows>>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {} : tensor<?x?xf32, #fa.axes<keys, rows>>
  return
}

// -----

func.func @apply_mask_c1_transposed(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) transposed {} : tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_mask_c1_rank(%x: tensor<64xf32>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {} : tensor<64xf32>
  return
}

// -----

func.func @apply_mask_c1_axes(%x: tensor<?x64xf32, #fa.axes<rows>>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {} : tensor<?x64xf32, #fa.axes<rows>>
  return
}

// -----

func.func @apply_mask_c1_f16(%x: tensor<64x64xf16>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {} : tensor<64x64xf16>
  return
}

// -----

func.func @apply_mask_c1_unknown(%x: tensor<?x?xf32>, %n: index) {
  // expected-error @+1 {{(apply_mask_c1) the inputs must be f32 tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {} : tensor<?x?xf32>
  return
}

// -----

func.func @apply_mask_c2(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_mask_c2) the region is empty, or takes b, h, i, j, sq, sk, all index, and the captures, and yields one i1}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {
  ^bb0(%b: index):
    %t = arith.constant true
    fa.yield %t : i1
  } : tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_mask_c2_yield(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_mask_c2) the region is empty}}
  %y = fa.apply_mask %x at(%n, %n, %n, %n) lengths(%n, %n) hidden(0.0) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %b : index
  } : tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_c1_order(%x: tensor<?x?xf32, #fa.axes<keys, rows>>, %n: index) {
  // expected-error @+1 {{(apply_c1) inputs and results, one at least, must be tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) {
  ^bb0(%v: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %v : f32
  } : tensor<?x?xf32, #fa.axes<keys, rows>> -> tensor<?x?xf32, #fa.axes<keys, rows>>
  return
}

// -----

func.func @apply_c1_mixed(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_c1) inputs and results, one at least, must be tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) {
  ^bb0(%v: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %v : f32
  } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<64x64xf32>
  return
}

// -----

func.func @apply_c1_transposed(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_c1) inputs and results, one at least, must be tiles of one shape, of rows by keys, or of keys by rows with `transposed`, got (}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) transposed {
  ^bb0(%v: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %v : f32
  } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_c2_arguments(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_c2) the region takes an element of each input, then b, h, i, j, sq, sk, all index, and the captures, and yields an element of each result}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %v: f32):
    fa.yield %v : f32
  } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_c2_yield(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_c2) the region takes an element of each input, then b, h, i, j, sq, sk, all index, and the captures, and yields an element of each result}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) {
  ^bb0(%v: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %b : index
  } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @apply_c2_count(%x: tensor<?x?xf32, #fa.axes<rows, keys>>, %n: index) {
  // expected-error @+1 {{(apply_c2) the region takes an element of each input, then b, h, i, j, sq, sk, all index, and the captures, and yields an element of each result}}
  %y = fa.apply %x at(%n, %n, %n, %n) lengths(%n, %n) {
  ^bb0(%v: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    fa.yield %v, %v : f32, f32
  } : tensor<?x?xf32, #fa.axes<rows, keys>> -> tensor<?x?xf32, #fa.axes<rows, keys>>
  return
}

// -----

func.func @map_blocks_c4(%q: tensor<8x?x64xf32>, %cu: tensor<?xf32>) {
  // expected-error @+1 {{(map_blocks_c4) with starts, integers of rank 1, the axes must be h and rows, or hk and keys, of one tensor, got 'tensor<?xf32>'}}
  fa.map_blocks @copy over(%q) starts(%cu) axes(h, rows by 64) : tensor<8x?x64xf32>, tensor<?xf32> -> tensor<8x?x64xf32> {
  ^bb0(%h: index, %block: index, %view: !tile.view<8x?x64xf32>):
  }
  return
}
