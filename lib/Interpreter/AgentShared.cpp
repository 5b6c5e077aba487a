//===- AgentShared.cpp - what an agent does with shared memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

unsigned Agent::numberOf(Operation *op, function_ref<unsigned()> add) {
  auto [entry, added] = workTile.numbers.try_emplace(op, 0);
  if (added)
    entry->second = add();
  return entry->second;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult Agent::tileOfOperand(Operation *op, Value operand, TileRef &tile,
                                   ElementRange range) {
  const Datum &datum = get(operand);
  if (!isa<tile::SlotType>(operand.getType())) {
    tile = datum.tile;
    return success();
  }
  if (Fault fault =
          workTile.memory.read(accessBy(op), datum.slot, workTile.program.byNumber, tile, range))
    return fail(op, "", fault);
  return success();
}

/// Return what an asynchronous product reads of operand 0 or 1: of a, where whole
/// warpgroups share its rows, those of this one. A transposed a, of which it reads columns, is
/// taken to be read whole.
ElementRange Agent::rowsOfProduct(tile::DotStartOp op, unsigned operand) const {
  auto slot = dyn_cast<tile::SlotType>(op->getOperand(operand).getType());
  if (operand != 0 || !slot || op.getTransposeA() || warps % tile::kWarpsOfGroup ||
      slot.getShape()[0] % (warps * tile::kRowsOfWarp))
    return {};
  int64_t size = elementsOf(slot.getShape()) / (warps / tile::kWarpsOfGroup);
  int64_t group = warp() / tile::kWarpsOfGroup;
  return {group * size, (group + 1) * size};
}

/// Return b with the columns that it is padded to, which are NaN.
static Elements padded(const Elements &b, int64_t rows, int64_t columns) {
  RegionValue none;
  none.f = std::numeric_limits<double>::quiet_NaN();
  Elements all(rows * columns, none);
  int64_t own = b.size() / rows;
  for (int64_t row = 0; row < rows; ++row)
    std::copy_n(b.begin() + row * own, own, all.begin() + row * columns);
  return all;
}

/// Multiply the operands of an op like tile.dot, read now.
template <typename Op>
static TileRef multiplyAs(Op op, const Elements &a, const Elements &b, const Elements &acc) {
  ArrayRef<int64_t> shape = tileOf(op.getAcc()).getShape();
  int64_t k = a.size() / shape[0];
  const Elements wide = op.getPadded() ? padded(b, k, shape[1]) : Elements();
  const Elements &columns = op.getPadded() ? wide : b;
  if (op.getTransposeA()) {
    Elements rows(a.size());
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t x = 0; x < k; ++x)
        rows[i * k + x] = a[x * shape[0] + i];
    return multiply(rows, columns, acc, shape[0], shape[1], k, op.getTransposeB());
  }
  return multiply(a, columns, acc, shape[0], shape[1], k, op.getTransposeB());
}

LogicalResult Agent::startProduct(tile::DotStartOp op) {
  auto product = std::make_shared<Product>();
  product->op = op;
  product->a = get(op.getA());
  product->b = get(op.getB());
  product->acc = get(op.getAcc()).tile;
  TileRef a, b;
  if (failed(tileOfOperand(op, op.getA(), a, rowsOfProduct(op, 0))) ||
      failed(tileOfOperand(op, op.getB(), b)))
    return failure();
  for (auto [i, operand] : llvm::enumerate(op->getOperands().take_front(2)))
    if (isa<tile::SlotType>(operand.getType()))
      workTile.memory.startReading(accessBy(op), get(operand).slot, rowsOfProduct(op, i));
  if (workTile.random.coin())
    product->early = multiplyAs(op, *a, *b, *product->acc);
  Datum datum;
  datum.product = product;
  products.push_back(std::move(product));
  set(op.getResult(), datum);
  return success();
}

/// Multiply now, for the product's operands must be there until it is awaited.
LogicalResult Agent::await(tile::AwaitOp op) {
  std::shared_ptr<Product> product = get(op.getPending()).product;
  auto start = cast<tile::DotStartOp>(product->op);
  TileRef tiles[2];
  const Datum *operands[] = {&product->a, &product->b};
  const Value values[] = {start.getA(), start.getB()};
  for (auto [i, operand] : llvm::enumerate(values)) {
    tiles[i] = operands[i]->tile;
    if (!isa<tile::SlotType>(operand.getType()) || product->awaited)
      continue;
    const SlotRef &slot = operands[i]->slot;
    if (Fault fault = workTile.memory.read(accessBy(op), slot, workTile.program.byNumber, tiles[i],
                                           rowsOfProduct(start, i)))
      return fail(op, "completes a product that ", fault);
    workTile.memory.endReading(start, number, slot);
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

/// Check that no product still reads the slot.
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

LogicalResult Agent::executeProduct(Operation *operation) {
  if (auto op = dyn_cast<tile::DotStartOp>(operation))
    return startProduct(op);
  if (auto op = dyn_cast<tile::AwaitOp>(operation))
    return await(op);
  auto op = cast<tile::DotOp>(operation);
  TileRef a, b;
  if (failed(tileOfOperand(op, op.getA(), a)) || failed(tileOfOperand(op, op.getB(), b)))
    return failure();
  Datum datum;
  datum.tile = multiplyAs(op, *a, *b, *get(op.getAcc()).tile);
  set(op.getResult(), datum);
  return success();
}

//===----------------------------------------------------------------------===//
// Rings
//===----------------------------------------------------------------------===//

/// Return where each element of a tile lies in a slot with an order.
static std::vector<int32_t> placesOf(tile::OrderAttr order, RankedTensorType tile) {
  std::vector<int32_t> places;
  for (int64_t row = 0; row < tile.getDimSize(0); ++row)
    for (int64_t column = 0; column < tile.getDimSize(1); ++column)
      places.push_back(order.offsetOf(row, column, tile.getDimSize(1)));
  return places;
}

/// Return the elements as they lie in a slot with an order.
static TileRef inOrder(ArrayRef<int32_t> places, const Elements &tile) {
  auto ordered = std::make_shared<Elements>(tile.size());
  for (auto [from, to] : llvm::enumerate(places))
    (*ordered)[to] = tile[from];
  return ordered;
}

/// Count the agents that get each tile of a ring, once for each reader.
static unsigned readersOf(tile::RingOp ring, const Program &program) {
  llvm::SmallDenseSet<std::pair<Operation *, uint64_t>, 2> seen;
  unsigned readers = 0;
  for (Operation *user : ring->getUsers())
    if (auto get = dyn_cast<tile::GetOp>(user);
        get && seen.insert({user->getParentOfType<tile::RoleOp>(), get.getReader()}).second)
      readers += program.agentsOf(user);
  // A reader that never comes: its slots are never free.
  for (uint64_t reader = 0; reader < ring.getReaders(); ++reader)
    readers += llvm::none_of(seen, [&](auto &entry) { return entry.second == reader; });
  return readers;
}

/// Return values as a tile: numbers go through shared memory as a tile of them.
TileRef Agent::tileOfValues(ValueRange values) const {
  if (TileRef tile = get(values.front()).tile)
    return tile;
  auto numbers = std::make_shared<Elements>();
  for (Value value : values)
    numbers->push_back(get(value).scalar);
  return numbers;
}

LogicalResult Agent::put(tile::PutOp op) {
  unsigned ring = get(op.getRing()).slot.ring;
  tile::RingType type = op.getRing().getType();
  TileRef tile =
      load(op.getSource(), op.getIndices(), op.getDims(), type.getShape(), type.getElementType());
  std::optional<Source> source;
  if (op.getCopy() != tile::Copy::ld_st)
    source.emplace(*get(op.getSource()).memory, integers(op.getIndices()), op.getDims(),
                   type.getShape(), op);
  workTile.memory.put(ring, number, tile, source, op);
  return success();
}

LogicalResult Agent::executeRing(Operation *operation) {
  SharedMemory &memory = workTile.memory;
  Datum datum;
  if (auto op = dyn_cast<tile::RingOp>(operation)) {
    datum.slot.ring = numberOf(op, [&] {
      std::optional<unsigned> within;
      if (op.getWithin())
        within = get(op.getWithin()).slot.ring;
      return memory.addRing(op, readersOf(op, workTile.program), within);
    });
    set(op.getResult(), datum);
    return success();
  }
  if (auto op = dyn_cast<tile::ReleaseOp>(operation)) {
    if (failed(checkRelease(op)))
      return failure();
    if (Fault fault = memory.release(accessBy(op), get(op.getSlot()).slot))
      return fail(op, "", fault);
    return success();
  }
  unsigned ring = get(operation->getOperand(0)).slot.ring;
  if (auto op = dyn_cast<tile::GetOp>(operation)) {
    if ((blocked = !memory.canGet(ring, op.getReader(), number)))
      return success();
    datum.slot = memory.get(ring, op.getReader(), number);
    set(op.getResult(), datum);
    return success();
  }
  Fault fault;
  if (memory.wasPut(ring, number, operation, fault))
    return fault ? fail(operation, "", fault) : success();
  if ((blocked = !memory.canPut(ring)))
    return success();
  if (auto op = dyn_cast<tile::PutOp>(operation))
    return put(op);
  auto value = cast<tile::PutValueOp>(operation);
  TileRef tile = tileOfValues(value.getValues());
  if (value.getOrder())
    tile = inOrder(placesOf(*value.getOrder(), cast<RankedTensorType>(value.getValue().getType())),
                   *tile);
  memory.put(ring, number, tile, std::nullopt, value);
  return success();
}

//===----------------------------------------------------------------------===//
// Slots by number
//===----------------------------------------------------------------------===//

std::vector<int32_t> Agent::ownElements(RankedTensorType type) {
  std::vector<int32_t> result;
  for (auto [i, owner] : llvm::enumerate(workTile.program.ownersOf(type, warps)))
    if (owner == warp() || workTile.program.agents == 1)
      result.push_back(i);
  return result;
}

/// Copy the agent's part: at once, or as a part of its open group.
LogicalResult Agent::copy(tile::CopyOp op) {
  if (op.getCopy() == tile::Copy::tma)
    return tmaCopy(op);
  tile::SlotType type = op.getSlot().getType();
  auto tileType = RankedTensorType::get(type.getShape(), type.getElementType());
  Copy copy{
      get(op.getSlot()).slot, ownElements(tileType),
      load(op.getSource(), op.getIndices(), op.getDims(), type.getShape(), type.getElementType()),
      op, number};
  if (op.getCopy() == tile::Copy::ld_st) {
    if (Fault fault = workTile.memory.write(accessBy(op), copy.slot, copy.elements, *copy.tile))
      return fail(op, "", fault);
    return success();
  }
  Source source(*get(op.getSource()).memory, integers(op.getIndices()), op.getDims(),
                type.getShape(), op);
  if (Fault fault = workTile.memory.startCopy(accessBy(op), copy, source))
    return fail(op, "", fault);
  openGroup.push_back(std::move(copy));
  return success();
}

/// Write the agent's part: of a slot by number, or of one that it got.
LogicalResult Agent::write(tile::WriteOp op) {
  const SlotRef &slot = get(op.getSlot()).slot;
  std::vector<int32_t> elements;
  if (auto type = dyn_cast<RankedTensorType>(op.getValue().getType()))
    elements = ownElements(type);
  else if (warp() == 0)
    for (size_t i = 0; i <= op.getOthers().size(); ++i)
      elements.push_back(i);
  SmallVector<Value> values{op.getValue()};
  llvm::append_range(values, op.getOthers());
  TileRef value = tileOfValues(values);
  if (op.getOrder()) {
    auto type = cast<RankedTensorType>(op.getValue().getType());
    std::vector<int32_t> places = placesOf(*op.getOrder(), type);
    for (int32_t &element : elements)
      element = places[element];
    value = inOrder(places, *value);
  }
  const Elements &tile = *value;
  SharedMemory &memory = workTile.memory;
  if (Fault fault = workTile.program.byNumber ? memory.write(accessBy(op), slot, elements, tile)
                                              : memory.fill(accessBy(op), slot, elements, tile))
    return fail(op, "", fault);
  return success();
}

/// Add a run of the slot to memory, where it is in range.
static void addRun(BulkAdd &added, const Elements &slot) {
  auto op = cast<tile::BulkAccumulateOp>(added.op);
  RankedTensorType type = op.getTileType();
  std::vector<int32_t> places = placesOf(added.memory->order, type);
  Elements sum =
      *loadTile(*added.memory, added.start, op.getDims(), type.getShape(), type.getElementType());
  std::vector<bool> owned(sum.size());
  for (auto [i, place] : llvm::enumerate(places)) {
    owned[i] = added.range.contains(place);
    sum[i].f = static_cast<float>(sum[i].f + slot[place].f);
  }
  storeTile(*added.memory, added.start, op.getDims(), type.getShape(), type.getElementType(), sum,
            owned);
  added.isAdded = true;
}

/// Return the elements of a tile that the agent adds and that are in range: its own, or, for all
/// warps, the whole tile.
std::vector<int32_t> Agent::addedElements(tile::BulkAccumulateOp op, const Memory &memory) {
  RankedTensorType type = op.getTileType();
  SmallVector<int64_t> start = integers(op.getIndices());
  int64_t rowDim = op.getDims()[0];
  for (int64_t d = 0; d < rowDim; ++d)
    if (start[d] < 0 || start[d] >= memory.sizes[d])
      return {};
  std::vector<int32_t> elements;
  if (!op.getWhole()) {
    elements = ownElements(type);
  } else if (warp() == 0) {
    elements.resize(type.getNumElements());
    std::iota(elements.begin(), elements.end(), 0);
  }
  llvm::erase_if(elements, [&](int32_t e) {
    int64_t row = start[rowDim] + e / type.getDimSize(1);
    return row < 0 || row >= memory.sizes[rowDim];
  });
  return elements;
}

/// Start to add the runs that the warp has of the tile, which it has to know to be written and
/// fenced; they are added now, or as late as the wait for them.
LogicalResult Agent::startAdding(tile::BulkAccumulateOp op) {
  if (failed(checkBoxes(op, op.getDestination(), op.getIndices(), op.getDims())))
    return failure();
  RankedTensorType type = op.getTileType();
  const Memory *memory = get(op.getDestination()).memory;
  std::vector<int32_t> places = placesOf(memory->order, type), own = addedElements(op, *memory);
  for (int32_t &element : own)
    element = places[element];
  llvm::sort(own);
  for (size_t i = 0, end; i < own.size(); i = end) {
    for (end = i + 1; end < own.size() && own[end] == own[end - 1] + 1;)
      ++end;
    BulkAdd added{get(op.getSlot()).slot,
                  {own[i], own[end - 1] + 1},
                  memory,
                  integers(op.getIndices()),
                  op,
                  numAdditions,
                  nullptr};
    TileRef slot;
    if (failed(tileOfOperand(op, op.getSlot(), slot, added.range)))
      return failure();
    if (workTile.random.coin())
      addRun(added, *slot);
    workTile.memory.startReading(accessBy(op), added.slot, added.range);
    additions.push_back(std::move(added));
  }
  ++numAdditions;
  return success();
}

/// Wait for reductions; what they read was there until now. What they add comes later, unless the
/// wait is for that, too.
LogicalResult Agent::waitForAdding(tile::BulkAccumulateWaitOp op) {
  for (BulkAdd &added : additions) {
    if (added.group + op.getPending() >= numAdditions)
      continue;
    if (!added.read) {
      if (Fault fault = workTile.memory.read(accessBy(op), added.slot, /*byNumber=*/true,
                                             added.read, added.range))
        return fail(op, "completes a reduction that ", fault);
      workTile.memory.endReading(added.op, number, added.slot);
    }
    if (!added.isAdded && (op.getWritten() || workTile.random.coin()))
      addRun(added, *added.read);
  }
  if (op.getWritten())
    additions.clear();
  return success();
}

LogicalResult Agent::executeSlot(Operation *operation) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(operation)
      .Case([&](tile::SlotAtOp op) -> LogicalResult {
        Datum datum;
        datum.slot = {get(op.getRing()).slot.ring, integer(op.getStage()), 0, 0};
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
        if (auto type = dyn_cast<RankedTensorType>(op.getValue().getType())) {
          if (op.getOrder()) {
            auto tile = std::make_shared<Elements>();
            for (int32_t place : placesOf(*op.getOrder(), type))
              tile->push_back((*datum.tile)[place]);
            datum.tile = std::move(tile);
          }
          set(op.getValue(), datum);
          return success();
        }
        for (auto [i, number] : llvm::enumerate(op.getValues())) {
          Datum each;
          each.scalar = (*datum.tile)[i];
          set(number, each);
        }
        return success();
      })
      .Case([&](tile::WriteOp op) { return write(op); })
      .Case([&](tile::CopyOp op) { return copy(op); })
      .Case([&](tile::CopyCommitOp) {
        groups.push_back(std::move(openGroup));
        openGroup.clear();
        return success();
      })
      .Case([&](tile::CopyWaitOp op) {
        for (; groups.size() > op.getPending(); groups.pop_front())
          for (const Copy &landed : groups.front())
            workTile.memory.land(accessBy(landed.op), landed);
        return success();
      })
      .Case([&](tile::FenceAsyncOp op) {
        workTile.memory.fence(accessBy(op));
        return success();
      })
      .Case([&](tile::BulkAccumulateOp op) { return startAdding(op); })
      .Case([&](tile::BulkAccumulateWaitOp op) { return waitForAdding(op); })
      .Default([&](Operation *op) { // tile.barrier
        atBarrier = op;
        return success();
      });
}

LogicalResult Agent::finish(Operation *terminator) {
  if (!products.empty())
    return fail(products.front()->op, "starts a product that nothing awaits");
  if (!groups.empty())
    openGroup.insert(openGroup.begin(), groups.front().begin(), groups.front().end());
  if (!openGroup.empty())
    return fail(openGroup.front().op, "starts a copy that nothing waits for");
  if (!copiesOut.empty())
    return fail(copiesOut.front().op, "starts a copy that nothing waits for");
  if (!additions.empty())
    return fail(additions.front().op, "starts a reduction that nothing waits for");
  Operation *pingpong = nullptr;
  if (Fault fault = workTile.barriers.checkPassed(number, pingpong))
    return fail(pingpong, "", fault);
  return success();
}
