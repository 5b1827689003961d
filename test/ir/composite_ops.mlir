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
