//===- ProductOrder.h - the best order of a loop of products ------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A loop whose body starts and awaits products, and computes between them, as a graph
// without IR. A product or a computation runs in the iteration that it belongs to
// (stage 0) or one iteration later (stage 1), beside stage 0 of the next one. One pass
// through the loop, a step, does stage 1 of an iteration and stage 0 of the next, in an
// order that is the same in all steps. Nothing is in flight where a step ends.
//
//===----------------------------------------------------------------------===//

#ifndef FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTORDER_H
#define FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTORDER_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace mlir::tile {

/// An op of the body.
struct ProductNode {
  enum class Kind { start, await, compute };
  Kind kind = Kind::compute;
  /// Number the nodes that it uses of its iteration and of the one before; an await, its start.
  SmallVector<unsigned, 4> deps, carried;
  /// Record whether it is cheap enough to be computed once for each stage that uses it.
  bool free = false;
  /// The node of a start's accumulator, whose registers the product takes over.
  std::optional<unsigned> accumulator;
  /// Record whether it waits for memory, so that it is placed before the first await if it can be.
  /// Everything else is placed behind it: its results would only take registers for longer.
  bool early = false;
  /// Record whether it waits for other warps, so that it is placed after all awaits if it can be.
  bool late = false;
  /// Say that it depends on no product and is one bit for each element: where all warps meet in
  /// each step it is computed for the next one, beside products.
  bool ahead = false;
  /// Record whether other warps wait for it, so that it is placed as soon as it can be; and whether
  /// all that run the step do, and so meet.
  bool sends = false, meets = false;
  /// Record whether it packs an operand that a product reads in registers.
  bool packs = false;
  /// Record whether its result is part of an operand, in the same registers.
  bool aliases = false;
  /// Registers of a thread that hold its result.
  int64_t registers = 0;
  /// Clocks of the tensor cores for a start; of a warp's issue slots and of the special functions
  /// for a computation.
  double product = 0, issue = 0, special = 0;
};

/// In the order of the program, in which definitions come before uses.
using ProductGraph = std::vector<ProductNode>;

/// A ring that the loop fills and reads: one slot is read while another one is filled, and where
/// both stages read it, the later one holds a slot meanwhile.
struct ProductRing {
  int64_t bytes = 0;
  SmallVector<unsigned, 4> readers;
  /// Record whether it is read to registers alone: then it is free for the rest of a step.
  bool isCopied = false;

  int64_t countSlots(ArrayRef<unsigned> stages) const {
    const int64_t kSlots = isCopied ? 1 : 2;
    unsigned later = llvm::count_if(readers, [&](unsigned n) { return stages[n] == 1; });
    return kSlots + (later > 0 && later < readers.size());
  }
};

/// Describe who runs the loop.
struct ProductTarget {
  /// Warpgroups that share the tensor cores, and registers of a thread.
  int64_t groups = 2, registers = 240;
  /// Record whether warps of another role read what these read.
  bool sharesSlots = false;
  /// Record whether functions of many instructions need registers for a while.
  bool hasFunctions = false;
  /// Bytes of shared memory for the slots of the loop's rings; orders of one stage take what
  /// there is.
  int64_t sharedBytes = 0;
  std::vector<ProductRing> rings;
};

/// Registers of a thread that are live: the most at once, and the mean over the nodes of a step.
struct RegisterCount {
  int64_t most = 0;
  double mean = 0;
};

struct ProductOrder {
  /// The stage of each node; a free one has that of its user.
  SmallVector<unsigned> stages;
  /// The starts, and all nodes, in the order of a step.
  SmallVector<unsigned> starts, nodes;
  /// The start that comes after the awaits of all that start before it, if there is one.
  std::optional<unsigned> drained;
  /// Tell how long a step takes, and the registers at its fullest point and on average.
  double clocks = 0;
  RegisterCount registers;

  bool isPipelined() const { return llvm::is_contained(stages, 1u); }
};

/// Place all nodes of a step, products in the order `starts`: starts as early, awaits as late as
/// they can be, at most three products in flight, and none before the start `drained`. None where
/// the graph does not allow that order.
std::optional<SmallVector<unsigned>> placeNodes(const ProductGraph &graph,
                                                ArrayRef<unsigned> stages,
                                                ArrayRef<unsigned> starts,
                                                std::optional<unsigned> drained = std::nullopt);

/// Return the clocks of a step in the steady state, of warpgroups that run side by side and are at
/// the same place: what they start waits for the products of all of them, and what they compute
/// takes the issue slots of all. Where they drift apart, a step takes less; but the order
/// that hides most in step hides most then, too.
double simulateSteps(const ProductGraph &graph, ArrayRef<unsigned> nodes,
                     const ProductTarget &target);

/// Say what a node of a simulated step keeps busy.
struct ProductUnit {
  enum class Kind : uint8_t { tensor, issue, special };
  Kind kind;
  unsigned node;
  /// Clocks from the beginning of the step; what is beyond its end is done in the next one.
  double from, to;
};

/// Draw the steady step of an order, a line each for the tensor cores, the issue ports and the
/// special functions, where they are used: a column stands for an equal part of its clocks, a
/// letter for the product that runs, A for the first that starts, '#' for computations. What is of
/// the iteration before is small, or '='; '.' stands for nothing.
SmallVector<std::string, 3> drawTimeline(const ProductGraph &graph, const ProductOrder &order,
                                         const ProductTarget &target);

/// Count them; with `untilDrained` what a product reads and writes is live until none is in flight,
/// and what is read from shared memory is not, since it can be read where it is used.
RegisterCount countRegisters(const ProductGraph &graph, ArrayRef<unsigned> stages,
                             ArrayRef<unsigned> nodes, bool untilDrained = false);

/// Choose stages and order: the fewest clocks of those that fit into the registers, if need be
/// since products are awaited before the next one starts, which frees their operands; among orders
/// that are as good as each other the stages that run the least later, and of these the first
/// order, of products as in the program, that has few live registers. None for a graph without
/// products. With `others` the so manieth of the other orders that fit, by clocks, that start
/// products differently; the last one where there are fewer.
std::optional<ProductOrder> chooseOrder(const ProductGraph &graph, const ProductTarget &target,
                                        size_t others = 0);

} // namespace mlir::tile

#endif // FA_LIB_DIALECT_TILE_TRANSFORMS_PRODUCTORDER_H
