//===- DerivativeText.h - derivatives of regions written as text -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A score region is parsed, its derivative emitted behind it, and both are evaluated in float64
// by the reference, which shares no code with the rules.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_DERIVATIVETEXT_H
#define FA_TEST_UNIT_DERIVATIVETEXT_H

#include "AttentionText.h"
#include "Dialect/FA/Transforms/Gradients/Derivative.h"
#include "fa/Reference/RegionInterpreter.h"
#include "mlir/IR/Verifier.h"
#include <cmath>
#include <random>

/// The derivative of a region with captures at (h), (b, h, i), (b, h, j), (h, i, j), (b, h, i, j),
/// two scalars, integers, and a seed.
struct DerivativeText : AttentionText {
  using Tensors = std::vector<mlir::fa::HostTensor>;
  enum Capture { AtH, AtBHI, AtBHJ, AtHIJ, AtBHIJ, X, Y, Integers, Seed };
  static constexpr int64_t kB = 2, kH = 2, kSq = 4, kSk = 5;

  struct Read {
    unsigned capture;
    mlir::Type type;
    mlir::fa::RegionProgram adjoint;
    std::vector<mlir::fa::RegionProgram> indices;
  };

  struct Derivative {
    mlir::fa::RegionProgram primal;
    std::optional<mlir::fa::RegionProgram> byScore;
    std::vector<Read> reads;
    std::string text;        ///< of the region, with its derivative
    unsigned emittedOps = 0; ///< outside of branches
  };

  mlir::fa::AttentionOp attention(const std::string &body) {
    const std::string types = "tensor<2xf32>, tensor<2x2x4xf16>, tensor<2x2x5xbf16>, "
                              "tensor<2x4x5xf32>, tensor<2x2x4x5xf64>, f32, f32, "
                              "tensor<5xi32>, f32";
    const std::string query = "tensor<2x2x4x8xf32>", key = "tensor<2x2x5x8xf32>";
    mlir::func::FuncOp entry =
        parse("func.func @f(%q: " + query + ", %k: " + key + R"(, %ch: tensor<2xf32>,
          %ci: tensor<2x2x4xf16>, %cj: tensor<2x2x5xbf16>, %cij: tensor<2x4x5xf32>,
          %call: tensor<2x2x4x5xf64>, %cx: f32, %cy: f32, %cn: tensor<5xi32>, %cg: f32) -> )" +
              query + R"( {
        %o = fa.attention query(%q) key(%k) value(%k)
          captures(%ch, %ci, %cj, %cij, %call, %cx, %cy, %cn, %cg) score {
        ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index,
             %th: tensor<2xf32>, %ti: tensor<2x2x4xf16>, %tj: tensor<2x2x5xbf16>,
             %tij: tensor<2x4x5xf32>, %tall: tensor<2x2x4x5xf64>, %x: f32, %y: f32,
             %n: tensor<5xi32>, %seed: f32):
          )" + body +
              "\n} : (" + query + ", " + key + ", " + key + ", " + types + ") -> " + query +
              "\nreturn %o : " + query + "\n}");
    return entry ? *entry.getOps<mlir::fa::AttentionOp>().begin() : mlir::fa::AttentionOp();
  }

  /// Emit the derivative of what the region yields by its score.
  mlir::FailureOr<mlir::fa::Adjoints> emit(mlir::fa::AttentionOp op) {
    mlir::Block &block = op.getScore().front();
    mlir::OpBuilder b(block.getTerminator());
    mlir::Value seed = block.getArgument(1 + mlir::fa::AttentionOp::kNumPositionArgs + Seed);
    return mlir::fa::emitAdjoints(b, block, block.getTerminator()->getOperand(0), seed,
                                  block.getArgument(0));
  }

  /// Differentiate a region or, for order 2, its derivative by the score, where it has one.
  std::optional<Derivative> differentiate(const std::string &body, unsigned order = 1) {
    using namespace mlir;
    using namespace mlir::fa;
    AttentionOp op = attention(body);
    if (!op || failed(RegionProgram::check(op.getScore()))) {
      ADD_FAILURE() << diagnostics << body;
      return std::nullopt;
    }
    Block &block = op.getScore().front();
    Operation *yield = block.getTerminator();
    for (; order > 1; --order) {
      FailureOr<Adjoints> adjoints = emit(op);
      EXPECT_TRUE(succeeded(adjoints)) << diagnostics << body;
      if (succeeded(adjoints) && adjoints->arguments[0])
        yield->setOperand(0, adjoints->arguments[0]);
    }
    Derivative derivative{RegionProgram::compile(op.getScore(), true), {}, {}, {}};
    auto before = unsigned(block.getOperations().size());
    FailureOr<Adjoints> adjoints = emit(op);
    if (failed(adjoints)) {
      ADD_FAILURE() << diagnostics << body;
      return std::nullopt;
    }
    derivative.emittedOps = unsigned(block.getOperations().size()) - before;
    llvm::raw_string_ostream(derivative.text) << op;
    EXPECT_TRUE(succeeded(verify(op->getParentOp()))) << diagnostics << derivative.text;
    auto compile = [&](Value value) {
      yield->setOperand(0, value);
      EXPECT_TRUE(succeeded(RegionProgram::check(op.getScore()))) << diagnostics;
      return RegionProgram::compile(op.getScore(), true);
    };
    if (Value value = adjoints->arguments[0])
      derivative.byScore = compile(value);
    OpBuilder b(yield);
    for (CaptureAdjoint &read : adjoints->captures) {
      Read next{read.capture.getArgNumber() - 1 - AttentionOp::kNumPositionArgs,
                read.adjoint.getType(),
                compile(read.adjoint),
                {}};
      for (Value index : read.indices) {
        Value integer = arith::IndexCastOp::create(b, op.getLoc(), b.getI64Type(), index);
        next.indices.push_back(
            compile(arith::SIToFPOp::create(b, op.getLoc(), b.getF64Type(), integer)));
      }
      derivative.reads.push_back(std::move(next));
    }
    return derivative;
  }

  /// Captures of numbers near 1, in float64 whatever their type is: central differences need it.
  static Tensors sample(std::mt19937 &random) {
    using namespace mlir::fa;
    std::uniform_real_distribution<double> numbers(0.5, 2);
    Tensors tensors;
    for (std::vector<int64_t> shape : {std::vector<int64_t>{kH},
                                       {kB, kH, kSq},
                                       {kB, kH, kSk},
                                       {kH, kSq, kSk},
                                       {kB, kH, kSq, kSk},
                                       {},
                                       {}})
      tensors.push_back(HostTensor::zeros("t", DType::F64, shape));
    tensors.push_back(HostTensor::zeros("n", DType::I32, {5}));
    tensors.push_back(HostTensor::zeros("seed", DType::F64, {}));
    for (HostTensor &tensor : tensors)
      for (int64_t e = 0; e < tensor.size(); ++e)
        tensor.dtype == DType::I32 ? tensor.setInteger(e, e - 1) : tensor.set(e, numbers(random));
    return tensors;
  }

  static double evaluate(const mlir::fa::RegionProgram &program, const Tensors &tensors, double s,
                         const mlir::fa::Position &at) {
    std::vector<const mlir::fa::HostTensor *> captures;
    for (const mlir::fa::HostTensor &tensor : tensors)
      captures.push_back(&tensor);
    return mlir::fa::RegionEvaluator(program, captures).score(s, at);
  }

  /// Return the derivative by element `e` of a capture: the sum over the reads of it.
  static double byCapture(const Derivative &derivative, unsigned capture, int64_t e,
                          const Tensors &tensors, double s, const mlir::fa::Position &at) {
    double sum = 0;
    for (const Read &read : derivative.reads) {
      if (read.capture != capture)
        continue;
      int64_t linear = 0;
      bool inside = true;
      for (auto [d, index] : llvm::enumerate(read.indices)) {
        auto value = int64_t(evaluate(index, tensors, s, at)), size = tensors[capture].shape[d];
        inside &= value >= 0 && value < size;
        linear = linear * size + value;
      }
      if (inside && linear == e)
        sum += evaluate(read.adjoint, tensors, s, at);
    }
    return sum;
  }

  /// Compare all derivatives at a point with central differences. Return the first difference.
  static std::string compare(const Derivative &derivative, Tensors tensors, double s,
                             const mlir::fa::Position &at) {
    const double step = 1e-6;
    double seed = tensors[Seed].at(0);
    auto isClose = [&](double got, double up, double down) {
      double expected = seed * (up - down) / (2 * step);
      return std::abs(got - expected) <= 1e-5 * (1 + std::abs(expected));
    };
    std::string where = " at s = " + std::to_string(s) + ", i = " + std::to_string(at.i) +
                        ", j = " + std::to_string(at.j) + "\n";
    double got = derivative.byScore ? evaluate(*derivative.byScore, tensors, s, at) : 0;
    double up = evaluate(derivative.primal, tensors, s + step, at);
    double down = evaluate(derivative.primal, tensors, s - step, at);
    if (!isClose(got, up, down))
      return "by the score: " + std::to_string(got) + ", expected " +
             std::to_string(seed * (up - down) / (2 * step)) + where + derivative.text;
    for (unsigned capture : {AtH, AtBHI, AtBHJ, AtHIJ, AtBHIJ, X, Y})
      for (int64_t e = 0; e < tensors[capture].size(); ++e) {
        got = byCapture(derivative, capture, e, tensors, s, at);
        double value = tensors[capture].at(e);
        tensors[capture].set(e, value + step);
        up = evaluate(derivative.primal, tensors, s, at);
        tensors[capture].set(e, value - step);
        down = evaluate(derivative.primal, tensors, s, at);
        tensors[capture].set(e, value);
        if (!isClose(got, up, down))
          return "by element " + std::to_string(e) + " of capture " + std::to_string(capture) +
                 ": " + std::to_string(got) + ", expected " +
                 std::to_string(seed * (up - down) / (2 * step)) + where + derivative.text;
      }
    return "";
  }
};

#endif // FA_TEST_UNIT_DERIVATIVETEXT_H
