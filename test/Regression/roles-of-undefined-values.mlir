// A value that is used outside of the branch that defines it has no region yet when the role's operands are looked at.
// RUN: not fa-opt %s 2>&1 | FileCheck %s
// CHECK: error: operation's operand is unlinked
tile.func @f() grid affine_map<() -> ()> sizes [] attributes {tile.warps = 4 : i64} {
  %n = arith.constant 0 : index
  tile.roles {
    tile.role "a" warps(4) registers(0) {
      scf.if %c {
        %c = arith.cmpi eq, %n, %n : index
      }
    }
  }
  tile.return
}
