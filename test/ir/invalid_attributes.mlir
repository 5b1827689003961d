// RUN: weft-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{unknown schedule 'diagonal', expected loop, row, column, multi_tensor, scan or update}}
#bad = #weft.schedule<diagonal, vector = 1, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 3 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 3, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 0 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 0, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 128 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 128, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs tasks >= 0, found -1}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, tasks = -1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind loop needs 'tasks'}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs grain in [1, 9223372036854775807], found 0}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 1, grain = 0, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs scratch in [0, 4294967296], found -8}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 1, grain = 1, scratch = -8>

// -----

// expected-error@+1 {{a schedule needs scratch in [0, 4294967296], found 4294967297}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 1, grain = 1, scratch = 4294967297>

// -----

// expected-error@+1 {{a schedule needs chunk in [1, 1073741824], found 0}}
#bad = #weft.schedule<loop, vector = 1, chunk = 0, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind loop needs 'vector'}}
#bad = #weft.schedule<loop, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind column needs 'rows'}}
#bad = #weft.schedule<column, vector = 16, block = 256, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind loop has no 'block', only threads, resident, vector, chunk, tile_rows, tile_columns, tile_dim, squares, tasks, grain, scratch and streaming}}
#bad = #weft.schedule<loop, block = 64, vector = 1, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind scan has no 'keep', only threads, resident, vector, lanes, block, tasks, grain and scratch}}
#bad = #weft.schedule<scan, vector = 16, lanes = 16, keep = [1], tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule of kind scan has no 'streaming', only threads, resident, vector, lanes, block, tasks, grain and scratch}}
#bad = #weft.schedule<scan, vector = 16, lanes = 16, tasks = 1, grain = 1, scratch = 0, streaming>

// -----

// expected-error@+1 {{a schedule of kind row has no 'width', only threads, resident, vector, chunk, lanes, partials, block, prefetch, tasks, grain, scratch, streaming and keep}}
#bad = #weft.schedule<row, width = 16>

// -----

// expected-error@+1 {{'chunk' stands twice in a schedule}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, chunk = 64, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{integer value too large}}
#bad = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 1, grain = -9223372036854775808, scratch = 0>

// -----

// expected-error@+1 {{a schedule keeps ops in the order of their numbers, found keep = [2, 2]}}
#bad = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 1, grain = 1, scratch = 0, keep = [2, 2]>

// -----

// expected-error@+1 {{a schedule keeps ops in the order of their numbers, found keep = [-1]}}
#bad = #weft.schedule<row, vector = 16, lanes = 16, partials = 64, prefetch = 0, tasks = 1, grain = 1, scratch = 0, keep = [-1]>

// -----

// expected-error@+1 {{unknown storage 'heap', expected argument, result, arena or constant}}
#bad = #weft.slice<heap, 0, 4>

// -----

// expected-error@+1 {{a slice needs position and bytes >= 0, found -4 and 4}}
#bad = #weft.slice<arena, -4, 4>

// -----

// expected-error@+1 {{a slice needs position and bytes >= 0, found 0 and -1}}
#bad = #weft.slice<result, 0, -1>

// -----

// expected-error@+1 {{needs the name of a library, or 'weft'}}
#bad = #weft.library<"", epilogues = [], least_flops = 0, workspace = 0>

// -----

// expected-error@+1 {{has the epilogue "xy", expected one of bias, residual, relu}}
#bad = #weft.library<"other", epilogues = ["bias", "xy"], least_flops = 0, workspace = 0>

// -----

// expected-error@+1 {{has the epilogue 1 : i64, expected one of bias, residual, relu}}
#bad = #weft.library<"other", epilogues = [1], least_flops = 0, workspace = 0>

// -----

// expected-error@+1 {{needs least_flops and workspace of at least 0, found 0 and -1}}
#bad = #weft.library<"other", epilogues = [], least_flops = 0, workspace = -1>
