//===- backward.h - gradients of attention from C++ -------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by fa.h. Nobody writes a derivative: that of the score's lambda is derived.
//
//   auto slopes = spec.capture("slopes", fa::f32, {fa::heads});
//   auto kernel = fa::compileBackward(spec, fa::Device::cuda(0));
//   if (!kernel) { std::puts(kernel.error().c_str()); return 1; }
//   fa::Error failed = kernel->backward(stream, {.q = q, .k = k, .v = v, .o = o, .lse = lse,
//                                                .dO = dO, .dq = dq, .dk = dk, .dv = dv,
//                                                .captures = {slopesTensor},
//                                                .dCaptures = {dSlopes}});
//
// The gradients are those of sum(dO * o) + sum(dLse * lse), over all elements. Beside q, k, v, o
// and lse, which are as the forward has them (fa.h), the tensors are, without B where the queries
// are those of sequences in a row:
//
//   dO    B x Hq x Sq x valueDim  spec.dtype     dq, dk, dv    as q, k, v
//   dLse  B x Hq x Sq             f32            dSink         as sink
//                                                dCaptures[n]  as captures[n]; {1} of a scalar
//
//===----------------------------------------------------------------------===//

#ifndef FA_BACKWARD_H
#define FA_BACKWARD_H

#include "fa/fa.h"

namespace fa {

/// Choose what a backward program computes.
struct BackwardOptions {
  /// Names of the inputs whose gradients are computed, out of "q", "k", "v", "sink" and those of
  /// captures of floats; empty: all of them.
  std::vector<std::string> gradients = {};
  /// Say whether launches take dLse; where they do not it counts as 0.
  bool dLse = false;
  /// Refuse a program whose results may differ in their bits from one launch to the next, and
  /// compute dq without atomics where these are faster (long sequences on GPUs).
  bool deterministic = false;
};

/// Hold what a launch of the backward program takes. Memory of inputs is not written; the gradients
/// are written whole, but for rows of no sequence in dq, dk and dv, and overlap nothing else. What
/// is given and not taken is an error.
struct Backward {
  /// Give what the forward took, and what it wrote.
  Tensor q = {}, k = {}, v = {}, o = {}, lse = {}, sink = {};
  Tensor queryStarts = {}, keyStarts = {}, queryLengths = {}, keyLengths = {};
  /// Give what flows back into o and, with BackwardOptions::dLse, into lse.
  Tensor dO = {}, dLse = {};
  /// Outputs: the gradients that are asked for.
  Tensor dq = {}, dk = {}, dv = {}, dSink = {};
  /// In the order of Attention::captures. dCaptures are outputs; a capture that has no gradient, of
  /// integers or not asked for, has none there.
  std::array<CaptureValue, Forward::kMaxCaptures> captures = {};
  std::array<Tensor, Forward::kMaxCaptures> dCaptures = {};
  /// With dropout: those of the forward.
  double dropoutP = 0;
  uint64_t seed = 0, offset = 0;
  Tensor seedAt = {}, offsetAt = {};
  /// As Forward's.
  void *workspace = nullptr;
  uint64_t workspaceBytes = 0;
};

/// A compiled backward pass, ready to be launched. Cheap to copy; any number of threads may launch
/// one.
class BackwardKernel {
public:
  /// Takes a reference to a program of the C API, compiled with fa_compile_options.backward.
  BackwardKernel(fa_program *compiled, std::vector<Kernel::Capture> captures, Kernel::Takes takes)
      : state(std::make_shared<Kernel::State>(compiled, std::move(captures), takes)) {
    for (size_t i = 0; i < fa_program_num_arguments(compiled); ++i) {
      std::string_view name = fa_program_argument(compiled, i).name;
      has.dLse |= name == "dlse";
      has.dq |= name == "dq";
      has.dk |= name == "dk";
      has.dv |= name == "dv";
      has.dSink |= takes.sink && name == "dsink";
      bool isOutput = fa_program_argument(compiled, i).kind == FA_OUTPUT;
      for (size_t c = 0; c < state->captures.size(); ++c)
        if (isOutput && name.size() > 1 && name[0] == 'd' &&
            name.substr(1) == state->captures[c].name)
          has.captures[c] = std::string(name);
    }
  }

  /// Puts the kernels on a stream, as Kernel::forward does.
  Error backward(Stream stream, const Backward &args) const {
    Bound bound;
    if (Error wrong = bind(args, bound))
      return wrong;
    return bound.launch(*state, stream, args.workspace, args.workspaceBytes);
  }

  /// Return the bytes of workspace that such a launch needs. Only shapes and dtypes count, but data
  /// that is not null.
  Expected<uint64_t> workspaceBytes(const Backward &args) const {
    Bound bound;
    if (Error wrong = bind(args, bound))
      return wrong;
    return bound.countWorkspace(*state);
  }

  /// Waits as Kernel::wait does.
  Error wait() const { return Error(fa_program_wait(state->program)); }

  /// For what fa_c.h can tell of it; owned by the kernel.
  const fa_program *program() const { return state->program; }

private:
  using Bound = Kernel::Arguments<19 + 2 * Forward::kMaxCaptures>;
  /// The tensors that are taken only where they are asked for.
  struct Optional {
    bool dLse = false, dq = false, dk = false, dv = false, dSink = false;
    /// Names of outputs; empty where a capture has no gradient.
    std::array<std::string, Forward::kMaxCaptures> captures = {};
  };

  /// Sees quickly whether something is wrong; problem() says what.
  Error bind(const Backward &args, Bound &bound) const {
    bound.addInputs(*state, args);
    bound.add("o", args.o);
    bound.add("lse", args.lse);
    bound.add("do", args.dO);
    bound.addOptional(has.dLse, "dlse", args.dLse);
    bound.addOptional(has.dq, "dq", args.dq);
    bound.addOptional(has.dk, "dk", args.dk);
    bound.addOptional(has.dv, "dv", args.dv);
    bound.addOptional(has.dSink, "dsink", args.dSink);
    for (size_t i = 0; i < args.dCaptures.size(); ++i)
      bound.addOptional(!has.captures[i].empty(), has.captures[i].c_str(), args.dCaptures[i]);
    bound.drop(state->unread);
    return bound.wrong ? Error(problem(args)) : Error();
  }

  /// Return what is wrong with a tensor that is not taken by each program.
  static std::string problem(bool taken, const std::string &name, const std::string &place,
                             const std::string &option, const Tensor &tensor) {
    if (taken)
      return Kernel::problem("'" + name + "'", place, tensor);
    return tensor.isEmpty() ? "" : "'" + name + "' is given, but " + option + "leave it out";
  }
  /// Return what is wrong with arguments; empty where nothing is.
  std::string problem(const Backward &args) const {
    struct {
      const char *name, *member;
      const Tensor &tensor;
    } const tensors[] = {{"q", "q", args.q}, {"k", "k", args.k},       {"v", "v", args.v},
                         {"o", "o", args.o}, {"lse", "lse", args.lse}, {"do", "dO", args.dO}};
    for (auto &[name, member, tensor] : tensors)
      if (std::string text = Kernel::problem("'" + std::string(name) + "'",
                                             "Backward::" + std::string(member), tensor);
          !text.empty())
        return text;
    if (std::string text = Kernel::problemOfCaptures(*state, args.captures, "Backward::captures");
        !text.empty())
      return text;
    if (std::string text = Kernel::problemOfSink(*state, args.sink, "Backward::sink");
        !text.empty())
      return text;
    if (std::string text = Kernel::problemOfSequences(*state, args, "Backward"); !text.empty())
      return text;
    if (std::string text = Kernel::problemOfDropout(*state, args, "Backward"); !text.empty())
      return text;
    const std::string asked =
        "the kernel does not compute it; ask for it by BackwardOptions::gradients, or ";
    struct {
      bool taken;
      const char *name, *member;
      const Tensor &tensor;
      std::string option;
    } const optional[] = {{has.dLse, "dlse", "dLse", args.dLse,
                           "the kernel does not take it; set BackwardOptions::dLse, or "},
                          {has.dq, "dq", "dq", args.dq, asked},
                          {has.dk, "dk", "dk", args.dk, asked},
                          {has.dv, "dv", "dv", args.dv, asked},
                          {has.dSink, "dsink", "dSink", args.dSink, asked}};
    for (auto &[taken, name, member, tensor, option] : optional)
      if (std::string text =
              problem(taken, name, "Backward::" + std::string(member), option, tensor);
          !text.empty())
        return text;
    for (size_t i = 0; i < args.dCaptures.size(); ++i) {
      std::string place = "Backward::dCaptures[" + std::to_string(i) + "]", name = place;
      std::string option = "there is no such capture; ";
      if (i < state->captures.size()) {
        name = "d" + state->captures[i].name;
        option = state->captures[i].integer ? "integers have no gradient; " : asked;
      }
      if (std::string text =
              problem(!has.captures[i].empty(), name, place, option, args.dCaptures[i]);
          !text.empty())
        return text;
    }
    return "";
  }

  std::shared_ptr<Kernel::State> state;
  Optional has;
};

/// Compiles the backward pass of a spec for a device, or finds it in the cache. The spec has lse,
/// and its captures have other names than "do", "dlse" and those of gradients ("d" and the name of
/// an input). What cannot be compiled says why and what to do: a score without a derivative, and a
/// capture of floats whose gradient cannot be computed.
inline Expected<BackwardKernel> compileBackward(const Attention &spec, const Device &device = {},
                                                const BackwardOptions &options = {});

} // namespace fa

#endif // FA_BACKWARD_H
