//===- Reference.cpp - attention in float64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include "fa/Support/Philox.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <limits>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Expected<AttentionInputs> fa::bindArguments(AttentionOp op,
                                                  const std::vector<HostTensor> &arguments) {
  AttentionInputs inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != op->getBlock())
      return error("operand {0} of fa.attention is computed: expected an "
                   "argument of the entry",
                   i);
    if (argument.getArgNumber() >= arguments.size())
      return error("got {0} tensors: expected one for argument {1} too", arguments.size(),
                   argument.getArgNumber());
    inputs.push_back(&arguments[argument.getArgNumber()]);
  }
  return inputs;
}

/// A tensor is what an operand's type says.
static llvm::Error checkInput(const HostTensor &tensor, Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  Type element = shaped ? shaped.getElementType() : type;
  std::optional<DType> dtype = dtypeOf(element);
  bool isByte = dtype == DType::I8 && tensor.dtype == DType::U8;
  bool fits = dtype && (*dtype == tensor.dtype || isByte) &&
              static_cast<int64_t>(tensor.shape.size()) == (shaped ? shaped.getRank() : 0);
  for (size_t d = 0; fits && d < tensor.shape.size(); ++d)
    fits = shaped.isDynamicDim(d) || shaped.getDimSize(d) == tensor.shape[d];
  if (!fits)
    return error("'{0}' is {1} of {2}: expected {3}", tensor.name, toString(tensor.shape),
                 nameOf(tensor.dtype), print(type));
  if (!tensor.isConsistent())
    return error("'{0}' has {1} bytes: expected those of {2} of {3}", tensor.name,
                 tensor.data.size(), toString(tensor.shape), nameOf(tensor.dtype));
  return llvm::Error::success();
}

namespace {

/// The sizes and the numbers of one attention, in its arithmetic.
template <typename Real> struct Problem {
  int64_t b, hq, hk, sq, sk, d, dv;
  std::vector<Real> query, key, value;
  std::vector<const HostTensor *> captures;
  std::optional<RegionProgram> mask, score;
  Real scale;
  unsigned dropped = 0; ///< bytes below are dropped
  uint64_t seed = 0, offset = 0;
  DType dtype;
};

} // namespace

template <typename Real> static std::vector<Real> numbers(const HostTensor &tensor) {
  std::vector<Real> values(tensor.size());
  for (int64_t i = 0; i < tensor.size(); ++i)
    values[i] = static_cast<Real>(tensor.at(i));
  return values;
}

template <typename Real>
static llvm::Expected<Problem<Real>> prepare(AttentionOp op, const AttentionInputs &inputs) {
  if (inputs.size() != op->getNumOperands())
    return error("got {0} tensors: expected {1}, one for each operand", inputs.size(),
                 op->getNumOperands());
  for (auto [tensor, operand] : llvm::zip(inputs, op->getOperands()))
    if (llvm::Error problem = checkInput(*tensor, operand.getType()))
      return problem;
  const std::vector<int64_t> &q = inputs[0]->shape, &k = inputs[1]->shape, &v = inputs[2]->shape;
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || k[1] == 0 ||
      q[1] % k[1] != 0)
    return error("query {0}, key {1} and value {2} do not fit each other: "
                 "expected BxHqxSqxD, BxHkxSkxD and BxHkxSkxDv, Hq a "
                 "multiple of Hk",
                 toString(q), toString(k), toString(v));
  for (Region *region : {&op.getMask(), &op.getScore()})
    if (!region->empty() && failed(RegionProgram::check(*region)))
      return error("the reference cannot evaluate a region of fa.attention");

  Problem<Real> problem;
  problem.b = q[0], problem.hq = q[1], problem.sq = q[2], problem.d = q[3];
  problem.hk = k[1], problem.sk = k[2], problem.dv = v[3];
  problem.query = numbers<Real>(*inputs[0]);
  problem.key = numbers<Real>(*inputs[1]);
  problem.value = numbers<Real>(*inputs[2]);
  problem.dtype = inputs[0]->dtype;
  problem.scale = static_cast<Real>(op.getScaleValue());
  problem.captures.assign(inputs.begin() + 3, inputs.begin() + 3 + op.getCaptures().size());
  if (!op.getMask().empty())
    problem.mask = RegionProgram::compile(op.getMask(), false);
  if (!op.getScore().empty())
    problem.score = RegionProgram::compile(op.getScore(), true);
  if (op.hasDropout()) {
    if (q[1] > kDropoutMaxHeads || q[0] > kDropoutMaxBatch)
      return error("dropout takes at most {0} heads and a batch of {1}, got "
                   "{2} and {3}",
                   kDropoutMaxHeads, kDropoutMaxBatch, q[1], q[0]);
    size_t first = inputs.size() - 3;
    problem.dropped = dropoutThreshold(inputs[first]->at(0));
    problem.seed = inputs[first + 1]->integerAt(0);
    problem.offset = inputs[first + 2]->integerAt(0);
  }
  return problem;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

template <typename Real> static Real dot(const Real *x, const Real *y, int64_t n) {
  Real sum = 0; // in order: `low` is the plain computation, no better
  for (int64_t i = 0; i < n; ++i)
    sum += x[i] * y[i];
  return sum;
}

namespace {

/// Computes rows; one per thread.
template <typename Real> struct RowComputer {
  const Problem<Real> &p;
  AttentionResult &result;
  std::optional<RegionEvaluator> mask, score;
  std::vector<Real> x, o;
  std::vector<int64_t> seen;

  RowComputer(const Problem<Real> &p, AttentionResult &result)
      : p(p), result(result), x(p.sk), o(p.dv) {
    RegionPrecision precision =
        std::is_same_v<Real, float> ? RegionPrecision::Rounded : RegionPrecision::Exact;
    if (p.mask)
      mask.emplace(*p.mask, p.captures, precision);
    if (p.score)
      score.emplace(*p.score, p.captures, precision);
  }

  Real keep(int64_t b, int64_t h, int64_t i, int64_t j) const {
    if (p.dropped == 0)
      return 1;
    if (dropoutByte(p.seed, p.offset, b, h, i, j) < p.dropped)
      return 0;
    return static_cast<Real>(dropoutScale(p.dropped));
  }

  void compute(int64_t row) {
    constexpr Real infinity = std::numeric_limits<Real>::infinity();
    constexpr bool isLow = std::is_same_v<Real, float>;
    int64_t i = row % p.sq, h = row / p.sq % p.hq, b = row / p.sq / p.hq;
    int64_t keys = (b * p.hk + h / (p.hq / p.hk)) * p.sk;
    Real most = -infinity;
    seen.clear();
    for (int64_t j = 0; j < p.sk; ++j) {
      Position at{b, h, i, j, p.sq, p.sk};
      if (mask && !mask->mask(at))
        continue;
      Real s = p.scale * dot(&p.query[row * p.d], &p.key[(keys + j) * p.d], p.d);
      x[j] = score ? static_cast<Real>(score->score(s, at)) : s;
      most = std::max(most, x[j]);
      seen.push_back(j);
    }
    // A row that sees nothing, or only scores of -inf; NaN goes on to the
    // output.
    if (most == -infinity && llvm::none_of(seen, [&](int64_t j) { return std::isnan(x[j]); })) {
      result.lse[row] = -infinity;
      return;
    }
    Real sum = 0;
    for (int64_t j : seen)
      sum += std::exp(x[j] - most);
    result.lse[row] = most + std::log(sum);
    std::fill(o.begin(), o.end(), Real(0));
    for (int64_t j : seen) {
      Real weight = keep(b, h, i, j) * (std::exp(x[j] - most) / sum);
      if (isLow)
        weight = static_cast<Real>(roundTo(p.dtype, weight));
      const Real *v = &p.value[(keys + j) * p.dv];
      for (int64_t d = 0; d < p.dv; ++d)
        o[d] += weight * v[d];
    }
    for (int64_t d = 0; d < p.dv; ++d)
      result.output[row * p.dv + d] = isLow ? roundTo(p.dtype, o[d]) : o[d];
  }
};

} // namespace

template <typename Real>
static llvm::Expected<AttentionResult> attention(AttentionOp op, const AttentionInputs &inputs) {
  llvm::Expected<Problem<Real>> problem = prepare<Real>(op, inputs);
  if (!problem)
    return problem.takeError();
  const Problem<Real> &p = *problem;
  int64_t rows = p.b * p.hq * p.sq;
  AttentionResult result{
      {p.b, p.hq, p.sq, p.dv}, std::vector<double>(rows * p.dv), std::vector<double>(rows)};
  if (rows == 0)
    return result;
  // Rows are dealt in turn, because a mask may make late ones longer.
  int64_t threads = static_cast<double>(rows) * p.sk * p.d > 1e6 ? 2 : 1;
  auto work = [&](int64_t first) {
    RowComputer<Real> computer(p, result);
    for (int64_t row = first; row < rows; row += threads)
      computer.compute(row);
  };
  if (threads == 1) {
    work(0);
  } else {
    std::thread other(work, 1);
    work(0);
    other.join();
  }
  return result;
}

llvm::Expected<AttentionResult> fa::referenceAttention(AttentionOp op,
                                                       const AttentionInputs &inputs) {
  return attention<double>(op, inputs);
}

llvm::Expected<AttentionResult> fa::lowAttention(AttentionOp op, const AttentionInputs &inputs) {
  return attention<float>(op, inputs);
}
