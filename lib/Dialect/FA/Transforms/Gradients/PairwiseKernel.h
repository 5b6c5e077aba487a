//===- PairwiseKernel.h - the kernel of sums over pairs with the same blocks -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// RewritePairwise.cpp says which kernels there are and which sum each has. What a kernel computes
// stands in PairwiseWeights.cpp, how it loops and adds up in PairwiseKernel.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_PAIRWISEKERNEL_H
#define FA_DIALECT_FA_TRANSFORMS_PAIRWISEKERNEL_H

#include "../BlockBuilder.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallSet.h"
#include <array>
#include <list>

namespace mlir::fa {

/// The kernel of the sums with the same blocks.
class PairwiseKernel {
public:
  /// One sum as a kernel computes it.
  struct Output {
    SumAttr sum;
    RankedTensorType type;
    /// The number of the op's result that it is, or that is added up from it.
    unsigned result;
  };

  PairwiseKernel(PairwiseOp op, StringRef suffix, ValueRange over, ArrayRef<Axis> axes)
      : op(op), name((op->getParentOfType<func::FuncOp>().getSymName() + suffix).str()),
        over(llvm::to_vector(over)), axes(axes), builder(op), r(builder, op.getLoc()) {}

  void add(const Output &output) { outputs.push_back(output); }
  /// Emit the kernel; `results` gets its results by their number in the op.
  void emit(MutableArrayRef<Value> results);

private:
  /// Weights of a kernel that need the same dots.
  struct Group {
    SmallVector<int64_t> weights;
    /// List the positions of scatters of these weights, among what the op's region yields.
    SmallVector<int64_t> positions;
    /// List what the region reads, in order: dots, weights of earlier groups, keep.
    SmallVector<unsigned> dots;
    SmallVector<int64_t> earlier;
    bool readsKeep = false;
    SmallVector<Value> captures;
    Region region;
  };

  bool overKeys() const { return llvm::is_contained(axes, Axis::rows); }
  bool overPairs() const { return overKeys() && llvm::is_contained(axes, Axis::keys); }
  /// Return whether a block of keys is of one query head.
  bool ofOneHead() const { return !overKeys() && llvm::is_contained(axes, Axis::h); }
  bool overHeads() const { return !overKeys() && !llvm::is_contained(axes, Axis::keys); }
  void copyMask();
  void findParts();
  void loadFixed();
  SmallVector<Value> forHeads(ValueRange init, function_ref<SmallVector<Value>(ValueRange)> body);
  void groupWeights();
  void cut(Group &group);
  Value keptPairs();
  Value dropoutOf(Group &group);
  bool takesKept(Group &group);
  void computeWeights(Group &group);
  Value product(unsigned number);
  Value zero(const Output &output);
  Value zeros(const Output &output);
  bool isAddedInMemory(const Output &output) const;
  bool isShared(const Output &output) const;
  bool isStored(const Output &output) const;
  bool hasPlaces(const Output &output);
  void findSums();
  SmallVector<Axis> storedAxes(const Output &output);
  bool beginsAsZeros(const Output &output) {
    return isShared(output) || (op.hasSequences() && !output.sum.isProduct());
  }
  Value zerosOf(const Output &output);
  Value getView(const Output &output) { return block.getResultView(&output - outputs.begin()); }
  Value asOperand(Value weight, const Output &output);
  void forMemory(function_ref<Value(const Output &output)> value);
  Value addPairs(Value sum, const Output &output);
  SmallVector<Value> step(ValueRange carried);
  void store(ArrayRef<Value> sums, bool perHead);

  PairwiseOp op;
  std::string name;
  SmallVector<Value> over;
  SmallVector<Axis> axes;
  OpBuilder builder;
  BlockBuilder r;
  SmallVector<Output> outputs;
  MapBlocksOp block;
  std::optional<BlockBuilder::Dropout> dropout;
  /// Hold which pairs of the step's tile are kept, and dropout's factor on them.
  Value kept, keep;
  /// Weights that dropout clears.
  llvm::SmallSet<int64_t, 2> cleared;
  /// The mask, and the captures that it reads.
  Region mask;
  SmallVector<Value> maskCaptures;
  /// The weights that the sums read, and the dots that those are computed from.
  std::list<Group> groups;
  SmallVector<unsigned> dots;
  bool readsKeep = false;
  /// Tiles of dots, of masked weights, and of positions, by number.
  DenseMap<int64_t, Value> dotTiles, weightTiles, positionTiles;
  /// Return the tile of row or column operand `number`, loaded where it is first asked for.
  Value tileOf(unsigned number, bool isRow);
  Value scaled(Value sum, const Output &output);
  /// Hold what the block's sequence has of the column operands, and of the row operands and
  /// captures of rows: all of them without sequences.
  std::array<DenseMap<Value, Value>, 2> parts;
  /// Hold what the block's sequence has of the sums that several blocks add to, by the number of
  /// their results.
  DenseMap<unsigned, Value> sharedSums;
  /// Tiles of the column operands, and of the row operands, loaded where the loops allow.
  std::array<DenseMap<Value, Value>, 2> tiles;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_PAIRWISEKERNEL_H
