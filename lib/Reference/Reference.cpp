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

#include "Attention.h"
#include "fa/Support/Threads.h"
#include <cmath>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

template <typename Real>
void Attention<Real>::computeRows(const std::vector<int64_t> &rows, int64_t first, int64_t step,
                                  ArrayRef<Real> outputAdjoint, AttentionResult &result) const {
  std::optional<RegionEvaluator> sees, modify;
  if (mask)
    sees.emplace(*mask, captures, precision);
  if (score)
    modify.emplace(*score, captures, precision);
  std::vector<Real> x(sk), o(dv), sizes(dv);
  std::vector<int64_t> seen;
  for (size_t n = first; n < rows.size(); n += step) {
    int64_t row = rows[n];
    auto [b, h, i, length, keys, firstKey] = queryAt(row);
    if (b < 0) {
      std::fill_n(result.output.begin() + row * dv, dv, std::nan(""));
      result.lse[row] = std::nan("");
      continue;
    }

    // The scores of the keys that it sees.
    Real logit = sink.empty() ? -infinity : sink[h], most = logit;
    bool any = false; // a score above -inf, or NaN
    seen.clear();
    for (int64_t j = 0; j < keys; ++j) {
      Position at{b, h, i, j, length, keys};
      if (sees && !sees->mask(at))
        continue;
      Real s = scale * dot(query.data() + row * d, key.data() + (firstKey + j) * d, d);
      x[j] = modify ? static_cast<Real>(modify->score(s, at)) : s;
      any |= x[j] != -infinity;
      most = std::max(most, x[j]);
      seen.push_back(j);
    }
    result.lse[row] = logit;
    result.seesNothing[row] = !any;
    if (!any)
      continue;

    // Their sum, with the sink, and the values weighted by them.
    Real sum = std::exp(logit - most);
    for (int64_t j : seen)
      sum += std::exp(x[j] - most);
    result.lse[row] = most + std::log(sum);
    std::fill(o.begin(), o.end(), Real(0));
    std::fill(sizes.begin(), sizes.end(), Real(0));
    double squares = 0;
    for (int64_t j : seen) {
      Real weight = rounded(std::exp(x[j] - most) / sum * keep(b, h, i, j));
      for (int64_t e = 0; e < dv; ++e) {
        Real term = weight * value[(firstKey + j) * dv + e];
        o[e] += term;
        sizes[e] += std::fabs(term);
      }
      if (!outputAdjoint.empty()) {
        const Real *adjoint = outputAdjoint.data() + row * dv;
        double term = weight * dot(adjoint, value.data() + (firstKey + j) * dv, dv);
        squares += term * term;
      }
    }
    result.spread[row] = std::sqrt(squares);
    result.magnitude[row] = dv > 0 ? *llvm::max_element(sizes) : 0;
    for (int64_t e = 0; e < dv; ++e)
      result.output[row * dv + e] = isLow ? roundTo(dtype, o[e]) : o[e];
  }
}

template <typename Real>
AttentionResult Attention<Real>::computeForward(const std::vector<int64_t> &rows,
                                                ArrayRef<Real> outputAdjoint) const {
  std::vector<int64_t> shape{batch, hq, sq, dv};
  if (queriesInRow)
    shape.erase(shape.begin());
  AttentionResult result{shape,
                         std::vector<double>(rowCount() * dv),
                         std::vector<double>(rowCount()),
                         std::vector<double>(rowCount()),
                         std::vector<double>(rowCount()),
                         std::vector<char>(rowCount())};
  // Rows are dealt in turn, because a mask may make late ones longer.
  bool large = static_cast<double>(rows.size()) * sk * d > 1e6;
  int64_t threads = large ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  runOnThreads(threads,
               [&](int64_t first) { computeRows(rows, first, threads, outputAdjoint, result); });
  return result;
}

template struct fa::Attention<double>;
template struct fa::Attention<float>;

template <typename Real>
static llvm::Expected<AttentionResult> compute(AttentionOp op, const AttentionInputs &inputs) {
  if (llvm::Error problem = checkInputs(op, inputs))
    return problem;
  const Attention<Real> attention(op, inputs);
  return attention.computeForward(allPlaces(attention.rowCount()));
}

llvm::Expected<AttentionResult> fa::referenceAttention(AttentionOp op,
                                                       const AttentionInputs &inputs) {
  return compute<double>(op, inputs);
}

llvm::Expected<AttentionResult> fa::lowAttention(AttentionOp op, const AttentionInputs &inputs) {
  return compute<float>(op, inputs);
}
