//===- DerivativeTests.cpp - derivatives of regions against differences ---===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DerivativeText.h"
#include "fa/Dialect/Tile/IR/RegionOps.h"
#include "fa/Reference/RegionAdjoint.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// An op with a rule, in a region, and the scores between which it is differentiated. It takes
/// %x and %y, which are between 0.5 and 2.
struct RuleCase {
  const char *op, *body;
  double low, high;
};

const RuleCase kRules[] = {
    {"arith.addf", "%z = arith.addf %s, %x : f32", -2, 2},
    {"arith.addf", "%z = arith.addf %s, %s : f32", -2, 2},
    {"arith.subf", "%z = arith.subf %s, %x : f32", -2, 2},
    {"arith.subf", "%z = arith.subf %x, %s : f32", -2, 2},
    {"arith.mulf", "%z = arith.mulf %s, %x : f32", -2, 2},
    {"arith.mulf", "%z = arith.mulf %s, %s : f32", -2, 2},
    {"arith.divf", "%z = arith.divf %s, %x : f32", -2, 2},
    {"arith.divf", "%z = arith.divf %x, %s : f32", 0.5, 2},
    {"arith.remf", "%z = arith.remf %s, %x : f32", -9, 9},
    {"arith.negf", "%z = arith.negf %s : f32", -2, 2},
    {"arith.maximumf", "%z = arith.maximumf %s, %x : f32", 0, 3},
    {"arith.minimumf", "%z = arith.minimumf %x, %s : f32", 0, 3},
    {"arith.maxnumf", "%z = arith.maxnumf %x, %s : f32", 0, 3},
    {"arith.minnumf", "%z = arith.minnumf %s, %x : f32", 0, 3},
    {"arith.select", "%c = arith.cmpf olt, %s, %y : f32\n%z = arith.select %c, %s, %x : f32", 0, 3},
    {"arith.extf",
     "%w = arith.extf %s : f32 to f64\n%v = arith.mulf %w, %w : f64\n"
     "%z = arith.truncf %v : f64 to f32",
     -2, 2},
    {"arith.truncf",
     "%w = arith.truncf %s : f32 to f16\n%v = arith.mulf %w, %w : f16\n"
     "%z = arith.extf %v : f16 to f32",
     -2, 2},
    {"math.absf", "%z = math.absf %s : f32", -2, 2},
    {"math.copysign", "%z = math.copysign %s, %x : f32", -2, 2},
    {"math.copysign", "%w = arith.negf %x : f32\n%z = math.copysign %s, %w : f32", -2, 2},
    {"math.fma", "%z = math.fma %s, %x, %y : f32", -2, 2},
    {"math.fma", "%z = math.fma %s, %s, %s : f32", -2, 2},
    {"math.clampf", "%w = arith.negf %y : f32\n%z = math.clampf %s to [%w, %x] : f32", -4, 4},
    {"math.clampf", "%z = math.clampf %s to [%y, %x] : f32", 0, 3},
    {"math.sqrt", "%z = math.sqrt %s : f32", 0.5, 4},
    {"math.rsqrt", "%z = math.rsqrt %s : f32", 0.5, 4},
    {"math.cbrt", "%z = math.cbrt %s : f32", -4, -0.5},
    {"math.exp", "%z = math.exp %s : f32", -2, 2},
    {"math.exp2", "%z = math.exp2 %s : f32", -2, 2},
    {"math.expm1", "%z = math.expm1 %s : f32", -2, 2},
    {"math.log", "%z = math.log %s : f32", 0.5, 4},
    {"math.log2", "%z = math.log2 %s : f32", 0.5, 4},
    {"math.log10", "%z = math.log10 %s : f32", 0.5, 4},
    {"math.log1p", "%z = math.log1p %s : f32", -0.5, 4},
    {"math.powf", "%z = math.powf %s, %x : f32", 0.5, 4},
    {"math.powf", "%z = math.powf %x, %s : f32", -2, 2},
    {"math.fpowi", "%c = arith.constant 5 : i8\n%z = math.fpowi %s, %c : f32, i8", -2, 2},
    {"math.fpowi", "%c = arith.constant -3 : i32\n%z = math.fpowi %s, %c : f32, i32", 0.5, 2},
    {"math.fpowi",
     "%e = tensor.extract %n[%j] : tensor<5xi32>\n"
     "%z = math.fpowi %s, %e : f32, i32",
     -2, -0.5},
    {"math.fpowi", "%c = arith.constant true\n%z = math.fpowi %s, %c : f32, i1", 0.5, 2},
    {"math.tanh", "%z = math.tanh %s : f32", -2, 2},
    {"math.sinh", "%z = math.sinh %s : f32", -2, 2},
    {"math.cosh", "%z = math.cosh %s : f32", -2, 2},
    {"math.asinh", "%z = math.asinh %s : f32", -2, 2},
    {"math.acosh", "%z = math.acosh %s : f32", 1.2, 3},
    {"math.atanh", "%z = math.atanh %s : f32", -0.8, 0.8},
    {"math.sin", "%z = math.sin %s : f32", -4, 4},
    {"math.cos", "%z = math.cos %s : f32", -4, 4},
    {"math.tan", "%z = math.tan %s : f32", -1.2, 1.2},
    {"math.asin", "%z = math.asin %s : f32", -0.8, 0.8},
    {"math.acos", "%z = math.acos %s : f32", -0.8, 0.8},
    {"math.atan", "%z = math.atan %s : f32", -2, 2},
    {"math.atan2", "%z = math.atan2 %s, %x : f32", -2, 2},
    {"math.atan2", "%z = math.atan2 %x, %s : f32", -2, 2},
    {"math.erf", "%z = math.erf %s : f32", -2, 2},
    {"math.erfc", "%z = math.erfc %s : f32", -2, 2},
};

/// Ops whose derivative is 0.
const RuleCase kConstant[] = {
    {"arith.cmpf", "%c = arith.cmpf olt, %s, %x : f32\n%z = arith.uitofp %c : i1 to f32", 0, 0},
    {"arith.cmpi",
     "%w = arith.bitcast %s : f32 to i32\n%o = arith.constant 0 : i32\n"
     "%c = arith.cmpi slt, %w, %o : i32\n%z = arith.uitofp %c : i1 to f32",
     0, 0},
    {"arith.fptosi", "%c = arith.fptosi %s : f32 to i8\n%z = arith.sitofp %c : i8 to f32", 0, 0},
    {"arith.fptoui", "%c = arith.fptoui %s : f32 to i8\n%z = arith.sitofp %c : i8 to f32", 0, 0},
    {"math.floor", "%z = math.floor %s : f32", 0, 0},
    {"math.ceil", "%z = math.ceil %s : f32", 0, 0},
    {"math.trunc", "%z = math.trunc %s : f32", 0, 0},
    {"math.round", "%z = math.round %s : f32", 0, 0},
    {"math.roundeven", "%z = math.roundeven %s : f32", 0, 0},
    {"math.isnan", "%c = math.isnan %s : f32\n%z = arith.uitofp %c : i1 to f32", 0, 0},
    {"math.isinf", "%c = math.isinf %s : f32\n%z = arith.uitofp %c : i1 to f32", 0, 0},
    {"math.isfinite", "%c = math.isfinite %s : f32\n%z = arith.uitofp %c : i1 to f32", 0, 0},
    {"math.isnormal", "%c = math.isnormal %s : f32\n%z = arith.uitofp %c : i1 to f32", 0, 0},
};

struct DerivativeTest : DerivativeText {
  /// Return the derivative by the score, for x = `x` and a seed of `seed`; NaN after an error.
  double at(double s, const std::string &body, double x = 0, double seed = 1,
            Position position = {0, 0, 1, 2, kSq, kSk}) {
    std::optional<Derivative> derivative = differentiate(body + "\nfa.yield %z : f32");
    if (!derivative)
      return NAN;
    if (!derivative->byScore)
      return 0;
    return evaluate(*derivative->byScore, tensors(x, seed), s, position);
  }
  /// Return the same by x.
  double atX(double s, const std::string &body, double x, double seed = 1) {
    std::optional<Derivative> derivative = differentiate(body + "\nfa.yield %z : f32");
    return derivative ? byCapture(*derivative, X, 0, tensors(x, seed), s, {0, 0, 1, 2, kSq, kSk})
                      : NAN;
  }
  static Tensors tensors(double x, double seed) {
    std::mt19937 random(1);
    Tensors tensors = sample(random);
    tensors[X].set(0, x), tensors[Seed].set(0, seed);
    return tensors;
  }
  std::string textOf(const std::string &body) {
    std::optional<Derivative> derivative = differentiate(body + "\nfa.yield %z : f32");
    return derivative ? derivative->text : "";
  }
};

TEST_F(DerivativeTest, RulesAgreeWithDifferences) {
  std::mt19937 random(7);
  for (const RuleCase &rule : kRules) {
    std::optional<Derivative> derivative =
        differentiate(std::string(rule.body) + "\nfa.yield %z : f32");
    ASSERT_TRUE(derivative) << rule.op;
    std::uniform_real_distribution<double> scores(rule.low, rule.high);
    for (int64_t j = 0; j < 50; ++j)
      EXPECT_EQ(compare(*derivative, sample(random), scores(random), {1, 1, 2, j % kSk, kSq, kSk}),
                "")
          << rule.op;
  }
}

TEST_F(DerivativeTest, RoundingAndComparisonsHaveNone) {
  for (const RuleCase &rule : kConstant) {
    std::optional<Derivative> derivative =
        differentiate(std::string(rule.body) + "\nfa.yield %z : f32");
    ASSERT_TRUE(derivative) << rule.op;
    EXPECT_FALSE(derivative->byScore) << rule.op;
    EXPECT_TRUE(derivative->reads.empty()) << rule.op;
    EXPECT_EQ(derivative->emittedOps, 0u) << rule.op;
  }
}

TEST_F(DerivativeTest, EveryRuleHasACase) {
  auto isIn = [](ArrayRef<RuleCase> cases, StringRef name) {
    return llvm::any_of(cases, [&](const RuleCase &rule) { return rule.op == name; });
  };
  unsigned rules = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    const region::RegionOp *line = region::lookUp(name.getStringRef());
    if (!line || !line->partial)
      continue;
    ++rules;
    bool isConstant = region::isConstantAlmostEverywhere(*line);
    EXPECT_TRUE(isIn(isConstant ? ArrayRef(kConstant) : ArrayRef(kRules), name.getStringRef()))
        << name.getStringRef().str() << " has a rule; add a case to "
        << (isConstant ? "kConstant" : "kRules");
  }
  EXPECT_GT(rules, 55u);
}

/// An op that takes floats and gives one has a rule, but for a change of bits.
TEST_F(DerivativeTest, EveryFloatOpHasARule) {
  OpBuilder b(&context);
  Location loc = b.getUnknownLoc();
  Value number = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
  unsigned floatOps = 0;
  for (RegisteredOperationName name : context.getRegisteredOperations()) {
    const region::RegionOp *line = region::lookUp(name.getStringRef());
    for (unsigned count = 1; line && count <= 3; ++count) {
      OperationState state(loc, name.getStringRef());
      state.addOperands(SmallVector<Value>(count, number));
      state.addTypes(b.getF32Type());
      Operation *op = Operation::create(state);
      if (succeeded(verify(op))) {
        ++floatOps;
        EXPECT_EQ(line->partial != nullptr, name.getStringRef() != "arith.bitcast")
            << name.getStringRef().str();
      }
      op->destroy();
    }
  }
  number.getDefiningOp()->destroy();
  EXPECT_GT(floatOps, 40u);
}

TEST_F(DerivativeTest, AtKinks) {
  EXPECT_EQ(at(0, "%z = math.absf %s : f32", 0, INFINITY), 0);
  EXPECT_EQ(at(0, "%r = math.sqrt %s : f32\n%z = math.absf %r : f32"), 0);
  EXPECT_EQ(at(-0.0, "%z = math.copysign %s, %x : f32", -1, INFINITY), 0);
  EXPECT_EQ(at(-3, "%z = math.copysign %s, %x : f32", -1, 5), 5);
  EXPECT_EQ(at(3, "%z = math.copysign %s, %x : f32", -1, 5), -5);
  for (const char *op : {"arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"}) {
    std::string first = std::string("%z = ") + op + " %s, %x : f32";
    std::string second = std::string("%z = ") + op + " %x, %s : f32";
    EXPECT_EQ(at(2, first, 2, 3), 3) << op;
    EXPECT_EQ(at(2, second, 2, 3), 0) << op;
    EXPECT_EQ(atX(2, first, 2, 3), 0) << op;
    EXPECT_EQ(at(0.0, first, -0.0, 3), 3) << op;
    EXPECT_EQ(at(-0.0, second, 0.0, 3), 0) << op;
  }
  std::string clamp = "%l = arith.constant -1.0 : f32\n%u = arith.constant 1.0 : f32\n"
                      "%z = math.clampf %s to [%l, %u] : f32";
  EXPECT_EQ(at(-1, clamp), 1);
  EXPECT_EQ(at(1, clamp), 1);
  EXPECT_EQ(at(1.5, clamp), 0);
}

TEST_F(DerivativeTest, OfNaN) {
  for (const char *op : {"arith.maximumf", "arith.minimumf"}) {
    std::string text = std::string("%z = ") + op + " %s, %x : f32";
    EXPECT_EQ(at(NAN, text, 1), 1) << op;
    EXPECT_EQ(atX(NAN, text, 1), 0) << op;
    EXPECT_EQ(at(1, text, NAN), 0) << op;
    EXPECT_EQ(atX(1, text, NAN), 1) << op;
    EXPECT_EQ(at(NAN, text, NAN), 1) << op;
  }
  for (const char *op : {"arith.maxnumf", "arith.minnumf"}) {
    std::string text = std::string("%z = ") + op + " %s, %x : f32";
    EXPECT_EQ(at(NAN, text, 1), 0) << op;
    EXPECT_EQ(atX(NAN, text, 1), 1) << op;
    EXPECT_EQ(at(1, text, NAN), 1) << op;
    EXPECT_EQ(atX(1, text, NAN), 0) << op;
  }
  // With a constant one comparison decides.
  const std::string two = "%c = arith.constant 2.0 : f32\n";
  EXPECT_EQ(at(NAN, two + "%z = arith.maximumf %s, %c : f32"), 1);
  EXPECT_EQ(at(NAN, two + "%z = arith.maximumf %c, %s : f32"), 1);
  EXPECT_EQ(at(NAN, two + "%z = arith.maxnumf %s, %c : f32"), 0);
  EXPECT_EQ(at(NAN, two + "%z = arith.minnumf %c, %s : f32"), 0);
  EXPECT_EQ(at(3, two + "%z = arith.minimumf %c, %s : f32"), 0);
  EXPECT_EQ(at(1, two + "%z = arith.minimumf %c, %s : f32"), 1);
  EXPECT_EQ(textOf(two + "%z = arith.maximumf %s, %c : f32").find("arith.ori"), std::string::npos);
  // What is visible propagates.
  EXPECT_TRUE(std::isnan(at(NAN, "%z = math.exp %s : f32")));
  EXPECT_TRUE(std::isnan(at(1, "%z = math.exp %s : f32", 0, NAN)));
  EXPECT_EQ(at(0, "%z = math.sqrt %s : f32"), INFINITY);
}

/// The reference has rules of its own: both agree on zeros, infinities and NaN too.
TEST_F(DerivativeTest, AgreesWithTheReferenceAtSpecialNumbers) {
  const double numbers[] = {0, 1, -1, 2, 0.5, -3, INFINITY, -INFINITY, NAN};
  Position position{0, 0, 1, 2, kSq, kSk};
  for (const RuleCase &rule : kRules) {
    std::optional<Derivative> derivative =
        differentiate(std::string(rule.body) + "\nfa.yield %z : f32");
    ASSERT_TRUE(derivative) << rule.op;
    for (double s : numbers)
      for (double x : numbers)
        for (double seed : {1., 0., double(INFINITY)}) {
          Tensors inputs = tensors(x, seed);
          std::vector<const HostTensor *> captures;
          for (const HostTensor &tensor : inputs)
            captures.push_back(&tensor);
          RegionEvaluator evaluator(derivative->primal, captures);
          evaluator.score(s, position);
          double byX = 0;
          double byScore =
              RegionAdjoint(evaluator).run(seed, [&](size_t capture, int64_t, double adjoint) {
                byX += capture == X ? adjoint : 0;
              });
          auto agree = [](double got, double expected) {
            return (std::isnan(got) && std::isnan(expected)) || got == expected ||
                   std::abs(got - expected) <= 1e-6 * std::abs(expected);
          };
          double got =
              derivative->byScore ? evaluate(*derivative->byScore, inputs, s, position) : 0;
          EXPECT_TRUE(agree(got, byScore))
              << rule.body << "\nat s = " << s << ", x = " << x << ", seed " << seed << ": " << got
              << ", expected " << byScore;
          got = byCapture(*derivative, X, 0, inputs, s, position);
          EXPECT_TRUE(agree(got, byX)) << rule.body << "\nby x at s = " << s << ", x = " << x
                                       << ", seed " << seed << ": " << got << ", expected " << byX;
        }
  }
}

TEST_F(DerivativeTest, Powers) {
  const std::string pow = "%z = math.powf %s, %x : f32";
  EXPECT_EQ(at(0, pow, 0), 0);
  EXPECT_EQ(at(0, pow, 1), 1);
  EXPECT_EQ(at(0, pow, 2), 0);
  EXPECT_EQ(at(0, pow, 0.5), INFINITY);
  EXPECT_EQ(at(-2, pow, 3), 12);
  EXPECT_EQ(atX(0, pow, 2), 0);
  EXPECT_EQ(atX(0, pow, 0), 0);
  EXPECT_EQ(atX(0, pow, -1), -INFINITY);
  auto fpowi = [](const char *n, const char *type) {
    return std::string("%c = arith.constant ") + n + " : " + type +
           "\n%z = math.fpowi %s, %c : " + "f32, " + type;
  };
  EXPECT_EQ(at(0, fpowi("0", "i8")), 0);
  EXPECT_EQ(at(0, fpowi("1", "i8")), 1);
  EXPECT_EQ(at(0, fpowi("2", "i8")), 0);
  EXPECT_EQ(at(0, fpowi("-1", "i8")), -INFINITY);
  EXPECT_EQ(at(2, fpowi("-128", "i8")), -128 * std::pow(2, -129));
  EXPECT_EQ(at(2, fpowi("-2147483648", "i32")), 0);
}

/// A choice that is not taken adds exactly 0, whatever its derivative is there.
TEST_F(DerivativeTest, WhatIsNotTakenAddsNothing) {
  const std::string positive = "%o = arith.constant 0.0 : f32\n"
                               "%p = arith.cmpf ogt, %s, %o : f32\n";
  const std::string log = "%l = math.log %s : f32\n";
  // The derivatives of log and sqrt at 0 are infinite.
  EXPECT_EQ(at(0, positive + log + "%z = arith.select %p, %l, %s : f32"), 1);
  EXPECT_EQ(at(2, positive + log + "%z = arith.select %p, %l, %s : f32"), 0.5);
  EXPECT_EQ(at(0, positive + log + "%z = arith.maximumf %l, %s : f32"), 1);
  EXPECT_EQ(at(0, positive + log +
                      "%e = arith.select %p, %l, %s : f32\n"
                      "%f = arith.select %p, %s, %o : f32\n"
                      "%z = arith.addf %e, %f : f32"),
            1);
  // Two selects, neither of which takes it.
  const std::string two = positive + log +
                          "%q = arith.cmpf ogt, %s, %x : f32\n"
                          "%e = arith.select %p, %l, %o : f32\n"
                          "%f = arith.select %q, %l, %s : f32\n"
                          "%z = arith.addf %e, %f : f32";
  EXPECT_EQ(at(0, two, 1), 1);
  EXPECT_EQ(at(0.5, two, 1), 3);
  EXPECT_EQ(at(2, two, 1), 1);
  // An scf.if that takes it from outside; inside, a select does.
  const std::string branch = positive + log +
                             "%z = scf.if %p -> f32 {\n"
                             "%q = arith.cmpf ogt, %s, %x : f32\n"
                             "%e = arith.select %q, %l, %s : f32\n"
                             "scf.yield %e : f32\n} else {\n"
                             "scf.yield %s : f32\n}";
  EXPECT_EQ(at(0, branch, 1), 1);
  EXPECT_EQ(at(0.5, branch, 1), 1);
  EXPECT_EQ(at(2, branch, 1), 0.5);
  const std::string inside = positive + "%z = scf.if %p -> f32 {\n%l = math.log %s : f32\n"
                                        "scf.yield %l : f32\n} else {\nscf.yield %s : f32\n}";
  EXPECT_EQ(at(0, inside), 1);
  EXPECT_EQ(at(4, inside), 0.25);
  // An infinite seed is no reason for NaN either.
  EXPECT_EQ(at(0,
               positive + "%m = arith.mulf %s, %o : f32\n"
                          "%z = arith.select %p, %s, %m : f32",
               0, 7),
            0);
  EXPECT_EQ(atX(0, positive + "%z = arith.select %p, %x, %s : f32", 0, INFINITY), 0);
}

TEST_F(DerivativeTest, ReadsInsideOfBranches) {
  std::optional<Derivative> derivative = differentiate(R"(
    %c = arith.cmpi slt, %i, %j : index
    %z = scf.if %c -> f32 {
      %o = arith.constant 1 : index
      %d = arith.addi %i, %o : index
      %e = tensor.extract %tij[%h, %d, %j] : tensor<2x4x5xf32>
      %f = scf.if %c -> f32 {
        %g = arith.subi %d, %o : index
        %k = tensor.extract %th[%g] : tensor<2xf32>
        %l = arith.mulf %e, %k : f32
        scf.yield %l : f32
      } else {
        scf.yield %s : f32
      }
      scf.yield %f : f32
    } else {
      %e = tensor.extract %tij[%h, %i, %j] : tensor<2x4x5xf32>
      %f = arith.mulf %e, %s : f32
      scf.yield %f : f32
    }
    %e = tensor.extract %tij[%h, %i, %j] : tensor<2x4x5xf32>
    %w = arith.mulf %z, %e : f32
    fa.yield %w : f32)");
  ASSERT_TRUE(derivative);
  // In the order of the program.
  std::vector<unsigned> captures;
  for (const Read &read : derivative->reads)
    captures.push_back(read.capture);
  EXPECT_EQ(captures, (std::vector<unsigned>{AtHIJ, AtH, AtHIJ, AtHIJ}));
  std::mt19937 random(3);
  for (int64_t i = 0; i < kSq; ++i)
    for (int64_t j = 0; j < kSk; ++j)
      EXPECT_EQ(compare(*derivative, sample(random), 0.7, {1, 1, i, j, kSq, kSk}), "");
}

TEST_F(DerivativeTest, EmitsNothingThatIsNotNeeded) {
  std::optional<Derivative> derivative = differentiate(R"(
    %a = math.sin %s : f32
    %b0 = math.floor %a : f32
    %d = arith.subi %i, %j : index
    %c = arith.index_cast %d : index to i32
    %e = arith.sitofp %c : i32 to f32
    %f = math.exp %e : f32
    %g = arith.mulf %f, %b0 : f32
    %w = arith.addf %g, %s : f32
    fa.yield %w : f32)");
  ASSERT_TRUE(derivative);
  EXPECT_EQ(derivative->emittedOps, 0u) << derivative->text;
  // max(s, x s): one comparison, one product for each, one select for each.
  derivative = differentiate("%a = arith.mulf %x, %s : f32\n%z = arith.maximumf %s, %a : f32\n"
                             "fa.yield %z : f32");
  ASSERT_TRUE(derivative);
  EXPECT_EQ(derivative->emittedOps, 3u + 2u + 1u + 2u) << derivative->text;
}

TEST_F(DerivativeTest, Flags) {
  std::string text = textOf("%z = math.erf %s fastmath<nnan,ninf,afn> : f32");
  EXPECT_NE(text.find("math.exp"), std::string::npos);
  size_t exp = text.find("math.exp");
  EXPECT_NE(text.find("fastmath<afn>", exp), std::string::npos) << text;
  EXPECT_EQ(text.find("nnan", exp), std::string::npos) << text;
}

TEST_F(DerivativeTest, Types) {
  std::optional<Derivative> derivative = differentiate(R"(
    %a = tensor.extract %tj[%b, %h, %j] : tensor<2x2x5xbf16>
    %c = tensor.extract %tall[%b, %h, %i, %j] : tensor<2x2x4x5xf64>
    %d = arith.extf %a : bf16 to f64
    %e = arith.mulf %c, %d : f64
    %f = arith.truncf %e : f64 to f16
    %g = math.sqrt %f : f16
    %w = arith.extf %g : f16 to f32
    fa.yield %w : f32)");
  ASSERT_TRUE(derivative);
  ASSERT_EQ(derivative->reads.size(), 2u);
  EXPECT_TRUE(derivative->reads[0].type.isF32());
  EXPECT_TRUE(derivative->reads[1].type.isF64());
  std::mt19937 random(3);
  EXPECT_EQ(compare(*derivative, sample(random), 0, {1, 1, 2, 3, kSq, kSk}), "");
}

TEST_F(DerivativeTest, BitsAreRefused) {
  for (const char *body :
       {"%w = arith.bitcast %s : f32 to i32\n%o = arith.constant 1 : i32\n"
        "%v = arith.addi %w, %o : i32\n%z = arith.bitcast %v : i32 to f32",
        "%w = arith.truncf %s : f32 to bf16\n%v = arith.bitcast %w : bf16 to f16\n"
        "%z = arith.extf %v : f16 to f32",
        "%c = arith.cmpi slt, %i, %j : index\n%z = scf.if %c -> f32 {\n"
        "%w = arith.bitcast %s : f32 to i32\n"
        "%v = arith.sitofp %w : i32 to f32\nscf.yield %v : f32\n} else {\n"
        "scf.yield %s : f32\n}"}) {
    AttentionOp op = attention(std::string(body) + "\nfa.yield %z : f32");
    ASSERT_TRUE(op);
    diagnostics.clear();
    EXPECT_TRUE(failed(emit(op))) << body;
    EXPECT_NE(diagnostics.find("'arith.bitcast' has no derivative; write"), std::string::npos)
        << diagnostics;
  }
  // Bits of what is no float, and bits that only decide, are none of its business.
  EXPECT_EQ(at(3, "%o = arith.constant 1073741824 : i32\n%w = arith.bitcast %o : i32 to f32\n"
                  "%z = arith.mulf %w, %s : f32"),
            2);
  EXPECT_EQ(at(-3, "%w = arith.bitcast %s : f32 to i32\n%o = arith.constant 0 : i32\n"
                   "%c = arith.cmpi slt, %w, %o : i32\n%m = arith.negf %s : f32\n"
                   "%z = arith.select %c, %m, %s : f32"),
            -1);
}

} // namespace
