//===- NVPTXCheck.cpp - what the NVPTX back end cannot select -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that is not defined becomes an unresolved symbol when the driver
// loads the program, and there is no library: libdevice is not linked. Functions
// such as exp abort the back end. So intrinsics are those of a list, calls go to
// functions of the module, and types are those that the GPU has.
//
//===----------------------------------------------------------------------===//

#include "NVPTXCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/InlineAsm.h"

using namespace mlir;
using namespace mlir::fa;

bool nvptx::isKernel(LLVM::LLVMFuncOp function) {
  return function->hasAttr(NVVM::NVVMDialect::getKernelFuncAttrName());
}

/// Intrinsics that become instructions, or are gone before, for every type.
static bool isInstruction(StringRef intrinsic) {
  static const llvm::StringSet<> names = {"abs",
                                          "assume",
                                          "bitreverse",
                                          "bswap",
                                          "copysign",
                                          "ctlz",
                                          "ctpop",
                                          "cttz",
                                          "dbg.declare",
                                          "dbg.label",
                                          "dbg.value",
                                          "expect",
                                          "fabs",
                                          "floor",
                                          "ceil",
                                          "fma",
                                          "fmuladd",
                                          "fptosi.sat",
                                          "fptoui.sat",
                                          "fshl",
                                          "fshr",
                                          "is.constant",
                                          "is.fpclass",
                                          "lifetime.end",
                                          "lifetime.start",
                                          "maximum",
                                          "maxnum",
                                          "memcpy",
                                          "memcpy.inline",
                                          "memset",
                                          "memmove",
                                          "minimum",
                                          "minnum",
                                          "nearbyint",
                                          "prefetch",
                                          "ptrmask",
                                          "rint",
                                          "round",
                                          "roundeven",
                                          "sadd.sat",
                                          "sadd.with.overflow",
                                          "smax",
                                          "smin",
                                          "smul.with.overflow",
                                          "sqrt",
                                          "sshl.sat",
                                          "ssub.sat",
                                          "ssub.with.overflow",
                                          "trunc",
                                          "uadd.sat",
                                          "uadd.with.overflow",
                                          "umax",
                                          "umin",
                                          "umul.with.overflow",
                                          "ushl.sat",
                                          "usub.sat",
                                          "usub.with.overflow",
                                          "vector.reduce.add",
                                          "vector.reduce.and",
                                          "vector.reduce.fadd",
                                          "vector.reduce.fmax",
                                          "vector.reduce.fmaximum",
                                          "vector.reduce.fmin",
                                          "vector.reduce.fminimum",
                                          "vector.reduce.fmul",
                                          "vector.reduce.mul",
                                          "vector.reduce.or",
                                          "vector.reduce.smax",
                                          "vector.reduce.smin",
                                          "vector.reduce.umax",
                                          "vector.reduce.umin",
                                          "vector.reduce.xor",
                                          "vector.extract",
                                          "vector.insert"};
  return names.contains(intrinsic);
}

/// Functions of f32 that are one approximate instruction.
static bool isApproximation(StringRef intrinsic) {
  return llvm::is_contained({"cos", "exp2", "log2", "sin", "tanh"}, intrinsic);
}

static LogicalResult checkIntrinsic(Operation *op, StringRef name) {
  if (isInstruction(name))
    return success();
  if (!isApproximation(name))
    return op->emitError() << "'" << op->getName()
                           << "' has no instruction on the GPU and there is no library; lower "
                              "it with gpu-lower-math first";
  Type type = op->getResult(0).getType();
  if (!getElementTypeOrSelf(type).isF32())
    return op->emitError() << "'" << op->getName() << "' on " << type
                           << " has no instruction on the GPU; compute it in f32";
  auto flags = cast<LLVM::FastmathFlagsInterface>(op).getFastmathAttr().getValue();
  if (name != "exp2" && !bitEnumContainsAny(flags, LLVM::FastmathFlags::afn))
    return op->emitError() << "'" << op->getName()
                           << "' is only approximate on the GPU; allow it with fastmath<afn>, or "
                              "lower it with gpu-lower-math first";
  return success();
}

static LogicalResult checkCall(LLVM::CallOp call) {
  std::optional<StringRef> callee = call.getCallee();
  if (!callee)
    return call.emitError("kernels cannot call through pointers; call a function by name");
  auto function =
      SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(call, call.getCalleeAttr());
  if (callee->starts_with("llvm.nvvm.") || (function && !function.isExternal()))
    return success();
  InFlightDiagnostic error = call.emitError()
                             << "the kernel calls '" << *callee
                             << "', which no GPU provides; define it in the module with the kernel";
  if (function)
    error.attachNote(function.getLoc()) << "it is declared here, without a body";
  return error;
}

/// Refuse memory of other modules, which cannot be linked; that of the launch is shared.
static LogicalResult checkGlobal(LLVM::GlobalOp global) {
  if (global.getThreadLocal_())
    return global.emitError("GPUs have no thread-local variables; use llvm.alloca");
  bool isDefined = global.getValueOrNull() || global.getInitializerBlock();
  if (isDefined || global.getAddrSpace() == 3)
    return success();
  return global.emitError() << "'" << global.getSymName()
                            << "' is not defined; give it a value, or address space 3 for what "
                               "the launch allocates";
}

/// LLVM trusts the constraints; operands beyond them would be read all the same.
static LogicalResult checkInlineAsm(LLVM::InlineAsmOp op) {
  llvm::InlineAsm::ConstraintInfoVector constraints =
      llvm::InlineAsm::ParseConstraints(op.getConstraints());
  if (constraints.empty() && !op.getConstraints().empty())
    return op.emitError() << "the constraints '" << op.getConstraints() << "' cannot be read";
  size_t outputs = 0, inputs = 0;
  for (const llvm::InlineAsm::ConstraintInfo &constraint : constraints) {
    if (constraint.isIndirect)
      return op.emitError() << "constraint '*' is not for GPUs; pass the address as an operand";
    outputs += constraint.Type == llvm::InlineAsm::isOutput;
    inputs += constraint.Type == llvm::InlineAsm::isInput;
  }
  SmallVector<Type> results(op->getResultTypes());
  if (results.size() == 1)
    if (auto structure = dyn_cast<LLVM::LLVMStructType>(results.front()))
      results = llvm::to_vector(structure.getBody());
  if (outputs != results.size() || inputs != op->getNumOperands())
    return op.emitError() << "the constraints have " << outputs << " outputs and " << inputs
                          << " inputs, expected " << results.size() << " and "
                          << op->getNumOperands();
  for (Type type : llvm::concat<Type>(results, SmallVector<Type>(op->getOperandTypes())))
    if (auto vector = dyn_cast<VectorType>(type);
        isa<LLVM::LLVMStructType, LLVM::LLVMArrayType>(type) ||
        (vector && isa<FloatType, IntegerType>(vector.getElementType()) &&
         vector.getNumElements() * vector.getElementTypeBitWidth() > 64))
      return op.emitError() << type << " does not fit a register; pass its elements";
  return success();
}

static LogicalResult checkFunction(LLVM::LLVMFuncOp function) {
  if (function.isVarArg())
    return function.emitError("functions on GPUs have a fixed number of arguments");
  if (nvptx::isKernel(function) &&
      !isa<LLVM::LLVMVoidType>(function.getFunctionType().getReturnType()))
    return function.emitError("a kernel returns nothing; store its results");
  if (nvptx::isKernel(function) && function.isExternal())
    return function.emitError("a kernel needs a body");
  return success();
}

/// Check that a function whose address is taken has a body.
static LogicalResult checkAddress(LLVM::AddressOfOp op) {
  auto function =
      SymbolTable::lookupNearestSymbolFrom<LLVM::LLVMFuncOp>(op, op.getGlobalNameAttr());
  if (!function || !function.isExternal())
    return success();
  return op.emitError() << "'" << op.getGlobalName()
                        << "' is not defined; define it in the module with the kernel";
}

static bool isKnown(Type type) {
  if (auto vector = dyn_cast<VectorType>(type); vector && vector.isScalable())
    return false;
  return !isa<Float80Type, Float128Type, LLVM::LLVMPPCFP128Type, LLVM::LLVMX86AMXType>(
      getElementTypeOrSelf(type));
}

static LogicalResult checkTypes(Operation *op) {
  for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
    for (Type type : types) {
      if (!isKnown(type))
        return op->emitError() << "'" << op->getName() << "' on " << type
                               << " cannot be compiled for GPUs; use f16, bf16, f32, f64 or "
                                  "vectors of fixed size";
      if (auto integer = dyn_cast<IntegerType>(getElementTypeOrSelf(type));
          integer && integer.getWidth() > 64 &&
          isa<LLVM::SIToFPOp, LLVM::UIToFPOp, LLVM::FPToSIOp, LLVM::FPToUIOp>(op))
        return op->emitError() << "'" << op->getName() << "' on " << type
                               << " cannot be compiled for GPUs; use integers of 64 bits at most";
    }
  return success();
}

/// Return the first target that has the feature.
static StringRef firstWith(bool nvptx::Target::*feature) {
  auto has = [&](const nvptx::Target &target) { return target.*feature; };
  return llvm::find_if(nvptx::getTargets(), has)->name;
}

/// Check that the target has the op's instruction; of inline assembly, what our passes write.
static LogicalResult checkArchitecture(Operation *op, const nvptx::Target &target) {
  // Upstream requires nothing for these.
  bool nvptx::Target::*needed = nullptr;
  if (isa<NVVM::SetMaxRegisterOp>(op))
    needed = &nvptx::Target::hasSetMaxRegisters;
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op);
      assembly && assembly.getAsmString().contains("wgmma."))
    needed = &nvptx::Target::asyncProducts;
  bool served = !needed || target.*needed;
  if (auto versioned = dyn_cast<NVVM::RequiresSMInterface>(op))
    served = versioned.getRequiredMinSMVersion().isCompatibleWith(
        NVVM::NVVMCheckSMVersion::getTargetSMVersionFromStr(target.name));
  if (served)
    return success();
  InFlightDiagnostic error = op->emitError();
  error << "'" << op->getName() << "' has no instruction on " << target.name;
  if (needed)
    error << ", it needs " << firstWith(needed);
  return error << "; a program after phase schedule is of one target, compile it for "
               << target.name << " from phase input";
}

static LogicalResult check(Operation *op, const nvptx::Target &target) {
  if (!isa_and_nonnull<LLVM::LLVMDialect, NVVM::NVVMDialect>(op->getDialect()))
    return op->emitError() << "'" << op->getName()
                           << "' is left after phase nvvm; only ops of llvm and nvvm can be";
  if (failed(checkTypes(op)) || failed(checkArchitecture(op, target)))
    return failure();
  if (auto call = dyn_cast<LLVM::CallOp>(op))
    return checkCall(call);
  if (auto global = dyn_cast<LLVM::GlobalOp>(op))
    return checkGlobal(global);
  if (auto function = dyn_cast<LLVM::LLVMFuncOp>(op))
    return checkFunction(function);
  if (auto address = dyn_cast<LLVM::AddressOfOp>(op))
    return checkAddress(address);
  if (auto assembly = dyn_cast<LLVM::InlineAsmOp>(op))
    return checkInlineAsm(assembly);
  if (isa<LLVM::InvokeOp, LLVM::LandingpadOp, LLVM::ResumeOp, LLVM::GlobalCtorsOp,
          LLVM::GlobalDtorsOp, LLVM::AliasOp, LLVM::IFuncOp, LLVM::VaArgOp, LLVM::IndirectBrOp>(op))
    return op->emitError() << "'" << op->getName() << "' cannot be compiled for GPUs";
  if (auto call = dyn_cast<LLVM::CallIntrinsicOp>(op)) {
    if (call.getIntrin().starts_with("llvm.nvvm."))
      return success();
    return call.emitError() << "intrinsic '" << call.getIntrin()
                            << "' is none of the GPU's; expected one of llvm.nvvm.*, or an op of "
                               "the LLVM dialect";
  }
  StringRef name = op->getName().getStringRef();
  if (name.consume_front("llvm.intr."))
    return checkIntrinsic(op, name);
  return success();
}

LogicalResult nvptx::checkSelectable(Operation *root, const Target &target) {
  WalkResult result = root->walk(
      [&](Operation *op) -> WalkResult { return op == root ? success() : check(op, target); });
  return failure(result.wasInterrupted());
}
