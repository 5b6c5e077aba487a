//===- TileToLinalg.cpp - convert-tile-to-linalg -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Turns each tile.func into a func.func over memrefs:
//   1. the function: views become memrefs, work tile ids stay index arguments;
//   2. memory ops: loops over rows that read and write whole rows as vectors,
//      masked where a row is not wholly in range (TileMemory.cpp);
//   3. values: dot, reduce, broadcast, transpose, iota and every elementwise
//      arith or math op become linalg ops on tensors, tile.if_any a branch;
//   4. loops: each value that a loop carries is written back to the buffer
//      it came in, so that bufferization needs one buffer for it.
//
// Rejects, with a location: tiles of rank above 2 in memory, element types of
// dots other than f16, bf16 and f32, tensors of unknown shape, and any op that
// has no lowering here.
//
//===----------------------------------------------------------------------===//

#include "TileToLinalg.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/Tile/IR/Ballot.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::fa {
#define GEN_PASS_DEF_CONVERTTILETOLINALG
#include "fa/Conversion/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::linalg_lowering;

//===----------------------------------------------------------------------===//
// Helpers
//===----------------------------------------------------------------------===//

MemRefType linalg_lowering::getMemRefType(tile::ViewType view) {
  MLIRContext *context = view.getContext();
  SmallVector<int64_t> strides(view.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  Type element = view.getElementType();
  if (element.isInteger(1))
    element = IntegerType::get(context, 8);
  if (element.isBF16())
    element = IntegerType::get(context, 16);
  auto layout = StridedLayoutAttr::get(context, ShapedType::kDynamic, strides);
  return MemRefType::get(view.getShape(), element, layout);
}

Value linalg_lowering::createMap(OpBuilder &builder, Location loc, RankedTensorType type,
                                 ValueRange inputs, ArrayRef<AffineMap> maps, ElementFn body) {
  int64_t rank = type.getRank();
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  SmallVector<AffineMap> allMaps(maps);
  allMaps.push_back(builder.getMultiDimIdentityMap(rank));
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto generic =
      linalg::GenericOp::create(builder, loc, type, inputs, empty, allMaps, iterators,
                                [&](OpBuilder &b, Location l, ValueRange args) {
                                  linalg::YieldOp::create(b, l, body(b, l, args.drop_back()));
                                });
  return generic.getResult(0);
}

/// Extend the operand of a dot to f32 (exact: f16 and bf16 are subsets).
static Value extendToF32(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getElementType().isF32())
    return value;
  auto f32 = type.clone(builder.getF32Type());
  return createMap(builder, loc, f32, value, builder.getMultiDimIdentityMap(type.getRank()),
                   [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                     return arith::ExtFOp::create(b, l, b.getF32Type(), args[0]);
                   });
}

static Value transpose(OpBuilder &builder, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {type.getDimSize(1), type.getDimSize(0)};
  Value empty = tensor::EmptyOp::create(builder, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(builder, loc, value, empty, ArrayRef<int64_t>{1, 0})
      ->getResult(0);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// Return a tile of one value.
static Value fill(OpBuilder &builder, Location loc, RankedTensorType type, TypedAttr value) {
  return createMap(builder, loc, type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
    return arith::ConstantOp::create(b, l, value).getResult();
  });
}

/// Append the columns of ones that a product counts b as having.
static Value appendOnes(OpBuilder &builder, Location loc, Value b, int64_t columns) {
  auto type = cast<RankedTensorType>(b.getType());
  auto wide = type.clone({type.getDimSize(0), columns});
  Value ones = fill(builder, loc, wide, builder.getOneAttr(type.getElementType()));
  SmallVector<OpFoldResult> offsets(2, builder.getIndexAttr(0)),
      strides(2, builder.getIndexAttr(1)),
      sizes{builder.getIndexAttr(type.getDimSize(0)), builder.getIndexAttr(type.getDimSize(1))};
  return tensor::InsertSliceOp::create(builder, loc, b, ones, offsets, sizes, strides);
}

static FailureOr<Value> lowerDot(RewriterBase &rewriter, tile::DotOp op) {
  Type element = cast<ShapedType>(op.getA().getType()).getElementType();
  if (!element.isF16() && !element.isBF16() && !element.isF32())
    return op.emitError() << "products of " << element
                          << " cannot be lowered to the cpu; expected f16, bf16 or f32";
  if (op.getPadded())
    return op.emitError(
        "a product has no columns behind those of b on the cpu; leave 'padded' out");
  Location loc = op.getLoc();
  Value a = extendToF32(rewriter, loc, op.getA()), b = extendToF32(rewriter, loc, op.getB());
  // Products run along rows of b, so the packing transposes here, once.
  if (op.getTransposeB())
    b = transpose(rewriter, loc, b);
  if (op.getOnes())
    b = appendOnes(rewriter, loc, b, cast<ShapedType>(op.getAcc().getType()).getDimSize(1));
  if (op.getTransposeA())
    a = transpose(rewriter, loc, a);
  // Elements of a are read one by one, in any order.
  if (auto transposed = a.getDefiningOp<linalg::TransposeOp>())
    return linalg::MatmulTransposeAOp::create(rewriter, loc, ValueRange{transposed.getInput(), b},
                                              ValueRange{op.getAcc()})
        ->getResult(0);
  return linalg::MatmulOp::create(rewriter, loc, ValueRange{a, b}, ValueRange{op.getAcc()})
      ->getResult(0);
}

static Value lowerReduce(RewriterBase &rewriter, tile::ReduceOp op) {
  auto reduce = linalg::ReduceOp::create(
      rewriter, op.getLoc(), op.getInput(), op.getInit(), ArrayRef<int64_t>{(int64_t)op.getDim()},
      [&](OpBuilder &b, Location l, ValueRange args) {
        Value result = tile::ReduceOp::combine(b, l, op.getKind(), args[0], args[1]);
        linalg::YieldOp::create(b, l, result);
      });
  return reduce->getResult(0);
}

static Value lowerBroadcast(RewriterBase &rewriter, tile::BroadcastOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Value input = op.getInput();
  if (!isa<RankedTensorType>(input.getType()))
    return createMap(rewriter, op.getLoc(), type, {}, {},
                     [&](OpBuilder &, Location, ValueRange) { return input; });
  AffineMap map = rewriter.getMultiDimIdentityMap(type.getRank()).dropResult(*op.getDim());
  return createMap(rewriter, op.getLoc(), type, input, map,
                   [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

/// Convert a tile of integers to wider or narrower ones.
template <typename Cast> static Value castTile(OpBuilder &builder, Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType()).clone(element);
  return createMap(builder, tile.getLoc(), type, tile,
                   builder.getMultiDimIdentityMap(type.getRank()),
                   [&](OpBuilder &b, Location l, ValueRange args) -> Value {
                     return Cast::create(b, l, element, args[0]);
                   });
}

/// Slices are of memory, where integers have whole bytes.
static Value lowerColumns(RewriterBase &rewriter, tile::ColumnsOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  auto element = dyn_cast<IntegerType>(type.getElementType());
  unsigned width = element ? std::max<unsigned>(8, llvm::PowerOf2Ceil(element.getWidth())) : 0;
  bool isWidened = element && width != element.getWidth();
  Value input = op.getInput();
  if (isWidened)
    input = castTile<arith::ExtUIOp>(rewriter, input, rewriter.getIntegerType(width));
  SmallVector<OpFoldResult> offsets{rewriter.getIndexAttr(0), rewriter.getIndexAttr(op.getFirst())},
      sizes{rewriter.getIndexAttr(type.getDimSize(0)), rewriter.getIndexAttr(type.getDimSize(1))},
      strides(2, rewriter.getIndexAttr(1));
  Value columns =
      tensor::ExtractSliceOp::create(rewriter, op.getLoc(), input, offsets, sizes, strides);
  return isWidened ? castTile<arith::TruncIOp>(rewriter, columns, element) : columns;
}

static Value lowerColumnsBetween(RewriterBase &rewriter, tile::ColumnsBetweenOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  SmallVector<Value> limits(op->getOperands());
  SmallVector<AffineMap> maps(limits.size(), rewriter.getMultiDimIdentityMap(2).dropResult(1));
  return createMap(
      rewriter, op.getLoc(), type, limits, maps,
      [&](OpBuilder &b, Location l, ValueRange args) -> Value {
        Value column = arith::IndexCastOp::create(b, l, b.getI32Type(),
                                                  linalg::IndexOp::create(b, l, /*dim=*/1));
        Value below, above;
        if (op.getLow())
          below = arith::CmpIOp::create(b, l, arith::CmpIPredicate::sle, args.front(), column);
        if (op.getHigh())
          above = arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, column, args.back());
        if (!below || !above)
          return below ? below : above;
        return arith::AndIOp::create(b, l, below, above);
      });
}

static Value lowerIota(RewriterBase &rewriter, tile::IotaOp op) {
  auto type = cast<RankedTensorType>(op.getResult().getType());
  return createMap(rewriter, op.getLoc(), type, {}, {}, [&](OpBuilder &b, Location l, ValueRange) {
    Value x = linalg::IndexOp::create(b, l, 0);
    if (!type.getElementType().isIndex())
      x = arith::IndexCastOp::create(b, l, type.getElementType(), x);
    return arith::AddIOp::create(b, l, op.getStart(), x).getResult();
  });
}

/// arith and math ops on tiles: the same op on elements. Scalar operands (the
/// condition of a select) are captured.
static Value lowerElementwise(RewriterBase &rewriter, Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  SmallVector<Value> inputs;
  for (Value operand : op->getOperands())
    if (isa<RankedTensorType>(operand.getType()))
      inputs.push_back(operand);
  SmallVector<AffineMap> maps(inputs.size(), rewriter.getMultiDimIdentityMap(type.getRank()));
  return createMap(
      rewriter, op->getLoc(), type, inputs, maps, [&](OpBuilder &b, Location l, ValueRange args) {
        SmallVector<Value> operands;
        for (Value operand : op->getOperands()) {
          bool tensor = isa<RankedTensorType>(operand.getType());
          operands.push_back(tensor ? args.front() : operand);
          if (tensor)
            args = args.drop_front();
        }
        OperationState state(l, op->getName(), operands, type.getElementType(), op->getAttrs());
        return b.create(state)->getResult(0);
      });
}

static FailureOr<Value> lowerConstant(RewriterBase &rewriter, arith::ConstantOp op) {
  auto dense = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!dense || !dense.isSplat())
    return op.emitError("tiles of different constants cannot be lowered to the cpu; "
                        "compute them from tile.iota");
  auto scalar = cast<TypedAttr>(dense.getSplatValue<Attribute>());
  return fill(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()), scalar);
}

/// Test the numbers one after the other.
static Value lowerBallot(RewriterBase &rewriter, tile::BallotOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  auto index = [&](int64_t value) -> Value { return arith::ConstantIndexOp::create(b, value); };
  Value none = arith::ConstantIntOp::create(b, 0, /*width=*/32);
  auto loop =
      scf::ForOp::create(b, index(0), index(tile::BallotOp::kNumbers), index(1), ValueRange{none});
  Operation *yield = op.getBody().front().getTerminator();
  Value yielded = op.getVote(), word = loop.getRegionIterArg(0);
  rewriter.eraseOp(yield);
  rewriter.mergeBlocks(&op.getBody().front(), loop.getBody(), loop.getInductionVar());
  b.setInsertionPointToEnd(loop.getBody());
  Value bit = arith::ExtUIOp::create(b, b.getI32Type(), yielded);
  bit = arith::ShLIOp::create(
      b, bit, arith::IndexCastOp::create(b, b.getI32Type(), loop.getInductionVar()));
  scf::YieldOp::create(b, Value(arith::OrIOp::create(b, word, bit)));
  return loop.getResult(0);
}

static Value lowerNthBit(RewriterBase &rewriter, tile::NthBitOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  Value n = arith::IndexCastOp::create(b, b.getI32Type(), op.getN());
  return arith::IndexCastOp::create(b, b.getIndexType(), tile::emitNthBit(b, op.getWord(), n));
}

/// Return whether an element of a tile of conditions is true.
static Value lowerAny(ImplicitLocOpBuilder &b, Value conditions) {
  auto type = cast<RankedTensorType>(conditions.getType());
  IntegerType i32 = b.getI32Type();
  Value bits = castTile<arith::ExtUIOp>(b, conditions, i32);
  while (type.getRank() > 1) {
    type = RankedTensorType::get(type.getShape().drop_front(), i32);
    Value none = fill(b, b.getLoc(), type, b.getI32IntegerAttr(0));
    auto reduce = linalg::ReduceOp::create(
        b, bits, none, ArrayRef<int64_t>{0}, [](OpBuilder &inner, Location loc, ValueRange args) {
          Value any = arith::MaxSIOp::create(inner, loc, args[0], args[1]);
          linalg::YieldOp::create(inner, loc, any);
        });
    bits = reduce->getResult(0);
  }
  // A number for each column is left.
  Value zero = arith::ConstantIntOp::create(b, 0, /*width=*/32);
  int64_t rank = type.getRank();
  SmallVector<Value> lower(rank, arith::ConstantIndexOp::create(b, 0)), upper,
      step(rank, arith::ConstantIndexOp::create(b, 1));
  for (int64_t size : type.getShape())
    upper.push_back(arith::ConstantIndexOp::create(b, size));
  scf::LoopNest nest = scf::buildLoopNest(
      b, b.getLoc(), lower, upper, step, zero,
      [&](OpBuilder &inner, Location loc, ValueRange at, ValueRange any) -> scf::ValueVector {
        Value bit = tensor::ExtractOp::create(inner, loc, bits, at);
        return {arith::OrIOp::create(inner, loc, any[0], bit)};
      });
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, nest.results[0], zero);
}

/// Branch on the whole tile, which is one group of rows; whether it ran is a condition then.
static LogicalResult lowerIfAny(RewriterBase &rewriter, tile::IfAnyOp op) {
  ImplicitLocOpBuilder b(op.getLoc(), rewriter);
  if (Value ran = op.getRan())
    for (Operation *user : ran.getUsers())
      if (!isa<tile::IfAnyOp>(user))
        return user->emitError()
               << "'" << user->getName() << "' of " << ran.getType()
               << " cannot be lowered to the cpu; only tile.if_any reads it there";
  Value any = op.getRows();
  if (isa<RankedTensorType>(any.getType()))
    any = lowerAny(b, any);
  auto choice = scf::IfOp::create(b, op.getInits().getTypes(), any, /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  Operation *yield = op.getBody().front().getTerminator();
  SmallVector<Value> values(yield->getOperands()), results(choice.getResults());
  rewriter.eraseOp(yield);
  rewriter.mergeBlocks(&op.getBody().front(), choice.thenBlock());
  b.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(b, values);
  b.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(b, op.getInits());
  if (op.getRan())
    results.push_back(any);
  rewriter.replaceOp(op, results);
  return success();
}

/// Return whether a value is what a loop made of another one, in its buffer.
static bool isCarriedFrom(Value value, Value init) {
  auto loop = value.getDefiningOp<scf::ForOp>();
  return loop && loop.getTiedLoopInit(cast<OpResult>(value))->get() == init;
}

/// Copy a loop's next value to the buffer of its current value; where
/// both are the same buffer already, nothing is copied.
static void pinCarriedTiles(RewriterBase &rewriter, scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  rewriter.setInsertionPoint(yield);
  for (auto [argument, operand] : llvm::zip_equal(loop.getRegionIterArgs(), yield->getOpOperands()))
    if (isa<RankedTensorType>(argument.getType()) && operand.get() != argument &&
        !isCarriedFrom(operand.get(), argument)) {
      auto moved = bufferization::MaterializeInDestinationOp::create(
          rewriter, loop.getLoc(), argument.getType(), operand.get(), argument);
      operand.set(moved.getResult());
    }
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static LogicalResult lowerOp(RewriterBase &rewriter, Operation *op) {
  rewriter.setInsertionPoint(op);
  FailureOr<Value> value = failure();
  if (auto load = dyn_cast<tile::LoadOp>(op)) {
    value = lowerLoad(rewriter, load);
  } else if (auto gather = dyn_cast<tile::GatherOp>(op)) {
    value = lowerGather(rewriter, gather);
  } else if (auto store = dyn_cast<tile::StoreOp>(op)) {
    if (failed(lowerStore(rewriter, store)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  } else if (auto scattered = dyn_cast<tile::ScatterOp>(op)) {
    if (failed(lowerScatter(rewriter, scattered)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  } else if (auto scatter = dyn_cast<tile::ScatterAddOp>(op)) {
    if (failed(lowerScatterAdd(rewriter, scatter)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  } else if (auto added = dyn_cast<tile::AccumulateOp>(op)) {
    if (failed(lowerAccumulate(rewriter, added)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  } else if (auto slice = dyn_cast<tile::SliceOp>(op)) {
    value = lowerSlice(rewriter, slice);
  } else if (auto dim = dyn_cast<tile::DimOp>(op)) {
    value =
        memref::DimOp::create(rewriter, op->getLoc(), dim->getOperand(0), dim.getDim()).getResult();
  } else if (auto dot = dyn_cast<tile::DotOp>(op)) {
    value = lowerDot(rewriter, dot);
  } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
    value = lowerReduce(rewriter, reduce);
  } else if (auto broadcast = dyn_cast<tile::BroadcastOp>(op)) {
    value = lowerBroadcast(rewriter, broadcast);
  } else if (isa<tile::TransposeOp>(op)) {
    value = transpose(rewriter, op->getLoc(), op->getOperand(0));
  } else if (auto columns = dyn_cast<tile::ColumnsOp>(op)) {
    value = lowerColumns(rewriter, columns);
  } else if (auto between = dyn_cast<tile::ColumnsBetweenOp>(op)) {
    value = lowerColumnsBetween(rewriter, between);
  } else if (auto iota = dyn_cast<tile::IotaOp>(op)) {
    value = lowerIota(rewriter, iota);
  } else if (auto ballot = dyn_cast<tile::BallotOp>(op)) {
    value = lowerBallot(rewriter, ballot);
  } else if (auto bit = dyn_cast<tile::NthBitOp>(op)) {
    value = lowerNthBit(rewriter, bit);
  } else if (auto any = dyn_cast<tile::IfAnyOp>(op)) {
    return lowerIfAny(rewriter, any);
  } else if (isa<tile::VoteOp, tile::YieldOp>(op)) {
    return success();
  } else if (auto bits = dyn_cast<tile::RandomBitsOp>(op)) {
    value = lowerRandomBits(rewriter, bits);
  } else if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (!isa<RankedTensorType>(constant.getType()))
      return success();
    value = lowerConstant(rewriter, constant);
  } else if (isa<tile::ReturnOp>(op)) {
    rewriter.replaceOpWithNewOp<func::ReturnOp>(op);
    return success();
  } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
    pinCarriedTiles(rewriter, loop);
    return success();
  } else if (OpTrait::hasElementwiseMappableTraits(op) && op->getNumResults() == 1 &&
             isa<RankedTensorType>(op->getResult(0).getType())) {
    value = lowerElementwise(rewriter, op);
  } else if (isa_and_nonnull<tile::TileDialect>(op->getDialect())) {
    return op->emitError() << "'" << op->getName() << "' cannot be lowered to the cpu";
  } else {
    return success();
  }
  if (failed(value))
    return failure();
  rewriter.replaceOp(op, *value);
  return success();
}

static LogicalResult lowerFunc(RewriterBase &rewriter, tile::FuncOp op) {
  SmallVector<Type> types;
  for (Type type : op.getArgumentTypes()) {
    auto view = dyn_cast<tile::ViewType>(type);
    types.push_back(view ? getMemRefType(view) : type);
  }
  auto isKnown = [](Type type) {
    auto view = dyn_cast<tile::ViewType>(type);
    Type element = view ? view.getElementType() : getElementTypeOrSelf(type);
    return !element.isInteger() || element.getIntOrFloatBitWidth() <= 64;
  };
  const char *known = "expected integers of 64 bits at most";
  for (Type type : op.getArgumentTypes()) {
    if (!isKnown(type))
      return op.emitError() << type << " cannot be lowered to the cpu; " << known;
    if (auto view = dyn_cast<tile::ViewType>(type); view && view.getOrder())
      return op.emitError()
             << type << " cannot be lowered to the cpu; expected a view that lies row by row";
  }
  SmallVector<Operation *> body;
  op.getBody().walk([&](Operation *inner) { body.push_back(inner); });
  for (Operation *inner : body) {
    bool tiles = llvm::any_of(inner->getResultTypes(), llvm::IsaPred<RankedTensorType>);
    if (tiles && OpTrait::hasElementwiseMappableTraits(inner) && inner->getNumResults() > 1)
      return inner->emitError()
             << "'" << inner->getName() << "' on tiles has " << inner->getNumResults()
             << " results; the cpu lowers ops of one, compute each by an op of its own";
    for (Type type : inner->getResultTypes()) {
      if (!isKnown(type))
        return inner->emitError() << type << " cannot be lowered to the cpu; " << known;
      if (auto tensor = dyn_cast<TensorType>(type); tensor && !tensor.hasStaticShape())
        return inner->emitError() << "a tile has a static shape here, got " << type;
    }
  }

  rewriter.setInsertionPoint(op);
  auto func = func::FuncOp::create(rewriter, op.getLoc(), op.getSymName(),
                                   rewriter.getFunctionType(types, {}));
  if (ArrayAttr attrs = op.getArgAttrsAttr())
    func.setArgAttrsAttr(attrs);
  func->setAttr(tile::TileDialect::kGridAttr, op.getGridAttr());
  func->setAttr(tile::TileDialect::kSizesAttr, op.getSizesAttr());
  func.getBody().takeBody(op.getBody());
  for (auto [argument, type] : llvm::zip_equal(func.getArguments(), types))
    argument.setType(type);
  rewriter.eraseOp(op);
  for (Operation *inner : body)
    if (failed(lowerOp(rewriter, inner)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct ConvertTileToLinalg : fa::impl::ConvertTileToLinalgBase<ConvertTileToLinalg> {
  using ConvertTileToLinalgBase::ConvertTileToLinalgBase;
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto func : llvm::make_early_inc_range(getOperation().getOps<tile::FuncOp>()))
      if (failed(lowerFunc(rewriter, func)))
        return signalPassFailure();
  }
};
} // namespace
