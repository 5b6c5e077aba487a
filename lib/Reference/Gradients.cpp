//===- Gradients.cpp - gradients of attention in float64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. The forward gives O and LSE; `Rows` adds delta = rowsum(dO O) - dLSE.
// 2. `PairEvaluator` (AttentionPairs.h) recomputes P and ds of one query and one key, and what
//    they add to captures.
// 3. The gradient of a sink z is the sum of -exp(z - lse) delta over the rows of a head.
// 4. Rows of dQ, and sums for captures, loop over keys; rows of dK and dV loop over the queries of
//    their group of heads. So any of them can be computed alone, and each sum has one order.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Gradients.h"
#include "AttentionPairs.h"
#include "fa/Support/Threads.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <thread>

using namespace mlir;
using namespace mlir::fa;

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

namespace {

/// The sums of one gradient: of values, and of squares of how far a row may be off.
struct Sums {
  std::vector<double> values, squares;

  explicit Sums(int64_t size = 0) : values(size), squares(size) {}
  void add(const Sums &other) {
    for (size_t e = 0; e < values.size(); ++e) {
      values[e] += other.values[e];
      squares[e] += other.squares[e];
    }
  }
};

/// One thread's sums for a capture: in Real along a row, in float64 beyond.
template <typename Real> class CaptureSums {
public:
  explicit CaptureSums(int64_t size) : sums(size), row(size), isTouched(size) {}
  void add(int64_t element, const Term &term) {
    if (!isTouched[element])
      touched.push_back(element);
    isTouched[element] = true;
    row[element].add(term);
  }
  void endRow(const Rows<Real> &rows, int64_t number) {
    for (int64_t element : touched) {
      sums.values[element] += row[element].value;
      sums.squares[element] += row[element].squareOfError(rows, number);
      row[element] = {};
      isTouched[element] = false;
    }
    touched.clear();
  }
  const Sums &get() const { return sums; }

private:
  Sums sums;
  std::vector<RowSum<Real>> row;
  std::vector<int64_t> touched;
  std::vector<char> isTouched;
};

/// The sums for each operand of an attention; those of integer captures are empty.
template <typename Real> class Differentiation {
  const Rows<Real> &rows;
  const Attention<Real> &attention;
  const std::vector<int64_t> &queries, &keys;

public:
  Sums query, key, value, sink;
  std::vector<Sums> captures;

  Differentiation(const Rows<Real> &rows, const GradientSample &places)
      : rows(rows), attention(rows.attention), queries(places.rows), keys(places.keys),
        query(queries.size() * attention.d), key(keys.size() * attention.d),
        value(keys.size() * attention.dv) {}
  void run(bool wantsCaptures);

private:
  void differentiateRows(int64_t first, int64_t step, std::vector<CaptureSums<Real>> &sums);
  void differentiateKeys(int64_t first, int64_t step);
  void differentiateSink();
};

} // namespace

/// Compute dQ of queries `first`, `first + step`, ..., and what they add to captures.
template <typename Real>
void Differentiation<Real>::differentiateRows(int64_t first, int64_t step,
                                              std::vector<CaptureSums<Real>> &sums) {
  const int64_t d = attention.d;
  PairEvaluator<Real> pairs(rows);
  std::vector<RowSum<Real>> dq(d);
  for (int64_t n = first; n < static_cast<int64_t>(queries.size()); n += step) {
    Row row = rows.at(queries[n]);
    if (row.b < 0)
      std::fill_n(query.values.begin() + n * d, d, std::nan(""));
    if (row.b < 0 || rows.seesNothing[row.number])
      continue;
    std::fill(dq.begin(), dq.end(), RowSum<Real>());
    for (int64_t j = 0; j < row.sk; ++j) {
      auto pair = pairs.evaluate(row, j, [&](size_t capture, int64_t element, const Term &term) {
        if (!sums.empty())
          sums[capture].add(element, term);
      });
      if (!pair)
        continue;
      const Real *k = attention.key.data() + (row.firstKey + j) * d;
      for (int64_t e = 0; e < d; ++e)
        dq[e].add(pair->scoreDelta, k[e]);
    }
    for (int64_t e = 0; e < d; ++e) {
      query.values[n * d + e] = attention.scale * dq[e].value;
      query.squares[n * d + e] =
          attention.scale * attention.scale * dq[e].squareOfError(rows, row.number);
    }
    for (CaptureSums<Real> &capture : sums)
      capture.endRow(rows, row.number);
  }
}

/// Compute dK and dV of keys `first`, `first + step`, ....
template <typename Real>
void Differentiation<Real>::differentiateKeys(int64_t first, int64_t step) {
  const int64_t d = attention.d, dvSize = attention.dv;
  const int64_t group = attention.hq / attention.hk;
  PairEvaluator<Real> pairs(rows);
  std::vector<Real> dk(d), dv(dvSize);
  for (int64_t n = first; n < static_cast<int64_t>(keys.size()); n += step) {
    auto [b, head, j] = attention.keyAt(keys[n]);
    std::fill(dk.begin(), dk.end(), b < 0 ? std::nan("") : Real(0));
    std::fill(dv.begin(), dv.end(), b < 0 ? std::nan("") : Real(0));
    int64_t length = b < 0 ? 0 : attention.queryParts[b].size;
    for (int64_t at = 0; at < group * length; ++at) {
      int64_t number = attention.rowOf(b, head * group + at / length, at % length);
      Row row = rows.at(number);
      if (row.b != b || rows.seesNothing[number])
        continue;
      auto pair = pairs.evaluate(row, j, [](size_t, int64_t, const Term &) {});
      if (!pair)
        continue;
      const Real *q = attention.query.data() + number * d;
      const Real *outputAdjoint = rows.outputAdjoint.data() + number * dvSize;
      for (int64_t e = 0; e < dvSize; ++e) {
        dv[e] += pair->weight * outputAdjoint[e];
        double error =
            (pair->weightError + rows.lseError(number) * pair->weight) * outputAdjoint[e];
        value.squares[n * dvSize + e] += error * error;
      }
      for (int64_t e = 0; e < d; ++e) {
        RowSum<Real> sum;
        sum.add(pair->scoreDelta, q[e]);
        dk[e] += sum.value;
        key.squares[n * d + e] +=
            attention.scale * attention.scale * sum.squareOfError(rows, number);
      }
    }
    for (int64_t e = 0; e < d; ++e)
      key.values[n * d + e] = attention.scale * dk[e];
    std::copy(dv.begin(), dv.end(), value.values.begin() + n * dvSize);
  }
}

/// Compute the gradient of the sink.
template <typename Real> void Differentiation<Real>::differentiateSink() {
  sink = Sums(attention.hq);
  for (int64_t number = 0; number < attention.rowCount(); ++number) {
    auto [b, h, i, sq, sk, firstKey] = attention.queryAt(number);
    Real logit = attention.sink[h];
    if (b < 0 || rows.lse[number] == -Attention<Real>::infinity)
      continue; // of no sequence, or neither a key nor a sink
    Real p = std::exp(logit - rows.lse[number]);
    sink.values[h] -= p * rows.delta[number];
    // As that of dx, which lacks <dO, value>.
    double error = p * (rows.deltaError[number] + (rows.lseError(number) + roundingOf(logit)) *
                                                      std::fabs(rows.delta[number]));
    sink.squares[h] += error * error;
  }
}

template <typename Real> void Differentiation<Real>::run(bool wantsCaptures) {
  double pairs = double(queries.size()) * attention.sk +
                 double(keys.size()) * attention.sq * (attention.hq / attention.hk);
  bool isLarge = pairs * (attention.d + attention.dv) > 1e6;
  int64_t threads = isLarge ? std::max(1u, std::thread::hardware_concurrency()) : 1;
  std::vector<std::vector<CaptureSums<Real>>> sums(threads);
  if (wantsCaptures)
    for (std::vector<CaptureSums<Real>> &ofThread : sums)
      for (const HostTensor *capture : attention.captures)
        ofThread.emplace_back(isFloat(capture->dtype) ? capture->size() : 0);
  // They are dealt in turn, because a mask may make late rows longer.
  runOnThreads(threads, [&](int64_t first) {
    differentiateRows(first, threads, sums[first]);
    differentiateKeys(first, threads);
  });
  if (wantsCaptures && !attention.sink.empty())
    differentiateSink();
  for (size_t capture = 0; capture < sums[0].size(); ++capture) {
    captures.push_back(sums[0][capture].get());
    for (int64_t thread = 1; thread < threads; ++thread)
      captures.back().add(sums[thread][capture].get());
  }
}

//===----------------------------------------------------------------------===//
// Gradients of arguments
//===----------------------------------------------------------------------===//

/// Return "d" and the name of the argument that an operand is.
static std::string gradientName(AttentionOp op, unsigned operand) {
  auto argument = dyn_cast<BlockArgument>(op->getOperand(operand));
  auto entry = op->getParentOfType<func::FuncOp>();
  if (!argument || !entry || argument.getOwner() != &entry.front())
    return "doperand" + std::to_string(operand);
  unsigned number = argument.getArgNumber();
  if (auto name = entry.getArgAttrOfType<StringAttr>(number, FADialect::kNameAttr))
    return "d" + name.str();
  return "darg" + std::to_string(number);
}

/// Hold three standard deviations of a rounding to nearest, relative to the largest error of one:
/// that is as likely anywhere within half an ulp, and numbers are spread evenly on a log scale.
constexpr double kThreeDeviations = 1.274; // 3 sqrt(3 / (8 ln 2) / 3)

/// Add the sums of an operand to the gradient of its argument, which it may share.
static void addOperand(AttentionOp op, const AttentionInputs &inputs, unsigned operand,
                       const Sums &sums, SmallVectorImpl<Value> &arguments,
                       std::vector<Gradient> &gradients) {
  Value argument = op->getOperand(operand);
  size_t index = llvm::find(arguments, argument) - arguments.begin();
  if (index == arguments.size()) {
    arguments.push_back(argument);
    std::vector<double> zeros(sums.values.size());
    gradients.push_back(
        {gradientName(op, operand), inputs[operand]->dtype, inputs[operand]->shape, zeros, zeros});
  }
  Gradient &gradient = gradients[index];
  bool isCapture = operand >= 3;
  gradient.isCapture |= isCapture;
  // Captures have few elements, which are sums over many rows: none may be off by more.
  double factor = isCapture ? kThreeDeviations : 1;
  for (size_t e = 0; e < sums.values.size(); ++e) {
    gradient.values[e] += sums.values[e];
    gradient.uncertainty[e] =
        std::hypot(gradient.uncertainty[e], factor * std::sqrt(sums.squares[e]));
  }
}

static llvm::Error checkAdjoint(const HostTensor &tensor, const char *what, DType dtype,
                                const std::vector<int64_t> &shape) {
  if (tensor.dtype == dtype && tensor.shape == shape && tensor.isConsistent())
    return llvm::Error::success();
  return error("{0} is {1} of {2}, with {3} bytes: expected {4} of {5}", what,
               toString(tensor.shape), nameOf(tensor.dtype), tensor.data.size(), toString(shape),
               nameOf(dtype));
}

static llvm::Error checkSample(AttentionOp op, const GradientSample &sample, int64_t rowCount,
                               int64_t keyCount) {
  for (int64_t row : sample.rows)
    if (row < 0 || row >= rowCount)
      return error("row {0} is sampled: expected 0 to {1}", row, rowCount - 1);
  for (int64_t key : sample.keys)
    if (key < 0 || key >= keyCount)
      return error("key {0} is sampled: expected 0 to {1}", key, keyCount - 1);
  if (op.getQuery() == op.getKey() || op.getQuery() == op.getValue() ||
      op.getKey() == op.getValue())
    return error("query, key and value share an argument: its gradient cannot be sampled");
  return llvm::Error::success();
}

/// Return the rows whose output and LSE a sample needs: its own, and all that share a head with one
/// of its keys.
template <typename Real>
static std::vector<int64_t> rowsFor(const GradientSample &sample, const Attention<Real> &a) {
  if (a.queriesInRow || a.keysInRow)
    return allPlaces(a.rowCount());
  std::vector<int64_t> rows = sample.rows, heads;
  for (int64_t key : sample.keys)
    heads.push_back(key / a.sk);
  llvm::sort(heads);
  heads.erase(llvm::unique(heads), heads.end());
  int64_t count = a.hq / a.hk * a.sq;
  for (int64_t head : heads)
    for (int64_t n = 0; n < count; ++n)
      rows.push_back(head * count + n);
  llvm::sort(rows);
  rows.erase(llvm::unique(rows), rows.end());
  return rows;
}

template <typename Real>
static llvm::Expected<AttentionGradients> compute(AttentionOp op, const AttentionInputs &inputs,
                                                  const OutputAdjoints &adjoints,
                                                  const GradientSample *sample) {
  constexpr bool isLow = Attention<Real>::isLow;
  if (llvm::Error problem = checkInputs(op, inputs))
    return problem;
  const Attention<Real> attention(op, inputs);
  std::vector<int64_t> shape = {attention.batch, attention.hq, attention.sq, attention.dv};
  if (attention.queriesInRow)
    shape.erase(shape.begin());
  if (llvm::Error problem = checkAdjoint(*adjoints.output, "dO", inputs[0]->dtype, shape))
    return problem;
  shape.pop_back();
  if (adjoints.lse)
    if (llvm::Error problem = checkAdjoint(*adjoints.lse, "dLSE", DType::F32, shape))
      return problem;
  if (!op.getScore().empty() && failed(checkDifferentiable(op.getScore())))
    return error("the score of fa.attention has no derivative");
  int64_t rowCount = attention.rowCount(), keyCount = attention.keyCount();
  if (sample)
    if (llvm::Error problem = checkSample(op, *sample, rowCount, keyCount))
      return problem;
  GradientSample places =
      sample ? *sample : GradientSample{allPlaces(rowCount), allPlaces(keyCount)};

  AttentionGradients result;
  // What errors are relative to is the exact gradients' to say.
  std::vector<Real> outputAdjoint;
  if (!isLow)
    outputAdjoint = numbers<Real>(*adjoints.output);
  result.forward = attention.computeForward(rowsFor(places, attention), outputAdjoint);
  const Rows<Real> rows(attention, result.forward, adjoints);
  Differentiation<Real> differentiation(rows, places);
  differentiation.run(/*wantsCaptures=*/!sample);

  SmallVector<Value> arguments;
  auto add = [&](unsigned operand, const Sums &sums) {
    addOperand(op, inputs, operand, sums, arguments, result.gradients);
  };
  add(0, differentiation.query);
  add(1, differentiation.key);
  add(2, differentiation.value);
  for (auto [capture, sums] : llvm::enumerate(differentiation.captures))
    if (isFloat(attention.captures[capture]->dtype))
      add(3 + capture, sums);
  if (!sample && !attention.sink.empty())
    add(attention.sinkOperand(), differentiation.sink);
  if (sample)
    for (Gradient &gradient : result.gradients)
      gradient.shape = {static_cast<int64_t>(gradient.name == result.gradients[0].name
                                                 ? places.rows.size()
                                                 : places.keys.size()),
                        gradient.shape.back()};
  for (Gradient &gradient : result.gradients)
    for (auto [value, uncertainty] : llvm::zip(gradient.values, gradient.uncertainty))
      if (isLow)
        value = roundTo(gradient.dtype, value);
      else
        uncertainty += (kFloat32Error + halfUlp(gradient.dtype)) * std::fabs(value);
  return result;
}

llvm::Expected<AttentionGradients> fa::referenceGradients(AttentionOp op,
                                                          const AttentionInputs &inputs,
                                                          const OutputAdjoints &adjoints,
                                                          const GradientSample *sample) {
  return compute<double>(op, inputs, adjoints, sample);
}

llvm::Expected<AttentionGradients> fa::lowGradients(AttentionOp op, const AttentionInputs &inputs,
                                                    const OutputAdjoints &adjoints,
                                                    const GradientSample *sample) {
  return compute<float>(op, inputs, adjoints, sample);
}

const Gradient *AttentionGradients::find(StringRef name) const {
  for (const Gradient &gradient : gradients)
    if (gradient.name == name)
      return &gradient;
  return nullptr;
}
