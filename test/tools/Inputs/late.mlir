#cpu = #weft.device<cpu>
weft.func @late(%a: tensor<64x64xf32, #cpu>) -> (tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %1 = weft.dot_general %a, %a, contract = [1] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %2 = weft.dot_general %a, %a, contract = [0] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %3 = weft.dot_general %a, %a, contract = [0] x [1] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %4 = weft.sum %0, dims = [1] : tensor<64x64xf32, #cpu>
  %5 = weft.sum %1, dims = [1] : tensor<64x64xf32, #cpu>
  %6 = weft.sum %2, dims = [1] : tensor<64x64xf32, #cpu>
  %7 = weft.sum %3, dims = [1] : tensor<64x64xf32, #cpu>
  weft.return %4, %5, %6, %7 : tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
}
