//===- Machine.cpp - rates of GPUs, and times by them -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How units share an SM's time, by what its warps can do at once. Units whose
// work overlaps, but not wholly, as each begins and ends alone and all are asked through
// the same issue slots, take between the longest and the sum of theirs: the 2-norm.
//
// - wgmma runs beside its warps, and warpgroups take turns, so that the softmax of one
//   (exponentials, arithmetic) overlaps the products of another. It reads its operands in
//   shared memory itself, ahead of use: of the two, the longer one.
// - mma.sync: a warp issues in order, its exponentials wait for its scores and its second
//   product for them, and a scheduler has one or two such warps. Products and softmax
//   take turns: their sum. Shared memory is read by other instructions of the warps, into
//   registers, which overlaps both.
//
// Where warps hand tiles to each other in each step (dS of the fused gradients, P between two
// roles), all of them meet there, and nothing of one fills the gaps of another: products and
// softmax take turns, and without wgmma shared memory does, too.
//
// The last wave of work tiles does not fill the machine. Where they are equally long
// it takes as long as a full one; where they are not, the longest come first, and
// the shortest fill the gaps: half of the loss. Less than one wave takes as long as one.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/Machine.h"
#include "fa/Target/NVPTX/TargetDescription.h"
#include <cmath>

using namespace mlir;
using namespace mlir::fa;

// Clocks without wgmma are those at which NVIDIA states its peaks (312 and 989 TFLOP/s).
// Under wgmma, power limits them. Products by mma.sync on Hopper run at five eighths of
// wgmma's rate. Memory: nine tenths of what is stated.
static constexpr Machine kMachines[] = {
    {"A100, 80 GB", "A100", "80GB", 108, 1.41e9, 0, 0, 2048, 1.8e12},
    {"H100 SXM", "H100", "HBM3", 132, 1.83e9, 1.5e9, 4096, 2560, 3.0e12},
    {"H200", "H200", "", 132, 1.83e9, 1.5e9, 4096, 2560, 4.2e12},
};

const Machine *fa::getMachine(llvm::StringRef target) {
  const nvptx::Target *gpu = nvptx::getTarget(target);
  return gpu ? findMachine(gpu->machine) : nullptr;
}

const Machine *fa::findMachine(llvm::StringRef device) {
  for (const Machine &machine : kMachines)
    if (device == machine.name ||
        (device.contains(machine.has) && device.contains(machine.alsoHas)))
      return &machine;
  return nullptr;
}

KernelTime &KernelTime::operator+=(const KernelTime &other) {
  if (other.estimate > estimate)
    bound = other.bound;
  tensorCores += other.tensorCores;
  special += other.special;
  arithmetic += other.arithmetic;
  sharedMemory += other.sharedMemory;
  memory += other.memory;
  estimate += other.estimate;
  return *this;
}

KernelTime fa::estimateTime(const KernelCost &cost, const ProductScheme &scheme, double compulsory,
                            const Machine &machine) {
  bool async = scheme.async && machine.async16 > 0;
  // A product of tf32 takes twice the time of one of 16-bit elements; tf32x3 makes three.
  double clocks = machine.multiprocessors * (async ? machine.asyncClock : machine.clock);
  KernelTime time;
  time.tensorCores = cost.products16 / machine.peak16(async) +
                     2 * (cost.productsTF32 + 3 * cost.productsTF32x3) / machine.peak16(false);
  time.special = cost.special / machine.special / clocks;
  // A fused multiply-add is two operations of a product.
  time.arithmetic = (cost.arithmetic + cost.productsIEEE / 2) / machine.lanes / clocks;
  time.sharedMemory = cost.operandBytes / machine.sharedBytes / clocks;
  time.memory = compulsory / machine.memory;
  double softmax = std::hypot(time.special, time.arithmetic);
  double products = async ? std::max(time.tensorCores, time.sharedMemory) : time.tensorCores;
  double together =
      async ? std::hypot(products, softmax) : std::hypot(products + softmax, time.sharedMemory);
  if (scheme.handsOver)
    together = products + softmax + (async ? 0 : time.sharedMemory);
  if (double waves = cost.workTiles / machine.multiprocessors; waves >= 1)
    together *= 1 + (std::ceil(waves) - waves) / (2 * waves);
  else if (waves > 0)
    together /= waves;
  std::pair<double, llvm::StringRef> units[] = {{time.tensorCores, "tensor cores"},
                                                {time.special, "special functions"},
                                                {time.arithmetic, "arithmetic"},
                                                {time.sharedMemory, "shared memory"}};
  double longest = 0;
  for (auto [seconds, name] : units)
    if (seconds > longest)
      longest = seconds, time.bound = name;
  if (time.memory > together)
    time.bound = "HBM";
  time.estimate = std::max(together, time.memory);
  return time;
}
