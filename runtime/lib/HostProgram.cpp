//===- HostProgram.cpp - programs that run on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include <map>

using namespace mlir::fa;

/// Return the pool of so many threads: one, however many programs there are, so that
/// programs that are only kept have no threads of their own. Lives as long as one
/// of them.
static std::shared_ptr<cpu::ThreadPool> getPool(int threads) {
  static auto *const mutex = new std::mutex;
  static auto *const pools = new std::map<int, std::weak_ptr<cpu::ThreadPool>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::weak_ptr<cpu::ThreadPool> &known = (*pools)[threads];
  std::shared_ptr<cpu::ThreadPool> pool = known.lock();
  if (!pool)
    known = pool = std::make_shared<cpu::ThreadPool>(threads);
  return pool;
}

namespace {

class Kernels : public HostKernels {
public:
  Kernels(std::unique_ptr<cpu::Executor> executor, int threads)
      : executor(std::move(executor)), pool(getPool(threads)) {}

  llvm::Error run(const Manifest &entry, const BoundArguments &bound) const override {
    std::vector<cpu::Argument> values;
    for (auto [info, argument] : llvm::zip_equal(entry.arguments, bound.arguments))
      values.push_back(
          info.isNumber() ? cpu::Argument::scalar(argument.scalar)
                          : cpu::Argument::tensor(argument.data, argument.sizes, argument.strides));
    for (const ManifestKernel &kernel : entry.kernels()) {
      std::vector<cpu::Argument> own;
      for (unsigned i : kernel.arguments)
        own.push_back(values[i]);
      if (llvm::Error error = executor->run(kernel.name, own, *pool))
        return error;
    }
    return llvm::Error::success();
  }

private:
  std::unique_ptr<cpu::Executor> executor;
  std::shared_ptr<cpu::ThreadPool> pool;
};

} // namespace

std::unique_ptr<HostKernels> mlir::fa::makeHostKernels(std::unique_ptr<cpu::Executor> executor,
                                                       int threads) {
  return std::make_unique<Kernels>(std::move(executor), threads);
}
