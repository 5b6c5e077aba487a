//===- AssembleCubin.cpp - cubins through ptxas -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/AssembleCubin.h"
#include "fa/Support/FileLimit.h"
#include "fa/Support/LibraryFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

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
// Finding it
//===----------------------------------------------------------------------===//

std::vector<std::string> nvptx::findAllPtxas() {
  std::vector<std::string> found;
  auto add = [&](const std::string &path) {
    if (llvm::sys::fs::can_execute(path) && !llvm::is_contained(found, path))
      found.push_back(path);
  };
  if (const char *named = std::getenv("FA_PTXAS")) {
    if (*named)
      add(named);
    return found;
  }
  if (auto onPath = llvm::sys::findProgramByName("ptxas"))
    add(*onPath);
  for (const char *name : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(name); folder && *folder)
      add(std::string(folder) + "/bin/ptxas");
  add("/usr/local/cuda/bin/ptxas");
  // fa_mlir/lib/libfa.so has packages beside it.
  StringRef packages =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(getLibraryFolder()));
  if (!packages.empty())
    for (const char *inside : {"triton/backends/nvidia", "nvidia/cuda_nvcc", "nvidia/cu13"})
      add((packages + "/" + inside + "/bin/ptxas").str());
  return found;
}

llvm::Expected<std::string> nvptx::findPtxas() {
  std::vector<std::string> found = findAllPtxas();
  if (!found.empty())
    return found.front();
  if (const char *named = std::getenv("FA_PTXAS"))
    return llvm::createStringError(
        *named ? "FA_PTXAS names '" + std::string(named) + "', which is no program"
               : std::string("FA_PTXAS is empty, so no ptxas is used, which makes cubins; unset "
                             "it, or emit ptx, which drivers assemble"));
  return llvm::createStringError("ptxas is not found, which makes cubins; install CUDA's "
                                 "assembler, name it in FA_PTXAS, or emit ptx, which drivers "
                                 "assemble");
}

//===----------------------------------------------------------------------===//
// Running it
//===----------------------------------------------------------------------===//

namespace {
/// A file that is gone with it.
class TemporaryFile {
public:
  static llvm::Expected<TemporaryFile> create(StringRef suffix) {
    TemporaryFile file;
    if (std::error_code code = llvm::sys::fs::createTemporaryFile("fa", suffix, file.path))
      return llvm::createStringError("cannot make a temporary file, '" + file.path.str() +
                                     "': " + code.message());
    return std::move(file);
  }
  TemporaryFile(TemporaryFile &&other) : path(other.path) { other.path.clear(); }
  ~TemporaryFile() {
    if (!path.empty())
      llvm::sys::fs::remove(path);
  }
  StringRef getPath() const { return path; }

private:
  TemporaryFile() = default;
  llvm::SmallString<128> path;
};

/// How a child ended.
struct Ending {
  nvptx::Assembly::Kind kind;
  std::string problem, remedy = "";
};
} // namespace

static const char kFilesRemedy[] = "free space there, or name another folder in TMPDIR";

static std::string readFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

static std::error_code writeFile(StringRef path, StringRef text) {
  FileLimitIsAnError limit;
  std::error_code code;
  llvm::raw_fd_ostream file(path, code, llvm::sys::fs::OF_None);
  if (code)
    return code;
  file << text;
  file.close();
  code = file.error();
  file.clear_error();
  return code;
}

/// Start a program that reads nothing and prints to a file. Return the error, 0 for none.
static int startChild(const std::string &program, std::vector<std::string> arguments, StringRef log,
                      bool aside, pid_t &pid) {
  std::vector<char *> list;
  for (std::string &argument : arguments)
    list.push_back(argument.data());
  list.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.str().c_str(), O_WRONLY | O_TRUNC, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // What this thread blocks and this process ignores is none of the child's.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
  // A group of its own, so that what a script starts ends with it.
  if (aside)
    flags |= POSIX_SPAWN_SETPGROUP;
  posix_spawnattr_setflags(&attributes, flags);
  int result = posix_spawn(&pid, program.c_str(), &actions, &attributes, list.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (result == 0 && aside)
    (void)setpriority(PRIO_PROCESS, pid, 10);
  return result;
}

/// Wait for a child, which is killed where it must end. No other child is waited for.
static Ending waitForChild(const std::string &program, pid_t pid,
                           const nvptx::AssemblerLimits &limits) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  bool stopped = false, late = false;
  int status = 0;
  for (unsigned pause = 500;; pause = std::min(2 * pause, 10000u)) {
    pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid)
      break;
    if (ended < 0 && errno != EINTR)
      return {nvptx::Assembly::failed, "it is not seen how " + program +
                                           " ended, since this process ignores SIGCHLD or "
                                           "waits for children that it did not start"};
    if (!stopped && !late) {
      stopped = limits.stop && limits.stop();
      late = limits.seconds > 0 &&
             std::chrono::duration<double>(Clock::now() - start).count() > limits.seconds;
      if (stopped || late)
        kill(limits.stop ? -pid : pid, SIGKILL);
    }
    usleep(pause);
  }
  if (stopped)
    return {nvptx::Assembly::failed, program + " was stopped"};
  // Another time it may have more of the processor.
  if (late)
    return {nvptx::Assembly::late,
            program + " took more than " + std::to_string(int(limits.seconds)) + " s"};
  if (WIFSIGNALED(status)) {
    int signal = WTERMSIG(status);
    // Others send these, such as a system without memory, or with limits.
    bool fromOutside = signal == SIGKILL || signal == SIGTERM || signal == SIGINT ||
                       signal == SIGHUP || signal == SIGXFSZ || signal == SIGXCPU;
    return {fromOutside ? nvptx::Assembly::failed : nvptx::Assembly::refused,
            program + " was ended by signal " + std::to_string(signal)};
  }
  // What posix_spawn and shells say where there is no such program.
  if (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 126)
    return {nvptx::Assembly::failed, program + " cannot be run"};
  return {WEXITSTATUS(status) == 0 ? nvptx::Assembly::done : nvptx::Assembly::refused, ""};
}

/// Run ptxas; what it prints is stored.
static Ending runPtxas(const std::string &program, std::vector<std::string> arguments,
                       const nvptx::AssemblerLimits &limits, std::string &said) {
  auto log = TemporaryFile::create("log");
  if (!log)
    return {nvptx::Assembly::failed, llvm::toString(log.takeError()), kFilesRemedy};
  arguments.insert(arguments.begin(), program);
  pid_t pid;
  if (int code = startChild(program, std::move(arguments), log->getPath(), bool(limits.stop), pid))
    return {nvptx::Assembly::failed, program + " cannot be run: " + std::strerror(code)};
  Ending ending = waitForChild(program, pid, limits);
  said = readFile(log->getPath());
  return ending;
}

bool nvptx::isCubin(StringRef text) {
  return text.starts_with("\x7f"
                          "ELF");
}

nvptx::Assembly nvptx::assemble(StringRef ptxas, StringRef ptx, StringRef target,
                                const AssemblerLimits &limits) {
  Assembly result;
  auto fail = [&](std::string problem) {
    result.problem = std::move(problem);
    return std::move(result);
  };
  auto input = TemporaryFile::create("ptx");
  if (!input) {
    result.remedy = kFilesRemedy;
    return fail(llvm::toString(input.takeError()));
  }
  auto output = TemporaryFile::create("cubin");
  if (!output) {
    result.remedy = kFilesRemedy;
    return fail(llvm::toString(output.takeError()));
  }
  if (std::error_code code = writeFile(input->getPath(), ptx)) {
    result.remedy = kFilesRemedy;
    return fail("cannot write '" + input->getPath().str() + "': " + code.message());
  }
  std::string said;
  Ending ending = runPtxas(
      ptxas.str(),
      {"-v", "-arch=" + target.str(), input->getPath().str(), "-o", output->getPath().str()},
      limits, said);
  result.kind = ending.kind;
  result.remedy = ending.remedy;
  if (ending.kind != Assembly::done) {
    if (ending.problem.empty()) {
      ending.problem = ptxas.str() + " cannot assemble for " + target.str() + ": " +
                       StringRef(said).trim().str();
      // What is wrong with the text has a line; what is wrong with files or memory may pass.
      if (!StringRef(said).contains(", line "))
        result.kind = Assembly::failed;
    }
    return fail(std::move(ending.problem));
  }
  std::string bytes = readFile(output->getPath());
  if (!isCubin(bytes)) {
    result.kind = Assembly::failed;
    return fail(ptxas.str() + " made no cubin, but said that all went well");
  }
  result.cubin.bytes.assign(bytes.begin(), bytes.end());
  result.cubin.report = parseAssemblerReport(said);
  return result;
}

std::string nvptx::Assembly::describe(StringRef otherwise) const {
  std::string what = remedy.empty() ? otherwise.str() : remedy;
  return what.empty() ? problem : problem + "; " + what;
}

// "Cuda compilation tools, release 12.4, V12.4.99"
nvptx::PtxasVersion nvptx::getPtxasVersion(StringRef ptxas, const AssemblerLimits &limits) {
  PtxasVersion result;
  std::string said;
  Ending ending = runPtxas(ptxas.str(), {"--version"}, limits, said);
  result.remedy = ending.remedy;
  result.mayPass = ending.kind == Assembly::failed;
  StringRef rest = StringRef(said).split("release ").second;
  // More than that is no version.
  constexpr unsigned kMostMajor = 1000, kMostMinor = 99;
  unsigned major = 0, minor = 0;
  if (ending.kind != Assembly::done && !ending.problem.empty())
    result.problem = ending.problem + (ending.kind == Assembly::late ? " to tell its version" : "");
  else if (ending.kind != Assembly::done || rest.consumeInteger(10, major) ||
           !rest.consume_front(".") || rest.consumeInteger(10, minor) || major > kMostMajor ||
           minor > kMostMinor)
    result.problem = ptxas.str() + " tells no version";
  else
    result.version = int64_t(major) * 1000 + minor * 10;
  return result;
}

llvm::Expected<nvptx::Cubin> nvptx::assembleCubin(StringRef ptx, const Target &target) {
  llvm::Expected<std::string> ptxas = findPtxas();
  if (!ptxas)
    return ptxas.takeError();
  Assembly result = assemble(*ptxas, ptx, target.name, {});
  if (result.kind != Assembly::done)
    return llvm::createStringError(result.describe());
  return std::move(result.cubin);
}
