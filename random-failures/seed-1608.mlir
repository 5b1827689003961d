// backend: loading: package '<memory>': plan of 'main' for cpu: launch 1 'matmul 1x1x0': elements of c share memory: stride 0, reach 0
// from seed 1608; inputs-seed: 1608
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<2x1xi16, #cpu> {weft.name = "special:4"}) -> tensor<2x0x1xi16, #cpu> {
    %0 = weft.constant dense<4> : tensor<2x0x1x1xi16, #cpu>
    %1 = weft.dot_general %arg0, %0, batch = [0] x [0], contract = [1] x [3] : tensor<2x1xi16, #cpu>, tensor<2x0x1x1xi16, #cpu>
    weft.return %1 : tensor<2x0x1xi16, #cpu>
  }
}

