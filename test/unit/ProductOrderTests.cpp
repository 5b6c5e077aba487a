//===- ProductOrderTests.cpp - stages and orders of loops of products -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Dialect/Tile/Transforms/Schedule/ProductOrder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Compiler.h"
#include <algorithm>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace mlir::tile;

namespace {

using Kind = ProductNode::Kind;

/// Builds graphs node by node.
struct Builder {
  ProductGraph graph;

  unsigned compute(std::initializer_list<unsigned> deps, double issue, int64_t registers,
                   double special = 0) {
    ProductNode &node = graph.emplace_back();
    node.deps.assign(deps.begin(), deps.end());
    node.issue = issue;
    node.special = special;
    node.registers = registers;
    return graph.size() - 1;
  }
  unsigned pack(unsigned of, int64_t registers) {
    unsigned n = compute({of}, 16, registers);
    graph[n].packs = true;
    return n;
  }
  /// Add a start and its await; return the await.
  unsigned product(std::initializer_list<unsigned> deps, double clocks, int64_t registers) {
    ProductNode &start = graph.emplace_back();
    start.kind = Kind::start;
    start.deps.assign(deps.begin(), deps.end());
    start.product = clocks;
    start.registers = registers;
    ProductNode &await = graph.emplace_back();
    await.kind = Kind::await;
    await.deps = {static_cast<unsigned>(graph.size() - 2)};
    await.registers = registers;
    return graph.size() - 1;
  }
  /// Let the product that ends at `await` accumulate over iterations.
  void accumulate(unsigned await) { graph[await - 1].carried.push_back(await); }
};

/// Return the place of each node in a step.
SmallVector<unsigned> placesOf(ArrayRef<unsigned> nodes) {
  SmallVector<unsigned> places(nodes.size(), ~0u);
  for (auto [place, node] : llvm::enumerate(nodes))
    places[node] = place;
  return places;
}

/// Check that a step runs each node once, after what it needs, and overwrites no tile in use.
void expectValid(const ProductGraph &graph, const ProductOrder &order) {
  ASSERT_EQ(order.nodes.size(), graph.size());
  SmallVector<unsigned> places = placesOf(order.nodes);
  SmallVector<unsigned> awaits(graph.size());
  unsigned lastAwait = 0;
  for (unsigned n = 0; n < graph.size(); ++n) {
    ASSERT_NE(places[n], ~0u);
    if (graph[n].kind == Kind::await)
      awaits[graph[n].deps[0]] = n;
  }
  for (unsigned start : order.starts) {
    EXPECT_GE(places[awaits[start]], lastAwait) << "awaits are in the order of the starts";
    lastAwait = places[awaits[start]];
  }
  int64_t inFlight = 0;
  for (unsigned n : order.nodes) {
    inFlight += (graph[n].kind == Kind::start) - (graph[n].kind == Kind::await);
    EXPECT_LE(inFlight, 3);
  }
  for (unsigned n = 0; n < graph.size(); ++n) {
    for (unsigned dep : graph[n].deps) {
      EXPECT_LE(order.stages[dep], order.stages[n]);
      if (order.stages[dep] == order.stages[n]) {
        EXPECT_LT(places[dep], places[n]);
        continue;
      }
      // The step overwrites what the one before computed.
      unsigned writer = graph[dep].kind == Kind::await ? graph[dep].deps[0] : dep;
      unsigned reader = graph[n].kind == Kind::start ? awaits[n] : n;
      if (graph[dep].registers > 4) {
        EXPECT_LT(places[reader], places[writer]);
      }
    }
    for (unsigned dep : graph[n].carried) {
      EXPECT_GE(order.stages[dep], order.stages[n]);
      if (order.stages[dep] > order.stages[n]) {
        EXPECT_LT(places[dep], places[n]);
      }
    }
  }
}

ProductTarget twoGroups() {
  ProductTarget target;
  target.groups = 2;
  target.registers = 216;
  target.sharedBytes = 1 << 20;
  return target;
}

TEST(ProductOrder, RunsTheSecondProductOfAttentionLater) {
  Builder b;
  unsigned s = b.product({}, 256, 40);
  unsigned p = b.compute({s}, 80, 40, 320);
  unsigned factor = b.compute({s}, 2, 2);
  unsigned low = b.pack(p, 20);
  unsigned acc = b.compute({factor}, 0, 128);
  unsigned o = b.product({low, acc}, 512, 128);
  b.graph[o - 1].accumulator = acc;
  b.graph[acc].carried.push_back(o);
  auto order = chooseOrder(b.graph, twoGroups());
  ASSERT_TRUE(order);
  expectValid(b.graph, *order);
  EXPECT_EQ(order->stages[s], 0u);
  EXPECT_EQ(order->stages[o], 1u);
  // The products of both warpgroups take as long, and the exponentials run beside them.
  EXPECT_LE(order->clocks, 1.1 * 2 * (256 + 512));
}

// What roles share slots for: dK of the iteration before starts before dP, so that its operand is
// free sooner; P comes from the other role, so it is read after all that is released.
TEST(ProductOrder, RolesThatShareSlotsFreeThemFirst) {
  Builder b;
  unsigned dp = b.product({}, 512, 32);
  unsigned p = b.compute({}, 8, 32);
  b.graph[p].late = true;
  unsigned ds = b.compute({p, dp}, 64, 32);
  unsigned dk = b.product({b.pack(ds, 16)}, 512, 128);
  b.accumulate(dk);
  ProductTarget target = twoGroups();
  target.sharesSlots = true;
  auto order = chooseOrder(b.graph, target);
  ASSERT_TRUE(order);
  expectValid(b.graph, *order);
  ASSERT_EQ(order->starts.size(), 2u);
  EXPECT_EQ(order->stages[order->starts.front()], 1u);
  EXPECT_EQ(order->stages[order->starts.back()], 0u);
  auto place = [&](unsigned node) { return llvm::find(order->nodes, node) - order->nodes.begin(); };
  EXPECT_GT(place(p), place(dp));
  EXPECT_GT(place(p), place(dk));
  // Elsewhere the product that needs nothing of the iteration before starts first.
  order = chooseOrder(b.graph, twoGroups());
  EXPECT_EQ(order->stages[order->starts.front()], 0u);
}

/// dP, P, dV, dS, dK of a block of keys.
struct KeysLoop : Builder {
  unsigned s, dp, p, low, dv, ds, dsLow, dk;
  KeysLoop() {
    s = product({}, 256, 32);
    dp = product({}, 256, 32);
    p = compute({s}, 64, 32, 256);
    low = pack(p, 16);
    dv = product({low}, 256, 64);
    ds = compute({p, dp}, 64, 32);
    dsLow = pack(ds, 16);
    dk = product({dsLow}, 256, 64);
    accumulate(dv);
    accumulate(dk);
  }
};

TEST(ProductOrder, RunsProductsOfBothSidesOfTheExponentialsBesideThem) {
  KeysLoop b;
  auto order = chooseOrder(b.graph, twoGroups());
  ASSERT_TRUE(order);
  expectValid(b.graph, *order);
  EXPECT_TRUE(order->isPipelined());
  // The tensor cores are never idle, but for what a drain at the edge costs.
  EXPECT_LE(order->clocks, 1.2 * 2 * 4 * 256);
  EXPECT_LE(order->registers.most, 216);
}

TEST(ProductOrder, TakesNoStageThatItsRingsHaveNoRoomFor) {
  KeysLoop b;
  ProductTarget target = twoGroups();
  // Q is read by S and dK, dO by dP and dV.
  target.rings = {{32 << 10, {b.s - 1, b.dk - 1}}, {32 << 10, {b.dp - 1, b.dv - 1}}};
  target.sharedBytes = 4 * (32 << 10);
  auto order = chooseOrder(b.graph, target);
  ASSERT_TRUE(order);
  expectValid(b.graph, *order);
  EXPECT_FALSE(order->isPipelined());
  target.sharedBytes = 6 * (32 << 10);
  order = chooseOrder(b.graph, target);
  ASSERT_TRUE(order);
  EXPECT_TRUE(order->isPipelined());
}

TEST(ProductOrder, KeepsToTheRegisters) {
  KeysLoop b;
  ProductTarget target = twoGroups();
  int64_t most = chooseOrder(b.graph, target)->registers.most;
  target.registers = most - 16;
  auto order = chooseOrder(b.graph, target);
  ASSERT_TRUE(order);
  expectValid(b.graph, *order);
  EXPECT_LE(order->registers.most, most);
}

// The others start products differently, and come by their clocks; beyond the last one there is
// that.
TEST(ProductOrder, TellsTheOthers) {
  KeysLoop b;
  SmallVector<ProductOrder> seen;
  for (size_t others = 0;; ++others) {
    ProductOrder order = *chooseOrder(b.graph, twoGroups(), others);
    expectValid(b.graph, order);
    bool repeats = llvm::any_of(seen, [&](const ProductOrder &other) {
      return other.starts == order.starts && other.stages == order.stages;
    });
    if (others > 1) {
      EXPECT_GE(order.clocks, seen.back().clocks);
    }
    if (repeats)
      break;
    EXPECT_LE(order.registers.most, 216);
    seen.push_back(order);
  }
  EXPECT_GT(seen.size(), 3u);
  EXPECT_EQ(chooseOrder(b.graph, twoGroups(), 1000)->starts, seen.back().starts);
}

TEST(ProductOrder, HasNothingToChooseWithoutProducts) {
  Builder b;
  b.compute({}, 1, 1);
  EXPECT_FALSE(chooseOrder(b.graph, twoGroups()));
}

/// Return a random graph of `products` products with computations between them.
ProductGraph randomGraph(std::mt19937 &random, unsigned products) {
  Builder b;
  auto draw = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  SmallVector<unsigned> values;
  for (unsigned i = 0; i < products; ++i) {
    if (!values.empty() && draw(3) > 0) {
      unsigned x = values[draw(values.size())], y = values[draw(values.size())];
      unsigned c = x == y ? b.compute({x}, 32 + draw(64), 32, draw(2) * 128)
                          : b.compute({x, y}, 32 + draw(64), 32);
      unsigned low = b.pack(c, 16);
      unsigned await = b.product({low}, 128 + 64 * draw(4), 32);
      if (draw(2))
        b.accumulate(await);
      else
        values.push_back(await);
      values.push_back(c);
    } else {
      values.push_back(b.product({}, 128 + 64 * draw(4), 32));
    }
  }
  return b.graph;
}

/// Call `use` with the clocks of each order of the starts that fits, in these stages.
void simulateOrders(const ProductGraph &graph, ArrayRef<unsigned> stages,
                    const ProductTarget &target, llvm::function_ref<void(double)> use) {
  SmallVector<unsigned> starts;
  for (auto [n, node] : llvm::enumerate(graph))
    if (node.kind == Kind::start)
      starts.push_back(n);
  do {
    auto nodes = placeNodes(graph, stages, starts);
    if (nodes && countRegisters(graph, stages, *nodes).most <= target.registers)
      use(simulateSteps(graph, *nodes, target));
  } while (std::next_permutation(starts.begin(), starts.end()));
}

TEST(ProductOrder, RandomGraphsHaveTheBestOrderOfAll) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 300; ++i) {
    SCOPED_TRACE("graph " + std::to_string(i));
    ProductGraph graph = randomGraph(random, 2 + i % 6);
    ProductTarget target = twoGroups();
    auto order = chooseOrder(graph, target);
    ASSERT_TRUE(order);
    expectValid(graph, *order);
    // No order of the starts with the same stages is better by more than counts as better.
    simulateOrders(graph, order->stages, target,
                   [&](double clocks) { EXPECT_GE(1.021 * clocks, order->clocks); });
  }
}

/// Call `use` with each choice of stages that the edges allow, of nodes that need not be in units.
void forEachStages(const ProductGraph &graph, SmallVector<unsigned> &stages,
                   llvm::function_ref<void(ArrayRef<unsigned>)> use) {
  size_t n = stages.size();
  if (n == graph.size()) {
    for (auto [user, node] : llvm::enumerate(graph))
      for (unsigned dep : node.carried)
        if (stages[dep] < stages[user])
          return;
    return use(stages);
  }
  for (unsigned stage : {0u, 1u}) {
    bool fixed = graph[n].kind == Kind::await && stages[graph[n].deps[0]] != stage;
    if (fixed || llvm::any_of(graph[n].deps, [&](unsigned dep) { return stages[dep] > stage; }))
      continue;
    stages.push_back(stage);
    forEachStages(graph, stages, use);
    stages.pop_back();
  }
}

// Twice it may take what counts as equal: of stages, and of orders in them.
TEST(ProductOrder, NoStagesAreBetterThanThoseChosen) {
  std::mt19937 random(13);
  unsigned pipelined = 0;
  for (unsigned i = 0; i < 220; ++i) {
    SCOPED_TRACE("graph " + std::to_string(i));
    ProductGraph graph = randomGraph(random, i < 200 ? 3 + i % 2 : 5);
    ProductTarget target = twoGroups();
    auto order = chooseOrder(graph, target);
    ASSERT_TRUE(order);
    pipelined += order->isPipelined();
    double best = order->clocks;
    SmallVector<unsigned> stages;
    forEachStages(graph, stages, [&](ArrayRef<unsigned> stages) {
      simulateOrders(graph, stages, target, [&](double clocks) { best = std::min(best, clocks); });
    });
    EXPECT_GE(1.021 * 1.021 * best, order->clocks);
  }
  EXPECT_GT(pipelined, 50u);
}

// A build that is not optimized takes longer.
#if defined(NDEBUG) && !LLVM_ADDRESS_SANITIZER_BUILD
TEST(ProductOrder, FiveProductsTakeLessThanFiveMilliseconds) {
  using Clock = std::chrono::steady_clock;
  constexpr unsigned kGraphs = 20;
  constexpr double kMost = 5e-3, kOfOne = 3;
  std::mt19937 random(17);
  double sum = 0;
  for (unsigned i = 0; i < kGraphs; ++i) {
    SCOPED_TRACE("graph " + std::to_string(i));
    ProductGraph graph = randomGraph(random, 5);
    // The least of many: what else the machine does is no part of it.
    double least = 1;
    for (unsigned times = 0; times < 10; ++times) {
      Clock::time_point begin = Clock::now();
      ASSERT_TRUE(chooseOrder(graph, twoGroups()));
      least = std::min(least, std::chrono::duration<double>(Clock::now() - begin).count());
    }
    EXPECT_LE(least, kOfOne * kMost);
    sum += least;
  }
  EXPECT_LE(sum / kGraphs, kMost);
}
#endif

/// Return the graph of a fused step of gradients: five products, of which the last one reads what
/// all warps put; its sums are added to memory.
ProductGraph makeFused(int64_t tile, int64_t sums, int64_t part) {
  Builder b;
  unsigned scores = b.product({}, 512, tile);
  unsigned weights = b.compute({scores}, 64, tile, 8 * tile);
  unsigned packed = b.pack(weights, tile / 2);
  unsigned other = b.product({}, 512, tile);
  b.accumulate(b.product({packed}, 256, sums));
  unsigned derived = b.compute({weights, other}, 96, tile);
  unsigned packedToo = b.pack(derived, tile / 2);
  b.accumulate(b.product({packedToo}, 256, sums));
  unsigned put = b.compute({packedToo}, 16, 0);
  b.graph[put].sends = b.graph[put].meets = true;
  unsigned sum = b.product({put}, 384, part);
  b.compute({sum}, 32, 0);
  return b.graph;
}

static ProductTarget makeFusedTarget() {
  ProductTarget target;
  target.registers = 216;
  target.sharedBytes = 1 << 20;
  return target;
}

// Where warps meet in each step, the scores run ahead, all else comes as in the program, with a
// drain where the registers ask for it: before the second product of packed operands.
TEST(ProductOrder, FusedStep) {
  ProductGraph graph = makeFused(/*tile=*/32, /*sums=*/64, /*part=*/32);
  SmallVector<unsigned> starts;
  for (auto [n, node] : llvm::enumerate(graph))
    if (node.kind == Kind::start)
      starts.push_back(n);
  std::optional<ProductOrder> order = chooseOrder(graph, makeFusedTarget());
  ASSERT_TRUE(order);
  expectValid(graph, *order);
  unsigned scores = starts[0], other = starts[1], first = starts[2], second = starts[3],
           part = starts[4];
  EXPECT_EQ(order->starts, (SmallVector<unsigned>{other, first, second, part, scores}));
  for (unsigned start : starts)
    EXPECT_EQ(order->stages[start], start == scores ? 0u : 1u);
  ASSERT_TRUE(order->drained);
  EXPECT_EQ(*order->drained, second);
  SmallVector<unsigned> places = placesOf(order->nodes);
  unsigned put = llvm::find_if(graph, std::mem_fn(&ProductNode::sends)) - graph.begin();
  // Written before the wait for the first sum, met after the second one has started.
  EXPECT_LT(places[put], places[first + 1]);
  EXPECT_LT(places[first + 1], places[second]);
  EXPECT_LT(places[second], places[part]);
  // Added to memory while the next scores are computed.
  EXPECT_LT(places[scores], places[part + 1]);
  EXPECT_LT(places[part + 2], places[scores + 1]);
}

// With registers for all operands nothing is drained but at the end.
TEST(ProductOrder, FusedStepThatFits) {
  ProductGraph graph = makeFused(/*tile=*/8, /*sums=*/16, /*part=*/8);
  std::optional<ProductOrder> order = chooseOrder(graph, makeFusedTarget());
  ASSERT_TRUE(order);
  expectValid(graph, *order);
  EXPECT_FALSE(order->drained);
}

} // namespace
