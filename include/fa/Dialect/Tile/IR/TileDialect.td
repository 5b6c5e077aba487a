//===- TileDialect.td - the tile dialect ---------------------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEDIALECT_TD
#define FA_DIALECT_TILE_IR_TILEDIALECT_TD

include "mlir/IR/DialectBase.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::mlir::tile";
  let summary = "One program on tiles: how it is computed, on CPUs and GPUs";
  let description = [{
    A `tile.func` is one kernel: a program run by every work tile of a grid. It
    reads and writes `!tile.view`s and computes on tiles, which are builtin
    tensors of static shape, by `arith`, `math`, `scf` and the ops of this
    dialect. The dialect knows nothing of what is computed.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let dependentDialects = ["::mlir::arith::ArithDialect"];
  let extraClassDeclaration = [{
    /// On an argument of a tile.func: the name that binds it at launch.
    static constexpr llvm::StringLiteral kNameAttr = "tile.name";
    /// Unit, on a view argument: the kernel writes it.
    static constexpr llvm::StringLiteral kOutputAttr = "tile.output";
    /// On a view argument that the caller does not know: a buffer shared by
    /// the kernels of an entry. Its value gives the sizes, one a dimension: a number, or
    /// ["name", dim] of another argument; ["name", dim, n, m] divided by n, rounded up, then rounded up
    /// to a multiple of m; ["name", dim, n, m, "other", dim] with m times another size added.
    static constexpr llvm::StringLiteral kWorkspaceAttr = "tile.workspace";
    /// Unit, on an i64 argument that the caller does not know: a number of the launch.
    /// Those of different launches are more than 2^31 apart (modulo 2^64).
    static constexpr llvm::StringLiteral kLaunchEpochAttr = "tile.launch_epoch";
    /// On a view argument: a name for each of its sizes; sizes of one name
    /// agree at a launch.
    static constexpr llvm::StringLiteral kDimsAttr = "tile.dims";
    /// On a tile.func: pairs of names of sizes, the first a multiple of the second.
    static constexpr llvm::StringLiteral kMultiplesAttr = "tile.multiples";
    /// On a tile.func: pairs of the name of a size and the most that it may be.
    static constexpr llvm::StringLiteral kLimitsAttr = "tile.limits";
    /// On a tile.func: warps that run a work tile.
    static constexpr llvm::StringLiteral kWarpsAttr = "tile.warps";
    /// On a tile.func: how many warps share the columns of a product's rows, at least, where they can.
    static constexpr llvm::StringLiteral kBesideAttr = "tile.beside";
    /// On a tile.func: how many roles compute, each with its part of the sums.
    static constexpr llvm::StringLiteral kComputeRolesAttr = "tile.compute_roles";
    /// On a tile.func: bytes of shared memory of a work tile.
    static constexpr llvm::StringLiteral kSharedBytesAttr = "tile.shared_bytes";
    /// On a tile.func: how many blocks an SM holds at a time, at least, each with its part of the
    /// registers and of shared memory; 1 without it.
    static constexpr llvm::StringLiteral kMinBlocksPerSMAttr = "tile.min_blocks_per_sm";
    /// On a tile.func: the most blocks that a launch starts on an SM.
    static constexpr llvm::StringLiteral kBlocksPerSMAttr = "tile.blocks_per_sm";
    /// Unit, on a tile.func: a launch may start it before the kernel before it in its entry has
    /// ended. It waits for that by tile.kernel_wait.
    static constexpr llvm::StringLiteral kDependentAttr = "tile.dependent";
    /// On a tile.func: the name of another kernel of its entry, where whose work tiles store its own
    /// store nothing.
    static constexpr llvm::StringLiteral kDisjointAttr = "tile.disjoint";
    /// On a view argument: its address and all strides but the last are
    /// multiples of so many bytes, which a guard checks at launch.
    static constexpr llvm::StringLiteral kAlignAttr = "tile.align";
    /// On an argument that is a tensor map: the number of the view's argument,
    /// and its dimensions that the map's box runs along.
    static constexpr llvm::StringLiteral kMapOfAttr = "tile.map_of";
    static constexpr llvm::StringLiteral kMapDimsAttr = "tile.map_dims";
    static constexpr llvm::StringLiteral kMapSlicesAttr = "tile.map_slices";
    /// Unit, on an scf.for or scf.if: bounds, or condition, are computed from the first row
    /// of the program's tile and the one after the last, and would be right for any such
    /// rows: a loop's other steps leave what it carries for these as it is, and where the
    /// condition of an if is false for these, both of its ways give them the same.
    static constexpr llvm::StringLiteral kRowDerivedAttr = "tile.row_derived";
    /// Unit, on a tile.dim: what few ops compute of it is computed again where it is used, since
    /// before a loop it would take a register for all of that. Others than GPUs ignore it.
    static constexpr llvm::StringLiteral kAtUseAttr = "tile.at_use";
    /// Unit, on a function: what it is computed for bears an absolute error, so that a target may
    /// compute it by the form of RegionOps.def that has one. Others ignore it.
    static constexpr llvm::StringLiteral kAbsoluteErrorAttr = "tile.absolute_error";
    /// On an op: the name of the role that runs it, for tile-specialize-warps. Ops without one
    /// go to the role "compute", but scalars, loops and ifs to every role that needs them.
    /// Programs may bring it along; targets without roles ignore it.
    static constexpr llvm::StringLiteral kRoleAttr = "tile.role";
    /// On each op of a loop's body, or on none: how many iterations after the earliest stage it
    /// runs, and its place among the body's ops. `tile-schedule-loop` chooses both,
    /// `tile-pipeline` carries them out and removes them.
    static constexpr llvm::StringLiteral kStageAttr = "tile.stage";
    static constexpr llvm::StringLiteral kOrderAttr = "tile.order";
    /// On two ops (i32) from which the ids of a work tile follow with few operations, while they
    /// themselves take divisions: 0, on the one that is not negative, or 1. `tile-schedule-grid`
    /// says it, so that `tile-make-persistent` divides once for all roles; and `tile-sort-grid`, of
    /// the id that it loads, 0.
    static constexpr llvm::StringLiteral kPartAttr = "tile.part";
    /// Unit, on an op (i32): it is an id, so not negative, though arithmetic on a word of ids gives
    /// it, which may have its uppermost bit.
    static constexpr llvm::StringLiteral kIdAttr = "tile.id";
    /// Unit, on a tile.release of a ring of two slots: it releases the slot that was got one
    /// iteration before, in the first iteration one that was never put. Inside of
    /// `tile-lower-rings`, which delays such releases and then lowers them.
    static constexpr llvm::StringLiteral kLateAttr = "tile.late";
    /// On the func.func of a kernel for CPUs: the grid and the sizes of its tile.func, from
    /// `tile-to-linalg` to `cpu-make-entries`.
    static constexpr llvm::StringLiteral kGridAttr = "tile.grid";
    static constexpr llvm::StringLiteral kSizesAttr = "tile.sizes";
    /// On a tile.func: the entry that launches it; the kernels of an entry
    /// run in the order in which the module has them.
    static constexpr llvm::StringLiteral kEntryAttr = "tile.entry";
  }];
}

#endif // FA_DIALECT_TILE_IR_TILEDIALECT_TD
