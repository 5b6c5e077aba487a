//===- latency.cpp - how long until attention is launched -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// latency [device] [head dim] [causal]: of causal attention with ALiBi and a soft cap, or of causal
// attention
//
// From a spec to a kernel that can be launched: compiled, found on disk, found in
// memory; the host's time of a launch; the process's peak memory. Medians. Each line
// says which caches were on: ours, in a folder that is made for the run, and the
// driver's, which keeps what it makes of PTX. Where there is a ptxas, also with its cubins
// in ours and the driver's disabled, as in a container; and with the seed of packages, where
// there is one (scripts/make_seed.py), alone. The driver reads its settings once, so
// each combination is a process of its own. Where there is no GPU,
// FA_LIBCUDA=build/release/test/unit/libfakecuda.so shows our part of the time.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fa/fa.h>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(const fa::Error &error) {
  if (!error)
    return;
  std::fprintf(stderr, "latency: %s\n", error.message().c_str());
  std::exit(1);
}

/// Record whether attention is causal only.
static bool isPlain = false;

/// Make causal ALiBi with a soft cap, or only causal; each number makes it another program.
static fa::Attention makeSpec(int64_t dim, int number) {
  fa::Attention spec;
  spec.headDim = dim;
  spec.dtype = fa::bf16;
  if (isPlain) {
    // The default is that of the seed.
    if (number >= 0)
      spec.scale = 0.125f + 0.001f * float(number);
    spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
    return spec;
  }
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  spec.score = [=](fa::Score s, auto x) {
    float cap = 30.0f + float(number);
    return cap * tanh((s + slopes[x.h] * (x.j - x.i)) / cap);
  };
  return spec;
}

static double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Return the median of the milliseconds that calls take.
template <typename Function> static double measure(int count, Function function) {
  std::vector<double> times;
  for (int i = 0; i < count; ++i) {
    auto begin = std::chrono::steady_clock::now();
    function(i);
    auto end = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::milli>(end - begin).count());
  }
  return median(times);
}

static double peakMiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

template <typename KernelT> static KernelT take(fa::Expected<KernelT> kernel) {
  if (!kernel)
    check(fa::Error(kernel.error()));
  return *kernel;
}

static fa::Kernel take(const fa::Device &device, int64_t dim, int number) {
  return take(fa::compile(makeSpec(dim, number), device));
}

/// Make tensors of a launch.
static fa::Forward makeArguments(const fa::Kernel &kernel, fa_device *device, int64_t dim,
                                 int64_t length) {
  const int64_t heads = 16, bytes = heads * length * dim * 2;
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
  if (!isPlain)
    args.captures[0] = fa::Tensor(slopes, fa::f32, {heads});
  auto workspace = kernel.workspaceBytes(args);
  if (!workspace)
    check(fa::Error(workspace.error()));
  args.workspaceBytes = *workspace;
  if (*workspace)
    check(fa::Error(fa_device_alloc(device, *workspace, &args.workspace)));
  return args;
}

/// Return the milliseconds that a launch takes of the host while its stream is captured: it waits
/// for the last tier. None where the driver captures nothing.
static std::optional<double> measureCaptured(const fa::Kernel &kernel, const fa::Forward &args) {
  const char *path = std::getenv("FA_LIBCUDA");
  void *driver = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW);
  using Create = int (*)(void **stream, unsigned flags);
  using Begin = int (*)(void *stream, int mode);
  using End = int (*)(void *stream, void **graph);
  auto create = driver ? reinterpret_cast<Create>(dlsym(driver, "cuStreamCreate")) : nullptr;
  auto begin = driver ? reinterpret_cast<Begin>(dlsym(driver, "cuStreamBeginCapture_v2")) : nullptr;
  auto end = driver ? reinterpret_cast<End>(dlsym(driver, "cuStreamEndCapture")) : nullptr;
  constexpr int kNonBlocking = 1, kRelaxed = 2;
  void *stream = nullptr, *graph = nullptr;
  if (!create || !begin || !end || create(&stream, kNonBlocking) || begin(stream, kRelaxed))
    return std::nullopt;
  double time = measure(1, [&](int) { check(kernel.forward(stream, args)); });
  end(stream, &graph);
  return time;
}

/// Measure the first launch, with what the device does, and the host's time of those after it.
static void measureLaunch(const fa::Kernel &kernel, const fa::Device &where, int64_t dim) {
  fa_device *device;
  check(fa::Error(fa_device_open(where.name.c_str(), &device)));
  fa::Forward args = makeArguments(kernel, device, dim, /*length=*/128),
              longer = makeArguments(kernel, device, dim, /*length=*/4096);
  auto launch = [&](const fa::Forward &args) {
    return measure(1, [&](int) {
      check(kernel.forward(nullptr, args));
      check(fa::Error(fa_device_synchronize(device)));
    });
  };
  std::printf("first launch  %10.2f ms, of 4096 queries, right after it was compiled\n",
              launch(longer));
  if (std::optional<double> last = measureCaptured(kernel, longer))
    std::printf("  last tier   %10.2f ms later\n", *last);
  std::printf("  of 128      %10.2f ms, after that\n", launch(args));
  check(kernel.wait());
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

constexpr int kSpecs = 5;

/// Compiles them all, with nothing in any cache; then asks for one of them again.
static void measureCold(const fa::Device &device, int64_t dim) {
  double before = peakMiB();
  // The first one starts the driver.
  double first = measure(1, [&](int) { check(take(device, dim, kSpecs).wait()); });
  std::vector<double> cold, loads, others, gradients, gradientLoads;
  for (int i = 0; i < kSpecs; ++i) {
    std::optional<fa::Kernel> kernel;
    cold.push_back(measure(1, [&](int) { kernel = take(device, dim, i); }));
    loads.push_back(fa_program_get_info(kernel->program()).load_seconds * 1e3);
    // Alone, the next program is compiled.
    others.push_back(measure(1, [&](int) { check(kernel->wait()); }));
    std::optional<fa::BackwardKernel> backward;
    gradients.push_back(
        measure(1, [&](int) { backward = take(fa::compileBackward(makeSpec(dim, i), device)); }));
    gradientLoads.push_back(fa_program_get_info(backward->program()).load_seconds * 1e3);
    check(backward->wait());
  }
  double peak = peakMiB();
  fa_program_info info = fa_program_get_info(take(device, dim, 0).program());
  std::printf("%s for %s, head dim %ld\n", info.target, info.device, long(dim));
  std::printf("cold          %10.2f ms, of which the driver %.2f ms (both caches empty; the driver "
              "keeps nothing)\n",
              median(cold), median(loads));
  std::printf("  the first   %10.2f ms, with the start of the driver and all variants\n", first);
  std::printf("  all variants%10.2f ms later\n", median(others));
  std::printf("gradients     %10.2f ms, of which the driver %.2f ms (as cold)\n", median(gradients),
              median(gradientLoads));
  fa::Attention known = makeSpec(dim, 0);
  constexpr int kRepeats = 1000;
  double memory = measure(21,
                          [&](int) {
                            for (int i = 0; i < kRepeats; ++i)
                              (void)fa::compile(known, device);
                          }) /
                  kRepeats;
  std::printf("in memory     %10.3f us\n", memory * 1e3);
  measureLaunch(take(device, dim, kSpecs + 1), device, dim);
  std::printf("peak memory   %10.1f MiB, %.1f before the compiler\n", peak, before);
}

/// Fills both caches.
static void fill(const fa::Device &device, int64_t dim) {
  for (int i = 0; i < kSpecs; ++i)
    check(take(device, dim, i).wait());
}

/// Measure what the seed has, with nothing in any cache.
static void measureSeed(const fa::Device &device, int64_t dim) {
  fa_device *opened;
  check(fa::Error(fa_device_open(device.name.c_str(), &opened)));
  std::optional<fa::Kernel> kernel;
  std::optional<fa::BackwardKernel> backward;
  double forward = measure(1, [&](int) { kernel = take(device, dim, /*number=*/-1); }),
         gradients = measure(1, [&](int) {
           backward = take(fa::compileBackward(makeSpec(dim, /*number=*/-1), device));
         });
  std::printf("seed          %10.2f ms, gradients %.2f ms (both caches empty; %s)\n", forward,
              gradients,
              std::string(fa_cache_info()).find(" 2 in the seed") != std::string::npos
                  ? "found there"
                  : "not found there, so compiled");
  double all = measure(1, [&](int) {
    check(kernel->wait());
    check(backward->wait());
  });
  std::printf("  all variants%10.2f ms later\n", all);
  measureLaunch(*kernel, device, dim);
}

/// Finds what another process left.
static void measureDisk(const fa::Device &device, int64_t dim, const char *caches) {
  // The driver's start is no part of it.
  fa_device *opened;
  check(fa::Error(fa_device_open(device.name.c_str(), &opened)));
  std::vector<double> times, loads;
  double first = 0;
  for (int i = 0; i < kSpecs; ++i) {
    std::optional<fa::Kernel> kernel;
    times.push_back(measure(1, [&](int) { kernel = take(device, dim, i); }));
    loads.push_back(fa_program_get_info(kernel->program()).load_seconds * 1e3);
    check(kernel->wait());
    first = times.front();
  }
  std::printf("found on disk %10.2f ms, of which the driver %.2f ms (%s)\n", median(times),
              median(loads), caches);
  std::printf("  the first   %10.2f ms\n", first);
  std::string info = fa_cache_info();
  if (info.find(" 0 compiled") == std::string::npos)
    check(fa::Error("programs were compiled that should have been on disk:\n" + info));
}

/// Runs a part of it in a process of its own; whether that ended well.
static bool runPart(const char *part, const char *disableDriverCache, char **argv,
                    const fa::Device &device, int64_t dim) {
  std::fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    setenv("CUDA_CACHE_DISABLE", disableDriverCache, 1);
    std::string number = std::to_string(dim);
    execl("/proc/self/exe", argv[0], part, device.name.c_str(), number.c_str(),
          isPlain ? "causal" : nullptr, nullptr);
    _exit(127);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
  // What was printed stays where it is killed.
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::string part = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
  int at = part.empty() ? 1 : 2;
  fa::Device device{argc > at ? argv[at] : "cuda:0", {}};
  const int64_t dim = argc > at + 1 ? std::atoll(argv[at + 1]) : 128;
  isPlain = argc > at + 2 && std::string(argv[at + 2]) == "causal";
  if (const char *path = std::getenv("FA_LIBCUDA"); path && !part.empty())
    if (void *library = dlopen(path, RTLD_NOW))
      if (void *quiet = dlsym(library, "fakeQuiet"))
        reinterpret_cast<void (*)(bool)>(quiet)(true);
  if (part == "--cold")
    return measureCold(device, dim), 0;
  if (part == "--fill")
    return fill(device, dim), 0;
  if (part == "--disk")
    return measureDisk(device, dim, "both caches full"), 0;
  if (part == "--kept")
    return measureDisk(device, dim, "cubins of ptxas in ours; the driver keeps nothing"), 0;
  if (part == "--seed")
    return measureSeed(device, dim), 0;

  char folder[] = "/tmp/fa-latency-XXXXXX";
  if (!mkdtemp(folder))
    return std::perror("latency: cannot make a folder"), 1;
  auto use = [&](const char *name) {
    setenv("FA_CACHE_DIR", (std::string(folder) + "/" + name).c_str(), 1);
    setenv("CUDA_CACHE_PATH", (std::string(folder) + "/driver").c_str(), 1);
  };
  // Without ptxas, which is measured below.
  std::optional<std::string> ptxas;
  if (const char *named = std::getenv("FA_PTXAS"))
    ptxas = named;
  setenv("FA_PTXAS", "", 1);
  use("cold");
  bool good = runPart("--cold", /*disableDriverCache=*/"1", argv, device, dim);
  use("disk");
  good = good && runPart("--fill", "0", argv, device, dim) &&
         runPart("--disk", "0", argv, device, dim);
  if (isPlain) {
    use("none");
    good = good && runPart("--seed", "1", argv, device, dim);
  }
  if (ptxas)
    setenv("FA_PTXAS", ptxas->c_str(), 1);
  else
    unsetenv("FA_PTXAS");
  use("kept");
  good = good && runPart("--fill", "1", argv, device, dim) &&
         runPart("--kept", "1", argv, device, dim);
  std::string remove = "rm -r " + std::string(folder);
  return std::system(remove.c_str()) != 0 || !good;
}
