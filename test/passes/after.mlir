// RUN: weft-opt %s --cse --weft-simplify --canonicalize | FileCheck %s
// RUN: weft-opt %s --weft-pipeline | FileCheck %s --check-prefix=PLAN

#cpu = #weft.device<cpu>

// What is computed from a value behind `after` is not merged with what is computed from the value itself, and is in
// another launch, which comes after the other operand.
// CHECK-LABEL: weft.func @again(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<64x64xf32, #cpu>
// CHECK:         %[[FIRST:.*]] = weft.exp %[[X]]
// CHECK:         %[[DOT:.*]] = weft.dot_general %[[FIRST]]
// CHECK:         %[[LATER:.*]] = weft.after %[[X]], %[[DOT]]
// CHECK:         %[[SECOND:.*]] = weft.exp %[[LATER]]
// CHECK:         weft.add %[[SECOND]]
// PLAN-LABEL: weft.func @again(
// PLAN:         weft.exp
// PLAN:         weft.dot_general
// PLAN:         weft.exp
weft.func @again(%x: tensor<64x64xf32, #cpu>, %w: tensor<64x64xf32, #cpu>) -> tensor<64x64xf32, #cpu> {
  %first = weft.exp %x : tensor<64x64xf32, #cpu>
  %dot = weft.dot_general %first, %w, contract = [1] x [0] : tensor<64x64xf32, #cpu>, tensor<64x64xf32, #cpu>
  %later = weft.after %x, %dot : tensor<64x64xf32, #cpu>
  %second = weft.exp %later : tensor<64x64xf32, #cpu>
  %r = weft.add %second, %dot : tensor<64x64xf32, #cpu>
  weft.return %r : tensor<64x64xf32, #cpu>
}
