#cpu = #weft.device<cpu>
module {
  weft.func @middle(%arg0: tensor<64x197x768xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<64x768xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.convert %arg0 to f64 : tensor<64x197x768xf32, #cpu>
    %mean, %m2, %count = weft.welford %0, dims = [1] : tensor<64x197x768xf64, #cpu>
    %1 = weft.constant dense<1.960000e+02> : tensor<f64, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [] : tensor<f64, #cpu> -> tensor<64x768xf64, #cpu>
    %3 = weft.div %m2, %2 : tensor<64x768xf64, #cpu>
    %4 = weft.convert %3 to f32 : tensor<64x768xf64, #cpu>
    weft.return %4 : tensor<64x768xf32, #cpu>
  }
}
