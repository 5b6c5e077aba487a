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

/// Store the agent's part; every agent computes the whole tile.
LogicalResult Agent::store(tile::StoreOp op) {
  RankedTensorType type = tileOf(op.getValue());
  const Memory &memory = *get(op.getDestination()).memory;
  SmallVector<int64_t, 4> start = integers(op.getIndices());
  Source destination(memory, start, op.getDims(), type.getShape(), op);
  if (Fault fault = workTile.memory.checkStore(destination))
    return fail(op, "", fault);
  std::vector<bool> owned;
  if (workTile.program.agents > 1)
    for (uint16_t owner : workTile.program.ownersOf(type, warps))
      owned.push_back(owner == warp());
  storeTile(memory, start, op.getDims(), type.getShape(), type.getElementType(),
            *get(op.getValue()).tile, owned);
  return success();
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
  if (auto stored = dyn_cast<tile::StoreOp>(op))
    return store(stored);
  if (auto gathered = dyn_cast<tile::GatherOp>(op)) {
    SmallVector<const Datum *, 4> indices;
    for (Value index : gathered.getIndices())
      indices.push_back(&get(index));
    datum.tile = gather(gathered, *get(gathered.getSource()).memory, indices);
    set(gathered.getResult(), datum);
    return success();
  }
  if (isa<tile::ReduceOp, tile::BroadcastOp, tile::TransposeOp, tile::ColumnsOp,
          tile::ColumnsBetweenOp, tile::IotaOp, tile::RandomBitsOp, tile::ConvertLayoutOp>(op)) {
    SmallVector<const Datum *, 6> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&get(operand));
    datum = evaluateTileOp(op, operands);
    set(op->getResult(0), datum);
    return success();
  }
  if (isa<tile::ReferenceOp, tile::StabilizeOp, tile::RescaleOp, tile::ReferenceValueOp>(op))
    return executeStabilizer(op);
  if (isa<tile::DotOp, tile::DotStartOp, tile::AwaitOp>(op))
    return executeProduct(op);
  if (isa<tile::RingOp, tile::PutOp, tile::PutValueOp, tile::GetOp, tile::ReleaseOp>(op))
    return executeRing(op);
  if (isa<tile::SlotAtOp, tile::ReadOp, tile::WriteOp, tile::CopyOp, tile::CopyCommitOp,
          tile::CopyWaitOp, tile::FenceAsyncOp, tile::BarrierOp>(op))
    return executeSlot(op);
  return executeRoles(op);
}
