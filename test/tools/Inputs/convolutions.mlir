#gpu = #weft.device<cuda:0>
weft.func @layer(%x: tensor<32x64x32x32xf32, #gpu>, %w: tensor<64x64x3x3xf32, #gpu>, %v: tensor<64xf32, #gpu>) -> tensor<32x64x32x32xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xf32, #gpu>, tensor<64x64x3x3xf32, #gpu>
  %b = weft.broadcast_in_dim %v, dims = [1] : tensor<64xf32, #gpu> -> tensor<32x64x32x32xf32, #gpu>
  %s = weft.add %y, %b : tensor<32x64x32x32xf32, #gpu>
  %zero = weft.constant dense<0.0> : tensor<32x64x32x32xf32, #gpu>
  %r = weft.max %s, %zero : tensor<32x64x32x32xf32, #gpu>
  weft.return %r : tensor<32x64x32x32xf32, #gpu>
}
weft.func @weights(%x: tensor<32x64x32x32xf32, #gpu>, %g: tensor<32x128x16x16xf32, #gpu>) -> tensor<128x64x3x3xf32, #gpu> {
  %a = weft.transpose %x, perm = [1, 0, 2, 3] : tensor<32x64x32x32xf32, #gpu>
  %b = weft.transpose %g, perm = [1, 0, 2, 3] : tensor<32x128x16x16xf32, #gpu>
  %y = weft.convolution %a, %b, stride = [1, 1], low = [1, 1], high = [0, 0], base_dilation = [1, 1], window_dilation = [2, 2], groups = 1
     : tensor<64x32x32x32xf32, #gpu>, tensor<128x32x16x16xf32, #gpu>
  %t = weft.transpose %y, perm = [1, 0, 2, 3] : tensor<64x128x3x3xf32, #gpu>
  weft.return %t : tensor<128x64x3x3xf32, #gpu>
}
weft.func @halves(%x: tensor<?x64x32x32xf16, #weft.device<cuda:0, [n]>>, %w: tensor<64x64x3x3xf16, #gpu>) -> tensor<?x64x30x30xf16, #weft.device<cuda:0, [n]>>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<?x64x32x32xf16, #weft.device<cuda:0, [n]>>, tensor<64x64x3x3xf16, #gpu>
  weft.return %y : tensor<?x64x30x30xf16, #weft.device<cuda:0, [n]>>
}
