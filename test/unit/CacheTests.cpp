//===- CacheTests.cpp - compiled programs are found again, and are right -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `Cache.SurvivesThreadsAndDamage` is small here; on demand
//
//   FA_STRESS_SPECS=200 FA_STRESS_THREADS=64 CacheTests --gtest_filter='*Survives*'
//
//===----------------------------------------------------------------------===//

#include "ApiAttention.h"
#include <atomic>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <link.h>
#include <signal.h>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace fa::test;
namespace fs = std::filesystem;

namespace {

/// A spec by number; the lambdas are called on numbers, too.
struct Numbered {
  int64_t window, block, sink, dim;
  float slope, cap;

  explicit Numbered(int number)
      : window(3 + number % 17), block(2 + number / 17 % 11), sink(number / 187),
        dim(number % 3 == 0 ? 16 : 32), slope(0.01f * float(number % 7)),
        cap(2.0f + float(number % 5)) {}

  auto mask() const {
    return [*this](auto x) {
      return x.j <= x.i + x.sk - x.sq &&
             (x.i + x.sk - x.sq - x.j < window || x.j % block == 0 || x.j < sink);
    };
  }
  double score(double s, Place x) const {
    s += double(slope) * double(x.j - x.i);
    return cap * s / (1 + std::fabs(s));
  }
  fa::Attention spec() const {
    fa::Attention spec;
    spec.headDim = dim;
    spec.dtype = fa::f32;
    spec.mask = mask();
    spec.score = [*this](fa::Score s, auto x) {
      fa::Float t = s + slope * (x.j - x.i);
      return cap * t / (1 + abs(t));
    };
    return spec;
  }
};

/// Compiles from text of a name, under which memory does not know it, and runs it;
/// the largest error, or what went wrong.
std::string run(int number, const std::string &name = "attention") {
  Numbered numbered(number);
  auto text = fa::toMLIR(numbered.spec());
  fa_compile_options options = fa_compile_options_default();
  options.source_name = name.c_str();
  options.threads = 1;
  fa_program *program;
  if (fa::Error failed = fa::Error(fa_compile(text->data(), text->size(), &options, &program)))
    return failed.message();
  fa::Kernel kernel(program, {}, /*lse=*/true, /*dropout=*/false);
  Problem problem(1, 2, 1, 17, 33, numbered.dim, number);
  if (fa::Error failed = kernel.forward(nullptr, problem.forward()))
    return failed.message();
  double error =
      problem.error(numbered.mask(), [&](double s, Place x) { return numbered.score(s, x); });
  return error < 1e-5 ? ""
                      : "spec " + std::to_string(number) + " is wrong by " + std::to_string(error);
}

std::string freshName() {
  static std::atomic<int> count{0};
  return "name" + std::to_string(count++);
}

/// A number out of fa_cache_info: the one before `word`.
int count(const std::string &word) {
  std::istringstream info(fa_cache_info());
  std::string last, next;
  while (info >> next) {
    if (next.rfind(word, 0) == 0)
      return std::atoi(last.c_str());
    // "found in memory", "on disk": the number stands before those words.
    if (next != "found" && next != "in" && next != "on")
      last = next;
  }
  return -1;
}

struct Cache : testing::Test {
  Cache() {
    char name[] = "/tmp/fa-cache-XXXXXX";
    folder = mkdtemp(name);
    setenv("FA_CACHE_DIR", folder.c_str(), 1);
    unsetenv("FA_CACHE_SIZE");
  }
  ~Cache() override {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
    setenv("FA_CACHE_DIR", "", 1);
  }
  std::vector<fs::path> entries() const {
    std::vector<fs::path> files;
    for (auto &file : fs::directory_iterator(folder))
      files.push_back(file.path());
    return files;
  }
  std::string folder;
};

std::string read(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const fs::path &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

} // namespace

TEST_F(Cache, FindsInMemoryAndOnDisk) {
  auto first = fa::compile(Numbered(1).spec()), second = fa::compile(Numbered(1).spec());
  ASSERT_TRUE(first && second) << first.error();
  EXPECT_EQ(first->program(), second->program());
  EXPECT_EQ(entries().size(), 1u);
  int compiled = count("compiled"), disk = count("disk");
  EXPECT_EQ(run(1, freshName()), "");
  EXPECT_EQ(count("compiled"), compiled);
  EXPECT_EQ(count("disk"), disk + 1);
  // Other spellings of the same program are the same entry.
  auto text = fa::toMLIR(Numbered(1).spec());
  std::string spaced = "// a comment\n" + *text + "\n\n";
  auto third = fa::compile(spaced);
  ASSERT_TRUE(third) << third.error();
  EXPECT_EQ(count("compiled"), compiled);
  EXPECT_EQ(count("disk"), disk + 2);
}

TEST_F(Cache, MakesDamagedEntriesAgain) {
  ASSERT_EQ(run(2, freshName()), "");
  ASSERT_EQ(run(3, freshName()), "");
  ASSERT_EQ(entries().size(), 2u);
  fs::path path = entries()[0], other = entries()[1];
  const std::string good = read(path), foreign = read(other);
  std::vector<std::string> bad = {"",
                                  "x",
                                  good.substr(0, 31),
                                  good.substr(0, good.size() / 2),
                                  good.substr(0, good.size() - 1),
                                  good + "x",
                                  foreign};
  for (size_t at :
       {size_t(0), size_t(9), size_t(25), size_t(40), good.size() / 2, good.size() - 1}) {
    bad.push_back(good);
    bad.back()[at] ^= 1 << (at % 8);
  }
  for (const std::string &bytes : bad) {
    write(path, bytes);
    int compiled = count("compiled");
    EXPECT_EQ(run(2, freshName()), "");
    EXPECT_EQ(run(3, freshName()), "");
    EXPECT_EQ(count("compiled"), compiled + 1) << bytes.size();
    EXPECT_EQ(read(path), good);
  }
}

TEST_F(Cache, StaysWithinItsSizeAndOff) {
  setenv("FA_CACHE_SIZE", "0", 1);
  EXPECT_EQ(run(4, freshName()), "");
  EXPECT_EQ(entries().size(), 0u);
  unsetenv("FA_CACHE_SIZE");
  for (const char *place : {"", "/proc/no/such/folder"}) {
    setenv("FA_CACHE_DIR", place, 1);
    EXPECT_EQ(run(4, freshName()), "");
  }
  EXPECT_EQ(entries().size(), 0u);
}

TEST_F(Cache, CompilesOnceForManyThreads) {
  int compiled = count("compiled");
  std::vector<std::thread> threads;
  std::vector<std::string> problems(16);
  for (size_t i = 0; i < problems.size(); ++i)
    threads.emplace_back([&, i] { problems[i] = run(5); });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &problem : problems)
    EXPECT_EQ(problem, "");
  EXPECT_EQ(count("compiled"), compiled + 1);
  // A failure is told to all, and not kept.
  for (int i = 0; i < 2; ++i) {
    auto wrong = fa::compile(std::string_view("func.func @x("));
    EXPECT_FALSE(wrong);
  }
}

//===----------------------------------------------------------------------===//
// Many threads of many processes, some of them killed, on entries that are damaged
//===----------------------------------------------------------------------===//

static int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

/// What each process does: every thread asks for every spec, from another on.
TEST(CacheProcess, DISABLED_Child) {
  int specs = setting("FA_STRESS_SPECS", 6), count = setting("FA_STRESS_THREADS", 16);
  std::vector<std::string> problems(count);
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < specs && problems[t].empty(); ++i)
        problems[t] = run((i + t * 7) % specs);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &problem : problems)
    EXPECT_EQ(problem, "");
}

static std::string libraryPath() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *result) {
        if (std::string name = info->dlpi_name; name.find("libfa.so") != std::string::npos)
          *static_cast<std::string *>(result) = name;
        return 0;
      },
      &path);
  return path;
}

static pid_t start(const std::string &libraries) {
  pid_t child = fork();
  if (child == 0) {
    if (!libraries.empty())
      setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
    execl("/proc/self/exe", "CacheTests", "--gtest_filter=CacheProcess.DISABLED_Child",
          "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
    _exit(127);
  }
  return child;
}

TEST_F(Cache, SurvivesThreadsAndDamage) {
  // A second build: the same library under another build id.
  std::string library = libraryPath(), bytes = read(library);
  const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
  size_t at = bytes.find(std::string(note, sizeof note));
  ASSERT_NE(at, std::string::npos) << library;
  bytes[at + sizeof note] ^= 1;
  fs::path other = fs::path(folder + "-other");
  fs::create_directory(other);
  write(other / "libfa.so", bytes);

  unsigned seed = 1;
  auto draw = [&](unsigned below) { return (seed = seed * 1103515245 + 12345) / 65536 % below; };
  for (int round = 0; round < 3; ++round) {
    std::vector<pid_t> children = {start(""), start(other.string()), start("")};
    // The last one is killed at some time, perhaps while it writes.
    bool killed = false;
    std::vector<bool> ended(children.size());
    for (size_t left = children.size(); left > 0;) {
      usleep(20000);
      std::error_code ignored;
      std::vector<fs::path> files;
      for (auto &file : fs::directory_iterator(folder, ignored))
        files.push_back(file.path());
      if (!files.empty()) {
        const fs::path &file = files[draw(files.size())];
        std::string entry = read(file);
        if (draw(2) && !entry.empty())
          fs::resize_file(file, draw(entry.size()), ignored);
        else if (!entry.empty()) {
          // In place, as a disk would: not what a rename could make whole.
          std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
          size_t where = draw(entry.size());
          stream.seekp(std::streamoff(where));
          stream.put(char(entry[where] ^ (1 << draw(8))));
        }
      }
      if (!killed && draw(20) == 0)
        killed = kill(children.back(), SIGKILL) == 0;
      for (size_t i = 0; i < children.size(); ++i) {
        int status;
        if (ended[i] || waitpid(children[i], &status, WNOHANG) != children[i])
          continue;
        ended[i] = true;
        --left;
        bool right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        bool told = killed && i + 1 == children.size() && WIFSIGNALED(status) &&
                    WTERMSIG(status) == SIGKILL;
        EXPECT_TRUE(right || told) << "process " << i << " of round " << round << ": " << status;
      }
    }
  }
  std::error_code ignored;
  fs::remove_all(other, ignored);
}
