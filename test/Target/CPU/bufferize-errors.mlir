// RUN: fa-opt %s -split-input-file -verify-diagnostics -cpu-bufferize

func.func @bitcast(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tensor.bitcast' cannot be lowered to the cpu on tiles; use ops of tile, elementwise ones of arith and math, and scf.for or scf.if}}
  %y = tensor.bitcast %x : tensor<4xf32> to tensor<4xi32>
  return
}

// -----

func.func @poison() {
  // expected-error @+1 {{'ub.poison' cannot be lowered to the cpu on tiles}}
  %x = ub.poison : tensor<4xf32>
  return
}

// -----

func.func @loop(%x: tensor<4xf32>) {
  // expected-error @+1 {{'affine.for' cannot be lowered to the cpu on tiles}}
  %y = affine.for %i = 0 to 4 iter_args(%t = %x) -> tensor<4xf32> {
    affine.yield %t : tensor<4xf32>
  }
  return
}

// -----

// Has an interface for buffers, and still no loops.
func.func @softmax(%x: tensor<4x8xf32>) {
  %e = tensor.empty() : tensor<4x8xf32>
  // expected-error @+1 {{'linalg.softmax' cannot be lowered to the cpu on tiles}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
