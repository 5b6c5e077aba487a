//===- InterpreterRolesTests.cpp - faults in programs with roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in InterpreterTests.cpp, faults are planted into right programs: one with
// rings and turns, and what becomes of it.
//
//===----------------------------------------------------------------------===//

#include "RingPrograms.h"

using namespace fa_test;

namespace {

const char *const kHead = FA_RING_TYPES R"(
#rows = #tile.frag<reg = [(2, 0, 1), (2, 8, 0), (2, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(8, 16, 0)]>
!rows = tensor<128x16xf32, #rows>
!outs = !tile.ring<1 x 128x16xf32, #tile.swizzle<64>>
!out = !tile.slot<128x16xf32, #tile.swizzle<64>>
)" FA_RING_FUNC R"(
  %r = tile.ring : !ring
)";

/// y = x * the sum of the 5 tiles of w, which one role loads. The warpgroups of
/// the other take turns.
const char *const kRoles = R"(
  %turn = tile.pingpong : !tile.pingpong<2>
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %k = %c0 to %c5 step %c1 { // puts
        %j = arith.muli %k, %c16 : index
        tile.put %r, %w[%j, %c0] dims [0, 1] copy(tma) : !ring, !v // put
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %o = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero) -> (!t) {
        // before the get
        %s = tile.get %r : !ring -> !slot // get
        tile.pingpong_wait %turn : !tile.pingpong<2> // take
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !tile.pending<tensor<32x16xf32>> // start
        tile.pingpong_arrive %turn : !tile.pingpong<2> // pass
        %n = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t // await
        tile.release %s : !slot // release
        scf.yield %n : !t // yield
      }
      tile.store %o, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

/// kRoles by number.
const char *const kLoweredRoles = R"(
  %full = tile.barriers arrivals(1) : !bars // full
  %empty = tile.barriers arrivals(8) : !bars // empty
  tile.roles {
    tile.role "load" warps(4) registers(24) {
      scf.for %k = %c0 to %c5 step %c1 iter_args(%stage = %c0, %parity = %true) -> (index, i1) { // puts
        %j = arith.muli %k, %c16 : index
)" FA_COUNT_SLOTS R"(
        tile.barrier_wait %empty[%stage], %parity : !bars // before the put
        tile.barrier_expect %full[%stage] bytes(1024) : !bars // expect
        %s = tile.slot_at %r[%stage] : !ring -> !slot
        tile.copy %w[%j, %c0] dims [0, 1] to %s copy(tma) signal %full[%stage] : !v, !slot, !bars // copy
        scf.yield %next, %flipped : index, i1
      }
    }
    tile.role "compute" warps(8) registers(240) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %group = tile.warpgroup : index
      %first = arith.cmpi eq, %group, %c0 : index
      scf.if %first {
      } else {
        tile.named_arrive id(1) threads(256) // begin
      }
      %o:3 = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero, %stage = %c0, %parity = %false) -> (!t, index, i1) { // loop
)" FA_COUNT_SLOTS R"(
        tile.barrier_wait %full[%stage], %parity : !bars // get
        %s = tile.slot_at %r[%stage] : !ring -> !slot // slot
        scf.if %first {
          tile.named_wait id(1) threads(256) // take 1
        } else {
          tile.named_wait id(2) threads(256) // take 2
        }
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !tile.pending<tensor<32x16xf32>> // start
        scf.if %first {
          tile.named_arrive id(2) threads(256) // pass 1
        } else {
          tile.named_arrive id(1) threads(256) // pass 2
        }
        %n = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t // await
        tile.barrier_arrive %empty[%stage] : !bars // release
        scf.yield %n, %next, %flipped : !t, index, i1 // yield
      }
      tile.store %o#0, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

/// y = x, by way of shared memory, of which each warpgroup hands its rows to the
/// TMA.
const char *const kBulkStore = R"(
  %z = tile.ring : !outs
  tile.roles {
    tile.role "load" warps(4) registers(24) {
    }
    tile.role "compute" warps(8) registers(240) {
      %c128 = arith.constant 128 : index
      %c256 = arith.constant 256 : index
      %i0 = arith.muli %t, %c256 : index
      %i1 = arith.addi %i0, %c256 : index
      %group = tile.warpgroup : index
      %first = arith.cmpi eq, %group, %c0 : index
      scf.for %i = %i0 to %i1 step %c128 {
        %v = tile.load %x[%i, %c0] dims [0, 1] : !v -> !rows
        tile.copy_out_wait // wait
        scf.if %first {
          tile.named_wait id(1) threads(128) // join
        } else {
          tile.named_wait id(2) threads(128)
        }
        %s = tile.slot_at %z[%c0] : !outs -> !out
        tile.write %v, %s : !rows, !out // write
        tile.fence_async // fence
        scf.if %first {
          tile.named_wait id(1) threads(128) // hand
        } else {
          tile.named_wait id(2) threads(128)
        }
        tile.bulk_store %s to %y[%i, %c0] dims [0, 1] rows(64) : !out, !v // out
      }
      tile.copy_out_wait // end
    }
  }
  tile.return
})";

Sample makeSample(const char *program) {
  if (program == kBulkStore) {
    Floats x = valuesOf(200 * 16, 3);
    return {{x, x}, x};
  }
  return makeRingSample(1);
}

class RightRoles : public testing::TestWithParam<const char *> {};

TEST_P(RightRoles, PassForEverySeed) {
  expectRight(std::string(kHead) + GetParam(), makeSample(GetParam()));
}

std::string nameOfProgram(const testing::TestParamInfo<const char *> &info) {
  const char *const names[] = {"Roles", "Lowered", "BulkStore"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RightRoles,
                         testing::Values(kRoles, kLoweredRoles, kBulkStore), nameOfProgram);

TEST(InterpreterRoles, TMACopiesSlices) {
  std::string text = kLoweredRoles, copy = "tile.copy %w[%j, %c0]";
  text.replace(text.find(copy), copy.size(),
               "%part = tile.slice %w dim 0 from %j size %c16 : !v -> !v\n"
               "tile.copy %part[%c0, %c0]");
  expectRight(kHead + text, makeSample(kLoweredRoles));
}

/// kLoweredRoles whose role loads 4 elements of a row as a vector, too, which nobody reads.
#define FULL_AND_VECTORS                                                                           \
  "%full = tile.barriers arrivals(1) : !bars\n"                                                    \
  "%vectors = tile.ring : !tile.ring<2 x 4xf32, #tile.swizzle<64>>"
#define EXPECT_VECTOR "tile.barrier_expect %full[%stage] bytes(1040) : !bars"
#define COPY_VECTOR(at)                                                                            \
  "tile.copy %w[%j, %c0] dims [0, 1] to %s copy(tma) signal %full[%stage] : !v, !slot, !bars\n"    \
  "%c4 = arith.constant 4 : index\n"                                                               \
  "%vector = tile.slot_at %vectors[%stage] : !tile.ring<2 x 4xf32, #tile.swizzle<64>> -> "         \
  "!tile.slot<4xf32, #tile.swizzle<64>>\n"                                                         \
  "tile.copy %w[%j, " at "] dims [1] to %vector copy(tma) signal %full[%stage] : !v, "             \
  "!tile.slot<4xf32, #tile.swizzle<64>>, !bars // vector"

TEST(InterpreterRoles, TMACopiesVectors) {
  std::string text = replaceLine(kLoweredRoles, "// full", FULL_AND_VECTORS);
  text = replaceLine(replaceLine(text, "// expect", EXPECT_VECTOR), "// copy", COPY_VECTOR("%c4"));
  expectRight(kHead + text, makeSample(kLoweredRoles));
}

class PlantedRolesFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedRolesFault, IsCaught) {
  expectCaught(GetParam(), kHead, makeSample(GetParam().program));
}

#define AWAIT "%n = tile.await %p : !tile.pending<tensor<32x16xf32>> -> !t"

const Case kFaults[] = {
    // Rings and turns.
    {"MissingAwait",
     kRoles,
     {{"// await", ""}, {"// yield", "scf.yield %acc : !t"}},
     "releases a slot that a product still reads",
     "// release"},
    {"LateAwait",
     kRoles,
     {{"// await", "tile.release %s : !slot // early"}, {"// release", AWAIT}},
     "releases a slot that a product still reads",
     "// early"},
    {"EarlyRelease",
     kRoles,
     {{"// take", "tile.release %s : !slot\ntile.pingpong_wait %turn : !tile.pingpong<2>"},
      {"// release", ""}},
     "reads after its slot was released",
     "// start"},
    {"MissingRelease",
     kRoles,
     {{"// release", ""}},
     "waits for ever: every slot of the ring is in use; the next one was got by 8 and released by "
     "0 of 8 warps",
     "// put"},
    {"ReleaseByOneWarpgroup",
     kRoles,
     {{"// release",
       "%g = tile.warpgroup : index\n%f = arith.cmpi eq, %g, %c0 : index\nscf.if %f {\n"
       "tile.release %s : !slot\n}"}},
     "got by 8 and released by 4 of 8 warps",
     "// put"},
    {"MissingPut",
     kRoles,
     {{"// puts", "scf.for %k = %c1 to %c5 step %c1 {"}},
     "waits for ever: nothing was put that was not got",
     "// get"},
    {"OnePutMore",
     kRoles,
     {{"// puts", "scf.for %k = %c0 to %c6 step %c1 {"}},
     "was put and not got in the end",
     "tile.ring"},
    {"MissingTurnPass",
     kRoles,
     {{"// pass", ""}},
     "takes a turn that this warp has already",
     "// take"},
    {"TurnNeverPassed",
     kRoles,
     {{"// take", ""},
      {"// pass", ""},
      {"tile.store %o", "tile.pingpong_wait %turn : !tile.pingpong<2> // keep"}},
     "takes a turn that is never passed on",
     "// keep"},
    {"TurnPassedByHalf",
     kRoles,
     {{"// pass", "%g = tile.warpgroup : index\n%f = arith.cmpi eq, %g, %c1 : index\nscf.if %f {\n"
                  "tile.pingpong_arrive %turn : !tile.pingpong<2>\n}"}},
     "takes a turn that this warp has already",
     "// take"},
    {"MissingTurnTake",
     kRoles,
     {{"// take", ""}},
     "passes on a turn that this warp has not taken",
     "// pass"},
    {"StoreToWhatIsPut",
     kRoles,
     {{"// before the get", "%kj = arith.muli %k, %c16 : index\n%zw = arith.constant dense<0.0> : "
                            "tensor<16x16xf32>\ntile.store %zw, %w[%kj, %c0] dims [0, 1] : "
                            "tensor<16x16xf32>, !v // race"}},
     "stores to what a copy may still read",
     "// race"},
    // By number.
    {"LoweredMissingAwait",
     kLoweredRoles,
     {{"// await", ""}, {"// yield", "scf.yield %acc, %next, %flipped : !t, index, i1"}},
     "still reads; await it first",
     "// copy"},
    {"LoweredLateAwait",
     kLoweredRoles,
     {{"// await", "tile.barrier_arrive %empty[%stage] : !bars"}, {"// release", AWAIT}},
     "still read",
     "// copy"},
    {"LoweredEarlyRelease",
     kLoweredRoles,
     {{"// slot", "%s = tile.slot_at %r[%stage] : !ring -> !slot\n"
                  "tile.barrier_arrive %empty[%stage] : !bars"},
      {"// release", ""}},
     "still read",
     "// copy"},
    {"MissingArrival",
     kLoweredRoles,
     {{"// release", ""}},
     "waits for ever for phase 0 of barrier 2 in shared memory, which has 0 of 8 arrivals",
     "// before the put"},
    {"SecondArrival",
     kLoweredRoles,
     {{"// release", "tile.barrier_arrive %empty[%stage] : !bars\n"
                     "tile.barrier_arrive %empty[%stage] : !bars // second"}},
     "arrives twice in one phase",
     "// second"},
    {"OneArrivalFewerCounted",
     kLoweredRoles,
     {{"// empty", "%empty = tile.barriers arrivals(7) : !bars"}},
     "may still read, with no barrier between",
     "// copy"},
    {"OneArrivalMoreCounted",
     kLoweredRoles,
     {{"// empty", "%empty = tile.barriers arrivals(9) : !bars"}},
     "has 8 of 9 arrivals",
     "// before the put"},
    {"FullCountsTwoArrivals",
     kLoweredRoles,
     {{"// full", "%full = tile.barriers arrivals(2) : !bars"}},
     "waits for ever for phase 0 of barrier",
     "// before the put"},
    {"FewerBytesExpected",
     kLoweredRoles,
     {{"// expect", "tile.barrier_expect %full[%stage] bytes(512) : !bars"}},
     "brings 512 bytes more than its barrier expects",
     "// copy"},
    {"MoreBytesExpected",
     kLoweredRoles,
     {{"// expect", "tile.barrier_expect %full[%stage] bytes(2048) : !bars"}},
     "waits for ever",
     "// before the put"},
    {"CopyBeforeSlice",
     kLoweredRoles,
     {{"// copy", "%part = tile.slice %w dim 0 from %c16 size %c32 : !v -> !v\n"
                  "%early = arith.subi %j, %c16 : index\n"
                  "tile.copy %part[%early, %c0] dims [0, 1] to %s copy(tma) signal %full[%stage] : "
                  "!v, !slot, !bars // early"}},
     "begins at -16 of a slice along dimension 0, of which the TMA copies nothing before its "
     "beginning",
     "// early"},
    {"CopyOverFrontSlice",
     kLoweredRoles,
     {{"// copy", "%c12 = arith.constant 12 : index\n"
                  "%part = tile.slice %w dim 0 from %c16 size %c12 front : !v -> !v\n"
                  "%early = arith.subi %j, %c1 : index\n"
                  "tile.copy %part[%early, %c0] dims [0, 1] to %s copy(tma) signal %full[%stage] : "
                  "!v, !slot, !bars // early"}},
     "begins at -1 of a slice along dimension 0 and ends at 15, behind its 12: the TMA clips it at "
     "one end only",
     "// early"},
    {"VectorWithin16Bytes",
     kLoweredRoles,
     {{"// full", FULL_AND_VECTORS}, {"// expect", EXPECT_VECTOR}, {"// copy", COPY_VECTOR("%c1")}},
     "begins at element 1 of a row, and the TMA loads vectors at multiples of 16 bytes",
     "// vector"},
    {"MissingExpect", kLoweredRoles, {{"// expect", ""}}, "waits for ever", "// before the put"},
    {"MissingCopy", kLoweredRoles, {{"// copy", ""}}, "waits for ever", "// before the put"},
    {"LoweredOnePutMore",
     kLoweredRoles,
     {{"// puts", "scf.for %k = %c0 to %c6 step %c1 iter_args(%stage = %c0, %parity = %true) -> "
                  "(index, i1) {"}},
     "starts a copy that nothing waits for",
     "// copy"},
    {"LoweredSwappedStage",
     kLoweredRoles,
     {{"// slot", "%s = tile.slot_at %r[%next] : !ring -> !slot"}},
     "reads",
     "// start"},
    {"SwappedStageOfCopy",
     kLoweredRoles,
     {{"%s = tile.slot_at %r[%stage] : !ring -> !slot\n",
       "%s = tile.slot_at %r[%next] : !ring -> !slot"}},
     "reads",
     "// start"},
    {"MissingWaitForFull", kLoweredRoles, {{"// get", ""}}, "reads", "// start"},
    {"MissingWaitForEmpty",
     kLoweredRoles,
     {{"// before the put", ""}},
     "overwrites what",
     "// copy"},
    {"WrongParityOfGets",
     kLoweredRoles,
     {{"// loop", "%o:3 = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero, %stage = %c0, "
                  "%parity = %true) -> (!t, index, i1) {"}},
     "reads",
     "// start"},
    {"WrongParityOfPuts",
     kLoweredRoles,
     {{"// puts", "scf.for %k = %c0 to %c5 step %c1 iter_args(%stage = %c0, %parity = %false) -> "
                  "(index, i1) {"}},
     "waits for ever for phase 0 of barrier 2",
     "// before the put"},
    {"ParityNeverFlipped",
     kLoweredRoles,
     {{"// before the put", "tile.barrier_wait %empty[%stage], %true : !bars"}},
     "overwrites what",
     "// copy"},
    {"BarrierOutOfRange",
     kLoweredRoles,
     {{"// release", "tile.barrier_arrive %empty[%c5] : !bars // far"}},
     "asks for barrier 5 of 2",
     "// far"},
    {"LoweredMissingPass",
     kLoweredRoles,
     {{"// pass 2", ""}},
     "waits for ever",
     "// before the put"},
    {"MissingFirstTurn", kLoweredRoles, {{"// begin", ""}}, "waits for ever", "// before the put"},
    {"PassToItself",
     kLoweredRoles,
     {{"// pass 1", "tile.named_arrive id(1) threads(256)"}},
     "comes twice to barrier 1",
     "tile.named"},
    {"FewerThreadsOfWait",
     kLoweredRoles,
     {{"// take 1", "tile.named_wait id(1) threads(128) // fewer"}},
     "counts 128 threads at barrier 1, where the first to come counted 256",
     "// fewer"},
    {"MoreThreads",
     kLoweredRoles,
     {{"// take 2", "tile.named_wait id(2) threads(384)"},
      {"// pass 1", "tile.named_arrive id(2) threads(384)"}},
     "waits for ever",
     "// before the put"},
    {"FewerThreads",
     kLoweredRoles,
     {{"// take 2", "tile.named_wait id(2) threads(128)"},
      {"// pass 1", "tile.named_arrive id(2) threads(128) // fewer"}},
     "completes barrier 2, at which nobody waits",
     "// fewer"},
    {"LoweredStoreToWhatIsCopied",
     kLoweredRoles,
     {{"// copy", "tile.copy %w[%j, %c0] dims [0, 1] to %s copy(tma) signal %full[%stage] : !v, "
                  "!slot, !bars\n%zw = arith.constant dense<0.0> : tensor<16x16xf32>\n"
                  "tile.store %zw, %w[%j, %c0] dims [0, 1] : tensor<16x16xf32>, !v // race"}},
     "stores to what a copy may still read",
     "// race"},
    // Copies out.
    {"BulkStoreBeforeWrites",
     kBulkStore,
     {{"// hand", ""}},
     "wrote, with no barrier between",
     "// out"},
    {"BulkStoreWithNoFence",
     kBulkStore,
     {{"// fence", ""}},
     "wrote, with no tile.fence_async before the barrier between",
     "// out"},
    {"WriteBeforeCopiedOut",
     kBulkStore,
     {{"// wait", ""}},
     "still reads; wait for it first",
     "// write"},
    {"WriteWithNoJoin", kBulkStore, {{"// join", ""}}, "read", "// write"},
    {"BulkStoreNotWaitedFor",
     kBulkStore,
     {{"// end", ""}},
     "starts a copy that nothing waits for",
     "// out"},
    {"BulkStoreOfOtherRows",
     kBulkStore,
     {{"// out", "tile.bulk_store %s to %y[%i, %c0] dims [0, 1] rows(32) : !out, !v // half"}},
     "copies 128 rows in boxes of 32, one by each warpgroup, but 8 warps run it",
     "// half"},
    {"BulkStorePartlyBefore",
     kBulkStore,
     {{"// out", "%early = arith.subi %i0, %c128 : index\n"
                 "%odd = arith.addi %early, %c1 : index\n"
                 "tile.bulk_store %s to %y[%odd, %c0] dims [0, 1] rows(64) : !out, !v // early"}},
     "begins at row -127, so a box of 64 rows is in part before the first one",
     "// early"},
};

INSTANTIATE_TEST_SUITE_P(Interpreter, PlantedRolesFault, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

/// Who waits for what is said of all.
TEST(InterpreterRoles, ReportsEveryWarpOfADeadlock) {
  Sample sample = makeSample(kLoweredRoles);
  std::string text = replaceLine(std::string(kHead) + kLoweredRoles, "// pass 2", "");
  Outcome outcome = interpret(text, sample.inputs, sample.expected.size(), 7);
  EXPECT_FALSE(outcome.ran);
  EXPECT_NE(outcome.notes.find("warps 4 to 7 wait here: 128 of 256 threads have come to barrier 1"),
            std::string::npos)
      << outcome.message << "\n"
      << outcome.notes;
}

} // namespace
