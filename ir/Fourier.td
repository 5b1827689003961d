//===- Fourier.td - Fourier transforms ----------------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FOURIER_TD
#define WEFT_FOURIER_TD

include "ir/Composite.td"

def Weft_FftOp : Weft_Composite<"fft", [Differentiable, Weft_KeywordOp]> {
  let summary = "the discrete Fourier transform of each line along a dimension";
  let description = [{
    With n = `length` and w = exp(-2 pi i / n), or with `inverse` its conjugate, the transform of x is
    y[k] = `scale` sum_j x[j] w^(j k). Complex numbers are pairs: the last dimension of their tensors is 2, and is not
    counted by `dim`. `kind` says which side is complex:

    - `c2c`: both; a and the result have the same shape, with n in dimension `dim`.
    - `r2c`: x is real, with n elements along `dim`; the result has the first n / 2 + 1 values. The others are their
      conjugates. With `adjoint` all values but those at 0 and, for even n, at n / 2 are doubled.
    - `c2r`: a has the first n / 2 + 1 values of a signal whose others are their conjugates, and the result is real, with n
      elements along `dim`. The imaginary parts at 0 and, for even n, at n / 2 are not read. With `adjoint` all values but
      these count half.

    So the derivative of each kind is one transform of the other direction: of `r2c` the adjoint `c2r`, and of `c2r` the
    adjoint `r2c`.

    On a CPU the op is one launch of the runtime. Other devices have the host compute it.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Weft_FourierKindAttr:$kind, I64Attr:$dim, I64Attr:$length, F64Attr:$scale,
                       UnitAttr:$inverse, UnitAttr:$adjoint);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `kind` `=` $kind `dim` `=` $dim `length` `=` $length `scale` `=` $scale (`inverse` $inverse^)?
    (`adjoint` $adjoint^)? attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = Weft_Keywords<[Weft_Keyword<"kind", "FourierKind">]>.text;
}

#endif // WEFT_FOURIER_TD
