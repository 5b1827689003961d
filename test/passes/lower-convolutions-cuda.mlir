// RUN: weft-opt %s --weft-differentiate --canonicalize --weft-lower-convolutions="report=true target=sm_90" | FileCheck %s
// RUN: weft-opt %s --weft-pipeline=target=sm_90 -o /dev/null

#gpu = #weft.device<cuda:0>

// A convolution of halves, which no library computes, is one launch.
// CHECK-LABEL: weft.func @halves
// CHECK-NEXT: %[[Y:.*]] = weft.implicit_gemm %arg0 {{.*}} shape = [2, 1, 3, 4], extents = [8, 8], window = [3, 3]
// CHECK-NEXT: weft.return %[[Y]]
weft.func @halves(%x: tensor<2x3x8x8xbf16, #gpu>, %w: tensor<4x3x3x3xbf16, #gpu>) -> tensor<2x4x8x8xbf16, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xbf16, #gpu>, tensor<4x3x3x3xbf16, #gpu>
  weft.return %y : tensor<2x4x8x8xbf16, #gpu>
}

// Nine tiles are too few for all multiprocessors: the batch is divided into 16 groups, whose sums are added in the order
// of the weights.
// CHECK-LABEL: weft.func @weights
// CHECK: %[[P:.*]] = weft.implicit_gemm %arg0 [0, 1024, 131072, 65536, 32, 1], %{{.*}} [0, 131072, 1024, 65536, 32, 1], shape = [64, 16, 2, 64], extents = [32, 32], window = [32, 32], places = [3, 3], {{.*}}order = [1, 0, 2, 3]
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[P]] : tensor<1024x64x3x3xf32, {{.*}}> -> tensor<16x64x64x3x3xf32
// CHECK-NEXT: %[[S:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: weft.return %[[S]]
weft.func @weights(%x: tensor<32x64x32x32xf32, #gpu>, %w: tensor<64x64x3x3xf32, #gpu>) -> tensor<64x64x3x3xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x32x32xf32, #gpu>, tensor<64x64x3x3xf32, #gpu>
  %m = weft.mul %y, %y : tensor<32x64x32x32xf32, #gpu>
  %dw = weft.gradient %m wrt %w : tensor<32x64x32x32xf32, #gpu>, tensor<64x64x3x3xf32, #gpu>
  weft.return %dw : tensor<64x64x3x3xf32, #gpu>
}

// The same where nothing transposes the sums: their order is that of the convolution.
// CHECK-LABEL: weft.func @pieces
// CHECK: %[[P:.*]] = weft.implicit_gemm {{.*}} shape = [2, 16, 64, 8], {{.*}}order = [1, 0, 2]
// CHECK-NEXT: %[[R:.*]] = weft.reshape %[[P]]
// CHECK-NEXT: %[[S:.*]] = weft.sum %[[R]], dims = [0]
// CHECK-NEXT: %[[T:.*]] = weft.transpose %[[S]], perm = [1, 0, 2]
// CHECK-NEXT: weft.return %[[T]]
weft.func @pieces(%x: tensor<2x1024x9xf32, #gpu>, %w: tensor<8x1024x4xf32, #gpu>) -> tensor<2x8x6xf32, #gpu> {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x1024x9xf32, #gpu>, tensor<8x1024x4xf32, #gpu>
  weft.return %y : tensor<2x8x6xf32, #gpu>
}

// A product, for which nothing is said; and what no launch of a GPU computes, and why.
// CHECK-LABEL: weft.func @others
// CHECK-SAME: WEFT-N011{{[^;]*}}no launch of sm_90 computes a convolution of f64
// CHECK-SAME: WEFT-N011{{[^;]*}}its operand has zeros between its elements, and most that a launch multiplies would be zeros
// CHECK-SAME: WEFT-N011{{[^;]*}}its results are few and its sums long, so that the library divides the sums
// CHECK-SAME: WEFT-N011{{[^;]*}}its windows reach too far
// CHECK-NOT: WEFT-N011
// CHECK-NOT: weft.implicit_gemm
weft.func @others(%p: tensor<2x4x8xf32, #gpu>, %q: tensor<6x4x1xf32, #gpu>, %d: tensor<2x3x8xf64, #gpu>, %e: tensor<4x3x3xf64, #gpu>,
                  %w: tensor<2x4x3xf32, #gpu>, %h: tensor<2x1024x9xf16, #gpu>, %v: tensor<8x1024x4xf16, #gpu>)
    -> (tensor<2x6x8xf32, #gpu>, tensor<2x4x6xf64, #gpu>, tensor<2x2x13xf32, #gpu>, tensor<2x8x6xf16, #gpu>, tensor<2x2x6xf32, #gpu>) {
  %0 = weft.convolution %p, %q, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<6x4x1xf32, #gpu>
  %1 = weft.convolution %d, %e, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x8xf64, #gpu>, tensor<4x3x3xf64, #gpu>
  %2 = weft.convolution %p, %w, stride = [1], low = [0], high = [0], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<2x4x3xf32, #gpu>
  %3 = weft.convolution %h, %v, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x1024x9xf16, #gpu>, tensor<8x1024x4xf16, #gpu>
  %4 = weft.convolution %p, %w, stride = [1], low = [1073741824], high = [-1073741824], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #gpu>, tensor<2x4x3xf32, #gpu>
  weft.return %0, %1, %2, %3, %4 : tensor<2x6x8xf32, #gpu>, tensor<2x4x6xf64, #gpu>, tensor<2x2x13xf32, #gpu>, tensor<2x8x6xf16, #gpu>, tensor<2x2x6xf32, #gpu>
}
