//===- Interpreter.cpp - checks programs and steps their agents -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Interpreter/Interpreter.h"
#include "Agent.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

//===----------------------------------------------------------------------===//
// What is known before a program is run
//===----------------------------------------------------------------------===//

/// What `tile-lower-rings` makes: there is an agent for each warp.
static bool goesByNumber(Operation *op) {
  return isa<tile::SlotAtOp, tile::CopyOp, tile::CopyCommitOp, tile::CopyWaitOp, tile::WriteOp,
             tile::BarrierOp>(op);
}

/// What it removes.
static bool isOfRings(Operation *op) {
  return isa<tile::PutOp, tile::PutValueOp, tile::GetOp, tile::ReleaseOp>(op);
}

/// Whether an op of another dialect than tile computes on numbers alone.
static bool isElementwise(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  if ((dialect != "arith" && dialect != "math" && dialect != "index") || !op->getNumOperands())
    return false;
  auto isNumber = [](Type type) { return isScalarSupported(getElementTypeOrSelf(type)); };
  if (!llvm::all_of(op->getOperandTypes(), isNumber) ||
      !llvm::all_of(op->getResultTypes(), isNumber))
    return false;
  std::optional<RegionInstruction> instruction = instructionOf(op);
  return instruction && instruction->code != RegionCode::Extract;
}

static bool isKnown(Operation *op) {
  if (Attribute constant = constantOf(op))
    return isa<IntegerAttr, FloatAttr, DenseElementsAttr>(constant);
  if (auto load = dyn_cast<tile::LoadOp>(op))
    return isa<tile::ViewType>(load.getSource().getType());
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    return isa<tile::ViewType>(gather.getSource().getType());
  // Numbers that go through rings, and blocks that share instances.
  if (auto put = dyn_cast<tile::PutValueOp>(op))
    return isa<RankedTensorType>(put.getValue().getType());
  if (auto write = dyn_cast<tile::WriteOp>(op))
    return isa<RankedTensorType>(write.getValue().getType());
  if (auto read = dyn_cast<tile::ReadOp>(op))
    return isa<RankedTensorType>(read.getType());
  if (isa<tile::BlockCountOp, tile::FetchAddOp>(op))
    return false;
  return isElementwise(op) ||
         isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op) ||
         (isa_and_nonnull<tile::TileDialect>(op->getDialect()) && !isa<tile::FuncOp>(op));
}

/// Whether that many elements of a type can be held.
static bool isKnown(Type element, ArrayRef<int64_t> shape, int64_t count = 1) {
  for (int64_t size : shape)
    if (size < 1 || size > kMaxElements || (count *= size) > kMaxElements)
      return false;
  return isScalarSupported(element);
}

static bool isKnown(Type type) {
  if (isa<tile::ViewType>(type))
    return true;
  if (auto ring = dyn_cast<tile::RingType>(type))
    return isKnown(ring.getElementType(), ring.getShape(), ring.getStages());
  if (auto slot = dyn_cast<tile::SlotType>(type))
    return isKnown(slot.getElementType(), slot.getShape());
  if (auto pending = dyn_cast<tile::PendingType>(type))
    return isKnown(pending.getTile());
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return isKnown(tensor.getElementType(), tensor.getShape());
  return isScalarSupported(type);
}

static LogicalResult checkOp(Operation *op, bool byNumber) {
  for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                         SmallVector<Value>(op->getResults())))
    if (!isKnown(value.getType()))
      return op->emitError() << "the interpreter cannot hold a value of " << value.getType()
                             << ": expected numbers of up to 64 bits or tiles of static shape of "
                                "1 to 2^24 of them";
  if (!isKnown(op))
    return op->emitError() << "the interpreter cannot run '" << op->getName() << "'"
                           << (isa<tile::LoadOp, tile::GatherOp>(op) ? " on tensors" : "");
  if (byNumber && isOfRings(op))
    return op->emitError() << "the interpreter cannot run '" << op->getName()
                           << "' beside slots by number; lower all rings of a program together";
  if (auto copy = dyn_cast<tile::CopyOp>(op); copy && copy.getCopy() == tile::Copy::tma)
    return op->emitError("the interpreter cannot run a copy(tma) by a slot's number");
  return success();
}

/// Element types of views have a size in memory.
static LogicalResult checkArguments(tile::FuncOp func) {
  for (Type type : func.getArgumentTypes()) {
    auto view = dyn_cast<tile::ViewType>(type);
    if (view ? !dtypeOf(view.getElementType()) : !isScalarSupported(type))
      return func.emitError() << "the interpreter cannot pass an argument of " << type
                              << ": expected i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64";
  }
  return success();
}

LogicalResult interpreter::check(tile::FuncOp func) {
  if (failed(checkArguments(func)))
    return failure();
  if (!func.getBody().hasOneBlock())
    return func.emitError("the interpreter cannot run a body of several blocks");
  auto warps = func->getAttrOfType<IntegerAttr>(tile::TileDialect::kWarpsAttr);
  if (warps && (warps.getInt() < 1 || warps.getInt() > 32))
    return func.emitError() << "a program has 1 to 32 warps, got " << warps.getInt();
  bool byNumber = func.walk([](Operation *op) {
                        return goesByNumber(op) ? WalkResult::interrupt() : WalkResult::advance();
                      })
                      .wasInterrupted();
  WalkResult walk = func.getBody().walk([&](Operation *op) {
    return failed(checkOp(op, byNumber)) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

Program::Program(tile::FuncOp func) : func(func) {
  func.getBody().walk([&](Operation *op) {
    byNumber |= goesByNumber(op);
    if (Attribute constant = constantOf(op))
      constants[op] = constantDatum(constant, op->getResult(0).getType());
    else if (op->getNumOperands() && op->getNumResults())
      if (std::optional<RegionInstruction> instruction = instructionOf(op))
        instructions[op] = *instruction;
  });
  constexpr unsigned kWarps = 4;
  auto warps = func->getAttrOfType<IntegerAttr>(tile::TileDialect::kWarpsAttr);
  if (byNumber)
    agents = std::max<int64_t>(2, warps ? warps.getInt() : kWarps);
}

const std::vector<uint16_t> &Program::ownersOf(RankedTensorType type) {
  auto [entry, added] = owners.try_emplace(type);
  std::vector<uint16_t> &result = entry->second;
  if (!added)
    return result;
  int64_t count = elementsOf(type.getShape());
  auto frag = dyn_cast_or_null<tile::FragAttr>(type.getEncoding());
  if (!frag) {
    int64_t bytes = std::max<int64_t>(
        1, type.getElementType().isIndex() ? 8 : type.getElementTypeBitWidth() / 8);
    for (int64_t i = 0; i < count; ++i)
      result.push_back(i * bytes / 16 / 32 % agents);
    return result;
  }
  tile::Layout layout = frag.getLayout();
  result.assign(count, 0);
  // From the last warp to the first, so that the first one that holds it stays.
  for (int64_t warp = layout.numWarps(); warp-- > 0;)
    for (int64_t lane = 0; lane < tile::Layout::kLanes; ++lane)
      for (int64_t reg = 0; reg < layout.numRegs(); ++reg) {
        int64_t element = 0;
        for (auto [at, size] : llvm::zip_equal(layout.at(reg, lane, warp), type.getShape()))
          element = element * size + at;
        result[element] = warp;
      }
  return result;
}

//===----------------------------------------------------------------------===//
// One instance
//===----------------------------------------------------------------------===//

/// Lets all agents pass the barrier at which all of them are.
static LogicalResult passBarrier(std::vector<std::unique_ptr<Agent>> &agents) {
  Clock joined(agents.size(), 0);
  Operation *barrier = agents.front()->getNext();
  for (std::unique_ptr<Agent> &agent : agents) {
    if (agent->getNext() != barrier)
      return agent->fail(agent->getNext()->getPrevNode(),
                         "is met while warp 0 is at another barrier",
                         {"", barrier->getPrevNode(), "warp 0 is here"});
    for (auto [latest, time] : llvm::zip_equal(joined, agent->getClock()))
      latest = std::max(latest, time);
  }
  for (std::unique_ptr<Agent> &agent : agents)
    agent->pass(joined);
  return success();
}

/// No agent can go on: what the first of them waits for.
static LogicalResult reportDeadlock(std::vector<std::unique_ptr<Agent>> &agents) {
  Agent &agent =
      **llvm::find_if(agents, [](std::unique_ptr<Agent> &agent) { return !agent->hasEnded(); });
  Operation *op = agent.getNext();
  if (agent.isAtBarrier())
    return agent.fail(op->getPrevNode(), "waits for ever, since other warps have ended");
  return agent.fail(op, isa<tile::GetOp>(op) ? "waits for ever: nothing was put that was not got"
                                             : "waits for ever: every slot of the ring is in use");
}

static LogicalResult runInstance(Instance &instance) {
  std::vector<std::unique_ptr<Agent>> agents;
  for (unsigned i = 0; i < instance.program.agents; ++i)
    agents.push_back(std::make_unique<Agent>(instance, i));
  // Agents go on in step, or one runs far ahead of the others.
  uint64_t longest = uint64_t(1) << instance.random.below(7);
  // Agents that may go on; one that is blocked may when another has run.
  SmallVector<unsigned> ready;
  auto all = [&] {
    ready.clear();
    for (auto [i, agent] : llvm::enumerate(agents))
      if (!agent->hasEnded() && !agent->isAtBarrier())
        ready.push_back(i);
  };
  for (all(); !ready.empty();) {
    size_t choice = instance.random.below(ready.size());
    Agent &agent = *agents[ready[choice]];
    Agent::Step step = Agent::Step::Ran;
    bool ran = false;
    for (uint64_t burst = 1 + instance.random.below(longest); burst > 0 && step == Agent::Step::Ran;
         --burst) {
      step = agent.step();
      ran |= step == Agent::Step::Ran || agent.isAtBarrier();
    }
    if (step == Agent::Step::Failed)
      return failure();
    if (ran || step == Agent::Step::Ended)
      all();
    else
      ready.erase(ready.begin() + choice);
    bool barrier = llvm::all_of(agents, [](auto &agent) { return agent->isAtBarrier(); });
    if (barrier && failed(passBarrier(agents)))
      return failure();
    if (barrier)
      all();
  }
  if (!llvm::all_of(agents, [](auto &agent) { return agent->hasEnded(); }))
    return reportDeadlock(agents);
  Operation *ring = nullptr;
  if (Fault fault = instance.memory.checkEmpty(ring))
    return agents.front()->fail(ring, "", fault);
  return success();
}

//===----------------------------------------------------------------------===//
// The grid
//===----------------------------------------------------------------------===//

static FailureOr<SmallVector<int64_t>> gridOf(tile::FuncOp func, ArrayRef<Argument> arguments) {
  SmallVector<Attribute> symbols, extents;
  Type index = IndexType::get(func.getContext());
  for (size_t i = 0; i < func.getSizes().size(); i += 2)
    symbols.push_back(IntegerAttr::get(
        index, arguments[func.getSizes()[i]].memory.sizes[func.getSizes()[i + 1]]));
  if (failed(func.getGrid().constantFold(symbols, extents)))
    return func.emitError("the grid cannot be evaluated");
  SmallVector<int64_t> grid;
  for (Attribute extent : extents)
    grid.push_back(cast<IntegerAttr>(extent).getInt());
  return grid;
}

LogicalResult interpreter::run(tile::FuncOp func, ArrayRef<Argument> arguments,
                               const Options &options) {
  if (arguments.size() != func.getNumLaunchArguments())
    return func.emitError() << "takes " << func.getNumLaunchArguments() << " arguments, got "
                            << arguments.size();
  auto grid = gridOf(func, arguments);
  if (failed(grid))
    return failure();
  int64_t count = 1;
  for (int64_t extent : *grid)
    if (extent <= 0 || (count *= extent) > kMaxElements)
      return extent <= 0 ? success()
                         : LogicalResult(func.emitError("has too many instances to interpret: "
                                                        "expected at most 2^24"));
  Program program(func);
  Random random(options.seed);
  uint64_t opsLeft = options.maxOps;
  std::vector<int64_t> order(count);
  for (int64_t i = 0; i < count; ++i) {
    order[i] = i;
    std::swap(order[i], order[random.below(i + 1)]);
  }
  for (int64_t linear : order) {
    SmallVector<int64_t> ids(grid->size());
    for (size_t d = grid->size(); d-- > 0; linear /= (*grid)[d])
      ids[d] = linear % (*grid)[d];
    Instance instance(program, arguments, ids, options, random.next(), opsLeft);
    if (failed(runInstance(instance)))
      return failure();
  }
  return success();
}
