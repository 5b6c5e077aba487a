//===- Matrices.cpp - 8x8 matrices between registers and shared memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ldmatrix and stmatrix move four matrices of 8 rows of 16 bytes at once: lane l says where row
// l mod 8 of matrix l / 8 is. Lane 4 g + t then has, of each, columns 2t and 2t + 1 of row g, as
// accumulators do; transposed, rows 2t and 2t + 1 of column g.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value fa::nvvm::matrixRows(ImplicitLocOpBuilder &b, Value lane, Value slot, tile::SlotType type,
                           Value rowStart, int rowBit) {
  auto i32 = [&](int64_t value) { return arith::ConstantIntOp::create(b, value, 32); };
  auto bit = [&](int n) -> Value {
    return arith::AndIOp::create(b, arith::ShRUIOp::create(b, lane, i32(3 + n)), i32(1));
  };
  Value row = arith::AndIOp::create(b, lane, i32(7));
  row = arith::AddIOp::create(b, row, arith::MulIOp::create(b, bit(rowBit), i32(8)));
  if (rowStart)
    row = arith::AddIOp::create(b, row, rowStart);
  int64_t width = type.getLayout().getBytes();
  Value rowByte = arith::MulIOp::create(b, row, i32(width));
  Value turn =
      arith::RemUIOp::create(b, arith::DivUIOp::create(b, rowByte, i32(128)), i32(width / 16));
  Value chunk = arith::XOrIOp::create(b, bit(1 - rowBit), turn);
  Value place = arith::AddIOp::create(b, rowByte, arith::MulIOp::create(b, chunk, i32(16)));
  return arith::AddIOp::create(b, slot, place);
}

std::pair<Value, int64_t> fa::nvvm::movedMatrices(ImplicitLocOpBuilder &b, Value base,
                                                  tile::SlotType type, int64_t rows,
                                                  int64_t bytes) {
  int64_t width = type.getLayout().getBytes(), inPanel = bytes % width;
  if (inPanel)
    base = arith::XOrIOp::create(b, base, arith::ConstantIntOp::create(b, inPanel, 32));
  return {base, bytes / width * type.getShape()[0] * width + rows * width};
}

Value fa::nvvm::movedRight(ImplicitLocOpBuilder &b, Value base, tile::SlotType type,
                           Value columns) {
  auto i32 = [&](int64_t value) -> Value { return arith::ConstantIntOp::create(b, value, 32); };
  int64_t width = type.getLayout().getBytes();
  Value byte =
      arith::MulIOp::create(b, columns, i32(type.getElementType().getIntOrFloatBitWidth() / 8));
  Value panel = arith::DivUIOp::create(b, byte, i32(width));
  base = arith::XOrIOp::create(b, base, arith::RemUIOp::create(b, byte, i32(width)));
  return arith::AddIOp::create(b, base,
                               arith::MulIOp::create(b, panel, i32(type.getShape()[0] * width)));
}

SmallVector<Value, 4> Emitter::loadMatrices(Value base, int64_t offset, bool transpose) {
  std::string text = std::string("ldmatrix.sync.aligned.m8n8.x4") + (transpose ? ".trans" : "") +
                     ".shared.b16 {$0, $1, $2, $3}, [$4+" + std::to_string(offset) + "];";
  Type word = b.getI32Type();
  return SmallVector<Value, 4>(ptx(text, "=r,=r,=r,=r,r", {word, word, word, word}, base, true));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Read a tile of 2-byte elements as accumulators have it, or as transposed ones do, 16 x 16
/// elements at once. Return false for other layouts, and targets without.
bool Emitter::emitMatrixRead(tile::ReadOp op, const Layout &layout) {
  tile::SlotType slot = op.getSlot().getType();
  constexpr int64_t kSide = 16;
  bool transpose = layout.getLane() == ArrayRef<tile::Mode>{{4, {2, 0}}, {8, {0, 1}}};
  auto isWhole = [&](const tile::Mode &mode) {
    return mode.strides[0] % kSide == 0 && mode.strides[1] % kSide == 0;
  };
  if (!isAsync || slot.getShape().size() != 2 ||
      slot.getElementType().getIntOrFloatBitWidth() != 16 || slot.getLayout().getBytes() != 128 ||
      (!transpose && layout.getLane() != ArrayRef<tile::Mode>{{4, {0, 2}}, {8, {1, 0}}}) ||
      !llvm::all_of(layout.getWarp(), isWhole))
    return false;
  // The registers of each 16 x 16 elements, as ldmatrix brings them.
  SmallVector<std::pair<Coords, SmallVector<int64_t, 8>>> blocks;
  for (int64_t r = 0; r < layout.numRegs(); ++r) {
    Coords at = layout.offsetOfReg(r);
    if (at[0] % kSide != 0 || at[1] % kSide != 0)
      continue;
    auto &registers = blocks.emplace_back(at, SmallVector<int64_t, 8>()).second;
    for (int64_t right : {0, 8})
      for (int64_t down : {0, 8})
        for (int64_t next : {0, 1}) {
          auto found = layout.registerOf(
              {at[0] + down + (transpose ? next : 0), at[1] + right + (transpose ? 0 : next)});
          if (!found)
            return false;
          registers.push_back(*found);
        }
  }
  if (static_cast<int64_t>(blocks.size()) * 8 != layout.numRegs())
    return false;

  Holder own = holderAtUse();
  Value base =
      matrixRows(b, own.lane, get(op.getSlot()), slot, digits(own.warp, layout.getWarp(), 0),
                 /*rowBit=*/0);
  base = movedRight(b, base, slot, digits(own.warp, layout.getWarp(), 1));
  auto type = cast<VectorType>(convert(op.getValue().getType()));
  auto pair = VectorType::get(2, type.getElementType());
  SmallVector<Value> elements(layout.numRegs());
  for (auto &[at, registers] : blocks) {
    auto [place, offset] = movedMatrices(b, base, slot, at[0], 2 * at[1]);
    for (auto [i, word] : llvm::enumerate(loadMatrices(place, offset, transpose))) {
      Value both = fromElements(VectorType::get(1, b.getI32Type()), word);
      both = vector::BitCastOp::create(b, pair, both);
      for (int64_t n : {0, 1})
        elements[registers[2 * i + n]] = extract(both, n);
    }
  }
  set(op.getValue(), fromElements(type, elements));
  return true;
}

/// Write four 8x8 matrices of an accumulator of 2-byte elements by one stmatrix: lane l says where
/// row l mod 16 of the warp's 16 rows and 16 columns is; lanes from 16 on have the right half.
/// Return false for other layouts, and targets without.
bool Emitter::emitMatrixWrite(tile::WriteOp op, const Layout &layout) {
  tile::SlotType slot = op.getSlot().getType();
  ArrayRef<int64_t> shape = slot.getShape();
  constexpr int64_t kRows = tile::kRowsOfWarp, kColumns = 16;
  bool serves =
      isAsync && shape.size() == 2 && slot.getElementType().getIntOrFloatBitWidth() == 16 &&
      shape[1] % kColumns == 0 && slot.getLayout().getBytes() == 128 &&
      layout.getLane() == ArrayRef<tile::Mode>{{4, {0, 2}}, {8, {1, 0}}} &&
      layout.getWarp().size() == 1 && layout.getWarp().front().strides == Coords{kRows, 0} &&
      layout.numWarps() * kRows == shape[0] && layout.numWarps() == warps;
  // The registers of the first matrix, and what others add to them.
  SmallVector<SmallVector<int64_t>> words;
  for (int64_t column = 0; serves && column < shape[1]; column += 8)
    for (int64_t row : {0, 8}) {
      std::optional<int64_t> first = layout.registerOf({row, column}),
                             second = layout.registerOf({row, column + 1});
      serves &= first && second;
      if (serves)
        words.push_back({*first, *second});
    }
  if (!serves)
    return false;

  constexpr int64_t kWidth = 128;
  Value value = get(op.getValue());
  Type element = cast<VectorType>(value.getType()).getElementType();
  Value inWarp = arith::AndIOp::create(b, lane, i32(15));
  Value row = arith::AddIOp::create(b, arith::MulIOp::create(b, warp, i32(kRows)), inWarp);
  Value rowStart =
      arith::AddIOp::create(b, get(op.getSlot()), arith::MulIOp::create(b, row, i32(kWidth)));
  // The 16-byte chunk of the right half, exchanged as the swizzle says. The
  // chunk's other bits are those of the column, which is a constant.
  Value chunk = arith::XOrIOp::create(b, arith::ShRUIOp::create(b, lane, i32(4)),
                                      arith::AndIOp::create(b, lane, i32(7)));
  chunk = arith::MulIOp::create(b, chunk, i32(16));
  SmallVector<Value> places;
  for (int64_t inPanel = 0; inPanel < std::min(2 * shape[1], kWidth); inPanel += 2 * kColumns)
    places.push_back(
        arith::AddIOp::create(b, rowStart, arith::XOrIOp::create(b, chunk, i32(inPanel))));
  for (int64_t column = 0; column < shape[1]; column += kColumns) {
    int64_t panel = 2 * column / kWidth, inPanel = 2 * column % kWidth;
    SmallVector<Value> operands{places[inPanel / (2 * kColumns)]};
    for (int64_t i = 0; i < 4; ++i) {
      ArrayRef<int64_t> word = words[column / 4 + i];
      Value pair = fromElements(VectorType::get(2, element),
                                {extract(value, word[0]), extract(value, word[1])});
      pair = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), pair);
      operands.push_back(extract(pair, 0));
    }
    ptx("stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0+" +
            std::to_string(panel * shape[0] * kWidth) + "], {$1, $2, $3, $4};",
        "r,r,r,r,r,~{memory}", {}, operands, true);
  }
  return true;
}
