//===- SliceMaps.h - numbers of tensor maps of slices -----------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the code of a kernel and the launch that makes its tensor maps both count with
// (lib/Conversion/TileToNVVM/TensorMaps.cpp says how slices of rows are mapped).
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_SLICEMAPS_H
#define FA_SUPPORT_SLICEMAPS_H

#include <cstdint>

namespace mlir::fa {

/// Rows of a map of slices: no tensor of one has more.
constexpr int64_t kSliceRows = int64_t(1) << 30;
/// Strides of its rows are less, in bytes: as many steps of it as rows are 2^64.
constexpr int64_t kSliceStride = int64_t(1) << 34;
/// Places in its tensor are counted in so many bytes, and there are less than so many of them.
constexpr int64_t kSliceUnit = 16, kSliceUnits = int64_t(1) << 31;

} // namespace mlir::fa

#endif // FA_SUPPORT_SLICEMAPS_H
