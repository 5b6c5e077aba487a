//===- Suite.h - the tests that need a device -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TEST_GPU_SUITE_H
#define FA_TEST_GPU_SUITE_H

#include "RunCase.h"
#include "fa/Tools/DeviceMemory.h"
#include <functional>

namespace fa {
struct Forward;
class Kernel;
} // namespace fa

namespace fa_test {

/// Where the tests run.
struct Target {
  /// "cuda:0", or "cpu", on which the suite can be tried.
  std::string device = "cuda";
  /// The code; empty: the device's best.
  std::string code;
  bool full = false;
  /// Launches that must give the same bits.
  int repeats = 250;

  bool isCPU() const { return device == "cpu"; }
  /// Tests run beside each other, so each takes one thread of the CPU.
  fa_compile_options options() const {
    fa_compile_options options = fa_compile_options_default();
    options.target = code.empty() ? device.c_str() : code.c_str();
    options.device = device.c_str();
    options.threads = 1;
    return options;
  }
};

/// Success, what is wrong, or "skipped: " and why.
using Body = std::function<llvm::Error(const Target &)>;

struct Test {
  std::string name;
  Body body;
  /// Runs when all others have: while a stream is captured, none may wait for the device.
  bool alone = false;
};

inline constexpr const char kSkipped[] = "skipped: ";

/// Launches the one entry of `manifest`, whose kernels are in `ptx`, with tensors
/// and scalars; what it stores to the last tensor, filled with NaN before, comes back.
llvm::Error runLoaded(const Target &target, const std::string &manifest, llvm::StringRef ptx,
                      std::vector<mlir::fa::HostTensor> &tensors,
                      std::vector<fa_argument> scalars = {});

/// Runs a program of a case; its outputs.
llvm::Expected<std::vector<mlir::fa::HostTensor>> runForOutputs(const PreparedCase &prepared,
                                                                const fa_compile_options &options);

/// Launches often, from the same inputs: all outputs have the same bits.
llvm::Error checkRepeats(llvm::Expected<PreparedCase> prepared, const Target &target);
/// Launches often, from the same inputs: all gradients have the same bits, also if another stream
/// is busy.
llvm::Error checkGradientRepeats(llvm::Expected<PreparedCase> prepared, const Target &target,
                                 bool beside = false, bool deterministic = false);

/// Gives launches with these arguments the workspace that they need.
llvm::Expected<mlir::fa::Buffer> giveWorkspace(const fa_device *device, const fa::Kernel &kernel,
                                               fa::Forward &args);

/// Captures what `launch` puts on a stream in a graph, and runs the graph three times,
/// between `before` and `after`.
llvm::Error replay(const Target &target, llvm::function_ref<llvm::Error(void *)> launch,
                   llvm::function_ref<llvm::Error()> before,
                   llvm::function_ref<llvm::Error()> after);

/// Runs `body` while another stream is kept busy by launches; on the CPU, another thread.
llvm::Error besideBusyStream(const Target &target, llvm::function_ref<llvm::Error()> body);

/// Programs of every kind against the reference: a test a case.
void addMatrix(std::vector<Test> &tests, bool full);
/// Gradients of every kind of program against the reference, and their bits at repeats.
void addBackward(std::vector<Test> &tests);
/// Kernels without one of the passes that only make code faster.
void addLeaveOut(std::vector<Test> &tests);
/// Bits of the first tier of programs and of the last one.
void addTiers(std::vector<Test> &tests);
/// Bits of dropout, repeats, pointers that are not aligned, random programs by captured integers
/// and of scores, each kind from `firstSeed` on.
void addSpecial(std::vector<Test> &tests, uint64_t firstSeed);
/// Programs whose masks are data: documents, blocks, sequences in a row.
void addData(std::vector<Test> &tests);
/// Sequences in a row, and lengths; those that make no sense stay inside of tensors.
void addSequences(std::vector<Test> &tests);
/// Tile programs that are no attention.
void addTiles(std::vector<Test> &tests);
/// Every function of math that a region may call.
void addMath(std::vector<Test> &tests);
/// Loading and launching, without the compiler.
void addRuntime(std::vector<Test> &tests);
/// Attention in a graph, through fa.h.
void addGraph(std::vector<Test> &tests);
/// Workspaces that hold anything.
void addWorkspace(std::vector<Test> &tests);
/// Tensors of more than 2^31 elements.
void addLarge(std::vector<Test> &tests);

} // namespace fa_test

#endif // FA_TEST_GPU_SUITE_H
