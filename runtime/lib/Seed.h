//===- Seed.h - programs that come with this library ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One file beside libfa.so, fa.seed, with entries as the disk cache has them: manifests of
// programs and the cubins of their images, for the plain attentions that most processes ask
// for. It is only read; what it lacks, what is damaged, and what the driver refuses is
// compiled.
//
//   "FA-SEED\x01"
//   digest     16 bytes, of the numbers and what follows up to the frames
//   numbers    of entries, of frames
//   entries    each: digest of its key (16 bytes); its frame, where it begins there, its size
//   frames     each: where it begins in the file, its size, and that of what it holds
//
// then the frames, compressed by zstd. Numbers have 8 bytes. Entries that are alike share a
// frame, in which each takes little: that of one program is read as a whole.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_SEED_H
#define FA_RUNTIME_SEED_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace mlir::fa {

class Seed {
public:
  /// Return that of `$FA_CACHE_SEED` (empty: none), else fa.seed in the folder of libfa.so.
  static Seed fromEnvironment();
  Seed() = default;

  /// Return whether there may be entries.
  bool isThere() const { return !path.empty(); }
  std::optional<std::string> read(llvm::StringRef key);
  /// Describe the file and its entries, or why there are none, in one line.
  std::string describe();

  /// Return the bytes of a file with these entries, of which those that follow each other in a
  /// group share a frame.
  struct Entry {
    std::string key, value;
  };
  static std::string print(llvm::ArrayRef<std::vector<Entry>> groups);

private:
  struct Index;
  std::optional<Index> readIndex() const;
  /// Read a frame, which is kept for the next entry.
  bool readFrame(uint64_t offset, uint64_t size, uint64_t whole);

  std::string path;
  /// Hold the frame that was read last.
  std::string frame;
  uint64_t frameAt = 0;
};

/// Return the key of the cubin of an image of a program in a seed.
std::string seedCubinKey(llvm::StringRef programKey, unsigned image);

} // namespace mlir::fa

#endif // FA_RUNTIME_SEED_H
