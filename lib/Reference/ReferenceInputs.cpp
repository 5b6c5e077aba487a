//===- ReferenceInputs.cpp - what an attention of the reference reads -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/RegionInterpreter.h"
#include "fa/Support/Philox.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::fa;

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

static std::string print(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

llvm::Expected<AttentionInputs> fa::bindArguments(AttentionOp op,
                                                  const std::vector<HostTensor> &arguments) {
  AttentionInputs inputs;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != op->getBlock())
      return error("operand {0} of fa.attention is computed: expected an "
                   "argument of the entry",
                   i);
    if (argument.getArgNumber() >= arguments.size())
      return error("got {0} tensors: expected one for argument {1} too", arguments.size(),
                   argument.getArgNumber());
    inputs.push_back(&arguments[argument.getArgNumber()]);
  }
  return inputs;
}

/// Check that a tensor is what an operand's type says.
static llvm::Error checkInput(const HostTensor &tensor, Type type) {
  auto shaped = dyn_cast<RankedTensorType>(type);
  Type element = shaped ? shaped.getElementType() : type;
  std::optional<DType> dtype = dtypeOf(element);
  bool isByte = dtype == DType::I8 && tensor.dtype == DType::U8;
  bool fits = dtype && (*dtype == tensor.dtype || isByte) &&
              static_cast<int64_t>(tensor.shape.size()) == (shaped ? shaped.getRank() : 0);
  for (size_t d = 0; fits && d < tensor.shape.size(); ++d)
    fits = shaped.isDynamicDim(d) || shaped.getDimSize(d) == tensor.shape[d];
  if (!fits && !shaped && !tensor.shape.empty())
    return error("'{0}' is a tensor of rank {1} ({2} of {3}): expected a scalar of {4}; give it "
                 "the shape []",
                 tensor.name, tensor.shape.size(), toString(tensor.shape), nameOf(tensor.dtype),
                 print(type));
  if (!fits)
    return error("'{0}' is {1} of {2}: expected {3}", tensor.name,
                 tensor.shape.empty() ? "a scalar" : toString(tensor.shape), nameOf(tensor.dtype),
                 print(type));
  if (!tensor.isConsistent())
    return error("'{0}' has {1} bytes: expected those of {2} of {3}", tensor.name,
                 tensor.data.size(), toString(tensor.shape), nameOf(tensor.dtype));
  return llvm::Error::success();
}

llvm::Error fa::checkInputs(AttentionOp op, const AttentionInputs &inputs) {
  if (inputs.size() != op->getNumOperands())
    return error("got {0} tensors: expected {1}, one for each operand", inputs.size(),
                 op->getNumOperands());
  for (auto [tensor, operand] : llvm::zip(inputs, op->getOperands()))
    if (llvm::Error problem = checkInput(*tensor, operand.getType()))
      return problem;
  const std::vector<int64_t> &q = inputs[0]->shape, &k = inputs[1]->shape, &v = inputs[2]->shape;
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || k[1] == 0 ||
      q[1] % k[1] != 0)
    return error("query {0}, key {1} and value {2} do not fit each other: "
                 "expected BxHqxSqxD, BxHkxSkxD and BxHkxSkxDv, Hq a "
                 "multiple of Hk",
                 toString(q), toString(k), toString(v));
  if (op.getSink())
    if (const HostTensor &sink = *inputs[3 + op.getCaptures().size()]; sink.shape[0] != q[1])
      return error("the sink '{0}' has {1} elements: expected {2}, one for each query head",
                   sink.name, sink.shape[0], q[1]);
  if (op.hasDropout() && (q[1] > kDropoutMaxHeads || q[0] > kDropoutMaxBatch))
    return error("dropout takes at most {0} heads and a batch of {1}, got "
                 "{2} and {3}",
                 kDropoutMaxHeads, kDropoutMaxBatch, q[1], q[0]);
  for (Region *region : {&op.getMask(), &op.getScore()})
    if (!region->empty() && failed(RegionProgram::check(*region)))
      return error("the reference cannot evaluate a region of fa.attention");
  return llvm::Error::success();
}
