// A kernel that moves 128 MiB, which few caches hold.
#cpu = #weft.device<cpu>
weft.func @large(%x: tensor<16777216xf32, #cpu>) -> tensor<16777216xf32, #cpu> {
  %0 = weft.add %x, %x : tensor<16777216xf32, #cpu>
  weft.return %0 : tensor<16777216xf32, #cpu>
}
