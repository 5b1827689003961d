// RUN: weft-opt %s --weft-map-devices | FileCheck %s --implicit-check-not=cuda
// RUN: weft-opt %s --weft-map-devices --weft-map-devices | FileCheck %s --implicit-check-not=cuda
// RUN: not weft-opt %s --weft-map-devices=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: cannot map devices to the target 'tpu', expected one of cpu, x86-64-v3,

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>
#cuda1 = #weft.device<cuda:1>

// Types of arguments, results, values and constants are mapped, and what only moved a tensor between devices is gone.
// CHECK-LABEL: weft.func @step(
// CHECK-SAME:    %[[A:.*]]: tensor<4xf32, #cpu>, %[[B:.*]]: tensor<4xf32, #cpu> {weft.donated, weft.name = "b"}) ->
// CHECK-SAME:    (tensor<4xf32, #cpu> {weft.tied = 1 : i64})
weft.func @step(%a: tensor<4xf32, #cpu>,
                %b: tensor<4xf32, #cuda0> {weft.donated, weft.name = "b"})
    -> (tensor<4xf32, #cuda0> {weft.tied = 1}) {
  // CHECK-NEXT: %[[C:.*]] = weft.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32, #cpu>
  %c = weft.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #cuda1>
  // CHECK-NEXT: %[[S:.*]] = weft.constant dense<5.000000e-01> : tensor<4xf32, #cpu>
  %s = weft.constant dense<0.5> : tensor<4xf32, #cuda0>
  %0 = weft.transfer %a to #cuda0 : tensor<4xf32, #cpu>
  %1 = weft.transfer %c to #cuda0 : tensor<4xf32, #cuda1>
  // CHECK-NEXT: %[[X:.*]] = weft.add %[[A]], %[[B]]
  %2 = weft.add %0, %b : tensor<4xf32, #cuda0>
  // CHECK-NEXT: %[[Y:.*]] = weft.mul %[[X]], %[[C]]
  %3 = weft.mul %2, %1 : tensor<4xf32, #cuda0>
  // CHECK-NEXT: %[[Z:.*]] = weft.fusion loop (%[[Y]]) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %4 = weft.fusion loop (%3) : (tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0> {
  ^bb0(%x: tensor<4xf32, #cuda0>):
    %y = weft.exp %x : tensor<4xf32, #cuda0>
    weft.yield %y : tensor<4xf32, #cuda0>
  }
  // CHECK: weft.return %[[Z]] : tensor<4xf32, #cpu>
  weft.return %4 : tensor<4xf32, #cuda0>
}

// A gradient with respect to a copy is zero here, and one with respect to the original is not: the copy stays.
// CHECK-LABEL: weft.func @gradient_of_copy(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK-NEXT:    %[[C:.*]] = weft.transfer %[[X]] to #cpu
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[X]]
// CHECK-NEXT:    weft.gradient %[[S]] wrt %[[X]], %[[C]]
weft.func @gradient_of_copy(%x: tensor<4xf32, #cuda0>) -> (tensor<4xf32, #cuda0>, tensor<4xf32, #cuda0>) {
  %0 = weft.transfer %x to #cuda1 : tensor<4xf32, #cuda0>
  %1 = weft.transfer %0 to #cuda0 : tensor<4xf32, #cuda1>
  %2 = weft.sum %x, dims = [0] : tensor<4xf32, #cuda0>
  %3:2 = weft.gradient %2 wrt %x, %1 : tensor<f32, #cuda0>, tensor<4xf32, #cuda0>, tensor<4xf32, #cuda0>
  weft.return %3#0, %3#1 : tensor<4xf32, #cuda0>, tensor<4xf32, #cuda0>
}
