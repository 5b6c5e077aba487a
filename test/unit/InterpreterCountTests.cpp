//===- InterpreterCountTests.cpp - numbers that blocks take -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program whose blocks take the numbers of work tiles from a count: each work tile
// runs once, whatever the word holds before, and again when the launch is repeated with
// the same tag. Faults are planted into it.
//
//===----------------------------------------------------------------------===//

#include "PlantedFaults.h"

using namespace fa_test;

namespace {

constexpr int64_t kInstances = 6;

/// Adds 1 to the row of each work tile that is run.
const char *const kCounting = R"(
!v = !tile.view<?x16xf32>
!w = !tile.view<1xi64>
tile.func @f(%y: !v, %w: !w, %tag: i64 {tile.launch_epoch}, %t: index)
    grid affine_map<()[s0] -> (s0)> sizes [0, 0] attributes {tile.blocks_per_sm = 1 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<1x16xf32>
  %few = arith.constant 2 : i32
  %i5 = arith.constant 5 : i32
  %i7 = arith.constant 7 : i32
  %all = arith.constant 6 : i32
  %b = tile.block_count : index
  %blocks = arith.index_cast %b : index to i32
  %first = arith.index_cast %t : index to i32
  %found = tile.scheduler_peek %w : !w // find
  %n = scf.while (%n = %first) : (i32) -> i32 {
    %more = arith.cmpi ult, %n, %all : i32
    scf.condition(%more) %n : i32
  } do {
  ^bb0(%n: i32):
    %i = arith.index_cast %n : i32 to index
    %old = tile.load %y[%i, %c0] dims [0, 1] : !v -> tensor<1x16xf32>
    %new = arith.addf %old, %one : tensor<1x16xf32>
    tile.store %new, %y[%i, %c0] dims [0, 1] : tensor<1x16xf32>, !v
    %begins = arith.cmpi eq, %n, %first : i32 // begins
    scf.if %begins {
      tile.scheduler_reset %w found(%found) first(%tag) total(%all) : !w // open
    }
    %taken = tile.scheduler_next %w first(%tag) : !w // take
    %next = arith.addi %blocks, %taken : i32
    scf.yield %next : i32
  }
  tile.return
})";

struct Counting {
  std::string message;
  Floats y = Floats(kInstances * 16);
  uint64_t word = 0;

  /// Launch with a tag on what the last launch left.
  bool run(const std::string &text, uint64_t tag, uint64_t seed) {
    DialectRegistry registry;
    registry.insert<tile::TileDialect, arith::ArithDialect, scf::SCFDialect>();
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      message = diagnostic.str();
      return success();
    });
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    tile::FuncOp func = module ? *module->getOps<tile::FuncOp>().begin() : tile::FuncOp();
    if (!func || failed(interpreter::check(func)))
      return false;
    interpreter::Argument arguments[3];
    arguments[0].memory = {reinterpret_cast<std::byte *>(y.data()), {kInstances, 16}, {16, 1}};
    arguments[1].memory = {reinterpret_cast<std::byte *>(&word), {1}, {1}};
    arguments[2].scalar.i = tag;
    interpreter::Options options;
    options.seed = seed;
    options.maxOps = 100000;
    return succeeded(interpreter::run(func, arguments, options));
  }
};

/// Part of a message for some seed, where the line that ends in `marker` is another one.
void expectFault(const char *marker, const char *by, const char *message) {
  std::string text = replaceLine(kCounting, marker, by);
  int found = 0;
  std::string all;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Counting counting;
    counting.word = 77 * seed;
    if (!counting.run(text, 1234, seed))
      found += counting.message.find(message) != std::string::npos;
    all += counting.message + "\n";
  }
  EXPECT_GT(found, 0) << all;
}

} // namespace

TEST(Counts, RunEachInstanceOnceWhateverTheWordHolds) {
  constexpr uint64_t tag = 0xFFFFFFFFFFFFFFFD; // numbers go round 2^64
  for (uint64_t word : {tag - 1, tag + kInstances, tag + 1000, uint64_t(1) << 63})
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Counting counting;
      counting.word = word;
      // The third is a graph that is replayed: the same tag again.
      uint64_t tags[] = {tag, tag, tag + (uint64_t(1) << 32), tag};
      for (size_t launch = 0; launch < 4; ++launch) {
        ASSERT_TRUE(counting.run(kCounting, tags[launch], seed + launch)) << counting.message;
        EXPECT_EQ(counting.y, Floats(kInstances * 16, float(launch + 1)));
        EXPECT_EQ(counting.word, tags[launch] + kInstances);
      }
    }
}

TEST(Counts, FindPlantedFaults) {
  expectFault("// open", "", "takes a number of a count that the block has not opened");
  // Only the block that begins with the first work tile.
  expectFault("// begins", "%begins = arith.cmpi eq, %n, %few : i32",
              "takes a number of a count that the block has not opened");
  expectFault("// open",
              "tile.scheduler_reset %w found(%found) first(%tag) total(%i5) : !w // fewer",
              "takes more numbers than the total with which the count was opened, 5");
  expectFault("// open",
              "tile.scheduler_reset %w found(%found) first(%tag) total(%i7) : !w // more",
              "opens a count of 7 numbers, of which 6 were taken");
  // It looks at the word when others have changed it, and opens the count again.
  expectFault("// open",
              "%late = tile.scheduler_peek %w : !w\n"
              "%zero = arith.constant 0 : i32\n"
              "tile.scheduler_reset %w found(%late) first(%tag) total(%zero) : !w",
              "takes more numbers than the total");
  expectFault("// take",
              "%other = arith.addi %tag, %tag : i64\n"
              "%taken = tile.scheduler_next %w first(%other) : !w",
              "of a count of which 0 were taken");
}
