//===- TileToNVVM.cpp - convert-tile-to-nvvm -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns each tile.func into a kernel, the program of one thread:
//   1. arguments: a view becomes its address, dynamic sizes and all strides but
//      the last; scalars are passed by value; the work tile ids come from the
//      number of the block, the last dimension of the grid fastest;
//   2. values: a tile becomes the vector of what the thread holds of it, by its
//      layout; arithmetic is the same op on vectors (Values.cpp), loops and
//      branches carry vectors (ControlFlow.cpp);
//   3. memory: loads and stores are predicated, so that nothing out of range is
//      touched (Memory.cpp); shared memory is swizzled (SharedMemory.cpp);
//   4. products: ldmatrix and mma.sync (Products.cpp), or wgmma (Wgmma.cpp);
//   5. roles: branches on the number of the warp (Roles.cpp), which wait for each
//      other at barriers (Barriers.cpp) and for the TMA (TensorMaps.cpp).
//
// Requires: layouts on all tiles but operands of products in shared memory; no
// put, get or release. Creates no loop, barrier or branch that the tile program
// does not have. Rejects, with a location, what has no lowering.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "Emitter.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Tile/IR/Kernels.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Support/Holds.h"
#include "fa/Target/Manifest.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTTILETONVVM
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::nvvm;

//===----------------------------------------------------------------------===//
// Small things
//===----------------------------------------------------------------------===//

Value Emitter::i32(int64_t value) { return arith::ConstantIntOp::create(b, value, 32); }
Value Emitter::i64(int64_t value) { return arith::ConstantIntOp::create(b, value, 64); }

Value Emitter::toI64(Value value) {
  return value.getType().isInteger(64) ? value : arith::ExtUIOp::create(b, b.getI64Type(), value);
}

Type Emitter::convert(Type type) {
  if (type.isIndex())
    return b.getI64Type();
  if (isa<tile::SlotType>(type))
    return b.getI32Type();
  if (isa<tile::RanType>(type))
    return b.getI1Type();
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  auto frag = dyn_cast_or_null<tile::FragAttr>(tensor.getEncoding());
  return frag ? VectorType::get(frag.getLayout().numRegs(), convert(tensor.getElementType()))
              : Type();
}

FailureOr<tile::Layout> Emitter::layoutOf(Value tile) {
  auto tensor = dyn_cast<RankedTensorType>(tile.getType());
  auto frag = tensor ? dyn_cast_or_null<tile::FragAttr>(tensor.getEncoding()) : tile::FragAttr();
  if (frag)
    return frag.getLayout();
  return emitError(tile.getLoc()) << "a tile without a layout has no registers, got "
                                  << tile.getType() << "; run tile-assign-layouts";
}

Value Emitter::extract(Value vector, int64_t index) {
  return vector::ExtractOp::create(b, vector, index);
}

Value Emitter::fromElements(VectorType type, ArrayRef<Value> elements) {
  return vector::FromElementsOp::create(b, type, elements);
}

Value Emitter::digits(Value index, ArrayRef<tile::Mode> modes, unsigned dim) {
  Value sum;
  int64_t before = 1;
  for (const tile::Mode &mode : modes) {
    if (int64_t stride = mode.strides[dim]) {
      Value digit = index;
      if (before != 1)
        digit = arith::DivUIOp::create(b, digit, i32(before));
      digit = arith::RemUIOp::create(b, digit, i32(mode.extent));
      if (stride != 1)
        digit = arith::MulIOp::create(b, digit, i32(stride));
      sum = sum ? arith::AddIOp::create(b, sum, digit) : digit;
    }
    before *= mode.extent;
  }
  return sum ? sum : i32(0);
}

Value Emitter::threadOffset(const tile::Layout &layout, unsigned dim) {
  return arith::AddIOp::create(b, digits(lane, layout.getLane(), dim),
                               digits(warp, layout.getWarp(), dim));
}

Value Emitter::isFirstHolder(const tile::Layout &layout) {
  Value first;
  auto require = [&](Value index, ArrayRef<tile::Mode> modes) {
    int64_t before = 1;
    for (const tile::Mode &mode : modes) {
      if (mode.replicates()) {
        Value digit = arith::RemUIOp::create(b, arith::DivUIOp::create(b, index, i32(before)),
                                             i32(mode.extent));
        first = both(first, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, digit, i32(0)));
      }
      before *= mode.extent;
    }
  };
  require(lane, layout.getLane());
  require(warp, layout.getWarp());
  // Warps beyond those that the layout counts hold nothing of their own.
  if (layout.numWarps() < warps)
    first = both(first,
                 arith::CmpIOp::create(b, arith::CmpIPredicate::ult, warp, i32(layout.numWarps())));
  return first;
}

SmallVector<Value> Emitter::ptx(StringRef text, StringRef constraints, TypeRange results,
                                ValueRange operands, bool sideEffects) {
  Type type =
      results.empty() ? Type(LLVM::LLVMVoidType::get(b.getContext()))
      : results.size() == 1
          ? results.front()
          : Type(LLVM::LLVMStructType::getLiteral(b.getContext(), SmallVector<Type>(results)));
  auto call = LLVM::InlineAsmOp::create(
      b, results.empty() ? TypeRange() : TypeRange(type), operands, text, constraints, sideEffects,
      /*is_align_stack=*/false, LLVM::tailcallkind::TailCallKind::None,
      LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr());
  if (results.empty())
    return {};
  if (results.size() == 1)
    return {call.getRes()};
  SmallVector<Value> values;
  for (size_t i = 0; i < results.size(); ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, call.getRes(), i));
  return values;
}

Value Emitter::pinToUse(Value value) {
  if (!value.getType().isInteger(32))
    return ptx("mov.b64 $0, $1;", "=l,l", value.getType(), value, true)[0];
  return ptx("mov.b32 $0, $1;", "=r,r", b.getI32Type(), value, true)[0];
}

Value Emitter::both(Value a, Value other) {
  if (!a || !other)
    return a ? a : other;
  return arith::AndIOp::create(b, a, other);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

/// Return whether anything is stored to a view or a slice of it.
static bool isWritten(Value view) {
  return llvm::any_of(view.getUsers(), [view](Operation *user) {
    auto slice = dyn_cast<tile::SliceOp>(user);
    return tile::destinationOf(user) == view || (slice && isWritten(slice.getResult()));
  });
}

/// Set the strides that a runtime gives to any workspace of these sizes: rows are padded, and
/// nothing else. Beside products the addresses that follow from those would take registers.
void Emitter::setWorkspaceStrides(tile::ViewType view, ViewParts &parts) {
  ArrayRef<int64_t> shape = view.getShape();
  if (shape.size() < 2 || fa::holds<tile::DotOp, tile::DotStartOp>(source))
    return;
  int64_t size = llvm::divideCeil(view.getElementType().getIntOrFloatBitWidth(), 8), stride = 1;
  for (size_t d = shape.size() - 1; d > 0 && !ShapedType::isDynamic(shape[d]); --d) {
    stride *= d + 1 == shape.size() ? fa::Manifest::workspaceRowPitch(shape[d], size) : shape[d];
    parts.strides[d - 1] = i64(stride);
  }
}

void Emitter::makeKernel(Block *module) {
  MLIRContext *context = b.getContext();
  Type pointer = LLVM::LLVMPointerType::get(context, unsigned(NVVM::NVVMMemorySpace::Global));
  SmallVector<Type> types;
  ArrayRef<Type> arguments = source.getArgumentTypes().take_front(source.getNumLaunchArguments());
  for (Type type : arguments) {
    auto view = dyn_cast<tile::ViewType>(type);
    if (isa<tile::TensorMapType>(type)) {
      types.push_back(LLVM::LLVMPointerType::get(context));
      continue;
    }
    if (!view) {
      types.push_back(type.isInteger(1) ? b.getI8Type() : convert(type));
      continue;
    }
    types.push_back(pointer);
    size_t words = llvm::count_if(view.getShape(), ShapedType::isDynamic) +
                   std::max<int64_t>(view.getRank() - 1, 0);
    types.append(words, b.getI64Type());
  }

  b.setInsertionPointToEnd(module);
  kernel = LLVM::LLVMFuncOp::create(
      b, source.getSymName(), LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types));
  kernel->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  kernel->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(),
                  b.getDenseI32ArrayAttr({static_cast<int32_t>(32 * warps)}));
  // Without it, ptxas takes no number of registers from a role.
  if (!source.getBody().front().getOps<tile::RolesOp>().empty())
    kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    b.getI32IntegerAttr(source.getMinBlocksPerSM()));
  Block *entry = kernel.addEntryBlock(b);
  b.setInsertionPointToStart(entry);

  bool isDependent = source->hasAttr(tile::TileDialect::kDependentAttr);
  unsigned next = 0;
  for (auto [i, type] : llvm::enumerate(arguments)) {
    Value argument = source.getArgument(i);
    auto view = dyn_cast<tile::ViewType>(type);
    if (isa<tile::TensorMapType>(type)) {
      setMapAttributes(next);
      set(argument, entry->getArgument(next++));
      continue;
    }
    if (!view) {
      Value scalar = entry->getArgument(next++);
      if (type.isInteger(1))
        scalar = arith::TruncIOp::create(b, b.getI1Type(), scalar);
      set(argument, scalar);
      continue;
    }
    ViewParts parts;
    parts.element = view.getElementType();
    parts.pointer = entry->getArgument(next++);
    // Loads of workspaces by threads are of vectors of a thread's layout: wider ones take
    // registers.
    if (auto align = source.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kAlignAttr);
        align && !source.getArgAttr(i, tile::TileDialect::kWorkspaceAttr))
      parts.align = align.getInt();
    parts.order = view.getOrder();
    if (parts.order)
      parts.align = 16;
    for (int64_t size : view.getShape())
      parts.sizes.push_back(ShapedType::isDynamic(size) ? Value(entry->getArgument(next++))
                                                        : i64(size));
    for (int64_t d = 0; d + 1 < view.getRank(); ++d)
      parts.strides.push_back(entry->getArgument(next++));
    if (view.getRank() > 0)
      parts.strides.push_back(i64(1));
    if (source.getArgAttr(i, tile::TileDialect::kWorkspaceAttr))
      setWorkspaceStrides(view, parts);
    parts.written = isWritten(argument);
    parts.awaited = isDependent && !parts.written && !source.isInput(i);
    views[argument] = parts;
  }

  thread = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  lane = arith::AndIOp::create(b, thread, i32(31));
  warp = arith::ShRUIOp::create(b, thread, i32(5));
  source.walk([&](Operation *op) {
    isAsync |= isa<tile::DotStartOp>(op);
    bool tiles = llvm::any_of(op->getOperandTypes(), llvm::IsaPred<RankedTensorType>) ||
                 llvm::any_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    readsShared |= tiles && isa<tile::ReadOp, tile::WriteOp, tile::DotOp>(op);
    auto copy = dyn_cast<tile::CopyOp>(op);
    readsShared |= copy && copy.getCopy() != tile::Copy::tma && op->getParentOfType<tile::RoleOp>();
  });
  // A warpgroup's instructions want their operands the same in all lanes.
  if (isAsync || !source.getBody().front().getOps<tile::RolesOp>().empty())
    warp = uniform(warp);
}

Value Emitter::uniform(Value value) {
  return NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), value, i32(0), i32(31),
                              NVVM::ShflKind::idx, UnitAttr());
}

void Emitter::decodeInstance() {
  Value block = NVVM::BlockIdXOp::create(b, b.getI32Type());
  SmallVector<Value> symbols;
  ArrayRef<int64_t> pairs = source.getSizes();
  for (size_t i = 0; i < pairs.size(); i += 2)
    symbols.push_back(views[source.getArgument(pairs[i])].sizes[pairs[i + 1]]);
  for (int64_t d = source.getNumGridDims(); d-- > 0;) {
    Value id = block;
    if (d > 0) {
      // The launch checks that the number of blocks fits in 32 bits.
      Value size = tile::emitExtent(b, source.getGrid().getResult(d), symbols, b.getI64Type());
      size = arith::TruncIOp::create(b, b.getI32Type(), size);
      id = arith::RemUIOp::create(b, block, size);
      block = arith::DivUIOp::create(b, block, size);
    }
    set(source.getInstanceId(d), toI64(id));
  }
}

/// Let the next kernel of the entry start, where launches know how.
void Emitter::startNext() {
  tile::FuncOp next = source.getNextKernel();
  if (next && next->hasAttr(tile::TileDialect::kDependentAttr))
    NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::launch_dependents);
}

/// Return whether the next kernel takes it that those before this one have ended, and does not wait
/// for that itself.
bool Emitter::startsNextLate() {
  tile::FuncOp next = source.getNextKernel();
  return next && tile::runsBeside(next) && source->hasAttr(tile::TileDialect::kDependentAttr) &&
         !tile::runsBeside(source);
}

/// Take what kernels before write from addresses that come after the wait for them: loads have no
/// order of their own, but stay behind what they are computed from.
void Emitter::pinAwaited() {
  for (auto &[view, parts] : views)
    if (parts.awaited)
      parts.pointer = pinToUse(parts.pointer);
}

LogicalResult Emitter::run(Block *module) {
  auto attr = source->getAttrOfType<IntegerAttr>(tile::TileDialect::kWarpsAttr);
  if (!attr)
    return source.emitError() << "a kernel needs " << tile::TileDialect::kWarpsAttr
                              << " from 1 to 32; run tile-assign-layouts";
  warps = attr.getValue().getSExtValue();
  if (failed(checkKernel(source, warps)))
    return failure();
  makeKernel(module);
  if (!startsNextLate())
    startNext();
  if (failed(allocateShared()))
    return failure();
  initializeBarriers();
  decodeInstance();
  if (failed(emitBlock(source.getBody().front())))
    return failure();
  LLVM::ReturnOp::create(b, ValueRange());
  return success();
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

LogicalResult Emitter::emit(Operation *op) {
  using namespace tile;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](scf::ForOp op) { return emitFor(op); })
      .Case([&](scf::IfOp op) { return emitIf(op); })
      .Case([&](scf::WhileOp op) { return emitWhile(op); })
      .Case([&](scf::IndexSwitchOp op) { return emitSwitch(op); })
      .Case([&](IfAnyOp op) { return emitIfAny(op); })
      .Case([&](RescaleOp op) { return emitRescale(op); })
      .Case([&](BallotOp op) { return emitBallot(op); })
      .Case([&](NthBitOp op) {
        emitNthBit(op);
        return success();
      })
      .Case([&](arith::ConstantOp op) { return emitConstant(op); })
      .Case([&](arith::TruncFOp op) { return emitTruncF(op); })
      .Case([&](arith::ExtFOp op) { return emitExtF(op); })
      .Case([&](arith::SelectOp op) { return emitSelect(op); })
      .Case([&](BroadcastOp op) { return emitBroadcast(op); })
      .Case([&](ColumnsOp op) { return emitColumns(op); })
      .Case([&](ColumnsBetweenOp op) { return emitColumnsBetween(op); })
      .Case([&](IotaOp op) { return emitIota(op); })
      .Case([&](ReduceOp op) { return emitReduce(op); })
      .Case([&](ConvertLayoutOp op) { return emitConvertLayout(op); })
      .Case([&](RandomBitsOp op) { return emitRandomBits(op); })
      .Case([&](SliceOp op) { return emitSlice(op); })
      .Case([&](LoadOp op) { return emitLoad(op); })
      .Case([&](StoreOp op) { return emitStore(op); })
      .Case([&](GatherOp op) { return emitGather(op); })
      .Case([&](ScatterOp op) { return emitScatter(op); })
      .Case([&](ScatterAddOp op) { return emitScatterAdd(op); })
      .Case([&](AccumulateOp op) { return emitAccumulate(op); })
      .Case([&](RolesOp op) { return emitRoles(op); })
      .Case([&](SchedulerPeekOp op) { return emitSchedulerPeek(op); })
      .Case([&](SchedulerResetOp op) { return emitSchedulerReset(op); })
      .Case([&](SchedulerNextOp op) { return emitSchedulerNext(op); })
      .Case([&](KernelWaitOp) {
        NVVM::GriddepcontrolOp::create(b, NVVM::GridDepActionKind::wait);
        if (startsNextLate())
          startNext();
        // What runs beside the kernel before takes nothing of it.
        if (!tile::runsBeside(source))
          pinAwaited();
        return success();
      })
      .Case([&](BlockCountOp op) {
        set(op, toI64(NVVM::GridDimXOp::create(b, b.getI32Type())));
        return success();
      })
      .Case([&](BarrierWaitOp op) { return emitBarrierWait(op); })
      .Case([&](BarrierArriveOp op) { return emitBarrierArrive(op); })
      .Case([&](BarrierExpectOp op) { return emitBarrierExpect(op); })
      .Case([&](SlotAtOp op) { return emitSlotAt(op); })
      .Case([&](CopyOp op) { return emitCopy(op); })
      .Case([&](BulkStoreOp op) { return emitBulkStore(op); })
      .Case([&](BulkStoreWaitOp) {
        emitBulkStoreWait();
        return success();
      })
      .Case([&](BulkAccumulateOp op) { return emitBulkAccumulate(op); })
      .Case([&](BulkAccumulateWaitOp op) {
        emitBulkAccumulateWait(op);
        return success();
      })
      .Case([&](ReadOp op) { return emitRead(op); })
      .Case([&](WriteOp op) { return emitWrite(op); })
      .Case([&](DotOp op) { return emitDot(op); })
      .Case([&](DotStartOp op) { return emitDotStart(op); })
      .Case([&](AwaitOp op) { return emitAwait(op); })
      .Case([&](RingOp) { return success(); })
      .Case([&](BarriersOp) { return success(); })
      .Case([&](NamedWaitOp op) {
        emitNamedBarrier("bar.sync", op.getId(), op.getOffset(), op.getThreads());
        return success();
      })
      .Case([&](NamedArriveOp op) {
        emitNamedBarrier("bar.arrive", op.getId(), op.getOffset(), op.getThreads());
        return success();
      })
      .Case([&](WarpgroupOp op) {
        set(op, toI64(arith::ShRUIOp::create(b, warp, i32(2))));
        return success();
      })
      .Case([&](DimOp op) {
        Value size = views[op.getView()].sizes[op.getDim()];
        if (op->hasAttr(TileDialect::kAtUseAttr))
          size = toI64(pinToUse(arith::TruncIOp::create(b, b.getI32Type(), size)));
        set(op, size);
        return success();
      })
      .Case([&](TransposeOp op) {
        // The registers stay in order; their places are exchanged.
        set(op, get(op.getInput()));
        if (auto bytes = bytesInWords.find(op.getInput()); bytes != bytesInWords.end())
          bytesInWords[op.getResult()] = Places(bytes->second);
        if (auto bytes = bytesOfLanes.find(op.getInput()); bytes != bytesOfLanes.end())
          bytesOfLanes[op.getResult()] = LaneBytes(bytes->second);
        return success();
      })
      .Case([&](CopyCommitOp) {
        NVVM::CpAsyncCommitGroupOp::create(b);
        return success();
      })
      .Case([&](CopyWaitOp op) {
        NVVM::CpAsyncWaitGroupOp::create(b, op.getPending());
        return success();
      })
      .Case([&](FenceAsyncOp) {
        ptx("fence.proxy.async.shared::cta;", "~{memory}", {}, {}, true);
        return success();
      })
      .Case([&](BarrierOp op) -> LogicalResult {
        if (role)
          return op.emitError() << "waits for all warps, but stands in a role; use "
                                   "tile.named_wait among the warps of the role";
        NVVM::BarrierOp::create(b);
        return success();
      })
      .Default([&](Operation *op) { return emitElementwise(op); });
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertTileToNVVM : fa::impl::ConvertTileToNVVMBase<ConvertTileToNVVM> {
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    // Each sees what the others of its entry write.
    auto funcs = llvm::to_vector(module.getOps<tile::FuncOp>());
    for (tile::FuncOp func : funcs)
      if (failed(Emitter(func).run(module.getBody())))
        return signalPassFailure();
    for (tile::FuncOp func : funcs)
      func.erase();
  }
};
} // namespace
