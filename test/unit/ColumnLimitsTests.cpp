//===- ColumnLimitsTests.cpp - tile.columns_between, thread by thread -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What convert-tile-to-nvvm makes of tile.columns_between is evaluated for each thread
// and compared with the columns that its registers hold, by their layout.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;

namespace {

using Elements = std::vector<int32_t>;

/// Compute what one thread does, in i32 and i1.
class Thread {
public:
  Thread(int32_t number, ArrayRef<int32_t> arguments) : number(number), arguments(arguments) {}

  Elements get(Value value) {
    auto found = known.find(value);
    if (found != known.end())
      return found->second;
    Elements result = compute(value);
    known[value] = result;
    return result;
  }

private:
  Elements compute(Value value) {
    if (auto argument = dyn_cast<BlockArgument>(value))
      return {arguments[argument.getArgNumber()]};
    Operation *op = value.getDefiningOp();
    if (isa<NVVM::ThreadIdXOp>(op))
      return {number};
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue());
      if (!dense)
        return {int32_t(cast<IntegerAttr>(constant.getValue()).getInt())};
      Elements result;
      for (const APInt &element : dense)
        result.push_back(element.getSExtValue());
      return result;
    }
    std::vector<Elements> in;
    for (Value operand : op->getOperands())
      in.push_back(get(operand));
    if (isa<vector::FromElementsOp>(op)) {
      Elements result;
      for (const Elements &element : in)
        result.push_back(element.front());
      return result;
    }
    if (auto extract = dyn_cast<vector::ExtractOp>(op))
      return {in[0][extract.getStaticPosition().front()]};
    if (isa<vector::BroadcastOp>(op))
      return Elements(cast<VectorType>(value.getType()).getNumElements(), in[0].front());
    if (auto shuffle = dyn_cast<vector::ShuffleOp>(op)) {
      in[0].insert(in[0].end(), in[1].begin(), in[1].end());
      Elements result;
      for (int64_t place : shuffle.getMask())
        result.push_back(in[0][place]);
      return result;
    }
    Elements result;
    for (size_t i = 0; i < in[0].size(); ++i)
      result.push_back(isa<arith::SelectOp>(op) ? in[in[0][i] ? 1 : 2][i]
                                                : evaluate(op, in[0][i], in.back()[i]));
    return result;
  }

  static int32_t evaluate(Operation *op, int32_t x, int32_t y) {
    auto u = static_cast<uint32_t>(x), v = static_cast<uint32_t>(y);
    return llvm::TypeSwitch<Operation *, int32_t>(op)
        .Case([&](arith::AddIOp) { return u + v; })
        .Case([&](arith::SubIOp) { return u - v; })
        .Case([&](arith::MulIOp) { return u * v; })
        .Case([&](arith::AndIOp) { return x & y; })
        .Case([&](arith::OrIOp) { return x | y; })
        .Case([&](arith::XOrIOp) { return x ^ y; })
        .Case([&](arith::ExtUIOp) { return x != 0; })
        .Case([&](arith::DivUIOp) { return u / v; })
        .Case([&](arith::RemUIOp) { return u % v; })
        .Case([&](arith::ShRUIOp) { return u >> v; })
        .Case([&](arith::MinSIOp) { return std::min(x, y); })
        .Case([&](arith::MaxSIOp) { return std::max(x, y); })
        .Case([&](arith::CmpIOp compare) {
          return arith::applyCmpPredicate(compare.getPredicate(), APInt(32, u), APInt(32, v));
        })
        .Case([&](LLVM::InlineAsmOp text) -> int32_t {
          if (text.getAsmString() == "mov.b32 $0, $1;")
            return x;
          EXPECT_EQ(text.getAsmString(), "shl.b32 $0, -1, $1;");
          return u > 31 ? 0 : -1u << u;
        })
        .Default([](Operation *op) {
          ADD_FAILURE() << "no rule for " << op->getName().getStringRef().str();
          return 0;
        });
  }

  int32_t number;
  ArrayRef<int32_t> arguments;
  llvm::DenseMap<Value, Elements> known;
};

struct Case {
  int64_t rows, columns, warps;
  std::string layout;
  /// Record whether bits are counted.
  bool counts = true;
};

/// Accumulators of so many registers each way; warps one below another.
Case accumulator(int64_t down, int64_t columns, int64_t warps) {
  std::string layout = llvm::formatv(
      "reg = [(2, 0, 1), (2, 8, 0), ({0}, 0, 8), ({1}, {2}, 0)], lane = [(4, 0, 2), (8, 1, 0)], "
      "warp = [({3}, 16, 0)]",
      columns / 8, down, 16 * warps, warps);
  return {16 * warps * down, columns, warps, layout};
}

void check(const Case &test, bool hasLow, bool hasHigh, bool selectsOnly = true) {
  SCOPED_TRACE(test.layout + (hasLow ? " low" : "") + (hasHigh ? " high" : ""));
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, LLVM::LLVMDialect, NVVM::NVVMDialect,
                  scf::SCFDialect, vector::VectorDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto whole =
      dyn_cast_or_null<tile::FragAttr>(parseAttribute("#tile.frag<" + test.layout + ">", &context));
  ASSERT_TRUE(whole);
  const tile::Layout &layout = whole.getLayout();
  std::string rows;
  llvm::raw_string_ostream(rows) << whole.slice(1);
  std::string limits;
  if (hasLow)
    limits += " low(%ls : !rows)";
  if (hasHigh)
    limits += " high(%hs : !rows)";
  // Other ops need the conditions themselves.
  std::string others = "%r = arith.ori %s, %s : !t";
  if (!selectsOnly)
    others = "%u = arith.extui %m : !conditions to !t\n  %r = arith.ori %s, %u : !t";
  std::string text = llvm::formatv(R"(
!rows = tensor<{0}xi32, {2}>
!t = tensor<{0}x{1}xi32, {3}>
!conditions = tensor<{0}x{1}xi1, {3}>
tile.func @f(%low: i32, %high: i32, %y: !tile.view<?x?xi32>) grid affine_map<() -> ()> sizes []
    attributes {{tile.warps = {4} : i64} {{
  %c0 = arith.constant 0 : index
  %c0_i32 = arith.constant 0 : i32
  %c2_i32 = arith.constant 2 : i32
  %numbers = tile.iota %c0_i32 : i32 -> !rows
  %l = tile.broadcast %low : i32 -> !rows
  %h = tile.broadcast %high : i32 -> !rows
  %ls = arith.addi %l, %numbers : !rows
  %hs = arith.subi %h, %numbers : !rows
  %m = tile.columns_between{5} : !conditions
  %zeros = tile.broadcast %c0_i32 : i32 -> !t
  %twos = tile.broadcast %c2_i32 : i32 -> !t
  %s = arith.select %m, %twos, %zeros : !conditions, !t
  {6}
  tile.store %r, %y[%c0, %c0] dims [0, 1] : !t, !tile.view<?x?xi32>
  tile.return
})",
                                   test.rows, test.columns, rows, "#tile.frag<" + test.layout + ">",
                                   test.warps, limits, others);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(module);
  PassManager pm(&context);
  pm.addPass(fa::createConvertTileToNVVM());
  ASSERT_TRUE(succeeded(pm.run(*module)));
  Value result;
  bool shifts = false;
  module->walk([&](Operation *op) {
    if (auto either = dyn_cast<arith::OrIOp>(op))
      result = either;
    auto text = dyn_cast<LLVM::InlineAsmOp>(op);
    shifts |= text && text.getAsmString().starts_with("shl");
  });
  ASSERT_TRUE(result);
  EXPECT_EQ(shifts, test.counts);

  auto n = static_cast<int32_t>(test.columns), most = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> places = {-most - 1, -n - 1, -1,    0, 1,     2,   7,
                                 9,         n / 2,  n - 1, n, n + 9, most};
  const int32_t yes = selectsOnly ? 2 : 3, last = 32 * test.warps - 1;
  for (int32_t low : places)
    for (int32_t high : places) {
      if ((!hasLow && low != 0) || (!hasHigh && high != 0))
        continue;
      for (int32_t thread : {0, 1, 2, 3, 13, last / 2, last}) {
        Elements got = Thread(thread, {low, high}).get(result);
        ASSERT_EQ(got.size(), size_t(layout.numRegs()));
        for (int64_t r = 0; r < layout.numRegs(); ++r) {
          tile::Coords at = layout.at(r, thread % 32, thread / 32);
          auto of = [&](int32_t limit, int64_t row) {
            return static_cast<int32_t>(static_cast<uint32_t>(limit) + uint32_t(row));
          };
          bool wanted =
              (!hasLow || of(low, at[0]) <= at[1]) && (!hasHigh || at[1] < of(high, -at[0]));
          ASSERT_EQ(got[r], wanted ? yes : 0)
              << "low " << low << ", high " << high << ", row " << at[0] << ", column " << at[1];
        }
      }
    }
}

void check(const Case &test) {
  check(test, true, true);
  check(test, true, false);
  check(test, false, true);
  check(test, false, true, false);
}

TEST(ColumnLimits, Accumulators) {
  for (int64_t columns : {24, 32, 64, 80, 128})
    check(accumulator(1, columns, 4));
  check(accumulator(2, 40, 12));
  check(accumulator(4, 24, 1));
  // More than 32 columns a row and thread: several numbers.
  check(accumulator(1, 136, 4));
  check(accumulator(1, 256, 4));
}

TEST(ColumnLimits, FewColumnsAreCompared) {
  for (int64_t columns : {8, 16}) {
    Case test = accumulator(1, columns, 4);
    test.counts = false;
    check(test);
  }
}

TEST(ColumnLimits, OtherLayouts) {
  // Warps that have the same rows share the columns.
  check({16, 128, 4,
         "reg = [(2, 0, 1), (2, 8, 0), (4, 0, 8)], lane = [(4, 0, 2), (8, 1, 0)], warp = [(4, 0, "
         "32)]"});
  // Eight neighbouring columns a lane.
  check({64, 64, 4,
         "reg = [(8, 0, 1), (2, 8, 0), (2, 0, 32)], lane = [(4, 0, 8), (8, 1, 0)], warp = [(4, 16, "
         "0)]"});
  check({32, 16, 1, "reg = [(16, 0, 1)], lane = [(32, 1, 0)], warp = []"});
  // Every fourth column; three levels.
  check({8, 64, 1, "reg = [(16, 0, 4)], lane = [(4, 0, 1), (8, 1, 0)], warp = []"});
  check({8, 64, 1,
         "reg = [(2, 0, 1), (2, 0, 4), (4, 0, 16)], lane = [(2, 0, 2), (2, 0, 8), (8, 1, 0)], warp "
         "= []"});
  // Columns in another order than that of the registers.
  check({8, 64, 1, "reg = [(8, 0, 8), (2, 0, 1)], lane = [(4, 0, 2), (8, 1, 0)], warp = []"});
  // Strides that are no power of two.
  check(
      {8, 24, 1, "reg = [(2, 0, 3), (3, 0, 1)], lane = [(4, 0, 6), (8, 1, 0)], warp = []", false});
}

} // namespace
