//===- AttentionPairs.h - what a query and a key give to gradients -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_REFERENCE_ATTENTIONPAIRS_H
#define FA_LIB_REFERENCE_ATTENTIONPAIRS_H

#include "Attention.h"
#include "fa/Reference/Gradients.h"
#include "fa/Reference/RegionAdjoint.h"
#include <cmath>

namespace mlir::fa {

/// Errors of rounding relative to what is rounded: in f32 one ulp each of s, x, exp, P, dP, delta,
/// ds and the sum, and half an ulp of what is held in a narrower dtype.
constexpr double kFloat32Error = 8 * 0x1p-23;
/// Return how far a score or an LSE may be off in f32, which is a factor on a probability: forward
/// and backward each round it, by half an ulp, independently.
inline double roundingOf(double score) { return M_SQRT2 * 0x1p-24 * std::fabs(score); }
inline double halfUlp(DType dtype) {
  return dtype == DType::F16 ? 0x1p-11 : dtype == DType::BF16 ? 0x1p-8 : 0;
}

/// Return the root of the sum of squares of products: their sum's size if signs are random.
inline double sizeOfDot(const double *a, const double *b, int64_t count) {
  double squares[4] = {};
  for (int64_t e = 0; e < count; ++e)
    squares[e % 4] += a[e] * b[e] * (a[e] * b[e]);
  return std::sqrt(squares[0] + squares[1] + squares[2] + squares[3]);
}

/// One query of one head; `b` is -1 for a row of no sequence.
struct Row {
  int64_t b, h, i, sq, sk;
  int64_t number;   ///< among all rows
  int64_t firstKey; ///< the first of the head's keys of its sequence among all keys
};

/// Hold what all pairs of a row share.
template <typename Real> struct Rows {
  const Attention<Real> &attention;
  std::vector<Real> outputAdjoint, lse, delta;
  /// How far delta may be off; 0 in `low`.
  std::vector<double> deltaError;
  std::vector<char> seesNothing;

  Rows(const Attention<Real> &attention, const AttentionResult &forward,
       const OutputAdjoints &adjoints);
  Row at(int64_t number) const {
    auto [b, h, i, sq, sk, firstKey] = attention.queryAt(number);
    return {b, h, i, sq, sk, number, firstKey};
  }
  /// Return how far the LSE of a row may be off, which is a factor on all its probabilities.
  double lseError(int64_t row) const {
    return Attention<Real>::isLow ? 0 : kFloat32Error + roundingOf(lse[row]);
  }
};

/// Hold what a pair adds to a sum. In `low` only the value is not 0.
struct Term {
  double value;
  double error;    ///< how far it may be off alone
  double perDelta; ///< what it falls by where the delta of its row grows by 1
};

/// Adds terms of one row. What they share of an error has their signs.
template <typename Real> struct RowSum {
  Real value = 0;
  double squares = 0, perDelta = 0;

  void add(const Term &term, double factor = 1) {
    value += static_cast<Real>(term.value) * static_cast<Real>(factor);
    squares += term.error * term.error * factor * factor;
    perDelta += term.perDelta * factor;
  }
  /// Return the square of how far the sum may be off.
  double squareOfError(const Rows<Real> &rows, int64_t row) const {
    double shared =
        rows.deltaError[row] * std::fabs(perDelta) + rows.lseError(row) * std::fabs(value);
    return squares + shared * shared;
  }
};

/// Hold what a query and a key give.
template <typename Real> struct Pair {
  Real weight;        ///< keep P, rounded
  double weightError; ///< how far it may be off alone; 0 in `low`
  Term scoreDelta;    ///< ds, rounded
};

/// Takes what a pair adds to an element of a capture.
using AddToCapture = llvm::function_ref<void(size_t capture, int64_t element, const Term &term)>;

/// Evaluates pairs; one per thread.
template <typename Real> class PairEvaluator {
public:
  explicit PairEvaluator(const Rows<Real> &rows);
  /// Return the pair of a row that sees something and key j of its head; none where it is hidden.
  std::optional<Pair<Real>> evaluate(const Row &row, int64_t j, AddToCapture add);

private:
  const Rows<Real> &rows;
  std::optional<RegionEvaluator> sees, modify;
  std::optional<RegionAdjoint> reverse;
};

template <typename Real>
Rows<Real>::Rows(const Attention<Real> &attention, const AttentionResult &forward,
                 const OutputAdjoints &adjoints)
    : attention(attention), outputAdjoint(numbers<Real>(*adjoints.output)),
      lse(forward.lse.begin(), forward.lse.end()), delta(lse.size()), deltaError(lse.size()),
      seesNothing(forward.seesNothing) {
  int64_t dv = attention.dv;
  std::vector<Real> output(forward.output.begin(), forward.output.end());
  for (size_t row = 0; row < lse.size(); ++row) {
    const Real *o = output.data() + row * dv, *adjoint = outputAdjoint.data() + row * dv;
    Real lseAdjoint = adjoints.lse ? static_cast<Real>(adjoints.lse->at(row)) : 0;
    delta[row] = dot(adjoint, o, dv) - lseAdjoint;
    if constexpr (!Attention<Real>::isLow) {
      double size = sizeOfDot(adjoint, o, dv);
      deltaError[row] = kFloat32Error * (size + std::fabs(lseAdjoint)) +
                        halfUlp(attention.dtype) * std::hypot(size, forward.spread[row]);
    }
  }
}

template <typename Real> PairEvaluator<Real>::PairEvaluator(const Rows<Real> &rows) : rows(rows) {
  const Attention<Real> &attention = rows.attention;
  if (attention.mask)
    sees.emplace(*attention.mask, attention.captures, attention.precision);
  if (attention.score) {
    modify.emplace(*attention.score, attention.captures, attention.precision);
    reverse.emplace(*modify);
  }
}

template <typename Real>
std::optional<Pair<Real>> PairEvaluator<Real>::evaluate(const Row &row, int64_t j,
                                                        AddToCapture add) {
  const Attention<Real> &a = rows.attention;
  Position at{row.b, row.h, row.i, j, row.sq, row.sk};
  if (sees && !sees->mask(at))
    return std::nullopt;
  const Real *query = a.query.data() + row.number * a.d;
  const Real *key = a.key.data() + (row.firstKey + j) * a.d;
  const Real *value = a.value.data() + (row.firstKey + j) * a.dv;
  const Real *outputAdjoint = rows.outputAdjoint.data() + row.number * a.dv;
  Real x = a.scale * dot(query, key, a.d);
  if (modify)
    x = static_cast<Real>(modify->score(x, at));
  Real p = std::exp(x - rows.lse[row.number]), keep = a.keep(row.b, row.h, row.i, j);
  Real dx = p * (keep * dot(outputAdjoint, value, a.dv) - rows.delta[row.number]);
  // A weight that is dropped is 0, of a P of NaN, too.
  Pair<Real> pair{keep == 0 ? 0 : a.rounded(keep * p), 0, {dx, 0, 0}};
  if constexpr (Attention<Real>::isLow) {
    if (reverse)
      pair.scoreDelta.value =
          reverse->run(dx, [&](size_t capture, int64_t element, double adjoint) {
            add(capture, element, {adjoint, 0, 0});
          });
    pair.scoreDelta.value = a.rounded(pair.scoreDelta.value);
  } else {
    double narrow = halfUlp(a.dtype);
    // What is a factor on P is one on dx; the product <dO, value> has errors of its own.
    // Of a score of -inf, P is exact.
    double error = p == 0 ? 0 : kFloat32Error + roundingOf(x);
    double dpSize = keep * sizeOfDot(outputAdjoint, value, a.dv);
    double dxError = error * std::fabs(dx) + kFloat32Error * p * dpSize;
    auto termOf = [&](double derivative) {
      return Term{dx * derivative, dxError * std::fabs(derivative), p * derivative};
    };
    pair.weightError = (error + narrow) * pair.weight;
    pair.scoreDelta = termOf(1);
    // What is not reached takes nothing of a NaN, where 0 times it would be one.
    if (reverse && !std::isfinite(dx))
      pair.scoreDelta = {
          reverse->run(dx, [&](size_t capture, int64_t element,
                               double adjoint) { add(capture, element, {adjoint, 0, 0}); }),
          0, 0};
    else if (reverse)
      pair.scoreDelta =
          termOf(reverse->run(1, [&](size_t capture, int64_t element, double derivative) {
            add(capture, element, termOf(derivative));
          }));
    pair.scoreDelta.error += narrow * std::fabs(pair.scoreDelta.value);
  }
  return pair;
}

} // namespace mlir::fa

#endif // FA_LIB_REFERENCE_ATTENTIONPAIRS_H
