// RUN: weft-opt %s --weft-decompose | FileCheck %s
// RUN: weft-opt %s --weft-decompose --weft-decompose | FileCheck %s
// RUN: weft-opt %s --weft-decompose | FileCheck %s --check-prefix=NONE --implicit-check-not=softmax --implicit-check-not=cross_entropy

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
  // CHECK-NEXT: %[[TOTALS:.*]] = weft.broadcast_in_dim %[[TOTAL]], dims = [0]
  // CHECK-NEXT: %[[Y:.*]] = weft.div %[[E]], %[[TOTALS]]
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
