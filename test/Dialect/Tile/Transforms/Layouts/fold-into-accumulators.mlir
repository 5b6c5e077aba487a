// RUN: fa-opt %s --tile-fold-into-accumulators --remarks --split-input-file --verify-diagnostics | FileCheck %s

// The term of each column, and its load, come before the product, which begins with it.
// CHECK-LABEL: tile.func @folded
// CHECK: %[[X:.*]] = tile.load %{{.*}} dims [0] : !tile.view<?xf32> -> tensor<64xf32>
// CHECK-NEXT: %[[T:.*]] = tile.broadcast %[[X]] dim 0
// CHECK-NEXT: %[[P:.*]] = tile.dot %{{.*}}, %{{.*}}, %[[T]] :
// CHECK-NOT: arith.addf
// CHECK: tile.accumulate %[[P]]
tile.func @folded(%a: !tile.view<?x16xf16>, %b: !tile.view<?x64xf16>, %x: !tile.view<?xf32>, %y: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %zero = tile.broadcast %z : f32 -> tensor<32x64xf32>
  %q = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<32x16xf16>
  %k = tile.load %b[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
  // expected-remark @+1 {{a product begins with what is added to it}}
  %p = tile.dot %q, %k, %zero : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  %t = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %u = tile.broadcast %t dim 0 : tensor<64xf32> -> tensor<32x64xf32>
  %s = arith.addf %u, %p : tensor<32x64xf32>
  tile.accumulate %s, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// What is computed of the product, what has another use, and what begins with something stays; so does a term that the program stores to.
// CHECK-LABEL: tile.func @stays
// CHECK-COUNT-4: arith.addf
tile.func @stays(%a: !tile.view<?x16xf16>, %b: !tile.view<?x64xf16>, %x: !tile.view<?xf32>, %y: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %zero = tile.broadcast %z : f32 -> tensor<32x64xf32>
  %rows = tile.broadcast %z : f32 -> tensor<32xf32>
  %q = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<32x16xf16>
  %k = tile.load %b[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
  %known = tile.load %b[%i, %c0] dims [1] : !tile.view<?x64xf16> -> tensor<64xf16>
  %wide = arith.extf %known : tensor<64xf16> to tensor<64xf32>
  %term = tile.broadcast %wide dim 0 : tensor<64xf32> -> tensor<32x64xf32>
  %p = tile.dot %q, %k, %zero : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  %s = arith.addf %p, %term : tensor<32x64xf32>
  %twice = arith.mulf %p, %s : tensor<32x64xf32>
  %p1 = tile.dot %q, %k, %twice : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  %s1 = arith.addf %p1, %term : tensor<32x64xf32>
  %p2 = tile.dot %q, %k, %zero : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  %sum = tile.reduce addf %s1 init %rows dim 1 : tensor<32x64xf32> -> tensor<32xf32>
  %u = tile.broadcast %sum dim 1 : tensor<32xf32> -> tensor<32x64xf32>
  // expected-remark @+1 {{a term is added to a product", Reason="it is not known before the product}}
  %s2 = arith.addf %p2, %u : tensor<32x64xf32>
  tile.accumulate %s2, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  %p3 = tile.dot %q, %k, %zero : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  tile.store %sum, %x[%i] dims [0] : tensor<32xf32>, !tile.view<?xf32>
  %t = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %v = tile.broadcast %t dim 0 : tensor<64xf32> -> tensor<32x64xf32>
  // expected-remark @+1 {{a term is added to a product", Reason="it is not known before the product}}
  %s3 = arith.addf %p3, %v : tensor<32x64xf32>
  tile.store %s3, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// -----

// Nor in a program that adds nothing to memory, whose products may run beside each other.
// CHECK-LABEL: tile.func @alone
// CHECK: arith.addf
tile.func @alone(%a: !tile.view<?x16xf16>, %b: !tile.view<?x64xf16>, %x: !tile.view<?xf32>, %y: !tile.view<?x64xf32>, %i: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %z = arith.constant 0.0 : f32
  %zero = tile.broadcast %z : f32 -> tensor<32x64xf32>
  %q = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x16xf16> -> tensor<32x16xf16>
  %k = tile.load %b[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<16x64xf16>
  %t = tile.load %x[%i] dims [0] : !tile.view<?xf32> -> tensor<64xf32>
  %u = tile.broadcast %t dim 0 : tensor<64xf32> -> tensor<32x64xf32>
  %p = tile.dot %q, %k, %zero : tensor<32x16xf16>, tensor<16x64xf16>, tensor<32x64xf32>
  %s = arith.addf %u, %p : tensor<32x64xf32>
  tile.store %s, %y[%i, %c0] dims [0, 1] : tensor<32x64xf32>, !tile.view<?x64xf32>
  tile.return
}
