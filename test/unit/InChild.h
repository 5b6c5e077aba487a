//===- InChild.h - what a forked process does -------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_UNIT_INCHILD_H
#define FA_TEST_UNIT_INCHILD_H

#include "gtest/gtest.h"
#include <sys/wait.h>
#include <unistd.h>

namespace mlir::fa::test {

/// Return the status of a child that does something, or is ended by an alarm.
template <typename Work> int inChild(Work work) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

} // namespace mlir::fa::test

#endif // FA_TEST_UNIT_INCHILD_H
