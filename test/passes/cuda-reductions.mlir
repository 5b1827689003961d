// Schedules of reductions on a device, at sizes on either side of each decision. A team of threads shares a row: a part of a
// warp, a warp up to 1,024 elements, or a block. `chunk` is there if the team's registers hold the row.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules=target=sm_80 | FileCheck %s

#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @one_vector
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 16, lanes = 4, partials = 16, prefetch = 0, tasks = 3125, grain = 1, scratch = 0>
weft.func @one_vector(%x: tensor<100000x16xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100000x16xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000x16xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100000x16xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @eighth
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 32, lanes = 8, partials = 32, prefetch = 0, tasks = 6250, grain = 1, scratch = 0>
weft.func @eighth(%x: tensor<100000x17xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100000x17xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000x17xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100000x17xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @half
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 64, lanes = 16, partials = 64, prefetch = 0, tasks = 12500, grain = 1, scratch = 0>
weft.func @half(%x: tensor<100000x64xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100000x64xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000x64xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100000x64xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @warp
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 128, lanes = 32, partials = 128, prefetch = 0, tasks = 25000, grain = 1, scratch = 0>
weft.func @warp(%x: tensor<100000x65xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100000x65xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000x65xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100000x65xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @warp_of_most
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 1024, lanes = 32, partials = 128, prefetch = 0, tasks = 25000, grain = 1, scratch = 0>
weft.func @warp_of_most(%x: tensor<100000x1024xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<100000x1024xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000x1024xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100000x1024xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// A few rows are for as many multiprocessors.
// CHECK-LABEL: weft.func @few
// CHECK: schedule = #weft.schedule<row, threads = 32, vector = 4, chunk = 1024, lanes = 32, partials = 128, prefetch = 0, tasks = 64, grain = 1, scratch = 0>
weft.func @few(%x: tensor<64x1024xf32, #gpu>) -> tensor<64xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<64x1024xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1024xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x1024xf32, #gpu>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return %0 : tensor<64xf32, #gpu>
}

// The four warps exchange their states in shared memory.
// CHECK-LABEL: weft.func @block
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 1536, lanes = 128, partials = 512, prefetch = 0, tasks = 1000, grain = 1, scratch = 32>
weft.func @block(%x: tensor<1000x1025xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<1000x1025xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  ^bb0(%a: tensor<1000x1025xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<1000x1025xf32, #gpu>
    weft.yield %1 : tensor<1000xf32, #gpu>
  }
  weft.return %0 : tensor<1000xf32, #gpu>
}

// CHECK-LABEL: weft.func @block_of_most
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, chunk = 16384, lanes = 512, partials = 2048, prefetch = 0, tasks = 1000, grain = 1, scratch = 128>
weft.func @block_of_most(%x: tensor<1000x16384xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<1000x16384xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  ^bb0(%a: tensor<1000x16384xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<1000x16384xf32, #gpu>
    weft.yield %1 : tensor<1000xf32, #gpu>
  }
  weft.return %0 : tensor<1000xf32, #gpu>
}

// CHECK-LABEL: weft.func @vectors_of_most
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, chunk = 32768, lanes = 512, partials = 2048, prefetch = 0, tasks = 1000, grain = 1, scratch = 128>
weft.func @vectors_of_most(%x: tensor<1000x32768xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<1000x32768xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  ^bb0(%a: tensor<1000x32768xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<1000x32768xf32, #gpu>
    weft.yield %1 : tensor<1000xf32, #gpu>
  }
  weft.return %0 : tensor<1000xf32, #gpu>
}

// Longer rows, and those whose elements take more registers, are no chunk (cuda-held-rows.mlir).
// CHECK-LABEL: weft.func @long
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 1000, grain = 1, scratch = 128>
weft.func @long(%x: tensor<1000x32769xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<1000x32769xf32, #gpu>) -> tensor<1000xf32, #gpu> {
  ^bb0(%a: tensor<1000x32769xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<1000x32769xf32, #gpu>
    weft.yield %1 : tensor<1000xf32, #gpu>
  }
  weft.return %0 : tensor<1000xf32, #gpu>
}

// CHECK-LABEL: weft.func @wide
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = 1000, grain = 1, scratch = 128>
weft.func @wide(%x: tensor<1000x16384xf64, #gpu>) -> tensor<1000xf64, #gpu> {
  %0 = weft.fusion row (%x) : (tensor<1000x16384xf64, #gpu>) -> tensor<1000xf64, #gpu> {
  ^bb0(%a: tensor<1000x16384xf64, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<1000x16384xf64, #gpu>
    weft.yield %1 : tensor<1000xf64, #gpu>
  }
  weft.return %0 : tensor<1000xf64, #gpu>
}

// One, eight or 32 threads share a column, by the number of its rows. Blocks are as wide as 512 threads allow, but narrower where
// there are few for the multiprocessors.
// CHECK-LABEL: weft.func @few_rows
// CHECK: schedule = #weft.schedule<column, threads = 128, vector = 4, rows = 1, block = 512, tasks = 1954, grain = 1, scratch = 0>
weft.func @few_rows(%x: tensor<15x1000000xf32, #gpu>) -> tensor<1000000xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<15x1000000xf32, #gpu>) -> tensor<1000000xf32, #gpu> {
  ^bb0(%a: tensor<15x1000000xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<15x1000000xf32, #gpu>
    weft.yield %1 : tensor<1000000xf32, #gpu>
  }
  weft.return %0 : tensor<1000000xf32, #gpu>
}

// CHECK-LABEL: weft.func @some_rows
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 782, grain = 1, scratch = 4096>
weft.func @some_rows(%x: tensor<16x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<16x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<16x100000xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<16x100000xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @most_of_some_rows
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 782, grain = 1, scratch = 4096>
weft.func @most_of_some_rows(%x: tensor<127x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<127x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<127x100000xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<127x100000xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @many_rows
// CHECK: schedule = #weft.schedule<column, threads = 512, vector = 4, rows = 32, block = 64, tasks = 1563, grain = 1, scratch = 8192>
weft.func @many_rows(%x: tensor<128x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<128x100000xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<128x100000xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<128x100000xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0 : tensor<100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @few_columns
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 32, block = 32, tasks = 24, grain = 1, scratch = 4096>
weft.func @few_columns(%x: tensor<128x768xf32, #gpu>) -> tensor<768xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<128x768xf32, #gpu>) -> tensor<768xf32, #gpu> {
  ^bb0(%a: tensor<128x768xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<128x768xf32, #gpu>
    weft.yield %1 : tensor<768xf32, #gpu>
  }
  weft.return %0 : tensor<768xf32, #gpu>
}

// CHECK-LABEL: weft.func @middle
// CHECK: schedule = #weft.schedule<column, threads = 512, vector = 4, rows = 32, block = 64, tasks = 1200, grain = 1, scratch = 8192>
weft.func @middle(%x: tensor<100x128x768xf32, #gpu>) -> tensor<100x768xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<100x128x768xf32, #gpu>) -> tensor<100x768xf32, #gpu> {
  ^bb0(%a: tensor<100x128x768xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<100x128x768xf32, #gpu>
    weft.yield %1 : tensor<100x768xf32, #gpu>
  }
  weft.return %0 : tensor<100x768xf32, #gpu>
}

// A vector of columns is whole: none of 16 bytes in rows of 766.
// CHECK-LABEL: weft.func @even_columns
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 2, rows = 32, block = 16, tasks = 48, grain = 1, scratch = 2048>
weft.func @even_columns(%x: tensor<128x766xf32, #gpu>) -> tensor<766xf32, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<128x766xf32, #gpu>) -> tensor<766xf32, #gpu> {
  ^bb0(%a: tensor<128x766xf32, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<128x766xf32, #gpu>
    weft.yield %1 : tensor<766xf32, #gpu>
  }
  weft.return %0 : tensor<766xf32, #gpu>
}

// CHECK-LABEL: weft.func @halves
// CHECK: schedule = #weft.schedule<column, threads = 512, vector = 8, rows = 32, block = 128, tasks = 782, grain = 1, scratch = 16384>
weft.func @halves(%x: tensor<128x100000xf16, #gpu>) -> tensor<100000xf16, #gpu> {
  %0 = weft.fusion column (%x) : (tensor<128x100000xf16, #gpu>) -> tensor<100000xf16, #gpu> {
  ^bb0(%a: tensor<128x100000xf16, #gpu>):
    %1 = weft.sum %a, dims = [0] : tensor<128x100000xf16, #gpu>
    weft.yield %1 : tensor<100000xf16, #gpu>
  }
  weft.return %0 : tensor<100000xf16, #gpu>
}

// A warp scans a line of up to 1,024 elements, in vectors of four if these are its divisors, and a block a longer one. Columns
// have a thread each.
// CHECK-LABEL: weft.func @line
// CHECK: schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, tasks = 250, grain = 1, scratch = 0>
weft.func @line(%x: tensor<1000x1024xf32, #gpu>) -> tensor<1000x1024xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<1000x1024xf32, #gpu>) -> tensor<1000x1024xf32, #gpu> {
  ^bb0(%a: tensor<1000x1024xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<1000x1024xf32, #gpu>
    weft.yield %1 : tensor<1000x1024xf32, #gpu>
  }
  weft.return %0 : tensor<1000x1024xf32, #gpu>
}

// CHECK-LABEL: weft.func @odd_line
// CHECK: schedule = #weft.schedule<scan, threads = 128, vector = 1, lanes = 32, tasks = 250, grain = 1, scratch = 0>
weft.func @odd_line(%x: tensor<1000x1023xf32, #gpu>) -> tensor<1000x1023xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<1000x1023xf32, #gpu>) -> tensor<1000x1023xf32, #gpu> {
  ^bb0(%a: tensor<1000x1023xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<1000x1023xf32, #gpu>
    weft.yield %1 : tensor<1000x1023xf32, #gpu>
  }
  weft.return %0 : tensor<1000x1023xf32, #gpu>
}

// CHECK-LABEL: weft.func @few_lines
// CHECK: schedule = #weft.schedule<scan, threads = 32, vector = 4, lanes = 32, tasks = 64, grain = 1, scratch = 0>
weft.func @few_lines(%x: tensor<64x1024xf32, #gpu>) -> tensor<64x1024xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<64x1024xf32, #gpu>) -> tensor<64x1024xf32, #gpu> {
  ^bb0(%a: tensor<64x1024xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1024xf32, #gpu>
    weft.yield %1 : tensor<64x1024xf32, #gpu>
  }
  weft.return %0 : tensor<64x1024xf32, #gpu>
}

// CHECK-LABEL: weft.func @long_line
// CHECK: schedule = #weft.schedule<scan, threads = 256, vector = 4, lanes = 256, tasks = 1000, grain = 1, scratch = 64>
weft.func @long_line(%x: tensor<1000x1028xf32, #gpu>) -> tensor<1000x1028xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<1000x1028xf32, #gpu>) -> tensor<1000x1028xf32, #gpu> {
  ^bb0(%a: tensor<1000x1028xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<1000x1028xf32, #gpu>
    weft.yield %1 : tensor<1000x1028xf32, #gpu>
  }
  weft.return %0 : tensor<1000x1028xf32, #gpu>
}

// CHECK-LABEL: weft.func @scanned_columns
// CHECK: schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 1, block = 512, tasks = 1960, grain = 1, scratch = 0>
weft.func @scanned_columns(%x: tensor<10x100x100000xf32, #gpu>) -> tensor<10x100x100000xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<10x100x100000xf32, #gpu>) -> tensor<10x100x100000xf32, #gpu> {
  ^bb0(%a: tensor<10x100x100000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<10x100x100000xf32, #gpu>
    weft.yield %1 : tensor<10x100x100000xf32, #gpu>
  }
  weft.return %0 : tensor<10x100x100000xf32, #gpu>
}

// CHECK-LABEL: weft.func @few_scanned_columns
// CHECK: schedule = #weft.schedule<scan, threads = 32, vector = 1, lanes = 1, block = 32, tasks = 4, grain = 1, scratch = 0>
weft.func @few_scanned_columns(%x: tensor<10x101xf32, #gpu>) -> tensor<10x101xf32, #gpu> {
  %0 = weft.fusion scan (%x) : (tensor<10x101xf32, #gpu>) -> tensor<10x101xf32, #gpu> {
  ^bb0(%a: tensor<10x101xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<10x101xf32, #gpu>
    weft.yield %1 : tensor<10x101xf32, #gpu>
  }
  weft.return %0 : tensor<10x101xf32, #gpu>
}

// The number of rows may be one of the call. So may their length: the team is the largest that a length of the range has, and blocks take
// turns at the rows. Where no row is longer than a warp's, there is no shared memory.
#b = #weft.device<cuda:0, [n]>
// CHECK-LABEL: weft.func @dynamic
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 128, lanes = 32, partials = 128, prefetch = 0, tasks = ceildiv(n, 4), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = ceildiv(100 * n + 100, 4096), grain = 1, scratch = 0>
weft.func @dynamic(%x: tensor<?x100xf32, #b>, %y: tensor<100x?xf32, #b>) -> (tensor<?xf32, #b>, tensor<100xf32, #gpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>]} {
  %0 = weft.fusion row (%x) : (tensor<?x100xf32, #b>) -> tensor<?xf32, #b> {
  ^bb0(%a: tensor<?x100xf32, #b>):
    %1 = weft.sum %a, dims = [1] : tensor<?x100xf32, #b>
    weft.yield %1 : tensor<?xf32, #b>
  }
  %2 = weft.fusion row (%y) : (tensor<100x?xf32, #b>) -> tensor<100xf32, #gpu> {
  ^bb0(%a: tensor<100x?xf32, #b>):
    %1 = weft.sum %a, dims = [1] : tensor<100x?xf32, #b>
    weft.yield %1 : tensor<100xf32, #gpu>
  }
  weft.return %0, %2 : tensor<?xf32, #b>, tensor<100xf32, #gpu>
}

// CHECK-LABEL: weft.func @dynamic_long
// CHECK: schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, prefetch = 0, tasks = ceildiv(m * n + m, 4096), grain = 1, scratch = 128>
weft.func @dynamic_long(%x: tensor<?x?xf32, #weft.device<cuda:0, [m, n]>>) -> tensor<?xf32, #weft.device<cuda:0, [m]>>
    attributes {weft.symbols = [#weft.symbol<"m", 1, 1000>, #weft.symbol<"n", 0, 100000>]} {
  %0 = weft.fusion row (%x) : (tensor<?x?xf32, #weft.device<cuda:0, [m, n]>>) -> tensor<?xf32, #weft.device<cuda:0, [m]>> {
  ^bb0(%a: tensor<?x?xf32, #weft.device<cuda:0, [m, n]>>):
    %1 = weft.sum %a, dims = [1] : tensor<?x?xf32, #weft.device<cuda:0, [m, n]>>
    weft.yield %1 : tensor<?xf32, #weft.device<cuda:0, [m]>>
  }
  weft.return %0 : tensor<?xf32, #weft.device<cuda:0, [m]>>
}

// Columns whose rows, or whose own number, the call knows. Vectors are as wide as divides all numbers of columns.
// CHECK-LABEL: weft.func @dynamic_columns
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 32, block = 32, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 4096>
// CHECK: schedule = #weft.schedule<column, threads = 128, vector = 4, rows = 1, block = 512, tasks = ceildiv(64 * m + 64, 4096), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<column, threads = 256, vector = 2, rows = 8, block = 64, tasks = ceildiv(2 * n, 64), grain = 1, scratch = 2048>
weft.func @dynamic_columns(%x: tensor<?x64xf32, #b>, %y: tensor<?x64xf32, #weft.device<cuda:0, [m]>>, %z: tensor<100x?xf32, #weft.device<cuda:0, [2 * n]>>)
    -> (tensor<64xf32, #gpu>, tensor<64xf32, #gpu>, tensor<?xf32, #weft.device<cuda:0, [2 * n]>>)
    attributes {weft.symbols = [#weft.symbol<"n", 0, 1000>, #weft.symbol<"m", 0, 15>]} {
  %0 = weft.fusion column (%x) : (tensor<?x64xf32, #b>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<?x64xf32, #b>):
    %1 = weft.sum %a, dims = [0] : tensor<?x64xf32, #b>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  %2 = weft.fusion column (%y) : (tensor<?x64xf32, #weft.device<cuda:0, [m]>>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<?x64xf32, #weft.device<cuda:0, [m]>>):
    %1 = weft.sum %a, dims = [0] : tensor<?x64xf32, #weft.device<cuda:0, [m]>>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  %3 = weft.fusion column (%z) : (tensor<100x?xf32, #weft.device<cuda:0, [2 * n]>>) -> tensor<?xf32, #weft.device<cuda:0, [2 * n]>> {
  ^bb0(%a: tensor<100x?xf32, #weft.device<cuda:0, [2 * n]>>):
    %1 = weft.sum %a, dims = [0] : tensor<100x?xf32, #weft.device<cuda:0, [2 * n]>>
    weft.yield %1 : tensor<?xf32, #weft.device<cuda:0, [2 * n]>>
  }
  weft.return %0, %2, %3 : tensor<64xf32, #gpu>, tensor<64xf32, #gpu>, tensor<?xf32, #weft.device<cuda:0, [2 * n]>>
}

// CHECK-LABEL: weft.func @dynamic_scans
// CHECK: schedule = #weft.schedule<scan, threads = 256, vector = 4, lanes = 256, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>
// CHECK: schedule = #weft.schedule<scan, threads = 128, vector = 1, lanes = 1, block = 128, tasks = ceildiv(n + 127, 128), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, tasks = ceildiv(64 * m + 64, 4096), grain = 1, scratch = 0>
weft.func @dynamic_scans(%x: tensor<64x?xf32, #b>, %y: tensor<64x?xf32, #weft.device<cuda:0, [m]>>)
    -> (tensor<64x?xf32, #b>, tensor<64x?xf32, #b>, tensor<64x?xf32, #weft.device<cuda:0, [m]>>)
    attributes {weft.symbols = [#weft.symbol<"n", 0, 5000>, #weft.symbol<"m", 0, 1000>]} {
  %0 = weft.fusion scan (%x) : (tensor<64x?xf32, #b>) -> tensor<64x?xf32, #b> {
  ^bb0(%a: tensor<64x?xf32, #b>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #b>
    weft.yield %1 : tensor<64x?xf32, #b>
  }
  %2 = weft.fusion scan (%x) : (tensor<64x?xf32, #b>) -> tensor<64x?xf32, #b> {
  ^bb0(%a: tensor<64x?xf32, #b>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x?xf32, #b>
    weft.yield %1 : tensor<64x?xf32, #b>
  }
  %3 = weft.fusion scan (%y) : (tensor<64x?xf32, #weft.device<cuda:0, [m]>>) -> tensor<64x?xf32, #weft.device<cuda:0, [m]>> {
  ^bb0(%a: tensor<64x?xf32, #weft.device<cuda:0, [m]>>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #weft.device<cuda:0, [m]>>
    weft.yield %1 : tensor<64x?xf32, #weft.device<cuda:0, [m]>>
  }
  weft.return %0, %2, %3 : tensor<64x?xf32, #b>, tensor<64x?xf32, #b>, tensor<64x?xf32, #weft.device<cuda:0, [m]>>
}

// A number in f64, of which there is only one, leaves f32 columns their vectors of four.
// CHECK-LABEL: weft.func @columns_and_a_number
// CHECK: schedule = #weft.schedule<column, threads = {{[0-9]+}}, vector = 4,
weft.func @columns_and_a_number(%x: tensor<1000x4096xf32, #gpu>, %y: tensor<f64, #gpu>) {
  %0 = weft.fusion column (%x, %y) : (tensor<1000x4096xf32, #gpu>, tensor<f64, #gpu>) -> tensor<4096xf32, #gpu> {
  ^bb0(%a: tensor<1000x4096xf32, #gpu>, %b: tensor<f64, #gpu>):
    %1 = weft.convert %b to f32 : tensor<f64, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [] : tensor<f32, #gpu> -> tensor<1000x4096xf32, #gpu>
    %3 = weft.mul %a, %2 : tensor<1000x4096xf32, #gpu>
    %4 = weft.sum %3, dims = [0] : tensor<1000x4096xf32, #gpu>
    weft.yield %4 : tensor<4096xf32, #gpu>
  }
  weft.return
}
