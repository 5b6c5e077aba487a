//===- Reference.h - attention in float64, and how results are judged -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The oracle of the tests. It shares nothing with the compiler but the
// definition of the op: no pass, no lowering, no kernel.
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_REFERENCE_H
#define FA_REFERENCE_REFERENCE_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/HostTensor.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace mlir::fa {

/// A tensor for each operand of an attention, in operand order: query, key,
/// value, captures, sink, starts and lengths of sequences, then p, seed and offset of dropout;
/// scalars have rank 0.
using AttentionInputs = std::vector<const HostTensor *>;

/// Row-major: output is B x Hq x Sq x Dv, lse B x Hq x Sq, without B where the queries of sequences
/// are in a row. Rows of no sequence, which are not written, are NaN.
struct AttentionResult {
  std::vector<int64_t> outputShape;
  std::vector<double> output, lse;
  /// For each row, the largest sum of |probability * value| of its outputs: what rounding
  /// errors are relative to, also where the output itself cancels. Empty where it is unknown.
  std::vector<double> magnitude = {};
  /// For each row, the root of the sum over keys of (probability * <dO, value>)^2: what <dO,
  /// output> may be off by is relative to that where probabilities were rounded. 0 without dO.
  std::vector<double> spread = {};
  /// For each row, whether it attends to no key: its lse is the sink then. Empty where unknown.
  std::vector<char> seesNothing = {};
};

/// Return the operands of `op` out of a tensor for each argument of its function, in
/// order.
llvm::Expected<AttentionInputs> bindArguments(AttentionOp op,
                                              const std::vector<HostTensor> &arguments);

/// Return how many sequences there are: as many as batches, or one less than starts.
int64_t countSequences(AttentionOp op, const AttentionInputs &inputs);

/// Return how many pairs of a query and a key of its sequence there are, masked or not.
double countPairs(AttentionOp op, const AttentionInputs &inputs);

/// Check that inputs fit the op and each other, and that its regions can be evaluated.
llvm::Error checkInputs(AttentionOp op, const AttentionInputs &inputs);

/// Compute attention in float64. Fails, with a message, where inputs do not fit the op
/// or each other, or where its regions hold an op that cannot be evaluated
/// (also reported as a diagnostic, at its place).
llvm::Expected<AttentionResult> referenceAttention(AttentionOp op, const AttentionInputs &inputs);

/// Compute attention plainly in the kernel's dtype: dot products, scores and sums
/// in f32, probabilities rounded to the dtype before they meet the values,
/// the output rounded to it. The error rule measures a kernel by it.
llvm::Expected<AttentionResult> lowAttention(AttentionOp op, const AttentionInputs &inputs);

/// Count the pairs (i, j) of all heads that the mask lets through. Up to `mostRows` rows are looked
/// at, evenly spread, and scaled to all: exact where the pairs of a row grow evenly, as under a
/// causal mask. If a mask differs between batches or heads, up to 256 of those are looked at,
/// evenly spread. None where sequences have starts or lengths, or the mask reads captures, or holds
/// what cannot be evaluated, or has more than 2^28 keys.
std::optional<double> countVisiblePairs(AttentionOp op, int64_t batches, int64_t heads, int64_t sq,
                                        int64_t sk, int64_t mostRows = 128);

/// How far one result is from the reference, and how far it may be.
struct Judgement {
  /// The largest error, and its bound; where the bound varies (lse), both are
  /// those of the element with the largest quotient.
  double error = 0, bound = 0;
  /// The element that decides, in row-major order.
  int64_t worst = 0;
  bool passed = true;
  /// One line that says what is wrong; empty where it passed.
  std::string problem;
};

/// max|o - ref| <= max(2 max|low - ref| + 2 max|(ref + 0.3 - 0.3) - ref|, floor), the second
/// term in the output's dtype; the floor is 4 ulps of f32, and one of a narrower dtype, of the
/// largest magnitude. A NaN must be one of the reference too, and an infinity the reference,
/// rounded to the dtype; and the other way round.
Judgement judgeOutput(const HostTensor &output, const AttentionResult &reference,
                      const AttentionResult &low);

/// |lse - ref| <= 1e-5 max(1, |ref|) + 2 |low - ref| for each row. NaN and
/// infinities must be those of the reference.
Judgement judgeLse(const HostTensor &lse, const AttentionResult &reference,
                   const AttentionResult &low);

} // namespace mlir::fa

#endif // FA_REFERENCE_REFERENCE_H
