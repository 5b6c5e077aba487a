//===- ModuleToLLVMIR.cpp - LLVM IR of kernels for a CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The code that arrives here is vectorized, so LLVM's pipeline is short: what
// tidies loads of descriptors, addresses and loops. Vectorizers and unrolling
// would take time and change nothing.
//
//===----------------------------------------------------------------------===//

#include "fa/Target/CPU/ModuleToLLVMIR.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include <mutex>

using namespace mlir;
using namespace mlir::fa;

/// Leave out LLVM's pass that cuts copies which read what narrower stores have just written: it
/// aborts at a masked access, whose size is not known (seen in LLVM 22.1), and nothing of ours is
/// copied like that. Only an option of the command line says so.
static void leaveOutAvoidSFB() {
  static std::once_flag once;
  std::call_once(once, [] {
    constexpr llvm::StringLiteral name = "x86-disable-avoid-SFB";
    if (llvm::cl::Option *option = llvm::cl::getRegisteredOptions().lookup(name))
      option->addOccurrence(0, name, "true");
  });
}

llvm::orc::JITTargetMachineBuilder cpu::getMachineBuilder(const TargetDescription &target) {
  leaveOutAvoidSFB();
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::orc::JITTargetMachineBuilder builder{llvm::Triple(llvm::sys::getProcessTriple())};
  builder.setCPU(target.cpu);
  builder.addFeatures(llvm::SubtargetFeatures(target.features).getFeatures());
  // Products and sums are fused where the program allows it (contract), only there.
  builder.getOptions().AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return builder;
}

/// `void packed_E(ptr arguments)` for an entry of the C interface.
static void createPacked(llvm::Function &entry, llvm::StringRef name) {
  llvm::LLVMContext &context = entry.getContext();
  llvm::IRBuilder<> b(context);
  auto type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy()}, /*isVarArg=*/false);
  auto *packed = llvm::Function::Create(type, llvm::Function::ExternalLinkage, "packed_" + name,
                                        entry.getParent());
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", packed));
  auto at = [&](unsigned i) {
    llvm::Value *slot = b.CreateConstInBoundsGEP1_64(b.getPtrTy(), packed->getArg(0), i);
    return b.CreateLoad(b.getPtrTy(), slot);
  };
  llvm::SmallVector<llvm::Value *> arguments;
  for (llvm::Argument &argument : entry.args()) {
    llvm::Value *address = at(argument.getArgNo());
    bool descriptor = argument.getType()->isPointerTy();
    arguments.push_back(descriptor ? address : b.CreateLoad(argument.getType(), address));
  }
  llvm::Value *result = b.CreateCall(&entry, arguments);
  if (!entry.getReturnType()->isVoidTy())
    b.CreateStore(result, at(entry.arg_size()));
  b.CreateRetVoid();
}

/// Return whether anything in a module is of a type, or vectors of it.
static bool hasAny(const llvm::Module &module, const llvm::Type *type) {
  auto isOne = [&](const llvm::Value &value) { return value.getType()->getScalarType() == type; };
  return llvm::any_of(module, [&](const llvm::Function &function) {
    return llvm::any_of(function.args(), isOne) ||
           llvm::any_of(llvm::instructions(function), [&](const llvm::Instruction &instruction) {
             return isOne(instruction) ||
                    llvm::any_of(instruction.operands(),
                                 [&](const llvm::Use &use) { return isOne(*use.get()); });
           });
  });
}

/// Define a function that LLVM calls to round, where the machine has no instruction for it.
static void
defineRounding(llvm::Module &module, llvm::StringRef name, llvm::Type *to, llvm::Type *from,
               llvm::function_ref<llvm::Value *(llvm::IRBuilder<> &, llvm::Value *)> round) {
  auto *type = llvm::FunctionType::get(to, {from}, /*isVarArg=*/false);
  auto *function = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  llvm::IRBuilder<> b(llvm::BasicBlock::Create(module.getContext(), "entry", function));
  b.CreateRet(round(b, function->getArg(0)));
  llvm::appendToCompilerUsed(module, {function});
}

/// Emit f32 rounded to bf16, to the nearest and on ties to even: numbers that are selected, passed
/// by value or read from a tile of one element become f32 and go back.
static llvm::Value *roundToBF16(llvm::IRBuilder<> &b, llvm::Value *x) {
  llvm::Value *bits = b.CreateBitCast(x, b.getInt32Ty()), *high = b.CreateLShr(bits, 16);
  llvm::Value *half = b.CreateAdd(b.CreateAnd(high, 1), b.getInt32(0x7FFF));
  llvm::Value *rounded = b.CreateLShr(b.CreateAdd(bits, half), 16);
  llvm::Value *isNaN = b.CreateFCmpUNO(x, x);
  llvm::Value *result = b.CreateSelect(isNaN, b.CreateOr(high, 0x40), rounded);
  return b.CreateBitCast(b.CreateTrunc(result, b.getInt16Ty()), b.getBFloatTy());
}

/// Emit f64 rounded to f16, by way of f32 rounded to odd, which keeps what decides: LLVM asks for
/// it where the sign of an f64 is given to what is rounded to f16.
static llvm::Value *roundToF16(llvm::IRBuilder<> &b, llvm::Value *x) {
  llvm::Value *nearest = b.CreateFPTrunc(x, b.getFloatTy());
  llvm::Value *back = b.CreateFPExt(nearest, b.getDoubleTy());
  llvm::Value *bits = b.CreateBitCast(nearest, b.getInt32Ty());
  auto size = [&](llvm::Value *of) { return b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, of); };
  llvm::Value *isAway = b.CreateFCmpOGT(size(back), size(x));
  llvm::Value *toZero = b.CreateSub(bits, b.CreateZExt(isAway, b.getInt32Ty()));
  llvm::Value *odd = b.CreateSelect(b.CreateFCmpONE(back, x), b.CreateOr(toZero, 1), bits);
  return b.CreateFPTrunc(b.CreateBitCast(odd, b.getFloatTy()), b.getHalfTy());
}

/// Define what LLVM calls to round in a module.
static void defineRoundings(llvm::Module &module, const cpu::TargetDescription &target) {
  llvm::IRBuilder<> b(module.getContext());
  if (!target.convertsBF16 && hasAny(module, b.getBFloatTy()))
    defineRounding(module, "__truncsfbf2", b.getBFloatTy(), b.getFloatTy(), roundToBF16);
  if (hasAny(module, b.getHalfTy()))
    defineRounding(module, "__truncdfhf2", b.getHalfTy(), b.getDoubleTy(), roundToF16);
}

static void setAttributes(llvm::Module &module, const llvm::TargetMachine &machine) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(llvm::Attribute::NoUnwind);
  }
}

static llvm::Error optimize(llvm::Module &module, llvm::TargetMachine &machine) {
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
  // What instcombine leaves undone after one round is no error.
  constexpr llvm::StringLiteral pipeline =
      "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,"
      "loop-mssa(licm),early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return error;
  passes.run(module, modules);
  return llvm::Error::success();
}

/// Cut blocks of very many instructions into pieces, since back ends take quadratic time of a
/// block: a mask of 1600 terms has one of 24,000 instructions. They join blocks of which one only
/// follows the other, so a piece ends in a branch, on what always holds: no size is the least
/// integer.
static void cutBlocks(llvm::Function &function) {
  constexpr unsigned kMost = 4000, kPiece = 1000;
  auto *number = llvm::find_if(function.args(), [](const llvm::Argument &argument) {
    return argument.getType()->isIntegerTy(64);
  });
  if (number == function.arg_end())
    return;
  llvm::SmallVector<llvm::BasicBlock *> blocks;
  for (llvm::BasicBlock &block : llvm::drop_begin(function))
    if (block.size() > kMost)
      blocks.push_back(&block);
  if (blocks.empty())
    return;

  llvm::IRBuilder<> b(function.getContext());
  auto *never = llvm::BasicBlock::Create(function.getContext(), "never", &function);
  b.SetInsertPoint(never);
  b.CreateIntrinsic(llvm::Intrinsic::trap, {});
  b.CreateUnreachable();
  b.SetInsertPoint(function.getEntryBlock().getTerminator());
  llvm::Value *always = b.CreateICmpNE(number, b.getInt64(std::numeric_limits<int64_t>::min()));
  for (llvm::BasicBlock *block : blocks)
    while (block->size() > kPiece + 1) {
      auto at = std::next(block->begin(), kPiece);
      if (isa<llvm::PHINode>(at))
        break;
      llvm::BasicBlock *rest = block->splitBasicBlock(at);
      block->getTerminator()->eraseFromParent();
      llvm::BranchInst::Create(rest, never, always, block);
      block = rest;
    }
}

llvm::Expected<std::unique_ptr<llvm::Module>>
cpu::translateToLLVMIR(ModuleOp module, llvm::LLVMContext &context,
                       const TargetDescription &target) {
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  // Names of arguments mean nothing to LLVM, which warns of them.
  module.walk([](LLVM::LLVMFuncOp func) { func.removeArgAttrsAttr(); });
  std::unique_ptr<llvm::Module> llvmModule = translateModuleToLLVMIR(module, context);
  if (!llvmModule)
    return llvm::createStringError("the module could not be translated to LLVM IR");

  llvm::Expected<std::unique_ptr<llvm::TargetMachine>> machine =
      getMachineBuilder(target).createTargetMachine();
  if (!machine)
    return machine.takeError();
  llvmModule->setDataLayout((*machine)->createDataLayout());
  llvmModule->setTargetTriple((*machine)->getTargetTriple());

  llvm::SmallVector<llvm::Function *> entries;
  for (llvm::Function &function : *llvmModule)
    if (function.getName().starts_with("_mlir_ciface_") && !function.isDeclaration())
      entries.push_back(&function);
  for (llvm::Function *entry : entries)
    createPacked(*entry, entry->getName().drop_front(strlen("_mlir_ciface_")));
  defineRoundings(*llvmModule, target);
  setAttributes(*llvmModule, **machine);
  if (llvm::Error error = optimize(*llvmModule, **machine))
    return error;
  for (llvm::Function &function : *llvmModule)
    if (!function.isDeclaration())
      cutBlocks(function);

  // A symbol outside the JIT's table is a mistake of ours; say which.
  for (llvm::Function &function : *llvmModule)
    if (function.isDeclaration() && !function.isIntrinsic() && !function.use_empty())
      return llvm::createStringError("the kernel calls '" + function.getName().str() +
                                     "', which the cpu target does not provide");
  return llvmModule;
}
