//===- CPUVectorize.cpp - cpu-vectorize -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In steps:
//   1. each linalg op becomes a nest of loops over tiles of static size; what
//      does not divide evenly is peeled into tiles of its own, so that no size
//      is dynamic and nothing is masked;
//   2. the tiles become vectors (upstream's linalg::vectorize);
//   3. views are folded into the accesses, and the accumulator of a product,
//      read and written at one place in the innermost loop, is kept in registers.
//
// The order of the loops of a product is columns, rows, k: the columns of b
// stay in the first-level cache while the rows go by.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Hoisting.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPUVECTORIZE
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

//===----------------------------------------------------------------------===//
// Tiling
//===----------------------------------------------------------------------===//

namespace {
/// How to cut one linalg op.
struct Plan {
  SmallVector<int64_t> tiles;  // per dimension
  SmallVector<unsigned> order; // of the loops, outermost first
  int64_t smallest = 0;        // a remainder is cut in halves of the tile down to this
};

/// The elements begin to end - 1 of a dimension, in tiles of one size.
struct Piece {
  int64_t begin, end, tile;
};

/// Cuts one op; `emit` is called in the innermost body.
class Tiler {
public:
  Tiler(RewriterBase &rewriter, linalg::LinalgOp op, Plan plan)
      : b(rewriter), op(op), plan(std::move(plan)), ranges(op.getStaticLoopRanges()),
        offsets(ranges.size()), sizes(ranges.size()) {}

  void run(SmallVectorImpl<Operation *> &tiled) {
    b.setInsertionPoint(op);
    cut(0, tiled);
    b.eraseOp(op);
  }

private:
  SmallVector<Piece> split(int64_t size, int64_t tile) const {
    SmallVector<Piece> pieces;
    if (tile <= 0)
      tile = size;
    for (int64_t at = 0; at < size;) {
      while (tile > size - at && tile / 2 >= plan.smallest && tile % 2 == 0)
        tile /= 2;
      tile = std::min(tile, size - at);
      int64_t end = at + (size - at) / tile * tile;
      pieces.push_back({at, end, tile});
      at = end;
    }
    return pieces;
  }

  void cut(unsigned depth, SmallVectorImpl<Operation *> &tiled) {
    Location loc = op.getLoc();
    if (depth == plan.order.size())
      return emit(loc, tiled);
    unsigned dim = plan.order[depth];
    for (Piece piece : split(ranges[dim], plan.tiles[dim])) {
      sizes[dim] = b.getIndexAttr(piece.tile);
      if (piece.end - piece.begin == piece.tile) {
        offsets[dim] = b.getIndexAttr(piece.begin);
        cut(depth + 1, tiled);
        continue;
      }
      Value begin = arith::ConstantIndexOp::create(b, loc, piece.begin);
      Value end = arith::ConstantIndexOp::create(b, loc, piece.end);
      Value step = arith::ConstantIndexOp::create(b, loc, piece.tile);
      auto loop = scf::ForOp::create(b, loc, begin, end, step);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(loop.getBody()->getTerminator());
      offsets[dim] = loop.getInductionVar();
      cut(depth + 1, tiled);
    }
  }

  void emit(Location loc, SmallVectorImpl<Operation *> &tiled) {
    SmallVector<OpFoldResult> bounds;
    for (int64_t range : ranges)
      bounds.push_back(b.getIndexAttr(range));
    SmallVector<Value> operands = linalg::makeTiledShapes(
        b, loc, op, op->getOperands(), offsets, sizes, bounds, /*omitPartialTileCheck=*/true);
    auto tile = cast<linalg::LinalgOp>(mlir::clone(b, op, TypeRange(), operands));
    linalg::offsetIndices(b, tile, offsets);
    tiled.push_back(tile);
  }

  RewriterBase &b;
  linalg::LinalgOp op;
  Plan plan;
  SmallVector<int64_t> ranges;
  SmallVector<OpFoldResult> offsets, sizes;
};
} // namespace

static Plan makePlan(linalg::LinalgOp op, int64_t lanes, int64_t dotRows, int64_t dotColumns) {
  Plan plan;
  unsigned rank = op.getNumLoops();
  plan.tiles.assign(rank, 1);
  plan.order = llvm::to_vector(llvm::seq(rank));
  plan.smallest = lanes;
  if (isa<linalg::MatmulOp>(op)) {
    plan.tiles = {dotRows, dotColumns, 1};
    plan.order = {1, 0, 2};
  } else if (isa<linalg::TransposeOp>(op)) {
    plan.tiles.assign(rank, lanes);
    plan.smallest = 1;
  } else if (op.getNumReductionLoops() && rank &&
             linalg::isReductionIterator(op.getIteratorTypesArray().back())) {
    // Four rows at a time hide the latency of the tree at the end of each.
    plan.tiles.back() = 16 * lanes;
    if (rank > 1)
      plan.tiles[rank - 2] = 4;
  } else if (rank) {
    plan.tiles.back() = 4 * lanes;
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

static LogicalResult vectorizeTile(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  FailureOr<linalg::VectorizationResult> result = linalg::vectorize(rewriter, op);
  if (failed(result))
    return op->emitError("cannot be vectorized for the cpu");
  if (result->replacements.empty())
    rewriter.eraseOp(op);
  else
    rewriter.replaceOp(op, result->replacements);
  return success();
}

static void foldViews(func::FuncOp func) {
  MLIRContext *context = func.getContext();
  RewritePatternSet patterns(context);
  vector::populateVectorTransferPermutationMapLoweringPatterns(patterns);
  vector::populateVectorReductionToContractPatterns(patterns);
  vector::TransferReadOp::getCanonicalizationPatterns(patterns, context);
  vector::TransferWriteOp::getCanonicalizationPatterns(patterns, context);
  memref::SubViewOp::getCanonicalizationPatterns(patterns, context);
  memref::populateFoldMemRefAliasOpPatterns(patterns);
  affine::AffineApplyOp::getCanonicalizationPatterns(patterns, context);
  (void)applyPatternsGreedily(func, std::move(patterns));
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct CPUVectorize : fa::impl::CPUVectorizeBase<CPUVectorize> {
  using CPUVectorizeBase::CPUVectorizeBase;

  void runOnOperation() override {
    func::FuncOp func = getOperation();
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> ops;
    func.walk([&](linalg::LinalgOp op) { ops.push_back(op); });
    SmallVector<Operation *> tiled;
    for (linalg::LinalgOp op : ops) {
      if (!op.hasPureBufferSemantics()) {
        op.emitError("has tensors, expected buffers; run cpu-bufferize first");
        return signalPassFailure();
      }
      if (op.hasDynamicShape()) {
        op.emitError("has no static shape; tiles of the cpu have one");
        return signalPassFailure();
      }
      Tiler(rewriter, op, makePlan(op, lanes, dotRows, dotColumns)).run(tiled);
    }
    for (Operation *op : tiled)
      if (failed(vectorizeTile(rewriter, op)))
        return signalPassFailure();
    foldViews(func);
    linalg::hoistRedundantVectorTransfers(func);
    func.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
  }
};
} // namespace
