#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

weft.func private @small(%x: tensor<4xf32, #gpu>) -> tensor<i1, #gpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #gpu>
  %l = weft.constant dense<100.0> : tensor<f32, #gpu>
  %r = weft.lt %s, %l : tensor<f32, #gpu>
  weft.return %r : tensor<i1, #gpu>
}
weft.func private @by_way_of_host(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %a = weft.transfer %x to <cpu> : tensor<4xf32, #gpu>
  %b = weft.add %a, %a : tensor<4xf32, #cpu>
  %c = weft.transfer %b to <cuda:0> : tensor<4xf32, #cpu>
  weft.return %c : tensor<4xf32, #gpu>
}
weft.func @main(%x: tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu> {
  %r = weft.while @small do @by_way_of_host(%x) with() : (tensor<4xf32, #gpu>) -> tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #gpu>
}
