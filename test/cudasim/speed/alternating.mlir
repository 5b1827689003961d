#cpu = #weft.device<cpu>
module {
  weft.func @alternating(%arg0: tensor<2048x128xf32, #cpu> {weft.name = "arg0", weft.role = "argument"}, %arg1: tensor<128x128xf32, #cpu> {weft.name = "arg1", weft.role = "argument"}) -> (tensor<2048x128xf32, #cpu> {weft.name = "result0"}) {
    %0 = weft.dot_general %arg0, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %1 = weft.tanh %0 : tensor<2048x128xf32, #cpu>
    %2 = weft.sigmoid %0 : tensor<2048x128xf32, #cpu>
    %3 = weft.mul %1, %2 : tensor<2048x128xf32, #cpu>
    %4 = weft.add %3, %arg0 : tensor<2048x128xf32, #cpu>
    %5 = weft.dot_general %4, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %6 = weft.tanh %5 : tensor<2048x128xf32, #cpu>
    %7 = weft.sigmoid %5 : tensor<2048x128xf32, #cpu>
    %8 = weft.mul %6, %7 : tensor<2048x128xf32, #cpu>
    %9 = weft.add %8, %arg0 : tensor<2048x128xf32, #cpu>
    %10 = weft.dot_general %9, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %11 = weft.tanh %10 : tensor<2048x128xf32, #cpu>
    %12 = weft.sigmoid %10 : tensor<2048x128xf32, #cpu>
    %13 = weft.mul %11, %12 : tensor<2048x128xf32, #cpu>
    %14 = weft.add %13, %arg0 : tensor<2048x128xf32, #cpu>
    %15 = weft.dot_general %14, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %16 = weft.tanh %15 : tensor<2048x128xf32, #cpu>
    %17 = weft.sigmoid %15 : tensor<2048x128xf32, #cpu>
    %18 = weft.mul %16, %17 : tensor<2048x128xf32, #cpu>
    %19 = weft.add %18, %arg0 : tensor<2048x128xf32, #cpu>
    %20 = weft.dot_general %19, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %21 = weft.tanh %20 : tensor<2048x128xf32, #cpu>
    %22 = weft.sigmoid %20 : tensor<2048x128xf32, #cpu>
    %23 = weft.mul %21, %22 : tensor<2048x128xf32, #cpu>
    %24 = weft.add %23, %arg0 : tensor<2048x128xf32, #cpu>
    %25 = weft.dot_general %24, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %26 = weft.tanh %25 : tensor<2048x128xf32, #cpu>
    %27 = weft.sigmoid %25 : tensor<2048x128xf32, #cpu>
    %28 = weft.mul %26, %27 : tensor<2048x128xf32, #cpu>
    %29 = weft.add %28, %arg0 : tensor<2048x128xf32, #cpu>
    %30 = weft.dot_general %29, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %31 = weft.tanh %30 : tensor<2048x128xf32, #cpu>
    %32 = weft.sigmoid %30 : tensor<2048x128xf32, #cpu>
    %33 = weft.mul %31, %32 : tensor<2048x128xf32, #cpu>
    %34 = weft.add %33, %arg0 : tensor<2048x128xf32, #cpu>
    %35 = weft.dot_general %34, %arg1, contract = [1] x [0] : tensor<2048x128xf32, #cpu>, tensor<128x128xf32, #cpu>
    %36 = weft.tanh %35 : tensor<2048x128xf32, #cpu>
    %37 = weft.sigmoid %35 : tensor<2048x128xf32, #cpu>
    %38 = weft.mul %36, %37 : tensor<2048x128xf32, #cpu>
    %39 = weft.add %38, %arg0 : tensor<2048x128xf32, #cpu>
    weft.return %39 : tensor<2048x128xf32, #cpu>
  }
}
