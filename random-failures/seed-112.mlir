// backend: result 0, element 1 of 4 (f64): expected 3.5 within 2.78e-15, found 5.25
// from seed 112; inputs-seed: 112
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<2x1xf64, #cpu> {weft.name = "plain:4"}, %arg1: tensor<2xf64, #cpu> {weft.name = "special:5"}, %arg2: tensor<2x2x1x2xf64, #cpu> {weft.name = "plain:0"}) -> tensor<2x2xf64, #cpu> {
    %0 = weft.dot_general %arg2, %arg0, bias %arg1, contract = [0, 2] x [0, 1] : tensor<2x2x1x2xf64, #cpu>, tensor<2x1xf64, #cpu>, tensor<2xf64, #cpu>
    weft.return %0 : tensor<2x2xf64, #cpu>
  }
}

