//===- Fuzz.h - the parts of the fuzzer -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_FUZZ_FUZZ_H
#define FA_TEST_FUZZ_FUZZ_H

#include "Random.h"
#include "fa/Reference/Reference.h"
#include "fa/Reference/Sampling.h"
#include "mlir/IR/MLIRContext.h"
#include <functional>
#include <memory>

namespace fa_fuzz {

//===----------------------------------------------------------------------===//
// Generating
//===----------------------------------------------------------------------===//

/// A program of fa.attention.
struct Program {
  std::string text;
  /// Right by intention: single entry, small sizes, may be run.
  bool runnable = false;
  /// Only ops whose results vary little with rounding: results are compared.
  bool comparable = false;
  mlir::fa::AttentionSizes sizes;
};

Program makeProgram(Random &random);

/// A value that a region may use: name without %, and type.
using NamedType = std::pair<std::string, std::string>;

/// Make the ops of a mask or score region, the yield included. `wrong` is the chance
/// in percent that an operand, type or op is a wrong one. Tame regions hold
/// only ops whose results can be compared.
std::string makeRegion(Random &random, bool isScore, std::vector<NamedType> values, bool tame,
                       int wrong);

/// Changes tokens, numbers, lines or bytes.
std::string mutateText(Random &random, std::string text);
std::string mutateBytes(Random &random, std::string bytes);

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Hold what an input came to. `failure` says what was wrong with the compiler.
struct Outcome {
  bool parsed = false, reachedTile = false, ran = false, compared = false, rejected = false;
  /// The error that rejected it, where one did.
  std::string message, failure;
};

/// Empty, or what is wrong with a result. The rule bounds the largest error of
/// many elements by that of plain arithmetic; where a few elements count, whose
/// plain results may be exact by luck, some units in the last place are let pass.
inline std::string problemOf(const std::string &name, const mlir::fa::Judgement &judgement,
                             mlir::fa::DType dtype) {
  using mlir::fa::DType;
  double slack = dtype == DType::F32 ? 4e-6 : dtype == DType::F16 ? 4e-3 : 3e-2;
  if (judgement.passed || (judgement.error > 0 && judgement.error <= 2 * judgement.bound + slack))
    return "";
  return "wrong result '" + name + "': " + judgement.problem;
}

/// Programs that launches are made of, compiled once.
class Launcher {
public:
  Launcher();
  ~Launcher();
  /// Run a number of launches of one program; `trace` gets a line for each.
  Outcome run(Random &random, std::string &trace);

private:
  struct Target;
  std::vector<std::unique_ptr<Target>> targets;
};

/// Makes and runs inputs; the same seed and index give the same input.
class Inputs {
public:
  explicit Inputs(uint64_t seed);
  ~Inputs();
  /// Runs in a process of its own. `input` is the input's text, made before
  /// anything is run on it: `keep` is called with it.
  Outcome run(int64_t index, const std::function<void(const std::string &)> &keep);

private:
  struct Text;
  Outcome runText(Text &text);
  Outcome runOnCPU(const Program &program, int64_t index);
  Outcome runSafetensors(Random &random, const std::function<void(const std::string &)> &keep);
  std::string lowered(const std::string &text, llvm::StringRef phase, bool generic);

  uint64_t seed;
  std::unique_ptr<mlir::MLIRContext> context;
  std::vector<std::string> attentionSeeds, tileSeeds;
  Launcher launcher;
};

} // namespace fa_fuzz

#endif // FA_TEST_FUZZ_FUZZ_H
