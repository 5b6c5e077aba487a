//===- descent.cpp - gradient descent through attention, from C++ -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
// Fits queries, keys, values, the slopes of ALiBi and a bias so that capped causal attention gives
// an output that is drawn: 200 steps of gradient descent. Only the check writes a derivative down,
// for the same descent in double by plain loops. Build and run, P being the package:
//   g++ -std=c++20 descent.cpp -I$P/include -L$P/lib -lfa -Wl,-rpath,$P/lib && ./a.out [cuda:0]
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fa/fa.h>
#include <random>
#include <vector>

constexpr int64_t B = 2, H = 4, Hk = 2, S = 33, D = 16;
constexpr int kSteps = 200;
constexpr double kRate = 0.03, kCap = 5;
enum { Q, K, V, Slopes, Bias, kParameters };
constexpr int64_t kSizes[] = {B * H * S * D, B * Hk * S *D, B * Hk * S *D, H, H * S * S};
template <typename T> using Parameters = std::array<std::vector<T>, kParameters>;

/// Return |o - target|^2 / 2, and its gradients in `d`, by their definitions.
static double differentiate(const Parameters<double> &p, const std::vector<float> &target,
                            Parameters<double> &d) {
  for (int n = 0; n < kParameters; ++n)
    d[n].assign(kSizes[n], 0);
  auto dot = [](const double *x, const double *y) {
    double sum = 0;
    for (int64_t c = 0; c < D; ++c)
      sum += x[c] * y[c];
    return sum;
  };
  double loss = 0;
  for (int64_t row = 0; row < B * H * S; ++row) {
    int64_t i = row % S, h = row / S % H, b = row / S / H, q = row * D;
    int64_t first = (b * Hk + h / (H / Hk)) * S * D; // of the keys and values of the head
    double x[S], w[S], o[D] = {}, dO[D], sum = 0;
    for (int64_t j = 0; j <= i; ++j) {
      double s = dot(&p[Q][q], &p[K][first + j * D]) / 4 + p[Slopes][h] * double(j - i) / S;
      x[j] = kCap * std::tanh((s + p[Bias][(h * S + i) * S + j]) / kCap);
      sum += w[j] = std::exp(x[j]);
    }
    for (int64_t j = 0; j <= i; ++j)
      for (int64_t c = 0; c < D; ++c)
        o[c] += (w[j] / sum) * p[V][first + j * D + c];
    for (int64_t c = 0; c < D; ++c)
      dO[c] = o[c] - target[q + c];
    loss += dot(dO, dO) / 2;
    for (int64_t j = 0; j <= i; ++j) {
      double dx = w[j] / sum * (dot(dO, &p[V][first + j * D]) - dot(dO, o));
      double ds = dx * (1 - x[j] * x[j] / (kCap * kCap));
      d[Slopes][h] += ds * double(j - i) / S;
      d[Bias][(h * S + i) * S + j] += ds;
      for (int64_t c = 0; c < D; ++c) {
        d[Q][q + c] += ds / 4 * p[K][first + j * D + c];
        d[K][first + j * D + c] += ds / 4 * p[Q][q + c];
        d[V][first + j * D + c] += w[j] / sum * dO[c];
      }
    }
  }
  return loss;
}

static void check(const fa::Error &failed) {
  if (failed)
    std::puts(failed.message().c_str()), std::exit(1);
}
template <typename T> static T take(fa::Expected<T> value) {
  if (!value)
    std::puts(value.error().c_str()), std::exit(1);
  return *value;
}

int main(int argc, char **argv) {
  fa::Device where{argc > 1 ? argv[1] : "cpu", {}};
  fa::Attention spec{.headDim = D, .dtype = fa::f32};
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  auto bias = spec.capture("bias", fa::f32, {fa::heads, fa::queries, fa::keys});
  spec.mask = [](auto x) { return x.j <= x.i; };
  spec.score = [=](auto s, auto x) {
    auto sloped = s + slopes[x.h] * (x.j - x.i) / double(S) + bias(x.h, x.i, x.j);
    return kCap * tanh(sloped / kCap);
  };
  fa::Kernel kernel = take(fa::compile(spec, where));
  fa::BackwardKernel derived = take(fa::compileBackward(spec, where));

  fa_device *device; // any other means to get memory of the device serve as well
  check(fa::Error(fa_device_open(where.name.c_str(), &device)));
  auto make = [&](uint64_t bytes) {
    void *data = nullptr;
    check(fa::Error(fa_device_alloc(device, bytes, &data)));
    return data;
  };
  auto copy = [&](void *to, const void *from, int64_t count) {
    check(fa::Error(fa_device_copy(device, to, from, sizeof(float) * uint64_t(count))));
  };
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  auto draw = [&](int64_t count) {
    std::vector<float> values(count);
    for (float &value : values)
      value = normal(random);
    return values;
  };
  std::vector<float> target = draw(B * H * S * D), o(target.size()), gradient;
  Parameters<float> host;
  Parameters<double> exact, exactGradients;
  fa::Tensor p[kParameters], d[kParameters];
  for (int n = 0; n < kParameters; ++n) {
    host[n] = draw(kSizes[n]);
    exact[n].assign(host[n].begin(), host[n].end());
    p[n] = n == Q        ? fa::Tensor(nullptr, fa::f32, {B, H, S, D})
           : n <= V      ? fa::Tensor(nullptr, fa::f32, {B, Hk, S, D})
           : n == Slopes ? fa::Tensor(nullptr, fa::f32, {H})
                         : fa::Tensor(nullptr, fa::f32, {H, S, S});
    d[n] = p[n];
    p[n].data = make(4 * kSizes[n]);
    d[n].data = make(4 * kSizes[n]);
    copy(p[n].data, host[n].data(), kSizes[n]);
  }
  fa::Tensor output(make(4 * o.size()), fa::f32, {B, H, S, D}), dO = output;
  fa::Tensor lse(make(4 * B * H * S), fa::f32, {B, H, S});
  dO.data = make(4 * o.size());
  fa::Forward forward{.q = p[Q], .k = p[K], .v = p[V], .o = output, .lse = lse};
  forward.captures = {p[Slopes], p[Bias]};
  fa::Backward backward{.q = p[Q], .k = p[K], .v = p[V], .o = output, .lse = lse, .dO = dO};
  backward.dq = d[Q], backward.dk = d[K], backward.dv = d[V];
  backward.captures = forward.captures;
  backward.dCaptures = {d[Slopes], d[Bias]};
  forward.workspaceBytes = take(kernel.workspaceBytes(forward));
  forward.workspace = make(forward.workspaceBytes);
  backward.workspaceBytes = take(derived.workspaceBytes(backward));
  backward.workspace = make(backward.workspaceBytes);

  double first = 0, loss = 0, worst = 0;
  for (int step = 0; step <= kSteps; ++step) {
    check(kernel.forward(/*stream=*/nullptr, forward));
    copy(o.data(), output.data, o.size());
    loss = 0;
    for (size_t e = 0; e < o.size(); ++e) {
      o[e] -= target[e];
      loss += 0.5 * double(o[e]) * o[e];
    }
    double expected = differentiate(exact, target, exactGradients);
    worst = std::fmax(worst, std::isnan(loss) ? INFINITY : std::fabs(loss - expected) / expected);
    first = step ? first : loss;
    if (step % 50 == 0)
      std::printf("step %3d: loss %.6g, in double %.6g\n", step, loss, expected);
    copy(dO.data, o.data(), o.size());
    check(derived.backward(/*stream=*/nullptr, backward));
    for (int n = 0; n < kParameters; ++n) {
      gradient.resize(kSizes[n]);
      copy(gradient.data(), d[n].data, kSizes[n]);
      for (int64_t e = 0; e < kSizes[n]; ++e) {
        host[n][e] -= float(kRate) * gradient[e];
        exact[n][e] -= kRate * exactGradients[n][e];
      }
      copy(p[n].data, host[n].data(), kSizes[n]);
    }
  }
  std::printf("the loss is wrong by %.1e of it at most\n", worst);
  return worst < 1e-5 && loss < first / 2 ? 0 : 1;
}
