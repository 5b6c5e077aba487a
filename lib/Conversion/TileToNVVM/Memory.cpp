//===- Memory.cpp - loads, stores, gathers and scatters of a thread -===//
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

/// Emit whether an index is in range; null where that is known. Negative ones are large unsigned.
Value Emitter::inRange(Value index, Value size) {
  std::optional<int64_t> at = constant(index), end = constant(size);
  if (at && end && *at >= 0 && *at < *end)
    return {};
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, index, size);
}

/// Emit how many of `most` indices from a start on are less than a size: a few numbers of 64 bits
/// once, and comparisons of 32 for each index.
Value Emitter::countFrom(Value start, Value size, int64_t most) {
  Value count = arith::SubIOp::create(b, size, start);
  count = arith::MaxSIOp::create(b, count, i64(0));
  count = arith::MinSIOp::create(b, count, i64(most));
  return arith::TruncIOp::create(b, b.getI32Type(), count);
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

/// Return the type and constraint by which so many bytes pass through inline PTX.
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

void Emitter::storeGlobal(Value address, Value value, Value predicate) {
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
    ptx("@$1 st.global.v4.b32 [$0], {$2, $3, $4, $5};", "l,b,r,r,r,r", {}, operands, true);
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
  ptx("@$1 st.global.b" + std::to_string(8 * bytes) + " [$0], $2;", ("l,b," + constraint).str(), {},
      operands, true);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Return how many registers, from each multiple of it on, stand side by side in
/// memory, are aligned, and are all in range or none.
static int64_t accessWidth(const ViewParts &view, ArrayRef<Value> starts, ArrayRef<int64_t> dims,
                           const Layout &layout) {
  int64_t last = view.sizes.size() - 1;
  // One bit is a byte in memory, but not in registers.
  if (dims.empty() || dims.back() != last || view.element.isInteger(1))
    return 1;
  unsigned d = dims.size() - 1;
  std::optional<int64_t> size = constant(view.sizes[last]), start = constant(starts[last]);
  auto serves = [&](int64_t width) {
    auto divides = [&](ArrayRef<tile::Mode> modes) {
      return llvm::all_of(modes, [&](const tile::Mode &m) { return m.strides[d] % width == 0; });
    };
    if (!size || *size % width || !start || *start % width || layout.numRegs() % width ||
        !divides(layout.getLane()) || !divides(layout.getWarp()))
      return false;
    for (int64_t r = 0; r < layout.numRegs(); ++r) {
      Coords expected = layout.offsetOfReg(r / width * width);
      expected[d] += r % width;
      if (expected != layout.offsetOfReg(r))
        return false;
    }
    return true;
  };
  int64_t width = 1, most = std::min<int64_t>(16, view.align) / bytesOf(view.element);
  while (width * 2 <= most && serves(width * 2))
    width *= 2;
  return width;
}

/// Return the greatest offset of a layout along a dimension.
static int64_t lastOffset(const Layout &layout, unsigned dim) {
  int64_t last = 0;
  for (ArrayRef<tile::Mode> modes : {layout.getReg(), layout.getLane(), layout.getWarp()})
    for (const tile::Mode &mode : modes)
      last += (mode.extent - 1) * mode.strides[dim];
  return last;
}

bool fa::nvvm::isWhole(Value start, Value size, const Layout &layout, unsigned dim) {
  int64_t last = lastOffset(layout, dim);
  std::optional<int64_t> from = constant(start), to = constant(size);
  return from && to && *from >= 0 && *from + last < *to;
}

/// Return how many places along a dimension a thread has registers at.
static int64_t numSteps(const Layout &layout, unsigned dim) {
  llvm::SmallDenseSet<int64_t> steps;
  for (int64_t r = 0; r < layout.numRegs(); ++r)
    steps.insert(layout.offsetOfReg(r)[dim]);
  return steps.size();
}

LogicalResult Emitter::forEachAccess(const ViewParts &view, OperandRange indices,
                                     ArrayRef<int64_t> dims, const Layout &layout, Value predicate,
                                     AccessFn body, bool isInRange) {
  // Of matrices it is less to count those in range first; of vectors that takes registers from
  // others.
  constexpr int64_t kSteps = 4;
  SmallVector<Value> starts;
  for (Value index : indices)
    starts.push_back(get(index));
  if (view.order)
    return forEachInBoxes(view, starts, dims, layout, predicate, body, isInRange);
  int64_t width = accessWidth(view, starts, dims, layout);
  SmallVector<bool> whole;
  SmallVector<Value> rests;
  for (auto [k, dim] : llvm::enumerate(dims)) {
    whole.push_back(isInRange || isWhole(starts[dim], view.sizes[dim], layout, k));
    Value offset = pinToUse(threadOffset(layout, k));
    Value rest;
    if (dims.size() > 1 && !whole.back() && numSteps(layout, k) >= kSteps &&
        tile::isNonNegative(indices[dim]))
      rest = arith::SubIOp::create(
          b, countFrom(starts[dim], view.sizes[dim], lastOffset(layout, k) + 1), offset);
    rests.push_back(rest);
    starts[dim] = b.createOrFold<arith::AddIOp>(starts[dim], toI64(offset));
  }
  for (int64_t d = 0; d < static_cast<int64_t>(starts.size()) && !isInRange; ++d)
    if (!llvm::is_contained(dims, d))
      predicate = both(predicate, inRange(starts[d], view.sizes[d]));
  Value base = elementAddress(view, starts);

  // The same step along a dimension is one check and one distance.
  struct Step {
    Value inRange, distance;
  };
  std::map<std::pair<int64_t, int64_t>, Step> steps;
  Type element = view.element.isInteger(1) ? b.getI8Type() : view.element;
  for (int64_t r = 0; r < layout.numRegs(); r += width) {
    Coords offset = layout.offsetOfReg(r);
    Value mine = predicate, distance;
    for (auto [k, dim] : llvm::enumerate(dims)) {
      auto [it, added] = steps.try_emplace({dim, offset[k]});
      if (added) {
        if (offset[k])
          it->second.distance = b.createOrFold<arith::MulIOp>(view.strides[dim], i64(offset[k]));
        if (rests[k])
          it->second.inRange =
              arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, rests[k], i32(offset[k]));
        else if (!whole[k])
          it->second.inRange =
              inRange(b.createOrFold<arith::AddIOp>(starts[dim], i64(offset[k])), view.sizes[dim]);
      }
      mine = both(mine, it->second.inRange);
      if (Value step = it->second.distance)
        distance = distance ? Value(arith::AddIOp::create(b, distance, step)) : step;
    }
    Value place = base;
    if (distance)
      place =
          LLVM::GEPOp::create(b, base.getType(), element, base, ArrayRef<LLVM::GEPArg>{distance});
    body(r, width, place, mine);
  }
  return success();
}

LogicalResult Emitter::emitSlice(tile::SliceOp op) {
  ViewParts parts = views[op.getSource()];
  int64_t dim = op.getDim(), last = parts.sizes.size() - 1;
  SmallVector<Value> first(parts.sizes.size(), i64(0));
  first[dim] = get(op.getStart());
  parts.pointer = elementAddress(parts, first);
  parts.sizes[dim] = get(op.getSize());
  if (dim == last)
    parts.align = 1;
  views[op.getResult()] = parts;
  return success();
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
  SmallVector<Value> elements;
  auto load = [&](int64_t, int64_t width, Value place, Value predicate) {
    Type unit = width == 1 ? view.element : VectorType::get(width, view.element);
    Value value = loadGlobal(place, predicate, unit, view.written);
    for (int64_t i = 0; i < width; ++i)
      elements.push_back(width == 1 ? value : extract(value, i));
  };
  if (failed(forEachAccess(view, op.getIndices(), op.getDims(), *layout, {}, load, isInRange(op))))
    return failure();
  set(op.getResult(), fromElements(cast<VectorType>(type), elements));
  return success();
}

LogicalResult Emitter::emitStore(tile::StoreOp op) {
  const ViewParts &view = views[op.getDestination()];
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  Value value = get(op.getValue());
  return forEachAccess(view, op.getIndices(), op.getDims(), *layout, isFirstHolder(*layout),
                       [&](int64_t r, int64_t width, Value place, Value predicate) {
                         SmallVector<Value> elements;
                         for (int64_t i = 0; i < width; ++i)
                           elements.push_back(extract(value, r + i));
                         auto type = VectorType::get(width, view.element);
                         Value part = width == 1 ? elements[0] : fromElements(type, elements);
                         storeGlobal(place, part, predicate);
                       });
}

/// Add what is under one condition in one branch: ptxas makes a branch of each predicate.
LogicalResult Emitter::emitAccumulate(tile::AccumulateOp op) {
  const ViewParts &view = views[op.getDestination()];
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  Value value = get(op.getValue());
  llvm::MapVector<Value, SmallVector<std::pair<Value, int64_t>>> additions;
  auto add = [&](int64_t r, int64_t width, Value place, Value predicate) {
    for (int64_t i = 0; i < width; ++i) {
      Value at = i == 0 ? place
                        : LLVM::GEPOp::create(b, place.getType(), view.element, place,
                                              ArrayRef<LLVM::GEPArg>{int32_t(i)});
      additions[predicate].push_back({at, r + i});
    }
  };
  if (failed(forEachAccess(view, op.getIndices(), op.getDims(), *layout, isFirstHolder(*layout),
                           add, isInRange(op))))
    return failure();
  for (auto &[predicate, places] : additions) {
    OpBuilder::InsertionGuard guard(b);
    if (predicate)
      b.setInsertionPointToStart(
          scf::IfOp::create(b, predicate, /*withElseRegion=*/false).thenBlock());
    for (auto [place, r] : places)
      ptx("red.global.add.f32 [$0], $1;", "l,f", {}, {place, extract(value, r)}, true);
  }
  return success();
}

/// Return the address of the element whose indices are scalars, or register `reg` of tiles, and
/// whether it is in range; null where that is known.
std::pair<Value, Value> Emitter::elementAt(const ViewParts &view, OperandRange operands,
                                           int64_t reg) {
  SmallVector<Value> indices;
  Value predicate;
  for (auto [operand, size] : llvm::zip_equal(operands, view.sizes)) {
    Value index = get(operand);
    if (isa<VectorType>(index.getType()))
      index = extract(index, reg);
    if (!index.getType().isInteger(64))
      index = arith::ExtSIOp::create(b, b.getI64Type(), index);
    indices.push_back(index);
    predicate = both(predicate, inRange(index, size));
  }
  return {elementAddress(view, indices), predicate};
}

LogicalResult Emitter::emitGather(tile::GatherOp op) {
  const ViewParts &view = views[op.getSource()];
  FailureOr<Layout> layout = layoutOf(op.getResult());
  if (failed(layout))
    return failure();
  auto type = cast<VectorType>(convert(op.getResult().getType()));
  SmallVector<Value> elements;
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    auto [address, predicate] = elementAt(view, op.getIndices(), r);
    elements.push_back(loadGlobal(address, predicate, view.element, view.written));
  }
  set(op.getResult(), fromElements(type, elements));
  return success();
}

LogicalResult Emitter::emitScatter(tile::ScatterOp op) {
  const ViewParts &view = views[op.getDestination()];
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  Value value = get(op.getValue()), first = isFirstHolder(*layout);
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    auto [address, predicate] = elementAt(view, op.getIndices(), r);
    storeGlobal(address, extract(value, r), both(first, predicate));
  }
  return success();
}

/// Neighbours of a thread that go to one address are added up before: tiles far from the diagonal
/// often have one position, as that of a distance that is cut off, which would be taken in turns.
LogicalResult Emitter::emitScatterAdd(tile::ScatterAddOp op) {
  const ViewParts &view = views[op.getDestination()];
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  Value value = get(op.getValue()), first = isFirstHolder(*layout), before, sum;
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  Type sums = op.getDestination().getType().getElementType();
  auto add = [&] {
    Value some = both(first, arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, sum, zero));
    if (sums.isF64())
      ptx("@$1 red.global.add.f64 [$0], $2;", "l,b,d", {},
          {before, some, arith::ExtFOp::create(b, sums, sum)}, true);
    else
      ptx("@$1 red.global.add.f32 [$0], $2;", "l,b,f", {}, {before, some, sum}, true);
  };
  for (int64_t r = 0; r < layout->numRegs(); ++r) {
    auto [address, predicate] = elementAt(view, op.getIndices(), r);
    Value element = extract(value, r);
    if (predicate)
      element = arith::SelectOp::create(b, predicate, element, zero);
    if (before) {
      Value same = LLVM::ICmpOp::create(b, LLVM::ICmpPredicate::eq, before, address);
      Value joined = arith::AddFOp::create(b, sum, element);
      Value left = arith::SelectOp::create(b, same, zero, sum);
      element = arith::SelectOp::create(b, same, joined, element);
      sum = left;
      add();
    }
    before = address;
    sum = element;
  }
  add();
  return success();
}
