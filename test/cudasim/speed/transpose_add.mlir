#cpu = #weft.device<cpu>
module {
  weft.func @transpose_add(%arg0: tensor<4096x4096xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<4096x4096xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}) -> (tensor<4096x4096xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.transpose %arg0, perm = [1, 0] : tensor<4096x4096xf32, #cpu>
    %1 = weft.add %0, %arg1 : tensor<4096x4096xf32, #cpu>
    weft.return %1 : tensor<4096x4096xf32, #cpu>
  }
}
