//===- VisiblePairs.cpp - how much of the scores a mask lets through -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Choose, of `count` things, `samples` in the middle of equal shares. The middle may lie
/// between two: `at` is the lower one, and the one after it counts `next` of `whole`.
struct Middle {
  int64_t at, next, whole;

  Middle(int64_t sample, int64_t samples, int64_t count) {
    // Share [s c / n, (s + 1) c / n) has the numbers from its begin to 1 before its end, the
    // middle of which is (2 s + 1) c / 2n - 1 / 2.
    __int128 twice = (__int128(2) * sample + 1) * count - samples, step = __int128(2) * samples;
    at = static_cast<int64_t>(twice / step);
    next = static_cast<int64_t>(twice % step);
    whole = static_cast<int64_t>(step);
  }
};

} // namespace

std::optional<double> fa::countVisiblePairs(AttentionOp op, int64_t batches, int64_t heads,
                                            int64_t sq, int64_t sk, int64_t mostRows) {
  Region &mask = op.getMask();
  if (op.hasSequences())
    return std::nullopt;
  if (mask.empty() || batches == 0 || heads == 0 || sq == 0 || sk == 0)
    return double(batches) * double(heads) * double(sq) * double(sk);
  constexpr unsigned positions = 6;
  for (BlockArgument capture : mask.getArguments().drop_front(positions))
    if (!capture.use_empty() || !isa<RankedTensorType>(capture.getType()))
      return std::nullopt;
  if (failed(RegionProgram::check(mask)))
    return std::nullopt;
  RegionProgram program = RegionProgram::compile(mask, /*isScore=*/false);
  RegionEvaluator evaluator(program, std::vector<const HostTensor *>(op.getCaptures().size()));
  // A mask that does not ask for the batch or the head is the same in all of them.
  constexpr int64_t mostKeys = int64_t(1) << 28, mostPairs = int64_t(1) << 24, mostHeads = 256;
  if (sk > mostKeys)
    return std::nullopt;
  int64_t masks = 1, differingHeads = mask.getArgument(1).use_empty() ? 1 : heads;
  if (llvm::MulOverflow(mask.getArgument(0).use_empty() ? 1 : batches, differingHeads, masks))
    return std::nullopt;
  int64_t samples = std::min({masks, mostHeads, std::max<int64_t>(1, mostPairs / sk)});
  int64_t rows = std::min({sq, mostRows, std::max<int64_t>(1, mostPairs / sk / samples)});
  // Masks repeat after even numbers of rows: an odd number of shares has its middles anywhere in
  // these.
  if (rows < sq && rows % 2 == 0)
    --rows;
  __int128 seen = 0;
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t which = Middle(sample, samples, masks).at;
    auto countRow = [&](int64_t i) {
      int64_t count = 0;
      for (int64_t j = 0; j < sk; ++j)
        count += evaluator.mask({which / differingHeads, which % differingHeads, i, j, sq, sk});
      return count;
    };
    for (int64_t row = 0; row < rows; ++row) {
      Middle middle(row, rows, sq);
      seen += __int128(middle.whole - middle.next) * countRow(middle.at);
      if (middle.next > 0)
        seen += __int128(middle.next) * countRow(middle.at + 1);
    }
  }
  // All but one division is exact, as long as 53 bits hold it.
  double all = double(seen) * double(sq) / (double(Middle(0, rows, sq).whole) * double(rows));
  return all / double(samples) * double(batches) * double(heads);
}
