// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @constant_type() {
  // expected-error@+1 {{'weft.constant' op holds a value of type 'tensor<4xf32, #weft.device<cpu>>' but has the result type 'tensor<2xf32, #weft.device<cpu>>'}}
  %r = "weft.constant"() {value = dense<1.0> : tensor<4xf32, #cpu>} : () -> tensor<2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @constant_elided() {
  // expected-error@+1 {{'weft.constant' op refers to the resource 'w', which has no data: the text was printed with its constants elided}}
  %r = weft.constant dense_resource<w> : tensor<2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @constant_bytes() {
  // expected-error@+1 {{'weft.constant' op needs 12 bytes but the resource 'w' has 8}}
  %r = weft.constant dense_resource<w> : tensor<3xf32, #cpu>
  weft.return
}
{-#
  dialect_resources: { builtin: { w: "0x040000000000803F00000040" } }
#-}

// -----

#cpu = #weft.device<cpu>
weft.func @full(%s: tensor<1xf32, #cpu>) {
  // expected-error@+1 {{'weft.full' op needs a 0-dimensional value, found shape [1]}}
  %r = weft.full %s, shape = [4] : tensor<1xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @negative_size(%s: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.full' op needs sizes that are not negative, found -4}}
  %r = weft.full %s, shape = [2, -4] : tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @too_large(%s: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.full' op has a result of more than 2^63 bytes: [4294967296, 4294967296]}}
  %r = weft.full %s, shape = [4294967296, 4294967296] : tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @iota() {
  // expected-error@+1 {{'weft.iota' op counts along dimension 1, but the result has rank 1}}
  %r = weft.iota dim = 1 : tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @iota_negative() {
  // expected-error@+1 {{'weft.iota' op counts along dimension -1, but the result has rank 1}}
  %r = weft.iota dim = -1 : tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @philox(%k: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.rng_bits_philox' op needs a stream number that is not negative, found -2}}
  %r, %n = weft.rng_bits_philox %k, %k, shape = [4] stream = -2 : tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @philox_key(%k: tensor<2xi64, #cpu>) {
  // expected-error@+1 {{'weft.rng_bits_philox' op operand #0 must be 0-dimensional i64 tensor with a device}}
  %r, %n = weft.rng_bits_philox %k, %k, shape = [4] : tensor<2xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @broadcast_rank(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{'weft.broadcast_in_dim' op needs one entry of dims per operand dimension: rank 1, dims [0, 1]}}
  %r = weft.broadcast_in_dim %a, dims = [0, 1] : tensor<3xf32, #cpu> -> tensor<3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @broadcast_outside(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{'weft.broadcast_in_dim' op has dim 2 outside of rank 2}}
  %r = weft.broadcast_in_dim %a, dims = [2] : tensor<3xf32, #cpu> -> tensor<3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @broadcast_order(%a: tensor<3x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.broadcast_in_dim' op needs dims in increasing order, found [1, 0]}}
  %r = weft.broadcast_in_dim %a, dims = [1, 0] : tensor<3x3xf32, #cpu> -> tensor<3x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @broadcast_size(%a: tensor<3x2xf32, #cpu>) {
  // expected-error@+1 {{'weft.broadcast_in_dim' op cannot stretch dimension 1 of size 2 to size 4 (dimension 2 of the result)}}
  %r = weft.broadcast_in_dim %a, dims = [0, 2] : tensor<3x2xf32, #cpu> -> tensor<3x5x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
weft.func @broadcast_device(%a: tensor<3xf32, #cpu>) {
  // expected-error@+2 {{'weft.broadcast_in_dim' op failed to infer returned types}}
  // expected-error@+1 {{'weft.broadcast_in_dim' op inferred type(s) 'tensor<3xf32, #weft.device<cpu>>' are incompatible with return type(s) of operation 'tensor<3xf32, #weft.device<cuda:0>>'}}
  %r = weft.broadcast_in_dim %a, dims = [0] : tensor<3xf32, #cpu> -> tensor<3xf32, #gpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @broadcast_to(%a: tensor<3xf32, #cpu>) {
  // expected-error@+1 {{expected a ranked tensor type after '->'}}
  %r = weft.broadcast_in_dim %a, dims = [0] : tensor<3xf32, #cpu> -> f32
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @reshape(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.reshape' op cannot turn 24 elements of shape [4, 6] into 25 of shape [5, 5]}}
  %r = weft.reshape %a : tensor<4x6xf32, #cpu> -> tensor<5x5xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @transpose(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.transpose' op needs a permutation of 0 to 1, found [0, 0]}}
  %r = weft.transpose %a, perm = [0, 0] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @slice_rank(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.slice' op needs start, limit and step of rank 2}}
  %r = weft.slice %a, start = [0], limit = [4, 6], step = [1, 1] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @slice_limit(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.slice' op takes 0:7:1 of dimension 1, which has size 6}}
  %r = weft.slice %a, start = [0, 0], limit = [4, 7], step = [1, 1] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @slice_step(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.slice' op takes 0:4:0 of dimension 0, which has size 4}}
  %r = weft.slice %a, start = [0], limit = [4], step = [0] : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @slice_backward(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.slice' op takes 3:2:1 of dimension 0, which has size 4}}
  %r = weft.slice %a, start = [3], limit = [2], step = [1] : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @pad_rank(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op needs low, high and interior of rank 1}}
  %r = weft.pad %a, low = [0, 0], high = [0], interior = [0] : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @pad_overflow(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op makes dimension 0 larger than 2^63}}
  %r = weft.pad %a, low = [0], high = [0], interior = [9223372036854775807] : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @pad_bytes(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.pad' op has a result of more than 2^63 bytes: [4611686018427387908]}}
  %r = weft.pad %a, low = [4611686018427387904], high = [0], interior = [0] : tensor<4xf32, #cpu>
  weft.return
}
