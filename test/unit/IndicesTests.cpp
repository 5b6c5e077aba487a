//===- IndicesTests.cpp - arithmetic on row and column indices -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Random masks and scores of row and column indices give the same numbers in the
// interpreter before and after the passes of Tile/Transforms/Indices.
//
//===----------------------------------------------------------------------===//

#include "InterpretText.h"
#include "fa/Dialect/Tile/IR/LinearForm.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "gtest/gtest.h"
#include <random>

using namespace fa_test;

namespace {

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

class Forms : public testing::Test {
protected:
  /// Parses a function of index arguments and returns the value named by a store.
  Value load(const std::string &body) {
    context.loadDialect<tile::TileDialect, arith::ArithDialect, scf::SCFDialect>();
    module = parseSourceString<ModuleOp>(
        "tile.func @f(%y: !tile.view<?x?xi1>, %a: index, %b: index, %t: index) grid affine_map<() "
        "-> (2)> sizes [] {\n%c0 = arith.constant 0 : index\n%c5 = arith.constant 5 : index\n" +
            body +
            "%m = arith.cmpi eq, %x, %x : tensor<4x8xindex>\n"
            "tile.store %m, %y[%c0, %c0] dims [0, 1] : tensor<4x8xi1>, !tile.view<?x?xi1>\n"
            "tile.return\n}\n",
        &context);
    Value found;
    if (module)
      module->walk([&](arith::CmpIOp op) { found = op.getLhs(); });
    return found;
  }

  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  tile::LinearForms forms;
};

TEST_F(Forms, Sum) {
  // (a + i) + 5 - (b + j), and the row index once more.
  Value x = load("%i = tile.iota %a : index -> tensor<4xindex>\n"
                 "%r = tile.iota %c0 : index -> tensor<4xindex>\n"
                 "%j = tile.iota %b : index -> tensor<8xindex>\n"
                 "%c = tile.broadcast %c5 : index -> tensor<4xindex>\n"
                 "%s = arith.addi %i, %c : tensor<4xindex>\n"
                 "%u = arith.addi %s, %r : tensor<4xindex>\n"
                 "%is = tile.broadcast %u dim 1 : tensor<4xindex> -> tensor<4x8xindex>\n"
                 "%js = tile.broadcast %j dim 0 : tensor<8xindex> -> tensor<4x8xindex>\n"
                 "%x = arith.subi %is, %js : tensor<4x8xindex>\n");
  ASSERT_TRUE(x);
  std::optional<tile::LinearForm> form = forms.get(x);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->row(), 2);
  EXPECT_EQ(form->column(), -1);
  EXPECT_EQ(form->constant, 5);
  ASSERT_EQ(form->terms.size(), 4u);
  for (auto [number, factor] : ArrayRef(form->terms).drop_front(2)) {
    EXPECT_TRUE(forms.term(number).isUniform());
    unsigned argument = cast<BlockArgument>(forms.term(number).value).getArgNumber();
    EXPECT_EQ(factor, argument == 1 ? 1 : -1);
  }
}

TEST_F(Forms, OtherTermsSayHowTheyDiffer) {
  Value x = load("%i = tile.iota %a : index -> tensor<4xindex>\n"
                 "%p = arith.muli %i, %i : tensor<4xindex>\n"
                 "%is = tile.broadcast %p dim 1 : tensor<4xindex> -> tensor<4x8xindex>\n"
                 "%x = arith.subi %is, %is : tensor<4x8xindex>\n");
  ASSERT_TRUE(x);
  std::optional<tile::LinearForm> none = forms.get(x);
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, tile::LinearForm());
  std::optional<tile::LinearForm> square = forms.get(x.getDefiningOp()->getOperand(0));
  ASSERT_TRUE(square && square->terms.size() == 1);
  const tile::LinearForms::Term &term = forms.term(square->terms[0].first);
  EXPECT_TRUE(term.onRow && !term.onColumn);
}

TEST(LinearForm, RangesOfSums) {
  tile::LinearForm form{{{2, 3}, {4, -1}}, 7};
  auto range = form.range(
      [](unsigned number) { return number == 2 ? tile::Interval{-1, 5} : tile::Interval{0, 10}; });
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, -6);
  EXPECT_EQ(range->high, 22);
  auto wide = [](unsigned) { return tile::Interval{0, tile::Interval::kLimit}; };
  EXPECT_FALSE(form.range(wide));
  EXPECT_FALSE(form.plus({{{2, tile::Interval::kLimit}}, 0}));
  EXPECT_EQ(form.plus({{{2, -3}, {3, 1}}, 1})->terms.size(), 2u);
}

//===----------------------------------------------------------------------===//
// Random programs
//===----------------------------------------------------------------------===//

/// Writes a loop over tiles of columns that counts visible elements and adds up scores.
class Writer {
public:
  explicit Writer(std::mt19937 &random) : random(random) {}

  std::string write() {
    scalars = {"%i0", "%j0", "%s", "%t", "%i0", "%j0"};
    linear = pick(2);
    std::string mask = condition();
    for (int n = pick(3); n > 0; --n)
      mask = add("arith.andi " + mask + ", " + condition() + " : tensor<8x16xi1>");
    std::string small =
        add("arith.index_cast " + score() + " : tensor<8x16xindex> to tensor<8x16xi32>");
    std::string x = add("arith.sitofp " + small + " : tensor<8x16xi32> to tensor<8x16xf32>");
    std::string seen =
        add("arith.select " + mask + ", " + x + ", %none : tensor<8x16xi1>, tensor<8x16xf32>");
    return R"(
tile.func @f(%y: !tile.view<?x16xf32>, %t: index)
    grid affine_map<()[s0] -> (s0 ceildiv 8)> sizes [0, 0] {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %minus = arith.constant -0.5 : f32
  %none = tile.broadcast %minus : f32 -> tensor<8x16xf32>
  %i0 = arith.muli %t, %c8 : index
  %s = tile.dim %y, 0 : !tile.view<?x16xf32>
  %sum = scf.for %j0 = %c0 to %s step %c16 iter_args(%acc = %none) -> (tensor<8x16xf32>) {
)" + text + "    %next = arith.addf %acc, " +
           seen + R"( : tensor<8x16xf32>
    scf.yield %next : tensor<8x16xf32>
  }
  tile.store %sum, %y[%i0, %c0] dims [0, 1] : tensor<8x16xf32>, !tile.view<?x16xf32>
  tile.return
}
)";
  }

private:
  unsigned pick(unsigned n) { return random() % n; }
  static std::string vectorType(bool rows) { return rows ? "tensor<8xindex>" : "tensor<16xindex>"; }
  std::string add(const std::string &op) {
    std::string name = "%v" + std::to_string(count++);
    text += "    " + name + " = " + op + "\n";
    return name;
  }
  std::string scalar() {
    if (pick(3) == 0) {
      static const int64_t numbers[] = {0, 1, 2, -3, 7, 16, 40, -100, 1 << 27, int64_t(1) << 33};
      // Floats hold the smaller ones.
      return add("arith.constant " + std::to_string(numbers[pick(linear ? 8 : 10)]) + " : index");
    }
    if (pick(3) == 0) {
      std::string x = scalars[pick(scalars.size())], y = scalar();
      return add((pick(2) ? "arith.addi " : "arith.subi ") + x + ", " + y + " : index");
    }
    return scalars[pick(scalars.size())];
  }
  std::string combine(const std::string &x, const std::string &y, const std::string &type) {
    static const char *ops[] = {"addi", "subi", "minsi", "maxsi"};
    std::string op = ops[linear || pick(4) ? pick(2) : pick(4)];
    return add("arith." + op + " " + x + ", " + y + " : " + type);
  }
  /// Numbers of rows, or of columns.
  std::string vector(bool rows, int depth) {
    if (depth > 0 && pick(2)) {
      std::string x = vector(rows, depth - 1);
      return combine(x, vector(rows, depth - 1), vectorType(rows));
    }
    return add((pick(3) ? "tile.iota " : "tile.broadcast ") + scalar() + " : index -> " +
               vectorType(rows));
  }
  std::string spread(bool rows, int depth) {
    return add("tile.broadcast " + vector(rows, depth) + (rows ? " dim 1 : " : " dim 0 : ") +
               vectorType(rows) + " -> tensor<8x16xindex>");
  }
  std::string tile(int depth) {
    if (depth > 0 && pick(3)) {
      std::string x = tile(depth - 1);
      return combine(x, tile(depth - 1), "tensor<8x16xindex>");
    }
    if (pick(5) == 0)
      return add("tile.broadcast " + scalar() + " : index -> tensor<8x16xindex>");
    return spread(pick(2), 2);
  }
  /// Return a column against a row, mostly.
  std::string sides(std::string &other) {
    std::string x = linear || pick(3) ? spread(false, 1) : tile(2);
    other = linear || pick(3) ? spread(true, 2) : tile(2);
    if (pick(2))
      std::swap(x, other);
    return x;
  }
  std::string score() {
    if (!linear)
      return tile(3);
    std::string y, x = sides(y);
    return combine(x, y, "tensor<8x16xindex>");
  }
  std::string condition() {
    static const char *predicates[] = {"slt", "sle", "sgt", "sge", "eq",
                                       "ne",  "ult", "ule", "ugt", "uge"};
    std::string predicate = predicates[linear || pick(2) ? pick(4) : pick(10)];
    std::string compare = "arith.cmpi " + predicate + ", ";
    if (pick(4) == 0) {
      std::string x = vector(false, 1), y = vector(false, 1);
      std::string some = add(compare + x + ", " + y + " : tensor<16xindex>");
      return add("tile.broadcast " + some + " dim 0 : tensor<16xi1> -> tensor<8x16xi1>");
    }
    std::string y, x = sides(y);
    return add(compare + x + ", " + y + " : tensor<8x16xindex>");
  }

  std::mt19937 &random;
  /// Record whether there are sums only.
  bool linear = false;
  std::vector<std::string> scalars;
  std::string text;
  unsigned count = 0;
};

/// Return the program after a pipeline, "" where that fails.
std::string transform(const std::string &text, const std::string &pipeline) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
  PassManager pm(&context);
  if (!module || failed(parsePassPipeline("tile.func(" + pipeline + ")", pm)) ||
      failed(pm.run(*module)))
    return "";
  std::string result;
  llvm::raw_string_ostream(result) << *module;
  return result;
}

size_t countOf(const std::string &text, const std::string &word) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++count;
  return count;
}

TEST(Indices, PassesKeepNumbers) {
  mlir::tile::registerTilePasses();
  std::mt19937 random(7);
  constexpr int kPrograms = 200;
  size_t compared = 0, narrowed = 0, predicated = 0, sums = 0;
  for (int n = 0; n < kPrograms; ++n) {
    std::string text = Writer(random).write();
    Outcome expected = interpret(text, {}, 40 * 16, 1);
    ASSERT_TRUE(expected.ran) << expected.message << "\n" << text;
    for (const char *pipeline :
         {"tile-narrow-indices", "tile-narrow-indices{before-loops=true}",
          "tile-narrow-indices,tile-convert-indices-to-float,tile-predicate-masks"}) {
      std::string after = transform(text, pipeline);
      ASSERT_NE(after, "") << text;
      Outcome actual = interpret(after, {}, 40 * 16, 1);
      ASSERT_TRUE(actual.ran) << actual.message << "\n" << text << after;
      // Sums of floats instead of integers round twice where these are large.
      bool exact = countOf(after, "fastmath<reassoc>") == 0;
      for (size_t i = 0; i < expected.y.size(); ++i) {
        float allowed = exact ? 0.0f : 1e-6f * std::max(1.0f, std::fabs(expected.y[i]));
        ASSERT_NEAR(actual.y[i], expected.y[i], allowed) << pipeline << "\n" << text << after;
      }
      narrowed += countOf(after, "tensor<16xi32>") > 0;
      predicated += countOf(after, "tile.columns_between") > 0;
      sums += !exact;
      ++compared;
    }
  }
  std::printf("%zu programs; compared in i32 %zu, with predicates %zu, sums of floats %zu\n",
              compared, narrowed, predicated, sums);
  EXPECT_GT(narrowed, compared / 2);
  EXPECT_GT(predicated, size_t(kPrograms / 20));
  EXPECT_GT(sums, size_t(kPrograms / 20));
}

} // namespace
