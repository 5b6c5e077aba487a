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
// stand for words t and t + 4, if b's rows are taken in that order.
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

/// Words of a thread for one instruction.
using Words = SmallVector<Value, 4>;

/// One product, cut into instructions.
struct Product {
  tile::DotOp op;
  Type element;
  bool tf32, split;
  /// Elements of k of an instruction.
  int64_t kStep;
  int64_t m, n, k;
  /// Columns of ones behind the n of b.
  int64_t ones;
  Layout acc;
  std::map<Coords, int64_t> accRegs;
  /// First rows of the blocks of 16 rows of a warp.
  SmallVector<int64_t> rowBlocks;
  /// Whether a's words are columns 2t, 2t + 1 of 8 (f32 from an accumulator).
  bool paired = false;
};

} // namespace

static bool isAccumulator(const Layout &layout) {
  return layout.getLane() == ArrayRef<tile::Mode>{{4, {0, 2}}, {8, {1, 0}}} &&
         llvm::all_of(layout.getWarp(), [](const tile::Mode &m) { return m.strides[1] == 0; });
}

/// Whether a thread holds the four elements of each instruction, and no others.
static bool holdsInstructions(const Product &p) {
  for (int64_t row : p.rowBlocks)
    for (int64_t column = 0; column < p.n + p.ones; column += 8)
      for (int64_t e = 0; e < 4; ++e)
        if (!p.accRegs.count({row + e / 2 * 8, column + e % 2}))
          return false;
  return static_cast<int64_t>(p.rowBlocks.size()) * (p.n + p.ones) / 2 == p.acc.numRegs();
}

/// Whether a, in registers, is there for the rows of the accumulator's blocks.
static bool servesRows(const Layout &a, const std::map<Coords, int64_t> &aRegs, const Product &p,
                       int64_t warps) {
  for (int64_t w = 0; w < warps; ++w)
    if (a.at(0, 0, w)[0] != p.acc.at(0, 0, w)[0])
      return false;
  for (int64_t row : p.rowBlocks)
    for (int64_t down : {0, 8})
      for (int64_t k = 0; k < p.k; k += 8)
        for (int64_t right : {0, 1})
          if (!aRegs.count({row + down, k + right}))
            return false;
  return true;
}

/// Rows of four 8x8 matrices of 16-byte rows: lane l gives the address of row
/// l mod 8 of matrix l / 8. `rowBit` says which bit of l / 8 moves down 8 rows; the
/// other one moves right by 16 bytes.
static Value matrixRows(ImplicitLocOpBuilder &b, Value lane, Value slot, tile::SlotType type,
                        Value rowStart, int rowBit) {
  auto i32 = [&](int64_t value) { return arith::ConstantIntOp::create(b, value, 32); };
  auto bit = [&](int n) -> Value {
    return arith::AndIOp::create(b, arith::ShRUIOp::create(b, lane, i32(3 + n)), i32(1));
  };
  Value row = arith::AndIOp::create(b, lane, i32(7));
  row = arith::AddIOp::create(b, row, arith::MulIOp::create(b, bit(rowBit), i32(8)));
  if (rowStart)
    row = arith::AddIOp::create(b, row, rowStart);
  int64_t width = type.getLayout().getBytes();
  Value rowByte = arith::MulIOp::create(b, row, i32(width));
  Value turn =
      arith::RemUIOp::create(b, arith::DivUIOp::create(b, rowByte, i32(128)), i32(width / 16));
  Value chunk = arith::XOrIOp::create(b, bit(1 - rowBit), turn);
  Value place = arith::AddIOp::create(b, rowByte, arith::MulIOp::create(b, chunk, i32(16)));
  return arith::AddIOp::create(b, slot, place);
}

/// The address of the same lanes' rows `rows` (a multiple of 8) further down and
/// `bytes` (a multiple of 32) further right, as a base and a constant. Slots
/// start at multiples of 1024 bytes, so the swizzle is an exclusive or.
static std::pair<Value, int64_t> moved(ImplicitLocOpBuilder &b, Value base, tile::SlotType type,
                                       int64_t rows, int64_t bytes) {
  int64_t width = type.getLayout().getBytes(), inPanel = bytes % width;
  if (inPanel)
    base = arith::XOrIOp::create(b, base, arith::ConstantIntOp::create(b, inPanel, 32));
  return {base, bytes / width * type.getShape()[0] * width + rows * width};
}

static Words loadMatrices(llvm::function_ref<SmallVector<Value>(StringRef)> ptx, int64_t offset,
                          bool transpose) {
  std::string text = std::string("ldmatrix.sync.aligned.m8n8.x4") + (transpose ? ".trans" : "") +
                     ".shared.b16 {$0, $1, $2, $3}, [$4+" + std::to_string(offset) + "];";
  return Words(ptx(text));
}

/// high and low of a word that holds an f32.
static std::pair<Value, Value> splitTF32(ImplicitLocOpBuilder &b, Value word,
                                         llvm::function_ref<Value(Value)> round) {
  Value high = round(word);
  Value value = arith::BitcastOp::create(b, b.getF32Type(), word);
  Value low = arith::SubFOp::create(b, value, arith::BitcastOp::create(b, b.getF32Type(), high));
  return {high, arith::BitcastOp::create(b, b.getI32Type(), low)};
}

static void multiply(ImplicitLocOpBuilder &b, const Product &p, const Words &a, const Words &bWords,
                     MutableArrayRef<Value> acc) {
  auto f32 = b.getF32Type();
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  auto operands = [&](const Words &words) {
    if (!p.element.isF16())
      return SmallVector<Value>(words.begin(), words.end());
    SmallVector<Value> pairs;
    for (Value word : words) {
      Value vector = vector::BroadcastOp::create(b, VectorType::get(1, b.getI32Type()), word);
      pairs.push_back(vector::BitCastOp::create(b, VectorType::get(2, b.getF16Type()), vector));
    }
    return pairs;
  };
  NVVM::MMATypes kind = p.tf32              ? NVVM::MMATypes::tf32
                        : p.element.isF16() ? NVVM::MMATypes::f16
                                            : NVVM::MMATypes::bf16;
  Value result = NVVM::MmaOp::create(
      b, type, operands(a), operands(bWords), acc, ArrayRef<int64_t>{16, 8, p.kStep}, std::nullopt,
      std::nullopt, std::array<NVVM::MMATypes, 2>{kind, kind},
      std::array<NVVM::MMALayout, 2>{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    acc[i] = LLVM::ExtractValueOp::create(b, result, i);
}

LogicalResult Emitter::emitDot(tile::DotOp op) {
  FailureOr<Layout> acc = layoutOf(op.getAcc());
  if (failed(acc))
    return failure();
  auto slotB = dyn_cast<tile::SlotType>(op.getB().getType());
  auto slotA = dyn_cast<tile::SlotType>(op.getA().getType());
  if (!slotB)
    return op.emitError() << "operand b of a product must be in shared memory; run "
                             "tile-promote-shared";
  auto accType = cast<RankedTensorType>(op.getAcc().getType());
  Type element = slotB.getElementType();
  bool tf32 = element.isF32();
  if (tf32 && op.getPrecision() == tile::Precision::ieee)
    return op.emitError() << "f32 products with precision ieee have no instruction on GPUs; "
                             "use precision tf32x3";
  if (!tf32 && !element.isF16() && !element.isBF16())
    return op.emitError() << "products of " << element
                          << " have no instruction; expected f16, bf16 or f32";
  int64_t ones = op.getOnes() ? 8 : 0;
  Product p{op,
            element,
            tf32,
            tf32 && op.getPrecision() == tile::Precision::tf32x3,
            tf32 ? 8 : 16,
            accType.getDimSize(0),
            accType.getDimSize(1) - ones,
            slotB.getShape()[op.getTransposeB() ? 1 : 0],
            ones,
            *acc,
            {},
            {}};
  if (!isAccumulator(*acc) || p.n % 16 != 0 || p.k % p.kStep != 0)
    return op.emitError() << "a product into " << accType << " over " << p.k
                          << " has no instructions: expected the layout of mma.m16n8 "
                             "accumulators, columns in multiples of 16 and a sum in multiples of "
                          << p.kStep;
  for (int64_t r = 0; r < acc->numRegs(); ++r) {
    Coords offset = acc->offsetOfReg(r);
    p.accRegs[offset] = r;
    if (offset[1] == 0 && offset[0] % 16 == 0)
      p.rowBlocks.push_back(offset[0]);
  }
  if (!holdsInstructions(p))
    return op.emitError() << "a product into " << accType
                          << " has no instructions: expected the layout of mma.m16n8 "
                             "accumulators, whose threads hold rows g and g + 8; run "
                             "tile-assign-layouts";

  // The words of a, by block of rows and step of k.
  Value warpRow = digits(warp, acc->getWarp(), 0);
  std::map<Coords, int64_t> aRegs;
  Value aValue = get(op.getA()), aBase;
  if (slotA) {
    aBase = here(matrixRows(b, lane, aValue, slotA, warpRow, 0));
  } else {
    FailureOr<Layout> layout = layoutOf(op.getA());
    if (failed(layout))
      return failure();
    if (!isAccumulator(*layout))
      return op.emitError() << "operand a has layout " << op.getA().getType()
                            << ", expected that of mma.m16n8 operands";
    p.paired = tf32;
    for (int64_t r = 0; r < layout->numRegs(); ++r)
      aRegs[layout->offsetOfReg(r)] = r;
    if (!servesRows(*layout, aRegs, p, warps))
      return op.emitError() << "operand a has layout " << op.getA().getType()
                            << ", whose threads hold other rows than those of the accumulator, "
                            << accType << "; run tile-assign-layouts";
  }
  int64_t bytes = tf32 ? 4 : 2;
  auto run = [&](Value base) {
    return [this, base](StringRef text) {
      Type word = b.getI32Type();
      return ptx(text, "=r,=r,=r,=r,r", {word, word, word, word}, base, true);
    };
  };
  auto wordsOfA = [&](int64_t row, int64_t k) -> Words {
    if (slotA) {
      auto [base, offset] = moved(b, aBase, slotA, row, k * bytes);
      return loadMatrices(run(base), offset, false);
    }
    Words words;
    for (int64_t half : {0, 1})
      for (int64_t down : {0, 8}) {
        if (tf32) {
          Value value = extract(aValue, aRegs.at({row + down, k + half}));
          words.push_back(arith::BitcastOp::create(b, b.getI32Type(), value));
          continue;
        }
        Value pair = fromElements(VectorType::get(2, element),
                                  {extract(aValue, aRegs.at({row + down, k + 8 * half})),
                                   extract(aValue, aRegs.at({row + down, k + 8 * half + 1}))});
        Value word = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), pair);
        words.push_back(extract(word, 0));
      }
    return words;
  };

  // The words of b for 16 columns: two instructions' worth.
  Value bValue = get(op.getB()), bBase;
  bool gathered = tf32 && !op.getTransposeB();
  SmallVector<Value, 2> bRows;
  if (gathered) {
    // ldmatrix transposes 16-bit elements only: word by word. Rows t and t + 4,
    // or 2t and 2t + 1, of column g.
    Value t = arith::AndIOp::create(b, lane, i32(3)), g = arith::ShRUIOp::create(b, lane, i32(2));
    for (int64_t half : {0, 1}) {
      Value row = p.paired
                      ? arith::AddIOp::create(b, arith::MulIOp::create(b, t, i32(2)), i32(half))
                      : arith::AddIOp::create(b, t, i32(4 * half));
      bRows.push_back(here(arith::AddIOp::create(b, bValue, sharedOffset(slotB, row, g))));
    }
  } else {
    bBase = here(matrixRows(b, lane, bValue, slotB, {}, op.getTransposeB() ? 1 : 0));
  }
  auto wordsOfB = [&](int64_t column, int64_t k) -> std::array<Words, 2> {
    if (gathered) {
      std::array<Words, 2> words;
      for (int64_t right : {0, 1})
        for (Value row : bRows) {
          auto [base, offset] = moved(b, row, slotB, k, (column + 8 * right) * 4);
          words[right].push_back(ptx("ld.shared.b32 $0, [$1+" + std::to_string(offset) + "];",
                                     "=r,r", b.getI32Type(), base, true)[0]);
        }
      return words;
    }
    auto [base, offset] = op.getTransposeB() ? moved(b, bBase, slotB, column, k * bytes)
                                             : moved(b, bBase, slotB, k, column * bytes);
    Words all = loadMatrices(run(base), offset, !op.getTransposeB());
    return {Words{all[0], all[1]}, Words{all[2], all[3]}};
  };
  if (p.paired && op.getTransposeB())
    return op.emitError() << "f32 operand a in registers times a transposed b has no instructions; "
                             "keep a in shared memory";

  Value accValue = get(op.getAcc());
  SmallVector<Value> sums;
  for (int64_t r = 0; r < acc->numRegs(); ++r)
    sums.push_back(extract(accValue, r));
  auto round = [&](Value word) {
    return ptx("cvt.rna.tf32.f32 $0, $1;", "=r,r", b.getI32Type(), word, false)[0];
  };
  auto splitWords = [&](const Words &words) {
    std::pair<Words, Words> parts;
    for (Value word : words) {
      auto [high, low] = splitTF32(b, word, round);
      parts.first.push_back(high);
      parts.second.push_back(low);
    }
    return parts;
  };
  Value zero = arith::ConstantOp::create(b, b.getF32FloatAttr(0));
  // The words of a for a step of k, by block of rows: high, and low where split.
  using Step = std::pair<SmallVector<Words>, SmallVector<Words>>;
  auto stepOfA = [&](int64_t k) -> Step {
    SmallVector<Words> words, low(p.rowBlocks.size());
    for (int64_t row : p.rowBlocks)
      words.push_back(wordsOfA(row, k));
    if (p.split)
      for (auto [high, rest] : llvm::zip_equal(words, low))
        std::tie(high, rest) = splitWords(high);
    return {words, low};
  };
  auto multiplyStep = [&](const Step &a, int64_t k, int64_t column) {
    std::array<Words, 2> bWords = wordsOfB(column, k);
    for (int64_t right : {0, 1}) {
      // b in three parts, so that 1 times b is exact.
      Words bHigh = bWords[right], bLow, bRest;
      if (p.split) {
        std::tie(bHigh, bLow) = splitWords(bHigh);
        std::tie(bLow, bRest) = splitWords(bLow);
      }
      for (auto [i, row] : llvm::enumerate(p.rowBlocks)) {
        int64_t places[4];
        SmallVector<Value, 4> block;
        for (int64_t e = 0; e < 4; ++e) {
          places[e] = p.accRegs.at({row + e / 2 * 8, column + 8 * right + e % 2});
          block.push_back(sums[places[e]]);
        }
        if (!p.split) {
          multiply(b, p, a.first[i], bHigh, block);
        } else {
          // The instruction rounds its sums toward zero, so a long sum is
          // made outside of it.
          SmallVector<Value, 4> part(4, zero);
          multiply(b, p, a.first[i], bRest, part);
          multiply(b, p, a.second[i], bHigh, part);
          multiply(b, p, a.first[i], bLow, part);
          multiply(b, p, a.first[i], bHigh, part);
          for (int64_t e = 0; e < 4; ++e)
            block[e] = arith::AddFOp::create(b, block[e], part[e]);
        }
        for (int64_t e = 0; e < 4; ++e)
          sums[places[e]] = block[e];
      }
    }
  };
  // Of ones, all lanes hold the same.
  auto addSums = [&](const Step &a) {
    Value pair = i32(element.isF16() ? 0x3C003C00 : 0x3F803F80);
    for (auto [i, row] : llvm::enumerate(p.rowBlocks)) {
      SmallVector<Value, 4> block;
      for (int64_t e = 0; e < 4; ++e)
        block.push_back(sums[p.accRegs.at({row + e / 2 * 8, p.n + e % 2})]);
      multiply(b, p, a.first[i], Words{pair, pair}, block);
      for (int64_t e = 0; e < 4; ++e)
        sums[p.accRegs.at({row + e / 2 * 8, p.n + e % 2})] = block[e];
    }
  };
  if (p.split && !slotA) {
    // A column's sums are finished before the next one's begin: in the other
    // order ptxas begins more of them than it has registers for.
    std::vector<Step> steps;
    for (int64_t k = 0; k < p.k; k += p.kStep)
      steps.push_back(stepOfA(k));
    for (int64_t column = 0; column < p.n; column += 16)
      for (int64_t k = 0; k < p.k; k += p.kStep)
        multiplyStep(steps[k / p.kStep], k, column);
  } else {
    for (int64_t k = 0; k < p.k; k += p.kStep) {
      Step step = stepOfA(k);
      for (int64_t column = 0; column < p.n; column += 16)
        multiplyStep(step, k, column);
      if (p.ones)
        addSums(step);
    }
  }
  set(op.getResult(), fromElements(cast<VectorType>(accValue.getType()), sums));
  return success();
}
