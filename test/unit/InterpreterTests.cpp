//===- InterpreterTests.cpp - what the interpreter computes and what it catches -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each fault is planted into a right program, which passes for every seed; the
// fault must be caught for some of them, at its place, or change the result.
//
//===----------------------------------------------------------------------===//

#include "PlantedFaults.h"

using namespace fa_test;

namespace {

const char *const kHead = R"(
!v = !tile.view<?x16xf32>
!ring = !tile.ring<2 x 32x16xf32, #tile.swizzle<64>>
!slot = !tile.slot<32x16xf32, #tile.swizzle<64>>
!t = tensor<32x16xf32>
)";

/// y = x, in tiles of 32 rows, four a work tile, through a ring of two.
const char *const kRingCopy = R"(
tile.func @f(%x: !v {tile.align = 16 : i64}, %y: !v, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c128 : index
  %r = tile.ring : !ring
  tile.put %r, %x[%i0, %c0] dims [0, 1] copy(cp_async) : !ring, !v
  scf.for %k = %c0 to %c4 step %c1 {
    %a = arith.muli %k, %c32 : index
    %i = arith.addi %i0, %a : index
    %n = arith.addi %i, %c32 : index
    tile.put %r, %x[%n, %c0] dims [0, 1] copy(cp_async) : !ring, !v // put
    %s = tile.get %r : !ring -> !slot // get
    %v = tile.read %s : !slot -> !t // read
    tile.release %s : !slot // release
    tile.store %v, %y[%i, %c0] dims [0, 1] : !t, !v
  }
  %last = tile.get %r : !ring -> !slot // last
  tile.release %last : !slot // last
  tile.return
})";

/// y = x * transpose(x of the same tile), 32 x 32 cut to 16 columns: the
/// operand stands in a ring, the product is pending.
const char *const kRingProduct = R"(
tile.func @f(%x: !v, %w: !v, %y: !v, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %i = arith.muli %t, %c32 : index
  %r = tile.ring : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>
  tile.put %r, %w[%c0, %c0] dims [0, 1] copy(ld_st) : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>, !v
  %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
  %s = tile.get %r : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>> -> !tile.slot<16x16xf32, #tile.swizzle<64>>
  %p = tile.dot_start %a, %s, %zero : !t, !tile.slot<16x16xf32, #tile.swizzle<64>>, !t -> !tile.pending<tensor<32x16xf32>> // start
  %o = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t // await
  tile.release %s : !tile.slot<16x16xf32, #tile.swizzle<64>> // release
  tile.store %o, %y[%i, %c0] dims [0, 1] : !t, !v // store
  tile.return
})";

/// kRingCopy, as slots by number.
const char *const kLoweredCopy = R"(
tile.func @f(%x: !v {tile.align = 16 : i64}, %y: !v, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.warps = 4 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c32 = arith.constant 32 : index
  %c128 = arith.constant 128 : index
  %i0 = arith.muli %t, %c128 : index
  %r = tile.ring : !ring
  %first = tile.slot_at %r[%c0] : !ring -> !slot
  tile.copy %x[%i0, %c0] dims [0, 1] to %first copy(cp_async) : !v, !slot
  tile.copy_commit
  scf.for %k = %c0 to %c4 step %c1 iter_args(%stage = %c0) -> (index) {
    %a = arith.muli %k, %c32 : index
    %i = arith.addi %i0, %a : index
    %n = arith.addi %i, %c32 : index
    %other = arith.subi %c1, %stage : index
    %sn = tile.slot_at %r[%other] : !ring -> !slot
    tile.copy %x[%n, %c0] dims [0, 1] to %sn copy(cp_async) : !v, !slot // copy
    tile.copy_commit
    tile.copy_wait 1 // wait
    tile.barrier // before
    %s = tile.slot_at %r[%stage] : !ring -> !slot // slot
    %v = tile.read %s : !slot -> !t // read
    tile.barrier // after
    tile.store %v, %y[%i, %c0] dims [0, 1] : !t, !v
    scf.yield %other : index
  }
  tile.copy_wait 0
  tile.return
})";

/// kRingProduct by number, twice: the second product overwrites the operand of
/// the first.
const char *const kLoweredProduct = R"(
tile.func @f(%x: !v, %w: !v, %y: !v, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.warps = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %i = arith.muli %t, %c32 : index
  %r = tile.ring : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>>
  %s = tile.slot_at %r[%c0] : !tile.ring<1 x 16x16xf32, #tile.swizzle<64>> -> !tile.slot<16x16xf32, #tile.swizzle<64>>
  %wv = tile.load %w[%c0, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
  tile.write %wv, %s : tensor<16x16xf32>, !tile.slot<16x16xf32, #tile.swizzle<64>>
  tile.fence_async
  tile.barrier // before
  %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
  %p = tile.dot_start %a, %s, %zero : !t, !tile.slot<16x16xf32, #tile.swizzle<64>>, !t -> !tile.pending<tensor<32x16xf32>>
  %o = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t // await
  tile.barrier // after
  tile.write %wv, %s : tensor<16x16xf32>, !tile.slot<16x16xf32, #tile.swizzle<64>> // overwrite
  tile.barrier
  %o2 = tile.dot %a, %s, %o : !t, !tile.slot<16x16xf32, #tile.swizzle<64>>, !t
  tile.store %o2, %y[%i, %c0] dims [0, 1] : !t, !v
  tile.return
})";

/// y = x by way of a workspace, after the kernel before has ended.
const char *const kDependentCopy = R"(
tile.func @f(%x: !v {tile.name = "x"}, %y: !v {tile.name = "y", tile.output, tile.workspace = [["x", 0], 16]}, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 32)> sizes [0, 0] attributes {tile.dependent} {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %i = arith.muli %t, %c32 : index
  %v = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
  tile.kernel_wait // kernel
  %w = tile.load %y[%i, %c0] dims [0, 1] : !v -> !t // workspace
  tile.store %v, %y[%i, %c0] dims [0, 1] : !t, !v // store
  tile.return
})";

Sample sampleFor(const char *program) {
  constexpr size_t kRows = 200;
  Floats x = valuesOf(kRows * 16, 1), w = valuesOf(16 * 16, 2);
  if (program == kRingCopy || program == kLoweredCopy || program == kDependentCopy)
    return {{x}, x};
  return {{x, w}, productOf(x, w, program == kRingProduct ? 1 : 2)};
}

class RightProgram : public testing::TestWithParam<const char *> {};

TEST_P(RightProgram, PassesForEverySeed) {
  Sample sample = sampleFor(GetParam());
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Outcome outcome =
        interpret(std::string(kHead) + GetParam(), sample.inputs, sample.expected.size(), seed);
    ASSERT_TRUE(outcome.ran) << outcome.message;
    EXPECT_TRUE(near(outcome.y, sample.expected)) << seed;
  }
}

std::string nameOfProgram(const testing::TestParamInfo<const char *> &info) {
  const char *const names[] = {"RingCopy", "RingProduct", "LoweredCopy", "LoweredProduct",
                               "DependentCopy"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RightProgram,
                         testing::Values(kRingCopy, kRingProduct, kLoweredCopy, kLoweredProduct,
                                         kDependentCopy),
                         nameOfProgram);

class PlantedFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedFault, IsCaught) { expectCaught(GetParam(), kHead, sampleFor(GetParam().program)); }

const Case kFaults[] = {
    // Rings.
    {"EarlyRelease",
     kRingCopy,
     {{"// read", "tile.release %s : !slot"}, {"// release", "%v = tile.read %s : !slot -> !t"}},
     "reads after its slot was released",
     "tile.read"},
    {"MissingRelease",
     kRingCopy,
     {{"// release", ""}},
     "waits for ever: every slot of the ring is in use",
     "tile.put"},
    {"SecondRelease",
     kRingCopy,
     {{"// release", "tile.release %s : !slot\ntile.release %s : !slot // second"}},
     "comes after its slot was released",
     "// second"},
    {"MissingPut",
     kRingCopy,
     {{"// put", ""}},
     "waits for ever: nothing was put that was not got",
     "tile.get"},
    {"NotEmptied",
     kRingCopy,
     {{"%last = tile.get", ""}, {"%last : !slot", ""}},
     "was put and not got in the end",
     "tile.ring"},
    {"NotReleased",
     kRingCopy,
     {{"%last : !slot", ""}},
     "was got and not released in the end",
     "tile.ring"},
    {"NextSlot", // the loop reads the tile after its own
     kRingCopy,
     {{"tile.put %r, %x[%i0", "%ca = arith.addi %i0, %c32 : index\ntile.put %r, %x[%ca, %c0] dims "
                              "[0, 1] copy(cp_async) : !ring, !v"}},
     nullptr,
     nullptr},
    {"LateAwait",
     kRingProduct,
     {{"// await", "tile.release %s : !tile.slot<16x16xf32, #tile.swizzle<64>> // early"},
      {"// release", "%o = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t"}},
     "releases a slot that a product still reads",
     "// early"},
    {"MissingAwait",
     kRingProduct,
     {{"// await", ""},
      {"// release", ""},
      {"// store", "tile.store %zero, %y[%i, %c0] dims [0, 1] : !t, !v"}},
     "starts a product that nothing awaits",
     "// start"},
    // Slots by number.
    {"MissingWait", kLoweredCopy, {{"// wait", ""}}, "is still writing", "// read"},
    {"WrongWaitCount",
     kLoweredCopy,
     {{"// wait", "tile.copy_wait 2"}},
     "is still writing",
     "// read"},
    {"WaitAfterBarrier",
     kLoweredCopy,
     {{"// wait", "tile.barrier"}, {"// before", "tile.copy_wait 1"}},
     "wrote, with no barrier between",
     "// read"},
    {"MissingBarrierBeforeRead",
     kLoweredCopy,
     {{"// before", ""}},
     "wrote, with no barrier between",
     "// read"},
    {"MissingBarrierBeforeOverwrite",
     kLoweredCopy,
     {{"// after", ""}},
     "may still read, with no barrier between",
     "// copy"},
    {"SwappedStage",
     kLoweredCopy,
     {{"// slot", "%s = tile.slot_at %r[%other] : !ring -> !slot"}},
     "is still writing",
     "// read"},
    {"StageOutOfRange",
     kLoweredCopy,
     {{"// slot", "%s = tile.slot_at %r[%c4] : !ring -> !slot"}},
     "asks for slot 4 of a ring of 2",
     "slot_at"},
    {"MissingWaitInTheEnd",
     kLoweredCopy,
     {{"copy_wait 0", ""}},
     "starts a copy that nothing waits for",
     "// copy"},
    {"SameStage", // what was read is never replaced
     kLoweredCopy,
     {{"// copy", "tile.copy %x[%i0, %c0] dims [0, 1] to %sn copy(cp_async) : !v, !slot"}},
     nullptr,
     nullptr},
    {"BarrierInOneArm",
     kLoweredCopy,
     {{"// after", "%odd = arith.cmpi eq, %k, %c1 : index\nscf.if %odd { tile.barrier }"}},
     "may still read, with no barrier between",
     "// copy"},
    {"LateAwaitOverwritten",
     kLoweredProduct,
     {{"// await", ""},
      {"// overwrite", "tile.write %wv, %s : tensor<16x16xf32>, !tile.slot<16x16xf32, "
                       "#tile.swizzle<64>>\n%o = "
                       "tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t"}},
     "still reads; await it first",
     "tile.write"},
    {"MissingBarrierAfterWrite",
     kLoweredProduct,
     {{"// before", ""}},
     "wrote, with no barrier between",
     "tile.dot_start"},
    {"MissingBarrierAfterProduct",
     kLoweredProduct,
     {{"// after", ""}},
     "may still read, with no barrier between",
     "// overwrite"},
    {"StoreBeforeTheKernelBeforeEnds",
     kDependentCopy,
     {{"// kernel", ""}, {"// workspace", ""}},
     "expected after tile.kernel_wait",
     "// store"},
    {"LoadBeforeTheKernelBeforeEnds",
     kDependentCopy,
     {{"// kernel", ""}},
     "expected after tile.kernel_wait",
     "// workspace"},
};

INSTANTIATE_TEST_SUITE_P(Interpreter, PlantedFault, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
