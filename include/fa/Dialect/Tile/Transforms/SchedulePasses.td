//===- SchedulePasses.td - passes of Tile/Transforms/Schedule -*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that decide in which order the ops of a loop run, which steps a warpgroup runs, and how
// the result leaves. lib/Pipelines/GPU.cpp says in which order the passes run.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD

include "mlir/Pass/PassBase.td"

def TileSplitWarpgroupLoops : Pass<"tile-split-warpgroup-loops", "::mlir::tile::FuncOp"> {
  let summary = "let each warpgroup leave out steps in which all of its rows are masked out";
  let description = [{
    What: lets a warpgroup leave out the steps of a masked loop that are masked out
    for all of its own rows. The bounds of such a loop (`tile.row_derived`) are those
    of the whole tile. Where its products are asynchronous, each warpgroup has 64 of
    the rows: the same ops compute bounds for these, too, and the loop gets
    `tile.warpgroup_bounds`. Conditions in the loop (`tile.row_derived`) become those
    of the warpgroup's rows (`tile.warpgroup_condition`).

    Requires: rings as `tile-promote-shared` makes them. Ensures: no
    `tile.row_derived` is left. Bounds stay that do not depend on the tile's rows, or
    that depend on other ids too, and so do loops that put or get under a condition, or whose
    warps put what others of them get.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/split-warpgroup-loops.mlir`):

    ```mlir
    %b, %e = tile.warpgroup_bounds %lo to %hi step %c80 own(%first to %last)
    scf.for %j = %b to %e step %c80 ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileDivideSums : Pass<"tile-divide-sums", "::mlir::tile::FuncOp"> {
  let summary = "let two roles have the sums that one has no registers for";
  let description = [{
    What: where a program says that two roles compute (`tile.compute_roles`), half of the sums of
    its loop, products that add to what the loop carries, and all that they alone need are marked
    for a second role. What both halves need stays with the one that has fewer products of its own:
    so of dV += P dO and dK += dS Q one role has S, P and dV, the other one dP, dS and dK. Slots
    that both read have a reader for each; what comes of no product both compute; a tile of the
    first role that the second one needs, such as P, goes through a ring of two slots. Where that
    would be more than two tiles, products alone do, and both compute what comes of them.

    Whatever takes a tile, a slot or a product that the second role alone has is its own, too.

    Requires: rings as `tile-promote-shared` makes them, asynchronous products. Ensures: no op of
    one role takes a tile or a slot of the other one. Programs stay as they are, with a remark,
    without such a loop, with several, or where a role would need something of the other one that
    cannot be sent, such as a tile that the loop carries. Rejects: other numbers of roles.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/divide-sums.mlir`):

    ```mlir
    tile.put_value %sent_ring, %p : ...
    %slot = tile.get %sent_ring {tile.role = "second"} : ...
    %mine = tile.read %slot {tile.role = "second"} : ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileScheduleLoop : Pass<"tile-schedule-loop", "::mlir::tile::FuncOp"> {
  let summary = "choose stages of rings and the order of a loop's ops";
  let description = [{
    What: decides how far ahead each copy of a loop starts, and in which order its
    ops run, so that copies run beside products. For each loop whose body fills and
    empties rings, the pass chooses how many slots (stages) each ring has and where
    in the body it is filled. It writes the choice down as `tile.stage` and
    `tile.order` on each op of the body, which `tile-pipeline` expands. Stages that
    the program already gives (more than 1) are kept, and a loop whose ops have the
    attributes is left alone.

    All warps meet at a `tile.get`. So a slot is filled right after the first get
    that follows its release, and that get follows the release as soon as it can; of a
    computed tile's gets, which stay, where two products follow. A
    ring that is filled so after another product needs one slot. Else it gets two,
    and n slots are filled n - 1 iterations ahead, after the first get of the body,
    to which the other gets then move. Where shared memory holds one slot of a ring and no
    get follows its release, the slot is filled again right after the release, beside products
    that nothing in the body waits for.

    In a loop of asynchronous products, each product and each computation runs in its
    iteration or one iteration later, beside the start of the next one. The pass tries
    all such stages and all orders of the products, products as early and their awaits
    as late as they can be, simulates them (all warpgroups at one place: they share the
    tensor cores and issue slots), and takes the order with the fewest clocks that fits
    into the registers of a consumer's thread; of orders within 2 %, the one that
    runs the least later. Where the body puts a tile that its own products read, all warps meet
    in each step: one product runs ahead, as the last one of a step, and the others start in the
    program's order; operands in registers that do not fit beside each other are freed by a wait
    for all products before one of the starts. A slot that both stages read gets a second reader. The rings have
    two slots, or three where warpgroups begin with different steps
    (`tile.warpgroup_bounds`) and shared memory has room for that; a ring of two readers has
    up to four, but two where a loop adds tiles to memory, for which two tiles are left.

    Requires: rings as `tile-promote-shared` makes them. Ensures: all ops of a
    scheduled body have both attributes; the rings of the program fit in
    `shared-limit`, for which stages shrink. Loops whose rings are filled in a
    nested region (under an `scf.if`), and loops that yield an argument of their
    own, are left as they are. A put from a view that the program stores to stays
    where it is, and a put whose indices are loaded from a view that the loop stores
    to does not run ahead.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/schedule-loop.mlir`), the order chosen for two products:

    ```mlir
    %k = tile.get %rk {tile.order = 0, tile.stage = 1}
    tile.put %rv, %v[%j, %c0] ... {tile.order = 1, tile.stage = 1}
    %s = tile.dot %q, %k, %zero {tile.order = 2, tile.stage = 1}
    tile.release %k {tile.order = 3, tile.stage = 1}
    %v = tile.get %rv {tile.order = 4, tile.stage = 1}
    tile.put %rk, %k[%j, %c0] ... {tile.order = 5, tile.stage = 0}   // of the next iteration
    ```
  }];
  let options = [
    ListOption<"stages", "stages", "int64_t",
               "slots of the rings of each loop in the order of their gets, the last number for all "
               "further ones; 0 chooses">,
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">,
    Option<"order", "order", "unsigned", "0",
           "take this one of the other orders of products, by their clocks; 0 takes the best one">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TilePipeline : Pass<"tile-pipeline", "::mlir::tile::FuncOp"> {
  let summary = "run ops of a loop ahead, as their tile.stage and tile.order say";
  let description = [{
    What: expands the schedule of each loop into a prologue, a steady state and an
    epilogue, by upstream's pipeliner. A loop that only fills rings ahead keeps its
    trip count: a `tile.put` past the last iteration starts past the end of its
    source, so that it reads nothing and is filled with 0, without a branch; what is
    left in the rings is taken out after the loop. A get before the loop then moves
    after the first puts. A loop that starts products ahead has one iteration less,
    between its prologue and its epilogue, all under the condition that there is an
    iteration.

    Requires: `tile.stage` and `tile.order` on each op of a body or on none; ops
    of early stages have no effect but to fill rings. Rejects schedules in which
    a value is used before it is there. Ensures: neither attribute is left.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/pipeline.mlir`):

    ```mlir
    tile.put %r, %x[%first, %c0] ...
    scf.for %j = ... {
      %k = tile.get %r
      ...
      tile.release %k
      %next = arith.select %more, %jn, %size : index
      tile.put %r, %x[%next, %c0] ...
    }
    %last = tile.get %r
    tile.release %last
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TileStageEpilogue : Pass<"tile-stage-epilogue", "::mlir::tile::FuncOp"> {
  let summary = "store tiles by way of shared memory and the TMA";
  let description = [{
    What: stores results by TMA, by way of shared memory, where a thread would store
    4 bytes at a time. In programs with asynchronous products, which get roles, a
    `tile.store` of a tile of 2-byte elements that TMA can store (aligned, along the
    last two dimensions of a view) becomes a write to shared memory and a
    `tile.bulk_store`, by each warpgroup for the rows that it holds.

    The tile has a ring of its own where shared memory up to `shared-limit` is left.
    That ring must leave room for a second slot of its shape, if a ring has one: two
    slots that serve both ways let the next work tile's data come earlier
    (`tile-make-persistent`) than one slot each way. Where not even two slots fit, a
    ring of a half or a quarter of the columns, whole panels, takes one part of the
    tile after the other, so that the slot is filled again meanwhile. Else the tile
    overwrites a slot of its shape that products are done with; the slot is then
    released after the copy, at the end of its block. Else the store stays, with a
    remark.

    Requires: rings as `tile-promote-shared` makes them. Ensures: as much.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/stage-epilogue.mlir`):

    ```mlir
    tile.put_value %r, %x : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, tensor<64x64xf16, #acc>
    %s = tile.get %r : ...
    tile.bulk_store %s to %out[%i, %c0] dims [0, 1] rows(64) : ...
    tile.release %s : ...
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileStageAccumulates : Pass<"tile-stage-accumulates", "::mlir::tile::FuncOp"> {
  let summary = "add tiles to memory by bulk reductions from shared memory";
  let description = [{
    What: each warp writes what it has of a tile that is added to memory to shared memory, in
    the order of the memory, and one bulk reduction adds that, while the warp goes on. A
    `tile.accumulate` to a view with an order gets a ring of one slot (`through`), if shared
    memory up to `shared-limit` is left and what each warp has of the tile is contiguous. Else it
    stays, with a remark.

    Requires: layouts; a target with bulk reductions. Ensures: as much.

    Numerics: exact, but for the order of atomic additions.

    Example (`test/Dialect/Tile/Transforms/Schedule/stage-accumulates.mlir`):

    ```mlir
    tile.accumulate %t, %sums[%i, %c0] dims [0, 1] through(%r) : tensor<64x64xf32, #acc>, !tile.view<?x64xf32, #order>, !tile.ring<1 x 4096xf32, #tile.swizzle<128>>
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">
  ];
}

def TileDoubleStaging : Pass<"tile-double-staging", "::mlir::tile::FuncOp"> {
  let summary = "give tiles on their way to memory a second slot";
  let description = [{
    What: a ring of one slot through which a loop adds to memory (`tile.accumulate ... through`)
    gets a second one, if shared memory up to `shared-limit` is left: a warp then waits for its
    reduction of two tiles before, not for that of the last one.

    Requires: loops that are pipelined. Ensures: as much.

    Numerics: exact, but for the order of atomic additions.

    Example (`test/Dialect/Tile/Transforms/Schedule/double-staging.mlir`):

    ```mlir
    %r = tile.ring : !tile.ring<2 x 4096xf32, #tile.swizzle<128>>
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">
  ];
}

def TilePingpongWarpgroups : Pass<"tile-pingpong-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "let warpgroups start the products of an iteration in turn";
  let description = [{
    What: lets the arithmetic of one warpgroup run beside the products of the
    others (ping-pong). In each loop that starts products, in roles of two
    warpgroups or more, a `tile.pingpong_wait` stands before the first product of
    an iteration and a `tile.pingpong_arrive` after the last one.

    A loop stays as it is, with a remark, where something waits between the first
    and the last product: a `tile.await`, a barrier, or a put for a free slot. The
    other warpgroups would wait with it, and all of them run one after the other.
    That is so for loops that `tile-schedule-loop` leaves alone. Roles whose
    warpgroups begin with different steps (`tile.warpgroup_bounds`) are staggered
    without ping-pong and stay, too.

    Requires: loops whose bounds are the same for all warpgroups, as scalars of
    a program are. Ensures: nothing else changes.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/pingpong-warpgroups.mlir`):

    ```mlir
    tile.pingpong_wait %t : !tile.pingpong<2>
    %p = tile.dot_start ...
    tile.pingpong_arrive %t : !tile.pingpong<2>
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_SCHEDULEPASSES_TD
