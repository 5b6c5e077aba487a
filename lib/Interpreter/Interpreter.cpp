//===- Interpreter.cpp - checks programs and steps their agents -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Interpreter/Interpreter.h"
#include "Agent.h"
#include "Scheduler.h"
#include "fa/Dialect/Tile/IR/Roles.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

//===----------------------------------------------------------------------===//
// What is known before a program is run
//===----------------------------------------------------------------------===//

/// Return whether `tile-lower-rings` makes the op: there is an agent for each warp.
static bool goesByNumber(Operation *op) {
  return isa<tile::SlotAtOp, tile::CopyOp, tile::CopyCommitOp, tile::CopyWaitOp, tile::FenceAsyncOp,
             tile::BulkStoreWaitOp, tile::BulkAccumulateOp, tile::BulkAccumulateWaitOp,
             tile::BarrierOp, tile::BarriersOp, tile::NamedWaitOp, tile::NamedArriveOp>(op);
}

/// Return whether `tile-lower-rings` removes the op.
static bool isOfRings(Operation *op) {
  return isa<tile::PutOp, tile::PutValueOp, tile::GetOp, tile::ReleaseOp, tile::PingpongOp>(op);
}

/// Return whether an op of another dialect than tile computes on numbers alone.
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
  if (auto slice = dyn_cast<tile::SliceOp>(op))
    return isa<tile::ViewType>(slice.getSource().getType());
  if (auto gather = dyn_cast<tile::GatherOp>(op))
    return isa<tile::ViewType>(gather.getSource().getType());
  return isElementwise(op) ||
         isa<scf::IfOp, scf::ForOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op) ||
         (isa_and_nonnull<tile::TileDialect>(op->getDialect()) && !isa<tile::FuncOp>(op));
}

/// Return whether that many elements of a type can be held.
static bool isKnown(Type element, ArrayRef<int64_t> shape, int64_t count = 1) {
  for (int64_t size : shape)
    if (size < 1 || size > kMaxElements || (count *= size) > kMaxElements)
      return false;
  return isScalarSupported(element);
}

static bool isKnown(Type type) {
  if (isa<tile::ViewType, tile::PingpongType, tile::BarriersType, tile::TensorMapType,
          tile::RanType>(type))
    return true;
  if (auto reference = dyn_cast<tile::ReferenceType>(type))
    return isKnown(reference.getColumn());
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
  if (auto copy = dyn_cast<tile::CopyOp>(op);
      copy && copy.getCopy() == tile::Copy::tma && !copy.getSignal())
    return op->emitError("the interpreter cannot run a copy(tma) that signals no barrier");
  return success();
}

/// Check that element types of views have a size in memory.
static LogicalResult checkArguments(tile::FuncOp func) {
  for (Type type : func.getArgumentTypes()) {
    auto view = dyn_cast<tile::ViewType>(type);
    if (isa<tile::TensorMapType>(type))
      continue;
    if (view ? !dtypeOf(view.getElementType()) : !isScalarSupported(type))
      return func.emitError() << "the interpreter cannot pass an argument of " << type
                              << ": expected i1, i8, i16, i32, i64, index, f16, bf16, f32 or f64";
  }
  return success();
}

/// Check that the warps of roles are those of the program, and that barriers are few.
static LogicalResult checkRoles(tile::FuncOp func, int64_t warps) {
  constexpr int64_t kMaxBarriers = 1024;
  int64_t barriers = 0;
  for (auto op : func.getBody().front().getOps<tile::BarriersOp>())
    if ((barriers += op.getType().getCount()) > kMaxBarriers)
      return op.emitError("the interpreter cannot hold more than 1024 barriers");
  for (auto roles : func.getBody().front().getOps<tile::RolesOp>()) {
    int64_t sum = 0;
    for (auto role : roles.getBody().front().getOps<tile::RoleOp>())
      sum += std::clamp<int64_t>(role.getWarps(), 0, 1024);
    if (sum != warps)
      return roles.emitError() << "the roles have " << sum << " warps, the program " << warps;
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
  if (walk.wasInterrupted())
    return failure();
  return checkRoles(func, warps ? warps.getInt() : 0);
}

Program::Program(tile::FuncOp func) : func(func) {
  func.getBody().walk([&](Operation *op) {
    byNumber |= goesByNumber(op);
    if (auto array = dyn_cast<tile::BarriersOp>(op))
      barriers += array.getType().getCount();
    if (auto found = dyn_cast<tile::RolesOp>(op))
      roles = found;
    if (Attribute constant = constantOf(op))
      constants[op] = constantDatum(constant, op->getResult(0).getType());
    else if (op->getNumOperands() && op->getNumResults())
      if (std::optional<RegionInstruction> instruction = instructionOf(op))
        instructions[op] = *instruction;
  });
  if (byNumber || roles)
    agents = std::max<int64_t>(2, func.getNumWarps());
  if (byNumber && roles)
    for (auto role : roles.getBody().front().getOps<tile::RoleOp>())
      if (isForOneThread(role))
        forOneWarp.insert(role);
}

unsigned Program::agentsOf(Operation *op) const {
  auto role = op->getParentOfType<tile::RoleOp>();
  return role ? role.getWarps() : agents;
}

const std::vector<uint16_t> &Program::ownersOf(RankedTensorType type, unsigned warps) {
  auto [entry, added] = owners.try_emplace({type, warps});
  std::vector<uint16_t> &result = entry->second;
  if (!added)
    return result;
  int64_t count = elementsOf(type.getShape());
  auto frag = dyn_cast_or_null<tile::FragAttr>(type.getEncoding());
  if (!frag) {
    int64_t bytes = std::max<int64_t>(
        1, type.getElementType().isIndex() ? 8 : type.getElementTypeBitWidth() / 8);
    for (int64_t i = 0; i < count; ++i)
      result.push_back(i * bytes / 16 / 32 % warps);
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

/// Name an argument of a launch, or number it from 1 where it has no name.
static std::string describeArgument(tile::FuncOp func, size_t i) {
  if (auto name = func.getArgAttrOfType<StringAttr>(i, tile::TileDialect::kNameAttr))
    return "argument '" + name.str() + "'";
  return "argument " + std::to_string(i + 1) + " of " +
         std::to_string(func.getNumLaunchArguments());
}

/// Check that views and tensor maps are bound to memory of the rank of their view.
static LogicalResult checkMemory(tile::FuncOp func, ArrayRef<Argument> arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    size_t of = i;
    if (isa<tile::TensorMapType>(func.getArgumentTypes()[i]))
      of = func.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kMapOfAttr).getInt();
    auto view = dyn_cast<tile::ViewType>(func.getArgumentTypes()[of]);
    if (view && arguments[i].memory.sizes.size() != static_cast<size_t>(view.getRank()))
      return func.emitError() << describeArgument(func, i) << " takes memory of rank "
                              << view.getRank() << ", got " << arguments[i].memory.sizes.size()
                              << "; give a size for each dimension";
    if (!view || !view.getOrder())
      continue;
    const Memory &memory = arguments[i].memory;
    int64_t rows = view.getRank() - 2, box = view.getOrder().getRows();
    if (memory.sizes[rows] % box != 0 || memory.strides[rows] != memory.sizes.back())
      return func.emitError() << describeArgument(func, i)
                              << " takes rows without gaps, a multiple of " << box << ", got "
                              << memory.sizes[rows] << " of " << memory.sizes.back() << " every "
                              << memory.strides[rows];
  }
  return success();
}

LogicalResult interpreter::run(tile::FuncOp func, ArrayRef<Argument> arguments,
                               const Options &options) {
  if (arguments.size() != func.getNumLaunchArguments())
    return func.emitError() << "takes " << func.getNumLaunchArguments() << " arguments, got "
                            << arguments.size();
  if (failed(checkMemory(func, arguments)))
    return failure();
  auto grid = gridOf(func, arguments);
  if (failed(grid))
    return failure();
  int64_t count = 1;
  for (int64_t extent : *grid) {
    if (extent <= 0)
      return success();
    if (extent > kMaxElements / count)
      return func.emitError("has too many work tiles to interpret: expected at most 2^24");
    count *= extent;
  }
  SmallVector<Argument> bound(arguments);
  for (auto [argument, type] : llvm::zip(bound, func.getArgumentTypes()))
    if (auto view = dyn_cast<tile::ViewType>(type))
      argument.memory.order = view.getOrder();
  Program program(func);
  Random random(options.seed);
  // Blocks that run several work tiles: one, two, ..., or as many as those.
  if (func->hasAttr(tile::TileDialect::kBlocksPerSMAttr) && !grid->empty()) {
    int64_t blocks = 1 + random.below(4);
    count = blocks < 4 ? std::min(count, blocks) : count;
    grid->front() = count;
  }
  program.blocks = count;
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
    WorkTile workTile(program, bound, ids, options, random.next(), opsLeft);
    if (failed(runWorkTile(workTile)))
      return failure();
  }
  return checkCounts(program, options.seed);
}
