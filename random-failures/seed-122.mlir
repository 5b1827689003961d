// backend: compilation: kernel 'main.loop.0' calls '__truncsfbf2', which is outside of the image: an operation in it has no instruction on the target
// from seed 122; inputs-seed: 122
#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<bf16, #cpu> {weft.name = "plain:3"}) -> tensor<5x1x2xbf16, #cpu> {
    %0 = weft.full %arg0, shape = [5, 1, 2] : tensor<bf16, #cpu>
    weft.return %0 : tensor<5x1x2xbf16, #cpu>
  }
}

