// What a report counts by head, by precision, and which variant it takes where rows are not aligned.

// A third of the keys for head 0, two for head 1: half of all pairs, of 2 * 64 * 64 * 2 heads of 2 batches.
// RUN: %python -c "import sys; parts = open(sys.argv[1]).read().split('// --' + '---'); [open(sys.argv[2] + n, 'w').write(p) for n, p in zip(('.heads', '.f32', '.rows', '.tanh'), parts)]" %s %t

// RUN: fa-opt %t.heads --emit=report --report-json --shape=2,2,2,96,96 --target=sm_80 > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json "c['visible_flops'] == 2 * 96 * (32 + 64) * 4 * 64"
func.func @heads(%q: tensor<?x2x?x64xbf16> {fa.name = "q"}, %k: tensor<?x2x?x64xbf16> {fa.name = "k"},
                 %v: tensor<?x2x?x64xbf16> {fa.name = "v"}) -> tensor<?x2x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %c1 = arith.constant 1 : index
    %c32 = arith.constant 32 : index
    %next = arith.addi %h, %c1 : index
    %end = arith.muli %next, %c32 : index
    %seen = arith.cmpi ult, %j, %end : index
    fa.yield %seen : i1
  } : (tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>, tensor<?x2x?x64xbf16>) -> tensor<?x2x?x64xbf16>
  return %o : tensor<?x2x?x64xbf16>
}

// -----

// Three products of tf32 take three times the time of one, and count as one.
// RUN: fa-opt %t.f32 --target=sm_80 --compile-to=tile > %t.x3
// RUN: sed s/tf32x3/tf32/ %t.x3 > %t.x1
// RUN: fa-opt %t.x3 --target=sm_80 --compile-from=tile --emit=report --report-json --shape=1,2,2,1024,1024 > %t.x3.json
// RUN: fa-opt %t.x1 --target=sm_80 --compile-from=tile --emit=report --report-json --shape=1,2,2,1024,1024 > %t.x1.json
// RUN: %python %S/Inputs/check_report.py %t.x1.json "k['tiles'][0]['precision'] == 'tf32'"
// RUN: %python %S/Inputs/check_report.py %t.x3.json "k['tiles'][0]['precision'] == 'tf32x3'" "c['visited_flops'] == 4 * 64 * 1024 * 1024 * 2" \
// RUN:   "(x := json.load(open('%t.x1.json'))['entries'][0]['cost'])['visited_flops'] == c['visited_flops']" \
// RUN:   "abs(c['seconds']['tensor_cores'] / x['seconds']['tensor_cores'] - 3) < 1e-9" "abs(x['peak_flops'] / c['peak_flops'] - 3) < 1e-9"
func.func @f32(%q: tensor<?x?x?x64xf32> {fa.name = "q"}, %k: tensor<?x?x?x64xf32> {fa.name = "k"},
               %v: tensor<?x?x?x64xf32> {fa.name = "v"}) -> tensor<?x?x?x64xf32> {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>) -> tensor<?x?x?x64xf32>
  return %o : tensor<?x?x?x64xf32>
}

// -----

// Rows of 120 bytes do not all start at multiples of 16: no launch on tensors without gaps takes the main variant.
// RUN: fa-opt %t.rows --emit=report --report-json --shape=1,2,2,100,100 --target=sm_90a > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json "e['variant'] == {'name': 'unaligned', 'when': 'tensors that are not aligned to 16 bytes, as rows of these sizes are not'}"
func.func @rows(%q: tensor<?x?x?x60xf16> {fa.name = "q"}, %k: tensor<?x?x?x60xf16> {fa.name = "k"},
                %v: tensor<?x?x?x60xf16> {fa.name = "v"}) -> tensor<?x?x?x60xf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
    : (tensor<?x?x?x60xf16>, tensor<?x?x?x60xf16>, tensor<?x?x?x60xf16>) -> tensor<?x?x?x60xf16>
  return %o : tensor<?x?x?x60xf16>
}

// -----

// An approximate tanh is one instruction for each score, an exact one takes 1.25 and some arithmetic. Tiles
// of as many keys, since each tile has special functions of its own.
// RUN: sed 's/ fastmath<afn>//' %t.tanh > %t.exact
// RUN: sed '/math.tanh/d; s/yield .capped/yield %%x/' %t.tanh > %t.plain
// RUN: fa-opt %t.plain --emit=report --report-json --shape=1,2,2,1024,1024 --target=sm_80 --tile-keys=64 > %t.plain.json
// RUN: fa-opt %t.tanh --emit=report --report-json --shape=1,2,2,1024,1024 --target=sm_80 --tile-keys=64 > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json \
// RUN:   "c['special'] - json.load(open('%t.plain.json'))['entries'][0]['cost']['special'] == 2 * 1024 * 1024"
// RUN: fa-opt %t.exact --emit=report --report-json --shape=1,2,2,1024,1024 --target=sm_80 --tile-keys=64 > %t.json
// RUN: %python %S/Inputs/check_report.py %t.json \
// RUN:   "c['special'] - json.load(open('%t.plain.json'))['entries'][0]['cost']['special'] == 1.25 * 2 * 1024 * 1024"
func.func @tanh(%q: tensor<?x?x?x64xbf16> {fa.name = "q"}, %k: tensor<?x?x?x64xbf16> {fa.name = "k"},
                %v: tensor<?x?x?x64xbf16> {fa.name = "v"}) -> tensor<?x?x?x64xbf16> {
  %o = fa.attention query(%q) key(%k) value(%v)
  score {
  ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %capped = math.tanh %x fastmath<afn> : f32
    fa.yield %capped : f32
  } : (tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>, tensor<?x?x?x64xbf16>) -> tensor<?x?x?x64xbf16>
  return %o : tensor<?x?x?x64xbf16>
}
