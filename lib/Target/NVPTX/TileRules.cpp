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

using namespace mlir;
using namespace mlir::fa;

constexpr int64_t kMaxWarps = 32, kStep = 16;

LogicalResult nvptx::checkWarps(Operation *op, StringRef what, int64_t size, int64_t warps) {
  if (warps < 1 || warps > kMaxWarps)
    return op->emitError() << warps << " warps share a tile: expected 1 to " << kMaxWarps
                           << "; choose --tile-warps";
  constexpr int64_t kRowsOfWarp = tile::kRowsOfWarp;
  bool whole = size > 0 && size % kRowsOfWarp == 0;
  bool shared = whole && kRowsOfWarp * warps % size == 0;
  if (size > 0 && (size % (kRowsOfWarp * warps) == 0 || shared))
    return success();
  InFlightDiagnostic error = op->emitError()
                             << "tiles of " << size << " " << what << " for " << warps
                             << " warps: " << what
                             << " must be 16 per warp, or a multiple or a part of that; choose ";
  if (whole && size <= kRowsOfWarp * kMaxWarps)
    return error << "--tile-warps=" << size / kRowsOfWarp << " with them";
  return error << "--tile-" << what << "=" << kRowsOfWarp * warps;
}

LogicalResult nvptx::checkStep(Operation *op, StringRef what, int64_t size, StringRef option) {
  if (size % kStep == 0 && size >= 0)
    return success();
  return op->emitError() << "tiles of " << size << " " << what << ": " << what
                         << " must be a multiple of 16; choose " << option
                         << llvm::alignTo(std::max<int64_t>(size, 1), kStep);
}
