//===- PromoteShared.cpp - brings tiles to rings in shared memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. loads that feed products: put where the load stands, get before the
//      first reader, release after the last; a reader in a nested region (a
//      loop) counts as the op that has the region;
//   2. computed operands b of products, and a that are transposed, or of 2 bytes and of other
//      warps: put_value, get, release;
//   3. reductions along a dimension of which several warps hold parts: their
//      input is converted to a layout in which one warp holds all of it, and
//      what comes out to the layout of the initial values, which join it;
//   4. layout conversions that move an element to a warp which does not hold
//      it: put_value, get, read, release;
//   5. with asynchronous products, where the program allows them
//      (AsyncProducts.cpp): copies by TMA, two slots for what a loop
//      loads, products in two ops. Vectors that a loop of products loads, and TMA can
//      copy, come so too, for a load waits for memory beside the products, and so do tiles that it
//      loads for other than products, where there is room for two slots each; one that is the
//      same in each iteration is loaded before.
//
// Loads and stores of one view take effect in program order: a barrier before
// each, and what is put from such a view is got at once.
//
// Requires: static tiles. Rejects: tiles that shared memory cannot hold (i1,
// index), and what crosses warps inside of a tile.if_any, which not all warps
// run.
//
//===----------------------------------------------------------------------===//

#include "AsyncProducts.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Integers.h"
#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "fa/Dialect/Tile/IR/Stores.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Rings.h"
#include "fa/Support/Remarks.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include <numeric>

namespace mlir::tile {
#define GEN_PASS_DEF_TILEPROMOTESHARED
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// How a tile is copied
//===----------------------------------------------------------------------===//

/// Return why the load cannot be made of aligned copies of 16 bytes; empty if it can.
static StringRef whyNotAsync(LoadOp load, RankedTensorType tile) {
  constexpr int64_t kChunk = 16;
  int64_t bytes = tile.getElementTypeBitWidth() / 8;
  int64_t align = alignmentOf(load.getSource());
  if (align == 0 || align % kChunk != 0)
    return "the source has no tile.align 16";
  if (bytes != 2 && bytes != 4)
    return "its elements do not have 2 or 4 bytes";
  int64_t last = cast<ViewType>(load.getSource().getType()).getRank() - 1;
  if (load.getDims().back() != last)
    return "its rows do not run along the source's last dimension";
  if (tile.getShape().back() * bytes % kChunk != 0)
    return "its rows are no multiple of 16 bytes";
  if (divisorOf(load.getIndices()[last]) % (kChunk / bytes) != 0)
    return "its rows may start anywhere";
  return "";
}

/// Return whether the warps of a role copy the tile, since TMA cannot: that which the program names
/// for it, or the producer, where it is of a slice.
static bool isCopiedByWarps(LoadOp load) {
  return (load->hasAttr(TileDialect::kRoleAttr) || load.getSource().getDefiningOp<SliceOp>()) &&
         !whyNotTMA(load.getSource(), load.getIndices(), load.getDims()).empty() &&
         whyNotAsync(load, cast<RankedTensorType>(load.getResult().getType())).empty();
}

/// Return the dimensions of a tile's load in the order in which they lie in memory.
static SmallVector<int64_t> inOrderOfMemory(LoadOp load) {
  SmallVector<int64_t> dims(load.getDims());
  llvm::sort(dims);
  return dims;
}

/// Choose the widest panels that pad rows least; those of TMA are all of one width, and so are
/// those of products that read them to their ends.
static SwizzleAttr swizzleFor(RankedTensorType tile, bool widest, bool ones) {
  int64_t rowBytes = tile.getShape().back() * tile.getElementTypeBitWidth() / 8;
  int64_t width = widest ? kWidestPanel : panelOf(rowBytes);
  return SwizzleAttr::get(tile.getContext(), width, ones);
}

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static FragAttr layoutOf(Value tile) {
  auto type = dyn_cast<RankedTensorType>(tile.getType());
  return type ? dyn_cast_or_null<FragAttr>(type.getEncoding()) : FragAttr();
}

/// Return whether no exchange within warps serves.
static bool crossesWarps(ConvertLayoutOp convert) {
  Type element = getElementTypeOrSelf(convert.getType());
  unsigned bits = element.isInteger(1) ? 32
                  : element.isIndex()  ? 64
                                       : element.getIntOrFloatBitWidth();
  return planConversion(layoutOf(convert.getInput()).getLayout(),
                        layoutOf(convert.getResult()).getLayout(), bits)
             .kind == ConversionKind::shared;
}

/// Return whether several warps hold parts of what is reduced.
static bool crossesWarps(ReduceOp reduce) {
  FragAttr layout = layoutOf(reduce.getInput());
  return layout && llvm::any_of(layout.getLayout().getWarp(), [&](const Mode &mode) {
           return mode.extent > 1 && mode.strides[reduce.getDim()] != 0;
         });
}

/// Return a layout in which a warp holds all of dimension `dim` of the elements that it
/// holds: warps go along the other one; neighbouring lanes along columns, which
/// are neighbours in shared memory.
static Layout withinWarps(ArrayRef<int64_t> shape, unsigned dim, int64_t warps) {
  auto along = [&](unsigned d, int64_t extent, int64_t stride) {
    Mode mode{extent, {0, 0}};
    mode.strides[d] = stride;
    return mode;
  };
  // Sums along columns take few exchanges if few lanes share a row.
  int64_t columnLanes = std::gcd(shape[1], dim == 0 ? Layout::kLanes : 8);
  int64_t rowLanes = std::gcd(shape[0], Layout::kLanes / columnLanes);
  int64_t copies = Layout::kLanes / (columnLanes * rowLanes);
  int64_t inLanes[] = {rowLanes, columnLanes};
  unsigned other = 1 - dim;
  int64_t inWarps = std::gcd(shape[other] / inLanes[other], warps);
  int64_t band[] = {rowLanes, columnLanes};
  band[other] *= inWarps;
  return Layout(2, {along(1, shape[1] / band[1], band[1]), along(0, shape[0] / band[0], band[0])},
                {along(1, columnLanes, 1), along(0, rowLanes, 1), along(0, copies, 0)},
                {along(other, inWarps, inLanes[other]), along(0, warps / inWarps, 0)});
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct PromoteShared : tile::impl::TilePromoteSharedBase<PromoteShared> {
  using Base::Base;

  void runOnOperation() override;
  FailureOr<Value> makeRing(Operation *user, Type tile, int64_t stages = 1, bool ones = false,
                            int64_t readers = 1, bool widest = false);
  LogicalResult orderAccesses();
  SmallVector<LoadOp> takeAlike(LoadOp load);
  LogicalResult promoteLoad(LoadOp load);
  LogicalResult promoteBeside(LoadOp load);
  LogicalResult promoteOperand(ArrayRef<OpOperand *> uses);
  LogicalResult promoteConversion(ConvertLayoutOp convert);
  void keepInWarps(ReduceOp reduce, SmallVectorImpl<ConvertLayoutOp> &conversions);
  void startProduct(DotOp dot);
  bool chooseAsync(ArrayRef<LoadOp> loads, ArrayRef<DotOp> dots,
                   ArrayRef<ConvertLayoutOp> conversions);
  Value putValue(OpBuilder &b, Location loc, Value ring, Value tile);

  Operation *lastRing = nullptr;
  /// Hold the loads of asynchronous programs beside products that are not brought yet.
  SmallVector<LoadOp> beside;
  /// Say that there are roles, so that several can read a ring.
  bool hasRoles = false;
  bool async = false;
};

} // namespace

/// Name a ring or slot after the tile that it holds: %k_ring for %k_tile.
static Location nameAfter(Location tile, StringRef suffix) {
  StringRef name = fa::nameOf(tile, "tile");
  if (name != "tile")
    name.consume_back("_tile");
  return fa::named(tile, name + suffix);
}

/// Make a ring for the tile, after the rings made before.
FailureOr<Value> PromoteShared::makeRing(Operation *user, Type type, int64_t stages, bool ones,
                                         int64_t readers, bool widest) {
  auto tile = cast<RankedTensorType>(type);
  if (!tile.hasStaticShape())
    return user->emitOpError() << "needs a tile of static shape to bring it to shared memory, got "
                               << tile;
  Type element = tile.getElementType();
  if (!element.isIntOrFloat() || element.getIntOrFloatBitWidth() % 8 != 0)
    return user->emitOpError() << "shared memory holds integers and floats of whole bytes, got "
                               << tile;
  if (user->getParentOfType<IfAnyOp>())
    return user->emitOpError() << "needs shared memory inside of a tile.if_any, which not all "
                                  "warps run; move it out";
  OpBuilder b = OpBuilder::atBlockBegin(&getOperation().getBody().front());
  if (lastRing)
    b.setInsertionPointAfter(lastRing);
  auto ring = RingOp::create(b, nameAfter(user->getLoc(), "_ring"),
                             RingType::get(&getContext(), stages, tile.getShape(), element,
                                           swizzleFor(tile, async || widest, ones)),
                             readers);
  lastRing = ring;
  return ring.getResult();
}

/// Put a barrier before each access of a view that is both loaded and stored to, since different
/// threads may load and store an element.
LogicalResult PromoteShared::orderAccesses() {
  SmallVector<Operation *> accesses;
  SmallVector<Value> loaded;
  getOperation().walk([&](Operation *op) {
    Value source = sourceOf(op);
    if (source && mayStoreTo(getOperation(), source)) {
      accesses.push_back(op);
      loaded.push_back(source);
    }
  });
  getOperation().walk([&](StoreOp store) {
    if (llvm::any_of(loaded, [&](Value view) { return mayOverlap(store.getDestination(), view); }))
      accesses.push_back(store);
  });
  for (Operation *op : accesses) {
    if (op->getParentOfType<IfAnyOp>())
      return op->emitOpError() << "accesses a view that the program loads and stores to, inside of "
                                  "a tile.if_any, which not all warps run; move it out";
    if (!isa_and_nonnull<BarrierOp>(op->getPrevNode())) {
      OpBuilder b(op);
      BarrierOp::create(b, op->getLoc());
    }
  }
  return success();
}

/// Let the uses of a load read its slot, which is got before the first of them if it may be
/// late, and released after the last one. Products read the slot itself, everything else reads
/// it to registers.
static void readSlot(OpBuilder &b, LoadOp load, GetOp get, ArrayRef<OpOperand *> uses, bool late) {
  Operation *first = nullptr, *last = nullptr;
  for (OpOperand *use : uses) {
    Operation *reader = use->getOwner();
    if (auto dot = dyn_cast<DotOp>(reader);
        dot && (use == &dot.getAMutable() || use == &dot.getBMutable())) {
      use->set(get);
    } else {
      b.setInsertionPoint(reader);
      auto read = ReadOp::create(b, load.getLoc(), use->get().getType(), get);
      use->set(read.getValue());
      reader = read;
    }
    Operation *here = load->getBlock()->findAncestorOpInBlock(*reader);
    if (!first || here->isBeforeInBlock(first))
      first = here;
    if (!last || last->isBeforeInBlock(here))
      last = here;
  }
  if (late)
    get->moveBefore(first);
  b.setInsertionPointAfter(last);
  ReleaseOp::create(b, load.getLoc(), get);
}

/// Return the load and those beside products that load the same tile there, which it stands for.
SmallVector<LoadOp> PromoteShared::takeAlike(LoadOp load) {
  SmallVector<LoadOp> alike = {load};
  llvm::erase_if(beside, [&](LoadOp other) {
    bool isAlike = other->getBlock() == load->getBlock() &&
                   other->getOperands() == load->getOperands() &&
                   other.getDims() == load.getDims() && roleOf(other) == roleOf(load);
    if (isAlike)
      alike.push_back(other);
    return isAlike;
  });
  return alike;
}

LogicalResult PromoteShared::promoteLoad(LoadOp load) {
  auto tile = cast<RankedTensorType>(load.getResult().getType());
  Operation *around = load->getParentOp();
  while (isa<scf::IfOp>(around))
    around = around->getParentOp();
  bool inLoop = isa<scf::ForOp>(around);
  bool ones = async && llvm::any_of(load->getUsers(), [](Operation *user) {
                auto dot = dyn_cast<DotOp>(user);
                return dot && dot.getOnes();
              });
  llvm::MapVector<StringRef, SmallVector<OpOperand *>> uses;
  SmallVector<LoadOp> alike = takeAlike(load);
  bool padded = false;
  for (LoadOp of : alike)
    for (OpOperand &use : of.getResult().getUses()) {
      uses[hasRoles ? roleOf(use.getOwner()) : StringRef(kCompute)].push_back(&use);
      auto dot = dyn_cast<DotOp>(use.getOwner());
      padded |= dot && dot.getPadded();
    }
  FailureOr<Value> ring = makeRing(load, tile, async && inLoop ? 2 : 1, ones, uses.size(), padded);
  if (failed(ring))
    return failure();
  auto type = cast<RingType>(ring->getType());
  Location loc = load.getLoc();
  OpBuilder b(load);
  // What the program stores there takes effect in program order: no running ahead.
  bool stored = mayStoreTo(getOperation(), load.getSource());
  bool tma = async && !isCopiedByWarps(load);
  StringRef why = tma ? "" : stored ? "the program stores to its source" : whyNotAsync(load, tile);
  std::string byWarps = async && !tma && why.empty()
                            ? whyNotTMA(load.getSource(), load.getIndices(), load.getDims())
                            : "";
  Copy copy = tma ? Copy::tma : why.empty() ? Copy::cp_async : Copy::ld_st;
  markRole(PutOp::create(b, loc, *ring, load.getSource(), load.getIndices(), load.getDims(), copy),
           roleOf(load));
  for (auto [number, role] : llvm::enumerate(uses)) {
    RoleMarker marker(role.first);
    OpBuilder reader(load, &marker);
    auto get = GetOp::create(reader, nameAfter(loc, "_slot"), type.getSlot(), *ring, number);
    readSlot(reader, load, get, role.second, /*late=*/!stored);
  }
  for (LoadOp of : alike)
    of.erase();

  if (auto said = fa::remarkPassed(*this, loc, "shared")) {
    said << fa::decision("{0} to shared memory by {1}", describeTile(type), stringifyCopy(copy))
         << remark::metric("bytes", type.getSlot().sizeInBytes());
    if (!why.empty() || !byWarps.empty())
      said << remark::reason("{0}", why.empty() ? StringRef(byWarps) : why);
  }
  return success();
}

/// Bring a tile that is read beside products by TMA, where there is room for it. A transposed one
/// is read transposed.
LogicalResult PromoteShared::promoteBeside(LoadOp load) {
  Location loc = load.getLoc();
  SmallVector<int64_t> dims = inOrderOfMemory(load);
  if (!whyNotTMA(load.getSource(), load.getIndices(), dims).empty())
    return success();
  // What stands in front of the loops does not take slots of theirs.
  bool inFront = !isa<scf::ForOp>(load->getParentOp());
  auto isInvariant = [&](scf::ForOp loop) {
    return llvm::all_of(load->getOperands(),
                        [&](Value operand) { return loop.isDefinedOutsideOfLoop(operand); });
  };
  for (auto loop = dyn_cast<scf::ForOp>(load->getParentOp()); loop && isInvariant(loop);
       loop = dyn_cast<scf::ForOp>(load->getParentOp()))
    load->moveBefore(loop);
  auto type = cast<RankedTensorType>(load.getResult().getType());
  bool transposed = dims != load.getDims();
  RankedTensorType stored = type;
  if (transposed)
    stored = RankedTensorType::get(
        {type.getDimSize(1), type.getDimSize(0)}, type.getElementType(),
        FragAttr::get(&getContext(), layoutOf(load.getResult()).getLayout().transpose()));
  // What barriers and the numbers of work tiles take.
  constexpr int64_t kReserve = 2560;
  bool again = isa<scf::ForOp>(load->getParentOp());
  int64_t bytes = SlotType::get(&getContext(), stored.getShape(), stored.getElementType(),
                                swizzleFor(stored, /*widest=*/true, /*ones=*/false))
                      .strideInBytes();
  int64_t all = bytesOfSums(getOperation()) + (again ? 2 : 1) * bytes + kReserve;
  for (auto ring : getOperation().getOps<RingOp>())
    all +=
        again || inFront ? sharedBytes(ring.getType()) : ring.getType().getSlot().strideInBytes();
  int64_t limit = getOperation().getSharedLimit(sharedLimit);
  if (limit > 0 && all > limit) {
    fa::remarkMissed(*this, loc, "shared")
        << fa::decision("tile of {0} read from memory by each warp", stored)
        << remark::reason("its slots would make {0} bytes and the limit is {1}", all, limit);
    return success();
  }
  if (!transposed)
    return promoteLoad(load);
  OpBuilder b(load);
  auto straight = LoadOp::create(b, loc, stored, load.getSource(), load.getIndices(), dims);
  markRole(straight, roleOf(load));
  // Read where it is used, which may be in a loop.
  for (OpOperand &use : llvm::make_early_inc_range(load.getResult().getUses())) {
    b.setInsertionPoint(use.getOwner());
    use.set(TransposeOp::create(b, loc, type, straight));
  }
  load.erase();
  return promoteLoad(straight);
}

Value PromoteShared::putValue(OpBuilder &b, Location loc, Value ring, Value tile) {
  PutValueOp::create(b, loc, ring, tile);
  return GetOp::create(b, loc, cast<RingType>(ring.getType()).getSlot(), ring);
}

/// Bring what products of one block compute with to shared memory, once for all of them.
LogicalResult PromoteShared::promoteOperand(ArrayRef<OpOperand *> uses) {
  Operation *dot = uses.front()->getOwner(), *last = dot;
  for (OpOperand *use : uses) {
    dot = use->getOwner()->isBeforeInBlock(dot) ? use->getOwner() : dot;
    last = last->isBeforeInBlock(use->getOwner()) ? use->getOwner() : last;
  }
  Value tile = uses.front()->get();
  FailureOr<Value> ring = makeRing(dot, tile.getType());
  if (failed(ring))
    return failure();
  RoleMarker marker(roleOf(dot));
  OpBuilder b(dot, &marker);
  Value slot = putValue(b, dot->getLoc(), *ring, tile);
  for (OpOperand *use : uses)
    use->set(slot);
  b.setInsertionPointAfter(last);
  ReleaseOp::create(b, dot->getLoc(), slot);
  auto type = cast<RingType>(ring->getType());
  fa::remarkPassed(*this, dot->getLoc(), "shared")
      << fa::decision("computed operand of {0} to shared memory", describeTile(type))
      << remark::metric("bytes", type.getSlot().sizeInBytes());
  return success();
}

/// Return whether products alone read the conversion, which can read shared memory as well.
static bool feedsProducts(ConvertLayoutOp convert) {
  Type element = getElementTypeOrSelf(convert.getType());
  return (element.isF16() || element.isBF16()) &&
         llvm::all_of(convert->getUses(), [](OpOperand &use) {
           auto dot = dyn_cast<DotOp>(use.getOwner());
           return dot && &use == &dot.getAMutable();
         });
}

LogicalResult PromoteShared::promoteConversion(ConvertLayoutOp convert) {
  // Shared memory holds indices as i64, and bits and bytes as i16.
  auto tile = cast<RankedTensorType>(convert.getType()), stored = tile;
  bool isNarrow = tile.getElementType().isInteger(1) || tile.getElementType().isInteger(8);
  if (isNarrow || tile.getElementType().isIndex())
    stored = tile.clone(IntegerType::get(&getContext(), isNarrow ? 16 : 64));
  FailureOr<Value> ring = makeRing(convert, stored);
  if (failed(ring))
    return failure();
  RoleMarker marker(roleOf(convert));
  OpBuilder b(convert, &marker);
  Location loc = convert.getLoc();
  Value input = convert.getInput();
  if (stored != tile) {
    auto type = cast<RankedTensorType>(input.getType()).clone(stored.getElementType());
    input = isNarrow ? Value(arith::ExtUIOp::create(b, loc, type, input))
                     : Value(arith::IndexCastOp::create(b, loc, type, input));
  }
  Value slot = putValue(b, loc, *ring, input);
  Value result = ReadOp::create(b, loc, stored, slot).getValue();
  ReleaseOp::create(b, loc, slot);
  if (stored != tile)
    result = isNarrow ? Value(arith::TruncIOp::create(b, loc, tile, result))
                      : Value(arith::IndexCastOp::create(b, loc, tile, result));
  convert.replaceAllUsesWith(result);
  convert.erase();
  auto type = cast<RingType>(ring->getType());
  fa::remarkPassed(*this, loc, "shared")
      << fa::decision("layout conversion of {0} through shared memory", describeTile(type))
      << remark::metric("bytes", type.getSlot().sizeInBytes())
      << remark::reason("it crosses warps");
  return success();
}

/// Return the neutral element: -0 + x is x, for 0 too.
static TypedAttr neutral(Reduction kind, Type type) {
  if (kind == Reduction::maxsi)
    return IntegerAttr::get(type, std::numeric_limits<int32_t>::min());
  const llvm::fltSemantics &semantics = cast<FloatType>(type).getFloatSemantics();
  return FloatAttr::get(type, kind == Reduction::addf
                                  ? APFloat::getZero(semantics, /*Negative=*/true)
                                  : APFloat::getInf(semantics, kind == Reduction::maxnumf));
}

/// Reduce in a layout that crosses no warps; add the conversions that do. The
/// initial values join in the layout that they have.
void PromoteShared::keepInWarps(ReduceOp reduce, SmallVectorImpl<ConvertLayoutOp> &conversions) {
  OpBuilder b(reduce);
  Location loc = reduce.getLoc();
  auto convert = [&](Value tile, Type type) -> Value {
    auto converted = ConvertLayoutOp::create(b, loc, type, tile);
    if (crossesWarps(converted))
      conversions.push_back(converted);
    return converted;
  };
  auto encoded = [&](Type type, const Layout &layout) {
    return cast<RankedTensorType>(type).cloneWithEncoding(FragAttr::get(b.getContext(), layout));
  };
  auto input = cast<RankedTensorType>(reduce.getInput().getType());
  unsigned dim = reduce.getDim();
  Layout layout =
      withinWarps(input.getShape(), dim, layoutOf(reduce.getInput()).getLayout().numWarps());
  Value whole = convert(reduce.getInput(), encoded(input, layout));
  RankedTensorType sums = encoded(reduce.getInit().getType(), layout.slice(dim));
  Value none = arith::ConstantOp::create(
      b, loc,
      DenseElementsAttr::get(sums, Attribute(neutral(reduce.getKind(), sums.getElementType()))));
  Value sum = ReduceOp::create(b, loc, sums, reduce.getKind(), whole, none, dim);
  sum = convert(sum, reduce.getInit().getType());
  reduce.replaceAllUsesWith(ReduceOp::combine(b, loc, reduce.getKind(), reduce.getInit(), sum));
  reduce.erase();
  fa::remarkPassed(*this, loc, "shared")
      << fa::decision("reduction of {0} through shared memory", input)
      << remark::reason("it crosses warps");
}

/// Replace the product by two ops, one after the other.
void PromoteShared::startProduct(DotOp dot) {
  RoleMarker marker(roleOf(dot));
  OpBuilder b(dot, &marker);
  auto acc = cast<RankedTensorType>(dot.getAcc().getType());
  auto start = DotStartOp::create(b, dot.getLoc(), PendingType::get(&getContext(), acc), dot.getA(),
                                  dot.getB(), dot.getAcc(), dot.getTransposeB(), dot.getPrecision(),
                                  dot.getOnes(), dot.getTransposeA(), dot.getPadded());
  auto await = AwaitOp::create(b, dot.getLoc(), acc, start);
  dot.replaceAllUsesWith(await.getResult());
  dot.erase();
}

bool PromoteShared::chooseAsync(ArrayRef<LoadOp> loads, ArrayRef<DotOp> dots,
                                ArrayRef<ConvertLayoutOp> conversions) {
  Obstacle obstacle;
  if (!conversions.empty())
    obstacle = {conversions.front(), "it moves elements between warps"};
  else
    obstacle = findObstacle(getOperation(), loads, dots, isCopiedByWarps);
  if (!obstacle.op)
    return true;
  // Said without being asked where it is a loss that the program could avoid: with
  // operands of 2 bytes that the launch promises to align.
  bool loss = llvm::any_of(dots, [](DotOp dot) {
    return cast<ShapedType>(dot.getA().getType()).getElementTypeBitWidth() == 16;
  });
  loss &= llvm::any_of(loads, [](LoadOp load) { return alignmentOf(load.getSource()) >= 16; });
  if (loss)
    emitRemark(obstacle.op->getLoc())
        << "no asynchronous products in this program, since '" << obstacle.op->getName()
        << "' here does not allow them: " << obstacle.why;
  else
    fa::remarkMissed(*this, obstacle.op->getLoc(), "async-products")
        << fa::decision("no asynchronous products in this program")
        << remark::reason("'{0}' here does not allow them: {1}",
                          obstacle.op->getName().getStringRef(), obstacle.why);
  return false;
}

void PromoteShared::runOnOperation() {
  lastRing = nullptr;
  beside.clear();
  std::optional<bool> wanted = parseProducts(getOperation(), products);
  if (!wanted)
    return signalPassFailure();
  for (auto ring : getOperation().getBody().front().getOps<RingOp>())
    lastRing = ring;
  hasRoles = *wanted;
  SmallVector<LoadOp> loads, vectors;
  SmallVector<DotOp> dots;
  SmallVector<ConvertLayoutOp> conversions;
  SmallVector<ReduceOp> reductions;
  getOperation().walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) {
      bool feeds = llvm::any_of(load.getResult().getUses(), [&](OpOperand &use) {
        auto dot = dyn_cast<DotOp>(use.getOwner());
        return dot && (&use == &dot.getBMutable() ||
                       (&use == &dot.getAMutable() && !layoutOf(load.getResult())));
      });
      if (feeds && isa<ViewType>(load.getSource().getType()))
        loads.push_back(load);
      else if (isVectorOfLoop(load))
        vectors.push_back(load);
      else if (isReadBesideProducts(load))
        beside.push_back(load);
    } else if (auto dot = dyn_cast<DotOp>(op)) {
      dots.push_back(dot);
    } else if (auto convert = dyn_cast<ConvertLayoutOp>(op); convert && crossesWarps(convert)) {
      conversions.push_back(convert);
    } else if (auto reduce = dyn_cast<ReduceOp>(op); reduce && crossesWarps(reduce)) {
      reductions.push_back(reduce);
    }
  });
  for (ReduceOp reduce : reductions)
    keepInWarps(reduce, conversions);
  async = *wanted && chooseAsync(loads, dots, conversions);
  if (!async)
    beside.clear();
  if (async)
    for (LoadOp load : vectors)
      loads.push_back(sliceOfVector(load) ? loadBeyondSlice(load) : load);
  if (failed(orderAccesses()))
    return signalPassFailure();
  for (LoadOp load : loads)
    if (failed(promoteLoad(load)))
      return signalPassFailure();
  DenseSet<OpOperand *> ofOthers;
  if (!async)
    llvm::erase_if(conversions, [&](ConvertLayoutOp convert) {
      if (!feedsProducts(convert))
        return false;
      for (OpOperand &use : llvm::make_early_inc_range(convert->getUses())) {
        use.set(convert.getInput());
        ofOthers.insert(&use);
      }
      convert.erase();
      return true;
    });
  // Of one tile and block, once.
  llvm::MapVector<std::pair<Value, Block *>, SmallVector<OpOperand *>> operands;
  for (DotOp dot : dots) {
    bool shared = dot.getTransposeA() || ofOthers.contains(&dot.getAMutable());
    if (shared && !isa<SlotType>(dot.getA().getType()))
      operands[{dot.getA(), dot->getBlock()}].push_back(&dot.getAMutable());
    if (!isa<SlotType>(dot.getB().getType()))
      operands[{dot.getB(), dot->getBlock()}].push_back(&dot.getBMutable());
  }
  for (auto &[tile, uses] : operands)
    if (failed(promoteOperand(uses)))
      return signalPassFailure();
  while (!beside.empty()) {
    LoadOp load = beside.front();
    beside.erase(beside.begin());
    if (failed(promoteBeside(load)))
      return signalPassFailure();
  }
  if (async)
    for (DotOp dot : dots)
      startProduct(dot);
  for (ConvertLayoutOp convert : conversions)
    if (failed(promoteConversion(convert)))
      return signalPassFailure();
}
