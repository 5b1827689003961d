// RUN: weft-opt %s --weft-specialize=sizes=n=99 -verify-diagnostics

// A value is one that the function takes.
// expected-error @+1 {{@f takes values of 'n' from 2 to 64, found 99}}
weft.func @f(%a: tensor<?xf32, #weft.device<cpu, [n]>>) attributes {weft.symbols = [#weft.symbol<"n", 2, 64>]} { weft.return }
