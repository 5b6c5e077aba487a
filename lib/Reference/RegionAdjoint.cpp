//===- RegionAdjoint.cpp - derivatives of score regions, in reverse -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. `partialsOf` gives the derivative of an instruction by each operand, none for an operand
//    that gets nothing: one that was not returned, or |x| at 0.
// 2. `RegionAdjoint` sums partial * adjoint from the yielded slot back to s and the captures.
// 3. `checkDifferentiable` finds ops without a derivative, before anything is computed.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionAdjoint.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Reference/RegionCode.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseSet.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Partial derivatives
//===----------------------------------------------------------------------===//

/// Return whether the derivative of an op is 0 whatever it is given: what it returns steps.
static bool isStep(RegionCode code) {
  switch (code) {
  case RegionCode::Ceil:
  case RegionCode::Floor:
  case RegionCode::Round:
  case RegionCode::RoundEven:
  case RegionCode::Trunc:
  case RegionCode::FPToSI:
  case RegionCode::FPToUI:
  case RegionCode::CmpF:
  case RegionCode::CmpI:
  case RegionCode::IsFinite:
  case RegionCode::IsInf:
  case RegionCode::IsNaN:
  case RegionCode::IsNormal:
    return true;
  default:
    return false;
  }
}

template <typename Real> using Partials = std::array<std::optional<Real>, 3>;

/// Return the derivative of a function of one number at `x`, where it is `y`.
template <typename Real> static Real derivativeOf(RegionCode code, Real x, Real y) {
  constexpr Real ln2 = Real(0.693147180559945309417), ln10 = Real(2.302585092994045684018);
  constexpr Real twoOverRootPi = Real(1.128379167095512573896);
  switch (code) {
  case RegionCode::Copy:
    return Real(1);
  case RegionCode::NegF:
    return Real(-1);
  case RegionCode::Acos:
    return -1 / std::sqrt((1 - x) * (1 + x));
  case RegionCode::Acosh:
    return std::fabs(x) > Real(1e9) ? 1 / std::fabs(x) : 1 / std::sqrt((x - 1) * (x + 1));
  case RegionCode::Asin:
    return 1 / std::sqrt((1 - x) * (1 + x));
  case RegionCode::Asinh:
    return 1 / std::hypot(x, Real(1));
  case RegionCode::Atan:
    return 1 / (1 + x * x);
  case RegionCode::Atanh:
    return 1 / ((1 - x) * (1 + x));
  case RegionCode::Cbrt:
    return 1 / (3 * y * y);
  case RegionCode::Cos:
    return -std::sin(x);
  case RegionCode::Cosh:
    return std::sinh(x);
  case RegionCode::Erf:
    return twoOverRootPi * std::exp(-x * x);
  case RegionCode::Erfc:
    return -twoOverRootPi * std::exp(-x * x);
  case RegionCode::Exp:
    return y;
  case RegionCode::Exp2:
    return y * ln2;
  case RegionCode::ExpM1:
    return std::exp(x);
  case RegionCode::Log:
    return 1 / x;
  case RegionCode::Log10:
    return 1 / (x * ln10);
  case RegionCode::Log1p:
    return 1 / (1 + x);
  case RegionCode::Log2:
    return 1 / (x * ln2);
  case RegionCode::Rsqrt:
    return Real(-0.5) * y / x;
  case RegionCode::Sin:
    return std::cos(x);
  case RegionCode::Sinh:
    return std::cosh(x);
  case RegionCode::Sqrt:
    return Real(0.5) / y;
  case RegionCode::Tan:
    return 1 + y * y;
  case RegionCode::Tanh:
    return 1 - y * y;
  default:
    llvm_unreachable("a float op without a rule: neither a step nor refused");
  }
}

/// Return the derivatives of x^y, which is `result`. x^0 and 0^y (y >= 0) count as constants.
template <typename Real> static Partials<Real> partialsOfPower(Real x, Real y, Real result) {
  Partials<Real> partials;
  if (y != 0)
    partials[0] = y * std::pow(x, y - 1);
  if (x != 0 || !(y >= 0))
    partials[1] = result * std::log(x);
  return partials;
}

/// Return the derivative of |x| times `factor`, none at 0.
template <typename Real> static Partials<Real> partialsOfMagnitude(Real x, Real factor) {
  return x == 0 ? Partials<Real>{} : Partials<Real>{x < 0 ? -factor : factor};
}

/// Return 1 for the operand that a maximum or minimum returned: the first where they are equal.
template <typename Real> static Partials<Real> partialsOfExtremum(RegionCode code, Real a, Real b) {
  bool isMaximum = code == RegionCode::MaximumF || code == RegionCode::MaxNumF;
  bool returnsNaN = code == RegionCode::MaximumF || code == RegionCode::MinimumF;
  bool first = isMaximum ? a >= b : a <= b;
  if (std::isnan(a) || std::isnan(b))
    first = std::isnan(a) == returnsNaN;
  return first ? Partials<Real>{Real(1)} : Partials<Real>{std::nullopt, Real(1)};
}

/// Return the derivatives of a float instruction by its float operands, where it has given
/// `result`; none where nothing is passed on. An integer power is b.
template <typename Real>
static Partials<Real> partialsOf(const RegionInstruction &op, Real a, Real b, Real c, Real result) {
  switch (op.code) {
  case RegionCode::AddF:
    return {Real(1), Real(1)};
  case RegionCode::SubF:
    return {Real(1), Real(-1)};
  case RegionCode::MulF:
    return {b, a};
  case RegionCode::DivF:
    return {1 / b, -result / b};
  case RegionCode::RemF:
    return {Real(1), -std::trunc(a / b)};
  case RegionCode::Fma:
    return {b, a, Real(1)};
  case RegionCode::MaximumF:
  case RegionCode::MinimumF:
  case RegionCode::MaxNumF:
  case RegionCode::MinNumF:
    return partialsOfExtremum(op.code, a, b);
  case RegionCode::ClampF: {
    // maximum(minimum(a, c), b)
    Partials<Real> inner = partialsOfExtremum(RegionCode::MinimumF, a, c);
    Real lower = inner[0] ? a : c;
    if (!partialsOfExtremum(RegionCode::MaximumF, lower, b)[0])
      return {std::nullopt, Real(1)};
    return {inner[0], std::nullopt, inner[1]};
  }
  case RegionCode::CopySign:
    return partialsOfMagnitude(a, std::copysign(Real(1), b));
  case RegionCode::AbsF:
    return partialsOfMagnitude(a, Real(1));
  case RegionCode::Atan2: {
    Real length = std::hypot(a, b);
    return {b / length / length, -a / length / length};
  }
  case RegionCode::PowF:
    return partialsOfPower(a, b, result);
  case RegionCode::FPowI:
    return {partialsOfPower(a, b, result)[0]};
  default:
    return {derivativeOf(op.code, a, result)};
  }
}

//===----------------------------------------------------------------------===//
// A program in reverse
//===----------------------------------------------------------------------===//

RegionAdjoint::RegionAdjoint(const RegionEvaluator &evaluator)
    : evaluator(evaluator), program(evaluator.program), adjoints(program.initial.size()),
      reached(program.initial.size()) {}

/// Add to the adjoint of a slot.
void RegionAdjoint::give(int32_t slot, double adjoint) {
  double sum = reached[slot] ? adjoints[slot] + adjoint : adjoint;
  bool isExact = evaluator.precision == RegionPrecision::Exact || program.isDouble[slot];
  adjoints[slot] = isExact ? sum : static_cast<float>(sum);
  reached[slot] = true;
}

/// Pass the adjoint of an instruction's result, which is reached, to its operands.
void RegionAdjoint::pass(const RegionInstruction &op, CaptureGradient add) {
  const std::vector<RegionValue> &slots = evaluator.slots;
  const double adjoint = adjoints[op.result];
  if (op.code == RegionCode::Select)
    return give(slots[op.a].i ? op.b : op.c, adjoint);
  if (op.code == RegionCode::Extract) {
    if (std::optional<int64_t> element = evaluator.elementOf(op); element && op.toFloat)
      add(op.a, *element, adjoint);
    return;
  }
  // Nothing passes through integers. A bitcast that `checkDifferentiable` left reads constants.
  if (!op.fromFloat || !op.toFloat || isStep(op.code) || op.code == RegionCode::Bitcast)
    return;
  auto passBy = [&](auto real) {
    using Real = decltype(real);
    auto at = [&](int32_t slot) { return static_cast<Real>(slots[slot].f); };
    bool isPower = op.code == RegionCode::FPowI;
    Real b = isPower ? static_cast<Real>(signExtend(slots[op.b].i, op.toWidth)) : at(op.b);
    const int32_t operands[] = {op.a, op.b, op.c};
    for (auto [slot, partial] :
         llvm::zip(operands, partialsOf<Real>(op, at(op.a), b, at(op.c), at(op.result))))
      if (partial)
        give(slot, static_cast<Real>(adjoint) * *partial);
  };
  if (evaluator.precision == RegionPrecision::Exact || op.to == DType::F64)
    passBy(double());
  else
    passBy(float());
}

double RegionAdjoint::run(double adjoint, CaptureGradient add) {
  std::fill(reached.begin(), reached.end(), false);
  give(program.yielded, adjoint);
  for (const RegionInstruction &op : llvm::reverse(program.instructions))
    if (reached[op.result])
      pass(op, add);
  for (auto [capture, slot] : llvm::enumerate(program.captureSlots))
    if (slot >= 0 && program.captureIsFloat[capture] && reached[slot])
      add(capture, 0, adjoints[slot]);
  return reached[0] ? adjoints[0] : 0;
}

//===----------------------------------------------------------------------===//
// What has no derivative
//===----------------------------------------------------------------------===//

/// Call `edge(result, operand)` for each pair of a result and an operand that it may vary with.
static void forEachEdge(Operation *op, llvm::function_ref<void(Value, Value)> edge) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (auto [i, result] : llvm::enumerate(op->getResults()))
      for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()})
        edge(result, yield.getOperand(i));
    return;
  }
  std::optional<RegionInstruction> instruction = instructionOf(op);
  if (!instruction || isStep(instruction->code))
    return;
  // A condition only chooses; indices are integers, but the tensor's elements count.
  unsigned first = instruction->code == RegionCode::Select;
  unsigned last = instruction->code == RegionCode::Extract ? 1 : op->getNumOperands();
  for (Value result : op->getResults())
    for (unsigned i = first; i < last; ++i)
      edge(result, op->getOperand(i));
}

LogicalResult fa::checkDifferentiable(Region &score) {
  SmallVector<Operation *> ops; // each after what it reads: an scf.if after its arms
  score.walk([&](Operation *op) { ops.push_back(op); });
  llvm::DenseSet<Value> varied, useful;
  for (BlockArgument argument : score.getArguments())
    if (isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      varied.insert(argument);
  for (Operation *op : ops)
    forEachEdge(op, [&](Value result, Value operand) {
      if (varied.contains(operand))
        varied.insert(result);
    });
  useful.insert(score.front().back().getOperand(0));
  for (Operation *op : llvm::reverse(ops))
    forEachEdge(op, [&](Value result, Value operand) {
      if (useful.contains(result))
        useful.insert(operand);
    });
  for (Operation *op : ops) {
    std::optional<RegionInstruction> instruction = instructionOf(op);
    if (!instruction || instruction->code != RegionCode::Bitcast ||
        !varied.contains(op->getOperand(0)) || !useful.contains(op->getResult(0)))
      continue;
    return op->emitError() << "'" << op->getName()
                           << "' has no derivative, and the score depends on it; compute the score "
                              "without it, or leave gradients out";
  }
  return success();
}
