// RUN: not weft-opt %s --weft-specialize='sizes=n=1024' 2>&1 | FileCheck %s

// A size that is in no type is not bounded by its function: with a number for the symbol it may be none.
// CHECK: error: 'weft.dim' op attribute 'size' failed to satisfy constraint: a size that can be expressed
weft.func @f(%a: tensor<?xf32, #weft.device<cpu, [n]>>) -> tensor<i64, #weft.device<cpu>> attributes {weft.symbols = [#weft.symbol<"n", 1, 4096>]} {
  %0 = weft.dim n * n * n * n * n * n * n * n : tensor<i64, #weft.device<cpu>>
  weft.return %0 : tensor<i64, #weft.device<cpu>>
}
