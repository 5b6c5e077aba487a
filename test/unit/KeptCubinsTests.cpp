//===- KeptCubinsTests.cpp - what ptxas makes is found at the next start -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Against libfa.so, a stand-in for the driver, and for ptxas a script whose cubins
// the stand-in reads. $FA_FAKE_PTXAS says what it does instead.
//
//===----------------------------------------------------------------------===//

#include "InChild.h"
#include "PtxasFixture.h"
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <thread>

using namespace fa::test;
using mlir::fa::test::inChild;

TEST_F(KeptCubins, AreFoundAtTheNextStart) {
  std::vector<int> open;
  for (int i = 0; i < 20; ++i)
    open.push_back(dup(0));
  EXPECT_EQ(start(), kCold);
  EXPECT_EQ(entries().size(), 1u + kImages);
  EXPECT_EQ(start(), kKept);
  EXPECT_EQ(start(), kKept);
  EXPECT_EQ(explained(), "");
  // What this process has open is no business of ptxas.
  EXPECT_LT(std::stoi(read(tools + "/files")), 10);
  for (int file : open)
    close(file);
}

/// Manifests of all that bounds variants by are read back: a mean length of sequences in a row, and
/// groups of query heads.
TEST_F(KeptCubins, AreOfGradientsOfSequences) {
  setenv("FA_PTXAS", "", 1);
  for (bool inRow : {true, false}) {
    SCOPED_TRACE(inRow);
    std::string type = inRow ? "tensor<?x?x64xbf16>" : "tensor<?x?x?x64xbf16>",
                rows = inRow ? "tensor<?x?xf32>" : "tensor<?x?x?xf32>",
                text = "func.func @f(%q: " + type + " {fa.name = \"q\"}, %k: " + type +
                       " {fa.name = \"k\"}, %v: " + type + " {fa.name = \"v\"}";
    if (inRow)
      text += ", %s: tensor<?xi32> {fa.name = \"s\", fa.dims = [\"B+1\"]}";
    text += ") -> (" + type + " {fa.name = \"o\"}, " + rows + " {fa.name = \"lse\"}) {\n";
    text += "  %o, %lse = fa.attention query(%q) key(%k) value(%v) ";
    if (inRow)
      text += "sequences(query_starts(%s) key_starts(%s)) ";
    text += ": (" + type + ", " + type + ", " + type;
    if (inRow)
      text += ", tensor<?xi32>, tensor<?xi32>";
    text += ") -> (" + type + ", " + rows + ")\n";
    text += "  return %o, %lse : " + type + ", " + rows + "\n}";
    for (bool again : {false, true}) {
      int compiled = count("compiled"), disk = count("disk");
      fa_compile_options options = makeOptions();
      options.backward = 1;
      fa_program *program = nullptr;
      ASSERT_EQ(take(fa_compile(text.data(), text.size(), &options, &program)), "");
      EXPECT_EQ(take(fa_program_wait(program)), "");
      fa_program_free(program);
      EXPECT_EQ(count("compiled"), compiled + !again);
      EXPECT_EQ(count("disk"), disk + again);
    }
  }
}

TEST_F(KeptCubins, ArePTXWhereTheDriverRefusesThem) {
  EXPECT_EQ(start(80), kCold);
  for (const char *setting : {"cubin=209", "cubin=209,lazy=1"}) {
    setenv("FA_FAKE_CUDA", setting, 1);
    auto loaded = fake<int()>("fakeLibraries");
    int before = loaded();
    Start refused = start(80);
    EXPECT_EQ(refused.compiled, kImages);
    EXPECT_EQ(refused.runs, 0);
    // None of them stays loaded.
    EXPECT_EQ(loaded() - before, kImages);
    EXPECT_EQ(entries().size(), 1u + kImages);
  }
  EXPECT_NE(explained(80).find("the driver refuses the cubin that is kept: "), std::string::npos)
      << explained(80);
  EXPECT_NE(explained(80).find("CUDA_ERROR_NO_BINARY_FOR_GPU"), std::string::npos);
  EXPECT_NE(explained(80).find("; name a ptxas that is no newer than the driver in FA_PTXAS"),
            std::string::npos);
  unsetenv("FA_FAKE_CUDA");
  EXPECT_EQ(start(80), kKept);
}

TEST_F(KeptCubins, AreMadeAgainWhereDamaged) {
  EXPECT_EQ(start(), kCold);
  std::vector<fs::path> paths;
  for (const fs::path &path : entries())
    if (read(path).find("cubin ") < 40)
      paths.push_back(path);
  ASSERT_EQ(paths.size(), size_t(kImages));
  const std::string good = read(paths[0]), foreign = read(paths[1]);
  std::string flipped = good;
  flipped[good.size() - 9] ^= 4;
  for (const std::string &bad :
       {std::string(), good.substr(0, good.size() - 1), flipped, foreign, good + "x"}) {
    overwrite(paths[0], bad);
    EXPECT_EQ(start(), (Start{1, kImages - 1, 1}));
    EXPECT_EQ(read(paths[0]), good);
    EXPECT_EQ(start(), kKept);
  }
}

TEST_F(KeptCubins, AreNotMadeWhereThatIsOff) {
  setenv("FA_PTXAS", "", 1);
  EXPECT_EQ(start(), kCompiles);
  EXPECT_EQ(start(), kReads);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(explained(), "FA_PTXAS is empty, so no ptxas is used; unset it, or name one");
  setenv("FA_PTXAS", "/nowhere/ptxas", 1);
  EXPECT_EQ(start(), kReads);
  EXPECT_EQ(explained(),
            "FA_PTXAS names '/nowhere/ptxas', which is no program; name one, or unset it");
  // Without a folder there is nothing to keep them in.
  setenv("FA_PTXAS", (tools + "/ptxas").c_str(), 1);
  setenv("FA_CACHE_DIR", "", 1);
  EXPECT_EQ(start(), kCompiles);
  EXPECT_EQ(explained(), "the disk cache is off; set FA_CACHE_DIR to a folder that stays");
  // Those that are there are found by the ptxas that made them.
  setenv("FA_CACHE_DIR", folder.c_str(), 1);
  EXPECT_EQ(start(), kAssembles);
  setenv("FA_PTXAS", "", 1);
  EXPECT_EQ(start(), kReads);
}

TEST_F(KeptCubins, AreNotMadeWhereNothingIsKept) {
  setenv("FA_CACHE_SIZE", "0", 1);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(start(), kCompiles);
    EXPECT_EQ(explained(), "the disk cache keeps nothing: FA_CACHE_SIZE is 0; unset it, or set it "
                           "to a number of MiB");
  }
  unsetenv("FA_CACHE_SIZE");
  const uid_t nobody = 65534; // root may write anywhere
  fs::permissions(tools, fs::perms::all);
  fs::permissions(tools + "/ptxas", fs::perms::all);
  ASSERT_EQ(chmod(folder.c_str(), 0555), 0);
  ASSERT_TRUE(geteuid() != 0 || seteuid(nobody) == 0);
  EXPECT_EQ(start(), kCompiles);
  EXPECT_EQ(explained(), "the disk cache keeps nothing: '" + folder +
                             "' cannot be written: Permission denied; set FA_CACHE_DIR to a folder "
                             "that can be written");
  ASSERT_TRUE(getuid() != 0 || seteuid(0) == 0);
  ASSERT_EQ(chmod(folder.c_str(), 0755), 0);
  // Where that shows only when something is written.
  std::string full = "the disk cache keeps nothing in '" + folder +
                     "': File too large; free space there, or set FA_CACHE_DIR to another folder";
  {
    FileLimit limit(1000);
    EXPECT_EQ(start(), kCompiles);
    EXPECT_EQ(explained(), full);
  }
  EXPECT_EQ(entries().size(), 0u);
  EXPECT_EQ(start(), kCold);
  EXPECT_EQ(start(), kKept);
}

// A folder in place of an entry cannot be replaced by it.
TEST_F(KeptCubins, AreNotMadeAfterOneThatIsNotKept) {
  EXPECT_EQ(start(), kCold);
  for (const fs::path &path : entries())
    if (read(path).find("cubin ") < 40) {
      fs::remove(path);
      fs::create_directories(path / "in");
    }
  EXPECT_EQ(start(), (Start{kImages, 0, 1}));
  EXPECT_EQ(explained(), "the disk cache keeps nothing in '" + folder +
                             "': Is a directory; free space there, or set FA_CACHE_DIR to another "
                             "folder");
}

TEST_F(KeptCubins, NeedTemporaryFiles) {
  const std::string remedy = "; free space there, or name another folder in TMPDIR";
  setenv("TMPDIR", "/nowhere", 1);
  EXPECT_EQ(start(), kCompiles);
  std::string said = explained();
  EXPECT_EQ(said.rfind("cannot make a temporary file, '/nowhere/fa-", 0), 0u) << said;
  EXPECT_NE(said.find("': No such file or directory" + remedy), std::string::npos) << said;
  unsetenv("TMPDIR");
  {
    FileLimit limit(4096);
    EXPECT_EQ(start(), kReads);
    said = explained();
  }
  EXPECT_EQ(said.rfind("cannot write '", 0), 0u) << said;
  EXPECT_NE(said.find("': File too large" + remedy), std::string::npos) << said;
  EXPECT_EQ(start(), kAssembles);
}

TEST_F(KeptCubins, DoNotWaitForAPtxasThatHangs) {
  setenv("FA_FAKE_PTXAS_VERSION", "hang", 1);
  auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(start(), kCompiles);
  EXPECT_EQ(start(), kReads);
  EXPECT_EQ(withoutFolder(explained(), tools),
            "DIR/ptxas took more than 5 s to tell its version; name a ptxas of CUDA 12.3 to 12.x "
            "in FA_PTXAS");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

TEST_F(KeptCubins, AreOfAPtxasThatServes) {
  // The stand-in's driver is of CUDA 12.4; PTX for sm_90a is read from 12.3 on.
  for (auto [version, problem] : {std::pair("12.2", "DIR/ptxas is of CUDA 12.2"),
                                  {"13.0", "DIR/ptxas is of CUDA 13.0"},
                                  {"9223372036854775807.0", "DIR/ptxas tells no version"},
                                  {"99999999999999999999.0", "DIR/ptxas tells no version"},
                                  {"12.-1", "DIR/ptxas tells no version"},
                                  {"nonsense", "DIR/ptxas tells no version"}}) {
    setenv("FA_FAKE_PTXAS_VERSION", version, 1);
    // Each is asked once.
    fs::remove(tools + "/ptxas");
    addPtxas("ptxas");
    Start expected = entries().empty() ? kCompiles : kReads;
    EXPECT_EQ(start(), expected);
    EXPECT_EQ(withoutFolder(explained(), tools),
              std::string(problem) + "; name a ptxas of CUDA 12.3 to 12.x in FA_PTXAS");
  }
  // Of several, the first one that serves.
  unsetenv("FA_PTXAS");
  std::string path = std::getenv("PATH");
  fs::create_directories(tools + "/cuda/bin");
  std::string old = tools + "/old";
  fs::create_directory(old);
  overwrite(old + "/ptxas", "#!/bin/sh\necho release 11.8,\n");
  fs::permissions(old + "/ptxas", fs::perms::owner_all);
  unsetenv("FA_FAKE_PTXAS_VERSION");
  addPtxas("cuda/bin/ptxas");
  setenv("PATH", (old + ":" + path).c_str(), 1);
  setenv("CUDA_HOME", (tools + "/cuda").c_str(), 1);
  EXPECT_EQ(start(), kReads);
  EXPECT_EQ(lines("cuda/bin/runs"), kImages);
  EXPECT_EQ(start(), kKept);
  setenv("PATH", path.c_str(), 1);
  unsetenv("CUDA_HOME");
}

TEST_F(KeptCubins, RememberWhatPtxasRefuses) {
  int64_t dim = 96;
  for (auto [what, problem] :
       {std::pair("refuse", "DIR/ptxas cannot assemble for sm_90a: "),
        {"crash", "DIR/ptxas was ended by signal 11"},
        {"warn", "DIR/ptxas warns: C7510 Potential Performance Loss: wgmma is serialized"}}) {
    SCOPED_TRACE(what);
    dim += 16;
    setenv("FA_FAKE_PTXAS", what, 1);
    EXPECT_EQ(start(dim), kCold);
    EXPECT_EQ(start(dim), kReads);
    std::string said = withoutFolder(explained(dim), tools);
    EXPECT_EQ(said.substr(0, std::string(problem).size()), problem);
    EXPECT_NE(said.find("; name another ptxas in FA_PTXAS"), std::string::npos) << said;
  }
  // Another ptxas may do better.
  unsetenv("FA_FAKE_PTXAS");
  fs::last_write_time(tools + "/ptxas", fs::file_time_type::clock::now() - std::chrono::hours(1));
  EXPECT_EQ(start(dim), kAssembles);
  EXPECT_EQ(start(dim), kKept);
}

TEST_F(KeptCubins, AreTriedAgainAfterWhatPasses) {
  for (const char *what : {"full", "nothing", "killed"}) {
    setenv("FA_FAKE_PTXAS", what, 1);
    Start expected = entries().empty() ? kCold : kAssembles;
    EXPECT_EQ(start(), expected);
    EXPECT_EQ(entries().size(), 1u);
  }
  // Nobody sees how it ends.
  unsetenv("FA_FAKE_PTXAS");
  signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(start().compiled, kImages);
  signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(entries().size(), 1u);
  EXPECT_EQ(start(), kAssembles);
  EXPECT_EQ(start(), kKept);
}

/// Return the two processes of a stand-in that hangs, once there are.
static std::pair<pid_t, pid_t> waitForHanging(const std::string &tools) {
  std::pair<pid_t, pid_t> both;
  for (int i = 0; i < 3000; ++i) {
    std::istringstream text(read(tools + "/pid"));
    if (text >> both.first >> both.second)
      return both;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return {0, 0};
}

/// Return whether a process runs on; one that ended and that nobody waited for does not, and one
/// that was killed takes a moment to end.
static bool isRunning(pid_t pid) {
  for (int tries = 0; tries < 200; ++tries) {
    std::string status = read("/proc/" + std::to_string(pid) + "/stat");
    size_t at = status.rfind(") ");
    if (at == std::string::npos || status[at + 2] == 'Z')
      return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

TEST_F(KeptCubins, EndWithTheProcess) {
  setenv("FA_FAKE_PTXAS", "hang", 1);
  // A process of its own, whose memory of programs keeps this one until it exits.
  pid_t child = fork();
  if (child == 0) {
    compile();
    std::exit(waitForHanging(tools).first ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  auto [script, sleep] = waitForHanging(tools);
  ASSERT_GT(script, 0);
  EXPECT_FALSE(isRunning(script));
  EXPECT_FALSE(isRunning(sleep));
  EXPECT_EQ(entries().size(), 1u);
  // What was not made is made by the next one.
  unsetenv("FA_FAKE_PTXAS");
  fs::remove(tools + "/running");
  EXPECT_EQ(start(), kAssembles);
  EXPECT_EQ(waitpid(-1, &status, WNOHANG), -1) << "a child is left";
}

//===----------------------------------------------------------------------===//
// Children, into which threads do not come along
//===----------------------------------------------------------------------===//

/// Compile a program under a name that others may use, too; null where that fails.
static fa_program *compileAs(const std::string &name) {
  std::string text = KeptCubins::toText(128);
  fa_compile_options options = KeptCubins::makeOptions();
  options.source_name = name.c_str();
  fa_program *program = nullptr;
  fa_error_free(fa_compile(text.data(), text.size(), &options, &program));
  return program;
}

static bool canCompile(const std::string &name) {
  fa_program *program = compileAs(name);
  return program && take(fa_program_wait(program)).empty();
}

TEST_F(KeptCubins, ChildrenCompileWhatTheirParentDoes) {
  setenv("FA_PTXAS", "", 1);
  EXPECT_EQ(start(), kCompiles);
  setenv("FA_FAKE_CUDA", "load=1000", 1);
  const std::string name = freshName();
  std::thread compiling([&] { EXPECT_TRUE(canCompile(name)); });
  // Others wait for it.
  std::thread waiting([&] { EXPECT_TRUE(canCompile(name)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  setenv("FA_FAKE_CUDA", "load=100", 1);
  auto compileTwice = [&] {
    std::thread beside([&] { canCompile(name); });
    bool done = canCompile(name);
    beside.join();
    return done && canCompile(freshName()) ? 0 : 1;
  };
  EXPECT_EQ(inChild(compileTwice), 0);
  compiling.join();
  waiting.join();
}

TEST_F(KeptCubins, ChildrenCompileWhatTheirParentLoads) {
  setenv("FA_PTXAS", "", 1);
  EXPECT_EQ(start(), kCompiles);
  setenv("FA_FAKE_CUDA", "load=500", 1);
  const std::string name = freshName();
  fa_program *program = compileAs(name);
  ASSERT_NE(program, nullptr);
  EXPECT_EQ(inChild([&] {
              bool told = take(fa_program_wait(program)) ==
                          "the process was forked while the program was loaded; compile in the "
                          "child";
              return !told ? 1 : !canCompile(name) ? 2 : 0;
            }),
            0);
  EXPECT_EQ(take(fa_program_wait(program)), "");
  // What is loaded stays.
  EXPECT_EQ(inChild([&] { return compileAs(name) == program ? 0 : 1; }), 0);
  fa_program_free(program);
}

TEST_F(KeptCubins, ChildrenTakeNoTurnOfTheirParent) {
  setenv("FA_FAKE_PTXAS", "hang", 1);
  // It ends what hangs.
  pid_t parent = fork();
  if (parent == 0) {
    compile();
    bool hangs = waitForHanging(tools).first > 0;
    unsetenv("FA_FAKE_PTXAS");
    int status = inChild([] { return take(fa_program_wait(compile(136))).empty() ? 0 : 1; });
    std::exit(!hangs ? 2 : status ? 3 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(parent, &status, 0), parent);
  EXPECT_EQ(status, 0);
  fs::remove(tools + "/running");
  EXPECT_EQ(start(136), kKept);
}

TEST_F(KeptCubins, EndWithTheirProgram) {
  setenv("FA_FAKE_PTXAS", "hang", 1);
  // Memory keeps no more than 512 programs; the oldest goes, and waits for no ptxas.
  auto begin = std::chrono::steady_clock::now();
  fa_program_free(compile());
  auto [script, sleep] = waitForHanging(tools);
  ASSERT_GT(script, 0);
  for (int i = 0; i < 515; ++i) {
    fa_compile_options options = makeOptions();
    options.target = "cpu";
    fa_program *program = nullptr;
    std::string simple = toText(16);
    ASSERT_EQ(take(fa_compile(simple.data(), simple.size(), &options, &program)), "");
    fa_program_free(program);
  }
  EXPECT_FALSE(isRunning(script));
  EXPECT_FALSE(isRunning(sleep));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  fs::remove(tools + "/running");
}

TEST_F(KeptCubins, AreMadeOneAtATime) {
  std::vector<fa_program *> programs;
  for (int64_t dim : {128, 136, 144, 152})
    programs.push_back(compile(dim));
  for (fa_program *program : programs) {
    EXPECT_EQ(take(fa_program_wait(program)), "");
    fa_program_free(program);
  }
  EXPECT_EQ(runs(), 4 * kImages);
  EXPECT_EQ(lines("overlaps"), 0);
}

// With the assembler of CUDA, where there is one.
TEST_F(KeptCubins, AreThoseOfPtxas) {
  unsetenv("FA_PTXAS");
  FILE *pipe = popen("ptxas --version 2> /dev/null", "r");
  std::string said(4096, '\0');
  said.resize(fread(said.data(), 1, said.size(), pipe));
  pclose(pipe);
  size_t at = said.find("release ");
  if (at == std::string::npos)
    GTEST_SKIP() << "no ptxas on PATH";
  // A driver's version is asked for once in a process: in one of its own.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  int major = std::atoi(said.c_str() + at + 8);
  auto twice = [&] {
    setenv("FA_FAKE_CUDA", ("version=" + std::to_string(major) + "090").c_str(), 1);
    unsetenv("FA_PTXAS");
    Start cold = start(), kept = start();
    std::cerr << cold << ", then " << kept;
    std::exit(0);
  };
  EXPECT_EXIT(twice(), testing::ExitedWithCode(0),
              "4 compiled, 0 cubins, 0 runs, then 0 compiled, 3 cubins");
}
