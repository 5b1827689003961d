#cpu = #weft.device<cpu>
module {
  weft.func @column_sum(%arg0: tensor<8192x1024xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}) -> (tensor<1024xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.mul %arg0, %arg0 : tensor<8192x1024xf32, #cpu>
    %1 = weft.sum %0, dims = [0] : tensor<8192x1024xf32, #cpu>
    weft.return %1 : tensor<1024xf32, #cpu>
  }
}
