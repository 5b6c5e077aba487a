//===- ManifestReader.cpp - reads manifests off tile.funcs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Manifest.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace mlir::fa;

static constexpr int64_t kThreadsPerWarp = 32;

SizeExpr SizeExpr::fromAffine(AffineExpr expr, ArrayRef<std::pair<unsigned, unsigned>> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return SizeExpr::constant(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return size(symbols[symbol.getPosition()].first, symbols[symbol.getPosition()].second);
  // A grid has no dimensions (func_c1), so what is left has two operands.
  auto operation = cast<AffineBinaryOpExpr>(expr);
  Kind kind = Add;
  switch (operation.getKind()) {
  case AffineExprKind::Mul:
    kind = Mul;
    break;
  case AffineExprKind::FloorDiv:
    kind = FloorDiv;
    break;
  case AffineExprKind::CeilDiv:
    kind = CeilDiv;
    break;
  case AffineExprKind::Mod:
    kind = Mod;
    break;
  default:
    break;
  }
  return binary(kind, fromAffine(operation.getLHS(), symbols),
                fromAffine(operation.getRHS(), symbols));
}

/// Bind argument `i` of a kernel to the entry's argument of its name, added where it is new, and
/// return that one's index.
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
  argument.kind = writes ? ManifestArgument::Output : ManifestArgument::Input;
  Type type = kernel.getArgumentTypes()[i];
  if (auto view = dyn_cast<tile::ViewType>(type)) {
    argument.shape = view.getShape().vec();
    argument.dtype = dtypeOf(view.getElementType());
  } else {
    bool tag = static_cast<bool>(kernel.getArgAttr(i, TileDialect::kLaunchEpochAttr));
    argument.kind = tag ? ManifestArgument::LaunchEpoch : ManifestArgument::Scalar;
    argument.dtype = dtypeOf(type);
  }
  if (workspace) {
    argument.kind = ManifestArgument::Workspace;
    for (Attribute size : workspace) {
      if (auto integer = dyn_cast<IntegerAttr>(size)) {
        argument.sizes.push_back({-1, integer.getInt()});
        continue;
      }
      auto parts = cast<ArrayAttr>(size);
      bool serves = true;
      // A dimension of an argument, as parts from `first` on name it.
      auto place = [&](size_t first) -> std::pair<int64_t, int64_t> {
        int64_t index = manifest.find(cast<StringAttr>(parts[first]));
        int64_t dim = cast<IntegerAttr>(parts[first + 1]).getInt();
        if (index >= 0 && dim >= 0 &&
            dim < static_cast<int64_t>(manifest.arguments[index].shape.size()))
          return {index, dim};
        serves = false;
        return {-1, 0};
      };
      ManifestArgument::SizeOf sizeOf{-1, 0};
      std::tie(sizeOf.argument, sizeOf.dim) = place(0);
      // A divisor, a multiple to round up to, and a size that is added as so many multiples.
      int64_t *by[] = {&sizeOf.divisor, &sizeOf.multiple};
      for (size_t k = 2; serves && k < std::min<size_t>(parts.size(), 4); ++k) {
        *by[k - 2] = cast<IntegerAttr>(parts[k]).getInt();
        serves &= *by[k - 2] >= 1;
      }
      if (serves && parts.size() == 6)
        std::tie(sizeOf.added, sizeOf.addedDim) = place(4);
      if (!serves)
        return kernel.emitError() << "the size " << size << " of workspace " << name
                                  << " names no dimension of an earlier argument";
      argument.sizes.push_back(sizeOf);
    }
  }
  if (auto dims = kernel.getArgAttrOfType<ArrayAttr>(i, TileDialect::kDimsAttr))
    for (Attribute dim : dims)
      argument.dims.push_back(cast<StringAttr>(dim).str());
  manifest.arguments.push_back(std::move(argument));
  return static_cast<unsigned>(manifest.arguments.size() - 1);
}

/// Return the parameter that argument `i` of a kernel, a tensor map of the entry's
/// argument `of`, becomes.
static FailureOr<ManifestParameter> makeTensorMap(const Manifest &manifest, tile::FuncOp kernel,
                                                  unsigned i, tile::TensorMapType map,
                                                  unsigned of) {
  auto refuse = [&](const llvm::Twine &reason) {
    return kernel.emitError() << "the tensor map of argument " << i << " " << reason;
  };
  int64_t rank = manifest.arguments[of].shape.size();
  auto dims = kernel.getArgAttrOfType<ArrayAttr>(i, tile::TileDialect::kMapDimsAttr);
  Builder b(kernel.getContext());
  bool vector = map.getShape().size() == 1;
  if (rank < 2 ||
      dims != (vector ? b.getI64ArrayAttr({rank - 1}) : b.getI64ArrayAttr({rank - 2, rank - 1})))
    return refuse("must run along the last dimension of its view or the last two, in this order");
  ManifestParameter parameter;
  parameter.kind = ManifestParameter::TensorMap;
  parameter.argument = of;
  parameter.rows = vector ? 1 : map.getShape()[0];
  parameter.columns = map.getShape().back();
  parameter.swizzle = vector ? 0 : map.getLayout().getBytes();
  parameter.slices = kernel.getArgAttr(i, tile::TileDialect::kMapSlicesAttr) != nullptr;
  if (std::string reason = checkTensorMap(parameter, manifest.arguments[of]); !reason.empty())
    return refuse(reason);
  return parameter;
}

/// Add what the launch arguments of a kernel become (the ABI in Manifest.h).
static LogicalResult addParameters(const Manifest &manifest, ManifestKernel &info,
                                   tile::FuncOp kernel) {
  for (auto [i, argument] : llvm::enumerate(info.arguments)) {
    if (auto map = dyn_cast<tile::TensorMapType>(kernel.getArgumentTypes()[i])) {
      FailureOr<ManifestParameter> parameter = makeTensorMap(manifest, kernel, i, map, argument);
      if (failed(parameter))
        return failure();
      info.parameters.push_back(*parameter);
      continue;
    }
    auto view = dyn_cast<tile::ViewType>(kernel.getArgumentTypes()[i]);
    if (!view) {
      info.parameters.push_back({ManifestParameter::Scalar, argument, 0});
      continue;
    }
    info.parameters.push_back({ManifestParameter::Pointer, argument, 0});
    for (auto [d, size] : llvm::enumerate(view.getShape()))
      if (ShapedType::isDynamic(size))
        info.parameters.push_back({ManifestParameter::Size, argument, static_cast<unsigned>(d)});
    for (unsigned d = 0; d + 1 < view.getShape().size(); ++d)
      info.parameters.push_back({ManifestParameter::Stride, argument, d});
  }
  return success();
}

/// Add what a kernel relies on of its views, as guards of the variant. A launch itself aligns
/// workspaces.
static void addGuards(Manifest &manifest, const ManifestKernel &info, tile::FuncOp kernel) {
  ManifestVariant &variant = manifest.variants.front();
  for (auto [i, argument] : llvm::enumerate(info.arguments)) {
    auto align = kernel.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kAlignAttr);
    bool own = manifest.arguments[argument].kind == ManifestArgument::Workspace && align &&
               align.getInt() <= Manifest::kWorkspaceRowBytes;
    if (!align || align.getInt() <= 1 || own)
      continue;
    auto guard = llvm::find_if(variant.guards, [&](const ManifestGuard &guard) {
      return guard.alignment == align.getInt();
    });
    if (guard == variant.guards.end()) {
      variant.guards.push_back({align.getInt(), {}});
      guard = std::prev(variant.guards.end());
    }
    if (!llvm::is_contained(guard->arguments, argument))
      guard->arguments.push_back(argument);
  }
}

FailureOr<std::vector<Manifest>> fa::readManifests(ModuleOp module) {
  std::vector<Manifest> manifests;
  for (auto kernel : module.getOps<tile::FuncOp>()) {
    auto entry = kernel->getAttrOfType<StringAttr>(tile::TileDialect::kEntryAttr);
    StringRef name = entry ? entry.getValue() : kernel.getSymName();
    if (manifests.empty() || manifests.back().entry != name) {
      manifests.emplace_back();
      manifests.back().entry = name.str();
      manifests.back().variants.emplace_back();
    }
    Manifest &manifest = manifests.back();
    ManifestKernel info;
    info.name = kernel.getSymName().str();
    for (unsigned i = 0; i < kernel.getNumLaunchArguments(); ++i) {
      // A tensor map stands for its view, which the verifier has seen.
      unsigned from = i;
      if (auto of = kernel.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kMapOfAttr))
        from = of.getInt();
      FailureOr<unsigned> argument = bind(manifest, kernel, from);
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
    SmallVector<std::pair<unsigned, unsigned>> symbols;
    ArrayRef<int64_t> sizes = kernel.getSizes();
    for (size_t i = 0; i < sizes.size(); i += 2)
      symbols.push_back({info.arguments[sizes[i]], static_cast<unsigned>(sizes[i + 1])});
    for (AffineExpr extent : kernel.getGrid().getResults())
      info.grid.push_back(SizeExpr::fromAffine(extent, symbols));
    if (failed(addParameters(manifest, info, kernel)))
      return failure();
    addGuards(manifest, info, kernel);
    if (auto warps = kernel->getAttrOfType<IntegerAttr>(tile::TileDialect::kWarpsAttr))
      info.threads = kThreadsPerWarp * warps.getInt();
    if (auto bytes = kernel->getAttrOfType<IntegerAttr>(tile::TileDialect::kSharedBytesAttr))
      info.sharedBytes = bytes.getInt();
    if (auto blocks = kernel->getAttrOfType<IntegerAttr>(tile::TileDialect::kBlocksPerSMAttr))
      info.blocksPerSM = blocks.getInt();
    info.dependent = kernel->hasAttr(tile::TileDialect::kDependentAttr);
    manifest.variants.front().kernels.push_back(std::move(info));
  }
  return manifests;
}
