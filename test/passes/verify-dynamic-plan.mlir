// RUN: weft-opt %s --weft-verify-memory-plan -split-input-file -verify-diagnostics

// Regions of different symbols follow one another: sound for all sizes.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#nm = #weft.device<cpu, [n, m]>
weft.func @sound(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #m>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>], weft.arena_bytes = #weft.size<64 * m + 64 * n>} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * n, 64 * m>]} : tensor<?x16xf32, #m>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * m * n>]} : tensor<?x16xf32, #n>, tensor<?x16xf32, #m>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// One value ends where another begins for some sizes only.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#nm = #weft.device<cpu, [n, m]>
weft.func @overlap(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #m>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>], weft.arena_bytes = #weft.size<128 * m + 64 * n>} {
  // expected-note @+1 {{this value is in bytes [0, 64 * n)}}
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  // expected-error @+1 {{overlaps a value that is still needed: bytes [64 * m, 128 * m) of the arena}}
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * m, 64 * m>]} : tensor<?x16xf32, #m>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * m * n>]} : tensor<?x16xf32, #n>, tensor<?x16xf32, #m>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// Offsets are aligned for all sizes.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#nm = #weft.device<cpu, [n, m]>
weft.func @unaligned(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #m>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>], weft.arena_bytes = #weft.size<64 * m + 64 * n>} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  // expected-error @+1 {{starts at byte 32 * n of the arena, which is no multiple of 64}}
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 32 * n, 64 * m>]} : tensor<?x16xf32, #m>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * m * n>]} : tensor<?x16xf32, #n>, tensor<?x16xf32, #m>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// The arena holds every value at all sizes.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#nm = #weft.device<cpu, [n, m]>
weft.func @outside(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #m>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>], weft.arena_bytes = #weft.size<64 * n + 64>} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  // expected-error @+1 {{ends at byte 64 * m + 64 * n of an arena of 64 * n + 64 bytes}}
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * n, 64 * m>]} : tensor<?x16xf32, #m>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * m * n>]} : tensor<?x16xf32, #n>, tensor<?x16xf32, #m>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// A slice has the bytes of its value as an expression.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#nm = #weft.device<cpu, [n, m]>
weft.func @bytes(%a: tensor<?x16xf32, #n>, %b: tensor<?x16xf32, #m>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x?xf32, #nm>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 64>, #weft.symbol<"m", 1, 8>], weft.arena_bytes = #weft.size<64 * m + 64 * n>} {
  // expected-error @+1 {{needs 64 * n bytes, but its slice has 64 * m}}
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, 64 * m>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * n, 64 * m>]} : tensor<?x16xf32, #m>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * m * n>]} : tensor<?x16xf32, #n>, tensor<?x16xf32, #m>
  weft.return %2 : tensor<?x?xf32, #nm>
}

// -----

// The constant section lies at numbers.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
weft.func @constant(%a: tensor<?x2xf32, #n>) -> tensor<?x2xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 4>], weft.arena_bytes = 0} {
  // expected-error @+1 {{result #0 is stored in #weft.slice<constant, 64 * n, 16>, and the constant section has no sizes that depend on a call}}
  %w = weft.constant {slices = [#weft.slice<constant, 64 * n, 16>]} dense<1.0> : tensor<2x2xf32, #cpu>
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<result, 0, 8 * n>]} : tensor<?x2xf32, #n>, tensor<2x2xf32, #cpu>
  weft.return %0 : tensor<?x2xf32, #n>
}

// -----

// Sizes that fall with a symbol: what is empty at its largest value is not, elsewhere.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#r = #weft.device<cpu, [-1 * n + 1000]>
#rr = #weft.device<cpu, [-1 * n + 1000, -1 * n + 1000]>
#rn = #weft.device<cpu, [-1 * n + 1000, n]>
weft.func @falling(%a: tensor<?x16xf32, #r>, %b: tensor<?x16xf32, #n>, %w: tensor<16x16xf32, #cpu>) -> (tensor<?x?xf32, #rr>, tensor<?x?xf32, #rn>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>], weft.arena_bytes = #weft.size<-64 * n + 128000>} {
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, -64 * n + 64000>]} : tensor<?x16xf32, #r>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, -64 * n + 64000, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %2 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64000, -64 * n + 64000>]} : tensor<?x16xf32, #r>, tensor<16x16xf32, #cpu>
  %3 = weft.dot_general %0, %2, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * n * n + -8000 * n + 4000000>]} : tensor<?x16xf32, #r>, tensor<?x16xf32, #r>
  %4 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 1, -4 * n * n + 4000 * n>]} : tensor<?x16xf32, #r>, tensor<?x16xf32, #n>
  weft.return %3, %4 : tensor<?x?xf32, #rr>, tensor<?x?xf32, #rn>
}

// -----

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
#r = #weft.device<cpu, [-1 * n + 1000]>
#rr = #weft.device<cpu, [-1 * n + 1000, -1 * n + 1000]>
#rn = #weft.device<cpu, [-1 * n + 1000, n]>
weft.func @falling_overlap(%a: tensor<?x16xf32, #r>, %b: tensor<?x16xf32, #n>, %w: tensor<16x16xf32, #cpu>) -> (tensor<?x?xf32, #rr>, tensor<?x?xf32, #rn>)
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>], weft.arena_bytes = #weft.size<-64 * n + 128000>} {
  // expected-note @+1 {{this value is in bytes [0, -64 * n + 64000)}}
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, -64 * n + 64000>]} : tensor<?x16xf32, #r>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %b, %w, contract = [1] x [0] {slices = [#weft.slice<arena, -64 * n + 64000, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  // expected-error @+1 {{result #0 overlaps a value that is still needed: bytes [0, -64 * n + 64000) of the arena}}
  %2 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 0, -64 * n + 64000>]} : tensor<?x16xf32, #r>, tensor<16x16xf32, #cpu>
  %3 = weft.dot_general %0, %2, contract = [1] x [1] {slices = [#weft.slice<result, 0, 4 * n * n + -8000 * n + 4000000>]} : tensor<?x16xf32, #r>, tensor<?x16xf32, #r>
  %4 = weft.dot_general %0, %1, contract = [1] x [1] {slices = [#weft.slice<result, 1, -4 * n * n + 4000 * n>]} : tensor<?x16xf32, #r>, tensor<?x16xf32, #n>
  weft.return %3, %4 : tensor<?x?xf32, #rr>, tensor<?x?xf32, #rn>
}

// -----

// Offsets are compared as numbers of 63 bits.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
weft.func @vast_offset(%a: tensor<?x16xf32, #n>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x16xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1099511627776>], weft.arena_bytes = #weft.size<64 * n * n>} {
  // expected-error @+1 {{starts at byte 64 * n * n + -64 * n of the arena, which cannot be computed in 63 bits where its symbols are largest}}
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * n * n + -64 * n, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %0, %w, contract = [1] x [0] {slices = [#weft.slice<result, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  weft.return %1 : tensor<?x16xf32, #n>
}

// -----

// No value begins before the arena, at any size.
#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
weft.func @before(%a: tensor<?x16xf32, #n>, %w: tensor<16x16xf32, #cpu>) -> tensor<?x16xf32, #n>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1000>], weft.arena_bytes = 64000} {
  // expected-error @+1 {{starts at byte 64 * n + -64000 of the arena, which may be negative in the ranges of its symbols}}
  %0 = weft.dot_general %a, %w, contract = [1] x [0] {slices = [#weft.slice<arena, 64 * n + -64000, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  %1 = weft.dot_general %0, %w, contract = [1] x [0] {slices = [#weft.slice<result, 0, 64 * n>]} : tensor<?x16xf32, #n>, tensor<16x16xf32, #cpu>
  weft.return %1 : tensor<?x16xf32, #n>
}
