// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites --weft-decompose-composites | FileCheck %s
// RUN: weft-opt %s --weft-decompose-composites | FileCheck %s --check-prefix=NONE --implicit-check-not=softmax --implicit-check-not=cross_entropy

#cpu = #weft.device<cpu>
// NONE-LABEL: weft.func @row_max(

// softmax subtracts the largest element before the exponential.
// CHECK-LABEL: weft.func @row_max(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32, #cpu>
weft.func @row_max(%a: tensor<4x8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  // CHECK-NEXT: %[[TOP:.*]] = weft.rmax %[[A]], dims = [1]
  // CHECK-NEXT: %[[WIDE:.*]] = weft.broadcast_in_dim %[[TOP]], dims = [0]
  // CHECK-NEXT: %[[SHIFTED:.*]] = weft.sub %[[A]], %[[WIDE]]
  // CHECK-NEXT: %[[E:.*]] = weft.exp %[[SHIFTED]]
  // CHECK-NEXT: %[[TOTAL:.*]] = weft.sum %[[E]], dims = [1]
  // CHECK-NEXT: %[[SCALE:.*]] = weft.recip %[[TOTAL]]
  // CHECK-NEXT: %[[SCALES:.*]] = weft.broadcast_in_dim %[[SCALE]], dims = [0]
  // CHECK-NEXT: %[[Y:.*]] = weft.mul %[[E]], %[[SCALES]]
  %0 = weft.softmax %a, dim = 1 : tensor<4x8xf32, #cpu>
  // CHECK-NEXT: weft.return %[[Y]]
  weft.return %0 : tensor<4x8xf32, #cpu>
}

// Statistics of halves are computed in f32, and the result is rounded once.
// CHECK-LABEL: weft.func @halves(
weft.func @halves(%a: tensor<4x8xbf16, #cpu>) -> tensor<4x8xbf16, #cpu> {
  // CHECK: weft.convert %{{.*}} to f32 : tensor<4x8xbf16, #cpu>
  // CHECK: weft.log %{{.*}} : tensor<4xf32, #cpu>
  // CHECK: weft.convert %{{.*}} to bf16 : tensor<4x8xf32, #cpu>
  %0 = weft.log_softmax %a, dim = 1 : tensor<4x8xbf16, #cpu>
  weft.return %0 : tensor<4x8xbf16, #cpu>
}

// Both results of a loss are replaced, and rows of the ignored class count for nothing.
// CHECK-LABEL: weft.func @loss(
weft.func @loss(%a: tensor<4x8xf32, #cpu>, %t: tensor<4xi64, #cpu>) -> (tensor<f32, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK: weft.constant dense<7> : tensor<4xi64, #cpu>
  // CHECK: %[[KEEP:.*]] = weft.ne
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 1, kind = {{ *}}along
  // CHECK: weft.select %[[KEEP]]
  // CHECK: %[[LOSS:.*]] = weft.div
  // CHECK-NEXT: weft.return %[[LOSS]], %{{.*}} : tensor<f32, #cpu>, tensor<4xf32, #cpu>
  %l, %lse = weft.cross_entropy %a, %t, reduction = mean ignore_index = 7 : tensor<4x8xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %l, %lse : tensor<f32, #cpu>, tensor<4xf32, #cpu>
}

// layer_norm is a welford, and what it gives to every element; the variance is the biased one.
// CHECK-LABEL: weft.func @norm(
// CHECK-SAME:    %[[A:.*]]: tensor<4x8xf32, #cpu>, %[[W:.*]]: tensor<8xf32, #cpu>)
weft.func @norm(%a: tensor<4x8xf32, #cpu>, %w: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  // CHECK: %[[MEAN:.*]], %[[M2:.*]], %{{.*}} = weft.welford %[[A]], dims = [1]
  // CHECK: %[[N:.*]] = weft.constant dense<8.000000e+00>
  // CHECK: %[[VAR:.*]] = weft.div %[[M2]], %[[N]]
  // CHECK: weft.rsqrt
  // CHECK: weft.sub %[[A]]
  // CHECK: weft.broadcast_in_dim %[[W]], dims = [1]
  %0, %m, %r = weft.layer_norm %a weight %w, axis = 1, eps = 1.0e-5 : tensor<4x8xf32, #cpu> weight tensor<8xf32, #cpu>
  weft.return %0 : tensor<4x8xf32, #cpu>
}

// dropout compares the bits themselves, with ceil(2^24 p) 2^8 and the highest bit flipped: 0.5 is 2^31, so 0.
// CHECK-LABEL: weft.func @drop(
weft.func @drop(%a: tensor<4x8xf32, #cpu>, %k: tensor<i64, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<i64, #cpu>) {
  // CHECK: %[[BITS:.*]], %[[NEXT:.*]] = weft.rng_bits_philox
  // CHECK: %[[FLIPPED:.*]] = weft.xor %[[BITS]]
  // CHECK: %[[LIMIT:.*]] = weft.constant dense<0> : tensor<4x8xi32
  // CHECK: weft.ge %[[FLIPPED]], %[[LIMIT]]
  // CHECK: weft.mul
  // CHECK: weft.select
  // CHECK: weft.return %{{.*}}, %[[NEXT]]
  %0, %n = weft.dropout %a, %k, %k, p = 0.5 : tensor<4x8xf32, #cpu>, tensor<i64, #cpu>
  weft.return %0, %n : tensor<4x8xf32, #cpu>, tensor<i64, #cpu>
}
