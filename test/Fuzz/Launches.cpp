//===- Launches.cpp - launches of compiled programs, right and wrong -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "fa/Tools/Checker.h"
#include "fa/fa_c.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <cmath>
#include <cstring>

using namespace fa_fuzz;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

struct Launcher::Target {
  fa_program *program = nullptr;
  std::unique_ptr<Checker> checker;
};

static std::string text(const std::string &dtype, const std::string &extra, const std::string &with,
                        const std::string &types) {
  std::string t = "tensor<?x?x?x8x" + dtype + ">", r = "(" + t + ", tensor<?x?x?xf32>)";
  return "func.func @f(%q: " + t + " {fa.name = \"q\"}, %k: " + t + " {fa.name = \"k\"}, %v: " + t +
         " {fa.name = \"v\"}" + extra + ") -> " + r +
         " {\n  %o, %lse = fa.attention query(%q) key(%k) value(%v) " + with + " : (" + t + ", " +
         t + ", " + t + types + ") -> " + r + "\n  return %o, %lse : " + t +
         ", tensor<?x?x?xf32>\n}\n";
}

Launcher::Launcher() {
  struct Source {
    std::string text;
    bool standard;
  };
  const Source sources[] = {
      {text("f32", "", "with [causal]", ""), false},
      {text("bf16",
            ", %lens: tensor<?xi32> {fa.name = \"lens\", fa.kind = \"lengths\", fa.dims = [\"B\"]}",
            "with [prefix(%lens)]", ", tensor<?xi32>"),
       false},
      {text("f16", ", %slopes: tensor<?xf32> {fa.name = \"slopes\", fa.dims = [\"Hq\"]}",
            "with [alibi(%slopes)]", ", tensor<?xf32>"),
       false},
      {text("f32",
            ", %p: f32 {fa.name = \"p\"}, %seed: i64 {fa.name = \"seed\"}, %offset: i64 {fa.name = "
            "\"offset\"}",
            "dropout(%p, %seed, %offset)", ", f32, i64, i64"),
       true},
  };
  for (const Source &source : sources) {
    auto target = std::make_unique<Target>();
    fa_compile_options options = fa_compile_options_default();
    options.threads = 1; // nothing that a fork would lose
    options.standard = source.standard;
    if (fa_error *error =
            fa_compile(source.text.data(), source.text.size(), &options, &target->program)) {
      std::fprintf(stderr, "fa-fuzz: %s\n", fa_error_message(error));
      std::exit(1);
    }
    target->checker = llvm::cantFail(Checker::create(source.text));
    targets.push_back(std::move(target));
  }
}

Launcher::~Launcher() {
  for (auto &target : targets)
    fa_program_free(target->program);
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {

constexpr size_t kGuard = 256;
constexpr int64_t kMostElements = 1 << 16;
constexpr std::byte kPoison{0xFF};

const DType kTypes[] = {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I8,
                        DType::I16, DType::I32,  DType::I64, DType::Bool};

/// One argument with its memory between guard bands.
struct Argument {
  std::string name;
  bool isOutput = false, isScalar = false, large = false, overlaps = false;
  DType dtype = DType::F32;
  std::vector<int64_t> shape, strides;
  bool hasStrides = false;
  std::vector<std::byte> memory, before;
  fa_tensor tensor{};
  double f = 0;
  int64_t i = 0;

  /// Allocates what the shape and strides reach.
  void place(Random &random);
  template <typename Function> void forEach(Function function);
};

} // namespace

template <typename Function> void Argument::forEach(Function function) {
  std::vector<int64_t> index(shape.size());
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  for (int64_t n = 0; n < count; ++n) {
    int64_t at = 0;
    for (size_t d = 0; d < shape.size(); ++d)
      at += index[d] * strides[d];
    function(n, kGuard + at * sizeOf(dtype));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        break;
      index[d] = 0;
    }
  }
}

void Argument::place(Random &random) {
  // In double: what overflows is large, and never launched.
  double count = 1, reach = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    count *= double(shape[d]);
    reach += (double(shape[d]) - 1) * double(strides[d]);
    large |= shape[d] < 0 || strides[d] < 0;
  }
  bool empty = count == 0;
  large |= (!empty && (count > kMostElements || reach > kMostElements));
  // Elements share memory unless the strides nest.
  for (size_t d = 0; d < shape.size(); ++d) {
    double inner = 1;
    for (size_t e = 0; e < shape.size(); ++e)
      if (strides[e] < strides[d] || (strides[e] == strides[d] && e > d))
        inner += (double(shape[e]) - 1) * double(strides[e]);
    overlaps |= shape[d] > 1 && double(strides[d]) < inner;
  }
  size_t elements = large || empty ? 0 : size_t(reach);
  memory.assign(elements * sizeOf(dtype) + 2 * kGuard, kPoison);
  if (!large && !isOutput && !empty) {
    HostTensor one = HostTensor::zeros("", dtype, {1});
    forEach([&](int64_t, size_t at) {
      if (isFloat(dtype))
        one.set(0, double(random.between(-100, 100)) / 64);
      else
        one.setInteger(0, random.below(12));
      std::memcpy(memory.data() + at, one.data.data(), sizeOf(dtype));
    });
  }
  before = memory;
  size_t code = 0;
  while (kTypes[code] != dtype)
    ++code;
  tensor = {memory.data(),
            fa_dtype(code),
            int32_t(shape.size()),
            shape.data(),
            hasStrides ? strides.data() : nullptr,
            kGuard};
}

/// Return the shape of an argument by its name.
static std::vector<int64_t> shapeOf(const std::string &name, const std::vector<int64_t> &sizes) {
  int64_t b = sizes[0], hq = sizes[1], hk = sizes[2], sq = sizes[3], sk = sizes[4];
  if (name == "q" || name == "o")
    return {b, hq, sq, 8};
  if (name == "k" || name == "v")
    return {b, hk, sk, 8};
  if (name == "lse")
    return {b, hq, sq};
  return {name == "lens" ? b : hq};
}

static void setStrides(Random &random, Argument &argument, int wrong) {
  size_t rank = argument.shape.size();
  argument.strides.assign(rank, 1);
  argument.hasStrides = random.percent(50);
  std::vector<size_t> order;
  for (size_t d = 0; d < rank; ++d)
    order.push_back(d);
  if (argument.hasStrides && rank == 4 && random.percent(50))
    std::swap(order[1], order[2]);
  int64_t stride = 1;
  for (size_t k = rank; k-- > 0;) {
    size_t d = order[k];
    argument.strides[d] = stride;
    if (__builtin_mul_overflow(stride, std::max<int64_t>(argument.shape[d], 1), &stride))
      stride = INT64_MAX;
    if (argument.hasStrides && random.percent(20) &&
        __builtin_add_overflow(stride, k == 0 ? 0 : random.below(9), &stride))
      stride = INT64_MAX;
    if (argument.hasStrides && !argument.isOutput && d + 1 != rank && random.percent(5))
      argument.strides[d] = 0;
    if (argument.hasStrides && random.percent(wrong))
      argument.strides[d] =
          random.pick({0, 1, 2, -1, 7, INT64_MAX, INT64_MIN, 1 << 30, int64_t(1) << 40});
  }
}

//===----------------------------------------------------------------------===//
// One launch
//===----------------------------------------------------------------------===//

static std::string check(Checker &checker, std::vector<std::unique_ptr<Argument>> &arguments) {
  std::vector<HostTensor> inputs, outputs;
  bool comparable = true;
  for (auto &argument : arguments) {
    HostTensor host = HostTensor::zeros(argument->name, argument->dtype, argument->shape);
    if (argument->isScalar && isFloat(argument->dtype))
      host.set(0, argument->f);
    else if (argument->isScalar)
      host.setInteger(0, argument->i);
    else
      argument->forEach([&](int64_t n, size_t at) {
        std::memcpy(host.data.data() + n * sizeOf(host.dtype), argument->memory.data() + at,
                    sizeOf(host.dtype));
      });
    comparable &= !(argument->isOutput && argument->overlaps);
    (argument->isOutput ? outputs : inputs).push_back(std::move(host));
  }
  if (!comparable || llvm::all_of(outputs, [](auto &output) { return output.size() == 0; }))
    return "";
  // In the order of the entry; a program names scalars where it likes.
  auto entry = checker.getAttention()->getParentOfType<mlir::func::FuncOp>();
  auto placeOf = [&](const HostTensor &tensor) {
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (auto name = entry.getArgAttrOfType<mlir::StringAttr>(i, FADialect::kNameAttr))
        if (name.getValue() == tensor.name)
          return i;
    return entry.getNumArguments();
  };
  llvm::sort(inputs, [&](auto &a, auto &b) { return placeOf(a) < placeOf(b); });
  auto judgements = checker.judge(inputs, outputs);
  if (!judgements)
    return "the reference refuses a launch that ran: " + llvm::toString(judgements.takeError());
  for (auto [judged, output] : llvm::zip(*judgements, outputs))
    if (std::string problem = problemOf(judged.first, judged.second, output.dtype);
        !problem.empty())
      return problem;
  return "";
}

Outcome Launcher::run(Random &random, std::string &trace) {
  Outcome outcome;
  Target &target = *targets[random.below(targets.size())];
  int wrong = random.percent(40) ? 0 : random.percent(50) ? 2 : 8;
  int64_t hk = random.between(1, 3);
  std::vector<int64_t> sizes = {random.between(0, 3), hk * random.between(1, 3), hk,
                                random.between(0, 40), random.between(0, 40)};
  auto extreme = [&](int64_t &size) {
    if (random.percent(wrong))
      size = random.pick({0, 1, -1, 3, 9, 1 << 20, INT32_MAX, int64_t(1) << 31, int64_t(1) << 62,
                          INT64_MAX, INT64_MIN});
  };
  for (int64_t &size : sizes)
    extreme(size);

  std::vector<std::unique_ptr<Argument>> arguments;
  std::vector<fa_argument> bound;
  bool large = false, broken = false;
  for (size_t n = 0; n < fa_program_num_arguments(target.program); ++n) {
    fa_argument_info info = fa_program_argument(target.program, n);
    arguments.push_back(std::make_unique<Argument>());
    Argument &argument = *arguments.back();
    argument.name = info.name;
    argument.isOutput = info.kind == FA_OUTPUT;
    argument.isScalar = info.kind == FA_SCALAR;
    argument.dtype = kTypes[info.dtype];
    argument.f = random.percent(wrong) ? random.percent(50) ? std::nan("") : 1e300 : 0.3;
    argument.i = random.percent(50) ? int64_t(random.next()) : 7;
    bound.push_back({argument.name.c_str(), nullptr, argument.f, argument.i});
    if (argument.isScalar)
      continue;
    argument.shape = shapeOf(argument.name, sizes);
    for (int64_t &size : argument.shape)
      extreme(size);
    setStrides(random, argument, wrong);
    argument.place(random);
    large |= argument.large;
    bound.back().tensor = &argument.tensor;
    fa_tensor &tensor = argument.tensor;
    if (random.percent(wrong)) {
      broken = true;
      switch (random.below(6)) {
      case 0:
        tensor.data = nullptr;
        tensor.byte_offset = 0;
        break;
      case 1:
        tensor.dtype = fa_dtype(random.pick({0, 1, 2, 3, 4, 8, 9, -1, 1000}));
        break;
      case 2: // never more than the shape has
        tensor.rank = random.pick({0, 1, 2, 3, -1, INT32_MIN});
        break;
      case 3:
        tensor.shape = nullptr;
        break;
      case 4:
        tensor.byte_offset += 1;
        break;
      default:
        bound.back().tensor = nullptr;
      }
    }
  }
  if (random.percent(wrong)) {
    broken = true;
    size_t at = random.below(bound.size());
    switch (random.below(5)) {
    case 0:
      bound.erase(bound.begin() + at);
      break;
    case 1:
      bound.push_back(bound[at]);
      break;
    case 2:
      bound[at].name = nullptr;
      break;
    case 3:
      bound[at].name = "nobody";
      break;
    default:
      std::swap(bound[0].tensor, bound[random.below(3)].tensor); // only inputs
    }
  }
  for (auto &argument : arguments) {
    trace += argument->name + " (";
    for (size_t d = 0; d < argument->shape.size(); ++d)
      trace +=
          std::to_string(argument->shape[d]) + ":" + std::to_string(argument->strides[d]) + " ";
    trace += argument->hasStrides ? ") " : "; contiguous) ";
  }
  trace += broken ? "broken\n" : "\n";

  uint64_t bytes = 0;
  fa_error *error = fa_program_workspace_size(target.program, bound.data(), bound.size(), &bytes);
  std::vector<std::byte> workspace;
  std::byte *aligned = nullptr;
  // Pointers cannot be checked: what takes more memory than there is, is only asked about.
  if (!error && !large && bytes < (1 << 26)) {
    workspace.assign(bytes + 2 * kGuard + 64, kPoison);
    uintptr_t start = (reinterpret_cast<uintptr_t>(workspace.data()) + kGuard + 63) / 64 * 64;
    aligned = reinterpret_cast<std::byte *>(start);
    uint64_t given = bytes;
    std::byte *pointer = bytes || random.percent(50) ? aligned : nullptr;
    if (bytes && random.percent(wrong))
      given = random.below(bytes);
    else if (bytes && random.percent(wrong))
      pointer += 1;
    error = fa_program_launch(target.program, nullptr, bound.data(), bound.size(), pointer, given);
    outcome.ran = !error;
    for (size_t i = 0; aligned + bytes + i < workspace.data() + workspace.size(); ++i)
      if (aligned[bytes + i] != kPoison)
        outcome.failure = "written after the workspace";
    for (std::byte *at = workspace.data(); at < aligned; ++at)
      if (*at != kPoison)
        outcome.failure = "written before the workspace";
  }
  if (error) {
    outcome.rejected = true;
    outcome.message = fa_error_message(error);
    fa_error_free(error);
    if (outcome.message.empty())
      outcome.failure = "an error without a message";
  }
  for (auto &argument : arguments) {
    if (argument->isScalar)
      continue;
    bool mayWrite = argument->isOutput && outcome.ran;
    size_t from = mayWrite ? kGuard : argument->memory.size(),
           to = argument->memory.size() - kGuard;
    for (size_t i = 0; i < argument->memory.size(); ++i)
      if ((i < from || i >= to) && argument->memory[i] != argument->before[i])
        outcome.failure = "written outside of '" + argument->name + "'";
    // Between the rows nothing is written either.
    if (mayWrite && !argument->large) {
      std::vector<bool> own(argument->memory.size());
      argument->forEach([&](int64_t, size_t at) {
        std::fill_n(own.begin() + at, sizeOf(argument->dtype), true);
      });
      for (size_t i = 0; i < own.size(); ++i)
        if (!own[i] && argument->memory[i] != kPoison)
          outcome.failure = "written between the rows of '" + argument->name + "'";
    }
  }
  if (outcome.ran && outcome.failure.empty() && !broken) {
    outcome.failure = check(*target.checker, arguments);
    outcome.compared = true;
  }
  return outcome;
}
