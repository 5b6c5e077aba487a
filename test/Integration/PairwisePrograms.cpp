//===- PairwisePrograms.cpp - programs of fa.pairwise, and plain loops -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PairwisePrograms.h"
#include "fa/Support/Philox.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <random>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::test;

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

namespace {

constexpr Axis b = Axis::b, h = Axis::h, hk = Axis::hk, rows = Axis::rows, keys = Axis::keys,
               one = Axis::one;
const std::vector<Axis> kRow = {b, h, rows}, kKey = {b, hk, keys};

/// Return a sum of weight 0 for every subset of b, h, rows and keys.
std::vector<Sum> everySubset() {
  std::vector<Sum> sums;
  const Axis axes[] = {b, h, rows, keys};
  for (unsigned set = 0; set < 16; ++set) {
    Sum &sum = sums.emplace_back(Sum{0, {}});
    for (auto [bit, axis] : llvm::enumerate(axes))
      if (set >> bit & 1)
        sum.axes.push_back(axis);
  }
  return sums;
}

std::vector<Sum> operator+(std::vector<Sum> x, const std::vector<Sum> &y) {
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

bool all(const Pair &) { return true; }
bool isCausal(const Pair &p) { return p.j <= p.i + p.sk - p.sq; }
const char *const kCausal = "%d = arith.subi %sk, %sq : index\n%last = arith.addi %i, %d : index\n"
                            "%v = arith.cmpi sle, %j, %last : index\nfa.yield %v : i1";
const char *const kSquare = "%w = arith.mulf %d0, %d0 : f32\nfa.yield %w : f32";
std::vector<double> square(const Pair &p) { return {p.dots[0] * p.dots[0]}; }

const Program kPrograms[] = {
    {"squares",
     {2, 4, 2, 19, 37},
     DType::F32,
     {16},
     "",
     all,
     kSquare,
     square,
     everySubset() + std::vector<Sum>{{0, kRow, 0, 0.5}, {0, kKey, 0}}},
    {"masked_squares",
     {2, 2, 2, 40, 21},
     DType::F32,
     {8},
     kCausal,
     isCausal,
     kSquare,
     square,
     everySubset() + std::vector<Sum>{{0, kRow, 0}, {0, kKey, 0, -2}}},
    // Each weight has its own dots, and each operand multiplies both ways.
    {"two_dots",
     {2, 6, 2, 33, 50},
     DType::F32,
     {16, 40},
     kCausal,
     isCausal,
     "%x = arith.mulf %d0, %d1 : f32\n%s = tensor.extract %slopes[%h] : tensor<?xf32>\n"
     "%w0 = arith.addf %x, %s : f32\nfa.yield %w0, %d1 : f32, f32",
     [](const Pair &p) { return std::vector<double>{p.dots[0] * p.dots[1] + p.slope, p.dots[1]}; },
     {{0, kRow, 0, 0.5},
      {1, kRow, 1},
      {0, kRow, 1},
      {0, kKey, 0},
      {1, kKey, 1, 0.25},
      {1, kKey, 0},
      {1, {h}},
      {0, {b, keys}},
      {1, {b, h, keys}},
      {0, kRow}}},
    // One weight is read: the other's dots need not be computed.
    {"one_weight",
     {1, 2, 1, 17, 30},
     DType::F32,
     {16, 8},
     "",
     all,
     "fa.yield %d0, %d1 : f32, f32",
     [](const Pair &p) { return std::vector<double>{p.dots[0], p.dots[1]}; },
     {{0, kRow, 1}, {1, kKey, 0}, {1, {}}}},
    {"bf16",
     {1, 8, 1, 45, 70},
     DType::BF16,
     {32, 16},
     kCausal,
     isCausal,
     "%r = tensor.extract %lse[%b, %h, %i] : tensor<?x?x?xf32>\n%w = arith.subf %d0, %r : f32\n"
     "fa.yield %w : f32",
     [](const Pair &p) { return std::vector<double>{p.dots[0] - p.row}; },
     {{0, kRow, 0}, {0, kKey, 1, 0.125}, {0, {h, rows}}, {0, {}}}},
    {"f16",
     {2, 2, 2, 20, 20},
     DType::F16,
     {24},
     "",
     all,
     "fa.yield %d0 : f32",
     [](const Pair &p) { return p.dots; },
     {{0, kRow, 0}, {0, kKey, 0}, {0, {rows, keys}}}},
    {"dropout",
     {2, 4, 2, 37, 60},
     DType::F32,
     {16},
     kCausal,
     isCausal,
     "%w = arith.mulf %keep, %d0 : f32\nfa.yield %w, %keep : f32, f32",
     [](const Pair &p) { return std::vector<double>{p.keep * p.dots[0], p.keep}; },
     {{0, kRow, 0},
      {0, kKey, 0},
      {1, {}},
      {1, {b, h, rows, keys}},
      {1, {rows, keys}},
      {1, {b, h, keys}}},
     0.3},
    // keep is 1 without dropout.
    {"keep",
     {1, 2, 2, 9, 12},
     DType::F32,
     {8},
     "",
     all,
     "fa.yield %keep : f32",
     [](const Pair &p) { return std::vector<double>{p.keep}; },
     {{0, {h}}, {0, kRow, 0}}},
    // No weight reads a dot.
    {"positions",
     {2, 2, 1, 21, 35},
     DType::F32,
     {8},
     kCausal,
     isCausal,
     "%d = arith.subi %i, %j : index\n%n = arith.index_cast %d : index to i32\n"
     "%w = arith.sitofp %n : i32 to f32\nfa.yield %w : f32",
     [](const Pair &p) { return std::vector<double>{double(p.i - p.j)}; },
     everySubset() + std::vector<Sum>{{0, kRow, 0}, {0, kKey, 0}}},
    {"same_operands",
     {2, 3, 3, 26, 26},
     DType::F32,
     {16},
     kCausal,
     isCausal,
     kSquare,
     square,
     {{0, kRow, 0}, {0, kKey, 0}, {0, {b, h, rows, keys}}},
     0,
     true},
    {"any_order",
     {2, 4, 2, 18, 23},
     DType::F32,
     {8},
     kCausal,
     isCausal,
     kSquare,
     square,
     {{0, {keys, rows}},
      {0, {rows, b}},
      {0, {h, b, rows}},
      {0, {keys, h, b}},
      {0, {rows, keys, h, b}, -1, 3},
      {0, {keys, h, rows}},
      {0, {h, b}},
      {0, {keys, b}}}},
    // Results with dimensions of size one.
    {"ones",
     {2, 4, 2, 18, 23},
     DType::F32,
     {8},
     kCausal,
     isCausal,
     kSquare,
     square,
     {{0, {one}},
      {0, {one, one}},
      {0, {one, h, one, one}},
      {0, {b, one, rows}},
      {0, {one, rows, keys}},
      {0, {b, h, rows, one}},
      {0, {b, h, one, keys}},
      {0, {one, h, rows, keys}},
      {0, {b, one}}}},
    // More heads and sequences than a tile of sums has, and more keys.
    {"many",
     {9, 9, 3, 5, 131},
     DType::F32,
     {8},
     "",
     all,
     "fa.yield %d0 : f32",
     [](const Pair &p) { return p.dots; },
     {{0, {}},
      {0, {h}},
      {0, {b}},
      {0, {b, h}},
      {0, {keys}},
      {0, {h, keys}},
      {0, {b, keys}},
      {0, {rows}},
      {0, {h, rows}},
      {0, {b, rows}}}},
    {"no_keys",
     {2, 2, 1, 20, 0},
     DType::F32,
     {8},
     "",
     all,
     kSquare,
     square,
     {{0, kRow, 0}, {0, kKey, 0}, {0, {h}}, {0, {b, rows}}, {0, {}}, {0, {rows, keys}}}},
    {"no_rows",
     {2, 2, 1, 0, 20},
     DType::F32,
     {8},
     "",
     all,
     kSquare,
     square,
     {{0, kRow, 0}, {0, kKey, 0}, {0, {h}}, {0, {b, keys}}, {0, {}}, {0, {b, h, keys}}}},
    // Infinite where it is hidden, and where a branch is not taken.
    {"infinite",
     {1, 2, 2, 30, 30},
     DType::F32,
     {8},
     "%v = arith.cmpi ne, %i, %j : index\nfa.yield %v : i1",
     [](const Pair &p) { return p.i != p.j; },
     "%d = arith.subi %i, %j : index\n%n = arith.index_cast %d : index to i32\n"
     "%f = arith.sitofp %n : i32 to f32\n%one = arith.constant 1.0 : f32\n"
     "%w0 = arith.divf %one, %f : f32\n%c7 = arith.constant 7 : index\n"
     "%less = arith.cmpi slt, %j, %c7 : index\n%w1 = scf.if %less -> f32 {\n"
     "%zero = arith.constant 0.0 : f32\n%inf = arith.divf %one, %zero : f32\n"
     "%seven = arith.cmpi eq, %j, %c7 : index\n%x = arith.select %seven, %inf, %f : f32\n"
     "scf.yield %x : f32\n} else {\nscf.yield %d0 : f32\n}\nfa.yield %w0, %w1 : f32, f32",
     [](const Pair &p) {
       return std::vector<double>{1.0 / (p.i - p.j), p.j < 7 ? double(p.i - p.j) : p.dots[0]};
     },
     {{0, kRow, 0}, {0, kKey, 0}, {1, kRow, 0}, {1, kKey, 0}, {0, {h}}, {1, {b, h, rows, keys}}}},
    // A mask that captures and heads decide, and that is no interval.
    {"mask_captures",
     {2, 4, 2, 31, 44},
     DType::F32,
     {8},
     "%r = tensor.extract %lse[%b, %h, %i] : tensor<?x?x?xf32>\n%zero = arith.constant 0.0 : f32\n"
     "%x = arith.cmpf olt, %r, %zero : f32\n%sum = arith.addi %j, %h : index\n"
     "%c3 = arith.constant 3 : index\n%m = arith.remui %sum, %c3 : index\n"
     "%c0 = arith.constant 0 : index\n%y = arith.cmpi eq, %m, %c0 : index\n"
     "%v = arith.ori %x, %y : i1\nfa.yield %v : i1",
     [](const Pair &p) { return p.row < 0 || (p.j + p.h) % 3 == 0; },
     kSquare,
     square,
     everySubset() + std::vector<Sum>{{0, kRow, 0}, {0, kKey, 0}}}};

} // namespace

void test::PrintTo(const Program &program, std::ostream *out) { *out << program.name; }

ArrayRef<Program> test::getPrograms() { return kPrograms; }

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string elementOf(DType dtype) {
  return dtype == DType::F16 ? "f16" : dtype == DType::BF16 ? "bf16" : "f32";
}

/// Return the type of a result.
static std::string typeOf(const Program &program, const Sum &sum) {
  std::string type = "tensor<";
  for (size_t d = 0; d < sum.axes.size(); ++d)
    type += sum.axes[d] == one ? "1x" : "?x";
  if (sum.times >= 0)
    return type + std::to_string(program.heads[sum.times]) + "x" + elementOf(program.dtype) + ">";
  return type + (sum.axes.empty() ? "1xf32>" : "f32>");
}

std::string test::attributeOf(const Sum &sum) {
  std::string text = "#fa.sum<" + std::to_string(sum.weight);
  if (!sum.axes.empty()) {
    text += " [";
    for (auto [d, axis] : llvm::enumerate(sum.axes))
      text += (d ? ", " : "") + stringifyAxis(axis).str();
    text += "]";
  }
  if (sum.times >= 0)
    text += " times " + std::to_string(sum.times);
  if (sum.factor != 1)
    text += llvm::formatv(" factor {0:E} : f64", sum.factor).str();
  return text + ">";
}

std::string test::textOf(const Program &program, const std::string &attributes) {
  std::string arguments, rowNames, columnNames, rowTypes, columnTypes, dots;
  std::string comma;
  for (auto [n, size] : llvm::enumerate(program.heads)) {
    std::string type =
        "tensor<?x?x?x" + std::to_string(size) + "x" + elementOf(program.dtype) + ">";
    std::string x = "x" + std::to_string(n), y = program.same ? x : "y" + std::to_string(n);
    arguments += llvm::formatv("%{0}: {1} {{fa.name = \"{0}\"}, ", x, type);
    if (!program.same)
      arguments += llvm::formatv("%{0}: {1} {{fa.name = \"{0}\"}, ", y, type);
    rowNames += comma + "%" + x;
    columnNames += comma + "%" + y;
    rowTypes += comma + type;
    columnTypes += comma + type;
    dots += "%d" + std::to_string(n) + ": f32, ";
    comma = ", ";
  }
  arguments +=
      "%rowwise: tensor<?x?x?xf32> {fa.name = \"lse\"}, %headwise: tensor<?xf32> {fa.name = "
      "\"slopes\"}";
  std::string drop, dropTypes;
  if (program.dropout != 0) {
    arguments += ", %p: f32 {fa.name = \"p\"}, %seed: i64 {fa.name = \"seed\"}, %offset: i64 "
                 "{fa.name = \"offset\"}";
    drop = "%p, %seed, %offset";
    dropTypes = ", f32, i64, i64";
  }
  std::string results, named, sums, values;
  for (auto [n, sum] : llvm::enumerate(program.sums)) {
    std::string separator = n ? ", " : "";
    results += separator + typeOf(program, sum);
    named += separator + typeOf(program, sum) + " {fa.name = \"r" + std::to_string(n) + "\"}";
    sums += separator + attributeOf(sum);
    values += separator + (program.sums.size() == 1 ? "%r" : "%r#" + std::to_string(n));
  }
  std::string positions = "%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, "
                          "%lse: tensor<?x?x?xf32>, %slopes: tensor<?xf32>";
  std::string mask = program.mask;
  if (!mask.empty())
    mask = "\n^bb0(" + positions + "):\n" + mask + "\n";
  return "func.func @f(" + arguments + ") -> (" + named + ") " + attributes + "{\n%r" +
         (program.sums.size() == 1 ? "" : ":" + std::to_string(program.sums.size())) +
         " = fa.pairwise rows(" + rowNames + ") columns(" + columnNames +
         ") captures(%rowwise, %headwise) dropout(" + drop + ") mask {" + mask +
         "} weights {\n^bb0(" + dots + "%keep: f32, " + positions + "):\n" + program.text +
         "\n} sums [" + sums + "] : (" + rowTypes + ", " + columnTypes +
         ", tensor<?x?x?xf32>, tensor<?xf32>" + dropTypes + ") -> (" + results + ")\nreturn " +
         values + " : " + results + "\n}\n";
}

//===----------------------------------------------------------------------===//
// What is expected
//===----------------------------------------------------------------------===//

static int64_t extentOf(Axis axis, const Sizes &sizes) {
  switch (axis) {
  case Axis::b:
    return sizes.batch;
  case Axis::h:
    return sizes.hq;
  case Axis::hk:
    return sizes.hk;
  case Axis::rows:
    return sizes.sq;
  case Axis::keys:
    return sizes.sk;
  case Axis::one:
    return 1;
  }
  return 0;
}

std::vector<int64_t> test::shapeOf(const Program &program, const Sum &sum) {
  std::vector<int64_t> shape;
  for (Axis axis : sum.axes)
    shape.push_back(extentOf(axis, program.sizes));
  if (sum.times >= 0)
    shape.push_back(program.heads[sum.times]);
  if (shape.empty())
    shape.push_back(1);
  return shape;
}

static HostTensor random(const std::string &name, DType dtype, std::vector<int64_t> shape,
                         std::mt19937_64 &generator) {
  HostTensor tensor = HostTensor::zeros(name, dtype, std::move(shape));
  std::normal_distribution<double> normal(0, 0.5);
  for (int64_t i = 0; i < tensor.size(); ++i)
    tensor.set(i, normal(generator));
  return tensor;
}

static constexpr uint64_t kSeed = 1234567890123, kOffset = 42;

Inputs::Inputs(const Program &program) : program(program) {
  const Sizes &s = program.sizes;
  std::mt19937_64 generator(7);
  for (auto [n, size] : llvm::enumerate(program.heads)) {
    tensors.push_back(
        random("x" + std::to_string(n), program.dtype, {s.batch, s.hq, s.sq, size}, generator));
    if (!program.same)
      tensors.push_back(
          random("y" + std::to_string(n), program.dtype, {s.batch, s.hk, s.sk, size}, generator));
  }
  tensors.push_back(random("lse", DType::F32, {s.batch, s.hq, s.sq}, generator));
  tensors.push_back(random("slopes", DType::F32, {s.hq}, generator));
  if (program.dropout == 0)
    return;
  tensors.push_back(HostTensor::zeros("p", DType::F32, {}));
  tensors.back().set(0, program.dropout);
  for (auto [name, value] : {std::pair("seed", kSeed), {"offset", kOffset}}) {
    tensors.push_back(HostTensor::zeros(name, DType::I64, {}));
    tensors.back().setInteger(0, value);
  }
}

double Inputs::at(unsigned n, bool isRow, const Pair &p, int64_t d) const {
  const HostTensor &tensor = tensors[program.same ? n : 2 * n + (isRow ? 0 : 1)];
  const std::vector<int64_t> &shape = tensor.shape;
  int64_t head = isRow ? p.h : p.h / (program.sizes.hq / program.sizes.hk);
  return tensor.at(((p.b * shape[1] + head) * shape[2] + (isRow ? p.i : p.j)) * shape[3] + d);
}

void Inputs::forEach(llvm::function_ref<void(const Pair &)> visit) const {
  const Sizes &s = program.sizes;
  size_t captures = program.heads.size() * (program.same ? 1 : 2);
  unsigned threshold = dropoutThreshold(program.dropout);
  Pair p{0, 0, 0, 0, s.sq, s.sk, {}, 1, 0, 0};
  for (p.b = 0; p.b < s.batch; ++p.b)
    for (p.h = 0; p.h < s.hq; ++p.h)
      for (p.i = 0; p.i < s.sq; ++p.i)
        for (p.j = 0; p.j < s.sk; ++p.j) {
          p.row = tensors[captures].at((p.b * s.hq + p.h) * s.sq + p.i);
          p.slope = tensors[captures + 1].at(p.h);
          if (!program.visible(p))
            continue;
          p.dots.clear();
          for (auto [n, size] : llvm::enumerate(program.heads)) {
            double &dot = p.dots.emplace_back(0);
            for (int64_t d = 0; d < size; ++d)
              dot += at(n, true, p, d) * at(n, false, p, d);
          }
          if (program.dropout != 0)
            p.keep = dropoutByte(kSeed, kOffset, p.b, p.h, p.i, p.j) < threshold
                         ? 0
                         : dropoutScale(threshold);
          visit(p);
        }
}

std::vector<Expected> test::compute(const Inputs &inputs) {
  const Program &program = inputs.program;
  std::vector<Expected> results;
  for (const Sum &sum : program.sums) {
    int64_t count = 1;
    for (int64_t size : shapeOf(program, sum))
      count *= size;
    results.push_back({std::vector<double>(count), std::vector<double>(count)});
  }
  inputs.forEach([&](const Pair &p) {
    std::vector<double> weights = program.weights(p);
    for (auto [sum, result] : llvm::zip_equal(program.sums, results)) {
      int64_t place = 0;
      for (Axis axis : sum.axes) {
        int64_t head = p.h / (program.sizes.hq / program.sizes.hk);
        int64_t at[] = {p.b, p.h, head, p.i, p.j, 0};
        place = place * extentOf(axis, program.sizes) + at[static_cast<unsigned>(axis)];
      }
      int64_t length = sum.times < 0 ? 1 : program.heads[sum.times];
      for (int64_t d = 0; d < length; ++d) {
        double x = sum.times < 0 ? 1 : inputs.at(sum.times, llvm::is_contained(sum.axes, hk), p, d);
        double w = weights[sum.weight] * sum.factor;
        result.values[place * length + d] += w * x;
        result.sizes[place * length + d] += (std::fabs(w) + std::fabs(sum.factor)) * std::fabs(x);
      }
    }
  });
  return results;
}
