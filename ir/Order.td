//===- Order.td - Ops that order elements ------------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_ORDER_TD
#define WEFT_ORDER_TD

include "ir/Composite.td"

def Weft_SortOp : Weft_Composite<"sort", [Differentiable]> {
  let summary = "the elements along the last dimension in order, and where they were";
  let description = [{
    `values` has the first `count` elements of each row in ascending order, or in descending order with `descending`.
    `indices` has the place of each of them in its row. A NaN counts as larger than every number, and zeros of both signs
    as equal. Equal elements keep the order of their places, in either direction, so there is one result only.

    On a CPU the op is one launch of the runtime, and on a GPU one of a generated kernel if a block holds the rows. Else
    it is decomposed into merges of sorted runs, whose length doubles from 1 on. Each element of a merge is found by a
    binary search, so all of them are independent.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_Size:$count, UnitAttr:$descending);
  let results = (outs Weft_Tensor:$values, Weft_IntTensor:$indices);
  let assemblyFormat = "$a `,` `count` `=` custom<Size>($count) (`descending` $descending^)? attr-dict `:` type($a)";
  let hasVerifier = 1;
}

#endif // WEFT_ORDER_TD
