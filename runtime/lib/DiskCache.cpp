//===- DiskCache.cpp - compiled programs, kept between processes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DiskCache.h"
#include "fa/Support/Digest.h"
#include "fa/Support/FileLimit.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace mlir::fa;

// An entry: magic, digest of what follows, size of the key, key, value.
static constexpr char kMagic[8] = {'F', 'A', 'C', 'A', 'C', 'H', 'E', 1};
static constexpr size_t kDigestAt = sizeof kMagic, kKeyAt = kDigestAt + 16 + sizeof(uint64_t);
static constexpr std::string_view kSuffix = ".fac", kUnfinished = ".tmp";
static constexpr uint64_t kDefaultMiB = 1024, kMaxMiB = uint64_t(1) << 40,
                          kMaxEntry = uint64_t(1) << 30;
static constexpr time_t kAbandonedSeconds = 600;

//===----------------------------------------------------------------------===//
// The build
//===----------------------------------------------------------------------===//

/// Looks for the linker's build id in the notes of the object that holds this
/// function.
static int findBuildId(dl_phdr_info *info, size_t, void *result) {
  auto here = reinterpret_cast<uintptr_t>(&findBuildId);
  bool mine = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    mine |= header.p_type == PT_LOAD && here >= begin && here < begin + header.p_memsz;
  }
  if (!mine)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr) &header = info->dlpi_phdr[i];
    if (header.p_type != PT_NOTE)
      continue;
    auto *at = reinterpret_cast<const char *>(info->dlpi_addr + header.p_vaddr);
    const char *end = at + header.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char *name = at + sizeof note, *data = name + (note.n_namesz + 3) / 4 * 4;
      if (data + note.n_descsz > end)
        break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !std::memcmp(name, "GNU", 4)) {
        auto &text = *static_cast<std::string *>(result);
        for (size_t b = 0; b < note.n_descsz; ++b)
          for (int shift : {4, 0})
            text += "0123456789abcdef"[static_cast<unsigned char>(data[b]) >> shift & 15];
        return 1;
      }
      at = data + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return 1;
}

std::string mlir::fa::getBuildId() {
  static const std::string *const id = [] {
    auto *text = new std::string;
    dl_iterate_phdr(findBuildId, text);
    return text;
  }();
  return *id;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

static std::string environment(const char *name) {
  const char *value = std::getenv(name);
  return value ? value : "";
}

DiskCache DiskCache::fromEnvironment() {
  uint64_t mebibytes = kDefaultMiB;
  std::string sizeProblem;
  if (std::string text = environment("FA_CACHE_SIZE"); !text.empty()) {
    uint64_t given;
    if (!llvm::StringRef(text).getAsInteger(10, given) && given <= kMaxMiB)
      mebibytes = given;
    else
      sizeProblem = "FA_CACHE_SIZE is '" + text + "', expected a number of MiB from 0 to " +
                    std::to_string(kMaxMiB) + "; " + std::to_string(kDefaultMiB) + " is taken";
  }
  std::string folder;
  if (std::getenv("FA_CACHE_DIR"))
    folder = environment("FA_CACHE_DIR");
  else if (std::string base = environment("XDG_CACHE_HOME"); !base.empty() && base[0] == '/')
    folder = base + "/fa-mlir";
  else if (std::string home = environment("HOME"); !home.empty())
    folder = home + "/.cache/fa-mlir";
  // Without a build id entries of other builds could not be told from ours.
  if (getBuildId().empty())
    folder.clear();
  DiskCache cache(folder, mebibytes << 20);
  cache.sizeProblem = std::move(sizeProblem);
  return cache;
}

std::string DiskCache::pathOf(llvm::StringRef key) const {
  Digest digest;
  digest.add(key.data(), key.size());
  std::string path = folder + "/";
  for (uint64_t word : digest.words)
    for (int shift = 60; shift >= 0; shift -= 4)
      path += "0123456789abcdef"[word >> shift & 15];
  return path.append(kSuffix);
}

static bool makeFolders(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    // Others may not put entries there that we would run.
    if (mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return false;
    if (at == std::string::npos)
      return true;
  }
}

/// Read all of a regular file that is ours; nothing where that fails.
static std::optional<std::string> readFile(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    return std::nullopt;
  std::optional<std::string> bytes;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
      static_cast<uint64_t>(status.st_size) <= kMaxEntry) {
    bytes.emplace(status.st_size, '\0');
    size_t at = 0;
    while (at < bytes->size()) {
      ssize_t got = ::read(file, bytes->data() + at, bytes->size() - at);
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        break;
      at += got;
    }
    bytes->resize(at);
  }
  close(file);
  return bytes;
}

/// Return the error, 0 for none.
static int writeAll(int file, const char *data, size_t size) {
  FileLimitIsAnError limit;
  while (size > 0) {
    ssize_t done = ::write(file, data, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return done < 0 ? errno : EIO;
    data += done;
    size -= done;
  }
  return 0;
}

/// Return whether an entry is whole, and where its key and its value begin.
static bool isWhole(llvm::StringRef bytes, uint64_t &keySize) {
  if (bytes.size() < kKeyAt || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0)
    return false;
  Digest digest;
  digest.add(bytes.data() + kDigestAt + 16, bytes.size() - kDigestAt - 16);
  if (std::memcmp(bytes.data() + kDigestAt, digest.words, 16) != 0)
    return false;
  std::memcpy(&keySize, bytes.data() + kKeyAt - sizeof keySize, sizeof keySize);
  return keySize <= bytes.size() - kKeyAt;
}

std::string mlir::fa::wrapEntry(llvm::StringRef key, llvm::StringRef value) {
  std::string bytes(kMagic, sizeof kMagic);
  bytes.resize(kKeyAt);
  uint64_t keySize = key.size();
  std::memcpy(&bytes[kKeyAt - sizeof keySize], &keySize, sizeof keySize);
  bytes.append(key.data(), key.size()).append(value.data(), value.size());
  Digest digest;
  digest.add(bytes.data() + kDigestAt + 16, bytes.size() - kDigestAt - 16);
  std::memcpy(&bytes[kDigestAt], digest.words, 16);
  return bytes;
}

std::optional<std::string> mlir::fa::unwrapEntry(llvm::StringRef bytes, llvm::StringRef key) {
  uint64_t keySize;
  if (!isWhole(bytes, keySize) || bytes.substr(kKeyAt, keySize) != key)
    return std::nullopt;
  return bytes.substr(kKeyAt + keySize).str();
}

std::optional<std::string> DiskCache::read(llvm::StringRef key) const {
  if (!isOn())
    return std::nullopt;
  std::string path = pathOf(key);
  std::optional<std::string> bytes = readFile(path);
  if (!bytes)
    return std::nullopt;
  std::optional<std::string> value = unwrapEntry(*bytes, key);
  if (!value) {
    unlink(path.c_str());
    return std::nullopt;
  }
  // The time of its last use, by which entries are removed.
  utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  return value;
}

std::string DiskCache::write(llvm::StringRef key, llvm::StringRef value) const {
  if (!isOn())
    return findProblem();
  auto fail = [&](const std::string &why) {
    return "the disk cache keeps nothing in '" + folder + "': " + why +
           "; free space there, or set FA_CACHE_DIR to another folder";
  };
  if (value.size() > kMaxEntry / 2)
    return "the program has " + std::to_string(value.size()) +
           " bytes, more than the disk cache takes; use fewer variants";
  if (!makeFolders(folder))
    return fail(std::strerror(errno));
  // Beforehand, so that writers that always die leave no more and more.
  removeAbandoned();
  std::string bytes = wrapEntry(key, value);
  static std::atomic<unsigned> count{0};
  std::string path = pathOf(key), beside = path + "." + std::to_string(getpid()) + "." +
                                           std::to_string(count++) + std::string(kUnfinished);
  int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return fail(std::strerror(errno));
  int problem = writeAll(file, bytes.data(), bytes.size());
  if (close(file) != 0 && !problem)
    problem = errno;
  if (!problem && rename(beside.c_str(), path.c_str()) != 0)
    problem = errno;
  if (problem)
    unlink(beside.c_str());
  trim();
  if (problem)
    return fail(std::strerror(problem));
  if (bytes.size() > mostBytes)
    return "the disk cache keeps no entry of " + std::to_string(bytes.size() >> 10) +
           " KiB, as FA_CACHE_SIZE is " + std::to_string(mostBytes >> 20) +
           "; unset it, or set it to more MiB";
  return "";
}

void DiskCache::remove(llvm::StringRef key) const {
  if (isOn())
    unlink(pathOf(key).c_str());
}

namespace {

struct File {
  std::string path;
  uint64_t bytes;
  timespec used;
};

} // namespace

/// Return whether a name is that of an entry, or of one that is being written. The folder may
/// hold files of others, which are let be.
static bool isOurs(std::string_view name, bool unfinished) {
  constexpr size_t digits = 32;
  if (name.find_first_not_of("0123456789abcdef") != digits ||
      name.substr(digits, kSuffix.size()) != kSuffix)
    return false;
  std::string_view rest = name.substr(digits + kSuffix.size());
  return unfinished ? rest.size() > kUnfinished.size() && rest.front() == '.' &&
                          rest.substr(rest.size() - kUnfinished.size()) == kUnfinished
                    : rest.empty();
}

/// Return the entries of a folder, or those that are being written.
static std::vector<File> listFiles(const std::string &folder, bool unfinished) {
  std::vector<File> files;
  DIR *directory = opendir(folder.c_str());
  if (!directory)
    return files;
  while (dirent *entry = readdir(directory)) {
    std::string path = folder + "/" + entry->d_name;
    struct stat status;
    if (isOurs(entry->d_name, unfinished) && lstat(path.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode))
      files.push_back({path, static_cast<uint64_t>(status.st_size), status.st_mtim});
  }
  closedir(directory);
  return files;
}

static uint64_t countBytes(const std::vector<File> &files) {
  uint64_t bytes = 0;
  for (const File &file : files)
    bytes += file.bytes;
  return bytes;
}

void DiskCache::removeAbandoned() const {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  for (const File &file : listFiles(folder, /*unfinished=*/true))
    if (now.tv_sec - file.used.tv_sec > kAbandonedSeconds)
      unlink(file.path.c_str());
}

void DiskCache::trim() const {
  std::vector<File> files = listFiles(folder, /*unfinished=*/false);
  uint64_t bytes = countBytes(files) + countBytes(listFiles(folder, /*unfinished=*/true));
  if (bytes <= mostBytes)
    return;
  std::sort(files.begin(), files.end(), [](const File &a, const File &b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  // A quarter more than needed, so that not every write removes.
  for (const File &file : files) {
    if (bytes <= mostBytes - mostBytes / 4)
      break;
    unlink(file.path.c_str());
    bytes -= file.bytes;
  }
}

/// Return why nothing can be kept in a folder, as far as that shows without trying; `exists` is
/// false where it is yet to be made.
static std::string findFolderProblem(const std::string &folder, bool &exists) {
  exists = true;
  // What does not exist is made in the nearest folder that does.
  for (std::string at = folder;;) {
    struct stat status;
    if (stat(at.c_str(), &status) == 0) {
      if (!S_ISDIR(status.st_mode))
        return "'" + at + "' is not a folder";
      if (faccessat(AT_FDCWD, at.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
        return "'" + at + "' cannot be written: " + std::strerror(errno);
      return "";
    }
    int problem = errno;
    exists = false;
    size_t slash = at.find_last_of('/');
    bool isLink = lstat(at.c_str(), &status) == 0;
    if (isLink || (problem != ENOENT && problem != ENOTDIR) || at == "/" || at == ".")
      return "'" + at + "' cannot be reached: " + std::strerror(problem);
    at = slash == std::string::npos ? "." : slash == 0 ? "/" : at.substr(0, slash);
  }
}

std::string DiskCache::findProblem() const {
  if (!isOn())
    return "the disk cache is off; set FA_CACHE_DIR to a folder that stays";
  bool exists;
  if (std::string problem = findFolderProblem(folder, exists); !problem.empty())
    return "the disk cache keeps nothing: " + problem +
           "; set FA_CACHE_DIR to a folder that can be written";
  return mostBytes == 0 ? "the disk cache keeps nothing: FA_CACHE_SIZE is 0; unset it, or set it "
                          "to a number of MiB"
                        : "";
}

std::string DiskCache::describe() const {
  if (getBuildId().empty())
    return "the disk cache is off: this build has no build id; link with --build-id\n";
  if (!isOn())
    return "the disk cache is off: FA_CACHE_DIR is empty, or neither it, XDG_CACHE_HOME nor HOME "
           "is set\n";
  std::string text = "folder:  " + folder + "\n";
  std::vector<File> files = listFiles(folder, /*unfinished=*/false),
                    unfinished = listFiles(folder, /*unfinished=*/true);
  uint64_t bytes = countBytes(files) + countBytes(unfinished), damaged = 0, own = 0;
  for (const File &file : files) {
    uint64_t keySize;
    std::optional<std::string> whole = readFile(file.path);
    bool good = whole && isWhole(*whole, keySize);
    damaged += !good;
    own += good && llvm::StringRef(whole->data() + kKeyAt, keySize).contains(getBuildId());
  }
  text += "entries: " + std::to_string(files.size()) + ", " + std::to_string(own) +
          " of this build, " + std::to_string(damaged) + " damaged, " +
          std::to_string(unfinished.size()) + " unfinished\n";
  text += "size:    " + std::to_string(bytes >> 10) + " of at most " +
          std::to_string(mostBytes >> 10) + " KiB\n";
  text += "build:   " + getBuildId() + "\n";
  if (!sizeProblem.empty())
    text += sizeProblem + "\n";
  bool exists;
  if (std::string problem = findFolderProblem(folder, exists); !problem.empty())
    text += "nothing is kept: " + problem + "\n";
  else if (mostBytes == 0)
    text += "nothing is kept: FA_CACHE_SIZE is 0\n";
  else if (!exists)
    text += "the folder does not exist yet\n";
  return text;
}
