//===- HostTensor.cpp - a named, contiguous tensor in host memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Support/HostTensor.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

const char *fa::nameOf(DType dtype) {
  static constexpr const char *names[] = {"f16", "bf16", "f32", "f64", "i8",
                                          "i16", "i32",  "i64", "u8",  "bool"};
  return names[static_cast<int>(dtype)];
}

size_t fa::sizeOf(DType dtype) {
  static constexpr size_t sizes[] = {2, 2, 4, 8, 1, 2, 4, 8, 1, 1};
  return sizes[static_cast<int>(dtype)];
}

bool fa::isFloat(DType dtype) { return dtype <= DType::F64; }

/// Bits of the mantissa and the exponent of a double, and the bias of that.
static constexpr int kMantissa = 52, kExponents = 2047, kBias = 1023;

/// Round to the nearest of binary16 (10, 5) or bfloat16 (7, 8), by bits of mantissa and exponent;
/// of two to the even one.
static uint64_t encode(double value, int mantissa, int exponent) {
  auto bits = llvm::bit_cast<uint64_t>(value);
  uint64_t sign = (bits >> 63) << (mantissa + exponent);
  uint64_t infinity = ((uint64_t(1) << exponent) - 1) << mantissa;
  uint64_t fraction = bits & ((uint64_t(1) << kMantissa) - 1);
  int stored = bits >> kMantissa & kExponents;
  if (stored == kExponents)
    return sign | infinity | (fraction == 0 ? 0 : uint64_t(1) << (mantissa - 1));
  if (stored == 0) // far below the least number
    return sign;
  int least = 2 - (1 << (exponent - 1));
  int e = std::max(stored - kBias, least);
  // In units of the last place; a carry out of the mantissa goes on into the exponent.
  int shift = kMantissa - mantissa + e - (stored - kBias);
  if (shift > kMantissa + 2)
    return sign;
  uint64_t whole = fraction | uint64_t(1) << kMantissa, half = uint64_t(1) << (shift - 1);
  uint64_t units = whole >> shift, rest = whole & (2 * half - 1);
  units += rest > half || (rest == half && (units & 1));
  return sign | std::min((uint64_t(e - least) << mantissa) + units, infinity);
}

static double decodeHalf(uint64_t bits) {
  uint64_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 0    ? double(mantissa) * 0x1p-24
                 : exponent == 31 ? (mantissa == 0 ? HUGE_VAL : NAN)
                                  : llvm::bit_cast<double>((exponent - 15 + kBias) << kMantissa |
                                                           mantissa << (kMantissa - 10));
  return bits & 0x8000 ? -value : value;
}

uint64_t fa::toBits(DType dtype, double value) {
  switch (dtype) {
  case DType::F16:
    return encode(value, 10, 5);
  case DType::BF16:
    return encode(value, 7, 8);
  case DType::F32:
    return llvm::bit_cast<uint32_t>(static_cast<float>(value));
  case DType::F64:
    return llvm::bit_cast<uint64_t>(value);
  default:
    llvm_unreachable("not a float dtype");
  }
}

double fa::fromBits(DType dtype, uint64_t bits) {
  switch (dtype) {
  case DType::F16:
    return decodeHalf(bits);
  case DType::BF16:
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits << 16));
  case DType::F32:
    return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
  case DType::F64:
    return llvm::bit_cast<double>(bits);
  default:
    llvm_unreachable("not a float dtype");
  }
}

double fa::roundTo(DType dtype, double value) { return fromBits(dtype, toBits(dtype, value)); }

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::optional<int64_t> fa::elementCount(const std::vector<int64_t> &shape, DType dtype) {
  int64_t count = 1, bytes;
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      return std::nullopt;
    if (size == 0)
      empty = true;
    else if (llvm::MulOverflow(count, size, count))
      return std::nullopt;
  }
  if (llvm::MulOverflow(count, static_cast<int64_t>(sizeOf(dtype)), bytes))
    return std::nullopt;
  return empty ? 0 : count;
}

std::string fa::toString(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

HostTensor HostTensor::zeros(std::string name, DType dtype, std::vector<int64_t> shape) {
  size_t bytes = static_cast<size_t>(*elementCount(shape, dtype)) * sizeOf(dtype);
  return {std::move(name), dtype, std::move(shape), std::vector<std::byte>(bytes)};
}

bool HostTensor::isConsistent() const {
  std::optional<int64_t> count = elementCount(shape, dtype);
  return count && static_cast<size_t>(*count) * sizeOf(dtype) == data.size();
}

template <typename T> static T read(const HostTensor &tensor, int64_t i) {
  T value;
  std::memcpy(&value, tensor.data.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T> static void write(HostTensor &tensor, int64_t i, T value) {
  std::memcpy(tensor.data.data() + i * sizeof(T), &value, sizeof(T));
}

double HostTensor::at(int64_t i) const {
  switch (dtype) {
  case DType::F16:
  case DType::BF16:
    return fromBits(dtype, read<uint16_t>(*this, i));
  case DType::F32:
    return read<float>(*this, i);
  case DType::F64:
    return read<double>(*this, i);
  default:
    return static_cast<double>(integerAt(i));
  }
}

int64_t HostTensor::integerAt(int64_t i) const {
  switch (dtype) {
  case DType::I8:
    return read<int8_t>(*this, i);
  case DType::I16:
    return read<int16_t>(*this, i);
  case DType::I32:
    return read<int32_t>(*this, i);
  case DType::I64:
    return read<int64_t>(*this, i);
  case DType::U8:
    return read<uint8_t>(*this, i);
  case DType::Bool:
    return read<uint8_t>(*this, i) != 0;
  default:
    llvm_unreachable("not an integer dtype");
  }
}

void HostTensor::set(int64_t i, double value) {
  switch (dtype) {
  case DType::F16:
  case DType::BF16:
    return write(*this, i, static_cast<uint16_t>(toBits(dtype, value)));
  case DType::F32:
    return write(*this, i, static_cast<float>(value));
  case DType::F64:
    return write(*this, i, value);
  default:
    return setInteger(i, static_cast<int64_t>(value));
  }
}

void HostTensor::setInteger(int64_t i, int64_t value) {
  switch (sizeOf(dtype)) {
  case 1:
    return write(*this, i, static_cast<uint8_t>(dtype == DType::Bool ? value != 0 : value));
  case 2:
    return write(*this, i, static_cast<uint16_t>(value));
  case 4:
    return write(*this, i, static_cast<uint32_t>(value));
  default:
    return write(*this, i, value);
  }
}
