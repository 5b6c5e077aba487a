//===- AgentTile.cpp - ops of the tile dialect with effects -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Stores.h"
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

/// Return which elements of a tile are the agent's; none where all are: every agent computes the
/// whole tile.
std::vector<bool> Agent::ownedOf(RankedTensorType type) {
  std::vector<bool> owned;
  if (workTile.program.agents > 1)
    for (uint16_t owner : workTile.program.ownersOf(type, warps))
      owned.push_back(owner == warp());
  return owned;
}

LogicalResult Agent::slice(tile::SliceOp op) {
  Memory memory = *get(op.getSource()).memory;
  int64_t dim = op.getDim(), start = get(op.getStart()).scalar.i, size = get(op.getSize()).scalar.i;
  int64_t most = memory.sizes[dim];
  if (start < 0 || size < 0 || start > most || size > most - start)
    return fail(op, "takes " + Twine(size) + " from " + Twine(start) + " on of " + Twine(most) +
                        " along dimension " + Twine(dim));
  if (int64_t rows = memory.order ? memory.order.getRows() : 1; start % rows || size % rows)
    return fail(op, "takes " + Twine(size) + " rows from " + Twine(start) +
                        " on, which are no whole boxes of " + Twine(rows));
  if (!memory.whole) {
    memory.whole = memory.data;
    memory.begin.assign(memory.sizes.size(), 0);
  }
  auto element = cast<tile::ViewType>(op.getSource().getType()).getElementType();
  memory.data += start * memory.strides[dim] * static_cast<int64_t>(sizeOf(*dtypeOf(element)));
  memory.begin[dim] += start;
  memory.sizes[dim] = size;
  Datum datum;
  datum.memory = &workTile.slices.emplace_back(std::move(memory));
  set(op.getResult(), datum);
  return success();
}

/// Check that what goes to memory in boxes, or comes from there, begins at one.
LogicalResult Agent::checkBoxes(Operation *op, Value view, ValueRange indices,
                                ArrayRef<int64_t> dims) {
  tile::OrderAttr order = get(view).memory->order;
  if (!order)
    return success();
  int64_t row = integer(indices[dims[0]]), column = integer(indices[dims[1]]);
  if (row % order.getRows() == 0 && column % order.getColumns() == 0)
    return success();
  return fail(op, "begins within a box of memory, at row " + Twine(row) + " and column " +
                      Twine(column) + "; boxes have " + Twine(order.getRows()) + "x" +
                      Twine(order.getColumns()));
}

/// Store the agent's part.
LogicalResult Agent::store(tile::StoreOp op) {
  if (failed(checkBoxes(op, op.getDestination(), op.getIndices(), op.getDims())))
    return failure();
  RankedTensorType type = tileOf(op.getValue());
  const Memory &memory = *get(op.getDestination()).memory;
  SmallVector<int64_t, 4> start = integers(op.getIndices());
  Source destination(memory, start, op.getDims(), type.getShape(), op);
  if (Fault fault = workTile.memory.checkStore(destination))
    return fail(op, "", fault);
  storeTile(memory, start, op.getDims(), type.getShape(), type.getElementType(),
            *get(op.getValue()).tile, ownedOf(type));
  return success();
}

/// Return element `i` of each index.
static SmallVector<int64_t, 4> indicesAt(ArrayRef<const Datum *> indices, size_t i) {
  return llvm::map_to_vector<4>(indices, [&](const Datum *datum) -> int64_t {
    return (datum->tile ? (*datum->tile)[i] : datum->scalar).i;
  });
}

/// Call `body` with the place and the value of each element of a tile that the agent owns.
void Agent::forEachPlace(Value tile, OperandRange indices,
                         function_ref<void(ArrayRef<int64_t>, const RegionValue &)> body) {
  const Elements &value = *get(tile).tile;
  std::vector<bool> owned = ownedOf(tileOf(tile));
  SmallVector<const Datum *, 4> data;
  for (Value index : indices)
    data.push_back(&get(index));
  for (size_t i = 0; i < value.size(); ++i)
    if (owned.empty() || owned[i])
      body(indicesAt(data, i), value[i]);
}

/// Store the agent's part.
void Agent::scatter(tile::ScatterOp op) {
  const Memory &memory = *get(op.getDestination()).memory;
  Type element = tileOf(op.getValue()).getElementType();
  forEachPlace(op.getValue(), op.getIndices(), [&](ArrayRef<int64_t> at, const RegionValue &value) {
    storeTile(memory, at, {}, {}, element, {value}, {});
  });
}

/// Add the agent's part.
void Agent::scatterAdd(tile::ScatterAddOp op) {
  const Memory &memory = *get(op.getDestination()).memory;
  Type element = op.getDestination().getType().getElementType();
  forEachPlace(op.getValue(), op.getIndices(), [&](ArrayRef<int64_t> at, const RegionValue &value) {
    if (value.f == 0)
      return;
    RegionValue sum = loadElement(memory, at, element);
    sum.f = element.isF64() ? sum.f + value.f : static_cast<float>(sum.f + value.f);
    storeTile(memory, at, {}, {}, element, {sum}, {});
  });
}

/// Check that a tile begins inside of memory, and ends there, if it is given.
LogicalResult Agent::checkInside(Operation *op, StringRef constraint, const Memory &memory,
                                 ArrayRef<int64_t> start, ArrayRef<int64_t> dims,
                                 RankedTensorType tile) {
  for (auto [index, size] : llvm::zip_equal(start, memory.sizes))
    if (index < 0 || index >= size)
      return fail(op, "(" + constraint + ") begins at an index of " + Twine(index) + " of " +
                          Twine(size) + ", expected inside; leave 'inside' out");
  for (size_t r = 0; tile && r < dims.size(); ++r) {
    int64_t end = start[dims[r]] + tile.getDimSize(r), size = memory.sizes[dims[r]];
    if (end > size)
      return fail(op, "(" + constraint + ") ends at " + Twine(end) + " of " + Twine(size) +
                          ", which are multiples of the tile's; expected sizes of the workspace "
                          "rounded up to these");
  }
  return success();
}

/// Add the agent's part, where it is in range.
LogicalResult Agent::accumulate(tile::AccumulateOp op) {
  if (failed(checkBoxes(op, op.getDestination(), op.getIndices(), op.getDims())))
    return failure();
  RankedTensorType type = tileOf(op.getValue());
  const Memory &memory = *get(op.getDestination()).memory;
  SmallVector<int64_t, 4> start = integers(op.getIndices());
  if (op.getInside() && failed(checkInside(op, "accumulate_c6", memory, start, op.getDims(),
                                           tile::isInRange(op) ? type : RankedTensorType())))
    return failure();
  Elements sum = *loadTile(memory, start, op.getDims(), type.getShape(), type.getElementType());
  for (auto [to, value] : llvm::zip_equal(sum, *get(op.getValue()).tile))
    to.f = static_cast<float>(to.f + value.f);
  storeTile(memory, start, op.getDims(), type.getShape(), type.getElementType(), sum,
            ownedOf(type));
  return success();
}

static TileRef gather(tile::GatherOp op, const Memory &memory, ArrayRef<const Datum *> indices) {
  RankedTensorType type = tileOf(op.getResult());
  Elements result(elementsOf(type.getShape()));
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = loadElement(memory, indicesAt(indices, i), type.getElementType());
  return share(std::move(result));
}

/// Check that an op that stores, or that loads what kernels of the entry write, comes after
/// tile.kernel_wait.
LogicalResult Agent::checkWaited(Operation *op) {
  auto isInput = [&](Value view) {
    auto argument = dyn_cast<BlockArgument>(tile::SliceOp::baseOf(view));
    return !argument || workTile.program.func.isInput(argument.getArgNumber());
  };
  Value source;
  if (isa<tile::LoadOp, tile::GatherOp>(op))
    source = op->getOperand(0);
  if (tile::destinationOf(op) || (source && !isInput(source)))
    return fail(op, "touches what kernels of the entry write, expected after tile.kernel_wait; "
                    "the kernel before may still run");
  return success();
}

LogicalResult Agent::executeTile(Operation *op) {
  Datum datum;
  if (isa<tile::KernelWaitOp>(op)) {
    waited = true;
    return success();
  }
  if (!waited && failed(checkWaited(op)))
    return failure();
  if (auto dim = dyn_cast<tile::DimOp>(op)) {
    datum.scalar.i = get(dim.getView()).memory->sizes[dim.getDim()];
    set(dim.getResult(), datum);
    return success();
  }
  if (auto sliced = dyn_cast<tile::SliceOp>(op))
    return slice(sliced);
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    if (failed(checkBoxes(load, load.getSource(), load.getIndices(), load.getDims())))
      return failure();
    const Memory &memory = *get(load.getSource()).memory;
    Type type = load.getResult().getType();
    auto checked = tile::isInRange(load) ? cast<RankedTensorType>(type) : RankedTensorType();
    if (load.getInside() && failed(checkInside(load, "load_c5", memory, integers(load.getIndices()),
                                               load.getDims(), checked)))
      return failure();
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
  if (auto scattered = dyn_cast<tile::ScatterOp>(op)) {
    scatter(scattered);
    return success();
  }
  if (auto added = dyn_cast<tile::ScatterAddOp>(op)) {
    scatterAdd(added);
    return success();
  }
  if (auto added = dyn_cast<tile::AccumulateOp>(op))
    return accumulate(added);
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
  if (auto bit = dyn_cast<tile::NthBitOp>(op)) {
    datum.scalar.i = tile::nthBit(integer(bit.getWord()), integer(bit.getN()));
    set(bit.getResult(), datum);
    return success();
  }
  if (isa<tile::ReferenceOp, tile::StabilizeOp, tile::RescaleOp, tile::ReferenceValueOp>(op))
    return executeStabilizer(op);
  if (isa<tile::DotOp, tile::DotStartOp, tile::AwaitOp>(op))
    return executeProduct(op);
  if (isa<tile::RingOp, tile::PutOp, tile::PutValueOp, tile::GetOp, tile::ReleaseOp>(op))
    return executeRing(op);
  if (isa<tile::SlotAtOp, tile::ReadOp, tile::WriteOp, tile::CopyOp, tile::CopyCommitOp,
          tile::CopyWaitOp, tile::FenceAsyncOp, tile::BulkAccumulateOp, tile::BulkAccumulateWaitOp,
          tile::BarrierOp>(op))
    return executeSlot(op);
  return executeRoles(op);
}
