//===- CPUExecutor.h - compiled kernels on the CPU --------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_CPUEXECUTOR_H
#define FA_RUNTIME_CPUEXECUTOR_H

#include "fa/Runtime/CPUThreadPool.h"
#include "fa/Target/CPU/TargetDescription.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <cstring>
#include <map>
#include <memory>
#include <string>

namespace llvm::orc {
class LLJIT;
} // namespace llvm::orc

namespace mlir::fa::cpu {

/// One argument of a kernel: a strided tensor or a scalar. Kernels take its
/// address, so an argument outlives the call that it is given to.
class Argument {
public:
  /// Describe a tensor; strides are in elements, the last is 1.
  static Argument tensor(void *data, llvm::ArrayRef<int64_t> sizes,
                         llvm::ArrayRef<int64_t> strides);
  template <typename T> static Argument scalar(T value) {
    static_assert(sizeof(T) <= sizeof(int64_t));
    Argument argument;
    argument.words.resize(1);
    std::memcpy(argument.words.data(), &value, sizeof(T));
    return argument;
  }
  const void *address() const { return words.data(); }
  /// Return the sizes of a tensor; a scalar has none.
  llvm::ArrayRef<int64_t> sizes() const {
    return words.size() == 1 ? llvm::ArrayRef<int64_t>()
                             : llvm::ArrayRef<int64_t>(words).slice(3, (words.size() - 3) / 2);
  }

private:
  // A memref descriptor (pointer, pointer, offset, sizes, strides) or the value.
  std::vector<int64_t> words;
};

/// A module of kernels, compiled. Immutable; may be used from any thread.
class Executor {
public:
  /// Create from a module that has been through the `llvm` phase.
  static llvm::Expected<std::unique_ptr<Executor>>
  create(ModuleOp module, const TargetDescription &target = getHostTarget());
  /// Do the same in two steps: make bytes that may be kept, and load them. Code is
  /// trusted: load only bytes that are known to be whole.
  static llvm::Expected<std::string> compile(ModuleOp module, const TargetDescription &target);
  static llvm::Expected<std::unique_ptr<Executor>> load(llvm::StringRef image);
  ~Executor();

  /// Runs every work tile of a kernel. Arguments as in the tile.func, ids left out.
  llvm::Error run(llvm::StringRef kernel, llvm::ArrayRef<Argument> arguments,
                  ThreadPool &pool) const;

private:
  struct Kernel {
    void (*run)(void **) = nullptr;
    void (*instances)(void **) = nullptr;
    unsigned numArguments = 0;
    int64_t scratchBytes = 0;
  };

  Executor();
  std::unique_ptr<llvm::orc::LLJIT> jit;
  std::map<std::string, Kernel, std::less<>> kernels;
};

} // namespace mlir::fa::cpu

#endif // FA_RUNTIME_CPUEXECUTOR_H
