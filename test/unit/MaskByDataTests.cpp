//===- MaskByDataTests.cpp - masks by captured tensors against brute force -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random masks that read captured integers at i, j, i + c, i / c, of each head or sequence, and at
// blocks; large ones are cut to fewer bits. For each:
//
//   1. the kernels that find limits are interpreted; limits of rows, and for gradients of keys, are
//      those of brute force, and so is what is said of holes;
//   2. with these limits the bounds of loops and the tests of tiles lose no visible pair and leave
//      no hidden one unmasked, for blocks of rows and for blocks of keys.
//
//===----------------------------------------------------------------------===//

#include "../Fuzz/DataMasks.h"
#include "MaskAnalysis.h"
#include "fa/Tools/Interpretation.h"

using namespace fa_test;
using fa_fuzz::DataCapture;

namespace {

constexpr int kGroups = 5;
constexpr int64_t kBatch = 2, kHeads = 2, kSpan = SummarizeOp::kSpan;

/// Columns of the table of limits.
enum { kLeastFirst, kGreatestFirst, kLeastLast, kGreatestLast, kHoles };

/// Hold what kernels found along an axis: the limits and the table of 64 of them each.
struct Limits {
  const HostTensor *first = nullptr, *last = nullptr, *table = nullptr;
};

class MaskByData : public MaskAnalysis, public testing::WithParamInterface<int> {
protected:
  void draw(fa_fuzz::Random &random, bool isWide);
  std::string attentionText() const;
  std::string loopText() const;
  Limits findLimits(Interpretation &program, StringRef suffix);
  void checkLimits(const Limits &limits, Axis of);
  void checkProgram(bool backward, fa_fuzz::Random &random);
  void checkMasks(int masks, bool isWide);

  std::vector<DataCapture> captures;
  std::string mask;
  Problem p{0, 0, 0, 0};
  /// Counts what the test has seen.
  int64_t limitsChecked = 0, holes = 0, bounded = 0;
  Counts counts;
};

/// Return the arguments that captures are; in loops the mask's region names them otherwise.
std::string listOf(const std::vector<DataCapture> &captures, const std::string &prefix = "%") {
  std::string list;
  for (const DataCapture &capture : captures)
    list += ", " + prefix + capture.name + ": " + capture.type();
  return list;
}

} // namespace

/// Draw a mask, sizes, and what its captures hold.
void MaskByData::draw(fa_fuzz::Random &random, bool isWide) {
  captures = fa_fuzz::makeDataCaptures(random, isWide);
  mask = "{\n  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index" +
         listOf(captures) + "):\n" + fa_fuzz::makeDataMask(random, captures) + "  }";
  p = {0, 0, 0, 0};
  p.sq = random.pick({1, 40, 64, 100, 130, 200});
  p.sk = random.pick({0, 1, 64, 100, 200, 300, 420});
  // Larger tiles of keys are taken apart where they are neither visible nor hidden.
  if (random.percent(8)) {
    p.sq = random.pick({30, 70});
    p.sk = random.pick({1025, 2100});
  }
  if (random.percent(30))
    p.sk = p.sq;
  for (const DataCapture &capture : captures) {
    p.captures.push_back(capture.make(kBatch, kHeads, p.sq, p.sk));
    capture.draw(p.captures.back(), std::max(p.sq, p.sk), fa_fuzz::Random(random.next()));
  }
}

/// Return the names of captures after a prefix, or their types.
static std::string capturesOf(const std::vector<DataCapture> &captures,
                              const std::string &prefix = "") {
  std::string list;
  for (const DataCapture &capture : captures)
    list += (list.empty() ? "" : ", ") + (prefix.empty() ? capture.type() : prefix + capture.name);
  return list;
}

std::string MaskByData::attentionText() const {
  std::string parameters;
  for (const DataCapture &capture : captures)
    parameters += ", " + capture.parameter();
  return R"(func.func @f(%q: tensor<2x2x?x8xf32> {fa.name = "q"}, %k: tensor<2x2x?x8xf32> {fa.name = "k"})" +
         parameters + R"()
    -> (tensor<2x2x?x8xf32> {fa.name = "o"}, tensor<2x2x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%k) captures()" +
         capturesOf(captures, "%") + ") mask " + mask +
         " : (tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, tensor<2x2x?x8xf32>, " +
         capturesOf(captures) + R"()
    -> (tensor<2x2x?x8xf32>, tensor<2x2x?xf32>)
  return %o, %lse : tensor<2x2x?x8xf32>, tensor<2x2x?xf32>
})";
}

/// Return the greatest visible score of each key.
std::string MaskByData::loopText() const {
  return loopOverRows("%q: tensor<2x2x?x8xf32>, %k: tensor<2x2x?x8xf32>" + listOf(captures, "%of_"),
                      capturesOf(captures, "%of_"), capturesOf(captures), mask);
}

/// Return what kernels found in the last run, by the end of their name; empty where there are none.
Limits MaskByData::findLimits(Interpretation &program, StringRef suffix) {
  Limits limits;
  for (const HostTensor &tensor : program.getWorkspace()) {
    StringRef name = tensor.name;
    if (name == ("f" + suffix + "_ws").str())
      limits.first = &tensor;
    if (name == ("f" + suffix + "_ws1").str())
      limits.last = &tensor;
    if (name == ("f" + suffix + "_ws2").str())
      limits.table = &tensor;
  }
  return limits;
}

/// Compare limits of rows, or of keys, with those of the pairs that the mask shows.
void MaskByData::checkLimits(const Limits &limits, Axis of) {
  std::vector<const HostTensor *> held;
  for (const HostTensor &tensor : p.captures)
    held.push_back(&tensor);
  RegionEvaluator shown(program, held);
  bool ofRows = of == Axis::rows, ofHead = limits.first->shape.size() == 3;
  int64_t length = ofRows ? p.sq : p.sk, along = ofRows ? p.sk : p.sq;
  for (int64_t b = 0; b < kBatch; ++b)
    for (int64_t h = 0; h < (ofHead ? kHeads : 1); ++h)
      for (int64_t block = 0; block < length; block += kSpan) {
        SmallVector<int64_t> at{b};
        if (ofHead)
          at.push_back(h);
        at.push_back(0);
        int64_t expected[] = {INT32_MAX, 0, INT32_MAX, 0, 0};
        for (int64_t n = block; n < std::min(block + kSpan, length); ++n) {
          int64_t first = along, last = 0, count = 0;
          for (int64_t m = 0; m < along; ++m)
            if (shown.mask({b, h, ofRows ? n : m, ofRows ? m : n, p.sq, p.sk})) {
              first = std::min(first, m);
              last = m + 1;
              ++count;
            }
          at.back() = n;
          ASSERT_EQ(readAt(*limits.first, at), first) << source << "\nof " << n;
          ASSERT_EQ(readAt(*limits.last, at), last) << source << "\nof " << n;
          expected[kLeastFirst] = std::min(expected[kLeastFirst], first);
          expected[kGreatestFirst] = std::max(expected[kGreatestFirst], first);
          expected[kLeastLast] = std::min(expected[kLeastLast], last);
          expected[kGreatestLast] = std::max(expected[kGreatestLast], last);
          expected[kHoles] |= count > 0 && count < last - first;
          ++limitsChecked;
          bounded += last > first && last - first < along;
        }
        at.back() = block / kSpan;
        at.push_back(0);
        for (int64_t column = 0; column <= kHoles; ++column) {
          at.back() = column;
          ASSERT_EQ(readAt(*limits.table, at), expected[column])
              << source << "\nentry " << block / kSpan << " column " << column;
        }
        holes += expected[kHoles];
      }
}

/// Find the limits in the interpreter, of gradients too if `backward`, and check them.
void MaskByData::checkProgram(bool backward, fa_fuzz::Random &random) {
  CompileOptions options;
  options.target = random.pick({"cpu", "sm_80"});
  if (backward)
    options.backward = CompileOptions::Backward::Only;
  auto compiled = Interpretation::create(source, options, "tile");
  ASSERT_TRUE(bool(compiled)) << llvm::toString(compiled.takeError()) << "\n" << source;
  // The kernels that find limits, and what they need.
  bool finds = false;
  for (auto kernel : llvm::make_early_inc_range((*compiled)->getModule().getOps<tile::FuncOp>())) {
    bool isLimits = kernel.getSymName().contains("_limits");
    finds |= isLimits;
    if (!isLimits && !kernel.getSymName().contains("_summary"))
      kernel.erase();
  }
  if (!finds)
    return;
  std::vector<HostTensor> inputs = p.captures;
  inputs.push_back(HostTensor::zeros("q", DType::F32, {kBatch, kHeads, p.sq, 8}));
  inputs.push_back(HostTensor::zeros("k", DType::F32, {kBatch, kHeads, p.sk, 8}));
  auto outputs = (*compiled)->run(inputs, {}, HeadLayout::BHSD, random.next());
  ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError()) << "\n" << source;
  for (Axis of : {Axis::rows, Axis::keys}) {
    StringRef suffix =
        backward ? (of == Axis::rows ? "_backward_limits" : "_backward_key_limits") : "_limits";
    Limits limits = findLimits(**compiled, suffix);
    if (!limits.first || (!backward && of == Axis::keys))
      continue;
    ASSERT_TRUE(limits.last && limits.table);
    checkLimits(limits, of);
    if (HasFatalFailure())
      return;
    if (!backward)
      p.limits = {*limits.first, *limits.last, *limits.table};
  }
}

/// Check random masks: what their limits are, and what is skipped by them.
void MaskByData::checkMasks(int masks, bool isWide) {
  if (const char *more = std::getenv("FA_MASK_PROGRAMS"))
    masks = std::atoi(more);
  for (int n = 0; n < masks; ++n) {
    uint64_t seed = n * kGroups + GetParam();
    fa_fuzz::Random random(seed);
    draw(random, isWide);
    SCOPED_TRACE("mask " + std::to_string(seed));
    ASSERT_TRUE(loadText(attentionText(), Axis::keys, /*derivesLimits=*/true)) << source;
    checkProgram(/*backward=*/n % 2, random);
    if (HasFatalFailure())
      return;
    for (Axis loopAxis : kAxes) {
      if (loopAxis == Axis::rows)
        p.limits.clear();
      bool byLimits = loopAxis == Axis::keys && !p.limits.empty();
      ASSERT_TRUE(
          loadText(loopAxis == Axis::keys ? attentionText() : loopText(), loopAxis, byLimits))
          << source;
      for (int trial = 0; trial < 2; ++trial) {
        std::tie(p.rows, p.keys) = std::vector<std::pair<int64_t, int64_t>>{
            {64, 64}, {128, 48}, {48, 80}, {192, 80}, {16, 32}, {64, 176}}[random.below(6)];
        p.b = random.below(kBatch);
        p.h = random.below(kHeads);
        check(p, /*exact=*/false, counts);
        if (HasFatalFailure())
          return;
      }
    }
  }
  std::printf("%ld tiles; without a visible pair %ld, skipped %ld; all visible %ld, unmasked %ld; "
              "%ld limits, %ld of which bound, %ld blocks with holes\n",
              long(counts.tiles), long(counts.none), long(counts.noneSkipped), long(counts.all),
              long(counts.allBare), long(limitsChecked), long(bounded), long(holes));
  EXPECT_GT(limitsChecked, 1000);
  EXPECT_GT(bounded, limitsChecked / 10);
  EXPECT_GT(holes, 0);
}

TEST_P(MaskByData, LosesNoVisiblePair) {
  checkMasks(/*masks=*/100, /*isWide=*/false);
  // Sound is not enough: much of what can be skipped is.
  EXPECT_GT(counts.noneSkipped, counts.none / 4);
  EXPECT_GT(counts.allBare, counts.all / 3);
}

/// Numbers that do not fit what they are cut to: what is known of a tile of them is their own.
TEST_P(MaskByData, LosesNoPairOfLowestBits) { checkMasks(/*masks=*/60, /*isWide=*/true); }

INSTANTIATE_TEST_SUITE_P(Random, MaskByData, testing::Range(0, kGroups));
