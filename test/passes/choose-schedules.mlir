// RUN: weft-opt %s --weft-choose-schedules | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules --weft-choose-schedules | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=target=sm_100 | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=target=x86-64-v4:64 | FileCheck %s --check-prefix=MANY
// RUN: not weft-opt %s --weft-choose-schedules=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not weft-opt %s --weft-fuse=target=tpu 2>&1 | FileCheck %s --check-prefix=TARGET

// Beside a device the host has the same schedules. A target without a description is none. Where the name of a target
// says how many cores there are, work is cut for them, and nothing else changes.
// TARGET: unknown target 'tpu', expected one of{{:?}} cpu, x86-64-v3, x86-64-v4, cuda:sm_75, cuda:sm_80,

#cpu = #weft.device<cpu>

// 4,096 elements of 4 bytes are a task; vectors of 16.
// MANY-LABEL: weft.func @loop
// MANY: schedule = #weft.schedule<loop, vector = 16, chunk = 1024, tasks = 10,
// CHECK-LABEL: weft.func @loop
// CHECK: schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 3, grain = 1, scratch = 0>
weft.func @loop(%x: tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return %0 : tensor<10000xf32, #cpu>
}

// Functions take longer than memory: half as many elements are some microseconds of work.
// CHECK-LABEL: weft.func @functions
// CHECK: schedule = #weft.schedule<loop, vector = 16, chunk = 2048, tasks = 2, grain = 1, scratch = 0>
weft.func @functions(%x: tensor<4096xf32, #cpu>) -> tensor<4096xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<4096xf32, #cpu>) -> tensor<4096xf32, #cpu> {
  ^bb0(%a: tensor<4096xf32, #cpu>):
    %1 = weft.tanh %a : tensor<4096xf32, #cpu>
    %2 = weft.sigmoid %1 : tensor<4096xf32, #cpu>
    %3 = weft.tanh %2 : tensor<4096xf32, #cpu>
    %4 = weft.sigmoid %3 : tensor<4096xf32, #cpu>
    %5 = weft.tanh %4 : tensor<4096xf32, #cpu>
    %6 = weft.sigmoid %5 : tensor<4096xf32, #cpu>
    weft.yield %6 : tensor<4096xf32, #cpu>
  }
  weft.return %0 : tensor<4096xf32, #cpu>
}

// Doubles fill a cache line with 8.
// CHECK-LABEL: weft.func @doubles
// CHECK: schedule = #weft.schedule<loop, vector = 8, chunk = 2048, tasks = 5, grain = 1, scratch = 0>
weft.func @doubles(%x: tensor<10000xf64, #cpu>) -> tensor<10000xf64, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<10000xf64, #cpu>) -> tensor<10000xf64, #cpu> {
  ^bb0(%a: tensor<10000xf64, #cpu>):
    %1 = weft.neg %a : tensor<10000xf64, #cpu>
    weft.yield %1 : tensor<10000xf64, #cpu>
  }
  weft.return %0 : tensor<10000xf64, #cpu>
}

// Results of more than 16 MiB bypass the cache.
// MANY-LABEL: weft.func @large
// MANY: schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 2048, grain = 8, scratch = 0, streaming>
// CHECK-LABEL: weft.func @large
// CHECK: schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 2048, grain = 8, scratch = 0, streaming>
weft.func @large(%x: tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<8388608xf32, #cpu>) -> tensor<8388608xf32, #cpu> {
  ^bb0(%a: tensor<8388608xf32, #cpu>):
    %1 = weft.neg %a : tensor<8388608xf32, #cpu>
    weft.yield %1 : tensor<8388608xf32, #cpu>
  }
  weft.return %0 : tensor<8388608xf32, #cpu>
}

// A task is a row; a cheap value is computed again in the second pass, and takes no scratch.
// MANY-LABEL: weft.func @row
// MANY: tasks = 64, grain = 1,
// CHECK-LABEL: weft.func @row
// CHECK: schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = 64, grain = 4, scratch = 0>
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

// A row in pieces is a task as any other row. What is computed once for a row, as the reciprocal root, makes no value of
// an element worth keeping.
// CHECK-LABEL: weft.func @pieces
// CHECK: schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = 64, grain = 4, scratch = 0>
weft.func @pieces(%x: tensor<4x64x128xf32, #cpu>) -> (tensor<4x64x128xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0:2 = weft.fusion row (%x) : (tensor<4x64x128xf32, #cpu>) -> (tensor<4x64x128xf32, #cpu>, tensor<64xf32, #cpu>) {
  ^bb0(%a: tensor<4x64x128xf32, #cpu>):
    %1 = weft.sum %a, dims = [0, 2] : tensor<4x64x128xf32, #cpu>
    %2 = weft.rsqrt %1 : tensor<64xf32, #cpu>
    %3 = weft.exp %2 : tensor<64xf32, #cpu>
    %4 = weft.broadcast_in_dim %3, dims = [1] : tensor<64xf32, #cpu> -> tensor<4x64x128xf32, #cpu>
    %5 = weft.mul %a, %4 : tensor<4x64x128xf32, #cpu>
    %6 = weft.rmax %5, dims = [0, 2] : tensor<4x64x128xf32, #cpu>
    %7 = weft.broadcast_in_dim %6, dims = [1] : tensor<64xf32, #cpu> -> tensor<4x64x128xf32, #cpu>
    %8 = weft.sub %5, %7 : tensor<4x64x128xf32, #cpu>
    weft.yield %8, %6 : tensor<4x64x128xf32, #cpu>, tensor<64xf32, #cpu>
  }
  weft.return %0#0, %0#1 : tensor<4x64x128xf32, #cpu>, tensor<64xf32, #cpu>
}

// A schedule that is there stays, as long as it is right.
// CHECK-LABEL: weft.func @given
// CHECK: schedule = #weft.schedule<loop, vector = 8, chunk = 128, tasks = 1, grain = 1, scratch = 0>
weft.func @given(%x: tensor<100xf32, #cpu>) -> tensor<100xf32, #cpu> {
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 8, chunk = 128, tasks = 1, grain = 1, scratch = 0>} : (tensor<100xf32, #cpu>) -> tensor<100xf32, #cpu> {
  ^bb0(%a: tensor<100xf32, #cpu>):
    %1 = weft.neg %a : tensor<100xf32, #cpu>
    weft.yield %1 : tensor<100xf32, #cpu>
  }
  weft.return %0 : tensor<100xf32, #cpu>
}

// An exponential is dearer than a store and a load: op 1 of the body is kept for the second pass.
// CHECK-LABEL: weft.func @kept
// CHECK: schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = 64, grain = 4, scratch = 448, keep = [1]>
weft.func @kept(%x: tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  %0 = weft.fusion row (%x) : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %n = weft.neg %a : tensor<64x100xf32, #cpu>
    %1 = weft.exp %n : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return %0 : tensor<64x100xf32, #cpu>
}

// An operand that is contiguous along another dimension is transposed in tiles; random numbers do not make the
// squares wider.
// CHECK-LABEL: weft.func @transposed
// CHECK: schedule = #weft.schedule<loop, vector = 16, tile_rows = 256, tile_columns = 64, tile_dim = 0, squares = 8, tasks = 10, grain = 1, scratch = 16384>
// CHECK: schedule = #weft.schedule<loop, vector = 8, tile_rows = 256, tile_columns = 64, tile_dim = 0, squares = 8, tasks = 10, grain = 1, scratch = 4096>
// CHECK: schedule = #weft.schedule<loop, vector = 16, tile_rows = 256, tile_columns = 64, tile_dim = 1, squares = 8, tasks = 10, grain = 1, scratch = 16384>
// CHECK: schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 2, grain = 1, scratch = 0>
weft.func @transposed(%x: tensor<300x257xf32, #cpu>, %y: tensor<300x257xf64, #cpu>, %short: tensor<300x15xf32, #cpu>, %key: tensor<i64, #cpu>)
    -> (tensor<257x300xf32, #cpu>, tensor<257x300xf64, #cpu>, tensor<1x257x300x1xf32, #cpu>, tensor<15x300xf32, #cpu>) {
  %0 = weft.fusion loop (%x, %key) : (tensor<300x257xf32, #cpu>, tensor<i64, #cpu>) -> tensor<257x300xf32, #cpu> {
  ^bb0(%a: tensor<300x257xf32, #cpu>, %k: tensor<i64, #cpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<300x257xf32, #cpu>
    %2, %next = weft.rng_bits_philox %k, %k, shape = [257, 300] : tensor<i64, #cpu>
    %3 = weft.convert %2 to f32 : tensor<257x300xi32, #cpu>
    %4 = weft.add %1, %3 : tensor<257x300xf32, #cpu>
    weft.yield %4 : tensor<257x300xf32, #cpu>
  }
  %5 = weft.fusion loop (%y) : (tensor<300x257xf64, #cpu>) -> tensor<257x300xf64, #cpu> {
  ^bb0(%a: tensor<300x257xf64, #cpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<300x257xf64, #cpu>
    weft.yield %1 : tensor<257x300xf64, #cpu>
  }
  %6 = weft.fusion loop (%x) : (tensor<300x257xf32, #cpu>) -> tensor<1x257x300x1xf32, #cpu> {
  ^bb0(%a: tensor<300x257xf32, #cpu>):
    %1 = weft.reshape %a : tensor<300x257xf32, #cpu> -> tensor<1x300x257x1xf32, #cpu>
    %2 = weft.transpose %1, perm = [0, 2, 1, 3] : tensor<1x300x257x1xf32, #cpu>
    weft.yield %2 : tensor<1x257x300x1xf32, #cpu>
  }
  %7 = weft.fusion loop (%short) : (tensor<300x15xf32, #cpu>) -> tensor<15x300xf32, #cpu> {
  ^bb0(%a: tensor<300x15xf32, #cpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<300x15xf32, #cpu>
    weft.yield %1 : tensor<15x300xf32, #cpu>
  }
  weft.return %0, %5, %6, %7 : tensor<257x300xf32, #cpu>, tensor<257x300xf64, #cpu>, tensor<1x257x300x1xf32, #cpu>, tensor<15x300xf32, #cpu>
}

// A sixteenth of the columns, but from 128 or, where every core has as many, 512 to 1,024, and 16,384 elements; four bytes
// of sum, eight of largest value and its place, and the same again for half of the rows. A vector is no wider than a row.
// MANY-LABEL: weft.func @columns
// MANY: schedule = #weft.schedule<column, vector = 8, rows = 8, block = 16, tasks = 1,
// MANY: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 1024, tasks = 5,
// MANY: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 1024, tasks = 98,
// CHECK-LABEL: weft.func @columns
// CHECK: schedule = #weft.schedule<column, vector = 8, rows = 8, block = 128, tasks = 1, grain = 1, scratch = 1024>
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 1024, tasks = 5, grain = 1, scratch = 32768>
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 1024, tasks = 98, grain = 1, scratch = 8192>
weft.func @columns(%x: tensor<9x10xf32, #cpu>, %y: tensor<9x5000xf32, #cpu>, %z: tensor<9x100000xf32, #cpu>)
    -> (tensor<10xf32, #cpu>, tensor<5000xf32, #cpu>, tensor<5000xi64, #cpu>, tensor<100000xf32, #cpu>) {
  %0 = weft.fusion column (%x) : (tensor<9x10xf32, #cpu>) -> tensor<10xf32, #cpu> {
  ^bb0(%a: tensor<9x10xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x10xf32, #cpu>
    weft.yield %1 : tensor<10xf32, #cpu>
  }
  %2:2 = weft.fusion column (%y) : (tensor<9x5000xf32, #cpu>) -> (tensor<5000xf32, #cpu>, tensor<5000xi64, #cpu>) {
  ^bb0(%a: tensor<9x5000xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x5000xf32, #cpu>
    %3 = weft.argmax %a, dim = 0 : tensor<9x5000xf32, #cpu>
    weft.yield %1, %3 : tensor<5000xf32, #cpu>, tensor<5000xi64, #cpu>
  }
  %4 = weft.fusion column (%z) : (tensor<9x100000xf32, #cpu>) -> tensor<100000xf32, #cpu> {
  ^bb0(%a: tensor<9x100000xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x100000xf32, #cpu>
    weft.yield %1 : tensor<100000xf32, #cpu>
  }
  weft.return %0, %2#0, %2#1, %4 : tensor<10xf32, #cpu>, tensor<5000xf32, #cpu>, tensor<5000xi64, #cpu>, tensor<100000xf32, #cpu>
}

// What takes less time than to hand it out is one task, whatever the number of cores; twice as much is two where the
// target names them.
// MANY-LABEL: weft.func @small_columns
// MANY: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 512, tasks = 1,
// MANY: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 2,
// CHECK-LABEL: weft.func @small_columns
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 512, tasks = 1,
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 2,
weft.func @small_columns(%x: tensor<32x512xf32, #cpu>, %y: tensor<64x512xf32, #cpu>) -> (tensor<512xf32, #cpu>, tensor<512xf32, #cpu>) {
  %0 = weft.fusion column (%x) : (tensor<32x512xf32, #cpu>) -> tensor<512xf32, #cpu> {
  ^bb0(%a: tensor<32x512xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<32x512xf32, #cpu>
    weft.yield %1 : tensor<512xf32, #cpu>
  }
  %2 = weft.fusion column (%y) : (tensor<64x512xf32, #cpu>) -> tensor<512xf32, #cpu> {
  ^bb0(%a: tensor<64x512xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<64x512xf32, #cpu>
    weft.yield %1 : tensor<512xf32, #cpu>
  }
  weft.return %0, %2 : tensor<512xf32, #cpu>, tensor<512xf32, #cpu>
}

// Where one pass does nothing but read long rows, it asks for four pages ahead.
// CHECK-LABEL: weft.func @long_rows
// CHECK: schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 4096, tasks = 8,
// CHECK: schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 16384, tasks = 8,
weft.func @long_rows(%x: tensor<8x16383xf32, #cpu>, %y: tensor<8x16384xf32, #cpu>) -> (tensor<8xf32, #cpu>, tensor<8xf32, #cpu>) {
  %0 = weft.fusion row (%x) : (tensor<8x16383xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8x16383xf32, #cpu>):
    %1 = weft.sum %a, dims = [1] : tensor<8x16383xf32, #cpu>
    weft.yield %1 : tensor<8xf32, #cpu>
  }
  %2 = weft.fusion row (%y) : (tensor<8x16384xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<8x16384xf32, #cpu>):
    %1 = weft.sum %a, dims = [1] : tensor<8x16384xf32, #cpu>
    weft.yield %1 : tensor<8xf32, #cpu>
  }
  weft.return %0, %2 : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>
}

// Where several passes go over the rows, a quarter of the second-level cache holds those of a block: 83 columns of 788
// rows, one of 4,096 rows, of which a block of 64 has too many. The exponentials of 788 rows wait in scratch.
// CHECK-LABEL: weft.func @passes
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 64, tasks = 48, grain = 1, scratch = 203008, keep = [3]>
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 512, tasks = 8, grain = 1, scratch = 6144, streaming>
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 512, tasks = 8, grain = 1, scratch = 4096>
weft.func @passes(%x: tensor<4x788x768xf32, #cpu>, %y: tensor<4096x4096xf32, #cpu>)
    -> (tensor<4x788x768xf32, #cpu>, tensor<4096x4096xf32, #cpu>, tensor<4x768xf32, #cpu>) {
  %0 = weft.fusion column (%x) : (tensor<4x788x768xf32, #cpu>) -> tensor<4x788x768xf32, #cpu> {
  ^bb0(%a: tensor<4x788x768xf32, #cpu>):
    %1 = weft.rmax %a, dims = [1] : tensor<4x788x768xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [0, 2] : tensor<4x768xf32, #cpu> -> tensor<4x788x768xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<4x788x768xf32, #cpu>
    %4 = weft.exp %3 : tensor<4x788x768xf32, #cpu>
    %5 = weft.sum %4, dims = [1] : tensor<4x788x768xf32, #cpu>
    %6 = weft.broadcast_in_dim %5, dims = [0, 2] : tensor<4x768xf32, #cpu> -> tensor<4x788x768xf32, #cpu>
    %7 = weft.div %4, %6 : tensor<4x788x768xf32, #cpu>
    weft.yield %7 : tensor<4x788x768xf32, #cpu>
  }
  %8 = weft.fusion column (%y) : (tensor<4096x4096xf32, #cpu>) -> tensor<4096x4096xf32, #cpu> {
  ^bb0(%a: tensor<4096x4096xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<4096x4096xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [1] : tensor<4096xf32, #cpu> -> tensor<4096x4096xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<4096x4096xf32, #cpu>
    weft.yield %3 : tensor<4096x4096xf32, #cpu>
  }
  %9 = weft.fusion column (%x) : (tensor<4x788x768xf32, #cpu>) -> tensor<4x768xf32, #cpu> {
  ^bb0(%a: tensor<4x788x768xf32, #cpu>):
    %1 = weft.sum %a, dims = [1] : tensor<4x788x768xf32, #cpu>
    weft.yield %1 : tensor<4x768xf32, #cpu>
  }
  weft.return %0, %8, %9 : tensor<4x788x768xf32, #cpu>, tensor<4096x4096xf32, #cpu>, tensor<4x768xf32, #cpu>
}

// Lines are scanned in 16 lanes whatever their elements; columns in blocks of 64.
// CHECK-LABEL: weft.func @scans
// CHECK: schedule = #weft.schedule<scan, vector = 16, lanes = 16, tasks = 30, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = 12, grain = 1, scratch = 0>
weft.func @scans(%x: tensor<30x2000xf64, #cpu>, %y: tensor<6x7x100xf32, #cpu>)
    -> (tensor<30x2000xf64, #cpu>, tensor<6x7x100xf32, #cpu>) {
  %0 = weft.fusion scan (%x) : (tensor<30x2000xf64, #cpu>) -> tensor<30x2000xf64, #cpu> {
  ^bb0(%a: tensor<30x2000xf64, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<30x2000xf64, #cpu>
    weft.yield %1 : tensor<30x2000xf64, #cpu>
  }
  %2 = weft.fusion scan (%y) : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return %0, %2 : tensor<30x2000xf64, #cpu>, tensor<6x7x100xf32, #cpu>
}

// A window is a loop. Few writes by index are one task; many are cut by columns, and where there is none by the
// places that they go to. A scatter has no vectors.
// CHECK-LABEL: weft.func @updates
// CHECK: schedule = #weft.schedule<update, vector = 16, chunk = 4096, tasks = 2, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, vector = 16, tasks = 1, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, vector = 16, block = 64, tasks = 16, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, vector = 1, range = 7, tasks = 15, grain = 1, scratch = 0>
weft.func @updates(%x: tensor<100x1024xf32, #cpu>, %w: tensor<10x500xf32, #cpu>, %at: tensor<i64, #cpu>,
                   %few: tensor<4xi64, #cpu>, %fewer: tensor<4x1024xf32, #cpu>, %many: tensor<64xi64, #cpu>,
                   %rows: tensor<64x1024xf32, #cpu>, %z: tensor<100xf32, #cpu>, %where: tensor<40000xi64, #cpu>,
                   %what: tensor<40000xf32, #cpu>)
    -> (tensor<100x1024xf32, #cpu>, tensor<100x1024xf32, #cpu>, tensor<100x1024xf32, #cpu>, tensor<100xf32, #cpu>) {
  %0 = weft.fusion update (%x, %w, %at) : (tensor<100x1024xf32, #cpu>, tensor<10x500xf32, #cpu>, tensor<i64, #cpu>) -> tensor<100x1024xf32, #cpu> {
  ^bb0(%a: tensor<100x1024xf32, #cpu>, %b: tensor<10x500xf32, #cpu>, %i: tensor<i64, #cpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%i, %i) : tensor<100x1024xf32, #cpu>, tensor<10x500xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
    weft.yield %1 : tensor<100x1024xf32, #cpu>
  }
  %2 = weft.fusion update (%x, %fewer, %few) : (tensor<100x1024xf32, #cpu>, tensor<4x1024xf32, #cpu>, tensor<4xi64, #cpu>) -> tensor<100x1024xf32, #cpu> {
  ^bb0(%a: tensor<100x1024xf32, #cpu>, %b: tensor<4x1024xf32, #cpu>, %i: tensor<4xi64, #cpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x1024xf32, #cpu>, tensor<4x1024xf32, #cpu>, tensor<4xi64, #cpu>
    weft.yield %1 : tensor<100x1024xf32, #cpu>
  }
  %3 = weft.fusion update (%x, %rows, %many) : (tensor<100x1024xf32, #cpu>, tensor<64x1024xf32, #cpu>, tensor<64xi64, #cpu>) -> tensor<100x1024xf32, #cpu> {
  ^bb0(%a: tensor<100x1024xf32, #cpu>, %b: tensor<64x1024xf32, #cpu>, %i: tensor<64xi64, #cpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x1024xf32, #cpu>, tensor<64x1024xf32, #cpu>, tensor<64xi64, #cpu>
    weft.yield %1 : tensor<100x1024xf32, #cpu>
  }
  %4 = weft.fusion update (%z, %where, %what) : (tensor<100xf32, #cpu>, tensor<40000xi64, #cpu>, tensor<40000xf32, #cpu>) -> tensor<100xf32, #cpu> {
  ^bb0(%a: tensor<100xf32, #cpu>, %i: tensor<40000xi64, #cpu>, %b: tensor<40000xf32, #cpu>):
    %1 = weft.scatter %a, %i, %b, dim = 0, kind = add mode = clip : tensor<100xf32, #cpu>, tensor<40000xi64, #cpu>, tensor<40000xf32, #cpu>
    weft.yield %1 : tensor<100xf32, #cpu>
  }
  weft.return %0, %2, %3, %4 : tensor<100x1024xf32, #cpu>, tensor<100x1024xf32, #cpu>, tensor<100x1024xf32, #cpu>, tensor<100xf32, #cpu>
}

// Each tensor has its own chunks.
// CHECK-LABEL: weft.func @steps
// CHECK: schedule = #weft.schedule<multi_tensor, vector = 16, chunk = 8192, tasks = 3, grain = 1, scratch = 0>
weft.func @steps(%p: tensor<8193xf32, #cpu>, %q: tensor<2x3xf64, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>)
    -> (tensor<8193xf32, #cpu>, tensor<2x3xf64, #cpu>) {
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      : (tensor<8193xf32, #cpu>, tensor<2x3xf64, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>)
      -> (tensor<8193xf32, #cpu>, tensor<2x3xf64, #cpu>) {
  ^bb0(%fp: tensor<8193xf32, #cpu>, %fq: tensor<2x3xf64, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<8193xf32, #cpu>, tensor<8193xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<2x3xf64, #cpu>, tensor<2x3xf64, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<8193xf32, #cpu>, tensor<2x3xf64, #cpu>
  }
  weft.return %r#0, %r#1 : tensor<8193xf32, #cpu>, tensor<2x3xf64, #cpu>
}

// With sizes that a call brings: an expression, or for a scan and for steps a bound that the kernel keeps to.
#b = #weft.device<cpu, [n]>
#c = #weft.device<cpu, [n, n]>
// CHECK-LABEL: weft.func @dynamic
// CHECK: schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = ceildiv(100 * n, 4096), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = ceildiv(n * n + 63 * n, 64), grain = 2, scratch = 0>
// CHECK: schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = ceildiv(n, 256), grain = 1, scratch = 2048>
weft.func @dynamic(%x: tensor<?x100xf32, #b>, %y: tensor<?x30x?xf32, #c>, %z: tensor<9x?xf32, #b>)
    -> (tensor<?x100xf32, #b>, tensor<?x30x?xf32, #c>, tensor<?xf32, #b>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>]} {
  %0 = weft.fusion loop (%x) : (tensor<?x100xf32, #b>) -> tensor<?x100xf32, #b> {
  ^bb0(%a: tensor<?x100xf32, #b>):
    %1 = weft.neg %a : tensor<?x100xf32, #b>
    weft.yield %1 : tensor<?x100xf32, #b>
  }
  %2 = weft.fusion scan (%y) : (tensor<?x30x?xf32, #c>) -> tensor<?x30x?xf32, #c> {
  ^bb0(%a: tensor<?x30x?xf32, #c>):
    %1 = weft.cumsum %a, dim = 1 : tensor<?x30x?xf32, #c>
    weft.yield %1 : tensor<?x30x?xf32, #c>
  }
  %3 = weft.fusion column (%z) : (tensor<9x?xf32, #b>) -> tensor<?xf32, #b> {
  ^bb0(%a: tensor<9x?xf32, #b>):
    %1 = weft.sum %a, dims = [0] : tensor<9x?xf32, #b>
    weft.yield %1 : tensor<?xf32, #b>
  }
  weft.return %0, %2, %3 : tensor<?x100xf32, #b>, tensor<?x30x?xf32, #c>, tensor<?xf32, #b>
}
