// RUN: weft-opt %s --weft-verify-placement -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// A program that moves its tensors where it uses them is placed.
weft.func private @callee(%a: tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0> {
  weft.return %a : tensor<4xf32, #cuda0>
}
weft.func @placed(%a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0> {
  %0 = weft.transfer %a to #cuda0 : tensor<4xf32, #cpu>
  %1 = weft.add %0, %b : tensor<4xf32, #cuda0>
  %2 = weft.call @callee(%1) : (tensor<4xf32, #cuda0>) -> tensor<4xf32, #cuda0>
  weft.return %2 : tensor<4xf32, #cuda0>
}
weft.func @differentiated(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %0 = weft.transfer %a to #cuda0 : tensor<4xf32, #cpu>
  %1 = weft.gradient %0 wrt %a : tensor<4xf32, #cuda0>, tensor<4xf32, #cpu>
  weft.return %1 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// Operands on two devices are refused with both of their places and the fix.
weft.func @two_devices(%a: tensor<4xf32, #cpu>, %b: tensor<4xf32, #cuda0>) -> tensor<4xf32, #cpu> {
  // expected-note @-1 {{operand #0 is on cpu}}
  // expected-note @-2 {{operand #1 is on cuda:0}}
  // expected-error @+2 {{Expected all tensors to be on the same device, but found at least two devices, cpu and cuda:0! (WEFT-P001)}}
  // expected-note @+1 {{to fix, move operand #1: `weft.transfer ... to <cpu>`, or `.to("cpu")` in C++}}
  %0 = weft.add %a, %b : tensor<4xf32, #cpu>, tensor<4xf32, #cuda0>
  weft.return %0 : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

// A tensor without a device may pass the verifier of an op of another dialect, but not this pass; every one is reported.
weft.func @unplaced(%a: tensor<4xf32, #cpu>) {
  // expected-error @+2 {{has result #0 of type 'tensor<4xf32>', which has no device (WEFT-P002)}}
  // expected-note @+1 {{to fix, write the device into the type}}
  %0 = builtin.unrealized_conversion_cast %a : tensor<4xf32, #cpu> to tensor<4xf32>
  // expected-error @+2 {{has operand #0 of type 'tensor<4xf32>', which has no device (WEFT-P002)}}
  // expected-note @+1 {{to fix, write the device into the type}}
  %1 = builtin.unrealized_conversion_cast %0 : tensor<4xf32> to tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// Only a transfer has its result on another device than its operands.
weft.func @moved(%a: tensor<4xf32, #cpu>) -> tensor<4xf32, #cuda0> {
  // expected-note @-1 {{this operand is on cpu}}
  // expected-error @+2 {{has its operands on cpu but result #0 on cuda:0 (WEFT-P001)}}
  // expected-note @+1 {{only `weft.transfer` moves a tensor to another device}}
  %0 = builtin.unrealized_conversion_cast %a : tensor<4xf32, #cpu> to tensor<4xf32, #cuda0>
  weft.return %0 : tensor<4xf32, #cuda0>
}

// -----

#cpu = #weft.device<cpu>
#cuda0 = #weft.device<cuda:0>

// An argument of a call is on the device of the parameter.
weft.func private @takes_cuda(%a: tensor<4xf32, #cuda0>) {
  weft.return
}
weft.func @calls(%a: tensor<4xf32, #cpu>) {
  // expected-error @+1 {{calls 'takes_cuda' as ('tensor<4xf32, #weft.device<cpu>>') -> ()}}
  weft.call @takes_cuda(%a) : (tensor<4xf32, #cpu>) -> ()
  weft.return
}

// -----

#cpu = #weft.device<cpu>

// A scalar of the host is 0-dimensional.
// expected-error @+1 {{has argument #0 of role 'scalar' and type 'tensor<1xf32, #weft.device<cpu>>'; a host scalar is 0-dimensional (WEFT-P003)}}
weft.func @scalars(%a: tensor<1xf32, #cpu> {weft.role = "scalar"}, %b: tensor<f64, #cpu> {weft.role = "scalar"}) {
  weft.return
}
