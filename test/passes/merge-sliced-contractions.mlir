// RUN: weft-opt %s --split-input-file --weft-merge-sliced-contractions=report | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-merge-sliced-contractions --weft-merge-sliced-contractions | FileCheck %s --check-prefix=TWICE
// TWICE: weft.dot_general %{{.*}}, %{{.*}}, contract = [2] x [1] : tensor<6x4x5xf32

#cpu = #weft.device<cpu>

// The steps of a sequence, in any order, are one product; each takes its slice of the result.
// CHECK-LABEL: weft.func @steps
// CHECK-SAME:  (%[[X:[a-z0-9]+]]: tensor<6x4x5xf32, #cpu>, %[[W:[a-z0-9]+]]: tensor<7x5xf32, #cpu>)
// CHECK-SAME:  "4 products of slices of one value are one product"
// CHECK:         %[[ALL:.*]] = weft.dot_general %[[X]], %[[W]], contract = [2] x [1] : tensor<6x4x5xf32, #cpu>, tensor<7x5xf32, #cpu>
// CHECK:         %[[S1:.*]] = weft.slice %[[ALL]], start = [0, 1, 0], limit = [6, 2, 7], step = [1, 1, 1]
// CHECK:         %[[P1:.*]] = weft.reshape %[[S1]] : tensor<6x1x7xf32, #cpu> -> tensor<6x7xf32, #cpu>
// CHECK:         %[[S0:.*]] = weft.slice %[[ALL]], start = [0, 0, 0], limit = [6, 1, 7], step = [1, 1, 1]
// CHECK:         %[[P0:.*]] = weft.reshape %[[S0]]
// CHECK-NOT:     weft.dot_general
// CHECK:         weft.return %[[P0]], %[[P1]]
weft.func @steps(%x: tensor<6x4x5xf32, #cpu>, %w: tensor<7x5xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [6, 1, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r0 = weft.reshape %s0 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 1, 0], limit = [6, 2, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r1 = weft.reshape %s1 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 2, 0], limit = [6, 3, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r2 = weft.reshape %s2 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 3, 0], limit = [6, 4, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r3 = weft.reshape %s3 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %1 = weft.dot_general %r1, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %0 = weft.dot_general %r0, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %2 = weft.dot_general %r2, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %3 = weft.dot_general %r3, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A bias that every step adds is added to the whole.
// CHECK-LABEL: weft.func @bias
// CHECK:         %[[ALL:.*]] = weft.dot_general %arg0, %arg1, contract = [2] x [1] : tensor<6x4x5xf32, #cpu>, tensor<7x5xf32, #cpu>
// CHECK:         %[[B:.*]] = weft.broadcast_in_dim %arg2, dims = [2] : tensor<7xf32, #cpu> -> tensor<6x4x7xf32, #cpu>
// CHECK:         %[[SUM:.*]] = weft.add %[[ALL]], %[[B]] : tensor<6x4x7xf32, #cpu>
// CHECK:         weft.slice %[[SUM]], start = [0, 0, 0], limit = [6, 1, 7], step = [1, 1, 1]
// CHECK:         weft.slice %[[SUM]], start = [0, 3, 0], limit = [6, 4, 7], step = [1, 1, 1]
// CHECK-NOT:     weft.add
weft.func @bias(%x: tensor<6x4x5xf32, #cpu>, %w: tensor<7x5xf32, #cpu>, %b: tensor<7xf32, #cpu>, %d: tensor<7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %v = weft.broadcast_in_dim %b, dims = [1] : tensor<7xf32, #cpu> -> tensor<6x7xf32, #cpu>
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [6, 1, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r0 = weft.reshape %s0 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %0 = weft.dot_general %r0, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %1 = weft.add %0, %v : tensor<6x7xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 1, 0], limit = [6, 2, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r1 = weft.reshape %s1 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %2 = weft.dot_general %r1, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %3 = weft.add %v, %2 : tensor<6x7xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 2, 0], limit = [6, 3, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r2 = weft.reshape %s2 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %4 = weft.dot_general %r2, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %5 = weft.add %4, %v : tensor<6x7xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 3, 0], limit = [6, 4, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r3 = weft.reshape %s3 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %6 = weft.dot_general %r3, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %7 = weft.add %v, %6 : tensor<6x7xf32, #cpu>
  weft.return %1, %3, %5, %7 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Steps with other biases add them to their slices.
// CHECK-LABEL: weft.func @biases
// CHECK:         %[[ALL:.*]] = weft.dot_general
// CHECK-NOT:     weft.add %[[ALL]]
// CHECK-COUNT-4: weft.add {{.*}} : tensor<6x7xf32, #cpu>
weft.func @biases(%x: tensor<6x4x5xf32, #cpu>, %w: tensor<7x5xf32, #cpu>, %b: tensor<7xf32, #cpu>, %d: tensor<7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %v = weft.broadcast_in_dim %b, dims = [1] : tensor<7xf32, #cpu> -> tensor<6x7xf32, #cpu>
  %u = weft.broadcast_in_dim %d, dims = [1] : tensor<7xf32, #cpu> -> tensor<6x7xf32, #cpu>
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [6, 1, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r0 = weft.reshape %s0 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %0 = weft.dot_general %r0, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %1 = weft.add %0, %v : tensor<6x7xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 1, 0], limit = [6, 2, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r1 = weft.reshape %s1 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %2 = weft.dot_general %r1, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %3 = weft.add %v, %2 : tensor<6x7xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 2, 0], limit = [6, 3, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r2 = weft.reshape %s2 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %4 = weft.dot_general %r2, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %5 = weft.add %4, %u : tensor<6x7xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 3, 0], limit = [6, 4, 5], step = [1, 1, 1] : tensor<6x4x5xf32, #cpu>
  %r3 = weft.reshape %s3 : tensor<6x1x5xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %6 = weft.dot_general %r3, %w, contract = [1] x [1] : tensor<6x5xf32, #cpu>, tensor<7x5xf32, #cpu>
  %7 = weft.add %v, %6 : tensor<6x7xf32, #cpu>
  weft.return %1, %3, %5, %7 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Slices of several rows, of different sizes, with the dimension kept.
// CHECK-LABEL: weft.func @rows
// CHECK:         %[[ALL:.*]] = weft.dot_general %arg0, %arg1, contract = [1] x [0] : tensor<26x5xf32, #cpu>, tensor<5x7xf32, #cpu>
// CHECK:         weft.slice %[[ALL]], start = [0, 0], limit = [5, 7], step = [1, 1]
// CHECK:         weft.slice %[[ALL]], start = [19, 0], limit = [26, 7], step = [1, 1]
// CHECK-NOT:     weft.dot_general
weft.func @rows(%x: tensor<26x5xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<5x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<8x7xf32, #cpu>, tensor<7x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [5, 5], step = [1, 1] : tensor<26x5xf32, #cpu>
  %s1 = weft.slice %x, start = [5, 0], limit = [11, 5], step = [1, 1] : tensor<26x5xf32, #cpu>
  %s2 = weft.slice %x, start = [11, 0], limit = [19, 5], step = [1, 1] : tensor<26x5xf32, #cpu>
  %s3 = weft.slice %x, start = [19, 0], limit = [26, 5], step = [1, 1] : tensor<26x5xf32, #cpu>
  %0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<5x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<8x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<7x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<5x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<8x7xf32, #cpu>, tensor<7x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A row is left out.
// CHECK-LABEL: weft.func @gap
// CHECK-SAME:  code = "WEFT-F011"
// CHECK-SAME:  "4 products of slices of one value remain separate: a part of the value is in no slice"
// CHECK-COUNT-4: weft.dot_general
weft.func @gap(%x: tensor<25x5xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [6, 5], step = [1, 1] : tensor<25x5xf32, #cpu>
  %s1 = weft.slice %x, start = [6, 0], limit = [12, 5], step = [1, 1] : tensor<25x5xf32, #cpu>
  %s2 = weft.slice %x, start = [12, 0], limit = [18, 5], step = [1, 1] : tensor<25x5xf32, #cpu>
  %s3 = weft.slice %x, start = [19, 0], limit = [25, 5], step = [1, 1] : tensor<25x5xf32, #cpu>
  %0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @overlap
// CHECK-SAME:  remain separate: the slices overlap
// CHECK-COUNT-4: weft.dot_general
weft.func @overlap(%x: tensor<23x5xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [6, 5], step = [1, 1] : tensor<23x5xf32, #cpu>
  %s1 = weft.slice %x, start = [5, 0], limit = [11, 5], step = [1, 1] : tensor<23x5xf32, #cpu>
  %s2 = weft.slice %x, start = [11, 0], limit = [17, 5], step = [1, 1] : tensor<23x5xf32, #cpu>
  %s3 = weft.slice %x, start = [17, 0], limit = [23, 5], step = [1, 1] : tensor<23x5xf32, #cpu>
  %0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The sums of four rows are in an order of their own.
// CHECK-LABEL: weft.func @few_rows
// CHECK-SAME:  the merged product may add in another order
// CHECK-COUNT-4: weft.dot_general
weft.func @few_rows(%x: tensor<16x5xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [4, 5], step = [1, 1] : tensor<16x5xf32, #cpu>
  %s1 = weft.slice %x, start = [4, 0], limit = [8, 5], step = [1, 1] : tensor<16x5xf32, #cpu>
  %s2 = weft.slice %x, start = [8, 0], limit = [12, 5], step = [1, 1] : tensor<16x5xf32, #cpu>
  %s3 = weft.slice %x, start = [12, 0], limit = [16, 5], step = [1, 1] : tensor<16x5xf32, #cpu>
  %0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Slices along the dimension that is contracted are other products; they are no slices of rows at all.
// CHECK-LABEL: weft.func @contracted
// CHECK-NOT:   WEFT-F011
// CHECK-COUNT-4: weft.dot_general
weft.func @contracted(%x: tensor<6x20xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [6, 5], step = [1, 1] : tensor<6x20xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 5], limit = [6, 10], step = [1, 1] : tensor<6x20xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 10], limit = [6, 15], step = [1, 1] : tensor<6x20xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 15], limit = [6, 20], step = [1, 1] : tensor<6x20xf32, #cpu>
  %0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The rows of a whole that lies otherwise would have two strides.
// CHECK-LABEL: weft.func @transposed
// CHECK-SAME:  the value would have to be transposed first
// CHECK-COUNT-4: weft.dot_general
weft.func @transposed(%x: tensor<6x5x4xf32, #cpu>, %w: tensor<5x7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [6, 5, 1], step = [1, 1, 1] : tensor<6x5x4xf32, #cpu>
  %r0 = weft.reshape %s0 : tensor<6x5x1xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s1 = weft.slice %x, start = [0, 0, 1], limit = [6, 5, 2], step = [1, 1, 1] : tensor<6x5x4xf32, #cpu>
  %r1 = weft.reshape %s1 : tensor<6x5x1xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s2 = weft.slice %x, start = [0, 0, 2], limit = [6, 5, 3], step = [1, 1, 1] : tensor<6x5x4xf32, #cpu>
  %r2 = weft.reshape %s2 : tensor<6x5x1xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %s3 = weft.slice %x, start = [0, 0, 3], limit = [6, 5, 4], step = [1, 1, 1] : tensor<6x5x4xf32, #cpu>
  %r3 = weft.reshape %s3 : tensor<6x5x1xf32, #cpu> -> tensor<6x5xf32, #cpu>
  %0 = weft.dot_general %r0, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %r1, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %r2, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %r3, %w, contract = [1] x [0] : tensor<6x5xf32, #cpu>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>, tensor<6x7xf32, #cpu>
}

// -----
#n = #weft.device<cpu, [n]>
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @dynamic
// CHECK-SAME:  sizes are not known, so it is not known which implementation multiplies
// CHECK-COUNT-4: weft.dot_general
weft.func @dynamic(%x: tensor<?x4x5xf32, #n>, %w: tensor<5x7xf32, #cpu>) -> (tensor<?x7xf32, #n>, tensor<?x7xf32, #n>, tensor<?x7xf32, #n>, tensor<?x7xf32, #n>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 256>]} {
  %s0 = weft.slice %x, start = [0, 0, 0], limit = [n, 1, 5], step = [1, 1, 1] : tensor<?x4x5xf32, #n>
  %r0 = weft.reshape %s0 : tensor<?x1x5xf32, #n> -> tensor<?x5xf32, #n>
  %s1 = weft.slice %x, start = [0, 1, 0], limit = [n, 2, 5], step = [1, 1, 1] : tensor<?x4x5xf32, #n>
  %r1 = weft.reshape %s1 : tensor<?x1x5xf32, #n> -> tensor<?x5xf32, #n>
  %s2 = weft.slice %x, start = [0, 2, 0], limit = [n, 3, 5], step = [1, 1, 1] : tensor<?x4x5xf32, #n>
  %r2 = weft.reshape %s2 : tensor<?x1x5xf32, #n> -> tensor<?x5xf32, #n>
  %s3 = weft.slice %x, start = [0, 3, 0], limit = [n, 4, 5], step = [1, 1, 1] : tensor<?x4x5xf32, #n>
  %r3 = weft.reshape %s3 : tensor<?x1x5xf32, #n> -> tensor<?x5xf32, #n>
  %0 = weft.dot_general %r0, %w, contract = [1] x [0] : tensor<?x5xf32, #n>, tensor<5x7xf32, #cpu>
  %1 = weft.dot_general %r1, %w, contract = [1] x [0] : tensor<?x5xf32, #n>, tensor<5x7xf32, #cpu>
  %2 = weft.dot_general %r2, %w, contract = [1] x [0] : tensor<?x5xf32, #n>, tensor<5x7xf32, #cpu>
  %3 = weft.dot_general %r3, %w, contract = [1] x [0] : tensor<?x5xf32, #n>, tensor<5x7xf32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<?x7xf32, #n>, tensor<?x7xf32, #n>, tensor<?x7xf32, #n>, tensor<?x7xf32, #n>
}

// -----

#cpu = #weft.device<cpu>

// What is sliced may itself be a product that has become a slice.
// CHECK-LABEL: weft.func @two_layers
// CHECK-SAME:  "4 products of slices of one value are one product"
// CHECK-SAME:  "4 products of slices of one value are one product"
// CHECK:         %[[ALL:.*]] = weft.dot_general %{{.*}} : tensor<96x16xf32, #cpu>, tensor<16x20xf32, #cpu>
// CHECK:         %[[P0:.*]] = weft.slice %[[ALL]], start = [0, 0], limit = [24, 20]
// CHECK:         weft.dot_general %[[P0]], %{{.*}} : tensor<24x20xf32, #cpu>, tensor<20x8xf32, #cpu>
// CHECK-NOT:     weft.dot_general
// CHECK:         weft.return
weft.func @two_layers(%x: tensor<96x16xf32, #cpu>, %w: tensor<16x20xf32, #cpu>, %v: tensor<20x8xf32, #cpu>) -> (tensor<24x20xf32, #cpu>, tensor<24x20xf32, #cpu>, tensor<24x20xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [24, 16], step = [1, 1] : tensor<96x16xf32, #cpu>
  %p0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<24x16xf32, #cpu>, tensor<16x20xf32, #cpu>
  %s1 = weft.slice %x, start = [24, 0], limit = [48, 16], step = [1, 1] : tensor<96x16xf32, #cpu>
  %p1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<24x16xf32, #cpu>, tensor<16x20xf32, #cpu>
  %s2 = weft.slice %x, start = [48, 0], limit = [72, 16], step = [1, 1] : tensor<96x16xf32, #cpu>
  %p2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<24x16xf32, #cpu>, tensor<16x20xf32, #cpu>
  %s3 = weft.slice %x, start = [72, 0], limit = [96, 16], step = [1, 1] : tensor<96x16xf32, #cpu>
  %p3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<24x16xf32, #cpu>, tensor<16x20xf32, #cpu>
  %t0 = weft.slice %p0, start = [0, 0], limit = [6, 20], step = [1, 1] : tensor<24x20xf32, #cpu>
  %q0 = weft.dot_general %t0, %v, contract = [1] x [0] : tensor<6x20xf32, #cpu>, tensor<20x8xf32, #cpu>
  %t1 = weft.slice %p0, start = [6, 0], limit = [12, 20], step = [1, 1] : tensor<24x20xf32, #cpu>
  %q1 = weft.dot_general %t1, %v, contract = [1] x [0] : tensor<6x20xf32, #cpu>, tensor<20x8xf32, #cpu>
  %t2 = weft.slice %p0, start = [12, 0], limit = [18, 20], step = [1, 1] : tensor<24x20xf32, #cpu>
  %q2 = weft.dot_general %t2, %v, contract = [1] x [0] : tensor<6x20xf32, #cpu>, tensor<20x8xf32, #cpu>
  %t3 = weft.slice %p0, start = [18, 0], limit = [24, 20], step = [1, 1] : tensor<24x20xf32, #cpu>
  %q3 = weft.dot_general %t3, %v, contract = [1] x [0] : tensor<6x20xf32, #cpu>, tensor<20x8xf32, #cpu>
  weft.return %p1, %p2, %p3, %q0, %q1, %q2, %q3 : tensor<24x20xf32, #cpu>, tensor<24x20xf32, #cpu>, tensor<24x20xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>, tensor<6x8xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// Few rows at the end may add in another order than many.
// CHECK-LABEL: weft.func @few_rows_at_the_end
// CHECK-SAME:  with so few rows
// CHECK-COUNT-4: weft.dot_general
weft.func @few_rows_at_the_end(%x: tensor<26x256xf32, #cpu>, %w: tensor<256x512xf32, #cpu>) -> (tensor<8x512xf32, #cpu>, tensor<8x512xf32, #cpu>, tensor<8x512xf32, #cpu>, tensor<2x512xf32, #cpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [8, 256], step = [1, 1] : tensor<26x256xf32, #cpu>
  %p0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<8x256xf32, #cpu>, tensor<256x512xf32, #cpu>
  %s1 = weft.slice %x, start = [8, 0], limit = [16, 256], step = [1, 1] : tensor<26x256xf32, #cpu>
  %p1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<8x256xf32, #cpu>, tensor<256x512xf32, #cpu>
  %s2 = weft.slice %x, start = [16, 0], limit = [24, 256], step = [1, 1] : tensor<26x256xf32, #cpu>
  %p2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<8x256xf32, #cpu>, tensor<256x512xf32, #cpu>
  %s3 = weft.slice %x, start = [24, 0], limit = [26, 256], step = [1, 1] : tensor<26x256xf32, #cpu>
  %p3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<2x256xf32, #cpu>, tensor<256x512xf32, #cpu>
  weft.return %p0, %p1, %p2, %p3 : tensor<8x512xf32, #cpu>, tensor<8x512xf32, #cpu>, tensor<8x512xf32, #cpu>, tensor<2x512xf32, #cpu>
}

// -----

#gpu = #weft.device<cuda:0>

// CHECK-LABEL: weft.func @on_a_gpu
// CHECK-SAME:  the order of sums is known for CPUs only
// CHECK-COUNT-4: weft.dot_general
weft.func @on_a_gpu(%x: tensor<32x256xf32, #gpu>, %w: tensor<256x512xf32, #gpu>) -> (tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>) {
  %s0 = weft.slice %x, start = [0, 0], limit = [8, 256], step = [1, 1] : tensor<32x256xf32, #gpu>
  %p0 = weft.dot_general %s0, %w, contract = [1] x [0] : tensor<8x256xf32, #gpu>, tensor<256x512xf32, #gpu>
  %s1 = weft.slice %x, start = [8, 0], limit = [16, 256], step = [1, 1] : tensor<32x256xf32, #gpu>
  %p1 = weft.dot_general %s1, %w, contract = [1] x [0] : tensor<8x256xf32, #gpu>, tensor<256x512xf32, #gpu>
  %s2 = weft.slice %x, start = [16, 0], limit = [24, 256], step = [1, 1] : tensor<32x256xf32, #gpu>
  %p2 = weft.dot_general %s2, %w, contract = [1] x [0] : tensor<8x256xf32, #gpu>, tensor<256x512xf32, #gpu>
  %s3 = weft.slice %x, start = [24, 0], limit = [32, 256], step = [1, 1] : tensor<32x256xf32, #gpu>
  %p3 = weft.dot_general %s3, %w, contract = [1] x [0] : tensor<8x256xf32, #gpu>, tensor<256x512xf32, #gpu>
  weft.return %p0, %p1, %p2, %p3 : tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>, tensor<8x512xf32, #gpu>
}
