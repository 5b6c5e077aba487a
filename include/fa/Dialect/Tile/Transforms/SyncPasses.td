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
    What: gives the loads of a program to warps of their own. Where the TMA fills all
    rings, but for those that warps fill to store from there, or for asynchronous products of
    their own, the puts are marked with the role "load" (`tile.role`). Other programs, and
    those that have marks already, stay as they are.

    Requires: rings as `tile-promote-shared` makes them, pipelined or not.
    Ensures: nothing but marks is added.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/assign-roles.mlir`):

    ```mlir
    tile.put %r, %x[%j, %c0] dims [0, 1] copy(tma) {tile.role = "load"} : ...
    ```
  }];
}

def TileSendBallots : Pass<"tile-send-ballots", "::mlir::tile::FuncOp"> {
  let summary = "test the steps of lists in the role that loads";
  let description = [{
    What: gives the ballots of lists (`tile-list-steps`) that read memory to the role that
    loads, and sends their words to the other one through a ring of two slots. So the role with
    products does not wait for memory at each chunk of a list. Ballots of which a warpgroup has
    its own stay.

    Requires: marks of one role that loads, as `tile-assign-roles` makes them. Ensures: the
    marked role computes what it sends; it takes its own words, not those that are sent.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Sync/send-ballots.mlir`):

    ```mlir
    %listed = tile.ballot { ... } {tile.role = "load"}
    tile.put_value %words, %listed {tile.role = "load"} : <2 x 1xi32, #tile.swizzle<32>>, i32
    %slot = tile.get %words : ...
    %read = tile.read %slot : <1xi32, #tile.swizzle<32>> -> i32
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", /*default=*/"0",
           "bytes of shared memory that rings and their barriers may take; 0: any number">,
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileSpecializeWarps : Pass<"tile-specialize-warps", "::mlir::tile::FuncOp"> {
  let summary = "split a program into the roles that its ops are marked with";
  let description = [{
    What: splits a program into roles that run side by side, producers and consumers.
    A role gets the ops that are marked with it (`tile.role`, by `tile-assign-roles` or by
    hand) with all that is inside of them, and the scalars, loops and ifs that they need.
    The role "compute", the last one, gets all other ops. Programs without marks stay as
    they are.

    A tile that one role computes and another one uses goes through a ring of two slots,
    which the first role fills from its registers. What a loop carries belongs to the role
    that reads it there, and goes to that role when it is yielded. A `tile.rescale` of
    another role than the `tile.if_any` or stabilizer that it depends on gets its factor,
    and runs where that is not 1. A marked role has four warps with few
    registers if it has no tiles, and "compute" gets the registers that they leave. A
    marked role that has tiles has as many warps as "compute", and then all roles have the
    registers that a launch gives. `tile.warps` counts the warps of all roles.

    Requires: rings as `tile-promote-shared` makes them, pipelined or not. The users of a
    tile that crosses stand in the block that computes it, or inside of it.
    Ensures: all roles fill and empty rings in one order, since all run the same loops.

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
    What: checks that every tile in shared memory is filled before it is read, and read
    before it is filled again. This is the constraint (get_c2), which no single op can
    check. On every path each slot is put, got and released once, in this order and in the
    order of its ring. No put finds the ring full, so that none waits for a release later
    in the program, and no get finds it empty. A slot is read between its get and its
    release. Branches agree, loops leave a ring as they find it, and all rings are empty at
    the end. No loop carries a pending tile or a slot, and `tile.if_any`, which not all
    warps run, holds no op on rings.

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
    What: derives the synchronization of a program from its puts, gets and releases: waits
    and barriers of the block where all warps do the same, arrays of mbarriers between
    roles.

    Where all warps fill and read the rings, `tile.put` becomes a copy to the ring's next
    slot, `tile.get` a wait for it, and `tile.release` nothing. A dataflow over states of
    the rings (RingStates.h) finds which waits and barriers are needed. The state says how
    many groups of copies were committed after each filled slot, and which slots other
    warps may still read.

    1. A get waits until only groups that were committed later may be on their way, the
       fewest over all paths, and then for all warps, unless that has happened already.
       Gets in a row share both.
    2. A slot is filled again only after a barrier that stands after its release.

    Numbers of slots are constants for rings of one stage. Else they are counted along, for
    each reader of a ring. Where asynchronous products or the TMA read shared memory, a
    `tile.fence_async` follows what warps wrote or copied there. `tile.shared_bytes` is set
    to the bytes of all slots.

    In programs with roles, each ring gets `tile.barriers` for full slots, and for empty
    ones where a slot is filled more than once, unless a role fills the ring for itself, one of
    several slots at a time: all its warps meet at each get. A put waits until its slot is empty. Then
    the TMA is told how many bytes come, and starts; or each warp of the role writes its
    part, waits until it is there, and arrives. A get waits until its slot is full. A
    release arrives, once for each warp and reader. Vectors that come and go with a tile share its
    barriers; readers of one role, one after the other, wait once and arrive once. Each role counts slots and parities
    along, once for rings that it goes through side by side. A ping-pong becomes numbered barriers, one for each warpgroup. A
    `tile.bulk_store` stands after a barrier of its warpgroup, and its copy is waited for
    before the slot is written or released.

    Where a bulk store reads one of two slots that the loop over work tiles uses in turn,
    the next iteration releases the slot: after its first product and before the loop over
    the others, by when the copy is done. So the first iteration releases a slot that was
    never put, and the second put waits for that.

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

def TileMergeReductions : Pass<"tile-merge-reductions", "::mlir::tile::FuncOp"> {
  let summary = "add a tile by one bulk reduction, an iteration later";
  let description = [{
    What: where all warps meet once in an iteration, after a fence, one thread then adds the whole
    tile that the iteration before wrote to the other of two slots (`tile.bulk_accumulate ...
    whole`): one reduction for all warps, and no fence of its own. Reductions are waited for before
    all meet. After the loop each warp adds its part of the last tile.

    Requires: additions as `tile-lower-rings` makes them; a ring of two slots
    (`tile-double-staging`), each addition after a meeting in its block, tiles of all
    columns of memory. Else a ring's additions stay, with a remark. Ensures: as much.

    Numerics: exact, but for the order of atomic additions.

    Example (`test/Dialect/Tile/Transforms/Sync/merge-reductions.mlir`):

    ```mlir
    tile.fence_async
    tile.bulk_accumulate_wait
    tile.barrier
    %before = tile.slot_at %r[%other] : ...
    tile.bulk_accumulate %before to %y[%row, %c0] dims [0, 1] tile(tensor<64x64xf32, #acc>) whole : ...
    %s = tile.slot_at %r[%k] : ...
    tile.write %t, %s order(#order) : ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileMakeTensorMaps : Pass<"tile-make-tensor-maps", "::mlir::tile::FuncOp"> {
  let summary = "give copies of TMA their maps as arguments";
  let description = [{
    What: gives each `tile.copy` by `tma` and each `tile.bulk_store` its tensor map. A map
    is an argument of the kernel after the other ones of the launch, which the runtime makes
    from the view. Copies with the same view, dimensions, box and swizzle share one.

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
