//===- Artifact.h - a compiled program in one file --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 8 bytes "FA-MLIR\x01", 16 bytes of digest of all that follows, then numbers of
// 8 bytes, little endian: how many parts, the size of each; then the parts: the
// manifest (JSON) and the images that it counts.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_ARTIFACT_H
#define FA_TARGET_ARTIFACT_H

#include "fa/Target/Manifest.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <vector>

namespace mlir::fa {

/// An image that may still be made: waits for it. Any thread may ask, any number of times.
using Code = std::function<llvm::Expected<std::string>()>;

/// Code of an image: cubins, in the order in which to try them, and the PTX that is taken where the
/// driver refuses all of them.
struct ImageCode {
  std::vector<std::string> cubins;
  Code ptx;
};

/// Code for the launches of another variant, that of `variant.image`, until the driver has loaded
/// that one: results have the same bits. The driver takes less time for it, launches more.
struct FirstTier {
  ManifestVariant variant;
  Code ptx;
};

/// Return code that is there.
inline std::vector<Code> getCodes(std::vector<std::string> images) {
  std::vector<Code> codes;
  for (std::string &image : images)
    codes.push_back([image = std::move(image)]() -> llvm::Expected<std::string> { return image; });
  return codes;
}

struct Artifact {
  /// See Manifest.h.
  std::string manifest;
  std::vector<std::string> images;
};

std::string printArtifact(const Artifact &artifact);
/// Parse an artifact. The error is one line, where bytes are cut short, changed or of something
/// else. What the manifest says is not looked at.
llvm::Expected<Artifact> parseArtifact(llvm::StringRef bytes);

} // namespace mlir::fa

#endif // FA_TARGET_ARTIFACT_H
