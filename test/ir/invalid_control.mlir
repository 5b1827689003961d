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
// expected-error@+1 {{'weft.func' op gives argument 0 the role "weight", expected "argument", "state", "scalar" or "random"}}
weft.func @role(%x: tensor<4xf32, #cpu> {weft.role = "weight"}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the role 1 : i64, expected "argument", "state", "scalar" or "random"}}
weft.func @role_is_a_number(%x: tensor<4xf32, #cpu> {weft.role = 1}) {
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

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 weft.strides = "row-major" and weft.shape = <<NULL ATTRIBUTE>>, expected arrays of i64}}
weft.func @strides_kind(%x: tensor<4x2xf32, #cpu> {weft.strides = "row-major"}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 of 2 dimensions 1 strides}}
weft.func @strides_rank(%x: tensor<4x2xf32, #cpu> {weft.strides = array<i64: 1>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 strides, and its type 'tensor<?x2xf32, #weft.device<cpu, [n]>>' has dynamic dimensions: such an argument is row-major}}
weft.func @strides_dynamic(%x: tensor<?x2xf32, #weft.device<cpu, [n]>> {weft.strides = array<i64: 1, 4>})
    attributes {weft.symbols = [#weft.symbol<"n", 1, 8>]} {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 strides, and it is donated: memory that is written is row-major}}
weft.func @strides_donated(%x: tensor<4x2xf32, #cpu> {weft.donated, weft.strides = array<i64: 1, 4>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 strides, and it is "state": only what a call brings has strides}}
weft.func @strides_state(%x: tensor<4x2xf32, #cpu> {weft.role = "state", weft.strides = array<i64: 1, 4>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 a negative size in weft.shape}}
weft.func @strides_shape(%x: tensor<4x2xf32, #cpu> {weft.shape = array<i64: 4, -2>, weft.strides = array<i64: 1, 4>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the strides [2, 1], which step through no row-major memory: elements overlap, or a stride is negative; pass a copy}}
weft.func @strides_overlap(%x: tensor<4x3xf32, #cpu> {weft.strides = array<i64: 2, 1>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 strides that reach over too many bytes}}
weft.func @strides_bytes(%x: tensor<4x3xf32, #cpu> {weft.strides = array<i64: 2000000000000000000, 1>}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the type 'tensor<4x2xf32, #weft.device<cpu>>', but its strides step through [2, 4]}}
weft.func @strides_storage(%x: tensor<4x2xf32, #cpu> {weft.shape = array<i64: 4, 2>, weft.strides = array<i64: 1, 4>}) {
  weft.return
}

// -----

// expected-error@+1 {{'weft.func' op gives result 0 the attribute weft.alias_of_result = "result0", expected the number of an argument or of an earlier result}}
weft.func @alias_of_a_name(%a: tensor<4xf32, #weft.device<cpu>>) -> (tensor<4xf32, #weft.device<cpu>> {weft.alias_of_result = "result0"}) {
  weft.return %a : tensor<4xf32, #weft.device<cpu>>
}

// -----

// expected-error@+1 {{'weft.func' op gives result 0 the attribute weft.alias_of_result = 0 : i64, expected the number of an argument or of an earlier result}}
weft.func @alias_of_itself(%a: tensor<4xf32, #weft.device<cpu>>) -> (tensor<4xf32, #weft.device<cpu>> {weft.alias_of_result = 0 : i64}) {
  weft.return %a : tensor<4xf32, #weft.device<cpu>>
}

// -----

// expected-error@+1 {{'weft.func' op gives result 0 the attribute weft.alias_of_argument = 1 : i64, expected the number of an argument or of an earlier result}}
weft.func @alias_of_no_argument(%a: tensor<4xf32, #weft.device<cpu>>) -> (tensor<4xf32, #weft.device<cpu>> {weft.alias_of_argument = 1 : i64}) {
  weft.return %a : tensor<4xf32, #weft.device<cpu>>
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op has the numerics "sloppy", expected "eager" or "fast"}}
weft.func @numerics(%x: tensor<4xf32, #cpu>) attributes {weft.numerics = "sloppy"} {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives arguments 0 and 2 the name 'w', by which values of what is no argument are kept}}
weft.func @state_twice(%a: tensor<4xf32, #cpu> {weft.name = "w", weft.role = "state"}, %b: tensor<4xf32, #cpu> {weft.name = "w"},
                       %c: tensor<4xf32, #cpu> {weft.name = "w", weft.role = "state"}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives arguments 0 and 1 the name 'lr'}}
weft.func @state_and_scalar(%a: tensor<f32, #cpu> {weft.name = "lr", weft.role = "state"},
                            %b: tensor<f32, #cpu> {weft.name = "lr", weft.role = "scalar"}) {
  weft.return
}

// -----

// Arguments are told apart by their position, and so is what has no name.
#cpu = #weft.device<cpu>
weft.func @names(%a: tensor<f32, #cpu> {weft.name = "x"}, %b: tensor<f32, #cpu> {weft.name = "x", weft.role = "argument"},
                 %c: tensor<f32, #cpu> {weft.role = "state"}, %d: tensor<f32, #cpu> {weft.role = "state"},
                 %e: tensor<f32, #cpu> {weft.name = "", weft.role = "scalar"}, %f: tensor<f32, #cpu> {weft.name = "x", weft.role = "state"}) {
  weft.return
}

// -----

// A power of two, at least the bytes of an element, at most those of the widest access.
#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 1 the attribute weft.alignment = 12 : i64, expected a power of two from 4, the bytes of the widest elements that it is read as, to 32}}
weft.func @twelve(%a: tensor<8xf32, #cpu> {weft.alignment = 32 : i64}, %b: tensor<8xf32, #cpu> {weft.alignment = 12 : i64}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the attribute weft.alignment = 4 : i64, expected a power of two from 8}}
weft.func @less_than_an_element(%a: tensor<8xf64, #cpu> {weft.alignment = 4 : i64}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the attribute weft.alignment = 64 : i64, expected a power of two from 1, the bytes of the widest elements that it is read as, to 32}}
weft.func @more_than_an_access(%a: tensor<8xi1, #cpu> {weft.alignment = 64 : i64}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the attribute weft.alignment = "all"}}
weft.func @no_number(%a: tensor<8xi1, #cpu> {weft.alignment = "all"}) {
  weft.return
}

// -----

#cpu = #weft.device<cpu>
// expected-error@+1 {{'weft.func' op gives argument 0 the attribute weft.alignment = 1 : i64, expected a power of two from 4, the bytes of the widest elements that it is read as, to 32}}
weft.func @viewed_as_wider_elements(%a: tensor<16xui8, #cpu> {weft.alignment = 1 : i64}) -> tensor<4xf32, #cpu> {
  %0 = weft.bitcast %a to f32 : tensor<16xui8, #cpu>
  weft.return %0 : tensor<4xf32, #cpu>
}

// -----

#gpu = #weft.device<cuda:0>
// expected-error@+1 {{'weft.func' op gives result 1 the attribute weft.alignment = 2 : i64, expected a power of two from 4, the bytes of its elements, to 32}}
weft.func private @half_an_element(%a: tensor<8xf32, #gpu>) -> (tensor<8xf32, #gpu> {weft.alignment = 4 : i64}, tensor<8xf32, #gpu> {weft.alignment = 2 : i64}) {
  weft.return %a, %a : tensor<8xf32, #gpu>, tensor<8xf32, #gpu>
}
