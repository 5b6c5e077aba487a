//===- latency.cpp - how long until attention is launched -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// latency [device] [head dim]
//
// From a spec to a kernel that can be launched: compiled, found on disk, found in
// memory; the host's time of a launch; the process's peak memory. Medians. What is
// kept goes to a folder of its own. Where there is no GPU,
// FA_LIBCUDA=build/release/test/unit/libfakecuda.so shows our part of the time.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fa/fa.h>
#include <sys/resource.h>
#include <unistd.h>

static void check(const fa::Error &error) {
  if (!error)
    return;
  std::fprintf(stderr, "latency: %s\n", error.message().c_str());
  std::exit(1);
}

/// Causal ALiBi with a soft cap; each number makes it another program.
static fa::Attention makeSpec(int64_t dim, int number) {
  fa::Attention spec;
  spec.headDim = dim;
  spec.dtype = fa::bf16;
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  spec.score = [=](fa::Score s, auto x) {
    float cap = 30.0f + float(number);
    return cap * tanh((s + slopes[x.h] * (x.j - x.i)) / cap);
  };
  return spec;
}

/// The median of the milliseconds that calls take.
template <typename Function> static double measure(int count, Function function) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    auto begin = std::chrono::steady_clock::now();
    function(i);
    auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

static double peakMiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

static fa::Kernel take(fa::Expected<fa::Kernel> kernel) {
  if (!kernel)
    check(fa::Error(kernel.error()));
  return *kernel;
}

static void measureLaunch(const fa::Kernel &kernel, const fa::Device &where, int64_t dim) {
  const int64_t heads = 16, length = 128, bytes = heads * length * dim * 2;
  fa_device *device;
  check(fa::Error(fa_device_open(where.name.c_str(), &device)));
  fa::Forward args;
  fa::Tensor *const tensors[] = {&args.q, &args.k, &args.v, &args.o};
  for (fa::Tensor *tensor : tensors) {
    void *data;
    check(fa::Error(fa_device_alloc(device, bytes, &data)));
    check(fa::Error(fa_device_fill(device, data, 0, bytes)));
    *tensor = fa::Tensor(data, fa::bf16, {1, heads, length, dim});
  }
  args.lse = fa::Tensor(args.o.data, fa::f32, {1, heads, length});
  void *slopes, *lse;
  check(fa::Error(fa_device_alloc(device, 4 * heads, &slopes)));
  check(fa::Error(fa_device_fill(device, slopes, 0, 4 * heads)));
  check(fa::Error(fa_device_alloc(device, 4 * heads * length, &lse)));
  args.lse.data = lse;
  args.captures[0] = fa::Tensor(slopes, fa::f32, {heads});
  auto workspace = kernel.workspaceBytes(args);
  if (!workspace)
    check(fa::Error(workspace.error()));
  args.workspaceBytes = *workspace;
  if (*workspace)
    check(fa::Error(fa_device_alloc(device, *workspace, &args.workspace)));
  std::vector<double> times;
  for (int round = 0; round < 200; ++round) {
    // Few enough that the queue of the device never fills.
    for (int i = 0; i < (where.name == "cpu" ? 1 : 50); ++i)
      times.push_back(measure(1, [&](int) { check(kernel.forward(nullptr, args)); }));
    check(fa::Error(fa_device_synchronize(device)));
  }
  std::sort(times.begin(), times.end());
  std::printf("launch        %10.2f us, 99 %% within %.2f us%s\n", times[times.size() / 2] * 1e3,
              times[times.size() * 99 / 100] * 1e3,
              where.name == "cpu" ? " (with the computation)" : " on the host");
}

int main(int argc, char **argv) {
  fa::Device device{argc > 1 ? argv[1] : "cuda:0", {}};
  const int64_t dim = argc > 2 ? std::atoll(argv[2]) : 128;
  char folder[] = "/tmp/fa-latency-XXXXXX";
  if (!mkdtemp(folder))
    return std::perror("latency: cannot make a folder"), 1;
  setenv("FA_CACHE_DIR", folder, 1);
  // The driver keeps what it compiles, too.
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  if (const char *path = std::getenv("FA_LIBCUDA"))
    if (void *library = dlopen(path, RTLD_NOW))
      if (void *quiet = dlsym(library, "fakeQuiet"))
        reinterpret_cast<void (*)(bool)>(quiet)(true);

  constexpr int kSpecs = 7;
  double before = peakMiB();
  // The first one starts the driver.
  double first = measure(1, [&](int) { take(fa::compile(makeSpec(dim, kSpecs), device)); });
  double cold = measure(kSpecs, [&](int i) { take(fa::compile(makeSpec(dim, i), device)); });
  double peak = peakMiB();
  // Another name of the text is not known in memory.
  auto fromDisk = [&](int i) {
    auto text = fa::toMLIR(makeSpec(dim, i));
    fa_compile_options options = fa_compile_options_default();
    options.target = device.name.c_str();
    options.source_name = "again";
    fa_program *program;
    check(fa::Error(fa_compile(text->c_str(), text->size(), &options, &program)));
    fa_program_free(program);
  };
  double disk = measure(kSpecs, fromDisk);
  fa::Attention known = makeSpec(dim, 0);
  constexpr int kRepeats = 1000;
  double memory = measure(21,
                          [&](int) {
                            for (int i = 0; i < kRepeats; ++i)
                              take(fa::compile(known, device));
                          }) /
                  kRepeats;
  fa::Kernel kernel = take(fa::compile(known, device));
  fa_program_info info = fa_program_get_info(kernel.program());
  std::printf("%s for %s, head dim %ld\n", info.target, info.device, long(dim));
  std::printf("first         %10.2f ms\n", first);
  std::printf("compiled      %10.2f ms, of which the driver loads for %.2f ms\n", cold,
              info.load_seconds * 1e3);
  std::printf("found on disk %10.2f ms\n", disk);
  std::printf("in memory     %10.3f us\n", memory * 1e3);
  measureLaunch(kernel, device, dim);
  std::printf("peak memory   %10.1f MiB, %.1f before the compiler\n", peak, before);
  std::printf("%s", fa_cache_info());
  std::string remove = "rm -r " + std::string(folder);
  return std::system(remove.c_str());
}
