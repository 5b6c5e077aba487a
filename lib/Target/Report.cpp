//===- Report.cpp - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Report.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Manifest.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Format.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

namespace {

/// The sizes that a report is made for, by name.
struct Problem {
  llvm::StringMap<int64_t> sizes;
};

} // namespace

static FailureOr<Problem> parseShape(ModuleOp module, StringRef text) {
  static const char *const names[] = {"B", "Hq", "Hk", "Sq", "Sk"};
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  Problem problem;
  for (auto [i, part] : llvm::enumerate(parts)) {
    int64_t value;
    if (i >= 5 || part.trim().getAsInteger(10, value) || value < 0)
      return module.emitError() << "--shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '" << text
                                << "'";
    problem.sizes[names[i]] = value;
  }
  if (parts.size() != 5)
    return module.emitError() << "--shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '" << text
                              << "'";
  return problem;
}

/// The shapes of all arguments at a problem: named sizes from it, static ones
/// as they are; captures whose sizes have no name are left at 1.
static FailureOr<LaunchShapes> shapesAt(ModuleOp module, const Manifest &manifest,
                                        const Problem &problem) {
  LaunchShapes shapes(manifest.arguments.size());
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (argument.kind == ManifestArgument::Workspace)
      continue;
    for (auto [d, size] : llvm::enumerate(argument.shape)) {
      int64_t value = size;
      auto known =
          d < argument.dims.size() ? problem.sizes.find(argument.dims[d]) : problem.sizes.end();
      if (known != problem.sizes.end())
        value = known->second;
      else if (ShapedType::isDynamic(size))
        value = 1;
      shapes[i].push_back(value);
    }
  }
  if (llvm::Error error = manifest.resolve(shapes))
    return module.emitError() << llvm::toString(std::move(error));
  return shapes;
}

static FailureOr<int64_t> bytesOf(ModuleOp module, const Manifest &manifest, unsigned argument,
                                  ArrayRef<int64_t> shape) {
  llvm::Expected<int64_t> bytes = manifest.bytes(argument, shape);
  if (!bytes)
    return module.emitError() << llvm::toString(bytes.takeError());
  return *bytes;
}

static StringRef kindName(ManifestArgument::Kind kind) {
  switch (kind) {
  case ManifestArgument::Input:
    return "input";
  case ManifestArgument::Output:
    return "output";
  case ManifestArgument::Workspace:
    return "workspace";
  case ManifestArgument::Scalar:
    return "scalar";
  }
  return "";
}

/// Exponent of the growth from `once` to `twice` when lengths double.
static int order(int64_t once, int64_t twice) {
  return once == 0 ? 0 : static_cast<int>(std::lround(std::log2(double(twice) / double(once))));
}

static void printOrder(raw_ostream &os, int exponent) {
  if (exponent == 0)
    os << "O(1)";
  else if (exponent == 1)
    os << "O(N)";
  else
    os << "O(N^" << exponent << ")";
}

static LogicalResult printMemory(raw_ostream &os, ModuleOp module, const Manifest &manifest,
                                 Problem problem) {
  auto at = shapesAt(module, manifest, problem);
  for (StringRef name : {"Sq", "Sk"})
    problem.sizes[name] *= 2;
  auto doubled = shapesAt(module, manifest, problem);
  if (failed(at) || failed(doubled))
    return failure();
  int64_t total = 0, totalDoubled = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (argument.kind == ManifestArgument::Scalar)
      continue;
    auto once = bytesOf(module, manifest, i, (*at)[i]),
         twice = bytesOf(module, manifest, i, (*doubled)[i]);
    if (failed(once) || failed(twice))
      return failure();
    os << "  " << kindName(argument.kind) << " " << argument.name << ": " << *once << " bytes, ";
    printOrder(os, order(*once, *twice));
    os << "\n";
    total += *once;
    totalDoubled += *twice;
  }
  os << "  memory: " << total << " bytes, ";
  // Grows like its fastest growing buffer: at long lengths that one is all of it.
  int highest = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments))
    if (argument.kind != ManifestArgument::Scalar)
      highest = std::max(highest, order(*bytesOf(module, manifest, i, (*at)[i]),
                                        *bytesOf(module, manifest, i, (*doubled)[i])));
  printOrder(os, highest);
  os << " (" << totalDoubled << " bytes at twice the lengths)\n";
  return success();
}

/// The shapes of the tiles that a kernel multiplies.
static void printTiles(raw_ostream &os, tile::FuncOp kernel) {
  kernel.walk([&](tile::DotOp dot) {
    os << "    dot " << dot.getA().getType() << " x " << dot.getB().getType()
       << (dot.getTransposeB() ? " transposed" : "") << "\n";
  });
}

LogicalResult fa::printReport(raw_ostream &os, ModuleOp module, StringRef shape) {
  FailureOr<std::vector<Manifest>> manifests = readManifests(module);
  if (failed(manifests))
    return failure();
  FailureOr<Problem> problem;
  if (!shape.empty() && failed(problem = parseShape(module, shape)))
    return failure();
  for (const Manifest &manifest : *manifests) {
    os << "entry @" << manifest.entry << "\n";
    LaunchShapes shapes;
    if (succeeded(problem)) {
      auto at = shapesAt(module, manifest, *problem);
      if (failed(at))
        return failure();
      shapes = *at;
    }
    for (const ManifestKernel &kernel : manifest.kernels()) {
      auto function = module.lookupSymbol<tile::FuncOp>(kernel.name);
      os << "  kernel @" << kernel.name << " grid ";
      function.getGrid().print(os);
      if (!shapes.empty()) {
        auto extents = manifest.grid(kernel, shapes);
        if (!extents)
          return module.emitError() << llvm::toString(extents.takeError());
        os << " = ";
        llvm::interleave(*extents, os, " x ");
      }
      os << "\n";
      printTiles(os, function);
    }
    if (succeeded(problem) && failed(printMemory(os, module, manifest, *problem)))
      return failure();
  }
  return success();
}
