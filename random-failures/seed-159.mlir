// backend: loading: package '<memory>': plan of 'main' for cpu: launch 1 'matmul 1x1x2 + bias': bias is buffer 1, which does not exist or holds less than 2 elements
// from seed 159; inputs-seed: 159
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1x1xi32, #cpu> {weft.name = "plain:5"}, %arg1: tensor<1xi32, #cpu> {weft.name = "plain:6"}) -> tensor<1x1x2x1xi32, #cpu> {
    %0 = weft.constant dense<2> : tensor<2x1x1xi32, #cpu>
    %1 = weft.dot_general %arg0, %0, bias %arg1, batch = [1] x [1], contract = [] x [] : tensor<1x1xi32, #cpu>, tensor<2x1x1xi32, #cpu>, tensor<1xi32, #cpu>
    weft.return %1 : tensor<1x1x2x1xi32, #cpu>
  }
}

