// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @shape(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.implicit_gemm' op needs a shape of four numbers, each at least 1: batch, groups, and the channels and outputs of a group}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<2x3x8xf32, #cpu>, tensor<4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_outputs(%a: tensor<2x3x8xf32, #cpu>, %w: tensor<4x3x3xf32, #cpu>) {
  // expected-error@+1 {{needs a shape of four numbers, each at least 1}}
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
  // expected-error@+1 {{needs sizes that are numbers, found a of type}}
  %y = weft.implicit_gemm %a [0, 24, 0, 8, 1], %w [0, 0, 9, 3, 1], shape = [2, 1, 3, 4], extents = [8], window = [3], places = [6], stride = [1], low = [0], base_dilation = [1], window_dilation = [1], order = [0, 1, 2] : tensor<?x3x8xf32, #n>, tensor<4x3x3xf32, #cpu>
  weft.return
}
