// RUN: weft-opt %s -split-input-file -verify-diagnostics

// Schedules of rows, columns and scans that threads share (ir/VerifySchedule.cpp): what the emitter relies on is proven first.

#gpu = #weft.device<cuda:0>
weft.func @lanes(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has lanes = 16 in its schedule, expected 32: the order of a reduction follows from the length of its rows alone}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 16, partials = 64, prefetch = 0, tasks = 8, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @partials(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has partials = 64 in its schedule, expected 128: the order of a reduction follows from the length of its rows alone}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 64, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @one_element_at_a_time(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 1024 in its schedule, which it cannot have: with a vector of 1, a thread has one element at a time}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 1, chunk = 1024, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @vector(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 8 in its schedule, expected 4: the order of a reduction follows from the length of its rows alone}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 8, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @prefetch(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has prefetch = 64 in its schedule, expected 0: other warps run while one waits for memory}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 64, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_warp(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 48 in its schedule, expected a multiple of 32: a warp has no threads without a row}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 48, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @two_rows_of_a_block(%x: tensor<64x2000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 256 in its schedule, expected 128: a row of several warps has a block of its own}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 256, vector = 4, lanes = 128, partials = 512, prefetch = 0, tasks = 32, grain = 1, scratch = 32>} : (tensor<64x2000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x2000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x2000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x2000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_row(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 512 in its schedule, expected 1024: a team holds the whole row, in vectors of all its threads}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, chunk = 512, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @too_many_vectors(%x: tensor<64x33000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 34816 in its schedule, which it cannot have: a thread may hold 16 vectors, and this is 17}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 512, vector = 4, chunk = 34816, lanes = 512, partials = 2048, prefetch = 0, tasks = 64, grain = 1, scratch = 128>} : (tensor<64x33000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x33000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x33000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x33000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @tasks(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 64 in its schedule, expected 16: a block has 4 rows of the domain [64, 1000]}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @shared_memory(%x: tensor<64x2000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 24 in its schedule, expected at least 32: that is what its kernel keeps there}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 128, partials = 512, prefetch = 0, tasks = 64, grain = 1, scratch = 24>} : (tensor<64x2000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x2000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x2000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x2000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @streaming(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has streaming = 1 in its schedule, which it cannot have: stores of a GPU have one form}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0, streaming>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @keep(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [0] in its schedule, which it cannot have: a team holds its row in registers}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0, keep = [0]>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @fallback_with_a_chunk(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 1024 in its schedule, which it cannot have: one thread has the row, which lies in its cache}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 1, vector = 4, chunk = 1024, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cpu>
weft.func @chunk_of_a_cpu(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 1024 in its schedule, which it cannot have: one thread has the row, which lies in its cache}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, chunk = 1024, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x1000xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @empty_rows(%x: tensor<64x0xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 128 in its schedule, expected 1: a team of threads shares a row, and its rows have no elements}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x0xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x0xf32, #gpu>):
    %1 = weft.exp %a : tensor<64x0xf32, #gpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x0xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @rows_in_pieces(%x: tensor<8x64x128xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 128 in its schedule, expected 1: a team of threads shares a row, and its rows lie in pieces}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 0>} : (tensor<8x64x128xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<8x64x128xf32, #gpu>):
    %1 = weft.exp %a : tensor<8x64x128xf32, #gpu>
    %2 = weft.sum %1, dims = [0, 2] : tensor<8x64x128xf32, #gpu>
    weft.yield %2 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_rows(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has rows = 4 in its schedule, expected 8: the order of a reduction follows from the number of rows alone}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 128, vector = 4, rows = 4, block = 128, tasks = 2, grain = 1, scratch = 4096>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_vector(%x: tensor<100x254xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 4 in its schedule, expected a divisor of 254: each thread has a whole vector of columns}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4096>} : (tensor<100x254xf32, #gpu>) -> tensor<254xf32, #gpu> {
  ^bb0(%a: tensor<100x254xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x254xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x254xf32, #gpu>
    weft.yield %2 : tensor<254xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_threads(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 128 in its schedule, expected 256: 8 threads share each vector of 4 of 128 columns}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 128, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4096>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_block(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 130 in its schedule, expected a multiple of 4: a block is whole vectors of columns}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 130, tasks = 2, grain = 1, scratch = 4096>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_warps(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 8 in its schedule, expected a multiple of 32: the memory of each value begins at 16 bytes}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 8, vector = 4, rows = 8, block = 4, tasks = 64, grain = 1, scratch = 4096>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_memory(%x: tensor<100x4096xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 2048 in its schedule, expected a smaller one: its threads need 65536 of at most 49152 bytes of shared memory}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 64, rows = 8, block = 2048, tasks = 2, grain = 1, scratch = 65536>} : (tensor<100x4096xf32, #gpu>) -> tensor<4096xf32, #gpu> {
  ^bb0(%a: tensor<100x4096xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x4096xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x4096xf32, #gpu>
    weft.yield %2 : tensor<4096xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_scratch(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 4095 in its schedule, expected at least 4096: that is what its kernel keeps there}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4095>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_keep(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [0] in its schedule, which it cannot have: each pass reads the rows again}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4096, keep = [0]>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_streaming(%x: tensor<100x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has streaming = 1 in its schedule, which it cannot have: stores of a GPU have one form}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4096, streaming>} : (tensor<100x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<100x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<100x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<100x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @column_empty(%x: tensor<0x256xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 256 in its schedule, expected 1: threads share columns, and its domain is [0, 256]}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = 2, grain = 1, scratch = 4096>} : (tensor<0x256xf32, #gpu>) -> tensor<256xf32, #gpu> {
  ^bb0(%a: tensor<0x256xf32, #gpu>):
    %1 = weft.exp %a : tensor<0x256xf32, #gpu>
    %2 = weft.sum %1, dims = [0] : tensor<0x256xf32, #gpu>
    weft.yield %2 : tensor<256xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_lanes(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has lanes = 16 in its schedule, expected 32: the order of a scan follows from the length of its lines alone}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 16, tasks = 8, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_vector(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 2 in its schedule, expected 4: the order of a scan follows from the length of its lines alone}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 2, lanes = 32, tasks = 16, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_threads(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 48 in its schedule, expected a multiple of 32: a warp has no threads without a line or columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 48, vector = 4, lanes = 32, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @two_lines_of_a_block(%x: tensor<64x2000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 512 in its schedule, expected 256: a line of several warps has a block of its own}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 512, vector = 4, lanes = 256, tasks = 32, grain = 1, scratch = 64>} : (tensor<64x2000xf32, #gpu>) -> tensor<64x2000xf32, #gpu> {
  ^bb0(%a: tensor<64x2000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x2000xf32, #gpu>
    weft.yield %1 : tensor<64x2000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_block_of_lines(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 128 in its schedule, which it cannot have: its tasks are lines}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, block = 128, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_tasks(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 64 in its schedule, expected 16: a block has 4 lines of the domain [64, 1000]}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_scratch(%x: tensor<64x2000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 63 in its schedule, expected at least 64: that is what its kernel keeps there}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 256, vector = 4, lanes = 256, tasks = 64, grain = 1, scratch = 63>} : (tensor<64x2000xf32, #gpu>) -> tensor<64x2000xf32, #gpu> {
  ^bb0(%a: tensor<64x2000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x2000xf32, #gpu>
    weft.yield %1 : tensor<64x2000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_columns(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op needs block in its schedule: its tasks are blocks of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 1, tasks = 2, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_width(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 256 in its schedule, expected 512: each thread of the block has a vector of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 1, block = 256, tasks = 4, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_shared_columns(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has lanes = 32 in its schedule, expected 1: a thread has its columns alone}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, block = 512, tasks = 2, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_part_of_a_vector(%x: tensor<64x998xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 4 in its schedule, expected a divisor of 998: each thread has a whole vector of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 1, block = 512, tasks = 2, grain = 1, scratch = 0>} : (tensor<64x998xf32, #gpu>) -> tensor<64x998xf32, #gpu> {
  ^bb0(%a: tensor<64x998xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x998xf32, #gpu>
    weft.yield %1 : tensor<64x998xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @scan_empty(%x: tensor<64x0xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 128 in its schedule, expected 1: threads scan lines and columns, and its domain is [64, 0]}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 32, tasks = 0, grain = 1, scratch = 0>} : (tensor<64x0xf32, #gpu>) -> tensor<64x0xf32, #gpu> {
  ^bb0(%a: tensor<64x0xf32, #gpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x0xf32, #gpu>
    weft.yield %1 : tensor<64x0xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @too_much_shared_memory(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 49153 in its schedule, expected at most 49152: it is shared memory of a block}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, prefetch = 0, tasks = 16, grain = 1, scratch = 49153>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @too_much_memory_of_a_thread(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 1048576 in its schedule, expected at most 524288: it is memory of a thread}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 1, vector = 4, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 1048576>} : (tensor<64x1000xf32, #gpu>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x1000xf32, #gpu>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_tile_rows(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 32 in its schedule, expected 64: a warp has one vector of each row or column of a tile}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 32, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 8, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_tile_columns(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_columns = 128 in its schedule, expected 64: a warp has one vector of each row or column of a tile}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 128, tile_dim = 0, squares = 1, tasks = 2, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_without_dim(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op needs tile_dim in its schedule: a block transposes tiles of rows and columns}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_columns(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_dim = 1 in its schedule, expected a dimension before 1: the columns of a tile lie along the innermost dimension that is not 1}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 1, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_vector(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 8 in its schedule, expected 1, 2 or 4: a thread transposes a square of as many rows in registers}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 8, tile_rows = 256, tile_columns = 256, tile_dim = 0, squares = 1, tasks = 1, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_threads(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 96 in its schedule, expected 32 times a power of two: its warps share the rows of a tile evenly}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 96, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_half_warp(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 48 in its schedule, expected 32 times a power of two: its warps share the rows of a tile evenly}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 48, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_tasks(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 3 in its schedule, expected 4: the domain [128, 100] is cut in tiles of 64 x 64}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 3, grain = 1, scratch = 8448>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_scratch(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 8192 in its schedule, expected at least 8448: that is what its kernel keeps there}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8192>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @too_many_transposed(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 50688 in its schedule, expected at most 49152: it is shared memory of a block}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 6, tasks = 4, grain = 1, scratch = 50688>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_streaming(%x: tensor<100x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has streaming = 1 in its schedule, which it cannot have: stores of a GPU have one form}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8448, streaming>} : (tensor<100x128xf16, #gpu>) -> tensor<128x100xf16, #gpu> {
  ^bb0(%a: tensor<100x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<100x128xf16, #gpu>
    weft.yield %1 : tensor<128x100xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @odd_rows(%x: tensor<101x128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 2 in its schedule, expected a divisor of 101: no vector of rows or columns may cross the end of the domain}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<101x128xf16, #gpu>) -> tensor<128x101xf16, #gpu> {
  ^bb0(%a: tensor<101x128xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<101x128xf16, #gpu>
    weft.yield %1 : tensor<128x101xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_line(%x: tensor<128xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 64 in its schedule, which it cannot have: a tile needs two dimensions, and its domain is [128]}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4, grain = 1, scratch = 8448>} : (tensor<128xf16, #gpu>) -> tensor<128xf16, #gpu> {
  ^bb0(%a: tensor<128xf16, #gpu>):
    %1 = weft.neg %a : tensor<128xf16, #gpu>
    weft.yield %1 : tensor<128xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @transposed_join(%x: tensor<64x64xf16, #gpu>, %y: tensor<64x64xf16, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has squares = 1 in its schedule, which it cannot have: a weft.concat is computed part by part}}
  %0 = weft.fusion loop (%x, %y) {schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 2, grain = 1, scratch = 8448>} : (tensor<64x64xf16, #gpu>, tensor<64x64xf16, #gpu>) -> tensor<64x128xf16, #gpu> {
  ^bb0(%a: tensor<64x64xf16, #gpu>, %b: tensor<64x64xf16, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<64x64xf16, #gpu>
    %2 = weft.concat(%1, %b), dim = 1 : tensor<64x64xf16, #gpu>, tensor<64x64xf16, #gpu>
    weft.yield %2 : tensor<64x128xf16, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_held_row(%x: tensor<64x20003xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 16384 in its schedule, expected 20000: a team holds the whole vectors of its row in shared memory}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 16384, prefetch = 0, tasks = 64, grain = 1, scratch = 80128>} : (tensor<64x20003xf32, #gpu>) -> tensor<64x20003xf32, #gpu> {
  ^bb0(%a: tensor<64x20003xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x20003xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x20003xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x20003xf32, #gpu>
    weft.yield %3 : tensor<64x20003xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @held_twice(%x: tensor<64x16000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 16384 in its schedule, which it cannot have: a row is held in registers, or in shared memory}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 512, vector = 4, chunk = 16384, lanes = 512, partials = 2048, block = 16000, prefetch = 0, tasks = 64, grain = 1, scratch = 64128>} : (tensor<64x16000xf32, #gpu>) -> tensor<64x16000xf32, #gpu> {
  ^bb0(%a: tensor<64x16000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x16000xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x16000xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x16000xf32, #gpu>
    weft.yield %3 : tensor<64x16000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @held_by_a_warp(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 1000 in its schedule, which it cannot have: a warp's row is held in registers}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 32, partials = 128, block = 1000, prefetch = 0, tasks = 16, grain = 1, scratch = 4000>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x1000xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x1000xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x1000xf32, #gpu>
    weft.yield %3 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @too_little_for_a_row(%x: tensor<64x20003xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 80000 in its schedule, expected at least 80128: that is what its kernel keeps there}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 20000, prefetch = 0, tasks = 64, grain = 1, scratch = 80000>} : (tensor<64x20003xf32, #gpu>) -> tensor<64x20003xf32, #gpu> {
  ^bb0(%a: tensor<64x20003xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x20003xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x20003xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x20003xf32, #gpu>
    weft.yield %3 : tensor<64x20003xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @more_than_any_device(%x: tensor<64x60000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 240128 in its schedule, expected at most 232448: it is shared memory of a block}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 512, vector = 4, lanes = 512, partials = 2048, block = 60000, prefetch = 0, tasks = 64, grain = 1, scratch = 240128>} : (tensor<64x60000xf32, #gpu>) -> tensor<64x60000xf32, #gpu> {
  ^bb0(%a: tensor<64x60000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x60000xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x60000xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x60000xf32, #gpu>
    weft.yield %3 : tensor<64x60000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cpu>
weft.func @held_by_a_thread(%x: tensor<64x1000xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 1000 in its schedule, which it cannot have: one thread has the row, which lies in its cache}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, block = 1000, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x1000xf32, #gpu>) -> tensor<64x1000xf32, #gpu> {
  ^bb0(%a: tensor<64x1000xf32, #gpu>):
    %1 = weft.sum %a, dims = [1] : tensor<64x1000xf32, #gpu>
    %2 = weft.broadcast_in_dim %1, dims = [0] : tensor<64xf32, #gpu> -> tensor<64x1000xf32, #gpu>
    %3 = weft.sub %a, %2 : tensor<64x1000xf32, #gpu>
    weft.yield %3 : tensor<64x1000xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @team_of_a_shorter_row(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has lanes = 128 in its schedule, expected 256: the teams of all lengths that its rows may have are parts of the largest}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 128, vector = 4, lanes = 128, partials = 512, prefetch = 0, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @held_rows_of_any_length(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has chunk = 1024 in its schedule, which it cannot have: registers have a number of their own, and its rows n elements}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 256, vector = 4, chunk = 1024, lanes = 256, partials = 1024, prefetch = 0, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @a_block_for_each_row(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has tasks = 64 in its schedule, expected ceildiv(64 * n + 64, 4096): blocks take turns at the rows of the domain [64, n], one for each 4096 elements}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 256, vector = 4, lanes = 256, partials = 1024, prefetch = 0, tasks = 64, grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @memory_of_all_warps(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has scratch = 32 in its schedule, expected at least 64: that is what its kernel keeps there}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, threads = 256, vector = 4, lanes = 256, partials = 1024, prefetch = 0, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 32>} : (tensor<64x?xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.sum %a, dims = [1] : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @shares_of_fewer_rows(%x: tensor<?x64xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has rows = 8 in its schedule, expected 32: it is that of the most rows that its columns may have}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 8, block = 128, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 4096>} : (tensor<?x64xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<?x64xf32, #n>):
    %1 = weft.sum %a, dims = [0] : tensor<?x64xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @a_block_for_each_64(%x: tensor<?x64xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has tasks = 2 in its schedule, expected ceildiv(64 * n + 64, 4096): blocks take turns at the columns of the domain [n, 64], one for each 4096 elements}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 256, vector = 4, rows = 32, block = 32, tasks = 2, grain = 1, scratch = 4096>} : (tensor<?x64xf32, #n>) -> tensor<64xf32, #gpu> {
  ^bb0(%a: tensor<?x64xf32, #n>):
    %1 = weft.sum %a, dims = [0] : tensor<?x64xf32, #n>
    weft.yield %1 : tensor<64xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
weft.func @vectors_of_any_columns(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has vector = 4 in its schedule, expected a divisor of n: each thread has a whole vector of columns}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, threads = 64, vector = 4, rows = 8, block = 32, tasks = ceildiv(n, 32), grain = 1, scratch = 4096>} : (tensor<64x?xf32, #n>) -> tensor<?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.sum %a, dims = [0] : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<?xf32, #n>
  }
  weft.return
}

// -----

#n = #weft.device<cuda:0, [n]>
weft.func @team_of_a_shorter_line(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has lanes = 32 in its schedule, expected 256: it is that of the longest line that a call may have}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 256, vector = 4, lanes = 32, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64x?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64x?xf32, #n>
  }
  weft.return
}

// -----

#n = #weft.device<cuda:0, [n]>
weft.func @vectors_of_some_lines(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has vector = 1 in its schedule, expected 4: it is that of the longest line that a call may have}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 256, vector = 1, lanes = 256, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64x?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64x?xf32, #n>
  }
  weft.return
}

// -----

#n = #weft.device<cuda:0, [n]>
weft.func @half_a_team(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has threads = 128 in its schedule, expected 256: a line of several warps has a block of its own}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 256, tasks = ceildiv(64 * n + 64, 4096), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64x?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64x?xf32, #n>
  }
  weft.return
}

// -----

#n = #weft.device<cuda:0, [n]>
weft.func @a_block_for_each_line(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has tasks = 64 in its schedule, expected ceildiv(64 * n + 64, 4096): blocks take turns at the lines of the domain [64, n], one for each 4096 elements}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 256, vector = 4, lanes = 256, tasks = 64, grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64x?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.cumsum %a, dim = 1 : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64x?xf32, #n>
  }
  weft.return
}

// -----

#n = #weft.device<cuda:0, [n]>
weft.func @vectors_of_any_scanned_columns(%x: tensor<64x?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 5000>]} {
  // expected-error@+1 {{'weft.fusion' op has vector = 4 in its schedule, expected a divisor of n: each thread has a whole vector of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, threads = 128, vector = 4, lanes = 1, block = 512, tasks = ceildiv(n, 512), grain = 1, scratch = 64>} : (tensor<64x?xf32, #n>) -> tensor<64x?xf32, #n> {
  ^bb0(%a: tensor<64x?xf32, #n>):
    %1 = weft.cumsum %a, dim = 0 : tensor<64x?xf32, #n>
    weft.yield %1 : tensor<64x?xf32, #n>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_warp_writes(%x: tensor<100x24xf32, #gpu>, %rows: tensor<64x24xf32, #gpu>, %which: tensor<64xi64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 48 in its schedule, expected a multiple of 32: a warp has no threads without writes}}
  %0 = weft.fusion update (%x, %rows, %which) {schedule = #weft.schedule<update, threads = 48, vector = 4, block = 4, range = 1, tasks = 13, grain = 1, scratch = 0>} : (tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x24xf32, #gpu> {
  ^bb0(%a: tensor<100x24xf32, #gpu>, %b: tensor<64x24xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x24xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_warp_lists_writes(%x: tensor<100x240xf32, #gpu>, %rows: tensor<64x240xf32, #gpu>, %which: tensor<64xi64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has threads = 48 in its schedule, expected a multiple of 32: whole warps list the writes to a range}}
  %0 = weft.fusion update (%x, %rows, %which) {schedule = #weft.schedule<update, threads = 48, vector = 4, range = 10, tasks = 10, grain = 1, scratch = 1000>} : (tensor<100x240xf32, #gpu>, tensor<64x240xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x240xf32, #gpu> {
  ^bb0(%a: tensor<100x240xf32, #gpu>, %b: tensor<64x240xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x240xf32, #gpu>, tensor<64x240xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x240xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @a_list_of_writes_without_memory(%x: tensor<100x240xf32, #gpu>, %rows: tensor<64x240xf32, #gpu>, %which: tensor<64xi64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 193 in its schedule, expected at least 194: that is what its kernel keeps there}}
  %0 = weft.fusion update (%x, %rows, %which) {schedule = #weft.schedule<update, threads = 32, vector = 4, range = 10, tasks = 10, grain = 1, scratch = 193>} : (tensor<100x240xf32, #gpu>, tensor<64x240xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x240xf32, #gpu> {
  ^bb0(%a: tensor<100x240xf32, #gpu>, %b: tensor<64x240xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x240xf32, #gpu>, tensor<64x240xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x240xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @part_of_a_vector_is_written(%x: tensor<100x24xf32, #gpu>, %rows: tensor<64x24xf32, #gpu>, %which: tensor<64xi64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 16 in its schedule, expected a divisor of 24: each thread has a whole vector of the elements that share an index}}
  %0 = weft.fusion update (%x, %rows, %which) {schedule = #weft.schedule<update, threads = 128, vector = 16, block = 16, range = 1, tasks = 2, grain = 1, scratch = 0>} : (tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x24xf32, #gpu> {
  ^bb0(%a: tensor<100x24xf32, #gpu>, %b: tensor<64x24xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x24xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @a_task_for_each_thread(%x: tensor<100x24xf32, #gpu>, %rows: tensor<64x24xf32, #gpu>, %which: tensor<64xi64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 600 in its schedule, expected 5: each thread of a block has an outer index, a vector and a range}}
  %0 = weft.fusion update (%x, %rows, %which) {schedule = #weft.schedule<update, threads = 128, vector = 4, block = 4, range = 1, tasks = 600, grain = 1, scratch = 0>} : (tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>) -> tensor<100x24xf32, #gpu> {
  ^bb0(%a: tensor<100x24xf32, #gpu>, %b: tensor<64x24xf32, #gpu>, %i: tensor<64xi64, #gpu>):
    %1 = weft.index_update %a, %b, %i, dim = 0 mode = clip : tensor<100x24xf32, #gpu>, tensor<64x24xf32, #gpu>, tensor<64xi64, #gpu>
    weft.yield %1 : tensor<100x24xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @shared_memory_of_a_slice(%x: tensor<40x90xf32, #gpu>, %u: tensor<21x90xf32, #gpu>, %i: tensor<i64, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 64 in its schedule, expected 0: only writes that are listed have shared memory}}
  %0 = weft.fusion update (%x, %u, %i) {schedule = #weft.schedule<update, threads = 128, vector = 2, chunk = 256, tasks = 8, grain = 1, scratch = 64>} : (tensor<40x90xf32, #gpu>, tensor<21x90xf32, #gpu>, tensor<i64, #gpu>) -> tensor<40x90xf32, #gpu> {
  ^bb0(%a: tensor<40x90xf32, #gpu>, %b: tensor<21x90xf32, #gpu>, %c: tensor<i64, #gpu>):
    %z = weft.constant dense<0> : tensor<i64, #gpu>
    %1 = weft.dynamic_update_slice %a, %b, starts(%c, %z) : tensor<40x90xf32, #gpu>, tensor<21x90xf32, #gpu>, tensor<i64, #gpu>, tensor<i64, #gpu>
    weft.yield %1 : tensor<40x90xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @resident(%x: tensor<65536xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has resident = 9 in its schedule, expected at most 8: a multiprocessor holds 2048 threads, and a block has 256}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 256, resident = 9, vector = 4, chunk = 1024, tasks = 64, grain = 1, scratch = 0>} : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %1 = weft.exp %a : tensor<65536xf32, #gpu>
    weft.yield %1 : tensor<65536xf32, #gpu>
  }
  weft.return
}

// -----

// A fallback's blocks have 128 threads.
#gpu = #weft.device<cuda:0>
weft.func @resident_fallback(%x: tensor<65536xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has resident = 17 in its schedule, expected at most 16: a multiprocessor holds 2048 threads, and a block has 128}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 1, resident = 17, vector = 4, chunk = 64, tasks = 1024, grain = 1, scratch = 0>} : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %1 = weft.exp %a : tensor<65536xf32, #gpu>
    weft.yield %1 : tensor<65536xf32, #gpu>
  }
  weft.return
}

// -----

#host = #weft.device<cpu>
weft.func @resident_on_host(%x: tensor<65536xf32, #host>) {
  // expected-error@+1 {{'weft.fusion' op has resident = 2 in its schedule, which it cannot have: only a GPU holds several blocks of threads at a time}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, resident = 2, vector = 16, chunk = 4096, tasks = 16, grain = 1, scratch = 0>} : (tensor<65536xf32, #host>) -> tensor<65536xf32, #host> {
  ^bb0(%a: tensor<65536xf32, #host>):
    %1 = weft.exp %a : tensor<65536xf32, #host>
    weft.yield %1 : tensor<65536xf32, #host>
  }
  weft.return
}

// -----

#host = #weft.device<cpu>
weft.func @spilled_on_host(%x: tensor<65536xf32, #host>) {
  // expected-error@+1 {{'weft.fusion' op has registers of kernels that spilled, but it does not run on a GPU}}
  %0 = weft.fusion loop (%x) {spilled = array<i64: 64>} : (tensor<65536xf32, #host>) -> tensor<65536xf32, #host> {
  ^bb0(%a: tensor<65536xf32, #host>):
    %1 = weft.exp %a : tensor<65536xf32, #host>
    weft.yield %1 : tensor<65536xf32, #host>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @spilled_nothing(%x: tensor<65536xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has spilled = [], expected the registers of at least one kernel, each at least 1}}
  %0 = weft.fusion loop (%x) {spilled = array<i64>} : (tensor<65536xf32, #gpu>) -> tensor<65536xf32, #gpu> {
  ^bb0(%a: tensor<65536xf32, #gpu>):
    %1 = weft.exp %a : tensor<65536xf32, #gpu>
    weft.yield %1 : tensor<65536xf32, #gpu>
  }
  weft.return
}
