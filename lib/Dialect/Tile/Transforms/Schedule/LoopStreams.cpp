//===- LoopStreams.cpp - the rings that a loop fills and reads -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoopStreams.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::tile;

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
LogicalResult LoopBody::collect(std::string &why) {
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
LogicalResult LoopBody::findReaders(std::string &why) {
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
int64_t LoopBody::countProducts(int64_t from, int64_t to, Stream &but) const {
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
void LoopBody::place(Stream &stream) {
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
int64_t LoopBody::chooseStages(Stream &stream) const {
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
void LoopBody::postpone(Stream &stream) {
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
void LoopBody::refillEarly(Stream &stream) {
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
