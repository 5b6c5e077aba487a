//===- ReportText.cpp - a report as text -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReportFacts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace mlir::fa;
using llvm::format;

static void printOrder(raw_ostream &os, int exponent) {
  if (exponent == 0)
    os << "O(1)";
  else if (exponent == 1)
    os << "O(N)";
  else
    os << "O(N^" << exponent << ")";
}

static void printSchedule(raw_ostream &os, const ScheduleDetails &details) {
  os << "    " << details.warps << " warps, products by "
     << (details.asyncProducts ? "wgmma" : "mma.sync") << ", " << details.stages()
     << (details.stages() == 1 ? " stage, " : " stages, ") << details.sharedBytes << " of "
     << details.sharedLimit << " bytes of shared memory\n    ";
  if (details.registers)
    os << *details.registers << " registers a thread and " << details.localBytes.value_or(0)
       << " bytes of spills, says " << details.countedBy << ", ";
  os << details.blocks() << (details.blocks() == 1 ? " block" : " blocks")
     << format(" an SM, occupancy %.3f\n", details.occupancy());
  if (!details.registers)
    os << "    registers and spills are not known: " << details.notCounted << "\n";
  for (const ScheduleDetails::Role &role : details.roles)
    os << "    role " << role.name << ": " << role.warps << " warps, " << role.registers
       << " registers\n";
  for (const ScheduleDetails::Ring &ring : details.rings) {
    os << "    ring: " << ring.stages << " x ";
    llvm::interleave(ring.shape, os, "x");
    os << "x" << ring.element << "\n";
  }
}

static void printKernel(raw_ostream &os, const KernelFacts &kernel) {
  os << "  kernel @" << kernel.name << " grid " << kernel.gridText;
  if (kernel.grid) {
    os << " = ";
    llvm::interleave(*kernel.grid, os, " x ");
  }
  os << "\n";
  for (const TileFacts &tile : kernel.tiles) {
    os << "    tiles " << tile.m << " x " << tile.n << " x " << tile.k << ", " << tile.precision
       << ": " << tile.a << " x " << tile.b << (tile.transposed ? " transposed" : "") << "\n";
  }
  if (kernel.schedule)
    printSchedule(os, *kernel.schedule);
}

static void printTime(raw_ostream &os, const CostFacts &cost, const ReportOptions &options) {
  if (!cost.machine) {
    os << "  bound and time: no rates are known for " << options.target << "\n";
    return;
  }
  const KernelTime &time = cost.time;
  os << "  rates of " << cost.machine->name
     << format(" (%.0f TFLOP/s, %.1f TB/s)", cost.peak * 1e-12, cost.machine->memory * 1e-12);
  if (!options.device.empty() && cost.machine != findMachine(options.device))
    os << "; the device at hand is another, " << options.device << ", of unknown rates";
  os << format(": tensor cores %.4g ms, special functions %.4g, arithmetic %.4g, shared memory "
               "%.4g, HBM %.4g\n",
               1e3 * time.tensorCores, 1e3 * time.special, 1e3 * time.arithmetic,
               1e3 * time.sharedMemory, 1e3 * time.memory);
  os << "  bound by " << time.bound << format(": %.4g ms estimated", 1e3 * time.estimate);
  if (time.estimate > 0)
    os << format(", %.4g TFLOP/s", cost.flops() / time.estimate * 1e-12);
  os << "\n";
}

static void printCost(raw_ostream &os, const CostFacts &cost, const ReportOptions &options) {
  const KernelCost &work = cost.work;
  os << "  work: " << format("%.4g", work.products()) << " FLOP of products in visited tiles";
  if (cost.visible) {
    os << format(", %.4g in visible pairs", *cost.visible);
    if (*cost.visible > 0)
      os << format(" (%.3f of it visited)", work.products() / *cost.visible);
  } else if (cost.standard) {
    os << ", in visible pairs not known: the mask reads captures, or what cannot be evaluated here";
  }
  os << format("; %.4g special functions, %.4g other operations\n", work.special, work.arithmetic);
  if (work.dependsOnData)
    os << "  work that depends on values in memory is counted as if done for every tile\n";
  os << (options.target.starts_with("cpu") ? "  caches" : "  L2")
     << format(": %.4g bytes by tiles; HBM: ", cost.tiled());
  if (std::optional<double> all = cost.standard)
    os << format("standard attention %.4g (%.1f times), at least %.4g (%.1f times)\n", *all,
                 cost.ratio(*all, cost.tiled()), cost.compulsory,
                 cost.ratio(*all, cost.compulsory));
  else
    os << format("at least %.4g\n", cost.compulsory);
  if (work.added > 0)
    os << format("  added up in memory by several blocks: %.4g of these bytes\n", work.added);
  os << format("  intensity: %.1f FLOP a byte of inputs and outputs, %.1f a byte of tiles\n",
               cost.intensity(), cost.ratio(cost.flops(), cost.tiled()));
  printTime(os, cost, options);
}

static void printMemory(raw_ostream &os, const MemoryFacts &memory) {
  auto print = [&](const BufferFacts &buffer) {
    os << buffer.name << ": " << buffer.bytes << " bytes";
    if (buffer.order) {
      os << ", ";
      printOrder(os, *buffer.order);
    }
  };
  for (const BufferFacts &buffer : memory.buffers) {
    os << "  " << buffer.kind << " ";
    print(buffer);
    os << "\n";
  }
  os << "  ";
  print(memory.all);
  if (memory.all.order)
    os << " (" << memory.twice << " bytes at twice the lengths)\n";
  else
    os << " (twice the lengths would be too long to tell its growth)\n";
}

void fa::printText(raw_ostream &os, const EntryFacts &facts, const ReportOptions &options) {
  const ReportVariant &variant = options.variantOf(facts.entry);
  os << "entry @" << facts.entry << " for " << options.target << ", variant " << variant.name
     << ": " << variant.when << "\n";
  for (const KernelFacts &kernel : facts.kernels)
    printKernel(os, kernel);
  if (facts.cost)
    printCost(os, *facts.cost, options);
  if (facts.memory)
    printMemory(os, *facts.memory);
  if (!facts.unknown.empty())
    os << "  sizes that --shape does not give count as 1: " << llvm::join(facts.unknown, ", ")
       << "\n";
}
