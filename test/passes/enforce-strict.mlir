// RUN: weft-opt %s --weft-partition-capture --weft-enforce-strict=strict=donate -split-input-file -o /dev/null
// RUN: weft-opt %s --weft-partition-capture --weft-enforce-strict=strict=capture,fusion -verify-diagnostics -split-input-file
// RUN: not weft-opt %s --weft-pipeline=strict=donate 2>&1 | FileCheck %s --check-prefix=UPDATE
// RUN: not weft-opt %s --weft-enforce-strict=strict=everything 2>&1 | FileCheck %s

// CHECK: there is no strict mode 'everything', expected fusion, donate, capture or recompile

#cpu = #weft.device<cpu>
// What cuts a graph is an error at its line where capture is strict, and nothing where another family is. Notes are
// none either.
// expected-note@+1 {{to fix, print outside of the compiled function}}
weft.func @printed(%a: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.dot_general %a, %a, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // expected-error@+1 {{weft.print: the host prints this value; the graph ends here (WEFT-C002, an error under strict=capture)}}
  weft.print %0 : tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// The base of an update that is copied is a copy as any other: an error where donate is strict.
// UPDATE: error: base of an update: the base is an argument that the function does not replace by the result{{.*}}; 144 bytes are copied (WEFT-D012, an error under strict=donate)
// UPDATE: note: to fix, let the update replace its base
weft.func @updated(%a: tensor<9x4xf32, #cpu>, %u: tensor<6x4xf32, #cpu>, %i: tensor<i64, #cpu>) -> tensor<9x4xf32, #cpu> {
  %r = weft.dynamic_update_slice %a, %u, starts(%i, %i) : tensor<9x4xf32, #cpu>, tensor<6x4xf32, #cpu>, tensor<i64, #cpu>, tensor<i64, #cpu>
  weft.return %r : tensor<9x4xf32, #cpu>
}
