//===- Manifest.cpp - what a launch needs to know of a compiled program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Manifest.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace mlir::fa;

/// Lengths are below 2^31, so that positions fit 32 bits.
static constexpr int64_t kMaxSize = (int64_t(1) << 31) - 1;

int64_t Manifest::find(StringRef name) const {
  for (auto [i, argument] : llvm::enumerate(arguments))
    if (argument.name == name)
      return i;
  return -1;
}

llvm::Error Manifest::resolve(std::vector<std::vector<int64_t>> &shapes) const {
  // Sizes by name, and the argument that each was first seen on.
  llvm::StringMap<std::pair<int64_t, StringRef>> named;
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    if (argument.kind == ManifestArgument::Workspace) {
      // A size may be that of an earlier workspace, which is resolved by then.
      shapes[i].clear();
      for (auto [from, dim] : argument.sizes)
        shapes[i].push_back(from < 0 ? dim : shapes[from][dim]);
      continue;
    }
    if (shapes[i].size() != argument.shape.size())
      return llvm::createStringError("'" + argument.name + "' has rank " +
                                     std::to_string(shapes[i].size()) + ", expected " +
                                     std::to_string(argument.shape.size()));
    for (auto [d, size] : llvm::enumerate(shapes[i])) {
      std::string place = "dimension " + std::to_string(d) + " of '" + argument.name + "'";
      if (size < 0 || size > kMaxSize)
        return llvm::createStringError(place + " has size " + std::to_string(size) +
                                       ", expected 0 to 2^31 - 1");
      if (!ShapedType::isDynamic(argument.shape[d]) && size != argument.shape[d])
        return llvm::createStringError(
            place + " has size " + std::to_string(size) + ", but the program was compiled for " +
            std::to_string(argument.shape[d]) + "; write ? for a size that varies");
      if (d >= argument.dims.size() || argument.dims[d].empty())
        continue;
      auto [known, added] = named.try_emplace(argument.dims[d], size, argument.name);
      if (!added && known->second.first != size)
        return llvm::createStringError(place + " (" + argument.dims[d] + ") has size " +
                                       std::to_string(size) + ", but '" +
                                       known->second.second.str() + "' has " +
                                       std::to_string(known->second.first) + "; they must agree");
    }
  }
  for (auto &[name, most] : limits)
    if (auto size = named.find(name); size != named.end() && size->second.first > most)
      return llvm::createStringError(
          name + " = " + std::to_string(size->second.first) +
          " is more than random numbers have positions for, expected at most " +
          std::to_string(most));
  for (auto &[of, by] : multiples) {
    auto x = named.find(of), y = named.find(by);
    if (x == named.end() || y == named.end())
      continue;
    int64_t multiple = x->second.first, divisor = y->second.first;
    if (divisor == 0 || multiple % divisor != 0)
      return llvm::createStringError(of + " = " + std::to_string(multiple) +
                                     " must be a multiple of " + by + " = " +
                                     std::to_string(divisor) + ", which must not be 0");
  }
  return llvm::Error::success();
}

llvm::Expected<int64_t> Manifest::bytes(unsigned argument, ArrayRef<int64_t> shape) const {
  Type type = arguments[argument].type;
  int64_t bits = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  std::optional<int64_t> total = (bits + 7) / 8;
  bool empty = llvm::is_contained(shape, 0);
  for (int64_t size : shape)
    if (total && !empty)
      total = llvm::checkedMul(*total, size);
  if (!total)
    return llvm::createStringError("the sizes of '" + arguments[argument].name +
                                   "' overflow 64-bit offsets; use fewer or shorter sequences");
  return empty ? 0 : *total;
}

llvm::Expected<std::vector<int64_t>>
Manifest::grid(const ManifestKernel &kernel,
               const std::vector<std::vector<int64_t>> &shapes) const {
  MLIRContext *context = kernel.grid.getContext();
  SmallVector<Attribute> symbols;
  for (auto [argument, dim] : kernel.symbols)
    symbols.push_back(IntegerAttr::get(IndexType::get(context), shapes[argument][dim]));
  SmallVector<Attribute> extents;
  if (failed(kernel.grid.constantFold(symbols, extents)))
    return llvm::createStringError("the grid of kernel '" + kernel.name + "' cannot be evaluated");
  std::vector<int64_t> result;
  for (Attribute extent : extents)
    result.push_back(cast<IntegerAttr>(extent).getInt());
  return result;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// The index of the entry's argument that argument `i` of a kernel is bound to,
/// added where it is new.
static FailureOr<unsigned> bind(Manifest &manifest, tile::FuncOp kernel, unsigned i) {
  using tile::TileDialect;
  auto name = kernel.getArgAttrOfType<StringAttr>(i, TileDialect::kNameAttr);
  if (!name)
    return kernel.emitError() << "argument " << i << " has no tile.name, so no launch can bind it";
  bool writes = static_cast<bool>(kernel.getArgAttr(i, TileDialect::kOutputAttr));
  auto workspace = kernel.getArgAttrOfType<ArrayAttr>(i, TileDialect::kWorkspaceAttr);
  if (int64_t known = manifest.find(name); known >= 0)
    return static_cast<unsigned>(known);

  ManifestArgument argument;
  argument.name = name.str();
  argument.type = kernel.getArgumentTypes()[i];
  argument.kind = writes ? ManifestArgument::Output : ManifestArgument::Input;
  if (auto view = dyn_cast<tile::ViewType>(argument.type)) {
    argument.shape = view.getShape().vec();
    argument.type = view.getElementType();
  } else {
    argument.kind = ManifestArgument::Scalar;
  }
  if (workspace) {
    argument.kind = ManifestArgument::Workspace;
    for (Attribute size : workspace) {
      if (auto integer = dyn_cast<IntegerAttr>(size)) {
        argument.sizes.push_back({-1, integer.getInt()});
        continue;
      }
      auto pair = dyn_cast<ArrayAttr>(size);
      auto from = pair && pair.size() == 2 ? dyn_cast<StringAttr>(pair[0]) : StringAttr();
      auto dim = from ? dyn_cast<IntegerAttr>(pair[1]) : IntegerAttr();
      int64_t index = dim ? manifest.find(from) : -1;
      if (index < 0 || dim.getInt() < 0 ||
          dim.getInt() >= static_cast<int64_t>(manifest.arguments[index].shape.size()))
        return kernel.emitError() << "the size " << size << " of workspace " << name
                                  << " names no dimension of an earlier argument";
      argument.sizes.push_back({index, dim.getInt()});
    }
  }
  if (auto dims = kernel.getArgAttrOfType<ArrayAttr>(i, TileDialect::kDimsAttr))
    for (Attribute dim : dims)
      argument.dims.push_back(isa<StringAttr>(dim) ? cast<StringAttr>(dim).str() : "");
  manifest.arguments.push_back(std::move(argument));
  return static_cast<unsigned>(manifest.arguments.size() - 1);
}

FailureOr<std::vector<Manifest>> fa::readManifests(ModuleOp module) {
  std::vector<Manifest> manifests;
  for (auto kernel : module.getOps<tile::FuncOp>()) {
    auto entry = kernel->getAttrOfType<StringAttr>(tile::TileDialect::kEntryAttr);
    StringRef name = entry ? entry.getValue() : kernel.getSymName();
    if (manifests.empty() || manifests.back().entry != name) {
      manifests.emplace_back();
      manifests.back().entry = name.str();
    }
    Manifest &manifest = manifests.back();
    ManifestKernel info;
    info.name = kernel.getSymName().str();
    info.grid = kernel.getGrid();
    for (unsigned i = 0; i < kernel.getNumLaunchArguments(); ++i) {
      FailureOr<unsigned> argument = bind(manifest, kernel, i);
      if (failed(argument))
        return failure();
      info.arguments.push_back(*argument);
    }
    if (auto pairs = kernel->getAttrOfType<ArrayAttr>(tile::TileDialect::kMultiplesAttr))
      for (Attribute pair : pairs)
        if (auto names = dyn_cast<ArrayAttr>(pair);
            names && names.size() == 2 && isa<StringAttr>(names[0]) && isa<StringAttr>(names[1]))
          manifest.multiples.push_back(
              {cast<StringAttr>(names[0]).str(), cast<StringAttr>(names[1]).str()});
    if (auto pairs = kernel->getAttrOfType<ArrayAttr>(tile::TileDialect::kLimitsAttr))
      for (Attribute pair : pairs)
        if (auto limit = dyn_cast<ArrayAttr>(pair);
            limit && limit.size() == 2 && isa<StringAttr>(limit[0]) && isa<IntegerAttr>(limit[1]))
          manifest.limits.push_back(
              {cast<StringAttr>(limit[0]).str(), cast<IntegerAttr>(limit[1]).getInt()});
    ArrayRef<int64_t> sizes = kernel.getSizes();
    for (size_t i = 0; i < sizes.size(); i += 2)
      info.symbols.push_back({info.arguments[sizes[i]], static_cast<unsigned>(sizes[i + 1])});
    manifest.kernels.push_back(std::move(info));
  }
  return manifests;
}
