//===- Program.h - a compiled program, loaded --------------------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_PROGRAM_H
#define FA_RUNTIME_PROGRAM_H

#include "CUDAExecutor.h"
#include "Launch.h"
#include "fa/fa_c.h"
#include <atomic>

namespace mlir::fa {

/// Kernels that run in this process; libfa_rt.a has none.
class HostKernels {
public:
  virtual ~HostKernels() = default;
  virtual llvm::Error run(const Manifest &entry, const BoundArguments &bound) const = 0;
};

} // namespace mlir::fa

/// Immutable once it is made. A handle of the API and the cache share one.
struct fa_program {
  std::atomic<int> references{1};
  /// Number the program; no other one of the process has it.
  const uint64_t number = getNextNumber();
  std::string target;
  mlir::fa::Manifest manifest;
  // One of the two, by the target.
  std::unique_ptr<mlir::fa::HostKernels> host;
  std::unique_ptr<mlir::fa::cuda::Executor> cuda;
  // The arguments that a launch binds: indices into the manifest's.
  std::vector<unsigned> visible;
  std::vector<fa_dtype> dtypes;
  std::vector<std::vector<int64_t>> shapes;
  /// Why each start has the driver compile it, "what; remedy", as far as `keeping` knows.
  std::string startProblem;
  /// Writes to the disk, once all code is there; then what ptxas makes of it.
  std::unique_ptr<mlir::fa::Background> keeping;

private:
  static uint64_t getNextNumber() {
    static std::atomic<uint64_t> last{0};
    return ++last;
  }
};

namespace mlir::fa {

/// Return the device of "cuda" or "cuda:N".
llvm::Expected<std::shared_ptr<const cuda::Device>> openCUDA(llvm::StringRef name);
/// Check that the driver reads a program's images.
llvm::Error checkDriver(const cuda::Device &device, const ManifestModule &manifest);
/// Fills in what callers may ask of the arguments.
llvm::Error describeArguments(fa_program &program);
/// Return the code of images of PTX, of which `cubins` are tried before; an error where the
/// manifest counts others.
llvm::Expected<std::vector<ImageCode>>
getImageCodes(const ManifestModule &manifest, std::vector<std::string> images,
              std::vector<std::vector<std::string>> cubins = {});
/// Loads an entry of a manifest (null: the only one) and its images, one a count, on a device.
llvm::Error loadProgram(ManifestModule manifest, std::vector<ImageCode> images, const char *entry,
                        std::shared_ptr<const cuda::Device> device, fa_program &program);

} // namespace mlir::fa

#endif // FA_RUNTIME_PROGRAM_H
