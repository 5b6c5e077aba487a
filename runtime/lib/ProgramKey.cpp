//===- ProgramKey.cpp - what tells one program from another -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramKey.h"
#include "DiskCache.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/FA/IR/FASugar.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include <array>
#include <optional>

using namespace mlir;
using namespace mlir::fa;

std::string fa::programKey(ModuleOp module, const CompileOptions &compile) {
  std::string key;
  llvm::raw_string_ostream os(key);
  os << "build " << getBuildId() << "\ntarget " << compile.target;
  if (!nvptx::getTarget(compile.target)) {
    cpu::TargetDescription cpu = cpu::describeTarget(compile.target);
    os << " " << cpu.cpu << " " << cpu.features << " " << cpu.lanes << " " << cpu.dotRows << "x"
       << cpu.dotColumns << " " << cpu.convertsBF16;
  }
  os << "\noptions " << compile.onlineSoftmax << compile.analyzeMask << compile.canonicalize
     << compile.aligned << compile.alignedOnly << " " << compile.stages << " " << compile.order
     << " " << compile.rows << " " << compile.keys << " " << compile.warps << " \""
     << compile.leaveOut << "\"\n";
  if (compile.backward != CompileOptions::Backward::None)
    os << "backward " << compile.dlse << compile.deterministic << compile.fused << " of \""
       << compile.gradients << "\"\n";
  // Whatever names the tool that asks gives to values.
  module->print(os, OpPrintingFlags().printNameLocAsPrefix(false));
  return key;
}

//===----------------------------------------------------------------------===//
// Plain programs
//===----------------------------------------------------------------------===//

/// A sum of arguments of a mask, each so many times, and a constant, the last.
using Sum = std::array<int64_t, 7>;

/// Return an index as a sum; nothing where it is none, or may be large.
static std::optional<Sum> toSum(Value value, unsigned depth = 0) {
  Sum sum = {};
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    if (argument.getArgNumber() + 1 >= sum.size())
      return std::nullopt;
    sum[argument.getArgNumber()] = 1;
    return sum;
  }
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant))) {
    if (constant.getSignificantBits() > 10)
      return std::nullopt;
    sum.back() = constant.getSExtValue();
    return sum;
  }
  Operation *op = value.getDefiningOp();
  // Nobody nests more, and a sum whose operands are one value is looked at twice.
  constexpr unsigned kDepth = 8;
  if (depth == kDepth || !isa<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  std::optional<Sum> lhs = toSum(op->getOperand(0), depth + 1),
                     rhs = toSum(op->getOperand(1), depth + 1);
  if (!lhs || !rhs)
    return std::nullopt;
  const int64_t sign = isa<arith::AddIOp>(op) ? 1 : -1;
  for (auto [l, r] : llvm::zip_equal(*lhs, *rhs)) {
    l += sign * r;
    // Nobody writes that, and sums of such do not overflow.
    if (l < -1000 || l > 1000)
      return std::nullopt;
  }
  return lhs;
}

/// Return whether a mask is j <= i + sk - sq, however it is spelled.
static bool isCausal(Region &mask) {
  if (!mask.hasOneBlock() || mask.getNumArguments() != 6)
    return false;
  Operation *end = mask.front().getTerminator();
  auto compare = end->getOperand(0).getDefiningOp<arith::CmpIOp>();
  if (!compare || !compare.getLhs().getType().isIndex())
    return false;
  std::optional<Sum> lhs = toSum(compare.getLhs()), rhs = toSum(compare.getRhs());
  if (!lhs || !rhs)
    return false;
  // As lhs - rhs <= 0.
  using Predicate = arith::CmpIPredicate;
  switch (compare.getPredicate()) {
  case Predicate::sle:
    break;
  case Predicate::slt:
    ++lhs->back();
    break;
  case Predicate::sgt:
    ++rhs->back();
    [[fallthrough]];
  case Predicate::sge:
    std::swap(lhs, rhs);
    break;
  default:
    return false;
  }
  // Of b, h, i, j, sq, sk and a constant.
  constexpr Sum causal = {0, 0, -1, 1, 1, -1, 0};
  for (size_t k = 0; k < causal.size(); ++k)
    if ((*lhs)[k] - (*rhs)[k] != causal[k])
      return false;
  return true;
}

/// Spell a causal mask as `with [causal]` does.
static void spellCausal(AttentionOp op) {
  Region &mask = op.getMask();
  mask.dropAllReferences();
  mask.getBlocks().clear();
  OpBuilder builder(op);
  Sugar causal(op.getLoc());
  Region none;
  (void)expandSugar(builder, causal, mask, none, {}, 0,
                    [](Location loc) { return emitError(loc); });
}

OwningOpRef<ModuleOp> fa::spellPlainly(ModuleOp module, CompileOptions &compile) {
  OwningOpRef<ModuleOp> plain = module.clone();
  plain->walk([&](AttentionOp op) {
    if (op.getScale()) {
      double given = op.getScaleValue();
      FloatAttr attribute = op.getScaleAttr();
      op.removeScaleAttr();
      if (op.getScaleValue() != given)
        op.setScaleAttr(attribute);
    }
    if (op.getCaptures().empty() && isCausal(op.getMask()))
      spellCausal(op);
  });
  // Of these three all gradients are asked for by no name, too.
  for (func::FuncOp entry : plain->getOps<func::FuncOp>())
    if (entry.getNumArguments() == 3 && compile.gradients == "q,k,v")
      compile.gradients.clear();
  return plain;
}
