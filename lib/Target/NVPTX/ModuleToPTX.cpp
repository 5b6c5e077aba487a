//===- ModuleToPTX.cpp - PTX of kernels in the LLVM dialect -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   1. Refuses, where it stands, what the back end could not select: it would
//      abort the process (NVPTXCheck.cpp).
//   2. Upstream's translation to LLVM IR.
//   3. Marks every function and every call of inline assembly convergent, which
//      MLIR cannot say: LLVM would copy a barrier into both arms of a branch.
//   4. Scalarizes before anything else: a phi of 64 elements is one value, which
//      simplifycfg would make a select, executed always.
//   5. A short pipeline: kernels arrive unrolled and vectorized.
//   6. What f16 and bf16 would be computed wrongly, or not at all, is computed in f32: where
//      subnormals of f32 are flushed, the back end flushes those of f16, which start at 6e-5,
//      and writes setp.ftz.bf16, which there is not.
//   7. The back end, with subnormals of f32 flushed. Its errors are collected; an abort
//      of its own is turned into an error.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/NVPTX/ModuleToPTX.h"
#include "NVPTXCheck.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/OptBisect.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include <csetjmp>
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

//===----------------------------------------------------------------------===//
// Fatal errors of LLVM
//===----------------------------------------------------------------------===//

namespace {
/// Where a fatal error of LLVM on this thread goes to, and its text.
struct FatalError {
  jmp_buf target;
  std::string message;
};
} // namespace

static thread_local FatalError *fatalError = nullptr;

static void handleFatalError(void *, const char *reason, bool) {
  if (!fatalError) {
    // Not ours: what LLVM would do.
    llvm::errs() << "LLVM ERROR: " << reason << "\n";
    return;
  }
  fatalError->message = reason;
  longjmp(fatalError->target, 1);
}

/// Runs `function`; whether it came to its end, without a fatal error of LLVM.
/// After one, what it used must be leaked: destructors were not run.
static bool runGuarded(llvm::function_ref<void()> function, std::string &message) {
  // LLVM knows one handler per process; threads have their own targets.
  static std::once_flag once;
  std::call_once(once, [] { llvm::install_fatal_error_handler(handleFatalError); });
  FatalError error;
  fatalError = &error;
  bool ended = setjmp(error.target) == 0;
  if (ended)
    function();
  fatalError = nullptr;
  message = error.message;
  return ended;
}

//===----------------------------------------------------------------------===//
// LLVM IR
//===----------------------------------------------------------------------===//

static std::unique_ptr<llvm::TargetMachine> createMachine(const nvptx::Target &target,
                                                          const llvm::Triple &triple) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Target *found = llvm::TargetRegistry::lookupTarget(triple, error);
  llvm::TargetOptions options;
  // Products and sums are fused where the program allows it (contract), only there.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(
      found->createTargetMachine(triple, target.name, target.features, options, std::nullopt,
                                 std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

static bool isInlineAsm(const llvm::Instruction &instruction) {
  auto *call = dyn_cast<llvm::CallBase>(&instruction);
  return call && call->isInlineAsm();
}

static void setAttributes(llvm::Module &module) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
    function.addFnAttr(llvm::Attribute::NoUnwind);
    function.addFnAttr(llvm::Attribute::Convergent);
    if (function.getCallingConv() != llvm::CallingConv::PTX_Kernel) {
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
      function.addFnAttr(llvm::Attribute::AlwaysInline);
    }
    for (llvm::BasicBlock &block : function)
      for (llvm::Instruction &instruction : block)
        if (isInlineAsm(instruction))
          cast<llvm::CallBase>(instruction).addFnAttr(llvm::Attribute::Convergent);
  }
}

/// LLVM keeps `log2` with afn, but its back end selects only the intrinsic.
static void lowerApproximateLog2(llvm::Module &module) {
  llvm::Function *log2 = llvm::Intrinsic::getDeclarationIfExists(
      &module, llvm::Intrinsic::log2, {llvm::Type::getFloatTy(module.getContext())});
  if (!log2)
    return;
  log2->replaceAllUsesWith(
      llvm::Intrinsic::getOrInsertDeclaration(&module, llvm::Intrinsic::nvvm_lg2_approx_ftz_f));
}

/// Return whether the back end has arithmetic of 16 bits for an instruction that flushes
/// subnormals, or comparisons.
static bool isFlushed(const llvm::Instruction &instruction) {
  if (isa<llvm::FCmpInst>(instruction))
    return instruction.getOperand(0)->getType()->getScalarType()->is16bitFPTy();
  if (!instruction.getType()->getScalarType()->isHalfTy())
    return false;
  if (auto *intrinsic = dyn_cast<llvm::IntrinsicInst>(&instruction))
    switch (intrinsic->getIntrinsicID()) {
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::minnum:
      return true;
    default:
      return false;
    }
  return isa<llvm::BinaryOperator, llvm::UnaryOperator>(instruction);
}

/// Computes a sign by integers, for the back end sees through extensions around it; null for
/// what else there is.
static llvm::Value *changeSign(llvm::IRBuilder<> &b, llvm::Instruction *instruction) {
  auto *intrinsic = dyn_cast<llvm::IntrinsicInst>(instruction);
  llvm::Intrinsic::ID id = intrinsic ? intrinsic->getIntrinsicID() : llvm::Intrinsic::not_intrinsic;
  bool copies = id == llvm::Intrinsic::copysign;
  bool negates = instruction->getOpcode() == llvm::Instruction::FNeg;
  if (!copies && !negates && id != llvm::Intrinsic::fabs)
    return nullptr;
  llvm::Type *type = instruction->getType();
  llvm::Type *integers = type->getWithNewType(b.getInt16Ty());
  auto bitsOf = [&](unsigned operand) {
    return b.CreateBitCast(instruction->getOperand(operand), integers);
  };
  auto constant = [&](uint64_t bits) { return llvm::ConstantInt::get(integers, bits); };
  llvm::Value *bits =
      negates ? b.CreateXor(bitsOf(0), constant(0x8000)) : b.CreateAnd(bitsOf(0), constant(0x7fff));
  if (copies)
    bits = b.CreateOr(bits, b.CreateAnd(bitsOf(1), constant(0x8000)));
  return b.CreateBitCast(bits, type);
}

/// Computes in f32. A sum, a difference or a product of two f16 that is rounded to f32 and then to
/// f16 is the one that is rounded once.
static llvm::Value *computeInF32(llvm::IRBuilder<> &b, llvm::Instruction *instruction) {
  llvm::Type *narrow = instruction->getOperand(0)->getType();
  llvm::Type *wide = narrow->getWithNewType(b.getFloatTy());
  SmallVector<llvm::Value *> operands;
  for (llvm::Value *operand : instruction->operand_values())
    if (operand->getType() == narrow)
      operands.push_back(b.CreateFPExt(operand, wide));
  if (auto *comparison = dyn_cast<llvm::FCmpInst>(instruction))
    return b.CreateFCmp(comparison->getPredicate(), operands[0], operands[1]);
  auto *intrinsic = dyn_cast<llvm::IntrinsicInst>(instruction);
  llvm::Value *result = intrinsic ? b.CreateIntrinsic(wide, intrinsic->getIntrinsicID(), operands)
                                  : b.CreateNAryOp(instruction->getOpcode(), operands);
  return b.CreateFPTrunc(result, narrow);
}

/// Replaces arithmetic that would be flushed. Instcombine would undo it.
static void replaceFlushed(llvm::Module &module) {
  SmallVector<llvm::Instruction *> flushed;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (isFlushed(instruction))
        flushed.push_back(&instruction);
  for (llvm::Instruction *instruction : flushed) {
    llvm::IRBuilder<> b(instruction);
    b.setFastMathFlags(instruction->getFastMathFlags());
    llvm::Value *result = changeSign(b, instruction);
    instruction->replaceAllUsesWith(result ? result : computeInF32(b, instruction));
    instruction->eraseFromParent();
  }
}

static void run(llvm::Module &module, llvm::TargetMachine &machine, StringRef pipeline) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, pipeline));
  passes.run(module, modules);
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine) {
  run(module, machine, "always-inline,globaldce,function(scalarizer)");
  lowerApproximateLog2(module);
  // What instcombine leaves undone after one round is no error.
  run(module, machine,
      "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(licm),early-cse,instcombine<no-verify-fixpoint>,simplifycfg)");
  replaceFlushed(module);
}

namespace {
/// Leaves out a pass of the back end, straight-line strength reduction, that compares each sum with
/// all before it: a mask of 100 ops took it 20 s.
struct PassGate : llvm::OptPassGate {
  bool isEnabled() const override { return true; }
  bool shouldRunPass(StringRef pass, StringRef) const override { return pass != "slsr"; }
};
} // namespace

static std::string print(llvm::Module &module, llvm::TargetMachine &machine, nvptx::CodeKind kind) {
  SmallVector<char, 0> text;
  llvm::raw_svector_ostream os(text);
  if (kind == nvptx::CodeKind::LLVM) {
    module.print(os, nullptr);
  } else {
    PassGate gate;
    module.getContext().setOptPassGate(gate);
    llvm::legacy::PassManager passes;
    machine.addPassesToEmitFile(passes, os, nullptr, llvm::CodeGenFileType::AssemblyFile);
    passes.run(module);
  }
  return std::string(text.begin(), text.end());
}

//===----------------------------------------------------------------------===//
// The translation
//===----------------------------------------------------------------------===//

/// Return the op that holds the kernels.
static FailureOr<Operation *> findKernels(ModuleOp module) {
  auto modules = llvm::to_vector(module.getOps<gpu::GPUModuleOp>());
  if (modules.size() > 1) {
    InFlightDiagnostic error = modules[1].emitError(
        "a program has one gpu.module, this is the second; put their kernels into one");
    error.attachNote(modules[0].getLoc()) << "the first is here";
    return error;
  }
  Operation *root = modules.empty() ? module.getOperation() : modules.front().getOperation();
  bool any = false;
  for (auto function : root->getRegion(0).front().getOps<LLVM::LLVMFuncOp>())
    any |= nvptx::isKernel(function);
  if (any)
    return root;
  return root->emitError("the module holds no kernel; mark an llvm.func with nvvm.kernel");
}

static void registerTranslations(MLIRContext *context) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
}

FailureOr<std::string> nvptx::translateToPTX(ModuleOp module, const Target &target, CodeKind kind) {
  FailureOr<Operation *> root = findKernels(module);
  if (failed(root) || failed(checkSelectable(*root, target)))
    return failure();
  registerTranslations(module.getContext());

  // On the heap, for after a fatal error they are leaked.
  auto context = std::make_unique<llvm::LLVMContext>();
  // Names of values are for readers.
  context->setDiscardValueNames(kind != CodeKind::LLVM);
  SmallVector<std::string> errors;
  context->setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo *info, void *errors) {
        if (info->getSeverity() != llvm::DS_Error)
          return;
        std::string text;
        llvm::raw_string_ostream os(text);
        llvm::DiagnosticPrinterRawOStream printer(os);
        info->print(printer);
        static_cast<SmallVector<std::string> *>(errors)->push_back(text);
      },
      &errors);
  std::unique_ptr<llvm::Module> code = translateModuleToLLVMIR(*root, *context);
  if (!code)
    return failure();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(target, triple);
  code->setTargetTriple(triple);
  code->setDataLayout(machine->createDataLayout());
  setAttributes(*code);

  std::string text, fatal;
  bool ended = runGuarded(
      [&] {
        optimize(*code, *machine);
        text = print(*code, *machine, kind);
      },
      fatal);
  if (!ended) {
    (void)code.release();
    (void)machine.release();
    (void)context.release();
    return (*root)->emitError() << "the NVPTX back end cannot compile the kernels for "
                                << target.name << ": " << fatal;
  }
  for (const std::string &error : errors)
    (*root)->emitError() << "the NVPTX back end cannot compile the kernels for " << target.name
                         << ": " << error;
  if (!errors.empty())
    return failure();
  return text;
}
