//===- FuzzMain.cpp - runs inputs in processes of their own -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
//   fa-fuzz --count=N [--seed=S] [--only=K] [--jobs=J] [--out=DIR]
//
// Each input runs in a child process within 10 s of CPU time and 2 GB. A crash,
// a time-out, an error without a message or a wrong result is a failure; the
// input is then in DIR, by default a folder among the temporary files. `--only`
// runs one input in this process.
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace fa_fuzz;
using Clock = std::chrono::steady_clock;

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define FA_FUZZ_ASAN 1
extern "C" const char *__asan_default_options() {
  return "detect_leaks=0:allocator_may_return_null=0";
}
extern "C" const char *__ubsan_default_options() { return "halt_on_error=1:print_stacktrace=1"; }
#else
#define FA_FUZZ_ASAN 0
#endif

static constexpr int kSeconds = 10, kWallSeconds = 60;
static constexpr int64_t kBytes = int64_t(2) << 30;

//===----------------------------------------------------------------------===//
// Children
//===----------------------------------------------------------------------===//

namespace {

struct Child {
  int64_t index = -1;
  pid_t pid = 0;
  int pipe = -1;
  Clock::time_point start;
  std::string answer, killed;
};

struct Options {
  int64_t count = 500, seed = 1, only = -1, jobs = 0;
  std::string out; ///< empty: a folder among the temporary files
};

} // namespace

/// Never the current folder, which may be a source tree.
static std::string getTemporaryFolder() {
  llvm::SmallString<128> folder;
  llvm::sys::path::system_temp_directory(/*erasedOnReboot=*/true, folder);
  llvm::sys::path::append(folder, "fa-fuzz-" + std::to_string(getuid()));
  return folder.str().str();
}

static int64_t statm(pid_t pid, int field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  int64_t pages = 0;
  for (int i = 0; i <= field; ++i)
    file >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

static std::string pathOf(const Options &options, int slot, const char *what) {
  return options.out + "/slot" + std::to_string(slot) + what;
}

static void write(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

[[noreturn]] static void runChild(Inputs &inputs, const Options &options, int64_t index, int slot,
                                  int pipe) {
  int log = open(pathOf(options, slot, ".log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(log, 1);
  dup2(log, 2);
  rlimit cpu{kSeconds, kSeconds + 1}, core{0, 0};
  setrlimit(RLIMIT_CPU, &cpu);
  setrlimit(RLIMIT_CORE, &core);
  if (!FA_FUZZ_ASAN) { // else the parent watches the resident set
    rlim_t bytes = statm(getpid(), 0) + kBytes;
    rlimit memory{bytes, bytes};
    setrlimit(RLIMIT_AS, &memory);
  }
  Outcome outcome = inputs.run(
      index, [&](const std::string &text) { write(pathOf(options, slot, ".input"), text); });
  llvm::erase(outcome.message, '\0'); // some of upstream's errors hold one
  int flags = outcome.parsed | outcome.reachedTile << 1 | outcome.ran << 2 | outcome.compared << 3 |
              outcome.rejected << 4;
  std::string answer = std::string(1, char('A' + flags)) + outcome.message.substr(0, 2000) + '\0' +
                       outcome.failure.substr(0, 2000);
  if (::write(pipe, answer.data(), answer.size()) != ssize_t(answer.size()))
    _exit(3);
  _exit(0);
}

static void start(Inputs &inputs, const Options &options, int64_t index, int slot, Child &child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    std::exit((std::perror("fa-fuzz: pipe"), 1));
  std::fflush(nullptr);
  child = Child();
  child.index = index;
  child.start = Clock::now();
  child.pid = fork();
  if (child.pid < 0)
    std::exit((std::perror("fa-fuzz: fork"), 1));
  if (child.pid == 0)
    runChild(inputs, options, index, slot, ends[1]);
  close(ends[1]);
  child.pipe = ends[0];
}

/// Reads what the child says; true when it has ended.
static bool advance(Child &child, bool readable) {
  if (readable) {
    char buffer[4096];
    ssize_t n = read(child.pipe, buffer, sizeof buffer);
    if (n <= 0)
      return true;
    child.answer.append(buffer, n);
  }
  if (!child.killed.empty())
    return false;
  if (Clock::now() - child.start > std::chrono::seconds(kWallSeconds))
    child.killed = "ran longer than " + std::to_string(kWallSeconds) + " s";
  else if (FA_FUZZ_ASAN && statm(child.pid, 1) > kBytes)
    child.killed = "took more than 2 GB";
  if (!child.killed.empty())
    kill(child.pid, SIGKILL);
  return false;
}

static Outcome finish(Child &child) {
  close(child.pipe);
  int status = 0;
  waitpid(child.pid, &status, 0);
  Outcome outcome;
  if (!child.answer.empty()) {
    int flags = child.answer[0] - 'A';
    outcome.parsed = flags & 1;
    outcome.reachedTile = flags & 2;
    outcome.ran = flags & 4;
    outcome.compared = flags & 8;
    outcome.rejected = flags & 16;
    size_t middle = child.answer.find('\0');
    outcome.message = child.answer.substr(1, middle - 1);
    outcome.failure = child.answer.substr(middle + 1);
  }
  if (!child.killed.empty())
    outcome.failure = child.killed;
  else if (WIFSIGNALED(status))
    outcome.failure = WTERMSIG(status) == SIGXCPU
                          ? "took more than " + std::to_string(kSeconds) + " s"
                          : std::string("crashed: ") + strsignal(WTERMSIG(status));
  else if (WEXITSTATUS(status) != 0 || child.answer.empty())
    outcome.failure = "ended with status " + std::to_string(WEXITSTATUS(status));
  return outcome;
}

//===----------------------------------------------------------------------===//
// All inputs
//===----------------------------------------------------------------------===//

namespace {

struct Counts {
  int64_t all = 0, failed = 0, parsed = 0, tile = 0, ran = 0, compared = 0, rejected = 0;
  /// Errors with their numbers left out, and an input that gave each.
  std::map<std::string, std::pair<int64_t, int64_t>> messages;
};

} // namespace

static std::string shape(const std::string &message) {
  std::string result;
  bool quoted = false;
  for (char c : message.substr(0, message.find('\n'))) {
    if (c == '\'')
      quoted = !quoted;
    if (std::isdigit(static_cast<unsigned char>(c)))
      c = '0';
    if ((!quoted || c == '\'') && !(c == '0' && !result.empty() && result.back() == '0'))
      result += c;
  }
  return result.substr(0, 160);
}

static void count(const Outcome &outcome, int64_t index, int slot, const Options &options,
                  Counts &counts) {
  ++counts.all;
  counts.parsed += outcome.parsed;
  counts.tile += outcome.reachedTile;
  counts.ran += outcome.ran;
  counts.compared += outcome.compared;
  counts.rejected += outcome.rejected;
  if (outcome.rejected) {
    auto &entry = counts.messages[shape(outcome.message)];
    ++entry.first;
    entry.second = index;
  }
  if (outcome.failure.empty())
    return;
  ++counts.failed;
  std::string input = options.out + "/fail-" + std::to_string(index) + ".input";
  (void)llvm::sys::fs::copy_file(pathOf(options, slot, ".input"), input);
  (void)llvm::sys::fs::copy_file(pathOf(options, slot, ".log"),
                                 options.out + "/fail-" + std::to_string(index) + ".log");
  std::printf("input %lld %s\n  reproduce: fa-fuzz --seed=%lld --only=%lld; input: %s\n",
              (long long)index, outcome.failure.c_str(), (long long)options.seed, (long long)index,
              input.c_str());
}

static Counts runAll(Inputs &inputs, const Options &options) {
  Counts counts;
  std::vector<Child> children(options.jobs);
  int64_t next = 0, running = 0;
  while (next < options.count || running > 0) {
    std::vector<pollfd> polls;
    for (size_t slot = 0; slot < children.size(); ++slot) {
      if (children[slot].pid == 0 && next < options.count) {
        start(inputs, options, next++, slot, children[slot]);
        ++running;
      }
      polls.push_back({children[slot].pipe, POLLIN, 0});
    }
    poll(polls.data(), polls.size(), /*milliseconds=*/50);
    for (size_t slot = 0; slot < children.size(); ++slot) {
      Child &child = children[slot];
      if (child.pid == 0 || !advance(child, polls[slot].revents != 0))
        continue;
      Outcome outcome = finish(child);
      count(outcome, child.index, slot, options, counts);
      child = Child();
      --running;
    }
  }
  return counts;
}

static int report(const Options &options, Counts &counts) {
  std::ofstream messages(options.out + "/messages.txt");
  for (auto &[message, entry] : counts.messages)
    messages << entry.first << "\t" << entry.second << "\t" << message << "\n";
  auto percent = [&](int64_t n) { return counts.all ? 100.0 * n / counts.all : 0.0; };
  std::printf(
      "%lld inputs: %.1f %% parse, %.1f %% reach tile, %.1f %% refused with an error, %lld ran, "
      "%lld compared with the reference; errors are in %s/messages.txt\n",
      (long long)counts.all, percent(counts.parsed), percent(counts.tile), percent(counts.rejected),
      (long long)counts.ran, (long long)counts.compared, options.out.c_str());
  int64_t failed = counts.failed;
  for (auto [name, got, wanted] : {std::tuple("parse", percent(counts.parsed), 30.0),
                                   std::tuple("reach tile", percent(counts.tile), 10.0)})
    if (counts.all >= 100 && got < wanted) {
      std::printf("only %.1f %% of the inputs %s, expected %.0f %%: the generator has gone stale\n",
                  got, name, wanted);
      ++failed;
    }
  std::printf("%lld passed, %lld failed, 0 skipped\n", (long long)(counts.all - counts.failed),
              (long long)failed);
  return failed ? 1 : 0;
}

static int runOnly(Inputs &inputs, const Options &options) {
  Outcome outcome = inputs.run(
      options.only, [&](const std::string &text) { write(options.out + "/only.input", text); });
  std::printf("%s\nparsed %d, reached tile %d, ran %d, compared %d, refused %d: %s\n%s\n",
              (options.out + "/only.input").c_str(), outcome.parsed, outcome.reachedTile,
              outcome.ran, outcome.compared, outcome.rejected, outcome.message.c_str(),
              outcome.failure.c_str());
  bool failed = !outcome.failure.empty();
  std::printf("%d passed, %d failed, 0 skipped\n", !failed, failed);
  return failed;
}

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    size_t equals = argument.find('=');
    std::string name = argument.substr(0, equals),
                value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    int64_t *number = name == "--count"  ? &options.count
                      : name == "--seed" ? &options.seed
                      : name == "--only" ? &options.only
                      : name == "--jobs" ? &options.jobs
                                         : nullptr;
    char *end = nullptr;
    if (number && !value.empty())
      *number = std::strtoll(value.c_str(), &end, 10);
    if (name == "--out" && !value.empty())
      options.out = value;
    else if (!end || *end) {
      std::fprintf(stderr,
                   "fa-fuzz: bad argument '%s': expected --count=N, --seed=S, --only=K, --jobs=J "
                   "or --out=DIR\n",
                   argv[i]);
      return 2;
    }
  }
  if (options.jobs <= 0)
    options.jobs = std::max<long>(1, sysconf(_SC_NPROCESSORS_ONLN));
  if (options.out.empty())
    options.out = getTemporaryFolder();
  if (llvm::sys::fs::create_directories(options.out)) {
    std::fprintf(stderr, "fa-fuzz: cannot make folder '%s'\n", options.out.c_str());
    return 2;
  }
  Inputs inputs(options.seed);
  if (options.only >= 0)
    return runOnly(inputs, options);
  Counts counts = runAll(inputs, options);
  return report(options, counts);
}
