// RUN: weft-opt %s --weft-tie-results -split-input-file -verify-diagnostics | FileCheck %s

#cpu = #weft.device<cpu>
// A write to a donated argument ties the result to it; the value itself is what was written.
// CHECK-LABEL: @write
// CHECK-SAME: -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64})
weft.func @write(%d: tensor<4xf32, #cpu> {weft.donated}, %s: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.add %d, %s : tensor<4xf32, #cpu>
  // CHECK-NOT: copy_into
  // CHECK: weft.return %0
  %1 = weft.copy_into %d, %0 : tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Through a view of the argument; a second write replaces the first.
// CHECK-LABEL: @write_view
// CHECK-SAME: -> (tensor<2x2xf32, #cpu> {weft.tied = 0 : i64})
weft.func @write_view(%d: tensor<2x2xf32, #cpu> {weft.donated}, %s: tensor<4xf32, #cpu>) -> tensor<2x2xf32, #cpu> {
  %v = weft.reshape %d : tensor<2x2xf32, #cpu> -> tensor<4xf32, #cpu>
  %0 = weft.copy_into %v, %s : tensor<4xf32, #cpu>
  %t = weft.neg %s : tensor<4xf32, #cpu>
  %1 = weft.copy_into %0, %t : tensor<4xf32, #cpu>
  // CHECK: %[[N:.*]] = weft.neg
  // CHECK: weft.reshape %[[N]]
  %2 = weft.reshape %1 : tensor<4xf32, #cpu> -> tensor<2x2xf32, #cpu>
  weft.return %2 : tensor<2x2xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Storage of our own: nothing remains of the write.
// CHECK-LABEL: @write_local
// CHECK-NOT: copy_into
weft.func @write_local(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.neg %a : tensor<4xf32, #cpu>
  %1 = weft.copy_into %0, %a : tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Aliases of an argument, and of a result that comes before.
// CHECK-LABEL: @aliases
// CHECK-SAME: tensor<4xf32, #cpu> {weft.alias_of_argument = 0 : i64}
// CHECK-SAME: tensor<2x2xf32, #cpu> {weft.alias_of_result = 1 : i64}
weft.func @aliases(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<2x2xf32, #cpu>) {
  %0 = weft.alias %a : tensor<4xf32, #cpu>
  %1 = weft.neg %a : tensor<4xf32, #cpu>
  %2 = weft.reshape %1 : tensor<4xf32, #cpu> -> tensor<2x2xf32, #cpu>
  %3 = weft.alias %2 : tensor<2x2xf32, #cpu>
  weft.return %0, %1, %3 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<2x2xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Who reads the old value after the write would read the new one.
weft.func @read_later(%d: tensor<4xf32, #cpu> {weft.donated}, %s: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  // expected-error@+2 {{overwrites a value that is read afterwards (WEFT-D006)}}
  // expected-note@+1 {{to fix, read the result of the write, or write to a copy}}
  %0 = weft.copy_into %d, %s : tensor<4xf32, #cpu>
  // expected-note@+1 {{it is read here}}
  %1 = weft.neg %d : tensor<4xf32, #cpu>
  weft.return %0, %1 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// Only a donated argument may be written.
weft.func @not_donated(%d: tensor<4xf32, #cpu>, %s: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{writes argument 0, which is not donated (WEFT-D007); mark it {weft.donated}}}
  %0 = weft.copy_into %d, %s : tensor<4xf32, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// A write that is not returned would be lost.
weft.func @lost(%d: tensor<4xf32, #cpu> {weft.donated}, %s: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{writes argument 0, but what it wrote is not returned (WEFT-D008); return it}}
  %0 = weft.copy_into %d, %s : tensor<4xf32, #cpu>
  weft.return
}

// -----
#cpu = #weft.device<cpu>

// A gradient with respect to what was written is none with respect to what it was made from: they stay two values.
// CHECK-LABEL: weft.func @two_values(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2xf32, #cpu>)
// CHECK:         %[[COPY:.*]] = weft.reshape %[[X]]
// CHECK:         weft.gradient %{{.*}} wrt %[[COPY]], %[[X]]
weft.func @two_values(%x: tensor<2xf32, #cpu>) -> (tensor<2xf32, #cpu>, tensor<2xf32, #cpu>) {
  %0 = weft.neg %x : tensor<2xf32, #cpu>
  %1 = weft.alias %x : tensor<2xf32, #cpu>
  %2:2 = weft.gradient %0 wrt %1, %x : tensor<2xf32, #cpu>, tensor<2xf32, #cpu>, tensor<2xf32, #cpu>
  weft.return %2#0, %2#1 : tensor<2xf32, #cpu>, tensor<2xf32, #cpu>
}
