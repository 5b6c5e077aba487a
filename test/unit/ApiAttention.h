//===- ApiAttention.h - attention through fa.h, and by its definition -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_APIATTENTION_H
#define FA_TEST_UNIT_APIATTENTION_H

#include <cmath>
#include <cstdint>
#include <fa/fa.h>
#include <functional>
#include <limits>
#include <vector>

namespace fa::test {

/// Positions as numbers, on which the lambdas of a spec can be called too.
struct Place {
  int64_t b, h, i, j, sq, sk;
};

/// f32 operands of one launch, drawn by a generator of our own.
struct Problem {
  int64_t batch, heads, keyHeads, queries, keys, dim;
  std::vector<float> q, k, v, o, lse;
  /// A logit a head; empty: none.
  std::vector<float> sink;

  Problem(int64_t batch, int64_t heads, int64_t keyHeads, int64_t queries, int64_t keys,
          int64_t dim, uint64_t seed = 1)
      : batch(batch), heads(heads), keyHeads(keyHeads), queries(queries), keys(keys), dim(dim) {
    auto draw = [&](int64_t count) {
      std::vector<float> values(count);
      for (float &value : values) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        value = static_cast<float>(static_cast<int64_t>(seed >> 40)) / float(1 << 23) - 1.0f;
      }
      return values;
    };
    q = draw(batch * heads * queries * dim);
    k = draw(batch * keyHeads * keys * dim);
    v = draw(batch * keyHeads * keys * dim);
    o.assign(q.size(), NAN);
    lse.assign(batch * heads * queries, NAN);
  }

  Forward forward() {
    Forward args;
    args.q = {q.data(), f32, {batch, heads, queries, dim}};
    args.k = {k.data(), f32, {batch, keyHeads, keys, dim}};
    args.v = {v.data(), f32, {batch, keyHeads, keys, dim}};
    args.o = {o.data(), f32, {batch, heads, queries, dim}};
    args.lse = {lse.data(), f32, {batch, heads, queries}};
    if (!sink.empty())
      args.sink = {sink.data(), f32, {heads}};
    return args;
  }

  /// Return the largest error of o and lse against attention by its definition, in double;
  /// infinity where one is not finite and the other is.
  double error(const std::function<bool(Place)> &mask,
               const std::function<double(double, Place)> &score) const {
    double worst = 0;
    auto compare = [&](double got, double expected) {
      if (got == expected)
        return;
      double error = std::fabs(got - expected);
      worst = error <= worst ? worst : std::isnan(error) ? INFINITY : error;
    };
    std::vector<double> x(keys);
    for (int64_t row = 0; row < batch * heads * queries; ++row) {
      int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
      int64_t first = (b * keyHeads + h / (heads / keyHeads)) * keys;
      double logit = sink.empty() ? -INFINITY : sink[h], most = logit;
      for (int64_t j = 0; j < keys; ++j) {
        double dot = 0;
        for (int64_t d = 0; d < dim; ++d)
          dot += double(q[row * dim + d]) * k[(first + j) * dim + d];
        Place place{b, h, i, j, queries, keys};
        x[j] = mask(place) ? score(dot / std::sqrt(double(dim)), place) : -INFINITY;
        most = std::max(most, x[j]);
      }
      double sum = logit == -INFINITY ? 0 : std::exp(logit - most);
      for (int64_t j = 0; j < keys; ++j)
        sum += x[j] == -INFINITY ? 0 : std::exp(x[j] - most);
      compare(lse[row], sum == 0 ? -INFINITY : most + std::log(sum));
      for (int64_t d = 0; d < dim; ++d) {
        double out = 0;
        for (int64_t j = 0; j < keys; ++j)
          out += x[j] == -INFINITY ? 0 : std::exp(x[j] - most) / sum * v[(first + j) * dim + d];
        compare(o[row * dim + d], out);
      }
    }
    return worst;
  }
};

} // namespace fa::test

#endif // FA_TEST_UNIT_APIATTENTION_H
