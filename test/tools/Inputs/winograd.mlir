#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [batch]>
// A convolution of any number of images with a bias, and the derivatives of one, which take fewer products.
weft.func @f(%x: tensor<?x32x10x9xf32, #b>, %w: tensor<40x32x3x3xf32, #cpu>, %bias: tensor<40xf32, #cpu>,
             %i: tensor<16x32x8x8xf32, #cpu>, %v: tensor<32x32x3x3xf32, #cpu>)
    -> (tensor<?x40x10x9xf32, #b>, tensor<16x32x8x8xf32, #cpu>, tensor<32x32x3x3xf32, #cpu>)
    attributes {weft.numerics = "fast", weft.symbols = [#weft.symbol<"batch", 1, 40>]} {
  %0 = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<?x32x10x9xf32, #b>, tensor<40x32x3x3xf32, #cpu>
  %1 = weft.broadcast_in_dim %bias, dims = [1] : tensor<40xf32, #cpu> -> tensor<?x40x10x9xf32, #b>
  %2 = weft.add %0, %1 : tensor<?x40x10x9xf32, #b>
  %3 = weft.convolution %i, %v, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<16x32x8x8xf32, #cpu>, tensor<32x32x3x3xf32, #cpu>
  %4 = weft.mul %3, %3 : tensor<16x32x8x8xf32, #cpu>
  %di, %dv = weft.gradient %4 wrt %i, %v : tensor<16x32x8x8xf32, #cpu>, tensor<16x32x8x8xf32, #cpu>, tensor<32x32x3x3xf32, #cpu>
  weft.return %2, %di, %dv : tensor<?x40x10x9xf32, #b>, tensor<16x32x8x8xf32, #cpu>, tensor<32x32x3x3xf32, #cpu>
}
