//===- GridPasses.td - passes of Tile/Transforms/Grid ------*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The room of the order of work tiles and persistent kernels. The order in which passes run is in
// lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD

include "mlir/Pass/PassBase.td"

def TileScheduleGrid : Pass<"tile-schedule-grid", "::mlir::tile::FuncOp"> {
  let summary = "start the work tiles with the longest loops first";
  let description = [{
    What: work tiles run about in the order of their numbers, of which the last
    dimension of the grid is the fastest. Where the trip count of a loop grows
    along that dimension (its bounds are followed through sums, products with
    constants, minima and maxima), its id is reversed, so that what is left for
    the end is short. Where it grows or shrinks, work tiles of all other
    dimensions are cut into sections, within which those of the same length run
    together, so that what they load stays in the L2 cache: of
    `section` work tiles, or of as many as load `section-bytes` in their loops by
    loads that do not depend on the last id (0 of both: one section for each).
    Sections make the grid one of one dimension, which counts all work tiles.
    Where it does both, or is not known, the order stays: of a band, work tiles that
    follow each other load much the same, so the last dimension is best the fastest.

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
           "instances of the other dimensions that run together; 0 for each alone">,
    Option<"sectionBytes", "section-bytes", "int64_t", "0",
           "or as many as load so many bytes in their loops; 0 for each alone">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect"];
}

def TileMakePersistent : Pass<"tile-make-persistent", "::mlir::tile::FuncOp"> {
  let summary = "let each block run several work tiles, so that roles go on without a break";
  let description = [{
    What: in a program with roles, a launch starts no more than
    `blocks-per-sm` blocks on an SM, and each role loops over
    work tiles: the grid becomes one dimension, which counts them. So a role
    that loads is ahead of the others from one work tile to the next. Where all
    work tiles have loops of the same length, block b runs b, b + n, b + 2n, ...
    of n blocks; a role that needs ids before it is done with loops and products
    divides them off after those of the work tile before. Else the role that fills
    rings takes the next number from a count in a workspace, which may hold anything
    before, and hands it to each other role by a ring of two slots; a number after
    the last one ends a block. That takes shared memory, which must be there within
    `shared-limit`. It takes the number after the last loop of the work tile before,
    so that blocks take numbers in the order in which they finish.
    Of a grid of several dimensions, or one that is in sections (`tile-schedule-grid`),
    it divides for all and sends two words, packed into one of 64 bits, instead: the
    last id, and the other two with the bits of one above those of the other (one id
    as it is, and the number of more than two, from which they follow by division);
    and where it computes ids from these, a role does so no earlier than it uses them.
    The next number is received after the last loop and product of the work tile
    before, where arithmetic and stores are left to go on beside the wait; in the end,
    where warpgroups have bounds of their own (`tile.warpgroup_bounds`) and so give back slots late.

    A ring of one slot that TMA fills once a work tile gets another slot,
    where there is room: the next work tile's tile comes while this one's is in use.

    Requires: programs in which all but rings and turns stands in roles; other
    ones stay as they are. Ensures: each work tile runs once.

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
          tile.scheduler_reset %counter found(%found) first(%tag) total(%count) : !tile.view<1xi64>
        }
        %taken = tile.scheduler_next %counter first(%tag) : !tile.view<1xi64>
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
           "bytes of shared memory that a program may use; 0 is no limit">
  ];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
    "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_GRIDPASSES_TD
