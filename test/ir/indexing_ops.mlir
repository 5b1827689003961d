// RUN: weft-opt %s | weft-opt | FileCheck %s
#cpu = #weft.device<cpu>

// Joining and reversing print what they parse.
// CHECK-LABEL: weft.func @joins
weft.func @joins(%a: tensor<5x7xf32, #cpu>, %b: tensor<3x7xf32, #cpu>) -> (tensor<8x7xf32, #cpu>, tensor<5x7xf32, #cpu>) {
  // CHECK: weft.concat(%{{.*}}, %{{.*}}), dim = 0 : tensor<5x7xf32, #cpu{{.*}}>, tensor<3x7xf32, #cpu
  %c = weft.concat(%a, %b), dim = 0 : tensor<5x7xf32, #cpu>, tensor<3x7xf32, #cpu>
  // CHECK: weft.reverse %{{.*}}, dims = [0, 1] : tensor<5x7xf32, #cpu
  %r = weft.reverse %a, dims = [0, 1] : tensor<5x7xf32, #cpu>
  weft.return %c, %r : tensor<8x7xf32, #cpu>, tensor<5x7xf32, #cpu>
}

// A pad with a value, and one that crops.
// CHECK-LABEL: weft.func @pads
weft.func @pads(%a: tensor<5x7xf32, #cpu>, %v: tensor<f32, #cpu>) -> (tensor<8x5xf32, #cpu>, tensor<4x9xf32, #cpu>) {
  // CHECK: weft.pad %{{.*}} value %{{.*}}, low = [1, -1], high = [2, -1], interior = [0, 0] : tensor<5x7xf32, #cpu{{.*}}>, tensor<f32, #cpu
  %p = weft.pad %a value %v, low = [1, -1], high = [2, -1], interior = [0, 0] : tensor<5x7xf32, #cpu>, tensor<f32, #cpu>
  // CHECK: weft.pad %{{.*}}, low = [-1, 1], high = [0, 1], interior = [0, 0] : tensor<5x7xf32, #cpu
  %q = weft.pad %a, low = [-1, 1], high = [0, 1], interior = [0, 0] : tensor<5x7xf32, #cpu>
  weft.return %p, %q : tensor<8x5xf32, #cpu>, tensor<4x9xf32, #cpu>
}

// Windows have one start per dimension, none for a 0-dimensional tensor.
// CHECK-LABEL: weft.func @windows
weft.func @windows(%a: tensor<5x7xf32, #cpu>, %i: tensor<i64, #cpu>, %s: tensor<f32, #cpu>)
    -> (tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<f32, #cpu>) {
  // CHECK: weft.dynamic_slice %{{.*}}, starts(%{{.*}}, %{{.*}}), sizes = [2, 7] : tensor<5x7xf32, #cpu{{.*}}>, tensor<i64, #cpu
  %d = weft.dynamic_slice %a, starts(%i, %i), sizes = [2, 7] : tensor<5x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: weft.dynamic_update_slice %{{.*}}, %{{.*}}, starts(%{{.*}}, %{{.*}}) : tensor<5x7xf32, #cpu{{.*}}>, tensor<2x7xf32, #cpu
  %u = weft.dynamic_update_slice %a, %d, starts(%i, %i)
     : tensor<5x7xf32, #cpu>, tensor<2x7xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  // CHECK: weft.dynamic_slice %{{.*}}, starts(), sizes = [] : tensor<f32, #cpu
  %z = weft.dynamic_slice %s, starts(), sizes = [] : tensor<f32, #cpu>
  weft.return %d, %u, %z : tensor<2x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<f32, #cpu>
}

// The default mode of an index is not printed.
// CHECK-LABEL: weft.func @indices
weft.func @indices(%a: tensor<5x7xf32, #cpu>, %i: tensor<5x3xi32, #cpu>, %p: tensor<4xi64, #cpu>, %u: tensor<4x7xf32, #cpu>)
    -> (tensor<4x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>) {
  // CHECK: weft.gather %{{.*}}, %{{.*}}, dim = 0, kind = points mode = clip : tensor<5x7xf32, #cpu
  %g = weft.gather %a, %p, dim = 0, kind = points mode = clip : tensor<5x7xf32, #cpu>, tensor<4xi64, #cpu>
  // CHECK: weft.scatter %{{.*}}, %{{.*}}, %{{.*}}, dim = 1, kind = mul : tensor<5x7xf32, #cpu{{.*}}>, tensor<5x3xi32, #cpu{{.*}}>, tensor<5x7xf32, #cpu
  %s = weft.scatter %a, %i, %a, dim = 1, kind = mul : tensor<5x7xf32, #cpu>, tensor<5x3xi32, #cpu>, tensor<5x7xf32, #cpu>
  // CHECK: weft.index_update %{{.*}}, %{{.*}}, %{{.*}}, dim = 0 accumulate mode = assume : tensor<5x7xf32, #cpu
  %x = weft.index_update %a, %u, %p, dim = 0 accumulate mode = assume : tensor<5x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4xi64, #cpu>
  // CHECK: weft.index_update %{{.*}}, %{{.*}}, %{{.*}}, dim = 0 : tensor<5x7xf32, #cpu
  %y = weft.index_update %a, %u, %p, dim = 0 : tensor<5x7xf32, #cpu>, tensor<4x7xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %g, %s, %x, %y : tensor<4x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>, tensor<5x7xf32, #cpu>
}

// Bits may be cut into more or fewer elements.
// CHECK-LABEL: weft.func @bits
weft.func @bits(%a: tensor<5x4xf32, #cpu>) -> (tensor<5x8xi16, #cpu>, tensor<5x2xf64, #cpu>, tensor<3xf32, #cpu>) {
  // CHECK: weft.bitcast %{{.*}} to i16 : tensor<5x4xf32, #cpu
  %n = weft.bitcast %a to i16 : tensor<5x4xf32, #cpu>
  // CHECK: weft.bitcast %{{.*}} to f64 : tensor<5x4xf32, #cpu
  %w = weft.bitcast %a to f64 : tensor<5x4xf32, #cpu>
  // CHECK: weft.undef : tensor<3xf32, #cpu
  %u = weft.undef : tensor<3xf32, #cpu>
  weft.return %n, %w, %u : tensor<5x8xi16, #cpu>, tensor<5x2xf64, #cpu>, tensor<3xf32, #cpu>
}
