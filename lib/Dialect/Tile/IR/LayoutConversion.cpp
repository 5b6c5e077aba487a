//===- LayoutConversion.cpp - how a tile changes its layout -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 1. Warps must own the same part of the tile in both layouts, else only shared
//    memory serves. Then all warps do what the first one does.
// 2. A register that all lanes find in one register of their own moves for free.
// 3. Else elements travel in units as large as a 32-bit register, from the
//    thread itself if it has a copy, else from the nearest lane that has one.
// 4. Travels are packed into rounds, in which a lane gives one unit (to as many
//    lanes as want it) and takes one. Greedy: in the order of results and in
//    the order of sources, whichever takes fewer instructions.
//
//===----------------------------------------------------------------------===//

#include "fa/Dialect/Tile/IR/LayoutConversion.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

using namespace mlir::tile;

static constexpr int64_t kLanes = Layout::kLanes;

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

llvm::SmallVector<int> LaneTable::distinct() const {
  std::set<int> all(values.begin(), values.end());
  all.erase(kNone);
  return llvm::SmallVector<int>(all.begin(), all.end());
}

std::optional<int> LaneTable::asConstant() const {
  llvm::SmallVector<int> all = distinct();
  return all.size() == 1 ? std::optional(all.front()) : std::nullopt;
}

std::optional<int> LaneTable::asXor() const {
  std::optional<int> mask;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (values[lane] == kNone)
      continue;
    if (mask && *mask != (lane ^ values[lane]))
      return std::nullopt;
    mask = lane ^ values[lane];
  }
  return mask;
}

uint32_t LaneTable::lanesWith(int value) const {
  uint32_t mask = 0;
  for (int lane = 0; lane < kLanes; ++lane)
    mask |= static_cast<uint32_t>(values[lane] == value) << lane;
  return mask;
}

int64_t ConversionPlan::numSelects() const {
  auto choices = [](const LaneTable &table) -> int64_t {
    return std::max<int64_t>(static_cast<int64_t>(table.distinct().size()) - 1, 0);
  };
  int64_t selects = 0;
  std::vector<int64_t> sources(own.size());
  for (auto [unit, table] : llvm::enumerate(own))
    sources[unit] = table.distinct().size();
  for (const ShuffleRound &round : rounds) {
    selects += choices(round.give);
    for (int unit : round.into.distinct())
      ++sources[unit];
  }
  for (int64_t count : sources)
    selects += std::max<int64_t>(count - 1, 0);
  return selects;
}

//===----------------------------------------------------------------------===//
// Who has what
//===----------------------------------------------------------------------===//

namespace {

/// A lane of a warp, and its unit.
struct Place {
  int lane, unit;
};

/// The elements of a warp of `layout`, by the first register of their unit.
using Places = std::map<Coords, llvm::SmallVector<Place, 2>>;

/// A unit that a lane wants and has not.
struct Travel {
  Place source;
  int lane, unit;
};

} // namespace

/// Collect the places of all elements of a warp.
static Places findPlaces(const Layout &layout, int64_t registersPerUnit) {
  Places places;
  for (int lane = 0; lane < kLanes; ++lane)
    for (int64_t unit = 0, n = layout.numRegs() / registersPerUnit; unit < n; ++unit)
      places[layout.at(unit * registersPerUnit, lane, 0)].push_back({lane, static_cast<int>(unit)});
  return places;
}

/// Do step 1.
static bool sameWarps(const Layout &from, const Layout &to) {
  if (from.numWarps() != to.numWarps())
    return false;
  for (int64_t w = 0, n = from.numWarps(); w < n; ++w)
    if (from.at(0, 0, w) != to.at(0, 0, w))
      return false;
  return true;
}

/// Return whether units of so many registers hold neighbours alike in both layouts.
static bool areUnits(const Layout &from, const Layout &to, int64_t count) {
  if (from.numRegs() % count != 0 || to.numRegs() % count != 0)
    return false;
  for (const Layout *layout : {&from, &to})
    for (int64_t reg = 0, n = layout->numRegs(); reg < n; ++reg) {
      Coords first = layout->offsetOfReg(reg - reg % count);
      Coords expected = from.offsetOfReg(reg % count);
      for (auto [coord, base] : llvm::zip_equal(expected, first))
        coord += base;
      if (layout->offsetOfReg(reg) != expected)
        return false;
    }
  return true;
}

//===----------------------------------------------------------------------===//
// Steps 2 to 4
//===----------------------------------------------------------------------===//

/// Fill `own`, and list what must travel; false if the warp has not all of it.
static bool findSources(const Layout &from, const Layout &to, ConversionPlan &plan,
                        std::vector<Travel> &travels) {
  Places places = findPlaces(from, plan.registersPerUnit);
  int64_t units = to.numRegs() / plan.registersPerUnit;
  plan.own.assign(units, LaneTable());
  for (int unit = 0; unit < units; ++unit) {
    for (int lane = 0; lane < kLanes; ++lane) {
      auto found = places.find(to.at(unit * plan.registersPerUnit, lane, 0));
      if (found == places.end())
        return false;
      const Place *best = &found->second.front();
      for (const Place &place : found->second)
        if ((place.lane ^ lane) < (best->lane ^ lane))
          best = &place;
      if (best->lane == lane)
        plan.own[unit][lane] = best->unit;
      else
        travels.push_back({*best, lane, unit});
    }
  }
  return true;
}

static std::vector<ShuffleRound> makeRounds(llvm::ArrayRef<Travel> travels) {
  std::vector<ShuffleRound> rounds;
  for (const Travel &travel : travels) {
    auto fits = [&](const ShuffleRound &round) {
      int given = round.give[travel.source.lane];
      return round.from[travel.lane] == LaneTable::kNone &&
             (given == LaneTable::kNone || given == travel.source.unit);
    };
    auto round = llvm::find_if(rounds, fits);
    if (round == rounds.end())
      round = rounds.insert(rounds.end(), ShuffleRound());
    round->give[travel.source.lane] = travel.source.unit;
    round->from[travel.lane] = travel.source.lane;
    round->into[travel.lane] = travel.unit;
  }
  return rounds;
}

static void pack(std::vector<Travel> travels, ConversionPlan &plan) {
  ConversionPlan other = plan;
  plan.rounds = makeRounds(travels);
  llvm::sort(travels, [](const Travel &x, const Travel &y) {
    return std::tuple(x.source.unit, x.source.lane, x.unit, x.lane) <
           std::tuple(y.source.unit, y.source.lane, y.unit, y.lane);
  });
  other.rounds = makeRounds(travels);
  auto cost = [](const ConversionPlan &p) { return 2 * p.numShuffles() + p.numSelects(); };
  if (cost(other) < cost(plan))
    plan = std::move(other);
}

ConversionPlan mlir::tile::planConversion(const Layout &from, const Layout &to,
                                          unsigned elementBits) {
  ConversionPlan plan;
  plan.kind = ConversionKind::shared;
  if (from.getRank() != to.getRank() || !sameWarps(from, to))
    return plan;
  std::vector<Travel> travels;
  if (!findSources(from, to, plan, travels)) {
    plan.own.clear();
    return plan;
  }
  auto isConstant = [](const LaneTable &table) { return table.asConstant().has_value(); };
  if (travels.empty() && llvm::all_of(plan.own, isConstant)) {
    bool same = from.numRegs() == to.numRegs();
    for (auto [reg, table] : llvm::enumerate(plan.own))
      same &= table[0] == static_cast<int>(reg);
    plan.kind = same ? ConversionKind::none : ConversionKind::registers;
    return plan;
  }
  plan.kind = ConversionKind::shuffles;
  for (int64_t count = 32 / elementBits; count > 1; count /= 2) {
    ConversionPlan wide = plan;
    wide.registersPerUnit = count;
    std::vector<Travel> wideTravels;
    if (!areUnits(from, to, count) || !findSources(from, to, wide, wideTravels))
      continue;
    plan = std::move(wide);
    travels = std::move(wideTravels);
    break;
  }
  pack(std::move(travels), plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Banks
//===----------------------------------------------------------------------===//

int64_t mlir::tile::bankConflicts(llvm::ArrayRef<int64_t> offsets, int64_t bytes) {
  constexpr int64_t kBanks = 32, kWord = 4;
  int64_t lanesInPhase = std::max<int64_t>(kBanks * kWord / std::max(bytes, kWord), 1), worst = 0;
  for (size_t start = 0; start < offsets.size(); start += lanesInPhase) {
    std::array<std::set<int64_t>, kBanks> words;
    for (int64_t offset : offsets.slice(start).take_front(lanesInPhase))
      for (int64_t word = offset / kWord; word * kWord < offset + bytes; ++word)
        words[word % kBanks].insert(word);
    for (const std::set<int64_t> &bank : words)
      worst = std::max<int64_t>(worst, bank.size());
  }
  return worst;
}
