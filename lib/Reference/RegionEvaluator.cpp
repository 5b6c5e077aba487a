//===- RegionEvaluator.cpp - runs a compiled region -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionCode.h"
#include "fa/Reference/RegionInterpreter.h"

using namespace mlir;
using namespace mlir::fa;

static RegionValue element(const HostTensor &tensor, int64_t i, bool asFloat, unsigned width) {
  RegionValue value;
  if (asFloat)
    value.f = tensor.at(i);
  else
    value.i = truncate(tensor.integerAt(i), width);
  return value;
}

RegionEvaluator::RegionEvaluator(const RegionProgram &program,
                                 const std::vector<const HostTensor *> &captures,
                                 RegionPrecision precision)
    : program(program), captures(captures), precision(precision), slots(program.initial) {
  for (size_t i = 0; i < captures.size(); ++i)
    if (int32_t slot = program.captureSlots[i]; slot >= 0)
      slots[slot] = element(*captures[i], 0, program.captureIsFloat[i], program.captureWidths[i]);
}

std::optional<int64_t> RegionEvaluator::elementOf(const RegionInstruction &extract) const {
  const HostTensor &tensor = *captures[extract.a];
  uint64_t linear = 0;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    uint64_t index = slots[program.indices[extract.b + d]].i;
    // Negative indices are out of range too: they are large as unsigned.
    if (index >= static_cast<uint64_t>(tensor.shape[d]))
      return std::nullopt;
    linear = linear * tensor.shape[d] + index;
  }
  return static_cast<int64_t>(linear);
}

RegionValue RegionEvaluator::extract(const RegionInstruction &instruction) {
  std::optional<int64_t> place = elementOf(instruction);
  if (!place)
    return RegionValue{0};
  return element(*captures[instruction.a], *place, instruction.toFloat, instruction.toWidth);
}

void RegionEvaluator::run(const Position &at) {
  int64_t positions[] = {at.b, at.h, at.i, at.j, at.sq, at.sk};
  for (int i = 0; i < 6; ++i)
    slots[program.firstPosition + i].i = positions[i];
  for (const RegionInstruction &instruction : program.instructions) {
    RegionValue &result = slots[instruction.result];
    if (instruction.code == RegionCode::Extract) {
      result = extract(instruction);
    } else if (instruction.code == RegionCode::Select) {
      result = slots[instruction.a].i ? slots[instruction.b] : slots[instruction.c];
    } else {
      bool two = hasTwoResults(instruction.code);
      RegionValue second{0};
      result = evaluate(instruction, slots[instruction.a], slots[instruction.b],
                        slots[instruction.c], second);
      if (precision == RegionPrecision::Rounded && instruction.toFloat &&
          instruction.to != DType::F64) {
        result.f = roundTo(instruction.to, result.f);
        second.f = two ? roundTo(instruction.to, second.f) : 0;
      }
      if (two)
        slots[instruction.result + 1] = second;
    }
  }
}

bool RegionEvaluator::mask(const Position &at) {
  run(at);
  return slots[program.yielded].i & 1;
}

double RegionEvaluator::score(double s, const Position &at) {
  slots[0].f = s;
  run(at);
  return slots[program.yielded].f;
}
