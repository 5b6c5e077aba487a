//===- FAToTile.cpp - blocks as kernels -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For every entry (a public func.func that holds fa.map_blocks):
//
//   1. each fa.map_blocks becomes a tile.func whose arguments are the entry's
//      arguments that it uses, the results of earlier kernels that it uses, and
//      views of its own results;
//   2. a result that the entry returns is an output; one that it does not
//      return is a workspace, sized as `fa.sizes` says; what a result begins as is in its memory;
//   3. the ids of a work tile give the block arguments: an id, or an id times a block's size;
//   4. numbers of type index are passed and loaded as i64, which every target has.
//
// Requires: fa-tile-attention. Rejects: ops between the fa.map_blocks that are
// not pure, results that no fa.map_blocks computes, arguments without fa.name.
//
//===----------------------------------------------------------------------===//

#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Names.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTFATOTILE
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

/// Return a type with i64 for index.
static Type withI64(Type type) {
  Type number = IntegerType::get(type.getContext(), 64);
  if (type.isIndex())
    return number;
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isIndex() ? Type(tensor.clone(number)) : type;
}

/// Return the type of a kernel's argument for a value of the entry: a view, or a scalar.
static Type parameterType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(withI64(type));
  return tensor ? tile::ViewType::get(tensor) : withI64(type);
}

/// Return the argument as what the entry has it as.
static Value asWritten(OpBuilder &b, Value argument, Type written) {
  return written.isIndex() ? arith::IndexCastOp::create(b, argument.getLoc(), written, argument)
                           : argument;
}

/// Let loads of index, which the source does not hold, load i64.
static void loadI64(tile::FuncOp kernel) {
  kernel.walk([](Operation *op) {
    if (!isa<tile::LoadOp, tile::GatherOp>(op))
      return;
    Value loaded = op->getResult(0);
    Type written = loaded.getType();
    if (withI64(written) == written)
      return;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    loaded.setType(withI64(written));
    auto number = arith::IndexCastOp::create(b, op->getLoc(), written, loaded);
    loaded.replaceAllUsesExcept(number, number);
  });
}

namespace {

/// One entry on its way to kernels.
class Entry {
public:
  Entry(func::FuncOp function) : function(function), b(function) {}
  LogicalResult convert();

private:
  LogicalResult nameArguments();
  LogicalResult nameResults();
  LogicalResult convert(MapBlocksOp block);
  LogicalResult collect(Value value, llvm::SetVector<Value> &inputs,
                        llvm::SetVector<Operation *> &pure);
  FailureOr<Attribute> sizeExpressions(MapBlocksOp block, unsigned result);
  /// Return the result in whose memory a value is: its own, or one that begins as the value.
  Value memoryOf(Value value) {
    auto user = value.hasOneUse() ? dyn_cast<MapBlocksOp>(*value.user_begin()) : MapBlocksOp();
    if (user)
      for (auto [i, init] : llvm::enumerate(user.getInits()))
        if (init == value)
          return memoryOf(user.getResultOfInit(i));
    return value;
  }
  bool isOutput(Value value) { return outputs.contains(memoryOf(value)); }

  func::FuncOp function;
  OpBuilder b;
  /// The names of arguments and of results of fa.map_blocks, and of their sizes.
  DenseMap<Value, StringAttr> names;
  DenseMap<Value, Attribute> dims;
  llvm::SetVector<Value> outputs;
};

} // namespace

LogicalResult Entry::nameArguments() {
  for (auto [i, argument] : llvm::enumerate(function.getArguments())) {
    auto name = function.getArgAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    if (!name)
      return function.emitError() << "argument " << i << " of entry @"
                                  << escaped(function.getSymName())
                                  << " has no name; add {fa.name = \"...\"}";
    for (auto &[other, taken] : names)
      if (taken == name)
        return function.emitError() << "two arguments of entry @" << escaped(function.getSymName())
                                    << " have the name " << name << "; names must differ";
    names[argument] = name;
    dims[argument] = function.getArgAttr(i, FADialect::kDimsAttr);
  }
  return success();
}

LogicalResult Entry::nameResults() {
  Operation *end = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    if (!value.getDefiningOp<MapBlocksOp>())
      return function.emitError() << "result " << i << " of entry @"
                                  << escaped(function.getSymName())
                                  << " must be a result of the attention, not an argument";
    if (!outputs.insert(value))
      return function.emitError() << "entry @" << escaped(function.getSymName())
                                  << " returns one value twice";
    auto name = function.getResultAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    if (!name) {
      int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
      bool inRow = static_cast<bool>(value.getDefiningOp<MapBlocksOp>().getStarts());
      name = b.getStringAttr(rank == (inRow ? 3 : 4) ? "o" : "lse");
    }
    for (auto &[other, taken] : names)
      if (taken == name)
        return function.emitError()
               << "result " << i << " of entry @" << escaped(function.getSymName())
               << " has the name " << name << ", which is taken; name it by "
               << "{fa.name = \"...\"}";
    names[value] = name;
    dims[value] = function.getResultAttr(i, FADialect::kDimsAttr);
  }
  return success();
}

/// Collect what a kernel needs from outside: arguments and results of earlier kernels,
/// and pure ops (constants and sizes) to compute again inside, in order.
LogicalResult Entry::collect(Value value, llvm::SetVector<Value> &inputs,
                             llvm::SetVector<Operation *> &pure) {
  if (names.contains(value)) {
    inputs.insert(value);
    return success();
  }
  Operation *op = value.getDefiningOp();
  if (!op || !isPure(op) || op->getNumRegions() != 0)
    return (op ? op : function)->emitError()
           << "an entry holds one fa.attention; this op cannot stand beside it";
  for (Value operand : op->getOperands())
    if (failed(collect(operand, inputs, pure)))
      return failure();
  pure.insert(op);
  return success();
}

/// Return the argument of the entry and the dimension that a size of a result comes from; nothing
/// where `fa.sizes` does not say it.
static std::optional<std::pair<unsigned, int64_t>> sourceOf(MapBlocksOp block, unsigned result,
                                                            unsigned dim) {
  auto all = block->getAttrOfType<ArrayAttr>(FADialect::kSizesAttr);
  auto pairs =
      all && result < all.size() ? dyn_cast<DenseI64ArrayAttr>(all[result]) : DenseI64ArrayAttr();
  auto function = block->getParentOfType<func::FuncOp>();
  if (!pairs || pairs.size() < 2 * (dim + 1))
    return std::nullopt;
  int64_t argument = pairs[2 * dim], of = pairs[2 * dim + 1];
  if (argument < 0 || argument >= function.getNumArguments())
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(function.getArgument(argument).getType());
  if (!type || of < 0 || of >= type.getRank())
    return std::nullopt;
  return std::pair(static_cast<unsigned>(argument), of);
}

/// Return what a size of a result is divided by: 1, where `fa.divisors` does not say it.
static int64_t divisorOf(MapBlocksOp block, unsigned result, unsigned dim) {
  auto all = block->getAttrOfType<ArrayAttr>(FADialect::kDivisorsAttr);
  auto divisors =
      all && result < all.size() ? dyn_cast<DenseI64ArrayAttr>(all[result]) : DenseI64ArrayAttr();
  int64_t divisor = divisors && dim < divisors.size() ? divisors[dim] : 1;
  return divisor == FADialect::kByBlock ? block.getBlocks().back() : divisor;
}

/// Return the starts, an argument of the entry, by which a size of a result has a place for each
/// sequence, and what these are multiples of; nothing where `fa.places` does not say it.
static std::optional<std::pair<unsigned, int64_t>> placesOf(MapBlocksOp block, unsigned result,
                                                            unsigned dim) {
  auto all = block->getAttrOfType<ArrayAttr>(FADialect::kPlacesAttr);
  auto places =
      all && result < all.size() ? dyn_cast<DenseI64ArrayAttr>(all[result]) : DenseI64ArrayAttr();
  auto function = block->getParentOfType<func::FuncOp>();
  if (!places || places.size() != 3 || places[0] != int64_t(dim) || places[1] < 0 ||
      places[1] >= function.getNumArguments() || places[2] < 1)
    return std::nullopt;
  return std::pair(static_cast<unsigned>(places[1]), places[2]);
}

/// Return the sizes of a workspace: [name, dimension] of an argument for each `?`, with a divisor
/// where there is one, and places of sequences, a number for each static size.
FailureOr<Attribute> Entry::sizeExpressions(MapBlocksOp block, unsigned result) {
  auto type = cast<RankedTensorType>(block.getResult(result).getType());
  SmallVector<Attribute> sizes;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    if (!type.isDynamicDim(d)) {
      sizes.push_back(b.getI64IntegerAttr(type.getDimSize(d)));
      continue;
    }
    auto source = sourceOf(block, result, d);
    if (!source)
      return block.emitError() << "dimension " << d << " of result " << result
                               << " is unknown, and no argument of the entry has it; "
                               << FADialect::kSizesAttr
                               << " names an argument and a dimension for each";
    SmallVector<Attribute> parts{names.lookup(function.getArgument(source->first)),
                                 b.getI64IntegerAttr(source->second)};
    int64_t divisor = divisorOf(block, result, d);
    auto places = placesOf(block, result, d);
    if (divisor != 1 || places)
      parts.push_back(b.getI64IntegerAttr(divisor));
    if (places)
      parts.append({b.getI64IntegerAttr(places->second),
                    names.lookup(function.getArgument(places->first)), b.getI64IntegerAttr(0)});
    sizes.push_back(b.getArrayAttr(parts));
  }
  return Attribute(b.getArrayAttr(sizes));
}

/// Return the grid of a kernel, and the sizes of its arguments that it takes.
static AffineMap gridOf(MapBlocksOp block, ArrayRef<Value> arguments,
                        SmallVectorImpl<int64_t> &sizes) {
  MLIRContext *context = block.getContext();
  SmallVector<AffineExpr> extents;
  for (auto [i, size] : llvm::enumerate(block.getBlocks())) {
    auto [over, dim] = block.getRange(i);
    extents.push_back(getAffineSymbolExpr(i, context).ceilDiv(size));
    sizes.append({llvm::find(arguments, over) - arguments.begin(), dim});
  }
  // Sequences in a row have a block more than this at most, each: the last start is none's.
  if (Value starts = block.getStarts()) {
    sizes.append({llvm::find(arguments, starts) - arguments.begin(), 0});
    extents.back() = extents.back() + getAffineSymbolExpr(2, context);
  }
  if (extents.empty())
    extents.push_back(getAffineConstantExpr(1, context));
  return AffineMap::get(0, sizes.size() / 2, extents, context);
}

LogicalResult Entry::convert(MapBlocksOp block) {
  Location loc = block.getLoc();
  llvm::SetVector<Value> inputs;
  llvm::SetVector<Operation *> pure;
  for (Value over : block.getOver())
    if (!names.contains(over))
      return block.emitError("blocks go over arguments of the entry, or results of other blocks; "
                             "pass what is computed before to another entry");
  inputs.insert_range(block.getOver());
  if (Value starts = block.getStarts(); starts && failed(collect(starts, inputs, pure)))
    return failure();
  WalkResult walk = block->walk([&](Operation *op) {
    for (Value operand : op->getOperands()) {
      Region *region = operand.getParentRegion();
      if (!block->isAncestor(region->getParentOp()) && failed(collect(operand, inputs, pure)))
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  for (Value init : block.getInits())
    inputs.remove(init);

  // The sizes of workspaces may need an argument that nothing in the block reads.
  auto addSources = [&](OpResult result) {
    auto type = cast<RankedTensorType>(result.getType());
    auto producer = result.getDefiningOp<MapBlocksOp>();
    unsigned number = result.getResultNumber();
    for (int64_t d = 0; d < type.getRank(); ++d)
      for (auto from : {sourceOf(producer, number, d), placesOf(producer, number, d)})
        if (from && type.isDynamicDim(d))
          inputs.insert(function.getArgument(from->first));
  };
  for (Value value : llvm::to_vector(inputs))
    if (auto result = dyn_cast<OpResult>(value); result && !isOutput(value))
      addSources(result);
  for (OpResult result : block->getResults())
    if (!isOutput(result))
      addSources(result);

  // Arguments in the entry's order, then results of earlier kernels, then own results.
  SmallVector<Value> ordered;
  for (BlockArgument argument : function.getArguments())
    if (inputs.contains(argument))
      ordered.push_back(argument);
  for (Value value : inputs)
    if (!isa<BlockArgument>(value))
      ordered.push_back(value);

  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto add = [&](Value value, Type type, Attribute workspace, bool writes) {
    NamedAttrList list;
    list.set(tile::TileDialect::kNameAttr, names.lookup(value));
    if (writes)
      list.set(tile::TileDialect::kOutputAttr, b.getUnitAttr());
    if (Attribute sizes = dims.lookup(memoryOf(value)))
      list.set(tile::TileDialect::kDimsAttr, sizes);
    if (workspace)
      list.set(tile::TileDialect::kWorkspaceAttr, workspace);
    types.push_back(type);
    attributes.push_back(list.getDictionary(b.getContext()));
  };
  auto workspaceOf = [&](Value value) -> FailureOr<Attribute> {
    auto producer = value.getDefiningOp<MapBlocksOp>();
    if (!producer || isOutput(value))
      return Attribute();
    return sizeExpressions(producer, cast<OpResult>(value).getResultNumber());
  };
  for (Value value : ordered) {
    FailureOr<Attribute> workspace = workspaceOf(value);
    if (failed(workspace))
      return failure();
    add(value, parameterType(value.getType()), *workspace, /*writes=*/false);
  }
  unsigned workspaces = 0;
  for (OpResult result : block.getResults()) {
    Value memory = memoryOf(result);
    if (!names.contains(memory)) {
      names[memory] =
          b.getStringAttr(block.getKernel() + "_ws" + (workspaces ? Twine(workspaces) : Twine()));
      ++workspaces;
    }
    names[result] = names.lookup(memory);
    FailureOr<Attribute> workspace = workspaceOf(result);
    if (failed(workspace))
      return failure();
    add(result, parameterType(result.getType()), *workspace, /*writes=*/true);
  }

  SmallVector<int64_t> sizes;
  AffineMap grid = gridOf(block, ordered, sizes);
  b.setInsertionPoint(function);
  auto kernel = tile::FuncOp::create(b, loc, block.getKernel(), types, grid, sizes);
  kernel->setAttr(tile::TileDialect::kEntryAttr, b.getStringAttr(function.getSymName()));
  kernel->setAttr(tile::TileDialect::kMultiplesAttr,
                  b.getArrayAttr({b.getStrArrayAttr({"Hq", "Hk"})}));
  if (Attribute other = block->getAttr(FADialect::kDisjointAttr))
    kernel->setAttr(tile::TileDialect::kDisjointAttr, other);
  auto tiles = block->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr);
  if (!tiles)
    tiles = function->getAttrOfType<DictionaryAttr>(FADialect::kTilesAttr);
  if (tiles)
    for (auto [name, attr] : {std::pair("warps", tile::TileDialect::kWarpsAttr),
                              {"beside", tile::TileDialect::kBesideAttr},
                              {"roles", tile::TileDialect::kComputeRolesAttr},
                              {"blocks", tile::TileDialect::kMinBlocksPerSMAttr}})
      if (auto number = tiles.getAs<IntegerAttr>(name))
        kernel->setAttr(attr, number);
  attributes.append(kernel.getNumGridDims(), b.getDictionaryAttr({}));
  kernel.setArgAttrsAttr(b.getArrayAttr(attributes));

  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToEnd(&kernel.getBody().front());
  IRMapping mapping;
  for (auto [i, value] : llvm::enumerate(ordered))
    mapping.map(value, asWritten(b, named(kernel.getArgument(i), names.lookup(value).getValue()),
                                 value.getType()));
  for (OpResult result : block.getResults())
    mapping.map(block.getResultView(result.getResultNumber()),
                named(kernel.getArgument(ordered.size() + result.getResultNumber()),
                      names.lookup(result).getValue()));
  for (Operation *op : pure)
    b.clone(*op, mapping);
  for (unsigned i = 0; i < block.getNumAxes(); ++i) {
    StringRef name = positionName(block.getAxis(i));
    Value id = kernel.getInstanceId(i);
    int64_t size = block.getBlocks()[i];
    if (block.getStarts() && isCut(block.getAxis(i)))
      name = "block";
    else if (size != 1)
      id = arith::MulIOp::create(b, loc, named(id, "block"),
                                 arith::ConstantIndexOp::create(b, loc, size));
    mapping.map(block.getBody()->getArgument(i), named(id, name));
  }
  for (Operation &op : block.getBody()->without_terminator())
    b.clone(op, mapping);
  tile::ReturnOp::create(b, loc);
  kernel.walk([](tile::SliceOp slice) {
    if (auto tensor = dyn_cast<RankedTensorType>(slice.getType()))
      slice.getResult().setType(parameterType(tensor));
  });
  loadI64(kernel);

  // The counter of the generator has 12 bits for the head, 20 for the batch.
  bool random = holds<tile::RandomBitsOp>(kernel);
  if (random)
    kernel->setAttr(
        tile::TileDialect::kLimitsAttr,
        b.getArrayAttr({b.getArrayAttr({b.getStringAttr("Hq"), b.getI64IntegerAttr(1 << 12)}),
                        b.getArrayAttr({b.getStringAttr("B"), b.getI64IntegerAttr(1 << 20)})}));

  // Sizes of views: tensor.dim on a view argument is not valid outside of this pass.
  SmallVector<tensor::DimOp> dims;
  kernel->walk([&](tensor::DimOp dim) { dims.push_back(dim); });
  for (tensor::DimOp dim : dims) {
    std::optional<int64_t> index = dim.getConstantIndex();
    if (!index)
      return dim.emitError("the dimension must be a constant");
    b.setInsertionPoint(dim);
    dim.replaceAllUsesWith(
        tile::DimOp::create(b, dim.getLoc(), b.getIndexType(), dim->getOperand(0), *index)
            .getResult());
    dim.erase();
  }
  return success();
}

LogicalResult Entry::convert() {
  SmallVector<MapBlocksOp> kernels;
  WalkResult walk = function.walk([&](Operation *op) {
    if (isa<AttentionOp, ScoresOp, SoftmaxOp, WeightedSumOp, PairwiseOp, SumOp, ApplyMaskOp,
            ApplyOp>(op)) {
      op->emitError() << "'" << op->getName() << "' is left; run fa-rewrite-online-softmax or "
                      << "fa-rewrite-standard, then fa-tile-attention";
      return WalkResult::interrupt();
    }
    if (auto block = dyn_cast<MapBlocksOp>(op)) {
      if (!block.isTiled()) {
        block.emitError("tile sizes are not chosen; run fa-tile-attention");
        return WalkResult::interrupt();
      }
      kernels.push_back(block);
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted())
    return failure();
  if (kernels.empty())
    return function.emitError() << "@" << escaped(function.getSymName())
                                << " holds no attention; an entry holds one fa.attention";
  if (failed(nameArguments()) || failed(nameResults()))
    return failure();
  for (MapBlocksOp block : kernels)
    if (failed(convert(block)))
      return failure();
  function.erase();
  return success();
}

namespace {
struct ConvertFAToTile : fa::impl::ConvertFAToTileBase<ConvertFAToTile> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> entries;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isDeclaration())
        entries.push_back(function);
    for (func::FuncOp function : entries)
      if (failed(Entry(function).convert()))
        return signalPassFailure();
  }
};
} // namespace
