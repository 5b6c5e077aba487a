//===- LayoutGraph.h - which tiles have one layout, and which one -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tiles of a kernel in classes of one layout each (what elementwise ops,
// loops and branches join), with links between classes: the one is the other
// without a dimension (broadcast, reduce), or with dimensions exchanged.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTGRAPH_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTGRAPH_H

#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/IntEqClasses.h"
#include <optional>
#include <vector>

namespace mlir::tile {

/// Return whether the value is an operand of products that will come from shared
/// memory: loaded, and used by products only.
bool isSharedOperand(Value value);

class LayoutGraph {
public:
  /// Lay out the tiles of a program of so many warps, whose products may run
  /// asynchronously where `async`.
  LayoutGraph(FuncOp func, bool async, int64_t warps) : func(func), async(async), warps(warps) {
    if (auto attr = func->getAttrOfType<IntegerAttr>(TileDialect::kBesideAttr))
      beside = attr.getInt();
  }

  /// Find classes and links; an error where an op or a shape does not fit.
  LogicalResult build();
  /// Choose the layout of each class; an error where warps cannot divide a tile.
  LogicalResult assign();

  ArrayRef<Value> getTiles() const { return tiles; }
  Layout layoutOf(Value tile) const { return *layouts[classOf(tile)]; }
  /// Return the layout that the instruction wants of an `a` in registers; none where
  /// it takes any.
  std::optional<Layout> layoutOfA(DotOp dot) const;
  /// Return whether a product could accumulate the tile: there is one, and its instruction's size
  /// divides the tile's.
  bool fitsAccumulator(Value tile) const;
  /// Return the layout of an accumulator of the tile's size; none where it does not fit.
  std::optional<Layout> layoutAsAccumulator(Value tile) const;

private:
  /// `part` is `whole` without `dim`, or transposed where `dim` is absent.
  struct Link {
    Operation *op;
    Value whole, part;
    std::optional<unsigned> dim;
  };

  LogicalResult addTiles();
  LogicalResult addOp(Operation *op);
  LogicalResult addIfAny(IfAnyOp op);
  LogicalResult addDot(DotOp dot);
  void join(ValueRange values);
  void link(Operation *op, Value whole, Value part, std::optional<unsigned> dim);
  unsigned classOf(Value tile) const { return classes[ids.lookup(tile)]; }
  const ProductInstruction *instructionOf(DotOp dot) const;
  bool fitsRows(const ProductInstruction &instruction, int64_t rows) const;
  Layout layoutOfAcc(const ProductInstruction &instruction, Value acc) const;

  bool propagateTransposes();
  bool propagateToRows();
  bool propagateToTiles();
  void assignDefault(unsigned cls);

  FuncOp func;
  bool async;
  int64_t warps, beside = 1;
  SmallVector<Value> tiles;
  DenseMap<Value, unsigned> ids;
  llvm::IntEqClasses classes;
  SmallVector<Link> links;
  SmallVector<DotOp> dots;
  /// Hold what takes columns of accumulators, whose results are laid out like them.
  SmallVector<ColumnsOp> columns;
  /// By class: its layout, and a tile of it.
  std::vector<std::optional<Layout>> layouts;
  SmallVector<SmallVector<Value>> members;
};

/// Return the cost of a conversion, to compare: 0 if registers at most change places.
int64_t conversionCost(const Layout &from, const Layout &to);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_LAYOUTGRAPH_H
