#cpu = #weft.device<cpu>
module {
  // The sine of a number near 10^4 is mostly rounding of the sum.
  weft.func @amplified(%x: tensor<8x1000xf32, #cpu>) -> tensor<8xf32, #cpu> {
    %s = weft.sum %x, dims = [1] : tensor<8x1000xf32, #cpu>
    %k = weft.constant dense<1.000000e+03> : tensor<8xf32, #cpu>
    %t = weft.mul %s, %k : tensor<8xf32, #cpu>
    %y = weft.sin %t : tensor<8xf32, #cpu>
    weft.return %y : tensor<8xf32, #cpu>
  }
}
