//===- MaskInterpreter.h - runs a mask region over a tile ---*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_FA_TRANSFORMS_MASKINTERPRETER_H
#define FA_DIALECT_FA_TRANSFORMS_MASKINTERPRETER_H

#include "MaskRanges.h"
#include "fa/Dialect/FA/IR/FA.h"

namespace mlir::tensor {
class ExtractOp;
} // namespace mlir::tensor

namespace mlir::fa {

/// Loads of captures that are the same for all of a block, and the least and greatest of others
/// over it; shared by the runs over several boxes.
struct BlockLoads {
  DenseMap<Operation *, Value> uniform;
  DenseMap<Operation *, std::pair<Value, Value>> ranges;
  /// Numbers of the region that fit their types, and scalars that are small, in all of the loop
  /// where the assumption of the run over it holds. A run over a tile assumes it of others itself.
  DenseSet<Value> shown;
  /// Say whether what differs along the loop may be read in it, for each tile.
  bool mayReadInLoop = false;
};

/// Runs the region of one `fa.apply_mask`, op by op, over a box.
class MaskInterpreter {
public:
  MaskInterpreter(ApplyMaskOp mask, scf::ForOp loop, MaskRanges &ranges, BlockLoads &loads)
      : mask(mask), loop(loop), r(ranges), loads(loads) {}

  Verdict run();
  /// Return the first op whose result is not known; null where all are.
  Operation *getUnknownOp() const { return unknownOp; }
  /// Return whether tensors are read at quotients of indices: a tile may then be told to be
  /// invisible that no set of indices leaves out.
  bool readsBlocks() const { return anyBlocks; }
  /// Return whether the mask as written says more of a tile than limits of rows, or of keys, do.
  bool testsWritten() const { return anyWritten; }
  /// Return what is known of a condition that the region computes, after `run`.
  Verdict getCondition(Value value) { return condition(value); }

private:
  /// A number, or a condition where the type is i1.
  struct Item {
    Linear number;
    Verdict condition;
    /// Record whether something that it is computed from was not known, so that it was taken for
    /// anything in its type: a run that knows more may have another number, equal modulo 2^N.
    bool isGuessed = false;
  };

  void runBlock(Block &block);
  Verdict runWritten(scf::IfOp fallback);
  void runOp(Operation &op);
  bool runNumber(Operation &op);
  bool runCondition(Operation &op);
  bool runShift(Operation &op);
  bool runCast(Operation &op, Value from, bool isSigned);
  bool runCompare(Operation &op, arith::CmpIPredicate predicate);
  bool runExtract(tensor::ExtractOp op);
  Value sourceOf(tensor::ExtractOp op);
  SmallVector<SmallVector<Value>> blocksOf(tensor::ExtractOp op, Value &all);
  bool runExtractOfBlocks(tensor::ExtractOp op);
  Value loadUniform(tensor::ExtractOp op);
  bool runSummarized(tensor::ExtractOp op);
  void require(Value of, Value isSmall);
  void setScalar(Value result, Value scalar);
  void setUnknown(Value result);
  void set(Value result, const Linear &number);
  void set(Value result, const Verdict &condition) { items[result].condition = condition; }
  Linear raw(Value value) { return items[value].number; }
  Linear number(Value value);
  Verdict condition(Value value) { return items[value].condition; }

  ApplyMaskOp mask;
  scf::ForOp loop;
  MaskRanges &r;
  BlockLoads &loads;
  DenseMap<Value, Item> items;
  Operation *unknownOp = nullptr;
  bool anyBlocks = false, anyWritten = false;
};

} // namespace mlir::fa

#endif // FA_DIALECT_FA_TRANSFORMS_MASKINTERPRETER_H
