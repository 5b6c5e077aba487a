// A running reference in one role, and the accumulator in another one, which rescales it, adds
// the product with the values, and stores it at the end. Exponentials, factors and at the end the
// inverse of the sum go there by rings; which rows changed is seen from the factor, which is 1
// elsewhere.
// RUN: fa-opt %s --verify-roundtrip -o /dev/null
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_80 %s %}
// RUN: %if ptxas %{ python3 %S/../../../../scripts/check_ptx.py --target=sm_90a %s %}
// RUN: fa-opt %s --target=sm_90a --compile-from=tile --mlir-print-ir-after=tile-specialize-warps -o /dev/null 2>&1 | FileCheck %s

// CHECK: tile.role "load"
// CHECK: tile.role "correct"
// CHECK: scf.for {{.*}} -> (tensor<128x72xf32
// CHECK: %[[SLOT:.*]] = tile.get %[[FACTORS:.*]] :
// CHECK-NEXT: %[[F:.*]] = tile.read %[[SLOT]]
// CHECK-NEXT: tile.release %[[SLOT]]
// CHECK-NEXT: %[[CHANGED:.*]] = arith.cmpf une, %[[F]]
// CHECK-NEXT: tile.rescale %{{.*}}, %[[F]] dim(1) where(%[[CHANGED]] : tensor<128xi1
// CHECK: tile.dot_start {{.*}} ones
// CHECK: tile.role "compute"
// CHECK: scf.for
// CHECK-NOT: scf.yield
// CHECK: tile.put_value %[[FACTORS]]
// CHECK-NOT: tile.rescale
tile.func @rescale_role(%q: !tile.view<?x?x?x64xf16> {tile.name = "q", tile.dims = ["B", "H", "Sq", "D"], tile.align = 16 : i64},
                 %k: !tile.view<?x?x?x64xf16> {tile.name = "k", tile.dims = ["B", "H", "Sk", "D"], tile.align = 16 : i64},
                 %v: !tile.view<?x?x?x64xf16> {tile.name = "v", tile.dims = ["B", "H", "Sk", "D"], tile.align = 16 : i64},
                 %o: !tile.view<?x?x?x64xf16> {tile.name = "o", tile.dims = ["B", "H", "Sq", "D"], tile.output, tile.align = 16 : i64},
                 %b: index, %h: index, %t: index)
    grid affine_map<()[s0, s1, s2] -> (s0, s1, s2 ceildiv 128)> sizes [0, 0, 0, 1, 0, 2]
    attributes {tile.entry = "rescale_role", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %one = arith.constant 1.0 : f32
  %i = arith.muli %t, %c128 : index
  %n = tile.dim %k, 2 : !tile.view<?x?x?x64xf16>
  %qt = tile.load %q[%b, %h, %i, %c0] dims [2, 3] {tile.role = "load"} : !tile.view<?x?x?x64xf16> -> tensor<128x64xf16>
  %acc0 = tile.broadcast %zero : f32 -> tensor<128x64xf32>
  %m0 = tile.reference : !tile.reference<128xf32>
  %l0 = tile.broadcast %zero : f32 -> tensor<128xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%acc1 = %acc0, %m1 = %m0, %l1 = %l0) -> (tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>) {
    %kt = tile.load %k[%b, %h, %j, %c0] dims [2, 3] {tile.role = "load"} : !tile.view<?x?x?x64xf16> -> tensor<64x64xf16>
    %vt = tile.load %v[%b, %h, %j, %c0] dims [2, 3] {tile.role = "load"} : !tile.view<?x?x?x64xf16> -> tensor<64x64xf16>
    %none = tile.broadcast %zero : f32 -> tensor<128x64xf32>
    %s = tile.dot %qt, %kt, %none transpose_b : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>
    %cols = tile.iota %j : index -> tensor<64xindex>
    %ends = tile.broadcast %n : index -> tensor<64xindex>
    %in = arith.cmpi slt, %cols, %ends : tensor<64xindex>
    %vis = tile.broadcast %in dim 0 : tensor<64xi1> -> tensor<128x64xi1>
    %hidden = tile.broadcast %lowest : f32 -> tensor<128x64xf32>
    %x = arith.select %vis, %s, %hidden : tensor<128x64xi1>, tensor<128x64xf32>
    // The scale is log2(e) / sqrt(64).
    %m2, %p, %f, %ran = tile.stabilize %x, %m1 scale(0.18033688) dim(1) : tensor<128x64xf32>, !tile.reference<128xf32>
    %lf = tile.rescale %l1, %f : tensor<128xf32>, tensor<128xf32>
    %l2 = tile.reduce addf %p init %lf dim 1 : tensor<128x64xf32> -> tensor<128xf32>
    %af = tile.rescale %acc1, %f dim(1) {tile.role = "correct"} : tensor<128x64xf32>, tensor<128xf32>
    %ph = arith.truncf %p : tensor<128x64xf32> to tensor<128x64xf16>
    %acc2 = tile.dot %ph, %vt, %af {tile.role = "correct"} : tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>
    scf.yield %acc2, %m2, %l2 : tensor<128x64xf32>, !tile.reference<128xf32>, tensor<128xf32>
  }
  %ones = tile.broadcast %one : f32 -> tensor<128xf32>
  %inverse = arith.divf %ones, %r#2 : tensor<128xf32>
  %ib = tile.broadcast %inverse dim 1 {tile.role = "correct"} : tensor<128xf32> -> tensor<128x64xf32>
  %out = arith.mulf %r#0, %ib {tile.role = "correct"} : tensor<128x64xf32>
  %oh = arith.truncf %out {tile.role = "correct"} : tensor<128x64xf32> to tensor<128x64xf16>
  tile.store %oh, %o[%b, %h, %i, %c0] dims [2, 3] {tile.role = "correct"} : tensor<128x64xf16>, !tile.view<?x?x?x64xf16>
  tile.return
}
