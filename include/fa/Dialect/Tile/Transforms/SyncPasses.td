//===- SyncPasses.td - passes of Tile/Transforms/Sync ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of roles, rings and their lowering to barriers. The order in which passes run is in
// lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_SYNCPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_SYNCPASSES_TD

include "mlir/Pass/PassBase.td"

def TileAssignRoles : Pass<"tile-assign-roles", "::mlir::tile::FuncOp"> {
  let summary = "mark the loads of a program for warps of their own";
  let description = [{
    What: where the TMA fills all rings, marks the puts with the role "load"
    (`tile.role`). Other programs, and those that have marks already, stay as they are.

    Requires: rings as `tile-promote-shared` makes them, pipelined or not.
    Ensures: nothing but marks is added.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/assign-roles.mlir`):

    ```mlir
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) {tile.role = "load"} : ...
    ```
  }];
}

def TileSpecializeWarps : Pass<"tile-specialize-warps", "::mlir::tile::FuncOp"> {
  let summary = "split a program into the roles that its ops are marked with";
  let description = [{
    What: each role that an op is marked with (`tile.role`, by
    `tile-assign-roles` or by hand) gets these ops, and scalars, loops and ifs as far as they
    need them; the role "compute", the last one, has all else. A tile that one role computes
    and another one uses goes through a ring of two slots, which the first fills from its
    registers. Each marked role has four warps, with few registers; what they
    leave of the registers of a block goes to "compute". `tile.warps` counts
    all of them. Programs without marks stay as they are.

    Requires: rings as `tile-promote-shared` makes them, pipelined or not; a tile that
    crosses is used in the block that computes it, or inside of it.
    Ensures: all roles fill and empty rings in one order, since all run the
    same loops.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/specialize-warps.mlir`):

    ```mlir
    tile.roles {
      tile.role "load" warps(4) registers(24) {
        scf.for ... { tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) : ... }
      }
      tile.role "compute" warps(8) registers(240) {
        scf.for ... { %k = tile.get %r : ... }
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::scf::SCFDialect"];
}

def TileVerifyRings : Pass<"tile-verify-rings", "::mlir::tile::FuncOp"> {
  let summary = "check that rings are filled, read and emptied in order";
  let description = [{
    What: the constraint (get_c2), which no single op can check: on every path
    each slot is put, got and released once, in this order and in the order of
    its ring; no put finds the ring full (so none waits for a release later in
    the program), no get finds it empty; a slot is read between its get and its
    release; branches agree, loops leave a ring as they find it, and all are
    empty in the end. Also: no loop carries a pending tile or a slot, and
    `tile.if_any`, which not all warps run, holds no op on rings.

    Requires: nothing. Ensures: an error at the op that breaks the order.

    Numerics: changes nothing.

    Example (`test/Dialect/Tile/Transforms/Sync/verify-rings.mlir`):

    ```mlir
    tile.put %r, %x[%i, %c0] ...
    tile.put %r, %x[%j, %c0] ...   // error: finds the ring full: it has 1 slot, 1 put and not got, 0 got and not released
    ```
  }];
}

def TileLowerRings : Pass<"tile-lower-rings", "::mlir::tile::FuncOp"> {
  let summary = "derive copies, waits and barriers from puts, gets and releases";
  let description = [{
    What: for programs in which all warps fill and read the rings. `tile.put`
    becomes a copy to the ring's next slot, `tile.get` a wait for it, `tile.release`
    nothing. Which waits and barriers are needed is found by running the program
    on abstract states (how many groups of copies were committed after each
    filled slot; which slots may still be read by other warps): (1) a get waits
    until only the groups committed later may be on their way, at least over all
    paths, then for all warps, unless that has happened already; gets in a row
    share both; (2) a slot is filled again only after a barrier after its
    release. Numbers of slots are constants for rings of one stage, else counted
    along, for each reader of a ring. Where asynchronous products or the TMA read shared
    memory, what warps wrote or copied there is followed by a `tile.fence_async`.
    `tile.shared_bytes` is set to what all slots take.

    In programs with roles, each ring gets
    `tile.barriers` for full slots and, where a slot is filled more than once,
    for empty ones. A put waits until its slot is empty. Then the TMA is told how many bytes
    come, and starts; or each warp of the role writes its part, waits until it is there, and
    arrives. A get waits until its slot is full; a release arrives,
    one arrival a warp and reader. Slots and parities are counted along in each role. A turn
    becomes numbered barriers, one per warpgroup. A `tile.bulk_store` stands after
    a barrier of its warpgroup; a slot that it reads is waited for before it is
    written or released. One of two slots that the loop over work tiles uses in turn
    is released by the next iteration, after its first product and before the loop
    over the others, by when the copy is done; so the first iteration releases a slot that was never put, and the second
    put waits for that.

    Requires: rings in order (see `tile-verify-rings`), copy(tma) in roles only.
    Ensures: no `tile.put`, `tile.put_value`, `tile.get`, `tile.release`,
    `tile.pingpong_wait` or `tile.pingpong_arrive` is left.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/lower-rings.mlir`):

    ```mlir
    tile.copy_wait 0
    tile.barrier
    %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>> -> !tile.slot<128x64xf16, #tile.swizzle<128>>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TileMakeTensorMaps : Pass<"tile-make-tensor-maps", "::mlir::tile::FuncOp"> {
  let summary = "give copies of TMA their maps as arguments";
  let description = [{
    What: each `tile.copy` by `tma` and each `tile.bulk_store` gets a map: an
    argument of the kernel after the other ones of the launch, which the runtime
    makes from the view. Copies of equal view, dimensions, box and swizzle share
    one.

    Requires: copies from and to arguments of the tile.func. Ensures: every such copy
    has a map.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/make-tensor-maps.mlir`):

    ```mlir
    tile.func @f(%x: !tile.view<?x64xbf16>, %m: !tile.tensor_map<80x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 0 : i64}, ...) {
      tile.copy %x[%i, %c0] dims [0, 1] to %s copy(tma) signal %b[%c0] map(%m) : ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_SYNCPASSES_TD
