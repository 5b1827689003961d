// RUN: weft-opt %s --weft-place-host-operands | FileCheck %s
// RUN: weft-opt %s --weft-place-host-operands --weft-verify-placement -o /dev/null

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// A scalar of the host is copied once for the device, and stretched to each shape that it meets.
// CHECK-LABEL: @scalar
weft.func @scalar(%x: tensor<4xf32, #gpu>, %g: tensor<f32, #gpu>, %s: tensor<f32, #cpu>)
    -> (tensor<4xf32, #gpu>, tensor<f32, #gpu>) {
  // CHECK: %[[T:.*]] = weft.transfer %arg2 to #cuda0_ non_blocking : tensor<f32, #cpu>
  // CHECK: %[[B:.*]] = weft.broadcast_in_dim %[[T]], dims = [] : tensor<f32, #cuda0_> -> tensor<4xf32, #cuda0_>
  // CHECK: weft.mul %arg0, %[[B]] : tensor<4xf32, #cuda0_>
  %0 = weft.mul %x, %s : tensor<4xf32, #gpu>, tensor<f32, #cpu>
  // CHECK: weft.sub %[[T]], %arg1 : tensor<f32, #cuda0_>
  // CHECK-NOT: weft.transfer
  %1 = weft.sub %s, %g : tensor<f32, #cpu>, tensor<f32, #gpu>
  weft.return %0, %1 : tensor<4xf32, #gpu>, tensor<f32, #gpu>
}

// An index of the host is copied to what it indexes.
// CHECK-LABEL: @index
weft.func @index(%x: tensor<9x4xf32, #gpu>, %i: tensor<5xi64, #cpu>) -> tensor<5x4xf32, #gpu> {
  // CHECK: %[[T:.*]] = weft.transfer %arg1 to #cuda0_ non_blocking : tensor<5xi64, #cpu>
  // CHECK: weft.gather %arg0, %[[T]],
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<9x4xf32, #gpu>, tensor<5xi64, #cpu>
  weft.return %0 : tensor<5x4xf32, #gpu>
}
