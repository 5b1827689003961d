#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<32x16x32x32xf32, #cpu> {weft.name = "state0", weft.role = "state"}, %arg1: tensor<64xi64, #cpu> {weft.name = "state1", weft.role = "state"}, %arg2: tensor<64xf64, #cpu> {weft.name = "state2", weft.role = "state"}, %arg3: tensor<64xi64, #cpu> {weft.name = "state3", weft.role = "state"}, %arg4: tensor<64xf64, #cpu> {weft.name = "state4", weft.role = "state"}, %arg5: tensor<64xi64, #cpu> {weft.name = "state5", weft.role = "state"}, %arg6: tensor<64xf64, #cpu> {weft.name = "state6", weft.role = "state"}, %arg7: tensor<64xi64, #cpu> {weft.name = "state7", weft.role = "state"}, %arg8: tensor<64xf64, #cpu> {weft.name = "state8", weft.role = "state"}, %arg9: tensor<32x16x64x64xf32, #cpu> {weft.name = "state9", weft.role = "state"}) -> (tensor<32x16x64x64xf32, #cpu> {weft.name = "result0"}, tensor<32x16x32x32xf32, #cpu> {weft.name = ".grad"}) {
    %0 = weft.gather %arg0, %arg1, dim = 2, kind =  points : tensor<32x16x32x32xf32, #cpu>, tensor<64xi64, #cpu>
    %1 = weft.convert %arg2 to f32 : tensor<64xf64, #cpu>
    %2 = weft.reshape %1 : tensor<64xf32, #cpu> -> tensor<1x1x64x1xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0, 1, 2, 3] : tensor<1x1x64x1xf32, #cpu> -> tensor<32x16x64x32xf32, #cpu>
    %4 = weft.mul %0, %3 : tensor<32x16x64x32xf32, #cpu>
    %5 = weft.gather %arg0, %arg3, dim = 2, kind =  points : tensor<32x16x32x32xf32, #cpu>, tensor<64xi64, #cpu>
    %6 = weft.convert %arg4 to f32 : tensor<64xf64, #cpu>
    %7 = weft.reshape %6 : tensor<64xf32, #cpu> -> tensor<1x1x64x1xf32, #cpu>
    %8 = weft.broadcast_in_dim %7, dims = [0, 1, 2, 3] : tensor<1x1x64x1xf32, #cpu> -> tensor<32x16x64x32xf32, #cpu>
    %9 = weft.mul %5, %8 : tensor<32x16x64x32xf32, #cpu>
    %10 = weft.add %4, %9 : tensor<32x16x64x32xf32, #cpu>
    %11 = weft.gather %10, %arg5, dim = 3, kind =  points : tensor<32x16x64x32xf32, #cpu>, tensor<64xi64, #cpu>
    %12 = weft.convert %arg6 to f32 : tensor<64xf64, #cpu>
    %13 = weft.reshape %12 : tensor<64xf32, #cpu> -> tensor<1x1x1x64xf32, #cpu>
    %14 = weft.broadcast_in_dim %13, dims = [0, 1, 2, 3] : tensor<1x1x1x64xf32, #cpu> -> tensor<32x16x64x64xf32, #cpu>
    %15 = weft.mul %11, %14 : tensor<32x16x64x64xf32, #cpu>
    %16 = weft.gather %10, %arg7, dim = 3, kind =  points : tensor<32x16x64x32xf32, #cpu>, tensor<64xi64, #cpu>
    %17 = weft.convert %arg8 to f32 : tensor<64xf64, #cpu>
    %18 = weft.reshape %17 : tensor<64xf32, #cpu> -> tensor<1x1x1x64xf32, #cpu>
    %19 = weft.broadcast_in_dim %18, dims = [0, 1, 2, 3] : tensor<1x1x1x64xf32, #cpu> -> tensor<32x16x64x64xf32, #cpu>
    %20 = weft.mul %16, %19 : tensor<32x16x64x64xf32, #cpu>
    %21 = weft.add %15, %20 : tensor<32x16x64x64xf32, #cpu>
    %22 = weft.mul %21, %arg9 : tensor<32x16x64x64xf32, #cpu>
    %23 = weft.sum %22, dims = [0, 1, 2, 3] : tensor<32x16x64x64xf32, #cpu>
    %24 = weft.gradient %23 wrt %arg0 {weft.no_grad} : tensor<f32, #cpu>, tensor<32x16x32x32xf32, #cpu>
    weft.return %21, %24 : tensor<32x16x64x64xf32, #cpu>, tensor<32x16x32x32xf32, #cpu>
  }
}
