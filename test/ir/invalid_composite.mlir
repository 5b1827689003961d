// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @softmax(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.softmax' op has dimension 2 outside of rank 2}}
  %r = weft.softmax %a, dim = 2 : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @log_softmax(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.log_softmax' op has dimension -1 outside of rank 2}}
  %r = weft.log_softmax %a, dim = -1 : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @logits(%a: tensor<4xf32, #cpu>, %t: tensor<4xi64, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op needs logits of shape [rows, classes], found [4]}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean : tensor<4xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @target_type(%a: tensor<4x6xf32, #cpu>, %t: tensor<4xi32, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op needs targets of i64, found 'i32'}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean : tensor<4x6xf32, #cpu>, tensor<4xi32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @target_shape(%a: tensor<4x6xf32, #cpu>, %t: tensor<6xi64, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op needs one target per row: logits have shape [4, 6] and targets [6]}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean : tensor<4x6xf32, #cpu>, tensor<6xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_classes(%a: tensor<4x0xf32, #cpu>, %t: tensor<4xi64, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op has no classes: logits have shape [4, 0]}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean : tensor<4x0xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @sgd_nesterov(%p: tensor<4xf32, #cpu>, %step: tensor<i64, #cpu>, %s: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.sgd_step' op with nesterov needs a momentum buffer}}
  %r = weft.sgd_step (%p, %p, step %step, lr %s, momentum %s, dampening %s, decay %s) nesterov
     : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @sgd_shape(%p: tensor<4xf32, #cpu>, %g: tensor<5xf32, #cpu>, %step: tensor<i64, #cpu>,
                     %s: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.sgd_step' op needs g of the parameter's type 'tensor<4xf32, #weft.device<cpu>>', found 'tensor<5xf32, #weft.device<cpu>>'}}
  %r = weft.sgd_step (%p, %g, step %step, lr %s, momentum %s, dampening %s, decay %s)
     : tensor<4xf32, #cpu>, tensor<5xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @adam_type(%p: tensor<4xf32, #cpu>, %v: tensor<4xf64, #cpu>, %step: tensor<i64, #cpu>,
                     %s: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.adam_step' op needs v of the parameter's type 'tensor<4xf32, #weft.device<cpu>>', found 'tensor<4xf64, #weft.device<cpu>>'}}
  %r:3 = weft.adam_step (%p, %p, m %p, v %v, step %step, lr %s, betas %s, %s, eps %s, decay %s)
       : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf64, #cpu>, tensor<i64, #cpu>,
         tensor<f64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @adam_rate(%p: tensor<4xf32, #cpu>, %step: tensor<i64, #cpu>, %s: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.adam_step' op operand #5 must be 0-dimensional f64 tensor with a device}}
  %r:3 = weft.adam_step (%p, %p, m %p, v %p, step %step, lr %s, betas %s, %s, eps %s, decay %s)
       : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<i64, #cpu>,
         tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @class_weights(%a: tensor<4x3xf32, #cpu>, %t: tensor<4xi64, #cpu>, %w: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op needs one weight of 'f32' for each of 3 classes, found 'tensor<4xf32, #weft.device<cpu>>'}}
  %l, %s = weft.cross_entropy %a, %t weight %w, reduction = mean : tensor<4x3xf32, #cpu>, tensor<4xi64, #cpu>, tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @smoothing(%a: tensor<4x3xf32, #cpu>, %t: tensor<4xi64, #cpu>) {
  // expected-error@+1 {{'weft.cross_entropy' op needs a label_smoothing in [0, 1], found 1.5}}
  %l, %s = weft.cross_entropy %a, %t, reduction = mean label_smoothing = 1.5 : tensor<4x3xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @axis(%a: tensor<4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.layer_norm' op normalises from dimension 2 on, expected one in [0, 2), the operand's rank}}
  %y, %m, %r = weft.layer_norm %a, axis = 2, eps = 1.0e-5 : tensor<4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @norm_weight(%a: tensor<4x3xf32, #cpu>, %w: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.layer_norm' op needs its weight of the shape of the normalised dimensions, [3], found [4]}}
  %y, %m, %r = weft.layer_norm %a weight %w, axis = 1, eps = 1.0e-5 : tensor<4x3xf32, #cpu> weight tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @norm_bias(%a: tensor<4x3xf16, #cpu>, %b: tensor<3xbf16, #cpu>) {
  // expected-error@+1 {{'weft.layer_norm' op needs its bias of 'f16', the operand's element type, or of 'f32', found 'bf16'}}
  %y, %m, %r = weft.layer_norm %a bias %b, axis = 1, eps = 1.0e-5 : tensor<4x3xf16, #cpu> bias tensor<3xbf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @norm_eps(%a: tensor<4x3xf32, #cpu>) {
  // expected-error@+1 {{'weft.layer_norm' op needs a finite eps, found nan}}
  %y, %m, %r = weft.layer_norm %a, axis = 1, eps = 0x7FF8000000000000 : tensor<4x3xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @probability(%a: tensor<4xf32, #cpu>, %k: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dropout' op needs a probability in [0, 1], found 1.5}}
  %y, %n = weft.dropout %a, %k, %k, p = 1.5 : tensor<4xf32, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @stream(%a: tensor<4xf32, #cpu>, %k: tensor<i64, #cpu>) {
  // expected-error@+1 {{'weft.dropout' op needs a stream number that is not negative, found -1}}
  %y, %n = weft.dropout %a, %k, %k, p = 0.5 stream = -1 : tensor<4xf32, #cpu>, tensor<i64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @found_inf(%p: tensor<6xf32, #cpu>, %step: tensor<i64, #cpu>, %s: tensor<f64, #cpu>) {
  // expected-error@+1 {{'weft.sgd_step' op operand #7 must be 0-dimensional i1 tensor with a device}}
  %q = weft.sgd_step (%p, %p, step %step, lr %s, momentum %s, dampening %s, decay %s, found_inf %step)
      : tensor<6xf32, #cpu>, tensor<6xf32, #cpu>, tensor<i64, #cpu>, tensor<f64, #cpu> found_inf tensor<i64, #cpu>
  weft.return
}
