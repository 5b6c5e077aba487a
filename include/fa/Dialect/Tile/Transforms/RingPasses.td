//===- RingPasses.td - passes on shared memory and its order --*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by Passes.td, in the order in which the passes run.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_RINGPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_RINGPASSES_TD

include "mlir/Pass/PassBase.td"

def TileSkipRescale : Pass<"tile-skip-rescale", "::mlir::tile::FuncOp"> {
  let summary = "rescale accumulators only where a row's factor is not 1";
  let description = [{
    What: where the accumulator of a product in a loop is what the loop carries
    times a factor per row, the multiplication goes into a `tile.if_any` that
    runs for groups of rows of which some factor is not 1. Which values these
    are is told by the structure alone: acc = carried * broadcast(factor).

    Where the factor is exp2((m - m') * c), m' the maximum of m and of a tile,
    marked `tile.shift`, and the product has `ones`, m' stays m as long as
    (m' - m) * c is at most `threshold` in all rows of a group, and the factor 1; in
    programs without f16 it is `wide-threshold`, for maxima that grow all the time.
    Sums that the loop carries times the factor are multiplied there, too, and the
    accumulator where that ran, for which nothing is asked again.

    Not for accumulators of more than `most-columns` columns: so wide, a
    product takes longer than the multiplications beside it, and the branch
    only parts it from them (measured at 256: 3 % slower with this pass).

    Requires: nothing. Ensures: as much.

    Numerics: exact without a threshold: x * 1 is x, and a factor that is NaN is
    not 1. With it, exponentials are up to 2^threshold, and none need be 1, which
    rounds to itself. So each weight is rounded on its own, about 2^-9 for bf16;
    sums of the rounded weights, which `ones` gives, divide the same errors out,
    sums of others do not, so the threshold is for products with ones only. Sums
    of exponentials in f32 and their logarithm lose nothing. Products with elements
    of 2^(110 - threshold) and more may overflow.

    Example (`test/Dialect/Tile/Transforms/skip-rescale.mlir`):

    ```mlir
    %some = arith.cmpf une, %factor, %ones : tensor<64xf32>
    %acc = tile.if_any %some (%carried) : tensor<64xi1>, (tensor<64x64xf32>) {
      %f = tile.broadcast %factor dim 1 : tensor<64xf32> -> tensor<64x64xf32>
      %x = arith.mulf %carried, %f : tensor<64x64xf32>
      tile.yield %x : tensor<64x64xf32>
    }
    ```
  }];
  let options = [
    Option<"threshold", "threshold", "double", "8.0",
           "how far maxima that only shift exponents lag behind, in base-2 exponents, where "
           "products take f16; 0 is not at all">,
    Option<"wideThreshold", "wide-threshold", "double", "32.0",
           "the same where no product takes f16">,
    Option<"bytes", "bytes", "int64_t", "0",
           "only in programs whose products have operands of so many bytes an element; 0 for all">,
    Option<"mostColumns", "most-columns", "int64_t", "0",
           "only accumulators of at most so many columns; 0 for all">,
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say what was found">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TileScheduleGrid : Pass<"tile-schedule-grid", "::mlir::tile::FuncOp"> {
  let summary = "start the instances with the longest loops first";
  let description = [{
    What: instances run about in the order of their numbers, of which the last
    dimension of the grid is the fastest. Where the trip count of a loop grows
    along that dimension (its bounds are followed through sums, products with
    constants, minima and maxima), its id is reversed, so that what is left for
    the end is short. Where it grows or shrinks, instances of all other
    dimensions are cut into sections, within which those of the same length run
    together, so that what they load stays in the cache of second level: of
    `section` instances, or of as many as load `section-bytes` in their loops by
    loads that do not depend on the last id (0 of both: one section for each).
    Sections make the grid one of one dimension, which counts all instances.
    Where it does both, or is not known, the order stays: of a band, instances that
    follow each other load much the same, so the last dimension is best the fastest.

    Requires: nothing. Ensures: each instance of the grid runs once.

    Numerics: exact; only the order of instances changes.

    Example (`test/Dialect/Tile/Transforms/schedule-grid.mlir`):

    ```mlir
    %n = arith.ceildivui %size, %c64 : index   // the extent of the dimension
    %last = arith.subi %n, %c1 : index
    %reversed = arith.subi %last, %t : index   // takes the place of %t
    ```
  }];
  let options = [
    Option<"section", "section", "int64_t", "0",
           "instances of the other dimensions that run together; 0 for each alone">,
    Option<"sectionBytes", "section-bytes", "int64_t", "0",
           "or as many as load so many bytes in their loops; 0 for each alone">,
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say what was found">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TilePromoteShared : Pass<"tile-promote-shared", "::mlir::tile::FuncOp"> {
  let summary = "bring operands of products, and what crosses warps, to rings in shared memory";
  let description = [{
    What: (1) a `tile.load` that feeds products, as b, or as a where it has no
    layout, becomes a ring of one slot: a `tile.put` where the load stood, a
    `tile.get` before the first reader and a `tile.release` after the last one.
    A load in front of a loop is got before and released after it. (2) An
    operand b that was computed goes through a ring by `tile.put_value`. (3) So
    does a `tile.convert_layout` that moves elements between warps; a
    `tile.reduce` along a dimension of which several warps hold parts gets its
    input, and gives its result, by such conversions. Copies are
    `cp_async` where the view promises tile.align 16, rows are whole chunks of
    16 bytes and elements have 2 or 4 bytes, else `ld_st`. With
    `products=async`, where all products of the program allow it (2-byte
    elements, 16 rows for each warp of whole warpgroups, in loops at most) and
    the copy engine can bring all their loaded operands (from views aligned to 16
    bytes, rows included), copies are `tma`, rings
    that a loop fills have two slots, and `tile.dot` becomes `tile.dot_start`
    and `tile.await`; else a remark says what stands in the way.

    Loads and stores of one view take effect in program order: where the program
    both loads and stores a view, a `tile.barrier` stands before each of these,
    and what is put from the view is `ld_st` and got at once. Different
    arguments are assumed not to overlap.

    Requires: static tiles. Ensures: every operand b is a slot; no layout
    conversion and no reduction crosses warps.

    Numerics: exact; sums of floats are made in another order where they crossed
    warps.

    Example (`test/Dialect/Tile/Transforms/promote-shared.mlir`):

    ```mlir
    %r = tile.ring : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>>
    scf.for ... {
      tile.put %r, %x[%j, %c0] dims [0, 1] copy(cp_async) : ...
      %k = tile.get %r : ...
      %s = tile.dot %q, %k, %zero transpose_b : ...
      tile.release %k : ...
    ```
  }];
  let options = [
    Option<"products", "products", "std::string", "\"sync\"",
           "sync, or async for targets with asynchronous products">,
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say what went to shared memory and how">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileSkipSteps : Pass<"tile-skip-steps", "::mlir::tile::FuncOp"> {
  let summary = "let each warpgroup leave out steps in which its rows see nothing";
  let description = [{
    What: a loop over keys that a mask bounds (`tile.of_rows`) runs the steps that
    some row of the tile sees something of. Where its products are asynchronous, each
    warpgroup has 64 of the rows: the bounds are computed for these, too, by the ops that
    compute them for the tile, and the loop gets `tile.own_steps`. Conditions in the loop
    (`tile.of_rows`) become those of the warpgroup's rows (`tile.own_condition`).

    Requires: rings as `tile-promote-shared` makes them. Ensures: bounds stay that do not
    depend on the tile's rows, or on more of an instance's ids, and so do loops that put
    or get under a condition. No `tile.of_rows` is left.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/skip-steps.mlir`):

    ```mlir
    %b, %e = tile.own_steps %lo to %hi step %c80 own(%first to %last)
    scf.for %j = %b to %e step %c80 ...
    ```
  }];
  let options = [
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say which loops have own steps">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileStageStores : Pass<"tile-stage-stores", "::mlir::tile::FuncOp"> {
  let summary = "store tiles by way of shared memory and the copy engine";
  let description = [{
    What: in programs with asynchronous products, which get roles, a `tile.store`
    of a tile of 2-byte elements that the copy engine can store (aligned, along
    the last two dimensions of a view) becomes a write to shared memory and a
    `tile.copy_out`, by each warpgroup for the rows that it holds. Where shared
    memory up to `shared-limit` is left, the tile has a ring of its own; else it
    overwrites a slot of the same shape that products are done with, which is
    then released behind the copy, at the end of its block; else the store stays,
    with a remark. A ring of its own must leave room for a second slot of such a
    shape, if there is one: two slots that serve both ways let the next
    instance's tile come earlier (`tile-persist-grid`) than one slot each way.
    Where not even two of them fit, a ring of a half or a quarter of the columns,
    whole panels, takes one part of the tile after the other, so that the slot is
    filled again meanwhile.

    Requires: rings as `tile-promote-shared` makes them. Ensures: as much.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/stage-stores.mlir`):

    ```mlir
    tile.put_value %r, %x : !tile.ring<1 x 64x64xf16, #tile.swizzle<128>>, tensor<64x64xf16, #acc>
    %s = tile.get %r : ...
    tile.copy_out %s to %out[%i, %c0] dims [0, 1] rows(64) : ...
    tile.release %s : ...
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">,
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say where tiles are written and why">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect"];
}

def TileScheduleLoop : Pass<"tile-schedule-loop", "::mlir::tile::FuncOp"> {
  let summary = "choose stages of rings and the order of a loop's ops";
  let description = [{
    What: for each loop whose body fills and empties rings, chooses how many
    slots each ring has and where in the body it is filled, and writes it down:
    `tile.stage` and `tile.order` on each op of the body, which `tile-pipeline`
    expands. Stages of a ring that the program already gives (more than 1) are
    kept, and a loop whose ops have the attributes is left alone.

    A barrier is where a `tile.get` is, so a slot is filled right after the
    first get that follows its release, and that get follows the release as
    soon as it can. A ring that is so filled behind another product needs one
    slot; else it gets two, and n slots are filled n - 1 iterations ahead, after
    the first get of the body, to which the other gets then move.

    Rings of loops of asynchronous products have two slots, or three where warpgroups
    begin with different steps (`tile.own_steps`) and shared memory has room for that.

    Requires: rings as `tile-promote-shared` makes them. Ensures: all ops of a
    scheduled body have both attributes; the rings of the program fit in
    `shared-limit`, for which stages shrink. Loops whose rings are filled in a
    nested region (under an `scf.if`), and loops that yield an argument of their
    own, are left as they are. What is put from a view that the program stores
    to is not moved; nor does a put run ahead whose indices are loaded from a
    view that the loop stores to.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/schedule-loop.mlir`), the order chosen for two products:

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
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say what was chosen and why">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TilePipeline : Pass<"tile-pipeline", "::mlir::tile::FuncOp"> {
  let summary = "run ops of a loop ahead, as their tile.stage and tile.order say";
  let description = [{
    What: expands the schedule of each loop by upstream's pipeliner. The loop
    keeps its trip count: a `tile.put` that is beyond the last iteration starts
    past the end of its source, so that it reads nothing and is filled with 0,
    without a branch. What is left in the rings is taken out behind the loop.
    Then a get in front of the loop moves behind the first puts.

    Requires: `tile.stage` and `tile.order` on each op of a body or on none; ops
    of early stages have no effect but to fill rings. Rejects schedules in which
    a value is used before it is there. Ensures: neither attribute is left.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/pipeline.mlir`):

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

def TileSpecializeWarps : Pass<"tile-specialize-warps", "::mlir::tile::FuncOp"> {
  let summary = "give the loads of a program to warps of their own";
  let description = [{
    What: where the copy engine fills all rings, splits the program into two
    roles: "load" has the puts, and scalars, loops and ifs as far as puts need
    them; "compute" has all else. Four warps load, with few registers; what they
    leave of the registers of a block goes to the others. `tile.warps` counts
    both. Other programs stay as they are.

    Requires: rings as `tile-promote-shared` makes them, pipelined or not.
    Ensures: both roles fill and empty rings in one order, since both run the
    same loops.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/specialize-warps.mlir`):

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
  let options = [
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say what each role has">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::scf::SCFDialect"];
}

def TileOrderWarpgroups : Pass<"tile-order-warpgroups", "::mlir::tile::FuncOp"> {
  let summary = "let warpgroups start the products of an iteration in turn";
  let description = [{
    What: in each loop that starts products, in roles of two warpgroups or more,
    takes a turn before the first product and passes it on behind the last, so
    that one warpgroup computes while the products of another run. Not in roles
    whose warpgroups begin with different steps (`tile.own_steps`).

    Requires: loops whose bounds are the same for all warpgroups, as scalars of
    a program are. Ensures: nothing else changes.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/order-warpgroups.mlir`):

    ```mlir
    tile.turn_take %t : !tile.turn<2>
    %p = tile.dot_start ...
    tile.turn_pass %t : !tile.turn<2>
    ```
  }];
  let options = [
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say which loops have turns">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TilePersistGrid : Pass<"tile-persist-grid", "::mlir::tile::FuncOp"> {
  let summary = "let each block run several instances, so that roles go on without a break";
  let description = [{
    What: in a program with roles, a launch starts no more than
    `blocks-per-sm` blocks on a multiprocessor, and each role loops over
    instances: the grid becomes one dimension, which counts them. So a role
    that loads is ahead of the others from one instance to the next. Where all
    instances have loops of the same length, block b runs b, b + n, b + 2n, ...
    of n blocks; a role that needs ids before it is done with loops and products
    divides them off behind those of the instance before. Else the role that fills
    rings takes the next number from a count in a workspace, which may hold anything
    before, and hands it to each other role by a ring of two slots; a number behind
    the last one ends a block. That takes shared memory, which must be there within
    `shared-limit`. It takes the number behind the last loop of the instance before,
    so that blocks take numbers in the order in which they finish.
    Of a grid of several dimensions, or one that is in sections (`tile-schedule-grid`),
    it divides for all and sends two words, packed into one of 64 bits, instead: the
    last id, and the other two with the bits of one above those of the other (one id
    as it is, and the number of more than two, from which they follow by division);
    and where it computes ids from these, a role does so no earlier than it uses them.
    The next number is received behind the last loop and product of the instance
    before, where arithmetic and stores are left to go on beside the wait; in the end,
    where warpgroups have own steps (`tile.own_steps`) and so give back slots late.

    A ring of one slot that the engine fills once an instance gets another slot,
    where there is room: the next instance's tile comes while this one's is in use.

    Requires: programs in which all but rings and turns stands in roles; other
    ones stay as they are. Ensures: each instance runs once.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/persist-grid.mlir`):

    ```mlir
    tile.role "load" warps(4) registers(24) {
      %found = tile.find_count %counter : !tile.view<1xi64>
      scf.while (%n = %first) : (i32) -> i32 {
        tile.put_value %numbers, %n : !tile.ring<2 x 1xi32, #tile.swizzle<32>>, i32
        %more = arith.cmpi ult, %n, %count : i32
        scf.condition(%more) %n : i32
      } do {
      ^bb0(%n: i32):
        ...
        %begins = arith.cmpi eq, %n, %first : i32
        scf.if %begins {
          tile.open_count %counter found(%found) first(%tag) total(%count) : !tile.view<1xi64>
        }
        %taken = tile.take_number %counter first(%tag) : !tile.view<1xi64>
        %next = arith.addi %blocks, %taken : i32
        scf.yield %next : i32
      }
    }
    tile.role "compute" warps(12) registers(160) {
      %s = tile.get %numbers : !tile.ring<2 x 1xi32, #tile.swizzle<32>> -> ...
      %0 = tile.read %s : ... -> i32
      tile.release %s : ...
      scf.while (%n = %0) : (i32) -> i32 {
        %more = arith.cmpi ult, %n, %count : i32
        scf.condition(%more) %n : i32
      } do {
      ^bb0(%n: i32):
        scf.for ...
        %t = tile.get %numbers ...
        %next = tile.read %t ...
        tile.release %t ...
        tile.store ...
        scf.yield %next : i32
      }
    }
    ```
  }];
  let options = [
    Option<"blocksPerSM", "blocks-per-sm", "int64_t", "1",
           "blocks that a launch starts on a multiprocessor at most">,
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">,
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say how blocks find instances">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

def TileMakeTensorMaps : Pass<"tile-make-tensor-maps", "::mlir::tile::FuncOp"> {
  let summary = "give copies of the engine their maps as arguments";
  let description = [{
    What: each `tile.copy` by `tma` and each `tile.copy_out` gets a map: an
    argument of the kernel behind the other ones of the launch, which the runtime
    makes from the view. Copies of equal view, dimensions, box and swizzle share
    one.

    Requires: copies from and to arguments of the tile.func. Ensures: every such copy
    has a map.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/make-tensor-maps.mlir`):

    ```mlir
    tile.func @f(%x: !tile.view<?x64xbf16>, %m: !tile.tensor_map<80x64xbf16, #tile.swizzle<128>> {tile.map_dims = [0, 1], tile.map_of = 0 : i64}, ...) {
      tile.copy %x[%i, %c0] dims [0, 1] to %s copy(tma) signal %b[%c0] map(%m) : ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
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
    share both; (2) a slot is filled again only after a barrier behind its
    release. Numbers of slots are constants for rings of one stage, else counted
    along. `tile.shared_bytes` is set: rings in their order, slots at multiples
    of 1024 bytes.

    In programs with roles, rings are filled by copy(tma), and each gets
    `tile.barriers` for full slots and, where a slot is filled more than once,
    for empty ones. A put waits until its slot is empty, says how many bytes come
    and starts the copy; a get waits until its slot is full; a release arrives,
    one arrival a warp. Slots and parities are counted along in each role. A turn
    becomes numbered barriers, one per warpgroup. A `tile.copy_out` stands behind
    a barrier of its warpgroup; a slot that it reads is waited for before it is
    written or released. One of two slots that the loop over instances uses in turn
    is released by the next iteration, behind its first product and in front of the loop
    over the others, by when the copy is done; so the first iteration releases a slot that was never put, and the second
    put waits for that.

    Requires: rings in order (see `tile-verify-rings`), copy(tma) in roles only.
    Ensures: no `tile.put`, `tile.put_value`, `tile.get`, `tile.release`,
    `tile.turn_take` or `tile.turn_pass` is left.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/lower-rings.mlir`):

    ```mlir
    tile.copy_wait 0
    tile.barrier
    %s = tile.slot_at %r[%c0] : !tile.ring<1 x 128x64xf16, #tile.swizzle<128>> -> !tile.slot<128x64xf16, #tile.swizzle<128>>
    ```
  }];
  let options = [
    Option<"emitRemarks", "emit-remarks", "bool", "false", "say how many waits and barriers a loop has">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
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

    Example (`test/Dialect/Tile/Transforms/verify-rings.mlir`):

    ```mlir
    tile.put %r, %x[%i, %c0] ...
    tile.put %r, %x[%j, %c0] ...   // error: finds the ring full: it has 1 slot, 1 put and not got, 0 got and not released
    ```
  }];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_RINGPASSES_TD
