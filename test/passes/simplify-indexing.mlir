// RUN: weft-opt %s --weft-simplify --cse | FileCheck %s
#cpu = #weft.device<cpu>

// A slice that lies in one part of a join is a slice of the part; slices of slices are one.
// CHECK-LABEL: weft.func @slices
// CHECK-SAME: %[[A:.*]]: tensor<5x7xf32, #cpu{{.*}}>, %[[B:.*]]: tensor<3x7xf32
weft.func @slices(%a: tensor<5x7xf32, #cpu>, %b: tensor<3x7xf32, #cpu>) -> (tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<2x3xf32, #cpu>) {
  %c = weft.concat(%a, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<3x7xf32, #cpu>
  // CHECK: %[[S:.*]] = weft.slice %[[B]], start = [1, 0], limit = [3, 7], step = [1, 1]
  %s = weft.slice %c, start = [6, 0], limit = [8, 7], step = [1, 1] : tensor<8x7xf32, #cpu>
  %t = weft.slice %c, start = [0, 0], limit = [5, 7], step = [1, 1] : tensor<8x7xf32, #cpu>
  %u = weft.slice %a, start = [1, 0], limit = [5, 7], step = [2, 2] : tensor<5x7xf32, #cpu>
  // CHECK: %[[V:.*]] = weft.slice %[[A]], start = [1, 2], limit = [4, 7], step = [2, 2]
  %v = weft.slice %u, start = [0, 1], limit = [2, 4], step = [1, 1] : tensor<2x4xf32, #cpu>
  // CHECK: weft.return %[[S]], %[[A]], %[[V]]
  weft.return %s, %t, %v : tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<2x3xf32, #cpu>
}

// Slices that follow each other join to one, and to the tensor itself where they are all of it; joins of joins are one.
// CHECK-LABEL: weft.func @joins
// CHECK-SAME: %[[A:.*]]: tensor<6x7xf32, #cpu{{.*}}>, %[[B:.*]]: tensor<3x7xf32
weft.func @joins(%a: tensor<6x7xf32, #cpu>, %b: tensor<3x7xf32, #cpu>) -> (tensor<6x7xf32, #cpu>, tensor<12x7xf32, #cpu>) {
  %x = weft.slice %a, start = [0, 0], limit = [2, 7], step = [1, 1] : tensor<6x7xf32, #cpu>
  %y = weft.slice %a, start = [2, 0], limit = [6, 7], step = [1, 1] : tensor<6x7xf32, #cpu>
  %whole = weft.concat(%x, %y), dim = 0 : tensor<2x7xf32, #cpu>, tensor<4x7xf32, #cpu>
  %inner = weft.concat(%b, %a), dim = 0 : tensor<3x7xf32, #cpu>, tensor<6x7xf32, #cpu>
  // CHECK: %[[C:.*]] = weft.concat(%[[B]], %[[A]], %[[B]]), dim = 0
  %outer = weft.concat(%inner, %b), dim = 0 : tensor<9x7xf32, #cpu>, tensor<3x7xf32, #cpu>
  // CHECK: weft.return %[[A]], %[[C]]
  weft.return %whole, %outer : tensor<6x7xf32, #cpu>, tensor<12x7xf32, #cpu>
}

// Padding that is cut away was never needed; padding twice is padding once; padding by nothing is nothing.
// CHECK-LABEL: weft.func @pads
// CHECK-SAME: %[[A:.*]]: tensor<5xf32
weft.func @pads(%a: tensor<5xf32, #cpu>) -> (tensor<5xf32, #cpu>, tensor<10xf32, #cpu>, tensor<5xf32, #cpu>) {
  %p = weft.pad %a, low = [2], high = [1], interior = [0] : tensor<5xf32, #cpu>
  %s = weft.slice %p, start = [2], limit = [7], step = [1] : tensor<8xf32, #cpu>
  // CHECK: %[[Q:.*]] = weft.pad %[[A]], low = [3], high = [2], interior = [0]
  %q = weft.pad %p, low = [1], high = [1], interior = [0] : tensor<8xf32, #cpu>
  %n = weft.pad %a, low = [0], high = [0], interior = [0] : tensor<5xf32, #cpu>
  // CHECK: weft.return %[[A]], %[[Q]], %[[A]]
  weft.return %s, %q, %n : tensor<5xf32, #cpu>, tensor<10xf32, #cpu>, tensor<5xf32, #cpu>
}

// The gradient of what was taken apart: parts with zeros around them, which nowhere meet, are joined. -0 becomes +0, as
// in the sum.
// CHECK-LABEL: weft.func @padded_parts
// CHECK-SAME: %[[A:.*]]: tensor<3x2xf32, #cpu{{.*}}>, %[[B:.*]]: tensor<3x4xf32, #cpu{{.*}}>, %[[C:.*]]: tensor<3x1xf32
weft.func @padded_parts(%a: tensor<3x2xf32, #cpu>, %b: tensor<3x4xf32, #cpu>, %c: tensor<3x1xf32, #cpu>) -> (tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>) {
  // CHECK-DAG: %[[GAP:.*]] = weft.constant dense<0.000000e+00> : tensor<3x1xf32
  // CHECK-DAG: %[[A0:.*]] = weft.add %[[A]], %{{.*}} : tensor<3x2xf32
  // CHECK-DAG: %[[B0:.*]] = weft.add %[[B]], %{{.*}} : tensor<3x4xf32
  // CHECK-DAG: %[[C0:.*]] = weft.add %[[C]], %[[GAP]] : tensor<3x1xf32
  %pa = weft.pad %a, low = [0, 5], high = [0, 0], interior = [0, 0] : tensor<3x2xf32, #cpu>
  %pb = weft.pad %b, low = [0, 0], high = [0, 3], interior = [0, 0] : tensor<3x4xf32, #cpu>
  %pc = weft.pad %c, low = [0, 4], high = [0, 2], interior = [0, 0] : tensor<3x1xf32, #cpu>
  %0 = weft.add %pa, %pb : tensor<3x7xf32, #cpu>
  // CHECK-DAG: %[[WHOLE:.*]] = weft.concat(%[[B0]], %[[C0]], %[[A0]]), dim = 1
  %1 = weft.add %0, %pc : tensor<3x7xf32, #cpu>
  // CHECK-DAG: %[[HOLE:.*]] = weft.concat(%[[B0]], %[[GAP]], %[[A0]]), dim = 1
  %2 = weft.add %pb, %pa : tensor<3x7xf32, #cpu>
  // CHECK: weft.return %[[WHOLE]], %[[HOLE]]
  weft.return %1, %2 : tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>
}

// Parts that meet, that lie along two dimensions, or have something else than zeros around them, are added.
// CHECK-LABEL: weft.func @padded_parts_that_stay
// CHECK-NOT: weft.concat
weft.func @padded_parts_that_stay(%a: tensor<3x4xf32, #cpu>, %b: tensor<2x7xf32, #cpu>, %v: tensor<f32, #cpu>) -> (tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>) {
  %left = weft.pad %a, low = [0, 0], high = [0, 3], interior = [0, 0] : tensor<3x4xf32, #cpu>
  %right = weft.pad %a, low = [0, 3], high = [0, 0], interior = [0, 0] : tensor<3x4xf32, #cpu>
  %below = weft.pad %b, low = [1, 0], high = [0, 0], interior = [0, 0] : tensor<2x7xf32, #cpu>
  %other = weft.pad %a value %v, low = [0, 3], high = [0, 0], interior = [0, 0] : tensor<3x4xf32, #cpu>, tensor<f32, #cpu>
  %0 = weft.add %left, %right : tensor<3x7xf32, #cpu>
  %1 = weft.add %left, %below : tensor<3x7xf32, #cpu>
  %2 = weft.add %left, %other : tensor<3x7xf32, #cpu>
  weft.return %0, %1, %2 : tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>, tensor<3x7xf32, #cpu>
}

// A window at a known place is a slice, its start clamped; a window as large as the tensor replaces it.
// CHECK-LABEL: weft.func @windows
// CHECK-SAME: %[[A:.*]]: tensor<5x7xf32, #cpu{{.*}}>, %[[U:.*]]: tensor<5x7xf32, #cpu{{.*}}>, %[[I:.*]]: tensor<i64
weft.func @windows(%a: tensor<5x7xf32, #cpu>, %u: tensor<5x7xf32, #cpu>, %i: tensor<i64, #cpu>) -> (tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>) {
  %nine = weft.constant dense<9> : tensor<i64, #cpu>
  // CHECK: %[[S:.*]] = weft.slice %[[A]], start = [3, 0], limit = [5, 7], step = [1, 1]
  %s = weft.dynamic_slice %a, starts(%nine, %i), sizes = [2, 7] : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  %w = weft.dynamic_update_slice %a, %u, starts(%i, %i) : tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: weft.return %[[S]], %[[U]]
  weft.return %s, %w : tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>
}

// Rows by a known index are one row; rows 0, 1, .. are the tensor; an index that is out of range stays for its check.
// CHECK-LABEL: weft.func @rows
// CHECK-SAME: %[[A:.*]]: tensor<5x7xf32
weft.func @rows(%a: tensor<5x7xf32, #cpu>) -> (tensor<7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<7xf32, #cpu>) {
  %two = weft.constant dense<2> : tensor<i64, #cpu>
  %five = weft.constant dense<5> : tensor<i64, #cpu>
  %all = weft.iota dim = 0 : tensor<5xi64, #cpu>
  // CHECK: %[[S:.*]] = weft.slice %[[A]], start = [2, 0], limit = [3, 7], step = [1, 1]
  // CHECK: %[[R:.*]] = weft.reshape %[[S]]
  %r = weft.gather %a, %two, dim = 0, kind = points : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>
  %b = weft.gather %a, %all, dim = 0, kind = points : tensor<5x7xf32, #cpu>, tensor<5xi64, #cpu>
  // CHECK: %[[X:.*]] = weft.gather %[[A]]
  %x = weft.gather %a, %five, dim = 0, kind = points : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>
  // CHECK: weft.return %[[R]], %[[A]], %[[X]]
  weft.return %r, %b, %x : tensor<7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<7xf32, #cpu>
}

// A scatter whose index says the same for whole rows writes rows.
// CHECK-LABEL: weft.func @scatter
// CHECK-SAME: %[[A:.*]]: tensor<5x7xf32, #cpu{{.*}}>, %[[I:.*]]: tensor<3xi64, #cpu{{.*}}>, %[[U:.*]]: tensor<3x7xf32
weft.func @scatter(%a: tensor<5x7xf32, #cpu>, %i: tensor<3xi64, #cpu>, %u: tensor<3x7xf32, #cpu>) -> tensor<5x7xf32, #cpu> {
  %w = weft.broadcast_in_dim %i, dims = [0] : tensor<3xi64, #cpu> -> tensor<3x7xi64, #cpu>
  // CHECK: %[[R:.*]] = weft.index_update %[[A]], %[[U]], %[[I]], dim = 0 accumulate
  %r = weft.scatter %a, %w, %u, dim = 0, kind = add : tensor<5x7xf32, #cpu>, tensor<3x7xi64, #cpu>, tensor<3x7xf32, #cpu>
  // CHECK: weft.return %[[R]]
  weft.return %r : tensor<5x7xf32, #cpu>
}

// Where an empty slice begins says nothing, also where that has no number.
// CHECK-LABEL: @empty_of_one
// CHECK: weft.slice %{{.*}}, start = [0], limit = [0], step = [1]
weft.func @empty_of_one(%a: tensor<4xf32, #weft.device<cpu>>) -> tensor<0xf32, #weft.device<cpu>> {
  %0 = weft.slice %a, start = [1], limit = [2], step = [9223372036854775807] : tensor<4xf32, #weft.device<cpu>>
  %1 = weft.slice %0, start = [1], limit = [1], step = [1] : tensor<1xf32, #weft.device<cpu>>
  weft.return %1 : tensor<0xf32, #weft.device<cpu>>
}
