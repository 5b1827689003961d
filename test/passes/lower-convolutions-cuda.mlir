// A GPU has no launch of its own: the product of windows remains.
// RUN: weft-opt %s --weft-lower-convolutions='target=sm_90 report' | FileCheck %s
#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @main
// CHECK-SAME: WEFT-N011{{.*}}no launch of sm_90 computes a convolution of f32
// CHECK: weft.convolution
weft.func @main(%x: tensor<2x3x8xf32, #gpu>, %w: tensor<4x3x3xf32, #gpu>) -> tensor<2x4x6xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x8xf32, #gpu>, tensor<4x3x3xf32, #gpu>
  weft.return %y : tensor<2x4x6xf32, #gpu>
}
