// Products as different implementations compute them: few rows, a long sum, a batch, transposed operands, halves, bias
// and relu.
#cpu = #weft.device<cpu>
weft.func @products(%x: tensor<128x784xf32, #cpu>, %w: tensor<784x96xf32, #cpu>, %b: tensor<96xf32, #cpu>,
                    %q: tensor<3x40x24xf32, #cpu>, %h: tensor<64x32xbf16, #cpu>, %d: tensor<17x19xf64, #cpu>)
    -> (tensor<128x96xf32, #cpu>, tensor<784x96xf32, #cpu>, tensor<96xf32, #cpu>, tensor<3x40x40xf32, #cpu>, tensor<64x64xbf16, #cpu>, tensor<17x17xf64, #cpu>) {
  %xw = weft.dot_general %x, %w, contract = [1] x [0] : tensor<128x784xf32, #cpu>, tensor<784x96xf32, #cpu>
  %bb = weft.broadcast_in_dim %b, dims = [1] : tensor<96xf32, #cpu> -> tensor<128x96xf32, #cpu>
  %s = weft.add %xw, %bb : tensor<128x96xf32, #cpu>
  %z = weft.constant dense<0.0> : tensor<128x96xf32, #cpu>
  %r = weft.max %s, %z : tensor<128x96xf32, #cpu>
  %g = weft.dot_general %x, %r, contract = [0] x [0] : tensor<128x784xf32, #cpu>, tensor<128x96xf32, #cpu>
  %row = weft.slice %x, start = [0, 0], limit = [1, 784], step = [1, 1] : tensor<128x784xf32, #cpu>
  %few = weft.dot_general %row, %w, contract = [1] x [0] : tensor<1x784xf32, #cpu>, tensor<784x96xf32, #cpu>
  %one = weft.reshape %few : tensor<1x96xf32, #cpu> -> tensor<96xf32, #cpu>
  %qq = weft.dot_general %q, %q, batch = [0] x [0], contract = [2] x [2] : tensor<3x40x24xf32, #cpu>, tensor<3x40x24xf32, #cpu>
  %hh = weft.dot_general %h, %h, contract = [1] x [1] : tensor<64x32xbf16, #cpu>, tensor<64x32xbf16, #cpu>
  %dd = weft.dot_general %d, %d, contract = [1] x [1] : tensor<17x19xf64, #cpu>, tensor<17x19xf64, #cpu>
  weft.return %r, %g, %one, %qq, %hh, %dd : tensor<128x96xf32, #cpu>, tensor<784x96xf32, #cpu>, tensor<96xf32, #cpu>, tensor<3x40x40xf32, #cpu>, tensor<64x64xbf16, #cpu>, tensor<17x17xf64, #cpu>
}
