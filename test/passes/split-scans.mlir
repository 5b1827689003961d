// RUN: weft-opt %s --weft-split-reductions | FileCheck %s
// RUN: weft-opt %s --weft-split-reductions --weft-split-reductions | FileCheck %s

#cpu = #weft.device<cpu>

// A long line is scanned in pieces, beside each other, joined to the sums of the pieces before. The tail is padded.
// CHECK-LABEL: weft.func @line(
// CHECK-SAME:    %[[A:.*]]: tensor<100001xf32, #cpu>)
// CHECK:         %[[PADDED:.*]] = weft.pad %[[A]]
// CHECK:         %[[ROWS:.*]] = weft.reshape %[[PADDED]]
// CHECK:         %[[SUMS:.*]] = weft.sum %[[ROWS]], dims = [1]
// CHECK:         %[[BEFORE:.*]] = weft.cumsum %[[SUMS]], dim = 0 exclusive
// CHECK:         %[[OWN:.*]] = weft.cumsum %[[ROWS]], dim = 1
// CHECK:         %[[SPREAD:.*]] = weft.broadcast_in_dim %[[BEFORE]], dims = [0]
// CHECK:         %[[ALL:.*]] = weft.add %[[SPREAD]], %[[OWN]]
// CHECK:         weft.slice
weft.func @line(%a: tensor<100001xf32, #cpu>) -> tensor<100001xf32, #cpu> {
  %0 = weft.cumsum %a, dim = 0 : tensor<100001xf32, #cpu>
  weft.return %0 : tensor<100001xf32, #cpu>
}

// Many lines, short lines, and lines that do not lie in memory one after the other are work enough as they are.
// CHECK-LABEL: weft.func @whole(
// CHECK-NEXT:    weft.cumsum %{{.*}}, dim = 1
// CHECK-NEXT:    weft.cumsum %{{.*}}, dim = 0
// CHECK-NEXT:    weft.cumprod %{{.*}}, dim = 0
weft.func @whole(%a: tensor<64x100000xf32, #cpu>, %b: tensor<1000xf32, #cpu>, %c: tensor<100000x8xf32, #cpu>)
    -> (tensor<64x100000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<100000x8xf32, #cpu>) {
  %0 = weft.cumsum %a, dim = 1 : tensor<64x100000xf32, #cpu>
  %1 = weft.cumsum %b, dim = 0 : tensor<1000xf32, #cpu>
  %2 = weft.cumprod %c, dim = 0 : tensor<100000x8xf32, #cpu>
  weft.return %0, %1, %2 : tensor<64x100000xf32, #cpu>, tensor<1000xf32, #cpu>, tensor<100000x8xf32, #cpu>
}
