// RUN: weft-opt %s -split-input-file -verify-diagnostics

// What cannot be expressed is a failure where it is met, and no wrong size.

// Coefficients have 63 bits.
weft.func @coefficient() {
  // expected-error @+1 {{this size cannot be expressed: its numbers are too large}}
  %0 = weft.dim 9223372036854775807 * n + 9223372036854775807 * n : tensor<i64, #weft.device<cpu>>
  weft.return
}

// -----

// A rounded quotient is no size of a dimension,
weft.func @full(%a: tensor<f32, #weft.device<cpu>>) {
  // expected-error @+1 {{'weft.full' op has a result whose dimension 1 has the size ceildiv(n, 2), and a dimension is a number below 2^63 or a sum of at most 32 products of at most 8 symbols}}
  %0 = weft.full %a, shape = [4, ceildiv(n, 2)] : tensor<f32, #weft.device<cpu>>
  weft.return
}

// -----

// and no position: nothing could be added to it.
#n = #weft.device<cpu, [n]>
weft.func @slice(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 4, 64>]} {
  // expected-error @+1 {{'weft.slice' op has the start ceildiv(n, 4) in dimension 0, expected a number or a sum of products of symbols}}
  %0 = weft.slice %a, start = [ceildiv(n, 4)], limit = [n], step = [1] : tensor<?xf32, #n>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
weft.func @limit(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 4, 64>]} {
  // expected-error @+1 {{'weft.slice' op has the limit ceildiv(n, 4) in dimension 0, expected a number or a sum of products of symbols}}
  %0 = weft.slice %a, start = [0], limit = [ceildiv(n, 4)], step = [1] : tensor<?xf32, #n>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
weft.func @pad(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error @+1 {{'weft.pad' op has the high ceildiv(n, 2) in dimension 0, expected a number or a sum of products of symbols}}
  %0 = weft.pad %a, low = [0], high = [ceildiv(n, 2)], interior = [0] : tensor<?xf32, #n>
  weft.return
}

// -----

#n = #weft.device<cpu, [n]>
weft.func @window(%a: tensor<?xf32, #n>, %i: tensor<i64, #weft.device<cpu>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error @+1 {{'weft.dynamic_slice' op has a result whose dimension 0 has the size ceildiv(n, 2)}}
  %0 = weft.dynamic_slice %a, starts(%i), sizes = [ceildiv(n, 2)] : tensor<?xf32, #n>, tensor<i64, #weft.device<cpu>>
  weft.return
}

// -----

// Every other element of a dynamic dimension is a rounded quotient: it is refused before anything is joined to it.
#n = #weft.device<cpu, [n]>
weft.func @strided_parts(%a: tensor<?xf32, #n>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error @+1 {{'weft.slice' op takes 0:n:2 of dimension 0, which has size n; a step has to divide a dynamic size}}
  %0 = weft.slice %a, start = [0], limit = [n], step = [2] : tensor<?xf32, #n>
  %1 = weft.concat(%0, %0), dim = 0 : tensor<?xf32, #n>, tensor<?xf32, #n>
  weft.return
}

// -----

// Joined, the sizes have more terms than an expression.
#a = #weft.device<cpu, [a0 + a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9 + a10 + a11 + a12 + a13 + a14 + a15]>
#b = #weft.device<cpu, [b0 + b1 + b2 + b3 + b4 + b5 + b6 + b7 + b8 + b9 + b10 + b11 + b12 + b13 + b14 + b15]>
#c = #weft.device<cpu, [c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9 + c10 + c11 + c12 + c13 + c14 + c15]>
weft.func @concat(%a: tensor<?xf32, #a>, %b: tensor<?xf32, #b>, %c: tensor<?xf32, #c>) {
  // expected-error @+1 {{'weft.concat' op has a result whose dimension 0 has the size <inexpressible>, and a dimension is a number below 2^63 or a sum of at most 32 products of at most 8 symbols}}
  %0 = weft.concat(%a, %b, %c), dim = 0 : tensor<?xf32, #a>, tensor<?xf32, #b>, tensor<?xf32, #c>
  weft.return
}

// -----

// Outer and inner dimensions of a product, of 5 symbols each.
#a = #weft.device<cpu, [a * b * c * d * e]>
weft.func @outer(%a: tensor<?xf32, #a>) {
  // expected-error @+1 {{'weft.dot_general' op has a result of more than 2^63 bytes: [a * b * c * d * e, a * b * c * d * e]}}
  %0 = weft.dot_general %a, %a, contract = [] x [] : tensor<?xf32, #a>, tensor<?xf32, #a>
  weft.return
}

// -----

// Lists of integers are no sizes, in the generic form either.
#generic = #weft.device<cpu>
weft.func @generic_form(%a: tensor<f32, #generic>) {
  // expected-error @+1 {{Invalid attribute `size` in property conversion: 3 : i64}}
  %0 = "weft.dim"() <{size = 3 : i64}> : () -> tensor<i64, #generic>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @generic_list(%a: tensor<f32, #cpu>) {
  // expected-error @+1 {{Invalid attribute `shape` in property conversion: array<i64: 1>}}
  %0 = "weft.reshape"(%a) <{shape = array<i64: 1>}> : (tensor<f32, #cpu>) -> tensor<1xf32, #cpu>
  weft.return
}

// -----

// Results are inferred while text is read, before anything was verified.
#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// expected-error @+1 {{@types_without_sizes takes and returns tensors with a device, found 'tensor<?x8xf32, #weft.device<cpu>>', whose device does not name a size for each dynamic dimension}}
weft.func @types_without_sizes(%a: tensor<?x8xf32, #cpu>) -> tensor<f32, #cpu> {
  %0 = weft.transpose %a, perm = [1, 0] : tensor<?x8xf32, #cpu>
  %1 = weft.transfer %a to #gpu : tensor<?x8xf32, #cpu>
  %2 = weft.sum %a, dims = [0, 1] : tensor<?x8xf32, #cpu>
  weft.return %2 : tensor<f32, #cpu>
}
