//===- DiskCache.h - compiled programs, kept between processes --*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A folder of files, one an entry, named by the digest of its key. An entry is
// written beside its place and renamed, so that readers see all of it or nothing;
// it holds its key and a digest of everything, so that one which was cut short,
// changed, or is of another key is none: it is removed and made again. Nothing
// fails because of the cache: where it cannot be read or written there is no
// entry, and `describe` says why.
//
// Any number of processes may use one folder. No lock is taken: two that make one
// entry write the same, and the last rename stays.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_DISKCACHE_H
#define FA_RUNTIME_DISKCACHE_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace mlir::fa {

class DiskCache {
public:
  /// Return the folder of `$FA_CACHE_DIR` (empty: none), else `$XDG_CACHE_HOME/fa-mlir`,
  /// else `$HOME/.cache/fa-mlir`; at most `$FA_CACHE_SIZE` MiB, else 1024, as where
  /// that is no size; `describe` says so.
  static DiskCache fromEnvironment();
  DiskCache(std::string folder, uint64_t mostBytes)
      : folder(std::move(folder)), mostBytes(mostBytes) {}

  bool isOn() const { return !folder.empty(); }
  std::optional<std::string> read(llvm::StringRef key) const;
  /// Return why the entry is not kept, "what; remedy"; empty where it is.
  std::string write(llvm::StringRef key, llvm::StringRef value) const;
  void remove(llvm::StringRef key) const;
  /// Describe the folder, its entries and their bytes, what is damaged or unfinished, and why
  /// nothing is kept where that is so; in lines.
  std::string describe() const;
  /// Return why nothing can be kept, "what; remedy", as far as that shows without trying; empty
  /// where something may be.
  std::string findProblem() const;

private:
  std::string pathOf(llvm::StringRef key) const;
  /// Removes what writers that died left, some minutes later.
  void removeAbandoned() const;
  /// Removes the entries that were not used for longest, where all files together are
  /// more than may be.
  void trim() const;

  std::string folder;
  uint64_t mostBytes;
  /// Say what is wrong with the size that was asked for.
  std::string sizeProblem;
};

/// Return an entry: the value with its key and a digest of both.
std::string wrapEntry(llvm::StringRef key, llvm::StringRef value);
/// Return the value of an entry; nothing where it is not whole, or has another key.
std::optional<std::string> unwrapEntry(llvm::StringRef bytes, llvm::StringRef key);

/// Return what tells one build of this library from another; empty where nothing does.
std::string getBuildId();

} // namespace mlir::fa

#endif // FA_RUNTIME_DISKCACHE_H
