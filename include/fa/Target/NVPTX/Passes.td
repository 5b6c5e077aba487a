//===- Passes.td - what kernels for GPUs need before LLVM -----*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_NVPTX_PASSES_TD
#define FA_TARGET_NVPTX_PASSES_TD

include "mlir/Pass/PassBase.td"

def GPULowerMath : Pass<"gpu-lower-math"> {
  let summary = "lower math functions to what the NVPTX back end can select";
  let description = [{
    What: there is no libdevice, so functions become instructions of the GPU or
    polynomials of them. On f32 with `fastmath<afn>`, exp, exp2, log, log2,
    log10, sin, cos, tanh, sqrt and rsqrt are the approximate instructions (2^-11
    relative for tanh, 2^-20 absolute for sin and cos, about 2^-22 for others).
    Without it: exp2 stays (`ex2.approx`); exp, sinh, cosh, powf, fpowi, cbrt go
    to it with their arguments in two parts; sin, cos, tan reduce theirs in f64;
    tanh, erf, erfc, log, log2, log1p, expm1, asin, acos are upstream's
    approximations. Functions of f16 and bf16 are computed in f32. Wide vectors are cut into slices of `slice` elements, one
    expanded after the other, so that their temporaries are not all alive at once.

    Requires: scalars and vectors of rank 1. Ensures: no op is left that needs a
    library; what has no lowering (functions of f64, `arith.remf`, ...) is refused.

    Numerics: functions of f32 are within 5e-7 max(1, |f|), and most within 1e-6
    |f| (`test/gpu/MathFunctions.h`); sin, cos and tan for |x| < 2^50. Subnormal
    arguments and results count as 0.

    Example (`test/Target/NVPTX/lower-math.mlir`): exp is a product and exp2.

    ```mlir
    %0 = arith.mulf %x, %log2e : f32
    %1 = math.exp2 %0 : f32
    ```
  }];
  let options = [Option<"slice", "slice", "int64_t", /*default=*/"4",
    "elements of a vector that are expanded together">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

#endif // FA_TARGET_NVPTX_PASSES_TD
