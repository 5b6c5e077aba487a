//===- HostProgram.cpp - programs that run on the CPU -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostProgram.h"
#include "Forks.h"
#include <map>

using namespace mlir::fa;
using llvm::StringRef;

/// Return the pool of so many threads: one, however many programs there are, so that
/// programs that are only kept have no threads of their own. Lives as long as one
/// of them.
static std::shared_ptr<cpu::ThreadPool> getPool(int threads) {
  static auto *const mutex = [] {
    auto *made = new std::mutex;
    holdWhileForking(*made);
    return made;
  }();
  static auto *const pools = new std::map<int, std::weak_ptr<cpu::ThreadPool>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::weak_ptr<cpu::ThreadPool> &known = (*pools)[threads];
  std::shared_ptr<cpu::ThreadPool> pool = known.lock();
  if (!pool || pool->isForked()) {
    // What waits for threads that a forked process does not have cannot be destroyed there.
    pool.reset(new cpu::ThreadPool(threads), [](cpu::ThreadPool *pool) {
      if (!pool->isForked())
        delete pool;
    });
    known = pool;
  }
  return pool;
}

namespace {

class Kernels : public HostKernels {
public:
  Kernels(std::vector<std::unique_ptr<cpu::Executor>> executors, int threads)
      : executors(std::move(executors)), pool(getPool(threads)) {}

  llvm::Error run(const Manifest &entry, const BoundArguments &bound) const override {
    std::vector<cpu::Argument> values;
    for (auto [info, argument] : llvm::zip_equal(entry.arguments, bound.arguments))
      values.push_back(
          info.isNumber() ? cpu::Argument::scalar(argument.scalar)
                          : cpu::Argument::tensor(argument.data, argument.sizes, argument.strides));
    const ManifestVariant &variant = choose(entry, bound);
    for (const ManifestKernel &kernel : variant.kernels) {
      std::vector<cpu::Argument> own;
      for (unsigned i : kernel.arguments)
        own.push_back(values[i]);
      if (llvm::Error error = executors[variant.image]->run(kernel.name, own, *pool))
        return error;
    }
    return llvm::Error::success();
  }

private:
  /// Return the first variant whose sizes occupy all threads; the last one, where none do.
  const ManifestVariant &choose(const Manifest &entry, const BoundArguments &bound) const {
    auto occupies = [&](const ManifestVariant &variant) {
      int64_t count = 1;
      for (const std::string &name : variant.parallel)
        count *= sizeOf(entry, bound, name);
      return variant.parallel.empty() || count >= pool->size();
    };
    auto found = llvm::find_if(entry.variants, occupies);
    return found == entry.variants.end() ? entry.variants.back() : *found;
  }
  /// Return a size by its name; 1 where no argument has it.
  static int64_t sizeOf(const Manifest &entry, const BoundArguments &bound, StringRef name) {
    for (auto [info, argument] : llvm::zip_equal(entry.arguments, bound.arguments))
      for (auto [dim, size] : llvm::zip(info.dims, argument.sizes))
        if (dim == name)
          return size;
    return 1;
  }

  std::vector<std::unique_ptr<cpu::Executor>> executors;
  std::shared_ptr<cpu::ThreadPool> pool;
};

} // namespace

std::unique_ptr<HostKernels>
mlir::fa::makeHostKernels(std::vector<std::unique_ptr<cpu::Executor>> executors, int threads) {
  return std::make_unique<Kernels>(std::move(executors), threads);
}
