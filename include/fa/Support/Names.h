//===- Names.h - names of others in messages of ours ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_NAMES_H
#define FA_SUPPORT_NAMES_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace mlir::fa {

/// Return a name out of a file as it may stand in a line of a message: control characters, which
/// could end the line or steer a terminal, become a backslash and two digits.
inline std::string escaped(llvm::StringRef name) {
  std::string text;
  for (char c : name) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != 0x7F) {
      text += c;
      continue;
    }
    text += '\\';
    text += "0123456789ABCDEF"[byte >> 4];
    text += "0123456789ABCDEF"[byte & 15];
  }
  return text;
}

} // namespace mlir::fa

#endif // FA_SUPPORT_NAMES_H
