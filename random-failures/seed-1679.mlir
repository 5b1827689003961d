// backend: loading: package '<memory>': plan of 'main' for cpu: launch 0 'matmul 2x1x0 + relu': elements of c share memory: stride 0, reach 0
// from seed 1679; inputs-seed: 1679
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<0x0x1xi16, #cpu> {weft.name = "plain:1"}, %arg1: tensor<2x1xi16, #cpu> {weft.name = "plain:2"}) -> tensor<2x0x0xi16, #cpu> {
    %0 = weft.dot_general %arg1, %arg0, relu, contract = [1] x [2] : tensor<2x1xi16, #cpu>, tensor<0x0x1xi16, #cpu>
    weft.return %0 : tensor<2x0x0xi16, #cpu>
  }
}

