//===- MakeSeed.cpp - compiling the programs of a seed -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/MakeSeed.h"
#include "ProgramKey.h"
#include "Seed.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Runtime/CompileCUDA.h"
#include "fa/Support/ModuleText.h"
#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Tools/Registry.h"
#include "mlir/Parser/Parser.h"
#include <atomic>
#include <mutex>
#include <thread>

using namespace mlir;
using namespace mlir::fa;

/// Bound what is read for one program: alike are those that follow each other.
static constexpr size_t kMostBytesOfFrame = 1 << 20;

static llvm::Error error(const Twine &message) { return llvm::createStringError(message); }

/// Assemble an image for a seed.
static llvm::Expected<std::string> assembleImage(StringRef ptxas, StringRef ptx,
                                                 const nvptx::Target &target) {
  nvptx::Assembly made = nvptx::assemble(ptxas, ptx, target.name, {});
  if (made.kind != nvptx::Assembly::done)
    return error(made.describe());
  for (const nvptx::AssemblerWarning &warning : made.cubin.report.warnings)
    return error(ptxas + " warns: " + warning.code + " " + warning.text +
                 "; name another ptxas in FA_PTXAS");
  return std::string(made.cubin.bytes.begin(), made.cubin.bytes.end());
}

/// Compile a module of one entry, or its gradients: what a launch must know, and cubins.
static llvm::Expected<std::vector<Seed::Entry>>
compileEntries(ModuleOp module, const nvptx::Target &target, StringRef ptxas,
               CompileOptions::Backward backward, ErrorCollector &errors) {
  CompileOptions compile;
  compile.target = target.name.str();
  compile.backward = backward;
  OwningOpRef<ModuleOp> plain = spellPlainly(module, compile);
  std::string key = programKey(*plain, compile);
  auto program = cuda::compile(*plain, compile);
  if (failed(program))
    return error(errors.messages("the program could not be compiled"));
  auto images = cuda::getAll(program->images);
  if (!images)
    return images.takeError();
  std::vector<Seed::Entry> entries = {{key, printManifest(program->manifest)}};
  for (auto [i, image] : llvm::enumerate(*images)) {
    auto cubin = assembleImage(ptxas, image, target);
    if (!cubin)
      return cubin.takeError();
    entries.push_back({seedCubinKey(key, i), std::move(*cubin)});
  }
  return entries;
}

namespace {

/// The entries of one module.
struct Made {
  std::vector<Seed::Entry> forward, backward;
};

} // namespace

static llvm::Expected<Made> compileModule(StringRef text, const nvptx::Target &target,
                                          StringRef ptxas) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ErrorCollector errors(&context);
  OwningOpRef<ModuleOp> module = parseModule(text, "<seed>", &context);
  if (!module)
    return error(errors.messages("the text is not a module of MLIR"));
  bool hasLse = false;
  module->walk([&](AttentionOp op) { hasLse |= op->getNumResults() > 1 && op.getLse(); });
  Made made;
  auto take = [&](ModuleOp of, CompileOptions::Backward backward,
                  std::vector<Seed::Entry> &to) -> llvm::Error {
    auto entries = compileEntries(of, target, ptxas, backward, errors);
    if (!entries)
      return entries.takeError();
    to = std::move(*entries);
    return llvm::Error::success();
  };
  if (llvm::Error failed = take(*module, CompileOptions::Backward::None, made.forward))
    return failed;
  if (hasLse)
    if (llvm::Error failed = take(*module, CompileOptions::Backward::Only, made.backward))
      return failed;
  return made;
}

llvm::Expected<std::string> fa::makeSeed(StringRef text, const nvptx::Target &target) {
  auto ptxas = nvptx::findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  SmallVector<StringRef> texts;
  text.split(texts, "// -----\n", -1, /*KeepEmpty=*/false);
  std::vector<Made> made(texts.size());
  std::string problem;
  std::mutex mutex;
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i; (i = next++) < texts.size();) {
      auto of = compileModule(texts[i], target, *ptxas);
      if (of) {
        made[i] = std::move(*of);
        continue;
      }
      std::lock_guard<std::mutex> lock(mutex);
      problem = "program " + std::to_string(i) + ": " + llvm::toString(of.takeError());
      next = texts.size();
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < std::thread::hardware_concurrency(); ++i)
    threads.emplace_back(work);
  work();
  for (std::thread &thread : threads)
    thread.join();
  if (!problem.empty())
    return error(problem);
  std::vector<std::vector<Seed::Entry>> groups;
  for (auto part : {&Made::forward, &Made::backward}) {
    size_t bytes = kMostBytesOfFrame;
    for (Made &of : made) {
      size_t own = 0;
      for (const Seed::Entry &entry : of.*part)
        own += entry.key.size() + entry.value.size();
      if (bytes + own > kMostBytesOfFrame) {
        groups.emplace_back();
        bytes = 0;
      }
      bytes += own;
      llvm::append_range(groups.back(), std::move(of.*part));
    }
  }
  return Seed::print(groups);
}
