// Neighbourhood attention in 2-D (NATTEN): tokens are the pixels of an image 32 wide, row by row; each attends to
// the 7 x 7 pixels round its own, fewer at the borders.
// Run: fa-run neighbourhood.mlir --device=cpu --shape=1,8,8,1024,1024 --check --time
func.func @neighbourhood(%q: tensor<?x?x?x64xf32> {fa.name = "q"},
                         %k: tensor<?x?x?x64xf32> {fa.name = "k"},
                         %v: tensor<?x?x?x64xf32> {fa.name = "v"})
    -> (tensor<?x?x?x64xf32> {fa.name = "o"}, tensor<?x?x?xf32> {fa.name = "lse"}) {
  %o, %lse = fa.attention query(%q) key(%k) value(%v)
  mask {
  ^bb0(%b: index, %h: index, %i: index, %j: index, %sq: index, %sk: index):
    %width = arith.constant 32 : index
    %radius = arith.constant 3 : index
    %yi = arith.divui %i, %width : index
    %yj = arith.divui %j, %width : index
    %xi = arith.remui %i, %width : index
    %xj = arith.remui %j, %width : index
    %dy = arith.subi %yi, %yj : index
    %dx = arith.subi %xi, %xj : index
    %ay = math.absi %dy : index
    %ax = math.absi %dx : index
    %near_y = arith.cmpi sle, %ay, %radius : index
    %near_x = arith.cmpi sle, %ax, %radius : index
    %near = arith.andi %near_y, %near_x : i1
    fa.yield %near : i1
  }
    : (tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>, tensor<?x?x?x64xf32>)
    -> (tensor<?x?x?x64xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x64xf32>, tensor<?x?x?xf32>
}
