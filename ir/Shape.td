//===- Shape.td - Making tensors and moving their elements -*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_SHAPE_TD
#define WEFT_SHAPE_TD

include "ir/Elementwise.td"

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def Weft_ConstantOp : Weft_Op<"constant", [Pure, ConstantLike, Differentiable,
    DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "values known when the program is compiled";
  let description = [{
    `weft.constant dense<1.0> : tensor<4xf32, #cpu>`. The result type has the device. A splat with dynamic dimensions is
    written as a 0-dimensional value and the result type:
    `weft.constant dense<1.0> : tensor<f32> -> tensor<?x4xf32, #weft.device<cpu, [batch]>>`.
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Weft_FullOp : Weft_ComputeOp<"full", [Differentiable]> {
  let summary = "tensor that repeats one number, which is known at run time";
  let arguments = (ins Weft_Tensor:$value, Weft_Sizes:$shape);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$value `,` `shape` `=` custom<Sizes>($shape) attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Weft_IotaOp : Weft_Op<"iota", [Pure, Differentiable, DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "the index along one dimension";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Weft_IntTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Weft_RngBitsPhiloxOp : Weft_ComputeOp<"rng_bits_philox", [Differentiable, Weft_CostOp]> {
  let summary = "random bits of the Philox4x32-10 counter generator";
  let description = [{
    Element i, in row-major order of the result, is lane i mod 4 of the block whose 128-bit counter is
    (counter + i/4, stream) and whose key is `key`. The second result is counter + ceil(elements / 4).
  }];
  let arguments = (ins Weft_I64Scalar:$key, Weft_I64Scalar:$counter, Weft_Sizes:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let results = (outs Weft_IntTensor:$bits, Weft_I64Scalar:$next);
  let assemblyFormat = "$key `,` $counter `,` `shape` `=` custom<Sizes>($shape) (`stream` `=` $stream^)? attr-dict `:` custom<OperandTypes>(type($key), type($counter))";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
  // Measured like the costs of functions: ten rounds of two wide products for four elements.
  let extraClassDeclaration = [{ int64_t additionsPerElement() { return 16; } }];
}

def Weft_DimOp : Weft_Op<"dim", [Pure, Differentiable, DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "dynamic size as a 0-dimensional tensor";
  let description = [{
    `weft.dim 784 * batch : tensor<i64, #cpu>`, for example the divisor of a mean. A static size folds to a constant.
  }];
  let arguments = (ins Weft_Size:$size);
  let results = (outs Weft_I64Scalar:$result);
  let assemblyFormat = "custom<Size>($size) attr-dict `:` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Weft_UndefOp : Weft_Op<"undef", [Pure, Differentiable, DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "tensor with unspecified elements";
  let description = [{
    The elements are unspecified, but have the same value each time they are read. Reading them is no undefined
    behaviour.
  }];
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Weft_BroadcastInDimOp : Weft_ComputeOp<"broadcast_in_dim", [Differentiable]> {
  let summary = "stretches dimensions of size 1 and adds new ones";
  let description = [{
    Dimension i of the operand becomes dimension `dims[i]` of the result. It has the same size, or size 1. `dims` is
    increasing.
  }];
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$dims, Weft_Sizes:$shape);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_ReshapeOp : Weft_ComputeOp<"reshape", [Differentiable]> {
  let summary = "the same elements, in row-major order, in another shape";
  let arguments = (ins Weft_Tensor:$a, Weft_Sizes:$shape);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_TransposeOp : Weft_ComputeOp<"transpose", [Differentiable]> {
  let summary = "dimensions in another order";
  let description = [{ Dimension i of the result is dimension `perm[i]` of the operand. }];
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$perm);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `perm` `=` $perm attr-dict `:` type($a)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_SliceOp : Weft_ComputeOp<"slice", [Differentiable]> {
  let summary = "elements start, start + step, ... below limit along each dimension";
  let arguments = (ins Weft_Tensor:$a, Weft_Sizes:$start, Weft_Sizes:$limit, DenseI64ArrayAttr:$step);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `start` `=` custom<Sizes>($start) `,` `limit` `=` custom<Sizes>($limit) `,` `step` `=` $step attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_PadOp : Weft_ComputeOp<"pad", [Differentiable]> {
  let summary = "adds elements before, after and between the elements of each dimension";
  let description = [{
    `low`, `high` and `interior` count added elements. A negative `low` or `high` removes elements, after the interior
    elements were added; `interior` is not negative. The added elements are `value`, a 0-dimensional tensor, or zero if
    it is absent.
  }];
  let arguments = (ins Weft_Tensor:$a, Optional<Weft_Tensor>:$value, Weft_Sizes:$low, Weft_Sizes:$high,
                       DenseI64ArrayAttr:$interior);
  let results = (outs Weft_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::llvm::ArrayRef<::weft::ir::Size>":$low, "::llvm::ArrayRef<::weft::ir::Size>":$high,
                                 "::llvm::ArrayRef<int64_t>":$interior),
                            [{ build($_builder, $_state, a, ::mlir::Value(), low, high, interior); }]>];
  let assemblyFormat = [{
    $a (`value` $value^)? `,` `low` `=` custom<Sizes>($low) `,` `high` `=` custom<Sizes>($high) `,` `interior` `=` $interior attr-dict
    `:` type($a) (`,` type($value)^)?
  }];
  let hasVerifier = 1;
}

def Weft_ConcatOp : Weft_ComputeOp<"concat", [Differentiable]> {
  let summary = "tensors one after the other along a dimension";
  let description = [{
    There is at least one operand. All operands have the same element type, and the same sizes in other dimensions.
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$parts, I64Attr:$dim);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "`(` $parts `)` `,` `dim` `=` $dim attr-dict `:` type($parts)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_ReverseOp : Weft_ComputeOp<"reverse", [Differentiable]> {
  let summary = "the elements of some dimensions in the opposite order";
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `dims` `=` $dims attr-dict `:` type($a)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_DynamicSliceOp : Weft_ComputeOp<"dynamic_slice", [Differentiable]> {
  let summary = "a window at run-time offsets, one i64 scalar per dimension; offsets are clamped into range";
  let arguments = (ins Weft_Tensor:$a, Variadic<Weft_I64Scalar>:$starts, Weft_Sizes:$sizes);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `starts` `(` $starts `)` `,` `sizes` `=` custom<Sizes>($sizes) attr-dict `:` type($a) (`,` type($starts)^)?";
  let hasVerifier = 1;
}

def Weft_DynamicUpdateSliceOp : Weft_ComputeOp<"dynamic_update_slice", [Differentiable]> {
  let summary = "a with the window at run-time offsets replaced by u; offsets are clamped into range";
  let arguments = (ins Weft_Tensor:$a, Weft_Tensor:$u, Variadic<Weft_I64Scalar>:$starts);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $u `,` `starts` `(` $starts `)` attr-dict `:` type($a) `,` type($u) (`,` type($starts)^)?";
  let hasVerifier = 1;
}

def Weft_BitcastOp : Weft_ComputeOp<"bitcast", [Differentiable]> {
  let summary = "the same bytes as another element type";
  let description = [{
    If the widths differ, the last dimension shrinks or grows by their ratio, which must divide it. i1 is not allowed,
    because not every byte is a valid i1.
  }];
  let arguments = (ins Weft_Tensor:$a, TypeAttr:$to);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `to` $to attr-dict `:` type($a)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // WEFT_SHAPE_TD
