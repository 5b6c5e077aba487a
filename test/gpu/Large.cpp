//===- Large.cpp - tensors of more than 2^31 elements -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small launch of seven heads is judged by the reference, on sampled rows. A
// large one has the same seven heads over and over, so each of its heads must
// give the bits of one of the small one's. Seven divides no power of two: an
// offset that wraps around reads, or writes, another head.
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Tools/DeviceMemory.h"
#include "llvm/Support/FormatVariadic.h"
#include <mutex>

using namespace mlir::fa;
using namespace fa_test;

static constexpr int64_t kHeads = 7, kD = 128, kSampledRows = 48;

template <typename... Args> static llvm::Error error(const char *format, Args &&...args) {
  return llvm::createStringError(llvm::formatv(format, std::forward<Args>(args)...).str());
}

namespace {

/// The large launch: (B, H, S, D), in memory as its strides say.
struct Shape {
  HeadLayout layout;
  int64_t batch, heads, length;

  int64_t elements() const { return batch * heads * length * kD; }
  std::vector<int64_t> sizes() const { return {batch, heads, length, kD}; }
  std::vector<int64_t> strides() const {
    if (layout == HeadLayout::BHSD)
      return {heads * length * kD, length * kD, kD, 1};
    return {length * heads * kD, kD, heads * kD, 1};
  }
  /// Calls with consecutive pieces of what the tensor holds whose heads are
  /// those of `small`, (1, kHeads, length, kD), in turn: where, data, bytes.
  template <typename Function>
  llvm::Error forEachPiece(const HostTensor &small, Function function) const;
};

} // namespace

template <typename Function>
llvm::Error Shape::forEachPiece(const HostTensor &small, Function function) const {
  size_t row = kD * sizeOf(small.dtype), head = length * row;
  std::vector<std::byte> piece;
  if (layout == HeadLayout::BHSD) {
    for (int64_t first = 0; first < batch * heads; first += kHeads) {
      int64_t count = std::min(kHeads, batch * heads - first);
      if (llvm::Error failed = function(first * head, small.data.data(), count * head))
        return failed;
    }
    return llvm::Error::success();
  }
  piece.resize(heads * row);
  for (int64_t i = 0; i < batch * length; ++i) {
    for (int64_t h = 0; h < heads; ++h)
      std::memcpy(piece.data() + h * row,
                  small.data.data() + (h % kHeads) * head + (i % length) * row, row);
    if (llvm::Error failed = function(i * heads * row, piece.data(), piece.size()))
      return failed;
  }
  return llvm::Error::success();
}

static Case makeCase(int64_t length) {
  Case c;
  c.dtype = "f16";
  c.sq = c.sk = length;
  c.d = c.dv = kD;
  c.batch = 1;
  c.hq = c.hk = kHeads;
  c.mask = c.score = "none";
  c.dropout = c.transposed = c.lse = false;
  c.dynamicHeads = true;
  c.rows = c.keys = 0;
  return c;
}

/// Rows 0, step, 2 step, ... of each head.
static HostTensor sampleRows(const HostTensor &tensor) {
  int64_t length = tensor.shape[2], step = length / kSampledRows;
  HostTensor rows = HostTensor::zeros(tensor.name, tensor.dtype, {1, kHeads, kSampledRows, kD});
  size_t row = kD * sizeOf(tensor.dtype);
  for (int64_t h = 0; h < kHeads; ++h)
    for (int64_t i = 0; i < kSampledRows; ++i)
      std::memcpy(rows.data.data() + (h * kSampledRows + i) * row,
                  tensor.data.data() + (h * length + i * step) * row, row);
  return rows;
}

/// Runs the large launch and compares its output with the small one's.
static llvm::Error runLarge(const Shape &shape, const std::vector<HostTensor> &inputs,
                            const HostTensor &expected, const fa_program *program,
                            const fa_device *device) {
  uint64_t bytes = shape.elements() * sizeOf(DType::F16);
  std::vector<Buffer> buffers;
  std::vector<int64_t> sizes = shape.sizes(), strides = shape.strides();
  std::vector<fa_tensor> tensors;
  std::vector<fa_argument> arguments;
  for (int i = 0; i < 4; ++i) {
    auto buffer = Buffer::create(device, bytes);
    if (!buffer)
      return buffer.takeError();
    void *data = buffer->get();
    buffers.push_back(std::move(*buffer));
    tensors.push_back({data, FA_F16, 4, sizes.data(), strides.data(), 0});
    llvm::Error failed =
        i == 3 ? takeError(fa_device_fill(device, data, 0xFF, bytes))
               : shape.forEachPiece(inputs[i], [&](uint64_t at, const void *piece, uint64_t size) {
                   return takeError(
                       fa_device_copy(device, static_cast<char *>(data) + at, piece, size));
                 });
    if (failed)
      return failed;
  }
  const char *names[] = {"q", "k", "v", expected.name.c_str()};
  for (int i = 0; i < 4; ++i)
    arguments.push_back({names[i], &tensors[i], 0, 0});
  uint64_t needed = 0;
  if (llvm::Error failed =
          takeError(fa_program_workspace_size(program, arguments.data(), 4, &needed)))
    return failed;
  auto workspace = Buffer::create(device, needed);
  if (!workspace)
    return workspace.takeError();
  if (llvm::Error failed = takeError(
          fa_program_launch(program, nullptr, arguments.data(), 4, workspace->get(), needed)))
    return failed;
  if (llvm::Error failed = takeError(fa_device_synchronize(device)))
    return failed;
  std::vector<std::byte> result;
  return shape.forEachPiece(
      expected, [&](uint64_t at, const void *piece, uint64_t size) -> llvm::Error {
        result.resize(size);
        const char *from = static_cast<const char *>(buffers[3].get()) + at;
        if (llvm::Error failed = takeError(fa_device_copy(device, result.data(), from, size)))
          return failed;
        if (std::memcmp(result.data(), piece, size) == 0)
          return llvm::Error::success();
        auto *other = static_cast<const std::byte *>(piece);
        uint64_t first = std::mismatch(result.begin(), result.end(), other).first - result.begin();
        return error("element {0} of the output is not that of the same head in a small launch",
                     (at + first) / sizeOf(DType::F16));
      });
}

static llvm::Error checkLarge(const Shape &shape, const Target &target) {
  // One at a time: each looks at how much memory is free.
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return failed;
  std::unique_ptr<fa_device, void (*)(fa_device *)> closer(device, fa_device_close);
  uint64_t available, total, needed = 4 * shape.elements() * sizeOf(DType::F16) + (1u << 30);
  if (llvm::Error failed = takeError(fa_device_memory(device, &available, &total)))
    return failed;
  if (target.isCPU() && !target.full && shape.elements() > (int64_t(1) << 30))
    return error("{0}it takes minutes on the CPU; give --full to run it", kSkipped);
  if (available < needed)
    return error("{0}it needs {1} GB of memory, and {2} GB are free", kSkipped, needed >> 30,
                 available >> 30);

  auto prepared = prepare(makeCase(shape.length), /*seed=*/4);
  if (!prepared)
    return prepared.takeError();
  auto execution = Execution::create(prepared->text, target.options());
  if (!execution)
    return execution.takeError();
  auto outcome = (*execution)->run(prepared->inputs, prepared->shapes);
  if (!outcome)
    return outcome.takeError();
  const HostTensor &output = outcome->outputs.front();
  std::vector<HostTensor> sampled = prepared->inputs;
  sampled[0] = sampleRows(sampled[0]);
  auto judgements = prepared->checker->judge(sampled, {sampleRows(output)});
  if (!judgements)
    return judgements.takeError();
  for (auto &[name, judgement] : *judgements)
    if (!judgement.passed)
      return error("the small launch: {0}", judgement.problem);
  return runLarge(shape, prepared->inputs, output, (*execution)->getProgram(), device);
}

void fa_test::addLarge(std::vector<Test> &tests) {
  auto add = [&](const char *name, Shape shape) {
    tests.push_back({name, [=](const Target &target) { return checkLarge(shape, target); }});
  };
  // 2^31 elements are passed by many batches, and by the rows of one.
  add("large.bhsd", {HeadLayout::BHSD, 1025, 64, 256});
  add("large.bshd", {HeadLayout::BSHD, 1, 4096, 4160});
  // The same way, quickly.
  add("many_heads.bhsd", {HeadLayout::BHSD, 9, 10, 64});
  add("many_heads.bshd", {HeadLayout::BSHD, 2, 30, 100});
}
