//===- attention.cpp - attention from C++ -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Causal attention with ALiBi and a soft cap of the scores. Build and run:
//   g++ -std=c++20 attention.cpp -I$P/include -L$P/lib -lfa -Wl,-rpath,$P/lib && ./a.out [cuda:0]
#include <cmath>
#include <cstdio>
#include <fa/fa.h>

int main(int argc, char **argv) {
  const int64_t B = 2, H = 8, S = 512, D = 64, rows = B * H * S;
  fa::Device where{argc > 1 ? argv[1] : "cpu", {}};
  fa::Attention spec{.headDim = D, .dtype = fa::f32};
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  spec.score = [=](fa::Score s, auto x) {
    return 30.0f * tanh((s + slopes[x.h] * (x.j - (x.i + x.sk - x.sq))) / 30.0f);
  };
  auto kernel = fa::compile(spec, where);
  if (!kernel)
    return std::puts(kernel.error().c_str()), 1;

  fa_device *device; // any other means to get memory of the device serve as well
  if (fa::Error failed{fa_device_open(where.name.c_str(), &device)})
    return std::puts(failed.message().c_str()), 1;
  auto make = [&](int64_t count) {
    std::vector<float> host(count);
    for (int64_t i = 0; i < count; ++i)
      host[i] = std::sin(0.37f * float(i % 9973));
    void *data = nullptr;
    fa_error_free(fa_device_alloc(device, 4 * count, &data));
    fa_error_free(fa_device_copy(device, data, host.data(), 4 * count));
    return data;
  };
  fa::Tensor q(make(rows * D), fa::f32, {B, H, S, D}), o(make(rows * D), fa::f32, {B, H, S, D});
  fa::Tensor lse(make(rows), fa::f32, {B, H, S}), m(make(H), fa::f32, {H});
  fa::Forward args{.q = q, .k = q, .v = q, .o = o, .lse = lse, .captures = {m}};
  if (auto bytes = kernel->workspaceBytes(args); bytes && *bytes > 0)
    args.workspace = make((*bytes + 3) / 4), args.workspaceBytes = *bytes;
  if (fa::Error failed = kernel->forward(/*stream=*/nullptr, args))
    return std::puts(failed.message().c_str()), 1;

  float out[2], in[2]; // the first query sees one key: its output is that key's value
  fa_error_free(fa_device_copy(device, out, o.data, sizeof out));
  fa_error_free(fa_device_copy(device, in, q.data, sizeof in));
  std::printf("o[0] = %.4f %.4f, v[0] = %.4f %.4f\n", out[0], out[1], in[0], in[1]);
  return std::hypot(out[0] - in[0], out[1] - in[1]) < 1e-5f ? 0 : 1;
}
