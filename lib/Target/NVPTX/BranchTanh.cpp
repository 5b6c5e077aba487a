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
//      formula, a longer one where they are moderate. None has a special function.
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
  ArrayRef<double> coefficients;
};
} // namespace

static constexpr double kShort[] = {0.9999973372636042, -0.33305901797703447, 0.12622840135662527};
static constexpr double kLong[] = {0.9999988944976895,   -0.3332932674527301,
                                   0.13291522133061762,  -0.052062435651598564,
                                   0.017465635959268713, -0.003444021197466185};
static const Series kSeries[] = {{0.28, kShort}, {0.9, kLong}};

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

/// Emit the greatest magnitude of a lane's elements as the bits of a number, those of NaN if any
/// is. Not by math.absf: what the formula takes of that would stand in registers before the branch,
/// where it is no more than a modifier of an operand.
static Value emitGreatest(ImplicitLocOpBuilder &b, Value x) {
  int64_t count = cast<VectorType>(x.getType()).getNumElements();
  SmallVector<Value> sizes;
  for (int64_t i = 0; i < count; i += 2) {
    Value one = vector::ExtractOp::create(b, x, i);
    Value other = vector::ExtractOp::create(b, x, std::min(i + 1, count - 1));
    sizes.push_back(LLVM::InlineAsmOp::create(
                        b, b.getI32Type(), ValueRange{one, other},
                        "{\n\t.reg .f32 a, b;\n\tabs.ftz.f32 a, $1;\n\tabs.ftz.f32 b, $2;\n\t"
                        "max.NaN.ftz.f32 a, a, b;\n\tmov.b32 $0, a;\n\t}",
                        "=r,f,f", /*has_side_effects=*/false, /*is_align_stack=*/false,
                        LLVM::tailcallkind::TailCallKind::None,
                        LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
                        /*operand_attrs=*/ArrayAttr())
                        .getResult(0));
  }
  // Four chains: an instruction takes three of a chain.
  constexpr size_t kChains = 4;
  for (size_t i = kChains; i < sizes.size(); ++i)
    sizes[i % kChains] = arith::MaxSIOp::create(b, sizes[i % kChains], sizes[i]);
  for (size_t i = 1; i < std::min(kChains, sizes.size()); ++i)
    sizes[0] = arith::MaxSIOp::create(b, sizes[0], sizes[i]);
  return sizes[0];
}

/// Emit whether that of any lane of the warp is larger than a number; NaN is.
static Value emitIsLarge(ImplicitLocOpBuilder &b, Value greatest, double number) {
  int64_t bits = llvm::bit_cast<int32_t>(static_cast<float>(number));
  Value limit = arith::ConstantIntOp::create(b, bits, 32);
  Value isLarge = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, greatest, limit);
  Value all = arith::ConstantIntOp::create(b, -1, 32);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), all, isLarge, NVVM::VoteSyncKind::any);
}

/// Emit the series, slice by slice, so that few temporaries are alive at once.
static Value emitSeries(ImplicitLocOpBuilder &b, Value x, ArrayRef<double> coefficients) {
  constexpr int64_t kSlice = 8;
  auto whole = cast<VectorType>(x.getType());
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(whole));
  for (int64_t at = 0; at < whole.getNumElements(); at += kSlice) {
    int64_t size = std::min(kSlice, whole.getNumElements() - at);
    auto type = VectorType::get(size, whole.getElementType());
    auto real = [&](double number) -> Value {
      auto value = b.getF32FloatAttr(static_cast<float>(number));
      return arith::ConstantOp::create(b, DenseElementsAttr::get(type, Attribute(value)));
    };
    Value part = vector::ExtractStridedSliceOp::create(
        b, x, ArrayRef<int64_t>{at}, ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
    Value square = arith::MulFOp::create(b, part, part), sum = real(coefficients.back());
    for (double coefficient : llvm::reverse(coefficients.drop_back()))
      sum = math::FmaOp::create(b, sum, square, real(coefficient));
    result = vector::InsertStridedSliceOp::create(b, arith::MulFOp::create(b, part, sum), result,
                                                  ArrayRef<int64_t>{at}, ArrayRef<int64_t>{1});
  }
  return result;
}

/// Branch to the series, the shortest one that is right.
static void branchOnSize(math::TanhOp tanh) {
  double factor = getNumber(tanh, fa::nvptx::kFactor);
  ImplicitLocOpBuilder b(tanh.getLoc(), tanh);
  Value x = tanh.getOperand(), greatest;
  scf::IfOp outermost;
  for (const Series &series : kSeries) {
    SmallVector<double> coefficients =
        scaleSeries(series, factor, getNumber(tanh, fa::nvptx::kScale));
    if (coefficients.empty())
      continue;
    if (!greatest)
      greatest = emitGreatest(b, x);
    Value isLarge = emitIsLarge(b, greatest, series.most / factor);
    auto branch = scf::IfOp::create(b, TypeRange(x.getType()), isLarge, true, true);
    if (outermost)
      scf::YieldOp::create(b, branch.getResults());
    else
      outermost = branch;
    b.setInsertionPointToEnd(branch.elseBlock());
    scf::YieldOp::create(b, emitSeries(b, x, coefficients));
    b.setInsertionPointToEnd(branch.thenBlock());
  }
  if (!outermost)
    return;
  tanh.replaceAllUsesWith(outermost.getResult(0));
  tanh->moveBefore(b.getInsertionBlock(), b.getInsertionPoint());
  scf::YieldOp::create(b, tanh.getResult());
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
