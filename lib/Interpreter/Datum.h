//===- Datum.h - what a value of a program is while it is run -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_TARGET_INTERPRETER_DATUM_H
#define FA_LIB_TARGET_INTERPRETER_DATUM_H

#include "fa/Interpreter/Interpreter.h"
#include <memory>

namespace mlir::fa::interpreter {

/// The elements of a tile, row major; floats rounded to the element type.
using Elements = std::vector<RegionValue>;
using TileRef = std::shared_ptr<const Elements>;

/// A slot, the how manieth tile of its ring it was got for, and by which reader.
struct SlotRef {
  unsigned ring = 0;
  int64_t stage = 0;
  uint64_t generation = 0;
  unsigned reader = 0;
};

struct Product;

/// A value: which of these it is, its type says.
struct Datum {
  RegionValue scalar{0};
  TileRef tile;
  SlotRef slot; ///< `ring` also of a ring; the first of barriers; of a ping-pong
  std::shared_ptr<Product> product;
  const Memory *memory = nullptr;
};

/// A product of tiles that was started. Its operands are read, and the result
/// is made, at any time until it is awaited: early, or as late as may be.
struct Product {
  Operation *op;
  Datum a, b;
  TileRef acc, early;
  bool awaited = false;
};

/// Splitmix64 (Steele et al., "Fast splittable pseudorandom number
/// generators", OOPSLA 2014).
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  bool coin() { return next() & 1; }

private:
  uint64_t state;
};

/// Return a value of a type that was not written: NaN, or noise.
inline RegionValue poisonOf(Type element, Random &random) {
  RegionValue value;
  if (isa<FloatType>(element))
    value.f = std::numeric_limits<double>::quiet_NaN();
  else
    value.i = random.next() >> (64 - (element.isIndex() ? 64 : element.getIntOrFloatBitWidth()));
  return value;
}

} // namespace mlir::fa::interpreter

#endif // FA_LIB_TARGET_INTERPRETER_DATUM_H
