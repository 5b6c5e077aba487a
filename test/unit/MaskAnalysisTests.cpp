//===- MaskAnalysisTests.cpp - fa-analyze-mask against brute force -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks of positions and of scalars: families of which the answer is exact, and random ones.
//
//===----------------------------------------------------------------------===//

#include "MaskAnalysis.h"
#include <random>

using namespace fa_test;

namespace {

//===----------------------------------------------------------------------===//
// Exact families
//===----------------------------------------------------------------------===//

const char *kDiagonal = "%x = arith.subi %sk, %sq : index\n%d = arith.addi %i, %x : index\n";

TEST_F(MaskAnalysis, RewritingsOfCausal) {
  const char *masks[] = {
      "%v = arith.cmpi sle, %j, %d : index",
      "%v = arith.cmpi sge, %d, %j : index",
      "%one = arith.constant 1 : index\n%e = arith.addi %d, %one : index\n%v = arith.cmpi slt, %j, "
      "%e : index",
      "%t = arith.constant true\n%n = arith.cmpi sgt, %j, %d : index\n%v = arith.xori %n, %t : i1",
      "%l = arith.addi %j, %sq : index\n%r = index.add %i, %sk\n%v = index.cmp sle(%l, %r)",
      "%l = arith.subi %sk, %j : index\n%r = arith.subi %sq, %i : index\n%v = arith.cmpi uge, %l, "
      "%r : index",
      "%z = arith.constant 0 : index\n%s = arith.subi %j, %d : index\n%m = arith.maxsi %s, %z : "
      "index\n"
      "%v = arith.cmpi eq, %m, %z : index",
      "%m = arith.minsi %j, %d : index\n%v = arith.cmpi eq, %m, %j : index",
      "%a = arith.index_cast %j : index to i32\n%c = arith.index_cast %d : index to i32\n"
      "%v = arith.cmpi sle, %a, %c : i32",
      "%n = arith.cmpi slt, %d, %j : index\n%t = arith.constant true\n%f = arith.constant false\n"
      "%v = scf.if %n -> i1 { scf.yield %f : i1 } else { scf.yield %t : i1 }",
      "%two = arith.constant 2 : index\n%a = arith.muli %j, %two : index\n%c = arith.shli %d, %t : "
      "index\n"
      "%v = arith.cmpi sle, %a, %c : index",
      "%n = arith.cmpi sgt, %j, %d : index\n%e = arith.extui %n : i1 to i32\n%z = arith.constant 0 "
      ": i32\n"
      "%v = arith.cmpi eq, %e, %z : i32",
      "%a = arith.index_cast %i : index to i32\n%c = arith.index_cast %sk : index to i32\n"
      "%e = arith.index_cast %sq : index to i32\n%s = arith.addi %a, %c : i32\n%g = arith.subi %s, "
      "%e : i32\n"
      "%l = arith.index_cast %j : index to i32\n%v = arith.cmpi sle, %l, %g : i32"};
  for (std::string mask : masks) {
    if (size_t at = mask.find("%t : index"); at != std::string::npos && mask.find("%two") == 0)
      mask = "%t = arith.constant 1 : index\n" + mask;
    expectExact(kDiagonal + mask + "\nfa.yield %v : i1");
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, TopLeft) {
  expectExact("%v = arith.cmpi sle, %j, %i : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Windows) {
  for (auto [left, right] : {std::pair(5, 0), std::pair(3, 2), std::pair(0, 0), std::pair(20, 7)}) {
    std::string l = std::to_string(left), r = std::to_string(right);
    expectExact(kDiagonal +
                ("%l = arith.constant " + l + " : index\n%r = arith.constant " + r +
                 " : index\n%a = arith.subi %d, %l : index\n%c = arith.addi %d, %r : index\n"
                 "%s = arith.cmpi sle, %a, %j : index\n%t = arith.cmpi sle, %j, %c : index\n"
                 "%v = arith.andi %s, %t : i1\nfa.yield %v : i1"));
    if (HasFatalFailure())
      return;
  }
  // |i - j| < 6, by one unsigned comparison and by math.absi.
  expectExact(
      "%s = arith.subi %i, %j : index\n%c = arith.constant 5 : index\n%t = arith.addi %s, %c : "
      "index\n"
      "%w = arith.constant 11 : index\n%v = arith.cmpi ult, %t, %w : index\nfa.yield %v : i1");
  expectExact(
      "%s = arith.subi %i, %j : index\n%a = math.absi %s : index\n%w = arith.constant 6 : index\n"
      "%v = arith.cmpi slt, %a, %w : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Chunks) {
  expectExact(
      "%c = arith.constant 8 : index\n%x = arith.divui %i, %c : index\n"
      "%y = arith.divsi %j, %c : index\n%v = arith.cmpi eq, %x, %y : index\nfa.yield %v : i1");
  expectExact(
      "%c = arith.constant 5 : index\n%x = arith.divui %i, %c : index\n"
      "%y = arith.divui %j, %c : index\n%v = arith.cmpi sle, %y, %x : index\nfa.yield %v : i1");
}

TEST_F(MaskAnalysis, Prefixes) {
  for (const char *length :
       {"%l = arith.addi %ci0, %b : index", "%l = arith.index_cast %cl0 : i64 to index",
        "%l = arith.index_cast %cn0 : i32 to index", "%l = arith.index_cast %cb0 : i8 to index",
        "%e = tensor.extract %ct0[%b] : tensor<?xi32>\n%l = arith.index_cast %e : i32 to index"}) {
    expectExact(std::string(kDiagonal) + length +
                "\n%s = arith.cmpi slt, %j, %l : index\n%t = arith.cmpi sle, %j, %d : index\n"
                "%v = arith.ori %s, %t : i1\nfa.yield %v : i1");
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, AllRowsOrAWindow) {
  // The first keys are visible to all rows, others to a window of them: bounds say it all.
  ASSERT_TRUE(load("%l = arith.constant 3 : index\n%p = arith.cmpi slt, %j, %ci0 : index\n"
                   "%a = arith.subi %i, %l : index\n%s = arith.cmpi sle, %a, %j : index\n"
                   "%t = arith.cmpi sle, %j, %i : index\n%w = arith.andi %s, %t : i1\n"
                   "%v = arith.ori %p, %w : i1\nfa.yield %v : i1",
                   Axis::rows));
  EXPECT_EQ(any, nullptr);
  for (int64_t capture : {0, 8, 40}) {
    Problem p{40, 40, 4, 4};
    p.index = capture;
    Counts counts;
    check(p, /*exact=*/true, counts);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, TestedTiles) {
  // Blocks of 4 x 4: tiles of a multiple of 4 may see several.
  for (Axis loopAxis : kAxes) {
    std::string index = loopAxis == Axis::keys ? "%j" : "%i";
    ASSERT_TRUE(load("%c = arith.constant 4 : index\n%x = arith.divui " + index +
                         ", %c : index\n"
                         "%t = arith.constant 2 : index\n%y = arith.remui %x, %t : index\n"
                         "%z = arith.constant 0 : index\n%v = arith.cmpi eq, %y, %z : index\n"
                         "fa.yield %v : i1",
                     loopAxis));
    EXPECT_NE(any, nullptr);
    Counts counts;
    check({32, 32, 4, 4}, /*exact=*/true, counts);
    EXPECT_EQ(counts.noneSkipped, counts.tiles / 2);
    // A prefix and a window: a gap between them.
    std::string other = loopAxis == Axis::keys ? "%i" : "%j";
    ASSERT_TRUE(load("%l = arith.constant 3 : index\n%p = arith.cmpi slt, " + index +
                         ", %ci0 : index\n%a = arith.subi " + other +
                         ", %l : index\n%s = arith.cmpi sle, %a, " + index +
                         " : index\n%t = arith.cmpi sle, " + index + ", " + other +
                         " : index\n%w = arith.andi %s, %t : i1\n"
                         "%v = arith.ori %p, %w : i1\nfa.yield %v : i1",
                     loopAxis));
    EXPECT_NE(any, nullptr);
    Problem p{40, 40, 4, 4};
    p.index = 8;
    check(p, /*exact=*/true, counts);
    if (HasFatalFailure())
      return;
  }
}

TEST_F(MaskAnalysis, ElementsOfBlocks) {
  // Elements of blocks of 4 x 4: a tile of up to four is known by loads. Beside another condition,
  // one that holds where an element does not.
  for (Axis loopAxis : kAxes)
    for (const char *seen :
         {"%v = arith.cmpi ne, %e, %z : i32\n",
          "%u = arith.cmpi sgt, %e, %z : i32\n%w = arith.cmpi sle, %j, %d : index\n"
          "%v = arith.andi %u, %w : i1\n"}) {
      ASSERT_TRUE(load(std::string(kDiagonal) +
                           "%c = arith.constant 4 : index\n%x0 = arith.divui %i, %c : index\n"
                           "%y = arith.divui %j, %c : index\n%n = arith.addi %x0, %y : index\n"
                           "%e = tensor.extract %ct0[%n] : tensor<?xi32>\n"
                           "%z = arith.constant 0 : i32\n" +
                           seen + "fa.yield %v : i1",
                       loopAxis))
          << source;
      EXPECT_NE(any, nullptr) << source;
      Counts counts;
      for (auto [rows, keys] : {std::pair(4, 4), std::pair(4, 2), std::pair(8, 3)})
        for (int64_t length : {0, 3}) {
          Problem p{16, 24, rows, keys};
          p.length = length;
          p.b = length & 1;
          bool isAlone = StringRef(seen).starts_with("%v");
          check(p, /*exact=*/rows == 4 || isAlone, counts);
          if (HasFatalFailure())
            return;
        }
      EXPECT_GT(counts.noneSkipped, counts.none / 2);
    }
}

/// Expect ranges: what a captured tensor holds at the block's indices is a range, from 64 of them
/// each.
TEST_F(MaskAnalysis, LimitsThatAreRead) {
  std::mt19937 random(11);
  for (StringRef at : {"%n = arith.addi %i, %c0 : index\n", "%n = arith.addi %i, %c3 : index\n"})
    for (StringRef compare : {"slt, %j, %limit", "sge, %j, %limit", "sle, %limit, %d"}) {
      std::string mask = kDiagonal;
      mask += "%c0 = arith.constant 0 : index\n%c3 = arith.constant 3 : index\n";
      mask += at.str() + "%e = tensor.extract %ct0[%n] : tensor<?xi32>\n";
      mask += "%limit = arith.index_cast %e : i32 to index\n";
      mask += "%v = arith.cmpi " + compare.str() + " : index\nfa.yield %v : i1";
      ASSERT_TRUE(load(mask)) << source;
      // A test of a tile would tell no more than the bounds.
      EXPECT_EQ(any, nullptr) << source;
      Counts counts;
      for (int64_t sq : {1, 64, 100, 200})
        for (int64_t sk : {0, 70, 200})
          for (auto [rows, keys] : {std::pair(64, 16), std::pair(128, 48), std::pair(48, 80)}) {
            Problem p{sq, sk, rows, keys};
            for (int64_t n = 0; n < sq; ++n)
              p.data.push_back(static_cast<int64_t>(random() % 240) - 20);
            // Ranges over 64 rows are exact where blocks have as many, but for diagonals.
            bool exact = rows % 64 == 0 && compare != "sle, %limit, %d";
            check(p, exact, counts);
            if (HasFatalFailure())
              return;
          }
      EXPECT_GT(counts.tiles, 0);
    }
}

TEST_F(MaskAnalysis, FailedAssumptionSkipsNothing) {
  for (Axis loopAxis : kAxes) {
    ASSERT_TRUE(load("%l = arith.addi %cl0, %cl0 : i64\n%e = arith.index_cast %l : i64 to index\n"
                     "%v = arith.cmpi slt, %j, %e : index\nfa.yield %v : i1",
                     loopAxis));
    for (int64_t capture :
         {int64_t(5), int64_t(1) << 62, int64_t(1) << 63, (int64_t(1) << 62) - 1}) {
      Problem p{8, 24, 4, 4};
      p.wide = capture;
      Counts counts;
      check(p, /*exact=*/capture == 5, counts);
    }
  }
}

//===----------------------------------------------------------------------===//
// Random masks
//===----------------------------------------------------------------------===//

/// Writes random mask regions, mostly about the index of the loop.
class Writer {
public:
  Writer(std::mt19937 &random, Axis loopAxis) : random(random) {
    if (loopAxis == Axis::rows)
      std::swap(loop, block);
    values["index"] = {block, loop, loop, block, loop, "%b", "%h", "%sq", "%sk", "%ci0"};
    values["i64"] = {"%cl0"};
    values["i32"] = {"%cn0"};
    values["i8"] = {"%cb0"};
    values["i1"] = {"%cf0"};
  }

  std::string write() {
    for (const char *type : {"i64", "i32", "i8"}) {
      cast("index", type);
      if (pick(2))
        cast("index", type);
    }
    if (pick(3) == 0)
      add("i32", "tensor.extract %ct0[%b] : tensor<?xi32>");
    if (pick(8) == 0)
      add("i32", "tensor.extract %ct0[%j] : tensor<?xi32>");
    for (int n = 4 + pick(9); n > 0; --n)
      step();
    std::string result = pick(4) ? compare() : periodic();
    for (int n = pick(4); n > 0; --n) {
      std::string other = pick(3) ? compare() : value("i1");
      result =
          add("i1", (pick(2) ? "arith.andi " : "arith.ori ") + result + ", " + other + " : i1");
    }
    return text + "fa.yield " + result + " : i1";
  }

private:
  unsigned pick(unsigned n) { return random() % n; }
  std::string add(const std::string &type, const std::string &op) {
    std::string name = "%v" + std::to_string(count++);
    text += name + " = " + op + "\n";
    values[type].push_back(name);
    return name;
  }
  std::string constant(const std::string &type, bool divisor = false) {
    static const int small[] = {-7, -2, -1, 0, 1, 2, 3, 4, 5, 8, 13, 16, 31, 64, 100};
    int chosen = divisor ? small[4 + pick(8)] : small[pick(15)];
    std::string name = "%v" + std::to_string(count++);
    text += name + " = arith.constant " + std::to_string(chosen) + " : " + type + "\n";
    return name;
  }
  std::string value(const std::string &type) {
    auto &known = values[type];
    if (type != "i1" && pick(6) == 0)
      return constant(type);
    // The latest ones more often, so that expressions grow deep.
    unsigned back = pick(2) ? pick(std::min<size_t>(known.size(), 4)) : pick(known.size());
    return known[known.size() - 1 - back];
  }
  std::string number() {
    static const char *types[] = {"index", "index", "index", "index", "i32", "i32", "i64", "i8"};
    return types[pick(8)];
  }
  void cast(const std::string &from, const std::string &to) {
    std::string x = value(from);
    bool isSigned = pick(2);
    if (from == to)
      return;
    if (from == "index" || to == "index") {
      if (from == "i1" || to == "i1" || pick(2))
        add(to, std::string(isSigned ? "arith.index_cast " : "arith.index_castui ") + x + " : " +
                    from + " to " + to);
      else
        add(to, std::string(isSigned ? "index.casts " : "index.castu ") + x + " : " + from +
                    " to " + to);
      return;
    }
    bool wider = std::stoi(to.substr(1)) > std::stoi(from.substr(1));
    add(to, std::string(!wider     ? "arith.trunci "
                        : isSigned ? "arith.extsi "
                                   : "arith.extui ") +
                x + " : " + from + " to " + to);
  }
  std::string compare() {
    static const char *predicates[] = {"eq",  "ne",  "slt", "sle", "sgt", "sge", "ult",
                                       "ule", "ugt", "uge", "slt", "sle", "sgt", "sge"};
    std::string type = number(), x = value(type), y = value(type), p = predicates[pick(14)];
    if (type == "index" && pick(2))
      x = loop;
    if (type == "index" && pick(3) == 0)
      return add("i1", "index.cmp " + p + "(" + x + ", " + y + ")");
    return add("i1", "arith.cmpi " + p + ", " + x + ", " + y + " : " + type);
  }
  /// Return a pattern that repeats: linear in i and j, its remainder against a number.
  std::string periodic() {
    static const char *ops[] = {"remsi",      "remui", "andi",     "divsi",
                                "floordivsi", "divui", "ceildivsi"};
    std::string x = loop;
    if (pick(2))
      x = add("index", "arith.addi " + x + ", " + value("index") + " : index");
    if (pick(2))
      x = add("index", "arith.subi " + x + ", " + block + " : index");
    std::string y =
        add("index", std::string("arith.") + ops[pick(7)] + " " + x + ", " +
                         (pick(3) ? constant("index", true) : value("index")) + " : index");
    return add("i1", std::string("arith.cmpi ") + (pick(2) ? "eq" : "slt") + ", " + y + ", " +
                         (pick(2) ? constant("index") : value("index")) + " : index");
  }
  void step() {
    static const char *arithmetic[] = {
        "addi",      "subi",      "addi",  "subi",  "muli",  "divsi", "divui", "floordivsi",
        "ceildivsi", "ceildivui", "remsi", "remui", "andi",  "ori",   "xori",  "minsi",
        "maxsi",     "minui",     "maxui", "shli",  "shrsi", "shrui"};
    static const char *onIndex[] = {"add",  "sub",       "add",      "sub",      "mul",  "divs",
                                    "divu", "floordivs", "ceildivs", "ceildivu", "rems", "remu",
                                    "and",  "or",        "xor",      "mins",     "maxs", "minu",
                                    "maxu", "shl",       "shrs",     "shru"};
    std::string type = number(), x = value(type), y = value(type);
    switch (pick(12)) {
    case 0:
      compare();
      return;
    case 1: {
      static const char *logic[] = {"andi", "ori", "xori", "addi", "muli", "maxsi", "minui"};
      add("i1",
          std::string("arith.") + logic[pick(7)] + " " + value("i1") + ", " + compare() + " : i1");
      return;
    }
    case 2:
      cast(pick(5) ? number() : "i1", pick(5) ? number() : "i1");
      return;
    case 3:
      add(type, "arith.select " + compare() + ", " + x + ", " + y + " : " + type);
      return;
    case 4:
      add(type, "scf.if " + compare() + " -> " + type + " {\n  scf.yield " + x + " : " + type +
                    "\n} else {\n  %sum = arith.addi " + x + ", " + y + " : " + type +
                    "\n  scf.yield %sum : " + type + "\n}");
      return;
    case 5:
      add("i1", std::string("arith.cmpi ") + (pick(2) ? "eq" : "ult") + ", " + value("i1") + ", " +
                    compare() + " : i1");
      return;
    case 6:
      add(type, "math.absi " + x + " : " + type);
      return;
    default: {
      unsigned op = pick(22);
      bool divides = (op >= 5 && op <= 11) || op >= 19;
      if (divides && pick(3))
        y = constant(type, /*divisor=*/true);
      if (type == "index" && pick(2))
        add(type, std::string("index.") + onIndex[op] + " " + x + ", " + y);
      else
        add(type, std::string("arith.") + arithmetic[op] + " " + x + ", " + y + " : " + type);
    }
    }
  }

  std::mt19937 &random;
  std::string loop = "%j", block = "%i";
  std::map<std::string, std::vector<std::string>> values;
  std::string text;
  unsigned count = 0;
};

class RandomMasks : public MaskAnalysis, public testing::WithParamInterface<Axis> {};

TEST_P(RandomMasks, AreSound) {
  unsigned programs = 4000;
  if (const char *more = std::getenv("FA_MASK_PROGRAMS"))
    programs = std::atoi(more);
  std::mt19937 random(20240607);
  Counts counts;
  auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  for (unsigned n = 0; n < programs; ++n) {
    ASSERT_TRUE(load(Writer(random, GetParam()).write(), GetParam())) << source;
    for (int trial = 0; trial < 6; ++trial) {
      Problem p{pick(1, 36), pick(0, 44), pick(1, 12), pick(1, 16), pick(0, 1), pick(0, 1)};
      if (trial == 5) // beyond what fits in i8
        p.sk = pick(100, 300), p.sq = pick(1, 8), p.keys = 32;
      if (axis == Axis::rows) {
        std::swap(p.sq, p.sk);
        std::swap(p.rows, p.keys);
      }
      p.index = pick(-8, 48);
      p.wide = pick(-8, 48);
      p.narrow = pick(-8, 48);
      p.byte = pick(-128, 127);
      p.flag = pick(0, 1);
      p.length = pick(-2, 48);
      static const int64_t huge[] = {std::numeric_limits<int64_t>::min(),
                                     std::numeric_limits<int64_t>::max(), int64_t(1) << 31,
                                     -(int64_t(1) << 33)};
      if (pick(0, 7) == 0)
        p.index = huge[pick(0, 3)];
      if (pick(0, 7) == 0)
        p.wide = huge[pick(0, 3)];
      if (pick(0, 7) == 0)
        p.narrow =
            pick(0, 1) ? std::numeric_limits<int32_t>::min() : std::numeric_limits<int32_t>::max();
      check(p, /*exact=*/false, counts);
      if (HasFatalFailure())
        return;
    }
  }
  RecordProperty("tiles", std::to_string(counts.tiles));
  std::printf("%u masks, %ld tiles; without a visible pair %ld, skipped %ld; all visible %ld, "
              "unmasked %ld\n",
              programs, long(counts.tiles), long(counts.none), long(counts.noneSkipped),
              long(counts.all), long(counts.allBare));
  // Sound is not enough: much of what can be skipped is.
  EXPECT_GT(counts.noneSkipped, counts.none / 2);
  EXPECT_GT(counts.allBare, counts.all / 3);
}

INSTANTIATE_TEST_SUITE_P(Loops, RandomMasks, testing::ValuesIn(kAxes),
                         [](const auto &test) { return "Over" + stringifyAxis(test.param).str(); });

} // namespace
