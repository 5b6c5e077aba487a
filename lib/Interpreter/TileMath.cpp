//===- TileMath.cpp - ops without effects, on whole tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileMath.h"
#include "fa/Support/Philox.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

static TileRef share(Elements elements) {
  return std::make_shared<const Elements>(std::move(elements));
}

Datum interpreter::constantDatum(Attribute attribute, Type type) {
  Datum datum;
  auto dense = dyn_cast<DenseElementsAttr>(attribute);
  if (!dense) {
    datum.scalar = valueOf(attribute);
    return datum;
  }
  Elements elements;
  elements.reserve(dense.getNumElements());
  for (Attribute element : dense.getValues<Attribute>())
    elements.push_back(valueOf(element));
  datum.tile = share(std::move(elements));
  return datum;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

namespace {

/// The elements of an operand; a scalar repeats.
struct Source {
  explicit Source(const Datum *datum)
      : at(datum ? datum->tile ? datum->tile->data() : &datum->scalar : &kZero),
        step(datum && datum->tile) {}
  const RegionValue &operator[](size_t i) const { return at[i * step]; }

private:
  static constexpr RegionValue kZero{0};
  const RegionValue *at;
  size_t step;
};

} // namespace

static double roundToType(DType type, double value) {
  return type == DType::F64   ? value
         : type == DType::F32 ? static_cast<double>(static_cast<float>(value))
                              : roundTo(type, value);
}

template <typename Function>
static void fillFloats(const RegionInstruction &op, RegionValue *out, size_t count,
                       Function function) {
  if (op.to == DType::F32)
    for (size_t i = 0; i < count; ++i)
      out[i].f = static_cast<float>(function(i));
  else
    for (size_t i = 0; i < count; ++i)
      out[i].f = roundToType(op.to, function(i));
}

/// Evaluate the ops that kernels spend their time on, in loops of their own.
static bool evaluateCommon(const RegionInstruction &op, Source a, Source b, RegionValue *out,
                           size_t count) {
  switch (op.code) {
  case RegionCode::AddF:
    fillFloats(op, out, count, [&](size_t i) { return a[i].f + b[i].f; });
    return true;
  case RegionCode::SubF:
    fillFloats(op, out, count, [&](size_t i) { return a[i].f - b[i].f; });
    return true;
  case RegionCode::MulF:
    fillFloats(op, out, count, [&](size_t i) { return a[i].f * b[i].f; });
    return true;
  case RegionCode::Exp2:
    fillFloats(op, out, count, [&](size_t i) { return std::exp2(a[i].f); });
    return true;
  case RegionCode::Copy:
    fillFloats(op, out, count, [&](size_t i) { return a[i].f; });
    return true;
  default:
    return false;
  }
}

void interpreter::evaluateElementwise(const RegionInstruction &op, Operation *operation,
                                      ArrayRef<const Datum *> operands,
                                      MutableArrayRef<Datum> results) {
  auto operand = [&](size_t i) { return i < operands.size() ? operands[i] : nullptr; };
  Source a(operand(0)), b(operand(1)), c(operand(2));
  auto tile = dyn_cast<RankedTensorType>(operation->getResult(0).getType());
  size_t count = tile ? elementsOf(tile.getShape()) : 1;
  Elements first(count), second(hasTwoResults(op.code) ? count : 0);
  if (op.code == RegionCode::Select) {
    for (size_t i = 0; i < count; ++i)
      first[i] = a[i].i ? b[i] : c[i];
  } else if (!evaluateCommon(op, a, b, first.data(), count)) {
    for (size_t i = 0; i < count; ++i) {
      RegionValue more{0};
      first[i] = evaluate(op, a[i], b[i], c[i], more);
      if (op.toFloat) {
        first[i].f = roundToType(op.to, first[i].f);
        more.f = second.empty() ? 0 : roundToType(op.to, more.f);
      }
      if (!second.empty())
        second[i] = more;
    }
  }
  Elements *values[] = {&first, &second};
  for (auto [result, value] : llvm::zip(results, values)) {
    if (tile)
      result.tile = share(std::move(*value));
    else
      result.scalar = value->front();
  }
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Reduce in order, each step rounded to the element type.
static TileRef reduce(tile::ReduceOp op, const Elements &input, const Elements &init) {
  ArrayRef<int64_t> shape = tileOf(op.getInput()).getShape();
  int64_t inner = elementsOf(shape.drop_front(op.getDim() + 1)), extent = shape[op.getDim()];
  bool isOfIntegers = op.getKind() == tile::Reduction::maxsi;
  RegionInstruction step{op.getKind() == tile::Reduction::addf      ? RegionCode::AddF
                         : op.getKind() == tile::Reduction::maxnumf ? RegionCode::MaxNumF
                         : op.getKind() == tile::Reduction::minnumf ? RegionCode::MinNumF
                                                                    : RegionCode::MaxSI};
  if (isOfIntegers)
    step.width = step.toWidth = 32;
  DType type = *dtypeOf(tileOf(op.getInput()).getElementType());
  Elements result(init);
  for (size_t r = 0; r < result.size(); ++r) {
    const RegionValue *at = input.data() + r / inner * extent * inner + r % inner;
    for (int64_t i = 0; i < extent; ++i) {
      RegionValue unused;
      result[r] = evaluate(step, result[r], at[i * inner], unused, unused);
      if (!isOfIntegers)
        result[r].f = roundToType(type, result[r].f);
    }
  }
  return share(std::move(result));
}

static TileRef broadcast(tile::BroadcastOp op, const Datum &input) {
  ArrayRef<int64_t> shape = tileOf(op.getResult()).getShape();
  if (!input.tile)
    return share(Elements(elementsOf(shape), input.scalar));
  int64_t dim = *op.getDim(), inner = elementsOf(shape.drop_front(dim + 1));
  int64_t outer = elementsOf(shape.take_front(dim));
  Elements result;
  result.reserve(elementsOf(shape));
  for (int64_t o = 0; o < outer; ++o) {
    auto from = input.tile->begin() + o * inner;
    if (inner == 1) {
      result.insert(result.end(), shape[dim], *from);
      continue;
    }
    for (int64_t i = 0; i < shape[dim]; ++i)
      result.insert(result.end(), from, from + inner);
  }
  return share(std::move(result));
}

static TileRef transpose(tile::TransposeOp op, const Elements &input) {
  ArrayRef<int64_t> shape = tileOf(op.getResult()).getShape();
  Elements result(input.size());
  for (int64_t y = 0; y < shape[0]; ++y)
    for (int64_t x = 0; x < shape[1]; ++x)
      result[y * shape[1] + x] = input[x * shape[0] + y];
  return share(std::move(result));
}

static TileRef columns(tile::ColumnsOp op, const Elements &input) {
  ArrayRef<int64_t> shape = tileOf(op.getResult()).getShape();
  int64_t width = tileOf(op.getInput()).getDimSize(1);
  Elements result;
  for (int64_t x = 0; x < shape[0]; ++x) {
    auto from = input.begin() + x * width + op.getFirst();
    result.insert(result.end(), from, from + shape[1]);
  }
  return share(std::move(result));
}

static TileRef columnsBetween(tile::ColumnsBetweenOp op, ArrayRef<const Datum *> operands) {
  ArrayRef<int64_t> shape = tileOf(op.getResult()).getShape();
  const Datum *low = op.getLow() ? operands.front() : nullptr;
  const Datum *high = op.getHigh() ? operands.back() : nullptr;
  Elements result;
  result.reserve(elementsOf(shape));
  auto limit = [](const Datum *limits, int64_t row) {
    return static_cast<int32_t>((*limits->tile)[row].i);
  };
  for (int64_t x = 0; x < shape[0]; ++x)
    for (int64_t y = 0; y < shape[1]; ++y)
      result.push_back(RegionValue{(!low || limit(low, x) <= y) && (!high || y < limit(high, x))});
  return share(std::move(result));
}

static TileRef randomBits(tile::RandomBitsOp op, ArrayRef<const Datum *> operands) {
  ArrayRef<int64_t> shape = tileOf(op.getResult()).getShape();
  auto operand = [&](size_t i) { return operands[i]->scalar.i; };
  Elements result;
  result.reserve(elementsOf(shape));
  for (int64_t r = 0; r < shape[0]; ++r)
    for (int64_t c = 0; c < shape[1]; ++c)
      result.push_back(RegionValue{dropoutByte(operand(0), operand(1), operand(2), operand(3),
                                               operand(4) + r, operand(5) + c)});
  return share(std::move(result));
}

static TileRef iota(tile::IotaOp op, uint64_t start) {
  Type element = tileOf(op.getResult()).getElementType();
  unsigned width = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  Elements result;
  for (int64_t i = 0, n = tileOf(op.getResult()).getDimSize(0); i < n; ++i)
    result.push_back(RegionValue{truncate(start + i, width)});
  return share(std::move(result));
}

Datum interpreter::evaluateTileOp(Operation *operation, ArrayRef<const Datum *> operands) {
  Datum result;
  result.tile = llvm::TypeSwitch<Operation *, TileRef>(operation)
                    .Case([&](tile::ReduceOp op) {
                      return reduce(op, *operands[0]->tile, *operands[1]->tile);
                    })
                    .Case([&](tile::BroadcastOp op) { return broadcast(op, *operands[0]); })
                    .Case([&](tile::TransposeOp op) { return transpose(op, *operands[0]->tile); })
                    .Case([&](tile::ColumnsOp op) { return columns(op, *operands[0]->tile); })
                    .Case([&](tile::ColumnsBetweenOp op) { return columnsBetween(op, operands); })
                    .Case([&](tile::RandomBitsOp op) { return randomBits(op, operands); })
                    .Case([&](tile::IotaOp op) { return iota(op, operands[0]->scalar.i); })
                    .Case([&](tile::ConvertLayoutOp) { return operands[0]->tile; });
  return result;
}

TileRef interpreter::multiply(const Elements &a, const Elements &b, const Elements &acc, int64_t m,
                              int64_t n, int64_t k, bool transposeB) {
  // Columns beyond those of b are ones.
  std::vector<float> rows(k * n, 1.0f), sum(n);
  int64_t columns = b.size() / k;
  for (int64_t x = 0; x < k; ++x)
    for (int64_t j = 0; j < columns; ++j)
      rows[x * n + j] = static_cast<float>(b[transposeB ? j * k + x : x * columns + j].f);
  Elements result(m * n);
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j)
      sum[j] = static_cast<float>(acc[i * n + j].f);
    for (int64_t x = 0; x < k; ++x) {
      float factor = static_cast<float>(a[i * k + x].f);
      const float *row = &rows[x * n];
      for (int64_t j = 0; j < n; ++j)
        sum[j] += factor * row[j];
    }
    for (int64_t j = 0; j < n; ++j)
      result[i * n + j].f = sum[j];
  }
  return share(std::move(result));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static RegionValue decode(const std::byte *at, Type element) {
  DType dtype = *dtypeOf(element);
  uint64_t bits = 0;
  std::memcpy(&bits, at, sizeOf(dtype));
  RegionValue value;
  if (isFloat(dtype))
    value.f = fromBits(dtype, bits);
  else
    value.i = dtype == DType::Bool ? bits != 0 : bits;
  return value;
}

static void encode(std::byte *at, Type element, RegionValue value) {
  DType dtype = *dtypeOf(element);
  uint64_t bits = isFloat(dtype) ? toBits(dtype, value.f) : value.i;
  std::memcpy(at, &bits, sizeOf(dtype));
}

/// Calls with the number of each element of a tile that is in range, and with
/// its place in memory.
template <typename Function>
static void forEachInRange(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
                           ArrayRef<int64_t> shape, size_t bytes, Function function) {
  int64_t base = 0;
  for (size_t d = 0; d < start.size(); ++d) {
    if (llvm::is_contained(dims, static_cast<int64_t>(d)))
      continue;
    // Negative indices are out of range too: they are large as unsigned.
    if (static_cast<uint64_t>(start[d]) >= static_cast<uint64_t>(memory.sizes[d]))
      return;
    base += start[d] * memory.strides[d];
  }
  // In boxes, a row and a column add to the place what they add alone.
  SmallVector<SmallVector<int64_t>, 2> places(memory.order ? 2 : 0);
  for (auto [k, of] : llvm::enumerate(places))
    for (int64_t x = 0; x < shape[k]; ++x) {
      int64_t at = std::max<int64_t>(start[dims[k]] + x, 0), columns = memory.sizes.back();
      of.push_back(memory.order.offsetOf(k == 0 ? at : 0, k == 0 ? 0 : at, columns));
    }
  SmallVector<int64_t, 4> at(shape.size(), 0);
  for (int64_t i = 0, count = elementsOf(shape); i < count; ++i) {
    uint64_t offset = base;
    bool inside = true;
    for (auto [x, d] : llvm::zip_equal(at, dims)) {
      uint64_t index = static_cast<uint64_t>(start[d]) + x;
      inside &= index < static_cast<uint64_t>(memory.sizes[d]);
      offset += memory.order ? 0 : index * memory.strides[d];
    }
    for (auto [of, x] : llvm::zip(places, at))
      offset += of[x];
    if (inside)
      function(i, memory.data + offset * bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d])
        break;
      at[d] = 0;
    }
  }
}

TileRef interpreter::loadTile(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
                              ArrayRef<int64_t> shape, Type element) {
  Elements result(elementsOf(shape), RegionValue{0});
  forEachInRange(memory, start, dims, shape, sizeOf(*dtypeOf(element)),
                 [&](int64_t i, std::byte *at) { result[i] = decode(at, element); });
  return share(std::move(result));
}

RegionValue interpreter::loadElement(const Memory &memory, ArrayRef<int64_t> index, Type element) {
  RegionValue result{0};
  forEachInRange(memory, index, {}, {}, sizeOf(*dtypeOf(element)),
                 [&](int64_t, std::byte *at) { result = decode(at, element); });
  return result;
}

void interpreter::storeTile(const Memory &memory, ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
                            ArrayRef<int64_t> shape, Type element, const Elements &value,
                            const std::vector<bool> &owned) {
  forEachInRange(memory, start, dims, shape, sizeOf(*dtypeOf(element)),
                 [&](int64_t i, std::byte *at) {
                   if (owned.empty() || owned[i])
                     encode(at, element, value[i]);
                 });
}
