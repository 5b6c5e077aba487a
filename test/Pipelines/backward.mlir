// Phase grad: an entry of gradients beside that of the attention, or beside each of several.

// RUN: fa-opt %s --target=cpu --backward --compile-to=grad | FileCheck %s --check-prefix=GRAD
// GRAD: func.func @f(
// GRAD: fa.attention
// GRAD: func.func @f_backward({{.*}}fa.name = "slopes"}, {{.*}}fa.name = "o"}, {{.*}}fa.name = "lse"}, {{.*}}fa.name = "do"})
// GRAD-SAME: -> ({{.*}}fa.name = "dq"}, {{.*}}fa.name = "dk"}, {{.*}}fa.name = "dv"}, {{.*}}fa.name = "dslopes"})
// GRAD: fa.map_blocks
// GRAD: fa.pairwise

// RUN: fa-opt %s --target=cpu --backward --gradients=v,slopes --dlse --compile-to=grad | FileCheck %s --check-prefix=SOME
// SOME: func.func @f_backward({{.*}}fa.name = "do"}, {{.*}}fa.name = "dlse"})
// SOME-SAME: -> ({{[^ ]*}} {fa.dims = ["B", "Hk", "Sk", "Dv"], fa.name = "dv"}, {{[^ ]*}} {fa.dims = ["Hq"], fa.name = "dslopes"})

// What stands after phase grad is compiled from there to what --backward makes, but for names of values.
// RUN: fa-opt %s --target=cpu --backward --compile-to=grad -o %t.grad.mlir
// RUN: fa-opt %t.grad.mlir --target=cpu --mlir-use-nameloc-as-prefix=false --compile-from=grad --compile-to=tile -o %t.from
// RUN: fa-opt %s --target=cpu --mlir-use-nameloc-as-prefix=false --backward --compile-to=tile -o %t.whole
// RUN: diff %t.from %t.whole
// RUN: fa-opt %s --target=sm_80 --backward --compile-to=grad -o %t.grad.mlir
// RUN: fa-opt %t.grad.mlir --target=sm_80 --mlir-use-nameloc-as-prefix=false --compile-from=grad --emit=ptx -o %t.from
// RUN: fa-opt %s --target=sm_80 --mlir-use-nameloc-as-prefix=false --backward --emit=ptx -o %t.whole
// RUN: diff %t.from %t.whole
// RUN: FileCheck %s --check-prefix=PTX --input-file=%t.whole
// PTX-DAG: .entry f(
// PTX-DAG: .entry f_backward_prepare(

// The phases, by name.
// RUN: fa-opt --target=sm_80 --backward --dump-pass-pipeline < /dev/null | FileCheck %s --check-prefix=PHASES
// PHASES: {{^}}input:
// PHASES: {{^}}grad: entries of gradients stand beside those of fa.attention, or alone{{$}}
// PHASES-NEXT: fa-generate-backward
// PHASES-NEXT: fa-verify-phase{phase=grad}
// PHASES-NEXT: {{^}}algorithm:

// RUN: rm -rf %t.dump && fa-opt %s --target=cpu --backward --compile-to=tile --dump-phases-to=%t.dump -o /dev/null
// RUN: ls %t.dump | FileCheck %s --check-prefix=DUMP
// DUMP: 0-input.mlir
// DUMP-NEXT: 1-grad.mlir
// DUMP-NEXT: 2-algorithm.mlir
// DUMP-NEXT: 3-tile.mlir

// One artifact with both entries; a report of both.
// RUN: fa-opt %s --target=sm_80 --backward --emit=artifact -o %t.fa
// RUN: %python -c "import sys; d = open(sys.argv[1], 'rb').read(); assert b'\"f\"' in d and b'\"f_backward\"' in d" %t.fa
// RUN: env FA_PTXAS=/nonexistent fa-opt %s --target=sm_80 --backward --emit=report --shape=1,2,2,256,256 | FileCheck %s --check-prefix=REPORT
// REPORT: entry @f for sm_80
// 256 * 256 pairs of 2 heads, half of them visible and the diagonal: 2 products of 64, and 5.
// REPORT: , 1.684e+07 in visible pairs
// REPORT: entry @f_backward for sm_80
// REPORT: kernel @f_backward_prepare
// REPORT: , 4.211e+07 in visible pairs
// REPORT: input do: 65536 bytes, O(N)
// REPORT: output dq: 65536 bytes, O(N)
// REPORT: output dslopes: 8 bytes, O(1)
// REPORT: memory: {{.*}}, O(N)

// What cannot be.
// RUN: not fa-opt %s --target=cpu --compile-to=grad 2>&1 | FileCheck %s --check-prefix=TO
// TO: {{^}}fa-opt: error: phase grad is that of gradients, which are not asked for; add --backward{{$}}
// RUN: not fa-opt %s --target=cpu --compile-from=grad 2>&1 | FileCheck %s --check-prefix=INPUT
// INPUT: {{^}}fa-opt: error: the module holds no entry of gradients (a func.func with fa.pairwise or fa.sum); use --compile-from=input{{$}}
// RUN: not fa-opt %t.grad.mlir --target=cpu --backward --compile-from=grad 2>&1 | FileCheck %s --check-prefix=FROM -DPHASE=grad
// RUN: not fa-opt %t.grad.mlir --target=cpu --backward --compile-from=tile 2>&1 | FileCheck %s --check-prefix=FROM -DPHASE=tile
// FROM: {{^}}fa-opt: --backward adds entries to a module at phase input, and this one is said to be at phase [[PHASE]]; leave out --backward, or --compile-from{{$}}
// RUN: not fa-opt %t.grad.mlir --target=cpu 2>&1 | FileCheck %s --check-prefix=STANDS
// RUN: not fa-opt %t.dump/3-tile.mlir --target=cpu --backward 2>&1 | FileCheck %s --check-prefix=TILE
// STANDS: error: an entry holds one fa.attention; 'fa.map_blocks' cannot stand beside it
// TILE: error: 'tile.func' cannot stand in a module of attention; only func.func can
// RUN: not fa-opt %t.grad.mlir --target=cpu --compile-from=algorithm 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: error: 'fa.attention' stands after phase input, expected a module after phase algorithm
// RUN: not fa-opt %s --target=cpu --gradients=q 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: {{^}}fa-opt: --gradients is for gradients; add --backward, or leave it out{{$}}
// RUN: not fa-opt %s --target=cpu --backward --gradients=q,,k 2>&1 | FileCheck %s --check-prefix=COMMAS
// COMMAS: error: the gradients 'q,,k' have an empty name: expected names of inputs with one comma between, such as 'q,k'
// RUN: not fa-opt %s --target=cpu --backward --gradients=,, 2>&1 | FileCheck %s --check-prefix=ONLY
// ONLY: error: the gradients ',,' have an empty name
// RUN: not fa-opt %s --target=cpu --backward --gradients= 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}fa-opt: --gradients is empty; give it names of inputs, or leave it out for all{{$}}

func.func @f(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
             %v: tensor<?x?x?x64xbf16> {fa.name = "v"}, %slopes: tensor<?xf32> {fa.name = "slopes", fa.dims = ["Hq"]})
    -> (tensor<?x?x?x64xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) with [causal, alibi(%slopes)]
    : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?xf32>)
    -> (tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xbf16>, tensor<?x?x?xf32>
}
