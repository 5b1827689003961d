// RUN: weft-opt %s --pass-pipeline='builtin.module(weft.func(weft-choose-schedules),weft-emit-kernels)' | FileCheck %s

#cpu = #weft.device<cpu>

// Elementary functions are single ops of kernel IR, on vectors; their expansion is the target's. Halves are computed in
// f32 and rounded once, however many functions there are.
// CHECK-LABEL: func.func @functions.0(
// CHECK-DAG:     math.tan %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.asin %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.acos %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.atan %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.sinh %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.cosh %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.asinh %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.acosh %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.atanh %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.log2 %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.log10 %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.exp2 %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.atan2 %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.copysign %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-DAG:     math.fma %{{.*}}, %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-DAG:     arith.remf %{{.*}}, %{{.*}} : vector<16xf32>
weft.func @functions(%x: tensor<64xf32, #cpu>, %y: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<64xf32, #cpu>, tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%a: tensor<64xf32, #cpu>, %b: tensor<64xf32, #cpu>):
    %1 = weft.tan %a : tensor<64xf32, #cpu>
    %2 = weft.asin %1 : tensor<64xf32, #cpu>
    %3 = weft.acos %2 : tensor<64xf32, #cpu>
    %4 = weft.atan %3 : tensor<64xf32, #cpu>
    %5 = weft.sinh %4 : tensor<64xf32, #cpu>
    %6 = weft.cosh %5 : tensor<64xf32, #cpu>
    %7 = weft.asinh %6 : tensor<64xf32, #cpu>
    %8 = weft.acosh %7 : tensor<64xf32, #cpu>
    %9 = weft.atanh %8 : tensor<64xf32, #cpu>
    %10 = weft.log2 %9 : tensor<64xf32, #cpu>
    %11 = weft.log10 %10 : tensor<64xf32, #cpu>
    %12 = weft.exp2 %11 : tensor<64xf32, #cpu>
    %13 = weft.atan2 %12, %b : tensor<64xf32, #cpu>
    %14 = weft.copysign %13, %b : tensor<64xf32, #cpu>
    %15 = weft.fma %14, %b, %a : tensor<64xf32, #cpu>
    %16 = weft.rem %15, %b : tensor<64xf32, #cpu>
    weft.yield %16 : tensor<64xf32, #cpu>
  }
  weft.return %0 : tensor<64xf32, #cpu>
}

// sigmoid is arithmetic of its own: one division, no branch, and no call of exp, whose range would end too early.
// CHECK-LABEL: func.func @sigmoid.1(
// CHECK-NOT:     math.exp
// CHECK:         arith.bitcast %{{.*}} : vector<16xf32> to vector<16xi32>
// CHECK:         arith.divf %{{.*}}, %{{.*}} : vector<16xf32>
// CHECK-NOT:     arith.divf
// CHECK:         return
weft.func @sigmoid(%x: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %0 = weft.fusion loop (%x) : (tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  ^bb0(%a: tensor<64xf32, #cpu>):
    %1 = weft.sigmoid %a : tensor<64xf32, #cpu>
    weft.yield %1 : tensor<64xf32, #cpu>
  }
  weft.return %0 : tensor<64xf32, #cpu>
}

// mod is the exact remainder, moved by the divisor where their signs differ; it is computed wide and rounded once.
// CHECK-LABEL: func.func @halves.2(
// CHECK:         arith.extf %{{.*}} : vector<16xf16> to vector<16xf32>
// CHECK:         %[[R:.*]] = arith.remf %{{.*}}, %[[B:.*]] : vector<16xf32>
// CHECK:         %[[MOVED:.*]] = arith.addf %[[R]], %[[B]] : vector<16xf32>
// CHECK:         %[[M:.*]] = arith.select %{{.*}}, %[[MOVED]], %[[R]]
// CHECK:         arith.truncf %[[M]] : vector<16xf32> to vector<16xf16>
// CHECK-NOT:     arith.truncf
weft.func @halves(%x: tensor<64xf16, #cpu>, %y: tensor<64xf16, #cpu>) -> tensor<64xf16, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<64xf16, #cpu>, tensor<64xf16, #cpu>) -> tensor<64xf16, #cpu> {
  ^bb0(%a: tensor<64xf16, #cpu>, %b: tensor<64xf16, #cpu>):
    %1 = weft.mod %a, %b : tensor<64xf16, #cpu>
    weft.yield %1 : tensor<64xf16, #cpu>
  }
  weft.return %0 : tensor<64xf16, #cpu>
}

// Integers never trap: the divisor is replaced where it is 0 or -1 before the remainder is taken.
// CHECK-LABEL: func.func @integers.3(
// CHECK:         %[[SAFE:.*]] = arith.select
// CHECK:         arith.remsi %{{.*}}, %[[SAFE]]
// CHECK-NOT:     arith.remsi
weft.func @integers(%x: tensor<64xi32, #cpu>, %y: tensor<64xi32, #cpu>) -> tensor<64xi32, #cpu> {
  %0 = weft.fusion loop (%x, %y) : (tensor<64xi32, #cpu>, tensor<64xi32, #cpu>) -> tensor<64xi32, #cpu> {
  ^bb0(%a: tensor<64xi32, #cpu>, %b: tensor<64xi32, #cpu>):
    %1 = weft.rem %a, %b : tensor<64xi32, #cpu>
    weft.yield %1 : tensor<64xi32, #cpu>
  }
  weft.return %0 : tensor<64xi32, #cpu>
}
