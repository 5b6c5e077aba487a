//===- VerifyPhase.cpp - what holds at the end of each phase -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Pipelines/Phases.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::fa {
#define GEN_PASS_DEF_FAVERIFYPHASE
#include "fa/Pipelines/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Check that a kernel may have the name: assemblers take no other characters, and functions
/// that compilers call themselves would be called instead.
static LogicalResult verifyName(SymbolOpInterface symbol) {
  StringRef name = symbol.getName();
  auto isLetter = [](char c) { return llvm::isAlpha(c) || c == '_' || c == '$'; };
  bool plain = !name.empty() && isLetter(name.front()) &&
               llvm::all_of(name, [&](char c) { return isLetter(c) || llvm::isDigit(c); });
  if (name.empty())
    return symbol->emitError("the name of a kernel is empty: expected letters, digits, _ and $, "
                             "beginning with no digit; give it a name, such as @attention");
  if (!plain)
    return symbol->emitError() << "the name " << FlatSymbolRefAttr::get(symbol->getContext(), name)
                               << " cannot be that of a kernel: expected letters, digits, _ and "
                                  "$, beginning with no digit";
  if (llvm::is_contained({"memcpy", "memmove", "memset"}, name) || name.starts_with("__") ||
      name.starts_with("_mlir_"))
    return symbol->emitError() << "the name @" << name
                               << " is that of a function that compilers call; choose another";
  return success();
}

//===----------------------------------------------------------------------===//
// input
//===----------------------------------------------------------------------===//

static LogicalResult verifyArguments(func::FuncOp entry, AttentionOp attention) {
  llvm::StringSet<> names;
  for (auto [i, argument] : llvm::enumerate(entry.getArguments())) {
    auto name = entry.getArgAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    if (!name || name.empty())
      return entry.emitError() << "argument " << i << " of entry @" << entry.getSymName()
                               << " has no name; add {fa.name = \"...\"}";
    if (!names.insert(name.getValue()).second)
      return entry.emitError() << "two arguments of entry @" << entry.getSymName()
                               << " have the name " << name << "; names must differ";
    if (argument.use_empty())
      return entry.emitError() << "argument " << name << " of entry @" << entry.getSymName()
                               << " is not used; remove it";
  }
  for (auto [i, capture] : llvm::enumerate(attention.getCaptures())) {
    bool read = false;
    for (auto [region, first] :
         {std::pair(&attention.getMask(), 0), std::pair(&attention.getScore(), 1)})
      read |= !region->empty() &&
              !region->getArgument(first + AttentionOp::kNumPositionArgs + i).use_empty();
    if (read)
      continue;
    InFlightDiagnostic error = attention.emitError() << "capture ";
    if (auto argument = dyn_cast<BlockArgument>(capture))
      error << entry.getArgAttr(argument.getArgNumber(), FADialect::kNameAttr);
    else
      error << i;
    return error << " is read by neither mask nor score; remove it";
  }
  return success();
}

static LogicalResult verifyEntry(func::FuncOp entry) {
  if (failed(verifyName(entry)))
    return failure();
  if (entry.isDeclaration() || !entry.isPublic())
    return entry.emitError()
           << "@" << entry.getSymName()
           << " must be a public function with a body: every function is an entry";
  if (!entry.getBody().hasOneBlock())
    return entry.emitError() << "entry @" << entry.getSymName() << " must have one block";
  AttentionOp attention;
  for (Operation &op : entry.front()) {
    if (auto found = dyn_cast<AttentionOp>(op)) {
      if (attention) {
        InFlightDiagnostic error =
            op.emitError("an entry holds one fa.attention, this is the second; "
                         "put it into a function of its own");
        error.attachNote(attention.getLoc()) << "the first is here";
        return error;
      }
      attention = found;
    } else if (!isa<func::ReturnOp>(op) && !op.hasTrait<OpTrait::ConstantLike>()) {
      return op.emitError() << "an entry holds one fa.attention; '" << op.getName()
                            << "' cannot stand beside it";
    }
  }
  if (!attention)
    return entry.emitError() << "entry @" << entry.getSymName()
                             << " holds no fa.attention; write one, or remove the function";
  for (auto [i, value] : llvm::enumerate(entry.front().getTerminator()->getOperands()))
    if (value.getDefiningOp() != attention)
      return entry.emitError() << "result " << i << " of entry @" << entry.getSymName()
                               << " must be a result of its fa.attention";
  if (entry.getNumResults() == 0)
    return entry.emitError() << "entry @" << entry.getSymName()
                             << " returns nothing; return the output";
  return verifyArguments(entry, attention);
}

static LogicalResult verifyInput(ModuleOp module) {
  bool any = false;
  for (Operation &op : *module.getBody()) {
    auto entry = dyn_cast<func::FuncOp>(op);
    if (!entry)
      return op.emitError() << "'" << op.getName()
                            << "' cannot stand in a module of attention; only func.func can";
    if (failed(verifyEntry(entry)))
      return failure();
    any = true;
  }
  if (!any)
    return module.emitError("the module holds no entry; write a func.func with one fa.attention");
  return success();
}

//===----------------------------------------------------------------------===//
// grad
//===----------------------------------------------------------------------===//

/// Check an entry of gradients: kernels over blocks, and the sums that read what they wrote.
static LogicalResult verifyBackward(func::FuncOp entry) {
  if (failed(verifyName(entry)))
    return failure();
  for (Operation &op : entry.front()) {
    if (!isa<MapBlocksOp, PairwiseOp, SumOp, func::ReturnOp>(op) &&
        !op.hasTrait<OpTrait::ConstantLike>())
      return op.emitError()
             << "an entry of gradients holds fa.map_blocks, fa.pairwise and fa.sum; '"
             << op.getName() << "' cannot stand beside them";
  }
  return success();
}

static LogicalResult verifyGrad(ModuleOp module) {
  bool any = false;
  for (Operation &op : *module.getBody()) {
    auto entry = dyn_cast<func::FuncOp>(op);
    if (!entry)
      return op.emitError() << "'" << op.getName()
                            << "' cannot stand in a module of gradients; only func.func can";
    bool backward = !entry.isDeclaration() &&
                    !(entry.getOps<PairwiseOp>().empty() && entry.getOps<SumOp>().empty());
    any |= backward;
    if (failed(backward ? verifyBackward(entry) : verifyEntry(entry)))
      return failure();
  }
  if (!any)
    return module.emitError(
        "the module holds no entry of gradients (a func.func with fa.pairwise or fa.sum); "
        "use --compile-from=input");
  return success();
}

//===----------------------------------------------------------------------===//
// algorithm, tile
//===----------------------------------------------------------------------===//

static LogicalResult verifyAlgorithm(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    auto rows = dyn_cast<MapBlocksOp>(op);
    bool left = isa<FADialect>(op->getDialect()) && !rows && !isa<YieldOp>(op);
    if (!left && (!rows || rows.isTiled()))
      return WalkResult::advance();
    op->emitError() << "'" << op->getName() << "' is left after phase algorithm";
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

static LogicalResult verifyTile(ModuleOp module) {
  for (Operation &op : *module.getBody()) {
    if (!isa<tile::FuncOp>(op))
      return op.emitError() << "'" << op.getName()
                            << "' is left after phase tile; only tile.func can be";
    if (failed(verifyName(cast<SymbolOpInterface>(op))))
      return failure();
  }
  WalkResult walk = module.walk([](Operation *op) {
    for (Type type : op->getResultTypes()) {
      if (auto reference = dyn_cast<tile::ReferenceType>(type))
        type = reference.getColumn();
      if (auto tensor = dyn_cast<TensorType>(type); tensor && !tensor.hasStaticShape()) {
        op->emitError() << "a tile must have a static shape after phase tile, got " << type;
        return WalkResult::interrupt();
      }
    }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct VerifyPhase : fa::impl::FAVerifyPhaseBase<VerifyPhase> {
  using Base::Base;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    LogicalResult (*verify)(ModuleOp) = llvm::StringSwitch<LogicalResult (*)(ModuleOp)>(phase)
                                            .Case("input", verifyInput)
                                            .Case("grad", verifyGrad)
                                            .Case("algorithm", verifyAlgorithm)
                                            .Case("tile", verifyTile)
                                            .Default(nullptr);
    if (!verify) {
      getOperation()->emitError() << "no phase '" << phase
                                  << "' to verify: expected input, grad, algorithm or tile";
      return signalPassFailure();
    }
    if (failed(verify(getOperation())))
      signalPassFailure();
  }
};
} // namespace
