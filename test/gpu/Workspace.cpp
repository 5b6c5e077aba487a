//===- Workspace.cpp - launches whose workspace holds anything -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Causal attention of more work tiles than there are SMs, which blocks take
// from a count in the workspace: right after the workspace was filled with some bytes,
// many times in a row on what the launch before has left, and by a graph, which
// repeats a launch bit by bit.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/DeviceMemory.h"
#include <cmath>
#include <fa/fa.h>
#include <random>

using namespace mlir::fa;
using namespace fa_test;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

namespace {

constexpr int64_t kHeads = 32, kLength = 1088, kDim = 64, kElements = kHeads * kLength * kDim;
constexpr int kLaunches = 50;

/// Launches with an output each.
struct Launches {
  const Target &target;
  std::unique_ptr<fa_device, void (*)(fa_device *)> device{nullptr, fa_device_close};
  Buffer input, output, workspace;
  std::optional<fa::Kernel> kernel;
  fa::Forward args;
  std::vector<uint16_t> expected;

  explicit Launches(const Target &target) : target(target) {}
  llvm::Error prepare();
  llvm::Error clear();
  llvm::Error launch(void *stream, int number);
  llvm::Error compare(int number, const llvm::Twine &what);
  llvm::Error check(const std::string &name, const std::vector<uint8_t> &bytes);
  char *outputOf(int number) const {
    return static_cast<char *>(output.get()) + 2 * number * kElements;
  }
};

} // namespace

llvm::Error Launches::prepare() {
  fa_device *opened;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &opened)))
    return failed;
  device.reset(opened);
  fa::Attention spec;
  spec.headDim = kDim;
  spec.dtype = fa::bf16;
  spec.lse = false;
  spec.mask = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
  auto compiled = fa::compile(spec, fa::Device{target.device, target.code});
  if (!compiled)
    return error(compiled.error());
  kernel = *compiled;
  auto made = Buffer::create(device.get(), 2 * kElements);
  if (!made)
    return made.takeError();
  input = std::move(*made);
  args.q = args.k = args.v = args.o = fa::Tensor(input.get(), fa::bf16, {1, kHeads, kLength, kDim});
  fa::Expected<uint64_t> needed = kernel->workspaceBytes(args);
  if (!needed)
    return error(needed.error());
  if (*needed == 0)
    return error(llvm::Twine(kSkipped) + "the program has no workspace");
  for (auto [buffer, bytes] :
       {std::pair<Buffer *, uint64_t>(&output, 2 * kElements * kLaunches), {&workspace, *needed}}) {
    auto made = Buffer::create(device.get(), bytes);
    if (!made)
      return made.takeError();
    *buffer = std::move(*made);
  }
  std::vector<uint16_t> values(kElements);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = toBits(DType::BF16, std::sin(0.37 * double(i % 9973)));
  args.workspace = workspace.get();
  args.workspaceBytes = *needed;
  return takeError(fa_device_copy(device.get(), input.get(), values.data(), 2 * kElements));
}

/// Fills the outputs with what no launch stores.
llvm::Error Launches::clear() {
  if (llvm::Error failed =
          takeError(fa_device_fill(device.get(), output.get(), 0xFF, 2 * kElements * kLaunches)))
    return failed;
  return takeError(fa_device_synchronize(device.get()));
}

llvm::Error Launches::launch(void *stream, int number) {
  args.o.data = outputOf(number);
  fa::Error failed = kernel->forward(stream, args);
  return failed ? error(failed.message()) : llvm::Error::success();
}

llvm::Error Launches::compare(int number, const llvm::Twine &what) {
  std::vector<uint16_t> values(kElements);
  if (llvm::Error failed =
          takeError(fa_device_copy(device.get(), values.data(), outputOf(number), 2 * kElements)))
    return failed;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] == 0xFFFF)
      return error("element " + llvm::Twine(i) + " of o was not written by " + what);
  if (expected.empty())
    expected = values;
  return values == expected ? llvm::Error::success() : error(what + " gave another o");
}

llvm::Error Launches::check(const std::string &name, const std::vector<uint8_t> &bytes) {
  auto fill = [&] {
    return takeError(fa_device_copy(device.get(), workspace.get(), bytes.data(), bytes.size()));
  };
  if (llvm::Error failed = clear())
    return failed;
  if (llvm::Error failed = fill())
    return failed;
  for (int i = 0; i < kLaunches; ++i)
    if (llvm::Error failed = launch(nullptr, i))
      return failed;
  for (int i = 0; i < kLaunches; ++i)
    if (llvm::Error failed = compare(i, "launch " + llvm::Twine(i) + " after " + name))
      return failed;
  if (llvm::Error failed = fill())
    return failed;
  return replay(
      target, [&](void *stream) { return launch(stream, 0); }, [&] { return clear(); },
      [&] { return compare(0, "a graph after " + name); });
}

static llvm::Error checkWorkspace(const Target &target) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs take numbers");
  Launches launches(target);
  if (llvm::Error failed = launches.prepare())
    return failed;
  std::vector<uint8_t> bytes(launches.args.workspaceBytes);
  std::mt19937 random(std::random_device{}());
  for (const char *name : {"zeros", "ones", "random bytes"}) {
    for (uint8_t &byte : bytes)
      byte = name[0] == 'z' ? 0 : name[0] == 'o' ? 0xFF : random();
    if (llvm::Error failed = launches.check(name, bytes))
      return failed;
  }
  return llvm::Error::success();
}

void fa_test::addWorkspace(std::vector<Test> &tests) {
  tests.push_back({"workspace.garbage", checkWorkspace, /*alone=*/true});
}
