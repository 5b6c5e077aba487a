//===- RegionAdjoint.h - derivatives of score regions, in reverse -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// Runs the instructions of a score backwards over the values that an evaluation
// left in its slots. The rules are those of docs/semantics.md, "Gradients"; the
// compiler differentiates regions by rules of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_REGIONADJOINT_H
#define FA_REFERENCE_REGIONADJOINT_H

#include "fa/Reference/RegionInterpreter.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mlir::fa {

/// Check that every op of a score region that its result depends on has a derivative, if it
/// reads the score or a float capture; located errors name those that have none.
LogicalResult checkDifferentiable(Region &score);

/// Takes what one evaluation adds to the gradient of an element of a capture.
using CaptureGradient = llvm::function_ref<void(size_t capture, int64_t element, double adjoint)>;

/// Runs the program of an evaluator backwards; outlived by the evaluator. Adjoints are computed
/// in double, or with the evaluator's `Rounded` in f32 (in f64 those of f64 values).
class RegionAdjoint {
public:
  explicit RegionAdjoint(const RegionEvaluator &evaluator);
  /// Return the adjoint of s where `adjoint` is that of the score that the evaluator computed
  /// last, and give those of captures to `add`. What is not reached adds nothing: an operand
  /// that a select, maximum or minimum did not return, and what only it was computed from.
  double run(double adjoint, CaptureGradient add);

private:
  void give(int32_t slot, double adjoint);
  void pass(const RegionInstruction &instruction, CaptureGradient add);

  const RegionEvaluator &evaluator;
  const RegionProgram &program;
  std::vector<double> adjoints;
  std::vector<char> reached;
};

} // namespace mlir::fa

#endif // FA_REFERENCE_REGIONADJOINT_H
