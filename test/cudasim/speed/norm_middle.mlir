#cpu = #weft.device<cpu>
module {
  weft.func @middle(%arg0: tensor<64x197x768xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<64x197x768xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.convert %arg0 to f64 : tensor<64x197x768xf32, #cpu>
    %mean, %m2, %count = weft.welford %0, dims = [1] : tensor<64x197x768xf64, #cpu>
    %1 = weft.reshape %m2 : tensor<64x768xf64, #cpu> -> tensor<64x1x768xf64, #cpu>
    %2 = weft.constant dense<1.970000e+02> : tensor<f64, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [] : tensor<f64, #cpu> -> tensor<64x1x768xf64, #cpu>
    %4 = weft.div %1, %3 : tensor<64x1x768xf64, #cpu>
    %5 = weft.reshape %mean : tensor<64x768xf64, #cpu> -> tensor<64x1x768xf64, #cpu>
    %6 = weft.convert %4 to f32 : tensor<64x1x768xf64, #cpu>
    %7 = weft.convert %5 to f32 : tensor<64x1x768xf64, #cpu>
    %8 = weft.broadcast_in_dim %7, dims = [0, 1, 2] : tensor<64x1x768xf32, #cpu> -> tensor<64x197x768xf32, #cpu>
    %9 = weft.sub %arg0, %8 : tensor<64x197x768xf32, #cpu>
    %10 = weft.constant dense<9.99999974E-6> : tensor<f32, #cpu>
    %11 = weft.broadcast_in_dim %10, dims = [] : tensor<f32, #cpu> -> tensor<64x1x768xf32, #cpu>
    %12 = weft.add %6, %11 : tensor<64x1x768xf32, #cpu>
    %13 = weft.rsqrt %12 : tensor<64x1x768xf32, #cpu>
    %14 = weft.broadcast_in_dim %13, dims = [0, 1, 2] : tensor<64x1x768xf32, #cpu> -> tensor<64x197x768xf32, #cpu>
    %15 = weft.mul %9, %14 : tensor<64x197x768xf32, #cpu>
    weft.return %15 : tensor<64x197x768xf32, #cpu>
  }
}
