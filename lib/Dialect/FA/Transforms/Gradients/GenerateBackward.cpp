//===- GenerateBackward.cpp - the gradients of attention as an entry -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For an entry @f that holds an fa.attention, @f_backward is:
//
//   1. a kernel over rows: LSE, or -LSE in base 2, infinite of the other sign where LSE is -inf, so
//      that P is 0 there; delta = rowsum(do * o) - dlse, 0 where LSE is -inf, or for operands of 2
//      bytes -delta; of a sink z, also -exp(z - lse) delta, and where derivatives may be infinite,
//      whether the row may attend to z alone;
//   2. one fa.pairwise, whose weights region recomputes P from LSE and multiplies it with
//      the derivative of the score region; its sums are the gradients;
//   3. fa.sum over the rows of a head: the gradient of the sink.
//
// LSE has the sink in it, so P is what it is without one. A row that sees no key has a finite
// LSE if its sink is finite; its P is 0 by the mask.
//
// Source: Dao et al., "FlashAttention", NeurIPS 2022, appendix B.2.
//
// A capture that is read at other indices than b, h, i, j has a scatter among the sums.
//
// Requires: an entry that returns its LSE. Rejects: a score without a derivative; on request,
// scatters, which take atomics.
//
//===----------------------------------------------------------------------===//

#include "../BlockBuilder.h"
#include "Derivative.h"
#include "ScoreMagnitudes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Support/Names.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include <limits>

namespace mlir::fa {
#define GEN_PASS_DEF_FAGENERATEBACKWARD
#include "fa/Dialect/FA/Transforms/Passes.h.inc"
} // namespace mlir::fa

using namespace mlir;
using namespace mlir::fa;

namespace {

/// How many arguments of the weights come before captures: dot, dot, keep, and the position.
constexpr unsigned kNumPairArgs = 3 + AttentionOp::kNumPositionArgs;
constexpr double kInf = std::numeric_limits<double>::infinity();

/// The gradient of one argument: sums of the weights of fa.pairwise, one for each operand that it
/// is and each place at which the score reads it, added up; 0 where there is none.
struct Result {
  unsigned argument;
  SmallVector<SumAttr> sums;
  RankedTensorType type;

  bool hasProducts() const {
    return llvm::any_of(sums, [](SumAttr sum) { return sum.isProduct(); });
  }
};

/// The backward entry of one attention.
class Backward {
public:
  Backward(AttentionOp op, bool dlse, bool deterministic, ArrayRef<std::string> wanted)
      : op(op), entry(op->getParentOfType<func::FuncOp>()), b(op.getContext()), loc(op.getLoc()),
        hasDlse(dlse), deterministic(deterministic), wanted(wanted) {}
  LogicalResult generate();

private:
  LogicalResult checkNames();
  LogicalResult checkClashes();
  bool subtractsFirst();
  bool isF32() { return getElementTypeOrSelf(op.getQuery().getType()).isF32(); }
  bool isWanted(Value value);
  void addFunction();
  void nameSizes();
  void prepareRows();
  Value seesSinkAlone(BlockBuilder &r, Value natural, Value outputRows);
  Value ofSinkRows(BlockBuilder &r, Value natural, Value empty, Value sum);
  LogicalResult buildWeights();
  /// Name what the weights read of a pair's row, in the order of their last arguments; of `alone`,
  /// once something asks.
  enum class Row : uint8_t { lse, delta, alone };
  RankedTensorType typeOfRows();
  Value readRow(Row what);
  Value factored(Value ds, Value dx);
  Value clearWhereEmpty(Value adjoint);
  LogicalResult addCaptures(ArrayRef<CaptureAdjoint> adjoints, Value dx,
                            SmallVectorImpl<Value> &weights);
  std::optional<SmallVector<Axis>> axesOf(const CaptureAdjoint &adjoint, Value capture);
  void addSum(Value argument, RankedTensorType type, SumAttr sum);
  SmallVector<Value> addPairwise();
  Value sumSink();
  void addReturn(ArrayRef<Value> values);
  Value addUp(const Result &result, ValueRange parts);
  int64_t sizeOf(Axis axis);
  bool isLongerThan(const Result &result, unsigned dim, Axis axis);
  bool isAddedUp(const Result &result);
  Type typeOfSum(const Result &result, SumAttr sum);
  /// Return the argument of the backward entry for an argument of the forward's, null for null.
  Value mapped(Value value) {
    return value ? backward.getArgument(cast<BlockArgument>(value).getArgNumber()) : Value();
  }
  std::array<Value, 4> mappedSequences() {
    auto [queryStarts, keyStarts, queryLengths, keyLengths] = op.getSequences();
    return {mapped(queryStarts), mapped(keyStarts), mapped(queryLengths), mapped(keyLengths)};
  }
  StringRef nameOf(Value argument) {
    unsigned number = cast<BlockArgument>(argument).getArgNumber();
    auto name = entry.getArgAttrOfType<StringAttr>(number, FADialect::kNameAttr);
    return name ? name.getValue() : StringRef();
  }

  AttentionOp op;
  func::FuncOp entry, backward;
  OpBuilder b;
  Location loc;
  bool hasDlse, deterministic;
  ArrayRef<std::string> wanted;
  /// The names of the entry's output and LSE, and the arguments that follow its own.
  StringAttr outputName, lseName;
  Value output, lse, outputAdjoint, lseAdjoint;
  // What the weights read of rows; what a row adds to the gradient of the sink.
  SmallVector<Value> ofRows;
  Value ofSink;
  /// In the weights: P, and whether a pair may add something, once something asks.
  Value p, attends;
  Region mask, weights;
  SmallVector<Result> results;
};

} // namespace

/// Return whether P is exp2((x - lse) log2 e), which is right to f32 however large x is, and not
/// one fma, exp2(x log2 e - lse2), whose errors grow with x: those of products of operands of 2
/// bytes are small beside their own. Biases of a whole row may be -1e9, or the least number there
/// is, of which log2 e times is none.
bool Backward::subtractsFirst() { return isF32() || mayBeFar(op.getScore()); }

bool Backward::isWanted(Value value) {
  bool isFloat = isa<FloatType>(getElementTypeOrSelf(value.getType()));
  return isFloat && (wanted.empty() || llvm::is_contained(wanted, nameOf(value)));
}

/// Find the names of the results, and check those of wanted gradients.
LogicalResult Backward::checkNames() {
  if (!op.getLse())
    return op.emitError() << "the gradients of @" << escaped(entry.getSymName())
                          << " need its LSE; return it: %o, %lse = fa.attention ... -> (..., "
                             "tensor<BxHqxSqxf32>)";
  for (auto [i, value] : llvm::enumerate(entry.front().getTerminator()->getOperands())) {
    if (value.getDefiningOp() != op)
      return op.emitError("gradients need an entry that returns the results of this fa.attention "
                          "alone; put what else there is into functions of their own");
    bool isLse = value == op.getLse();
    auto name = entry.getResultAttrOfType<StringAttr>(i, FADialect::kNameAttr);
    (isLse ? lseName : outputName) = name ? name : b.getStringAttr(isLse ? "lse" : "o");
  }
  if (!lseName || !outputName)
    return op.emitError() << "the gradients of @" << escaped(entry.getSymName())
                          << " need its output and its LSE; return both";
  SmallVector<std::string> names;
  for (BlockArgument argument : entry.getArguments()) {
    bool read = llvm::is_contained({op.getQuery(), op.getKey(), op.getValue()}, argument) ||
                argument == op.getSink() || llvm::is_contained(op.getCaptures(), argument);
    if (read && isa<FloatType>(getElementTypeOrSelf(argument.getType())))
      names.push_back(nameOf(argument).str());
  }
  for (const std::string &name : wanted) {
    if (llvm::is_contained(names, name))
      continue;
    InFlightDiagnostic error = entry.emitError()
                               << "entry @" << escaped(entry.getSymName())
                               << " has no query, key, value, sink or capture of floats with the "
                                  "name '"
                               << escaped(name) << "' to compute the gradient of; choose from ";
    llvm::interleaveComma(names, error, [&](const std::string &known) { error << escaped(known); });
    return error;
  }
  for (Value value : {op.getQuery(), op.getKey(), op.getValue()})
    if (!isa<BlockArgument>(value))
      return op.emitError("gradients need a query, a key and a value that are arguments of the "
                          "entry; pass what is computed before to another entry");
  SmallVector<Value> others(op.getCaptures());
  if (op.getSink())
    others.push_back(op.getSink());
  for (Value value : op.getSequences())
    if (value)
      others.push_back(value);
  if (op.hasDropout())
    others.append({op.getDropoutP(), op.getDropoutSeed(), op.getDropoutOffset()});
  if (!llvm::all_of(others, llvm::IsaPred<BlockArgument>))
    return op.emitError("gradients need captures, a sink, starts, lengths and dropout that are "
                        "arguments of the entry; pass what is computed before to another entry");
  if (op.hasSequences() && (op.getQuery() == op.getKey() || op.getQuery() == op.getValue() ||
                            op.getKey() == op.getValue()))
    return op.emitError("gradients of sequences need a query, a key and a value that are different "
                        "arguments, for each has rows of its own; pass one tensor several times");
  if (llvm::is_contained(op.getCaptures(), op.getSink()))
    return op.emitError("gradients need a sink that is no capture; pass it twice");
  return success();
}

/// Check that what the backward takes and returns besides has names that no argument has.
LogicalResult Backward::checkClashes() {
  SmallVector<std::pair<std::string, StringRef>> added = {
      {outputName.str(), "output that the backward takes"},
      {lseName.str(), "LSE that the backward takes"},
      {"d" + outputName.str(), "gradient that the backward takes"}};
  if (hasDlse)
    added.push_back({"d" + lseName.str(), "gradient that the backward takes"});
  SmallVector<Value> values = {op.getQuery(), op.getKey(), op.getValue()};
  llvm::append_range(values, op.getCaptures());
  if (op.getSink())
    values.push_back(op.getSink());
  for (Value value : values)
    if (isWanted(value))
      added.push_back({("d" + nameOf(value)).str(), "gradient that the backward returns"});
  for (BlockArgument argument : entry.getArguments())
    for (auto &[name, what] : added)
      if (nameOf(argument) == name)
        return entry.emitError() << "argument '" << escaped(name) << "' has the name of the "
                                 << what << "; rename it";
  for (auto &[name, what] : added)
    for (auto &[other, role] : added)
      if (name == other && what != role)
        return entry.emitError() << "'" << escaped(name) << "' is the name of the " << what
                                 << " and of the " << role << "; rename a result of the entry";
  std::string own = entry.getSymName().str() + "_backward";
  for (auto other : entry->getParentOfType<ModuleOp>().getOps<func::FuncOp>())
    if (other.getSymName() == own || other.getSymName().starts_with(own + "_"))
      return other.emitError() << "@" << escaped(other.getSymName())
                               << " has a name of the gradients of @" << escaped(entry.getSymName())
                               << " and their kernels; rename it";
  return success();
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

void Backward::addFunction() {
  SmallVector<Type> inputs = llvm::to_vector(entry.getArgumentTypes());
  inputs.append({op.getOutput().getType(), op.getLse().getType(), op.getOutput().getType()});
  if (hasDlse)
    inputs.push_back(op.getLse().getType());
  b.setInsertionPointAfter(entry);
  backward = func::FuncOp::create(b, loc, (entry.getSymName() + "_backward").str(),
                                  b.getFunctionType(inputs, {}));
  Block *body = backward.addEntryBlock();
  unsigned count = entry.getNumArguments();
  for (unsigned i = 0; i < count; ++i) {
    backward.setArgAttrs(i, entry.getArgAttrDict(i));
    named(body->getArgument(i), nameOf(entry.getArgument(i)));
  }
  auto add = [&](unsigned number, const Twine &name) {
    backward.setArgAttr(number, FADialect::kNameAttr, b.getStringAttr(name));
    return named(body->getArgument(number), name.str());
  };
  output = add(count, outputName.getValue());
  lse = add(count + 1, lseName.getValue());
  outputAdjoint = add(count + 2, "d" + outputName.getValue());
  if (hasDlse)
    lseAdjoint = add(count + 3, "d" + lseName.getValue());
  b.setInsertionPointToEnd(body);
}

/// Return whether these are the axes that the dimensions of a capture of floats count as that has
/// no names for them: the last ones of (B, Hq, Sq, Sk), or a head. Others may be of any size.
static bool countsAs(ArrayRef<Axis> axes) {
  static constexpr Axis kAxes[] = {Axis::b, Axis::h, Axis::rows, Axis::keys};
  if (axes.size() > std::size(kAxes))
    return false;
  auto last =
      axes.size() == 1 ? ArrayRef(kAxes).slice(1, 1) : ArrayRef(kAxes).take_back(axes.size());
  return llvm::all_of(llvm::zip_equal(axes, last), [](auto pair) {
    auto [axis, usual] = pair;
    return axis == usual || axis == Axis::one;
  });
}

/// Name the sizes of arguments, so that a launch checks that they agree.
void Backward::nameSizes() {
  auto name = [&](Value value, ArrayRef<StringRef> dims) {
    unsigned number = value ? cast<BlockArgument>(value).getArgNumber() : 0;
    if (value && !backward.getArgAttr(number, FADialect::kDimsAttr))
      backward.setArgAttr(number, FADialect::kDimsAttr, b.getStrArrayAttr(dims));
  };
  nameOperands(op, [&](Value value, ArrayRef<StringRef> dims) {
    if (isa<BlockArgument>(value))
      return name(mapped(value), dims);
    bool isLse = value == op.getLse();
    name(isLse ? lse : output, dims);
    name(isLse ? lseAdjoint : outputAdjoint, dims);
  });
  for (const Result &result : results) {
    if (result.sums.size() != 1 || result.hasProducts() || result.sums.front().isScatter())
      continue;
    ArrayRef<Axis> axes = result.sums.front().getAxes();
    if (axes.empty() || !countsAs(axes))
      continue;
    name(backward.getArgument(result.argument),
         llvm::map_to_vector(axes, [](Axis axis) { return sizeName(axis); }));
  }
}

/// Emit whether rows may attend to their sink alone: it is finite, LSE is the sink, but for
/// roundings between the bases of logarithms, and all of the output is 0. NaN of the output is not.
Value Backward::seesSinkAlone(BlockBuilder &r, Value natural, Value outputRows) {
  OpBuilder &inner = r.b;
  constexpr double kRoundings = 1e-6;
  auto absolute = [&](Value value) -> Value { return math::AbsFOp::create(inner, loc, value); };
  auto holds = [&](arith::CmpFPredicate predicate, Value x, Value y) -> Value {
    return arith::CmpFOp::create(inner, loc, predicate, x, y);
  };
  Value sink = r.loadOfHead(mapped(op.getSink())), zero = r.splat(0.0, r.rowType());
  Value size = absolute(sink);
  Value isFinite = holds(arith::CmpFPredicate::OLT, size, r.splat(kInf, r.rowType()));
  Value isSink = holds(arith::CmpFPredicate::OLE, absolute(r.difference(natural, sink)),
                       r.mul(size, r.splat(kRoundings, r.rowType())));
  Value sum = r.reduce(tile::Reduction::addf, absolute(outputRows), zero);
  Value alone = arith::AndIOp::create(inner, loc, isFinite, isSink);
  return arith::AndIOp::create(inner, loc, alone, holds(arith::CmpFPredicate::OEQ, sum, zero));
}

/// Emit what rows add to the gradient of the sink: -exp(z - lse) delta.
Value Backward::ofSinkRows(BlockBuilder &r, Value natural, Value empty, Value sum) {
  Value sink = named(r.loadOfHead(mapped(op.getSink())), "sink");
  // Where LSE is -inf, so is the sink: +inf instead makes that 0, not NaN.
  Value whole = arith::SelectOp::create(r.b, loc, empty, r.splat(kInf, r.rowType()), natural);
  Value p = named(r.exp(r.difference(sink, whole)), "p_sink");
  return r.difference(r.splat(0.0, r.rowType()), r.mul(p, sum));
}

/// Emit the kernel over rows.
void Backward::prepareRows() {
  auto type = cast<RankedTensorType>(op.getLse().getType());
  Value query = mapped(op.getQuery()), key = mapped(op.getKey());
  bool wantsSink = op.getSink() && isWanted(op.getSink());
  std::string name = (backward.getSymName() + "_prepare").str();
  Value starts = mapped(op.getQueryStarts());
  // Those that the weights take last are numbers of rows.
  size_t count = weights.getNumArguments() - kNumPairArgs - op.getCaptures().size();
  SmallVector<Type> types(count, typeOfRows());
  SmallVector<Attribute> places(count, placesOf(starts, kRowsOfNumbers, b.getContext()));
  ArrayRef<Axis> axes = ArrayRef(kRowAxes).drop_front(starts ? 1 : 0);
  SmallVector<Attribute> sizes(count, sizesOf(axes, query, key));
  SmallVector<Attribute> divisors(count,
                                  b.getDenseI64ArrayAttr(SmallVector<int64_t>(type.getRank(), 1)));
  SmallVector<Axis> sinkAxes = axesOfParts(kRowAxes, query, key);
  if (wantsSink) {
    sizes.push_back(sizesOf(sinkAxes, query, key));
    SmallVector<int64_t> shape(type.getShape());
    if (starts)
      shape.insert(shape.begin(), 1);
    shape.back() = ShapedType::kDynamic;
    types.push_back(type.clone(shape));
    // One number a block; sequences have one block more, each.
    places.push_back(placesOf(starts, /*box=*/1, b.getContext(), /*dim=*/shape.size() - 1));
    SmallVector<int64_t> by(shape.size(), 1);
    by.back() = FADialect::kByBlock;
    divisors.push_back(b.getDenseI64ArrayAttr(by));
  }
  auto block = MapBlocksOp::create(b, loc, name, query, axes, types, ValueRange(), starts);
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizes));
  if (starts)
    block->setAttr(FADialect::kPlacesAttr, b.getArrayAttr(places));
  if (wantsSink)
    block->setAttr(FADialect::kDivisorsAttr, b.getArrayAttr(divisors));
  OpBuilder inner(b);
  BlockBuilder r(inner, loc);
  r.enter(block, query, key, mappedSequences());
  auto wide = [&](Value tensor) { return r.convert(r.loadRows(r.rowsOf(tensor)), b.getF32Type()); };
  Value outputRows = named(wide(output), "o_tile");
  Value product = r.mul(outputRows, named(wide(outputAdjoint), "do_tile"));
  Value sum = r.reduce(tile::Reduction::addf, product, r.splat(0.0, r.rowType()));
  auto loadRow = [&](Value tensor) -> Value {
    Value indices[] = {r.batch, r.head, r.row};
    int64_t along = axes.size() - 1;
    return tile::LoadOp::create(inner, loc, r.rowType(), r.rowsOf(tensor),
                                ArrayRef(indices).take_back(axes.size()), along);
  };
  if (lseAdjoint)
    sum = r.difference(sum, loadRow(lseAdjoint));
  Value natural = loadRow(lse);
  Value empty = arith::CmpFOp::create(inner, loc, arith::CmpFPredicate::OEQ, natural,
                                      r.splat(-kInf, r.rowType()));
  // A dLSE that is not finite reaches nothing from there.
  if (lseAdjoint)
    sum = arith::SelectOp::create(inner, loc, empty, r.splat(0.0, r.rowType()), sum);
  // What is subtracted, or negated what is added: a fused multiply-add takes that as it is.
  double sign = subtractsFirst() ? 1 : -1;
  Value based = subtractsFirst() ? natural : r.mul(natural, r.splat(sign * kLog2E, r.rowType()));
  Value subtracted = sum;
  if (op.hasDropout()) {
    // Weights are f P and f P (dP - delta / f), f the factor on what is kept: P takes it from here.
    Value factor = r.keptScale(mapped(op.getDropoutP())).first;
    Value log = subtractsFirst() ? math::LogOp::create(inner, loc, factor).getResult()
                                 : math::Log2Op::create(inner, loc, factor).getResult();
    Value logs = tile::BroadcastOp::create(inner, loc, r.rowType(), log);
    based = subtractsFirst() ? r.difference(based, logs) : r.add(based, logs);
    Value one = arith::ConstantOp::create(inner, loc, inner.getF32FloatAttr(1));
    Value inverse = arith::DivFOp::create(inner, loc, one, factor);
    subtracted = r.mul(sum, tile::BroadcastOp::create(inner, loc, r.rowType(), inverse));
  }
  based = arith::SelectOp::create(inner, loc, empty, r.splat(sign * kInf, r.rowType()), based);
  r.storeNumbers(named(based, "row_lse"), block.getResultView(0));
  Value added = isF32() ? subtracted : r.mul(subtracted, r.splat(-1, r.rowType()));
  r.storeNumbers(named(added, "delta"), block.getResultView(1));
  if (count > static_cast<size_t>(Row::alone)) {
    Value alone = seesSinkAlone(r, natural, outputRows);
    Value number = arith::SelectOp::create(inner, loc, alone, r.splat(1.0, r.rowType()),
                                           r.splat(0.0, r.rowType()));
    r.storeNumbers(named(number, "alone"), block.getResultView(count - 1));
  }
  llvm::append_range(ofRows, block.getResults().take_front(count));
  if (!wantsSink)
    return;
  Value parts = ofSinkRows(r, natural, empty, sum);
  r.storeSum(named(parts, "dsink_rows"), block, block.getResultView(count), sinkAxes);
  ofSink = block.getResult(count);
}

//===----------------------------------------------------------------------===//
// The weights
//===----------------------------------------------------------------------===//

/// Return the axes that a read of a capture indexes, each once; nothing for other indices, and of
/// sequences for what is not of a head alone: positions in those are none in a tensor of them all.
std::optional<SmallVector<Axis>> Backward::axesOf(const CaptureAdjoint &adjoint, Value capture) {
  // dot, dot, keep come first, then b, h, i, j.
  constexpr unsigned kFirst = 3;
  static constexpr Axis kPositions[] = {Axis::b, Axis::h, Axis::rows, Axis::keys};
  SmallVector<Axis> axes;
  for (auto [d, index] : llvm::enumerate(adjoint.indices)) {
    if (matchPattern(index, m_Zero()) &&
        cast<RankedTensorType>(capture.getType()).getDimSize(d) == 1) {
      axes.push_back(Axis::one);
      continue;
    }
    auto argument = dyn_cast<BlockArgument>(index);
    unsigned number = argument ? argument.getArgNumber() - kFirst : ~0u;
    if (number >= std::size(kPositions) || llvm::is_contained(axes, kPositions[number]) ||
        (op.hasSequences() && kPositions[number] != Axis::h))
      return std::nullopt;
    axes.push_back(kPositions[number]);
  }
  return axes;
}

/// Add a sum to the gradient of an argument.
void Backward::addSum(Value argument, RankedTensorType type, SumAttr sum) {
  unsigned number = cast<BlockArgument>(argument).getArgNumber();
  auto *known =
      llvm::find_if(results, [&](const Result &result) { return result.argument == number; });
  if (known == results.end()) {
    results.push_back({number, {}, type});
    known = &results.back();
  }
  if (sum)
    known->sums.push_back(sum);
}

/// Return the type of what the weights read of rows: that of LSE. Places of sequences are more rows
/// than there are queries.
RankedTensorType Backward::typeOfRows() {
  auto type = cast<RankedTensorType>(op.getLse().getType());
  SmallVector<int64_t> shape(type.getShape());
  if (op.getQueryStarts())
    shape.back() = ShapedType::kDynamic;
  return type.clone(shape);
}

/// Emit the read of a number of the pair's row.
Value Backward::readRow(Row what) {
  ValueRange arguments = weights.front().getArguments();
  Value tensor = arguments[kNumPairArgs + op.getCaptures().size() + static_cast<size_t>(what)];
  // b, h, i; rows of sequences in a row have no b.
  return tensor::ExtractOp::create(b, loc, tensor,
                                   arguments.slice(3, 3).take_back(typeOfRows().getRank()));
}

/// Clear an adjoint in rows that attend to no key, where P is 0 and what it is multiplied by may be
/// infinite. The LSE of such a row is a mark; that of scores of +inf looks alike, but its delta is
/// NaN, which the adjoint stays. Beside a sink the row has a mark of its own: what it attends to so
/// little that P is not 0 stays.
Value Backward::clearWhereEmpty(Value adjoint) {
  if (!attends) {
    Value lseOfRow = readRow(Row::lse), deltaOfRow = readRow(Row::delta);
    auto mark =
        arith::ConstantOp::create(b, loc, b.getF32FloatAttr(subtractsFirst() ? kInf : -kInf));
    Value isOther = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, lseOfRow, mark);
    Value isNaN = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, deltaOfRow, deltaOfRow);
    attends = arith::OrIOp::create(b, loc, isOther, isNaN);
    if (op.getSink()) {
      auto zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
      auto is = [&](arith::CmpFPredicate predicate, Value x) -> Value {
        return arith::CmpFOp::create(b, loc, predicate, x, zero);
      };
      Value sees = arith::OrIOp::create(b, loc, is(arith::CmpFPredicate::UNE, p),
                                        is(arith::CmpFPredicate::OEQ, readRow(Row::alone)));
      attends = arith::AndIOp::create(b, loc, attends, sees);
    }
  }
  auto zero = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(0));
  return arith::SelectOp::create(b, loc, attends, adjoint, zero);
}

/// Add the weights and results of the gradients of captures.
LogicalResult Backward::addCaptures(ArrayRef<CaptureAdjoint> adjoints, Value dx,
                                    SmallVectorImpl<Value> &values) {
  Block &body = weights.front();
  for (auto [i, capture] : llvm::enumerate(op.getCaptures())) {
    if (!isWanted(capture))
      continue;
    auto type = dyn_cast<RankedTensorType>(capture.getType());
    if (!type || type.getRank() == 0)
      type = RankedTensorType::get({1}, getElementTypeOrSelf(capture.getType()));
    // One weight for each place; computed indices are places of their own.
    struct Place {
      std::optional<SmallVector<Axis>> axes;
      SmallVector<Value> indices;
      Value weight;
    };
    SmallVector<Place> places;
    for (const CaptureAdjoint &adjoint : adjoints) {
      if (adjoint.capture != body.getArgument(kNumPairArgs + i))
        continue;
      auto read = axesOf(adjoint, capture);
      if (!read && deterministic)
        return op.emitError()
               << "the gradient of '" << escaped(nameOf(capture))
               << "' takes atomics, which add in any order: the score reads it at an index that is "
                  "not b, h, i or j, or at one of them twice, or of sequences at another than h; "
                  "leave out deterministic, or choose the gradients without it (gradients=...)";
      Value value = adjoint.adjoint;
      if (!value.getType().isF32())
        value = arith::TruncFOp::create(b, loc, b.getF32Type(), value);
      auto *known = llvm::find_if(places, [&](const Place &place) {
        return place.axes == read && (read || place.indices == adjoint.indices);
      });
      if (known == places.end())
        places.push_back({read, adjoint.indices, value});
      else
        known->weight = arith::AddFOp::create(b, loc, known->weight, value);
    }
    addSum(capture, type, SumAttr());
    for (Place &place : places) {
      int64_t weight = values.size();
      values.push_back(isFinite(place.weight, dx) ? place.weight : clearWhereEmpty(place.weight));
      if (place.axes) {
        addSum(capture, type, SumAttr::get(op.getContext(), weight, *place.axes));
        continue;
      }
      SmallVector<int64_t> positions;
      for (Value index : place.indices) {
        positions.push_back(values.size());
        values.push_back(index);
      }
      addSum(capture, type,
             SumAttr::get(op.getContext(), weight, {}, -1, FloatAttr(), i, positions));
    }
  }
  return success();
}

/// Multiply the factors of `ds`, where it is dx = P (dP - delta) times some, with P first: that is
/// done beside the product that makes dP, and only one tile is kept until then. Constants become
/// one, or none: those of a softcap, c and 1 / c, make 1 but for a rounding.
Value Backward::factored(Value ds, Value dx) {
  SmallVector<Value> factors;
  Value value = ds;
  double constant = 1;
  while (value != dx) {
    if (auto [x, factor] = splitProduct(value); x != value) {
      constant *= factor;
      value = x;
      continue;
    }
    auto product = value.getDefiningOp<arith::MulFOp>();
    if (!product)
      return ds;
    factors.push_back(product.getRhs());
    value = product.getLhs();
  }
  float collected = static_cast<float>(constant);
  if (value == ds || !std::isnormal(collected))
    return ds;
  auto product = dx.getDefiningOp<arith::MulFOp>();
  value = product.getLhs();
  for (Value factor : llvm::reverse(factors))
    value = arith::MulFOp::create(b, loc, value, factor);
  if (std::abs(constant - 1) > 0x1p-24) {
    auto number = b.getF32FloatAttr(collected);
    value = arith::MulFOp::create(b, loc, value, arith::ConstantOp::create(b, loc, number));
  }
  return arith::MulFOp::create(b, loc, value, product.getRhs());
}

/// Multiply the score that a region reads by the scale, and by what the region itself multiplies it
/// by first, in one product as the forward does, so that both round a score alike.
static void applyScale(OpBuilder &b, Location loc, BlockArgument score, double scale) {
  Operation *first = score.hasOneUse() ? *score.user_begin() : nullptr;
  Value product = first && first->getNumResults() == 1 ? first->getResult(0) : Value();
  auto [x, factor] = product ? splitProduct(product) : std::pair<Value, double>(nullptr, 1);
  // So small a scale leaves no room for factors.
  bool merges = x == score && std::abs(scale) >= 0x1p-60;
  if (merges)
    scale *= factor;
  b.setInsertionPointToStart(score.getOwner());
  auto number = b.getF32FloatAttr(static_cast<float>(scale));
  auto scaled = arith::MulFOp::create(b, loc, score, arith::ConstantOp::create(b, loc, number),
                                      arith::FastMathFlags::contract);
  if (merges) {
    product.replaceAllUsesWith(scaled);
    first->erase();
  } else {
    score.replaceAllUsesExcept(scaled, scaled);
  }
}

LogicalResult Backward::buildWeights() {
  OpBuilder::InsertionGuard guard(b);
  Type f32 = b.getF32Type(), index = b.getIndexType();
  SmallVector<Type> captures = llvm::to_vector(op.getCaptures().getTypes());
  captures.append(static_cast<size_t>(Row::alone) + 1, typeOfRows());

  SmallVector<Type> types(3, f32);
  types.append(AttentionOp::kNumPositionArgs, index);
  llvm::append_range(types, captures);
  Block *body = b.createBlock(&weights, {}, types, SmallVector<Location>(types.size(), loc));
  BlockArgument score = body->getArgument(0);
  Value dp = body->getArgument(1), keep = body->getArgument(2);
  Value x = score;
  if (!op.getScore().empty()) {
    IRMapping mapping;
    mapping.map(op.getScore().getArgument(0), score);
    mapping.map(op.getScore().getArguments().drop_front(),
                body->getArguments().slice(3, op.getScore().getNumArguments() - 1));
    for (Operation &inner : op.getScore().front().without_terminator())
      b.clone(inner, mapping);
    x = mapping.lookup(op.getScore().front().getTerminator()->getOperand(0));
  }
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
  };
  auto contract = arith::FastMathFlags::contract;
  // Without a score region the scale is part of the exponent's factor.
  double scale = op.getScaleValue();
  bool plain = op.getScore().empty();
  Value exponent;
  if (subtractsFirst()) {
    if (plain)
      x = arith::MulFOp::create(b, loc, x, constant(scale));
    exponent = arith::MulFOp::create(b, loc, arith::SubFOp::create(b, loc, x, readRow(Row::lse)),
                                     constant(kLog2E));
  } else {
    // What the score is multiplied by last is part of that factor, too.
    auto [before, last] = splitProduct(x);
    exponent =
        arith::MulFOp::create(b, loc, before, constant((plain ? scale : last) * kLog2E), contract);
    exponent = arith::AddFOp::create(b, loc, exponent, readRow(Row::lse), contract);
  }
  p = math::Exp2Op::create(b, loc, exponent);
  Value less = isF32() ? arith::SubFOp::create(b, loc, dp, readRow(Row::delta)).getResult()
                       : arith::AddFOp::create(b, loc, dp, readRow(Row::delta)).getResult();
  Value kept = p;
  if (op.hasDropout()) {
    // A product may begin with what is added to it, so that is selected too, not 0 before the sum.
    Value dropped = isF32() ? arith::NegFOp::create(b, loc, readRow(Row::delta)).getResult()
                            : readRow(Row::delta);
    Value keeps = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNE, keep, constant(0));
    kept = arith::SelectOp::create(b, loc, keeps, p, constant(0));
    less = arith::SelectOp::create(b, loc, keeps, less, dropped);
  }
  Value dx = arith::MulFOp::create(b, loc, p, less);
  Value ds = dx;
  FailureOr<Adjoints> adjoints = Adjoints();
  if (!plain) {
    ValueRange captured = body->getArguments().slice(kNumPairArgs, op.getCaptures().size());
    adjoints = emitAdjoints(b, *body, x, dx, score, [&](BlockArgument argument) {
      if (argument == score)
        return isWanted(op.getQuery()) || isWanted(op.getKey());
      auto place = llvm::find(captured, argument);
      return place == captured.end() || isWanted(op.getCaptures()[place - captured.begin()]);
    });
    if (failed(adjoints))
      return failure();
    ds = adjoints->arguments.front();
    bool staysFinite = !ds || isFinite(ds, dx);
    ds = ds ? factored(ds, dx) : constant(0);
    if (!staysFinite)
      ds = clearWhereEmpty(ds);
    if (Operation *last = x.getDefiningOp(); last && last->use_empty())
      last->erase();
    applyScale(b, loc, score, scale);
    b.setInsertionPointToEnd(body);
  }

  SmallVector<Value> values{kept, ds};
  auto product = [&](Value operand, int64_t weight, ArrayRef<Axis> axes, int64_t times,
                     double factor) {
    if (isWanted(operand))
      addSum(operand, cast<RankedTensorType>(operand.getType()),
             SumAttr::get(op.getContext(), weight, axes, times,
                          factor == 1 ? FloatAttr() : b.getF64FloatAttr(factor)));
  };
  product(op.getQuery(), 1, kRowAxes, 0, scale);
  product(op.getKey(), 1, kKeyAxes, 0, scale);
  product(op.getValue(), 0, kKeyAxes, 1, 1);
  if (failed(addCaptures(adjoints->captures, dx, values)))
    return failure();
  YieldOp::create(b, loc, values);
  if (body->getArguments().back().use_empty())
    body->eraseArgument(body->getNumArguments() - 1);
  if (!op.getMask().empty()) {
    IRMapping mapping;
    op.getMask().cloneInto(&mask, mapping);
    for (BlockArgument ofRow :
         body->getArguments().drop_front(kNumPairArgs + op.getCaptures().size()))
      mask.addArgument(ofRow.getType(), loc);
  }
  return success();
}

/// Emit a kernel that adds up parts of a gradient, of f32, or zeros without any: by blocks of rows
/// for an operand, else in one block, for scores that read a capture at several places are rare.
Value Backward::addUp(const Result &result, ValueRange parts) {
  constexpr int64_t kSpan = 128;
  std::string name = (backward.getSymName() + "_add_" + std::to_string(result.argument)).str();
  Value argument = backward.getArgument(result.argument);
  bool byRows = result.hasProducts();
  auto block = MapBlocksOp::create(b, loc, name, byRows ? argument : mapped(op.getQuery()),
                                   byRows ? ArrayRef(kRowAxes) : ArrayRef<Axis>(), result.type);
  OpBuilder inner(b);
  BlockBuilder r(inner, loc);
  inner.setInsertionPoint(block.getBody()->getTerminator());
  bool isWide =
      llvm::any_of(parts, [](Value part) { return getElementTypeOrSelf(part.getType()).isF64(); });
  Type element = isWide ? Type(inner.getF64Type()) : Type(inner.getF32Type());
  auto addParts = [&](Value sum, function_ref<Value(Value)> load) {
    for (Value part : parts) {
      Value loaded = r.convert(load(part), element);
      sum = sum ? r.add(sum, loaded) : loaded;
    }
    return sum;
  };
  if (byRows) {
    block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(argument)));
    r.enter(block, argument, argument);
    Value sum =
        addParts({}, [&](Value part) { return r.loadRows(part, result.type.getShape().back()); });
    r.store(r.convert(named(sum, "sum"), result.type.getElementType()), block.getResultView(0),
            kRowAxes);
    return block.getResult(0);
  }
  SmallVector<Value> indices = r.forSpans(argument, {}, kSpan);
  int64_t along[] = {result.type.getRank() - 1};
  // Without parts it is 0.
  Value zeros = r.splat(0.0, RankedTensorType::get({kSpan}, element));
  Value sum = addParts(zeros, [&](Value part) -> Value {
    auto type = RankedTensorType::get({kSpan}, getElementTypeOrSelf(part.getType()));
    return tile::LoadOp::create(inner, loc, type, part, indices, along);
  });
  tile::StoreOp::create(inner, loc, r.convert(sum, result.type.getElementType()),
                        block.getResultView(0), indices, along);
  return block.getResult(0);
}

/// Return how many indices an axis has.
int64_t Backward::sizeOf(Axis axis) {
  auto operand =
      cast<RankedTensorType>(operandOf(axis, mapped(op.getQuery()), mapped(op.getKey())).getType());
  return operand.getDimSize(dimensionIn(axis, operand));
}

/// Return whether an argument may have another size in a dimension than an axis has: one that the
/// user gave another name, or number.
bool Backward::isLongerThan(const Result &result, unsigned dim, Axis axis) {
  if (axis == Axis::one)
    return false;
  auto dims = backward.getArgAttrOfType<ArrayAttr>(result.argument, FADialect::kDimsAttr);
  if (dims && cast<StringAttr>(dims[dim]).getValue() == sizeName(axis))
    return false;
  int64_t size = sizeOf(axis);
  return ShapedType::isDynamic(size) || size != result.type.getDimSize(dim);
}

/// Return the type in which a sum is added up: f32, but where a scatter is as precise as a program
/// in f32, for one of its elements may have as many terms as there are pairs.
Type Backward::typeOfSum(const Result &result, SumAttr sum) {
  bool isWide = sum.isScatter() && getElementTypeOrSelf(op.getQuery().getType()).isF32() &&
                result.type.getElementTypeBitWidth() >= 32;
  return isWide ? Type(b.getF64Type()) : Type(b.getF32Type());
}

/// Return whether a kernel makes the gradient of the sums: there is not one, or it is a scatter
/// that is added up in another type, or has another number for a size than the argument.
bool Backward::isAddedUp(const Result &result) {
  if (result.sums.size() != 1)
    return true;
  SumAttr sum = result.sums.front();
  if (sum.isScatter() || sum.isProduct())
    return sum.isScatter() && result.type.getElementType() != typeOfSum(result, sum);
  return llvm::any_of(llvm::enumerate(sum.getAxes()), [&](auto each) {
    int64_t own = result.type.getDimSize(each.index());
    int64_t size = each.value() == Axis::one ? own : sizeOf(each.value());
    return own != size && !ShapedType::isDynamic(own) && !ShapedType::isDynamic(size);
  });
}

/// Emit the sums over pairs; return the gradients that they are.
SmallVector<Value> Backward::addPairwise() {
  if (results.empty())
    return {};
  SmallVector<Value> captures, dropout;
  for (Value capture : op.getCaptures())
    captures.push_back(mapped(capture));
  llvm::append_range(captures, ofRows);
  if (op.hasDropout())
    for (Value value : {op.getDropoutP(), op.getDropoutSeed(), op.getDropoutOffset()})
      dropout.push_back(mapped(value));
  SmallVector<Type> types;
  SmallVector<Attribute> sums;
  for (const Result &result : results)
    for (SumAttr sum : result.sums) {
      sums.push_back(sum);
      if (!isAddedUp(result)) {
        types.push_back(result.type);
        continue;
      }
      // A part ends where what is read of the argument does.
      SmallVector<int64_t> shape(result.type.getShape());
      if (!sum.isScatter() && !sum.isProduct())
        for (auto [d, axis] : llvm::enumerate(sum.getAxes()))
          if (isLongerThan(result, d, axis))
            shape[d] = ShapedType::kDynamic;
      types.push_back(RankedTensorType::get(shape, typeOfSum(result, sum)));
    }
  auto [queryStarts, keyStarts, queryLengths, keyLengths] = mappedSequences();
  auto pairwise = PairwiseOp::create(
      b, loc, types, ValueRange{mapped(op.getQuery()), outputAdjoint},
      ValueRange{mapped(op.getKey()), mapped(op.getValue())}, captures, dropout, queryStarts,
      keyStarts, queryLengths, keyLengths, b.getArrayAttr(sums), op.getPrecisionAttr(),
      b.getI64IntegerAttr(op.hasSequences() ? ofRows.size() : 0));
  pairwise.getMask().takeBody(mask);
  pairwise.getWeights().takeBody(weights);
  SmallVector<Value> values;
  ValueRange parts = pairwise.getResults();
  for (const Result &result : results) {
    unsigned count = result.sums.size();
    if (isAddedUp(result)) {
      values.push_back(addUp(result, parts.take_front(count)));
      parts = parts.drop_front(count);
      continue;
    }
    Value value = parts.front();
    SumAttr sum = result.sums.front();
    if (!sum.isScatter() && !sum.isProduct() &&
        llvm::any_of(llvm::enumerate(sum.getAxes()),
                     [&](auto each) { return isLongerThan(result, each.index(), each.value()); }))
      value =
          clearBeyond(b, loc, (backward.getSymName() + "_beyond_" + Twine(result.argument)).str(),
                      value, backward.getArgument(result.argument), sum.getAxes(),
                      mapped(op.getQuery()), mapped(op.getKey()));
    values.push_back(value);
    parts = parts.drop_front();
  }
  return values;
}

/// Emit the sum, over the rows of a head, of what they add to the gradient of the sink.
Value Backward::sumSink() {
  static constexpr Axis kOfHead[] = {Axis::h};
  MLIRContext *context = op.getContext();
  auto sum = SumOp::create(b, loc, op.getSink().getType(), ofSink, AxesAttr::get(context, kRowAxes),
                           AxesAttr::get(context, kOfHead));
  DenseI64ArrayAttr sizes = sizesOf(kOfHead, mapped(op.getQuery()), mapped(op.getKey()));
  sum->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizes));
  return sum;
}

/// Return the gradients: those of `results`, and that of the sink.
void Backward::addReturn(ArrayRef<Value> values) {
  backward.setFunctionType(
      b.getFunctionType(backward.getArgumentTypes(), TypeRange(ValueRange(values))));
  SmallVector<unsigned> arguments =
      llvm::map_to_vector(results, [](const Result &result) { return result.argument; });
  if (ofSink)
    arguments.push_back(cast<BlockArgument>(op.getSink()).getArgNumber());
  for (auto [i, number] : llvm::enumerate(arguments)) {
    Value argument = entry.getArgument(number);
    backward.setResultAttr(i, FADialect::kNameAttr, b.getStringAttr("d" + nameOf(argument)));
    // What has rank 0 has a gradient of one element.
    auto dims = backward.getArgAttrOfType<ArrayAttr>(number, FADialect::kDimsAttr);
    if (dims && !dims.empty())
      backward.setResultAttr(i, FADialect::kDimsAttr, dims);
  }
  func::ReturnOp::create(b, loc, values);
}

LogicalResult Backward::generate() {
  if (failed(checkNames()) || failed(checkClashes()))
    return failure();
  addFunction();
  if (failed(buildWeights()))
    return failure();
  prepareRows();
  nameSizes();
  SmallVector<Value> values = addPairwise();
  if (ofSink)
    values.push_back(sumSink());
  addReturn(values);
  return success();
}

namespace {
struct GenerateBackward : fa::impl::FAGenerateBackwardBase<GenerateBackward> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    SmallVector<std::string> wanted(gradients.begin(), gradients.end());
    for (AttentionOp op : ops) {
      if (failed(Backward(op, dlse, deterministic, wanted).generate()))
        return signalPassFailure();
    }
    if (!only)
      return;
    for (AttentionOp op : ops)
      op->getParentOfType<func::FuncOp>().erase();
  }
};
} // namespace
