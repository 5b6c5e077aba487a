//===- fa_device.cpp - the C API: devices, their memory and clocks -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CError.h"
#include "CUDAExecutor.h"
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

using namespace mlir::fa;

struct fa_device {
  /// Null: the CPU.
  std::shared_ptr<const cuda::Device> cuda;
};

struct fa_event {
  std::shared_ptr<const cuda::Device> cuda;
  cuda::CUevent handle = nullptr;
  std::chrono::steady_clock::time_point time;
  bool recorded = false;
};

static constexpr uint64_t kAlignment = 256;

static cuda::CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<uintptr_t>(pointer);
}

/// Calls a function of the driver with the device's context current.
template <typename Function>
static fa_error *call(const cuda::Device &device, const llvm::Twine &what, Function function) {
  cuda::Current current(device);
  if (llvm::Error failed = current.check())
    return makeError(std::move(failed));
  return makeError(device.driver.check(function(device.driver), what));
}

fa_error *fa_device_open(const char *name, fa_device **device) {
  if (!name || !device)
    return makeError("fa_device_open needs a name and a place for the device, got NULL");
  *device = nullptr;
  if (std::strcmp(name, "cpu") == 0) {
    *device = new fa_device;
    return nullptr;
  }
  std::optional<int> ordinal = cuda::parseDevice(name);
  if (!ordinal)
    return makeError("unknown device '" + std::string(name) + "': expected cpu, cuda or cuda:N");
  auto driver = cuda::Driver::get();
  if (!driver)
    return makeError(driver.takeError());
  auto opened = cuda::Device::open(**driver, *ordinal);
  if (!opened)
    return makeError(opened.takeError());
  *device = new fa_device{std::move(*opened)};
  return nullptr;
}

void fa_device_close(fa_device *device) { delete device; }

fa_device_info fa_device_get_info(const fa_device *device) {
  if (!device || !device->cuda)
    return {device ? "cpu" : "", 0, 0, 0, 0, 0};
  const cuda::Device &cuda = *device->cuda;
  return {cuda.name.c_str(),    cuda.major,          cuda.minor,
          cuda.multiprocessors, cuda.driver.version, cuda.sharedBytes};
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

fa_error *fa_device_memory(const fa_device *device, uint64_t *available, uint64_t *total) {
  if (!device || !available || !total)
    return makeError("fa_device_memory needs a device and places for the bytes, got NULL");
  if (!device->cuda) {
    uint64_t page = sysconf(_SC_PAGESIZE);
    *available = page * sysconf(_SC_AVPHYS_PAGES);
    *total = page * sysconf(_SC_PHYS_PAGES);
    return nullptr;
  }
  size_t free = 0, all = 0;
  fa_error *error =
      call(*device->cuda, "ask for the memory of the device",
           [&](const cuda::Driver &driver) { return driver.cuMemGetInfo(&free, &all); });
  *available = free;
  *total = all;
  return error;
}

fa_error *fa_device_alloc(const fa_device *device, uint64_t bytes, void **pointer) {
  if (!device || !pointer)
    return makeError("fa_device_alloc needs a device and a place for the pointer, got NULL");
  *pointer = nullptr;
  // A pointer of its own for no bytes too, as malloc may give.
  uint64_t padded = (std::max<uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  std::string remedy = "; free some, or choose smaller sizes";
  if (padded < bytes)
    return makeError("cannot allocate " + std::to_string(bytes) + " bytes" + remedy);
  if (!device->cuda) {
    *pointer = std::aligned_alloc(kAlignment, padded);
    return *pointer ? nullptr
                    : makeError("cannot allocate " + std::to_string(bytes) + " bytes" + remedy);
  }
  cuda::CUdeviceptr allocated = 0;
  fa_error *error = call(
      *device->cuda, "allocate " + std::to_string(bytes) + " bytes on " + device->cuda->describe(),
      [&](const cuda::Driver &driver) { return driver.cuMemAlloc(&allocated, padded); });
  if (error)
    error->message += remedy;
  else
    *pointer = reinterpret_cast<void *>(static_cast<uintptr_t>(allocated));
  return error;
}

fa_error *fa_device_free(const fa_device *device, void *pointer) {
  if (!device)
    return makeError("fa_device_free needs a device, got NULL");
  if (!pointer)
    return nullptr;
  if (!device->cuda) {
    std::free(pointer);
    return nullptr;
  }
  return call(*device->cuda, "free memory on " + device->cuda->describe(),
              [&](const cuda::Driver &driver) { return driver.cuMemFree(address(pointer)); });
}

fa_error *fa_device_copy(const fa_device *device, void *to, const void *from, uint64_t bytes) {
  if (!device || (bytes && (!to || !from)))
    return makeError("fa_device_copy needs a device and two pointers, got NULL");
  if (!bytes)
    return nullptr;
  if (!device->cuda) {
    std::memmove(to, from, bytes);
    return nullptr;
  }
  return call(*device->cuda,
              "copy " + std::to_string(bytes) + " bytes on " + device->cuda->describe(),
              [&](const cuda::Driver &driver) {
                return driver.cuMemcpy(address(to), address(from), bytes);
              });
}

fa_error *fa_device_fill(const fa_device *device, void *pointer, uint8_t value, uint64_t bytes) {
  if (!device || (bytes && !pointer))
    return makeError("fa_device_fill needs a device and a pointer, got NULL");
  if (!bytes)
    return nullptr;
  if (!device->cuda) {
    std::memset(pointer, value, bytes);
    return nullptr;
  }
  return call(*device->cuda,
              "set " + std::to_string(bytes) + " bytes on " + device->cuda->describe(),
              [&](const cuda::Driver &driver) {
                return driver.cuMemsetD8(address(pointer), value, bytes);
              });
}

fa_error *fa_device_synchronize(const fa_device *device) {
  if (!device)
    return makeError("fa_device_synchronize needs a device, got NULL");
  if (!device->cuda)
    return nullptr;
  return call(*device->cuda, "finish the work on " + device->cuda->describe(),
              [&](const cuda::Driver &driver) { return driver.cuCtxSynchronize(); });
}

//===----------------------------------------------------------------------===//
// Events
//===----------------------------------------------------------------------===//

fa_error *fa_event_create(const fa_device *device, fa_event **event) {
  if (!device || !event)
    return makeError("fa_event_create needs a device and a place for the event, got NULL");
  *event = nullptr;
  auto created = std::make_unique<fa_event>();
  created->cuda = device->cuda;
  if (device->cuda)
    if (fa_error *error = call(*device->cuda, "make an event", [&](const cuda::Driver &driver) {
          return driver.cuEventCreate(&created->handle, /*flags=*/0);
        }))
      return error;
  *event = created.release();
  return nullptr;
}

void fa_event_free(fa_event *event) {
  if (event && event->handle) {
    cuda::Current current(*event->cuda);
    event->cuda->driver.cuEventDestroy(event->handle);
  }
  delete event;
}

fa_error *fa_event_record(fa_event *event, void *stream) {
  if (!event)
    return makeError("fa_event_record needs an event, got NULL");
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  if (!event->cuda)
    return nullptr;
  return call(*event->cuda, "record an event", [&](const cuda::Driver &driver) {
    return driver.cuEventRecord(event->handle, static_cast<cuda::CUstream>(stream));
  });
}

fa_error *fa_event_elapsed(const fa_event *begin, const fa_event *end, double *seconds) {
  if (!begin || !end || !seconds)
    return makeError("fa_event_elapsed needs two events and a place for the time, got NULL");
  if (!begin->recorded || !end->recorded ||
      (begin->cuda ? begin->cuda->ordinal : -1) != (end->cuda ? end->cuda->ordinal : -1))
    return makeError("fa_event_elapsed needs two events that were recorded on one device");
  if (!begin->cuda) {
    *seconds = std::chrono::duration<double>(end->time - begin->time).count();
    return nullptr;
  }
  float milliseconds = 0;
  fa_error *error = call(*begin->cuda, "wait for an event", [&](const cuda::Driver &driver) {
    cuda::CUresult result = driver.cuEventSynchronize(end->handle);
    return result == cuda::CUDA_SUCCESS
               ? driver.cuEventElapsedTime(&milliseconds, begin->handle, end->handle)
               : result;
  });
  *seconds = milliseconds * 1e-3;
  return error;
}
