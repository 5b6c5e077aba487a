//===- Special.cpp - dropout's bits, repeats, special inputs, random programs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomCase.h"
#include "Suite.h"
#include "fa/Reference/Sampling.h"
#include "fa/Support/Philox.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir::fa;
using namespace fa_test;

static constexpr uint64_t kDataPrograms = 400, kScorePrograms = 120, kDataScorePrograms = 60;

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

llvm::Expected<std::vector<HostTensor>> fa_test::runForOutputs(const PreparedCase &prepared,
                                                               const fa_compile_options &options) {
  auto execution = Execution::create(prepared.text, options);
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(prepared.inputs, prepared.shapes);
  if (!outcome)
    return outcome.takeError();
  return std::move(outcome->outputs);
}

/// All scores are equal and the values are a slice of the identity, so that
/// output (i, c) is 0 exactly where key `first` + c is dropped for query i.
static llvm::Error checkDropout(const char *dtype, const Target &target) {
  Case c = makeCase(dtype, 200, 300, 128, "none");
  c.dropout = true;
  auto prepared = prepare(c, /*seed=*/1);
  if (!prepared)
    return prepared.takeError();
  HostTensor &q = prepared->inputs[0], &v = prepared->inputs[2];
  q = HostTensor::zeros(q.name, q.dtype, q.shape);
  unsigned threshold = dropoutThreshold(kSampleDropoutP);
  for (int64_t first = 0; first < c.sk; first += c.dv) {
    v = HostTensor::zeros(v.name, v.dtype, v.shape);
    for (int64_t head = 0; head < c.batch * c.hk; ++head)
      for (int64_t x = 0; x < c.dv && first + x < c.sk; ++x)
        v.set((head * c.sk + first + x) * c.dv + x, 1);
    auto outputs = runForOutputs(*prepared, target.options());
    if (!outputs)
      return outputs.takeError();
    const HostTensor &output = outputs->front();
    auto onCPU = runForOutputs(*prepared, Target{"cpu", "", false}.options());
    if (!onCPU)
      return onCPU.takeError();
    for (int64_t at = 0; at < output.size(); ++at) {
      int64_t x = at % c.dv, i = at / c.dv % c.sq, h = at / c.dv / c.sq % c.hq,
              b = at / c.dv / c.sq / c.hq;
      if (first + x >= c.sk)
        continue;
      bool kept =
          dropoutByte(kSampleDropoutSeed, kSampleDropoutOffset, b, h, i, first + x) >= threshold;
      bool here = output.at(at) != 0, there = onCPU->front().at(at) != 0;
      if (here != kept || there != kept)
        return error("query {0} and key {1} of head {2}, batch {3} are {4} here and {5} on the "
                     "CPU, expected {6}",
                     i, first + x, h, b, here ? "kept" : "dropped", there ? "kept" : "dropped",
                     kept ? "kept" : "dropped");
    }
  }
  return llvm::Error::success();
}

llvm::Error fa_test::checkRepeats(llvm::Expected<PreparedCase> prepared, const Target &target) {
  if (!prepared)
    return prepared.takeError();
  auto execution = Execution::create(prepared->text, target.options());
  if (!execution)
    return execution.takeError();
  return (*execution)->repeat(prepared->inputs, prepared->shapes, target.repeats);
}

/// Tensors one element past an aligned address: right results, or an error that
/// says what to do.
static llvm::Error checkUnaligned(const Case &c, const Target &target) {
  auto prepared = prepare(c, /*seed=*/3);
  if (!prepared)
    return prepared.takeError();
  llvm::Error failed = runCase(*prepared, target.options(), /*shift=*/1);
  if (!failed)
    return failed;
  std::string message = llvm::toString(std::move(failed));
  if (message.find("copy it to memory aligned to") != std::string::npos)
    return llvm::Error::success();
  return llvm::createStringError(message);
}

/// Scores that are negative all along most tiles of keys, then positive, then far below:
/// of rows with odd numbers; the others have the signs changed (tile-test-before-reducing).
static llvm::Error checkNegative(const Case &c, const Target &target) {
  auto prepared = prepare(c, /*seed=*/4);
  if (!prepared)
    return prepared.takeError();
  HostTensor &q = prepared->inputs[0], &k = prepared->inputs[1];
  constexpr double kOfKeys[] = {-40, -64, -5, -5, 1, -30, 12, -90};
  for (int64_t at = 0; at < q.size(); at += c.d)
    q.set(at, at / c.d % 2 ? 8 : -8);
  for (int64_t at = 0; at < k.size(); at += c.d)
    k.set(at, kOfKeys[at / c.d % c.sk * std::size(kOfKeys) / c.sk]);
  return runCase(*prepared, target.options(), /*shift=*/0);
}

/// Check a random program.
static llvm::Error checkRandom(llvm::Expected<RandomCase> made, bool gradients,
                               const Target &target) {
  if (!made)
    return made.takeError();
  auto run = [&](bool backward, const RandomCase::Tensors &inputs, const OutputShapes &shapes) {
    return made->runCompiled(target.options(), backward, inputs, shapes);
  };
  return made->check(gradients, run);
}

void fa_test::addSpecial(std::vector<Test> &tests, uint64_t firstSeed) {
  for (const char *dtype : {"f16", "bf16", "f32"})
    tests.push_back({std::string("dropout_bits.") + dtype,
                     [dtype](const Target &target) { return checkDropout(dtype, target); }});
  Case dropped = makeCase("bf16", 256, 512, 64, "none");
  dropped.dropout = true;
  Case sunk = makeCase("bf16", 500, 300, 64, "causal");
  sunk.sink = "own";
  for (const Case &c : {makeCase("f16", 500, 512, 128, "causal"), dropped, sunk,
                        makeCase("f32", 200, 300, 40, "window")})
    tests.push_back({"repeats." + c.name(), [c](const Target &target) {
                       return checkRepeats(prepare(c, /*seed=*/2), target);
                     }});
  for (const Case &c :
       {makeCase("f16", 300, 1100, 64, "none"), makeCase("bf16", 300, 1100, 128, "none"),
        makeCase("bf16", 1100, 1100, 128, "window"), makeCase("bf16", 300, 1100, 256, "none")})
    tests.push_back(
        {"negative." + c.name(), [c](const Target &target) { return checkNegative(c, target); }});
  for (const Case &c :
       {makeCase("f16", 100, 200, 64, "causal"), makeCase("bf16", 100, 200, 59, "none"),
        makeCase("f32", 100, 200, 128, "none")})
    tests.push_back(
        {"unaligned." + c.name(), [c](const Target &target) { return checkUnaligned(c, target); }});
  auto addRandom = [&](const char *name, uint64_t count,
                       llvm::Expected<RandomCase> (*make)(uint64_t), uint64_t withGradients) {
    for (uint64_t seed = firstSeed; seed < firstSeed + count; ++seed)
      tests.push_back({name + std::to_string(seed), [=](const Target &target) {
                         return checkRandom(make(seed), seed % withGradients == 0, target);
                       }});
  };
  addRandom("random.", kDataPrograms, RandomCase::makeData, /*withGradients=*/4);
  addRandom("random-scores.", kScorePrograms, RandomCase::makeScored, /*withGradients=*/1);
  addRandom("random-both.", kDataScorePrograms, RandomCase::makeDataScored, /*withGradients=*/1);
}
