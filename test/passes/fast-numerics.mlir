// RUN: weft-opt %s --weft-pipeline="report=true" -split-input-file | FileCheck %s
// RUN: weft-opt %s --weft-simplify="print-rules=true" -split-input-file 2>&1 | FileCheck %s --check-prefix=RULES
// RUN: weft-opt %s --weft-simplify -split-input-file | FileCheck %s --check-prefix=LINES

#cpu = #weft.device<cpu>
// Nothing is allowed that was not asked for.
// CHECK-LABEL: @eager
// CHECK-NOT: WEFT-N00
// CHECK-NOT: contract
// CHECK: weft.div
weft.func @eager(%a: tensor<64xf32, #cpu>, %b: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %c = weft.constant dense<3.0> : tensor<64xf32, #cpu>
  %0 = weft.div %a, %c : tensor<64xf32, #cpu>
  %1 = weft.mul %a, %b : tensor<64xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<64xf32, #cpu>
  weft.return %2 : tensor<64xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// RULES: rule div-by-constant (bounded) applied 1 time
// CHECK-LABEL: @fast
// CHECK-DAG: WEFT-N006
// CHECK-DAG: WEFT-N008
// CHECK: weft.fusion loop ({{.*}}) {contract
// CHECK-NOT: weft.div
weft.func @fast(%a: tensor<64xf32, #cpu>, %b: tensor<64xf32, #cpu>) -> tensor<64xf32, #cpu>
    attributes {weft.numerics = "fast"} {
  %c = weft.constant dense<3.0> : tensor<64xf32, #cpu>
  %0 = weft.div %a, %c : tensor<64xf32, #cpu>
  %1 = weft.mul %a, %b : tensor<64xf32, #cpu>
  %2 = weft.add %0, %1 : tensor<64xf32, #cpu>
  weft.return %2 : tensor<64xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// What was rounded otherwise is said at the lines of the divisions: two on one of them.
// LINES-LABEL: weft.func @two_lines
// LINES-SAME: code = "WEFT-N008", {{[^}]*}}location = "net.cpp:3:7", message = "2 divisions by a constant became
// LINES-SAME: code = "WEFT-N008", {{[^}]*}}location = "net.cpp:9:1", message = "1 division by a constant became
weft.func @two_lines(%a: tensor<64xf32, #cpu>) -> (tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>)
    attributes {weft.numerics = "fast"} {
  %c = weft.constant dense<3.0> : tensor<64xf32, #cpu>
  %d = weft.constant dense<5.0> : tensor<64xf32, #cpu>
  %0 = weft.div %a, %c : tensor<64xf32, #cpu> loc("net.cpp":3:7)
  %1 = weft.div %a, %d : tensor<64xf32, #cpu> loc("net.cpp":9:1)
  %2 = weft.div %0, %d : tensor<64xf32, #cpu> loc("net.cpp":3:7)
  weft.return %0, %1, %2 : tensor<64xf32, #cpu>, tensor<64xf32, #cpu>, tensor<64xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Where the reciprocal has fewer digits, of halves, and of integers, a division stays one.
// CHECK-LABEL: @divisions_that_stay
// CHECK-NOT: WEFT-N008
// CHECK-COUNT-3: weft.div
weft.func @divisions_that_stay(%a: tensor<64xf32, #cpu>, %h: tensor<64xf16, #cpu>, %i: tensor<64xi32, #cpu>)
    -> (tensor<64xf32, #cpu>, tensor<64xf16, #cpu>, tensor<64xi32, #cpu>) attributes {weft.numerics = "fast"} {
  %c = weft.constant dense<3.0e38> : tensor<64xf32, #cpu>
  %0 = weft.div %a, %c : tensor<64xf32, #cpu>
  %d = weft.constant dense<3.0> : tensor<64xf16, #cpu>
  %1 = weft.div %h, %d : tensor<64xf16, #cpu>
  %e = weft.constant dense<3> : tensor<64xi32, #cpu>
  %2 = weft.div %i, %e : tensor<64xi32, #cpu>
  weft.return %0, %1, %2 : tensor<64xf32, #cpu>, tensor<64xf16, #cpu>, tensor<64xi32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// CHECK-LABEL: @half_epilogue
// CHECK-SAME: WEFT-N007
// CHECK: weft.dot_general %{{.*}}, %{{.*}}, bias
weft.func @half_epilogue(%a: tensor<8x4xf16, #cpu>, %b: tensor<4x8xf16, #cpu>, %v: tensor<8xf16, #cpu>)
    -> tensor<8x8xf16, #cpu> attributes {weft.numerics = "fast"} {
  %0 = weft.dot_general %a, %b, contract = [1] x [0] : tensor<8x4xf16, #cpu>, tensor<4x8xf16, #cpu>
  %1 = weft.broadcast_in_dim %v, dims = [1] : tensor<8xf16, #cpu> -> tensor<8x8xf16, #cpu>
  %2 = weft.add %0, %1 : tensor<8x8xf16, #cpu>
  weft.return %2 : tensor<8x8xf16, #cpu>
}
