// RUN: weft-opt %s --split-input-file --verify-diagnostics

#cpu = #weft.device<cpu>

weft.func @vector(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{'weft.factorize' op needs matrices of f32 or f64, found a of type 'tensor<3xf32, #weft.device<cpu>>'}}
  %q, %r = weft.factorize %a, kind = qr : tensor<3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @halves(%a: tensor<3x3xf16, #cpu>, %b: tensor<3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.triangular_solve' op needs matrices of f32 or f64, found a of type 'tensor<3x3xf16, #weft.device<cpu>>'}}
  %x = weft.triangular_solve %a, %b : tensor<3x3xf16, #cpu>, tensor<3x3xf32, #cpu>
  weft.return
}

// -----

#rows = #weft.device<cpu, [rows]>

weft.func @dynamic(%a: tensor<?x3xf32, #rows>) attributes {weft.symbols = [#weft.symbol<"rows", 1, 8>]} {
  // expected-error@+1 {{'weft.factorize' op needs matrices whose rows and columns are numbers, found a of type 'tensor<?x3xf32, #weft.device<cpu, [rows]>>'}}
  %q, %r = weft.factorize %a, kind = qr : tensor<?x3xf32, #rows>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @not_square(%a: tensor<4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.factorize' op of kind eigh needs square matrices, found 'tensor<4x3xf32, #weft.device<cpu>>'}}
  %w, %v = weft.factorize %a, kind = eigh : tensor<4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @full_lu(%a: tensor<3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.factorize' op of kind lu has one form only, found full}}
  %f, %p, %o = weft.factorize %a, kind = lu full : tensor<3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @right_side(%a: tensor<3x3xf32, #cpu>, %b: tensor<4x1xf32, #cpu>) {
  // expected-error@+1 {{'weft.triangular_solve' op needs square matrices, and right sides with as many rows, of one batch and element type, found 'tensor<3x3xf32, #weft.device<cpu>>' and 'tensor<4x1xf32, #weft.device<cpu>>'}}
  %x = weft.triangular_solve %a, %b : tensor<3x3xf32, #cpu>, tensor<4x1xf32, #cpu>
  weft.return
}
