//===- InterpretedRolesTests.cpp - programs with roles in the interpreter -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random programs and examples for sm_90a, of elements of two bytes and head
// sizes that its TMA takes, so that they get roles; and a program with
// roles whose synchronization is spoilt, one op at a time.
//
//===----------------------------------------------------------------------===//

#include "InterpretedProgram.h"
#include <regex>

using namespace fa_test;

namespace {

/// Every tensor of four dimensions whose last one is known gets another length there, by that
/// one, and elements of two bytes, which those of sinks follow.
std::string forEngine(std::string text, const std::string &type,
                      llvm::function_ref<int64_t(int64_t)> lengthFor) {
  std::string result;
  std::regex tensor("tensor<([?0-9]+x[?0-9]+x[?0-9]+x)([0-9]+)x(f32|bf16|f16)>");
  std::smatch match;
  for (; std::regex_search(text, match, tensor); text = match.suffix())
    result += match.prefix().str() + "tensor<" + match[1].str() +
              std::to_string(lengthFor(std::stoll(match[2]))) + "x" + type + ">";
  result = std::regex_replace(result + text, std::regex("tensor<([?0-9]+)x(bf16|f16)>"),
                              "tensor<$1x" + type + ">");
  return std::regex_replace(result, std::regex("precision\\([a-z0-9]+\\)"), "");
}

/// Whole panels, parts of them, and several; heads of values of another length stay so.
int64_t anyLength(int64_t length, uint64_t seed) {
  constexpr int64_t kLengths[] = {64, 128, 72, 80, 96, 192, 256};
  return kLengths[(length + seed) % std::size(kLengths)];
}

struct Tiles {
  int64_t rows, keys, warps;
};

/// Return the default ones, and some that are small enough for several in a sequence.
CompileOptions optionsFor(uint64_t seed) {
  static constexpr Tiles kTiles[] = {{0, 0, 0}, {128, 32, 8}, {64, 16, 4}, {192, 48, 12}};
  const Tiles &tiles = kTiles[seed % 4];
  CompileOptions options;
  options.target = "sm_90a";
  options.analyzeMask = seed % 3 != 0;
  options.rows = tiles.rows;
  options.keys = tiles.keys;
  options.warps = tiles.warps;
  return options;
}

class RandomRoles : public testing::TestWithParam<int> {};

TEST_P(RandomRoles, MatchReference) {
  constexpr int kProgramsOfGroup = 10;
  int withRoles = 0;
  auto look = [&](ModuleOp module) { module.walk([&](tile::RolesOp) { ++withRoles; }); };
  fa_fuzz::Random random(7000 + GetParam());
  for (int found = 0; found < kProgramsOfGroup;) {
    fa_fuzz::Program program = fa_fuzz::makeProgram(random);
    if (!program.runnable || !program.comparable)
      continue;
    uint64_t seed = GetParam() * kProgramsOfGroup + found++;
    program.text = forEngine(program.text, seed % 2 ? "f16" : "bf16",
                             [&](int64_t length) { return anyLength(length, seed); });
    for (const char *phase : {"tile", "schedule"})
      interpretAndJudge(program, seed, optionsFor(seed), phase, look);
  }
  EXPECT_GE(withRoles, 4);
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RandomRoles, testing::Range(0, 10));

class EveryPassOfRoles : public testing::TestWithParam<const char *> {};

std::string asHalf(std::string text) {
  return forEngine(std::move(text), "f16",
                   [](int64_t length) -> int64_t { return length % 128 ? 64 : 128; });
}

TEST_P(EveryPassOfRoles, KeepsTheResult) {
  Example example(GetParam(), {1, 1, 1, 130, 200}, asHalf);
  EXPECT_GE(runAfterEachPass(example, optionsFor(/*small tiles*/ 1)), 10);
  // The default ones.
  std::unique_ptr<Interpretation> program = example.compile("schedule", optionsFor(0));
  EXPECT_EQ(example.run(*program, 3), "");
}

INSTANTIATE_TEST_SUITE_P(Interpreter, EveryPassOfRoles,
                         testing::Values("alibi", "bias", "blocks", "causal", "causal_d128",
                                         "causal_top_left", "custom", "document", "full", "gqa",
                                         "prefix", "sink", "softcap", "window"));

TEST(InterpreterRoles, EachOptionalPassCanBeLeftOut) {
  for (const char *name : {"gqa", "causal"}) {
    Example example(name, {1, 2, 1, 70, 250}, asHalf);
    for (StringRef pass : nvptx::getOptionalPasses(*nvptx::getTarget("sm_90a")))
      for (uint64_t seed : {1, 2, 3}) {
        CompileOptions options = optionsFor(seed);
        options.leaveOut = pass.str();
        EXPECT_EQ(example.run(*example.compile("schedule", options), seed), "") << pass.str();
      }
  }
}

//===----------------------------------------------------------------------===//
// Spoilt programs
//===----------------------------------------------------------------------===//

/// A program with roles, two warpgroups that take turns, and loops.
struct Spoilt : testing::Test {
  // Some work tiles see no keys.
  explicit Spoilt(const AttentionSizes &sizes = {1, 4, 1, 448, 150}, const char *name = "causal")
      : example(name, sizes, asHalf) {}

  void compile(const std::string &leaveOut = "", uint64_t seed = 1) {
    CompileOptions options = optionsFor(seed);
    options.leaveOut = leaveOut;
    program = example.compile("schedule", options);
    ASSERT_EQ(example.run(*program, 0), "");
  }
  /// Return what some seed finds.
  std::string find(uint64_t seeds = 8) {
    std::string seen;
    for (uint64_t seed = 0; seed < seeds && seen.empty(); ++seed)
      seen = example.run(*program, seed);
    return seen;
  }
  /// Ops of synchronization that no seed misses.
  std::vector<std::string> findMissed() {
    // What few find takes many.
    constexpr uint64_t kSeeds = 128;
    SmallVector<Operation *> ops =
        collect<tile::BarrierWaitOp, tile::BarrierArriveOp, tile::BarrierExpectOp,
                tile::NamedWaitOp, tile::NamedArriveOp, tile::CopyOp>(/*inLoop=*/false);
    EXPECT_GE(ops.size(), 12u);
    std::vector<std::string> missed;
    for (Operation *op : ops) {
      Block *block = op->getBlock();
      Operation *next = op->getNextNode();
      op->remove();
      if (find(kSeeds).empty())
        missed.push_back(op->getName().getStringRef().str());
      block->getOperations().insert(next ? next->getIterator() : block->end(), op);
    }
    return missed;
  }
  template <typename... Ops> SmallVector<Operation *> collect(bool inLoop) {
    SmallVector<Operation *> ops;
    program->getModule().walk([&](Operation *op) {
      if (isa<Ops...>(op) && (!inLoop || op->getParentOfType<scf::ForOp>()))
        ops.push_back(op);
    });
    return ops;
  }

  Example example;
  std::unique_ptr<Interpretation> program;
};

TEST_F(Spoilt, NoOpOfSynchronizationCanBeLeftOut) {
  compile();
  EXPECT_EQ(findMissed(), std::vector<std::string>());
  EXPECT_EQ(find(), "");
}

/// Work tiles of one tile of keys: the next ones' tiles come while it is read.
struct SpoiltShort : Spoilt {
  SpoiltShort() : Spoilt({1, 8, 1, 100, 30}) {}
};

TEST_F(SpoiltShort, WhatProductsReadIsReleasedBehindThem) {
  compile();
  // The queries' slot is the one that work tiles without keys release, too.
  tile::BarrierArriveOp release;
  SmallVector<Operation *> arrives = collect<tile::BarrierArriveOp>(/*inLoop=*/false);
  for (Operation *other : arrives)
    for (Operation *op : arrives)
      if (auto branch = dyn_cast<scf::IfOp>(op->getParentOp());
          branch && op->getBlock() == branch.thenBlock() &&
          other->getBlock() == branch.elseBlock() && op->getOperand(0) == other->getOperand(0))
        release = cast<tile::BarrierArriveOp>(op);
  ASSERT_TRUE(release);
  tile::AwaitOp await;
  release->getBlock()->walk([&](tile::AwaitOp op) {
    await = op;
    return WalkResult::interrupt();
  });
  ASSERT_TRUE(await);
  Operation *back = release->getNextNode();
  release->moveBefore(await->getBlock()->getParentOp());
  EXPECT_NE(find(), "");
  release->moveBefore(back);
  EXPECT_EQ(find(), "");
  // Nor is the slot filled before.
  tile::BarrierWaitOp wait;
  for (Operation *op : collect<tile::CopyOp>(/*inLoop=*/false))
    if (!wait && isa<scf::WhileOp>(op->getParentOp()))
      for (auto before : op->getBlock()->getOps<tile::BarrierWaitOp>())
        wait = wait ? wait : before;
  ASSERT_TRUE(wait);
  back = wait->getNextNode();
  wait->remove();
  EXPECT_NE(find(), "");
  back->getBlock()->getOperations().insert(back->getIterator(), wait);
  EXPECT_EQ(find(), "");
}

/// The result leaves by the queries' slots, of which there are two; some work tiles have no keys.
struct SpoiltLate : Spoilt {
  SpoiltLate() : Spoilt({1, 8, 1, 300, 80}, "causal_d128") {}
};

TEST_F(SpoiltLate, SlotsAreReleasedByTheNextInstance) {
  compile("", /*seed=*/4); // The default tiles.
  SmallVector<Operation *> waits = collect<tile::BulkStoreWaitOp>(/*inLoop=*/false);
  // In both arms, and in the end.
  ASSERT_EQ(waits.size(), 3u);
  for (Operation *wait : ArrayRef(waits).drop_back()) {
    Operation *arrive = wait->getNextNode();
    ASSERT_TRUE(isa<scf::IfOp>(wait->getParentOp()) && isa<tile::BarrierArriveOp>(arrive));
    arrive->remove();
    EXPECT_NE(find(), "");
    wait->getBlock()->getOperations().insertAfter(wait->getIterator(), arrive);
  }
  // Unless it waits, the slot is filled while it is read.
  Operation *next = waits[0]->getNextNode();
  waits[0]->remove();
  EXPECT_NE(find(), "");
  next->getBlock()->getOperations().insert(next->getIterator(), waits[0]);
  EXPECT_EQ(find(), "");
}

} // namespace
