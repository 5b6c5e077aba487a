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

#include "Program.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir::fa;

struct fa_reasons {
  struct Reason {
    fa_reason_kind kind;
    std::string what, remedy;
  };
  std::vector<Reason> reasons;

  void add(fa_reason_kind kind, llvm::StringRef message) {
    size_t at = message.rfind("; ");
    std::string remedy = at == llvm::StringRef::npos ? "" : message.substr(at + 2).str();
    Reason reason{kind, message.substr(0, at).str(), remedy};
    auto isSame = [&](const Reason &known) {
      return known.kind == kind && known.what == reason.what && known.remedy == remedy;
    };
    if (llvm::none_of(reasons, isSame))
      reasons.push_back(std::move(reason));
  }
};

/// One reason a line; a note belongs to the error before it.
static void addMessages(fa_reasons &reasons, llvm::StringRef messages) {
  llvm::SmallVector<llvm::StringRef> lines;
  messages.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    if (line.contains(": note: ") && !reasons.reasons.empty())
      reasons.reasons.back().what += " (" + line.str() + ")";
    else
      reasons.add(FA_REFUSED, line);
  }
}

static std::string namesOf(const Manifest &entry, llvm::ArrayRef<unsigned> arguments) {
  std::string names;
  for (unsigned i : arguments)
    names += (names.empty() ? "'" : ", '") + entry.arguments[i].name + "'";
  return names;
}

/// What the variants of a program ask for: a launch that none fits is refused, one
/// that a later one fits is slower.
static void addVariants(fa_reasons &reasons, const fa_program &program) {
  const Manifest &entry = program.manifest;
  for (size_t i = 0; i < entry.variants.size(); ++i) {
    const ManifestVariant &variant = entry.variants[i];
    bool last = i + 1 == entry.variants.size();
    if (std::string problem = program.cuda ? program.cuda->getProblem(i) : ""; !problem.empty()) {
      reasons.add(last ? FA_REFUSED_AT_LAUNCH : FA_SLOWER, problem);
      continue;
    }
    // Short sequences ask for what all do.
    if (!variant.limits.empty())
      continue;
    // A tensor map takes what a guard of 16 bytes does.
    llvm::SmallVector<unsigned> mapped;
    for (const ManifestKernel &kernel : variant.kernels)
      for (const ManifestParameter &parameter : kernel.parameters)
        if (parameter.kind == ManifestParameter::TensorMap &&
            !llvm::is_contained(mapped, parameter.argument))
          mapped.push_back(parameter.argument);
    auto aligned = [&](int64_t bytes, llvm::ArrayRef<unsigned> arguments) {
      reasons.add(last ? FA_REFUSED_AT_LAUNCH : FA_SLOWER,
                  namesOf(entry, arguments) + " at addresses, or with strides, that are no " +
                      "multiples of " + std::to_string(bytes) + " bytes " +
                      (last ? "cannot be launched" : "take slower code") +
                      "; align them, and pad their rows, to " + std::to_string(bytes) + " bytes");
    };
    for (const ManifestGuard &guard : variant.guards)
      if (!guard.arguments.empty())
        aligned(guard.alignment, guard.arguments);
    if (!mapped.empty())
      aligned(16, mapped);
    // It serves what the others would.
    if (variant.guards.empty() && mapped.empty())
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

fa_reasons *fa_explain(const char *text, size_t size, const fa_compile_options *options) {
  auto *reasons = new fa_reasons;
  fa_program *program = nullptr;
  if (fa_error *error = fa_compile(text, size, options, &program)) {
    addMessages(*reasons, fa_error_message(error));
    fa_error_free(error);
    return reasons;
  }
  addVariants(*reasons, *program);
  fa_program_free(program);
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
