//===- Graph.cpp - launches that are captured in a graph -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The attention of examples/api/attention.cpp, captured right after it was compiled:
// aligned, and not, for which a variant may still be loading then; and dropout's masks,
// which a graph draws from the seed and offset that memory holds when it runs.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include <cmath>
#include <fa/fa.h>

using namespace mlir::fa;
using namespace fa_test;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

static constexpr int64_t kHeads = 4, kLength = 300, kDim = 64;

/// Each number makes it another program, which no other test has compiled.
static fa::Attention makeSpec(int number) {
  fa::Attention spec;
  spec.headDim = kDim;
  spec.dtype = fa::bf16;
  auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  spec.score = [=](fa::Score s, auto x) {
    float cap = 30.0f + float(number);
    return cap * tanh((s + slopes[x.h] * (x.j - (x.i + x.sk - x.sq))) / cap);
  };
  return spec;
}

/// Check attention on tensors that start `shift` elements past an aligned address.
static llvm::Error checkAttention(const Target &target, int64_t shift) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs capture");
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return failed;
  std::unique_ptr<fa_device, void (*)(fa_device *)> close(device, fa_device_close);
  constexpr int64_t rows = kHeads * kLength, elements = rows * kDim;
  Buffer buffers[4]; // q, o, lse, slopes
  for (Buffer &buffer : buffers) {
    auto made = Buffer::create(device, 2 * (elements + 16));
    if (!made)
      return made.takeError();
    buffer = std::move(*made);
  }
  std::vector<uint16_t> values(elements + 16);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toBits(DType::BF16, std::sin(0.37 * double(i % 9973)));
  const float slopes[kHeads] = {0.5f, 0.25f, 0.125f, 0.0625f};
  for (auto [to, from, bytes] : {std::tuple<void *, const void *, uint64_t>(
                                     buffers[0].get(), values.data(), 2 * values.size()),
                                 {buffers[3].get(), slopes, sizeof slopes}})
    if (llvm::Error failed = takeError(fa_device_copy(device, to, from, bytes)))
      return failed;
  auto at = [&](int buffer) { return static_cast<char *>(buffers[buffer].get()) + 2 * shift; };
  fa::Forward args;
  args.q = args.k = args.v = fa::Tensor(at(0), fa::bf16, {1, kHeads, kLength, kDim});
  args.o = fa::Tensor(at(1), fa::bf16, {1, kHeads, kLength, kDim});
  args.lse = fa::Tensor(buffers[2].get(), fa::f32, {1, kHeads, kLength});
  args.captures[0] = fa::Tensor(buffers[3].get(), fa::f32, {kHeads});

  fa::Device where{target.device, target.code};
  auto kernel = fa::compile(makeSpec(int(shift)), where);
  if (!kernel)
    return error(kernel.error());
  auto workspace = giveWorkspace(device, *kernel, args);
  if (!workspace)
    return workspace.takeError();
  // The graph's stream does not wait for the default one.
  auto clear = [&]() -> llvm::Error {
    if (fa_error *failed = fa_device_fill(device, buffers[1].get(), 0xFF, 2 * elements))
      return takeError(failed);
    return takeError(fa_device_synchronize(device));
  };
  auto get = [&](std::vector<uint16_t> &out) {
    out.resize(elements);
    return takeError(fa_device_copy(device, out.data(), at(1), 2 * elements));
  };
  // The graph comes first, and what it gives is compared with a launch of its own.
  std::vector<std::vector<uint16_t>> replayed;
  llvm::Error failed = replay(
      target,
      [&](void *stream) {
        fa::Error launched = kernel->forward(stream, args);
        return launched ? error(launched.message()) : llvm::Error::success();
      },
      clear, [&] { return get(replayed.emplace_back()); });
  if (failed)
    return failed;
  if (llvm::Error failed = clear())
    return failed;
  if (fa::Error launched = kernel->forward(nullptr, args))
    return error(launched.message());
  std::vector<uint16_t> alone;
  if (llvm::Error failed = get(alone))
    return failed;
  for (const std::vector<uint16_t> &one : replayed)
    if (one != alone)
      return error("the graph gave another o than a launch");
  // The first query sees one key, and values start `shift` elements into the buffer.
  for (int64_t i = 0; i < kDim; ++i)
    if (alone[i] != values[shift + i])
      return error("element " + llvm::Twine(i) + " of o is not that of v");
  return llvm::Error::success();
}

/// Capture forward and backward once; each replay finds another offset in memory, and gives what a
/// launch with that as a number gives.
static llvm::Error checkDropout(const Target &target) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs capture");
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return failed;
  std::unique_ptr<fa_device, void (*)(fa_device *)> close(device, fa_device_close);
  constexpr int64_t rows = kHeads * kLength, elements = rows * kDim;
  constexpr uint64_t kSeed = 0x123456789ABCDEF0;
  enum { Q, O, DQ, DK, DV, Lse, Bits, kBuffers };
  Buffer buffers[kBuffers];
  for (Buffer &buffer : buffers) {
    auto made = Buffer::create(device, 2 * elements);
    if (!made)
      return made.takeError();
    buffer = std::move(*made);
  }
  std::vector<uint16_t> values(elements);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toBits(DType::BF16, std::sin(0.37 * double(i % 9973)));
  if (fa_error *failed = fa_device_copy(device, buffers[Q].get(), values.data(), 2 * elements))
    return takeError(failed);
  auto tensor = [&](int buffer) {
    return fa::Tensor(buffers[buffer].get(), fa::bf16, {1, kHeads, kLength, kDim});
  };
  auto *bits = static_cast<uint64_t *>(buffers[Bits].get());
  fa::Forward args;
  args.q = args.k = args.v = tensor(Q);
  args.o = tensor(O);
  args.lse = fa::Tensor(buffers[Lse].get(), fa::f32, {1, kHeads, kLength});
  args.dropoutP = 0.5;
  fa::Backward back;
  back.q = back.k = back.v = back.dO = tensor(Q);
  back.o = args.o;
  back.lse = args.lse;
  back.dq = tensor(DQ);
  back.dk = tensor(DK);
  back.dv = tensor(DV);
  back.dropoutP = args.dropoutP;

  /// The kernels with seed and offset as numbers, and those that read them.
  struct Pair {
    std::optional<fa::Kernel> forward;
    std::optional<fa::BackwardKernel> backward;
    Buffer workspaces[2];
    fa::Forward args;
    fa::Backward back;
  } pairs[2];
  for (bool inMemory : {false, true}) {
    Pair &pair = pairs[inMemory];
    fa::Attention spec;
    spec.headDim = kDim;
    spec.dtype = fa::bf16;
    spec.dropout = true;
    spec.dropoutInMemory = inMemory;
    pair.args = args;
    pair.back = back;
    if (inMemory) {
      pair.args.seedAt = pair.back.seedAt = fa::Tensor(bits, fa::i64, {1});
      pair.args.offsetAt = pair.back.offsetAt = fa::Tensor(bits + 1, fa::i64, {1});
    } else {
      pair.args.seed = pair.back.seed = kSeed;
    }
    fa::Device where{target.device, target.code};
    auto kernel = fa::compile(spec, where);
    auto backward = fa::compileBackward(spec, where);
    if (!kernel || !backward)
      return error(kernel.error() + backward.error());
    pair.forward = *kernel;
    pair.backward = *backward;
    auto needed = kernel->workspaceBytes(pair.args);
    auto neededBack = backward->workspaceBytes(pair.back);
    if (!needed || !neededBack)
      return error(needed.error() + neededBack.error());
    for (auto [bytes, workspace] :
         {std::pair(*needed, &pair.workspaces[0]), {*neededBack, &pair.workspaces[1]}}) {
      auto made = Buffer::create(device, bytes);
      if (!made)
        return made.takeError();
      *workspace = std::move(*made);
    }
    pair.args.workspace = pair.workspaces[0].get();
    pair.args.workspaceBytes = *needed;
    pair.back.workspace = pair.workspaces[1].get();
    pair.back.workspaceBytes = *neededBack;
  }
  auto launch = [&](const Pair &pair, void *stream) -> llvm::Error {
    if (fa::Error failed = pair.forward->forward(stream, pair.args))
      return error(failed.message());
    fa::Error failed = pair.backward->backward(stream, pair.back);
    return failed ? error(failed.message()) : llvm::Error::success();
  };
  uint64_t offset = 0;
  // The graph's stream does not wait for the default one.
  auto prepare = [&]() -> llvm::Error {
    ++offset;
    const uint64_t state[] = {kSeed, offset};
    for (int buffer : {O, DQ, DK, DV})
      if (fa_error *failed = fa_device_fill(device, buffers[buffer].get(), 0xFF, 2 * elements))
        return takeError(failed);
    if (fa_error *failed = fa_device_copy(device, bits, state, sizeof state))
      return takeError(failed);
    return takeError(fa_device_synchronize(device));
  };
  using Results = std::vector<std::vector<uint16_t>>;
  auto collect = [&](std::vector<Results> &all) -> llvm::Error {
    Results &results = all.emplace_back();
    for (int buffer : {O, DQ, DK, DV}) {
      results.emplace_back(elements);
      if (fa_error *failed =
              fa_device_copy(device, results.back().data(), buffers[buffer].get(), 2 * elements))
        return takeError(failed);
    }
    return llvm::Error::success();
  };
  std::vector<Results> replayed, alone;
  if (llvm::Error failed = replay(
          target, [&](void *stream) { return launch(pairs[true], stream); }, prepare,
          [&] { return collect(replayed); }))
    return failed;
  offset = 0;
  for (size_t time = 0; time < replayed.size(); ++time) {
    if (llvm::Error failed = prepare())
      return failed;
    pairs[false].args.offset = pairs[false].back.offset = offset;
    if (llvm::Error failed = launch(pairs[false], nullptr))
      return failed;
    if (llvm::Error failed = collect(alone))
      return failed;
    for (auto [number, name] :
         llvm::enumerate(llvm::ArrayRef<const char *>{"o", "dq", "dk", "dv"})) {
      if (replayed[time][number] != alone[time][number])
        return error("replay " + llvm::Twine(time + 1) + " gave another " + name +
                     " than a launch with its seed and offset as numbers");
      if (time > 0 && replayed[time][number] == replayed[time - 1][number])
        return error(llvm::Twine(name) + " is the same with another offset");
    }
  }
  return llvm::Error::success();
}

void fa_test::addGraph(std::vector<Test> &tests) {
  tests.push_back(
      {"graph.attention", [](const Target &t) { return checkAttention(t, 0); }, /*alone=*/true});
  tests.push_back({"graph.dropout", checkDropout, /*alone=*/true});
  tests.push_back(
      {"graph.unaligned", [](const Target &t) { return checkAttention(t, 1); }, /*alone=*/true});
}
