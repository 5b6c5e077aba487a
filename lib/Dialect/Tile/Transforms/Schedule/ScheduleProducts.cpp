//===- ScheduleProducts.cpp - the order of a loop of asynchronous products -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products run beside the arithmetic between them, of their iteration and of the next:
//
//   1. the body as a graph of products and computations. Scalars and constant tiles are no part
//      of it: they are computed again where a later stage wants them, instead of carried;
//   2. stages and order (ProductOrder.cpp);
//   3. a slot that both stages read has two readers, each with a get and a release of its own;
//   4. the ops in that order: all puts first, those that are needed first in front; a get before
//      the first reader of its slot, a release after the last one, or its await. Where there are
//      two stages, tile-pipeline expands the loop; else the ops move here.
//
// What the body puts in a ring from registers, for products of its own, is a computation; all warps
// meet where they get it, which is right before the first reader. What it stores, or adds to
// memory, is one, too.
//
// Rejects: loops that write shared memory, slots that are not read and released in the body.
//
//===----------------------------------------------------------------------===//

#include "ScheduleProducts.h"
#include "ProductOrder.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include <limits>

using namespace mlir;
using namespace mlir::tile;

/// Return whether the op loads a number, as each role does that needs it.
static bool loadsNumber(Operation *op) {
  auto load = dyn_cast<LoadOp>(op);
  return load && load.isScalar() && !op->hasAttr(TileDialect::kRoleAttr);
}

namespace {

using OpSet = llvm::SmallSetVector<Operation *, 4>;

/// The graph of a body, and the op of each node.
struct BodyGraph {
  ProductGraph nodes;
  SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, unsigned> numbers;
};

struct ProductLoop {
  explicit ProductLoop(scf::ForOp loop)
      : loop(loop), block(*loop.getBody()),
        threads(Layout::kLanes * loop->getParentOfType<FuncOp>().getNumWarps()) {
    for (auto start : block.getOps<DotStartOp>())
      roles.insert(roleOf(start));
  }

  LogicalResult check(std::string &why);
  BodyGraph makeGraph(bool withFree);
  ProductTarget getTarget(const BodyGraph &graph, int64_t sharedLimit) const;
  LogicalResult setStages(const BodyGraph &graph, ArrayRef<unsigned> stages, std::string &why);
  void recompute();
  void emitAll(ArrayRef<Operation *> starts, Operation *drained);
  void number();
  void move();

  /// Return the roles that start products in the body.
  ArrayRef<StringRef> getRoles() const { return roles.getArrayRef(); }
  /// Go on with the ops of this role; scalars are any role's.
  void setRole(StringRef of) { role = of; }

private:
  bool isMine(Operation *op) const {
    return roleOf(op) == role || anyRoleHas(op) || loadsNumber(op);
  }
  bool isNode(Operation *op, bool withFree) const;
  using Seen = llvm::DenseSet<std::pair<Value, unsigned>>;
  void addDeps(ProductNode &node, const BodyGraph &graph, Value value, bool carried, Seen &seen);
  void setCosts(ProductNode &node, Operation *op) const;
  LogicalResult splitReaders(GetOp get, std::string &why);
  OpSet depsOf(Operation *op);
  Value cloneInto(Value value, Operation *user, IRMapping &mapping);
  void emit(Operation *op);
  void emitReleases(bool loaded);

  scf::ForOp loop;
  Block &block;
  int64_t threads;
  llvm::SmallSetVector<StringRef, 2> roles;
  StringRef role = kCompute;
  llvm::DenseMap<Operation *, unsigned> stage;
  llvm::SmallSetVector<Operation *, 32> emitted;
};

} // namespace

/// Return whether it costs nothing to compute it again.
static bool isFree(Operation *op) {
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op))
    return false;
  bool scalar =
      llvm::none_of(op->getResultTypes(), [](Type type) { return isa<RankedTensorType>(type); });
  auto broadcast = dyn_cast<BroadcastOp>(op);
  return scalar || isa<IotaOp>(op) || op->hasTrait<OpTrait::ConstantLike>() ||
         (broadcast && !broadcast.getDim());
}

//===----------------------------------------------------------------------===//
// 1. The graph
//===----------------------------------------------------------------------===//

/// Return the only op of the get's block that fills the ring from registers; null where others use
/// the ring, too.
static PutValueOp fillerOf(GetOp get) {
  PutValueOp filler;
  RingOp ring = ringOf(get);
  if (!ring)
    return {};
  for (Operation *user : ring->getUsers())
    if (user != get) {
      if (filler || !isa<PutValueOp>(user) || user->getBlock() != get->getBlock())
        return {};
      filler = cast<PutValueOp>(user);
    }
  return filler && filler->isBeforeInBlock(get) ? filler : PutValueOp();
}

/// Return the get of what the body puts; null where it does not get it.
static GetOp getterOf(PutValueOp put) {
  if (RingOp ring = ringOf(put))
    for (Operation *user : ring->getUsers())
      if (auto get = dyn_cast<GetOp>(user); get && fillerOf(get) == put)
        return get;
  return {};
}

/// Return whether another role computes what is read: it may come late.
static bool isSentByRole(ReadOp read) {
  auto get = read.getSlot().getDefiningOp<GetOp>();
  PutValueOp put = get ? fillerOf(get) : PutValueOp();
  return put && isSent(put);
}

LogicalResult ProductLoop::check(std::string &why) {
  for (Operation &op : block.without_terminator()) {
    auto put = dyn_cast<PutValueOp>(op);
    if (isa<WriteOp, BulkStoreOp, BarrierOp>(op) || (put && !getterOf(put)))
      return why = "it writes shared memory", failure();
    auto get = dyn_cast<GetOp>(op);
    if (!get)
      continue;
    bool released = false, read = false;
    for (Operation *user : get->getUsers()) {
      released |= isa<ReleaseOp>(user) && user->getBlock() == &block;
      read |= !isa<ReleaseOp>(user);
    }
    if (!released || !read || !ringOf(get))
      return why = "a slot is not read and released in its body", failure();
  }
  for (Value value : loop.getYieldedValues())
    if (auto argument = dyn_cast<BlockArgument>(value); argument && argument.getOwner() == &block)
      return why = "it yields one of its own arguments", failure();
  return success();
}

bool ProductLoop::isNode(Operation *op, bool withFree) const {
  return !isa<PutOp, GetOp, ReleaseOp>(op) && isMine(op) && (withFree || !isFree(op));
}

/// Add what computes the value: past free ops that are no nodes, and of the iteration before
/// what the loop carries.
void ProductLoop::addDeps(ProductNode &node, const BodyGraph &graph, Value value, bool carried,
                          Seen &seen) {
  if (!seen.insert({value, carried}).second)
    return;
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == &block && argument.getArgNumber() > 0) {
    // What is two iterations back is back one, too.
    if (!carried)
      addDeps(node, graph, loop.getTiedLoopYieldedValue(argument)->get(), /*carried=*/true, seen);
    return;
  }
  Operation *def = value.getDefiningOp();
  if (!def || def->getBlock() != &block)
    return;
  if (auto at = graph.numbers.find(def); at != graph.numbers.end()) {
    auto &deps = carried ? node.carried : node.deps;
    if (!llvm::is_contained(deps, at->second))
      deps.push_back(at->second);
  } else if (auto get = dyn_cast<GetOp>(def)) {
    if (auto at = graph.numbers.find(fillerOf(get)); at != graph.numbers.end() && !carried)
      node.deps.push_back(at->second);
  } else if (isFree(def)) {
    for (Value operand : def->getOperands())
      addDeps(node, graph, operand, carried, seen);
  }
}

/// Return the registers of a thread that hold a tile; predicates are none.
static int64_t registersOf(Value value) {
  Type type = value.getType();
  if (auto pending = dyn_cast<PendingType>(type))
    type = pending.getTile();
  auto tile = dyn_cast<RankedTensorType>(type);
  auto layout = tile ? dyn_cast_or_null<FragAttr>(tile.getEncoding()) : FragAttr();
  if (!layout || tile.getElementType().isInteger(1))
    return 0;
  Type element = tile.getElementType();
  constexpr int64_t kBits = 32, kIndexBits = 64;
  int64_t bits = element.isIndex() ? kIndexBits : element.getIntOrFloatBitWidth();
  return llvm::divideCeil(layout.getLayout().numRegs() * bits, kBits);
}

/// Return whether the op widens a tile that is read from shared memory: each element is, where it
/// is used.
static bool widensRead(Operation *op) {
  Operation *of = isa<arith::ExtFOp>(op) ? op->getOperand(0).getDefiningOp() : nullptr;
  if (auto transpose = dyn_cast_or_null<TransposeOp>(of))
    of = transpose.getInput().getDefiningOp();
  return isa_and_nonnull<ReadOp>(of);
}

/// Return whether the op compares random bits.
static bool isComparedBits(Operation *op) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  Value bits = compare ? compare.getLhs() : Value();
  while (auto transpose = bits ? bits.getDefiningOp<TransposeOp>() : TransposeOp())
    bits = transpose.getInput();
  return bits && bits.getDefiningOp<RandomBitsOp>();
}

/// Return whether the op clears elements of a tile, or masks what such an op left, that is rounded
/// to 16 bits and no more: then that is done pair by pair.
static bool isClearedAndRounded(Operation *op) {
  auto isCleared = [](Value tile) {
    auto select = tile.getDefiningOp<arith::SelectOp>();
    auto other = select ? select.getFalseValue().getDefiningOp<BroadcastOp>() : BroadcastOp();
    return other && matchPattern(other.getInput(), m_AnyZeroFloat());
  };
  auto branch = dyn_cast<scf::IfOp>(op);
  bool clears = branch ? branch.elseBlock() && branch->getNumResults() == 1 &&
                             isCleared(branch.elseYield().getOperand(0))
                       : op->getNumResults() == 1 && isCleared(op->getResult(0));
  return clears && llvm::all_of(op->getUsers(), [&](Operation *user) {
           user = op->getBlock()->findAncestorOpInBlock(*user);
           return isa<arith::TruncFOp>(user) ||
                  (!branch && isa<scf::IfOp>(user) && isClearedAndRounded(user));
         });
}

void ProductLoop::setCosts(ProductNode &node, Operation *op) const {
  // The same registers stand for all columns or rows of a broadcast.
  node.aliases = isa<BroadcastOp, ColumnsOp, TransposeOp, arith::BitcastOp>(op) || widensRead(op) ||
                 isClearedAndRounded(op);
  if (!node.aliases)
    for (Value result : op->getResults())
      node.registers += registersOf(result);
  if (auto start = dyn_cast<DotStartOp>(op)) {
    // Of a warpgroup: an instruction takes half a clock for a column, or what it reads from
    // shared memory takes longer: 128 bytes a clock.
    constexpr int64_t kDepth = 16, kBytesOfElement = 2, kBytesOfClock = 128;
    auto acc = cast<RankedTensorType>(start.getAcc().getType());
    int64_t columns = acc.getDimSize(1);
    auto slot = dyn_cast<SlotType>(start.getA().getType());
    int64_t sum =
        slot ? slot.getShape()[1] : cast<RankedTensorType>(start.getA().getType()).getDimSize(1);
    int64_t rows = columns + (slot ? kRowsOfGroup : 0);
    double bytes = double(rows) * kDepth * kBytesOfElement;
    node.kind = ProductNode::Kind::start;
    node.product = double(sum) / kDepth * std::max(columns / 2.0, bytes / kBytesOfClock);
  } else if (isa<AwaitOp>(op)) {
    node.kind = ProductNode::Kind::await;
  } else if (auto rescale = dyn_cast<RescaleOp>(op); rescale && rescale.getRows()) {
    // A branch that is seldom taken.
  } else if (op->getNumRegions() == 0) {
    // A quarter of the lanes of a warp can do one special function in 2 clocks.
    constexpr double kClocksOfSpecial = 8;
    const region::RegionOp *line = region::lookUp(op);
    double arithmetic = line ? line->effort.arithmetic : 1,
           special = line ? line->effort.special : 0;
    // An instruction for each element that is added to memory, for each pair of what is put.
    auto countElements = [&](Value tile) {
      auto type = dyn_cast<RankedTensorType>(tile.getType());
      return type ? double(type.getNumElements()) / threads : 1.0;
    };
    if (auto added = dyn_cast<AccumulateOp>(op))
      node.issue += countElements(added.getValue());
    if (auto put = dyn_cast<PutValueOp>(op))
      node.issue += countElements(put.getValue()) / 2;
    if (auto store = dyn_cast<StoreOp>(op))
      node.issue += countElements(store.getValue()) / 2;
    for (Value result : op->getResults())
      if (auto tile = dyn_cast<RankedTensorType>(result.getType());
          tile && !node.free && !node.aliases) {
        double elements = std::max(1.0, double(tile.getNumElements()) / threads);
        node.issue += arithmetic * elements;
        node.special += special * kClocksOfSpecial * elements;
      }
  }
}

BodyGraph ProductLoop::makeGraph(bool withFree) {
  BodyGraph graph;
  for (Operation &op : block.without_terminator())
    if (isNode(&op, withFree)) {
      graph.numbers[&op] = graph.ops.size();
      graph.ops.push_back(&op);
    }
  graph.nodes.resize(graph.ops.size());
  for (size_t n = 0; n < graph.ops.size(); ++n) {
    ProductNode &node = graph.nodes[n];
    node.free = isFree(graph.ops[n]);
    if (auto read = dyn_cast<ReadOp>(graph.ops[n]))
      (isSentByRole(read) ? node.late : node.early) = true;
    if (auto put = dyn_cast<PutValueOp>(graph.ops[n])) {
      node.sends = true;
      node.meets = !isSent(put);
    }
    node.ahead = isComparedBits(graph.ops[n]);
    setCosts(node, graph.ops[n]);
    if (auto start = dyn_cast<DotStartOp>(graph.ops[n]))
      if (auto at = graph.numbers.find(start.getAcc().getDefiningOp()); at != graph.numbers.end())
        node.accumulator = at->second;
    Seen seen;
    graph.ops[n]->walk([&](Operation *inner) {
      for (Value value : inner->getOperands())
        addDeps(node, graph, value, /*carried=*/false, seen);
    });
  }
  for (Operation *op : ArrayRef(graph.ops))
    if (auto start = dyn_cast<DotStartOp>(op))
      for (Operation *def = start.getA().getDefiningOp();
           def && def->getBlock() == &block && isa<arith::TruncFOp, ConvertLayoutOp>(def);
           def = def->getOperand(0).getDefiningOp())
        graph.nodes[graph.numbers[def]].packs = true;
  return graph;
}

/// Return who runs the loop: warpgroups beside a producer, and the shared memory that rings of
/// other blocks leave.
ProductTarget ProductLoop::getTarget(const BodyGraph &graph, int64_t sharedLimit) const {
  // Addresses, counters and vectors.
  constexpr int64_t kOther = 24;
  ProductTarget target;
  target.sharesSlots = roles.size() > 1;
  int64_t groups = std::max<int64_t>(threads / kThreadsOfGroup, 1) * roles.size();
  int64_t blocks = loop->getParentOfType<FuncOp>().getMinBlocksPerSM();
  target.groups = groups * blocks;
  target.registers = shareRegisters(groups, /*producerGroups=*/1, blocks).consumer - kOther;
  target.hasFunctions = llvm::any_of(graph.ops, [](Operation *op) {
    const region::RegionOp *line = region::lookUp(op);
    return isa<RandomBitsOp>(op) ||
           (line && line->effort.pressure != region::Pressure::Light &&
            isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())));
  });
  target.sharedBytes = sharedLimit > 0 ? sharedLimit : std::numeric_limits<int64_t>::max();
  for (auto ring : loop->getParentOfType<FuncOp>().getOps<RingOp>()) {
    ProductRing mine;
    for (Operation *get : ring->getUsers())
      if (isa<GetOp>(get) && get->getBlock() == &block)
        for (Operation *user : get->getUsers())
          if (auto at = graph.numbers.find(block.findAncestorOpInBlock(*user));
              at != graph.numbers.end())
            mine.readers.push_back(at->second);
    mine.bytes = ring.getType().getSlot().strideInBytes();
    mine.isCopied =
        llvm::all_of(mine.readers, [&](unsigned n) { return isa<ReadOp>(graph.ops[n]); });
    if (mine.readers.empty())
      target.sharedBytes -= sharedBytes(ring.getType());
    else
      target.rings.push_back(std::move(mine));
  }
  return target;
}

//===----------------------------------------------------------------------===//
// 3. Slots and scalars of two stages
//===----------------------------------------------------------------------===//

/// Let readers of each stage get the slot on their own.
LogicalResult ProductLoop::splitReaders(GetOp get, std::string &why) {
  ReleaseOp release;
  SmallVector<OpOperand *> later;
  std::optional<unsigned> first;
  for (OpOperand &use : get.getResult().getUses()) {
    Operation *reader = block.findAncestorOpInBlock(*use.getOwner());
    if (auto found = dyn_cast<ReleaseOp>(reader)) {
      release = found;
      continue;
    }
    unsigned at = stage.lookup(reader);
    first = first ? std::min(*first, at) : at;
    if (at == 1)
      later.push_back(&use);
  }
  stage[get] = stage[release] = *first;
  if (*first == 1 || later.empty())
    return success();
  RingOp ring = ringOf(get);
  // Another loop that gets from the ring would have to serve the new reader, too.
  for (Operation *user : ring->getUsers())
    if (user->getBlock() != &block)
      return why = "products of both stages read a slot of a ring that is used elsewhere, too",
             failure();
  GetOp second = addReader(get, role);
  OpBuilder b(get->getContext());
  b.setInsertionPointAfter(release);
  auto last = ReleaseOp::create(b, release.getLoc(), second);
  markRole(last, role);
  for (OpOperand *use : later)
    use->set(second);
  stage[second] = stage[last] = 1;
  return success();
}

LogicalResult ProductLoop::setStages(const BodyGraph &graph, ArrayRef<unsigned> stages,
                                     std::string &why) {
  // What roles share is there for the first of them that needs it.
  for (auto [op, at] : llvm::zip_equal(graph.ops, stages))
    if (auto [known, isNew] = stage.try_emplace(op, at); !isNew)
      known->second = std::min(known->second, at);
  for (Operation &op : block.without_terminator())
    if (isFree(&op)) {
      unsigned mine = 0;
      for (Operation *dep : depsOf(&op))
        mine = std::max(mine, stage.lookup(dep));
      stage[&op] = mine;
    }
  for (GetOp get : llvm::to_vector(block.getOps<GetOp>()))
    if (roleOf(get) == role && failed(splitReaders(get, why)))
      return failure();
  for (auto put : block.getOps<PutOp>()) {
    stage[put] = 1;
    for (Operation *user : ringOf(put)->getUsers())
      if (isa<GetOp>(user) && user->getBlock() == &block)
        stage[put] = std::min(stage[put], stage[user]);
  }
  return success();
}

/// Return what the op, or anything inside of it, uses of the same iteration.
OpSet ProductLoop::depsOf(Operation *op) {
  OpSet deps;
  op->walk([&](Operation *inner) {
    for (Value value : inner->getOperands())
      if (Operation *def = value.getDefiningOp(); def && def->getBlock() == &block)
        deps.insert(def);
  });
  // A slot is released after its last reader.
  if (auto release = dyn_cast<ReleaseOp>(op))
    for (Operation *user : release.getSlot().getUsers())
      if (user != op) {
        Operation *reader = block.findAncestorOpInBlock(*user);
        deps.insert(reader);
        if (isa<DotStartOp>(reader))
          for (Operation *await : reader->getUsers())
            deps.insert(block.findAncestorOpInBlock(*await));
      }
  return deps;
}

Value ProductLoop::cloneInto(Value value, Operation *user, IRMapping &mapping) {
  Operation *def = value.getDefiningOp();
  if (mapping.contains(value) || !def || def->getBlock() != &block || !isFree(def) ||
      stage[def] == stage[user])
    return mapping.lookupOrDefault(value);
  for (Value operand : def->getOperands())
    cloneInto(operand, user, mapping);
  OpBuilder b(user);
  stage[b.clone(*def, mapping)] = stage[user];
  return mapping.lookup(value);
}

void ProductLoop::recompute() {
  IRMapping mapping;
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator())) {
    if (stage[&op] == 0)
      continue;
    op.walk([&](Operation *inner) {
      for (OpOperand &operand : inner->getOpOperands())
        operand.set(cloneInto(operand.get(), &op, mapping));
    });
  }
  // Only the copies of some are used.
  IRRewriter rewriter(loop.getContext());
  (void)runRegionDCE(rewriter, loop.getRegion());
}

//===----------------------------------------------------------------------===//
// 4. The ops in their order
//===----------------------------------------------------------------------===//

/// Emit the op, after what it uses of its stage.
void ProductLoop::emit(Operation *op) {
  if (emitted.contains(op))
    return;
  for (Operation *dep : depsOf(op))
    if (stage[dep] == stage[op])
      emit(dep);
  emitted.insert(op);
}

/// Emit releases of slots that nothing reads any more; those that threads load from only where
/// loads have had time to arrive.
void ProductLoop::emitReleases(bool loaded) {
  for (auto release : block.getOps<ReleaseOp>())
    if (!emitted.contains(release) && roleOf(release) == role &&
        (loaded || llvm::none_of(release.getSlot().getUsers(), llvm::IsaPred<ReadOp>)) &&
        llvm::all_of(depsOf(release), [&](Operation *dep) { return emitted.contains(dep); }))
      emit(release);
}

void ProductLoop::emitAll(ArrayRef<Operation *> starts, Operation *drained) {
  BodyGraph graph = makeGraph(/*withFree=*/true);
  SmallVector<unsigned> stages, order;
  for (Operation *op : graph.ops)
    stages.push_back(stage[op]);
  for (Operation *start : starts)
    order.push_back(graph.numbers[start]);
  auto drain = drained ? std::optional(graph.numbers[drained]) : std::nullopt;
  SmallVector<unsigned> nodes = *placeNodes(graph.nodes, stages, order, drain);
  llvm::DenseMap<Operation *, unsigned> places;
  for (auto [place, node] : llvm::enumerate(nodes))
    places[graph.ops[node]] = place;
  // When the slot of a put is first read.
  auto needed = [&](PutOp put) {
    unsigned first = nodes.size();
    for (Operation *get : ringOf(put)->getUsers())
      if (isa<GetOp>(get))
        for (Operation *reader : get->getUsers())
          if (auto at = places.find(block.findAncestorOpInBlock(*reader)); at != places.end())
            first = std::min(first, at->second);
    return first;
  };
  SmallVector<std::tuple<unsigned, size_t, Operation *>> puts;
  for (auto put : block.getOps<PutOp>())
    puts.push_back({needed(put), puts.size(), put});
  llvm::sort(puts);
  for (auto [first, number, put] : puts)
    emit(put);
  // The fence of what is put from registers serves loads before it, too.
  bool exchanges = !block.getOps<PutValueOp>().empty();
  for (unsigned node : nodes) {
    emit(graph.ops[node]);
    emitReleases(exchanges ? isa<PutValueOp>(graph.ops[node]) : isa<AwaitOp>(graph.ops[node]));
  }
  emitReleases(/*loaded=*/true);
}

void ProductLoop::number() {
  Builder b(loop.getContext());
  for (auto [place, op] : llvm::enumerate(emitted)) {
    op->setAttr(TileDialect::kStageAttr, b.getI64IntegerAttr(stage[op]));
    op->setAttr(TileDialect::kOrderAttr, b.getI64IntegerAttr(place));
  }
}

void ProductLoop::move() {
  for (Operation *op : emitted)
    op->moveBefore(block.getTerminator());
}

bool tile::scheduleProducts(scf::ForOp loop, int64_t sharedLimit, size_t others,
                            ProductsReport &report) {
  ProductLoop products(loop);
  if (failed(products.check(report.why)))
    return false;
  // The starts of each role, in their order, and the one before which it waits for all.
  SmallVector<std::pair<SmallVector<Operation *>, Operation *>> chosen;
  bool isPipelined = false;
  for (StringRef role : products.getRoles()) {
    products.setRole(role);
    BodyGraph graph = products.makeGraph(/*withFree=*/false);
    ProductTarget target = products.getTarget(graph, sharedLimit);
    std::optional<ProductOrder> order = chooseOrder(graph.nodes, target, others);
    if (!order) {
      report.why = "it starts more than 16 products";
      return false;
    }
    report.clocks = std::max(report.clocks, order->clocks);
    report.registers = std::max(report.registers, order->registers.most);
    report.timeline.append(drawTimeline(graph.nodes, *order, target));
    auto &[starts, drained] = chosen.emplace_back();
    drained = order->drained ? graph.ops[*order->drained] : nullptr;
    if (!report.order.empty())
      report.order += "; ";
    for (unsigned start : order->starts) {
      report.order += (starts.empty() ? "" : ", ") +
                      fa::nameOf(graph.ops[start]->getLoc(), "product").str() +
                      (order->stages[start] ? "'" : "");
      starts.push_back(graph.ops[start]);
      if (order->drained == start)
        report.order += " after all";
    }
    if (failed(products.setStages(graph, order->stages, report.why)))
      return false;
    isPipelined |= order->isPipelined();
  }
  if (chosen.empty()) {
    report.why = "it starts no products";
    return false;
  }
  if (isPipelined)
    products.recompute();
  for (auto [role, order] : llvm::zip_equal(products.getRoles(), chosen)) {
    products.setRole(role);
    products.emitAll(order.first, order.second);
  }
  if (isPipelined) {
    products.number();
    return true;
  }
  report.why = "no order with two stages takes fewer clocks";
  products.move();
  return false;
}
