//===- GemmTests.cpp - a product of matrices through the passes on tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes on tiles know nothing of attention: a program of products alone
// (test/Dialect/Tile/programs/gemm.mlir) is scheduled, with each optional pass left out in
// turn, and interpreted against a straightforward product.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Tools/Registry.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <gtest/gtest.h>
#include <regex>

using namespace mlir;
using namespace mlir::fa;

namespace {

uint16_t toHalf(double value) {
  APFloat number(value);
  bool inexact;
  number.convert(APFloat::IEEEhalf(), APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<uint16_t>(number.bitcastToAPInt().getZExtValue());
}

double fromHalf(uint16_t bits) {
  APFloat number(APFloat::IEEEhalf(), APInt(16, bits));
  bool inexact;
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return number.convertToDouble();
}

struct Matrix {
  Matrix(int64_t rows, int64_t columns, double seed) : rows(rows), columns(columns) {
    for (int64_t i = 0; i < rows * columns; ++i)
      bits.push_back(toHalf(std::sin(i * 7.3 + seed)));
  }
  double at(int64_t i, int64_t j) const { return fromHalf(bits[i * columns + j]); }
  interpreter::Argument argument() {
    interpreter::Argument argument;
    argument.memory.data = reinterpret_cast<std::byte *>(bits.data());
    argument.memory.sizes = {rows, columns};
    argument.memory.strides = {columns, 1};
    return argument;
  }
  int64_t rows, columns;
  std::vector<uint16_t> bits;
};

/// Return the largest difference from a straightforward product; infinite for NaN.
double worst(const Matrix &a, const Matrix &b, const Matrix &c) {
  double largest = 0;
  for (int64_t i = 0; i < c.rows; ++i)
    for (int64_t j = 0; j < c.columns; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns; ++k)
        sum += a.at(i, k) * b.at(k, j);
      double difference = std::fabs(c.at(i, j) - sum);
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
  return largest;
}

/// A target, and a pass that is left out.
class Gemm : public testing::TestWithParam<std::pair<const char *, std::string>> {};

/// For a target whose TMA wants to know the length of rows, they are `depth` of the
/// first matrix and 128 of the others.
OwningOpRef<ModuleOp> parseGemm(MLIRContext &context, bool roles, int64_t depth) {
  auto file = llvm::MemoryBuffer::getFile(FA_TEST_DIR "/Dialect/Tile/programs/gemm.mlir");
  std::string text = file ? (*file)->getBuffer().str() : "";
  if (roles) {
    // Lines name one matrix each.
    std::string first = "$1<?x" + std::to_string(depth) + "xf16>";
    text = std::regex_replace(text, std::regex("(%a[^\\n]*)<\\?x\\?xf16>"), first);
    text = std::regex_replace(text, std::regex("<\\?x\\?xf16>"), "<?x128xf16>");
    text = std::regex_replace(text, std::regex("warps = 4"), "warps = 8");
  }
  return parseSourceString<ModuleOp>(text, &context);
}

TEST_P(Gemm, IsAProductAfterScheduling) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  CompileOptions options;
  options.target = GetParam().first;
  options.leaveOut = GetParam().second;
  bool roles = options.target == "sm_90a";
  // Rows and columns of no whole tile; a part of a step of k, one, and several.
  for (int64_t depth : {8, 72, 200}) {
    OwningOpRef<ModuleOp> module = parseGemm(context, roles, depth);
    ASSERT_TRUE(bool(module));
    ASSERT_TRUE(succeeded(runPhases(*module, options, "tile", "schedule")));
    tile::FuncOp func = *module->getOps<tile::FuncOp>().begin();
    ASSERT_TRUE(succeeded(interpreter::check(func)));
    if (options.leaveOut.empty())
      EXPECT_EQ(llvm::range_size(func.getBody().front().getOps<tile::RolesOp>()), roles);
    interpreter::Options run;
    run.seed = depth;
    Matrix a(150, depth, 1), b(depth, roles ? 128 : 136, 2), c(150, b.columns, 0);
    std::fill(c.bits.begin(), c.bits.end(), 0x7e00);
    std::vector<interpreter::Argument> arguments = {a.argument(), b.argument(), c.argument()};
    // Tensor maps are of the view that they say.
    for (unsigned i = 3; i < func.getNumLaunchArguments(); ++i)
      arguments.push_back(
          arguments[func.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kMapOfAttr).getInt()]);
    ASSERT_TRUE(succeeded(interpreter::run(func, arguments, run)));
    // Half a step of an f16 of the size of the sums, and their rounding in f32.
    EXPECT_LE(worst(a, b, c), 0.01) << "k = " << depth;
  }
}

std::vector<std::pair<const char *, std::string>> leftOut() {
  std::vector<std::pair<const char *, std::string>> cases;
  for (const char *target : {"sm_80", "sm_90a"}) {
    cases.emplace_back(target, "");
    for (StringRef name : nvptx::getOptionalPasses(*nvptx::getTarget(target)))
      cases.emplace_back(target, name.str());
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Interpreter, Gemm, testing::ValuesIn(leftOut()));

/// Sums along rows, of which each warp holds a part (test/Dialect/Tile/programs/column-sums.mlir).
class ColumnSums : public testing::TestWithParam<std::pair<const char *, std::string>> {};

TEST_P(ColumnSums, CrossWarps) {
  DialectRegistry registry;
  registerAllDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto module =
      parseSourceFile<ModuleOp>(FA_TEST_DIR "/Dialect/Tile/programs/column-sums.mlir", &context);
  ASSERT_TRUE(bool(module));
  CompileOptions options;
  options.target = GetParam().first;
  options.leaveOut = GetParam().second;
  ASSERT_TRUE(succeeded(runPhases(*module, options, "tile", "schedule")));
  tile::FuncOp func = *module->getOps<tile::FuncOp>().begin();
  ASSERT_TRUE(succeeded(interpreter::check(func)));
  constexpr int64_t kRows = 150, kColumns = 136, kDepth = 64, kTile = 64, kTiles = 3;
  Matrix a(kRows, kDepth, 1), b(kColumns, kDepth, 2);
  std::vector<float> sums(kTiles * kColumns, NAN);
  interpreter::Argument result;
  result.memory.data = reinterpret_cast<std::byte *>(sums.data());
  result.memory.sizes = {kTiles, kColumns};
  result.memory.strides = {kColumns, 1};
  for (uint64_t seed : {0, 1, 2}) {
    interpreter::Options run;
    run.seed = seed;
    std::fill(sums.begin(), sums.end(), NAN);
    ASSERT_TRUE(succeeded(interpreter::run(func, {a.argument(), b.argument(), result}, run)));
    for (int64_t i = 0; i < kTiles * kColumns; ++i) {
      double sum = 0;
      for (int64_t row = i / kColumns * kTile; row < std::min(kRows, (i / kColumns + 1) * kTile);
           ++row)
        for (int64_t k = 0; k < kDepth; ++k)
          sum += a.at(row, k) * b.at(i % kColumns, k);
      ASSERT_NEAR(sums[i], sum, 1e-3) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Interpreter, ColumnSums, testing::ValuesIn(leftOut()));

} // namespace
