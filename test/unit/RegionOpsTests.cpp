//===- RegionOpsTests.cpp - the table of region ops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::region;

namespace {

class RegionOps : public ::testing::Test {
protected:
  RegionOps() {
    context.loadDialect<arith::ArithDialect, math::MathDialect, index::IndexDialect,
                        func::FuncDialect>();
  }

  /// Return the ops of a function of %x and %y : f32 and %i, %j : index, but for its return.
  std::vector<Operation *> parse(const std::string &body) {
    module = parseSourceString<ModuleOp>(
        "func.func @f(%x: f32, %y: f32, %i: index, %j: index) {\n" + body + "\nreturn }", &context);
    std::vector<Operation *> ops;
    if (!module) {
      ADD_FAILURE() << body;
      return ops;
    }
    for (Operation &op : (*module->getOps<func::FuncOp>().begin()).front().without_terminator())
      ops.push_back(&op);
    return ops;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
};

/// A region may hold any op of arith and math with one result: a table that lacks one would say
/// nothing of it, and passes would take it for a light one.
TEST_F(RegionOps, EveryOpHasALine) {
  // Of several results, or of formats that regions refuse.
  const llvm::StringRef other[] = {"arith.addui_extended", "arith.mulsi_extended",
                                   "arith.mului_extended", "arith.scaling_extf",
                                   "arith.scaling_truncf", "math.sincos"};
  unsigned lines = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    llvm::StringRef dialect = name.getDialectNamespace();
    if (dialect != "arith" && dialect != "math")
      continue;
    bool expected = !llvm::is_contained(other, name.getStringRef());
    EXPECT_EQ(lookUp(name.getStringRef()) != nullptr, expected)
        << name.getStringRef().str() << ": add it to RegionOps.def";
    lines += expected;
  }
  EXPECT_GT(lines, 90u);
}

TEST_F(RegionOps, OpsOfIndexHaveTheLinesOfArith) {
  std::vector<Operation *> ops = parse("%a = index.divs %i, %j\n"
                                       "%b = index.shru %i, %j\n"
                                       "%c = index.maxu %i, %j\n"
                                       "%d = index.sizeof");
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(lookUp(ops[0])->name, "arith.divsi");
  EXPECT_EQ(lookUp(ops[0])->totality, Totality::DivideSigned);
  EXPECT_EQ(lookUp(ops[1])->totality, Totality::Shift);
  EXPECT_EQ(lookUp(ops[2])->name, "arith.maxui");
  EXPECT_EQ(lookUp(ops[3]), nullptr);
}

TEST_F(RegionOps, EvaluatesIntegers) {
  auto evaluated = [&](const char *op, int64_t x, int64_t y) {
    std::vector<Operation *> ops = parse(std::string("%a = arith.") + op + " %i, %j : index");
    return ops.empty() ? std::nullopt : evaluate(ops.front(), x, y);
  };
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(evaluated("addi", 7, -9), -2);
  EXPECT_EQ(evaluated("addi", kMost, 1), std::nullopt);
  EXPECT_EQ(evaluated("subi", -kMost, 2), std::nullopt);
  EXPECT_EQ(evaluated("muli", kMost / 2, 3), std::nullopt);
  EXPECT_EQ(evaluated("minsi", 7, -9), -9);
  EXPECT_EQ(evaluated("maxsi", 7, -9), 7);
  EXPECT_EQ(evaluated("andi", 12, 10), 8);
  EXPECT_EQ(evaluated("ori", 12, 10), 14);
  EXPECT_EQ(evaluated("xori", 12, 10), 6);
  EXPECT_EQ(evaluated("floordivsi", -7, 2), -4);
  EXPECT_EQ(evaluated("ceildivsi", -7, 2), -3);
  EXPECT_EQ(evaluated("divsi", -7, 2), -3);
  EXPECT_EQ(evaluated("remsi", -7, 2), -1);
  EXPECT_EQ(evaluated("divsi", 7, 0), std::nullopt);
  EXPECT_EQ(evaluated("divui", 7, 2), 3);
  EXPECT_EQ(evaluated("ceildivui", 7, 2), 4);
  EXPECT_EQ(evaluated("remui", 7, 2), 1);
  EXPECT_EQ(evaluated("divui", -7, 2), std::nullopt);
  EXPECT_EQ(evaluated("shrsi", -7, 1), -4);
  EXPECT_EQ(evaluated("shrui", 7, 1), 3);
  EXPECT_EQ(evaluated("shrui", -7, 1), std::nullopt);
  EXPECT_EQ(evaluated("shli", 7, 2), 28);
  EXPECT_EQ(evaluated("shli", kMost, 1), std::nullopt);
  for (const char *shift : {"shrsi", "shrui", "shli"})
    EXPECT_EQ(evaluated(shift, 1, 64), std::nullopt);
  EXPECT_EQ(evaluated("minui", 7, 2), std::nullopt);
}

TEST_F(RegionOps, Bounds) {
  std::vector<Operation *> ops = parse("%a = math.tanh %x : f32\n"
                                       "%b = arith.addf %x, %y : f32\n"
                                       "%c = arith.mulf %x, %y : f32\n"
                                       "%t = arith.cmpf olt, %x, %y : f32\n"
                                       "%d = arith.select %t, %x, %y : f32\n"
                                       "%e = math.exp %x : f32");
  ASSERT_EQ(ops.size(), 6u);
  auto of = [&](Value value) -> std::optional<double> {
    return cast<BlockArgument>(value).getArgNumber() == 0 ? 3 : 4;
  };
  auto unknown = [](Value) { return std::optional<double>(); };
  EXPECT_EQ(boundOf(ops[0], unknown), 1);
  EXPECT_EQ(boundOf(ops[1], of), 7);
  EXPECT_EQ(boundOf(ops[1], unknown), std::nullopt);
  EXPECT_EQ(boundOf(ops[2], of), 12);
  EXPECT_EQ(boundOf(ops[4], of), 4);
  EXPECT_EQ(boundOf(ops[5], of), std::nullopt);
}

TEST_F(RegionOps, Signs) {
  std::vector<Operation *> ops = parse("%p = arith.constant 2.0 : f32\n"
                                       "%a = math.erf %x : f32\n"
                                       "%b = arith.mulf %p, %x : f32\n"
                                       "%c = arith.mulf %x, %y : f32\n"
                                       "%d = arith.divf %x, %p : f32\n"
                                       "%e = arith.divf %p, %x : f32\n"
                                       "%f = math.cos %x : f32");
  ASSERT_EQ(ops.size(), 7u);
  auto isPositive = [](Value value) { return matchPattern(value, m_Constant()); };
  Value x = ops[1]->getOperand(0);
  EXPECT_EQ(signOf(ops[1], isPositive), x);
  EXPECT_EQ(signOf(ops[2], isPositive), x);
  EXPECT_EQ(signOf(ops[3], isPositive), Value());
  EXPECT_EQ(signOf(ops[4], isPositive), x);
  EXPECT_EQ(signOf(ops[5], isPositive), Value());
  EXPECT_EQ(signOf(ops[6], isPositive), Value());
}

TEST_F(RegionOps, ApproximateFormsTakeLess) {
  std::vector<Operation *> ops = parse("%a = math.tanh %x : f32\n"
                                       "%b = math.tanh %x fastmath<afn> : f32\n"
                                       "%c = math.sqrt %x fastmath<afn> : f32");
  ASSERT_EQ(ops.size(), 3u);
  EXPECT_EQ(effortOf(ops[0]).pressure, Pressure::Long);
  EXPECT_FALSE(effortOf(ops[0]).isShort);
  EXPECT_EQ(effortOf(ops[1]).pressure, Pressure::Light);
  EXPECT_TRUE(effortOf(ops[1]).isShort);
  EXPECT_EQ(effortOf(ops[1]).arithmetic, 0);
  EXPECT_TRUE(effortOf(ops[2]).isShort);
}

} // namespace
