//===- VisiblePairs.cpp - how much of the scores a mask lets through -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;

std::optional<double> fa::countVisiblePairs(AttentionOp op, int64_t sq, int64_t sk,
                                            int64_t mostRows) {
  Region &mask = op.getMask();
  if (mask.empty() || sq == 0 || sk == 0)
    return double(sq) * double(sk);
  constexpr unsigned positions = 6;
  for (BlockArgument capture : mask.getArguments().drop_front(positions))
    if (!capture.use_empty() || !isa<RankedTensorType>(capture.getType()))
      return std::nullopt;
  if (failed(RegionProgram::check(mask)))
    return std::nullopt;
  RegionProgram program = RegionProgram::compile(mask, /*isScore=*/false);
  RegionEvaluator evaluator(program, std::vector<const HostTensor *>(op.getCaptures().size()));
  constexpr int64_t mostPairs = int64_t(1) << 28;
  if (sk > mostPairs)
    return std::nullopt;
  int64_t rows = std::min({sq, mostRows, mostPairs / sk}), seen = 0;
  for (int64_t row = 0; row < rows; ++row) {
    auto i = static_cast<int64_t>((__int128(2) * row + 1) * sq / (__int128(2) * rows));
    for (int64_t j = 0; j < sk; ++j)
      seen += evaluator.mask({0, 0, i, j, sq, sk});
  }
  return double(seen) / double(rows) * double(sq);
}
