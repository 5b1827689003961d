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
include "ir/Fourier.td"
include "ir/Indexing.td"
include "ir/LinearAlgebra.td"
include "ir/Loops.td"
include "ir/Order.td"
include "ir/Reduction.td"
include "ir/Shape.td"
include "ir/Windows.td"

//===----------------------------------------------------------------------===//
// Later stages
//===----------------------------------------------------------------------===//

def Weft_FusionOp : Weft_Op<"fusion", [Weft_SameDevice, IsolatedFromAbove, Pure,
                                       SingleBlock, DeclareOpInterfaceMethods<Weft_InterpretableOp>,
                                       DeclareOpInterfaceMethods<Weft_FallibleOp>]> {
  let summary = "ops that become one kernel";
  let description = [{
    The body computes on whole tensors; block argument i is operand i. The `kind` determines which ops the body may
    contain:

    - `loop`: all results have one shape, the domain. There are no reductions.
    - `row`: all reductions of the body are over the same trailing dimensions of one shape, the domain. Results have the
      domain's shape, or the shape of a reduction's result. Reductions may depend on each other. Dimensions in front of
      others may be reduced too, if the last ones are, whose elements lie together in a multiple of 16.
    - `column`: all reductions of the body are over the same dimensions of one shape, the domain. These dimensions are
      consecutive, and leading or in the middle. Results have the domain's shape, or the shape of a reduction's result.
      Reductions may depend on each other.
    - `scan`: there is one `weft.cumsum` or `weft.cumprod`, and there are no reductions. Its operand and all results
      have the domain's shape.
    - `multi_tensor`: independent optimiser steps over any number of tensors. The kernel depends on the op, element
      type, attributes and scalars of the steps. Steps that differ only in their tensors are rows of a table.
    - `update`: one `weft.scatter`, `weft.index_update` or `weft.dynamic_update_slice`. Its first operand is operand 0
      of the fusion, and its result is the only result. Both share storage: the kernel writes only the elements that
      change. The domain is the shape of the written elements.

    `--weft-choose-schedules` attaches the `schedule`, and the memory plan attaches `slices`, one per result. The
    verifier proves that a schedule is correct for the fusion: every element is in exactly one task, the body allows
    the vectors, scratch is large enough, and reductions have the order that belongs to their shape. A schedule is for
    the device of the fusion: it has `threads`, the number of threads that share a task, unless the device is the host.
    With `threads = 1`, the fallback of a device, each thread carries out whole tasks.

    `spilled` lists the registers a thread of kernels that were made of this fusion before and spilled, first those of
    the schedule that `--weft-choose-schedules` chooses without it. With it, the pass chooses a schedule whose kernel
    may have more registers (ir/Spills.h).
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$inputs, Weft_FusionKindAttr:$kind,
                       OptionalAttr<Weft_ScheduleAttr>:$schedule, OptionalAttr<ArrayAttr>:$slices,
                       OptionalAttr<DenseI64ArrayAttr>:$spilled);
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
  let summary = "one launch that computes sdpa or its derivative, and reads operands through strides";
  let description = [{
    `--weft-lower-attention` makes this op. `shape` is the batch dimensions, then L, S, E and Ev of `weft.sdpa`. Each
    operand is any tensor with a view, `[offset, strides]` in elements of its row-major memory, which gives the place of
    the element for each batch index, row and column. So heads can be read from the result of a projection without a
    copy. The mask repeats along strides of 0. Without `out`, `lse` and `grad`, the results are those of `weft.sdpa`;
    with them, those of `weft.sdpa_backward`. Dimension i of a result other than lse is dimension `order[i]` of the
    result of that op, so results can be written in the order of dimensions in which later ops read them.

    A thread keeps blocks of scores in scratch; the scores are never all in memory. All sizes are static.
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

def Weft_ImplicitGemmOp : Weft_ComputeOp<"implicit_gemm"> {
  let summary = "one launch that computes a convolution, and reads operands through strides";
  let description = [{
    `--weft-lower-convolutions` makes this op. `shape` is [batch, groups, channels, outputs], of which channels and outputs
    are those of a group; `extents`, `window` and `places` are those of `weft.convolution`, and so are the attributes of
    that name. Each operand is any tensor with a view, `[offset, strides]` in elements of its row-major memory: of `a` the
    strides of [batch, groups, channels, extents..], of `w` those of [groups, outputs, channels, window..]. A stride may be
    negative, so a reversed window is read where it lies. Dimension i of the result is dimension `order[i]` of
    [batch, groups outputs, places..].

    The matrix of windows is never stored. A thread keeps blocks of it in scratch, and multiplies them. Where an extent has
    a base dilation, zeros between elements, and the padding around them, are not multiplied; the stride is 1 there.
    Otherwise zeros of the padding are elements.

    The batch, or the channels, may be symbolic: then that dimension is outermost in memory, so that no stride depends on
    it. All other sizes are static.

    The epilogue, which `--weft-attach-epilogues` makes, is a list of steps that an element of the sum takes in order, each
    rounded as an op of its own: "add", "sub" and "mul" have a vector with a number for each of the groups' outputs,
    "residual" adds a tensor of the result's type, and "relu" is the larger of the element and +0. `beside` are the
    vectors and the residual, in the order of the steps. "wide", which is alone, leaves a sum of halves the f32 that it
    is, and the result is f32.

    With `winograd`, which fast numerics allow on a CPU, tiles of 4 x 4 places take 36 products instead of 144. That is of
    convolutions with one group, two extents, a window of 3 x 3 or, as derivatives with respect to weights have them, 3 x 3
    places, without strides and dilations.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Weft_FloatTensor:$w, Variadic<Weft_FloatTensor>:$beside, Weft_Sizes:$shape,
                       DenseI64ArrayAttr:$extents, DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$places,
                       DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$base_dilation,
                       DenseI64ArrayAttr:$window_dilation, DenseI64ArrayAttr:$order, DenseI64ArrayAttr:$a_view,
                       DenseI64ArrayAttr:$w_view, OptionalAttr<StrArrayAttr>:$epilogue, UnitAttr:$winograd);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a $a_view `,` $w $w_view `,` `shape` `=` custom<Sizes>($shape) `,` `extents` `=` $extents `,` `window` `=` $window `,`
    `places` `=` $places `,` `stride` `=` $stride `,` `low` `=` $low `,` `base_dilation` `=` $base_dilation `,`
    `window_dilation` `=` $window_dilation `,` `order` `=` $order (`winograd` $winograd^)?
    (`epilogue` $epilogue^)? (`with` `(` $beside^ `:` type($beside) `)`)? attr-dict `:` type($a) `,` type($w)
  }];
  let hasVerifier = 1;
}

// Blocks of a launch, which need not be polynomials: `ceildiv(n, 256)`.
def Weft_Extents : Weft_SizeArgument<"::weft::ir::SizesAttr",
    "::llvm::all_of(::llvm::cast<::weft::ir::SizesAttr>($_self).getSizes(), "
    "[](::weft::ir::Size size) { return size.isExpressible(); })",
    "::llvm::ArrayRef<::weft::ir::Size>", "sizes that can be expressed"> {
  let convertFromStorage = "$_self.getSizes()";
}

def Weft_RawKernelOp : Weft_Op<"raw_kernel", [Weft_SameDevice, Pure]> {
  let summary = "one launch of a CUDA kernel that the user wrote";
  let description = [{
    `source` is CUDA C++, compiled by NVRTC; `entry` is the kernel in it that is launched, declared `extern "C"`. A call
    launches `grid` blocks of `block` threads, with `shared` bytes of dynamic shared memory. `parameters` are those of the
    kernel, in order:

    - `"in"`: the address of the next operand, in row-major memory, which the kernel must not write.
    - `"out"`: the address of the next result, whose elements have any values before the kernel writes them.
    - `"in_out"`: the address of the next result, which begins as a copy of the next operand, of the same type. The copy
      is left out if nothing reads the operand later.
    - a number, as `2.0 : f32` or `100 : i64`: that many bytes, by value.
    - a size, as `#weft.size<4 * n>`: its number in the call, of 8 bytes, by value.

    The kernel writes memory of its results only, so the op has no side effects: it does not run if nothing needs a
    result. A result never lies in an argument of the function, because a kernel that is not made by Weft does not see
    that a call has failed; it is copied there (WEFT-D015).

    Blocks of the grid are sizes; if one is 0 in a call, the kernel is not launched, and in-out tensors are copied.
    `block` and `shared` are numbers.

    There is no code for the host (WEFT-K004), no derivative (WEFT-G001), and no rule of the interpreter. `source_at`, as "saxpy.cpp:12:20", is where the text is in the user's program, for errors.
    Whether the text compiles (WEFT-K001), has the kernel (WEFT-K002), with these parameters (WEFT-K003), and whether a
    block fits the device (WEFT-K005), is known when code is made for a device.
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$inputs, StrAttr:$entry, ArrayAttr:$parameters,
                       Weft_Extents:$grid, DenseI64ArrayAttr:$block, I64Attr:$shared, StrAttr:$source,
                       OptionalAttr<StrAttr>:$source_at);
  let results = (outs Variadic<Weft_Tensor>:$outputs);
  let assemblyFormat = [{
    $entry `(` $inputs `)` `,` `parameters` `=` $parameters `,` `grid` `=` custom<Sizes>($grid) `,` `block` `=` $block `,`
    `shared` `=` $shared `,` `source` `=` $source (`at` $source_at^)? attr-dict `:`
    functional-type($inputs, $outputs)
  }];
  let hasVerifier = 1;
}

#endif // WEFT_OPS_TD
