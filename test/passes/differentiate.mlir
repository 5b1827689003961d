// RUN: weft-opt %s --weft-differentiate -split-input-file -verify-diagnostics | FileCheck %s
// RUN: weft-opt %s --weft-differentiate --weft-differentiate -split-input-file -verify-diagnostics | FileCheck %s

#cpu = #weft.device<cpu>

// Only what lies between `wrt` and `of` is differentiated: not the other operand, nor what `of` does not read.
// CHECK-LABEL: weft.func @active(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>, %[[Y:[a-z0-9]+]]: tensor<4xf32, #cpu>)
weft.func @active(%x: tensor<4xf32, #cpu>, %y: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  // CHECK-NEXT: %[[E:.*]] = weft.exp %[[Y]]
  %e = weft.exp %y : tensor<4xf32, #cpu>
  // CHECK-NEXT: %[[UNUSED:.*]] = weft.sin %[[X]]
  %unused = weft.sin %x : tensor<4xf32, #cpu>
  // CHECK-NEXT: %{{.*}} = weft.mul %[[X]], %[[E]]
  %m = weft.mul %x, %e : tensor<4xf32, #cpu>
  // CHECK-NEXT: %[[ONE:.*]] = weft.constant dense<1.000000e+00> : tensor<4xf32, #cpu>
  // CHECK-NEXT: %[[G:.*]] = weft.mul %[[ONE]], %[[E]]
  // CHECK-NEXT: weft.return %[[G]], %[[UNUSED]]
  %g = weft.gradient %m wrt %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g, %unused : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// Contributions of several uses are added as the walk from the last op to the first meets them.
// CHECK-LABEL: weft.func @shared(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<f32, #cpu>)
weft.func @shared(%x: tensor<f32, #cpu>) -> tensor<f32, #cpu> {
  %a = weft.exp %x : tensor<f32, #cpu>
  %b = weft.tanh %x : tensor<f32, #cpu>
  %s = weft.sub %a, %b : tensor<f32, #cpu>
  // CHECK:      %[[ONE:.*]] = weft.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[MINUS:.*]] = weft.neg %[[ONE]]
  // CHECK:      %[[OF_TANH:.*]] = weft.mul %[[MINUS]]
  // CHECK-NEXT: %[[OF_EXP:.*]] = weft.mul %[[ONE]]
  // CHECK-NEXT: %[[SUM:.*]] = weft.add %[[OF_TANH]], %[[OF_EXP]]
  // CHECK-NEXT: weft.return %[[SUM]]
  %g = weft.gradient %s wrt %x : tensor<f32, #cpu>, tensor<f32, #cpu>
  weft.return %g : tensor<f32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// A value that `of` does not depend on gets zeros, `of` itself ones.
// CHECK-LABEL: weft.func @ends(
weft.func @ends(%x: tensor<2xf32, #cpu>, %y: tensor<3xf64, #cpu>) -> (tensor<2xf32, #cpu>, tensor<3xf64, #cpu>) {
  // CHECK-NEXT: %[[ONES:.*]] = weft.constant dense<1.000000e+00> : tensor<2xf32, #cpu>
  // CHECK-NEXT: %[[ZEROS:.*]] = weft.constant dense<0.000000e+00> : tensor<3xf64, #cpu>
  // CHECK-NEXT: weft.return %[[ONES]], %[[ZEROS]]
  %g, %h = weft.gradient %x wrt %x, %y : tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<3xf64, #cpu>
  weft.return %g, %h : tensor<2xf32, #cpu>, tensor<3xf64, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// Integers carry no gradient: the path through them ends, and is no error.
// CHECK-LABEL: weft.func @integers(
weft.func @integers(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // CHECK: weft.convert %{{.*}} to f32
  // CHECK-NEXT: weft.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[ZEROS:.*]] = weft.constant dense<0.000000e+00>
  // CHECK-NEXT: weft.return %[[ZEROS]]
  %i = weft.convert %x to i32 : tensor<4xf32, #cpu>
  %f = weft.convert %i to f32 : tensor<4xi32, #cpu>
  %g = weft.gradient %f wrt %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// A gradient may be differentiated again; with respect to a value in the middle the walk ends there.
// CHECK-LABEL: weft.func @twice(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<f32, #cpu>)
// CHECK-NOT:     weft.gradient
weft.func @twice(%x: tensor<f32, #cpu>) -> (tensor<f32, #cpu>, tensor<f32, #cpu>) {
  %s = weft.sin %x : tensor<f32, #cpu>
  // CHECK: weft.cos %[[X]]
  %g = weft.gradient %s wrt %x : tensor<f32, #cpu>, tensor<f32, #cpu>
  // CHECK: weft.sin %[[X]]
  %gg = weft.gradient %g wrt %x : tensor<f32, #cpu>, tensor<f32, #cpu>
  %e = weft.exp %s : tensor<f32, #cpu>
  // CHECK: %[[E:.*]] = weft.exp
  // CHECK-NEXT: %[[ONE:.*]] = weft.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[MIDDLE:.*]] = weft.mul %[[ONE]], %[[E]]
  // CHECK-NEXT: weft.return
  %gm = weft.gradient %e wrt %s : tensor<f32, #cpu>, tensor<f32, #cpu>
  weft.return %gg, %gm : tensor<f32, #cpu>, tensor<f32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// The cotangent of a transfer goes back to where the operand was.
// CHECK-LABEL: weft.func @moved(
weft.func @moved(%x: tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0> {
  // CHECK: weft.transfer %{{.*}} to #cpu
  %c = weft.transfer %x to #cpu : tensor<4xf32, #cuda0>
  // CHECK: weft.exp
  %e = weft.exp %c : tensor<4xf32, #cpu>
  %d = weft.transfer %e to #cuda0 : tensor<4xf32, #cpu>
  // CHECK: %[[ONE:.*]] = weft.constant dense<1.000000e+00> : tensor<4xf32, #cuda0{{_?}}>
  // CHECK-NEXT: weft.transfer %[[ONE]] to #cpu
  // CHECK-NEXT: %[[G:.*]] = weft.mul
  // CHECK-NEXT: weft.transfer %[[G]] to #cuda0{{_?}} :
  %g = weft.gradient %d wrt %x : tensor<4xf32, #cuda0>, tensor<4xf32, #cuda0>
  weft.return %g : tensor<4xf32, #cuda0>
}

// -----

#cpu = #weft.device<cpu>

// An op without a derivative on the path is named, with what to do.
// expected-note @+1 {{operand #0 depends on a value of `wrt`}}
weft.func @none(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error @+2 {{'weft.fusion' op has no derivative, but a gradient is required through it (WEFT-G001)}}
  // expected-note @+1 {{to fix, stop the gradient before it (`.detach()` in C++), or write it with ops that have a derivative}}
  %f = weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    %e = weft.exp %a : tensor<4xf32, #cpu>
    weft.yield %e : tensor<4xf32, #cpu>
  }
  // expected-note @+1 {{the gradient is required here}}
  %g = weft.gradient %f wrt %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// An op without a derivative beside the path does not matter.
// CHECK-LABEL: weft.func @beside(
weft.func @beside(%x: tensor<4xf32, #cpu>, %y: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %f = weft.fusion loop (%y) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    %e = weft.exp %a : tensor<4xf32, #cpu>
    weft.yield %e : tensor<4xf32, #cpu>
  }
  %m = weft.mul %f, %x : tensor<4xf32, #cpu>
  // CHECK: weft.constant dense<1.000000e+00>
  // CHECK-NEXT: weft.mul
  // CHECK-NEXT: weft.return
  %g = weft.gradient %m wrt %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// What was recorded without gradients lets none through, and the mark goes with it, so that equal ops merge again.
// CHECK-LABEL: weft.func @detached(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf32, #cpu>)
// CHECK-NEXT:    %[[E:.*]] = weft.exp %[[X]] : tensor<4xf32, #cpu>
// CHECK:         %[[ONE:.*]] = weft.constant dense<1.000000e+00>
// CHECK-NEXT:    %[[G:.*]] = weft.mul %[[ONE]], %[[E]]
// CHECK-NEXT:    weft.return %[[G]]
weft.func @detached(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %e = weft.exp %x {weft.no_grad} : tensor<4xf32, #cpu>
  %m = weft.mul %x, %e : tensor<4xf32, #cpu>
  %g = weft.gradient %m wrt %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>

// The gradient of what was moved comes back to where it was.
// CHECK-LABEL: weft.func @across(
// CHECK:       %[[G:.*]] = weft.mul %{{.*}} : tensor<4xf32, #[[GPU:.*]]>
// CHECK:       %[[BACK:.*]] = weft.transfer %[[G]] to #[[CPU:.*]] : tensor<4xf32, #[[GPU]]>
// CHECK-NEXT:  weft.return %[[BACK]] : tensor<4xf32, #[[CPU]]>
weft.func @across(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %moved = weft.transfer %x to #gpu : tensor<4xf32, #cpu>
  %e = weft.exp %moved : tensor<4xf32, #gpu>
  %g = weft.gradient %e wrt %x : tensor<4xf32, #gpu>, tensor<4xf32, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}
