// backend: result 0, element 1 of 2 (i16): expected 26684, found 26672
// from seed 183; inputs-seed: 183
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1x1x2xi16, #cpu> {weft.name = "plain:5"}, %arg1: tensor<2xi16, #cpu> {weft.name = "plain:6"}) -> tensor<2xi16, #cpu> {
    %0 = weft.constant dense<-8> : tensor<1x2x1xi16, #cpu>
    %1 = weft.dot_general %0, %arg0, bias %arg1, batch = [1] x [2], contract = [2, 0] x [0, 1] : tensor<1x2x1xi16, #cpu>, tensor<1x1x2xi16, #cpu>, tensor<2xi16, #cpu>
    weft.return %1 : tensor<2xi16, #cpu>
  }
}

