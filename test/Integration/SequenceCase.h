//===- SequenceCase.h - one program of sequences, and its starts and lengths -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_SEQUENCECASE_H
#define FA_TEST_INTEGRATION_SEQUENCECASE_H

#include "RunCase.h"

namespace fa_test {

/// One program, and what its starts and lengths are; an empty list is one that it does not take.
struct SequenceCase {
  std::string name, dtype, with;
  std::vector<int64_t> queryStarts, keyStarts, queryLengths, keyLengths;
  /// Rows of a tensor, or of each batch where there are no starts.
  int64_t queries = 0, keys = 0;
  int64_t batch = 0, hq = 4, hk = 2, d = 64;
  bool dropout = false, sink = false, poison = false;
  /// Sizes of a bias; empty without one.
  std::vector<int64_t> bias;
  std::string integer = "i32";

  /// Return the program, as MLIR text.
  std::string text() const;
  /// Draw inputs, NaN where there is no sequence.
  std::vector<mlir::fa::HostTensor> inputs() const;
  size_t countGradients() const { return 3 + (with.find('%') != std::string::npos) + sink; }
};

/// Return programs of each dtype: empty sequences, those of one token, lengths, one side in a row.
/// With `brief` there are fewer sequences of 16-bit types, since the interpreter takes long for
/// many blocks of large tiles.
std::vector<SequenceCase> sequenceCases(llvm::ArrayRef<const char *> dtypes, bool brief);
/// Return those of gradients, with fewer heads.
std::vector<SequenceCase> sequenceGradientCases(llvm::ArrayRef<const char *> dtypes, bool brief);
/// Return those of gradients in the fused form: lengths about those of boxes and tiles, of which
/// each sequence has a place.
std::vector<SequenceCase> fusedSequenceCases(llvm::ArrayRef<const char *> dtypes);
/// Return one of starts that fall, are negative or exceed the tensor.
SequenceCase senselessSequences();

llvm::Expected<PreparedCase> prepare(const SequenceCase &settings);

} // namespace fa_test

#endif // FA_TEST_INTEGRATION_SEQUENCECASE_H
