#cpu = #weft.device<cpu>
module {
  weft.func @gelu_sigmoid(%arg0: tensor<16777216xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<16777216xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}, %arg2: tensor<16777216xf32, #cpu> {weft.name = "arg2", weft.role = "argument"}) -> (tensor<16777216xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.mul %arg0, %arg1 : tensor<16777216xf32, #cpu>
    %1 = weft.add %0, %arg2 : tensor<16777216xf32, #cpu>
    %2 = weft.mul %1, %1 : tensor<16777216xf32, #cpu>
    %3 = weft.mul %1, %2 : tensor<16777216xf32, #cpu>
    %4 = weft.constant dense<4.471500e-02> : tensor<16777216xf32, #cpu>
    %5 = weft.mul %3, %4 : tensor<16777216xf32, #cpu>
    %6 = weft.add %1, %5 : tensor<16777216xf32, #cpu>
    %7 = weft.constant dense<0.797884583> : tensor<16777216xf32, #cpu>
    %8 = weft.mul %6, %7 : tensor<16777216xf32, #cpu>
    %9 = weft.constant dense<5.000000e-01> : tensor<16777216xf32, #cpu>
    %10 = weft.mul %1, %9 : tensor<16777216xf32, #cpu>
    %11 = weft.tanh %8 : tensor<16777216xf32, #cpu>
    %12 = weft.constant dense<1.000000e+00> : tensor<16777216xf32, #cpu>
    %13 = weft.add %11, %12 : tensor<16777216xf32, #cpu>
    %14 = weft.mul %10, %13 : tensor<16777216xf32, #cpu>
    %15 = weft.sigmoid %arg2 : tensor<16777216xf32, #cpu>
    %16 = weft.mul %14, %15 : tensor<16777216xf32, #cpu>
    weft.return %16 : tensor<16777216xf32, #cpu>
  }
}
