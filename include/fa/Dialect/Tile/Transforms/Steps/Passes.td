//===- Passes.td - which steps of a loop a program runs ----*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes of any target that run before those of lib/Pipelines/GPU.cpp.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_TD
#define FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_TD

include "mlir/Pass/PassBase.td"

def TileListSteps : Pass<"tile-list-steps", "::mlir::tile::FuncOp"> {
  let summary = "let a loop go over a list of the tiles that its mask shows";
  let description = [{
    What: a loop whose steps run under a condition, such as whether a tile of keys is visible, goes
    over a list of the steps for which it holds. So each step of the loop runs, and copies and
    products go ahead across what is left out. The list is made where it is used and takes no
    memory: a loop over chunks of 32 steps tests them all at once (`tile.ballot`), and a loop in it
    runs over the set bits of that word (`tile.nth_bit`). Conditions of the step that read memory,
    such as whether its mask is evaluated, become bits of words, too. Where one of those chooses
    between two ways, and the second only takes least and greatest numbers that rise with the step,
    or adds up constants, that way is taken for all its steps of the chunk at once: the first and
    the last set bit of a word and how many there are say what comes of it.

    Requires: the condition is computed from the induction variable and what stands before the loop,
    and from memory that the program does not write. Ensures: a listed loop has no condition around
    its steps. Where tests read no memory, loops without products stay as they are, and so do those
    whose condition is a conjunction of comparisons of sums: it has no holes, and its bounds leave
    out almost all that is hidden.

    Numerics: exact.

    Example (`test/Dialect/Tile/Transforms/Schedule/list-steps.mlir`):

    ```mlir
    scf.for %chunk = %lo to %hi step %c2048 iter_args(...) {
      %word = tile.ballot { ... }
      %count = math.ctpop %word : i32
      scf.for %u = %zero to %count step %one iter_args(...) : i32 {
        %n = arith.index_cast %u : i32 to index
        %t = tile.nth_bit %word[%n]
        %skipped = arith.muli %t, %c64 : index
        %j = arith.addi %chunk, %skipped : index
        ...
    ```
  }];
  let dependentDialects = ["::mlir::tile::TileDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect"];
}

#endif // FA_DIALECT_TILE_TRANSFORMS_STEPS_PASSES_TD
