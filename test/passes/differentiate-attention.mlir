// RUN: weft-opt %s --weft-differentiate | FileCheck %s

#cpu = #weft.device<cpu>

// One op of its own, which has what the forward op left.
// CHECK-LABEL: weft.func @first(
// CHECK: %[[O:.*]], %[[L:.*]] = weft.sdpa %[[Q:.*]], %[[K:.*]], %[[V:.*]], scale = 5.000000e-01 causal
// CHECK: %[[DQ:.*]], %[[DK:.*]], %[[DV:.*]] = weft.sdpa_backward %[[Q]], %[[K]], %[[V]], %[[O]], %[[L]], %{{.*}}, scale = 5.000000e-01 causal
// CHECK: weft.return %[[DQ]], %[[DV]]
weft.func @first(%q: tensor<3x4xf32, #cpu>, %k: tensor<5x4xf32, #cpu>, %v: tensor<5x2xf32, #cpu>) -> (tensor<3x4xf32, #cpu>, tensor<5x2xf32, #cpu>) {
  %o, %l = weft.sdpa %q, %k, %v, scale = 0.5 causal : tensor<3x4xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<5x2xf32, #cpu>
  %dq, %dv = weft.gradient %o wrt %q, %v : tensor<3x2xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<5x2xf32, #cpu>
  weft.return %dq, %dv : tensor<3x4xf32, #cpu>, tensor<5x2xf32, #cpu>
}

// A gradient of the mask, or through lse, is written in primitives.
// CHECK-LABEL: weft.func @mask(
// CHECK-NOT: weft.sdpa_backward
// CHECK: weft.sum %{{.*}}, dims = [0] : tensor<3x5xf32
weft.func @mask(%q: tensor<3x4xf32, #cpu>, %k: tensor<5x4xf32, #cpu>, %m: tensor<1x5xf32, #cpu>) -> tensor<1x5xf32, #cpu> {
  %o, %l = weft.sdpa %q, %k, %k mask %m, scale = 0.5 : tensor<3x4xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<5x4xf32, #cpu> mask tensor<1x5xf32, #cpu>
  %dm = weft.gradient %o wrt %m : tensor<3x4xf32, #cpu>, tensor<1x5xf32, #cpu>
  weft.return %dm : tensor<1x5xf32, #cpu>
}

// CHECK-LABEL: weft.func @lse(
// CHECK-NOT: weft.sdpa_backward
// CHECK: weft.return
weft.func @lse(%q: tensor<3x4xf32, #cpu>, %k: tensor<5x4xf32, #cpu>) -> tensor<3x4xf32, #cpu> {
  %o, %l = weft.sdpa %q, %k, %k, scale = 0.5 : tensor<3x4xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<5x4xf32, #cpu>
  %dq = weft.gradient %l wrt %q : tensor<3xf32, #cpu>, tensor<3x4xf32, #cpu>
  weft.return %dq : tensor<3x4xf32, #cpu>
}

// A gradient through the derivative is that of its decomposition, which then stands in its place.
// CHECK-LABEL: weft.func @second(
// CHECK: weft.sdpa
// CHECK-NOT: weft.sdpa_backward
// CHECK: weft.dot_general
weft.func @second(%q: tensor<3x4xf32, #cpu>, %k: tensor<5x4xf32, #cpu>) -> tensor<5x4xf32, #cpu> {
  %o, %l = weft.sdpa %q, %k, %k, scale = 0.5 : tensor<3x4xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<5x4xf32, #cpu>
  %dq = weft.gradient %o wrt %q : tensor<3x4xf32, #cpu>, tensor<3x4xf32, #cpu>
  %dk = weft.gradient %dq wrt %k : tensor<3x4xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return %dk : tensor<5x4xf32, #cpu>
}
