//===- InterpretText.h - tile programs interpreted from text -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_INTERPRETTEXT_H
#define FA_TEST_UNIT_INTERPRETTEXT_H

#include "fa/Interpreter/Interpreter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Parser/Parser.h"
#include <cmath>

namespace fa_test {

using namespace mlir;
using namespace mlir::fa;

constexpr uint64_t kSeeds = 20;

/// Hold what came of one run.
struct Outcome {
  bool parsed = false, ran = false;
  std::string message, notes;
  /// Line of the text, from 1, at which it was reported.
  int64_t line = 0;
  std::vector<float> y;
};

using Floats = std::vector<float>;

/// Runs the tile.func of a text on views of rank 2 of f32 whose rows have 16
/// elements; the last one is the output, poisoned with NaN.
inline Outcome interpret(const std::string &text, std::vector<Floats> inputs, size_t outputSize,
                         uint64_t seed) {
  Outcome outcome;
  DialectRegistry registry;
  registry.insert<tile::TileDialect, arith::ArithDialect, math::MathDialect, scf::SCFDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (outcome.message.empty()) {
      outcome.message = diagnostic.str();
      for (Diagnostic &note : diagnostic.getNotes())
        outcome.notes += note.str() + "\n";
      if (auto loc = dyn_cast<FileLineColLoc>(diagnostic.getLocation()))
        outcome.line = loc.getLine();
    }
    return success();
  });
  // The verifier finds some of the faults too; here the interpreter must.
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, config);
  if (!module)
    return outcome;
  tile::FuncOp func = *module->getOps<tile::FuncOp>().begin();
  if (failed(interpreter::check(func)))
    return outcome;
  outcome.parsed = true;
  inputs.push_back(Floats(outputSize, NAN));
  std::vector<interpreter::Argument> arguments;
  for (Floats &values : inputs) {
    interpreter::Argument argument;
    argument.memory.data = reinterpret_cast<std::byte *>(values.data());
    argument.memory.sizes = {static_cast<int64_t>(values.size() / 16), 16};
    argument.memory.strides = {16, 1};
    arguments.push_back(argument);
  }
  interpreter::Options options;
  options.seed = seed;
  options.maxOps = 1000000;
  outcome.ran = succeeded(interpreter::run(func, arguments, options));
  outcome.y = inputs.back();
  return outcome;
}

inline Floats valuesOf(size_t count, int64_t seed) {
  Floats values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = std::sin(static_cast<float>(i * 7 + seed));
  return values;
}

inline bool near(const Floats &a, const Floats &b, float tolerance = 1e-5f) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!(std::fabs(a[i] - b[i]) <= tolerance))
      return false;
  return a.size() == b.size();
}

} // namespace fa_test

#endif // FA_TEST_UNIT_INTERPRETTEXT_H
