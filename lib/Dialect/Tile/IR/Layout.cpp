//===- Layout.cpp - which thread holds which element of a tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace mlir::tile;

bool Mode::replicates() const {
  return llvm::all_of(strides, [](int64_t stride) { return stride == 0; });
}

/// Multiply two extents, up to one that no tile has.
static int64_t multiply(int64_t x, int64_t y) {
  constexpr int64_t kMost = int64_t(1) << 40;
  return x > kMost / y ? kMost : x * y;
}

int64_t mlir::tile::extentOf(llvm::ArrayRef<Mode> modes) {
  int64_t extent = 1;
  for (const Mode &mode : modes)
    extent = multiply(extent, mode.extent);
  return extent;
}

/// Return whether `next` goes on where `mode` ends: one longer mode says the same.
static bool continues(const Mode &mode, const Mode &next) {
  for (auto [stride, after] : llvm::zip_equal(mode.strides, next.strides))
    if (after != stride * mode.extent)
      return false;
  return true;
}

static Modes canonical(llvm::ArrayRef<Mode> modes, bool dropReplication) {
  Modes result;
  for (const Mode &mode : modes) {
    if (mode.extent == 1 || (dropReplication && mode.replicates()))
      continue;
    if (!result.empty() && continues(result.back(), mode))
      result.back().extent = multiply(result.back().extent, mode.extent);
    else
      result.push_back(mode);
  }
  return result;
}

Layout::Layout(unsigned rank, Modes reg, Modes lane, Modes warp)
    : rank(rank), reg(canonical(reg, true)), lane(canonical(lane, false)),
      warp(canonical(warp, false)) {}

static void add(Coords &coords, llvm::ArrayRef<Mode> modes, int64_t index) {
  for (const Mode &mode : modes) {
    int64_t digit = index % mode.extent;
    index /= mode.extent;
    for (auto [coord, stride] : llvm::zip_equal(coords, mode.strides))
      coord += digit * stride;
  }
}

Coords Layout::at(int64_t regIndex, int64_t laneIndex, int64_t warpIndex) const {
  Coords coords(rank, 0);
  add(coords, reg, regIndex);
  add(coords, lane, laneIndex);
  add(coords, warp, warpIndex);
  return coords;
}

Coords Layout::offsetOfReg(int64_t regIndex) const { return at(regIndex, 0, 0); }

std::optional<int64_t> Layout::registerOf(llvm::ArrayRef<int64_t> offset) const {
  for (int64_t r = 0, n = numRegs(); r < n; ++r)
    if (llvm::ArrayRef<int64_t>(offsetOfReg(r)) == offset)
      return r;
  return std::nullopt;
}

llvm::SmallVector<Holder> Layout::holdersOf(llvm::ArrayRef<int64_t> element) const {
  llvm::SmallVector<Holder> holders;
  for (int64_t w = 0, warps = numWarps(); w < warps; ++w)
    for (int64_t l = 0; l < kLanes; ++l) {
      Coords offset = at(0, l, w);
      for (auto [coord, wanted] : llvm::zip_equal(offset, element))
        coord = wanted - coord;
      if (std::optional<int64_t> reg = registerOf(offset))
        holders.push_back({*reg, l, w});
    }
  return holders;
}

Layout Layout::slice(unsigned dim) const {
  auto without = [&](llvm::ArrayRef<Mode> modes) {
    Modes result(modes);
    for (Mode &mode : result)
      mode.strides.erase(mode.strides.begin() + dim);
    return result;
  };
  return Layout(rank - 1, without(reg), without(lane), without(warp));
}

Layout Layout::transpose() const {
  auto exchanged = [](llvm::ArrayRef<Mode> modes) {
    Modes result(modes);
    for (Mode &mode : result)
      std::swap(mode.strides[0], mode.strides[1]);
    return result;
  };
  return Layout(rank, exchanged(reg), exchanged(lane), exchanged(warp));
}

std::string Layout::check(llvm::ArrayRef<int64_t> shape) const {
  auto show = [](llvm::ArrayRef<int64_t> numbers) {
    std::string text;
    for (int64_t number : numbers)
      text += (text.empty() ? "(" : ", ") + std::to_string(number);
    return text.empty() ? std::string("()") : text + ")";
  };
  if (shape.size() != rank)
    return "is of rank " + std::to_string(rank) + ", the tile of rank " +
           std::to_string(shape.size());
  if (extentOf(lane) != kLanes)
    return "has " + std::to_string(extentOf(lane)) + " lanes, expected 32";
  constexpr int64_t kMost = 1 << 24;
  int64_t elements = 1;
  for (int64_t size : shape)
    elements = elements != 0 && size > kMost / elements ? kMost + 1 : elements * size;
  if (elements > kMost || numRegs() > kMost / kLanes || numWarps() > 32)
    return "is too large: expected at most 2^24 elements and 32 warps";
  // Each thread's registers are distinct elements; each element is held.
  std::vector<int64_t> holder(elements, -1);
  for (int64_t w = 0, thread = 0; w < numWarps(); ++w)
    for (int64_t l = 0; l < kLanes; ++l, ++thread)
      for (int64_t r = 0, n = numRegs(); r < n; ++r) {
        Coords coords = at(r, l, w);
        int64_t element = 0;
        for (auto [coord, size] : llvm::zip_equal(coords, shape)) {
          if (coord < 0 || coord >= size)
            return "places an element at " + show(coords) + ", outside of the tile";
          element = element * size + coord;
        }
        if (holder[element] == thread)
          return "places the element at " + show(coords) + " in two registers of a thread";
        holder[element] = thread;
      }
  for (int64_t element = 0; element < elements; ++element)
    if (holder[element] < 0) {
      Coords coords(rank);
      for (int64_t d = rank, rest = element; d-- > 0; rest /= shape[d])
        coords[d] = rest % shape[d];
      return "leaves out the element at " + show(coords);
    }
  return {};
}
