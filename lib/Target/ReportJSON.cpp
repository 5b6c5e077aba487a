//===- ReportJSON.cpp - a report as JSON -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// The keys are the same in every report; what is not known is null. Sizes are in
// bytes, times in seconds, counts of operations in FLOP.
//
//===----------------------------------------------------------------------===//

#include "ReportFacts.h"

using namespace mlir;
using namespace mlir::fa;
namespace json = llvm::json;

/// Return null where there is none.
template <typename T> static json::Value orNull(const std::optional<T> &value) {
  return value ? json::Value(*value) : json::Value(nullptr);
}
static json::Value orNull(StringRef text) {
  return text.empty() ? json::Value(nullptr) : json::Value(text);
}

static json::Value toJSON(const ScheduleDetails &details) {
  json::Array roles, rings;
  for (const ScheduleDetails::Role &role : details.roles)
    roles.push_back(
        json::Object{{"name", role.name}, {"warps", role.warps}, {"registers", role.registers}});
  for (const ScheduleDetails::Ring &ring : details.rings)
    rings.push_back(json::Object{
        {"stages", ring.stages}, {"shape", json::Array(ring.shape)}, {"element", ring.element}});
  return json::Object{{"warps", details.warps},
                      {"products_by", details.asyncProducts ? "wgmma" : "mma.sync"},
                      {"roles", std::move(roles)},
                      {"rings", std::move(rings)},
                      {"stages", details.stages()},
                      {"shared_bytes", details.sharedBytes},
                      {"shared_limit", details.sharedLimit},
                      {"registers", orNull(details.registers)},
                      {"spill_bytes", orNull(details.localBytes)},
                      {"registers_counted_by", orNull(details.countedBy)},
                      {"registers_unknown_because", orNull(details.notCounted)},
                      {"blocks", details.blocks()},
                      {"occupancy", details.occupancy()}};
}

static json::Value toJSON(const KernelFacts &kernel) {
  json::Array tiles;
  for (const TileFacts &tile : kernel.tiles)
    tiles.push_back(json::Object{{"m", tile.m},
                                 {"n", tile.n},
                                 {"k", tile.k},
                                 {"a", tile.a},
                                 {"b", tile.b},
                                 {"transposed", tile.transposed},
                                 {"precision", tile.precision}});
  return json::Object{
      {"name", kernel.name},
      {"grid_expression", kernel.gridText},
      {"grid", kernel.grid ? json::Value(json::Array(*kernel.grid)) : json::Value(nullptr)},
      {"tiles", std::move(tiles)},
      {"schedule", kernel.schedule ? toJSON(*kernel.schedule) : json::Value(nullptr)}};
}

static json::Value toJSON(const CostFacts &cost, StringRef device) {
  const KernelCost &work = cost.work;
  const KernelTime &time = cost.time;
  bool known = cost.machine;
  json::Value seconds = nullptr;
  if (known)
    seconds = json::Object{{"tensor_cores", time.tensorCores},
                           {"special", time.special},
                           {"arithmetic", time.arithmetic},
                           {"shared_memory", time.sharedMemory},
                           {"hbm", time.memory},
                           {"estimate", time.estimate}};
  auto over = [&](double bytes) -> json::Value {
    return cost.standard ? json::Value(cost.ratio(*cost.standard, bytes)) : json::Value(nullptr);
  };
  return json::Object{
      {"work_tiles", work.workTiles},
      {"visited_flops", work.products()},
      {"visible_flops", orNull(cost.visible)},
      {"flops", cost.flops()},
      {"special", work.special},
      {"arithmetic", work.arithmetic},
      {"operand_bytes", work.operandBytes},
      {"depends_on_data", work.dependsOnData},
      {"loaded_bytes", work.loaded},
      {"stored_bytes", work.stored},
      {"added_bytes", work.added},
      {"l2_bytes", cost.tiled()},
      {"standard_bytes", orNull(cost.standard)},
      {"standard_over_l2", over(cost.tiled())},
      {"compulsory_bytes", cost.compulsory},
      {"standard_over_compulsory", over(cost.compulsory)},
      {"intensity", cost.intensity()},
      {"l2_intensity", cost.ratio(cost.flops(), cost.tiled())},
      {"rates_of", known ? json::Value(cost.machine->name) : json::Value(nullptr)},
      {"device", orNull(device)},
      {"rates_are_of_device", known && cost.machine == findMachine(device)},
      {"peak_flops", known ? json::Value(cost.peak) : json::Value(nullptr)},
      {"hbm_bytes_per_second", known ? json::Value(cost.machine->memory) : json::Value(nullptr)},
      {"seconds", std::move(seconds)},
      {"bound", known ? json::Value(time.bound) : json::Value(nullptr)}};
}

static json::Value toJSON(const BufferFacts &buffer) {
  return json::Object{{"kind", buffer.kind},
                      {"name", buffer.name},
                      {"bytes", buffer.bytes},
                      {"order", orNull(buffer.order)}};
}

static json::Value toJSON(const MemoryFacts &memory) {
  json::Array buffers;
  for (const BufferFacts &buffer : memory.buffers)
    buffers.push_back(toJSON(buffer));
  return json::Object{
      {"buffers", std::move(buffers)},
      {"bytes", memory.all.bytes},
      {"order", orNull(memory.all.order)},
      {"bytes_at_twice", memory.all.order ? json::Value(memory.twice) : json::Value(nullptr)}};
}

json::Value fa::toJSON(const EntryFacts &facts, const ReportOptions &options) {
  json::Array kernels;
  for (const KernelFacts &kernel : facts.kernels)
    kernels.push_back(::toJSON(kernel));
  json::Value shape = nullptr;
  if (options.problem) {
    json::Object sizes;
    for (const auto &[name, size] : options.problem->sizes)
      sizes[name] = size;
    shape = std::move(sizes);
  }
  const ReportVariant &variant = options.variantOf(facts.entry);
  return json::Object{
      {"entry", facts.entry},
      {"target", options.target},
      {"variant", json::Object{{"name", variant.name}, {"when", variant.when}}},
      {"shape", std::move(shape)},
      {"kernels", std::move(kernels)},
      {"cost", facts.cost ? ::toJSON(*facts.cost, options.device) : json::Value(nullptr)},
      {"memory", facts.memory ? ::toJSON(*facts.memory) : json::Value(nullptr)}};
}
