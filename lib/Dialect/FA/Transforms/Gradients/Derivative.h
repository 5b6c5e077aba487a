//===- Derivative.h - the derivative of a region -----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_DERIVATIVE_H
#define FA_DIALECT_FA_TRANSFORMS_DERIVATIVE_H

#include "mlir/IR/Builders.h"

namespace mlir::fa {

/// Describe one read of a captured tensor or scalar, and the derivative of the result by what was
/// read.
struct CaptureAdjoint {
  BlockArgument capture; ///< An argument of the block.
  /// Those of the tensor.extract, usable at the builder's place. Where one is out of range 0 was
  /// read, and the adjoint is no element's.
  SmallVector<Value> indices;
  Value adjoint; ///< f32 (f64 for f64): 0 where the read is in a branch not taken.
};

/// Hold the derivatives of a result.
struct Adjoints {
  /// One for each of `wanted`; null where the result does not depend on it.
  SmallVector<Value> arguments;
  /// The captures that the result depends on: scalars in the order of the arguments, then reads of
  /// tensors in the order of the program. A tensor that is read twice is here twice.
  SmallVector<CaptureAdjoint> captures;
};

/// Emit the derivative of `result` times `seed` by each of the `wanted` arguments of `body` and by
/// each read of a float capture: of a float tensor among the arguments, and of a float argument
/// that is not wanted. `body` is one of a score region, or like it: scalar ops of arith, math and
/// index, tensor.extract of arguments, and scf.if of these. `seed` has the adjoint type of
/// `result`: f64 for f64, else f32.
///
/// The builder stands in `body` after the ops that compute `result`. They stay, and the emitted
/// ops use what they compute. What depends on an op without a derivative gets an error at the op,
/// but where it leads to arguments alone that `isAsked` does not hold for: nothing is emitted for
/// those.
FailureOr<Adjoints> emitAdjoints(
    OpBuilder &builder, Block &body, Value result, Value seed, ArrayRef<BlockArgument> wanted,
    llvm::function_ref<bool(BlockArgument)> isAsked = [](BlockArgument) { return true; });

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_DERIVATIVE_H
