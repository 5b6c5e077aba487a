// What is not lowered is refused where it was written, with a remedy.
// RUN: fa-opt %s --gpu-lower-math -split-input-file -verify-diagnostics

func.func @remainder(%x: f32) -> f32 {
  // expected-error @+1 {{'arith.remf' on 'f32' cannot be lowered to the GPU; write x - y * trunc(x / y)}}
  %y = arith.remf %x, %x : f32
  return %y : f32
}

// -----

func.func @wide_function(%x: vector<16xf64>) -> vector<16xf64> {
  // expected-error @+1 {{'math.sinh' on 'vector<16xf64>' cannot be lowered to the GPU; compute it in f32}}
  %y = math.sinh %x : vector<16xf64>
  return %y : vector<16xf64>
}

// -----

func.func @integer_power(%x: i32) -> i32 {
  // expected-error @+1 {{'math.ipowi' on 'i32' cannot be lowered to the GPU; write it with multiplications}}
  %y = math.ipowi %x, %x : i32
  return %y : i32
}

// -----

func.func @wide_exponent(%x: f32, %n: i64) -> f32 {
  // expected-error @+1 {{'math.fpowi' on 'f32' cannot be lowered to the GPU; use an exponent of 32 bits at most}}
  %y = math.fpowi %x, %n : f32, i64
  return %y : f32
}

// -----

func.func @rank(%x: vector<2x2xf32>) -> vector<2x2xf32> {
  // expected-error @+1 {{'math.exp' on 'vector<2x2xf32>' cannot be lowered to the GPU; expected a scalar or a vector of rank 1}}
  %y = math.exp %x : vector<2x2xf32>
  return %y : vector<2x2xf32>
}
