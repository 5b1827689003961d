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
  let summary = "elements selected by index along one dimension";
  let description = [{
    `kind = along`: the index tensor has the operand's rank. The result has the shape of the index and is
    `a[i0, .., index[i0, .., in], .., in]`, with the index in dimension `dim` (torch.gather). In other dimensions the
    index may be smaller than the operand.

    `kind = points`: the index tensor's dimensions replace dimension `dim` (torch.index_select, embedding).

    `mode` says how an index outside of `[0, size)` is handled. With `check` the call fails, and no argument of the
    function is changed. With `clip` the index is clamped into range. With `assume` the caller guarantees that no index
    is out of range; the reference interpreter checks that, and kernels clamp the index.

    An attribute `weft.pooled = array<i64: size, window, stride, padding, dilation, places, ..>`, six numbers for each
    extent, says that index p of `along` and the last dimension lies in window p of planes of these sizes, as in max
    pooling. The derivative may then be a sum over windows (ir/ops/PooledGather.h).
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
  let summary = "a combined with elements of u at positions that an index selects along one dimension";
  let description = [{
    `index` has the rank of `a`. For every position of `index`, the element of `u` at this position is combined with
    `a[i0, .., index[i0, .., in], .., in]`, with the index in dimension `dim` (torch.scatter, scatter_add,
    scatter_reduce). `index` may be smaller than `u` in every dimension, and smaller than `a` in all dimensions except
    `dim`. If several writes go to one element, they are combined in row-major order of `index`; with `set` the last one
    stays. `mode` is that of `weft.gather`.
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
  let summary = "a with slices replaced by slices of u, or with slices of u added";
  let description = [{
    The inverse of a gather of kind `points`: `u` has the shape of `a` with dimension `dim` replaced by the dimensions
    of `index`. The slice of `u` at a position of `index` replaces the slice of `a` with that index (torch.index_put,
    index_copy). With `accumulate` it is added to it (index_add). If several writes go to one slice, they are done in
    row-major order of `index`, so the last one stays. `mode` is that of `weft.gather`.
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
