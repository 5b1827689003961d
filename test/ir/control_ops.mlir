// RUN: weft-opt %s | weft-opt | FileCheck %s
// RUN: weft-opt %s --verify-roundtrip | FileCheck %s
// RUN: weft-opt %s --mlir-print-local-scope | weft-opt | FileCheck %s
// RUN: weft-opt %s --mlir-print-op-generic | weft-opt | FileCheck %s

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:3>

// CHECK-DAG: #[[$CPU:cpu[_0-9]*]] = #weft.device<cpu>
// CHECK-DAG: #[[$GPU:cuda[_0-9]*]] = #weft.device<cuda:3>

// CHECK-LABEL: weft.func @transfer
weft.func @transfer(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #gpu>, tensor<4xf32, #cpu>) {
  // CHECK: weft.transfer %{{.*}} to #[[$GPU]] : tensor<4xf32, #[[$CPU]]>
  %r = weft.transfer %a to #gpu : tensor<4xf32, #cpu>
  // CHECK: weft.transfer %{{.*}} to #[[$CPU]] non_blocking : tensor<4xf32, #[[$GPU]]>
  %b = weft.transfer %r to #cpu non_blocking : tensor<4xf32, #gpu>
  weft.return %r, %b : tensor<4xf32, #gpu>, tensor<4xf32, #cpu>
}

// The device as an alias, and written out.
// CHECK-LABEL: weft.func @transfer_spellings
// CHECK-COUNT-2: weft.transfer %{{.*}} to #[[$GPU]] :
weft.func @transfer_spellings(%a: tensor<4xf32, #cpu>) {
  %x = weft.transfer %a to #gpu : tensor<4xf32, #cpu>
  %y = weft.transfer %a to <cuda:3> : tensor<4xf32, #cpu>
  weft.return
}

// CHECK-LABEL: weft.func @gradient
weft.func @gradient(%x: tensor<4xf32, #cpu>, %y: tensor<2xf16, #cpu>)
    -> (tensor<4xf32, #cpu>, tensor<2xf16, #cpu>) {
  %loss = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  // CHECK: weft.gradient %{{.*}} wrt %{{.*}}, %{{.*}} : tensor<f32, #cpu{{.*}}>, tensor<4xf32, #cpu{{.*}}>, tensor<2xf16, #cpu
  %g:2 = weft.gradient %loss wrt %x, %y : tensor<f32, #cpu>, tensor<4xf32, #cpu>, tensor<2xf16, #cpu>
  weft.return %g#0, %g#1 : tensor<4xf32, #cpu>, tensor<2xf16, #cpu>
}

// CHECK-LABEL: weft.func @generator
weft.func @generator() -> tensor<8xi32, #cpu> {
  // CHECK: %[[KEY:.*]], %[[COUNTER:.*]] = weft.rng_state_load "default" : tensor<i64, #cpu{{.*}}>, tensor<i64, #cpu
  %key, %counter = weft.rng_state_load "default" : tensor<i64, #cpu>, tensor<i64, #cpu>
  %bits, %next = weft.rng_bits_philox %key, %counter, shape = [8] : tensor<i64, #cpu>
  // CHECK: weft.rng_state_store %{{.*}}, "default" : tensor<i64, #cpu
  weft.rng_state_store %next, "default" : tensor<i64, #cpu>
  weft.return %bits : tensor<8xi32, #cpu>
}

// CHECK-LABEL: weft.func @step
// CHECK-SAME: %{{.*}}: tensor<4xf32, #cpu{{.*}}> {weft.donated, weft.name = "weight", weft.role = "state"}
// CHECK-SAME: %{{.*}}: tensor<f64, #cpu{{.*}}> {weft.role = "scalar"}
// CHECK-SAME: -> (tensor<4xf32, #cpu{{.*}}> {weft.name = "weight", weft.tied = 0 : i64}, tensor<f64, #cpu
weft.func @step(%w: tensor<4xf32, #cpu> {weft.donated, weft.name = "weight", weft.role = "state"},
                %lr: tensor<f64, #cpu> {weft.role = "scalar"})
    -> (tensor<4xf32, #cpu> {weft.name = "weight", weft.tied = 0 : i64}, tensor<f64, #cpu>) {
  %r = weft.neg %w : tensor<4xf32, #cpu>
  // CHECK: weft.return %{{.*}}, %{{.*}} : tensor<4xf32, #cpu{{.*}}>, tensor<f64, #cpu
  weft.return %r, %lr : tensor<4xf32, #cpu>, tensor<f64, #cpu>
}

// CHECK-LABEL: weft.func private @callee
weft.func private @callee(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %a : tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func @caller
weft.func @caller(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.call @callee(%{{.*}}) : (tensor<4xf32, #cpu{{.*}}>) -> tensor<4xf32, #cpu
  %r = weft.call @callee(%a) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// CHECK-LABEL: weft.func @empty
// CHECK-NEXT: weft.return{{$}}
weft.func @empty() {
  weft.return
}
