//===- CacheProcessTests.cpp - a cache of many processes, some killed -===//
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

#include "CacheFixture.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>

using namespace fa::test;

//===----------------------------------------------------------------------===//
// What happens to a process that writes an entry
//===----------------------------------------------------------------------===//

/// Set for processes that are started only.
static const char *const fault = std::getenv("FA_TEST_FAULT");

static bool hasFault(const char *name) { return fault && std::strcmp(fault, name) == 0; }

/// libfa.so calls these instead of the C library's.
extern "C" ssize_t write(int file, const void *data, size_t size) {
  if (fault) {
    char path[512] = {};
    std::string link = "/proc/self/fd/" + std::to_string(file);
    bool unfinished = readlink(link.c_str(), path, sizeof path - 1) > 0 &&
                      std::string(path).find(".fac.") != std::string::npos;
    if (unfinished && hasFault("short"))
      size = std::min(size, size_t(1000));
    if (unfinished && hasFault("killed-halfway")) {
      syscall(SYS_write, file, data, size / 2);
      kill(getpid(), SIGKILL);
    }
    static std::atomic<bool> isFull{false};
    if (unfinished && hasFault("full")) {
      if (isFull.exchange(true)) {
        errno = ENOSPC;
        return -1;
      }
      size /= 3;
    }
  }
  return syscall(SYS_write, file, data, size);
}

extern "C" int rename(const char *from, const char *to) noexcept {
  if (hasFault("killed-before-rename"))
    kill(getpid(), SIGKILL);
  if (hasFault("unnamed")) {
    errno = EACCES;
    return -1;
  }
  int result = renameat(AT_FDCWD, from, AT_FDCWD, to);
  if (hasFault("killed-after-rename"))
    kill(getpid(), SIGKILL);
  return result;
}

/// Starts a process with other settings of the environment.
static pid_t start(const std::vector<std::pair<const char *, std::string>> &settings) {
  pid_t child = fork();
  if (child == 0) {
    for (auto &[name, value] : settings)
      setenv(name, value.c_str(), 1);
    // The child is no shard of the tests.
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "CacheTests", "--gtest_filter=CacheProcess.DISABLED_Child",
          "--gtest_also_run_disabled_tests", "--gtest_brief=1", nullptr);
    _exit(127);
  }
  return child;
}

TEST_F(Cache, EntriesAreWholeWhateverHappensToTheirWriter) {
  ASSERT_EQ(run(0, freshName()), "");
  ASSERT_EQ(entries().size(), 1u);
  const fs::path entry = entries()[0];
  const std::string whole = read(entry);

  enum Left { kNothing, kHalf, kUnfinished, kEntry };
  struct {
    const char *fault;
    bool killed;
    Left left;
  } cases[] = {{"killed-halfway", true, kHalf},       {"killed-before-rename", true, kUnfinished},
               {"killed-after-rename", true, kEntry}, {"full", false, kNothing},
               {"unnamed", false, kNothing},          {"short", false, kEntry}};
  for (auto &[fault, killed, left] : cases) {
    SCOPED_TRACE(fault);
    for (const fs::path &path : entries())
      fs::remove(path);
    pid_t child =
        start({{"FA_TEST_FAULT", fault}, {"FA_STRESS_SPECS", "1"}, {"FA_STRESS_THREADS", "1"}});
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    if (killed)
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
    else
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    ASSERT_EQ(entries().size(), left == kNothing ? 0u : 1u);
    EXPECT_EQ(fs::exists(entry), left == kEntry);
    if (left == kHalf)
      EXPECT_EQ(read(entries()[0]), whole.substr(0, whole.size() / 2));
    else if (left != kNothing)
      EXPECT_EQ(read(entries()[0]), whole);
    // The next one finds what is whole, else makes it.
    int compiled = count("compiled");
    EXPECT_EQ(run(0, freshName()), "");
    EXPECT_EQ(count("compiled"), compiled + (left != kEntry));
    EXPECT_EQ(read(entry), whole);
  }
}

//===----------------------------------------------------------------------===//
// Many threads of many processes, some of them killed, on entries that are damaged
//===----------------------------------------------------------------------===//

static int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

/// Run what each process does: every thread asks for every spec, from another on.
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

TEST_F(Cache, SurvivesThreadsAndDamage) {
  // A second build: the same library under another build id.
  std::string library = libraryPath(), bytes = read(library);
  const char note[] = "\4\0\0\0\24\0\0\0\3\0\0\0GNU";
  size_t at = bytes.find(std::string(note, sizeof note));
  ASSERT_NE(at, std::string::npos) << library;
  bytes[at + sizeof note] ^= 1;
  fs::path other = fs::path(folder + "-other");
  fs::create_directory(other);
  overwrite(other / "libfa.so", bytes);

  unsigned seed = 1;
  auto draw = [&](unsigned below) { return (seed = seed * 1103515245 + 12345) / 65536 % below; };
  // How often each happened; a quick machine takes more rounds until all did.
  int kills = 0, truncations = 0, flips = 0;
  for (int round = 0; round < 3 || (round < 50 && !(kills && truncations && flips)); ++round) {
    std::vector<pid_t> children = {start({}), start({{"LD_LIBRARY_PATH", other.string()}}),
                                   start({})};
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
        if (entry.empty()) {
        } else if (draw(2)) {
          fs::resize_file(file, draw(entry.size()), ignored);
          truncations += !ignored;
        } else {
          // In place, as a disk would: not what a rename could make whole.
          std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
          size_t where = draw(entry.size());
          stream.seekp(std::streamoff(where));
          stream.put(char(entry[where] ^ (1 << draw(8)))).flush();
          flips += stream.good();
        }
      }
      if (!killed && !ended.back() && draw(20) == 0)
        killed = kill(children.back(), SIGKILL) == 0;
      for (size_t i = 0; i < children.size(); ++i) {
        int status;
        if (ended[i] || waitpid(children[i], &status, WNOHANG) != children[i])
          continue;
        ended[i] = true;
        --left;
        bool right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        bool dead = killed && i + 1 == children.size() && WIFSIGNALED(status) &&
                    WTERMSIG(status) == SIGKILL;
        kills += dead;
        EXPECT_TRUE(right || dead) << "process " << i << " of round " << round << ": " << status;
      }
    }
  }
  EXPECT_GT(kills, 0);
  EXPECT_GT(truncations, 0);
  EXPECT_GT(flips, 0);
  std::error_code ignored;
  fs::remove_all(other, ignored);
}
