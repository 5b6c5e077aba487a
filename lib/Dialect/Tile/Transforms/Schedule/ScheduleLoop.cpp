//===- ScheduleLoop.cpp - the order of the ops of a loop -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stream is a ring that each iteration of a loop fills once, reads and
// empties. A get is where all warps meet; so a slot may be filled again after
// the first get that follows its release, its anchor. Per loop:
//
//   1. find the streams, in the order of their first readers (their gets);
//   2. for one slot: the anchor is the next get after the release, of a stream or else of a
//      computed tile that two products follow. In the same iteration, it is the next iteration that
//      is filled (distance 1); else it is the body's first get that fills this very iteration
//      (distance 0), if a product runs until the slot is read. Where there is no anchor, or no
//      product to hide the copy with, two slots by default;
//   3. n > 1 slots: the anchor is the body's first get, the distance n - 1. Where shared memory
//      holds one alone and there is no anchor, it is filled again right after its release, for
//      which all warps meet once more: beside products that stand there, or that nothing in the
//      body waits for, which then run after its last reader;
//   4. order: the first get, and with it those of streams of several slots, or filled after a
//      computed tile's, that are no other's anchor (one barrier serves all); after an anchor
//      its puts, the ones needed first in front; other ops as they stood; a
//      release after the last reader, and right after the last of those that
//      have a get for their anchor that get, so that slots are filled early;
//      other gets before their first reader;
//   5. what a put's indices need is copied to the stage of the put.
//
// Where a loop fills its rings in an arm of an if, the arm is scheduled like a
// body, but within one iteration.
//
// Steps 1 to 3 are in LoopStreams.cpp; loops of asynchronous products: ScheduleProducts.cpp.
//
// Requires: rings of tile-promote-shared. Leaves alone, with a remark: streams
// whose indices cannot be computed ahead are filled before their get, those
// whose source the program stores to where they stood; loops that fill rings
// further inside, or that yield an argument of their own.
//
//===----------------------------------------------------------------------===//

#include "LoopStreams.h"
#include "RoleMarks.h"
#include "ScheduleProducts.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESCHEDULELOOP
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// 4 and 5. Order
//===----------------------------------------------------------------------===//

namespace {

/// Numbers the ops of a body.
struct Numbering {
  Numbering(LoopBody &body) : body(body), builder(body.block.getParent()->getContext()) {
    for (auto &stream : body.streams)
      last = std::max(last, stream->distance);
  }
  void run();

private:
  void emit(Operation *op, int64_t stage) {
    op->setAttr(TileDialect::kStageAttr, builder.getI64IntegerAttr(stage));
    op->setAttr(TileDialect::kOrderAttr, builder.getI64IntegerAttr(next++));
  }
  void emitPut(Stream &stream);
  void emitGets(ArrayRef<Stream *> gets);
  /// Return whether the get may stand anywhere: its put, if with it, needs no op of the body.
  static bool mayMoveUp(const Stream &stream) {
    return stream.anchor || (!stream.stored && stream.slice.empty());
  }
  /// Return whether the only slot of another such stream is filled again after the get.
  bool isAnchor(const Stream &stream, function_ref<bool(const Stream &)> such) const {
    return llvm::any_of(body.streams, [&](auto &other) {
      return other.get() != &stream && other->anchor == &stream && other->stages == 1 &&
             such(*other);
    });
  }

  LoopBody &body;
  OpBuilder builder;
  int64_t last = 0, next = 0;
  llvm::SmallPtrSet<Stream *, 4> got;
};

} // namespace

/// Emit the put, and copies of what its indices need, in the put's stage.
void Numbering::emitPut(Stream &stream) {
  int64_t stage = last - stream.distance;
  if (stream.anchor && !stream.slice.empty()) {
    IRMapping mapping;
    builder.setInsertionPoint(stream.put);
    for (Operation *op : stream.slice)
      emit(builder.clone(*op, mapping), stage);
    for (OpOperand &operand : stream.put->getOpOperands())
      operand.set(mapping.lookupOrDefault(operand.get()));
  }
  emit(stream.put, stage);
}

/// Emit gets that one barrier serves, then what is filled after them.
void Numbering::emitGets(ArrayRef<Stream *> gets) {
  SmallVector<Stream *> puts;
  for (Stream *stream : gets)
    if (!stream->anchor)
      emitPut(*stream);
  for (Stream *stream : gets) {
    emit(stream->get, last);
    got.insert(stream);
    for (auto &other : body.streams)
      if (other->anchor == stream && (other.get() != stream || stream->stages > 1))
        puts.push_back(other.get());
  }
  llvm::sort(puts, [](Stream *a, Stream *b) {
    auto need = [](Stream *s) { return std::pair(s->distance, s->firstRead); };
    return need(a) != need(b) ? need(a) < need(b) : a->put->isBeforeInBlock(b->put);
  });
  for (Stream *stream : puts)
    emitPut(*stream);
}

void Numbering::run() {
  SmallVector<Stream *> early;
  for (auto &stream : body.streams) {
    bool first = stream == body.streams.front();
    if (stream->anchor && (first || ((stream->stages > 1 || stream->after) &&
                                     !isAnchor(*stream, [](auto &) { return true; }))))
      early.push_back(stream.get());
  }
  // A first get whose put is before it stays where its indices are known.
  if (!early.empty() && early.front() == body.streams.front().get())
    emitGets(early);
  for (auto [i, op] : llvm::enumerate(body.rest)) {
    int64_t at = i;
    SmallVector<Stream *> wanted;
    for (auto &stream : body.streams)
      if (!got.contains(stream.get()) && stream->firstRead <= at)
        wanted.push_back(stream.get());
    emitGets(wanted);
    emit(op, last);
    for (auto &stream : body.streams)
      if (stream->after == op)
        emitPut(*stream);
    SmallVector<Stream *> released;
    for (auto &stream : body.streams)
      if (stream->lastRead == at) {
        emit(stream->release, last);
        released.push_back(stream.get());
      }
    for (Stream *stream : released)
      if (stream->anchor == stream && stream->stages == 1 && !stream->after)
        emitPut(*stream);
    auto isStillRead = [&](const Stream &stream) {
      return stream.distance == 1 && stream.lastRead > at;
    };
    for (Stream *stream : released)
      if (stream->anchor && stream->distance == 1 && stream->stages == 1 &&
          !got.contains(stream->anchor) && mayMoveUp(*stream->anchor) &&
          !isAnchor(*stream->anchor, isStillRead))
        emitGets({stream->anchor});
  }
  // Indices of which only the copies are used.
  llvm::SmallPtrSet<Operation *, 8> copied;
  for (auto &stream : body.streams)
    if (stream->anchor)
      copied.insert_range(stream->slice);
  for (Operation *op : llvm::reverse(body.rest))
    if (copied.contains(op) && op->use_empty())
      op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct ScheduleLoop : tile::impl::TileScheduleLoopBase<ScheduleLoop> {
  using Base::Base;

  void runOnOperation() override;
  void schedule(Block &block);
  void scheduleStarts(Block &block);
  void chooseAll(LoopBody &body);
  void sayFewer(RingOp ring, int64_t bytes, int64_t sums);
  void fit(LoopBody &body);
  void fitAll();
  void addSlots();
  void report(LoopBody &body);

  /// Bytes of shared memory that a block may use.
  int64_t limit = 0;
};

} // namespace

/// Choose stages: what the program gives, then the option, then the rule.
void ScheduleLoop::chooseAll(LoopBody &body) {
  for (auto [i, stream] : llvm::enumerate(body.streams)) {
    int64_t requested = stages.empty() ? 0 : stages[std::min<size_t>(i, stages.size() - 1)];
    body.place(*stream);
    if (stream->stages == 1)
      stream->stages = requested > 0 ? requested : body.chooseStages(*stream);
    if (!stream->bound.empty() || !body.loops)
      stream->stages = 1;
    body.place(*stream);
    setStages(stream->ring, stream->stages);
  }
}

/// Say that a ring has fewer stages, for the program's rings took `bytes` and what it adds to
/// memory takes `sums`: by a remark where the number was asked for, else to those who ask for
/// decisions.
void ScheduleLoop::sayFewer(RingOp ring, int64_t bytes, int64_t sums) {
  std::string tile = describeTile(ring.getType());
  std::string added = sums ? ", what it adds to memory " + std::to_string(sums) : "";
  int64_t left = ring.getType().getStages();
  if (!stages.empty())
    emitRemark(ring.getLoc()) << "ring of " << tile << ": " << left
                              << " stages, since the program's rings take " << bytes << " bytes"
                              << added << " and the limit is " << limit;
  else
    fa::remarkPassed(*this, ring.getLoc(), "stages")
        << fa::decision("ring of {0} with a stage less", tile) << remark::metric("stages", left)
        << remark::reason("the program's rings take {0} bytes{1} and the limit is {2}", bytes,
                          added, limit);
}

/// Take stages away, from the largest rings first, until the program fits.
void ScheduleLoop::fit(LoopBody &body) {
  if (limit <= 0)
    return;
  for (int64_t bytes; (bytes = sharedBytesOfRings(getOperation())) > limit;) {
    Stream *largest = nullptr;
    for (auto &stream : body.streams)
      if (stream->stages > 1 && (!largest || std::pair(stream->stages, stream->slotBytes()) >=
                                                 std::pair(largest->stages, largest->slotBytes())))
        largest = stream.get();
    if (!largest)
      return;
    setStages(largest->ring, --largest->stages);
    body.place(*largest);
    sayFewer(largest->ring, bytes, /*sums=*/0);
  }
}

void ScheduleLoop::report(LoopBody &body) {
  for (auto &stream : body.streams) {
    auto said = fa::remarkPassed(*this, stream->put.getLoc(), "stages");
    if (!said)
      return;
    std::string tile = describeTile(stream->ring.getType());
    said << remark::metric("stages", stream->stages);
    if (!stream->anchor)
      said << fa::decision("ring of {0} filled right before it is read", tile)
           << remark::reason("{0}",
                             stream->bound.empty() ? "its slot is free no earlier" : stream->bound);
    else if (stream->after)
      said << fa::decision("ring of {0} filled after the get of {1}", tile,
                           describeTile(cast<GetOp>(stream->after).getRing().getType()))
           << remark::metric("iterationsAhead", stream->distance);
    else if (stream->anchor == stream.get() && stream->stages == 1)
      said << fa::decision("ring of {0} filled right after its release", tile)
           << remark::metric("iterationsAhead", stream->distance);
    else
      said << fa::decision("ring of {0} filled after the get of {1}", tile,
                           describeTile(stream->anchor->ring.getType()))
           << remark::metric("iterationsAhead", stream->distance);
  }
}

/// Schedule loops of asynchronous products, whose rings roles will fill. Where no product
/// runs beside another one's arithmetic, copies run further ahead instead.
void ScheduleLoop::scheduleStarts(Block &block) {
  constexpr int64_t kSlots = 4;
  auto loop = dyn_cast<scf::ForOp>(block.getParentOp());
  ProductsReport report;
  report.why = "it is no loop";
  bool done = loop && scheduleProducts(loop, limit, order, report);
  for (auto [i, put] : llvm::enumerate(block.getOps<PutOp>())) {
    int64_t requested = stages.empty() ? 0 : stages[std::min<size_t>(i, stages.size() - 1)];
    RingOp ring = ringOf(put);
    if (!ring || !loop)
      continue;
    // A second reader holds a slot for as long as the first one holds the next.
    int64_t least = !done || ring.getReaders() > 1 ? kSlots : 1;
    setStages(ring, requested > 0 ? requested : std::max(least, ring.getType().getStages()));
  }
  // All warps meet once a step, at the get: what it fills meanwhile is another slot.
  for (auto put : block.getOps<PutValueOp>())
    if (RingOp ring = ringOf(put); ring && loop)
      setStages(ring, std::max<int64_t>(ring.getType().getStages(), 2));
  Location loc = block.getParentOp()->getLoc();
  if (auto said = done ? fa::remarkPassed(*this, loc, "products")
                       : fa::remarkMissed(*this, loc, "products")) {
    said << fa::decision(done ? "products run beside the arithmetic of two iterations"
                              : "products of one iteration beside each other only");
    if (!done)
      said << remark::reason("{0}", report.why);
    if (report.clocks > 0)
      said << remark::metric("order", report.order)
           << remark::metric("clocks", static_cast<int64_t>(report.clocks))
           << remark::metric("registers", report.registers);
  }
  for (const std::string &line : report.timeline)
    fa::remarkPassed(*this, loc, "timeline") << fa::decision("{0}", line);
}

void ScheduleLoop::schedule(Block &block) {
  bool fills = false, deeper = false, given = false;
  for (Operation &op : block.without_terminator()) {
    given |= op.hasAttr(TileDialect::kStageAttr) || op.hasAttr(TileDialect::kOrderAttr);
    fills |= isa<PutOp>(op);
    op.walk([&](PutOp put) { deeper |= put->getBlock() != &block; });
  }
  if (given || (!fills && !deeper))
    return;
  if (!block.getOps<DotStartOp>().empty())
    return scheduleStarts(block);
  // Where a block further inside fills rings, it is that one which is scheduled.
  LoopBody body(block);
  std::string why = "its rings are filled further inside";
  if (deeper || failed(body.collect(why))) {
    if (body.loops)
      fa::remarkMissed(*this, block.getParentOp()->getLoc(), "stages")
          << fa::decision("loop not scheduled") << remark::reason("{0}", why);
    return;
  }
  chooseAll(body);
  fit(body);
  for (auto &stream : body.streams)
    body.refillEarly(*stream);
  report(body);
  Numbering(body).run();
}

/// Return whether one role computes the tiles of a ring, and another one reads them.
static bool isBetweenRoles(RingOp ring) {
  return llvm::any_of(ring->getUsers(), [](Operation *user) {
    auto put = dyn_cast<PutValueOp>(user);
    return put && isSent(put);
  });
}

/// Asynchronous programs have two slots where one serves too. Where roles send each other tiles,
/// more than two go first, then the second one of these, for the reader is done with a tile long
/// before the next one. More than two make way for what is added to memory.
void ScheduleLoop::fitAll() {
  int64_t sums = bytesOfSums(getOperation());
  bool sends = llvm::any_of(getOperation().getOps<RingOp>(), isBetweenRoles);
  for (int64_t bytes;
       limit > 0 && (bytes = sharedBytesWithBarriers(getOperation())) + sums > limit;) {
    int64_t least = bytes > limit ? 1 : 2;
    RingOp largest;
    auto rank = [&](RingOp ring) {
      bool third = ring.getType().getStages() > 2;
      int64_t first = !sends ? 0 : third ? 2 : isBetweenRoles(ring) ? 1 : 0;
      return std::pair(first, sharedBytes(ring.getType()));
    };
    for (auto ring : getOperation().getOps<RingOp>())
      if (ring.getType().getStages() > least && (!largest || rank(ring) >= rank(largest)))
        largest = ring;
    if (!largest)
      return;
    setStages(largest, largest.getType().getStages() - 1);
    sayFewer(largest, bytes, sums);
  }
}

/// Warpgroups that begin with different steps are that far apart: a third slot, where there is
/// room for it beside what each work tile fills once more, lets the first go on.
void ScheduleLoop::addSlots() {
  constexpr int64_t kSlots = 3;
  int64_t bytes = 0;
  SmallVector<RingOp> rings;
  for (auto ring : getOperation().getOps<RingOp>()) {
    int64_t slots = ring.getType().getStages();
    bytes += (slots + 1) * ring.getType().getSlot().strideInBytes();
    if (slots == kSlots - 1)
      rings.push_back(ring);
  }
  if (areApart(getOperation()) && stages.empty() && (limit == 0 || bytes <= limit))
    for (RingOp ring : rings)
      setStages(ring, kSlots);
}

void ScheduleLoop::runOnOperation() {
  for (int64_t n : stages)
    if (n < 0 || n > 16) {
      getOperation().emitError() << "a ring has 1 to 16 stages, or 0 to choose, got stages=" << n;
      return signalPassFailure();
    }
  limit = getOperation().getSharedLimit(sharedLimit);
  SmallVector<Block *> blocks;
  getOperation().walk([&](Block *block) {
    if (isa<scf::ForOp, scf::IfOp>(block->getParentOp()))
      blocks.push_back(block);
  });
  for (Block *block : blocks)
    schedule(*block);
  if (fa::holds<DotStartOp>(getOperation())) {
    fitAll();
    addSlots();
  }
  int64_t bytes = sharedBytesOfRings(getOperation());
  if (limit > 0 && bytes > limit) {
    getOperation().emitError() << "needs " << bytes << " bytes of shared memory, the limit is "
                               << limit << "; choose smaller tiles";
    signalPassFailure();
  }
}
