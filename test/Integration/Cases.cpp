//===- Cases.cpp - cases that cover every pair of settings -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Cases.h"
#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <tuple>

using namespace fa_test;

//===----------------------------------------------------------------------===//
// Settings
//===----------------------------------------------------------------------===//

Settings fa_test::cpuSettings() {
  Settings settings;
  settings.dtypes = {"f32", "bf16", "f16"};
  settings.shapes = {{1, 1},     {1, 239},   {239, 1},   {3, 799}, {799, 3},
                     {113, 203}, {128, 217}, {256, 512}, {0, 17},  {17, 0},
                     {64, 128},  {65, 129},  {200, 77},  {33, 33}, {300, 300}};
  settings.dims = {{64, 64}, {128, 128}, {40, 40}, {59, 59},   {80, 80},
                   {96, 96}, {192, 128}, {64, 96}, {256, 256}, {1, 8}};
  settings.masks = {"none",   "causal",   "causal_top_left", "window", "window_both",
                    "prefix", "document", "captured_scalar", "blocks", "nothing"};
  settings.scores = {"none", "alibi", "softcap", "bias", "alibi_softcap", "table"};
  settings.sinks = {"none", "f32", "own"};
  settings.heads = {{1, 1, 1}, {2, 4, 4}, {2, 4, 2}, {1, 6, 1}, {3, 2, 2}};
  settings.tiles = {{0, 0}, {16, 32}, {64, 64}, {24, 40}};
  return settings;
}

Settings fa_test::gpuSettings() {
  Settings settings = cpuSettings();
  settings.shapes = {{1, 1},     {1, 239},   {239, 1},     {3, 799},    {799, 3},  {113, 203},
                     {128, 217}, {256, 512}, {0, 17},      {17, 0},     {64, 128}, {200, 77},
                     {300, 300}, {512, 512}, {1023, 1024}, {1024, 1023}};
  settings.dims = {{64, 64},   {128, 128}, {40, 40},   {59, 59},   {80, 80}, {96, 96},
                   {192, 192}, {256, 256}, {192, 128}, {128, 256}, {64, 96}, {32, 8}};
  settings.tiles = {{0, 0}};
  return settings;
}

namespace {

constexpr int kSettings = 11;

/// An index into each list of values.
using Choice = std::array<int, kSettings>;

} // namespace

static Choice counts(const Settings &s) {
  return {int(s.dtypes.size()), int(s.shapes.size()), int(s.dims.size()), int(s.masks.size()),
          int(s.scores.size()), int(s.heads.size()),  2 /*dropout*/,      2 /*lse*/,
          4 /*layout*/,         int(s.tiles.size()),  int(s.sinks.size())};
}

static Case toCase(const Settings &s, const Choice &c) {
  Case result;
  result.dtype = s.dtypes[c[0]];
  std::tie(result.sq, result.sk) = s.shapes[c[1]];
  std::tie(result.d, result.dv) = s.dims[c[2]];
  result.mask = s.masks[c[3]];
  result.score = s.scores[c[4]];
  result.batch = s.heads[c[5]].batch;
  result.hq = s.heads[c[5]].hq;
  result.hk = s.heads[c[5]].hk;
  result.dropout = c[6] == 1;
  result.lse = c[7] == 0;
  result.transposed = c[8] & 1;
  result.dynamicHeads = c[8] & 2;
  std::tie(result.rows, result.keys) = s.tiles[c[9]];
  result.sink = s.sinks[c[10]];
  return result;
}

std::vector<Case> fa_test::manyCases(const Settings &settings) {
  Choice n = counts(settings), c;
  std::mt19937 random(2);
  std::vector<Case> cases;
  for (c[0] = 0; c[0] < n[0]; ++c[0])
    for (c[2] = 0; c[2] < n[2]; ++c[2])
      for (c[3] = 0; c[3] < n[3]; ++c[3])
        for (c[4] = 0; c[4] < n[4]; ++c[4]) {
          for (int x : {1, 5, 6, 7, 8, 9, 10})
            c[x] = random() % n[x];
          cases.push_back(toCase(settings, c));
        }
  return cases;
}

std::vector<Case> fa_test::pairwiseCases(const Settings &settings) {
  Choice n = counts(settings);
  // Every pair (setting, value, setting, value) that no case has yet.
  std::set<std::array<int, 4>> open;
  for (int x = 0; x < kSettings; ++x)
    for (int y = x + 1; y < kSettings; ++y)
      for (int i = 0; i < n[x]; ++i)
        for (int j = 0; j < n[y]; ++j)
          open.insert({x, i, y, j});
  auto covered = [&](const Choice &c) {
    int count = 0;
    for (int x = 0; x < kSettings; ++x)
      for (int y = x + 1; y < kSettings; ++y)
        count += open.count({x, c[x], y, c[y]});
    return count;
  };
  std::mt19937 random(1);
  std::vector<Case> cases;
  while (!open.empty()) {
    Choice best{};
    int most = -1;
    for (int attempt = 0; attempt < 40; ++attempt) {
      Choice c;
      for (int x = 0; x < kSettings; ++x)
        c[x] = random() % n[x];
      // Start from an open pair, so that every round makes progress.
      auto pair = open.begin();
      std::advance(pair, random() % std::min<size_t>(open.size(), 50));
      c[(*pair)[0]] = (*pair)[1];
      c[(*pair)[2]] = (*pair)[3];
      if (int count = covered(c); count > most) {
        most = count;
        best = c;
      }
    }
    for (int x = 0; x < kSettings; ++x)
      for (int y = x + 1; y < kSettings; ++y)
        open.erase({x, best[x], y, best[y]});
    cases.push_back(toCase(settings, best));
  }
  return cases;
}

std::vector<Case> fa_test::gradientCases() {
  Settings settings = cpuSettings();
  settings.shapes = {{1, 1}, {33, 65}, {65, 33}, {0, 17}, {17, 0}, {70, 90}, {129, 40}, {40, 129}};
  settings.dims = {{40, 40}, {59, 59},   {64, 64},   {80, 80},   {96, 96},
                   {64, 96}, {128, 128}, {192, 192}, {192, 128}, {256, 256}};
  settings.masks = {"none",   "causal",   "causal_top_left", "window_both",
                    "prefix", "document", "blocks",          "nothing"};
  settings.heads = {{1, 1, 1}, {2, 2, 2}, {1, 4, 2}, {2, 3, 1}};
  settings.tiles = {{0, 0}, {16, 32}, {24, 40}};
  std::vector<Case> cases = pairwiseCases(settings);
  for (Case &c : cases)
    c.lse = true;
  return cases;
}

std::vector<std::pair<size_t, Case>> fa_test::numbered(const std::vector<Case> &cases) {
  std::vector<std::pair<size_t, Case>> pairs;
  for (const Case &c : cases)
    pairs.push_back({pairs.size(), c});
  return pairs;
}

Case fa_test::makeCase(const char *dtype, int64_t sq, int64_t sk, int64_t d, const char *mask,
                       const char *score) {
  Case c;
  c.dtype = dtype;
  c.sq = sq;
  c.sk = sk;
  c.d = c.dv = d;
  c.batch = 2;
  c.hq = 4;
  c.hk = 2;
  c.mask = mask;
  c.score = score;
  c.dropout = c.transposed = false;
  c.lse = c.dynamicHeads = true;
  c.rows = c.keys = 0;
  return c;
}

std::vector<Case> fa_test::scheduleCases(int64_t sq, int64_t sk) {
  std::vector<Case> cases;
  for (const char *dtype : {"f16", "bf16", "f32"})
    for (int program : {0, 1, 2}) {
      Case c;
      c.dtype = dtype;
      c.sq = sq;
      c.sk = sk;
      c.d = c.dv = cases.size() % 2 ? 128 : 64;
      c.batch = 1;
      c.hq = 2;
      c.hk = program == 1 ? 1 : 2;
      c.mask = program == 0 ? "causal" : "none";
      c.score = program == 1 ? "bias" : "none";
      c.dropout = program == 2;
      c.transposed = c.dynamicHeads = false;
      c.lse = true;
      c.rows = c.keys = 0;
      cases.push_back(c);
    }
  return cases;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::string Case::name() const {
  auto n = [](int64_t x) { return std::to_string(x); };
  std::string text = dtype + "_" + n(sq) + "x" + n(sk) + "_d" + n(d) +
                     (dv == d ? "" : "v" + n(dv)) + "_b" + n(batch) + "h" + n(hq) + "k" + n(hk) +
                     "_" + mask + "_" + score;
  if (sink != "none")
    text += "_sink_" + sink;
  if (dropout)
    text += "_dropout";
  if (!lse)
    text += "_nolse";
  if (transposed)
    text += "_bshd";
  if (dynamicHeads)
    text += "_dyn";
  if (rows)
    text += "_t" + n(rows) + "x" + n(keys);
  return text;
}

size_t Case::countGradients() const {
  return 3 + (score != "none" && score != "softcap") + (sink != "none");
}

namespace {

/// The parts of a program that masks and scores add.
struct Parts {
  std::string arguments, captures, types, sugar, maskBody, scoreBody;
  std::vector<std::pair<std::string, std::string>> explicitCaptures; // name, type

  void argument(const std::string &name, const std::string &type, const std::string &attributes) {
    arguments += ", %" + name + ": " + type + " {fa.name = \"" + name + "\"" + attributes + "}";
  }
  /// Add a capture of the written regions.
  void capture(const std::string &name, const std::string &type, const std::string &attributes) {
    argument(name, type, attributes);
    explicitCaptures.push_back({name, type});
  }
  /// Add an item of `with`, with its capture where it has one.
  void with(const std::string &item) { sugar += (sugar.empty() ? "" : ", ") + item; }
  void withCapture(const std::string &item, const std::string &name, const std::string &type,
                   const std::string &attributes) {
    argument(name, type, attributes);
    with(item + "(%" + name + ")");
    types += ", " + type;
  }
};

} // namespace

static void addMask(Parts &parts, const std::string &mask) {
  if (mask == "causal")
    parts.with("causal");
  else if (mask == "causal_top_left")
    parts.with("causal<top_left>");
  else if (mask == "window")
    parts.with("window<37, 0>");
  else if (mask == "window_both")
    parts.with("window<20, 45>");
  else if (mask == "prefix")
    parts.withCapture("prefix", "lengths", "tensor<?xi32>",
                      ", fa.kind = \"lengths\", fa.dims = [\"B\"]");
  else if (mask == "document")
    // Two tensors of ids, so that Sq and Sk may differ.
    parts.with("document(%qids, %kids)"),
        parts.argument("qids", "tensor<?x?xi32>", ", fa.kind = \"ids\", fa.dims = [\"B\", \"Sq\"]"),
        parts.argument("kids", "tensor<?x?xi32>", ", fa.kind = \"ids\", fa.dims = [\"B\", \"Sk\"]"),
        parts.types += ", tensor<?x?xi32>, tensor<?x?xi32>";
  else if (mask == "captured_scalar") {
    parts.capture("reach", "i32", "");
    parts.maskBody = R"(
    %r = arith.index_cast %reach : i32 to index
    %c20 = arith.constant 20 : index
    %far = arith.muli %r, %c20 : index
    %edge = arith.addi %i, %far : index
    %seen = arith.cmpi slt, %j, %edge : index)";
  } else if (mask == "blocks")
    parts.maskBody = R"(
    %c32 = index.constant 32
    %c3 = index.constant 3
    %bi = index.divs %i, %c32
    %bj = index.floordivs %j, %c32
    %near = index.cmp eq(%bi, %bj)
    %m = index.rems %bj, %c3
    %strided = arith.cmpi eq, %m, %h : index
    %seen = arith.ori %near, %strided : i1)";
  else if (mask == "nothing")
    parts.maskBody = R"(
    %c5 = arith.constant 5 : index
    %m = arith.remui %i, %c5 : index
    %odd = arith.cmpi ne, %m, %c5 : index
    %seen = scf.if %odd -> i1 {
      %x = arith.cmpi ult, %m, %h : index
      scf.yield %x : i1
    } else {
      %y = arith.cmpi eq, %i, %j : index
      scf.yield %y : i1
    })";
}

static void addScore(Parts &parts, const std::string &score) {
  if (score == "alibi" || score == "alibi_softcap")
    parts.withCapture("alibi", "slopes", "tensor<?xf32>", ", fa.dims = [\"Hq\"]");
  if (score == "softcap" || score == "alibi_softcap")
    parts.with("softcap<5.0>");
  if (score == "bias")
    parts.withCapture("bias", "bias", "tensor<?x1x?x?xf32>",
                      ", fa.dims = [\"B\", \"\", \"Sq\", \"Sk\"]");
  if (score == "table") {
    parts.capture("table", "tensor<?x65xf32>", ", fa.dims = [\"Hq\", \"\"]");
    parts.scoreBody = R"(
    %c32 = arith.constant 32 : index
    %distance = arith.subi %j, %i : index
    %at = arith.addi %distance, %c32 : index
    %t = tensor.extract %table[%h, %at] : tensor<?x65xf32>
    %x = arith.addf %s, %t : f32
    fa.yield %x : f32)";
  }
  if (score == "scalar") {
    parts.capture("factor", "f32", "");
    parts.scoreBody = R"(
    %x = arith.mulf %s, %factor : f32
    fa.yield %x : f32)";
  }
  if (score == "of_keys") {
    parts.capture("gain", "tensor<?x?xf32>", ", fa.dims = [\"B\", \"Sk\"]");
    parts.scoreBody = R"(
    %g = tensor.extract %gain[%b, %j] : tensor<?x?xf32>
    %x = arith.addf %s, %g : f32
    fa.yield %x : f32)";
  }
}

std::string Case::mlir() const {
  Parts parts;
  addMask(parts, mask);
  addScore(parts, score);
  auto heads = [&](int64_t h) { return dynamicHeads ? std::string("?") : std::to_string(h); };
  auto tensor = [&](int64_t h, int64_t dim) {
    return "tensor<?x" + heads(h) + "x?x" + std::to_string(dim) + "x" + dtype + ">";
  };
  std::string q = tensor(hq, d), k = tensor(hk, d), v = tensor(hk, dv), o = tensor(hq, dv);
  std::string l = "tensor<?x" + heads(hq) + "x?xf32>";

  std::string regionArguments, captureNames, captureTypes;
  for (auto &[name, type] : parts.explicitCaptures) {
    regionArguments += ", %" + name + ": " + type;
    captureNames += (captureNames.empty() ? "%" : ", %") + name;
    captureTypes += ", " + type;
  }
  const std::string positions =
      "%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index" + regionArguments + "):";
  std::string text = "func.func @test(%q: " + q + " {fa.name = \"q\"}, %k: " + k +
                     " {fa.name = \"k\"}, %v: " + v + " {fa.name = \"v\"}" + parts.arguments;
  std::string z = "tensor<" + heads(hq) + "x" + (sink == "own" ? dtype : sink) + ">";
  if (sink != "none")
    text += ", %sink: " + z + " {fa.name = \"sink\"}";
  if (dropout)
    text += ", %p: f32 {fa.name = \"p\"}, %seed: i64 {fa.name = \"seed\"}, %offset: i64 {fa.name = "
            "\"offset\"}";
  text += ") -> (" + o + (lse ? ", " + l : "") + ") {\n  %o";
  text += lse ? ", %lse" : "";
  text += " = fa.attention query(%q) key(%k) value(%v)";
  if (!captureNames.empty())
    text += " captures(" + captureNames + ")";
  if (!parts.sugar.empty())
    text += " with [" + parts.sugar + "]";
  if (sink != "none")
    text += " sink(%sink)";
  if (dropout)
    text += " dropout(%p, %seed, %offset)";
  if (!parts.maskBody.empty())
    text += "\n  mask {\n  ^bb0(" + positions + parts.maskBody + "\n    fa.yield %seen : i1\n  }";
  if (!parts.scoreBody.empty())
    text += "\n  score {\n  ^bb0(%s: f32, " + positions + parts.scoreBody + "\n  }";
  text += "\n    : (" + q + ", " + k + ", " + v + captureTypes + parts.types +
          (sink == "none" ? "" : ", " + z) + (dropout ? ", f32, i64, i64" : "") + ") -> (" + o +
          (lse ? ", " + l : "") + ")\n";
  return text + "  return %o" + (lse ? ", %lse : " : " : ") + o + (lse ? ", " + l : "") + "\n}\n";
}
