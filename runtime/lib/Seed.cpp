//===- Seed.cpp - programs that come with this library -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Seed.h"
#include "DiskCache.h"
#include "fa/Support/Digest.h"
#include "fa/Support/LibraryFolder.h"
#include "llvm/Support/Compression.h"
#include <cstdlib>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir::fa;
using llvm::StringRef;

static constexpr char kMagic[8] = {'F', 'A', '-', 'S', 'E', 'E', 'D', 1};
static constexpr size_t kDigestAt = sizeof kMagic, kCountsAt = kDigestAt + sizeof(Digest),
                        kIndexAt = kCountsAt + 2 * sizeof(uint64_t);
/// Bound what is believed of a file.
static constexpr uint64_t kMostEntries = 1 << 20, kMostBytes = 1 << 28;
/// The slowest level: a seed is made once.
static constexpr int kLevel = 22;

namespace {

struct EntryAt {
  Digest key;
  uint64_t frame, offset, size;
};
struct FrameAt {
  uint64_t offset, size, whole;
};

/// A file that is read at places.
class File {
public:
  // What is no file, such as a pipe, is not waited for.
  explicit File(const std::string &path)
      : file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode))
      bytes = status.st_size;
  }
  ~File() {
    if (file >= 0)
      close(file);
  }
  File(const File &) = delete;

  /// Read so many bytes; false where there are fewer.
  bool read(uint64_t offset, void *to, uint64_t size) const {
    if (offset > bytes || size > bytes - offset)
      return false;
    for (char *at = static_cast<char *>(to); size > 0;) {
      ssize_t got = pread(file, at, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR)
        continue;
      if (got <= 0)
        return false;
      at += got;
      offset += got;
      size -= got;
    }
    return true;
  }

private:
  int file;
  uint64_t bytes = 0;
};

} // namespace

struct Seed::Index {
  std::vector<EntryAt> entries;
  std::vector<FrameAt> frames;
};

static Digest digestOf(StringRef bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest;
}

template <typename T> static StringRef bytesOf(const std::vector<T> &items) {
  return {reinterpret_cast<const char *>(items.data()), items.size() * sizeof(T)};
}

Seed Seed::fromEnvironment() {
  Seed seed;
  if (const char *named = std::getenv("FA_CACHE_SEED"))
    seed.path = named;
  else if (!getLibraryFolder().empty())
    seed.path = getLibraryFolder() + "/fa.seed";
  if (getBuildId().empty() || access(seed.path.c_str(), R_OK) != 0)
    seed.path.clear();
  return seed;
}

std::optional<Seed::Index> Seed::readIndex() const {
  File file(path);
  char start[kIndexAt];
  if (!file.read(0, start, sizeof start) || std::memcmp(start, kMagic, sizeof kMagic) != 0)
    return std::nullopt;
  uint64_t counts[2];
  std::memcpy(counts, start + kCountsAt, sizeof counts);
  if (counts[0] > kMostEntries || counts[1] > kMostEntries)
    return std::nullopt;
  Index index;
  index.entries.resize(counts[0]);
  index.frames.resize(counts[1]);
  StringRef entries = bytesOf(index.entries), frames = bytesOf(index.frames);
  if (!file.read(kIndexAt, index.entries.data(), entries.size()) ||
      !file.read(kIndexAt + entries.size(), index.frames.data(), frames.size()))
    return std::nullopt;
  std::string all(start + kCountsAt, sizeof counts);
  Digest digest = digestOf((all + entries + frames).str());
  if (std::memcmp(start + kDigestAt, digest.words, sizeof digest.words) != 0)
    return std::nullopt;
  return index;
}

bool Seed::readFrame(uint64_t offset, uint64_t size, uint64_t whole) {
  frame.clear();
  if (size > kMostBytes || whole > kMostBytes)
    return false;
  std::vector<uint8_t> packed(size);
  if (!File(path).read(offset, packed.data(), packed.size()))
    return false;
  frame.resize(whole);
  frameAt = offset;
  auto *to = reinterpret_cast<uint8_t *>(frame.data());
  llvm::Error damaged = llvm::compression::zstd::decompress(packed, to, whole);
  if (damaged || whole != frame.size())
    frame.clear();
  llvm::consumeError(std::move(damaged));
  return !frame.empty();
}

std::optional<std::string> Seed::read(StringRef key) {
  if (!isThere())
    return std::nullopt;
  std::optional<Index> index = readIndex();
  if (!index)
    return std::nullopt;
  Digest wanted = digestOf(key);
  for (const EntryAt &entry : index->entries) {
    if (!(entry.key == wanted) || entry.frame >= index->frames.size())
      continue;
    const FrameAt &from = index->frames[entry.frame];
    if (entry.offset > from.whole || entry.size > from.whole - entry.offset)
      return std::nullopt;
    if ((frame.empty() || frameAt != from.offset) && !readFrame(from.offset, from.size, from.whole))
      return std::nullopt;
    return unwrapEntry(StringRef(frame).substr(entry.offset, entry.size), key);
  }
  return std::nullopt;
}

std::string Seed::describe() {
  const char *named = std::getenv("FA_CACHE_SEED");
  if (!isThere())
    return named && *named
               ? "none: FA_CACHE_SEED names " + std::string(named) + ", which cannot be read"
               : "none";
  std::optional<Index> index = readIndex();
  // The first entry, which is read last, tells of which build all are.
  if (!index || index->frames.empty() ||
      !llvm::all_of(llvm::reverse(index->frames),
                    [&](const FrameAt &at) { return readFrame(at.offset, at.size, at.whole); }))
    return path + ", damaged";
  bool own = StringRef(frame).contains(getBuildId());
  return path + ", " + std::to_string(index->entries.size()) + " entries" +
         (own ? " of this build" : " of another build, which are of no use");
}

std::string Seed::print(llvm::ArrayRef<std::vector<Entry>> groups) {
  Index index;
  std::vector<llvm::SmallVector<uint8_t, 0>> frames;
  for (const std::vector<Entry> &group : groups) {
    std::string whole;
    for (const Entry &entry : group) {
      std::string bytes = wrapEntry(entry.key, entry.value);
      index.entries.push_back({digestOf(entry.key), frames.size(), whole.size(), bytes.size()});
      whole += bytes;
    }
    llvm::compression::zstd::compress(
        llvm::ArrayRef(reinterpret_cast<const uint8_t *>(whole.data()), whole.size()),
        frames.emplace_back(), kLevel);
    index.frames.push_back({0, frames.back().size(), whole.size()});
  }
  uint64_t at = kIndexAt + bytesOf(index.entries).size() + bytesOf(index.frames).size();
  for (FrameAt &frame : index.frames) {
    frame.offset = at;
    at += frame.size;
  }
  const uint64_t counts[2] = {index.entries.size(), index.frames.size()};
  std::string head(reinterpret_cast<const char *>(counts), sizeof counts);
  head += bytesOf(index.entries);
  head += bytesOf(index.frames);
  Digest digest = digestOf(head);
  std::string bytes(kMagic, sizeof kMagic);
  bytes.append(reinterpret_cast<const char *>(digest.words), sizeof digest.words).append(head);
  for (const auto &frame : frames)
    bytes.append(frame.begin(), frame.end());
  return bytes;
}

std::string mlir::fa::seedCubinKey(StringRef programKey, unsigned image) {
  return "cubin " + std::to_string(image) + " of the seed\n" + programKey.str();
}
