#gpu = #weft.device<cuda:0>
// More than 2^31 elements: rows, columns, scans of rows and of one row, transpositions, loops of two dimensions.
weft.func @rows(%x: tensor<3000000x1000xf32, #gpu>) -> tensor<3000000xf32, #gpu> {
  %0 = weft.sum %x, dims = [1] : tensor<3000000x1000xf32, #gpu>
  weft.return %0 : tensor<3000000xf32, #gpu>
}
weft.func @columns(%x: tensor<60000x50000xf32, #gpu>) -> tensor<50000xf32, #gpu> {
  %0 = weft.sum %x, dims = [0] : tensor<60000x50000xf32, #gpu>
  weft.return %0 : tensor<50000xf32, #gpu>
}
weft.func @scans(%x: tensor<3000000x1000xf32, #gpu>) -> tensor<3000000x1000xf32, #gpu> {
  %0 = weft.cumsum %x, dim = 1 : tensor<3000000x1000xf32, #gpu>
  weft.return %0 : tensor<3000000x1000xf32, #gpu>
}
weft.func @transposed(%x: tensor<60000x50000xf32, #gpu>) -> tensor<50000x60000xf32, #gpu> {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<60000x50000xf32, #gpu>
  %1 = weft.exp %0 : tensor<50000x60000xf32, #gpu>
  weft.return %1 : tensor<50000x60000xf32, #gpu>
}
weft.func @biased(%x: tensor<60000x50001xf32, #gpu>, %b: tensor<50001xf32, #gpu>) -> tensor<60000x50001xf32, #gpu> {
  %0 = weft.broadcast_in_dim %b, dims = [1] : tensor<50001xf32, #gpu> -> tensor<60000x50001xf32, #gpu>
  %1 = weft.add %x, %0 : tensor<60000x50001xf32, #gpu>
  weft.return %1 : tensor<60000x50001xf32, #gpu>
}
weft.func @updated(%x: tensor<3000000x1000xf32, #gpu> {weft.donated}, %u: tensor<8x1000xf32, #gpu>, %i: tensor<8xi64, #gpu>) -> (tensor<3000000x1000xf32, #gpu> {weft.tied = 0 : i64}) {
  %0 = weft.index_update %x, %u, %i, dim = 0 accumulate mode = clip : tensor<3000000x1000xf32, #gpu>, tensor<8x1000xf32, #gpu>, tensor<8xi64, #gpu>
  weft.return %0 : tensor<3000000x1000xf32, #gpu>
}
