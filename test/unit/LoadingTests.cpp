//===- LoadingTests.cpp - variants that are loaded later -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/CError.h"
#include "../../runtime/lib/Forks.h"
#include "../../runtime/lib/Program.h"
#include "../../runtime/lib/ProgramCache.h"
#include "FakeLaunch.h"
#include "InChild.h"
#include <chrono>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

constexpr auto kSlow = "load=150";

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.rfind(from);
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// Return the hand-written program, each of its two variants in an image of its own.
fa_program *load(const std::string &second = kFakePTX) {
  std::string manifest = replaced(kFakeManifest, R"("image": 0)", R"("image": 1)");
  manifest = replaced(manifest, R"("images": ["ptx"])", R"("images": ["ptx", "ptx"])");
  fa_image images[] = {{kFakePTX, std::strlen(kFakePTX)}, {second.data(), second.size()}};
  fa_program *program = nullptr;
  EXPECT_EQ(take(fa_program_load(manifest.c_str(), manifest.size(), images, 2, nullptr, nullptr,
                                 &program)),
            "");
  return program;
}

std::string nonsense() { return replaced(kFakePTX, "ret;", "nonsense;"); }

int loaded() { return fake<int()>("fakeLibraries")(); }

/// Says that a stream is being captured, for a scope.
struct Capturing {
  Capturing() { fake<void(bool)>("fakeCapture")(true); }
  ~Capturing() { fake<void(bool)>("fakeCapture")(false); }
};

/// The hand-written program with three variants: of tensors aligned to 16, to 8 and to 4
/// bytes, with the codes of the last two.
struct Three {
  Three(Code second, Code third) {
    ManifestModule module = llvm::cantFail(parseManifest(kFakeManifest));
    program.manifest = module.entries.front();
    std::vector<ManifestVariant> &variants = program.manifest.variants;
    variants.push_back(variants.back());
    variants.back().guards.clear();
    for (unsigned i = 0; i < 3; ++i)
      variants[i].image = i;
    program.cuda = llvm::cantFail(
        cuda::Executor::create(llvm::cantFail(openCUDA("cuda")), program.manifest, module.target,
                               {there, std::move(second), std::move(third)}));
    llvm::cantFail(describeArguments(program));
  }
  static llvm::Expected<std::string> there() { return std::string(kFakePTX); }
  fa_program program;
};

/// These three, the code of the last one still to be made.
struct Unfinished {
  std::promise<std::string> code;
  Three three{Three::there,
              [code = std::shared_future(code.get_future())]() -> llvm::Expected<std::string> {
                if (code.get().empty())
                  return llvm::createStringError("there is no code");
                return code.get();
              }};
  fa_program &program = three.program;
};

/// The hand-written program, the code of whose first variant is still to be made, and a first tier
/// of it: the same kernel by another name.
struct Tiered {
  explicit Tiered(Code last, unsigned image = 0) {
    ManifestModule module = llvm::cantFail(parseManifest(kFakeManifest));
    program.manifest = module.entries.front();
    program.manifest.variants[1].image = 1;
    FirstTier first{program.manifest.variants[0],
                    [] { return replaced(kFakePTX, kFinal, kFirst); }};
    first.variant.image = image;
    first.variant.kernels[0].name = kFirst;
    program.cuda = llvm::cantFail(
        cuda::Executor::create(llvm::cantFail(openCUDA("cuda")), program.manifest, module.target,
                               {std::move(last), Three::there}, std::move(first)));
    llvm::cantFail(describeArguments(program));
  }
  static constexpr const char *kFinal = "fake_scale", *kFirst = "fake_first";
  fa_program program;
};

/// A program whose code is there when the test says so; empty code is an error.
struct Later {
  std::promise<std::string> code;
  Tiered tiered{[code = std::shared_future(code.get_future())]() -> llvm::Expected<std::string> {
    if (code.get().empty())
      return llvm::createStringError("there is no code");
    return code.get();
  }};
  fa_program &program = tiered.program;
};

/// Return the result of a launch at an offset.
std::string launchAt(const fa_program &program, int64_t offset) {
  Launch launch;
  launch.tensors[0].byte_offset = offset;
  return launch.run(&program);
}

} // namespace

TEST_F(CUDA, LoadsTheFirstVariantAndThenTheOthers) {
  Settings slow(kSlow);
  fa_program *program = load();
  EXPECT_EQ(loaded(), 1);
  Launch aligned;
  EXPECT_EQ(aligned.run(program), "");
  // Launches of aligned tensors do not wait.
  EXPECT_EQ(loaded(), 1);
  EXPECT_EQ(launches().find("fake_plain"), std::string::npos);
  Launch shifted;
  shifted.tensors[0].byte_offset = 8;
  EXPECT_EQ(shifted.run(program), "");
  EXPECT_EQ(loaded(), 2);
  EXPECT_NE(launches().find("fake_plain"), std::string::npos);
  EXPECT_EQ(take(fa_program_wait(program)), "");
  fa_program_free(program);
  EXPECT_EQ(loaded(), 0);
}

TEST_F(CUDA, WaitsOnlyForTheVariantThatALaunchNeeds) {
  Unfinished unfinished;
  EXPECT_EQ(launchAt(unfinished.program, 0), "");
  EXPECT_EQ(launchAt(unfinished.program, 8), "");
  EXPECT_EQ(loaded(), 2);
  auto last =
      std::async(std::launch::async, [&] { return launchAt(unfinished.program, /*offset=*/4); });
  EXPECT_EQ(last.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  unfinished.code.set_value(kFakePTX);
  EXPECT_EQ(last.get(), "");
  EXPECT_EQ(take(fa_program_wait(&unfinished.program)), "");
  EXPECT_EQ(loaded(), 3);
}

TEST_F(CUDA, TellsWhyCodeCannotBeMade) {
  Unfinished unfinished;
  unfinished.code.set_value("");
  EXPECT_EQ(take(fa_program_wait(&unfinished.program)), "there is no code");
  EXPECT_EQ(launchAt(unfinished.program, 8), "");
  EXPECT_EQ(launchAt(unfinished.program, 4), "@scale cannot be launched: there is no code");
}

TEST_F(CUDA, TellsOfAllKernelsOnceTheyAreLoaded) {
  Settings slow(kSlow);
  fa_program *program = load();
  EXPECT_EQ(fa_program_num_kernels(program), 3u);
  EXPECT_STREQ(fa_program_kernel(program, 2).name, "fake_plain");
  EXPECT_EQ(loaded(), 2);
  fa_program_free(program);
}

TEST_F(CUDA, TakesTheFirstTierUntilTheVariantIsThere) {
  Later later;
  EXPECT_EQ(loaded(), 1);
  // Once bound and planned, a launch goes over to the variant, too.
  Launch launch, other;
  fa_prepared *prepared = nullptr;
  ASSERT_EQ(take(fa_prepare(&later.program, other.arguments, 4, &prepared)), "");
  void *pointers[] = {other.x, other.y};
  fa_number numbers[2];
  numbers[0].f = 2.5;
  numbers[1].i = 1;
  auto launchBoth = [&] {
    fake<void()>("fakeReset")();
    EXPECT_EQ(launch.run(&later.program), "");
    EXPECT_EQ(take(fa_prepared_launch(prepared, nullptr, pointers, numbers, other.workspace,
                                      sizeof other.workspace)),
              "");
    std::string all = launches();
    size_t first = 0, last = 0;
    for (size_t at = 0; (at = all.find(Tiered::kFirst, at)) != std::string::npos; ++at)
      ++first;
    for (size_t at = 0; (at = all.find(Tiered::kFinal, at)) != std::string::npos; ++at)
      ++last;
    return std::pair(first, last);
  };
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(launchBoth(), std::pair(size_t(2), size_t(0)));
  later.code.set_value(kFakePTX);
  EXPECT_EQ(take(fa_program_wait(&later.program)), "");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(launchBoth(), std::pair(size_t(0), size_t(2)));
  // The first tier stays for graphs, and nothing is told of it.
  EXPECT_EQ(loaded(), 3);
  EXPECT_EQ(fa_program_num_kernels(&later.program), 3u);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_STRNE(fa_program_kernel(&later.program, i).name, Tiered::kFirst);
  fa_prepared_free(prepared);
}

TEST_F(CUDA, CapturesNoFirstTier) {
  Later later;
  // Of the first tier, and remembered.
  EXPECT_EQ(launchAt(later.program, 0), "");
  fake<void()>("fakeReset")();
  Capturing capturing;
  auto captured =
      std::async(std::launch::async, [&] { return launchAt(later.program, /*offset=*/0); });
  EXPECT_EQ(captured.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  later.code.set_value(kFakePTX);
  EXPECT_EQ(captured.get(), "");
  EXPECT_EQ(launches().find(Tiered::kFirst), std::string::npos) << launches();
  EXPECT_EQ(take(fa_program_wait(&later.program)), "");
}

TEST_F(CUDA, StaysWithTheFirstTierWhereTheVariantCannotBeLoaded) {
  Later later;
  later.code.set_value("");
  EXPECT_EQ(take(fa_program_wait(&later.program)), "there is no code");
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(launchAt(later.program, 0), "");
  EXPECT_NE(launches().find(Tiered::kFirst), std::string::npos) << launches();
}

TEST_F(CUDA, TakesNoFirstTierOfAnotherVariant) {
  Tiered tiered(Three::there, /*image=*/1);
  EXPECT_EQ(launchAt(tiered.program, 0), "");
  EXPECT_EQ(launches().find(Tiered::kFirst), std::string::npos) << launches();
  EXPECT_EQ(take(fa_program_wait(&tiered.program)), "");
}

TEST_F(CUDA, ManyThreadsMayLaunchWhileTheVariantIsLoaded) {
  Later later;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      Launch launch;
      for (int k = 0; k < 2000; ++k)
        ASSERT_EQ(launch.run(&later.program), "");
    });
  later.code.set_value(kFakePTX);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(take(fa_program_wait(&later.program)), "");
}

TEST_F(CUDA, LoadsWhileStreamsAreCaptured) {
  Settings slow(kSlow);
  fa_program *program = load();
  Capturing capturing;
  Launch shifted;
  shifted.tensors[0].byte_offset = 8;
  EXPECT_EQ(shifted.run(program), "");
  fa_program_free(program);
}

TEST_F(CUDA, FailsOnlyLaunchesThatNeedWhatCannotBeLoaded) {
  fa_program *program = load(nonsense());
  std::string problem = take(fa_program_wait(program));
  EXPECT_NE(problem.find("Parsing error near 'nonsense'"), std::string::npos) << problem;
  Launch launch;
  EXPECT_EQ(launch.run(program), "");
  launch.tensors[0].byte_offset = 8;
  EXPECT_EQ(launch.run(program), "@scale cannot be launched: " + problem);
  EXPECT_EQ(fa_program_num_kernels(program), 1u);
  fa_program_free(program);
}

TEST_F(CUDA, ManyThreadsMayWait) {
  Settings slow(kSlow);
  fa_program *program = load();
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      Launch launch;
      launch.tensors[0].byte_offset = 8;
      EXPECT_EQ(launch.run(program), "");
      EXPECT_EQ(take(fa_program_wait(program)), "");
    });
  for (std::thread &thread : threads)
    thread.join();
  fa_program_free(program);
}

TEST_F(CUDA, ProgramsMayBeFreedWhileTheyAreLoaded) {
  Settings slow(kSlow);
  for (int i = 0; i < 3; ++i)
    fa_program_free(load());
  EXPECT_EQ(loaded(), 0);
}

TEST_F(CUDA, ProgramsOfAFirstTierMayBeFreed) {
  {
    Tiered tiered([]() -> llvm::Expected<std::string> {
      while (!Background::mustEnd())
        std::this_thread::yield();
      return Three::there();
    });
    EXPECT_EQ(launchAt(tiered.program, 0), "");
  }
  EXPECT_EQ(loaded(), 0);
}

TEST_F(CUDA, ProgramsThatAreFreedLoadNoFurtherVariant) {
  std::atomic<bool> asked{false};
  auto untilFreed = []() -> llvm::Expected<std::string> {
    while (!Background::mustEnd())
      std::this_thread::yield();
    return Three::there();
  };
  auto last = [&]() -> llvm::Expected<std::string> {
    asked = true;
    return Three::there();
  };
  {
    Three three(untilFreed, last);
  }
  EXPECT_FALSE(asked);
  EXPECT_EQ(loaded(), 0);
}

// The process exits while a program that is never freed is loaded: it waits, and ends well,
// even if something was done beside before the driver opened what it loads with.
TEST_F(CUDA, ProcessesMayExitMeanwhile) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("FA_FAKE_CUDA", kSlow, 1);
        Background([] {}).wait();
        load();
        std::exit(loaded() == 1 ? 7 : 8);
      },
      testing::ExitedWithCode(7), "");
}

// As it ends, a task destroys another that it owns, while the process exits.
TEST_F(CUDA, TasksMayOwnTasksWhenProcessesExit) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        auto inner = std::make_shared<Background>([] {});
        new Background([inner = std::move(inner)] {
          std::this_thread::sleep_for(std::chrono::milliseconds(100));
        });
        std::exit(7);
      },
      testing::ExitedWithCode(7), "");
}

// Threads do not come along into a child, which must not wait for them.
TEST_F(CUDA, ChildrenDoNotWait) {
  std::atomic<bool> go{false};
  Background task([&] {
    while (!go)
      std::this_thread::yield();
  });
  int status = inChild([&] { return task.wait() ? 1 : 7; });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  go = true;
  EXPECT_TRUE(task.wait());
}

// What a thread holds, a child finds free and whole.
TEST_F(CUDA, ChildrenFindMutexesFree) {
  static std::mutex mutex;
  static bool isWhole = true, hasBegun = false;
  holdWhileForking(mutex, [] { hasBegun = true; });
  std::promise<void> taken;
  std::thread other([&] {
    std::lock_guard<std::mutex> lock(mutex);
    isWhole = false;
    taken.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    isWhole = true;
  });
  taken.get_future().wait();
  int status = inChild([] { return mutex.try_lock() && isWhole && hasBegun ? 7 : 1; });
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_FALSE(hasBegun);
  other.join();
}

// While a thread begins tasks, children begin some, too, and exit.
TEST_F(CUDA, ChildrenHaveTasks) {
  std::atomic<bool> enough{false};
  std::thread other([&] {
    while (!enough)
      Background([] {}).wait();
  });
  for (int i = 0; i < 50; ++i) {
    int status = inChild([]() -> int {
      bool done = Background([] {}).wait();
      std::exit(done ? 7 : 1);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
  }
  enough = true;
  other.join();
}

// A program of which something could not be loaded is made again for who asks next.
TEST_F(CUDA, MakesAgainWhatCouldNotBeLoaded) {
  unsigned made = 0;
  auto make = [&](fa_program &into) -> fa_error * {
    if (++made == 3)
      return makeError("no more");
    Three three(
        []() -> llvm::Expected<std::string> {
          return llvm::createStringError("there is no memory");
        },
        Three::there);
    into.manifest = three.program.manifest;
    into.cuda = std::move(three.program.cuda);
    llvm::cantFail(describeArguments(into));
    return nullptr;
  };
  fa_program *programs[2];
  for (fa_program *&program : programs) {
    ASSERT_EQ(take(getProgram("a program of three", make, &program)), "");
    EXPECT_EQ(take(fa_program_wait(program)), "there is no memory");
  }
  EXPECT_EQ(made, 2u);
  EXPECT_NE(programs[0], programs[1]);
  // Nothing is kept where there is no program.
  fa_program *none = nullptr;
  EXPECT_EQ(take(getProgram("a program of three", make, &none)), "no more");
  for (fa_program *program : programs)
    fa_program_free(program);
}
