// backend: loading: package '<memory>': plan of 'main' for cpu: launch 1 'matmul 1x1x2 + bias': bias is buffer 1, which does not exist or holds less than 2 elements
// from seed 205; inputs-seed: 205
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<2x1x1xf64, #cpu> {weft.name = "plain:2"}, %arg1: tensor<1xf64, #cpu> {weft.name = "plain:0"}) -> tensor<1x2x1xf64, #cpu> {
    %0 = weft.constant dense<1.000000e+00> : tensor<1xf64, #cpu>
    %1 = weft.dot_general %0, %arg0, bias %arg1, batch = [0] x [2], contract = [] x [] : tensor<1xf64, #cpu>, tensor<2x1x1xf64, #cpu>, tensor<1xf64, #cpu>
    weft.return %1 : tensor<1x2x1xf64, #cpu>
  }
}

