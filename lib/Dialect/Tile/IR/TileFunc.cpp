//===- TileFunc.cpp - tile.func: syntax and verifier -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Kernels.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

using namespace mlir;
using namespace mlir::tile;

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, TypeRange arguments,
                   AffineMap grid, ArrayRef<int64_t> sizes) {
  SmallVector<Type> types(arguments);
  types.append(grid.getNumResults(), builder.getIndexType());
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(types, {})));
  state.addAttribute(getGridAttrName(state.name), AffineMapAttr::get(grid));
  state.addAttribute(getSizesAttrName(state.name), builder.getDenseI64ArrayAttr(sizes));
  Region *body = state.addRegion();
  body->emplaceBlock().addArguments(types, SmallVector<Location>(types.size(), state.location));
}

int64_t FuncOp::getNumWarps() {
  auto warps = (*this)->getAttrOfType<IntegerAttr>(TileDialect::kWarpsAttr);
  return warps ? warps.getInt() : kWarpsOfGroup;
}

int64_t FuncOp::getMinBlocksPerSM() {
  auto blocks = (*this)->getAttrOfType<IntegerAttr>(TileDialect::kMinBlocksPerSMAttr);
  return blocks ? blocks.getInt() : 1;
}

int64_t FuncOp::getSharedLimit(int64_t alone) {
  return alone > 0 ? shareMemory(alone, getMinBlocksPerSM()) : alone;
}

FuncOp FuncOp::getNextKernel() {
  auto next = dyn_cast_or_null<FuncOp>((*this)->getNextNode());
  Attribute entry = (*this)->getAttr(TileDialect::kEntryAttr);
  return next && entry && next->getAttr(TileDialect::kEntryAttr) == entry ? next : FuncOp();
}

std::pair<Block *, Block::iterator> tile::endOf(FuncOp func) {
  Operation *end = func.getBody().front().getTerminator();
  auto roles = dyn_cast_or_null<RolesOp>(end->getPrevNode());
  if (!roles)
    return {end->getBlock(), end->getIterator()};
  Block &role = (*roles.getBody().front().getOps<RoleOp>().begin()).getBody().front();
  return {&role, role.mightHaveTerminator() ? role.getTerminator()->getIterator() : role.end()};
}

bool tile::runsBeside(FuncOp func) {
  auto [block, end] = endOf(func);
  return func->hasAttr(TileDialect::kDependentAttr) && end != block->begin() &&
         isa<KernelWaitOp>(*std::prev(end));
}

StringRef FuncOp::getDimName(DictionaryAttr attributes, int64_t dim) {
  auto names = attributes ? attributes.getAs<ArrayAttr>(TileDialect::kDimsAttr) : ArrayAttr();
  return names ? cast<StringAttr>(names[dim]).getValue() : StringRef();
}

StringRef FuncOp::getDimName(unsigned argument, int64_t dim) {
  return getDimName(function_interface_impl::getArgAttrDict(*this, argument), dim);
}

bool FuncOp::isInput(unsigned argument) {
  Attribute name = getArgAttr(argument, TileDialect::kNameAttr),
            entry = (*this)->getAttr(TileDialect::kEntryAttr);
  if (!name || getArgAttr(argument, TileDialect::kWorkspaceAttr))
    return false;
  auto writes = [&](FuncOp kernel) {
    return kernel->getAttr(TileDialect::kEntryAttr) == entry &&
           llvm::any_of(llvm::seq(kernel.getNumLaunchArguments()), [&](unsigned i) {
             return kernel.getArgAttr(i, TileDialect::kNameAttr) == name &&
                    kernel.getArgAttr(i, TileDialect::kOutputAttr);
           });
  };
  return llvm::none_of((*this)->getBlock()->getOps<FuncOp>(), writes);
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &state) {
  Builder &builder = parser.getBuilder();
  StringAttr name;
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseSymbolName(name, getSymNameAttrName(state.name), state.attributes) ||
      parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true,
                               /*allowAttrs=*/true))
    return failure();

  AffineMapAttr grid;
  SmallVector<int64_t> sizes;
  if (parser.parseKeyword("grid") ||
      parser.parseAttribute(grid, getGridAttrName(state.name), state.attributes) ||
      parser.parseKeyword("sizes") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(sizes.emplace_back()); }))
    return failure();
  state.addAttribute(getSizesAttrName(state.name), builder.getDenseI64ArrayAttr(sizes));

  SmallVector<Type> types;
  SmallVector<Attribute> argAttrs;
  bool anyAttrs = false;
  for (OpAsmParser::Argument &argument : arguments) {
    types.push_back(argument.type);
    anyAttrs |= argument.attrs && !argument.attrs.empty();
    argAttrs.push_back(argument.attrs ? argument.attrs : builder.getDictionaryAttr({}));
  }
  state.addAttribute(getFunctionTypeAttrName(state.name),
                     TypeAttr::get(builder.getFunctionType(types, {})));
  if (anyAttrs)
    state.addAttribute(getArgAttrsAttrName(state.name), builder.getArrayAttr(argAttrs));
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parser.parseRegion(*state.addRegion(), arguments);
}

void FuncOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getArguments(), printer, [&](BlockArgument argument) {
    DictionaryAttr attrs = function_interface_impl::getArgAttrDict(*this, argument.getArgNumber());
    printer.printRegionArgument(argument, attrs ? attrs.getValue() : ArrayRef<NamedAttribute>());
  });
  printer << ") grid ";
  printer.printAttribute(getGridAttr());
  printer << " sizes [";
  llvm::interleaveComma(getSizes(), printer);
  printer << ']';
  printer.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(), {getSymNameAttrName(), getFunctionTypeAttrName(), getGridAttrName(),
                            getSizesAttrName(), getArgAttrsAttrName(), getResAttrsAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

/// (C6)
static LogicalResult verifyTensorMap(FuncOp func, unsigned argument) {
  auto map = cast<TensorMapType>(func.getArgumentTypes()[argument]);
  auto of = func.getArgAttrOfType<IntegerAttr>(argument, TileDialect::kMapOfAttr);
  auto dims = func.getArgAttrOfType<ArrayAttr>(argument, TileDialect::kMapDimsAttr);
  if (!of || !dims)
    return func.emitOpError() << "(func_c6) argument " << argument
                              << " is a tensor map, which needs " << TileDialect::kMapOfAttr
                              << " and " << TileDialect::kMapDimsAttr;
  APInt number = of.getValue();
  ViewType view;
  if (number.isNonNegative() && number.ult(func.getNumLaunchArguments()))
    view = dyn_cast<ViewType>(func.getArgumentTypes()[number.getZExtValue()]);
  if (!view || view.getElementType() != map.getElementType())
    return func.emitOpError() << "(func_c6) " << TileDialect::kMapOfAttr << " of argument "
                              << argument << " must be the number of a view of "
                              << map.getElementType() << ", got " << of;
  SmallVector<int64_t> seen;
  for (Attribute attr : dims) {
    auto dim = dyn_cast<IntegerAttr>(attr);
    if (dim && dim.getValue().isNonNegative() && dim.getValue().ult(view.getRank()) &&
        !llvm::is_contained(seen, dim.getInt()))
      seen.push_back(dim.getInt());
  }
  if (seen.size() != dims.size() || seen.size() != map.getShape().size())
    return func.emitOpError() << "(func_c6) " << TileDialect::kMapDimsAttr << " of argument "
                              << argument << " must be distinct dimensions of " << view
                              << ", one per dimension of " << map << ", got " << dims;
  Attribute slices = func.getArgAttr(argument, TileDialect::kMapSlicesAttr);
  if (slices && (!isa<UnitAttr>(slices) || dims.size() != 2))
    return func.emitOpError() << "(func_c6) " << TileDialect::kMapSlicesAttr << " of argument "
                              << argument << " has no value and is of a map of two dimensions, got "
                              << slices << " of " << map;
  return success();
}

/// (C14)
static LogicalResult verifyTileSizes(FuncOp func) {
  constexpr int64_t kMost = 1 << 24;
  WalkResult walk = func.getBody().walk([&](Operation *op) -> WalkResult {
    for (Type type : op->getResultTypes()) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (!tile)
        continue;
      int64_t elements = 1;
      for (int64_t size : tile.getShape())
        if (!ShapedType::isDynamic(size) && size > 0)
          elements = size > kMost / elements ? kMost + 1 : elements * size;
      if (elements > kMost)
        return op->emitError() << "(func_c14) a tile has at most " << kMost << " elements, got "
                               << tile << "; let more work tiles of the grid share them";
    }
    return success();
  });
  return failure(walk.wasInterrupted());
}

/// Return whether a workspace's size is a number, or is computed of dimensions of other arguments.
static bool isSizeOfWorkspace(Attribute size) {
  auto parts = dyn_cast<ArrayAttr>(size);
  if (!parts)
    return isa<IntegerAttr>(size);
  constexpr size_t kOther = 4;
  return llvm::is_contained({2, 3, 4, 6}, static_cast<int>(parts.size())) &&
         llvm::all_of(llvm::enumerate(parts), [](auto part) {
           bool name = part.index() % kOther == 0;
           return name ? isa<StringAttr>(part.value()) : isa<IntegerAttr>(part.value());
         });
}

/// Return whether an attribute is a number from 1 to `most`, of any width.
static bool isCount(Attribute attr, int64_t most) {
  auto number = dyn_cast<IntegerAttr>(attr);
  return number && number.getValue().sge(1) && number.getValue().sle(most);
}

LogicalResult FuncOp::verify() {
  AffineMap map = getGrid();
  ArrayRef<int64_t> sizes = getSizes();
  if (getBody().empty())
    return emitOpError("must have a body");
  if (!getBody().hasOneBlock())
    return emitOpError() << "(func_c7) has one block, got " << getBody().getBlocks().size()
                         << "; use scf.if and scf.for";
  if (map.getNumDims() != 0 || sizes.size() != 2 * map.getNumSymbols())
    return emitOpError()
           << "(func_c1) grid takes no dimensions and one symbol per pair of sizes, got "
           << map.getNumDims() << " dimensions, " << map.getNumSymbols() << " symbols and "
           << sizes.size() << " numbers in sizes";
  if (getNumArguments() < map.getNumResults())
    return emitOpError() << "(func_c1) needs one work tile id per result of grid, "
                         << map.getNumResults();
  for (size_t i = 0; i < sizes.size(); i += 2) {
    int64_t argument = sizes[i], dim = sizes[i + 1];
    if (argument < 0 || argument >= getNumLaunchArguments())
      return emitOpError() << "(func_c2) sizes names argument " << argument << " of "
                           << getNumLaunchArguments();
    auto view = dyn_cast<ViewType>(getArgumentTypes()[argument]);
    if (!view || dim < 0 || dim >= view.getRank())
      return emitOpError() << "(func_c2) argument " << argument << " of type "
                           << getArgumentTypes()[argument] << " has no dimension " << dim;
  }
  for (auto [i, type] : llvm::enumerate(getArgumentTypes())) {
    bool id = i >= getNumLaunchArguments();
    if (id ? !type.isIndex() : !(isa<ViewType, TensorMapType>(type) || type.isIntOrIndexOrFloat()))
      return emitOpError() << "(func_c3) argument " << i << " must be "
                           << (id ? "a work tile id of type index"
                                  : "a view, an integer, index, a float or a tensor map")
                           << ", got " << type;
    if (isa<TensorMapType>(type) && failed(verifyTensorMap(*this, i)))
      return failure();
    constexpr int64_t kMostAlign = 4096;
    Attribute align = getArgAttr(i, TileDialect::kAlignAttr);
    auto bytes = dyn_cast_or_null<IntegerAttr>(align);
    if (align && !(bytes && bytes.getValue().isStrictlyPositive() &&
                   bytes.getValue().isPowerOf2() && bytes.getValue().ule(kMostAlign)))
      return emitOpError() << "(func_c8) " << TileDialect::kAlignAttr << " of argument " << i
                           << " must be a power of two from 1 to " << kMostAlign << ", got "
                           << align;
    auto view = dyn_cast<ViewType>(type);
    Attribute dims = getArgAttr(i, TileDialect::kDimsAttr);
    auto names = dyn_cast_or_null<ArrayAttr>(dims);
    if (dims && !(names && view && static_cast<int64_t>(names.size()) == view.getRank() &&
                  llvm::all_of(names, [](Attribute name) { return isa<StringAttr>(name); })))
      return emitOpError() << "(func_c13) " << TileDialect::kDimsAttr << " of argument " << i
                           << " has a name for each dimension of a view, got " << dims << " of "
                           << type;
    Attribute workspace = getArgAttr(i, TileDialect::kWorkspaceAttr);
    if (auto sizes = dyn_cast_or_null<ArrayAttr>(workspace);
        workspace && !(sizes && view && llvm::all_of(sizes, isSizeOfWorkspace)))
      return emitOpError() << "(func_c16) " << TileDialect::kWorkspaceAttr << " of argument " << i
                           << " has sizes of a view, each an integer or [name, dimension] with "
                              "divisor, multiple and what is added, got "
                           << workspace << " of " << type;
    if (getArgAttr(i, TileDialect::kLaunchEpochAttr) && !type.isInteger(64))
      return emitOpError() << "(func_c10) " << TileDialect::kLaunchEpochAttr
                           << " is a number of type 'i64', got argument " << i << " of " << type;
  }
  constexpr int64_t kMostWarps = 32, kMostBlocks = 32;
  for (StringRef name : {TileDialect::kWarpsAttr, TileDialect::kBesideAttr})
    if (Attribute warps = (*this)->getAttr(name); warps && !isCount(warps, kMostWarps))
      return emitOpError() << "(func_c15) " << name << " must be an integer from 1 to "
                           << kMostWarps << ", got " << warps;
  if (Attribute blocks = (*this)->getAttr(TileDialect::kBlocksPerSMAttr);
      blocks && !(isCount(blocks, kMostBlocks) && map.getNumResults() == 1))
    return emitOpError() << "(func_c9) " << TileDialect::kBlocksPerSMAttr << " is from 1 to "
                         << kMostBlocks << ", on a grid of one dimension, got " << blocks << " and "
                         << map.getNumResults();
  if (Attribute blocks = (*this)->getAttr(TileDialect::kMinBlocksPerSMAttr);
      blocks && !isCount(blocks, kMostBlocks))
    return emitOpError() << "(func_c12) " << TileDialect::kMinBlocksPerSMAttr << " is from 1 to "
                         << kMostBlocks << ", got " << blocks;
  if (Attribute dependent = (*this)->getAttr(TileDialect::kDependentAttr);
      dependent && !isa<UnitAttr>(dependent))
    return emitOpError() << "(func_c11) " << TileDialect::kDependentAttr << " has no value, got "
                         << dependent;
  if (Attribute other = (*this)->getAttr(TileDialect::kDisjointAttr);
      other && !isa<StringAttr>(other))
    return emitOpError() << TileDialect::kDisjointAttr << " is the name of a kernel, got " << other;
  if (!getResultTypes().empty())
    return emitOpError("(func_c4) returns nothing; store to a view instead");
  bool divides = true;
  map.walkExprs([&](AffineExpr expr) {
    auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!binary || expr.getKind() == AffineExprKind::Add || expr.getKind() == AffineExprKind::Mul)
      return;
    auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    divides &= divisor && divisor.getValue() > 0;
  });
  if (!divides)
    return emitOpError("(func_c5) grid must divide by positive constants only, got ")
           << AffineMapAttr::get(map);
  return verifyTileSizes(*this);
}
