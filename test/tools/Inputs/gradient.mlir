#cpu = #weft.device<cpu>
weft.func @grad(%x: tensor<6xf32, #cpu>) -> (tensor<f32, #cpu>, tensor<6xf32, #cpu>) {
  %0 = weft.sin %x : tensor<6xf32, #cpu>
  %1 = weft.mul %0, %x : tensor<6xf32, #cpu>
  %2 = weft.sum %1, dims = [0] : tensor<6xf32, #cpu>
  %3 = weft.gradient %2 wrt %x : tensor<f32, #cpu>, tensor<6xf32, #cpu>
  weft.return %2, %3 : tensor<f32, #cpu>, tensor<6xf32, #cpu>
}
