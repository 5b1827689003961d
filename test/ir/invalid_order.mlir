// RUN: weft-opt %s --split-input-file --verify-diagnostics

#cpu = #weft.device<cpu>

weft.func @scalar(%a: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.sort' op needs an operand with a dimension, found rank 0}}
  %v, %i = weft.sort %a, count = 1 : tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @too_many(%a: tensor<2x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.sort' op keeps 4 elements of rows of 3}}
  %v, %i = weft.sort %a, count = 4 : tensor<2x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @negative(%a: tensor<2x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.sort' op keeps -1 elements of rows of 3}}
  %v, %i = weft.sort %a, count = -1 : tensor<2x3xf32, #cpu>
  weft.return
}

// -----

#batch = #weft.device<cpu, [batch]>

weft.func @may_be_too_many(%a: tensor<?xf32, #batch>) attributes {weft.symbols = [#weft.symbol<"batch", 2, 64>]} {
  // expected-error@+1 {{'weft.sort' op keeps 3 elements of rows of batch; it cannot be proven that there are as many for every value of the symbols}}
  %v, %i = weft.sort %a, count = 3 : tensor<?xf32, #batch>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @undeclared(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{batch}}
  %v, %i = weft.sort %a, count = batch : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @cummax(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{'weft.cummax' op runs along dimension 1, expected one in [0, 1), the operand's rank}}
  %r = weft.cummax %a, dim = 1 : tensor<3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @cummin(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{'weft.cummin' op runs along dimension -1, expected one in [0, 1), the operand's rank}}
  %r = weft.cummin %a, dim = -1 : tensor<3xf32, #cpu>
  weft.return
}
