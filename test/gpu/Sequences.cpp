//===- Sequences.cpp - sequences in a row and lengths, on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What no sequence has is NaN in all inputs, and all tensors have guard bands.
//
//===----------------------------------------------------------------------===//

#include "SequenceCase.h"
#include "Suite.h"

using namespace mlir::fa;
using namespace fa_test;

static constexpr const char *kDTypes[] = {"f16", "bf16", "f32"};

static llvm::Error check(const SequenceCase &c, bool gradients, const Target &target) {
  auto prepared = prepare(c);
  if (!prepared)
    return prepared.takeError();
  return gradients ? runBackward(*prepared, target.options(), /*dlse=*/false, /*seed=*/5)
                   : runCase(*prepared, target.options());
}

static llvm::Error checkFused(const SequenceCase &c, const Target &target) {
  if (target.isCPU())
    return llvm::createStringError(llvm::Twine(kSkipped) + "CPUs have the split form alone");
  auto prepared = prepare(c);
  if (!prepared)
    return prepared.takeError();
  fa_compile_options options = target.options();
  options.fused = 1;
  return runBackward(*prepared, options, /*dlse=*/false, /*seed=*/5);
}

//===----------------------------------------------------------------------===//
// Sequences that make no sense
//===----------------------------------------------------------------------===//

/// Return starts that fall, exceed the tensor, or are negative, one reason each and all together.
static std::vector<SequenceCase> senselessCases(const char *dtype) {
  std::vector<SequenceCase> cases(5, senselessSequences());
  auto change = [&](size_t n, const char *name, std::vector<int64_t> starts) {
    cases[n].name = name;
    cases[n].queryLengths.clear();
    cases[n].queryStarts = cases[n].keyStarts = std::move(starts);
  };
  change(1, "falling", {64, 50, 20, 40, 10, 0});
  change(2, "beyond", {0, 30, 100, 100000, 2000000000, 2147483647});
  change(3, "negative", {-2147483647 - 1, -100000, -1, 20, 64});
  change(4, "lengths", {0, 20, 40, 64});
  cases[4].queryLengths = {1000, -5, 2147483647};
  cases[4].keyLengths = {-2147483647 - 1, 2147483647, 65};
  for (SequenceCase &c : cases) {
    c.dtype = dtype;
    c.name += std::string("_") + dtype;
  }
  return cases;
}

/// Run forward and gradients, of whose values nothing is known.
static llvm::Error checkSenseless(const SequenceCase &c, bool fused, const Target &target) {
  auto prepared = prepare(c);
  if (!prepared)
    return prepared.takeError();
  fa_compile_options options = target.options();
  options.fused = fused;
  auto backward = prepareBackward(*prepared, options, /*dlse=*/false, /*seed=*/5);
  if (!backward)
    return backward.takeError();
  return backward->execution->run(backward->inputs, backward->shapes).takeError();
}

//===----------------------------------------------------------------------===//
// A long sequence between short ones
//===----------------------------------------------------------------------===//

/// Rows of the long sequence that the reference looks at.
static constexpr int64_t kSampled = 48;

/// Return sequences of 0, 1, `length`, 1 and 0 tokens.
static std::vector<int64_t> startsOf(int64_t length) {
  return {0, 0, 1, length + 1, length + 2, length + 2};
}

/// Return a program of `queries` and `keys` in the long sequence.
static SequenceCase longCase(const char *dtype, const char *with, int64_t queries, int64_t keys) {
  SequenceCase c;
  c.dtype = dtype;
  c.with = with;
  c.hq = 2;
  c.hk = 1;
  c.queryStarts = startsOf(queries);
  c.keyStarts = startsOf(keys);
  c.queries = queries + 2;
  c.keys = keys + 2;
  return c;
}

/// Return how long the long sequence is: the CPU takes minutes for 65,537.
static int64_t lengthOn(const Target &target) {
  return target.isCPU() && !target.full ? 4097 : 65537;
}

/// Return the rows `rows` of each head.
static HostTensor sampleRows(const HostTensor &tensor, llvm::ArrayRef<int64_t> rows) {
  std::vector<int64_t> shape = tensor.shape;
  shape[1] = rows.size();
  HostTensor sampled = HostTensor::zeros(tensor.name, tensor.dtype, shape);
  size_t bytes = tensor.data.size() / (tensor.shape[0] * tensor.shape[1]);
  for (int64_t h = 0, to = 0; h < shape[0]; ++h)
    for (int64_t row : rows)
      std::memcpy(&sampled.data[bytes * to++], &tensor.data[bytes * (h * tensor.shape[1] + row)],
                  bytes);
  return sampled;
}

/// Both sides are long; without a mask rows know nothing of where they stand, so that a few stand
/// for all.
static llvm::Error checkSampled(const char *dtype, const Target &target) {
  int64_t length = lengthOn(target);
  auto prepared = prepare(longCase(dtype, "", length, length));
  if (!prepared)
    return prepared.takeError();
  auto outputs = runForOutputs(*prepared, target.options());
  if (!outputs)
    return outputs.takeError();
  std::vector<int64_t> rows = {0};
  for (int64_t n = 0; n < kSampled; ++n)
    rows.push_back(1 + n * (length - 1) / (kSampled - 1));
  rows.push_back(length + 1);
  std::vector<HostTensor> inputs = prepared->inputs, sampled;
  inputs[0] = sampleRows(inputs[0], rows);
  for (HostTensor &input : inputs)
    if (input.name == "query_starts")
      for (auto [n, start] : llvm::enumerate(startsOf(kSampled)))
        input.setInteger(n, start);
  for (const HostTensor &output : *outputs)
    sampled.push_back(sampleRows(output, rows));
  auto judgements = prepared->checker->judge(inputs, sampled);
  return judgements ? allPassed(*judgements, 2) : judgements.takeError();
}

void fa_test::addSequences(std::vector<Test> &tests) {
  for (bool gradients : {false, true})
    for (const SequenceCase &c : gradients ? sequenceGradientCases(kDTypes, /*brief=*/false)
                                           : sequenceCases(kDTypes, /*brief=*/false))
      tests.push_back({std::string(gradients ? "sequences.gradients." : "sequences.") + c.name,
                       [=](const Target &target) { return check(c, gradients, target); }});
  for (const char *dtype : kDTypes)
    for (const SequenceCase &c : senselessCases(dtype))
      for (bool fused : {false, true})
        if (!fused || c.dtype != "f32")
          tests.push_back({"sequences.senseless." + c.name + (fused ? "_fused" : ""),
                           [=](const Target &target) {
                             return checkSenseless(c, fused && !target.isCPU(), target);
                           }});
  for (const SequenceCase &c : fusedSequenceCases({"bf16", "f16"}))
    tests.push_back(
        {"sequences.fused." + c.name, [=](const Target &target) { return checkFused(c, target); }});
  for (const char *dtype : {"f16", "bf16"}) {
    tests.push_back({std::string("sequences.long.both_") + dtype,
                     [=](const Target &target) { return checkSampled(dtype, target); }});
    for (bool gradients : {false, true})
      for (bool ofQueries : {false, true}) {
        std::string name = gradients ? "sequences.long.gradients." : "sequences.long.";
        tests.push_back(
            {name + (ofQueries ? "queries_" : "keys_") + dtype, [=](const Target &target) {
               int64_t length = lengthOn(target);
               // Under a causal mask most of many queries would see nothing.
               return check(ofQueries ? longCase(dtype, "", length, kSampled)
                                      : longCase(dtype, "causal", kSampled, length),
                            gradients, target);
             }});
      }
  }
}
