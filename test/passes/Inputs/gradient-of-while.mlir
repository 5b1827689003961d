#cpu = #weft.device<cpu>
weft.func private @small(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %s = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  %l = weft.constant dense<100.0> : tensor<f32, #cpu>
  %r = weft.lt %s, %l : tensor<f32, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @twice(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.add %x, %x : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
weft.func @loop(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.while @small do @twice(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %l = weft.sum %r, dims = [0] : tensor<4xf32, #cpu>
  %g = weft.gradient %l wrt %x : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}
