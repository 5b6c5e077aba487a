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

void fa_test::addData(std::vector<Test> &tests) { addRepeats(tests); }
