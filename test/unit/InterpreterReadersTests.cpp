//===- InterpreterReadersTests.cpp - faults with readers and writers of rings -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As in InterpreterRolesTests.cpp, for a ring that the warps of a role fill and that another role
// reads twice, and for one that they fill for themselves.
//
//===----------------------------------------------------------------------===//

#include "RingPrograms.h"

using namespace fa_test;

namespace {

const char *const kHead = FA_RING_TYPES R"(
!pending = !tile.pending<tensor<32x16xf32>>
)" FA_RING_FUNC R"(
  %r = tile.ring readers(2) : !ring // ring
)";

/// y = 2 x * the sum of the 5 tiles of w, which one role copies and the other reads twice.
const char *const kReaders = R"(
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %k = %c0 to %c5 step %c1 {
        %j = arith.muli %k, %c16 : index
        tile.put %r, %w[%j, %c0] dims [0, 1] copy(ld_st) : !ring, !v // put
      }
    }
    tile.role "compute" warps(8) registers(0) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %o = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero) -> (!t) {
        %s = tile.get %r : !ring -> !slot // get
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !pending // start
        %n = tile.await %p : !pending -> !t
        tile.release %s : !slot // release
        %s1 = tile.get %r reader(1) : !ring -> !slot // second get
        %p1 = tile.dot_start %a, %s1, %n : !t, !slot, !t -> !pending // second start
        %n1 = tile.await %p1 : !pending -> !t // second await
        tile.release %s1 : !slot // second release
        scf.yield %n1 : !t // yield
      }
      tile.store %o, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

/// kReaders by number.
const char *const kLowered = R"(
  %full = tile.barriers arrivals(4) : !bars // full
  %empty = tile.barriers arrivals(16) : !bars // empty
  tile.roles {
    tile.role "load" warps(4) registers(0) {
      scf.for %k = %c0 to %c5 step %c1 iter_args(%stage = %c0, %parity = %true) -> (index, i1) {
        %j = arith.muli %k, %c16 : index
)" FA_COUNT_SLOTS R"(
        tile.barrier_wait %empty[%stage], %parity : !bars // before the put
        %s = tile.slot_at %r[%stage] : !ring -> !slot
        tile.copy %w[%j, %c0] dims [0, 1] to %s copy(ld_st) : !v, !slot // copy
        tile.fence_async // fence
        tile.barrier_arrive %full[%stage] : !bars // filled
        scf.yield %next, %flipped : index, i1
      }
    }
    tile.role "compute" warps(8) registers(0) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %o:3 = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero, %stage = %c0, %parity = %false) -> (!t, index, i1) {
)" FA_COUNT_SLOTS R"(
        tile.barrier_wait %full[%stage], %parity : !bars // get
        %s = tile.slot_at %r[%stage] : !ring -> !slot
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !pending // start
        %n = tile.await %p : !pending -> !t
        tile.barrier_arrive %empty[%stage] : !bars // release
        %p1 = tile.dot_start %a, %s, %n : !t, !slot, !t -> !pending // second start
        %n1 = tile.await %p1 : !pending -> !t
        tile.barrier_arrive %empty[%stage] reader(1) : !bars // second release
        scf.yield %n1, %next, %flipped : !t, index, i1
      }
      tile.store %o#0, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

/// kLowered, with copies by cp.async, which the warps of the role wait for before they arrive.
const std::string kCopied =
    replaceLine(kLowered, "// copy",
                "tile.copy %w[%j, %c0] dims [0, 1] to %s copy(cp_async) : !v, !slot // copy\n"
                "tile.copy_commit\n"
                "tile.copy_wait 0 // wait");

class RightReaders : public testing::TestWithParam<const char *> {};

TEST_P(RightReaders, PassForEverySeed) {
  expectRight(std::string(kHead) + GetParam(), makeRingSample(2));
}

std::string nameOfReaders(const testing::TestParamInfo<const char *> &info) {
  const char *const names[] = {"Rings", "Lowered", "Copied"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RightReaders,
                         testing::Values(kReaders, kLowered, kCopied.c_str()), nameOfReaders);

class PlantedReadersFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedReadersFault, IsCaught) { expectCaught(GetParam(), kHead, makeRingSample(2)); }

const Case kFaults[] = {
    {"ForgottenReader",
     kReaders,
     {{"// second get", ""},
      {"// second start", ""},
      {"// second await", ""},
      {"// second release", ""},
      {"// yield", "scf.yield %n : !t"}},
     "waits for ever: every slot of the ring is in use; the next one was got by 8 and released by "
     "8 of 9 warps",
     "// put"},
    {"ReaderThatKeepsItsSlots",
     kReaders,
     {{"// second release", ""}},
     "got by 16 and released by 8 of 16 warps",
     "// put"},
    {"SlotOfAnotherReader",
     kReaders,
     {{"// second release", "tile.release %s : !slot // wrong"}},
     "after its slot was released",
     "// wrong"},
    {"LoweredForgottenReader",
     kLowered,
     {{"// second release", ""}},
     "which has 8 of 16 arrivals",
     "// before the put"},
    {"LoweredReaderNotCounted",
     kLowered,
     {{"// empty", "%empty = tile.barriers arrivals(8) : !bars"}, {"// second release", ""}},
     "read",
     "// copy"},
    {"ReaderThatArrivesTwice",
     kLowered,
     {{"// second release", "tile.barrier_arrive %empty[%stage] : !bars // twice"}},
     "arrives twice in one phase",
     "// twice"},
    {"WriterWithNoFence",
     kLowered,
     {{"// fence", ""}},
     "wrote, with no tile.fence_async before the barrier between",
     "// start"},
    {"FenceAfterTheArrival",
     kLowered,
     {{"// fence", ""},
      {"// filled", "tile.barrier_arrive %full[%stage] : !bars\ntile.fence_async"}},
     "wrote, with no tile.fence_async before the barrier between",
     "// start"},
    {"WriterNotWaitedFor",
     kLowered,
     {{"// full", "%full = tile.barriers arrivals(3) : !bars"}},
     "read",
     "// start"},
    {"WriterThatDoesNotWaitForItsCopies", kCopied.c_str(), {{"// wait", ""}}, "read", "// start"},
    {"WriterThatWaitsForTheCopyBefore",
     kCopied.c_str(),
     {{"// wait", "tile.copy_wait 1"}},
     "read",
     "// start"},
    {"CopiesWithNoFence",
     kCopied.c_str(),
     {{"// fence", ""}},
     "wrote, with no tile.fence_async before the barrier between",
     "// start"},
    {"WriterThatDoesNotWait", kLowered, {{"// before the put", ""}}, "overwrites what", "// copy"},
};

INSTANTIATE_TEST_SUITE_P(Interpreter, PlantedReadersFault, testing::ValuesIn(kFaults),
                         [](const auto &info) { return std::string(info.param.name); });

//===----------------------------------------------------------------------===//
// A ring that the warps of a role fill for themselves
//===----------------------------------------------------------------------===//

const std::string kOwnHead = replaceLine(kHead, "// ring", "  %r = tile.ring : !ring");

/// y = x * the sum of the 5 tiles of w, of each of which the warps of a role put their part.
const char *const kExchange = R"(
  tile.roles {
    tile.role "load" warps(4) registers(0) {
    }
    tile.role "compute" warps(8) registers(0) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %o = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero) -> (!t) {
        %j = arith.muli %k, %c16 : index
        %b = tile.load %w[%j, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
        tile.put_value %r, %b : !ring, tensor<16x16xf32>
        %s = tile.get %r : !ring -> !slot
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !pending
        %n = tile.await %p : !pending -> !t // await
        tile.release %s : !slot // release
        scf.yield %n : !t
      }
      tile.store %o, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

/// kExchange by number: all warps meet once a step, so that nothing says that a slot is empty.
const char *const kLoweredExchange = R"(
  %full = tile.barriers arrivals(8) : !bars // full
  tile.roles {
    tile.role "load" warps(4) registers(0) {
    }
    tile.role "compute" warps(8) registers(0) {
      %i = arith.muli %t, %c32 : index
      %zero = arith.constant dense<0.0> : !t
      %a = tile.load %x[%i, %c0] dims [0, 1] : !v -> !t
      %o:3 = scf.for %k = %c0 to %c5 step %c1 iter_args(%acc = %zero, %stage = %c0, %parity = %false) -> (!t, index, i1) {
)" FA_COUNT_SLOTS R"(
        %j = arith.muli %k, %c16 : index
        %b = tile.load %w[%j, %c0] dims [0, 1] : !v -> tensor<16x16xf32>
        %s = tile.slot_at %r[%stage] : !ring -> !slot // slot
        tile.write %b, %s : tensor<16x16xf32>, !slot // write
        tile.fence_async // fence
        tile.barrier_arrive %full[%stage] : !bars // arrive
        tile.barrier_wait %full[%stage], %parity : !bars // meet
        %p = tile.dot_start %a, %s, %acc : !t, !slot, !t -> !pending // start
        %n = tile.await %p : !pending -> !t // await
        scf.yield %n, %next, %flipped : !t, index, i1
      }
      tile.store %o#0, %y[%i, %c0] dims [0, 1] : !t, !v
    }
  }
  tile.return
})";

class RightExchange : public testing::TestWithParam<const char *> {};

TEST_P(RightExchange, PassesForEverySeed) { expectRight(kOwnHead + GetParam(), makeRingSample(1)); }

std::string nameOfExchange(const testing::TestParamInfo<const char *> &info) {
  const char *const names[] = {"Rings", "Lowered"};
  return names[info.index];
}

INSTANTIATE_TEST_SUITE_P(Interpreter, RightExchange, testing::Values(kExchange, kLoweredExchange),
                         nameOfExchange);

class PlantedExchangeFault : public testing::TestWithParam<Case> {};

TEST_P(PlantedExchangeFault, IsCaught) { expectCaught(GetParam(), kOwnHead, makeRingSample(1)); }

const Case kExchangeFaults[] = {
    {"NoMeeting",
     kLoweredExchange,
     {{"// meet", ""}},
     "wrote, with no barrier between",
     "// start"},
    {"NoFence",
     kLoweredExchange,
     {{"// fence", ""}},
     "wrote, with no tile.fence_async before the barrier between",
     "// start"},
    {"FenceAfterTheArrival",
     kLoweredExchange,
     {{"// fence", ""},
      {"// arrive", "tile.barrier_arrive %full[%stage] : !bars\ntile.fence_async"}},
     "wrote, with no tile.fence_async before the barrier between",
     "// start"},
    {"ArrivesBeforeItWrites",
     kLoweredExchange,
     {{"// arrive", ""},
      {"// write",
       "tile.barrier_arrive %full[%stage] : !bars\ntile.write %b, %s : tensor<16x16xf32>, !slot"}},
     "wrote, with no barrier between",
     "// start"},
    {"OneSlot",
     kLoweredExchange,
     {{"// slot", "%s = tile.slot_at %r[%c0] : !ring -> !slot"}},
     "overwrites what",
     "// write"},
    {"NotAllMeet",
     kLoweredExchange,
     {{"// full", "%full = tile.barriers arrivals(4) : !bars"}},
     "reads shared memory that nothing has written",
     "// start"},
    {"ReleasedBeforeTheAwait",
     kExchange,
     {{"// release", ""},
      {"// await", "tile.release %s : !slot // early\n%n = tile.await %p : !pending -> !t"}},
     "releases a slot that a product still reads",
     "// early"},
};

INSTANTIATE_TEST_SUITE_P(Interpreter, PlantedExchangeFault, testing::ValuesIn(kExchangeFaults),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
