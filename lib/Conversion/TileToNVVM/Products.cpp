//===- Products.cpp - products of tiles by mma.sync -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// m16n8k16 for f16 and bf16, m16n8k8 for f32 as tf32: 16 rows by 32 bytes of a
// times 32 bytes by 8 columns of b, in both cases four, two and four words of a
// thread (PTX ISA, "Matrix Fragments for mma.m16n8k16" and "mma.m16n8k8"). So
// ldmatrix, which knows 16-byte rows only, serves both. With lane = 4 g + t:
//
//   accumulator  (g, 2t) (g, 2t + 1) (g + 8, 2t) (g + 8, 2t + 1)
//   a            words (g, t) (g + 8, t) (g, t + 4) (g + 8, t + 4)
//   b            words (t, g) (t + 4, g)
//
// f32 in the accumulator's layout serves as a too: its columns 2t and 2t + 1
// stand for words t and t + 4, if b's terms are taken in that order.
//
// Warps that have the same rows share the columns of b: each starts at its own, or takes 16 by
// turns.
//
// tf32x3 splits x = high + low, both tf32, and adds the three large products, and
// high times what is left of b: all 24 bits of it
// (Ootomo and Yokota, "Recovering single precision accuracy from Tensor Cores
// while surpassing the FP32 theoretical peak performance", IJHPCA 2022).
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

namespace {

/// Rows of an instruction, and columns of two, which one ldmatrix serves.
constexpr int64_t kBlock = 16;

/// Words of a thread for one instruction.
using Words = SmallVector<Value, 4>;

/// The words of a for one step of k, by block of rows; what their first 11 bits
/// leave of them, where products are in three parts.
struct StepOfA {
  SmallVector<Words> words, rest;
};

} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

static bool hasQuads(const Layout &layout) {
  return layout.getLane() == ArrayRef<tile::Mode>{{4, {0, 2}}, {8, {1, 0}}};
}

/// Return how many warps share the columns of each row.
static int64_t warpsBeside(const Layout &layout) {
  int64_t beside = 1;
  for (const tile::Mode &mode : layout.getWarp())
    beside *= mode.strides[1] ? mode.extent : 1;
  return beside;
}

//===----------------------------------------------------------------------===//
// One product
//===----------------------------------------------------------------------===//

namespace mlir::fa::nvvm {

/// One product, cut into instructions.
class MmaProduct {
public:
  MmaProduct(Emitter &emitter, tile::DotOp op) : e(emitter), b(emitter.b), op(op) {}

  /// Find the instructions that compute it; emit an error where none do.
  LogicalResult plan();
  LogicalResult emit();

private:
  LogicalResult planAccumulator();
  LogicalResult planOperands();
  LogicalResult checkPlaces(const Layout &acc, unsigned dim, ArrayRef<int64_t> blocks,
                            tile::SlotType slot, StringRef operand);
  bool holdsInstructions(const Layout &acc) const;
  bool servesRows(const Layout &a, const Layout &acc) const;

  void findOperandA(const Layout &acc);
  void findOperandB(const Layout &acc);
  Words wordsOfA(int64_t row, int64_t step);
  StepOfA stepOfA(int64_t step);
  std::array<Words, 2> wordsOfB(int64_t column, int64_t step);
  std::array<Words, 2> gatherB(int64_t column, int64_t step);
  std::pair<Words, Words> split(const Words &words);
  void multiply(const Words &a, const Words &bWords, MutableArrayRef<Value> acc);
  void multiplyInParts(const StepOfA &a, size_t block, const Words &bWords,
                       MutableArrayRef<Value> acc);
  void multiplyStep(const StepOfA &a, int64_t step, int64_t column);
  void addSums(const StepOfA &a);

  Emitter &e;
  ImplicitLocOpBuilder &b;
  tile::DotOp op;
  tile::SlotType slotA, slotB;
  Type element;
  bool tf32 = false, inParts = false;
  /// Terms of an instruction; of the product; bytes of an element.
  int64_t kStep = 0, terms = 0, bytes = 0;
  /// Columns of ones after those of b, and the first of them.
  int64_t ones = 0, firstOfOnes = 0;
  /// First rows of the blocks of `kBlock` rows of a warp, and first columns of those of columns.
  SmallVector<int64_t> rowBlocks, columnBlocks;
  /// The register at a place, from the thread's first one.
  std::map<Coords, int64_t> accRegs, aRegs;
  /// Addresses in shared memory at which the thread's part of a and b starts.
  Value aBase;
  SmallVector<Value, 2> bBases;
  SmallVector<Value> sums;
};

} // namespace mlir::fa::nvvm

//===----------------------------------------------------------------------===//
// What there are instructions for
//===----------------------------------------------------------------------===//

LogicalResult MmaProduct::plan() {
  slotA = dyn_cast<tile::SlotType>(op.getA().getType());
  slotB = dyn_cast<tile::SlotType>(op.getB().getType());
  if (!slotB)
    return op.emitError() << "operand b of a product must be in shared memory; run "
                             "tile-promote-shared";
  element = slotB.getElementType();
  tf32 = element.isF32();
  if (tf32 && op.getPrecision() == tile::Precision::ieee)
    return op.emitError() << "f32 products with precision ieee have no instruction on GPUs; "
                             "use precision tf32x3, whose operands are finite";
  if (!tf32 && !element.isF16() && !element.isBF16())
    return op.emitError() << "products of " << element
                          << " have no instruction; expected f16, bf16 or f32";
  inParts = tf32 && op.getPrecision() == tile::Precision::tf32x3;
  kStep = tf32 ? 8 : 16;
  bytes = tf32 ? 4 : 2;
  terms = slotB.getShape()[op.getTransposeB() ? 1 : 0];
  ones = op.getOnes() ? 8 : 0;
  firstOfOnes = cast<RankedTensorType>(op.getAcc().getType()).getDimSize(1) - ones;
  return success(succeeded(planAccumulator()) && succeeded(planOperands()));
}

LogicalResult MmaProduct::planAccumulator() {
  FailureOr<Layout> acc = e.layoutOf(op.getAcc());
  if (failed(acc))
    return failure();
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  int64_t columns = firstOfOnes / warpsBeside(*acc);
  bool wholeInstructions = llvm::all_of(
      acc->getWarp(), [](const tile::Mode &mode) { return mode.strides[1] % kBlock == 0; });
  if (!hasQuads(*acc) || !wholeInstructions || (ones && warpsBeside(*acc) > 1) ||
      columns % kBlock != 0 || terms % kStep != 0)
    return op.emitError() << "a product into " << type << " over " << terms
                          << " has no instructions: expected the layout of mma.m16n8 "
                             "accumulators, columns in multiples of 16 and a sum in multiples of "
                          << kStep;
  for (int64_t r = 0; r < acc->numRegs(); ++r) {
    Coords offset = acc->offsetOfReg(r);
    accRegs[offset] = r;
    if (offset[1] == 0 && offset[0] % kBlock == 0)
      rowBlocks.push_back(offset[0]);
    if (offset[0] == 0 && offset[1] % kBlock == 0 && offset[1] < firstOfOnes)
      columnBlocks.push_back(offset[1]);
  }
  if (!holdsInstructions(*acc))
    return op.emitError() << "a product into " << type
                          << " has no instructions: expected the layout of mma.m16n8 "
                             "accumulators, whose threads hold rows g and g + 8; run "
                             "tile-assign-layouts";
  return success();
}

/// Return whether a thread holds the four elements of each instruction, and no others.
bool MmaProduct::holdsInstructions(const Layout &acc) const {
  SmallVector<int64_t> columns;
  for (int64_t column : columnBlocks)
    columns.append({column, column + 8});
  if (ones)
    columns.push_back(firstOfOnes);
  for (int64_t row : rowBlocks)
    for (int64_t column : columns)
      for (int64_t i = 0; i < 4; ++i)
        if (!accRegs.count({row + i / 2 * 8, column + i % 2}))
          return false;
  return static_cast<int64_t>(rowBlocks.size() * columns.size()) * 4 == acc.numRegs();
}

/// Check that what warps and their blocks add to a place in rows of an operand carries nothing: to
/// a swizzled place it is added by exclusive or.
LogicalResult MmaProduct::checkPlaces(const Layout &acc, unsigned dim, ArrayRef<int64_t> blocks,
                                      tile::SlotType slot, StringRef operand) {
  int64_t width = slot.getLayout().getBytes(), ofWarps = 0, ofBlocks = 0;
  for (const tile::Mode &mode : acc.getWarp())
    for (int64_t i = 0; i < mode.extent; ++i)
      ofWarps |= i * mode.strides[dim] * bytes;
  for (int64_t block : blocks)
    ofBlocks |= block * bytes;
  if ((ofWarps & ofBlocks) % width == 0)
    return success();
  return op.emitError() << "warps that share " << op.getAcc().getType() << " have "
                        << blocks.size() * kBlock * bytes << " bytes each of rows of " << operand
                        << ", expected whole panels of " << width
                        << " bytes or an equal part of one, at once or by turns; change the tile's "
                           "size or tile.warps";
}

LogicalResult MmaProduct::planOperands() {
  Layout acc = *e.layoutOf(op.getAcc());
  if (!op.getTransposeB() && failed(checkPlaces(acc, 1, columnBlocks, slotB, "b")))
    return failure();
  if (slotA)
    return op.getTransposeA() ? checkPlaces(acc, 0, rowBlocks, slotA, "a") : success();
  FailureOr<Layout> a = e.layoutOf(op.getA());
  if (failed(a))
    return failure();
  if (!hasQuads(*a) || warpsBeside(*a) != 1)
    return op.emitError() << "operand a has layout " << op.getA().getType()
                          << ", expected that of mma.m16n8 operands";
  for (int64_t r = 0; r < a->numRegs(); ++r)
    aRegs[a->offsetOfReg(r)] = r;
  if (!servesRows(*a, acc))
    return op.emitError() << "operand a has layout " << op.getA().getType()
                          << ", whose threads hold other rows than those of the accumulator, "
                          << op.getAcc().getType() << "; run tile-assign-layouts";
  return success();
}

/// Return whether a, in registers, is there for the rows of the accumulator's blocks.
bool MmaProduct::servesRows(const Layout &a, const Layout &acc) const {
  for (int64_t w = 0; w < e.warps; ++w)
    if (a.at(0, 0, w)[0] != acc.at(0, 0, w)[0])
      return false;
  for (int64_t row : rowBlocks)
    for (int64_t down : {0, 8})
      for (int64_t k = 0; k < terms; k += 8)
        for (int64_t right : {0, 1})
          if (!aRegs.count({row + down, k + right}))
            return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

void MmaProduct::findOperandA(const Layout &acc) {
  if (!slotA)
    return;
  Value first = e.digits(e.warp, acc.getWarp(), 0);
  bool transposed = op.getTransposeA();
  aBase = matrixRows(b, e.lane, e.get(op.getA()), slotA, transposed ? Value() : first,
                     transposed ? 1 : 0);
  if (transposed && first)
    aBase = movedRight(b, aBase, slotA, first);
  aBase = e.pinToUse(aBase);
}

Words MmaProduct::wordsOfA(int64_t row, int64_t step) {
  if (slotA) {
    bool transposed = op.getTransposeA();
    auto [base, offset] = transposed ? movedMatrices(b, aBase, slotA, step, row * bytes)
                                     : movedMatrices(b, aBase, slotA, row, step * bytes);
    return e.loadMatrices(base, offset, transposed);
  }
  Value a = e.get(op.getA());
  auto at = [&](int64_t down, int64_t right) {
    return e.extract(a, aRegs.at({row + down, step + right}));
  };
  Words words;
  for (int64_t half : {0, 1})
    for (int64_t down : {0, 8}) {
      if (tf32) {
        words.push_back(arith::BitcastOp::create(b, b.getI32Type(), at(down, half)));
        continue;
      }
      Value pair =
          e.fromElements(VectorType::get(2, element), {at(down, 8 * half), at(down, 8 * half + 1)});
      Value word = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), pair);
      words.push_back(e.extract(word, 0));
    }
  return words;
}

/// Choose ldmatrix where it brings the words in order; it transposes 16-bit elements
/// only, and knows the terms in their own order only.
void MmaProduct::findOperandB(const Layout &acc) {
  auto i32 = [&](int64_t value) -> Value { return e.i32(value); };
  bool transposed = op.getTransposeB(), beside = warpsBeside(acc) > 1;
  Value slot = e.get(op.getB()), first = beside ? e.digits(e.warp, acc.getWarp(), 1) : Value();
  if (tf32 && (!transposed || !slotA)) {
    // Terms t and t + 4, or 2t and 2t + 1 for a from registers, of column g.
    Value t = arith::AndIOp::create(b, e.lane, i32(3));
    Value g = arith::ShRUIOp::create(b, e.lane, i32(2));
    if (beside)
      g = arith::AddIOp::create(b, g, first);
    for (int64_t half : {0, 1}) {
      Value term = slotA ? arith::AddIOp::create(b, t, i32(4 * half))
                         : arith::AddIOp::create(b, arith::MulIOp::create(b, t, i32(2)), i32(half));
      Value place = transposed ? e.sharedOffset(slotB, g, term) : e.sharedOffset(slotB, term, g);
      bBases.push_back(e.pinToUse(arith::AddIOp::create(b, slot, place)));
    }
    return;
  }
  Value base = matrixRows(b, e.lane, slot, slotB, transposed ? first : Value(), transposed ? 1 : 0);
  if (beside && !transposed)
    base = movedRight(b, base, slotB, first);
  bBases.push_back(e.pinToUse(base));
}

/// Return the words for 16 columns: two instructions' worth.
std::array<Words, 2> MmaProduct::wordsOfB(int64_t column, int64_t step) {
  if (bBases.size() > 1)
    return gatherB(column, step);
  bool transposed = op.getTransposeB();
  auto [base, offset] = transposed ? movedMatrices(b, bBases[0], slotB, column, step * bytes)
                                   : movedMatrices(b, bBases[0], slotB, step, column * bytes);
  Words all = e.loadMatrices(base, offset, !transposed);
  return {Words{all[0], all[1]}, Words{all[2], all[3]}};
}

/// Collect the same words one by one.
std::array<Words, 2> MmaProduct::gatherB(int64_t column, int64_t step) {
  std::array<Words, 2> words;
  for (int64_t right : {0, 1})
    for (Value start : bBases) {
      int64_t at = column + 8 * right;
      auto [base, offset] = op.getTransposeB() ? movedMatrices(b, start, slotB, at, step * bytes)
                                               : movedMatrices(b, start, slotB, step, at * bytes);
      words[right].push_back(e.ptx("ld.shared.b32 $0, [$1+" + std::to_string(offset) + "];", "=r,r",
                                   b.getI32Type(), base, true)[0]);
    }
  return words;
}

/// Split each f32 into its first 11 bits, rounded, and what is left: the sign and 12 bits.
std::pair<Words, Words> MmaProduct::split(const Words &words) {
  std::pair<Words, Words> parts;
  for (Value word : words) {
    // As cvt.rna.tf32.f32 rounds a number, in two instructions instead of five.
    Value up = arith::AddIOp::create(b, word, e.i32(1 << 12));
    Value high = arith::AndIOp::create(b, up, e.i32(-(1 << 13)));
    auto number = [&](Value bits) -> Value {
      return arith::BitcastOp::create(b, b.getF32Type(), bits);
    };
    Value low = arith::SubFOp::create(b, number(word), number(high));
    parts.first.push_back(high);
    parts.second.push_back(arith::BitcastOp::create(b, b.getI32Type(), low));
  }
  return parts;
}

StepOfA MmaProduct::stepOfA(int64_t step) {
  StepOfA a;
  for (int64_t row : rowBlocks)
    a.words.push_back(wordsOfA(row, step));
  a.rest.resize(rowBlocks.size());
  if (inParts)
    for (auto [words, rest] : llvm::zip_equal(a.words, a.rest))
      std::tie(words, rest) = split(words);
  return a;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

void MmaProduct::multiply(const Words &a, const Words &bWords, MutableArrayRef<Value> acc) {
  auto f32 = b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  auto operands = [&](const Words &words) {
    if (!element.isF16())
      return SmallVector<Value>(words.begin(), words.end());
    SmallVector<Value> pairs;
    for (Value word : words) {
      Value vector = vector::BroadcastOp::create(b, VectorType::get(1, b.getI32Type()), word);
      pairs.push_back(vector::BitCastOp::create(b, VectorType::get(2, b.getF16Type()), vector));
    }
    return pairs;
  };
  NVVM::MMATypes kind = tf32              ? NVVM::MMATypes::tf32
                        : element.isF16() ? NVVM::MMATypes::f16
                                          : NVVM::MMATypes::bf16;
  Value result = NVVM::MmaOp::create(
      b, type, operands(a), operands(bWords), acc, ArrayRef<int64_t>{16, 8, kStep}, std::nullopt,
      std::nullopt, std::array<NVVM::MMATypes, 2>{kind, kind},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    acc[i] = LLVM::ExtractValueOp::create(b, result, i);
}

/// tf32x3. b in three parts, so that 1 times b is exact. The instruction rounds
/// its sums toward zero, so a long sum is made outside of it.
void MmaProduct::multiplyInParts(const StepOfA &a, size_t block, const Words &bWords,
                                 MutableArrayRef<Value> acc) {
  auto [high, left] = split(bWords);
  auto [low, rest] = split(left);
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  SmallVector<Value, 4> part(4, zero);
  multiply(a.words[block], rest, part);
  multiply(a.rest[block], high, part);
  multiply(a.words[block], low, part);
  multiply(a.words[block], high, part);
  for (int64_t i = 0; i < 4; ++i)
    acc[i] = arith::AddFOp::create(b, acc[i], part[i]);
}

/// Multiply 16 columns of all rows.
void MmaProduct::multiplyStep(const StepOfA &a, int64_t step, int64_t column) {
  std::array<Words, 2> bWords = wordsOfB(column, step);
  for (int64_t right : {0, 1})
    for (auto [block, row] : llvm::enumerate(rowBlocks)) {
      int64_t places[4];
      SmallVector<Value, 4> acc;
      for (int64_t i = 0; i < 4; ++i) {
        places[i] = accRegs.at({row + i / 2 * 8, column + 8 * right + i % 2});
        acc.push_back(sums[places[i]]);
      }
      if (inParts)
        multiplyInParts(a, block, bWords[right], acc);
      else
        multiply(a.words[block], bWords[right], acc);
      for (int64_t i = 0; i < 4; ++i)
        sums[places[i]] = acc[i];
    }
}

/// Add the sums of rows: all lanes hold the same ones.
void MmaProduct::addSums(const StepOfA &a) {
  Value pair = e.i32(element.isF16() ? 0x3C003C00 : 0x3F803F80);
  for (auto [block, row] : llvm::enumerate(rowBlocks)) {
    SmallVector<Value, 4> acc;
    for (int64_t i = 0; i < 4; ++i)
      acc.push_back(sums[accRegs.at({row + i / 2 * 8, firstOfOnes + i % 2})]);
    multiply(a.words[block], Words{pair, pair}, acc);
    for (int64_t i = 0; i < 4; ++i)
      sums[accRegs.at({row + i / 2 * 8, firstOfOnes + i % 2})] = acc[i];
  }
}

LogicalResult MmaProduct::emit() {
  Layout acc = *e.layoutOf(op.getAcc());
  findOperandA(acc);
  findOperandB(acc);
  Value start = e.get(op.getAcc());
  for (int64_t r = 0; r < acc.numRegs(); ++r)
    sums.push_back(e.extract(start, r));
  if (inParts && !slotA) {
    // A column's sums are finished before the next one's begin: in the other
    // order ptxas begins more of them than it has registers for.
    std::vector<StepOfA> steps;
    for (int64_t step = 0; step < terms; step += kStep)
      steps.push_back(stepOfA(step));
    for (int64_t column : columnBlocks)
      for (int64_t step = 0; step < terms; step += kStep)
        multiplyStep(steps[step / kStep], step, column);
  } else {
    for (int64_t step = 0; step < terms; step += kStep) {
      StepOfA a = stepOfA(step);
      for (int64_t column : columnBlocks)
        multiplyStep(a, step, column);
      if (ones)
        addSums(a);
    }
  }
  e.set(op.getResult(), e.fromElements(cast<VectorType>(start.getType()), sums));
  return success();
}

LogicalResult Emitter::emitDot(tile::DotOp op) {
  MmaProduct product(*this, op);
  return failed(product.plan()) ? failure() : product.emit();
}
