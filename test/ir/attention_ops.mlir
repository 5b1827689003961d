// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @sdpa
weft.func @sdpa(%q: tensor<2x5x8xf32, #cpu>, %k: tensor<2x7x8xf32, #cpu>, %v: tensor<2x7x3xf32, #cpu>,
                %m: tensor<1x5x7xi1, #cpu>, %b: tensor<2x1x7xf32, #cpu>)
    -> (tensor<2x5x3xf32, #cpu>, tensor<2x5xf32, #cpu>, tensor<2x5x3xf32, #cpu>, tensor<2x5xf32, #cpu>) {
  // CHECK: %[[OUT:.*]], %[[LSE:.*]] = weft.sdpa %{{.*}}, %{{.*}}, %{{.*}}, scale = 5.000000e-01 causal : tensor<2x5x8xf32, #cpu{{.*}}>, tensor<2x7x8xf32, #cpu{{.*}}>, tensor<2x7x3xf32, #cpu
  %o, %l = weft.sdpa %q, %k, %v, scale = 0.5 causal : tensor<2x5x8xf32, #cpu>, tensor<2x7x8xf32, #cpu>, tensor<2x7x3xf32, #cpu>
  // CHECK: weft.sdpa %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.000000e+00 : {{.*}} mask tensor<1x5x7xi1, #cpu
  %o1, %l1 = weft.sdpa %q, %k, %v mask %m, scale = 1.0
           : tensor<2x5x8xf32, #cpu>, tensor<2x7x8xf32, #cpu>, tensor<2x7x3xf32, #cpu> mask tensor<1x5x7xi1, #cpu>
  weft.return %o, %l, %o1, %l1 : tensor<2x5x3xf32, #cpu>, tensor<2x5xf32, #cpu>, tensor<2x5x3xf32, #cpu>, tensor<2x5xf32, #cpu>
}

// The statistics of halves are f32, and a mask may be of either type.
// CHECK-LABEL: weft.func @backward
weft.func @backward(%q: tensor<4x8xbf16, #cpu>, %l: tensor<4xf32, #cpu>, %m: tensor<4x1xf32, #cpu>)
    -> (tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>) {
  // CHECK: weft.sdpa_backward %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}}, scale = 1.250000e-01 causal : tensor<4x8xbf16
  %dq, %dk, %dv = weft.sdpa_backward %q, %q, %q, %q, %l, %q mask %m, scale = 0.125 causal
                : tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>,
                  tensor<4xf32, #cpu>, tensor<4x8xbf16, #cpu> mask tensor<4x1xf32, #cpu>
  weft.return %dq, %dk, %dv : tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>, tensor<4x8xbf16, #cpu>
}

// A launch reads heads where a projection wrote them, and writes its results in the same order of dimensions.
// CHECK-LABEL: weft.func @launch
weft.func @launch(%qkv: tensor<2x5x3x4x8xf32, #cpu>, %m: tensor<5x5xi1, #cpu>, %g: tensor<2x5x4x8xf32, #cpu>)
    -> (tensor<2x5x4x8xf32, #cpu>, tensor<2x5x4x8xf32, #cpu>) {
  // CHECK: %[[R:.*]]:2 = weft.attention %[[A:.*]] [0, 480, 8, 96, 1], %[[A]] [32, 480, 8, 96, 1], %[[A]] [64, 480, 8, 96, 1] mask %{{.*}} [0, 0, 0, 5, 1], shape = [2, 4, 5, 5, 8, 8], order = [0, 2, 1, 3], scale = 1.000000e+00 : tensor<2x5x3x4x8xf32
  %o, %l = weft.attention %qkv [0, 480, 8, 96, 1], %qkv [32, 480, 8, 96, 1], %qkv [64, 480, 8, 96, 1]
                          mask %m [0, 0, 0, 5, 1], shape = [2, 4, 5, 5, 8, 8], order = [0, 2, 1, 3], scale = 1.0
         : tensor<2x5x3x4x8xf32, #cpu>, tensor<2x5x3x4x8xf32, #cpu>, tensor<2x5x3x4x8xf32, #cpu>
           mask tensor<5x5xi1, #cpu>
  // CHECK: weft.attention %[[A]] [0, 480, 8, 96, 1], %[[A]] [32, 480, 8, 96, 1], %[[A]] [64, 480, 8, 96, 1] backward %[[R]]#0 [0, 160, 8, 32, 1], %[[R]]#1, %{{.*}} [0, 160, 8, 32, 1], shape = [2, 4, 5, 5, 8, 8], order = [0, 2, 1, 3], scale = 1.000000e+00 causal : {{.*}} backward tensor<2x5x4x8xf32, #cpu{{.*}}>, tensor<2x4x5xf32, #cpu
  %dq, %dk, %dv = weft.attention %qkv [0, 480, 8, 96, 1], %qkv [32, 480, 8, 96, 1], %qkv [64, 480, 8, 96, 1]
                                 backward %o [0, 160, 8, 32, 1], %l, %g [0, 160, 8, 32, 1],
                                 shape = [2, 4, 5, 5, 8, 8], order = [0, 2, 1, 3], scale = 1.0 causal
                : tensor<2x5x3x4x8xf32, #cpu>, tensor<2x5x3x4x8xf32, #cpu>, tensor<2x5x3x4x8xf32, #cpu>
                  backward tensor<2x5x4x8xf32, #cpu>, tensor<2x4x5xf32, #cpu>, tensor<2x5x4x8xf32, #cpu>
  weft.return %o, %dq : tensor<2x5x4x8xf32, #cpu>, tensor<2x5x4x8xf32, #cpu>
}
