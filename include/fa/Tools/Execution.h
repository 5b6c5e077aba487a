//===- Execution.h - runs a program on host tensors -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TOOLS_EXECUTION_H
#define FA_TOOLS_EXECUTION_H

#include "fa/Support/HostTensor.h"
#include "fa/fa_c.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>

namespace mlir::fa {

/// Where the heads of a rank-4 tensor stand in memory; both are strides of one
/// batch x heads x length x head dim tensor.
enum class HeadLayout { BHSD, BSHD };

/// Where tensors stand in memory.
struct Placing {
  Placing(HeadLayout layout = HeadLayout::BHSD, int64_t shift = 0) : layout(layout), shift(shift) {}
  HeadLayout layout;
  /// Elements that each stands past an aligned address.
  int64_t shift;
};

/// The shapes of outputs, by name.
using OutputShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

/// A compiled program and the device that it runs on. The tensors of a launch
/// are copied there in the layout asked for; outputs and workspace are poisoned
/// with NaN and have guard bands, so that what is not written, or written
/// outside, shows. Programs may be launched from any thread.
class Execution {
public:
  /// Compiles for `options.target` on `options.device`, or the device of the target.
  static llvm::Expected<std::unique_ptr<Execution>> create(llvm::StringRef text,
                                                           const fa_compile_options &options);
  ~Execution();

  struct Outcome {
    std::vector<HostTensor> outputs;
    /// Seconds of each repeat of the launch alone, by the device's clock.
    std::vector<double> seconds;
  };
  /// Launches once and then `repeats` times more for the clock. `inputs` are
  /// found by name. Outputs get the shapes that `outputShape` says by name.
  llvm::Expected<Outcome> run(const std::vector<HostTensor> &inputs,
                              const OutputShapes &outputShapes, Placing placing = {},
                              int repeats = 0) const;
  /// Launches so many times, with two workspaces in turn; an error where two launches differ in any
  /// bit.
  llvm::Error repeat(const std::vector<HostTensor> &inputs, const OutputShapes &outputShapes,
                     int times) const;

  /// Names of the outputs in order.
  std::vector<std::string> outputNames() const;
  const fa_program *getProgram() const { return program; }

private:
  Execution(fa_program *program, fa_device *device) : program(program), device(device) {}
  fa_program *program;
  fa_device *device;
};

} // namespace mlir::fa

#endif // FA_TOOLS_EXECUTION_H
