//===- FuseBlocks.cpp - rows that are prepared where they are read -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For each kernel whose results the next kernel to read them reads with the same blocks:
//
//   1. copy its ops to the beginning of a copy of that kernel, which has its results besides, but
//      for what both compute, where sequences begin for example;
//   2. let what loads a tile of such a result take the tile that is stored there;
//   3. where none of them is loaded any more, put the copy in place of both kernels; else drop it.
//
// Rejects nothing.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAFUSEBLOCKS
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Return the kernel in which an op stands.
static Operation *kernelOf(Operation *op) {
  auto block = dyn_cast<MapBlocksOp>(op);
  return block ? op : op->getParentOfType<MapBlocksOp>();
}

/// Return whether the tiles that a kernel loads, for products where it has some, have 2-byte
/// elements; those that it loads for others no more columns than shared memory has room for beside
/// the slots of loops. Warps would read them from memory, which takes many instructions.
static bool hasSmallTiles(MapBlocksOp block) {
  constexpr int64_t kMostColumns = 128;
  bool all = !holds<tile::DotOp>(block), small = true;
  block->walk([&](tile::LoadOp load) {
    auto tile = dyn_cast<RankedTensorType>(load.getType());
    if (tile && tile.getRank() > 1 &&
        (all || llvm::any_of(load->getUsers(), llvm::IsaPred<tile::DotOp>)))
      small &= tile.getElementTypeBitWidth() == 16 &&
               (!all || (!tile.isDynamicDim(1) && tile.getDimSize(1) <= kMostColumns));
  });
  return small;
}

MapBlocksOp fa::findReaderOfRows(MapBlocksOp block) {
  MapBlocksOp reader;
  for (Operation *user : block->getUsers()) {
    Operation *at = block->getBlock()->findAncestorOpInBlock(*user);
    if (!at || !isa<MapBlocksOp>(at))
      return {};
    if (!reader || at->isBeforeInBlock(reader))
      reader = cast<MapBlocksOp>(at);
  }
  bool alike = reader && reader.getAxes() == block.getAxes() &&
               reader.getOver() == block.getOver() && reader.getStarts() == block.getStarts();
  bool readsAll = llvm::all_of(block.getResults(), [&](Value result) {
    return llvm::any_of(result.getUsers(),
                        [&](Operation *user) { return kernelOf(user) == reader; });
  });
  bool fits = alike && readsAll && block.getInits().empty() && !holds<tile::DotOp>(block) &&
              holds<tile::DotOp>(reader) && hasSmallTiles(block) && hasSmallTiles(reader);
  return fits ? reader : MapBlocksOp();
}

namespace {

struct FuseBlocks : fa::impl::FAFuseBlocksBase<FuseBlocks> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<MapBlocksOp> blocks;
    getOperation()->walk([&](MapBlocksOp block) {
      if (block.isTiled())
        blocks.push_back(block);
    });
    // A reader comes after what it reads.
    for (MapBlocksOp block : llvm::reverse(blocks))
      if (MapBlocksOp reader = findReaderOfRows(block);
          reader && reader.getBlocks() == block.getBlocks())
        fuse(block, reader);
  }

  void fuse(MapBlocksOp block, MapBlocksOp reader);
};

/// A place in a tensor, or view, of which a slice may be. Where that ends does not matter: elements
/// behind it are of no row that is computed.
struct Place {
  Value source, start;
  int64_t dim = -1;
  ValueRange indices;
  ArrayRef<int64_t> dims;

  Place(Value of, ValueRange indices, ArrayRef<int64_t> dims)
      : source(of), indices(indices), dims(dims) {
    if (auto slice = of.getDefiningOp<tile::SliceOp>()) {
      source = slice.getSource();
      start = slice.getStart();
      dim = slice.getDim();
    }
  }
  bool isSamePlaceAs(const Place &other) const {
    return start == other.start && dim == other.dim && indices == other.indices &&
           dims == other.dims;
  }
};

} // namespace

/// Return the attribute with an element for each result of both kernels, the second one's last.
static ArrayAttr joined(MapBlocksOp first, MapBlocksOp second, StringRef name) {
  SmallVector<Attribute> all;
  for (MapBlocksOp block : {first, second}) {
    auto own = block->getAttrOfType<ArrayAttr>(name);
    for (unsigned i = 0; i < block.getNumResults(); ++i)
      all.push_back(own && i < own.size() ? own[i]
                                          : DenseI64ArrayAttr::get(block.getContext(), {}));
  }
  return ArrayAttr::get(first.getContext(), all);
}

/// Return whether an op computes what one of another kernel does, whose operands `known` has. What
/// does not write is the same wherever it stands, since tensors do not change.
static bool computesTheSame(Operation *op, Operation *other, const IRMapping &known) {
  if (op->getName() != other->getName())
    return false;
  auto effects = getEffectsRecursively(op);
  auto isWrite = [](const MemoryEffects::EffectInstance &effect) {
    return isa<MemoryEffects::Write>(effect.getEffect());
  };
  if (!effects || llvm::any_of(*effects, isWrite))
    return false;
  IRMapping map = known;
  return OperationEquivalence::isEquivalentTo(
      op, other, [&](Value a, Value b) { return success(map.lookupOrDefault(b) == a); },
      [&](Value a, Value b) { map.map(b, a); }, OperationEquivalence::IgnoreLocations);
}

/// Return a kernel that computes the results of both, before the second one, which it begins with
/// the ops of the first one.
static MapBlocksOp joinKernels(OpBuilder &b, MapBlocksOp first, MapBlocksOp second) {
  SmallVector<Axis> axes;
  for (unsigned i = 0; i < second.getNumAxes(); ++i)
    axes.push_back(second.getAxis(i));
  SmallVector<Type> types(first.getResultTypes());
  llvm::append_range(types, second.getResultTypes());
  b.setInsertionPoint(second);
  auto both = MapBlocksOp::create(b, second.getLoc(), second.getKernel(), second.getOver(), axes,
                                  types, second.getInits(), second.getStarts());
  both->setDiscardableAttrs(second->getDiscardableAttrDictionary());
  both.setBlocks(second.getBlocks());
  for (StringRef name : {FADialect::kSizesAttr, FADialect::kDivisorsAttr, FADialect::kPlacesAttr})
    if (first->hasAttr(name) || second->hasAttr(name))
      both->setAttr(name, joined(first, second, name));
  b.setInsertionPoint(both.getBody()->getTerminator());
  SmallVector<Operation *> ofFirst;
  unsigned offset = 0;
  for (MapBlocksOp kernel : {first, second}) {
    IRMapping map;
    for (unsigned i = 0; i < kernel.getNumAxes(); ++i)
      map.map(kernel.getBody()->getArgument(i), both.getBody()->getArgument(i));
    for (unsigned i = 0; i < kernel.getNumResults(); ++i)
      map.map(kernel.getResultView(i), both.getResultView(offset + i));
    for (Operation &op : kernel.getBody()->without_terminator()) {
      auto same = llvm::find_if(ofFirst, [&](Operation *other) {
        return kernel == second && computesTheSame(other, &op, map);
      });
      if (same != ofFirst.end())
        map.map(op.getResults(), (*same)->getResults());
      else if (Operation *copy = b.clone(op, map); kernel == first)
        ofFirst.push_back(copy);
    }
    offset += kernel.getNumResults();
  }
  return both;
}

void FuseBlocks::fuse(MapBlocksOp block, MapBlocksOp reader) {
  OpBuilder b(&getContext());
  MapBlocksOp both = joinKernels(b, block, reader);
  SmallVector<tile::StoreOp> stores(both.getBody()->getOps<tile::StoreOp>());
  SmallVector<tile::LoadOp> loads;
  both->walk([&](tile::LoadOp load) { loads.push_back(load); });
  for (tile::LoadOp load : loads) {
    Place from(load.getSource(), load.getIndices(), load.getDims());
    if (from.source.getDefiningOp() != block)
      continue;
    unsigned number = cast<OpResult>(from.source).getResultNumber();
    for (tile::StoreOp store : stores) {
      Place to(store.getDestination(), store.getIndices(), store.getDims());
      if (to.source == both.getResultView(number) && to.isSamePlaceAs(from) &&
          store.getValue().getType() == load.getType())
        load.getResult().replaceAllUsesWith(store.getValue());
    }
    if (!load->use_empty())
      continue;
    Operation *slice = load.getSource().getDefiningOp<tile::SliceOp>();
    load.erase();
    if (slice && slice->use_empty())
      slice->erase();
  }
  bool reads =
      llvm::any_of(block->getUsers(), [&](Operation *user) { return kernelOf(user) == both; });
  if (reads) {
    fa::remarkMissed(*this, reader.getLoc(), "fused")
        << fa::decision("@{0} reads what @{1} stores", reader.getKernel(), block.getKernel())
        << remark::reason("of other rows than those of its blocks, too");
    both.erase();
    return;
  }
  fa::remarkPassed(*this, reader.getLoc(), "fused")
      << fa::decision("@{0} does what @{1} did", reader.getKernel(), block.getKernel());
  reader.replaceAllUsesWith(both.getResults().drop_front(block.getNumResults()));
  reader.erase();
  block.replaceAllUsesWith(both.getResults().take_front(block.getNumResults()));
  block.erase();
}
