//===- CPUExecutor.cpp - compiled kernels on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "fa/Runtime/CPUExecutor.h"
#include "fa/Support/MaxSize.h"
#include "fa/Target/CPU/ModuleToLLVMIR.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/CompileUtils.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"

using namespace mlir;
using namespace mlir::fa::cpu;

Argument Argument::tensor(void *data, llvm::ArrayRef<int64_t> sizes,
                          llvm::ArrayRef<int64_t> strides) {
  Argument argument;
  int64_t pointer = reinterpret_cast<intptr_t>(data);
  argument.words = {pointer, pointer, 0};
  argument.words.insert(argument.words.end(), sizes.begin(), sizes.end());
  argument.words.insert(argument.words.end(), strides.begin(), strides.end());
  return argument;
}

Executor::Executor() = default;
Executor::~Executor() = default;

/// Define all that kernels may call: what LLVM itself introduces. Nothing is looked
/// up in the process.
static llvm::Error defineSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto define = [&](llvm::StringRef name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                          llvm::JITSymbolFlags::Exported |
                                              llvm::JITSymbolFlags::Callable};
  };
  define("memcpy", static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy));
  define("memmove", static_cast<void *(*)(void *, const void *, size_t)>(&std::memmove));
  define("memset", static_cast<void *(*)(void *, int, size_t)>(&std::memset));
  return jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols)));
}

// An image is a line `name arguments scratch-bytes` a kernel, an empty line, and an
// object file.

llvm::Expected<std::string> Executor::compile(ModuleOp module, const TargetDescription &target) {
  llvm::LLVMContext context;
  auto llvmModule = translateToLLVMIR(module, context, target);
  if (!llvmModule)
    return llvmModule.takeError();
  std::string image;
  llvm::raw_string_ostream os(image);
  for (auto func : module.getOps<LLVM::LLVMFuncOp>())
    if (auto bytes = func->getAttrOfType<IntegerAttr>("cpu.scratch_bytes")) {
      llvm::StringRef name = func.getName();
      llvm::Function *entry =
          (*llvmModule)->getFunction(("_mlir_ciface_" + name + "_instances").str());
      if (!entry)
        return llvm::createStringError("kernel '" + name + "' has no entry");
      os << name << " " << entry->arg_size() << " " << bytes.getInt() << "\n";
    }
  os << "\n";
  // As LLJIT has it: code that may stand anywhere, all of it near.
  auto machine = getMachineBuilder(target)
                     .setRelocationModel(llvm::Reloc::PIC_)
                     .setCodeModel(llvm::CodeModel::Small)
                     .createTargetMachine();
  if (!machine)
    return machine.takeError();
  auto object = llvm::orc::SimpleCompiler(**machine)(**llvmModule);
  if (!object)
    return object.takeError();
  os << (*object)->getBuffer();
  return image;
}

llvm::Expected<std::unique_ptr<Executor>> Executor::create(ModuleOp module,
                                                           const TargetDescription &target) {
  auto image = compile(module, target);
  if (!image)
    return image.takeError();
  return load(*image);
}

llvm::Expected<std::unique_ptr<Executor>> Executor::load(llvm::StringRef image) {
  std::unique_ptr<Executor> executor(new Executor());
  auto [line, rest] = image.split('\n');
  for (; !line.empty(); std::tie(line, rest) = rest.split('\n')) {
    llvm::SmallVector<llvm::StringRef> words;
    line.split(words, ' ');
    Kernel kernel;
    if (words.size() != 3 || words[1].getAsInteger(10, kernel.numArguments) ||
        words[2].getAsInteger(10, kernel.scratchBytes))
      return llvm::createStringError("the image of a program for the CPU is damaged");
    executor->kernels[words[0].str()] = kernel;
  }
  auto jit = llvm::orc::LLJITBuilder()
                 .setJITTargetMachineBuilder(getMachineBuilder(getHostTarget()))
                 .setLinkProcessSymbolsByDefault(false)
                 .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                 .create();
  if (!jit)
    return jit.takeError();
  executor->jit = std::move(*jit);
  if (llvm::Error error = defineSymbols(*executor->jit))
    return error;
  if (llvm::Error error =
          executor->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(rest, "kernels")))
    return error;
  for (auto &[name, kernel] : executor->kernels) {
    auto run = executor->jit->lookup("packed_" + name + "_run");
    if (!run)
      return run.takeError();
    auto instances = executor->jit->lookup("packed_" + name + "_instances");
    if (!instances)
      return instances.takeError();
    kernel.run = run->toPtr<void (*)(void **)>();
    kernel.instances = instances->toPtr<void (*)(void **)>();
  }
  return executor;
}

llvm::Error Executor::run(llvm::StringRef name, llvm::ArrayRef<Argument> arguments,
                          ThreadPool &pool) const {
  auto found = kernels.find(name);
  if (found == kernels.end())
    return llvm::createStringError("there is no kernel '" + name.str() + "'");
  if (pool.isForked())
    return llvm::createStringError(
        "this process was forked from one that has threads for programs on CPUs, which did not "
        "come along; start processes by spawn (in Python multiprocessing.set_start_method), fork "
        "before the first program is compiled, or compile for one thread");
  const Kernel &kernel = found->second;
  if (arguments.size() != kernel.numArguments)
    return llvm::createStringError("kernel '" + name.str() + "' takes " +
                                   std::to_string(kernel.numArguments) + " arguments, got " +
                                   std::to_string(arguments.size()));
  std::vector<void *> common;
  // Kernels compute positions in 32 bits (tile-narrow-indices).
  for (auto [number, argument] : llvm::enumerate(arguments))
    for (int64_t size : argument.sizes())
      if (size < 0 || size > kMaxSize)
        return llvm::createStringError("argument " + std::to_string(number + 1) + " of " +
                                       std::to_string(arguments.size()) + " of kernel '" +
                                       name.str() + "' has a dimension of " + std::to_string(size) +
                                       ", expected 0 to 2^30 - 1; use fewer or shorter sequences");
  for (const Argument &argument : arguments)
    common.push_back(const_cast<void *>(argument.address()));
  int64_t count = 0;
  common.push_back(&count);
  kernel.instances(common.data());
  common.pop_back();

  // Pieces of one work tile balance best; where there are very many, the
  // counter is asked less often.
  int64_t grain = std::max<int64_t>(1, count / (64 * pool.size()));
  std::atomic<bool> outOfMemory = false;
  pool.run(count, grain, [&](int64_t begin, int64_t end, unsigned worker) {
    void *memory = pool.getScratch(worker, kernel.scratchBytes);
    if (!memory && kernel.scratchBytes) {
      outOfMemory = true;
      return;
    }
    Argument scratch = Argument::tensor(memory, {kernel.scratchBytes}, {1});
    std::vector<void *> all(common);
    all.insert(all.end(), {&begin, &end, const_cast<void *>(scratch.address())});
    kernel.run(all.data());
  });
  if (outOfMemory)
    return llvm::createStringError("kernel '" + name.str() + "' needs " +
                                   std::to_string(kernel.scratchBytes) +
                                   " bytes of scratch memory a thread, which could not be had");
  return llvm::Error::success();
}
