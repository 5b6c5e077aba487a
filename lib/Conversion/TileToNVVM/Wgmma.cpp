//===- Wgmma.cpp - asynchronous products by wgmma -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma.m64nNk16: four warps, a warpgroup, multiply 64 rows of a by N columns of
// b, which stands in shared memory; a is there or in registers. Lanes hold what
// they hold of mma.m16n8 (Products.cpp), 16 rows a warp.
//
// A product is one piece of inline PTX: fence, an instruction for each 16 of k,
// commit. So nothing comes between the registers' last write and the fence, and
// descriptors are no values of LLVM, which it would compute before a loop and
// keep. A descriptor says (PTX ISA, "Matrix Descriptor"), for a slot of panels of
// W bytes, all in units of 16 bytes:
//
//   bits  0-13  where the first 8 rows of the instruction start
//   bits 16-29  from a panel to the next, where columns are not summed over
//   bits 32-45  from 8 rows to the next 8: 8 W bytes
//   bits 62-63  1, 2, 3 for W = 128, 64, 32
//
// Summed over columns (a; b with transpose_b), 16 of k are 32 bytes to the right;
// summed over rows (a with transpose_a; b without), 16 rows down.
//
// Warpgroups that have the same rows compute the columns that they have of these: the descriptor
// of b starts at the first of them, a panel, a part of the only one, or a row of the slot. What
// is swizzled is the address, so that a part of a panel starts as many bytes to the right.
//
// The wait is inline PTX through which the accumulators pass: nothing reads them
// before it. Where the accumulator starts as zeros, the first instruction has it
// as output only, for whoever writes zeros into registers first, waits for their
// earlier use.
//
//===----------------------------------------------------------------------===//

#include "Emitter.h"
#include "fa/Dialect/Tile/IR/Instructions.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include <map>

using namespace mlir;
using namespace mlir::fa::nvvm;
using tile::Coords;
using tile::Layout;

/// The terms that one instruction sums up, and the most columns that it has.
static constexpr int64_t kStep = 16, kMostColumns = 256;

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

/// "{$4, $5, $6}".
static std::string operandList(int64_t first, int64_t count) {
  std::string text = "{";
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", $" : "$") + std::to_string(first + i);
  return text + "}";
}

namespace {

/// Inline PTX as it grows: text, and constraints of outputs, inputs and ties.
struct Asm {
  std::string text, outputs, inputs;
  SmallVector<Value> operands;
  SmallVector<Type> results;

  void output(Type type, StringRef constraint) {
    outputs += (outputs.empty() ? "" : ",") + constraint.str();
    results.push_back(type);
  }
  void input(Value value, StringRef constraint) {
    inputs += "," + constraint.str();
    operands.push_back(value);
  }
  std::string constraints() const { return outputs + inputs; }
};

} // namespace

/// Return the half of a descriptor that only the slot's type decides.
static uint32_t descriptorHigh(tile::SlotType slot) {
  int64_t width = slot.getLayout().getBytes();
  uint32_t kind = width == 128 ? 1 : width == 64 ? 2 : 3;
  return static_cast<uint32_t>(8 * width / 16) | kind << 30;
}

/// Return where step k of the sum starts, in units of 16 bytes.
static int64_t stepOffset(tile::SlotType slot, int64_t k, bool alongColumns) {
  int64_t width = slot.getLayout().getBytes();
  int64_t bytes =
      alongColumns ? 2 * k / width * slot.getShape()[0] * width + 2 * k % width : k * width;
  return bytes / 16;
}

/// Return whether the slot has one panel of columns.
static bool isOnePanel(tile::SlotType slot) {
  return 2 * slot.getShape()[1] == slot.getLayout().getBytes();
}

/// Return the bytes from a place that is not summed over to the next one, of those where warpgroups
/// begin: rows, or columns, where the sum is over rows.
static int64_t bytesBetween(tile::SlotType slot, bool alongColumns) {
  return alongColumns ? slot.getLayout().getBytes() : isOnePanel(slot) ? 2 : 2 * slot.getShape()[0];
}

static bool isZero(Value tile) {
  if (auto broadcast = tile.getDefiningOp<tile::BroadcastOp>())
    tile = broadcast.getInput();
  return matchPattern(tile, m_AnyZeroFloat());
}

//===----------------------------------------------------------------------===//
// dot_start
//===----------------------------------------------------------------------===//

/// Return whether warpgroups side by side, if there are such, can each compute its columns: they
/// read their rows of a from shared memory, and of b, whole panels or groups of 8 columns of the
/// only one, or whole groups of 8 rows where it is transposed.
static bool sharesColumns(tile::DotStartOp op, const Layout &acc) {
  if (acc.getWarp().size() == 1)
    return true;
  const tile::Mode &beside = acc.getWarp()[1];
  auto slotB = cast<tile::SlotType>(op.getB().getType());
  int64_t unit = op.getTransposeB() || isOnePanel(slotB) ? 8 : slotB.getLayout().getBytes() / 2;
  int64_t columns = cast<RankedTensorType>(op.getAcc().getType()).getDimSize(1);
  return acc.getWarp().size() == 2 && beside.strides[0] == 0 && !op.getOnes() &&
         beside.strides[1] % unit == 0 && beside.extent * beside.strides[1] == columns &&
         isa<tile::SlotType>(op.getA().getType());
}

LogicalResult Emitter::checkDotStart(tile::DotStartOp op, const Layout &acc) {
  auto slotB = dyn_cast<tile::SlotType>(op.getB().getType());
  if (!slotB)
    return op.emitError() << "operand b of an asynchronous product must be in shared memory; run "
                             "tile-promote-shared";
  Type element = slotB.getElementType();
  if (!element.isF16() && !element.isBF16())
    return op.emitError() << "asynchronous products of " << element
                          << " have no instruction; expected f16 or bf16, or tile.dot";
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  // The panel of ones, if there is one, follows those of b.
  int64_t n = type.getDimSize(1), k = slotB.getShape()[op.getTransposeB() ? 1 : 0];
  if (n > kMostColumns || n % 8 != 0 || k % kStep != 0)
    return op.emitError() << "an asynchronous product of " << n << " columns over " << k
                          << " has no instruction: expected a multiple of 8 columns up to 256, "
                             "and a sum over a multiple of "
                          << kStep;
  bool lanes = acc.getLane() == ArrayRef<tile::Mode>{{4, {0, 2}}, {8, {1, 0}}};
  bool warpRows = !acc.getWarp().empty() &&
                  acc.getWarp().front().strides == Coords{tile::kRowsOfWarp, 0} &&
                  acc.getWarp().front().extent % tile::kWarpsOfGroup == 0;
  if (!lanes || !warpRows || !sharesColumns(op, acc))
    return op.emitError() << "an asynchronous product into " << type
                          << " has no instructions: expected the layout of wgmma accumulators, 16 "
                             "rows for each of a multiple of 4 warps, and, side by side, whole "
                             "panels of columns for each warpgroup";
  if (acc.numWarps() != warps)
    return op.emitError() << "an asynchronous product is laid out over " << acc.numWarps()
                          << " warps, but " << warps << " run it";
  return success();
}

/// Return the bytes to the first row (dimension 0) or column (1) that the warpgroup has of the
/// accumulator, at so many each; null where that is the first of all.
Value Emitter::offsetOfGroup(const Layout &acc, unsigned dim, int64_t bytes) {
  tile::Modes groups(acc.getWarp());
  groups.front().extent /= tile::kWarpsOfGroup;
  groups.front().strides[0] *= tile::kWarpsOfGroup;
  llvm::erase_if(groups, [](const tile::Mode &mode) { return mode.extent == 1; });
  if (llvm::all_of(groups, [&](const tile::Mode &mode) { return mode.strides[dim] == 0; }))
    return {};
  Value group = arith::ShRUIOp::create(b, warp, i32(2));
  for (tile::Mode &mode : groups)
    mode.strides[dim] *= bytes;
  // The remainder by the number of all of them is the number itself.
  if (groups.size() == 1)
    return arith::MulIOp::create(b, group, i32(groups.front().strides[dim]));
  return digits(group, groups, dim);
}

/// Return the words of a as the instruction takes them: pairs of columns of rows g, g + 8,
/// then both 8 columns to the right.
SmallVector<Value> Emitter::wordsOfA(Value value, const Layout &layout, int64_t row, int64_t k) {
  Type element = cast<VectorType>(value.getType()).getElementType();
  SmallVector<Value> words;
  for (int64_t right : {0, 8})
    for (int64_t down : {0, 8}) {
      SmallVector<Value, 2> pair;
      for (int64_t column : {0, 1})
        pair.push_back(extract(value, *layout.registerOf({row + down, k + right + column})));
      Value both = fromElements(VectorType::get(2, element), pair);
      both = vector::BitCastOp::create(b, VectorType::get(1, b.getI32Type()), both);
      words.push_back(extract(both, 0));
    }
  return words;
}

LogicalResult Emitter::emitDotStart(tile::DotStartOp op) {
  FailureOr<Layout> acc = layoutOf(op.getAcc());
  if (failed(acc) || failed(checkDotStart(op, *acc)))
    return failure();
  auto slotA = dyn_cast<tile::SlotType>(op.getA().getType());
  auto slotB = cast<tile::SlotType>(op.getB().getType());
  auto type = cast<RankedTensorType>(op.getAcc().getType());
  int64_t n = type.getDimSize(1);
  if (acc->getWarp().size() > 1)
    n = acc->getWarp()[1].strides[1];
  int64_t count = n / 2;
  int64_t k = slotB.getShape()[op.getTransposeB() ? 1 : 0];
  std::optional<Layout> layoutA;
  if (!slotA) {
    FailureOr<Layout> layout = layoutOf(op.getA());
    if (failed(layout))
      return failure();
    if (layout->getLane() != acc->getLane() || layout->getWarp() != acc->getWarp())
      return op.emitError() << "operand a has layout " << op.getA().getType()
                            << ", expected the lanes and warps of the accumulator " << type;
    layoutA = *layout;
  }

  // The low half of a descriptor. Of a, from the warpgroup's first row; of b, from its first
  // column, where others have the same rows.
  auto startOf = [&](Value slot, bool alongColumns, unsigned dim) -> Value {
    auto type = cast<tile::SlotType>(slot.getType());
    Value start = get(slot);
    if (Value bytes = offsetOfGroup(*acc, dim, bytesBetween(type, alongColumns)))
      start = arith::AddIOp::create(b, start, bytes);
    start = arith::ShRUIOp::create(b, start, i32(4));
    int64_t panel = type.getShape()[0] * type.getLayout().getBytes() / 16;
    return alongColumns ? start : arith::OrIOp::create(b, start, i32(panel << 16)).getResult();
  };
  bool alongA = !op.getTransposeA(), alongB = op.getTransposeB();
  Value startB = startOf(op.getB(), alongB, 1);
  Value startA = slotA ? startOf(op.getA(), alongA, 0) : Value();

  SmallVector<int64_t> blocks;
  for (int64_t r = 0; r < acc->numRegs(); ++r)
    if (Coords at = acc->offsetOfReg(r); at[1] == 0 && at[0] % tile::kRowsOfGroup == 0)
      blocks.push_back(at[0]);
  bool zero = isZero(op.getAcc());
  Value accValue = zero ? Value() : get(op.getAcc());
  SmallVector<Value> sums(acc->numRegs());
  std::string element = slotB.getElementType().isF16() ? "f16" : "bf16";
  std::string shape = "m64n" + std::to_string(n) + "k16.f32." + element + "." + element + " ";
  Type f32 = b.getF32Type();
  for (int64_t block : blocks) {
    Asm code;
    SmallVector<int64_t> regs;
    for (int64_t i = 0; i < count; ++i) {
      std::optional<int64_t> reg = acc->registerOf({block + i / 2 % 2 * 8, i / 4 * 8 + i % 2});
      if (!reg)
        return op.emitError() << "an asynchronous product into " << type
                              << " has no instructions: expected the layout of wgmma accumulators";
      regs.push_back(*reg);
      code.output(f32, zero ? "=&f" : "=f");
    }
    code.text = "{\n.reg .pred first;\n.reg .b32 low;\n.reg .b64 da, db, startb;\n";
    if (zero)
      code.text += "setp.ne.b32 first, 0, 0;\n";
    if (block == blocks.front())
      code.text += "wgmma.fence.sync.aligned;\n";
    int64_t placeB = count;
    code.input(startB, "r");
    if (slotA)
      code.input(startA, "r");
    // The high half for a is a constant that ptxas sets beside the low one. That for b
    // stays in its register: added to in 64 bits, which is one instruction, and
    // the low half does not overflow.
    auto high = [](tile::SlotType slot) {
      return std::to_string(static_cast<int32_t>(descriptorHigh(slot)));
    };
    code.text += "mov.b64 startb, {$" + std::to_string(placeB) + ", " + high(slotB) + "};\n";
    for (int64_t step = 0; step < k; step += kStep) {
      std::string a = "da";
      if (slotA) {
        int64_t down = block * bytesBetween(slotA, alongA) / 16;
        code.text += "add.s32 low, $" + std::to_string(placeB + 1) + ", " +
                     std::to_string(stepOffset(slotA, step, alongA) + down) +
                     ";\nmov.b64 da, {low, " + high(slotA) + "};\n";
      } else {
        a = operandList(count + code.operands.size(), 4);
        for (Value word : wordsOfA(get(op.getA()), *layoutA, block, step))
          code.input(word, "r");
      }
      code.text += "add.s64 db, startb, " +
                   std::to_string(stepOffset(slotB, step, op.getTransposeB())) + ";\n";
      code.text += "wgmma.mma_async.sync.aligned." + shape + operandList(0, count) + ", " + a +
                   ", db, " + (zero && step == 0 ? "first" : "1") + ", 1, 1" +
                   (slotA ? alongA ? ", 0" : ", 1" : "") + (op.getTransposeB() ? ", 0" : ", 1") +
                   ";\n";
    }
    if (block == blocks.back())
      code.text += "wgmma.commit_group.sync.aligned;\n";
    code.text += "}";
    for (int64_t i = 0; !zero && i < count; ++i)
      code.input(extract(accValue, regs[i]), std::to_string(i));
    SmallVector<Value> results =
        ptx(code.text, code.constraints() + ",~{memory}", code.results, code.operands, true);
    for (auto [reg, result] : llvm::zip_equal(regs, results))
      sums[reg] = result;
  }
  set(op.getResult(), fromElements(cast<VectorType>(convert(type)), sums));
  return success();
}

//===----------------------------------------------------------------------===//
// await
//===----------------------------------------------------------------------===//

/// Wait until no other groups run than those of products that start after the one awaited.
LogicalResult Emitter::emitAwait(tile::AwaitOp op) {
  auto start = op.getPending().getDefiningOp<tile::DotStartOp>();
  if (!start || start->getBlock() != op->getBlock())
    return op.emitError() << "awaits a product that does not start in its block; a product must "
                             "not run over the end of a loop or branch";
  int64_t later = 0;
  for (Operation *next = start->getNextNode(); next != op; next = next->getNextNode())
    later += isa<tile::DotStartOp>(next);
  Value pending = get(op.getPending());
  auto type = cast<VectorType>(pending.getType());
  Asm code;
  code.text = "wgmma.wait_group.sync.aligned " + std::to_string(later) + ";";
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    code.output(b.getF32Type(), "=f");
    code.input(extract(pending, i), std::to_string(i));
  }
  SmallVector<Value> results =
      ptx(code.text, code.constraints() + ",~{memory}", code.results, code.operands, true);
  set(op.getResult(), fromElements(type, results));
  return success();
}
