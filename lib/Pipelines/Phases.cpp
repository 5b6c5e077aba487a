//===- Phases.cpp - the phases of the compiler, by name -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Pipelines/Phases.h"
#include "CheckPhase.h"
#include "fa/Conversion/Passes.h"
#include "fa/Dialect/FA/Transforms/Passes.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Dialect/Tile/Transforms/Passes.h"
#include "fa/Dialect/Tile/Transforms/Steps/Passes.h"
#include "fa/Pipelines/CPU.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Support/Files.h"
#include "fa/Target/NVPTX/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Support/Timing.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Shared by all targets
//===----------------------------------------------------------------------===//

static void verify(OpPassManager &pm, StringRef phase) {
  FAVerifyPhaseOptions options;
  options.phase = phase.str();
  pm.addPass(createFAVerifyPhase(options));
}

static void clean(OpPassManager &pm, const CompileOptions &options) {
  if (options.canonicalize)
    pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

/// Return the passes that the options leave out.
static SmallVector<StringRef> getLeftOut(const CompileOptions &options) {
  SmallVector<StringRef> names;
  StringRef(options.leaveOut).split(names, ',', -1, false);
  return names;
}

static void populateInput(OpPassManager &pm, const CompileOptions &options) {
  verify(pm, "input");
  // Before gradients are derived, which then are those of the same functions.
  if (nvptx::getTarget(options.target))
    pm.addPass(createFARelaxFunctions());
}

static void populateGrad(OpPassManager &pm, const CompileOptions &options) {
  FAGenerateBackwardOptions backward;
  backward.only = options.backward == CompileOptions::Backward::Only;
  backward.dlse = options.dlse;
  backward.deterministic = options.deterministic;
  SmallVector<StringRef> names;
  StringRef(options.gradients).split(names, ',', -1, false);
  for (StringRef name : names)
    backward.gradients.push_back(name.str());
  pm.addPass(createFAGenerateBackward(backward));
  verify(pm, "grad");
}

/// Return what the passes that choose tiles for GPUs have in common.
template <typename PassOptions> static PassOptions tileOptions(const CompileOptions &options) {
  PassOptions choice;
  choice.target = options.target;
  choice.rows = options.rows;
  choice.keys = options.keys;
  choice.warps = options.warps;
  choice.aligned = options.aligned;
  return choice;
}

/// Adds what comes before the tiles of blocks are chosen.
static void populateBlocks(OpPassManager &pm, const CompileOptions &options) {
  const nvptx::Target *gpu = nvptx::getTarget(options.target);
  if (options.analyzeMask && options.onlineSoftmax)
    pm.addPass(createFADeriveLimits());
  if (gpu) {
    auto choice = tileOptions<GPUChooseTilesOptions>(options);
    choice.shortSequences = options.shortSequences;
    choice.sharedMemory = options.sharedMemory;
    pm.addPass(createGPUChooseTiles(choice));
  }
  FARewriteOnlineSoftmaxOptions rewrite;
  // Where registers are short, ptxas then spills sums of rows beside the widest tiles.
  rewrite.lastFactors = !gpu || gpu->spareRegisters;
  if (options.onlineSoftmax)
    pm.addPass(createFARewriteOnlineSoftmax(rewrite));
  pm.addPass(createFARewriteStandard());
  FARewritePairwiseOptions pairwise;
  // Wider ones of two gradients, dK and dV, leave no registers for the tiles of pairs, but where
  // two roles have one each, or products of a warp take weights of several from shared memory.
  pairwise.columns = gpu ? 256 : 0;
  pairwise.narrowColumns = gpu ? 512 : pairwise.columns;
  pairwise.splitGroups = options.splitGroups && gpu;
  pairwise.byKeyHeads = options.byKeyHeads && !gpu;
  if (options.fused && gpu && !options.deterministic)
    pairwise.form = PairwiseForm::fused;
  // Two warpgroups share whole panels of columns of what they add by bulk reductions.
  pairwise.sumColumns = gpu && gpu->hasBulkReductions ? 2 * tile::kPanelColumns : 0;
  pm.addPass(createFARewritePairwise(pairwise));
  if (options.analyzeMask && gpu && !llvm::is_contained(getLeftOut(options), "fa-separate-holes")) {
    FASeparateHolesOptions separate;
    separate.passesBy = gpu->hasRoles() && options.aligned;
    pm.addPass(createFASeparateHoles(separate));
  }
  if (options.analyzeMask)
    pm.addPass(createFAAnalyzeMask());
}

static void populateAlgorithm(OpPassManager &pm, const CompileOptions &options) {
  populateBlocks(pm, options);
  const nvptx::Target *gpu = nvptx::getTarget(options.target);
  bool fuses = gpu && gpu->hasRoles() && options.aligned &&
               !llvm::is_contained(getLeftOut(options), "fa-fuse-blocks");
  if (gpu) {
    auto choice = tileOptions<GPUChooseBlockTilesOptions>(options);
    choice.tiles = options.alignedTiles;
    choice.fuse = fuses;
    pm.addPass(createGPUChooseBlockTiles(choice));
  }
  FATileAttentionOptions tiling;
  tiling.rows = options.rows;
  tiling.keys = options.keys;
  pm.addPass(createFATileAttention(tiling));
  clean(pm, options);
  // No clean-up that some variants alone have: what is read is what a launch binds, for all alike.
  if (fuses)
    pm.addPass(createFAFuseBlocks());
  verify(pm, "algorithm");
}

static void populateTile(OpPassManager &pm, const CompileOptions &options) {
  pm.addPass(createConvertFAToTile());
  pm.nest<tile::FuncOp>().addPass(tile::createTileListSteps());
  clean(pm, options);
  bool gpu = nvptx::getTarget(options.target) != nullptr;
  auto isLeftOut = [&](StringRef name) { return llvm::is_contained(getLeftOut(options), name); };
  if (gpu && !isLeftOut("tile-align-blocks"))
    pm.nest<tile::FuncOp>().addPass(tile::createTileAlignBlocks());
  // The blocks of short sequences run all at once.
  if (gpu && !options.shortSequences && !isLeftOut("tile-sort-grid"))
    pm.addPass(tile::createTileSortGrid());
  verify(pm, "tile");
}

static const Phase kInput{"input", "entries of one fa.attention each, verified", populateInput};
static const Phase kGrad{
    "grad", "entries of gradients stand beside those of fa.attention, or alone", populateGrad};
static const Phase kAlgorithm{"algorithm", "the recurrence over keys is explicit, tiles are chosen",
                              populateAlgorithm};
static const Phase kTile{"tile", "one tile program per kernel: pure values, no layouts",
                         populateTile};

//===----------------------------------------------------------------------===//
// CPU
//===----------------------------------------------------------------------===//

static const Phase kLinalg{
    "linalg", "linalg on tensors, elementwise chains fused",
    [](OpPassManager &pm, const CompileOptions &) { cpu::populateLinalgPipeline(pm); }};
static const Phase kVector{"vector", "vectors of rank 1 over one scratch buffer, no math function",
                           [](OpPassManager &pm, const CompileOptions &options) {
                             cpu::populateVectorPipeline(pm, cpu::describeTarget(options.target));
                           }};
static const Phase kLLVM{
    "llvm", "the LLVM dialect: an entry per kernel that runs a range of work tiles",
    [](OpPassManager &pm, const CompileOptions &options) {
      cpu::populateLLVMPipeline(pm, cpu::describeTarget(options.target), options.canonicalize);
    }};

//===----------------------------------------------------------------------===//
// GPU
//===----------------------------------------------------------------------===//

static const Phase kSchedule{"schedule", "layouts, rings, roles and barriers are explicit",
                             [](OpPassManager &pm, const CompileOptions &options) {
                               nvptx::ScheduleOptions schedule;
                               schedule.aligned = options.aligned;
                               schedule.alignedTiles = options.alignedTiles;
                               schedule.stages = options.stages;
                               schedule.order = options.order;
                               SmallVector<StringRef> names = getLeftOut(options);
                               schedule.leaveOut.assign(names.begin(), names.end());
                               nvptx::populateSchedulePipeline(
                                   pm, *nvptx::getTarget(options.target), schedule);
                             }};
static const Phase kNVVM{"nvvm", "a gpu.module of the LLVM and NVVM dialects, no math function",
                         [](OpPassManager &pm, const CompileOptions &options) {
                           nvptx::populateNVVMPipeline(pm, *nvptx::getTarget(options.target),
                                                       options.canonicalize, getLeftOut(options));
                         }};

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

ArrayRef<StringRef> fa::getTargets() {
  static const std::vector<StringRef> targets = [] {
    std::vector<StringRef> names = {"cpu", "cpu-avx2", "cpu-avx512"};
    for (const nvptx::Target &target : nvptx::getTargets())
      names.push_back(target.name);
    return names;
  }();
  return targets;
}

std::string fa::describeUnknownTarget(StringRef target) {
  std::string text = "unknown target '" + target.str() + "': expected one of ";
  text += llvm::join(getTargets(), ", ");
  if (target.starts_with("sm_"))
    text += "; GPUs run the code of the nearest one below theirs, from sm_80";
  return text;
}

ArrayRef<Phase> fa::getPhases(StringRef target, bool backward) {
  static const Phase cpu[] = {kInput, kAlgorithm, kTile, kLinalg, kVector, kLLVM};
  static const Phase gpu[] = {kInput, kAlgorithm, kTile, kSchedule, kNVVM};
  static const Phase cpuGrad[] = {kInput, kGrad, kAlgorithm, kTile, kLinalg, kVector, kLLVM};
  static const Phase gpuGrad[] = {kInput, kGrad, kAlgorithm, kTile, kSchedule, kNVVM};
  if (nvptx::getTarget(target))
    return backward ? ArrayRef<Phase>(gpuGrad) : ArrayRef<Phase>(gpu);
  if (!llvm::is_contained(getTargets(), target))
    return {};
  return backward ? ArrayRef<Phase>(cpuGrad) : ArrayRef<Phase>(cpu);
}

/// Return the phases that the options ask for; what begins after phase grad has that one, too.
static ArrayRef<Phase> phasesOf(const CompileOptions &options, StringRef from = {}) {
  return getPhases(options.target,
                   options.backward != CompileOptions::Backward::None || from == kGrad.name);
}

//===----------------------------------------------------------------------===//
// Running them
//===----------------------------------------------------------------------===//

/// Return the index of a named phase, -1 with an error where there is none.
static int findPhase(ModuleOp module, ArrayRef<Phase> phases, StringRef name) {
  for (auto [i, phase] : llvm::enumerate(phases))
    if (phase.name == name)
      return i;
  if (name == kGrad.name) {
    module.emitError("phase grad is that of gradients, which are not asked for; add --backward");
    return -1;
  }
  InFlightDiagnostic error = module.emitError() << "unknown phase '" << name << "': expected ";
  llvm::interleaveComma(phases, error, [&](const Phase &phase) { error << phase.name; });
  return -1;
}

/// Check that the gradients to compute are names with commas between.
static LogicalResult checkGradients(ModuleOp module, const CompileOptions &options) {
  SmallVector<StringRef> names;
  StringRef(options.gradients).split(names, ',');
  if (options.gradients.empty() || !llvm::is_contained(names, ""))
    return success();
  return module.emitError() << "the gradients '" << options.gradients
                            << "' have an empty name: expected names of inputs with one comma "
                               "between, such as 'q,k'";
}

static LogicalResult dump(ModuleOp module, StringRef folder, int number, StringRef phase) {
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return module.emitError() << "cannot make folder '" << folder << "': " << code.message();
  SmallString<128> path(folder);
  llvm::sys::path::append(path, std::to_string(number) + "-" + phase.str() + ".mlir");
  llvm::Error failed = writeFile(path, [&](raw_ostream &os) -> llvm::Error {
    module.print(os);
    return llvm::Error::success();
  });
  if (failed)
    return module.emitError() << llvm::toString(std::move(failed));
  return success();
}

LogicalResult fa::runPhases(ModuleOp module, const CompileOptions &options, StringRef from,
                            StringRef to, StringRef dumpFolder) {
  ArrayRef<Phase> phases = phasesOf(options, from);
  if (phases.empty())
    return module.emitError() << describeUnknownTarget(options.target);
  if (failed(checkGradients(module, options)))
    return failure();
  SmallVector<StringRef> leftOut = getLeftOut(options), optional;
  if (const nvptx::Target *gpu = nvptx::getTarget(options.target); gpu && !leftOut.empty())
    optional = nvptx::getOptionalPasses(*gpu);
  for (StringRef name : leftOut)
    if (!llvm::is_contained(optional, name)) {
      InFlightDiagnostic error = module.emitError()
                                 << "pass '" << name << "' cannot be left out for target "
                                 << options.target << ": expected ";
      if (optional.empty())
        return error << "none, for it is no GPU";
      error << "one of ";
      llvm::interleaveComma(optional, error);
      return error;
    }
  int first = 0, last = phases.size() - 1;
  if (!from.empty() && (first = findPhase(module, phases, from) + 1) == 0)
    return failure();
  if (!to.empty() && (last = findPhase(module, phases, to)) < 0)
    return failure();
  if (first > last + 1)
    return module.emitError() << "phase " << to << " comes before phase " << from
                              << ", nothing to compile";
  // What the input claims to be, it must be.
  if (first > 0 && failed(checkPhase(module, options.target, phases[first - 1])))
    return failure();
  if (llvm::is_contained({"input", "grad", "algorithm", "tile"},
                         first ? phases[first - 1].name : "")) {
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    ::verify(pm, phases[first - 1].name);
    if (failed(pm.run(module)))
      return failure();
  }
  // Time all phases in one table, with --mlir-timing.
  DefaultTimingManager timing;
  applyDefaultTimingManagerCLOptions(timing);
  TimingScope whole = timing.getRootScope();
  for (int i = first; i <= last; ++i) {
    TimingScope scope = whole.nest("phase " + phases[i].name.str());
    PassManager pm(module.getContext(), ModuleOp::getOperationName());
    (void)applyPassManagerCLOptions(pm);
    pm.enableTiming(scope);
    // The IR is largest here, and verifying it after each pass took a sixth of a compilation.
    bool once = phases[i].name == kNVVM.name || phases[i].name == kLLVM.name;
    pm.enableVerifier(!once);
    phases[i].populate(pm, options);
    if (failed(pm.run(module)) || (once && failed(mlir::verify(module))))
      return failure();
    if (!dumpFolder.empty() && failed(dump(module, dumpFolder, i, phases[i].name)))
      return failure();
  }
  return success();
}

bool fa::gainsByFusing(ModuleOp module, const CompileOptions &options) {
  CompileOptions fused = options;
  fused.backward = CompileOptions::Backward::Only;
  fused.fused = true;
  MLIRContext *context = module.getContext();
  // What is wrong is said when the program is compiled.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  OwningOpRef<ModuleOp> copy = module.clone();
  PassManager pm(context, ModuleOp::getOperationName());
  pm.enableVerifier(false);
  populateInput(pm, fused);
  populateGrad(pm, fused);
  populateBlocks(pm, fused);
  return succeeded(pm.run(*copy)) && nvptx::gainsByAdding(*copy, options.target);
}

void fa::printPhases(raw_ostream &os, const CompileOptions &options, MLIRContext *context) {
  for (const Phase &phase : phasesOf(options)) {
    os << phase.name << ": " << phase.contract << "\n";
    PassManager pm(context, ModuleOp::getOperationName());
    phase.populate(pm, options);
    for (Pass &pass : pm) {
      os << "  ";
      pass.printAsTextualPipeline(os);
      os << "\n";
    }
  }
}
