// On a device a loop over contiguous operands has a block of threads a task, which takes one access of each thread; rows,
// columns and scans have teams of threads (cuda-reductions.mlir). Where a kind of fusion has no schedule, each thread carries out tasks of its own, and
// a note says so. The verifier holds these as it holds all others.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 -o %t
// RUN: FileCheck %s < %t
// RUN: weft-opt %t --weft-choose-schedules=target=sm_100 | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=target=sm_100 | FileCheck %s --check-prefix=WIDE
// RUN: weft-opt %s --weft-choose-schedules='target=sm_90 report=true' | FileCheck %s --check-prefix=NOTE
// NOTE-LABEL: weft.func @loop
// NOTE-NOT: WEFT-F009
// NOTE-LABEL: weft.func @row
// NOTE-NOT: WEFT-F009
// NOTE-LABEL: weft.func @column
// NOTE-NOT: WEFT-F009
// NOTE-LABEL: weft.func @scans
// NOTE-NOT: WEFT-F009
// NOTE-LABEL: weft.func @updates
// NOTE-NOT: WEFT-F009
// NOTE-LABEL: weft.func @nothing
// NOTE-SAME: code = "WEFT-F009"{{.*}}message = "one thread a task: there is no schedule of this kind for cuda:sm_90"

// A device's schedule is none of the host's, and the other way around.
// RUN: sed 's/cuda:0/cpu/' %t > %t.cpu
// RUN: not weft-opt %t.cpu 2>&1 | FileCheck %s --check-prefix=HOST
// RUN: sed 's/cuda:0/cpu/' %s > %t.host
// RUN: weft-opt %t.host --weft-choose-schedules -o %t.scheduled
// RUN: sed 's/#weft.device<cpu>/#weft.device<cuda:0>/' %t.scheduled > %t.moved
// RUN: not weft-opt %t.moved 2>&1 | FileCheck %s --check-prefix=DEVICE
// HOST: has threads = 128 in its schedule, which it cannot have: a task of a CPU is one thread's
// DEVICE: needs threads in its schedule: it runs on cuda:0, and how many threads share a task is not said

#gpu = #weft.device<cuda:0>

// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, chunk = 512, tasks = 20, grain = 1, scratch = 0>
// WIDE: schedule = #weft.schedule<loop, threads = 128, vector = 8, chunk = 1024
weft.func @loop(%x: tensor<10000xf32, #gpu>) -> tensor<10000xf32, #gpu> {
  %0 = weft.fusion loop (%x) : (tensor<10000xf32, #gpu>) -> tensor<10000xf32, #gpu> {
  ^bb0(%a: tensor<10000xf32, #gpu>):
    %1 = weft.neg %a : tensor<10000xf32, #gpu>
    weft.yield %1 : tensor<10000xf32, #gpu>
  }
  weft.return %0 : tensor<10000xf32, #gpu>
}

// CHECK: schedule = #weft.schedule<row, threads = 32, vector = 4, chunk = 128, lanes = 32, partials = 128, prefetch = 0, tasks = 64, grain = 1, scratch = 0>
weft.func @row(%x: tensor<64x100xf32, #gpu>) -> tensor<64x100xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<64x100xf32, #gpu>) -> tensor<64x100xf32, #gpu> {
  ^bb0(%a: tensor<64x100xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x100xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #gpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x100xf32, #gpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #gpu>
    weft.yield %4 : tensor<64x100xf32, #gpu>
  }
  weft.return %0 : tensor<64x100xf32, #gpu>
}

// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 32, block = 32, tasks = 32, grain = 1, scratch = 4096>
weft.func @column(%x: tensor<300x1000xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<300x1000xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  ^bb0(%a: tensor<300x1000xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<300x1000xf32, #gpu>
    weft.yield %1 : tensor<1000xf32, #gpu>
  }
  weft.return %0 : tensor<1000xf32, #gpu>
}

// CHECK: schedule = #weft.schedule<scan, threads = 32, vector = 1, lanes = 32, tasks = 9, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<scan, threads = 32, vector = 2, lanes = 1, block = 64, tasks = 1, grain = 1, scratch = 0>
weft.func @scans(%x: tensor<9x30xf32, #gpu>) -> (tensor<9x30xf32, #gpu>, tensor<9x30xf32, #gpu>) {
  %0 = weft.fusion scan (%x) : (tensor<9x30xf32, #gpu>) -> tensor<9x30xf32, #gpu> {
  ^bb0(%a: tensor<9x30xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<9x30xf32, #gpu>
    weft.yield %1 : tensor<9x30xf32, #gpu>
  }
  %2 = weft.fusion scan (%x) : (tensor<9x30xf32, #gpu>) -> tensor<9x30xf32, #gpu> {
  ^bb0(%a: tensor<9x30xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<9x30xf32, #gpu>
    weft.yield %1 : tensor<9x30xf32, #gpu>
  }
  weft.return %0, %2 : tensor<9x30xf32, #gpu>, tensor<9x30xf32, #gpu>
}

// Writes that may meet stay in one thread's order: each thread has one vector of the elements that share an index, and a range of places.
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, block = 4, range = 1, tasks = 5, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 1, block = 1, range = 1, tasks = 1, grain = 1, scratch = 0>
weft.func @updates(%x: tensor<100x24xf32, #gpu>, %rows: tensor<64x24xf32, #gpu>, %which: tensor<64xi64, #gpu>,
                   %z: tensor<100xf32, #gpu>, %where: tensor<400xi64, #gpu>, %what: tensor<400xf32, #gpu>)
    -> (tensor<100x24xf32, #gpu>, tensor<100xf32, #gpu>) {
  %0 = weft.fusion update (%x, %rows, %which) : (tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x24xf32, #gpu> {
  ^bb0(%a: tensor<100x24xf32, #gpu>, %b: tensor<64x24xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x24xf32, #gpu>
  }
  %2 = weft.fusion update (%z, %where, %what) : (tensor<100xf32, #gpu>, tensor<400xi64, #gpu>, tensor<400xf32, #gpu>) -> tensor<100xf32, #gpu> {
  ^bb0(%a: tensor<100xf32, #gpu>, %i: tensor<400xi64, #gpu>, %b: tensor<400xf32, #gpu>):
    %1 = weft.scatter %a, %i, %b, dim = 0, kind = add mode = clip : tensor<100xf32, #gpu>, tensor<400xi64, #gpu>, tensor<400xf32, #gpu>
    weft.yield %1 : tensor<100xf32, #gpu>
  }
  weft.return %0, %2 : tensor<100x24xf32, #gpu>, tensor<100xf32, #gpu>
}

// One element for all of the domain, and reshapes, leave a loop contiguous. Others are in cuda-loops.mlir.
// CHECK-LABEL: weft.func @contiguous
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 2, chunk = 256, tasks = 4,
weft.func @contiguous(%x: tensor<1000xf32, #gpu>, %s: tensor<f64, #gpu>) -> tensor<10x100xf64, #gpu> {
  %0 = weft.fusion loop (%x, %s) : (tensor<1000xf32, #gpu>, tensor<f64, #gpu>) -> tensor<10x100xf64, #gpu> {
  ^bb0(%a: tensor<1000xf32, #gpu>, %b: tensor<f64, #gpu>):
    %1 = weft.reshape %a : tensor<1000xf32, #gpu> -> tensor<10x100xf32, #gpu>
    %2 = weft.convert %1 to f64 : tensor<10x100xf32, #gpu>
    %3 = weft.broadcast_in_dim %b, dims = [] : tensor<f64, #gpu> -> tensor<10x100xf64, #gpu>
    %4 = weft.mul %2, %3 : tensor<10x100xf64, #gpu>
    weft.yield %4 : tensor<10x100xf64, #gpu>
  }
  weft.return %0 : tensor<10x100xf64, #gpu>
}

// Rows of no elements have no team.
// CHECK-LABEL: weft.func @nothing
// CHECK: schedule = #weft.schedule<row, threads = 1, vector = 4, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>
weft.func @nothing(%x: tensor<64x0xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<64x0xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x0xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x0xf32, #gpu>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return %0 : tensor<64xf32, #gpu>
}
