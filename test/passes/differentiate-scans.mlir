// RUN: weft-opt %s --weft-differentiate --symbol-dce | FileCheck %s

#cpu = #weft.device<cpu>

// The loop also stacks the carries, which the derivative reads. The gradient of the constant is a sum over the trips, which
// go in the opposite direction.
// CHECK-LABEL: weft.func private @cell.derivative
// CHECK-SAME:    (%[[DH:.*]]: tensor<4xf32, #cpu>, %[[SUM:.*]]: tensor<4xf32, #cpu>, %[[H:.*]]: tensor<4xf32, #cpu>, %[[W:.*]]: tensor<4xf32, #cpu>)
// CHECK:         %[[SEED:.*]] = weft.mul %{{.*}}, %[[DH]]
// CHECK-DAG:     %[[NEXT:.*]] = weft.mul %[[SEED]], %[[W]]
// CHECK-DAG:     %[[DW:.*]] = weft.mul %[[SEED]], %[[H]]
// CHECK:         %[[ADDED:.*]] = weft.add %[[SUM]], %[[DW]]
// CHECK:         weft.return %[[NEXT]], %[[ADDED]]
weft.func private @cell(%h: tensor<4xf32, #cpu>, %x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %m = weft.mul %h, %w : tensor<4xf32, #cpu>
  %n = weft.add %m, %x : tensor<4xf32, #cpu>
  weft.return %n : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @loop
// CHECK:         %[[LOOP:.*]]:2 = weft.scan @cell.stacking(%{{.*}}) over(%{{.*}}) with(%{{.*}}), length = 9 : {{.*}} -> (tensor<4xf32, #cpu>, tensor<9x4xf32, #cpu>)
// CHECK:         weft.scan @cell.derivative(%{{.*}}, %{{.*}}) over(%[[LOOP]]#1) with(%{{.*}}), length = 9 reverse
weft.func @loop(%h: tensor<4xf32, #cpu>, %x: tensor<9x4xf32, #cpu>, %w: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %r = weft.scan @cell(%h) over(%x) with(%w), length = 9 : (tensor<4xf32, #cpu>, tensor<9x4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %l = weft.sum %r, dims = [0] : tensor<4xf32, #cpu>
  %g:2 = weft.gradient %l wrt %h, %w : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g#0, %g#1 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// What each trip would add to the gradient of a matrix is one product over the rows of all trips, if that moves no more bytes.
// CHECK-LABEL: weft.func @products
// CHECK:         %[[FORWARD:.*]]:3 = weft.scan @product.stacking
// CHECK:         %[[BACK:.*]]:2 = weft.scan @product.derivative
// CHECK:         %[[DW:.*]] = weft.dot_general %[[BACK]]#1, %[[FORWARD]]#2, contract = [0, 1] x [0, 1]
// CHECK:         %[[RESULT:.*]] = weft.transpose %[[DW]], perm = [1, 0]
// CHECK:         weft.return %[[RESULT]]
weft.func private @product(%h: tensor<3x8xf32, #cpu>, %w: tensor<8x8xf32, #cpu>) -> tensor<3x8xf32, #cpu> {
  %m = weft.dot_general %h, %w, contract = [1] x [0] : tensor<3x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %n = weft.tanh %m : tensor<3x8xf32, #cpu>
  weft.return %n : tensor<3x8xf32, #cpu>
}
weft.func @products(%h: tensor<3x8xf32, #cpu>, %w: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %r = weft.scan @product(%h) over() with(%w), length = 9 : (tensor<3x8xf32, #cpu>, tensor<8x8xf32, #cpu>) -> tensor<3x8xf32, #cpu>
  %l = weft.sum %r, dims = [0, 1] : tensor<3x8xf32, #cpu>
  %g = weft.gradient %l wrt %w : tensor<f32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %g : tensor<8x8xf32, #cpu>
}
