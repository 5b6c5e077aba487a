//===- Agent.cpp - one thread of control of a program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Kernels.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

Agent::Agent(WorkTile &workTile, unsigned number)
    : workTile(workTile), number(number), warps(workTile.program.agents),
      clock(workTile.program.agents + workTile.program.barriers, 0) {
  clock[number] = 1;
  tile::FuncOp func = workTile.program.func;
  waited = !func->hasAttr(tile::TileDialect::kDependentAttr) || tile::runsBeside(func);
  for (auto [i, argument] : llvm::enumerate(workTile.arguments)) {
    Datum datum;
    datum.memory = &argument.memory;
    datum.scalar = argument.scalar;
    set(func.getArgument(i), datum);
  }
  for (auto [d, id] : llvm::enumerate(workTile.ids)) {
    Datum datum;
    datum.scalar.i = id;
    set(func.getInstanceId(d), datum);
  }
  enter(func.getBody().front(), func);
}

InFlightDiagnostic Agent::report(Operation *op, const Twine &message) {
  InFlightDiagnostic error = op->emitOpError() << message << " (work tile [";
  llvm::interleaveComma(workTile.ids, error);
  error << "]";
  if (workTile.program.agents > 1)
    error << ", warp " << number;
  if (role)
    error << " of role " << role.getName();
  error << ", seed " << workTile.options.seed << ")";
  return error;
}

LogicalResult Agent::fail(Operation *op, const Twine &message, const Fault &fault) {
  InFlightDiagnostic error = report(op, message + fault.message);
  if (fault.other)
    error.attachNote(fault.other->getLoc()) << fault.note;
  return error;
}

void Agent::set(ValueRange results, ArrayRef<Datum> data) {
  for (auto [result, datum] : llvm::zip_equal(results, data))
    set(result, datum);
}

SmallVector<int64_t, 4> Agent::integers(ValueRange list) const {
  SmallVector<int64_t, 4> result;
  for (Value value : list)
    result.push_back(integer(value));
  return result;
}

void Agent::pass(const Clock &joined) {
  clock = joined;
  ++clock[number];
  atBarrier = nullptr;
}

Agent::Step Agent::step() {
  Operation *op = frames.back().next;
  if (!op) {
    leaveRole();
    return atBarrier ? Step::Arrived : Step::Ran;
  }
  if (workTile.opsLeft == 0) {
    (void)fail(op, "is one op more than the " + Twine(workTile.options.maxOps) +
                       " that a run may take");
    return Step::Failed;
  }
  --workTile.opsLeft;
  blocked = arrived = false;
  if (op->hasTrait<OpTrait::IsTerminator>()) {
    if (failed(leave(op)))
      return Step::Failed;
    return frames.empty() ? Step::Ended : Step::Ran;
  }
  // Ops with regions enter them, so what comes after is set first.
  size_t depth = frames.size();
  frames.back().next = op->getNextNode();
  if (failed(execute(op)))
    return Step::Failed;
  if (blocked)
    frames[depth - 1].next = op;
  return atBarrier || arrived ? Step::Arrived : blocked ? Step::Blocked : Step::Ran;
}

LogicalResult Agent::execute(Operation *op) {
  if (auto constant = workTile.program.constants.find(op);
      constant != workTile.program.constants.end()) {
    set(op->getResult(0), constant->second);
    return success();
  }
  if (auto found = workTile.program.instructions.find(op);
      found != workTile.program.instructions.end()) {
    SmallVector<const Datum *, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&get(operand));
    SmallVector<Datum, 2> results(op->getNumResults());
    evaluateElementwise(found->second, op, operands, results);
    set(op->getResults(), results);
    return success();
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Block *block = integer(branch.getCondition()) ? branch.thenBlock() : branch.elseBlock();
    if (block)
      enter(*block, op);
    return success();
  }
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return startLoop(op);
  if (auto any = dyn_cast<tile::IfAnyOp>(op)) {
    startIfAny(any);
    return success();
  }
  if (auto ballot = dyn_cast<tile::BallotOp>(op)) {
    startBallot(ballot);
    return success();
  }
  return executeTile(op);
}

void Agent::enter(Block &block, Operation *parent) {
  frames.push_back({block.empty() ? nullptr : &block.front(), parent});
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

LogicalResult Agent::startLoop(Operation *op) {
  SmallVector<Datum> inits;
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (Value init : loop.getInits())
      inits.push_back(get(init));
    set(loop.getBefore().getArguments(), inits);
    enter(loop.getBefore().front(), op);
    return success();
  }
  auto loop = cast<scf::ForOp>(op);
  for (Value init : loop.getInitArgs())
    inits.push_back(get(init));
  Type type = loop.getInductionVar().getType();
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  bool isUnsigned = loop.getUnsignedCmp();
  auto bound = [&](Value value) {
    uint64_t bits = get(value).scalar.i;
    return isUnsigned ? static_cast<int64_t>(bits) : signExtend(bits, width);
  };
  Frame frame{&loop.getBody()->front(), op, bound(loop.getLowerBound()),
              bound(loop.getUpperBound()), bound(loop.getStep())};
  if (frame.step == 0 || (frame.step < 0 && !isUnsigned))
    return fail(op, "has step " + Twine(frame.step) + ", expected a positive one");
  if (isUnsigned ? static_cast<uint64_t>(frame.at) >= static_cast<uint64_t>(frame.end)
                 : frame.at >= frame.end) {
    set(loop.getResults(), inits);
    return success();
  }
  Datum at;
  at.scalar.i = truncate(frame.at, width);
  set(loop.getInductionVar(), at);
  set(loop.getRegionIterArgs(), inits);
  frames.push_back(frame);
  return success();
}

LogicalResult Agent::leave(Operation *terminator) {
  SmallVector<Datum> yielded;
  for (Value value : terminator->getOperands())
    yielded.push_back(get(value));
  Frame &frame = frames.back();
  Operation *parent = frame.parent;
  if (isa<tile::FuncOp>(parent)) {
    if (failed(finish(terminator)))
      return failure();
    frames.pop_back();
    return success();
  }
  if (auto loop = dyn_cast<scf::ForOp>(parent)) {
    // Counted by distance, since the last step may pass the end of int64.
    if (static_cast<uint64_t>(frame.end) - frame.at > static_cast<uint64_t>(frame.step)) {
      frame.at += frame.step;
      Type type = loop.getInductionVar().getType();
      Datum at;
      at.scalar.i = truncate(frame.at, type.isIndex() ? 64 : type.getIntOrFloatBitWidth());
      set(loop.getInductionVar(), at);
      set(loop.getRegionIterArgs(), yielded);
      frame.next = &loop.getBody()->front();
      return success();
    }
  } else if (auto loop = dyn_cast<scf::WhileOp>(parent)) {
    bool before = isa<scf::ConditionOp>(terminator);
    bool again = !before || yielded.front().scalar.i;
    if (again) {
      Block &next = before ? loop.getAfter().front() : loop.getBefore().front();
      set(next.getArguments(), ArrayRef<Datum>(yielded).drop_front(before));
      frame.next = &next.front();
      return success();
    }
    frames.pop_back();
    set(loop.getResults(), ArrayRef<Datum>(yielded).drop_front());
    return success();
  }
  if (auto ballot = dyn_cast<tile::BallotOp>(parent); ballot && !countBallot(ballot, yielded))
    return success();
  frames.pop_back();
  if (auto any = dyn_cast<tile::IfAnyOp>(parent))
    finishIfAny(any, yielded);
  else
    set(parent->getResults(), yielded);
  return success();
}

//===----------------------------------------------------------------------===//
// tile.ballot
//===----------------------------------------------------------------------===//

/// Run the region for the number 0.
void Agent::startBallot(tile::BallotOp op) {
  frames.push_back({&op.getBody().front().front(), op, 0, tile::BallotOp::kNumbers, 1});
  set(op.getNumber(), Datum());
  ballots.push_back(0);
}

/// Take the bit of a number and go on with the next one; after the last one, return true and put
/// the word in place of the bit.
bool Agent::countBallot(tile::BallotOp op, SmallVector<Datum> &yielded) {
  Frame &frame = frames.back();
  ballots.back() |= yielded.front().scalar.i << frame.at;
  if (frame.at += frame.step; frame.at < frame.end) {
    Datum number;
    number.scalar.i = frame.at;
    set(op.getNumber(), number);
    frame.next = &op.getBody().front().front();
    return false;
  }
  yielded.front().scalar.i = ballots.pop_back_val();
  return true;
}

//===----------------------------------------------------------------------===//
// tile.if_any
//===----------------------------------------------------------------------===//

static Datum ranOf(const std::vector<bool> &chosen) {
  Elements rows(chosen.size());
  for (size_t row = 0; row < chosen.size(); ++row)
    rows[row].i = chosen[row];
  Datum ran;
  ran.tile = std::make_shared<const Elements>(std::move(rows));
  return ran;
}

static int64_t rowsOf(RankedTensorType type) { return type.getRank() ? type.getDimSize(0) : 1; }

/// Let more rows be chosen than those that are: which, the seed says, for all agents alike.
/// None, those of the same warp (or of the same 16, without a layout), or all. `rows` is what
/// they were found from, a tile or a reference.
void Agent::chooseRows(Value rows, std::vector<bool> &chosen) {
  int64_t numRows = chosen.size();
  uint64_t choice = Random(workTile.choices + numChoices++).below(3);
  if (choice == 0)
    chosen.assign(numRows, true);
  if (choice != 1)
    return;
  auto type = dyn_cast<RankedTensorType>(rows.getType());
  bool assigned = type && type.getEncoding();
  int64_t width = assigned ? type.getNumElements() / numRows : 1;
  std::vector<uint16_t> groups(numRows);
  for (int64_t row = 0; row < numRows; ++row)
    groups[row] =
        assigned ? workTile.program.ownersOf(type, warps)[row * width] : row / tile::kRowsOfWarp;
  std::vector<bool> needed(numRows + 32);
  for (int64_t row = 0; row < numRows; ++row)
    if (chosen[row])
      needed[groups[row]] = true;
  for (int64_t row = 0; row < numRows; ++row)
    chosen[row] = needed[groups[row]];
}

/// Start the region for the rows that take what it yields: the true ones at least.
/// With !tile.ran they are those of the tile.if_any that it comes from.
void Agent::startIfAny(tile::IfAnyOp op) {
  const Elements &rows = *get(op.getRows()).tile;
  bool again = isa<tile::RanType>(op.getRows().getType());
  int64_t numRows = again ? rows.size() : rowsOf(tileOf(op.getRows()));
  int64_t width = rows.size() / numRows;
  std::vector<bool> chosen(numRows);
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].i)
      chosen[i / width] = true;
  if (!again)
    chooseRows(op.getRows(), chosen);
  if (op.getRan())
    set(op.getRan(), ranOf(chosen));
  if (llvm::is_contained(chosen, true)) {
    chosenRows.push_back(std::move(chosen));
    enter(op.getBody().front(), op);
    return;
  }
  SmallVector<Datum> inits;
  for (Value init : op.getInits())
    inits.push_back(get(init));
  set(op.getResults(), inits);
}

void Agent::finishIfAny(tile::IfAnyOp op, ArrayRef<Datum> yielded) {
  std::vector<bool> chosen = chosenRows.pop_back_val();
  for (auto [result, init, datum] : llvm::zip_equal(op.getResults(), op.getInits(), yielded)) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || rowsOf(type) != static_cast<int64_t>(chosen.size())) {
      set(result, datum);
      continue;
    }
    Elements merged(*datum.tile);
    const Elements &before = *get(init).tile;
    size_t width = merged.size() / chosen.size();
    for (size_t i = 0; i < merged.size(); ++i)
      if (!chosen[i / width])
        merged[i] = before[i];
    Datum mixed;
    mixed.tile = std::make_shared<const Elements>(std::move(merged));
    set(result, mixed);
  }
}
