//===- RegionOps.cpp - looking up RegionOps.def -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RegionPartials.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::region;

namespace {

/// The lines, by the type of an op and by its name.
struct Table {
  std::vector<RegionOp> lines;
  llvm::DenseMap<TypeID, unsigned> types;
  llvm::StringMap<unsigned> names;

  Table();
  template <typename OpTy> void add(RegionOp line) {
    line.name = OpTy::getOperationName();
    types[TypeID::get<OpTy>()] = names[line.name] = lines.size();
    lines.push_back(line);
  }
  template <typename OpTy> RegionOp &get() { return lines[types.at(TypeID::get<OpTy>())]; }
};

} // namespace

Table::Table() {
  constexpr bool No = false, Yes = true;
#define REGION_OP(OP, TOTALITY, BOUND, SIGN, PRESSURE, SPECIAL, ARITHMETIC, GPU, CPU, AGAIN,       \
                  PARTIAL)                                                                         \
  add<OP>({{},                                                                                     \
           Totality::TOTALITY,                                                                     \
           Bound::BOUND,                                                                           \
           Sign::SIGN,                                                                             \
           {Pressure::PRESSURE, SPECIAL, ARITHMETIC, No},                                          \
           std::nullopt,                                                                           \
           std::nullopt,                                                                           \
           Lowering::GPU,                                                                          \
           Lowering::CPU,                                                                          \
           AGAIN,                                                                                  \
           partial::PARTIAL});
#define APPROXIMATE_OP(OP, PRESSURE, SPECIAL, ARITHMETIC, SHORT)                                   \
  get<OP>().approximate = Effort{Pressure::PRESSURE, SPECIAL, ARITHMETIC, SHORT};
#define ABSOLUTE_OP(OP, PRESSURE, SPECIAL, ARITHMETIC, ERROR)                                      \
  get<OP>().absolute = AbsoluteForm{{Pressure::PRESSURE, SPECIAL, ARITHMETIC, No}, ERROR};
#define INDEX_OP(OP, ARITH) types[TypeID::get<OP>()] = types.at(TypeID::get<ARITH>());
#include "fa/Dialect/Tile/IR/RegionOps.def"
  for (RegionOp &line : lines)
    line.effort.isShort = line.gpu == Lowering::Instruction || line.gpu == Lowering::Expanded ||
                          line.gpu == Lowering::Primitive;
  // A square root and a reciprocal: together one instruction.
  get<math::RsqrtOp>().effort.isShort = true;
}

static const Table &getTable() {
  static const Table table;
  return table;
}

const RegionOp *region::lookUp(Operation *op) {
  const Table &table = getTable();
  auto found = table.types.find(op->getName().getTypeID());
  return found == table.types.end() ? nullptr : &table.lines[found->second];
}

const RegionOp *region::lookUp(StringRef name) {
  const Table &table = getTable();
  auto found = table.names.find(name);
  return found == table.names.end() ? nullptr : &table.lines[found->second];
}

std::optional<double> region::boundOf(Operation *op,
                                      function_ref<std::optional<double>(Value)> of) {
  const RegionOp *line = lookUp(op);
  if (!line || line->bound == Bound::Unknown)
    return std::nullopt;
  if (line->bound == Bound::One)
    return 1;
  unsigned first = line->bound == Bound::Either ? 1 : 0;
  std::optional<double> a = of(op->getOperand(first)), b = of(op->getOperand(first + 1));
  if (!a || !b)
    return std::nullopt;
  switch (line->bound) {
  case Bound::Sum:
    return *a + *b;
  case Bound::Product:
    return *a * *b;
  default:
    return std::max(*a, *b);
  }
}

Value region::signOf(Operation *op, function_ref<bool(Value)> isPositive) {
  const RegionOp *line = lookUp(op);
  if (!line || line->sign == Sign::Unknown)
    return {};
  if (line->sign == Sign::Operand || isPositive(op->getOperand(1)))
    return op->getOperand(0);
  return line->sign == Sign::Product && isPositive(op->getOperand(0)) ? op->getOperand(1) : Value();
}

/// Return what a division gives where it is defined.
static std::optional<int64_t> divided(bool isDefined, function_ref<int64_t()> divide) {
  return isDefined ? std::optional<int64_t>(divide()) : std::nullopt;
}

std::optional<int64_t> region::evaluate(Operation *op, int64_t x, int64_t y) {
#define INTEGER_OP(OP, RESULT)                                                                     \
  if (isa<OP>(op))                                                                                 \
    return RESULT;
#include "fa/Dialect/Tile/IR/RegionOps.def"
  return std::nullopt;
}

bool region::allowsApproximation(Operation *op) {
  auto flags = dyn_cast<arith::ArithFastMathInterface>(op);
  return flags && flags.getFastMathFlagsAttr() &&
         bitEnumContainsAny(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::afn);
}

const Effort &region::effortOf(Operation *op) {
  const RegionOp *line = lookUp(op);
  assert(line && "an op that the table lacks");
  if (line->approximate && allowsApproximation(op))
    return *line->approximate;
  return line->absolute && op->hasAttr(tile::TileDialect::kAbsoluteErrorAttr)
             ? line->absolute->effort
             : line->effort;
}

StringRef region::getRemedy(Operation *op) {
  if (isa<arith::RemFOp>(op))
    return "write x - y * trunc(x / y)";
  return isa<math::IPowIOp>(op) ? "write it with multiplications" : "";
}
