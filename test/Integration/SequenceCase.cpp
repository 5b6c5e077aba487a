//===- SequenceCase.cpp - one program of sequences, and its starts and lengths -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SequenceCase.h"
#include <cmath>
#include <numeric>

using namespace mlir::fa;
using namespace fa_test;

using Numbers = std::vector<int64_t>;

namespace {

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

std::string SequenceCase::text() const {
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

std::vector<HostTensor> SequenceCase::inputs() const {
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
struct Cases : std::vector<SequenceCase> {
  SequenceCase &add(const char *name, const char *dtype, Numbers starts, int64_t tokens,
                    const char *with = "causal") {
    SequenceCase &c = emplace_back();
    c.name = std::string(name) + "_" + dtype;
    c.dtype = dtype;
    c.with = with;
    c.queryStarts = c.keyStarts = std::move(starts);
    c.queries = c.keys = tokens;
    return c;
  }
  /// Add sequences in a row of which parts are left out.
  void addLengths(const char *dtype) {
    SequenceCase &c = add("lengths", dtype, {0, 0, 5, 5, 5, 5, 70, 103, 120, 120}, 120, "");
    c.queryLengths = {0, 3, 0, 0, 9, 60, 0, 17, -4};
    c.keyLengths = {1, 5, 0, 0, 0, 40, 33, 16, 2};
    c.poison = true;
  }
  /// Add a batch with lengths.
  void addPadded(const char *dtype, const char *with) {
    SequenceCase &c = add("padded", dtype, {}, 70, with);
    c.batch = 3;
    c.keys = 90;
    c.queryLengths = {70, 0, 17};
    c.keyLengths = {40, 90, 66};
  }
  /// Add keys in a row beside queries of a batch, and the other way round.
  void addOneSided(const char *dtype, int64_t queriesOfOne, int64_t packed, Numbers keyStarts,
                   const char *causal, const char *with) {
    SequenceCase &keys = add("packed_keys", dtype, {}, queriesOfOne, causal);
    keys.batch = 3;
    keys.keys = keyStarts.back() + 10;
    keys.keyStarts = std::move(keyStarts);
    SequenceCase &queries = add("packed_queries", dtype, {0, 3, 70, 70}, packed, with);
    queries.batch = 3;
    queries.keyStarts = {};
    queries.keys = 66;
    queries.keyLengths = {66, 1, 30};
  }
};
} // namespace

std::vector<SequenceCase> fa_test::sequenceCases(llvm::ArrayRef<const char *> dtypes, bool brief) {
  Cases cases;
  Numbers some{0, 0, 5, 5, 5, 5, 70, 133, 200, 200}, ones(301);
  std::iota(ones.begin(), ones.end(), 0);
  for (const char *dtype : dtypes) {
    // Empty sequences first, last and three in a row.
    cases.add("some", dtype, some, 200);
    cases.add("neighbours", dtype, some, 200).poison = true;
    bool few = brief && std::string(dtype) != "f32";
    cases.add("ones", dtype, few ? Numbers(ones.begin(), ones.begin() + 21) : ones, few ? 20 : 300);
    // Tokens before the first sequence and behind the last one.
    cases.add("inside", dtype, {70, 75, 140, 150}, 190, "alibi(%slopes)").poison = true;
    SequenceCase &other = cases.add("other_keys", dtype, {0, 10, 10, 90}, 90, "causal");
    other.keyStarts = {0, 130, 140, 140};
    other.keys = 140;
    SequenceCase &lengths = cases.add("lengths", dtype, some, 200, "");
    lengths.queryLengths = {0, 3, 0, 0, 9, 60, 0, 100, -4};
    lengths.keyLengths = {1, 5, 0, 0, 0, 40, 63, 66, 2};
    lengths.poison = true;
    SequenceCase &padded = cases.add("padded", dtype, {}, 90, "causal");
    padded.batch = 3;
    padded.keys = 130;
    padded.queryLengths = {90, 0, 17};
    padded.keyLengths = {40, 130, 129};
    cases.addOneSided(dtype, 70, 70, {0, 65, 65, 200}, "causal", "");
    SequenceCase &dropped = cases.add("dropout", dtype, some, 200, "causal");
    dropped.dropout = true;
    dropped.integer = "i64";
    SequenceCase &sunk = cases.add("sink", dtype, {0, 33, 33, 100}, 100, "window<20, 0>");
    sunk.sink = true;
    sunk.d = 40;
    sunk.integer = "index";
  }
  return std::move(cases);
}

std::vector<SequenceCase> fa_test::sequenceGradientCases(llvm::ArrayRef<const char *> dtypes,
                                                         bool brief) {
  Cases cases;
  Numbers some{0, 0, 5, 5, 5, 5, 70, 103, 120, 120}, ones(301);
  std::iota(ones.begin(), ones.end(), 0);
  for (const char *dtype : dtypes) {
    bool few = brief && std::string(dtype) != "f32";
    // A captured gradient: rows and keys of no sequence add nothing.
    cases.add("slopes", dtype, {3, 3, 8, 8, 8, 8, 73, 106, 106}, 120, "causal, alibi(%slopes)");
    cases.add("neighbours", dtype, some, 120).poison = true;
    SequenceCase &one = cases.add(
        "ones", dtype, few ? Numbers(ones.begin(), ones.begin() + 9) : ones, few ? 8 : 300);
    one.hq = 1;
    one.d = 8;
    cases.addLengths(dtype);
    cases.addPadded(dtype, "causal, alibi(%slopes)");
    cases.addOneSided(dtype, 40, 80, {0, 65, 65, 100}, "causal, alibi(%slopes)", "alibi(%slopes)");
    // A scatter: a bias at positions of each sequence, some of them beyond it.
    SequenceCase &biased = cases.add("bias", dtype, {0, 33, 33, 80}, 90, "causal, bias(%bias)");
    biased.bias = {3, 2, 40, 50};
    SequenceCase &sunk = cases.add("sink", dtype, {0, 33, 33, 80}, 90, "window<20, 0>");
    sunk.sink = sunk.dropout = true;
    sunk.d = 40;
    sunk.integer = "index";
  }
  for (SequenceCase &c : cases) {
    c.hq = std::min<int64_t>(c.hq, 2);
    c.hk = 1;
    c.d = std::min<int64_t>(c.d, 32);
  }
  return std::move(cases);
}

std::vector<SequenceCase> fa_test::fusedSequenceCases(llvm::ArrayRef<const char *> dtypes) {
  Cases cases;
  for (const char *dtype : dtypes) {
    // 0, 1, 63, 64, 65, 0, 15, 17 and 0 tokens, and some before the first and behind the last.
    SequenceCase &some =
        cases.add("lengths_of_tiles", dtype, {3, 3, 4, 67, 131, 196, 196, 211, 228, 228}, 240);
    // Keys and values that are NaN leave neighbours alone.
    some.poison = true;
    SequenceCase &wide = cases.add("wide", dtype, {0, 1, 130, 130, 190}, 190, "causal");
    wide.d = 128;
    wide.poison = true;
    // More keys than queries, fewer, and none.
    SequenceCase &other = cases.add("other_keys", dtype, {0, 10, 10, 80, 90}, 90, "causal");
    other.keyStarts = {0, 130, 140, 150, 150};
    other.keys = 150;
    cases.add("window", dtype, {0, 65, 66, 140}, 140, "window<20, 0>");
  }
  const char *dtype = dtypes.front();
  cases.addLengths(dtype);
  cases.addPadded(dtype, "causal");
  cases.addOneSided(dtype, 40, 80, {0, 65, 65, 100}, "causal", "");
  SequenceCase &sunk = cases.add("sink", dtype, {0, 33, 33, 80}, 90, "causal");
  sunk.sink = sunk.dropout = true;
  sunk.integer = "i64";
  // A row of each sequence, and heads whose rows are no boxes.
  SequenceCase &ones = cases.add("ones", dtype, {0, 1, 2, 3, 4, 5}, 5);
  ones.d = 20;
  for (SequenceCase &c : cases) {
    c.hq = 2;
    c.hk = 1;
  }
  return std::move(cases);
}

SequenceCase fa_test::senselessSequences() {
  SequenceCase c;
  c.name = "all";
  c.dtype = "f16";
  c.with = "causal";
  c.queryStarts = {5, 3, 40, 100000, -7, 20, 90, 80};
  c.keyStarts = {-5, 70, 40, 2000000000, -7, 1, 64, 90};
  c.queryLengths = {3, -1, 100000, 7, 0, 90, 1000};
  c.queries = c.keys = 64;
  return c;
}

llvm::Expected<PreparedCase> fa_test::prepare(const SequenceCase &settings) {
  PreparedCase prepared;
  prepared.text = settings.text();
  auto checker = Checker::create(prepared.text);
  if (!checker)
    return checker.takeError();
  prepared.checker = std::move(*checker);
  prepared.inputs = settings.inputs();
  auto shapes = prepared.checker->outputShapes(prepared.inputs);
  if (!shapes)
    return shapes.takeError();
  prepared.shapes = std::move(*shapes);
  prepared.gradients = settings.countGradients();
  return prepared;
}
