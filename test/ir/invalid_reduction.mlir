// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @outside(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.sum' op has dimension 2 outside of rank 2}}
  %r = weft.sum %a, dims = [0, 2] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @order(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.rmax' op needs dimensions in increasing order, found [1, 0]}}
  %r = weft.rmax %a, dims = [1, 0] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @twice(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.rmin' op needs dimensions in increasing order, found [1, 1]}}
  %r = weft.rmin %a, dims = [1, 1] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @empty_max(%a: tensor<4x0xf32, #cpu>) {
  // expected-error@+1 {{'weft.rmax' op has no value over dimension 1, which has size 0}}
  %r = weft.rmax %a, dims = [1] : tensor<4x0xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @empty_min(%a: tensor<0x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.rmin' op has no value over dimension 0, which has size 0}}
  %r = weft.rmin %a, dims = [0, 1] : tensor<0x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @empty_argmax(%a: tensor<4x0xf32, #cpu>) {
  // expected-error@+1 {{'weft.argmax' op has no value over dimension 1, which has size 0}}
  %r = weft.argmax %a, dim = 1 : tensor<4x0xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @argmax_dim(%a: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.argmax' op has dimension -1 outside of rank 1}}
  %r = weft.argmax %a, dim = -1 : tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @gather_dim(%a: tensor<4xf32, #cpu>, %i: tensor<2xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op has dimension 1 outside of rank 1}}
  %r = weft.gather %a, %i, dim = 1, kind = points : tensor<4xf32, #cpu>, tensor<2xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @gather_index_type(%a: tensor<4xf32, #cpu>, %i: tensor<2xi8, #cpu>) {
  // expected-error@+1 {{'weft.gather' op needs an index of i64 or i32, found 'i8'}}
  %r = weft.gather %a, %i, dim = 0, kind = points : tensor<4xf32, #cpu>, tensor<2xi8, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @gather_rank(%a: tensor<4x5xf32, #cpu>, %i: tensor<2xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op along a dimension needs an index of the operand's rank 2, found rank 1}}
  %r = weft.gather %a, %i, dim = 0, kind = along : tensor<4x5xf32, #cpu>, tensor<2xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @gather_size(%a: tensor<4x5xf32, #cpu>, %i: tensor<9x6xi64, #cpu>) {
  // expected-error@+1 {{'weft.gather' op has an index of size 6 in dimension 1, where the operand has size 5}}
  %r = weft.gather %a, %i, dim = 0, kind = along : tensor<4x5xf32, #cpu>, tensor<9x6xi64, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_pairs(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op pairs 2 contracted dimensions of a with 1 of b}}
  %r = weft.dot_general %a, %b, contract = [0, 1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_outside(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op has a batch dimension outside of the operands: 0 of rank 2 and 3 of rank 2}}
  %r = weft.dot_general %a, %b, batch = [0] x [3], contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_sizes(%a: tensor<4x5xf32, #cpu>, %b: tensor<6x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op pairs contracted dimension 1 of a, of size 5, with dimension 0 of b, of size 6}}
  %r = weft.dot_general %a, %b, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<6x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_twice(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op names a dimension twice}}
  %r = weft.dot_general %a, %b, batch = [1] x [0], contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_types(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf16, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op needs operands of one element type, found 'f32' and 'f16'; insert weft.convert}}
  %r = weft.dot_general %a, %b, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf16, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_i1(%a: tensor<4x4xi1, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op cannot contract i1; convert to a number first}}
  %r = weft.dot_general %a, %a, contract = [1] x [0] : tensor<4x4xi1, #cpu>, tensor<4x4xi1, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_bias(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x6xf32, #cpu>, %c: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op needs a bias of the result's last dimension and element type, found 'tensor<4xf32, #weft.device<cpu>>' for the result 'tensor<4x6xf32, #weft.device<cpu>>'}}
  %r = weft.dot_general %a, %b, bias %c, contract = [1] x [0]
     : tensor<4x5xf32, #cpu>, tensor<5x6xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_without_end(%a: tensor<4194304x4194304xf32, #cpu>) {
  // expected-error@+1 {{'weft.dot_general' op of 'tensor<4194304x4194304xf32, #weft.device<cpu>>' and 'tensor<4194304x4194304xf32, #weft.device<cpu>>' takes more than 2^62 multiplications, which no machine ends; use smaller tensors}}
  %r = weft.dot_general %a, %a, contract = [1] x [0] : tensor<4194304x4194304xf32, #cpu>, tensor<4194304x4194304xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @dot_not_a_tensor(%a: tensor<4x5xf32>) {
  // expected-error@+1 {{expected tensors with a device, found 'tensor<4x5xf32>'}}
  %r = weft.dot_general %a, %a, contract = [1] x [1] : tensor<4x5xf32>, tensor<4x5xf32>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @prod(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.prod' op has dimension 2 outside of rank 2}}
  %r = weft.prod %a, dims = [2] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @any(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.any' op operand #0 must be i1 tensor with a device}}
  %r = weft.any %a, dims = [1] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @welford(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.welford' op needs dimensions in increasing order, found [1, 0]}}
  %m, %s, %n = weft.welford %a, dims = [1, 0] : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @welford_of_integers(%a: tensor<4x6xi32, #cpu>) {
  // expected-error@+1 {{'weft.welford' op operand #0 must be floating-point tensor with a device}}
  %m, %s, %n = "weft.welford"(%a) <{dims = array<i64: 1>}> : (tensor<4x6xi32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<i64, #cpu>)
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @argmin_of_nothing(%a: tensor<4x0xf32, #cpu>) {
  // expected-error@+1 {{'weft.argmin' op has no value over dimension 1, which has size 0}}
  %r = weft.argmin %a, dim = 1 : tensor<4x0xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @argmin_outside(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.argmin' op has dimension -1 outside of rank 2}}
  %r = weft.argmin %a, dim = -1 : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @cumsum(%a: tensor<4x6xf32, #cpu>) {
  // expected-error@+1 {{'weft.cumsum' op runs along dimension 2, expected one in [0, 2), the operand's rank}}
  %r = weft.cumsum %a, dim = 2 : tensor<4x6xf32, #cpu>
  weft.return
}

// -----

// A 0-dimensional tensor has no dimension to run along.
#cpu = #weft.device<cpu>
weft.func @cumprod(%a: tensor<f32, #cpu>) {
  // expected-error@+1 {{'weft.cumprod' op runs along dimension 0, expected one in [0, 0), the operand's rank}}
  %r = weft.cumprod %a, dim = 0 : tensor<f32, #cpu>
  weft.return
}

// -----

#cpu = #weft.device<cpu>

weft.func @residual(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>, %r: tensor<4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  // expected-error@+1 {{'weft.dot_general' op needs a residual of the result's type, found 'tensor<4xf32, #weft.device<cpu>>' for the result 'tensor<4x4xf32, #weft.device<cpu>>'}}
  %0 = weft.dot_general %a, %b, residual %r, contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<4xf32, #cpu>
  weft.return %0 : tensor<4x4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func @more_bias(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>, %c: tensor<4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  // expected-error@+1 {{'weft.dot_general' op adds further products without a bias and relu only}}
  %0 = weft.dot_general %a, %b, bias %c, plus (%a, %b), contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<4xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>
  weft.return %0 : tensor<4x4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func @more_half(%a: tensor<4x5xf16, #cpu>, %b: tensor<5x4xf16, #cpu>) -> tensor<4x4xf16, #cpu> {
  // expected-error@+1 {{'weft.dot_general' op adds further products of f32 and f64 only, found 'f16'}}
  %0 = weft.dot_general %a, %b, plus (%a, %b), contract = [1] x [0] : tensor<4x5xf16, #cpu>, tensor<5x4xf16, #cpu>, tensor<4x5xf16, #cpu>, tensor<5x4xf16, #cpu>
  weft.return %0 : tensor<4x4xf16, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func @more_odd(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  // expected-error@+1 {{'weft.dot_general' op needs pairs of operands after 'plus', found 1 operands}}
  %0 = weft.dot_general %a, %b, plus (%a), contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<4x5xf32, #cpu>
  weft.return %0 : tensor<4x4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>

weft.func @more_types(%a: tensor<4x5xf32, #cpu>, %b: tensor<5x4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  // expected-error@+1 {{'weft.dot_general' op needs further operands of the types of a and b, found 'tensor<4x5xf32, #weft.device<cpu>>' instead of 'tensor<5x4xf32, #weft.device<cpu>>'}}
  %0 = weft.dot_general %a, %b, plus (%a, %a), contract = [1] x [0] : tensor<4x5xf32, #cpu>, tensor<5x4xf32, #cpu>, tensor<4x5xf32, #cpu>, tensor<4x5xf32, #cpu>
  weft.return %0 : tensor<4x4xf32, #cpu>
}
