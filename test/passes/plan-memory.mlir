// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-fuse,weft-plan-memory))' | FileCheck %s
// RUN: weft-opt %s --split-input-file --pass-pipeline='builtin.module(weft.func(weft-fuse,weft-plan-memory,weft-verify-memory-plan))' | FileCheck %s

#cpu = #weft.device<cpu>

// Contractions in a row take turns with two places; the last writes the result; a reshape is where its operand is.
// CHECK-LABEL: weft.func @chain
// CHECK-SAME:    weft.arena_bytes = 512 : i64, weft.arena_lower_bound = 512 : i64
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 256, 256>]
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.reshape {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<result, 0, 256>]
weft.func @chain(%x: tensor<8x8xf32, #cpu>) -> tensor<64xf32, #cpu> {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %3 = weft.reshape %2 : tensor<8x8xf32, #cpu> -> tensor<64xf32, #cpu>
  %4 = weft.neg %3 : tensor<64xf32, #cpu>
  weft.return %4 : tensor<64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// An elementwise kernel replaces an operand that nothing reads afterwards.
// CHECK-LABEL: weft.func @replaces
// CHECK-SAME:    weft.arena_bytes = 256 : i64
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<result, 0, 256>]
weft.func @replaces(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.tanh %0 : tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A tied result is written where its argument is.
// CHECK-LABEL: weft.func @tied
// CHECK-NOT:     weft.decisions
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 0, 256>]
// CHECK-NOT:     weft.fusion
weft.func @tied(%x: tensor<64xf32, #cpu> {weft.donated}, %y: tensor<64xf32, #cpu>) -> (tensor<64xf32, #cpu> {weft.tied = 0 : i64}) {
  %0 = weft.add %x, %y : tensor<64xf32, #cpu>
  weft.return %0 : tensor<64xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The argument is read after the launch that would replace it: a copy at the end.
// CHECK-LABEL: weft.func @later_reader
// CHECK-SAME:    code = "WEFT-D001"
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<result, 1, 256>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 0, 256>]
weft.func @later_reader(%x: tensor<8x8xf32, #cpu> {weft.donated})
    -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}, tensor<8x8xf32, #cpu>) {
  %0 = weft.exp %x : tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %x, %0, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0, %1 : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// The kernel reads the argument transposed; a contraction reads all of it.
// CHECK-LABEL: weft.func @other_index
// CHECK-SAME:    code = "WEFT-D002"
// CHECK-SAME:    256 bytes are copied
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<arena, 0, 256>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 0, 256>]
weft.func @other_index(%x: tensor<8x8xf32, #cpu> {weft.donated}) -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}) {
  %0 = weft.transpose %x, perm = [1, 0] : tensor<8x8xf32, #cpu>
  %1 = weft.exp %0 : tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// An index may be out of range after the state would be written.
// CHECK-LABEL: weft.func @may_fail
// CHECK-SAME:    code = "WEFT-D003"
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<arena,
// CHECK:         weft.gather
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 0, 256>]
weft.func @may_fail(%x: tensor<64xf32, #cpu> {weft.donated}, %y: tensor<9xf32, #cpu>, %i: tensor<3xi64, #cpu>)
    -> (tensor<64xf32, #cpu> {weft.tied = 0 : i64}, tensor<3xf32, #cpu>) {
  %0 = weft.exp %x : tensor<64xf32, #cpu>
  %1 = weft.gather %y, %i, dim = 0, kind = points : tensor<9xf32, #cpu>, tensor<3xi64, #cpu>
  weft.return %0, %1 : tensor<64xf32, #cpu>, tensor<3xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// An argument that is a result, and a value that is two, are copied; an argument tied to itself is not.
// CHECK-LABEL: weft.func @copies
// CHECK-SAME:    code = "WEFT-D004"
// CHECK-SAME:    code = "WEFT-D005"
// CHECK:         %[[N:.*]] = weft.fusion loop {{.*}}slices = [#weft.slice<result, 1, 16>]
// CHECK:         weft.fusion loop (%arg0) {slices = [#weft.slice<result, 0, 16>]}
// CHECK:         weft.fusion loop (%[[N]]) {slices = [#weft.slice<result, 2, 16>]}
// CHECK-NOT:     weft.fusion
weft.func @copies(%x: tensor<4xf32, #cpu>, %y: tensor<4xf32, #cpu> {weft.donated})
    -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu> {weft.tied = 1 : i64}) {
  %0 = weft.neg %x : tensor<4xf32, #cpu>
  weft.return %x, %0, %0, %y : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Two arguments change places: both are saved before either is written.
// CHECK-LABEL: weft.func @swap
// CHECK:         weft.fusion loop (%arg1) {slices = [#weft.slice<arena, 0, 16>]}
// CHECK:         weft.fusion loop (%arg0) {slices = [#weft.slice<arena, 64, 16>]}
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 0, 16>]
// CHECK:         weft.fusion loop {{.*}}slices = [#weft.slice<argument, 1, 16>]
weft.func @swap(%x: tensor<4xf32, #cpu> {weft.donated}, %y: tensor<4xf32, #cpu> {weft.donated})
    -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64}, tensor<4xf32, #cpu> {weft.tied = 1 : i64}) {
  weft.return %y, %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// Constants have a section of their own; equal ones are there once.
// CHECK-LABEL: weft.func @constants
// CHECK:         weft.constant {slices = [#weft.slice<constant, 0, 16>]}
// CHECK:         weft.constant {slices = [#weft.slice<constant, 64, 8>]}
// CHECK:         weft.constant {slices = [#weft.slice<constant, 0, 16>]}
weft.func @constants(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<2xf32, #cpu>) {
  %a = weft.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #cpu>
  %b = weft.constant dense<[1.0, 2.0]> : tensor<2xf32, #cpu>
  %c = weft.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32, #cpu>
  %0 = weft.add %x, %a : tensor<4xf32, #cpu>
  %1 = weft.add %0, %c : tensor<4xf32, #cpu>
  %2 = weft.neg %b : tensor<2xf32, #cpu>
  weft.return %1, %2 : tensor<4xf32, #cpu>, tensor<2xf32, #cpu>
}

// An alias of a result that had to be copied is an alias of the copy.
// CHECK-LABEL: @alias_of_copy
weft.func @alias_of_copy(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<2x2xf32, #cpu> {weft.alias_of_result = 1 : i64}) {
  %0 = weft.dot_general %a, %a, batch = [0] x [0], contract = [] x [] : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  %1 = weft.reshape %0 : tensor<4xf32, #cpu> -> tensor<2x2xf32, #cpu>
  // CHECK: %[[D:.*]] = weft.dot_general
  // CHECK: %[[C:.*]] = weft.fusion loop (%[[D]]) {slices = [#weft.slice<result, 1, 16>]}
  // CHECK: %[[R:.*]] = weft.reshape %[[C]]
  // CHECK: weft.return %[[D]], %[[C]], %[[R]]
  weft.return %0, %0, %1 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<2x2xf32, #cpu>
}

// An alias of an argument needs no storage, unless another result replaces the argument: then it is a copy, WEFT-D009.
// CHECK-LABEL: @alias_of_argument
// CHECK-SAME: {weft.alias_of_argument = 0 : i64}
// CHECK-NOT: weft.fusion
weft.func @alias_of_argument(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu> {weft.alias_of_argument = 0 : i64}) {
  weft.return %a : tensor<4xf32, #cpu>
}
// CHECK-LABEL: @alias_of_replaced
// CHECK-SAME: code = "WEFT-D009"
// CHECK-NOT: weft.alias_of_argument
weft.func @alias_of_replaced(%a: tensor<4xf32, #cpu> {weft.donated}) -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64}, tensor<4xf32, #cpu> {weft.alias_of_argument = 0 : i64}) {
  // CHECK: weft.fusion loop (%arg0) {slices = [#weft.slice<result, 1, 16>]}
  %0 = weft.neg %a : tensor<4xf32, #cpu>
  weft.return %0, %a : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----

// Bytes that fall with a symbol are bounded where they are largest, at its min.
// CHECK-LABEL: weft.func @falling
// CHECK-SAME:    weft.arena_bytes = #weft.size<64 * n + 63936>
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 63936, 64 * n>]
// CHECK:         weft.dot_general {{.*}}slices = [#weft.slice<arena, 0, -64 * n + 64000>]
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#r = #weft.device<cpu, [-1 * n + 1000]>
#rn = #weft.device<cpu, [-1 * n + 1000, n]>
weft.func @falling(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #r>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #rn>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>]} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] : tensor<?x16xf32, #r>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %1, %0, contract = [1] x [1] : tensor<?x16xf32, #r>, tensor<?x16xf32, #n>
  weft.return %2 : tensor<?x?xf32, #rn>
}

// -----

// What does not fall is bounded by its leading symbol, so that a small call takes little, unless that would be more than
// twice the largest number of bytes.
// CHECK-LABEL: weft.func @bounds
// CHECK-SAME:    weft.arena_bytes = #weft.size<128 * n + 128000>
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#more = #weft.device<cpu, [n + 1]>
#most = #weft.device<cpu, [n + 1000]>
#nm = #weft.device<cpu, [n + 1, n + 1000]>
weft.func @bounds(%n: tensor<?xf32, #n>, %a: tensor<?x16xf32, #more>, %b: tensor<?x16xf32, #most>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>]} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] : tensor<?x16xf32, #more>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] : tensor<?x16xf32, #most>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] : tensor<?x16xf32, #more>, tensor<?x16xf32, #most>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// A text of another target's devices is planned, too: what makes a package of it says that they are missing.
// CHECK-LABEL: weft.func @elsewhere
// CHECK-SAME:    "WEFT-D004"{{.*}}the result is an argument; 16 bytes are copied
#cuda0 = #weft.device<cuda:0>
weft.func @elsewhere(%a: tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0> {
  weft.return %a : tensor<4xf32, #cuda0>
}
