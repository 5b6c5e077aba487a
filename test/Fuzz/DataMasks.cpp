//===- DataMasks.cpp - random masks by captured integers -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DataMasks.h"
#include <algorithm>

using namespace fa_fuzz;
using mlir::fa::DType;
using mlir::fa::HostTensor;

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

std::string DataCapture::type() const {
  std::string text = "tensor<";
  for (size_t d = 0; d < dims.size(); ++d)
    text += "?x";
  return text + element + ">";
}

std::string DataCapture::parameter() const {
  std::string sizes;
  for (const std::string &size : dims)
    sizes += (sizes.empty() ? "\"" : ", \"") + size + "\"";
  return "%" + name + ": " + type() + " {fa.name = \"" + name + "\", fa.dims = [" + sizes + "]}";
}

HostTensor DataCapture::make(int64_t batch, int64_t heads, int64_t rows, int64_t keys) const {
  std::vector<int64_t> shape;
  for (const std::string &size : dims)
    shape.push_back(size == "B" ? batch : size == "Hq" ? heads : size[1] == 'q' ? rows : keys);
  if (blockRows) {
    shape.back() = (keys + blockKeys - 1) / blockKeys;
    shape.end()[-2] = (rows + blockRows - 1) / blockRows;
  }
  DType dtype = element == "i64"   ? DType::I64
                : element == "i32" ? DType::I32
                : element == "i8"  ? DType::I8
                                   : DType::Bool;
  return HostTensor::zeros(name, dtype, shape);
}

std::vector<DataCapture> fa_fuzz::makeDataCaptures(Random &random, bool isWide) {
  std::vector<DataCapture> captures;
  auto add = [&](std::vector<std::string> last) -> DataCapture & {
    DataCapture capture;
    capture.name = "data" + std::to_string(captures.size());
    capture.element = random.pick({"i32", "i32", "i32", "i64", "i8", "i1"});
    if (isWide && last.size() == 1 && (last[0] == "Sk" || random.percent(30))) {
      capture.isWide = true;
      capture.element = random.pick({"i64", "i64", "i64", "i32", "i8"});
    }
    if (random.percent(70))
      capture.dims.push_back("B");
    if (!capture.dims.empty() && random.percent(30))
      capture.dims.push_back("Hq");
    capture.dims.insert(capture.dims.end(), last.begin(), last.end());
    captures.push_back(capture);
    return captures.back();
  };
  if (random.percent(70))
    add({"Sq"});
  if (captures.empty() || random.percent(75))
    add({"Sk"});
  if (random.percent(25)) {
    int64_t rows = random.pick({16, 48, 64, 80}), keys = random.pick({16, 48, 64, 80});
    DataCapture &blocks = add({"Sq/" + std::to_string(rows), "Sk/" + std::to_string(keys)});
    blocks.blockRows = rows;
    blocks.blockKeys = keys;
  }
  return captures;
}

void DataCapture::draw(HostTensor &tensor, int64_t length, Random random) const {
  int64_t last = tensor.shape.back(), kind = random.below(blockRows ? 3 : 11);
  int64_t step = 1, base = 0;
  if (isWide) {
    step = random.pick({1, 100, 255, 1000, 40000, 70000, 1 << 20});
    base = random.pick({0, 120, 5000, 32760});
  }
  for (int64_t first = 0; first < tensor.size(); first += last) {
    int64_t parts = random.between(1, 6), value = random.between(-2, 3);
    std::vector<int64_t> numbers;
    for (int64_t n = 0; n < last; ++n) {
      value += random.below(last) < parts;
      bool few = random.percent(25);
      int64_t number = value;
      if (kind == 1) // flags
        number = few;
      else if (kind == 2) // all equal; zeros of blocks
        number = 0;
      else if (kind == 3) // ids that fall
        number = -value;
      else if (kind == 4) // in no order
        number = random.below(parts);
      else if (kind == 5 || kind == 6) // limits, and such that rise
        number = kind == 5 ? random.between(-3, length + 3) : n * length / last + random.below(9);
      else if (kind == 7) // padding
        number = n < last * (parts + 1) / 8;
      else if (kind == 8) // extreme ones
        number =
            few ? value : random.pick({INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, int64_t(0)});
      numbers.push_back(kind == 8 ? number : base + number * step);
    }
    if (kind == 9 && last) // a foreign id
      numbers[last / 2] = 99;
    for (int64_t n = 0; n < last; ++n)
      tensor.setInteger(first + n, numbers[n]);
  }
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

namespace {

/// Writes the ops of a mask region.
class DataMaskWriter {
public:
  DataMaskWriter(Random &random, const std::vector<DataCapture> &captures)
      : random(random), captures(captures) {}
  std::string write();

private:
  std::string define(const std::string &text) {
    std::string name = "%d" + std::to_string(counter++);
    body += "    " + name + " = " + text + "\n";
    return name;
  }
  std::string number(int64_t value) {
    return define("arith.constant " + std::to_string(value) + " : index");
  }
  std::string index(const std::string &op, const std::string &x, const std::string &y) {
    return define("arith." + op + " " + x + ", " + y + " : index");
  }
  std::string compare(const std::string &predicate, const std::string &x, const std::string &y,
                      const std::string &type = "index") {
    return define("arith.cmpi " + predicate + ", " + x + ", " + y + " : " + type);
  }
  static bool isOfRows(const DataCapture &capture) { return capture.dims.back() == "Sq"; }
  std::string shifted(const std::string &position);
  std::string read(const DataCapture &capture);
  std::string toIndex(const DataCapture &capture, const std::string &value);
  std::string cut(const DataCapture &capture, std::string value);
  std::string number(const DataCapture &capture);
  std::string byData(const DataCapture &capture);
  std::string byPosition();

  Random &random;
  const std::vector<DataCapture> &captures;
  std::string body;
  int counter = 0;
};

} // namespace

/// Return a position, or what lies so far from it, or the number of its block.
std::string DataMaskWriter::shifted(const std::string &position) {
  switch (random.below(6)) {
  case 0:
    return index("addi", position, number(random.pick({1, 3, 64, 70})));
  case 1:
    return index("subi", position, number(random.pick({1, 5, 64, 90})));
  case 2: {
    std::string size = number(random.pick({2, 5, 16, 64}));
    return index(random.pick({"divui", "divsi", "floordivsi"}), position, size);
  }
  default:
    return position;
  }
}

std::string DataMaskWriter::read(const DataCapture &capture) {
  std::string indices;
  for (const std::string &size : capture.dims)
    if (size == "B" || size == "Hq")
      indices += size == "B" ? "%b, " : "%h, ";
  if (capture.blockRows) {
    std::string row = index("divui", "%i", number(capture.blockRows));
    indices += row + ", " + index("divui", "%j", number(capture.blockKeys));
  } else {
    indices += shifted(isOfRows(capture) ? "%i" : "%j");
  }
  return define("tensor.extract %" + capture.name + "[" + indices + "] : " + capture.type());
}

std::string DataMaskWriter::toIndex(const DataCapture &capture, const std::string &value) {
  return define((capture.element == "i1" ? "arith.index_castui " : "arith.index_cast ") + value +
                " : " + capture.element + " to index");
}

/// Return an index from the lowest bits of what was read, or of what is computed from it, which are
/// too few for it at times.
std::string DataMaskWriter::cut(const DataCapture &capture, std::string value) {
  std::string type = capture.element;
  if (type == "i64" && random.percent(30)) {
    type = "index";
    value = define("arith.index_cast " + value + " : i64 to index");
  }
  bool isWide = type == "i64" || type == "index";
  if (random.percent(50)) {
    std::string op = random.pick({"muli", "muli", "addi", "subi", "xori", "shli"});
    int64_t by = op == "shli" ? random.pick({1, 3}) : random.pick({3, 7, 100, 127});
    if (isWide && op != "shli")
      by = random.pick({100, 5000, 65536, 1000003});
    std::string constant = define("arith.constant " + std::to_string(by) + " : " + type);
    value = define("arith." + op + " " + value + ", " + constant + " : " + type);
  }
  std::string narrow = isWide          ? random.pick({"i8", "i16", "i32", "i32"})
                       : type == "i32" ? random.pick({"i8", "i16", "i24"})
                                       : random.pick({"i4", "i7"});
  value = define((type == "index" ? "arith.index_cast " : "arith.trunci ") + value + " : " + type +
                 " to " + narrow);
  return define((random.percent(75) ? "arith.index_cast " : "arith.index_castui ") + value + " : " +
                narrow + " to index");
}

/// Return what is read of a capture as an index, or its lowest bits.
std::string DataMaskWriter::number(const DataCapture &capture) {
  std::string value = read(capture);
  return capture.isWide ? cut(capture, value) : toIndex(capture, value);
}

/// Return a condition on what is read of a capture, beside another one at times.
std::string DataMaskWriter::byData(const DataCapture &capture) {
  if (capture.isWide && random.percent(50)) {
    std::string bits = number(capture), predicate = random.pick({"eq", "ne", "slt", "sge", "ult"});
    return compare(predicate, bits, number(random.pick({0, 0, 44, 100, -56, 5000})));
  }
  std::string value = capture.isWide ? number(capture) : read(capture);
  if (!capture.isWide && (capture.blockRows || capture.element == "i1" || random.percent(10))) {
    if (capture.element == "i1")
      return value;
    return compare("ne", value, define("arith.constant 0 : " + capture.element), capture.element);
  }
  const DataCapture &other = random.pick(captures);
  if (random.percent(60) && !other.blockRows) {
    std::string predicate = random.pick({"eq", "eq", "eq", "eq", "ne", "sle", "sgt", "ult"});
    if (capture.isWide)
      return compare(predicate, value, number(other));
    std::string beside = read(other);
    if (other.element == capture.element)
      return compare(predicate, value, beside, capture.element);
    return compare(predicate, toIndex(capture, value), toIndex(other, beside));
  }
  std::string limit = capture.isWide ? value : toIndex(capture, value);
  if (random.percent(25)) // as far from the row, or the key
    limit = index(random.pick({"addi", "subi"}), isOfRows(capture) ? "%i" : "%j", limit);
  return compare(random.pick({"sle", "slt", "sgt", "sge"}), isOfRows(capture) ? "%j" : "%i", limit);
}

std::string DataMaskWriter::byPosition() {
  std::string row = "%i";
  if (random.percent(60))
    row = index("addi", "%i", index("subi", "%sk", "%sq"));
  switch (random.below(5)) {
  case 0:
  case 1:
    return compare("sle", "%j", row);
  case 2:
    return compare("sle", index("subi", row, "%j"), number(random.pick({0, 7, 40, 130})));
  case 3: {
    std::string size = number(random.pick({16, 48, 64, 80}));
    std::string chunk = index("divui", "%i", size);
    return compare(random.pick({"eq", "sge"}), chunk, index("divui", "%j", size));
  }
  default: {
    std::string stride = number(random.pick({2, 3, 64}));
    return compare("eq", index("remsi", index("subi", row, "%j"), stride), number(0));
  }
  }
}

std::string DataMaskWriter::write() {
  std::string seen;
  auto add = [&](std::string condition) {
    if (random.percent(10))
      condition =
          define("arith.xori " + condition + ", " + define("arith.constant true") + " : i1");
    seen = seen.empty()
               ? condition
               : define("arith." + random.pick({"andi", "andi", "andi", "ori", "ori", "xori"}) +
                        " " + seen + ", " + condition + " : i1");
  };
  for (const DataCapture &capture : captures)
    add(byData(capture));
  for (int64_t n = random.below(3); n > 0; --n)
    add(random.percent(60) ? byPosition() : byData(random.pick(captures)));
  return body + "    fa.yield " + seen + " : i1\n";
}

std::string fa_fuzz::makeDataMask(Random &random, const std::vector<DataCapture> &captures) {
  return DataMaskWriter(random, captures).write();
}
