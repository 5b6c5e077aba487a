// RUN: fa-opt %s --tile-mask-exponents | FileCheck %s

// An if that hides weights hides exponents instead.
// CHECK-LABEL: tile.func @in_if
// CHECK: %[[X:.*]] = tile.load
// CHECK: %[[Y:.*]] = scf.if %{{.*}} -> (tensor<64x64xf32>) {
// CHECK: %[[LOWEST:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[HIDDEN:.*]] = tile.broadcast %[[LOWEST]]
// CHECK: %[[H:.*]] = arith.select %{{.*}}, %[[X]], %[[HIDDEN]]
// CHECK: scf.yield %[[H]]
// CHECK: } else {
// CHECK-NEXT: scf.yield %[[X]]
// CHECK: %[[P:.*]] = math.exp2 %[[Y]] : tensor<64x64xf32>
// CHECK-NOT: math.exp2
// CHECK: arith.mulf %[[P]], %[[P]]
tile.func @in_if(%x: !tile.view<?x64xf32>, %edge: i1, %n: i32) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %f0 = arith.constant 0.0 : f32
  %zero = tile.broadcast %f0 : f32 -> tensor<64x64xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %e = math.exp2 %v : tensor<64x64xf32>
  %p = scf.if %edge -> (tensor<64x64xf32>) {
    %numbers = tile.iota %c0_i32 : i32 -> tensor<64xi32>
    %ns = tile.broadcast %n : i32 -> tensor<64xi32>
    %in = arith.cmpi slt, %numbers, %ns : tensor<64xi32>
    %visible = tile.broadcast %in dim 0 : tensor<64xi1> -> tensor<64x64xi1>
    %s = arith.select %visible, %e, %zero : tensor<64x64xi1>, tensor<64x64xf32>
    scf.yield %s : tensor<64x64xf32>
  } else {
    scf.yield %e : tensor<64x64xf32>
  }
  %q = arith.mulf %p, %p : tensor<64x64xf32>
  tile.store %q, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// So does a select without an if.
// CHECK-LABEL: tile.func @alone
// CHECK: %[[H:.*]] = arith.select
// CHECK-NEXT: %[[P:.*]] = math.exp2 %[[H]]
// CHECK-NEXT: tile.store %[[P]]
tile.func @alone(%x: !tile.view<?x64xf32>, %m: !tile.view<?x64xi1>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %visible = tile.load %m[%c0, %c0] dims [0, 1] : !tile.view<?x64xi1> -> tensor<64x64xi1>
  %e = math.exp2 %v : tensor<64x64xf32>
  %s = arith.select %visible, %e, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %s, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}

// Not where the exponential is wanted whole, where something else than 0 is selected, or where it assumes finite numbers.
// CHECK-LABEL: tile.func @stays
// CHECK: %[[E:.*]] = math.exp2
// CHECK-NEXT: arith.select %{{.*}}, %[[E]]
// CHECK-NEXT: arith.select %{{.*}}, %[[E]]
// CHECK: %[[F:.*]] = math.exp2
// CHECK-NEXT: arith.select %{{.*}}, %[[F]]
// CHECK: %[[G:.*]] = math.exp2
// CHECK-NEXT: arith.select %{{.*}}, %[[G]]
tile.func @stays(%x: !tile.view<?x64xf32>, %m: !tile.view<?x64xi1>) grid affine_map<() -> ()> sizes [] {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %one = arith.constant dense<1.0> : tensor<64x64xf32>
  %v = tile.load %x[%c0, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
  %visible = tile.load %m[%c0, %c0] dims [0, 1] : !tile.view<?x64xi1> -> tensor<64x64xi1>
  %e = math.exp2 %v : tensor<64x64xf32>
  %s = arith.select %visible, %e, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  %t = arith.select %visible, %e, %s : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %t, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %f = math.exp2 %v : tensor<64x64xf32>
  %u = arith.select %visible, %f, %one : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %u, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  %g = math.exp2 %v fastmath<ninf> : tensor<64x64xf32>
  %w = arith.select %visible, %g, %zero : tensor<64x64xi1>, tensor<64x64xf32>
  tile.store %w, %x[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
