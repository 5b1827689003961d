// A kernel whose data fit into any cache.
#cpu = #weft.device<cpu>
weft.func @small(%x: tensor<1024xf32, #cpu>) -> tensor<1024xf32, #cpu> {
  %0 = weft.add %x, %x : tensor<1024xf32, #cpu>
  weft.return %0 : tensor<1024xf32, #cpu>
}
