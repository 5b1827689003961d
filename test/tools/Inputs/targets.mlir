#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// Kinds of kernels that targets cut in another way, a constant, and a device that every target maps to the host.
weft.func @step(%x: tensor<2048x512xf32, #cpu>, %g: tensor<300x700xf32, #gpu>) -> (tensor<2048x512xf32, #cpu>, tensor<512xf32, #cpu>) {
  %c = weft.constant dense<[0.5, 1.5, 2.5, 3.5]> : tensor<4xf32, #cpu>
  %e = weft.exp %x : tensor<2048x512xf32, #cpu>
  %s = weft.sum %e, dims = [1] : tensor<2048x512xf32, #cpu>
  %b = weft.broadcast_in_dim %s, dims = [0] : tensor<2048xf32, #cpu> -> tensor<2048x512xf32, #cpu>
  %p = weft.div %e, %b : tensor<2048x512xf32, #cpu>
  %t = weft.sum %x, dims = [0] : tensor<2048x512xf32, #cpu>
  %gs = weft.sum %g, dims = [0, 1] : tensor<300x700xf32, #gpu>
  %gc = weft.transfer %gs to #cpu : tensor<f32, #gpu>
  %cs = weft.sum %c, dims = [0] : tensor<4xf32, #cpu>
  %k = weft.add %gc, %cs : tensor<f32, #cpu>
  %kb = weft.broadcast_in_dim %k, dims = [] : tensor<f32, #cpu> -> tensor<512xf32, #cpu>
  %u = weft.mul %t, %kb : tensor<512xf32, #cpu>
  weft.return %p, %u : tensor<2048x512xf32, #cpu>, tensor<512xf32, #cpu>
}
// A function that launches nothing.
weft.func @empty(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
