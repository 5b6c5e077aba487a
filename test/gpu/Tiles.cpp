//===- Tiles.cpp - tile programs that are no attention -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums along rows of a product, of which each warp holds a part
// (test/Dialect/Tile/programs/column-sums.mlir).
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir::fa;
using namespace fa_test;

static const char kSumsPTX[] =
#include "column-sums.ptx.inc"
    ;

static const char kManifest[] = R"({
  "version": 3, "target": "sm_80", "minimum_driver": 12000, "images": ["ptx"],
  "entries": [{
    "name": "column_sums",
    "arguments": [{"name": "a", "kind": "input", "dtype": "f16", "shape": [-1, 64], "dims": ["M", "K"]},
                  {"name": "b", "kind": "input", "dtype": "f16", "shape": [-1, 64], "dims": ["N", "K"]},
                  {"name": "sums", "kind": "output", "dtype": "f32", "shape": [-1, -1], "dims": ["T", "N"]}],
    "multiples": [], "limits": [],
    "variants": [
      {"guards": [{"alignment": 16, "arguments": [0, 1, 2]}], "image": 0,
       "kernels": [{"name": "column_sums", "threads": 128, "shared_bytes": 41216,
                    "grid": [{"ceildiv": [[0, 0], 64]}], "arguments": [0, 1, 2],
                    "parameters": [["pointer", 0], ["size", 0, 0], ["stride", 0, 0],
                                   ["pointer", 1], ["size", 1, 0], ["stride", 1, 0],
                                   ["pointer", 2], ["size", 2, 0], ["size", 2, 1],
                                   ["stride", 2, 0]]}]}]}]})";

static llvm::Error checkSums(int64_t rows, int64_t columns, const Target &target) {
  constexpr int64_t kDepth = 64, kTile = 64;
  int64_t tiles = (rows + kTile - 1) / kTile;
  std::vector<HostTensor> tensors = {HostTensor::zeros("a", DType::F16, {rows, kDepth}),
                                     HostTensor::zeros("b", DType::F16, {columns, kDepth}),
                                     HostTensor::zeros("sums", DType::F32, {tiles, columns})};
  HostTensor &a = tensors[0], &b = tensors[1], &sums = tensors[2];
  for (HostTensor *tensor : {&a, &b})
    for (int64_t i = 0; i < tensor->size(); ++i)
      tensor->set(i, std::sin(i * 7.3 + (tensor == &a)));
  if (llvm::Error failed = runLoaded(target, kManifest, kSumsPTX, tensors))
    return failed;
  for (int64_t i = 0; i < sums.size(); ++i) {
    double sum = 0;
    for (int64_t row = i / columns * kTile; row < std::min(rows, (i / columns + 1) * kTile); ++row)
      for (int64_t k = 0; k < kDepth; ++k)
        sum += a.at(row * kDepth + k) * b.at(i % columns * kDepth + k);
    // Sums of 4096 products of at most 1, in f32.
    if (!(std::fabs(sums.at(i) - sum) <= 1e-3))
      return llvm::createStringError(llvm::formatv("sum {0} of tile {1} is {2}, expected {3}",
                                                   i % columns, i / columns, sums.at(i), sum)
                                         .str());
  }
  return llvm::Error::success();
}

void fa_test::addTiles(std::vector<Test> &tests) {
  for (auto [rows, columns] : {std::pair<int64_t, int64_t>{64, 64}, {150, 136}, {1000, 1000}})
    tests.push_back({llvm::formatv("column_sums.{0}x{1}", rows, columns).str(),
                     [rows = rows, columns = columns](const Target &target) {
                       return checkSums(rows, columns, target);
                     }});
}
