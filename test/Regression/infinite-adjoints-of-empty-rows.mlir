// Row 3 attends to no key: an LSE's gradient of infinity or NaN there reaches nothing, but the sink of a head that has one.
// RUN: %python %S/Inputs/tensors.py %t.in q=1,3,40,16 k=1,3,50,16 v=1,3,50,16 z=3:-inf,-inf,0.5 do=1,3,40,16 dlse=1,3,40@3:-inf@43:nan@83:inf
// RUN: fa-run %s --in=%t.in --backward --dlse --check | FileCheck %s
// RUN: fa-run %s --in=%t.in --backward --dlse --check --device=interp --target=sm_80 | FileCheck %s
// RUN: fa-run %s --in=%t.in --backward --dlse --check --device=interp --target=sm_90a | FileCheck %s
// CHECK: deviation: dv {{[^ ]*}}, allowed {{[^ ]*}}: passed{{$}}
// CHECK: deviation: dz {{.*}}: passed{{$}}
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %z: tensor<?xf32> {fa.name = "z", fa.dims = ["Hq"]})
  -> (tensor<?x?x?x16xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) sink(%z)
  score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %inf = arith.constant 0xFF800000 : f32
    %c = arith.constant 3 : index
    %is = arith.cmpi eq, %i, %c : index
    %r = arith.select %is, %inf, %s : f32
    fa.yield %r : f32
  } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?xf32>) -> (tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
