#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}
