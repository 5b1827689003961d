// RUN: weft-opt %s --weft-schedule | FileCheck %s
// RUN: weft-opt %s --weft-schedule --weft-schedule | FileCheck %s
// RUN: weft-opt %s --weft-schedule=target=sm_100 | FileCheck %s --check-prefix=LARGE
// RUN: not weft-opt %s --weft-schedule=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not weft-opt %s --weft-fuse=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET

// On a target with a larger last level nothing bypasses it; a target without a description is none.
// LARGE-NOT: streaming
// TARGET: unknown target 'tpu', expected one of{{:?}} cpu, x86-64-v3, x86-64-v4, cuda:sm_80, cuda:sm_90, cuda:sm_100

#cpu = #weft.device<cpu>

// 4,096 elements of 4 bytes are a task; vectors of 16.
// CHECK-LABEL: weft.func @loop
// CHECK: schedule = #weft.schedule<loop, vector = 16, tasks = 3, grain = 1, scratch = 0>
weft.func @loop(%x: tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return %0 : tensor<10000xf32, #cpu>
}

// Doubles fill a cache line with 8.
// CHECK-LABEL: weft.func @doubles
// CHECK: schedule = #weft.schedule<loop, vector = 8, tasks = 5, grain = 1, scratch = 0>
weft.func @doubles(%x: tensor<10000xf64, #cpu>) -> tensor<10000xf64, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<10000xf64, #cpu>) -> tensor<10000xf64, #cpu> {
  ^bb0(%a: tensor<10000xf64, #cpu>):
    %1 = weft.neg %a : tensor<10000xf64, #cpu>
    weft.yield %1 : tensor<10000xf64, #cpu>
  }
  weft.return %0 : tensor<10000xf64, #cpu>
}

// Results of more than 16 MiB bypass the cache.
// CHECK-LABEL: weft.func @large
// CHECK: schedule = #weft.schedule<loop, vector = 16, tasks = 2048, grain = 8, scratch = 0, streaming>
weft.func @large(%x: tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  ^bb0(%a: tensor<8388608xf32, #cpu>):
    %1 = weft.neg %a : tensor<8388608xf32, #cpu>
    weft.yield %1 : tensor<8388608xf32, #cpu>
  }
  weft.return %0 : tensor<8388608xf32, #cpu>
}

// A task is a row; a cheap value is computed again in the second pass, and takes no scratch.
// CHECK-LABEL: weft.func @row
// CHECK: schedule = #weft.schedule<row, vector = 16, tasks = 64, grain = 4, scratch = 0>
weft.func @row(%x: tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  %0 = weft.fusion row (%x) : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return %0 : tensor<64x100xf32, #cpu>
}

// A schedule that is there stays.
// CHECK-LABEL: weft.func @given
// CHECK: schedule = #weft.schedule<loop, vector = 8, tasks = 1, grain = 1, scratch = 0>
weft.func @given(%x: tensor<100xf32, #cpu>) -> tensor<100xf32, #cpu> {
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 8, tasks = 1, grain = 1, scratch = 0>} : (tensor<100xf32, #cpu>) -> tensor<100xf32, #cpu> {
  ^bb0(%a: tensor<100xf32, #cpu>):
    %1 = weft.neg %a : tensor<100xf32, #cpu>
    weft.yield %1 : tensor<100xf32, #cpu>
  }
  weft.return %0 : tensor<100xf32, #cpu>
}
