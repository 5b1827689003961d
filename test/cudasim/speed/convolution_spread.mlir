// The derivative of a convolution with a stride of 2 and 3 x 3 windows with respect to its operand; a transposed convolution with
// 4 x 4 windows; and the latter's of halves.
#cpu = #weft.device<cpu>
weft.func @main(%g: tensor<32x128x16x16xf32, #cpu>, %x: tensor<32x64x32x32xf32, #cpu>, %w: tensor<128x64x3x3xf32, #cpu>,
                %y: tensor<32x128x16x16xf32, #cpu>, %u: tensor<64x128x4x4xf32, #cpu>, %h: tensor<32x128x16x16xf16, #cpu>, %v: tensor<64x128x4x4xf16, #cpu>)
    -> (tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf16, #cpu>) {
  %0 = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xf32, #cpu>, tensor<128x64x3x3xf32, #cpu>
  %1 = weft.mul %0, %g : tensor<32x128x16x16xf32, #cpu>
  %2 = weft.gradient %1 wrt %x : tensor<32x128x16x16xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>
  %3 = weft.convolution %y, %u, stride = [1, 1], low = [2, 2], high = [2, 2], base_dilation = [2, 2], window_dilation = [1, 1], groups = 1
     : tensor<32x128x16x16xf32, #cpu>, tensor<64x128x4x4xf32, #cpu>
  %4 = weft.convolution %h, %v, stride = [1, 1], low = [2, 2], high = [2, 2], base_dilation = [2, 2], window_dilation = [1, 1], groups = 1
     : tensor<32x128x16x16xf16, #cpu>, tensor<64x128x4x4xf16, #cpu>
  weft.return %2, %3, %4 : tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf16, #cpu>
}
