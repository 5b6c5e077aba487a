//===- attention.cpp - attention from C++ -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Causal attention with ALiBi and a soft cap of the scores. Build and run, P being the package:
//   g++ -std=c++20 attention.cpp -I$P/include -L$P/lib -lfa -Wl,-rpath,$P/lib && ./a.out [cuda:0]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fa/fa.h>
#include <numeric>
#include <vector>

int main(int argc, char **argv) {
  const int64_t B = 2, H = 8, S = 512, D = 64, rows = B * H * S;
  fa::Device where{argc > 1 ? argv[1] : "cpu", {}};
  fa::Attention spec{.headDim = D, .dtype = fa::f32};
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i; }; // there are as many queries as keys
  spec.score = [=](auto s, auto x) { return 30 * tanh((s + slopes[x.h] * (x.j - x.i)) / 30); };
  auto kernel = fa::compile(spec, where);
  if (!kernel)
    return std::puts(kernel.error().c_str()), 1;

  fa_device *device; // any other means to get memory of the device serve as well
  if (fa::Error failed{fa_device_open(where.name.c_str(), &device)})
    return std::puts(failed.message().c_str()), 1;
  std::vector<float> host(rows * D), out(D);
  for (int64_t i = 0; i < rows * D; ++i)
    host[i] = std::sin(0.37f * float(i % 9973));
  auto make = [&](int64_t count) {
    void *data = nullptr;
    fa_error_free(fa_device_alloc(device, 4 * count, &data));
    fa_error_free(fa_device_copy(device, data, host.data(), 4 * std::min(count, rows * D)));
    return data;
  };
  fa::Tensor q(make(rows * D), fa::f32, {B, H, S, D}), o(make(rows * D), fa::f32, {B, H, S, D});
  fa::Tensor lse(make(rows), fa::f32, {B, H, S}), m(make(H), fa::f32, {H});
  fa::Forward args{.q = q, .k = q, .v = q, .o = o, .lse = lse, .captures = {m}};
  if (auto bytes = kernel->workspaceBytes(args); bytes && *bytes > 0)
    args.workspace = make((*bytes + 3) / 4), args.workspaceBytes = *bytes;
  if (fa::Error failed = kernel->forward(/*stream=*/nullptr, args))
    return std::puts(failed.message().c_str()), 1;

  // The last query of the last head, by definition; the cap keeps exp from overflowing.
  const float *query = &host[(rows - 1) * D], *key = query - (S - 1) * D;
  double expected[D] = {}, sum = 0, error = 0;
  for (int64_t j = 0; j < S; ++j, key += D) {
    double s = std::inner_product(query, query + D, key, 0.0) / 8 + host[H - 1] * (j - S + 1);
    double weight = std::exp(30 * std::tanh(s / 30));
    sum += weight;
    for (int64_t d = 0; d < D; ++d)
      expected[d] += weight * key[d];
  }
  fa_error_free(fa_device_copy(device, out.data(), (float *)o.data + (rows - 1) * D, 4 * D));
  for (int64_t d = 0; d < D; ++d)
    error += std::fabs(out[d] - expected[d] / sum) / D;
  std::printf("the last row is wrong by %.1e\n", error);
  return error < 1e-5 ? 0 : 1;
}
