// Rows beyond the registers of a team: shared memory holds the operands that several passes read, as long as a block of the
// device may have as much. `block` are the elements of the row's whole vectors.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 | FileCheck %s --check-prefixes=CHECK,H100
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 | weft-opt | FileCheck %s --check-prefixes=CHECK,H100
// RUN: weft-opt %s --weft-choose-schedules=target=sm_80 | FileCheck %s --check-prefixes=CHECK,A100
// RUN: weft-opt %s --weft-choose-schedules=target=sm_75 | FileCheck %s --check-prefixes=CHECK,T4

#gpu = #weft.device<cuda:0>

// One operand of 32,770 elements: 128 KiB beside the state of two reductions.
// CHECK-LABEL: weft.func @one
// H100: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 32768, prefetch = 0, tasks = 100, grain = 1, scratch = 131328>
// A100: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 32768, prefetch = 0, tasks = 100, grain = 1, scratch = 131328>
// T4: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 100, grain = 1, scratch = 256>
weft.func @one(%x: tensor<100x32770xf32, #gpu>) -> tensor<100x32770xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100x32770xf32, #gpu>) -> tensor<100x32770xf32, #gpu> {
  ^bb0(%a: tensor<100x32770xf32, #gpu>):
    %1 = weft.rmax %a, dims = [1] : tensor<100x32770xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<100xf32, #gpu> -> tensor<100x32770xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<100x32770xf32, #gpu>
    %4 = weft.exp %3 : tensor<100x32770xf32, #gpu>
    %5 = weft.sum %4, dims = [1] : tensor<100x32770xf32, #gpu>
    %6 = weft.broadcast_in_dim %5, dims = [0] : tensor<100xf32, #gpu> -> tensor<100x32770xf32, #gpu>
    %7 = weft.div %4, %6 : tensor<100x32770xf32, #gpu>
    weft.yield %7 : tensor<100x32770xf32, #gpu>
  }
  weft.return %0 : tensor<100x32770xf32, #gpu>
}

// Of three operands, the passes share two: one of halves, at 128 bytes, and one of f32 after it. The third is read once.
// CHECK-LABEL: weft.func @two
// H100: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 20000, prefetch = 0, tasks = 100, grain = 1, scratch = 120128>
// A100: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 20000, prefetch = 0, tasks = 100, grain = 1, scratch = 120128>
// T4: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 100, grain = 1, scratch = 128>
weft.func @two(%x: tensor<100x20000xf16, #gpu>, %y: tensor<100x20000xf32, #gpu>, %z: tensor<100x20000xf32, #gpu>) -> tensor<100x20000xf32, #gpu> {
  %0 = weft.fusion row (%x, %y, %z) : (tensor<100x20000xf16, #gpu>, tensor<100x20000xf32, #gpu>, tensor<100x20000xf32, #gpu>) -> tensor<100x20000xf32, #gpu> {
  ^bb0(%a: tensor<100x20000xf16, #gpu>, %b: tensor<100x20000xf32, #gpu>, %c: tensor<100x20000xf32, #gpu>):
    %1 = weft.convert %a to f32 : tensor<100x20000xf16, #gpu>
    %2 = weft.mul %1, %b : tensor<100x20000xf32, #gpu>
    %3 = weft.sum %2, dims = [1] : tensor<100x20000xf32, #gpu>
    %4 = weft.broadcast_in_dim %3, dims = [0] : tensor<100xf32, #gpu> -> tensor<100x20000xf32, #gpu>
    %5 = weft.sub %2, %4 : tensor<100x20000xf32, #gpu>
    %6 = weft.add %5, %c : tensor<100x20000xf32, #gpu>
    weft.yield %6 : tensor<100x20000xf32, #gpu>
  }
  weft.return %0 : tensor<100x20000xf32, #gpu>
}

// Rows beyond that, and those that one pass reads: nothing is held.
// CHECK-LABEL: weft.func @none
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 100, grain = 1, scratch = 128>
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 100, grain = 1, scratch = 128>
weft.func @none(%x: tensor<100x60000xf32, #gpu>, %y: tensor<100x40000xf32, #gpu>) -> (tensor<100x60000xf32, #gpu>, tensor<100xf32, #gpu>) {
  %0 = weft.fusion row (%x) : (tensor<100x60000xf32, #gpu>) -> tensor<100x60000xf32, #gpu> {
  ^bb0(%a: tensor<100x60000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100x60000xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<100xf32, #gpu> -> tensor<100x60000xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<100x60000xf32, #gpu>
    weft.yield %3 : tensor<100x60000xf32, #gpu>
  }
  %4 = weft.fusion row (%y) : (tensor<100x40000xf32, #gpu>) -> tensor<100xf32, #gpu> {
  ^bb0(%a: tensor<100x40000xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x40000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<100x40000xf32, #gpu>
    weft.yield %2 : tensor<100xf32, #gpu>
  }
  weft.return %0, %4 : tensor<100x60000xf32, #gpu>, tensor<100xf32, #gpu>
}
