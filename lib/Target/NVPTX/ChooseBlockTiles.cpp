//===- ChooseBlockTiles.cpp - gpu-choose-block-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles of blocks that are no forward of an attention: sums over pairs by rows or by
// keys, and what has no products. A thread holds the accumulators of the block's sums
// and a tile of pairs for each dot product, so the loop's tile is narrow. The sizes
// are the largest that ptxas gives no spills (scripts/check_ptx.py --backward).
//
//===----------------------------------------------------------------------===//

#include "RegisterPressure.h"
#include "TileRules.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Support/Remarks.h"
#include "fa/Target/NVPTX/Passes.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include <numeric>

namespace mlir::fa {
#define GEN_PASS_DEF_GPUCHOOSEBLOCKTILES
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::nvptx;

namespace {

/// The tiles of blocks of rows that loop over keys, or of blocks of keys that loop over rows, for
/// operands of `bytes`, head dimensions up to `headDim` and so much pressure.
struct Tiles {
  int64_t bytes, headDim;
  RegisterPressure pressure;
  int64_t rows, keys, warps;
  /// Warps that have the same rows of products, and share their columns.
  int64_t beside = 1;
  /// Say that a fused block of these tiles is faster than blocks of rows and blocks of keys.
  bool gains = false;
  /// Roles that compute, each with half of the sums.
  int64_t roles = 1;
};

/// With asynchronous products, 64 rows of a tile for each warpgroup. A block of keys holds two
/// tiles of pairs beside two sums, so the other side is narrow: each step reads the same from
/// memory, but products of 64 columns or fewer wait for shared memory. At 128 columns of heads 64
/// keys are as fast all the same, and end where causal rows and usual lengths do.
constexpr Tiles kAsyncRows[] = {
    {2, 48, kMost, 128, 96, 8},     {2, 64, kBits, 128, 128, 8},   {2, 64, kTiles, 128, 64, 8},
    {2, 64, kTensors, 128, 128, 8}, {2, 64, kMost, 128, 96, 8},    {2, 128, kTiles, 128, 64, 8},
    {2, 128, kTensors, 128, 80, 8}, {2, 128, kMost, 128, 48, 8},   {2, 192, kTensors, 128, 64, 8},
    {2, 192, kMost, 128, 32, 8},    {2, 256, kMedium, 128, 64, 8}, {2, 256, kBits, 128, 48, 8},
    {2, 256, kTensors, 128, 64, 8}, {2, 256, kMost, 128, 32, 8},
};
constexpr Tiles kAsyncKeys[] = {
    {2, 64, kLight, 128, 128, 8},   {2, 64, kSome, 112, 128, 8},  {2, 64, kLong, 80, 128, 8},
    {2, 64, kLimits, 64, 128, 8},   {2, 64, kBits, 80, 128, 8},   {2, 64, kTiles, 80, 128, 8},
    {2, 64, kMost, 32, 128, 8},     {2, 96, kLong, 64, 128, 8},   {2, 96, kLimits, 48, 128, 8},
    {2, 96, kBits, 64, 128, 8},     {2, 96, kTiles, 48, 128, 8},  {2, 96, kTensors, 32, 128, 8},
    {2, 96, kMost, 16, 128, 8},     {2, 128, kLight, 64, 128, 8}, {2, 128, kSome, 48, 128, 8},
    {2, 128, kLimits, 64, 128, 8},  {2, 128, kBits, 64, 128, 8},  {2, 128, kTiles, 48, 128, 8},
    {2, 128, kTensors, 32, 128, 8}, {2, 128, kMost, 16, 128, 8},  {2, 192, kLimits, 64, 128, 8},
    {2, 192, kBits, 64, 128, 8},    {2, 192, kTiles, 48, 128, 8}, {2, 192, kTensors, 64, 128, 8},
    {2, 192, kMost, 16, 128, 8},    {2, 256, kLight, 64, 128, 8}, {2, 256, kMedium, 48, 128, 8},
    {2, 256, kLimits, 64, 128, 8},  {2, 256, kBits, 64, 128, 8},  {2, 256, kTensors, 48, 128, 8},
    {2, 256, kMost, 16, 128, 8},
};

/// Sums of more columns than this leave a thread no registers for tiles of pairs: two roles have
/// one each of dK and dV. Beyond `kWide` a head's sum leaves little beside functions.
constexpr int64_t kMostColumns = 256, kWide = 192;
constexpr Tiles kAsyncWideKeys[] = {
    {2, 256, kTensors, 64, 64, 4, 1, /*gains=*/false, /*roles=*/2},
    {2, 256, kMost, 32, 64, 4, 1, false, 2},
};

/// Blocks of rows and keys, whose sums stand beside both dots; each loads all that it computes
/// with, so that wide ones read less.
constexpr Tiles kAsyncPairs[] = {
    {2, 64, kTiles, 128, 64, 8},
    {2, 128, kTiles, 128, 128, 8},
    {2, 256, kTiles, 128, 64, 8},
};

/// Without, 16 rows of a tile for each warp, or 32 where its registers hold that: so each fragment
/// of the loop's tile that it loads from shared memory serves two instructions. Two warps have the
/// same 16, and half of the columns each, of accumulators and of dots, where those are too wide:
/// weights of 2 bytes then go through shared memory, and of f32 both make the dots.
constexpr Tiles kSyncRows[] = {
    {2, 64, kMost, 128, 64, 4}, {2, 128, kSome, 128, 32, 4}, {2, 128, kMost, 64, 64, 4},
    {2, 192, kSums, 64, 48, 4}, {2, 256, kMost, 64, 32, 4},  {4, 64, kSums, 64, 64, 4},
    {4, 128, kMost, 64, 32, 4}, {4, 192, kMost, 32, 16, 4},  {4, 256, kMost, 32, 32, 8},
};
constexpr Tiles kSyncKeys[] = {
    {2, 64, kSome, 32, 128, 4},    {2, 64, kSums, 64, 128, 8},    {2, 128, kMost, 64, 64, 4, 2},
    {2, 192, kBits, 96, 64, 6, 3}, {2, 256, kMost, 64, 64, 8, 4}, {4, 64, kMost, 16, 64, 8},
    {4, 128, kMedium, 32, 32, 8},  {4, 128, kLimits, 16, 32, 8},  {4, 128, kMost, 32, 32, 8},
    {4, 192, kLimits, 32, 64, 8},  {4, 192, kMost, 32, 32, 8},    {4, 256, kMost, 16, 64, 8},
};
/// Where blocks of keys add to sums at rows, too: the part of a step is one more accumulator, and
/// weights go through shared memory to be transposed. Of warps beside each other each has half of
/// the columns, or a third or a fourth, and scores of as many of the rows. What regions take beside
/// that is spilled, which costs less than narrower steps do.
constexpr Tiles kFusedKeys[] = {
    {2, 64, kLight, 128, 64, 4, 2, /*gains=*/true},
    {2, 96, kLight, 128, 128, 8, 2, true},
    {2, 128, kMost, 64, 64, 4, 2, true},
    {2, 192, kLight, 96, 64, 6, 3, true},
    {2, 256, kMost, 64, 64, 8, 4, true},
};
/// Warps of such blocks that an SM has registers for.
constexpr int64_t kWarpsOfFused = 8;
/// With asynchronous products the part is 16 rows a warp, or, of fewer rows, whole panels of
/// columns for each warpgroup, or a part of the only one, and weights stay in registers but for
/// that product. What more registers would hold goes without: such blocks take the line above.
constexpr Tiles kAsyncFusedKeys[] = {
    {2, 64, kLight, 128, 128, 8, 1, /*gains=*/true},
    {2, 64, kTiles, 64, 128, 8, 1, true},
    {2, 128, kTiles, 64, 128, 8, 1, true},
};
/// Bands of so many keys a row, or more, gain where whole rows do: at d = 128 fused blocks have
/// 0.87 of the speed of split ones for 256 keys, 0.96 for 512, and 1.03 to 1.11 for 1024.
constexpr int64_t kWideBand = 1024;
/// The numbers of i and j among positions, after b and h.
constexpr unsigned kRow = 2, kColumn = 3;
/// A step has a multiple of so many rows or keys.
constexpr uint64_t kStep = 16;
/// Blocks without products: a thread holds 32 elements of a tile.
constexpr int64_t kPlainRows = 64, kNarrow = 64, kPlainElements = 4096, kPlainWarps = 4;

/// Give the rows of a step for which ptxas spills little where blocks of keys find their sequence.
constexpr int64_t kMostRowsOfSequences = 64;

/// The facts of a block that choose its line of a table.
struct Facts {
  bool products = false, sums = false, adds = false, scatters = false, sequences = false,
       masked = false;
  /// Columns of all sums of products, and of what is added to in memory.
  int64_t columns = 0, columnsInMemory = 0;
  /// Say whether a region computes a function, and whether masks bound a loop on both sides, as far
  /// as is known closely.
  bool functions = false, narrowBand = false;
  int64_t headDim = 0, bytes = 0;
  /// The greatest number that all head dimensions are multiples of, and those of the blocks that
  /// masks divide positions of the loop and of the block into; 0 for none.
  int64_t headUnit = 0, blockUnit = 0, ownUnit = 0;
  bool wholeChunks = true;
  /// The kernel of blocks without holes, where this one is of those with holes: its blocks divide
  /// the other's.
  FlatSymbolRefAttr whole;
  RegisterPressure pressure = kLight, regions = kLight;
};

/// Weigh what a region, whose positions come after so many `inputs` and differ as `positions` says,
/// reads of captured tensors: an element for each pair of a row and a key; a mask, for each row or
/// key. Then its length: masks of more than one comparison, weights of a score or with a function
/// of it, and of these more where they hold a tile that is of no product. Say in `facts`
/// whether there is such a function. Columns of a tile lie in one
/// block of `block` positions, if that is not 0.
RegisterPressure pressureOfCaptures(Region &region, unsigned inputs, ArrayRef<unsigned> positions,
                                    Facts &facts, int64_t block) {
  constexpr unsigned kPlainOps = 10, kComparison = 3;
  if (region.empty())
    return kLight;
  bool isMask = inputs == 0;
  llvm::DenseMap<Value, unsigned> differs;
  for (auto [argument, of] : llvm::zip(region.getArguments().drop_front(inputs), positions))
    differs[argument] = of;
  unsigned ops = 0;
  RegisterPressure most = kLight;
  Value tile;
  bool hasFunction = false;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned of = differencesOf(op, differs, block);
    hasFunction |= region::lookUp(op) && region::effortOf(op).special > 0 && !isa<math::Exp2Op>(op);
    ops += !op->hasTrait<OpTrait::ConstantLike>() && !op->hasTrait<OpTrait::IsTerminator>();
    bool isTile = op->getNumResults() == 1 && isa<FloatType>(op->getResult(0).getType());
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    if (of == kPairs && extract && (!tile || tile == extract.getTensor()) &&
        readsTile(extract, region.getArgument(inputs + kRow),
                  region.getArgument(inputs + kRow + 1))) {
      tile = extract.getTensor();
      // Where shared memory has it, what is computed of it takes no registers.
      differs[extract] = 0;
    } else if (of == kPairs && (extract || (isTile && !isMask))) {
      most = std::max(most, extract ? kTensors : kMedium);
    } else if (of && isMask && extract) {
      most = std::max(most, kMedium);
    }
  });
  most = std::max(most, isMask && ops > kComparison                   ? kSome
                        : !isMask && (ops > kPlainOps || hasFunction) ? kLong
                                                                      : kLight);
  facts.functions |= hasFunction;
  // Beside more than a few functions a tile takes registers.
  return !tile ? most : most <= kLong ? kTiles : std::max(most, kTensors);
}

/// Return the kernel that finds limits which the mask reads; null where it reads none.
Operation *limitsOf(ApplyMaskOp mask) {
  for (Value capture : mask.getCaptures())
    if (Operation *kernel = capture.getDefiningOp();
        kernel && kernel->hasAttr(FADialect::kRangesAttr))
      return kernel;
  return nullptr;
}

/// Return whether an op has a band of few keys a row, or of a width that is not known.
bool isNarrowBand(Operation *op) {
  Attribute band = op->getAttr(FADialect::kBandAttr);
  auto width = dyn_cast_or_null<IntegerAttr>(band);
  return band && !(width && width.getInt() >= kWideBand);
}

/// Return the multiple of columns that both warpgroups share of sums with asynchronous products: a
/// panel of 2-byte elements for each, or the only one.
int64_t unitOfShared(int64_t headDim) {
  return headDim <= tile::kPanelColumns ? tile::kPanelColumns : 2 * tile::kPanelColumns;
}

/// Return whether what the block adds to has whole panels of columns for both warpgroups where
/// heads do not: the product that is added is rounded up to these, and nothing else.
bool padsSums(const Facts &facts) {
  int64_t unit = unitOfShared(facts.headDim);
  return unit > tile::kPanelColumns && facts.headUnit % unit != 0 && facts.columnsInMemory == unit;
}

/// Collect the facts from the tiles that the block loads.
Facts factsOf(MapBlocksOp block) {
  Facts facts;
  block.getBody()->walk([&](Operation *op) {
    if (auto added = dyn_cast<tile::AccumulateOp>(op)) {
      facts.adds = true;
      facts.columnsInMemory = added.getDestination().getType().getShape().back();
    }
    if (auto mask = dyn_cast<ApplyMaskOp>(op)) {
      bool ofKeys = mask.getTransposed();
      facts.blockUnit =
          std::gcd(facts.blockUnit, unitOfBlocks(mask.getBody(), ofKeys ? kRow : kColumn));
      facts.ownUnit =
          std::gcd(facts.ownUnit, unitOfBlocks(mask.getBody(), ofKeys ? kColumn : kRow));
    }
    auto load = dyn_cast<tile::LoadOp>(op);
    auto type = load ? dyn_cast<RankedTensorType>(load.getType()) : RankedTensorType();
    if (!type || type.getRank() != 2 || type.isDynamicDim(1))
      return;
    facts.headDim = std::max(facts.headDim, type.getDimSize(1));
    facts.headUnit = std::gcd(facts.headUnit, type.getDimSize(1));
    facts.bytes = std::max<int64_t>(facts.bytes, type.getElementTypeBitWidth() / 8);
    facts.wholeChunks &= type.getDimSize(1) * type.getElementTypeBitWidth() % 128 == 0;
  });
  // Steps that divide this lie in one block, and what is read there is one number for all of them.
  constexpr int64_t unitOfSteps = 64;
  if (facts.blockUnit % unitOfSteps != 0)
    facts.blockUnit = 0;
  RegisterPressure ofMasks = kLight, ofWeights = kLight;
  bool dropout = false;
  auto weigh = [&](Region &region, unsigned inputs, bool transposed) {
    unsigned positions[] = {0, 0, transposed ? kColumns : kRows, transposed ? kRows : kColumns};
    SmallVector<unsigned> differences(inputs, kPairs);
    llvm::append_range(differences, positions);
    int64_t unit = inputs || !facts.blockUnit ? 0 : unitOfSteps;
    facts.regions = std::max(facts.regions, pressureOfRegion(region, differences, unit).first);
    RegisterPressure &captures = inputs ? ofWeights : ofMasks;
    captures = std::max(captures, pressureOfCaptures(region, inputs, positions, facts, unit));
  };
  block.getBody()->walk([&](Operation *op) {
    facts.products |= isa<tile::DotOp>(op);
    if (auto dot = dyn_cast<tile::DotOp>(op); dot && !dot.getType().isDynamicDim(1))
      facts.columns += dot.getType().getDimSize(1);
    facts.sums |= isa<tile::ReduceOp>(op);
    facts.scatters |= isa<tile::ScatterAddOp>(op);
    facts.sequences |=
        isa<tile::SliceOp>(op) && isa<RankedTensorType>(op->getResultTypes().front());
    if (auto size = dyn_cast<TileSizeOp>(op); size && size.getKernelAttr())
      facts.whole = size.getKernelAttr();
    facts.narrowBand |= isNarrowBand(op);
    dropout |= isa<tile::RandomBitsOp>(op);
    if (auto apply = dyn_cast<ApplyOp>(op))
      weigh(apply.getBody(), apply.getInputs().size(), apply.getTransposed());
    if (auto mask = dyn_cast<ApplyMaskOp>(op)) {
      weigh(mask.getBody(), 0, mask.getTransposed());
      facts.masked |= !mask.getBody().empty();
      if (Operation *limits = limitsOf(mask)) {
        ofMasks = std::max(ofMasks, kLimits);
        facts.narrowBand |= isNarrowBand(limits);
      }
    }
  });
  RegisterPressure captures = std::max(ofMasks, ofWeights);
  bool pairs = block.getFirst(Axis::rows) && block.getFirst(Axis::keys);
  // Neither is light beside the other.
  if (ofMasks > kLight && ofWeights > kLight)
    captures = std::max(captures, ofWeights == kTiles ? kTensors : kMedium);
  if (ofMasks == kTiles || (captures == kTiles ? facts.regions > kLong : pairs))
    captures = std::max(captures, kTensors);
  facts.pressure = pressureOfAll(captures, facts.regions, dropout);
  // Three accumulators leave registers for what is light alone, but where warpgroups share whole
  // panels of columns, and heads are not rounded up to these.
  if (facts.adds && facts.pressure != kLight && facts.headUnit % unitOfShared(facts.headDim) != 0 &&
      !padsSums(facts))
    facts.pressure = std::max(facts.pressure, kTensors);
  return facts;
}

/// Return the line of a table that serves a block; null where there is none. Where steps are
/// narrower, or parts of blocks, of warps beside each other there are not three, nor do they have
/// more keys than a warpgroup.
const Tiles *lineFor(ArrayRef<Tiles> table, const Facts &facts, RegisterPressure pressure) {
  bool narrows = facts.sequences || facts.scatters || facts.blockUnit;
  const Tiles *line = llvm::find_if(table, [&](const Tiles &tiles) {
    bool mayNarrow = tiles.beside == 1 ||
                     (llvm::isPowerOf2_64(tiles.beside) && tiles.keys <= tile::kRowsOfGroup);
    return tiles.bytes == facts.bytes && facts.headDim <= tiles.headDim &&
           pressure <= tiles.pressure && (!narrows || mayNarrow);
  });
  return line == table.end() ? nullptr : line;
}

/// Return whether masks divide positions into blocks of 64, and not of 128: tiles of 64 do not
/// straddle them.
bool isNarrow(const Facts &facts) {
  constexpr int64_t kWide = 128;
  return facts.bytes == 2 && facts.blockUnit && facts.ownUnit % kWide != 0;
}

/// Return whether the products of a block are asynchronous.
bool isAsync(const Facts &facts, const nvptx::Target *info, bool aligned) {
  return info && info->hasRoles() && facts.bytes == 2 && aligned && facts.wholeChunks &&
         (!facts.adds || lineFor(kAsyncFusedKeys, facts, facts.pressure));
}

/// Return how many warps have the same rows of a product: those that are asked for, or more where a
/// warp would have less than its rows.
int64_t sharingOf(int64_t beside, int64_t rows, int64_t warps) {
  return std::max(beside, tile::kRowsOfWarp * warps / rows);
}

/// The widest heads.
constexpr int64_t kWidest = 256;

/// Return what columns are rounded up to where blocks of asynchronous products share those of the
/// sums that they add.
int64_t padForSums(int64_t sharing, int64_t headDim) {
  return sharing > 1 ? unitOfShared(headDim) : tile::kRowsOfWarp;
}

struct GPUChooseBlockTiles : fa::impl::GPUChooseBlockTilesBase<GPUChooseBlockTiles> {
  using Base::Base;

  void runOnOperation() override {
    WalkResult result = getOperation()->walk([&](MapBlocksOp block) {
      auto entry = block->getParentOfType<func::FuncOp>();
      bool said = block.isTiled() || entry->hasAttr(FADialect::kTilesAttr);
      // The entry's warps are those of its attention.
      if (block.isTiled() && entry->hasAttr(FADialect::kTilesAttr) &&
          !block->hasAttr(FADialect::kTilesAttr))
        block->setAttr(FADialect::kTilesAttr, tilesOf({{"warps", kPlainWarps}}));
      return said || succeeded(choose(block)) ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }

  /// Return the kernel that can do what a block does for its rows.
  MapBlocksOp findFused(MapBlocksOp block) {
    MapBlocksOp reader = fuse ? fa::findReaderOfRows(block) : MapBlocksOp();
    bool async = reader && isAsync(factsOf(reader), nvptx::getTarget(target), aligned);
    return async ? reader : MapBlocksOp();
  }

  LogicalResult choose(MapBlocksOp block) {
    // Those of a reader are chosen where what it reads is.
    if (block->hasAttr(FADialect::kTilesAttr))
      return success();
    if (MapBlocksOp reader = findFused(block)) {
      if (failed(choose(reader)))
        return failure();
      block->setAttr(FADialect::kTilesAttr, reader->getAttr(FADialect::kTilesAttr));
      return success();
    }
    Facts facts = factsOf(block);
    const nvptx::Target *info = nvptx::getTarget(target);
    int64_t plain =
        facts.headDim <= kNarrow ? kPlainRows : kPlainElements / llvm::PowerOf2Ceil(facts.headDim);
    int64_t chosenRows = plain, chosenKeys = plain, chosenWarps = kPlainWarps;
    int64_t pad = tile::kRowsOfWarp, sums = 0, beside = 1, roles = 1, blocks = 1;
    if (facts.products) {
      bool ofRows = !!block.getFirst(Axis::rows), ofPairs = ofRows && block.getFirst(Axis::keys);
      if (facts.pressure == kTiles && !tiles)
        facts.pressure = kTensors;
      RegisterPressure pressure = facts.pressure;
      bool async = isAsync(facts, info, aligned);
      if (pressure == kTiles && !async)
        pressure = kTensors;
      if (!async && !aligned)
        pressure = std::max(pressure, kMedium);
      if (!async && facts.sums)
        pressure = std::max(pressure, kSums);
      ArrayRef<Tiles> table = facts.adds && async                      ? ArrayRef(kAsyncFusedKeys)
                              : facts.adds                             ? ArrayRef(kFusedKeys)
                              : async && ofPairs && pressure == kTiles ? ArrayRef(kAsyncPairs)
                              : async && !ofRows && facts.columns > kMostColumns
                                  ? ArrayRef(kAsyncWideKeys)
                              : async ? (ofRows ? ArrayRef(kAsyncRows) : ArrayRef(kAsyncKeys))
                                      : (ofRows ? ArrayRef(kSyncRows) : ArrayRef(kSyncKeys));
      const Tiles *line = lineFor(table, facts, pressure);
      if (!line)
        return block.emitError() << "no tiles for elements of " << facts.bytes
                                 << " bytes with head dimension " << facts.headDim << " on "
                                 << target;
      // Where sequences begin and end, and what copies of warps compute of it, takes registers; TMA
      // needs few, so that long steps alone are narrower. What is added at computed indices has
      // an address for each score; functions at the most pressure spill in both of two roles, of
      // the widest heads those of many steps, too, and any beside sums of weights. Fused blocks
      // share rows of one size.
      auto narrowed = [&](int64_t size, bool isLooped) {
        bool fits = async && (ofRows || facts.adds || size <= kMostRowsOfSequences);
        bool isFull = line->roles > 1 && facts.functions &&
                      (line->pressure == kMost ||
                       (facts.headDim > kWide && (facts.sums || facts.regions >= kMedium)));
        bool narrows = facts.scatters || isFull || (facts.sequences && !fits);
        size = narrows && isLooped ? static_cast<int64_t>(llvm::alignTo(size / 2, kStep)) : size;
        // What is added has 16 rows a warp, or half of them.
        while (isLooped && facts.blockUnit % size != 0)
          size -= async && facts.adds ? line->rows / 2 : kStep;
        return size;
      };
      chosenRows = rows ? rows : narrowed(line->rows, !ofRows);
      chosenKeys = keys ? keys : narrowed(line->keys, ofRows);
      chosenWarps = warps ? warps : line->warps;
      // Each warpgroup is a block of its own, and an SM holds two where they fit.
      constexpr int64_t kHalf = 128;
      bool halves =
          (isNarrow(facts) || facts.whole) && !facts.adds && !ofPairs && !rows && !keys && !warps;
      if (halves && (async || facts.headDim <= kHalf)) {
        int64_t &own = ofRows ? chosenRows : chosenKeys, &step = ofRows ? chosenKeys : chosenRows;
        chosenWarps = std::min(chosenWarps, tile::kWarpsOfGroup);
        own = tile::kRowsOfGroup;
        // A warp has half of the rows that it has in lines of narrow heads, which leaves registers.
        bool fits = !async && facts.headDim <= kNarrow && pressure <= kSums;
        step = fits ? own : std::min(step, own);
        blocks = async && facts.headDim <= kHalf ? 2 : 1;
      }
      if (facts.whole) {
        MapBlocksOp whole = findKernel(block, facts.whole.getValue());
        auto tiles =
            whole ? whole->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr) : DictionaryAttr();
        auto number = [&](StringRef name) {
          auto of = tiles ? tiles.getAs<IntegerAttr>(name) : IntegerAttr();
          return of ? of.getInt() : 0;
        };
        int64_t &own = ofRows ? chosenRows : chosenKeys;
        int64_t size = number(ofRows ? "rows" : "keys"), itsWarps = number("warps");
        if (size % own != 0 && itsWarps != 0) {
          own = size;
          chosenWarps = itsWarps;
        }
      }
      bool asked = rows || keys || warps;
      beside = asked ? 1 : line->beside;
      // Blocks of four warps beside each other are two an SM. Where they are warpgroups, and heads
      // wide, two are one block, which shares what it loads, by whole panels of columns.
      int64_t times = beside > 1 && !async && !asked ? kWarpsOfFused / chosenWarps : 1;
      bool areGroups = aligned && info && info->hasRoles();
      bool ofGroups = times > 1 && areGroups && facts.headDim > kNarrow;
      blocks *= areGroups ? 1 : times;
      chosenKeys *= ofGroups ? times : 1;
      chosenWarps *= ofGroups ? times : 1;
      roles = line->roles;
      if (roles > 1 && chosenWarps > line->warps)
        return block.emitError() << "two roles of " << chosenWarps
                                 << " warps have no registers for sums of " << facts.columns
                                 << " columns; choose --tile-warps=" << line->warps;
      // A block of pairs holds its sums beside the dots.
      if (ofPairs && !keys && pressure != kTiles)
        chosenKeys = std::min(chosenKeys, kPlainRows);
      StringRef shared = ofRows ? "rows" : "keys", other = ofRows ? "keys" : "rows";
      if (failed(nvptx::checkWarps(block, shared, ofRows ? chosenRows : chosenKeys,
                                   chosenWarps / beside, async, {rows, keys})) ||
          failed(nvptx::checkStep(block, other, ofRows ? chosenKeys : chosenRows,
                                  ("--tile-" + other + "=").str())) ||
          failed(nvptx::checkScores(block, chosenRows, chosenKeys, chosenWarps / beside)))
        return failure();
      int64_t own = ofRows ? chosenRows : chosenKeys;
      while (!async && !warps && chosenWarps > 1 &&
             tile::columnsToShare(sharingOf(1, own, chosenWarps), facts.bytes) > kWidest)
        chosenWarps /= 2;
      int64_t sharing = sharingOf(beside, own, chosenWarps);
      if (!async && tile::columnsToShare(sharing, facts.bytes) > kWidest)
        return block.emitError() << chosenWarps << " warps of tiles of " << own << " " << shared
                                 << " share more columns than the widest heads have; choose fewer "
                                    "by --tile-warps, or larger tiles";
      // Where memory has these columns, heads do without.
      if (async && facts.adds) {
        int64_t unit = padForSums(sharingOf(1, chosenRows, chosenWarps), facts.headDim);
        (padsSums(facts) && unit == facts.columnsInMemory ? sums : pad) = unit;
      } else if (ofGroups)
        pad = padForSums(beside, facts.headDim);
      else if (!async)
        pad = tile::columnsToShare(sharing, facts.bytes);
      remarkPassed(*this, block.getLoc(), "tiles")
          << fa::decision("tiles of {0} rows and {1} keys for {2} warps in @{3}", chosenRows,
                          chosenKeys, chosenWarps, block.getKernel())
          << remark::reason("blocks of {0}, head dimension {1}", ofRows ? "rows" : "keys",
                            facts.headDim);
    }
    SmallVector<std::pair<StringRef, int64_t>> tiles = {
        {"rows", chosenRows}, {"keys", chosenKeys}, {"warps", chosenWarps}, {"pad", pad}};
    if (beside > 1)
      tiles.push_back({"beside", beside});
    if (roles > 1)
      tiles.push_back({"roles", roles});
    if (blocks > 1)
      tiles.push_back({"blocks", blocks});
    if (sums)
      tiles.push_back({"sums", sums});
    block->setAttr(FADialect::kTilesAttr, tilesOf(tiles));
    return success();
  }

  DictionaryAttr tilesOf(ArrayRef<std::pair<StringRef, int64_t>> sizes) {
    Builder b(&getContext());
    NamedAttrList tiles;
    for (auto [name, size] : sizes)
      tiles.set(name, b.getI64IntegerAttr(size));
    return tiles.getDictionary(&getContext());
  }
};

} // namespace

bool nvptx::readsTile(tensor::ExtractOp op, Value i, Value j) {
  OperandRange indices = op.getIndices();
  Type element = op.getType();
  if (indices.size() < 2 || !element.isIntOrFloat() || element.getIntOrFloatBitWidth() != 16)
    return false;
  Value last = indices.back(), before = indices.drop_back().back();
  return (before == i && last == j) || (before == j && last == i);
}

bool nvptx::gainsByAdding(ModuleOp module, StringRef target) {
  bool any = false, all = true;
  module.walk([&](MapBlocksOp block) {
    Facts facts = factsOf(block);
    if (!facts.adds)
      return;
    any = true;
    const nvptx::Target *info = nvptx::getTarget(target);
    bool async = isAsync(facts, info, /*aligned=*/true);
    const Tiles *line =
        lineFor(async ? ArrayRef(kAsyncFusedKeys) : ArrayRef(kFusedKeys), facts, facts.pressure);
    auto gains = [&] {
      // Of few pairs a row, as in narrow bands, the kernels before and after, which go over all
      // rows, take more than is gained.
      if (!line->gains || facts.narrowBand)
        return false;
      if (!async) {
        // Where blocks of rows and of keys are asynchronous, one that is not loses. Five products
        // in place of seven, of few more columns than those would have.
        const Tiles *apart = lineFor(kSyncKeys, facts, facts.pressure);
        auto columns = [&](const Tiles &tiles) -> int64_t {
          int64_t sharing = sharingOf(tiles.beside, tiles.keys, tiles.warps);
          return llvm::alignTo(facts.headUnit, tile::columnsToShare(sharing, facts.bytes));
        };
        return info && !info->hasRoles() && facts.headUnit % tile::kRowsOfWarp == 0 && apart &&
               5 * columns(*line) <= 6 * columns(*apart);
      }
      // A tile beside a mask, or of no product beside functions and wide heads, which spills, has
      // not been timed.
      bool timed = !(facts.pressure == kTiles && facts.masked) &&
                   !(isNarrow(facts) && line->keys > tile::kRowsOfGroup) &&
                   !(facts.pressure == kMedium && facts.functions && facts.headDim > kNarrow);
      int64_t pad = padForSums(sharingOf(1, line->rows, line->warps), facts.headDim);
      return timed && (facts.headUnit % pad == 0 || padsSums(facts));
    };
    all = all && line && gains() &&
          !block->getParentOfType<func::FuncOp>()->hasAttr(FADialect::kTilesAttr);
  });
  return any && all;
}
