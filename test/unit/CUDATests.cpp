//===- CUDATests.cpp - the CUDA runtime, on a stand-in for the driver -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../../runtime/lib/CUDADriver.h"
#include "../../runtime/lib/CUDAExecutor.h"
#include "../../runtime/lib/PTXParameters.h"
#include "FakeDriver.h"
#include "FakeLaunch.h"
#include "fa/Runtime/CompileCUDA.h"
#include <array>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

using namespace mlir::fa;
using namespace mlir::fa::test;

namespace {

std::string loadError(const char *path) {
  auto driver = cuda::Driver::load(path);
  return driver ? "" : llvm::toString(driver.takeError());
}

/// Loads the hand-written program; NULL and its message where that fails.
fa_program *load(std::string *message = nullptr, const char *manifest = kFakeManifest,
                 const char *device = nullptr, const char *entry = nullptr) {
  fa_image image{kFakePTX, std::strlen(kFakePTX)};
  fa_program *program = nullptr;
  std::string problem =
      take(fa_program_load(manifest, std::strlen(manifest), &image, 1, entry, device, &program));
  if (message)
    *message = problem;
  else
    EXPECT_EQ(problem, "");
  return program;
}

std::string problemOf(const char *manifest = kFakeManifest, const char *device = nullptr,
                      const char *entry = nullptr) {
  std::string message;
  EXPECT_EQ(load(&message, manifest, device, entry), nullptr);
  return message;
}

} // namespace

//===----------------------------------------------------------------------===//
// The driver
//===----------------------------------------------------------------------===//

TEST_F(CUDA, SaysWhatIsWrongWithTheDriver) {
  EXPECT_EQ(loadError("/nonexistent/libcuda.so.1"),
            "the CUDA driver cannot be opened: /nonexistent/libcuda.so.1: cannot open shared "
            "object file: No such file or directory; install NVIDIA driver 525 or later, or use "
            "the CPU");
  EXPECT_EQ(loadError("libm.so.6"), "'libm.so.6' is no CUDA driver: it does not tell its version; "
                                    "install NVIDIA driver 525 or later, or use the CPU");
  EXPECT_EQ(loadError(FA_FAKE_LIBCUDA_LACKING),
            "the CUDA driver '" FA_FAKE_LIBCUDA_LACKING
            "' (CUDA 12.4) lacks cuLibraryLoadData; install NVIDIA driver 525 or later, or use "
            "the CPU");
  {
    Settings old("version=11040");
    EXPECT_EQ(loadError(FA_FAKE_LIBCUDA),
              "the CUDA driver supports CUDA 11.4, but CUDA 12.0 is needed; install NVIDIA driver "
              "525 or later, or use the CPU");
  }
  {
    Settings none("init=100");
    EXPECT_EQ(loadError(FA_FAKE_LIBCUDA),
              "the CUDA driver finds no device: CUDA_ERROR_NO_DEVICE (as told); check nvidia-smi "
              "and CUDA_VISIBLE_DEVICES, or use the CPU");
  }
  Settings other("init=999");
  EXPECT_EQ(loadError(FA_FAKE_LIBCUDA),
            "the CUDA driver cannot be started: error 999; check nvidia-smi, or use the CPU");
}

TEST_F(CUDA, KnowsDevicesByName) {
  EXPECT_EQ(cuda::parseDevice("cuda"), 0);
  EXPECT_EQ(cuda::parseDevice("cuda:12"), 12);
  for (const char *text : {"cpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:0x1", "cuda1", "cuda: 1",
                           "cuda:99999999999", ""})
    EXPECT_FALSE(cuda::parseDevice(text)) << text;
}

TEST_F(CUDA, RunsCodeOnlyWhereItCan) {
  auto problem = [](const char *capability, const char *target) {
    Settings settings(capability);
    auto device = cuda::Device::open(*llvm::cantFail(cuda::Driver::get()), 0);
    return llvm::toString((*device)->checkTarget(target));
  };
  EXPECT_EQ(problem("capability=90", "sm_80"), "");
  EXPECT_EQ(problem("capability=90", "sm_90a"), "");
  EXPECT_EQ(problem("capability=120", "sm_90"), "");
  EXPECT_EQ(problem("capability=75", "sm_80"),
            "sm_80 code needs compute capability 8.0 or later, but this is device 0 (Fake GPU, "
            "compute capability 7.5); use a later device, or the CPU");
  EXPECT_EQ(problem("capability=100", "sm_90a"),
            "sm_90a code needs compute capability 9.0 and no other, but this is device 0 (Fake "
            "GPU, compute capability 10.0); compile for sm_80");
  EXPECT_EQ(problem("", "cpu"), "'cpu' is no target of CUDA: expected sm_80, sm_90a, ...");
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

TEST_F(CUDA, ComputesAndLeavesNothingBehind) {
  int contexts = fake<int()>("fakeContexts")();
  fa_program *program = load();
  ASSERT_TRUE(program);
  Launch launch;
  ASSERT_EQ(launch.run(program), "");
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(launch.y[i], 2.5f * i);
  fa_program_info info = fa_program_get_info(program);
  EXPECT_STREQ(info.target, "sm_80");
  EXPECT_STREQ(info.device, "Fake GPU");
  EXPECT_GE(info.load_seconds, 0);
  ASSERT_EQ(fa_program_num_kernels(program), 3u);
  fa_kernel_info kernel = fa_program_kernel(program, 0);
  EXPECT_STREQ(kernel.name, "fake_scale");
  EXPECT_EQ(kernel.registers, 168);
  EXPECT_EQ(kernel.shared_bytes, 65536);
  EXPECT_EQ(fa_program_kernel(program, 3).name, nullptr);
  ASSERT_EQ(fa_program_num_arguments(program), 4u);
  EXPECT_EQ(fa_program_argument(program, 3).dtype, FA_BOOL);
  fa_program_free(program);
  EXPECT_EQ(fake<int()>("fakeContexts")(), contexts);
  EXPECT_EQ(fake<int()>("fakeLibraries")(), 0);
}

TEST_F(CUDA, PassesParametersInTheOrderOfTheABI) {
  fa_program *program = load();
  Launch launch;
  launch.strides[0] = 8;
  ASSERT_EQ(launch.run(program, reinterpret_cast<void *>(77)), "");
  auto p = [](void *pointer) { return std::to_string(reinterpret_cast<uintptr_t>(pointer)); };
  // 2.5f is 0x40200000.
  EXPECT_EQ(launches(), "fake_scale<2,1,1;128,1,1;65536;77>(u64:" + p(launch.x) +
                            ", u64:3, u64:8, u64:" + p(launch.y) +
                            ", u64:3, u64:4, f32:1075838976)\n");
  fa_program_free(program);
}

TEST_F(CUDA, ChoosesVariantsByAlignment) {
  fa_program *program = load();
  Launch launch;
  // Eight bytes in: the second variant, two kernels.
  launch.tensors[0].byte_offset = 8;
  ASSERT_EQ(launch.run(program), "");
  auto p = [](char *pointer) { return std::to_string(reinterpret_cast<uintptr_t>(pointer)); };
  std::string parameters = "(u64:" + p(reinterpret_cast<char *>(launch.x) + 8) +
                           ", u64:" + p(reinterpret_cast<char *>(launch.workspace)) +
                           ", u64:3, u64:8, u64:" + p(reinterpret_cast<char *>(launch.y)) +
                           ", u8:1, f32:1075838976)\n";
  EXPECT_EQ(launches(), "fake_plain<3,1,1;32,1,1;0;0>" + parameters +
                            "fake_plain<6,1,1;64,1,1;16;0>" + parameters);
  // Strides count too, but not that of a dimension of size 1.
  launch.tensors[0].byte_offset = 0;
  launch.strides[0] = 5;
  EXPECT_EQ(launch.run(program),
            "@scale cannot be launched: dimension 0 of 'x' has a stride of 20 bytes, expected a "
            "multiple of 16; pad its rows to one; or: dimension 0 of 'x' has a stride of 20 "
            "bytes, expected a multiple of 8; pad its rows to one");
  launch.shape[0] = 1;
  EXPECT_EQ(launch.run(program), "");
  launch.tensors[0].byte_offset = 4;
  EXPECT_EQ(launch.run(program),
            "@scale cannot be launched: the address of 'x' is 4 bytes past a multiple of 16; copy "
            "it to memory aligned to 16 bytes; or: the address of 'x' is 4 bytes past a multiple "
            "of 8; copy it to memory aligned to 8 bytes");
  fa_program_free(program);
}

TEST_F(CUDA, LaunchesNothingForNoBlocks) {
  fa_program *program = load();
  Launch launch;
  launch.shape[0] = 0;
  EXPECT_EQ(launch.run(program), "");
  EXPECT_EQ(launches(), "");
  fa_program_free(program);
}

// A kernel that waits for the one before it starts before that has ended, but never before what
// another launch put on the stream.
TEST_F(CUDA, OverlapsTheKernelsOfALaunch) {
  std::string manifest = kFakeManifest;
  std::string name = "\"name\": \"fake_plain\", ";
  for (size_t at = 0; (at = manifest.find(name, at)) != std::string::npos; at += name.size())
    manifest.insert(at + name.size(), "\"dependent\": true, ");
  fa_program *program = load(nullptr, manifest.c_str());
  Launch launch;
  launch.tensors[0].byte_offset = 8;
  ASSERT_EQ(launch.run(program, reinterpret_cast<void *>(77)), "");
  std::string text = launches();
  auto [first, second] = llvm::StringRef(text).split('\n');
  EXPECT_EQ(first.split('(').first, "fake_plain<3,1,1;32,1,1;0;77>");
  EXPECT_EQ(second.split('(').first, "fake_plain<6,1,1;64,1,1;16;77;dependent>");
  fa_program_free(program);
  // Not after one that is left out, since it has no blocks: that has waited for nothing.
  size_t last = manifest.rfind("{\"name\": \"fake_plain\"");
  std::string none = manifest.substr(last, manifest.find("]]}", last) + 3 - last);
  std::string blocks = R"({"*": [{"min": [[0, 0], 2]}, 3]})";
  manifest.insert(last, none.replace(none.find(blocks), blocks.size(), "0") + ", ");
  program = load(nullptr, manifest.c_str());
  fake<void()>("fakeReset")();
  ASSERT_EQ(launch.run(program, reinterpret_cast<void *>(77)), "");
  text = launches();
  std::tie(first, second) = llvm::StringRef(text).split('\n');
  EXPECT_EQ(first.split('(').first, "fake_plain<3,1,1;32,1,1;0;77>");
  EXPECT_EQ(second.split('(').first, "fake_plain<6,1,1;64,1,1;16;77>");
  fa_program_free(program);
  EXPECT_TRUE(llvm::cantFail(cuda::Driver::load(FA_FAKE_LIBCUDA))->startsDependents());
  EXPECT_FALSE(llvm::cantFail(cuda::Driver::load(FA_FAKE_LIBCUDA_MAPLESS))->startsDependents());
  Settings old("version=12020");
  EXPECT_FALSE(llvm::cantFail(cuda::Driver::load(FA_FAKE_LIBCUDA))->startsDependents());
}

TEST_F(CUDA, RefusesGridsThatAreTooLarge) {
  std::string manifest = kFakeManifest;
  std::string grid = "{\"ceildiv\": [[0, 0], 2]}";
  manifest.replace(manifest.find(grid), grid.size(), "65536, 65536");
  fa_program *program = load(nullptr, manifest.c_str());
  Launch launch;
  EXPECT_EQ(launch.run(program), "the grid of kernel 'fake_scale' is 65536 x 65536 x 1 blocks, "
                                 "expected at most 2^31 - 1; use fewer or shorter sequences");
  fa_program_free(program);
}

TEST_F(CUDA, ChecksTheSizesOfALaunch) {
  fa_program *program = load();
  Launch launch;
  launch.shape[0] = 100001;
  EXPECT_EQ(launch.run(program), "N = 100001 is more than random numbers have positions for, "
                                 "expected at most 100000");
  launch.shape[0] = 3;
  EXPECT_EQ(take(fa_program_launch(program, nullptr, launch.arguments, 4, nullptr, 0)),
            "the launch needs 128 bytes of workspace, got 0; ask for their number "
            "(fa_program_workspace_size, fa::Kernel::workspaceBytes) and allocate that much");
  fa_program_free(program);
}

/// Return the second way of the program, with a launch epoch in place of the workspace's stride,
/// and one block an SM for its first kernel.
static std::string persistentManifest() {
  std::string manifest = kFakeManifest;
  auto replace = [&](const std::string &what, const std::string &by) {
    manifest.replace(manifest.find(what), what.size(), by);
  };
  replace("\"sizes\": [[0, 0], 8]}",
          "\"sizes\": [[0, 0], 8]}, {\"name\": \"tag\", \"kind\": \"launch_epoch\", "
          "\"dtype\": \"i64\"}");
  for (int kernel = 0; kernel < 2; ++kernel) {
    replace("[\"stride\", 4, 0]", "[\"scalar\", 5]");
    replace("[0, 4, 1, 3, 2]", "[0, 4, 5, 1, 3, 2]");
  }
  replace("\"fake_plain\", \"threads\": 32",
          "\"fake_plain\", \"blocks_per_sm\": 1, \"threads\": 32");
  replace("{\"floordiv\": [[0, 0], 100]}", "{\"*\": [[0, 0], 100]}");
  return manifest;
}

TEST_F(CUDA, TagsLaunchesAndLimitsBlocks) {
  fa_program *program = load(nullptr, persistentManifest().c_str());
  EXPECT_EQ(fa_program_num_arguments(program), 4u);
  Launch launch;
  launch.tensors[0].byte_offset = 8;
  std::vector<uint64_t> tags;
  for (int i = 0; i < 3; ++i) {
    fake<void()>("fakeReset")();
    std::fill(std::begin(launch.workspace), std::end(launch.workspace), 7.0f);
    ASSERT_EQ(launch.run(program, reinterpret_cast<void *>(77)), "");
    // 3 * 301 work tiles on 132 SMs, and nothing before them.
    std::string log = launches();
    EXPECT_EQ(log.rfind("fake_plain<132,1,1;32,1,1;0;77>", 0), 0u) << log;
    EXPECT_NE(log.find("\nfake_plain<6,1,1;64,1,1;16;77>"), std::string::npos) << log;
    EXPECT_EQ(launch.workspace[0], 7.0f);
    // One tag for both kernels: the fourth parameter.
    auto fourth = [&](size_t at) {
      for (int n = 0; n < 4; ++n)
        at = log.find("u64:", at) + 4;
      return std::stoull(log.substr(at));
    };
    tags.push_back(fourth(0));
    EXPECT_EQ(fourth(log.find('\n')), tags.back()) << log;
  }
  auto apart = [](uint64_t a, uint64_t b) { return std::min(a - b, b - a) > uint64_t(1) << 31; };
  EXPECT_TRUE(apart(tags[0], tags[1]) && apart(tags[1], tags[2]) && apart(tags[0], tags[2]));

  // The first way has no tag, an empty launch no kernel.
  fake<void()>("fakeReset")();
  launch.tensors[0].byte_offset = 0;
  ASSERT_EQ(launch.run(program), "");
  fake<void()>("fakeReset")();
  launch.tensors[0].byte_offset = 8;
  launch.shape[0] = 0;
  ASSERT_EQ(launch.run(program), "");
  EXPECT_EQ(launches(), "");
  launch.shape[0] = 3;
  EXPECT_EQ(take(fa_program_launch(program, nullptr, launch.arguments, 4, launch.workspace, 64)),
            "the launch needs 128 bytes of workspace, got 64; ask for their number "
            "(fa_program_workspace_size, fa::Kernel::workspaceBytes) and allocate that much");
  fa_argument tagged[] = {launch.arguments[0],
                          launch.arguments[1],
                          launch.arguments[2],
                          launch.arguments[3],
                          {"tag", nullptr, 0, 1}};
  EXPECT_EQ(take(fa_program_launch(program, nullptr, tagged, 5, launch.workspace, 256)),
            "entry @scale has no argument 'tag'; it has x, y, a, flag");
  fa_program_free(program);
}

TEST_F(CUDA, RepeatedLaunchesAreWhatFirstOnesAre) {
  // Whatever was launched before, a launch is that of a program which was never launched.
  fa_program *program = load();
  alignas(64) static float x[2][64], y[2][64], workspace[2][64];
  std::mt19937 random(7);
  int repeated = 0;
  std::string before;
  for (int round = 0; round < 400; ++round) {
    // Most are repetitions: each choice is mostly the first.
    auto choose = [&](unsigned count) { return random() % 4 ? 0 : random() % count; };
    int64_t shape[] = {3 - int64_t(choose(4)), 4}, strides[] = {choose(2) ? 6 : 4, 1};
    static const uint64_t offsets[] = {0, 8, 16, 4};
    fa_tensor from{choose(9) == 8 ? nullptr : x[random() % 2],
                   choose(9) == 8 ? FA_F16 : FA_F32,
                   choose(9) == 8 ? 1 : 2,
                   shape,
                   choose(2) ? strides : nullptr,
                   offsets[choose(4)]};
    fa_tensor to{y[random() % 2], FA_F32, 2, shape, nullptr, 0};
    std::vector<fa_argument> arguments = {{"x", &from, 0, 0},
                                          {"y", &to, 0, 0},
                                          {"a", nullptr, double(random() % 3), 0},
                                          {choose(9) == 8 ? "b" : "flag", nullptr, 0, 1}};
    if (choose(2))
      std::swap(arguments[0], arguments[2]);
    if (choose(9) == 8)
      arguments.pop_back();
    void *memory = choose(9) == 8 ? nullptr : workspace[random() % 2] + choose(2);
    uint64_t bytes = choose(2) ? 100 : 200;
    auto run = [&](const fa_program *launched) {
      fake<void()>("fakeReset")();
      std::string message = take(
          fa_program_launch(launched, nullptr, arguments.data(), arguments.size(), memory, bytes));
      return message + "\n" + launches();
    };
    std::string again = run(program);
    repeated += again == before;
    before = again;
    fa_program *fresh = load();
    ASSERT_EQ(again, run(fresh)) << round;
    fa_program_free(fresh);
  }
  EXPECT_GT(repeated, 5);
  fa_program_free(program);
}

TEST_F(CUDA, PreparedLaunchesAreWhatOthersAre) {
  // Whatever was launched before, a prepared launch is that of a program which was never launched.
  fa_program *program = load();
  alignas(64) static float x[2][64], y[2][64], workspace[2][64];
  std::mt19937 random(11);
  int64_t shape[] = {3, 4};
  fa_tensor from{nullptr, FA_F32, 2, shape, nullptr, 0}, to = from;
  fa_argument arguments[] = {
      {"x", &from, 0, 0}, {"a", nullptr, 0, 0}, {"y", &to, 0, 0}, {"flag", nullptr, 0, 0}};
  fa_prepared *prepared = nullptr;
  ASSERT_EQ(take(fa_prepare(program, arguments, 4, &prepared)), "");
  int repeated = 0, failed = 0;
  std::string before;
  for (int round = 0; round < 200; ++round) {
    auto choose = [&](unsigned count) { return random() % 4 ? 0 : random() % count; };
    // Aligned to 16, 8 and 4 bytes.
    void *pointers[] = {x[choose(2)] + std::array<int, 4>{0, 4, 2, 1}[choose(4)],
                        choose(9) == 8 ? nullptr : y[choose(2)]};
    fa_number numbers[] = {{}, {}};
    numbers[0].f = choose(9) == 8 ? 1e300 : choose(3);
    numbers[1].i = choose(9) == 8 ? 2 : 1;
    void *memory = choose(9) == 8 ? nullptr : workspace[choose(2)];
    fake<void()>("fakeReset")();
    std::string again =
        take(fa_prepared_launch(prepared, nullptr, pointers, numbers, memory, sizeof workspace[0]));
    failed += !again.empty();
    again += "\n" + launches();
    repeated += again == before;
    before = again;
    from.data = pointers[0];
    to.data = pointers[1];
    arguments[1].f = numbers[0].f;
    arguments[3].i = numbers[1].i;
    fa_program *fresh = load();
    fake<void()>("fakeReset")();
    std::string first =
        take(fa_program_launch(fresh, nullptr, arguments, 4, memory, sizeof workspace[0]));
    ASSERT_EQ(again, first + "\n" + launches()) << round;
    fa_program_free(fresh);
  }
  EXPECT_GT(repeated, 5);
  EXPECT_GT(failed, 5);
  fa_prepared_free(prepared);
  fa_program_free(program);
}

TEST_F(CUDA, LeavesOutVariantsThatNeedTooMuchSharedMemory) {
  Settings settings("shared=49152");
  fa_program *program = load();
  Launch launch;
  ASSERT_EQ(launch.run(program), "");
  EXPECT_EQ(launches().find("fake_scale"), std::string::npos);
  launch.tensors[0].byte_offset = 4;
  EXPECT_EQ(launch.run(program),
            "@scale cannot be launched: kernel 'fake_scale' needs 65536 bytes of shared memory a "
            "block, but device 0 (Fake GPU, compute capability 9.0) has 49152; choose smaller "
            "tiles; or: the address of 'x' is 4 bytes past a multiple of 8; copy it to memory "
            "aligned to 8 bytes");
  fa_program_free(program);
}

TEST_F(CUDA, SaysWhyNothingCanBeLoaded) {
  {
    Settings settings("shared=8");
    EXPECT_EQ(problemOf(), "kernel 'fake_scale' needs 65536 bytes of shared memory a block, but "
                           "device 0 (Fake GPU, compute capability 9.0) has 8; choose smaller "
                           "tiles");
  }
  {
    Settings settings("capability=75");
    EXPECT_EQ(problemOf().rfind("sm_80 code needs compute capability 8.0 or later", 0), 0u);
  }
  {
    Settings settings("devices=0");
    EXPECT_EQ(problemOf(), "there is no CUDA device 0: the driver finds 0; check nvidia-smi and "
                           "CUDA_VISIBLE_DEVICES");
  }
  EXPECT_EQ(problemOf(kFakeManifest, "cuda:3"),
            "there is no CUDA device 3: the driver finds 1; choose 0 to 0");
  EXPECT_EQ(problemOf(kFakeManifest, "gpu"), "unknown device 'gpu': expected cuda or cuda:N");
  EXPECT_EQ(problemOf(kFakeManifest, nullptr, "shift"),
            "the program has no entry @shift; it has @scale");
  EXPECT_EQ(problemOf("{}"),
            "the manifest cannot be used: version is missing; compile the program again");
  std::string manifest = kFakeManifest;
  manifest.replace(manifest.find("12000"), 5, "13000");
  EXPECT_EQ(problemOf(manifest.c_str()),
            "the program needs CUDA 13.0, but the driver supports 12.4; update the driver, "
            "or compile for sm_80");
  // Launches would give kernels less than these read.
  const std::string remedy = "; give the manifest that was made with its image",
                    stride = R"(["stride", 0, 0],)", last = R"(, ["scalar", 2]])";
  manifest = kFakeManifest;
  manifest.erase(manifest.find(stride), stride.size());
  EXPECT_EQ(problemOf(manifest.c_str()),
            "kernel 'fake_scale' takes 7 parameters, but the manifest lists 6" + remedy);
  manifest = kFakeManifest;
  manifest.replace(manifest.rfind(last), last.size(), "]");
  EXPECT_EQ(problemOf(manifest.c_str()),
            "kernel 'fake_plain' takes 7 parameters, but the manifest lists 6" + remedy);
  // Whatever stands in between; and a tensor map has more bytes than a pointer.
  ManifestKernel kernel;
  kernel.name = "f";
  kernel.parameters.resize(2);
  auto parametersOf = [&](const std::string &ptx) {
    return llvm::toString(cuda::checkParameters(ptx, kernel));
  };
  EXPECT_EQ(parametersOf(".entry f(.param .u64 x, .param .align 8 .b8 y[8]) {"), "");
  EXPECT_EQ(parametersOf(".entry g(.param .u64 x)\n.visible .entry\tf /* of (a, b) */ (\n"
                         " .param .u64 .ptr .global .align 1 f_0, // .param, as g has\n"
                         " .param .f32 f_1/**/)\n.entry f1()"),
            "");
  EXPECT_EQ(parametersOf(".entry g(.param .u64 x)"), "");
  EXPECT_EQ(parametersOf(".entry f { ret; }"),
            "kernel 'f' takes 0 parameters, but the manifest lists 2" + remedy);
  const std::string map = ".entry f(.param .u64 x, .param .align 64 .b8 y[128])";
  EXPECT_EQ(parametersOf(map),
            "parameter 1 of kernel 'f' has 128 bytes, but the manifest gives it 8" + remedy);
  kernel.parameters[1].kind = ManifestParameter::TensorMap;
  EXPECT_EQ(parametersOf(map), "");
  manifest = kFakeManifest;
  manifest.replace(manifest.find("fake_plain"), 10, "no_such_fn");
  EXPECT_EQ(problemOf(manifest.c_str()),
            "cannot load kernel 'no_such_fn' on device 0 (Fake GPU, compute capability 9.0): "
            "CUDA_ERROR_NOT_FOUND (as told)");
  fa_program *program;
  EXPECT_EQ(take(fa_program_load(kFakeManifest, std::strlen(kFakeManifest), nullptr, 0, nullptr,
                                 nullptr, &program)),
            "the manifest counts 1 images, got 0");
  EXPECT_EQ(fake<int()>("fakeLibraries")(), 0);
}

TEST_F(CUDA, ShowsTheLogOfTheCompiler) {
  {
    Settings settings("jit=ptxas line 3;  fatal: unexpected token;");
    EXPECT_EQ(problemOf(),
              "the CUDA driver (CUDA 12.4) cannot compile the program for device 0 (Fake GPU, "
              "compute capability 9.0): CUDA_ERROR_INVALID_PTX (as told): ptxas line 3 | fatal: "
              "unexpected token; update the driver, or compile for another target");
  }
  Settings settings("lazy=1,jit=fatal: late");
  EXPECT_EQ(problemOf(), "cannot load kernel 'fake_scale' on device 0 (Fake GPU, compute "
                         "capability 9.0): CUDA_ERROR_INVALID_PTX (as told): fatal: late");
}

TEST_F(CUDA, ReportsALaunchThatFails) {
  fa_program *program = load();
  Settings settings("launch=719");
  Launch launch;
  EXPECT_EQ(launch.run(program), "cannot launch kernel 'fake_scale' on device 0 (Fake GPU, compute "
                                 "capability 9.0): CUDA_ERROR_LAUNCH_FAILED (as told)");
  fa_program_free(program);
}

TEST_F(CUDA, LaunchesFromManyThreads) {
  fa_program *program = load();
  std::vector<std::thread> threads;
  std::vector<std::string> messages(8);
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      auto own = std::make_unique<Launch>();
      for (int repeat = 0; repeat < 50 && messages[i].empty(); ++repeat)
        messages[i] = own->run(program);
      if (messages[i].empty() && own->y[11] != 2.5f * 11)
        messages[i] = "wrong result";
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const std::string &message : messages)
    EXPECT_EQ(message, "");
  fa_program_free(program);
}

TEST_F(CUDA, ChoosesTheBestCode) {
  auto choice = [](int major, int minor, int driver) {
    const nvptx::Target *target = cuda::chooseTarget(major, minor, driver);
    return target ? target->name.str() : "";
  };
  EXPECT_EQ(choice(7, 5, 12040), "");
  EXPECT_EQ(choice(8, 0, 12040), "sm_80");
  EXPECT_EQ(choice(8, 9, 12040), "sm_80");
  EXPECT_EQ(choice(9, 0, 12040), "sm_90a");
  EXPECT_EQ(choice(9, 0, 12000), "sm_90");
  EXPECT_EQ(choice(12, 0, 13000), "sm_90");
}

TEST_F(CUDA, CompilesForTheDeviceAtHand) {
  fa_compile_options options = fa_compile_options_default();
  fa_program *program = nullptr;
  auto problem = [&](const char *target, const char *device) {
    options.target = target;
    options.device = device;
    return take(fa_compile("", 0, &options, &program));
  };
  EXPECT_EQ(problem("cuda:5", nullptr),
            "there is no CUDA device 5: the driver finds 1; choose 0 to 0");
  EXPECT_EQ(problem("cpu", "cuda"),
            "target 'cpu' is no code for device 'cuda'; leave out one of the two");
  EXPECT_EQ(problem("sm_20", "cuda").rfind("unknown target 'sm_20': expected one of cpu", 0), 0u);
  Settings old("capability=30");
  EXPECT_EQ(problem("cuda", nullptr)
                .rfind("this build compiles for none that runs on device 0 (Fake GPU, compute "
                       "capability 3.0): it has cpu",
                       0),
            0u);
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static void useDevice(const char *name) {
  fa_device *device;
  ASSERT_EQ(take(fa_device_open(name, &device)), "");
  void *there = nullptr, *empty = nullptr;
  ASSERT_EQ(take(fa_device_alloc(device, 1000, &there)), "");
  ASSERT_EQ(take(fa_device_alloc(device, 0, &empty)), "");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(there) % 256, 0u);
  EXPECT_TRUE(empty);
  EXPECT_EQ(take(fa_device_fill(device, there, 7, 1000)), "");
  char here[4] = {1, 2, 3, 4};
  EXPECT_EQ(take(fa_device_copy(device, static_cast<char *>(there) + 1, here, 2)), "");
  EXPECT_EQ(take(fa_device_copy(device, here, there, 4)), "");
  EXPECT_EQ(std::string(here, 4), "\7\1\2\7");
  fa_event *begin, *end;
  double seconds = -1;
  ASSERT_EQ(take(fa_event_create(device, &begin)), "");
  ASSERT_EQ(take(fa_event_create(device, &end)), "");
  EXPECT_EQ(take(fa_event_elapsed(begin, end, &seconds)),
            "fa_event_elapsed needs two events that were recorded on one device");
  EXPECT_EQ(take(fa_event_record(begin, nullptr)), "");
  EXPECT_EQ(take(fa_event_record(end, nullptr)), "");
  EXPECT_EQ(take(fa_event_elapsed(begin, end, &seconds)), "");
  EXPECT_GE(seconds, 0);
  fa_device *same;
  fa_event *third;
  ASSERT_EQ(take(fa_device_open(name, &same)), "");
  ASSERT_EQ(take(fa_event_create(same, &third)), "");
  EXPECT_EQ(take(fa_event_record(third, nullptr)), "");
  EXPECT_EQ(take(fa_event_elapsed(begin, third, &seconds)), "");
  fa_event_free(third);
  fa_device_close(same);
  fa_event_free(begin);
  fa_event_free(end);
  uint64_t available = 0, total = 0;
  EXPECT_EQ(take(fa_device_memory(device, &available, &total)), "");
  EXPECT_GT(total, 0u);
  EXPECT_EQ(take(fa_device_synchronize(device)), "");
  EXPECT_EQ(take(fa_device_free(device, there)), "");
  EXPECT_EQ(take(fa_device_free(device, empty)), "");
  EXPECT_EQ(take(fa_device_free(device, nullptr)), "");
  fa_device_close(device);
}

TEST_F(CUDA, DevicesHaveMemoryAndClocks) {
  useDevice("cpu");
  useDevice("cuda:0");
  EXPECT_EQ(fake<size_t()>("fakeAllocated")(), 0u);
}

TEST_F(CUDA, DevicesSayWhatIsWrong) {
  fa_device *device = nullptr;
  EXPECT_EQ(take(fa_device_open("tpu", &device)),
            "unknown device 'tpu': expected cpu, cuda or cuda:N");
  EXPECT_EQ(take(fa_device_open(nullptr, &device)),
            "fa_device_open needs a name and a place for the device, got NULL");
  ASSERT_EQ(take(fa_device_open("cuda", &device)), "");
  fa_device_info info = fa_device_get_info(device);
  EXPECT_STREQ(info.name, "Fake GPU");
  EXPECT_EQ(info.major, 9);
  EXPECT_EQ(info.multiprocessors, 132);
  EXPECT_EQ(info.driver_version, 12040);
  Settings settings("memory=4096,sync=700");
  void *pointer;
  EXPECT_EQ(take(fa_device_alloc(device, 8192, &pointer)),
            "cannot allocate 8192 bytes on device 0 (Fake GPU, compute capability 9.0): "
            "CUDA_ERROR_OUT_OF_MEMORY (as told); free some, or choose smaller sizes");
  EXPECT_EQ(take(fa_device_synchronize(device)),
            "cannot finish the work on device 0 (Fake GPU, compute capability 9.0): "
            "CUDA_ERROR_ILLEGAL_ADDRESS (as told)");
  fa_device_close(device);
}
