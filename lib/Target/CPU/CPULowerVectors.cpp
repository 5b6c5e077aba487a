//===- CPULowerVectors.cpp - cpu-lower-vectors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Target/CPU/Passes.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/LoweringPatterns.h"
#include "mlir/Dialect/Vector/Transforms/VectorRewritePatterns.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CPULOWERVECTORS
#include "fa/Target/CPU/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Combine two values, the second of which is no NaN where they are of maxnum and minnum, whose
/// rule on NaN would take three instructions: a compare and a select are one.
static Value combine(OpBuilder &b, Location loc, vector::CombiningKind kind, Value x, Value y) {
  auto select = [&](arith::CmpFPredicate predicate) -> Value {
    return arith::SelectOp::create(b, loc, arith::CmpFOp::create(b, loc, predicate, x, y), x, y);
  };
  if (kind == vector::CombiningKind::MAXNUMF)
    return select(arith::CmpFPredicate::OGT);
  if (kind == vector::CombiningKind::MINNUMF)
    return select(arith::CmpFPredicate::OLT);
  return vector::makeArithReduction(b, loc, kind, x, y);
}

/// Return what has no NaN and gives the same: of maxima, -infinity in its place.
static Value withoutNaN(OpBuilder &b, Location loc, vector::CombiningKind kind, Value x) {
  bool isMax = kind == vector::CombiningKind::MAXNUMF;
  if (!isMax && kind != vector::CombiningKind::MINNUMF)
    return x;
  Type type = x.getType();
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr least = b.getFloatAttr(
      element, llvm::APFloat::getInf(element.getFloatSemantics(), /*Negative=*/isMax));
  if (auto vector = dyn_cast<VectorType>(type))
    least = DenseElementsAttr::get(vector, Attribute(least));
  return combine(b, loc, kind, x, arith::ConstantOp::create(b, loc, least));
}

/// Reduce by halving the vector until one element is left; `mayBeNaN` says of elements that they
/// are as the program has them.
static Value reduceTree(OpBuilder &b, Location loc, vector::CombiningKind kind, Value vector,
                        bool mayBeNaN = true) {
  int64_t size = cast<VectorType>(vector.getType()).getNumElements();
  auto clean = [&](Value x) { return mayBeNaN ? withoutNaN(b, loc, kind, x) : x; };
  if (size == 1)
    return clean(vector::ExtractOp::create(b, loc, vector, ArrayRef<int64_t>{0}));
  auto slice = [&](int64_t offset, int64_t count) -> Value {
    return vector::ExtractStridedSliceOp::create(b, loc, vector, ArrayRef<int64_t>{offset},
                                                 ArrayRef<int64_t>{count}, ArrayRef<int64_t>{1});
  };
  int64_t half = llvm::PowerOf2Ceil(size) / 2;
  if (2 * half == size)
    return reduceTree(b, loc, kind, combine(b, loc, kind, slice(0, half), clean(slice(half, half))),
                      /*mayBeNaN=*/false);
  Value low = reduceTree(b, loc, kind, slice(0, half), mayBeNaN);
  return combine(b, loc, kind, low, reduceTree(b, loc, kind, slice(half, size - half), mayBeNaN));
}

namespace {
struct LowerReduction : OpRewritePattern<vector::MultiDimReductionOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::MultiDimReductionOp op,
                                PatternRewriter &rewriter) const override {
    VectorType type = op.getSourceVectorType();
    SmallVector<bool> mask = op.getReductionMask();
    Location loc = op.getLoc();
    if (type.getRank() == 1) {
      Value value = reduceTree(rewriter, loc, op.getKind(), op.getSource());
      rewriter.replaceOp(op, combine(rewriter, loc, op.getKind(), op.getAcc(), value));
      return success();
    }
    if (type.getRank() != 2 || mask[0] == mask[1])
      return rewriter.notifyMatchFailure(op, "reduces other than rows or columns");
    auto row = [&](int64_t i) -> Value {
      return vector::ExtractOp::create(rewriter, loc, op.getSource(), ArrayRef<int64_t>{i});
    };
    Value result = op.getAcc();
    if (mask[0]) {
      result = withoutNaN(rewriter, loc, op.getKind(), result);
      for (int64_t i = 0; i < type.getDimSize(0); ++i)
        result = combine(rewriter, loc, op.getKind(), row(i), result);
    } else {
      SmallVector<Value> sums;
      for (int64_t i = 0; i < type.getDimSize(0); ++i)
        sums.push_back(reduceTree(rewriter, loc, op.getKind(), row(i)));
      Value rows =
          vector::FromElementsOp::create(rewriter, loc, cast<VectorType>(result.getType()), sums);
      result = combine(rewriter, loc, op.getKind(), result, rows);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Masked loads
//===----------------------------------------------------------------------===//

/// Return how many lanes a mask has up to the last one that constants in it leave open.
static int64_t countOpenLanes(Value mask) {
  DenseElementsAttr constant;
  if (matchPattern(mask, m_Constant(&constant))) {
    auto lanes = llvm::to_vector(constant.getValues<bool>());
    while (!lanes.empty() && !lanes.back())
      lanes.pop_back();
    return lanes.size();
  }
  if (auto both = mask.getDefiningOp<arith::AndIOp>())
    return std::min(countOpenLanes(both.getLhs()), countOpenLanes(both.getRhs()));
  return cast<VectorType>(mask.getType()).getNumElements();
}

namespace {
/// Load no lanes that a mask hides for certain at the end of a vector. For AVX2, LLVM 22 loads a
/// whole register without a mask where all lanes of the register are hidden by a constant, but not
/// all of the vector: `and <16 x i1> %splat, <i1 true, ..., i1 false>`, the last eight false.
struct ShortenMaskedLoad : OpRewritePattern<vector::MaskedLoadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(vector::MaskedLoadOp op, PatternRewriter &rewriter) const override {
    VectorType type = op.getVectorType();
    int64_t open = type.getRank() == 1 ? countOpenLanes(op.getMask()) : type.getNumElements();
    if (open == type.getNumElements())
      return rewriter.notifyMatchFailure(op, "its last lane may be loaded");
    if (open == 0) {
      rewriter.replaceOp(op, op.getPassThru());
      return success();
    }
    auto first = [&](Value vector) -> Value {
      return rewriter.createOrFold<vector::ExtractStridedSliceOp>(
          op.getLoc(), vector, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{open}, ArrayRef<int64_t>{1});
    };
    Value mask = first(op.getMask()), passThru = first(op.getPassThru());
    Value loaded =
        vector::MaskedLoadOp::create(rewriter, op.getLoc(), cast<VectorType>(passThru.getType()),
                                     op.getBase(), op.getIndices(), mask, passThru);
    rewriter.replaceOpWithNewOp<vector::InsertStridedSliceOp>(
        op, loaded, op.getPassThru(), ArrayRef<int64_t>{0}, ArrayRef<int64_t>{1});
    return success();
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// Math
//===----------------------------------------------------------------------===//

/// Return whether the op is of math and computed so.
static bool isMathBy(Operation *op, ArrayRef<region::Lowering> lowerings) {
  const region::RegionOp *line = region::lookUp(op);
  return line && isa<math::MathDialect>(op->getDialect()) &&
         llvm::is_contained(lowerings, line->cpu);
}

namespace {
/// Count leading zeros in the next width that is a power of two, which upstream's expansion takes.
struct WidenCtlz : OpRewritePattern<math::CountLeadingZerosOp> {
  // Before upstream's expansion.
  explicit WidenCtlz(MLIRContext *context) : OpRewritePattern(context, /*benefit=*/10) {}

  LogicalResult matchAndRewrite(math::CountLeadingZerosOp op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getType();
    unsigned width = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
    unsigned wide = llvm::PowerOf2Ceil(width);
    if (wide == width)
      return rewriter.notifyMatchFailure(op, "a power of two");
    ImplicitLocOpBuilder b(op.getLoc(), rewriter);
    Type wider = b.getIntegerType(wide);
    TypedAttr more = b.getIntegerAttr(wider, wide - width);
    if (auto vector = dyn_cast<VectorType>(type)) {
      wider = vector.clone(wider);
      more = DenseElementsAttr::get(cast<VectorType>(wider), Attribute(more));
    }
    Value count =
        math::CountLeadingZerosOp::create(b, arith::ExtUIOp::create(b, wider, op.getOperand()));
    count = arith::SubIOp::create(b, count, arith::ConstantOp::create(b, more));
    rewriter.replaceOpWithNewOp<arith::TruncIOp>(op, type, count);
    return success();
  }
};
} // namespace

/// Add the functions; those of f16 and bf16 have been made f32 before.
static void populateMathPatterns(RewritePatternSet &patterns) {
  fa::cpu::populateLowerMathPatterns(patterns);
  fa::cpu::populateLowerMathF64Patterns(patterns);
  patterns.add<WidenCtlz>(patterns.getContext());
  math::populateExpansionPatterns(patterns, {"ctlz", "rsqrt"});
  auto approximated = [](StringRef name) {
    const region::RegionOp *line = region::lookUp(name);
    return line && line->cpu == region::Lowering::Upstream;
  };
  populateMathPolynomialApproximationPatterns(patterns, approximated);
}

/// Would LLVM call a library for an op that is no function? Remainders of floats,
/// integers beyond 64 bits, floats of other formats, and f64 to 16 bits.
static StringRef needsLibrary(Operation *op) {
  auto isKnown = [](Type type) {
    Type element = getElementTypeOrSelf(type);
    if (auto integer = dyn_cast<IntegerType>(element))
      return integer.getWidth() <= 64;
    return !isa<FloatType>(element) || element.isF64() || element.isF32() || element.isF16() ||
           element.isBF16();
  };
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()))
    return {};
  if (isa<arith::RemFOp>(op))
    return region::getRemedy(op);
  if (isa<arith::TruncFOp>(op) && getElementTypeOrSelf(op->getOperand(0)).isF64() &&
      getElementTypeOrSelf(op->getResult(0)).getIntOrFloatBitWidth() == 16)
    return "round to f32 first";
  if (!llvm::all_of(op->getOperandTypes(), isKnown) || !llvm::all_of(op->getResultTypes(), isKnown))
    return "use integers of 64 bits at most, f16, bf16, f32 or f64";
  return {};
}

/// Return what to write instead of a function that is refused.
static StringRef getRemedy(Operation *op) {
  if (getElementTypeOrSelf(op->getResult(0)).isF64())
    return "compute it in f32";
  if (StringRef remedy = region::getRemedy(op); !remedy.empty())
    return remedy;
  if (isa<math::FPowIOp>(op))
    return "use an exponent of 32 bits at most";
  return "write it with exp2, log2 or arithmetic";
}

static LogicalResult refuse(Operation *op) {
  return op->emitError() << "'" << op->getName() << "' on " << op->getResult(0).getType()
                         << " has no approximation on the cpu; " << getRemedy(op);
}

/// Check before any is expanded, so that the error names what was written.
static LogicalResult checkF64(func::FuncOp func) {
  WalkResult result = func.walk([](Operation *op) -> WalkResult {
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isMathBy(op, {region::Lowering::Instruction, region::Lowering::Expanded}) ||
        !getElementTypeOrSelf(op->getResult(0)).isF64())
      return WalkResult::advance();
    return refuse(op);
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkMath(func::FuncOp func) {
  WalkResult result = func.walk([](Operation *op) -> WalkResult {
    if (StringRef remedy = needsLibrary(op); !remedy.empty()) {
      op->emitError() << "'" << op->getName() << "' on " << op->getOperand(0).getType()
                      << " cannot be lowered to the cpu; " << remedy;
      return WalkResult::interrupt();
    }
    if (!isa_and_nonnull<math::MathDialect>(op->getDialect()) ||
        isMathBy(op, region::Lowering::Instruction))
      return WalkResult::advance();
    return refuse(op);
  });
  return failure(result.wasInterrupted());
}

/// Have each op of 16 bits round its result: what upstream computes in f32 it lets folds contract.
static void keepRoundings(func::FuncOp func) {
  func.walk([](Operation *op) {
    if (isa<arith::ExtFOp, arith::TruncFOp>(op))
      op->setAttr("fastmath",
                  arith::FastMathFlagsAttr::get(op->getContext(), arith::FastMathFlags::none));
  });
}

/// Check that arithmetic is of scalars and vectors.
static LogicalResult checkVectors(func::FuncOp func) {
  WalkResult result = func.walk([](Operation *op) {
    if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect()) ||
        llvm::none_of(op->getResultTypes(), [](Type type) { return isa<TensorType>(type); }))
      return WalkResult::advance();
    op->emitError() << "computes tensors, expected vectors; run cpu-bufferize and cpu-vectorize "
                       "first";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct CPULowerVectors : fa::impl::CPULowerVectorsBase<CPULowerVectors> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    MLIRContext *context = &getContext();

    if (failed(checkVectors(func)) || failed(checkF64(func)))
      return signalPassFailure();
    keepRoundings(func);

    // Rows of one element less: vector<1x64> is vector<64>.
    RewritePatternSet rank(context);
    vector::populateCastAwayVectorLeadingOneDimPatterns(rank);
    (void)applyPatternsGreedily(func, std::move(rank));

    RewritePatternSet patterns(context);
    patterns.add<LowerReduction>(context);
    populateMathPatterns(patterns);
    vector::populateVectorContractLoweringPatterns(patterns,
                                                   vector::VectorContractLowering::OuterProduct);
    vector::populateVectorOuterProductLoweringPatterns(patterns);
    vector::populateVectorTransposeLoweringPatterns(patterns,
                                                    vector::VectorTransposeLowering::Shuffle16x16);
    vector::populateVectorBroadcastLoweringPatterns(patterns);
    vector::populateVectorShapeCastLoweringPatterns(patterns);
    vector::populateVectorTransferLoweringPatterns(patterns, /*maxTransferRank=*/1);
    vector::populateVectorStepLoweringPatterns(patterns);
    vector::populateVectorMaskOpLoweringPatterns(patterns);
    vector::populateScalarVectorTransferLoweringPatterns(patterns, /*benefit=*/1,
                                                         /*allowMultipleUses=*/false);
    populateVectorToSCFConversionPatterns(patterns,
                                          VectorTransferToSCFOptions().enableFullUnroll());
    (void)applyPatternsGreedily(func, std::move(patterns));

    RewritePatternSet loads(context);
    loads.add<ShortenMaskedLoad>(context);
    (void)applyPatternsGreedily(func, std::move(loads));
    if (failed(checkMath(func)))
      signalPassFailure();
  }
};
} // namespace
