//===- LibraryFolder.cpp - where this library lies -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/LibraryFolder.h"
#include <cstdlib>
#include <dlfcn.h>

const std::string &mlir::fa::getLibraryFolder() {
  // Never destroyed: threads may ask while the process ends.
  static const std::string *const folder = [] {
    auto *text = new std::string;
    Dl_info info;
    if (!dladdr(reinterpret_cast<const void *>(&getLibraryFolder), &info) || !info.dli_fname)
      return text;
    if (char *path = realpath(info.dli_fname, nullptr)) {
      *text = path;
      std::free(path);
      text->resize(text->rfind('/'));
    }
    return text;
  }();
  return *folder;
}
