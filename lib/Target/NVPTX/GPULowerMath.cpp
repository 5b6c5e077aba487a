//===- GPULowerMath.cpp - math functions without a library -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. Refuses what nothing here computes, so that the error names what was
//      written.
//   2. Functions of f16 and bf16 are computed in f32.
//   3. Cuts wide vectors: of 64 elements, a function with 4 temporaries would
//      keep 256 registers busy, for the code of the whole vector comes out op by
//      op. Of slices, it comes out slice by slice.
//   4. Rewrites: ours (LowerMathF32.cpp), and upstream's approximations, whose
//      divisions by numbers of moderate size are made approximate.
//
//===----------------------------------------------------------------------===//

#include "LowerMathF32.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Target/ExpandMath.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_GPULOWERMATH
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

static bool isMath(Operation *op) { return isa_and_nonnull<math::MathDialect>(op->getDialect()); }

/// Return how the GPU computes an op of math; of those that regions cannot hold, by a function.
static region::Lowering loweringOf(Operation *op) {
  const region::RegionOp *line = region::lookUp(op);
  return line ? line->gpu : region::Lowering::Function;
}

/// Return whether the op of math is an instruction, or a few, in every type.
static bool isInstruction(Operation *op) {
  return loweringOf(op) == region::Lowering::Instruction ||
         loweringOf(op) == region::Lowering::Expanded;
}

/// Return whether the rest of the pipeline lowers the op.
static bool isLowered(Operation *op) {
  return loweringOf(op) == region::Lowering::Instruction ||
         loweringOf(op) == region::Lowering::Primitive ||
         (isa<math::RsqrtOp>(op) && getElementTypeOrSelf(op->getResult(0)).isF64());
}

//===----------------------------------------------------------------------===//
// What is refused
//===----------------------------------------------------------------------===//

static InFlightDiagnostic refuse(Operation *op) {
  return op->emitError() << "'" << op->getName() << "' on " << op->getOperand(0).getType()
                         << " cannot be lowered to the GPU; ";
}

static LogicalResult check(Operation *op) {
  // What it expands to in the back end is wrong where the quotient is large.
  if (isa<arith::RemFOp>(op))
    return refuse(op) << region::getRemedy(op);
  if (!isMath(op))
    return success();
  if (auto vector = dyn_cast<ShapedType>(op->getResult(0).getType());
      vector &&
      (!isa<VectorType>(vector) || vector.getRank() != 1 || cast<VectorType>(vector).isScalable()))
    return refuse(op) << "expected a scalar or a vector of rank 1";
  if (isInstruction(op))
    return success();
  if (loweringOf(op) == region::Lowering::Refused)
    return refuse(op) << region::getRemedy(op);
  Type element = getElementTypeOrSelf(op->getResult(0));
  if (!element.isF32() && !element.isF16() && !element.isBF16() &&
      !(element.isF64() && isa<math::RsqrtOp>(op)))
    return refuse(op) << "compute it in f32";
  if (auto power = dyn_cast<math::FPowIOp>(op);
      power && getElementTypeOrSelf(power.getRhs()).getIntOrFloatBitWidth() > 32)
    return refuse(op) << "use an exponent of 32 bits at most";
  return success();
}

//===----------------------------------------------------------------------===//
// Types and sizes
//===----------------------------------------------------------------------===//

static Type withElement(Type type, Type element) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? Type(vector.clone(element)) : element;
}

/// Let functions of 16 bits take and give f32. Products and sums, which the GPU
/// has in 16 bits, stay, and so does what only looks at bits.
static void widen(Operation *op) {
  auto isNarrow = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    return element.isF16() || element.isBF16();
  };
  if (!isNarrow(op->getResult(0).getType()) ||
      isa<math::AbsFOp, math::CopySignOp, math::FmaOp, math::ClampFOp>(op))
    return;
  OpBuilder b(op);
  for (OpOperand &operand : op->getOpOperands())
    if (Type type = operand.get().getType(); isNarrow(type))
      operand.set(
          arith::ExtFOp::create(b, op->getLoc(), withElement(type, b.getF32Type()), operand.get()));
  b.setInsertionPointAfter(op);
  for (OpResult result : op->getResults()) {
    Type type = result.getType();
    result.setType(withElement(type, b.getF32Type()));
    auto narrowed = arith::TruncFOp::create(b, op->getLoc(), type, result);
    result.replaceAllUsesExcept(narrowed, narrowed);
  }
}

/// Return whether a function becomes an instruction or two, without temporaries.
static bool isShort(Operation *op) { return region::lookUp(op) && region::effortOf(op).isShort; }

/// Replaces a function of a wide vector by functions of its slices.
static void cut(Operation *op, int64_t slice) {
  auto whole = dyn_cast<VectorType>(op->getResult(0).getType());
  if (!whole || whole.getNumElements() <= slice)
    return;
  OpBuilder b(op);
  Location loc = op->getLoc();
  SmallVector<Value> results;
  for (Type type : op->getResultTypes())
    results.push_back(arith::ConstantOp::create(b, loc, b.getZeroAttr(type)));
  for (int64_t offset = 0; offset < whole.getNumElements(); offset += slice) {
    int64_t size = std::min(slice, whole.getNumElements() - offset);
    auto cutType = [&](Type type) -> Type {
      return VectorType::get({size}, cast<VectorType>(type).getElementType());
    };
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(
          vector::ExtractStridedSliceOp::create(b, loc, operand, ArrayRef<int64_t>{offset},
                                                ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1}));
    Operation *part = b.clone(*op);
    part->setOperands(operands);
    for (auto [result, partial] : llvm::zip_equal(results, part->getResults())) {
      partial.setType(cutType(partial.getType()));
      result = vector::InsertStridedSliceOp::create(
          b, loc, partial, result, ArrayRef<int64_t>{offset}, ArrayRef<int64_t>{1});
    }
  }
  op->replaceAllUsesWith(results);
  op->erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
/// Divisions that rewriting makes may be approximate.
struct ApproximateDivisions : RewriterBase::Listener {
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (auto division = dyn_cast<arith::DivFOp>(op))
      division.setFastmath(arith::FastMathFlags::afn);
  }
};

struct GPULowerMath : fa::impl::GPULowerMathBase<GPULowerMath> {
  using Base::Base;

  void runOnOperation() override {
    if (slice < 1) {
      getOperation()->emitError() << "slice is " << slice.getValue() << ", expected at least 1";
      return signalPassFailure();
    }
    SmallVector<Operation *> functions;
    WalkResult checked = getOperation()->walk([&](Operation *op) -> WalkResult {
      if (isMath(op))
        functions.push_back(op);
      return check(op);
    });
    if (checked.wasInterrupted())
      return signalPassFailure();
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (Operation *op : functions) {
      widen(op);
      if (auto tanh = dyn_cast<math::TanhOp>(op); tanh && fa::nvptx::hasAbsoluteForm(tanh))
        fa::nvptx::takeFactor(tanh);
      if (!isShort(op))
        cut(op, slice);
    }
    rewrite();
    if (getOperation()->walk(checkLowered).wasInterrupted())
      signalPassFailure();
  }

  /// Rewrites what is left, and what that makes; nothing else is looked at.
  void apply(RewritePatternSet patterns, RewriterBase::Listener *listener = nullptr) {
    SmallVector<Operation *> left;
    getOperation()->walk([&](Operation *op) {
      if (isMath(op) && !isLowered(op))
        left.push_back(op);
    });
    if (left.empty())
      return;
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false).setListener(listener);
    config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    (void)applyOpPatternsGreedily(left, std::move(patterns), config);
  }

  void rewrite() {
    // Ours first: upstream has some of the same functions.
    RewritePatternSet ours(&getContext());
    fa::populateExpandMathPatterns(ours);
    fa::nvptx::populateLowerMathF32Patterns(ours);
    apply(std::move(ours));

    // They divide by polynomials of a clamped argument.
    ApproximateDivisions listener;
    RewritePatternSet rational(&getContext());
    populatePolynomialApproximateErfPattern(rational);
    populatePolynomialApproximateErfcPattern(rational);
    apply(std::move(rational), &listener);

    RewritePatternSet rest(&getContext());
    fa::nvptx::populateLowerMathF32Patterns(rest);
    populateMathPolynomialApproximationPatterns(rest, [](StringRef name) {
      const region::RegionOp *line = region::lookUp(name);
      return line && line->gpu == region::Lowering::Upstream;
    });
    apply(std::move(rest));
  }

  static WalkResult checkLowered(Operation *op) {
    return !isMath(op) || isLowered(op)
               ? WalkResult::advance()
               : WalkResult(refuse(op) << "write it with exp2, log2 or arithmetic");
  }
};
} // namespace
