//===- RegionInterpreter.cpp - mask and score regions, evaluated in float64
//-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Reference/RegionInterpreter.h"
#include "fa/Dialect/FA/IR/FA.h"
#include "fa/Reference/RegionCode.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexAttrs.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::fa;

//===----------------------------------------------------------------------===//
// Which ops are known
//===----------------------------------------------------------------------===//

static std::optional<RegionCode> codeOf(StringRef name) {
  using C = RegionCode;
  static const llvm::StringMap<C> codes = {{"arith.addi", C::AddI},
                                           {"arith.subi", C::SubI},
                                           {"arith.muli", C::MulI},
                                           {"arith.divui", C::DivUI},
                                           {"arith.divsi", C::DivSI},
                                           {"arith.ceildivui", C::CeilDivUI},
                                           {"arith.ceildivsi", C::CeilDivSI},
                                           {"arith.floordivsi", C::FloorDivSI},
                                           {"arith.remui", C::RemUI},
                                           {"arith.remsi", C::RemSI},
                                           {"arith.andi", C::AndI},
                                           {"arith.ori", C::OrI},
                                           {"arith.xori", C::XOrI},
                                           {"arith.shli", C::ShLI},
                                           {"arith.shrui", C::ShRUI},
                                           {"arith.shrsi", C::ShRSI},
                                           {"arith.maxsi", C::MaxSI},
                                           {"arith.maxui", C::MaxUI},
                                           {"arith.minsi", C::MinSI},
                                           {"arith.minui", C::MinUI},
                                           {"arith.addui_extended", C::AddUIExtended},
                                           {"arith.mulsi_extended", C::MulSIExtended},
                                           {"arith.mului_extended", C::MulUIExtended},
                                           {"arith.negf", C::NegF},
                                           {"arith.addf", C::AddF},
                                           {"arith.subf", C::SubF},
                                           {"arith.mulf", C::MulF},
                                           {"arith.divf", C::DivF},
                                           {"arith.remf", C::RemF},
                                           {"arith.maximumf", C::MaximumF},
                                           {"arith.minimumf", C::MinimumF},
                                           {"arith.maxnumf", C::MaxNumF},
                                           {"arith.minnumf", C::MinNumF},
                                           {"arith.extsi", C::ExtSI},
                                           {"arith.extui", C::ZeroExtOrTrunc},
                                           {"arith.trunci", C::ZeroExtOrTrunc},
                                           {"arith.index_cast", C::ExtSI},
                                           {"arith.index_castui", C::ZeroExtOrTrunc},
                                           {"arith.extf", C::Copy},
                                           {"arith.truncf", C::Copy},
                                           {"arith.sitofp", C::SIToFP},
                                           {"arith.uitofp", C::UIToFP},
                                           {"arith.fptosi", C::FPToSI},
                                           {"arith.fptoui", C::FPToUI},
                                           {"arith.bitcast", C::Bitcast},
                                           {"arith.cmpi", C::CmpI},
                                           {"arith.cmpf", C::CmpF},
                                           {"arith.select", C::Select},
                                           {"math.absi", C::AbsI},
                                           {"math.ctlz", C::CtLZ},
                                           {"math.cttz", C::CtTZ},
                                           {"math.ctpop", C::CtPop},
                                           {"math.ipowi", C::IPowI},
                                           {"math.absf", C::AbsF},
                                           {"math.acos", C::Acos},
                                           {"math.acosh", C::Acosh},
                                           {"math.asin", C::Asin},
                                           {"math.asinh", C::Asinh},
                                           {"math.atan", C::Atan},
                                           {"math.atan2", C::Atan2},
                                           {"math.atanh", C::Atanh},
                                           {"math.cbrt", C::Cbrt},
                                           {"math.ceil", C::Ceil},
                                           {"math.clampf", C::ClampF},
                                           {"math.copysign", C::CopySign},
                                           {"math.cos", C::Cos},
                                           {"math.cosh", C::Cosh},
                                           {"math.erf", C::Erf},
                                           {"math.erfc", C::Erfc},
                                           {"math.exp", C::Exp},
                                           {"math.exp2", C::Exp2},
                                           {"math.expm1", C::ExpM1},
                                           {"math.floor", C::Floor},
                                           {"math.fma", C::Fma},
                                           {"math.fpowi", C::FPowI},
                                           {"math.isfinite", C::IsFinite},
                                           {"math.isinf", C::IsInf},
                                           {"math.isnan", C::IsNaN},
                                           {"math.isnormal", C::IsNormal},
                                           {"math.log", C::Log},
                                           {"math.log10", C::Log10},
                                           {"math.log1p", C::Log1p},
                                           {"math.log2", C::Log2},
                                           {"math.powf", C::PowF},
                                           {"math.round", C::Round},
                                           {"math.roundeven", C::RoundEven},
                                           {"math.rsqrt", C::Rsqrt},
                                           {"math.sin", C::Sin},
                                           {"math.sincos", C::SinCos},
                                           {"math.sinh", C::Sinh},
                                           {"math.sqrt", C::Sqrt},
                                           {"math.tan", C::Tan},
                                           {"math.tanh", C::Tanh},
                                           {"math.trunc", C::Trunc},
                                           {"index.add", C::AddI},
                                           {"index.sub", C::SubI},
                                           {"index.mul", C::MulI},
                                           {"index.divs", C::DivSI},
                                           {"index.divu", C::DivUI},
                                           {"index.ceildivs", C::CeilDivSI},
                                           {"index.ceildivu", C::CeilDivUI},
                                           {"index.floordivs", C::FloorDivSI},
                                           {"index.rems", C::RemSI},
                                           {"index.remu", C::RemUI},
                                           {"index.maxs", C::MaxSI},
                                           {"index.maxu", C::MaxUI},
                                           {"index.mins", C::MinSI},
                                           {"index.minu", C::MinUI},
                                           {"index.shl", C::ShLI},
                                           {"index.shrs", C::ShRSI},
                                           {"index.shru", C::ShRUI},
                                           {"index.and", C::AndI},
                                           {"index.or", C::OrI},
                                           {"index.xor", C::XOrI},
                                           {"index.casts", C::ExtSI},
                                           {"index.castu", C::ZeroExtOrTrunc},
                                           {"index.cmp", C::CmpI},
                                           {"tensor.extract", C::Extract}};
  auto it = codes.find(name);
  return it == codes.end() ? std::nullopt : std::optional(it->second);
}

/// Return an integer constant of any of the three ops, or a float one.
Attribute fa::constantOf(Operation *op) {
  if (isa<arith::ConstantOp, index::ConstantOp, index::BoolConstantOp>(op))
    return op->getAttr("value");
  if (isa<index::SizeOfOp>(op))
    return IntegerAttr::get(IndexType::get(op->getContext()), 64);
  return {};
}

RegionValue fa::valueOf(Attribute number) {
  RegionValue value;
  if (auto real = dyn_cast<FloatAttr>(number))
    value.f = real.getValueAsDouble();
  else
    value.i = cast<IntegerAttr>(number).getValue().getZExtValue();
  return value;
}

bool fa::isScalarSupported(Type type) {
  if (auto integer = dyn_cast<IntegerType>(type))
    return integer.getWidth() >= 1 && integer.getWidth() <= 64;
  return type.isIndex() || (isa<FloatType>(type) && dtypeOf(type));
}

LogicalResult RegionProgram::check(Region &region) {
  for (BlockArgument argument : region.getArguments())
    if (auto tensor = dyn_cast<RankedTensorType>(argument.getType());
        tensor && !dtypeOf(tensor.getElementType()))
      return emitError(argument.getLoc())
             << "the reference cannot read " << tensor
             << ": expected elements of i1, i8, i16, i32, i64, index, f16, "
                "bf16, f32 or f64";
  WalkResult result = region.walk([](Operation *op) {
    if (!constantOf(op) && !isa<scf::IfOp, scf::YieldOp, YieldOp>(op) &&
        !codeOf(op->getName().getStringRef())) {
      op->emitError() << "the reference cannot evaluate '" << op->getName()
                      << "'; use another op of arith, math or index";
      return WalkResult::interrupt();
    }
    for (Value value : llvm::concat<Value>(SmallVector<Value>(op->getOperands()),
                                           SmallVector<Value>(op->getResults())))
      if (!isScalarSupported(value.getType()) && !isa<RankedTensorType>(value.getType())) {
        op->emitError() << "the reference cannot evaluate '" << op->getName() << "' on "
                        << value.getType()
                        << ": expected integers of 1 to 64 bits, index, f16, "
                           "bf16, f32 or f64";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// One op
//===----------------------------------------------------------------------===//

static unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

/// Adjust an instruction by what is not in the types.
static void adjust(Operation *op, RegionInstruction &instruction) {
  // A narrower result takes the low bits either way.
  if (instruction.code == RegionCode::ExtSI && instruction.toWidth < instruction.width)
    instruction.code = RegionCode::ZeroExtOrTrunc;
  if (instruction.code == RegionCode::FPowI)
    instruction.toWidth = widthOf(getElementTypeOrSelf(op->getOperand(1).getType()));
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    instruction.predicate = static_cast<int32_t>(compare.getPredicate());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    instruction.predicate = static_cast<int32_t>(compare.getPredicate());
  if (auto compare = dyn_cast<index::CmpOp>(op))
    instruction.predicate = static_cast<int32_t>(
        *arith::symbolizeCmpIPredicate(index::stringifyIndexCmpPredicate(compare.getPred())));
}

std::optional<RegionInstruction> fa::instructionOf(Operation *op) {
  std::optional<RegionCode> code = codeOf(op->getName().getStringRef());
  if (!code)
    return std::nullopt;
  RegionInstruction instruction{*code};
  Type from = getElementTypeOrSelf(op->getOperand(0).getType());
  Type to = getElementTypeOrSelf(op->getResult(0).getType());
  if (isa<FloatType>(to)) {
    instruction.toFloat = true;
    instruction.to = *dtypeOf(to);
  }
  instruction.toWidth = widthOf(to);
  if (code == RegionCode::Extract)
    return instruction;
  instruction.width = widthOf(from);
  if (isa<FloatType>(from)) {
    instruction.fromFloat = true;
    instruction.from = *dtypeOf(from);
  }
  adjust(op, instruction);
  return instruction;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

struct fa::RegionCompiler {
  RegionCompiler(RegionProgram &program, unsigned firstCapture)
      : program(program), firstCapture(firstCapture) {}

  RegionProgram &program;
  unsigned firstCapture;
  int32_t nextSlot = 0;
  llvm::DenseMap<Value, int32_t> slots;

  /// Give constants slots of their own, set once for all runs.
  void addConstants(Region &region) {
    region.walk([&](Operation *op) {
      Attribute attribute = constantOf(op);
      if (!attribute)
        return;
      slots[op->getResult(0)] = program.initial.size();
      program.initial.push_back(valueOf(attribute));
    });
  }

  void addBlock(Block &block) {
    for (Operation &op : block)
      if (auto branch = dyn_cast<scf::IfOp>(op))
        addIf(branch);
      else if (!constantOf(&op) && !op.hasTrait<OpTrait::IsTerminator>())
        addOp(&op);
  }

  /// Run both arms, since every op is total, and let selects choose.
  void addIf(scf::IfOp op) {
    addBlock(*op.thenBlock());
    if (op.elseBlock())
      addBlock(*op.elseBlock());
    for (auto [i, result] : llvm::enumerate(op.getResults())) {
      RegionInstruction select{RegionCode::Select};
      select.a = slots.lookup(op.getCondition());
      select.b = slots.lookup(op.thenYield().getOperand(i));
      select.c = slots.lookup(op.elseYield().getOperand(i));
      select.result = slots[result] = nextSlot++;
      program.instructions.push_back(select);
    }
  }

  void addOp(Operation *op) {
    RegionInstruction instruction = *instructionOf(op);
    for (Value result : op->getResults())
      slots[result] = nextSlot++;
    instruction.result = slots[op->getResult(0)];
    if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      instruction.a = cast<BlockArgument>(extract.getTensor()).getArgNumber() - firstCapture;
      instruction.b = program.indices.size();
      for (Value index : extract.getIndices())
        program.indices.push_back(slots.lookup(index));
    } else {
      int32_t *operands[] = {&instruction.a, &instruction.b, &instruction.c};
      for (auto [slot, operand] : llvm::zip(operands, op->getOperands()))
        *slot = slots.lookup(operand);
    }
    program.instructions.push_back(instruction);
  }
};

RegionProgram RegionProgram::compile(Region &region, bool isScore) {
  RegionProgram program;
  Block &block = region.front();
  unsigned firstCapture = isScore + AttentionOp::kNumPositionArgs;
  RegionCompiler compiler(program, firstCapture);
  program.firstPosition = isScore;
  for (BlockArgument argument : block.getArguments()) {
    Type type = argument.getType();
    bool isTensor = isa<RankedTensorType>(type);
    if (argument.getArgNumber() >= firstCapture) {
      program.captureSlots.push_back(isTensor ? -1 : program.initial.size());
      program.captureIsFloat.push_back(isa<FloatType>(getElementTypeOrSelf(type)));
      program.captureWidths.push_back(widthOf(getElementTypeOrSelf(type)));
    }
    if (!isTensor) {
      compiler.slots[argument] = program.initial.size();
      program.initial.push_back({});
    }
  }
  compiler.addConstants(region);
  compiler.nextSlot = program.initial.size();
  compiler.addBlock(block);
  program.yielded = compiler.slots.lookup(block.back().getOperand(0));
  program.initial.resize(compiler.nextSlot);
  program.isDouble.resize(compiler.nextSlot);
  for (auto [value, slot] : compiler.slots)
    program.isDouble[slot] = value.getType().isF64();
  return program;
}
