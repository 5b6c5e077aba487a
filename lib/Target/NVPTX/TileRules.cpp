//===- TileRules.cpp - which sizes of tiles there is code for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileRules.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;

constexpr int64_t kMaxWarps = 32, kStep = 16, kMaxSize = 1 << 20;

LogicalResult nvptx::checkWarps(Operation *op, StringRef what, int64_t size, int64_t warps,
                                bool async, ArrayRef<int64_t> given) {
  if (warps < 1 || warps > kMaxWarps)
    return op->emitError() << warps << " warps share a tile: expected 1 to " << kMaxWarps
                           << "; choose --tile-warps";
  constexpr int64_t kRowsOfWarp = tile::kRowsOfWarp;
  int64_t group = async ? tile::kWarpsOfGroup : 1;
  bool owned = size > 0 && size % (kRowsOfWarp * warps) == 0;
  if (owned && warps % group != 0)
    return op->emitError() << warps << (warps == 1 ? " warp has" : " warps share")
                           << " a tile: asynchronous products take " << group
                           << " warps together; choose --tile-warps="
                           << llvm::alignTo(warps, group);
  bool shared = size > 0 && size % kRowsOfWarp == 0 && kRowsOfWarp * warps % size == 0;
  if (owned || shared)
    return success();
  InFlightDiagnostic error = op->emitError()
                             << "tiles of " << size << " " << what << " for " << warps
                             << " warps: " << what
                             << " must be 16 per warp, or a multiple or a part of that; choose ";
  // So many warps serve each of the sizes that are given.
  int64_t common = 0;
  for (int64_t other : given)
    common = std::gcd(common, other);
  if (common > kRowsOfWarp && common % (kRowsOfWarp * group) == 0 &&
      common <= kRowsOfWarp * kMaxWarps && size % common == 0)
    return error << "--tile-warps=" << common / kRowsOfWarp << " with them";
  return error << "--tile-" << what << "=" << kRowsOfWarp * warps;
}

LogicalResult nvptx::checkStep(Operation *op, StringRef what, int64_t size, StringRef option) {
  if (size % kStep == 0 && size >= 0)
    return success();
  return op->emitError() << "tiles of " << size << " " << what << ": " << what
                         << " must be a multiple of 16; choose " << option
                         << llvm::alignTo(std::max<int64_t>(size, 1), kStep);
}

LogicalResult nvptx::checkScores(Operation *op, int64_t rows, int64_t keys, int64_t warps) {
  constexpr int64_t kMost = 512, kThreads = 32;
  int64_t scores = llvm::divideCeil(rows * keys, warps * kThreads);
  if (rows <= kMaxSize && keys <= kMaxSize && scores <= kMost)
    return success();
  return op->emitError() << "tiles of " << rows << " rows and " << keys << " keys for " << warps
                         << " warps: a thread has " << scores << " scores, expected at most "
                         << kMost << "; choose smaller --tile-rows or --tile-keys";
}
