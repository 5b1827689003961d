// RUN: weft-opt %s --weft-canonicalize | FileCheck %s
// RUN: weft-opt %s --weft-canonicalize --weft-canonicalize | FileCheck %s

#cpu = #weft.device<cpu>

// Constants that repeat one element are folded through ops whose result IEEE fixes, rounded as the op rounds.
// CHECK-LABEL: weft.func @fold(
// CHECK-DAG:     %[[A:.*]] = weft.constant dense<0.333333343> : tensor<4xf32, #cpu>
// CHECK-DAG:     %[[B:.*]] = weft.constant dense<true> : tensor<4xi1, #cpu>
// CHECK-DAG:     %[[C:.*]] = weft.constant dense<44> : tensor<4xui8, #cpu>
// CHECK:         weft.return %[[A]], %[[B]], %[[C]]
weft.func @fold() -> (tensor<4xf32, #cpu>, tensor<4xi1, #cpu>, tensor<4xui8, #cpu>) {
  %one = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %three = weft.constant dense<3.0> : tensor<4xf32, #cpu>
  %0 = weft.div %one, %three : tensor<4xf32, #cpu>
  %1 = weft.lt %one, %three : tensor<4xf32, #cpu>
  %i = weft.constant dense<300> : tensor<4xi32, #cpu>
  %2 = weft.convert %i to ui8 : tensor<4xi32, #cpu>
  weft.return %0, %1, %2 : tensor<4xf32, #cpu>, tensor<4xi1, #cpu>, tensor<4xui8, #cpu>
}

// A function that kernels approximate is not folded: the folded value would have other bits.
// CHECK-LABEL: weft.func @approximate(
// CHECK:         weft.exp
weft.func @approximate() -> tensor<4xf32, #cpu> {
  %one = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %0 = weft.exp %one : tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}

// What nothing reads is gone.
// CHECK-LABEL: weft.func @dead(
// CHECK-NEXT:    weft.return
weft.func @dead(%x: tensor<4xf32, #cpu>) {
  %0 = weft.exp %x : tensor<4xf32, #cpu>
  %1 = weft.sin %0 : tensor<4xf32, #cpu>
  weft.return
}
