//===- Gradients.h - gradients of attention, and how they are judged -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The oracle of backward passes: docs/semantics.md, "Gradients". Like the rest
// of the reference it shares nothing with the compiler, which differentiates
// regions by rules of its own.
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_GRADIENTS_H
#define FA_REFERENCE_GRADIENTS_H

#include "fa/Reference/Reference.h"

namespace mlir::fa {

/// Hold what flows back into an attention: gradients are those of sum(dO * O) + sum(dLSE * LSE).
struct OutputAdjoints {
  /// dO, B x Hq x Sq x Dv in the dtype of query, without B for sequences in a row.
  const HostTensor *output;
  /// dLSE, B x Hq x Sq in f32; null counts as 0.
  const HostTensor *lse = nullptr;
};

/// The gradient of one argument, row-major in the argument's shape and dtype. Rows of no sequence
/// are NaN.
struct Gradient {
  /// "d" and the name of the argument: dq, dk, dv, dslopes.
  std::string name;
  DType dtype;
  std::vector<int64_t> shape; ///< empty for a scalar, which has one element
  std::vector<double> values;
  /// For each element, the error that any computation with the roundings of a kernel may have,
  /// to first order: errors of pairs are independent, but those that a row shares, of delta and
  /// LSE, which keep their signs along it. The plain computation has zeros here.
  std::vector<double> uncertainty;
  bool isCapture = false; ///< or the sink
};

/// Gradients of the float arguments: query, key, value, captures, sink, each argument once.
struct AttentionGradients {
  /// Output and LSE, from which they were computed; of a sample, 0 in rows that it does not need.
  AttentionResult forward;
  std::vector<Gradient> gradients;

  /// Return the gradient of that name, null where there is none.
  const Gradient *find(llvm::StringRef name) const;
};

/// Choose rows of dq and of dk, dv where all are too many. Gradients of captures and of the sink
/// are sums of all rows and are left out; query, key and value must be different arguments.
struct GradientSample {
  std::vector<int64_t> rows; ///< (b * Hq + h) * Sq + i; dq has the shape rows x D
  std::vector<int64_t> keys; ///< (b * Hk + h) * Sk + j; dk and dv have keys x D and keys x Dv
};

/// Compute gradients in float64. Fails, with a message, as `referenceAttention` does, where the
/// adjoints do not fit, or where the score holds an op without a derivative (also reported as a
/// diagnostic, at its place).
llvm::Expected<AttentionGradients> referenceGradients(AttentionOp op, const AttentionInputs &inputs,
                                                      const OutputAdjoints &adjoints,
                                                      const GradientSample *sample = nullptr);

/// Compute gradients plainly, from output and LSE of `lowAttention`: dot products and
/// sums in f32, in order; P and ds rounded to the dtype before the products that take them; sums
/// of captures in f32 along a row and in float64 beyond; results rounded.
llvm::Expected<AttentionGradients> lowGradients(AttentionOp op, const AttentionInputs &inputs,
                                                const OutputAdjoints &adjoints,
                                                const GradientSample *sample = nullptr);

/// Judge a tensor that is named as a gradient ("dq"):
///   |g - ref| <= max(c max|low - ref| + 2 max|(ref + 0.3 - 0.3) - ref|, floor) for each element
/// with c = 2, or 3 for captures and the sink; the second term in the gradient's dtype; the floor
/// is the uncertainty of the element. NaN and infinities as in `judgeOutput`. The worst element is
/// that with the largest share of its bound; the problem names it by its indices. A tensor whose
/// name is no gradient's does not pass.
Judgement judgeGradient(const HostTensor &gradient, const AttentionGradients &reference,
                        const AttentionGradients &low);

/// Judge each tensor; the result has their names, in their order.
std::vector<std::pair<std::string, Judgement>>
judgeGradients(const std::vector<HostTensor> &gradients, const AttentionGradients &reference,
               const AttentionGradients &low);

} // namespace mlir::fa

#endif // FA_REFERENCE_GRADIENTS_H
