#cpu = #weft.device<cpu>
weft.func @f(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xbf16, #cpu>) {
  weft.print %x label = "called" : tensor<4xf32, #cpu>
  %n = weft.neg %x : tensor<4xf32, #cpu>
  %b = weft.convert %x to bf16 : tensor<4xf32, #cpu>
  weft.return %n, %b : tensor<4xf32, #cpu>, tensor<4xbf16, #cpu>
}
