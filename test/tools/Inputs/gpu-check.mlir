#cpu = #weft.device<cpu>
// A product, an update of state, and a reduction.
weft.func @small(%x: tensor<64x32xf32, #cpu>, %w: tensor<32x48xf32, #cpu>, %s: tensor<64x48xf32, #cpu> {weft.donated}) -> (tensor<64x48xf32, #cpu> {weft.tied = 2 : i64}, tensor<48xf32, #cpu>) {
  %p = weft.dot_general %x, %w, contract = [1] x [0] : tensor<64x32xf32, #cpu>, tensor<32x48xf32, #cpu>
  %e = weft.exp %p : tensor<64x48xf32, #cpu>
  %n = weft.add %s, %e : tensor<64x48xf32, #cpu>
  %c = weft.copy_into %s, %n : tensor<64x48xf32, #cpu>
  %r = weft.sum %e, dims = [0] : tensor<64x48xf32, #cpu>
  weft.return %c, %r : tensor<64x48xf32, #cpu>, tensor<48xf32, #cpu>
}
