//===- FakeDriver.h - tests on the stand-in for libcuda.so.1 -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_FAKEDRIVER_H
#define FA_TEST_UNIT_FAKEDRIVER_H

#include "fa/fa_c.h"
#include <cstdlib>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>

namespace mlir::fa::test {

/// Settings of the stand-in, for a scope.
struct Settings {
  explicit Settings(const char *text) { setenv("FA_FAKE_CUDA", text, 1); }
  ~Settings() { unsetenv("FA_FAKE_CUDA"); }
};

/// Return a function of the stand-in that the driver has not.
template <typename Function> Function *fake(const char *name) {
  static void *library = dlopen(FA_FAKE_LIBCUDA, RTLD_NOW);
  return reinterpret_cast<Function *>(dlsym(library, name));
}

/// Return the message of an error, which is freed; empty for success.
inline std::string take(fa_error *error) {
  std::string message = error ? fa_error_message(error) : "";
  fa_error_free(error);
  return message;
}

class CUDA : public testing::Test {
protected:
  void SetUp() override {
    setenv("FA_LIBCUDA", FA_FAKE_LIBCUDA, 1);
    unsetenv("FA_FAKE_CUDA");
    fake<void()>("fakeReset")();
  }
  std::string launches() { return fake<const char *()>("fakeLaunches")(); }
};

} // namespace mlir::fa::test

#endif // FA_TEST_UNIT_FAKEDRIVER_H
