// RUN: weft-opt %s --split-input-file --weft-merge-sums-of-contractions=report | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-merge-sums-of-contractions --weft-merge-sums-of-contractions | FileCheck %s --check-prefix=TWICE
// TWICE: plus (

#cpu = #weft.device<cpu>

// The gradient of a weight: each product has the sum so far as its residual.
// CHECK-LABEL: weft.func @gradient
// CHECK-SAME:  (%[[A:[a-z0-9]+]]: {{.*}}, %[[B:[a-z0-9]+]]: {{.*}}, %[[C:[a-z0-9]+]]: {{.*}}, %[[X:[a-z0-9]+]]: {{.*}}, %[[Y:[a-z0-9]+]]: {{.*}}, %[[R:[a-z0-9]+]]: tensor<8x4xf32, #cpu>)
// CHECK-SAME:  "3 products that are added are one launch"
// CHECK-NEXT:    %[[G:.*]] = weft.dot_general %[[A]], %[[X]], residual %[[R]], plus (%[[B]], %[[Y]], %[[C]], %[[X]]), contract = [0] x [0]
// CHECK-NEXT:    weft.return %[[G]]
weft.func @gradient(%a: tensor<6x8xf32, #cpu>, %b: tensor<6x8xf32, #cpu>, %c: tensor<6x8xf32, #cpu>, %x: tensor<6x4xf32, #cpu>, %y: tensor<6x4xf32, #cpu>,
                    %r: tensor<8x4xf32, #cpu>) -> tensor<8x4xf32, #cpu> {
  %0 = weft.dot_general %a, %x, residual %r, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  %1 = weft.dot_general %b, %y, residual %0, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  %2 = weft.dot_general %c, %x, residual %1, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  weft.return %2 : tensor<8x4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A sum in between that something else reads, another layout and relu begin another chain; here none has two products.
// CHECK-LABEL: weft.func @chains_end
// CHECK-NOT:     plus (
weft.func @chains_end(%a: tensor<6x8xf32, #cpu>, %t: tensor<8x6xf32, #cpu>, %x: tensor<6x4xf32, #cpu>)
    -> (tensor<8x4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<8x4xf32, #cpu>) {
  %0 = weft.dot_general %a, %x, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>
  %1 = weft.dot_general %a, %x, residual %0, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  %2 = weft.dot_general %t, %x, residual %1, contract = [1] x [0] : tensor<8x6xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  %3 = weft.dot_general %t, %x, residual %2, relu, contract = [1] x [0] : tensor<8x6xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  weft.return %0, %1, %3 : tensor<8x4xf32, #cpu>, tensor<8x4xf32, #cpu>, tensor<8x4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Long sums have a library's best kernel.
// CHECK-LABEL: weft.func @long_sums
// CHECK-SAME:  code = "WEFT-F010"
// CHECK-SAME:  "2 products that are added stay launches: each is a sum of 385 products
// CHECK-NOT:     plus (
weft.func @long_sums(%a: tensor<385x8xf32, #cpu>, %x: tensor<385x4xf32, #cpu>) -> tensor<8x4xf32, #cpu> {
  %0 = weft.dot_general %a, %x, contract = [0] x [0] : tensor<385x8xf32, #cpu>, tensor<385x4xf32, #cpu>
  %1 = weft.dot_general %a, %x, residual %0, contract = [0] x [0] : tensor<385x8xf32, #cpu>, tensor<385x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  weft.return %1 : tensor<8x4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The operands of one launch would live at the same time, and are larger than the sum in between.
// CHECK-LABEL: weft.func @memory
// CHECK-SAME:  code = "WEFT-F010"
// CHECK-SAME:  "2 products that are added stay launches: the operands of one launch would have to live longer: 65536 bytes of temporaries at one time instead of 33280"
// CHECK-NOT:     plus (
weft.func @memory(%a: tensor<64x128xf32, #cpu>, %x: tensor<64x1xf32, #cpu>) -> tensor<128x1xf32, #cpu> {
  %f = weft.fusion loop (%a) : (tensor<64x128xf32, #cpu>) -> (tensor<64x128xf32, #cpu>) {
  ^bb0(%b: tensor<64x128xf32, #cpu>):
    %e = weft.exp %b : tensor<64x128xf32, #cpu>
    weft.yield %e : tensor<64x128xf32, #cpu>
  }
  %0 = weft.dot_general %f, %x, contract = [0] x [0] : tensor<64x128xf32, #cpu>, tensor<64x1xf32, #cpu>
  %g = weft.fusion loop (%a) : (tensor<64x128xf32, #cpu>) -> (tensor<64x128xf32, #cpu>) {
  ^bb0(%b: tensor<64x128xf32, #cpu>):
    %e = weft.tanh %b : tensor<64x128xf32, #cpu>
    weft.yield %e : tensor<64x128xf32, #cpu>
  }
  %1 = weft.dot_general %g, %x, residual %0, contract = [0] x [0] : tensor<64x128xf32, #cpu>, tensor<64x1xf32, #cpu>, tensor<128x1xf32, #cpu>
  weft.return %1 : tensor<128x1xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The argument that the first product reads is written before the last product.
// CHECK-LABEL: weft.func @overwritten
// CHECK-SAME:  "2 products that are added stay launches: an operand is overwritten before the last of them"
// CHECK-NOT:     plus (
weft.func @overwritten(%w: tensor<6x8xf32, #cpu> {weft.donated}, %a: tensor<6x8xf32, #cpu>, %x: tensor<6x4xf32, #cpu>)
    -> (tensor<6x8xf32, #cpu> {weft.tied = 0 : i64}, tensor<8x4xf32, #cpu>) {
  %0 = weft.dot_general %w, %x, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>
  %new = weft.fusion loop (%w) : (tensor<6x8xf32, #cpu>) -> (tensor<6x8xf32, #cpu>) {
  ^bb0(%b: tensor<6x8xf32, #cpu>):
    %e = weft.exp %b : tensor<6x8xf32, #cpu>
    weft.yield %e : tensor<6x8xf32, #cpu>
  }
  %1 = weft.dot_general %a, %x, residual %0, contract = [0] x [0] : tensor<6x8xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<8x4xf32, #cpu>
  weft.return %new, %1 : tensor<6x8xf32, #cpu>, tensor<8x4xf32, #cpu>
}

// -----
#n = #weft.device<cpu, [n]>
#cpu = #weft.device<cpu>

// A size may be a symbol: what counts is the largest that it can be.
// CHECK-LABEL: weft.func @batch
// CHECK:         plus (
weft.func @batch(%a: tensor<?x8xf32, #n>, %x: tensor<?x4xf32, #n>) -> tensor<8x4xf32, #cpu>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 256>]} {
  %0 = weft.dot_general %a, %x, contract = [0] x [0] : tensor<?x8xf32, #n>, tensor<?x4xf32, #n>
  %1 = weft.dot_general %a, %x, residual %0, contract = [0] x [0] : tensor<?x8xf32, #n>, tensor<?x4xf32, #n>, tensor<8x4xf32, #cpu>
  weft.return %1 : tensor<8x4xf32, #cpu>
}

// -----
#n = #weft.device<cpu, [n]>
#cpu = #weft.device<cpu>

// CHECK-LABEL: weft.func @long_batch
// CHECK-SAME:  each is a sum of up to 4096 products
// CHECK-NOT:     plus (
weft.func @long_batch(%a: tensor<?x8xf32, #n>, %x: tensor<?x4xf32, #n>) -> tensor<8x4xf32, #cpu>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 4096>]} {
  %0 = weft.dot_general %a, %x, contract = [0] x [0] : tensor<?x8xf32, #n>, tensor<?x4xf32, #n>
  %1 = weft.dot_general %a, %x, residual %0, contract = [0] x [0] : tensor<?x8xf32, #n>, tensor<?x4xf32, #n>, tensor<8x4xf32, #cpu>
  weft.return %1 : tensor<8x4xf32, #cpu>
}
