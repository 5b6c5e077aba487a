//===- AgentTile.cpp - ops of the tile dialect with effects -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

static TileRef share(Elements elements) {
  return std::make_shared<const Elements>(std::move(elements));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

TileRef Agent::load(Value source, ValueRange indices, ArrayRef<int64_t> dims,
                    ArrayRef<int64_t> shape, Type element) {
  return loadTile(*get(source).memory, integers(indices), dims, shape, element);
}

/// Every agent computes the whole tile, and stores its part.
static void store(tile::StoreOp op, Program &program, unsigned agent, const Memory &memory,
                  ArrayRef<int64_t> start, const Elements &value) {
  RankedTensorType type = tileOf(op.getValue());
  std::vector<bool> owned;
  if (program.agents > 1)
    for (uint16_t owner : program.ownersOf(type))
      owned.push_back(owner == agent);
  storeTile(memory, start, op.getDims(), type.getShape(), type.getElementType(), value, owned);
}

static TileRef gather(tile::GatherOp op, const Memory &memory, ArrayRef<const Datum *> indices) {
  RankedTensorType type = tileOf(op.getResult());
  Elements result(elementsOf(type.getShape()));
  SmallVector<int64_t, 4> at(indices.size());
  for (size_t i = 0; i < result.size(); ++i) {
    for (auto [index, datum] : llvm::zip_equal(at, indices))
      index = (datum->tile ? (*datum->tile)[i] : datum->scalar).i;
    result[i] = loadElement(memory, at, type.getElementType());
  }
  return share(std::move(result));
}

LogicalResult Agent::executeTile(Operation *op) {
  Datum datum;
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    datum.scalar.i = get(dim.getView()).memory->sizes[dim.getDim()];
    set(dim.getResult(), datum);
    return success();
  }
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    const Memory &memory = *get(load.getSource()).memory;
    Type type = load.getResult().getType();
    if (auto tile = dyn_cast<RankedTensorType>(type))
      datum.tile = loadTile(memory, integers(load.getIndices()), load.getDims(), tile.getShape(),
                            tile.getElementType());
    else
      datum.scalar = loadElement(memory, integers(load.getIndices()), type);
    set(load.getResult(), datum);
    return success();
  }
  if (auto stored = dyn_cast<tile::StoreOp>(op)) {
    store(stored, instance.program, number, *get(stored.getDestination()).memory,
          integers(stored.getIndices()), *get(stored.getValue()).tile);
    return success();
  }
  if (auto gathered = dyn_cast<tile::GatherOp>(op)) {
    SmallVector<const Datum *, 4> indices;
    for (Value index : gathered.getIndices())
      indices.push_back(&get(index));
    datum.tile = gather(gathered, *get(gathered.getSource()).memory, indices);
    set(gathered.getResult(), datum);
    return success();
  }
  if (isa<tile::ReduceOp, tile::BroadcastOp, tile::TransposeOp, tile::ColumnsOp, tile::IotaOp,
          tile::RandomBitsOp, tile::ConvertLayoutOp>(op)) {
    SmallVector<const Datum *, 6> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&get(operand));
    datum = evaluateTileOp(op, operands);
    set(op->getResult(0), datum);
    return success();
  }
  if (isa<tile::DotOp, tile::DotStartOp, tile::AwaitOp, tile::RingOp, tile::PutOp, tile::PutValueOp,
          tile::GetOp, tile::ReleaseOp>(op))
    return executeRing(op);
  return executeSlot(op);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult Agent::tileOfOperand(Operation *op, Value operand, TileRef &tile) {
  const Datum &datum = get(operand);
  if (!isa<tile::SlotType>(operand.getType())) {
    tile = datum.tile;
    return success();
  }
  if (Fault fault = instance.memory.read(accessBy(op), datum.slot, instance.program.byNumber, tile))
    return fail(op, "", fault);
  return success();
}

/// The product of an op of tile.dot's operands, read now.
template <typename Op>
static TileRef multiplyAs(Op op, const Elements &a, const Elements &b, const Elements &acc) {
  ArrayRef<int64_t> shape = tileOf(op.getAcc()).getShape();
  int64_t k = a.size() / shape[0];
  return multiply(a, b, acc, shape[0], shape[1], k, op.getTransposeB());
}

LogicalResult Agent::startProduct(tile::DotStartOp op) {
  auto product = std::make_shared<Product>();
  product->op = op;
  product->a = get(op.getA());
  product->b = get(op.getB());
  product->acc = get(op.getAcc()).tile;
  TileRef a, b;
  if (failed(tileOfOperand(op, op.getA(), a)) || failed(tileOfOperand(op, op.getB(), b)))
    return failure();
  for (auto [operand, version] :
       llvm::zip_equal(ValueRange{op.getA(), op.getB()}, product->versions))
    if (isa<tile::SlotType>(operand.getType()))
      version = instance.memory.versionOf(get(operand).slot);
  if (instance.random.coin())
    product->early = multiplyAs(op, *a, *b, *product->acc);
  Datum datum;
  datum.product = product;
  products.push_back(std::move(product));
  set(op.getResult(), datum);
  return success();
}

LogicalResult Agent::await(tile::AwaitOp op) {
  std::shared_ptr<Product> product = get(op.getPending()).product;
  auto start = cast<tile::DotStartOp>(product->op);
  TileRef tiles[2];
  const Datum *operands[] = {&product->a, &product->b};
  for (auto [i, operand] : llvm::enumerate(ValueRange{start.getA(), start.getB()})) {
    tiles[i] = operands[i]->tile;
    if (!isa<tile::SlotType>(operand.getType()) || product->awaited)
      continue;
    const SlotRef &slot = operands[i]->slot;
    if (Fault fault = instance.memory.read(accessBy(op), slot, instance.program.byNumber, tiles[i]))
      return fail(op, "completes a product that ", fault);
    if (instance.memory.versionOf(slot) != product->versions[i])
      return fail(op, "completes a product whose operand was written meanwhile",
                  {"", start, "the product starts here"});
  }
  if (!product->awaited && !product->early)
    product->early = multiplyAs(start, *tiles[0], *tiles[1], *product->acc);
  product->awaited = true;
  llvm::erase(products, product);
  Datum datum;
  datum.tile = product->early;
  set(op.getResult(), datum);
  return success();
}

/// That no product still reads the slot.
LogicalResult Agent::checkRelease(tile::ReleaseOp op) {
  const SlotRef &slot = get(op.getSlot()).slot;
  for (const std::shared_ptr<Product> &product : products) {
    auto start = cast<tile::DotStartOp>(product->op);
    for (auto [operand, datum] :
         {std::pair(start.getA(), &product->a), std::pair(start.getB(), &product->b)})
      if (isa<tile::SlotType>(operand.getType()) && datum->slot.ring == slot.ring &&
          datum->slot.stage == slot.stage)
        return fail(op, "releases a slot that a product still reads; await it first",
                    {"", start, "the product starts here"});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

LogicalResult Agent::executeRing(Operation *operation) {
  SharedMemory &memory = instance.memory;
  Datum datum;
  auto result = [&] {
    set(operation->getResult(0), datum);
    return success();
  };
  if (auto op = dyn_cast<tile::DotOp>(operation)) {
    TileRef a, b;
    if (failed(tileOfOperand(op, op.getA(), a)) || failed(tileOfOperand(op, op.getB(), b)))
      return failure();
    datum.tile = multiplyAs(op, *a, *b, *get(op.getAcc()).tile);
    return result();
  }
  if (auto op = dyn_cast<tile::DotStartOp>(operation))
    return startProduct(op);
  if (auto op = dyn_cast<tile::AwaitOp>(operation))
    return await(op);
  if (auto op = dyn_cast<tile::RingOp>(operation)) {
    auto [ring, added] = instance.rings.try_emplace(op, 0);
    if (added)
      ring->second = memory.addRing(op);
    datum.slot.ring = ring->second;
    return result();
  }
  if (auto op = dyn_cast<tile::ReleaseOp>(operation)) {
    if (failed(checkRelease(op)))
      return failure();
    if (Fault fault = memory.release(get(op.getSlot()).slot, op))
      return fail(op, "", fault);
    return success();
  }
  unsigned ring = get(operation->getOperand(0)).slot.ring;
  blocked = isa<tile::GetOp>(operation) ? !memory.canGet(ring) : !memory.canPut(ring);
  if (blocked)
    return success();
  if (auto op = dyn_cast<tile::PutOp>(operation)) {
    tile::RingType type = op.getRing().getType();
    TileRef tile =
        load(op.getSource(), op.getIndices(), op.getDims(), type.getShape(), type.getElementType());
    memory.put(ring, tile, op.getCopy() != tile::Copy::ld_st, op);
    return success();
  }
  if (auto op = dyn_cast<tile::PutValueOp>(operation)) {
    memory.put(ring, get(op.getValue()).tile, /*asynchronous=*/false, op);
    return success();
  }
  datum.slot = memory.get(ring);
  return result();
}

//===----------------------------------------------------------------------===//
// Slots by number
//===----------------------------------------------------------------------===//

std::vector<int32_t> Agent::ownElements(RankedTensorType type) {
  std::vector<int32_t> result;
  for (auto [i, owner] : llvm::enumerate(instance.program.ownersOf(type)))
    if (owner == number)
      result.push_back(i);
  return result;
}

/// The agent copies its part: at once, or as a part of its open group.
LogicalResult Agent::copy(tile::CopyOp op) {
  tile::SlotType type = op.getSlot().getType();
  auto tileType = RankedTensorType::get(type.getShape(), type.getElementType());
  Copy copy{
      get(op.getSlot()).slot, ownElements(tileType),
      load(op.getSource(), op.getIndices(), op.getDims(), type.getShape(), type.getElementType()),
      op};
  if (op.getCopy() == tile::Copy::ld_st) {
    if (Fault fault = instance.memory.write(accessBy(op), copy.slot, copy.elements, *copy.tile))
      return fail(op, "", fault);
    return success();
  }
  if (Fault fault = instance.memory.startCopy(accessBy(op), copy))
    return fail(op, "", fault);
  openGroup.push_back(std::move(copy));
  return success();
}

LogicalResult Agent::executeSlot(Operation *operation) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(operation)
      .Case([&](tile::SlotAtOp op) -> LogicalResult {
        Datum datum;
        datum.slot = {get(op.getRing()).slot.ring, integer(op.getStage()), 0};
        int64_t stages = op.getRing().getType().getStages();
        if (datum.slot.stage < 0 || datum.slot.stage >= stages)
          return fail(op, "asks for slot " + Twine(datum.slot.stage) + " of a ring of " +
                              Twine(stages));
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::ReadOp op) -> LogicalResult {
        Datum datum;
        if (failed(tileOfOperand(op, op.getSlot(), datum.tile)))
          return failure();
        set(op.getResult(), datum);
        return success();
      })
      .Case([&](tile::WriteOp op) -> LogicalResult {
        if (Fault fault =
                instance.memory.write(accessBy(op), get(op.getSlot()).slot,
                                      ownElements(tileOf(op.getValue())), *get(op.getValue()).tile))
          return fail(op, "", fault);
        return success();
      })
      .Case([&](tile::CopyOp op) { return copy(op); })
      .Case([&](tile::CopyCommitOp) {
        groups.push_back(std::move(openGroup));
        openGroup.clear();
        return success();
      })
      .Case([&](tile::CopyWaitOp op) {
        for (; groups.size() > op.getPending(); groups.pop_front())
          for (const Copy &landed : groups.front())
            instance.memory.land(accessBy(landed.op), landed);
        return success();
      })
      .Case([&](tile::BarrierOp) {
        atBarrier = true;
        return success();
      })
      .Default([&](Operation *op) { return fail(op, "is unknown to the interpreter"); });
}

LogicalResult Agent::finish(Operation *terminator) {
  if (!products.empty())
    return fail(products.front()->op, "starts a product that nothing awaits");
  if (!groups.empty())
    openGroup.insert(openGroup.begin(), groups.front().begin(), groups.front().end());
  if (!openGroup.empty())
    return fail(openGroup.front().op, "starts a copy that nothing waits for");
  return success();
}
