// -infinity of f16 as an integer of more bits than f16 has, and leading zeros of widths that are no powers of two: other numbers
// on CPUs.
// RUN: fa-run %s --shape=1,1,1,70,90 --check | FileCheck %s
// RUN: sed 's/i24/i48/g; s/i5/i12/g' %s > %t.mlir
// RUN: fa-run %t.mlir --shape=1,1,1,70,90 --check | FileCheck %s
// RUN: fa-run %s --shape=1,1,1,70,90 --device=interp --target=sm_90a --check | FileCheck %s
// CHECK: {{^}}deviation: o {{.*}}: passed
func.func @f(%q: tensor<?x?x?x16xf32> {fa.name = "q"}, %k: tensor<?x?x?x16xf32> {fa.name = "k"}, %v: tensor<?x?x?x16xf32> {fa.name = "v"})
    -> (tensor<?x?x?x16xf32> {fa.name = "o"}) {
  %o = fa.attention query(%q) key(%k) value(%v)
    mask {
    ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
      %n = arith.index_cast %j : index to i32
      %x = arith.sitofp %n : i32 to f16
      %one = arith.constant -1.0 : f16
      %y = arith.divf %one, %x : f16
      %t = arith.fptosi %y : f16 to i24
      %c = arith.constant -5 : i24
      %first = arith.cmpi slt, %t, %c : i24
      %m = arith.index_cast %j : index to i5
      %z = math.ctlz %m : i5
      %three = arith.constant 3 : i5
      %two = arith.cmpi uge, %z, %three : i5
      %either = arith.ori %first, %two : i1
      fa.yield %either : i1
    } : (tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>) -> tensor<?x?x?x16xf32>
  return %o : tensor<?x?x?x16xf32>
}
