// RUN: weft-opt %s --weft-differentiate --canonicalize --weft-lower-convolutions=report=true | FileCheck %s
// RUN: weft-opt %s --weft-pipeline | FileCheck %s --check-prefix=LIST

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// Fast numerics: a convolution and both of its derivatives take fewer products.
// CHECK-LABEL: weft.func @fast
// CHECK-SAME: WEFT-N013{{[^;]*}}tiles of 4 x 4 places take 36 products instead of 144, by Winograd's method
// CHECK: weft.implicit_gemm {{.*}} window = [3, 3], places = [16, 16], {{.*}} winograd :
// CHECK: weft.implicit_gemm {{.*}} [8, 0, 9, 576, -3, -1], {{.*}} window = [3, 3], places = [16, 16], {{.*}} winograd :
// CHECK: weft.implicit_gemm {{.*}} window = [16, 16], places = [3, 3], {{.*}} winograd :
// LIST-LABEL: weft.func @fast
// LIST-COUNT-3: winograd {{.*}}weft.capture
weft.func @fast(%x: tensor<32x64x16x16xf32, #cpu>, %w: tensor<64x64x3x3xf32, #cpu>)
    -> (tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>) attributes {weft.numerics = "fast"} {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  %m = weft.mul %y, %y : tensor<32x64x16x16xf32, #cpu>
  %dx, %dw = weft.gradient %m wrt %x, %w : tensor<32x64x16x16xf32, #cpu>, tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  weft.return %dx, %dw : tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
}

// The epilogue stays, and so does the method with it; so does a batch of any size.
// CHECK-LABEL: weft.func @any_batch
// CHECK: weft.implicit_gemm {{.*}} shape = [n, 1, 64, 64], {{.*}} winograd :
// LIST-LABEL: weft.func @any_batch
// LIST: winograd epilogue ["add"]
weft.func @any_batch(%x: tensor<?x64x16x16xf32, #weft.device<cpu, [n]>>, %w: tensor<64x64x3x3xf32, #cpu>, %b: tensor<64xf32, #cpu>)
    -> tensor<?x64x16x16xf32, #weft.device<cpu, [n]>> attributes {weft.numerics = "fast", weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<?x64x16x16xf32, #weft.device<cpu, [n]>>, tensor<64x64x3x3xf32, #cpu>
  %bias = weft.broadcast_in_dim %b, dims = [1] : tensor<64xf32, #cpu> -> tensor<?x64x16x16xf32, #weft.device<cpu, [n]>>
  %r = weft.add %y, %bias : tensor<?x64x16x16xf32, #weft.device<cpu, [n]>>
  weft.return %r : tensor<?x64x16x16xf32, #weft.device<cpu, [n]>>
}

// Eager numerics, few channels, a stride, another window, groups: the products themselves.
// CHECK-LABEL: weft.func @eager
// CHECK-NOT: WEFT-N013
// CHECK-NOT: winograd
weft.func @eager(%x: tensor<32x64x16x16xf32, #cpu>, %w: tensor<64x64x3x3xf32, #cpu>) -> tensor<32x64x16x16xf32, #cpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  weft.return %y : tensor<32x64x16x16xf32, #cpu>
}

// CHECK-LABEL: weft.func @others
// CHECK-NOT: WEFT-N013
// CHECK-NOT: winograd
weft.func @others(%i: tensor<32x3x16x16xf32, #cpu>, %v: tensor<64x3x3x3xf32, #cpu>, %x: tensor<32x64x16x16xf32, #cpu>,
                  %w: tensor<64x64x3x3xf32, #cpu>, %u: tensor<64x64x5x5xf32, #cpu>, %g: tensor<64x32x3x3xf32, #cpu>,
                  %one: tensor<1x64x4x4xf32, #cpu>)
    -> (tensor<32x64x16x16xf32, #cpu>, tensor<32x64x8x8xf32, #cpu>, tensor<32x64x12x12xf32, #cpu>, tensor<32x64x16x16xf32, #cpu>,
        tensor<1x64x4x4xf32, #cpu>) attributes {weft.numerics = "fast"} {
  %0 = weft.convolution %i, %v, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x3x16x16xf32, #cpu>, tensor<64x3x3x3xf32, #cpu>
  %1 = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x16x16xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  %2 = weft.convolution %x, %u, stride = [1, 1], low = [0, 0], high = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<32x64x16x16xf32, #cpu>, tensor<64x64x5x5xf32, #cpu>
  %3 = weft.convolution %x, %g, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 2
     : tensor<32x64x16x16xf32, #cpu>, tensor<64x32x3x3xf32, #cpu>
  // One small image: transforming the weights takes longer than the products.
  %4 = weft.convolution %one, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<1x64x4x4xf32, #cpu>, tensor<64x64x3x3xf32, #cpu>
  weft.return %0, %1, %2, %3, %4 : tensor<32x64x16x16xf32, #cpu>, tensor<32x64x8x8xf32, #cpu>, tensor<32x64x12x12xf32, #cpu>, tensor<32x64x16x16xf32, #cpu>, tensor<1x64x4x4xf32, #cpu>
}
