#cpu = #weft.device<cpu>
module {
  weft.func @main(%arg0: tensor<32x64x32x32xf32, #cpu> {weft.name = "state0", weft.role = "state"}, %arg1: tensor<16xi64, #cpu> {weft.name = "state1", weft.role = "state"}, %arg2: tensor<16xi64, #cpu> {weft.name = "state2", weft.role = "state"}, %arg3: tensor<16xi64, #cpu> {weft.name = "state3", weft.role = "state"}, %arg4: tensor<16xi64, #cpu> {weft.name = "state4", weft.role = "state"}, %arg5: tensor<32x64x16x16xf32, #cpu> {weft.name = "state5", weft.role = "state"}) -> (tensor<32x64x16x16xf32, #cpu> {weft.name = "result0"}, tensor<32x64x32x32xf32, #cpu> {weft.name = ".grad"}) {
    %0 = weft.reshape %arg0 {weft.no_grad} : tensor<32x64x32x32xf32, #cpu> -> tensor<32x64x32x32xf32, #cpu>
    %1 = weft.constant dense<0xFF800000> : tensor<f32, #cpu>
    %2 = weft.pad %0 value %1, low = [0, 0, 1, 1], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : tensor<32x64x32x32xf32, #cpu>, tensor<f32, #cpu>
    %3 = weft.windows %2, size = [3, 3], stride = [2, 2], dilation = [1, 1] : tensor<32x64x33x33xf32, #cpu>
    %4 = weft.reshape %3 : tensor<32x64x3x3x16x16xf32, #cpu> -> tensor<32x64x9x16x16xf32, #cpu>
    %5 = weft.argmax %4, dim = 2 : tensor<32x64x9x16x16xf32, #cpu>
    %6 = weft.constant dense<3> : tensor<i64, #cpu>
    %7 = weft.broadcast_in_dim %6, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %8 = weft.mod %5, %7 : tensor<32x64x16x16xi64, #cpu>
    %9 = weft.constant dense<3> : tensor<i64, #cpu>
    %10 = weft.broadcast_in_dim %9, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %11 = weft.div %5, %10 : tensor<32x64x16x16xi64, #cpu>
    %12 = weft.rem %5, %10 : tensor<32x64x16x16xi64, #cpu>
    %13 = weft.constant dense<0> : tensor<32x64x16x16xi64, #cpu>
    %14 = weft.ne %12, %13 : tensor<32x64x16x16xi64, #cpu>
    %15 = weft.constant dense<0> : tensor<32x64x16x16xi64, #cpu>
    %16 = weft.lt %10, %15 : tensor<32x64x16x16xi64, #cpu>
    %17 = weft.constant dense<0> : tensor<32x64x16x16xi64, #cpu>
    %18 = weft.lt %12, %17 : tensor<32x64x16x16xi64, #cpu>
    %19 = weft.xor %16, %18 : tensor<32x64x16x16xi1, #cpu>
    %20 = weft.and %14, %19 : tensor<32x64x16x16xi1, #cpu>
    %21 = weft.constant dense<0> : tensor<32x64x16x16xi64, #cpu>
    %22 = weft.ne %10, %21 : tensor<32x64x16x16xi64, #cpu>
    %23 = weft.and %20, %22 : tensor<32x64x16x16xi1, #cpu>
    %24 = weft.constant dense<1> : tensor<32x64x16x16xi64, #cpu>
    %25 = weft.sub %11, %24 : tensor<32x64x16x16xi64, #cpu>
    %26 = weft.select %23, %25, %11 : tensor<32x64x16x16xi1, #cpu>, tensor<32x64x16x16xi64, #cpu>
    %27 = weft.broadcast_in_dim %arg1, dims = [3] : tensor<16xi64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %28 = weft.max %8, %27 : tensor<32x64x16x16xi64, #cpu>
    %29 = weft.constant dense<1> : tensor<i64, #cpu>
    %30 = weft.broadcast_in_dim %29, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %31 = weft.mul %28, %30 : tensor<32x64x16x16xi64, #cpu>
    %32 = weft.broadcast_in_dim %arg2, dims = [3] : tensor<16xi64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %33 = weft.add %32, %31 : tensor<32x64x16x16xi64, #cpu>
    %34 = weft.constant dense<1> : tensor<i64, #cpu>
    %35 = weft.broadcast_in_dim %34, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %36 = weft.mul %33, %35 : tensor<32x64x16x16xi64, #cpu>
    %37 = weft.reshape %arg3 : tensor<16xi64, #cpu> -> tensor<16x1xi64, #cpu>
    %38 = weft.broadcast_in_dim %37, dims = [2, 3] : tensor<16x1xi64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %39 = weft.max %26, %38 : tensor<32x64x16x16xi64, #cpu>
    %40 = weft.reshape %arg4 : tensor<16xi64, #cpu> -> tensor<16x1xi64, #cpu>
    %41 = weft.constant dense<1> : tensor<i64, #cpu>
    %42 = weft.broadcast_in_dim %41, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %43 = weft.mul %39, %42 : tensor<32x64x16x16xi64, #cpu>
    %44 = weft.broadcast_in_dim %40, dims = [2, 3] : tensor<16x1xi64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %45 = weft.add %44, %43 : tensor<32x64x16x16xi64, #cpu>
    %46 = weft.constant dense<32> : tensor<i64, #cpu>
    %47 = weft.broadcast_in_dim %46, dims = [] : tensor<i64, #cpu> -> tensor<32x64x16x16xi64, #cpu>
    %48 = weft.mul %45, %47 : tensor<32x64x16x16xi64, #cpu>
    %49 = weft.add %36, %48 : tensor<32x64x16x16xi64, #cpu>
    %50 = weft.reshape %arg0 : tensor<32x64x32x32xf32, #cpu> -> tensor<32x64x1024xf32, #cpu>
    %51 = weft.reshape %49 : tensor<32x64x16x16xi64, #cpu> -> tensor<32x64x256xi64, #cpu>
    %52 = weft.gather %50, %51, dim = 2, kind =  along mode =  assume {weft.pooled = array<i64: 32, 3, 2, 1, 1, 16, 32, 3, 2, 1, 1, 16>} : tensor<32x64x1024xf32, #cpu>, tensor<32x64x256xi64, #cpu>
    %53 = weft.reshape %52 : tensor<32x64x256xf32, #cpu> -> tensor<32x64x16x16xf32, #cpu>
    %54 = weft.mul %53, %arg5 : tensor<32x64x16x16xf32, #cpu>
    %55 = weft.sum %54, dims = [0, 1, 2, 3] : tensor<32x64x16x16xf32, #cpu>
    %56 = weft.gradient %55 wrt %arg0 {weft.no_grad} : tensor<f32, #cpu>, tensor<32x64x32x32xf32, #cpu>
    weft.return %53, %56 : tensor<32x64x16x16xf32, #cpu>, tensor<32x64x32x32xf32, #cpu>
  }
}
