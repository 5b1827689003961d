// RUN: weft-opt %s --split-input-file --weft-parametrize-slices | FileCheck %s
// RUN: weft-opt %s --split-input-file --weft-parametrize-slices --weft-parametrize-slices | FileCheck %s

#cpu = #weft.device<cpu>

// Steps that differ in one slice: its place is an operand of each. A slice in which they do not differ stays,
// and so does the dimension in which they do not.
// CHECK-LABEL: weft.func @steps
// CHECK:         %[[P0:.*]] = weft.constant dense<1> : tensor<i64, #cpu>
// CHECK:         weft.fusion loop (%arg0, %arg1, %[[P0]])
// CHECK:         ^bb0(%[[X:.*]]: tensor<4x6xf32, #cpu>, %[[Y:.*]]: tensor<3xf32, #cpu>, %[[AT:.*]]: tensor<i64, #cpu>):
// CHECK:           %[[TWO:.*]] = weft.constant dense<2> : tensor<i64, #cpu>
// CHECK:           weft.dynamic_slice %[[X]], starts(%[[AT]], %[[TWO]]), sizes = [1, 2] : tensor<4x6xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
// CHECK:           weft.slice %[[Y]], start = [1], limit = [3], step = [1]
// CHECK:         %[[P1:.*]] = weft.constant dense<0> : tensor<i64, #cpu>
// CHECK:         weft.fusion loop (%arg0, %arg1, %[[P1]])
// CHECK:           weft.dynamic_slice
// CHECK:         weft.constant dense<2> : tensor<i64, #cpu>
// CHECK:           weft.dynamic_slice
// CHECK:         weft.constant dense<3> : tensor<i64, #cpu>
// CHECK:           weft.dynamic_slice
weft.func @steps(%x: tensor<4x6xf32, #cpu>, %y: tensor<3xf32, #cpu>) -> (tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>) {
  %0 = weft.fusion loop (%x, %y) : (tensor<4x6xf32, #cpu>, tensor<3xf32, #cpu>) -> tensor<1x2xf32, #cpu> {
  ^bb0(%a: tensor<4x6xf32, #cpu>, %b: tensor<3xf32, #cpu>):
    %s = weft.slice %a, start = [1, 2], limit = [2, 4], step = [1, 1] : tensor<4x6xf32, #cpu>
    %t = weft.slice %b, start = [1], limit = [3], step = [1] : tensor<3xf32, #cpu>
    %u = weft.reshape %t : tensor<2xf32, #cpu> -> tensor<1x2xf32, #cpu>
    %v = weft.add %s, %u : tensor<1x2xf32, #cpu>
    weft.yield %v : tensor<1x2xf32, #cpu>
  }
  %1 = weft.fusion loop (%x, %y) : (tensor<4x6xf32, #cpu>, tensor<3xf32, #cpu>) -> tensor<1x2xf32, #cpu> {
  ^bb0(%a: tensor<4x6xf32, #cpu>, %b: tensor<3xf32, #cpu>):
    %s = weft.slice %a, start = [0, 2], limit = [1, 4], step = [1, 1] : tensor<4x6xf32, #cpu>
    %t = weft.slice %b, start = [1], limit = [3], step = [1] : tensor<3xf32, #cpu>
    %u = weft.reshape %t : tensor<2xf32, #cpu> -> tensor<1x2xf32, #cpu>
    %v = weft.add %s, %u : tensor<1x2xf32, #cpu>
    weft.yield %v : tensor<1x2xf32, #cpu>
  }
  %2 = weft.fusion loop (%x, %y) : (tensor<4x6xf32, #cpu>, tensor<3xf32, #cpu>) -> tensor<1x2xf32, #cpu> {
  ^bb0(%a: tensor<4x6xf32, #cpu>, %b: tensor<3xf32, #cpu>):
    %s = weft.slice %a, start = [2, 2], limit = [3, 4], step = [1, 1] : tensor<4x6xf32, #cpu>
    %t = weft.slice %b, start = [1], limit = [3], step = [1] : tensor<3xf32, #cpu>
    %u = weft.reshape %t : tensor<2xf32, #cpu> -> tensor<1x2xf32, #cpu>
    %v = weft.add %s, %u : tensor<1x2xf32, #cpu>
    weft.yield %v : tensor<1x2xf32, #cpu>
  }
  %3 = weft.fusion loop (%x, %y) : (tensor<4x6xf32, #cpu>, tensor<3xf32, #cpu>) -> tensor<1x2xf32, #cpu> {
  ^bb0(%a: tensor<4x6xf32, #cpu>, %b: tensor<3xf32, #cpu>):
    %s = weft.slice %a, start = [3, 2], limit = [4, 4], step = [1, 1] : tensor<4x6xf32, #cpu>
    %t = weft.slice %b, start = [1], limit = [3], step = [1] : tensor<3xf32, #cpu>
    %u = weft.reshape %t : tensor<2xf32, #cpu> -> tensor<1x2xf32, #cpu>
    %v = weft.add %s, %u : tensor<1x2xf32, #cpu>
    weft.yield %v : tensor<1x2xf32, #cpu>
  }
  weft.return %0, %1, %2, %3 : tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>, tensor<1x2xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Three are too few; a slice with a step stays; so does one of another op, or another size.
// CHECK-LABEL: weft.func @others
// CHECK-NOT:     weft.dynamic_slice
weft.func @others(%x: tensor<9xf32, #cpu>) -> (tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>) {
  %0 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [0], limit = [2], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %1 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [1], limit = [3], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %2 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [2], limit = [4], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %3 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [3], limit = [5], step = [1] : tensor<9xf32, #cpu>
    %v = weft.tanh %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %4 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [4], limit = [7], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<3xf32, #cpu>
    weft.yield %v : tensor<3xf32, #cpu>
  }
  %5 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [0], limit = [5], step = [2] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<3xf32, #cpu>
    weft.yield %v : tensor<3xf32, #cpu>
  }
  %6 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [1], limit = [6], step = [2] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<3xf32, #cpu>
    weft.yield %v : tensor<3xf32, #cpu>
  }
  %7 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [2], limit = [7], step = [2] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<3xf32, #cpu>
    weft.yield %v : tensor<3xf32, #cpu>
  }
  %8 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [3], limit = [8], step = [2] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<3xf32, #cpu>
    weft.yield %v : tensor<3xf32, #cpu>
  }
  weft.return %0, %1, %2, %3, %4, %5, %6, %7, %8 : tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>, tensor<3xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>

// A place that is a size of the call stays one.
// CHECK-LABEL: weft.func @symbols
// CHECK-NOT:     weft.dynamic_slice
weft.func @symbols(%x: tensor<9xf32, #cpu>, %k: tensor<?xf32, #n>) -> (tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  %0 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [n], limit = [n + 2], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %1 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [n + 1], limit = [n + 3], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %2 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [n + 2], limit = [n + 4], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  %3 = weft.fusion loop (%x) : (tensor<9xf32, #cpu>) -> tensor<2xf32, #cpu> {
  ^bb0(%a: tensor<9xf32, #cpu>):
    %s = weft.slice %a, start = [n + 3], limit = [n + 5], step = [1] : tensor<9xf32, #cpu>
    %v = weft.exp %s : tensor<2xf32, #cpu>
    weft.yield %v : tensor<2xf32, #cpu>
  }
  weft.return %0, %1, %2, %3 : tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>

// A place is a number also where the result has a size of the call.
// CHECK-LABEL: weft.func @dynamic
// CHECK-COUNT-4: weft.dynamic_slice %{{.*}}, starts(%{{.*}}, %{{.*}}), sizes = [1, 4] : tensor<8x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
weft.func @dynamic(%x: tensor<8x4xf32, #cpu>, %y: tensor<?x4xf32, #n>) -> (tensor<?x4xf32, #n>, tensor<?x4xf32, #n>, tensor<?x4xf32, #n>, tensor<?x4xf32, #n>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 256>]} {
  %0 = weft.fusion loop (%x, %y) : (tensor<8x4xf32, #cpu>, tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n> {
  ^bb0(%a: tensor<8x4xf32, #cpu>, %b: tensor<?x4xf32, #n>):
    %s = weft.slice %a, start = [0, 0], limit = [1, 4], step = [1, 1] : tensor<8x4xf32, #cpu>
    %r = weft.reshape %s : tensor<1x4xf32, #cpu> -> tensor<4xf32, #cpu>
    %u = weft.broadcast_in_dim %r, dims = [1] : tensor<4xf32, #cpu> -> tensor<?x4xf32, #n>
    %v = weft.add %b, %u : tensor<?x4xf32, #n>
    weft.yield %v : tensor<?x4xf32, #n>
  }
  %1 = weft.fusion loop (%x, %y) : (tensor<8x4xf32, #cpu>, tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n> {
  ^bb0(%a: tensor<8x4xf32, #cpu>, %b: tensor<?x4xf32, #n>):
    %s = weft.slice %a, start = [1, 0], limit = [2, 4], step = [1, 1] : tensor<8x4xf32, #cpu>
    %r = weft.reshape %s : tensor<1x4xf32, #cpu> -> tensor<4xf32, #cpu>
    %u = weft.broadcast_in_dim %r, dims = [1] : tensor<4xf32, #cpu> -> tensor<?x4xf32, #n>
    %v = weft.add %b, %u : tensor<?x4xf32, #n>
    weft.yield %v : tensor<?x4xf32, #n>
  }
  %2 = weft.fusion loop (%x, %y) : (tensor<8x4xf32, #cpu>, tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n> {
  ^bb0(%a: tensor<8x4xf32, #cpu>, %b: tensor<?x4xf32, #n>):
    %s = weft.slice %a, start = [2, 0], limit = [3, 4], step = [1, 1] : tensor<8x4xf32, #cpu>
    %r = weft.reshape %s : tensor<1x4xf32, #cpu> -> tensor<4xf32, #cpu>
    %u = weft.broadcast_in_dim %r, dims = [1] : tensor<4xf32, #cpu> -> tensor<?x4xf32, #n>
    %v = weft.add %b, %u : tensor<?x4xf32, #n>
    weft.yield %v : tensor<?x4xf32, #n>
  }
  %3 = weft.fusion loop (%x, %y) : (tensor<8x4xf32, #cpu>, tensor<?x4xf32, #n>) -> tensor<?x4xf32, #n> {
  ^bb0(%a: tensor<8x4xf32, #cpu>, %b: tensor<?x4xf32, #n>):
    %s = weft.slice %a, start = [3, 0], limit = [4, 4], step = [1, 1] : tensor<8x4xf32, #cpu>
    %r = weft.reshape %s : tensor<1x4xf32, #cpu> -> tensor<4xf32, #cpu>
    %u = weft.broadcast_in_dim %r, dims = [1] : tensor<4xf32, #cpu> -> tensor<?x4xf32, #n>
    %v = weft.add %b, %u : tensor<?x4xf32, #n>
    weft.yield %v : tensor<?x4xf32, #n>
  }
  weft.return %0, %1, %2, %3 : tensor<?x4xf32, #n>, tensor<?x4xf32, #n>, tensor<?x4xf32, #n>, tensor<?x4xf32, #n>
}
