#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<32x64x32x32xf32, #cpu> {weft.name = "state0", weft.role = "state"}, %arg1: tensor<64x64x3x3xf32, #cpu> {weft.name = "state1", weft.role = "state"}, %arg2: tensor<32x64x32x32xf32, #cpu> {weft.name = "state2", weft.role = "state"}) -> (tensor<32x64x32x32xf32, #cpu> {weft.name = "result0"}, tensor<32x64x32x32xf32, #cpu> {weft.name = ".grad"}, tensor<64x64x3x3xf32, #cpu> {weft.name = ".grad"}) {
    %0 = weft.convolution %arg0, %arg1, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1 : tensor<32x64x32x32xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
    %1 = weft.mul %0, %arg2 : tensor<32x64x32x32xf32, #cpu>
    %2 = weft.sum %1, dims = [0, 1, 2, 3] : tensor<32x64x32x32xf32, #cpu>
    %3:2 = weft.gradient %2 wrt %arg0, %arg1 {weft.no_grad} : tensor<f32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
    weft.return %0, %3#0, %3#1 : tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  }
}
