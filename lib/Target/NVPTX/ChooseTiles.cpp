//===- ChooseTiles.cpp - gpu-choose-tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table, and looking it up. A line serves head dimensions and register pressures up to
// its own; `docs/performance.md` says what each was measured against. That no line
// spills is seen by scripts/check_ptx.py.
//
// With asynchronous products, a thread holds the scores of a tile, the same packed
// for the second product, and the output, beside some registers for all else, and
// shared memory holds the queries and two tiles of keys and of values. Where that is
// too much, there are fewer keys. Without asynchronous products, there is one tile of
// each in shared memory, and the line of the table holds for 4 and 8 warps: more leave
// each thread fewer registers.
//
//===----------------------------------------------------------------------===//

#include "RegisterPressure.h"
#include "TileRules.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Support/Remarks.h"
#include "fa/Target/NVPTX/Passes.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPUCHOOSETILES
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::nvptx;

/// Say between what the first arguments differ: batch, head, row and column, after a score.
static constexpr unsigned kOfMask[] = {0, 0, kRows, kColumns};
static constexpr unsigned kOfScore[] = {kPairs, 0, 0, kRows, kColumns};

namespace {

struct Tiles {
  /// Bytes of an element; the largest of both head dimensions, and the largest
  /// pressure, that it serves.
  int64_t bytes, headDim;
  RegisterPressure pressure;
  int64_t rows, keys, warps;
  /// Blocks that an SM holds at a time.
  int64_t blocks = 1;
};

// mma.sync: a warp has 32 rows where its registers hold that, so that each
// fragment of keys that it loads serves two instructions. The largest tiles
// that ptxas gives no spills. For f32 of more than 128 columns, two warps share the
// columns of 16 rows, each with 64 sums in a thread and the scores of those rows.
constexpr Tiles kTable[] = {
    {2, 64, kLight, 128, 128, 4}, {2, 64, kLong, 128, 112, 4},  {2, 64, kTiles, 128, 64, 4},
    {2, 96, kMedium, 128, 64, 4}, {2, 128, kLong, 128, 48, 4},  {2, 128, kMedium, 64, 64, 4},
    {2, 96, kBits, 64, 64, 4},    {2, 104, kBits, 64, 48, 4},   {2, 128, kBits, 64, 64, 4},
    {2, 96, kTiles, 128, 64, 4},  {2, 128, kTiles, 128, 48, 4}, {2, 256, kMost, 64, 64, 4},
    {4, 64, kTwo, 64, 64, 4},     {4, 64, kMost, 64, 32, 4},    {4, 128, kMost, 64, 32, 4},
    {4, 256, kMedium, 64, 32, 8}, {4, 256, kBits, 64, 16, 8},   {4, 256, kTensors, 64, 32, 8},
    {4, 256, kMost, 32, 16, 4},
};

// mma.sync as well, of operands that pass through registers: those that are not
// aligned and, on sm_90a, rows that are no multiples of 16 bytes. Above 128 columns
// two warps share the columns of 16 rows.
constexpr Tiles kRegistersTable[] = {
    {2, 64, kLong, 128, 112, 4},  {2, 64, kMedium, 128, 64, 4}, {2, 64, kMost, 128, 48, 8},
    {2, 96, kLong, 128, 64, 4},   {2, 128, kLong, 128, 48, 4},  {2, 96, kBits, 64, 64, 4},
    {2, 128, kMedium, 64, 64, 4}, {2, 128, kMost, 64, 48, 4},   {2, 256, kLong, 64, 64, 4},
    {2, 192, kMost, 64, 32, 4},   {2, 256, kMost, 64, 32, 8},
};

// mma.sync of masks that may hide tiles between visible ones: their loop keeps a list, and is
// pipelined. Two warps share the columns of 16 rows: of fewer keys ptxas still spills some
// registers, to have more blocks of a processor.
constexpr Tiles kListTable[] = {{4, 64, kMost, 64, 64, 8}, {2, 64, kMost, 64, 64, 4}};

// wgmma: a warpgroup has 64 rows, a fourth one copies. The largest tiles whose
// accumulators and operands fit in registers.
constexpr Tiles kHopperTable[] = {
    {2, 64, kLight, 192, 128, 12}, {2, 64, kSome, 192, 112, 12},  {2, 64, kLong, 192, 64, 12},
    {2, 64, kBits, 128, 128, 8},   {2, 64, kTiles, 192, 64, 12},  {2, 64, kTwo, 128, 64, 8},
    {2, 64, kMost, 128, 48, 8},    {2, 80, kSome, 192, 112, 12},  {2, 96, kSome, 192, 96, 12},
    {2, 128, kSome, 192, 80, 12},  {2, 128, kLong, 192, 64, 12},  {2, 128, kMedium, 128, 80, 8},
    {2, 128, kBits, 128, 128, 8},  {2, 128, kTiles, 192, 64, 12}, {2, 128, kTwo, 128, 64, 8},
    {2, 128, kMost, 128, 48, 8},   {2, 256, kLong, 128, 80, 8},   {2, 256, kMedium, 128, 48, 8},
    {2, 256, kBits, 128, 64, 8},   {2, 256, kHeavy, 128, 48, 8},  {2, 256, kTwo, 128, 32, 8},
    {2, 256, kMost, 64, 32, 4},
};

// The same for up to so many rows of queries, of sequences in a row in the mean, where heads have
// more than 64 columns: a causal launch of 16,384 tokens at d = 128 takes 3 % fewer cycles than
// with 192 x 80 tiles at n = 512 and 1024. Above, larger tiles win, which read less. And the same
// for masks by blocks of keys: a tile that lies in one block sees all of it, or nothing, and 192
// rows straddle two (density 0.25 of blocks of 128 at d = 128: 507 TFLOP/s with 128 x 64 tiles, 617
// with 128 x 128, 203 with 192 x 64).
constexpr int64_t kShortSequence = 1024;
constexpr Tiles kShortTable[] = {{2, 128, kLong, 128, 128, 8}, {2, 256, kLong, 128, 64, 8}};

// The same for sequences in a row, of heads of more than 96 columns: their loops are short, and
// with 64 keys there is shared memory for a work tile's output beside the next one's queries.
// Causal, 16,384 tokens, TFLOP/s of visible pairs at d = 128 with 192 x 80 or, up to 1024 tokens in
// the mean, 128 x 128 tiles, and with these: 12 equal sequences 453 and 500, 20 369 and 397, 8 564
// and 565, 32 322 and 317, 12 random ones 549 and 571, 64 269 and 287; at d = 256 12 equal ones 450
// and 469, 12 random ones 538 and 553. At d = 64, 80 and 96 larger tiles stay ahead.
constexpr int64_t kMostColumnsOfLargeTiles = 96;
constexpr Tiles kSequencesTable[] = {{2, 128, kLong, 192, 64, 12}, {2, 256, kLong, 128, 64, 8}};

// The same for masks that may hide tiles between visible ones, but for blocks of 128 rows or more:
// each warpgroup is a block of its own, with its own list, since what others see is no use to it,
// and an SM holds several, which take turns by themselves. 64 x 64 blocks of density 0.25, causal,
// at n = 8192: 184 TFLOP/s of visible pairs with 128 x 64 tiles at d = 128, which straddle them,
// 334 with one block an SM of 64 x 64, 427 with two; at d = 64 107, and 318 and 335 with two and
// three. Dilated windows and neighbourhoods are 8 to 25 % faster.
constexpr Tiles kHolesTable[] = {
    {2, 64, kMedium, 64, 64, 4, 3}, {2, 128, kMost, 64, 64, 4, 2}, {2, 256, kLong, 64, 64, 4, 1}};

// A block of rows visits few tiles of a band, which a mask bounds on both sides: narrower
// ones waste less on its edges, and with more slots of them warpgroups are further apart. More
// than 64 columns: 256 keys 14 to 16 % faster, 1024 3 to 5 %, 4096 4 to -1 %, 8192 -2 %; up
// to 64 columns 64 keys 9 %, 128 7 to 11 %, 256 5 %, 512 4 %, 768 2 %, 1024 nothing and 4096 -5 %.
constexpr int64_t kKeysOfBand = 64, kNarrowHead = 64, kWideBandOfNarrowHead = 1024;

/// Return whether the score reads of a captured tensor only what is one number for all of a tile:
/// nothing, or elements of a batch and a head.
bool isUniform(Region &score, unsigned capture) {
  constexpr unsigned kBatch = 1, kHead = 2;
  return llvm::all_of(score.getArgument(capture).getUsers(), [&](Operation *user) {
    auto extract = dyn_cast<tensor::ExtractOp>(user);
    return extract && llvm::all_of(extract.getIndices(), [&](Value index) {
             auto argument = dyn_cast<BlockArgument>(index);
             return argument && argument.getOwner() == &score.front() &&
                    (argument.getArgNumber() == kBatch || argument.getArgNumber() == kHead);
           });
  });
}

/// Return whether all that the score reads of a captured tensor are tiles for shared memory.
bool readsTilesAlone(Region &score, unsigned capture) {
  constexpr unsigned kRow = 3, kColumn = 4;
  return llvm::all_of(score.getArgument(capture).getUsers(), [&](Operation *user) {
    auto extract = dyn_cast<tensor::ExtractOp>(user);
    return extract &&
           nvptx::readsTile(extract, score.getArgument(kRow), score.getArgument(kColumn));
  });
}

/// Return whether the region reads a captured tensor at keys, or at pairs; columns of a tile lie in
/// one block of `block` keys, if that is not 0.
bool readsAtColumns(Region &region, unsigned capture, unsigned column, int64_t block) {
  if (region.empty())
    return false;
  llvm::DenseMap<Value, unsigned> differs{{region.getArgument(column), kColumns}};
  bool reads = false;
  region.walk<WalkOrder::PreOrder>([&](Operation *op) {
    unsigned on = differencesOf(op, differs, block);
    auto extract = dyn_cast<tensor::ExtractOp>(op);
    reads |= extract && extract.getTensor() == region.getArgument(capture) && on && !isFallback(op);
  });
  return reads;
}

/// Return whether the mask may hide tiles between visible ones, by remainders of keys, or by
/// quotients that it does more with than compare them: then the loop goes over a list, and keeps
/// that.
bool mayHaveHoles(Region &mask) {
  if (mask.empty())
    return false;
  llvm::DenseMap<Value, unsigned> differs{{mask.getArgument(3), kColumns}};
  return mask
      .walk([&](Operation *op) {
        bool isOnKeys = differencesOf(op, differs) != 0;
        bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
                           arith::CeilDivUIOp>(op);
        bool leaps = isa<arith::RemSIOp, arith::RemUIOp>(op) ||
                     (divides && !llvm::all_of(op->getUsers(), llvm::IsaPred<arith::CmpIOp>));
        return isOnKeys && leaps && !isFallback(op) ? WalkResult::interrupt()
                                                    : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return the keys of a tile that lies in one block wherever a mask with holes divides keys into
/// blocks: at most `keys`, and 0 where blocks are none, or narrow.
int64_t findKeysOfBlocks(Region &mask, int64_t keys) {
  constexpr int64_t kStep = 16, kLeast = 64;
  if (!mayHaveHoles(mask))
    return 0;
  int64_t size = unitOfBlocks(mask, /*position=*/3);
  while (keys >= kLeast && (size == 0 || size % keys != 0))
    keys -= kStep;
  return keys >= kLeast ? keys : 0;
}

RegisterPressure pressureOf(AttentionOp attention, bool aligned, int64_t block) {
  RegisterPressure pressure = aligned ? kLight : kMedium;
  for (auto [i, capture] : llvm::enumerate(attention.getCaptures())) {
    auto tensor = dyn_cast<RankedTensorType>(capture.getType());
    Region &score = attention.getScore();
    bool scored =
        !score.empty() && !score.getArgument(AttentionOp::kNumPositionArgs + 1 + i).use_empty();
    // What a mask reads at rows alone are limits, as those of positions are. What it reads at keys
    // comes element by element, as does what scores read but in tiles.
    if (tensor && tensor.getRank() >= 2) {
      unsigned read = AttentionOp::kNumPositionArgs + i;
      if (readsAtColumns(attention.getMask(), read, 3, block) ||
          (scored && !readsTilesAlone(score, read + 1)))
        pressure = kTensors;
      else if (scored)
        pressure = std::max(pressure, kTiles);
    }
    if (tensor && !score.empty()) {
      unsigned first = score.getNumArguments() - attention.getCaptures().size();
      if (!isUniform(score, first + i))
        pressure = std::max(pressure, kMedium);
    }
  }
  RegisterPressure regions = std::max(pressureOfRegion(attention.getMask(), kOfMask, block).first,
                                      pressureOfRegion(attention.getScore(), kOfScore).first);
  // Operands in registers leave none for those.
  if (!aligned && regions == kSome)
    regions = kBits;
  return pressureOfAll(pressure, regions, attention.hasDropout());
}

/// Return the larger one of both head dimensions.
int64_t largestHeadDim(AttentionOp attention) {
  return std::max(attention.getHeadDim(), attention.getValueHeadDim());
}

/// Return the first line of a table that serves the attention, null where none does. The code of a
/// fallback stands beside a loop's that already takes most, or has its scores in one warpgroup.
/// Tiles lie in blocks of `block` keys, if that is not 0.
const Tiles *lookUp(ArrayRef<Tiles> table, AttentionOp attention, bool aligned, bool async,
                    int64_t block = 0) {
  Type element = getElementTypeOrSelf(attention.getQuery().getType());
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  int64_t headDim = largestHeadDim(attention);
  RegisterPressure pressure = pressureOf(attention, aligned, block);
  if (hasFallback(attention.getMask()))
    pressure = pressure >= kTwo ? kMost : async ? pressure : std::max(pressure, kMedium);
  // Where sequences begin and end is computed, and kept beside what a loop has.
  if (attention.hasSequences() && async)
    pressure = attention.hasDropout() ? std::max(pressure, kHeavy) : pressure;
  else if (attention.hasSequences())
    pressure = std::max(pressure, aligned && bytes == 2 ? kMedium : headDim <= 64 ? kMost : kLight);
  const Tiles *line = llvm::find_if(table, [&](const Tiles &tiles) {
    return tiles.bytes == bytes && headDim <= tiles.headDim && pressure <= tiles.pressure;
  });
  return line == table.end() ? nullptr : line;
}

/// Return the line for a mask with holes whose blocks of rows are narrow, or none; null where it is
/// another mask. `block` becomes the keys of blocks that tiles lie in, if there are such.
const Tiles *lookUpHoles(AttentionOp attention, bool aligned, int64_t &block) {
  constexpr int64_t kKeys = kHolesTable[0].keys;
  const Tiles &wide = kShortTable[0];
  Region &mask = attention.getMask();
  bool divides = unitOfBlocks(mask, /*position=*/3) % kKeys == 0;
  bool fits = findKeysOfBlocks(mask, wide.keys) &&
              (!divides || unitOfBlocks(mask, /*position=*/2) % wide.rows == 0);
  if (!mayHaveHoles(mask) || fits)
    return nullptr;
  int64_t unit = findKeysOfBlocks(mask, kKeys);
  const Tiles *line = lookUp(kHolesTable, attention, aligned, /*async=*/true, unit);
  if (line)
    block = unit;
  return line;
}

/// Return the line for sequences in a row, or none; null where it is another program.
const Tiles *lookUpSequences(AttentionOp attention, bool aligned) {
  bool serves = attention.getQueryStarts() && largestHeadDim(attention) > kMostColumnsOfLargeTiles;
  return serves ? lookUp(kSequencesTable, attention, aligned, /*async=*/true) : nullptr;
}

/// Return whether the TMA can bring its tiles: rows of whole chunks of 16 bytes.
bool hasWholeChunks(AttentionOp attention) {
  return attention.getHeadDim() % 8 == 0 && attention.getValueHeadDim() % 8 == 0;
}

struct GPUChooseTiles : fa::impl::GPUChooseTilesBase<GPUChooseTiles> {
  using Base::Base;

  void runOnOperation() override {
    if (!nvptx::getTarget(target)) {
      InFlightDiagnostic error = getOperation().emitError()
                                 << "unknown target '" << target << "': expected one of ";
      llvm::interleaveComma(nvptx::getTargets(), error,
                            [&](const nvptx::Target &known) { error << known.name; });
      return signalPassFailure();
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto attention : func.getOps<AttentionOp>())
        if (failed(choose(func, attention)))
          return signalPassFailure();
  }

  /// Return the registers of a thread.
  static int64_t registersOf(int64_t warps, int64_t blocks, bool async, const nvptx::Target &info) {
    if (!async)
      return std::min(info.registers, tile::launchRegisters(warps));
    return tile::shareRegisters(std::max<int64_t>(warps / tile::kWarpsOfGroup, 1),
                                /*producerGroups=*/1, blocks)
        .consumer;
  }

  /// Return the multiple that head dimensions are rounded up to. Warps that have the same rows
  /// share the columns where each has as many: else each would compute them all.
  static int64_t padOf(AttentionOp attention, int64_t rows, int64_t warps, bool async) {
    Type element = getElementTypeOrSelf(attention.getQuery().getType());
    int64_t beside = async ? 1 : std::max<int64_t>(tile::kRowsOfWarp * warps / rows, 1);
    int64_t columns = llvm::alignTo(attention.getValueHeadDim(), tile::kRowsOfWarp),
            bytes = element.getIntOrFloatBitWidth() / 8;
    return tile::runOfShare(columns, beside, bytes) ? tile::kRowsOfWarp
                                                    : tile::columnsToShare(beside, bytes);
  }

  /// Return the most keys up to those given that registers and shared memory have room for.
  int64_t fit(AttentionOp attention, int64_t rows, int64_t keys, int64_t warps, int64_t blocks,
              bool async, int64_t pad, const nvptx::Target &info) {
    constexpr int64_t kStep = 16, kOther = 32, kReserve = 512;
    int64_t bytes =
        getElementTypeOrSelf(attention.getQuery().getType()).getIntOrFloatBitWidth() / 8;
    auto rowBytes = [&](int64_t columns) -> int64_t {
      int64_t ofRow = bytes * llvm::alignTo(columns, pad);
      return llvm::alignTo(ofRow, async ? tile::kWidestPanel : tile::panelOf(ofRow));
    };
    int64_t query = rowBytes(attention.getHeadDim()), value = rowBytes(attention.getValueHeadDim());
    int64_t registers = registersOf(warps, blocks, async, info);
    int64_t alone =
        sharedMemory ? std::min<int64_t>(sharedMemory, info.sharedMemory) : info.sharedMemory;
    int64_t limit = tile::shareMemory(alone, blocks);
    // A thread has its share of sums: half of a row where a warpgroup has 64.
    auto sums = [&](int64_t columns) {
      return async ? columns / 2 : llvm::divideCeil(rows * columns, 32 * warps);
    };
    int64_t output = sums(llvm::alignTo(attention.getValueHeadDim(), pad));
    int64_t tiles = async ? 2 : 1;
    bool lacked = false;
    for (int64_t n = keys; n >= kStep; n -= kStep) {
      int64_t held = sums(n) + (async ? n / 4 : 0) + output + kOther;
      int64_t shared = rows * query + tiles * n * (query + value) + (async ? kReserve : 0);
      lacked |= held > registers;
      if (held <= registers && shared <= limit) {
        if (n != keys)
          attention.emitRemark() << "tiles of " << n << " keys instead of " << keys
                                 << ": for more, blocks of " << rows << " rows lack "
                                 << (lacked ? "registers" : "shared memory");
        return n;
      }
    }
    attention.emitRemark() << "tiles of " << keys << " keys, though blocks of " << rows
                           << " rows lack registers or shared memory even for " << kStep;
    return keys;
  }

  /// Return the size that the option gives, else the one that the entry says; 0 for none.
  static int64_t requested(func::FuncOp func, StringRef name, int64_t option = 0) {
    auto said = func->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr);
    auto size = said && !option ? said.getAs<IntegerAttr>(name) : IntegerAttr();
    return size ? size.getInt() : option;
  }

  LogicalResult choose(func::FuncOp func, AttentionOp attention) {
    int64_t rows = requested(func, "rows", this->rows), keys = requested(func, "keys", this->keys);
    int64_t warps = requested(func, "warps", this->warps), band = requested(func, "band_keys");
    Type element = getElementTypeOrSelf(attention.getQuery().getType());
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    const Tiles *line = nullptr;
    int64_t block = 0;
    const nvptx::Target *info = nvptx::getTarget(target);
    if (info && info->hasRoles() && bytes == 2 && aligned) {
      if (hasWholeChunks(attention)) {
        line = lookUpHoles(attention, aligned, block);
        if (!line)
          line = lookUpSequences(attention, aligned);
        if (!line && shortSequences)
          line = lookUp(kShortTable, attention, aligned, /*async=*/true);
        for (const Tiles &tiles : kShortTable) {
          int64_t size = findKeysOfBlocks(attention.getMask(), tiles.keys);
          if (!line && size && lookUp(tiles, attention, aligned, /*async=*/true, size))
            line = &tiles, block = size;
        }
        if (!line)
          line = lookUp(kHopperTable, attention, aligned, /*async=*/true);
      } else {
        attention.emitRemark() << "tiles for sm_80, and no asynchronous products: rows of "
                               << attention.getHeadDim() << " and " << attention.getValueHeadDim()
                               << " elements are no multiples of 16 bytes; pad them";
      }
    }
    bool async = line;
    bool registers = bytes == 2 && (!aligned || (info && info->hasRoles()));
    bool holes = mayHaveHoles(attention.getMask());
    if (!async && holes && (aligned || bytes != 2))
      line = lookUp(kListTable, attention, aligned, /*async=*/false);
    if (!line)
      line = lookUp(registers ? ArrayRef(kRegistersTable) : ArrayRef(kTable), attention, aligned,
                    /*async=*/false);
    if (!line)
      return attention.emitError() << "no tiles for " << element << " with head dimension "
                                   << largestHeadDim(attention) << " on " << target;
    int64_t chosenWarps = warps ? warps : line->warps, chosenRows = rows ? rows : line->rows;
    int64_t blocks = requested(func, "blocks");
    if (!blocks)
      blocks = rows || keys || warps ? 1 : line->blocks;
    if (failed(nvptx::checkWarps(attention, "rows", chosenRows, chosenWarps, async, rows)))
      return failure();
    int64_t chosenKeys = keys ? keys : block ? block : line->keys;
    // Copies through registers have a predicate of their own for each row of a sequence.
    if (attention.hasSequences() && !aligned && !keys)
      chosenKeys = std::min<int64_t>(chosenKeys, 32);
    // So have those beside a list of tiles.
    if (holes && !async && !aligned && bytes == 2 && !keys)
      chosenKeys = std::min<int64_t>(chosenKeys, 32);
    for (auto [size, option] : {std::pair(chosenKeys, "--tile-keys="), {band, "band_keys = "}})
      if (failed(nvptx::checkStep(attention, "keys", size, option)))
        return failure();
    if (failed(nvptx::checkScores(attention, chosenRows, std::max(chosenKeys, band), chosenWarps)))
      return failure();
    int64_t pad = padOf(attention, chosenRows, chosenWarps, async),
            saidPad = requested(func, "pad");
    if (saidPad % pad != 0)
      return attention.emitError()
             << "fa.tiles has pad = " << saidPad << ", expected a multiple of " << pad << " for "
             << chosenRows << " rows and " << chosenWarps << " warps; remove it to have it chosen";
    pad = std::max(pad, saidPad);
    if (info && !keys)
      chosenKeys = fit(attention, chosenRows, chosenKeys, chosenWarps, blocks, async, pad, *info);
    for (bool hasScore : {false, true}) {
      auto [pressure, op] = hasScore ? pressureOfRegion(attention.getScore(), kOfScore)
                                     : pressureOfRegion(attention.getMask(), kOfMask, block);
      if (op)
        remarkPassed(*this, attention.getLoc(), "register_pressure")
            << fa::decision("tiles for {0}", pressure == kHeavy    ? "heavy registers"
                                             : pressure == kMedium ? "medium registers"
                                             : pressure == kSome   ? "some registers"
                                                                   : "long code")
            << remark::reason("'{0}' of the {1} takes {2}", op->getName().getStringRef(),
                              hasScore ? "score" : "mask", pressure == kLong ? "it" : "them");
    }
    bool narrower = !band && async && !keys && !shortSequences && !block &&
                    chosenKeys > kKeysOfBand && !attention.getMask().empty();
    remarkPassed(*this, attention.getLoc(), "tiles")
        << fa::decision("tiles of {0} rows and {1} keys for {2} warps{3}{4}", chosenRows,
                        chosenKeys, chosenWarps, async ? ", and 4 that load" : "",
                        blocks > 1 ? llvm::formatv("; {0} blocks an SM", blocks).str() : "")
        << remark::reason("tiles {0} for head dimension {1}",
                          rows || keys || warps ? "as asked"
                          : async               ? "of asynchronous products"
                          : registers           ? "of operands in registers"
                                                : "of sm_80",
                          largestHeadDim(attention));
    bool below = narrower && attention.getHeadDim() <= kNarrowHead;
    if (narrower)
      remarkPassed(*this, attention.getLoc(), "tiles")
          << fa::decision("tiles of {0} keys where the mask bounds keys on both sides{1}",
                          int64_t(kKeysOfBand), below ? ", to fewer than 1024 a row" : "");
    Builder b(&getContext());
    NamedAttrList tiles;
    auto set = [&](StringRef name, int64_t value) { tiles.set(name, b.getI64IntegerAttr(value)); };
    set("rows", chosenRows);
    set("keys", chosenKeys);
    set("warps", chosenWarps);
    set("pad", pad);
    if (blocks > 1)
      set("blocks", blocks);
    if (narrower || band)
      set("band_keys", band ? band : kKeysOfBand);
    if (below)
      set("band_below", kWideBandOfNarrowHead);
    // Blocks with holes are as those of masks with holes, where these have a kernel of their own.
    bool separates = hasFallback(attention.getMask()) && !rows && !keys && !warps;
    const Tiles *ofHoles = !separates ? nullptr
                           : async    ? lookUp(kHolesTable, attention, aligned, /*async=*/true)
                           : aligned || bytes != 2
                               ? lookUp(kListTable, attention, aligned, /*async=*/false)
                               : nullptr;
    if (ofHoles && chosenRows % ofHoles->rows == 0) {
      NamedAttrList own;
      for (auto [name, value] : {std::pair("rows", ofHoles->rows),
                                 {"keys", ofHoles->keys},
                                 {"warps", ofHoles->warps},
                                 {"blocks", ofHoles->blocks},
                                 {"pad", pad}})
        own.set(name, b.getI64IntegerAttr(value));
      tiles.set("holes", own.getDictionary(&getContext()));
    }
    func->setAttr(FADialect::kTilesAttr, tiles.getDictionary(&getContext()));
    return success();
  }
};

} // namespace

int64_t nvptx::getShortSequence(ModuleOp module, StringRef target) {
  const nvptx::Target *info = nvptx::getTarget(target);
  bool all = info && info->hasRoles(), any = false;
  module.walk([&](AttentionOp attention) {
    any = true;
    // Up to 64 columns 192 rows do better: causal of 384 to 1024 queries takes 6 to 11 % less.
    bool gains = largestHeadDim(attention) > kNarrowHead;
    int64_t block = 0;
    all = all && gains && hasWholeChunks(attention) &&
          !lookUpHoles(attention, /*aligned=*/true, block) &&
          !lookUpSequences(attention, /*aligned=*/true) &&
          lookUp(kShortTable, attention, /*aligned=*/true, /*async=*/true);
  });
  return all && any ? kShortSequence : 0;
}
