//===- Barriers.cpp - barriers in shared memory, and numbered ones -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shared memory holds the rings, those of the widest alignment first, so that there
// are no gaps, else in the order of the program; and then 8 bytes for each barrier. One
// thread initializes all barriers before anything else of the kernel.
//
// The loop of a wait is inside one piece of inline PTX, so that LLVM neither
// turns nor copies it.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

//===----------------------------------------------------------------------===//
// Where things stand
//===----------------------------------------------------------------------===//

LogicalResult Emitter::allocateShared() {
  Block &block = source.getBody().front();
  SmallVector<tile::RingOp> all(block.getOps<tile::RingOp>());
  // A ring begins where those that lie in its memory may.
  DenseMap<Value, int64_t> alignments;
  for (tile::RingOp ring : all) {
    int64_t own = ring.getType().getSlot().alignment();
    for (Value holder : {ring.getResult(), ring.getWithin()})
      if (holder)
        alignments[holder] = std::max(alignments[holder], own);
  }
  auto alignment = [&](tile::RingOp ring) { return alignments.at(ring.getResult()); };
  llvm::sort(all, [&](tile::RingOp a, tile::RingOp b) {
    return alignment(a) == alignment(b) ? a->isBeforeInBlock(b) : alignment(a) > alignment(b);
  });
  for (tile::RingOp ring : all) {
    if (ring.getWithin())
      continue;
    tile::RingType type = ring.getType();
    sharedBytes = llvm::alignTo(sharedBytes, alignment(ring));
    rings[ring.getResult()] = sharedBytes;
    sharedBytes += type.getSlot().strideInBytes() * type.getStages();
  }
  for (tile::RingOp ring : all)
    if (ring.getWithin())
      rings[ring.getResult()] = rings.at(ring.getWithin()) + static_cast<int64_t>(ring.getOffset());
  for (auto array : block.getOps<tile::BarriersOp>()) {
    barriers[array.getResult()] = sharedBytes;
    sharedBytes += 8 * static_cast<int64_t>(array.getType().getCount());
  }
  auto given = source->getAttrOfType<IntegerAttr>(tile::TileDialect::kSharedBytesAttr);
  if (given && given.getInt() < sharedBytes)
    return source.emitError() << "rings and barriers take " << sharedBytes
                              << " bytes of shared memory, but "
                              << tile::TileDialect::kSharedBytesAttr << " is " << given.getInt();
  if (sharedBytes > 0)
    declareShared();
  return success();
}

/// Write panels of ones, by all threads: chunk by chunk of 16 bytes; what is beyond the
/// last chunk writes that one again, so that there is no branch.
void Emitter::writeOnes() {
  constexpr int64_t kChunk = 16;
  for (auto ring : source.getBody().front().getOps<tile::RingOp>()) {
    tile::SlotType slot = ring.getType().getSlot();
    int64_t perSlot = slot.onesInBytes() / kChunk, threads = 32 * warps;
    int64_t chunks = perSlot * ring.getType().getStages();
    Value pair = i32(slot.getElementType().isF16() ? 0x3C003C00 : 0x3F803F80);
    for (int64_t first = 0; first < chunks; first += threads) {
      Value chunk = arith::AddIOp::create(b, thread, i32(first));
      chunk = arith::MinUIOp::create(b, chunk, i32(chunks - 1));
      Value stage = arith::DivUIOp::create(b, chunk, i32(perSlot));
      Value gap = arith::MulIOp::create(b, stage, i32(slot.strideInBytes() - slot.onesInBytes()));
      Value place = arith::AddIOp::create(b, arith::MulIOp::create(b, chunk, i32(kChunk)), gap);
      ptx("st.shared.v4.b32 [$0+" +
              std::to_string(rings.at(ring.getResult()) + slot.sizeInBytes()) +
              "], {$1, $1, $1, $1};",
          "r,r,~{memory}", {}, {arith::AddIOp::create(b, shared, place), pair}, true);
    }
    if (chunks > 0)
      ptx("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, true);
  }
}

void Emitter::initializeBarriers() {
  auto arrays = source.getBody().front().getOps<tile::BarriersOp>();
  if (arrays.empty())
    return;
  writeOnes();
  for (BlockArgument argument : source.getArguments())
    if (isa<tile::TensorMapType>(argument.getType()))
      ptxByOne("prefetch.tensormap [$0];", "l", {get(argument)});
  for (tile::BarriersOp array : arrays)
    for (int64_t i = 0; i < array.getType().getCount(); ++i)
      ptxByOne("mbarrier.init.shared::cta.b64 [$0+" +
                   std::to_string(barriers.at(array.getResult()) + 8 * i) + "], " +
                   std::to_string(array.getArrivals()) + ";",
               "r", {shared});
  // For the TMA too, which is outside of the block.
  ptx("fence.mbarrier_init.release.cluster;", "~{memory}", {}, {}, true);
  NVVM::BarrierOp::create(b);
}

Value Emitter::barrierAddress(Value array, Value slot) {
  Value address = arith::AddIOp::create(b, shared, i32(barriers.at(array)));
  if (cast<tile::BarriersType>(array.getType()).getCount() == 1)
    return address;
  Value number = arith::TruncIOp::create(b, b.getI32Type(), get(slot));
  return arith::AddIOp::create(b, address, arith::MulIOp::create(b, number, i32(8)));
}

//===----------------------------------------------------------------------===//
// Waiting and arriving
//===----------------------------------------------------------------------===//

LogicalResult Emitter::emitBarrierWait(tile::BarrierWaitOp op) {
  Value address = barrierAddress(op.getBarriers(), op.getSlot());
  Value parity = arith::ExtUIOp::create(b, b.getI32Type(), get(op.getParity()));
  OpBuilder::InsertionGuard guard(b);
  if (op.getHead() && !alone && !aloneInWarp) {
    Value head = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warp, i32(0));
    auto branch = scf::IfOp::create(b, head, /*withElseRegion=*/false);
    b.setInsertionPointToStart(branch.thenBlock());
  }
  ptx("{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n"
      "@done bra over;\nbra again;\nover:\n}",
      "r,r,~{memory}", {}, {address, parity}, true);
  return success();
}

LogicalResult Emitter::emitBarrierArrive(tile::BarrierArriveOp op) {
  // What the other lanes read or wrote comes first, too.
  if (readsShared)
    NVVM::SyncWarpOp::create(b, i32(-1));
  Value first = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  ptx("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}", {},
      {barrierAddress(op.getBarriers(), op.getSlot()), first}, true);
  return success();
}

LogicalResult Emitter::emitBarrierExpect(tile::BarrierExpectOp op) {
  ptxByOne("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], " + std::to_string(op.getBytes()) +
               ";",
           "r", {barrierAddress(op.getBarriers(), op.getSlot())});
  return success();
}

void Emitter::emitNamedBarrier(StringRef instruction, int64_t id, Value offset, int64_t threads) {
  std::string count = ", " + std::to_string(threads) + ";";
  if (!offset) {
    ptx((instruction + " " + Twine(id) + count).str(), "~{memory}", {}, {}, true);
    return;
  }
  Value number = arith::TruncIOp::create(b, b.getI32Type(), get(offset));
  ptx(instruction.str() + " $0" + count, "r,~{memory}", {},
      {arith::AddIOp::create(b, number, i32(id))}, true);
}
