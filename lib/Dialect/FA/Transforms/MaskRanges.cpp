//===- MaskRanges.cpp - integers over a tile -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sums stay linear; anything else becomes an atom with bounds that are emitted
// from its operands' bounds. Every function is sound for all (i, j) of the box,
// and for what the expansion of regions makes of undefined ops (0).
//
//===----------------------------------------------------------------------===//

#include "MaskRanges.h"
#include "fa/Support/MaxSize.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::fa;

using Wide = __int128;

int MaskRanges::join(int x, int y) {
  if (x == 0 || y == 0 || x == y)
    return x == 0 ? y : x;
  return x != kMixed && y != kMixed && (x == kByData || y == kByData) ? kByData : kMixed;
}

static bool fits(Wide value) { return value >= -kMostMagnitude && value <= kMostMagnitude; }

MaskRanges::MaskRanges(ScalarEmitter &e, const BoxSide &block, const BoxSide &loop, bool findsSets)
    : e(e), block(block), loop(loop), loopIndex(numberOf(loop.axis)),
      blockIndex(numberOf(block.axis)), loopLength(loop.length), findsSets(findsSets) {
  assert(block.axis != loop.axis && "a box has two axes");
  atoms.resize(tile::LinearForm::kRest);
  atoms[loopIndex] = {loop.first, loop.last, 0, kMaxSize, /*inLoop=*/true, kMixed, -1};
  // One index is no range: it is the same over the box.
  int move = block.first != block.last;
  atoms[blockIndex] = {block.first, block.last, 0, kMaxSize, /*inLoop=*/false, move, /*step=*/move};
  for (Value length : {loop.length, block.length})
    atoms.push_back({length, length, 0, kMaxSize});
}

//===----------------------------------------------------------------------===//
// Atoms
//===----------------------------------------------------------------------===//

Linear MaskRanges::constant(int64_t value) {
  if (!fits(value))
    return Linear::getUnknown();
  Linear x;
  x.constant = x.least = x.most = value;
  return x;
}

Linear MaskRanges::atom(unsigned index) {
  Linear x;
  x.terms.push_back({index, 1});
  x.least = atoms[index].least;
  x.most = atoms[index].most;
  return x;
}

Linear MaskRanges::addAtom(Atom added) {
  if (!fits(added.least) || !fits(added.most))
    return Linear::getUnknown();
  bool uniform = added.lo == added.hi;
  if (uniform) {
    added.inLoop = false;
    added.move = added.step = 0;
    if (auto value = ScalarEmitter::asConstant(added.lo))
      return constant(*value);
  }
  for (auto [index, other] : llvm::enumerate(atoms))
    if ((uniform && other.lo == added.lo && other.hi == added.hi) ||
        (added.form == Atom::Quotient && other.form == Atom::Quotient &&
         added.divisor == other.divisor && added.x == other.x))
      return atom(index);
  atoms.push_back(std::move(added));
  return atom(atoms.size() - 1);
}

Linear MaskRanges::uniform(Value index, int64_t least, int64_t most) {
  return addAtom({index, index, least, most});
}

Linear MaskRanges::range(Axis axis, Value lo, Value hi, int64_t least, int64_t most) {
  return addAtom({lo, hi, least, most, isLoopAxis(axis), kByData, -1});
}

Linear MaskRanges::opaque(Value lo, Value hi, int64_t least, int64_t most,
                          ArrayRef<Linear> operands) {
  bool isInLoop = llvm::any_of(operands, [&](const Linear &x) { return x.unknown || inLoop(x); });
  return addAtom({lo, hi, least, most, isInLoop, kMixed, -1});
}

Linear MaskRanges::exactWhere(Value exact, Value lo, Value hi, int64_t least, int64_t most) {
  return opaque(e.select(exact, lo, e.constant(least)), e.select(exact, hi, e.constant(most)),
                least, most, {Linear::getUnknown()});
}

bool MaskRanges::inLoop(const Linear &x) const {
  return llvm::any_of(x.terms, [&](auto term) { return atoms[term.first].inLoop; });
}

int MaskRanges::move(const Linear &x) const {
  int result = 0;
  for (auto [index, factor] : x.terms) {
    int one = atoms[index].move;
    result = join(result, factor < 0 ? opposite(one) : one);
  }
  return result;
}

int64_t MaskRanges::step(const Linear &x) const {
  Wide sum = 0;
  for (auto [index, factor] : x.terms) {
    if (atoms[index].step < 0)
      return -1;
    sum += Wide(std::abs(factor)) * atoms[index].step;
  }
  return fits(sum) ? int64_t(sum) : -1;
}

Value MaskRanges::asUniform(const Linear &x) {
  return x.unknown || inLoop(x) || move(x) != 0 ? Value() : lowest(x);
}

//===----------------------------------------------------------------------===//
// Linear
//===----------------------------------------------------------------------===//

Linear MaskRanges::add(const Linear &x, const Linear &y, int64_t factor) {
  if (x.unknown || y.unknown)
    return Linear::getUnknown();
  std::optional<tile::LinearForm> form = x.plus(y, factor);
  tile::MaybeInterval range =
      form ? form->range([&](unsigned atom) { return rangeOf(atom); }) : std::nullopt;
  if (!range)
    return Linear::getUnknown();
  Linear sum;
  static_cast<tile::LinearForm &>(sum) = std::move(*form);
  Wide least = range->low, most = range->high;
  // Indices are below their lengths: sk - j >= 1.
  for (auto [index, length] : {std::pair(loopIndex, unsigned(kLoopLength)),
                               std::pair(blockIndex, unsigned(kBlockLength))}) {
    Wide a = sum.coefficient(index), b = sum.coefficient(length);
    if (a < 0 && b > 0)
      least += std::min(-a, b) * (Wide(kMaxSize) + 1);
    else if (a > 0 && b < 0)
      most -= std::min(a, -b) * (Wide(kMaxSize) + 1);
  }
  // The operands may be known better than their atoms tell.
  Wide a = Wide(factor) * y.least, b = Wide(factor) * y.most;
  least = std::max(least, Wide(x.least) + std::min(a, b));
  most = std::min(most, Wide(x.most) + std::max(a, b));
  sum.least = static_cast<int64_t>(least);
  sum.most = static_cast<int64_t>(most);
  return sum;
}

Value MaskRanges::extreme(const Linear &x, bool most) {
  auto bound = [&](std::pair<unsigned, int64_t> term) {
    const Atom &atom = atoms[term.first];
    Value value = (term.second > 0) == most ? atom.hi : atom.lo;
    int64_t factor = std::abs(term.second);
    return factor == 1 ? value : e.mul(value, e.constant(factor));
  };
  Value sum;
  bool constantUsed = x.constant == 0;
  auto accumulate = [&](bool isInLoop) {
    for (auto term : x.terms)
      if (term.second > 0 && atoms[term.first].inLoop == isInLoop)
        sum = sum ? e.add(sum, bound(term)) : bound(term);
    for (auto term : x.terms)
      if (term.second < 0 && atoms[term.first].inLoop == isInLoop) {
        if (!sum) {
          sum = e.constant(x.constant);
          constantUsed = true;
        }
        sum = e.sub(sum, bound(term));
      }
    if (sum && !constantUsed) {
      sum = e.add(sum, e.constant(x.constant));
      constantUsed = true;
    }
  };
  // What does not depend on the loop first: it stays out of it.
  accumulate(false);
  accumulate(true);
  return sum ? sum : e.constant(x.constant);
}

Linear MaskRanges::multiply(const Linear &x, const Linear &y) {
  if (x.unknown || y.unknown)
    return Linear::getUnknown();
  if (x.isConstant())
    return scale(y, x.constant);
  if (y.isConstant())
    return scale(x, y.constant);
  Wide corners[] = {Wide(x.least) * y.least, Wide(x.least) * y.most, Wide(x.most) * y.least,
                    Wide(x.most) * y.most};
  Wide least = *std::min_element(corners, corners + 4),
       most = *std::max_element(corners, corners + 4);
  // The bounds that are emitted are products of sums within the atoms' bounds.
  auto magnitude = [&](const Linear &z) {
    return z.magnitude([&](unsigned atom) { return rangeOf(atom); });
  };
  Wide mx = magnitude(x), my = magnitude(y);
  if (!fits(mx) || !fits(my) || mx > kMostMagnitude / std::max(my, Wide(1)))
    return Linear::getUnknown();
  Value a = lowest(x), b = highest(x), c = lowest(y), d = highest(y);
  Value lo = e.mul(a, c), hi = lo;
  for (Value product : {e.mul(a, d), e.mul(b, c), e.mul(b, d)}) {
    lo = e.min(lo, product);
    hi = e.max(hi, product);
  }
  return opaque(lo, hi, least, most, {x, y});
}
