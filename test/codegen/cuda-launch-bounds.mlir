// A schedule's `resident` blocks are part of the launch bounds, so that ptxas may use all registers that they leave.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 -o %t
// RUN: weft kernels %t --target=cuda:sm_90 | FileCheck %s

#gpu = #weft.device<cuda:0>

// CHECK: __launch_bounds__(128, 8)
weft.func @same(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 60>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// CHECK: __launch_bounds__(128, 7)
weft.func @fewer(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 60, 64>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// CHECK: __launch_bounds__(128){{$}}
weft.func @narrower(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 255>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// CHECK: __launch_bounds__(256, 3)
weft.func @columns(%x: tensor<4096x65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  %0 = weft.fusion column (%x) {spilled = array<i64: 64, 64>} : (tensor<4096x65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<4096x65536xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<4096x65536xf32, #gpu>
    weft.yield %1 : tensor<65536xf32, #gpu>
  }
  weft.return %0 : tensor<65536xf32, #gpu>
}
