"""Programs whose numbers are each used twice by the next, and loops of many products that need not wait for each other.

    chains.py bound|body|products N
"""
import sys

kind, number = sys.argv[1], int(sys.argv[2])
VIEW = "!tile.view<?x256xf16>"
chain = "".join("  %%y%d = arith.muli %%x%d, %%c64 : index\n  %%x%d = arith.minsi %%x%d, %%y%d : index\n" % (i, i, i + 1, i, i)
                for i in range(number))

if kind == "products":
    rows = range(number)
    print("""tile.func @f(%a: !tile.view<?x64xf16> {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
    %b: !tile.view<?x64xf16> {tile.name = "b", tile.dims = ["N", "K"], tile.align = 16 : i64},
    %c: !tile.view<?xf32> {tile.name = "c", tile.dims = ["M"], tile.output}, %x: index)
    grid affine_map<()[s0] -> (s0 ceildiv 128)> sizes [0, 0] attributes {tile.entry = "f", tile.warps = 8 : i64} {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %zero = arith.constant 0.0 : f32
  %i = arith.muli %x, %c128 : index
  %n = tile.dim %b, 0 : !tile.view<?x64xf16>
  %none = tile.broadcast %zero : f32 -> tensor<128x8xf32>
  %sum = tile.broadcast %zero : f32 -> tensor<128xf32>
  %at = tile.load %a[%i, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<128x64xf16>""")
    for k in rows:
        print("  %%k%d = arith.constant %d : index" % (k, 8 * k))
    print("  %%step = arith.constant %d : index" % (8 * number))
    types = ", ".join(["tensor<128xf32>"] * number)
    print("  %%r:%d = scf.for %%t = %%c0 to %%n step %%step iter_args(%s) -> (%s) {"
          % (number, ", ".join("%%s%d = %%sum" % k for k in rows), types))
    for k in rows:
        print("""    %t{0} = arith.addi %t, %k{0} : index
    %b{0} = tile.load %b[%t{0}, %c0] dims [0, 1] : !tile.view<?x64xf16> -> tensor<8x64xf16>
    %p{0} = tile.dot %at, %b{0}, %none transpose_b : tensor<128x64xf16>, tensor<8x64xf16>, tensor<128x8xf32>
    %e{0} = math.exp2 %p{0} : tensor<128x8xf32>
    %n{0} = tile.reduce addf %e{0} init %s{0} dim 1 : tensor<128x8xf32> -> tensor<128xf32>""".format(k))
    print("    scf.yield %s : %s\n  }" % (", ".join("%%n%d" % k for k in rows), types))
    total = "%r#0"
    for k in rows[1:]:
        print("  %%q%d = arith.addf %s, %%r#%d : tensor<128xf32>" % (k, total, k))
        total = "%%q%d" % k
    print("  tile.store %s, %%c[%%i] dims [0] : tensor<128xf32>, !tile.view<?xf32>" % total)
else:
    print("""tile.func @f(%%a: %(v)s {tile.name = "a", tile.dims = ["M", "K"], tile.align = 16 : i64},
    %%b: %(v)s {tile.name = "b", tile.dims = ["K", "N"], tile.align = 16 : i64},
    %%c: %(v)s {tile.name = "c", tile.dims = ["M", "N"], tile.output, tile.align = 16 : i64}, %%x: index, %%y: index)
    grid affine_map<()[s0] -> (1, s0 ceildiv 128)> sizes [2, 0] attributes {tile.entry = "f", tile.warps = 8 : i64} {
  %%c0 = arith.constant 0 : index
  %%c64 = arith.constant 64 : index
  %%c128 = arith.constant 128 : index
  %%c256 = arith.constant 256 : index
  %%zero = arith.constant 0.0 : f32
  %%i = arith.muli %%y, %%c128 : index
  %%j = arith.muli %%x, %%c256 : index
  %%k = tile.dim %%a, 1 : %(v)s
  %%none = tile.broadcast %%zero : f32 -> tensor<128x256xf32>""" % {"v": VIEW})
    if kind == "bound":
        print("  %x0 = tile.dim %a, 0 : " + VIEW + "\n" + chain, end="")
    print("  %%sum = scf.for %%t = %%c0 to %s step %%c64 iter_args(%%old = %%none) -> (tensor<128x256xf32>) {"
          % ("%%x%d" % number if kind == "bound" else "%k"))
    at = "%t"
    if kind == "body":
        print("  %x0 = arith.addi %t, %i : index\n" + chain, end="")
        at = "%%x%d" % number
    print("""    %%at = tile.load %%a[%%i, %%t] dims [0, 1] : %(v)s -> tensor<128x64xf16>
    %%bt = tile.load %%b[%%t, %%j] dims [0, 1] : %(v)s -> tensor<64x256xf16>
    %%dot = tile.dot %%at, %%bt, %%old : tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>
    %%number = arith.index_cast %(at)s : index to i32
    %%float = arith.sitofp %%number : i32 to f32
    %%scale = tile.broadcast %%float : f32 -> tensor<128x256xf32>
    %%new = arith.mulf %%dot, %%scale : tensor<128x256xf32>
    scf.yield %%new : tensor<128x256xf32>
  }
  %%h = arith.truncf %%sum : tensor<128x256xf32> to tensor<128x256xf16>
  tile.store %%h, %%c[%%i, %%j] dims [0, 1] : tensor<128x256xf16>, %(v)s""" % {"v": VIEW, "at": at})
print("  tile.return\n}")
