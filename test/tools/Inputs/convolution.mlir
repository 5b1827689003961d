#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [batch]>
weft.func @f(%x: tensor<?x3x8xf32, #b>, %w: tensor<3x3x3xf32, #cpu>, %bias: tensor<3xf32, #cpu>, %y: tensor<2x4x6x6xf32, #cpu>, %v: tensor<4x4x3x3xf32, #cpu>)
    -> (tensor<?x3x8xf32, #b>, tensor<2x4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"batch", 1, 40>]} {
  %zeros = weft.constant dense<0.0> : tensor<f32> -> tensor<?x3x8xf32, #b>
  %0 = weft.convolution %x, %w, stride = [1], low = [1], high = [1], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<?x3x8xf32, #b>, tensor<3x3x3xf32, #cpu>
  %1 = weft.broadcast_in_dim %bias, dims = [1] : tensor<3xf32, #cpu> -> tensor<?x3x8xf32, #b>
  %2 = weft.mul %0, %1 : tensor<?x3x8xf32, #b>
  %3 = weft.add %2, %x : tensor<?x3x8xf32, #b>
  %4 = weft.max %3, %zeros : tensor<?x3x8xf32, #b>
  %5 = weft.convolution %y, %v, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x4x6x6xf32, #cpu>, tensor<4x4x3x3xf32, #cpu>
  weft.return %4, %5 : tensor<?x3x8xf32, #b>, tensor<2x4x3x3xf32, #cpu>
}
