//===- Safetensors.h - reads and writes safetensors files -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The format: 8 bytes, the size of the header, little-endian; the header, a
// JSON object of {"name": {"dtype", "shape", "data_offsets": [begin, end]}} and
// an optional "__metadata__" of strings; the data. The reader trusts nothing:
// each file either is read whole or gives one error that says why not.
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_SAFETENSORS_H
#define FA_SUPPORT_SAFETENSORS_H

#include "fa/Support/HostTensor.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <map>

namespace mlir::fa {

struct Safetensors {
  std::vector<HostTensor> tensors; ///< in the order of their data
  std::map<std::string, std::string> metadata;

  const HostTensor *find(llvm::StringRef name) const;
};

llvm::Expected<Safetensors> readSafetensors(llvm::StringRef path);
/// `file` names the contents in errors.
llvm::Expected<Safetensors> parseSafetensors(llvm::StringRef contents, llvm::StringRef file);
/// Replaces the file at once, or leaves it alone.
llvm::Error writeSafetensors(llvm::StringRef path, const Safetensors &contents);

} // namespace mlir::fa

#endif // FA_SUPPORT_SAFETENSORS_H
