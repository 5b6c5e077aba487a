//===- ErrorRule.cpp - how results are judged against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Gradients.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

/// "element 7: got nan, expected 0.25".
static std::string wrongElement(int64_t i, double got, double expected) {
  return llvm::formatv("element {0}: got {1}, expected {2}", i, got, expected).str();
}

/// Return whether two numbers are the same, as they must be where one is not finite.
static bool isSame(double got, double expected) {
  return std::isnan(expected) ? std::isnan(got) : got == expected;
}

/// Check that sizes agree; `what` names the result.
static bool checkSizes(Judgement &judgement, const char *what, int64_t got, size_t reference,
                       size_t low) {
  if (got == static_cast<int64_t>(reference) && reference == low)
    return true;
  judgement.passed = false;
  judgement.problem =
      llvm::formatv("{0} has {1} elements, the reference {2}, the plain computation {3}", what, got,
                    reference, low)
          .str();
  return false;
}

/// Return the ulps of an output that any computation in the dtype may be off by
/// (docs/semantics.md argues them).
static double ulpsOf(DType dtype) {
  double ulps = 4 * 0x1p-23;
  if (dtype == DType::F16)
    ulps += 0x1p-10;
  if (dtype == DType::BF16)
    ulps += 0x1p-7;
  return ulps;
}

/// Return the largest number that is finite, 0 where there is none.
static double largestFinite(const std::vector<double> &numbers) {
  double most = 0;
  for (double number : numbers)
    if (std::isfinite(number))
      most = std::max(most, number);
  return most;
}

/// Judge elements against max(factor max|low - ref| + 2 max|(ref + 0.3 - 0.3) - ref|, floorOf(i)).
/// `wrong(i)` says what element i is and should be.
static void judgeElements(Judgement &judgement, const HostTensor &result,
                          const std::vector<double> &reference, const std::vector<double> &low,
                          double factor, llvm::function_ref<double(int64_t)> floorOf,
                          llvm::function_ref<std::string(int64_t)> wrong) {
  DType dtype = result.dtype;
  double lowError = 0, rounding = 0;
  for (int64_t i = 0; i < result.size(); ++i) {
    double got = result.at(i), ref = reference[i], plain = low[i];
    double rounded = roundTo(dtype, ref);
    if (!std::isfinite(got) || !std::isfinite(rounded)) {
      if (!isSame(got, rounded) && judgement.passed)
        judgement = {HUGE_VAL, 0, i, false, wrong(i)};
      continue;
    }
    if (std::isfinite(plain))
      lowError = std::max(lowError, std::fabs(plain - ref));
    double there = roundTo(dtype, rounded + 0.3);
    rounding = std::max(rounding, std::fabs(roundTo(dtype, there - 0.3) - rounded));
  }
  if (!judgement.passed)
    return;
  double most = factor * lowError + 2 * rounding, largest = -1;
  for (int64_t i = 0; i < result.size(); ++i) {
    double error = std::fabs(result.at(i) - reference[i]), floor = floorOf(i);
    double bound = std::isfinite(floor) ? std::max(most, floor) : most;
    // NaN, too, where both are the same infinity.
    double share = error == 0 ? 0 : error / bound;
    if (!std::isfinite(error) || share <= largest)
      continue;
    largest = share;
    judgement.error = error;
    judgement.bound = bound;
    judgement.worst = i;
  }
  if (judgement.error > judgement.bound) {
    judgement.passed = false;
    judgement.problem = llvm::formatv("{0}: the error {1:e} is above the bound {2:e}",
                                      wrong(judgement.worst), judgement.error, judgement.bound)
                            .str();
  }
}

Judgement fa::judgeOutput(const HostTensor &output, const AttentionResult &reference,
                          const AttentionResult &low) {
  Judgement judgement;
  if (!checkSizes(judgement, "output", output.size(), reference.output.size(), low.output.size()))
    return judgement;
  double most = largestFinite(reference.magnitude);
  judgeElements(
      judgement, output, reference.output, low.output, 2,
      [&](int64_t) { return ulpsOf(output.dtype) * most; },
      [&](int64_t i) { return wrongElement(i, output.at(i), reference.output[i]); });
  return judgement;
}

/// "dq[0, 1, 7, 63]", and the name alone of a scalar.
static std::string place(const Gradient &gradient, int64_t i) {
  if (gradient.shape.empty())
    return gradient.name;
  std::string text;
  for (int64_t size : llvm::reverse(gradient.shape)) {
    text = std::to_string(i % size) + (text.empty() ? "" : ", ") + text;
    i /= size;
  }
  return gradient.name + "[" + text + "]";
}

Judgement fa::judgeGradient(const HostTensor &gradient, const AttentionGradients &reference,
                            const AttentionGradients &low) {
  Judgement judgement;
  const Gradient *exact = reference.find(gradient.name), *plain = low.find(gradient.name);
  if (!exact || !plain) {
    judgement.passed = false;
    judgement.problem = "'" + gradient.name + "' is no gradient of this attention; it has";
    for (const Gradient &known : reference.gradients)
      judgement.problem += " " + known.name;
    return judgement;
  }
  if (!checkSizes(judgement, exact->name.c_str(), gradient.size(), exact->values.size(),
                  plain->values.size()))
    return judgement;
  judgeElements(
      judgement, gradient, exact->values, plain->values, exact->isCapture ? 3 : 2,
      [&](int64_t i) { return exact->uncertainty[i]; },
      [&](int64_t i) {
        return llvm::formatv("{0}: got {1}, expected {2}", place(*exact, i), gradient.at(i),
                             exact->values[i])
            .str();
      });
  return judgement;
}

std::vector<std::pair<std::string, Judgement>>
fa::judgeGradients(const std::vector<HostTensor> &gradients, const AttentionGradients &reference,
                   const AttentionGradients &low) {
  std::vector<std::pair<std::string, Judgement>> judgements;
  for (const HostTensor &gradient : gradients)
    judgements.push_back({gradient.name, judgeGradient(gradient, reference, low)});
  return judgements;
}

Judgement fa::judgeLse(const HostTensor &lse, const AttentionResult &reference,
                       const AttentionResult &low) {
  Judgement judgement;
  if (!checkSizes(judgement, "lse", lse.size(), reference.lse.size(), low.lse.size()))
    return judgement;
  double largest = -1;
  for (int64_t i = 0; i < lse.size(); ++i) {
    double got = lse.at(i), ref = reference.lse[i], plain = low.lse[i];
    if (!std::isfinite(got) || !std::isfinite(ref)) {
      if (!isSame(got, ref))
        return {HUGE_VAL, 0, i, false, wrongElement(i, got, ref)};
      continue;
    }
    double error = std::fabs(got - ref);
    double bound = 1e-5 * std::max(1.0, std::fabs(ref));
    if (std::isfinite(plain))
      bound += 2 * std::fabs(plain - ref);
    if (error / bound <= largest)
      continue;
    largest = error / bound;
    judgement.error = error;
    judgement.bound = bound;
    judgement.worst = i;
  }
  if (judgement.error > judgement.bound) {
    judgement.passed = false;
    judgement.problem = llvm::formatv("{0}: the error {1:e} is above the bound {2:e}",
                                      wrongElement(judgement.worst, lse.at(judgement.worst),
                                                   reference.lse[judgement.worst]),
                                      judgement.error, judgement.bound)
                            .str();
  }
  return judgement;
}
