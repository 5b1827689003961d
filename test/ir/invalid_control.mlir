// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @gradient(%x: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.gradient' op needs at least one value to differentiate with respect to}}
  "weft.gradient"(%x) : (tensor<f32, #cpu>) -> ()
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @gradient_of_integers(%x: tensor<i32, #cpu>) {
  // expected-error@+1 {{'weft.gradient' op operand #0 must be floating-point tensor with a device}}
  %g = weft.gradient %x wrt %x : tensor<i32, #cpu>, tensor<i32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op @external has no body}}
weft.func @external(tensor<4xf32, #cpu>)

// -----

// expected-error@+1 {{'weft.func' op @plain takes and returns tensors with a device, found 'f32'}}
weft.func @plain(%x: f32) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op @blocks needs a body of one block}}
weft.func @blocks(%x: tensor<4xf32, #cpu>) {
  weft.return
^bb1:
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op ties result 0 to argument 1, but has 1 arguments}}
weft.func @tied_outside(%x: tensor<4xf32, #cpu> {weft.donated}) -> (tensor<4xf32, #cpu> {weft.tied = 1 : i64}) {
  weft.return %x : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op ties result 0 to argument 0, which is not donated; mark it {weft.donated}}}
weft.func @not_donated(%x: tensor<4xf32, #cpu>) -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64}) {
  weft.return %x : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op ties result 0 of type 'tensor<f32, #weft.device<cpu>>' to argument 0 of type 'tensor<4xf32, #weft.device<cpu>>'}}
weft.func @tied_type(%x: tensor<4xf32, #cpu> {weft.donated}) -> (tensor<f32, #cpu> {weft.tied = 0 : i64}) {
  %r = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r : tensor<f32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op ties results 0 and 1 to the same argument 0}}
weft.func @tied_twice(%x: tensor<4xf32, #cpu> {weft.donated})
    -> (tensor<4xf32, #cpu> {weft.tied = 0 : i64}, tensor<4xf32, #cpu> {weft.tied = 0 : i64}) {
  weft.return %x, %x : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the role 'weight', expected argument, state, scalar or random}}
weft.func @role(%x: tensor<4xf32, #cpu> {weft.role = "weight"}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @returns(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.return' op returns () from a function with the results ('tensor<4xf32, #weft.device<cpu>>')}}
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @calls_nothing(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.call' op calls 'nothing', which is not a function of this module}}
  weft.call @nothing(%x) : (tensor<4xf32, #cpu>) -> ()
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @callee(%x: tensor<4xf32, #cpu>) {
  weft.return
}
weft.func @calls(%x: tensor<5xf32, #cpu>) {
  // expected-error@+1 {{'weft.call' op calls 'callee' as ('tensor<5xf32, #weft.device<cpu>>') -> (), but it is '(tensor<4xf32, #weft.device<cpu>>) -> ()'}}
  weft.call @callee(%x) : (tensor<5xf32, #cpu>) -> ()
  weft.return
}
