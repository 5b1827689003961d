// RUN: weft-opt %s --split-input-file --weft-fuse-optimizer-steps | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-fuse-optimizer-steps --weft-fuse-optimizer-steps | FileCheck %s

#cpu = #weft.device<cpu>

// Steps that share their scalars are one kernel, whatever their shapes; what reads an early one comes after it.
// CHECK-LABEL: weft.func @sgd
// CHECK:         %[[F:.*]]:2 = weft.fusion multi_tensor (%arg0, %arg1, %arg4, %arg5, %arg6, %arg7, %arg8, %arg2, %arg3)
// CHECK-COUNT-2:   weft.sgd_step
// CHECK-NOT:       weft.sgd_step
// CHECK:           weft.yield
// CHECK:         %[[N:.*]] = weft.neg %[[F]]#0
// CHECK:         weft.return %[[F]]#0, %[[F]]#1, %[[N]]
weft.func @sgd(%p: tensor<4x6xf32, #cpu>, %g: tensor<4x6xf32, #cpu>, %q: tensor<6xf32, #cpu>, %h: tensor<6xf32, #cpu>,
               %s: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>, %mu: tensor<f64, #cpu>, %da: tensor<f64, #cpu>,
               %de: tensor<f64, #cpu>) -> (tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<4x6xf32, #cpu>) {
  %0 = weft.sgd_step(%p, %g, step %s, lr %lr, momentum %mu, dampening %da, decay %de)
    : tensor<4x6xf32, #cpu>, tensor<4x6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %1 = weft.neg %0 : tensor<4x6xf32, #cpu>
  %2 = weft.sgd_step(%q, %h, step %s, lr %lr, momentum %mu, dampening %da, decay %de)
    : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return %0, %2, %1 : tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<4x6xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A step that reads what another made, and one with other flags, are kernels of their own.
// CHECK-LABEL: weft.func @apart
// CHECK-COUNT-3: weft.fusion multi_tensor
// CHECK-NOT:     weft.fusion
weft.func @apart(%p: tensor<6xf32, #cpu>, %g: tensor<6xf32, #cpu>,
                 %s: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>, %mu: tensor<f64, #cpu>, %da: tensor<f64, #cpu>,
                 %de: tensor<f64, #cpu>) -> (tensor<6xf32, #cpu>, tensor<6xf32, #cpu>) {
  %0 = weft.sgd_step(%p, %g, step %s, lr %lr, momentum %mu, dampening %da, decay %de)
    : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %1 = weft.sgd_step(%0, %g, step %s, lr %lr, momentum %mu, dampening %da, decay %de)
    : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  %2 = weft.sgd_step(%p, %g, step %s, lr %lr, momentum %mu, dampening %da, decay %de) maximize
    : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return %1, %2 : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>
}
