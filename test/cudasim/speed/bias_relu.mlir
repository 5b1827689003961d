#cpu = #weft.device<cpu>
module {
  weft.func @bias_relu(%arg0: tensor<4096x4096xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<4096xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}, %arg2: tensor<4096x1xf32, #cpu> {weft.name = "arg2", weft.role = "argument"}) -> (tensor<4096x4096xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.broadcast_in_dim %arg1, dims = [1] : tensor<4096xf32, #cpu> -> tensor<4096x4096xf32, #cpu>
    %1 = weft.add %arg0, %0 : tensor<4096x4096xf32, #cpu>
    %2 = weft.broadcast_in_dim %arg2, dims = [0, 1] : tensor<4096x1xf32, #cpu> -> tensor<4096x4096xf32, #cpu>
    %3 = weft.mul %1, %2 : tensor<4096x4096xf32, #cpu>
    %4 = weft.constant dense<0.000000e+00> : tensor<4096x4096xf32, #cpu>
    %5 = weft.max %3, %4 {weft.relu} : tensor<4096x4096xf32, #cpu>
    weft.return %5 : tensor<4096x4096xf32, #cpu>
  }
}
