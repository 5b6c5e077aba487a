//===- SamplingTest.cpp - random inputs for entries -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/Sampling.h"
#include "AttentionText.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

struct Sampling : AttentionText {
  func::FuncOp documents() {
    return parse(R"(
      func.func @f(%q: tensor<?x4x?x8xbf16> {fa.name = "q"}, %k: tensor<?x2x?x8xbf16> {fa.name = "k"},
                   %v: tensor<?x2x?x8xbf16> {fa.name = "v"},
                   %ids: tensor<?x?xi32> {fa.name = "ids", fa.kind = "ids"},
                   %lens: tensor<?xi32> {fa.kind = "lengths"}, %slopes: tensor<4xf32>,
                   %bias: tensor<?x?xf32>, %t: tensor<?x?xi64> {fa.dims = ["Hk", "Sq"]},
                   %p: f32, %seed: i64, %offset: i64) -> tensor<?x4x?x8xbf16> {
        %o = fa.attention query(%q) key(%k) value(%v) captures(%t)
             with [document(%ids), prefix(%lens), alibi(%slopes), bias(%bias)] dropout(%p, %seed, %offset)
          : (tensor<?x4x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x2x?x8xbf16>, tensor<?x?xi64>,
             tensor<?x?xi32>, tensor<?xi32>, tensor<4xf32>, tensor<?x?xf32>, f32, i64, i64)
          -> tensor<?x4x?x8xbf16>
        return %o : tensor<?x4x?x8xbf16>
      })");
  }
  std::string errorOf(func::FuncOp entry, AttentionSizes sizes) {
    llvm::Expected<std::vector<HostTensor>> result = sampleInputs(entry, sizes, 1);
    return result ? "" : llvm::toString(result.takeError());
  }
};

TEST_F(Sampling, ShapesAndValues) {
  AttentionSizes sizes{3, {}, {}, 50, 70};
  llvm::Expected<std::vector<HostTensor>> result = sampleInputs(documents(), sizes, 7);
  ASSERT_TRUE(bool(result)) << llvm::toString(result.takeError());
  std::vector<HostTensor> &t = *result;
  using Shape = std::vector<int64_t>;
  const Shape shapes[] = {{3, 4, 50, 8},
                          {3, 2, 70, 8},
                          {3, 2, 70, 8},
                          {3, 70},
                          {3},
                          {4},
                          {50, 70},
                          {2, 50},
                          {},
                          {},
                          {}};
  ASSERT_EQ(t.size(), std::size(shapes));
  for (size_t i = 0; i < t.size(); ++i)
    EXPECT_EQ(t[i].shape, shapes[i]) << i;
  EXPECT_EQ(t[0].name, "q");
  EXPECT_EQ(t[4].name, "arg4");

  double sum = 0, squares = 0;
  for (int64_t i = 0; i < t[0].size(); ++i) {
    sum += t[0].at(i);
    squares += t[0].at(i) * t[0].at(i);
    EXPECT_EQ(roundTo(DType::BF16, t[0].at(i)), t[0].at(i));
  }
  EXPECT_NEAR(sum / t[0].size(), 0, 0.06);
  EXPECT_NEAR(squares / t[0].size(), 1, 0.1);
  for (int64_t i = 0; i < t[3].size(); ++i) {
    if (i % 70 == 0)
      EXPECT_EQ(t[3].integerAt(i), 0);
    else
      EXPECT_GE(t[3].integerAt(i), t[3].integerAt(i - 1));
  }
  for (int64_t i = 0; i < 3; ++i)
    EXPECT_TRUE(t[4].integerAt(i) >= 0 && t[4].integerAt(i) <= 70);
  EXPECT_FLOAT_EQ(t[8].at(0), 0.1);
  EXPECT_EQ(t[9].integerAt(0), kSampleDropoutSeed);

  llvm::Expected<std::vector<HostTensor>> again = sampleInputs(documents(), sizes, 7),
                                          other = sampleInputs(documents(), sizes, 8);
  ASSERT_TRUE(again && other);
  EXPECT_EQ((*again)[0].data, t[0].data);
  EXPECT_NE((*other)[0].data, t[0].data);
  EXPECT_NE((*again)[1].data, (*again)[2].data);
}

TEST(SamplingAdjoints, AreThoseOfTheOutputs) {
  HostTensor query = HostTensor::zeros("q", DType::BF16, {2, 4, 50, 8}),
             value = HostTensor::zeros("v", DType::BF16, {2, 2, 70, 6});
  auto [output, lse] = sampleOutputAdjoints(query, value, 7);
  EXPECT_EQ(output.name, "do");
  EXPECT_EQ(output.dtype, DType::BF16);
  EXPECT_EQ(output.shape, (std::vector<int64_t>{2, 4, 50, 6}));
  EXPECT_EQ(lse.name, "dlse");
  EXPECT_EQ(lse.dtype, DType::F32);
  EXPECT_EQ(lse.shape, (std::vector<int64_t>{2, 4, 50}));
  EXPECT_EQ(sampleOutputAdjoints(query, value, 7).first.data, output.data);
  EXPECT_NE(sampleOutputAdjoints(query, value, 8).first.data, output.data);
  EXPECT_NE(float(lse.at(0)), float(output.at(0)));
  double squares = 0;
  for (int64_t e = 0; e < lse.size(); ++e)
    squares += lse.at(e) * lse.at(e);
  EXPECT_NEAR(squares / lse.size(), 1, 0.2);
}

TEST_F(Sampling, Blocks) {
  func::FuncOp entry = documents();
  Builder b(&context);
  entry.setArgAttr(3, "fa.kind", b.getStringAttr("flags"));
  entry.setArgAttr(3, "fa.dims", b.getStrArrayAttr({"Sq/16", "Sk/7"}));
  llvm::Expected<std::vector<HostTensor>> result = sampleInputs(entry, {3, {}, {}, 50, 70}, 7);
  ASSERT_TRUE(static_cast<bool>(result)) << llvm::toString(result.takeError());
  const HostTensor &flags = (*result)[3];
  EXPECT_EQ(flags.shape, (std::vector<int64_t>{4, 10}));
  int64_t set = 0;
  for (int64_t e = 0; e < flags.size(); ++e) {
    EXPECT_TRUE(flags.integerAt(e) == 0 || flags.integerAt(e) == 1);
    set += flags.integerAt(e);
  }
  EXPECT_GT(set, 8);
  EXPECT_LT(set, 32);
  for (const char *name : {"Sq/0", "Sq/x", "Sq/", "mine/4"}) {
    entry.setArgAttr(3, "fa.dims", b.getStrArrayAttr({name, "Sk"}));
    std::string error = errorOf(entry, {3, {}, {}, 50, 70});
    EXPECT_NE(error.find("\"" + std::string(name) + "\" in fa.dims of"), std::string::npos)
        << error;
  }
}

TEST_F(Sampling, Errors) {
  func::FuncOp entry = documents();
  auto expect = [&](AttentionSizes sizes, const std::string &text) {
    std::string error = errorOf(entry, sizes);
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  expect({3, {}, {}, 50, {}}, "do not fix Sk");
  expect({-1, {}, {}, 50, 70}, "B is -1");
  expect({1, 8, {}, 50, 70}, "Hq is 8, but the query has 4");
  expect({int64_t(1) << 62, {}, {}, int64_t(1) << 62, 70}, "more than 64 GiB");
  expect({1000, {}, {}, 10'000'000, 70}, "more than 64 GiB");
  entry.setArgAttr(3, "fa.kind", StringAttr::get(&context, "words"));
  expect({1, {}, {}, 5, 5}, "expected \"ids\", \"lengths\", \"starts\" or \"flags\"");
  entry.setArgAttr(7, "fa.dims", StringAttr::get(&context, "B"));
  expect({1, {}, {}, 5, 5}, "must be 2 strings");
  entry.setArgAttr(7, "fa.dims", Builder(&context).getStrArrayAttr({"B", "mine"}));
  expect({1, {}, {}, 5, 5}, "\"mine\" in fa.dims of 'arg7' is no size; expected B, Hq");
  // No capture of rank 5 has sizes of its own.
  func::FuncOp wide = parse(R"(
      func.func @f(%q: tensor<?x4x?x8xbf16>, %k: tensor<?x4x?x8xbf16>, %v: tensor<?x4x?x8xbf16>,
                   %t: tensor<1x1x1x1x?xf32>) -> tensor<?x4x?x8xbf16> {
        %o = fa.attention query(%q) key(%k) value(%v) captures(%t) score {
          ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
               %n: tensor<1x1x1x1x?xf32>):
            %c0 = arith.constant 0 : index
            %x = tensor.extract %n[%c0, %c0, %c0, %c0, %j] : tensor<1x1x1x1x?xf32>
            %y = arith.addf %s, %x : f32
            fa.yield %y : f32
          }
          : (tensor<?x4x?x8xbf16>, tensor<?x4x?x8xbf16>, tensor<?x4x?x8xbf16>, tensor<1x1x1x1x?xf32>)
          -> tensor<?x4x?x8xbf16>
        return %o : tensor<?x4x?x8xbf16>
      })");
  ASSERT_TRUE(wide);
  EXPECT_NE(errorOf(wide, {1, {}, {}, 5, 5})
                .find("dimension 4 of 'arg3' is dynamic and no name says its size"),
            std::string::npos);
}

} // namespace
