// A function as text. Run it:
//   weft compile scaled.mlir -o scaled.weft
//   weft run scaled.weft --input x.npy --input s.npy --output y.npy
#cpu = #weft.device<cpu>

weft.func @scaled(%x: tensor<4x3xf32, #cpu>, %s: tensor<3xf32, #cpu>) -> tensor<4x3xf32, #cpu> {
  %b = weft.broadcast_in_dim %s, dims = [1] : tensor<3xf32, #cpu> -> tensor<4x3xf32, #cpu>
  %y = weft.mul %x, %b : tensor<4x3xf32, #cpu>
  weft.return %y : tensor<4x3xf32, #cpu>
}
