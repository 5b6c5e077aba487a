//===- CUDATypes.h - what the CUDA driver's functions take ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The binary interface of the few functions of libcuda.so.1 that the runtime
// calls, declared here because the library is opened at run time and its
// header is no part of any system. One list serves the loader and the library
// that stands in for the driver in tests.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CUDATYPES_H
#define FA_RUNTIME_CUDATYPES_H

#include <cstddef>
#include <cstdint>

namespace mlir::fa::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = uint64_t;
using CUcontext = struct CUctx_st *;
using CUstream = struct CUstream_st *;
using CUevent = struct CUevent_st *;
using CUlibrary = struct CUlib_st *;
using CUkernel = struct CUkern_st *;
using CUfunction = struct CUfunc_st *;

enum : CUresult {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
};

enum CUdevice_attribute : int {
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
};

enum CUjit_option : int {
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

/// Say that a launch may start before the kernel before it on its stream has ended, which the
/// kernel waits for itself (programmatic dependent launch).
struct CULaunchAttribute {
  static constexpr int kProgrammaticStreamSerialization = 6;
  int id = kProgrammaticStreamSerialization;
  int padding = 0;
  union {
    int allowed = 1;
    char bytes[64];
  };
};
static_assert(sizeof(CULaunchAttribute) == 72);

struct CULaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  CUstream stream;
  const CULaunchAttribute *attributes;
  unsigned attributeCount;
};

/// Describe how the TMA sees a tensor; made by the driver, read by nobody.
struct alignas(64) CUtensorMap {
  uint64_t opaque[16];
};

enum CUtensorMapDataType : int {
  CU_TENSOR_MAP_DATA_TYPE_UINT8 = 0,
  CU_TENSOR_MAP_DATA_TYPE_UINT16 = 1,
  CU_TENSOR_MAP_DATA_TYPE_INT32 = 3,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_FLOAT32 = 7,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9,
};

enum CUstreamCaptureMode : int { CU_STREAM_CAPTURE_MODE_RELAXED = 2 };

enum CUstreamCaptureStatus : int { CU_STREAM_CAPTURE_STATUS_NONE = 0 };

enum CUtensorMapInterleave : int { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };

enum CUtensorMapSwizzle : int {
  CU_TENSOR_MAP_SWIZZLE_NONE = 0,
  CU_TENSOR_MAP_SWIZZLE_32B = 1,
  CU_TENSOR_MAP_SWIZZLE_64B = 2,
  CU_TENSOR_MAP_SWIZZLE_128B = 3,
};

enum CUtensorMapL2promotion : int { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };

/// Does not wait for the default stream.
constexpr unsigned CU_STREAM_NON_BLOCKING = 1;

/// None: zeros.
enum CUtensorMapFloatOOBfill : int { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

// X(function, symbol, parameters). The library has several versions of some
// functions; the symbol says which.
#define FA_CUDA_FUNCTIONS(X)                                                                       \
  X(cuInit, cuInit, (unsigned flags))                                                              \
  X(cuDriverGetVersion, cuDriverGetVersion, (int *version))                                        \
  X(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                              \
  X(cuDeviceGet, cuDeviceGet, (CUdevice * device, int ordinal))                                    \
  X(cuDeviceGetName, cuDeviceGetName, (char *name, int size, CUdevice device))                     \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute,                                                    \
    (int *value, CUdevice_attribute attribute, CUdevice device))                                   \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))    \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (CUdevice device))                    \
  X(cuCtxGetCurrent, cuCtxGetCurrent, (CUcontext * context))                                       \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, (CUcontext context))                                    \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, (CUcontext * context))                                    \
  X(cuLibraryLoadData, cuLibraryLoadData,                                                          \
    (CUlibrary * library, const void *code, CUjit_option *jitOptions, void **jitValues,            \
     unsigned jitCount, int *options, void **values, unsigned count))                              \
  X(cuLibraryUnload, cuLibraryUnload, (CUlibrary library))                                         \
  X(cuLibraryGetKernel, cuLibraryGetKernel,                                                        \
    (CUkernel * kernel, CUlibrary library, const char *name))                                      \
  X(cuKernelGetFunction, cuKernelGetFunction, (CUfunction * function, CUkernel kernel))            \
  X(cuFuncGetAttribute, cuFuncGetAttribute,                                                        \
    (int *value, CUfunction_attribute attribute, CUfunction function))                             \
  X(cuFuncSetAttribute, cuFuncSetAttribute,                                                        \
    (CUfunction function, CUfunction_attribute attribute, int value))                              \
  X(cuLaunchKernel, cuLaunchKernel,                                                                \
    (CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,         \
     unsigned blockY, unsigned blockZ, unsigned sharedBytes, CUstream stream, void **parameters,   \
     void **extra))                                                                                \
  X(cuMemGetInfo, cuMemGetInfo_v2, (size_t *available, size_t *total))                             \
  X(cuMemAlloc, cuMemAlloc_v2, (CUdeviceptr * pointer, size_t bytes))                              \
  X(cuMemFree, cuMemFree_v2, (CUdeviceptr pointer))                                                \
  X(cuMemcpy, cuMemcpy, (CUdeviceptr to, CUdeviceptr from, size_t bytes))                          \
  X(cuMemsetD8, cuMemsetD8_v2, (CUdeviceptr pointer, unsigned char value, size_t bytes))           \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,                          \
    (CUstreamCaptureMode * mode))                                                                  \
  X(cuStreamCreate, cuStreamCreate, (CUstream * stream, unsigned flags))                           \
  X(cuStreamSynchronize, cuStreamSynchronize, (CUstream stream))                                   \
  X(cuStreamIsCapturing, cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus * status))   \
  X(cuStreamDestroy, cuStreamDestroy_v2, (CUstream stream))                                        \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                                       \
    (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                             \
  X(cuCtxSynchronize, cuCtxSynchronize, ())                                                        \
  X(cuEventCreate, cuEventCreate, (CUevent * event, unsigned flags))                               \
  X(cuEventDestroy, cuEventDestroy_v2, (CUevent event))                                            \
  X(cuEventRecord, cuEventRecord, (CUevent event, CUstream stream))                                \
  X(cuEventSynchronize, cuEventSynchronize, (CUevent event))                                       \
  X(cuEventElapsedTime, cuEventElapsedTime, (float *milliseconds, CUevent begin, CUevent end))     \
  X(cuGetErrorName, cuGetErrorName, (CUresult result, const char **text))                          \
  X(cuGetErrorString, cuGetErrorString, (CUresult result, const char **text))

// Functions that only some programs need; null where the driver lacks them.
#define FA_CUDA_OPTIONAL_FUNCTIONS(X)                                                              \
  X(cuLaunchKernelEx, cuLaunchKernelEx,                                                            \
    (const CULaunchConfig *config, CUfunction function, void **parameters, void **extra))          \
  X(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled,                                                \
    (CUtensorMap * map, CUtensorMapDataType type, uint32_t rank, void *address,                    \
     const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,                          \
     const uint32_t *elementStrides, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, \
     CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill))

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_CUDATYPES_H
