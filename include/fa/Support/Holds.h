//===- Holds.h - ops of some kinds inside of another one --------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_HOLDS_H
#define FA_SUPPORT_HOLDS_H

#include "mlir/IR/Operation.h"

namespace mlir::fa {

/// Return whether an op is of one of these kinds, or has one of them inside.
template <typename... OpTs> bool holds(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<OpTs...>(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace mlir::fa

#endif // FA_SUPPORT_HOLDS_H
