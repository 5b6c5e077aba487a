// Roles in the generic form that lack what their verifier asks for: tile.roles read it before.
// RUN: fa-opt %s --verify-diagnostics

"tile.func"() <{function_type = () -> (), grid = affine_map<() -> ()>, sizes = array<i64>, sym_name = "f"}> ({
  "tile.roles"() ({
    // expected-error @+1 {{requires attribute 'name'}}
    "tile.role"() ({
    }) : () -> ()
  }) : () -> ()
  "tile.return"() : () -> ()
}) {tile.warps = 4 : i64} : () -> ()
