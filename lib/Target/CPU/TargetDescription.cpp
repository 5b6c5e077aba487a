//===- TargetDescription.cpp - CPUs that kernels are made for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/TargetDescription.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir::fa::cpu;

// 32 registers of 16: 16 accumulators in 8 rows leave room for two vectors of b
// and the element of a; 16 registers of 8: 12 accumulators in 6 rows.
static TargetDescription describe(bool avx512) {
  TargetDescription target;
  target.lanes = avx512 ? 16 : 8;
  target.dotRows = avx512 ? 8 : 6;
  target.dotColumns = 2 * target.lanes;
  target.convertsBF16 = false;
  return target;
}

TargetDescription mlir::fa::cpu::getHostTarget() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  bool avx512 = features.lookup("avx512f") && features.lookup("avx512bw") &&
                features.lookup("avx512vl") && features.lookup("avx512dq");
  TargetDescription target = describe(avx512);
  target.cpu = llvm::sys::getHostCPUName().str();
  target.convertsBF16 = avx512 && features.lookup("avx512bf16");
  for (auto &feature : features) {
    if (!target.features.empty())
      target.features += ',';
    target.features += (feature.second ? "+" : "-") + feature.first().str();
  }
  return target;
}

std::optional<TargetDescription> mlir::fa::cpu::getTarget(llvm::StringRef name) {
  if (name == "native")
    return getHostTarget();
  if (name != "avx512" && name != "avx2")
    return std::nullopt;
  TargetDescription target = describe(name == "avx512");
  target.cpu = name == "avx512" ? "x86-64-v4" : "x86-64-v3";
  return target;
}
