//===- MaxSize.h - the greatest size of a dimension --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_MAXSIZE_H
#define FA_SUPPORT_MAXSIZE_H

#include <cstdint>

namespace mlir::fa {

/// The most elements that a dimension of a tensor has: a launch refuses more, and kernels compute
/// sums of two positions in 32 bits.
constexpr int64_t kMaxSize = (int64_t(1) << 30) - 1;

} // namespace mlir::fa

#endif // FA_SUPPORT_MAXSIZE_H
