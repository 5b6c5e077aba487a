//===- TileAttention.cpp - tile sizes, and regions as tile ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. expand fa.scores, fa.softmax, fa.weighted_sum and fa.sum to blocks;
//   2. choose the rows and keys of a tile for each fa.map_blocks, by head size;
//   3. make the types of tiles static, fa.tile_size a constant;
//   4. expand fa.summarize and fa.range (ExpandSummaries.cpp), fa.apply_mask and fa.apply
//      (ExpandRegions.cpp);
//   5. move loads of what another kernel computed for a block of rows, LSE and delta, out of
//      loops.
//
// Requires: no fa.attention is left. Rejects: sizes that are not positive
// multiples of 8 up to 1024, and ops in a region that cannot be computed on a tile.
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "fa/Dialect/FA/IR/Tiles.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/Holds.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FATILEATTENTION
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {
struct TileSizes {
  int64_t rows, keys;
  /// Head dimensions are rounded up to a multiple of it: what is loaded beyond
  /// the end is 0, what is stored there is dropped.
  int64_t pad = 1;
  /// Columns of products that are added to memory, if those have fewer; 0 for no others.
  int64_t sums = 0;
};
} // namespace

static int64_t sizeOf(Axis axis, TileSizes sizes) {
  return axis == Axis::rows ? sizes.rows : axis == Axis::keys ? sizes.keys : 1;
}

/// Return a type with the chosen sizes for each `?` of a tile; what is static is a head dimension.
static Type staticType(Type type, TileSizes sizes) {
  if (auto reference = dyn_cast<tile::ReferenceType>(type))
    return ShapedType::isDynamic(reference.getSize()) ? reference.withSize(sizes.rows) : reference;
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto axes = tensor ? dyn_cast_or_null<AxesAttr>(tensor.getEncoding()) : AxesAttr();
  if (!axes)
    return type;
  SmallVector<int64_t> shape(tensor.getShape());
  ArrayRef<Axis> unknown = axes.getAxes();
  for (int64_t &size : shape) {
    if (!ShapedType::isDynamic(size)) {
      size = llvm::alignTo(size, sizes.pad);
      continue;
    }
    size = sizeOf(unknown.front(), sizes);
    unknown = unknown.drop_front();
  }
  return RankedTensorType::get(shape, tensor.getElementType());
}

MapBlocksOp fa::findKernel(MapBlocksOp beside, StringRef kernel) {
  for (auto block : beside->getBlock()->getOps<MapBlocksOp>())
    if (block.getKernel() == kernel)
      return block;
  return {};
}

/// Return the size of the blocks of another kernel of the entry along an axis; 0 where it has none.
static int64_t sizeIn(MapBlocksOp block, FlatSymbolRefAttr kernel, Axis axis) {
  MapBlocksOp other = findKernel(block, kernel.getValue());
  for (unsigned i = 0; other && i < other.getNumAxes(); ++i)
    if (other.getAxis(i) == axis && !ShapedType::isDynamic(other.getBlocks()[i]))
      return other.getBlocks()[i];
  return 0;
}

/// Let products of 2 bytes that begin at 0 and are added to memory, and no more, have columns
/// behind their operand's.
static void padSums(MapBlocksOp block, int64_t columns) {
  constexpr int64_t kPanel = tile::kPanelColumns;
  block.getBody()->walk([&](tile::AccumulateOp op) {
    auto dot = op.getValue().getDefiningOp<tile::DotOp>();
    auto type = cast<RankedTensorType>(op.getValue().getType());
    if (!dot || type.getDimSize(1) >= columns || !dot->hasOneUse() || dot.getTransposeB() ||
        dot.getOnes() || getElementTypeOrSelf(dot.getB().getType()).getIntOrFloatBitWidth() != 16)
      return;
    auto init = dot.getAcc().getDefiningOp<tile::BroadcastOp>();
    if (!init || !matchPattern(init.getInput(), m_PosZeroFloat()))
      return;
    OpBuilder b(dot);
    int64_t own = cast<RankedTensorType>(dot.getB().getType()).getDimSize(1);
    auto wide = type.clone({type.getDimSize(0), static_cast<int64_t>(llvm::alignTo(own, kPanel))});
    Value zero = arith::ConstantOp::create(b, dot.getLoc(), b.getZeroAttr(type.getElementType()));
    dot.getAccMutable().assign(
        tile::BroadcastOp::create(b, dot.getLoc(), wide, zero, IntegerAttr()));
    dot.getResult().setType(wide);
    dot.setPadded(true);
  });
}

static LogicalResult makeStatic(MapBlocksOp block, TileSizes sizes) {
  OpBuilder b(block);
  SmallVector<int64_t> blocks;
  for (unsigned i = 0; i < block.getNumAxes(); ++i)
    blocks.push_back(sizeOf(block.getAxis(i), sizes));
  block.setBlocks(blocks);
  WalkResult walked = block.getBody()->walk([&](Operation *op) {
    if (auto size = dyn_cast<TileSizeOp>(op)) {
      b.setInsertionPoint(op);
      int64_t own = sizeOf(size.getAxis(), sizes);
      if (auto kernel = size.getKernelAttr()) {
        int64_t other = sizeIn(block, kernel, size.getAxis());
        if (other == 0 || other % own != 0) {
          size.emitError() << "blocks of " << own << " " << stringifyAxis(size.getAxis())
                           << " do not divide those of " << kernel << ", which are of " << other
                           << "; choose tiles of one size";
          return WalkResult::interrupt();
        }
        own = other;
      }
      op->replaceAllUsesWith(arith::ConstantIndexOp::create(b, op->getLoc(), own));
      op->erase();
      return WalkResult::advance();
    }
    for (Value result : op->getResults())
      result.setType(staticType(result.getType(), sizes));
    for (Region &region : op->getRegions())
      for (BlockArgument argument : region.getArguments())
        argument.setType(staticType(argument.getType(), sizes));
    return WalkResult::advance();
  });
  padSums(block, sizes.sums);
  return failure(walked.wasInterrupted());
}

/// Return the largest head dimension of the tiles that the block computes on.
static int64_t headDim(MapBlocksOp block) {
  int64_t dim = 0;
  block.getBody()->walk([&](tile::LoadOp load) {
    auto type = dyn_cast<RankedTensorType>(load.getResult().getType());
    if (type && type.getRank() == 2 && !ShapedType::isDynamic(type.getDimSize(1)))
      dim = std::max(dim, type.getDimSize(1));
  });
  return dim;
}

/// Return how many keys of a row the widest band has, where a mask bounds those of some loop on
/// both sides, and forget it; the greatest number where it is not known.
static std::optional<int64_t> takeBand(MapBlocksOp block) {
  std::optional<int64_t> widest;
  block.getBody()->walk([&](scf::ForOp loop) {
    Attribute band = loop->removeAttr(FADialect::kBandAttr);
    auto width = dyn_cast_or_null<IntegerAttr>(band);
    if (band)
      widest = std::max(widest.value_or(0),
                        width ? width.getInt() : std::numeric_limits<int64_t>::max());
  });
  return widest;
}

/// Return the target's sizes, else those that keep a tile of each operand and the
/// scores in the caches next to a core: larger heads get fewer keys.
static TileSizes choose(MapBlocksOp block) {
  std::optional<int64_t> band = takeBand(block);
  auto chosen = block->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr);
  if (!chosen)
    chosen = block->getParentOfType<func::FuncOp>()->getAttrOfType<DictionaryAttr>(
        FADialect::kTilesAttr);
  if (chosen) {
    auto number = [&](StringRef name, int64_t otherwise) {
      auto value = chosen.getAs<IntegerAttr>(name);
      return value ? value.getInt() : otherwise;
    };
    int64_t keys = number("keys", 64);
    if (band && (!chosen.contains("band_below") || *band < number("band_below", 0)))
      keys = number("band_keys", keys);
    return {number("rows", 64), keys, number("pad", 1), number("sums", 0)};
  }
  return {64, headDim(block) <= 128 ? 128 : 64};
}

/// Return whether products of the loop take operands of f32, whose fragments leave few registers.
static bool hasWideOperands(scf::ForOp loop) {
  return loop
      ->walk([](tile::DotOp dot) {
        return getElementTypeOrSelf(dot.getB().getType()).isF32() ? WalkResult::interrupt()
                                                                  : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return whether the op loads a vector that another kernel computes. Captured tensors may be many,
/// and registers few.
static bool loadsComputed(Operation *op) {
  auto load = dyn_cast<tile::LoadOp>(op);
  auto type = load ? dyn_cast<RankedTensorType>(load.getType()) : RankedTensorType();
  Value source = load ? load.getSource() : Value();
  if (auto slice = source ? source.getDefiningOp<tile::SliceOp>() : tile::SliceOp())
    source = slice.getSource();
  return type && type.getRank() == 1 && source.getDefiningOp<MapBlocksOp>();
}

/// Return whether the loop has more products than a forward: beside the tiles of those few
/// registers are left.
static bool hasManyProducts(scf::ForOp loop) {
  constexpr unsigned kOfForward = 2;
  unsigned products = 0;
  loop.walk([&](tile::DotOp) { ++products; });
  return products > kOfForward;
}

/// Move loads of vectors that another kernel computes out of loops that do not change which. So
/// what a mask reads under a condition is there before the first tile that needs it.
static void hoistLoads(Operation *root) {
  root->walk([](scf::ForOp loop) {
    if (hasWideOperands(loop))
      return;
    bool takesConditional = !hasManyProducts(loop);
    SmallVector<Operation *> moved;
    loop.walk([&](Operation *op) {
      if (!loadsComputed(op) || (op->getParentOp() != loop && !takesConditional) ||
          !llvm::all_of(op->getOperands(),
                        [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); }))
        return;
      auto *same = llvm::find_if(moved, [&](Operation *other) {
        return OperationEquivalence::isEquivalentTo(op, other,
                                                    OperationEquivalence::IgnoreLocations);
      });
      if (same != moved.end()) {
        op->replaceAllUsesWith(*same);
        op->erase();
        return;
      }
      loop.moveOutOfLoop(op);
      moved.push_back(op);
    });
  });
}

namespace {
struct TileAttention : fa::impl::FATileAttentionBase<TileAttention> {
  using Base::Base;

  void runOnOperation() override {
    for (auto [name, size] :
         {std::pair("rows", rows.getValue()), std::pair("keys", keys.getValue())})
      if (size < 0 || size % kTileStep != 0 || size > kMostOfTile) {
        getOperation()->emitError() << "tile size " << name << "=" << size
                                    << " must be a multiple of 8 up to 1024, or 0 to choose";
        return signalPassFailure();
      }
    expandStandardOps(getOperation());
    expandSums(getOperation());
    WalkResult walked = getOperation()->walk([&](MapBlocksOp op) {
      TileSizes sizes = choose(op);
      if (rows)
        sizes.rows = rows;
      if (keys)
        sizes.keys = keys;
      // A block of a head may loop over tiles all the same.
      bool loops = holds<TileSizeOp>(op);
      bool done = (op.isTiled() && !loops) || succeeded(makeStatic(op, sizes));
      return done ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (walked.wasInterrupted() || failed(expandSummaries(getOperation())) ||
        failed(expandRanges(getOperation())) || failed(expandRegions(getOperation())))
      return signalPassFailure();
    hoistLoads(getOperation());
  }
};
} // namespace
