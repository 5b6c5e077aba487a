//===- StabilizerTests.cpp - tile.stabilize against float64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A softmax over several tiles, for every legal combination of decisions, along rows
// and along columns, is interpreted as it is written and as tile-lower-stabilizer makes it,
// and compared with float64: rows without a visible score, with NaN, of large scores,
// of scores that grow from tile to tile.
//
//===----------------------------------------------------------------------===//

#include "InterpretText.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace fa_test;

namespace {

constexpr int64_t kRows = 64, kColumns = 16, kTiles = 4;

struct Case {
  std::string decisions;
  int64_t dim = 1;
  double scale = 1.5;
};

std::string replaceAll(std::string text, const std::string &from, const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

/// Return the program: what scores weigh, and the logarithm of their sum, with a mask.
std::string programOf(const Case &test) {
  bool rows = test.dim == 1;
  bool slack = test.decisions.find("slack") != std::string::npos;
  bool tests = test.decisions.find("test") != std::string::npos;
  std::string text = R"(
!t = tensor<64x16xf32>
!l = tensor<@N@xf32>
!r = !tile.reference<@N@xf32@DECISIONS@>
tile.func @f(%x: !tile.view<?x16xf32>, %v: !tile.view<?x16xf32>, %m: !tile.view<?x16xf32>,
             %y: !tile.view<?x16xf32> {tile.output}, %z: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %n = tile.dim %x, 0 : !tile.view<?x16xf32>
  %zeros = arith.constant dense<0.0> : !t
  %lows = arith.constant dense<0xFF800000> : !t
  %l0 = arith.constant dense<0.0> : !l
  %c = arith.constant dense<@SCALE@> : !l
  %r0 = tile.reference : !r
  %e:3 = scf.for %j = %c0 to %n step %c64 iter_args(%o = %zeros, %r = %r0, %l = %l0) -> (!t, !r, !l) {
    %s = tile.load %x[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> !t
    %k = tile.load %m[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> !t
    %in = arith.cmpf ogt, %k, %zeros : !t
    %xs = arith.select %in, %s, %lows : tensor<64x16xi1>, !t
    %r1, %p, %f, %ran = tile.stabilize %xs, %r @TEST@ scale(@SCALE@) dim(@DIM@) : !t, !r
    %lf = tile.rescale %l, %f : !l, !l
    %l1 = tile.reduce addf %p init %lf dim @DIM@ : !t -> !l
    %of = tile.rescale %o, %f dim(@DIM@) @WHERE@ : !t, !l
@PRODUCT@
    scf.yield %o1, %r1, %l1 : !t, !r, !l
  }
  %d = tile.broadcast %e#2 dim @DIM@ : !l -> !t
  %q = arith.divf %e#0, %d : !t
  %u = tile.reference_value %e#1 : !r
  %uc = arith.mulf %u, %c : !l
  %g = math.log2 %e#2 : !l
  %lse = arith.addf %uc, %g : !l
  tile.store %q, %y[%c0, %c0] dims [0, 1] : !t, !tile.view<?x16xf32>
  tile.store %lse, %y[%c64, %c0] dims [@LSEDIM@] : !l, !tile.view<?x16xf32>
  tile.return
}
)";
  // A product along rows, whose accumulator is rescaled by itself; along columns a sum of tiles.
  std::string product =
      rows ? R"(    %i = arith.divui %j, %c4 : index
    %w = tile.load %v[%i, %c0] dims [0, 1] : !tile.view<?x16xf32> -> tensor<16x16xf32>
    %o1 = tile.dot %p, %w, %of : !t, tensor<16x16xf32>, !t)"
           : R"(    %w = tile.load %v[%j, %c0] dims [0, 1] : !tile.view<?x16xf32> -> !t
    %pw = arith.mulf %p, %w : !t
    %o1 = arith.addf %of, %pw : !t)";
  text = replaceAll(text, "@PRODUCT@", product);
  text = replaceAll(text, "@N@", rows ? "64" : "16");
  text = replaceAll(text, "@DECISIONS@", test.decisions.empty() ? "" : ", " + test.decisions);
  text = replaceAll(text, "@SCALE@", llvm::formatv("{0:f6}", test.scale).str());
  text = replaceAll(text, "@TEST@", tests ? "test(%s : !t)" : "");
  text = replaceAll(text, "@WHERE@", slack ? "where(%ran : !tile.ran)" : "");
  text = replaceAll(text, "@LSEDIM@", rows ? "0" : "1");
  return replaceAll(text, "@DIM@", std::to_string(test.dim));
}

std::string lower(const std::string &text) {
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  if (!module)
    return "";
  PassManager pm(&context);
  pm.addNestedPass<tile::FuncOp>(tile::createTileLowerStabilizer());
  std::string lowered;
  llvm::raw_string_ostream os(lowered);
  if (failed(pm.run(*module)))
    return "";
  module->print(os);
  for (StringRef op : {"tile.stabilize", "tile.rescale", "!tile.reference"})
    EXPECT_EQ(lowered.find(op), std::string::npos) << op.str();
  return lowered;
}

/// Scores of all kinds; of bounded ones with a constant.
struct Data {
  Floats x, v, m;

  explicit Data(const Case &test) : v(kTiles * kRows * kColumns), m(v.size(), 1.0f) {
    x = valuesOf(v.size(), 3);
    v = valuesOf(v.size(), 5);
    bool constant = test.decisions.find("constant") != std::string::npos;
    for (size_t i = 0; i < x.size(); ++i) {
      int64_t row = i / kColumns % kRows, tile = i / (kRows * kColumns), column = i % kColumns;
      int64_t kind = test.dim == 1 ? row % 16 : column;
      if (kind == 1 || (kind == 2 && tile < 2) || (kind == 3 && (column + row) % 3))
        m[i] = 0; // nothing visible; nothing at first; holes
      if (kind == 4 && tile == 2 && (test.dim == 1 ? column == 5 : row == 5))
        x[i] = NAN;
      if (constant)
        continue;
      if (kind == 5)
        x[i] += 45000; // |c r| beyond 2^15
      if (kind == 6)
        x[i] -= 45000;
      if (kind == 7)
        x[i] += 10.0f * tile; // grows within the slack
      if (kind == 8)
        x[i] += 100.0f * tile; // and beyond it
      if (kind == 9)
        x[i] = -std::fabs(x[i]) - 1; // negative all along
      if (kind == 10)
        x[i] += 30000.0f * tile; // beyond 2^15 at last
      if (kind == 11)
        x[i] += 20000;
      if (kind == 12 && tile == 1)
        m[i] = 0;
    }
  }
};

/// Compare one row or column with float64.
void check(const Case &test, const Data &data, const Floats &y, int64_t line) {
  bool rows = test.dim == 1, fold = test.decisions.find("fold") != std::string::npos;
  double most = -INFINITY, sum = 0;
  bool nan = false;
  float scale = test.scale;
  auto forEach = [&](auto function) {
    for (int64_t tile = 0; tile < kTiles; ++tile)
      for (int64_t k = 0; k < (rows ? kColumns : kRows); ++k) {
        int64_t i =
            rows ? (tile * kRows + line) * kColumns + k : (tile * kRows + k) * kColumns + line;
        if (data.m[i] > 0)
          function(i, tile, k);
      }
  };
  forEach([&](int64_t i, int64_t, int64_t) {
    nan |= std::isnan(data.x[i]);
    most = std::fmax(most, data.x[i]);
  });
  if (most == -INFINITY)
    return; // without a visible score nothing is defined
  forEach([&](int64_t i, int64_t, int64_t) { sum += std::exp2(scale * (data.x[i] - most)); });
  // Half of the last place of r c, twice; see tile-fold-scale.
  double tolerance = fold ? 3e-3 : 2e-5;
  float lse = rows ? y[kRows * kColumns + line * kColumns] : y[kRows * kColumns + line];
  double expected = scale * most + std::log2(sum);
  if (nan)
    EXPECT_TRUE(std::isnan(lse)) << line;
  else
    EXPECT_NEAR(lse, expected, tolerance + 1e-6 * std::fabs(expected)) << line;
  for (int64_t d = 0; d < kColumns && rows; ++d) {
    double output = 0;
    forEach([&](int64_t i, int64_t tile, int64_t k) {
      output +=
          std::exp2(scale * (data.x[i] - most)) * data.v[(tile * kColumns + k) * kColumns + d];
    });
    float got = y[line * kColumns + d];
    if (nan)
      EXPECT_TRUE(std::isnan(got)) << line;
    else
      EXPECT_NEAR(got, output / sum, tolerance) << line << " " << d;
  }
  if (rows || nan)
    return;
  // The program keeps a column's products apart by row; together they are what it weighs.
  double output = 0, got = 0;
  forEach([&](int64_t i, int64_t, int64_t) {
    output += std::exp2(scale * (data.x[i] - most)) * data.v[i];
  });
  for (int64_t row = 0; row < kRows; ++row)
    got += y[row * kColumns + line];
  EXPECT_NEAR(got, output / sum, tolerance) << line;
}

class Stabilizer : public testing::TestWithParam<Case> {};

TEST_P(Stabilizer, AgreesWithFloat64) {
  Case test = GetParam();
  Data data(test);
  std::string written = programOf(test), lowered = lower(written);
  ASSERT_FALSE(lowered.empty());
  for (const std::string &text : {written, lowered})
    for (uint64_t seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE((&text == &written ? "written, " : "lowered, ") + std::to_string(seed));
      Outcome outcome = interpret(text, {data.x, data.v, data.m}, 2 * kRows * kColumns, seed);
      ASSERT_TRUE(outcome.ran) << outcome.message << "\n" << text;
      for (int64_t line = 0; line < (test.dim == 1 ? kRows : kColumns); ++line)
        check(test, data, outcome.y, line);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Decisions, Stabilizer,
    testing::Values(Case{""}, Case{"fold"}, Case{"constant = 0"}, Case{"constant = 0, fold"},
                    Case{"constant = 2.5"}, Case{"constant = 2.5, fold"}, Case{"slack = 8"},
                    Case{"slack = 32"}, Case{"slack = 8, fold"}, Case{"slack = 32, fold"},
                    Case{"slack = 32, fold, test"}, Case{"slack = 8, fold, test"}, Case{"", 0},
                    Case{"fold", 0}, Case{"constant = 0", 0}, Case{"constant = 2.5, fold", 0}),
    [](const testing::TestParamInfo<Case> &info) {
      std::string name = (info.param.dim ? "rows_" : "columns_") + info.param.decisions;
      for (char &c : name)
        if (!std::isalnum(c))
          c = '_';
      return name;
    });

/// A target with 32 rows a warp has no registers to carry limits: fold and test then do without.
TEST(StabilizerForms, DoWithoutCarriedLimits) {
  Case test{"slack = 8, fold, test"};
  std::string text =
      replaceAll(programOf(test), "sizes [] {", "sizes [] attributes {tile.warps = 2 : i64} {");
  std::string lowered = lower(text);
  EXPECT_EQ(lowered.find("maxsi"), std::string::npos);
  EXPECT_NE(lower(programOf(test)).find("maxsi"), std::string::npos);
  Data data(test);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    Outcome outcome = interpret(lowered, {data.x, data.v, data.m}, 2 * kRows * kColumns, seed);
    ASSERT_TRUE(outcome.ran) << outcome.message;
    for (int64_t line = 0; line < kRows; ++line)
      check(test, data, outcome.y, line);
  }
}

} // namespace
