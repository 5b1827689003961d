// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @softmax
weft.func @softmax(%a: tensor<4x10xf16, #cpu>) -> (tensor<4x10xf16, #cpu>, tensor<4x10xf16, #cpu>) {
  // CHECK: weft.softmax %{{.*}}, dim = 1 : tensor<4x10xf16, #cpu
  %r = weft.softmax %a, dim = 1 : tensor<4x10xf16, #cpu>
  // CHECK: weft.log_softmax %{{.*}}, dim = 0 : tensor<4x10xf16, #cpu
  %s = weft.log_softmax %a, dim = 0 : tensor<4x10xf16, #cpu>
  weft.return %r, %s : tensor<4x10xf16, #cpu>, tensor<4x10xf16, #cpu>
}

// The statistics of halves are f32.
// CHECK-LABEL: weft.func @cross_entropy
weft.func @cross_entropy(%a: tensor<4x10xf32, #cpu>, %h: tensor<4x10xbf16, #cpu>, %t: tensor<4xi64, #cpu>)
    -> (tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xbf16, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}}, reduction = mean : tensor<4x10xf32, #cpu{{.*}}>, tensor<4xi64, #cpu
  %mean, %lse = weft.cross_entropy %a, %t, reduction = mean : tensor<4x10xf32, #cpu>, tensor<4xi64, #cpu>
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}}, reduction = sum ignore_index = 3 : tensor<4x10xf32, #cpu{{.*}}>, tensor<4xi64, #cpu
  %sum, %lse1 = weft.cross_entropy %a, %t, reduction = sum ignore_index = 3
              : tensor<4x10xf32, #cpu>, tensor<4xi64, #cpu>
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}}, reduction = none : tensor<4x10xbf16, #cpu{{.*}}>, tensor<4xi64, #cpu
  %each, %lse2 = weft.cross_entropy %h, %t, reduction = none : tensor<4x10xbf16, #cpu>, tensor<4xi64, #cpu>
  weft.return %mean, %lse, %each, %lse2
    : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<4xbf16, #cpu>, tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func @sgd_step
weft.func @sgd_step(%p: tensor<6xf32, #cpu>, %g: tensor<6xf32, #cpu>, %buf: tensor<6xf32, #cpu>,
                    %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>, %z: tensor<f64, #cpu>)
    -> (tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>) {
  // CHECK: weft.sgd_step(%{{.*}}, %{{.*}}, step %{{.*}}, lr %{{.*}}, momentum %{{.*}}, dampening %{{.*}}, decay %{{.*}}) : tensor<6xf32, #cpu{{.*}}>, tensor<6xf32, #cpu{{.*}}>, tensor<i64, #cpu{{.*}}>, tensor<f64, #cpu
  %plain = weft.sgd_step (%p, %g, step %step, lr %lr, momentum %z, dampening %z, decay %z)
         : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  // CHECK: weft.sgd_step(%{{.*}}, %{{.*}} buf %{{.*}}, step %{{.*}}, lr %{{.*}}, momentum %{{.*}}, dampening %{{.*}}, decay %{{.*}}) nesterov maximize : tensor<6xf32, #cpu{{.*}}>, tensor<6xf32, #cpu{{.*}}> buf tensor<6xf32, #cpu{{.*}}>, tensor<i64, #cpu{{.*}}>, tensor<f64, #cpu
  %new, %bufnew = weft.sgd_step (%p, %g buf %buf, step %step, lr %lr, momentum %lr, dampening %z, decay %z)
      nesterov maximize
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu> buf tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return %plain, %new, %bufnew : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>
}

// CHECK-LABEL: weft.func @adam_step
weft.func @adam_step(%p: tensor<6xf32, #cpu>, %g: tensor<6xf32, #cpu>, %m: tensor<6xf32, #cpu>, %v: tensor<6xf32, #cpu>,
                     %vmax: tensor<6xf32, #cpu>, %step: tensor<i64, #cpu>, %s: tensor<f64, #cpu>)
    -> (tensor<6xf32, #cpu>, tensor<6xf32, #cpu>) {
  // CHECK: weft.adam_step(%{{.*}}, %{{.*}}, m %{{.*}}, v %{{.*}}, step %{{.*}}, lr %{{.*}}, betas %{{.*}}, %{{.*}}, eps %{{.*}}, decay %{{.*}}) decoupled : tensor<6xf32, #cpu
  %p1, %m1, %v1 = weft.adam_step (%p, %g, m %m, v %v, step %step, lr %s, betas %s, %s, eps %s, decay %s) decoupled
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>,
        tensor<f64, #cpu>
  // CHECK: weft.adam_step(%{{.*}}, %{{.*}}, m %{{.*}}, v %{{.*}} vmax %{{.*}}, step %{{.*}}, lr %{{.*}}, betas %{{.*}}, %{{.*}}, eps %{{.*}}, decay %{{.*}}) maximize : tensor<6xf32, #cpu
  %p2, %m2, %v2, %x2 = weft.adam_step (%p, %g, m %m, v %v vmax %vmax, step %step, lr %s, betas %s, %s, eps %s,
      decay %s) maximize
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu> vmax tensor<6xf32, #cpu>,
        tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return %p1, %x2 : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>
}

// Class weights and label smoothing are written where they are not the default.
// CHECK-LABEL: weft.func @weighted_cross_entropy
weft.func @weighted_cross_entropy(%a: tensor<8x3xf32, #cpu>, %t: tensor<8xi64, #cpu>, %w: tensor<3xf32, #cpu>) -> tensor<f32, #cpu> {
  // CHECK: weft.cross_entropy %{{.*}}, %{{.*}} weight %{{.*}}, reduction = mean ignore_index = 2 label_smoothing = 1.000000e-01 : tensor<8x3xf32, #cpu{{.*}}>, tensor<8xi64, #cpu{{.*}}>, tensor<3xf32, #cpu
  %loss, %lse = weft.cross_entropy %a, %t weight %w, reduction = mean ignore_index = 2 label_smoothing = 0.1
      : tensor<8x3xf32, #cpu>, tensor<8xi64, #cpu>, tensor<3xf32, #cpu>
  weft.return %loss : tensor<f32, #cpu>
}

// CHECK-LABEL: weft.func @layer_norm
weft.func @layer_norm(%a: tensor<8x3x4xf16, #cpu>, %w: tensor<3x4xf16, #cpu>, %b: tensor<3x4xf32, #cpu>)
    -> (tensor<8x3x4xf16, #cpu>, tensor<8xf32, #cpu>, tensor<8x3x4xf16, #cpu>) {
  // CHECK: weft.layer_norm %{{.*}} weight %{{.*}} bias %{{.*}}, axis = 1, eps = 1.000000e-05 : tensor<8x3x4xf16, #cpu{{.*}}> weight tensor<3x4xf16, #cpu{{.*}}> bias tensor<3x4xf32, #cpu
  %y, %mean, %rstd = weft.layer_norm %a weight %w bias %b, axis = 1, eps = 1.0e-5
      : tensor<8x3x4xf16, #cpu> weight tensor<3x4xf16, #cpu> bias tensor<3x4xf32, #cpu>
  // CHECK: weft.layer_norm %{{.*}}, axis = 2, eps = 1.000000e-03 : tensor<8x3x4xf16, #cpu
  %z, %m, %r = weft.layer_norm %a, axis = 2, eps = 1.0e-3 : tensor<8x3x4xf16, #cpu>
  weft.return %y, %mean, %z : tensor<8x3x4xf16, #cpu>, tensor<8xf32, #cpu>, tensor<8x3x4xf16, #cpu>
}

// CHECK-LABEL: weft.func @dropout
weft.func @dropout(%a: tensor<8xf32, #cpu>, %k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> (tensor<8xf32, #cpu>, tensor<i64, #cpu>) {
  // CHECK: weft.dropout %{{.*}}, %{{.*}}, %{{.*}}, p = 5.000000e-01 : tensor<8xf32, #cpu{{.*}}>, tensor<i64, #cpu
  %y, %n = weft.dropout %a, %k, %c, p = 0.5 : tensor<8xf32, #cpu>, tensor<i64, #cpu>
  // CHECK: weft.dropout %{{.*}}, %{{.*}}, %{{.*}}, p = 5.000000e-01 stream = 3 : tensor<8xf32, #cpu{{.*}}>, tensor<i64, #cpu
  %z, %m = weft.dropout %y, %k, %n, p = 0.5 stream = 3 : tensor<8xf32, #cpu>, tensor<i64, #cpu>
  weft.return %z, %m : tensor<8xf32, #cpu>, tensor<i64, #cpu>
}

// A step that a flag can turn into none.
// CHECK-LABEL: weft.func @guarded
weft.func @guarded(%p: tensor<6xf32, #cpu>, %g: tensor<6xf32, #cpu>, %step: tensor<i64, #cpu>, %s: tensor<f64, #cpu>,
                   %found: tensor<i1, #cpu>) -> (tensor<6xf32, #cpu>, tensor<6xf32, #cpu>) {
  // CHECK: weft.sgd_step(%{{.*}}, %{{.*}}, step %{{.*}}, lr %{{.*}}, momentum %{{.*}}, dampening %{{.*}}, decay %{{.*}}, found_inf %{{.*}}) : {{.*}} found_inf tensor<i1, #cpu
  %q = weft.sgd_step (%p, %g, step %step, lr %s, momentum %s, dampening %s, decay %s, found_inf %found)
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu> found_inf tensor<i1, #cpu>
  // CHECK: weft.adam_step(%{{.*}}, decay %{{.*}}, found_inf %{{.*}}) : {{.*}} found_inf tensor<i1, #cpu
  %r, %m, %v = weft.adam_step (%p, %g, m %g, v %g, step %step, lr %s, betas %s, %s, eps %s, decay %s, found_inf %found)
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>,
        tensor<f64, #cpu> found_inf tensor<i1, #cpu>
  weft.return %q, %r : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>
}
