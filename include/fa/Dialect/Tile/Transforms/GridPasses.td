//===- GridPasses.td - passes of Tile/Transforms/Grid ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes that decide in which order work tiles run (a work tile is one (batch, head, block) of the
// grid) and which block runs them. lib/Pipelines/GPU.cpp says in which order the passes run.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD

include "mlir/Pass/PassBase.td"

def TileAlignBlocks : Pass<"tile-align-blocks", "::mlir::tile::FuncOp"> {
  let summary = "let blocks of rows end where the rows end";
  let description = [{
    Where n rows are no whole blocks of R, one block has fewer. Blocks that begin with row 0 make
    that the last one, whose loop is the longest where bounds rise with the rows: warpgroups without
    rows run, or wait for, all of its steps. This pass moves all blocks up by as many whole
    warpgroups as the last one lacks, so that the first one lacks them, whose loop is the shortest:

        x R    ->    x R - m,    m = R - 64 - 64 floor((n - 1) mod R / 64),    0 where n <= R

    That is -m for block 0, whose m rows before 0 are out of range: they load 0, and nothing of
    them is stored. Slices whose rows the block loads or stores become `front`.

    A kernel is changed where R is a multiple of 64 beyond 64, and its only loop with products
    begins at one place for all rows and ends at one that rises with them (`tile.row_derived`);
    where tiles are loaded from the first row on; and where what else is computed from it are sums,
    differences, minima, maxima and comparisons of signed integers, positions and random bits,
    which are right below row 0, too. Not where vectors or numbers are loaded by the row.

    Requires: blocks of R rows, from multiples of R on, whose tiles are stored from their first row
    on. Numerics: exact. Memory: none.

    Example (`test/Dialect/Tile/Transforms/Grid/align-blocks.mlir`):

    ```mlir
    %i = arith.muli %block, %c192 : index
    // of %sq rows ->
    %moved = arith.select %several, %rows_lacking, %c0 : index   // %sq > 192: 64 (2 - (%sq - 1) % 192 / 64)
    %first = arith.subi %i, %moved : index
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TileSortGrid : Pass<"tile-sort-grid", "::mlir::ModuleOp"> {
  let summary = "start the work tiles with the longest loops first where memory says how long they are";
  let description = [{
    Start long work tiles first where what bounds their loops is read from memory, as
    limits of rows or lists of blocks are, so that little is left for the end. No host
    sees these numbers: a kernel before sorts the work tiles.

    A kernel is sorted where loops with products have bounds that a few scalar ops compute from
    elements of views, from the last id of the grid and other ids. The pass makes these ops a
    kernel of its own: computed for 32 work tiles at once, they give the iterations of each
    (those of all such loops, added up), and its rank,

        rank = work tiles with more iterations + those with as many and a lower id,

    for each value of the other ids that the bounds depend on. It stores the id at the place of its
    rank (`tile.scatter`). The sorted kernel reads its last id from this table, by a load that is marked `tile.part`;
    `tile-schedule-grid` then makes sections as for loops that shrink along the last dimension,
    and `tile-make-persistent` sends what the producer reads.

    Where the bounds follow from ids alone, `tile-schedule-grid` orders by arithmetic, and
    this pass does nothing.

    Requires: extents of the grid that are a size, a size over a constant, or a constant. Ensures:
    each work tile of the grid runs once. The order is the same in each launch.

    Numerics: exact; only the order of work tiles changes. Memory: 4 bytes a work tile, for each
    value of the other ids.

    Example (`test/Dialect/Tile/Transforms/Grid/sort-grid.mlir`):

    ```mlir
    %id = tile.load %order[%b, %t] {tile.part = 0 : i64} : !tile.view<?x?xi32> -> i32   // takes the place of %t
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TileMergeKernels : Pass<"tile-merge-kernels", "::mlir::ModuleOp"> {
  let summary = "launch kernels of an entry that do not wait for one another as one";
  let description = [{
    Launch small kernels of an entry that do not wait for one another as one, such as tables that
    are made of several inputs: each launch costs as much as all that they do.

    Two kernels merge where neither takes what the other one writes, nor what stands between them,
    and they have as many warps. Grids that differ in more than the last extent get one dimension
    each, before. The last extent of the merged kernel is the sum of both, and its last id chooses
    the program:

        if id < extent of the first: the first program, of id
        else: the second one, of id - extent of the first.

    Kernels with roles, products, barriers of their own or tensor maps stay as they are, and so do
    two whose rings, which stand side by side, exceed `shared-limit`.

    Requires: `tile.name` on arguments, by which kernels share them. Ensures: what an entry does to
    memory is the same.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Grid/merge-kernels.mlir`):

    ```mlir
    %first = arith.cmpi slt, %t, %count : index
    %rest = arith.subi %t, %count : index
    scf.if %first { ... } else { ... }
    ```
  }];
  let options = [
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a kernel may use; 0 is no limit">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::scf::SCFDialect"];
}

def TileOverlapKernels : Pass<"tile-overlap-kernels", "::mlir::ModuleOp"> {
  let summary = "start a kernel of an entry while the one before it ends";
  let description = [{
    Let the kernels of an entry overlap: each but the first gets `tile.dependent`. Its blocks
    start once all of the kernel before have, as far as SMs have room for them, set up their
    barriers, load what no kernel of the entry writes, and wait for its end and its stores
    (`tile.kernel_wait`) before they touch other memory (programmatic dependent
    launch, PTX's `griddepcontrol`). So a launch, and the start of blocks, run beside what is left
    of the kernel before.

    The kernel before lets it start as its own first instruction: a block that waits takes room,
    but none that the other still needs. A kernel with products that takes nothing of the one
    before, nor writes for it, does not wait but in its end: SMs that have nothing left of
    the one take blocks of the other. The one before lets it start after its own wait. Kernels wait for one another in order, so at the end of one
    all before it have ended.

    Requires: a target with such launches; drivers and launches without them run the kernels one after
    the other. Ensures: what kernels see of memory is the same.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Grid/overlap-kernels.mlir`):

    ```mlir
    tile.func @f_sum(...) ... attributes {tile.dependent, tile.entry = "f"} {
      %n = tile.load %lengths[%b] : !tile.view<?xi32> -> i32
      tile.kernel_wait
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect"];
}

def TileScheduleGrid : Pass<"tile-schedule-grid", "::mlir::tile::FuncOp"> {
  let summary = "start the work tiles with the longest loops first";
  let description = [{
    What: starts long work tiles first, so that little is left for the end, and
    lets work tiles that load the same data run together. A GPU runs work tiles
    about in the order of their numbers, in which the last dimension of the grid is
    the fastest.

    The pass follows the bounds of loops through sums, products with constants,
    minima and maxima; where they depend on the last id in no such way, it takes what memory
    says, and what conditions choose, to be the same for neighbours (blocks of one slice).
    Where the trip count of a loop grows along the last
    dimension, the id of that dimension is reversed. Where it grows or shrinks, the
    work tiles of all other dimensions are cut into sections, and within a section
    those with equally long loops run together, so that what they load stays in L2.
    A section has `section` of these, or as many as load `section-bytes` in their
    loops, of which only loads count that do not depend on the last id (0 of both:
    one section for each). Of slices one after the other, whose beginnings are read from
    memory, a load counts with one in the mean, for work tiles of one slice run together.
    It has at least as many as make `section-tiles` work tiles, and what does not fill
    another section belongs to the last one: a block that is done early takes a
    long loop of the next section, but behind the last section there is none, so that the
    shorter it is, the more blocks wait for its longest loop.
    Sections make the grid one of one dimension, which counts all work tiles.
    Without them, `together` exchanges the last two dimensions of the grid: those of the one
    before the last with equally long loops run together, for no more arithmetic.

    The order stays where the trip count both grows and shrinks, as that of a
    window does, or is not known: neighbours then load much the same, so that the
    last dimension is best the fastest.

    Requires: nothing. Ensures: each work tile of the grid runs once.

    Numerics: exact; only the order of work tiles changes.

    Example (`test/Dialect/Tile/Transforms/Grid/schedule-grid.mlir`):

    ```mlir
    %n = arith.ceildivui %size, %c64 : index   // the extent of the dimension
    %last = arith.subi %n, %c1 : index
    %reversed = arith.subi %last, %t : index   // takes the place of %t
    ```
  }];
  let options = [
    Option<"section", "section", "int64_t", "0",
           "work tiles of the other dimensions that run together; 0 for each alone">,
    Option<"sectionBytes", "section-bytes", "int64_t", "0",
           "or as many as load so many bytes in their loops; 0 for each alone">,
    Option<"sectionTiles", "section-tiles", "int64_t", "0",
           "the least work tiles of such a section, those of the last dimension counted">,
    Option<"together", "together", "bool", "false",
           "without sections, let work tiles of the dimension before the last run together">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TileMakePersistent : Pass<"tile-make-persistent", "::mlir::tile::FuncOp"> {
  let summary = "make the kernel persistent: each block runs several work tiles";
  let description = [{
    What: makes a program with roles a persistent kernel. A launch starts no more
    than `tile.min_blocks_per_sm` blocks on an SM, one without it, and each role loops
    over work tiles, so that the producer loads the next work tile while the consumers
    still compute.
    The grid becomes one dimension, which counts work tiles.

    The tile scheduler is static where all work tiles have equally long loops: block
    b of n runs b, b + n, b + 2n, ... A role that needs ids before it is done with
    loops and products computes them after those of the work tile before.

    Else the tile scheduler is dynamic. The producer takes the next number from a
    counter in a workspace, which may hold anything before, and sends it to each
    consumer through a ring of two slots; a number past the last one ends a block.
    The rings take shared memory, which must be there within `shared-limit`. The
    producer takes a number after the last loop of the work tile before, so that
    blocks take numbers in the order in which they finish. Consumers receive it
    after their last loop and product, where arithmetic and stores are left to run
    beside the wait; or at the end, where warpgroups have bounds of their own
    (`tile.warpgroup_bounds`) and release slots late.

    For a grid of several dimensions, or one in sections (`tile-schedule-grid`), the
    producer divides for all roles and sends a packed id in place of the number:
    two words. One word is the last id. The other holds the two other ids,
    one in the bits above the other; a single one stands as it is, and more than two
    stay one number, from which they follow by division. A role computes what it
    needs of these no earlier than it uses them.

    After the packed id it sends what roles read from memory knowing no more than
    that: results of scalar loads of views that the program does not store to, and of
    loops and branches of such loads, such as the search for a block's sequence; or, in place of
    these, what roles derive from them, such as positions, lengths and bounds of loops, where that
    leaves them much less to compute, or is fewer words, and fits 32 bits; of floats the bits. It reads
    that once for all roles, up to eight words; where there are more all the same, roles read for themselves.
    Where each store of a work tile is to a `tile.slice` and what it sends says that the
    store begins behind the slice's end, it sends nothing of it and takes the next number.

    A ring of one slot that TMA fills once a work tile gets another slot if there is
    room: the next work tile's data come while this one's are in use.

    Where loops are equally long, and all that a work tile fills once are slots that its stores leave
    by, for which there is no room twice, the next work tile has little to load ahead. Such a program
    stays as it is: a launch of a block for each work tile takes fewer joules (docs/performance.md).

    Requires: programs in which all but rings and ping-pongs stands in roles; others
    stay as they are. Ensures: each work tile that stores anything runs once.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Grid/make-persistent.mlir`):

    ```mlir
    tile.role "load" warps(4) registers(24) {
      %found = tile.scheduler_peek %counter : !tile.view<1xi64>
      scf.while (%n = %first) : (i32) -> i32 {
        tile.put_value %numbers, %n : !tile.ring<2 x 1xi32, #tile.swizzle<32>>, i32
        %more = arith.cmpi ult, %n, %count : i32
        scf.condition(%more) %n : i32
      } do {
      ^bb0(%n: i32):
        ...
        %begins = arith.cmpi eq, %n, %first : i32
        scf.if %begins {
          tile.scheduler_reset %counter found(%found) first(%epoch) total(%count) : !tile.view<1xi64>
        }
        %taken = tile.scheduler_next %counter first(%epoch) : !tile.view<1xi64>
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
    Option<"sharedLimit", "shared-limit", "int64_t", "0",
           "bytes of shared memory that a program may use; 0 is no limit">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD
