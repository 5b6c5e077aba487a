//===- Tiers.cpp - the first tier of programs and the last -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches go from one to the other at any time, so results must have the same bits:
// of programs compiled as the first tier is, against those compiled in full; and of launches right
// after a program was compiled, against those once all of it is loaded.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/Execution.h"
#include <cmath>
#include <fa/fa.h>

using namespace mlir::fa;
using namespace fa_test;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

/// Names and bits of what a program of a case gives, without a pass.
static llvm::Expected<std::vector<HostTensor>> getOutputs(PreparedCase &prepared, bool backward,
                                                          const char *leaveOut, uint64_t seed,
                                                          const Target &target) {
  fa_compile_options options = target.options();
  options.leave_out = leaveOut;
  if (backward) {
    auto gradients = prepareBackward(prepared, options, /*dlse=*/false, seed);
    if (!gradients)
      return gradients.takeError();
    auto outcome = gradients->execution->run(gradients->inputs, gradients->shapes);
    if (!outcome)
      return outcome.takeError();
    return std::move(outcome->outputs);
  }
  return runForOutputs(prepared, options);
}

static llvm::Error checkBits(const Case &c, bool backward, uint64_t seed, const Target &target) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "code for CPUs has no schedule");
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  auto first = getOutputs(*prepared, backward, "tile-pipeline", seed, target);
  if (!first)
    return first.takeError();
  auto last = getOutputs(*prepared, backward, nullptr, seed, target);
  if (!last)
    return last.takeError();
  for (auto [a, b] : llvm::zip_equal(*first, *last)) {
    int64_t differ = 0, bytes = sizeOf(a.dtype);
    for (int64_t i = 0; i < a.size(); ++i)
      differ += std::memcmp(&a.data[i * bytes], &b.data[i * bytes], bytes) != 0;
    if (differ)
      return error(llvm::Twine(differ) + " of " + llvm::Twine(a.size()) + " elements of '" +
                   a.name + "' have other bits in the first tier");
  }
  return llvm::Error::success();
}

/// Launch a program that nothing has compiled before at once, and again when it is loaded.
static llvm::Error checkLaunches(const Target &target) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "code for CPUs has no first tier");
  // Long enough for no tiles of short sequences.
  constexpr int64_t heads = 2, length = 4096, dim = 128, elements = heads * length * dim;
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return failed;
  std::unique_ptr<fa_device, void (*)(fa_device *)> close(device, fa_device_close);
  Buffer buffers[3]; // q, o, lse
  for (Buffer &buffer : buffers) {
    auto made = Buffer::create(device, 4 * elements);
    if (!made)
      return made.takeError();
    buffer = std::move(*made);
  }
  std::vector<uint16_t> values(elements);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toBits(DType::BF16, 3 * std::sin(0.37 * double(i % 9973)));
  if (llvm::Error failed =
          takeError(fa_device_copy(device, buffers[0].get(), values.data(), 2 * elements)))
    return failed;
  fa::Forward args;
  args.q = args.k = args.v = fa::Tensor(buffers[0].get(), fa::bf16, {1, heads, length, dim});
  args.o = fa::Tensor(buffers[1].get(), fa::bf16, {1, heads, length, dim});
  args.lse = fa::Tensor(buffers[2].get(), fa::f32, {1, heads, length});
  fa::Attention spec;
  spec.headDim = dim;
  spec.dtype = fa::bf16;
  spec.scale = 0.0871f;
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  auto kernel = fa::compile(spec, fa::Device{target.device, target.code});
  if (!kernel)
    return error(kernel.error());
  auto workspace = giveWorkspace(device, *kernel, args);
  if (!workspace)
    return workspace.takeError();
  std::vector<std::vector<uint16_t>> outputs;
  for (bool last : {false, false, true, true}) {
    if (fa::Error failed = last ? kernel->wait() : fa::Error())
      return error(failed.message());
    if (fa::Error launched = kernel->forward(nullptr, args))
      return error(launched.message());
    outputs.emplace_back(elements);
    if (llvm::Error failed = takeError(
            fa_device_copy(device, outputs.back().data(), buffers[1].get(), 2 * elements)))
      return failed;
    if (outputs.back() != outputs.front())
      return error("a launch gave other bits than the one right after the program was compiled");
  }
  return llvm::Error::success();
}

void fa_test::addTiers(std::vector<Test> &tests) {
  uint64_t seed = 0;
  // Tiles of short sequences, and those of all others.
  for (auto [sq, sk] : {std::pair(300, 500), {1100, 1300}})
    for (const Case &c : scheduleCases(sq, sk))
      for (bool backward : {false, true}) {
        std::string name = std::string(backward ? "gradients." : "forward.") + c.name();
        tests.push_back({"tiers." + name, [=](const Target &target) {
                           return checkBits(c, backward, seed, target);
                         }});
        ++seed;
      }
  tests.push_back({"tiers.launches", checkLaunches});
}
