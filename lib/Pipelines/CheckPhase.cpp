//===- CheckPhase.cpp - is IR at the phase it is said to be? -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every phase has ops that no other has, so that a few of them tell where a
// module stands. Kernels for GPUs are written by hand, too, at phase schedule or
// nvvm: what no phase makes may stand there.
//
//===----------------------------------------------------------------------===//

#include "CheckPhase.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// An op that gives a phase away.
struct Evidence {
  StringRef phase;
  Operation *op = nullptr;
  /// Another phase at which the op may stand.
  StringRef also = {};
};
} // namespace

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// Find the phase of a func.func: attention, or what is made of it, or else tensors make a
/// phase; a function without any of them is past them all.
static Evidence findIn(func::FuncOp function) {
  // A kernel without tiles is after phase linalg what it is after phase vector, but for its
  // scratch memory.
  Evidence found{"vector", function, function->hasAttr("cpu.scratch_bytes") ? "" : "linalg"};
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<AttentionOp>(op)) {
      // What has gradients may stand beside them.
      found = {"input", op, "grad"};
      return WalkResult::interrupt();
    }
    if (isa<PairwiseOp, SumOp>(op)) {
      found = {"grad", op};
      return WalkResult::interrupt();
    }
    if (isa_and_nonnull<FADialect>(op->getDialect())) {
      // Kernels over blocks stand before fa.pairwise and fa.sum, too.
      if (found.phase != "algorithm")
        found = {"algorithm", op};
      return WalkResult::skip();
    }
    if (found.phase == "vector" && (llvm::any_of(op->getResultTypes(), isTensor) ||
                                    llvm::any_of(op->getOperandTypes(), isTensor)))
      found = {"linalg", op};
    return WalkResult::advance();
  });
  return found;
}

/// Find the evidence of a tile.func: layouts, rings and roles come by phase schedule; a function
/// without any tile is of both.
static Evidence findIn(tile::FuncOp function) {
  Evidence found{"tile", function, "schedule"};
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool schedule = isa<tile::RingOp, tile::RolesOp>(op);
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      schedule |= tile && tile.getEncoding();
      if (tile && !tile.getEncoding()) {
        found = {"tile", op};
        return WalkResult::interrupt();
      }
    }
    if (schedule)
      found = {"schedule", op};
    return schedule ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

/// Find the evidence of an llvm.func: it is of a GPU where it is a kernel of one or uses one.
static Evidence findIn(LLVM::LLVMFuncOp function) {
  bool gpu = function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
  function.walk(
      [&](Operation *op) { gpu |= isa_and_nonnull<NVVM::NVVMDialect>(op->getDialect()); });
  return gpu ? Evidence{"nvvm", function} : Evidence{"llvm", function, "nvvm"};
}

/// Find the phase of one op of the module; none where it may stand anywhere.
static Evidence find(Operation &op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return findIn(function);
  if (auto function = dyn_cast<tile::FuncOp>(op))
    return findIn(function);
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return findIn(function);
  if (isa_and_nonnull<LLVM::LLVMDialect>(op.getDialect()))
    return {"llvm", &op, "nvvm"};
  if (isa<gpu::GPUModuleOp>(op))
    return {"nvvm", &op};
  return {};
}

LogicalResult fa::checkPhase(ModuleOp module, StringRef target, const Phase &phase) {
  auto hasPhase = [&](StringRef name) {
    return llvm::any_of(getPhases(target, /*backward=*/true),
                        [&](const Phase &phase) { return phase.name == name; });
  };
  bool byHand = phase.name == "schedule" || phase.name == "nvvm";
  if (!byHand && module.getBody()->empty())
    return module.emitError() << "the module is empty, expected one after phase " << phase.name
                              << " (" << phase.contract << ")";
  // What kernels for GPUs stand beside is of that phase, too.
  bool gpu =
      llvm::any_of(*module.getBody(), [](Operation &op) { return find(op).phase == "nvvm"; });
  bool first = true;
  for (Operation &op : *module.getBody()) {
    Evidence found = find(op);
    if (gpu && found.phase == "llvm")
      found = {"nvvm", found.op};
    bool fits = found.phase == phase.name || found.also == phase.name;
    if (byHand && llvm::is_contained({"vector", "llvm", "nvvm"}, found.phase))
      fits = true;
    if (found.op && !fits) {
      InFlightDiagnostic error = found.op->emitError();
      error << "'" << found.op->getName() << "' stands after phase " << found.phase
            << ", expected a module after phase " << phase.name << " (" << phase.contract << "); ";
      if (!hasPhase(found.phase))
        error << "target " << target << " has no phase " << found.phase
              << ", use a target that has";
      else if (first)
        error << "use --compile-from=" << found.phase;
      else
        error << "compile it by itself, what stands before it is of phase " << phase.name;
      return error;
    }
    first &= !found.op;
  }
  return success();
}
