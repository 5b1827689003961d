// RUN: weft-opt %s --weft-unroll-windows | FileCheck %s
// RUN: weft-opt %s --weft-unroll-windows --weft-unroll-windows | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// The elements of windows are slices, a stride apart; the largest is a tree of pairs.
// CHECK-LABEL: weft.func @pooled(
// CHECK:         %[[A:.*]] = weft.slice %arg0, start = [0, 0, 0], limit = [3, 7, 9], step = [1, 2, 2]
// CHECK:         %[[B:.*]] = weft.slice %arg0, start = [0, 0, 1], limit = [3, 7, 10], step = [1, 2, 2]
// CHECK:         %[[C:.*]] = weft.slice %arg0, start = [0, 1, 0], limit = [3, 8, 9], step = [1, 2, 2]
// CHECK:         %[[D:.*]] = weft.slice %arg0, start = [0, 1, 1], limit = [3, 8, 10], step = [1, 2, 2]
// CHECK:         %[[E:.*]] = weft.max %[[A]], %[[B]]
// CHECK:         %[[F:.*]] = weft.max %[[C]], %[[D]]
// CHECK:         %[[G:.*]] = weft.max %[[E]], %[[F]]
// CHECK:         weft.return %[[G]]
weft.func @pooled(%x: tensor<3x8x10xf32, #cpu>) -> tensor<3x4x5xf32, #cpu> {
  %0 = weft.windows %x, size = [2, 2], stride = [2, 2], dilation = [1, 1] : tensor<3x8x10xf32, #cpu>
  %1 = weft.rmax %0, dims = [1, 2] : tensor<3x2x2x4x5xf32, #cpu>
  weft.return %1 : tensor<3x4x5xf32, #cpu>
}

// Sums add eight at a time in pairs, and halves are rounded once.
// CHECK-LABEL: weft.func @added(
// CHECK-COUNT-9: weft.slice %arg0, {{.*}}, step = [1, 1, 1]
// CHECK-COUNT-9: weft.convert {{.*}} to f32
// CHECK:         %[[ZERO:.*]] = weft.constant dense<0.000000e+00>
// CHECK-COUNT-7: weft.add
// CHECK:         %[[EIGHT:.*]] = weft.add %[[ZERO]]
// CHECK-NEXT:    %[[ALL:.*]] = weft.add %[[EIGHT]]
// CHECK-NEXT:    weft.convert %[[ALL]] to f16
// CHECK-NOT:     weft.sum
weft.func @added(%x: tensor<2x8x10xf16, #cpu>) -> tensor<2x6x8xf16, #cpu> {
  %0 = weft.windows %x, size = [3, 3], stride = [1, 1], dilation = [1, 1] : tensor<2x8x10xf16, #cpu>
  %1 = weft.sum %0, dims = [1, 2] : tensor<2x3x3x6x8xf16, #cpu>
  weft.return %1 : tensor<2x6x8xf16, #cpu>
}

// The place of the largest, of windows whose elements are one dimension: the first of equals, and the first NaN.
// CHECK-LABEL: weft.func @places(
// CHECK:         %[[A:.*]] = weft.slice %arg0, start = [0], limit = [9], step = [2]
// CHECK:         %[[B:.*]] = weft.slice %arg0, start = [3], limit = [12], step = [2]
// CHECK:         %[[ABOVE:.*]] = weft.gt %[[B]], %[[A]]
// CHECK:         %[[NAN:.*]] = weft.ne %[[B]], %[[B]]
// CHECK:         %[[NUMBER:.*]] = weft.eq %[[A]], %[[A]]
// CHECK:         %[[FIRST:.*]] = weft.and %[[NAN]], %[[NUMBER]]
// CHECK:         %[[TAKEN:.*]] = weft.or %[[ABOVE]], %[[FIRST]]
// CHECK:         %[[ONE:.*]] = weft.constant dense<1>
// CHECK:         %[[N:.*]] = weft.select %[[TAKEN]], %[[ONE]], %{{.*}} : tensor<5xi1, #cpu>, tensor<5xi32
// CHECK:         %[[R:.*]] = weft.convert %[[N]] to i64
// CHECK:         weft.return %[[R]]
weft.func @places(%x: tensor<12xf32, #cpu>) -> tensor<5xi64, #cpu> {
  %0 = weft.windows %x, size = [2], stride = [2], dilation = [3] : tensor<12xf32, #cpu>
  %1 = weft.reshape %0 : tensor<2x5xf32, #cpu> -> tensor<2x5xf32, #cpu>
  %2 = weft.argmax %1, dim = 0 : tensor<2x5xf32, #cpu>
  weft.return %2 : tensor<5xi64, #cpu>
}

// Larger windows, part of a window, windows at one place, and other devices stay.
// CHECK-LABEL: weft.func @stay(
// CHECK-NOT:     weft.slice
// CHECK:         weft.sum {{.*}} tensor<5x5x4x4xf32
// CHECK:         weft.sum {{.*}} tensor<2x2x7x7xf32
// CHECK:         weft.sum {{.*}} tensor<2x2x1x1xf32
// CHECK:         weft.sum {{.*}} tensor<2x2x7x7xf32, #cuda0_>
weft.func @stay(%x: tensor<8x8xf32, #cpu>, %y: tensor<2x2xf32, #cpu>, %z: tensor<8x8xf32, #gpu>) -> (tensor<4x4xf32, #cpu>, tensor<2x7x7xf32, #cpu>, tensor<1x1xf32, #cpu>, tensor<7x7xf32, #gpu>) {
  %0 = weft.windows %x, size = [5, 5], stride = [1, 1], dilation = [1, 1] : tensor<8x8xf32, #cpu>
  %1 = weft.sum %0, dims = [0, 1] : tensor<5x5x4x4xf32, #cpu>
  %2 = weft.windows %x, size = [2, 2], stride = [1, 1], dilation = [1, 1] : tensor<8x8xf32, #cpu>
  %3 = weft.sum %2, dims = [0] : tensor<2x2x7x7xf32, #cpu>
  %4 = weft.windows %y, size = [2, 2], stride = [1, 1], dilation = [1, 1] : tensor<2x2xf32, #cpu>
  %5 = weft.sum %4, dims = [0, 1] : tensor<2x2x1x1xf32, #cpu>
  %6 = weft.windows %z, size = [2, 2], stride = [1, 1], dilation = [1, 1] : tensor<8x8xf32, #gpu>
  %7 = weft.sum %6, dims = [0, 1] : tensor<2x2x7x7xf32, #gpu>
  weft.return %1, %3, %5, %7 : tensor<4x4xf32, #cpu>, tensor<2x7x7xf32, #cpu>, tensor<1x1xf32, #cpu>, tensor<7x7xf32, #gpu>
}
