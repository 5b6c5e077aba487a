//===- Data.cpp - programs whose masks are data, on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs are those of examples/gallery, with another dtype and head size.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/Retype.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir::fa;
using namespace fa_test;

namespace {

struct GalleryProgram {
  const char *name, *text;
};

constexpr GalleryProgram kGallery[] = {
#include "gallery.inc"
};

/// A program of the gallery with other types, and the sizes that it runs at.
struct Setting {
  std::string program, dtype;
  int64_t d;
  AttentionSizes sizes;

  std::string name() const {
    return program + "_" + dtype + "_" + std::to_string(*sizes.queryLength) + "x" +
           std::to_string(*sizes.keyLength) + "_d" + std::to_string(d);
  }
};

} // namespace

static llvm::Expected<PreparedCase> prepare(const Setting &setting, uint64_t seed) {
  auto found = llvm::find_if(
      kGallery, [&](const GalleryProgram &program) { return program.name == setting.program; });
  if (found == std::end(kGallery))
    return llvm::createStringError("examples/gallery has no " + setting.program);
  std::string text = found->text, from = "x64xf32", to = "x" + std::to_string(setting.d) + "xf32";
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  auto retyped = retypeText(text, setting.program, setting.dtype);
  if (!retyped)
    return retyped.takeError();
  return prepare(std::move(*retyped), setting.sizes, seed);
}

/// Add launches that must give the same bits, in tiles of short sequences and those of all others.
static void addRepeats(std::vector<Test> &tests) {
  AttentionSizes batches{2, 4, 2, 333, 517}, sequences{9, 4, 2, 900, 900};
  AttentionSizes longBatches{1, 4, 2, 2100, 2300}, longSequences{5, 4, 2, 4500, 4500};
  for (const Setting &setting : std::vector<Setting>{{"documents", "f16", 64, batches},
                                                     {"documents", "bf16", 128, longBatches},
                                                     {"block_sparse", "f16", 64, batches},
                                                     {"block_sparse", "bf16", 128, longBatches},
                                                     {"block_sparse_causal", "f32", 64, batches},
                                                     {"packed_causal", "f16", 64, sequences},
                                                     {"packed_causal", "bf16", 128, longSequences},
                                                     {"packed_alibi", "bf16", 64, sequences}}) {
    tests.push_back({"data.repeats." + setting.name(), [=](const Target &target) {
                       return checkRepeats(prepare(setting, /*seed=*/2), target);
                     }});
    tests.push_back({"data.repeats_gradients." + setting.name(), [=](const Target &target) {
                       return checkGradientRepeats(prepare(setting, /*seed=*/2), target,
                                                   /*beside=*/false, /*deterministic=*/true);
                     }});
  }
}

//===----------------------------------------------------------------------===//
// Against the reference
//===----------------------------------------------------------------------===//

/// Check the forward, then the gradients.
static llvm::Error check(llvm::Expected<PreparedCase> prepared, const Target &target) {
  if (!prepared)
    return prepared.takeError();
  if (llvm::Error failed = runCase(*prepared, target.options()))
    return failed;
  return runBackward(*prepared, target.options(), /*dlse=*/false, /*seed=*/6);
}

static void addGallery(std::vector<Test> &tests) {
  for (auto [dtype, d] : {std::pair("f16", 64), {"bf16", 128}, {"f32", 64}})
    for (const GalleryProgram &program : kGallery) {
      bool inRow = llvm::StringRef(program.text).contains(" sequences(");
      AttentionSizes sizes{inRow ? 5 : 1, 2, 1, inRow ? 517 : 313, 517};
      Setting setting{program.name, dtype, d, sizes};
      tests.push_back({"data.gallery." + setting.name(), [=](const Target &target) {
                         return check(prepare(setting, /*seed=*/1), target);
                       }});
    }
}

namespace {

/// Ids of documents that no packing would make.
struct Ids {
  const char *name;
  int64_t (*at)(int64_t token);
};

constexpr Ids kIds[] = {
    {"unsorted", [](int64_t token) { return token * 7919 % 1009 % 5; }},
    {"holes", [](int64_t token) { return token / 70 * (token / 70) * 1000003 - 2000000; }},
    {"different", [](int64_t token) { return token; }},
    {"falling", [](int64_t token) { return -token / 90; }},
    {"one", [](int64_t) -> int64_t { return 3; }},
    {"foreign", [](int64_t token) -> int64_t { return token / 150 + (token == 250 ? 9 : 0); }}};

} // namespace

static llvm::Error checkIds(const Ids &ids, const Setting &setting, const Target &target) {
  auto prepared = prepare(setting, /*seed=*/1);
  if (!prepared)
    return prepared.takeError();
  HostTensor &tensor = prepared->inputs.back();
  if (tensor.name != "ids")
    return llvm::createStringError("the last tensor is no longer that of ids");
  for (int64_t n = 0; n < tensor.size(); ++n)
    tensor.setInteger(n, ids.at(n % tensor.shape[1]));
  return check(std::move(prepared), target);
}

static void addIds(std::vector<Test> &tests) {
  for (auto [dtype, d] : {std::pair("f16", 64), {"bf16", 128}, {"f32", 64}})
    for (const Ids &ids : kIds) {
      Setting setting{"documents", dtype, d, {2, 2, 1, 313, 517}};
      tests.push_back({std::string("data.ids.") + ids.name + "_" + setting.name(),
                       [=](const Target &target) { return checkIds(ids, setting, target); }});
    }
}

//===----------------------------------------------------------------------===//
// Many keys
//===----------------------------------------------------------------------===//

static constexpr int64_t kQueries = 64, kManyKeys = 1000000, kDocument = 20000;
/// Give the keys that the reference is given, and how many lie between them.
static constexpr int64_t kJudged = 2 * kDocument, kLeftOut = kManyKeys - kJudged;

/// Return the tensors that have all keys with the first 64 and the last ones alone.
static std::vector<HostTensor> keepJudgedKeys(std::vector<HostTensor> tensors) {
  for (HostTensor &tensor : tensors)
    for (size_t d = 0; d < tensor.shape.size(); ++d)
      if (tensor.shape[d] == kManyKeys) {
        size_t bytes = tensor.data.size() / kManyKeys;
        auto first = tensor.data.begin() + kQueries * bytes;
        tensor.data.erase(first, first + kLeftOut * bytes);
        tensor.shape[d] = kJudged;
      }
  return tensors;
}

/// One head of 64 queries under documents of a million keys. They are, as the first 64 keys, in the
/// document of the last keys, so that the reference needs those alone: no others have gradients.
static llvm::Error checkManyKeys(const char *dtype, const Target &target) {
  auto prepared = prepare({"documents", dtype, 64, {1, 1, 1, kQueries, kManyKeys}}, /*seed=*/3);
  if (!prepared)
    return prepared.takeError();
  HostTensor &ids = prepared->inputs.back();
  for (int64_t n = 0; n < ids.size(); ++n)
    ids.setInteger(n, (n < kQueries ? kManyKeys - 1 : n) / kDocument);
  std::vector<HostTensor> judged = keepJudgedKeys(prepared->inputs);
  auto outputs = runForOutputs(*prepared, target.options());
  if (!outputs)
    return outputs.takeError();
  auto judgements = prepared->checker->judge(judged, *outputs);
  if (!judgements)
    return judgements.takeError();
  if (llvm::Error failed = allPassed(*judgements, 2))
    return failed;
  auto backward = prepareBackward(*prepared, target.options(), /*dlse=*/false, /*seed=*/3);
  if (!backward)
    return backward.takeError();
  auto outcome = backward->execution->run(backward->inputs, backward->shapes);
  if (!outcome)
    return outcome.takeError();
  for (const HostTensor &gradient : outcome->outputs)
    if (gradient.size() > kManyKeys)
      for (int64_t n = 0, d = gradient.shape.back(); n < kLeftOut * d; ++n)
        if (gradient.at(kQueries * d + n) != 0)
          return llvm::createStringError(gradient.name + " is not 0 where nothing is seen");
  auto gradients = prepared->checker->judgeGradients(judged, backward->adjoints,
                                                     keepJudgedKeys(outcome->outputs));
  return gradients ? allPassed(*gradients, prepared->gradients) : gradients.takeError();
}

void fa_test::addData(std::vector<Test> &tests) {
  for (const char *dtype : {"f16", "bf16"})
    tests.push_back({std::string("data.many_keys.") + dtype,
                     [=](const Target &target) { return checkManyKeys(dtype, target); }});

  addRepeats(tests);
  addGallery(tests);
  addIds(tests);
}
