//===- LibraryFolder.h - where this library lies ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_LIBRARYFOLDER_H
#define FA_SUPPORT_LIBRARYFOLDER_H

#include <string>

namespace mlir::fa {

/// Return the folder of libfa.so, or of the program that holds this code; empty where that is not
/// known.
const std::string &getLibraryFolder();

} // namespace mlir::fa

#endif // FA_SUPPORT_LIBRARYFOLDER_H
