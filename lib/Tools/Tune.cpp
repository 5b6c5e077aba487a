//===- Tune.cpp - tries what a compilation may choose -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Tools/Tune.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include "fa/Tools/DeviceMemory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir::fa;

/// Less is noise: the default is kept.
static constexpr double kClearlyFaster = 0.98;
/// So many of the fastest are timed again, in turns with the default, so often.
static constexpr size_t kFinalists = 4, kTurns = 3;

void Choices::apply(fa_compile_options &options) const {
  options.rows = rows;
  options.keys = keys;
  options.warps = warps;
  options.stages = stages;
  options.order = order;
  options.leave_out = leaveOut.c_str();
  options.aligned_only = 1;
}

std::string Choices::describe() const {
  std::string text;
  auto add = [&](const llvm::Twine &part) { text += (text.empty() ? "" : ", ") + part.str(); };
  if (rows || keys)
    add(llvm::Twine(rows) + " x " + llvm::Twine(keys));
  if (warps)
    add(llvm::Twine(warps) + " warps");
  if (stages)
    add(llvm::Twine(stages) + (stages == 1 ? " stage" : " stages"));
  if (order)
    add("order " + llvm::Twine(order));
  if (!leaveOut.empty())
    add("no " + leaveOut);
  return text.empty() ? "default" : text;
}

/// Return the options by which fa-run takes them.
static std::string optionsFor(const Choices &choices) {
  std::string text;
  for (auto [name, value] : {std::pair("tile-rows", choices.rows),
                             {"tile-keys", choices.keys},
                             {"tile-warps", choices.warps},
                             {"product-order", choices.order}})
    if (value)
      text += " --" + std::string(name) + "=" + std::to_string(value);
  if (!choices.leaveOut.empty())
    text += " --leave-out=" + choices.leaveOut;
  return text;
}

/// Return the tiles to try.
static std::vector<Choices> tilesFor(llvm::StringRef target) {
  std::vector<Choices> all;
  auto add = [&](int rows, int warps, std::initializer_list<int> keys) {
    for (int count : keys)
      all.push_back({rows, count, warps, 0, 0, ""});
  };
  const nvptx::Target *gpu = nvptx::getTarget(target);
  if (!gpu) {
    for (int rows : {16, 32, 64, 128})
      add(rows, 0, {32, 64, 128, 256});
  } else if (gpu->hasRoles()) {
    // A warpgroup has 64 rows.
    for (int groups : {1, 2, 3})
      add(64 * groups, 4 * groups, {48, 64, 80, 96, 112, 128, 144, 160, 176});
  } else {
    for (int warps : {4, 8})
      for (int rows : {64, 128})
        add(rows, warps, {16, 32, 48, 64, 96, 128});
  }
  return all;
}

/// Return what else to try with the tiles that were fastest.
static std::vector<Choices> schedulesFor(llvm::StringRef target, const Choices &tiles) {
  std::vector<Choices> all;
  const nvptx::Target *gpu = nvptx::getTarget(target);
  if (!gpu)
    return all;
  for (int stages : {1, 2, 3, 4}) {
    all.push_back(tiles);
    all.back().stages = stages;
  }
  // Only asynchronous products have orders.
  if (gpu->asyncProducts)
    for (int order : {1, 2, 3, 4}) {
      all.push_back(tiles);
      all.back().order = order;
    }
  std::vector<llvm::StringRef> passes = {"tile-schedule-grid", "tile-rescale-lazily"};
  if (gpu->hasRoles())
    passes.insert(passes.end(),
                  {"tile-specialize-warps", "tile-pingpong-warpgroups", "tile-make-persistent",
                   "tile-stage-epilogue", "tile-append-row-sum"});
  for (llvm::StringRef pass : passes) {
    all.push_back(tiles);
    all.back().leaveOut = pass.str();
  }
  return all;
}

/// Return how far apart the outputs of two right programs may be, in parts of the largest
/// element: some roundings of the coarsest type that takes part.
static double allowedDifference(const std::vector<HostTensor> &inputs) {
  double epsilon = 0x1p-16;
  for (const HostTensor &input : inputs)
    if (input.dtype == DType::F16 || input.dtype == DType::BF16)
      epsilon = std::max(epsilon, input.dtype == DType::BF16 ? 0x1p-8 : 0x1p-11);
  return 4 * epsilon;
}

/// Return what is wrong with outputs; empty where they agree with those of the default.
static std::string compare(const std::vector<HostTensor> &outputs,
                           const std::vector<HostTensor> &expected, double allowed) {
  for (auto [output, other] : llvm::zip_equal(outputs, expected)) {
    double largest = 1, difference = 0;
    for (int64_t i = 0; i < output.size(); ++i) {
      double a = output.at(i), b = other.at(i);
      bool same = a == b || (std::isnan(a) && std::isnan(b));
      if (!same && !(std::isfinite(a) && std::isfinite(b)))
        return "other infinities or NaN in '" + output.name + "'";
      if (std::isfinite(b))
        largest = std::max(largest, std::fabs(b));
      if (!same)
        difference = std::max(difference, std::fabs(a - b));
    }
    if (difference > allowed * largest)
      return "'" + output.name + "' differs by " + std::to_string(difference);
  }
  return "";
}

namespace {

struct Candidate {
  Choices choices;
  double seconds = 0;
  /// Why it does not count; empty where it does.
  std::string problem;
};

class Search {
public:
  Search(llvm::StringRef text, const fa_compile_options &options,
         const std::vector<HostTensor> &inputs, const OutputShapes &shapes, Placing placing,
         int repeats, llvm::raw_ostream &os)
      : text(text), options(options), inputs(inputs), shapes(shapes), placing(placing),
        repeats(repeats), os(os) {}

  llvm::Expected<Choices> run();

private:
  /// Return the median of a launch; an error where there is none. Outputs may be null.
  llvm::Expected<double> time(const Choices &choices, int launches,
                              std::vector<HostTensor> *outputs);
  llvm::Error measure(const Choices &choices);
  const Candidate *fastest() const;
  llvm::Expected<Choices> decide();

  llvm::StringRef text;
  fa_compile_options options;
  const std::vector<HostTensor> &inputs;
  const OutputShapes &shapes;
  Placing placing;
  int repeats;
  llvm::raw_ostream &os;
  std::string target;
  size_t kernels = 0;
  std::vector<HostTensor> expected;
  std::vector<Candidate> candidates;
};

} // namespace

llvm::Expected<double> Search::time(const Choices &choices, int launches,
                                    std::vector<HostTensor> *outputs) {
  choices.apply(options);
  auto execution = Execution::create(text, options);
  if (!execution)
    return execution.takeError();
  target = fa_program_get_info((*execution)->getProgram()).target;
  // Where the choices ask for too much, what is for other tensors would run instead; so
  // does the default.
  size_t count = fa_program_num_kernels((*execution)->getProgram());
  kernels = std::max(kernels, count);
  if (count < kernels && options.rows + options.keys + options.stages > 0)
    return llvm::createStringError("takes more shared memory than the device has");
  auto outcome = (*execution)->run(inputs, shapes, placing, launches);
  if (!outcome)
    return outcome.takeError();
  if (outputs)
    *outputs = std::move(outcome->outputs);
  llvm::sort(outcome->seconds);
  return outcome->seconds[outcome->seconds.size() / 2];
}

llvm::Error Search::measure(const Choices &choices) {
  Candidate candidate{choices, 0, ""};
  std::vector<HostTensor> outputs;
  auto seconds = time(choices, repeats, &outputs);
  os << llvm::format("  %-44s ", choices.describe().c_str());
  if (seconds) {
    candidate.seconds = *seconds;
    candidate.problem = compare(outputs, expected, allowedDifference(inputs));
    os << llvm::format("%10.3f ms", *seconds * 1e3);
    if (!candidate.problem.empty())
      os << ", does not count: " << candidate.problem;
  } else {
    std::string message = llvm::toString(seconds.takeError());
    candidate.problem = llvm::StringRef(message).split('\n').first.str();
    os << "         -    " << candidate.problem;
  }
  os << "\n";
  bool broken = !seconds.operator bool();
  candidates.push_back(std::move(candidate));
  // A launch that breaks the device fails all others: better to stop.
  if (broken)
    if (auto again = time({}, 1, nullptr); !again)
      return llvm::joinErrors(llvm::createStringError("tuning stops at " + choices.describe() +
                                                      ": " + candidates.back().problem),
                              again.takeError());
  return llvm::Error::success();
}

const Candidate *Search::fastest() const {
  const Candidate *best = &candidates.front();
  for (const Candidate &candidate : candidates)
    if (candidate.problem.empty() && candidate.seconds < best->seconds)
      best = &candidate;
  return best;
}

namespace {

/// Choices that are timed again.
struct Finalist {
  Choices choices;
  std::unique_ptr<Execution> execution;
  std::vector<double> seconds;

  double median() {
    llvm::sort(seconds);
    return seconds[seconds.size() / 2];
  }
};

} // namespace

/// Times the fastest again, in turns with the default: clocks and heat change.
llvm::Expected<Choices> Search::decide() {
  std::vector<const Candidate *> order;
  for (const Candidate &candidate : llvm::drop_begin(candidates))
    if (candidate.problem.empty())
      order.push_back(&candidate);
  llvm::sort(order, [](auto *a, auto *b) { return a->seconds < b->seconds; });
  order.resize(std::min(order.size(), kFinalists));
  order.insert(order.begin(), &candidates.front());
  std::vector<Finalist> finalists;
  for (const Candidate *candidate : order) {
    candidate->choices.apply(options);
    auto execution = Execution::create(text, options);
    if (!execution)
      return execution.takeError();
    finalists.push_back({candidate->choices, std::move(*execution), {}});
  }
  for (size_t turn = 0; turn < kTurns; ++turn)
    for (Finalist &finalist : finalists) {
      auto outcome = finalist.execution->run(inputs, shapes, placing, repeats);
      if (!outcome)
        return outcome.takeError();
      llvm::append_range(finalist.seconds, outcome->seconds);
    }
  double usual = finalists.front().median(), best = usual * kClearlyFaster;
  const Finalist *winner = &finalists.front();
  for (Finalist &finalist : llvm::drop_begin(finalists)) {
    os << llvm::format("again: %-37s %10.3f ms, default %.3f ms\n",
                       finalist.choices.describe().c_str(), finalist.median() * 1e3, usual * 1e3);
    if (finalist.median() < best) {
      best = finalist.median();
      winner = &finalist;
    }
  }
  os << "tuned: " << winner->choices.describe();
  if (winner != &finalists.front())
    os << llvm::format(", %.3f times as fast as the default", usual / best);
  os << "\n";
  return winner->choices;
}

llvm::Expected<Choices> Search::run() {
  // Whether anything can be kept, before time is spent.
  const Choices none;
  none.apply(options);
  if (llvm::Error failed = takeError(fa_keep_choices(text.data(), text.size(), &options)))
    return failed;
  auto usual = time({}, repeats, &expected);
  if (!usual)
    return usual.takeError();
  os << "tuning for " << target << ", median of " << repeats << " launches\n";
  os << llvm::format("  %-44s %10.3f ms\n", "default", *usual * 1e3);
  candidates.push_back({{}, *usual, ""});
  for (const Choices &tiles : tilesFor(target))
    if (llvm::Error failed = measure(tiles))
      return failed;
  Choices tiles = fastest()->choices;
  for (const Choices &schedule : schedulesFor(target, tiles))
    if (llvm::Error failed = measure(schedule))
      return failed;
  llvm::Expected<Choices> winner = decide();
  if (!winner)
    return winner.takeError();
  winner->apply(options);
  if (llvm::Error failed = takeError(fa_keep_choices(text.data(), text.size(), &options)))
    return failed;
  // What takes it, as no later run of this program would say.
  if (std::string flags = optionsFor(*winner); winner->describe() == "default")
    os << "kept: nothing; fa_compile and fa-run take the default\n";
  else
    os << "kept: fa_compile takes it from now on, for this program and device; fa-run "
       << (flags.empty() ? "does not" : "does with" + flags)
       << (winner->stages ? " (it has no option for stages)" : "") << "\n";
  return winner;
}

llvm::Expected<Choices> mlir::fa::tune(llvm::StringRef text, const fa_compile_options &options,
                                       const std::vector<HostTensor> &inputs,
                                       const OutputShapes &shapes, Placing placing, int repeats,
                                       llvm::raw_ostream &os) {
  return Search(text, options, inputs, shapes, placing, repeats, os).run();
}
