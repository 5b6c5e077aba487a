// From a tile program to vectors, and no call in the LLVM dialect.
// RUN: fa-opt %examples/full.mlir --target=cpu --compile-to=linalg | FileCheck %s --check-prefix=LINALG
// RUN: fa-opt %examples/full.mlir --target=cpu --compile-to=vector | FileCheck %s --check-prefix=VECTOR
// RUN: fa-opt %examples/full.mlir --target=cpu --compile-to=llvm | FileCheck %s --check-prefix=LLVM

// LINALG: scf.for {{.*}}(tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>
// LINALG: linalg.matmul
// LINALG: math.exp2
// LINALG: linalg.matmul

// The scratch is the last argument; no allocation, no tensor, no function of math is left.
// VECTOR: func.func @full({{.*}}%[[SCRATCH:[a-z0-9]+]]: memref<?xi8>)
// VECTOR-SAME: cpu.scratch_bytes
// VECTOR-NOT: {{memref.alloc|tensor<|math[.]exp|math[.]log}}
// VECTOR: vector.fma
// VECTOR-NOT: {{memref.alloc|tensor<|math[.]exp|math[.]log}}
// VECTOR: return

// An entry calls the kernel; nothing else is called.
// LLVM-NOT: llvm.func @{{malloc|exp|log|tanh|sin|pow|memrefCopy}}
// LLVM: llvm.func @full_instances
// LLVM: llvm.func @full_run
// LLVM: llvm.call @full(
// LLVM: llvm.intr.fma
