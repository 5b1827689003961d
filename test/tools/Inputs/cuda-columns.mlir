#gpu = #weft.device<cuda:0>
weft.func @f(%a: tensor<16x8xTYPE, #gpu>, %b: tensor<16x8xTYPE, #gpu>) -> (tensor<16x8xTYPE, #gpu>, tensor<8xTYPE, #gpu>) {
  %z = weft.constant dense<0.0> : tensor<16x8xTYPE, #gpu>
  %m = weft.le %a, %z : tensor<16x8xTYPE, #gpu>
  %s = weft.select %m, %z, %b : tensor<16x8xi1, #gpu>, tensor<16x8xTYPE, #gpu>
  %r = weft.sum %s, dims = [0] : tensor<16x8xTYPE, #gpu>
  weft.return %s, %r : tensor<16x8xTYPE, #gpu>, tensor<8xTYPE, #gpu>
}
