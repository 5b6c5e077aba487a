//===- GradientText.h - gradients of attentions from text, and differences -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_GRADIENTTEXT_H
#define FA_TEST_UNIT_GRADIENTTEXT_H

#include "AttentionText.h"
#include "fa/Reference/Gradients.h"
#include <cmath>
#include <random>

/// Writes attentions, draws their inputs, and compares gradients with central differences.
struct GradientText : AttentionText {
  using HostTensor = mlir::fa::HostTensor;
  using DType = mlir::fa::DType;

  struct Sizes {
    int64_t batch, queryHeads, keyHeads, queryLength, keyLength, d, dv;
    std::string dtype = "f32";
  };
  /// A capture %name of a function, which regions call %name0; a scalar has no shape.
  struct Capture {
    std::string name, element;
    std::vector<int64_t> shape;
  };

  static std::string typeOf(const std::string &element, const std::vector<int64_t> &shape) {
    return shape.empty() ? element : "tensor<" + mlir::fa::toString(shape) + "x" + element + ">";
  }

  /// Return a score region with written captures.
  static std::string scoreOf(const std::string &body, const std::vector<Capture> &captures = {},
                             const std::string &with = "") {
    std::string names, arguments;
    for (const Capture &capture : captures) {
      names += (names.empty() ? "%" : ", %") + capture.name;
      arguments += ", %" + capture.name + "0: " + typeOf(capture.element, capture.shape);
    }
    return (names.empty() ? "" : "captures(" + names + ") ") + with +
           " score { ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, "
           "%sk: index" +
           arguments + "):\n" + body + "\nfa.yield %r : f32 }";
  }

  /// Return an attention with `middle` between operands and types.
  mlir::fa::AttentionOp attention(const Sizes &sizes, const std::string &middle,
                                  const std::vector<Capture> &captures = {}) {
    auto type = [&](int64_t heads, int64_t d) {
      return "tensor<?x" + std::to_string(heads) + "x?x" + std::to_string(d) + "x" + sizes.dtype +
             ">";
    };
    std::vector<std::pair<std::string, std::string>> arguments = {
        {"q", type(sizes.queryHeads, sizes.d)},
        {"k", type(sizes.keyHeads, sizes.d)},
        {"v", type(sizes.keyHeads, sizes.dv)}};
    for (const Capture &capture : captures)
      arguments.push_back({capture.name, typeOf(capture.element, capture.shape)});
    if (middle.find("dropout(") != std::string::npos)
      arguments.insert(arguments.end(), {{"p", "f32"}, {"seed", "i64"}, {"offset", "i64"}});
    std::string list, types;
    for (auto &[name, of] : arguments)
      list += (list.empty() ? "%" : ", %") + name + ": " + of + " {fa.name = \"" + name + "\"}";
    // The operands in the order of their uses.
    std::string head = "(%q) (%k) (%v) " + middle.substr(0, middle.find('{'));
    for (size_t at = head.find('%'); at != std::string::npos; at = head.find('%', at + 1)) {
      std::string name = head.substr(at + 1, head.find_first_of(",)", at) - at - 1);
      for (auto &[argument, of] : arguments)
        if (argument == name)
          types += (types.empty() ? "" : ", ") + of;
    }
    std::string o = type(sizes.queryHeads, sizes.dv),
                lse = "tensor<?x" + std::to_string(sizes.queryHeads) + "x?xf32>";
    mlir::func::FuncOp entry =
        parse("func.func @f(" + list + ") -> (" + o + ", " + lse +
              ") {\n%o, %lse = fa.attention query(%q) key(%k) value(%v) " + middle + " : (" +
              types + ") -> (" + o + ", " + lse + ")\nreturn %o, %lse : " + o + ", " + lse + "\n}");
    if (!entry)
      throw std::runtime_error("the attention does not parse");
    return *entry.getOps<mlir::fa::AttentionOp>().begin();
  }

  /// Hold what gradients are taken of, and at which inputs.
  struct Problem {
    std::vector<HostTensor> inputs;
    HostTensor outputAdjoint, lseAdjoint;

    mlir::fa::AttentionInputs bound(mlir::fa::AttentionOp op) const {
      return llvm::cantFail(mlir::fa::bindArguments(op, inputs));
    }
    mlir::fa::OutputAdjoints adjoints() const { return {&outputAdjoint, &lseAdjoint}; }
    HostTensor &input(const std::string &name) {
      for (HostTensor &tensor : inputs)
        if (tensor.name == name)
          return tensor;
      throw std::runtime_error("no input " + name);
    }
    void set(const std::string &name, std::vector<double> values) {
      for (size_t e = 0; e < values.size(); ++e)
        input(name).set(e, values[e]);
    }
  };

  static bool isNarrow(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

  /// Numbers from which steps of differences can be taken exactly.
  static void fill(HostTensor &tensor, std::mt19937 &random, int64_t keyLength) {
    for (int64_t e = 0; e < tensor.size(); ++e)
      if (!mlir::fa::isFloat(tensor.dtype))
        tensor.setInteger(e, random() % (keyLength + 1));
      else if (isNarrow(tensor.dtype))
        tensor.set(e, (int64_t(random() % 501) - 250) / 256.0);
      else
        tensor.set(e, (int64_t(random() % 16385) - 8192) / 4096.0);
  }

  static Problem draw(mlir::fa::AttentionOp op, const Sizes &sizes, unsigned seed,
                      const std::vector<Capture> &captures = {}) {
    std::mt19937 random(seed);
    auto dtypeOf = [](const std::string &element) {
      for (DType dtype : {DType::F16, DType::BF16, DType::F32, DType::F64, DType::I32})
        if (element == (dtype == DType::I32 ? "i32" : nameOf(dtype)))
          return dtype;
      throw std::runtime_error("no dtype " + element);
    };
    DType dtype = dtypeOf(sizes.dtype);
    const auto &[b, hq, hk, sq, sk, d, dv, unused] = sizes;
    Problem problem{{HostTensor::zeros("q", dtype, {b, hq, sq, d}),
                     HostTensor::zeros("k", dtype, {b, hk, sk, d}),
                     HostTensor::zeros("v", dtype, {b, hk, sk, dv})},
                    HostTensor::zeros("do", dtype, {b, hq, sq, dv}),
                    HostTensor::zeros("dlse", DType::F32, {b, hq, sq})};
    for (const Capture &capture : captures)
      problem.inputs.push_back(
          HostTensor::zeros(capture.name, dtypeOf(capture.element), capture.shape));
    for (HostTensor &tensor : problem.inputs)
      fill(tensor, random, sk);
    fill(problem.outputAdjoint, random, sk);
    fill(problem.lseAdjoint, random, sk);
    if (op.hasDropout()) {
      problem.inputs.push_back(HostTensor::zeros("p", DType::F32, {}));
      problem.inputs.back().set(0, 0.3);
      for (const char *name : {"seed", "offset"}) {
        problem.inputs.push_back(HostTensor::zeros(name, DType::I64, {}));
        problem.inputs.back().setInteger(0, random());
      }
    }
    return problem;
  }

  mlir::fa::AttentionGradients take(llvm::Expected<mlir::fa::AttentionGradients> result) {
    if (result)
      return std::move(*result);
    throw std::runtime_error(llvm::toString(result.takeError()) + diagnostics);
  }
  mlir::fa::AttentionGradients reference(mlir::fa::AttentionOp op, const Problem &problem) {
    return take(mlir::fa::referenceGradients(op, problem.bound(op), problem.adjoints()));
  }
  mlir::fa::AttentionGradients plain(mlir::fa::AttentionOp op, const Problem &problem) {
    return take(mlir::fa::lowGradients(op, problem.bound(op), problem.adjoints()));
  }

  /// sum(dO * O) + sum(dLSE * LSE), over rows that see something.
  static double loss(mlir::fa::AttentionOp op, const Problem &problem) {
    mlir::fa::AttentionResult result =
        llvm::cantFail(mlir::fa::referenceAttention(op, problem.bound(op)));
    double sum = 0;
    for (size_t e = 0; e < result.output.size(); ++e)
      sum += problem.outputAdjoint.at(e) * result.output[e];
    for (size_t row = 0; row < result.lse.size(); ++row)
      if (result.lse[row] != -HUGE_VAL)
        sum += problem.lseAdjoint.at(row) * result.lse[row];
    return sum;
  }

  /// Compare every element of every gradient with central differences, extrapolated.
  void compare(Problem problem, mlir::fa::AttentionOp op, const std::string &what) {
    mlir::fa::AttentionGradients got = reference(op, problem);
    int wrong = 0;
    for (const mlir::fa::Gradient &gradient : got.gradients) {
      HostTensor &input = problem.input(gradient.name.substr(1));
      ASSERT_EQ(gradient.shape, input.shape);
      ASSERT_EQ(int64_t(gradient.values.size()), input.size());
      for (int64_t e = 0; e < input.size(); ++e) {
        double at = input.at(e), step = isNarrow(input.dtype) ? 0x1p-8 : 0x1p-9;
        auto difference = [&](double by) {
          input.set(e, at + by);
          EXPECT_EQ(input.at(e), at + by);
          double up = loss(op, problem);
          input.set(e, at - by);
          double down = loss(op, problem);
          input.set(e, at);
          return (up - down) / (2 * by);
        };
        double expected = (4 * difference(step) - difference(2 * step)) / 3;
        double tolerance = (isNarrow(input.dtype) ? 1e-6 : 1e-7) * (1 + std::fabs(expected));
        if (!(std::fabs(gradient.values[e] - expected) <= tolerance) && ++wrong <= 5)
          ADD_FAILURE() << gradient.name << "[" << e << "] is " << gradient.values[e]
                        << ", differences give " << expected << "\n"
                        << what;
      }
    }
  }

  void expectDifferences(const Sizes &sizes, const std::string &middle,
                         const std::vector<Capture> &captures = {}, unsigned seed = 1) {
    mlir::fa::AttentionOp op = attention(sizes, middle, captures);
    compare(draw(op, sizes, seed, captures), op, middle);
  }
};

#endif // FA_TEST_UNIT_GRADIENTTEXT_H
