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
#include "llvm/Support/MathExtras.h"
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
static llvm::Expected<LaunchShapes> tryShapesAt(const Manifest &manifest, const Problem &problem) {
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
    return error;
  return shapes;
}

static FailureOr<LaunchShapes> shapesAt(ModuleOp module, const Manifest &manifest,
                                        const Problem &problem) {
  llvm::Expected<LaunchShapes> shapes = tryShapesAt(manifest, problem);
  if (!shapes)
    return module.emitError() << llvm::toString(shapes.takeError());
  return std::move(*shapes);
}

/// The bytes of every argument, 0 for scalars, and at the end of all of them.
static llvm::Expected<std::vector<int64_t>> bytesAt(const Manifest &manifest,
                                                    const LaunchShapes &shapes) {
  std::vector<int64_t> all;
  int64_t total = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    all.push_back(0);
    if (argument.kind == ManifestArgument::Scalar)
      continue;
    llvm::Expected<int64_t> bytes = manifest.bytes(i, shapes[i]);
    if (!bytes)
      return bytes.takeError();
    if (llvm::AddOverflow(total, *bytes, total))
      return llvm::createStringError("the bytes of all arguments overflow; choose smaller sizes");
    all.back() = *bytes;
  }
  all.push_back(total);
  return all;
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
  if (failed(at))
    return failure();
  auto once = bytesAt(manifest, *at);
  if (!once)
    return module.emitError() << llvm::toString(once.takeError());
  // The problem is allowed even where one of twice its lengths is not.
  std::optional<std::vector<int64_t>> twice;
  for (StringRef name : {"Sq", "Sk"})
    problem.sizes[name] *= 2;
  if (auto doubled = tryShapesAt(manifest, problem)) {
    if (auto bytes = bytesAt(manifest, *doubled))
      twice = std::move(*bytes);
    else
      llvm::consumeError(bytes.takeError());
  } else {
    llvm::consumeError(doubled.takeError());
  }
  // Memory grows like its fastest growing buffer: at long lengths that one is all of it.
  int highest = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (argument.kind == ManifestArgument::Scalar)
      continue;
    os << "  " << kindName(argument.kind) << " " << argument.name << ": " << (*once)[i] << " bytes";
    if (twice) {
      int exponent = order((*once)[i], (*twice)[i]);
      highest = std::max(highest, exponent);
      os << ", ";
      printOrder(os, exponent);
    }
    os << "\n";
  }
  os << "  memory: " << once->back() << " bytes";
  if (twice) {
    os << ", ";
    printOrder(os, highest);
    os << " (" << twice->back() << " bytes at twice the lengths)\n";
  } else {
    os << " (twice the lengths would be too long to tell its growth)\n";
  }
  return success();
}

/// The shapes of the tiles that a kernel multiplies.
static void printTiles(raw_ostream &os, tile::FuncOp kernel) {
  kernel.walk([&](tile::DotOp dot) {
    os << "    dot " << dot.getA().getType() << " x " << dot.getB().getType()
       << (dot.getTransposeB() ? " transposed" : "") << "\n";
  });
}

static LogicalResult print(raw_ostream &os, ModuleOp module, StringRef shape) {
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

LogicalResult fa::printReport(raw_ostream &os, ModuleOp module, StringRef shape) {
  // All of it, or an error and none.
  std::string text;
  llvm::raw_string_ostream complete(text);
  if (failed(print(complete, module, shape)))
    return failure();
  os << text;
  return success();
}
