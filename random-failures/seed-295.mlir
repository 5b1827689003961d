// backend: compilation: kernel 'main.loop.0' calls '__truncsfbf2', which is outside of the image: an operation in it has no instruction on the target
// from seed 295; inputs-seed: 295
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1xbf16, #cpu> {weft.name = "plain:0"}) -> tensor<1x10xbf16, #cpu> {
    %0 = weft.broadcast_in_dim %arg0, dims = [0] : tensor<1xbf16, #cpu> -> tensor<1x10xbf16, #cpu>
    weft.return %0 : tensor<1x10xbf16, #cpu>
  }
}

