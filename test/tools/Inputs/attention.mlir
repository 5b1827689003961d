// Attention and its derivative, with a mask that repeats.
#cpu = #weft.device<cpu>
weft.func @attention(%x: tensor<2x5x2x8xf32, #cpu>, %m: tensor<1x1x5x5xi1, #cpu>) -> (tensor<2x5x16xf32, #cpu>, tensor<2x5x2x8xf32, #cpu>) {
  %q = weft.transpose %x, perm = [0, 2, 1, 3] : tensor<2x5x2x8xf32, #cpu>
  %o, %l = weft.sdpa %q, %q, %q mask %m, scale = 0.5 causal
         : tensor<2x2x5x8xf32, #cpu>, tensor<2x2x5x8xf32, #cpu>, tensor<2x2x5x8xf32, #cpu> mask tensor<1x1x5x5xi1, #cpu>
  %t = weft.transpose %o, perm = [0, 2, 1, 3] : tensor<2x2x5x8xf32, #cpu>
  %r = weft.reshape %t : tensor<2x5x2x8xf32, #cpu> -> tensor<2x5x16xf32, #cpu>
  %g = weft.gradient %r wrt %x : tensor<2x5x16xf32, #cpu>, tensor<2x5x2x8xf32, #cpu>
  weft.return %r, %g : tensor<2x5x16xf32, #cpu>, tensor<2x5x2x8xf32, #cpu>
}
