// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
// What is written has the type of the storage.
weft.func @copy_into_type(%d: tensor<4xf32, #cpu>, %s: tensor<2xf32, #cpu>) {
  // expected-error@+1 {{writes a value of type 'tensor<2xf32, #weft.device<cpu>>' to storage of type 'tensor<4xf32, #weft.device<cpu>>'; insert weft.convert or weft.broadcast_in_dim}}
  %0 = weft.copy_into %d, %s : tensor<4xf32, #cpu>, tensor<2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The result is the storage.
weft.func @copy_into_result(%d: tensor<4xf32, #cpu>) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) 'tensor<4xf32, #weft.device<cpu>>' are incompatible with return type(s) of operation 'tensor<2xf32, #weft.device<cpu>>'}}
  %0 = "weft.copy_into"(%d, %d) : (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<2xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// A write does not move between devices.
// expected-note@+2 {{operand #0 is on cuda:0}}
// expected-note@+1 {{operand #1 is on cpu}}
weft.func @copy_into_devices(%d: tensor<4xf32, #gpu>, %s: tensor<4xf32, #cpu>) {
  // expected-error@+2 {{Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %0 = weft.copy_into %d, %s : tensor<4xf32, #gpu>, tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// The host reads one number, not a tensor.
weft.func @host_vector(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{reads one number, found a tensor of shape [4]; reduce it or take one element of it first}}
  %0 = weft.to_host_scalar %a : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// An assertion looks at truth values.
weft.func @assert_number(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{operand #0 must be i1 tensor with a device}}
  weft.assert %a, "no" : tensor<4xf32, #cpu>
  weft.return
}

// -----

// Streams of a fork: one token each.
weft.func @fork_count() {
  %t = weft.token
  // expected-error@+1 {{forks 2 streams but has 1 tokens; there is one for each}}
  %f = weft.stream_fork %t, streams = [1, 2] : !weft.token
  weft.return
}

// -----

// Streams of a fork: at least one.
weft.func @fork_none() {
  %t = weft.token
  // expected-error@+1 {{needs at least one stream}}
  "weft.stream_fork"(%t) {streams = array<i64>} : (!weft.token) -> ()
  weft.return
}

// -----

// Streams of a fork: numbered from 0.
weft.func @fork_negative() {
  %t = weft.token
  // expected-error@+1 {{needs stream numbers that are not negative, found -1}}
  %f = weft.stream_fork %t, streams = [-1] : !weft.token
  weft.return
}

// -----

// Streams of a fork: each once.
weft.func @fork_twice() {
  %t = weft.token
  // expected-error@+1 {{names stream 3 twice}}
  %f:2 = weft.stream_fork %t, streams = [3, 3] : !weft.token, !weft.token
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// Tokens order ops inside of a function; they are no arguments.
// expected-error@+1 {{@token_argument takes and returns tensors with a device, found '!weft.token'}}
weft.func @token_argument(%t: !weft.token) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// Only a 0-dimensional tensor of the host joins another device.
// expected-note@+2 {{operand #0 is on cpu}}
// expected-note@+1 {{operand #1 is on cuda:0}}
weft.func @host_vector_joins(%s: tensor<1xf32, #cpu>, %x: tensor<4xf32, #gpu>) {
  // expected-error@+2 {{found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %0 = weft.mul %s, %x : tensor<1xf32, #cpu>, tensor<4xf32, #gpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// The reverse does not hold: a 0-dimensional tensor of a CUDA device does not join the host.
// expected-note@+2 {{operand #0 is on cpu}}
// expected-note@+1 {{operand #1 is on cuda:0}}
weft.func @device_scalar(%x: tensor<4xf32, #cpu>, %s: tensor<f32, #gpu>) {
  // expected-error@+2 {{found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %0 = weft.mul %x, %s : tensor<4xf32, #cpu>, tensor<f32, #gpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// A scalar of the host has the element type of the others, as every operand has.
weft.func @host_scalar_type(%x: tensor<4xf32, #gpu>, %s: tensor<f64, #cpu>) {
  // expected-error@+1 {{needs operands of one element type, but operand #0 is 'f32' and operand #1 is 'f64'; insert weft.convert}}
  %0 = weft.mul %x, %s : tensor<4xf32, #gpu>, tensor<f64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// On the host itself shapes agree: there is nothing to mix.
weft.func @host_only(%x: tensor<4xf32, #cpu>, %s: tensor<f32, #cpu>) {
  // expected-error@+1 {{needs operands of one shape, but operand #0 has shape [4] and operand #1 has shape []; insert weft.broadcast_in_dim}}
  %0 = weft.mul %x, %s : tensor<4xf32, #cpu>, tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// Contractions take no scalar of the host.
// expected-note@+2 {{operand #0 is on cuda:0}}
// expected-note@+1 {{operand #1 is on cpu}}
weft.func @contraction(%a: tensor<f32, #gpu>, %b: tensor<f32, #cpu>) {
  // expected-error@+2 {{found at least two devices, cuda:0 and cpu! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %r = weft.dot_general %a, %b, contract = [] x [] : tensor<f32, #gpu>, tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// The reverse of a host index: a tensor of the host is not indexed from elsewhere.
// expected-note@+2 {{operand #0 is on cpu}}
// expected-note@+1 {{operand #1 is on cuda:0}}
weft.func @device_index(%x: tensor<9x4xf32, #cpu>, %i: tensor<5xi64, #gpu>) {
  // expected-error@+2 {{found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %0 = weft.gather %x, %i, dim = 0, kind = points : tensor<9x4xf32, #cpu>, tensor<5xi64, #gpu>
  weft.return
}
