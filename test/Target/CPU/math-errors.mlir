// What only a library could compute is refused, with a remedy.
// RUN: fa-opt %s --pass-pipeline="builtin.module(func.func(cpu-lower-vectors))" -split-input-file -verify-diagnostics

func.func @remainder(%x: vector<16xf32>) -> vector<16xf32> {
  // expected-error @+1 {{'arith.remf' on 'vector<16xf32>' cannot be lowered to the cpu; write x - y * trunc(x / y)}}
  %y = arith.remf %x, %x : vector<16xf32>
  return %y : vector<16xf32>
}

// -----

func.func @wide_function(%x: vector<16xf64>) -> vector<16xf64> {
  // expected-error @+1 {{'math.sinh' on 'vector<16xf64>' has no approximation on the cpu; compute it in f32}}
  %y = math.sinh %x : vector<16xf64>
  return %y : vector<16xf64>
}

// -----

func.func @integer_power(%x: vector<16xi32>) -> vector<16xi32> {
  // expected-error @+1 {{'math.ipowi' on 'vector<16xi32>' has no approximation on the cpu; write it with multiplications}}
  %y = math.ipowi %x, %x : vector<16xi32>
  return %y : vector<16xi32>
}

// -----

func.func @wide_exponent(%x: vector<16xf32>, %n: vector<16xi64>) -> vector<16xf32> {
  // expected-error @+1 {{'math.fpowi' on 'vector<16xf32>' has no approximation on the cpu; use an exponent of 32 bits at most}}
  %y = math.fpowi %x, %n : vector<16xf32>, vector<16xi64>
  return %y : vector<16xf32>
}

// -----

func.func @two_roundings(%x: vector<16xf64>) -> vector<16xbf16> {
  // expected-error @+1 {{'arith.truncf' on 'vector<16xf64>' cannot be lowered to the cpu; round to f32 first}}
  %y = arith.truncf %x : vector<16xf64> to vector<16xbf16>
  return %y : vector<16xbf16>
}
