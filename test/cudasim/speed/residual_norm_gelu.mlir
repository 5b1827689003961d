#cpu = #weft.device<cpu>
module {
  weft.func @residual_norm_gelu(%arg0: tensor<8192x1024xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<8192x1024xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}, %arg2: tensor<1024xf32, #cpu> {weft.name = "arg2", weft.role = "argument"}, %arg3: tensor<1024xf32, #cpu> {weft.name = "arg3", weft.role = "argument"}) -> (tensor<8192x1024xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.add %arg0, %arg1 : tensor<8192x1024xf32, #cpu>
    %y, %mean, %rstd = weft.layer_norm %0 weight %arg2 bias %arg3, axis = 1, eps = 1.000000e-05 : tensor<8192x1024xf32, #cpu> weight tensor<1024xf32, #cpu> bias tensor<1024xf32, #cpu>
    %1 = weft.mul %y, %y : tensor<8192x1024xf32, #cpu>
    %2 = weft.mul %y, %1 : tensor<8192x1024xf32, #cpu>
    %3 = weft.constant dense<4.471500e-02> : tensor<8192x1024xf32, #cpu>
    %4 = weft.mul %2, %3 : tensor<8192x1024xf32, #cpu>
    %5 = weft.add %y, %4 : tensor<8192x1024xf32, #cpu>
    %6 = weft.constant dense<0.797884583> : tensor<8192x1024xf32, #cpu>
    %7 = weft.mul %5, %6 : tensor<8192x1024xf32, #cpu>
    %8 = weft.constant dense<5.000000e-01> : tensor<8192x1024xf32, #cpu>
    %9 = weft.mul %y, %8 : tensor<8192x1024xf32, #cpu>
    %10 = weft.tanh %7 : tensor<8192x1024xf32, #cpu>
    %11 = weft.constant dense<1.000000e+00> : tensor<8192x1024xf32, #cpu>
    %12 = weft.add %10, %11 : tensor<8192x1024xf32, #cpu>
    %13 = weft.mul %9, %12 : tensor<8192x1024xf32, #cpu>
    weft.return %13 : tensor<8192x1024xf32, #cpu>
  }
}
