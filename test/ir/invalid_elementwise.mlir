// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @shapes(%a: tensor<4x8xf32, #cpu>, %b: tensor<8xf32, #cpu>) {
  // expected-error@+1 {{'weft.mul' op needs operands of one shape, but operand #0 has shape [4, 8] and operand #1 has shape [8]; insert weft.broadcast_in_dim}}
  %r = weft.mul %a, %b : tensor<4x8xf32, #cpu>, tensor<8xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @element_types(%a: tensor<4xf32, #cpu>, %b: tensor<4xf16, #cpu>) {
  // expected-error@+1 {{'weft.add' op needs operands of one element type, but operand #0 is 'f32' and operand #1 is 'f16'; insert weft.convert}}
  %r = weft.add %a, %b : tensor<4xf32, #cpu>, tensor<4xf16, #cpu>
  weft.return
}

// -----

// Signedness is part of the element type.
#cpu = #weft.device<cpu>
weft.func @signedness(%a: tensor<4xi8, #cpu>, %b: tensor<4xui8, #cpu>) {
  // expected-error@+1 {{'weft.lt' op needs operands of one element type, but operand #0 is 'i8' and operand #1 is 'ui8'}}
  %r = weft.lt %a, %b : tensor<4xi8, #cpu>, tensor<4xui8, #cpu>
  weft.return
}

// -----

// The condition of a select has the shape of the others, but not their element type.
#cpu = #weft.device<cpu>
weft.func @select_shape(%c: tensor<1xi1, #cpu>, %a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.select' op needs operands of one shape, but operand #1 has shape [4] and operand #0 has shape [1]}}
  %r = weft.select %c, %a, %a : tensor<1xi1, #cpu>, tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @select_branches(%c: tensor<4xi1, #cpu>, %a: tensor<4xf32, #cpu>, %b: tensor<4xf64, #cpu>) {
  // expected-error@+1 {{'weft.select' op needs operands of one element type, but operand #1 is 'f32' and operand #2 is 'f64'}}
  %r = weft.select %c, %a, %b : tensor<4xi1, #cpu>, tensor<4xf32, #cpu>, tensor<4xf64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @select_condition(%c: tensor<4xi8, #cpu>, %a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.select' op operand #0 must be i1 tensor with a device}}
  %r = weft.select %c, %a, %a : tensor<4xi8, #cpu>, tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @float_only(%a: tensor<4xi32, #cpu>) {
  // expected-error@+1 {{'weft.exp' op operand #0 must be floating-point tensor with a device}}
  %r = weft.exp %a : tensor<4xi32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @integer_only(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.xor' op operand #0 must be integer tensor with a device}}
  %r = weft.xor %a, %a : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_arithmetic_on_i1(%a: tensor<4xi1, #cpu>) {
  // expected-error@+1 {{'weft.add' op operand #0 must be tensor of numbers (not i1) with a device}}
  %r = weft.add %a, %a : tensor<4xi1, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @not_a_tensor(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{expected a tensor with a device, found 'i32'}}
  %r = weft.add %a, %a : i32
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @wrong_result(%a: tensor<4xf32, #cpu>) {
  // expected-error@+2 {{'weft.eq' op failed to infer returned types}}
  // expected-error@+1 {{'weft.eq' op inferred type(s) 'tensor<4xi1, #weft.device<cpu>>' are incompatible with return type(s) of operation 'tensor<4xf32, #weft.device<cpu>>'}}
  %r = "weft.eq"(%a, %a) : (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @convert(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.convert' op cannot convert to 'i4': expected i1, i8, i16, i32, i64, ui8, f16, bf16, f32 or f64}}
  %r = weft.convert %a to i4 : tensor<4xf32, #cpu>
  weft.return
}

// -----

// Angles and ratios are no integers: an importer converts first.
#cpu = #weft.device<cpu>
weft.func @atan2_of_integers(%a: tensor<4xi32, #cpu>) {
  // expected-error@+1 {{'weft.atan2' op operand #0 must be floating-point tensor with a device}}
  %r = weft.atan2 %a, %a : tensor<4xi32, #cpu>
  weft.return
}

// -----

// The sign that copysign takes has the type of the magnitude.
#cpu = #weft.device<cpu>
weft.func @copysign_types(%a: tensor<4xf32, #cpu>, %b: tensor<4xf64, #cpu>) {
  // expected-error@+1 {{'weft.copysign' op needs operands of one element type, but operand #0 is 'f32' and operand #1 is 'f64'; insert weft.convert}}
  %r = weft.copysign %a, %b : tensor<4xf32, #cpu>, tensor<4xf64, #cpu>
  weft.return
}

// -----

// All three operands of fma are checked, the last one too.
#cpu = #weft.device<cpu>
weft.func @fma_shapes(%a: tensor<4xf32, #cpu>, %b: tensor<5xf32, #cpu>) {
  // expected-error@+1 {{'weft.fma' op needs operands of one shape, but operand #0 has shape [4] and operand #2 has shape [5]; insert weft.broadcast_in_dim}}
  %r = weft.fma %a, %a, %b : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<5xf32, #cpu>
  weft.return
}

// -----

// fma rounds once, which says nothing of integers.
#cpu = #weft.device<cpu>
weft.func @fma_of_integers(%a: tensor<4xi32, #cpu>) {
  // expected-error@+1 {{'weft.fma' op operand #0 must be floating-point tensor with a device}}
  %r = weft.fma %a, %a, %a : tensor<4xi32, #cpu>
  weft.return
}

// -----

// A remainder of bools has no meaning.
#cpu = #weft.device<cpu>
weft.func @rem_of_bools(%a: tensor<4xi1, #cpu>) {
  // expected-error@+1 {{'weft.rem' op operand #0 must be tensor of numbers (not i1) with a device}}
  %r = weft.rem %a, %a : tensor<4xi1, #cpu>
  weft.return
}
