// Each phase can be the last, or be left out; all are dumped under their names.

// RUN: fa-opt %s --target=cpu --compile-to=input | FileCheck %s --check-prefix=INPUT
// RUN: fa-opt %s --target=cpu --compile-to=algorithm | FileCheck %s --check-prefix=ALGORITHM
// RUN: fa-opt %s --target=cpu --compile-to=tile | FileCheck %s --check-prefix=TILE
// RUN: fa-opt %s --target=cpu --compile-to=tile | fa-opt --target=cpu --compile-from=tile | FileCheck %s --check-prefix=LLVM
// RUN: fa-opt %s --target=cpu --emit=llvm | FileCheck %s --check-prefix=CODE
// RUN: fa-opt %s --target=cpu --emit=obj | llvm-nm - | FileCheck %s --check-prefix=OBJECT
// RUN: rm -rf %t && fa-opt %s --target=cpu --dump-phases-to=%t -o %t.out && ls %t | FileCheck %s --check-prefix=FILES
// RUN: fa-opt %s --target=cpu --compile-to=algorithm --standard-attention | FileCheck %s --check-prefix=STANDARD
// RUN: fa-opt %s --target=cpu --compile-to=tile --tile-rows=16 --tile-keys=24 | FileCheck %s --check-prefix=SIZES

// INPUT: fa.attention
// ALGORITHM: fa.map_blocks @f
// TILE: tile.func @f
// TILE-NOT: fa.
// LLVM: llvm.func @f_run
// CODE: define {{.*}}@packed_f_run
// CODE: fma
// OBJECT: T packed_f_run
// FILES: 0-input.mlir
// FILES-NEXT: 1-algorithm.mlir
// FILES-NEXT: 2-tile.mlir
// FILES-NEXT: 3-linalg.mlir
// FILES-NEXT: 4-vector.mlir
// FILES-NEXT: 5-llvm.mlir
// STANDARD: fa.map_blocks @f_scores
// STANDARD: fa.map_blocks @f_softmax
// STANDARD: fa.map_blocks @f_weighted_sum
// SIZES: tile.dot {{.*}} : tensor<16x64xf32>, tensor<24x64xf32>, tensor<16x24xf32>

func.func @f(%q: tensor<?x8x?x64xf32> {fa.name = "q"}, %k: tensor<?x8x?x64xf32> {fa.name = "k"},
             %v: tensor<?x8x?x64xf32> {fa.name = "v"}) -> tensor<?x8x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>) -> tensor<?x8x?x64xf32>
  return %o : tensor<?x8x?x64xf32>
}
