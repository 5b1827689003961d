// A vector whose exponentials are not computed again for each of 4,096 rows, beside what is fused.
#cpu = #weft.device<cpu>
weft.func @shared(%x: tensor<1024xf32, #cpu>, %y: tensor<4096x1024xf32, #cpu>) -> tensor<4096x1024xf32, #cpu> {
  %0 = weft.exp %x : tensor<1024xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [1] : tensor<1024xf32, #cpu> -> tensor<4096x1024xf32, #cpu>
  %2 = weft.add %1, %y : tensor<4096x1024xf32, #cpu>
  %3 = weft.neg %2 : tensor<4096x1024xf32, #cpu>
  weft.return %3 : tensor<4096x1024xf32, #cpu>
}
