//===- FakeCUDA.cpp - a stand-in for libcuda.so.1 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The driver's functions in host memory, so that the runtime is tested where
// there is no GPU. FA_FAKE_CUDA changes what it says, a list of key=value:
//
//   version=11040     what cuDriverGetVersion says (12040)
//   init=100          the result of cuInit
//   devices=0         how many there are (1)
//   capability=75     of the devices (90)
//   name=NVIDIA H200  of the devices (Fake GPU)
//   shared=65536      bytes of shared memory that a block may have (232448)
//   memory=4096       bytes that can be allocated
//   jit=TEXT          compiling PTX fails, with this log (';' for a new line)
//   load=100          milliseconds that loading takes
//   lazy=1            compiling, or taking a cubin, fails at the first kernel, not before
//   cubin=209         the result of loading a cubin
//   launch=719, sync=700   the result of launches, of waiting
//   encode=1          the result of encoding tensor maps that are right
//
// PTX that holds the word `nonsense` cannot be compiled. A cubin is one of ptxas, whose kernels are
// known by name alone, or PTX after the four bytes that a cubin begins with. Two kernels are known:
// `fake_scale`, y = a
// * x for x and y of ?x4xf32, and `fake_tile` of TileProgram.h. All launches are logged.
//
//===----------------------------------------------------------------------===//

#include "CUDATypes.h"
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using namespace mlir::fa::cuda;

namespace mlir::fa::cuda {
struct CUlib_st {
  std::string code;
  char *log = nullptr;
  size_t logSize = 0;
};
struct CUkern_st {
  CUlib_st *library;
  std::string name;
};
struct CUfunc_st : CUkern_st {};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};
} // namespace mlir::fa::cuda

namespace {

constexpr CUresult kInvalidValue = 1, kInvalidPtx = 218, kNotFound = 500, kInvalidContext = 201;
constexpr CUresult kCaptured = 900;

std::string setting(const std::string &key, const std::string &otherwise) {
  const char *text = std::getenv("FA_FAKE_CUDA");
  std::string all = "," + std::string(text ? text : "") + ",";
  size_t at = all.find("," + key + "=");
  if (at == std::string::npos)
    return otherwise;
  at += key.size() + 2;
  return all.substr(at, all.find(',', at) - at);
}

long number(const std::string &key, long otherwise) {
  std::string text = setting(key, "");
  return text.empty() ? otherwise : std::atol(text.c_str());
}

std::mutex mutex;
std::map<CUdeviceptr, size_t> allocations;
size_t allocated = 0;
std::string launches;
std::atomic<int> contexts{0}, libraries{0}, encodings{0}, compiled{0}, cubins{0};
std::atomic<bool> quiet{false};
std::atomic<bool> capturing{false};
thread_local std::vector<CUcontext> current;
thread_local CUstreamCaptureMode captureMode{};

/// Return whether a call that is not safe ends what some thread captures.
bool endsCapture() { return capturing && captureMode != CU_STREAM_CAPTURE_MODE_RELAXED; }

const std::string kCubin = "\x7f"
                           "ELF";

bool isCubin(const std::string &code) { return code.compare(0, kCubin.size(), kCubin) == 0; }

/// Return code that was given without its size: text, or an object up to the end of its headers.
[[maybe_unused]] std::string copyOf(const char *code) {
  // A cubin of ptxas is of 64 bits, which its fifth byte says.
  if (std::strncmp(code, kCubin.c_str(), kCubin.size()) != 0 || code[4] != 2)
    return code;
  auto read16 = [&](size_t at) {
    uint16_t v;
    std::memcpy(&v, code + at, 2);
    return size_t(v);
  };
  auto read64 = [&](size_t at) {
    uint64_t v;
    std::memcpy(&v, code + at, 8);
    return size_t(v);
  };
  size_t segments = read64(32) + read16(54) * read16(56),
         sections = read64(40) + read16(58) * read16(60);
  return std::string(code, std::max(segments, sections));
}

CUresult compileError(CUlib_st &library) {
  if (isCubin(library.code))
    return static_cast<CUresult>(number("cubin", 0));
  std::string log = setting("jit", "");
  if (library.code.find("nonsense") != std::string::npos)
    log = "ptxas application ptx input, line 9; fatal   : Parsing error near 'nonsense'";
  if (log.empty())
    return CUDA_SUCCESS;
  std::replace(log.begin(), log.end(), ';', '\n');
  if (library.log)
    std::strncpy(library.log, log.c_str(), library.logSize - 1);
  return kInvalidPtx;
}

/// Return the types of a kernel's parameters, as its PTX declares them; nothing where
/// there is no such kernel.
bool parametersOf(const std::string &code, const std::string &name,
                  std::vector<std::string> &types) {
  size_t at = code.find(".entry " + name + "(");
  if (at == std::string::npos)
    return isCubin(code) && code.find(std::string(".text.") + name + '\0') != std::string::npos;
  std::string list = code.substr(at, code.find(')', at) - at);
  for (size_t p = list.find(".param ."); p != std::string::npos; p = list.find(".param .", p + 1)) {
    size_t begin = p + 8;
    std::string type = list.substr(begin, list.find(' ', begin) - begin);
    // The only arrays are tensor maps: .align 64 .b8 name[128]
    types.push_back(type == "align" ? "map" : type);
  }
  return true;
}

size_t sizeOfType(const std::string &type) { return std::atoi(type.c_str() + 1) / 8; }

/// Hold what a tensor map does here.
struct Map {
  uint64_t address, sizes[5], strides[4];
  uint8_t rank, type, swizzle, box[5];
};
static_assert(sizeof(Map) <= sizeof(CUtensorMap));
constexpr int kMapTypes = 10;
[[maybe_unused]] constexpr uint64_t kMapBytes[kMapTypes] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2};

std::string textOf(const Map &map) {
  auto list = [](auto *values, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += (i ? "," : "") + std::to_string(values[i] + 0ull);
    return text;
  };
  // A side of 256 wraps around, and nothing here asks for one.
  return std::to_string(map.type) + "@" + std::to_string(map.address) + "[" +
         list(map.sizes, map.rank) + "][" + list(map.strides, map.rank - 1) + "][" +
         list(map.box, map.rank) + "]/" + std::to_string(map.swizzle);
}

template <typename T> T read(void *address) {
  T value;
  std::memcpy(&value, address, sizeof value);
  return value;
}

void runScale(void **p) {
  auto *x = read<float *>(p[0]), *y = read<float *>(p[3]);
  int64_t rows = read<int64_t>(p[1]), xStride = read<int64_t>(p[2]), yStride = read<int64_t>(p[5]);
  auto a = read<float>(p[6]);
  for (int64_t i = 0; i < rows; ++i)
    for (int j = 0; j < 4; ++j)
      y[i * yStride + j] = a * x[i * xStride + j];
}

/// Copies a box of 2-byte elements as the TMA does, for which boxes are of rank 5, the last two
/// sides 1, or the two before the last one.
void copyBox(const Map &map, const int64_t *from, char *y) {
  int last = map.rank == 5 && map.box[4] > 1 ? 4 : 2;
  for (int i2 = 0; i2 < map.box[last]; ++i2)
    for (int i1 = 0; i1 < map.box[1]; ++i1)
      for (int i0 = 0; i0 < map.box[0]; ++i0) {
        int64_t at[] = {from[0] + i0, from[1] + i1, from[2], from[3], from[4]};
        at[last] += i2;
        uint64_t address = map.address + 2 * at[0];
        bool inside = at[0] >= 0 && static_cast<uint64_t>(at[0]) < map.sizes[0];
        for (int d = 1; d < map.rank; ++d) {
          inside &= at[d] >= 0 && static_cast<uint64_t>(at[d]) < map.sizes[d];
          address += at[d] * map.strides[d - 1];
        }
        uint64_t to = 2 * ((i2 * map.box[1] + i1) * map.box[0] + i0);
        to ^= (to >> 7 & 7) << 4;
        auto value = inside ? read<uint16_t>(reinterpret_cast<void *>(address)) : uint16_t(0);
        std::memcpy(y + to, &value, sizeof value);
      }
}

/// One box, panels being a dimension of it, of slices the last one; or one a panel.
void runTile(void **p, bool slices) {
  auto *y = read<char *>(p[0]);
  auto map = read<Map>(p[6]);
  int64_t b = read<int32_t>(p[3]), h = read<int32_t>(p[4]), row = read<int32_t>(p[5]);
  if (slices)
    return copyBox(map, std::array<int64_t, 5>{0, row, h, b, 0}.data(), y);
  if (map.rank == 5)
    return copyBox(map, std::array<int64_t, 5>{0, row, 0, h, b}.data(), y);
  for (int64_t panel = 0; panel < 2; ++panel)
    copyBox(map, std::array<int64_t, 5>{64 * panel, row, h, b, 0}.data(),
            y + panel * 2 * map.box[0] * map.box[1]);
}

} // namespace

extern "C" {
#define FA_EXPORTED __attribute__((visibility("default")))

// What tests ask of it.
FA_EXPORTED const char *fakeLaunches() { return launches.c_str(); }
FA_EXPORTED void fakeReset() { launches.clear(); }
FA_EXPORTED size_t fakeAllocated() { return allocated; }
FA_EXPORTED int fakeContexts() { return contexts; }
FA_EXPORTED int fakeLibraries() { return libraries; }
FA_EXPORTED int fakeEncodings() { return encodings; }
FA_EXPORTED int fakeCompiled() { return compiled; }
FA_EXPORTED int fakeCubins() { return cubins; }
// Launches do nothing from now on, so that what remains is the caller's time.
// A stream is captured somewhere, which loading ends but for relaxed threads.
FA_EXPORTED void fakeCapture(bool on) { capturing = on; }
FA_EXPORTED void fakeQuiet(bool on) { quiet = on; }

FA_EXPORTED CUresult cuInit(unsigned) { return static_cast<CUresult>(number("init", 0)); }
FA_EXPORTED CUresult cuDriverGetVersion(int *version) {
  *version = static_cast<int>(number("version", 12040));
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuDeviceGetCount(int *count) {
  *count = static_cast<int>(number("devices", 1));
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  *device = ordinal;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  std::strncpy(name, setting("name", "Fake GPU").c_str(), size);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice) {
  int capability = static_cast<int>(number("capability", 90));
  switch (attribute) {
  case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
    *value = 132;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    *value = capability / 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
    *value = capability % 10;
    return CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
    *value = static_cast<int>(number("shared", 232448));
    return CUDA_SUCCESS;
  }
  return kInvalidValue;
}
FA_EXPORTED CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
  *context = reinterpret_cast<CUcontext>(static_cast<intptr_t>(device) + 1);
  ++contexts;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  --contexts;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuCtxGetCurrent(CUcontext *context) {
  *context = current.empty() ? nullptr : current.back();
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuCtxPushCurrent_v2(CUcontext context) {
  current.push_back(context);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode) {
  std::swap(*mode, captureMode);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuCtxPopCurrent_v2(CUcontext *) {
  if (current.empty())
    return kInvalidContext;
  current.pop_back();
  return CUDA_SUCCESS;
}

#ifndef FA_FAKE_LACKS_LIBRARIES
FA_EXPORTED CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *options,
                                       void **values, unsigned count, int *, void **, unsigned) {
  // A driver opens its compiler with the first PTX, which goes when the process ends.
  static std::atomic<bool> gone{false};
  static const int registered = std::atexit([] { gone = true; });
  (void)registered;
  std::this_thread::sleep_for(std::chrono::milliseconds(number("load", 0)));
  if (gone)
    std::abort();
  if (endsCapture())
    return kCaptured;
  auto *made = new CUlib_st{copyOf(static_cast<const char *>(code))};
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      made->log = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      made->logSize = reinterpret_cast<size_t>(values[i]);
  }
  if (!number("lazy", 0))
    if (CUresult failed = compileError(*made)) {
      delete made;
      return failed;
    }
  *library = made;
  ++libraries;
  ++(isCubin(made->code) ? cubins : compiled);
  return CUDA_SUCCESS;
}
#endif
FA_EXPORTED CUresult cuLibraryUnload(CUlibrary library) {
  if (endsCapture())
    return kCaptured;
  --libraries;
  delete library;
  return CUDA_SUCCESS;
}
// Kernels and functions are few, and leaked.
FA_EXPORTED CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  std::vector<std::string> types;
  if (!parametersOf(library->code, name, types))
    return kNotFound;
  *kernel = new CUkern_st{library, name};
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  if (CUresult failed = compileError(*kernel->library))
    return failed;
  *function = new CUfunc_st{*kernel};
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_NUM_REGS ? 168 : 0;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int value) {
  return value <= number("shared", 232448) ? CUDA_SUCCESS : kInvalidValue;
}
static CUresult launch(const CULaunchConfig &config, CUfunction function, void **parameters) {
  if (current.empty())
    return kInvalidContext;
  if (quiet)
    return CUDA_SUCCESS;
  if (CUresult failed = static_cast<CUresult>(number("launch", 0)))
    return failed;
  std::vector<std::string> types;
  parametersOf(function->library->code, function->name, types);
  auto triple = [](unsigned x, unsigned y, unsigned z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
  };
  std::string line = function->name + "<" + triple(config.gridX, config.gridY, config.gridZ) + ";" +
                     triple(config.blockX, config.blockY, config.blockZ) + ";" +
                     std::to_string(config.sharedBytes) + ";" +
                     std::to_string(reinterpret_cast<uintptr_t>(config.stream)) +
                     (config.attributeCount ? ";dependent>(" : ">(");
  for (size_t i = 0; i < types.size(); ++i) {
    uint64_t bits = 0;
    bool map = types[i] == "map";
    if (!map)
      std::memcpy(&bits, parameters[i], sizeOfType(types[i]));
    line += (i ? ", " : "") + types[i] + ":" +
            (map ? textOf(read<Map>(parameters[i])) : std::to_string(bits));
  }
  {
    std::lock_guard<std::mutex> lock(mutex);
    launches += line + ")\n";
  }
  if (function->name == "fake_scale")
    runScale(parameters);
  bool slices = function->name == "fake_slices";
  if (function->name == "fake_tile" || function->name == "fake_panels" || slices)
    runTile(parameters, slices);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned gridX, unsigned gridY,
                                    unsigned gridZ, unsigned blockX, unsigned blockY,
                                    unsigned blockZ, unsigned sharedBytes, CUstream stream,
                                    void **parameters, void **) {
  return launch({gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, nullptr, 0},
                function, parameters);
}

#ifndef FA_FAKE_LACKS_TENSOR_MAPS
FA_EXPORTED CUresult cuLaunchKernelEx(const CULaunchConfig *config, CUfunction function,
                                      void **parameters, void **) {
  bool known = config->attributeCount == 1 &&
               config->attributes->id == CULaunchAttribute::kProgrammaticStreamSerialization &&
               config->attributes->allowed == 1;
  return known ? launch(*config, function, parameters) : kInvalidValue;
}
FA_EXPORTED CUresult cuTensorMapEncodeTiled(
    CUtensorMap *result, CUtensorMapDataType type, uint32_t rank, void *address,
    const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
    const uint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  ++encodings;
  if (reinterpret_cast<uintptr_t>(result) % 64 != 0 || reinterpret_cast<uintptr_t>(address) % 16 ||
      rank < 1 || rank > 5 || type >= kMapTypes || interleave != CU_TENSOR_MAP_INTERLEAVE_NONE ||
      promotion != CU_TENSOR_MAP_L2_PROMOTION_L2_256B || fill != CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
    return kInvalidValue;
  Map map{};
  map.address = reinterpret_cast<uintptr_t>(address);
  map.rank = rank;
  map.type = type;
  map.swizzle = swizzle;
  for (uint32_t d = 0; d < rank; ++d) {
    map.sizes[d] = sizes[d];
    map.box[d] = box[d];
    if (sizes[d] == 0 || sizes[d] > 1ull << 32 || box[d] == 0 || box[d] > 256 ||
        elementStrides[d] != 1)
      return kInvalidValue;
    if (d + 1 == rank)
      break;
    map.strides[d] = strides[d];
    if (strides[d] % 16 != 0 || strides[d] >= 1ull << 40)
      return kInvalidValue;
  }
  // What is swizzled repeats within a row.
  if (swizzle && box[0] * kMapBytes[type] > 16u << swizzle)
    return kInvalidValue;
  static_assert(sizeof map <= sizeof *result);
  std::memset(result, 0, sizeof *result);
  std::memcpy(result, &map, sizeof map);
  return static_cast<CUresult>(number("encode", 0));
}
#endif

FA_EXPORTED CUresult cuMemGetInfo_v2(size_t *available, size_t *total) {
  *total = number("memory", 1l << 30);
  *available = *total - allocated;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  if (endsCapture())
    return kCaptured;
  std::lock_guard<std::mutex> lock(mutex);
  if (allocated + bytes > static_cast<size_t>(number("memory", 1l << 30)))
    return CUDA_ERROR_OUT_OF_MEMORY;
  *pointer = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  allocations[*pointer] = bytes;
  allocated += bytes;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuMemFree_v2(CUdeviceptr pointer) {
  if (endsCapture())
    return kCaptured;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = allocations.find(pointer);
  if (found == allocations.end())
    return kInvalidValue;
  allocated -= found->second;
  allocations.erase(found);
  std::free(reinterpret_cast<void *>(pointer));
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return CUDA_SUCCESS;
}
// The default stream, and the device, are of no use while a stream is captured.
FA_EXPORTED CUresult cuMemsetD8_v2(CUdeviceptr pointer, unsigned char value, size_t bytes) {
  if (capturing)
    return kCaptured;
  std::memset(reinterpret_cast<void *>(pointer), value, bytes);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuCtxSynchronize() {
  return capturing ? kCaptured : static_cast<CUresult>(number("sync", 0));
}
FA_EXPORTED CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
  // Of blocking ones the default stream waits.
  if (!flags)
    return kInvalidValue;
  *stream = reinterpret_cast<CUstream>(new char);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuStreamSynchronize(CUstream) {
  return static_cast<CUresult>(number("sync", 0));
}
FA_EXPORTED CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus *status) {
  *status = static_cast<CUstreamCaptureStatus>(capturing ? 1 : 0);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuStreamDestroy_v2(CUstream stream) {
  delete reinterpret_cast<char *>(stream);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes,
                                          CUstream stream) {
  if (!stream && capturing)
    return kCaptured;
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuEventCreate(CUevent *event, unsigned) {
  *event = new CUevent_st;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuEventDestroy_v2(CUevent event) {
  delete event;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuEventRecord(CUevent event, CUstream) {
  event->time = std::chrono::steady_clock::now();
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuEventSynchronize(CUevent) {
  return static_cast<CUresult>(number("sync", 0));
}
FA_EXPORTED CUresult cuEventElapsedTime(float *milliseconds, CUevent begin, CUevent end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
  return CUDA_SUCCESS;
}

FA_EXPORTED CUresult cuGetErrorName(CUresult result, const char **text) {
  static const std::map<CUresult, const char *> names = {
      {kInvalidValue, "CUDA_ERROR_INVALID_VALUE"},
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"},
      {kInvalidPtx, "CUDA_ERROR_INVALID_PTX"},
      {kNotFound, "CUDA_ERROR_NOT_FOUND"},
      {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {719, "CUDA_ERROR_LAUNCH_FAILED"}};
  auto found = names.find(result);
  if (found == names.end())
    return kInvalidValue;
  *text = found->second;
  return CUDA_SUCCESS;
}
FA_EXPORTED CUresult cuGetErrorString(CUresult, const char **text) {
  *text = "as told";
  return CUDA_SUCCESS;
}
}
