//===- SharedMemory.cpp - rings in shared memory, and copies to them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A copy is cut into chunks of 16 bytes, row by row; chunk c belongs to thread
// c mod the number of threads. Addresses in shared memory are 32 bits wide, the
// constant part of them an immediate of the instruction.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Declare the start of the kernel's shared memory, which the launch sizes.
void Emitter::declareShared() {
  constexpr StringLiteral name = "shared_memory";
  if (!SymbolTable::lookupSymbolIn(kernel->getParentOp(), name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(kernel);
    LLVM::GlobalOp::create(b, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/false,
                           LLVM::Linkage::External, name, Attribute(), /*alignment=*/1024,
                           unsigned(NVVM::NVVMMemorySpace::Shared));
  }
  Type pointer =
      LLVM::LLVMPointerType::get(b.getContext(), unsigned(NVVM::NVVMMemorySpace::Shared));
  Value address = LLVM::AddressOfOp::create(b, pointer, name);
  shared = LLVM::PtrToIntOp::create(b, b.getI32Type(), address);
}

LogicalResult Emitter::emitSlotAt(tile::SlotAtOp op) {
  tile::RingType type = op.getRing().getType();
  Value start = arith::AddIOp::create(b, shared, i32(rings.at(op.getRing())));
  int64_t slot = type.getSlot().strideInBytes();
  if (type.getStages() > 1) {
    Value stage = arith::TruncIOp::create(b, b.getI32Type(), get(op.getStage()));
    start = arith::AddIOp::create(b, start, arith::MulIOp::create(b, stage, i32(slot)));
  }
  set(op.getResult(), start);
  return success();
}

/// Return the byte at which an element of a slot stands, from the slot's start.
Value Emitter::sharedOffset(tile::SlotType slot, Value row, Value column) {
  int64_t bytes = slot.getElementType().getIntOrFloatBitWidth() / 8;
  int64_t width = slot.getLayout().getBytes();
  Value columnByte = arith::MulIOp::create(b, column, i32(bytes));
  if (slot.getShape().size() == 1)
    return columnByte;
  Value panel = arith::DivUIOp::create(b, columnByte, i32(width));
  Value inPanel = arith::RemUIOp::create(b, columnByte, i32(width));
  Value rowByte = arith::MulIOp::create(b, row, i32(width));
  Value turn =
      arith::RemUIOp::create(b, arith::DivUIOp::create(b, rowByte, i32(128)), i32(width / 16));
  inPanel = arith::XOrIOp::create(b, inPanel, arith::MulIOp::create(b, turn, i32(16)));
  Value panelByte = arith::MulIOp::create(b, panel, i32(slot.getShape()[0] * width));
  return arith::AddIOp::create(b, arith::AddIOp::create(b, panelByte, rowByte), inPanel);
}

//===----------------------------------------------------------------------===//
// Copies from memory
//===----------------------------------------------------------------------===//

namespace {

/// The chunks of a slot that one thread copies: by cp.async, of each panel of shared memory those
/// of the same rows, where that takes no more copies than chunks in the order of memory: one
/// address and range serve them all, and eight threads write all banks. Where each row takes as
/// many threads, a thread stays in its column and goes down by `step` rows; where that step keeps
/// the swizzle too, only a constant is added to its place.
struct Chunks {
  Chunks(tile::SlotType slot, int64_t threads, bool byPanels) : slot(slot), threads(threads) {
    elements = 128 / slot.getElementType().getIntOrFloatBitWidth();
    perRow = llvm::divideCeil(slot.getShape().back(), elements);
    int64_t rows = slot.getShape().size() == 2 ? slot.getShape()[0] : 1;
    int64_t ofPanel = slot.getLayout().getBytes() / 16;
    if (byPanels && slot.getShape().size() == 2 && perRow % ofPanel == 0 &&
        perRow / ofPanel * llvm::divideCeil(ofPanel * rows, threads) ==
            llvm::divideCeil(perRow * rows, threads)) {
      panels = perRow / ofPanel;
      perRow = ofPanel;
    }
    count = perRow * rows;
    regular = threads % perRow == 0;
    step = regular ? threads / perRow : 0;
  }
  bool keepsSwizzle() const { return regular && step % 8 == 0; }

  tile::SlotType slot;
  /// Count threads, elements of a chunk, panels, chunks of a row of a panel and in all of it, and
  /// the rows between two chunks of a thread.
  int64_t threads, elements, panels = 1, perRow, count, step;
  bool regular;
};

} // namespace

/// The facts that all chunks of a copy have in common.
struct Emitter::ChunkCopy {
  tile::CopyOp op;
  const ViewParts &view;
  tile::SlotType slot;
  Chunks chunks;
  /// The view's dimensions that the tile's rows and columns run along; no rows if it is flat.
  int64_t rowDim, columnDim;
  SmallVector<Value> starts;
  /// True if the dimensions beside these are in range; null if there are none. Rows of the tile
  /// that are in range, in 32 bits: less to keep in registers. The first is null if it is 0.
  Value common, firstRow, lastRow;
  /// True if all columns are in range: the tile starts at 0 and is no wider than the view.
  bool whole;

  bool isFlat() const { return rowDim < 0; }
};

/// A chunk: where it comes from and goes to.
struct Emitter::Chunk {
  Value from, to;
  /// Bytes behind `from` and `to`.
  int64_t ahead = 0, immediate = 0;
  /// The column of the view; whether its row is in range and whether it is one of the tile; null
  /// where that is so.
  Value column, inRows, inTile;
};

Emitter::ChunkCopy Emitter::startCopy(tile::CopyOp op) {
  tile::SlotType slot = op.getSlot().getType();
  bool flat = slot.getShape().size() == 1;
  ChunkCopy copy{op,
                 views[op.getSource()],
                 slot,
                 Chunks(slot, 32 * warps, op.getCopy() == tile::Copy::cp_async),
                 flat ? -1 : op.getDims()[0],
                 op.getDims().back(),
                 {},
                 {},
                 {},
                 {},
                 false};
  for (Value index : op.getIndices())
    copy.starts.push_back(get(index));
  for (int64_t d = 0; d < static_cast<int64_t>(copy.starts.size()); ++d)
    if (d != copy.rowDim && d != copy.columnDim)
      copy.common = both(copy.common, inRange(copy.starts[d], copy.view.sizes[d]));
  APInt start, size;
  copy.whole = matchPattern(copy.starts[copy.columnDim], m_ConstantInt(&start)) && start.isZero() &&
               matchPattern(copy.view.sizes[copy.columnDim], m_ConstantInt(&size)) &&
               size.getSExtValue() >= slot.getShape().back() &&
               slot.getShape().back() % copy.chunks.elements == 0;
  if (flat)
    return copy;
  int64_t rows = slot.getShape()[0];
  Value first = copy.starts[copy.rowDim];
  copy.lastRow = countFrom(first, copy.view.sizes[copy.rowDim], rows);
  if (!tile::isNonNegative(op.getIndices()[copy.rowDim]))
    copy.firstRow = countFrom(first, i64(0), rows);
  return copy;
}

/// Copy a chunk by cp.async, which fills with 0 what is out of range: all of it by a predicate, or
/// what is behind so many bytes. The latter take a register and three instructions to find.
void Emitter::copyAsync(const ChunkCopy &copy, const Chunk &chunk) {
  // A chunk of 16 bytes lies on one side of the row's start.
  Value readable = chunk.inRows;
  tile::CopyOp op = copy.op;
  if (!tile::isNonNegative(op.getIndices()[copy.columnDim]))
    readable =
        both(readable, arith::CmpIOp::create(b, arith::CmpIPredicate::sge, chunk.column, i64(0)));
  auto emit = [&](Value missing, StringRef constraint) {
    Value run = chunk.inTile ? chunk.inTile : Value(arith::ConstantIntOp::create(b, 1, 1));
    ptx("@$3 cp.async.cg.shared.global [$0+" + std::to_string(chunk.immediate) + "], [$1+" +
            std::to_string(chunk.ahead) + "], 16, $2;",
        ("r,l," + constraint + ",b").str(), {}, {chunk.to, chunk.from, missing, run}, true);
  };
  if (copy.whole && readable) {
    emit(arith::XOrIOp::create(b, readable, arith::ConstantIntOp::create(b, 1, 1)), "b");
    return;
  }
  Value bytes = i32(16);
  if (!copy.whole) {
    Value left = arith::SubIOp::create(b, copy.view.sizes[copy.columnDim], chunk.column);
    left = arith::MaxSIOp::create(b, left, i64(0));
    left = arith::MinSIOp::create(b, left, i64(copy.chunks.elements));
    bytes = arith::TruncIOp::create(b, b.getI32Type(), left);
    bytes = arith::MulIOp::create(b, bytes, i32(16 / copy.chunks.elements));
  }
  if (readable)
    bytes = arith::SelectOp::create(b, readable, bytes, i32(0));
  emit(bytes, "r");
}

/// Copy a chunk by registers: element by element, since nothing is known to be aligned.
void Emitter::copyByRegisters(const ChunkCopy &copy, const Chunk &chunk) {
  SmallVector<Value> elements;
  for (int64_t i = 0; i < copy.chunks.elements; ++i) {
    Value index = b.createOrFold<arith::AddIOp>(chunk.column, i64(i));
    Value readable = both(both(chunk.inRows, chunk.inTile),
                          copy.whole ? Value() : inRange(index, copy.view.sizes[copy.columnDim]));
    Value place = LLVM::GEPOp::create(b, chunk.from.getType(), copy.view.element, chunk.from,
                                      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    elements.push_back(loadGlobal(place, readable, copy.view.element, copy.view.written));
  }
  auto type = VectorType::get(copy.chunks.elements, copy.view.element);
  storeShared(chunk.to, chunk.immediate, fromElements(type, elements), chunk.inTile);
}

LogicalResult Emitter::emitCopy(tile::CopyOp op) {
  if (op.getCopy() == tile::Copy::tma)
    return emitTensorCopy(op);
  ChunkCopy copy = startCopy(op);
  const Chunks &chunks = copy.chunks;
  Value thread = pinToUse(this->thread);
  Value row0 = arith::DivUIOp::create(b, thread, i32(chunks.perRow));
  Value column0 = arith::MulIOp::create(b, arith::RemUIOp::create(b, thread, i32(chunks.perRow)),
                                        i32(chunks.elements));
  Chunk chunk{};
  Value place0;
  for (int64_t first = 0; first < chunks.count; first += chunks.threads) {
    Value number, row = row0, column = column0;
    int64_t moved = first / chunks.threads * chunks.step;
    chunk.immediate = 0;
    chunk.inTile = Value();
    if (first != 0 || first + chunks.threads > chunks.count)
      number = arith::AddIOp::create(b, thread, i32(first));
    if (first + chunks.threads > chunks.count)
      chunk.inTile = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, number, i32(chunks.count));
    if (chunks.regular && first != 0) {
      row = arith::AddIOp::create(b, row0, i32(moved));
    } else if (first != 0) {
      row = arith::DivUIOp::create(b, number, i32(chunks.perRow));
      column = arith::MulIOp::create(b, arith::RemUIOp::create(b, number, i32(chunks.perRow)),
                                     i32(chunks.elements));
    }
    if (!place0 || !chunks.keepsSwizzle()) {
      chunk.to = arith::AddIOp::create(b, get(op.getSlot()), sharedOffset(copy.slot, row, column));
      place0 = chunk.to;
    } else {
      chunk.to = place0;
      chunk.immediate = moved * copy.slot.getLayout().getBytes();
    }
    findSource(copy, row, column, chunk);
    if (op.getCopy() == tile::Copy::cp_async)
      copyPanels(copy, chunk);
    else
      copyByRegisters(copy, chunk);
  }
  return success();
}

/// Copy a chunk, and those at the same place of all panels behind it: columns of the same row.
void Emitter::copyPanels(const ChunkCopy &copy, Chunk chunk) {
  int64_t columns = copy.chunks.perRow * copy.chunks.elements;
  for (int64_t panel = 0; panel < copy.chunks.panels; ++panel) {
    copyAsync(copy, chunk);
    chunk.column = b.createOrFold<arith::AddIOp>(chunk.column, i64(columns));
    chunk.ahead += columns * 16 / copy.chunks.elements;
    chunk.immediate += copy.slot.getLayout().getBytes() * copy.slot.getShape()[0];
  }
}

/// Set where the chunk at a row and column of the tile comes from, and whether that is in range.
/// The address follows from that of the chunk before where chunks are regular.
void Emitter::findSource(const ChunkCopy &copy, Value row, Value column, Chunk &chunk) {
  SmallVector<Value> at = copy.starts;
  Value inRows = copy.common;
  if (!copy.isFlat()) {
    at[copy.rowDim] = arith::AddIOp::create(b, copy.starts[copy.rowDim], toI64(row));
    inRows = both(inRows, arith::CmpIOp::create(b, arith::CmpIPredicate::ult, row, copy.lastRow));
    if (copy.firstRow)
      inRows =
          both(inRows, arith::CmpIOp::create(b, arith::CmpIPredicate::uge, row, copy.firstRow));
  }
  chunk.column = at[copy.columnDim] =
      b.createOrFold<arith::AddIOp>(copy.starts[copy.columnDim], toI64(column));
  chunk.inRows = inRows;
  if (!chunk.from || !copy.chunks.regular) {
    chunk.from = elementAddress(copy.view, at);
    return;
  }
  Value step = arith::MulIOp::create(b, copy.view.strides[copy.rowDim], i64(copy.chunks.step));
  chunk.from = LLVM::GEPOp::create(b, chunk.from.getType(), copy.view.element, chunk.from,
                                   ArrayRef<LLVM::GEPArg>{step});
}

/// Store a vector of 2, 4, 8 or 16 bytes.
void Emitter::storeShared(Value address, int64_t offset, Value value, Value predicate) {
  auto type = cast<VectorType>(value.getType());
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  std::string place = "[$0+" + std::to_string(offset) + "]";
  if (!predicate)
    predicate = arith::ConstantIntOp::create(b, 1, 1);
  SmallVector<Value> operands{address, predicate};
  Type word = b.getIntegerType(std::min<int64_t>(8 * bytes, 32));
  int64_t words = std::max<int64_t>(bytes / 4, 1);
  value = vector::BitCastOp::create(b, VectorType::get(words, word), value);
  for (int64_t i = 0; i < words; ++i)
    operands.push_back(extract(value, i));
  if (bytes == 2)
    ptx("@$1 st.shared.b16 " + place + ", $2;", "r,b,h", {}, operands, true);
  else if (bytes == 4)
    ptx("@$1 st.shared.b32 " + place + ", $2;", "r,b,r", {}, operands, true);
  else if (bytes == 8)
    ptx("@$1 st.shared.v2.b32 " + place + ", {$2, $3};", "r,b,r,r", {}, operands, true);
  else
    ptx("@$1 st.shared.v4.b32 " + place + ", {$2, $3, $4, $5};", "r,b,r,r,r,r", {}, operands, true);
}

//===----------------------------------------------------------------------===//
// Registers to and from shared memory
//===----------------------------------------------------------------------===//

/// Return the address of a register's element as a base and an immediate: whole periods of the
/// swizzle, and whole panels, are the immediate, so that registers share the base.
std::pair<Value, int64_t> Emitter::sharedPlace(Value slot, tile::SlotType type,
                                               const Layout &layout, int64_t reg) {
  // The period of each swizzle, in rows.
  constexpr int64_t kPeriod = 8;
  Coords offset = layout.offsetOfReg(reg);
  unsigned columnDim = layout.getRank() - 1;
  Value row = i32(0), column = threadOffset(layout, columnDim);
  int64_t behind = 0, width = type.getLayout().getBytes();
  int64_t bytes = type.getElementType().getIntOrFloatBitWidth() / 8, at = offset[columnDim] * bytes;
  if (layout.getRank() == 2) {
    row = arith::AddIOp::create(b, threadOffset(layout, 0), i32(offset[0] % kPeriod));
    behind = offset[0] / kPeriod * kPeriod * width + at / width * width * type.getShape()[0];
    at %= width;
  }
  column = arith::AddIOp::create(b, column, i32(at / bytes));
  return {arith::AddIOp::create(b, slot, sharedOffset(type, row, column)), behind};
}

/// Load numbers, up to four at once. Shuffle the first one, the last to be loaded, which makes it
/// one for the warp and waits for all lanes to have them; after two shuffles, ptxas takes the
/// warp for divided.
LogicalResult Emitter::emitReadNumbers(tile::ReadOp op) {
  constexpr size_t kMost = 4;
  SmallVector<Value> numbers(op.getValues().size());
  for (size_t i = llvm::alignTo(numbers.size(), kMost); i > 0;) {
    i -= kMost;
    size_t count = std::min(kMost, numbers.size() - i);
    size_t loaded = llvm::PowerOf2Ceil(count);
    std::string names = "$0", outs = "=r";
    for (size_t n = 1; n < loaded; ++n) {
      names += ", $" + std::to_string(n);
      outs += ",=r";
    }
    std::string vector = loaded > 1 ? ".v" + std::to_string(loaded) : "";
    SmallVector<Type> types(loaded, b.getI32Type());
    SmallVector<Value> words =
        ptx("ld.shared" + vector + ".b32 " + (loaded > 1 ? "{" + names + "}" : names) + ", [$" +
                std::to_string(loaded) + "+" + std::to_string(4 * i) + "];",
            outs + ",r,~{memory}", types, get(op.getSlot()), true);
    llvm::copy(ArrayRef(words).take_front(count), numbers.begin() + i);
  }
  numbers.front() = NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), numbers.front(), i32(0),
                                         i32(31), NVVM::ShflKind::idx, UnitAttr());
  for (auto [result, number] : llvm::zip_equal(op.getValues(), numbers))
    set(result, number);
  return success();
}

/// Return whether registers come in pairs that stand side by side, the first at an even place.
static bool hasPairs(const Layout &layout) {
  unsigned last = layout.getRank() - 1;
  auto isEven = [&](const tile::Mode &mode) { return mode.strides[last] % 2 == 0; };
  if (layout.numRegs() % 2 != 0 || !llvm::all_of(layout.getLane(), isEven) ||
      !llvm::all_of(layout.getWarp(), isEven))
    return false;
  for (int64_t r = 0; r < layout.numRegs(); r += 2) {
    Coords next = layout.offsetOfReg(r);
    if (next[last] % 2 != 0)
      return false;
    ++next[last];
    if (layout.offsetOfReg(r + 1) != next)
      return false;
  }
  return true;
}

/// Load one element of 2, 4 or 8 bytes, or two of up to 4 that stand side by side.
SmallVector<Value> Emitter::loadShared(Value address, int64_t offset, Type element, int64_t count) {
  std::string place = "[$" + std::to_string(count) + "+" + std::to_string(offset) + "]";
  if (element.getIntOrFloatBitWidth() == 32) {
    // A float in a register of floats: its sign is changed by what uses it.
    bool isFloat = element.isF32();
    std::string out = isFloat ? "=f" : "=r", type = isFloat ? "f32" : "b32";
    SmallVector<Type> types(count, isFloat ? element : b.getI32Type());
    std::string names = "$0", outs = out;
    for (int64_t i = 1; i < count; ++i) {
      names += ", $" + std::to_string(i);
      outs += "," + out;
    }
    std::string vector = count > 1 ? ".v" + std::to_string(count) : "";
    SmallVector<Value> values =
        ptx("ld.shared" + vector + "." + type + " " + (count > 1 ? "{" + names + "}" : names) +
                ", " + place + ";",
            outs + ",r", types, address, true);
    for (Value &value : values)
      value = b.createOrFold<arith::BitcastOp>(element, value);
    return values;
  }
  if (element.getIntOrFloatBitWidth() == 64) {
    Value value = ptx("ld.shared.b64 $0, " + place + ";", "=l,r", b.getI64Type(), address, true)[0];
    return {b.createOrFold<arith::BitcastOp>(element, value)};
  }
  if (count == 1) {
    Value value = ptx("ld.shared.b16 $0, " + place + ";", "=h,r", b.getI16Type(), address, true)[0];
    return {b.createOrFold<arith::BitcastOp>(element, value)};
  }
  // Two halves of a word: one output.
  place = "[$1+" + std::to_string(offset) + "]";
  Value word = ptx("ld.shared.b32 $0, " + place + ";", "=r,r", b.getI32Type(), address, true)[0];
  word = fromElements(VectorType::get(1, b.getI32Type()), word);
  Value both = vector::BitCastOp::create(b, VectorType::get(2, element), word);
  return {extract(both, 0), extract(both, 1)};
}

LogicalResult Emitter::emitRead(tile::ReadOp op) {
  if (!isa<RankedTensorType>(op.getValue().getType()))
    return emitReadNumbers(op);
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  if (op.getOrder())
    return emitOrderedRead(op, *layout);
  auto type = cast<VectorType>(convert(op.getValue().getType()));
  int64_t bits = type.getElementTypeBitWidth();
  if (bits != 64 && bits != 32 && bits != 16)
    return op.emitError() << "shared memory is read in elements of 16, 32 or 64 bits, got "
                          << type.getElementType();
  if (emitMatrixRead(op, *layout))
    return success();
  // Along one dimension, places differ by constants.
  tile::SlotType slot = op.getSlot().getType();
  bool flat = layout->getRank() == 1;
  Value start = flat ? arith::AddIOp::create(b, get(op.getSlot()),
                                             sharedOffset(slot, i32(0), threadOffset(*layout, 0)))
                     : Value();
  bool pairs = bits < 64 && hasPairs(*layout);
  SmallVector<Value> elements;
  for (int64_t r = 0; r < layout->numRegs(); r += pairs ? 2 : 1) {
    auto [place, offset] = flat ? std::pair(start, layout->offsetOfReg(r)[0] * bits / 8)
                                : sharedPlace(get(op.getSlot()), slot, *layout, r);
    for (Value element : loadShared(place, offset, type.getElementType(), pairs ? 2 : 1))
      elements.push_back(element);
  }
  set(op.getValue(), fromElements(type, elements));
  return success();
}

LogicalResult Emitter::emitWrite(tile::WriteOp op) {
  if (!isa<RankedTensorType>(op.getValue().getType())) {
    auto store = [&](Value number, int64_t at) {
      ptxByOne("st.shared.b32 [$0+" + std::to_string(4 * at) + "], $1;", "r,r",
               {get(op.getSlot()), get(number)});
    };
    store(op.getValue(), 0);
    for (auto [i, number] : llvm::enumerate(op.getOthers()))
      store(number, i + 1);
    return success();
  }
  FailureOr<Layout> layout = layoutOf(op.getValue());
  if (failed(layout))
    return failure();
  if (op.getOrder())
    return emitOrderedWrite(op, *layout);
  if (emitMatrixWrite(op, *layout))
    return success();
  Value value = get(op.getValue());
  int64_t bits = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  if (bits != 64 && bits != 32 && bits != 16)
    return op.emitError() << "shared memory is written in elements of 16, 32 or 64 bits, got "
                          << value.getType();
  Value first = isFirstHolder(*layout);
  int64_t count = bits == 16 && hasPairs(*layout) ? 2 : 1;
  for (int64_t r = 0; r < layout->numRegs(); r += count) {
    auto [place, behind] = sharedPlace(get(op.getSlot()), op.getSlot().getType(), *layout, r);
    SmallVector<Value> elements;
    for (int64_t i = 0; i < count; ++i)
      elements.push_back(extract(value, r + i));
    storeShared(place, behind,
                fromElements(VectorType::get(count, elements[0].getType()), elements), first);
  }
  return success();
}
