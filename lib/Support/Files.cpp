//===- Files.cpp - reads program text, writes files with care -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/Files.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"
#include <filesystem>
#include <unistd.h>

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

/// Return the file that a chain of links leads to, whether or not it exists.
static std::string followLinks(StringRef path) {
  std::filesystem::path place(path.str());
  std::error_code problem;
  // As many links as the system follows.
  for (int links = 0; links < 40 && fs::is_symlink_file(place.native()); ++links) {
    std::filesystem::path next = std::filesystem::read_symlink(place, problem);
    if (problem)
      break;
    place = place.parent_path() / next; // an absolute one replaces all of it
  }
  return place.native();
}

/// Return the number of the open stream that a path names, -1 where it names a file.
static int streamOf(StringRef path) {
  int number;
  if (path == "-" || path == "/dev/stdout")
    return STDOUT_FILENO;
  if (path == "/dev/stderr")
    return STDERR_FILENO;
  bool isStream = path.consume_front("/dev/fd/") || path.consume_front("/proc/self/fd/");
  return isStream && !path.getAsInteger(10, number) && number >= 0 ? number : -1;
}

/// Write a regular file beside its place and rename it when it is whole.
static llvm::Error replaceFile(const std::string &path,
                               llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  fs::file_status before;
  bool exists = !fs::status(path, before);
  std::string beside;
  int file = -1;
  // The name is not taken but by another thread, or by a process that died.
  for (int number = 0; file < 0; ++number) {
    beside = path + "." + std::to_string(getpid()) + "-" + std::to_string(number) + ".tmp";
    std::error_code problem = fs::openFileForWrite(beside, file, fs::CD_CreateNew);
    if (problem && problem != std::errc::file_exists)
      return llvm::errorCodeToError(problem);
  }
  llvm::FileRemover remover(beside);
  llvm::sys::RemoveFileOnSignal(beside);
  llvm::raw_fd_ostream os(file, /*shouldClose=*/false);
  std::error_code problem =
      exists ? fs::setPermissions(file, before.permissions()) : std::error_code();
  llvm::Error failed = llvm::joinErrors(llvm::errorCodeToError(problem), writeTo(os, write));
  // Some file systems say only here that they are full.
  if (close(file) != 0 && !failed)
    failed = llvm::errorCodeToError(llvm::errnoAsErrorCode());
  if (!failed)
    failed = llvm::errorCodeToError(fs::rename(beside, path));
  if (!failed)
    remover.releaseFile();
  llvm::sys::DontRemoveFileOnSignal(beside);
  return failed;
}

/// Write to the place that a path names: a file is replaced, all else is written in place.
static llvm::Error writePlace(StringRef path,
                              llvm::function_ref<llvm::Error(llvm::raw_ostream &)> write) {
  if (int stream = streamOf(path); stream == STDOUT_FILENO) {
    return writeTo(llvm::outs(), write);
  } else if (stream >= 0) {
    llvm::raw_fd_ostream os(stream, /*shouldClose=*/false);
    return writeTo(os, write);
  }
  std::string target = followLinks(path);
  fs::file_status status;
  // Renaming a finished file onto a device or a pipe would replace it.
  if (fs::status(target, status) || status.type() == fs::file_type::regular_file)
    return replaceFile(target, write);
  std::error_code problem;
  llvm::raw_fd_ostream os(target, problem, fs::CD_OpenExisting);
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
  if (llvm::Error failed = writePlace(path, write))
    return describe(path, std::move(failed));
  return llvm::Error::success();
}

llvm::Error fa::flushStandardOutput() {
  auto nothing = [](llvm::raw_ostream &) { return llvm::Error::success(); };
  if (llvm::Error failed = writeTo(llvm::outs(), nothing))
    return describe("-", std::move(failed));
  return llvm::Error::success();
}
