//===- KeptCubins.h - what ptxas makes, between processes -------*- C++ -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Drivers compile PTX at each start of a process, unless they keep what they make;
// in a container they often cannot. Where there is a ptxas, the PTX that the driver
// compiled is assembled beside, and the cubin is kept in the disk cache:
//
//   key    the image of a program, that program's key, and which ptxas with what options
//   value  the cubin, or, of PTX that this ptxas refuses, what it says
//
// Which ptxas it is, is told by its path, size and time of change, since to ask it
// takes a process. It must be of a CUDA that reads the PTX and that is of the driver's
// major version or older, else the driver would refuse the cubin. One that warns is
// not kept: the driver's compiler may do better.
//
//===----------------------------------------------------------------------===//

#ifndef FA_RUNTIME_KEPTCUBINS_H
#define FA_RUNTIME_KEPTCUBINS_H

#include "CUDAExecutor.h"
#include "DiskCache.h"
#include "fa/Target/NVPTX/TargetDescription.h"

namespace mlir::fa {

/// The cubins of the images of one program.
class KeptCubins {
public:
  /// `key`: that of the program; `driver`: the CUDA that it supports, as it counts.
  KeptCubins(DiskCache disk, std::string key, const nvptx::Target &target, int driver);

  /// Return whether there is a ptxas, and a folder for what it makes.
  bool canAssemble() const { return !assemblers.empty() && disk.findProblem().empty(); }
  /// Return the cubins that are kept for an image, by each ptxas that there is.
  std::vector<std::string> find(unsigned image) const;
  /// Assemble what the driver compiled, once it has, and keep that; for a Background, at whose end
  /// it stops. Return why something is not kept, "what; remedy", empty where all is.
  std::string assemble(const cuda::Executor &executor, const Manifest &entry,
                       llvm::ArrayRef<Code> images) const;

  /// Return why no cubin is kept, whatever the program, "what; remedy"; empty where one may be.
  static std::string explainNone();

private:
  /// A ptxas, and what tells it from others.
  struct Assembler {
    std::string path, identity;
  };

  std::string keyOf(unsigned image, const Assembler &assembler) const;
  /// Assemble one image by the first ptxas that serves. Return why it is not kept; `full` where
  /// the disk takes none.
  std::string assembleImage(unsigned image, llvm::StringRef ptx, bool &full) const;

  DiskCache disk;
  std::string key;
  const nvptx::Target &target;
  int driver;
  std::vector<Assembler> assemblers;
};

} // namespace mlir::fa

#endif // FA_RUNTIME_KEPTCUBINS_H
