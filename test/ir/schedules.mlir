// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

// Schedules that are right, and not the ones that --weft-choose-schedules chooses: one task may be larger or smaller, vectors
// narrower or wider, as long as every element lies in one task.

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @loop
// CHECK: schedule = #weft.schedule<loop, vector = 4, chunk = 128, tasks = 79, grain = 79, scratch = 64>
weft.func @loop(%x: tensor<100x101xf32, #cpu>) -> tensor<100x101xf32, #cpu> {
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 4, chunk = 128, tasks = 79, grain = 79, scratch = 64>}
      : (tensor<100x101xf32, #cpu>) -> tensor<100x101xf32, #cpu> {
  ^bb0(%a: tensor<100x101xf32, #cpu>):
    %1 = weft.neg %a : tensor<100x101xf32, #cpu>
    weft.yield %1 : tensor<100x101xf32, #cpu>
  }
  weft.return %0 : tensor<100x101xf32, #cpu>
}

// Any loop over two dimensions can go in tiles, and none has to.
// CHECK-LABEL: weft.func @tile
// CHECK: schedule = #weft.schedule<loop, vector = 8, tile_rows = 40, tile_columns = 104, tile_dim = 1, squares = 0, tasks = 6, grain = 2, scratch = 0, streaming>
weft.func @tile(%x: tensor<2x100x101xf32, #cpu>) -> tensor<2x100x101xf32, #cpu> {
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 8, tile_rows = 40, tile_columns = 104, tile_dim = 1,
      squares = 0, tasks = 6, grain = 2, scratch = 0, streaming>}
      : (tensor<2x100x101xf32, #cpu>) -> tensor<2x100x101xf32, #cpu> {
  ^bb0(%a: tensor<2x100x101xf32, #cpu>):
    %1 = weft.neg %a : tensor<2x100x101xf32, #cpu>
    weft.yield %1 : tensor<2x100x101xf32, #cpu>
  }
  weft.return %0 : tensor<2x100x101xf32, #cpu>
}

// Rows that are shorter than the lanes have no vectors at all.
// CHECK-LABEL: weft.func @row
// CHECK: schedule = #weft.schedule<row, vector = 1, lanes = 16, partials = 64, prefetch = 0, tasks = 9, grain = 3, scratch = 64, keep = [0]>
weft.func @row(%x: tensor<9x15xf32, #cpu>) -> tensor<9x15xf32, #cpu> {
  %0 = weft.fusion row (%x) {schedule = #weft.schedule<row, vector = 1, lanes = 16, partials = 64, prefetch = 0, tasks = 9,
      grain = 3, scratch = 64, keep = [0]>} : (tensor<9x15xf32, #cpu>) -> tensor<9x15xf32, #cpu> {
  ^bb0(%a: tensor<9x15xf32, #cpu>):
    %1 = weft.neg %a : tensor<9x15xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<9x15xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0] : tensor<9xf32, #cpu> -> tensor<9x15xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<9x15xf32, #cpu>
    weft.yield %4 : tensor<9x15xf32, #cpu>
  }
  weft.return %0 : tensor<9x15xf32, #cpu>
}

// CHECK-LABEL: weft.func @column
// CHECK: schedule = #weft.schedule<column, vector = 64, rows = 8, block = 64, tasks = 4, grain = 1, scratch = 512>
weft.func @column(%x: tensor<9x200xf32, #cpu>) -> tensor<200xf32, #cpu> {
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 64, rows = 8, block = 64, tasks = 4, grain = 1, scratch = 512>}
      : (tensor<9x200xf32, #cpu>) -> tensor<200xf32, #cpu> {
  ^bb0(%a: tensor<9x200xf32, #cpu>):
    %1 = weft.sum %a, dims = [0] : tensor<9x200xf32, #cpu>
    weft.yield %1 : tensor<200xf32, #cpu>
  }
  weft.return %0 : tensor<200xf32, #cpu>
}

// Rows in the middle: a task is a block of one of the five matrices. What is kept lies in scratch behind the sums and what
// is spread of them.
// CHECK-LABEL: weft.func @middle
// CHECK: schedule = #weft.schedule<column, vector = 4, rows = 8, block = 128, tasks = 10, grain = 2, scratch = 6200, keep = [0], streaming>
weft.func @middle(%x: tensor<5x9x200xf32, #cpu>) -> tensor<5x9x200xf32, #cpu> {
  %0 = weft.fusion column (%x) {schedule = #weft.schedule<column, vector = 4, rows = 8, block = 128, tasks = 10, grain = 2, scratch = 6200, keep = [0], streaming>}
      : (tensor<5x9x200xf32, #cpu>) -> tensor<5x9x200xf32, #cpu> {
  ^bb0(%a: tensor<5x9x200xf32, #cpu>):
    %1 = weft.neg %a : tensor<5x9x200xf32, #cpu>
    %2 = weft.sum %1, dims = [1] : tensor<5x9x200xf32, #cpu>
    %3 = weft.broadcast_in_dim %2, dims = [0, 2] : tensor<5x200xf32, #cpu> -> tensor<5x9x200xf32, #cpu>
    %4 = weft.sub %1, %3 : tensor<5x9x200xf32, #cpu>
    weft.yield %4 : tensor<5x9x200xf32, #cpu>
  }
  weft.return %0 : tensor<5x9x200xf32, #cpu>
}

// CHECK-LABEL: weft.func @scan
// CHECK: schedule = #weft.schedule<scan, vector = 4, lanes = 16, block = 28, tasks = 24, grain = 1, scratch = 0>
weft.func @scan(%x: tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  %0 = weft.fusion scan (%x) {schedule = #weft.schedule<scan, vector = 4, lanes = 16, block = 28, tasks = 24, grain = 1, scratch = 0>}
      : (tensor<6x7x100xf32, #cpu>) -> tensor<6x7x100xf32, #cpu> {
  ^bb0(%a: tensor<6x7x100xf32, #cpu>):
    %1 = weft.cumsum %a, dim = 1 : tensor<6x7x100xf32, #cpu>
    weft.yield %1 : tensor<6x7x100xf32, #cpu>
  }
  weft.return %0 : tensor<6x7x100xf32, #cpu>
}

// CHECK-LABEL: weft.func @update
// CHECK: schedule = #weft.schedule<update, vector = 2, block = 3, range = 4, tasks = 9, grain = 2, scratch = 0>
weft.func @update(%x: tensor<10x7xf32, #cpu>, %w: tensor<5x7xf32, #cpu>, %i: tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  %0 = weft.fusion update (%x, %w, %i) {schedule = #weft.schedule<update, vector = 2, block = 3, range = 4, tasks = 9, grain = 2, scratch = 0>}
      : (tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>) -> tensor<10x7xf32, #cpu> {
  ^bb0(%a: tensor<10x7xf32, #cpu>, %b: tensor<5x7xf32, #cpu>, %j: tensor<5xi64, #cpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 mode = clip : tensor<10x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
    weft.yield %1 : tensor<10x7xf32, #cpu>
  }
  weft.return %0 : tensor<10x7xf32, #cpu>
}

// CHECK-LABEL: weft.func @multi_tensor
// CHECK: schedule = #weft.schedule<multi_tensor, vector = 32, chunk = 64, tasks = 4, grain = 1, scratch = 0>
weft.func @multi_tensor(%p: tensor<130xf32, #cpu>, %q: tensor<2x3xf32, #cpu>, %step: tensor<i64, #cpu>, %lr: tensor<f64, #cpu>)
    -> (tensor<130xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  %r:2 = weft.fusion multi_tensor (%p, %q, %step, %lr)
      {schedule = #weft.schedule<multi_tensor, vector = 32, chunk = 64, tasks = 4, grain = 1, scratch = 0>}
      : (tensor<130xf32, #cpu>, tensor<2x3xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>)
      -> (tensor<130xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  ^bb0(%fp: tensor<130xf32, #cpu>, %fq: tensor<2x3xf32, #cpu>, %fs: tensor<i64, #cpu>, %fl: tensor<f64, #cpu>):
    %a = weft.sgd_step (%fp, %fp, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<130xf32, #cpu>, tensor<130xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    %b = weft.sgd_step (%fq, %fq, step %fs, lr %fl, momentum %fl, dampening %fl, decay %fl)
       : tensor<2x3xf32, #cpu>, tensor<2x3xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
    weft.yield %a, %b : tensor<130xf32, #cpu>, tensor<2x3xf32, #cpu>
  }
  weft.return %r#0, %r#1 : tensor<130xf32, #cpu>, tensor<2x3xf32, #cpu>
}
