// RUN: weft-opt %s --weft-simplify | FileCheck %s
// RUN: weft-opt %s --weft-simplify --weft-simplify | FileCheck %s

#cpu = #weft.device<cpu>

// broadcast-unit: new dimensions of size 1 are a reshape; a stretched one is a broadcast.
// CHECK-LABEL: weft.func @broadcast_unit(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[X]] : tensor<4xf32, #cpu> -> tensor<1x4x1xf32, #cpu>
// CHECK-NEXT:    %[[B:.*]] = weft.broadcast_in_dim %[[X]], dims = [1]
// CHECK-NEXT:    weft.return %[[R]], %[[B]]
weft.func @broadcast_unit(%x: tensor<4xf32, #cpu>) -> (tensor<1x4x1xf32, #cpu>, tensor<2x4xf32, #cpu>) {
  %0 = weft.broadcast_in_dim %x, dims = [1] : tensor<4xf32, #cpu> -> tensor<1x4x1xf32, #cpu>
  %1 = weft.broadcast_in_dim %x, dims = [1] : tensor<4xf32, #cpu> -> tensor<2x4xf32, #cpu>
  weft.return %0, %1 : tensor<1x4x1xf32, #cpu>, tensor<2x4xf32, #cpu>
}

// transpose-unit: moving a dimension of size 1 moves no element; moving another does.
// CHECK-LABEL: weft.func @transpose_unit(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x1x3xf32, #cpu>
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[X]] : tensor<4x1x3xf32, #cpu> -> tensor<1x4x3xf32, #cpu>
// CHECK-NEXT:    %[[T:.*]] = weft.transpose %[[X]], perm = [2, 1, 0]
// CHECK-NEXT:    weft.return %[[R]], %[[T]]
weft.func @transpose_unit(%x: tensor<4x1x3xf32, #cpu>) -> (tensor<1x4x3xf32, #cpu>, tensor<3x1x4xf32, #cpu>) {
  %0 = weft.transpose %x, perm = [1, 0, 2] : tensor<4x1x3xf32, #cpu>
  %1 = weft.transpose %x, perm = [2, 1, 0] : tensor<4x1x3xf32, #cpu>
  weft.return %0, %1 : tensor<1x4x3xf32, #cpu>, tensor<3x1x4xf32, #cpu>
}

// sink-broadcast: what is equal along a dimension is computed once, constants included.
// CHECK-LABEL: weft.func @sink_broadcast(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[Y:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK-DAG:     %[[HALF:.*]] = weft.constant dense<5.000000e-01> : tensor<4xf32, #cpu>
// CHECK-DAG:     %[[A:.*]] = weft.mul %[[X]], %[[Y]]
// CHECK:         %[[B:.*]] = weft.add %[[A]], %[[HALF]]
// CHECK-NEXT:    %[[C:.*]] = weft.rsqrt %[[B]]
// CHECK-NEXT:    %[[W:.*]] = weft.broadcast_in_dim %[[C]], dims = [0]
// CHECK-NEXT:    weft.return %[[W]]
weft.func @sink_broadcast(%x: tensor<4xf32, #cpu>, %y: tensor<4xf32, #cpu>) -> tensor<4x8xf32, #cpu> {
  %half = weft.constant dense<0.5> : tensor<4x8xf32, #cpu>
  %a = weft.broadcast_in_dim %x, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %b = weft.broadcast_in_dim %y, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x8xf32, #cpu>
  %0 = weft.mul %a, %b : tensor<4x8xf32, #cpu>
  %1 = weft.add %0, %half : tensor<4x8xf32, #cpu>
  %2 = weft.rsqrt %1 : tensor<4x8xf32, #cpu>
  weft.return %2 : tensor<4x8xf32, #cpu>
}

// sink-broadcast needs broadcasts of one form: rows and columns make a new element each.
// CHECK-LABEL: weft.func @outer(
// CHECK-COUNT-2: weft.broadcast_in_dim
// CHECK-NEXT:    %[[M:.*]] = weft.mul {{.*}} : tensor<4x4xf32, #cpu>
// CHECK-NEXT:    weft.return %[[M]]
weft.func @outer(%x: tensor<4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  %a = weft.broadcast_in_dim %x, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x4xf32, #cpu>
  %b = weft.broadcast_in_dim %x, dims = [1] : tensor<4xf32, #cpu> -> tensor<4x4xf32, #cpu>
  %0 = weft.mul %a, %b : tensor<4x4xf32, #cpu>
  weft.return %0 : tensor<4x4xf32, #cpu>
}

// reshape-broadcast: the small operand is reshaped where each group of dimensions comes whole from it or from nowhere.
// CHECK-LABEL: weft.func @reshape_broadcast(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<6xf32, #cpu>)
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[X]] : tensor<6xf32, #cpu> -> tensor<2x3xf32, #cpu>
// CHECK-NEXT:    %[[B:.*]] = weft.broadcast_in_dim %[[R]], dims = [1, 2] : tensor<2x3xf32, #cpu> -> tensor<20x2x3xf32, #cpu>
// CHECK-NEXT:    %[[C:.*]] = weft.broadcast_in_dim %[[X]], dims = [1] : tensor<6xf32, #cpu> -> tensor<20x6xf32, #cpu>
// CHECK-NEXT:    weft.return %[[B]], %[[C]]
weft.func @reshape_broadcast(%x: tensor<6xf32, #cpu>) -> (tensor<20x2x3xf32, #cpu>, tensor<20x6xf32, #cpu>) {
  %a = weft.broadcast_in_dim %x, dims = [2] : tensor<6xf32, #cpu> -> tensor<4x5x6xf32, #cpu>
  %0 = weft.reshape %a : tensor<4x5x6xf32, #cpu> -> tensor<20x2x3xf32, #cpu>
  %1 = weft.reshape %a : tensor<4x5x6xf32, #cpu> -> tensor<20x6xf32, #cpu>
  weft.return %0, %1 : tensor<20x2x3xf32, #cpu>, tensor<20x6xf32, #cpu>
}

// reshape-broadcast does not merge a dimension of the operand with one of the broadcast.
// CHECK-LABEL: weft.func @repeat(
// CHECK-NEXT:    weft.broadcast_in_dim %{{.*}}, dims = [1]
// CHECK-NEXT:    weft.reshape %{{.*}} -> tensor<24xf32, #cpu>
weft.func @repeat(%x: tensor<6xf32, #cpu>) -> tensor<24xf32, #cpu> {
  %a = weft.broadcast_in_dim %x, dims = [1] : tensor<6xf32, #cpu> -> tensor<4x6xf32, #cpu>
  %0 = weft.reshape %a : tensor<4x6xf32, #cpu> -> tensor<24xf32, #cpu>
  weft.return %0 : tensor<24xf32, #cpu>
}

// hoist-reshape: a reshape behind elementwise ops goes up to the arguments, where it is a view.
// CHECK-LABEL: weft.func @hoist(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<5x28x28xui8, #cpu>, %[[W:[a-z0-9]+]]: tensor<784x3xf32, #cpu>)
// CHECK-DAG:     %[[S:.*]] = weft.constant dense<3.906250e-03> : tensor<5x784xf32, #cpu>
// CHECK-DAG:     %[[R:.*]] = weft.reshape %[[X]] : tensor<5x28x28xui8, #cpu> -> tensor<5x784xui8, #cpu>
// CHECK:         %[[F:.*]] = weft.convert %[[R]] to f32
// CHECK-NEXT:    %[[M:.*]] = weft.mul %[[F]], %[[S]]
// CHECK-NEXT:    weft.dot_general %[[M]], %[[W]]
weft.func @hoist(%x: tensor<5x28x28xui8, #cpu>, %w: tensor<784x3xf32, #cpu>) -> tensor<5x3xf32, #cpu> {
  %scale = weft.constant dense<0.00390625> : tensor<5x28x28xf32, #cpu>
  %f = weft.convert %x to f32 : tensor<5x28x28xui8, #cpu>
  %m = weft.mul %f, %scale : tensor<5x28x28xf32, #cpu>
  %r = weft.reshape %m : tensor<5x28x28xf32, #cpu> -> tensor<5x784xf32, #cpu>
  %0 = weft.dot_general %r, %w, contract = [1] x [0] : tensor<5x784xf32, #cpu>, tensor<784x3xf32, #cpu>
  weft.return %0 : tensor<5x3xf32, #cpu>
}

// hoist-reshape leaves what another op reads too, and what a reduction's kernel would compute along with it.
// CHECK-LABEL: weft.func @stays(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x6xf32, #cpu>)
// CHECK-NEXT:    %[[E:.*]] = weft.exp %[[X]]
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[E]]
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[E]], dims = [1]
// CHECK-NEXT:    %[[B:.*]] = weft.broadcast_in_dim %[[S]], dims = [0]
// CHECK-NEXT:    %[[D:.*]] = weft.div %[[X]], %[[B]]
// CHECK-NEXT:    %[[Q:.*]] = weft.reshape %[[D]]
// CHECK-NEXT:    weft.return %[[R]], %[[Q]]
weft.func @stays(%x: tensor<4x6xf32, #cpu>) -> (tensor<24xf32, #cpu>, tensor<24xf32, #cpu>) {
  %e = weft.exp %x : tensor<4x6xf32, #cpu>
  %r = weft.reshape %e : tensor<4x6xf32, #cpu> -> tensor<24xf32, #cpu>
  %s = weft.sum %e, dims = [1] : tensor<4x6xf32, #cpu>
  %b = weft.broadcast_in_dim %s, dims = [0] : tensor<4xf32, #cpu> -> tensor<4x6xf32, #cpu>
  %d = weft.div %x, %b : tensor<4x6xf32, #cpu>
  %q = weft.reshape %d : tensor<4x6xf32, #cpu> -> tensor<24xf32, #cpu>
  weft.return %r, %q : tensor<24xf32, #cpu>, tensor<24xf32, #cpu>
}

// dot-transpose: transposed matrices are read as they lie.
// CHECK-LABEL: weft.func @dot_transpose(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<3x5xf32, #cpu>, %[[B:[a-z0-9]+]]: tensor<4x3xf32, #cpu>)
// CHECK-NEXT:    weft.dot_general %[[A]], %[[B]], contract = [0] x [1]
weft.func @dot_transpose(%a: tensor<3x5xf32, #cpu>, %b: tensor<4x3xf32, #cpu>) -> tensor<5x4xf32, #cpu> {
  %at = weft.transpose %a, perm = [1, 0] : tensor<3x5xf32, #cpu>
  %bt = weft.transpose %b, perm = [1, 0] : tensor<4x3xf32, #cpu>
  %0 = weft.dot_general %at, %bt, contract = [1] x [0] : tensor<5x3xf32, #cpu>, tensor<3x4xf32, #cpu>
  weft.return %0 : tensor<5x4xf32, #cpu>
}

// dot-transpose keeps a transposition that the contraction could not read without a copy (heads between rows), and one
// that decides the order of the result's dimensions.
// CHECK-LABEL: weft.func @dot_transpose_stays(
// CHECK-COUNT-2: weft.transpose
// CHECK:         weft.return
weft.func @dot_transpose_stays(%q: tensor<2x5x3x8xf32, #cpu>, %k: tensor<2x3x7x8xf32, #cpu>, %w: tensor<8x4xf32, #cpu>)
    -> (tensor<2x3x5x7xf32, #cpu>, tensor<3x5x2x4xf32, #cpu>) {
  %qt = weft.transpose %q, perm = [0, 2, 1, 3] : tensor<2x5x3x8xf32, #cpu>
  %0 = weft.dot_general %qt, %k, batch = [0, 1] x [0, 1], contract = [3] x [3] : tensor<2x3x5x8xf32, #cpu>, tensor<2x3x7x8xf32, #cpu>
  %qr = weft.transpose %q, perm = [2, 1, 0, 3] : tensor<2x5x3x8xf32, #cpu>
  %1 = weft.dot_general %qr, %w, contract = [3] x [0] : tensor<3x5x2x8xf32, #cpu>, tensor<8x4xf32, #cpu>
  weft.return %0, %1 : tensor<2x3x5x7xf32, #cpu>, tensor<3x5x2x4xf32, #cpu>
}

// transpose-dot: a transposed product is the product of the operands exchanged.
// CHECK-LABEL: weft.func @transpose_dot(
// CHECK-SAME:    %[[A:[a-z0-9]+]]: tensor<7x5x3xf32, #cpu>, %[[B:[a-z0-9]+]]: tensor<7x3x4xf32, #cpu>)
// CHECK-NEXT:    %[[D:.*]] = weft.dot_general %[[B]], %[[A]], batch = [0] x [0], contract = [1] x [2]
// CHECK-NEXT:    weft.return %[[D]]
weft.func @transpose_dot(%a: tensor<7x5x3xf32, #cpu>, %b: tensor<7x3x4xf32, #cpu>) -> tensor<7x4x5xf32, #cpu> {
  %0 = weft.dot_general %a, %b, batch = [0] x [0], contract = [2] x [1] : tensor<7x5x3xf32, #cpu>, tensor<7x3x4xf32, #cpu>
  %1 = weft.transpose %0, perm = [0, 2, 1] : tensor<7x5x4xf32, #cpu>
  weft.return %1 : tensor<7x4x5xf32, #cpu>
}

// transpose-dot leaves a product that is read untransposed too, one with a bias, and another permutation.
// CHECK-LABEL: weft.func @transpose_dot_stays(
// CHECK-COUNT-3: weft.transpose
// CHECK:         weft.return
weft.func @transpose_dot_stays(%a: tensor<5x3xf32, #cpu>, %b: tensor<3x4xf32, #cpu>, %c: tensor<4xf32, #cpu>, %d: tensor<7x5x3xf32, #cpu>)
    -> (tensor<5x4xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<5x7x4xf32, #cpu>) {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<5x3xf32, #cpu>, tensor<3x4xf32, #cpu>
  %1 = weft.transpose %0, perm = [1, 0] : tensor<5x4xf32, #cpu>
  %2 = weft.dot_general %a, %b, bias %c, contract = [1] x [0] : tensor<5x3xf32, #cpu>, tensor<3x4xf32, #cpu>, tensor<4xf32, #cpu>
  %3 = weft.transpose %2, perm = [1, 0] : tensor<5x4xf32, #cpu>
  %4 = weft.dot_general %d, %b, contract = [2] x [0] : tensor<7x5x3xf32, #cpu>, tensor<3x4xf32, #cpu>
  %5 = weft.transpose %4, perm = [1, 0, 2] : tensor<7x5x4xf32, #cpu>
  weft.return %0, %1, %3, %5 : tensor<5x4xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<5x7x4xf32, #cpu>
}

// reduce-nothing, extreme-of-one: no dimensions are no reduction, but a sum begins at +0, which -0 does not survive;
// the largest of one is it. A sum of one stays.
// CHECK-LABEL: weft.func @reduce_nothing(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4x1xf32, #cpu>, %[[I:[a-z0-9]+]]: tensor<4xi32, #cpu>)
// CHECK-NEXT:    %[[Z:.*]] = weft.constant dense<0.000000e+00> : tensor<4x1xf32, #cpu>
// CHECK-NEXT:    %[[A:.*]] = weft.add %[[X]], %[[Z]]
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[X]] : tensor<4x1xf32, #cpu> -> tensor<4xf32, #cpu>
// CHECK-NEXT:    %[[S:.*]] = weft.sum %[[X]], dims = [1]
// CHECK-NEXT:    weft.return %[[A]], %[[R]], %[[S]], %[[I]]
weft.func @reduce_nothing(%x: tensor<4x1xf32, #cpu>, %i: tensor<4xi32, #cpu>)
    -> (tensor<4x1xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xi32, #cpu>) {
  %0 = weft.sum %x, dims = [] : tensor<4x1xf32, #cpu>
  %1 = weft.rmax %x, dims = [1] : tensor<4x1xf32, #cpu>
  %2 = weft.sum %x, dims = [1] : tensor<4x1xf32, #cpu>
  %3 = weft.sum %i, dims = [] : tensor<4xi32, #cpu>
  weft.return %0, %1, %2, %3 : tensor<4x1xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xi32, #cpu>
}

// sum-splat: where every partial sum is a number of the type, in any order; a tenth's are not.
// CHECK-LABEL: weft.func @sum_splat(
// CHECK-DAG:     %[[A:.*]] = weft.constant dense<1.500000e+03> : tensor<f32, #cpu>
// CHECK-DAG:     %[[B:.*]] = weft.constant dense<-24> : tensor<i8, #cpu>
// CHECK-DAG:     %[[Z:.*]] = weft.constant dense<0.000000e+00> : tensor<f32, #cpu>
// CHECK-DAG:     %[[C:.*]] = weft.sum %{{.*}}, dims = [0] : tensor<1000xf32, #cpu>
// CHECK-DAG:     %[[D:.*]] = weft.sum %{{.*}}, dims = [0] : tensor<33554433xf32, #cpu>
// CHECK:         weft.return %[[A]], %[[B]], %[[Z]], %[[C]], %[[D]]
weft.func @sum_splat() -> (tensor<f32, #cpu>, tensor<i8, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>) {
  %a = weft.constant dense<1.5> : tensor<1000xf32, #cpu>
  %b = weft.constant dense<1> : tensor<1000xi8, #cpu>
  %z = weft.constant dense<0.0> : tensor<1000xf32, #cpu>
  %c = weft.constant dense<0.1> : tensor<1000xf32, #cpu>
  %d = weft.constant dense<1.0> : tensor<33554433xf32, #cpu>
  %0 = weft.sum %a, dims = [0] : tensor<1000xf32, #cpu>
  %1 = weft.sum %b, dims = [0] : tensor<1000xi8, #cpu>
  %2 = weft.sum %z, dims = [0] : tensor<1000xf32, #cpu>
  %3 = weft.sum %c, dims = [0] : tensor<1000xf32, #cpu>
  %4 = weft.sum %d, dims = [0] : tensor<33554433xf32, #cpu>
  weft.return %0, %1, %2, %3, %4 : tensor<f32, #cpu>, tensor<i8, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>, tensor<f32, #cpu>
}

// extreme-broadcast, sum-broadcast: over dimensions that a broadcast made; a float sum would round, and stays.
// CHECK-LABEL: weft.func @unbroadcast(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[I:[a-z0-9]+]]: tensor<4xi32, #cpu>)
// CHECK:         %[[M:.*]] = weft.mul %[[I]]
// CHECK:         %[[S:.*]] = weft.sum %{{.*}}, dims = [0] : tensor<7x4xf32, #cpu>
// CHECK-NEXT:    weft.return %[[X]], %[[M]], %[[S]]
weft.func @unbroadcast(%x: tensor<4xf32, #cpu>, %i: tensor<4xi32, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<4xi32, #cpu>, tensor<4xf32, #cpu>) {
  %a = weft.broadcast_in_dim %x, dims = [1] : tensor<4xf32, #cpu> -> tensor<7x4xf32, #cpu>
  %b = weft.broadcast_in_dim %i, dims = [1] : tensor<4xi32, #cpu> -> tensor<7x4xi32, #cpu>
  %0 = weft.rmax %a, dims = [0] : tensor<7x4xf32, #cpu>
  %1 = weft.sum %b, dims = [0] : tensor<7x4xi32, #cpu>
  %2 = weft.sum %a, dims = [0] : tensor<7x4xf32, #cpu>
  weft.return %0, %1, %2 : tensor<4xf32, #cpu>, tensor<4xi32, #cpu>, tensor<4xf32, #cpu>
}
