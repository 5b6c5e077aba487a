//===- Artifact.cpp - a compiled program in one file -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Artifact.h"
#include "fa/Support/Digest.h"

using namespace mlir::fa;

static const char kMagic[8] = {'F', 'A', '-', 'M', 'L', 'I', 'R', 1};
static constexpr size_t kHeader = sizeof kMagic + sizeof(Digest), kWord = sizeof(uint64_t);
static constexpr uint64_t kMaxParts = 1024;

static void append(std::string &bytes, uint64_t number) {
  bytes.append(reinterpret_cast<const char *>(&number), sizeof number);
}

std::string mlir::fa::printArtifact(const Artifact &artifact) {
  std::string bytes(kMagic, sizeof kMagic);
  bytes.resize(kHeader);
  append(bytes, 1 + artifact.images.size());
  append(bytes, artifact.manifest.size());
  for (const std::string &image : artifact.images)
    append(bytes, image.size());
  bytes += artifact.manifest;
  for (const std::string &image : artifact.images)
    bytes += image;
  Digest digest;
  digest.add(bytes.data() + kHeader, bytes.size() - kHeader);
  std::memcpy(&bytes[sizeof kMagic], digest.words, sizeof digest.words);
  return bytes;
}

llvm::Expected<Artifact> mlir::fa::parseArtifact(llvm::StringRef bytes) {
  auto refuse = [](const char *what) {
    return llvm::createStringError(std::string("the artifact cannot be used: ") + what +
                                   "; compile the program again");
  };
  if (bytes.size() < kHeader || std::memcmp(bytes.data(), kMagic, sizeof kMagic - 1) != 0)
    return refuse("it is no file of fa-opt --emit=artifact");
  if (bytes[sizeof kMagic - 1] != kMagic[sizeof kMagic - 1])
    return refuse("it has another version than this library reads");
  Digest digest;
  digest.add(bytes.data() + kHeader, bytes.size() - kHeader);
  if (std::memcmp(bytes.data() + sizeof kMagic, digest.words, sizeof digest.words) != 0)
    return refuse("it was cut short or changed");
  // The digest says that these are the writer's numbers; they are checked anyhow.
  size_t at = kHeader;
  auto number = [&](uint64_t &value) {
    if (bytes.size() - at < kWord)
      return false;
    std::memcpy(&value, bytes.data() + at, kWord);
    at += kWord;
    return true;
  };
  uint64_t parts = 0;
  if (!number(parts) || parts < 1 || parts > kMaxParts)
    return refuse("it has no parts");
  std::vector<uint64_t> sizes(parts);
  for (uint64_t &size : sizes)
    if (!number(size))
      return refuse("its parts have no sizes");
  Artifact artifact;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (bytes.size() - at < sizes[i])
      return refuse("its parts are larger than it");
    std::string part(bytes.data() + at, sizes[i]);
    at += sizes[i];
    if (i == 0)
      artifact.manifest = std::move(part);
    else
      artifact.images.push_back(std::move(part));
  }
  if (at != bytes.size())
    return refuse("something follows its parts");
  return artifact;
}
