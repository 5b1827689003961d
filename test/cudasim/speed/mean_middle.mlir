#cpu = #weft.device<cpu>
module {
  weft.func @middle(%arg0: tensor<64x197x768xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<64x768xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.sum %arg0, dims = [1] : tensor<64x197x768xf32, #cpu>
    %1 = weft.constant dense<1.970000e+02> : tensor<f32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [] : tensor<f32, #cpu> -> tensor<64x768xf32, #cpu>
    %3 = weft.div %0, %2 : tensor<64x768xf32, #cpu>
    weft.return %3 : tensor<64x768xf32, #cpu>
  }
}
