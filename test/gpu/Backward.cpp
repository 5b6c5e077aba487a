//===- Backward.cpp - gradients on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test runs the forward by the same compiler, and its output and lse go into the
// backward. Outputs and workspace hold NaN before, between guard bands.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"

using namespace fa_test;

static llvm::Error checkGradients(const Case &c, const Target &target, bool dlse, uint64_t seed,
                                  int64_t shift = 0) {
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  return runBackward(*prepared, target.options(), dlse, seed, shift);
}

/// In the form in which blocks of keys add to dq.
static llvm::Error checkFused(const Case &c, const Target &target, uint64_t seed) {
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  fa_compile_options options = target.options();
  options.fused = 1;
  return runBackward(*prepared, options, /*dlse=*/false, seed);
}

/// Lets nothing flow back into the output, only into lse.
static llvm::Error checkOfLse(const Case &c, const Target &target, uint64_t seed) {
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  auto backward = prepareBackward(*prepared, target.options(), /*dlse=*/true, seed);
  if (!backward)
    return backward.takeError();
  mlir::fa::HostTensor &dO = backward->adjoints[0];
  dO = mlir::fa::HostTensor::zeros(dO.name, dO.dtype, dO.shape);
  for (mlir::fa::HostTensor &input : backward->inputs)
    if (input.name == dO.name)
      input = dO;
  return judgeBackward(*prepared, *backward);
}

/// Drops half of the probabilities.
static llvm::Error checkHalfDropped(const Case &c, const Target &target, bool dlse, uint64_t seed) {
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  for (mlir::fa::HostTensor &input : prepared->inputs)
    if (input.name == "p")
      input.set(0, 0.5);
  return runBackward(*prepared, target.options(), dlse, seed);
}

llvm::Error fa_test::checkGradientRepeats(llvm::Expected<PreparedCase> prepared,
                                          const Target &target, bool beside, bool deterministic) {
  if (!prepared)
    return prepared.takeError();
  fa_compile_options options = target.options();
  options.deterministic = deterministic;
  auto backward = prepareBackward(*prepared, options, /*dlse=*/false, /*seed=*/2);
  if (!backward)
    return backward.takeError();
  auto repeat = [&] {
    return backward->execution->repeat(backward->inputs, backward->shapes, target.repeats);
  };
  return beside ? besideBusyStream(target, repeat) : repeat();
}

/// Return the masks and scores of the examples, dropout and a sink.
static std::vector<Case> exampleCases(const char *dtype) {
  std::vector<Case> cases;
  for (auto [mask, score] : {std::pair("none", "none"),
                             {"causal", "none"},
                             {"causal_top_left", "none"},
                             {"causal", "alibi"},
                             {"none", "bias"},
                             {"causal", "softcap"},
                             {"causal", "alibi_softcap"},
                             {"window", "none"},
                             {"prefix", "none"},
                             {"document", "none"},
                             {"blocks", "table"}})
    cases.push_back(makeCase(dtype, 333, 517, 64, mask, score));
  Case dropped = makeCase(dtype, 333, 517, 96, "causal", "none");
  dropped.dv = 64;
  dropped.dropout = true;
  cases.push_back(dropped);
  // Rows that see nothing, too.
  Case sunk = makeCase(dtype, 517, 333, 64, "causal", "none");
  sunk.sink = "own";
  cases.push_back(sunk);
  return cases;
}

/// Shapes, head sizes and heads, in pairs with everything else.
static std::vector<Case> pairedCases() {
  Settings settings = gpuSettings();
  settings.shapes = {{1, 1},     {1, 239}, {239, 1}, {113, 203}, {128, 217},
                     {256, 512}, {0, 17},  {17, 0},  {200, 77},  {300, 300}};
  settings.dims = {{40, 40}, {59, 59},   {64, 64},   {80, 80},   {96, 96},
                   {64, 96}, {128, 128}, {192, 192}, {192, 128}, {256, 256}};
  std::vector<Case> cases = pairwiseCases(settings);
  // The gradients need lse.
  for (Case &c : cases)
    c.lse = true;
  return cases;
}

void fa_test::addBackward(std::vector<Test> &tests) {
  auto add = [&](const char *group, const Case &c, Body body) {
    tests.push_back({std::string("backward.") + group + "." + c.name(), std::move(body)});
  };
  uint64_t number = 0;
  for (const char *dtype : {"bf16", "f16", "f32"})
    for (const Case &c : exampleCases(dtype)) {
      bool dlse = number % 2;
      add("examples", c,
          [=](const Target &target) { return checkGradients(c, target, dlse, /*seed=*/number); });
      ++number;
    }
  for (const char *dtype : {"bf16", "f16"})
    for (const Case &c : exampleCases(dtype)) {
      add("fused", c, [=](const Target &target) { return checkFused(c, target, /*seed=*/number); });
      ++number;
    }
  for (int64_t dim : {128, 192, 256})
    for (auto [mask, score] :
         {std::pair("causal", "none"), {"document", "none"}, {"causal", "alibi_softcap"}})
      for (bool dropout : {false, true}) {
        Case c = makeCase("bf16", 333, 517, dim, mask, score);
        c.dropout = dropout;
        add("fused", c, [=](const Target &target) { return checkFused(c, target, /*seed=*/5); });
      }
  for (const Case &c : pairedCases()) {
    add("matrix", c, [=](const Target &target) {
      return checkGradients(c, target, /*dlse=*/number % 3 == 0, /*seed=*/number);
    });
    ++number;
  }
  for (const char *dtype : {"bf16", "f32"})
    for (auto [d, dv] : {std::pair(64, 64), {59, 59}, {128, 128}, {192, 128}, {256, 256}}) {
      Case c = makeCase(dtype, 100, 200, d, "causal", "none");
      c.dv = dv;
      add("unaligned", c, [=](const Target &target) {
        return checkGradients(c, target, /*dlse=*/false, /*seed=*/3, /*shift=*/1);
      });
    }
  for (const char *dtype : {"bf16", "f16", "f32"}) {
    Case plain = makeCase(dtype, 113, 203, 64, "none", "none");
    Case causal = makeCase(dtype, 203, 113, 128, "causal", "none");
    Case sunk = causal;
    sunk.sink = "f32";
    for (const Case &c : {plain, causal, sunk, makeCase(dtype, 113, 203, 64, "causal", "softcap"),
                          makeCase(dtype, 113, 203, 59, "none", "alibi"),
                          makeCase(dtype, 113, 203, 64, "none", "bias"),
                          makeCase(dtype, 113, 203, 64, "causal", "scalar"),
                          makeCase(dtype, 113, 203, 96, "none", "of_keys")}) {
      add("of_lse", c,
          [=](const Target &target) { return checkOfLse(c, target, /*seed=*/number); });
      ++number;
    }
    for (Case c : {plain, causal, makeCase(dtype, 113, 203, 96, "causal", "alibi"),
                   makeCase(dtype, 113, 203, 64, "none", "scalar"),
                   makeCase(dtype, 113, 203, 64, "causal", "of_keys")}) {
      c.dropout = true;
      add("half_dropped", c, [=](const Target &target) {
        return checkHalfDropped(c, target, /*dlse=*/number % 2, /*seed=*/number);
      });
      ++number;
    }
  }
  Case sunk = makeCase("bf16", 500, 300, 64, "causal", "none");
  sunk.sink = "f32";
  Case dropped = makeCase("bf16", 300, 500, 64, "causal", "none");
  dropped.dropout = true;
  for (const Case &c : {sunk, dropped, makeCase("bf16", 500, 512, 128, "causal", "none"),
                        makeCase("bf16", 300, 500, 64, "causal", "scalar"),
                        makeCase("f16", 500, 300, 128, "none", "of_keys"),
                        makeCase("f32", 200, 300, 64, "none", "scalar"),
                        makeCase("bf16", 300, 1100, 64, "none", "alibi"),
                        makeCase("f16", 512, 300, 96, "none", "bias"),
                        makeCase("f32", 200, 300, 40, "window", "none")})
    for (bool beside : {false, true})
      add(beside ? "repeats_beside" : "repeats", c, [=](const Target &target) {
        return checkGradientRepeats(prepare(c, /*seed=*/2), target, beside);
      });
  // Beyond the lengths from which dq could be summed by atomics; heads of a group in parts.
  Case parts = makeCase("bf16", 2500, 2300, 128, "causal", "none");
  parts.batch = 1;
  parts.hq = 8;
  parts.hk = 1;
  for (const Case &c : {parts, makeCase("bf16", 2100, 2200, 128, "none", "none"),
                        makeCase("f16", 2200, 2100, 64, "causal", "alibi"),
                        makeCase("bf16", 2100, 2100, 256, "causal", "none")})
    add("deterministic", c, [=](const Target &target) {
      return checkGradientRepeats(prepare(c, /*seed=*/2), target, /*beside=*/false,
                                  /*deterministic=*/true);
    });
}
