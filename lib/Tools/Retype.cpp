//===- Retype.cpp - --dtype: a program with another element type -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An entry is retyped where its types stand: at the arguments that are query,
// key and value, and a sink of their type, at the output of fa.attention, and in the type
// of the function.
// The regions stay: they see scores as f32 and captures with their own types.
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Retype.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/ModuleText.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::fa;

/// Return the element type of that name, null where attention has none such.
static FloatType elementType(StringRef dtype, MLIRContext *context) {
  Builder b(context);
  return llvm::StringSwitch<FloatType>(dtype)
      .Case("bf16", b.getBF16Type())
      .Case("f16", b.getF16Type())
      .Case("f32", b.getF32Type())
      .Default(nullptr);
}

llvm::Error fa::checkDType(StringRef dtype) {
  if (llvm::is_contained({"bf16", "f16", "f32"}, dtype))
    return llvm::Error::success();
  return llvm::createStringError("--dtype takes bf16, f16 or f32, got '" + dtype + "'");
}

static void retype(Value value, FloatType element) {
  value.setType(cast<RankedTensorType>(value.getType()).clone(element));
}

/// Return the operands that are retyped. A sink of f32 stays.
static SmallVector<OpOperand *> retypedOperands(AttentionOp attention) {
  SmallVector<OpOperand *> operands = {&attention.getQueryMutable(), &attention.getKeyMutable(),
                                       &attention.getValueMutable()};
  if (Value sink = attention.getSink(); sink && !getElementTypeOrSelf(sink.getType()).isF32())
    operands.push_back(&attention.getSinkMutable()[0]);
  return operands;
}

/// Check that `tensor` can be retyped: an argument that serves `attention` as
/// nothing but an operand that is retyped.
static LogicalResult checkOperand(AttentionOp attention, ArrayRef<OpOperand *> operands,
                                  OpOperand &tensor) {
  static constexpr StringLiteral names[] = {"query", "key", "value", "sink"};
  StringRef name = names[llvm::find(operands, &tensor) - operands.begin()];
  auto argument = dyn_cast<BlockArgument>(tensor.get());
  if (!argument || !isa<func::FuncOp>(argument.getOwner()->getParentOp()))
    return attention.emitError() << "--dtype cannot retype the " << name
                                 << ": expected an argument of the entry; make it one";
  for (OpOperand &use : argument.getUses())
    if (!llvm::is_contained(operands, &use))
      return use.getOwner()->emitError()
             << "--dtype cannot retype the " << name
             << ", which has another use here, where its type would change too; "
                "pass that by an argument of its own";
  return success();
}

static LogicalResult retype(AttentionOp attention, FloatType element) {
  auto entry = attention->getParentOfType<func::FuncOp>();
  if (!entry || !entry.getBody().hasOneBlock())
    return attention.emitError() << "--dtype expects fa.attention in an entry of one block";
  SmallVector<OpOperand *> operands = retypedOperands(attention);
  for (OpOperand *operand : operands)
    if (failed(checkOperand(attention, operands, *operand)))
      return failure();
  for (Operation *user : attention.getOutput().getUsers())
    if (!isa<func::ReturnOp>(user))
      return user->emitError() << "--dtype cannot retype the output, which has another use here; "
                                  "return it";
  if (attention.getPrecision() != tile::Precision::tf32x3 && !element.isF32())
    return attention.emitError() << "--dtype cannot retype a program with precision("
                                 << tile::stringifyPrecision(attention.getPrecision())
                                 << "), which is for f32 operands; leave out one of them";
  for (OpOperand *operand : operands)
    retype(operand->get(), element);
  retype(attention.getOutput(), element);
  Operation *end = entry.front().getTerminator();
  entry.setType(FunctionType::get(entry.getContext(), entry.front().getArgumentTypes(),
                                  end->getOperandTypes()));
  return success();
}

LogicalResult fa::retypeAttention(ModuleOp module, StringRef dtype) {
  FloatType element = elementType(dtype, module.getContext());
  SmallVector<AttentionOp> found;
  module.walk([&](AttentionOp attention) { found.push_back(attention); });
  if (found.empty())
    return module.emitError() << "--dtype retypes fa.attention, and the program holds none; leave "
                                 "it out, or start from phase input";
  for (AttentionOp attention : found)
    if (failed(retype(attention, element)))
      return failure();
  return success();
}

llvm::Expected<std::string> fa::retypeText(StringRef text, StringRef name, StringRef dtype) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ErrorCollector errors(&context);
  OwningOpRef<ModuleOp> module = parseModule(text, name, &context);
  if (!module || failed(retypeAttention(*module, dtype)))
    return llvm::createStringError(errors.messages("the text is not a module of attention"));
  std::string result;
  llvm::raw_string_ostream os(result);
  module->print(os, OpPrintingFlags().enableDebugInfo());
  return result;
}
