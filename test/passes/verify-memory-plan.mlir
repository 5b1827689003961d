// RUN: weft-opt %s --split-input-file --verify-diagnostics --weft-verify-memory-plan

#cpu = #weft.device<cpu>

// A sound plan passes: the second product is written when the argument of the first is dead.
weft.func @sound(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 512 : i64} {
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %0, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 256, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// expected-error @below {{has no memory plan}}
weft.func @no_plan(%x: tensor<8x8xf32, #cpu>) {
  weft.return
}

// -----
#cpu = #weft.device<cpu>

weft.func @no_slice(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{needs 1 slices, found 0; run --weft-plan-memory}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @size(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{result #0 needs 256 bytes, but its slice has 128}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 128>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @range(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 256 : i64} {
  // expected-error @below {{result #0 ends at byte 320 of an arena of 256 bytes}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 64, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @alignment(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 512 : i64} {
  // expected-error @below {{starts at byte 32 of the arena, which is no multiple of 64}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 32, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

// A contraction reads its operands while it writes.
weft.func @overlap(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 512 : i64} {
  // expected-note @below {{this value is in bytes [0, 256)}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // expected-error @below {{result #0 overlaps a value that is still needed: bytes [192, 448) of the arena}}
  %1 = weft.dot_general %0, %x, contract = [1] x [0] {slices = [#weft.slice<arena, 192, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %2 = weft.dot_general %1, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %2 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @view(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 256 : i64} {
  // expected-error @below {{is a view, but its slice}}
  %0 = weft.reshape %x {slices = [#weft.slice<arena, 0, 256>]} : tensor<8x8xf32, #cpu> -> tensor<64xf32, #cpu>
  %1 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<result, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %1 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @not_donated(%x: tensor<8x8xf32, #cpu>) -> tensor<8x8xf32, #cpu> attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{is written to argument 0, which is not donated}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<argument, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @other_index(%x: tensor<8x8xf32, #cpu> {weft.donated}) -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}) attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{is written to argument 0, but the launch reads the argument at other indices than it writes}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<argument, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @later_reader(%x: tensor<8x8xf32, #cpu> {weft.donated}, %y: tensor<8x8xf32, #cpu>)
    -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}, tensor<8x8xf32, #cpu>) attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{is written to argument 0, but a later launch reads the argument}}
  %0 = weft.dot_general %y, %y, contract = [1] x [0] {slices = [#weft.slice<argument, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  %1 = weft.dot_general %x, %y, contract = [1] x [0] {slices = [#weft.slice<result, 1, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  weft.return %0, %1 : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @may_fail(%x: tensor<8x8xf32, #cpu> {weft.donated}, %y: tensor<8x8xf32, #cpu>, %i: tensor<3xi64, #cpu>)
    -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}, tensor<3x8xf32, #cpu>) attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{is written to argument 0, but a launch that may fail does not come before it}}
  %0 = weft.dot_general %y, %y, contract = [1] x [0] {slices = [#weft.slice<argument, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // expected-note @below {{this launch may fail}}
  %1 = weft.fusion loop (%y, %i) {slices = [#weft.slice<result, 1, 96>]} : (tensor<8x8xf32, #cpu>, tensor<3xi64, #cpu>) -> tensor<3x8xf32, #cpu> {
  ^bb0(%a: tensor<8x8xf32, #cpu>, %b: tensor<3xi64, #cpu>):
    %2 = weft.gather %a, %b, dim = 0, kind = points : tensor<8x8xf32, #cpu>, tensor<3xi64, #cpu>
    weft.yield %2 : tensor<3x8xf32, #cpu>
  }
  weft.return %0, %1 : tensor<8x8xf32, #cpu>, tensor<3x8xf32, #cpu>
}

// -----
#cpu = #weft.device<cpu>

weft.func @tie(%x: tensor<8x8xf32, #cpu> {weft.donated}, %y: tensor<8x8xf32, #cpu>)
    -> (tensor<8x8xf32, #cpu> {weft.tied = 0 : i64}) attributes {weft.arena_bytes = 256 : i64} {
  %0 = weft.dot_general %y, %y, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 256>]} : tensor<8x8xf32, #cpu>, tensor<8x8xf32, #cpu>
  // expected-error @below {{value #0 is stored in #weft.slice<arena, 0, 256>, expected the storage of argument 0}}
  weft.return %0 : tensor<8x8xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// An alias of an argument is stored where the argument is.
weft.func @alias_elsewhere(%a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu> {weft.alias_of_argument = 1 : i64}) attributes {weft.arena_bytes = 0 : i64} {
  // expected-error@+1 {{value #0 is stored in #weft.slice<argument, 0, 16>, but is to be an alias of argument 1}}
  weft.return %a : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// An alias of an argument that a launch replaces would show the new value.
weft.func @alias_of_written(%a: tensor<4xf32, #cpu> {weft.donated}) -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64}, tensor<4xf32, #cpu> {weft.alias_of_argument = 0 : i64}) attributes {weft.arena_bytes = 0 : i64} {
  %0 = weft.fusion loop (%a) {slices = [#weft.slice<argument, 0, 16>]} : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%x: tensor<4xf32, #cpu>):
    %1 = weft.neg %x : tensor<4xf32, #cpu>
    weft.yield %1 : tensor<4xf32, #cpu>
  }
  // expected-error@+1 {{value #1 is an alias of argument 0, which a launch has written}}
  weft.return %0, %0 : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// An alias of a result is stored where that one is.
weft.func @alias_of_other(%a: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu> {weft.alias_of_result = 0 : i64}) attributes {weft.arena_bytes = 0 : i64} {
  %0 = weft.fusion loop (%a) {slices = [#weft.slice<result, 0, 16>]} : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%x: tensor<4xf32, #cpu>):
    %1 = weft.neg %x : tensor<4xf32, #cpu>
    weft.yield %1 : tensor<4xf32, #cpu>
  }
  // expected-error@+1 {{value #1 is stored in #weft.slice<argument, 0, 16>, but is to be an alias of an earlier result}}
  weft.return %0, %a : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----
#gpu = #weft.device<cuda:0>

// On a device a library writes whether or not the call has failed; on the host, above, it may write an argument.
weft.func @library_on_a_device(%x: tensor<8x8xf32, #gpu>, %s: tensor<8x8xf32, #gpu> {weft.donated}) -> (tensor<8x8xf32, #gpu> {weft.tied = 1 : i64})
    attributes {weft.arena_bytes = 0 : i64} {
  // expected-error @below {{is written to argument 1, but no library call or loop on a device sees whether the call has failed}}
  %0 = weft.dot_general %x, %x, contract = [1] x [0] {slices = [#weft.slice<argument, 1, 256>]} : tensor<8x8xf32, #gpu>, tensor<8x8xf32, #gpu>
  weft.return %0 : tensor<8x8xf32, #gpu>
}
