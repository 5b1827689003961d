// RUN: weft-opt %s --weft-plan-memory -split-input-file -verify-diagnostics

// The constant section has a size that is a number: what repeats an element over dynamic dimensions is a kernel.
#n = #weft.device<cpu, [n]>
weft.func @constant(%a: tensor<?xf32, #n>) -> tensor<?xf32, #n> attributes {weft.symbols = [#weft.symbol<"n", 1, 4>]} {
  // expected-error @+1 {{'weft.constant' op has dynamic dimensions, and the constant section has a size that is a number; run --weft-fuse first, which fills it in a kernel}}
  %0 = weft.constant dense<1.0> : tensor<f32> -> tensor<?xf32, #n>
  weft.return %0 : tensor<?xf32, #n>
}
