// RUN: weft-opt %s --weft-unroll-scans="least-trips=100 max-ops=50" --split-input-file --verify-diagnostics

#cpu = #weft.device<cpu>
weft.func private @body(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %n = weft.neg %h : tensor<4xf32, #cpu>
  weft.return %n : tensor<4xf32, #cpu>
}
weft.func @long(%h: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error @below {{a loop of 60 trips would become 2 operations for each, more than 50 in all (WEFT-T005)}}
  %r = weft.scan @body(%h) over() with(), length = 60 : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}
