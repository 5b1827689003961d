// RUN: weft-opt %s --weft-differentiate --symbol-dce | FileCheck %s

#cpu = #weft.device<cpu>

// The derivatives of the branches compute them again, from what the branches read. Neither derivative reads %b, which is
// not passed to them. The second branch does not read %w, so that its gradient of %w is zero.
weft.func private @product(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %m = weft.mul %x, %w : tensor<4xf32, #cpu>
  %r = weft.add %m, %b : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
weft.func private @negative(%x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %r = weft.neg %x : tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
// CHECK-LABEL: weft.func @condition
// CHECK:         weft.cond %[[P:.*]] then @product else @negative
// CHECK:         %[[G:.*]]:2 = weft.cond %[[P]] then @product.derivative else @negative.derivative(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>)
// CHECK:         weft.return %{{.*}}, %[[G]]#0, %[[G]]#1
weft.func @condition(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>, %w: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %r = weft.cond %p then @product else @negative(%x, %w, %b) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %l = weft.sum %r, dims = [0] : tensor<4xf32, #cpu>
  %g:2 = weft.gradient %l wrt %x, %w : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %l, %g#0, %g#1 : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func private @product.derivative
// CHECK-SAME:    (%[[X:.*]]: tensor<4xf32, #cpu>, %[[W:.*]]: tensor<4xf32, #cpu>, %[[D:.*]]: tensor<4xf32, #cpu>)
// CHECK:         %[[T:.*]] = weft.mul %{{.*}}, %[[D]]
// CHECK-DAG:     %[[DX:.*]] = weft.mul %{{.*}}, %[[W]]
// CHECK-DAG:     %[[DW:.*]] = weft.mul %{{.*}}, %[[X]]
// CHECK:         weft.return %[[DX]], %[[DW]]
// CHECK-LABEL: weft.func private @negative.derivative
// CHECK-SAME:    (%{{.*}}: tensor<4xf32, #cpu>, %{{.*}}: tensor<4xf32, #cpu>, %[[D:.*]]: tensor<4xf32, #cpu>)
// CHECK-DAG:     %[[ZERO:.*]] = weft.constant dense<0.000000e+00> : tensor<4xf32, #cpu>
// CHECK-DAG:     %[[DX:.*]] = weft.neg
// CHECK:         weft.return %[[DX]], %[[ZERO]]
