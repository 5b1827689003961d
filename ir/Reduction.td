//===- Reduction.td - Reductions and scans -----------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_REDUCTION_TD
#define WEFT_REDUCTION_TD

include "ir/Elementwise.td"

class Weft_Reduction<string mnemonic, Type operand, string summaryText> :
    Weft_ComputeOp<mnemonic, [Differentiable]> {
  let summary = summaryText;
  let arguments = (ins operand:$a, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `dims` `=` $dims attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Weft_SumOp : Weft_Reduction<"sum", Weft_NumberTensor,
  "sum over dimensions, which are removed; f16, bf16 and f32 accumulate in f32, integers wrap; 0 without elements">;
def Weft_RmaxOp : Weft_Reduction<"rmax", Weft_NumberTensor, "largest over dimensions, which are removed; NaN propagates">;
def Weft_RminOp : Weft_Reduction<"rmin", Weft_NumberTensor, "smallest over dimensions, which are removed; NaN propagates">;

def Weft_ProdOp : Weft_Reduction<"prod", Weft_NumberTensor,
  "product over dimensions, which are removed; f16, bf16 and f32 accumulate in f32, integers wrap; 1 without elements">;
def Weft_AnyOp : Weft_Reduction<"any", Weft_BoolTensor, "whether any element is true over dimensions, which are removed">;

class Weft_ArgReduction<string mnemonic, string summaryText> : Weft_ComputeOp<mnemonic, [Differentiable]> {
  let summary = summaryText;
  let arguments = (ins Weft_NumberTensor:$a, I64Attr:$dim);
  let results = (outs Weft_IntTensor:$result);
  let assemblyFormat = "$a `,` `dim` `=` $dim attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Weft_ArgmaxOp : Weft_ArgReduction<"argmax",
  "index of the largest along a dimension, which is removed; the first of equals; NaN counts as largest">;
def Weft_ArgminOp : Weft_ArgReduction<"argmin",
  "index of the smallest along a dimension, which is removed; the first of equals; NaN counts as smallest">;

def Weft_WelfordOp : Weft_ComputeOp<"welford", [Differentiable]> {
  let summary = "mean, and sum of squared differences from it, over dimensions, which are removed";
  let description = [{
    `mean` and `m2` are f32 for f16 and bf16, otherwise of the operand's element type. `count` is the number of elements
    of each reduction. Partial results are merged pairwise, so that m2 has no cancellation (Chan, Golub, LeVeque 1983).
    Without elements the mean is NaN and m2 is 0. If an element is not finite, both are NaN.
  }];
  let arguments = (ins Weft_FloatTensor:$a, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_FloatTensor:$mean, Weft_FloatTensor:$m2, Weft_I64Scalar:$count);
  let assemblyFormat = "$a `,` `dims` `=` $dims attr-dict `:` type($a)";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

class Weft_Scan<string mnemonic, string summaryText> : Weft_ComputeOp<mnemonic, [Differentiable]> {
  let summary = summaryText;
  let description = [{
    With `reverse` the scan runs from the end. With `exclusive` a result does not include the element at its own index,
    and the first result is the identity.
  }];
  let arguments = (ins Weft_NumberTensor:$a, I64Attr:$dim, UnitAttr:$reverse, UnitAttr:$exclusive);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `dim` `=` $dim (`reverse` $reverse^)? (`exclusive` $exclusive^)? attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Weft_CumsumOp : Weft_Scan<"cumsum", "running sum along a dimension; f16, bf16 and f32 accumulate in f32, integers wrap">;
def Weft_CumprodOp : Weft_Scan<"cumprod", "running product along a dimension; f16, bf16 and f32 accumulate in f32, integers wrap">;
def Weft_CummaxOp : Weft_Scan<"cummax", "largest so far along a dimension; NaN propagates; the identity is the smallest value of the type">;
def Weft_CumminOp : Weft_Scan<"cummin", "smallest so far along a dimension; NaN propagates; the identity is the largest value of the type">;

#endif // WEFT_REDUCTION_TD
