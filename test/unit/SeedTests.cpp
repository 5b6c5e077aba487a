//===- SeedTests.cpp - programs that come with the library -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A seed of one program and its gradients, made by fa-opt with the stand-in for ptxas.
//
//===----------------------------------------------------------------------===//

#include "PtxasFixture.h"
#include <functional>
#include <regex>
#include <sys/stat.h>

using namespace fa::test;

namespace {

struct Seed : KeptCubins {
  /// As scripts/make_seed.py has it.
  static constexpr const char *kCausal = R"(
func.func @attention(%q: tensor<?x?x?x128xbf16> {fa.name = "q"},
    %k: tensor<?x?x?x128xbf16> {fa.name = "k"}, %v: tensor<?x?x?x128xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x128xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
}
)";

  Seed() {
    path = tools + "/fa.seed";
    overwrite(tools + "/k.mlir", kCausal);
    std::string command =
        std::string(FA_OPT) + " " + tools + "/k.mlir --target=sm_90a --emit=seed -o ";
    EXPECT_EQ(std::system((command + path).c_str()), 0);
    setenv("FA_CACHE_SEED", path.c_str(), 1);
    // No ptxas makes what the seed lacks.
    setenv("FA_PTXAS", "", 1);
  }
  ~Seed() override { unsetenv("FA_CACHE_SEED"); }

  static fa::Attention causal() {
    fa::Attention spec;
    spec.headDim = 128;
    spec.dtype = fa::bf16;
    spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
    return spec;
  }
  /// Return how many images of a program, or of its gradients, the driver compiled and loaded as
  /// cubins.
  std::pair<int, int> start(const std::string &text, const char *gradients = nullptr,
                            const std::function<void(const fa_program *)> &use = nullptr,
                            bool noCache = false) {
    auto compiled = fake<int()>("fakeCompiled"), cubins = fake<int()>("fakeCubins");
    std::pair before(compiled(), cubins());
    fa_compile_options options = makeOptions();
    options.backward = gradients != nullptr;
    options.gradients = gradients;
    options.no_cache = noCache;
    fa_program *program = nullptr;
    EXPECT_EQ(take(fa_compile(text.data(), text.size(), &options, &program)), "");
    EXPECT_EQ(take(fa_program_wait(program)), "");
    if (use)
      use(program);
    fa_program_free(program);
    return {compiled() - before.first, cubins() - before.second};
  }
  std::pair<int, int> start(const fa::Attention &spec) { return start(*fa::toMLIR(spec)); }

  std::string path;
};

const std::pair kFound(0, kImages), kMade(kCompiled, 0);

/// Return what is launched of short, long and unaligned tensors.
std::string launchesOf(const fa_program *program) {
  fake<void()>("fakeReset")();
  alignas(256) static char memory[1 << 20];
  for (int64_t length : {512, 2048})
    for (uint64_t offset : {0, 2}) {
      int64_t shape[] = {1, 4, length, 128}, rows[] = {1, 4, length};
      fa_tensor tensor = {memory, FA_BF16, 4, shape, nullptr, offset},
                lse = {memory, FA_F32, 3, rows, nullptr, 0};
      fa_argument arguments[] = {{"q", &tensor, 0, 0},
                                 {"k", &tensor, 0, 0},
                                 {"v", &tensor, 0, 0},
                                 {"o", &tensor, 0, 0},
                                 {"lse", &lse, 0, 0}};
      EXPECT_EQ(take(fa_program_launch(program, nullptr, arguments, 5, memory, sizeof memory)), "");
    }
  // Numbers that the runtime chooses for each launch have many digits.
  return std::regex_replace(fake<const char *()>("fakeLaunches")(), std::regex("[0-9]{17,}"), "N");
}

} // namespace

TEST_F(Seed, HasPlainProgramsHoweverSpelled) {
  EXPECT_EQ(start(kCausal), kFound);
  EXPECT_EQ(start(causal()), kFound);
  fa::Attention spec = causal();
  spec.scale = 1 / std::sqrt(128.0);
  EXPECT_EQ(start(spec), kFound);
  spec = causal();
  spec.mask = [](auto x) { return x.i - x.j >= x.sq - x.sk; };
  EXPECT_EQ(start(spec), kFound);
  spec.mask = [](auto x) { return x.j < 1 + x.i + (x.sk - x.sq); };
  EXPECT_EQ(start(spec), kFound);
  spec.mask = [](auto x) { return x.sk + x.i > x.j - 1 + x.sq; };
  EXPECT_EQ(start(spec), kFound);
  EXPECT_NE(std::string(fa_cache_info()).find("fa.seed, "), std::string::npos);
  EXPECT_NE(std::string(fa_cache_info()).find(" entries of this build\n"), std::string::npos);
  // Nothing of a seed is written to the cache.
  EXPECT_EQ(entries().size(), 0u);
  setenv("FA_CACHE_DIR", "", 1);
  EXPECT_EQ(start(spec), kFound);
}

TEST_F(Seed, HasNoOthers) {
  setenv("FA_CACHE_DIR", "", 1);
  std::vector<fa::Attention> others(6, causal());
  others[0].mask = [](auto x) { return x.j <= x.i; };
  others[1].mask = [](auto x) { return x.j <= x.i + x.sk - x.sq + 1; };
  others[2].mask = [](auto x) { return x.j < x.i + x.sk - x.sq; };
  others[3].mask = [](auto x) { return x.j >= x.i + x.sk - x.sq; };
  others[4].scale = 0.1;
  others[5].lse = false;
  for (const fa::Attention &other : others)
    EXPECT_EQ(start(other).second, 0) << *fa::toMLIR(other);
}

TEST_F(Seed, HasGradients) {
  setenv("FA_CACHE_DIR", "", 1);
  auto [compiled, cubins] = start(kCausal, "");
  EXPECT_EQ(compiled, 0);
  EXPECT_GE(cubins, 3);
  EXPECT_EQ(start(kCausal, "q,k,v"), std::pair(0, cubins));
  EXPECT_EQ(start(kCausal, "q").second, 0);
}

TEST_F(Seed, IsNotReadWhereThatIsOff) {
  EXPECT_EQ(start(kCausal, nullptr, nullptr, /*noCache=*/true), kMade);
  for (const char *other : {"", "/nowhere/fa.seed"}) {
    setenv("FA_CACHE_SEED", other, 1);
    setenv("FA_CACHE_DIR", "", 1);
    EXPECT_EQ(start(kCausal), kMade);
  }
}

TEST_F(Seed, MayBeAPipe) {
  std::string pipe = tools + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  setenv("FA_CACHE_SEED", pipe.c_str(), 1);
  EXPECT_EQ(start(kCausal), kMade);
  EXPECT_NE(std::string(fa_cache_info()).find(pipe + ", damaged"), std::string::npos);
}

TEST_F(Seed, LaunchesAsWhatIsCompiled) {
  std::string found, made;
  EXPECT_EQ(start(kCausal, nullptr, [&](auto *program) { found = launchesOf(program); }), kFound);
  setenv("FA_CACHE_SEED", "", 1);
  EXPECT_EQ(start(kCausal, nullptr, [&](auto *program) { made = launchesOf(program); }), kMade);
  EXPECT_EQ(std::count(found.begin(), found.end(), '\n'), 4);
  EXPECT_EQ(found, made);
}

TEST_F(Seed, IsPTXWhereTheDriverRefusesIt) {
  for (const char *setting : {"cubin=209", "cubin=209,lazy=1"}) {
    setenv("FA_FAKE_CUDA", setting, 1);
    EXPECT_EQ(start(kCausal).first, kImages);
  }
  EXPECT_EQ(entries().size(), 0u);
  // Where there is a ptxas, it makes what the driver may take.
  setenv("FA_FAKE_CUDA", "cubin=209", 1);
  setenv("FA_PTXAS", (tools + "/ptxas").c_str(), 1);
  EXPECT_EQ(start(kCausal).first, kImages);
  EXPECT_EQ(entries().size(), size_t(kImages));
}

TEST_F(Seed, MayBeDamaged) {
  setenv("FA_CACHE_DIR", "", 1);
  const std::string good = read(path);
  ASSERT_GT(good.size(), 1000u);
  int made = 0, found = 0;
  auto check = [&](const std::string &bytes) {
    overwrite(path, bytes);
    std::pair<int, int> how = start(kCausal);
    EXPECT_TRUE(how == kMade || how == kFound) << how.first << " " << how.second;
    ++(how == kMade ? made : found);
  };
  for (size_t size : {size_t(0), size_t(7), size_t(30), size_t(60)})
    check(good.substr(0, size));
  EXPECT_EQ(made, 4);
  // Its head, what it lists, and the frames, of which one is of the gradients.
  for (size_t at : {0, 9, 25, 33, 41, 60, 70, 100})
    for (unsigned char bit : {1, 64}) {
      std::string bytes = good;
      bytes[at] = char(bytes[at] ^ bit);
      check(bytes);
    }
  EXPECT_EQ(made, 20);
  for (int part = 1; part < 16; ++part) {
    std::string bytes = good;
    bytes[good.size() * part / 16] ^= 16;
    check(bytes);
  }
  EXPECT_GT(made, 20);
  check(good + "x");
  EXPECT_GT(found, 0);
}
