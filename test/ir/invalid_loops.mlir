// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @negative(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has -1 trips, expected a number that is not negative}}
  %r = weft.scan @body(%h) over() with(), length = -1 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_body(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has the body 'body', which is not a function of this module}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @itself(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.scan' op is in its own body 'itself'}}
  %r = weft.scan @itself(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @operands(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has 2 operands, and its body 'body' has 1 arguments}}
  %r = weft.scan @body(%h) over() with(%h), length = 2 : (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @rows(%h: tensor<4xf32, #cpu>, %x: tensor<3x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has 2 trips, and operand #1 of type 'tensor<3x4xf32, #weft.device<cpu>>' has no first dimension of that size}}
  %r = weft.scan @body(%h) over(%x) with(), length = 2 : (tensor<4xf32, #cpu>, tensor<3x4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @row_type(%h: tensor<4xf32, #cpu>, %x: tensor<2x5xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op passes its body 'body' 'tensor<5xf32, #weft.device<cpu>>' as argument #1, which is 'tensor<4xf32, #weft.device<cpu>>'}}
  %r = weft.scan @body(%h) over(%x) with(), length = 2 : (tensor<4xf32, #cpu>, tensor<2x5xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<f32, #cpu>) {
  %s = weft.sum %h, dims = [0] : tensor<4xf32, #cpu>
  weft.return %h, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
}
weft.func @results(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has 1 carries and 1 results, and its body 'body' has 2 results}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> tensor<f32, #cpu> {
  %s = weft.sum %h, dims = [0] : tensor<4xf32, #cpu>
  weft.return %s : tensor<f32, #cpu>
}
weft.func @carry(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has a body 'body' that returns 'tensor<f32, #weft.device<cpu>>' as carry #0, which begins as 'tensor<4xf32, #weft.device<cpu>>' (WEFT-T002)}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  weft.return %h, %h : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}
weft.func @stack(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has a result #1 of type 'tensor<3x4xf32, #weft.device<cpu>>', expected 'tensor<2x4xf32, #weft.device<cpu>>'}}
  %r:2 = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<3x4xf32, #cpu>)
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu> {weft.donated}) -> tensor<4xf32, #cpu> {
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @donated(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has a body 'body' whose argument #0 has a role, strides or donated storage; a trip passes values only}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-note@+1 {{the effect is here}}
  weft.print %h : tensor<4xf32, #cpu>
  weft.return %h : tensor<4xf32, #cpu>
}
weft.func @effect(%h: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has a body 'body' with the effect of 'weft.print' (WEFT-T001); a trip computes values only, so have the effect after the loop}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  %g = weft.gather %h, %i, dim = 0, kind = along : tensor<4xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}
weft.func @fallible(%h: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) {
  // expected-error@+1 {{'weft.scan' op has a body 'body' that may fail: it needs the attribute may_fail}}
  %r = weft.scan @body(%h) over() with(%i), length = 2 : (tensor<4xf32, #cpu>, tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#dyn = #weft.device<cpu, [batch]>
weft.func private @body(%h: tensor<?xf32, #dyn>) -> tensor<?xf32, #dyn> attributes {weft.symbols = [#weft.symbol<"batch", 1, 8>]} {
  weft.return %h : tensor<?xf32, #dyn>
}
weft.func @range(%h: tensor<?xf32, #dyn>) attributes {weft.symbols = [#weft.symbol<"batch", 1, 16>]} {
  // expected-error@+1 {{'weft.scan' op has a body 'body', where 'batch' goes from 1 to 8 (WEFT-S001); give the symbol of the caller a range inside of it}}
  %r = weft.scan @body(%h) over() with(), length = 2 : (tensor<?xf32, #dyn>) -> tensor<?xf32, #dyn>
  weft.return
}
