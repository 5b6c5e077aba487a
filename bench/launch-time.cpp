//===- launch-time.cpp - the host's time of a launch -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// launch-time [device] [target]
//
// Median and 99th percentile of the time that fa_program_launch takes on the
// host, and its calls of malloc: of causal attention as compiled for the device,
// of the same of two packed sequences of half the length, and of a program with a
// tensor map that was written by hand. Where there is no GPU,
// FA_LIBCUDA=build/release/test/unit/libfakecuda.so shows the runtime's part.
//
//===----------------------------------------------------------------------===//

#include "TileProgram.h"
#include "fa/fa_c.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>

// Every malloc of the process comes here.
static thread_local long allocations = 0;
extern "C" {
void *__libc_malloc(size_t);
void *malloc(size_t bytes) {
  ++allocations;
  return __libc_malloc(bytes);
}
}

static const char kCausal[] = R"mlir(
func.func @causal(%q: tensor<?x?x?x128xbf16> {fa.name = "q"},
                  %k: tensor<?x?x?x128xbf16> {fa.name = "k"},
                  %v: tensor<?x?x?x128xbf16> {fa.name = "v"})
    -> (tensor<?x?x?x128xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    : (tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>, tensor<?x?x?x128xbf16>)
    -> (tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x128xbf16>, tensor<?x?x?xf32>
})mlir";

static const char kPacked[] = R"mlir(
func.func @packed(%q: tensor<?x?x128xbf16> {fa.name = "q"},
                  %k: tensor<?x?x128xbf16> {fa.name = "k"},
                  %v: tensor<?x?x128xbf16> {fa.name = "v"},
                  %cu: tensor<?xi32> {fa.name = "cu", fa.dims = ["B+1"]})
    -> (tensor<?x?x128xbf16> {fa.name = "o"}, tensor<?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal]
    sequences(query_starts(%cu) key_starts(%cu))
    : (tensor<?x?x128xbf16>, tensor<?x?x128xbf16>, tensor<?x?x128xbf16>, tensor<?xi32>,
       tensor<?xi32>) -> (tensor<?x?x128xbf16>, tensor<?x?xf32>)
  return %o, %lse : tensor<?x?x128xbf16>, tensor<?x?xf32>
})mlir";

static void check(fa_error *error) {
  if (!error)
    return;
  std::fprintf(stderr, "launch-time: %s\n", fa_error_message(error));
  std::exit(1);
}

static void measure(const char *name, const fa_device *device, const fa_program *program,
                    const std::vector<fa_argument> &arguments) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 200, kLaunches = 50;
  std::vector<double> times;
  uint64_t bytes = 0;
  // So that no thread loads its other variants meanwhile.
  check(fa_program_wait(program));
  check(fa_program_workspace_size(program, arguments.data(), arguments.size(), &bytes));
  void *workspace = nullptr;
  check(fa_device_alloc(device, bytes, &workspace));
  auto launch = [&] {
    check(
        fa_program_launch(program, nullptr, arguments.data(), arguments.size(), workspace, bytes));
  };
  launch();
  check(fa_device_synchronize(device));
  allocations = 0;
  launch();
  long own = allocations;
  for (int round = 0; round < kRounds; ++round) {
    // Few enough that the queue of the device never fills.
    for (int i = 0; i < kLaunches; ++i) {
      auto begin = Clock::now();
      launch();
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
    }
    check(fa_device_synchronize(device));
  }
  std::sort(times.begin(), times.end());
  std::printf("%-8s median %.2f us, 99 %% within %.2f us, %ld calls of malloc\n", name,
              times[times.size() / 2], times[times.size() * 99 / 100], own);
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "cuda";
  if (const char *path = std::getenv("FA_LIBCUDA"))
    if (void *library = dlopen(path, RTLD_NOW))
      if (void *quiet = dlsym(library, "fakeQuiet"))
        reinterpret_cast<void (*)(bool)>(quiet)(true);
  fa_device *device;
  check(fa_device_open(name, &device));

  fa_compile_options options = fa_compile_options_default();
  options.target = argc > 2 ? argv[2] : name;
  options.device = name;
  fa_program *causal;
  check(fa_compile(kCausal, std::strlen(kCausal), &options, &causal));
  const int64_t shape[] = {1, 16, 128, 128};
  const uint64_t bytes = 16 * 128 * 128 * 2;
  const char *const names[] = {"q", "k", "v", "o", "lse"};
  fa_tensor tensors[5];
  std::vector<fa_argument> arguments;
  for (int i = 0; i < 5; ++i) {
    void *data;
    check(fa_device_alloc(device, bytes, &data));
    check(fa_device_fill(device, data, 0, bytes));
    tensors[i] = {data, i < 4 ? FA_BF16 : FA_F32, i < 4 ? 4 : 3, shape, nullptr, 0};
    arguments.push_back({names[i], &tensors[i], 0, 0});
  }
  measure("causal", device, causal, arguments);

  fa_program *packed;
  check(fa_compile(kPacked, std::strlen(kPacked), &options, &packed));
  const int32_t starts[] = {0, 64, 128};
  const int64_t count[] = {3};
  void *cu;
  check(fa_device_alloc(device, sizeof(starts), &cu));
  check(fa_device_copy(device, cu, starts, sizeof(starts)));
  fa_tensor rows[5], begins{cu, FA_I32, 1, count, nullptr, 0};
  std::vector<fa_argument> ofPacked{{"cu", &begins, 0, 0}};
  for (int i = 0; i < 5; ++i) {
    rows[i] = {tensors[i].data, tensors[i].dtype, tensors[i].rank - 1, shape + 1, nullptr, 0};
    ofPacked.push_back({names[i], &rows[i], 0, 0});
  }
  measure("packed", device, packed, ofPacked);

  fa_image image{kTilePTX, std::strlen(kTilePTX)};
  fa_program *tile;
  check(
      fa_program_load(kTileManifest, std::strlen(kTileManifest), &image, 1, nullptr, name, &tile));
  const int64_t yShape[] = {2, 80, 64};
  fa_tensor x{tensors[0].data, FA_F16, 4, shape, nullptr, 0},
      y{tensors[1].data, FA_F16, 3, yShape, nullptr, 0};
  measure("tile", device, tile,
          {{"x", &x, 0, 0},
           {"y", &y, 0, 0},
           {"b", nullptr, 0, 0},
           {"h", nullptr, 0, 1},
           {"row", nullptr, 0, 8}});
  // The process ends: what it holds is freed with it.
  return 0;
}
