//===- DerivativeRandomTests.cpp - derivatives of random regions ----------===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Regions with branches in branches, choices, several reads of captures, inside of branches and at
// indices computed there, against central differences; of some their second derivatives too.
// FA_DERIVATIVE_SEED runs one of them again.
//
//===----------------------------------------------------------------------===//

#include "DerivativeText.h"
#include "fa/Reference/RegionAdjoint.h"

using namespace mlir;
using namespace mlir::fa;

namespace {

/// Writes a region.
class Writer {
public:
  /// Write with `wild` also ops whose derivatives are infinite or NaN at some numbers.
  explicit Writer(unsigned seed, bool wild = false) : random(seed), wild(wild) {}

  std::string region() {
    text.clear();
    std::vector<std::string> floats{"%s", "%x", "%y"}, indices{"%i", "%j", "%h"};
    block(floats, indices, 8, 3);
    text += "fa.yield " + pick(floats, 3) + " : f32\n";
    return text;
  }

private:
  int number(int below) { return int(random() % unsigned(below)); }
  std::string name() { return "%v" + std::to_string(next++); }
  /// One of the last few, so that most ops lead to what is yielded.
  std::string pick(const std::vector<std::string> &names, int last = 6) {
    int count = std::min<int>(names.size(), last);
    return names[names.size() - 1 - number(count)];
  }
  std::string define(const std::string &op) {
    std::string result = name();
    text += result + " = " + op + "\n";
    return result;
  }

  /// Ops with values and derivatives of moderate size.
  std::string floatOp(const std::vector<std::string> &floats) {
    static const char *unary[] = {"math.tanh", "math.sin",  "math.cos",   "math.atan",
                                  "math.erf",  "math.absf", "arith.negf", "math.asinh"};
    static const char *binary[] = {"arith.addf", "arith.subf", "arith.maximumf", "arith.minimumf",
                                   "arith.maxnumf"};
    static const char *unbounded[] = {"math.log", "math.sqrt", "math.rsqrt", "math.cbrt",
                                      "math.acosh"};
    std::string a = pick(floats), b = pick(floats);
    if (wild && number(2))
      return define(std::string(unbounded[number(5)]) + " " + a + " : f32");
    switch (number(6)) {
    case 0:
    case 1:
      return define(std::string(unary[number(8)]) + " " + a + " : f32");
    case 2:
    case 3:
      return define(std::string(binary[number(5)]) + " " + a + ", " + b + " : f32");
    case 4: {
      std::string bounded = define("math.tanh " + a + " : f32");
      return define("arith.mulf " + bounded + ", " + b + " : f32");
    }
    default: {
      std::string bounded = define("math.sin " + a + " : f32");
      return define("math.exp " + bounded + " : f32");
    }
    }
  }

  std::string condition(const std::vector<std::string> &floats,
                        const std::vector<std::string> &indices) {
    if (number(2))
      return define("arith.cmpi sle, " + pick(indices) + ", " + pick(indices) + " : index");
    return define("arith.cmpf ogt, " + pick(floats) + ", " + pick(floats) + " : f32");
  }

  std::string read(const std::vector<std::string> &indices) {
    std::string computed = pick(indices);
    switch (number(6)) {
    case 0:
      return define("tensor.extract %th[%h] : tensor<2xf32>");
    case 1: {
      std::string value = define("tensor.extract %ti[%b, %h, %i] : tensor<2x2x4xf16>");
      return define("arith.extf " + value + " : f16 to f32");
    }
    case 2: {
      std::string value = define("tensor.extract %tj[%b, %h, %j] : tensor<2x2x5xbf16>");
      return define("arith.extf " + value + " : bf16 to f32");
    }
    case 3:
      return define("tensor.extract %tij[%h, %i, %j] : tensor<2x4x5xf32>");
    case 4: {
      std::string value = define("tensor.extract %tall[%b, %h, %i, %j] : tensor<2x2x4x5xf64>");
      return define("arith.truncf " + value + " : f64 to f32");
    }
    default:
      return define("tensor.extract %tij[%h, %i, " + computed + "] : tensor<2x4x5xf32>");
    }
  }

  /// Values that the branches of an scf.if yield.
  std::vector<std::string> branch(std::vector<std::string> floats, std::vector<std::string> indices,
                                  int depth) {
    std::string is = condition(floats, indices);
    int count = 1 + number(3);
    std::string types = "f32", result = name();
    for (int r = 1; r < count; ++r)
      types += ", f32";
    text += result + ":" + std::to_string(count) + " = scf.if " + is + " -> (" + types + ") {\n";
    for (int side = 0; side < 2; ++side) {
      std::vector<std::string> inner = floats, innerIndices = indices;
      block(inner, innerIndices, 4, depth - 1);
      text += "scf.yield ";
      for (int r = 0; r < count; ++r)
        text += (r ? ", " : "") + pick(inner, 8);
      text += " : " + types + (side ? "\n}\n" : "\n} else {\n");
    }
    std::vector<std::string> results;
    for (int r = 0; r < count; ++r)
      results.push_back(result + "#" + std::to_string(r));
    return results;
  }

  void block(std::vector<std::string> &floats, std::vector<std::string> &indices, int ops,
             int depth) {
    for (int op = 0; op < ops; ++op)
      switch (number(depth > 0 ? 8 : 6)) {
      case 0:
        indices.push_back(define(std::string(number(2) ? "arith.subi " : "arith.addi ") +
                                 pick(indices) + ", " + pick(indices) + " : index"));
        break;
      case 1:
        floats.push_back(read(indices));
        break;
      case 2: {
        std::string is = condition(floats, indices);
        floats.push_back(
            define("arith.select " + is + ", " + pick(floats) + ", " + pick(floats) + " : f32"));
        break;
      }
      case 6:
      case 7:
        for (const std::string &result : branch(floats, indices, depth))
          floats.push_back(result);
        break;
      default:
        floats.push_back(floatOp(floats));
      }
  }

  std::mt19937 random;
  bool wild;
  std::string text;
  int next = 0;
};

using DerivativeRandomTest = DerivativeText;

TEST_F(DerivativeRandomTest, AgreeWithDifferences) {
  const char *only = getenv("FA_DERIVATIVE_SEED");
  unsigned first = only ? unsigned(atoi(only)) : 0, count = only ? 1 : 300, branches = 0, reads = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::string body = Writer(seed).region();
    std::optional<Derivative> derivative = differentiate(body);
    ASSERT_TRUE(derivative) << body;
    std::optional<Derivative> second;
    if (only || seed % 4 == 0)
      second = differentiate(body, 2);
    branches += body.find("scf.if") != std::string::npos && derivative->byScore;
    reads += derivative->reads.size();
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> scores(-2, 2);
    for (int point = 0; point < 3; ++point) {
      Position at{int64_t(random() % kB),
                  int64_t(random() % kH),
                  int64_t(random() % kSq),
                  int64_t(random() % kSk),
                  kSq,
                  kSk};
      double score = scores(random);
      Tensors tensors = sample(random);
      ASSERT_EQ(compare(*derivative, tensors, score, at), "") << "FA_DERIVATIVE_SEED=" << seed;
      ASSERT_EQ(second ? compare(*second, tensors, score, at) : "", "")
          << "FA_DERIVATIVE_SEED=" << seed;
    }
  }
  if (!only) {
    EXPECT_GT(branches, 100u);
    EXPECT_GT(reads, 300u);
  }
}

/// The reference knows when it runs which values were taken; here it is emitted.
TEST_F(DerivativeRandomTest, NothingThatIsNotTakenIsAdded) {
  const double numbers[] = {0, 1, -1, 0.5, 2, INFINITY, NAN};
  auto agree = [](double got, double expected) {
    return (std::isnan(got) && std::isnan(expected)) || got == expected ||
           std::abs(got - expected) <= 1e-5 * (1 + std::abs(expected));
  };
  const char *only = getenv("FA_DERIVATIVE_SEED");
  unsigned first = only ? unsigned(atoi(only)) : 0, count = only ? 1 : 300, finite = 0,
           infinite = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::string body = Writer(seed, /*wild=*/true).region();
    std::optional<Derivative> derivative = differentiate(body);
    ASSERT_TRUE(derivative) << body;
    std::mt19937 random(seed);
    for (int point = 0; point < 10; ++point) {
      Tensors tensors = sample(random);
      std::vector<const HostTensor *> captures;
      for (unsigned capture = 0; capture < tensors.size(); ++capture) {
        for (int64_t e = 0; capture < Integers && e < tensors[capture].size(); ++e)
          if (random() % 2)
            tensors[capture].set(e, numbers[random() % 5]);
        captures.push_back(&tensors[capture]);
      }
      Position at{int64_t(random() % kB),
                  int64_t(random() % kH),
                  int64_t(random() % kSq),
                  int64_t(random() % kSk),
                  kSq,
                  kSk};
      double s = numbers[random() % 7];
      RegionEvaluator evaluator(derivative->primal, captures);
      evaluator.score(s, at);
      std::map<std::pair<size_t, int64_t>, double> expected;
      double byScore = RegionAdjoint(evaluator).run(
          tensors[Seed].at(0), [&](size_t capture, int64_t element, double adjoint) {
            expected[{capture, element}] += adjoint;
          });
      std::isfinite(byScore) ? ++finite : ++infinite;
      double got = derivative->byScore ? evaluate(*derivative->byScore, tensors, s, at) : 0;
      ASSERT_TRUE(agree(got, byScore)) << "FA_DERIVATIVE_SEED=" << seed << " at s = " << s << ": "
                                       << got << ", expected " << byScore << derivative->text;
      for (unsigned capture : {AtH, AtBHI, AtBHJ, AtHIJ, AtBHIJ, X, Y})
        for (int64_t e = 0; e < tensors[capture].size(); ++e) {
          got = byCapture(*derivative, capture, e, tensors, s, at);
          auto found = expected.find({capture, e});
          double wanted = found == expected.end() ? 0 : found->second;
          ASSERT_TRUE(agree(got, wanted)) << "FA_DERIVATIVE_SEED=" << seed << " at s = " << s
                                          << ", element " << e << " of capture " << capture << ": "
                                          << got << ", expected " << wanted << derivative->text;
        }
    }
  }
  if (!only) {
    EXPECT_GT(finite, 500u);
    EXPECT_GT(infinite, 100u);
  }
}

} // namespace
