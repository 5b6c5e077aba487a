//===- Order.cpp - #tile.order: boxes of a matrix in memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A coordinate of a matrix is a number in mixed radix: its digits inside of a box, each a mode of
// the box, and above them the number of the box. Each digit has a distance in memory, so where
// each mode of a layout counts within digits, the layout of places in memory is modes again.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::tile;

/// Modes of a box go along rows and columns.
static constexpr unsigned kRank = 2;

Modes OrderAttr::getRegModes() const { return unflatten(getReg(), kRank); }
Modes OrderAttr::getLaneModes() const { return unflatten(getLane(), kRank); }

OrderAttr OrderAttr::ofAccumulators(MLIRContext *context, int64_t width) {
  const Fragment &box = findProductInstruction("mma.sync.m16n8k16")->acc;
  SmallVector<int64_t> reg = flatten(box.reg), lane = flatten(box.lane);
  return get(context, ArrayRef<int64_t>(reg), ArrayRef<int64_t>(lane), width);
}

/// Return the modes of a box in the order of memory: so many registers, lanes, the other registers.
static Modes modesInMemory(ArrayRef<Mode> reg, ArrayRef<Mode> lane, int64_t width) {
  Modes first, rest;
  int64_t left = width;
  for (Mode mode : reg) {
    int64_t taken = std::gcd(mode.extent, left);
    left /= taken;
    first.push_back({taken, mode.strides});
    mode.extent /= taken;
    for (int64_t &stride : mode.strides)
      stride *= taken;
    rest.push_back(mode);
  }
  first.append(lane.begin(), lane.end());
  first.append(rest.begin(), rest.end());
  return first;
}

namespace {
/// A digit of a coordinate: it counts `weight` up to `end`, each step `step` elements in memory.
struct Digit {
  int64_t weight, end, step;
};
} // namespace

/// Return the digits of a coordinate in a box, lowest first.
static SmallVector<Digit> digitsOfBox(ArrayRef<Mode> modes, unsigned dim) {
  SmallVector<Digit> digits;
  int64_t step = 1;
  for (const Mode &mode : modes) {
    if (mode.extent > 1 && mode.strides[dim] != 0)
      digits.push_back({mode.strides[dim], mode.strides[dim] * mode.extent, step});
    step *= mode.extent;
  }
  llvm::sort(digits, [](const Digit &a, const Digit &b) { return a.weight < b.weight; });
  return digits;
}

/// Return the size of a box along a dimension.
static int64_t sizeOfBox(OrderAttr order, unsigned dim) {
  int64_t size = 1;
  Modes modes = modesInMemory(order.getRegModes(), order.getLaneModes(), order.getWidth());
  for (const Mode &mode : modes)
    if (mode.strides[dim] != 0)
      size *= mode.extent;
  return size;
}

int64_t OrderAttr::getRows() const { return sizeOfBox(*this, 0); }
int64_t OrderAttr::getColumns() const { return sizeOfBox(*this, 1); }

/// Return the digits of a coordinate in a matrix of so many columns.
static SmallVector<Digit> digitsOf(OrderAttr order, unsigned dim, int64_t columns) {
  Modes modes = modesInMemory(order.getRegModes(), order.getLaneModes(), order.getWidth());
  SmallVector<Digit> digits = digitsOfBox(modes, dim);
  int64_t rows = order.getRows(), box = dim == 0 ? rows : order.getColumns();
  digits.push_back(
      {box, std::numeric_limits<int64_t>::max(), rows * (dim == 0 ? columns : order.getColumns())});
  return digits;
}

int64_t OrderAttr::offsetOf(int64_t row, int64_t column, int64_t columns) const {
  int64_t offset = 0;
  for (unsigned dim : {0, 1})
    for (const Digit &digit : digitsOf(*this, dim, columns))
      offset += (dim == 0 ? row : column) % digit.end / digit.weight * digit.step;
  return offset;
}

std::optional<Layout> OrderAttr::positionsOf(const Layout &tile, int64_t columns) const {
  if (tile.getRank() != 2 || columns % getColumns() != 0)
    return std::nullopt;
  SmallVector<Digit> digits[2] = {digitsOf(*this, 0, columns), digitsOf(*this, 1, columns)};
  auto place = [&](ArrayRef<Mode> modes, Modes &places) {
    for (const Mode &mode : modes) {
      if (mode.replicates()) {
        places.push_back({mode.extent, {0}});
        continue;
      }
      if (mode.strides[0] != 0 && mode.strides[1] != 0)
        return false;
      unsigned dim = mode.strides[0] == 0;
      int64_t stride = mode.strides[dim], left = mode.extent;
      for (const Digit &digit : digits[dim]) {
        if (left == 1 || stride >= digit.end)
          continue;
        bool last = &digit == &digits[dim].back();
        if (stride % digit.weight != 0 || (!last && digit.end % stride != 0))
          return false;
        int64_t count = last ? left : std::min(left, digit.end / stride);
        if (left % count != 0)
          return false;
        places.push_back({count, {stride / digit.weight * digit.step}});
        left /= count;
        stride *= count;
      }
    }
    return true;
  };
  Modes reg, lane, warp;
  if (!place(tile.getReg(), reg) || !place(tile.getLane(), lane) || !place(tile.getWarp(), warp))
    return std::nullopt;
  return Layout(1, reg, lane, warp);
}

std::optional<SmallVector<OrderAttr::Run>>
OrderAttr::runsOf(const Layout &tile, int64_t tileColumns, int64_t columns) const {
  constexpr int64_t kChunk = 4; // elements of 16 bytes
  if (tileColumns > columns)
    return std::nullopt;
  std::optional<Layout> inTile = positionsOf(tile, tileColumns),
                        inMatrix = positionsOf(tile, columns);
  if (!inTile || !inMatrix)
    return std::nullopt;
  for (ArrayRef<Mode> modes : {tile.getLane(), tile.getWarp()})
    for (const Mode &mode : modes)
      if (mode.replicates())
        return std::nullopt;
  for (const Layout &layout : {*inTile, *inMatrix})
    for (const Mode &mode : layout.getWarp())
      if (mode.strides[0] % kChunk != 0)
        return std::nullopt;
  SmallVector<Run> elements;
  for (int64_t reg = 0; reg < tile.numRegs(); ++reg)
    for (int64_t lane = 0; lane < Layout::kLanes; ++lane) {
      int64_t row = tile.at(reg, lane, 0)[0];
      elements.push_back({inTile->at(reg, lane, 0)[0], inMatrix->at(reg, lane, 0)[0],
                          row / getRows() * getRows(), 1});
    }
  llvm::sort(elements, [](const Run &a, const Run &b) { return a.inTile < b.inTile; });
  SmallVector<Run> runs;
  for (const Run &element : elements) {
    bool goesOn = !runs.empty() && runs.back().inTile + runs.back().count == element.inTile &&
                  runs.back().inMatrix + runs.back().count == element.inMatrix &&
                  runs.back().row == element.row;
    if (goesOn)
      ++runs.back().count;
    else
      runs.push_back(element);
  }
  for (const Run &run : runs)
    if (run.inTile % kChunk != 0 || run.inMatrix % kChunk != 0 || run.count % kChunk != 0)
      return std::nullopt;
  return runs;
}

//===----------------------------------------------------------------------===//
// As text
//===----------------------------------------------------------------------===//

LogicalResult OrderAttr::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<int64_t> reg,
                                ArrayRef<int64_t> lane, int64_t width) {
  Modes regs = unflatten(reg, kRank), lanes = unflatten(lane, kRank);
  int64_t numRegs = extentOf(regs);
  if (!llvm::is_contained({1, 2, 4}, width) || numRegs % width != 0)
    return emitError() << "(order_c1) a width is 1, 2 or 4 and divides the registers, got " << width
                       << " of " << numRegs;
  Modes modes = modesInMemory(regs, lanes, width);
  for (const Mode &mode : modes)
    if (mode.extent > 1 && (mode.strides[0] != 0) == (mode.strides[1] != 0))
      return emitError() << "(order_c2) a mode of a box goes along one dimension, got strides "
                         << mode.strides[0] << " and " << mode.strides[1];
  for (unsigned dim : {0, 1}) {
    int64_t end = 1;
    for (const Digit &digit : digitsOfBox(modes, dim)) {
      if (digit.weight != end)
        return emitError() << "(order_c2) modes along dimension " << dim
                           << " of a box leave a gap or overlap at " << end << ": the next is at "
                           << digit.weight;
      end = digit.end;
    }
  }
  if (extentOf(lanes) != Layout::kLanes)
    return emitError() << "(order_c2) a box has 32 lanes, got " << extentOf(lanes);
  return success();
}

/// Parse the modes of a box.
static ParseResult parseModes(AsmParser &parser, StringRef name, SmallVectorImpl<int64_t> &modes) {
  return parseModeNumbers(parser, name, [&](SMLoc loc, ArrayRef<int64_t> numbers) -> ParseResult {
    constexpr int64_t kMost = 1 << 10;
    bool small = llvm::all_of(numbers, [](int64_t n) { return n >= 0 && n <= kMost; });
    if (numbers.size() != kRank + 1 || !small || numbers[0] < 1)
      return parser.emitError(loc) << "a mode of a box is an extent from 1 on and two strides from "
                                      "0 on, up to 2^10 each";
    modes.append(numbers.begin(), numbers.end());
    return success();
  });
}

Attribute OrderAttr::parse(AsmParser &parser, Type) {
  SmallVector<int64_t> reg, lane;
  int64_t width;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseLess() || parseModes(parser, "reg", reg) || parser.parseComma() ||
      parseModes(parser, "lane", lane) || parser.parseComma() || parser.parseKeyword("width") ||
      parser.parseEqual() || parser.parseInteger(width) || parser.parseGreater())
    return {};
  return parser.getChecked<OrderAttr>(loc, parser.getContext(), ArrayRef<int64_t>(reg),
                                      ArrayRef<int64_t>(lane), width);
}

void OrderAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printModes(printer, "reg", getRegModes());
  printer << ", ";
  printModes(printer, "lane", getLaneModes());
  printer << ", width = " << getWidth() << ">";
}
