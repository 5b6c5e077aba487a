//===- cpu-forward.cpp - checks and times the forward pass on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cpu-forward [--d=64] [--dtype=f32] [--n=1024] [--sq=n] [--heads=1] [--threads=1]
//             [--causal] [--with="window<255, 0>"] [--dropout=0.1] [--cpu=native] [--rows=0]
//             [--keys=0]
//
// Compares rows with float64 (not with --with or --dropout: fa-run --check
// does), then prints the median time of a call. `alibi` and `bias` in --with
// get tensors of their own.
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Runtime/CPUExecutor.h"
#include "fa/Tools/Registry.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/CommandLine.h"
#include <chrono>
#include <random>

using namespace mlir;
namespace cl = llvm::cl;

static cl::opt<int> headSize("d", cl::init(64)), length("n", cl::init(1024)),
    queries("sq", cl::init(0)), heads("heads", cl::init(1)), threads("threads", cl::init(1)),
    rows("rows", cl::init(0)), keys("keys", cl::init(0));
static cl::opt<std::string> dtype("dtype", cl::init("f32")), cpuName("cpu", cl::init("native")),
    with("with");
static cl::opt<double> dropout("dropout", cl::init(0));
static cl::opt<bool> causal("causal");

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static std::string getProgram() {
  std::string d = std::to_string(headSize), t = "tensor<?x?x?x" + d + "x" + dtype + ">";
  std::string l = "tensor<?x?x?xf32>", text = "func.func @f(", captures;
  for (const char *name : {"q", "k", "v"})
    text += std::string(name[0] == 'q' ? "" : ", ") + "%" + name + ": " + t + " {fa.name = \"" +
            name + "\"}";
  std::string sugar = causal ? "causal" : with.getValue();
  for (const char *name : {"alibi", "bias"})
    if (size_t at = sugar.find(name); at != std::string::npos) {
      bool alibi = name[0] == 'a';
      captures += alibi ? ", tensor<?xf32>" : ", tensor<?x?x?xf32>";
      text += alibi ? ", %alibi: tensor<?xf32> {fa.name = \"alibi\", fa.dims = [\"Hq\"]}"
                    : ", %bias: tensor<?x?x?xf32> {fa.name = \"bias\", fa.dims = [\"Hq\", \"Sq\", "
                      "\"Sk\"]}";
      sugar.replace(at, strlen(name), std::string(name) + "(%" + name + ")");
    }
  if (dropout > 0)
    text += ", %p: f32 {fa.name = \"p\"}, %seed: i64 {fa.name = \"seed\"}, %offset: i64 {fa.name = "
            "\"offset\"}";
  text += ") -> (" + t + " {fa.name = \"o\"}, " + l + " {fa.name = \"lse\"}) {\n";
  text += "%o, %lse = fa.attention query(%q) key(%k) value(%v) " +
          (sugar.empty() ? "" : "with [" + sugar + "] ") +
          (dropout > 0 ? "dropout(%p, %seed, %offset)" : "") + " : (" + t + ", " + t + ", " + t +
          captures + (dropout > 0 ? ", f32, i64, i64" : "") + ") -> (" + t + ", " + l + ")\n";
  return text + "return %o, %lse : " + t + ", " + l + "\n}\n";
}

/// A tensor of `dtype`, read and written as double.
struct Data {
  std::vector<uint8_t> bytes;
  const llvm::fltSemantics *semantics;
  int width;
  explicit Data(size_t count)
      : semantics(dtype == "f32"    ? &llvm::APFloat::IEEEsingle()
                  : dtype == "bf16" ? &llvm::APFloat::BFloat()
                                    : &llvm::APFloat::IEEEhalf()),
        width(dtype == "f32" ? 4 : 2) {
    bytes.resize(count * width);
  }
  void set(size_t i, double value) {
    llvm::APFloat x(value);
    bool lost;
    x.convert(*semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
    uint64_t bits = x.bitcastToAPInt().getZExtValue();
    memcpy(&bytes[i * width], &bits, width);
  }
  double get(size_t i) const {
    uint64_t bits = 0;
    memcpy(&bits, &bytes[i * width], width);
    llvm::APFloat x(*semantics, llvm::APInt(8 * width, bits));
    bool lost;
    x.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return x.convertToDouble();
  }
};

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  int sq = queries ? queries : length, sk = length, d = headSize, h = heads;
  double start = now();
  DialectRegistry registry;
  fa::registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(getProgram(), &context);
  fa::CompileOptions options;
  options.rows = rows;
  options.keys = keys;
  if (!module || failed(fa::runPhases(*module, options, "", "tile")))
    return 1;
  double tiled = now();
  auto target = fa::cpu::getTarget(cpuName);
  if (!target) {
    llvm::errs() << "unknown cpu '" << cpuName << "'\n";
    return 1;
  }
  PassManager pm(&context);
  fa::cpu::populateLinalgPipeline(pm);
  fa::cpu::populateVectorPipeline(pm, *target);
  fa::cpu::populateLLVMPipeline(pm, *target);
  if (failed(pm.run(*module)))
    return 1;
  double lowered = now();
  auto executor = llvm::ExitOnError()(fa::cpu::Executor::create(*module, *target));
  double compiled = now();

  Data q(size_t(h) * sq * d), k(size_t(h) * sk * d), v(size_t(h) * sk * d), o(size_t(h) * sq * d);
  std::vector<float> lse(size_t(h) * sq, NAN);
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  for (Data *data : {&q, &k, &v})
    for (size_t i = 0; i < data->bytes.size() / data->width; ++i)
      data->set(i, normal(random));
  auto tensor = [&](Data &data, int64_t s) {
    return fa::cpu::Argument::tensor(data.bytes.data(), {1, h, s, d}, {h * s * d, s * d, d, 1});
  };
  std::vector<fa::cpu::Argument> arguments = {tensor(q, sq), tensor(k, sk), tensor(v, sk)};
  std::vector<float> slopes(h, 0.01f), bias;
  if (StringRef(with).contains("alibi"))
    arguments.push_back(fa::cpu::Argument::tensor(slopes.data(), {h}, {1}));
  if (StringRef(with).contains("bias")) {
    bias.resize(size_t(h) * sq * sk, 0.5f);
    arguments.push_back(
        fa::cpu::Argument::tensor(bias.data(), {h, sq, sk}, {int64_t(sq) * sk, sk, 1}));
  }
  if (dropout > 0) {
    arguments.push_back(fa::cpu::Argument::scalar(static_cast<float>(dropout)));
    arguments.push_back(fa::cpu::Argument::scalar<int64_t>(1));
    arguments.push_back(fa::cpu::Argument::scalar<int64_t>(2));
  }
  arguments.push_back(tensor(o, sq));
  arguments.push_back(fa::cpu::Argument::tensor(lse.data(), {1, h, sq}, {h * sq, sq, 1}));
  fa::cpu::ThreadPool pool(threads);
  auto call = [&] { llvm::ExitOnError()(executor->run("f", arguments, pool)); };
  call();

  double outputError = 0, lseError = 0;
  bool plain = with.empty() && dropout <= 0;
  for (int row = 0; plain && row < h * sq; row += std::max(1, h * sq / 61)) {
    int head = row / sq, i = row % sq, visible = causal ? std::min(sk, i + sk - sq + 1) : sk;
    if (visible <= 0) {
      for (int c = 0; c < d; ++c)
        outputError = std::max(outputError, std::fabs(o.get(size_t(row) * d + c)));
      lseError = std::max(lseError, lse[row] == -INFINITY ? 0.0 : INFINITY);
      continue;
    }
    std::vector<double> s(visible);
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < visible; ++j) {
      for (int c = 0; c < d; ++c)
        s[j] += q.get(size_t(row) * d + c) * k.get((size_t(head) * sk + j) * d + c);
      s[j] /= std::sqrt(double(d));
      most = std::max(most, s[j]);
    }
    for (double &x : s)
      sum += x = std::exp(x - most);
    for (int c = 0; c < d; ++c) {
      double value = 0;
      for (int j = 0; j < visible; ++j)
        value += s[j] * v.get((size_t(head) * sk + j) * d + c);
      double error = std::fabs(value / sum - o.get(size_t(row) * d + c));
      outputError = error <= outputError ? outputError : error; // NaN stays
    }
    double error = std::fabs(most + std::log(sum) - lse[row]);
    lseError = error <= lseError ? lseError : error;
  }

  std::vector<double> times;
  for (double end = now() + 0.6; now() < end || times.size() < 5;) {
    double begin = now();
    call();
    times.push_back(now() - begin);
  }
  llvm::sort(times);
  double median = times[times.size() / 2], work = 4.0 * h * sq * sk * d * (causal ? 0.5 : 1);
  printf("d %d %s %dx%d heads %d threads %d: error o %.1e lse %.1e; %.1f us, %.1f GFLOP/s (best "
         "%.1f); "
         "compiled in %.0f + %.0f + %.0f ms\n",
         d, dtype.c_str(), sq, sk, h, (int)threads, outputError, lseError, median * 1e6,
         work / median * 1e-9, work / times[0] * 1e-9, 1e3 * (tiled - start),
         1e3 * (lowered - tiled), 1e3 * (compiled - lowered));
}
