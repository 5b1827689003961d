// After kernels that spilled, whose registers a thread are in `spilled`, the next schedule of a list is chosen
// (ir/Spills.h). Here a multiprocessor has 65,536 registers.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 -o %t
// RUN: FileCheck %s < %t
// RUN: weft-opt %t | FileCheck %s

#gpu = #weft.device<cuda:0>

// As many blocks as the kernel had that spilled: 8 of 128 threads with 60 registers each.
// CHECK-LABEL: weft.func @same
// CHECK: schedule = #weft.schedule<loop, threads = 128, resident = 8, vector = 4, chunk = 512
weft.func @same(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 60>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// Then fewer.
// CHECK-LABEL: weft.func @fewer
// CHECK: schedule = #weft.schedule<loop, threads = 128, resident = 7, vector = 4, chunk = 512
weft.func @fewer(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 60, 64>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// A kernel that had all registers gets narrower accesses, of 8 bytes and then of 4.
// CHECK-LABEL: weft.func @narrower
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 2, chunk = 256
// CHECK-LABEL: weft.func @narrowest
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 1, chunk = 128
// Then it gets as many blocks as have all registers again.
// CHECK-LABEL: weft.func @all_registers
// CHECK: schedule = #weft.schedule<loop, threads = 128, resident = 2, vector = 1, chunk = 128
// At the end it is the first again.
// CHECK-LABEL: weft.func @first
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, chunk = 512
weft.func @narrower(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 255>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}
weft.func @narrowest(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 255, 255>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}
weft.func @all_registers(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 255, 255, 255>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}
weft.func @first(%x: tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  %0 = weft.fusion loop (%x) {spilled = array<i64: 255, 255, 255, 128>} : (tensor<1048576xf32, #gpu>) -> tensor<1048576xf32, #gpu> {
  ^bb0(%a: tensor<1048576xf32, #gpu>):
    %1 = weft.exp %a : tensor<1048576xf32, #gpu>
    weft.yield %1 : tensor<1048576xf32, #gpu>
  }
  weft.return %0 : tensor<1048576xf32, #gpu>
}

// Three blocks of 256 threads have more registers a thread than two of 512, and leave less of the
// multiprocessor idle than one of 512.
// CHECK-LABEL: weft.func @columns
// CHECK: schedule = #weft.schedule<column, threads = 256, resident = 3
weft.func @columns(%x: tensor<4096x65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  %0 = weft.fusion column (%x) {spilled = array<i64: 64, 64>} : (tensor<4096x65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<4096x65536xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<4096x65536xf32, #gpu>
    weft.yield %1 : tensor<65536xf32, #gpu>
  }
  weft.return %0 : tensor<65536xf32, #gpu>
}
