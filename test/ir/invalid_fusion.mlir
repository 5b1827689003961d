// RUN: weft-opt %s -split-input-file -verify-diagnostics

#cpu = #weft.device<cpu>
weft.func @kind(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{unknown kind of fusion 'tile', expected loop, row, column, multi_tensor, scan or update}}
  %r = weft.fusion tile (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield %a : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @arguments(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has operands ('tensor<4xf32, #weft.device<cpu>>') but block arguments ('tensor<5xf32, #weft.device<cpu>>')}}
  %r = weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> tensor<5xf32, #cpu> {
  ^bb0(%a: tensor<5xf32, #cpu>):
    weft.yield %a : tensor<5xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @yields(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op needs a weft.yield of its results ('tensor<5xf32, #weft.device<cpu>>')}}
  %r = weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> tensor<5xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield %a : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_results(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has no results}}
  weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> () {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @slices(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has 1 results but 2 slices}}
  %r = weft.fusion loop (%x) {slices = [#weft.slice<arena, 0, 16>, #weft.slice<arena, 64, 16>]}
      : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield %a : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

// An optimiser step stands in no other kind of fusion, and nothing else stands in its kind.
#cpu = #weft.device<cpu>
weft.func @multi_tensor(%x: tensor<4xf32, #cpu>) {
  %r = weft.fusion multi_tensor (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    // expected-error@+1 {{'weft.neg' op cannot be in a fusion of kind multi_tensor}}
    %n = weft.neg %a : tensor<4xf32, #cpu>
    weft.yield %n : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @composite(%x: tensor<4xf32, #cpu>) {
  %r = weft.fusion row (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    // expected-error@+1 {{'weft.softmax' op cannot be in a fusion}}
    %n = weft.softmax %a, dim = 0 : tensor<4xf32, #cpu>
    weft.yield %n : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @contraction(%x: tensor<4x4xf32, #cpu>) {
  %r = weft.fusion loop (%x) : (tensor<4x4xf32, #cpu>) -> tensor<4x4xf32, #cpu> {
  ^bb0(%a: tensor<4x4xf32, #cpu>):
    // expected-error@+1 {{'weft.dot_general' op cannot be in a fusion}}
    %n = weft.dot_general %a, %a, contract = [1] x [0] : tensor<4x4xf32, #cpu>, tensor<4x4xf32, #cpu>
    weft.yield %n : tensor<4x4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @loop_reduction(%x: tensor<4xf32, #cpu>) {
  %r = weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> tensor<f32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    // expected-error@+1 {{'weft.sum' op cannot be in a fusion of kind loop, which has no reductions}}
    %n = weft.sum %a, dims = [0] : tensor<4xf32, #cpu>
    weft.yield %n : tensor<f32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_without_reduction(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op of kind row has no reduction}}
  %r = weft.fusion row (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield %a : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

// Rows reduce the last dimensions, or lie in pieces; columns reduce others that follow each other.
#cpu = #weft.device<cpu>
weft.func @row_of_columns(%x: tensor<4x8xf32, #cpu>) {
  %r = weft.fusion row (%x) : (tensor<4x8xf32, #cpu>) -> tensor<8xf32, #cpu> {
  ^bb0(%a: tensor<4x8xf32, #cpu>):
    // expected-error@+1 {{'weft.sum' op reduces dimensions [0] of [4, 8], but this fusion's reductions reduce [1] of [4, 8]}}
    %n = weft.sum %a, dims = [0] : tensor<4x8xf32, #cpu>
    weft.yield %n : tensor<8xf32, #cpu>
  }
  weft.return
}

// -----

// A row in pieces has the last dimension, in pieces of whole vectors of 16.
#cpu = #weft.device<cpu>
weft.func @short_pieces(%x: tensor<4x3x8xf32, #cpu>) {
  %r = weft.fusion row (%x) : (tensor<4x3x8xf32, #cpu>) -> tensor<3xf32, #cpu> {
  ^bb0(%a: tensor<4x3x8xf32, #cpu>):
    // expected-error@+1 {{'weft.sum' op reduces dimensions [0, 2] of [4, 3, 8], but this fusion's reductions reduce [1, 2] of [4, 3, 8]}}
    %n = weft.sum %a, dims = [0, 2] : tensor<4x3x8xf32, #cpu>
    weft.yield %n : tensor<3xf32, #cpu>
  }
  weft.return
}

// -----

// All reductions of a fusion are over the same rows.
#cpu = #weft.device<cpu>
weft.func @other_pieces(%x: tensor<4x3x2x16xf32, #cpu>) {
  %r:2 = weft.fusion row (%x) : (tensor<4x3x2x16xf32, #cpu>) -> (tensor<3x2xf32, #cpu>, tensor<4x2xf32, #cpu>) {
  ^bb0(%a: tensor<4x3x2x16xf32, #cpu>):
    %n = weft.sum %a, dims = [0, 3] : tensor<4x3x2x16xf32, #cpu>
    // expected-error@+1 {{'weft.sum' op reduces dimensions [1, 3] of [4, 3, 2, 16], but this fusion's reductions reduce [0, 3] of [4, 3, 2, 16]}}
    %m = weft.sum %a, dims = [1, 3] : tensor<4x3x2x16xf32, #cpu>
    weft.yield %n, %m : tensor<3x2xf32, #cpu>, tensor<4x2xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @column_of_rows(%x: tensor<4x8xf32, #cpu>) {
  %r = weft.fusion column (%x) : (tensor<4x8xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4x8xf32, #cpu>):
    // expected-error@+1 {{'weft.rmax' op reduces dimensions [1] of [4, 8], but this fusion's reductions reduce [0] of [4, 8]}}
    %n = weft.rmax %a, dims = [1] : tensor<4x8xf32, #cpu>
    weft.yield %n : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @columns_apart(%x: tensor<4x5x8xf32, #cpu>) {
  %r = weft.fusion column (%x) : (tensor<4x5x8xf32, #cpu>) -> tensor<5xf32, #cpu> {
  ^bb0(%a: tensor<4x5x8xf32, #cpu>):
    // expected-error@+1 {{'weft.sum' op reduces dimensions [0, 2] of [4, 5, 8], but this fusion's reductions reduce [0, 1] of [4, 5, 8]}}
    %n = weft.sum %a, dims = [0, 2] : tensor<4x5x8xf32, #cpu>
    weft.yield %n : tensor<5xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @columns_of_two_kinds(%x: tensor<4x4x8xf32, #cpu>) {
  %r:2 = weft.fusion column (%x) : (tensor<4x4x8xf32, #cpu>) -> (tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>) {
  ^bb0(%a: tensor<4x4x8xf32, #cpu>):
    %n = weft.sum %a, dims = [1] : tensor<4x4x8xf32, #cpu>
    // expected-error@+1 {{'weft.sum' op reduces dimensions [0] of [4, 4, 8], but this fusion's reductions reduce [1] of [4, 4, 8]}}
    %m = weft.sum %a, dims = [0] : tensor<4x4x8xf32, #cpu>
    weft.yield %n, %m : tensor<4x8xf32, #cpu>, tensor<4x8xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @two_domains(%x: tensor<4x8xf32, #cpu>, %y: tensor<4x9xf32, #cpu>) {
  %r:2 = weft.fusion row (%x, %y) : (tensor<4x8xf32, #cpu>, tensor<4x9xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<4xf32, #cpu>) {
  ^bb0(%a: tensor<4x8xf32, #cpu>, %b: tensor<4x9xf32, #cpu>):
    %n = weft.sum %a, dims = [1] : tensor<4x8xf32, #cpu>
    // expected-error@+1 {{'weft.sum' op reduces dimensions [1] of [4, 9], but this fusion's reductions reduce [1] of [4, 8]}}
    %m = weft.sum %b, dims = [1] : tensor<4x9xf32, #cpu>
    weft.yield %n, %m : tensor<4xf32, #cpu>, tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @loop_results(%x: tensor<4xf32, #cpu>, %y: tensor<2xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has result 1 of shape [2], expected the domain [4]}}
  %r:2 = weft.fusion loop (%x, %y) : (tensor<4xf32, #cpu>, tensor<2xf32, #cpu>) -> (tensor<4xf32, #cpu>, tensor<2xf32, #cpu>) {
  ^bb0(%a: tensor<4xf32, #cpu>, %b: tensor<2xf32, #cpu>):
    weft.yield %a, %b : tensor<4xf32, #cpu>, tensor<2xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @row_results(%x: tensor<4x8xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has result 0 of shape [8, 4], expected the domain [4, 8] or what its reductions leave}}
  %r:2 = weft.fusion row (%x) : (tensor<4x8xf32, #cpu>) -> (tensor<8x4xf32, #cpu>, tensor<4xf32, #cpu>) {
  ^bb0(%a: tensor<4x8xf32, #cpu>):
    %t = weft.transpose %a, perm = [1, 0] : tensor<4x8xf32, #cpu>
    %s = weft.sum %a, dims = [1] : tensor<4x8xf32, #cpu>
    weft.yield %t, %s : tensor<8x4xf32, #cpu>, tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scan_in_loop(%x: tensor<4xf32, #cpu>) {
  %r = weft.fusion loop (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    // expected-error@+1 {{'weft.cumsum' op cannot be in a fusion of kind loop, which has no scans}}
    %0 = weft.cumsum %a, dim = 0 : tensor<4xf32, #cpu>
    weft.yield %0 : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @two_scans(%x: tensor<4xf32, #cpu>) {
  %r = weft.fusion scan (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    %0 = weft.cumsum %a, dim = 0 : tensor<4xf32, #cpu>
    // expected-error@+1 {{'weft.cumprod' op is the second scan of its fusion, which holds one}}
    %1 = weft.cumprod %0, dim = 0 : tensor<4xf32, #cpu>
    weft.yield %1 : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @no_scan(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op of kind scan has no scan}}
  %r = weft.fusion scan (%x) : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    weft.yield %a : tensor<4xf32, #cpu>
  }
  weft.return
}

// -----

#cpu = #weft.device<cpu>
weft.func @scan_shape(%x: tensor<4xf32, #cpu>) {
  // expected-error@+1 {{'weft.fusion' op has result 0 of shape [2, 2], expected the domain [4]}}
  %r = weft.fusion scan (%x) : (tensor<4xf32, #cpu>) -> tensor<2x2xf32, #cpu> {
  ^bb0(%a: tensor<4xf32, #cpu>):
    %0 = weft.cumsum %a, dim = 0 : tensor<4xf32, #cpu>
    %1 = weft.reshape %0 : tensor<4xf32, #cpu> -> tensor<2x2xf32, #cpu>
    weft.yield %1 : tensor<2x2xf32, #cpu>
  }
  weft.return
}
