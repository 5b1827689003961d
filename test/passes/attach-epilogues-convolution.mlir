// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-attach-epilogues{report=true}))' | FileCheck %s

#cpu = #weft.device<cpu>

// A bias, batch norm in evaluation, a residual that is an argument, and relu; a comparison reads the result.
// CHECK-LABEL: weft.func @block
// CHECK:         %[[M:.*]] = weft.reshape %arg3
// CHECK:         %[[Y:.*]] = weft.implicit_gemm %arg0 {{.*}} epilogue ["add", "sub", "mul", "residual", "relu"] with(%arg2, %[[M]], %arg2, %arg4 :
// CHECK-NEXT:    %[[P:.*]] = weft.gt %[[Y]], %{{.*}}
// CHECK-NEXT:    weft.return %[[Y]], %[[P]]
weft.func @block(%x: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %b: tensor<4xf32, #cpu>, %m: tensor<4x1xf32, #cpu>,
                 %r: tensor<2x4x6xf32, #cpu>) -> (tensor<2x4x6xf32, #cpu>, tensor<2x4x6xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<2x4x6xf32, #cpu>
  %y = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %bias = weft.broadcast_in_dim %b, dims = [1] : tensor<4xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %mean = weft.broadcast_in_dim %m, dims = [1, 2] : tensor<4x1xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %column = weft.reshape %b : tensor<4xf32, #cpu> -> tensor<4x1xf32, #cpu>
  %scale = weft.broadcast_in_dim %column, dims = [1, 2] : tensor<4x1xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %0 = weft.add %bias, %y : tensor<2x4x6xf32, #cpu>
  %1 = weft.sub %0, %mean : tensor<2x4x6xf32, #cpu>
  %2 = weft.mul %1, %scale : tensor<2x4x6xf32, #cpu>
  %3 = weft.add %r, %2 : tensor<2x4x6xf32, #cpu>
  %positive = weft.gt %3, %z : tensor<2x4x6xf32, #cpu>
  %4 = weft.max %3, %z : tensor<2x4x6xf32, #cpu>
  weft.return %4, %positive : tensor<2x4x6xf32, #cpu>, tensor<2x4x6xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// One of two convolutions that are added takes the other, which is in memory. The result has the channels first.
// CHECK-LABEL: weft.func @branches
// CHECK:         %[[B:.*]] = weft.implicit_gemm %arg0 {{.*}} order = [1, 0, 2] : tensor
// CHECK:         %[[A:.*]] = weft.implicit_gemm %arg0 {{.*}} order = [1, 0, 2] epilogue ["mul", "residual"] with(%arg2, %[[B]] :
// CHECK-NEXT:    weft.return %[[A]]
weft.func @branches(%x: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>) -> tensor<4x2x6xf32, #cpu> {
  %a = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [1, 0, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %b = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [1, 0, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %scale = weft.broadcast_in_dim %v, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x2x6xf32, #cpu>
  %0 = weft.mul %a, %scale : tensor<4x2x6xf32, #cpu>
  %1 = weft.add %0, %b : tensor<4x2x6xf32, #cpu>
  weft.return %1 : tensor<4x2x6xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What is no step: a vector along another dimension, a vector minus the sums, a residual that is not in memory, and what
// another op reads. Other activations are computed by the kernel after it.
// CHECK-LABEL: weft.func @others
// CHECK-SAME:    WEFT-N002{{.*}}relu remains a separate op: another op, weft.exp, reads the value before it
// CHECK-SAME:    WEFT-N005{{.*}}is computed by the kernel after the convolution: its epilogues are sums, products and relu
// CHECK-NOT:     epilogue
weft.func @others(%x: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>, %u: tensor<6xf32, #cpu>, %r: tensor<2x4x6xf32, #cpu>)
    -> (tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<2x4x6xf32, #cpu>
  %a = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %b = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [1], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %c = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [2], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %d = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [3], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %e = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [4], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %row = weft.broadcast_in_dim %u, dims = [2] : tensor<6xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %along = weft.broadcast_in_dim %v, dims = [1] : tensor<4xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %0 = weft.add %a, %row : tensor<2x4x6xf32, #cpu>
  %1 = weft.sub %along, %b : tensor<2x4x6xf32, #cpu>
  %2 = weft.exp %r : tensor<2x4x6xf32, #cpu>
  %3 = weft.add %c, %2 : tensor<2x4x6xf32, #cpu>
  %4 = weft.exp %d : tensor<2x4x6xf32, #cpu>
  %5 = weft.max %d, %z : tensor<2x4x6xf32, #cpu>
  %6 = weft.tanh %e : tensor<2x4x6xf32, #cpu>
  %7 = weft.exp %2 : tensor<2x4x6xf32, #cpu>
  weft.return %0, %1, %3, %4, %5, %6, %7 : tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A launch has at most eight steps.
// CHECK-LABEL: weft.func @many
// CHECK:         weft.implicit_gemm {{.*}} epilogue ["mul", "mul", "mul", "mul", "mul", "mul", "mul", "mul"] with
// CHECK:         weft.max
weft.func @many(%x: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>) -> tensor<2x4x6xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<2x4x6xf32, #cpu>
  %y = weft.implicit_gemm %x [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6],
       stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  %s = weft.broadcast_in_dim %v, dims = [1] : tensor<4xf32, #cpu> -> tensor<2x4x6xf32, #cpu>
  %0 = weft.mul %y, %s : tensor<2x4x6xf32, #cpu>
  %1 = weft.mul %0, %s : tensor<2x4x6xf32, #cpu>
  %2 = weft.mul %1, %s : tensor<2x4x6xf32, #cpu>
  %3 = weft.mul %2, %s : tensor<2x4x6xf32, #cpu>
  %4 = weft.mul %3, %s : tensor<2x4x6xf32, #cpu>
  %5 = weft.mul %4, %s : tensor<2x4x6xf32, #cpu>
  %6 = weft.mul %5, %s : tensor<2x4x6xf32, #cpu>
  %7 = weft.mul %6, %s : tensor<2x4x6xf32, #cpu>
  %8 = weft.max %7, %z : tensor<2x4x6xf32, #cpu>
  weft.return %8 : tensor<2x4x6xf32, #cpu>
}
