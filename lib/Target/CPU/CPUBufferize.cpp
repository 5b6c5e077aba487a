//===- CPUBufferize.cpp - cpu-bufferize -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/Bufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPUBUFFERIZE
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

void fa::cpu::registerBufferizationModels(DialectRegistry &registry) {
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  vector::registerBufferizableOpInterfaceExternalModels(registry);
}

static bool isTile(Type type) { return isa<TensorType>(type); }

/// Refuse ops on tiles that no pass of the CPU knows, as a program written by hand may
/// have: with a buffer for each tile they would be left, or stop later passes.
static LogicalResult checkTiles(Operation *op) {
  if (auto function = dyn_cast<func::FuncOp>(op);
      function && (llvm::any_of(function.getArgumentTypes(), isTile) ||
                   llvm::any_of(function.getResultTypes(), isTile)))
    return op->emitError("a kernel of the cpu takes no tiles and returns none; load and store them "
                         "in it, from memory that it takes");
  if (llvm::none_of(op->getResultTypes(), isTile) && llvm::none_of(op->getOperandTypes(), isTile))
    return success();
  // Other dialects have no model, or a promise of one that is not registered.
  bool known = isa_and_nonnull<arith::ArithDialect, bufferization::BufferizationDialect,
                               linalg::LinalgDialect, scf::SCFDialect, tensor::TensorDialect,
                               vector::VectorDialect>(op->getDialect()) &&
               isa<bufferization::BufferizableOpInterface>(op);
  if (isa_and_nonnull<linalg::LinalgDialect>(op->getDialect()))
    known = isa<linalg::LinalgOp, linalg::YieldOp>(op);
  if (known)
    return success();
  return op->emitError()
         << "'" << op->getName() << "' cannot be lowered to the cpu on tiles; use "
         << "ops of tile, elementwise ones of arith and math, and scf.for or scf.if";
}

/// Return whether a loop in this one goes on with what this one carries.
static bool isCarriedOn(scf::ForOp loop) {
  return llvm::any_of(loop.getRegionIterArgs(), [](BlockArgument argument) {
    return llvm::any_of(argument.getUsers(), llvm::IsaPred<scf::ForOp>);
  });
}

/// Give a fill of its own to an operand where the fill has other uses.
static void separateFill(OpOperand &init) {
  auto fill = init.get().getDefiningOp<linalg::GenericOp>();
  if (!fill || !fill.getInputs().empty() || fill->hasOneUse())
    return;
  OpBuilder builder(init.getOwner());
  init.set(builder.clone(*fill)->getResult(0));
}

/// Give what loops around others carry fills of their own, and what products are added to. A loop
/// in a loop writes its init in place, and the analysis finds no order for other reads of it; a
/// product's would be copied.
static void separateInits(func::FuncOp func) {
  func.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && isCarriedOn(loop))
      for (OpOperand &init : loop.getInitsMutable())
        separateFill(init);
    if (auto product = dyn_cast<linalg::MatmulOp>(op))
      separateFill(*product.getDpsInitOperand(0));
  });
}

/// Return whether a value is what a loop carries with elements written to it one after the other,
/// as loads do, so that it is in that buffer.
static bool isWrittenTo(Value value, Value argument) {
  if (value == argument)
    return false;
  do {
    Operation *op = value.getDefiningOp();
    if (auto write = dyn_cast_or_null<vector::TransferWriteOp>(op)) {
      value = write.getBase();
    } else if (auto insert = dyn_cast_or_null<tensor::InsertOp>(op)) {
      value = insert.getDest();
    } else if (auto loop = dyn_cast_or_null<scf::ForOp>(op)) {
      unsigned i = cast<OpResult>(value).getResultNumber();
      if (!isWrittenTo(loop.getYieldedValues()[i], loop.getRegionIterArg(i)))
        return false;
      value = loop.getInits()[i];
    } else {
      return false;
    }
  } while (value != argument);
  return true;
}

static Value copyTile(OpBuilder &builder, Location loc, Value tile) {
  return bufferization::AllocTensorOp::create(builder, loc, cast<RankedTensorType>(tile.getType()),
                                              ValueRange(), tile);
}

/// Give a loop tiles of its own to carry. It writes what it goes on with to their buffers when all
/// of that is copied.
static void separateTiles(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  OpBuilder before(loop), builder(yield);
  SmallVector<std::pair<OpOperand *, Value>> copies;
  for (auto [init, argument, operand] :
       llvm::zip_equal(loop.getInitsMutable(), loop.getRegionIterArgs(), yield->getOpOperands())) {
    if (!isTile(argument.getType()) || isWrittenTo(operand.get(), argument))
      continue;
    init.set(copyTile(before, loop.getLoc(), init.get()));
    if (operand.get() == argument)
      continue;
    auto moved = operand.get().getDefiningOp<bufferization::MaterializeInDestinationOp>();
    Value next = moved ? moved.getSource() : operand.get();
    copies.emplace_back(&operand, copyTile(builder, loop.getLoc(), next));
    operand.set(argument);
    if (moved)
      moved.erase();
  }
  for (auto [operand, copy] : copies)
    operand->set(bufferization::MaterializeInDestinationOp::create(
                     builder, loop.getLoc(), copy.getType(), copy, operand->get())
                     .getResult());
}

/// Give loops tiles of their own to carry, and branches tiles of their own to yield, so that none
/// is another's: one that a loop carries twice, hands on in another place or reads beside.
static void separateTiles(func::FuncOp func) {
  func.walk([](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return separateTiles(loop);
    auto yield = dyn_cast<scf::YieldOp>(op);
    if (!yield || !isa<scf::IfOp>(yield->getParentOp()))
      return;
    OpBuilder builder(yield);
    for (OpOperand &operand : yield->getOpOperands())
      if (isTile(operand.get().getType()))
        operand.set(copyTile(builder, yield.getLoc(), operand.get()));
  });
}

/// Analyze a kernel without a word about what is refused.
static bool isBufferizable(func::FuncOp func, bufferization::OneShotAnalysisState &analysis) {
  ScopedDiagnosticHandler quiet(func.getContext(), [](Diagnostic &) { return success(); });
  return succeeded(bufferization::analyzeOp(func, analysis));
}

/// Give the tiles of a kernel buffers: with copies of what loops carry only where there is no order
/// of reads and writes without.
static LogicalResult bufferize(func::FuncOp func) {
  bufferization::OneShotBufferizationOptions options;
  bufferization::BufferizationState state;
  separateInits(func);
  auto analysis = std::make_unique<bufferization::OneShotAnalysisState>(func, options);
  if (!isBufferizable(func, *analysis)) {
    separateTiles(func);
    analysis = std::make_unique<bufferization::OneShotAnalysisState>(func, options);
    if (failed(bufferization::analyzeOp(func, *analysis)))
      return failure();
  }
  return success(succeeded(bufferization::insertTensorCopies(func, *analysis, state)) &&
                 succeeded(bufferization::bufferizeOp(func, options, state)));
}

namespace {
struct CPUBufferize : fa::impl::CPUBufferizeBase<CPUBufferize> {
  void getDependentDialects(DialectRegistry &registry) const override {
    CPUBufferizeBase::getDependentDialects(registry);
    fa::cpu::registerBufferizationModels(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    WalkResult walk =
        module.walk<WalkOrder::PreOrder>([](Operation *op) { return WalkResult(checkTiles(op)); });
    if (walk.wasInterrupted())
      return signalPassFailure();
    for (auto func : module.getOps<func::FuncOp>())
      if (failed(bufferize(func)))
        return signalPassFailure();

    // Folds loops that carry buffers they do not change, and copies onto themselves.
    OpPassManager cleanup(ModuleOp::getOperationName());
    cleanup.addPass(createCanonicalizerPass());
    cleanup.addPass(createCSEPass());
    if (failed(runPipeline(cleanup, module)))
      return signalPassFailure();

    SmallVector<memref::CopyOp> copies;
    module.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
    for (memref::CopyOp copy : copies) {
      OpBuilder builder(copy);
      linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(), copy.getTarget());
      copy.erase();
    }
  }
};
} // namespace
