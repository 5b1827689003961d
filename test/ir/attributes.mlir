// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s

// Devices print through aliases that name them; the text with the alias parses back.
// CHECK-DAG: #[[CPU:cpu[_0-9]*]] = #weft.device<cpu>
// CHECK-DAG: #[[CUDA0:cuda0[_0-9]*]] = #weft.device<cuda:0>
// CHECK-DAG: #[[CUDA127:cuda127[_0-9]*]] = #weft.device<cuda:127>

// CHECK: weft.func @devices(%{{.*}}: tensor<4xf32, #[[CPU]]>, %{{.*}}: tensor<4xf32, #[[CUDA0]]>, %{{.*}}: tensor<4xf32, #[[CUDA127]]>)
weft.func @devices(%a: tensor<4xf32, #weft.device<cpu>>, %b: tensor<4xf32, #weft.device<cuda:0>>,
                   %c: tensor<4xf32, #weft.device<cuda:127>>) {
  weft.return
}

// CHECK: weft.func @schedules()
// CHECK-DAG: loop = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 0, grain = 1, scratch = 0>
// CHECK-DAG: row = #weft.schedule<row, vector = 64, lanes = 16, partials = 64, prefetch = 0, tasks = 4, grain = 2, scratch = 4096, keep = [0, 3], streaming>
// CHECK-DAG: column = #weft.schedule<column, vector = 8, rows = 8, block = 256, tasks = 1, grain = 1, scratch = 0, keep = [1], streaming>
// CHECK-DAG: tile = #weft.schedule<loop, vector = 16, tile_rows = 256, tile_columns = 64, tile_dim = 0, squares = 8, tasks = 2, grain = 1, scratch = 16384>
// CHECK-DAG: scan = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = ceildiv(8 * n + 504, 64), grain = 1, scratch = 0>
// CHECK-DAG: update = #weft.schedule<update, vector = 16, block = 64, range = 1000, tasks = 4, grain = 1, scratch = 0>
// CHECK-DAG: multi = #weft.schedule<multi_tensor, vector = 16, chunk = 8192, tasks = 9, grain = 3, scratch = 0>
weft.func @schedules() attributes {
    loop = #weft.schedule<loop, vector = 1, chunk = 64, tasks = 0, grain = 1, scratch = 0>,
    row = #weft.schedule<row, vector = 64, lanes = 16, partials = 64, prefetch = 0, tasks = 4, grain = 2, scratch = 4096, keep = [0, 3], streaming>,
    column = #weft.schedule<column, vector = 8, rows = 8, block = 256, tasks = 1, grain = 1, scratch = 0, keep = [1], streaming>,
    tile = #weft.schedule<loop, vector = 16, tile_rows = 256, tile_columns = 64, tile_dim = 0, squares = 8, tasks = 2,
                          grain = 1, scratch = 16384>,
    scan = #weft.schedule<scan, vector = 16, lanes = 16, block = 64, tasks = ceildiv(8 * n + 504, 64), grain = 1, scratch = 0>,
    // In text the fields may stand in any order.
    update = #weft.schedule<update, tasks = 4, grain = 1, scratch = 0, range = 1000, vector = 16, block = 64>,
    multi = #weft.schedule<multi_tensor, vector = 16, chunk = 8192, tasks = 9, grain = 3, scratch = 0>} {
  weft.return
}

// CHECK: weft.func @slices()
// CHECK-SAME: [#weft.slice<argument, 2, 512>, #weft.slice<result, 0, 4>, #weft.slice<arena, 256, 1024>, #weft.slice<constant, 0, 4096>]
weft.func @slices() attributes {slices = [#weft.slice<argument, 2, 512>, #weft.slice<result, 0, 4>,
                                          #weft.slice<arena, 256, 1024>, #weft.slice<constant, 0, 4096>]} {
  weft.return
}
