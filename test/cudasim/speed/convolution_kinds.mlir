// Convolutions of halves by mma, with a bias and relu; of 7 x 7 windows with a stride and three channels; and with 3 x 3 windows, a
// stride and few places.
#cpu = #weft.device<cpu>
weft.func @main(%h: tensor<32x64x32x32xbf16, #cpu>, %v: tensor<64x64x3x3xbf16, #cpu>, %b: tensor<64xbf16, #cpu>,
                %x: tensor<32x3x64x64xf32, #cpu>, %w: tensor<64x3x7x7xf32, #cpu>, %y: tensor<32x256x8x8xf32, #cpu>, %u: tensor<512x256x3x3xf32, #cpu>)
    -> (tensor<32x64x32x32xbf16, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<32x512x4x4xf32, #cpu>) {
  %0 = weft.convolution %h, %v, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xbf16, #cpu>, tensor<64x64x3x3xbf16, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<64xbf16, #cpu> -> tensor<32x64x32x32xbf16, #cpu>
  %2 = weft.add %0, %1 : tensor<32x64x32x32xbf16, #cpu>
  %zero = weft.constant dense<0.0> : tensor<32x64x32x32xbf16, #cpu>
  %3 = weft.max %2, %zero : tensor<32x64x32x32xbf16, #cpu>
  %4 = weft.convolution %x, %w, stride = [2, 2], low = [3, 3], high = [3, 3], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x3x64x64xf32, #cpu>, tensor<64x3x7x7xf32, #cpu>
  %5 = weft.convolution %y, %u, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x256x8x8xf32, #cpu>, tensor<512x256x3x3xf32, #cpu>
  weft.return %3, %4, %5 : tensor<32x64x32x32xbf16, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<32x512x4x4xf32, #cpu>
}
