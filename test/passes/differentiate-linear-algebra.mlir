// RUN: weft-opt %s --weft-differentiate --verify-diagnostics

#cpu = #weft.device<cpu>

weft.func @full_qr(%a: tensor<4x3xf32, #cpu>) -> tensor<4x3xf32, #cpu> {
  // expected-error@+1 {{'weft.factorize' op has no derivative of full results for matrices with more rows than columns (WEFT-G001), found 'tensor<4x3xf32, #weft.device<cpu>>'}}
  %q, %r = weft.factorize %a, kind = qr full : tensor<4x3xf32, #cpu>
  %g = weft.gradient %q wrt %a : tensor<4x4xf32, #cpu>, tensor<4x3xf32, #cpu>
  weft.return %g : tensor<4x3xf32, #cpu>
}
