//===- Files.cpp - reads program text, writes files with care -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::StringRef;
namespace fs = llvm::sys::fs;

/// Appends what a file holds, up to `most` bytes in all.
static llvm::Error readUpTo(fs::file_t file, llvm::SmallVectorImpl<char> &bytes, size_t most) {
  constexpr size_t kChunk = size_t(1) << 16;
  while (bytes.size() < most) {
    size_t before = bytes.size(), ask = std::min(kChunk, most - before);
    bytes.resize_for_overwrite(before + ask);
    llvm::Expected<size_t> got =
        fs::readNativeFile(file, llvm::MutableArrayRef(bytes.data() + before, ask));
    bytes.truncate(before + (got ? *got : 0));
    if (!got)
      return got.takeError();
    if (*got == 0)
      break;
  }
  return llvm::Error::success();
}

llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> fa::readText(StringRef path) {
  std::string name = path == "-" ? "<stdin>" : path.str();
  auto error = [&](llvm::Error reason) {
    return llvm::createStringError("cannot read '" + path +
                                   "': " + llvm::toString(std::move(reason)));
  };
  llvm::SmallVector<char> bytes;
  if (path == "-") {
    if (llvm::Error failed = readUpTo(fs::getStdinHandle(), bytes, kMaxTextBytes + 1))
      return error(std::move(failed));
  } else {
    llvm::Expected<fs::file_t> file = fs::openNativeFileForRead(path);
    if (!file)
      return error(file.takeError());
    llvm::Error failed = readUpTo(*file, bytes, kMaxTextBytes + 1);
    fs::closeFile(*file);
    if (failed)
      return error(std::move(failed));
  }
  if (bytes.size() > kMaxTextBytes)
    return llvm::createStringError("'" + path + "' has more than " +
                                   llvm::Twine(kMaxTextBytes >> 20) +
                                   " MiB, expected the text of a program");
  if (StringRef(bytes.data(), bytes.size()).starts_with("FA-MLIR\1"))
    return llvm::createStringError("'" + path +
                                   "' is an artifact, expected the text of a program; "
                                   "launch it by fa_artifact_load");
  return llvm::MemoryBuffer::getMemBufferCopy(StringRef(bytes.data(), bytes.size()), name);
}

/// Writes to a stream that is not replaced by a rename. Clears the stream's
/// error: one that is left ends the process.
static llvm::Error writeTo(llvm::raw_fd_ostream &os,
                           llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  llvm::Error failed = write(os);
  os.flush();
  std::error_code problem = os.error();
  os.clear_error();
  return failed ? std::move(failed) : llvm::errorCodeToError(problem);
}

static llvm::Error writeUnnamed(StringRef path,
                                llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (path == "-")
    return writeTo(llvm::outs(), write);
  fs::file_status status; // of a link's target
  bool exists = !fs::status(path, status);
  bool isRegular = exists && status.type() == fs::file_type::regular_file;
  // Renaming a finished file onto a device would replace it.
  if (exists ? isRegular : !fs::is_symlink_file(path)) {
    llvm::SmallString<128> target(path);
    if (std::error_code problem = isRegular ? fs::real_path(path, target) : std::error_code())
      return llvm::errorCodeToError(problem);
    return llvm::writeToOutput(target, write);
  }
  std::error_code problem;
  llvm::raw_fd_ostream os(path, problem, fs::CD_OpenAlways);
  if (problem)
    return llvm::errorCodeToError(problem);
  return writeTo(os, write);
}

static llvm::Error describe(StringRef path, llvm::Error failed) {
  return llvm::createStringError(path +
                                 ": cannot be written: " + llvm::toString(std::move(failed)) +
                                 "; check the path and the space");
}

llvm::Error fa::writeFile(StringRef path,
                          llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (llvm::Error failed = writeUnnamed(path, write))
    return describe(path, std::move(failed));
  return llvm::Error::success();
}

llvm::Error fa::flushStandardOutput() {
  auto nothing = [](llvm::raw_ostream &) { return llvm::Error::success(); };
  if (llvm::Error failed = writeTo(llvm::outs(), nothing))
    return describe("-", std::move(failed));
  return llvm::Error::success();
}
