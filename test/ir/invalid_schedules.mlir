// RUN: weft-opt %s -split-input-file -verify-diagnostics

// A schedule from text is proven before a kernel is made from it. Each error says which number is wrong, and what it
// would have to be.

#cpu = #weft.device<cpu>
weft.func @another_kind(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op of kind loop has a schedule of kind row}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 3, grain = 1, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @too_many_tasks(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 4 in its schedule, expected 3: the domain [10000] is cut in chunks of 4096}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 4, grain = 1, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @too_few_tasks(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 1 in its schedule, expected 3: the domain [10000] is cut in chunks of 4096}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 1, grain = 1, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @chunk(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 100 in its schedule, expected a multiple of 64: no vector may lie in two tasks, and the widest has 64 elements}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, chunk = 100, tasks = 100, grain = 1, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @grain(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has grain = 4 in its schedule, expected at most 3: it has 3 tasks}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, chunk = 4096, tasks = 3, grain = 4, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @neither_chunk_nor_tile(%x: tensor<10000xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs tile_rows in its schedule: a loop is cut in chunks, or in tiles}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tasks = 3, grain = 1, scratch = 0>} : (tensor<10000xf32, #cpu>) -> tensor<10000xf32, #cpu> {
  ^bb0(%a: tensor<10000xf32, #cpu>):
    %1 = weft.neg %a : tensor<10000xf32, #cpu>
    weft.yield %1 : tensor<10000xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @chunk_and_tile(%x: tensor<20x20xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 32 in its schedule, which it cannot have: its tasks are chunks}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, chunk = 64, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
  ^bb0(%a: tensor<20x20xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #cpu>
    weft.yield %1 : tensor<20x20xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_of_a_line(%x: tensor<20x1xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 32 in its schedule, which it cannot have: a tile needs two dimensions, and its domain is [20, 1]}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<20x1xf32, #cpu>) -> tensor<20x1xf32, #cpu> {
  ^bb0(%a: tensor<20x1xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x1xf32, #cpu>
    weft.yield %1 : tensor<20x1xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_dim(%x: tensor<20x20x1xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_dim = 1 in its schedule, expected a dimension before 1: the columns of a tile lie along the innermost dimension that is not 1}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 1, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<20x20x1xf32, #cpu>) -> tensor<20x20x1xf32, #cpu> {
  ^bb0(%a: tensor<20x20x1xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x20x1xf32, #cpu>
    weft.yield %1 : tensor<20x20x1xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_vector(%x: tensor<20x20xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 32 in its schedule, expected at most 16: a square is transposed in registers}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 32, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 65536>} : (tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
  ^bb0(%a: tensor<20x20xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #cpu>
    weft.yield %1 : tensor<20x20xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_rows(%x: tensor<20x20xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 40 in its schedule, expected a multiple of 16: a tile holds whole squares of one vector a side}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 40, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
  ^bb0(%a: tensor<20x20xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #cpu>
    weft.yield %1 : tensor<20x20xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_tasks(%x: tensor<3x40x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 1 in its schedule, expected 24: the domain [3, 40, 100] is cut in tiles of 32 x 32}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 1, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<3x40x100xf32, #cpu>) -> tensor<3x40x100xf32, #cpu> {
  ^bb0(%a: tensor<3x40x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<3x40x100xf32, #cpu>
    weft.yield %1 : tensor<3x40x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_scratch(%x: tensor<20x20xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 16383 in its schedule, expected at least 16384: that is what its kernel keeps there}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 16383>} : (tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
  ^bb0(%a: tensor<20x20xf32, #cpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #cpu>
    weft.yield %1 : tensor<20x20xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tile_of_a_concat(%x: tensor<20x20xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 32 in its schedule, which it cannot have: a weft.concat is computed part by part}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<20x20xf32, #cpu>) -> tensor<20x20xf32, #cpu> {
  ^bb0(%a: tensor<20x20xf32, #cpu>):
    %s = weft.slice %a, start = [0, 0], limit = [10, 20], step = [1, 1] : tensor<20x20xf32, #cpu>
    %1 = weft.concat(%s, %s), dim = 0 : tensor<10x20xf32, #cpu>, tensor<10x20xf32, #cpu>
    weft.yield %1 : tensor<20x20xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [n]>
weft.func @tile_of_a_dynamic_domain(%x: tensor<?x20xf32, #b>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 32 in its schedule, which it cannot have: tiles are laid out when the kernel is made, and its domain is [n, 20]}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, tile_rows = 32, tile_columns = 32, tile_dim = 0,
      squares = 8, tasks = 1, grain = 1, scratch = 16384>} : (tensor<?x20xf32, #b>) -> tensor<?x20xf32, #b> {
  ^bb0(%a: tensor<?x20xf32, #b>):
    %1 = weft.neg %a : tensor<?x20xf32, #b>
    weft.yield %1 : tensor<?x20xf32, #b>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [n]>
weft.func @dynamic_tasks(%x: tensor<?x20xf32, #b>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  // expected-error@+1 {{'weft.fusion' op has tasks = 3 in its schedule, expected ceildiv(20 * n, 64): the domain [n, 20] is cut in chunks of 64}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 16, chunk = 64, tasks = 3, grain = 1, scratch = 0>}
      : (tensor<?x20xf32, #b>) -> tensor<?x20xf32, #b> {
  ^bb0(%a: tensor<?x20xf32, #b>):
    %1 = weft.neg %a : tensor<?x20xf32, #b>
    weft.yield %1 : tensor<?x20xf32, #b>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @lanes(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has lanes = 8 in its schedule, expected 16: the order of a reduction follows from the length of its rows alone}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 8, lanes = 8, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @partials(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has partials = 32 in its schedule, expected 64: the order of a reduction follows from the length of its rows alone}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 32, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_vector(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 32 in its schedule, expected from 2 to 16: a row is reduced in 16 lanes}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 32, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_without_vectors(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 1 in its schedule, expected from 2 to 16: a row is reduced in 16 lanes}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 1, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @prefetch(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has prefetch = 100 in its schedule, expected a multiple of 64: whole cache lines are prefetched}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 100, tasks = 64, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_tasks(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 4000 in its schedule, expected 64: a task is a row of the domain [64, 100]}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 4000, grain = 1, scratch = 0>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_scratch(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 400 in its schedule, expected at least 448: that is what its kernel keeps there}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 400, keep = [0]>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @keeps_no_op(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [4] in its schedule, but ops in its body from 0 to 3}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 448, keep = [4]>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @keeps_what_one_pass_needs(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [3] in its schedule, but op 3, weft.sub, is no elementwise op of the domain that two passes over a row need}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 448, keep = [3]>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @keeps_a_reduction(%x: tensor<64x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [1] in its schedule, but op 1, weft.sum, is no elementwise op of the domain that two passes over a row need}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 64, grain = 1, scratch = 448, keep = [1]>} : (tensor<64x100xf32, #cpu>) -> tensor<64x100xf32, #cpu> {
  ^bb0(%a: tensor<64x100xf32, #cpu>):
    %1 = weft.neg %a : tensor<64x100xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<64x100xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x100xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<64x100xf32, #cpu>
    weft.yield %4 : tensor<64x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [n]>
weft.func @keeps_dynamic_rows(%x: tensor<64x?xf32, #b>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  // expected-error@+1 {{'weft.fusion' op has keep = [0] in its schedule, which it cannot have: scratch has a size of its own, and rows have n elements}}
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 64,
      grain = 1, scratch = 448, keep = [0]>} : (tensor<64x?xf32, #b>) -> tensor<64x?xf32, #b> {
  ^bb0(%a: tensor<64x?xf32, #b>):
    %1 = weft.neg %a : tensor<64x?xf32, #b>
    %2 = weft.sum %1, dims = [1] : tensor<64x?xf32, #b>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x?xf32, #b>
    %4 = weft.sub %1, %3 : tensor<64x?xf32, #b>
    weft.yield %4 : tensor<64x?xf32, #b>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_block(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs block in its schedule: its tasks are blocks of columns}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, tasks = 3, grain = 1, scratch = 1024>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %1 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @rows(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has rows = 4 in its schedule, expected 8: the order of a reduction follows from the number of rows alone}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 4, block = 256, tasks = 3, grain = 1, scratch = 1024>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %1 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @block(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 200 in its schedule, expected a multiple of 16: no vector may lie in two tasks, and 16 columns of f32 fill a cache line}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 200, tasks = 3, grain = 1, scratch = 1024>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %1 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @column_tasks(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 2 in its schedule, expected 3: the columns of the domain [9, 600] are cut in blocks of 256}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 2, grain = 1, scratch = 1024>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %1 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @column_scratch(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 0 in its schedule, expected at least 2048: that is what its kernel keeps there}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3, grain = 1, scratch = 0>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %1 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @middle_tasks(%x: tensor<5x9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 3 in its schedule, expected 15: the columns of the domain [5, 9, 600] are cut in blocks of 256}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3, grain = 1, scratch = 1024>} : (tensor<5x9x600xf32, #cpu>) -> tensor<5x600xf32, #cpu> {
  ^bb0(%a: tensor<5x9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [1] : tensor<5x9x600xf32, #cpu>
    weft.yield %1 : tensor<5x600xf32, #cpu>
  }
  weft.return
}

// -----

// Two sums, half of the rows of the first, and what is spread of it: 256 columns of 4 bytes each.
#cpu = #weft.device<cpu>
weft.func @spread_scratch(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 2048 in its schedule, expected at least 4096: that is what its kernel keeps there}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3, grain = 1, scratch = 2048>} : (tensor<9x600xf32, #cpu>) -> tensor<600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x600xf32, #cpu>
    %2 = weft.broadcast_in_dim %1, dims = [1] : tensor<600xf32, #cpu> -> tensor<9x600xf32, #cpu>
    %3 = weft.sub %a, %2 : tensor<9x600xf32, #cpu>
    %4 = weft.sum %3, dims = [0] : tensor<9x600xf32, #cpu>
    weft.yield %4 : tensor<600xf32, #cpu>
  }
  weft.return
}

// -----

// And what is kept of every row: 9 x 256 elements of 4 bytes.
#cpu = #weft.device<cpu>
weft.func @kept_scratch(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 2048 in its schedule, expected at least 12288: that is what its kernel keeps there}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3, grain = 1, scratch = 2048, keep = [0]>} : (tensor<9x600xf32, #cpu>) -> tensor<9x600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.neg %a : tensor<9x600xf32, #cpu>
    %2 = weft.sum %1, dims = [0] : tensor<9x600xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [1] : tensor<600xf32, #cpu> -> tensor<9x600xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<9x600xf32, #cpu>
    weft.yield %4 : tensor<9x600xf32, #cpu>
  }
  weft.return
}

// -----

// More than can be counted is more than there may be.
#cpu = #weft.device<cpu>
weft.func @kept_beyond_all_scratch(%x: tensor<1073741824x1x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has scratch = 4096 in its schedule, expected at least 1112396529664: that is what its kernel keeps there}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 4, rows = 8, block = 1073741824, tasks = 1, grain = 1, scratch = 4096, keep = [0]>}
      : (tensor<1073741824x1x4xf32, #cpu>) -> tensor<1073741824x1x4xf32, #cpu> {
  ^bb0(%a: tensor<1073741824x1x4xf32, #cpu>):
    %1 = weft.neg %a : tensor<1073741824x1x4xf32, #cpu>
    %2 = weft.sum %1, dims = [0] : tensor<1073741824x1x4xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [1, 2] : tensor<1x4xf32, #cpu> -> tensor<1073741824x1x4xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<1073741824x1x4xf32, #cpu>
    weft.yield %4 : tensor<1073741824x1x4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @keeps_a_column_that_one_pass_needs(%x: tensor<9x600xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has keep = [3] in its schedule, but op 3, weft.sub, is no elementwise op of the domain that two passes over the rows need}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3, grain = 1, scratch = 20000, keep = [3]>} : (tensor<9x600xf32, #cpu>) -> tensor<9x600xf32, #cpu> {
  ^bb0(%a: tensor<9x600xf32, #cpu>):
    %1 = weft.neg %a : tensor<9x600xf32, #cpu>
    %2 = weft.sum %1, dims = [0] : tensor<9x600xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [1] : tensor<600xf32, #cpu> -> tensor<9x600xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<9x600xf32, #cpu>
    weft.yield %4 : tensor<9x600xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [n]>
weft.func @keeps_dynamic_columns(%x: tensor<?x600xf32, #b>) attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  // expected-error@+1 {{'weft.fusion' op has keep = [0] in its schedule, which it cannot have: scratch has a size of its own, and columns have n rows}}
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 16, rows = 8, block = 256, tasks = 3,
      grain = 1, scratch = 20000, keep = [0]>} : (tensor<?x600xf32, #b>) -> tensor<?x600xf32, #b> {
  ^bb0(%a: tensor<?x600xf32, #b>):
    %1 = weft.neg %a : tensor<?x600xf32, #b>
    %2 = weft.sum %1, dims = [0] : tensor<?x600xf32, #b>
    %3 = weft.broadcast_in_dim %2, dims = [1] : tensor<600xf32, #cpu> -> tensor<?x600xf32, #b>
    %4 = weft.sub %1, %3 : tensor<?x600xf32, #b>
    weft.yield %4 : tensor<?x600xf32, #b>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scan_lanes(%x: tensor<6x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has lanes = 8 in its schedule, expected 16: the order of a scan follows from the length of its lines alone}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 8, tasks = 6, grain = 1, scratch = 0>} : (tensor<6x100xf32, #cpu>) -> tensor<6x100xf32, #cpu> {
  ^bb0(%a: tensor<6x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x100xf32, #cpu>
    weft.yield %1 : tensor<6x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @line_vector(%x: tensor<6x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 8 in its schedule, expected 16: a line is scanned in vectors of its lanes}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 8, lanes = 16, tasks = 6, grain = 1, scratch = 0>} : (tensor<6x100xf32, #cpu>) -> tensor<6x100xf32, #cpu> {
  ^bb0(%a: tensor<6x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x100xf32, #cpu>
    weft.yield %1 : tensor<6x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @block_of_lines(%x: tensor<6x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 64 in its schedule, which it cannot have: its tasks are lines}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = 6, grain = 1, scratch = 0>} : (tensor<6x100xf32, #cpu>) -> tensor<6x100xf32, #cpu> {
  ^bb0(%a: tensor<6x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x100xf32, #cpu>
    weft.yield %1 : tensor<6x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @line_tasks(%x: tensor<6x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 7 in its schedule, expected 6: a task is a line of the domain [6, 100]}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, tasks = 7, grain = 1, scratch = 0>} : (tensor<6x100xf32, #cpu>) -> tensor<6x100xf32, #cpu> {
  ^bb0(%a: tensor<6x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x100xf32, #cpu>
    weft.yield %1 : tensor<6x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_scan_block(%x: tensor<6x7x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs block in its schedule: its tasks are blocks of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, tasks = 12, grain = 1, scratch = 0>} : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scan_block(%x: tensor<6x7x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 24 in its schedule, expected a multiple of 16: a block is whole vectors of columns}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 24, tasks = 30, grain = 1, scratch = 0>} : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @wide_scan_block(%x: tensor<6x7x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 130 in its schedule, expected at most 128: the state of 64 vectors is kept at a time}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 2, lanes = 16, block = 130, tasks = 6, grain = 1, scratch = 0>} : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scan_tasks(%x: tensor<6x7x100xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 11 in its schedule, expected 12: the columns of the domain [6, 7, 100] are cut in blocks of 64}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = 11, grain = 1, scratch = 0>} : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @window_without_chunk(%x: tensor<100x10xf32, #cpu>, %w: tensor<10x10xf32, #cpu>, %at: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs chunk in its schedule: it writes a window, which is cut in chunks}}
  %0 = weft.fusion update (%x, %w, %at) {schedule = #weft.schedule<update, vector = 16, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>) -> tensor<100x10xf32, #cpu> {
  ^bb0(%a: tensor<100x10xf32, #cpu>, %b: tensor<10x10xf32, #cpu>, %i: tensor<i64, #cpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%i, %i) : tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
    weft.yield %1 : tensor<100x10xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @window_with_block(%x: tensor<100x10xf32, #cpu>, %w: tensor<10x10xf32, #cpu>, %at: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 4 in its schedule, which it cannot have: it writes a window, which is cut in chunks}}
  %0 = weft.fusion update (%x, %w, %at) {schedule = #weft.schedule<update, vector = 16, chunk = 64, block = 4, tasks = 2, grain = 1, scratch = 0>}
      : (tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>) -> tensor<100x10xf32, #cpu> {
  ^bb0(%a: tensor<100x10xf32, #cpu>, %b: tensor<10x10xf32, #cpu>, %i: tensor<i64, #cpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%i, %i) : tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
    weft.yield %1 : tensor<100x10xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @window_chunk(%x: tensor<100x10xf32, #cpu>, %w: tensor<10x10xf32, #cpu>, %at: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 65 in its schedule, expected a multiple of 64: no vector may lie in two tasks, and the widest has 64 elements}}
  %0 = weft.fusion update (%x, %w, %at) {schedule = #weft.schedule<update, vector = 16, chunk = 65, tasks = 2, grain = 1, scratch = 0>}
      : (tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>) -> tensor<100x10xf32, #cpu> {
  ^bb0(%a: tensor<100x10xf32, #cpu>, %b: tensor<10x10xf32, #cpu>, %i: tensor<i64, #cpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%i, %i) : tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
    weft.yield %1 : tensor<100x10xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @window_tasks(%x: tensor<100x10xf32, #cpu>, %w: tensor<10x10xf32, #cpu>, %at: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 3 in its schedule, expected 2: the domain [10, 10] is cut in chunks of 64}}
  %0 = weft.fusion update (%x, %w, %at) {schedule = #weft.schedule<update, vector = 16, chunk = 64, tasks = 3, grain = 1, scratch = 0>}
      : (tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>) -> tensor<100x10xf32, #cpu> {
  ^bb0(%a: tensor<100x10xf32, #cpu>, %b: tensor<10x10xf32, #cpu>, %i: tensor<i64, #cpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%i, %i) : tensor<100x10xf32, #cpu>, tensor<10x10xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
    weft.yield %1 : tensor<100x10xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @update_chunk(%x: tensor<10x7xf32, #cpu>, %w: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 64 in its schedule, which it cannot have: it writes by index}}
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 16, chunk = 64, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %b: tensor<5x7xf32, #cpu>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @update_block(%x: tensor<10x7xf32, #cpu>, %w: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has block = 8 in its schedule, expected at most 7: it has 7 elements that share an index}}
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 16, block = 8, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %b: tensor<5x7xf32, #cpu>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @update_range(%x: tensor<10x7xf32, #cpu>, %w: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has range = 11 in its schedule, expected at most 10: it has 10 places to write to}}
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 16, range = 11, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %b: tensor<5x7xf32, #cpu>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @update_tasks(%x: tensor<10x7xf32, #cpu>, %w: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 3 in its schedule, expected 9: the writes are cut by outer index, block and range}}
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 16, block = 3, range = 4, tasks = 3, grain = 1, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %b: tensor<5x7xf32, #cpu>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#b = #weft.device<cpu, [n]>
weft.func @dynamic_block(%x: tensor<10x?xf32, #b>, %w: tensor<5x?xf32, #b>, %i: tensor<5xi64, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100>]} {
  // expected-error@+1 {{'weft.fusion' op has block = 4 in its schedule, which it cannot have: it has n elements that share an index, which is no number}}
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 16, block = 4, tasks = 3, grain = 1, scratch = 0>}
      : (tensor<10x?xf32, #b>, tensor<5x?xf32, #b>, tensor<5xi64, #cpu>) -> tensor<10x?xf32, #b> {
  ^bb0(%a: tensor<10x?xf32, #b>, %b: tensor<5x?xf32, #b>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x?xf32, #b>, tensor<5x?xf32, #b>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x?xf32, #b>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scatter_vector(%x: tensor<10x7xf32, #cpu>, %i: tensor<5x7xi64, #cpu>, %w: tensor<5x7xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has vector = 16 in its schedule, expected 1: each element of a weft.scatter has an index of its own}}
  %0 = weft.fusion update (%x, %i, %w) {schedule = #weft.schedule<update, vector = 16, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xi64, #cpu>, tensor<5x7xf32, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %j: tensor<5x7xi64, #cpu>, %b: tensor<5x7xf32, #cpu>):
    %1 = weft.scatter %a, %j, %b, dim = 0, kind = add mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xi64, #cpu>, tensor<5x7xf32, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_tensor_chunk(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs chunk in its schedule: its tasks are chunks of tensors}}
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr) {schedule = #weft.schedule<multi_tensor, vector = 16, tasks = 2, grain = 1, scratch = 0>}
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tensor_chunk(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has chunk = 32 in its schedule, expected a multiple of 64: no vector may lie in two tasks, and the widest has 64 elements}}
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr) {schedule = #weft.schedule<multi_tensor, vector = 16, chunk = 32, tasks = 10, grain = 1, scratch = 0>}
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @tensor_tasks(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 5 in its schedule, expected 6: its tensors are cut in chunks of 64}}
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr) {schedule = #weft.schedule<multi_tensor, vector = 16, chunk = 64, tasks = 5, grain = 1, scratch = 0>}
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @same_step_twice(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has result 1, which is not a result of one of its steps, or is another result already}}
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %a : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_step(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has result 1, which is not a result of one of its steps, or is another result already}}
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %fq : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dependent_steps(%p: tensor<130xf32, #cpu>, %q: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      : (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> (tensor<130xf32, #cpu>, tensor<130xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    // expected-error@+1 {{'weft.sgd_step' op reads a result of another step of its fusion}}
    %b = weft.sgd_step (%a, %a, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @lost_step(%p: tensor<130xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>) {
  %r = weft.fusion multi_tensor (%p, %step, %lr) : (tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>) -> tensor<130xf32, #cpu> {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    // expected-error@+1 {{'weft.sgd_step' op has a result that its fusion does not yield}}
    %b = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a : tensor<130xf32, #cpu>
  }
  weft.return
}

// -----

// The number of tasks is a size too: 63 times the outer dimension, over 64, is more than it can be.
#m = #weft.device<cpu, [m]>
weft.func @tasks_inexpressible(%x: tensor<288230376151711744x1x?xf32, #m>, %k: tensor<?xf32, #m>) attributes {weft.symbols = [#weft.symbol<"m", 1, 3>]} {
  // expected-error@+1 {{'weft.fusion' op has more tasks than can be expressed: the columns of the domain [288230376151711744, 1, m] are cut in blocks of 64; make its tensors smaller, or give their sizes fewer symbols}}
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<288230376151711744x1x?xf32, #m>) -> tensor<288230376151711744x1x?xf32, #m> {
  ^bb0(%a: tensor<288230376151711744x1x?xf32, #m>):
    %1 = weft.cumsum %a, dim = 1 : tensor<288230376151711744x1x?xf32, #m>
    weft.yield %1 : tensor<288230376151711744x1x?xf32, #m>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_without_columns(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op needs tile_columns in its schedule: the threads of a block share a chunk, or a tile of rows and columns}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 25, tile_dim = 0, tasks = 1, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_of_a_line(%x: tensor<400xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 1 in its schedule, which it cannot have: a tile needs two dimensions, and its domain is [400]}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 1, tile_columns = 512, tile_dim = 0, tasks = 1, grain = 1, scratch = 0>} : (tensor<400xf32, #gpu>) -> tensor<400xf32, #gpu> {
  ^bb0(%a: tensor<400xf32, #gpu>):
    %1 = weft.neg %a : tensor<400xf32, #gpu>
    weft.yield %1 : tensor<400xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_dim(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_dim = 1 in its schedule, expected a dimension before 1: the columns of a tile lie along the dimensions after it}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 25, tile_columns = 20, tile_dim = 1, tasks = 1, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_vectors(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_columns = 18 in its schedule, expected a multiple of 4: a row of a tile is whole vectors}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 25, tile_columns = 18, tile_dim = 0, tasks = 1, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_threads(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_columns = 40 in its schedule, expected at most 32: each vector of a row has a thread of its own}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 32, vector = 1, tile_rows = 1, tile_columns = 40, tile_dim = 0, tasks = 20, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_tasks(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tasks = 7 in its schedule, expected 14: the domain [20, 20] is cut in tiles of 3 x 16}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 3, tile_columns = 16, tile_dim = 0, tasks = 7, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_of_one_thread(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op needs squares in its schedule: a loop is cut in chunks, or in tiles}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 1, vector = 4, tile_rows = 1, tile_columns = 4, tile_dim = 0, tasks = 100, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @plane_of_a_chunk(%x: tensor<20x20xf32, #gpu>) {
  // expected-error@+1 {{'weft.fusion' op has tile_rows = 1 in its schedule, which it cannot have: its tasks are chunks}}
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, threads = 128, vector = 4, chunk = 512, tile_rows = 1, tasks = 1, grain = 1, scratch = 0>} : (tensor<20x20xf32, #gpu>) -> tensor<20x20xf32, #gpu> {
  ^bb0(%a: tensor<20x20xf32, #gpu>):
    %1 = weft.neg %a : tensor<20x20xf32, #gpu>
    weft.yield %1 : tensor<20x20xf32, #gpu>
  }
  weft.return
}
