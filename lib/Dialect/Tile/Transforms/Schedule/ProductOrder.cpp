//===- ProductOrder.cpp - the best order of a loop of products -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. units: nodes that get one stage. A start and its await are one; computations are one
//      that have the same products before and after them, in this iteration and the next;
//   2. stages of units: a value is used in the stage that computes it or in the next one, and
//      what the iteration before computes likewise;
//   3. orders of the starts, each placed as in placeNodes, where it is allowed;
//   4. each order is simulated; the best one that fits into the registers is taken.
//
// Where all warps meet in each step 3 is the order of the program but for one product that runs
// ahead, with and without a drain before one of the starts.
//
// The search has an end: at most kMostTried choices of stages, kMostOrders of them, and orders.
//
//===----------------------------------------------------------------------===//

#include "ProductOrder.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

using namespace mlir;
using namespace mlir::tile;

using Kind = ProductNode::Kind;

static constexpr size_t kMostProducts = 16, kMostOrders = 3000, kMostTried = 1 << 17;

/// Return the await of each start, and of everything else the node itself.
static SmallVector<unsigned> findAwaits(const ProductGraph &graph) {
  SmallVector<unsigned> awaits = llvm::to_vector(llvm::seq<unsigned>(0, graph.size()));
  for (auto [n, node] : llvm::enumerate(graph))
    if (node.kind == Kind::await)
      awaits[node.deps.front()] = n;
  return awaits;
}

static SmallVector<SmallVector<unsigned, 4>> findUsers(const ProductGraph &graph) {
  SmallVector<SmallVector<unsigned, 4>> users(graph.size());
  for (auto [n, node] : llvm::enumerate(graph))
    for (unsigned dep : node.deps)
      users[dep].push_back(n);
  return users;
}

//===----------------------------------------------------------------------===//
// 3. Places
//===----------------------------------------------------------------------===//

namespace {

/// Places the nodes of a step one after the other.
class Placer {
public:
  Placer(const ProductGraph &graph, ArrayRef<unsigned> stages);
  /// Place a start and what must be before it; false if another start must be.
  bool placeStart(unsigned start, bool drained = false);
  /// Place all else, once all starts are.
  bool placeRest();
  SmallVector<unsigned> takePlaced() { return std::move(placed); }

private:
  enum class State : uint8_t { none, visiting, done };
  /// Hold what is so whatever the order of the starts is; copies share it.
  struct Rules {
    Rules(const ProductGraph &graph, ArrayRef<unsigned> stages);
    void keepUntil(const ProductGraph &graph, unsigned node, unsigned until);

    SmallVector<unsigned> awaits, senders;
    /// List what is placed before each node.
    SmallVector<SmallVector<unsigned, 4>> before;
  };
  bool place(unsigned node, unsigned start);
  bool placeAwaits(unsigned until);
  bool isReady(unsigned node) const;

  const ProductGraph &graph;
  std::shared_ptr<const Rules> rules;
  SmallVector<State> states;
  SmallVector<unsigned> started, placed;
  unsigned ended = 0;
};

} // namespace

Placer::Placer(const ProductGraph &graph, ArrayRef<unsigned> stages)
    : graph(graph), rules(std::make_shared<Rules>(graph, stages)),
      states(graph.size(), State::none) {}

Placer::Rules::Rules(const ProductGraph &graph, ArrayRef<unsigned> stages)
    : awaits(findAwaits(graph)), before(graph.size()) {
  SmallVector<SmallVector<unsigned, 4>> users = findUsers(graph);
  for (auto [n, node] : llvm::enumerate(graph)) {
    if (node.sends)
      senders.push_back(n);
    for (unsigned dep : node.deps)
      if (stages[dep] == stages[n])
        before[n].push_back(dep);
    for (unsigned dep : node.carried)
      if (stages[dep] == stages[n] + 1)
        before[n].push_back(dep);
    // A tile that the later stage of the step before reads still is in its registers. There are
    // others for vectors.
    constexpr int64_t kVector = 4;
    if (stages[n] == 0 && !node.free && node.registers > kVector)
      for (unsigned user : users[n])
        if (stages[user] == 1)
          keepUntil(graph, n, awaits[user]);
  }
}

/// Let the node overwrite its registers only after `until`.
void Placer::Rules::keepUntil(const ProductGraph &graph, unsigned node, unsigned until) {
  if (graph[node].kind == Kind::await)
    node = graph[node].deps.front();
  before[node].push_back(until);
  // The last conversions of an operand are of no use before.
  if (graph[node].packs)
    for (unsigned dep : graph[node].deps)
      if (graph[dep].packs)
        keepUntil(graph, dep, until);
}

bool Placer::place(unsigned node, unsigned start) {
  if (states[node] == State::done)
    return true;
  bool isOtherStart = graph[node].kind == Kind::start && node != start;
  if (states[node] == State::visiting || isOtherStart)
    return false;
  states[node] = State::visiting;
  for (unsigned first : rules->before[node])
    if (!place(first, start))
      return false;
  // Products end in the order of their starts.
  if (graph[node].kind == Kind::await && !placeAwaits(node))
    return false;
  if (states[node] != State::done) {
    states[node] = State::done;
    placed.push_back(node);
  }
  return true;
}

bool Placer::placeAwaits(unsigned until) {
  while (ended < started.size()) {
    unsigned await = rules->awaits[started[ended]];
    ++ended;
    states[await] = State::done;
    placed.push_back(await);
    if (await == until)
      return true;
  }
  return false;
}

bool Placer::placeStart(unsigned start, bool drained) {
  // The queue of the tensor cores is no deeper.
  constexpr size_t kMostInFlight = 3;
  if (started.size() - ended == kMostInFlight && !place(rules->awaits[started[ended]], start))
    return false;
  // What runs beside the products that are waited for comes before.
  for (unsigned first : rules->before[start])
    if (!place(first, start))
      return false;
  for (unsigned sender : rules->senders)
    if (isReady(sender) && !place(sender, start))
      return false;
  if (drained && ended < started.size() && !place(rules->awaits[started.back()], start))
    return false;
  if (!place(start, start))
    return false;
  started.push_back(start);
  return true;
}

/// Return whether the node can be placed before the next await.
bool Placer::isReady(unsigned node) const {
  if (states[node] == State::done)
    return true;
  return graph[node].kind == Kind::compute &&
         llvm::all_of(rules->before[node], [&](unsigned first) { return isReady(first); });
}

bool Placer::placeRest() {
  unsigned none = graph.size();
  for (bool first = true;; first = false) {
    for (unsigned node = 0; node < graph.size(); ++node)
      if (states[node] != State::done && (!first || graph[node].early) && !graph[node].late &&
          isReady(node) && !place(node, none))
        return false;
    if (ended == started.size())
      break;
    if (!place(rules->awaits[started[ended]], none))
      return false;
  }
  for (unsigned node = 0; node < graph.size(); ++node)
    if (!place(node, none))
      return false;
  return true;
}

std::optional<SmallVector<unsigned>> tile::placeNodes(const ProductGraph &graph,
                                                      ArrayRef<unsigned> stages,
                                                      ArrayRef<unsigned> starts,
                                                      std::optional<unsigned> drained) {
  Placer placer(graph, stages);
  for (unsigned start : starts)
    if (!placer.placeStart(start, start == drained))
      return std::nullopt;
  if (!placer.placeRest())
    return std::nullopt;
  return placer.takePlaced();
}

//===----------------------------------------------------------------------===//
// 4. Costs
//===----------------------------------------------------------------------===//

/// Simulate steps; `use` is called for what the last one keeps busy. Return its clocks.
static double simulate(const ProductGraph &graph, ArrayRef<unsigned> nodes,
                       const ProductTarget &target,
                       llvm::function_ref<void(const ProductUnit &)> use) {
  // A warp that is alone issues so much of the time; what it waits for has a latency.
  constexpr double kIssueAlone = 0.6, kLatency = 78;
  // What a warp wrote is there for products of others after a fence and a barrier.
  constexpr double kMeeting = 150;
  constexpr unsigned kSteps = 8, kWarmup = 4;
  double groups = target.groups, now = 0, tensorFree = 0, warm = 0, begin = 0;
  SmallVector<double> ends(graph.size());
  for (unsigned step = 0; step < kSteps; ++step) {
    if (step == kWarmup)
      warm = now;
    begin = now;
    auto busy = [&](ProductUnit::Kind kind, unsigned n, double from, double clocks) {
      if (use && step + 1 == kSteps && clocks > 0)
        use({kind, n, from - begin, from + clocks - begin});
    };
    for (unsigned n : nodes) {
      const ProductNode &node = graph[n];
      // All warps have come when the last one has.
      for (unsigned dep : node.deps)
        if (graph[dep].sends)
          now = std::max(now, ends[dep]);
      if (node.kind == Kind::start) {
        double from = std::max(tensorFree, now);
        tensorFree = from + groups * node.product;
        busy(ProductUnit::Kind::tensor, n, from, groups * node.product);
        ends[n] = tensorFree + kLatency;
      } else if (node.kind == Kind::await) {
        now = std::max(now, ends[node.deps.front()]);
      } else {
        busy(ProductUnit::Kind::issue, n, now, groups * node.issue);
        busy(ProductUnit::Kind::special, n, now, groups * node.special);
        now += std::max({node.issue / kIssueAlone, groups * node.issue, groups * node.special});
        ends[n] = now + (node.sends ? kMeeting : 0);
      }
    }
  }
  return (now - warm) / (kSteps - kWarmup);
}

double tile::simulateSteps(const ProductGraph &graph, ArrayRef<unsigned> nodes,
                           const ProductTarget &target) {
  return simulate(graph, nodes, target, nullptr);
}

SmallVector<std::string, 3> tile::drawTimeline(const ProductGraph &graph, const ProductOrder &order,
                                               const ProductTarget &target) {
  constexpr size_t kColumns = 64;
  SmallVector<ProductUnit> used;
  double clocks =
      simulate(graph, order.nodes, target, [&](const ProductUnit &unit) { used.push_back(unit); });
  auto draw = [&](ProductUnit::Kind kind) {
    std::string line(kColumns, '.');
    for (const ProductUnit &unit : used) {
      if (unit.kind != kind)
        continue;
      bool before = order.stages[unit.node] == 1;
      size_t number = llvm::find(order.starts, unit.node) - order.starts.begin();
      char sign = kind != ProductUnit::Kind::tensor ? (before ? '=' : '#')
                                                    : char((before ? 'a' : 'A') + number);
      auto first = static_cast<size_t>(unit.from / clocks * kColumns + 0.5),
           last = static_cast<size_t>(unit.to / clocks * kColumns + 0.5);
      for (size_t column = first; column < last; ++column)
        line[column % kColumns] = sign;
    }
    return line;
  };
  SmallVector<std::string, 3> lines;
  auto add = [&](ProductUnit::Kind kind, const char *name) {
    if (llvm::any_of(used, [&](const ProductUnit &unit) { return unit.kind == kind; }))
      lines.push_back(name + draw(kind));
  };
  add(ProductUnit::Kind::tensor, "tensor cores      ");
  add(ProductUnit::Kind::issue, "issue ports       ");
  add(ProductUnit::Kind::special, "special functions ");
  return lines;
}

RegisterCount tile::countRegisters(const ProductGraph &graph, ArrayRef<unsigned> stages,
                                   ArrayRef<unsigned> nodes, bool untilDrained) {
  size_t count = nodes.size();
  SmallVector<size_t> place(graph.size());
  for (auto [p, n] : llvm::enumerate(nodes))
    place[n] = p;
  SmallVector<unsigned> awaits = findAwaits(graph);
  // The last await of those that are in flight together.
  int64_t inFlight = 0;
  SmallVector<unsigned> ending;
  for (unsigned n : nodes) {
    inFlight += graph[n].kind == Kind::start;
    if (graph[n].kind != Kind::await || !untilDrained)
      continue;
    ending.push_back(graph[n].deps.front());
    if (--inFlight > 0)
      continue;
    for (unsigned start : ending)
      awaits[start] = n;
    ending.clear();
  }
  // The last use of each value, in places from the beginning of the step that computes it.
  SmallVector<size_t> last(graph.size());
  for (unsigned n = 0; n < graph.size(); ++n)
    last[n] = place[n];
  for (unsigned n = graph.size(); n-- > 0;) {
    for (unsigned dep : graph[n].deps) {
      size_t use = graph[n].aliases              ? last[n]
                   : graph[n].accumulator == dep ? place[n]
                                                 : place[awaits[n]];
      last[dep] = std::max(last[dep], use + (stages[n] - stages[dep]) * count);
    }
    for (unsigned dep : graph[n].carried)
      last[dep] = std::max(last[dep], place[n] + (1 + stages[n] - stages[dep]) * count);
  }
  // What comes to be live at each place, and in the whole step.
  SmallVector<int64_t> change(count + 1);
  int64_t now = 0;
  for (unsigned n = 0; n < graph.size(); ++n) {
    if (untilDrained && graph[n].early)
      continue;
    int64_t registers = graph[n].registers;
    size_t steps = (last[n] - place[n]) / count, end = last[n] - steps * count;
    now += registers * steps;
    change[place[n]] += registers;
    if (end > count) {
      change[0] += registers;
      end -= count;
    }
    change[end] -= registers;
  }
  RegisterCount counted;
  for (size_t p = 0; p < count; ++p) {
    now += change[p];
    counted.most = std::max(counted.most, now);
    counted.mean += double(now) / count;
  }
  return counted;
}

//===----------------------------------------------------------------------===//
// 1 and 2. Units and their stages
//===----------------------------------------------------------------------===//

namespace {

class Search {
public:
  Search(const ProductGraph &graph, const ProductTarget &target);
  std::optional<ProductOrder> run(size_t others);

private:
  void findUnits();
  void assign(size_t unit, SmallVectorImpl<unsigned> &stages);
  void finish(SmallVector<unsigned> stages);
  void order(ArrayRef<unsigned> stages, const Placer &placer, SmallVectorImpl<unsigned> &starts);
  void evaluate(ArrayRef<unsigned> stages, ArrayRef<unsigned> starts, ArrayRef<unsigned> nodes,
                std::optional<unsigned> drained = std::nullopt);
  const ProductOrder *choose() const;
  const ProductOrder *chooseMeeting();
  const ProductOrder *choose(const ProductOrder &best, size_t others) const;
  /// Return whether all warps meet in each step.
  bool meets() const {
    return llvm::any_of(graph, [](const ProductNode &node) { return node.meets; });
  }

  const ProductGraph &graph;
  const ProductTarget &target;
  SmallVector<SmallVector<unsigned, 4>> users;
  SmallVector<unsigned> starts;
  /// Nodes of each unit; those that no product of the iteration is before follow their users.
  std::vector<SmallVector<unsigned>> units;
  SmallVector<unsigned> followers;
  SmallVector<SmallVector<unsigned>> assignments;
  size_t tried = 0; // choices of stages
  std::vector<ProductOrder> orders;
};

} // namespace

Search::Search(const ProductGraph &graph, const ProductTarget &target)
    : graph(graph), target(target), users(findUsers(graph)) {
  for (auto [n, node] : llvm::enumerate(graph))
    if (node.kind == Kind::start)
      starts.push_back(n);
}

void Search::findUnits() {
  // Products as bits: those before and after a node in its iteration, and across iterations.
  using Set = uint64_t;
  size_t count = graph.size();
  SmallVector<Set> own(count), before(count), after(count), earlier(count), later(count);
  for (auto [bit, start] : llvm::enumerate(starts))
    own[start] = Set(1) << bit;
  for (size_t n = 0; n < count; ++n)
    for (unsigned dep : graph[n].deps)
      before[n] |= before[dep] | own[dep];
  for (size_t n = count; n-- > 0;)
    for (unsigned dep : graph[n].deps)
      after[dep] |= after[n] | own[n];
  for (bool changed = true; changed;) {
    changed = false;
    auto grow = [&](Set &set, Set more) {
      changed |= (set | more) != set;
      set |= more;
    };
    for (size_t n = 0; n < count; ++n) {
      for (unsigned dep : graph[n].deps)
        grow(earlier[n], earlier[dep]);
      for (unsigned dep : graph[n].carried)
        grow(earlier[n], earlier[dep] | before[dep] | own[dep]);
    }
    for (size_t n = count; n-- > 0;) {
      for (unsigned dep : graph[n].deps)
        grow(later[dep], later[n]);
      for (unsigned dep : graph[n].carried)
        grow(later[dep], later[n] | after[n] | own[n]);
    }
  }
  std::map<std::tuple<Set, Set, Set, Set>, size_t> known;
  SmallVector<size_t> ofStart(count);
  for (size_t n = 0; n < count; ++n) {
    const ProductNode &node = graph[n];
    if (node.kind == Kind::start) {
      ofStart[n] = units.size();
      units.push_back({static_cast<unsigned>(n)});
    } else if (node.kind == Kind::await) {
      units[ofStart[node.deps.front()]].push_back(n);
    } else if (before[n] == 0 && earlier[n] == 0) {
      followers.push_back(n);
    } else {
      auto key = std::tuple(before[n], after[n], earlier[n], later[n]);
      auto [at, isNew] = known.try_emplace(key, units.size());
      if (isNew)
        units.emplace_back();
      units[at->second].push_back(n);
    }
  }
}

/// Give the units from `unit` on each of their stages in turn.
void Search::assign(size_t unit, SmallVectorImpl<unsigned> &stages) {
  if (tried >= kMostTried || assignments.size() >= kMostOrders)
    return;
  if (unit == units.size())
    return finish(llvm::to_vector(stages));
  for (unsigned stage : {0u, 1u}) {
    bool allowed = true;
    for (unsigned n : units[unit])
      stages[n] = stage;
    // Users may precede in the list of units, so what is not assigned yet is checked by finish.
    for (unsigned n : units[unit])
      for (unsigned dep : graph[n].deps)
        allowed &= stages[dep] == ~0u || stages[dep] <= stage;
    if (allowed)
      assign(unit + 1, stages);
  }
  for (unsigned n : units[unit])
    stages[n] = ~0u;
}

/// Add the assignment if all edges allow it.
void Search::finish(SmallVector<unsigned> stages) {
  ++tried;
  for (unsigned n : llvm::reverse(followers)) {
    stages[n] = 1;
    for (unsigned user : users[n])
      stages[n] = std::min(stages[n], stages[user]);
    if (users[n].empty() || (graph[n].ahead && meets()))
      stages[n] = 0;
  }
  for (auto [n, node] : llvm::enumerate(graph)) {
    for (unsigned dep : node.deps)
      if (stages[dep] > stages[n])
        return;
    for (unsigned dep : node.carried)
      if (stages[dep] < stages[n])
        return;
  }
  // Stage 1 alone is stage 0.
  int64_t later = llvm::count_if(starts, [&](unsigned start) { return stages[start] == 1; });
  if (later == static_cast<int64_t>(starts.size()))
    return;
  int64_t bytes = 0;
  for (const ProductRing &ring : target.rings)
    bytes += ring.bytes * ring.countSlots(stages);
  if (later == 0 || bytes <= target.sharedBytes)
    assignments.push_back(std::move(stages));
}

void Search::order(ArrayRef<unsigned> stages, const Placer &placer,
                   SmallVectorImpl<unsigned> &chosen) {
  if (orders.size() >= kMostOrders)
    return;
  if (chosen.size() == starts.size()) {
    Placer last = placer;
    if (last.placeRest())
      evaluate(stages, chosen, last.takePlaced());
    return;
  }
  for (unsigned start : starts) {
    if (llvm::is_contained(chosen, start))
      continue;
    Placer next = placer;
    if (!next.placeStart(start))
      continue;
    chosen.push_back(start);
    order(stages, next, chosen);
    chosen.pop_back();
  }
}

void Search::evaluate(ArrayRef<unsigned> stages, ArrayRef<unsigned> starts,
                      ArrayRef<unsigned> nodes, std::optional<unsigned> drained) {
  ProductOrder &order = orders.emplace_back();
  order.stages.assign(stages.begin(), stages.end());
  order.starts.assign(starts.begin(), starts.end());
  order.nodes.assign(nodes.begin(), nodes.end());
  order.registers = countRegisters(graph, stages, nodes);
  order.clocks = simulateSteps(graph, nodes, target);
  order.drained = drained;
}

/// Choose for warps that meet in each step, of orders of one product that runs ahead: they never
/// drift apart, so that one's products do not run beside another's arithmetic. The others come as
/// in the program, each beside what is computed for the next one, and the one ahead comes last,
/// which is what was measured on a device. What is left is where to drain.
const ProductOrder *Search::chooseMeeting() {
  for (ArrayRef<unsigned> stages : assignments) {
    auto isAhead = [&](unsigned start) { return stages[start] == 0; };
    if (llvm::count_if(starts, isAhead) != 1)
      continue;
    SmallVector<unsigned> order;
    llvm::copy_if(starts, std::back_inserter(order), std::not_fn(isAhead));
    llvm::copy_if(starts, std::back_inserter(order), isAhead);
    if (auto nodes = placeNodes(graph, stages, order))
      evaluate(stages, order, *nodes);
    // A drain frees operands in registers, where there are such before it.
    bool frees = false;
    for (unsigned start : order) {
      if (auto nodes = frees ? placeNodes(graph, stages, order, start) : std::nullopt)
        evaluate(stages, order, *nodes, start);
      frees |= llvm::any_of(graph[start].deps, [&](unsigned dep) { return graph[dep].packs; });
    }
  }
  // An assembler keeps what products read until none is in flight.
  int64_t least = std::numeric_limits<int64_t>::max();
  for (ProductOrder &order : orders) {
    order.registers = countRegisters(graph, order.stages, order.nodes, /*untilDrained=*/true);
    least = std::min(least, order.registers.most);
  }
  bool fits = least <= target.registers;
  const ProductOrder *chosen = nullptr;
  for (const ProductOrder &order : orders)
    if (order.registers.most <= (fits ? target.registers : least) && (fits || order.drained) &&
        (!chosen || order.clocks < chosen->clocks))
      chosen = &order;
  return chosen;
}

/// Return the order of the fewest clocks of those that fit, of those that are as good the simplest
/// one: products start as in the program, or, where registers are scarce, so that the fewest are
/// live.
const ProductOrder *Search::choose() const {
  // Two products in a chain: the second one later and nothing else, which is what was measured on a
  // device. What is simulated is not right by as little as others differ. Where slots are shared,
  // it starts before the other one, so that what it reads is free again sooner.
  if (starts.size() <= 2) {
    unsigned first = target.sharesSlots ? 1 : 0;
    for (const ProductOrder &order : orders)
      if (order.stages[order.starts.front()] == first &&
          order.stages[order.starts.back()] == 1 - first)
        return &order;
  }
  // Counted registers are closer to each other than to those of an assembler, and so are
  // simulated clocks to those of a device.
  constexpr int64_t kSameRegisters = 8;
  constexpr double kSameClocks = 1.02;
  // Functions take registers that are not counted: orders spill least that leave computations in
  // their iteration.
  constexpr double kSimplerOfFunctions = 1.3;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const ProductOrder &order : orders)
    least = std::min(least, order.registers.most);
  int64_t limit = std::max(target.registers, least + kSameRegisters);
  auto countLater = [&](const ProductOrder &order) {
    return llvm::count_if(starts, [&](unsigned start) { return order.stages[start] == 1; });
  };
  // The fewest clocks of orders that run so many products later.
  std::map<int64_t, double> fewest;
  double best = std::numeric_limits<double>::infinity();
  for (const ProductOrder &order : orders)
    if (order.registers.most <= limit) {
      double &mine = fewest.try_emplace(countLater(order), order.clocks).first->second;
      mine = std::min(mine, order.clocks);
      best = std::min(best, order.clocks);
    }
  auto group =
      llvm::find_if(fewest, [&](auto &group) { return group.second <= kSameClocks * best; });
  if (group == fewest.end())
    return nullptr;
  double most = group->second * (target.hasFunctions ? kSimplerOfFunctions : kSameClocks);
  // The stages of the first order that is as good, and the fewest live registers of their orders.
  SmallVector<const ProductOrder *> alike;
  double mean = std::numeric_limits<double>::infinity();
  for (const ProductOrder &order : orders)
    if (order.registers.most <= limit && order.clocks <= most &&
        countLater(order) == group->first &&
        (alike.empty() || order.stages == alike.front()->stages)) {
      alike.push_back(&order);
      mean = std::min(mean, order.registers.mean);
    }
  // Products start as in the program, where that costs no more registers than so many.
  constexpr double kLiveRegisters = 6;
  auto isChosen = [&](const ProductOrder *order) {
    bool scarce = target.hasFunctions || order->registers.most > target.registers;
    return order->registers.mean <= mean + (scarce ? 0 : kLiveRegisters);
  };
  return *llvm::find_if(alike, isChosen);
}

/// Return one of the orders that start products in another order or in other stages than the best
/// one, of orders that start them alike the one that takes the fewest clocks.
const ProductOrder *Search::choose(const ProductOrder &best, size_t others) const {
  if (others == 0)
    return &best;
  auto isAlike = [&](const ProductOrder &a, const ProductOrder &b) {
    return a.starts == b.starts && a.drained == b.drained &&
           llvm::all_of(starts, [&](unsigned start) { return a.stages[start] == b.stages[start]; });
  };
  SmallVector<const ProductOrder *> ranked = {&best}, sorted;
  for (const ProductOrder &order : orders)
    if (order.registers.most <= std::max(best.registers.most, target.registers))
      sorted.push_back(&order);
  llvm::stable_sort(sorted, [](auto *a, auto *b) { return a->clocks < b->clocks; });
  for (const ProductOrder *order : sorted) {
    if (ranked.size() > others)
      break;
    if (llvm::none_of(ranked, [&](auto *other) { return isAlike(*order, *other); }))
      ranked.push_back(order);
  }
  return ranked.back();
}

std::optional<ProductOrder> Search::run(size_t others) {
  if (starts.empty() || starts.size() > kMostProducts)
    return std::nullopt;
  findUnits();
  SmallVector<unsigned> stages(graph.size(), ~0u);
  assign(0, stages);
  // The fewest products that run later first, then the least else.
  llvm::sort(assignments, [&](auto &a, auto &b) {
    auto rank = [&](ArrayRef<unsigned> stages) {
      auto isLater = [&](unsigned n) { return stages[n] == 1; };
      return std::tuple(llvm::count_if(starts, isLater), llvm::count(stages, 1u), stages);
    };
    return rank(a) < rank(b);
  });
  if (meets())
    if (const ProductOrder *best = chooseMeeting())
      return *choose(*best, others);
  for (ArrayRef<unsigned> stages : assignments) {
    SmallVector<unsigned> chosen;
    order(stages, Placer(graph, stages), chosen);
  }
  const ProductOrder *best = choose();
  return best ? std::optional(*choose(*best, others)) : std::nullopt;
}

std::optional<ProductOrder> tile::chooseOrder(const ProductGraph &graph,
                                              const ProductTarget &target, size_t others) {
  return Search(graph, target).run(others);
}
