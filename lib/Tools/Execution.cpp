//===- Execution.cpp - runs a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Execution.h"
#include "fa/Tools/DeviceMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir::fa;

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

/// Launches before the clock is read.
static constexpr int kWarmUps = 3;

static std::optional<fa_dtype> toC(DType dtype) {
  for (int i = FA_F16; i <= FA_BOOL; ++i)
    if (fromC(static_cast<fa_dtype>(i)) == dtype)
      return static_cast<fa_dtype>(i);
  return std::nullopt;
}

/// Return the device that a compilation is for.
static std::string deviceOf(const fa_compile_options &options) {
  if (options.device)
    return options.device;
  llvm::StringRef target = options.target ? options.target : "cpu";
  return target.starts_with("cuda") ? target.str() : target.starts_with("sm_") ? "cuda" : "cpu";
}

llvm::Expected<std::unique_ptr<Execution>> Execution::create(llvm::StringRef text,
                                                             const fa_compile_options &options) {
  // The device first: without it there is nothing to compile for.
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(deviceOf(options).c_str(), &device)))
    return failed;
  std::unique_ptr<Execution> execution(new Execution(nullptr, device));
  if (llvm::Error failed =
          takeError(fa_compile(text.data(), text.size(), &options, &execution->program)))
    return failed;
  // What is timed runs alone, and what is wrong with any variant shows.
  if (llvm::Error failed = takeError(fa_program_wait(execution->program)))
    return failed;
  return execution;
}

Execution::~Execution() {
  fa_program_free(program);
  fa_device_close(device);
}

std::vector<std::string> Execution::outputNames() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < fa_program_num_arguments(program); ++i)
    if (fa_argument_info info = fa_program_argument(program, i); info.kind == FA_OUTPUT)
      names.push_back(info.name);
  return names;
}

namespace {

/// The tensors of a launch on a device, and the launch itself.
class Session {
public:
  Session(const fa_program *program, const fa_device *device)
      : program(program), device(device), count(fa_program_num_arguments(program)), placed(count),
        tensors(count), arguments(count) {}

  llvm::Error bind(const std::vector<HostTensor> &inputs, const OutputShapes &outputShapes,
                   Placing placing);
  /// Makes what the launch writes unreadable.
  llvm::Error poison();
  /// Takes another workspace for the next launch, and for the one after it this again.
  llvm::Error changeWorkspace();
  llvm::Error launch() {
    return takeError(fa_program_launch(program, /*stream=*/nullptr, arguments.data(), count,
                                       workspace.get(), workspaceBytes));
  }
  /// Waits, and looks at the guard bands of all tensors.
  llvm::Expected<std::vector<HostTensor>> collect();

private:
  llvm::Error place(size_t i, fa_dtype type, Placed tensor) {
    placed[i] = std::make_unique<Placed>(std::move(tensor));
    if (llvm::Error failed = placed[i]->upload(device))
      return failed;
    tensors[i] = placed[i]->describe(type);
    arguments[i].tensor = &tensors[i];
    return llvm::Error::success();
  }
  llvm::Error bindInput(size_t i, const std::vector<HostTensor> &inputs, Placing placing);

  const fa_program *program;
  const fa_device *device;
  size_t count;
  std::vector<std::unique_ptr<Placed>> placed;
  std::vector<fa_tensor> tensors;
  std::vector<fa_argument> arguments;
  std::vector<HostTensor> outputs;
  Buffer workspace, otherWorkspace;
  uint64_t workspaceBytes = 0;
};

} // namespace

llvm::Error Session::bindInput(size_t i, const std::vector<HostTensor> &inputs, Placing placing) {
  fa_argument_info info = fa_program_argument(program, i);
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
    return llvm::Error::success();
  }
  Placed tensor(input->dtype, input->shape, placing);
  tensor.copyFrom(*input);
  return place(i, *dtype, std::move(tensor));
}

llvm::Error Session::bind(const std::vector<HostTensor> &inputs, const OutputShapes &outputShapes,
                          Placing placing) {
  for (size_t i = 0; i < count; ++i) {
    fa_argument_info info = fa_program_argument(program, i);
    arguments[i] = {info.name, nullptr, 0, 0};
    if (info.kind != FA_OUTPUT) {
      if (llvm::Error failed = bindInput(i, inputs, placing))
        return failed;
      continue;
    }
    auto shape = llvm::find_if(outputShapes, [&](auto &pair) { return pair.first == info.name; });
    if (shape == outputShapes.end())
      return llvm::createStringError("no shape is known for output '" + std::string(info.name) +
                                     "'");
    outputs.push_back(HostTensor::zeros(info.name, fromC(info.dtype), shape->second));
    if (llvm::Error failed =
            place(i, info.dtype, Placed(fromC(info.dtype), shape->second, placing)))
      return failed;
  }
  if (llvm::Error failed =
          takeError(fa_program_workspace_size(program, arguments.data(), count, &workspaceBytes)))
    return failed;
  if (llvm::Error failed = changeWorkspace())
    return failed;
  return takeError(fa_device_fill(device, workspace.get(), 0xFF, workspaceBytes));
}

llvm::Error Session::poison() {
  for (size_t i = 0; i < count; ++i)
    if (fa_program_argument(program, i).kind == FA_OUTPUT)
      if (llvm::Error failed = placed[i]->poison(device))
        return failed;
  for (const Buffer *buffer : {&workspace, &otherWorkspace})
    if (buffer->get())
      if (llvm::Error failed =
              takeError(fa_device_fill(device, buffer->get(), 0xFF, workspaceBytes)))
        return failed;
  return llvm::Error::success();
}

llvm::Error Session::changeWorkspace() {
  std::swap(workspace, otherWorkspace);
  if (workspace.get())
    return llvm::Error::success();
  llvm::Expected<Buffer> made = Buffer::create(device, workspaceBytes);
  if (!made)
    return made.takeError();
  workspace = std::move(*made);
  return llvm::Error::success();
}

llvm::Expected<std::vector<HostTensor>> Session::collect() {
  if (llvm::Error failed = takeError(fa_device_synchronize(device)))
    return failed;
  size_t output = 0;
  for (size_t i = 0; i < count; ++i) {
    if (!placed[i])
      continue;
    if (llvm::Error failed = placed[i]->download(device))
      return failed;
    if (!placed[i]->guardsHold())
      return llvm::createStringError("the program wrote outside of '" +
                                     std::string(fa_program_argument(program, i).name) + "'");
    if (fa_program_argument(program, i).kind == FA_OUTPUT)
      placed[i]->copyTo(outputs[output++]);
  }
  return outputs;
}

llvm::Expected<Execution::Outcome> Execution::run(const std::vector<HostTensor> &inputs,
                                                  const OutputShapes &outputShapes, Placing placing,
                                                  int repeats) const {
  Session session(program, device);
  if (llvm::Error failed = session.bind(inputs, outputShapes, placing))
    return failed;
  for (int warmUp = 0; warmUp < (repeats > 0 ? kWarmUps : 1); ++warmUp)
    if (llvm::Error failed = session.launch())
      return failed;
  // Nothing waits between the launches, so that the clock sees them alone.
  std::vector<std::pair<Event, Event>> events;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto &[begin, end] = events.emplace_back(Event(device), Event(device));
    if (llvm::Error failed = begin.record())
      return failed;
    if (llvm::Error failed = session.launch())
      return failed;
    if (llvm::Error failed = end.record())
      return failed;
  }
  Outcome outcome;
  for (auto &[begin, end] : events) {
    llvm::Expected<double> seconds = begin.secondsTo(end);
    if (!seconds)
      return seconds.takeError();
    outcome.seconds.push_back(*seconds);
  }
  auto outputs = session.collect();
  if (!outputs)
    return outputs.takeError();
  outcome.outputs = std::move(*outputs);
  return outcome;
}

/// Return how many elements of two tensors of one shape differ, and the first and last of them.
static std::string describeDifference(const HostTensor &now, const HostTensor &then) {
  int64_t count = 0, first = -1, last = -1;
  for (int64_t i = 0, size = now.size(); i < size; ++i) {
    double a = now.at(i), b = then.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    ++count;
    first = first < 0 ? i : first;
    last = i;
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'" << now.name << "' in " << count << " of " << now.size() << " elements";
  if (count)
    os << ", from number " << first << " (" << now.at(first) << ", at first " << then.at(first)
       << ") to " << last << " (" << now.at(last) << ", at first " << then.at(last) << ")";
  return text;
}

llvm::Error Execution::repeat(const std::vector<HostTensor> &inputs,
                              const OutputShapes &outputShapes, int times) const {
  Session session(program, device);
  if (llvm::Error failed = session.bind(inputs, outputShapes, {}))
    return failed;
  std::vector<HostTensor> first;
  for (int time = 0; time < times; ++time) {
    if (llvm::Error failed = session.changeWorkspace())
      return failed;
    if (llvm::Error failed = session.poison())
      return failed;
    if (llvm::Error failed = session.launch())
      return failed;
    auto outputs = session.collect();
    if (!outputs)
      return outputs.takeError();
    if (time == 0)
      first = *outputs;
    std::string differences;
    for (auto [now, then] : llvm::zip_equal(*outputs, first))
      if (now.data != then.data)
        differences += (differences.empty() ? "" : "; ") + describeDifference(now, then);
    if (!differences.empty())
      return llvm::createStringError(
          "launch " + std::to_string(time + 1) + " of " + std::to_string(times) +
          " gave other outputs than the first, from the same inputs: " + differences);
  }
  return llvm::Error::success();
}
