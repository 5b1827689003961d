// RUN: weft-opt %s --weft-cancel-transpositions | FileCheck %s
// RUN: weft-opt %s --weft-cancel-transpositions --weft-cancel-transpositions | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A norm of channels: statistics and elementwise ops are computed in the order of memory; a statistic leaves the region
// as it is.
// CHECK-LABEL: weft.func @norm(
// CHECK:         %[[MEAN:.*]], %{{.*}}, %{{.*}} = weft.welford %arg0, dims = [0, 2, 3] : tensor<4x6x8x8xf32
// CHECK:         %[[WIDE:.*]] = weft.broadcast_in_dim %[[MEAN]], dims = [1] : tensor<6xf32, #cpu> -> tensor<4x6x8x8xf32
// CHECK:         %[[Y:.*]] = weft.sub %arg0, %[[WIDE]] : tensor<4x6x8x8xf32
// CHECK:         %[[TWO:.*]] = weft.constant dense<2.000000e+00> : tensor<4x6x8x8xf32
// CHECK:         %[[Z:.*]] = weft.mul %[[Y]], %[[TWO]] : tensor<4x6x8x8xf32
// CHECK:         weft.return %[[Z]], %[[MEAN]]
weft.func @norm(%x: tensor<4x6x8x8xf32, #cpu>) -> (tensor<4x6x8x8xf32, #cpu>, tensor<6xf32, #cpu>) {
  %two = weft.constant dense<2.0> : tensor<6x4x8x8xf32, #cpu>
  %0 = weft.transpose %x, perm = [1, 0, 2, 3] : tensor<4x6x8x8xf32, #cpu>
  %mean, %m2, %n = weft.welford %0, dims = [1, 2, 3] : tensor<6x4x8x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %mean, dims = [0] : tensor<6xf32, #cpu> -> tensor<6x4x8x8xf32, #cpu>
  %2 = weft.sub %0, %1 : tensor<6x4x8x8xf32, #cpu>
  %3 = weft.mul %2, %two : tensor<6x4x8x8xf32, #cpu>
  %4 = weft.transpose %3, perm = [1, 0, 2, 3] : tensor<6x4x8x8xf32, #cpu>
  weft.return %4, %mean : tensor<4x6x8x8xf32, #cpu>, tensor<6xf32, #cpu>
}

// Several inputs; a broadcast whose dimensions change their order has its operand transposed, which is smaller.
// CHECK-LABEL: weft.func @inputs(
// CHECK:         %[[T:.*]] = weft.transpose %arg2, perm = [1, 0] : tensor<6x4xf32
// CHECK:         %[[B:.*]] = weft.broadcast_in_dim %[[T]], dims = [0, 1] : tensor<4x6xf32, #cpu> -> tensor<4x6x32xf32
// CHECK:         %[[A:.*]] = weft.mul %arg0, %[[B]]
// CHECK:         %[[F:.*]] = weft.full %arg3, shape = [4, 6, 32]
// CHECK:         %[[G:.*]] = weft.add %arg1, %[[F]]
// CHECK:         %[[S:.*]] = weft.mul %[[A]], %[[G]]
// CHECK:         weft.sum %[[S]], dims = [0, 2] : tensor<4x6x32xf32
weft.func @inputs(%x: tensor<4x6x32xf32, #cpu>, %y: tensor<4x6x32xf32, #cpu>, %w: tensor<6x4xf32, #cpu>, %s: tensor<f32, #cpu>) -> tensor<6xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x32xf32, #cpu>
  %1 = weft.transpose %y, perm = [1, 0, 2] : tensor<4x6x32xf32, #cpu>
  %2 = weft.broadcast_in_dim %w, dims = [0, 1] : tensor<6x4xf32, #cpu> -> tensor<6x4x32xf32, #cpu>
  %3 = weft.mul %0, %2 : tensor<6x4x32xf32, #cpu>
  %4 = weft.full %s, shape = [6, 4, 32] : tensor<f32, #cpu>
  %5 = weft.add %1, %4 : tensor<6x4x32xf32, #cpu>
  %6 = weft.mul %3, %5 : tensor<6x4x32xf32, #cpu>
  %7 = weft.sum %6, dims = [1, 2] : tensor<6x4x32xf32, #cpu>
  weft.return %7 : tensor<6xf32, #cpu>
}

// A region stays if one of its values is read in its own order, or has another source; if the reduction is over other
// dimensions; if pieces are no whole vectors; if the last dimension moves; and on other devices.
// CHECK-LABEL: weft.func @read(
// CHECK:         weft.sum %{{.*}}, dims = [1, 2] : tensor<6x4x32xf32
weft.func @read(%x: tensor<4x6x32xf32, #cpu>) -> (tensor<6x4x32xf32, #cpu>, tensor<6xf32, #cpu>) {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x32xf32, #cpu>
  %1 = weft.exp %0 : tensor<6x4x32xf32, #cpu>
  %2 = weft.sum %1, dims = [1, 2] : tensor<6x4x32xf32, #cpu>
  weft.return %1, %2 : tensor<6x4x32xf32, #cpu>, tensor<6xf32, #cpu>
}

// CHECK-LABEL: weft.func @source(
// CHECK:         weft.sum %{{.*}}, dims = [1, 2] : tensor<6x4x32xf32
weft.func @source(%x: tensor<4x6x32xf32, #cpu>, %y: tensor<6x4x32xf32, #cpu>) -> tensor<6xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x32xf32, #cpu>
  %1 = weft.add %0, %y : tensor<6x4x32xf32, #cpu>
  %2 = weft.sum %1, dims = [1, 2] : tensor<6x4x32xf32, #cpu>
  weft.return %2 : tensor<6xf32, #cpu>
}

// CHECK-LABEL: weft.func @others(
// CHECK:         weft.sum %{{.*}}, dims = [2] : tensor<6x4x32xf32
weft.func @others(%x: tensor<4x6x32xf32, #cpu>) -> tensor<6x4xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x32xf32, #cpu>
  %1 = weft.sum %0, dims = [2] : tensor<6x4x32xf32, #cpu>
  weft.return %1 : tensor<6x4xf32, #cpu>
}

// CHECK-LABEL: weft.func @short(
// CHECK:         weft.sum %{{.*}}, dims = [1, 2] : tensor<6x4x30xf32
weft.func @short(%x: tensor<4x6x30xf32, #cpu>) -> tensor<6xf32, #cpu> {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x30xf32, #cpu>
  %1 = weft.sum %0, dims = [1, 2] : tensor<6x4x30xf32, #cpu>
  weft.return %1 : tensor<6xf32, #cpu>
}

// CHECK-LABEL: weft.func @last(
// CHECK:         weft.sum %{{.*}}, dims = [1, 2] : tensor<32x4x16xf32
weft.func @last(%x: tensor<4x16x32xf32, #cpu>) -> tensor<32xf32, #cpu> {
  %0 = weft.transpose %x, perm = [2, 0, 1] : tensor<4x16x32xf32, #cpu>
  %1 = weft.sum %0, dims = [1, 2] : tensor<32x4x16xf32, #cpu>
  weft.return %1 : tensor<32xf32, #cpu>
}

// CHECK-LABEL: weft.func @device(
// CHECK:         weft.sum %{{.*}}, dims = [1, 2] : tensor<6x4x32xf32
weft.func @device(%x: tensor<4x6x32xf32, #gpu>) -> tensor<6xf32, #gpu> {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x6x32xf32, #gpu>
  %1 = weft.sum %0, dims = [1, 2] : tensor<6x4x32xf32, #gpu>
  weft.return %1 : tensor<6xf32, #gpu>
}
