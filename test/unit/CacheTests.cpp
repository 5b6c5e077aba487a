//===- CacheTests.cpp - compiled programs are found again, and are right -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CacheFixture.h"
#include <algorithm>
#include <chrono>
#include <sys/stat.h>
#include <thread>

using namespace fa::test;

/// Lines of fa_cache_info that hold `word`.
static std::string linesWith(const std::string &word) {
  std::istringstream info(fa_cache_info());
  std::string lines;
  for (std::string line; std::getline(info, line);)
    if (line.find(word) != std::string::npos)
      lines += line + "\n";
  return lines;
}

static void setAge(const fs::path &path, int seconds) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
}

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

TEST_F(Cache, TellsGradientsApart) {
  fa::Attention spec = Numbered(4).spec();
  auto outputs = [](const fa_program *program) {
    std::string names;
    for (size_t i = 0; i < fa_program_num_arguments(program); ++i)
      if (fa_argument_info info = fa_program_argument(program, i); info.kind == FA_OUTPUT)
        names += std::string(info.name) + " ";
    return names;
  };
  fa::BackwardOptions some, flows;
  some.gradients = {"k"};
  flows.dLse = true;
  // The second time from memory.
  for (int time = 0; time < 2; ++time) {
    auto forward = fa::compile(spec);
    auto all = fa::compileBackward(spec), one = fa::compileBackward(spec, {}, some),
         more = fa::compileBackward(spec, {}, flows);
    ASSERT_TRUE(forward && all && one && more) << forward.error() << all.error() << one.error();
    EXPECT_EQ(outputs(forward->program()), "o lse ");
    EXPECT_EQ(outputs(all->program()), "dq dk dv ");
    EXPECT_EQ(outputs(one->program()), "dk ");
    EXPECT_EQ(fa_program_num_arguments(more->program()),
              fa_program_num_arguments(all->program()) + 1);
    EXPECT_EQ(entries().size(), 4u);
  }
  // What memory does not know the disk does.
  int compiled = count("compiled"), disk = count("disk");
  auto text = fa::toMLIR(spec);
  fa_compile_options options = fa_compile_options_default();
  std::string name = freshName();
  options.source_name = name.c_str();
  options.backward = 1;
  options.gradients = "k";
  fa_program *program;
  ASSERT_FALSE(fa::Error(fa_compile(text->data(), text->size(), &options, &program)));
  EXPECT_EQ(outputs(program), "dk ");
  fa_program_free(program);
  EXPECT_EQ(count("compiled"), compiled);
  EXPECT_EQ(count("disk"), disk + 1);
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
    overwrite(path, bytes);
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

TEST_F(Cache, RemovesWhatWasNotUsedForLongest) {
  setenv("FA_CACHE_SIZE", "1", 1);
  std::vector<fs::path> made; // those of the specs 4, 5, 6
  for (int spec : {4, 5, 6}) {
    ASSERT_EQ(run(spec, freshName()), "");
    for (const fs::path &path : entries())
      if (std::find(made.begin(), made.end(), path) == made.end())
        made.push_back(path);
  }
  ASSERT_EQ(made.size(), 3u);
  setAge(made[0], 400);
  setAge(made[1], 300);
  setAge(made[2], 100);
  // The oldest is used, and is no longer that.
  int compiled = count("compiled");
  ASSERT_EQ(run(4, freshName()), "");
  ASSERT_EQ(count("compiled"), compiled);
  // Another, with which all fit but the next: it and what is older than it go.
  fs::path large = folder + "/" + std::string(32, '0') + ".fac";
  uint64_t bytes = 0;
  for (const fs::path &path : made)
    bytes += fs::file_size(path);
  overwrite(large, std::string((1 << 20) - bytes, 'x'));
  setAge(large, 200);
  ASSERT_EQ(run(7, freshName()), "");
  EXPECT_TRUE(fs::exists(made[0]));
  EXPECT_FALSE(fs::exists(made[1]));
  EXPECT_FALSE(fs::exists(large));
  EXPECT_TRUE(fs::exists(made[2]));
  EXPECT_EQ(entries().size(), 3u);
  compiled = count("compiled");
  for (int spec : {4, 6, 7})
    EXPECT_EQ(run(spec, freshName()), "");
  EXPECT_EQ(count("compiled"), compiled);
}

TEST_F(Cache, CountsAndRemovesWhatWasAbandoned) {
  setenv("FA_CACHE_SIZE", "1", 1);
  ASSERT_EQ(run(4, freshName()), "");
  ASSERT_EQ(entries().size(), 1u);
  fs::path entry = entries()[0], abandoned = entry.string() + ".1.0.tmp";
  overwrite(abandoned, std::string(1 << 20, 'x'));
  // Not ours, whatever they are called.
  for (const char *name : {"/mine.tmp", "/mine.fac"}) {
    overwrite(folder + name, "x");
    setAge(folder + name, 100000);
  }
  EXPECT_EQ(linesWith("entries:"), "entries: 1, 1 of this build, 0 damaged, 1 unfinished\n");
  EXPECT_EQ(linesWith("size:"), "size:    " + std::to_string(1024 + (fs::file_size(entry) >> 10)) +
                                    " of at most 1024 KiB\n");
  // Perhaps someone writes it still: entries make room for it.
  ASSERT_EQ(run(5, freshName()), "");
  EXPECT_TRUE(fs::exists(abandoned));
  EXPECT_EQ(linesWith("entries:"), "entries: 0, 0 of this build, 0 damaged, 1 unfinished\n");
  setAge(abandoned, 1000);
  ASSERT_EQ(run(5, freshName()), "");
  EXPECT_FALSE(fs::exists(abandoned));
  EXPECT_EQ(linesWith("entries:"), "entries: 1, 1 of this build, 0 damaged, 0 unfinished\n");
  EXPECT_TRUE(fs::exists(folder + "/mine.tmp"));
  EXPECT_TRUE(fs::exists(folder + "/mine.fac"));
}

TEST_F(Cache, SaysWhatIsWrongWithItsSettings) {
  for (const char *size :
       {"abc", "-1", "+1", "1.5", "1G", " 1", "1099511627777", "99999999999999999999"}) {
    setenv("FA_CACHE_SIZE", size, 1);
    EXPECT_EQ(linesWith("FA_CACHE_SIZE"),
              std::string("FA_CACHE_SIZE is '") + size +
                  "', expected a number of MiB from 0 to 1099511627776; 1024 is taken\n");
    EXPECT_EQ(linesWith("size:"), "size:    0 of at most 1048576 KiB\n");
  }
  for (const char *size : {"", "1", "1099511627776"}) {
    setenv("FA_CACHE_SIZE", size, 1);
    EXPECT_EQ(linesWith("FA_CACHE_SIZE") + linesWith("nothing is kept"), "");
  }
  setenv("FA_CACHE_SIZE", "0", 1);
  EXPECT_EQ(linesWith("nothing"), "nothing is kept: FA_CACHE_SIZE is 0\n");
  unsetenv("FA_CACHE_SIZE");

  std::string file = folder + "/file", link = folder + "/link";
  overwrite(file, "x");
  fs::create_symlink("no-such-place", link);
  struct {
    std::string place, problem;
  } cases[] = {{file, "'" + file + "' is not a folder"},
               {file + "/below/it", "'" + file + "' is not a folder"},
               {link, "'" + link + "' cannot be reached: No such file or directory"}};
  for (auto &[place, problem] : cases) {
    setenv("FA_CACHE_DIR", place.c_str(), 1);
    EXPECT_EQ(linesWith("nothing"), "nothing is kept: " + problem + "\n");
    EXPECT_EQ(linesWith("does not exist"), "");
    EXPECT_EQ(run(4, freshName()), "");
  }
  EXPECT_EQ(read(file), "x");
  for (std::string place : {folder + "/new/one", std::string("new")}) {
    setenv("FA_CACHE_DIR", place.c_str(), 1);
    EXPECT_EQ(linesWith("nothing") + linesWith("not exist"), "the folder does not exist yet\n");
  }
  uid_t nobody = 65534; // root may write anywhere
  setenv("FA_CACHE_DIR", folder.c_str(), 1);
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  ASSERT_TRUE(geteuid() != 0 || seteuid(nobody) == 0);
  EXPECT_EQ(linesWith("nothing"),
            "nothing is kept: '" + folder + "' cannot be written: Permission denied\n");
  ASSERT_TRUE(getuid() != 0 || seteuid(0) == 0);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
}

// The signal that comes with the limit would end the process.
TEST_F(Cache, KeepsNothingAboveTheLimitOfFiles) {
  {
    FileLimit limit(1000);
    EXPECT_EQ(run(5, freshName()), "");
  }
  EXPECT_EQ(entries().size(), 0u);
  // One that the caller blocks and has pending is the caller's.
  sigset_t mine, before;
  sigemptyset(&mine);
  sigaddset(&mine, SIGXFSZ);
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &mine, &before), 0);
  raise(SIGXFSZ);
  {
    FileLimit limit(1000);
    EXPECT_EQ(run(5, freshName()), "");
  }
  const timespec atOnce = {0, 0};
  EXPECT_EQ(sigtimedwait(&mine, nullptr, &atOnce), SIGXFSZ);
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, nullptr), 0);
  EXPECT_EQ(run(5, freshName()), "");
  EXPECT_EQ(entries().size(), 1u);
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
