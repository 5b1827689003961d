#cuda = #weft.device<cuda : 0>
weft.func @gelu(%x: tensor<1000x1003xf32, #cuda>, %h: tensor<1000x1003xf16, #cuda>) -> (tensor<1000x1003xf32, #cuda>, tensor<1000x1003xf16, #cuda>) {
  %a = weft.erf %x : tensor<1000x1003xf32, #cuda>
  %b = weft.mul %a, %x : tensor<1000x1003xf32, #cuda>
  %c = weft.exp %h : tensor<1000x1003xf16, #cuda>
  weft.return %b, %c : tensor<1000x1003xf32, #cuda>, tensor<1000x1003xf16, #cuda>
}

weft.func @picked(%x: tensor<8x100xf32, #cuda>, %i: tensor<50xi64, #cuda>) -> (tensor<50x100xf32, #cuda>, tensor<8xf32, #cuda>) {
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<8x100xf32, #cuda>, tensor<50xi64, #cuda>
  %1 = weft.sum %x, dims = [1] : tensor<8x100xf32, #cuda>
  weft.return %0, %1 : tensor<50x100xf32, #cuda>, tensor<8xf32, #cuda>
}

weft.func @large(%x: tensor<70000x70000xi8, #cuda>) -> tensor<70000x70000xi8, #cuda> {
  %0 = weft.neg %x : tensor<70000x70000xi8, #cuda>
  weft.return %0 : tensor<70000x70000xi8, #cuda>
}
