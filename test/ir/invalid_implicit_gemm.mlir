// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @shape(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs a shape of four sizes, each at least 1: batch, groups, and the channels and outputs of a group, of which either the batch or the channels may be symbolic}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_outputs(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{needs a shape of four sizes, each at least 1}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 0], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @extents(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs one to three extents, found 0}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @lists(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs extents, window, places, stride, base_dilation and window_dilation of 1 numbers, each at least 1}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1, 1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @step(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs extents, window, places, stride, base_dilation and window_dilation of 1 numbers, each at least 1}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [0], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @low(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{needs low of 1 numbers, found 2}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0, 0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @order(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs an order of the 3 dimensions of the result}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 1] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @both(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has a stride and a base dilation of extent 0}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [2], low = [0], base_dilation = [2], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @reach(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has windows that reach further than those of any launch}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1099511627776], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @padding(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has windows that reach further than those of any launch}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [1099511627776], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @remainders(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has windows that reach further than those of any launch}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [65], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @half(%a: tensor<2x3x8xf16, #cpu>, %w: tensor<4x3x3xf16, #cpu>) {
  // expected-error@+1 {{takes operands of f32, found 'f16' and 'f16'}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf16, #cpu>, tensor<4x3x3xf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @view(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{needs a view of a of an offset and 4 strides, found 4 numbers}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @beyond(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has a view of a that reaches beyond its 48 elements}}
  %y = weft.implicit_gemm %a [1, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @before(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has a view of w that reaches beyond its 36 elements}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [1, 0, 9, 3, -1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @work(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has more multiplications than any launch}}
  %y = weft.implicit_gemm %a [0, 0, 0, 0, 1], %w [0, 0, 0, 0, 1], shape = [1, 1, 1099511627776, 4194304], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#n = #weft.device<cpu, [n]>
weft.func @dynamic(%a: tensor<?x3x8xf32, #n>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{has a view of a that reaches beyond its 24 * n elements}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #n>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @symbolic_outputs(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{of which either the batch or the channels may be symbolic}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, n], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @symbolic_both(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{of which either the batch or the channels may be symbolic}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, n, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @symbolic_order(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{'weft.implicit_gemm' op needs a symbolic batch first in its order}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [1, 0, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @may_be_empty(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 0, 64>]} {
  // expected-error@+1 {{has a size that may be 0: n}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @symbolic_reach(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{has a view of a that reaches beyond its 24 * n elements}}
  %y = weft.implicit_gemm %a [0, 25, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @symbolic_work(%a: tensor<?x3x8xf32, #weft.device<cpu, [n]>>, %w: tensor<4x3x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 1, 36028797018963968>]} {
  // expected-error@+1 {{has more multiplications than any launch}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [n, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #weft.device<cpu, [n]>>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @steps(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has an epilogue of 9 steps, expected at most 8}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["relu", "relu", "relu", "relu", "relu", "relu", "relu", "relu", "relu"] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @unknown_step(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{has an unknown step 'tanh', expected one of add, sub, mul, residual, relu, wide}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["tanh"] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @operands(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{has an epilogue that reads 2 operands, found 1}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["sub", "relu", "mul"] with (%v : tensor<4xf32, #cpu>) : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @operands_alone(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{has an epilogue that reads 0 operands, found 1}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] with (%v : tensor<4xf32, #cpu>) : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @vector(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<2xf32, #cpu>) {
  // expected-error@+1 {{needs a number for each output, found 'tensor<2xf32, #weft.device<cpu>>'}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["add"] with (%v : tensor<2xf32, #cpu>) : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @vector_type(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<4xf64, #cpu>) {
  // expected-error@+1 {{needs a number for each output, found 'tensor<4xf64, #weft.device<cpu>>'}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["add"] with (%v : tensor<4xf64, #cpu>) : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @residual(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>, %v: tensor<2x4x7xf32, #cpu>) {
  // expected-error@+1 {{needs a residual of the result's type, found 'tensor<2x4x7xf32, #weft.device<cpu>>'}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["residual"] with (%v : tensor<2x4x7xf32, #cpu>) : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @types_of_a_gpu(%a: tensor<2x3x8xf64, #gpu>, %w: tensor<4x3x3xf32, #gpu>) -> tensor<2x4x6xf64, #gpu> {
  // expected-error@+1 {{'weft.implicit_gemm' op takes operands of f32, f64, f16 or bf16, found 'f64' and 'f32'}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf64, #gpu>, tensor<4x3x3xf32, #gpu>
  weft.return %y : tensor<2x4x6xf64, #gpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func @winograd_window(%a: tensor<2x3x8x9xf32, #cpu>, %w: tensor<4x3x2x3xf32, #cpu>) -> tensor<2x4x7x7xf32, #cpu> {
  // expected-error@+1 {{has Winograd's method for another convolution than one of f32 on a CPU, of one group and two extents, with a window or places of 3 x 3 and without strides and dilations}}
  %y = weft.implicit_gemm %a [0, 216, 0, 72, 9, 1], %w [0, 0, 18, 6, 3, 1], shape = [2, 1, 3, 4], extents = [8, 9], window = [2, 3], places = [7, 7], stride = [1, 1], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [0, 1, 2, 3] winograd : tensor<2x3x8x9xf32, #cpu>, tensor<4x3x2x3xf32, #cpu>
  weft.return %y : tensor<2x4x7x7xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func @winograd_stride(%a: tensor<2x3x8x9xf32, #cpu>, %w: tensor<4x3x3x3xf32, #cpu>) -> tensor<2x4x6x4xf32, #cpu> {
  // expected-error@+1 {{has Winograd's method for another convolution}}
  %y = weft.implicit_gemm %a [0, 216, 0, 72, 9, 1], %w [0, 0, 27, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8, 9], window = [3, 3], places = [6, 4], stride = [1, 2], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [0, 1, 2, 3] winograd : tensor<2x3x8x9xf32, #cpu>, tensor<4x3x3x3xf32, #cpu>
  weft.return %y : tensor<2x4x6x4xf32, #cpu>
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @winograd_gpu(%a: tensor<2x3x8x9xf32, #gpu>, %w: tensor<4x3x3x3xf32, #gpu>) -> tensor<2x4x6x7xf32, #gpu> {
  // expected-error@+1 {{has Winograd's method for another convolution}}
  %y = weft.implicit_gemm %a [0, 216, 0, 72, 9, 1], %w [0, 0, 27, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8, 9], window = [3, 3], places = [6, 7], stride = [1, 1], low = [0, 0], base_dilation = [1, 1], window_dilation = [1, 1], order = [0, 1, 2, 3] winograd : tensor<2x3x8x9xf32, #gpu>, tensor<4x3x3x3xf32, #gpu>
  weft.return %y : tensor<2x4x6x7xf32, #gpu>
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @wide_doubles(%a: tensor<2x3x8xf64, #gpu>, %w: tensor<4x3x3xf64, #gpu>) -> tensor<2x4x6xf32, #gpu> {
  // expected-error@+1 {{'weft.implicit_gemm' op has the step 'wide' beside others, or for sums of 'f64', expected it alone and of halves}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["wide"] : tensor<2x3x8xf64, #gpu>, tensor<4x3x3xf64, #gpu>
  weft.return %y : tensor<2x4x6xf32, #gpu>
}

// -----

#gpu = #weft.device<cuda:0>
weft.func @wide_relu(%a: tensor<2x3x8xf16, #gpu>, %w: tensor<4x3x3xf16, #gpu>) -> tensor<2x4x6xf32, #gpu> {
  // expected-error@+1 {{'weft.implicit_gemm' op has the step 'wide' beside others, or for sums of 'f16', expected it alone and of halves}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] epilogue ["wide", "relu"] : tensor<2x3x8xf16, #gpu>, tensor<4x3x3xf16, #gpu>
  weft.return %y : tensor<2x4x6xf32, #gpu>
}
