//===- WeftOps.td - All ops of the dialect -----------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OPS_TD
#define WEFT_OPS_TD

include "ir/Composite.td"
include "ir/Control.td"
include "ir/Effects.td"
include "ir/Elementwise.td"
include "ir/Indexing.td"
include "ir/Reduction.td"
include "ir/Shape.td"

//===----------------------------------------------------------------------===//
// Later stages
//===----------------------------------------------------------------------===//

def Weft_FusionOp : Weft_Op<"fusion", [Weft_SameDevice, IsolatedFromAbove, Pure,
                                       SingleBlock, DeclareOpInterfaceMethods<Weft_InterpretableOp>,
                                       DeclareOpInterfaceMethods<Weft_FallibleOp>]> {
  let summary = "ops that become one kernel";
  let description = [{
    The body computes on whole tensors; block argument i is operand i. What the body may hold follows from `kind`:

    - `loop`: all results have one shape, the domain; no reductions.
    - `row`: the domain is the shape that every reduction in the body reduces over its trailing dimensions;
      results have the domain's shape, or the shape that is left. Reductions may depend on each other.
    - `column`: the domain is the shape that every reduction in the body reduces over the same dimensions, which
      follow each other and are leading or in the middle; results have the domain's shape, or the shape that is left.
      Reductions may depend on each other.
    - `scan`: one `weft.cumsum` or `weft.cumprod`, whose operand has the domain's shape, as all results have; no
      reductions.
    - `multi_tensor`: independent optimiser steps over any number of tensors. The kernel follows from the op, element
      type, attributes and numbers of the steps: those that differ in their tensors only are rows of a table.
    - `update`: one `weft.scatter`, `weft.index_update` or `weft.dynamic_update_slice`, whose first operand is
      operand 0 of the fusion and whose result is the only one. Both have one storage: the kernel writes what
      changes and leaves the rest. The domain is that of the elements which are written.

    A `schedule` is attached by scheduling, `slices` (one per result) by the memory plan. The verifier proves that a
    schedule is right for the fusion: every element lies in exactly one task, vectors and scratch are those that the
    body allows, and numbers that the order of a reduction depends on are the ones that belong to its shape. It is one
    for the device that the fusion is on: `threads` says how many of a device share a task, and no schedule of the host
    has it. `threads = 1` is the fallback of a device, with which each thread carries out tasks of its own.
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$inputs, Weft_FusionKindAttr:$kind,
                       OptionalAttr<Weft_ScheduleAttr>:$schedule, OptionalAttr<ArrayAttr>:$slices);
  let results = (outs Variadic<Weft_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape that the kernel iterates over; empty for `multi_tensor`.
    ::llvm::SmallVector<::weft::ir::Size> getDomain();
    /// The number of dimensions that the body's reductions (`row`, `column`) remove.
    unsigned getNumReducedDims();
  }];
}

def Weft_YieldOp : Weft_Op<"yield", [Pure, HasParent<"FusionOp">, Terminator, ReturnLike]> {
  let summary = "the results of a fusion";
  let arguments = (ins Variadic<Weft_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Weft_AttentionOp : Weft_ComputeOp<"attention", [AttrSizedOperandSegments]> {
  let summary = "one launch that computes sdpa, or its derivative, from operands as they lie in memory";
  let description = [{
    Made by `--weft-lower-attention`. `shape` is the batch dimensions, then L, S, E and Ev of `weft.sdpa`. An operand
    is any tensor; its view, `[offset, strides]` in elements of its row-major memory, says where the element of each
    batch index, row and column lies, so that heads are read where a projection wrote them. The mask repeats along
    strides of 0. Without `out`, `lse` and `grad` the results are those of `weft.sdpa`, with them those of
    `weft.sdpa_backward`. Dimension i of a result but lse is dimension `order[i]` of what it stands for, so that it is
    written in the order of dimensions in which it is read.

    Blocks of scores are in a thread's scratch, never all of them; the sizes are numbers.
  }];
  let arguments = (ins Weft_FloatTensor:$q, Weft_FloatTensor:$k, Weft_FloatTensor:$v, Optional<Weft_Tensor>:$mask,
                       Optional<Weft_FloatTensor>:$out, Optional<Weft_FloatTensor>:$lse,
                       Optional<Weft_FloatTensor>:$grad, DenseI64ArrayAttr:$shape, DenseI64ArrayAttr:$order,
                       DenseI64ArrayAttr:$q_view, DenseI64ArrayAttr:$k_view, DenseI64ArrayAttr:$v_view,
                       OptionalAttr<DenseI64ArrayAttr>:$mask_view, OptionalAttr<DenseI64ArrayAttr>:$out_view,
                       OptionalAttr<DenseI64ArrayAttr>:$grad_view, F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $q $q_view `,` $k $k_view `,` $v $v_view (`mask` $mask^ $mask_view)?
    (`backward` $out^ $out_view `,` $lse `,` $grad $grad_view)?
    `,` `shape` `=` $shape `,` `order` `=` $order `,` `scale` `=` $scale (`causal` $causal^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) (`mask` type($mask)^)? (`backward` type($out)^ `,` type($lse) `,` type($grad))?
  }];
  let hasVerifier = 1;
}

#endif // WEFT_OPS_TD
