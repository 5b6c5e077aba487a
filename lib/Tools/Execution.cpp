//===- Execution.cpp - runs a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>
#include <cstring>

using namespace mlir::fa;

static llvm::Error takeError(fa_error *error) {
  std::string message = fa_error_message(error);
  fa_error_free(error);
  return llvm::createStringError(message);
}

static DType fromC(fa_dtype dtype) {
  switch (dtype) {
  case FA_F16:
    return DType::F16;
  case FA_BF16:
    return DType::BF16;
  case FA_F32:
    return DType::F32;
  case FA_F64:
    return DType::F64;
  case FA_I8:
    return DType::I8;
  case FA_I16:
    return DType::I16;
  case FA_I32:
    return DType::I32;
  case FA_I64:
    return DType::I64;
  case FA_BOOL:
    return DType::Bool;
  }
  return DType::F32;
}

static std::optional<fa_dtype> toC(DType dtype) {
  for (int i = FA_F16; i <= FA_BOOL; ++i)
    if (fromC(static_cast<fa_dtype>(i)) == dtype)
      return static_cast<fa_dtype>(i);
  return std::nullopt;
}

namespace {

/// A tensor as a launch sees it: with strides, between guard bands.
class Placed {
public:
  Placed(DType dtype, std::vector<int64_t> shape, HeadLayout layout)
      : dtype(dtype), shape(std::move(shape)), strides(this->shape.size()) {
    size_t rank = this->shape.size();
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d)
      order[d] = d;
    if (rank == 4 && layout == HeadLayout::BSHD)
      std::swap(order[1], order[2]);
    int64_t elements = 1;
    for (size_t k = rank; k-- > 0;) {
      strides[order[k]] = elements;
      elements *= std::max<int64_t>(this->shape[order[k]], 1);
    }
    // All ones is NaN in every float type.
    bytes.assign(elements * sizeOf(dtype) + 2 * kGuard, std::byte(0xFF));
  }

  fa_tensor describe(fa_dtype type) {
    return {bytes.data(), type,           static_cast<int32_t>(shape.size()),
            shape.data(), strides.data(), kGuard};
  }
  void copyFrom(const HostTensor &tensor) {
    forEach([&](size_t from, std::byte *to) {
      std::memcpy(to, tensor.data.data() + from, sizeOf(dtype));
    });
  }
  void copyTo(HostTensor &tensor) {
    forEach([&](size_t to, std::byte *from) {
      std::memcpy(tensor.data.data() + to, from, sizeOf(dtype));
    });
  }
  bool guardsHold() const {
    for (size_t i = 0; i < kGuard; ++i)
      if (bytes[i] != std::byte(0xFF) || bytes[bytes.size() - 1 - i] != std::byte(0xFF))
        return false;
    return true;
  }

private:
  static constexpr size_t kGuard = 256;

  /// Calls with the byte offset of each element, row major, and its place.
  template <typename Function> void forEach(Function function) {
    size_t size = sizeOf(dtype), count = 1;
    for (int64_t extent : shape)
      count *= extent;
    std::vector<int64_t> index(shape.size());
    for (size_t i = 0; i < count; ++i) {
      int64_t at = 0;
      for (size_t d = 0; d < shape.size(); ++d)
        at += index[d] * strides[d];
      function(i * size, bytes.data() + kGuard + at * size);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d])
          break;
        index[d] = 0;
      }
    }
  }

  DType dtype;
  std::vector<int64_t> shape, strides;
  std::vector<std::byte> bytes;
};

} // namespace

llvm::Expected<std::unique_ptr<Execution>> Execution::create(llvm::StringRef text,
                                                             const fa_compile_options &options) {
  fa_program *program;
  if (fa_error *error = fa_compile(text.data(), text.size(), &options, &program))
    return takeError(error);
  return std::unique_ptr<Execution>(new Execution(program));
}

Execution::~Execution() { fa_program_free(program); }

std::vector<std::string> Execution::outputNames() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < fa_program_num_arguments(program); ++i)
    if (fa_argument_info info = fa_program_argument(program, i); info.kind == FA_OUTPUT)
      names.push_back(info.name);
  return names;
}

llvm::Expected<Execution::Outcome>
Execution::run(const std::vector<HostTensor> &inputs,
               const std::vector<std::pair<std::string, std::vector<int64_t>>> &outputShapes,
               HeadLayout layout, int repeats) const {
  size_t count = fa_program_num_arguments(program);
  std::vector<std::unique_ptr<Placed>> placed(count);
  std::vector<fa_tensor> tensors(count);
  std::vector<fa_argument> arguments(count);
  Outcome outcome;
  for (size_t i = 0; i < count; ++i) {
    fa_argument_info info = fa_program_argument(program, i);
    arguments[i] = {info.name, nullptr, 0, 0};
    if (info.kind == FA_OUTPUT) {
      auto shape = llvm::find_if(outputShapes, [&](auto &pair) { return pair.first == info.name; });
      if (shape == outputShapes.end())
        return llvm::createStringError("no shape is known for output '" + std::string(info.name) +
                                       "'");
      outcome.outputs.push_back(HostTensor::zeros(info.name, fromC(info.dtype), shape->second));
      placed[i] = std::make_unique<Placed>(fromC(info.dtype), shape->second, layout);
      tensors[i] = placed[i]->describe(info.dtype);
      arguments[i].tensor = &tensors[i];
      continue;
    }
    auto input =
        llvm::find_if(inputs, [&](const HostTensor &tensor) { return tensor.name == info.name; });
    if (input == inputs.end()) {
      std::string names;
      for (const HostTensor &tensor : inputs)
        names += (names.empty() ? "" : ", ") + tensor.name;
      return llvm::createStringError("no tensor '" + std::string(info.name) +
                                     "' is given; there are " + (names.empty() ? "none" : names));
    }
    std::optional<fa_dtype> dtype = toC(input->dtype);
    if (!dtype)
      return llvm::createStringError("tensor '" + input->name + "' has dtype " +
                                     nameOf(input->dtype) + ", which no program takes");
    if (info.kind == FA_SCALAR) {
      if (input->size() != 1)
        return llvm::createStringError("'" + input->name + "' is a scalar, got " +
                                       std::to_string(input->size()) + " elements");
      (isFloat(input->dtype) ? (void)(arguments[i].f = input->at(0))
                             : (void)(arguments[i].i = input->integerAt(0)));
      continue;
    }
    placed[i] = std::make_unique<Placed>(input->dtype, input->shape, layout);
    placed[i]->copyFrom(*input);
    tensors[i] = placed[i]->describe(*dtype);
    arguments[i].tensor = &tensors[i];
  }

  uint64_t bytes;
  if (fa_error *error = fa_program_workspace_size(program, arguments.data(), count, &bytes))
    return takeError(error);
  constexpr uint64_t alignment = 64;
  std::vector<std::byte> workspace(bytes + alignment, std::byte(0xFF));
  auto address =
      (reinterpret_cast<uintptr_t>(workspace.data()) + alignment - 1) / alignment * alignment;
  void *aligned = reinterpret_cast<void *>(address);
  for (int repeat = 0; repeat <= repeats; ++repeat) {
    auto start = std::chrono::steady_clock::now();
    if (fa_error *error =
            fa_program_launch(program, nullptr, arguments.data(), count, aligned, bytes))
      return takeError(error);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (repeat > 0)
      outcome.seconds.push_back(elapsed.count());
  }
  size_t output = 0;
  for (size_t i = 0; i < count; ++i) {
    if (placed[i] && !placed[i]->guardsHold())
      return llvm::createStringError("the program wrote outside of '" +
                                     std::string(fa_program_argument(program, i).name) + "'");
    if (fa_program_argument(program, i).kind == FA_OUTPUT)
      placed[i]->copyTo(outcome.outputs[output++]);
  }
  return outcome;
}
