//===- LauncherTests.cpp - libfa_rt.a, which has no compiler -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeLaunch.h"
#include <cstdio>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

using namespace mlir::fa::test;

namespace {

std::string loadArtifact(const std::string &bytes, fa_program **program) {
  return take(fa_artifact_load(bytes.data(), bytes.size(), nullptr, nullptr, program));
}

std::string loadManifest(const std::string &manifest, fa_program **program) {
  fa_image image{kFakePTX, std::strlen(kFakePTX)};
  return take(
      fa_program_load(manifest.data(), manifest.size(), &image, 1, nullptr, nullptr, program));
}

std::string compiled() {
  std::string path = testing::TempDir() + "launcher.fa", command = FA_OPT;
  command += " " FA_EXAMPLES "/alibi.mlir --target=sm_90a --emit=artifact -o " + path;
  EXPECT_EQ(std::system(command.c_str()), 0) << command;
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace

/// Device 0 stays current in a thread that had none; what was current before, stays so.
TEST_F(CUDA, LeavesTheCurrentContext) {
  fa_program *program = nullptr;
  ASSERT_EQ(loadManifest(kFakeManifest, &program), "");
  auto getCurrent = [] {
    void *context = nullptr;
    EXPECT_EQ(fake<int(void **)>("cuCtxGetCurrent")(&context), 0);
    return context;
  };
  std::thread([&] {
    EXPECT_EQ(getCurrent(), nullptr);
    Launch launch;
    EXPECT_EQ(launch.run(program), "");
    void *first = getCurrent();
    EXPECT_NE(first, nullptr);
    EXPECT_EQ(launch.run(program), "");
    EXPECT_EQ(getCurrent(), first);
    int other = 0;
    EXPECT_EQ(fake<int(void *)>("cuCtxPushCurrent_v2")(&other), 0);
    EXPECT_EQ(launch.run(program), "");
    EXPECT_EQ(getCurrent(), &other);
    // Nothing else was left after it.
    EXPECT_EQ(fake<int(void *)>("cuCtxPopCurrent_v2")(nullptr), 0);
    EXPECT_EQ(getCurrent(), first);
    EXPECT_EQ(fake<int(void *)>("cuCtxPopCurrent_v2")(nullptr), 0);
    EXPECT_EQ(getCurrent(), nullptr);
  }).join();
  fa_program_free(program);
}

TEST_F(CUDA, LaunchesWithoutACompiler) {
  fa_program *program = nullptr;
  ASSERT_EQ(loadManifest(kFakeManifest, &program), "");
  Launch launch;
  ASSERT_EQ(launch.run(program), "");
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(launch.y[i], 2.5f * i);
  // The variant for what is aligned to 8 bytes, which has a workspace.
  uint64_t bytes = 0;
  launch.tensors[0].byte_offset = 8;
  EXPECT_EQ(take(fa_program_workspace_size(program, launch.arguments, 4, &bytes)), "");
  EXPECT_EQ(bytes, 128u);
  EXPECT_EQ(launch.run(program), "");
  EXPECT_NE(launches().find("fake_plain<6,1,1;64,1,1;16;0>"), std::string::npos) << launches();
  launch.tensors[0].byte_offset = 4;
  EXPECT_EQ(launch.run(program),
            "@scale cannot be launched: the address of 'x' is 4 bytes past a multiple of 16; copy "
            "it to memory aligned to 16 bytes; or: the address of 'x' is 4 bytes past a multiple "
            "of 8; copy it to memory aligned to 8 bytes");
  launch.shape[0] = 100001;
  EXPECT_NE(launch.run(program).find("N = 100001"), std::string::npos);
  fa_program_free(program);
  EXPECT_EQ(fake<int()>("fakeLibraries")(), 0);
}

TEST_F(CUDA, TakesAVariantForShortTensorsWhereTheyAreShort) {
  std::string manifest = kFakeManifest, image = "\"image\": 0";
  manifest.replace(manifest.find(image), image.size(), "\"limits\": [[\"N\", 3]], " + image);
  fa_program *program = nullptr;
  ASSERT_EQ(loadManifest(manifest, &program), "");
  Launch launch;
  EXPECT_EQ(launch.run(program), "");
  EXPECT_EQ(launches().find("fake_plain"), std::string::npos) << launches();
  launch.shape[0] = 4;
  EXPECT_EQ(launch.run(program), "");
  EXPECT_NE(launches().find("fake_plain"), std::string::npos) << launches();
  launch.tensors[0].byte_offset = 4;
  EXPECT_EQ(launch.run(program),
            "@scale cannot be launched: N is 4, expected at most 3; or: the address of 'x' is 4 "
            "bytes past a multiple of 8; copy it to memory aligned to 8 bytes");
  fa_program_free(program);
}

TEST_F(CUDA, LaunchesArtifacts) {
  std::string bytes = compiled();
  fa_program *program = nullptr;
  ASSERT_EQ(loadArtifact(bytes, &program), "");
  EXPECT_STREQ(fa_program_get_info(program).target, "sm_90a");
  ASSERT_EQ(fa_program_num_arguments(program), 6u);
  const int64_t rows[] = {1, 2, 100, 64}, sums[] = {1, 2, 100}, heads[] = {2};
  alignas(256) static float memory[4][2 * 100 * 64], lse[200], slopes[2];
  std::vector<fa_tensor> tensors;
  for (auto &data : memory)
    tensors.push_back({data, FA_F32, 4, rows, nullptr, 0});
  tensors.push_back({lse, FA_F32, 3, sums, nullptr, 0});
  tensors.push_back({slopes, FA_F32, 1, heads, nullptr, 0});
  const char *const names[] = {"q", "k", "v", "o", "lse", "slopes"};
  std::vector<fa_argument> arguments;
  for (int i = 0; i < 6; ++i)
    arguments.push_back({names[i], &tensors[i], 0, 0});
  uint64_t needed = 0;
  ASSERT_EQ(take(fa_program_workspace_size(program, arguments.data(), 6, &needed)), "");
  std::vector<char> workspace(needed + 64);
  char *aligned = workspace.data() + 64 - reinterpret_cast<uintptr_t>(workspace.data()) % 64;
  EXPECT_EQ(take(fa_program_launch(program, nullptr, arguments.data(), 6,
                                   needed ? aligned : nullptr, needed)),
            "");
  EXPECT_NE(launches().find("alibi"), std::string::npos) << launches();
  fa_program_free(program);
}

TEST_F(CUDA, RefusesDamagedArtifactsInOneLine) {
  std::string good = compiled();
  fa_program *program = nullptr;
  auto refused = [&](const std::string &bytes) {
    std::string message = loadArtifact(bytes, &program);
    EXPECT_EQ(program, nullptr);
    EXPECT_EQ(message.rfind("the artifact cannot be used: ", 0), 0u) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  };
  for (size_t size = 0; size < good.size(); size += 1 + size / 3)
    refused(good.substr(0, size));
  for (size_t at = 0; at < good.size(); at += 1 + at / 5) {
    std::string bytes = good;
    bytes[at] ^= 1 << (at % 8);
    refused(bytes);
  }
  refused(good + "x");
}

TEST_F(CUDA, RefusesManifestsThatAreWrong) {
  fa_program *program = nullptr;
  std::string good = kFakeManifest;
  auto message = [&](const std::string &from, const std::string &to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return loadManifest(text, &program);
  };
  EXPECT_EQ(message("\"version\": 3", "\"version\": 2"),
            "the manifest cannot be used: version is 2, but this library reads 3; compile the "
            "program again");
  EXPECT_EQ(message("\"threads\": 128", "\"threads\": 0"),
            "the manifest cannot be used: entries[0].variants[0].kernels[0].threads must be an "
            "integer from 1 to 1024, got 0; compile the program again");
  EXPECT_EQ(message("\"target\": \"sm_80\"", "\"target\": \"cpu\""),
            "'cpu' is no target of CUDA: expected sm_80, sm_90a, ...");
  // However it is cut or changed, it is refused or it is consistent.
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string text = good.substr(0, at);
    EXPECT_NE(loadManifest(text, &program), "") << at;
    for (char c : {'"', '[', '}', '9', '\\'}) {
      text = good;
      text[at] = c;
      if (loadManifest(text, &program).empty())
        fa_program_free(program);
    }
  }
}
