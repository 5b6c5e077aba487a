//===- TensorMaps.h - how the TMA sees tensors ----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_TENSORMAPS_H
#define FA_RUNTIME_TENSORMAPS_H

#include "CUDADriver.h"
#include "Launch.h"
#include <mutex>

namespace mlir::fa::cuda {

/// All that a tensor map depends on: what the driver is asked to encode. What a
/// request of lower rank does not use is 0.
struct TensorMapRequest {
  static constexpr unsigned kMaxRank = 5;
  uint64_t address = 0;
  /// Innermost first; the first stride, of one element, is left out.
  uint64_t sizes[kMaxRank] = {}, strides[kMaxRank - 1] = {};
  uint32_t box[kMaxRank] = {};
  uint32_t rank = 0;
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT8;
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
};

/// Return the map of a parameter (see Manifest.h) for an argument that passes
/// checkTensorMap. `substitute` is mapped where the argument has no elements:
/// device memory of one row.
TensorMapRequest makeTensorMapRequest(const ManifestParameter &parameter,
                                      const ManifestArgument &info, const BoundArgument &argument,
                                      CUdeviceptr substitute);

/// Return at which unit of 16 bytes the last row of a tensor that is not empty ends (SliceMaps.h).
uint64_t countSliceUnits(const BoundArgument &argument, uint64_t size);

/// Tensor maps by what they depend on, so that each is encoded once: a fixed
/// number, in sets of a few, of which the oldest gives way. Takes no memory after
/// it is made; may be used from any thread.
class TensorMapCache {
public:
  /// Stores the map of a request, which the driver encodes where it is not known.
  CUresult get(const Driver &driver, const TensorMapRequest &request, CUtensorMap &map);

private:
  static constexpr unsigned kSets = 64, kWays = 4;
  struct Entry {
    CUtensorMap map;
    TensorMapRequest request;
  };
  /// A request of rank 0 matches none.
  struct Set {
    std::mutex mutex;
    unsigned oldest = 0;
    Entry entries[kWays];
  };
  Set sets[kSets];
};

} // namespace mlir::fa::cuda

#endif // FA_RUNTIME_TENSORMAPS_H
