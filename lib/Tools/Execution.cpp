//===- Execution.cpp - runs a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace mlir::fa;

/// Success for NULL.
static llvm::Error takeError(fa_error *error) {
  if (!error)
    return llvm::Error::success();
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

/// Launches before the clock is read.
static constexpr int kWarmUps = 3;

static std::optional<fa_dtype> toC(DType dtype) {
  for (int i = FA_F16; i <= FA_BOOL; ++i)
    if (fromC(static_cast<fa_dtype>(i)) == dtype)
      return static_cast<fa_dtype>(i);
  return std::nullopt;
}

namespace {

/// Memory of a device, freed at the end of a scope.
class Buffer {
public:
  static llvm::Expected<Buffer> create(const fa_device *device, uint64_t bytes) {
    Buffer buffer;
    buffer.device = device;
    if (llvm::Error failed = takeError(fa_device_alloc(device, bytes, &buffer.pointer)))
      return failed;
    return buffer;
  }
  Buffer() = default;
  Buffer(Buffer &&other) { *this = std::move(other); }
  Buffer &operator=(Buffer &&other) {
    std::swap(device, other.device);
    std::swap(pointer, other.pointer);
    return *this;
  }
  ~Buffer() {
    if (device)
      fa_error_free(fa_device_free(device, pointer));
  }
  void *get() const { return pointer; }

private:
  const fa_device *device = nullptr;
  void *pointer = nullptr;
};

/// A point in time on the default stream.
class Event {
public:
  explicit Event(const fa_device *device) { error = fa_event_create(device, &event); }
  Event(Event &&other) : event(other.event), error(other.error) {
    other.event = nullptr;
    other.error = nullptr;
  }
  ~Event() {
    fa_event_free(event);
    fa_error_free(error);
  }
  llvm::Error record() {
    return takeError(error ? std::exchange(error, nullptr) : fa_event_record(event, nullptr));
  }
  llvm::Expected<double> secondsTo(const Event &end) const {
    double seconds = 0;
    if (llvm::Error failed = takeError(fa_event_elapsed(event, end.event, &seconds)))
      return failed;
    return seconds;
  }

private:
  fa_event *event = nullptr;
  fa_error *error;
};

/// A tensor as a launch sees it: with strides, between guard bands. It is laid
/// out in host memory, lives in the device's, and is looked at in the host's.
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
    size = elements * sizeOf(dtype) + 2 * kGuard;
    bytes.assign(size, std::byte(0xFF));
  }

  llvm::Error upload(const fa_device *device) {
    llvm::Expected<Buffer> made = Buffer::create(device, size);
    if (!made)
      return made.takeError();
    there = std::move(*made);
    llvm::Error failed = takeError(fa_device_copy(device, there.get(), bytes.data(), size));
    std::vector<std::byte>().swap(bytes);
    return failed;
  }
  llvm::Error download(const fa_device *device) {
    bytes.resize(size);
    return takeError(fa_device_copy(device, bytes.data(), there.get(), size));
  }
  fa_tensor describe(fa_dtype type) {
    return {there.get(),  type,           static_cast<int32_t>(shape.size()),
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
  size_t size;
  std::vector<std::byte> bytes;
  Buffer there;
};

} // namespace

/// The device that a compilation is for.
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
      if (llvm::Error failed = placed[i]->upload(device))
        return failed;
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
    if (llvm::Error failed = placed[i]->upload(device))
      return failed;
    tensors[i] = placed[i]->describe(*dtype);
    arguments[i].tensor = &tensors[i];
  }

  uint64_t bytes;
  if (llvm::Error failed =
          takeError(fa_program_workspace_size(program, arguments.data(), count, &bytes)))
    return failed;
  llvm::Expected<Buffer> workspace = Buffer::create(device, bytes);
  if (!workspace)
    return workspace.takeError();
  if (llvm::Error failed = takeError(fa_device_fill(device, workspace->get(), 0xFF, bytes)))
    return failed;
  auto launch = [&] {
    return takeError(fa_program_launch(program, /*stream=*/nullptr, arguments.data(), count,
                                       workspace->get(), bytes));
  };
  for (int warmUp = 0; warmUp < (repeats > 0 ? kWarmUps : 1); ++warmUp)
    if (llvm::Error failed = launch())
      return failed;
  // Nothing waits between the launches, so that the clock sees them alone.
  std::vector<std::pair<Event, Event>> events;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    auto &[begin, end] = events.emplace_back(Event(device), Event(device));
    if (llvm::Error failed = begin.record())
      return failed;
    if (llvm::Error failed = launch())
      return failed;
    if (llvm::Error failed = end.record())
      return failed;
  }
  if (llvm::Error failed = takeError(fa_device_synchronize(device)))
    return failed;
  for (auto &[begin, end] : events) {
    llvm::Expected<double> seconds = begin.secondsTo(end);
    if (!seconds)
      return seconds.takeError();
    outcome.seconds.push_back(*seconds);
  }
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
      placed[i]->copyTo(outcome.outputs[output++]);
  }
  return outcome;
}
