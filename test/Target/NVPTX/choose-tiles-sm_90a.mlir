// Tiles of asynchronous products, and when there are none.
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a" --remarks --split-input-file 2>/dev/null | FileCheck %s
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a" --remarks --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=REMARK
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a aligned=false" --split-input-file | FileCheck %s --check-prefix=UNALIGNED
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a rows=192 warps=12" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=ROWS
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a rows=256 warps=16" --split-input-file 2>&1 >/dev/null | FileCheck %s --check-prefix=MORE
// RUN: fa-opt %s --gpu-choose-tiles="target=sm_90a short-sequences" --split-input-file | FileCheck %s --check-prefix=SHORT
// ROWS: remark: tiles of 32 keys instead of 80: for more, blocks of 192 rows lack registers
// MORE: remark: tiles of 80 keys, though blocks of 256 rows lack registers or shared memory even for 16

// Bands of fewer than 1024 keys have 64 a tile.
!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @f({{.*}}fa.tiles = {band_below = 1024 : i64, band_keys = 64 : i64, keys = 128 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
// Sequences that are short beside those have smaller ones, where there are such.
// SHORT: func.func @f({{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// Operands that are not aligned take the schedule of sm_80, and its tiles.
// UNALIGNED: func.func @f({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
func.func @f(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 192 rows and 128 keys for 12 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

// Sequences in a row, of more than 96 columns, have one line at every length.
!q = tensor<?x?x128xbf16>
!w = tensor<?x?x256xbf16>
!n = tensor<?x?x96xbf16>
!s = tensor<?xi32>
// CHECK: func.func @in_a_row({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
// SHORT: func.func @in_a_row({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
func.func @in_a_row(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %s: !s {fa.name = "s"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 192 rows and 64 keys for 12 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%s) key_starts(%s)) : (!q, !q, !q, !s, !s) -> !q
  return %o : !q
}
// CHECK: func.func @in_a_row_wide({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// SHORT: func.func @in_a_row_wide({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @in_a_row_wide(%q: !w {fa.name = "q"}, %k: !w {fa.name = "k"}, %v: !w {fa.name = "v"}, %s: !s {fa.name = "s"}) -> (!w {fa.name = "o"}) {
// REMARK: Decision="tiles of 128 rows and 64 keys for 8 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%s) key_starts(%s)) : (!w, !w, !w, !s, !s) -> !w
  return %o : !w
}
// CHECK: func.func @in_a_row_narrow({{.*}}fa.tiles = {{{.*}}keys = 96 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
// SHORT: func.func @in_a_row_narrow({{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @in_a_row_narrow(%q: !n {fa.name = "q"}, %k: !n {fa.name = "k"}, %v: !n {fa.name = "v"}, %s: !s {fa.name = "s"}) -> (!n {fa.name = "o"}) {
// REMARK: Decision="tiles of 192 rows and 96 keys for 12 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal] sequences(query_starts(%s) key_starts(%s)) : (!n, !n, !n, !s, !s) -> !n
  return %o : !n
}

// -----

// Parts of panels are no obstacle.
!q = tensor<?x?x?x80xf16>
// CHECK: func.func @f({{.*}}fa.tiles = {keys = 112 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
func.func @f(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 192 rows and 112 keys for 12 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x59xf16>
// CHECK: func.func @f({{.*}}fa.tiles = {keys = 112 : i64, pad = 16 : i64, rows = 128 : i64, warps = 4 : i64}
func.func @f(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: remark: tiles for sm_80, and no asynchronous products: rows of 59 and 59 elements are no multiples of 16 bytes; pad them
// REMARK: Decision="tiles of 128 rows and 112 keys for 4 warps", Reason="tiles of operands in registers for head dimension {{.*}}"
  %o = fa.attention query(%q) key(%k) value(%v) : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x192xf16>
// SHORT: func.func @wide({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
// CHECK: func.func @wide({{.*}}fa.tiles = {keys = 80 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @wide(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 128 rows and 80 keys for 8 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

// Above 128 columns, and not aligned: warps share the columns of a row.
!q = tensor<?x?x?x256xf16>
// UNALIGNED: func.func @unaligned({{.*}}fa.tiles = {keys = 32 : i64, pad = 16 : i64, rows = 64 : i64, warps = 8 : i64}
func.func @unaligned(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

// What ops of a mask or a score take: a division of a pair of positions.
!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @strided({{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @strided(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles for heavy registers", Reason="'arith.remsi' of the mask takes them"
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %distance = arith.subi %i, %j : index
    %rest = arith.remsi %distance, %c7 : index
    %sees = arith.cmpi eq, %rest, %c0 : index
    fa.yield %sees : i1
  } : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

// One of columns alone, beside one of rows alone.
!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @blocks({{.*}}fa.tiles = {band_below = 1024 : i64, band_keys = 64 : i64, keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @blocks(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles for medium registers", Reason="'arith.divui' of the mask takes them"
  %o = fa.attention query(%q) key(%k) value(%v) mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c100 = arith.constant 100 : index
    %row = arith.divui %i, %c100 : index
    %column = arith.divui %j, %c100 : index
    %sees = arith.cmpi eq, %row, %column : index
    fa.yield %sees : i1
  } : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

// Blocks that a captured tensor tells of: a tile lies in one, and what is read there is a number for
// all of it. Keys are the most that divide the block's.
!q = tensor<?x?x?x128xbf16>
!m = tensor<?x?xi1>
// CHECK: func.func @layout({{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @layout(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/128", "Sk/128"]}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 128 rows and 128 keys for 8 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<128, 128>(%m)] : (!q, !q, !q, !m) -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x128xbf16>
!m = tensor<?x?xi1>
// CHECK: func.func @layout96({{.*}}fa.tiles = {keys = 96 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @layout96(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/128", "Sk/96"]}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 128 rows and 96 keys for 8 warps, and 4 that load"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal, blocks<128, 96>(%m)] : (!q, !q, !q, !m) -> !q
  return %o : !q
}

// -----

// Of 64 rows, which two warpgroups would straddle: each is a block of its own. So for short sequences.
!q = tensor<?x?x?x128xbf16>
!m = tensor<?x?xi1>
// CHECK: func.func @layout64({{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
// SHORT: func.func @layout64({{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @layout64(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/64", "Sk/192"]}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 64 rows and 64 keys for 4 warps, and 4 that load; 2 blocks an SM"
  %o = fa.attention query(%q) key(%k) value(%v) with [causal, blocks<64, 192>(%m)] : (!q, !q, !q, !m) -> !q
  return %o : !q
}

// -----

// Heads of 64 leave registers for three, where the mask takes few; of those of more than 128 an SM has shared memory
// for one.
!q = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x256xbf16>
!m = tensor<?x?xi1>
// CHECK: func.func @layout_narrow({{.*}}fa.tiles = {blocks = 3 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @layout_narrow(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/64", "Sk/64"]}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles of 64 rows and 64 keys for 4 warps, and 4 that load; 3 blocks an SM"
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<64, 64>(%m)] : (!q, !q, !q, !m) -> !q
  return %o : !q
}
// CHECK: func.func @layout_wide({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @layout_wide(%q: !w {fa.name = "q"}, %k: !w {fa.name = "k"}, %v: !w {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/64", "Sk/64"]}) -> (!w {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<64, 64>(%m)] : (!w, !w, !w, !m) -> !w
  return %o : !w
}

// -----

// Narrow ones, of which a tile has several: an element for each key.
!q = tensor<?x?x?x128xbf16>
!m = tensor<?x?xi1>
// CHECK: func.func @layout48({{.*}}fa.tiles = {blocks = 2 : i64, keys = 64 : i64, pad = 16 : i64, rows = 64 : i64, warps = 4 : i64}
func.func @layout48(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}, %m: !m {fa.name = "m", fa.dims = ["Sq/48", "Sk/48"]}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles for medium registers", Reason="'arith.divui' of the mask takes them"
  %o = fa.attention query(%q) key(%k) value(%v) with [blocks<48, 48>(%m)] : (!q, !q, !q, !m) -> !q
  return %o : !q
}

// -----

// A function of many steps; those of rows alone, and an approximate cap, are none.
!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @power({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 128 : i64, warps = 8 : i64}
func.func @power(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles for heavy registers", Reason="'math.powf' of the score takes them"
  %o = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %three = arith.constant 3.0 : f32
    %y = math.powf %s, %three : f32
    fa.yield %y : f32
  } : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @rows({{.*}}fa.tiles = {keys = 128 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
func.func @rows(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK-NOT: for {{.*}} registers
  %o = fa.attention query(%q) key(%k) value(%v) score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %integer = arith.index_cast %i : index to i32
    %row = arith.sitofp %integer : i32 to f32
    %log = math.log1p %row : f32
    %y = arith.mulf %s, %log : f32
    %z = math.tanh %y fastmath<afn> : f32
    fa.yield %z : f32
  } : (!q, !q, !q) -> !q
  return %o : !q
}

// -----

!q = tensor<?x?x?x64xbf16>
// CHECK: func.func @cap({{.*}}fa.tiles = {keys = 64 : i64, pad = 16 : i64, rows = 192 : i64, warps = 12 : i64}
func.func @cap(%q: !q {fa.name = "q"}, %k: !q {fa.name = "k"}, %v: !q {fa.name = "v"}) -> (!q {fa.name = "o"}) {
// REMARK: Decision="tiles for long code", Reason="'math.tanh' of the score takes it"
  %o = fa.attention query(%q) key(%k) value(%v) with [softcap<30.0>] : (!q, !q, !q) -> !q
  return %o : !q
}
