//===- Indexing.td - Reading and writing by index ----------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_INDEXING_TD
#define WEFT_INDEXING_TD

include "ir/Elementwise.td"

def Weft_GatherOp : Weft_ComputeOp<"gather", [Differentiable, Weft_FallibleOp, Weft_KeywordOp, Weft_CostOp]> {
  let summary = "elements chosen by index along one dimension";
  let description = [{
    `kind = along`: the index tensor has the operand's rank, and the result, of the index's shape, is
    `a[i0, .., index[i0, .., in], .., in]` with the index in dimension `dim` (torch.gather); the index may be
    smaller than the operand in the other dimensions.
    `kind = points`: the index tensor's dimensions replace dimension `dim` (torch.index_select, embedding).
    An index outside `[0, size)` follows `mode`: `check` makes it an error of the call, and nothing that the
    function writes is changed; `clip` moves it into range; `assume` is the caller's promise that there is none,
    checked by the reference interpreter only, and clipped elsewhere.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_IntTensor:$index, I64Attr:$dim, Weft_GatherKindAttr:$kind,
                       DefaultValuedAttr<Weft_IndexModeAttr, "::weft::ir::IndexMode::check">:$mode);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $index `,` `dim` `=` $dim `,` `kind` `=` $kind (`mode` `=` $mode^)? attr-dict `:` type($a) `,` type($index)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t additionsPerElement();
    bool mayFail() { return getMode() == ::weft::ir::IndexMode::check; }
  }] # Weft_Keywords<[Weft_Keyword<"kind", "GatherKind">, Weft_Keyword<"mode", "IndexMode">]>.text;
}

def Weft_ScatterOp : Weft_ComputeOp<"scatter", [Differentiable, Weft_FallibleOp, Weft_KeywordOp]> {
  let summary = "a with elements of u combined in at positions chosen along one dimension";
  let description = [{
    For every position of `index`, which has the rank of `a`, the element of `u` there is combined with
    `a[i0, .., index[i0, .., in], .., in]`, the index standing in dimension `dim` (torch.scatter, scatter_add,
    scatter_reduce). `index` may be smaller than `u` in every dimension, and than `a` in all but `dim`. Under
    `set` the last of several writes in row-major order of `index` stays; `add` and `mul` combine in that order.
    `mode` is that of `weft.gather`.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_IntTensor:$index, Weft_Tensor:$u, I64Attr:$dim, Weft_ScatterKindAttr:$kind,
                       DefaultValuedAttr<Weft_IndexModeAttr, "::weft::ir::IndexMode::check">:$mode);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $index `,` $u `,` `dim` `=` $dim `,` `kind` `=` $kind (`mode` `=` $mode^)? attr-dict
    `:` type($a) `,` type($index) `,` type($u)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool mayFail() { return getMode() == ::weft::ir::IndexMode::check; }
  }] # Weft_Keywords<[Weft_Keyword<"kind", "ScatterKind">, Weft_Keyword<"mode", "IndexMode">]>.text;
}

def Weft_IndexUpdateOp : Weft_ComputeOp<"index_update", [Differentiable, Weft_FallibleOp, Weft_KeywordOp]> {
  let summary = "a with whole slices replaced by, or added to from, those of u";
  let description = [{
    The inverse of a gather of kind `points`: `u` has the shape of `a` with dimension `dim` replaced by the
    dimensions of `index`, and its slice at a position of `index` replaces the slice of `a` that the index names
    (torch.index_put, index_copy), or is added to it with `accumulate` (index_add). The last of several writes in
    row-major order of `index` stays, and sums are taken in that order. `mode` is that of `weft.gather`.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_Tensor:$u, Weft_IntTensor:$index, I64Attr:$dim, UnitAttr:$accumulate,
                       DefaultValuedAttr<Weft_IndexModeAttr, "::weft::ir::IndexMode::check">:$mode);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` $u `,` $index `,` `dim` `=` $dim (`accumulate` $accumulate^)? (`mode` `=` $mode^)? attr-dict
    `:` type($a) `,` type($u) `,` type($index)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool mayFail() { return getMode() == ::weft::ir::IndexMode::check; }
  }] # Weft_Keywords<[Weft_Keyword<"mode", "IndexMode">]>.text;
}

#endif // WEFT_INDEXING_TD
