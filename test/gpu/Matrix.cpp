//===- Matrix.cpp - programs of every kind on a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Suite.h"

using namespace fa_test;

void fa_test::addMatrix(std::vector<Test> &tests, bool full) {
  std::vector<Case> cases = full ? manyCases(gpuSettings()) : pairwiseCases(gpuSettings());
  uint64_t number = 0;
  for (const Case &c : cases) {
    tests.push_back({"matrix." + c.name(), [c, number](const Target &target) -> llvm::Error {
                       auto prepared = prepare(c, /*seed=*/number);
                       if (!prepared)
                         return prepared.takeError();
                       return runCase(*prepared, target.options());
                     }});
    ++number;
  }
}
