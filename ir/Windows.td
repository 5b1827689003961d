//===- Windows.td - Sliding windows and convolutions -------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_WINDOWS_TD
#define WEFT_WINDOWS_TD

include "ir/Composite.td"

def Weft_WindowsOp : Weft_ComputeOp<"windows", [Differentiable]> {
  let summary = "the sliding windows over the last dimensions";
  let description = [{
    `size`, `stride` and `dilation` have a number for each of the last dimensions. The result has the dimensions before
    these, then one of each window size, then one of the number of windows along each: its element
    `[.., s0, s1, .., n0, n1, ..]` is `a[.., n0 stride[0] + s0 dilation[0], n1 stride[1] + s1 dilation[1], ..]`.
    There are as many windows as fit, at least one. Elements behind the last window are not read.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_Sizes:$size, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$dilation);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `size` `=` custom<Sizes>($size) `,` `stride` `=` $stride `,` `dilation` `=` $dilation attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
}

def Weft_OverlapAddOp : Weft_Composite<"overlap_add", [Differentiable]> {
  let summary = "the sum of windows at the places from which weft.windows reads them";
  let description = [{
    The transpose of `weft.windows`: `shape` is the sizes of the last dimensions of the result, and the operand has the
    type of the windows over such a tensor. An element of the result is the sum of the elements of all windows that lie
    there, or 0; sums of f16 and bf16 are f32, and rounded once. The sizes of windows are numbers.
  }];
  let arguments = (ins Weft_NumberTensor:$a, Weft_Sizes:$shape, DenseI64ArrayAttr:$stride,
                       DenseI64ArrayAttr:$dilation);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `shape` `=` custom<Sizes>($shape) `,` `stride` `=` $stride `,` `dilation` `=` $dilation attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
}

def Weft_ConvolutionOp : Weft_Composite<"convolution", [Differentiable]> {
  let summary = "cross-correlation of a batch of signals with the weights of each output channel";
  let description = [{
    `a` is [batch, channels, extents..] and `w` is [outputs, channels / groups, window..], with one to three extents.
    `base_dilation - 1` zeros are put between neighbouring elements of each extent, then `low` before and `high` behind
    them; a negative number removes elements. The result is [batch, outputs, extents..]: the element of output o at place
    p is the sum, over the channels c of the group of o and the places k of the window, of
    w[o, c, k] times the element of channel c at p stride + k window_dilation. Sums are those of `weft.dot_general`.
    With a base dilation, the zeros between elements and the padding are not multiplied, so that an infinite weight gives
    no NaN there. A window that is stored multiplies them.

    Both derivatives are convolutions: with respect to `a`, of the cotangent, dilated by `stride`, with the reversed
    window; with respect to `w`, of `a`, where batch and channels change places, with the cotangent as weights.
  }];
  let arguments = (ins Weft_NumberTensor:$a, Weft_NumberTensor:$w, DenseI64ArrayAttr:$stride, Weft_Sizes:$low,
                       Weft_Sizes:$high, DenseI64ArrayAttr:$base_dilation, DenseI64ArrayAttr:$window_dilation,
                       I64Attr:$groups);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $w `,` `stride` `=` $stride `,` `low` `=` custom<Sizes>($low) `,` `high` `=` custom<Sizes>($high) `,`
    `base_dilation` `=` $base_dilation `,` `window_dilation` `=` $window_dilation `,` `groups` `=` $groups attr-dict
    `:` type($a) `,` type($w)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_WINDOWS_TD
