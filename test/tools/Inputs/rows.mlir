#cpu = #weft.device<cpu>
// Rows of the benchmark, and shapes that leave few pieces of work.
weft.func @softmax(%x: tensor<4096x1024xf32, #cpu>) -> tensor<4096x1024xf32, #cpu> {
  %0 = weft.softmax %x, dim = 1 : tensor<4096x1024xf32, #cpu>
  weft.return %0 : tensor<4096x1024xf32, #cpu>
}
weft.func @column_sum(%x: tensor<8192x512xf32, #cpu>) -> tensor<512xf32, #cpu> {
  %0 = weft.sum %x, dims = [0] : tensor<8192x512xf32, #cpu>
  weft.return %0 : tensor<512xf32, #cpu>
}
weft.func @full_sum(%x: tensor<4096x4096xf32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.sum %x, dims = [0, 1] : tensor<4096x4096xf32, #cpu>
  weft.return %0 : tensor<f32, #cpu>
}
weft.func @one_row(%x: tensor<1x1048576xf32, #cpu>) -> tensor<1x1048576xf32, #cpu> {
  %0 = weft.softmax %x, dim = 1 : tensor<1x1048576xf32, #cpu>
  weft.return %0 : tensor<1x1048576xf32, #cpu>
}
weft.func @gelu(%x: tensor<64x768xf32, #cpu>) -> tensor<64x768xf32, #cpu> {
  %0 = weft.erf %x : tensor<64x768xf32, #cpu>
  %1 = weft.tanh %0 : tensor<64x768xf32, #cpu>
  %2 = weft.exp %1 : tensor<64x768xf32, #cpu>
  %3 = weft.mul %2, %x : tensor<64x768xf32, #cpu>
  weft.return %3 : tensor<64x768xf32, #cpu>
}
weft.func @transposed(%x: tensor<4096x1024xf32, #cpu>) -> tensor<1024x4096xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<4096x1024xf32, #cpu>
  %1 = weft.exp %0 : tensor<1024x4096xf32, #cpu>
  weft.return %1 : tensor<1024x4096xf32, #cpu>
}
weft.func @embedding_gradient(%g: tensor<4096x256xf32, #cpu>, %i: tensor<4096xi64, #cpu>) -> tensor<1000x256xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<1000x256xf32, #cpu>
  %0 = weft.index_update %z, %g, %i, dim = 0 mode = clip : tensor<1000x256xf32, #cpu>, tensor<4096x256xf32, #cpu>, tensor<4096xi64, #cpu>
  weft.return %0 : tensor<1000x256xf32, #cpu>
}
weft.func @scan(%x: tensor<1024x512xf32, #cpu>) -> tensor<1024x512xf32, #cpu> {
  %0 = weft.cumsum %x, dim = 0 : tensor<1024x512xf32, #cpu>
  weft.return %0 : tensor<1024x512xf32, #cpu>
}
