// RUN: weft-opt %s --weft-map-devices | FileCheck %s --implicit-check-not=cuda
// RUN: weft-opt %s --weft-map-devices --weft-map-devices | FileCheck %s --implicit-check-not=cuda
// RUN: weft-opt %s --weft-map-devices="target=sm_90" | FileCheck %s --check-prefix=SAME
// RUN: weft-opt %s --weft-map-devices="target=sm_90 devices=cuda:1=cuda:0,cpu=cuda:0" | FileCheck %s --check-prefix=ONE --implicit-check-not=cuda1
// RUN: weft-opt %s --weft-map-devices="target=sm_90 devices=cuda:0" | FileCheck %s --check-prefix=ONE --implicit-check-not=cuda1
// RUN: weft-opt %s --weft-map-devices="target=sm_90 devices=cuda:7" | weft-opt --weft-map-devices | FileCheck %s --implicit-check-not=cuda
// RUN: not weft-opt %s --weft-map-devices=devices=cuda:0 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: not weft-opt %s --weft-map-devices="target=sm_90 devices=cpu=gpu" 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not weft-opt %s --weft-map-devices="target=sm_90 devices=cpu=cuda:0,cpu=cuda:1" 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not weft-opt %s --weft-map-devices="target=sm_90 devices=cuda:0,cuda:1" 2>&1 | FileCheck %s --check-prefix=LIST

// The inverse map: a program of the host, or of several devices, on one. What an op gives to the host stays there.
// SAME: #cuda1_ = #weft.device<cuda:1>
// SAME: weft.func @step(%arg0: tensor<4xf32, #cpu>, %arg1: tensor<4xf32, #cuda0_>
// SAME-COUNT-2: weft.transfer
// ONE-LABEL: weft.func @step(
// ONE-SAME: tensor<4xf32, #cuda0_>, %arg1: tensor<4xf32, #cuda0_>
// ONE-NOT: weft.transfer
// ONE: weft.fusion loop {{.*}} : (tensor<4xf32, #cuda0_>) -> tensor<4xf32, #cuda0_>
// ONE-LABEL: weft.func @read(
// ONE: %[[R:.*]] = weft.to_host_scalar %arg0 : tensor<f32, #cuda0_>
// ONE-NEXT: %[[T:.*]] = weft.transfer %[[R]] to #cuda0_ non_blocking : tensor<f32, #cpu>
// ONE-NEXT: weft.add %[[T]], %[[T]] : tensor<f32, #cuda0_>
// HOST: error: cannot map devices: the target 'cpu' has no device 'cuda:0'; name one beside the host, as cpu+cuda:sm_90
// NAME: error: cannot map devices: expected a device, or from=to as cpu=cuda:0, found 'cpu=gpu'
// TWICE: error: cannot map devices: 'cpu' is mapped twice
// LIST: error: cannot map devices: expected a device, or from=to as cpu=cuda:0, found 'cuda:0'
// RUN: not weft-opt %s --weft-map-devices=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET

// TARGET: error: unknown target 'tpu', expected one of cpu, x86-64-v3,

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

// CHECK-LABEL: weft.func @read(
// CHECK-NEXT: weft.to_host_scalar
// CHECK-NEXT: weft.add
weft.func @read(%x: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.to_host_scalar %x : tensor<f32, #cpu>
  %1 = weft.add %0, %0 : tensor<f32, #cpu>
  weft.return %1 : tensor<f32, #cpu>
}
