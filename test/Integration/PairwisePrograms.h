//===- PairwisePrograms.h - programs of fa.pairwise, and plain loops -*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_INTEGRATION_PAIRWISEPROGRAMS_H
#define FA_TEST_INTEGRATION_PAIRWISEPROGRAMS_H

#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Support/HostTensor.h"
#include <ostream>

namespace mlir::fa::test {

struct Sizes {
  int64_t batch, hq, hk, sq, sk;
};

/// Where a pair is, and what its weights are computed from.
struct Pair {
  int64_t b, h, i, j, sq, sk;
  std::vector<double> dots;
  double keep;
  /// The captures at (b, h, i) and at h.
  double row, slope;
};

struct Sum {
  int weight;
  std::vector<Axis> axes;
  int times = -1;
  double factor = 1;
};

struct Program {
  const char *name;
  Sizes sizes;
  DType dtype;
  /// The head dimension of each pair of operands.
  std::vector<int64_t> heads;
  /// Give what the mask region holds, empty where there is none, and what it says.
  const char *mask;
  bool (*visible)(const Pair &);
  /// Give what the weights region holds after its dots %d0, %d1, ..., and the weights.
  const char *text;
  std::vector<double> (*weights)(const Pair &);
  std::vector<Sum> sums;
  double dropout = 0;
  /// Say whether the rows are the columns, too.
  bool same = false;
};

void PrintTo(const Program &program, std::ostream *out);

/// Return the programs; each computes sums at several subsets of the axes.
ArrayRef<Program> getPrograms();

/// Return a sum as the op's attribute has it.
std::string attributeOf(const Sum &sum);
/// Return a program as text, its entry with these attributes.
std::string textOf(const Program &program, const std::string &attributes = "");
/// Return the shape of a result.
std::vector<int64_t> shapeOf(const Program &program, const Sum &sum);

/// The tensors of a launch of a program, and its pairs.
class Inputs {
public:
  explicit Inputs(const Program &program);

  /// Return element `d` of the vector of row operand `n` at a pair, or of its column operand.
  double at(unsigned n, bool isRow, const Pair &p, int64_t d) const;
  /// Call `visit` with each visible pair.
  void forEach(llvm::function_ref<void(const Pair &)> visit) const;

  const Program &program;
  std::vector<HostTensor> tensors;
};

/// A sum in double, and how large what it adds up is.
struct Expected {
  std::vector<double> values, sizes;
};

/// Compute the sums of a program by plain loops.
std::vector<Expected> compute(const Inputs &inputs);

} // namespace mlir::fa::test

#endif // FA_TEST_INTEGRATION_PAIRWISEPROGRAMS_H
