//===- TileWords.h - what memory says of a work tile -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_TILEWORDS_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_TILEWORDS_H

#include "PackedTileId.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::tile {

/// Finds what roles read from memory about a work tile, knowing no more than its packed id: the
/// role that schedules work tiles reads it for all of them, and sends it after the packed id.
class TileWords {
public:
  /// Find what each of the roles reads; `ids` are their packed ids.
  TileWords(ArrayRef<RoleOp> roles, const llvm::MapVector<Operation *, PackedTileId> &ids);

  /// Return the number of words beyond the packed id.
  size_t size() const { return count; }
  /// Return whether work tiles that store nothing are found by words and packed ids alone.
  bool knowsIdle() const { return !stores && !conditions.empty(); }

  /// Emit the words (i32) of the work tile of a packed id, and whether it stores anything, null
  /// where that is not known.
  std::pair<SmallVector<Value>, Value> emit(OpBuilder &b, Location loc, const PackedTileId &id);
  /// Emit a condition on which work tiles store something at all, whatever their ids; return null
  /// where none is known.
  Value emitPossible(OpBuilder &b);
  /// Let a role use words in place of what it reads.
  void replace(OpBuilder &b, RoleOp role, ValueRange words);

private:
  /// Holds what roles know of a work tile alike: the value of each that has it.
  struct Shared {
    llvm::SmallDenseMap<Operation *, Value> values;
    unsigned firstWord = 0, words = 0;
  };

  void collect(RoleOp role, bool derives);
  bool isShared(RoleOp role, Value value);
  /// Let a role use what others are sent, too, where it computes that alike.
  void shareAlso(RoleOp role);
  void derive(RoleOp role, const llvm::SetVector<Operation *> &known, ArrayRef<Value> needed,
              llvm::SetVector<Value> &sent);
  void collectConditions(RoleOp role, const llvm::SetVector<Operation *> &known);
  bool isAlike(Value a, RoleOp roleOfA, Value b, RoleOp roleOfB);
  bool computesAlike(Operation *a, RoleOp roleOfA, Operation *b, RoleOp roleOfB);

  const llvm::MapVector<Operation *, PackedTileId> &ids;
  SmallVector<Shared> shared;
  size_t count = 0;
  /// Where one of these pairs of an index and a size has the index less, something is stored.
  SmallVector<std::tuple<RoleOp, Value, Value>> conditions;
  /// Set where work tiles store elsewhere, too.
  bool stores = false;
  llvm::DenseMap<std::pair<Operation *, Operation *>, bool> alike;
};

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_TILEWORDS_H
