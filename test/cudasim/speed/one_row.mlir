#cpu = #weft.device<cpu>
module {
  weft.func @one_row(%arg0: tensor<1x784xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<512x784xf32, #cpu> {weft.name = "fc1.weight", weft.role = "state"}, %arg2: tensor<512xf32, #cpu> {weft.name = "fc1.bias", weft.role = "state"}, %arg3: tensor<256x512xf32, #cpu> {weft.name = "fc2.weight", weft.role = "state"}, %arg4: tensor<256xf32, #cpu> {weft.name = "fc2.bias", weft.role = "state"}, %arg5: tensor<10x256xf32, #cpu> {weft.name = "fc3.weight", weft.role = "state"}, %arg6: tensor<10xf32, #cpu> {weft.name = "fc3.bias", weft.role = "state"}) -> (tensor<1x10xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.transpose %arg1, perm = [1, 0] : tensor<512x784xf32, #cpu>
    %1 = weft.dot_general %arg0, %0, contract = [1] x [0] : tensor<1x784xf32, #cpu>, tensor<784x512xf32, #cpu>
    %2 = weft.broadcast_in_dim %arg2, dims = [1] : tensor<512xf32, #cpu> -> tensor<1x512xf32, #cpu>
    %3 = weft.add %1, %2 : tensor<1x512xf32, #cpu>
    %4 = weft.constant dense<0.000000e+00> : tensor<1x512xf32, #cpu>
    %5 = weft.max %3, %4 {weft.relu} : tensor<1x512xf32, #cpu>
    %6 = weft.transpose %arg3, perm = [1, 0] : tensor<256x512xf32, #cpu>
    %7 = weft.dot_general %5, %6, contract = [1] x [0] : tensor<1x512xf32, #cpu>, tensor<512x256xf32, #cpu>
    %8 = weft.broadcast_in_dim %arg4, dims = [1] : tensor<256xf32, #cpu> -> tensor<1x256xf32, #cpu>
    %9 = weft.add %7, %8 : tensor<1x256xf32, #cpu>
    %10 = weft.constant dense<0.000000e+00> : tensor<1x256xf32, #cpu>
    %11 = weft.max %9, %10 {weft.relu} : tensor<1x256xf32, #cpu>
    %12 = weft.transpose %arg5, perm = [1, 0] : tensor<10x256xf32, #cpu>
    %13 = weft.dot_general %11, %12, contract = [1] x [0] : tensor<1x256xf32, #cpu>, tensor<256x10xf32, #cpu>
    %14 = weft.broadcast_in_dim %arg6, dims = [1] : tensor<10xf32, #cpu> -> tensor<1x10xf32, #cpu>
    %15 = weft.add %13, %14 : tensor<1x10xf32, #cpu>
    weft.return %15 : tensor<1x10xf32, #cpu>
  }
}
