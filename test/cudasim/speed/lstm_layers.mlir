#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<1024x256xf32, #cpu> {weft.name = "weight_ih_l0", weft.role = "state"}, %arg1: tensor<1024x256xf32, #cpu> {weft.name = "weight_hh_l0", weft.role = "state"}, %arg2: tensor<1024xf32, #cpu> {weft.name = "bias_ih_l0", weft.role = "state"}, %arg3: tensor<1024xf32, #cpu> {weft.name = "bias_hh_l0", weft.role = "state"}, %arg4: tensor<1024x256xf32, #cpu> {weft.name = "weight_ih_l1", weft.role = "state"}, %arg5: tensor<1024x256xf32, #cpu> {weft.name = "weight_hh_l1", weft.role = "state"}, %arg6: tensor<1024xf32, #cpu> {weft.name = "bias_ih_l1", weft.role = "state"}, %arg7: tensor<1024xf32, #cpu> {weft.name = "bias_hh_l1", weft.role = "state"}, %arg8: tensor<64x32x256xf32, #cpu> {weft.name = "state8", weft.role = "state"}) -> (tensor<f32, #cpu> {weft.name = "result0"}, tensor<1024x256xf32, #cpu> {weft.name = "weight_ih_l0.grad"}, tensor<1024x256xf32, #cpu> {weft.name = "weight_hh_l0.grad"}, tensor<1024xf32, #cpu> {weft.name = "bias_ih_l0.grad"}, tensor<1024xf32, #cpu> {weft.name = "bias_hh_l0.grad"}, tensor<1024x256xf32, #cpu> {weft.name = "weight_ih_l1.grad"}, tensor<1024x256xf32, #cpu> {weft.name = "weight_hh_l1.grad"}, tensor<1024xf32, #cpu> {weft.name = "bias_ih_l1.grad"}, tensor<1024xf32, #cpu> {weft.name = "bias_hh_l1.grad"}) {
    %0 = weft.constant dense<0.000000e+00> : tensor<32x256xf32, #cpu>
    %1 = weft.constant dense<0.000000e+00> : tensor<32x256xf32, #cpu>
    %2 = weft.transpose %arg1, perm = [1, 0] : tensor<1024x256xf32, #cpu>
    %3 = weft.add %arg2, %arg3 : tensor<1024xf32, #cpu>
    %4 = weft.transpose %arg0, perm = [1, 0] : tensor<1024x256xf32, #cpu>
    %5 = weft.dot_general %arg8, %4, contract = [2] x [0] : tensor<64x32x256xf32, #cpu>, tensor<256x1024xf32, #cpu>
    %6 = weft.broadcast_in_dim %3, dims = [2] : tensor<1024xf32, #cpu> -> tensor<64x32x1024xf32, #cpu>
    %7 = weft.add %5, %6 : tensor<64x32x1024xf32, #cpu>
    %8:3 = weft.scan @body_72c22d61733c90b6(%0, %1) over(%7) with(%2), length = 64 : (tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<64x32x1024xf32, #cpu>, tensor<256x1024xf32, #cpu>) -> (tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<64x32x256xf32, #cpu>)
    %9 = weft.constant dense<0.000000e+00> : tensor<32x256xf32, #cpu>
    %10 = weft.constant dense<0.000000e+00> : tensor<32x256xf32, #cpu>
    %11 = weft.transpose %arg5, perm = [1, 0] : tensor<1024x256xf32, #cpu>
    %12 = weft.add %arg6, %arg7 : tensor<1024xf32, #cpu>
    %13 = weft.transpose %arg4, perm = [1, 0] : tensor<1024x256xf32, #cpu>
    %14 = weft.dot_general %8#2, %13, contract = [2] x [0] : tensor<64x32x256xf32, #cpu>, tensor<256x1024xf32, #cpu>
    %15 = weft.broadcast_in_dim %12, dims = [2] : tensor<1024xf32, #cpu> -> tensor<64x32x1024xf32, #cpu>
    %16 = weft.add %14, %15 : tensor<64x32x1024xf32, #cpu>
    %17:3 = weft.scan @body_72c22d61733c90b6(%9, %10) over(%16) with(%11), length = 64 : (tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<64x32x1024xf32, #cpu>, tensor<256x1024xf32, #cpu>) -> (tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<64x32x256xf32, #cpu>)
    %18 = weft.mul %17#2, %17#2 : tensor<64x32x256xf32, #cpu>
    %19 = weft.sum %18, dims = [0, 1, 2] : tensor<64x32x256xf32, #cpu>
    %20 = weft.constant dense<5.242880e+05> : tensor<f32, #cpu>
    %21 = weft.div %19, %20 : tensor<f32, #cpu>
    %22:8 = weft.gradient %21 wrt %arg1, %arg2, %arg3, %arg0, %arg5, %arg6, %arg7, %arg4 {weft.no_grad} : tensor<f32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024x256xf32, #cpu>
    weft.return %21, %22#3, %22#0, %22#1, %22#2, %22#7, %22#4, %22#5, %22#6 : tensor<f32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024x256xf32, #cpu>, tensor<1024xf32, #cpu>, tensor<1024xf32, #cpu>
  }
  weft.func private @body_72c22d61733c90b6(%arg0: tensor<32x256xf32, #cpu> {weft.role = "argument"}, %arg1: tensor<32x256xf32, #cpu> {weft.role = "argument"}, %arg2: tensor<32x1024xf32, #cpu> {weft.role = "argument"}, %arg3: tensor<256x1024xf32, #cpu> {weft.role = "argument"}) -> (tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>) {
    %0 = weft.dot_general %arg0, %arg3, contract = [1] x [0] : tensor<32x256xf32, #cpu>, tensor<256x1024xf32, #cpu>
    %1 = weft.add %arg2, %0 : tensor<32x1024xf32, #cpu>
    %2 = weft.slice %1, start = [0, 256], limit = [32, 512], step = [1, 1] : tensor<32x1024xf32, #cpu>
    %3 = weft.sigmoid %2 : tensor<32x256xf32, #cpu>
    %4 = weft.mul %3, %arg1 : tensor<32x256xf32, #cpu>
    %5 = weft.slice %1, start = [0, 0], limit = [32, 256], step = [1, 1] : tensor<32x1024xf32, #cpu>
    %6 = weft.sigmoid %5 : tensor<32x256xf32, #cpu>
    %7 = weft.slice %1, start = [0, 512], limit = [32, 768], step = [1, 1] : tensor<32x1024xf32, #cpu>
    %8 = weft.tanh %7 : tensor<32x256xf32, #cpu>
    %9 = weft.mul %6, %8 : tensor<32x256xf32, #cpu>
    %10 = weft.add %4, %9 : tensor<32x256xf32, #cpu>
    %11 = weft.slice %1, start = [0, 768], limit = [32, 1024], step = [1, 1] : tensor<32x1024xf32, #cpu>
    %12 = weft.sigmoid %11 : tensor<32x256xf32, #cpu>
    %13 = weft.tanh %10 : tensor<32x256xf32, #cpu>
    %14 = weft.mul %12, %13 : tensor<32x256xf32, #cpu>
    weft.return %14, %10, %14 : tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>, tensor<32x256xf32, #cpu>
  }
}
