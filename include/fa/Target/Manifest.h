//===- Manifest.h - what a launch needs to know of a compiled program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_MANIFEST_H
#define FA_TARGET_MANIFEST_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mlir::fa {

/// One argument of an entry, bound by name at launch.
struct ManifestArgument {
  enum Kind { Input, Output, Workspace, Scalar };
  std::string name;
  Kind kind;
  /// Type of the elements, or of the scalar.
  Type type;
  /// Sizes; ShapedType::kDynamic where the launch says them. Empty for scalars.
  std::vector<int64_t> shape;
  /// Names of the sizes, empty where they have none: sizes of one name agree.
  std::vector<std::string> dims;
  /// Of a workspace: for each dimension, the argument and its dimension whose
  /// size it takes, or (-1, size).
  std::vector<std::pair<int64_t, int64_t>> sizes;
};

/// One kernel of an entry.
struct ManifestKernel {
  std::string name;
  /// Indices into the entry's arguments, in the kernel's order.
  std::vector<unsigned> arguments;
  /// Extents of the grid over the sizes at (argument of the entry, dimension).
  AffineMap grid;
  std::vector<std::pair<unsigned, unsigned>> symbols;
};

/// An entry: its kernels run in order.
struct Manifest {
  std::string entry;
  std::vector<ManifestArgument> arguments;
  std::vector<ManifestKernel> kernels;
  /// Guards: the size named first is a multiple of the one named second, which is not 0.
  std::vector<std::pair<std::string, std::string>> multiples;
  /// Guards: the size of that name is at most so much.
  std::vector<std::pair<std::string, int64_t>> limits;

  /// The index of an argument, -1 where there is none of that name.
  int64_t find(StringRef name) const;
  /// Checks the shapes of inputs and outputs against the static sizes, the
  /// named sizes and the guards, and fills in those of the workspaces.
  /// `shapes` has one element (for scalars an empty one) an argument.
  llvm::Error resolve(std::vector<std::vector<int64_t>> &shapes) const;
  /// Bytes of a tensor of this shape; an error where that overflows 63 bits.
  llvm::Expected<int64_t> bytes(unsigned argument, ArrayRef<int64_t> shape) const;
  /// The extents of a kernel's grid.
  llvm::Expected<std::vector<int64_t>> grid(const ManifestKernel &kernel,
                                            const std::vector<std::vector<int64_t>> &shapes) const;
};

/// Reads the manifests, one an entry, off the tile.funcs of a module.
FailureOr<std::vector<Manifest>> readManifests(ModuleOp module);

} // namespace mlir::fa

#endif // FA_TARGET_MANIFEST_H
