// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @windows_count(%a: tensor<2x3x9xf32, #cpu>) {
  // expected-error@+1 {{'weft.windows' op needs a size, a stride and a dilation for each of the last dimensions, at least one and at most 3; found 2, 1 and 2}}
  %r = weft.windows %a, size = [2, 2], stride = [1], dilation = [1, 1] : tensor<2x3x9xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @windows_none(%a: tensor<2x3x9xf32, #cpu>) {
  // expected-error@+1 {{at least one and at most 3; found 0, 0 and 0}}
  %r = weft.windows %a, size = [], stride = [], dilation = [] : tensor<2x3x9xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @windows_stride(%a: tensor<2x3x9xf32, #cpu>) {
  // expected-error@+1 {{'weft.windows' op puts windows of 2 elements with stride 0 and dilation 1 along extent 0, which has size 9: size, stride and dilation are at least 1}}
  %r = weft.windows %a, size = [2], stride = [0], dilation = [1] : tensor<2x3x9xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @windows_fit(%a: tensor<2x3x9xf32, #cpu>) {
  // expected-error@+1 {{'weft.windows' op puts windows of 4 elements with stride 1 and dilation 3 along extent 0, which has size 9: no window of 10 elements fits}}
  %r = weft.windows %a, size = [4], stride = [1], dilation = [3] : tensor<2x3x9xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @windows_divide(%a: tensor<2x?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{along extent 0, which has size n; a stride has to divide what a dynamic size leaves behind the first window}}
  %r = weft.windows %a, size = [3], stride = [2], dilation = [1] : tensor<2x?xf32, #weft.device<cpu, [n]>>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @windows_proof(%a: tensor<2x?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 2, 64>]} {
  // expected-error@+1 {{'weft.windows' op puts a window of 3 elements along extent 0, which has size n; it cannot be proven that it fits for every value of the symbols}}
  %r = weft.windows %a, size = [3], stride = [1], dilation = [1] : tensor<2x?xf32, #weft.device<cpu, [n]>>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @overlap_add_places(%a: tensor<2x3x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.overlap_add' op adds 4 windows along extent 0; expected the 5 that fit into its size, 7}}
  %r = weft.overlap_add %a, shape = [7], stride = [1], dilation = [1] : tensor<2x3x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @overlap_add_rank(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.overlap_add' op needs a size, a stride and a dilation for each of the last dimensions, at least one and at most 0}}
  %r = weft.overlap_add %a, shape = [7], stride = [1], dilation = [1] : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @overlap_add_fit(%a: tensor<2x3x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.overlap_add' op puts windows of 3 elements with stride 1 and dilation 1 along extent 0, which has size 2}}
  %r = weft.overlap_add %a, shape = [2], stride = [1], dilation = [1] : tensor<2x3x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @overlap_add_dynamic(%a: tensor<?x4xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 1, 64>]} {
  // expected-error@+1 {{'weft.overlap_add' op adds windows of a dynamic size, n, along extent 0; expected a number}}
  %r = weft.overlap_add %a, shape = [n + 3], stride = [1], dilation = [1] : tensor<?x4xf32, #weft.device<cpu, [n]>>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @overlap_add_proof(%a: tensor<3x?xf32, #weft.device<cpu, [n + -2]>>, %b: tensor<?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 2, 64>]} {
  // expected-error@+1 {{'weft.overlap_add' op puts a window of 3 elements along extent 0, which has size n; it cannot be proven that it fits for every value of the symbols}}
  %r = weft.overlap_add %a, shape = [n], stride = [1], dilation = [1] : tensor<3x?xf32, #weft.device<cpu, [n + -2]>>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_rank(%a: tensor<2x4xf32, #cpu>, %w: tensor<6x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op needs an operand and weights of rank 3, 4 or 5, found 2 and 2}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<2x4xf32, #cpu>, tensor<6x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_ranks(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op needs an operand and weights of rank 3, 4 or 5, found 3 and 4}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_element(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf64, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op needs one element type, found 'f32' and weights of 'f64'}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_numbers(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op needs stride, low, high, base_dilation and window_dilation for 1 extents, found 2 numbers}}
  %r = weft.convolution %a, %w, stride = [1], low = [0, 0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_groups(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op cannot divide 4 channels and 6 outputs into 4 groups}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 4 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_no_groups(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op cannot divide 4 channels and 6 outputs into 0 groups}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 0 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_channels(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op needs weights for 2 channels, the operand's 4 in 2 groups; found 4}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 2 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_base(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op has base_dilation 0 of extent 0, expected at least 1}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [0], window_dilation = [1], groups = 1 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_fit(%a: tensor<2x4x9xf32, #cpu>, %w: tensor<6x4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.convolution' op puts windows of 3 elements with stride 1 and dilation 6 along extent 0, which has size 11: no window of 13 elements fits}}
  %r = weft.convolution %a, %w, stride = [1], low = [1], high = [1], base_dilation = [1], window_dilation = [6], groups = 1 : tensor<2x4x9xf32, #cpu>, tensor<6x4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convolution_proof(%a: tensor<2x4x?xf32, #weft.device<cpu, [n]>>, %w: tensor<6x4x3xf32, #cpu>) attributes {weft.symbols = [#weft.symbol<"n", 2, 64>]} {
  // expected-error@+1 {{'weft.convolution' op puts a window of 3 elements along extent 0, which has size n; it cannot be proven that it fits for every value of the symbols}}
  %r = weft.convolution %a, %w, stride = [1], low = [0], high = [0], base_dilation = [1], window_dilation = [1], groups = 1 : tensor<2x4x?xf32, #weft.device<cpu, [n]>>, tensor<6x4x3xf32, #cpu>
  weft.return
}
