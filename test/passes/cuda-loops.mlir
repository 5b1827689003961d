// Loops, windows, optimiser steps and writes by index of a device: what a block and its threads do.
// RUN: weft-opt %s --weft-choose-schedules=target=sm_90 -o %t
// RUN: FileCheck %s < %t
// RUN: weft-opt %t --weft-choose-schedules=target=sm_80 | FileCheck %s
// RUN: weft-opt %s --weft-choose-schedules='target=sm_90 report=true' | FileCheck %s --check-prefix=NOTE
// NOTE-LABEL: weft.func @few
// NOTE-SAME: code = "WEFT-F009"
// NOTE-NOT: WEFT-F009

#gpu = #weft.device<cuda:0>
#n = #weft.device<cuda:0, [n]>
#wide = #weft.device<cuda:0, [n]>
#d = #weft.device<cuda:0, [d]>
#nd = #weft.device<cuda:0, [n, d]>

// Few elements share an index, and how many places there are to write to is dynamic, so that they are not divided among threads.
weft.func @few(%x: tensor<?x10xf32, #n>, %i: tensor<400xi64, #gpu>, %u: tensor<400x10xf32, #gpu>) -> tensor<?x10xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100000>]} {
  %0 = weft.fusion update (%x, %i, %u) : (tensor<?x10xf32, #n>, tensor<400xi64, #gpu>, tensor<400x10xf32, #gpu>) -> tensor<?x10xf32, #n> {
  ^bb0(%a: tensor<?x10xf32, #n>, %j: tensor<400xi64, #gpu>, %b: tensor<400x10xf32, #gpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 accumulate mode = clip : tensor<?x10xf32, #n>, tensor<400x10xf32, #gpu>, tensor<400xi64, #gpu>
    weft.yield %1 : tensor<?x10xf32, #n>
  }
  weft.return %0 : tensor<?x10xf32, #n>
}

// A bias of columns: 192 vectors are 192 threads. With few rows, each block has one.
// CHECK-LABEL: weft.func @bias
// CHECK: schedule = #weft.schedule<loop, threads = 192, vector = 4, tile_rows = 1, tile_columns = 768, tile_dim = 0, tasks = 128, grain = 1, scratch = 0>
weft.func @bias(%x: tensor<128x768xf32, #gpu>, %b: tensor<768xf32, #gpu>) -> tensor<128x768xf32, #gpu> {
  %0 = weft.fusion loop (%x, %b) : (tensor<128x768xf32, #gpu>, tensor<768xf32, #gpu>) -> tensor<128x768xf32, #gpu> {
  ^bb0(%a: tensor<128x768xf32, #gpu>, %c: tensor<768xf32, #gpu>):
    %1 = weft.broadcast_in_dim %c, dims = [1] : tensor<768xf32, #gpu> -> tensor<128x768xf32, #gpu>
    %2 = weft.add %a, %1 : tensor<128x768xf32, #gpu>
    weft.yield %2 : tensor<128x768xf32, #gpu>
  }
  weft.return %0 : tensor<128x768xf32, #gpu>
}

// With many, eight, for which it reads the bias once. Longer rows are divided evenly among blocks.
// CHECK-LABEL: weft.func @many
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 4, tile_rows = 8, tile_columns = 1024, tile_dim = 0, tasks = 24576, grain = 1, scratch = 0>
weft.func @many(%x: tensor<65536x3072xf32, #gpu>, %b: tensor<3072xf32, #gpu>) -> tensor<65536x3072xf32, #gpu> {
  %0 = weft.fusion loop (%x, %b) : (tensor<65536x3072xf32, #gpu>, tensor<3072xf32, #gpu>) -> tensor<65536x3072xf32, #gpu> {
  ^bb0(%a: tensor<65536x3072xf32, #gpu>, %c: tensor<3072xf32, #gpu>):
    %1 = weft.broadcast_in_dim %c, dims = [1] : tensor<3072xf32, #gpu> -> tensor<65536x3072xf32, #gpu>
    %2 = weft.add %a, %1 : tensor<65536x3072xf32, #gpu>
    weft.yield %2 : tensor<65536x3072xf32, #gpu>
  }
  weft.return %0 : tensor<65536x3072xf32, #gpu>
}

// The rows are [batch, channel]: the bias of a channel is one number for a row. 49 columns are no whole vectors.
// CHECK-LABEL: weft.func @channels
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 5, tile_columns = 49, tile_dim = 1, tasks = 410, grain = 1, scratch = 0>
weft.func @channels(%x: tensor<32x64x7x7xf32, #gpu>, %b: tensor<64xf32, #gpu>) -> tensor<32x64x7x7xf32, #gpu> {
  %0 = weft.fusion loop (%x, %b) : (tensor<32x64x7x7xf32, #gpu>, tensor<64xf32, #gpu>) -> tensor<32x64x7x7xf32, #gpu> {
  ^bb0(%a: tensor<32x64x7x7xf32, #gpu>, %c: tensor<64xf32, #gpu>):
    %1 = weft.broadcast_in_dim %c, dims = [1] : tensor<64xf32, #gpu> -> tensor<32x64x7x7xf32, #gpu>
    %2 = weft.add %a, %1 : tensor<32x64x7x7xf32, #gpu>
    weft.yield %2 : tensor<32x64x7x7xf32, #gpu>
  }
  weft.return %0 : tensor<32x64x7x7xf32, #gpu>
}

// A number of columns that is not known is divided among warps; a number of rows is no matter.
// CHECK-LABEL: weft.func @dynamic
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 20, tile_columns = 100, tile_dim = 0, tasks = ceildiv(n, 20), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 4, tile_columns = 128, tile_dim = 0, tasks = ceildiv(25 * n + 3175, 128), grain = 1, scratch = 0>
weft.func @dynamic(%x: tensor<?x100xf32, #n>, %b: tensor<100xf32, #gpu>, %y: tensor<100x?xf32, #wide>, %r: tensor<100xf32, #gpu>) -> (tensor<?x100xf32, #n>, tensor<100x?xf32, #wide>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100000>]} {
  %0 = weft.fusion loop (%x, %b) : (tensor<?x100xf32, #n>, tensor<100xf32, #gpu>) -> tensor<?x100xf32, #n> {
  ^bb0(%a: tensor<?x100xf32, #n>, %c: tensor<100xf32, #gpu>):
    %1 = weft.broadcast_in_dim %c, dims = [1] : tensor<100xf32, #gpu> -> tensor<?x100xf32, #n>
    %2 = weft.add %a, %1 : tensor<?x100xf32, #n>
    weft.yield %2 : tensor<?x100xf32, #n>
  }
  %3 = weft.fusion loop (%y, %r) : (tensor<100x?xf32, #wide>, tensor<100xf32, #gpu>) -> tensor<100x?xf32, #wide> {
  ^bb0(%a: tensor<100x?xf32, #wide>, %c: tensor<100xf32, #gpu>):
    %1 = weft.broadcast_in_dim %c, dims = [0] : tensor<100xf32, #gpu> -> tensor<100x?xf32, #wide>
    %2 = weft.add %a, %1 : tensor<100x?xf32, #wide>
    weft.yield %2 : tensor<100x?xf32, #wide>
  }
  weft.return %0, %3 : tensor<?x100xf32, #n>, tensor<100x?xf32, #wide>
}

// Whole rows of a table in vectors; elements with an index of their own, and every second one, singly.
// CHECK-LABEL: weft.func @views
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 8, tile_columns = 64, tile_dim = 0, tasks = 50, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 1, tile_rows = 2, tile_columns = 64, tile_dim = 0, tasks = 200, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 1, tile_rows = 4, tile_columns = 32, tile_dim = 0, tasks = 250, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 128, vector = 4, tile_rows = 16, tile_columns = 32, tile_dim = 0, tasks = 63, grain = 1, scratch = 0>
weft.func @views(%t: tensor<1000x64xf32, #gpu>, %i: tensor<400xi64, #gpu>, %j: tensor<400x64xi64, #gpu>) -> (tensor<400x64xf32, #gpu>, tensor<400x64xf32, #gpu>, tensor<1000x32xf32, #gpu>, tensor<1000x32xf32, #gpu>) {
  %0 = weft.fusion loop (%t, %i) : (tensor<1000x64xf32, #gpu>, tensor<400xi64, #gpu>) -> tensor<400x64xf32, #gpu> {
  ^bb0(%a: tensor<1000x64xf32, #gpu>, %b: tensor<400xi64, #gpu>):
    %1 = weft.gather %a, %b, dim = 0, kind = points mode = clip : tensor<1000x64xf32, #gpu>, tensor<400xi64, #gpu>
    weft.yield %1 : tensor<400x64xf32, #gpu>
  }
  %2 = weft.fusion loop (%t, %j) : (tensor<1000x64xf32, #gpu>, tensor<400x64xi64, #gpu>) -> tensor<400x64xf32, #gpu> {
  ^bb0(%a: tensor<1000x64xf32, #gpu>, %b: tensor<400x64xi64, #gpu>):
    %1 = weft.gather %a, %b, dim = 0, kind = along mode = clip : tensor<1000x64xf32, #gpu>, tensor<400x64xi64, #gpu>
    weft.yield %1 : tensor<400x64xf32, #gpu>
  }
  %3 = weft.fusion loop (%t) : (tensor<1000x64xf32, #gpu>) -> tensor<1000x32xf32, #gpu> {
  ^bb0(%a: tensor<1000x64xf32, #gpu>):
    %1 = weft.slice %a, start = [0, 0], limit = [1000, 64], step = [1, 2] : tensor<1000x64xf32, #gpu>
    weft.yield %1 : tensor<1000x32xf32, #gpu>
  }
  %4 = weft.fusion loop (%t) : (tensor<1000x64xf32, #gpu>) -> tensor<1000x32xf32, #gpu> {
  ^bb0(%a: tensor<1000x64xf32, #gpu>):
    %1 = weft.slice %a, start = [0, 32], limit = [1000, 64], step = [1, 1] : tensor<1000x64xf32, #gpu>
    weft.yield %1 : tensor<1000x32xf32, #gpu>
  }
  weft.return %0, %2, %3, %4 : tensor<400x64xf32, #gpu>, tensor<400x64xf32, #gpu>, tensor<1000x32xf32, #gpu>, tensor<1000x32xf32, #gpu>
}

// Parts that begin at whole vectors, and parts that do not.
// CHECK-LABEL: weft.func @joins
// CHECK: schedule = #weft.schedule<loop, threads = 192, vector = 4, tile_rows = 8, tile_columns = 96, tile_dim = 0, tasks = 12, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 224, vector = 1, tile_rows = 2, tile_columns = 97, tile_dim = 0, tasks = 45, grain = 1, scratch = 0>
weft.func @joins(%x: tensor<90x32xf32, #gpu>, %y: tensor<90x64xf32, #gpu>, %z: tensor<90x33xf32, #gpu>) -> (tensor<90x96xf32, #gpu>, tensor<90x97xf32, #gpu>) {
  %0 = weft.fusion loop (%x, %y) : (tensor<90x32xf32, #gpu>, tensor<90x64xf32, #gpu>) -> tensor<90x96xf32, #gpu> {
  ^bb0(%a: tensor<90x32xf32, #gpu>, %b: tensor<90x64xf32, #gpu>):
    %1 = weft.concat(%a, %b), dim = 1 : tensor<90x32xf32, #gpu>, tensor<90x64xf32, #gpu>
    weft.yield %1 : tensor<90x96xf32, #gpu>
  }
  %2 = weft.fusion loop (%z, %y) : (tensor<90x33xf32, #gpu>, tensor<90x64xf32, #gpu>) -> tensor<90x97xf32, #gpu> {
  ^bb0(%a: tensor<90x33xf32, #gpu>, %b: tensor<90x64xf32, #gpu>):
    %1 = weft.concat(%a, %b), dim = 1 : tensor<90x33xf32, #gpu>, tensor<90x64xf32, #gpu>
    weft.yield %1 : tensor<90x97xf32, #gpu>
  }
  weft.return %0, %2 : tensor<90x96xf32, #gpu>, tensor<90x97xf32, #gpu>
}

// A window at any place of a row is written singly; whole rows in vectors, as one line.
// CHECK-LABEL: weft.func @windows
// CHECK: schedule = #weft.schedule<update, threads = 224, vector = 1, tile_rows = 3, tile_columns = 70, tile_dim = 0, tasks = 7, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 2, chunk = 256, tasks = 8, grain = 1, scratch = 0>
weft.func @windows(%x: tensor<40x90xf32, #gpu>, %u: tensor<21x70xf32, #gpu>, %v: tensor<21x90xf32, #gpu>, %i: tensor<i64, #gpu>) -> (tensor<40x90xf32, #gpu>, tensor<40x90xf32, #gpu>) {
  %0 = weft.fusion update (%x, %u, %i) : (tensor<40x90xf32, #gpu>, tensor<21x70xf32, #gpu>, tensor<i64, #gpu>) -> tensor<40x90xf32, #gpu> {
  ^bb0(%a: tensor<40x90xf32, #gpu>, %b: tensor<21x70xf32, #gpu>, %j: tensor<i64, #gpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%j, %j) : tensor<40x90xf32, #gpu>, tensor<21x70xf32, #gpu>, tensor<i64, #gpu>, tensor<i64, #gpu>
    weft.yield %1 : tensor<40x90xf32, #gpu>
  }
  %2 = weft.fusion update (%x, %v, %i) : (tensor<40x90xf32, #gpu>, tensor<21x90xf32, #gpu>, tensor<i64, #gpu>) -> tensor<40x90xf32, #gpu> {
  ^bb0(%a: tensor<40x90xf32, #gpu>, %b: tensor<21x90xf32, #gpu>, %j: tensor<i64, #gpu>):
    %1 = weft.dynamic_update_slice %a, %b, starts(%j, %j) : tensor<40x90xf32, #gpu>, tensor<21x90xf32, #gpu>, tensor<i64, #gpu>, tensor<i64, #gpu>
    weft.yield %1 : tensor<40x90xf32, #gpu>
  }
  weft.return %0, %2 : tensor<40x90xf32, #gpu>, tensor<40x90xf32, #gpu>
}

// The gradient of an embedding: the vectors of a row are a block's threads, which list the writes to a range, and there are four tasks
// a multiprocessor.
// CHECK-LABEL: weft.func @by_index
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, block = 384, range = 191, tasks = 528, grain = 1, scratch = 6152>
weft.func @by_index(%x: tensor<50304x768xf32, #gpu>, %i: tensor<8192xi64, #gpu>, %u: tensor<8192x768xf32, #gpu>) -> tensor<50304x768xf32, #gpu> {
  %0 = weft.fusion update (%x, %i, %u) : (tensor<50304x768xf32, #gpu>, tensor<8192xi64, #gpu>, tensor<8192x768xf32, #gpu>) -> tensor<50304x768xf32, #gpu> {
  ^bb0(%a: tensor<50304x768xf32, #gpu>, %j: tensor<8192xi64, #gpu>, %b: tensor<8192x768xf32, #gpu>):
    %1 = weft.index_update %a, %b, %j, dim = 0 accumulate mode = clip : tensor<50304x768xf32, #gpu>, tensor<8192x768xf32, #gpu>, tensor<8192xi64, #gpu>
    weft.yield %1 : tensor<50304x768xf32, #gpu>
  }
  weft.return %0 : tensor<50304x768xf32, #gpu>
}

// Few places: each is a block's, which has threads for indices beside those with elements. Where they are too few, the elements are cut.
// Few indices need few threads. Elements enough for all
// multiprocessors are not cut by place, and no list is made.
// CHECK-LABEL: weft.func @few_places
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, range = 1, tasks = 1000, grain = 1, scratch = 6152>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, block = 128, range = 1, tasks = 195, grain = 1, scratch = 6152>
// CHECK: schedule = #weft.schedule<update, threads = 32, vector = 4, range = 1, tasks = 65, grain = 1, scratch = 98>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, block = 512, tasks = 977, grain = 1, scratch = 0>
weft.func @few_places(%x: tensor<1000x128xf32, #gpu>, %i: tensor<2048xi64, #gpu>, %u: tensor<2048x128xf32, #gpu>, %y: tensor<65x384xf32, #gpu>, %v: tensor<2048x384xf32, #gpu>, %z: tensor<65x128xf32, #gpu>, %j: tensor<5xi64, #gpu>, %w: tensor<5x128xf32, #gpu>, %a: tensor<2x500000xf32, #gpu>, %b: tensor<5x500000xf32, #gpu>)
    -> (tensor<1000x128xf32, #gpu>, tensor<65x384xf32, #gpu>, tensor<65x128xf32, #gpu>, tensor<2x500000xf32, #gpu>) {
  %0 = weft.fusion update (%x, %i, %u) : (tensor<1000x128xf32, #gpu>, tensor<2048xi64, #gpu>, tensor<2048x128xf32, #gpu>) -> tensor<1000x128xf32, #gpu> {
  ^bb0(%p: tensor<1000x128xf32, #gpu>, %q: tensor<2048xi64, #gpu>, %r: tensor<2048x128xf32, #gpu>):
    %s = weft.index_update %p, %r, %q, dim = 0 accumulate mode = clip : tensor<1000x128xf32, #gpu>, tensor<2048x128xf32, #gpu>, tensor<2048xi64, #gpu>
    weft.yield %s : tensor<1000x128xf32, #gpu>
  }
  %1 = weft.fusion update (%y, %i, %v) : (tensor<65x384xf32, #gpu>, tensor<2048xi64, #gpu>, tensor<2048x384xf32, #gpu>) -> tensor<65x384xf32, #gpu> {
  ^bb0(%p: tensor<65x384xf32, #gpu>, %q: tensor<2048xi64, #gpu>, %r: tensor<2048x384xf32, #gpu>):
    %s = weft.index_update %p, %r, %q, dim = 0 accumulate mode = clip : tensor<65x384xf32, #gpu>, tensor<2048x384xf32, #gpu>, tensor<2048xi64, #gpu>
    weft.yield %s : tensor<65x384xf32, #gpu>
  }
  %2 = weft.fusion update (%z, %j, %w) : (tensor<65x128xf32, #gpu>, tensor<5xi64, #gpu>, tensor<5x128xf32, #gpu>) -> tensor<65x128xf32, #gpu> {
  ^bb0(%p: tensor<65x128xf32, #gpu>, %q: tensor<5xi64, #gpu>, %r: tensor<5x128xf32, #gpu>):
    %s = weft.index_update %p, %r, %q, dim = 0 mode = clip : tensor<65x128xf32, #gpu>, tensor<5x128xf32, #gpu>, tensor<5xi64, #gpu>
    weft.yield %s : tensor<65x128xf32, #gpu>
  }
  %3 = weft.fusion update (%a, %j, %b) : (tensor<2x500000xf32, #gpu>, tensor<5xi64, #gpu>, tensor<5x500000xf32, #gpu>) -> tensor<2x500000xf32, #gpu> {
  ^bb0(%p: tensor<2x500000xf32, #gpu>, %q: tensor<5xi64, #gpu>, %r: tensor<5x500000xf32, #gpu>):
    %s = weft.index_update %p, %r, %q, dim = 0 accumulate mode = clip : tensor<2x500000xf32, #gpu>, tensor<5x500000xf32, #gpu>, tensor<5xi64, #gpu>
    weft.yield %s : tensor<2x500000xf32, #gpu>
  }
  weft.return %0, %1, %2, %3 : tensor<1000x128xf32, #gpu>, tensor<65x384xf32, #gpu>, tensor<65x128xf32, #gpu>, tensor<2x500000xf32, #gpu>
}

// Few elements share an index: each thread has a vector of them, and a range of the places. Of one element in each of many matrices, each
// thread has a matrix. A histogram has a range of its places a thread.
// CHECK-LABEL: weft.func @few_by_index
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 4, block = 4, range = 5, tasks = 469, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 1, block = 1, tasks = ceildiv(n, 128), grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<update, threads = 128, vector = 1, block = 1, range = 2, tasks = 391, grain = 1, scratch = 0>
weft.func @few_by_index(%x: tensor<100000x12xf32, #gpu>, %i: tensor<?xi64, #n>, %u: tensor<?x12xf32, #n>, %y: tensor<?x10xf32, #n>, %j: tensor<?x1xi64, #n>, %v: tensor<?x1xf32, #n>, %z: tensor<100000xf32, #gpu>, %k: tensor<400xi64, #gpu>, %w: tensor<400xf32, #gpu>) -> (tensor<100000x12xf32, #gpu>, tensor<?x10xf32, #n>, tensor<100000xf32, #gpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000000>]} {
  %0 = weft.fusion update (%x, %i, %u) : (tensor<100000x12xf32, #gpu>, tensor<?xi64, #n>, tensor<?x12xf32, #n>) -> tensor<100000x12xf32, #gpu> {
  ^bb0(%a: tensor<100000x12xf32, #gpu>, %q: tensor<?xi64, #n>, %b: tensor<?x12xf32, #n>):
    %1 = weft.index_update %a, %b, %q, dim = 0 accumulate mode = clip : tensor<100000x12xf32, #gpu>, tensor<?x12xf32, #n>, tensor<?xi64, #n>
    weft.yield %1 : tensor<100000x12xf32, #gpu>
  }
  %2 = weft.fusion update (%y, %j, %v) : (tensor<?x10xf32, #n>, tensor<?x1xi64, #n>, tensor<?x1xf32, #n>) -> tensor<?x10xf32, #n> {
  ^bb0(%a: tensor<?x10xf32, #n>, %q: tensor<?x1xi64, #n>, %b: tensor<?x1xf32, #n>):
    %1 = weft.scatter %a, %q, %b, dim = 1, kind = add mode = clip : tensor<?x10xf32, #n>, tensor<?x1xi64, #n>, tensor<?x1xf32, #n>
    weft.yield %1 : tensor<?x10xf32, #n>
  }
  %3 = weft.fusion update (%z, %k, %w) : (tensor<100000xf32, #gpu>, tensor<400xi64, #gpu>, tensor<400xf32, #gpu>) -> tensor<100000xf32, #gpu> {
  ^bb0(%a: tensor<100000xf32, #gpu>, %q: tensor<400xi64, #gpu>, %b: tensor<400xf32, #gpu>):
    %1 = weft.scatter %a, %q, %b, dim = 0, kind = add mode = clip : tensor<100000xf32, #gpu>, tensor<400xi64, #gpu>, tensor<400xf32, #gpu>
    weft.yield %1 : tensor<100000xf32, #gpu>
  }
  weft.return %0, %2, %3 : tensor<100000x12xf32, #gpu>, tensor<?x10xf32, #n>, tensor<100000xf32, #gpu>
}

// Only the call knows how few elements share an index: a warp has them, and a range of the places.
// CHECK-LABEL: weft.func @columns_of_the_call
// CHECK: schedule = #weft.schedule<update, threads = 32, vector = 1, range = 5, tasks = 2000, grain = 1, scratch = 1250>
// CHECK: schedule = #weft.schedule<update, threads = 32, vector = 1, range = 1, tasks = 10 * n, grain = 1, scratch = 0>
weft.func @columns_of_the_call(%x: tensor<10000x?xf32, #d>, %i: tensor<400xi64, #gpu>, %u: tensor<400x?xf32, #d>, %y: tensor<?x10x?xf32, #nd>, %j: tensor<?x3x?xi64, #nd>, %v: tensor<?x3x?xf32, #nd>) -> (tensor<10000x?xf32, #d>, tensor<?x10x?xf32, #nd>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100>, #weft.symbol<"d", 0, 31>]} {
  %0 = weft.fusion update (%x, %i, %u) : (tensor<10000x?xf32, #d>, tensor<400xi64, #gpu>, tensor<400x?xf32, #d>) -> tensor<10000x?xf32, #d> {
  ^bb0(%a: tensor<10000x?xf32, #d>, %q: tensor<400xi64, #gpu>, %b: tensor<400x?xf32, #d>):
    %1 = weft.index_update %a, %b, %q, dim = 0 accumulate mode = clip : tensor<10000x?xf32, #d>, tensor<400x?xf32, #d>, tensor<400xi64, #gpu>
    weft.yield %1 : tensor<10000x?xf32, #d>
  }
  %2 = weft.fusion update (%y, %j, %v) : (tensor<?x10x?xf32, #nd>, tensor<?x3x?xi64, #nd>, tensor<?x3x?xf32, #nd>) -> tensor<?x10x?xf32, #nd> {
  ^bb0(%a: tensor<?x10x?xf32, #nd>, %q: tensor<?x3x?xi64, #nd>, %b: tensor<?x3x?xf32, #nd>):
    %1 = weft.scatter %a, %q, %b, dim = 1, kind = add mode = clip : tensor<?x10x?xf32, #nd>, tensor<?x3x?xi64, #nd>, tensor<?x3x?xf32, #nd>
    weft.yield %1 : tensor<?x10x?xf32, #nd>
  }
  weft.return %0, %2 : tensor<10000x?xf32, #d>, tensor<?x10x?xf32, #nd>
}

// Few elements are cut finely, so that all multiprocessors have some; many in chunks of 16 vectors a thread.
// CHECK-LABEL: weft.func @steps
// CHECK: schedule = #weft.schedule<multi_tensor, threads = 256, vector = 4, chunk = 1024, tasks = 9, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<multi_tensor, threads = 256, vector = 4, chunk = 16384, tasks = 2358, grain = 1, scratch = 0>
weft.func @steps(%p: tensor<8193xf32, #gpu>, %q: tensor<50304x768xf32, #gpu>, %step: tensor<i64, #gpu>, %lr: tensor<f64, #gpu>) -> (tensor<8193xf32, #gpu>, tensor<50304x768xf32, #gpu>) {
  %0 = weft.fusion multi_tensor (%p, %step, %lr) : (tensor<8193xf32, #gpu>, tensor<i64, #gpu>, tensor<f64, #gpu>) -> tensor<8193xf32, #gpu> {
  ^bb0(%a: tensor<8193xf32, #gpu>, %s: tensor<i64, #gpu>, %l: tensor<f64, #gpu>):
    %1 = weft.sgd_step (%a, %a, step %s, lr %l, momentum %l, dampening %l, decay %l) : tensor<8193xf32, #gpu>, tensor<8193xf32, #gpu>, tensor<i64, #gpu>, tensor<f64, #gpu>
    weft.yield %1 : tensor<8193xf32, #gpu>
  }
  %2 = weft.fusion multi_tensor (%q, %step, %lr) : (tensor<50304x768xf32, #gpu>, tensor<i64, #gpu>, tensor<f64, #gpu>) -> tensor<50304x768xf32, #gpu> {
  ^bb0(%a: tensor<50304x768xf32, #gpu>, %s: tensor<i64, #gpu>, %l: tensor<f64, #gpu>):
    %1 = weft.sgd_step (%a, %a, step %s, lr %l, momentum %l, dampening %l, decay %l) : tensor<50304x768xf32, #gpu>, tensor<50304x768xf32, #gpu>, tensor<i64, #gpu>, tensor<f64, #gpu>
    weft.yield %1 : tensor<50304x768xf32, #gpu>
  }
  weft.return %0, %2 : tensor<8193xf32, #gpu>, tensor<50304x768xf32, #gpu>
}

// Operands that lie across the columns come through shared memory, in tiles of 32 vectors a side, which are as wide as four
// bytes of the narrowest type. Dimensions that move together are one: the rows of the third are 56 x 56. Bytes of few rows
// are single ones, so that multiprocessors have a tile each.
// CHECK-LABEL: weft.func @transposed
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 2, tasks = 768, grain = 1, scratch = 8448>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 2, squares = 1, tasks = 392, grain = 1, scratch = 8448>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 4, tile_rows = 128, tile_columns = 128, tile_dim = 0, squares = 1, tasks = 256, grain = 1, scratch = 16896>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 1, tasks = 64, grain = 1, scratch = 1056>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 32, tile_columns = 32, tile_dim = 1, squares = 1, tasks = 6, grain = 1, scratch = 8448>
weft.func @transposed(%x: tensor<768x1000xf32, #gpu>, %y: tensor<768x1000xf32, #gpu>, %c: tensor<8x64x56x56xf16, #gpu>, %b: tensor<2048x2048xi8, #gpu>, %s: tensor<256x256xi8, #gpu>, %d: tensor<3x20x40xf64, #gpu>) -> (tensor<1000x768xf32, #gpu>, tensor<8x56x56x64xf16, #gpu>, tensor<2048x2048xi8, #gpu>, tensor<256x256xi8, #gpu>, tensor<3x40x20xf64, #gpu>) {
  %0 = weft.fusion loop (%x, %y) : (tensor<768x1000xf32, #gpu>, tensor<768x1000xf32, #gpu>) -> tensor<1000x768xf32, #gpu> {
  ^bb0(%a: tensor<768x1000xf32, #gpu>, %e: tensor<768x1000xf32, #gpu>):
    %1 = weft.mul %a, %e : tensor<768x1000xf32, #gpu>
    %2 = weft.transpose %1, perm = [1, 0] : tensor<768x1000xf32, #gpu>
    weft.yield %2 : tensor<1000x768xf32, #gpu>
  }
  %3 = weft.fusion loop (%c) : (tensor<8x64x56x56xf16, #gpu>) -> tensor<8x56x56x64xf16, #gpu> {
  ^bb0(%a: tensor<8x64x56x56xf16, #gpu>):
    %1 = weft.transpose %a, perm = [0, 2, 3, 1] : tensor<8x64x56x56xf16, #gpu>
    weft.yield %1 : tensor<8x56x56x64xf16, #gpu>
  }
  %4 = weft.fusion loop (%b) : (tensor<2048x2048xi8, #gpu>) -> tensor<2048x2048xi8, #gpu> {
  ^bb0(%a: tensor<2048x2048xi8, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<2048x2048xi8, #gpu>
    weft.yield %1 : tensor<2048x2048xi8, #gpu>
  }
  %5 = weft.fusion loop (%s) : (tensor<256x256xi8, #gpu>) -> tensor<256x256xi8, #gpu> {
  ^bb0(%a: tensor<256x256xi8, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<256x256xi8, #gpu>
    weft.yield %1 : tensor<256x256xi8, #gpu>
  }
  %6 = weft.fusion loop (%d) : (tensor<3x20x40xf64, #gpu>) -> tensor<3x40x20xf64, #gpu> {
  ^bb0(%a: tensor<3x20x40xf64, #gpu>):
    %1 = weft.transpose %a, perm = [0, 2, 1] : tensor<3x20x40xf64, #gpu>
    weft.yield %1 : tensor<3x40x20xf64, #gpu>
  }
  weft.return %0, %3, %4, %5, %6 : tensor<1000x768xf32, #gpu>, tensor<8x56x56x64xf16, #gpu>, tensor<2048x2048xi8, #gpu>, tensor<256x256xi8, #gpu>, tensor<3x40x20xf64, #gpu>
}

// Sizes of the call: an upper bound of the tiles. Of two operands that lie along different dimensions, one is transposed.
// CHECK-LABEL: weft.func @transposed_by_call
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 1, tasks = ceildiv(4 * n + 124, 32), grain = 1, scratch = 4224>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 32, tile_columns = 32, tile_dim = 0, squares = 1, tasks = 160, grain = 1, scratch = 4224>
weft.func @transposed_by_call(%x: tensor<?x100xf32, #n>, %y: tensor<40x40x60xf32, #gpu>, %z: tensor<40x60x40xf32, #gpu>) -> (tensor<100x?xf32, #n>, tensor<40x40x60xf32, #gpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 100000>]} {
  %0 = weft.fusion loop (%x) : (tensor<?x100xf32, #n>) -> tensor<100x?xf32, #n> {
  ^bb0(%a: tensor<?x100xf32, #n>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<?x100xf32, #n>
    weft.yield %1 : tensor<100x?xf32, #n>
  }
  %2 = weft.fusion loop (%y, %z) : (tensor<40x40x60xf32, #gpu>, tensor<40x60x40xf32, #gpu>) -> tensor<40x40x60xf32, #gpu> {
  ^bb0(%a: tensor<40x40x60xf32, #gpu>, %b: tensor<40x60x40xf32, #gpu>):
    %1 = weft.transpose %b, perm = [0, 2, 1] : tensor<40x60x40xf32, #gpu>
    %3 = weft.transpose %b, perm = [2, 0, 1] : tensor<40x60x40xf32, #gpu>
    %4 = weft.sub %3, %1 : tensor<40x40x60xf32, #gpu>
    weft.yield %4 : tensor<40x40x60xf32, #gpu>
  }
  weft.return %0, %2 : tensor<100x?xf32, #n>, tensor<40x40x60xf32, #gpu>
}

// Planes stay better for few rows or columns; and for joins and windows, which tiles of two dimensions have not.
// CHECK-LABEL: weft.func @untransposed
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 1, tile_columns = 256, tile_dim = 0, tasks = 180, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 1, tile_rows = 17, tile_columns = 15, tile_dim = 0, tasks = 59, grain = 1, scratch = 0>
// CHECK: schedule = #weft.schedule<loop, threads = 160, vector = 1, tile_rows = 2, tile_columns = 80, tile_dim = 0, tasks = 50, grain = 1, scratch = 0>
weft.func @untransposed(%x: tensor<3000x15xf32, #gpu>, %y: tensor<15x1000xf32, #gpu>, %z: tensor<40x100xf32, #gpu>, %w: tensor<100x40xf32, #gpu>) -> (tensor<15x3000xf32, #gpu>, tensor<1000x15xf32, #gpu>, tensor<100x80xf32, #gpu>) {
  %0 = weft.fusion loop (%x) : (tensor<3000x15xf32, #gpu>) -> tensor<15x3000xf32, #gpu> {
  ^bb0(%a: tensor<3000x15xf32, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<3000x15xf32, #gpu>
    weft.yield %1 : tensor<15x3000xf32, #gpu>
  }
  %2 = weft.fusion loop (%y) : (tensor<15x1000xf32, #gpu>) -> tensor<1000x15xf32, #gpu> {
  ^bb0(%a: tensor<15x1000xf32, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<15x1000xf32, #gpu>
    weft.yield %1 : tensor<1000x15xf32, #gpu>
  }
  %3 = weft.fusion loop (%z, %w) : (tensor<40x100xf32, #gpu>, tensor<100x40xf32, #gpu>) -> tensor<100x80xf32, #gpu> {
  ^bb0(%a: tensor<40x100xf32, #gpu>, %b: tensor<100x40xf32, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<40x100xf32, #gpu>
    %4 = weft.concat(%1, %b), dim = 1 : tensor<100x40xf32, #gpu>, tensor<100x40xf32, #gpu>
    weft.yield %4 : tensor<100x80xf32, #gpu>
  }
  weft.return %0, %2, %3 : tensor<15x3000xf32, #gpu>, tensor<1000x15xf32, #gpu>, tensor<100x80xf32, #gpu>
}

// The tile of an operand has the room of the widest one: with vectors of four it would be more than a block may declare.
// CHECK-LABEL: weft.func @transposed_beside_wide
// CHECK: schedule = #weft.schedule<loop, threads = 256, vector = 2, tile_rows = 64, tile_columns = 64, tile_dim = 0, squares = 1, tasks = 4096, grain = 1, scratch = 16896>
weft.func @transposed_beside_wide(%x: tensor<4096x4096xi8, #gpu>, %y: tensor<4096x4096xf32, #gpu>) -> tensor<4096x4096xf32, #gpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<4096x4096xi8, #gpu>, tensor<4096x4096xf32, #gpu>) -> tensor<4096x4096xf32, #gpu> {
  ^bb0(%a: tensor<4096x4096xi8, #gpu>, %b: tensor<4096x4096xf32, #gpu>):
    %1 = weft.transpose %a, perm = [1, 0] : tensor<4096x4096xi8, #gpu>
    %2 = weft.convert %1 to f32 : tensor<4096x4096xi8, #gpu>
    %3 = weft.mul %2, %b : tensor<4096x4096xf32, #gpu>
    weft.yield %3 : tensor<4096x4096xf32, #gpu>
  }
  weft.return %0 : tensor<4096x4096xf32, #gpu>
}
