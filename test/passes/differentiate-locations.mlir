// RUN: weft-opt %s --weft-differentiate --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

#cpu = #weft.device<cpu>

// What is built for an op's derivative has that op's location; what is built for the gradient itself, the gradient's.
weft.func @locations(%x: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %a = weft.exp %x : tensor<f32, #cpu> loc("model.cpp":10:3)
  %b = weft.sin %a : tensor<f32, #cpu> loc("model.cpp":11:3)
  // CHECK: weft.constant dense<1.000000e+00> {{.*}} loc("model.cpp":12:3)
  // CHECK: weft.cos {{.*}} loc("model.cpp":11:3)
  // CHECK: weft.mul {{.*}} loc("model.cpp":11:3)
  // CHECK: weft.mul {{.*}} loc("model.cpp":10:3)
  %g = weft.gradient %b wrt %x : tensor<f32, #cpu>, tensor<f32, #cpu> loc("model.cpp":12:3)
  weft.return %g : tensor<f32, #cpu>
}
