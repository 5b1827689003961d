// RUN: weft-opt %s --weft-specialize='sizes=n=1073741824' -verify-diagnostics

// With a number for one symbol, the coefficient of the other has none.
#n = #weft.device<cpu, [n]>
#m = #weft.device<cpu, [m]>
#c = #weft.device<cpu, [1099511627776 * m * n]>
// expected-error @+1 {{has a size that cannot be expressed with these values of its symbols}}
weft.func @f(%a: tensor<?xf32, #n>, %b: tensor<?xf32, #m>, %c: tensor<?xf32, #c>) -> tensor<?xf32, #c>
    attributes {weft.symbols = [#weft.symbol<"n", 1, 1073741824>, #weft.symbol<"m", 0, 0>]} {
  weft.return %c : tensor<?xf32, #c>
}
