//===- LeaveOut.cpp - kernels without one of the passes that make code faster -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Suite.h"
#include "fa/Pipelines/GPU.h"
#include "fa/Tools/DeviceMemory.h"

using namespace mlir::fa;
using namespace fa_test;

/// Empty, or why code for `code` does not run here.
static std::string reasonAgainst(const std::string &code, const Target &target) {
  if (target.isCPU())
    return "code for CPUs has no schedule";
  if (!target.code.empty() && target.code != code)
    return "--target asks for other code";
  fa_device *device;
  if (llvm::Error failed = takeError(fa_device_open(target.device.c_str(), &device)))
    return llvm::toString(std::move(failed));
  bool hopper = fa_device_get_info(device).major == 9;
  fa_device_close(device);
  return code == "sm_90a" && !hopper ? "sm_90a is code for compute capability 9.0 alone" : "";
}

static llvm::Error check(const Case &c, const std::string &code, const std::string &pass,
                         uint64_t seed, const Target &target) {
  if (std::string reason = reasonAgainst(code, target); !reason.empty())
    return llvm::createStringError(kSkipped + reason);
  auto prepared = prepare(c, seed);
  if (!prepared)
    return prepared.takeError();
  fa_compile_options options = target.options();
  options.target = code.c_str();
  options.leave_out = pass.c_str();
  return runCase(*prepared, options);
}

void fa_test::addLeaveOut(std::vector<Test> &tests) {
  uint64_t seed = 0;
  for (std::string code : {"sm_80", "sm_90a"})
    for (llvm::StringRef pass : nvptx::getOptionalPasses(*nvptx::getTarget(code)))
      for (const Case &c : scheduleCases(/*sq=*/300, /*sk=*/500)) {
        std::string left = pass.str();
        tests.push_back({"leave_out." + code + "." + left + "." + c.name(),
                         [=](const Target &target) { return check(c, code, left, seed, target); }});
        ++seed;
      }
}
