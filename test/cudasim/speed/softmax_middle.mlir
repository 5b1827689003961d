#cpu = #weft.device<cpu>
module {
  weft.func @middle(%arg0: tensor<64x197x768xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<64x197x768xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.softmax %arg0, dim = 1 : tensor<64x197x768xf32, #cpu>
    weft.return %0 : tensor<64x197x768xf32, #cpu>
  }
}
