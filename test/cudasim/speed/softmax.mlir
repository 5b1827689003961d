#cpu = #weft.device<cpu>
module {
  weft.func @softmax(%arg0: tensor<8192x1024xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<8192x1024xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.softmax %arg0, dim = 1 : tensor<8192x1024xf32, #cpu>
    weft.return %0 : tensor<8192x1024xf32, #cpu>
  }
}
