//===- RegionInterpreter.h - mask and score regions, evaluated in float64 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// A region of fa.attention becomes a flat list of instructions once, and is
// then run for each (b, h, i, j). The meaning of every op is that of
// docs/semantics.md: floats in double whatever their type, integers modulo
// 2^width, and total: nothing that a region can do traps.
//
//===----------------------------------------------------------------------===//

#ifndef FA_REFERENCE_REGIONINTERPRETER_H
#define FA_REFERENCE_REGIONINTERPRETER_H

#include "fa/Support/HostTensor.h"
#include "mlir/IR/Region.h"
#include "mlir/Support/LogicalResult.h"
#include <optional>

namespace mlir::fa {

/// Where a region is evaluated: its index arguments, in their order.
struct Position {
  int64_t b, h, i, j, sq, sk;
};

/// Name what one instruction does; RegionOps.cpp maps ops to these.
enum class RegionCode : uint8_t;

/// One value: i holds integers zero-extended from their width.
union RegionValue {
  uint64_t i;
  double f;
};

struct RegionInstruction {
  RegionCode code;
  uint8_t width = 64;   ///< of operand 0, in bits
  uint8_t toWidth = 64; ///< of the result
  /// Float types of operand 0 and of the result, where they are floats.
  DType from = DType::F64, to = DType::F64;
  bool fromFloat = false, toFloat = false;
  int32_t predicate = 0; ///< of comparisons
  int32_t result = 0;    ///< slot; a second result follows in the next one
  int32_t a = 0, b = 0, c = 0;
};

/// A region as instructions over numbered slots.
class RegionProgram {
public:
  /// Check that every op can be evaluated; located errors name those that cannot.
  static LogicalResult check(Region &region);
  /// `region` is a mask or score region that passed `check`.
  static RegionProgram compile(Region &region, bool isScore);

private:
  friend class RegionEvaluator;
  friend class RegionAdjoint;
  friend struct RegionCompiler;
  std::vector<RegionInstruction> instructions;
  /// Slots before the first instruction: arguments, then constants.
  std::vector<RegionValue> initial;
  /// Slots of the indices of extracts, one extract after the other.
  std::vector<int32_t> indices;
  /// For every capture: its slot where it is a scalar, else -1.
  std::vector<int32_t> captureSlots;
  std::vector<bool> captureIsFloat;
  std::vector<uint8_t> captureWidths;
  int32_t firstPosition = 0, yielded = 0;
  /// For every slot: whether it holds an f64, whose adjoint is one too.
  std::vector<bool> isDouble;
};

/// In which precision floats are computed: float64 throughout, or each result
/// rounded to its type, as a kernel would.
enum class RegionPrecision { Exact, Rounded };

/// Runs a program; one per thread. `captures` has a tensor for each capture,
/// of its dtype and rank; they and the program outlive the evaluator.
class RegionEvaluator {
public:
  RegionEvaluator(const RegionProgram &program, const std::vector<const HostTensor *> &captures,
                  RegionPrecision precision = RegionPrecision::Exact);
  bool mask(const Position &at);
  double score(double s, const Position &at);

private:
  friend class RegionAdjoint;
  void run(const Position &at);
  RegionValue extract(const RegionInstruction &instruction);
  /// Return the element that an extract reads, none where an index is out of range.
  std::optional<int64_t> elementOf(const RegionInstruction &extract) const;

  const RegionProgram &program;
  std::vector<const HostTensor *> captures;
  RegionPrecision precision;
  std::vector<RegionValue> slots;
};

} // namespace mlir::fa

#endif // FA_REFERENCE_REGIONINTERPRETER_H
