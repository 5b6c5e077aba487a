//===- CheckPhase.cpp - is IR at the phase it is said to be? -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every phase has ops that no other has, so that a few of them tell where a
// module stands. Phases that are not named here are not checked.
//
//===----------------------------------------------------------------------===//

#include "CheckPhase.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// An op that gives a phase away.
struct Evidence {
  StringRef phase;
  Operation *op = nullptr;
};
} // namespace

static bool isTensor(Type type) { return isa<TensorType>(type); }

/// Of a func.func: attention, or what is made of it, or else tensors make a
/// phase; a function without any of them is past them all.
static Evidence findIn(func::FuncOp function) {
  Evidence found{"vector", function};
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa_and_nonnull<FADialect>(op->getDialect())) {
      found = {isa<AttentionOp>(op) ? "input" : "algorithm", op};
      return WalkResult::interrupt();
    }
    if (found.phase == "vector" && (llvm::any_of(op->getResultTypes(), isTensor) ||
                                    llvm::any_of(op->getOperandTypes(), isTensor)))
      found = {"linalg", op};
    return WalkResult::advance();
  });
  return found;
}

/// Of one op of the module; no phase where it may stand anywhere.
static Evidence find(Operation &op) {
  if (auto function = dyn_cast<func::FuncOp>(op))
    return findIn(function);
  if (isa<tile::FuncOp>(op))
    return {"tile", &op};
  if (isa_and_nonnull<LLVM::LLVMDialect>(op.getDialect()))
    return {"llvm", &op};
  return {};
}

LogicalResult fa::checkPhase(ModuleOp module, const Phase &phase) {
  if (!llvm::is_contained({"input", "algorithm", "tile", "linalg", "vector", "llvm"}, phase.name))
    return success();
  bool first = true;
  for (Operation &op : *module.getBody()) {
    Evidence found = find(op);
    // A kernel without tiles is after phase linalg what it is after phase vector.
    bool fits = found.phase == phase.name || (phase.name == "linalg" && found.phase == "vector");
    if (found.op && !fits) {
      InFlightDiagnostic error = found.op->emitError();
      error << "'" << found.op->getName() << "' stands after phase " << found.phase
            << ", expected a module after phase " << phase.name << " (" << phase.contract << "); ";
      if (first)
        error << "use --compile-from=" << found.phase;
      else
        error << "compile it by itself, what stands before it is of phase " << phase.name;
      return error;
    }
    first &= !found.op;
  }
  return success();
}
