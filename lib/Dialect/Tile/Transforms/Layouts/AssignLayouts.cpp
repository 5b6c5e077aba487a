//===- AssignLayouts.cpp - which thread holds what, for each tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. A value that costs nothing is computed once per use, so that it ties no
//    two layouts together. A load that both a product and another op use is
//    split: the product will read it from shared memory.
// 2. Tiles are put in classes of one layout, and classes get layouts: those of
//    accumulators first, then those of operands, then rows and columns, then
//    the rest (LayoutGraph).
// 3. Types get their encodings.
// 4. Conversions stand where a use wants another layout than the class has.
// 5. Values of step 1 that came out equal are one again.
//
//===----------------------------------------------------------------------===//

#include "AsyncProducts.h"
#include "LayoutGraph.h"
#include "RoleMarks.h"
#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Support/Holds.h"
#include "fa/Support/Remarks.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OperationSupport.h"

namespace mlir::tile {
#define GEN_PASS_DEF_TILEASSIGNLAYOUTS
#include "fa/Dialect/Tile/Transforms/Passes.h.inc"
} // namespace mlir::tile

using namespace mlir;
using namespace mlir::tile;

//===----------------------------------------------------------------------===//
// Step 1: values that tie no layouts together
//===----------------------------------------------------------------------===//

/// Return whether the op's tile is one number, which the same code computes whatever its layout is,
/// of operands that are.
static bool isUniform(Operation *op, const DenseSet<Value> &uniform) {
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return !broadcast.getDim();
  return isa<arith::ConstantOp>(op) || (op->hasTrait<OpTrait::Elementwise>() &&
                                        llvm::all_of(op->getOperands(), [&](Value operand) {
                                          return uniform.contains(operand);
                                        }));
}

/// A free value and its copies, the original first.
using Copies = SmallVector<Operation *, 4>;

static SmallVector<Copies> copyFreeValues(tile::FuncOp func) {
  SmallVector<Copies> all;
  DenseSet<Value> uniform;
  func.walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
      return;
    if (isUniform(op, uniform))
      uniform.insert(op->getResult(0));
    else if (!isa<IotaOp>(op))
      return;
    all.push_back({op});
  });
  // Users first: copies of theirs are further uses.
  for (Copies &copies : llvm::reverse(all)) {
    Operation *op = copies.front();
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op->getUses())
      uses.push_back(&use);
    for (OpOperand *use : ArrayRef(uses).drop_front(uses.empty() ? 0 : 1)) {
      copies.push_back(b.clone(*op));
      use->set(copies.back()->getResult(0));
    }
  }
  return all;
}

/// `b` transposed is the product's business, and so is `a`, of elements that shared memory is read
/// transposed of.
static void foldTransposes(tile::FuncOp func) {
  func.walk([](DotOp dot) {
    Type element = getElementTypeOrSelf(dot.getA().getType());
    if (auto transpose = dot.getA().getDefiningOp<TransposeOp>();
        transpose && (element.isF16() || element.isBF16())) {
      dot.getAMutable().set(transpose.getInput());
      dot.setTransposeA(!dot.getTransposeA());
      if (transpose->use_empty())
        transpose.erase();
    }
    while (auto transpose = dot.getB().getDefiningOp<TransposeOp>()) {
      dot.getBMutable().set(transpose.getInput());
      dot.setTransposeB(!dot.getTransposeB());
      if (transpose->use_empty())
        transpose.erase();
    }
  });
}

static void splitLoads(tile::FuncOp func) {
  SmallVector<LoadOp> loads;
  func.walk([&](LoadOp load) { loads.push_back(load); });
  for (LoadOp load : loads) {
    auto isFactor = [](OpOperand &use) {
      auto dot = dyn_cast<DotOp>(use.getOwner());
      return dot && &use != &dot.getAccMutable();
    };
    if (isSharedOperand(load) || !llvm::any_of(load->getUses(), isFactor))
      continue;
    OpBuilder b(load);
    Value shared = b.clone(*load)->getResult(0);
    load.getResult().replaceUsesWithIf(shared, isFactor);
  }
}

//===----------------------------------------------------------------------===//
// Step 3: types
//===----------------------------------------------------------------------===//

static RankedTensorType withLayout(Type type, const Layout &layout) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.cloneWithEncoding(FragAttr::get(type.getContext(), layout));
}

static void encode(Value tile, const Layout &layout) {
  RankedTensorType type = withLayout(tile.getType(), layout);
  tile.setType(type);
  if (auto constant = tile.getDefiningOp<arith::ConstantOp>())
    constant.setValueAttr(cast<SplatElementsAttr>(constant.getValue()).resizeSplat(type));
}

static Layout layoutOf(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  return cast<FragAttr>(type.getEncoding()).getLayout();
}

//===----------------------------------------------------------------------===//
// Step 4: conversions
//===----------------------------------------------------------------------===//

namespace {

/// Insert conversions and say what they cost.
class Converter {
public:
  Converter(const LayoutGraph &graph, bool vectorStores, const Pass &pass)
      : graph(graph), vectorStores(vectorStores), pass(pass) {}

  void convertUses(Operation *op);

private:
  Value convert(OpBuilder &b, Location loc, Value tile, const Layout &to, StringRef why);
  void convertOperand(OpOperand &use, const Layout &to, StringRef why) {
    OpBuilder b(use.getOwner());
    use.set(convert(b, use.getOwner()->getLoc(), use.get(), to, why));
  }
  /// Let the op compute its result as `layout`; its users go on with the class's.
  void convertResult(OpResult result, const Layout &layout, StringRef why);

  const LayoutGraph &graph;
  bool vectorStores;
  const Pass &pass;
};

} // namespace

/// Describe the cost: what each thread does, or what goes through shared memory.
static std::string describeCost(const Layout &from, const Layout &to, RankedTensorType tile) {
  Type element = tile.getElementType();
  unsigned bits = element.isIndex() ? 64 : element.getIntOrFloatBitWidth();
  ConversionPlan plan = planConversion(from, to, bits < 8 ? 32 : bits);
  switch (plan.kind) {
  case ConversionKind::none:
  case ConversionKind::registers:
    return "0 instructions";
  case ConversionKind::shuffles:
    return std::to_string(plan.numShuffles()) + " shuffles, " + std::to_string(plan.numSelects()) +
           " selects";
  case ConversionKind::shared:
    break;
  }
  return std::to_string(tile.getNumElements() * llvm::divideCeil(bits, 8)) +
         " bytes through shared memory";
}

Value Converter::convert(OpBuilder &b, Location loc, Value tile, const Layout &to, StringRef why) {
  Layout from = layoutOf(tile);
  if (from == to)
    return tile;
  fa::remarkPassed(pass, loc, "conversion")
      << fa::decision("layout converted for {0}: {1}", why,
                      describeCost(from, to, cast<RankedTensorType>(tile.getType())));
  auto converted = ConvertLayoutOp::create(b, loc, withLayout(tile.getType(), to), tile);
  markRole(converted, roleOfValue(tile));
  return converted;
}

void Converter::convertResult(OpResult result, const Layout &layout, StringRef why) {
  Layout ofClass = layoutOf(result);
  if (ofClass == layout)
    return;
  Operation *op = result.getOwner();
  result.setType(withLayout(result.getType(), layout));
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  Value converted = convert(b, op->getLoc(), result, ofClass, why);
  result.replaceAllUsesExcept(converted, converted.getDefiningOp());
}

/// Return a layout that gives four lanes a row, with eight columns each, where accumulators of
/// 2-byte elements have pairs of columns: shuffles within the four, but whole stores.
static std::optional<Layout> layoutOfStore(Value tile) {
  auto type = cast<RankedTensorType>(tile.getType());
  Layout from = layoutOf(tile);
  if (type.getRank() != 2 || !type.getElementType().isIntOrFloat() ||
      type.getElementTypeBitWidth() != 16 || type.getDimSize(1) % 32 != 0)
    return std::nullopt;
  // Pairs of columns of eight rows, two of these below each other, and all of that beside each
  // other.
  const Modes quads = {{4, {0, 2}}, {8, {1, 0}}}, pairs = {{2, {0, 1}}, {2, {8, 0}}};
  ArrayRef<Mode> reg = from.getReg();
  if (from.getLane() != ArrayRef<Mode>(quads) || reg.size() < 3 ||
      reg.take_front(2) != ArrayRef(pairs) || reg[2].strides != Coords{0, 8} ||
      reg[2].extent % 4 != 0)
    return std::nullopt;
  Modes wide = {{8, {0, 1}}, {2, {8, 0}}, {reg[2].extent / 4, {0, 32}}};
  llvm::append_range(wide, reg.drop_front(3));
  return Layout(2, wide, {{4, {0, 8}}, {8, {1, 0}}}, Modes(from.getWarp()));
}

void Converter::convertUses(Operation *op) {
  if (auto dot = dyn_cast<DotOp>(op)) {
    if (std::optional<Layout> wanted = graph.layoutOfA(dot))
      convertOperand(dot.getAMutable(), *wanted, "operand a of a product");
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    if (std::optional<uint64_t> dim = broadcast.getDim())
      convertOperand(broadcast.getInputMutable(), layoutOf(broadcast.getResult()).slice(*dim),
                     "a broadcast");
  } else if (auto between = dyn_cast<ColumnsBetweenOp>(op)) {
    for (OpOperand &limit : between->getOpOperands())
      convertOperand(limit, layoutOf(between.getResult()).slice(1), "limits of columns");
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Layout rows = layoutOf(reduce.getInput()).slice(reduce.getDim());
    convertOperand(reduce.getInitMutable(), rows, "a reduction");
    convertResult(cast<OpResult>(reduce.getResult()), rows, "a reduction");
  } else if (auto columns = dyn_cast<ColumnsOp>(op)) {
    convertOperand(columns.getInputMutable(), *graph.layoutAsAccumulator(columns.getInput()),
                   "columns of a tile");
    convertResult(cast<OpResult>(columns.getResult()),
                  *graph.layoutAsAccumulator(columns.getResult()), "columns of a tile");
  } else if (auto transpose = dyn_cast<TransposeOp>(op)) {
    convertResult(cast<OpResult>(transpose.getResult()), layoutOf(transpose.getInput()).transpose(),
                  "a transpose");
  } else if (auto ifAny = dyn_cast<IfAnyOp>(op)) {
    auto rows = dyn_cast<RankedTensorType>(ifAny.getRows().getType());
    bool columns = rows && rows.getRank() == 1;
    for (Value value : columns ? ifAny.getInits() : ValueRange())
      if (auto type = dyn_cast<RankedTensorType>(value.getType()); type && type.getRank() == 2)
        convertOperand(ifAny.getRowsMutable(), layoutOf(value).slice(1), "the rows of a condition");
  } else if (auto rescale = dyn_cast<RescaleOp>(op)) {
    Layout layout = layoutOf(rescale.getResult());
    if (std::optional<uint64_t> dim = rescale.getDim())
      layout = layout.slice(*dim);
    convertOperand(rescale.getFactorMutable(), layout, "a factor");
    if (rescale.getRows() && isa<RankedTensorType>(rescale.getRows().getType()))
      convertOperand(*rescale.getRowsMutable().begin(), layout, "the rows of a condition");
  } else if (auto store = dyn_cast<StoreOp>(op); store && vectorStores) {
    if (std::optional<Layout> wide = layoutOfStore(store.getValue()))
      convertOperand(store.getValueMutable(), *wide, "stores of 16 bytes");
  }
}

/// Check that all values of a region that runs or not for a warp's rows have the same rows.
static LogicalResult checkConditions(tile::FuncOp func) {
  auto rowsOf = [](Value value) {
    Layout layout = layoutOf(value);
    return layout.getRank() == 2 ? layout.slice(1) : layout;
  };
  auto check = [&](Operation *op, Value rows, ValueRange values) -> LogicalResult {
    while (isa<RanType>(rows.getType())) {
      auto ifAny = rows.getDefiningOp<IfAnyOp>();
      if (!ifAny)
        return op->emitOpError() << "takes a !tile.ran that is not the result of a tile.if_any";
      rows = ifAny.getRows();
    }
    for (Value value : values)
      if (isa<RankedTensorType>(value.getType()) && rowsOf(value) != rowsOf(rows))
        return op->emitOpError()
               << "has values whose rows different threads hold; use one tile.if_any each";
    return success();
  };
  WalkResult result = func.walk([&](Operation *op) {
    LogicalResult good = success();
    if (auto ifAny = dyn_cast<IfAnyOp>(op))
      good = check(op, ifAny.getRows(), ifAny.getInits());
    else if (auto rescale = dyn_cast<RescaleOp>(op); rescale && rescale.getRows())
      good = check(op, rescale.getRows(), rescale.getInput());
    return failed(good) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Step 5: equal copies
//===----------------------------------------------------------------------===//

static void mergeCopies(Copies &copies) {
  for (size_t i = 0; i < copies.size(); ++i) {
    for (size_t j = copies.size(); --j > i;) {
      if (copies[i]->getResultTypes() != copies[j]->getResultTypes())
        continue;
      copies[j]->replaceAllUsesWith(copies[i]);
      copies[j]->erase();
      copies.erase(copies.begin() + j);
    }
  }
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

struct AssignLayouts : tile::impl::TileAssignLayoutsBase<AssignLayouts> {
  using Base::Base;

  void runOnOperation() override {
    tile::FuncOp func = getOperation();
    std::optional<bool> async = parseProducts(func, products);
    std::optional<int64_t> warps = warpsOf(func);
    if (!async || !warps)
      return signalPassFailure();
    foldTransposes(func);
    splitLoads(func);
    SmallVector<Copies> free = copyFreeValues(func);
    LayoutGraph graph(func, *async, *warps);
    if (failed(graph.build()))
      return signalPassFailure();
    if (failed(graph.assign()))
      return signalPassFailure();
    for (Value tile : graph.getTiles())
      encode(tile, graph.layoutOf(tile));
    // A kernel without products waits for memory alone, and an exchange costs it nothing.
    bool computes = fa::holds<DotOp>(func);
    Converter converter(graph, vectorStores || !computes, *this);
    func.walk([&](Operation *op) { converter.convertUses(op); });
    if (failed(checkConditions(func)))
      return signalPassFailure();
    for (Copies &copies : free)
      mergeCopies(copies);
  }

private:
  /// Return `tile.warps`, which is set where it was absent, or nothing, after an error, where
  /// `tile.beside` does not divide it.
  std::optional<int64_t> warpsOf(tile::FuncOp func) {
    int64_t warps = func.getNumWarps();
    func->setAttr(TileDialect::kWarpsAttr, Builder(&getContext()).getI64IntegerAttr(warps));
    auto beside = func->getAttrOfType<IntegerAttr>(TileDialect::kBesideAttr);
    if (!beside || warps % beside.getInt() == 0)
      return warps;
    func.emitOpError() << TileDialect::kBesideAttr << " must divide the " << warps << " warps, got "
                       << beside;
    return std::nullopt;
  }
};

} // namespace
