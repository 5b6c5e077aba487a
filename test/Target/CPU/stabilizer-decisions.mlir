// The CPU lowers each decided reference to the exact form, as if nothing had been decided, with and without where.
// RUN: sed 's/ where(%%ran : !tile.ran)//' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg -o %t.exact
// RUN: fa-opt %s --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, constant = 0>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, constant = 100>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, fold>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, constant = 100, fold>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, slack = 8>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, slack = 8, fold>/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, slack = 32, fold, test>/; s/tile.stabilize %%scores, %%m/& test(%%scores : tensor<64x64xf32>)/' %s | fa-opt - --target=cpu --compile-from=tile --compile-to=linalg | diff %t.exact -
// RUN: sed 's/reference<64xf32>/reference<64xf32, slack = 8, fold>/' %s | fa-opt - --target=cpu --compile-from=tile --emit=obj -o %t.o
// RUN: FileCheck %s < %t.exact
// CHECK: func.func @all
// CHECK-NOT: = tile.

tile.func @all(%x: !tile.view<?x64xf32> {tile.name = "x", tile.dims = ["N", "D"]}, %v: !tile.view<?x64xbf16> {tile.name = "v", tile.dims = ["N", "D"]},
               %o: !tile.view<?x64xf32> {tile.name = "o", tile.dims = ["N", "D"], tile.output}, %z: index)
    grid affine_map<() -> (1)> sizes [] attributes {tile.entry = "all"} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?x64xf32>
  %acc0 = arith.constant dense<0.0> : tensor<64x64xf32>
  %l0 = arith.constant dense<0.0> : tensor<64xf32>
  %m0 = tile.reference : !tile.reference<64xf32>
  %r:3 = scf.for %j = %c0 to %n step %c64 iter_args(%a = %acc0, %m = %m0, %l = %l0)
      -> (tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>) {
    %scores = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x64xf32> -> tensor<64x64xf32>
    %b = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x64xbf16> -> tensor<64x64xbf16>
    %m1, %p, %f, %ran = tile.stabilize %scores, %m scale(1.5) dim(1) : tensor<64x64xf32>, !tile.reference<64xf32>
    %lf = tile.rescale %l, %f where(%ran : !tile.ran) : tensor<64xf32>, tensor<64xf32>
    %l1 = tile.reduce addf %p init %lf dim 1 : tensor<64x64xf32> -> tensor<64xf32>
    %ph = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xbf16>
    %af = tile.rescale %a, %f dim(1) where(%ran : !tile.ran) : tensor<64x64xf32>, tensor<64xf32>
    %a1 = tile.dot %ph, %b, %af : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>
    scf.yield %a1, %m1, %l1 : tensor<64x64xf32>, !tile.reference<64xf32>, tensor<64xf32>
  }
  %d = tile.broadcast %r#2 dim 1 : tensor<64xf32> -> tensor<64x64xf32>
  %q = arith.divf %r#0, %d : tensor<64x64xf32>
  tile.store %q, %o[%c0, %c0] dims [0, 1] : tensor<64x64xf32>, !tile.view<?x64xf32>
  tile.return
}
