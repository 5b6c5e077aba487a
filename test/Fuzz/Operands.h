//===- Operands.h - the operands of a random entry -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_OPERANDS_H
#define FA_TEST_FUZZ_OPERANDS_H

#include <string>

namespace fa_fuzz {

/// Writes the parameters of an entry, and the types of what its attention takes.
struct Operands {
  /// Add an operand with a name; `sizes` names those of a captured tensor, in quotes.
  std::string operand(const std::string &name, const std::string &type,
                      const std::string &sizes = "") {
    std::string dims = sizes.empty() ? "" : ", fa.dims = [" + sizes + "]";
    arguments += (arguments.empty() ? "%" : ", %") + name + ": " + type + " {fa.name = \"" + name +
                 "\"" + dims + "}";
    types += (types.empty() ? "" : ", ") + type;
    return "%" + name;
  }

  std::string arguments, types;
};

} // namespace fa_fuzz

#endif // FA_TEST_FUZZ_OPERANDS_H
