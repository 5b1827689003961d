#cpu = #weft.device<cpu>
module {
  // Two ways to the same sums. What is left is their rounding alone.
  weft.func @cancelled(%x: tensor<64x1000xf32, #cpu>) -> tensor<64xf32, #cpu> {
    %s = weft.sum %x, dims = [1] : tensor<64x1000xf32, #cpu>
    %one = weft.constant dense<1.000000e+00> : tensor<1000xf32, #cpu>
    %p = weft.dot_general %x, %one, contract = [1] x [0] : tensor<64x1000xf32, #cpu>, tensor<1000xf32, #cpu>
    %y = weft.sub %s, %p : tensor<64xf32, #cpu>
    weft.return %y : tensor<64xf32, #cpu>
  }
}
