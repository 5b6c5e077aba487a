//===- ControlFlow.cpp - loops, branches, and votes of a warp -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Support/Holds.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::fa::nvvm;

LogicalResult Emitter::emitBlock(Block &block) {
  for (Operation &op : block) {
    // Roles have none.
    if (op.hasTrait<OpTrait::IsTerminator>())
      break;
    b.setLoc(op.getLoc());
    if (failed(emit(&op)))
      return failure();
  }
  return success();
}

/// Pack halves of 16 bits into the pairs in which they pass through a loop or branch, so that they
/// are not taken apart and put together again on the way.
Value Emitter::pack(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type || type.getElementTypeBitWidth() != 16 || type.getNumElements() % 2 != 0)
    return value;
  return vector::BitCastOp::create(b, VectorType::get(type.getNumElements() / 2, b.getI32Type()),
                                   value);
}

Value Emitter::unpack(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return vector::BitCastOp::create(b, cast<VectorType>(type), value);
}

SmallVector<Value> Emitter::packAll(ValueRange values) {
  return llvm::map_to_vector(values, [&](Value value) { return pack(get(value)); });
}

void Emitter::setUnpacked(ValueRange from, ValueRange to) {
  for (auto [old, value] : llvm::zip_equal(from, to))
    set(old, unpack(value, convert(old.getType())));
}

/// Fill the one block of `to` with the program of `from`, its terminator an scf.yield.
LogicalResult Emitter::emitRegion(Region &from, Region &to) {
  OpBuilder::InsertionGuard guard(b);
  if (to.empty())
    b.createBlock(&to);
  b.setInsertionPointToEnd(&to.front());
  if (failed(emitBlock(from.front())))
    return failure();
  scf::YieldOp::create(b, packAll(from.front().getTerminator()->getOperands()));
  return success();
}

/// Tiles of i1 whose elements lie in words go round the loop as words.
LogicalResult Emitter::emitFor(scf::ForOp op) {
  SmallVector<bool> asWords = llvm::map_to_vector(op.getInits(), [&](Value init) {
    return getElementTypeOrSelf(init.getType()).isInteger(1) && bytesInWords.contains(init);
  });
  auto packAllFor = [&](ValueRange values) {
    SmallVector<Value> packed = packAll(values);
    for (auto [value, tile, isWords] : llvm::zip_equal(packed, values, asWords))
      value = isWords ? packWords(tile) : value;
    return packed;
  };
  auto setAll = [&](ValueRange from, ValueRange to) {
    for (auto [tile, value, isWords] : llvm::zip_equal(from, to, asWords)) {
      if (isWords)
        setFromWords(tile, value);
      else
        setUnpacked(tile, value);
    }
  };
  auto loop = scf::ForOp::create(b, get(op.getLowerBound()), get(op.getUpperBound()),
                                 get(op.getStep()), packAllFor(op.getInits()), [](auto &&...) {});
  set(op.getInductionVar(), loop.getInductionVar());
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    setAll(op.getRegionIterArgs(), loop.getRegionIterArgs());
    if (failed(emitBlock(*op.getBody())))
      return failure();
    scf::YieldOp::create(b, packAllFor(op.getBody()->getTerminator()->getOperands()));
  }
  setAll(op.getResults(), loop.getResults());
  return success();
}

LogicalResult Emitter::emitWhile(scf::WhileOp op) {
  FailureOr<SmallVector<Type>> types = packedTypes(op.getResults());
  if (failed(types))
    return failure();
  SmallVector<Value> inits = packAll(op.getInits());
  auto loop = scf::WhileOp::create(b, *types, inits);
  auto begin = [&](Block *from, Region &to, TypeRange arguments) {
    SmallVector<Location> locations(arguments.size(), op.getLoc());
    Block *block = b.createBlock(&to, to.end(), arguments, locations);
    setUnpacked(from->getArguments(), block->getArguments());
    return emitBlock(*from);
  };
  if (failed(begin(op.getBeforeBody(), loop.getBefore(), ValueRange(inits).getTypes())))
    return failure();
  scf::ConditionOp condition = op.getConditionOp();
  scf::ConditionOp::create(b, get(condition.getCondition()), packAll(condition.getArgs()));
  if (failed(begin(op.getAfterBody(), loop.getAfter(), *types)))
    return failure();
  scf::YieldOp::create(b, packAll(op.getYieldOp().getResults()));
  b.setInsertionPointAfter(loop);
  setUnpacked(op.getResults(), loop.getResults());
  return success();
}

/// Return the types that values take on their way out of a branch, see pack.
FailureOr<SmallVector<Type>> Emitter::packedTypes(ValueRange results) {
  SmallVector<Type> types;
  for (Value result : results) {
    Type type = convert(result.getType());
    if (!type)
      return LogicalResult(layoutOf(result));
    auto vector = dyn_cast<VectorType>(type);
    bool pairs =
        vector && vector.getElementTypeBitWidth() == 16 && vector.getNumElements() % 2 == 0;
    types.push_back(pairs ? VectorType::get(vector.getNumElements() / 2, b.getI32Type()) : type);
  }
  return types;
}

LogicalResult Emitter::emitIf(scf::IfOp op) {
  FailureOr<SmallVector<Type>> types = packedTypes(op.getResults());
  if (failed(types))
    return failure();
  auto branch = scf::IfOp::create(b, *types, get(op.getCondition()), /*addThenBlock=*/false,
                                  /*addElseBlock=*/false);
  // Each way waits for itself.
  bool waits = fa::holds<tile::KernelWaitOp>(op);
  auto outside = waits ? views : decltype(views)();
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), branch->getRegions())) {
    if (!from.empty() && failed(emitRegion(from, to)))
      return failure();
    if (waits)
      views = outside;
  }
  setUnpacked(op.getResults(), branch.getResults());
  if (waits)
    pinAwaited();
  return success();
}

/// Case by case, each in the other arm of the one before it.
LogicalResult Emitter::emitSwitch(scf::IndexSwitchOp op) {
  Value argument = get(op.getArg());
  FailureOr<SmallVector<Type>> types = packedTypes(op.getResults());
  if (failed(types))
    return failure();
  OpBuilder::InsertionGuard guard(b);
  scf::IfOp outermost;
  for (auto [number, region] : llvm::zip_equal(op.getCases(), op.getCaseRegions())) {
    Value is = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, argument, i64(number));
    auto branch = scf::IfOp::create(b, *types, is, /*addThenBlock=*/false, /*addElseBlock=*/false);
    if (failed(emitRegion(region, branch.getThenRegion())))
      return failure();
    if (outermost)
      scf::YieldOp::create(b, branch.getResults());
    else
      outermost = branch;
    b.createBlock(&branch.getElseRegion());
  }
  if (!outermost)
    return op.emitError() << "has no case but the default one; canonicalize it";
  if (failed(emitBlock(op.getDefaultBlock())))
    return failure();
  scf::YieldOp::create(b, packAll(op.getDefaultBlock().getTerminator()->getOperands()));
  b.setInsertionPointAfter(outermost);
  setUnpacked(op.getResults(), outermost.getResults());
  return success();
}

/// Emit whether the warp runs what is for these rows: whether the condition of any of its rows
/// holds.
Value Emitter::anyRow(Value condition) {
  Value rows = get(condition);
  if (isa<tile::RanType>(condition.getType()))
    return rows;
  // One by one: a reduction of i1 becomes a comparison of what is packed.
  Value any = extract(rows, 0);
  for (int64_t i = 1; i < cast<VectorType>(rows.getType()).getNumElements(); ++i)
    any = arith::OrIOp::create(b, any, extract(rows, i));
  Value all = i32(-1);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), all, any, NVVM::VoteSyncKind::any);
}

/// Return whether nothing reads the result where the tile.if_any did not run.
static bool isForWhereItRan(tile::IfAnyOp op, Value result) {
  return op.getRan() && llvm::all_of(result.getUses(), [&](OpOperand &use) {
           if (auto rescale = dyn_cast<tile::RescaleOp>(use.getOwner()))
             return &use == &rescale.getFactorMutable() && rescale.getRows() == op.getRan();
           auto reader = use.getOwner()->getParentOfType<tile::IfAnyOp>();
           return reader && reader.getRows() == op.getRan();
         });
}

/// Return whether the accumulator is one of asynchronous products that take longer than the
/// multiplications beside them, so that a branch on these would only part them from it.
static bool isWide(tile::RescaleOp op) {
  constexpr int64_t kWide = 256;
  return op.getDim() == 1 && op.getType().getDimSize(1) >= kWide &&
         op.getInput().getDefiningOp<tile::AwaitOp>();
}

/// Multiply elements whose factor is not 1, which is known once for a row: what is not done takes
/// no power. `spread` gives each element what its row has.
Value Emitter::multiplyWhereNotOne(Value input, Value factor,
                                   llvm::function_ref<Value(Value)> spread) {
  auto ones = cast<ShapedType>(factor.getType());
  Value one = arith::ConstantOp::create(b, DenseElementsAttr::get(ones, 1.0f));
  Value isNotOne = spread(arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, factor, one));
  factor = spread(factor);
  auto type = cast<VectorType>(input.getType());
  SmallVector<Value> elements;
  for (int64_t r = 0; r < type.getNumElements(); ++r)
    elements.push_back(ptx("@$3 mul.f32 $0, $0, $2;", "=f,0,f,b", b.getF32Type(),
                           {extract(input, r), extract(factor, r), extract(isNotOne, r)},
                           false)[0]);
  return vector::FromElementsOp::create(b, type, elements);
}

/// Branch on the rows that a rescale is for, where it is for some only.
LogicalResult Emitter::emitRescale(tile::RescaleOp op) {
  auto multiply = [&]() -> FailureOr<Value> {
    Value factor = get(op.getFactor());
    if (std::optional<uint64_t> dim = op.getDim()) {
      FailureOr<tile::Layout> from = layoutOf(op.getFactor()), to = layoutOf(op.getResult());
      if (failed(from) || failed(to))
        return failure();
      auto spreadRows = [&](Value rows) { return spread(rows, *from, *to, *dim); };
      if (!op.getRows() && isWide(op))
        return multiplyWhereNotOne(get(op.getInput()), factor, spreadRows);
      factor = spreadRows(factor);
    }
    return Value(
        arith::MulFOp::create(b, get(op.getInput()), factor, arith::FastMathFlags::contract));
  };
  if (!op.getRows()) {
    FailureOr<Value> product = multiply();
    if (succeeded(product))
      set(op, *product);
    return product;
  }
  Value any = anyRow(op.getRows()), input = get(op.getInput());
  auto branch = scf::IfOp::create(b, TypeRange(input.getType()), any, false, false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&branch.getThenRegion());
    FailureOr<Value> product = multiply();
    if (failed(product))
      return failure();
    scf::YieldOp::create(b, *product);
    b.createBlock(&branch.getElseRegion());
    scf::YieldOp::create(b, input);
  }
  set(op, branch.getResult(0));
  return success();
}

LogicalResult Emitter::emitIfAny(tile::IfAnyOp op) {
  Value any = anyRow(op.getRows());
  if (op.getRan())
    set(op.getRan(), any);
  SmallVector<Value> inits = packAll(op.getInits());
  for (auto [init, result] : llvm::zip_equal(inits, op.getResults()))
    if (isForWhereItRan(op, result))
      init = LLVM::PoisonOp::create(b, init.getType());
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(inits)), any, false, false);
  if (failed(emitRegion(op.getBody(), branch.getThenRegion())))
    return failure();
  {
    OpBuilder::InsertionGuard guard(b);
    b.createBlock(&branch.getElseRegion());
    scf::YieldOp::create(b, inits);
  }
  setUnpacked(op.getResults(), branch.getResults());
  return success();
}

/// Each lane takes a number.
LogicalResult Emitter::emitBallot(tile::BallotOp op) {
  set(op.getNumber(), toI64(lane));
  if (failed(emitBlock(op.getBody().front())))
    return failure();
  set(op, NVVM::VoteSyncOp::create(b, b.getI32Type(), i32(-1), get(op.getVote()),
                                   NVVM::VoteSyncKind::ballot));
  return success();
}

/// Each lane says whether the bit is its own: it has as many set bits below it. That number, and -1
/// where the lane's bit is not set, does not change in a loop.
void Emitter::emitNthBit(tile::NthBitOp op) {
  if (matchPattern(op.getN(), m_Zero())) {
    set(op, toI64(math::CountTrailingZerosOp::create(b, get(op.getWord()))));
    return;
  }
  Value word = get(op.getWord()), n = arith::TruncIOp::create(b, b.getI32Type(), get(op.getN()));
  Value bit = arith::ShLIOp::create(b, i32(1), lane);
  Value below = arith::AndIOp::create(b, word, arith::SubIOp::create(b, bit, i32(1)));
  Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne,
                                      arith::AndIOp::create(b, word, bit), i32(0));
  Value number = arith::SelectOp::create(b, isSet, math::CtPopOp::create(b, below), i32(-1));
  Value mine = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, number, n);
  Value vote =
      NVVM::VoteSyncOp::create(b, b.getI32Type(), i32(-1), mine, NVVM::VoteSyncKind::ballot);
  set(op, toI64(math::CountTrailingZerosOp::create(b, vote)));
}
