//===- InterpreterBoxesTests.cpp - memory in boxes, and what is added to it -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a program says of an order is what stands in memory, by a formula of its own here; and
// faults in how warps wait for their reductions are found.
//
//===----------------------------------------------------------------------===//

#include "PlantedFaults.h"
#include "RingPrograms.h"

using namespace fa_test;

namespace {

/// Return the head of a program whose boxes have so many elements of a lane side by side.
std::string headOf(int64_t width) {
  return R"(
#acc = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 16, 0)]>
#order = #tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), (8, 1, 0)], width = )" +
         std::to_string(width) + R"(>
!v = !tile.view<?x16xf32>
!o = !tile.view<?x16xf32, #order>
!acc = tensor<64x16xf32, #acc>
!ring = !tile.ring<1 x 1024xf32, #tile.swizzle<128>>
!slot = !tile.slot<1024xf32, #tile.swizzle<128>>
tile.func @f(%x: !v, %y: !o, %t: index) grid affine_map<()[s0] -> (s0 ceildiv 64)> sizes [0, 0]
    attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %i = arith.muli %t, %c64 : index
  %zero = arith.constant dense<0.0> : !acc
)";
}

/// y = x + x, as warps add it.
const char *const kAdded = R"(
  tile.store %zero, %y[%i, %c0] dims [0, 1] : !acc, !o
  scf.for %k = %c0 to %c2 step %c1 {
    %v = tile.load %x[%i, %c0] dims [0, 1] : !v -> !acc
    tile.accumulate %v, %y[%i, %c0] dims [0, 1] : !acc, !o // add
  }
  tile.return
})";

/// The same by way of shared memory.
const char *const kStaged = R"(
  %r = tile.ring : !ring
  tile.store %zero, %y[%i, %c0] dims [0, 1] : !acc, !o // zero
  %s = tile.slot_at %r[%c0] : !ring -> !slot
  scf.for %k = %c0 to %c2 step %c1 {
    %v = tile.load %x[%i, %c0] dims [0, 1] : !v -> !acc
    tile.bulk_accumulate_wait // wait
    tile.write %v, %s order(#order) : !acc, !slot // write
    tile.fence_async // fence
    tile.bulk_accumulate %s to %y[%i, %c0] dims [0, 1] tile(!acc) : !slot, !o // add
  }
  tile.bulk_accumulate_wait written // end
  tile.return
})";

/// The same by one reduction of all warps, an iteration later: the first one is past the end.
const char *const kMerged = R"(
  %r = tile.ring : !tile.ring<2 x 1024xf32, #tile.swizzle<128>>
  tile.store %zero, %y[%i, %c0] dims [0, 1] : !acc, !o // zero
  %rows = tile.dim %y, 0 : !o
  %c4 = arith.constant 4 : index
  %end = scf.for %k = %c0 to %c4 step %c1 iter_args(%n = %c0) -> index {
    %half = arith.constant dense<0.5> : !acc
    %u = tile.load %x[%i, %c0] dims [0, 1] : !v -> !acc
    %v = arith.mulf %u, %half : !acc
    %first = arith.cmpi eq, %k, %c0 : index
    %row = arith.select %first, %rows, %i : index
    %other = arith.subi %c1, %n : index
    tile.fence_async // fence
    tile.bulk_accumulate_wait // wait
    tile.barrier // meet
    %b = tile.slot_at %r[%other] : !tile.ring<2 x 1024xf32, #tile.swizzle<128>> -> !slot // before
    tile.bulk_accumulate %b to %y[%row, %c0] dims [0, 1] tile(!acc) whole : !slot, !o // add
    %s = tile.slot_at %r[%n] : !tile.ring<2 x 1024xf32, #tile.swizzle<128>> -> !slot // slot
    tile.write %v, %s order(#order) : !acc, !slot // write
    scf.yield %other : index
  }
  %other = arith.subi %c1, %end : index
  %s = tile.slot_at %r[%other] : !tile.ring<2 x 1024xf32, #tile.swizzle<128>> -> !slot
  tile.fence_async // last fence
  tile.bulk_accumulate %s to %y[%i, %c0] dims [0, 1] tile(!acc) : !slot, !o // last
  tile.bulk_accumulate_wait written // end
  tile.return
})";

/// y = x + x, half of it by way of a ring in the memory of the one that is added through.
const char *const kTurns = R"(
  %r = tile.ring : !ring
  %o = tile.ring in(%r at 0 : !ring) : !tile.ring<1 x 1024xf32, #tile.swizzle<128>>
  tile.store %zero, %y[%i, %c0] dims [0, 1] : !acc, !o
  %s = tile.slot_at %r[%c0] : !ring -> !slot
  %u = tile.slot_at %o[%c0] : !ring -> !slot
  %half = arith.constant dense<0.5> : !acc
  %x0 = tile.load %x[%i, %c0] dims [0, 1] : !v -> !acc
  %v = arith.mulf %x0, %half : !acc
  scf.for %k = %c0 to %c2 step %c1 {
    tile.bulk_accumulate_wait // wait
    tile.barrier // meet
    tile.write %v, %s order(#order) : !acc, !slot // write
    tile.fence_async
    tile.bulk_accumulate %s to %y[%i, %c0] dims [0, 1] tile(!acc) : !slot, !o
    tile.bulk_accumulate_wait // inner wait
    tile.barrier // inner meet
    tile.write %v, %u order(#order) : !acc, !slot // inner write
    tile.fence_async
    tile.bulk_accumulate %u to %y[%i, %c0] dims [0, 1] tile(!acc) : !slot, !o // inner add
  }
  tile.bulk_accumulate_wait written
  tile.return
})";

/// y = x, read in boxes: x holds them.
const char *const kLoaded = R"(
  %v = tile.load %x[%i, %c0] dims [0, 1] : !o -> !acc
  tile.store %v, %y[%i, %c0] dims [0, 1] : !acc, !v
  tile.return
})";

/// Return x times a factor as it lies in boxes of 16x8: lane 4 (r mod 8) + c / 2, register
/// 2 (r / 8) + c mod 2.
Floats inBoxes(const Floats &x, int64_t width, float factor) {
  Floats y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t row = i / 16, column = i % 16;
    int64_t lane = row % 8 * 4 + column % 8 / 2, reg = row % 16 / 8 * 2 + column % 2;
    int64_t box = row / 16 * 2 + column / 8;
    y[box * 128 + reg / width * 32 * width + lane * width + reg % width] = factor * x[i];
  }
  return y;
}

constexpr size_t kSize = 112 * 16;

class Boxes : public testing::TestWithParam<int64_t> {};

TEST_P(Boxes, LieInOrder) {
  Floats x = valuesOf(kSize, 3), y = inBoxes(x, GetParam(), 2);
  expectRight(headOf(GetParam()) + kAdded, {{x}, y});
  expectRight(headOf(GetParam()) + kStaged, {{x}, y});
  expectRight(headOf(GetParam()) + kMerged, {{x}, y});
  expectRight(headOf(GetParam()) + kTurns, {{x}, y});
}

TEST_P(Boxes, AreLoadedInOrder) {
  std::string text = headOf(GetParam());
  size_t at = text.find("%x: !v, %y: !o");
  text.replace(at, 14, "%x: !o, %y: !v");
  Floats x = valuesOf(kSize, 5);
  expectRight(text + kLoaded, {{inBoxes(x, GetParam(), 1)}, x});
}

INSTANTIATE_TEST_SUITE_P(Interpreter, Boxes, testing::Values(1, 2, 4));

/// Rows that are no whole boxes are refused: memory has padding for them.
TEST(InterpreterBoxes, RefusesPartsOfBoxes) {
  Outcome outcome = interpret(headOf(4) + kAdded, {valuesOf(40 * 16, 1)}, 40 * 16, 1);
  EXPECT_FALSE(outcome.ran);
  EXPECT_NE(
      outcome.message.find("argument 2 of 2 takes rows without gaps, a multiple of 16, got 40"),
      std::string::npos)
      << outcome.message;
}

class PlantedBoxesFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedBoxesFault, IsCaught) {
  Floats x = valuesOf(kSize, 3);
  expectCaught(GetParam(), headOf(4), {{x}, inBoxes(x, 4, 2)});
}

const Case kFaults[] = {
    {"WriteBeforeRead", kStaged, {{"// wait", ""}}, "still reads; wait for it first", "// write"},
    {"NoFence", kStaged, {{"// fence", ""}}, "wrote, with no tile.fence_async", "// add"},
    {"FenceBeforeWrite",
     kStaged,
     {{"// fence", ""}, {"// wait", "tile.bulk_accumulate_wait\ntile.fence_async"}},
     "wrote, with no tile.fence_async",
     "// add"},
    {"NotWaitedFor",
     kStaged,
     {{"// end", ""}},
     "starts a reduction that nothing waits for",
     "// add"},
    {"OnlyReadWaitedFor",
     kStaged,
     {{"// end", "tile.bulk_accumulate_wait"}},
     "starts a reduction that nothing waits for",
     "// add"},
    {"WithinABox",
     kStaged,
     {{"// add", "tile.bulk_accumulate %s to %y[%i, %c8] dims [0, 1] tile(!acc) : !slot, !o\n"
                 "%j = arith.addi %i, %c8 : index\n"
                 "tile.bulk_accumulate %s to %y[%j, %c0] dims [0, 1] tile(!acc) : !slot, !o // j"}},
     "begins within a box of memory, at row ",
     "// j"},
    {"AddedWithinABox",
     kAdded,
     {{"// add", "%j = arith.addi %i, %c1 : index\n"
                 "tile.accumulate %v, %y[%j, %c0] dims [0, 1] : !acc, !o // j"}},
     "begins within a box of memory, at row ",
     "// j"},
    {"AddedOutside",
     kAdded,
     {{"// add", "%rows = tile.dim %y, 0 : !o\n"
                 "tile.accumulate %v, %y[%rows, %c0] dims [0, 1] inside : !acc, !o // rows"}},
     "(accumulate_c6) begins at an index of ",
     "// rows"},
    {"LoadedOutside",
     kAdded,
     {{"// add", "%rows = tile.dim %x, 0 : !v\n"
                 "%w = tile.load %x[%rows, %c0] dims [0, 1] inside : !v -> !acc // rows"}},
     "(load_c5) begins at an index of ",
     "// rows"},
    {"OtherOrder",
     kStaged,
     {{"// write",
       "tile.write %v, %s order(#tile.order<reg = [(2, 0, 1), (2, 8, 0)], lane = [(4, 0, 2), "
       "(8, 1, 0)], width = 1>) : !acc, !slot"}},
     nullptr,
     nullptr},
    {"TooManyPending",
     kStaged,
     {{"// wait", "tile.bulk_accumulate_wait pending(1)"}},
     "still reads; wait for it first",
     "// write"},
    {"MergedNoFence", kMerged, {{"// fence", ""}}, "wrote, with no tile.fence_async", "// add"},
    {"MergedFenceAfterMeeting",
     kMerged,
     {{"// fence", ""},
      {"// before", "tile.fence_async\n%b = tile.slot_at %r[%other] : !tile.ring<2 x 1024xf32, "
                    "#tile.swizzle<128>> -> !slot"}},
     "wrote, with no tile.fence_async",
     "// add"},
    {"MergedNoMeeting", kMerged, {{"// meet", ""}}, "wrote, with no barrier between", "// add"},
    {"MergedNoWait", kMerged, {{"// wait", ""}}, "still reads; wait for it first", "// write"},
    {"MergedOnePending",
     kMerged,
     {{"// wait", "tile.bulk_accumulate_wait pending(1)"}},
     "still reads; wait for it first",
     "// write"},
    {"MergedWaitAfterMeeting",
     kMerged,
     {{"// wait", ""},
      {"// slot",
       "tile.bulk_accumulate_wait pending(1)\n"
       "%s = tile.slot_at %r[%n] : !tile.ring<2 x 1024xf32, #tile.swizzle<128>> -> !slot"}},
     "may still read, with no barrier between",
     "// write"},
    {"MergedOtherSlot",
     kMerged,
     {{"// slot",
       "%s = tile.slot_at %r[%other] : !tile.ring<2 x 1024xf32, #tile.swizzle<128>> -> !slot"}},
     "reads shared memory that nothing has written",
     "// add"},
    {"MergedNoLastFence",
     kMerged,
     {{"// last fence", ""}},
     "wrote, with no tile.fence_async",
     "// last"},
    {"TurnsNoWait", kTurns, {{"// wait", ""}}, "still reads; wait for it first", "// write"},
    {"TurnsNoMeeting", kTurns, {{"// meet", ""}}, "with no barrier between", "// write"},
    {"TurnsNoInnerWait",
     kTurns,
     {{"// inner wait", ""}},
     "still reads; wait for it first",
     "// inner write"},
    {"TurnsNoInnerMeeting",
     kTurns,
     {{"// inner meet", ""}},
     "with no barrier between",
     "// inner write"},
    {"TurnsOverwritten",
     kTurns,
     {{"// inner write", ""}},
     "reads shared memory that nothing has written",
     "// inner add"},
};

INSTANTIATE_TEST_SUITE_P(Interpreter, PlantedBoxesFault, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
