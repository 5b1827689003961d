#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// A kernel of a GPU between two of the host.
weft.func @mixed(%x: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %e = weft.exp %x : tensor<64xf32, #cpu>
  %g = weft.transfer %e to #gpu : tensor<64xf32, #cpu>
  %m = weft.mul %g, %g : tensor<64xf32, #gpu>
  %h = weft.transfer %m to #cpu : tensor<64xf32, #gpu>
  %r = weft.mul %h, %x : tensor<64xf32, #cpu>
  weft.return %r : tensor<64xf32, #cpu>
}
