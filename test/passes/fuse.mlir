// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-fuse))' | FileCheck %s
// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-fuse,weft-fuse))' | FileCheck %s

#cpu = #weft.device<cpu>

// A chain with a broadcast and a splat is one loop; both are cloned into it.
// CHECK-LABEL: weft.func @chain
// CHECK:         %[[F:.*]] = weft.fusion loop (%arg0, %arg1)
// CHECK:           weft.exp
// CHECK:           weft.broadcast_in_dim
// CHECK:           weft.add
// CHECK:           weft.mul
// CHECK:         weft.return %[[F]]
weft.func @chain(%x: tensor<64x128xf32, #cpu>, %b: tensor<128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %c = weft.constant dense<2.0> : tensor<64x128xf32, #cpu>
  %0 = weft.exp %x : tensor<64x128xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<128xf32, #cpu> -> tensor<64x128xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<64x128xf32, #cpu>
  %3 = weft.mul %2, %c : tensor<64x128xf32, #cpu>
  weft.return %3 : tensor<64x128xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A value that is needed outside is one more result, and readers of one value are one kernel.
// CHECK-LABEL: weft.func @multi_output
// CHECK:         %[[F:.*]]:3 = weft.fusion loop (%arg0)
// CHECK:           %[[E:.*]] = weft.exp
// CHECK:           %[[N:.*]] = weft.neg %[[E]]
// CHECK:           %[[T:.*]] = weft.tanh %{{.*}}
// CHECK:           weft.yield %[[E]], %[[N]], %[[T]]
// CHECK-NOT:     weft.fusion
weft.func @multi_output(%x: tensor<64xf32, #cpu>) -> (tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>) {
  %0 = weft.exp %x : tensor<64xf32, #cpu>
  %1 = weft.neg %0 : tensor<64xf32, #cpu>
  %2 = weft.tanh %x : tensor<64xf32, #cpu>
  weft.return %0, %1, %2 : tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A softmax is one row kernel: two reductions that depend on each other, and broadcasts back.
// CHECK-LABEL: weft.func @softmax
// CHECK:         %[[F:.*]] = weft.fusion row (%arg0)
// CHECK:           %[[M:.*]] = weft.rmax %{{.*}}, dims = [1]
// CHECK:           weft.broadcast_in_dim %[[M]], dims = [0]
// CHECK:           %[[S:.*]] = weft.sum %{{.*}}, dims = [1]
// CHECK:           weft.broadcast_in_dim %[[S]], dims = [0]
// CHECK:           weft.div
// CHECK:         weft.return %[[F]]
weft.func @softmax(%x: tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<64x128xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x128xf32, #cpu>
  %2 = weft.sub %x, %1 : tensor<64x128xf32, #cpu>
  %3 = weft.exp %2 : tensor<64x128xf32, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<64x128xf32, #cpu>
  %5 = weft.broadcast_in_dim %4, dims = [0] : tensor<64xf32, #cpu> -> tensor<64x128xf32, #cpu>
  %6 = weft.div %3, %5 : tensor<64x128xf32, #cpu>
  weft.return %6 : tensor<64x128xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Statistics that keep the reduced dimension as a unit are the same values under another shape.
// CHECK-LABEL: weft.func @keepdim
// CHECK:         weft.fusion row (%arg0)
// CHECK:           %[[S:.*]] = weft.sum
// CHECK:           %[[D:.*]] = weft.mul %[[S]], %{{.*}} : tensor<6xf32, #cpu>
// CHECK:           weft.broadcast_in_dim %[[D]], dims = [0]
// CHECK-NOT:     weft.fusion
weft.func @keepdim(%x: tensor<6x8xf32, #cpu>) -> tensor<6x8xf32, #cpu> {
  %c = weft.constant dense<0.125> : tensor<6x1xf32, #cpu>
  %0 = weft.sum %x, dims = [1] : tensor<6x8xf32, #cpu>
  %1 = weft.reshape %0 : tensor<6xf32, #cpu> -> tensor<6x1xf32, #cpu>
  %2 = weft.mul %1, %c : tensor<6x1xf32, #cpu>
  %3 = weft.broadcast_in_dim %2, dims = [0, 1] : tensor<6x1xf32, #cpu> -> tensor<6x8xf32, #cpu>
  %4 = weft.sub %x, %3 : tensor<6x8xf32, #cpu>
  weft.return %4 : tensor<6x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The logit of each row's class is picked inside of the row.
// CHECK-LABEL: weft.func @pick
// CHECK:         %[[I:.*]] = weft.reshape %arg1
// CHECK:         weft.fusion row (%arg0, %[[I]])
// CHECK:           weft.gather
// CHECK-NOT:     weft.fusion
weft.func @pick(%x: tensor<6x8xf32, #cpu>, %i: tensor<6x1xi64, #cpu>) -> tensor<6xf32, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<6x8xf32, #cpu>
  %1 = weft.gather %x, %i, dim = 1, kind = along : tensor<6x8xf32, #cpu>, tensor<6x1xi64, #cpu>
  %2 = weft.reshape %1 : tensor<6x1xf32, #cpu> -> tensor<6xf32, #cpu>
  %3 = weft.sub %0, %2 : tensor<6xf32, #cpu>
  weft.return %3 : tensor<6xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What becomes of an index out of range stays as the gather says it.
// CHECK-LABEL: weft.func @pick_clipped
// CHECK:         weft.fusion row
// CHECK:           weft.gather {{.*}} kind = along mode = clip
weft.func @pick_clipped(%x: tensor<6x8xf32, #cpu>, %i: tensor<6x1xi64, #cpu>) -> tensor<6xf32, #cpu> {
  %0 = weft.rmax %x, dims = [1] : tensor<6x8xf32, #cpu>
  %1 = weft.gather %x, %i, dim = 1, kind = along mode = clip : tensor<6x8xf32, #cpu>, tensor<6x1xi64, #cpu>
  %2 = weft.reshape %1 : tensor<6x1xf32, #cpu> -> tensor<6xf32, #cpu>
  %3 = weft.sub %0, %2 : tensor<6xf32, #cpu>
  weft.return %3 : tensor<6xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The gradient through relu is stored for the contraction and summed for the bias by one column kernel.
// CHECK-LABEL: weft.func @column
// CHECK:         %[[F:.*]]:2 = weft.fusion column (%arg0, %arg1)
// CHECK:           %[[S:.*]] = weft.select
// CHECK:           %[[R:.*]] = weft.sum %[[S]], dims = [0]
// CHECK:           weft.yield %[[S]], %[[R]]
// CHECK:         weft.dot_general %[[F]]#0, %arg2
weft.func @column(%y: tensor<64x128xf32, #cpu>, %g: tensor<64x128xf32, #cpu>, %w: tensor<128x32xf32, #cpu>)
    -> (tensor<64x32xf32, #cpu>, tensor<128xf32, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<64x128xf32, #cpu>
  %m = weft.gt %y, %z : tensor<64x128xf32, #cpu>
  %s = weft.select %m, %g, %z : tensor<64x128xi1, #cpu>, tensor<64x128xf32, #cpu>
  %c = weft.sum %s, dims = [0] : tensor<64x128xf32, #cpu>
  %d = weft.dot_general %s, %w, contract = [1] x [0] : tensor<64x128xf32, #cpu>, tensor<128x32xf32, #cpu>
  weft.return %d, %c : tensor<64x32xf32, #cpu>, tensor<128xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What needs the sum of columns at every element is a second pass of their kernel.
// CHECK-LABEL: weft.func @column_back
// CHECK:         weft.fusion column (%arg0)
// CHECK-NOT:     weft.fusion
weft.func @column_back(%x: tensor<64x128xf32, #cpu>) -> tensor<64x128xf32, #cpu> {
  %0 = weft.sum %x, dims = [0] : tensor<64x128xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [1] : tensor<128xf32, #cpu> -> tensor<64x128xf32, #cpu>
  %2 = weft.sub %x, %1 : tensor<64x128xf32, #cpu>
  weft.return %2 : tensor<64x128xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A reduction over a dimension in the middle goes down columns.
// CHECK-LABEL: weft.func @middle
// CHECK:         weft.fusion column (%arg0)
// CHECK:           weft.sum %{{.*}}, dims = [1]
weft.func @middle(%x: tensor<6x5x7xf32, #cpu>) -> tensor<6x7xf32, #cpu> {
  %0 = weft.sum %x, dims = [1] : tensor<6x5x7xf32, #cpu>
  weft.return %0 : tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A row may lie in pieces of whole vectors: what reads the elements there is part of the kernel.
// CHECK-LABEL: weft.func @pieces(
// CHECK:         %[[F:.*]]:2 = weft.fusion row (%arg0)
// CHECK:           %[[S:.*]] = weft.sum %{{.*}}, dims = [0, 2, 3]
// CHECK:           weft.broadcast_in_dim %[[S]], dims = [1]
// CHECK-NOT:     weft.transpose
// CHECK:         weft.return %[[F]]#0, %[[F]]#1
weft.func @pieces(%x: tensor<6x5x4x8xf32, #cpu>) -> (tensor<5xf32, #cpu>, tensor<6x5x4x8xf32, #cpu>) {
  %0 = weft.sum %x, dims = [0, 2, 3] : tensor<6x5x4x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [1] : tensor<5xf32, #cpu> -> tensor<6x5x4x8xf32, #cpu>
  %2 = weft.div %x, %1 : tensor<6x5x4x8xf32, #cpu>
  weft.return %0, %2 : tensor<5xf32, #cpu>, tensor<6x5x4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Where nothing lies behind it, and where what is reduced does not lie together, it reads through a transposition.
// CHECK-LABEL: weft.func @transposed
// CHECK:         weft.fusion row (%arg0)
// CHECK:           %[[T:.*]] = weft.transpose %{{.*}}, perm = [0, 2, 3, 1]
// CHECK:           weft.sum %[[T]], dims = [3]
// CHECK:         weft.fusion row (%arg1)
// CHECK:           %[[U:.*]] = weft.transpose %{{.*}}, perm = [1, 0, 2]
// CHECK:           weft.sum %[[U]], dims = [1, 2]
weft.func @transposed(%x: tensor<6x5x1x1xf32, #cpu>, %y: tensor<6x5x7xf32, #cpu>) -> (tensor<6x1x1xf32, #cpu>, tensor<5xf32, #cpu>) {
  %0 = weft.sum %x, dims = [1] : tensor<6x5x1x1xf32, #cpu>
  %1 = weft.sum %y, dims = [0, 2] : tensor<6x5x7xf32, #cpu>
  weft.return %0, %1 : tensor<6x1x1xf32, #cpu>, tensor<5xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Softmax over a dimension in the middle is one kernel, its statistics spread over the rows that they are of.
// CHECK-LABEL: weft.func @softmax_middle
// CHECK:         weft.fusion column (%arg1, %arg0)
// CHECK:           %[[W:.*]] = weft.broadcast_in_dim %{{.*}}, dims = [1]
// CHECK:           %[[M:.*]] = weft.rmax %{{.*}}, dims = [1]
// CHECK:           weft.broadcast_in_dim %[[M]], dims = [0, 2]
// CHECK:           %[[S:.*]] = weft.sum %{{.*}}, dims = [1]
// CHECK:           %[[R:.*]] = weft.recip %[[S]] : tensor<6x64xf32, #cpu>
// CHECK:           weft.broadcast_in_dim %[[R]], dims = [0, 2]
// CHECK-NOT:     weft.fusion
weft.func @softmax_middle(%x: tensor<6x50x64xf32, #cpu>, %w: tensor<50xf32, #cpu>) -> tensor<6x50x64xf32, #cpu> {
  %v = weft.broadcast_in_dim %w, dims = [1] : tensor<50xf32, #cpu> -> tensor<6x50x64xf32, #cpu>
  %y = weft.mul %x, %v : tensor<6x50x64xf32, #cpu>
  %0 = weft.rmax %y, dims = [1] : tensor<6x50x64xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [0, 2] : tensor<6x64xf32, #cpu> -> tensor<6x50x64xf32, #cpu>
  %2 = weft.sub %y, %1 : tensor<6x50x64xf32, #cpu>
  %3 = weft.exp %2 : tensor<6x50x64xf32, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<6x50x64xf32, #cpu>
  %5 = weft.recip %4 : tensor<6x64xf32, #cpu>
  %6 = weft.broadcast_in_dim %5, dims = [0, 2] : tensor<6x64xf32, #cpu> -> tensor<6x50x64xf32, #cpu>
  %7 = weft.mul %3, %6 : tensor<6x50x64xf32, #cpu>
  weft.return %7 : tensor<6x50x64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Its gradient is one too, and so are a reduction with the sizes of ones left, and one of several dimensions.
// CHECK-LABEL: weft.func @gradient_middle
// CHECK:         weft.fusion column (%arg1, %arg0)
// CHECK-NOT:     weft.fusion
weft.func @gradient_middle(%y: tensor<6x5x10x8x8xf32, #cpu>, %g: tensor<6x5x10x8x8xf32, #cpu>) -> tensor<6x5x10x8x8xf32, #cpu> {
  %0 = weft.mul %g, %y : tensor<6x5x10x8x8xf32, #cpu>
  %1 = weft.sum %0, dims = [1, 2] : tensor<6x5x10x8x8xf32, #cpu>
  %2 = weft.reshape %1 : tensor<6x8x8xf32, #cpu> -> tensor<6x1x1x8x8xf32, #cpu>
  %3 = weft.broadcast_in_dim %2, dims = [0, 1, 2, 3, 4] : tensor<6x1x1x8x8xf32, #cpu> -> tensor<6x5x10x8x8xf32, #cpu>
  %4 = weft.sub %g, %3 : tensor<6x5x10x8x8xf32, #cpu>
  %5 = weft.mul %y, %4 : tensor<6x5x10x8x8xf32, #cpu>
  weft.return %5 : tensor<6x5x10x8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What is spread over other dimensions than those that were reduced is read by another kernel.
// CHECK-LABEL: weft.func @spread_elsewhere
// CHECK:         weft.fusion column (%arg0)
// CHECK:         weft.fusion loop
weft.func @spread_elsewhere(%x: tensor<6x6x64xf32, #cpu>) -> tensor<6x6x64xf32, #cpu> {
  %0 = weft.sum %x, dims = [1] : tensor<6x6x64xf32, #cpu>
  %1 = weft.broadcast_in_dim %0, dims = [1, 2] : tensor<6x64xf32, #cpu> -> tensor<6x6x64xf32, #cpu>
  %2 = weft.sub %x, %1 : tensor<6x6x64xf32, #cpu>
  weft.return %2 : tensor<6x6x64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Views are index maps; what is behind a transposition is computed inside of its reader, once an element.
// CHECK-LABEL: weft.func @views
// CHECK:         %[[F:.*]] = weft.fusion loop (%arg0, %arg1)
// CHECK:           weft.exp %{{.*}} : tensor<4x6xf32, #cpu>
// CHECK:           weft.transpose
// CHECK:           weft.slice
// CHECK:           weft.add %{{.*}} : tensor<6x2xf32, #cpu>
// CHECK-NOT:     weft.fusion
weft.func @views(%x: tensor<4x6xf32, #cpu>, %y: tensor<6x2xf32, #cpu>) -> tensor<6x2xf32, #cpu> {
  %0 = weft.exp %x : tensor<4x6xf32, #cpu>
  %1 = weft.transpose %0, perm = [1, 0] : tensor<4x6xf32, #cpu>
  %2 = weft.slice %1, start = [0, 0], limit = [6, 4], step = [1, 2] : tensor<6x4xf32, #cpu>
  %3 = weft.add %2, %y : tensor<6x2xf32, #cpu>
  weft.return %3 : tensor<6x2xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A reshape costs nothing: it is a view of a stored value, or disappears inside of an elementwise kernel.
// CHECK-LABEL: weft.func @reshape
// CHECK:         %[[R:.*]] = weft.reshape %arg0
// CHECK:         %[[F:.*]] = weft.fusion loop (%[[R]])
// CHECK-NOT:       weft.reshape
// CHECK:           weft.yield
// CHECK:         weft.return %[[F]]
weft.func @reshape(%x: tensor<4x6xf32, #cpu>) -> tensor<24xf32, #cpu> {
  %0 = weft.exp %x : tensor<4x6xf32, #cpu>
  %1 = weft.reshape %0 : tensor<4x6xf32, #cpu> -> tensor<24xf32, #cpu>
  %2 = weft.neg %1 : tensor<24xf32, #cpu>
  weft.return %2 : tensor<24xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What only a contraction or the caller reads is stored by a kernel of its own: a splat, a transposition.
// CHECK-LABEL: weft.func @stored
// CHECK-DAG:     %[[C:.*]] = weft.fusion loop () :
// CHECK-DAG:     %[[T:.*]] = weft.fusion loop (%arg0)
// CHECK:         weft.return %[[C]], %[[T]]
weft.func @stored(%x: tensor<4x6xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<6x4xf32, #cpu>) {
  %0 = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  %1 = weft.transpose %x, perm = [1, 0] : tensor<4x6xf32, #cpu>
  weft.return %0, %1 : tensor<4xf32, #cpu>, tensor<6x4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The contraction lies between the two: one kernel for both would have to wait for itself.
// CHECK-LABEL: weft.func @cycle
// CHECK:         %[[E:.*]] = weft.fusion loop (%arg0)
// CHECK:         %[[D:.*]] = weft.dot_general %[[E]], %[[E]]
// CHECK:         weft.fusion loop (%{{.*}}, %{{.*}}) :
weft.func @cycle(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.exp %x : tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %0, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The counter after a draw is arithmetic on the counter before it.
// CHECK-LABEL: weft.func @draw
// CHECK-DAG:     %[[B:.*]] = weft.fusion loop (%arg0, %arg1)
// CHECK-DAG:     %[[N:.*]] = weft.fusion loop (%arg1)
// CHECK-DAG:     weft.constant dense<3> : tensor<i64, #cpu>
// CHECK:         weft.return %[[B]], %[[N]]
weft.func @draw(%k: tensor<i64, #cpu>, %c: tensor<i64, #cpu>) -> (tensor<10xi32, #cpu>, tensor<i64, #cpu>) {
  %b, %n = weft.rng_bits_philox %k, %c, shape = [10] : tensor<i64, #cpu>
  weft.return %b, %n : tensor<10xi32, #cpu>, tensor<i64, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Each reader widens for itself: the moments and what is computed from them afterwards both read f32.
// CHECK-LABEL: weft.func @widened
// CHECK:         %[[M:.*]] = weft.fusion column (%arg0) : (tensor<64x64xf32, #cpu>) -> tensor<64xf64, #cpu>
// CHECK:           weft.convert {{.*}} to f64
// CHECK:         weft.fusion loop (%arg0, %[[M]]) : (tensor<64x64xf32, #cpu>, tensor<64xf64, #cpu>) -> tensor<64x64xf32, #cpu>
// CHECK:           weft.convert {{.*}} to f64
weft.func @widened(%x: tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  %0 = weft.convert %x to f64 : tensor<64x64xf32, #cpu>
  %mean, %m2, %count = weft.welford %0, dims = [0] : tensor<64x64xf64, #cpu>
  %1 = weft.broadcast_in_dim %mean, dims = [0] : tensor<64xf64, #cpu> -> tensor<64x64xf64, #cpu>
  %2 = weft.sub %0, %1 : tensor<64x64xf64, #cpu>
  %3 = weft.convert %2 to f32 : tensor<64x64xf64, #cpu>
  weft.return %3 : tensor<64x64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The sums of the pieces of many rows, as `weft-split-reductions` leaves them, are in one kernel with what they are sums of,
// and with its result: under another shape an elementwise op is the same op.
// CHECK-LABEL: weft.func @pieces_of_columns
// CHECK:         %[[K:.*]]:2 = weft.fusion column (%{{.*}}, %{{.*}}) : (tensor<1024xf32, #cpu>, tensor<16x512x1024xf32, #cpu>) -> (tensor<16x512x1024xf32, #cpu>, tensor<16x1024xf32, #cpu>)
// CHECK:           weft.add
// CHECK:           weft.exp
// CHECK:           weft.sum %{{.*}}, dims = [1]
// CHECK:         %[[S:.*]] = weft.fusion column (%[[K]]#1)
// CHECK:           weft.sum %{{.*}}, dims = [0]
// CHECK:         %[[R:.*]] = weft.reshape %[[K]]#0
// CHECK:         weft.return %[[R]], %[[S]]
weft.func @pieces_of_columns(%x: tensor<8192x1024xf32, #cpu>, %b: tensor<1024xf32, #cpu>) -> (tensor<8192x1024xf32, #cpu>, tensor<1024xf32, #cpu>) {
  %0 = weft.broadcast_in_dim %b, dims = [1] : tensor<1024xf32, #cpu> -> tensor<8192x1024xf32, #cpu>
  %1 = weft.add %x, %0 : tensor<8192x1024xf32, #cpu>
  %2 = weft.exp %1 : tensor<8192x1024xf32, #cpu>
  %3 = weft.reshape %2 : tensor<8192x1024xf32, #cpu> -> tensor<16x512x1024xf32, #cpu>
  %4 = weft.sum %3, dims = [1] : tensor<16x512x1024xf32, #cpu>
  %5 = weft.sum %4, dims = [0] : tensor<16x1024xf32, #cpu>
  weft.return %2, %5 : tensor<8192x1024xf32, #cpu>, tensor<1024xf32, #cpu>
}
