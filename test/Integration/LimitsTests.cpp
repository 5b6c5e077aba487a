//===- LimitsTests.cpp - masks by data, forward and backward, against the reference -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks of which `fa-derive-limits` finds limits, on ids that are made to break it: that fall, that
// come back, that no other side has, that 32 bits do not hold. The program has ids of queries and
// of keys, and its mask compares them. Each runs on the CPU and, scheduled for GPUs, in the
// interpreter.
//
//===----------------------------------------------------------------------===//

#include "RunCase.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Reference/Sampling.h"
#include "fa/Tools/Interpretation.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/FormatVariadic.h"
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace mlir::fa;
using namespace fa_test;

namespace {

using Random = std::mt19937;
using Ids = std::vector<int64_t>;
/// Draws the ids of so many queries, or keys.
using Drawer = std::function<Ids(int64_t count, Random &random)>;

/// A mask region on `%x`, ids of queries, and `%y`, ids of keys.
struct Masked {
  const char *name;
  int64_t sq, sk;
  Drawer queries, keys;
  std::string mask;
  const char *element = "i32";
  /// Say whether there are ids for each head.
  bool ofHead = false;
  const char *dtype = "bf16";
  int64_t queryHeads = 1;
  /// The sizes of `%x` where it is not of queries.
  std::vector<int64_t> shapeOfX = {};
};

void PrintTo(const Masked &c, std::ostream *os) { *os << c.name; }

constexpr int64_t kBatch = 2, kKeyHeads = 1;

//===----------------------------------------------------------------------===//
// Ids
//===----------------------------------------------------------------------===//

/// Return ids that rise, of `count` parts of random lengths.
Drawer parts(int64_t count, int64_t sign = 1) {
  return [=](int64_t size, Random &random) {
    std::vector<int64_t> ends;
    for (int64_t n = 1; n < count; ++n)
      ends.push_back(size ? random() % size : 0);
    Ids ids;
    for (int64_t n = 0; n < size; ++n)
      ids.push_back(sign * llvm::count_if(ends, [&](int64_t end) { return end <= n; }));
    return ids;
  };
}

Drawer mapped(Drawer drawer, std::function<int64_t(int64_t)> map) {
  return [=](int64_t size, Random &random) {
    Ids ids = drawer(size, random);
    for (int64_t &id : ids)
      id = map(id);
    return ids;
  };
}

Drawer constant(int64_t id) {
  return [=](int64_t size, Random &) { return Ids(size, id); };
}

Drawer below(int64_t bound) {
  return [=](int64_t size, Random &random) {
    Ids ids;
    for (int64_t n = 0; n < size; ++n)
      ids.push_back(random() % bound);
    return ids;
  };
}

/// Put an id that nothing else has into the middle.
Drawer withForeign(Drawer drawer) {
  return [=](int64_t size, Random &random) {
    Ids ids = drawer(size, random);
    ids[size / 2] = 99;
    return ids;
  };
}

Drawer shuffled(Drawer drawer) {
  return [=](int64_t size, Random &random) {
    Ids ids = drawer(size, random);
    std::shuffle(ids.begin(), ids.end(), random);
    return ids;
  };
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::string readAt(const char *result, const char *tensor, const char *index, bool ofHead,
                   StringRef element) {
  return llvm::formatv("  %{0} = tensor.extract %{1}[%b, {2}%{3}] : tensor<{4}x{5}>\n", result,
                       tensor, ofHead ? "%h, " : "", index, ofHead ? "?x?x?" : "?x?", element);
}

constexpr const char *kCausal = "  %shift = arith.subi %sk, %sq : index\n"
                                "  %diagonal = arith.addi %i, %shift : index\n"
                                "  %past = arith.cmpi sle, %j, %diagonal : index\n";

/// Return the mask that shows equal ids, and with `causal` those of the past.
std::string equalIds(bool causal, bool ofHead = false, StringRef element = "i32",
                     int64_t distance = 0) {
  std::string text = llvm::formatv("  %c = arith.constant {0} : index\n"
                                   "  %n = arith.addi %i, %c : index\n",
                                   distance);
  text += readAt("own", "x", distance ? "n" : "i", ofHead, element);
  text += readAt("other", "y", "j", ofHead, element);
  text += llvm::formatv("  %equal = arith.cmpi eq, %own, %other : {0}\n", element);
  if (!causal)
    return text + "  fa.yield %equal : i1";
  return text + kCausal + "  %z = arith.andi %equal, %past : i1\n  fa.yield %z : i1";
}

std::vector<Masked> makeCases() {
  Drawer documents = parts(5);
  std::vector<Masked> cases;
  auto both = [&](const char *name, const char *causalName, const Drawer &drawer) {
    cases.push_back({name, 130, 200, drawer, drawer, equalIds(false)});
    cases.push_back({causalName, 200, 200, drawer, drawer, equalIds(true)});
  };
  both("Documents", "DocumentsCausal", documents);
  both("Falling", "FallingCausal", parts(5, -1));
  both("Foreign", "ForeignCausal", withForeign(documents));
  both("Equal", "EqualCausal", constant(7));
  both("Shuffled", "ShuffledCausal", shuffled(documents));
  auto add = [&](const char *name, int64_t sq, int64_t sk, Drawer queries, Drawer keys,
                 std::string mask) -> Masked & {
    cases.push_back({name, sq, sk, std::move(queries), std::move(keys), std::move(mask)});
    return cases.back();
  };
  // A border in a block of rows, each side of which sees more tiles than are taken one by one, and
  // a part of one.
  add("Many", 70, 1500, parts(2), withForeign(parts(2)), equalIds(false));
  // More queries than keys: the first ones see nothing.
  add("MoreQueries", 200, 130, documents, documents, equalIds(true));
  // Ids whose differences overflow.
  Drawer wide = mapped(documents, [](int64_t id) { return int32_t(id * 2654435761u + 12345u); });
  add("Wide", 130, 200, wide, wide, equalIds(false));
  // Ids of 64 bits: alike in the lower 32, all of them beyond those, or some.
  for (auto [name, step, first] : {std::tuple("Long", int64_t(1) << 33, int64_t(0)),
                                   std::tuple("LongShifted", int64_t(1), int64_t(1) << 40)}) {
    Drawer drawer =
        mapped(documents, [first = first, step = step](int64_t id) { return first + id * step; });
    add(name, 130, 200, drawer, drawer, equalIds(false, false, "i64")).element = "i64";
  }
  Masked &heads = add("OfHeads", 200, 200, documents, documents, equalIds(true, /*ofHead=*/true));
  heads.ofHead = true;
  heads.queryHeads = 2;
  add("OfGroups", 130, 130, documents, documents, equalIds(true)).queryHeads = 2;
  add("Ahead", 200, 200, documents, documents, equalIds(true, false, "i32", 3));
  add("Behind", 200, 200, documents, documents, equalIds(false, false, "i32", -70));
  add("Nothing", 130, 200, constant(1), constant(2), equalIds(false));
  add("OneQuery", 1, 200, constant(2), documents, equalIds(false));
  add("OneKey", 200, 1, documents, constant(2), equalIds(false));
  add("NoKey", 70, 0, documents, documents, equalIds(false));
  cases.push_back({"DocumentsOfF32", 130, 200, documents, documents, equalIds(true)});
  cases.back().dtype = "f32";
  // Bits of keys, and of queries.
  std::string bits = readAt("seen", "y", "j", false, "i1");
  std::string bitsOfRows = readAt("row", "x", "i", false, "i1");
  Drawer padding = [](int64_t size, Random &) {
    Ids ids;
    for (int64_t n = 0; n < size; ++n)
      ids.push_back(n < size * 2 / 3);
    return ids;
  };
  add("Padding", 130, 200, constant(1), padding, bits + "  fa.yield %seen : i1").element = "i1";
  add("PaddingCausal", 200, 200, constant(1), padding,
      bits + kCausal + "  %z = arith.andi %seen, %past : i1\n  fa.yield %z : i1")
      .element = "i1";
  add("PaddingOfBoth", 130, 200, padding, padding,
      bits + bitsOfRows + "  %z = arith.andi %seen, %row : i1\n  fa.yield %z : i1")
      .element = "i1";
  add("RandomBits", 130, 200, below(2), below(2),
      bits + bitsOfRows + "  %z = arith.xori %seen, %row : i1\n  fa.yield %z : i1")
      .element = "i1";
  // Limits that are read at rows bound blocks of keys, too.
  Drawer limits = [](int64_t size, Random &random) {
    Ids ids;
    for (int64_t n = 0; n < size; ++n)
      ids.push_back(n / 50 * 40 + random() % 20);
    return ids;
  };
  std::string limit = readAt("first", "x", "i", false, "i32");
  limit += "  %k = arith.index_cast %first : i32 to index\n"
           "  %z = arith.cmpi sle, %k, %j : index\n  fa.yield %z : i1";
  add("LimitsOfRows", 200, 200, limits, constant(0), limit);
  // A prefix beside documents: one that all rows see.
  add("Prefix", 130, 200, documents, documents,
      "  %c20 = arith.constant 20 : index\n  %prefix = arith.cmpi slt, %j, %c20 : index\n" +
          readAt("own", "x", "i", false, "i32") + readAt("other", "y", "j", false, "i32") +
          "  %equal = arith.cmpi eq, %own, %other : i32\n"
          "  %z = arith.ori %equal, %prefix : i1\n  fa.yield %z : i1");
  // Blocks of 48 rows and 80 keys, in documents.
  Masked &blocks =
      add("Blocks", 130, 200, below(2), documents,
          "  %rows = arith.constant 48 : index\n  %keys = arith.constant 80 : index\n"
          "  %p = arith.divui %i, %rows : index\n  %r = arith.divui %j, %keys : index\n"
          "  %block = tensor.extract %x[%p, %r] : tensor<?x?xi32>\n" +
              readAt("own", "y", "i", false, "i32") + readAt("other", "y", "j", false, "i32") +
              "  %zero = arith.constant 0 : i32\n"
              "  %on = arith.cmpi ne, %block, %zero : i32\n"
              "  %equal = arith.cmpi eq, %own, %other : i32\n"
              "  %z = arith.andi %equal, %on : i1\n  fa.yield %z : i1");
  blocks.shapeOfX = {3, 3};
  return cases;
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Return whether the mask reads the ids of that name.
bool reads(const Masked &c, StringRef name) {
  return StringRef(c.mask).contains(("tensor.extract %" + name + "[").str());
}

std::string textOf(const Masked &c) {
  std::string type = llvm::formatv("tensor<{0}x{1}>", c.ofHead ? "?x?x?" : "?x?", c.element);
  std::string parameters, captures, arguments, types;
  for (StringRef name : {"x", "y"}) {
    if (!reads(c, name))
      continue;
    bool ofRows = name == "x";
    std::string dims = llvm::formatv(R"(, fa.dims = ["B", {0}"{1}"])", c.ofHead ? "\"Hq\", " : "",
                                     ofRows ? "Sq" : "Sk");
    if (ofRows && !c.shapeOfX.empty())
      dims = "";
    parameters += llvm::formatv(R"(, %{0}: {1} {{fa.name = "{0}"{2}})", name, type, dims);
    captures += (captures.empty() ? "%" : ", %") + name.str();
    arguments += ", %" + name.str() + ": " + type;
    types += ", " + type;
  }
  return llvm::formatv(R"(func.func @f(
  %q: tensor<?x?x?x64x{0}> {{fa.name = "q"}, %k: tensor<?x?x?x64x{0}> {{fa.name = "k"},
  %v: tensor<?x?x?x64x{0}> {{fa.name = "v"}{1})
  -> (tensor<?x?x?x64x{0}> {{fa.name = "o"}, tensor<?x?x?xf32> {{fa.name = "lse"}) {{
  %o, %lse = fa.attention query(%q) key(%k) value(%v) captures({2}) mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index{3}):
{4}
  } : (tensor<?x?x?x64x{0}>, tensor<?x?x?x64x{0}>, tensor<?x?x?x64x{0}>{5})
    -> (tensor<?x?x?x64x{0}>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64x{0}>, tensor<?x?x?xf32>
})",
                       c.dtype, parameters, captures, arguments, c.mask, types);
}

/// Set the ids, each sequence, or head, drawn anew.
void drawIds(const Masked &c, std::vector<HostTensor> &inputs) {
  Random random(3);
  for (HostTensor &tensor : inputs) {
    if (tensor.name != "x" && tensor.name != "y")
      continue;
    bool ofRows = tensor.name == "x";
    if (ofRows && !c.shapeOfX.empty())
      tensor = HostTensor::zeros(tensor.name, tensor.dtype, c.shapeOfX);
    int64_t length = ofRows ? (c.shapeOfX.empty() ? c.sq : tensor.size()) : c.sk;
    for (int64_t first = 0; first < tensor.size(); first += length)
      for (auto [n, id] : llvm::enumerate((ofRows ? c.queries : c.keys)(length, random)))
        tensor.setInteger(first + n, id);
  }
}

class Limits : public testing::TestWithParam<Masked> {
protected:
  void SetUp() override {
    const Masked &c = GetParam();
    text = textOf(c);
    auto made = Checker::create(text);
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError()) << "\n" << text;
    checker = std::move(*made);
    auto entry = checker->getAttention()->getParentOfType<func::FuncOp>();
    AttentionSizes sizes{kBatch, c.queryHeads, kKeyHeads, c.sq, c.sk};
    auto drawn = sampleInputs(entry, sizes, /*seed=*/4);
    ASSERT_TRUE(bool(drawn)) << llvm::toString(drawn.takeError()) << "\n" << text;
    inputs = std::move(*drawn);
    drawIds(c, inputs);
  }

  void expectPassed(llvm::Expected<std::vector<std::pair<std::string, Judgement>>> judged,
                    size_t count) {
    ASSERT_TRUE(bool(judged)) << llvm::toString(judged.takeError());
    EXPECT_EQ(judged->size(), count);
    for (auto &[name, judgement] : *judged)
      EXPECT_TRUE(judgement.passed) << name << ": " << judgement.problem;
  }

  /// Judge the forward and then the gradients; `run` runs a program of either kind.
  void check(llvm::function_ref<llvm::Expected<std::vector<HostTensor>>(
                 bool backward, const std::vector<HostTensor> &inputs, const OutputShapes &shapes)>
                 run) {
    SCOPED_TRACE(text);
    auto outputs = run(false, inputs, llvm::cantFail(checker->outputShapes(inputs)));
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    expectPassed(checker->judge(inputs, *outputs), 2);
    auto adjoints = llvm::cantFail(checker->sampleAdjoints(inputs, /*dlse=*/false, /*seed=*/5));
    std::vector<HostTensor> all = inputs;
    all.insert(all.end(), outputs->begin(), outputs->end());
    all.insert(all.end(), adjoints.begin(), adjoints.end());
    auto gradients = run(true, all, checker->gradientShapes(inputs));
    ASSERT_TRUE(bool(gradients)) << llvm::toString(gradients.takeError());
    expectPassed(checker->judgeGradients(inputs, adjoints, *gradients), 3);
  }

  std::string text;
  std::unique_ptr<Checker> checker;
  std::vector<HostTensor> inputs;
};

/// Return what was compiled of a text for a target, or what `compile` makes: cases that differ in
/// sizes and ids alone share it.
template <typename Program>
llvm::Expected<Program *>
compiledOnce(const std::string &text, const std::string &target, bool backward,
             llvm::function_ref<llvm::Expected<std::unique_ptr<Program>>()> compile) {
  static std::map<std::tuple<std::string, std::string, bool>, std::unique_ptr<Program>> programs;
  std::unique_ptr<Program> &program = programs[{text, target, backward}];
  if (program)
    return program.get();
  auto made = compile();
  if (!made)
    return made.takeError();
  program = std::move(*made);
  return program.get();
}

TEST_P(Limits, MatchTheReferenceOnTheCPU) {
  check([&](bool backward, const std::vector<HostTensor> &with,
            const OutputShapes &shapes) -> llvm::Expected<std::vector<HostTensor>> {
    auto execution = compiledOnce<Execution>(text, "cpu", backward, [&] {
      fa_compile_options options = fa_compile_options_default();
      options.threads = 2;
      options.backward = backward;
      return Execution::create(text, options);
    });
    if (!execution)
      return execution.takeError();
    auto outcome = (*execution)->run(with, shapes, {}, /*repeats=*/1);
    if (!outcome)
      return outcome.takeError();
    return std::move(outcome->outputs);
  });
}

TEST_P(Limits, MatchTheReferenceWhenScheduled) {
  for (const char *target : {"sm_80", "sm_90a"}) {
    SCOPED_TRACE(target);
    check([&](bool backward, const std::vector<HostTensor> &with,
              const OutputShapes &shapes) -> llvm::Expected<std::vector<HostTensor>> {
      auto program = compiledOnce<Interpretation>(text, target, backward, [&] {
        CompileOptions options;
        options.target = target;
        if (backward)
          options.backward = CompileOptions::Backward::Only;
        return Interpretation::create(text, options);
      });
      if (!program)
        return program.takeError();
      return (*program)->run(with, shapes, HeadLayout::BHSD, /*seed=*/6);
    });
  }
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

std::vector<Masked> casesOf(ArrayRef<StringRef> names) {
  std::vector<Masked> cases;
  for (const Masked &c : makeCases())
    if (llvm::is_contained(names, c.name))
      cases.push_back(c);
  for (Masked &c : cases)
    if (StringRef(c.name) == "DocumentsCausal")
      c.sq = c.sk = 600;
  return cases;
}

std::vector<Masked> makeOrderCases() {
  std::vector<Masked> cases =
      casesOf({"DocumentsCausal", "ShuffledCausal", "Nothing", "LimitsOfRows"});
  // As many blocks as take several tiles of the kernels that sort, many of which are as long.
  cases.back().sq = 64 * 140 + 5;
  cases.back().sk = 1000;
  cases.back().queries = [](int64_t size, Random &random) {
    Ids ids;
    for (int64_t n = 0, base = 0; n < size; ++n) {
      base = n % 64 ? base : random() % 1000;
      ids.push_back(base + random() % 20);
    }
    return ids;
  };
  return cases;
}

class Order : public Limits {
protected:
  const HostTensor &find(StringRef name) {
    return *llvm::find_if(inputs, [&](const HostTensor &tensor) { return tensor.name == name; });
  }

  /// Return whether the mask shows a pair.
  bool shows(int64_t b, int64_t i, int64_t j) {
    const Masked &c = GetParam();
    int64_t own = find("x").integerAt(b * c.sq + i);
    if (!reads(c, "y"))
      return own <= j;
    bool isPast = !StringRef(c.mask).contains("%past") || j <= i + c.sk - c.sq;
    return isPast && own == find("y").integerAt(b * c.sk + j);
  }

  /// Return the tiles of keys that a block of rows visits: from the first visible key to the last;
  /// none where a row has a hole, which another kernel does.
  int64_t countTiles(int64_t b, int64_t block, int64_t rows, int64_t keys) {
    const Masked &c = GetParam();
    int64_t first = c.sk, end = 0;
    for (int64_t i = block * rows; i < std::min(c.sq, (block + 1) * rows); ++i) {
      int64_t least = c.sk, behind = 0, visible = 0;
      for (int64_t j = 0; j < c.sk; ++j)
        if (shows(b, i, j)) {
          least = std::min(least, j);
          behind = j + 1;
          ++visible;
        }
      if (visible != 0 && visible != behind - least)
        return 0;
      first = std::min(first, least);
      end = std::max(end, behind);
    }
    return first < end ? (end - 1) / keys - first / keys + 1 : 0;
  }
};

TEST_P(Order, IsThatOfTheTilesVisited) {
  const Masked &c = GetParam();
  SCOPED_TRACE(text);
  for (int64_t rows : {64, 128}) {
    CompileOptions options;
    options.target = "sm_80";
    options.rows = rows;
    options.keys = 64;
    options.warps = 4;
    auto program = llvm::cantFail(Interpretation::create(text, options, "tile"));
    // The order as an output, and nothing that reads it.
    auto order = program->getModule().lookupSymbol<tile::FuncOp>("f_order");
    ASSERT_TRUE(order);
    order.removeArgAttr(order.getNumLaunchArguments() - 1, tile::TileDialect::kWorkspaceAttr);
    for (StringRef other : {"f", "f_any", "f_holes"})
      if (auto kernel = program->getModule().lookupSymbol<tile::FuncOp>(other))
        kernel.erase();
    int64_t blocks = llvm::divideCeilSigned(c.sq, rows);
    auto outputs = program->run(inputs, {{"f_order_ws", {kBatch, blocks}}}, HeadLayout::BHSD, 6);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    for (int64_t b = 0; b < kBatch; ++b) {
      std::vector<int64_t> expected, tiles;
      for (int64_t block = 0; block < blocks; ++block) {
        expected.push_back(block);
        tiles.push_back(countTiles(b, block, rows, options.keys));
      }
      llvm::sort(expected, [&](int64_t x, int64_t y) {
        return std::pair(-tiles[x], x) < std::pair(-tiles[y], y);
      });
      for (int64_t n = 0; n < blocks; ++n)
        ASSERT_EQ(outputs->front().integerAt(b * blocks + n), expected[n])
            << "place " << n << " of sequence " << b << ", blocks of " << rows << " rows";
    }
  }
}

class Sorted : public Limits {};

/// Expect the same of what is run in another order. The interpreter chooses, for each work tile it
/// runs, rows that compute more than they need (`tile.if_any`), so that passes are left out that
/// let them.
TEST_P(Sorted, IsTheSameBits) {
  SCOPED_TRACE(text);
  for (StringRef target : {"sm_80", "sm_90a"})
    for (bool backward : {false, true}) {
      std::string leftOut;
      if (target == "sm_90a")
        leftOut = "tile-predicate-masks,tile-rescale-lazily,tile-fold-scale,"
                  "tile-test-before-reducing";
      std::vector<HostTensor> with = inputs;
      OutputShapes shapes = llvm::cantFail(checker->outputShapes(inputs));
      CompileOptions options;
      options.target = target.str();
      auto run = [&](bool sort) {
        options.leaveOut = leftOut;
        if (!sort)
          options.leaveOut += leftOut.empty() ? "tile-sort-grid" : ",tile-sort-grid";
        auto program = llvm::cantFail(Interpretation::create(text, options));
        bool sorts = false;
        program->getModule().walk(
            [&](tile::FuncOp func) { sorts |= func.getSymName().ends_with("_order"); });
        EXPECT_EQ(sorts, sort);
        return llvm::cantFail(program->run(with, shapes, HeadLayout::BHSD, /*seed=*/6));
      };
      if (backward) {
        std::vector<HostTensor> outputs = run(true);
        auto adjoints = llvm::cantFail(checker->sampleAdjoints(inputs, /*dlse=*/false, /*seed=*/5));
        with.insert(with.end(), outputs.begin(), outputs.end());
        with.insert(with.end(), adjoints.begin(), adjoints.end());
        shapes = checker->gradientShapes(inputs);
        options.backward = CompileOptions::Backward::Only;
      }
      std::vector<HostTensor> sorted = run(true), unsorted = run(false);
      ASSERT_EQ(sorted.size(), unsorted.size());
      for (auto [x, y] : llvm::zip(sorted, unsorted))
        EXPECT_TRUE(x.data == y.data) << target.str() << " " << x.name;
    }
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Return the workspace of a program on so many rows and keys, which stand nowhere. Documents have
/// ids of rows and of keys.
uint64_t workspaceOf(bool byDocuments, bool backward, int64_t rows, int64_t keys) {
  std::string ids = R"(, %x: tensor<?x?xi32> {fa.name = "x", fa.dims = ["B", "Sq"]},
  %y: tensor<?x?xi32> {fa.name = "y", fa.dims = ["B", "Sk"]})";
  std::string program =
      llvm::formatv(R"(func.func @f(
  %q: tensor<?x?x?x64xbf16> {{fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {{fa.name = "k"},
  %v: tensor<?x?x?x64xbf16> {{fa.name = "v"}{0})
  -> (tensor<?x?x?x64xbf16> {{fa.name = "o"}, tensor<?x?x?xf32> {{fa.name = "lse"}) {{
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal{1}]
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>{2})
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
})",
                    byDocuments ? ids : "", byDocuments ? ", document(%x, %y)" : "",
                    byDocuments ? ", tensor<?x?xi32>, tensor<?x?xi32>" : "");
  fa_compile_options options = fa_compile_options_default();
  options.backward = backward;
  auto execution = llvm::cantFail(Execution::create(program, options));
  alignas(64) static char nowhere[64];
  int64_t query[] = {1, 1, rows, 64}, key[] = {1, 1, keys, 64}, row[] = {1, 1, rows};
  int64_t ofRows[] = {1, rows}, ofKeys[] = {1, keys};
  std::vector<std::pair<const char *, fa_tensor>> tensors;
  for (const char *name : {"q", "k", "v", "o", "do", "dq", "dk", "dv"})
    if (backward || StringRef(name).size() == 1)
      tensors.push_back(
          {name,
           {nowhere, FA_BF16, 4, StringRef("kv").contains(StringRef(name).back()) ? key : query,
            nullptr, 0}});
  tensors.push_back({"lse", {nowhere, FA_F32, 3, row, nullptr, 0}});
  if (byDocuments) {
    tensors.push_back({"x", {nowhere, FA_I32, 2, ofRows, nullptr, 0}});
    tensors.push_back({"y", {nowhere, FA_I32, 2, ofKeys, nullptr, 0}});
  }
  std::vector<fa_argument> arguments;
  for (auto &[name, tensor] : tensors)
    arguments.push_back({name, &tensor, 0, 0});
  uint64_t bytes = 0;
  fa_error *failed = fa_program_workspace_size(execution->getProgram(), arguments.data(),
                                               arguments.size(), &bytes);
  EXPECT_EQ(failed, nullptr) << fa_error_message(failed);
  fa_error_free(failed);
  return bytes;
}

/// Tables and limits take 9 bytes a row, and for gradients 9 a key besides.
TEST(LimitsMemory, IsLinear) {
  constexpr uint64_t kLength = 1000000, kMore = 64 << 10;
  uint64_t forward = workspaceOf(/*byDocuments=*/true, /*backward=*/false, kLength, kLength);
  EXPECT_LE(forward, 9 * kLength + kMore);
  EXPECT_GT(forward, 8 * kLength);
  uint64_t backward = workspaceOf(true, true, kLength, kLength);
  uint64_t plain = workspaceOf(false, true, kLength, kLength);
  EXPECT_LE(backward - plain, 18 * kLength + kMore);
  EXPECT_GT(backward - plain, 16 * kLength);
}

/// Few rows of many keys take what the keys' tables do, and for gradients what limits of keys do.
TEST(LimitsMemory, OfFewRowsIsLinearInKeys) {
  constexpr uint64_t kRows = 64, kKeys = 1000000, kMore = 64 << 10;
  uint64_t forward = workspaceOf(/*byDocuments=*/true, /*backward=*/false, kRows, kKeys);
  EXPECT_LE(forward, 9 * kRows + kKeys / 4 + kMore);
  EXPECT_GT(forward, 0u);
  uint64_t backward = workspaceOf(true, true, kRows, kKeys);
  uint64_t plain = workspaceOf(false, true, kRows, kKeys);
  EXPECT_LE(backward - plain, 9 * (kRows + kKeys) + kMore);
  EXPECT_GT(backward - plain, 8 * kKeys);
}

INSTANTIATE_TEST_SUITE_P(Masks, Order, testing::ValuesIn(makeOrderCases()),
                         [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Masks, Sorted,
                         testing::ValuesIn(casesOf({"DocumentsCausal", "LimitsOfRows"})),
                         [](const auto &info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Masks, Limits, testing::ValuesIn(makeCases()),
                         [](const auto &info) { return std::string(info.param.name); });

} // namespace
