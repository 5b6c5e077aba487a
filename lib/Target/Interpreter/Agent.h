//===- Agent.h - one thread of control of a program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_AGENT_H
#define FA_LIB_TARGET_INTERPRETER_AGENT_H

#include "SharedMemory.h"
#include "TileMath.h"
#include "llvm/ADT/DenseMap.h"
#include <deque>

namespace mlir::fa::interpreter {

/// What is known of a program before it is run.
struct Program {
  explicit Program(tile::FuncOp func);

  tile::FuncOp func;
  /// Whether slots go by number: then an agent per warp runs it, or two, each
  /// half of the threads, where there is only one.
  bool byNumber = false;
  unsigned agents = 1;
  llvm::DenseMap<Operation *, RegionInstruction> instructions;
  llvm::DenseMap<Operation *, Datum> constants;

  /// The warp that moves each element of a tile: of those that hold it the
  /// first, or, without a layout, 16 bytes a lane in turn.
  const std::vector<uint16_t> &ownersOf(RankedTensorType type);

private:
  llvm::DenseMap<Type, std::vector<uint16_t>> owners;
};

/// One instance of a program: what its agents share.
struct Instance {
  Instance(Program &program, ArrayRef<Argument> arguments, SmallVector<int64_t> ids,
           const Options &options, uint64_t seed, uint64_t &opsLeft)
      : program(program), arguments(arguments), ids(std::move(ids)), options(options),
        opsLeft(opsLeft), random(seed), choices(random.next()), memory(program.agents, random) {}

  Program &program;
  ArrayRef<Argument> arguments;
  SmallVector<int64_t> ids;
  const Options &options;
  uint64_t &opsLeft;
  Random random;
  /// Seeds the choices that all agents must make alike.
  uint64_t choices;
  SharedMemory memory;
  /// The number of each ring, which the first agent to come there adds.
  llvm::DenseMap<Operation *, unsigned> rings;
};

/// Runs the program one op at a time.
class Agent {
public:
  Agent(Instance &instance, unsigned number);

  enum class Step { Ran, Blocked, Ended, Failed };
  Step step();

  unsigned getNumber() const { return number; }
  bool hasEnded() const { return frames.empty(); }
  /// The op that runs next; null at the end.
  Operation *getNext() const { return frames.empty() ? nullptr : frames.back().next; }
  /// Whether the agent has come to a barrier, and goes on when `pass` says so.
  bool isAtBarrier() const { return atBarrier; }
  void pass(const Clock &joined);
  const Clock &getClock() const { return clock; }

  /// An error at an op, that says where and with which seed it was found.
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
  void startIfAny(tile::IfAnyOp op);
  LogicalResult leave(Operation *terminator);
  void finishIfAny(tile::IfAnyOp op, ArrayRef<Datum> yielded);

  // AgentTile.cpp: ops of the tile dialect.
  LogicalResult executeTile(Operation *op);
  LogicalResult executeRing(Operation *op);
  LogicalResult executeSlot(Operation *op);
  LogicalResult tileOfOperand(Operation *op, Value operand, TileRef &tile);
  LogicalResult product(Operation *op, const Product &product, TileRef &result);
  LogicalResult startProduct(tile::DotStartOp op);
  LogicalResult await(tile::AwaitOp op);
  LogicalResult checkRelease(tile::ReleaseOp op);
  LogicalResult copy(tile::CopyOp op);
  LogicalResult finish(Operation *op);
  std::vector<int32_t> ownElements(RankedTensorType type);
  TileRef load(Value source, ValueRange indices, ArrayRef<int64_t> dims, ArrayRef<int64_t> shape,
               Type element);
  Access accessBy(Operation *op) const { return {number, clock, op}; }

  const Datum &get(Value value) const { return values.find(value)->second; }
  int64_t integer(Value value) const { return get(value).scalar.i; }
  SmallVector<int64_t, 4> integers(ValueRange values) const;
  void set(Value value, Datum datum) { values[value] = std::move(datum); }
  void set(ValueRange results, ArrayRef<Datum> data);

  Instance &instance;
  unsigned number;
  Clock clock;
  SmallVector<Frame, 8> frames;
  llvm::DenseMap<Value, Datum> values;
  uint64_t numChoices = 0;
  bool atBarrier = false, blocked = false;
  /// Which rows of a running tile.if_any take what its region yields.
  SmallVector<std::vector<bool>, 2> chosenRows;
  std::vector<std::shared_ptr<Product>> products;
  std::vector<Copy> openGroup;
  std::deque<std::vector<Copy>> groups;
};

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_AGENT_H
