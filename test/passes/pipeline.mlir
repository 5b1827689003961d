// RUN: weft-opt %s --weft-pipeline=stop-before-decomposition | FileCheck %s --check-prefix=WHOLE
// RUN: weft-opt %s --weft-pipeline=stop-before-decomposition --weft-pipeline | FileCheck %s
// RUN: weft-opt %s --weft-pipeline -mlir-print-op-generic | weft-opt | FileCheck %s
// RUN: weft-opt %s --weft-pipeline -o %t.1
// RUN: weft-opt %s --weft-pipeline --mlir-disable-threading -o %t.2
// RUN: cmp %t.1 %t.2

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// WHOLE-NOT: @model
// CHECK-NOT: @model
weft.func private @model(%x: tensor<5x3xf32, #cuda0>, %w: tensor<3x4xf32, #cuda0>) -> tensor<5x4xf32, #cuda0> {
  %y = weft.dot_general %x, %w, contract = [1] x [0] : tensor<5x3xf32, #cuda0>, tensor<3x4xf32, #cuda0>
  weft.return %y : tensor<5x4xf32, #cuda0>
}

// A training step through every stage: the call is inlined, devices are mapped, the gradient is taken through the whole
// loss, and only then is the loss decomposed.
// WHOLE-LABEL: weft.func @step(
// WHOLE-NOT:     weft.gradient
// WHOLE:         weft.cross_entropy
// WHOLE-NOT:     weft.transpose
// WHOLE:         weft.dot_general %{{.*}}, %{{.*}}, contract = [0] x [0]
// CHECK-LABEL: weft.func @step(
// CHECK-NOT:     #cuda
// CHECK-NOT:     weft.call
// CHECK-NOT:     weft.transfer
// CHECK-NOT:     weft.cross_entropy
// CHECK:         weft.dot_general
// CHECK:         weft.fusion row
// CHECK:           weft.gather
// CHECK:         weft.dot_general
// CHECK:         weft.fusion multi_tensor {{.*}}schedule = #weft.schedule<multi_tensor
// CHECK-SAME:      slices = [#weft.slice<argument, 1, 48>]
// CHECK:         weft.return
weft.func @step(%x: tensor<5x3xf32, #cpu>, %w: tensor<3x4xf32, #cuda0> {weft.donated}, %t: tensor<5xi64, #cuda0>,
                %n: tensor<i64, #cuda0>, %lr: tensor<f64, #cuda0>)
    -> (tensor<f32, #cuda0>, tensor<3x4xf32, #cuda0> {weft.tied = 1}) {
  %xd = weft.transfer %x to #cuda0 : tensor<5x3xf32, #cpu>
  %y = weft.call @model(%xd, %w) : (tensor<5x3xf32, #cuda0>, tensor<3x4xf32, #cuda0>) -> tensor<5x4xf32, #cuda0>
  %l, %lse = weft.cross_entropy %y, %t, reduction = mean : tensor<5x4xf32, #cuda0>, tensor<5xi64, #cuda0>
  %g = weft.gradient %l wrt %w : tensor<f32, #cuda0>, tensor<3x4xf32, #cuda0>
  %zero = weft.constant dense<0.0> : tensor<f64, #cuda0>
  %p = weft.sgd_step (%w, %g, step %n, lr %lr, momentum %zero, dampening %zero, decay %zero)
    : tensor<3x4xf32, #cuda0>, tensor<3x4xf32, #cuda0>, tensor<i64, #cuda0>, tensor<f64, #cuda0>
  weft.return %l, %p : tensor<f32, #cuda0>, tensor<3x4xf32, #cuda0>
}

// A long sum of squares is split, and the split moves up to the argument: the squares are computed in the pieces' shape.
// CHECK-LABEL: weft.func @long_sum(
// CHECK-SAME:    %[[X:.*]]: tensor<1048576xf32, #cpu>)
// CHECK-NEXT:    %[[R:.*]] = weft.reshape %[[X]] {slices = [#weft.slice<argument, 0, 4194304>]} : tensor<1048576xf32, #cpu> -> tensor<256x4096xf32, #cpu>
// CHECK-NEXT:    %[[P:.*]] = weft.fusion row (%[[R]])
// CHECK:           %[[M:.*]] = weft.mul %[[A:.*]], %[[A]]
// CHECK-NEXT:      weft.sum %[[M]], dims = [1]
// CHECK:         %[[S:.*]] = weft.fusion row (%[[P]])
// CHECK:           weft.sum %{{.*}}, dims = [0]
// CHECK:         weft.return %[[S]]
weft.func @long_sum(%x: tensor<1048576xf32, #cpu>) -> tensor<f32, #cpu> {
  %m = weft.mul %x, %x : tensor<1048576xf32, #cpu>
  %s = weft.sum %m, dims = [0] : tensor<1048576xf32, #cpu>
  weft.return %s : tensor<f32, #cpu>
}
