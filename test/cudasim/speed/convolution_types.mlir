// A convolution of f64, and the derivatives with respect to weights, whose sums are long and few, of f64 and of halves.
#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<32x64x32x32xf64, #cpu>, %w: tensor<64x64x3x3xf64, #cpu>,
                %h: tensor<32x64x32x32xbf16, #cpu>, %v: tensor<64x64x3x3xbf16, #cpu>, %g: tensor<32x64x32x32xbf16, #cpu>)
    -> (tensor<32x64x32x32xf64, #cpu>, tensor<64x64x3x3xf64, #cpu>, tensor<64x64x3x3xbf16, #cpu>) {
  %0 = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xf64, #cpu>, tensor<64x64x3x3xf64, #cpu>
  %1 = weft.mul %0, %0 : tensor<32x64x32x32xf64, #cpu>
  %2 = weft.gradient %1 wrt %w : tensor<32x64x32x32xf64, #cpu>, tensor<64x64x3x3xf64, #cpu>
  %3 = weft.convolution %h, %v, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xbf16, #cpu>, tensor<64x64x3x3xbf16, #cpu>
  %4 = weft.mul %3, %g : tensor<32x64x32x32xbf16, #cpu>
  %5 = weft.gradient %4 wrt %v : tensor<32x64x32x32xbf16, #cpu>, tensor<64x64x3x3xbf16, #cpu>
  weft.return %0, %2, %5 : tensor<32x64x32x32xf64, #cpu>, tensor<64x64x3x3xf64, #cpu>, tensor<64x64x3x3xbf16, #cpu>
}
