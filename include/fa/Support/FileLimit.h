//===- FileLimit.h - files that may not grow further ------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_SUPPORT_FILELIMIT_H
#define FA_SUPPORT_FILELIMIT_H

#include <cerrno>
#include <csignal>
#include <ctime>

namespace mlir::fa {

/// Lets writes of this thread fail with EFBIG at the process's limit (RLIMIT_FSIZE), for a scope:
/// else a signal comes with it, which by default ends the process. `errno` is kept.
class FileLimitIsAnError {
public:
  FileLimitIsAnError() {
    sigemptyset(&signals);
    sigaddset(&signals, SIGXFSZ);
    sigset_t pending;
    active = sigpending(&pending) == 0 && !sigismember(&pending, SIGXFSZ) &&
             pthread_sigmask(SIG_BLOCK, &signals, &before) == 0;
  }
  ~FileLimitIsAnError() {
    // One that was pending before is the caller's.
    if (!active)
      return;
    int code = errno;
    const timespec atOnce = {0, 0};
    while (sigtimedwait(&signals, nullptr, &atOnce) < 0 && errno == EINTR)
      continue;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = code;
  }
  FileLimitIsAnError(const FileLimitIsAnError &) = delete;

private:
  sigset_t signals, before;
  bool active;
};

} // namespace mlir::fa

#endif // FA_SUPPORT_FILELIMIT_H
