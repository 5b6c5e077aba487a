//===- RegionInterpreterTest.cpp - every op of mask and score regions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionInterpreter.h"
#include "AttentionText.h"
#include <chrono>
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

struct RegionInterpreter : AttentionText {
  /// Return a score region with captures %t : tensor<2x3xi16>, %u : tensor<2xbf16>, %c : i8, %x :
  /// f32.
  AttentionOp attention(const std::string &body) {
    func::FuncOp entry = parse(R"(
      func.func @f(%q: tensor<?x1x?x4xf32>, %t: tensor<2x3xi16>, %u: tensor<2xbf16>, %c: i8, %x: f32)
          -> tensor<?x1x?x4xf32> {
        %o = fa.attention query(%q) key(%q) value(%q) captures(%t, %u, %c, %x) score {
        ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
             %t0: tensor<2x3xi16>, %u0: tensor<2xbf16>, %c0: i8, %x0: f32):
          )" + body + R"(
        } : (tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>, tensor<?x1x?x4xf32>,
             tensor<2x3xi16>, tensor<2xbf16>, i8, f32) -> tensor<?x1x?x4xf32>
        return %o : tensor<?x1x?x4xf32>
      })");
    return entry ? *entry.getOps<AttentionOp>().begin() : AttentionOp();
  }

  /// Return what the region yields for s and (b, h, i, j, sq, sk).
  double run(const std::string &body, double s = 0, Position at = {0, 0, 5, 7, 10, 20}) {
    AttentionOp op = attention(body);
    if (!op || failed(RegionProgram::check(op.getScore()))) {
      ADD_FAILURE() << diagnostics;
      return NAN;
    }
    HostTensor t = HostTensor::zeros("t", DType::I16, {2, 3}),
               u = HostTensor::zeros("u", DType::BF16, {2}),
               c = HostTensor::zeros("c", DType::I8, {}),
               x = HostTensor::zeros("x", DType::F32, {});
    for (int i = 0; i < 6; ++i)
      t.setInteger(i, 10 * i - 5);
    u.set(0, 0.5), u.set(1, -2), c.setInteger(0, -3), x.set(0, 1.25);
    RegionProgram program = RegionProgram::compile(op.getScore(), true);
    return RegionEvaluator(program, {&t, &u, &c, &x}).score(s, at);
  }

  /// Return an op on two integers of a type, as a number.
  double integer(const std::string &op, int64_t a, int64_t b, const std::string &type = "i8") {
    std::string constants = "%p = arith.constant " + std::to_string(a) + " : " + type +
                            "\n%r = arith.constant " + std::to_string(b) + " : " + type + "\n";
    bool isIndexOp = op.rfind("index.", 0) == 0;
    std::string cast = type == "index" ? "%y = arith.index_cast %z : index to i64\n"
                                         "%f = arith.sitofp %y : i64 to f32\n"
                                       : "%f = arith.sitofp %z : " + type + " to f32\n";
    return run(constants + "%z = " + op + " %p, %r" + (isIndexOp ? "" : " : " + type) + "\n" +
               cast + "fa.yield %f : f32");
  }
  double unaryInteger(const std::string &op, int64_t a) {
    return run("%p = arith.constant " + std::to_string(a) + " : i8\n%z = " + op +
               " %p : i8\n%f = arith.sitofp %z : i8 to f32\nfa.yield %f : f32");
  }
  double unary(const std::string &op, double a) {
    return run("%z = " + op + " %s : f32\nfa.yield %z : f32", a);
  }
  /// Return an op on s and -2.5.
  double binary(const std::string &op, double a) {
    return run("%p = arith.constant -2.5 : f32\n%z = " + op + " %s, %p : f32\nfa.yield %z : f32",
               a);
  }
  double flag(const std::string &code, double s = 0) {
    return run(code + "\n%f = arith.uitofp %z : i1 to f32\nfa.yield %f : f32", s);
  }
};

TEST_F(RegionInterpreter, IntegersWrap) {
  EXPECT_EQ(integer("arith.addi", 127, 1), -128);
  EXPECT_EQ(integer("arith.subi", -128, 1), 127);
  EXPECT_EQ(integer("arith.muli", 100, 3), 44);
  EXPECT_EQ(integer("arith.andi", 12, 10), 8);
  EXPECT_EQ(integer("arith.ori", 12, 10), 14);
  EXPECT_EQ(integer("arith.xori", 12, -1), -13);
  EXPECT_EQ(integer("arith.maxsi", -1, 1), 1);
  EXPECT_EQ(integer("arith.minsi", -1, 1), -1);
  EXPECT_EQ(integer("arith.maxui", -1, 1), -1);
  EXPECT_EQ(integer("arith.minui", -1, 1), 1);
  EXPECT_EQ(integer("arith.addi", INT64_MAX, 1, "i64"), -0x1p63);
  EXPECT_EQ(integer("math.ipowi", 3, 4), 81);
  EXPECT_EQ(integer("math.ipowi", -1, -3), -1);
  EXPECT_EQ(integer("math.ipowi", 2, -1), 0);
  EXPECT_EQ(integer("math.ipowi", 0, -1), 0);
  EXPECT_EQ(unaryInteger("math.absi", -5), 5);
  EXPECT_EQ(unaryInteger("math.absi", -128), -128);
  EXPECT_EQ(unaryInteger("math.ctlz", 1), 7);
  EXPECT_EQ(unaryInteger("math.ctlz", 0), 8);
  EXPECT_EQ(unaryInteger("math.cttz", 0), 8);
  EXPECT_EQ(unaryInteger("math.cttz", -128), 7);
  EXPECT_EQ(unaryInteger("math.ctpop", -1), 8);
}

TEST_F(RegionInterpreter, DivisionsRoundAndNeverTrap) {
  EXPECT_EQ(integer("arith.divsi", -7, 2), -3);
  EXPECT_EQ(integer("arith.divui", -7, 2), 124);
  EXPECT_EQ(integer("arith.ceildivsi", -7, 2), -3);
  EXPECT_EQ(integer("arith.ceildivsi", 7, 2), 4);
  EXPECT_EQ(integer("arith.ceildivsi", -7, -2), 4);
  EXPECT_EQ(integer("arith.ceildivui", 7, 2), 4);
  EXPECT_EQ(integer("arith.floordivsi", -7, 2), -4);
  EXPECT_EQ(integer("arith.floordivsi", 7, 2), 3);
  EXPECT_EQ(integer("arith.floordivsi", 7, -2), -4);
  EXPECT_EQ(integer("arith.remsi", -7, 2), -1);
  EXPECT_EQ(integer("arith.remui", -7, 2), 1);
  for (const char *op :
       {"divsi", "divui", "ceildivsi", "ceildivui", "floordivsi", "remsi", "remui"})
    EXPECT_EQ(integer(std::string("arith.") + op, 5, 0), 0) << op;
  for (const char *op : {"divsi", "ceildivsi", "floordivsi", "remsi"}) {
    EXPECT_EQ(integer(std::string("arith.") + op, -128, -1), 0) << op;
    EXPECT_EQ(integer(std::string("arith.") + op, INT64_MIN, -1, "i64"), 0) << op;
  }
}

TEST_F(RegionInterpreter, Shifts) {
  EXPECT_EQ(integer("arith.shli", 65, 1), -126);
  EXPECT_EQ(integer("arith.shrui", -128, 3), 16);
  EXPECT_EQ(integer("arith.shrsi", -128, 3), -16);
  for (const char *op : {"arith.shli", "arith.shrui", "arith.shrsi"}) {
    EXPECT_EQ(integer(op, -1, 8), 0) << op;
    EXPECT_EQ(integer(op, -1, -1), 0) << op;
    EXPECT_EQ(integer(op, -1, 64, "i64"), 0) << op;
  }
}

TEST_F(RegionInterpreter, IndexOps) {
  EXPECT_EQ(integer("index.add", 5, -7, "index"), -2);
  EXPECT_EQ(integer("index.sub", 5, 7, "index"), -2);
  EXPECT_EQ(integer("index.mul", 5, -7, "index"), -35);
  EXPECT_EQ(integer("index.divs", -7, 2, "index"), -3);
  EXPECT_EQ(integer("index.divu", 7, 2, "index"), 3);
  EXPECT_EQ(integer("index.ceildivs", 7, 2, "index"), 4);
  EXPECT_EQ(integer("index.ceildivu", 7, 2, "index"), 4);
  EXPECT_EQ(integer("index.floordivs", -7, 2, "index"), -4);
  EXPECT_EQ(integer("index.rems", -7, 2, "index"), -1);
  EXPECT_EQ(integer("index.remu", 7, 0, "index"), 0);
  EXPECT_EQ(integer("index.maxs", -7, 2, "index"), 2);
  EXPECT_EQ(integer("index.maxu", -7, 2, "index"), -7);
  EXPECT_EQ(integer("index.mins", -7, 2, "index"), -7);
  EXPECT_EQ(integer("index.minu", -7, 2, "index"), 2);
  EXPECT_EQ(integer("index.shl", 3, 2, "index"), 12);
  EXPECT_EQ(integer("index.shl", 3, 64, "index"), 0);
  EXPECT_EQ(integer("index.shrs", -8, 1, "index"), -4);
  EXPECT_EQ(integer("index.shru", 8, 1, "index"), 4);
  EXPECT_EQ(integer("index.and", 12, 10, "index"), 8);
  EXPECT_EQ(integer("index.or", 12, 10, "index"), 14);
  EXPECT_EQ(integer("index.xor", 12, 10, "index"), 6);
  EXPECT_EQ(run("%p = index.casts %i : index to i8\n%y = index.castu %p : i8 to index\n"
                "%w = index.sizeof\n%v = index.add %y, %w\n%k = index.constant 100\n"
                "%u = index.add %v, %k\n%l = index.castu %u : index to i32\n"
                "%f = arith.uitofp %l : i32 to f32\nfa.yield %f : f32",
                0, {0, 0, 511, 0, 0, 0}),
            255 + 64 + 100);
  EXPECT_EQ(flag("%z = index.cmp ugt(%i, %j)"), 0);
  EXPECT_EQ(flag("%z = index.cmp slt(%i, %j)"), 1);
  EXPECT_EQ(flag("%z = index.bool.constant true"), 1);
}

TEST_F(RegionInterpreter, IntegerComparisons) {
  auto compare = [&](const std::string &predicate) {
    return flag("%p = arith.constant -1 : i8\n%r = arith.constant 1 : i8\n%z = arith.cmpi " +
                predicate + ", %p, %r : i8");
  };
  const std::pair<const char *, bool> cases[] = {
      {"eq", false},  {"ne", true},   {"slt", true},  {"sle", true}, {"sgt", false},
      {"sge", false}, {"ult", false}, {"ule", false}, {"ugt", true}, {"uge", true}};
  for (auto [predicate, expected] : cases)
    EXPECT_EQ(compare(predicate), expected) << predicate;
}

TEST_F(RegionInterpreter, FloatComparisons) {
  // Bits: less, equal, greater, unordered.
  const std::pair<const char *, int> cases[] = {
      {"false", 0}, {"oeq", 2},  {"ogt", 4},  {"oge", 6},  {"olt", 1},  {"ole", 3},
      {"one", 5},   {"ord", 7},  {"ueq", 10}, {"ugt", 12}, {"uge", 14}, {"ult", 9},
      {"ule", 11},  {"une", 13}, {"uno", 8},  {"true", 15}};
  for (auto [predicate, expected] : cases) {
    int got = 0, bit = 1;
    for (double s : {-3.0, -2.5, 0.0, double(NAN)}) {
      got += bit * flag("%p = arith.constant -2.5 : f32\n%z = arith.cmpf " +
                            std::string(predicate) + ", %s, %p : f32",
                        s);
      bit *= 2;
    }
    EXPECT_EQ(got, expected) << predicate;
  }
}

TEST_F(RegionInterpreter, FloatArithmetic) {
  EXPECT_EQ(binary("arith.addf", 1), -1.5);
  EXPECT_EQ(binary("arith.subf", 1), 3.5);
  EXPECT_EQ(binary("arith.mulf", 2), -5);
  EXPECT_EQ(binary("arith.divf", 5), -2);
  EXPECT_EQ(binary("arith.divf", INFINITY), -INFINITY);
  EXPECT_EQ(binary("arith.remf", 6), 1);
  EXPECT_EQ(unary("arith.negf", 3), -3);
  EXPECT_EQ(binary("arith.maximumf", 1), 1);
  EXPECT_EQ(binary("arith.minimumf", 1), -2.5);
  EXPECT_TRUE(std::isnan(binary("arith.maximumf", NAN)));
  EXPECT_TRUE(std::isnan(binary("arith.minimumf", NAN)));
  EXPECT_EQ(binary("arith.maxnumf", NAN), -2.5);
  EXPECT_EQ(binary("arith.minnumf", NAN), -2.5);
  EXPECT_FALSE(std::signbit(run("%z = arith.negf %s : f32\n%m = arith.maximumf %z, %s : f32\n"
                                "fa.yield %m : f32")));
  // Kept in double: f32 would lose the addend, f16 the value.
  EXPECT_EQ(binary("arith.addf", 0x1p40), 0x1p40 - 2.5);
  EXPECT_EQ(run("%y = arith.truncf %s : f32 to f16\n%z = arith.extf %y : f16 to f32\n"
                "fa.yield %z : f32",
                1 + 0x1p-30),
            1 + 0x1p-30);
}

TEST_F(RegionInterpreter, MathFunctions) {
  double x = 0.3;
#define SAME(NAME, FUNCTION) EXPECT_EQ(unary("math." NAME, x), std::FUNCTION(x)) << NAME
  SAME("absf", fabs);
  SAME("acos", acos);
  SAME("asin", asin);
  SAME("asinh", asinh);
  SAME("atan", atan);
  SAME("atanh", atanh);
  SAME("cbrt", cbrt);
  SAME("ceil", ceil);
  SAME("cos", cos);
  SAME("cosh", cosh);
  SAME("erf", erf);
  SAME("erfc", erfc);
  SAME("exp", exp);
  SAME("exp2", exp2);
  SAME("expm1", expm1);
  SAME("floor", floor);
  SAME("log", log);
  SAME("log10", log10);
  SAME("log1p", log1p);
  SAME("log2", log2);
  SAME("sin", sin);
  SAME("sinh", sinh);
  SAME("sqrt", sqrt);
  SAME("tan", tan);
  SAME("tanh", tanh);
  SAME("trunc", trunc);
#undef SAME
  EXPECT_EQ(unary("math.acosh", 2), std::acosh(2));
  EXPECT_EQ(unary("math.rsqrt", 4), 0.5);
  EXPECT_EQ(unary("math.round", 2.5), 3);
  EXPECT_EQ(unary("math.round", -2.5), -3);
  EXPECT_EQ(unary("math.roundeven", 2.5), 2);
  EXPECT_EQ(binary("math.atan2", 1), std::atan2(1, -2.5));
  EXPECT_EQ(binary("math.copysign", 1), -1);
  EXPECT_EQ(binary("math.powf", 2), std::pow(2, -2.5));
  EXPECT_EQ(run("%z = math.fma %s, %s, %x0 : f32\nfa.yield %z : f32", 3), 10.25);
  EXPECT_EQ(run("%z = math.fpowi %s, %c0 : f32, i8\nfa.yield %z : f32", 2), 0.125);
  std::string clamp = "%p = arith.constant -1.0 : f32\n%z = math.clampf %s to [%p, %x0] : f32\n"
                      "fa.yield %z : f32";
  EXPECT_EQ(run(clamp, 5), 1.25);
  EXPECT_EQ(run(clamp, -5), -1);
  EXPECT_EQ(run(clamp, 0.5), 0.5);
  EXPECT_EQ(flag("%z = math.isnan %s : f32", NAN), 1);
  EXPECT_EQ(flag("%z = math.isinf %s : f32", -INFINITY), 1);
  EXPECT_EQ(flag("%z = math.isfinite %s : f32", INFINITY), 0);
  EXPECT_EQ(flag("%z = math.isnormal %s : f32", 0x1p-126), 1);
  EXPECT_EQ(flag("%z = math.isnormal %s : f32", 0x1p-127), 0);
}

TEST_F(RegionInterpreter, Casts) {
  auto back = [&](const std::string &code, double s = 0) {
    return run(code + "\nfa.yield %z : f32", s);
  };
  EXPECT_EQ(back("%y = arith.extsi %c0 : i8 to i32\n%z = arith.sitofp %y : i32 to f32"), -3);
  EXPECT_EQ(back("%y = arith.extui %c0 : i8 to i32\n%z = arith.sitofp %y : i32 to f32"), 253);
  EXPECT_EQ(back("%w = arith.extui %c0 : i8 to i32\n%y = arith.trunci %w : i32 to i4\n"
                 "%z = arith.sitofp %y : i4 to f32"),
            -3);
  EXPECT_EQ(
      back("%y = arith.index_cast %c0 : i8 to index\n%w = arith.index_cast %y : index to i32\n"
           "%z = arith.sitofp %w : i32 to f32"),
      -3);
  EXPECT_EQ(
      back("%y = arith.index_castui %c0 : i8 to index\n%w = arith.index_cast %y : index to i32\n"
           "%z = arith.sitofp %w : i32 to f32"),
      253);
  EXPECT_EQ(back("%z = arith.uitofp %c0 : i8 to f32"), 253);
  std::string toSigned = "%y = arith.fptosi %s : f32 to i8\n%z = arith.sitofp %y : i8 to f32";
  std::string toUnsigned = "%y = arith.fptoui %s : f32 to i8\n%z = arith.uitofp %y : i8 to f32";
  EXPECT_EQ(back(toSigned, -2.7), -2);
  EXPECT_EQ(back(toSigned, 1e30), 127);
  EXPECT_EQ(back(toSigned, -1e30), -128);
  EXPECT_EQ(back(toSigned, NAN), 0);
  EXPECT_EQ(back(toUnsigned, 254.9), 254);
  EXPECT_EQ(back(toUnsigned, -1), 0);
  EXPECT_EQ(back(toUnsigned, INFINITY), 255);
  EXPECT_EQ(back("%y = arith.bitcast %s : f32 to i32\n%z = arith.sitofp %y : i32 to f32", 1),
            0x3f800000);
  EXPECT_EQ(back("%y = arith.constant 1073741824 : i32\n%z = arith.bitcast %y : i32 to f32"), 2);
  EXPECT_EQ(back("%y = arith.truncf %s : f32 to bf16\n%w = arith.bitcast %y : bf16 to f16\n"
                 "%z = arith.extf %w : f16 to f32",
                 1),
            1.875);
}

TEST_F(RegionInterpreter, CapturesAndBranches) {
  std::string extract = "%e = tensor.extract %t0[%i, %j] : tensor<2x3xi16>\n"
                        "%z = arith.sitofp %e : i16 to f32\nfa.yield %z : f32";
  EXPECT_EQ(run(extract, 0, {0, 0, 1, 2, 0, 0}), 45);
  EXPECT_EQ(run(extract, 0, {0, 0, 0, 0, 0, 0}), -5);
  for (Position outside : {Position{0, 0, 2, 0, 0, 0}, Position{0, 0, 0, 3, 0, 0},
                           Position{0, 0, -1, 0, 0, 0}, Position{0, 0, INT64_MIN, INT64_MAX, 0, 0}})
    EXPECT_EQ(run(extract, 0, outside), 0);
  EXPECT_EQ(run("%e = tensor.extract %u0[%i] : tensor<2xbf16>\n%f = arith.extf %e : bf16 to f32\n"
                "%z = arith.addf %f, %x0 : f32\nfa.yield %z : f32",
                0, {0, 0, 1, 0, 0, 0}),
            -0.75);
  std::string branch = "%p = arith.cmpi slt, %i, %j : index\n%z = scf.if %p -> f32 {\n"
                       "%n = arith.negf %s : f32\nscf.yield %n : f32\n} else {\n"
                       "scf.yield %x0 : f32\n}\nfa.yield %z : f32";
  EXPECT_EQ(run(branch, 4, {0, 0, 1, 2, 0, 0}), -4);
  EXPECT_EQ(run(branch, 4, {0, 0, 2, 1, 0, 0}), 1.25);
  EXPECT_EQ(run("%p = arith.cmpi slt, %i, %j : index\n%z = arith.select %p, %s, %x0 : f32\n"
                "fa.yield %z : f32",
                4),
            4);
}

TEST_F(RegionInterpreter, RoundedAsAKernelWould) {
  AttentionOp op = attention("%y = arith.truncf %s : f32 to f16\n"
                             "%z = arith.extf %y : f16 to f32\nfa.yield %z : f32");
  ASSERT_TRUE(op);
  HostTensor t = HostTensor::zeros("t", DType::I16, {2, 3}),
             u = HostTensor::zeros("u", DType::BF16, {2}),
             c = HostTensor::zeros("c", DType::I8, {}), x = HostTensor::zeros("x", DType::F32, {});
  RegionProgram program = RegionProgram::compile(op.getScore(), true);
  RegionEvaluator evaluator(program, {&t, &u, &c, &x}, RegionPrecision::Rounded);
  EXPECT_EQ(evaluator.score(1 + 0x1p-12, {}), 1);
}

TEST_F(RegionInterpreter, UnknownOpsAreNamed) {
  AttentionOp op = attention("fa.yield %s : f32");
  ASSERT_TRUE(op);
  // The verifier lets no such op through.
  OpBuilder b = OpBuilder::atBlockBegin(&op.getScore().front());
  arith::ConstantOp::create(b, op.getLoc(), b.getIntegerAttr(b.getIntegerType(128), 1));
  EXPECT_TRUE(failed(RegionProgram::check(op.getScore())));
  EXPECT_NE(diagnostics.find("'arith.constant' on 'i128'"), std::string::npos) << diagnostics;
}

TEST_F(RegionInterpreter, AMillionPairsTakeLessThanASecond) {
  AttentionOp op = attention(R"(
    %d = arith.subi %sk, %sq : index
    %e = arith.addi %i, %d : index
    %p = arith.cmpi sle, %j, %e : index
    %n = arith.subi %e, %j : index
    %m = arith.index_cast %n : index to i32
    %f = arith.sitofp %m : i32 to f32
    %g = arith.mulf %f, %x0 : f32
    %w = arith.addf %s, %g : f32
    %z = arith.select %p, %w, %s : f32
    fa.yield %z : f32)");
  ASSERT_TRUE(op);
  RegionProgram program = RegionProgram::compile(op.getScore(), true);
  HostTensor t = HostTensor::zeros("t", DType::I16, {2, 3}),
             u = HostTensor::zeros("u", DType::BF16, {2}),
             c = HostTensor::zeros("c", DType::I8, {}), x = HostTensor::zeros("x", DType::F32, {});
  RegionEvaluator evaluator(program, {&t, &u, &c, &x});
  auto start = std::chrono::steady_clock::now();
  double sum = 0;
  for (int64_t i = 0; i < 1000; ++i)
    for (int64_t j = 0; j < 1000; ++j)
      sum += evaluator.score(1, {0, 0, i, j, 1000, 1000});
  EXPECT_EQ(sum, 1e6);
  std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 5) << "seconds; the limit leaves room for sanitizers";
}

} // namespace
