//===- KeptCubins.cpp - what ptxas makes, between processes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptCubins.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Target/NVPTX/AssembleCubin.h"
#include <chrono>
#include <cstdlib>
#include <map>
#include <mutex>
#include <sys/stat.h>

using namespace mlir::fa;
using llvm::StringRef;

/// Bound what one image may take: that of a mask of 800 comparisons takes some seconds.
static constexpr double kMostSeconds = 120;

KeptCubins::KeptCubins(DiskCache disk, std::string key, const nvptx::Target &target, int driver)
    : disk(std::move(disk)), key(std::move(key)), target(target), driver(driver) {
  if (!this->disk.isOn())
    return;
  for (std::string &path : nvptx::findAllPtxas()) {
    struct stat status;
    if (stat(path.c_str(), &status) != 0)
      continue;
    std::string identity = path + " of " + std::to_string(status.st_size) + " bytes at " +
                           std::to_string(status.st_mtim.tv_sec) + "." +
                           std::to_string(status.st_mtim.tv_nsec);
    assemblers.push_back({std::move(path), std::move(identity)});
  }
}

std::string KeptCubins::keyOf(unsigned image, const Assembler &assembler) const {
  return "cubin " + std::to_string(image) + " by " + assembler.identity +
         "\noptions -arch=" + target.name.str() + "\n" + key;
}

std::vector<std::string> KeptCubins::find(unsigned image) const {
  std::vector<std::string> cubins;
  for (const Assembler &assembler : assemblers)
    if (std::optional<std::string> value = disk.read(keyOf(image, assembler)))
      if (nvptx::isCubin(*value))
        cubins.push_back(std::move(*value));
  return cubins;
}

//===----------------------------------------------------------------------===//
// Assembling
//===----------------------------------------------------------------------===//

static nvptx::AssemblerLimits getLimits() { return {kMostSeconds, Background::mustEnd}; }

namespace {

/// Lets one ptxas run at a time in this process, however many programs there are.
class Turn {
public:
  Turn() {
    while (!Background::mustEnd() && !taken)
      taken = getMutex().try_lock_for(std::chrono::milliseconds(10));
  }
  ~Turn() {
    if (taken)
      getMutex().unlock();
  }
  Turn(const Turn &) = delete;
  bool isMine() const { return taken; }

private:
  static std::timed_mutex &getMutex() {
    static auto *const mutex = new std::timed_mutex;
    return *mutex;
  }
  bool taken = false;
};

} // namespace

/// Return the CUDA of a ptxas, by a turn. It is asked once.
static int64_t getVersion(const std::string &path, const std::string &identity) {
  static auto *const known = new std::map<std::string, int64_t>;
  auto [it, added] = known->try_emplace(identity, 0);
  if (added)
    it->second = nvptx::getPtxasVersion(path, getLimits());
  if (int64_t version = it->second)
    return version;
  // It may have been stopped.
  known->erase(it);
  return 0;
}

/// Return what ptxas would rather not have done; empty where there is nothing.
static std::string describeWarnings(const nvptx::AssemblerReport &report) {
  std::string text;
  for (const nvptx::AssemblerWarning &warning : report.warnings)
    text += (text.empty() ? "" : " | ") + (warning.code.empty() ? "" : warning.code + " ") +
            warning.text;
  return text;
}

std::string KeptCubins::assembleImage(unsigned image, StringRef ptx) const {
  const int64_t oldest = cuda::getMinimumDriver(target), newest = driver / 1000 * 1000 + 999;
  std::string problem;
  for (const Assembler &assembler : assemblers) {
    Turn turn;
    if (!turn.isMine())
      return problem;
    std::string own = keyOf(image, assembler);
    // Another process may have made it meanwhile. Of a cubin that is there the driver says why it
    // does not take it.
    if (std::optional<std::string> value = disk.read(own)) {
      if (!nvptx::isCubin(*value))
        problem = *value;
      continue;
    }
    int64_t version = getVersion(assembler.path, assembler.identity);
    if (Background::mustEnd())
      return "";
    if (version < oldest || version > newest) {
      problem = assembler.path +
                (version ? " is of CUDA " + cuda::versionText(version) : " tells no version") +
                "; name a ptxas of CUDA " + cuda::versionText(oldest) + " to " +
                std::to_string(driver / 1000) + ".x in FA_PTXAS";
      continue;
    }
    nvptx::Assembly made = nvptx::assemble(assembler.path, ptx, target.name, getLimits());
    std::string warnings = describeWarnings(made.cubin.report);
    if (made.kind == nvptx::Assembly::done && warnings.empty()) {
      disk.write(own, StringRef(made.cubin.bytes.data(), made.cubin.bytes.size()));
      return "";
    }
    if (Background::mustEnd())
      return "";
    problem = (warnings.empty() ? made.problem : assembler.path + " warns: " + warnings) +
              "; name another ptxas in FA_PTXAS";
    if (made.kind != nvptx::Assembly::failed)
      disk.write(own, problem);
  }
  return problem;
}

std::string KeptCubins::assemble(const cuda::Executor &executor, const Manifest &entry,
                                 llvm::ArrayRef<Code> images) const {
  std::vector<cuda::Executor::ImageFacts> facts = executor.getImageFacts();
  // What serves all sizes first.
  std::vector<unsigned> order;
  for (bool first : {true, false})
    for (const ManifestVariant &variant : entry.variants)
      if (variant.servesAll() == first && !llvm::is_contained(order, variant.image))
        order.push_back(variant.image);
  std::string problem;
  for (unsigned image : order) {
    if (image >= facts.size() || !facts[image].compiled || Background::mustEnd())
      continue;
    llvm::Expected<std::string> ptx = images[image]();
    if (!ptx) {
      // Launches that need it say so.
      llvm::consumeError(ptx.takeError());
      continue;
    }
    if (std::string why = assembleImage(image, *ptx); !why.empty())
      problem = std::move(why);
  }
  return problem;
}

std::string KeptCubins::explainNone() {
  if (!DiskCache::fromEnvironment().isOn())
    return "the disk cache is off; set FA_CACHE_DIR to a folder that stays";
  if (!nvptx::findAllPtxas().empty())
    return "";
  const char *named = std::getenv("FA_PTXAS");
  if (!named)
    return "no ptxas is found; install CUDA's assembler, or name one in FA_PTXAS";
  return *named ? "FA_PTXAS names '" + std::string(named) +
                      "', which is no program; name one, or unset it"
                : std::string("FA_PTXAS is empty, so no ptxas is used; unset it, or name one");
}
