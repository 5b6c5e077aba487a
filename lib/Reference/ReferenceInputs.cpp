//===- ReferenceInputs.cpp - what an attention of the reference reads -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attention.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

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

int64_t fa::countSequences(AttentionOp op, const AttentionInputs &inputs) {
  // Who has no starts has a batch.
  for (unsigned side : {0, 1})
    if (const std::vector<int64_t> &shape = inputs[side]->shape; shape.size() == 4)
      return shape[0];
  size_t first = 3 + op.getCaptures().size() + (op.getSink() ? 1 : 0);
  return inputs[first]->shape[0] - 1;
}

std::vector<SequencePart> fa::findParts(AttentionOp op, const AttentionInputs &inputs,
                                        bool ofKeys) {
  const HostTensor *given[4] = {};
  size_t next = 3 + op.getCaptures().size() + (op.getSink() ? 1 : 0);
  for (auto [tensor, value] : llvm::zip_equal(given, op.getSequences()))
    if (value)
      tensor = inputs[next++];
  const HostTensor *starts = given[ofKeys ? 1 : 0], *lengths = given[ofKeys ? 3 : 2];
  const std::vector<int64_t> &shape = inputs[ofKeys ? 1 : 0]->shape;
  int64_t count = shape[shape.size() - 2];
  std::vector<SequencePart> parts;
  for (int64_t b = 0, sequences = countSequences(op, inputs); b < sequences; ++b) {
    SequencePart part{0, count};
    if (starts) {
      part.first = std::clamp<int64_t>(starts->integerAt(b), 0, count);
      part.size = std::clamp<int64_t>(starts->integerAt(b + 1), part.first, count) - part.first;
    }
    if (lengths)
      part.size = std::clamp<int64_t>(lengths->integerAt(b), 0, part.size);
    parts.push_back(part);
  }
  return parts;
}

double fa::countPairs(AttentionOp op, const AttentionInputs &inputs) {
  const std::vector<int64_t> &query = inputs[0]->shape;
  double pairs = 0;
  for (auto [rows, keys] :
       llvm::zip_equal(findParts(op, inputs, false), findParts(op, inputs, true)))
    pairs += double(rows.size) * double(keys.size);
  return pairs * double(query[query.size() - 3]);
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
  int64_t batch = countSequences(op, inputs);
  // Without a batch where sequences are in a row.
  auto sizesOf = [&](const HostTensor &tensor) {
    std::vector<int64_t> sizes = tensor.shape;
    if (sizes.size() == 3)
      sizes.insert(sizes.begin(), batch);
    return sizes;
  };
  std::vector<int64_t> q = sizesOf(*inputs[0]), k = sizesOf(*inputs[1]), v = sizesOf(*inputs[2]);
  if (k[0] != q[0] || v[0] != q[0] || v[1] != k[1] || v[2] != k[2] || k[3] != q[3] || k[1] == 0 ||
      q[1] % k[1] != 0)
    return error("query {0}, key {1} and value {2} do not fit each other: "
                 "expected BxHqxSqxD, BxHkxSkxD and BxHkxSkxDv, Hq a "
                 "multiple of Hk",
                 toString(q), toString(k), toString(v));
  size_t next = 3 + op.getCaptures().size() + (op.getSink() ? 1 : 0);
  for (Value value : op.getSequences()) {
    if (!value)
      continue;
    const HostTensor &tensor = *inputs[next++];
    bool starts = value == op.getQueryStarts() || value == op.getKeyStarts();
    if (tensor.shape[0] != batch + starts)
      return error("'{0}' has {1} elements: expected {2}, {3} for {4} sequences", tensor.name,
                   tensor.shape[0], batch + starts,
                   starts ? "where each begins and the last one ends," : "a length for each",
                   batch);
  }
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
