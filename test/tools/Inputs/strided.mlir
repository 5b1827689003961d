#cpu = #weft.device<cpu>
weft.func @main(%x: tensor<64x48xf32, #cpu> {weft.name = "x", weft.strides = array<i64: 1, 70>},
                %y: tensor<64x48xf32, #cpu> {weft.strides = array<i64: 0, 2>})
    -> (tensor<64x48xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.mul %x, %y : tensor<64x48xf32, #cpu>
  %1 = weft.add %0, %x : tensor<64x48xf32, #cpu>
  %2 = weft.sum %1, dims = [1] : tensor<64x48xf32, #cpu>
  weft.return %1, %2 : tensor<64x48xf32, #cpu>, tensor<64xf32, #cpu>
}
