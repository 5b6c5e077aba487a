//===- HostTensor.h - a named, contiguous tensor in host memory -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_HOSTTENSOR_H
#define FA_SUPPORT_HOSTTENSOR_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class Type;
namespace fa {

enum class DType { F16, BF16, F32, F64, I8, I16, I32, I64, U8, Bool };

/// "f16", "bf16", ..., "bool".
const char *nameOf(DType dtype);
/// Return the bytes of one element.
size_t sizeOf(DType dtype);
bool isFloat(DType dtype);
/// Return the dtype that holds values of a scalar type: i1 is Bool, index is I64,
/// signless integers are signed; none for other types.
std::optional<DType> dtypeOf(Type type);
/// Return the value of a float dtype nearest to `value`, ties to even; overflow gives
/// an infinity.
double roundTo(DType dtype, double value);
/// Return the bits of `value` rounded to a float dtype, and the value of such bits.
uint64_t toBits(DType dtype, double value);
double fromBits(DType dtype, uint64_t bits);

/// Return the number of elements of a shape; none where a size is negative or the
/// bytes do not fit in int64.
std::optional<int64_t> elementCount(const std::vector<int64_t> &shape, DType dtype);
/// "2x3", "scalar" for rank 0.
std::string toString(const std::vector<int64_t> &shape);

/// Row-major; scalars have rank 0.
struct HostTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;

  /// Zeros; the shape must have an elementCount.
  static HostTensor zeros(std::string name, DType dtype, std::vector<int64_t> shape);
  int64_t size() const { return int64_t(data.size() / sizeOf(dtype)); }
  /// Return whether `data` is as large as the shape says.
  bool isConsistent() const;
  /// Return element `i` in row-major order, of any dtype, as a number.
  double at(int64_t i) const;
  /// Return element `i` of an integer or bool tensor.
  int64_t integerAt(int64_t i) const;
  /// Rounds to nearest even for floats, wraps around for integers.
  void set(int64_t i, double value);
  void setInteger(int64_t i, int64_t value);
};

} // namespace fa
} // namespace mlir

#endif // FA_SUPPORT_HOSTTENSOR_H
