"""long_mask.py N: attention whose mask is a chain of N ops."""

import sys

chain, last = [], "%j"
for n in range(int(sys.argv[1])):
    op = ("addi", "xori", "subi")[n % 3]
    chain.append(f"    %x{n} = arith.{op} {last}, {'%i' if n % 2 else '%j'} : index")
    last = f"%x{n}"
tensor = "tensor<?x?x?x64xbf16>"
print(f"""func.func @long(%q: {tensor} {{fa.name = "q"}}, %k: {tensor} {{fa.name = "k"}},
                %v: {tensor} {{fa.name = "v"}}) -> ({tensor} {{fa.name = "o"}}) {{
  %o = fa.attention query(%q) key(%k) value(%v) mask {{
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
{chr(10).join(chain)}
    %seen = arith.cmpi sge, {last}, %i : index
    fa.yield %seen : i1
  }} : ({tensor}, {tensor}, {tensor}) -> {tensor}
  return %o : {tensor}
}}""")
