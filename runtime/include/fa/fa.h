//===- fa.h - attention from C++, over the C API ----------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Header only, C++17, over fa_c.h; link libfa.so. No exceptions are thrown.
//
//   fa::Attention spec;
//   spec.headDim = 128;
//   spec.dtype = fa::bf16;
//   auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
//   spec.mask  = [](auto x) { return x.j <= x.i + x.sk - x.sq; };
//   spec.score = [=](fa::Score s, auto x) { return s + slopes(x.h) * (x.j - x.i); };
//   auto kernel = fa::compile(spec, fa::Device::cuda(0));
//   if (!kernel) { std::puts(kernel.error().c_str()); return 1; }
//   fa::Error failed = kernel->forward(stream, {.q = q, .k = k, .v = v, .o = o, .lse = lse,
//                                               .captures = {slopesTensor}});
//
// Shapes, in elements; each tensor may have any strides of 0 (inputs) or more
// with a last one of 1:
//
//   q    B x Hq x Sq x headDim    spec.dtype      o    B x Hq x Sq x valueDim  spec.dtype
//   k    B x Hk x Sk x headDim    spec.dtype      lse  B x Hq x Sq             f32
//   v    B x Hk x Sk x valueDim   spec.dtype       sink Hq                     *spec.sink
//
// and, of sequences in a row (Attention::sequences), without B: q is Hq x Tq x headDim, for Tq
// tokens, with Hq a multiple of Hk. lse is the natural logarithm of the sum of exponentials of a
// row's scores. B, Hq, Hk, Sq and Sk may change at each launch. On a GPU, fastest where all data is
// aligned to 16 bytes (see fa::explain). The gradients of all of them: fa::compileBackward
// (fa/backward.h).
//
//===----------------------------------------------------------------------===//

#ifndef FA_FA_H
#define FA_FA_H

#include "fa/expr.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>

namespace fa {

//===----------------------------------------------------------------------===//
// Types and errors
//===----------------------------------------------------------------------===//

using DType = fa_dtype;

/// An element type whose elements are of class T in masks and scores.
template <typename T> struct Type {
  DType dtype;
  constexpr operator DType() const { return dtype; }
};
inline constexpr Type<Float> f16{FA_F16}, bf16{FA_BF16}, f32{FA_F32}, f64{FA_F64};
inline constexpr Type<Index> i8{FA_I8}, i16{FA_I16}, i32{FA_I32}, i64{FA_I64};
inline constexpr Type<Bool> boolean{FA_BOOL};

/// Say what went wrong, what was expected and what to do; or nothing.
class [[nodiscard]] Error {
public:
  Error() = default;
  explicit Error(std::string message) : text(std::move(message)), failed(true) {}
  /// Takes an error of the C API, which is freed.
  explicit Error(fa_error *error) : failed(error != nullptr) {
    if (error)
      text = fa_error_message(error);
    fa_error_free(error);
  }
  /// Return whether something went wrong.
  explicit operator bool() const { return failed; }
  const std::string &message() const { return text; }

private:
  std::string text;
  bool failed = false;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Expected {
public:
  Expected(T result) : value(std::move(result)) {}
  Expected(Error error) : problem(error.message()) {}
  /// Return whether there is a value.
  explicit operator bool() const { return value.has_value(); }
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  /// Return the error of one that has no value.
  const std::string &error() const { return problem; }

private:
  std::optional<T> value;
  std::string problem;
};

//===----------------------------------------------------------------------===//
// What is computed
//===----------------------------------------------------------------------===//

/// One size of a capture: a number, or one that a launch says. Sizes of one name
/// agree with each other and with those of q, k and v.
struct Dim {
  int64_t size = -1;
  std::string name;

  template <typename T, std::enable_if_t<detail::isInteger<T>, int> = 0>
  Dim(T count) : size(static_cast<int64_t>(count)) {}
  Dim(const char *text) : name(text) {}
};
inline const Dim batch = "B", heads = "Hq", keyHeads = "Hk", queries = "Sq", keys = "Sk";
/// A size that agrees with nothing.
inline const Dim anySize = "";

/// A tensor, or a scalar, that masks and scores read.
struct CaptureInfo {
  std::string name;
  DType dtype;
  std::vector<Dim> dims;

  /// "f32".
  const char *element() const {
    static const char *const names[] = {"f16", "bf16", "f32", "f64", "i8",
                                        "i16", "i32",  "i64", "i1"};
    return names[dtype];
  }
  /// "tensor<?x4xf32>", "f32".
  std::string type() const {
    std::string text = dims.empty() ? "" : "tensor<";
    for (const Dim &dim : dims)
      text += (dim.size < 0 ? "?" : std::to_string(dim.size)) + "x";
    return text + element() + (dims.empty() ? "" : ">");
  }
};

/// Reads a capture where a mask or a score is recorded.
template <typename T> class Capture {
public:
  explicit Capture(CaptureInfo what) : info(std::move(what)) {}
  /// Return the element at these indices, one a dimension; 0 out of range. Floats are
  /// converted to f32, integers extended to 64 bits by their sign.
  template <typename... Indices> T operator()(const Indices &...indices) const {
    constexpr bool known = (std::is_convertible_v<Indices, Index> && ...);
    static_assert(known, "a capture is read at integers, such as positions");
    if constexpr (known)
      return read({Index(indices)...});
    else
      return convert({});
  }
  /// Read an element of a tensor of rank 1.
  T operator[](const Index &index) const { return read({index}); }

private:
  T read(std::vector<Index> indices) const {
    detail::Recorder *recorder = detail::Recorder::current();
    detail::Value value;
    if (recorder) {
      recorder->captures.push_back(info.name);
      if (indices.size() != info.dims.size())
        recorder->fail("reads a capture with a wrong number of indices; give one a dimension");
      value.name = "%c_" + info.name;
      value.serial = recorder->serial;
      std::string at;
      for (const Index &index : indices)
        at += (at.empty() ? "" : ", ") + index.value().use();
      if (!indices.empty())
        value = detail::record(
            ("tensor.extract %c_" + info.name + "[" + at + "] : " + info.type()).c_str(), value);
    }
    return convert(std::move(value));
  }
  T convert(detail::Value value) const {
    if constexpr (std::is_same_v<T, Float>)
      return Float(info.dtype == FA_F32    ? std::move(value)
                   : info.dtype == FA_F16  ? detail::record("arith.extf $0 : f16 to f32", value)
                   : info.dtype == FA_BF16 ? detail::record("arith.extf $0 : bf16 to f32", value)
                                           : detail::record("arith.truncf $0 : f64 to f32", value));
    else if constexpr (std::is_same_v<T, Index>)
      return {info.dtype == FA_I8    ? detail::record("arith.index_cast $0 : i8 to index", value)
              : info.dtype == FA_I16 ? detail::record("arith.index_cast $0 : i16 to index", value)
              : info.dtype == FA_I32 ? detail::record("arith.index_cast $0 : i32 to index", value)
                                     : detail::record("arith.index_cast $0 : i64 to index", value),
              info.dtype == FA_I64
                  ? detail::Range()
                  : detail::Range::between(-detail::Range::kLength - 1, detail::Range::kLength)};
    else
      return Bool(std::move(value));
  }
  CaptureInfo info;
};

/// The region of a mask or a score: plain data, recorded when it is assigned.
struct Region {
  /// Ops, and the name of the value that they end in; empty: no region.
  std::string ops, result;
  /// The captures that they read.
  std::vector<std::string> captures;
  /// Why they could not be recorded; empty where they could.
  std::string problem;

  explicit operator bool() const { return !result.empty() || !problem.empty(); }

protected:
  template <typename Function> void record(Function function) {
    detail::Recorder recorder;
    recorder.serial = detail::Recorder::next();
    // Also where the function throws.
    struct Restore {
      detail::Recorder *outer = detail::Recorder::current();
      ~Restore() { detail::Recorder::current() = outer; }
    } restore;
    detail::Recorder::current() = &recorder;
    auto index = [&](const char *name, int which) {
      detail::Value value;
      value.name = name;
      value.serial = recorder.serial;
      return Index(value, detail::Range::position(which));
    };
    result = function(Position{index("%b", 0), index("%h", 1), index("%i", 2), index("%j", 3),
                               index("%sq", 4), index("%sk", 5)},
                      recorder);
    ops = std::move(recorder.ops);
    captures = std::move(recorder.captures);
    problem = std::move(recorder.problem);
  }
};

/// Say whether query i may see key j: a lambda of a position that gives a Bool.
struct Mask : Region {
  Mask() = default;
  template <typename Function,
            typename = std::enable_if_t<!std::is_base_of_v<Region, std::decay_t<Function>>>>
  Mask(Function mask) {
    constexpr bool takes = std::is_invocable_v<Function, const Position &>;
    static_assert(takes, "a mask is a lambda of a position: [=](auto x) { return x.j <= x.i; }");
    if constexpr (takes)
      record([&](const Position &x, detail::Recorder &) { return checked(mask(x)); });
  }

private:
  template <typename Result> static std::string checked(const Result &result) {
    constexpr bool gives = std::is_convertible_v<Result, Bool>;
    static_assert(gives, "a mask gives a condition: compare numbers, say x.j <= x.i");
    if constexpr (gives)
      return Bool(result).value().use();
    else
      return "";
  }
};

/// Replace the scaled product of query and key: a lambda of it and a
/// position, or of it alone, that gives a Float.
struct ScoreMod : Region {
  ScoreMod() = default;
  template <typename Function,
            typename = std::enable_if_t<!std::is_base_of_v<Region, std::decay_t<Function>>>>
  ScoreMod(Function score) {
    constexpr bool both = std::is_invocable_v<Function, const Score &, const Position &>;
    constexpr bool takes = both || std::is_invocable_v<Function, const Score &>;
    static_assert(takes, "a score is a lambda of a score and a position: "
                         "[=](fa::Score s, auto x) { return s - (x.i - x.j); }");
    if constexpr (takes)
      record([&](const Position &x, detail::Recorder &recorder) {
        detail::Value value;
        value.name = "%s";
        value.serial = recorder.serial;
        if constexpr (both)
          return checked(score(Score(value), x));
        else
          return checked(score(Score(value)));
      });
  }

private:
  template <typename Result> static std::string checked(const Result &result) {
    constexpr bool gives = std::is_convertible_v<Result, Float>;
    static_assert(gives, "a score gives a number: of a condition, fa::select(condition, a, b)");
    if constexpr (gives)
      return Float(result).value().use();
    else
      return "";
  }
};

/// Say which starts and lengths of sequences launches take, as tensors of integers. Where there are
/// starts, the queries, or the keys and values, are those of all sequences in a row.
struct Sequences {
  /// Where each begins, and where the last one ends: B + 1 numbers.
  bool queryStarts = false, keyStarts = false;
  /// How many of its tokens there are: B numbers.
  bool queryLengths = false, keyLengths = false;
  /// Give the type of all of these: i32 or i64.
  DType dtype = FA_I32;

  bool any() const { return queryStarts || keyStarts || queryLengths || keyLengths; }
};

/// An attention: plain data. fa::compile checks it.
struct Attention {
  /// Elements of a row of q and k, 1 to 256, and of v (0: as many).
  int64_t headDim = 64, valueDim = 0;
  /// Give the type of q, k, v and o: f16, bf16 or f32.
  DType dtype = f16;
  /// The factor on q.k; absent: 1 / sqrt(headDim).
  std::optional<double> scale = std::nullopt;
  /// Say whether lse is an output.
  bool lse = true;
  /// Say whether launches take dropoutP, seed and offset.
  bool dropout = false;
  /// With dropout: say whether launches take seedAt and offsetAt instead of seed and offset.
  /// Kernels read them when they run, so that a graph that is replayed draws new masks.
  bool dropoutInMemory = false;
  /// Give the type of a sink, f32 or dtype, where launches take one: a logit for each query head
  /// that adds to the sum of exponentials of each of its rows, without a value.
  std::optional<DType> sink = std::nullopt;
  /// Say which starts and lengths launches take; none: all of each batch.
  Sequences sequences = {};
  /// Choose how f32 is multiplied: "", "ieee", "tf32x3" (the default) or "tf32".
  std::string precision = {};
  /// Every key is visible where there is none.
  Mask mask = {};
  /// The score is the scaled product where there is none.
  ScoreMod score = {};
  /// In the order of Forward::captures.
  std::vector<CaptureInfo> captures = {};

  /// Adds a tensor that masks and scores may read, without dims a scalar.
  template <typename T>
  Capture<T> capture(std::string name, Type<T> type, std::vector<Dim> dims = {}) {
    captures.push_back({std::move(name), type, std::move(dims)});
    return Capture<T>(captures.back());
  }
};

/// Return the MLIR text of a spec, a module with one entry; or what is wrong with it.
inline Expected<std::string> toMLIR(const Attention &spec);

//===----------------------------------------------------------------------===//
// Where it runs
//===----------------------------------------------------------------------===//

/// A device, and which code is made for it.
struct Device {
  /// "cpu", "cuda:0", ...
  std::string name = "cpu";
  /// "sm_80", "sm_90a", "cpu-avx2", ...; empty: the best for the device.
  std::string target = {};

  static Device cpu() { return {}; }
  static Device cuda(int ordinal = 0) { return {"cuda:" + std::to_string(ordinal), {}}; }
};

/// A CUstream or cudaStream_t; null is the default stream. Not used on the CPU.
using Stream = void *;

/// A tensor in the device's memory. Sizes and strides count elements.
struct Tensor {
  static constexpr int kMaxRank = 5;
  void *data = nullptr;
  DType dtype = f32;
  int rank = 0;
  int64_t shape[kMaxRank] = {}, strides[kMaxRank] = {};

  /// Record whether a constructor got a stride for each size; a launch refuses what is not.
  bool whole = true;

  Tensor() = default;
  /// Contiguous, row major; a rank above 5 is refused at launch.
  Tensor(const void *memory, DType type, std::initializer_list<int64_t> sizes)
      : Tensor(memory, type, sizes, sizes) {
    uint64_t stride = 1;
    for (int d = rank - 1; d >= 0 && rank <= kMaxRank; --d) {
      strides[d] = static_cast<int64_t>(stride);
      stride *= static_cast<uint64_t>(shape[d]);
    }
  }
  /// Describe memory by as many strides as sizes.
  Tensor(const void *memory, DType type, std::initializer_list<int64_t> sizes,
         std::initializer_list<int64_t> steps)
      : data(const_cast<void *>(memory)), dtype(type), rank(static_cast<int>(sizes.size())),
        whole(steps.size() == sizes.size()) {
    int d = 0;
    for (int64_t size : sizes)
      if (d < kMaxRank)
        shape[d++] = size;
    d = 0;
    for (int64_t step : steps)
      if (d < kMaxRank)
        strides[d++] = step;
  }
  /// Return whether nothing was given.
  bool isEmpty() const { return !data && rank == 0 && whole; }
};

/// One capture at a launch: a tensor or, of a capture without dims, a number.
struct CaptureValue {
  Tensor tensor;
  double f = 0;
  int64_t i = 0;
  /// A number; and one that is an integer, which stands in `i`.
  bool isNumber = false, isInteger = false;

  CaptureValue() = default;
  CaptureValue(const Tensor &given) : tensor(given) {}
  template <typename T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  CaptureValue(T value) : f(static_cast<double>(value)), isNumber(true) {
    // Halves of the ranges are exact in any type, and so is whether a number is below.
    if constexpr (std::is_same_v<T, bool> || std::is_signed_v<T> == std::is_integral_v<T>)
      isInteger = true;
    else if constexpr (std::is_integral_v<T>)
      isInteger = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    else
      isInteger = value >= T(-0x1p63) && value < T(0x1p63) &&
                  value == static_cast<T>(static_cast<int64_t>(value));
    if (isInteger)
      i = static_cast<int64_t>(value);
  }
  /// Return whether nothing was given.
  bool isEmpty() const { return !isNumber && tensor.isEmpty(); }
};

/// Hold what a launch of the forward program takes. Memory of inputs is not written, and
/// o and lse overlap none of it. What is given and not taken is an error.
struct Forward {
  static constexpr int kMaxCaptures = 16;
  Tensor q = {}, k = {}, v = {}, o = {}, lse = {};
  /// With Attention::sink; a logit that is -inf changes nothing.
  Tensor sink = {};
  /// With Attention::sequences.
  Tensor queryStarts = {}, keyStarts = {}, queryLengths = {}, keyLengths = {};
  /// In the order of Attention::captures.
  std::array<CaptureValue, kMaxCaptures> captures = {};
  /// With dropout: the probability, and bits without a sign.
  double dropoutP = 0;
  uint64_t seed = 0, offset = 0;
  /// With Attention::dropoutInMemory: {1} of i64 each, which may change between launches.
  Tensor seedAt = {}, offsetAt = {};
  /// Memory of the device, aligned to 64 bytes, of at least workspaceBytes();
  /// null where that is 0. It may hold anything. Launches that may run at the same time,
  /// also by graphs, need one each.
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
};

/// A compiled attention, ready to be launched. Cheap to copy; any number of
/// threads may launch one.
class Kernel {
public:
  struct Capture {
    std::string name;
    bool scalar;
    /// Say whether launches take only integers for a scalar.
    bool integer = false;
  };
  /// Say which arguments a program has beside q, k, v and o.
  struct Takes {
    bool lse = false, sink = false, dropout = false, dropoutInMemory = false;
    Sequences sequences = {};
  };
  /// Takes a reference to a program of the C API.
  Kernel(fa_program *compiled, std::vector<Capture> captures, Takes takes)
      : state(std::make_shared<State>(compiled, std::move(captures), takes)) {}

  /// Puts the kernels on a stream; on the CPU, returns when results are there.
  /// Allocates nothing on the device and waits for nothing, so a stream that is
  /// being captured in a graph captures them. An error says which argument or
  /// device was wrong and what to do.
  Error forward(Stream stream, const Forward &args) const {
    Bound bound;
    if (Error wrong = bind(args, bound))
      return wrong;
    return bound.launch(*state, stream, args.workspace, args.workspaceBytes);
  }

  /// Return the bytes of workspace that such a launch needs. Only shapes and dtypes count,
  /// but data that is not null.
  Expected<uint64_t> workspaceBytes(const Forward &args) const {
    Bound bound;
    if (Error wrong = bind(args, bound))
      return wrong;
    return bound.countWorkspace(*state);
  }

  /// Waits until all code is loaded, which a thread does on GPUs; an error where the driver cannot
  /// load it. Launches that need what is not there wait by themselves, or take a first tier, which
  /// is slower and has the same bits: what is timed waits before.
  Error wait() const { return Error(fa_program_wait(state->program)); }

  /// For what fa_c.h can tell of it; owned by the kernel.
  const fa_program *program() const { return state->program; }

private:
  /// Its launches bind arguments as these do.
  friend class BackwardKernel;

  struct State {
    State(fa_program *compiled, std::vector<Capture> read, Takes takes)
        : program(compiled), captures(std::move(read)), lse(takes.lse), sink(takes.sink),
          dropout(takes.dropout), inMemory(takes.dropoutInMemory), sequences(takes.sequences) {
      auto takesIf = [&](bool taken, std::initializer_list<const char *> names) {
        if (taken)
          unread.insert(unread.end(), names.begin(), names.end());
      };
      takesIf(true, {"q", "k", "v"});
      takesIf(sink, {"sink"});
      takesIf(sequences.queryStarts, {"query_starts"});
      takesIf(sequences.keyStarts, {"key_starts"});
      takesIf(sequences.queryLengths, {"query_lengths"});
      takesIf(sequences.keyLengths, {"key_lengths"});
      takesIf(dropout, {"p", "seed", "offset"});
      for (const Capture &capture : captures)
        unread.push_back(capture.name);
      for (size_t i = 0; i < fa_program_num_arguments(program); ++i)
        unread.erase(
            std::remove(unread.begin(), unread.end(), fa_program_argument(program, i).name),
            unread.end());
    }
    State(const State &) = delete;
    ~State() { fa_program_free(program); }
    fa_program *program;
    std::vector<Capture> captures;
    bool lse, sink, dropout, inMemory;
    Sequences sequences;
    /// Names of inputs that the program does not have, for it does not read them: what a mask reads
    /// that is true all the same, or most of them where the gradient of a sink is all that is asked
    /// for.
    std::vector<std::string> unread;
  };
  /// A tensor of Attention::sequences, as programs and as C++ name it.
  struct SequencePart {
    bool taken;
    const char *name, *member;
    const Tensor &tensor;
  };
  template <typename Args>
  static std::array<SequencePart, 4> sequencesOf(const State &state, const Args &args) {
    const Sequences &given = state.sequences;
    return {{{given.queryStarts, "query_starts", "queryStarts", args.queryStarts},
             {given.keyStarts, "key_starts", "keyStarts", args.keyStarts},
             {given.queryLengths, "query_lengths", "queryLengths", args.queryLengths},
             {given.keyLengths, "key_lengths", "keyLengths", args.keyLengths}}};
  }
  /// The arguments of a launch, and whether something was seen to be wrong with them.
  template <size_t kMost> struct Arguments {
    fa_argument arguments[kMost];
    fa_tensor tensors[kMost];
    size_t count = 0;
    bool wrong = false;

    Error launch(const State &kernel, Stream stream, void *workspace, uint64_t bytes) const {
      return Error(fa_program_launch(kernel.program, stream, arguments, count, workspace, bytes));
    }
    Expected<uint64_t> countWorkspace(const State &kernel) const {
      uint64_t bytes = 0;
      if (Error failed = Error(fa_program_workspace_size(kernel.program, arguments, count, &bytes)))
        return failed;
      return bytes;
    }
    void add(const char *name, const Tensor &tensor) {
      wrong |= tensor.rank > Tensor::kMaxRank || !tensor.whole || tensor.isEmpty();
      tensors[count] = {tensor.data, tensor.dtype, tensor.rank, tensor.shape, tensor.strides, 0};
      arguments[count] = {name, &tensors[count], 0, 0};
      ++count;
    }
    /// Adds what only some programs take.
    void addOptional(bool taken, const char *name, const Tensor &tensor) {
      if (taken)
        add(name, tensor);
      else
        wrong |= !tensor.isEmpty();
    }
    void addCaptures(const State &kernel,
                     const std::array<CaptureValue, Forward::kMaxCaptures> &captures) {
      size_t most = kernel.captures.size();
      for (size_t i = 0; i < most; ++i) {
        const Capture &info = kernel.captures[i];
        const CaptureValue &value = captures[i];
        wrong |= value.isNumber != info.scalar;
        if (!info.scalar) {
          add(info.name.c_str(), value.tensor);
          continue;
        }
        wrong |= info.integer && !value.isInteger;
        arguments[count++] = {info.name.c_str(), nullptr, value.f, value.i};
      }
      for (size_t i = most; i < captures.size(); ++i)
        wrong |= !captures[i].isEmpty();
    }
    template <typename Args> void addDropout(const State &kernel, const Args &args) {
      bool any = kernel.dropout, numbers = any && !kernel.inMemory;
      if (any)
        arguments[count++] = {"p", nullptr, args.dropoutP, 0};
      if (numbers) {
        arguments[count++] = {"seed", nullptr, 0, static_cast<int64_t>(args.seed)};
        arguments[count++] = {"offset", nullptr, 0, static_cast<int64_t>(args.offset)};
      }
      addOptional(any && !numbers, "seed", args.seedAt);
      addOptional(any && !numbers, "offset", args.offsetAt);
      // Also of what is no number.
      wrong |= !(args.dropoutP >= 0 && args.dropoutP <= (any ? 1 : 0));
      wrong |= !numbers && (args.seed | args.offset) != 0;
    }
    /// Adds what forward and backward both take: all inputs of the attention.
    template <typename Args> void addInputs(const State &kernel, const Args &args) {
      add("q", args.q);
      add("k", args.k);
      add("v", args.v);
      addCaptures(kernel, args.captures);
      addOptional(kernel.sink, "sink", args.sink);
      for (const SequencePart &part : sequencesOf(kernel, args))
        addOptional(part.taken, part.name, part.tensor);
      addDropout(kernel, args);
    }
    /// Leaves out what a program does not have.
    void drop(const std::vector<std::string> &names) {
      for (const std::string &name : names)
        count = static_cast<size_t>(
            std::remove_if(arguments, arguments + count,
                           [&](const fa_argument &given) { return name == given.name; }) -
            arguments);
    }
  };
  using Bound = Arguments<13 + Forward::kMaxCaptures>;
  /// Sees quickly whether something is wrong; problem() says what.
  Error bind(const Forward &args, Bound &bound) const {
    bound.addInputs(*state, args);
    bound.add("o", args.o);
    bound.addOptional(state->lse, "lse", args.lse);
    bound.drop(state->unread);
    return bound.wrong ? Error(problem(args)) : Error();
  }

  static std::string number(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.17g", value);
    for (int digits = 1; digits < 17; ++digits) {
      char shorter[32];
      std::snprintf(shorter, sizeof shorter, "%.*g", digits, value);
      if (std::strtod(shorter, nullptr) == value)
        return shorter;
    }
    return text;
  }
  /// Return what is wrong with a tensor; empty where nothing is.
  static std::string problem(const std::string &what, const std::string &place,
                             const Tensor &tensor) {
    if (tensor.isEmpty())
      return what + " is missing; give it in " + place;
    if (!tensor.whole)
      return what + " has another number of strides than of sizes; give one a dimension, or none "
                    "where it is contiguous";
    if (tensor.rank > Tensor::kMaxRank)
      return what + " has a rank above " + std::to_string(Tensor::kMaxRank) +
             "; view it with fewer dimensions";
    return "";
  }
  static std::string problem(const Capture &info, const CaptureValue &value,
                             const std::string &place) {
    std::string what = "capture '" + info.name + "'";
    if (value.isEmpty())
      return what + " is missing; give it in " + place;
    if (!info.scalar)
      return value.isNumber ? what + " is a tensor, got a number; give a tensor in " + place
                            : problem(what, place, value.tensor);
    if (!value.isNumber)
      return what + " is a scalar, got a tensor; give a number in " + place;
    if (info.integer && !value.isInteger)
      return what + " is " + number(value.f) + ", expected an integer of 64 bits; round it";
    return "";
  }
  /// Return what is wrong with captures, given in `place`; empty where nothing is.
  static std::string
  problemOfCaptures(const State &state,
                    const std::array<CaptureValue, Forward::kMaxCaptures> &captures,
                    const std::string &place) {
    size_t count = state.captures.size(), given = captures.size();
    for (size_t i = 0; i < count; ++i)
      if (std::string text = problem(state.captures[i], captures[i], place); !text.empty())
        return text;
    while (given > count && captures[given - 1].isEmpty())
      --given;
    if (given > count)
      return "there are " + std::to_string(given) + " captures, expected " + std::to_string(count) +
             "; add those that are missing by Attention::capture, or "
             "leave them out";
    return "";
  }
  /// Return what is wrong with a sink, given in `place`; empty where nothing is.
  static std::string problemOfSink(const State &state, const Tensor &sink,
                                   const std::string &place) {
    if (state.sink)
      return problem("'sink'", place, sink);
    return sink.isEmpty() ? "" : "'sink' is given, but the kernel has none; set Attention::sink";
  }
  /// Return what is wrong with starts and lengths, given in `place`; empty where nothing is.
  template <typename Args>
  static std::string problemOfSequences(const State &state, const Args &args,
                                        const std::string &place) {
    for (const SequencePart &part : sequencesOf(state, args)) {
      std::string member = part.member, what = "'" + std::string(part.name) + "'";
      if (!part.taken && !part.tensor.isEmpty())
        return what + " is given, but the kernel takes none; set Sequences::" + member;
      if (std::string text = part.taken ? problem(what, place + "::" + member, part.tensor) : "";
          !text.empty())
        return text;
    }
    return "";
  }
  /// Return what is wrong with what dropout takes; empty where nothing is.
  template <typename Args>
  static std::string problemOfDropout(const State &state, const Args &args,
                                      const std::string &place) {
    bool any = state.dropout, inMemory = state.inMemory;
    double p = args.dropoutP;
    if (!any && !(p >= 0 && p <= 0))
      return "dropoutP is " + number(p) + ", but the kernel has no dropout; set Attention::dropout";
    if (!any && (args.seed | args.offset) != 0)
      return std::string(args.seed ? "seed" : "offset") +
             " is given, but the kernel has no dropout; set Attention::dropout";
    if (!(p >= 0 && p <= 1))
      return "dropoutP is " + number(p) + ", expected 0 to 1";
    if (inMemory && (args.seed | args.offset) != 0)
      return std::string(args.seed ? "seed" : "offset") +
             " is given, but the kernel reads it in memory; give " +
             (args.seed ? "seedAt" : "offsetAt") +
             ", or compile without "
             "Attention::dropoutInMemory";
    if (!inMemory && !(args.seedAt.isEmpty() && args.offsetAt.isEmpty()))
      return std::string(args.seedAt.isEmpty() ? "offsetAt" : "seedAt") +
             " is given, but the kernel reads none; set Attention::dropoutInMemory, or leave it "
             "out";
    if (!inMemory)
      return "";
    std::string text = problem("'seed'", place + "::seedAt", args.seedAt);
    return text.empty() ? problem("'offset'", place + "::offsetAt", args.offsetAt) : text;
  }
  /// Return what is wrong with arguments; empty where nothing is.
  std::string problem(const Forward &args) const {
    struct {
      const char *name;
      const Tensor &tensor;
    } const tensors[] = {{"q", args.q}, {"k", args.k}, {"v", args.v}, {"o", args.o}};
    for (auto &[name, tensor] : tensors)
      if (std::string text =
              problem("'" + std::string(name) + "'", "Forward::" + std::string(name), tensor);
          !text.empty())
        return text;
    if (std::string text = problemOfCaptures(*state, args.captures, "Forward::captures");
        !text.empty())
      return text;
    if (std::string text = problemOfSink(*state, args.sink, "Forward::sink"); !text.empty())
      return text;
    if (std::string text = problemOfDropout(*state, args, "Forward"); !text.empty())
      return text;
    if (std::string text = problemOfSequences(*state, args, "Forward"); !text.empty())
      return text;
    if (!state->lse && !args.lse.isEmpty())
      return "'lse' is given, but the kernel has none; set Attention::lse";
    return problem("'lse'", "Forward::lse, or compile without Attention::lse", args.lse);
  }

  std::shared_ptr<State> state;
};

/// Compiles a spec for a device, which is opened, or finds it in the cache. What
/// cannot be compiled says why and what to do; so does explain().
inline Expected<Kernel> compile(const Attention &spec, const Device &device = {});

/// Compiles MLIR text with one entry whose arguments are named q, k, v and o, and
/// lse, sink and captures where there are such (docs/semantics.md).
inline Expected<Kernel> compile(std::string_view text, const Device &device = {});

/// Something that is refused, or slower than it could be, and what to do.
struct Reason {
  fa_reason_kind kind;
  std::string what, remedy;
};

/// Explain why a spec cannot be compiled for a device, which launches are refused and
/// which are slower: all that compile() and forward() would say, beforehand.
inline std::vector<Reason> explain(const Attention &spec, const Device &device = {});

} // namespace fa

#include "fa/backward.h"
#include "fa/detail/compile.h"

#endif // FA_FA_H
