//===- BlockBuilder.cpp - builds the body of a block of rows or keys -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockBuilder.h"
#include "FindSequence.h"
#include "fa/Support/ValueNames.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/StringSet.h"
#include <limits>

using namespace mlir;
using namespace mlir::fa;

std::pair<Value, double> fa::splitProduct(Value value) {
  constexpr double kMost = 0x1p60;
  APFloat constant(1.0f);
  Operation *op = value.getDefiningOp();
  if (!value.getType().isF32() || !isa_and_nonnull<arith::MulFOp, arith::DivFOp>(op))
    return {value, 1};
  Value x = op->getOperand(0), y = op->getOperand(1);
  if (isa<arith::MulFOp>(op) && matchPattern(x, m_ConstantFloat(&constant)))
    std::swap(x, y);
  else if (!matchPattern(y, m_ConstantFloat(&constant)))
    return {value, 1};
  double factor = constant.convertToFloat();
  if (!(std::abs(factor) <= kMost && std::abs(factor) >= 1 / kMost))
    return {value, 1};
  return {x, isa<arith::DivFOp>(op) ? 1 / factor : factor};
}

/// Name arguments in printed IR, and the sizes of tensors for launches.
static void nameSizes(AttentionOp op) {
  auto entry = op->getParentOfType<func::FuncOp>();
  Builder b(op.getContext());
  for (BlockArgument argument : entry.getArguments())
    if (auto name =
            entry.getArgAttrOfType<StringAttr>(argument.getArgNumber(), FADialect::kNameAttr))
      named(argument, name.getValue());
  auto name = [&](Value value, ArrayRef<StringRef> dims) {
    ArrayAttr attr = b.getStrArrayAttr(dims);
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      if (!entry.getArgAttr(argument.getArgNumber(), FADialect::kDimsAttr))
        entry.setArgAttr(argument.getArgNumber(), FADialect::kDimsAttr, attr);
      return;
    }
    for (OpOperand &use : value.getUses())
      if (isa<func::ReturnOp>(use.getOwner()))
        entry.setResultAttr(use.getOperandNumber(), FADialect::kDimsAttr, attr);
  };
  nameOperands(op, name);
}

void fa::nameOperands(AttentionOp op,
                      function_ref<void(Value value, ArrayRef<StringRef> dims)> name) {
  // What has starts has no batch, but tokens of all sequences.
  auto nameSide = [&](Value value, Value starts, std::array<StringRef, 4> dims) {
    if (starts)
      dims[2] = dims[2] == "Sq" ? "Tq" : "Tk";
    name(value, ArrayRef(dims).drop_front(starts ? 1 : 0));
  };
  auto nameOptional = [&](Value value, ArrayRef<StringRef> dims) {
    if (value)
      name(value, dims);
  };
  nameSide(op.getQuery(), op.getQueryStarts(), {"B", "Hq", "Sq", "D"});
  nameSide(op.getKey(), op.getKeyStarts(), {"B", "Hk", "Sk", "D"});
  nameSide(op.getValue(), op.getKeyStarts(), {"B", "Hk", "Sk", "Dv"});
  nameOptional(op.getSink(), {"Hq"});
  for (Value starts : {op.getQueryStarts(), op.getKeyStarts()})
    nameOptional(starts, {"B+1"});
  for (Value lengths : {op.getQueryLengths(), op.getKeyLengths()})
    nameOptional(lengths, {"B"});
  nameSide(op.getOutput(), op.getQueryStarts(), {"B", "Hq", "Sq", "Dv"});
  if (op.getQueryStarts())
    nameOptional(op.getLse(), {"Hq", "Tq"});
  else
    nameOptional(op.getLse(), {"B", "Hq", "Sq"});
}

void fa::rewriteAttentions(Operation *root, function_ref<void(AttentionOp)> rewrite) {
  SmallVector<AttentionOp> ops;
  root->walk([&](AttentionOp op) { ops.push_back(op); });
  for (AttentionOp op : ops) {
    nameSizes(op);
    rewrite(op);
  }
}

std::string fa::freeKernelName(Operation *op, const Twine &name) {
  llvm::StringSet<> taken;
  auto entry = op->getParentOfType<func::FuncOp>();
  entry.walk([&](MapBlocksOp block) { taken.insert(block.getKernel()); });
  // Others have a kernel of their own name, and others that it begins.
  for (auto other : entry->getParentOp()->getRegion(0).getOps<func::FuncOp>())
    if (other != entry)
      taken.insert(other.getName());
  std::string chosen = name.str();
  for (unsigned number = 1; taken.contains(chosen); ++number)
    chosen = (name + std::to_string(number)).str();
  return chosen;
}

Value fa::operandOf(Axis axis, Value query, Value key) {
  bool inRow = cast<RankedTensorType>(query.getType()).getRank() == 3;
  return isOfKeys(axis) || (axis == Axis::b && inRow) ? key : query;
}

DenseI64ArrayAttr fa::sizesOf(ArrayRef<Axis> axes, Value query, Value key) {
  SmallVector<int64_t> pairs;
  for (Axis axis : axes) {
    if (axis == Axis::one) {
      pairs.append({-1, -1});
      continue;
    }
    auto operand = cast<BlockArgument>(operandOf(axis, query, key));
    pairs.push_back(operand.getArgNumber());
    pairs.push_back(dimensionIn(axis, cast<RankedTensorType>(operand.getType())));
  }
  return DenseI64ArrayAttr::get(query.getContext(), pairs);
}

DenseI64ArrayAttr fa::sizesOf(Value argument) {
  SmallVector<int64_t> pairs;
  for (int64_t d = 0; d < cast<RankedTensorType>(argument.getType()).getRank(); ++d)
    pairs.append({cast<BlockArgument>(argument).getArgNumber(), d});
  return DenseI64ArrayAttr::get(argument.getContext(), pairs);
}

SmallVector<Axis> fa::axesOfParts(ArrayRef<Axis> axes, Value query, Value key) {
  bool ofKeys = llvm::any_of(axes, [](Axis axis) { return isCut(axis) && isOfKeys(axis); });
  auto operand = cast<RankedTensorType>((ofKeys ? key : query).getType());
  SmallVector<Axis> parts(axes);
  if (operand.getRank() == 3)
    llvm::replace(parts, Axis::b, Axis::one);
  return parts;
}

DenseI64ArrayAttr fa::placesOf(Value starts, int64_t box, MLIRContext *context, int64_t dim) {
  SmallVector<int64_t> places;
  if (auto argument = dyn_cast_if_present<BlockArgument>(starts))
    places = {dim, argument.getArgNumber(), box};
  return DenseI64ArrayAttr::get(context, places);
}

Value fa::makeZeros(OpBuilder &b, Location loc, StringRef name, RankedTensorType type,
                    ArrayRef<Axis> axes, Value query, Value key) {
  constexpr int64_t kSpan = 128;
  auto isInRow = [](Value operand) {
    return cast<RankedTensorType>(operand.getType()).getRank() == 3;
  };
  // Without a batch the first two dimensions, which b and h (or hk) number, are heads and tokens.
  bool ofKeys = axes.back() == Axis::keys, ofKeyHeads = axes[1] == Axis::hk;
  Axis heads = isInRow(ofKeyHeads ? key : query) ? Axis::b : axes[1];
  Axis tokens = !isInRow(ofKeys ? key : query) ? axes.back() : ofKeys ? Axis::hk : Axis::h;
  SmallVector<Value, 2> over{ofKeyHeads ? key : query};
  if (ofKeys && !ofKeyHeads)
    over.push_back(key);
  auto block = MapBlocksOp::create(b, loc, name, over, {heads, tokens}, type);
  block.setBlocks({1, kSpan});
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(axes, query, key)));
  OpBuilder inner(b);
  BlockBuilder r(inner, loc);
  inner.setInsertionPoint(block.getBody()->getTerminator());
  Value batches = axes.front() == Axis::one ? r.index(1) : r.dim(ofKeys ? key : query, 0);
  r.forEach(Axis::b, batches, {}, [&](ValueRange) {
    auto span = RankedTensorType::get({kSpan}, b.getF32Type());
    Value indices[] = {r.batch, block.getFirst(heads), block.getFirst(tokens)};
    tile::StoreOp::create(inner, loc, r.splat(0.0, span), block.getResultView(0), indices,
                          ArrayRef<int64_t>{2});
    return SmallVector<Value>();
  });
  return block.getResult(0);
}

Value fa::clearBeyond(OpBuilder &b, Location loc, StringRef name, Value gradient, Value argument,
                      ArrayRef<Axis> axes, Value query, Value key) {
  constexpr int64_t kSpan = 1024;
  static constexpr Axis kFirst[] = {Axis::b, Axis::h};
  int64_t rank = axes.size();
  // What blocks go over has three dimensions or more; fewer are one block's.
  ArrayRef<Axis> ofBlocks = rank >= 3 ? ArrayRef(kFirst) : ArrayRef<Axis>();
  auto type = cast<RankedTensorType>(gradient.getType());
  auto block = MapBlocksOp::create(b, loc, name, rank >= 3 ? argument : query, ofBlocks, type,
                                   /*inits=*/gradient);
  block->setAttr(FADialect::kSizesAttr, b.getArrayAttr(sizesOf(argument)));
  OpBuilder inner(b);
  BlockBuilder r(inner, loc);
  inner.setInsertionPoint(block.getBody()->getTerminator());
  SmallVector<Value> sizes, first;
  for (Axis axis : axes) {
    if (axis == Axis::one) {
      sizes.push_back(r.index(1));
      continue;
    }
    Value operand = operandOf(axis, query, key);
    sizes.push_back(r.dim(operand, dimensionIn(axis, cast<RankedTensorType>(operand.getType()))));
  }
  // Of a block beyond a size all is.
  Value beyond;
  for (Axis axis : ofBlocks) {
    first.push_back(block.getFirst(axis));
    Value is = arith::CmpIOp::create(inner, loc, arith::CmpIPredicate::uge, first.back(),
                                     sizes[first.size() - 1]);
    beyond = beyond ? Value(arith::OrIOp::create(inner, loc, beyond, is)) : is;
  }
  Value zeros = r.splat(0.0, RankedTensorType::get({kSpan}, type.getElementType()));
  for (int64_t d = first.size(); d < rank; ++d) {
    OpBuilder::InsertionGuard guard(inner);
    Value start = sizes[d];
    if (beyond)
      start = arith::SelectOp::create(inner, loc, beyond, r.index(0), start);
    SmallVector<Value> indices = r.forSpans(argument, first, kSpan, {d, start});
    tile::StoreOp::create(inner, loc, zeros, block.getResultView(0), indices,
                          ArrayRef<int64_t>{rank - 1});
  }
  return block.getResult(0);
}

void BlockBuilder::begin(MapBlocksOp block) {
  b.setInsertionPoint(block.getBody()->getTerminator());
  for (Axis axis : {Axis::b, Axis::h, Axis::hk, Axis::rows, Axis::keys})
    if (Value first = block.getFirst(axis))
      at(axis) = named(first, positionName(axis));
  for (unsigned i = 0; i < block.getNumResults(); ++i)
    named(block.getResultView(i), "result");
}

void BlockBuilder::enter(MapBlocksOp block, Value query, Value keys) {
  begin(block);
  queryLength = named(dim(query, 2), "sq");
  keyLength = named(dim(keys, 2), "sk");
}

/// Return the rows or keys of sequence `batch` in a tensor of them. Whatever starts and lengths
/// hold, these are some of the tensor's.
BlockBuilder::Part BlockBuilder::findPart(Value tensor, Value starts, Value lengths) {
  auto clamp = [&](Value x, Value least, Value most) -> Value {
    return arith::MaxSIOp::create(b, loc, arith::MinSIOp::create(b, loc, x, most), least);
  };
  Part part{{}, dim(tensor, cast<RankedTensorType>(tensor.getType()).getRank() - 2)};
  if (starts) {
    Value next = arith::AddIOp::create(b, loc, batch, index(1));
    part.start = clamp(loadNumber(b, loc, starts, batch), index(0), part.size);
    Value end = clamp(loadNumber(b, loc, starts, next), part.start, part.size);
    part.size =
        arith::MaxSIOp::create(b, loc, arith::SubIOp::create(b, loc, end, part.start), index(0));
  }
  if (lengths)
    part.size = clamp(loadNumber(b, loc, lengths, batch), index(0), part.size);
  return part;
}

void BlockBuilder::enter(MapBlocksOp block, Value query, Value key,
                         const std::array<Value, 4> &sequences) {
  if (llvm::none_of(sequences, [](Value value) { return static_cast<bool>(value); }))
    return enter(block, query, key);
  auto [queryStarts, keyStarts, queryLengths, keyLengths] = sequences;
  begin(block);
  Axis axis = row ? Axis::rows : Axis::keys;
  Value &first = at(axis);
  if (Value starts = block.getStarts())
    std::tie(batch, first) =
        findSequence(b, loc, named(first, "block"), axis, row ? query : key, starts);
  rows = findPart(query, queryStarts, queryLengths);
  keys = findPart(key, keyStarts, keyLengths);
  // A block without a row of the sequence visits no key, one without a key no row.
  Value &other = row ? keys.size : rows.size;
  Value any = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt, first, partOf(axis).size);
  named(any, row ? "any_rows" : "any_keys");
  Value visited = arith::SelectOp::create(b, loc, any, other, index(0));
  queryLength = named(row ? rows.size : visited, "sq");
  keyLength = named(row ? visited : keys.size, "sk");
}

/// Return the part, along dimension `dim`, of a tensor or a view.
Value BlockBuilder::slice(Value tensor, const Part &part, int64_t dim) {
  if (!part.size)
    return tensor;
  auto view = dyn_cast<tile::ViewType>(tensor.getType());
  SmallVector<int64_t> shape(view ? view.getShape()
                                  : cast<RankedTensorType>(tensor.getType()).getShape());
  shape[dim] = kDynamic;
  Type type = view ? Type(tile::ViewType::get(b.getContext(), shape, view.getElementType()))
                   : RankedTensorType::get(shape, getElementTypeOrSelf(tensor.getType()));
  Value start = part.start ? part.start : index(0);
  return tile::SliceOp::create(b, loc, type, tensor, dim, start, part.size);
}

BlockBuilder::Part BlockBuilder::placeOf(int64_t rowsOfBox) {
  Value box = index(rowsOfBox);
  Value first =
      arith::AddIOp::create(b, loc, arith::DivUIOp::create(b, loc, rows.start, box), batch);
  Value start = named(arith::MulIOp::create(b, loc, first, box), "place");
  Value filled = arith::AddIOp::create(b, loc, rows.size, index(rowsOfBox - 1));
  filled = arith::DivUIOp::create(b, loc, filled, box);
  return {start, arith::MulIOp::create(b, loc, filled, box)};
}

Value BlockBuilder::sumsOf(Value tensor) {
  return rows.start ? slice(tensor, placeOf(kRowsOfSums), kDimOfPlaces) : tensor;
}

Value BlockBuilder::numbersOf(Value tensor) {
  return rows.start ? slice(tensor, placeOf(kRowsOfNumbers), kDimOfPlaces) : rowsOf(tensor);
}

Value &BlockBuilder::at(Axis axis) {
  switch (axis) {
  case Axis::b:
    return batch;
  case Axis::h:
    return head;
  case Axis::hk:
    return keyHead;
  case Axis::rows:
    return row;
  case Axis::keys:
    return column;
  case Axis::one:
    break;
  }
  llvm_unreachable("nothing runs over an axis of one index");
}

RankedTensorType BlockBuilder::tile(ArrayRef<Axis> axes, int64_t size, Type element) {
  SmallVector<int64_t> shape(axes.size(), kDynamic);
  if (!ShapedType::isDynamic(size))
    shape.push_back(size);
  return RankedTensorType::get(shape, element ? element : b.getF32Type(),
                               AxesAttr::get(b.getContext(), axes));
}

/// Return the axis of a tile's first dimension.
static Axis firstAxis(Type type) {
  return cast<AxesAttr>(cast<RankedTensorType>(type).getEncoding()).getAxes().front();
}

Value BlockBuilder::along(Value values, Type type) {
  int64_t dim = firstAxis(values.getType()) == firstAxis(type) ? 1 : 0;
  return tile::BroadcastOp::create(b, loc, type, values, b.getI64IntegerAttr(dim));
}

Value BlockBuilder::reduce(tile::Reduction kind, Value input, Value init) {
  int64_t dim = firstAxis(init.getType()) == firstAxis(input.getType()) ? 1 : 0;
  return tile::ReduceOp::create(b, loc, init.getType(), kind, input, init, dim);
}

Value BlockBuilder::unlessMinusInf(Value x, double other) {
  auto type = cast<RankedTensorType>(x.getType());
  Value inf = splat(-std::numeric_limits<double>::infinity(), type);
  Value is = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, x, inf);
  return arith::SelectOp::create(b, loc, is, splat(other, type), x);
}

Value BlockBuilder::convert(Value tile, Type element) {
  auto type = cast<RankedTensorType>(tile.getType());
  if (type.getElementType() == element)
    return tile;
  if (element.getIntOrFloatBitWidth() > type.getElementTypeBitWidth())
    return arith::ExtFOp::create(b, loc, type.clone(element), tile);
  return arith::TruncFOp::create(b, loc, type.clone(element), tile);
}

Value BlockBuilder::load(Value tensor, Axis axis, int64_t columns) {
  auto view = dyn_cast<tile::ViewType>(tensor.getType());
  auto type = view ? RankedTensorType::get(view.getShape(), view.getElementType())
                   : cast<RankedTensorType>(tensor.getType());
  int64_t rank = type.getRank();
  if (columns == 0)
    columns = type.getShape().back();
  SmallVector<Value> indices{batch, axis == Axis::rows ? head : keyHead, at(axis), index(0)};
  return tile::LoadOp::create(b, loc, tile({axis}, columns, type.getElementType()), tensor,
                              ArrayRef(indices).take_back(rank),
                              ArrayRef<int64_t>{rank - 2, rank - 1});
}

Value BlockBuilder::loadOfHead(Value tensor) {
  Type element = getElementTypeOrSelf(tensor.getType());
  Value number =
      tile::LoadOp::create(b, loc, element, tensor, ValueRange(head), ArrayRef<int64_t>());
  if (!element.isF32())
    number = arith::ExtFOp::create(b, loc, b.getF32Type(), number);
  return splat(number, rowType());
}

void BlockBuilder::store(Value value, Value view, ArrayRef<Axis> axes) {
  SmallVector<Value> indices;
  SmallVector<int64_t> dims;
  bool inRow = llvm::any_of(axes, [&](Axis axis) { return isCut(axis) && partOf(axis).start; });
  for (Axis axis : axes) {
    if (axis == Axis::b && inRow)
      continue;
    if (isCut(axis)) {
      view = slice(view, axis, indices.size());
      dims.push_back(indices.size());
    }
    indices.push_back(axis == Axis::one ? index(0) : at(axis));
  }
  // A transposed tile runs along the view's last dimension first.
  if (dims.size() == 2 && firstAxis(value.getType()) != axes[dims[0]])
    std::swap(dims[0], dims[1]);
  if (cast<tile::ViewType>(view.getType()).getRank() > static_cast<int64_t>(indices.size())) {
    dims.push_back(indices.size());
    indices.push_back(index(0));
  }
  tile::StoreOp::create(b, loc, value, view, indices, dims);
}

void BlockBuilder::storeNumbers(Value numbers, Value view) {
  int64_t rank = cast<tile::ViewType>(view.getType()).getRank();
  auto store = [&](Value value, Value rowsOfView, Value first) {
    Value indices[] = {batch, head, first};
    tile::StoreOp::create(b, loc, value, rowsOfView, ArrayRef(indices).take_back(rank),
                          ArrayRef<int64_t>{rank - 1});
  };
  if (!rows.start) {
    store(numbers, rowsOf(view), row);
    return;
  }
  Part place = placeOf(kRowsOfNumbers);
  store(numbers, slice(view, Part{place.start, rows.size}, kDimOfPlaces), row);
  // The block of the sequence's last row fills the box.
  Value step = TileSizeOp::create(b, loc, b.getIndexType(), Axis::rows);
  Value next = arith::AddIOp::create(b, loc, row, step);
  auto compare = [&](arith::CmpIPredicate predicate, Value x) -> Value {
    return arith::CmpIOp::create(b, loc, predicate, x, rows.size);
  };
  Value hasRows = compare(arith::CmpIPredicate::slt, row);
  Value isLast = compare(arith::CmpIPredicate::sge, next);
  Value rest = arith::SubIOp::create(b, loc, place.size, rows.size);
  Value count = arith::SelectOp::create(b, loc, arith::AndIOp::create(b, loc, hasRows, isLast),
                                        rest, index(0));
  Value behind =
      slice(view, Part{arith::AddIOp::create(b, loc, place.start, rows.size), rest}, kDimOfPlaces);
  Value zeros = splat(0.0, cast<RankedTensorType>(numbers.getType()));
  auto loop = scf::ForOp::create(b, loc, index(0), count, step);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  store(zeros, behind, loop.getInductionVar());
}

void BlockBuilder::storeSum(Value numbers, MapBlocksOp block, Value view, ArrayRef<Axis> axes) {
  Type type = rowType().clone(b.getIndexType());
  Value inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::slt,
                                       tile::IotaOp::create(b, loc, type, row),
                                       splat(queryLength, cast<RankedTensorType>(type)));
  numbers = arith::SelectOp::create(b, loc, inside, numbers, splat(0.0, rowType()));
  Value sum = reduce(tile::Reduction::addf, along(numbers, tile({Axis::rows, Axis::one})),
                     splat(0.0, tile({Axis::one})));
  Value number = block.getFirst(Axis::rows);
  if (!block.getStarts())
    number = arith::DivUIOp::create(b, loc, number,
                                    TileSizeOp::create(b, loc, b.getIndexType(), Axis::rows));
  SmallVector<Value> indices;
  for (Axis axis : axes)
    indices.push_back(axis == Axis::rows || axis == Axis::one ? index(0) : at(axis));
  int64_t last = axes.size() - 1;
  tile::StoreOp::create(b, loc, sum, slice(view, Part{number, index(1)}, last), indices,
                        ArrayRef<int64_t>{last});
}

void BlockBuilder::accumulate(Value value, Value sums) {
  int64_t rank = cast<tile::ViewType>(sums.getType()).getRank();
  Value indices[] = {batch, head, row, index(0)};
  tile::AccumulateOp::create(b, loc, value, sums, ArrayRef(indices).take_back(rank),
                             ArrayRef<int64_t>{rank - 2, rank - 1}, /*inside=*/true);
}

Value BlockBuilder::groupOf(Value query, Value keys) {
  auto queryType = cast<RankedTensorType>(query.getType());
  auto keyType = cast<RankedTensorType>(keys.getType());
  // Tensors of sequences in a row have no batch.
  int64_t ofQuery = queryType.getRank() - 3, ofKeys = keyType.getRank() - 3;
  int64_t hq = queryType.getDimSize(ofQuery), hk = keyType.getDimSize(ofKeys);
  if (hq == hk && !ShapedType::isDynamic(hq))
    return {};
  return named(arith::DivUIOp::create(b, loc, dim(query, ofQuery), dim(keys, ofKeys)), "group");
}

Value BlockBuilder::keyHeadOf(Value query, Value keys) {
  Value group = groupOf(query, keys);
  return group ? named(arith::DivUIOp::create(b, loc, head, group), "hk") : head;
}

SmallVector<Value> BlockBuilder::loop(Axis axis, Value from, Value to, Value step, ValueRange init,
                                      function_ref<SmallVector<Value>(ValueRange)> body) {

  auto loop = scf::ForOp::create(b, loc, from, to, step, init,
                                 [&](OpBuilder &, Location, Value index, ValueRange carried) {
                                   // `b` is at the loop's body: the callback shares the builder.
                                   at(axis) = named(index, positionName(axis));
                                   scf::YieldOp::create(b, loc, body(carried));
                                 });
  return llvm::to_vector_of<Value>(loop.getResults());
}

SmallVector<Value> BlockBuilder::forTiles(Axis axis, ValueRange init,
                                          function_ref<SmallVector<Value>(ValueRange)> body) {
  Value step = TileSizeOp::create(b, loc, b.getIndexType(), axis);
  return loop(axis, index(0), axis == Axis::rows ? queryLength : keyLength, step, init, body);
}

SmallVector<Value> BlockBuilder::forGroup(Value query, Value keys, ValueRange init,
                                          function_ref<SmallVector<Value>(ValueRange)> body) {
  Value group = groupOf(query, keys);
  if (!group) {
    head = keyHead;
    return body(init);
  }
  Value first = named(arith::MulIOp::create(b, loc, keyHead, group), "first_head");
  Value last = arith::AddIOp::create(b, loc, first, group);
  return loop(Axis::h, first, last, index(1), init, body);
}

SmallVector<Value> BlockBuilder::forEach(Axis axis, Value size, ValueRange init,
                                         function_ref<SmallVector<Value>(ValueRange)> body) {
  return loop(axis, index(0), size, index(1), init, body);
}

SmallVector<Value> BlockBuilder::forSpans(Value tensor, ArrayRef<Value> given, int64_t span,
                                          std::pair<int64_t, Value> start) {
  // What has one element is as a vector of one.
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (type && type.getRank() == 0)
    type = {};
  int64_t rank = type ? type.getRank() : 1;
  SmallVector<Value> indices(given);
  for (int64_t d = given.size(); d < rank; ++d) {
    Value step = index(d + 1 == rank ? span : 1);
    Value from = start.second && start.first == d ? start.second : index(0);
    auto loop = scf::ForOp::create(b, loc, from, type ? dim(tensor, d) : index(1), step);
    indices.push_back(loop.getInductionVar());
    b.setInsertionPointToStart(loop.getBody());
  }
  return indices;
}

SmallVector<Value> fa::dropUnread(Region &region, ValueRange captures) {
  Block &block = region.front();
  unsigned first = block.getNumArguments() - captures.size();
  SmallVector<Value> read;
  for (unsigned n = captures.size(); n-- > 0;) {
    if (block.getArgument(first + n).use_empty())
      block.eraseArgument(first + n);
    else
      read.push_back(captures[n]);
  }
  std::reverse(read.begin(), read.end());
  return read;
}

/// Give an op a copy of the region, and the captures that it reads.
template <typename Op> static void takeRegion(Op op, Region &region, ValueRange captures) {
  IRMapping mapping;
  region.cloneInto(&op.getBody(), mapping);
  if (!region.empty())
    op.getCapturesMutable().assign(dropUnread(op.getBody(), captures));
}

SmallVector<Value> BlockBuilder::apply(ValueRange tiles, ValueRange captures, Region &region) {
  SmallVector<Type> types;
  for (Type element : region.front().getTerminator()->getOperandTypes())
    types.push_back(scoresType(element));
  auto op = ApplyOp::create(b, loc, types, tiles, batch, head, row, column, queryLength, keyLength,
                            ValueRange(), transposed);
  takeRegion(op, region, captures);
  return llvm::to_vector_of<Value>(op.getResults());
}

SmallVector<Value> BlockBuilder::applyMask(ValueRange tiles, ValueRange captures, Region &mask,
                                           float hidden, bool withinRows) {
  auto op = ApplyMaskOp::create(b, loc, tiles, batch, head, row, column, queryLength, keyLength,
                                ValueRange(), llvm::APFloat(hidden), withinRows, transposed);
  takeRegion(op, mask, captures);
  return llvm::to_vector_of<Value>(op.getResults());
}

Value BlockBuilder::applyMask(Value scores, ValueRange captures, Region &mask) {
  return applyMask(ValueRange(scores), captures, mask, -std::numeric_limits<float>::infinity())
      .front();
}

std::pair<Value, Value> BlockBuilder::keptScale(Value p) {
  Value least = arith::MaxNumFOp::create(b, loc, p, f32(0));
  Value clamped = arith::MinNumFOp::create(b, loc, least, f32(255.0 / 256));
  Value scaled = arith::MulFOp::create(b, loc, clamped, f32(256));
  Value half = arith::AddFOp::create(b, loc, scaled, f32(0.5));
  Value count = arith::FPToSIOp::create(b, loc, b.getI32Type(), half);
  Value kept = arith::SIToFPOp::create(
      b, loc, b.getF32Type(),
      arith::SubIOp::create(b, loc, arith::ConstantIntOp::create(b, loc, 256, 32), count));
  return {arith::DivFOp::create(b, loc, f32(256), kept), count};
}

std::optional<BlockBuilder::Dropout> BlockBuilder::dropout(Value p, Value seed, Value offset) {
  if (!p)
    return std::nullopt;
  auto [scale, count] = keptScale(p);
  Value threshold = named(arith::TruncIOp::create(b, loc, b.getI8Type(), count), "threshold");
  auto bitsOf = [&](Value given, StringRef name) -> Value {
    if (!isa<RankedTensorType>(given.getType()))
      return given;
    return named(tile::LoadOp::create(b, loc, b.getI64Type(), given, index(0), ArrayRef<int64_t>{}),
                 name.str() + "_bits");
  };
  return Dropout{threshold, scale, bitsOf(seed, "seed"), bitsOf(offset, "offset")};
}

BlockBuilder::Normalizer BlockBuilder::normalizer(Value l, const std::optional<Dropout> &dropout,
                                                  Value share) {
  Value zero = splat(0.0, rowType());
  Value empty = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, l, zero);
  Value one = dropout ? splat(dropout->keptScale, rowType()) : splat(1.0, rowType());
  if (share)
    one = dropout ? mul(one, share) : share;
  Value inverse =
      arith::SelectOp::create(b, loc, empty, zero, arith::DivFOp::create(b, loc, one, l));
  return {named(empty, "empty"), named(inverse, "inverse")};
}

void BlockBuilder::storeLse(Value natural, Value empty, Value view) {
  Value minusInf = splat(-std::numeric_limits<double>::infinity(), rowType());
  store(named(arith::SelectOp::create(b, loc, empty, minusInf, natural), "lse"), view, kRowAxes);
}

Value BlockBuilder::kept(const Dropout &dropout) {
  RankedTensorType bytes = tile({Axis::rows, Axis::keys}, kDynamic, b.getI8Type());
  Value bits = tile::RandomBitsOp::create(b, loc, bytes, dropout.seed, dropout.offset, batch, head,
                                          row, column);
  named(bits, "bits");
  if (transposed) {
    bytes = tile({Axis::keys, Axis::rows}, kDynamic, b.getI8Type());
    bits = named(tile::TransposeOp::create(b, loc, bytes, bits), "bits_t");
  }
  Value kept = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::uge, bits,
                                     splat(dropout.threshold, bytes));
  return named(kept, "kept");
}

Value BlockBuilder::drop(Value probabilities, const Dropout &dropout) {
  auto type = cast<RankedTensorType>(probabilities.getType());
  return arith::SelectOp::create(b, loc, kept(dropout), probabilities, splat(0.0, type));
}
