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
// Loops of asynchronous products: ScheduleProducts.cpp.
//
// Requires: rings of tile-promote-shared. Leaves alone, with a remark: streams
// whose indices cannot be computed ahead are filled before their get, those
// whose source the program stores to where they stood; loops that fill rings
// further inside, or that yield an argument of their own.
//
//===----------------------------------------------------------------------===//

#include "RoleMarks.h"
#include "ScheduleProducts.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILESCHEDULELOOP
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

namespace {

struct Stream {
  RingOp ring;
  PutOp put;
  GetOp get;
  ReleaseOp release;
  /// The ops of the body, in their order, that the put's indices need.
  SmallVector<Operation *> slice;
  /// The reason why the slice cannot run ahead; empty if it can.
  std::string bound;
  /// Record whether the put and its get stay between the ops that they stood between.
  bool stored = false;
  /// Places in the body of the first and the last reader.
  int64_t firstRead = 0, lastRead = 0;
  int64_t stages = 1;

  // Chosen: iterations that the put runs ahead, and the get it is after; null for a put that stays
  // before its own get, the stream itself for one after its own release or a computed tile's get.
  int64_t distance = 0;
  Stream *anchor = nullptr;
  /// The get of a computed tile that it is filled after, in place of its own release; null if none.
  Operation *after = nullptr;

  int64_t slotBytes() { return sharedBytes(ring.getType()) / ring.getType().getStages(); }
};

/// The ops of a loop's body or of an arm of an if, and which of them move.
struct Body {
  explicit Body(Block &block) : block(block), loops(isa<scf::ForOp>(block.getParentOp())) {}
  LogicalResult collect(std::string &why);
  LogicalResult findReaders(std::string &why);
  void postpone(Stream &stream);
  void refillEarly(Stream &stream);
  int64_t countProducts(int64_t from, int64_t to, Stream &but) const;
  bool hasProductBetween(int64_t from, int64_t to, Stream &but) const {
    return countProducts(from, to, but) > 0;
  }
  void place(Stream &stream);
  int64_t chooseStages(Stream &stream) const;

  Block &block;
  /// Record whether there is a next iteration that may be filled ahead.
  bool loops;
  /// All but gets, releases and puts of streams, in their order.
  SmallVector<Operation *> rest;
  std::vector<std::unique_ptr<Stream>> streams;
};

} // namespace

//===----------------------------------------------------------------------===//
// 1. Streams
//===----------------------------------------------------------------------===//

/// Collect what the put's indices need from the body, and say what binds the put to its place.
static void findSlice(Stream &stream, Block &block) {
  Slice slice(block.getParentOp());
  slice.add(stream.put.getIndices());
  for (Value value : slice.getValues())
    if (auto argument = dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &block && argument.getArgNumber() != 0)
      stream.bound = "its place is carried by the loop";
  llvm::SetVector<Operation *> ops;
  for (Operation *op : slice.getOps())
    if (Operation *at = block.findAncestorOpInBlock(*op))
      ops.insert(at);
  stream.slice = ops.takeVector();
  llvm::sort(stream.slice, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  for (Operation *op : llvm::reverse(stream.slice))
    if (!mayRunAhead(op, block))
      stream.bound = ("its place needs '" + op->getName().getStringRef() + "'").str();
  stream.stored = mayStoreTo(stream.put->getParentOfType<FuncOp>(), stream.put.getSource());
  if (stream.stored)
    stream.bound = "the program stores to its source";
}

/// Fail, with a reason, where a ring is used in a way that is no stream's, or
/// the loop is none that tile-pipeline expands.
LogicalResult Body::collect(std::string &why) {
  for (Value value : block.getTerminator()->getOperands())
    if (auto argument = dyn_cast<BlockArgument>(value);
        loops && argument && argument.getOwner() == &block)
      return why = "it yields one of its own arguments", failure();
  llvm::SmallPtrSet<Operation *, 16> moved;
  for (auto get : block.getOps<GetOp>()) {
    RingOp ring = ringOf(get);
    if (!ring || llvm::any_of(ring->getUsers(), [](Operation *op) { return isa<PutValueOp>(op); }))
      continue;
    auto stream = std::make_unique<Stream>();
    stream->ring = ring;
    stream->get = get;
    for (Operation *user : ring->getUsers()) {
      if (user == get)
        continue;
      stream->put = stream->put ? PutOp() : dyn_cast<PutOp>(user);
      if (!stream->put || user->getBlock() != &block)
        return why = "a ring is used more than once in an iteration, or elsewhere", failure();
    }
    for (Operation *user : get->getUsers())
      if (auto release = dyn_cast<ReleaseOp>(user))
        stream->release = release;
    if (!stream->put || !stream->release || stream->release->getBlock() != &block)
      return why = "a slot is not put, got and released in the body", failure();
    findSlice(*stream, block);
    stream->stages = ring.getType().getStages();
    moved.insert({stream->put, stream->get, stream->release});
    streams.push_back(std::move(stream));
  }
  if (streams.empty())
    return why = "no ring is filled and read in its body itself", failure();

  for (Operation &op : block.without_terminator())
    if (!moved.contains(&op))
      rest.push_back(&op);
  if (failed(findReaders(why)))
    return failure();
  llvm::sort(streams, [](auto &a, auto &b) {
    return a->firstRead != b->firstRead ? a->firstRead < b->firstRead
                                        : a->get->isBeforeInBlock(b->get);
  });
  return success();
}

/// Find the places of the first and the last reader of each stream.
LogicalResult Body::findReaders(std::string &why) {
  llvm::DenseMap<Operation *, int64_t> index;
  for (auto [i, op] : llvm::enumerate(rest))
    index[op] = i;
  for (auto &stream : streams) {
    stream->firstRead = rest.size();
    stream->lastRead = -1;
    for (Operation *user : stream->get->getUsers())
      if (user != stream->release) {
        int64_t at = index.lookup(block.findAncestorOpInBlock(*user));
        stream->firstRead = std::min(stream->firstRead, at);
        stream->lastRead = std::max(stream->lastRead, at);
      }
    if (stream->lastRead < 0)
      return why = "a slot is never read", failure();
    if (stream->stored)
      for (Operation *op = stream->put->getNextNode(); op; op = op->getNextNode())
        if (auto at = index.find(op); at != index.end()) {
          stream->firstRead = std::min(stream->firstRead, at->second);
          break;
        }
  }
  return success();
}

//===----------------------------------------------------------------------===//
// 2 and 3. Stages, anchors, distances
//===----------------------------------------------------------------------===//

/// Return how many ops of rest[from, to) compute products that read no slot of `but`.
int64_t Body::countProducts(int64_t from, int64_t to, Stream &but) const {
  int64_t count = 0;
  for (int64_t i = std::max<int64_t>(from, 0); i < to; ++i) {
    bool product = false;
    rest[i]->walk([&](Operation *op) {
      product |=
          isa<DotOp, DotStartOp>(op) && !llvm::is_contained(op->getOperands(), but.get.getResult());
    });
    count += product;
  }
  return count;
}

/// Set anchor and distance for the stream's number of slots.
void Body::place(Stream &stream) {
  stream.anchor = nullptr;
  stream.after = nullptr;
  stream.distance = 0;
  if (!stream.bound.empty())
    return;
  Stream *head = streams.front().get();
  if (stream.stages > 1 && loops) {
    stream.anchor = head;
    stream.distance = stream.stages - 1;
    return;
  }
  for (auto &other : streams)
    if (loops && other->firstRead > stream.lastRead) {
      stream.anchor = other.get();
      stream.distance = 1;
      return;
    }
  // One product may be over before the copy is, which then costs up to 12 % beside filling the slot
  // in the step that reads it; two gain 2 to 3 % (docs/performance-gradients.md, code for sm_80).
  constexpr int64_t kProducts = 2;
  const int64_t size = rest.size();
  for (int64_t i = stream.lastRead + 1; i < size && loops; ++i)
    if (isa<GetOp>(rest[i]) && countProducts(i + 1, size, stream) >= kProducts) {
      stream.anchor = &stream;
      stream.after = rest[i];
      stream.distance = 1;
      return;
    }
  if (head != &stream && hasProductBetween(0, stream.firstRead, stream))
    stream.anchor = head;
}

/// Return one where a product runs between the filling of the only slot and its get.
int64_t Body::chooseStages(Stream &stream) const {
  if (!stream.bound.empty() || !loops)
    return 1;
  if (!stream.anchor)
    return 2;
  bool hidden = stream.distance == 0 ||
                hasProductBetween(stream.lastRead + 1, rest.size(), stream) ||
                hasProductBetween(0, stream.firstRead, stream);
  return hidden ? 1 : 2;
}

/// Return whether an op of the body waits for the product: one that does more than add it to
/// memory.
static bool isAwaited(DotOp dot) {
  return llvm::any_of(dot->getUsers(), [&](Operation *user) {
    return !user->hasTrait<OpTrait::IsTerminator>() &&
           !(isa<AccumulateOp>(user) && user->getBlock() == dot->getBlock());
  });
}

/// Let products that nothing in the body waits for run after the last reader of the stream's slot,
/// with the gets and releases of what they read.
void Body::postpone(Stream &stream) {
  llvm::SmallSetVector<Operation *, 8> late;
  for (Operation *op : ArrayRef(rest).take_front(stream.lastRead)) {
    auto dot = dyn_cast<DotOp>(op);
    auto sum = dyn_cast<AccumulateOp>(op);
    if ((dot && !isAwaited(dot) &&
         !llvm::is_contained(dot->getOperands(), stream.get.getResult())) ||
        (sum && late.contains(sum.getValue().getDefiningOp())))
      late.insert(op);
  }
  if (late.empty())
    return;
  // Slots of computed tiles, which are no streams: got before their first reader, released after
  // their last one.
  llvm::SmallSetVector<Operation *, 4> slots;
  for (Operation *op : late)
    for (Value operand : op->getOperands())
      if (auto get = operand.getDefiningOp<GetOp>(); get && llvm::is_contained(rest, get))
        slots.insert(get);
  auto isOfSlot = [&](Operation *op) {
    auto release = dyn_cast<ReleaseOp>(op);
    return slots.contains(release ? release.getSlot().getDefiningOp() : op);
  };
  SmallVector<Operation *> order;
  for (auto [i, op] : llvm::enumerate(rest)) {
    if (!late.contains(op) && !isOfSlot(op))
      order.push_back(op);
    if (static_cast<int64_t>(i) == stream.lastRead)
      llvm::append_range(order, late);
  }
  llvm::DenseMap<Operation *, Operation *> first, last;
  for (Operation *op : order)
    op->walk([&](Operation *reader) {
      for (Value operand : reader->getOperands())
        if (Operation *get = operand.getDefiningOp(); get && slots.contains(get)) {
          first.try_emplace(get, op);
          last[get] = op;
        }
    });
  rest.clear();
  for (Operation *op : order) {
    for (Operation *get : slots)
      if (first[get] == op)
        rest.push_back(get);
    rest.push_back(op);
    for (Operation *get : slots)
      if (last[get] == op)
        llvm::append_range(rest,
                           llvm::make_filter_range(get->getUsers(), llvm::IsaPred<ReleaseOp>));
  }
}

/// Fill the slot again right after its release where products run until it is read, if it is the
/// only one and would be filled right before.
void Body::refillEarly(Stream &stream) {
  if (!loops || !stream.bound.empty() || stream.anchor || stream.stages > 1)
    return;
  std::string why;
  postpone(stream);
  [[maybe_unused]] LogicalResult found = findReaders(why);
  assert(succeeded(found) && "slots are read as before");
  // A get that others are filled after may stand before their last readers now.
  for (auto &other : streams)
    if (other->anchor && (other->anchor != other.get() || other->after))
      place(*other);
  if (!hasProductBetween(stream.lastRead + 1, rest.size(), stream))
    return;
  stream.anchor = &stream;
  stream.distance = 1;
}

//===----------------------------------------------------------------------===//
// 4 and 5. Order
//===----------------------------------------------------------------------===//

namespace {

/// Numbers the ops of a body.
struct Numbering {
  Numbering(Body &body) : body(body), builder(body.block.getParent()->getContext()) {
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

  Body &body;
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
  void chooseAll(Body &body);
  void sayFewer(RingOp ring, int64_t bytes, int64_t sums);
  void fit(Body &body);
  void fitAll();
  void addSlots();
  void report(Body &body);

  /// Bytes of shared memory that a block may use.
  int64_t limit = 0;
};

} // namespace

/// Choose stages: what the program gives, then the option, then the rule.
void ScheduleLoop::chooseAll(Body &body) {
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
void ScheduleLoop::fit(Body &body) {
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

void ScheduleLoop::report(Body &body) {
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
  Body body(block);
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
