//===- AlignBlocks.cpp - blocks of rows that end where the rows end -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. find the program's rows: where all stores begin, and the size of what they store to;
//   2. check the loop's bounds, and all that is computed from the first row;
//   3. subtract the rows of warpgroups that the last block lacks from the first row.
//
// Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "Grid.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEALIGNBLOCKS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// What is computed from the first row
//===----------------------------------------------------------------------===//

/// Return whether the op, on signed integers, is right for rows before 0, where it is for others.
static bool isSigned(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op)) {
    using arith::CmpIPredicate;
    return llvm::is_contained(
        {CmpIPredicate::slt, CmpIPredicate::sle, CmpIPredicate::sgt, CmpIPredicate::sge},
        compare.getPredicate());
  }
  if (isa<arith::AndIOp, arith::OrIOp>(op))
    return op->getResult(0).getType().isInteger(1);
  return isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp, arith::IndexCastOp,
             arith::SelectOp>(op);
}

/// Return the op that is not right where the first row is before 0; null where all are. The slices
/// that are read or written from the first row on are collected.
static Operation *findObstacle(const StoredRows &rows, llvm::SetVector<SliceOp> &slices) {
  SmallVector<Value> worklist{rows.first};
  llvm::DenseSet<Value> seen;
  // Return whether a tile begins at the first row, and with its own first dimension.
  auto isOfRows = [&](Value view, OperandRange indices, ArrayRef<int64_t> dims) {
    if (cast<ViewType>(view.getType()).getOrder() || llvm::count(indices, rows.first) != 1 ||
        indices[dims.front()] != rows.first)
      return false;
    if (auto slice = view.getDefiningOp<SliceOp>())
      slices.insert(slice);
    return true;
  };
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      if (auto load = dyn_cast<LoadOp>(op)) {
        auto tile = dyn_cast<RankedTensorType>(load.getType());
        if (value != rows.first || !tile || tile.getRank() < 2 ||
            !isa<ViewType>(load.getSource().getType()) ||
            !isOfRows(load.getSource(), load.getIndices(), load.getDims()))
          return op;
      } else if (auto store = dyn_cast<StoreOp>(op)) {
        // A vector is stored element by element, those in range.
        if (value != rows.first ||
            !isOfRows(store.getDestination(), store.getIndices(), store.getDims()))
          return op;
      } else if (isa<IotaOp, BroadcastOp, RandomBitsOp, scf::IfOp, scf::ForOp>(op)) {
        // Tiles of positions, or of bits at them, whatever those of no row are; conditions; bounds.
        if (auto loop = dyn_cast<scf::ForOp>(op);
            loop && use.get() != loop.getLowerBound() && use.get() != loop.getUpperBound())
          return op;
      } else if (isSigned(op) && !isa<ShapedType>(value.getType())) {
        llvm::append_range(worklist, op->getResults());
      } else {
        return op;
      }
    }
  }
  return nullptr;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Emit how many rows there are where tiles are stored: a slice's, or those of a dimension of an
/// argument, by its name. Return null where stores differ in it, or nothing says it.
static Value emitStoredLength(OpBuilder &b, FuncOp func) {
  /// Two stores have as many rows where these are equal: a slice's size, or a dimension's name.
  using Length = std::pair<Value, StringRef>;
  auto lengthOf = [&](StoreOp store) -> Length {
    int64_t dim = store.getDims().front();
    Value view = store.getDestination();
    if (auto slice = view.getDefiningOp<SliceOp>())
      return {static_cast<int64_t>(slice.getDim()) == dim ? slice.getSize() : Value(), {}};
    return {{}, func.getDimName(cast<BlockArgument>(view).getArgNumber(), dim)};
  };
  StoreOp first;
  bool same = true;
  func.walk([&](StoreOp store) {
    Length length = lengthOf(store);
    same &= (length.first || !length.second.empty()) && (!first || lengthOf(first) == length);
    first = store;
  });
  if (!first || !same)
    return {};
  if (Value size = lengthOf(first).first)
    return size;
  auto dim = DimOp::create(b, first.getLoc(), b.getIndexType(), first.getDestination(),
                           first.getDims().front());
  dim->setAttr(TileDialect::kAtUseAttr, b.getUnitAttr());
  return dim;
}

namespace {

struct AlignBlocks : tile::impl::TileAlignBlocksBase<AlignBlocks> {
  using Base::Base;

  void runOnOperation() override;
};

} // namespace

/// Return the only loop with products; null if there are none or several, or its bounds
/// are not derived from the rows.
static scf::ForOp findLoop(FuncOp func) {
  SmallVector<scf::ForOp> loops;
  func.walk([&](scf::ForOp loop) {
    if (fa::holds<DotOp>(loop))
      loops.push_back(loop);
  });
  bool fits = loops.size() == 1 && loops.front()->hasAttr(TileDialect::kRowDerivedAttr);
  return fits ? loops.front() : scf::ForOp();
}

void AlignBlocks::runOnOperation() {
  FuncOp func = getOperation();
  scf::ForOp loop = findLoop(func);
  StoredRows rows = storedRowsOf(func);
  if (!loop || !rows.first)
    return;
  auto product = rows.first.getDefiningOp<arith::MulIOp>();
  APInt size;
  if (!product || !matchPattern(product.getRhs(), m_ConstantInt(&size)) ||
      size.getSExtValue() != rows.count || rows.count % kRowsOfGroup != 0 ||
      rows.count == kRowsOfGroup || trendOf(loop.getLowerBound(), rows.first) != Trend::constant ||
      trendOf(loop.getUpperBound(), rows.first, /*pieces=*/true) != Trend::rises)
    return;
  llvm::SetVector<SliceOp> slices;
  if (Operation *op = findObstacle(rows, slices)) {
    fa::remarkMissed(*this, loop.getLoc(), "blocks")
        << fa::decision("blocks begin with the first row")
        << remark::reason("'{0}' at {1} needs rows from 0 on", op->getName().getStringRef(),
                          op->getLoc());
    return;
  }

  ImplicitLocOpBuilder b(rows.first.getLoc(), func);
  b.setInsertionPointAfterValue(rows.first);
  Value n = emitStoredLength(b, func);
  Operation *known = n ? n.getDefiningOp() : nullptr;
  if (!known || known->getBlock() != product->getBlock() ||
      llvm::any_of(product->getUsers(), [&](Operation *user) {
        return !known->isBeforeInBlock(product->getBlock()->findAncestorOpInBlock(*user));
      }))
    return;
  if (product->isBeforeInBlock(known))
    b.setInsertionPointAfter(known);
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(b, number);
  };
  // Of the last block's rows, warpgroup (n - 1) % R / 64 has the last one.
  Value count = product.getRhs(), group = constant(kRowsOfGroup);
  Value last =
      arith::RemUIOp::create(b, arith::AddIOp::create(b, n, constant(rows.count - 1)), count);
  Value lacking = arith::SubIOp::create(b, constant(rows.count / kRowsOfGroup - 1),
                                        arith::DivUIOp::create(b, last, group));
  Value several = arith::CmpIOp::create(b, arith::CmpIPredicate::ugt, n, count);
  Value moved =
      arith::SelectOp::create(b, several, arith::MulIOp::create(b, lacking, group), constant(0));
  Value first = fa::named(arith::SubIOp::create(b, rows.first, moved), "first");
  rows.first.replaceAllUsesExcept(first, first.getDefiningOp());
  for (SliceOp slice : slices)
    slice.setFront(true);
  fa::remarkPassed(*this, loop.getLoc(), "blocks")
      << fa::decision("the first block has fewer rows, not the last one")
      << remark::reason("the loop ends later for later rows");
}
