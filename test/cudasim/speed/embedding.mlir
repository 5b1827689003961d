#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1024x256xf32, #cpu> {weft.name = "state0", weft.role = "state"}, %arg1: tensor<16x128xi64, #cpu> {weft.name = "state1", weft.role = "state"}, %arg2: tensor<16x128x256xf32, #cpu> {weft.name = "state2", weft.role = "state"}) -> (tensor<16x128x256xf32, #cpu> {weft.name = "result0"}, tensor<1024x256xf32, #cpu> {weft.name = ".grad"}) {
    %0 = weft.gather %arg0, %arg1, dim = 0, kind =  points : tensor<1024x256xf32, #cpu>, tensor<16x128xi64, #cpu>
    %1 = weft.mul %0, %arg2 : tensor<16x128x256xf32, #cpu>
    %2 = weft.sum %1, dims = [0, 1, 2] : tensor<16x128x256xf32, #cpu>
    %3 = weft.gradient %2 wrt %arg0 {weft.no_grad} : tensor<f32, #cpu>, tensor<1024x256xf32, #cpu>
    weft.return %0, %3 : tensor<16x128x256xf32, #cpu>, tensor<1024x256xf32, #cpu>
  }
}
