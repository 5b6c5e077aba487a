//===- fa_explain.cpp - the C API: why not, and what to do -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The messages of this project are "what is wrong; what to do", one a line. They
// are what a compilation says, taken apart, and what a program that compiles asks
// of a launch.
//
//===----------------------------------------------------------------------===//

#include "Explain.h"
#include "KeptCubins.h"
#include "Program.h"
#include "fa/Runtime/CompileCUDA.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cstddef>
#include <limits>
#include <map>
#include <set>

using namespace mlir::fa;

/// The size of options that say whether anything is kept.
static constexpr size_t kCacheOption =
    offsetof(fa_compile_options, no_cache) + sizeof(fa_compile_options::no_cache);

struct fa_reasons {
  struct Reason {
    fa_reason_kind kind;
    std::string what, remedy;
  };
  std::vector<Reason> reasons;

  void add(fa_reason_kind kind, llvm::StringRef message) {
    size_t at = message.rfind("; ");
    Reason reason{kind, message.substr(0, at).str(),
                  at == llvm::StringRef::npos ? "see docs/semantics.md"
                                              : message.substr(at + 2).str()};
    for (const Reason &known : reasons)
      if (known.kind == kind && known.what == reason.what && known.remedy == reason.remedy)
        return;
    reasons.push_back(std::move(reason));
  }
};

/// Add one reason a line; a note belongs to the error before it.
static void addMessages(fa_reasons &reasons, llvm::StringRef messages) {
  llvm::SmallVector<llvm::StringRef> lines;
  messages.split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string whole;
  for (llvm::StringRef line : lines) {
    if (line.contains(": note: ") && !whole.empty()) {
      size_t at = whole.rfind("; ");
      whole.insert(at == std::string::npos ? whole.size() : at, " (" + line.str() + ")");
      continue;
    }
    if (!whole.empty())
      reasons.add(FA_REFUSED, whole);
    whole = line.str();
  }
  if (!whole.empty())
    reasons.add(FA_REFUSED, whole);
}

static std::string namesOf(const Manifest &entry, const std::set<unsigned> &arguments) {
  std::string names;
  for (unsigned i : arguments)
    names += (names.empty() ? "'" : ", '") + entry.arguments[i].name + "'";
  return names;
}

/// Add what the variants of a program ask for: a launch that none fits is refused, one
/// that a later one fits is slower.
static void addVariants(fa_reasons &reasons, const fa_program &program) {
  const Manifest &entry = program.manifest;
  std::set<std::pair<int64_t, unsigned>> said;
  for (size_t i = 0; i < entry.variants.size(); ++i) {
    const ManifestVariant &variant = entry.variants[i];
    bool last = i + 1 == entry.variants.size();
    if (std::string problem = program.cuda ? program.cuda->getProblem(i) : ""; !problem.empty()) {
      reasons.add(last ? FA_REFUSED_AT_LAUNCH : FA_SLOWER, problem);
      continue;
    }
    // Short and long sequences ask for what all do.
    if (!variant.servesAll())
      continue;
    // A tensor map takes what a guard of 16 bytes does.
    std::map<int64_t, std::set<unsigned>> aligned;
    for (const ManifestGuard &guard : variant.guards)
      aligned[guard.alignment].insert(guard.arguments.begin(), guard.arguments.end());
    for (const ManifestKernel &kernel : variant.kernels)
      for (const ManifestParameter &parameter : kernel.parameters)
        if (parameter.kind == ManifestParameter::TensorMap)
          aligned[16].insert(parameter.argument);
    // What an earlier one asks for is said; the last one refuses it.
    bool any = !aligned.empty();
    for (auto &[bytes, arguments] : aligned)
      for (auto at = arguments.begin(); !last && at != arguments.end();)
        at = said.insert({bytes, *at}).second ? std::next(at) : arguments.erase(at);
    for (auto &[bytes, arguments] : aligned)
      if (!arguments.empty())
        reasons.add(last ? FA_REFUSED_AT_LAUNCH : FA_SLOWER,
                    namesOf(entry, arguments) + " at addresses, or with strides, that are no " +
                        "multiples of " + std::to_string(bytes) + " bytes " +
                        (last ? "cannot be launched" : "take slower code") +
                        "; align them, and pad their rows, to " + std::to_string(bytes) + " bytes");
    // It serves what the others would.
    if (!any)
      break;
  }
  for (auto &[of, by] : entry.multiples)
    reasons.add(FA_REFUSED_AT_LAUNCH, "sizes where " + of + " is no multiple of " + by +
                                          " cannot be launched; repeat heads until it is one");
  for (auto &[name, most] : entry.limits)
    reasons.add(FA_REFUSED_AT_LAUNCH, "sizes where " + name + " is above " + std::to_string(most) +
                                          " cannot be launched; split the tensors, or leave out "
                                          "dropout");
}

/// Add what is refused of any program.
static void addLaunches(fa_reasons &reasons, const fa_program &program) {
  reasons.add(FA_REFUSED_AT_LAUNCH,
              "tensors with a negative stride, or one other than 1 in the last dimension, cannot "
              "be launched; copy them to contiguous rows");
  reasons.add(FA_REFUSED_AT_LAUNCH,
              "outputs whose rows overlap, or with a stride of 0, cannot be launched; give each "
              "element memory of its own");
  reasons.add(FA_REFUSED_AT_LAUNCH,
              "sizes of 2^30 and more cannot be launched; use fewer or shorter sequences");
  if (program.cuda)
    reasons.add(FA_REFUSED_AT_LAUNCH, "sizes that make 2^31 blocks and more of a grid cannot be "
                                      "launched; use fewer or shorter sequences");
}

/// Add whether other code would be better for the device, or the device asks for code that this
/// build has not.
static void addTarget(fa_reasons &reasons, const fa_program &program) {
  const cuda::Device &device = program.cuda->getDevice();
  const int newest = std::numeric_limits<int>::max();
  const nvptx::Target *best = cuda::chooseTarget(device.major, device.minor, newest),
                      *now = cuda::chooseTarget(device.major, device.minor, device.driver.version);
  if (!best || !now)
    return;
  std::string where = "on " + device.describe() + " ", runs = program.target + " code runs";
  if (program.target != now->name)
    reasons.add(FA_SLOWER, where + runs + " where " + now->name.str() + " code could; leave out " +
                               "the target, or compile for " + now->name.str());
  if (now != best)
    reasons.add(FA_SLOWER, where + runs + ", as the driver (CUDA " +
                               cuda::versionText(device.driver.version) + ") reads no " +
                               best->name.str() + " code; update the driver to CUDA " +
                               cuda::versionText(cuda::getMinimumDriver(*best)) + " or later");
  bool known = llvm::any_of(nvptx::getTargets(), [&](const nvptx::Target &target) {
    return std::pair<int64_t, int64_t>(device.major, device.minor) <=
           std::pair(target.computeMajor, target.computeMinor);
  });
  if (!known)
    reasons.add(FA_SLOWER, where + runs + ", as this build knows no device so new; use a later " +
                               "fa-mlir, where there is one");
}

/// Add why each start of a process has the driver compile the program, where that is so.
static void addStart(fa_reasons &reasons, const fa_program &program) {
  std::string refusal, why = program.startProblem;
  bool compiled = false;
  for (const cuda::Executor::ImageFacts &image : program.cuda->getImageFacts()) {
    compiled |= image.compiled;
    if (image.compiled && !image.refusal.empty())
      refusal = image.refusal;
  }
  if (!compiled)
    return;
  if (why.empty())
    why = KeptCubins::explainNone();
  if (!refusal.empty())
    why = "the driver refuses the cubin that is kept: " + refusal +
          "; name a ptxas that is no newer than the driver in FA_PTXAS";
  if (why.empty())
    return;
  auto [cause, remedy] = llvm::StringRef(why).rsplit("; ");
  reasons.add(FA_SLOWER_TO_START,
              "each start has the driver compile the program, unless it keeps what it made, "
              "because " +
                  cause.str() + "; " + remedy.str());
}

fa_reasons *fa_explain(const char *text, size_t size, const fa_compile_options *options) {
  auto *reasons = new fa_reasons;
  fa_program *program = nullptr;
  fa_error *error = text ? fa_compile(text, size, options, &program) : nullptr;
  if (program) {
    if (program->cuda)
      addTarget(*reasons, *program);
    addVariants(*reasons, *program);
    // A child that was forked meanwhile does not know.
    bool isKnown = !program->keeping || program->keeping->wait();
    bool mayKeep = !options || options->size < kCacheOption || !options->no_cache;
    if (program->cuda && isKnown && mayKeep)
      addStart(*reasons, *program);
    addLaunches(*reasons, *program);
    fa_program_free(program);
    return reasons;
  }
  // fa_compile tells of the device or the text.
  fa_compile_options chosen = fa_compile_options_default();
  if (fa_error *wrong = readOptions(options, chosen)) {
    addMessages(*reasons, fa_error_message(wrong));
    fa_error_free(wrong);
  } else {
    addMessages(*reasons, findDeviceProblem(chosen));
    if (text)
      addMessages(*reasons, findTextProblems(llvm::StringRef(text, size), chosen));
  }
  addMessages(*reasons, fa_error_message(error));
  fa_error_free(error);
  return reasons;
}

size_t fa_reasons_count(const fa_reasons *reasons) { return reasons ? reasons->reasons.size() : 0; }

fa_reason fa_reasons_get(const fa_reasons *reasons, size_t index) {
  if (index >= fa_reasons_count(reasons))
    return {FA_REFUSED, "", ""};
  const fa_reasons::Reason &reason = reasons->reasons[index];
  return {reason.kind, reason.what.c_str(), reason.remedy.c_str()};
}

void fa_reasons_free(fa_reasons *reasons) { delete reasons; }
