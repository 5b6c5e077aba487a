//===- Passes.td - from linalg on tiles to LLVM for CPUs ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_CPU_PASSES_TD
#define FA_TARGET_CPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def CPUFuseElementwise : Pass<"cpu-fuse-elementwise", "::mlir::func::FuncOp"> {
  let summary = "fuse elementwise ops on tiles and choose their destinations";
  let description = [{
    What: fuses parallel `linalg` ops into their parallel users (always where
    the producer is a broadcast, a constant or an index computation; else where
    it has one use), hoists what a loop does not change, and lets every
    elementwise op overwrite an operand that it reads at the same place, which
    bufferization then checks. Integers that are no whole bytes wide, and
    booleans, lie in memory as wider ones.

    Requires: `convert-tile-to-linalg`. Ensures: one pass over memory per chain
    of elementwise ops.

    Numerics: exact.

    Example (`test/Target/CPU/fuse-elementwise.mlir`): the difference to the
    row's maximum, its broadcast and the exponential become one `linalg.generic`.

    ```mlir
    %p = linalg.generic {...} ins(%m : tensor<8xf32>) outs(%s : tensor<8x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      %d = arith.subf %out, %in : f32
      %e = math.exp2 %d : f32
      linalg.yield %e : f32
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::affine::AffineDialect",
    "::mlir::tensor::TensorDialect"];
}

def CPUBufferize : Pass<"cpu-bufferize", "::mlir::ModuleOp"> {
  let summary = "give every tile a buffer";
  let description = [{
    What: upstream's one-shot bufferization; copies become `linalg.copy`, so
    that they are vectorized like everything else. Where it finds no order of reads and
    writes in a kernel, as where a loop hands a tile on in another place, loops and branches
    of that kernel get copies of what they begin with and go on with.

    Requires: loops carry tiles in the buffers they came in (as
    `convert-tile-to-linalg` leaves them). Ensures: no tensor is left; every
    `memref.alloc` has a static shape.

    Numerics: exact.

    Example (`test/Target/CPU/bufferize.mlir`): the accumulator of a loop is one buffer.

    ```mlir
    %acc = memref.alloc() : memref<8x32xf32>
    scf.for %i = %c0 to %n step %c1 {
      linalg.matmul ins(%a, %b : memref<8x4xf32>, memref<4x32xf32>) outs(%acc : memref<8x32xf32>)
    }
    ```
  }];
  let dependentDialects = ["::mlir::linalg::LinalgDialect", "::mlir::bufferization::BufferizationDialect",
    "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect"];
}

def CPUVectorize : Pass<"cpu-vectorize", "::mlir::func::FuncOp"> {
  let summary = "tile to registers, vectorize, keep accumulators in registers";
  let description = [{
    What: cuts every `linalg` op into loops over register tiles (products
    dot-rows x dot-columns x 1, elementwise rows of 4 vectors, transposes
    lanes x lanes) and a remainder of static size each; vectorizes them; moves
    the accumulators of products out of their loops. Sums that begin with a fill
    begin with it in registers, and long ones from 0 on are added up in parts of
    16 products: half the rounding error.

    Requires: `cpu-bufferize`. Ensures: no `linalg` op is left.

    Numerics: reassociates sums along rows, and of products.

    Example (`test/Target/CPU/vectorize.mlir`): a product's inner loop carries
    its accumulators.

    ```mlir
    %c = scf.for %k = %c0 to %d step %c1 iter_args(%acc = %c0v) -> (vector<8x32xf32>) { ... }
    ```
  }];
  let options = [
    Option<"lanes", "lanes", "int64_t", "16", "f32 in one vector register">,
    Option<"dotRows", "dot-rows", "int64_t", "8", "rows of a product's register tile">,
    Option<"dotColumns", "dot-columns", "int64_t", "32", "columns of a product's register tile">];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect"];
}

def CPUPlanScratch : Pass<"cpu-plan-scratch", "::mlir::func::FuncOp"> {
  let summary = "put every buffer into one scratch argument";
  let description = [{
    What: adds a last argument, `memref<?xi8>`, and makes every `memref.alloc`
    a view of it at a constant offset; sets `cpu.scratch_bytes`. A work tile
    then allocates nothing.

    Requires: buffers of static shape, none carried out of the iteration that
    allocates it. Ensures: no allocation is left.

    Numerics: exact.

    Example (`test/Target/CPU/plan-scratch.mlir`):

    ```mlir
    %q = memref.view %scratch[%c0][] : memref<?xi8> to memref<64x64xf32>
    ```
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect"];
}

def CPULowerVectors : Pass<"cpu-lower-vectors", "::mlir::func::FuncOp"> {
  let summary = "lower vectors to rank 1 and math functions to polynomials";
  let description = [{
    What: contractions become `vector.fma`, reductions trees, transposes
    shuffles, transfers loads and stores; math functions become polynomials on
    vectors. exp2 is ours (`lib/Target/CPU/LowerMath.cpp`), the rest upstream's.

    Requires: `cpu-vectorize`. Ensures: no math function is left that a library
    would have to compute (what has no approximation is refused).

    Numerics: exp2 within 1e-7 relative (results below 2^-126 are flushed or
    rounded there; exp2(-inf) = 0, NaN stays NaN); others as upstream's
    approximations; sums reassociate.

    Example (`test/Target/CPU/lower-vectors.mlir`): `math.exp2` becomes multiply-adds.

    ```mlir
    %y = math.fma %x, %c4, %c3 : vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::mlir::memref::MemRefDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::ub::UBDialect"];
}

def CPUMakeEntries : Pass<"cpu-make-entries", "::mlir::ModuleOp"> {
  let summary = "give every kernel an entry that runs a range of its work tiles";
  let description = [{
    What: for each kernel @f makes `@f_run(arguments, begin, end, scratch)`,
    which runs the work tiles with linear numbers begin to end - 1 (the last
    dimension of the grid varies fastest), and `@f_instances(arguments)`, their
    number. Both get a C interface.

    Requires: `cpu-plan-scratch` and the grid's attributes that
    `convert-tile-to-linalg` sets. Ensures: kernels are private.

    Numerics: exact.

    Example (`test/Target/CPU/make-entries.mlir`):

    ```mlir
    func.func @f_run(%x: memref<?xf32>, %begin: index, %end: index, %scratch: memref<?xi8>) { ... }
    ```
  }];
  let dependentDialects = ["::mlir::scf::SCFDialect", "::mlir::affine::AffineDialect",
    "::mlir::memref::MemRefDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // FA_TARGET_CPU_PASSES_TD
