//===- TileBallot.td - conditions of 32 numbers as a word --*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEBALLOT_TD
#define FA_DIALECT_TILE_IR_TILEBALLOT_TD

include "fa/Dialect/Tile/IR/TileOps.td"

def Tile_BallotOp : Tile_Op<"ballot", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "tests 32 numbers at once";
  let description = [{
    Bit n of the result is the vote of the region for its argument n, from 0 to 31. The region
    is run for each number, in any order: on GPUs each lane of a warp takes one.

    Constraints:
    - (C1) The region takes an index and ends with a tile.vote.
    - (C2) The region holds numbers only, no tile, and writes nothing.

    Created by `tile-list-steps` and by hand; becomes a vote of a warp in `convert-tile-to-nvvm`, a
    loop in `convert-tile-to-linalg`.

    Example:

    ```mlir
    %word = tile.ballot {
    ^bb0(%n: index):
      %t = arith.addi %first, %n : index
      %shown = tile.load %m[%h, %t] : !tile.view<?x?xi1> -> i1
      tile.vote %shown
    }
    ```
  }];
  let results = (outs I32:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// How many numbers are tested.
    static constexpr int64_t kNumbers = 32;
    Value getNumber() { return getBody().getArgument(0); }
    Value getVote();
  }];
}

def Tile_VoteOp : Tile_Op<"vote", [Pure, Terminator, HasParent<"BallotOp">]> {
  let summary = "says whether the number's bit is set";
  let description = [{
    Created and removed with its tile.ballot.

    Example:

    ```mlir
    tile.vote %shown
    ```
  }];
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}

def Tile_NthBitOp : Tile_Op<"nth_bit", [Pure]> {
  let summary = "the place of a word's n-th set bit";
  let description = [{
    The result is the place of the set bit that has n set bits below it, or 32 where there is none.

    Created by `tile-list-steps` and by hand.

    Example:

    ```mlir
    %t = tile.nth_bit %word[%n]
    ```
  }];
  let arguments = (ins I32:$word, Index:$n);
  let results = (outs Index:$result);
  let assemblyFormat = "$word `[` $n `]` attr-dict";
}

#endif // FA_DIALECT_TILE_IR_TILEBALLOT_TD
