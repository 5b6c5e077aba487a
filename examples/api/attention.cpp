//===- attention.cpp - attention from C++ -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal attention with ALiBi and a soft cap of the scores, from C++.
// Build: g++ -std=c++20 attention.cpp -I<prefix>/include -L<prefix>/lib -lfa
// -Wl,-rpath,<prefix>/lib Run:   ./a.out [cuda:0]
#include <cmath>
#include <cstdio>
#include <fa/fa.h>

int main(int argc, char **argv) {
  const int64_t B = 2, H = 8, S = 512, D = 64, rows = B * H * S;
  const char *where = argc > 1 ? argv[1] : "cpu";

  fa::Attention spec{.headDim = D, .dtype = fa::f32};
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  spec.score = [=](fa::Score s, auto x) {
    return 30.0f * tanh((s + slopes[x.h] * (x.j - (x.i + x.sk - x.sq))) / 30.0f);
  };
  auto kernel = fa::compile(spec, fa::Device{where});
  if (!kernel)
    return std::printf("%s\n", kernel.error().c_str()), 1;

  // Any memory of the device serves; fa_device_* is for programs without other means.
  fa_device *device;
  if (fa::Error failed = fa::Error(fa_device_open(where, &device)))
    return std::printf("%s\n", failed.message().c_str()), 1;
  auto make = [&](int64_t count, float (*value)(int64_t)) {
    std::vector<float> host(count);
    for (int64_t i = 0; i < count; ++i)
      host[i] = value(i);
    void *data = nullptr;
    fa_error_free(fa_device_alloc(device, 4 * count, &data));
    fa_error_free(fa_device_copy(device, data, host.data(), 4 * count));
    return data;
  };
  auto wave = [](int64_t i) { return std::sin(0.37f * float(i % 9973)); };
  fa::Tensor q(make(rows * D, wave), fa::f32, {B, H, S, D}),
      k = q, v = q, o = q, lse(make(rows, wave), fa::f32, {B, H, S}),
      m(make(H, wave), fa::f32, {H});
  o.data = make(rows * D, wave);
  fa::Forward args{.q = q, .k = k, .v = v, .o = o, .lse = lse, .captures = {m}};
  if (fa::Error failed = kernel->forward(/*stream=*/nullptr, args))
    return std::printf("%s\n", failed.message().c_str()), 1;

  // The first query sees one key: its output is that key's value.
  float out[2], in[2];
  fa_error_free(fa_device_copy(device, out, o.data, sizeof out));
  fa_error_free(fa_device_copy(device, in, v.data, sizeof in));
  std::printf("o[0] = %.4f %.4f, v[0] = %.4f %.4f\n", out[0], out[1], in[0], in[1]);
  return std::fabs(out[0] - in[0]) < 1e-5f && std::fabs(out[1] - in[1]) < 1e-5f ? 0 : 1;
}
