//===- Attention.h - one attention as numbers, for the reference -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_REFERENCE_ATTENTION_H
#define FA_LIB_REFERENCE_ATTENTION_H

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include "fa/Support/Philox.h"
#include <limits>
#include <numeric>

namespace mlir::fa {

/// Return the elements of a tensor as numbers.
template <typename Real> std::vector<Real> numbers(const HostTensor &tensor) {
  std::vector<Real> values(tensor.size());
  for (int64_t i = 0; i < tensor.size(); ++i)
    values[i] = static_cast<Real>(tensor.at(i));
  return values;
}

/// Some of the rows of a tensor, or of a batch of it: those of a sequence.
struct SequencePart {
  int64_t first, size;
};

/// Return the queries, or the keys, of each sequence.
std::vector<SequencePart> findParts(AttentionOp op, const AttentionInputs &inputs, bool ofKeys);

/// One attention in the arithmetic of Real: double, or float for the plain
/// computation, which also rounds where a kernel has to.
template <typename Real> struct Attention {
  static constexpr bool isLow = std::is_same_v<Real, float>;
  static constexpr Real infinity = std::numeric_limits<Real>::infinity();
  static constexpr RegionPrecision precision =
      isLow ? RegionPrecision::Rounded : RegionPrecision::Exact;

  DType dtype;
  Real scale;
  int64_t batch, hq, hk, sq, sk, d, dv;
  std::vector<Real> query, key, value;
  std::vector<Real> sink; ///< of each head; empty without one
  std::vector<const HostTensor *> captures;
  /// The queries and the keys of each sequence. With starts, tensors have those of all sequences in
  /// a row, without a batch, else each batch has `sq` or `sk`.
  std::vector<SequencePart> queryParts, keyParts;
  bool queriesInRow = false, keysInRow = false;
  std::optional<RegionProgram> mask, score;
  unsigned dropped = 0; ///< random bytes below are dropped
  uint64_t seed = 0, offset = 0;

  /// `inputs` passed `checkInputs`.
  Attention(AttentionOp op, const AttentionInputs &inputs)
      : dtype(inputs[0]->dtype), scale(static_cast<Real>(op.getScaleValue())),
        batch(countSequences(op, inputs)), hq(sizeOf(inputs[0], 3)), hk(sizeOf(inputs[1], 3)),
        sq(sizeOf(inputs[0], 2)), sk(sizeOf(inputs[1], 2)), d(sizeOf(inputs[0], 1)),
        dv(sizeOf(inputs[2], 1)), query(numbers<Real>(*inputs[0])), key(numbers<Real>(*inputs[1])),
        value(numbers<Real>(*inputs[2])),
        captures(inputs.begin() + 3, inputs.begin() + 3 + op.getCaptures().size()) {
    if (!op.getMask().empty())
      mask = RegionProgram::compile(op.getMask(), /*isScore=*/false);
    if (!op.getScore().empty())
      score = RegionProgram::compile(op.getScore(), /*isScore=*/true);
    if (op.getSink())
      sink = numbers<Real>(*inputs[sinkOperand()]);
    queryParts = findParts(op, inputs, /*ofKeys=*/false);
    keyParts = findParts(op, inputs, /*ofKeys=*/true);
    queriesInRow = static_cast<bool>(op.getQueryStarts());
    keysInRow = static_cast<bool>(op.getKeyStarts());
    if (op.hasDropout()) {
      size_t first = inputs.size() - 3;
      dropped = dropoutThreshold(inputs[first]->at(0));
      seed = inputs[first + 1]->integerAt(0);
      offset = inputs[first + 2]->integerAt(0);
    }
  }

  /// Return the factor of dropout on a probability.
  Real keep(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (dropped == 0)
      return 1;
    bool isDropped = dropoutByte(seed, offset, b, h, i, j) < dropped;
    return isDropped ? 0 : static_cast<Real>(dropoutScale(dropped));
  }

  /// Round what a kernel holds in the dtype before a product takes it.
  Real rounded(Real value) const {
    return isLow ? static_cast<Real>(roundTo(dtype, value)) : value;
  }

  /// Return the number of the operand that is the sink, where there is one.
  size_t sinkOperand() const { return 3 + captures.size(); }
  int64_t rowCount() const { return (queriesInRow ? 1 : batch) * hq * sq; }
  int64_t keyCount() const { return (keysInRow ? 1 : batch) * hk * sk; }
  /// One query: its sequence, head and position, and the keys of its sequence; `b` is -1 for a row
  /// of no sequence.
  struct Query {
    int64_t b, h, i, sq, sk;
    int64_t firstKey; ///< the first of the head's keys of its sequence among all keys
  };
  /// One key: its sequence, -1 for a key of none, its head among those of keys, and its position.
  struct Key {
    int64_t b, h, j;
  };
  Key keyAt(int64_t key) const {
    int64_t at = key % sk, h = key / sk % hk;
    int64_t b = keysInRow ? findSequence(keyParts, at) : key / sk / hk;
    if (b < 0 || at - keyParts[b].first >= keyParts[b].size)
      return {-1, h, 0};
    return {b, h, at - keyParts[b].first};
  }
  /// Return the number, among all rows, of query i of a head of a sequence.
  int64_t rowOf(int64_t b, int64_t h, int64_t i) const {
    return ((queriesInRow ? 0 : b * hq) + h) * sq + queryParts[b].first + i;
  }
  Query queryAt(int64_t row) const {
    int64_t at = row % sq, h = row / sq % hq;
    int64_t b = queriesInRow ? findSequence(queryParts, at) : row / sq / hq;
    if (b < 0 || at - queryParts[b].first >= queryParts[b].size)
      return {-1, h, 0, 0, 0, 0};
    const SequencePart &keys = keyParts[b];
    int64_t head = (keysInRow ? 0 : b * hk) + h / (hq / hk);
    return {b, h, at - queryParts[b].first, queryParts[b].size, keys.size, head * sk + keys.first};
  }

  /// Compute output and LSE of some rows; those of others are 0. With the output's adjoint, the
  /// spread too.
  AttentionResult computeForward(const std::vector<int64_t> &rows,
                                 ArrayRef<Real> outputAdjoint = {}) const;

private:
  /// Return dimension `fromEnd` of a tensor, from its last one, 1, on.
  static int64_t sizeOf(const HostTensor *tensor, size_t fromEnd) {
    return tensor->shape[tensor->shape.size() - fromEnd];
  }
  /// Return the sequence that a row in a row of sequences is of, -1 for none.
  static int64_t findSequence(const std::vector<SequencePart> &parts, int64_t at) {
    for (size_t b = 0; b < parts.size(); ++b)
      if (parts[b].first <= at && at < parts[b].first + parts[b].size)
        return b;
    return -1;
  }
  /// Compute rows[first], rows[first + step], ...: what one thread does.
  void computeRows(const std::vector<int64_t> &rows, int64_t first, int64_t step,
                   ArrayRef<Real> outputAdjoint, AttentionResult &result) const;
};

/// Return 0 to count - 1.
inline std::vector<int64_t> allPlaces(int64_t count) {
  std::vector<int64_t> places(count);
  std::iota(places.begin(), places.end(), 0);
  return places;
}

/// Return a sum of products. That in f32 is in order: the plain computation is no better.
inline float dot(const float *a, const float *b, int64_t count) {
  float sum = 0;
  for (int64_t e = 0; e < count; ++e)
    sum += a[e] * b[e];
  return sum;
}
inline double dot(const double *a, const double *b, int64_t count) {
  double sums[4] = {}; // none waits for the one before
  int64_t e = 0;
  for (; e + 4 <= count; e += 4)
    for (int lane = 0; lane < 4; ++lane)
      sums[lane] += a[e + lane] * b[e + lane];
  for (; e < count; ++e)
    sums[0] += a[e] * b[e];
  return sums[0] + sums[1] + sums[2] + sums[3];
}

} // namespace mlir::fa

#endif // FA_LIB_REFERENCE_ATTENTION_H
