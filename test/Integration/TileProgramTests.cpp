//===- TileProgramTests.cpp - programs on tiles that no pass was written for -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The programs of test/Dialect/Tile/programs are written by hand: gradients, pages, packed
// sequences, lists of blocks, split keys, roles of their own and more. Each is scheduled for both
// targets, with each optional pass left out in turn, interpreted, and compared with plain loops in
// double. Which optional pass changes which program is a table that a test makes and compares with
// passes.txt beside the programs.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Support/HostTensor.h"
#include "fa/Tools/Interpretation.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace mlir;
using namespace mlir::fa;

namespace {

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

struct Tensor {
  Tensor(std::string name, DType dtype, std::vector<int64_t> shape)
      : host(HostTensor::zeros(std::move(name), dtype, std::move(shape))) {}
  /// Return the number of an element in row-major order.
  int64_t place(std::initializer_list<int64_t> at) const {
    int64_t number = 0, dim = 0;
    for (int64_t index : at)
      number = number * host.shape[dim++] + index;
    return number;
  }
  double operator()(std::initializer_list<int64_t> at) const { return host.at(place(at)); }
  void set(std::initializer_list<int64_t> at, double value) { host.set(place(at), value); }
  int64_t size(int64_t dim) const { return host.shape[dim]; }
  HostTensor host;
};

Tensor random(const std::string &name, std::vector<int64_t> shape, uint64_t seed) {
  Tensor tensor(name, DType::F16, std::move(shape));
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  for (int64_t i = 0; i < tensor.host.size(); ++i)
    tensor.host.set(i, normal(generator));
  return tensor;
}

Tensor integers(const std::string &name, std::vector<int64_t> shape,
                const std::vector<int64_t> &values) {
  Tensor tensor(name, DType::I32, std::move(shape));
  for (auto [i, value] : llvm::enumerate(values))
    tensor.host.setInteger(i, value);
  return tensor;
}

using Tensors = std::map<std::string, Tensor>;

const Tensor &add(Tensors &tensors, Tensor tensor) {
  std::string name = tensor.host.name;
  return tensors.emplace(name, std::move(tensor)).first->second;
}

//===----------------------------------------------------------------------===//
// Programs, and what they compute
//===----------------------------------------------------------------------===//

struct Program {
  /// The file's name without its ending.
  const char *file;
  /// Make the inputs, and outputs that hold what is expected.
  void (*make)(Tensors &inputs, std::vector<Tensor> &outputs);
};

/// Return the sum of a[i, d] b[j, d] over the last dimension of both.
double dot(const Tensor &a, std::initializer_list<int64_t> i, const Tensor &b,
           std::initializer_list<int64_t> j) {
  int64_t length = a.host.shape.back(), x = a.place(i) * length, y = b.place(j) * length;
  double sum = 0;
  for (int64_t d = 0; d < length; ++d)
    sum += a.host.at(x + d) * b.host.at(y + d);
  return sum;
}

/// Return the probabilities of scores.
std::vector<double> softmax(std::vector<double> scores) {
  double maximum = -INFINITY, sum = 0;
  for (double score : scores)
    maximum = std::max(maximum, score);
  for (double &score : scores)
    sum += score = std::exp(score - maximum);
  for (double &score : scores)
    score /= sum;
  return scores;
}

constexpr int64_t kD = 64;
const double kScale = 1 / std::sqrt(double(kD));

/// Set a row of o to the sum of weights times rows of v, which `at` numbers.
void weigh(Tensor &o, int64_t row, const std::vector<double> &weights, const Tensor &v,
           llvm::function_ref<int64_t(int64_t)> at) {
  int64_t length = o.host.shape.back();
  std::vector<double> sums(length);
  for (auto [n, weight] : llvm::enumerate(weights))
    for (int64_t d = 0; d < length; ++d)
      sums[d] += weight * v.host.at(at(n) * length + d);
  for (int64_t d = 0; d < length; ++d)
    o.host.set(row * length + d, sums[d]);
}

void makePaged(Tensors &in, std::vector<Tensor> &out) {
  int64_t batch = 2, heads = 2, sq = 150, pools = 5;
  const Tensor &q = add(in, random("q", {batch, heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {pools, heads, 64, kD}, 2));
  const Tensor &v = add(in, random("v", {pools, heads, 64, kD}, 3));
  const Tensor &pages = add(in, integers("pages", {batch, 3}, {4, 0, 2, 3, -1, -1}));
  const Tensor &lengths = add(in, integers("lengths", {batch}, {150, 33}));
  Tensor &o = out.emplace_back("o", DType::F16, q.host.shape);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < sq; ++i) {
        auto page = [&](int64_t j) { return static_cast<int64_t>(pages({b, j / 64})); };
        std::vector<double> scores;
        for (int64_t j = 0; j < lengths({b}); ++j)
          scores.push_back(dot(q, {b, h, i}, k, {page(j), h, j % 64}) * kScale);
        weigh(o, o.place({b, h, i}), softmax(scores), v,
              [&](int64_t j) { return v.place({page(j), h, j % 64}); });
      }
}

void makePacked(Tensors &in, std::vector<Tensor> &out) {
  int64_t batch = 3, heads = 2, sq = 150, tokens = 300;
  const Tensor &q = add(in, random("q", {batch, heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {heads, tokens, kD}, 2));
  const Tensor &v = add(in, random("v", {heads, tokens, kD}, 3));
  const Tensor &starts = add(in, integers("starts", {batch + 1}, {0, 100, 101, tokens}));
  Tensor &o = out.emplace_back("o", DType::F16, q.host.shape);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < sq; ++i) {
        int64_t first = starts({b});
        std::vector<double> scores;
        for (int64_t j = first; j < starts({b + 1}); ++j)
          scores.push_back(dot(q, {b, h, i}, k, {h, j}) * kScale);
        weigh(o, o.place({b, h, i}), softmax(scores), v,
              [&](int64_t n) { return v.place({h, first + n}); });
      }
}

void makeBlockList(Tensors &in, std::vector<Tensor> &out) {
  int64_t heads = 2, sq = 150, sk = 320;
  const Tensor &q = add(in, random("q", {heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {heads, sk, kD}, 2));
  const Tensor &v = add(in, random("v", {heads, sk, kD}, 3));
  const Tensor &counts = add(in, integers("counts", {heads, 2}, {3, 1, 2, 5}));
  const Tensor &blocks = add(in, integers("blocks", {heads, 2, 5}, {4, 0, 2, 9, 9, 1, 9, 9, 9, 9,
                                                                    3, 4, 9, 9, 9, 0, 1, 2, 3, 4}));
  Tensor &o = out.emplace_back("o", DType::F16, q.host.shape);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < sq; ++i) {
      auto key = [&](int64_t n) {
        return static_cast<int64_t>(blocks({h, i / 128, n / 64})) * 64 + n % 64;
      };
      std::vector<double> scores;
      for (int64_t n = 0; n < counts({h, i / 128}) * 64; ++n)
        scores.push_back(dot(q, {h, i}, k, {h, key(n)}) * kScale);
      weigh(o, o.place({h, i}), softmax(scores), v,
            [&](int64_t n) { return v.place({h, key(n)}); });
    }
}

void makeSplitKeys(Tensors &in, std::vector<Tensor> &out) {
  // The last part has no key.
  int64_t heads = 2, sq = 150, sk = 300;
  const Tensor &q = add(in, random("q", {heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {heads, sk, kD}, 2));
  const Tensor &v = add(in, random("v", {heads, sk, kD}, 3));
  Tensor &o = out.emplace_back("o", DType::F16, q.host.shape);
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < sq; ++i) {
      std::vector<double> scores;
      for (int64_t j = 0; j < sk; ++j)
        scores.push_back(dot(q, {h, i}, k, {h, j}) * kScale);
      weigh(o, o.place({h, i}), softmax(scores), v, [&](int64_t j) { return v.place({h, j}); });
    }
}

void makeColumnSoftmax(Tensors &in, std::vector<Tensor> &out) {
  int64_t heads = 2, sq = 72, sk = 100;
  const Tensor &q = add(in, random("q", {heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {heads, sk, kD}, 2));
  Tensor &p = out.emplace_back("p", DType::F16, std::vector<int64_t>{heads, sk, sq});
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < sq; ++i) {
      std::vector<double> scores;
      for (int64_t j = 0; j < sk; ++j)
        scores.push_back(dot(q, {h, i}, k, {h, j}) * kScale);
      for (auto [j, weight] : llvm::enumerate(softmax(scores)))
        p.set({h, static_cast<int64_t>(j), i}, weight);
    }
}

void makeColumnAttention(Tensors &in, std::vector<Tensor> &out) {
  int64_t heads = 2, sq = 72, sk = 150;
  const Tensor &q = add(in, random("q", {heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", {heads, sk, kD}, 2));
  const Tensor &v = add(in, random("v", {heads, sk, kD}, 3));
  out = {Tensor("o", DType::F16, q.host.shape), Tensor("lse", DType::F32, {heads, sq})};
  for (int64_t h = 0; h < heads; ++h)
    for (int64_t i = 0; i < sq; ++i) {
      std::vector<double> scores;
      double sum = 0;
      for (int64_t j = 0; j < sk; ++j) {
        scores.push_back(dot(q, {h, i}, k, {h, j}) * kScale);
        sum += std::exp(scores.back());
      }
      out[1].set({h, i}, std::log(sum));
      weigh(out[0], out[0].place({h, i}), softmax(scores), v,
            [&](int64_t j) { return v.place({h, j}); });
    }
}

/// Make o = softmax(q k^T / sqrt(d)) v, k and v by rows (b, h, j) or (b, j, h).
void makeAttention(Tensors &in, std::vector<Tensor> &out, bool headsInnermost) {
  int64_t batch = 1, heads = 2, sq = 150, sk = 270;
  std::vector<int64_t> shape = headsInnermost ? std::vector<int64_t>{batch, sk, heads, kD}
                                              : std::vector<int64_t>{batch, heads, sk, kD};
  const Tensor &q = add(in, random("q", {batch, heads, sq, kD}, 1));
  const Tensor &k = add(in, random("k", shape, 2));
  const Tensor &v = add(in, random("v", shape, 3));
  Tensor &o = out.emplace_back("o", DType::F16, q.host.shape);
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < sq; ++i) {
        auto row = [&](int64_t j) {
          return headsInnermost ? (b * sk + j) * heads + h : (b * heads + h) * sk + j;
        };
        std::vector<double> scores(sk);
        for (int64_t j = 0; j < sk; ++j)
          for (int64_t d = 0; d < kD; ++d)
            scores[j] += q({b, h, i, d}) * k.host.at(row(j) * kD + d) * kScale;
        weigh(o, o.place({b, h, i}), softmax(scores), v, row);
      }
}

void makeCopiedKeys(Tensors &in, std::vector<Tensor> &out) { makeAttention(in, out, true); }

void makeRescaleRole(Tensors &in, std::vector<Tensor> &out) { makeAttention(in, out, false); }

void makeTwoReaders(Tensors &in, std::vector<Tensor> &out) {
  int64_t heads = 2, rows = 150, all = 280, tile = 64;
  const Tensor &x = add(in, random("x", {heads, rows, tile}, 1));
  const Tensor &w = add(in, random("w", {all, heads, tile}, 2));
  out = {Tensor("y", DType::F16, x.host.shape), Tensor("z", DType::F16, x.host.shape)};
  for (int64_t h = 0; h < heads; ++h) {
    // The sum of the tiles; rows past the last one are zeros.
    std::vector<double> sum(tile * tile);
    for (int64_t j = 0; j < all; ++j)
      for (int64_t c = 0; c < tile; ++c)
        sum[j % tile * tile + c] += w({j, h, c});
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t c = 0; c < tile; ++c) {
        double y = 0, z = 0;
        for (int64_t d = 0; d < tile; ++d) {
          y += x({h, i, d}) * sum[c * tile + d];
          z += x({h, i, d}) * sum[d * tile + c];
        }
        out[0].set({h, i, c}, y);
        out[1].set({h, i, c}, z);
      }
  }
}

/// Make c = a b.
void makeProduct(Tensors &in, std::vector<Tensor> &out, int64_t rows, int64_t depth,
                 int64_t columns) {
  const Tensor &a = add(in, random("a", {rows, depth}, 1));
  const Tensor &b = add(in, random("b", {depth, columns}, 2));
  Tensor &c = out.emplace_back("c", DType::F16, std::vector<int64_t>{rows, columns});
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> sums(columns);
    for (int64_t k = 0; k < depth; ++k)
      for (int64_t j = 0; j < columns; ++j)
        sums[j] += a({i, k}) * b({k, j});
    for (int64_t j = 0; j < columns; ++j)
      c.set({i, j}, sums[j]);
  }
}

void makeGemm(Tensors &in, std::vector<Tensor> &out) { makeProduct(in, out, 150, 200, 136); }

void makeGemmHopper(Tensors &in, std::vector<Tensor> &out) { makeProduct(in, out, 150, 256, 256); }

void makeColumnSums(Tensors &in, std::vector<Tensor> &out) {
  int64_t rows = 150, columns = 136, tile = 64;
  const Tensor &a = add(in, random("a", {rows, kD}, 1));
  const Tensor &b = add(in, random("b", {columns, kD}, 2));
  Tensor &sums = out.emplace_back("sums", DType::F32, std::vector<int64_t>{3, columns});
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i)
      sums.set({i / tile, j}, sums({i / tile, j}) + dot(a, {i}, b, {j}));
}

/// Make the inputs of a backward kernel, and call `add` with the indices, p, ds / scale of each
/// pair.
void makeBackward(Tensors &in, int64_t heads, int64_t headsOfKeys,
                  llvm::function_ref<void(int64_t b, int64_t h, int64_t hk, int64_t i, int64_t j,
                                          double p, double ds)>
                      visit) {
  int64_t batch = 2, sq = 70, sk = 150, d = 96, padded = 128;
  const Tensor &q = add(in, random("q", {batch, heads, sq, d}, 1));
  const Tensor &k = add(in, random("k", {batch, headsOfKeys, sk, d}, 2));
  const Tensor &v = add(in, random("v", {batch, headsOfKeys, sk, d}, 3));
  const Tensor &grad = add(in, random("do", {batch, heads, sq, d}, 4));
  Tensor lse("lse", DType::F32, {batch, heads, padded});
  Tensor delta("delta", DType::F32, {batch, heads, padded});
  double scale = 1 / std::sqrt(double(d));
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < padded; ++i) {
        lse.set({b, h, i}, INFINITY);
        if (i >= sq)
          continue;
        int64_t hk = h / (heads / headsOfKeys);
        std::vector<double> scores, products;
        double sum = 0, maximum = -INFINITY, mean = 0;
        for (int64_t j = 0; j < sk; ++j) {
          scores.push_back(dot(q, {b, h, i}, k, {b, hk, j}) * scale);
          products.push_back(dot(grad, {b, h, i}, v, {b, hk, j}));
          maximum = std::max(maximum, scores.back());
        }
        for (double score : scores)
          sum += std::exp(score - maximum);
        lse.set({b, h, i}, (maximum + std::log(sum)) / std::log(2.0));
        std::vector<double> p = softmax(scores);
        for (int64_t j = 0; j < sk; ++j)
          mean += p[j] * products[j];
        delta.set({b, h, i}, mean);
        for (int64_t j = 0; j < sk; ++j)
          visit(b, h, hk, i, j, p[j], p[j] * (products[j] - mean));
      }
  add(in, lse);
  add(in, delta);
}

/// Add factor times a row of `from` to a row of sums.
void addRow(std::vector<double> &sums, int64_t row, double factor, const Tensor &from, int64_t at) {
  int64_t length = from.host.shape.back();
  for (int64_t d = 0; d < length; ++d)
    sums[row * length + d] += factor * from.host.at(at * length + d);
}

Tensor rounded(const std::string &name, const Tensor &like, const std::vector<double> &sums) {
  Tensor tensor(name, DType::F16, like.host.shape);
  for (auto [i, sum] : llvm::enumerate(sums))
    tensor.host.set(i, sum);
  return tensor;
}

void makeDKDV(Tensors &in, std::vector<Tensor> &out) {
  std::vector<double> dk(2 * 2 * 150 * 96), dv(dk.size());
  double scale = 1 / std::sqrt(96.0);
  makeBackward(in, 4, 2,
               [&](int64_t b, int64_t h, int64_t hk, int64_t i, int64_t j, double p, double ds) {
                 int64_t row = in.at("k").place({b, hk, j}), from = in.at("q").place({b, h, i});
                 addRow(dk, row, scale * ds, in.at("q"), from);
                 addRow(dv, row, p, in.at("do"), from);
               });
  out = {rounded("dk", in.at("k"), dk), rounded("dv", in.at("k"), dv)};
}

void makeDQ(Tensors &in, std::vector<Tensor> &out) {
  std::vector<double> dq(2 * 2 * 70 * 96);
  double scale = 1 / std::sqrt(96.0);
  makeBackward(in, 2, 2,
               [&](int64_t b, int64_t h, int64_t hk, int64_t i, int64_t j, double, double ds) {
                 addRow(dq, in.at("q").place({b, h, i}), scale * ds, in.at("k"),
                        in.at("k").place({b, hk, j}));
               });
  out = {rounded("dq", in.at("q"), dq)};
}

const Program kPrograms[] = {{"block-list", makeBlockList},
                             {"column-attention", makeColumnAttention},
                             {"column-softmax", makeColumnSoftmax},
                             {"column-sums", makeColumnSums},
                             {"copied-keys", makeCopiedKeys},
                             {"dkdv", makeDKDV},
                             {"dq", makeDQ},
                             {"gemm", makeGemm},
                             {"gemm-hopper", makeGemmHopper},
                             {"packed", makePacked},
                             {"paged", makePaged},
                             {"rescale-role", makeRescaleRole},
                             {"split-keys", makeSplitKeys},
                             {"two-readers", makeTwoReaders}};

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

std::unique_ptr<Interpretation> schedule(const Program &program, const std::string &target,
                                         const std::string &leaveOut) {
  auto made = Interpretation::createFromFile(std::string(FA_TEST_DIR "/Dialect/Tile/programs/") +
                                             program.file + ".mlir");
  EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
  if (!made)
    return nullptr;
  CompileOptions options;
  options.target = target;
  options.leaveOut = leaveOut;
  bool scheduled = succeeded(runPhases((*made)->getModule(), options, "tile", "schedule"));
  EXPECT_TRUE(scheduled) << program.file << " for " << target << " without '" << leaveOut << "'";
  return scheduled ? std::move(*made) : nullptr;
}

std::vector<std::string> leftOut(const std::string &target) {
  std::vector<std::string> names = {""};
  for (StringRef name : nvptx::getOptionalPasses(*nvptx::getTarget(target)))
    names.push_back(name.str());
  return names;
}

void PrintTo(const Program &program, std::ostream *out) { *out << program.file; }

using Case = std::tuple<Program, std::string>;
class TileProgram : public testing::TestWithParam<Case> {};

TEST_P(TileProgram, EqualsPlainLoops) {
  auto [program, target] = GetParam();
  Tensors inputs;
  std::vector<Tensor> expected;
  program.make(inputs, expected);
  std::vector<HostTensor> given;
  for (auto &[name, tensor] : inputs)
    given.push_back(tensor.host);
  std::vector<std::pair<std::string, std::vector<int64_t>>> shapes;
  for (const Tensor &tensor : expected)
    shapes.emplace_back(tensor.host.name, tensor.host.shape);
  uint64_t seed = 0;
  for (const std::string &pass : leftOut(target)) {
    SCOPED_TRACE("without '" + pass + "'");
    std::unique_ptr<Interpretation> scheduled = schedule(program, target, pass);
    ASSERT_TRUE(bool(scheduled));
    auto outputs = scheduled->run(given, shapes, HeadLayout::BHSD, ++seed);
    ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
    ASSERT_EQ(outputs->size(), expected.size());
    for (auto [output, tensor] : llvm::zip(*outputs, expected)) {
      ASSERT_EQ(output.name, tensor.host.name);
      // P and dS are rounded to f16 before the product that takes them: 2^-11 of each term,
      // whose sums are of the size of the largest element at most.
      double largest = 0;
      for (int64_t i = 0; i < output.size(); ++i)
        largest = std::max(largest, std::fabs(tensor.host.at(i)));
      for (int64_t i = 0; i < output.size(); ++i)
        ASSERT_NEAR(output.at(i), tensor.host.at(i), 2e-3 * largest) << output.name << " " << i;
    }
  }
}

std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const Program &program : kPrograms)
    for (const char *target : {"sm_80", "sm_90a"})
      cases.emplace_back(program, target);
  return cases;
}

std::string nameOfCase(const testing::TestParamInfo<Case> &info) {
  std::string name = std::string(std::get<0>(info.param).file) + "_" + std::get<1>(info.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Interpreter, TileProgram, testing::ValuesIn(allCases()), nameOfCase);

std::string print(Interpretation &program) {
  std::string text;
  llvm::raw_string_ostream(text) << program.getModule();
  return text;
}

/// Which optional pass changes which program: `passes.txt` beside the programs.
TEST(TileProgramPasses, ApplyAsTheTableSays) {
  std::string table;
  for (std::string target : {"sm_80", "sm_90a"}) {
    std::vector<std::string> passes = leftOut(target);
    table += "# " + target + ": the passes that change a program\n";
    for (const Program &program : kPrograms) {
      table += std::string(program.file) + ":";
      std::unique_ptr<Interpretation> whole = schedule(program, target, "");
      ASSERT_TRUE(bool(whole));
      for (const std::string &pass : passes) {
        if (pass.empty())
          continue;
        std::unique_ptr<Interpretation> without = schedule(program, target, pass);
        ASSERT_TRUE(bool(without));
        if (print(*whole) != print(*without))
          table += " " + pass;
      }
      table += "\n";
    }
  }
  auto file = llvm::MemoryBuffer::getFile(FA_TEST_DIR "/Dialect/Tile/programs/passes.txt");
  EXPECT_EQ(table, file ? (*file)->getBuffer().str() : "");
}

} // namespace
