#cpu = #weft.device<cpu>
module {
  weft.func @full_sum(%arg0: tensor<16777216xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<f32, #cpu> {weft.name = "result0"}) {
    %0 = weft.mul %arg0, %arg0 : tensor<16777216xf32, #cpu>
    %1 = weft.sum %0, dims = [0] : tensor<16777216xf32, #cpu>
    weft.return %1 : tensor<f32, #cpu>
  }
}
