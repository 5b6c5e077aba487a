//===- AssembleCubin.cpp - cubins through ptxas -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/AssembleCubin.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>

using namespace mlir::fa;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// What ptxas prints
//===----------------------------------------------------------------------===//

/// Return the number before `unit`: 48 in "0 bytes stack frame, 48 bytes spill stores".
static int64_t numberBefore(StringRef line, StringRef unit) {
  size_t end = line.find(unit);
  if (end == StringRef::npos)
    return 0;
  StringRef number = line.take_front(end).rtrim();
  number = number.substr(number.find_last_not_of("0123456789") + 1);
  int64_t value = 0;
  return number.getAsInteger(10, value) ? 0 : value;
}

/// "...: (C7510) Potential ..." without what stands before the code.
static nvptx::AssemblerWarning readWarning(StringRef line) {
  size_t colon = line.find(':');
  StringRef text = (colon == StringRef::npos ? line : line.drop_front(colon + 1)).trim();
  StringRef code;
  if (text.consume_front("("))
    std::tie(code, text) = text.split(')');
  return {code.str(), text.trim().str()};
}

// One kernel prints
//   ptxas info    : Compiling entry function 'f' for 'sm_80'
//   ptxas info    : Function properties for f
//       0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
//   ptxas info    : Used 8 registers, used 1 barriers, 16 bytes smem, 352 bytes cmem[0]
nvptx::AssemblerReport nvptx::parseAssemblerReport(StringRef output) {
  AssemblerReport report;
  KernelUsage *kernel = nullptr;
  for (StringRef line : llvm::split(output, '\n')) {
    if (line.contains("Compiling entry function '")) {
      StringRef name = line.split("Compiling entry function '").second.split('\'').first;
      report.kernels.push_back({});
      kernel = &report.kernels.back();
      kernel->name = name.str();
    } else if (line.contains("Function properties for ")) {
      // Those of functions that a kernel calls are not its own.
      StringRef name = line.split("Function properties for ").second.trim();
      kernel = nullptr;
      for (KernelUsage &known : report.kernels)
        if (known.name == name)
          kernel = &known;
    } else if (line.contains("bytes stack frame")) {
      if (!kernel)
        continue;
      kernel->stackFrame = numberBefore(line, "bytes stack frame");
      kernel->spillStores = numberBefore(line, "bytes spill stores");
      kernel->spillLoads = numberBefore(line, "bytes spill loads");
    } else if (line.contains("Used ") && line.contains(" registers")) {
      if (report.kernels.empty())
        continue;
      KernelUsage &last = report.kernels.back();
      last.registers = numberBefore(line, " registers");
      last.barriers = numberBefore(line, " barriers");
      last.sharedMemory = numberBefore(line, " bytes smem");
    } else if (line.contains("warning") || line.contains("(C7")) {
      report.warnings.push_back(readWarning(line));
    }
  }
  return report;
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

llvm::Expected<std::string> nvptx::findPtxas() {
  if (const char *named = std::getenv("FA_PTXAS"); named && *named) {
    if (llvm::sys::fs::can_execute(named))
      return std::string(named);
    return llvm::createStringError("FA_PTXAS names '" + std::string(named) +
                                   "', which is no program");
  }
  if (auto found = llvm::sys::findProgramByName("ptxas"))
    return *found;
  if (auto found = llvm::sys::findProgramByName("ptxas", {"/usr/local/cuda/bin"}))
    return *found;
  return llvm::createStringError("ptxas is not found, which makes cubins; install CUDA's "
                                 "assembler, name it in FA_PTXAS, or emit ptx, which drivers "
                                 "assemble");
}

namespace {
/// A file that is gone with it.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(StringRef suffix) {
    TemporaryFile file;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("fa", suffix, file.path))
      return llvm::createStringError("cannot make a temporary file: " + code.message());
    file.remover.setFile(file.path);
    return std::move(file);
  }
  StringRef getPath() const { return path; }

private:
  llvm::SmallString<128> path;
  llvm::FileRemover remover;
};
} // namespace

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

llvm::Expected<nvptx::Cubin> nvptx::assembleCubin(StringRef ptx, const Target &target) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  auto input = TemporaryFile::create("ptx");
  if (!input)
    return input.takeError();
  auto output = TemporaryFile::create("cubin");
  if (!output)
    return output.takeError();
  auto log = TemporaryFile::create("log");
  if (!log)
    return log.takeError();
  std::error_code code;
  llvm::raw_fd_ostream file(input->getPath(), code);
  file << ptx;
  file.close();
  if (file.has_error()) {
    code = file.error();
    file.clear_error();
    return llvm::createStringError("cannot write '" + input->getPath().str() +
                                   "': " + code.message());
  }

  std::string architecture = ("-arch=" + StringRef(target.name)).str();
  StringRef arguments[] = {*ptxas, "-v", architecture, input->getPath(), "-o", output->getPath()};
  std::optional<StringRef> redirects[] = {StringRef(), log->getPath(), log->getPath()};
  std::string error;
  int status = llvm::sys::ExecuteAndWait(*ptxas, arguments, /*Env=*/std::nullopt, redirects,
                                         /*SecondsToWait=*/0, /*MemoryLimit=*/0, &error);
  std::string said = readFile(log->getPath());
  if (status != 0)
    return llvm::createStringError(*ptxas + " cannot assemble for " + target.name.str() + ": " +
                                   (error.empty() ? StringRef(said).trim().str() : error));
  Cubin cubin;
  std::string bytes = readFile(output->getPath());
  cubin.bytes.assign(bytes.begin(), bytes.end());
  cubin.report = parseAssemblerReport(said);
  return cubin;
}
