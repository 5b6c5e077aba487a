//===- DataMasks.h - random masks by captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_DATAMASKS_H
#define FA_TEST_FUZZ_DATAMASKS_H

#include "Random.h"
#include "fa/Reference/Sampling.h"
#include "fa/Support/HostTensor.h"

namespace fa_fuzz {

/// A captured tensor of integers that a mask reads.
struct DataCapture {
  std::string name, element;
  /// Sizes as `fa.dims` names them; the last one is "Sq", "Sk", or that of blocks of keys.
  std::vector<std::string> dims;
  /// How many rows and keys a block has, where the last two sizes are of blocks.
  int64_t blockRows = 0, blockKeys = 0;
  /// Record whether it holds large numbers, of which the mask takes the lowest bits.
  bool isWide = false;

  std::string type() const;
  /// Return a parameter of an entry.
  std::string parameter() const;
  /// Make a tensor of zeros.
  mlir::fa::HostTensor make(int64_t batch, int64_t heads, int64_t rows, int64_t keys) const;
  /// Set integers of a kind that `random` picks: ids that rise or fall, all equal, with a foreign
  /// one in the middle, in no order, limits of up to `length`, extreme ones, flags, zeros; of wide
  /// captures so many times a number.
  void draw(mlir::fa::HostTensor &tensor, int64_t length, Random random) const;
};

/// Make one to three captures: of rows, of keys, of blocks; of each sequence, each head, or all.
/// `isWide`: one or more are of large numbers.
std::vector<DataCapture> makeDataCaptures(Random &random, bool isWide = false);

/// Make the ops of a mask region on b, h, i, j, sq, sk and the captures, each of which is read; the
/// yield included. They are read at i, j, i + c, i - c and i / c; what is read, or computed from
/// it, may be cut to fewer bits than it has.
std::string makeDataMask(Random &random, const std::vector<DataCapture> &captures);

/// A program of attention with such a mask; maybe a sink, dropout, packed sequences or lengths.
struct DataProgram {
  std::string text;
  std::vector<DataCapture> captures;
  mlir::fa::AttentionSizes sizes;
  bool hasSequences = false;
  /// Something flows back into lse.
  bool dlse = false;
};

DataProgram makeDataProgram(Random &random);

/// Make one that has a random score (Scores.h) as well, of more head sizes.
DataProgram makeDataScoreProgram(Random &random);

} // namespace fa_fuzz

#endif // FA_TEST_FUZZ_DATAMASKS_H
