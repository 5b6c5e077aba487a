//===- Launch.cpp - arguments of a launch, checked and bound -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include "mlir/IR/BuiltinTypes.h"
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace mlir;
using namespace mlir::fa;

static constexpr uint64_t kWorkspaceAlignment = 64;

static const char *const kDtypeNames[] = {"f16", "bf16", "f32", "f64", "i8",
                                          "i16", "i32",  "i64", "bool"};
static const unsigned kDtypeBytes[] = {2, 2, 4, 8, 1, 2, 4, 8, 1};

std::optional<fa_dtype> fa::launchTypeOf(std::optional<DType> dtype) {
  if (!dtype)
    return std::nullopt;
  switch (*dtype) {
  case DType::F16:
    return FA_F16;
  case DType::BF16:
    return FA_BF16;
  case DType::F32:
    return FA_F32;
  case DType::F64:
    return FA_F64;
  case DType::I8:
    return FA_I8;
  case DType::I16:
    return FA_I16;
  case DType::I32:
    return FA_I32;
  case DType::I64:
    return FA_I64;
  case DType::Bool:
    return FA_BOOL;
  case DType::U8:
    return std::nullopt;
  }
  return std::nullopt;
}

template <typename... Parts> static llvm::Error error(const Parts &...parts) {
  std::string text;
  llvm::raw_string_ostream os(text);
  (os << ... << parts);
  return llvm::createStringError(text);
}

/// Return the integers that a type holds.
static std::pair<int64_t, int64_t> rangeOf(fa_dtype dtype) {
  if (dtype == FA_BOOL)
    return {0, 1};
  int64_t most = INT64_MAX >> (64 - 8 * kDtypeBytes[dtype]);
  return {-most - 1, most};
}

bool fa::scalarBits(fa_dtype dtype, const fa_argument &argument, uint64_t &bits) {
  bits = 0;
  if (dtype > FA_F64) {
    bits = static_cast<uint64_t>(argument.i);
    auto [least, most] = rangeOf(dtype);
    return argument.i >= least && argument.i <= most;
  }
  // Infinity and what is no number are what they are in every type.
  bool fits = true;
  if (dtype == FA_F32) {
    float value = static_cast<float>(argument.f);
    std::memcpy(&bits, &value, sizeof value);
    fits = std::isfinite(value);
  } else if (dtype == FA_F64) {
    std::memcpy(&bits, &argument.f, sizeof argument.f);
  } else {
    DType type = dtype == FA_F16 ? DType::F16 : DType::BF16;
    bits = toBits(type, argument.f);
    fits = std::isfinite(fromBits(type, bits));
  }
  return fits || !std::isfinite(argument.f);
}

/// Return the error for a scalar that its type does not hold.
static llvm::Error outOfRange(fa_dtype dtype, const fa_argument &argument) {
  if (dtype > FA_F64) {
    auto [least, most] = rangeOf(dtype);
    return error("'", argument.name, "' is ", argument.i, ", expected ", least, " to ", most, " (",
                 kDtypeNames[dtype], "); give a number in that range");
  }
  char text[32];
  std::snprintf(text, sizeof text, "%g", argument.f);
  return error("'", argument.name, "' is ", text, ", which ", kDtypeNames[dtype],
               " cannot hold; give a smaller number");
}

/// Find a dimension of an output along which elements would be written twice: its stride does
/// not exceed what the dimensions of smaller strides reach. -1 where there is none.
static int32_t findOverlap(const BoundArgument &output) {
  int32_t rank = static_cast<int32_t>(output.sizes.size());
  for (int32_t d = 0; d < rank; ++d) {
    int64_t stride = output.strides[d], reach = 0;
    for (int32_t other = 0; other < rank; ++other)
      if (std::pair(output.strides[other], other) < std::pair(stride, d))
        reach += output.strides[other] * (output.sizes[other] - 1);
    if (output.sizes[d] > 1 && stride <= reach)
      return d;
  }
  return -1;
}

/// Check one tensor, but its address, against what the manifest knows of it, but its sizes.
static llvm::Error bindShape(const ManifestArgument &info, fa_dtype dtype, const fa_tensor &tensor,
                             BoundArgument &bound) {
  unsigned given; // a caller may pass any number, which no fa_dtype may hold in C++
  std::memcpy(&given, &tensor.dtype, sizeof given);
  if (given != dtype)
    return error("'", info.name, "' has dtype ",
                 given <= FA_BOOL ? kDtypeNames[given] : "(unknown)", ", expected ",
                 kDtypeNames[dtype]);
  if (tensor.rank != static_cast<int32_t>(info.shape.size()))
    return error("'", info.name, "' has rank ", tensor.rank, ", expected ", info.shape.size());
  if (tensor.rank > 0 && !tensor.shape)
    return error("'", info.name, "' has no shape; set fa_tensor.shape to its ", tensor.rank,
                 " sizes");
  bound.sizes.assign(tensor.shape, tensor.shape + tensor.rank);
  for (auto [d, size] : llvm::enumerate(bound.sizes))
    if (size < 0)
      return error("dimension ", d, " of '", info.name, "' has size ", size,
                   ", expected 0 to 2^30 - 1");
  bound.strides.resize(tensor.rank);
  bool empty = llvm::is_contained(bound.sizes, 0);
  int64_t contiguous = 1;
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    int64_t whole = contiguous;
    bound.strides[d] = tensor.strides ? tensor.strides[d] : contiguous;
    if (__builtin_mul_overflow(contiguous, bound.sizes[d], &contiguous) && !empty)
      return error("the sizes of '", info.name,
                   "' overflow 64-bit offsets; use fewer or shorter sequences");
    if (bound.strides[d] < 0)
      return error("dimension ", d, " of '", info.name, "' has stride ", bound.strides[d],
                   ", expected 0 or more");
    bool repeats = bound.strides[d] == 0 && bound.sizes[d] > 1 && !empty;
    if (repeats && info.kind == ManifestArgument::Output)
      return error("dimension ", d, " of output '", info.name,
                   "' has stride 0, so results would overwrite ", "each other");
    int64_t reach;
    if (bound.sizes[d] > 0 && !empty &&
        (__builtin_mul_overflow(bound.strides[d], bound.sizes[d], &reach) ||
         reach > (int64_t(1) << 60)))
      return error("dimension ", d, " of '", info.name, "' overflows 64-bit offsets: stride ",
                   bound.strides[d], ", size ", bound.sizes[d]);
    // One of size 1 has no stride: any serves, but for kernels that count by it (SliceMaps.h).
    if (bound.sizes[d] == 1)
      bound.strides[d] = whole;
  }
  int32_t last = tensor.rank - 1;
  if (last >= 0 && bound.strides[last] != 1) {
    if (bound.sizes[last] > 1)
      return error("the last dimension of '", info.name, "' has stride ", bound.strides[last],
                   ", expected 1; copy the tensor to a layout with contiguous rows");
    bound.strides[last] = 1;
  }
  if (info.kind == ManifestArgument::Output && !empty)
    if (int32_t d = findOverlap(bound); d >= 0)
      return error("rows of output '", info.name, "' overlap: dimension ", d, " has stride ",
                   bound.strides[d],
                   ", which the dimensions of smaller strides reach beyond; give "
                   "each row memory of its own");
  return llvm::Error::success();
}

llvm::Error fa::bindAddress(const ManifestArgument &info, void *data, BoundArgument &bound) {
  if (!data && !llvm::is_contained(bound.sizes, 0))
    return error("'", info.name, "' has no data; give a pointer to its memory");
  unsigned bytes = kDtypeBytes[*launchTypeOf(info.dtype)];
  if (reinterpret_cast<uintptr_t>(data) % bytes != 0)
    return error("'", info.name, "' is not aligned to its elements of ", bytes,
                 " bytes; copy it to aligned memory");
  bound.data = data;
  return llvm::Error::success();
}

/// Check the address of a tensor whose sizes are bound.
static llvm::Error bindData(const ManifestArgument &info, const fa_tensor &tensor,
                            BoundArgument &bound) {
  uintptr_t address;
  if (__builtin_add_overflow(reinterpret_cast<uintptr_t>(tensor.data), tensor.byte_offset,
                             &address))
    return error("'", info.name, "' has a byte offset of ", tensor.byte_offset,
                 ", which leads beyond the end of memory; give the distance of its first element "
                 "from the pointer to its data");
  return bindAddress(info, tensor.data ? reinterpret_cast<void *>(address) : nullptr, bound);
}

static std::string namesOfArguments(const Manifest &manifest) {
  std::string names;
  for (const ManifestArgument &known : manifest.arguments)
    if (known.isBound())
      names += (names.empty() ? "" : ", ") + known.name;
  return names;
}

static llvm::Error unknownArgument(const Manifest &manifest, StringRef name) {
  return error("entry @", manifest.entry, " has no argument '", name, "'; it has ",
               namesOfArguments(manifest));
}

/// Say that a launch lacks an argument; what flows back into gradients is said to be that.
static llvm::Error unboundArgument(const Manifest &manifest, const ManifestArgument &argument) {
  StringRef of = argument.name;
  int64_t known = of.consume_front("d") ? manifest.find(of) : -1;
  bool flowsBack = StringRef(manifest.entry).ends_with("_backward") && known >= 0 &&
                   argument.kind == ManifestArgument::Input &&
                   manifest.arguments[known].kind == ManifestArgument::Input;
  if (flowsBack)
    return error("argument '", argument.name, "' of entry @", manifest.entry,
                 " is not bound; it is the gradient of '", of,
                 "', which flows back: pass a tensor of the sizes of '", of, "'");
  return error("argument '", argument.name, "' of entry @", manifest.entry,
               " is not bound; pass each of ", namesOfArguments(manifest));
}

/// Bind everything but the data of workspaces, which is their offset; addresses and scalars of the
/// caller's only where they are given (`complete`).
static llvm::Error bindKnown(const Manifest &manifest, ArrayRef<fa_argument> arguments,
                             bool complete, BoundArguments &bound) {
  size_t count = manifest.arguments.size(), next = 0;
  bound.arguments.resize(count);
  bound.shapes.resize(count);
  SmallVector<bool, 32> seen(count);
  for (const fa_argument &argument : arguments) {
    if (!argument.name)
      return error("an argument has no name; set fa_argument.name");
    // Mostly in the order of the manifest, where each is the one after the last.
    int64_t i = manifest.find(argument.name, next);
    if (i < 0 || !manifest.arguments[i].isBound())
      return unknownArgument(manifest, argument.name);
    next = i + 1;
    if (seen[i])
      return error("argument '", argument.name, "' is bound twice");
    seen[i] = true;
    const ManifestArgument &info = manifest.arguments[i];
    std::optional<fa_dtype> dtype = launchTypeOf(info.dtype);
    if (!dtype)
      return error("'", info.name, "' has an element type that no launch can pass");
    if (info.kind == ManifestArgument::Scalar) {
      if (argument.tensor)
        return error("'", info.name, "' is a scalar; set fa_argument.f or .i, and no tensor");
      if (complete && !scalarBits(*dtype, argument, bound.arguments[i].scalar))
        return outOfRange(*dtype, argument);
      continue;
    }
    if (!argument.tensor)
      return error("'", info.name, "' is a tensor; set fa_argument.tensor");
    if (llvm::Error failed = bindShape(info, *dtype, *argument.tensor, bound.arguments[i]))
      return failed;
    if (!complete)
      continue;
    if (llvm::Error failed = bindData(info, *argument.tensor, bound.arguments[i]))
      return failed;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!seen[i] && manifest.arguments[i].isBound())
      return unboundArgument(manifest, manifest.arguments[i]);
    bound.shapes[i] = bound.arguments[i].sizes;
  }
  if (llvm::Error failed = manifest.resolve(bound.shapes))
    return failed;

  uint64_t total = 0;
  for (size_t i = 0; i < count; ++i) {
    if (manifest.arguments[i].kind != ManifestArgument::Workspace)
      continue;
    const LaunchShape &shape = bound.shapes[i];
    BoundArgument &argument = bound.arguments[i];
    llvm::Expected<int64_t> bytes = manifest.bytes(i, shape);
    if (!bytes)
      return bytes.takeError();
    argument.sizes = shape;
    argument.strides.assign(shape.size(), 1);
    int64_t stride = manifest.rowPitch(i, shape);
    for (int64_t d = static_cast<int64_t>(shape.size()) - 2; d >= 0; --d) {
      argument.strides[d] = stride;
      stride *= shape[d];
    }
    argument.data = reinterpret_cast<void *>(total);
    uint64_t padded = (static_cast<uint64_t>(*bytes) + kWorkspaceAlignment - 1) /
                      kWorkspaceAlignment * kWorkspaceAlignment;
    if (__builtin_add_overflow(total, padded, &total))
      return error("the workspace overflows 64 bits; use fewer or shorter sequences");
  }
  bound.workspaceBytes = total;
  return llvm::Error::success();
}

/// Return another number than any that memory holds by chance, or that a launch has left there.
/// Each is the last one plus a number that splits the circle of 2^64 evenly (the golden ratio's),
/// so 2^30 in a row are more than 2^32 apart. They begin anywhere, since memory may hold those of
/// another process.
static uint64_t makeLaunchEpoch() {
  constexpr uint64_t kStep = 0x9E3779B97F4A7C15;
  static std::atomic<uint64_t> last = [] {
    // Bits that differ from process to process, spread as in SplitMix64.
    auto now = std::chrono::high_resolution_clock::now().time_since_epoch().count();
    uint64_t bits = static_cast<uint64_t>(now) ^ static_cast<uint64_t>(getpid()) << 40;
    bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9;
    bits = (bits ^ bits >> 27) * 0x94D049BB133111EB;
    return bits ^ bits >> 31;
  }();
  return last.fetch_add(kStep, std::memory_order_relaxed) + kStep;
}

llvm::Expected<uint64_t> fa::workspaceSize(const Manifest &manifest,
                                           ArrayRef<fa_argument> arguments) {
  BoundArguments bound;
  if (llvm::Error failed = bindKnown(manifest, arguments, /*complete=*/true, bound))
    return failed;
  return bound.workspaceBytes;
}

bool fa::bindWorkspace(const Manifest &manifest, void *workspace, uint64_t workspaceBytes,
                       BoundArguments &bound) {
  if (bound.workspaceBytes == 0)
    workspace = nullptr;
  else if (!workspace || workspaceBytes < bound.workspaceBytes)
    return false;
  if (reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0)
    return false;
  // Not a difference of pointers: those into nothing are offsets.
  uintptr_t moved =
      reinterpret_cast<uintptr_t>(workspace) - reinterpret_cast<uintptr_t>(bound.workspace);
  bound.workspace = workspace;
  for (auto [info, argument] : llvm::zip_equal(manifest.arguments, bound.arguments)) {
    if (info.kind == ManifestArgument::Workspace)
      argument.data = reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(argument.data) + moved);
    else if (info.kind == ManifestArgument::LaunchEpoch)
      argument.scalar = makeLaunchEpoch();
  }
  return true;
}

llvm::Error fa::bindShapes(const Manifest &manifest, ArrayRef<fa_argument> arguments,
                           BoundArguments &bound) {
  return bindKnown(manifest, arguments, /*complete=*/false, bound);
}

llvm::Error fa::bindScalar(const ManifestArgument &info, const fa_number &number,
                           BoundArgument &bound) {
  fa_dtype dtype = *launchTypeOf(info.dtype);
  fa_argument argument = {info.name.c_str(), /*tensor=*/nullptr, 0, 0};
  (dtype > FA_F64 ? (void)(argument.i = number.i) : (void)(argument.f = number.f));
  if (!scalarBits(dtype, argument, bound.scalar))
    return outOfRange(dtype, argument);
  return llvm::Error::success();
}

llvm::Error fa::explainWorkspace(const BoundArguments &bound, void *workspace,
                                 uint64_t workspaceBytes) {
  if (workspace && workspaceBytes >= bound.workspaceBytes)
    return error("the workspace must be aligned to ", kWorkspaceAlignment, " bytes");
  return error("the launch needs ", bound.workspaceBytes, " bytes of workspace, got ",
               workspace ? workspaceBytes : 0,
               "; ask for their number (fa_program_workspace_size, fa::Kernel::workspaceBytes) and "
               "allocate that much");
}

llvm::Error fa::bindArguments(const Manifest &manifest, ArrayRef<fa_argument> arguments,
                              void *workspace, uint64_t workspaceBytes, BoundArguments &bound) {
  if (llvm::Error failed = bindKnown(manifest, arguments, /*complete=*/true, bound))
    return failed;
  if (bindWorkspace(manifest, workspace, workspaceBytes, bound))
    return llvm::Error::success();
  return explainWorkspace(bound, workspace, workspaceBytes);
}
