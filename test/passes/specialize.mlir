// RUN: weft-opt %s --weft-specialize=sizes=n=3 | FileCheck %s
// RUN: weft-opt %s --weft-specialize=sizes=n=3,m=5 | FileCheck %s --check-prefix=ALL
// RUN: not weft-opt %s --weft-specialize=sizes=n 2>&1 | FileCheck %s --check-prefix=OPTION

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#nm = #weft.device<cpu, [n, m]>

// Values reach types, attributes and constants; a symbol without a value stays.
// CHECK-LABEL: weft.func @f(%arg0: tensor<3x?xf32, #weft.device<cpu, [m]>>
// CHECK-SAME:  attributes {weft.symbols = [#weft.symbol<"m", 1, 8>]}
// CHECK:         weft.constant dense<2.000000e+00> : tensor<f32> -> tensor<3x?xf32, #weft.device<cpu, [m]>>
// CHECK:         weft.dim 6 * m + 1
// CHECK:         weft.slice %{{.*}}, start = [1, 0], limit = [3, m]
// ALL-LABEL:   weft.func @f(%arg0: tensor<3x5xf32, #cpu>) -> (tensor<2x5xf32, #cpu>, tensor<i64, #cpu>) {
// ALL:           weft.constant dense<2.000000e+00> : tensor<3x5xf32, #cpu>
// ALL:           weft.dim 31
// ALL:           weft.slice %{{.*}}, start = [1, 0], limit = [3, 5]
// OPTION: --weft-specialize expects sizes=name=number, found 'n'
weft.func @f(%a: tensor<?x?xf32, #nm>) -> (tensor<?x?xf32, #weft.device<cpu, [n + -1, m]>>, tensor<i64, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 2, 64>, #weft.symbol<"m", 1, 8>]} {
  %0 = weft.constant dense<2.0> : tensor<f32> -> tensor<?x?xf32, #nm>
  %1 = weft.mul %a, %0 : tensor<?x?xf32, #nm>
  %2 = weft.dim 2 * n * m + 1 : tensor<i64, #cpu>
  %3 = weft.slice %1, start = [1, 0], limit = [n, m], step = [1, 1] : tensor<?x?xf32, #nm>
  weft.return %3, %2 : tensor<?x?xf32, #weft.device<cpu, [n + -1, m]>>, tensor<i64, #cpu>
}

// The tasks of a schedule are those of its sizes: it goes, and is chosen anew.
// ALL-LABEL:   weft.func @scheduled(
// ALL:           weft.fusion loop (%arg0) : (tensor<3xf32, #cpu>) -> tensor<3xf32, #cpu>
// ALL:           weft.fusion loop (%arg1) {schedule = #weft.schedule<loop, vector = 8, chunk = 64, tasks = 1, grain = 1, scratch = 0>}
weft.func @scheduled(%x: tensor<?xf32, #n>, %y: tensor<4xf32, #cpu>) -> (tensor<?xf32, #n>, tensor<4xf32, #cpu>)
    attributes {weft.symbols = [#weft.symbol<"n", 2, 64>]} {
  %0 = weft.fusion loop (%x) {schedule = #weft.schedule<loop, vector = 8, chunk = 64, tasks = ceildiv(n, 64), grain = 1, scratch = 0>}
      : (tensor<?xf32, #n>) -> tensor<?xf32, #n> {
  ^bb0(%a: tensor<?xf32, #n>):
    %1 = weft.neg %a : tensor<?xf32, #n>
    weft.yield %1 : tensor<?xf32, #n>
  }
  %2 = weft.fusion loop (%y) {schedule = #weft.schedule<loop, vector = 8, chunk = 64, tasks = 1, grain = 1, scratch = 0>}
      : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    %1 = weft.neg %a : tensor<4xf32, #cpu>
    weft.yield %1 : tensor<4xf32, #cpu>
  }
  weft.return %0, %2 : tensor<?xf32, #n>, tensor<4xf32, #cpu>
}
