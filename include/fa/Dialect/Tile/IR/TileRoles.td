//===- TileRoles.td - roles of warps and what they wait for ----*- tablegen -*-===//
//
// Part of fa-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Included by TileRings.td. First the roles that warps of a program play and
// the ping-pong of warpgroups; then what `tile-lower-rings` makes of rings
// and ping-pong between roles: barriers in shared memory, and named ones.
//
//===----------------------------------------------------------------------===//

#ifndef FA_DIALECT_TILE_IR_TILEROLES_TD
#define FA_DIALECT_TILE_IR_TILEROLES_TD

//===----------------------------------------------------------------------===//
// Roles
//===----------------------------------------------------------------------===//

// A role counts among the warps of the program whatever it does, so that neither is ever dead.
def Tile_RolesOp : Tile_Op<"roles", [
    SingleBlock, NoTerminator, NoRegionArguments, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "the warps of a program part and run different code";
  let description = [{
    Warps are numbered through the roles in their order; each warp runs the body
    of its own role only. All begin together and go on together after it.

    Constraints:
    - (C1) Stands in the first block of a tile.func, once.
    - (C2) Holds tile.role ops only, one at least, with distinct names.
    - (C3) The warps of the roles add up to tile.warps of the tile.func.

    Created by `tile-specialize-warps`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.roles {
      tile.role "load" warps(4) registers(24) { ... }
      tile.role "compute" warps(8) registers(240) { ... }
    }
    ```
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Return the number of the role's first warp in the program.
    int64_t firstWarpOf(RoleOp role);
  }];
}

def Tile_RoleOp : Tile_Op<"role", [
    SingleBlock, NoTerminator, NoRegionArguments, MemoryEffects<[MemRead, MemWrite]>,
    HasParent<"RolesOp">]> {
  let summary = "what the warps of one role run";
  let description = [{
    Layouts of tiles inside count warps from the role's first one. `registers` is
    what a thread may use, 0 what the launch gives.

    Constraints:
    - (C1) 1 to 32 warps; registers are 0, or a multiple of 8 from 24 to 256 for
      whole warpgroups (4 warps each).
    - (C2) Scalars, views, rings, ping-pongs, barriers and tensor maps come in from
      around; tiles, slots and pending tiles do not.

    Created by `tile-specialize-warps`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.role "load" warps(4) registers(24) {
      tile.put %r, %k[%b, %h, %j, %c0] dims [2, 3] copy(tma) : !tile.ring<2 x 128x64xbf16, #tile.swizzle<128>>, !tile.view<?x?x?x64xbf16>
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, I64Attr:$warps, I64Attr:$registers);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `warps` `(` $warps `)` `registers` `(` $registers `)` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Tile_WarpgroupOp : Tile_Op<"warpgroup", [Pure]> {
  let summary = "the number of this warp's warpgroup in its role";
  let description = [{
    The warp's number, counted from the role's first (or the program's, outside
    of roles), divided by 4.

    Created by `tile-split-warpgroup-loops` and `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %w = tile.warpgroup : index
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def Tile_WarpgroupBoundsOp : Tile_Op<"warpgroup_bounds"> {
  let summary = "the steps of a loop that this warpgroup has work in";
  let description = [{
    Of a loop from `lower` to `upper` in steps of `step`, those that are not wholly outside of
    the warpgroup's own range, `first` to `last`. All others leave what the loop carries as it
    is for the warpgroup's rows. Where all warpgroups begin with `lower`, `least` is the
    least `last` of those of the role; up to there they are in ping-pong.

    A target may run other steps, too. So rings and ping-pong are checked as if all warpgroups ran
    all steps (`tile-verify-rings`), and the results are `lower` and `upper` until
    `tile-lower-rings`. From there on a warpgroup waits for, and gives back, what it does not
    read of the rings that loops after this op, in its block, get once a step: of steps before
    its own before the first get, of those after them at the end of the block, or where
    that gets something else. So the op has an effect, and stays where it is.

    Constraints:
    - (C1) Stands once in a role, in what the role runs or what its loop over work tiles
      does; the role fills no rings from memory, and none for itself in the loops that read (these
      are checked by `tile-verify-rings`).
    - (C2) Loops after it that get from rings have its step.
    - (C3) `least` is there where the role is in ping-pong.

    Created by `tile-split-warpgroup-loops`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    %begin, %end = tile.warpgroup_bounds %lo to %hi step %c80 own(%lo to %b) all(%c)
    ```
  }];
  let arguments = (ins Index:$lower, Index:$upper, Index:$step, Index:$first, Index:$last,
    Optional<Index>:$least);
  let results = (outs Index:$begin, Index:$end);
  let assemblyFormat = [{
    $lower `to` $upper `step` $step `own` `(` $first `to` $last `)` (`all` `(` $least^ `)`)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Return the bound of the whole loop where `bound` is one of a warpgroup's own; else return
    /// `bound`.
    static Value wholeOf(Value bound);
  }];
}

def Tile_WarpgroupConditionOp : Tile_Op<"warpgroup_condition", [Pure]> {
  let summary = "a condition that holds for this warpgroup's rows";
  let description = [{
    `whole` is a condition of all rows of the tile, `own` the same of the warpgroup's rows alone.
    What depends on it must be right for a warpgroup with either. The result is `whole`
    until `tile-lower-rings`, which takes `own` in roles.

    Created by `tile-split-warpgroup-loops`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    %c = tile.warpgroup_condition %whole, %own
    ```
  }];
  let arguments = (ins I1:$whole, I1:$own);
  let results = (outs I1:$result);
  let assemblyFormat = "$whole `,` $own attr-dict";
}

//===----------------------------------------------------------------------===//
// Blocks that run several work tiles
//===----------------------------------------------------------------------===//

def Tile_BlockCountOp : Tile_Op<"block_count", [Pure]> {
  let summary = "how many blocks the launch has started";
  let description = [{
    The work tile id of a block is its number, from 0 to this. Without
    `tile.blocks_per_sm` it is the number of work tiles.

    Constraints:
    - (C1) Stands in a tile.func whose grid has one dimension.

    Created by `tile-make-persistent`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %n = tile.block_count : index
    ```
  }];
  let results = (outs Index:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

// A count hands out the numbers 0, 1, ..., total - 1, and some after them, to all blocks of
// a launch. It is one word of 64 bits in memory, whatever that holds before: the
// numbers handed out are those that `first`, a number of the launch, is less than the word
// (modulo 2^64). A word that is not one of first, ..., first + total - 1 is of no use
// to this launch, so a block that finds one makes it `first`: it opens the count. All
// blocks may try: only the first of them does.
//
// When the launch has taken all of its numbers the word is first + total, which a launch of
// the same `first`, as a graph that is run again makes it, opens anew. So nobody
// has to write the word before a launch or at its end.

class Tile_CountOp<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemRead, MemWrite]>]> {
  let hasVerifier = 1;
}

def Tile_SchedulerPeekOp : Tile_CountOp<"scheduler_peek"> {
  let summary = "what the word of a count holds";
  let description = [{
    Read for the role, whose warps all get the same number; a role that has tiles
    cannot do so. It takes as long as memory, so it stands well before the
    `tile.scheduler_reset` that uses it.

    Constraints:
    - (C1) The view is `1xi64`.

    Created by `tile-make-persistent`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %found = tile.scheduler_peek %counter : !tile.view<1xi64>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view);
  let results = (outs I64:$found);
  let assemblyFormat = "$view attr-dict `:` type($view)";
}

def Tile_SchedulerResetOp : Tile_CountOp<"scheduler_reset"> {
  let summary = "lets a count begin, unless another block has done so";
  let description = [{
    Where `found - first >= total` (unsigned), and the word of the count is still
    `found`, it becomes `first`, atomically. Nothing waits for that. Each block that
    takes numbers does it before its first one, once for the role; a role that has
    tiles cannot do so. `first` is of this launch (`tile.launch_epoch`); `total` is
    what all blocks together take, at most 2^31 - 1.

    Blocks may come in any order. Before one of them opens the count nobody changes
    the word, so where it is no longer `found`, it is open. And it does not become
    what it was, first + total at the earliest, before all numbers are taken, the
    last one by a block that has opened the count before.

    Constraints:
    - (C1) The view is `1xi64`.

    Created by `tile-make-persistent`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.scheduler_reset %counter found(%found) first(%tag) total(%n) : !tile.view<1xi64>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64:$found, I64:$first, I32:$total);
  let assemblyFormat = [{
    $view `found` `(` $found `)` `first` `(` $first `)` `total` `(` $total `)`
    attr-dict `:` type($view)
  }];
}

def Tile_SchedulerNextOp : Tile_CountOp<"scheduler_next"> {
  let summary = "takes the next number of a count";
  let description = [{
    The word, minus `first`; then the word is one more. Atomic among all blocks. One
    number is taken for the role, whose warps all get it; a role that has tiles
    cannot do so.

    Constraints:
    - (C1) The view is `1xi64`.

    Created by `tile-make-persistent`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %n = tile.scheduler_next %counter first(%tag) : !tile.view<1xi64>
    ```
  }];
  let arguments = (ins Tile_ViewType:$view, I64:$first);
  let results = (outs I32:$number);
  let assemblyFormat = "$view `first` `(` $first `)` attr-dict `:` type($view)";
}

//===----------------------------------------------------------------------===//
// Ping-pong
//===----------------------------------------------------------------------===//

// Ping-pongs and barriers live as long as the program, as rings do.
class Tile_SharedState<string mnemonic> : Tile_Op<mnemonic, [MemoryEffects<[MemAlloc, MemWrite]>]> {
  let hasVerifier = 1;
}

def Tile_PingpongOp : Tile_SharedState<"pingpong"> {
  let summary = "an order in which the warpgroups of a role take turns (ping-pong)";
  let description = [{
    Warpgroup 0 has it first; passed on, it goes round by their numbers.

    Constraints:
    - (C1) Stands in the first block of a tile.func.

    Created by `tile-pingpong-warpgroups`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    %t = tile.pingpong : !tile.pingpong<3>
    ```
  }];
  let results = (outs Tile_PingpongType:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

class Tile_PingpongUse<string mnemonic> : Tile_SharedOp<mnemonic> {
  let arguments = (ins Tile_PingpongType:$pingpong);
  let assemblyFormat = "$pingpong attr-dict `:` type($pingpong)";
  let hasVerifier = 1;
}

def Tile_PingpongWaitOp : Tile_PingpongUse<"pingpong_wait"> {
  let summary = "waits until it is this warpgroup's turn";
  let description = [{
    Constraints:
    - (C1) Stands in a role of as many warpgroups as the ping-pong has.
    - (C2) On every path waits and arrivals alternate, beginning with a wait; loops and branches
      leave them as they find them, and none is left open in the end (see `tile-verify-rings`).

    Created by `tile-pingpong-warpgroups`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    tile.pingpong_wait %t : !tile.pingpong<3>
    ```
  }];
}

def Tile_PingpongArriveOp : Tile_PingpongUse<"pingpong_arrive"> {
  let summary = "hands the turn to the next warpgroup";
  let description = [{
    Constraints:
    - (C1) Stands in a role of as many warpgroups as the ping-pong has.

    Created by `tile-pingpong-warpgroups`; removed by `tile-lower-rings`.

    Example:

    ```mlir
    tile.pingpong_arrive %t : !tile.pingpong<3>
    ```
  }];
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

def Tile_BarriersOp : Tile_SharedState<"barriers"> {
  let summary = "barriers in shared memory, one per slot of a ring";
  let description = [{
    Each counts arrivals, and bytes that the TMA still has to write. A
    phase is complete when all arrivals and bytes are there; then the next one
    begins with the same count. Phases have parity 0, 1, 0, ... Initialized
    before anything else of the program.

    Constraints:
    - (C1) Stands in the first block of a tile.func.
    - (C2) Counts 1 to 1024 arrivals.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    %b = tile.barriers arrivals(12) : !tile.barriers<2>
    ```
  }];
  let arguments = (ins I64Attr:$arrivals);
  let results = (outs Tile_BarriersType:$result);
  let assemblyFormat = "`arrivals` `(` $arrivals `)` attr-dict `:` type($result)";
}

def Tile_BarrierWaitOp : Tile_SharedOp<"barrier_wait"> {
  let summary = "waits for the phase of a parity";
  let description = [{
    Returns once the barrier's phase of the given parity is complete: at once,
    if the phase that is running has the other parity. So waiting for parity 1
    on a fresh barrier does not wait. With `head` the first warp of the role waits alone, for what it
    alone does next: others, which nothing keeps within a phase of the barrier, would take a
    phase that is two ahead for one that is not complete.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.barrier_wait %b[%slot], %parity : !tile.barriers<2>
    tile.barrier_wait %b[%slot], %parity head : !tile.barriers<2>
    ```
  }];
  let arguments = (ins Tile_BarriersType:$barriers, Index:$slot, I1:$parity, UnitAttr:$head);
  let assemblyFormat =
    "$barriers `[` $slot `]` `,` $parity (`head` $head^)? attr-dict `:` type($barriers)";
}

def Tile_BarrierArriveOp : Tile_SharedOp<"barrier_arrive"> {
  let summary = "one arrival of each warp";
  let description = [{
    One lane of each warp arrives, after what the warp did before. A warp arrives once in a
    phase, or once for each `reader` of a ring that its role is.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.barrier_arrive %b[%slot] : !tile.barriers<2>
    tile.barrier_arrive %b[%slot] reader(1) : !tile.barriers<2>
    ```
  }];
  let arguments = (ins Tile_BarriersType:$barriers, Index:$slot,
    DefaultValuedAttr<I64Attr, "0">:$reader);
  let assemblyFormat = [{
    $barriers `[` $slot `]` (`reader` `(` $reader^ `)`)? attr-dict `:` type($barriers)
  }];
}

def Tile_BarrierExpectOp : Tile_SharedOp<"barrier_expect"> {
  let summary = "one arrival, and bytes to wait for";
  let description = [{
    One thread of the role arrives and says how many bytes the TMA will
    write in this phase; the copies follow.

    Constraints:
    - (C1) Bytes are a multiple of 16 from 0 to 2^20 - 16; 0 where the thread itself
      has written what there is to wait for.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.barrier_expect %b[%slot] bytes(10240) : !tile.barriers<2>
    ```
  }];
  let arguments = (ins Tile_BarriersType:$barriers, Index:$slot, I64Attr:$bytes);
  let assemblyFormat = [{
    $barriers `[` $slot `]` `bytes` `(` $bytes `)` attr-dict `:` type($barriers)
  }];
  let hasVerifier = 1;
}

class Tile_NamedBarrierOp<string mnemonic> : Tile_SharedOp<mnemonic> {
  let arguments = (ins I64Attr:$id, Optional<Index>:$offset, I64Attr:$threads);
  let assemblyFormat = [{
    `id` `(` $id (`+` $offset^)? `)` `threads` `(` $threads `)` attr-dict
  }];
  let hasVerifier = 1;
}

def Tile_NamedWaitOp : Tile_NamedBarrierOp<"named_wait"> {
  let summary = "arrives at a numbered barrier and waits for the others";
  let description = [{
    Its number is `id`, plus the offset if there is one, which is the same for all
    lanes of a warp.

    Constraints:
    - (C1) Numbers are 1 to 15; threads a multiple of 32 from 32 to 1024. With an
      offset, whoever computes it keeps to the numbers.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.named_wait id(1) threads(256)
    tile.named_wait id(1 + %w) threads(256)
    ```
  }];
}

def Tile_NamedArriveOp : Tile_NamedBarrierOp<"named_arrive"> {
  let summary = "arrives at a numbered barrier and goes on";
  let description = [{
    Its number is `id`, plus the offset if there is one, which is the same for all
    lanes of a warp.

    Constraints:
    - (C1) Numbers are 1 to 15; threads a multiple of 32 from 32 to 1024. With an
      offset, whoever computes it keeps to the numbers.

    Created by `tile-lower-rings`; removed by `convert-tile-to-nvvm`.

    Example:

    ```mlir
    tile.named_arrive id(1) threads(256)
    tile.named_arrive id(1 + %w) threads(256)
    ```
  }];
}

#endif // FA_DIALECT_TILE_IR_TILEROLES_TD
