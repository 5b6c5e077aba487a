//===- CompileCUDA.cpp - from a module to code for GPUs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CompileCUDA.h"
#include "Background.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Support/ModuleText.h"
#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include <condition_variable>

using namespace mlir;
using namespace mlir::fa;

// PTX 8.3 came with CUDA 12.3.
int64_t cuda::getMinimumDriver(const nvptx::Target &target) {
  int64_t ptx = 0;
  StringRef features = target.features;
  if (!features.consume_front("+ptx") || features.consumeInteger(10, ptx))
    return 0;
  return (ptx / 10 + 4) * 1000 + ptx % 10 * 10;
}

const nvptx::Target *cuda::chooseTarget(int major, int minor, int driverVersion) {
  const nvptx::Target *best = nullptr;
  // Later ones have more instructions.
  for (const nvptx::Target &target : nvptx::getTargets())
    if (target.runsOn(major, minor) && getMinimumDriver(target) <= driverVersion)
      best = &target;
  return best;
}

/// Return the phase that the module is at: programs on tiles are compiled as they are.
static StringRef phaseOf(ModuleOp module) {
  return module.getOps<tile::FuncOp>().empty() ? "" : "tile";
}

namespace {

/// One way to run every entry of a module.
struct Variant {
  std::vector<Manifest> entries;
  Code code;
};

} // namespace

/// Return what launches must know of a variant, left at phase schedule: there threads and
/// shared memory are known, and kernels are still tile.funcs.
static FailureOr<std::vector<Manifest>> scheduleVariant(ModuleOp module,
                                                        const CompileOptions &options) {
  if (failed(runPhases(module, options, phaseOf(module), "schedule")))
    return failure();
  return readManifests(module);
}

static FailureOr<std::string> finishVariant(ModuleOp module, const nvptx::Target &target,
                                            const CompileOptions &options) {
  if (failed(runPhases(module, options, "schedule")))
    return failure();
  return nvptx::translateToPTX(module, target);
}

/// Compile a variant, where `isWanted` once it is scheduled; the module is consumed.
static FailureOr<Variant> compileVariant(
    ModuleOp module, const nvptx::Target &target, const CompileOptions &options,
    function_ref<bool(ModuleOp)> isWanted = [](ModuleOp) { return true; }) {
  FailureOr<std::vector<Manifest>> entries = scheduleVariant(module, options);
  if (failed(entries) || !isWanted(module))
    return failure();
  FailureOr<std::string> ptx = finishVariant(module, target, options);
  if (failed(ptx))
    return failure();
  auto getCode = [ptx = std::move(*ptx)]() -> llvm::Expected<std::string> { return ptx; };
  return Variant{std::move(*entries), std::move(getCode)};
}

/// Leave out the pass that gives loops of products a prologue and an epilogue: less code, of which
/// ptxas takes two thirds of the time, and the same arithmetic in the same order.
static constexpr llvm::StringLiteral kNotInFirstTier = "tile-pipeline";

/// Return whether programs may have a first tier: of other loops the pass changes little.
static bool mayHaveFirstTier(const nvptx::Target &target, const CompileOptions &options) {
  return target.asyncProducts && options.aligned && options.leaveOut.empty();
}

/// Compile the first tier of a variant, where it starts products; the module is consumed.
static FailureOr<Variant> compileFirstTier(ModuleOp module, const nvptx::Target &target,
                                           CompileOptions options) {
  options.leaveOut = kNotInFirstTier.str();
  // What is wrong with the program is told of the variant.
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  auto hasProducts = [](ModuleOp scheduled) {
    return scheduled.walk([](tile::DotStartOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  };
  return compileVariant(module, target, options, hasProducts);
}

/// Return the first tier of what an image of a program holds. None where it would have workspaces
/// of its own: how many bytes a launch needs must not depend on when it is.
static std::optional<FirstTier> makeFirstTier(const cuda::Program &program, Variant variant,
                                              unsigned image) {
  if (program.manifest.entries.size() != 1 || variant.entries.size() != 1)
    return std::nullopt;
  Manifest both = program.manifest.entries.front();
  const size_t count = both.arguments.size();
  if (llvm::Error error = both.addVariant(std::move(variant.entries.front()), image)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  if (both.arguments.size() != count)
    return std::nullopt;
  return FirstTier{std::move(both.variants.back()), std::move(variant.code)};
}

namespace {

/// A variant that is compiled on a thread of its own, in a context of its own. What is
/// wrong before its PTX is made is not told: who wants to know compiles it again.
class Beside {
public:
  Beside(ModuleOp module, const nvptx::Target &target, const CompileOptions &options) {
    module.getContext()->getDialectRegistry().appendTo(registry);
    llvm::raw_string_ostream(text) << module;
    task.emplace([this, &target, options] { work(target, options); });
  }

  /// Waits until phase schedule only.
  static FailureOr<Variant> take(const std::shared_ptr<Beside> &beside) {
    {
      std::unique_lock<std::mutex> lock(beside->mutex);
      beside->changed.wait(lock, [&] { return beside->scheduled; });
    }
    if (failed(beside->entries))
      return failure();
    auto getCode = [beside]() -> llvm::Expected<std::string> {
      if (!beside->task->wait())
        return llvm::createStringError(
            "the process was forked while the program was compiled; compile in the child");
      if (!beside->problem.empty())
        return llvm::createStringError(beside->problem);
      return beside->ptx;
    };
    return Variant{std::move(*beside->entries), std::move(getCode)};
  }

private:
  void work(const nvptx::Target &target, const CompileOptions &options) {
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    context.printOpOnDiagnostic(false);
    ErrorCollector errors(&context);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, &context);
    FailureOr<std::vector<Manifest>> made = failure();
    if (module)
      made = scheduleVariant(*module, options);
    bool good = succeeded(made);
    {
      std::lock_guard<std::mutex> lock(mutex);
      entries = std::move(made);
      scheduled = true;
    }
    changed.notify_all();
    if (!good)
      return;
    FailureOr<std::string> code = finishVariant(*module, target, options);
    if (succeeded(code))
      ptx = std::move(*code);
    else
      problem = errors.messages("the program could not be compiled");
  }

  std::string text;
  DialectRegistry registry;
  /// Guard the two below.
  std::mutex mutex;
  std::condition_variable changed;
  bool scheduled = false;
  FailureOr<std::vector<Manifest>> entries = failure();
  /// There when the task is done.
  std::string ptx, problem;
  std::optional<Background> task;
};

} // namespace

/// Adds a further way to run the program's entries.
static LogicalResult addVariant(cuda::Program &program, ModuleOp module, Variant variant) {
  unsigned image = program.images.size();
  program.manifest.images.push_back("ptx");
  program.images.push_back(std::move(variant.code));
  if (image == 0) {
    program.manifest.entries = std::move(variant.entries);
    return success();
  }
  std::vector<Manifest> &entries = program.manifest.entries;
  for (Manifest &added : variant.entries) {
    auto known = llvm::find_if(
        entries, [&](const Manifest &manifest) { return manifest.entry == added.entry; });
    if (known == entries.end()) {
      added.variants.front().image = image;
      entries.push_back(std::move(added));
    } else if (llvm::Error error = known->addVariant(std::move(added), image)) {
      return module.emitError() << llvm::toString(std::move(error));
    }
  }
  return success();
}

/// Return whether the compiler chooses the tiles.
static bool choosesTiles(ModuleOp module, const CompileOptions &options) {
  return options.onlineSoftmax && options.aligned && phaseOf(module).empty() && options.rows == 0 &&
         options.keys == 0 && options.warps == 0;
}

/// Return whether any attention of the module is so.
static bool anyAttention(ModuleOp module, function_ref<bool(AttentionOp)> isSo) {
  return module
      .walk([&](AttentionOp op) {
        return isSo(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// Return whether launches know the number of sequences where queries of all are in a row: starts
/// may have names of their own.
static bool knowsSequences(ModuleOp module) {
  return !anyAttention(module, [](AttentionOp op) {
    auto starts = dyn_cast_or_null<BlockArgument>(op.getQueryStarts());
    auto entry = op->getParentOfType<FunctionOpInterface>();
    if (!starts || !entry)
      return false;
    auto dims = entry.getArgAttrOfType<ArrayAttr>(starts.getArgNumber(), FADialect::kDimsAttr);
    return dims && !llvm::is_contained(dims.getAsValueRange<StringAttr>(), "B+1");
  });
}

int64_t cuda::getShortSequence(ModuleOp module, const CompileOptions &options) {
  // The gradients have no tiles of their own for short sequences.
  bool forward = options.backward != CompileOptions::Backward::Only;
  return forward && choosesTiles(module, options) && knowsSequences(module)
             ? nvptx::getShortSequence(module, options.target)
             : 0;
}

/// Return whether an attention of the module has queries of all sequences in a row.
static bool hasQueryStarts(ModuleOp module) {
  return anyAttention(module, [](AttentionOp op) { return !!op.getQueryStarts(); });
}

std::string cuda::describeShortVariant(ModuleOp module, int64_t most) {
  return std::to_string(most) + " queries" +
         (hasQueryStarts(module) ? " a sequence in the mean" : "");
}

/// Return whether there are gradients for which several query heads may read a head of keys.
static bool hasGroups(ModuleOp module, const CompileOptions &options) {
  if (options.backward == CompileOptions::Backward::None || !choosesTiles(module, options))
    return false;
  auto heads = [](Value tensor) { return cast<RankedTensorType>(tensor.getType()).getDimSize(1); };
  return anyAttention(module, [&](AttentionOp op) {
    int64_t hq = heads(op.getQuery());
    return !op.hasSequences() && (hq != heads(op.getKey()) || ShapedType::isDynamic(hq));
  });
}

namespace {

// So few blocks of keys that a device would have none for some of its SMs, or a last round that
// takes long. 237 is nine tenths of twice an H200's SMs: of 256 blocks, eight query heads a key
// head, the fused form has 572 / 520 TFLOP/s, parts of groups 483 / 459.
constexpr int64_t kFewBlocks = 237;

// The most queries, and keys, of which gradients are not fused. On an H200, TFLOP/s split -> fused,
// full / causal, of heads of 64: 413 -> 396 / 313 -> 282 at 1024, 425 -> 463 / 367 -> 368 at 2048;
// of 128: 429 -> 454 / 329 -> 317 and 455 -> 508 / 402 -> 420; above, fused is further ahead. All
// of these have many blocks of keys; fewer were not measured.
constexpr int64_t kSplitLength = 1536;

// The most queries and keys in the mean of sequences in a row, of which gradients are not fused.
// Causal, 16,384 tokens in all on an H200, TFLOP/s split -> fused, of heads of 128 / 64: 235 -> 221
// / 203 -> 193 of 512 each, 285 -> 290 / 240 -> 237 of 819, 344 -> 364 / 290 -> 314 of 1365.
constexpr int64_t kSplitMean = 1024;

} // namespace

/// Return how many keys a block of gradients has for most scores: beside sums of dK and dV of more
/// than 256 columns a block's registers hold no more than 64.
static int64_t getKeysOfBlock(ModuleOp module) {
  auto isWide = [](AttentionOp op) { return op.getHeadDim() + op.getValueHeadDim() > 256; };
  return anyAttention(module, isWide) ? 64 : 128;
}

/// Return whether queries and keys of all sequences are in a row.
static bool areInRow(AttentionOp op) { return op.getQueryStarts() && op.getKeyStarts(); }

/// Return whether launches may have so many queries and keys that gradients are fused.
static bool mayBeLong(ModuleOp module) {
  auto isLong = [](AttentionOp op, Value tensor) {
    auto type = cast<RankedTensorType>(tensor.getType());
    int64_t size = type.getDimSize(type.getRank() - 2),
            most = areInRow(op) ? kSplitMean : kSplitLength;
    return ShapedType::isDynamic(size) || size > most;
  };
  return anyAttention(module, [&](AttentionOp op) {
    // What lengths leave of what starts give is not known.
    bool isKnown =
        !op.hasSequences() || (areInRow(op) && !op.getQueryLengths() && !op.getKeyLengths());
    return isKnown && isLong(op, op.getQuery()) && isLong(op, op.getKey());
  });
}

/// Return whether a program of gradients is fused for long sequences.
static bool hasFusedVariant(ModuleOp module, const CompileOptions &options) {
  return options.backward != CompileOptions::Backward::None && !options.fused &&
         !options.deterministic && choosesTiles(module, options) && mayBeLong(module) &&
         knowsSequences(module) && gainsByFusing(module, options);
}

std::vector<cuda::GradientVariant> cuda::getGradientVariants(ModuleOp module,
                                                             const CompileOptions &options) {
  using Kind = GradientVariant::Kind;
  std::vector<GradientVariant> variants;
  if (hasGroups(module, options)) {
    variants.push_back({Kind::splitGroups, "split-groups", options});
    variants.back().options.splitGroups = true;
  }
  if (hasFusedVariant(module, options)) {
    variants.push_back({Kind::fused, "fused", options});
    variants.back().options.fused = true;
    variants.back().ofSequences = hasQueryStarts(module);
  }
  int64_t keysOfBlock = getKeysOfBlock(module);
  for (GradientVariant &variant : variants) {
    variant.options.backward = CompileOptions::Backward::Only;
    variant.keysOfBlock = keysOfBlock;
  }
  return variants;
}

std::string cuda::GradientVariant::describe() const {
  std::string blocks =
      std::to_string(kFewBlocks) + " blocks of " + std::to_string(keysOfBlock) + " keys";
  if (kind == Kind::splitGroups)
    return "several query heads to a key head, no more keys than queries, in at most " + blocks;
  std::string length = std::to_string(ofSequences ? kSplitMean : kSplitLength);
  return "more than " + length + " queries and keys" +
         (ofSequences ? " a sequence in the mean" : "") + ", and than " + blocks;
}

/// Finds a size by its name; none where no size has it.
using SizeNamedFn = function_ref<std::optional<SizeExpr>(StringRef name)>;

/// Return a size of a launch by its name.
static std::optional<SizeExpr> sizeNamed(const Manifest &entry, StringRef name) {
  for (auto [i, argument] : llvm::enumerate(entry.arguments))
    for (auto [d, dim] : llvm::enumerate(argument.dims))
      if (dim == name)
        return SizeExpr::size(i, d);
  return std::nullopt;
}

/// Return the bound of sequences in a row, of so many tokens and starts, that have at most so many
/// in the mean.
static std::pair<SizeExpr, int64_t> boundMean(SizeExpr tokens, SizeExpr starts, int64_t most) {
  // tokens <= most * B, where less starts than B + 1 would be full.
  SizeExpr full = SizeExpr::binary(SizeExpr::CeilDiv, std::move(tokens), SizeExpr::constant(most));
  return {SizeExpr::binary(SizeExpr::FloorDiv, std::move(full), std::move(starts)), 0};
}

/// Bound the first variant of an entry to sequences of at most so many queries. Of sequences in a
/// row a launch knows the number and all queries, so that the mean has to serve.
static void boundQueries(Manifest &entry, int64_t most) {
  ManifestVariant &variant = entry.variants.front();
  auto tokens = sizeNamed(entry, "Tq"), starts = sizeNamed(entry, "B+1");
  if (!tokens) {
    variant.limits.push_back({"Sq", most});
    return;
  }
  if (!starts) {
    variant.bounds.push_back({SizeExpr::constant(1), 0});
    return;
  }
  variant.bounds.push_back(boundMean(*tokens, *starts, most));
}

bool cuda::takesShortVariant(ModuleOp module, int64_t most, int64_t batches, int64_t queries) {
  if (!hasQueryStarts(module))
    return queries <= most;
  ManifestVariant variant;
  variant.bounds.push_back(
      boundMean(SizeExpr::constant(queries), SizeExpr::constant(batches + 1), most));
  return variant.isWithinBounds({});
}

/// Bound a variant to the sizes of launches that take it: where heads of keys, read by several
/// query heads, have few blocks, since the rest of the work is more and passes through memory; or
/// where gradients are fused.
static void bound(const cuda::GradientVariant &gradient, ManifestVariant &variant,
                  SizeNamedFn named) {
  auto &bounds = variant.bounds;
  bool inRow = gradient.ofSequences;
  auto b = named(inRow ? "B+1" : "B"), hq = named("Hq"), hk = named("Hk"),
       queries = named(inRow ? "Tq" : "Sq"), keys = named(inRow ? "Tk" : "Sk");
  if (!b || !hq || !hk || !queries || !keys) {
    bounds.push_back({SizeExpr::constant(1), 0});
    return;
  }
  auto times = [](const SizeExpr &x, const SizeExpr &y) {
    return SizeExpr::binary(SizeExpr::Mul, x, y);
  };
  SizeExpr blocks = times(
      *hk, SizeExpr::binary(SizeExpr::CeilDiv, *keys, SizeExpr::constant(gradient.keysOfBlock)));
  if (!inRow)
    blocks = times(*b, blocks);
  if (gradient.kind == cuda::GradientVariant::Kind::splitGroups) {
    bounds.push_back({blocks, kFewBlocks});
    // 1 where each query head has one of its own.
    bounds.push_back({SizeExpr::binary(SizeExpr::FloorDiv, *hk, *hq), 0});
    // More where parts of dK, each as large as K with a head for each of Q, exceed dQ.
    bounds.push_back({SizeExpr::binary(SizeExpr::CeilDiv, *keys, *queries), 1});
    return;
  }
  // 0 where there are more; of no size there is no quotient, and the bound does not hold.
  auto more = [&](const SizeExpr &size, const SizeExpr &than) {
    bounds.push_back({SizeExpr::binary(SizeExpr::FloorDiv, than, size), 0});
  };
  for (const SizeExpr &size : {*queries, *keys})
    if (!inRow)
      more(size, SizeExpr::constant(kSplitLength));
    else // More than the mean times B: 1 more of it, rounded up, than the B + 1 of starts.
      more(SizeExpr::binary(
               SizeExpr::Add,
               SizeExpr::binary(SizeExpr::CeilDiv, size, SizeExpr::constant(kSplitMean)),
               SizeExpr::constant(1)),
           *b);
  more(blocks, SizeExpr::constant(kFewBlocks));
}

bool cuda::GradientVariant::takes(function_ref<int64_t(StringRef name)> size) const {
  ManifestVariant variant;
  bound(*this, variant, [&](StringRef name) { return SizeExpr::constant(size(name)); });
  return variant.isWithinBounds({});
}

/// Return whether a mask or a score reads a tile of a tensor.
static bool readsTiles(ModuleOp module) {
  auto reads = [](Region &region, unsigned row) {
    return region
        .walk([&](tensor::ExtractOp op) {
          return nvptx::readsTile(op, region.getArgument(row), region.getArgument(row + 1))
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  };
  // b and h come before, and before these what is scored.
  constexpr unsigned kRow = 2;
  return anyAttention(module, [&](AttentionOp op) {
    return reads(op.getMask(), kRow) || reads(op.getScore(), kRow + 1);
  });
}

CompileOptions cuda::withoutAlignment(const CompileOptions &options, bool ofTiles) {
  CompileOptions unaligned = options;
  unaligned.alignedTiles = false;
  if (ofTiles)
    return unaligned;
  unaligned.aligned = false;
  if (options.alignedOnly) {
    unaligned.rows = unaligned.keys = unaligned.warps = unaligned.stages = unaligned.order = 0;
    unaligned.leaveOut.clear();
  }
  return unaligned;
}

CompileOptions cuda::withoutAlignment(const CompileOptions &options, const Manifest &entry,
                                      ArrayRef<unsigned> misaligned) {
  // Operands of products have rows of a known length.
  bool ofTiles = options.alignedTiles && llvm::all_of(misaligned, [&](unsigned i) {
                   ArrayRef<int64_t> shape = entry.arguments[i].shape;
                   return !shape.empty() && ShapedType::isDynamic(shape.back());
                 });
  return withoutAlignment(options, ofTiles);
}

FailureOr<cuda::Program> cuda::compile(ModuleOp module, const CompileOptions &options,
                                       bool parallel) {
  const nvptx::Target *target = nvptx::getTarget(options.target);
  if (!target)
    return module.emitError() << "target '" << options.target << "' is no GPU";
  // Short sequences, few blocks of keys and long sequences first: the others serve all sizes. Those
  // of tensors that are not aligned last.
  int64_t most = getShortSequence(module, options);
  CompileOptions brief = options, unaligned = withoutAlignment(options),
                 apart = withoutAlignment(options, /*ofTiles=*/true);
  bool tiles = target->hasRoles() && options.aligned && options.alignedTiles && readsTiles(module);
  brief.shortSequences = true;
  std::vector<GradientVariant> gradients = getGradientVariants(module, options);
  if (options.backward == CompileOptions::Backward::Beside)
    brief.backward = CompileOptions::Backward::None;
  OwningOpRef<ModuleOp> again = module.clone();
  std::shared_ptr<Beside> mainBeside, briefBeside, apartBeside, unalignedBeside;
  SmallVector<std::shared_ptr<Beside>> gradientsBeside(gradients.size());
  if (parallel && mayHaveFirstTier(*target, options))
    mainBeside = std::make_shared<Beside>(module, *target, options);
  if (parallel && most)
    briefBeside = std::make_shared<Beside>(module, *target, brief);
  for (auto [variant, beside] : llvm::zip_equal(gradients, gradientsBeside))
    if (parallel)
      beside = std::make_shared<Beside>(module, *target, variant.options);
  if (parallel && tiles)
    apartBeside = std::make_shared<Beside>(module, *target, apart);
  if (parallel)
    unalignedBeside = std::make_shared<Beside>(module, *target, unaligned);
  auto finish = [&](const std::shared_ptr<Beside> &beside, const CompileOptions &options) {
    FailureOr<Variant> variant = failure();
    if (beside)
      variant = Beside::take(beside);
    if (succeeded(variant))
      return variant;
    OwningOpRef<ModuleOp> copy = again->clone();
    return compileVariant(*copy, *target, options);
  };

  FailureOr<Variant> first = failure();
  if (mainBeside)
    first = compileFirstTier(module, *target, options);
  FailureOr<Variant> main =
      mainBeside ? finish(mainBeside, options) : compileVariant(module, *target, options);
  if (failed(main))
    return failure();
  // What the variant takes for granted need not hold.
  bool guarded = llvm::any_of(main->entries, [](const Manifest &entry) {
    const ManifestVariant &variant = entry.variants.front();
    return !variant.guards.empty() || variant.countTensorMaps() > 0;
  });
  Program program;
  program.manifest.target = options.target;
  program.manifest.minimumDriver = getMinimumDriver(*target);
  if (most) {
    FailureOr<Variant> variant = finish(briefBeside, brief);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
    for (Manifest &entry : program.manifest.entries)
      boundQueries(entry, most);
  }
  for (auto [gradient, beside] : llvm::zip_equal(gradients, gradientsBeside)) {
    FailureOr<Variant> variant = finish(beside, gradient.options);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
    for (Manifest &entry : program.manifest.entries)
      if (entry.variants.back().image + 1 == program.images.size())
        bound(gradient, entry.variants.back(),
              [&](StringRef name) { return sizeNamed(entry, name); });
  }
  std::vector<std::string> order;
  for (const Manifest &entry : main->entries)
    order.push_back(entry.entry);
  const unsigned ofMain = program.images.size();
  if (failed(addVariant(program, *again, std::move(*main))))
    return failure();
  if (succeeded(first))
    program.first = makeFirstTier(program, std::move(*first), ofMain);
  llvm::sort(program.manifest.entries, [&](const Manifest &a, const Manifest &b) {
    return llvm::find(order, a.entry) < llvm::find(order, b.entry);
  });
  if (tiles) {
    FailureOr<Variant> variant = finish(apartBeside, apart);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
  }
  if (guarded) {
    FailureOr<Variant> variant = finish(unalignedBeside, unaligned);
    if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
      return failure();
  }
  // Where that needs more than some devices have, smaller tiles for those: others never
  // come as far as here.
  bool large = llvm::any_of(program.manifest.entries, [&](const Manifest &entry) {
    return llvm::any_of(entry.variants, [&](const ManifestVariant &variant) {
      return llvm::any_of(variant.kernels, [&](const ManifestKernel &kernel) {
        return kernel.sharedBytes > target->sharedAnywhere;
      });
    });
  });
  if (large && choosesTiles(*again, options)) {
    for (CompileOptions small : {options, unaligned}) {
      if (!small.aligned && !guarded)
        continue;
      small.sharedMemory = target->sharedAnywhere;
      OwningOpRef<ModuleOp> copy = again->clone();
      FailureOr<Variant> variant = compileVariant(*copy, *target, small);
      if (failed(variant) || failed(addVariant(program, *again, std::move(*variant))))
        return failure();
    }
  }
  return program;
}

llvm::Expected<std::vector<std::string>> cuda::getAll(ArrayRef<Code> images) {
  std::vector<std::string> codes;
  for (const Code &image : images) {
    llvm::Expected<std::string> code = image();
    if (!code)
      return code.takeError();
    codes.push_back(std::move(*code));
  }
  return codes;
}
