// RUN: weft-opt %s --weft-differentiate | FileCheck %s

#cpu = #weft.device<cpu>

// What is marked `weft.no_grad` (detach, or an op recorded without gradients) lets no gradient through, and the mark goes.
// CHECK-LABEL: weft.func @detached(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32, #cpu>)
// CHECK:         %[[D:.*]] = weft.mul %[[X]], %[[X]] : tensor
// CHECK-NOT:     weft.no_grad
// CHECK:         %[[ONE:.*]] = weft.broadcast_in_dim
// CHECK:         %[[G:.*]] = weft.mul %[[ONE]], %[[D]]
// CHECK-NEXT:    weft.return %[[G]]
weft.func @detached(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %d = weft.mul %x, %x {weft.no_grad} : tensor<4xf32, #cpu>
  %y = weft.mul %d, %x : tensor<4xf32, #cpu>
  %l = weft.sum %y, dims = [0] : tensor<4xf32, #cpu>
  %g = weft.gradient %l wrt %x : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}

// A gradient that is marked is a number to those after it: of x * 2x only the first factor counts.
// CHECK-LABEL: weft.func @gradient_of_gradient(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32, #cpu>)
// CHECK:         %[[SQUARE:.*]] = weft.mul %[[X]], %[[X]]
// CHECK:         %[[TWICE:.*]] = weft.add
// CHECK:         weft.mul %[[TWICE]], %[[X]]
// CHECK:         %[[ONE:.*]] = weft.broadcast_in_dim
// CHECK:         %[[G:.*]] = weft.mul %[[ONE]], %[[TWICE]]
// CHECK-NOT:     weft.add
// CHECK:         weft.return %[[G]]
weft.func @gradient_of_gradient(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %s = weft.mul %x, %x : tensor<4xf32, #cpu>
  %l = weft.sum %s, dims = [0] : tensor<4xf32, #cpu>
  %g = weft.gradient %l wrt %x {weft.no_grad} : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  %y = weft.mul %g, %x : tensor<4xf32, #cpu>
  %m = weft.sum %y, dims = [0] : tensor<4xf32, #cpu>
  %h = weft.gradient %m wrt %x : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  weft.return %h : tensor<4xf32, #cpu>
}
