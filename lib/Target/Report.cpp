//===- Report.cpp - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Report.h"
#include "ReportFacts.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Manifest.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

FailureOr<Problem> fa::parseProblem(ModuleOp module, StringRef text) {
  static const char *const names[] = {"B", "Hq", "Hk", "Sq", "Sk"};
  SmallVector<StringRef> parts;
  text.split(parts, ',');
  Problem problem;
  for (auto [i, part] : llvm::enumerate(parts)) {
    int64_t value;
    if (i >= 5 || part.trim().getAsInteger(10, value) || value < 0)
      return module.emitError() << "--shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '" << text
                                << "'";
    problem.sizes[names[i]] = value;
  }
  if (parts.size() != 5)
    return module.emitError() << "--shape takes B,Hq,Hk,Sq,Sk, five sizes >= 0, got '" << text
                              << "'";
  return problem;
}

std::optional<int64_t> fa::sizeAt(const Problem &problem, StringRef name) {
  bool more = name.consume_back("+1");
  name = name == "Tq" ? "Sq" : name == "Tk" ? "Sk" : name;
  auto known = problem.sizes.find(name);
  if (known == problem.sizes.end())
    return std::nullopt;
  return known->second + more;
}

static llvm::Expected<LaunchShapes> tryShapesAt(const Manifest &manifest, const Problem &problem) {
  LaunchShapes shapes(manifest.arguments.size());
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (!argument.isBound())
      continue;
    for (auto [d, size] : llvm::enumerate(argument.shape)) {
      int64_t value = size;
      auto known = d < argument.dims.size() ? sizeAt(problem, argument.dims[d]) : std::nullopt;
      if (known)
        value = *known;
      else if (ShapedType::isDynamic(size))
        value = 1;
      shapes[i].push_back(value);
    }
  }
  if (llvm::Error error = manifest.resolve(shapes))
    return error;
  return shapes;
}

FailureOr<LaunchShapes> fa::shapesAt(ModuleOp module, const Manifest &manifest,
                                     const Problem &problem) {
  llvm::Expected<LaunchShapes> shapes = tryShapesAt(manifest, problem);
  if (!shapes)
    return module.emitError() << llvm::toString(shapes.takeError());
  return std::move(*shapes);
}

/// Return the bytes of every argument, 0 for scalars, and at the end of all of them.
static llvm::Expected<std::vector<int64_t>> bytesAt(const Manifest &manifest,
                                                    const LaunchShapes &shapes) {
  std::vector<int64_t> all;
  int64_t total = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    all.push_back(0);
    if (argument.isNumber())
      continue;
    llvm::Expected<int64_t> bytes = manifest.bytes(i, shapes[i]);
    if (!bytes)
      return bytes.takeError();
    if (llvm::AddOverflow(total, *bytes, total))
      return llvm::createStringError("the bytes of all arguments overflow; choose smaller sizes");
    all.back() = *bytes;
  }
  all.push_back(total);
  return all;
}

static StringRef kindName(ManifestArgument::Kind kind) {
  switch (kind) {
  case ManifestArgument::Input:
    return "input";
  case ManifestArgument::Output:
    return "output";
  case ManifestArgument::Workspace:
    return "workspace";
  case ManifestArgument::Scalar:
    return "scalar";
  case ManifestArgument::LaunchEpoch:
    return "launch_epoch";
  }
  return "";
}

/// Exponent of the growth from `once` to `twice` when lengths double.
static int order(int64_t once, int64_t twice) {
  return once == 0 ? 0 : static_cast<int>(std::lround(std::log2(double(twice) / double(once))));
}

/// Return the bytes of every buffer, and how they grow.
static FailureOr<MemoryFacts> findMemory(ModuleOp module, const Manifest &manifest, Problem problem,
                                         const LaunchShapes &shapes) {
  auto once = bytesAt(manifest, shapes);
  if (!once)
    return module.emitError() << llvm::toString(once.takeError());
  // The problem is allowed even where one of twice its lengths is not.
  std::optional<std::vector<int64_t>> twice;
  for (StringRef name : {"Sq", "Sk"})
    problem.sizes[name] *= 2;
  if (auto doubled = tryShapesAt(manifest, problem)) {
    if (auto bytes = bytesAt(manifest, *doubled))
      twice = std::move(*bytes);
    else
      llvm::consumeError(bytes.takeError());
  } else {
    llvm::consumeError(doubled.takeError());
  }
  MemoryFacts memory;
  memory.all = {"all", "memory", once->back(), std::nullopt};
  if (twice) {
    memory.all.order = 0;
    memory.twice = twice->back();
  }
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (argument.isNumber())
      continue;
    BufferFacts buffer{kindName(argument.kind), argument.name, (*once)[i], std::nullopt};
    if (twice) {
      buffer.order = order((*once)[i], (*twice)[i]);
      // Memory grows like its fastest growing buffer: at long lengths that one is all of it.
      memory.all.order = std::max(*memory.all.order, *buffer.order);
    }
    memory.buffers.push_back(std::move(buffer));
  }
  return std::move(memory);
}

/// Collect the shapes of the tiles that a kernel multiplies.
static void findTiles(tile::FuncOp kernel, std::vector<TileFacts> &tiles) {
  auto print = [](Type type) {
    std::string text;
    llvm::raw_string_ostream(text) << type;
    return text;
  };
  kernel.walk([&](tile::DotOp dot) {
    auto a = cast<RankedTensorType>(dot.getA().getType());
    auto result = cast<RankedTensorType>(dot.getType());
    std::string precision = a.getElementTypeBitWidth() <= 16
                                ? print(a.getElementType())
                                : tile::stringifyPrecision(dot.getPrecision()).str();
    tiles.push_back({a.getDimSize(0), result.getDimSize(1), a.getDimSize(1), print(a),
                     print(dot.getB().getType()), dot.getTransposeB(), std::move(precision)});
  });
}

/// Sums the kernels of an entry at a problem. A kernel's compulsory traffic is that of its own
/// arguments. One for blocks that another kernel does not do does nothing where there are none.
static FailureOr<CostFacts> findCost(ModuleOp module, const Manifest &manifest,
                                     const LaunchShapes &shapes, const ReportOptions &options) {
  auto argumentBytes = bytesAt(manifest, shapes);
  if (!argumentBytes)
    return module.emitError() << llvm::toString(argumentBytes.takeError());
  CostFacts cost;
  cost.machine = getMachine(options.target);
  if (const Machine *device = findMachine(options.device); cost.machine && device)
    cost.machine = device;
  for (const ManifestKernel &kernel : manifest.kernels()) {
    ProductScheme scheme;
    if (auto found = options.schedules.find(kernel.name); found != options.schedules.end())
      scheme = {found->second.asyncProducts, found->second.warps, found->second.handsOver};
    auto function = module.lookupSymbol<tile::FuncOp>(kernel.name);
    if (function->hasAttr(tile::TileDialect::kDisjointAttr))
      continue;
    auto work = countKernel(function, manifest, kernel, shapes, scheme);
    if (!work)
      return module.emitError() << llvm::toString(work.takeError());
    double moved = 0;
    for (unsigned argument : kernel.arguments)
      moved += double((*argumentBytes)[argument]);
    cost.compulsory += moved;
    cost.work += *work;
    if (cost.machine) {
      cost.time += estimateTime(*work, scheme, moved, *cost.machine);
      cost.peak = std::max(cost.peak, cost.machine->peak16(scheme.async));
    }
  }
  // The products' own, where not all of them are of 16-bit elements.
  if (cost.time.tensorCores > 0)
    cost.peak = cost.work.products() / cost.time.tensorCores;
  if (auto visible = options.visibleFlops.find(manifest.entry);
      visible != options.visibleFlops.end())
    cost.visible = visible->second;
  // Standard attention writes and reads scores of 4 bytes, and probabilities of the inputs' type;
  // its backward reads probabilities twice, writes and reads dP of 4 bytes, and writes dS of the
  // inputs' type and reads it twice (Dao et al., 2022, algorithm 3).
  auto size = [&](StringRef name) { return double(options.problem->sizes.lookup(name)); };
  auto isThere = [&](StringRef one, StringRef other) {
    return llvm::any_of(manifest.arguments, [&](const ManifestArgument &argument) {
      return llvm::is_contained(argument.dims, one) || llvm::is_contained(argument.dims, other);
    });
  };
  if (!isThere("Sq", "Tq") || !isThere("Sk", "Tk"))
    return cost;
  double bytesOfInput = sizeOf(manifest.arguments.front().dtype.value_or(DType::F32));
  double bytesOfPair =
      options.backwards.contains(manifest.entry) ? 8 + 5 * bytesOfInput : 2 * (4 + bytesOfInput);
  cost.standard = size("B") * size("Hq") * size("Sq") * size("Sk") * bytesOfPair;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments))
    if (argument.kind != ManifestArgument::Workspace)
      *cost.standard += double((*argumentBytes)[i]);
  return cost;
}

static FailureOr<EntryFacts> findFacts(ModuleOp module, const Manifest &manifest,
                                       const ReportOptions &options) {
  EntryFacts facts;
  facts.entry = manifest.entry;
  std::optional<LaunchShapes> shapes;
  if (options.problem) {
    auto at = shapesAt(module, manifest, *options.problem);
    if (failed(at))
      return failure();
    shapes = std::move(*at);
    for (const ManifestArgument &argument : manifest.arguments)
      for (auto [dim, size] : llvm::zip(argument.dims, argument.shape))
        if (argument.isBound() && ShapedType::isDynamic(size) && !dim.empty() &&
            !sizeAt(*options.problem, dim))
          facts.unknown.insert(dim);
  }
  for (const ManifestKernel &kernel : manifest.kernels()) {
    auto function = module.lookupSymbol<tile::FuncOp>(kernel.name);
    KernelFacts &known = facts.kernels.emplace_back();
    known.name = kernel.name;
    llvm::raw_string_ostream grid(known.gridText);
    function.getGrid().print(grid);
    if (shapes) {
      auto extents = manifest.grid(kernel, *shapes);
      if (!extents)
        return module.emitError() << llvm::toString(extents.takeError());
      known.grid = std::move(*extents);
    }
    findTiles(function, known.tiles);
    if (auto schedule = options.schedules.find(kernel.name); schedule != options.schedules.end())
      known.schedule = &schedule->second;
  }
  if (!shapes)
    return std::move(facts);
  auto cost = findCost(module, manifest, *shapes, options);
  if (failed(cost))
    return failure();
  facts.cost = std::move(*cost);
  auto memory = findMemory(module, manifest, *options.problem, *shapes);
  if (failed(memory))
    return failure();
  facts.memory = std::move(*memory);
  return std::move(facts);
}

int64_t ScheduleDetails::stages() const {
  int64_t most = 0;
  for (const Ring &ring : rings)
    most = std::max(most, ring.stages);
  return most;
}

// An SM of compute capability 8.0 to 9.0 has 2,048 threads and 65,536 registers.
static constexpr int64_t kThreads = 2048, kWarp = 32;

int64_t ScheduleDetails::blocks() const {
  int64_t threads = std::max<int64_t>(1, kWarp * warps), blocks = kThreads / threads;
  blocks = std::min(blocks,
                    (sharedLimit + tile::kSharedOfSystem) / (sharedBytes + tile::kSharedOfSystem));
  if (registers && *registers > 0)
    blocks = std::min<int64_t>(blocks, 65536 / (threads * llvm::alignTo(*registers, 8)));
  return blocks;
}

double ScheduleDetails::occupancy() const {
  return double(blocks() * warps) / double(kThreads / kWarp);
}

LogicalResult fa::printReport(raw_ostream &os, ModuleOp module, const ReportOptions &options) {
  FailureOr<std::vector<Manifest>> manifests = readManifests(module);
  if (failed(manifests))
    return failure();
  // All of it, or an error and none.
  std::vector<EntryFacts> all;
  for (const Manifest &manifest : *manifests) {
    auto facts = findFacts(module, manifest, options);
    if (failed(facts))
      return failure();
    all.push_back(std::move(*facts));
  }
  llvm::json::Array entries;
  for (const EntryFacts &facts : all) {
    if (options.json)
      entries.push_back(toJSON(facts, options));
    else
      printText(os, facts, options);
  }
  if (options.json)
    os << llvm::formatv("{0:2}\n",
                        llvm::json::Value(llvm::json::Object{{"entries", std::move(entries)}}));
  return success();
}
