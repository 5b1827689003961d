// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @constant
weft.func @constant() -> (tensor<2x2xf32, #cpu>, tensor<3xi64, #cpu>, tensor<i1, #cpu>, tensor<0x4xf16, #cpu>) {
  // CHECK: weft.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00]]> : tensor<2x2xf32, #cpu
  %a = weft.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32, #cpu>
  // CHECK: weft.constant dense<-7> : tensor<3xi64, #cpu
  %b = weft.constant dense<-7> : tensor<3xi64, #cpu>
  // CHECK: weft.constant dense<true> : tensor<i1, #cpu
  %c = weft.constant dense<true> : tensor<i1, #cpu>
  // CHECK: weft.constant dense<> : tensor<0x4xf16, #cpu
  %d = weft.constant dense<> : tensor<0x4xf16, #cpu>
  // CHECK: weft.constant dense<255> : tensor<2xui8, #cpu
  %e = weft.constant dense<255> : tensor<2xui8, #cpu>
  // CHECK: weft.constant dense<0x7FC00000> : tensor<f32, #cpu
  %nan = weft.constant dense<0x7FC00000> : tensor<f32, #cpu>
  // CHECK: weft.constant {weft.name = "w"} dense<1.000000e+00> : tensor<f64, #cpu
  %named = weft.constant {weft.name = "w"} dense<1.0> : tensor<f64, #cpu>
  // CHECK: weft.constant dense_resource<weights> : tensor<2xf32, #cpu
  %blob = weft.constant dense_resource<weights> : tensor<2xf32, #cpu>
  weft.return %a, %b, %c, %d
    : tensor<2x2xf32, #cpu>, tensor<3xi64, #cpu>, tensor<i1, #cpu>, tensor<0x4xf16, #cpu>
}

// CHECK-LABEL: weft.func @full
weft.func @full(%s: tensor<f32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<f32, #cpu>) {
  // CHECK: weft.full %{{.*}}, shape = [4, 8] : tensor<f32, #cpu
  %a = weft.full %s, shape = [4, 8] : tensor<f32, #cpu>
  // CHECK: weft.full %{{.*}}, shape = [] : tensor<f32, #cpu
  %b = weft.full %s, shape = [] : tensor<f32, #cpu>
  weft.return %a, %b : tensor<4x8xf32, #cpu>, tensor<f32, #cpu>
}

// CHECK-LABEL: weft.func @iota
weft.func @iota() -> (tensor<3x4xi64, #cpu>, tensor<5xi32, #cpu>) {
  // CHECK: weft.iota dim = 1 : tensor<3x4xi64, #cpu
  %a = weft.iota dim = 1 : tensor<3x4xi64, #cpu>
  // CHECK: weft.iota dim = 0 : tensor<5xi32, #cpu
  %b = weft.iota dim = 0 : tensor<5xi32, #cpu>
  weft.return %a, %b : tensor<3x4xi64, #cpu>, tensor<5xi32, #cpu>
}

// CHECK-LABEL: weft.func @philox
weft.func @philox(%key: tensor<i64, #cpu>, %counter: tensor<i64, #cpu>)
    -> (tensor<3x5xi32, #cpu>, tensor<i64, #cpu>, tensor<2xi32, #cpu>) {
  // CHECK: %[[BITS:.*]], %[[NEXT:.*]] = weft.rng_bits_philox %{{.*}}, %{{.*}}, shape = [3, 5] : tensor<i64, #cpu
  %bits, %next = weft.rng_bits_philox %key, %counter, shape = [3, 5] : tensor<i64, #cpu>
  // CHECK: weft.rng_bits_philox %{{.*}}, %[[NEXT]], shape = [2] stream = 7 : tensor<i64, #cpu
  %more, %last = weft.rng_bits_philox %key, %next, shape = [2] stream = 7 : tensor<i64, #cpu>
  weft.return %bits, %last, %more : tensor<3x5xi32, #cpu>, tensor<i64, #cpu>, tensor<2xi32, #cpu>
}

// CHECK-LABEL: weft.func @broadcast_in_dim
weft.func @broadcast_in_dim(%a: tensor<3xf32, #cpu>, %b: tensor<1x3xf32, #cpu>, %s: tensor<f32, #cpu>)
    -> tensor<2x3xf32, #cpu> {
  // CHECK: weft.broadcast_in_dim %{{.*}}, dims = [1] : tensor<3xf32, #cpu{{.*}}> -> tensor<2x3xf32, #cpu
  %r = weft.broadcast_in_dim %a, dims = [1] : tensor<3xf32, #cpu> -> tensor<2x3xf32, #cpu>
  // CHECK: weft.broadcast_in_dim %{{.*}}, dims = [0, 1] : tensor<1x3xf32, #cpu{{.*}}> -> tensor<2x3xf32, #cpu
  %q = weft.broadcast_in_dim %b, dims = [0, 1] : tensor<1x3xf32, #cpu> -> tensor<2x3xf32, #cpu>
  // CHECK: weft.broadcast_in_dim %{{.*}}, dims = [] : tensor<f32, #cpu{{.*}}> -> tensor<2x3xf32, #cpu
  %t = weft.broadcast_in_dim %s, dims = [] : tensor<f32, #cpu> -> tensor<2x3xf32, #cpu>
  weft.return %r : tensor<2x3xf32, #cpu>
}

// CHECK-LABEL: weft.func @reshape
weft.func @reshape(%a: tensor<4x6xi8, #cpu>, %one: tensor<1x1xi8, #cpu>) -> tensor<2x12xi8, #cpu> {
  // CHECK: weft.reshape %{{.*}} : tensor<4x6xi8, #cpu{{.*}}> -> tensor<2x12xi8, #cpu
  %r = weft.reshape %a : tensor<4x6xi8, #cpu> -> tensor<2x12xi8, #cpu>
  // CHECK: weft.reshape %{{.*}} : tensor<1x1xi8, #cpu{{.*}}> -> tensor<i8, #cpu
  %s = weft.reshape %one : tensor<1x1xi8, #cpu> -> tensor<i8, #cpu>
  weft.return %r : tensor<2x12xi8, #cpu>
}

// CHECK-LABEL: weft.func @transpose
weft.func @transpose(%a: tensor<2x3x4xf32, #cpu>) -> tensor<4x2x3xf32, #cpu> {
  // CHECK: weft.transpose %{{.*}}, perm = [2, 0, 1] : tensor<2x3x4xf32, #cpu
  %r = weft.transpose %a, perm = [2, 0, 1] : tensor<2x3x4xf32, #cpu>
  weft.return %r : tensor<4x2x3xf32, #cpu>
}

// CHECK-LABEL: weft.func @slice
weft.func @slice(%a: tensor<8x9xf32, #cpu>) -> (tensor<3x9xf32, #cpu>, tensor<0x9xf32, #cpu>) {
  // CHECK: weft.slice %{{.*}}, start = [1, 0], limit = [7, 9], step = [2, 1] : tensor<8x9xf32, #cpu
  %r = weft.slice %a, start = [1, 0], limit = [7, 9], step = [2, 1] : tensor<8x9xf32, #cpu>
  // CHECK: weft.slice %{{.*}}, start = [8, 0], limit = [8, 9], step = [1, 1] : tensor<8x9xf32, #cpu
  %e = weft.slice %a, start = [8, 0], limit = [8, 9], step = [1, 1] : tensor<8x9xf32, #cpu>
  weft.return %r, %e : tensor<3x9xf32, #cpu>, tensor<0x9xf32, #cpu>
}

// CHECK-LABEL: weft.func @pad
weft.func @pad(%a: tensor<3x4xf32, #cpu>, %e: tensor<0xf32, #cpu>) -> (tensor<8x4xf32, #cpu>, tensor<3xf32, #cpu>) {
  // CHECK: weft.pad %{{.*}}, low = [1, 0], high = [2, 0], interior = [1, 0] : tensor<3x4xf32, #cpu
  %r = weft.pad %a, low = [1, 0], high = [2, 0], interior = [1, 0] : tensor<3x4xf32, #cpu>
  // CHECK: weft.pad %{{.*}}, low = [1], high = [2], interior = [5] : tensor<0xf32, #cpu
  %s = weft.pad %e, low = [1], high = [2], interior = [5] : tensor<0xf32, #cpu>
  weft.return %r, %s : tensor<8x4xf32, #cpu>, tensor<3xf32, #cpu>
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F00000040"
    }
  }
#-}
