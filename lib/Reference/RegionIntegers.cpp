//===- RegionIntegers.cpp - what integer ops of a region compute -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The definitions follow the dialects' descriptions; what they leave undefined
// (division by zero, shifts by the width or more, ...) is defined as 0.
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::fa;

/// Signed division that C++ leaves undefined, or that overflows `width` bits.
static bool isUndefined(int64_t x, int64_t y, unsigned width) {
  return y == 0 || (y == -1 && x == signExtend(uint64_t(1) << (width - 1), width));
}

static int64_t divideRounded(int64_t x, int64_t y, bool up) {
  int64_t quotient = x / y;
  if (x % y != 0 && ((x < 0) == (y < 0)) == up)
    quotient += up ? 1 : -1;
  return quotient;
}

static uint64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = base;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return result;
}

uint64_t fa::compareIntegers(int32_t predicate, uint64_t a, uint64_t b, unsigned width) {
  int64_t x = signExtend(a, width), y = signExtend(b, width);
  switch (arith::CmpIPredicate(predicate)) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return x < y;
  case arith::CmpIPredicate::sle:
    return x <= y;
  case arith::CmpIPredicate::sgt:
    return x > y;
  case arith::CmpIPredicate::sge:
    return x >= y;
  case arith::CmpIPredicate::ult:
    return a < b;
  case arith::CmpIPredicate::ule:
    return a <= b;
  case arith::CmpIPredicate::ugt:
    return a > b;
  case arith::CmpIPredicate::uge:
    return a >= b;
  }
  llvm_unreachable("unknown predicate");
}

/// Evaluate an op on integers of one width; the caller truncates the result to it.
uint64_t fa::evaluateInteger(RegionCode code, uint64_t a, uint64_t b, unsigned width,
                             uint64_t &second) {
  int64_t x = signExtend(a, width), y = signExtend(b, width);
  switch (code) {
  case RegionCode::AddI:
    return a + b;
  case RegionCode::SubI:
    return a - b;
  case RegionCode::MulI:
    return a * b;
  case RegionCode::DivUI:
    return b ? a / b : 0;
  case RegionCode::DivSI:
    return isUndefined(x, y, width) ? 0 : x / y;
  case RegionCode::CeilDivUI:
    return b ? a / b + (a % b != 0) : 0;
  case RegionCode::CeilDivSI:
    return isUndefined(x, y, width) ? 0 : divideRounded(x, y, true);
  case RegionCode::FloorDivSI:
    return isUndefined(x, y, width) ? 0 : divideRounded(x, y, false);
  case RegionCode::RemUI:
    return b ? a % b : 0;
  case RegionCode::RemSI:
    return isUndefined(x, y, width) ? 0 : x % y;
  case RegionCode::AndI:
    return a & b;
  case RegionCode::OrI:
    return a | b;
  case RegionCode::XOrI:
    return a ^ b;
  case RegionCode::ShLI:
    return b < width ? a << b : 0;
  case RegionCode::ShRUI:
    return b < width ? a >> b : 0;
  case RegionCode::ShRSI:
    return b < width ? x >> b : 0;
  case RegionCode::MaxSI:
    return x > y ? a : b;
  case RegionCode::MinSI:
    return x < y ? a : b;
  case RegionCode::MaxUI:
    return std::max(a, b);
  case RegionCode::MinUI:
    return std::min(a, b);
  case RegionCode::AbsI:
    return x < 0 ? 0 - a : a;
  case RegionCode::CtLZ:
    return llvm::countl_zero(a) - (64 - width);
  case RegionCode::CtTZ:
    return a ? llvm::countr_zero(a) : width;
  case RegionCode::CtPop:
    return llvm::popcount(a);
  case RegionCode::IPowI:
    return power(x, y);
  case RegionCode::AddUIExtended:
    second = truncate(a + b, width) < a;
    return a + b;
  case RegionCode::MulSIExtended:
    second = truncate(uint64_t((__int128(x) * y) >> width), width);
    return a * b;
  case RegionCode::MulUIExtended:
    second = truncate(uint64_t((static_cast<unsigned __int128>(a) * b) >> width), width);
    return a * b;
  default:
    llvm_unreachable("not an integer op");
  }
}
