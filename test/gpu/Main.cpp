//===- Main.cpp - fa-test-gpu: runs the tests that need a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/DeviceMemory.h"
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fnmatch.h>
#include <limits>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace fa_test;
using Clock = std::chrono::steady_clock;

static const char kHelp[] =
    R"(fa-test-gpu: tests programs of attention on a device against a float64 reference

  --device=cuda[:N]   the device (default cuda); cpu tries the suite itself
  --target=sm_80      code other than the device's best
  --filter=GLOB       only tests whose name matches, or holds GLOB
  --full              every combination of dtype, head size, mask and score
  --repeats=N         launches that must give the same bits (default 250)
  --list              print the names and run nothing
  --part=I/N          every N-th test, from the I-th on: N processes, in which drivers compile beside each other
  --require-device    fail where there is no device, instead of skipping
  --threads=N         tests at a time; compiling and the reference take the CPU
  --seed=N            random programs from the N-th on (default 0)
  --seconds=N         begin no test after N seconds; the others count as skipped
  --from=N            leave out the first N - 1 tests, which an earlier run had time for
  --timeout=SECONDS   give up on a test that hangs (default 300)
  --verbose           print every failure, not the first 20 alone

The last line counts the tests; the status is 0 if none failed. Where there is
no device all are skipped.
)";

namespace {

struct Options {
  Target target;
  std::string filter;
  bool list = false, requireDevice = false, verbose = false;
  int threads = 0, timeout = 300, seconds = 0, seed = 0, from = 1, part = 1, parts = 1;
};

/// Runs tests on threads and prints what fails.
class Runner {
public:
  Runner(const std::vector<Test> &tests, const Options &options) : tests(tests), options(options) {}
  /// Run the tests; return the number of failures.
  int run();

private:
  void work();
  llvm::Error runTest(size_t test);
  void finish(size_t test, llvm::Error result);

  static constexpr int kShown = 20;
  const std::vector<Test> &tests;
  const Options &options;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;
  std::condition_variable done;
  // For those that run alone, which stand after the others.
  std::condition_variable idle;
  size_t next = 0, finished = 0;
  // The first test for which there was no time.
  size_t firstLate = std::numeric_limits<size_t>::max();
  int passed = 0, failed = 0, skipped = 0;
  std::map<size_t, Clock::time_point> running;
  // Reasons for skipping, and how many tests have each.
  std::map<std::string, int> reasons;
};

} // namespace

void Runner::finish(size_t test, llvm::Error result) {
  std::string message = llvm::toString(std::move(result));
  std::lock_guard<std::mutex> lock(mutex);
  running.erase(test);
  ++finished;
  if (message.empty()) {
    ++passed;
  } else if (message.rfind(kSkipped, 0) == 0) {
    ++skipped;
    ++reasons[message.substr(sizeof kSkipped - 1)];
  } else if (++failed <= kShown || options.verbose) {
    std::printf("FAILED: %s: %s\n", tests[test].name.c_str(), message.c_str());
    std::fflush(stdout);
  }
  done.notify_one();
  idle.notify_all();
}

llvm::Error Runner::runTest(size_t test) {
  if (options.seconds && Clock::now() - start > std::chrono::seconds(options.seconds)) {
    std::lock_guard<std::mutex> lock(mutex);
    firstLate = std::min(firstLate, test);
    return llvm::createStringError(std::string(kSkipped) +
                                   "not begun within --seconds=" + std::to_string(options.seconds));
  }
  return tests[test].body(options.target);
}

void Runner::work() {
  for (;;) {
    size_t mine;
    {
      std::unique_lock<std::mutex> lock(mutex);
      if (next == tests.size())
        return;
      mine = next++;
      if (tests[mine].alone)
        idle.wait(lock, [&] { return finished == mine; });
      running[mine] = Clock::now();
    }
    finish(mine, runTest(mine));
  }
}

int Runner::run() {
  std::vector<std::thread> threads;
  for (int i = 0; i < options.threads; ++i)
    threads.emplace_back([this] { work(); });
  {
    std::unique_lock<std::mutex> lock(mutex);
    while (finished < tests.size()) {
      done.wait_for(lock, std::chrono::seconds(1));
      for (auto &[test, since] : running)
        if (Clock::now() - since > std::chrono::seconds(options.timeout)) {
          // A kernel that hangs cannot be stopped, but by ending the process.
          std::printf("FAILED: %s: no result after %d s\n%d passed, %zu failed, %d skipped\n",
                      tests[test].name.c_str(), options.timeout, passed,
                      failed + tests.size() - finished, skipped);
          std::fflush(stdout);
          _exit(1);
        }
    }
  }
  for (std::thread &thread : threads)
    thread.join();
  if (failed > kShown && !options.verbose)
    std::printf("... and %d more\n", failed - kShown);
  for (auto &[reason, count] : reasons)
    std::printf("skipped %d: %s\n", count, reason.c_str());
  if (firstLate < tests.size())
    std::printf("--from=%zu begins where time ran out\n", options.from + firstLate);
  std::printf("%d passed, %d failed, %d skipped\n", passed, failed, skipped);
  return failed;
}

static bool matches(const std::string &name, const std::string &filter) {
  return name.find(filter) != std::string::npos || fnmatch(filter.c_str(), name.c_str(), 0) == 0;
}

/// Return whether a name is one of a device, there or not.
static bool isDevice(const std::string &name) {
  if (name == "cpu" || name == "cuda")
    return true;
  return name.size() > 5 && name.size() <= 14 && name.compare(0, 5, "cuda:") == 0 &&
         name.find_first_not_of("0123456789", 5) == std::string::npos;
}

/// Read I/N, of 1 <= I <= N; return false for anything else.
static bool readPart(const std::string &value, Options &options) {
  char end;
  return std::sscanf(value.c_str(), "%d/%d%c", &options.part, &options.parts, &end) == 2 &&
         options.part >= 1 && options.part <= options.parts;
}

/// Reads the arguments; prints what is wrong with them.
static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string text = argv[i];
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals),
                value = equals == std::string::npos ? "" : text.substr(equals + 1);
    auto number = [&](int &place, int most, int least = 1) {
      char *end;
      long parsed = std::strtol(value.c_str(), &end, 10);
      bool good = !value.empty() && !*end && parsed >= least && parsed <= most;
      if (good)
        place = static_cast<int>(parsed);
      else
        std::fprintf(stderr, "fa-test-gpu: %s takes %d to %d, got '%s'\n", name.c_str(), least,
                     most, value.c_str());
      return good;
    };
    bool flag = equals == std::string::npos;
    if (name == "--device" && !flag) {
      options.target.device = value;
      if (!isDevice(value)) {
        std::fprintf(stderr, "fa-test-gpu: unknown device '%s': expected cpu, cuda or cuda:N\n",
                     value.c_str());
        return false;
      }
    } else if (name == "--target" && !flag)
      options.target.code = value;
    else if (name == "--filter" && !flag)
      options.filter = value;
    else if (name == "--threads" && !flag) {
      if (!number(options.threads, 256))
        return false;
    } else if (name == "--repeats" && !flag) {
      if (!number(options.target.repeats, 100000))
        return false;
    } else if (name == "--timeout" && !flag) {
      if (!number(options.timeout, 86400))
        return false;
    } else if (name == "--seed" && !flag) {
      if (!number(options.seed, 1000000000, 0))
        return false;
    } else if (name == "--seconds" && !flag) {
      if (!number(options.seconds, 86400))
        return false;
    } else if (name == "--from" && !flag) {
      if (!number(options.from, 1000000000))
        return false;
    } else if (name == "--part" && !flag) {
      if (!readPart(value, options)) {
        std::fprintf(stderr, "fa-test-gpu: --part takes I/N, 1 <= I <= N, got '%s'\n",
                     value.c_str());
        return false;
      }
    } else if (text == "--full")
      options.target.full = true;
    else if (text == "--list")
      options.list = true;
    else if (text == "--verbose")
      options.verbose = true;
    else if (text == "--require-device")
      options.requireDevice = true;
    else {
      std::fprintf(stderr, "fa-test-gpu: unknown option '%s'; --help lists them\n", argv[i]);
      return false;
    }
  }
  return true;
}

int main(int argc, char **argv) {
  Options options;
  options.threads = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 16);
  if (argc == 2 && std::string(argv[1]) == "--help") {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (!parse(argc, argv, options))
    return 2;
  std::vector<Test> all, tests;
  // The long ones first, so that none is alone at the end.
  addLarge(all);
  addRuntime(all);
  addGraph(all);
  addTiers(all);
  addWorkspace(all);
  addMath(all);
  addSpecial(all, options.seed);
  addData(all);
  addSequences(all);
  addTiles(all);
  addLeaveOut(all);
  addBackward(all);
  addMatrix(all, options.target.full);
  // Those that run alone come last.
  int matching = 0;
  for (bool alone : {false, true})
    for (Test &test : all)
      if (test.alone == alone && matches(test.name, options.filter) &&
          matching++ % options.parts == options.part - 1)
        tests.push_back(std::move(test));
  if (tests.empty()) {
    std::fprintf(stderr, "fa-test-gpu: no test matches '%s'; --list prints their names\n",
                 options.filter.c_str());
    return 2;
  }
  if (static_cast<size_t>(options.from) > tests.size()) {
    std::fprintf(stderr, "fa-test-gpu: --from=%d lies behind the last of %zu tests\n", options.from,
                 tests.size());
    return 2;
  }
  tests.erase(tests.begin(), tests.begin() + options.from - 1);
  if (options.list) {
    for (const Test &test : tests)
      std::printf("%s\n", test.name.c_str());
    return 0;
  }
  fa_device *device;
  if (llvm::Error missing =
          mlir::fa::takeError(fa_device_open(options.target.device.c_str(), &device))) {
    std::printf("skipped %zu: %s\n0 passed, %d failed, %zu skipped\n", tests.size(),
                llvm::toString(std::move(missing)).c_str(), options.requireDevice ? 1 : 0,
                tests.size());
    return options.requireDevice ? 1 : 0;
  }
  fa_device_info info = fa_device_get_info(device);
  if (options.target.isCPU())
    std::printf("%zu tests on the CPU\n", tests.size());
  else
    std::printf("%zu tests on %s (compute capability %d.%d, driver for CUDA %d.%d)\n", tests.size(),
                info.name, info.major, info.minor, info.driver_version / 1000,
                info.driver_version % 1000 / 10);
  std::fflush(stdout);
  int failed = Runner(tests, options).run();
  fa_device_close(device);
  return failed ? 1 : 0;
}
