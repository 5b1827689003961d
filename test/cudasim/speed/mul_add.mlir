#cpu = #weft.device<cpu>
module {
  weft.func @mul_add(%arg0: tensor<16777216xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<16777216xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}) -> (tensor<16777216xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.constant dense<2.000000e+00> : tensor<f32, #cpu>
    %1 = weft.broadcast_in_dim %0, dims = [] : tensor<f32, #cpu> -> tensor<16777216xf32, #cpu>
    %2 = weft.mul %arg0, %1 : tensor<16777216xf32, #cpu>
    %3 = weft.mul %arg1, %arg1 : tensor<16777216xf32, #cpu>
    %4 = weft.add %2, %3 : tensor<16777216xf32, #cpu>
    %5 = weft.sub %4, %arg0 : tensor<16777216xf32, #cpu>
    weft.return %5 : tensor<16777216xf32, #cpu>
  }
}
