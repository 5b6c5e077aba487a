// RUN: fa-opt %s --split-input-file --verify-diagnostics

func.func @rank() {
  // expected-error @+1 {{a reference has one size and f32, such as 64xf32}}
  %r = tile.reference : !tile.reference<64x16xf32>
  return
}

// -----

func.func @element() {
  // expected-error @+1 {{a reference has one size and f32, such as 64xf32}}
  %r = tile.reference : !tile.reference<64xbf16>
  return
}

// -----

func.func @size() {
  // expected-error @+1 {{a reference has a positive size, got 0}}
  %r = tile.reference : !tile.reference<0xf32>
  return
}

// -----

func.func @word() {
  // expected-error @+1 {{expected 'constant', 'slack', 'fold' or 'test', got 'lag'}}
  %r = tile.reference : !tile.reference<64xf32, lag>
  return
}

// -----

func.func @twice() {
  // expected-error @+1 {{'fold' stands here twice}}
  %r = tile.reference : !tile.reference<64xf32, fold, fold>
  return
}

// -----

func.func @number() {
  // expected-error @+1 {{expected a number, got}}
  %r = tile.reference : !tile.reference<64xf32, slack = "a">
  return
}

// -----

func.func @infinite() {
  // expected-error @+1 {{the constant of a reference must be finite}}
  %r = tile.reference : !tile.reference<64xf32, constant = 1.0e300>
  return
}

// -----

func.func @slack_0() {
  // expected-error @+1 {{the slack of a reference must be above 0 and at most 64, got 0.000000e+00}}
  %r = tile.reference : !tile.reference<64xf32, slack = 0>
  return
}

// -----

func.func @slack_65() {
  // expected-error @+1 {{the slack of a reference must be above 0 and at most 64, got 6.500000e+01}}
  %r = tile.reference : !tile.reference<64xf32, slack = 65>
  return
}

// -----

func.func @both() {
  // expected-error @+1 {{a constant reference has no slack; remove one of them}}
  %r = tile.reference : !tile.reference<64xf32, constant = 0, slack = 8>
  return
}

// -----

func.func @test_alone() {
  // expected-error @+1 {{a reference with test has slack and fold}}
  %r = tile.reference : !tile.reference<64xf32, fold, test>
  return
}

// -----

func.func @stabilize_c1_size(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<16xf32>
  // expected-error @+1 {{(stabilize_c1) takes scores of rank 2, dim 0 or 1, and a reference with an element for each row along it, got 'tensor<64x16xf32>', dim 1 and '!tile.reference<16xf32>'}}
  %s:4 = tile.stabilize %x, %r scale(1.0) dim(1) : tensor<64x16xf32>, !tile.reference<16xf32>
  return
}

// -----

func.func @stabilize_c1_dim(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32>
  // expected-error @+1 {{(stabilize_c1) takes scores of rank 2, dim 0 or 1}}
  %s:4 = tile.stabilize %x, %r scale(1.0) dim(2) : tensor<64x16xf32>, !tile.reference<64xf32>
  return
}

// -----

func.func @stabilize_c1_rank(%x: tensor<64xf32>) {
  %r = tile.reference : !tile.reference<64xf32>
  // expected-error @+1 {{(stabilize_c1) takes scores of rank 2, dim 0 or 1}}
  %s:4 = tile.stabilize %x, %r scale(1.0) dim(1) : tensor<64xf32>, !tile.reference<64xf32>
  return
}

// -----

func.func @stabilize_c2_missing(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32, slack = 8, fold, test>
  // expected-error @+1 {{(stabilize_c2) has test(...) exactly if its reference says so}}
  %s:4 = tile.stabilize %x, %r scale(1.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 8, fold, test>
  return
}

// -----

func.func @stabilize_c2_more(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32>
  // expected-error @+1 {{(stabilize_c2) has test(...) exactly if its reference says so}}
  %s:4 = tile.stabilize %x, %r test(%x : tensor<64x16xf32>) scale(1.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32>
  return
}

// -----

func.func @stabilize_c2_shape(%x: tensor<64x16xf32>, %y: tensor<64x8xf32>) {
  %r = tile.reference : !tile.reference<64xf32, slack = 8, fold, test>
  // expected-error @+1 {{(stabilize_c2) tests a tile of type 'tensor<64x16xf32>', got 'tensor<64x8xf32>'}}
  %s:4 = tile.stabilize %x, %r test(%y : tensor<64x8xf32>) scale(1.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 8, fold, test>
  return
}

// -----

func.func @stabilize_c3(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<16xf32, slack = 8>
  // expected-error @+1 {{(stabilize_c3) has no slack along columns, got '!tile.reference<16xf32, slack = 8>'; use dim(1)}}
  %s:4 = tile.stabilize %x, %r scale(1.0) dim(0) : tensor<64x16xf32>, !tile.reference<16xf32, slack = 8>
  return
}

// -----

func.func @stabilize_c4_negative(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32, fold>
  // expected-error @+1 {{(stabilize_c4) needs a finite, positive scale for '!tile.reference<64xf32, fold>', got -1.000000e+00 : f32}}
  %s:4 = tile.stabilize %x, %r scale(-1.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, fold>
  return
}

// -----

func.func @stabilize_c4_zero(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32, constant = 0>
  // expected-error @+1 {{(stabilize_c4) needs a finite, positive scale}}
  %s:4 = tile.stabilize %x, %r scale(0.0) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, constant = 0>
  return
}

// -----

func.func @stabilize_c4_inf(%x: tensor<64x16xf32>) {
  %r = tile.reference : !tile.reference<64xf32, slack = 8>
  // expected-error @+1 {{(stabilize_c4) needs a finite, positive scale}}
  %s:4 = tile.stabilize %x, %r scale(0x7F800000) dim(1) : tensor<64x16xf32>, !tile.reference<64xf32, slack = 8>
  return
}

// -----

func.func @rescale_c1_dim(%x: tensor<64x16xf32>, %f: tensor<64xf32>, %g: tensor<16xf32>, %k: tensor<16xi1>) {
  // expected-error @+1 {{(rescale_c1) takes a tile of rank 2 with dim 0 or 1 and a factor without it, or two of rank 1 without dim}}
  %s = tile.rescale %x, %f : tensor<64x16xf32>, tensor<64xf32>
  return
}

// -----

func.func @rescale_c1_factor(%x: tensor<64x16xf32>, %f: tensor<64xf32>, %g: tensor<16xf32>, %k: tensor<16xi1>) {
  // expected-error @+1 {{(rescale_c1) takes a tile of rank 2 with dim 0 or 1 and a factor without it, or two of rank 1 without dim, got 'tensor<64x16xf32>' and 'tensor<16xf32>'}}
  %s = tile.rescale %x, %g dim(1) : tensor<64x16xf32>, tensor<16xf32>
  return
}

// -----

func.func @rescale_c1_rank(%x: tensor<64x16xf32>, %f: tensor<64xf32>, %g: tensor<16xf32>, %k: tensor<16xi1>) {
  // expected-error @+1 {{(rescale_c1) takes a tile of rank 2 with dim 0 or 1 and a factor without it, or two of rank 1 without dim}}
  %s = tile.rescale %f, %f dim(1) : tensor<64xf32>, tensor<64xf32>
  return
}

// -----

func.func @rescale_c2_rows(%x: tensor<64x16xf32>, %f: tensor<64xf32>, %g: tensor<16xf32>, %k: tensor<16xi1>) {
  // expected-error @+1 {{(rescale_c2) has an element of where(...) for each row of 'tensor<64x16xf32>', got 'tensor<16xi1>'}}
  %s = tile.rescale %x, %f dim(1) where(%k : tensor<16xi1>) : tensor<64x16xf32>, tensor<64xf32>
  return
}

// -----

func.func @rescale_c2_columns(%x: tensor<64x16xf32>, %f: tensor<64xf32>, %g: tensor<16xf32>, %k: tensor<16xi1>, %r: tensor<64xi1>) {
  // expected-error @+1 {{(rescale_c2) has no where(...) along columns}}
  %s = tile.rescale %x, %g dim(0) where(%r : tensor<64xi1>) : tensor<64x16xf32>, tensor<16xf32>
  return
}
