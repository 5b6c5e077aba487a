//===- TileMemory.cpp - bounds-safe loads and stores of tiles -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A tile that runs along the view's last dimension is moved row by row:
//
//   for each row:  if the row and all its columns are in range: whole vectors
//                  else: vectors under a mask (or zeros, where columns are
//                  known to be in range)
//
// A long row is moved by a loop over its parts, each as a row, so that code does not grow with it.
//
// Anything else (a column of a view, a gather, a scatter) goes element by element.
//
//===----------------------------------------------------------------------===//

#include "TileToLinalg.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace mlir::fa;

namespace {
/// A tile in a view: where it starts and which dimensions it runs along.
struct Place {
  OpBuilder &b;
  Location loc;
  Value view;
  SmallVector<Value> indices;
  SmallVector<int64_t> dims;

  MemRefType type() const { return cast<MemRefType>(view.getType()); }
  int64_t lastDim() const { return type().getRank() - 1; }
  Value index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
  Value add(Value x, Value y) { return arith::AddIOp::create(b, loc, x, y); }
  Value both(Value x, Value y) {
    if (!x || !y)
      return x ? x : y;
    return arith::AndIOp::create(b, loc, x, y);
  }
  Value size(int64_t dim) { return memref::DimOp::create(b, loc, view, dim); }

  /// Return whether `index` is one of dimension `dim`; null where that is known.
  Value inRange(Value index, int64_t dim) {
    std::optional<int64_t> constant = getConstantIntValue(index);
    if (constant && !type().isDynamicDim(dim) && *constant >= 0 &&
        *constant < type().getDimSize(dim))
      return {};
    // Unsigned, so that negative indices are out of range as well.
    return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, index, size(dim));
  }
  /// Return `ok`, where there is one, and whether all indices are in range; null where that is
  /// known.
  Value inRange(ValueRange all, Value ok = {}) {
    for (auto [dim, index] : llvm::enumerate(all))
      ok = both(ok, inRange(index, dim));
    return ok;
  }

  /// Return whether `count` elements of dimension `dim` are there from its start on; null where
  /// that is known.
  Value allInRange(int64_t dim, int64_t count) {
    std::optional<int64_t> constant = getConstantIntValue(indices[dim]);
    if (constant && !type().isDynamicDim(dim) && *constant >= 0 &&
        *constant <= type().getDimSize(dim) - count)
      return {};
    Value last = add(indices[dim], index(count - 1));
    return both(inRange(indices[dim], dim), inRange(last, dim));
  }

  /// Return whether the indices that the tile does not run along are in range.
  Value fixedInRange() {
    Value ok;
    for (auto [dim, index] : llvm::enumerate(indices))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        ok = both(ok, inRange(index, dim));
    return ok;
  }
};

/// A row in pieces that are powers of two, which is what targets have.
struct Piece {
  int64_t begin, size;
};
SmallVector<Piece> splitRow(int64_t columns) {
  SmallVector<Piece> pieces;
  for (int64_t at = 0, size = 64; at < columns; at += size) {
    while (size > columns - at)
      size /= 2;
    pieces.push_back({at, size});
  }
  return pieces;
}
} // namespace

static Value zeroOf(OpBuilder &b, Location loc, Type type) {
  return arith::ConstantOp::create(b, loc, b.getZeroAttr(type));
}

/// Return which elements of a piece of a row are in range.
static Value createMask(Place &p, Value rowOk, Value start, const Piece &piece) {
  auto indices = VectorType::get(piece.size, p.b.getIndexType());
  Value step = vector::StepOp::create(p.b, p.loc, indices);
  Value first = vector::BroadcastOp::create(p.b, p.loc, indices, start);
  Value size = vector::BroadcastOp::create(p.b, p.loc, indices, p.size(p.lastDim()));
  Value mask =
      arith::CmpIOp::create(p.b, p.loc, arith::CmpIPredicate::ult, p.add(first, step), size);
  if (!rowOk)
    return mask;
  auto bits = VectorType::get(piece.size, p.b.getI1Type());
  return p.both(mask, vector::BroadcastOp::create(p.b, p.loc, bits, rowOk));
}

namespace {
/// Describes what is moved at once: a row, or a part of a long one.
struct Part {
  Value row;                  // its number; null for rank 1
  Value first;                // its first column in the tile; null for 0
  int64_t columns;            // how many it has
  SmallVector<Value> indices; // of its first element in the view
  Value rowOk, columnsOk;     // whether they are in range; null where that is known

  /// Return where a piece of it is in the tile.
  SmallVector<Value> inTile(Place &p, const Piece &piece) const {
    SmallVector<Value> at;
    if (row)
      at.push_back(row);
    Value begin = p.index(piece.begin);
    at.push_back(first ? p.add(first, begin) : begin);
    return at;
  }
  /// Return where a piece of it is in the view.
  SmallVector<Value> inView(Place &p, const Piece &piece) const {
    SmallVector<Value> at(indices);
    at.back() = p.add(at.back(), p.index(piece.begin));
    return at;
  }
};
} // namespace

/// Moves a row or a part of one, and returns what is carried.
using PartFn = llvm::function_ref<Value(const Part &part, Value carried)>;

/// Runs `body` in a loop that carries a tile, or none.
static Value createLoop(Place &p, int64_t end, int64_t step, Value carried,
                        llvm::function_ref<Value(Value index, Value carried)> body) {
  auto loop = scf::ForOp::create(p.b, p.loc, p.index(0), p.index(end), p.index(step),
                                 carried ? ValueRange(carried) : ValueRange());
  OpBuilder::InsertionGuard guard(p.b);
  if (carried)
    p.b.setInsertionPointToEnd(loop.getBody());
  else
    p.b.setInsertionPoint(loop.getBody()->getTerminator());
  Value next = body(loop.getInductionVar(), carried ? loop.getRegionIterArg(0) : Value());
  if (!carried)
    return {};
  scf::YieldOp::create(p.b, p.loc, next);
  return loop.getResult(0);
}

/// Cuts a long row into parts.
static Value forEachPart(Place &p, const Part &row, Value carried, PartFn body) {
  constexpr int64_t kLong = 1024, kPart = 256;
  if (row.columns <= kLong)
    return body(row, carried);
  auto movePart = [&](Value first, int64_t columns, Value tile) {
    Part part = row;
    part.first = first;
    part.columns = columns;
    part.indices.back() = p.add(part.indices.back(), first);
    if (row.columnsOk) {
      Value last = p.add(part.indices.back(), p.index(columns - 1));
      part.columnsOk =
          p.both(p.inRange(part.indices.back(), p.lastDim()), p.inRange(last, p.lastDim()));
    }
    return body(part, tile);
  };
  int64_t rest = row.columns % kPart, whole = row.columns - rest;
  carried = createLoop(p, whole, kPart, carried,
                       [&](Value first, Value tile) { return movePart(first, kPart, tile); });
  return rest ? movePart(p.index(whole), rest, carried) : carried;
}

/// Walks over the rows of a tile of shape [rows] x columns that runs along the last
/// dimension.
static Value forEachRow(Place &p, RankedTensorType type, Value carried, PartFn body) {
  Part row;
  row.columns = type.getShape().back();
  row.columnsOk = p.allInRange(p.lastDim(), row.columns);
  row.indices = p.indices;
  Value fixedOk = row.rowOk = p.fixedInRange();
  if (type.getRank() == 1)
    return forEachPart(p, row, carried, body);
  return createLoop(p, type.getDimSize(0), 1, carried, [&](Value number, Value tile) {
    row.row = number;
    Value &index = row.indices[p.dims[0]];
    index = p.add(index, number);
    row.rowOk = p.both(fixedOk, p.inRange(index, p.dims[0]));
    return forEachPart(p, row, tile, body);
  });
}

/// Loads a tile that runs along the view's last dimension with its own last one.
static Value loadRows(Place &p, RankedTensorType type) {
  Type element = type.getElementType();
  Value empty = tensor::EmptyOp::create(p.b, p.loc, type.getShape(), element);
  return forEachRow(p, type, empty, [&](const Part &part, Value carried) {
    SmallVector<Piece> pieces = splitRow(part.columns);
    SmallVector<Type> types;
    for (const Piece &piece : pieces)
      types.push_back(VectorType::get(piece.size, element));
    auto read = [&](bool masked) {
      SmallVector<Value> vectors;
      for (auto [piece, vectorType] : llvm::zip_equal(pieces, types)) {
        SmallVector<Value> at = part.inView(p, piece);
        if (masked) {
          Value mask = createMask(p, part.rowOk, at.back(), piece);
          vectors.push_back(vector::MaskedLoadOp::create(p.b, p.loc, cast<VectorType>(vectorType),
                                                         p.view, at, mask,
                                                         zeroOf(p.b, p.loc, vectorType)));
        } else {
          vectors.push_back(
              vector::LoadOp::create(p.b, p.loc, cast<VectorType>(vectorType), p.view, at));
        }
      }
      return vectors;
    };
    SmallVector<Value> vectors;
    if (Value all = p.both(part.rowOk, part.columnsOk)) {
      auto choice = scf::IfOp::create(p.b, p.loc, types, all, /*withElseRegion=*/true);
      OpBuilder::InsertionGuard guard(p.b);
      p.b.setInsertionPointToEnd(choice.thenBlock());
      scf::YieldOp::create(p.b, p.loc, read(/*masked=*/false));
      p.b.setInsertionPointToEnd(choice.elseBlock());
      if (part.columnsOk) {
        scf::YieldOp::create(p.b, p.loc, read(/*masked=*/true));
      } else {
        SmallVector<Value> zeros;
        for (Type vectorType : types)
          zeros.push_back(zeroOf(p.b, p.loc, vectorType));
        scf::YieldOp::create(p.b, p.loc, zeros);
      }
      llvm::append_range(vectors, choice.getResults());
    } else {
      vectors = read(/*masked=*/false);
    }
    for (auto [piece, vector] : llvm::zip_equal(pieces, vectors))
      carried = vector::TransferWriteOp::create(p.b, p.loc, vector, carried, part.inTile(p, piece),
                                                ArrayRef<bool>{true})
                    .getResult();
    return carried;
  });
}

static void storeRows(Place &p, RankedTensorType type, Value value) {
  Type element = type.getElementType();
  forEachRow(p, type, {}, [&](const Part &part, Value) {
    auto write = [&](bool masked) {
      for (const Piece &piece : splitRow(part.columns)) {
        SmallVector<Value> from = part.inTile(p, piece), to = part.inView(p, piece);
        auto vectorType = VectorType::get(piece.size, element);
        Value vector = vector::TransferReadOp::create(
            p.b, p.loc, vectorType, value, from, zeroOf(p.b, p.loc, element), ArrayRef<bool>{true});
        if (masked)
          vector::MaskedStoreOp::create(p.b, p.loc, p.view, to,
                                        createMask(p, part.rowOk, to.back(), piece), vector);
        else
          vector::StoreOp::create(p.b, p.loc, vector, p.view, to);
      }
    };
    Value all = p.both(part.rowOk, part.columnsOk);
    if (!all) {
      write(/*masked=*/false);
      return Value();
    }
    auto choice = scf::IfOp::create(p.b, p.loc, all, /*withElseRegion=*/part.columnsOk != nullptr);
    OpBuilder::InsertionGuard guard(p.b);
    p.b.setInsertionPointToStart(choice.thenBlock());
    write(/*masked=*/false);
    if (part.columnsOk) {
      p.b.setInsertionPointToStart(choice.elseBlock());
      write(/*masked=*/true);
    }
    return Value();
  });
}

/// Store a tile that does not run along the last dimension, element by element.
static void storeElements(Place &p, RankedTensorType type, Value value) {
  OpBuilder::InsertionGuard guard(p.b);
  Value ok = p.fixedInRange();
  SmallVector<Value> position, indices(p.indices);
  for (auto [dim, size] : llvm::zip_equal(p.dims, type.getShape())) {
    auto loop = scf::ForOp::create(p.b, p.loc, p.index(0), p.index(size), p.index(1));
    p.b.setInsertionPointToStart(loop.getBody());
    position.push_back(loop.getInductionVar());
    indices[dim] = p.add(indices[dim], position.back());
    ok = p.both(ok, p.inRange(indices[dim], dim));
  }
  if (ok) {
    auto choice = scf::IfOp::create(p.b, p.loc, ok, /*withElseRegion=*/false);
    p.b.setInsertionPointToStart(choice.thenBlock());
  }
  Value element = tensor::ExtractOp::create(p.b, p.loc, value, position);
  memref::StoreOp::create(p.b, p.loc, element, p.view, indices);
}

/// Load the element at `indices`, or 0.
static Value loadElement(Place &p, ArrayRef<Value> indices) {
  Value ok = p.inRange(indices);
  if (!ok)
    return memref::LoadOp::create(p.b, p.loc, p.view, indices);
  auto choice =
      scf::IfOp::create(p.b, p.loc, p.type().getElementType(), ok, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(p.b);
  p.b.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(p.b, p.loc, memref::LoadOp::create(p.b, p.loc, p.view, indices).getResult());
  p.b.setInsertionPointToEnd(choice.elseBlock());
  scf::YieldOp::create(p.b, p.loc, zeroOf(p.b, p.loc, p.type().getElementType()));
  return choice.getResult(0);
}

/// Load a tile of elements at `indicesOf` its position, one at a time.
static Value loadElements(Place &p, RankedTensorType type,
                          llvm::function_ref<SmallVector<Value>(ValueRange)> indicesOf) {
  Value empty = tensor::EmptyOp::create(p.b, p.loc, type.getShape(), type.getElementType());
  SmallVector<Value> lower(type.getRank(), p.index(0)), upper, step(type.getRank(), p.index(1));
  for (int64_t size : type.getShape())
    upper.push_back(p.index(size));
  OpBuilder &outer = p.b;
  scf::LoopNest nest = scf::buildLoopNest(
      outer, p.loc, lower, upper, step, empty,
      [&](OpBuilder &b, Location loc, ValueRange position, ValueRange carried) -> scf::ValueVector {
        Place inner{b, loc, p.view, p.indices, p.dims};
        OpBuilder::InsertionGuard guard(p.b);
        p.b.setInsertionPoint(b.getInsertionBlock(), b.getInsertionPoint());
        Value element = loadElement(inner, indicesOf(position));
        return {tensor::InsertOp::create(b, loc, element, carried[0], position)};
      });
  return nest.results[0];
}

/// Convert an element as memory has it (see getMemRefType) to `type`.
static Value fromMemory(OpBuilder &b, Location loc, Value x, Type type) {
  if (x.getType() == type)
    return x;
  if (type.isBF16())
    return arith::BitcastOp::create(b, loc, type, x);
  return arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, x, zeroOf(b, loc, x.getType()));
}

/// Convert a tile alike.
static Value tileFromMemory(OpBuilder &b, Location loc, Value tile, RankedTensorType type) {
  if (tile.getType() == type)
    return tile;
  return linalg_lowering::createMap(b, loc, type, tile, b.getMultiDimIdentityMap(type.getRank()),
                                    [&](OpBuilder &inner, Location l, ValueRange args) {
                                      return fromMemory(inner, l, args[0], type.getElementType());
                                    });
}

static Value tileToMemory(OpBuilder &b, Location loc, Value tile, RankedTensorType type) {
  if (tile.getType() == type)
    return tile;
  return linalg_lowering::createMap(
      b, loc, type, tile, b.getMultiDimIdentityMap(type.getRank()),
      [&](OpBuilder &inner, Location l, ValueRange args) -> Value {
        if (args[0].getType().isBF16())
          return arith::BitcastOp::create(inner, l, type.getElementType(), args[0]);
        return arith::ExtUIOp::create(inner, l, type.getElementType(), args[0]);
      });
}

static Value transposed(OpBuilder &b, Location loc, Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  SmallVector<int64_t> shape = {type.getDimSize(1), type.getDimSize(0)};
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  return linalg::TransposeOp::create(b, loc, value, empty, ArrayRef<int64_t>{1, 0})->getResult(0);
}

FailureOr<Value> linalg_lowering::lowerSlice(RewriterBase &rewriter, tile::SliceOp op) {
  Value source = op.getSource();
  auto type = dyn_cast<MemRefType>(source.getType());
  if (!type)
    return op.emitError("slices of a tensor cannot be lowered to the cpu; expected a view");
  int64_t rank = type.getRank(), dim = op.getDim();
  SmallVector<OpFoldResult> offsets(rank, rewriter.getIndexAttr(0)), sizes,
      strides(rank, rewriter.getIndexAttr(1));
  for (int64_t d = 0; d < rank; ++d)
    sizes.push_back(memref::getMixedSize(rewriter, op.getLoc(), source, d));
  offsets[dim] = op.getStart();
  sizes[dim] = op.getSize();
  return Value(memref::SubViewOp::create(rewriter, op.getLoc(), source, offsets, sizes, strides));
}

FailureOr<Value> linalg_lowering::lowerLoad(RewriterBase &rewriter, tile::LoadOp op) {
  if (!isa<MemRefType>(op.getSource().getType()))
    return op.emitError("loads from a tensor cannot be lowered to the cpu; expected a view");
  Location loc = op.getLoc();
  Place p{rewriter, loc, op.getSource(), llvm::to_vector(op.getIndices()),
          llvm::to_vector(op.getDims())};
  auto tensor = dyn_cast<RankedTensorType>(op.getResult().getType());
  if (!tensor)
    return fromMemory(rewriter, loc, loadElement(p, p.indices), op.getResult().getType());
  if (tensor.getRank() == 0 || tensor.getRank() > 2)
    return op.emitError() << "tiles in memory have rank 1 or 2 on the cpu, got rank "
                          << tensor.getRank();
  RankedTensorType stored = tensor.clone(p.type().getElementType());
  Value value;
  if (p.dims.back() == p.lastDim()) {
    value = loadRows(p, stored);
  } else if (p.dims.front() == p.lastDim()) {
    std::swap(p.dims[0], p.dims[1]);
    SmallVector<int64_t> shape = {tensor.getDimSize(1), tensor.getDimSize(0)};
    value = transposed(rewriter, loc, loadRows(p, stored.clone(shape)));
  } else {
    value = loadElements(p, stored, [&](ValueRange position) {
      SmallVector<Value> indices(p.indices);
      for (auto [dim, x] : llvm::zip_equal(p.dims, position))
        indices[dim] = p.add(indices[dim], x);
      return indices;
    });
  }
  return tileFromMemory(rewriter, loc, value, tensor);
}

LogicalResult linalg_lowering::lowerStore(RewriterBase &rewriter, tile::StoreOp op) {
  Location loc = op.getLoc();
  Place p{rewriter, loc, op->getOperand(1), llvm::to_vector(op.getIndices()),
          llvm::to_vector(op.getDims())};
  auto tensor = cast<RankedTensorType>(op.getValue().getType());
  if (tensor.getRank() == 0 || tensor.getRank() > 2)
    return op.emitError() << "tiles in memory have rank 1 or 2 on the cpu, got rank "
                          << tensor.getRank();
  tensor = tensor.clone(p.type().getElementType());
  Value value = tileToMemory(rewriter, loc, op.getValue(), tensor);
  if (p.dims.back() == p.lastDim()) {
    storeRows(p, tensor, value);
    return success();
  }
  if (p.dims.size() == 2 && p.dims.front() == p.lastDim()) {
    std::swap(p.dims[0], p.dims[1]);
    SmallVector<int64_t> shape = {tensor.getDimSize(1), tensor.getDimSize(0)};
    storeRows(p, tensor.clone(shape), transposed(rewriter, loc, value));
    return success();
  }
  storeElements(p, tensor, value);
  return success();
}

/// Return indices that are scalars, or elements of tiles at `position`.
static SmallVector<Value> indicesAt(OpBuilder &b, Location loc, ValueRange indices,
                                    ValueRange position) {
  return llvm::map_to_vector(indices, [&](Value index) {
    return isa<RankedTensorType>(index.getType())
               ? tensor::ExtractOp::create(b, loc, index, position).getResult()
               : index;
  });
}

FailureOr<Value> linalg_lowering::lowerGather(RewriterBase &rewriter, tile::GatherOp op) {
  if (!isa<MemRefType>(op.getSource().getType()))
    return op.emitError("gathers from a tensor cannot be lowered to the cpu; expected a view");
  Location loc = op.getLoc();
  Place p{rewriter, loc, op.getSource(), {}, {}};
  auto tensor = cast<RankedTensorType>(op.getResult().getType());
  Value value = loadElements(p, tensor.clone(p.type().getElementType()), [&](ValueRange position) {
    return indicesAt(rewriter, loc, op.getIndices(), position);
  });
  return tileFromMemory(rewriter, loc, value, tensor);
}

/// Store element by element, where it is in range.
LogicalResult linalg_lowering::lowerScatter(RewriterBase &rewriter, tile::ScatterOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = op.getLoc();
  Place p{rewriter, loc, op->getOperand(1), {}, {}};
  auto tensor = cast<RankedTensorType>(op.getValue().getType());
  Value value = tileToMemory(rewriter, loc, op.getValue(), tensor.clone(p.type().getElementType()));
  SmallVector<Value> position;
  for (int64_t size : tensor.getShape()) {
    auto loop = scf::ForOp::create(rewriter, loc, p.index(0), p.index(size), p.index(1));
    rewriter.setInsertionPointToStart(loop.getBody());
    position.push_back(loop.getInductionVar());
  }
  SmallVector<Value> indices = indicesAt(rewriter, loc, op.getIndices(), position);
  if (Value ok = p.inRange(indices)) {
    auto choice = scf::IfOp::create(rewriter, loc, ok, /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(choice.thenBlock());
  }
  Value element = tensor::ExtractOp::create(rewriter, loc, value, position);
  memref::StoreOp::create(rewriter, loc, element, p.view, indices);
  return success();
}

/// Add a sum to the element at `indices`, atomically; nothing where it is 0 or out of range.
static void addToElement(Place &p, Value sum, ValueRange indices) {
  OpBuilder::InsertionGuard guard(p.b);
  Value ok = arith::CmpFOp::create(p.b, p.loc, arith::CmpFPredicate::UNE, sum,
                                   zeroOf(p.b, p.loc, sum.getType()));
  auto choice = scf::IfOp::create(p.b, p.loc, p.inRange(indices, ok), /*withElseRegion=*/false);
  p.b.setInsertionPointToStart(choice.thenBlock());
  Type sums = p.type().getElementType();
  if (sums != sum.getType())
    sum = arith::ExtFOp::create(p.b, p.loc, sums, sum);
  memref::AtomicRMWOp::create(p.b, p.loc, sums, arith::AtomicRMWKind::addf, sum, p.view, indices);
}

/// Neighbours along the last dimension that go to one element are added up before.
LogicalResult linalg_lowering::lowerScatterAdd(RewriterBase &rewriter, tile::ScatterAddOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = op.getLoc();
  Place p{rewriter, loc, op->getOperand(1), {}, {}};
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op.getValue().getType()).getShape();
  SmallVector<Value> position;
  for (int64_t size : shape.drop_back()) {
    auto loop = scf::ForOp::create(rewriter, loc, p.index(0), p.index(size), p.index(1));
    rewriter.setInsertionPointToStart(loop.getBody());
    position.push_back(loop.getInductionVar());
  }
  // Carry the sum that is not added yet, and where it goes: nowhere at first.
  SmallVector<Value> init{zeroOf(rewriter, loc, rewriter.getF32Type())};
  init.append(op.getIndices().size(), p.index(-1));
  auto loop =
      scf::ForOp::create(rewriter, loc, p.index(0), p.index(shape.back()), p.index(1), init);
  addToElement(p, loop.getResult(0), loop.getResults().drop_front());
  rewriter.setInsertionPointToStart(loop.getBody());
  position.push_back(loop.getInductionVar());
  Value sum = loop.getRegionIterArg(0);
  ValueRange before = loop.getRegionIterArgs().drop_front();
  SmallVector<Value> indices = indicesAt(rewriter, loc, op.getIndices(), position);
  Value same;
  for (auto [x, y] : llvm::zip_equal(before, indices))
    same = p.both(same, arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq, x, y));
  auto choice = scf::IfOp::create(rewriter, loc, sum.getType(), same, /*withElseRegion=*/true);
  rewriter.setInsertionPointToEnd(choice.thenBlock());
  scf::YieldOp::create(rewriter, loc, sum);
  rewriter.setInsertionPointToEnd(choice.elseBlock());
  addToElement(p, sum, before);
  scf::YieldOp::create(rewriter, loc, init.front());
  rewriter.setInsertionPointToEnd(loop.getBody());
  Value value = tensor::ExtractOp::create(rewriter, loc, op.getValue(), position);
  SmallVector<Value> next{arith::AddFOp::create(rewriter, loc, choice.getResult(0), value)};
  llvm::append_range(next, indices);
  scf::YieldOp::create(rewriter, loc, next);
  return success();
}

/// Add the elements one by one.
LogicalResult linalg_lowering::lowerAccumulate(RewriterBase &rewriter, tile::AccumulateOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  Location loc = op.getLoc();
  Place p{rewriter, loc, op->getOperand(1), llvm::to_vector(op.getIndices()),
          llvm::to_vector(op.getDims())};
  SmallVector<Value> position;
  for (auto [dim, size] :
       llvm::zip_equal(p.dims, cast<RankedTensorType>(op.getValue().getType()).getShape())) {
    auto loop = scf::ForOp::create(rewriter, loc, p.index(0), p.index(size), p.index(1));
    rewriter.setInsertionPointToStart(loop.getBody());
    position.push_back(loop.getInductionVar());
    p.indices[dim] = p.add(p.indices[dim], loop.getInductionVar());
  }
  Value value = tensor::ExtractOp::create(rewriter, loc, op.getValue(), position);
  addToElement(p, value, p.indices);
  return success();
}
