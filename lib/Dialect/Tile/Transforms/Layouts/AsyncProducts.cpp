//===- AsyncProducts.cpp - which programs can have roles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Asynchronous products read operands that a producer role brings by TMA. All
// products of a program do, or none: the other waits and barriers are for programs
// in which all warps do the same. The program of tiles alone decides it:
//
//   1. products are of 2-byte elements, 16 rows a warp, whole warpgroups, of which those that have
//      the same rows have columns of their own, and stand in loops at most, and in ifs about
//      scalars, which both roles can run;
//   2. TMA can bring each loaded operand, or warps of a role that is named for it: rows of a
//   multiple of 16 bytes,
//      along the last two dimensions of a view that tile.align promises;
//   3. where a tile stands depends on no tile, so that a role without tiles can
//      compute it.
//
//===----------------------------------------------------------------------===//

#include "AsyncProducts.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/Slice.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <numeric>

using namespace mlir;
using namespace mlir::tile;

std::optional<bool> tile::parseProducts(FuncOp func, StringRef products) {
  if (products == "sync" || products == "async")
    return products == "async";
  func.emitError() << "products are sync or async, got '" << products << "'";
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What roles can run
//===----------------------------------------------------------------------===//

/// Return whether a tile, or anything in shared memory, is needed to compute the values.
static bool needsTiles(FuncOp func, ValueRange values) {
  Slice slice(func);
  slice.add(values);
  return llvm::any_of(slice.getValues(), [](Value value) {
    return !isa<ViewType>(value.getType()) && !value.getType().isIntOrIndexOrFloat();
  });
}

/// Return why roles cannot both run what is around the op: they run the same loops, and
/// the same ifs, whose conditions each computes for itself. Empty if they can.
static std::string whyNotBothRoles(Operation *op) {
  for (op = op->getParentOp(); op && !isa<FuncOp>(op); op = op->getParentOp()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch && !isa<scf::ForOp>(op))
      return ("it stands in '" + op->getName().getStringRef() + "'").str();
    if (branch && needsTiles(op->getParentOfType<FuncOp>(), branch.getCondition()))
      return "it stands in an 'scf.if' whose condition depends on a tile";
  }
  return "";
}

//===----------------------------------------------------------------------===//
// 1. Products
//===----------------------------------------------------------------------===//

static std::string whyNotAsync(DotOp dot, int64_t warps) {
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  auto a = cast<ShapedType>(dot.getA().getType());
  constexpr int64_t kMostColumns = 256;
  if (a.getElementTypeBitWidth() != 16)
    return "its operands do not have 2 bytes an element";
  if (std::string why = whyNotBothRoles(dot); !why.empty())
    return why;
  int64_t rows = kRowsOfWarp * warps;
  bool beside = acc.getDimSize(0) % kRowsOfGroup == 0 && acc.getDimSize(0) < rows &&
                rows % acc.getDimSize(0) == 0;
  if (warps % kWarpsOfGroup != 0 || (acc.getDimSize(0) != rows && !beside))
    return "its rows are not 16 for each warp of whole warpgroups";
  if (acc.getDimSize(1) % 8 != 0 || acc.getDimSize(1) > kMostColumns)
    return "its columns are not a multiple of 8 up to 256";
  if (a.getDimSize(dot.getTransposeA() ? 0 : 1) % 16 != 0)
    return "it does not sum over a multiple of 16";
  if (!dot.getB().getDefiningOp<LoadOp>())
    return "its operand b is computed";
  bool fromRegisters = !dot.getA().getDefiningOp<LoadOp>() && !dot.getTransposeA();
  if (beside && (fromRegisters || dot.getOnes()))
    return "its rows are not 16 for each warp of whole warpgroups";
  auto layout = dyn_cast_or_null<FragAttr>(acc.getEncoding());
  ArrayRef<Mode> modes = layout ? layout.getLayout().getWarp() : ArrayRef<Mode>();
  if (modes.size() != (beside ? 2 : 1) || modes[0].strides != Coords{kRowsOfWarp, 0} ||
      (beside && modes[0].extent * kRowsOfWarp != acc.getDimSize(0)))
    return "its accumulator is not spread over warps by 16 rows";
  // Warpgroups that have the same rows start at columns of their own, where a panel of b starts, or
  // in the only one.
  bool isOnePanel = acc.getDimSize(1) == kPanelColumns && !dot.getPadded();
  int64_t unit = dot.getTransposeB() || isOnePanel ? 8 : kPanelColumns;
  if (beside && (modes[1].strides[0] != 0 || modes[1].strides[1] % unit != 0 ||
                 modes[1].strides[1] * modes[1].extent != acc.getDimSize(1)))
    return "its warpgroups share no whole panels of columns";
  return "";
}

//===----------------------------------------------------------------------===//
// 2 and 3. Operands
//===----------------------------------------------------------------------===//

/// Bound what TMA copies: the rank of a view, the rows of a box, and the bytes that rows are
/// multiples of.
static constexpr int64_t kMostRank = 4, kMostRows = 256, kUnit = 16;

/// Return whether rows of so many columns may lie side by side at multiples of those bytes, by what
/// is known of them.
static bool mayBeWholeUnits(int64_t columns, int64_t bytes) {
  return ShapedType::isDynamic(columns) || (columns != 0 && columns * bytes % kUnit == 0);
}

/// Return why TMA can neither load nor store the tile there.
std::string tile::whyNotTMA(Value view, OperandRange indices, ArrayRef<int64_t> dims) {
  auto type = cast<ViewType>(view.getType());
  auto slice = view.getDefiningOp<SliceOp>();
  if (slice && !isa<BlockArgument>(slice.getSource()))
    return "its view is a slice of a slice, for which a launch makes no map";
  if (type.getOrder())
    return "its view does not lie row by row";
  if (!type.getElementType().isIntOrFloat() ||
      type.getElementType().getIntOrFloatBitWidth() % 8 != 0)
    return "its view holds no numbers of whole bytes";
  int64_t rank = type.getRank(), bytes = type.getElementType().getIntOrFloatBitWidth() / 8;
  if (alignmentOf(view) % kUnit != 0 || alignmentOf(view) == 0)
    return "its view has no tile.align 16";
  if (rank < 2 || rank > kMostRank)
    return "its view does not have rank 2 to 4";
  bool rows = slice && static_cast<int64_t>(slice.getDim()) == rank - 2;
  if (slice && (!rows || dims.size() != 2))
    return "its view is a slice, but not of the tile's rows";
  if (dims == ArrayRef<int64_t>{rank - 1})
    return divisorOf(indices.back()) * bytes % kUnit == 0
               ? ""
               : "its elements do not start at a multiple of 16 bytes";
  if (dims != ArrayRef<int64_t>{rank - 2, rank - 1})
    return "it does not run along its view's last two dimensions";
  int64_t columns = type.getShape().back();
  bool known = !ShapedType::isDynamic(columns);
  if (!mayBeWholeUnits(columns, bytes))
    return "its view's rows are no multiple of 16 bytes";
  if (slice && !known)
    return "its view is a slice whose rows have a length that launches say";
  if (known && divisorOf(indices.back()) % (kWidestPanel / bytes) != 0)
    return "its columns do not start at a multiple of 128 bytes";
  if (slice && !slice.getFront() && !isNonNegative(indices[rank - 2]))
    return "its rows may begin before its view, a slice, where TMA finds those of another";
  return "";
}

/// Return why a role without tiles cannot do it; empty if it can.
static std::string whyNotByProducer(LoadOp load) {
  if (std::string why = whyNotBothRoles(load); !why.empty())
    return why;
  if (needsTiles(load->getParentOfType<FuncOp>(), load->getOperands()))
    return "its place depends on a tile";
  return "";
}

bool tile::canProducerLoad(LoadOp load) { return whyNotByProducer(load).empty(); }

bool tile::isReadBesideProducts(LoadOp load) {
  auto view = dyn_cast<ViewType>(load.getSource().getType());
  auto tile = dyn_cast<RankedTensorType>(load.getType());
  if (!view || !tile || tile.getRank() != 2 || !tile.hasStaticShape() ||
      !isa<BlockArgument>(SliceOp::baseOf(load.getSource())) || view.getOrder() ||
      view.getRank() > kMostRank || !tile.getElementType().isIntOrFloat())
    return false;
  // Matrices of these are read by one instruction. Wider ones would be in registers all at once,
  // where loads from memory stand at their uses.
  int64_t bits = tile.getElementTypeBitWidth(), last = view.getRank() - 1;
  if (bits != 16 || !llvm::is_contained(load.getDims(), last) ||
      !llvm::is_contained(load.getDims(), last - 1))
    return false;
  int64_t rows = tile.getDimSize(load.getDims().front() == last ? 1 : 0);
  if (rows > kMostRows || !mayBeWholeUnits(view.getShape().back(), bits / 8))
    return false;
  auto isOfProducts = [](Operation *loop) {
    return isa_and_nonnull<scf::ForOp>(loop) &&
           !cast<scf::ForOp>(loop).getBody()->getOps<DotOp>().empty();
  };
  auto isInFront = [&](Operation &op) { return isOfProducts(&op) && load->isBeforeInBlock(&op); };
  bool beside = isOfProducts(load->getParentOp()) || llvm::any_of(*load->getBlock(), isInFront);
  for (Operation *user : load->getUsers()) {
    if (isa<DotOp, TransposeOp>(user))
      return false;
    for (Operation *at = user->getParentOp(); at != load->getParentOp(); at = at->getParentOp())
      beside |= isOfProducts(at);
  }
  return beside && canProducerLoad(load);
}

SliceOp tile::sliceOfVector(LoadOp load) {
  auto slice = load.getSource().getDefiningOp<SliceOp>();
  bool along = slice && load.getDims() == ArrayRef<int64_t>(slice.getDim());
  if (!along || !isa<BlockArgument>(slice.getSource()) ||
      !cast<ViewType>(slice.getType()).getElementType().isIntOrFloat())
    return {};
  Value first = load.getIndices().back();
  int64_t bits = cast<ViewType>(slice.getType()).getElementType().getIntOrFloatBitWidth();
  bool aligned = std::gcd(divisorOf(slice.getStart()), divisorOf(first)) * bits % 128 == 0;
  return aligned && isNonNegative(first) ? slice : SliceOp();
}

bool tile::isVectorOfLoop(LoadOp load) {
  constexpr int64_t kMostElements = 256, kUnit = 16;
  auto tile = dyn_cast<RankedTensorType>(load.getResult().getType());
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  if (!tile || tile.getRank() != 1 || !loop || loop.getBody()->getOps<DotOp>().empty() ||
      !isa<ViewType>(load.getSource().getType()))
    return false;
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  SliceOp slice = sliceOfVector(load);
  return tile.getNumElements() <= kMostElements && tile.getNumElements() * bytes % kUnit == 0 &&
         whyNotTMA(slice ? slice.getSource() : load.getSource(), load.getIndices(), load.getDims())
             .empty() &&
         canProducerLoad(load);
}

/// Return whether a vector that each step of a loop loads, of as many elements as a step has, ends
/// where its slice does, or before.
static bool isWithinSlice(LoadOp load, SliceOp slice) {
  int64_t size = cast<RankedTensorType>(load.getResult().getType()).getDimSize(0);
  auto argument = dyn_cast<BlockArgument>(load.getIndices().back());
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  return loop && loop.getInductionVar() == argument && divisorOf(argument) % size == 0 &&
         divisorOf(slice.getSize()) % size == 0 && isAtMost(loop.getUpperBound(), slice.getSize());
}

LoadOp tile::loadBeyondSlice(LoadOp load) {
  SliceOp slice = sliceOfVector(load);
  auto tile = cast<RankedTensorType>(load.getResult().getType());
  OpBuilder b(load);
  Location loc = load.getLoc();
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, loc, value);
  };
  SmallVector<Value> indices(load.getIndices());
  Value first = indices.back();
  indices.back() = arith::AddIOp::create(b, loc, slice.getStart(), first);
  auto whole = LoadOp::create(b, loc, tile, slice.getSource(), indices, load.getDims());
  markRole(whole, roleOf(load));
  if (isWithinSlice(load, slice)) {
    load.getResult().replaceAllUsesWith(whole.getResult());
    load.erase();
    return whole;
  }
  Value rest = arith::SubIOp::create(b, loc, slice.getSize(), first);
  rest = arith::MinSIOp::create(b, loc, rest, index(tile.getNumElements()));
  rest = arith::MaxSIOp::create(b, loc, rest, index(0));
  Value count = arith::IndexCastOp::create(b, loc, b.getI32Type(), rest);
  auto numbers = tile.clone(b.getI32Type());
  Value zero = arith::ConstantIntOp::create(b, loc, 0, 32);
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       IotaOp::create(b, loc, numbers, zero),
                                       BroadcastOp::create(b, loc, numbers, count));
  Value none = arith::ConstantOp::create(b, loc, b.getZeroAttr(tile.getElementType()));
  none = BroadcastOp::create(b, loc, tile, none);
  auto kept = arith::SelectOp::create(b, loc, inside, whole, none);
  load.getResult().replaceAllUsesWith(kept);
  load.erase();
  return whole;
}

static std::string whyNotLoaded(LoadOp load, bool byWarps) {
  auto tile = cast<RankedTensorType>(load.getResult().getType());
  if (std::string why = whyNotTMA(load.getSource(), load.getIndices(), load.getDims());
      !byWarps && !why.empty())
    return why;
  if (tile.getDimSize(0) > kMostRows)
    return "it has more than 256 rows";
  if (std::string why = whyNotByProducer(load); !why.empty())
    return why;
  for (Operation *user : load->getUsers())
    if (!isa<DotOp>(user))
      return "not only products read it";
  return "";
}

Obstacle tile::findObstacle(FuncOp func, ArrayRef<LoadOp> loads, ArrayRef<DotOp> dots,
                            llvm::function_ref<bool(LoadOp)> isCopiedByWarps) {
  if (dots.empty())
    return {func, "it has no products"};
  for (DotOp dot : dots)
    if (std::string why = whyNotAsync(dot, func.getNumWarps()); !why.empty())
      return {dot, why};
  for (LoadOp load : loads)
    if (std::string why = whyNotLoaded(load, isCopiedByWarps(load)); !why.empty())
      return {load, why};
  // What is stored and loaded again needs barriers of the whole block, which
  // roles do not have.
  WalkResult loaded = func.walk([&](LoadOp load) {
    return isa<ViewType>(load.getSource().getType()) && mayStoreTo(func, load.getSource())
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (loaded.wasInterrupted())
    return {func, "it loads from a view that it stores to"};
  return {};
}
