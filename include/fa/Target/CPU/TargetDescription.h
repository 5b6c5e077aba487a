//===- TargetDescription.h - what kernels for a CPU depend on ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_CPU_TARGETDESCRIPTION_H
#define FA_TARGET_CPU_TARGETDESCRIPTION_H

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace mlir::fa::cpu {

/// Sizes of vectors and register tiles, and what the instruction set has.
struct TargetDescription {
  std::string cpu;      // LLVM's name
  std::string features; // "+avx2,+fma,..."; empty: those of `cpu`
  int64_t lanes;        // f32 in one vector register
  int64_t dotRows;      // register tile of a dot: rows x columns of accumulators,
  int64_t dotColumns;   // which leaves registers for one row of b and one element of a
  bool convertsBF16;    // f32 to bf16 is one instruction
};

/// Return the machine that this process runs on.
TargetDescription getHostTarget();

/// "native", "avx512" or "avx2".
std::optional<TargetDescription> getTarget(llvm::StringRef name);

} // namespace mlir::fa::cpu

#endif // FA_TARGET_CPU_TARGETDESCRIPTION_H
