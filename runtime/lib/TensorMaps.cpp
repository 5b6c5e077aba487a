//===- TensorMaps.cpp - how the TMA sees tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorMaps.h"
#include "fa/Support/SliceMaps.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>
#include <type_traits>

using namespace mlir::fa;
using namespace mlir::fa::cuda;

// Requests are hashed and compared as bytes.
static_assert(std::has_unique_object_representations_v<TensorMapRequest> &&
              sizeof(TensorMapRequest) % sizeof(uint64_t) == 0);

/// Return the type of a size: bytes are only copied, but for the swizzle, so types matter little.
static CUtensorMapDataType typeOf(DType dtype) {
  switch (dtype) {
  case DType::F16:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  case DType::BF16:
    return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  case DType::F32:
    return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  case DType::I32:
    return CU_TENSOR_MAP_DATA_TYPE_INT32;
  case DType::I16:
    return CU_TENSOR_MAP_DATA_TYPE_UINT16;
  default:
    return CU_TENSOR_MAP_DATA_TYPE_UINT8;
  }
}

static_assert(uint64_t(kSliceRows) * kSliceStride == 0, "what a slice steps back");

uint64_t mlir::fa::cuda::countSliceUnits(const BoundArgument &argument, uint64_t size) {
  size_t rows = argument.sizes.size() - 2;
  uint64_t elements = 0;
  for (size_t d = 0; d <= rows; ++d)
    elements += argument.strides[d] * (argument.sizes[d] - (d < rows));
  return elements * size / kSliceUnit;
}

TensorMapRequest mlir::fa::cuda::makeTensorMapRequest(const ManifestParameter &parameter,
                                                      const ManifestArgument &info,
                                                      const BoundArgument &argument,
                                                      CUdeviceptr substitute) {
  size_t rank = argument.sizes.size();
  // Without a swizzle, a row is one panel.
  uint64_t size = sizeOf(*info.dtype);
  uint64_t panel = parameter.swizzle ? parameter.swizzle / size : parameter.columns;
  bool empty = llvm::is_contained(argument.sizes, 0);

  TensorMapRequest request;
  request.address = empty ? substitute : reinterpret_cast<uintptr_t>(argument.data);
  request.type = typeOf(*info.dtype);
  request.swizzle = parameter.swizzle == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                    : parameter.swizzle == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                    : parameter.swizzle == 32 ? CU_TENSOR_MAP_SWIZZLE_32B
                                              : CU_TENSOR_MAP_SWIZZLE_NONE;
  auto add = [&](uint64_t extent, uint64_t stride, uint32_t box) {
    request.sizes[request.rank] = extent;
    request.box[request.rank] = box;
    if (request.rank > 0)
      request.strides[request.rank - 1] = stride;
    ++request.rank;
  };
  // A dimension of size 1 has no stride: any that the driver takes serves, and
  // always the same one finds what is cached.
  uint64_t anyStride = parameter.swizzle ? parameter.swizzle : kSliceUnit;
  auto addDim = [&](size_t d, uint32_t box) {
    bool single = empty || argument.sizes[d] == 1;
    add(empty ? 1 : argument.sizes[d], single ? anyStride : argument.strides[d] * size, box);
  };
  // Of the manifest's shape, where it says: an empty tensor is mapped as one whole row.
  bool known = parameter.swizzle && !mlir::ShapedType::isDynamic(info.shape.back());
  uint64_t last = known ? info.shape.back() : empty ? 1 : argument.sizes.back();
  bool panels = parameter.hasPanels(info.shape.back(), size);
  add(panels ? panel : last, size, panel);
  if (parameter.slices) {
    // A kernel counts units by the rows' stride, whatever their number.
    uint64_t stride = empty ? anyStride : argument.strides[rank - 2] * size;
    add(kSliceRows, stride, parameter.rows);
    add(empty ? 1 : countSliceUnits(argument, size) + 1, kSliceUnit, 1);
    // So many steps back are the rows too many, modulo 2^64.
    add(kSliceRows + 1, kSliceStride - stride, 1);
  } else {
    addDim(rank - 2, parameter.rows);
  }
  if (panels)
    add(last / panel, parameter.swizzle, parameter.columns / panel);
  for (size_t d = parameter.slices ? 0 : rank - 2; d-- > 0;)
    addDim(d, 1);
  return request;
}

static uint64_t hash(const TensorMapRequest &request) {
  uint64_t words[sizeof request / sizeof(uint64_t)], hash = 0;
  std::memcpy(words, &request, sizeof request);
  for (uint64_t word : words) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15;
    hash ^= hash >> 32;
  }
  return hash;
}

CUresult TensorMapCache::get(const Driver &driver, const TensorMapRequest &request,
                             CUtensorMap &map) {
  Set &set = sets[hash(request) % kSets];
  auto find = [&]() -> Entry * {
    for (Entry &entry : set.entries)
      if (std::memcmp(&entry.request, &request, sizeof request) == 0)
        return &entry;
    return nullptr;
  };
  {
    std::lock_guard<std::mutex> lock(set.mutex);
    if (const Entry *entry = find()) {
      map = entry->map;
      return CUDA_SUCCESS;
    }
  }
  // Not under the lock: other threads go on. Two that miss alike encode alike.
  static const uint32_t ones[] = {1, 1, 1, 1, 1};
  CUresult result = driver.cuTensorMapEncodeTiled(
      &map, request.type, request.rank, reinterpret_cast<void *>(request.address), request.sizes,
      request.strides, request.box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE, request.swizzle,
      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    return result;
  std::lock_guard<std::mutex> lock(set.mutex);
  if (!find()) {
    Entry &entry = set.entries[set.oldest++ % kWays];
    entry.map = map;
    entry.request = request;
  }
  return CUDA_SUCCESS;
}
