//===- Checker.cpp - compares a program with the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Checker.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Reference/Sampling.h"
#include "fa/Support/ModuleText.h"
#include "fa/Support/Names.h"
#include "fa/Support/Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace mlir::fa;

Checker::Checker() = default;
Checker::~Checker() = default;

llvm::Expected<std::unique_ptr<Checker>>
Checker::create(llvm::StringRef text, llvm::StringRef entry, llvm::StringRef name) {
  std::unique_ptr<Checker> checker(new Checker);
  // What entries hold, and no more: programs that check need not link the compiler.
  DialectRegistry registry;
  registry.insert<FADialect, arith::ArithDialect, func::FuncDialect, index::IndexDialect,
                  math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  checker->context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  checker->context->printOpOnDiagnostic(false);
  ErrorCollector errors(checker->context.get());
  checker->module = parseModule(text, name, checker->context.get());
  FAVerifyPhaseOptions verify;
  verify.phase = "input";
  PassManager passes(checker->context.get(), ModuleOp::getOperationName());
  passes.addPass(createFAVerifyPhase(verify));
  if (!checker->module || failed(passes.run(*checker->module)))
    return llvm::createStringError(errors.messages("the text is not a module of attention"));
  SmallVector<AttentionOp> found;
  std::string names;
  checker->module->walk([&](AttentionOp op) {
    StringRef symbol = op->getParentOfType<func::FuncOp>().getSymName();
    names += (names.empty() ? "@" : ", @") + escaped(symbol);
    if (entry.empty() || symbol == entry)
      found.push_back(op);
  });
  if (found.size() != 1)
    return llvm::createStringError((found.empty()
                                        ? "the module has no entry @" + entry.str() + "; it has "
                                        : "the module holds several entries; choose "
                                          "by --entry one of ") +
                                   (names.empty() ? "none" : names));
  checker->attention = found.front();
  return checker;
}

std::vector<std::pair<std::string, unsigned>> Checker::results() {
  auto function = attention->getParentOfType<func::FuncOp>();
  std::vector<std::pair<std::string, unsigned>> results;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto name = function.getResultAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    bool isLse = value == attention.getLse();
    results.push_back({name ? name.str() : isLse ? "lse" : "o", isLse ? 1u : 0u});
  }
  return results;
}

llvm::Expected<std::vector<std::pair<std::string, std::vector<int64_t>>>>
Checker::outputShapes(const std::vector<HostTensor> &inputs) {
  auto bound = bindArguments(attention, inputs);
  if (!bound)
    return bound.takeError();
  // Files say anything; the rest is checked by who knows the sizes, at the launch.
  for (auto [input, operand] : llvm::zip(*bound, attention->getOperands()))
    if (auto type = dyn_cast<RankedTensorType>(operand.getType());
        type && static_cast<int64_t>(input->shape.size()) != type.getRank())
      return llvm::createStringError("'" + input->name + "' has rank " +
                                     llvm::Twine(input->shape.size()) + ", expected " +
                                     llvm::Twine(type.getRank()));
  const std::vector<int64_t> &q = (*bound)[0]->shape, &v = (*bound)[2]->shape;
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  for (auto &[name, result] : results()) {
    std::vector<int64_t> shape(q.begin(), q.end() - 1);
    if (result == 0)
      shape.push_back(v.back());
    shapes.push_back({name, shape});
  }
  return shapes;
}

llvm::Expected<std::vector<std::pair<std::string, Judgement>>>
Checker::judge(const std::vector<HostTensor> &inputs, const std::vector<HostTensor> &outputs) {
  auto bound = bindArguments(attention, inputs);
  if (!bound)
    return bound.takeError();
  auto reference = referenceAttention(attention, *bound);
  if (!reference)
    return reference.takeError();
  auto low = lowAttention(attention, *bound);
  if (!low)
    return low.takeError();
  std::vector<std::pair<std::string, Judgement>> judgements;
  for (auto &[name, result] : results())
    for (const HostTensor &output : outputs)
      if (output.name == name)
        judgements.push_back({name, result == 0 ? judgeOutput(output, *reference, *low)
                                                : judgeLse(output, *reference, *low)});
  return judgements;
}

llvm::Expected<HostTensor> Checker::dropoutMask(const std::vector<HostTensor> &inputs) {
  if (!attention.hasDropout())
    return llvm::createStringError("the program has no dropout; leave out --dump-dropout");
  if (attention.hasSequences())
    return llvm::createStringError("the mask of dropout has a size of its own for each of the "
                                   "program's sequences; leave out --dump-dropout");
  auto bound = bindArguments(attention, inputs);
  if (!bound)
    return bound.takeError();
  if (llvm::Error failed = checkInputs(attention, *bound))
    return failed;
  const std::vector<int64_t> &q = (*bound)[0]->shape, &k = (*bound)[1]->shape;
  std::vector<int64_t> shape = {q[0], q[1], q[2], k[2]};
  if (!elementCount(shape, DType::Bool))
    return llvm::createStringError("the mask of dropout, " + toString(shape) +
                                   ", is too large; use shorter sequences");
  size_t first = bound->size() - 3;
  unsigned threshold = dropoutThreshold((*bound)[first]->at(0));
  uint64_t seed = (*bound)[first + 1]->integerAt(0), offset = (*bound)[first + 2]->integerAt(0);
  HostTensor keep = HostTensor::zeros("keep", DType::Bool, shape);
  int64_t at = 0;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      for (int64_t i = 0; i < shape[2]; ++i)
        for (int64_t j = 0; j < shape[3]; ++j)
          keep.setInteger(at++, dropoutByte(seed, offset, b, h, i, j) >= threshold);
  return keep;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

llvm::Expected<std::vector<std::string>> Checker::adjointNames(bool dlse) {
  std::string output, lse;
  for (auto &[name, result] : results())
    (result == 0 ? output : lse) = name;
  if (output.empty() || lse.empty())
    return llvm::createStringError(
        "the gradients of @" + escaped(attention->getParentOfType<func::FuncOp>().getSymName()) +
        " need its " + (output.empty() ? "output" : "LSE") +
        "; return both: %o, %lse = fa.attention ... -> (..., tensor<BxHqxSqxf32>)");
  std::vector<std::string> names = {"d" + output};
  if (dlse)
    names.push_back("d" + lse);
  return names;
}

llvm::Expected<std::vector<HostTensor>>
Checker::sampleAdjoints(const std::vector<HostTensor> &inputs, bool dlse, uint64_t seed) {
  auto names = adjointNames(dlse);
  if (!names)
    return names.takeError();
  auto bound = bindArguments(attention, inputs);
  if (!bound)
    return bound.takeError();
  auto drawn = sampleOutputAdjoints(*(*bound)[0], *(*bound)[2], seed);
  std::vector<HostTensor> adjoints;
  adjoints.push_back(std::move(drawn.first));
  if (dlse)
    adjoints.push_back(std::move(drawn.second));
  for (auto [adjoint, name] : llvm::zip_equal(adjoints, *names))
    adjoint.name = name;
  return adjoints;
}

std::vector<std::pair<std::string, std::vector<int64_t>>>
Checker::gradientShapes(const std::vector<HostTensor> &inputs) {
  auto entry = attention->getParentOfType<func::FuncOp>();
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes())) {
    if (!isa<FloatType>(getElementTypeOrSelf(type)))
      continue;
    auto name = entry.getArgAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    bool isScalar = inputs[i].shape.empty();
    shapes.push_back({"d" + name.str(), isScalar ? std::vector<int64_t>{1} : inputs[i].shape});
  }
  return shapes;
}

llvm::Expected<std::vector<std::pair<std::string, Judgement>>>
Checker::judgeGradients(const std::vector<HostTensor> &inputs,
                        const std::vector<HostTensor> &adjoints,
                        const std::vector<HostTensor> &gradients) {
  auto bound = bindArguments(attention, inputs);
  if (!bound)
    return bound.takeError();
  OutputAdjoints flow{&adjoints.front(), adjoints.size() > 1 ? &adjoints[1] : nullptr};
  auto reference = referenceGradients(attention, *bound, flow);
  if (!reference)
    return reference.takeError();
  auto low = lowGradients(attention, *bound, flow);
  if (!low)
    return low.takeError();
  return fa::judgeGradients(gradients, *reference, *low);
}
