#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1024x1024xf32, #cpu> {weft.name = "state0", weft.role = "state"}) -> (tensor<1024x1024xf32, #cpu> {weft.name = "result0"}, tensor<1024x1024xi64, #cpu> {weft.name = "result1"}) {
    %values, %indices = weft.sort %arg0, count = 1024 : tensor<1024x1024xf32, #cpu>
    weft.return %values, %indices : tensor<1024x1024xf32, #cpu>, tensor<1024x1024xi64, #cpu>
  }
}
