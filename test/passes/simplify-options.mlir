// RUN: weft-opt %s --weft-simplify=print-rules -verify-diagnostics -o %t
// RUN: weft-opt %s --weft-simplify=disable=mul-one | FileCheck %s
// RUN: not weft-opt %s --weft-simplify=disable=mul-two 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not weft-opt %s --weft-simplify=max-iterations=1 2>&1 | FileCheck %s --check-prefix=BOUND

// UNKNOWN: error: there is no rule 'mul-two' to disable in --weft-simplify
// BOUND: error: the pattern set 'weft-simplify' still changes @f after 1 rounds

#cpu = #weft.device<cpu>

// What a rule keeps is printed with how often it applied; a rule can be left out to find one that is wrong.
// expected-remark @+2 {{rule mul-one (value-exact) applied 2 times}}
// expected-remark @+1 {{rule neg-neg (bit-exact) applied 1 time}}
weft.func @f(%x: tensor<4xf32, #cpu>) -> tensor<4xf32, #cpu> {
  %one = weft.constant dense<1.0> : tensor<4xf32, #cpu>
  // CHECK: weft.mul
  // CHECK-NEXT: weft.mul
  %0 = weft.mul %x, %one : tensor<4xf32, #cpu>
  %1 = weft.mul %0, %one : tensor<4xf32, #cpu>
  // CHECK-NOT: weft.neg
  %2 = weft.neg %1 : tensor<4xf32, #cpu>
  %3 = weft.neg %2 : tensor<4xf32, #cpu>
  weft.return %3 : tensor<4xf32, #cpu>
}
