//===- Programs.cpp - random programs of attention -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"

using namespace fa_fuzz;

namespace {

/// Writes one entry. A choice is a wrong one with `wrong` percent.
class EntryWriter {
public:
  EntryWriter(Random &random, std::string name, bool tame, int wrong)
      : random(random), name(std::move(name)), tame(tame), wrong(wrong) {}
  std::string write();
  mlir::fa::AttentionSizes sizes;

private:
  /// Return a value that belongs here, or now and then one that does not.
  std::string token(std::string right, std::initializer_list<const char *> wrongs) {
    return random.percent(wrong) ? random.pick(wrongs) : right;
  }
  std::string size(std::optional<int64_t> &of, int64_t value) {
    of = value;
    std::string text = random.percent(60) ? "?" : std::to_string(value);
    return token(text,
                 {"0", "1", "4294967296", "9223372036854775807", "-1", "?", "3", "2147483648"});
  }
  void argument(const std::string &arg, const std::string &type, const std::string &more = "");
  void capture(const std::string &type, const std::string &attributes);
  void addSugar();
  std::string sugarCapture(const std::string &type, const std::string &attributes);
  std::string region(bool isScore);

  Random &random;
  std::string name;
  bool tame;
  int wrong;
  std::string arguments, captures, sugar, sugarTypes;
  std::vector<NamedType> captured;
  std::string b, hq, sq, sk;
  int counter = 0;
};

} // namespace

void EntryWriter::argument(const std::string &arg, const std::string &type,
                           const std::string &more) {
  std::string attributes = "fa.name = \"" + arg + "\"" + more;
  if (random.percent(wrong))
    attributes = random.pick(
        {"", "fa.name = 3", "fa.name = \"q\"", "fa.dims = \"B\"", "fa.kind = \"weird\"",
         "fa.dims = [1, 2]", "foo", "fa.name = \"\"", "fa.what = 1", "tile.name = \"x\"",
         "fa.dims = [\"B\", \"Hq\", \"B\", \"D\", \"D\"]", "fa.kind", "llvm.noalias"});
  arguments += (arguments.empty() ? "%" : ", %") + arg + ": " + type;
  if (!attributes.empty())
    arguments += " {" + attributes + "}";
}

void EntryWriter::capture(const std::string &type, const std::string &attributes) {
  std::string arg = "c" + std::to_string(counter++);
  argument(arg, type, attributes);
  captures += (captures.empty() ? "%" : ", %") + arg;
  captured.push_back({arg, type});
}

std::string EntryWriter::sugarCapture(const std::string &type, const std::string &attributes) {
  std::string arg = "u" + std::to_string(counter++);
  std::string given =
      token(type, {"tensor<?xf32>", "f32", "i32", "tensor<2x2xi1>", "tensor<?x?x?xf64>", "index",
                   "tensor<f32>", "tensor<?xi32>", "tensor<*xf32>", "tensor<?xindex>",
                   "tensor<0xf32>", "tensor<?x?x?x?x?xf32>", "vector<4xf32>", "tensor<?xf8E4M3FN>",
                   "tensor<?x?xi128>", "memref<?xf32>", "tensor<?xi5>"});
  argument(arg, given, attributes);
  sugarTypes += ", " + given;
  return "%" + arg;
}

void EntryWriter::addSugar() {
  for (int64_t n = random.below(4); n > 0; --n) {
    std::string item;
    std::string integer = random.pick({"i32", "i64"}),
                number = random.pick({"f32", "f32", "bf16", "f16"});
    switch (random.below(9)) {
    case 0:
      item = "causal";
      break;
    case 1:
      item = token("causal<top_left>", {"causal<bottom>", "causal<>", "causal(%q)"});
      break;
    case 2:
      item =
          "window<" +
          token(std::to_string(random.between(-1, 70)), {"-2", "9223372036854775807", "1e9", "x"}) +
          ", " +
          token(std::to_string(random.between(-1, 70)),
                {"-9223372036854775808", "18446744073709551616"}) +
          ">";
      break;
    case 3:
      item =
          "prefix(" +
          sugarCapture("tensor<?x" + integer + ">", ", fa.kind = \"lengths\", fa.dims = [\"B\"]") +
          ")";
      break;
    case 4: {
      item = "document(" + sugarCapture("tensor<?x?x" + integer + ">",
                                        ", fa.kind = \"ids\", fa.dims = [\"B\", \"Sq\"]");
      item += ", " +
              sugarCapture("tensor<?x?x" + integer + ">",
                           ", fa.kind = \"ids\", fa.dims = [\"B\", \"Sk\"]") +
              ")";
      break;
    }
    case 5:
      item = "alibi(" + sugarCapture("tensor<?x" + number + ">", ", fa.dims = [\"Hq\"]") + ")";
      break;
    case 6: {
      std::string rows = std::to_string(random.between(1, 70)),
                  keys = std::to_string(random.between(1, 70));
      item = "blocks<" + token(rows, {"0", "-1", "4294967296", "x"}) + ", " + keys + ">(";
      item += sugarCapture("tensor<?x?x?x" + random.pick({"i1", "i8", "i32", "i64"}) + ">",
                           ", fa.kind = \"flags\", fa.dims = [\"Hq\", \"Sq/" + rows + "\", \"Sk/" +
                               keys + "\"]") +
              ")";
      break;
    }
    case 7:
      item = "softcap<" +
             token("30.0", {"0.0", "-1.0", "1e400", "0x7FF8000000000000", "nan", "1e-320", "5"}) +
             ">";
      break;
    default:
      item = random.percent(50)
                 ? "bias(" +
                       sugarCapture("tensor<?x1x?x?x" + number + ">",
                                    ", fa.dims = [\"B\", \"\", \"Sq\", \"Sk\"]") +
                       ")"
                 : "bias(" +
                       sugarCapture("tensor<?x?x" + number + ">", ", fa.dims = [\"Sq\", \"Sk\"]") +
                       ")";
    }
    if (random.percent(wrong))
      item = random.pick({"", "causal causal", "slide<3>", "bias()", "document(%q, %k, %v)",
                          "prefix(%none)", "window<1>", "alibi<3>"});
    sugar += (sugar.empty() ? "" : ", ") + item;
  }
}

std::string EntryWriter::region(bool isScore) {
  std::vector<NamedType> values;
  if (isScore)
    values.push_back({"s", "f32"});
  for (const char *position : {"b", "h", "i", "j", "sq", "sk"})
    values.push_back({position, "index"});
  values.insert(values.end(), captured.begin(), captured.end());
  std::string names;
  for (auto &[value, type] : values)
    names += (names.empty() ? "%" : ", %") + value + ": " +
             token(type, {"i32", "f32", "index", "tensor<?xf32>"});
  if (random.percent(wrong))
    return random.pick({" {}", " {\n  ^bb0:\n  }", " {\n ^bb0(%a: i1):\n fa.yield %a : i1\n }"});
  // A capture that nothing reads is refused.
  std::string reads;
  for (auto &[value, type] : captured)
    if (random.percent(wrong)) {
      continue;
    } else if (type.find('<') == std::string::npos) {
      reads += "    %r_" + value + " = arith.add" + (type[0] == 'i' ? "i" : "f") + " %" + value +
               ", %" + value + " : " + type + "\n";
    } else {
      std::string indices;
      for (size_t at = type.find('x'); at != std::string::npos; at = type.find('x', at + 1))
        if (at + 1 != type.size() - 1) // the x of index
          indices += indices.empty() ? "%j" : ", %j";
      reads +=
          "    %r_" + value + " = tensor.extract %" + value + "[" + indices + "] : " + type + "\n";
    }
  return " {\n  ^bb0(" + names + "):\n" + reads + makeRegion(random, isScore, values, tame, wrong) +
         "  }";
}

std::string EntryWriter::write() {
  std::string dtype =
      token(random.pick({"f32", "f32", "bf16", "f16"}), {"f64", "i32", "f8E4M3FN", "index"});
  int64_t group = random.between(1, 3), keyHeads = random.between(1, 2);
  b = size(sizes.batch, random.between(1, 2));
  std::string hk = size(sizes.keyHeads, keyHeads);
  hq = size(sizes.queryHeads, group * keyHeads);
  sq = size(sizes.queryLength, random.pick({0, 1, 2, 7, 16, 33, 64, 65, 130}));
  sk = size(sizes.keyLength, random.pick({0, 1, 3, 8, 31, 64, 70, 129}));
  std::string d = token(random.pick({"1", "8", "16", "40", "59", "64", "128"}),
                        {"0", "257", "512", "?", "-1", "256", "9223372036854775807"});
  std::string dv = random.percent(70) ? d : random.pick({"8", "24", "64", "256"});
  auto tensor = [&](const std::string &h, const std::string &s, const std::string &dim) {
    std::string type = "tensor<" + b + "x" + h + "x" + s + "x" + token(dim, {"32", "?"}) + "x" +
                       token(dtype, {"f32", "bf16", "f64", "i1"}) + ">";
    return token(type, {"tensor<?x?x64xf32>", "tensor<*xf32>", "f32", "tensor<?x?x?x?x64xf32>",
                        "tensor<2x2x2x8xf32, \"layout\">", "!fa.what", "memref<?x?x?x8xf32>"});
  };
  std::string q = tensor(hq, sq, d), k = tensor(hk, sk, d), v = tensor(hk, sk, dv),
              o = tensor(hq, sq, dv);
  std::string l = token("tensor<" + b + "x" + hq + "x" + sq + "xf32>",
                        {"tensor<?x?x?xf32>", "f32", "tensor<?x?x?xbf16>"});
  bool lse = random.percent(70), dropout = random.percent(25);
  // A sink is drawn apart: all else stays what it was of this seed.
  Random apart(Random(random).next());
  bool sink = apart.percent(25);
  auto spoilt = [&](std::string right, std::initializer_list<const char *> wrongs) {
    return apart.percent(wrong) ? apart.pick(wrongs) : right;
  };

  argument("q", q);
  argument("k", k);
  argument("v", v);
  for (int64_t n = random.percent(40) ? random.between(1, 3) : 0; n > 0; --n)
    switch (random.below(tame ? 5 : 9)) {
    case 0:
      capture("i32", "");
      break;
    case 1:
      capture("tensor<?x65xf32>", ", fa.dims = [\"Hq\", \"\"]");
      break;
    case 2:
      capture("tensor<?xi32>", ", fa.dims = [\"Sk\"]");
      break;
    case 3:
      capture("f32", "");
      break;
    case 4:
      capture("index", "");
      break;
    case 5:
      capture(random.pick({"i64", "i8", "f16", "f64", "i1", "bf16"}), "");
      break;
    case 6:
      capture("tensor<" + random.pick({"f32", "i1", "i32"}) + ">", "");
      break;
    case 7:
      capture("tensor<?x?x" + random.pick({"f16", "f64", "i8", "i1", "index", "i16", "i64"}) + ">",
              ", fa.dims = [\"B\", \"Sk\"]");
      break;
    default:
      capture(token("tensor<2x3xi32>",
                    {"tensor<0xf32>", "none", "tensor<?xf8E5M2>", "i128", "i5", "tensor<*xi32>",
                     "complex<f32>", "tensor<3xcomplex<f32>>", "tensor<2xi256>"}),
              "");
    }
  if (random.percent(60))
    addSugar();
  std::string z = "tensor<" + hq + "x" + (apart.percent(50) ? dtype : "f32") + ">";
  if (sink)
    argument("z", spoilt(z, {"f32", "tensor<?xf64>", "tensor<?xi32>", "tensor<3xf32>"}));
  if (dropout) {
    argument("p", token("f32", {"f64", "i32", "tensor<f32>"}));
    argument("seed", token("i64", {"i32", "index"}));
    argument("offset", token("i64", {"i32", "f32"}));
  }

  std::string op =
      "fa.attention query(%q) key(%k) value(" + token("%v", {"%k", "%o", "%none", "%q"}) + ")";
  if (!captures.empty() || random.percent(wrong))
    op += " captures(" + captures + ")";
  if (!sugar.empty())
    op += " with [" + sugar + "]";
  if (sink)
    op += " sink(" + spoilt("%z", {"%q", "%z, %z", ""}) + ")";
  if (dropout)
    op += " dropout(" +
          token("%p, %seed, %offset", {"%p", "%seed, %p, %offset", "%p, %seed, %offset, %p", ""}) +
          ")";
  if (random.percent(30))
    op += " scale(" +
          token("0.125", {"0.0", "-1.0", "1e999", "0x7FF0000000000000", "nan", "1e-310", "1"}) +
          ")";
  if (random.percent(15))
    op += " precision(" +
          token(dtype == "f32" ? random.pick({"ieee", "tf32", "tf32x3"}) : "tf32x3",
                {"fp8", "", "tf32"}) +
          ")";
  if (random.percent(45) || !captured.empty())
    op += "\n  mask" + region(false);
  if (random.percent(35))
    op += "\n  score" + region(true);
  if (random.percent(wrong))
    op += " {" +
          random.pick({"foo = 1 : i32", "scale = 3", "operandSegmentSizes = array<i32: 1, 1>",
                       "precision = 7 : i32", "fa.name = \"x\"", "scale = 1.0 : f64"}) +
          "}";
  std::string types = q + ", " + k + ", " + v;
  for (auto &[capturedName, type] : captured)
    types += ", " + type;
  types += sugarTypes + (sink ? ", " + z : "") + (dropout ? ", f32, i64, i64" : "");
  std::string results = o + (lse ? ", " + l : "");

  std::string text = token("func.func @" + name, {"func.func private @p", "func.func @",
                                                  "tile.func @f", "func.func nested @n"});
  text += "(" + arguments + ") -> (" + results + ")";
  if (random.percent(wrong))
    text += " attributes {" +
            random.pick({"foo", "fa.name = \"f\"", "llvm.emit_c_interface", "sym_visibility = 3"}) +
            "}";
  text += " {\n";
  if (random.percent(wrong))
    text += random.pick({"  %extra = arith.constant 1 : i32\n",
                         "  %w = arith.addf %q, %q : tensor<?x?x?x64xf32>\n",
                         "  func.call @test() : () -> ()\n", "  cf.br ^bb1\n^bb1:\n",
                         "  %e = tensor.empty() : tensor<4xf32>\n"});
  text += std::string("  %o") + (lse ? ", %lse" : "") + " = " + op + "\n    : (" + types +
          ") -> (" + results + ")\n";
  if (random.percent(wrong))
    text += "  %o2 = fa.attention query(%q) key(%k) value(%v) : (" + q + ", " + k + ", " + v +
            ") -> " + o + "\n";
  text += token(std::string("  return %o") + (lse ? ", %lse" : "") + " : " + results + "\n",
                {"  return\n", "", "  return %q : tensor<?x?x?x64xf32>\n", "  llvm.unreachable\n",
                 "  return %o, %o : i32, i32\n"});
  return text + "}\n";
}

Program fa_fuzz::makeProgram(Random &random) {
  Program program;
  program.comparable = random.percent(30);
  int wrong = program.comparable || random.percent(40) ? 0 : random.percent(70) ? 1 : 6;
  bool several = random.percent(8);
  for (int64_t n = several ? random.between(0, 4) : 1; n > 0; --n) {
    std::string name = several && !random.percent(wrong) ? "e" + std::to_string(n) : "test";
    EntryWriter entry(random, name, program.comparable, wrong);
    program.text += entry.write();
    program.sizes = entry.sizes;
  }
  if (random.percent(wrong))
    program.text = "module attributes {" +
                   random.pick({"a = 1", "dlti.dl_spec = #dlti.dl_spec<index = 32>", ""}) +
                   "} {\n" + program.text + "}\n";
  program.runnable = wrong == 0 && !several;
  return program;
}
