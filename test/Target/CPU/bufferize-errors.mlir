// RUN: fa-opt %s -split-input-file -verify-diagnostics -cpu-bufferize

func.func @bitcast() {
  %x = tensor.empty() : tensor<4xf32>
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

func.func @loop() {
  %x = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{'affine.for' cannot be lowered to the cpu on tiles}}
  %y = affine.for %i = 0 to 4 iter_args(%t = %x) -> tensor<4xf32> {
    affine.yield %t : tensor<4xf32>
  }
  return
}

// -----

// Has an interface for buffers, and still no loops.
func.func @softmax() {
  %x = tensor.empty() : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  // expected-error @+1 {{'linalg.softmax' cannot be lowered to the cpu on tiles}}
  %y = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

// expected-error @+1 {{a kernel of the cpu takes no tiles and returns none; load and store them in it, from memory that it takes}}
func.func @result() -> tensor<4xf32> {
  %x = tensor.empty() : tensor<4xf32>
  return %x : tensor<4xf32>
}

// -----

func.func @call() {
  %x = tensor.empty() : tensor<4xf32>
  %f = builtin.unrealized_conversion_cast to (tensor<4xf32>) -> ()
  // expected-error @+1 {{'func.call_indirect' cannot be lowered to the cpu on tiles}}
  func.call_indirect %f(%x) : (tensor<4xf32>) -> ()
  return
}
