// Numbers of bf16 that are the same for a tile, or read from one of one column, went through f32 and back on CPUs, by a function
// of a library that nobody defines where the machine does not convert them.
// RUN: fa-run %s --target=cpu-avx2 --shape=1,2,1,40,70 --check | FileCheck %s
// RUN: fa-run %s --shape=1,2,1,40,70 --check | FileCheck %s
// CHECK: {{^}}deviation: o {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"},
             %v: tensor<?x?x?x16xf32> {fa.name = "v"}, %c: tensor<?x?xbf16> {fa.name = "c", fa.dims = ["B", "Hq"]},
             %d: tensor<?x?xbf16> {fa.name = "d", fa.dims = ["B", "Sq"]}, %a: tensor<?xi16> {fa.name = "a", fa.dims = ["Sk"]})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v) captures(%c, %d, %a)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index, %cc: tensor<?x?xbf16>, %dd: tensor<?x?xbf16>,
         %aa: tensor<?xi16>):
      %x = tensor.extract %cc[%b, %h] : tensor<?x?xbf16>
      %n = arith.negf %x : bf16
      %zero = arith.constant 0.0 : bf16
      %up = arith.cmpf ogt, %x, %zero : bf16
      %e = scf.if %up -> bf16 {
        %f = math.exp %x : bf16
        scf.yield %f : bf16
      } else {
        %f = arith.maximumf %n, %x : bf16
        scf.yield %f : bf16
      }
      %y = tensor.extract %dd[%b, %i] : tensor<?x?xbf16>
      %seen = arith.cmpf ole, %y, %e : bf16
      %bits = tensor.extract %aa[%j] : tensor<?xi16>
      %z = arith.bitcast %bits : i16 to bf16
      %whole = arith.fptosi %z : bf16 to i32
      %one = arith.constant 1 : i32
      %less = arith.cmpi slt, %whole, %one : i32
      %w = arith.andi %seen, %less : i1
      fa.yield %w : i1
    } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?xbf16>, tensor<?x?xbf16>, tensor<?xi16>)
    -> (tensor<?x?x?x16xf32>)
  return %o : tensor<?x?x?x16xf32>
}
