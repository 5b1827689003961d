// On a GPU, attention is one kernel for heads of up to 256 features, whatever the number of rows.
// RUN: weft-opt %s --weft-lower-attention='target=sm_90 report' | FileCheck %s

#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @step
// CHECK: weft.attention %arg0 [0, 16384, 4096, 32, 1], {{.*}} shape = [2, 4, 128, 128, 32, 32], {{.*}} causal
// CHECK: weft.attention {{.*}} backward
weft.func @step(%q: tensor<2x4x128x32xf16, #gpu>, %g: tensor<2x4x128x32xf16, #gpu>)
    -> (tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>) {
  %o, %l = weft.sdpa %q, %q, %q, scale = 0.125 causal : tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>
  %dq, %dk, %dv = weft.sdpa_backward %q, %q, %q, %o, %l, %g, scale = 0.125 causal
      : tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128xf32, #gpu>, tensor<2x4x128x32xf16, #gpu>
  weft.return %dq, %dv : tensor<2x4x128x32xf16, #gpu>, tensor<2x4x128x32xf16, #gpu>
}

// CHECK-LABEL: weft.func @fast
// CHECK-SAME: code = "WEFT-N010"
// CHECK-SAME: message = "probabilities, and the gradients of scores, may be rounded to bf16 before they are multiplied"
// CHECK-NOT: WEFT-N010
// CHECK-COUNT-2: weft.attention
weft.func @fast(%q: tensor<4x8xbf16, #gpu>, %f: tensor<4x8xf32, #gpu>) -> (tensor<4x8xbf16, #gpu>, tensor<4x8xf32, #gpu>)
    attributes {weft.numerics = "fast"} {
  %o, %l = weft.sdpa %q, %q, %q, scale = 1.0 : tensor<4x8xbf16, #gpu>, tensor<4x8xbf16, #gpu>, tensor<4x8xbf16, #gpu>
  %p, %m = weft.sdpa %f, %f, %f, scale = 1.0 : tensor<4x8xf32, #gpu>, tensor<4x8xf32, #gpu>, tensor<4x8xf32, #gpu>
  weft.return %o, %p : tensor<4x8xbf16, #gpu>, tensor<4x8xf32, #gpu>
}

// CHECK-LABEL: weft.func @refused
// CHECK-SAME: message = "a launch of attention has up to 256 columns on cuda:0, and this has 257; it is several kernels, which hold all scores"
// CHECK-SAME: message = "it has more rows and keys than a launch of cuda:0; it is several kernels, which hold all scores"
// CHECK-COUNT-2: weft.sdpa
weft.func @refused(%w: tensor<4x257xf32, #gpu>, %m: tensor<3000000000x1x1xf16, #gpu>)
    -> (tensor<4x257xf32, #gpu>, tensor<3000000000x1x1xf16, #gpu>) {
  %0, %l0 = weft.sdpa %w, %w, %w, scale = 1.0 : tensor<4x257xf32, #gpu>, tensor<4x257xf32, #gpu>, tensor<4x257xf32, #gpu>
  %1, %l1 = weft.sdpa %m, %m, %m, scale = 1.0 : tensor<3000000000x1x1xf16, #gpu>, tensor<3000000000x1x1xf16, #gpu>, tensor<3000000000x1x1xf16, #gpu>
  weft.return %0, %1 : tensor<4x257xf32, #gpu>, tensor<3000000000x1x1xf16, #gpu>
}
