//===- Report.cpp - what a program costs -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Report.h"
#include "fa/Dialect/Tile/IR/Tile.h"
#include "fa/Target/Cost.h"
#include "fa/Target/Manifest.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
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

/// The shapes of all arguments at a problem: named sizes from it, static ones
/// as they are; captures whose sizes have no name are left at 1.
static llvm::Expected<LaunchShapes> tryShapesAt(const Manifest &manifest, const Problem &problem) {
  LaunchShapes shapes(manifest.arguments.size());
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (!argument.isBound())
      continue;
    for (auto [d, size] : llvm::enumerate(argument.shape)) {
      int64_t value = size;
      auto known =
          d < argument.dims.size() ? problem.sizes.find(argument.dims[d]) : problem.sizes.end();
      if (known != problem.sizes.end())
        value = known->second;
      else if (ShapedType::isDynamic(size))
        value = 1;
      shapes[i].push_back(value);
    }
  }
  if (llvm::Error error = manifest.resolve(shapes))
    return error;
  return shapes;
}

static FailureOr<LaunchShapes> shapesAt(ModuleOp module, const Manifest &manifest,
                                        const Problem &problem) {
  llvm::Expected<LaunchShapes> shapes = tryShapesAt(manifest, problem);
  if (!shapes)
    return module.emitError() << llvm::toString(shapes.takeError());
  return std::move(*shapes);
}

/// The bytes of every argument, 0 for scalars, and at the end of all of them.
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
  case ManifestArgument::LaunchTag:
    return "launch_tag";
  }
  return "";
}

/// Exponent of the growth from `once` to `twice` when lengths double.
static int order(int64_t once, int64_t twice) {
  return once == 0 ? 0 : static_cast<int>(std::lround(std::log2(double(twice) / double(once))));
}

static void printOrder(raw_ostream &os, int exponent) {
  if (exponent == 0)
    os << "O(1)";
  else if (exponent == 1)
    os << "O(N)";
  else
    os << "O(N^" << exponent << ")";
}

static LogicalResult printMemory(raw_ostream &os, ModuleOp module, const Manifest &manifest,
                                 Problem problem) {
  auto at = shapesAt(module, manifest, problem);
  if (failed(at))
    return failure();
  auto once = bytesAt(manifest, *at);
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
  // Memory grows like its fastest growing buffer: at long lengths that one is all of it.
  int highest = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments)) {
    if (argument.isNumber())
      continue;
    os << "  " << kindName(argument.kind) << " " << argument.name << ": " << (*once)[i] << " bytes";
    if (twice) {
      int exponent = order((*once)[i], (*twice)[i]);
      highest = std::max(highest, exponent);
      os << ", ";
      printOrder(os, exponent);
    }
    os << "\n";
  }
  os << "  memory: " << once->back() << " bytes";
  if (twice) {
    os << ", ";
    printOrder(os, highest);
    os << " (" << twice->back() << " bytes at twice the lengths)\n";
  } else {
    os << " (twice the lengths would be too long to tell its growth)\n";
  }
  return success();
}

/// The shapes of the tiles that a kernel multiplies.
static void printTiles(raw_ostream &os, tile::FuncOp kernel) {
  kernel.walk([&](tile::DotOp dot) {
    os << "    dot " << dot.getA().getType() << " x " << dot.getB().getType()
       << (dot.getTransposeB() ? " transposed" : "") << "\n";
  });
}

namespace {
/// What the kernels of one entry do together, and how long that takes.
struct Cost {
  KernelCost work;
  KernelTime time;
  /// Bytes that must move at least, and those of the attention that keeps its scores in memory.
  double compulsory = 0, standard = 0;
};
} // namespace

static void add(KernelTime &total, const KernelTime &part) {
  // The kernels run one after the other.
  if (part.estimate > total.estimate)
    total.bound = part.bound;
  total.tensorCores += part.tensorCores;
  total.special += part.special;
  total.arithmetic += part.arithmetic;
  total.sharedMemory += part.sharedMemory;
  total.memory += part.memory;
  total.estimate += part.estimate;
}

/// Sums the kernels of an entry at a problem. A kernel's compulsory traffic is that of its own
/// arguments.
static FailureOr<Cost> countEntry(ModuleOp module, const Manifest &manifest, const Problem &problem,
                                  const LaunchShapes &shapes, const Machine *machine) {
  auto argumentBytes = bytesAt(manifest, shapes);
  if (!argumentBytes)
    return module.emitError() << llvm::toString(argumentBytes.takeError());
  Cost cost;
  for (const ManifestKernel &kernel : manifest.kernels()) {
    auto work =
        countKernel(module.lookupSymbol<tile::FuncOp>(kernel.name), manifest, kernel, shapes);
    if (!work)
      return module.emitError() << llvm::toString(work.takeError());
    double moved = 0;
    for (unsigned argument : kernel.arguments)
      moved += double((*argumentBytes)[argument]);
    cost.compulsory += moved;
    cost.work += *work;
    if (machine)
      add(cost.time, estimateTime(*work, moved, *machine));
  }
  // Standard attention writes and reads scores of 4 bytes, and probabilities of the inputs' type.
  auto size = [&](StringRef name) { return double(problem.sizes.lookup(name)); };
  double bytesOfInput = sizeOf(manifest.arguments.front().dtype.value_or(DType::F32));
  double inputs = 0;
  for (auto [i, argument] : llvm::enumerate(manifest.arguments))
    if (argument.kind != ManifestArgument::Workspace)
      inputs += double((*argumentBytes)[i]);
  cost.standard =
      inputs + size("B") * size("Hq") * size("Sq") * size("Sk") * 2 * (4 + bytesOfInput);
  return cost;
}

static void printCost(raw_ostream &os, const Cost &cost, const Machine *machine,
                      std::optional<double> visible) {
  const KernelCost &work = cost.work;
  os << "  work: " << llvm::format("%.4g", work.products()) << " FLOP of products in visited tiles";
  if (visible && *visible > 0)
    os << llvm::format(", %.4g in visible pairs (%.3f of it visited)", *visible,
                       work.products() / *visible);
  os << llvm::format("; %.4g special functions, %.4g other operations\n", work.special,
                     work.arithmetic);
  if (work.dependsOnData)
    os << "  work that depends on values in memory is counted as if done for every tile\n";
  os << llvm::format("  traffic: %.4g bytes at least, %.4g asked by tiles; standard attention %.4g "
                     "(%.1f times)\n",
                     cost.compulsory, work.loaded + work.stored, cost.standard,
                     cost.compulsory > 0 ? cost.standard / cost.compulsory : 0);
  if (cost.compulsory > 0)
    os << llvm::format("  intensity: %.1f FLOP a byte\n", work.products() / cost.compulsory);
  if (!machine)
    return;
  const KernelTime &time = cost.time;
  os << "  on " << machine->name
     << llvm::format(
            ": tensor cores %.4g ms, special functions %.4g, arithmetic %.4g, shared memory "
            "%.4g, memory %.4g\n",
            1e3 * time.tensorCores, 1e3 * time.special, 1e3 * time.arithmetic,
            1e3 * time.sharedMemory, 1e3 * time.memory);
  os << "  bound by " << time.bound << llvm::format(": %.4g ms estimated", 1e3 * time.estimate);
  double counted = visible.value_or(work.products());
  if (time.estimate > 0)
    os << llvm::format(", %.4g TFLOP/s", counted / time.estimate * 1e-12);
  os << "\n";
}

static llvm::json::Object toJSON(const Cost &cost, const Machine *machine,
                                 std::optional<double> visible) {
  const KernelCost &work = cost.work;
  llvm::json::Object object{{"instances", work.instances},
                            {"visited_flops", work.products()},
                            {"special", work.special},
                            {"arithmetic", work.arithmetic},
                            {"operand_bytes", work.operandBytes},
                            {"loaded_bytes", work.loaded},
                            {"stored_bytes", work.stored},
                            {"depends_on_data", work.dependsOnData},
                            {"compulsory_bytes", cost.compulsory},
                            {"standard_bytes", cost.standard}};
  if (visible)
    object["visible_flops"] = *visible;
  if (machine) {
    const KernelTime &time = cost.time;
    object["machine"] = machine->name;
    object["seconds"] = llvm::json::Object{{"tensor_cores", time.tensorCores},
                                           {"special", time.special},
                                           {"arithmetic", time.arithmetic},
                                           {"shared_memory", time.sharedMemory},
                                           {"memory", time.memory},
                                           {"estimate", time.estimate}};
    object["bound"] = time.bound;
  }
  return object;
}

int64_t ScheduleDetails::blocks() const {
  // Of compute capability 8.0 to 9.0: 2,048 threads, 65,536 registers, and 1 KiB of
  // shared memory more than one block can have.
  int64_t threads = std::max<int64_t>(1, 32 * warps), blocks = 2048 / threads;
  blocks = std::min(blocks, (sharedLimit + 1024) / (sharedBytes + 1024));
  if (registers && *registers > 0)
    blocks = std::min<int64_t>(blocks, 65536 / (threads * llvm::alignTo(*registers, 8)));
  return blocks;
}

static void printSchedule(raw_ostream &os, const ScheduleDetails &details, StringRef noUsage) {
  os << "    " << details.warps << " warps, " << details.sharedBytes << " of "
     << details.sharedLimit << " bytes of shared memory, ";
  if (details.registers)
    os << *details.registers << " registers a thread, " << details.spills.value_or(0)
       << " bytes of spills, ";
  os << details.blocks() << (details.blocks() == 1 ? " block" : " blocks") << " a multiprocessor\n";
  if (!details.registers)
    os << "    registers and spills are not known: " << noUsage << "\n";
  for (const ScheduleDetails::Role &role : details.roles)
    os << "    role " << role.name << ": " << role.warps << " warps, " << role.registers
       << " registers\n";
  for (const std::string &ring : details.rings)
    os << "    ring " << ring << "\n";
}

static llvm::json::Object toJSON(const ScheduleDetails &details) {
  llvm::json::Array roles;
  for (const ScheduleDetails::Role &role : details.roles)
    roles.push_back(llvm::json::Object{
        {"name", role.name}, {"warps", role.warps}, {"registers", role.registers}});
  llvm::json::Object object{{"warps", details.warps},
                            {"shared_bytes", details.sharedBytes},
                            {"blocks", details.blocks()},
                            {"roles", std::move(roles)},
                            {"rings", llvm::json::Array(details.rings)}};
  if (details.registers)
    object["registers"] = *details.registers;
  if (details.spills)
    object["spill_bytes"] = *details.spills;
  return object;
}

/// The report of one entry, as text and as JSON.
static LogicalResult reportEntry(raw_ostream &os, llvm::json::Object &json, ModuleOp module,
                                 const Manifest &manifest, const ReportOptions &options) {
  const std::optional<Problem> &problem = options.problem;
  os << "entry @" << manifest.entry << "\n";
  json["entry"] = manifest.entry;
  std::optional<LaunchShapes> shapes;
  if (problem) {
    auto at = shapesAt(module, manifest, *problem);
    if (failed(at))
      return failure();
    shapes = std::move(*at);
  }
  llvm::json::Array kernels;
  for (const ManifestKernel &kernel : manifest.kernels()) {
    auto function = module.lookupSymbol<tile::FuncOp>(kernel.name);
    os << "  kernel @" << kernel.name << " grid ";
    function.getGrid().print(os);
    llvm::json::Object described{{"name", kernel.name}};
    if (shapes) {
      auto extents = manifest.grid(kernel, *shapes);
      if (!extents)
        return module.emitError() << llvm::toString(extents.takeError());
      os << " = ";
      llvm::interleave(*extents, os, " x ");
      described["grid"] = llvm::json::Array(*extents);
    }
    os << "\n";
    printTiles(os, function);
    auto schedule = options.schedules.find(kernel.name);
    if (schedule != options.schedules.end()) {
      printSchedule(os, schedule->second, options.noUsage);
      described["schedule"] = toJSON(schedule->second);
    }
    kernels.push_back(std::move(described));
  }
  json["kernels"] = std::move(kernels);
  if (!shapes)
    return success();
  const Machine *machine = getMachine(options.target);
  FailureOr<Cost> cost = countEntry(module, manifest, *problem, *shapes, machine);
  if (failed(cost))
    return failure();
  auto visible = options.visibleFlops.find(manifest.entry);
  std::optional<double> seen;
  if (visible != options.visibleFlops.end())
    seen = visible->second;
  printCost(os, *cost, machine, seen);
  json["cost"] = toJSON(*cost, machine, seen);
  return printMemory(os, module, manifest, *problem);
}

LogicalResult fa::printReport(raw_ostream &os, ModuleOp module, const ReportOptions &options) {
  FailureOr<std::vector<Manifest>> manifests = readManifests(module);
  if (failed(manifests))
    return failure();
  // All of it, or an error and none.
  std::string text;
  llvm::raw_string_ostream complete(text);
  llvm::json::Array entries;
  for (const Manifest &manifest : *manifests) {
    llvm::json::Object entry;
    if (failed(reportEntry(complete, entry, module, manifest, options)))
      return failure();
    entries.push_back(std::move(entry));
  }
  if (options.json)
    os << llvm::formatv("{0:2}\n",
                        llvm::json::Value(llvm::json::Object{{"entries", std::move(entries)}}));
  else
    os << text;
  return success();
}
