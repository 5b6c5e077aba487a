//===- compile.h - how fa.h turns a spec into a program ---------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by fa.h. The text of a spec is put together of what was recorded when
// its regions were assigned, so that asking for a kernel that is cached costs
// less than a microsecond.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DETAIL_COMPILE_H
#define FA_DETAIL_COMPILE_H

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace fa {
namespace detail {

/// Return whether the name is of an argument that is no capture.
inline bool isOwnName(std::string_view name) {
  for (const char *own : {"q", "k", "v", "o", "lse", "sink", "p", "seed", "offset", "query_starts",
                          "key_starts", "query_lengths", "key_lengths"})
    if (name == own)
      return true;
  return false;
}

/// Return why there can be no argument of this name; empty where there can.
inline std::string checkCapture(const Attention &spec, size_t i) {
  const CaptureInfo &info = spec.captures[i];
  bool plain = !info.name.empty() && info.name.size() < 100;
  std::string shown = info.name.substr(0, 100);
  for (char &c : shown) {
    plain &= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    c = c < ' ' || c > '~' ? '?' : c;
  }
  if (!plain)
    return "capture '" + shown + "' needs a name of 1 to 99 of a-z, A-Z, 0-9 and _; rename it";
  if (isOwnName(info.name))
    return "capture '" + info.name + "' has the name of an operand; choose another";
  for (size_t other = 0; other < i; ++other)
    if (spec.captures[other].name == info.name)
      return "there are two captures '" + info.name + "'; choose another name for one";
  if (static_cast<unsigned>(info.dtype) > FA_BOOL)
    return "capture '" + info.name + "' has an unknown dtype; use one of fa::f16, fa::f32, ...";
  for (const Dim &dim : info.dims)
    for (char c : dim.name)
      if (c < ' ' || c > '~' || c == '"' || c == '\\')
        return "a dimension of capture '" + info.name + "' has no plain name; use letters";
  if (info.dims.size() > static_cast<size_t>(Tensor::kMaxRank))
    return "capture '" + info.name + "' has rank " + std::to_string(info.dims.size()) +
           ", expected at most " + std::to_string(Tensor::kMaxRank) + "; join dimensions";
  return "";
}

/// Return why a capture is in vain; empty where a region reads it.
inline std::string checkRead(const Attention &spec, const CaptureInfo &info) {
  for (const Region *region :
       {static_cast<const Region *>(&spec.mask), static_cast<const Region *>(&spec.score)})
    for (const std::string &used : region->captures)
      if (used == info.name)
        return "";
  return "capture '" + info.name +
         "' is read by neither mask nor score; read it there, or leave out its "
         "Attention::capture";
}

inline std::string checkRegion(const Attention &spec, const Region &region, const char *name) {
  if (!region.problem.empty())
    return "the " + std::string(name) + " " + region.problem;
  for (const std::string &used : region.captures) {
    bool known = false;
    for (const CaptureInfo &info : spec.captures)
      known |= info.name == used;
    if (!known)
      return "the " + std::string(name) + " reads '" + used +
             "', which is no capture of this spec; add it by Attention::capture";
  }
  return "";
}

/// Return what is wrong with a spec, a line each; empty where nothing is.
inline std::string check(const Attention &spec) {
  std::string problems;
  auto add = [&](const std::string &problem) {
    if (!problem.empty())
      (problems += problems.empty() ? "" : "\n") += problem;
  };
  if (spec.headDim < 1 || spec.headDim > 256)
    add("headDim is " + std::to_string(spec.headDim) + ", expected 1 to 256; " +
        (spec.headDim < 1 ? "set it to the elements of a row of q and k" : "split larger heads"));
  if (spec.valueDim < 0 || spec.valueDim > 256)
    add("valueDim is " + std::to_string(spec.valueDim) +
        ", expected 1 to 256, or 0, which is headDim; split larger heads");
  if (spec.dtype != FA_F16 && spec.dtype != FA_BF16 && spec.dtype != FA_F32)
    add("dtype is none of fa::f16, fa::bf16 and fa::f32; choose one of these");
  if (spec.sink && *spec.sink != FA_F32 && *spec.sink != spec.dtype)
    add("sink is neither fa::f32 nor dtype; choose one of these, or none");
  if (spec.sequences.any() && spec.sequences.dtype != FA_I32 && spec.sequences.dtype != FA_I64)
    add("sequences have a dtype that is neither fa::i32 nor fa::i64; choose one of these");
  if (spec.scale && !(*spec.scale >= -1e300 && *spec.scale <= 1e300))
    add("scale is not finite; give a number, or none for 1 / sqrt(headDim)");
  if (spec.dropoutInMemory && !spec.dropout)
    add("dropoutInMemory is set, but there is no dropout; set Attention::dropout");
  bool known = spec.precision.empty();
  for (const char *name : {"ieee", "tf32x3", "tf32"})
    known |= spec.precision == name;
  if (!known)
    add("the precision is unknown; choose ieee, tf32x3 or tf32, or leave it empty");
  if (spec.captures.size() > static_cast<size_t>(Forward::kMaxCaptures))
    add("there are " + std::to_string(spec.captures.size()) + " captures, expected at most " +
        std::to_string(Forward::kMaxCaptures) + "; join some to one tensor");
  for (size_t i = 0; i < spec.captures.size(); ++i)
    add(checkCapture(spec, i));
  add(checkRegion(spec, spec.mask, "mask"));
  add(checkRegion(spec, spec.score, "score"));
  // A region with a problem may not have come to where it reads one.
  if (problems.empty())
    for (const CaptureInfo &info : spec.captures)
      add(checkRead(spec, info));
  return problems;
}

/// Return a finite double with all of its digits, as MLIR reads it in any locale.
inline std::string decimal(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17e", value);
  std::string digits, result = value < 0 ? "-" : "";
  const char *exponent = std::strchr(text, 'e');
  for (const char *c = text; c != exponent; ++c)
    if (*c >= '0' && *c <= '9')
      digits += *c;
  return result + digits[0] + "." + digits.substr(1) + exponent;
}

/// A text that is put together in memory that is kept.
class Text {
public:
  explicit Text(std::string &kept) : memory(kept) {}
  Text &operator<<(std::string_view part) {
    if (part.size() > memory.size() - size)
      memory.resize(2 * (size + part.size()) + 2048);
    std::memcpy(&memory[size], part.data(), part.size());
    size += part.size();
    return *this;
  }
  Text &operator<<(int64_t number) {
    char digits[24];
    char *end = std::to_chars(digits, digits + sizeof digits, number).ptr;
    return *this << std::string_view(digits, static_cast<size_t>(end - digits));
  }
  /// Until more is added.
  std::string_view view() const { return {memory.data(), size}; }

private:
  std::string &memory;
  size_t size = 0;
};

/// "tensor<?x4xf32>", "f32": the type of a capture.
inline void addType(Text &text, const CaptureInfo &info) {
  if (info.dims.empty())
    return (void)(text << info.element());
  text << "tensor<";
  for (const Dim &dim : info.dims)
    dim.size < 0 ? text << "?x" : text << int64_t(dim.size) << "x";
  text << info.element() << ">";
}

/// Add the text of a region with its block arguments.
inline void addRegion(Text &text, const Attention &spec, const Region &region,
                      std::string_view name, std::string_view first, std::string_view type) {
  if (!region)
    return;
  text << " " << name << " {\n  ^bb0(" << first
       << "%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index";
  for (const CaptureInfo &info : spec.captures) {
    text << ", %c_" << info.name << ": ";
    addType(text, info);
  }
  text << "):\n" << region.ops << "    fa.yield " << region.result << " : " << type << "\n  }";
}

/// "bf16": the name of a float type of two bytes, or of f32.
inline std::string_view floatName(DType dtype) {
  return dtype == FA_F16 ? "f16" : dtype == FA_BF16 ? "bf16" : "f32";
}

/// Call `body` with the name of each of the starts and lengths that a spec has.
template <typename Body> void forEachSequencePart(const Attention &spec, Body body) {
  const Sequences &given = spec.sequences;
  if (given.queryStarts)
    body("query_starts");
  if (given.keyStarts)
    body("key_starts");
  if (given.queryLengths)
    body("query_lengths");
  if (given.keyLengths)
    body("key_lengths");
}

inline void print(Text &text, const Attention &spec) {
  std::string_view dtype = floatName(spec.dtype);
  std::string_view starts = spec.sequences.dtype == FA_I64 ? "tensor<?xi64>" : "tensor<?xi32>";
  auto tensor = [&](bool inRow, int64_t dim) {
    text << (inRow ? "tensor<?x?x" : "tensor<?x?x?x") << dim << "x" << dtype << ">";
  };
  bool queriesInRow = spec.sequences.queryStarts, keysInRow = spec.sequences.keyStarts;
  auto rows = [&](int64_t dim) { tensor(queriesInRow, dim); };
  auto keys = [&](int64_t dim) { tensor(keysInRow, dim); };
  std::string_view lse = queriesInRow ? "tensor<?x?xf32>" : "tensor<?x?x?xf32>";
  int64_t valueDim = spec.valueDim ? spec.valueDim : spec.headDim;
  text << "func.func @attention(%q: ";
  rows(spec.headDim);
  text << " {fa.name = \"q\"},\n    %k: ";
  keys(spec.headDim);
  text << " {fa.name = \"k\"},\n    %v: ";
  keys(valueDim);
  text << " {fa.name = \"v\"}";
  for (const CaptureInfo &info : spec.captures) {
    text << ",\n    %c_" << info.name << ": ";
    addType(text, info);
    text << " {fa.name = \"" << info.name << "\"";
    if (!info.dims.empty()) {
      text << ", fa.dims = [";
      for (const Dim &dim : info.dims)
        text << (&dim == &info.dims.front() ? "\"" : ", \"") << dim.name << "\"";
      text << "]";
    }
    text << "}";
  }
  if (spec.sink)
    text << ",\n    %sink: tensor<?x" << floatName(*spec.sink) << "> {fa.name = \"sink\"}";
  forEachSequencePart(spec, [&](const char *name) {
    text << ",\n    %" << name << ": " << starts << " {fa.name = \"" << name << "\"}";
  });
  std::string_view bits = spec.dropoutInMemory ? "tensor<1xi64>" : "i64";
  if (spec.dropout)
    text << ",\n    %p: f32 {fa.name = \"p\"}, %seed: " << bits
         << " {fa.name = \"seed\"}, %offset: " << bits << " {fa.name = \"offset\"}";
  text << ")\n    -> (";
  rows(valueDim);
  text << " {fa.name = \"o\"}";
  if (spec.lse)
    text << ", " << lse << " {fa.name = \"lse\"}";
  text << ") {\n  %o" << (spec.lse ? ", %lse" : "")
       << " = fa.attention query(%q) key(%k) value(%v)";
  std::string_view separator = " captures(";
  for (const CaptureInfo &info : spec.captures) {
    text << separator << "%c_" << info.name;
    separator = ", ";
  }
  if (!spec.captures.empty())
    text << ")";
  if (spec.sink)
    text << " sink(%sink)";
  if (spec.sequences.any()) {
    separator = " sequences(";
    forEachSequencePart(spec, [&](const char *name) {
      text << separator << name << "(%" << name << ")";
      separator = " ";
    });
    text << ")";
  }
  if (spec.dropout)
    text << " dropout(%p, %seed, %offset)";
  if (spec.scale)
    text << " scale(" << decimal(*spec.scale) << ")";
  if (!spec.precision.empty())
    text << " precision(" << spec.precision << ")";
  addRegion(text, spec, spec.mask, "mask", "", "i1");
  addRegion(text, spec, spec.score, "score", "%s: f32, ", "f32");
  text << "\n    : (";
  rows(spec.headDim);
  text << ", ";
  keys(spec.headDim);
  text << ", ";
  keys(valueDim);
  for (const CaptureInfo &info : spec.captures) {
    text << ", ";
    addType(text, info);
  }
  if (spec.sink)
    text << ", tensor<?x" << floatName(*spec.sink) << ">";
  forEachSequencePart(spec, [&](const char *) { text << ", " << starts; });
  if (spec.dropout)
    text << ", f32, " << bits << ", " << bits;
  text << ")\n    -> (";
  rows(valueDim);
  if (spec.lse)
    text << ", " << lse;
  text << (spec.lse ? ")\n  return %o, %lse : " : ")\n  return %o : ");
  rows(valueDim);
  if (spec.lse)
    text << ", " << lse;
  text << "\n}\n";
}

inline bool isSame(const Region &a, const Region &b) {
  return a.ops == b.ops && a.result == b.result && a.problem == b.problem &&
         a.captures == b.captures;
}

inline bool isSame(const CaptureInfo &a, const CaptureInfo &b) {
  return a.name == b.name && a.dtype == b.dtype &&
         std::equal(
             a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
             [](const Dim &x, const Dim &y) { return x.size == y.size && x.name == y.name; });
}

inline bool isSame(const Sequences &a, const Sequences &b) {
  return a.queryStarts == b.queryStarts && a.keyStarts == b.keyStarts &&
         a.queryLengths == b.queryLengths && a.keyLengths == b.keyLengths && a.dtype == b.dtype;
}

inline bool isSame(const Attention &a, const Attention &b) {
  return a.headDim == b.headDim && a.valueDim == b.valueDim && a.dtype == b.dtype &&
         a.scale == b.scale && a.lse == b.lse && a.dropout == b.dropout && a.sink == b.sink &&
         a.dropoutInMemory == b.dropoutInMemory && a.precision == b.precision &&
         isSame(a.sequences, b.sequences) && isSame(static_cast<const Region &>(a.mask), b.mask) &&
         isSame(static_cast<const Region &>(a.score), b.score) &&
         std::equal(a.captures.begin(), a.captures.end(), b.captures.begin(), b.captures.end(),
                    [](const CaptureInfo &x, const CaptureInfo &y) { return isSame(x, y); });
}

/// Return the text of a spec that is right. What a thread asked for last is kept: comparing takes a
/// third of the time that printing does.
inline std::string_view getText(const Attention &spec, std::string &problem) {
  struct Printed {
    Attention spec;
    std::string memory;
    std::string_view text;
  };
  constexpr size_t kKept = 4;
  static thread_local Printed kept[kKept];
  static thread_local size_t next = 0;
  for (const Printed &known : kept)
    if (!known.text.empty() && isSame(known.spec, spec))
      return known.text;
  problem = check(spec);
  if (!problem.empty())
    return {};
  Printed &printed = kept[next++ % kKept];
  printed.text = {};
  printed.spec = spec;
  Text text(printed.memory);
  print(text, spec);
  return printed.text = text.view();
}

/// Return the options that stand for a device; they point into it.
inline fa_compile_options optionsFor(const Device &device) {
  fa_compile_options options = fa_compile_options_default();
  options.target = device.target.empty() ? device.name.c_str() : device.target.c_str();
  options.device = device.target.empty() ? nullptr : device.name.c_str();
  options.source_name = "attention";
  return options;
}

inline Expected<fa_program *> compileText(std::string_view text,
                                          const fa_compile_options &options) {
  fa_program *program = nullptr;
  if (Error failed = Error(fa_compile(text.data(), text.size(), &options, &program)))
    return failed;
  return program;
}

inline std::vector<Kernel::Capture> capturesOf(const Attention &spec) {
  std::vector<Kernel::Capture> captures;
  captures.reserve(spec.captures.size());
  for (const CaptureInfo &info : spec.captures)
    captures.push_back({info.name, info.dims.empty(), info.dtype > FA_F64});
  return captures;
}

inline Kernel::Takes takesOf(const Attention &spec) {
  return {spec.lse, spec.sink.has_value(), spec.dropout, spec.dropoutInMemory, spec.sequences};
}

/// Return what is wrong with what is asked of a backward, a line each; empty where nothing is.
inline std::string check(const Attention &spec, const BackwardOptions &options) {
  std::string problems;
  auto add = [&](const std::string &problem) {
    (problems += problems.empty() ? "" : "\n") += problem;
  };
  if (!spec.lse)
    add("the gradients need lse; set Attention::lse");
  // All names of arguments: inputs, what flows back, and gradients.
  std::vector<std::string> inputs = {"q", "k", "v"}, taken = {"do", "dlse"};
  if (spec.sink)
    inputs.push_back("sink");
  for (const CaptureInfo &info : spec.captures)
    if (info.dtype <= FA_F64)
      inputs.push_back(info.name);
  for (const std::string &name : inputs)
    taken.push_back("d" + name);
  for (const CaptureInfo &info : spec.captures)
    for (const std::string &name : taken)
      if (info.name == name)
        add("capture '" + name + "' has the name of a gradient; choose another");
  for (const std::string &name : options.gradients)
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) {
      std::string all;
      for (const std::string &known : inputs)
        all += (all.empty() ? "" : ", ") + known;
      add("BackwardOptions::gradients names '" + name +
          "', which is no input of floats; choose of " + all);
    }
  return problems;
}

} // namespace detail

inline Expected<std::string> toMLIR(const Attention &spec) {
  if (std::string problem = detail::check(spec); !problem.empty())
    return Error(problem);
  std::string memory;
  detail::Text text(memory);
  detail::print(text, spec);
  return std::string(text.view());
}

inline Expected<Kernel> compile(const Attention &spec, const Device &device) {
  std::string problem;
  std::string_view text = detail::getText(spec, problem);
  if (!problem.empty())
    return Error(problem);
  Expected<fa_program *> program = detail::compileText(text, detail::optionsFor(device));
  if (!program)
    return Error(program.error());
  return Kernel(*program, detail::capturesOf(spec), detail::takesOf(spec));
}

inline Expected<BackwardKernel> compileBackward(const Attention &spec, const Device &device,
                                                const BackwardOptions &options) {
  std::string problem;
  std::string_view text = detail::getText(spec, problem);
  if (problem.empty())
    problem = detail::check(spec, options);
  if (!problem.empty())
    return Error(problem);
  fa_compile_options choices = detail::optionsFor(device);
  std::string names;
  for (const std::string &name : options.gradients)
    names += (names.empty() ? "" : ",") + name;
  choices.backward = 1;
  choices.gradients = names.c_str();
  choices.dlse = options.dLse;
  choices.deterministic = options.deterministic;
  Expected<fa_program *> program = detail::compileText(text, choices);
  if (!program)
    return Error(program.error());
  return BackwardKernel(*program, detail::capturesOf(spec), detail::takesOf(spec));
}

inline Expected<Kernel> compile(std::string_view text, const Device &device) {
  Expected<fa_program *> program = detail::compileText(text, detail::optionsFor(device));
  if (!program)
    return Error(program.error());
  std::vector<Kernel::Capture> captures;
  Kernel::Takes takes = {};
  for (size_t i = 0; i < fa_program_num_arguments(*program); ++i) {
    fa_argument_info info = fa_program_argument(*program, i);
    std::string name = info.name;
    takes.lse |= name == "lse";
    takes.sink |= name == "sink";
    takes.sequences.queryStarts |= name == "query_starts";
    takes.sequences.keyStarts |= name == "key_starts";
    takes.sequences.queryLengths |= name == "query_lengths";
    takes.sequences.keyLengths |= name == "key_lengths";
    takes.dropout |= name == "seed";
    takes.dropoutInMemory |= name == "seed" && info.kind == FA_INPUT;
    if (!detail::isOwnName(name))
      captures.push_back({std::move(name), info.kind == FA_SCALAR, info.dtype > FA_F64});
  }
  if (captures.size() > static_cast<size_t>(Forward::kMaxCaptures)) {
    fa_program_free(*program);
    return Error("the program has " + std::to_string(captures.size()) +
                 " captures, expected at most " + std::to_string(Forward::kMaxCaptures) +
                 "; join some to one tensor");
  }
  return Kernel(*program, std::move(captures), takes);
}

inline std::vector<Reason> explain(const Attention &spec, const Device &device) {
  std::vector<Reason> reasons;
  std::string problems = detail::check(spec), text;
  for (size_t begin = 0; begin < problems.size();) {
    size_t end = std::min(problems.find('\n', begin), problems.size()),
           at = problems.rfind("; ", end);
    reasons.push_back(
        {FA_REFUSED, problems.substr(begin, at - begin), problems.substr(at + 2, end - at - 2)});
    begin = end + 1;
  }
  // Of a spec that is wrong there is no text; then of the device alone.
  if (problems.empty())
    text = *toMLIR(spec);
  fa_compile_options options = detail::optionsFor(device);
  fa_reasons *list = fa_explain(problems.empty() ? text.data() : nullptr, text.size(), &options);
  for (size_t i = 0; i < fa_reasons_count(list); ++i) {
    fa_reason reason = fa_reasons_get(list, i);
    reasons.push_back({reason.kind, reason.what, reason.remedy});
  }
  fa_reasons_free(list);
  return reasons;
}

} // namespace fa

#endif // FA_DETAIL_COMPILE_H
