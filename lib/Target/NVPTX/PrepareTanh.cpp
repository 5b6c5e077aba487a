//===- PrepareTanh.cpp - constants and a branch around tanh -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of tanh with an absolute error (tile.absolute_error), which scores take millions of times:
//
//   1. a constant that multiplies its operand goes into its formula, which has one anyway;
//   2. in kernels with roles, so does a constant that multiplies all of its results, also
//      where a mask chooses between them and infinity first;
//   3. there, where all operands of a warp are small, which is tested first, a polynomial takes
//      its place: six operations without a special function, where the formula takes 1.25 of
//      these and nine operations.
//
//===----------------------------------------------------------------------===//

#include "LowerMathF32.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

//===----------------------------------------------------------------------===//
// 1., 2. Constants
//===----------------------------------------------------------------------===//

/// Return the number that all elements are; none where they are not one constant.
static std::optional<double> getSplat(Value value) {
  if (auto splat = value.getDefiningOp<vector::BroadcastOp>())
    value = splat.getSource();
  APFloat number(0.0f);
  if (!matchPattern(value, m_ConstantFloat(&number)))
    return std::nullopt;
  return number.convertToFloat();
}

static bool isFactor(std::optional<double> number) {
  return number && std::isfinite(*number) && *number > 0;
}

static void takeFactor(math::TanhOp tanh) {
  auto product = tanh.getOperand().getDefiningOp<arith::MulFOp>();
  std::optional<double> factor = product ? getSplat(product.getRhs()) : std::nullopt;
  if (!isFactor(factor))
    return;
  tanh->setAttr(fa::nvptx::kFactor, Builder(tanh.getContext()).getF32FloatAttr(*factor));
  tanh.getOperandMutable().assign(product.getLhs());
  if (product->use_empty())
    product->erase();
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
            use.getOperandNumber() == 0 ? getSplat(product.getRhs()) : std::nullopt;
        if (!isFactor(number) || (factor && *factor != *number))
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
  auto isChosen = [&](Value other) {
    std::optional<double> number = getSplat(other);
    return chosen.contains(other) || (number && std::isinf(*number));
  };
  for (Value each : chosen.getArrayRef().drop_front()) {
    Operation *op = each.getDefiningOp();
    unsigned number = cast<OpResult>(each).getResultNumber();
    if (auto select = dyn_cast<arith::SelectOp>(op)) {
      if (!isChosen(select.getTrueValue()) || !isChosen(select.getFalseValue()))
        return std::nullopt;
      continue;
    }
    for (Block *arm : {cast<scf::IfOp>(op).thenBlock(), cast<scf::IfOp>(op).elseBlock()})
      if (!isChosen(arm->getTerminator()->getOperand(number)))
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
// 3. Small operands
//===----------------------------------------------------------------------===//

/// tanh x = x (kSeries[0] + x^2 (kSeries[1] + ...)) within 1e-7 for |x| <= kSmall, in f32.
static constexpr double kSmall = 0.65;
static constexpr double kSeries[] = {0.9999992270941189, -0.3332956144716825, 0.13281442026760437,
                                     -0.05100130989121394, 0.014083168781143391};

/// Return the coefficients of scale tanh(factor x) as a series in x; none where f32 has not all.
static SmallVector<double> scaleSeries(double factor, double scale) {
  SmallVector<double> coefficients;
  double power = scale * factor;
  for (double coefficient : kSeries) {
    coefficients.push_back(power * coefficient);
    power *= factor * factor;
  }
  double largest = kSmall / factor;
  bool fits = llvm::all_of(coefficients, [](double coefficient) {
    return std::abs(coefficient) > 0x1p-126 && std::abs(coefficient) < 0x1p126;
  });
  return fits && largest * largest < 0x1p126 ? coefficients : SmallVector<double>();
}

/// Emit whether any operand of a warp is larger than that, or NaN.
static Value emitIsLarge(ImplicitLocOpBuilder &b, Value x, double largest) {
  constexpr int64_t kChains = 4;
  SmallVector<Value> greatest;
  for (int64_t i = 0; i < cast<VectorType>(x.getType()).getNumElements(); ++i) {
    // Not llvm.fabs: what the formula takes of it would stand before the branch, in registers,
    // where it is no more than a modifier of an operand.
    Value element = vector::ExtractOp::create(b, x, i);
    Value size = LLVM::InlineAsmOp::create(
                     b, b.getF32Type(), element, "abs.ftz.f32 $0, $1;", "=f,f",
                     /*has_side_effects=*/false, /*is_align_stack=*/false,
                     LLVM::tailcallkind::TailCallKind::None,
                     LLVM::AsmDialectAttr::get(b.getContext(), LLVM::AsmDialect::AD_ATT),
                     /*operand_attrs=*/ArrayAttr())
                     .getResult(0);
    if (i < kChains)
      greatest.push_back(size);
    else
      greatest[i % kChains] = arith::MaximumFOp::create(b, greatest[i % kChains], size);
  }
  for (size_t i = 1; i < greatest.size(); ++i)
    greatest[0] = arith::MaximumFOp::create(b, greatest[0], greatest[i]);
  Value limit = arith::ConstantOp::create(b, b.getF32FloatAttr(static_cast<float>(largest)));
  Value isLarge = arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, greatest[0], limit);
  Value all = arith::ConstantIntOp::create(b, -1, 32);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), all, isLarge, NVVM::VoteSyncKind::any);
}

/// Emit the series, slice by slice, so that few temporaries are alive at once.
static Value emitSeries(ImplicitLocOpBuilder &b, Value x, ArrayRef<double> coefficients,
                        int64_t slice) {
  auto whole = cast<VectorType>(x.getType());
  Value result = arith::ConstantOp::create(b, b.getZeroAttr(whole));
  for (int64_t at = 0; at < whole.getNumElements(); at += slice) {
    int64_t size = std::min(slice, whole.getNumElements() - at);
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

/// Return whether the kernel shares out its registers among roles, so that its warps compute while
/// the tensor cores work for others. In others, all registers are taken, and more constants and a
/// branch cost more than they save.
static bool hasRoles(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function && function->walk([](NVVM::SetMaxRegisterOp) { return WalkResult::interrupt(); })
                         .wasInterrupted();
}

/// Branch to the series. Of few elements, the test and the branch take longer than they save.
static void branchOnSize(math::TanhOp tanh, int64_t slice) {
  constexpr int64_t kFewest = 16;
  auto type = dyn_cast<VectorType>(tanh.getType());
  if (!type || type.getNumElements() < kFewest)
    return;
  auto get = [&](StringRef name) {
    auto number = tanh->getAttrOfType<FloatAttr>(name);
    return number ? number.getValueAsDouble() : 1;
  };
  double factor = get(fa::nvptx::kFactor);
  SmallVector<double> coefficients = scaleSeries(factor, get(fa::nvptx::kScale));
  if (coefficients.empty())
    return;
  ImplicitLocOpBuilder b(tanh.getLoc(), tanh);
  Value x = tanh.getOperand(), isLarge = emitIsLarge(b, x, kSmall / factor);
  auto branch = scf::IfOp::create(b, TypeRange(type), isLarge, true, true);
  tanh.replaceAllUsesWith(branch.getResult(0));
  tanh->moveBefore(branch.thenBlock(), branch.thenBlock()->end());
  b.setInsertionPointToEnd(branch.thenBlock());
  scf::YieldOp::create(b, tanh.getResult());
  b.setInsertionPointToEnd(branch.elseBlock());
  scf::YieldOp::create(b, emitSeries(b, x, coefficients, 2 * slice));
}

void fa::nvptx::prepareTanh(Operation *op, int64_t slice) {
  auto tanh = dyn_cast<math::TanhOp>(op);
  if (!tanh || !tanh->hasAttr(tile::TileDialect::kAbsoluteErrorAttr) ||
      !getElementTypeOrSelf(tanh.getType()).isF32())
    return;
  takeFactor(tanh);
  if (!hasRoles(tanh))
    return;
  takeScale(tanh);
  branchOnSize(tanh, slice);
}
