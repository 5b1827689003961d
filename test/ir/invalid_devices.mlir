// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// expected-note@+1 {{operand #0 is on cpu, and was made here}}
weft.func @two_devices(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-note@+1 {{operand #1 is on cuda:0, and was made here}}
  %w = weft.constant dense<1.0> : tensor<4xf32, #gpu>
  // expected-error@+2 {{'weft.add' op Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1: `weft.transfer ... to <cpu>`, or `.to("cpu")` in C++}}
  %r = weft.add %x, %w : tensor<4xf32, #cpu>, tensor<4xf32, #gpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

// The notes name the first operand and the first that is elsewhere, here the last of three.
#gpu0 = #weft.device<cuda:0>
#gpu1 = #weft.device<cuda:1>
// expected-note@+2 {{operand #0 is on cuda:0, and was made here}}
weft.func @third_operand(
    %c: tensor<4xi1, #gpu0>, %a: tensor<4xf32, #gpu0>,
    // expected-note@+1 {{operand #2 is on cuda:1, and was made here}}
    %b: tensor<4xf32, #gpu1>) {
  // expected-error@+2 {{'weft.select' op Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cuda:1! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #2: `weft.transfer ... to <cuda:0>`, or `.to("cuda:0")` in C++}}
  %r = weft.select %c, %a, %b : tensor<4xi1, #gpu0>, tensor<4xf32, #gpu0>, tensor<4xf32, #gpu1>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// expected-note@+2 {{operand #0 is on cpu, and was made here}}
// expected-note@+1 {{operand #1 is on cuda:0, and was made here}}
weft.func @contraction(%a: tensor<4x8xf32, #cpu>, %b: tensor<8x2xf32, #gpu>) {
  // expected-error@+2 {{'weft.dot_general' op Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1}}
  %r = weft.dot_general %a, %b, contract = [1] x [0] : tensor<4x8xf32, #cpu>, tensor<8x2xf32, #gpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// expected-note@+2 {{operand #0 is on cuda:0, and was made here}}
// expected-note@+1 {{operand #1 is on cpu, and was made here}}
weft.func @loss(%a: tensor<4x8xf32, #gpu>, %t: tensor<4xi64, #cpu>) {
  // expected-error@+2 {{'weft.cross_entropy' op Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (WEFT-P001)}}
  // expected-note@+1 {{to fix, move operand #1: `weft.transfer ... to <cuda:0>`}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean : tensor<4x8xf32, #gpu>, tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#gpu = #weft.device<cuda:0>
// expected-note@+2 {{operand #0 is on cuda:0, and was made here}}
// expected-note@+1 {{operand #1 is on cpu, and was made here}}
weft.func @fused(%a: tensor<4xf32, #gpu>, %b: tensor<4xf32, #cpu>) {
  // expected-error@+2 {{'weft.fusion' op Expected all tensors to be on the same device}}
  // expected-note@+1 {{to fix, move operand #1}}
  %r = weft.fusion loop (%a, %b) : (tensor<4xf32, #gpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #gpu> {
  ^bb0(%x: tensor<4xf32, #gpu>, %y: tensor<4xf32, #cpu>):
    weft.yield %x : tensor<4xf32, #gpu>
  }
  weft.return
}

// -----

// Devices themselves.
// expected-error@+1 {{unknown device kind 'tpu', expected 'cpu' or 'cuda'}}
#bad = #weft.device<tpu>

// -----

// expected-error@+1 {{the device 'cpu' takes no number}}
#bad = #weft.device<cpu:0>

// -----

// expected-error@+1 {{the device 'cuda' needs a number, as in 'cuda:0'}}
#bad = #weft.device<cuda>

// -----

// expected-error@+1 {{device number 128 is not in [0, 127]}}
#bad = #weft.device<cuda:128>

// -----

// expected-error@+1 {{device number -1 is not in [0, 127]}}
#bad = #weft.device<cuda:-1>

// -----

// A tensor without a device, and one of a type that has none of our element types.
weft.func @no_device() {
  // expected-error@+1 {{expected values of a tensor with a device, found 'tensor<4xf32>'}}
  %r = weft.constant dense<1.0> : tensor<4xf32>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{@element_type takes and returns tensors with a device, found 'tensor<4xi7, #weft.device<cpu>>', whose element type is none of i1, i8,}}
weft.func @element_type(%a: tensor<4xi7, #cpu>) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{@signed takes and returns tensors with a device, found 'tensor<4xsi32, #weft.device<cpu>>'}}
weft.func @signed(%a: tensor<4xsi32, #cpu>) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{@dynamic takes and returns tensors with a device, found 'tensor<?xf32, #weft.device<cpu>>', whose device does not name a size for each dynamic dimension}}
weft.func @dynamic(%a: tensor<?xf32, #cpu>) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// A size of zero does not hide the others from the bound.
// expected-error@+1 {{takes and returns tensors with a device, found 'tensor<0x9223372036854775807x4xf64, #weft.device<cpu>>', which may have more than 2^63 bytes}}
weft.func @huge(%a: tensor<0x9223372036854775807x4xf64, #cpu>) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{takes and returns tensors with a device, found 'tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32, #weft.device<cpu>>', which has 65 dimensions, and at most 64 are possible}}
weft.func @rank(%a: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32, #cpu>) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @rank_of_a_result(%a: tensor<1xf32, #cpu>) {
  // expected-error@+1 {{result #0 must be tensor of at most 64 dimensions}}
  %0 = weft.reshape %a : tensor<1xf32, #cpu> -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32, #cpu>
  weft.return
}
