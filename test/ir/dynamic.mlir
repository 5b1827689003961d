// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-canonicalize | FileCheck %s --check-prefix=FOLD

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#nm = #weft.device<cpu, [n, m]>

// A type names the size of each dynamic dimension, in order; the function declares the symbols.
// CHECK-LABEL: weft.func @types
// CHECK-SAME:  tensor<?x4x?xf32, #weft.device<cpu, [n, m]>>
// CHECK-SAME:  tensor<?xf32, #weft.device<cuda:1, [n]>>
// CHECK-SAME:  attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 0, 8>]}
weft.func @types(%a: tensor<?x4x?xf32, #nm>, %b: tensor<?xf32, #weft.device<cuda:1, [n]>>) -> tensor<?x4x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 0, 8>]} {
  weft.return %a : tensor<?x4x?xf32, #nm>
}

// Expressions have one text, whatever they were written as: products before sums, symbols in alphabetical order.
// CHECK-LABEL: weft.func @canonical
// CHECK-SAME:  [2 * m * n + n + -1, 3 * m * m]
weft.func @canonical(%a: tensor<?x?xf32, #weft.device<cpu, [n + n * m + -1 + m * n, 3 * m * m]>>, %b: tensor<?x?xf32, #nm>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>]} {
  weft.return
}

// Result types carry the expressions on: products through reshapes and sums through slices and pads.
// CHECK-LABEL: weft.func @inference
// CHECK:         weft.reshape %{{.*}} -> tensor<?xf32, #weft.device<cpu, [4 * m * n]>>
// CHECK:         weft.transpose %{{.*}}, perm = [2, 0, 1]
// CHECK:         weft.slice %{{.*}}, start = [1, 0, 0], limit = [n, 4, m + -1], step = [1, 2, 1]
// CHECK:         weft.neg %{{.*}} : tensor<?x2x?xf32, #weft.device<cpu, [n + -1, m + -1]>>
// CHECK:         weft.pad %{{.*}}, low = [1, 0, 0], high = [n, 0, 0], interior = [0, 0, 1]
// CHECK:         weft.neg %{{.*}} : tensor<?x4x?xf32, #weft.device<cpu, [2 * n + 1, 2 * m + -1]>>
// CHECK:         weft.full %{{.*}}, shape = [n, 3, 2 * m] : tensor<f32, #cpu>
// CHECK:         weft.neg %{{.*}} : tensor<?x3x?xf32, #weft.device<cpu, [n, 2 * m]>>
// CHECK:         weft.rng_bits_philox %{{.*}}, shape = [n, 5]
// CHECK:         weft.dot_general {{.*}} contract = [0, 1, 2] x [0, 1, 2]
// CHECK:         weft.gather
// CHECK:         weft.neg %{{.*}} : tensor<?x4x?xf32, #weft.device<cpu, [m, m]>>
weft.func @inference(%a: tensor<?x4x?xf32, #nm>, %i: tensor<?xi64, #weft.device<cpu, [m]>>, %k: tensor<i64, #cpu>, %v: tensor<f32, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>]} {
  %0 = weft.reshape %a : tensor<?x4x?xf32, #nm> -> tensor<?xf32, #weft.device<cpu, [4 * n * m]>>
  %1 = weft.transpose %a, perm = [2, 0, 1] : tensor<?x4x?xf32, #nm>
  %2 = weft.slice %a, start = [1, 0, 0], limit = [n, 4, m + -1], step = [1, 2, 1] : tensor<?x4x?xf32, #nm>
  %3 = weft.neg %2 : tensor<?x2x?xf32, #weft.device<cpu, [n + -1, m + -1]>>
  %4 = weft.pad %a, low = [1, 0, 0], high = [n, 0, 0], interior = [0, 0, 1] : tensor<?x4x?xf32, #nm>
  %5 = weft.neg %4 : tensor<?x4x?xf32, #weft.device<cpu, [2 * n + 1, 2 * m + -1]>>
  %6 = weft.full %v, shape = [n, 3, 2 * m] : tensor<f32, #cpu>
  %7 = weft.neg %6 : tensor<?x3x?xf32, #weft.device<cpu, [n, 2 * m]>>
  %8, %9 = weft.rng_bits_philox %k, %k, shape = [n, 5] : tensor<i64, #cpu>
  %10 = weft.dot_general %a, %a, contract = [0, 1, 2] x [0, 1, 2] : tensor<?x4x?xf32, #nm>, tensor<?x4x?xf32, #nm>
  %11 = weft.gather %a, %i, dim = 0, kind = points : tensor<?x4x?xf32, #nm>, tensor<?xi64, #weft.device<cpu, [m]>>
  %12 = weft.neg %11 : tensor<?x4x?xf32, #weft.device<cpu, [m, m]>>
  weft.return
}

// A constant over dynamic dimensions holds its one element; folding keeps that form.
// CHECK-LABEL: weft.func @constants
// CHECK:         weft.constant dense<2.000000e+00> : tensor<f32> -> tensor<?x4xf32, #weft.device<cpu, [n]>>
// FOLD-LABEL:  weft.func @constants
// FOLD:          %[[C:.*]] = weft.constant dense<6.000000e+00> : tensor<f32> -> tensor<4x?xf32, #weft.device<cpu, [n]>>
// FOLD:          weft.return %[[C]]
weft.func @constants(%a: tensor<?xf32, #n>) -> tensor<4x?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.constant dense<2.0> : tensor<f32> -> tensor<?x4xf32, #n>
  %1 = weft.constant dense<3.0> : tensor<f32, #cpu>
  %2 = weft.broadcast_in_dim %1, dims = [] : tensor<f32, #cpu> -> tensor<?x4xf32, #n>
  %3 = weft.mul %0, %2 : tensor<?x4xf32, #n>
  %4 = weft.transpose %3, perm = [1, 0] : tensor<?x4xf32, #n>
  weft.return %4 : tensor<4x?xf32, #n>
}

// A size as a number: an expression stays, a number is a constant. The counter after a draw advances by one.
// CHECK-LABEL: weft.func @dim
// CHECK:         weft.dim ceildiv(10 * n, 4) : tensor<i64, #cpu>
// FOLD-LABEL:  weft.func @dim
// FOLD-DAG:      %[[D:.*]] = weft.dim ceildiv(10 * n, 4) : tensor<i64, #cpu>
// FOLD-DAG:      %[[S:.*]] = weft.constant dense<7> : tensor<i64, #cpu>
// FOLD-DAG:      %[[B:.*]] = weft.dim ceildiv(3 * n, 4) : tensor<i64, #cpu>
// FOLD-DAG:      %[[N:.*]] = weft.add %{{.*}}, %[[B]]
// FOLD:          weft.return %[[D]], %[[S]], %[[N]]
weft.func @dim(%a: tensor<?xf32, #n>, %k: tensor<i64, #cpu>) -> (tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.dim ceildiv(10 * n, 4) : tensor<i64, #cpu>
  %1 = weft.dim 7 : tensor<i64, #cpu>
  %2, %3 = weft.rng_bits_philox %k, %k, shape = [n, 3] : tensor<i64, #cpu>
  weft.return %0, %1, %3 : tensor<i64, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
}

// Views of nothing fold where the expressions are equal, and only there: a symbol is not 1 even if it may be.
// FOLD-LABEL:  weft.func @folds
// FOLD-NEXT:     %[[B:.*]] = weft.broadcast_in_dim
// FOLD-NEXT:     weft.return %arg0, %[[B]]
weft.func @folds(%a: tensor<?x4xf32, #n>, %b: tensor<1x4xf32, #cpu>) -> (tensor<?x4xf32, #n>, tensor<?x4xf32, #n>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  %0 = weft.reshape %a : tensor<?x4xf32, #n> -> tensor<?xf32, #weft.device<cpu, [4 * n]>>
  %1 = weft.reshape %0 : tensor<?xf32, #weft.device<cpu, [4 * n]>> -> tensor<?x4xf32, #n>
  %2 = weft.slice %1, start = [0, 0], limit = [n, 4], step = [1, 1] : tensor<?x4xf32, #n>
  %3 = weft.broadcast_in_dim %b, dims = [0, 1] : tensor<1x4xf32, #cpu> -> tensor<?x4xf32, #n>
  weft.return %2, %3 : tensor<?x4xf32, #n>, tensor<?x4xf32, #n>
}
