#cpu = #weft.device<cpu>
weft.func @halved(%x: tensor<4xbf16, #cpu>) -> tensor<4xbf16, #cpu> {
  %c = weft.constant dense<0.5> : tensor<4xbf16, #cpu>
  %0 = weft.mul %x, %c : tensor<4xbf16, #cpu>
  weft.return %0 : tensor<4xbf16, #cpu>
}
