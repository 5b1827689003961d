// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-attach-epilogues{report=true}))' | FileCheck %s
// RUN: sed 's/weft.device<cpu>/weft.device<cuda:0>/' %s > %t.cuda
// RUN: weft-opt %t.cuda --split-input-file --weft-attach-epilogues=target=sm_90 | FileCheck %s --check-prefix=CUDA
// RUN: not weft-opt %s --split-input-file --weft-attach-epilogues=target=abacus 2>&1 | FileCheck %s --check-prefix=TARGET

// The table of another device has no residual. A target without a description is none.
// CUDA-NOT: residual %
// TARGET: unknown target 'abacus', expected one of cpu

#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @bias_relu
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, bias %arg2, relu, contract = [1] x [0]
// CHECK:         weft.return %[[D]]
weft.func @bias_relu(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %1, %0 : tensor<4x8xf32, #cpu>
  %3 = weft.max %2, %z : tensor<4x8xf32, #cpu>
  weft.return %3 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A comparison of the value before relu with zero is that of the result.
// CHECK-LABEL: weft.func @mask
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, relu, contract
// CHECK:         weft.gt %[[D]], %{{.*}}
weft.func @mask(%x: tensor<4x6xf64, #cpu>, %w: tensor<6x8xf64, #cpu>) -> (tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4x8xf64, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf64, #cpu>, tensor<6x8xf64, #cpu>
  %1 = weft.gt %0, %z : tensor<4x8xf64, #cpu>
  %2 = weft.max %0, %z : tensor<4x8xf64, #cpu>
  weft.return %2, %1 : tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What depends on comparisons before relu is behind the contraction then, in the order that it had.
// CHECK-LABEL: weft.func @masks
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, relu, contract
// CHECK-NEXT:    %[[G:.*]] = weft.gt %[[D]], %[[Z:.*]] :
// CHECK-NEXT:    %[[N:.*]] = weft.bnot %[[G]]
// CHECK-NEXT:    %[[L:.*]] = weft.le %[[D]], %[[Z]]
// CHECK-NEXT:    %[[X:.*]] = weft.ne %[[N]], %[[L]]
// CHECK-NEXT:    %[[B:.*]] = weft.lt %[[Z]], %[[D]]
// CHECK-NEXT:    weft.return %[[D]], %[[X]], %[[B]]
weft.func @masks(%x: tensor<4x6xf64, #cpu>, %w: tensor<6x8xf64, #cpu>) -> (tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>, tensor<4x8xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4x8xf64, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf64, #cpu>, tensor<6x8xf64, #cpu>
  %1 = weft.gt %0, %z : tensor<4x8xf64, #cpu>
  %2 = weft.bnot %1 : tensor<4x8xi1, #cpu>
  %3 = weft.le %0, %z : tensor<4x8xf64, #cpu>
  %4 = weft.ne %2, %3 : tensor<4x8xi1, #cpu>
  %5 = weft.max %0, %z : tensor<4x8xf64, #cpu>
  %6 = weft.lt %z, %0 : tensor<4x8xf64, #cpu>
  weft.return %5, %4, %6 : tensor<4x8xf64, #cpu>, tensor<4x8xi1, #cpu>, tensor<4x8xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What the host sees keeps its order: the first print needs a comparison, the second does not, so relu stays where it
// is. The bias is attached all the same.
// CHECK-LABEL: weft.func @prints
// CHECK-SAME:    code = "WEFT-N002", consumer = "weft.max"
// CHECK-SAME:    message = "relu remains a separate op: weft.print depends on a comparison of the value before relu, and must not move behind relu"
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, bias %arg2, contract
// CHECK-NEXT:    weft.gt %[[D]]
// CHECK-NEXT:    weft.print {{.*}} label = "first"
// CHECK-NEXT:    weft.print {{.*}} label = "second"
// CHECK-NEXT:    weft.max %[[D]]
weft.func @prints(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %v = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.add %0, %v : tensor<4x8xf32, #cpu>
  %2 = weft.gt %1, %z : tensor<4x8xf32, #cpu>
  weft.print %2 label = "first" : tensor<4x8xi1, #cpu>
  weft.print %x label = "second" : tensor<4x6xf32, #cpu>
  %3 = weft.max %1, %z : tensor<4x8xf32, #cpu>
  weft.return %3 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// An assertion, and an index that is checked, may fail before another does, however far they are from the comparison.
// Behind relu anyway, they need not move.
// CHECK-LABEL: weft.func @asserts
// CHECK-SAME:    message = "relu remains a separate op: weft.assert depends on a comparison
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.assert {{.*}}, "first"
// CHECK-NEXT:    weft.assert {{.*}}, "second"
// CHECK-LABEL: weft.func @checks
// CHECK-SAME:    message = "relu remains a separate op: weft.gather depends on a comparison
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK-LABEL: weft.func @behind
// CHECK-NOT:     WEFT-N002
// CHECK:         weft.dot_general %arg0, %arg1, relu, contract
// CHECK-NEXT:    weft.gt
// CHECK-NEXT:    weft.assert
weft.func @asserts(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %c: tensor<i1, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.gt %0, %z : tensor<4x8xf32, #cpu>
  %2 = weft.bnot %1 : tensor<4x8xi1, #cpu>
  weft.assert %2, "first" : tensor<4x8xi1, #cpu>
  weft.assert %c, "second" : tensor<i1, #cpu>
  %3 = weft.max %0, %z : tensor<4x8xf32, #cpu>
  weft.return %3 : tensor<4x8xf32, #cpu>
}
weft.func @checks(%x: tensor<4x6xf32, #cpu>, %w: tensor<6xf32, #cpu>, %t: tensor<9xf32, #cpu>, %c: tensor<i1, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>
  %1 = weft.gt %0, %z : tensor<4xf32, #cpu>
  %2 = weft.convert %1 to i64 : tensor<4xi1, #cpu>
  %3 = weft.gather %t, %2, dim = 0, kind = points : tensor<9xf32, #cpu>, tensor<4xi64, #cpu>
  weft.assert %c, "second" : tensor<i1, #cpu>
  %4 = weft.max %0, %z : tensor<4xf32, #cpu>
  weft.return %3, %4 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}
weft.func @behind(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.gt %0, %z : tensor<4x8xf32, #cpu>
  %2 = weft.max %0, %z : tensor<4x8xf32, #cpu>
  weft.assert %1, "positive" : tensor<4x8xi1, #cpu>
  weft.return %2 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// eq(a, 0) is not eq(max(a, 0), 0).
// CHECK-LABEL: weft.func @tie
// CHECK-SAME:    code = "WEFT-N002"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.max
weft.func @tie(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4x8xi1, #cpu>) {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.eq %0, %z : tensor<4x8xf32, #cpu>
  %2 = weft.max %0, %z : tensor<4x8xf32, #cpu>
  weft.return %2, %1 : tensor<4x8xf32, #cpu>, tensor<4x8xi1, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @half
// CHECK-SAME:    code = "WEFT-N001"
// CHECK-SAME:    message = "the contraction would apply it before it rounds to the half type; it remains a separate op"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.add
weft.func @half(%x: tensor<4x6xbf16, #cpu>, %w: tensor<6x8xbf16, #cpu>, %b: tensor<8xbf16, #cpu>) -> tensor<4x8xbf16, #cpu> {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xbf16, #cpu>, tensor<6x8xbf16, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xbf16, #cpu> -> tensor<4x8xbf16, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xbf16, #cpu>
  weft.return %2 : tensor<4x8xbf16, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A residual of a half type is refused for a reason of its own, whatever the numerics.
// CHECK-LABEL: weft.func @half_residual
// CHECK-SAME:    code = "WEFT-N001"
// CHECK-SAME:    message = "a residual of a half type is added after the product is rounded, in a library too, so the contraction would save nothing; it remains a separate op"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.add
// CHECK-LABEL: weft.func @fast_residual
// CHECK-SAME:    message = "a residual of a half type is added after
// CHECK-SAME:    message = "the contraction adds the bias before it rounds to the half type, once"
// CHECK:         weft.dot_general %arg0, %arg1, bias %arg2, contract
// CHECK:         weft.add
weft.func @half_residual(%x: tensor<4x6xbf16, #cpu>, %w: tensor<6x8xbf16, #cpu>, %r: tensor<4x8xbf16, #cpu>) -> tensor<4x8xbf16, #cpu> {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xbf16, #cpu>, tensor<6x8xbf16, #cpu>
  %1 = weft.add %0, %r : tensor<4x8xbf16, #cpu>
  weft.return %1 : tensor<4x8xbf16, #cpu>
}
weft.func @fast_residual(%x: tensor<4x6xbf16, #cpu>, %w: tensor<6x8xbf16, #cpu>, %b: tensor<8xbf16, #cpu>, %r: tensor<4x8xbf16, #cpu>)
    -> tensor<4x8xbf16, #cpu> attributes {weft.numerics = "fast"} {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xbf16, #cpu>, tensor<6x8xbf16, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xbf16, #cpu> -> tensor<4x8xbf16, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xbf16, #cpu>
  %3 = weft.add %2, %r : tensor<4x8xbf16, #cpu>
  weft.return %3 : tensor<4x8xbf16, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What is rounded once is what was attached: the bias, relu, or both.
// CHECK-LABEL: weft.func @fast_relu
// CHECK-SAME:    code = "WEFT-N007", consumer = "weft.max"
// CHECK-SAME:    message = "the contraction applies relu before it rounds to the half type, once"
// CHECK:         weft.dot_general %arg0, %arg1, relu, contract
// CHECK-LABEL: weft.func @fast_both
// CHECK-SAME:    code = "WEFT-N007", consumer = "weft.add"
// CHECK-SAME:    message = "the contraction adds the bias and applies relu before it rounds to the half type, once"
// CHECK:         weft.dot_general %arg0, %arg1, bias %arg2, relu, contract
weft.func @fast_relu(%x: tensor<4x6xf16, #cpu>, %w: tensor<6x8xf16, #cpu>) -> tensor<4x8xf16, #cpu> attributes {weft.numerics = "fast"} {
  %z = weft.constant dense<0.0> : tensor<4x8xf16, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf16, #cpu>, tensor<6x8xf16, #cpu>
  %1 = weft.max %0, %z : tensor<4x8xf16, #cpu>
  weft.return %1 : tensor<4x8xf16, #cpu>
}
weft.func @fast_both(%x: tensor<4x6xf16, #cpu>, %w: tensor<6x8xf16, #cpu>, %b: tensor<8xf16, #cpu>) -> tensor<4x8xf16, #cpu> attributes {weft.numerics = "fast"} {
  %z = weft.constant dense<0.0> : tensor<4x8xf16, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf16, #cpu>, tensor<6x8xf16, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf16, #cpu> -> tensor<4x8xf16, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf16, #cpu>
  %3 = weft.max %2, %z : tensor<4x8xf16, #cpu>
  weft.return %3 : tensor<4x8xf16, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A product with another reader, a bias along another dimension, and max with another number stay as they are.
// CHECK-LABEL: weft.func @unlike
// CHECK-COUNT-3: weft.dot_general %arg0, %arg1, contract
weft.func @unlike(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>, %c: tensor<4xf32, #cpu>)
    -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  %one = weft.constant dense<1.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf32, #cpu>
  %3 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %4 = weft.broadcast_in_dim %c, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %5 = weft.add %3, %4 : tensor<4x8xf32, #cpu>
  %6 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %7 = weft.max %6, %one : tensor<4x8xf32, #cpu>
  weft.return %0, %2, %5, %7 : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The columns of the matrix product are all that the right operand keeps: two dimensions here, and none there. A bias
// of the last dimension of the result is then no bias of the columns.
// CHECK-LABEL: weft.func @not_the_columns
// CHECK-NOT:     bias
// CHECK:         weft.return
weft.func @not_the_columns(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x2x8xf32, #cpu>, %v: tensor<6xf32, #cpu>,
                           %b: tensor<8xf32, #cpu>, %c: tensor<4xf32, #cpu>)
    -> (tensor<4x2x8xf32, #cpu>, tensor<4xf32, #cpu>) {
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x2x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [2] : tensor<8xf32, #cpu> -> tensor<4x2x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x2x8xf32, #cpu>
  %3 = weft.dot_general %x, %v, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6xf32, #cpu>
  %4 = weft.add %3, %c : tensor<4xf32, #cpu>
  weft.return %2, %4 : tensor<4x2x8xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A residual that is in memory anyway is added by the contraction, between bias and relu.
// CHECK-LABEL: weft.func @residual
// CHECK:         %[[D:.*]] = weft.dot_general %arg0, %arg1, bias %arg2, residual %arg3, relu, contract = [1] x [0]
// CHECK-NEXT:    weft.return %[[D]]
weft.func @residual(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>, %r: tensor<4x8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf32, #cpu>
  %3 = weft.add %r, %2 : tensor<4x8xf32, #cpu>
  %4 = weft.max %3, %z : tensor<4x8xf32, #cpu>
  weft.return %4 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The sum of two contractions is the second one with the first as its residual, or the other way round.
// CHECK-LABEL: weft.func @sum
// CHECK:         %[[A:.*]] = weft.dot_general %arg0, %arg0, contract
// CHECK-NEXT:    %[[S:.*]] = weft.dot_general %arg1, %arg1, residual %[[A]], contract
// CHECK-NEXT:    weft.return %[[S]]
weft.func @sum(%x: tensor<8x8xf32, #cpu>, %y: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.dot_general %y, %y, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// What is computed for the sum only would be written to be read once, and a donated argument may be replaced by a kernel
// that adds in place: both stay ops. A bias after the residual is no bias of the contraction.
// CHECK-LABEL: weft.func @no_residual
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.dot_general %arg0, %arg1, residual %arg3, contract
// CHECK:         weft.add
weft.func @no_residual(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %d: tensor<4x8xf32, #cpu> {weft.donated},
                       %r: tensor<4x8xf32, #cpu>, %b: tensor<8xf32, #cpu>)
    -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu> {weft.tied = 2 : i64}, tensor<4x8xf32, #cpu>) {
  %e = weft.exp %r : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.add %0, %e : tensor<4x8xf32, #cpu>
  %2 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %3 = weft.add %2, %d : tensor<4x8xf32, #cpu>
  %4 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %5 = weft.add %4, %r : tensor<4x8xf32, #cpu>
  %6 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %7 = weft.add %5, %6 : tensor<4x8xf32, #cpu>
  weft.return %1, %3, %7 : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The answer that was recorded decides, not the table: this library adds a bias and nothing else.
// CHECK-LABEL: weft.func @recorded
// CHECK-SAME:    code = "WEFT-N003"
// CHECK-SAME:    message = "other does not support the epilogue 'residual' here; it remains a separate op"
// CHECK:         weft.dot_general %arg0, %arg1, bias %arg2, contract = [1] x [0] {library = #weft.library<"other"
// CHECK:         weft.add
// CHECK:         weft.max
weft.func @recorded(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>, %b: tensor<8xf32, #cpu>, %r: tensor<4x8xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %z = weft.constant dense<0.0> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] {library = #weft.library<"other", epilogues = ["bias"], least_flops = 0, workspace = 64>} : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.broadcast_in_dim %b, dims = [1] : tensor<8xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<4x8xf32, #cpu>
  %3 = weft.add %r, %2 : tensor<4x8xf32, #cpu>
  %4 = weft.max %3, %z : tensor<4x8xf32, #cpu>
  weft.return %4 : tensor<4x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Any other activation is computed by the kernel that follows: the library's rounds otherwise.
// CHECK-LABEL: weft.func @activation
// CHECK-SAME:    code = "WEFT-N005", consumer = "weft.tanh"
// CHECK-SAME:    code = "WEFT-N005", consumer = "weft.erf"
// CHECK:         weft.dot_general %arg0, %arg1, contract
// CHECK:         weft.tanh
weft.func @activation(%x: tensor<4x6xf32, #cpu>, %w: tensor<6x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  %c = weft.constant dense<0.7> : tensor<4x8xf32, #cpu>
  %0 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %1 = weft.tanh %0 : tensor<4x8xf32, #cpu>
  %2 = weft.dot_general %x, %w, contract = [1] x [0] : tensor<4x6xf32, #cpu>, tensor<6x8xf32, #cpu>
  %3 = weft.mul %2, %c : tensor<4x8xf32, #cpu>
  %4 = weft.erf %3 : tensor<4x8xf32, #cpu>
  weft.return %1, %4 : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
}
