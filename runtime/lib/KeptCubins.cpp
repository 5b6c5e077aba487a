//===- KeptCubins.cpp - what ptxas makes, between processes -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KeptCubins.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Target/NVPTX/AssembleCubin.h"
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

using namespace mlir::fa;
using llvm::StringRef;

/// Bound what one image may take: that of a mask of 800 comparisons takes some seconds; and what
/// ptxas may take to tell its version, which takes milliseconds.
static constexpr double kMostSeconds = 120, kMostVersionSeconds = 5;

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

static nvptx::AssemblerLimits getLimits(double seconds) { return {seconds, Background::mustEnd}; }

namespace {

/// Lets one ptxas run at a time in this process, however many programs there are.
class Turn {
public:
  Turn() : of(getShared()) {
    while (!Background::mustEnd() && !taken)
      taken = of.mutex.try_lock_for(std::chrono::milliseconds(10));
  }
  ~Turn() {
    if (taken)
      of.mutex.unlock();
  }
  Turn(const Turn &) = delete;
  bool isMine() const { return taken; }
  /// Return what is known of a ptxas, which is asked once: its version, or why it is not used.
  nvptx::PtxasVersion &getVersion(const std::string &path, const std::string &identity) {
    auto [it, added] = of.known.try_emplace(identity);
    nvptx::PtxasVersion &version = it->second;
    if (added || version.mayPass)
      version = nvptx::getPtxasVersion(path, getLimits(kMostVersionSeconds));
    return version;
  }

private:
  struct Shared {
    const pid_t process = getpid();
    std::timed_mutex mutex;
    std::map<std::string, nvptx::PtxasVersion> known;
  };
  /// Never destroyed. A child has its own: the thread that has the turn does not come along.
  static Shared &getShared() {
    static std::atomic<Shared *> last{nullptr};
    Shared *shared = last.load();
    if (shared && shared->process == getpid())
      return *shared;
    auto made = std::make_unique<Shared>();
    return last.compare_exchange_strong(shared, made.get()) ? *made.release() : *shared;
  }

  Shared &of;
  bool taken = false;
};

} // namespace

/// Return what ptxas would rather not have done; empty where there is nothing.
static std::string describeWarnings(const nvptx::AssemblerReport &report) {
  std::string text;
  for (const nvptx::AssemblerWarning &warning : report.warnings)
    text += (text.empty() ? "" : " | ") + (warning.code.empty() ? "" : warning.code + " ") +
            warning.text;
  return text;
}

std::string KeptCubins::assembleImage(unsigned image, StringRef ptx, bool &full) const {
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
    nvptx::PtxasVersion &known = turn.getVersion(assembler.path, assembler.identity);
    if (Background::mustEnd())
      return "";
    const int64_t version = known.version;
    if (version < oldest || version > newest) {
      std::string remedy = "name a ptxas of CUDA " + cuda::versionText(oldest) + " to " +
                           std::to_string(driver / 1000) + ".x in FA_PTXAS";
      problem =
          (version ? assembler.path + " is of CUDA " + cuda::versionText(version) : known.problem) +
          "; " + (known.remedy.empty() ? remedy : known.remedy);
      continue;
    }
    nvptx::Assembly made =
        nvptx::assemble(assembler.path, ptx, target.name, getLimits(kMostSeconds));
    std::string warnings = describeWarnings(made.cubin.report);
    if (made.kind == nvptx::Assembly::done && warnings.empty()) {
      std::string why =
          disk.write(own, StringRef(made.cubin.bytes.data(), made.cubin.bytes.size()));
      full = !why.empty();
      return why;
    }
    if (Background::mustEnd())
      return "";
    if (!warnings.empty())
      made.problem = assembler.path + " warns: " + warnings;
    problem = made.describe("name another ptxas in FA_PTXAS");
    // One that hangs is not waited for again, by this process.
    if (made.kind == nvptx::Assembly::late)
      known = {0, made.problem, "", false};
    if (made.kind == nvptx::Assembly::refused || made.kind == nvptx::Assembly::done)
      full |= !disk.write(own, problem).empty();
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
    bool full = false;
    if (std::string why = assembleImage(image, *ptx, full); !why.empty())
      problem = std::move(why);
    // What cannot be kept is not made.
    if (full)
      break;
  }
  return problem;
}

std::string KeptCubins::explainNone() {
  if (std::string problem = DiskCache::fromEnvironment().findProblem(); !problem.empty())
    return problem;
  if (!nvptx::findAllPtxas().empty())
    return "";
  const char *named = std::getenv("FA_PTXAS");
  if (!named)
    return "no ptxas is found; install CUDA's assembler, or name one in FA_PTXAS";
  return *named ? "FA_PTXAS names '" + std::string(named) +
                      "', which is no program; name one, or unset it"
                : std::string("FA_PTXAS is empty, so no ptxas is used; unset it, or name one");
}
