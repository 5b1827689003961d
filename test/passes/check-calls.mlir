// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-check-calls=max-ops=5 | FileCheck %s

#cpu = #weft.device<cpu>

// What several functions call is counted in each of them.
// CHECK-LABEL: weft.func private @one
weft.func private @one(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.neg %x : tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}
weft.func @four(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.call @one(%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %1 = weft.call @one(%0) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func private @three(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.neg %x : tensor<4xf32, #cpu>
  %1 = weft.neg %0 : tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}
// expected-error @below {{'main' would have 4 operations once the functions that it calls are part of it, and the module 6 so far; at most 5 are compiled}}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.call @three(%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  %1 = weft.call @three(%0) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func @even(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.call @odd(%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}
weft.func @odd(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error @below {{calls 'even', which calls itself by that: it has no end to be planned}}
  %0 = weft.call @even(%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}
