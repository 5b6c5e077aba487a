//===- ErrorRule.cpp - how results are judged against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

/// "element 7: got nan, expected 0.25".
static std::string wrongElement(int64_t i, double got, double expected) {
  return llvm::formatv("element {0}: got {1}, expected {2}", i, got, expected).str();
}

/// Where one of two numbers is not finite, both must be the same.
static bool isSame(double got, double expected) {
  return std::isnan(expected) ? std::isnan(got) : got == expected;
}

/// Sizes that disagree; `what` names the result.
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

/// Return the error that any computation in the dtype may have (docs/semantics.md argues it).
static double floorOf(DType dtype, const AttentionResult &reference) {
  double ulps = 4 * 0x1p-23;
  if (dtype == DType::F16)
    ulps += 0x1p-10;
  if (dtype == DType::BF16)
    ulps += 0x1p-7;
  double most = 0;
  for (double magnitude : reference.magnitude)
    if (std::isfinite(magnitude))
      most = std::max(most, magnitude);
  return ulps * most;
}

Judgement fa::judgeOutput(const HostTensor &output, const AttentionResult &reference,
                          const AttentionResult &low) {
  Judgement judgement;
  if (!checkSizes(judgement, "output", output.size(), reference.output.size(), low.output.size()))
    return judgement;
  DType dtype = output.dtype;
  double lowError = 0, rounding = 0;
  for (int64_t i = 0; i < output.size(); ++i) {
    double got = output.at(i), ref = reference.output[i], plain = low.output[i];
    double rounded = roundTo(dtype, ref);
    if (!std::isfinite(got) || !std::isfinite(rounded)) {
      if (!isSame(got, rounded) && judgement.passed)
        judgement = {HUGE_VAL, 0, i, false, wrongElement(i, got, ref)};
      continue;
    }
    if (std::isfinite(plain))
      lowError = std::max(lowError, std::fabs(plain - ref));
    double there = roundTo(dtype, rounded + 0.3);
    rounding = std::max(rounding, std::fabs(roundTo(dtype, there - 0.3) - rounded));
    double error = std::fabs(got - ref);
    if (judgement.passed && error > judgement.error) {
      judgement.error = error;
      judgement.worst = i;
    }
  }
  judgement.bound = std::max(2 * lowError + 2 * rounding, floorOf(dtype, reference));
  if (judgement.passed && judgement.error > judgement.bound) {
    judgement.passed = false;
    int64_t i = judgement.worst;
    judgement.problem = llvm::formatv("{0}: the error {1:e} is above the bound {2:e}",
                                      wrongElement(i, output.at(i), reference.output[i]),
                                      judgement.error, judgement.bound)
                            .str();
  }
  return judgement;
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
