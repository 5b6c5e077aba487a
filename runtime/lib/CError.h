//===- CError.h - the errors of the C API -------------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CERROR_H
#define FA_RUNTIME_CERROR_H

#include "fa/fa_c.h"
#include "llvm/Support/Error.h"
#include <string>

struct fa_error {
  std::string message;
};

namespace mlir::fa {

inline fa_error *makeError(std::string message) {
  while (!message.empty() && message.back() == '\n')
    message.pop_back();
  return new fa_error{std::move(message)};
}

/// Make an error; null for success.
inline fa_error *makeError(llvm::Error error) {
  return error ? makeError(llvm::toString(std::move(error))) : nullptr;
}

} // namespace mlir::fa

#endif // FA_RUNTIME_CERROR_H
