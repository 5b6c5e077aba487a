//===- AgentStabilizer.cpp - running references -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reference is a column of numbers here. With slack, any reference will do that scores
// exceed by no more than that: groups of rows without such a score keep theirs or not, as
// the seed says, as tile.if_any does for the arithmetic that stabilizers become.
//
//===----------------------------------------------------------------------===//

#include "Agent.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;
using namespace mlir::fa::interpreter;

static Datum share(Elements elements) {
  Datum datum;
  datum.tile = std::make_shared<const Elements>(std::move(elements));
  return datum;
}

static RegionValue real(float value) {
  RegionValue number{0};
  number.f = value;
  return number;
}

/// Return 2^(scale (x - y)), each step in f32.
static float exponential(double x, double y, float scale) {
  float difference = static_cast<float>(x) - static_cast<float>(y);
  return static_cast<float>(std::exp2(static_cast<double>(difference * scale)));
}

void Agent::stabilize(tile::StabilizeOp op) {
  tile::ReferenceType type = op.getReference().getType();
  const Elements &x = *get(op.getScores()).tile, &before = *get(op.getReference()).tile;
  size_t count = before.size(), columns = tileOf(op.getScores()).getDimSize(1);
  float scale = op.getScale().convertToFloat();
  auto rowOf = [&](size_t i) { return op.getDim() == 1 ? i / columns : i % columns; };

  Elements next(before);
  std::vector<bool> changed(count, true);
  if (type.getConstant()) {
    changed.assign(count, false);
  } else {
    for (size_t i = 0; i < x.size(); ++i)
      if (x[i].f > next[rowOf(i)].f)
        next[rowOf(i)] = x[i];
    if (type.getSlack()) {
      float slack = type.getSlack().getValueAsDouble() / scale;
      for (size_t row = 0; row < count; ++row)
        changed[row] = !(next[row].f <= static_cast<float>(before[row].f) + slack);
      chooseRows(op.getReference(), changed);
    }
  }
  Elements exponentials(x.size()), factor(count), ran(count);
  std::vector<double> subtracted(count);
  for (size_t row = 0; row < count; ++row) {
    if (!changed[row])
      next[row] = before[row];
    subtracted[row] = next[row].f == -INFINITY ? 0 : next[row].f;
    factor[row] = real(changed[row] ? exponential(before[row].f, subtracted[row], scale) : 1);
    ran[row].i = type.getSlack() ? changed[row] : factor[row].f != 1;
  }
  for (size_t i = 0; i < x.size(); ++i)
    exponentials[i] = real(exponential(x[i].f, subtracted[rowOf(i)], scale));
  set(op->getResult(0), share(std::move(next)));
  set(op->getResult(1), share(std::move(exponentials)));
  set(op->getResult(2), share(std::move(factor)));
  set(op->getResult(3), share(std::move(ran)));
}

/// Rescale all rows but those that `where` is false for, so that a factor other than 1 there is
/// found by its result.
void Agent::rescale(tile::RescaleOp op) {
  const Elements &input = *get(op.getInput()).tile, &factor = *get(op.getFactor()).tile;
  TileRef rows = op.getRows() ? get(op.getRows()).tile : nullptr;
  size_t width = input.size() / tileOf(op.getInput()).getDimSize(0);
  Elements result(input);
  for (size_t i = 0; i < input.size(); ++i) {
    size_t row = i / width;
    if (!rows || (*rows)[row].i)
      result[i] = real(static_cast<float>(input[i].f) *
                       static_cast<float>(factor[op.getDim() == 0 ? i % width : row].f));
  }
  set(op.getResult(), share(std::move(result)));
}

LogicalResult Agent::executeStabilizer(Operation *op) {
  if (auto reference = dyn_cast<tile::ReferenceOp>(op)) {
    FloatAttr constant = reference.getType().getConstant();
    float first = constant ? static_cast<float>(constant.getValueAsDouble()) : -INFINITY;
    set(op->getResult(0), share(Elements(reference.getType().getSize(), real(first))));
  } else if (auto stabilizer = dyn_cast<tile::StabilizeOp>(op)) {
    stabilize(stabilizer);
  } else if (auto product = dyn_cast<tile::RescaleOp>(op)) {
    rescale(product);
  } else {
    set(op->getResult(0), get(op->getOperand(0)));
  }
  return success();
}
