// RUN: weft-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{unknown schedule 'diagonal', expected loop, row, column, multi_tensor or update}}
#bad = #weft.schedule<diagonal, vector = 1, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 3 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 3, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 0 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 0, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{vector width 128 is not a power of two in [1, 64]}}
#bad = #weft.schedule<loop, vector = 128, tasks = 1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs tasks >= 0, grain >= 1 and scratch >= 0, found -1, 1 and 0}}
#bad = #weft.schedule<loop, vector = 1, tasks = -1, grain = 1, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs tasks >= 0, grain >= 1 and scratch >= 0, found 1, 0 and 0}}
#bad = #weft.schedule<loop, vector = 1, tasks = 1, grain = 0, scratch = 0>

// -----

// expected-error@+1 {{a schedule needs tasks >= 0, grain >= 1 and scratch >= 0, found 1, 1 and -8}}
#bad = #weft.schedule<loop, vector = 1, tasks = 1, grain = 1, scratch = -8>

// -----

// expected-error@+1 {{expected 'vector'}}
#bad = #weft.schedule<loop, tasks = 1, grain = 1, scratch = 0>

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
