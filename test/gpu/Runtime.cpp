//===- Runtime.cpp - loading and launching on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Programs that were written by hand, so that what fails here is the runtime
// and not the compiler.
//
//===----------------------------------------------------------------------===//

#include "../unit/FakeProgram.h"
#include "../unit/TileProgram.h"
#include "Suite.h"
#include "fa/Tools/DeviceMemory.h"
#include <algorithm>

using namespace mlir::fa;
using namespace fa_test;

static constexpr int64_t kRows = 100, kColumns = 4;

static llvm::Error error(const llvm::Twine &message) { return llvm::createStringError(message); }

static std::string replaced(std::string text, const std::string &what, const std::string &by) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

namespace {

/// The hand-written program on a device, and buffers for it.
class Scale {
public:
  static llvm::Expected<std::unique_ptr<Scale>> create(const Target &target,
                                                       const std::string &manifest = kFakeManifest,
                                                       const std::string &ptx = kFakePTX);
  ~Scale() {
    for (Buffer *buffer : {&x, &y, &workspace})
      *buffer = Buffer();
    fa_program_free(program);
    fa_device_close(device);
  }
  /// Launches with x that many bytes past an aligned address.
  llvm::Error launch(int64_t shift = 0, void *stream = nullptr);
  /// Fills y with another value, and checks that it is 2.5 x.
  llvm::Error clear() { return takeError(fa_device_fill(device, y.get(), 0xFF, bytes())); }
  llvm::Error check();

private:
  static uint64_t bytes() { return (kRows + 1) * kColumns * sizeof(float); }
  fa_program *program = nullptr;
  fa_device *device = nullptr;
  Buffer x, y, workspace;
};

} // namespace

llvm::Expected<std::unique_ptr<Scale>>
Scale::create(const Target &target, const std::string &manifest, const std::string &ptx) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs load programs");
  auto scale = std::make_unique<Scale>();
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &scale->device)))
    return failed;
  fa_image image{ptx.data(), ptx.size()};
  if (llvm::Error failed =
          takeError(fa_program_load(manifest.data(), manifest.size(), &image, 1, nullptr,
                                    target.device.c_str(), &scale->program)))
    return failed;
  for (Buffer *buffer : {&scale->x, &scale->y, &scale->workspace}) {
    auto made = Buffer::create(scale->device, 2 * bytes());
    if (!made)
      return made.takeError();
    *buffer = std::move(*made);
  }
  std::vector<float> values(bytes() / sizeof(float));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  if (llvm::Error failed =
          takeError(fa_device_copy(scale->device, scale->x.get(), values.data(), bytes())))
    return failed;
  if (llvm::Error failed = scale->clear())
    return failed;
  return scale;
}

llvm::Error Scale::launch(int64_t shift, void *stream) {
  int64_t shape[] = {kRows, kColumns};
  fa_tensor from{x.get(), FA_F32, 2, shape, nullptr, static_cast<uint64_t>(shift)},
      to{y.get(), FA_F32, 2, shape, nullptr, 0};
  fa_argument arguments[] = {
      {"x", &from, 0, 0}, {"y", &to, 0, 0}, {"a", nullptr, 2.5, 0}, {"flag", nullptr, 0, 1}};
  return takeError(fa_program_launch(program, stream, arguments, 4, workspace.get(), 2 * bytes()));
}

llvm::Error Scale::check() {
  if (llvm::Error failed = takeError(fa_device_synchronize(device)))
    return failed;
  std::vector<float> values(kRows * kColumns);
  if (llvm::Error failed =
          takeError(fa_device_copy(device, values.data(), y.get(), values.size() * sizeof(float))))
    return failed;
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] != 2.5f * i)
      return error("element " + llvm::Twine(i) + " is " + std::to_string(values[i]) +
                   ", expected " + std::to_string(2.5f * i));
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

static llvm::Error checkLaunch(const Target &target) {
  auto scale = Scale::create(target);
  if (!scale)
    return scale.takeError();
  if (llvm::Error failed = (*scale)->launch())
    return failed;
  if (llvm::Error failed = (*scale)->check())
    return failed;
  // Eight bytes on, the second variant: it does nothing, without an error.
  if (llvm::Error failed = (*scale)->launch(/*shift=*/8))
    return failed;
  return (*scale)->check();
}

/// Success where an error has all of the texts on one line.
static llvm::Error expectError(llvm::Error got, std::initializer_list<const char *> texts) {
  if (!got)
    return error("it went well, expected an error with '" + llvm::Twine(*texts.begin()) + "'");
  std::string message = llvm::toString(std::move(got));
  if (message.rfind(kSkipped, 0) == 0)
    return error(message);
  for (const char *text : texts)
    if (message.find(text) == std::string::npos || message.find('\n') != std::string::npos)
      return error("'" + message + "' is not one line with '" + text + "'");
  return llvm::Error::success();
}

static llvm::Error checkUnaligned(const Target &target) {
  auto scale = Scale::create(target);
  if (!scale)
    return scale.takeError();
  return expectError((*scale)->launch(/*shift=*/4),
                     {"the address of 'x' is 4 bytes past a multiple of 16; copy it to memory "
                      "aligned to 16 bytes"});
}

static llvm::Error checkSharedMemory(const Target &target) {
  std::string manifest =
      replaced(kFakeManifest, "\"shared_bytes\": 65536", "\"shared_bytes\": 900000");
  manifest = replaced(manifest, "\"shared_bytes\": 0", "\"shared_bytes\": 900000");
  return expectError(Scale::create(target, manifest).takeError(),
                     {"needs 900000 bytes of shared memory a block, but device", "smaller tiles"});
}

static llvm::Error checkLog(const Target &target) {
  std::string ptx = replaced(kFakePTX, "mul.rn.f32", "nonsense");
  return expectError(Scale::create(target, kFakeManifest, ptx).takeError(),
                     {"CUDA_ERROR_INVALID_PTX", "nonsense"});
}

static llvm::Error checkMissingKernel(const Target &target) {
  std::string ptx = replaced(kFakePTX, "fake_plain", "renamed");
  return expectError(Scale::create(target, kFakeManifest, ptx).takeError(),
                     {"cannot load kernel 'fake_plain'", "CUDA_ERROR_NOT_FOUND"});
}

/// Record a launch in a graph, and run it by that.
static llvm::Error checkGraph(const Target &target) {
  auto scale = Scale::create(target);
  if (!scale)
    return scale.takeError();
  auto before = [&]() -> llvm::Error {
    if (llvm::Error failed = (*scale)->clear())
      return failed;
    return expectError((*scale)->check(), {"element 0 is"});
  };
  return replay(
      target, [&](void *stream) { return (*scale)->launch(/*shift=*/0, stream); }, before,
      [&] { return (*scale)->check(); });
}

/// Check that the TMA brings the tile that the tensor map of the runtime describes.
static llvm::Error checkTensorMap(const Target &target, const TileCase &c, int64_t columns,
                                  const std::string &manifest,
                                  const std::vector<uint16_t> &expected) {
  if (target.isCPU())
    return error(llvm::Twine(kSkipped) + "only GPUs load programs");
  fa_device *opened;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &opened)))
    return failed;
  std::unique_ptr<fa_device, decltype(&fa_device_close)> device(opened, fa_device_close);
  if (fa_device_get_info(opened).major < 9)
    return error(llvm::Twine(kSkipped) + "tensor maps need compute capability 9.0");
  fa_image image{kTilePTX, std::strlen(kTilePTX)};
  fa_program *loaded;
  if (llvm::Error failed = takeError(fa_program_load(manifest.data(), manifest.size(), &image, 1,
                                                     nullptr, target.device.c_str(), &loaded)))
    return failed;
  std::unique_ptr<fa_program, decltype(&fa_program_free)> program(loaded, fa_program_free);
  std::vector<uint16_t> values(kTileMemory), tile(kTileElements, 0xFFFF);
  for (int64_t i = 0; i < kTileMemory; ++i)
    values[i] = tileValue(i);
  const uint64_t xBytes = values.size() * sizeof values[0], yBytes = tile.size() * sizeof tile[0];
  auto x = Buffer::create(opened, xBytes), y = Buffer::create(opened, yBytes);
  for (auto *buffer : {&x, &y})
    if (!*buffer)
      return buffer->takeError();
  if (llvm::Error failed = takeError(fa_device_copy(opened, x->get(), values.data(), xBytes)))
    return failed;
  if (llvm::Error failed = takeError(fa_device_copy(opened, y->get(), tile.data(), yBytes)))
    return failed;
  const int64_t xShape[] = {c.sizes[0], c.sizes[1], c.sizes[2], columns},
                xStrides[] = {c.strides[0], c.strides[1], c.strides[2], 1}, yShape[] = {2, 80, 64};
  bool empty = c.sizes[0] * c.sizes[1] * c.sizes[2] == 0;
  fa_tensor from{empty ? nullptr : x->get(), FA_F16, 4, xShape, xStrides, 0},
      to{y->get(), FA_F16, 3, yShape, nullptr, 0};
  fa_argument arguments[] = {{"x", &from, 0, 0},
                             {"y", &to, 0, 0},
                             {"b", nullptr, 0, c.b},
                             {"h", nullptr, 0, c.h},
                             {"row", nullptr, 0, c.row}};
  if (llvm::Error failed = takeError(fa_program_launch(loaded, nullptr, arguments, 5, nullptr, 0)))
    return failed;
  if (llvm::Error failed = takeError(fa_device_copy(opened, tile.data(), y->get(), yBytes)))
    return failed;
  for (int64_t i = 0; i < kTileElements; ++i)
    if (tile[i] != expected[i])
      return error("element " + llvm::Twine(i) + " of the tile is " + llvm::Twine(tile[i]) +
                   ", expected " + llvm::Twine(expected[i]));
  return llvm::Error::success();
}

void fa_test::addRuntime(std::vector<Test> &tests) {
  tests.push_back({"runtime.launch", checkLaunch});
  tests.push_back({"runtime.unaligned", checkUnaligned});
  tests.push_back({"runtime.shared_memory", checkSharedMemory});
  tests.push_back({"runtime.compiler_log", checkLog});
  tests.push_back({"runtime.missing_kernel", checkMissingKernel});
  tests.push_back({"runtime.graph", checkGraph, /*alone=*/true});
  auto nameOf = [](std::string group, std::string name) {
    std::replace(name.begin(), name.end(), ' ', '_');
    return "runtime." + group + "." + name;
  };
  for (const TileCase &c : kTileCases) {
    tests.push_back({nameOf("tensor_map", c.name), [&c](const Target &target) {
                       return checkTensorMap(target, c, kTileColumns, kTileManifest,
                                             expectedTile(c));
                     }});
    tests.push_back({nameOf("panels", c.name), [&c](const Target &target) {
                       return checkTensorMap(target, c, kPanelColumns, panelManifest(),
                                             expectedTile(c, kPanelColumns));
                     }});
  }
  for (const SliceCase &c : kSliceCases)
    for (int64_t columns : {kTileColumns, kPanelColumns})
      tests.push_back({nameOf(columns == kTileColumns ? "slices" : "slice_panels", c.name),
                       [&c, columns](const Target &target) {
                         return checkTensorMap(target, c.place(columns), columns,
                                               sliceManifest(columns), c.expected(columns));
                       }});
}
