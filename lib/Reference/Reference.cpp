//===- Reference.cpp - attention in float64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas of docs/semantics.md, a row at a time, in plain loops.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include "fa/Support/Philox.h"
#include "fa/Support/Threads.h"
#include <cmath>
#include <limits>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// One attention in the arithmetic of Real: double, or float for the plain
/// computation, which also rounds where a kernel has to.
template <typename Real> struct Attention {
  static constexpr bool isLow = std::is_same_v<Real, float>;
  static constexpr Real infinity = std::numeric_limits<Real>::infinity();

  DType dtype;
  Real scale;
  int64_t hq, hk, sq, sk, d, dv;
  std::vector<Real> query, key, value;
  std::vector<const HostTensor *> captures;
  std::optional<RegionProgram> mask, score;
  unsigned dropped = 0; ///< random bytes below are dropped
  uint64_t seed = 0, offset = 0;

  Attention(AttentionOp op, const AttentionInputs &inputs);
  void computeRows(int64_t first, int64_t step, AttentionResult &result) const;
};

} // namespace

template <typename Real> static std::vector<Real> numbers(const HostTensor &tensor) {
  std::vector<Real> values(tensor.size());
  for (int64_t i = 0; i < tensor.size(); ++i)
    values[i] = static_cast<Real>(tensor.at(i));
  return values;
}

template <typename Real>
Attention<Real>::Attention(AttentionOp op, const AttentionInputs &inputs)
    : dtype(inputs[0]->dtype), scale(static_cast<Real>(op.getScaleValue())),
      hq(inputs[0]->shape[1]), hk(inputs[1]->shape[1]), sq(inputs[0]->shape[2]),
      sk(inputs[1]->shape[2]), d(inputs[0]->shape[3]), dv(inputs[2]->shape[3]),
      query(numbers<Real>(*inputs[0])), key(numbers<Real>(*inputs[1])),
      value(numbers<Real>(*inputs[2])),
      captures(inputs.begin() + 3, inputs.begin() + 3 + op.getCaptures().size()) {
  if (!op.getMask().empty())
    mask = RegionProgram::compile(op.getMask(), /*isScore=*/false);
  if (!op.getScore().empty())
    score = RegionProgram::compile(op.getScore(), /*isScore=*/true);
  if (op.hasDropout()) {
    size_t first = inputs.size() - 3;
    dropped = dropoutThreshold(inputs[first]->at(0));
    seed = inputs[first + 1]->integerAt(0);
    offset = inputs[first + 2]->integerAt(0);
  }
}

/// Rows `first`, `first + step`, ...: what one thread does.
template <typename Real>
void Attention<Real>::computeRows(int64_t first, int64_t step, AttentionResult &result) const {
  RegionPrecision precision = isLow ? RegionPrecision::Rounded : RegionPrecision::Exact;
  std::optional<RegionEvaluator> sees, modify;
  if (mask)
    sees.emplace(*mask, captures, precision);
  if (score)
    modify.emplace(*score, captures, precision);
  const Real kept = static_cast<Real>(dropoutScale(dropped));
  std::vector<Real> x(sk), o(dv), sizes(dv);
  std::vector<int64_t> seen;
  for (int64_t row = first; row < static_cast<int64_t>(result.lse.size()); row += step) {
    int64_t i = row % sq, h = row / sq % hq, b = row / sq / hq;
    int64_t firstKey = (b * hk + h / (hq / hk)) * sk;

    // The scores of the keys that it sees.
    Real most = -infinity;
    bool any = false; // a score above -inf, or NaN
    seen.clear();
    for (int64_t j = 0; j < sk; ++j) {
      Position at{b, h, i, j, sq, sk};
      if (sees && !sees->mask(at))
        continue;
      Real dot = 0; // in order: `low` is the plain computation, no better
      for (int64_t e = 0; e < d; ++e)
        dot += query[row * d + e] * key[(firstKey + j) * d + e];
      x[j] = modify ? static_cast<Real>(modify->score(scale * dot, at)) : scale * dot;
      any |= x[j] != -infinity;
      most = std::max(most, x[j]);
      seen.push_back(j);
    }
    result.lse[row] = -infinity;
    if (!any)
      continue;

    // Their sum, and the values weighted by them.
    Real sum = 0;
    for (int64_t j : seen)
      sum += std::exp(x[j] - most);
    result.lse[row] = most + std::log(sum);
    std::fill(o.begin(), o.end(), Real(0));
    std::fill(sizes.begin(), sizes.end(), Real(0));
    for (int64_t j : seen) {
      Real weight = std::exp(x[j] - most) / sum;
      if (dropped > 0)
        weight *= dropoutByte(seed, offset, b, h, i, j) < dropped ? 0 : kept;
      if (isLow)
        weight = static_cast<Real>(roundTo(dtype, weight));
      for (int64_t e = 0; e < dv; ++e) {
        Real term = weight * value[(firstKey + j) * dv + e];
        o[e] += term;
        sizes[e] += std::fabs(term);
      }
    }
    result.magnitude[row] = dv > 0 ? *llvm::max_element(sizes) : 0;
    for (int64_t e = 0; e < dv; ++e)
      result.output[row * dv + e] = isLow ? roundTo(dtype, o[e]) : o[e];
  }
}

template <typename Real>
static llvm::Expected<AttentionResult> compute(AttentionOp op, const AttentionInputs &inputs) {
  if (llvm::Error problem = checkInputs(op, inputs))
    return problem;
  const Attention<Real> attention(op, inputs);
  int64_t batch = inputs[0]->shape[0], rows = batch * attention.hq * attention.sq;
  AttentionResult result{{batch, attention.hq, attention.sq, attention.dv},
                         std::vector<double>(rows * attention.dv),
                         std::vector<double>(rows),
                         std::vector<double>(rows)};
  // Rows are dealt in turn, because a mask may make late ones longer.
  bool large = static_cast<double>(rows) * attention.sk * attention.d > 1e6;
  int64_t threads = large ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  runOnThreads(threads, [&](int64_t first) { attention.computeRows(first, threads, result); });
  return result;
}

llvm::Expected<AttentionResult> fa::referenceAttention(AttentionOp op,
                                                       const AttentionInputs &inputs) {
  return compute<double>(op, inputs);
}

llvm::Expected<AttentionResult> fa::lowAttention(AttentionOp op, const AttentionInputs &inputs) {
  return compute<float>(op, inputs);
}
