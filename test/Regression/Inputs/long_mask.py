"""Print attention with a mask of so many terms, each allowing a diagonal."""

import sys

T = "tensor<?x?x?x64xf32>"
print(f"func.func @f(%q: {T} {{fa.name = \"q\"}}, %k: {T} {{fa.name = \"k\"}}, %v: {T} {{fa.name = \"v\"}})")
print(f"    -> ({T} {{fa.name = \"o\"}}) {{")
print("  %o = fa.attention query(%q) key(%k) value(%v) mask {")
print("  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):")
print("    %m0 = arith.cmpi eq, %i, %j : index")
for n in range(1, int(sys.argv[1])):
    print(f"    %k{n} = arith.constant {7 * n} : index")
    print(f"    %d{n} = arith.subi %i, %k{n} : index")
    print(f"    %e{n} = arith.cmpi eq, %j, %d{n} : index")
    print(f"    %m{n} = arith.ori %m{n - 1}, %e{n} : i1")
print(f"    fa.yield %m{int(sys.argv[1]) - 1} : i1")
print(f"  }} : ({T}, {T}, {T}) -> {T}")
print(f"  return %o : {T}")
print("}")
