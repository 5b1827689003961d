// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @implicit_gemm
weft.func @implicit_gemm(%x: tensor<2x3x8x9xf32, #cpu>, %w: tensor<3x4x2x3xf32, #cpu>) -> (tensor<4x2x7x4xf32, #cpu>, tensor<2x6x5xf32, #cpu>) {
  // Weights in another order of channels, reversed windows, a result in another order.
  // CHECK: weft.implicit_gemm %{{.*}} [0, 216, 0, 72, 9, 1], %{{.*}} [5, 0, 6, 24, -3, -1], shape = [2, 1, 3, 4], extents = [8, 9], window = [2, 3], places = [7, 4], stride = [1, 2], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [1, 0, 2, 3] : tensor<2x3x8x9xf32, #cpu>, tensor<3x4x2x3xf32, #cpu>
  %y = weft.implicit_gemm %x [0, 216, 0, 72, 9, 1], %w [5, 0, 6, 24, -3, -1], shape = [2, 1, 3, 4], extents = [8, 9], window = [2, 3],
       places = [7, 4], stride = [1, 2], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [1, 0, 2, 3]
     : tensor<2x3x8x9xf32, #cpu>, tensor<3x4x2x3xf32, #cpu>
  // Groups, and zeros between elements.
  // CHECK: weft.implicit_gemm %{{.*}} [0, 216, 72, 72, 9], %{{.*}} [0, 24, 6, 24, 1], shape = [2, 3, 1, 2], extents = [3], window = [3], places = [5], stride = [1], low = [1], base_dilation = [2], window_dilation = [1], order = [0, 1, 2]
  %z = weft.implicit_gemm %x [0, 216, 72, 72, 9], %w [0, 24, 6, 24, 1], shape = [2, 3, 1, 2], extents = [3], window = [3],
       places = [5], stride = [1], low = [1], base_dilation = [2], window_dilation = [1], order = [0, 1, 2]
     : tensor<2x3x8x9xf32, #cpu>, tensor<3x4x2x3xf32, #cpu>
  weft.return %y, %z : tensor<4x2x7x4xf32, #cpu>, tensor<2x6x5xf32, #cpu>
}

// A batch of any size, and what follows the sums.
// CHECK-LABEL: weft.func @epilogue
// CHECK: weft.implicit_gemm {{.*}}order = [0, 1, 2] epilogue ["relu"] : tensor
// CHECK: weft.implicit_gemm %{{.*}} [0, 24, 0, 8, 1], %{{.*}} [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], {{.*}}order = [0, 1, 2] epilogue ["sub", "mul", "add", "residual", "relu"] with(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<?x4x6xf32, #weft.device<cpu, [n]>>) : tensor<?x3x8xf32
weft.func @epilogue(%x: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>)
    -> tensor<?x4x6xf32, #weft.device<cpu, [n]>> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %r = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["relu"]
     : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  %y = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2]
       epilogue ["sub", "mul", "add", "residual", "relu"]
       with (%v, %v, %v, %r : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<?x4x6xf32, #weft.device<cpu, [n]>>)
     : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return %y : tensor<?x4x6xf32, #weft.device<cpu, [n]>>
}

// Winograd's method, with an epilogue.
// CHECK-LABEL: weft.func @winograd
// CHECK: weft.implicit_gemm {{.*}}order = [0, 1, 2, 3] winograd epilogue ["relu"] : tensor
weft.func @winograd(%x: tensor<2x3x8x9xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> tensor<2x4x6x7xf32, #cpu> {
  %y = weft.implicit_gemm %x [0, 216, 0, 72, 9, 1], %w [0, 0, 27, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8, 9], window = [3, 3],
       places = [6, 7], stride = [1, 1], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [0, 1, 2, 3] winograd epilogue ["relu"]
     : tensor<2x3x8x9xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x6x7xf32, #cpu>
}

// Sums of halves that stay f32.
#gpu = #weft.device<cuda:0>
// CHECK-LABEL: weft.func @wide
// CHECK: weft.implicit_gemm {{.*}}order = [0, 1, 2] epilogue ["wide"] : tensor<2x3x8xbf16, {{.*}}>, tensor<4x3x3xbf16, {{.*}}>
// CHECK-NEXT: weft.return %{{.*}} : tensor<2x4x6xf32, {{.*}}>
weft.func @wide(%x: tensor<2x3x8xbf16, #gpu>, %w: tensor<4x3x3xbf16, #gpu>) -> tensor<2x4x6xf32, #gpu> {
  %y = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["wide"] : tensor<2x3x8xbf16, #gpu>, tensor<4x3x3xbf16, #gpu>
  weft.return %y : tensor<2x4x6xf32, #gpu>
}
