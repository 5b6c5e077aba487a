//===- AgentCounts.cpp - numbers that blocks take -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks are run one after the other, so counts would look right that are so only
// then. Therefore which blocks have opened a count, and how many numbers were taken
// of it, is kept beside its word in memory.
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

uint64_t Agent::wordOf(Value count) const {
  const Memory &memory = *get(count).memory;
  SmallVector<int64_t, 4> first(memory.sizes.size(), 0);
  return loadElement(memory, first, cast<tile::ViewType>(count.getType()).getElementType()).i;
}

void Agent::setWord(Value count, uint64_t word) {
  const Memory &memory = *get(count).memory;
  SmallVector<int64_t, 4> first(memory.sizes.size(), 0);
  RegionValue value{word};
  storeTile(memory, first, {}, {}, cast<tile::ViewType>(count.getType()).getElementType(),
            Elements{value}, {});
}

void Agent::openCount(tile::SchedulerResetOp op) {
  uint64_t first = integer(op.getFirst()), found = integer(op.getFound());
  uint64_t total = truncate(integer(op.getTotal()), 32);
  if (found - first >= total && wordOf(op.getView()) == found)
    setWord(op.getView(), first);
  const std::byte *word = get(op.getView()).memory->data;
  workTile.opened.insert(word);
  workTile.program.counts.insert({word, Count{op, total}});
}

FailureOr<uint64_t> Agent::takeNumber(tile::SchedulerNextOp op) {
  const std::byte *address = get(op.getView()).memory->data;
  if (!workTile.opened.contains(address))
    return fail(op, "takes a number of a count that the block has not opened");
  Count &count = workTile.program.counts.find(address)->second;
  if (count.taken == count.total)
    return fail(op, "takes more numbers than the total with which the count was opened, " +
                        Twine(count.total));
  uint64_t word = wordOf(op.getView()), number = word - integer(op.getFirst());
  // What no order of blocks gives: somebody wrote the word, or opened the count again.
  if (number != count.taken)
    return fail(op, "takes number " + Twine(number) + " of a count of which " + Twine(count.taken) +
                        " were taken");
  ++count.taken;
  setWord(op.getView(), word + 1);
  return number;
}

/// Done once for the role, by its first warp to come there; the others find the same.
LogicalResult Agent::executeCount(Operation *op) {
  std::vector<uint64_t> &found = workTile.found[op];
  size_t &mine = numFound[op];
  if (mine == found.size()) {
    FailureOr<uint64_t> result =
        llvm::TypeSwitch<Operation *, FailureOr<uint64_t>>(op)
            .Case([&](tile::SchedulerPeekOp op) { return wordOf(op.getView()); })
            .Case([&](tile::SchedulerResetOp op) {
              openCount(op);
              return uint64_t(0);
            })
            .Case([&](tile::SchedulerNextOp op) { return takeNumber(op); });
    if (failed(result))
      return failure();
    found.push_back(*result);
  }
  Datum datum;
  datum.scalar.i = found[mine++];
  if (op->getNumResults())
    set(op->getResult(0), datum);
  return success();
}

LogicalResult interpreter::checkCounts(const Program &program, uint64_t seed) {
  for (auto &[address, count] : program.counts)
    if (count.taken != count.total)
      return count.opened->emitOpError()
             << "opens a count of " << count.total << " numbers, of which " << count.taken
             << " were taken: a launch of the same tag would go on with it (seed " << seed << ")";
  return success();
}
