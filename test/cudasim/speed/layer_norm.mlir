#cpu = #weft.device<cpu>
module {
  weft.func @layer_norm(%arg0: tensor<8192x1024xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<1024xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}, %arg2: tensor<1024xf32, #cpu> {weft.name = "arg2", weft.role = "argument"}) -> (tensor<8192x1024xf32, #cpu> {weft.name = "result0"}) {
    %y, %mean, %rstd = weft.layer_norm %arg0 weight %arg1 bias %arg2, axis = 1, eps = 1.000000e-05 : tensor<8192x1024xf32, #cpu> weight tensor<1024xf32, #cpu> bias tensor<1024xf32, #cpu>
    weft.return %y : tensor<8192x1024xf32, #cpu>
  }
}
