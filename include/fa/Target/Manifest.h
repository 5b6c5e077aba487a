//===- Manifest.h - what a launch needs to know of a compiled program -===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ABI of kernels on GPUs. Parameters stand in the order of the tile.func's
// arguments. A view of rank r is a 64-bit pointer, then its dynamic sizes (i64,
// in the order of dimensions; static ones are left out), then the strides of
// dimensions 0 to r - 2 (i64, in elements; the last stride is 1). A scalar is
// passed by value in its type (index as i64, i1 as i8). A tensor map is 128 bytes
// by value, aligned to 64. The grid is launched in one dimension, as the product
// of its extents; kernels take the id apart. A kernel whose blocks run several
// work tiles gets no more of them than fit on the device.
//
// A tensor map describes a view of rank r = 2 to 4 in tiles of its last two
// dimensions to the TMA (TMA), in panels of as many bytes as the swizzle
// repeats after, which is what the swizzle can permute: a box of rows x columns
// arrives in shared memory as [columns / panel][rows][panel]. With n elements in
// a panel the map has r + 1 dimensions, the innermost first:
//
//   size    n     size[r-2]     size[r-1] / n    size[r-3]     ... size[0]
//   stride  1     stride[r-2]   n                stride[r-3]   ... stride[0]
//   box     n     rows          columns / n      1             ... 1
//
// Where size[r-1] or columns is no multiple of n, panels cannot be a dimension:
// the last one would go on into the next row. Then the map has r dimensions, and
// the kernel copies a box for each panel, the last one in part out of bounds:
//
//   size    size[r-1]     size[r-2]     size[r-3]     ... size[0]
//   stride  1             stride[r-2]   stride[r-3]   ... stride[0]
//   box     n             rows          1             ... 1
//
// Maps of slices are for any slice of the view's rows: lib/Conversion/TileToNVVM/TensorMaps.cpp.
// With panels or without, they have
//
//   size    n             2^30          units + 1       2^30 + 1           (size[r-1] / n)
//   stride  1             stride[r-2]   16 bytes        2^34 - stride[r-2] (n)
//   box     n             rows          1               1                  (columns / n)
//
// for a view whose rows all begin before so many units of 16 bytes.
//
// Elements out of bounds read as 0 and are not written. A view with a size of 0
// reads as 0 everywhere too: a map of no element is refused by the driver, and
// one of an element would read memory that is not there, so the runtime maps a
// row of its own instead.
//
//===----------------------------------------------------------------------===//

#ifndef FA_TARGET_MANIFEST_H
#define FA_TARGET_MANIFEST_H

#include "fa/Support/HostTensor.h"
#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MathExtras.h"
#include <string>
#include <tuple>
#include <vector>

namespace mlir::fa {

/// The sizes of each argument of an entry; empty for scalars. Launches take no
/// memory of the heap, but for tensors and programs of uncommon extent.
using LaunchShape = llvm::SmallVector<int64_t, 5>;
using LaunchShapes = llvm::SmallVector<LaunchShape, 12>;

/// A number that a launch computes from its sizes.
struct SizeExpr {
  enum Kind { Constant, Size, Add, Mul, Min, Max, FloorDiv, CeilDiv, Mod };
  Kind kind = Constant;
  /// Hold the value of a constant.
  int64_t value = 0;
  /// Name the size: an argument of the entry, and its dimension.
  unsigned argument = 0, dim = 0;
  /// Two of all others.
  std::vector<SizeExpr> operands;

  static SizeExpr constant(int64_t value);
  static SizeExpr size(unsigned argument, unsigned dim);
  static SizeExpr binary(Kind kind, SizeExpr lhs, SizeExpr rhs);
  /// Make one from an affine expression whose symbol i is the size symbols[i].
  static SizeExpr fromAffine(AffineExpr expr, ArrayRef<std::pair<unsigned, unsigned>> symbols);
  /// Fails on overflow and where it divides by what is not positive.
  llvm::Expected<int64_t> evaluate(const LaunchShapes &shapes) const;
};

/// One argument of an entry, bound by name at launch.
struct ManifestArgument {
  /// A launch epoch is a number that the runtime chooses for each launch: those of two
  /// launches are more than 2^31 apart (modulo 2^64).
  enum Kind { Input, Output, Workspace, Scalar, LaunchEpoch };
  std::string name;
  Kind kind = Input;
  /// Give the type of the elements, or of the scalar; none where no launch can pass it.
  std::optional<DType> dtype;
  /// Sizes; ShapedType::kDynamic where the launch says them. Empty for scalars.
  std::vector<int64_t> shape;
  /// Names of the sizes, empty where they have none: sizes of one name agree.
  std::vector<std::string> dims;
  /// The size of a dimension of a workspace: that of a dimension of an argument, divided and
  /// rounded up, then rounded up to a multiple; of no argument, -1, it is `dim` itself. With
  /// `added`, an argument, the multiple times the size of its dimension `addedDim` is added.
  struct SizeOf {
    int64_t argument, dim, divisor = 1, multiple = 1, added = -1, addedDim = 0;
    bool operator==(const SizeOf &other) const {
      return std::tie(argument, dim, divisor, multiple, added, addedDim) ==
             std::tie(other.argument, other.dim, other.divisor, other.multiple, other.added,
                      other.addedDim);
    }
    /// Return the size, where those of earlier arguments are `shapes`.
    int64_t resolve(const LaunchShapes &shapes) const;
  };
  /// Give the size of each dimension of a workspace.
  std::vector<SizeOf> sizes;

  /// Return whether it is passed by value.
  bool isNumber() const { return kind == Scalar || kind == LaunchEpoch; }
  /// Return whether the caller knows it; others depend on how the program was compiled.
  bool isBound() const { return kind != Workspace && kind != LaunchEpoch; }
};

/// One parameter of a kernel on a GPU.
struct ManifestParameter {
  enum Kind { Pointer, Size, Stride, Scalar, TensorMap };
  Kind kind = Pointer;
  /// The argument of the entry, and of a size or stride the dimension.
  unsigned argument = 0, dim = 0;
  /// Describe a tensor map: the tile, and the bytes after which its swizzle repeats; 0 for a
  /// tile of one row, which has none.
  int64_t rows = 0, columns = 0, swizzle = 0;
  /// Record whether the map is for slices of the tensor's rows, of which it copies none that is
  /// at or after a slice's end: it has two dimensions instead of those of heads and batches.
  bool slices = false;

  /// Return whether panels are a dimension of the map, of a tensor of `last` elements of `size`
  /// bytes in a row; of as many as a launch says, they are not.
  bool hasPanels(int64_t last, int64_t size) const {
    int64_t panel = swizzle / size;
    return panel > 0 && !ShapedType::isDynamic(last) && last % panel == 0 && columns % panel == 0;
  }
};

/// Return why there can be no such tensor map of an argument; empty where there can.
std::string checkTensorMap(const ManifestParameter &map, const ManifestArgument &argument);

/// One kernel of an entry.
struct ManifestKernel {
  std::string name;
  /// Extents of the grid.
  std::vector<SizeExpr> grid;
  /// Indices into the entry's arguments, in the kernel's order.
  std::vector<unsigned> arguments;
  /// List what the kernel is called with on a GPU, in the order of its ABI.
  std::vector<ManifestParameter> parameters;
  /// On a GPU: threads of a block, and bytes of dynamic shared memory.
  int64_t threads = 0, sharedBytes = 0;
  /// The most blocks that are started for each SM; 0 where each
  /// work tile of the grid has a block of its own.
  int64_t blocksPerSM = 0;
  /// Record whether it may be started before the kernel before it has ended, for which it waits.
  bool dependent = false;
};

/// Holds where the pointers of these arguments (with their byte offset) and
/// their strides in bytes, the last one excepted, are multiples of `alignment`.
/// A dimension of size 1 has no stride.
struct ManifestGuard {
  int64_t alignment = 1;
  std::vector<unsigned> arguments;
};

/// A way to run an entry: its kernels run in order.
struct ManifestVariant {
  std::vector<ManifestGuard> guards;
  /// Holds where the size of that name is at most so much.
  std::vector<std::pair<std::string, int64_t>> limits;
  /// Holds where each of these numbers is at most so much; workspaces of such variants alone are
  /// empty where none of them holds.
  std::vector<std::pair<SizeExpr, int64_t>> bounds;
  /// On CPUs: holds where the product of the sizes of these names is at least the number of
  /// threads.
  std::vector<std::string> parallel;
  /// The image that holds the kernels.
  unsigned image = 0;
  std::vector<ManifestKernel> kernels;

  /// Return whether it is for all sizes.
  bool servesAll() const { return limits.empty() && bounds.empty(); }
  size_t countTensorMaps() const;
  bool isWithinBounds(const LaunchShapes &shapes) const;
};

/// An entry; the first variant whose guards hold is run.
struct Manifest {
  std::string entry;
  std::vector<ManifestArgument> arguments;
  std::vector<ManifestVariant> variants;
  /// Guards: the size named first is a multiple of the one named second, which is not 0.
  std::vector<std::pair<std::string, std::string>> multiples;
  /// Guards: the size of that name is at most so much.
  std::vector<std::pair<std::string, int64_t>> limits;

  /// Return the kernels of the first variant.
  ArrayRef<ManifestKernel> kernels() const { return variants.front().kernels; }
  /// Return the index of an argument, -1 where there is none of that name.
  int64_t find(StringRef name) const { return find(name, /*first=*/0); }
  /// Looks at argument `first` first, and at those before it last.
  int64_t find(StringRef name, size_t first) const;
  /// Checks the shapes of inputs and outputs against the static sizes, the
  /// named sizes and the guards, and fills in those of the workspaces.
  llvm::Error resolve(LaunchShapes &shapes) const;
  /// Return how many elements one row of a contiguous tensor of this shape is after another:
  /// those of a workspace start at multiples of kWorkspaceRowBytes, so that the TMA can copy them.
  int64_t rowPitch(unsigned argument, ArrayRef<int64_t> shape) const;
  static constexpr int64_t kWorkspaceRowBytes = 16;
  /// Return that of a workspace whose rows have so many elements of so many bytes.
  static int64_t workspaceRowPitch(int64_t columns, int64_t size) {
    return static_cast<int64_t>(llvm::alignTo(columns * size, kWorkspaceRowBytes)) / size;
  }
  /// Return the bytes of a tensor of this shape; an error where that overflows 63 bits.
  llvm::Expected<int64_t> bytes(unsigned argument, ArrayRef<int64_t> shape) const;
  /// Return the extents of a kernel's grid.
  llvm::Expected<LaunchShape> grid(const ManifestKernel &kernel, const LaunchShapes &shapes) const;
  /// Appends the one variant of another compilation of the same entry, whose
  /// kernels are in image `image`. Outputs are the same; of inputs, workspaces and launch epochs,
  /// which a variant's kernels may not read, there will be those of both.
  llvm::Error addVariant(Manifest other, unsigned image);
};

/// Reads the manifests, one an entry of one variant, off the tile.funcs of a
/// module. Threads, shared memory and guards are those of the attributes
/// `tile.warps`, `tile.shared_bytes` and `tile.align`, where phase `schedule` has
/// set them.
FailureOr<std::vector<Manifest>> readManifests(ModuleOp module);

/// Describe the images of a program for GPUs.
struct ManifestModule {
  static constexpr int64_t kVersion = 3;
  /// Tensor maps of a variant: a launch keeps them on its stack.
  static constexpr size_t kMaxTensorMaps = 128;
  /// "sm_80".
  std::string target;
  /// The oldest driver that loads the images, as cuDriverGetVersion counts.
  int64_t minimumDriver = 12000;
  /// Give the kind of each image: "ptx" or "cubin".
  std::vector<std::string> images;
  std::vector<Manifest> entries;
};

/// Print as JSON, a stable text.
std::string printManifest(const ManifestModule &module);
/// Trusts nothing: either all of it is consistent, or the error names a field.
llvm::Expected<ManifestModule> parseManifest(StringRef text);

} // namespace mlir::fa

#endif // FA_TARGET_MANIFEST_H
