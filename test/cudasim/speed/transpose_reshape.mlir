// A transposed operand whose rows a reshape cuts anew: the only indices of the benchmark that are divided.
#cpu = #weft.device<cpu>
weft.func @transpose_reshape(%x: tensor<384x7x500xf32, #cpu>, %y: tensor<700x1920xf32, #cpu>) -> tensor<700x1920xf32, #cpu> {
  %0 = weft.transpose %x, perm = [2, 1, 0] : tensor<384x7x500xf32, #cpu>
  %1 = weft.reshape %0 : tensor<500x7x384xf32, #cpu> -> tensor<700x1920xf32, #cpu>
  %2 = weft.add %1, %y : tensor<700x1920xf32, #cpu>
  weft.return %2 : tensor<700x1920xf32, #cpu>
}
