//===- SequenceTests.cpp - sequences in a row and lengths, against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no sequence has is NaN in all inputs, and so are the keys and values of each odd sequence
// where a case says so. Outputs begin as NaN, which the reference has for rows of no sequence: who
// reads too much or writes too much is seen.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Reference.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Execution.h"
#include "fa/Tools/Interpretation.h"
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir::fa;

namespace {

using Numbers = std::vector<int64_t>;

/// One program, and what its starts and lengths are; an empty list is one that it does not take.
struct Case {
  std::string name, dtype, with;
  Numbers queryStarts, keyStarts, queryLengths, keyLengths;
  /// Rows of a tensor, or of each batch where there are no starts.
  int64_t queries = 0, keys = 0;
  int64_t batch = 0, hq = 4, hk = 2, d = 64;
  bool dropout = false, sink = false, poison = false;
  /// Sizes of a bias; empty without one.
  Numbers bias;
  std::string integer = "i32";

  std::string text() const;
  std::vector<HostTensor> inputs() const;
};

std::string tensorType(const Numbers &shape, const std::string &element) {
  std::string text = "tensor<";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d + 1 == shape.size() || (shape.size() == 3 && d == 0) || (shape.size() == 4 && d == 1)
                 ? std::to_string(shape[d])
                 : std::string("?")) +
            "x";
  return text + element + ">";
}

} // namespace

std::string Case::text() const {
  auto side = [&](bool inRow, int64_t heads, int64_t length) {
    return tensorType(inRow ? Numbers{heads, length, d} : Numbers{batch, heads, length, d}, dtype);
  };
  std::string q = side(!queryStarts.empty(), hq, queries), k = side(!keyStarts.empty(), hk, keys);
  std::string lse =
      (queryStarts.empty() ? "tensor<?x" : "tensor<") + std::to_string(hq) + "x?xf32>";
  std::string numbers = "tensor<?x" + integer + ">";
  std::string arguments = "%q: " + q + " {fa.name = \"q\"}, %k: " + k +
                          " {fa.name = \"k\"}, %v: " + k + " {fa.name = \"v\"}";
  std::string types = q + ", " + k + ", " + k, clauses, sequences;
  if (with.find("slopes") != std::string::npos) {
    arguments += ", %slopes: tensor<?xf32> {fa.name = \"slopes\"}";
    types += ", tensor<?xf32>";
  }
  if (!bias.empty()) {
    arguments += ", %bias: tensor<?x?x?x?xf32> {fa.name = \"bias\", "
                 "fa.dims = [\"\", \"\", \"\", \"\"]}";
    types += ", tensor<?x?x?x?xf32>";
  }
  if (!with.empty())
    clauses += " with [" + with + "]";
  if (sink) {
    arguments += ", %z: tensor<" + std::to_string(hq) + "xf32> {fa.name = \"z\"}";
    types += ", tensor<" + std::to_string(hq) + "xf32>";
    clauses += " sink(%z)";
  }
  for (auto &[part, given] :
       {std::pair<std::string, const Numbers &>("query_starts", queryStarts),
        std::pair<std::string, const Numbers &>("key_starts", keyStarts),
        std::pair<std::string, const Numbers &>("query_lengths", queryLengths),
        std::pair<std::string, const Numbers &>("key_lengths", keyLengths)}) {
    if (given.empty())
      continue;
    arguments += ", %" + part + ": " + numbers + " {fa.name = \"" + part + "\"}";
    types += ", " + numbers;
    sequences += (sequences.empty() ? "" : " ") + part + "(%" + part + ")";
  }
  clauses += " sequences(" + sequences + ")";
  if (dropout) {
    arguments += ", %p: f32 {fa.name = \"p\"}, %seed: i64 {fa.name = \"seed\"}, "
                 "%offset: i64 {fa.name = \"offset\"}";
    types += ", f32, i64, i64";
    clauses += " dropout(%p, %seed, %offset)";
  }
  return "func.func @packed(" + arguments + ") -> (" + q + " {fa.name = \"o\"}, " + lse +
         " {fa.name = \"lse\"}) {\n  %o, %lse = fa.attention query(%q) key(%k) value(%v)" +
         clauses + "\n    : (" + types + ") -> (" + q + ", " + lse + ")\n  return %o, %lse : " + q +
         ", " + lse + "\n}\n";
}

/// Return the rows of sequence b, of `count`.
static std::pair<int64_t, int64_t> partOf(const Numbers &starts, const Numbers &lengths,
                                          int64_t count, int64_t b) {
  int64_t first = starts.empty() ? 0 : std::clamp<int64_t>(starts[b], 0, count);
  int64_t end = starts.empty() ? count : std::clamp<int64_t>(starts[b + 1], first, count);
  if (!lengths.empty())
    end = first + std::clamp<int64_t>(lengths[b], 0, end - first);
  return {first, end};
}

std::vector<HostTensor> Case::inputs() const {
  DType type = dtype == "f32" ? DType::F32 : dtype == "f16" ? DType::F16 : DType::BF16;
  uint64_t state = 12345;
  auto next = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(static_cast<int64_t>(state) >> 32) * 0x1p-31;
  };
  int64_t sequences = !queryStarts.empty() ? queryStarts.size() - 1
                      : !keyStarts.empty() ? keyStarts.size() - 1
                                           : batch;
  auto side = [&](const char *name, const Numbers &starts, const Numbers &lengths, int64_t heads,
                  int64_t length, bool poisoned) {
    HostTensor tensor = HostTensor::zeros(
        name, type, starts.empty() ? Numbers{batch, heads, length, d} : Numbers{heads, length, d});
    std::vector<double> numbers(tensor.size());
    for (double &number : numbers)
      number = 2 * next();
    for (int64_t e = 0; e < tensor.size(); ++e)
      tensor.set(e, std::nan(""));
    for (int64_t b = 0; b < sequences; ++b) {
      auto [first, end] = partOf(starts, lengths, length, b);
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t row = first; row < end; ++row)
          for (int64_t e = 0; e < d; ++e) {
            int64_t at = (((starts.empty() ? b * heads : 0) + h) * length + row) * d + e;
            tensor.set(at, poisoned && b % 2 ? std::nan("") : numbers[at]);
          }
    }
    return tensor;
  };
  std::vector<HostTensor> all;
  all.push_back(side("q", queryStarts, queryLengths, hq, queries, false));
  all.push_back(side("k", keyStarts, keyLengths, hk, keys, poison));
  all.push_back(side("v", keyStarts, keyLengths, hk, keys, poison));
  auto vector = [&](const char *name, DType element, const Numbers &numbers) {
    all.push_back(HostTensor::zeros(name, element, {static_cast<int64_t>(numbers.size())}));
    for (size_t i = 0; i < numbers.size(); ++i)
      isFloat(element) ? all.back().set(i, 0.1 * numbers[i]) : all.back().setInteger(i, numbers[i]);
  };
  Numbers ofHeads(hq);
  std::iota(ofHeads.begin(), ofHeads.end(), 1);
  if (with.find("slopes") != std::string::npos)
    vector("slopes", DType::F32, ofHeads);
  if (!bias.empty()) {
    all.push_back(HostTensor::zeros("bias", DType::F32, bias));
    for (int64_t e = 0; e < all.back().size(); ++e)
      all.back().set(e, next());
  }
  if (sink)
    vector("z", DType::F32, ofHeads);
  DType numbers = integer == "i64" || integer == "index" ? DType::I64 : DType::I32;
  for (auto &[name, given] :
       {std::pair<const char *, const Numbers &>("query_starts", queryStarts),
        std::pair<const char *, const Numbers &>("key_starts", keyStarts),
        std::pair<const char *, const Numbers &>("query_lengths", queryLengths),
        std::pair<const char *, const Numbers &>("key_lengths", keyLengths)})
    if (!given.empty())
      vector(name, numbers, given);
  if (dropout) {
    all.push_back(HostTensor::zeros("p", DType::F32, {}));
    all.back().set(0, 0.3);
    all.push_back(HostTensor::zeros("seed", DType::I64, {}));
    all.back().setInteger(0, 77);
    all.push_back(HostTensor::zeros("offset", DType::I64, {}));
  }
  return all;
}

namespace {
/// Cases of queries and keys with the same starts.
struct Cases : std::vector<Case> {
  Case &add(const char *name, const char *dtype, Numbers starts, int64_t tokens,
            const char *with = "causal") {
    Case &c = emplace_back();
    c.name = std::string(name) + "_" + dtype;
    c.dtype = dtype;
    c.with = with;
    c.queryStarts = c.keyStarts = std::move(starts);
    c.queries = c.keys = tokens;
    return c;
  }
  /// Add keys in a row beside queries of a batch, and the other way round.
  void addOneSided(const char *dtype, int64_t queriesOfOne, int64_t packed, Numbers keyStarts,
                   const char *causal, const char *with) {
    Case &keys = add("packed_keys", dtype, {}, queriesOfOne, causal);
    keys.batch = 3;
    keys.keys = keyStarts.back() + 10;
    keys.keyStarts = std::move(keyStarts);
    Case &queries = add("packed_queries", dtype, {0, 3, 70, 70}, packed, with);
    queries.batch = 3;
    queries.keyStarts = {};
    queries.keys = 66;
    queries.keyLengths = {66, 1, 30};
  }
};
} // namespace

static std::vector<Case> makeCases() {
  Cases cases;
  Numbers some{0, 0, 5, 5, 5, 5, 70, 133, 200, 200}, ones(301);
  std::iota(ones.begin(), ones.end(), 0);
  for (const char *dtype : {"f32", "f16"}) {
    // Empty sequences first, last and three in a row.
    cases.add("some", dtype, some, 200);
    cases.add("neighbours", dtype, some, 200).poison = true;
    // The interpreter takes long for many blocks of large tiles.
    bool few = std::string(dtype) != "f32";
    cases.add("ones", dtype, few ? Numbers(ones.begin(), ones.begin() + 21) : ones, few ? 20 : 300);
    // Tokens before the first sequence and behind the last one.
    cases.add("inside", dtype, {70, 75, 140, 150}, 190, "alibi(%slopes)").poison = true;
    Case &other = cases.add("other_keys", dtype, {0, 10, 10, 90}, 90, "causal");
    other.keyStarts = {0, 130, 140, 140};
    other.keys = 140;
    Case &lengths = cases.add("lengths", dtype, some, 200, "");
    lengths.queryLengths = {0, 3, 0, 0, 9, 60, 0, 100, -4};
    lengths.keyLengths = {1, 5, 0, 0, 0, 40, 63, 66, 2};
    lengths.poison = true;
    Case &padded = cases.add("padded", dtype, {}, 90, "causal");
    padded.batch = 3;
    padded.keys = 130;
    padded.queryLengths = {90, 0, 17};
    padded.keyLengths = {40, 130, 129};
    cases.addOneSided(dtype, 70, 70, {0, 65, 65, 200}, "causal", "");
    Case &dropped = cases.add("dropout", dtype, some, 200, "causal");
    dropped.dropout = true;
    dropped.integer = "i64";
    Case &sunk = cases.add("sink", dtype, {0, 33, 33, 100}, 100, "window<20, 0>");
    sunk.sink = true;
    sunk.d = 40;
    sunk.integer = "index";
  }
  return std::move(cases);
}

/// Return the cases of gradients: fewer heads, for the interpreter takes long.
static std::vector<Case> makeGradientCases() {
  Cases cases;
  Numbers some{0, 0, 5, 5, 5, 5, 70, 103, 120, 120}, ones(301);
  std::iota(ones.begin(), ones.end(), 0);
  for (const char *dtype : {"f32", "f16"}) {
    bool few = std::string(dtype) != "f32";
    // A captured gradient: rows and keys of no sequence add nothing.
    cases.add("slopes", dtype, {3, 3, 8, 8, 8, 8, 73, 106, 106}, 120, "causal, alibi(%slopes)");
    cases.add("neighbours", dtype, some, 120).poison = true;
    Case &one = cases.add("ones", dtype, few ? Numbers(ones.begin(), ones.begin() + 9) : ones,
                          few ? 8 : 300);
    one.hq = 1;
    one.d = 8;
    Case &lengths = cases.add("lengths", dtype, some, 120, "");
    lengths.queryLengths = {0, 3, 0, 0, 9, 60, 0, 17, -4};
    lengths.keyLengths = {1, 5, 0, 0, 0, 40, 33, 16, 2};
    lengths.poison = true;
    Case &padded = cases.add("padded", dtype, {}, 70, "causal, alibi(%slopes)");
    padded.batch = 3;
    padded.keys = 90;
    padded.queryLengths = {70, 0, 17};
    padded.keyLengths = {40, 90, 66};
    cases.addOneSided(dtype, 40, 80, {0, 65, 65, 100}, "causal, alibi(%slopes)", "alibi(%slopes)");
    // A scatter: a bias at positions of each sequence, some of them beyond it.
    Case &biased = cases.add("bias", dtype, {0, 33, 33, 80}, 90, "causal, bias(%bias)");
    biased.bias = {3, 2, 40, 50};
    Case &sunk = cases.add("sink", dtype, {0, 33, 33, 80}, 90, "window<20, 0>");
    sunk.sink = sunk.dropout = true;
    sunk.d = 40;
    sunk.integer = "index";
  }
  for (Case &c : cases) {
    c.hq = std::min<int64_t>(c.hq, 2);
    c.hk = 1;
    c.d = std::min<int64_t>(c.d, 32);
  }
  return std::move(cases);
}

/// Starts that fall, are negative or exceed the tensor.
static Case makeSenseless() {
  Case c;
  c.dtype = "f16";
  c.with = "causal";
  c.queryStarts = {5, 3, 40, 100000, -7, 20, 90, 80};
  c.keyStarts = {-5, 70, 40, 2000000000, -7, 1, 64, 90};
  c.queryLengths = {3, -1, 100000, 7, 0, 90, 1000};
  c.queries = c.keys = 64;
  return c;
}

namespace {
class Sequences : public testing::TestWithParam<Case> {};
class SequenceGradients : public testing::TestWithParam<Case> {};
} // namespace

/// Judge outputs, of which there must be two.
static void expectPassed(Checker &checker, const std::vector<HostTensor> &inputs,
                         llvm::Expected<std::vector<HostTensor>> outputs) {
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  auto judged = checker.judge(inputs, *outputs);
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  EXPECT_EQ(judged->size(), 2u);
  for (auto &[name, judgement] : *judged)
    EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
}

static llvm::Expected<OutputShapes> shapesOf(Checker &checker,
                                             const std::vector<HostTensor> &inputs, bool backward) {
  if (backward)
    return checker.gradientShapes(inputs);
  return checker.outputShapes(inputs);
}

/// Run a case on the CPU.
static llvm::Expected<std::vector<HostTensor>> runOnCPU(const Case &c, Checker &checker,
                                                        const std::vector<HostTensor> &inputs,
                                                        bool backward = false) {
  fa_compile_options options = fa_compile_options_default();
  options.threads = 2;
  options.backward = backward;
  auto shapes = shapesOf(checker, inputs, backward);
  if (!shapes)
    return shapes.takeError();
  auto execution = Execution::create(c.text(), options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(inputs, *shapes);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// Run the schedule of a target.
static llvm::Expected<std::vector<HostTensor>> interpret(const Case &c, const char *target,
                                                         Checker &checker,
                                                         const std::vector<HostTensor> &inputs,
                                                         bool backward = false) {
  CompileOptions options;
  options.target = target;
  if (backward)
    options.backward = CompileOptions::Backward::Only;
  auto shapes = shapesOf(checker, inputs, backward);
  if (!shapes)
    return shapes.takeError();
  auto program = Interpretation::create(c.text(), options);
  if (!program)
    return program.takeError();
  return (*program)->run(inputs, *shapes, HeadLayout::BHSD, /*seed=*/3);
}

TEST_P(Sequences, MatchTheReferenceOnTheCPU) {
  const Case &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  expectPassed(**checker, inputs, runOnCPU(c, **checker, inputs));
}

TEST_P(Sequences, MatchTheReferenceWhenScheduled) {
  const Case &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  for (const char *target : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(target);
    expectPassed(**checker, inputs, interpret(c, target, **checker, inputs));
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Sequences, testing::ValuesIn(makeCases()),
                         [](const auto &info) { return info.param.name; });

/// Return what a backward takes: inputs, outputs and adjoints.
static std::vector<HostTensor> join(std::vector<HostTensor> inputs,
                                    const std::vector<HostTensor> &outputs,
                                    const std::vector<HostTensor> &adjoints) {
  llvm::append_range(inputs, outputs);
  llvm::append_range(inputs, adjoints);
  return inputs;
}

/// Draw dO, which is NaN in rows of no sequence, as outputs are there.
static std::vector<HostTensor> makeAdjoints(Checker &checker, const std::vector<HostTensor> &inputs,
                                            const std::vector<HostTensor> &outputs) {
  std::vector<HostTensor> adjoints = llvm::cantFail(checker.sampleAdjoints(inputs, false, 5));
  for (int64_t row = 0; row < outputs[1].size(); ++row)
    if (std::isnan(outputs[1].at(row)))
      for (int64_t e = 0, d = adjoints[0].shape.back(); e < d; ++e)
        adjoints[0].set(row * d + e, std::nan(""));
  return adjoints;
}

/// Judge gradients of everything that is of floats, made by `run` of what the forward wrote.
static void expectGradients(
    const Case &c, llvm::Expected<std::vector<HostTensor>> outputs, Checker &checker,
    llvm::function_ref<llvm::Expected<std::vector<HostTensor>>(const std::vector<HostTensor> &)>
        run) {
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  std::vector<HostTensor> adjoints = makeAdjoints(checker, inputs, *outputs);
  auto gradients = run(join(inputs, *outputs, adjoints));
  ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  auto judged = checker.judgeGradients(inputs, adjoints, *gradients);
  ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
  bool captures = c.with.find('%') != std::string::npos;
  EXPECT_EQ(judged->size(), 3u + captures + c.sink);
  for (auto &[name, judgement] : *judged)
    EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
}

TEST_P(SequenceGradients, MatchTheReferenceOnTheCPU) {
  const Case &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  expectGradients(c, runOnCPU(c, **checker, c.inputs()), **checker,
                  [&](const std::vector<HostTensor> &all) {
                    return runOnCPU(c, **checker, all, /*backward=*/true);
                  });
}

TEST_P(SequenceGradients, MatchTheReferenceWhenScheduled) {
  const Case &c = GetParam();
  SCOPED_TRACE(c.text());
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  // Operands of f32 have one schedule.
  for (const char *target : {"sm_80", "sm_90a"}) {
    if (c.dtype == "f32" && std::string(target) != "sm_80")
      continue;
    SCOPED_TRACE(target);
    expectGradients(c, runOnCPU(c, **checker, c.inputs()), **checker,
                    [&](const std::vector<HostTensor> &all) {
                      return interpret(c, target, **checker, all, /*backward=*/true);
                    });
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, SequenceGradients, testing::ValuesIn(makeGradientCases()),
                         [](const auto &info) { return info.param.name; });

/// Gradients of sequences have the same bits in each of many launches.
TEST(SequenceBits, AreTheSameInEachLaunch) {
  constexpr int kTimes = 250;
  for (const Case &c : makeGradientCases()) {
    // Scatters add in any order.
    if (c.queryStarts.empty() || c.keyStarts.empty() || c.bias.size() + c.poison || c.d < 32)
      continue;
    SCOPED_TRACE(c.text());
    auto checker = Checker::create(c.text());
    ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
    std::vector<HostTensor> inputs = c.inputs();
    auto outputs = runOnCPU(c, **checker, inputs);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    OutputShapes shapes = (*checker)->gradientShapes(inputs);
    inputs = join(inputs, *outputs, makeAdjoints(**checker, inputs, *outputs));
    fa_compile_options options = fa_compile_options_default();
    options.threads = 2;
    options.backward = options.deterministic = 1;
    auto execution = Execution::create(c.text(), options);
    ASSERT_TRUE(bool(execution)) << llvm::toString(execution.takeError());
    EXPECT_EQ(llvm::toString((*execution)->repeat(inputs, shapes, kTimes)), "");
  }
}

/// Guard bands stand around what the CPU runs on, and the interpreter refuses slices that leave a
/// view.
TEST(SenselessStarts, StayInsideOfTensors) {
  Case c = makeSenseless();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  auto outputs = runOnCPU(c, **checker, inputs);
  EXPECT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto interpreted = interpret(c, target, **checker, inputs);
    EXPECT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
  }
}

/// Each sequence of a packed call gets what it gets alone, to the last bit, dropout included: its
/// number is all that is of the others.
TEST(PackedCall, IsThatOfPaddedSequences) {
  Case packed;
  packed.dtype = "f32";
  packed.with = "causal";
  packed.queryStarts = packed.keyStarts = {0, 37, 37, 120};
  packed.queries = packed.keys = 120;
  packed.dropout = true;
  Case padded = packed;
  padded.queryStarts = padded.keyStarts = {};
  padded.batch = 3;
  padded.queries = padded.keys = 90;
  padded.queryLengths = padded.keyLengths = {37, 0, 83};
  std::vector<HostTensor> from = packed.inputs(), to = padded.inputs();
  for (unsigned i = 0; i < 3; ++i) {
    int64_t heads = from[i].shape[0];
    for (int64_t b = 0; b < 3; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t row = 0; row < padded.queryLengths[b]; ++row)
          for (int64_t e = 0; e < packed.d; ++e)
            to[i].set(((b * heads + h) * 90 + row) * packed.d + e,
                      from[i].at((h * 120 + packed.queryStarts[b] + row) * packed.d + e));
  }
  auto checkPacked = Checker::create(packed.text()), checkPadded = Checker::create(padded.text());
  ASSERT_TRUE(checkPacked && checkPadded);
  auto a = runOnCPU(packed, **checkPacked, from), b = runOnCPU(padded, **checkPadded, to);
  ASSERT_TRUE(bool(a)) << llvm::toString(a.takeError());
  ASSERT_TRUE(bool(b)) << llvm::toString(b.takeError());
  int64_t compared = 0;
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t h = 0; h < packed.hq; ++h)
      for (int64_t row = 0; row < padded.queryLengths[n]; ++row)
        for (int64_t e = 0; e < packed.d; ++e, ++compared)
          ASSERT_EQ((*a)[0].at((h * 120 + packed.queryStarts[n] + row) * packed.d + e),
                    (*b)[0].at(((n * packed.hq + h) * 90 + row) * packed.d + e));
  EXPECT_EQ(compared, 120 * packed.hq * packed.d);

  // So it is in the reference.
  auto referenceOf = [](Checker &checker, const std::vector<HostTensor> &inputs) {
    AttentionOp op = checker.getAttention();
    return llvm::cantFail(referenceAttention(op, llvm::cantFail(bindArguments(op, inputs))));
  };
  AttentionResult x = referenceOf(**checkPacked, from), y = referenceOf(**checkPadded, to);
  for (int64_t n = 0; n < 3; ++n)
    for (int64_t h = 0; h < packed.hq; ++h)
      for (int64_t row = 0; row < 90; ++row) {
        double lse = y.lse[(n * packed.hq + h) * 90 + row];
        EXPECT_EQ(std::isnan(lse), row >= padded.queryLengths[n]);
        if (row < padded.queryLengths[n])
          EXPECT_EQ(x.lse[h * 120 + packed.queryStarts[n] + row], lse);
      }
}

/// Samples of starts ascend from 0 to all tokens, whatever the types of the entry say of them.
TEST(SampledSequences, HaveAllTokens) {
  Case c = makeCases().front();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<mlir::func::FuncOp>();
  auto inputs = sampleInputs(entry, {7, {}, {}, 1000, 900}, /*seed=*/3);
  ASSERT_TRUE(bool(inputs)) << llvm::toString(inputs.takeError());
  EXPECT_EQ((*inputs)[0].shape, (Numbers{c.hq, 1000, c.d}));
  EXPECT_EQ((*inputs)[1].shape, (Numbers{c.hk, 900, c.d}));
  for (unsigned side : {0, 1}) {
    const HostTensor &starts = (*inputs)[3 + side];
    ASSERT_EQ(starts.shape, Numbers{8});
    EXPECT_EQ(starts.integerAt(0), 0);
    EXPECT_EQ(starts.integerAt(7), side ? 900 : 1000);
    for (int64_t b = 0; b < 7; ++b)
      EXPECT_LE(starts.integerAt(b), starts.integerAt(b + 1));
  }
}

/// Refuse what there is none of with the reason.
TEST(Refused, WithReasonAndRemedy) {
  Case c = makeCases().front();
  fa_compile_options options = fa_compile_options_default();
  options.standard = 1;
  auto standard = Execution::create(c.text(), options);
  ASSERT_FALSE(bool(standard));
  EXPECT_NE(llvm::toString(standard.takeError()).find("sequences have none"), std::string::npos);
  // A bias is read at positions of sequences, and so are its gradients added up.
  options.standard = 0;
  options.backward = options.deterministic = 1;
  for (const Case &each : makeGradientCases())
    if (!each.bias.empty()) {
      auto deterministic = Execution::create(each.text(), options);
      ASSERT_FALSE(bool(deterministic));
      EXPECT_NE(llvm::toString(deterministic.takeError()).find("takes atomics"), std::string::npos);
    }
}

/// The starts of senseless sequences leave gradients inside of their tensors, too.
TEST(SenselessStarts, LeaveGradientsInsideOfTensors) {
  Case c = makeSenseless();
  auto checker = Checker::create(c.text());
  ASSERT_TRUE(bool(checker)) << llvm::toString(checker.takeError());
  std::vector<HostTensor> inputs = c.inputs();
  auto outputs = runOnCPU(c, **checker, inputs);
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
  inputs = join(inputs, *outputs, makeAdjoints(**checker, inputs, *outputs));
  auto gradients = runOnCPU(c, **checker, inputs, /*backward=*/true);
  EXPECT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
  for (const char *target : {"sm_80", "sm_90a"}) {
    auto interpreted = interpret(c, target, **checker, inputs, /*backward=*/true);
    EXPECT_TRUE(bool(interpreted)) << llvm::toString(interpreted.takeError());
  }
}
