//===- ReportFacts.h - what a report says of an entry -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gathered once (Report.cpp), then written as text (ReportText.cpp) or as JSON
// (ReportJSON.cpp), so that both say the same.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_REPORTFACTS_H
#define FA_LIB_TARGET_REPORTFACTS_H

#include "fa/Target/Cost.h"
#include "fa/Target/Machine.h"
#include "fa/Target/Report.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/JSON.h"

namespace mlir::fa {

/// A product of tiles.
struct TileFacts {
  int64_t m, n, k;
  std::string a, b;
  bool transposed;
  /// "bf16", or of f32 operands "tf32x3".
  std::string precision;
};

struct KernelFacts {
  std::string name;
  /// Over sizes, and at a problem.
  std::string gridText;
  std::optional<LaunchShape> grid;
  std::vector<TileFacts> tiles;
  /// Null but on GPUs.
  const ScheduleDetails *schedule = nullptr;
};

/// Hold what the kernels of one entry do together, and how long that takes.
struct CostFacts {
  KernelCost work;
  KernelTime time;
  /// Bytes that must move at least, and those of the attention that keeps its scores in memory, of
  /// a program that has queries and keys.
  double compulsory = 0;
  std::optional<double> standard;
  /// Operations in visible pairs.
  std::optional<double> visible;
  const Machine *machine = nullptr;
  /// Products of matrices at these precisions, a second; a roof.
  double peak = 0;

  /// Return what rates and intensities count: visible pairs, or visited tiles without those.
  double flops() const { return visible.value_or(work.products()); }
  /// Return the bytes that tiles load and store: L2 serves them, for a tile that several blocks
  /// load comes from HBM once; of a CPU, its caches.
  double tiled() const { return work.loaded + work.stored; }
  static double ratio(double a, double b) { return b > 0 ? a / b : 0; }
  double intensity() const { return ratio(flops(), compulsory); }
};

struct BufferFacts {
  StringRef kind;
  std::string name;
  int64_t bytes = 0;
  /// Exponent of its growth with the lengths; none where twice the lengths are too long.
  std::optional<int> order;
};

struct MemoryFacts {
  std::vector<BufferFacts> buffers;
  BufferFacts all;
  /// At twice the lengths.
  int64_t twice = 0;
};

struct EntryFacts {
  std::string entry;
  std::vector<KernelFacts> kernels;
  std::optional<CostFacts> cost;
  std::optional<MemoryFacts> memory;
  /// Names of sizes that a problem does not give, which count as 1.
  llvm::SetVector<StringRef> unknown;
};

void printText(raw_ostream &os, const EntryFacts &facts, const ReportOptions &options);
llvm::json::Value toJSON(const EntryFacts &facts, const ReportOptions &options);

} // namespace mlir::fa

#endif // FA_LIB_TARGET_REPORTFACTS_H
