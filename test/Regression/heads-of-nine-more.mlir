// LLVM carried vectors of nine bf16 from block to block in no type of the machine, with AVX512-BF16 on the CPU.
// RUN: fa-run %s --shape=1,2,1,20,33 --backward --check
// RUN: sed 's/x25xbf16/x9xbf16/g' %s | fa-run - --shape=1,2,1,20,33 --backward --check
func.func @f(%q: tensor<?x?x?x25xbf16> {fa.name = "q"}, %k: tensor<?x?x?x25xbf16> {fa.name = "k"}, %v: tensor<?x?x?x25xbf16> {fa.name = "v"}) -> (tensor<?x?x?x25xbf16> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v) : (tensor<?x?x?x25xbf16>, tensor<?x?x?x25xbf16>, tensor<?x?x?x25xbf16>) -> (tensor<?x?x?x25xbf16>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x25xbf16>, tensor<?x?x?xf32>
}
