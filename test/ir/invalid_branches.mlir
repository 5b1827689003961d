// RUN: weft-opt %s -split-input-file -verify-diagnostics

// Each case violates one rule of the verifiers of weft.cond and weft.while.

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<f32, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a predicate of type 'tensor<f32, #weft.device<cpu>>', expected a truth value without dimensions (WEFT-T006)}}
  %r = weft.cond %p then @same else @same(%x) : (tensor<f32, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<1xi1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a predicate of type 'tensor<1xi1, #weft.device<cpu>>', expected a truth value without dimensions (WEFT-T006)}}
  %r = weft.cond %p then @same else @same(%x) : (tensor<1xi1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a branch 'other', which is not a function of this module}}
  %r = weft.cond %p then @same else @other(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op is in a branch 'same' of its own}}
  %r = weft.cond %p then @same else @same(%p, %x) : (tensor<i1, #cpu>, tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func private @wide(%x: tensor<5xf32, #cpu>) -> tensor<5xf32, #cpu> {
  weft.return %x : tensor<5xf32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a branch 'wide' of type '(tensor<5xf32, #weft.device<cpu>>) -> tensor<5xf32, #weft.device<cpu>>', and passes it 'tensor<4xf32, #weft.device<cpu>>'}}
  %r = weft.cond %p then @same else @wide(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func private @total(%x: tensor<4xf32, #cpu>) -> tensor<f32, #cpu> {
  %r = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r : tensor<f32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has results 'tensor<4xf32, #weft.device<cpu>>', and a branch 'total' that returns 'tensor<f32, #weft.device<cpu>>' (WEFT-T007)}}
  %r = weft.cond %p then @same else @total(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func private @donates(%x: tensor<4xf32, #cpu> {weft.donated}) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a branch 'donates' whose argument #0 has a role, strides or donated storage; a branch passes values only}}
  %r = weft.cond %p then @same else @donates(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func private @prints(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-note@+1 {{the effect is here}}
  weft.print %x : tensor<4xf32, #cpu>
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a branch 'prints' with the effect of 'weft.print' (WEFT-T001); a branch computes values only, so have the effect after it}}
  %r = weft.cond %p then @same else @prints(%x) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func private @gathers(%x: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  %g = weft.gather %x, %i, dim = 0, kind = along : tensor<4xf32, #cpu>, tensor<4xi64, #cpu>
  weft.return %g : tensor<4xf32, #cpu>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<4xf32, #cpu>, %i: tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.cond' op has a branch 'gathers' that may fail: it needs the attribute may_fail}}
  %r = weft.cond %p then @gathers else @gathers(%x, %i) : (tensor<i1, #cpu>, tensor<4xf32, #cpu>, tensor<4xi64, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
#dyn = #weft.device<cpu, [batch]>
weft.func private @part(%x: tensor<?xf32, #dyn>) -> tensor<?xf32, #dyn> attributes {weft.symbols = [#weft.symbol<"batch", 1, 8>]} {
  weft.return %x : tensor<?xf32, #dyn>
}
weft.func @main(%p: tensor<i1, #cpu>, %x: tensor<?xf32, #dyn>) -> tensor<?xf32, #dyn> attributes {weft.symbols = [#weft.symbol<"batch", 1, 64>]} {
  // expected-error@+1 {{'weft.cond' op has a branch 'part', where 'batch' goes from 1 to 8 (WEFT-S001); give the symbol of the caller a range inside of it}}
  %r = weft.cond %p then @part else @part(%x) : (tensor<i1, #cpu>, tensor<?xf32, #dyn>) -> tensor<?xf32, #dyn>
  weft.return %r : tensor<?xf32, #dyn>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @always(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.constant dense<true> : tensor<i1, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.while' op has a condition 'other', which is not a function of this module}}
  %r = weft.while @other do @same(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @always(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.constant dense<true> : tensor<i1, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.while' op has a body 'other', which is not a function of this module}}
  %r = weft.while @always do @other(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @always(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.constant dense<true> : tensor<i1, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @same(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.while' op has a condition 'same' that returns 'tensor<4xf32, #weft.device<cpu>>', expected a truth value without dimensions (WEFT-T006)}}
  %r = weft.while @same do @same(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @always(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.constant dense<true> : tensor<i1, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @total(%x: tensor<4xf32, #cpu>) -> tensor<f32, #cpu> {
  %r = weft.sum %x, dims = [0] : tensor<4xf32, #cpu>
  weft.return %r : tensor<f32, #cpu>
}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.while' op has the carries 'tensor<4xf32, #weft.device<cpu>>', results 'tensor<4xf32, #weft.device<cpu>>', and a body 'total' that returns 'tensor<f32, #weft.device<cpu>>' (WEFT-T002)}}
  %r = weft.while @always do @total(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @always(%x: tensor<4xf32, #cpu>) -> tensor<i1, #cpu> {
  %r = weft.constant dense<true> : tensor<i1, #cpu>
  weft.return %r : tensor<i1, #cpu>
}
weft.func private @prints(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-note@+1 {{the effect is here}}
  weft.print %x : tensor<4xf32, #cpu>
  weft.return %x : tensor<4xf32, #cpu>
}
weft.func @main(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  // expected-error@+1 {{'weft.while' op has a body 'prints' with the effect of 'weft.print' (WEFT-T001); a trip computes values only, so have the effect after the loop}}
  %r = weft.while @always do @prints(%x) with() : (tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu>
  weft.return %r : tensor<4xf32, #cpu>
}

// -----

#cpu = #weft.device<cpu>
weft.func private @first(%x: tensor<4xi1, #cpu>, %i: tensor<i64, #cpu>) -> tensor<i1, #cpu> {
  // expected-note@+1 {{this may fail}}
  %g = weft.gather %x, %i, dim = 0, kind = points : tensor<4xi1, #cpu>, tensor<i64, #cpu>
  weft.return %g : tensor<i1, #cpu>
}
weft.func private @same(%x: tensor<4xi1, #cpu>, %i: tensor<i64, #cpu>) -> (tensor<4xi1, #cpu>, tensor<i64, #cpu>) {
  weft.return %x, %i : tensor<4xi1, #cpu>, tensor<i64, #cpu>
}
weft.func @main(%x: tensor<4xi1, #cpu>, %i: tensor<i64, #cpu>) -> tensor<i64, #cpu> {
  // expected-error@+1 {{'weft.while' op has a condition 'first' that may fail (WEFT-T008); read by index in the body, and carry the values}}
  %r:2 = weft.while @first do @same(%x, %i) with() : (tensor<4xi1, #cpu>, tensor<i64, #cpu>) -> (tensor<4xi1, #cpu>, tensor<i64, #cpu>)
  weft.return %r#1 : tensor<i64, #cpu>
}
