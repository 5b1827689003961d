// RUN: weft-opt %s --split-input-file --verify-diagnostics

#cpu = #weft.device<cpu>

weft.func @halves(%a: tensor<8x2xf16, #cpu>) {
  // expected-error@+1 {{'weft.fft' op needs elements of f32 or f64, found 'tensor<8x2xf16, #weft.device<cpu>>'}}
  %y = weft.fft %a, kind = c2c dim = 0 length = 8 scale = 1.0 : tensor<8x2xf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @real(%a: tensor<8x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op of kind c2r needs complex numbers, which are a last dimension of 2, found 'tensor<8x3xf32, #weft.device<cpu>>'}}
  %y = weft.fft %a, kind = c2r dim = 0 length = 14 scale = 1.0 : tensor<8x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @pairs(%a: tensor<8x2xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op has dimension 1, which is out of range for 'tensor<8x2xf32, #weft.device<cpu>>'}}
  %y = weft.fft %a, kind = c2c dim = 1 length = 2 scale = 1.0 : tensor<8x2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @empty(%a: tensor<0x2xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op needs a length of 1 to 2^40, found 0}}
  %y = weft.fft %a, kind = c2c dim = 0 length = 0 scale = 1.0 : tensor<0x2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @infinite(%a: tensor<8xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op needs a finite scale}}
  %y = weft.fft %a, kind = r2c dim = 0 length = 8 scale = 0x7FF0000000000000 : tensor<8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @form(%a: tensor<8x2xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op of kind c2c has one form only, found adjoint}}
  %y = weft.fft %a, kind = c2c dim = 0 length = 8 scale = 1.0 adjoint : tensor<8x2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @length(%a: tensor<8x2xf32, #cpu>) {
  // expected-error@+1 {{'weft.fft' op of kind c2r and length 8 needs 5 elements in dimension 0, found 'tensor<8x2xf32, #weft.device<cpu>>'}}
  %y = weft.fft %a, kind = c2r dim = 0 length = 8 scale = 1.0 : tensor<8x2xf32, #cpu>
  weft.return
}

// -----

#rows = #weft.device<cpu, [rows]>

weft.func @dynamic(%a: tensor<?x2xf32, #rows>) attributes {weft.symbols = [#weft.symbol<"rows", 1, 8>]} {
  // expected-error@+1 {{'weft.fft' op of kind c2c and length 8 needs 8 elements in dimension 0, found 'tensor<?x2xf32, #weft.device<cpu, [rows]>>'}}
  %y = weft.fft %a, kind = c2c dim = 0 length = 8 scale = 1.0 : tensor<?x2xf32, #rows>
  weft.return
}
