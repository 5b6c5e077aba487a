//===- BranchTanh.cpp - gpu-branch-tanh -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of tanh with an absolute error (tile.absolute_error), which scores take millions of times:
//
//   1. A constant that multiplies its operand goes into its formula, which has one anyway.
//   2. So does a constant that multiplies all of its results, also where a mask chooses between
//      them and infinity first.
//   3. The greatest magnitude of what a lane has of the operand is taken: of two elements by a
//      maximum of magnitudes, of these as integers, three at a time.
//   4. The warp votes. Where all its operands are small, a polynomial takes the place of the
//      formula; else it votes on slices of sixteen, of which those that are moderate take a longer
//      polynomial. None has a special function.
//
// Both constants are in the polynomials' coefficients. Three rules keep to programs that have the
// registers, for all operands live across the branch: kernels share out registers among roles;
// tiles are not narrow, which they are where more else is live; and the operand is what products
// gave, times a constant, for what else a score is computed from would live there, too.
//
//===----------------------------------------------------------------------===//

#include "LowerMathF32.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include <cmath>

namespace mlir::fa {
#define GEN_PASS_DEF_GPUBRANCHTANH
#include "fa/Target/NVPTX/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;

//===----------------------------------------------------------------------===//
// 1., 2. Constants
//===----------------------------------------------------------------------===//

/// Return the finite number > 0 that all elements are; none where they are not one such constant.
static std::optional<double> getFactor(Value value) {
  if (auto splat = value.getDefiningOp<vector::BroadcastOp>())
    value = splat.getSource();
  APFloat number(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&number)) || !number.isFiniteNonZero() ||
      number.isNegative())
    return std::nullopt;
  return number.convertToFloat();
}

static double getNumber(math::TanhOp tanh, StringRef name) {
  auto number = tanh->getAttrOfType<FloatAttr>(name);
  return number ? number.getValueAsDouble() : 1;
}

bool fa::nvptx::hasAbsoluteForm(math::TanhOp tanh) {
  return tanh->hasAttr(tile::TileDialect::kAbsoluteErrorAttr) &&
         getElementTypeOrSelf(tanh.getType()).isF32();
}

void fa::nvptx::takeFactor(math::TanhOp tanh) {
  auto product = tanh.getOperand().getDefiningOp<arith::MulFOp>();
  std::optional<double> factor = product ? getFactor(product.getRhs()) : std::nullopt;
  // It may have taken one that is multiplied first.
  if (!factor || tanh->hasAttr(kFactor))
    return;
  tanh->setAttr(kFactor, Builder(tanh.getContext()).getF32FloatAttr(*factor));
  tanh.getOperandMutable().assign(product.getLhs());
  if (product->use_empty())
    product->erase();
}

static bool isInfinite(Value value) {
  if (auto splat = value.getDefiningOp<vector::BroadcastOp>())
    value = splat.getSource();
  return matchPattern(value, m_PosInfFloat()) || matchPattern(value, m_NegInfFloat());
}

/// Find products with one constant that all uses of a value end in, perhaps after choices between
/// it and infinity, which is its own product; return the constant, none where some end elsewhere.
static std::optional<double> findProducts(Value value, SmallVectorImpl<arith::MulFOp> &products) {
  llvm::SetVector<Value> chosen;
  chosen.insert(value);
  std::optional<double> factor;
  for (size_t i = 0; i < chosen.size(); ++i)
    for (OpOperand &use : chosen[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto product = dyn_cast<arith::MulFOp>(user)) {
        std::optional<double> number =
            use.getOperandNumber() == 0 ? getFactor(product.getRhs()) : std::nullopt;
        if (!number || (factor && *factor != *number))
          return std::nullopt;
        factor = number;
        products.push_back(product);
      } else if (auto branch = dyn_cast<scf::IfOp>(user->getParentOp());
                 branch && isa<scf::YieldOp>(user)) {
        chosen.insert(branch.getResult(use.getOperandNumber()));
      } else if (isa<arith::SelectOp>(user) && use.getOperandNumber() != 0) {
        chosen.insert(user->getResult(0));
      } else {
        return std::nullopt;
      }
    }
  auto isChosen = [&](Value other) { return chosen.contains(other) || isInfinite(other); };
  for (Value each : chosen.getArrayRef().drop_front()) {
    if (auto select = each.getDefiningOp<arith::SelectOp>()) {
      if (!isChosen(select.getTrueValue()) || !isChosen(select.getFalseValue()))
        return std::nullopt;
      continue;
    }
    auto branch = each.getDefiningOp<scf::IfOp>();
    for (Block *arm : {branch.thenBlock(), branch.elseBlock()})
      if (!isChosen(arm->getTerminator()->getOperand(cast<OpResult>(each).getResultNumber())))
        return std::nullopt;
  }
  return factor;
}

static void takeScale(math::TanhOp tanh) {
  SmallVector<arith::MulFOp> products;
  std::optional<double> scale = findProducts(tanh, products);
  if (!scale)
    return;
  tanh->setAttr(fa::nvptx::kScale, Builder(tanh.getContext()).getF32FloatAttr(*scale));
  for (arith::MulFOp product : products) {
    product.replaceAllUsesWith(product.getLhs());
    product.erase();
  }
}

//===----------------------------------------------------------------------===//
// 3., 4. Branches
//===----------------------------------------------------------------------===//

namespace {
/// tanh x = x (coefficients[0] + x^2 (coefficients[1] + ...)) for |x| <= most. Those of least
/// error; computed in f32 it is within 1.5e-7 for the first, 1.5e-7 + 5e-7 |tanh x| for the second.
struct Series {
  double most;
  SmallVector<double, 6> coefficients;
};
} // namespace

static const Series kShort = {0.28,
                              {0.9999973372636042, -0.33305901797703447, 0.12622840135662527}};
static const Series kLong = {0.9,
                             {0.9999988944976895, -0.3332932674527301, 0.13291522133061762,
                              -0.052062435651598564, 0.017465635959268713, -0.003444021197466185}};

/// Elements of a vector for which code is emitted together.
static constexpr int64_t kSlice = 16;

/// Return the coefficients of scale tanh(factor x) as a series in x; none where f32 has not all.
static SmallVector<double> scaleSeries(const Series &series, double factor, double scale) {
  SmallVector<double> coefficients;
  double power = scale * factor;
  for (double coefficient : series.coefficients) {
    coefficients.push_back(power * coefficient);
    power *= factor * factor;
  }
  // Neither they nor the square of what they are for may leave the range of f32.
  auto fits = [](double x) { return std::abs(x) > 0x1p-120 && std::abs(x) < 0x1p120; };
  double largest = series.most / factor;
  return llvm::all_of(coefficients, fits) && fits(largest * largest) ? coefficients
                                                                     : SmallVector<double>();
}

static Value takeSlice(ImplicitLocOpBuilder &b, Value x, int64_t at, int64_t size) {
  return vector::ExtractStridedSliceOp::create(b, x, ArrayRef<int64_t>{at}, ArrayRef<int64_t>{size},
                                               ArrayRef<int64_t>{1});
}

/// Cut a vector into slices, and put together what is emitted for each. So few temporaries are
/// alive at once.
static Value emitBySlices(ImplicitLocOpBuilder &b, Value x,
                          llvm::function_ref<Value(Value, int64_t)> emit) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(x.getType()));
  for (int64_t at = 0; at < count; at += kSlice) {
    Value part = emit(takeSlice(b, x, at, std::min(kSlice, count - at)), at / kSlice);
    result = vector::InsertStridedSliceOp::create(b, part, result, ArrayRef<int64_t>{at},
                                                  ArrayRef<int64_t>{1});
  }
  return result;
}

/// Emit the greatest of integers.
static Value emitGreatest(ImplicitLocOpBuilder &b, ArrayRef<Value> numbers) {
  Value greatest = numbers.front();
  for (Value number : numbers.drop_front())
    greatest = arith::MaxSIOp::create(b, greatest, number);
  return greatest;
}

/// Emit the greatest magnitude of each slice of a lane's elements as the bits of a number, those of
/// NaN if any is. Not by math.absf: what the formula takes of that would stand in registers before
/// the branch, where it is no more than a modifier of an operand.
static SmallVector<Value> emitMagnitudes(ImplicitLocOpBuilder &b, Value x) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<Value> slices, pairs;
  for (int64_t i = 0; i < count; i += 2) {
    Value one = vector::ExtractOp::create(b, x, i);
    Value other = vector::ExtractOp::create(b, x, std::min(i + 1, count - 1));
    pairs.push_back(LLVM::InlineAsmOp::create(
                        b, b.getI32Type(), ValueRange{one, other},
                        "{\n\t.reg .f32 a, b;\n\tabs.ftz.f32 a, $1;\n\tabs.ftz.f32 b, $2;\n\t"
                        "max.NaN.ftz.f32 a, a, b;\n\tmov.b32 $0, a;\n\t}",
                        "=r,f,f", /*has_side_effects=*/false, /*is_align_stack=*/false,
                        LLVM::tailcallkind::TailCallKind::None,
                        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
                        /*operand_attrs=*/ArrayAttr())
                        .getResult(0));
    if ((i + 2) % kSlice == 0 || i + 2 >= count) {
      slices.push_back(emitGreatest(b, pairs));
      pairs.clear();
    }
  }
  return slices;
}

/// Emit whether that of any lane of the warp is larger than a number; NaN is.
static Value emitIsLarge(ImplicitLocOpBuilder &b, Value greatest, double number) {
  int64_t bits = llvm::bit_cast<int32_t>(static_cast<float>(number));
  Value limit = arith::ConstantIntOp::create(b, bits, 32);
  Value isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, greatest, limit);
  Value all = arith::ConstantIntOp::create(b, -1, 32);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), all, isLarge, NVVM::VoteSyncKind::any);
}

static Value emitSeries(ImplicitLocOpBuilder &b, Value x, ArrayRef<double> coefficients) {
  auto real = [&](double number) -> Value {
    Attribute value = b.getF32FloatAttr(static_cast<float>(number));
    return arith::ConstantOp::create(b,
                                     DenseElementsAttr::get(cast<VectorType>(x.getType()), value));
  };
  Value square = arith::MulFOp::create(b, x, x), sum = real(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = math::FmaOp::create(b, sum, square, real(coefficient));
  return arith::MulFOp::create(b, x, sum);
}

/// Emit a branch on what is true of a warp.
static Value emitBranch(ImplicitLocOpBuilder &b, Type type, Value condition,
                        llvm::function_ref<Value()> then, llvm::function_ref<Value()> other) {
  auto branch = scf::IfOp::create(b, TypeRange(type), condition, true, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, other());
  return branch.getResult(0);
}

/// Branch to the short series where it is right for the whole vector, else for each slice to the
/// long one or the formula.
static void branchOnSize(math::TanhOp tanh) {
  double factor = getNumber(tanh, fa::nvptx::kFactor), scale = getNumber(tanh, fa::nvptx::kScale);
  SmallVector<double> small = scaleSeries(kShort, factor, scale),
                      moderate = scaleSeries(kLong, factor, scale);
  if (small.empty() || moderate.empty())
    return;
  ImplicitLocOpBuilder b(tanh.getLoc(), tanh);
  Value x = tanh.getOperand();
  SmallVector<Value> magnitudes = emitMagnitudes(b, x);
  auto emitFormula = [&](Value slice) -> Value {
    auto part = math::TanhOp::create(b, slice);
    part->setAttrs(tanh->getAttrs());
    return part;
  };
  auto emitLarger = [&](Value slice, int64_t number) {
    return emitBranch(
        b, slice.getType(), emitIsLarge(b, magnitudes[number], kLong.most / factor),
        [&] { return emitFormula(slice); }, [&] { return emitSeries(b, slice, moderate); });
  };
  Value result = emitBranch(
      b, x.getType(), emitIsLarge(b, emitGreatest(b, magnitudes), kShort.most / factor),
      [&] { return emitBySlices(b, x, emitLarger); },
      [&] {
        return emitBySlices(b, x,
                            [&](Value slice, int64_t) { return emitSeries(b, slice, small); });
      });
  tanh.replaceAllUsesWith(result);
  tanh.erase();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// Return whether the kernel shares out its registers among roles.
static bool hasRoles(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && function->walk([](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); })
                         .wasInterrupted();
}

/// Return whether arithmetic made it of other values.
static bool isComputed(Value value) {
  Operation *op = value.getDefiningOp();
  return op && isa<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

namespace {
struct GPUBranchTanh : fa::impl::GPUBranchTanhBase<GPUBranchTanh> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<math::TanhOp> functions;
    getOperation()->walk([&](math::TanhOp tanh) {
      if (fa::nvptx::hasAbsoluteForm(tanh) && hasRoles(tanh))
        functions.push_back(tanh);
    });
    if (functions.empty())
      return markAllAnalysesPreserved();
    for (math::TanhOp tanh : functions) {
      fa::nvptx::takeFactor(tanh);
      auto type = dyn_cast<VectorType>(tanh.getType());
      if (!type || type.getNumElements() < fewest || isComputed(tanh.getOperand()))
        continue;
      takeScale(tanh);
      branchOnSize(tanh);
    }
  }
};
} // namespace
