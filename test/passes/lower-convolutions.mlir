// RUN: weft-opt %s --weft-differentiate --canonicalize --weft-lower-convolutions=report=true | FileCheck %s
// RUN: not weft-opt %s --weft-lower-convolutions=target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: weft-opt %s --weft-pipeline | FileCheck %s --check-prefix=LIST

// TARGET: unknown target 'abacus', expected one of cpu

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @forward
// CHECK-NEXT: %[[Y:.*]] = weft.implicit_gemm %arg0 [0, 192, 192, 64, 8, 1], %arg1 [0, 108, 27, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8, 8], window = [3, 3], places = [8, 8], stride = [1, 1], low = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], order = [0, 1, 2, 3]
// CHECK-NEXT: weft.return %[[Y]]
// LIST-LABEL: weft.func @forward
// LIST-NEXT:  weft.implicit_gemm
// LIST-NEXT:  weft.return
weft.func @forward(%x: tensor<2x3x8x8xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> tensor<2x4x8x8xf32, #cpu> {
  %y = weft.convolution %x, %w, stride = [1, 1], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 1
     : tensor<2x3x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x8x8xf32, #cpu>
}

// Both derivatives of a convolution in groups with a stride: operands are read where they lie, the reversed window with
// negative strides, and the derivative with respect to weights is written in their order.
// CHECK-LABEL: weft.func @gradients
// CHECK:      weft.implicit_gemm %{{.*}} [0, 64, 32, 16, 4, 1], %arg1 [8, 54, 9, 27, -3, -1], shape = [2, 2, 2, 3], extents = [4, 4], window = [3, 3], places = [8, 8], stride = [1, 1], low = [1, 1], base_dilation = [2, 2], window_dilation = [1, 1], order = [0, 1, 2, 3]
// CHECK:      weft.implicit_gemm %arg0 [0, 64, 192, 384, 8, 1], %{{.*}} [0, 32, 16, 64, 4, 1], shape = [3, 2, 2, 2], extents = [8, 8], window = [4, 4], places = [3, 3], stride = [1, 1], low = [1, 1], base_dilation = [1, 1], window_dilation = [2, 2], order = [1, 0, 2, 3]
// CHECK-NOT:  weft.transpose
// CHECK:      weft.return
weft.func @gradients(%x: tensor<2x6x8x8xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> (tensor<2x6x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>) {
  %y = weft.convolution %x, %w, stride = [2, 2], low = [1, 1], high = [1, 1], base_dilation = [1, 1], window_dilation = [1, 1], groups = 2
     : tensor<2x6x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  %m = weft.mul %y, %y : tensor<2x4x4x4xf32, #cpu>
  %dx, %dw = weft.gradient %m wrt %x, %w : tensor<2x4x4x4xf32, #cpu>, tensor<2x6x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %dx, %dw : tensor<2x6x8x8xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
}

// A part of a value that is there, and one in another order.
// CHECK-LABEL: weft.func @views
// CHECK: weft.implicit_gemm %arg0 [10, 40, 0, 1, 5], %arg1 [0, 0, 1, 2, 0], shape = [2, 1, 3, 2], extents = [4], window = [1], places = [4]
weft.func @views(%x: tensor<2x8x5xf32, #cpu>, %w: tensor<3x2xf32, #cpu>) -> tensor<2x2x4xf32, #cpu> {
  %part = weft.slice %x, start = [0, 2, 0], limit = [2, 6, 3], step = [1, 1, 1] : tensor<2x8x5xf32, #cpu>
  %a = weft.transpose %part, perm = [0, 2, 1] : tensor<2x4x3xf32, #cpu>
  %turned = weft.transpose %w, perm = [1, 0] : tensor<3x2xf32, #cpu>
  %b = weft.reshape %turned : tensor<2x3xf32, #cpu> -> tensor<2x3x1xf32, #cpu>
  %y = weft.convolution %a, %b, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x4xf32, #cpu>, tensor<2x3x1xf32, #cpu>
  weft.return %y : tensor<2x2x4xf32, #cpu>
}

// What no launch computes, and why.
// CHECK-LABEL: weft.func @others
// CHECK-SAME: WEFT-N011{{.*}}no launch of cpu computes a convolution of f64; it is several kernels, and may store all windows
// CHECK-SAME: WEFT-N011{{.*}}groups of one output are sums over windows where they lie
// CHECK-SAME: WEFT-N011{{.*}}a launch has no stride over an extent with a base dilation
// CHECK-SAME: WEFT-N011{{.*}}there is nothing to multiply
// CHECK-NOT: weft.implicit_gemm
weft.func @others(%d: tensor<2x3x8xf64, #cpu>, %e: tensor<4x3x3xf64, #cpu>, %x: tensor<2x4x8xf32, #cpu>, %one: tensor<4x1x3xf32, #cpu>,
                  %w: tensor<2x4x3xf32, #cpu>, %none: tensor<0x4x8xf32, #cpu>)
    -> (tensor<2x4x6xf64, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x2x7xf32, #cpu>, tensor<0x2x6xf32, #cpu>) {
  %0 = weft.convolution %d, %e, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x8xf64, #cpu>, tensor<4x3x3xf64, #cpu>
  %1 = weft.convolution %x, %one, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 4
     : tensor<2x4x8xf32, #cpu>, tensor<4x1x3xf32, #cpu>
  %2 = weft.convolution %x, %w, stride = [2], low = [0], high = [0], base_dilation = [2], window_dilation = [1], groups = 1
     : tensor<2x4x8xf32, #cpu>, tensor<2x4x3xf32, #cpu>
  %3 = weft.convolution %none, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<0x4x8xf32, #cpu>, tensor<2x4x3xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<2x4x6xf64, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<2x2x7xf32, #cpu>, tensor<0x2x6xf32, #cpu>
}

// A batch of any size. Neither of the derivatives' operands is copied.
// CHECK-LABEL: weft.func @batch
// CHECK: weft.implicit_gemm %arg0 [0, 24, 24, 8, 1], %arg1 [0, 36, 9, 3, 1], shape = [batch, 1, 3, 4], extents = [8], window = [3], places = [6]
// CHECK: weft.implicit_gemm %{{.*}} [0, 24, 24, 6, 1], %arg1 [2, 0, 3, 9, -1], shape = [batch, 1, 4, 3], extents = [6], window = [3], places = [8]
// CHECK: weft.implicit_gemm %arg0 [0, 8, 0, 24, 1], %{{.*}} [0, 0, 6, 24, 1], shape = [3, 1, batch, 4], extents = [8], window = [6], places = [3], {{.*}}order = [1, 0, 2]
weft.func @batch(%x: tensor<?x3x8xf32, #weft.device<cpu, [batch]>>, %w: tensor<4x3x3xf32, #cpu>)
    -> (tensor<?x3x8xf32, #weft.device<cpu, [batch]>>, tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"batch", 1, 64>]} {
  %y = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<?x3x8xf32, #weft.device<cpu, [batch]>>, tensor<4x3x3xf32, #cpu>
  %m = weft.mul %y, %y : tensor<?x4x6xf32, #weft.device<cpu, [batch]>>
  %dx, %dw = weft.gradient %m wrt %x, %w : tensor<?x4x6xf32, #weft.device<cpu, [batch]>>, tensor<?x3x8xf32, #weft.device<cpu, [batch]>>, tensor<4x3x3xf32, #cpu>
  weft.return %dx, %dw : tensor<?x3x8xf32, #weft.device<cpu, [batch]>>, tensor<4x3x3xf32, #cpu>
}

// Other dynamic sizes: an extent; channels of groups; a stride that depends on the batch; a batch that may be 0.
// CHECK-LABEL: weft.func @dynamic
// CHECK-SAME: WEFT-N011{{[^;]*}}a launch has sizes that are numbers, but for a batch, and these are known at run time only
// CHECK-SAME: WEFT-N011{{[^;]*}}a launch has sizes that are numbers, but for a batch, and these are known at run time only
// CHECK-SAME: WEFT-N011{{[^;]*}}a stride of an operand would be known at run time only
// CHECK-SAME: WEFT-N011{{[^;]*}}a size may be 0 at run time
// CHECK-NOT: weft.implicit_gemm
weft.func @dynamic(%x: tensor<2x3x?xf32, #weft.device<cpu, [n + 2]>>, %w: tensor<4x3x3xf32, #cpu>,
                   %b: tensor<2x?x8xf32, #weft.device<cpu, [2 * n]>>, %v: tensor<4x?x3xf32, #weft.device<cpu, [n]>>,
                   %c: tensor<2x?x8xf32, #weft.device<cpu, [n]>>, %z: tensor<?x3x8xf32, #weft.device<cpu, [m]>>)
    -> (tensor<2x4x?xf32, #weft.device<cpu, [n]>>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<?x4x6xf32, #weft.device<cpu, [m]>>)
    attributes {weft.symbols = [#weft.symbol<"m", 0, 64>, #weft.symbol<"n", 1, 64>]} {
  %0 = weft.convolution %x, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x3x?xf32, #weft.device<cpu, [n + 2]>>, tensor<4x3x3xf32, #cpu>
  %1 = weft.convolution %b, %v, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 2
     : tensor<2x?x8xf32, #weft.device<cpu, [2 * n]>>, tensor<4x?x3xf32, #weft.device<cpu, [n]>>
  %2 = weft.convolution %c, %v, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<2x?x8xf32, #weft.device<cpu, [n]>>, tensor<4x?x3xf32, #weft.device<cpu, [n]>>
  %3 = weft.convolution %z, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1
     : tensor<?x3x8xf32, #weft.device<cpu, [m]>>, tensor<4x3x3xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<2x4x?xf32, #weft.device<cpu, [n]>>, tensor<2x4x6xf32, #cpu>, tensor<2x4x6xf32, #cpu>, tensor<?x4x6xf32, #weft.device<cpu, [m]>>
}
