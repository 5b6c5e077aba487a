//===- LinearForm.h - integers as sums of row and column indices -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Masks and scores compute on the row index i and the column index j of a score,
// mostly by sums: j <= i + sk - sq. Whoever simplifies that needs the same: what
// multiplies i, what multiplies j, and what is the rest. `LinearForm` is the
// answer, `LinearForms` finds it in a tile program; the mask analysis of `fa`
// computes with forms over a whole box of scores.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_LINEARFORM_H
#define FA_DIALECT_TILE_IR_LINEARFORM_H

#include "fa/Dialect/Tile/IR/Integers.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace mlir::tile {

class IotaOp;

/// constant + row * i + column * j + the rest: i and j are the row and the column
/// index, and the rest are further terms, numbered by whoever makes the form.
struct LinearForm {
  enum : unsigned { kRow, kColumn, kRest };
  using Term = std::pair<unsigned, int64_t>;

  /// Terms and their factors, which are not 0, in ascending order.
  SmallVector<Term, 4> terms;
  int64_t constant = 0;

  static LinearForm ofTerm(unsigned term) { return {{{term, 1}}, 0}; }
  int64_t coefficient(unsigned term) const;
  int64_t row() const { return coefficient(kRow); }
  int64_t column() const { return coefficient(kColumn); }
  bool operator==(const LinearForm &other) const {
    return terms == other.terms && constant == other.constant;
  }

  /// Return this + factor * other, nothing if a number leaves [-2^62, 2^62].
  std::optional<LinearForm> plus(const LinearForm &other, int64_t factor = 1) const;
  /// Return the form without a term.
  LinearForm without(unsigned term) const;
  /// Return the greatest magnitude of a sum of some of the terms, where each is in its range.
  __int128 magnitude(function_ref<Interval(unsigned)> rangeOf) const;
  /// Return the range of the whole sum, nothing if a sum of some terms may leave [-2^62, 2^62].
  MaybeInterval range(function_ref<Interval(unsigned)> rangeOf) const;
};

/// Finds the forms of values of a tile program: of sums and differences of indices
/// (`tile.iota`), scalars and tiles. i and j count from 0 within the tile. A value
/// of n bits is its form modulo 2^n; an index that is cast to fewer bits keeps its.
class LinearForms {
public:
  /// A value that is no sum, and how it differs between the elements of the tile.
  struct Term {
    Value value;
    bool onRow, onColumn;
    bool isUniform() const { return !onRow && !onColumn; }
  };

  /// Return the form of a value whose elements differ between rows and between columns as
  /// given: a tile of rank 2 by both, one of rank 1 by either, a scalar by neither.
  std::optional<LinearForm> get(Value value, bool onRow, bool onColumn);
  /// Return the form of a tile of rank 2 or, of rank 1, of a row.
  std::optional<LinearForm> get(Value tile);
  /// Return the form of a scalar; sums are taken apart that `wanted` accepts, a few at most.
  std::optional<LinearForm> getScalar(Value scalar, function_ref<bool(Value)> wanted);
  /// Return a term by its number; not i or j.
  const Term &term(unsigned number) const { return terms[number - LinearForm::kRest]; }

private:
  using Axes = std::pair<bool, bool>;

  std::optional<LinearForm> compute(Value value, Axes on);
  std::optional<LinearForm> ofSum(Value scalar, function_ref<bool(Value)> wanted, unsigned &most);
  LinearForm ofTerm(Value value, Axes on);

  /// In the order in which they were met.
  SmallVector<Term> terms;
  llvm::DenseMap<std::pair<Value, unsigned>, std::optional<LinearForm>> known;
};

/// Return the column indices from 0 on that the value is, or repeats in each row of a tile;
/// null where it is something else.
IotaOp getColumnIndices(Value value);

} // namespace mlir::tile

#endif // FA_DIALECT_TILE_IR_LINEARFORM_H
