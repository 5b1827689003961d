// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @ranks(%q: tensor<2x5x8xf32, #cpu>, %k: tensor<7x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs q, k and v of one rank, at least 2, found shapes [2, 5, 8], [7, 8] and [7, 8]}}
  %o, %l = weft.sdpa %q, %k, %k, scale = 1.0 : tensor<2x5x8xf32, #cpu>, tensor<7x8xf32, #cpu>, tensor<7x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @vectors(%q: tensor<8xf32, #cpu>, %l: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa_backward' op needs q, k and v of one rank, at least 2}}
  %a, %b, %c = weft.sdpa_backward %q, %q, %q, %q, %l, %q, scale = 1.0
             : tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<8xf32, #cpu>, tensor<f32, #cpu>, tensor<8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @types(%q: tensor<5x8xf32, #cpu>, %k: tensor<5x8xf16, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs q, k and v of one element type, found 'f32', 'f16' and 'f32'}}
  %o, %l = weft.sdpa %q, %k, %q, scale = 1.0 : tensor<5x8xf32, #cpu>, tensor<5x8xf16, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @batch(%q: tensor<2x5x8xf32, #cpu>, %k: tensor<3x5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs q, k and v of the same dimensions before the last two, found shapes [2, 5, 8], [3, 5, 8] and [3, 5, 8]}}
  %o, %l = weft.sdpa %q, %k, %k, scale = 1.0 : tensor<2x5x8xf32, #cpu>, tensor<3x5x8xf32, #cpu>, tensor<3x5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @features(%q: tensor<5x8xf32, #cpu>, %k: tensor<5x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs keys with as many features as queries, found 4 and 8}}
  %o, %l = weft.sdpa %q, %k, %k, scale = 1.0 : tensor<5x8xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @values(%q: tensor<5x8xf32, #cpu>, %v: tensor<4x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs as many values as keys, found 4 and 5}}
  %o, %l = weft.sdpa %q, %q, %v, scale = 1.0 : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<4x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scale(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs a finite scale, found INF}}
  %o, %l = weft.sdpa %q, %q, %q, scale = 0x7FF0000000000000 : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @mask_type(%q: tensor<5x8xf32, #cpu>, %m: tensor<5x5xf16, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs a mask of i1, 'f32' or 'f32', found 'f16'}}
  %o, %l = weft.sdpa %q, %q, %q mask %m, scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu> mask tensor<5x5xf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @mask_shape(%q: tensor<5x8xf32, #cpu>, %m: tensor<5x4xi1, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs a mask of the sizes of the scores, [5, 5], or 1, found [5, 4]}}
  %o, %l = weft.sdpa %q, %q, %q mask %m, scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu> mask tensor<5x4xi1, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @lse_type(%q: tensor<5x8xf16, #cpu>, %l: tensor<5xf16, #cpu>) {
  // expected-error@+1 {{'weft.sdpa_backward' op needs lse of type 'tensor<5xf32, #weft.device<cpu>>', found 'tensor<5xf16, #weft.device<cpu>>'}}
  %a, %b, %c = weft.sdpa_backward %q, %q, %q, %q, %l, %q, scale = 1.0
             : tensor<5x8xf16, #cpu>, tensor<5x8xf16, #cpu>, tensor<5x8xf16, #cpu>, tensor<5x8xf16, #cpu>, tensor<5xf16, #cpu>, tensor<5x8xf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @shape(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs a shape of at least four numbers, each at least 1: the batch, rows, keys, features and values}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 0, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @order(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs an order of the 2 dimensions of a result}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 0], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @wide(%q: tensor<5x8xf64, #cpu>) {
  // expected-error@+1 {{'weft.attention' op computes in f32, found operands of f64}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf64, #cpu>, tensor<5x8xf64, #cpu>, tensor<5x8xf64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @columns(%q: tensor<5x1025xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op takes up to 1024 features and values, found 1025 and 1}}
  %o, %l = weft.attention %q [0, 1025, 1], %q [0, 1025, 1], %q [0, 1025, 1], shape = [5, 5, 1025, 1], order = [0, 1], scale = 1.0
         : tensor<5x1025xf32, #cpu>, tensor<5x1025xf32, #cpu>, tensor<5x1025xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @infinite(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs a finite scale, found INF}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 0x7FF0000000000000
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @reach(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op has a view of k that reaches beyond its 40 elements}}
  %o, %l = weft.attention %q [0, 8, 1], %q [1, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @strides(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs a view of v of an offset and 2 strides, found 2 numbers}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @negative(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op has a view of q with a negative number}}
  %o, %l = weft.attention %q [39, -8, -1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @operand_type(%q: tensor<5x8xf32, #cpu>, %k: tensor<5x8xf16, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs k of 'f32', the element type of q, found 'f16'}}
  %o, %l = weft.attention %q [0, 8, 1], %k [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf16, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @launch_mask(%q: tensor<5x8xf16, #cpu>, %m: tensor<5x5xi32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs a mask of i1, 'f16' or 'f32', found 'i32'}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1] mask %m [0, 5, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf16, #cpu>, tensor<5x8xf16, #cpu>, tensor<5x8xf16, #cpu> mask tensor<5x5xi32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @launch_lse(%q: tensor<5x8xf32, #cpu>, %l: tensor<6xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs lse of type 'tensor<5xf32, #weft.device<cpu>>', found 'tensor<6xf32, #weft.device<cpu>>'}}
  %dq, %dk, %dv = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1] backward %q [0, 8, 1], %l, %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu> backward tensor<5x8xf32, #cpu>, tensor<6xf32, #cpu>, tensor<5x8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @parts(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs out, lse and grad together, or none of them}}
  %o, %l = "weft.attention"(%q, %q, %q, %q) <{shape = array<i64: 5, 5, 8, 8>, order = array<i64: 0, 1>, q_view = array<i64: 0, 8, 1>, k_view = array<i64: 0, 8, 1>, v_view = array<i64: 0, 8, 1>, scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 1, 0, 0>}>
         : (tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>) -> (tensor<5x8xf32, #cpu>, tensor<5xf32, #cpu>)
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @views(%q: tensor<5x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.attention' op needs a view of every operand, and of no other}}
  %o, %l = "weft.attention"(%q, %q, %q) <{shape = array<i64: 5, 5, 8, 8>, order = array<i64: 0, 1>, q_view = array<i64: 0, 8, 1>, k_view = array<i64: 0, 8, 1>, v_view = array<i64: 0, 8, 1>, out_view = array<i64: 0, 8, 1>, scale = 1.0 : f64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0>}>
         : (tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>, tensor<5x8xf32, #cpu>) -> (tensor<5x8xf32, #cpu>, tensor<5xf32, #cpu>)
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dynamic(%q: tensor<?x8xf32, #weft.device<cpu, [rows]>>) attributes {weft.symbols = [#weft.symbol<"rows", 5, 9>]} {
  // expected-error@+1 {{'weft.attention' op needs sizes that are numbers, found q of type 'tensor<?x8xf32, #weft.device<cpu, [rows]>>'}}
  %o, %l = weft.attention %q [0, 8, 1], %q [0, 8, 1], %q [0, 8, 1], shape = [5, 5, 8, 8], order = [0, 1], scale = 1.0
         : tensor<?x8xf32, #weft.device<cpu, [rows]>>, tensor<?x8xf32, #weft.device<cpu, [rows]>>, tensor<?x8xf32, #weft.device<cpu, [rows]>>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scores_of_too_many(%q: tensor<1099511627776x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.sdpa' op needs scores of at most 2^63 bytes, found [1099511627776, 1099511627776]}}
  %o, %l = weft.sdpa %q, %q, %q, scale = 1.0 : tensor<1099511627776x8xf32, #cpu>, tensor<1099511627776x8xf32, #cpu>, tensor<1099511627776x8xf32, #cpu>
  weft.return
}
