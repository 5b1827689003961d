#cpu = #weft.device<cpu>

// Four steps of a sequence, and the gradient of the weights that all of them use.
weft.func @sequence(%x: tensor<40x4x64xf32, #cpu>, %w: tensor<64x96xf32, #cpu>) -> (tensor<64x96xf32, #cpu>, tensor<40x96xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [40, 1, 64], step = [1, 1, 1] : tensor<40x4x64xf32, #cpu>
  %x0 = weft.reshape %s0 : tensor<40x1x64xf32, #cpu> -> tensor<40x64xf32, #cpu>
  %p0 = weft.dot_general %x0, %w, contract = [1] x [0] : tensor<40x64xf32, #cpu>, tensor<64x96xf32, #cpu>
  %g0 = weft.tanh %p0 : tensor<40x96xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 1, 0], limit = [40, 2, 64], step = [1, 1, 1] : tensor<40x4x64xf32, #cpu>
  %x1 = weft.reshape %s1 : tensor<40x1x64xf32, #cpu> -> tensor<40x64xf32, #cpu>
  %p1 = weft.dot_general %x1, %w, contract = [1] x [0] : tensor<40x64xf32, #cpu>, tensor<64x96xf32, #cpu>
  %g1 = weft.tanh %p1 : tensor<40x96xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 2, 0], limit = [40, 3, 64], step = [1, 1, 1] : tensor<40x4x64xf32, #cpu>
  %x2 = weft.reshape %s2 : tensor<40x1x64xf32, #cpu> -> tensor<40x64xf32, #cpu>
  %p2 = weft.dot_general %x2, %w, contract = [1] x [0] : tensor<40x64xf32, #cpu>, tensor<64x96xf32, #cpu>
  %g2 = weft.tanh %p2 : tensor<40x96xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 3, 0], limit = [40, 4, 64], step = [1, 1, 1] : tensor<40x4x64xf32, #cpu>
  %x3 = weft.reshape %s3 : tensor<40x1x64xf32, #cpu> -> tensor<40x64xf32, #cpu>
  %p3 = weft.dot_general %x3, %w, contract = [1] x [0] : tensor<40x64xf32, #cpu>, tensor<64x96xf32, #cpu>
  %g3 = weft.tanh %p3 : tensor<40x96xf32, #cpu>
  %d3 = weft.dot_general %x3, %g3, contract = [0] x [0] : tensor<40x64xf32, #cpu>, tensor<40x96xf32, #cpu>
  %d2 = weft.dot_general %x2, %g2, contract = [0] x [0] : tensor<40x64xf32, #cpu>, tensor<40x96xf32, #cpu>
  %a2 = weft.add %d3, %d2 : tensor<64x96xf32, #cpu>
  %d1 = weft.dot_general %x1, %g1, contract = [0] x [0] : tensor<40x64xf32, #cpu>, tensor<40x96xf32, #cpu>
  %a1 = weft.add %a2, %d1 : tensor<64x96xf32, #cpu>
  %d0 = weft.dot_general %x0, %g0, contract = [0] x [0] : tensor<40x64xf32, #cpu>, tensor<40x96xf32, #cpu>
  %a0 = weft.add %a1, %d0 : tensor<64x96xf32, #cpu>
  weft.return %a0, %g3 : tensor<64x96xf32, #cpu>, tensor<40x96xf32, #cpu>
}
