// RUN: weft-opt %s --weft-canonicalize-contractions | FileCheck %s
// RUN: weft-opt %s --weft-canonicalize-contractions --weft-canonicalize-contractions | FileCheck %s

#cpu = #weft.device<cpu>

// Each way in which a matrix may be transposed, and dimensions that lie side by side, are read in place.
// CHECK-LABEL: weft.func @in_place(
// CHECK-NOT:     weft.transpose
// CHECK:         weft.return
weft.func @in_place(%a: tensor<5x3xf32, #cpu>, %b: tensor<4x3xf32, #cpu>, %c: tensor<2x6x5x3xf32, #cpu>)
    -> (tensor<5x4xf32, #cpu>, tensor<3x3xf32, #cpu>, tensor<2x6x5x4xf32, #cpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [1] : tensor<5x3xf32, #cpu>, tensor<4x3xf32, #cpu>
  %1 = weft.dot_general %a, %a, contract = [0] x [0] : tensor<5x3xf32, #cpu>, tensor<5x3xf32, #cpu>
  %2 = weft.dot_general %c, %b, contract = [3] x [1] : tensor<2x6x5x3xf32, #cpu>, tensor<4x3xf32, #cpu>
  weft.return %0, %1, %2 : tensor<5x4xf32, #cpu>, tensor<3x3xf32, #cpu>, tensor<2x6x5x4xf32, #cpu>
}

// The heads of attention lie between the rows of their matrices, so that the two batch dimensions are not one: both
// operands are copied, rows staying whole.
// CHECK-LABEL: weft.func @heads(
// CHECK-SAME:    %[[Q:[a-z0-9]+]]: tensor<2x5x3x8xf32, #cpu>, %[[K:[a-z0-9]+]]: tensor<2x7x3x8xf32, #cpu>)
// CHECK-NEXT:    %[[QT:.*]] = weft.transpose %[[Q]], perm = [0, 2, 1, 3]
// CHECK-NEXT:    %[[KT:.*]] = weft.transpose %[[K]], perm = [0, 2, 1, 3]
// CHECK-NEXT:    weft.dot_general %[[QT]], %[[KT]], batch = [0, 1] x [0, 1], contract = [3] x [3]
weft.func @heads(%q: tensor<2x5x3x8xf32, #cpu>, %k: tensor<2x7x3x8xf32, #cpu>) -> tensor<2x3x5x7xf32, #cpu> {
  %0 = weft.dot_general %q, %k, batch = [0, 2] x [0, 2], contract = [3] x [3] : tensor<2x5x3x8xf32, #cpu>, tensor<2x7x3x8xf32, #cpu>
  weft.return %0 : tensor<2x3x5x7xf32, #cpu>
}

// Products that are added become ops of their own where their operands have to be copied.
// CHECK-LABEL: weft.func @sum(
// CHECK-COUNT-2: weft.transpose
// CHECK:         %[[A:.*]] = weft.dot_general
// CHECK:         %[[R:.*]] = weft.add %arg2, %[[A]]
// CHECK-COUNT-2: weft.transpose
// CHECK:         %[[B:.*]] = weft.dot_general
// CHECK:         weft.add %[[R]], %[[B]]
weft.func @sum(%q: tensor<2x5x3x8xf32, #cpu>, %k: tensor<2x7x3x8xf32, #cpu>, %r: tensor<2x3x5x7xf32, #cpu>) -> tensor<2x3x5x7xf32, #cpu> {
  %0 = weft.dot_general %q, %k, residual %r, plus (%q, %k), batch = [0, 2] x [0, 2], contract = [3] x [3] : tensor<2x5x3x8xf32, #cpu>, tensor<2x7x3x8xf32, #cpu>, tensor<2x3x5x7xf32, #cpu>, tensor<2x5x3x8xf32, #cpu>, tensor<2x7x3x8xf32, #cpu>
  weft.return %0 : tensor<2x3x5x7xf32, #cpu>
}

// With one batch the heads alone are the batch dimension, and nothing is copied.
// CHECK-LABEL: weft.func @one_batch(
// CHECK-NEXT:    weft.dot_general %{{.*}}, %{{.*}}, batch = [0, 2] x [0, 2], contract = [3] x [3]
weft.func @one_batch(%q: tensor<1x5x3x8xf32, #cpu>, %k: tensor<1x7x3x8xf32, #cpu>) -> tensor<1x3x5x7xf32, #cpu> {
  %0 = weft.dot_general %q, %k, batch = [0, 2] x [0, 2], contract = [3] x [3] : tensor<1x5x3x8xf32, #cpu>, tensor<1x7x3x8xf32, #cpu>
  weft.return %0 : tensor<1x3x5x7xf32, #cpu>
}

// Contracted pairs named in another order than they lie in are put in order, and nothing is copied.
// CHECK-LABEL: weft.func @order(
// CHECK-NEXT:    weft.dot_general %{{.*}}, %{{.*}}, contract = [1, 2] x [1, 2]
weft.func @order(%a: tensor<5x2x3xf32, #cpu>, %b: tensor<4x2x3xf32, #cpu>) -> tensor<5x4xf32, #cpu> {
  %0 = weft.dot_general %a, %b, contract = [2, 1] x [2, 1] : tensor<5x2x3xf32, #cpu>, tensor<4x2x3xf32, #cpu>
  weft.return %0 : tensor<5x4xf32, #cpu>
}

// A contracted dimension between free ones: the innermost dimension stays innermost.
// CHECK-LABEL: weft.func @between(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<5x3x6xf32, #cpu>
// CHECK-NEXT:    %[[T:.*]] = weft.transpose %[[A]], perm = [1, 0, 2]
// CHECK-NEXT:    weft.dot_general %[[T]], %{{.*}}, contract = [0] x [0]
weft.func @between(%a: tensor<5x3x6xf32, #cpu>, %b: tensor<3x4xf32, #cpu>) -> tensor<5x6x4xf32, #cpu> {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<5x3x6xf32, #cpu>, tensor<3x4xf32, #cpu>
  weft.return %0 : tensor<5x6x4xf32, #cpu>
}

// A bias that is not one of the columns is added after the product, and relu comes after it.
// CHECK-LABEL: weft.func @bias_of_rows(
// CHECK-SAME:    %[[C:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK:         %[[P:.*]] = weft.dot_general %{{.*}}, %{{.*}}, contract = [1] x [0]
// CHECK:         %[[B:.*]] = weft.broadcast_in_dim %[[C]], dims = [0]
// CHECK:         %[[S:.*]] = weft.add %[[P]], %[[B]]
// CHECK:         weft.max %[[S]], %{{.*}}
weft.func @bias_of_rows(%x: tensor<4x6xf32, #cpu>, %v: tensor<6xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.dot_general %x, %v, bias %c, relu, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}
