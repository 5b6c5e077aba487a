//===- Memory.cpp - loads, stores and gathers of a thread -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each access is predicated by the range checks of its element, so that it
// touches nothing outside of a view and takes no branch. Registers that hold
// neighbours move together where the view is aligned and the row is whole.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

static int64_t bytesOf(Type element) {
  return std::max<int64_t>(element.getIntOrFloatBitWidth() / 8, 1);
}

static std::optional<int64_t> constant(Value value) {
  APInt integer;
  if (value && matchPattern(value, m_ConstantInt(&integer)))
    return integer.getSExtValue();
  return std::nullopt;
}

/// Null where the index is known to be in range. Negative ones are large unsigned.
Value Emitter::inRange(Value index, Value size) {
  std::optional<int64_t> at = constant(index), end = constant(size);
  if (at && end && *at >= 0 && *at < *end)
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, size);
}

Value Emitter::elementAddress(const ViewParts &view, ArrayRef<Value> indices) {
  Value offset;
  for (auto [index, stride] : llvm::zip_equal(indices, view.strides)) {
    if (constant(index) == 0)
      continue;
    Value step = arith::MulIOp::create(b, index, stride);
    offset = offset ? arith::AddIOp::create(b, offset, step) : step;
  }
  if (!offset)
    return view.pointer;
  Type element = view.element.isInteger(1) ? b.getI8Type() : view.element;
  return LLVM::GEPOp::create(b, view.pointer.getType(), element, view.pointer,
                             ArrayRef<LLVM::GEPArg>{offset});
}

//===----------------------------------------------------------------------===//
// One access of a thread: up to 16 bytes
//===----------------------------------------------------------------------===//

/// The type and constraint by which so many bytes pass through inline PTX.
static std::pair<Type, StringRef> wordOf(OpBuilder &b, int64_t bytes) {
  switch (bytes) {
  case 8:
    return {b.getI64Type(), "l"};
  case 4:
    return {b.getI32Type(), "r"};
  default:
    return {b.getI16Type(), "h"};
  }
}

Value Emitter::loadGlobal(Value address, Value predicate, Type type, bool sideEffects) {
  int64_t bytes = type.isInteger(1) ? 1 : bytesOf(getElementTypeOrSelf(type));
  if (auto vector = dyn_cast<VectorType>(type))
    bytes *= vector.getNumElements();
  if (!predicate)
    predicate = arith::ConstantIntOp::create(b, 1, 1);
  Value word;
  if (bytes == 16) {
    Type i32Type = b.getI32Type();
    SmallVector<Value> words = ptx("{ mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; "
                                   "@$5 ld.global.v4.b32 {$0, $1, $2, $3}, [$4]; }",
                                   "=&r,=&r,=&r,=&r,l,b", {i32Type, i32Type, i32Type, i32Type},
                                   {address, predicate}, sideEffects);
    word = fromElements(VectorType::get(4, i32Type), words);
    return vector::BitCastOp::create(b, cast<VectorType>(type), word);
  }
  auto [wordType, constraint] = wordOf(b, bytes);
  std::string width = std::to_string(8 * bytes),
              zero = std::to_string(std::max<int64_t>(16, 8 * bytes));
  word = ptx("{ mov.b" + zero + " $0, 0; @$2 ld.global.b" + width + " $0, [$1]; }",
             ("=&" + constraint + ",l,b").str(), wordType, {address, predicate}, sideEffects)[0];
  if (type.isInteger(1))
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, word,
                                 arith::ConstantIntOp::create(b, 0, 16));
  if (bytes == 1)
    word = arith::TruncIOp::create(b, b.getI8Type(), word);
  if (auto vector = dyn_cast<VectorType>(type)) {
    word = vector::BroadcastOp::create(b, VectorType::get(1, word.getType()), word);
    return vector::BitCastOp::create(b, vector, word);
  }
  return word.getType() == type ? word : arith::BitcastOp::create(b, type, word);
}

static void storeGlobal(ImplicitLocOpBuilder &b, Value address, Value value, Value predicate,
                        llvm::function_ref<void(StringRef, StringRef, ValueRange)> ptx) {
  Type type = value.getType();
  if (type.isInteger(1)) {
    value = arith::ExtUIOp::create(b, b.getI8Type(), value);
    type = value.getType();
  }
  int64_t bytes = bytesOf(getElementTypeOrSelf(type));
  auto vector = dyn_cast<VectorType>(type);
  if (vector)
    bytes *= vector.getNumElements();
  SmallVector<Value> operands{address};
  if (!predicate)
    predicate = arith::ConstantIntOp::create(b, 1, 1);
  operands.push_back(predicate);
  if (bytes == 16) {
    Value words = vector::BitCastOp::create(b, VectorType::get(4, b.getI32Type()), value);
    for (int64_t i = 0; i < 4; ++i)
      operands.push_back(vector::ExtractOp::create(b, words, i));
    ptx("@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r", operands);
    return;
  }
  auto [wordType, constraint] = wordOf(b, bytes);
  if (vector) {
    value = vector::BitCastOp::create(b, VectorType::get(1, wordType), value);
    value = vector::ExtractOp::create(b, value, 0);
  } else if (bytes == 1) {
    value = arith::ExtUIOp::create(b, wordType, value);
  } else if (type != wordType) {
    value = arith::BitcastOp::create(b, wordType, value);
  }
  operands.push_back(value);
  ptx("@$1 st.global.b" + std::to_string(8 * bytes) + " [$0], $2;", ("l,b," + constraint).str(),
      operands);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

namespace {

/// The elements of a tile in memory that one thread holds.
class Access {
public:
  Access(ImplicitLocOpBuilder &b, const ViewParts &view, ArrayRef<Value> starts,
         ArrayRef<int64_t> dims, const Layout &layout)
      : b(b), view(view), starts(starts), dims(dims), layout(layout) {}

  /// How many registers from each multiple of it on stand side by side in
  /// memory, are aligned, and are all in range or none.
  int64_t width() const {
    int64_t last = view.sizes.size() - 1;
    if (dims.empty() || dims.back() != last || !sameRun.size())
      return 1;
    unsigned d = dims.size() - 1;
    std::optional<int64_t> size = constant(view.sizes[last]), at = constant(sameRun[d]);
    int64_t most = std::min<int64_t>(16, view.align) / bytesOf(view.element);
    int64_t width = 1;
    auto multiple = [&](int64_t w) {
      auto divides = [&](ArrayRef<tile::Mode> modes) {
        return llvm::all_of(modes, [&](const tile::Mode &m) { return m.strides[d] % w == 0; });
      };
      if (!size || *size % w || !at || *at % w || layout.numRegs() % w ||
          !divides(layout.getLane()) || !divides(layout.getWarp()))
        return false;
      for (int64_t r = 0; r < layout.numRegs(); ++r) {
        Coords first = layout.offsetOfReg(r / w * w), here = layout.offsetOfReg(r);
        first[d] += r % w;
        if (first != here)
          return false;
      }
      return true;
    };
    while (width * 2 <= most && multiple(width * 2))
      width *= 2;
    return width;
  }

  ImplicitLocOpBuilder &b;
  const ViewParts &view;
  /// Indices of the tile's first element, with and without the thread's part.
  SmallVector<Value> starts;
  ArrayRef<int64_t> dims;
  const Layout &layout;
  SmallVector<Value> sameRun;
};

} // namespace

/// Calls with the first register of each access, its address and its predicate.
static void forEachAccess(ImplicitLocOpBuilder &b, Access &access, int64_t width, Value common,
                          llvm::function_ref<Value(Value, Value)> inRange,
                          llvm::function_ref<Value(Value, Value)> both,
                          llvm::function_ref<Value(ArrayRef<Value>)> address,
                          llvm::function_ref<void(int64_t, Value, Value)> body) {
  auto i64 = [&](int64_t value) { return arith::ConstantIntOp::create(b, value, 64); };
  for (size_t d = 0; d < access.view.sizes.size(); ++d)
    if (!llvm::is_contained(access.dims, static_cast<int64_t>(d)))
      common = both(common, inRange(access.starts[d], access.view.sizes[d]));
  Value base = address(access.starts);
  // The same step along a dimension is one index and one check.
  std::map<std::pair<int64_t, int64_t>, std::pair<Value, Value>> steps;
  Type element = access.view.element.isInteger(1) ? b.getI8Type() : access.view.element;
  for (int64_t r = 0; r < access.layout.numRegs(); r += width) {
    Coords offset = access.layout.offsetOfReg(r);
    Value predicate = common, move;
    for (auto [k, dim] : llvm::enumerate(access.dims)) {
      auto [it, added] = steps.try_emplace({dim, offset[k]});
      if (added) {
        Value index = access.starts[dim];
        if (offset[k])
          index = b.createOrFold<arith::AddIOp>(index, i64(offset[k]));
        it->second.first = inRange(index, access.view.sizes[dim]);
        if (offset[k])
          it->second.second =
              b.createOrFold<arith::MulIOp>(access.view.strides[dim], i64(offset[k]));
      }
      predicate = both(predicate, it->second.first);
      if (Value step = it->second.second)
        move = move ? Value(arith::AddIOp::create(b, move, step)) : step;
    }
    Value place = base;
    if (move)
      place = LLVM::GEPOp::create(b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{move});
    body(r, place, predicate);
  }
}

/// The indices where a thread's part of a tile starts.
#define FA_THREAD_STARTS(op, view, layout)                                                         \
  SmallVector<Value> starts;                                                                       \
  for (Value index : op.getIndices())                                                              \
    starts.push_back(get(index));                                                                  \
  Access access(b, view, starts, op.getDims(), layout);                                            \
  for (auto [d, dim] : llvm::enumerate(op.getDims())) {                                            \
    access.sameRun.push_back(starts[dim]);                                                         \
    access.starts[dim] =                                                                           \
        b.createOrFold<arith::AddIOp>(starts[dim], toI64(here(threadOffset(layout, d))));          \
  }

LogicalResult Emitter::emitLoad(tile::LoadOp op) {
  const ViewParts &view = views[op.getSource()];
  Type type = convert(op.getResult().getType());
  if (!isa<RankedTensorType>(op.getResult().getType())) {
    SmallVector<Value> indices;
    Value predicate;
    for (auto [index, size] : llvm::zip_equal(op.getIndices(), view.sizes)) {
      indices.push_back(get(index));
      predicate = both(predicate, inRange(get(index), size));
    }
    set(op.getResult(), loadGlobal(elementAddress(view, indices), predicate, type, view.written));
    return success();
  }
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  FA_THREAD_STARTS(op, view, *layout);
  int64_t width = access.width();
  SmallVector<Value> elements;
  forEachAccess(
      b, access, width, {}, [&](Value i, Value n) { return inRange(i, n); },
      [&](Value x, Value y) { return both(x, y); },
      [&](ArrayRef<Value> at) { return elementAddress(view, at); },
      [&](int64_t, Value place, Value predicate) {
        Type unit = width == 1 ? view.element : Type(VectorType::get(width, view.element));
        Value value = loadGlobal(place, predicate, unit, view.written);
        for (int64_t i = 0; i < width; ++i)
          elements.push_back(width == 1 ? value : extract(value, i));
      });
  set(op.getResult(), fromElements(cast<VectorType>(type), elements));
  return success();
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  const ViewParts &view = views[op.getDestination()];
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  FA_THREAD_STARTS(op, view, *layout);
  int64_t width = access.width();
  Value value = get(op.getValue());
  forEachAccess(
      b, access, width, isFirstHolder(*layout), [&](Value i, Value n) { return inRange(i, n); },
      [&](Value x, Value y) { return both(x, y); },
      [&](ArrayRef<Value> at) { return elementAddress(view, at); },
      [&](int64_t r, Value place, Value predicate) {
        Value part;
        if (width == 1) {
          part = extract(value, r);
        } else {
          SmallVector<Value> elements;
          for (int64_t i = 0; i < width; ++i)
            elements.push_back(extract(value, r + i));
          part = fromElements(VectorType::get(width, view.element), elements);
        }
        storeGlobal(b, place, part, predicate,
                    [&](StringRef text, StringRef constraints, ValueRange operands) {
                      ptx(text, constraints, {}, operands, true);
                    });
      });
  return success();
}

LogicalResult Emitter::emitGather(tile::GatherOp op) {
  const ViewParts &view = views[op.getSource()];
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  auto type = cast<VectorType>(convert(op.getResult().getType()));
  SmallVector<Value> elements;
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    SmallVector<Value> indices;
    Value predicate;
    for (auto [operand, size] : llvm::zip_equal(op.getIndices(), view.sizes)) {
      Value index = get(operand);
      if (isa<VectorType>(index.getType()))
        index = extract(index, r);
      if (!index.getType().isInteger(64))
        index = arith::ExtSIOp::create(b, b.getI64Type(), index);
      indices.push_back(index);
      predicate = both(predicate, inRange(index, size));
    }
    elements.push_back(
        loadGlobal(elementAddress(view, indices), predicate, view.element, view.written));
  }
  set(op.getResult(), fromElements(type, elements));
  return success();
}
