#cpu = #weft.device<cpu>

weft.func @scaled(%x: tensor<128x784xf32, #cpu>, %s: tensor<784xf32, #cpu>) -> tensor<128x784xf32, #cpu> {
  %b = weft.broadcast_in_dim %s, dims = [1] : tensor<784xf32, #cpu> -> tensor<128x784xf32, #cpu>
  %y = weft.mul %x, %b : tensor<128x784xf32, #cpu>
  weft.return %y : tensor<128x784xf32, #cpu>
}
