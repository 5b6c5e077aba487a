//===- WorkspaceTests.cpp - the memory that gradients take -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Manifests say how large workspaces are at sizes. Of the split form these are LSE and delta of
// each row, and for a gradient that is summed over rows or keys what each of them adds.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Manifest.h"
#include "fa/Tools/Interpretation.h"
#include "llvm/Support/MathExtras.h"
#include <gtest/gtest.h>
#include <map>

using namespace mlir;
using namespace mlir::fa;

namespace {

struct Sizes {
  int64_t batch, hq, hk, sq, sk, d = 64;
};

/// Describe a program of gradients, and how many numbers of f32 each query row and head, each key
/// row and key head, and each key row and query head may take.
struct Program {
  const char *name;
  /// Clauses of the attention; a capture's type, the names of its sizes, and where it is read.
  std::string with, type, sizes, indices;
  int64_t ofRow = 2, ofKey = 0, ofKeyAndHead = 0;
};

class Workspaces : public testing::TestWithParam<Program> {};

} // namespace

static std::string textOf(const Program &program) {
  std::string tensor = "tensor<?x?x?x64xbf16>", lse = "tensor<?x?x?xf32>", captured, region;
  bool isNumber = program.type == "f32", hasRegion = isNumber || !program.indices.empty();
  if (!program.type.empty())
    captured = ", %x: " + program.type + " {fa.name = \"x\"" +
               (isNumber ? "" : ", fa.dims = [" + program.sizes + "]") + "}";
  if (hasRegion) {
    std::string extract =
        "%e = tensor.extract %t[" + program.indices + "] : " + program.type + "\n";
    region = " score {\n^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, "
             "%sk: index, %t: " +
             program.type + "):\n" + (isNumber ? "" : extract) + "%r = arith.addf %s, " +
             (isNumber ? "%t" : "%e") + " : f32\nfa.yield %r : f32\n}";
  }
  return "func.func @f(%q: " + tensor + " {fa.name = \"q\"}, %k: " + tensor +
         " {fa.name = \"k\"}, %v: " + tensor + " {fa.name = \"v\"}" + captured + ") -> (" + tensor +
         " {fa.name = \"o\"}, " + lse +
         " {fa.name = \"lse\"}) {\n%o, %lse = fa.attention query(%q) key(%k) value(%v)" +
         (hasRegion ? " captures(%x)" : "") + program.with + region + " : (" + tensor + ", " +
         tensor + ", " + tensor + (captured.empty() ? "" : ", " + program.type) + ") -> (" +
         tensor + ", " + lse + ")\nreturn %o, %lse : " + tensor + ", " + lse + "\n}\n";
}

/// Return the bytes of each workspace of the gradients.
static std::map<std::string, int64_t>
countBytes(const Program &program, const CompileOptions &options, const Sizes &sizes) {
  auto [batch, hq, hk, sq, sk, d] = sizes;
  auto interpretation = Interpretation::create(textOf(program), options);
  if (!interpretation) {
    ADD_FAILURE() << llvm::toString(interpretation.takeError());
    return {};
  }
  auto manifests = readManifests((*interpretation)->getModule());
  if (failed(manifests) || manifests->size() != 1) {
    ADD_FAILURE() << "no manifest";
    return {};
  }
  const Manifest &manifest = manifests->front();
  std::map<std::string, int64_t> named = {{"B", batch}, {"Hq", hq}, {"Sq", sq}, {"Sk", sk}};
  LaunchShapes shapes;
  for (const ManifestArgument &argument : manifest.arguments) {
    LaunchShape &shape = shapes.emplace_back();
    std::string name = argument.name;
    if (argument.kind == ManifestArgument::Output && name[0] == 'd')
      name = name.substr(1);
    if (argument.kind == ManifestArgument::Workspace || argument.isNumber())
      continue;
    if (name == "q" || name == "o" || name == "do")
      shape = {batch, hq, sq, d};
    else if (name == "k" || name == "v")
      shape = {batch, hk, sk, d};
    else if (name == "lse")
      shape = {batch, hq, sq};
    else
      for (StringRef left = program.sizes; !left.empty();) {
        StringRef size;
        std::tie(size, left) = left.split(", ");
        shape.push_back(size == "\"\"" ? 1 : named.at(size.trim('"').str()));
      }
  }
  EXPECT_EQ(llvm::toString(manifest.resolve(shapes)), "");
  std::map<std::string, int64_t> bytes;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments))
    if (argument.kind == ManifestArgument::Workspace)
      bytes[argument.name] = llvm::cantFail(manifest.bytes(i, shapes[i]));
  return bytes;
}

/// Return the most bytes of these numbers of f32 a row and a key, rounded up to tiles, and of what
/// schedulers count.
static int64_t limitOf(const Program &program, const Sizes &sizes) {
  constexpr int64_t kTile = 256, kCounters = 64;
  int64_t rows = llvm::alignTo(sizes.sq, kTile), keys = llvm::alignTo(sizes.sk, kTile);
  return 4 * sizes.batch *
             (sizes.hq * (program.ofRow * rows + program.ofKeyAndHead * keys) +
              sizes.hk * program.ofKey * keys) +
         kCounters;
}

static int64_t sumOf(const std::map<std::string, int64_t> &bytes) {
  int64_t sum = 0;
  for (auto &[name, count] : bytes)
    sum += count;
  return sum;
}

// The second sizes are ten times the first ones: nothing grows with their product.
TEST_P(Workspaces, TakeSoMuchForEachRow) {
  const Program &program = GetParam();
  SCOPED_TRACE(textOf(program));
  for (const char *target : {"cpu", "sm_80", "sm_90a"})
    for (const Sizes &sizes : {Sizes{2, 8, 2, 2001, 3003}, Sizes{2, 8, 1, 20010, 30030}}) {
      SCOPED_TRACE(target);
      CompileOptions options;
      options.target = target;
      options.backward = CompileOptions::Backward::Only;
      auto bytes = countBytes(program, options, sizes);
      EXPECT_GE(bytes.size(), 2u);
      for (auto &[name, count] : bytes)
        EXPECT_LE(sumOf(bytes), limitOf(program, sizes)) << name << " has " << count;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, Workspaces,
    testing::ValuesIn(std::vector<Program>{
        {"plain", "", "", "", ""},
        {"causal", " with [causal]", "", "", ""},
        {"window", " with [window<100, 0>]", "", "", ""},
        {"alibi", " with [causal, alibi(%x)]", "tensor<?xf32>", "\"Hq\"", "", 2, 0, 1},
        {"bias", " with [bias(%x)]", "tensor<?x1x?x?xf32>", R"("B", "", "Sq", "Sk")", ""},
        {"broadcast", " with [bias(%x)]", "tensor<1x1x?x?xf32>", R"("", "", "Sq", "Sk")", ""},
        {"sink", " sink(%x)", "tensor<?xf32>", "\"Hq\"", ""},
        {"rows", "", "tensor<?xf32>", "\"Sq\"", "%i", 3},
        {"keys", "", "tensor<?xf32>", "\"Sk\"", "%j", 2, 1},
        {"columns", "", "tensor<?x?xf32>", R"("B", "Sk")", "%b, %j", 2, 1},
        {"batches", "", "tensor<?xf32>", "\"B\"", "%b", 2, 1},
        {"scalar", "", "f32", "\"\"", "", 2, 1},
        {"headsAndKeys", "", "tensor<?x?xf32>", R"("Hq", "Sk")", "%h, %j", 2, 0, 1},
        {"own", "", "tensor<?x?x?xf32>", R"("B", "Hq", "Sk")", "%b, %h, %j"},
        {"full", "", "tensor<?x?x?x?xf32>", R"("B", "Hq", "Sq", "Sk")", "%b, %h, %i, %j"}}),
    [](const auto &info) { return std::string(info.param.name); });

/// Parts of dk and of dv take as much as dq would in f32, and so does what the fused form adds up.
TEST(WorkspacesOfVariants, TakeNoMoreThanQueries) {
  const Program plain{"plain", "", "", "", ""};
  const Sizes sizes{1, 16, 1, 5000, 5000};
  int64_t query = 4 * sizes.batch * sizes.hq * int64_t(llvm::alignTo(sizes.sq, 256)) * sizes.d;
  for (const char *target : {"sm_80", "sm_90a"})
    for (bool fused : {false, true}) {
      SCOPED_TRACE(target);
      CompileOptions options;
      options.target = target;
      options.backward = CompileOptions::Backward::Only;
      (fused ? options.fused : options.splitGroups) = true;
      int64_t sum = sumOf(countBytes(plain, options, sizes)), parts = fused ? 1 : 2;
      EXPECT_LE(sum, parts * query + limitOf(plain, sizes));
      EXPECT_GT(sum, limitOf(plain, sizes)) << "no variant was compiled";
    }
}

/// Documents over a million keys: tables of limits take up to 9 bytes a row, for gradients as much
/// a key, beside LSE and delta of each row and head.
TEST(WorkspacesOfLimits, TakeNineBytesForEachRow) {
  const Program documents{"documents", " with [causal, document(%x)]", "tensor<?x?xi32>",
                          R"("B", "Sk")", ""};
  const Sizes sizes{1, 4, 1, 1000000, 1000000};
  constexpr int64_t kLimits = 9, kOther = 64 * 1024;
  for (const char *target : {"cpu", "sm_80", "sm_90a"})
    for (bool backward : {false, true}) {
      SCOPED_TRACE(target);
      CompileOptions options;
      options.target = target;
      if (backward)
        options.backward = CompileOptions::Backward::Only;
      auto bytes = countBytes(documents, options, sizes);
      EXPECT_GE(bytes.size(), 2u);
      int64_t most = kLimits * sizes.sq + kOther;
      if (backward)
        most += kLimits * sizes.sk + limitOf(documents, sizes);
      for (auto &[name, count] : bytes)
        EXPECT_LE(sumOf(bytes), most) << name << " has " << count;
    }
}
