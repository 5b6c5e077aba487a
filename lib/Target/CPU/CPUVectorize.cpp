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
//      read and written at one place in the innermost loop, is kept in registers;
//   4. sums of products that begin with a fill, as those along heads do, begin with
//      it in registers, and long ones from 0 on are added up in parts: rounding
//      errors grow with the numbers that a sum goes through.
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
#include "mlir/IR/Matchers.h"
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
  linalg::GenericOp fill;      // of what a product is added to, tile by tile; or null
  int64_t smallest = 0;        // a remainder is cut in halves of the tile down to this
  int64_t never = 0;           // a size that no tile has: one less, and one
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
    if (plan.fill)
      b.eraseOp(plan.fill);
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
      if (tile == plan.never)
        tile -= 1;
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
    if (plan.fill && depth == plan.order.size() - 1)
      emitFill(loc, tiled);
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

  /// Fill what the loop over products begins with.
  void emitFill(Location loc, SmallVectorImpl<Operation *> &tiled) {
    ArrayRef<OpFoldResult> at = ArrayRef(offsets).drop_back(), of = ArrayRef(sizes).drop_back();
    SmallVector<OpFoldResult> strides(at.size(), b.getIndexAttr(1));
    Value out = memref::SubViewOp::create(b, loc, op.getDpsInits().front(), at, of, strides);
    tiled.push_back(mlir::clone(b, plan.fill, TypeRange(), out));
  }

  RewriterBase &b;
  linalg::LinalgOp op;
  Plan plan;
  SmallVector<int64_t> ranges;
  SmallVector<OpFoldResult> offsets, sizes;
};
} // namespace

/// Return the fill of what a product is added to, where nothing is in between: null where there is
/// another op that may read or write it.
static linalg::GenericOp findFill(linalg::LinalgOp product) {
  Value out = product.getDpsInits().front();
  bool isKnown =
      out.getDefiningOp<memref::AllocOp>() && llvm::all_of(out.getUsers(), [](Operation *user) {
        return isa<linalg::LinalgOp, vector::TransferReadOp, vector::TransferWriteOp>(user);
      });
  if (!isKnown)
    return {};
  for (Operation *op = product->getPrevNode(); op; op = op->getPrevNode()) {
    bool uses = llvm::any_of(out.getUsers(), [&](Operation *user) { return op->isAncestor(user); });
    if (!uses)
      continue;
    auto fill = dyn_cast<linalg::GenericOp>(op);
    bool fills = fill && fill.getNumDpsInputs() == 0 && fill.getNumDpsInits() == 1 &&
                 llvm::hasSingleElement(*fill.getBody());
    return fills ? fill : linalg::GenericOp();
  }
  return {};
}

/// Remove the fills of what products are added to from a list of ops, and return them by product.
static DenseMap<Operation *, linalg::GenericOp> takeFills(SmallVector<linalg::LinalgOp> &ops) {
  DenseMap<Operation *, linalg::GenericOp> fills;
  SmallPtrSet<Operation *, 8> taken;
  for (linalg::LinalgOp op : ops)
    if (isa<linalg::MatmulOp>(op))
      if (linalg::GenericOp fill = findFill(op)) {
        fills[op] = fill;
        taken.insert(fill);
      }
  llvm::erase_if(ops, [&](linalg::LinalgOp op) { return taken.contains(op); });
  return fills;
}

static Plan makePlan(linalg::LinalgOp op, int64_t lanes, int64_t dotRows, int64_t dotColumns) {
  Plan plan;
  unsigned rank = op.getNumLoops();
  plan.tiles.assign(rank, 1);
  plan.order = llvm::to_vector(llvm::seq(rank));
  plan.smallest = lanes;
  // LLVM 22 does not carry <9 x bfloat> from block to block for AVX512-BF16: as eight in a register
  // and a last one, of a type that is none of the machine.
  if (llvm::any_of(op->getOperandTypes(),
                   [](Type type) { return getElementTypeOrSelf(type).isBF16(); }))
    plan.never = 9;
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
// Sums
//===----------------------------------------------------------------------===//

/// How many products are added up one after the other in a sum that begins with 0.
static constexpr int64_t kPart = 16;

/// Return whether the loop does nothing but add products to what it carries.
static bool addsProducts(scf::ForOp loop) {
  if (loop.getNumRegionIterArgs() != 1 || getConstantIntValue(loop.getStep()) != 1)
    return false;
  auto product = loop.getYieldedValues().front().getDefiningOp<vector::ContractionOp>();
  return product && product.getAcc() == loop.getRegionIterArg(0) &&
         loop.getRegionIterArg(0).hasOneUse();
}

/// Return the op before this one that reads or writes memory.
static Operation *getPreviousAccess(Operation *op) {
  do
    op = op->getPrevNode();
  while (op && isMemoryEffectFree(op));
  return op;
}

/// Begin a sum with what is written to its place just before it is read there, and at the end of
/// the loop again.
static void beginWithFill(scf::ForOp loop) {
  Value init = loop.getInits().front(), result = loop.getResult(0);
  auto read = init.getDefiningOp<vector::TransferReadOp>();
  if (!read || !init.hasOneUse() || !result.hasOneUse())
    return;
  auto isSamePlace = [&](vector::TransferWriteOp write) {
    return write && write->getBlock() == loop->getBlock() && write.getBase() == read.getBase() &&
           write.getIndices() == read.getIndices() &&
           write.getVectorType() == read.getVectorType() &&
           write.getPermutationMap() == read.getPermutationMap() && !write.getMask() &&
           !read.getMask();
  };
  auto fill = dyn_cast_or_null<vector::TransferWriteOp>(getPreviousAccess(read));
  bool isRead = llvm::any_of(loop.getOps<vector::TransferReadOp>(),
                             [&](auto other) { return other.getBase() == read.getBase(); });
  if (!isSamePlace(fill) || isRead || getPreviousAccess(loop) != read ||
      !isSamePlace(dyn_cast<vector::TransferWriteOp>(*result.user_begin())))
    return;
  loop.getInitArgsMutable().assign(fill.getVector());
  read.erase();
  fill.erase();
}

/// Add up the products of a long loop in parts, each from 0 on.
static void addInParts(scf::ForOp loop) {
  std::optional<APInt> length = loop.getStaticTripCount();
  Value zero = loop.getInits().front();
  if (!length || length->sle(kPart) || length->urem(kPart) != 0 ||
      !matchPattern(zero, m_AnyZeroFloat()))
    return;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  Value size = arith::ConstantIndexOp::create(b, loc, kPart);
  Value second = arith::AddIOp::create(b, loc, loop.getLowerBound(), size);
  auto first = cast<scf::ForOp>(b.clone(*loop));
  first.setUpperBound(second);
  auto parts = scf::ForOp::create(b, loc, second, loop.getUpperBound(), size, first.getResults());
  loop.getResult(0).replaceAllUsesWith(parts.getResult(0));
  loop->moveBefore(parts.getBody(), parts.getBody()->end());
  b.setInsertionPoint(loop);
  loop.setLowerBound(parts.getInductionVar());
  loop.setUpperBound(arith::AddIOp::create(b, loc, parts.getInductionVar(), size));
  b.setInsertionPointToEnd(parts.getBody());
  Value sum = arith::AddFOp::create(b, loc, parts.getRegionIterArg(0), loop.getResult(0));
  scf::YieldOp::create(b, loc, sum);
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
    DenseMap<Operation *, linalg::GenericOp> fills = takeFills(ops);
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
      Plan plan = makePlan(op, lanes, dotRows, dotColumns);
      plan.fill = fills.lookup(op);
      Tiler(rewriter, op, plan).run(tiled);
    }
    for (Operation *op : tiled)
      if (failed(vectorizeTile(rewriter, op)))
        return signalPassFailure();
    foldViews(func);
    linalg::hoistRedundantVectorTransfers(func);
    func.walk([](LoopLikeOpInterface loop) { moveLoopInvariantCode(loop); });
    SmallVector<scf::ForOp> sums;
    func.walk([&](scf::ForOp loop) {
      if (addsProducts(loop))
        sums.push_back(loop);
    });
    for (scf::ForOp loop : sums) {
      beginWithFill(loop);
      addInParts(loop);
    }
  }
};
} // namespace
