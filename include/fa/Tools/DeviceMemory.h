//===- DeviceMemory.h - tensors in the memory of a device ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_DEVICEMEMORY_H
#define FA_TOOLS_DEVICEMEMORY_H

#include "fa/Tools/Execution.h"
#include <cstring>
#include <utility>

namespace mlir::fa {

/// Return the error; success for NULL.
inline llvm::Error takeError(fa_error *error) {
  if (!error)
    return llvm::Error::success();
  std::string message = fa_error_message(error);
  fa_error_free(error);
  return llvm::createStringError(message);
}

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
  Placed(DType dtype, std::vector<int64_t> shape, Placing placing)
      : dtype(dtype), shape(std::move(shape)), strides(this->shape.size()),
        before(kGuard + placing.shift * sizeOf(dtype)) {
    size_t rank = this->shape.size();
    std::vector<size_t> order(rank);
    for (size_t d = 0; d < rank; ++d)
      order[d] = d;
    if (rank == 4 && placing.layout == HeadLayout::BSHD)
      std::swap(order[1], order[2]);
    int64_t elements = 1;
    for (size_t k = rank; k-- > 0;) {
      strides[order[k]] = elements;
      elements *= std::max<int64_t>(this->shape[order[k]], 1);
    }
    // All ones is NaN in every float type.
    size = elements * sizeOf(dtype) + before + kGuard;
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
  /// Writes the poison again.
  llvm::Error poison(const fa_device *device) {
    return takeError(fa_device_fill(device, there.get(), 0xFF, size));
  }
  llvm::Error download(const fa_device *device) {
    bytes.resize(size);
    return takeError(fa_device_copy(device, bytes.data(), there.get(), size));
  }
  fa_tensor describe(fa_dtype type) {
    return {there.get(),  type,           static_cast<int32_t>(shape.size()),
            shape.data(), strides.data(), before};
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
      function(i * size, bytes.data() + before + at * size);
      for (size_t d = shape.size(); d-- > 0;) {
        if (++index[d] < shape[d])
          break;
        index[d] = 0;
      }
    }
  }

  DType dtype;
  std::vector<int64_t> shape, strides;
  /// Bytes before the first element; bytes of all.
  size_t before, size;
  std::vector<std::byte> bytes;
  Buffer there;
};

} // namespace mlir::fa

#endif // FA_TOOLS_DEVICEMEMORY_H
