#cuda = #weft.device<cuda : 0>
weft.func @layer(%x: tensor<256x784xf32, #cuda>, %w: tensor<784x512xf32, #cuda>, %v: tensor<512xf32, #cuda>) -> tensor<256x512xf32, #cuda> {
  %0 = weft.dot_general %x, %w, bias %v, relu, contract = [1] x [0] : tensor<256x784xf32, #cuda>, tensor<784x512xf32, #cuda>, tensor<512xf32, #cuda>
  weft.return %0 : tensor<256x512xf32, #cuda>
}

weft.func @halves(%x: tensor<4x512x64xbf16, #cuda>, %y: tensor<4x512x64xbf16, #cuda>) -> (tensor<4x512x512xbf16, #cuda>, tensor<4x512x512xbf16, #cuda>) {
  %0 = weft.dot_general %x, %y, batch = [0] x [0], contract = [2] x [2] : tensor<4x512x64xbf16, #cuda>, tensor<4x512x64xbf16, #cuda>
  %1 = weft.dot_general %y, %x, batch = [0] x [0], contract = [2] x [2] : tensor<4x512x64xbf16, #cuda>, tensor<4x512x64xbf16, #cuda>
  weft.return %0, %1 : tensor<4x512x512xbf16, #cuda>, tensor<4x512x512xbf16, #cuda>
}

weft.func @bytes(%x: tensor<64x64xi8, #cuda>, %y: tensor<64x100xi8, #cuda>) -> tensor<64x100xi8, #cuda> {
  %0 = weft.dot_general %x, %y, contract = [1] x [0] : tensor<64x64xi8, #cuda>, tensor<64x100xi8, #cuda>
  weft.return %0 : tensor<64x100xi8, #cuda>
}

weft.func @sums(%x: tensor<64x64xf64, #cuda>, %y: tensor<64x64xf64, #cuda>) -> tensor<64x64xf64, #cuda> {
  %0 = weft.dot_general %x, %y, plus (%y, %x), contract = [1] x [0] : tensor<64x64xf64, #cuda>, tensor<64x64xf64, #cuda>, tensor<64x64xf64, #cuda>, tensor<64x64xf64, #cuda>
  weft.return %0 : tensor<64x64xf64, #cuda>
}

#rows = #weft.device<cuda : 0, [n]>
weft.func @dynamic(%x: tensor<?x64xf16, #rows>, %y: tensor<64x32xf16, #cuda>) -> tensor<?x32xf16, #rows>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>]} {
  %0 = weft.dot_general %x, %y, contract = [1] x [0] : tensor<?x64xf16, #rows>, tensor<64x32xf16, #cuda>
  weft.return %0 : tensor<?x32xf16, #rows>
}
