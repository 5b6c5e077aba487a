//===- Products.h - products, sums and factors of rows ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"
#include <optional>

namespace mlir::tile {

/// Return whether all products have operands of so many bytes an element; 0 is any number.
inline bool haveOperandsOf(int64_t bytes, FuncOp func) {
  if (bytes == 0)
    return true;
  bool any = false;
  WalkResult others = func.walk([&](DotOp dot) {
    any = true;
    auto type = dyn_cast<RankedTensorType>(dot.getB().getType()); // none in shared memory
    return type && type.getElementTypeBitWidth() == 8 * bytes ? WalkResult::advance()
                                                              : WalkResult::interrupt();
  });
  return any && !others.wasInterrupted();
}

/// Return whether some product takes f16, whose exponents have 5 bits.
inline bool takesF16(FuncOp func) {
  return func
      .walk([](DotOp dot) {
        return getElementTypeOrSelf(dot.getA().getType()).isF16() ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Check that the number that an option gives is not negative; emit an error if it is.
inline bool isCount(FuncOp func, const Pass::Option<int64_t> &option) {
  if (option < 0)
    func.emitError() << option.getArgStr() << " must be 0 or more, got " << option.getValue();
  return option >= 0;
}

/// Columns of which lanes of a group hold two each, in accumulators of all matrix
/// instructions: as many of them, and as many again, are registers of the same lanes.
constexpr int64_t kColumnsOfGroup = 8;

/// Return the rows that the warps of a program have with one matrix instruction each.
inline int64_t rowsOfWarps(FuncOp func) { return kRowsOfWarp * func.getNumWarps(); }

/// Return whether the loops of a program have registers for more values per row: not
/// where a warp has more rows than one matrix instruction.
inline bool haveRegistersForRows(FuncOp func, int64_t rows) { return rows <= rowsOfWarps(func); }

/// Return the constant that fills a tile.
inline std::optional<APFloat> splatOf(Value value) {
  APFloat number(0.0f);
  if (auto broadcast = value.getDefiningOp<BroadcastOp>(); broadcast && !broadcast.getDim())
    value = broadcast.getInput();
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  return std::nullopt;
}

inline bool isZeroTile(Value value) {
  std::optional<APFloat> number = splatOf(value);
  return number && number->isZero();
}

/// Return whether -inf fills the tile.
inline bool isLowestTile(Value value) {
  std::optional<APFloat> number = splatOf(value);
  return number && number->isInfinity() && number->isNegative();
}

/// Fill a tile with a number.
inline Value fillTile(ImplicitLocOpBuilder &b, Type tile, const APFloat &number) {
  auto type = cast<RankedTensorType>(tile);
  Value scalar = arith::ConstantOp::create(b, b.getFloatAttr(type.getElementType(), number));
  return BroadcastOp::create(b, type, scalar, IntegerAttr());
}

/// Return for which rows the factor is not 1 (NaN is not).
inline Value isNotOne(ImplicitLocOpBuilder &b, Value factor) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor,
                               fillTile(b, factor.getType(), APFloat(1.0f)));
}

/// Return which of the loop's values the argument is, if the loop yields `next` for it.
inline std::optional<unsigned> carriedAs(scf::ForOp loop, Value argument, Value next) {
  auto block = dyn_cast<BlockArgument>(argument);
  if (!block || block.getOwner() != loop.getBody() || block.getArgNumber() == 0)
    return std::nullopt;
  unsigned number = block.getArgNumber() - 1;
  return loop.getYieldedValues()[number] == next ? std::optional(number) : std::nullopt;
}

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTS_H
