//===- Manifest.cpp - what a launch needs to know of a compiled program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Manifest.h"
#include "fa/Support/DimNames.h"
#include "fa/Support/MaxSize.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Expressions over sizes
//===----------------------------------------------------------------------===//

SizeExpr SizeExpr::constant(int64_t value) {
  SizeExpr expr;
  expr.value = value;
  return expr;
}

SizeExpr SizeExpr::size(unsigned argument, unsigned dim) {
  SizeExpr expr;
  expr.kind = Size;
  expr.argument = argument;
  expr.dim = dim;
  return expr;
}

SizeExpr SizeExpr::binary(Kind kind, SizeExpr lhs, SizeExpr rhs) {
  SizeExpr expr;
  expr.kind = kind;
  expr.operands.push_back(std::move(lhs));
  expr.operands.push_back(std::move(rhs));
  return expr;
}

llvm::Expected<int64_t> SizeExpr::evaluate(const LaunchShapes &shapes) const {
  if (kind == Constant)
    return value;
  if (kind == Size)
    return shapes[argument][dim];
  llvm::Expected<int64_t> lhs = operands[0].evaluate(shapes);
  if (!lhs)
    return lhs;
  llvm::Expected<int64_t> rhs = operands[1].evaluate(shapes);
  if (!rhs)
    return rhs;
  int64_t a = *lhs, b = *rhs;
  if ((kind == FloorDiv || kind == CeilDiv || kind == Mod) && b <= 0)
    return llvm::createStringError("divides by " + std::to_string(b));
  std::optional<int64_t> result;
  switch (kind) {
  case Add:
    result = llvm::checkedAdd(a, b);
    break;
  case Mul:
    result = llvm::checkedMul(a, b);
    break;
  case Min:
    return std::min(a, b);
  case Max:
    return std::max(a, b);
  case FloorDiv:
    return llvm::divideFloorSigned(a, b);
  case CeilDiv:
    return llvm::divideCeilSigned(a, b);
  default:
    return llvm::mod(a, b);
  }
  if (!result)
    return llvm::createStringError("overflows 64 bits");
  return *result;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

int64_t Manifest::find(StringRef name, size_t first) const {
  size_t count = arguments.size(), i = first;
  for (size_t tried = 0; tried < count; ++tried, ++i) {
    i = i < count ? i : 0;
    if (arguments[i].name == name)
      return i;
  }
  return -1;
}

namespace {

/// A size that has a name, and the argument that it was first seen on.
struct NamedSize {
  StringRef name;
  int64_t size;
  const ManifestArgument *argument;
};

} // namespace

/// Find a size by name. They are few: looking at each takes less time than a table.
static const NamedSize *findSize(ArrayRef<NamedSize> named, StringRef name) {
  auto found = llvm::find_if(named, [&](const NamedSize &known) { return known.name == name; });
  return found == named.end() ? nullptr : found;
}

// Errors are made in functions of their own: nothing of them is on a launch's way.

static std::string describeDim(const ManifestArgument &argument, size_t d) {
  return "dimension " + std::to_string(d) + " of '" + argument.name + "'";
}

static llvm::Error wrongSize(const ManifestArgument &argument, size_t d, int64_t size) {
  std::string text = describeDim(argument, d) + " has size " + std::to_string(size);
  if (size < 0 || size > kMaxSize)
    return llvm::createStringError(text + ", expected 0 to 2^30 - 1");
  std::string known = std::to_string(argument.shape[d]);
  text += ", but the program was compiled for " + known;
  if (d < argument.dims.size() && isHeadSize(argument.dims[d]))
    return llvm::createStringError(text +
                                   ", as each head dimension is code of its own; compile "
                                   "it for " +
                                   std::to_string(size));
  return llvm::createStringError(text + "; give " + known +
                                 ", or compile it with a size that launches say (? in MLIR, a "
                                 "name in C++)");
}

static llvm::Error unequal(const ManifestArgument &argument, size_t d, int64_t size,
                           const NamedSize &known) {
  if (known.name != argument.dims[d])
    return llvm::createStringError(describeDim(argument, d) + " (" + argument.dims[d] +
                                   ") has size " + std::to_string(size + 1) + ", but with '" +
                                   known.argument->name + "' " + known.name.str() + " is " +
                                   std::to_string(known.size) + "; they must agree");
  return llvm::createStringError(describeDim(argument, d) + " (" + argument.dims[d] +
                                 ") has size " + std::to_string(size) + ", but '" +
                                 known.argument->name + "' has " + std::to_string(known.size) +
                                 "; they must agree");
}

static llvm::Error tooFew(const ManifestArgument &argument, size_t d) {
  return llvm::createStringError(
      describeDim(argument, d) + " (" + argument.dims[d] +
      ") has size 0, expected 1 or more: where each sequence begins, and "
      "where the last one ends");
}

/// Return whether kernels of a variant take an argument.
static bool takes(const ManifestVariant &variant, unsigned argument) {
  return llvm::any_of(variant.kernels, [&](const ManifestKernel &kernel) {
    return llvm::is_contained(kernel.arguments, argument);
  });
}

int64_t ManifestArgument::SizeOf::resolve(const LaunchShapes &shapes) const {
  if (argument < 0)
    return dim;
  int64_t size = llvm::divideCeilSigned(shapes[argument][dim], divisor);
  int64_t multiples = llvm::divideCeilSigned(size, multiple);
  return (multiples + (added < 0 ? 0 : shapes[added][addedDim])) * multiple;
}

llvm::Error Manifest::resolve(LaunchShapes &shapes) const {
  SmallVector<NamedSize, 24> named;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.kind == ManifestArgument::Workspace) {
      // A size may be that of an earlier workspace, which is resolved by then.
      shapes[i].clear();
      for (const ManifestArgument::SizeOf &size : argument.sizes)
        shapes[i].push_back(size.resolve(shapes));
      continue;
    }
    if (shapes[i].size() != argument.shape.size())
      return llvm::createStringError("'" + argument.name + "' has rank " +
                                     std::to_string(shapes[i].size()) + ", expected " +
                                     std::to_string(argument.shape.size()));
    for (auto [d, size] : llvm::enumerate(shapes[i])) {
      bool known = !ShapedType::isDynamic(argument.shape[d]);
      if (size < 0 || size > kMaxSize || (known && size != argument.shape[d]))
        return wrongSize(argument, d, size);
      if (d >= argument.dims.size() || argument.dims[d].empty())
        continue;
      // "B+1" is one more than "B".
      StringRef name = argument.dims[d];
      bool more = name.consume_back("+1");
      int64_t of = more ? size - 1 : size;
      if (of < 0)
        return tooFew(argument, d);
      const NamedSize *same = findSize(named, name);
      if (!same)
        named.push_back({name, of, &argument});
      else if (same->size != of)
        return unequal(argument, d, of, *same);
    }
  }
  SmallVector<bool, 8> within;
  for (const ManifestVariant &variant : variants)
    within.push_back(variant.isWithinBounds(shapes));
  for (unsigned i = 0; llvm::is_contained(within, false) && i < arguments.size(); ++i) {
    if (arguments[i].kind != ManifestArgument::Workspace)
      continue;
    bool taken = false, beyond = false;
    for (auto [variant, runs] : llvm::zip_equal(variants, within))
      if (!taken && takes(variant, i))
        (runs ? taken : beyond) = true;
    if (beyond && !taken)
      shapes[i].assign(shapes[i].size(), 0);
  }
  for (auto &[name, most] : limits)
    if (const NamedSize *size = findSize(named, name); size && size->size > most)
      return llvm::createStringError(
          name + " = " + std::to_string(size->size) +
          " is more than random numbers have positions for, expected at most " +
          std::to_string(most));
  for (auto &[of, by] : multiples) {
    const NamedSize *x = findSize(named, of), *y = findSize(named, by);
    if (x && y && (x->size == 0 || y->size == 0 || x->size % y->size != 0))
      return llvm::createStringError(of + " = " + std::to_string(x->size) +
                                     " must be a multiple of " + by + " = " +
                                     std::to_string(y->size) + ", and neither may be 0");
  }
  return llvm::Error::success();
}

int64_t Manifest::rowPitch(unsigned argument, ArrayRef<int64_t> shape) const {
  const ManifestArgument &info = arguments[argument];
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / kWorkspaceRowBytes;
  bool padded = info.kind == ManifestArgument::Workspace && info.dtype;
  if (!padded || shape.size() < 2 || shape.back() > kMost)
    return shape.empty() ? 1 : shape.back();
  return workspaceRowPitch(shape.back(), sizeOf(*info.dtype));
}

llvm::Expected<int64_t> Manifest::bytes(unsigned argument, ArrayRef<int64_t> shape) const {
  if (!arguments[argument].dtype)
    return llvm::createStringError("'" + arguments[argument].name +
                                   "' has an element type that no launch can pass");
  std::optional<int64_t> total = sizeOf(*arguments[argument].dtype);
  bool empty = llvm::is_contained(shape, 0);
  for (size_t d = 0; d < shape.size(); ++d)
    if (total && !empty)
      total = llvm::checkedMul(*total, d + 1 < shape.size() ? shape[d] : rowPitch(argument, shape));
  if (!total)
    return llvm::createStringError("the sizes of '" + arguments[argument].name +
                                   "' overflow 64-bit offsets; use fewer or shorter sequences");
  return empty ? 0 : *total;
}

llvm::Expected<LaunchShape> Manifest::grid(const ManifestKernel &kernel,
                                           const LaunchShapes &shapes) const {
  LaunchShape extents;
  for (const SizeExpr &expr : kernel.grid) {
    llvm::Expected<int64_t> extent = expr.evaluate(shapes);
    if (!extent)
      return llvm::createStringError("the grid of kernel '" + kernel.name + "' " +
                                     llvm::toString(extent.takeError()));
    extents.push_back(*extent);
  }
  return extents;
}

bool ManifestVariant::isWithinBounds(const LaunchShapes &shapes) const {
  for (auto &[expr, most] : bounds) {
    llvm::Expected<int64_t> value = expr.evaluate(shapes);
    if (!value)
      llvm::consumeError(value.takeError());
    else if (*value <= most)
      continue;
    return false;
  }
  return true;
}

size_t ManifestVariant::countTensorMaps() const {
  size_t count = 0;
  for (const ManifestKernel &kernel : kernels)
    for (const ManifestParameter &parameter : kernel.parameters)
      count += parameter.kind == ManifestParameter::TensorMap;
  return count;
}

std::string fa::checkTensorMap(const ManifestParameter &map, const ManifestArgument &argument) {
  // What the TMA can count, and copy at once.
  constexpr int64_t kMaxBox = 256, kMaxBytes = 1 << 18;
  size_t rank = argument.shape.size();
  if (argument.isNumber() || rank < 2 || rank > 4)
    return "must map a tensor of rank 2 to 4";
  int64_t size = argument.dtype ? sizeOf(*argument.dtype) : 0;
  if (size == 0 || size > 4)
    return "must map elements of 1, 2 or 4 bytes";
  if (map.swizzle == 0) {
    constexpr int64_t kUnit = 16;
    if (map.rows != 1 || map.columns < 1 || map.columns > kMaxBox ||
        map.columns * size % kUnit != 0)
      return "must copy, without a swizzle, one row of 1 to " + std::to_string(kMaxBox) +
             " elements and whole 16 bytes, got " + std::to_string(map.rows) + " rows of " +
             std::to_string(map.columns);
    return map.slices ? "must have a swizzle to be for slices of a tensor's rows" : "";
  }
  if (map.swizzle != 32 && map.swizzle != 64 && map.swizzle != 128)
    return "must have a swizzle of 32, 64 or 128 bytes, got " + std::to_string(map.swizzle);
  int64_t panel = map.swizzle / size, last = argument.shape.back();
  if (map.rows < 1 || map.rows > kMaxBox)
    return "must copy 1 to " + std::to_string(kMaxBox) + " rows, got " + std::to_string(map.rows);
  if (map.columns < 1 || map.columns > kMaxBox * panel ||
      static_cast<int64_t>(llvm::alignTo(map.columns, panel)) * map.rows * size > kMaxBytes)
    return "must copy columns of at most " + std::to_string(kMaxBytes) + " bytes, got " +
           std::to_string(map.columns);
  if (last == 0)
    return "must map a tensor whose last size is not 0";
  return "";
}

/// Arguments of a variant get these numbers.
static void renumber(SizeExpr &expr, ArrayRef<unsigned> numbers) {
  if (expr.kind == SizeExpr::Size)
    expr.argument = numbers[expr.argument];
  for (SizeExpr &operand : expr.operands)
    renumber(operand, numbers);
}

static void renumber(ManifestVariant &variant, ArrayRef<unsigned> numbers) {
  for (ManifestGuard &guard : variant.guards)
    for (unsigned &argument : guard.arguments)
      argument = numbers[argument];
  for (auto &[expr, most] : variant.bounds)
    renumber(expr, numbers);
  for (ManifestKernel &kernel : variant.kernels) {
    for (SizeExpr &extent : kernel.grid)
      renumber(extent, numbers);
    for (unsigned &argument : kernel.arguments)
      argument = numbers[argument];
    for (ManifestParameter &parameter : kernel.parameters)
      parameter.argument = numbers[parameter.argument];
  }
}

llvm::Error Manifest::addVariant(Manifest other, unsigned image) {
  auto isOutput = [](const ManifestArgument &argument) {
    return argument.kind == ManifestArgument::Output;
  };
  bool same = other.entry == entry && other.variants.size() == 1 &&
              llvm::count_if(arguments, isOutput) == llvm::count_if(other.arguments, isOutput);
  std::vector<ManifestArgument> all = arguments;
  SmallVector<unsigned> numbers;
  for (ManifestArgument &argument : other.arguments) {
    for (ManifestArgument::SizeOf &size : argument.sizes)
      for (int64_t *of : {&size.argument, &size.added})
        if (*of >= 0)
          *of = numbers[*of];
    auto isLike = [&](const ManifestArgument &a) {
      return a.kind == argument.kind && a.dtype == argument.dtype && a.shape == argument.shape &&
             a.sizes == argument.sizes;
    };
    // Nobody binds a workspace by its name, so another one of that name gets another.
    std::string name = argument.name;
    for (unsigned n = 1; argument.kind == ManifestArgument::Workspace && find(argument.name) >= 0 &&
                         !isLike(arguments[find(argument.name)]);
         ++n)
      argument.name = name + "_" + std::to_string(n);
    int64_t known = find(argument.name);
    numbers.push_back(known < 0 ? all.size() : known);
    if (known >= 0) {
      same = same && isLike(arguments[known]);
      continue;
    }
    same = same && !isOutput(argument);
    all.push_back(argument);
  }
  if (!same)
    return llvm::createStringError("the variants of entry @" + entry + " take different arguments");
  renumber(other.variants.front(), numbers);
  arguments = std::move(all);
  variants.push_back(std::move(other.variants.front()));
  variants.back().image = image;
  return llvm::Error::success();
}
