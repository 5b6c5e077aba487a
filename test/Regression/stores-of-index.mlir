// A store of numbers of type index, whose bits a pass asked for.
// RUN: not fa-opt %s --target=sm_90a --compile-from=tile --emit=ptx -o /dev/null 2>&1 | FileCheck %s
// RUN: not fa-opt %s --target=sm_80 --compile-from=tile --emit=ptx -o /dev/null 2>&1 | FileCheck %s
// RUN: fa-opt %s --tile-assume-alignment=tiles=true | FileCheck %s --check-prefix=SAME
// CHECK: error: {{.*}}index
// SAME: tile.store
tile.func @f(%y: !tile.view<?xindex>, %t: index) grid affine_map<() -> (1)> sizes [] {
  %c0 = arith.constant 0 : index
  %twos = arith.constant dense<2> : tensor<1xindex>
  tile.store %twos, %y[%c0] dims [0] : tensor<1xindex>, !tile.view<?xindex>
  tile.return
}
