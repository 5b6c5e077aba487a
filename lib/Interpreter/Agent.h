//===- Agent.h - one thread of control of a program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_AGENT_H
#define FA_LIB_TARGET_INTERPRETER_AGENT_H

#include "Barriers.h"
#include "SharedMemory.h"
#include "TileMath.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "fa/Dialect/Tile/IR/Scatter.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <deque>

namespace mlir::fa::interpreter {

/// Count what a launch has taken of a count.
struct Count {
  /// The first op to open it, and with which total.
  Operation *opened;
  uint64_t total;
  uint64_t taken = 0;
};

/// Hold what is known of a program before it is run.
struct Program {
  explicit Program(tile::FuncOp func);

  tile::FuncOp func;
  /// Record whether slots go by number, or there are roles: then an agent per warp runs
  /// it, or two, each half of the threads, where there is only one.
  bool byNumber = false;
  tile::RolesOp roles;
  unsigned agents = 1, barriers = 0;
  /// Count the blocks that a launch starts.
  int64_t blocks = 1;
  /// Roles whose first warp alone does all; slots go by number.
  SmallPtrSet<Operation *, 2> forOneWarp;
  llvm::DenseMap<Operation *, RegionInstruction> instructions;
  llvm::DenseMap<Operation *, Datum> constants;
  /// By the address of the word; of this launch.
  llvm::MapVector<const std::byte *, Count> counts;

  /// Return the warp that moves each element of a tile: of those that hold it the
  /// first, or, without a layout, 16 bytes a lane of so many warps in turn.
  const std::vector<uint16_t> &ownersOf(RankedTensorType type, unsigned warps);
  /// Return the agents that run an op.
  unsigned agentsOf(Operation *op) const;

private:
  llvm::DenseMap<std::pair<Type, unsigned>, std::vector<uint16_t>> owners;
};

/// One work tile of a program: what its agents share.
struct WorkTile {
  WorkTile(Program &program, ArrayRef<Argument> arguments, SmallVector<int64_t> ids,
           const Options &options, uint64_t seed, uint64_t &opsLeft)
      : program(program), arguments(arguments), ids(std::move(ids)), options(options),
        opsLeft(opsLeft), random(seed), choices(random.next()),
        memory(program.agents, program.barriers, random),
        barriers(program.agents, program.barriers) {}

  Program &program;
  ArrayRef<Argument> arguments;
  SmallVector<int64_t> ids;
  const Options &options;
  uint64_t &opsLeft;
  Random random;
  /// Seeds the choices that all agents must make alike.
  uint64_t choices;
  SharedMemory memory;
  Barriers barriers;
  /// Copies of TMA that are on their way.
  std::vector<Copy> tmaCopies;
  /// Hold slices of views, which copies on their way may still read.
  std::deque<Memory> slices;
  /// The number of each ring, ping-pong and (the first of) barriers, which the first
  /// agent to come there adds.
  llvm::DenseMap<Operation *, unsigned> numbers;
  /// Hold what each op on a count has found so far, and the counts that are opened.
  llvm::DenseMap<Operation *, std::vector<uint64_t>> found;
  SmallPtrSet<const std::byte *, 2> opened;
};

/// Runs the program one op at a time.
class Agent {
public:
  Agent(WorkTile &workTile, unsigned number);

  /// Blocked ones may go on after another's step; those that arrived do so too,
  /// but have done something first.
  enum class Step { Ran, Arrived, Blocked, Ended, Failed };
  Step step();

  unsigned getNumber() const { return number; }
  bool hasEnded() const { return frames.empty(); }
  /// Return the op that the agent is blocked at, or the barrier that it has come to.
  Operation *getWaiting() const { return atBarrier ? atBarrier : frames.back().next; }
  /// Return whether the agent has come to a barrier, and goes on when `pass` says so.
  bool isAtBarrier() const { return atBarrier; }
  void pass(const Clock &joined);
  const Clock &getClock() const { return clock; }
  /// Describe what a blocked agent waits for.
  std::string describeWait() const;

  /// Report an error at an op, and say where and with which seed it was found.
  InFlightDiagnostic report(Operation *op, const Twine &message);
  LogicalResult fail(Operation *op, const Twine &message, const Fault &fault = {});

private:
  /// A block that is being run, and of loops how far they are.
  struct Frame {
    Operation *next, *parent;
    int64_t at = 0, end = 0, step = 0;
  };

  // Agent.cpp: control flow.
  LogicalResult execute(Operation *op);
  void enter(Block &block, Operation *parent);
  LogicalResult startLoop(Operation *op);
  void startBallot(tile::BallotOp op);
  bool countBallot(tile::BallotOp op, SmallVector<Datum> &yielded);
  void startIfAny(tile::IfAnyOp op);
  void chooseRows(Value rows, std::vector<bool> &chosen);
  LogicalResult leave(Operation *terminator);
  void finishIfAny(tile::IfAnyOp op, ArrayRef<Datum> yielded);

  // AgentStabilizer.cpp: running references.
  LogicalResult executeStabilizer(Operation *op);
  void stabilize(tile::StabilizeOp op);
  void rescale(tile::RescaleOp op);

  // AgentTile.cpp: ops on tiles and views.
  LogicalResult executeTile(Operation *op);
  LogicalResult checkWaited(Operation *op);
  TileRef load(Value source, ValueRange indices, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
               Type element);
  LogicalResult slice(tile::SliceOp op);
  LogicalResult store(tile::StoreOp op);
  std::vector<bool> ownedOf(RankedTensorType type);
  void forEachPlace(Value tile, OperandRange indices,
                    function_ref<void(ArrayRef<int64_t>, const RegionValue &)> body);
  void scatter(tile::ScatterOp op);
  void scatterAdd(tile::ScatterAddOp op);
  LogicalResult accumulate(tile::AccumulateOp op);
  LogicalResult checkInside(Operation *op, StringRef constraint, const Memory &memory,
                            ArrayRef<int64_t> start, ArrayRef<int64_t> dims, RankedTensorType tile);
  LogicalResult checkBoxes(Operation *op, Value view, ValueRange indices, ArrayRef<int64_t> dims);

  // AgentShared.cpp: products, rings, slots by number.
  LogicalResult executeProduct(Operation *op);
  LogicalResult executeRing(Operation *op);
  LogicalResult executeSlot(Operation *op);
  std::vector<int32_t> addedElements(tile::BulkAccumulateOp op, const Memory &memory);
  LogicalResult startAdding(tile::BulkAccumulateOp op);
  LogicalResult waitForAdding(tile::BulkAccumulateWaitOp op);
  LogicalResult tileOfOperand(Operation *op, Value operand, TileRef &tile, ElementRange range = {});
  ElementRange rowsOfProduct(tile::DotStartOp op, unsigned operand) const;
  LogicalResult write(tile::WriteOp op);
  LogicalResult startProduct(tile::DotStartOp op);
  LogicalResult await(tile::AwaitOp op);
  LogicalResult checkRelease(tile::ReleaseOp op);
  LogicalResult put(tile::PutOp op);
  LogicalResult copy(tile::CopyOp op);
  LogicalResult finish(Operation *op);
  std::vector<int32_t> ownElements(RankedTensorType type);
  TileRef tileOfValues(ValueRange values) const;
  Access accessBy(Operation *op) const { return {number, clock, op}; }

  // AgentRoles.cpp: roles, and what they wait for.
  LogicalResult executeRoles(Operation *op);
  void enterRole(tile::RolesOp op);
  void leaveRole();
  const Memory &viewOf(Value map, Value view, SmallVectorImpl<int64_t> &dims) const;
  LogicalResult checkSlice(Operation *op, Value view, ArrayRef<int64_t> start, int64_t rows);
  LogicalResult tmaCopy(tile::CopyOp op);
  LogicalResult copyOut(tile::BulkStoreOp op);
  LogicalResult storeOut(BulkStore &copy, const Elements &tile);
  LogicalResult waitForCopiesOut(Operation *op);
  /// Return which numbered barrier it is.
  template <typename NamedOp> int64_t numberOfNamed(NamedOp op) const {
    Value offset = op.getOffset();
    return static_cast<int64_t>(op.getId()) + (offset ? integer(offset) : 0);
  }
  LogicalResult namedBarrier(Operation *op, int64_t id, int64_t threads, bool waits);
  LogicalResult barrierAt(Operation *op, Value barriers, Value slot, unsigned &barrier);

  // AgentCounts.cpp: numbers that blocks take.
  LogicalResult executeCount(Operation *op);
  uint64_t wordOf(Value count) const;
  void setWord(Value count, uint64_t word);
  void openCount(tile::SchedulerResetOp op);
  FailureOr<uint64_t> takeNumber(tile::SchedulerNextOp op);

  /// Return the number among the warps of the role, or of the program outside of roles.
  unsigned warp() const { return number - firstWarp; }
  /// Return the number of a ring, ping-pong or barriers, added by the first agent.
  unsigned numberOf(Operation *op, function_ref<unsigned()> add);

  const Datum &get(Value value) const { return values.find(value)->second; }
  int64_t integer(Value value) const { return get(value).scalar.i; }
  SmallVector<int64_t, 4> integers(ValueRange values) const;
  void set(Value value, Datum datum) { values[value] = std::move(datum); }
  void set(ValueRange results, ArrayRef<Datum> data);

  WorkTile &workTile;
  unsigned number;
  /// Hold the warps of the role that the agent is in, or of the program.
  unsigned firstWarp = 0, warps;
  tile::RoleOp role;
  Clock clock;
  SmallVector<Frame, 8> frames;
  llvm::DenseMap<Value, Datum> values;
  uint64_t numChoices = 0;
  /// Hold the words of the ballots that are under way.
  SmallVector<uint64_t, 1> ballots;
  Operation *atBarrier = nullptr;
  bool blocked = false, arrived = false;
  /// Say whether what kernels of the entry write may be touched: the program came to its
  /// tile.kernel_wait, or has none.
  bool waited;
  /// At a numbered barrier, once arrived: how often it will have been completed.
  uint64_t awaitedCompletions = 0;
  /// Which rows of a running tile.if_any take what its region yields.
  SmallVector<std::vector<bool>, 2> chosenRows;
  std::vector<std::shared_ptr<Product>> products;
  std::vector<Copy> openGroup;
  std::deque<std::vector<Copy>> groups;
  std::vector<BulkStore> copiesOut;
  std::vector<BulkAdd> additions;
  uint64_t numAdditions = 0;
  llvm::DenseMap<Operation *, size_t> numFound;
};

/// Check what the blocks of a launch have left of its counts.
LogicalResult checkCounts(const Program &program, uint64_t seed);

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_AGENT_H
