//===- Regions.cpp - random mask and score regions -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

using namespace fa_fuzz;

namespace {

/// Writes ops on a pool of values. Each op takes values of the pool, or
/// constants, and adds its result to it.
class RegionWriter {
public:
  RegionWriter(Random &random, std::vector<NamedType> values, bool tame, int wrong)
      : values(std::move(values)), random(random), tame(tame), wrong(wrong) {}

  void op();
  void line(const std::string &text) { body += "    " + text + "\n"; }
  std::string use(const std::string &type);
  std::string body;
  std::vector<NamedType> values;

private:
  std::string define(const std::string &type, const std::string &text);
  std::string constant(const std::string &type);
  std::string integerType();
  std::string floatType();
  std::string anyType();
  void integerOp();
  void indexOp();
  void floatOp();
  void castOp();
  void compareOp();
  void extractOp();
  void ifOp();
  void forbiddenOp();
  void tameOp();

  Random &random;
  bool tame;
  int wrong, depth = 0, counter = 0;
};

} // namespace

std::string RegionWriter::integerType() {
  return random.pick({"index", "index", "index", "i32", "i64", "i8", "i16", "i1"});
}
std::string RegionWriter::floatType() {
  return random.pick({"f32", "f32", "f32", "f64", "f16", "bf16"});
}
std::string RegionWriter::anyType() {
  if (random.percent(wrong))
    return random.pick({"i5", "i128", "f80", "f128", "f8E4M3FN", "vector<4xf32>", "si32", "none",
                        "complex<f32>", "tensor<4xf32>", "memref<4xf32>", "tf32", "i0", "i16777215",
                        "tensor<*xf32>"});
  return random.percent(50) ? integerType() : floatType();
}

std::string RegionWriter::define(const std::string &type, const std::string &text) {
  std::string name = "x" + std::to_string(depth) + "_" + std::to_string(counter++);
  line("%" + name + " = " + text);
  values.push_back({name, type});
  return "%" + name;
}

std::string RegionWriter::constant(const std::string &type) {
  std::string value;
  if (type[0] == 'f' || type[0] == 'b' || type[0] == 't')
    value = tame ? random.pick({"0.5", "-0.25", "1.5", "-1.0", "0.125"})
                 : random.pick({"0.0", "-0.0", "1.0", "-1.5", "1.0e-30", "6.0e4", "0.3", "1.0e38"});
  else if (type == "i1")
    value = random.pick({"true", "false"});
  else
    value = tame ? std::to_string(random.between(0, 40))
                 : random.pick({"0", "1", "-1", "2", "7", "31", "64", "100", "-128", "63"});
  if (type == "i1")
    return define(type, "arith.constant " + value);
  if (type == "index" && random.percent(20))
    return define(type, "index.constant " + value);
  return define(type, "arith.constant " + value + " : " + type);
}

std::string RegionWriter::use(const std::string &type) {
  if (random.percent(wrong) && !values.empty())
    return "%" + random.pick(values).first;
  std::vector<std::string> fitting;
  for (auto &[name, of] : values)
    if (of == type)
      fitting.push_back(name);
  if (fitting.empty() || random.percent(15))
    return constant(type);
  // Later values more often, so that ops build on each other.
  size_t at = std::max(random.below(fitting.size()), random.below(fitting.size()));
  return "%" + fitting[at];
}

void RegionWriter::integerOp() {
  std::string type = integerType();
  if (random.percent(8)) {
    std::string a = use(type);
    define(type, "math." + random.pick({"absi", "ctlz", "cttz", "ctpop"}) + " " + a + " : " + type);
    return;
  }
  std::string name = random.pick(
      {"arith.addi",  "arith.subi",  "arith.muli",      "arith.divsi",     "arith.divui",
       "arith.remsi", "arith.remui", "arith.ceildivsi", "arith.ceildivui", "arith.floordivsi",
       "arith.andi",  "arith.ori",   "arith.xori",      "arith.shli",      "arith.shrsi",
       "arith.shrui", "arith.maxsi", "arith.maxui",     "arith.minsi",     "arith.minui",
       "math.ipowi"});
  std::string a = use(type), b = use(type);
  std::string flags = random.percent(5) && name == "arith.addi" ? " overflow<nsw, nuw>" : "";
  define(type, name + " " + a + ", " + b + flags + " : " + type);
}

void RegionWriter::indexOp() {
  if (random.percent(10)) {
    define("index", "index.sizeof");
    return;
  }
  if (random.percent(10)) {
    define("i1", "index.bool.constant " + random.pick({"true", "false"}));
    return;
  }
  std::string a = use("index"), b = use("index");
  if (random.percent(20))
    define("i1",
           "index.cmp " +
               random.pick({"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}) +
               "(" + a + ", " + b + ")");
  else
    define("index", "index." + random.pick({"add",      "sub",      "mul",       "divs", "divu",
                                            "ceildivs", "ceildivu", "floordivs", "rems", "remu",
                                            "maxs",     "maxu",     "mins",      "minu", "shl",
                                            "shrs",     "shru",     "and",       "or",   "xor"}) +
                        " " + a + ", " + b);
}

void RegionWriter::floatOp() {
  std::string type = floatType(), a = use(type);
  std::string fast =
      random.percent(10)
          ? " fastmath<" + random.pick({"fast", "nnan", "contract", "ninf,nsz"}) + ">"
          : "";
  switch (random.below(8)) {
  case 0:
  case 1:
  case 2: {
    std::string name = random.pick(
        {"addf", "subf", "mulf", "divf", "remf", "maximumf", "minimumf", "maxnumf", "minnumf"});
    std::string b = use(type);
    define(type, "arith." + name + " " + a + ", " + b + fast + " : " + type);
    return;
  }
  case 3:
    define("i1", "math." + random.pick({"isnan", "isinf", "isfinite", "isnormal"}) + " " + a +
                     " : " + type);
    return;
  case 4: {
    std::string name = random.pick({"powf", "atan2", "copysign"}), b = use(type);
    define(type, "math." + name + " " + a + ", " + b + " : " + type);
    return;
  }
  case 5: {
    std::string b = use(type), c = use(type);
    if (random.percent(60)) {
      define(type, "math.fma " + a + ", " + b + ", " + c + " : " + type);
    } else if (random.percent(50)) {
      define(type, "math.clampf " + a + " to [" + b + ", " + c + "] : " + type);
    } else {
      std::string n = use("i32");
      define(type, "math.fpowi " + a + ", " + n + " : " + type + ", i32");
    }
    return;
  }
  case 6:
    if (random.percent(20)) {
      define(type, "arith.negf " + a + fast + " : " + type);
      return;
    }
    [[fallthrough]];
  default:
    define(type, "math." + random.pick({"exp",   "exp2",  "expm1", "log",       "log2",  "log10",
                                        "log1p", "sqrt",  "rsqrt", "cbrt",      "sin",   "cos",
                                        "tan",   "asin",  "acos",  "atan",      "sinh",  "cosh",
                                        "tanh",  "asinh", "acosh", "atanh",     "erf",   "erfc",
                                        "floor", "ceil",  "round", "roundeven", "trunc", "absf"}) +
                     " " + a + fast + " : " + type);
  }
}

/// Return the bits of a type's name, index as 64.
static int widthOf(const std::string &type) {
  return type == "index" ? 64 : std::atoi(type.c_str() + (type[0] == 'b' ? 2 : 1));
}

void RegionWriter::castOp() {
  std::string from = random.percent(50) ? integerType() : floatType();
  std::string to = random.percent(50) ? integerType() : floatType();
  bool fromFloat = from[0] == 'f' || from[0] == 'b', toFloat = to[0] == 'f' || to[0] == 'b';
  int a = widthOf(from), b = widthOf(to);
  std::string name;
  if (fromFloat && toFloat) {
    if (a == b)
      return;
    name = a < b ? "extf" : "truncf";
  } else if (fromFloat || toFloat) {
    if (from == "index" || to == "index")
      return;
    name = fromFloat ? random.pick({"fptosi", "fptoui"}) : random.pick({"sitofp", "uitofp"});
    if (a == b && random.percent(30))
      name = "bitcast";
  } else if (from == "index" || to == "index") {
    if (from == to)
      return;
    name = random.pick({"index_cast", "index_castui"});
  } else {
    if (a == b)
      return;
    name = a < b ? random.pick({"extsi", "extui"}) : "trunci";
  }
  std::string x = use(from);
  if ((from == "index" || to == "index") && random.percent(30))
    define(to, "index." + random.pick({"casts", "castu"}) + " " + x + " : " + from + " to " + to);
  else
    define(to, "arith." + name + " " + x + " : " + from + " to " + to);
}

void RegionWriter::compareOp() {
  if (random.percent(40)) {
    std::string type = anyType(), c = use("i1"), a = use(type), b = use(type);
    define(type, "arith.select " + c + ", " + a + ", " + b + " : " + type);
  } else if (random.percent(30)) {
    std::string type = floatType(), a = use(type), b = use(type);
    define("i1", "arith.cmpf " +
                     random.pick({"false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq",
                                  "ugt", "uge", "ult", "ule", "une", "uno", "true"}) +
                     ", " + a + ", " + b + " : " + type);
  } else {
    std::string type = integerType(), a = use(type), b = use(type);
    define("i1",
           "arith.cmpi " +
               random.pick({"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"}) +
               ", " + a + ", " + b + " : " + type);
  }
}

void RegionWriter::extractOp() {
  std::vector<NamedType> tensors;
  for (const NamedType &value : values)
    if (value.second.rfind("tensor<", 0) == 0)
      tensors.push_back(value);
  if (tensors.empty())
    return;
  NamedType from = random.pick(tensors);
  std::string element = from.second.substr(from.second.rfind('x') + 1), indices;
  if (from.second.find('x') == std::string::npos)
    element = from.second.substr(7);
  element.pop_back();
  int64_t rank =
      std::count(from.second.begin(), from.second.end(), 'x') - (element == "index" ? 1 : 0);
  if (element.empty() || rank < 0)
    return;
  if (random.percent(wrong))
    rank += random.between(-1, 1);
  for (int64_t d = 0; d < rank; ++d)
    indices += (d ? ", " : "") + use("index");
  define(element, "tensor.extract %" + from.first + "[" + indices + "] : " + from.second);
}

void RegionWriter::ifOp() {
  if (depth >= 3)
    return;
  std::string type = tame                 ? random.pick({"i1", "index"})
                     : random.percent(50) ? integerType()
                                          : floatType();
  std::string condition = use("i1"),
              name = "z" + std::to_string(depth) + "_" + std::to_string(counter++);
  line("%" + name + " = scf.if " + condition + " -> (" + type + ") {");
  ++depth;
  for (int branch = 0; branch < 2; ++branch) {
    size_t outside = values.size();
    for (int64_t n = random.below(4); n > 0; --n)
      op();
    std::string x = use(type);
    line("scf.yield " + x + " : " + type);
    values.resize(outside);
    if (branch == 0)
      line(random.percent(wrong) ? "" : "} else {");
  }
  line("}");
  --depth;
  values.push_back({name, type});
}

/// Write an op that may not stand in a region.
void RegionWriter::forbiddenOp() {
  std::string x = use("index"), y = use("f32");
  line(random.pick({"func.call @f() : () -> ()", "\"foo.bar\"() : () -> ()",
                    "scf.execute_region { scf.yield }",
                    "%w = arith.constant dense<1.0> : tensor<4xf32>", "fa.yield", "func.return",
                    "%w = tensor.empty() : tensor<4xf32>", "%w = vector.step : vector<4xindex>",
                    "%w = \"arith.addi\"() : () -> i32", "%w = llvm.mlir.zero : i32", "cf.br ^bb0",
                    "^bb7:", "%w = ub.poison : f32", "%w = fa.tile_size keys",
                    "%u = builtin.unrealized_conversion_cast to i32", "scf.if %nothing { }",
                    "%w = arith.constant 1 : i0"}));
  if (random.percent(40))
    line("scf.for %n = " + x + " to " + x + " step " + x + " { }");
  if (random.percent(40))
    line("scf.while : () -> () { %t = arith.constant true scf.condition(%t) } do { scf.yield }");
  if (random.percent(30))
    line("%v" + std::to_string(counter++) + " = vector.broadcast " + y + " : f32 to vector<4xf32>");
}

void RegionWriter::tameOp() {
  switch (random.below(9)) {
  case 0:
  case 1: {
    std::string a = use("index"), b = use("index");
    define("index",
           random.pick({"arith.addi", "arith.subi", "arith.maxsi", "arith.minsi", "arith.muli"}) +
               " " + a + ", " + b + " : index");
    return;
  }
  case 2: {
    std::string a = use("index");
    std::string b =
        define("index", "arith.constant " + std::to_string(random.between(1, 33)) + " : index");
    define("index", random.pick({"arith.divsi", "arith.remsi", "arith.floordivsi", "arith.divui",
                                 "arith.remui"}) +
                        " " + a + ", " + b + " : index");
    return;
  }
  case 3:
  case 4: {
    std::string a = use("index"), b = use("index");
    define("i1", "arith.cmpi " +
                     random.pick({"eq", "ne", "slt", "sle", "sgt", "sge", "ult", "uge"}) + ", " +
                     a + ", " + b + " : index");
    return;
  }
  case 5: {
    std::string c = use("i1"), a = use("index"), b = use("index");
    define("index", "arith.select " + c + ", " + a + ", " + b + " : index");
    return;
  }
  case 6: {
    std::string a = use("i1"), b = use("i1");
    define("i1",
           random.pick({"arith.andi", "arith.ori", "arith.xori"}) + " " + a + ", " + b + " : i1");
    return;
  }
  case 7:
    return extractOp();
  default:
    return ifOp();
  }
}

void RegionWriter::op() {
  if (tame)
    return tameOp();
  if (random.percent(wrong))
    return forbiddenOp();
  switch (random.below(10)) {
  case 0:
  case 1:
    return integerOp();
  case 2:
  case 3:
    return indexOp();
  case 4:
  case 5:
    return floatOp();
  case 6:
    return castOp();
  case 7:
    return compareOp();
  case 8:
    return extractOp();
  default:
    return ifOp();
  }
}

std::string fa_fuzz::makeRegion(Random &random, bool isScore, std::vector<NamedType> values,
                                bool tame, int wrong) {
  RegionWriter writer(random, std::move(values), tame, wrong);
  for (int64_t n = random.below(random.percent(5) ? 60 : 10); n > 0; --n)
    writer.op();
  std::string type = isScore ? "f32" : "i1", result;
  if (isScore && tame && random.percent(10)) {
    // A value by position alone.
    writer.line("%t0 = arith.index_castui %j : index to i32");
    writer.line("%t1 = arith.uitofp %t0 : i32 to f32");
    writer.line("%t2 = math." + random.pick({"tanh", "sin", "cos"}) + " %t1 : f32");
    result = "%t2";
  } else if (isScore && tame) {
    // The score through one bounded function, plus one value by position.
    std::string shift = writer.use("f32"), c = writer.use("i1");
    writer.line("%t0 = math." + random.pick({"tanh", "absf", "sin", "cos"}) + " %s : f32");
    writer.line("%t1 = arith." + random.pick({"addf", "subf", "maximumf", "minnumf"}) + " %t0, " +
                shift + " : f32");
    writer.line("%t2 = arith.select " + c + ", %t1, %s : f32");
    result = "%t2";
  } else {
    result = writer.use(type);
  }
  if (random.percent(wrong))
    type = random.pick({"f32", "i1", "f64", "index", "i32"});
  if (!random.percent(wrong))
    writer.line("fa.yield " + result + " : " + type);
  return writer.body;
}
