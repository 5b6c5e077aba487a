//===- Inputs.cpp - kinds of inputs, and what each goes through -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Fuzz.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Interpreter/Interpreter.h"
#include "fa/Pipelines/Phases.h"
#include "fa/Support/Safetensors.h"
#include "fa/Tools/Checker.h"
#include "fa/Tools/Registry.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace fa_fuzz;
using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Seeds
//===----------------------------------------------------------------------===//

/// Read the modules of the .mlir files under a folder, in order of their paths.
static void readSeeds(const std::string &folder, std::vector<std::string> &modules) {
  std::vector<std::string> paths;
  std::error_code code;
  for (llvm::sys::fs::recursive_directory_iterator it(folder, code), end; it != end && !code;
       it.increment(code))
    if (llvm::StringRef(it->path()).ends_with(".mlir"))
      paths.push_back(it->path());
  llvm::sort(paths);
  for (const std::string &path : paths) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    if (!buffer)
      continue;
    llvm::SmallVector<llvm::StringRef> parts;
    (*buffer)->getBuffer().split(parts, "// -----");
    for (llvm::StringRef part : parts) {
      // Comments are nothing to mutate.
      std::string text;
      llvm::SmallVector<llvm::StringRef> lines;
      part.split(lines, '\n');
      for (llvm::StringRef line : lines)
        if (!line.ltrim().starts_with("//"))
          text += line.str() + "\n";
      if (text.size() < 20000)
        modules.push_back(text);
    }
  }
}

Inputs::Inputs(uint64_t seed) : seed(seed) {
  DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false);
  std::vector<std::string> all;
  for (const char *folder : {"/examples", "/test/Dialect", "/test/Conversion"})
    readSeeds(std::string(FA_SOURCE_DIR) + folder, all);
  for (std::string &text : all)
    (text.find("tile.func") != std::string::npos ? tileSeeds : attentionSeeds)
        .push_back(std::move(text));
  if (attentionSeeds.empty() || tileSeeds.empty()) {
    std::fprintf(stderr, "fa-fuzz: no texts to mutate under %s\n", FA_SOURCE_DIR);
    std::exit(1);
  }
}

Inputs::~Inputs() = default;

//===----------------------------------------------------------------------===//
// Texts through the phases
//===----------------------------------------------------------------------===//

struct Inputs::Text {
  std::string text;
  CompileOptions options;
  /// The phase that the text is after, and the last to run.
  std::string from, to = "tile";
};

static CompileOptions makeOptions(Random &random) {
  CompileOptions options;
  options.target =
      random.percent(1) ? "sm_1" : random.pick({"cpu", "cpu", "cpu-avx2", "cpu-avx512"});
  options.onlineSoftmax = random.percent(80);
  options.analyzeMask = random.percent(80);
  options.canonicalize = random.percent(80);
  if (random.percent(20)) {
    options.rows = random.pick({0, 8, 16, 24, 64, 128, 32, 256, 17, -1, 4096, int64_t(1) << 40});
    options.keys = random.pick({0, 32, 16, 24, 64, 128, 40, 256, 1, -3, INT64_MAX});
  }
  return options;
}

/// Return the text after a phase (empty: before all); empty where it does not come there.
std::string Inputs::lowered(const std::string &text, StringRef phase, bool generic) {
  ScopedDiagnosticHandler handler(context.get(), [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, context.get());
  if (!module || (!phase.empty() && failed(runPhases(*module, CompileOptions(), {}, phase))))
    return "";
  std::string result;
  llvm::raw_string_ostream os(result);
  OpPrintingFlags flags;
  if (generic)
    flags.printGenericOpForm();
  module->print(os, flags);
  return result;
}

/// Return whether all tiles are small, so that the interpreter is fast.
static bool hasSmallTiles(ModuleOp module) {
  auto small = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || (tensor.hasStaticShape() && tensor.getNumElements() <= 1 << 14);
  };
  return !module
              .walk([&](Operation *op) {
                return llvm::all_of(op->getResultTypes(), small) ? WalkResult::advance()
                                                                 : WalkResult::interrupt();
              })
              .wasInterrupted();
}

/// Programs of tiles in the interpreter, on few elements: it may only fail with
/// an error. Returns what was wrong.
static std::string interpretTiles(ModuleOp module, Random random) {
  int errors = 0;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    return success();
  });
  if (!hasSmallTiles(module))
    return "";
  for (tile::FuncOp func : module.getOps<tile::FuncOp>()) {
    errors = 0;
    bool passed = succeeded(interpreter::check(func));
    std::vector<std::vector<std::byte>> buffers;
    std::vector<interpreter::Argument> arguments;
    for (auto [i, type] :
         llvm::enumerate(func.getArgumentTypes().take_front(func.getNumLaunchArguments()))) {
      interpreter::Argument argument;
      auto of = func.getArgAttrOfType<IntegerAttr>(i, tile::TileDialect::kMapOfAttr);
      if (isa<tile::TensorMapType>(type) && of.getInt() < static_cast<int64_t>(i)) {
        arguments.push_back(arguments[of.getInt()]);
        continue;
      }
      argument.scalar.i = random.below(3);
      auto view = dyn_cast<tile::ViewType>(type);
      int64_t elements = 1;
      for (int64_t d = view ? view.getRank() : 0; d-- > 0;) {
        argument.memory.sizes.insert(argument.memory.sizes.begin(),
                                     elements > 5000 ? 1 : random.below(40));
        argument.memory.strides.insert(argument.memory.strides.begin(), elements);
        elements *= std::max<int64_t>(1, argument.memory.sizes.front());
      }
      buffers.emplace_back(elements * sizeof(double), std::byte(random.below(256)));
      argument.memory.data = buffers.back().data();
      arguments.push_back(std::move(argument));
    }
    interpreter::Options options;
    options.seed = random.next();
    options.maxOps = 2000;
    if (passed)
      passed = succeeded(interpreter::run(func, arguments, options));
    if (passed != (errors == 0))
      return passed ? "the interpreter passed with an error" : "the interpreter failed silently";
  }
  return "";
}

Outcome Inputs::runText(Text &input) {
  Outcome outcome;
  int errors = 0;
  ScopedDiagnosticHandler handler(context.get(), [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    if (errors++ == 0)
      outcome.message = diagnostic.str();
    return success();
  });
  auto reject = [&](const char *where) {
    outcome.rejected = true;
    outcome.message = std::string(where) + ": " + outcome.message;
    if (errors == 0)
      outcome.failure = std::string("refused without an error: ") + where;
    return outcome;
  };
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(input.text, context.get());
  if (!module)
    return reject("parse");
  outcome.parsed = true;
  outcome.failure = interpretTiles(*module, Random(input.text.size()));
  if (!outcome.failure.empty())
    return outcome;
  std::string from = input.from;
  bool begun = from.empty();
  for (const Phase &phase : getPhases("cpu")) {
    if (begun) {
      if (failed(runPhases(*module, input.options, from, phase.name)))
        return reject(phase.name.data());
      from = phase.name.str();
      outcome.reachedTile |= input.from.empty() && phase.name == "tile";
      if (errors)
        outcome.failure = "an error, and still success after " + from + ": " + outcome.message;
    }
    begun |= phase.name == input.from;
    if (phase.name == input.to)
      break;
  }
  return outcome;
}

/// Make what a file may hold instead of the tensor that an entry takes.
static std::string changeRank(Checker &checker, std::vector<HostTensor> inputs, Random random) {
  auto operands = checker.getAttention()->getOperands();
  for (int64_t changes = random.between(1, 2); changes-- > 0;) {
    HostTensor &input = inputs[random.below(inputs.size())];
    std::vector<int64_t> &shape = input.shape;
    shape.resize(random.below(7), random.below(3));
  }
  bool fits = true;
  for (mlir::Value operand : operands)
    if (auto type = dyn_cast<RankedTensorType>(operand.getType()))
      fits &=
          static_cast<int64_t>(inputs[cast<BlockArgument>(operand).getArgNumber()].shape.size()) ==
          type.getRank();
  auto shapes = checker.outputShapes(inputs);
  std::string message = shapes ? "" : llvm::toString(shapes.takeError());
  if (fits != message.empty())
    return fits ? "ranks that fit are refused: " + message : "a wrong rank passes";
  return "";
}

Outcome Inputs::runOnCPU(const Program &program, int64_t index) {
  Outcome outcome;
  auto fail = [&](const char *where, llvm::Error error) {
    outcome.message = std::string(where) + ": " + llvm::toString(std::move(error));
    outcome.rejected = true;
    if (program.comparable)
      outcome.failure = "refused a right program: " + outcome.message;
    return outcome;
  };
  auto checker = Checker::create(program.text);
  if (!checker)
    return fail("checker", checker.takeError());
  auto entry = (*checker)->getAttention()->getParentOfType<func::FuncOp>();
  auto inputs = sampleInputs(entry, program.sizes, /*seed=*/index);
  if (!inputs)
    return fail("sample", inputs.takeError());
  outcome.failure = changeRank(**checker, *inputs, Random(index));
  if (!outcome.failure.empty())
    return outcome;
  fa_compile_options options = fa_compile_options_default();
  options.threads = 1 + index % 2;
  options.standard = index / 2 % 4 == 0;
  options.no_canonicalize = index / 8 % 4 == 0;
  options.no_mask_analysis = index / 32 % 4 == 0;
  auto execution = Execution::create(program.text, options);
  if (!execution)
    return fail("compile", execution.takeError());
  auto shapes = (*checker)->outputShapes(*inputs);
  if (!shapes)
    return fail("shapes", shapes.takeError());
  auto result =
      (*execution)->run(*inputs, *shapes, index % 3 ? HeadLayout::BHSD : HeadLayout::BSHD);
  if (!result)
    return fail("run", result.takeError());
  outcome.ran = true;
  auto judgements = (*checker)->judge(*inputs, result->outputs);
  if (!judgements)
    return fail("reference", judgements.takeError());
  if (!program.comparable)
    return outcome;
  outcome.compared = true;
  for (auto [judged, output] : llvm::zip(*judgements, result->outputs))
    if (outcome.failure.empty())
      outcome.failure = problemOf(judged.first, judged.second, output.dtype);
  if (!outcome.failure.empty()) {
    const AttentionSizes &n = program.sizes;
    outcome.failure += "; B, Hq, Hk, Sq, Sk";
    for (std::optional<int64_t> size :
         {n.batch, n.queryHeads, n.keyHeads, n.queryLength, n.keyLength})
      outcome.failure += " " + (size ? std::to_string(*size) : "-");
    outcome.failure += ", seed " + std::to_string(index) + ", threads " +
                       std::to_string(options.threads) + (options.standard ? ", standard" : "") +
                       (options.no_canonicalize ? ", not canonicalized" : "") +
                       (options.no_mask_analysis ? ", no mask analysis" : "") +
                       (index % 3 ? "" : ", bshd");
  }
  return outcome;
}

//===----------------------------------------------------------------------===//
// Safetensors
//===----------------------------------------------------------------------===//

Outcome Inputs::runSafetensors(Random &random,
                               const std::function<void(const std::string &)> &keep) {
  std::string header = "{";
  int64_t at = 0;
  int64_t count = random.between(0, 3);
  if (count && random.percent(30))
    header += "\"__metadata__\":{\"format\":\"pt\",\"a\\u0041\":\"\\n\"},";
  for (int64_t n = 0; n < count; ++n) {
    int64_t rows = random.below(4), columns = random.below(4);
    bool wide = random.percent(50);
    int64_t end = at + rows * columns * (wide ? 4 : 2);
    header += (n ? ",\"" : "\"") + std::string(1, char('a' + n)) + "\":{\"dtype\":\"" +
              (wide ? "F32" : "BF16") + "\",\"shape\":[" + std::to_string(rows) + "," +
              std::to_string(columns) + "],\"data_offsets\":[" + std::to_string(at) + "," +
              std::to_string(end) + "]}";
    at = end;
  }
  header += "}";
  bool changed = random.percent(80);
  if (changed && random.percent(70))
    header = mutateText(random, header);
  if (random.percent(1))
    header = std::string(100000, random.percent(50) ? '[' : '{');
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; ++i)
    bytes[i] = char(header.size() >> (8 * i));
  bytes += header + std::string(at, '\1');
  if (changed && random.percent(40))
    bytes = mutateBytes(random, bytes);
  keep(bytes);
  Outcome outcome;
  auto contents = parseSafetensors(bytes, "input");
  if (!contents) {
    outcome.rejected = true;
    outcome.message = llvm::toString(contents.takeError());
    if (outcome.message.empty() || outcome.message.find('\n') != std::string::npos)
      outcome.failure = "not a one-line error: '" + outcome.message + "'";
    if (!changed && header.size() < 100000)
      outcome.failure = "refused a right file: " + outcome.message;
    return outcome;
  }
  for (const HostTensor &tensor : contents->tensors)
    if (!tensor.isConsistent())
      outcome.failure = "tensor '" + tensor.name + "' has not the bytes of its shape";
  return outcome;
}

//===----------------------------------------------------------------------===//
// One input
//===----------------------------------------------------------------------===//

Outcome Inputs::run(int64_t index, const std::function<void(const std::string &)> &keep) {
  Random random(seed * 0x9E3779B97F4A7C15 + uint64_t(index) * 0xD1B54A32D192ED03);
  int64_t kind = random.below(100);
  Text input;
  input.options = makeOptions(random);
  if (kind < 50) { // a program as generated
    Program program = makeProgram(random);
    input.text = program.text;
    if (program.runnable && random.percent(13)) {
      keep(program.text);
      Outcome outcome = runOnCPU(program, index);
      outcome.parsed = outcome.reachedTile = outcome.ran;
      return outcome;
    }
  } else if (kind < 58) { // one, mutated
    input.text = mutateText(random, makeProgram(random).text);
  } else if (kind < 68) { // a text of the tests, mutated
    input.text = mutateText(random, random.pick(attentionSeeds));
  } else if (kind < 75) { // in generic form, to get past the custom parsers
    std::string text = random.percent(50) ? random.pick(attentionSeeds) : makeProgram(random).text;
    keep(text);
    std::string generic = lowered(text, "", /*generic=*/true);
    input.text = mutateText(random, generic.empty() ? text : generic);
  } else if (kind < 80) { // between two phases
    std::string text = makeProgram(random).text;
    keep(text);
    input.from = random.pick({"input", "algorithm"});
    input.to = "vector";
    input.text = mutateText(random, lowered(text, input.from, random.percent(30)));
  } else if (kind < 90) { // tile programs, to LLVM
    input.from = "tile";
    input.to = "llvm";
    std::string text = random.pick(tileSeeds);
    if (random.percent(50)) {
      text = makeProgram(random).text;
      keep(text);
      text = lowered(text, "tile", random.percent(30));
    }
    input.text = random.percent(85) ? mutateText(random, text) : text;
  } else if (kind < 95) {
    return runSafetensors(random, keep);
  } else {
    Outcome outcome;
    std::string trace;
    for (int launch = 0; launch < 20 && outcome.failure.empty(); ++launch) {
      keep(trace);
      Outcome one = launcher.run(random, trace);
      one.ran |= outcome.ran;
      one.compared |= outcome.compared;
      outcome = one;
    }
    keep(trace);
    return outcome;
  }
  keep(input.text);
  return runText(input);
}
