//===- LayoutGraph.cpp - which tiles have one layout, and which one -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LayoutGraph.h"
#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

using namespace mlir;
using namespace mlir::tile;

static bool isTile(Value value) { return isa<RankedTensorType>(value.getType()); }

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// Return whether the use is an operand of a product other than its accumulator.
static bool isFactor(OpOperand &use) {
  auto dot = dyn_cast<DotOp>(use.getOwner());
  return dot && &use != &dot.getAccMutable();
}

bool tile::isSharedOperand(Value value) {
  return isTile(value) && value.getDefiningOp<LoadOp>() && !value.use_empty() &&
         llvm::all_of(value.getUses(), isFactor);
}

/// Return the cost in instructions, roughly; shared memory also costs barriers.
int64_t tile::conversionCost(const Layout &from, const Layout &to) {
  if (from == to)
    return 0;
  ConversionPlan plan = planConversion(from, to, 32);
  if (plan.kind == ConversionKind::shared)
    return 100 + from.numRegs() + to.numRegs();
  return 2 * plan.numShuffles() + plan.numSelects();
}

//===----------------------------------------------------------------------===//
// Classes and links
//===----------------------------------------------------------------------===//

LogicalResult LayoutGraph::build() {
  if (failed(addTiles()))
    return failure();
  // Products first: a tile of which columns are taken may stand before all of them.
  WalkResult result = func.walk([&](DotOp dot) {
    return failed(addDot(dot)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  result = func.walk([&](Operation *op) {
    return failed(addOp(op)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (result.wasInterrupted())
    return failure();
  classes.compress();
  layouts.resize(classes.getNumClasses());
  members.resize(classes.getNumClasses());
  for (Value tile : tiles)
    members[classOf(tile)].push_back(tile);
  return success();
}

LogicalResult LayoutGraph::addTiles() {
  auto add = [&](Value value) -> LogicalResult {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || isSharedOperand(value))
      return success();
    if (!type.hasStaticShape() || type.getRank() < 1 || type.getRank() > 2 || type.getEncoding())
      return emitError(value.getLoc())
             << "layouts are for tiles of rank 1 or 2, of static shape and "
                "without an encoding, got "
             << type;
    constexpr int64_t kMost = 1 << 20;
    if (type.getNumElements() < 1 || type.getNumElements() > kMost)
      return emitError(value.getLoc())
             << "a tile in registers has 1 to 2^20 elements, got " << type << "; use smaller tiles";
    ids[value] = tiles.size();
    tiles.push_back(value);
    return success();
  };
  WalkResult result = func.walk([&](Operation *op) {
    for (Value value : op->getResults())
      if (failed(add(value)))
        return WalkResult::interrupt();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value value : block.getArguments())
          if (failed(add(value)))
            return WalkResult::interrupt();
    return WalkResult::advance();
  });
  classes.grow(tiles.size());
  return failure(result.wasInterrupted());
}

void LayoutGraph::join(ValueRange values) {
  std::optional<unsigned> first;
  for (Value value : values) {
    if (!isTile(value))
      continue;
    unsigned id = ids.lookup(value);
    if (first)
      classes.join(*first, id);
    else
      first = id;
  }
}

void LayoutGraph::link(Operation *op, Value whole, Value part, std::optional<unsigned> dim) {
  links.push_back({op, whole, part, dim});
}

LogicalResult LayoutGraph::addOp(Operation *op) {
  if (isa<DotOp>(op))
    return success();
  if (auto ifAny = dyn_cast<IfAnyOp>(op))
    return addIfAny(ifAny);
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    for (auto [init, arg, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(),
                         loop.getResults()))
      join({init, arg, yielded, result});
    return success();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(branch.getResults()))
      join({result, branch.thenYield().getOperand(i), branch.elseYield().getOperand(i)});
    return success();
  }
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    if (broadcast.getDim())
      link(op, broadcast.getResult(), broadcast.getInput(), *broadcast.getDim());
    return success();
  }
  if (auto between = dyn_cast<ColumnsBetweenOp>(op)) {
    for (Value limit : between->getOperands())
      link(op, between.getResult(), limit, 1);
    return success();
  }
  if (auto rescale = dyn_cast<RescaleOp>(op)) {
    join({rescale.getInput(), rescale.getResult()});
    for (Value rows : rescale->getOperands().drop_front())
      if (isTile(rows) && rescale.getDim())
        link(op, rescale.getResult(), rows, *rescale.getDim());
      else
        join({rescale.getResult(), rows});
    return success();
  }
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (shapeOf(reduce.getInput()).size() != 2)
      return op->emitOpError() << "reduces a tile of rank 2, got " << reduce.getInput().getType();
    join({reduce.getInit(), reduce.getResult()});
    link(op, reduce.getInput(), reduce.getResult(), reduce.getDim());
    return success();
  }
  if (auto columns = dyn_cast<ColumnsOp>(op)) {
    if (!fitsAccumulator(columns.getInput()) || !fitsAccumulator(columns.getResult()))
      return op->emitOpError() << "takes columns of what a product accumulates, got "
                               << columns.getInput().getType() << " to " << columns.getType();
    this->columns.push_back(columns);
    return success();
  }
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    link(op, transpose.getInput(), transpose.getResult(), std::nullopt);
    return success();
  }
  auto constant = dyn_cast<arith::ConstantOp>(op);
  if (constant && isTile(constant) && !isa<SplatElementsAttr>(constant.getValue()))
    return op->emitOpError() << "as a tile has one value for all elements; load other tiles";
  bool elementwise =
      op->hasTrait<OpTrait::Elementwise>() || isa<GatherOp, ScatterOp, ScatterAddOp>(op);
  if (elementwise) {
    SmallVector<Value> values(op->getOperands());
    llvm::append_range(values, op->getResults());
    join(values);
    return success();
  }
  auto anyLayout = [&] {
    return isa<LoadOp, StoreOp, AccumulateOp, IotaOp, RandomBitsOp, scf::YieldOp, YieldOp,
               arith::ConstantOp>(op);
  };
  auto touchesTiles = [&] {
    return llvm::any_of(op->getOperands(), isTile) || llvm::any_of(op->getResults(), isTile);
  };
  if (!anyLayout() && touchesTiles())
    return op->emitOpError() << "has no rule for the layouts of its tiles";
  return success();
}

LogicalResult LayoutGraph::addIfAny(IfAnyOp op) {
  auto yield = cast<YieldOp>(op.getBody().front().getTerminator());
  for (auto [init, yielded, result] :
       llvm::zip_equal(op.getInits(), yield.getValues(), op.getResults())) {
    join({init, yielded, result});
    if (!isTile(result) || !isTile(op.getRows()))
      continue; // those of !tile.ran are compared when all have layouts
    ArrayRef<int64_t> shape = shapeOf(result), rows = shapeOf(op.getRows());
    if (rows.empty() || rows.size() > 2 || shape[0] != rows[0])
      return op.emitOpError() << "asks for rows of " << op.getRows().getType()
                              << ", but has a value of other rows: " << result.getType();
    if (rows.size() == 2)
      continue; // its rows are compared when all have layouts
    if (shape.size() == 2)
      link(op, result, op.getRows(), 1);
    else
      join({result, op.getRows()});
  }
  return success();
}

const ProductInstruction *LayoutGraph::instructionOf(DotOp dot) const {
  Type element = getElementTypeOrSelf(dot.getA().getType());
  if (element.isF16() || element.isBF16()) {
    const ProductInstruction *ofWarp = findProductInstruction("mma.sync.m16n8k16");
    if (!async)
      return ofWarp;
    // Warps that are no whole warpgroups, or share the columns of fewer rows than these have.
    const ProductInstruction *ofGroup = findProductInstruction("wgmma.m64k16");
    int64_t rows = shapeOf(dot.getAcc())[0];
    bool serves = warps % ofGroup->warps == 0 && fitsRows(*ofGroup, rows);
    return !serves && fitsRows(*ofWarp, rows) ? ofWarp : ofGroup;
  }
  return element.isF32() ? findProductInstruction("mma.sync.m16n8k8.tf32.paired") : nullptr;
}

/// Return whether warps have rows of their own, or several have the same ones.
bool LayoutGraph::fitsRows(const ProductInstruction &instruction, int64_t rows) const {
  int64_t band = instruction.m / instruction.warps * warps;
  bool share = instruction.warps == 1 && rows % instruction.m == 0 && band % rows == 0;
  bool asked = instruction.warps == 1 && warps % beside == 0 && rows % (band / beside) == 0;
  return rows % band == 0 || share || asked;
}

/// Lay out an accumulator: warps that have the same rows share the columns, unless sums along them
/// need them all, or a tile of some of them, or a product that takes them as its terms from
/// registers: of 2 bytes it reads shared memory.
Layout LayoutGraph::layoutOfAcc(const ProductInstruction &instruction, Value acc) const {
  ArrayRef<int64_t> shape = shapeOf(acc);
  // Warpgroups that share columns are laid out by warps (instructionOf).
  if (instruction.warps > 1)
    return instruction.acc.tiled(shape[0], shape[1], warps);
  bool whole = llvm::any_of(links, [&](const Link &link) {
    return isa<ReduceOp>(link.op) && link.dim == 1 && classOf(link.whole) == classOf(acc);
  });
  whole |= llvm::any_of(columns, [&](ColumnsOp op) {
    return classOf(op.getInput()) == classOf(acc) || classOf(op.getResult()) == classOf(acc);
  });
  whole |= llvm::any_of(dots, [&](DotOp dot) {
    bool fromShared = getElementTypeOrSelf(dot.getA().getType()).getIntOrFloatBitWidth() == 16;
    return ids.contains(dot.getA()) && classOf(dot.getA()) == classOf(acc) && !fromShared;
  });
  auto runOf = [&](int64_t beside) {
    return whole ? 0 : runOfShare(shape[1], beside, instruction.elementBits / 8);
  };
  int64_t least = std::max<int64_t>(instruction.m * warps / shape[0], 1);
  int64_t wanted = std::max(least, beside);
  // Fewer rows than the others have between them leave more warps beside each other.
  while (wanted < warps && shape[0] % (instruction.m * warps / wanted) != 0)
    wanted *= 2;
  if (int64_t run = runOf(wanted))
    return instruction.acc.tiled(shape[0], shape[1], warps, run, wanted);
  return instruction.acc.tiled(shape[0], shape[1], warps, runOf(least));
}

/// Put accumulators in a class of their own layout, whatever the tile's size.
LogicalResult LayoutGraph::addDot(DotOp dot) {
  if (!isTile(dot.getA()) || !isTile(dot.getB()))
    return dot.emitOpError() << "has an operand in shared memory already; layouts are assigned "
                                "before tile-promote-shared";
  const ProductInstruction *instruction = instructionOf(dot);
  if (!instruction)
    return dot.emitOpError() << "multiplies f16, bf16 or f32, got "
                             << getElementTypeOrSelf(dot.getA().getType());
  ArrayRef<int64_t> acc = shapeOf(dot.getAcc());
  int64_t depth = cast<ShapedType>(dot.getA().getType()).getDimSize(dot.getTransposeA() ? 0 : 1);
  auto misfit = [&](StringRef what, int64_t multiple, int64_t size, StringRef remedy) {
    return dot.emitOpError() << "needs a number of " << what << " that is a multiple of "
                             << multiple << " (" << instruction->name << " on " << warps
                             << " warps), got " << size << "; " << remedy;
  };
  if (warps % instruction->warps != 0)
    return dot.emitOpError() << "needs a number of warps that is a multiple of "
                             << instruction->warps << " (" << instruction->name << "), got "
                             << warps << "; change tile.warps (--tile-warps of programs)";
  if (!fitsRows(*instruction, acc[0]))
    return misfit("rows", instruction->m / instruction->warps * warps, acc[0],
                  "change the tile's rows or tile.warps (sizes and warps of tiles are options of "
                  "programs)");
  // mma.sync's instructions come in pairs: one ldmatrix serves 16 columns of b.
  int64_t columns = instruction->warps == 1 ? 2 * instruction->n : instruction->n;
  int64_t ofB = acc[1] - (dot.getOnes() ? 8 : 0);
  if (ofB % columns != 0)
    return misfit("columns", columns, ofB, "pad the tile's columns");
  if (depth % instruction->k != 0)
    return misfit("terms", instruction->k, depth, "pad the operands");
  join({dot.getAcc(), dot.getResult()});
  dots.push_back(dot);
  return success();
}

std::optional<Layout> LayoutGraph::layoutOfA(DotOp dot) const {
  // Products of f32 in full precision have no matrix instruction.
  bool fused =
      getElementTypeOrSelf(dot.getA().getType()).isF32() && dot.getPrecision() == Precision::ieee;
  if (!ids.contains(dot.getA()) || dot.getTransposeA() || fused)
    return std::nullopt;
  ArrayRef<int64_t> shape = shapeOf(dot.getA());
  // Warps hold the rows that they have of the accumulator.
  int64_t same = 1;
  if (const std::optional<Layout> &acc = layouts[classOf(dot.getAcc())])
    same = llvm::count_if(llvm::seq<int64_t>(0, warps), [&](int64_t warp) {
      return acc->at(0, 0, warp)[0] == acc->at(0, 0, 0)[0];
    });
  const ProductInstruction *instruction = instructionOf(dot);
  return instruction->a.tiled(shape[0], shape[1], warps, /*run=*/0,
                              instruction->warps == 1 ? same : 1);
}

bool LayoutGraph::fitsAccumulator(Value tile) const {
  if (dots.empty())
    return false;
  const ProductInstruction *instruction = instructionOf(dots.front());
  ArrayRef<int64_t> shape = shapeOf(tile);
  return shape.size() == 2 && fitsRows(*instruction, shape[0]) && shape[1] % instruction->n == 0;
}

std::optional<Layout> LayoutGraph::layoutAsAccumulator(Value tile) const {
  if (!fitsAccumulator(tile))
    return std::nullopt;
  return layoutOfAcc(*instructionOf(dots.front()), tile);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

LogicalResult LayoutGraph::assign() {
  for (DotOp dot : dots) {
    Layout layout = layoutOfAcc(*instructionOf(dot), dot.getAcc());
    ArrayRef<int64_t> shape = shapeOf(dot.getAcc());
    if (layout.numWarps() != warps ||
        layout.numRegs() * Layout::kLanes * warps < shape[0] * shape[1])
      return dot.emitOpError() << "of " << shape[0] << " x " << shape[1]
                               << " has no equal parts for " << warps << " warps, " << beside
                               << " beside each other; change the tile's rows or tile.warps";
    layouts[classOf(dot.getAcc())] = layout;
  }
  for (ColumnsOp op : columns)
    if (std::optional<Layout> &layout = layouts[classOf(op.getResult())]; !layout)
      layout = layoutAsAccumulator(op.getResult());
  for (DotOp dot : dots)
    if (std::optional<Layout> wanted = layoutOfA(dot))
      if (std::optional<Layout> &layout = layouts[classOf(dot.getA())]; !layout)
        layout = wanted;
  auto propagate = [&] {
    while (propagateTransposes() || propagateToRows() || propagateToTiles())
      ;
  };
  propagate();
  // Rows and columns last: they follow their tiles.
  for (unsigned rank : {2, 1})
    for (unsigned cls = 0; cls < layouts.size(); ++cls)
      if (!layouts[cls] && shapeOf(members[cls].front()).size() == rank) {
        assignDefault(cls);
        propagate();
      }
  return success();
}

bool LayoutGraph::propagateTransposes() {
  bool changed = false;
  for (const Link &link : links) {
    if (link.dim)
      continue;
    std::optional<Layout> &from = layouts[classOf(link.whole)], &to = layouts[classOf(link.part)];
    if (from.has_value() == to.has_value())
      continue;
    from ? to = from->transpose() : from = to->transpose();
    changed = true;
  }
  return changed;
}

/// Count the gathers of a class.
static int64_t countGathers(ArrayRef<Value> members) {
  return llvm::count_if(members, [](Value tile) { return !!tile.getDefiningOp<GatherOp>(); });
}

/// Give each class of rows without a layout the slice of one of its tiles that
/// makes conversions to the others cheapest; what is in a loop counts more. Where threads would
/// gather what others have too, for longer than an exchange takes, and no product is kept waiting,
/// each gathers its part.
bool LayoutGraph::propagateToRows() {
  llvm::MapVector<unsigned, std::vector<std::pair<Layout, int64_t>>> proposals;
  for (const Link &link : links) {
    if (!link.dim || layouts[classOf(link.part)] || !layouts[classOf(link.whole)])
      continue;
    int64_t weight = 1;
    for (Operation *up = link.op->getParentOp(); up; up = up->getParentOp())
      weight *= isa<LoopLikeOpInterface>(up) ? 16 : 1;
    proposals[classOf(link.part)].push_back(
        {layouts[classOf(link.whole)]->slice(*link.dim), weight});
  }
  for (auto &[cls, proposed] : proposals) {
    int64_t best = -1;
    for (auto &candidate : proposed) {
      int64_t cost = 0;
      for (auto &[other, weight] : proposed)
        cost += weight * conversionCost(candidate.first, other);
      if (best >= 0 && best <= cost)
        continue;
      best = cost;
      layouts[cls] = candidate.first;
    }
    int64_t gathers = countGathers(members[cls]);
    if (!dots.empty() || gathers == 0)
      continue;
    Layout copied = *layouts[cls];
    assignDefault(cls);
    const Layout &spread = *layouts[cls];
    // An address is a few instructions, and so is what is computed of an element.
    if (4 * gathers * (copied.numRegs() - spread.numRegs()) <= conversionCost(spread, copied))
      layouts[cls] = copied;
  }
  return !proposals.empty();
}

/// Lay out a tile that no product touches, but whose rows have a layout,
/// like an accumulator of its size if that has these rows.
bool LayoutGraph::propagateToTiles() {
  bool changed = false;
  for (const Link &link : links) {
    if (!link.dim || layouts[classOf(link.whole)] || !layouts[classOf(link.part)])
      continue;
    std::optional<Layout> layout = layoutAsAccumulator(link.whole);
    if (!layout || layout->slice(*link.dim) != *layouts[classOf(link.part)])
      continue;
    layouts[classOf(link.whole)] = layout;
    changed = true;
  }
  return changed;
}

/// Return the order of the memory that a tile of a class is loaded from or stored to; null for
/// none.
static OrderAttr orderOfMembers(ArrayRef<Value> members) {
  OrderAttr order;
  auto see = [&](Type memory) {
    if (auto view = dyn_cast<ViewType>(memory); view && view.getOrder())
      order = view.getOrder();
  };
  for (Value tile : members) {
    if (auto load = tile.getDefiningOp<LoadOp>())
      see(load.getSource().getType());
    for (Operation *user : tile.getUsers())
      if (auto store = dyn_cast<StoreOp>(user))
        see(store.getDestination().getType());
  }
  return order;
}

/// Lay out neighbouring lanes along the dimension that is contiguous in memory, each
/// with as many elements as 16 bytes hold, or one that is gathered, then down the others. What is
/// left over of lanes and warps holds copies. What lies in boxes is laid out by boxes.
void LayoutGraph::assignDefault(unsigned cls) {
  if (OrderAttr order = orderOfMembers(members[cls])) {
    ArrayRef<int64_t> shape = shapeOf(members[cls].front());
    Fragment box{
        order.getRows(), order.getColumns(), order.getRegModes(), order.getLaneModes(), {}};
    int64_t rows = std::min(shape[0] / order.getRows(), warps), beside = warps / rows;
    if (shape[0] % (rows * order.getRows()) == 0 && warps % rows == 0 &&
        shape[1] % (beside * order.getColumns()) == 0) {
      layouts[cls] = box.tiled(shape[0], shape[1], warps, shape[1] / beside, beside);
      return;
    }
  }
  int64_t bytes = 1, votes = 0;
  auto see = [&](Value tile, Type memory, ArrayRef<int64_t> dims) {
    Type element = getElementTypeOrSelf(tile);
    bytes = std::max<int64_t>(bytes, element.isIndex() ? 8 : element.getIntOrFloatBitWidth() / 8);
    auto view = dyn_cast<ViewType>(memory);
    votes += view && dims.size() == 2 && dims[0] == view.getRank() - 1 ? 1 : -1;
  };
  for (Value tile : members[cls]) {
    if (auto load = tile.getDefiningOp<LoadOp>())
      see(tile, load.getSource().getType(), load.getDims());
    for (Operation *user : tile.getUsers())
      if (auto store = dyn_cast<StoreOp>(user))
        see(tile, store.getDestination().getType(), store.getDims());
  }
  ArrayRef<int64_t> shape = shapeOf(members[cls].front());
  unsigned rank = shape.size(), fast = votes > 0 ? 0 : rank - 1;
  auto along = [&](unsigned dim, int64_t extent, int64_t stride) {
    Mode mode{extent, Coords(rank, 0)};
    mode.strides[dim] = stride;
    return mode;
  };
  int64_t lanes = Layout::kLanes, spread = warps;
  bool gathered = rank == 1 && countGathers(members[cls]) > 0;
  int64_t vector = gathered ? 1 : std::gcd(shape[fast], std::max<int64_t>(16 / bytes, 1));
  Modes reg = {along(fast, vector, 1)}, lane, warp;
  // Lanes, then warps, then registers take what is left of each dimension.
  for (unsigned i = 0; i < rank; ++i) {
    unsigned dim = i == 0 ? fast : 1 - fast;
    int64_t stride = i == 0 ? vector : 1;
    int64_t inLanes = std::gcd(shape[dim] / stride, lanes);
    lane.push_back(along(dim, inLanes, stride));
    lanes /= inLanes, stride *= inLanes;
    // Warps go down the rows, so that sums along rows stay in a warp.
    if (i + 1 == rank) {
      int64_t inWarps = std::gcd(shape[dim] / stride, spread);
      warp.push_back(along(dim, inWarps, stride));
      spread /= inWarps, stride *= inWarps;
    }
    reg.push_back(along(dim, shape[dim] / stride, stride));
  }
  lane.push_back(along(0, lanes, 0));
  warp.push_back(along(0, spread, 0));
  layouts[cls] = Layout(rank, reg, lane, warp);
}
