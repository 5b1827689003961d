#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<32x64x32x32xf32, #cpu> {weft.name = "state0", weft.role = "state"}, %arg1: tensor<64xf32, #cpu> {weft.name = "weight", weft.role = "state"}, %arg2: tensor<64xf32, #cpu> {weft.name = "bias", weft.role = "state"}, %arg3: tensor<i64, #cpu> {weft.donated, weft.name = "num_batches_tracked", weft.role = "state"}, %arg4: tensor<64xf32, #cpu> {weft.donated, weft.name = "running_mean", weft.role = "state"}, %arg5: tensor<64xf32, #cpu> {weft.donated, weft.name = "running_var", weft.role = "state"}, %arg6: tensor<32x64x32x32xf32, #cpu> {weft.name = "state6", weft.role = "state"}) -> (tensor<32x64x32x32xf32, #cpu> {weft.name = "result0"}, tensor<32x64x32x32xf32, #cpu> {weft.name = ".grad"}, tensor<64xf32, #cpu> {weft.name = "weight.grad"}, tensor<64xf32, #cpu> {weft.name = "bias.grad"}, tensor<i64, #cpu> {weft.name = "num_batches_tracked", weft.tied = 3 : i64}, tensor<64xf32, #cpu> {weft.name = "running_mean", weft.tied = 4 : i64}, tensor<64xf32, #cpu> {weft.name = "running_var", weft.tied = 5 : i64}) {
    %0 = weft.constant dense<1> : tensor<i64, #cpu>
    %1 = weft.add %arg3, %0 : tensor<i64, #cpu>
    %2 = weft.transpose %arg0, perm = [1, 0, 2, 3] : tensor<32x64x32x32xf32, #cpu>
    %3 = weft.reshape %2 {weft.no_grad} : tensor<64x32x32x32xf32, #cpu> -> tensor<64x32x32x32xf32, #cpu>
    %mean, %m2, %count = weft.welford %3, dims = [1, 2, 3] : tensor<64x32x32x32xf32, #cpu>
    %4 = weft.constant dense<0.899999976> : tensor<f32, #cpu>
    %5 = weft.broadcast_in_dim %4, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
    %6 = weft.mul %arg4, %5 : tensor<64xf32, #cpu>
    %7 = weft.constant dense<1.000000e-01> : tensor<f32, #cpu>
    %8 = weft.broadcast_in_dim %7, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
    %9 = weft.mul %mean, %8 : tensor<64xf32, #cpu>
    %10 = weft.add %6, %9 : tensor<64xf32, #cpu>
    %11 = weft.constant dense<3.276700e+04> : tensor<f32, #cpu>
    %12 = weft.broadcast_in_dim %11, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
    %13 = weft.div %m2, %12 : tensor<64xf32, #cpu>
    %14 = weft.constant dense<0.899999976> : tensor<f32, #cpu>
    %15 = weft.broadcast_in_dim %14, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
    %16 = weft.mul %arg5, %15 : tensor<64xf32, #cpu>
    %17 = weft.constant dense<1.000000e-01> : tensor<f32, #cpu>
    %18 = weft.broadcast_in_dim %17, dims = [] : tensor<f32, #cpu> -> tensor<64xf32, #cpu>
    %19 = weft.mul %13, %18 : tensor<64xf32, #cpu>
    %20 = weft.add %16, %19 : tensor<64xf32, #cpu>
    %y, %mean_0, %rstd = weft.layer_norm %2, axis = 1, eps = 1.000000e-05 : tensor<64x32x32x32xf32, #cpu>
    %21 = weft.transpose %y, perm = [1, 0, 2, 3] : tensor<64x32x32x32xf32, #cpu>
    %22 = weft.reshape %arg1 : tensor<64xf32, #cpu> -> tensor<64x1x1xf32, #cpu>
    %23 = weft.broadcast_in_dim %22, dims = [1, 2, 3] : tensor<64x1x1xf32, #cpu> -> tensor<32x64x32x32xf32, #cpu>
    %24 = weft.mul %21, %23 : tensor<32x64x32x32xf32, #cpu>
    %25 = weft.reshape %arg2 : tensor<64xf32, #cpu> -> tensor<64x1x1xf32, #cpu>
    %26 = weft.broadcast_in_dim %25, dims = [1, 2, 3] : tensor<64x1x1xf32, #cpu> -> tensor<32x64x32x32xf32, #cpu>
    %27 = weft.add %24, %26 : tensor<32x64x32x32xf32, #cpu>
    %28 = weft.mul %27, %arg6 : tensor<32x64x32x32xf32, #cpu>
    %29 = weft.sum %28, dims = [0, 1, 2, 3] : tensor<32x64x32x32xf32, #cpu>
    %30:3 = weft.gradient %29 wrt %arg0, %arg1, %arg2 {weft.no_grad} : tensor<f32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
    weft.return %27, %30#0, %30#1, %30#2, %1, %10, %20 : tensor<32x64x32x32xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<i64, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
  }
}
