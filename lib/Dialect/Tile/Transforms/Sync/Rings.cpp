//===- Rings.cpp - what passes on rings share -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Support/Holds.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::tile;

bool tile::isRingAccess(Operation *op) { return isa<PutOp, PutValueOp, GetOp, ReleaseOp>(op); }

RingOp tile::ringOf(Operation *op) {
  Value ring;
  if (auto put = dyn_cast<PutOp>(op))
    ring = put.getRing();
  else if (auto put = dyn_cast<PutValueOp>(op))
    ring = put.getRing();
  else if (auto get = dyn_cast<GetOp>(op))
    ring = get.getRing();
  else if (auto get = cast<ReleaseOp>(op).getSlot().getDefiningOp<GetOp>())
    ring = get.getRing();
  return ring ? ring.getDefiningOp<RingOp>() : RingOp();
}

RingOp tile::stagingOf(Operation *op) {
  auto added = dyn_cast<AccumulateOp>(op);
  return added && added.getStaging() ? added.getStaging().getDefiningOp<RingOp>() : RingOp();
}

bool tile::isKeptInRole(RingOp ring) {
  RoleOp only;
  bool isFilled = false;
  for (Operation *user : ring->getUsers()) {
    auto role = user->getParentOfType<RoleOp>();
    auto put = dyn_cast<PutValueOp>(user);
    isFilled |= put && isa<RankedTensorType>(put.getValue().getType());
    if (only && role != only)
      return false;
    only = role;
  }
  return isFilled;
}

bool tile::hasAsyncReaders(FuncOp func) { return fa::holds<DotStartOp, BulkStoreOp>(func); }

static bool isArgument(Value view) {
  auto argument = dyn_cast<BlockArgument>(view);
  return argument && isa<FuncOp>(argument.getOwner()->getParentOp());
}

Value tile::sourceOf(Operation *op) {
  if (auto load = dyn_cast<LoadOp>(op))
    return load.getSource();
  if (auto gather = dyn_cast<GatherOp>(op))
    return gather.getSource();
  auto put = dyn_cast<PutOp>(op);
  return put ? put.getSource() : Value();
}

/// Return whether accesses of two views may overlap. Views that are chosen at run time may be any
/// argument.
bool tile::mayOverlap(Value a, Value b) {
  a = SliceOp::baseOf(a);
  b = SliceOp::baseOf(b);
  return a == b || !isArgument(a) || !isArgument(b);
}

bool tile::mayStoreTo(Operation *scope, Value view) {
  WalkResult walked = scope->walk([&](Operation *op) {
    Value to = destinationOf(op);
    return to && mayOverlap(to, view) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return isa<ViewType>(view.getType()) && walked.wasInterrupted();
}

bool tile::mayStoreTo(Block &scope, Value view) {
  return llvm::any_of(scope, [&](Operation &op) { return mayStoreTo(&op, view); });
}

bool tile::areApart(Operation *op) {
  return op
      ->walk([](WarpgroupBoundsOp own) {
        return own.getLeast() ? WalkResult::advance() : WalkResult::interrupt();
      })
      .wasInterrupted();
}

bool tile::hasProducts(Operation *op) { return fa::holds<AwaitOp>(op); }

bool tile::mayRunBeyond(Operation *op) {
  return sourceOf(op) || (op->getNumRegions() == 0 && isMemoryEffectFree(op) && isSpeculatable(op));
}

bool tile::mayRunAhead(Operation *op, Block &body) {
  Value source = sourceOf(op);
  return mayRunBeyond(op) && !(source && mayStoreTo(body, source));
}

int64_t tile::sharedBytes(RingType ring) {
  return ring.getStages() * ring.getSlot().strideInBytes();
}

int64_t tile::sharedBytes(RingOp ring) {
  return ring.getWithin() ? 0 : sharedBytes(ring.getType());
}

int64_t tile::sharedBytesOfRings(FuncOp func) {
  int64_t bytes = 0;
  for (auto ring : func.getOps<RingOp>())
    bytes += sharedBytes(ring);
  return bytes;
}

int64_t tile::bytesOfSums(FuncOp func) {
  int64_t bytes = 0;
  func.walk([&](Operation *op) {
    auto add = dyn_cast<AccumulateOp>(op);
    auto store = dyn_cast<StoreOp>(op);
    if ((!add && !store) || !isa<scf::ForOp>(op->getParentOp()))
      return;
    auto tile = dyn_cast<RankedTensorType>((add ? add.getValue() : store.getValue()).getType());
    if (tile && tile.getRank() == 2 && tile.getElementType().isIntOrFloat() &&
        (add || tile.getElementTypeBitWidth() == 16))
      bytes = std::max(bytes, tile.getNumElements() * tile.getElementTypeBitWidth() / 8);
  });
  return bytes;
}

/// Return the bytes of the barriers that a ring has between roles.
static int64_t bytesOfBarriers(RingType ring) {
  constexpr int64_t kBarriers = 2 * 8;
  return kBarriers * ring.getStages();
}

int64_t tile::sharedBytesWithBarriers(RingType ring) {
  return sharedBytes(ring) + bytesOfBarriers(ring);
}

int64_t tile::sharedBytesWithBarriers(FuncOp func) {
  int64_t bytes = 0;
  for (auto ring : func.getOps<RingOp>())
    bytes += sharedBytes(ring) + bytesOfBarriers(ring.getType());
  return bytes;
}

void tile::setStages(RingOp ring, int64_t stages) {
  RingType type = ring.getType();
  ring.getResult().setType(RingType::get(type.getContext(), stages, type.getShape(),
                                         type.getElementType(), type.getLayout()));
}

RingType tile::ringTypeOfNumbers(MLIRContext *context, int64_t numbers) {
  constexpr int64_t kSlots = 2, kPanel = 32;
  return RingType::get(context, kSlots, {numbers}, IntegerType::get(context, 32),
                       SwizzleAttr::get(context, kPanel, /*ones=*/false));
}

Value tile::sentThroughRing(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  auto get = read ? read.getSlot().getDefiningOp<GetOp>() : GetOp();
  RingOp ring = get ? ringOf(get) : RingOp();
  if (!ring || isa<RankedTensorType>(value.getType()))
    return value;
  SmallVector<PutValueOp> puts;
  for (Operation *user : ring->getUsers())
    if (auto put = dyn_cast<PutValueOp>(user))
      puts.push_back(put);
  unsigned number = cast<OpResult>(value).getResultNumber();
  return puts.size() == 1 && number < puts.front().getValues().size()
             ? puts.front().getValues()[number]
             : value;
}

std::string tile::describeTile(RingType ring) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (int64_t size : ring.getShape())
    os << size << "x";
  os << ring.getElementType();
  return text;
}
