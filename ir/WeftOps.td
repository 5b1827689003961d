//===- WeftOps.td - All ops but the elementwise ones -------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_OPS_TD
#define WEFT_OPS_TD

include "ir/Elementwise.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

def Weft_ConstantOp : Weft_Op<"constant", [Pure, ConstantLike, Differentiable,
    DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "values known when the program is compiled";
  let description = [{ `weft.constant dense<1.0> : tensor<4xf32, #cpu>`. The result type carries the device. }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasFolder = 1;
  let hasVerifier = 1;
}

def Weft_FullOp : Weft_ComputeOp<"full", [Differentiable]> {
  let summary = "a tensor that repeats one run-time number";
  let arguments = (ins Weft_Tensor:$value, DenseI64ArrayAttr:$shape);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$value `,` `shape` `=` $shape attr-dict `:` type($value)";
  let hasVerifier = 1;
}

def Weft_IotaOp : Weft_Op<"iota", [Pure, Differentiable, DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "the index along one dimension";
  let arguments = (ins I64Attr:$dim);
  let results = (outs Weft_IntTensor:$result);
  let assemblyFormat = "`dim` `=` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Weft_RngBitsPhiloxOp : Weft_ComputeOp<"rng_bits_philox", [Differentiable]> {
  let summary = "random bits of the Philox4x32-10 counter generator";
  let description = [{
    Element i, in row-major order of the result, is lane i mod 4 of the block whose 128-bit counter is
    (counter + i/4, stream) and whose key is `key`. The second result is counter + ceil(elements / 4).
  }];
  let arguments = (ins Weft_I64Scalar:$key, Weft_I64Scalar:$counter, DenseI64ArrayAttr:$shape,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let results = (outs Weft_IntTensor:$bits, Weft_I64Scalar:$next);
  let assemblyFormat = "$key `,` $counter `,` `shape` `=` $shape (`stream` `=` $stream^)? attr-dict `:` custom<OperandTypes>(type($key), type($counter))";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

def Weft_BroadcastInDimOp : Weft_ComputeOp<"broadcast_in_dim", [Differentiable]> {
  let summary = "stretches dimensions of size 1 and adds new ones";
  let description = [{
    Dimension i of the operand becomes dimension `dims[i]` of the result; it has that size, or 1. `dims` increases.
  }];
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$dims, DenseI64ArrayAttr:$shape);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_ReshapeOp : Weft_ComputeOp<"reshape", [Differentiable]> {
  let summary = "the same elements, in row-major order, in another shape";
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$shape);
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
  let summary = "elements start, start + step, ... below limit, along each dimension";
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$limit, DenseI64ArrayAttr:$step);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `start` `=` $start `,` `limit` `=` $limit `,` `step` `=` $step attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_PadOp : Weft_ComputeOp<"pad", [Differentiable]> {
  let summary = "adds zeros before, after and between the elements of each dimension";
  let description = [{ `low`, `high` and `interior` count added elements; none is negative. }];
  let arguments = (ins Weft_Tensor:$a, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, DenseI64ArrayAttr:$interior);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = [{
    $a `,` `low` `=` $low `,` `high` `=` $high `,` `interior` `=` $interior attr-dict `:` type($a)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and indexing
//===----------------------------------------------------------------------===//

class Weft_Reduction<string mnemonic, Type operand, string summaryText> :
    Weft_ComputeOp<mnemonic, [Differentiable]> {
  let summary = summaryText;
  let arguments = (ins operand:$a, DenseI64ArrayAttr:$dims);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `dims` `=` $dims attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Weft_SumOp : Weft_Reduction<"sum", Weft_NumberTensor,
  "sum over dimensions, which disappear; halves and f32 accumulate in f32, integers wrap; 0 over nothing">;
def Weft_RmaxOp : Weft_Reduction<"rmax", Weft_NumberTensor, "largest over dimensions, which disappear; NaN propagates">;
def Weft_RminOp : Weft_Reduction<"rmin", Weft_NumberTensor, "smallest over dimensions, which disappear; NaN propagates">;

def Weft_ArgmaxOp : Weft_ComputeOp<"argmax", [Differentiable]> {
  let summary = "index of the largest along a dimension, which disappears; the first of equals; NaN wins";
  let arguments = (ins Weft_NumberTensor:$a, I64Attr:$dim);
  let results = (outs Weft_IntTensor:$result);
  let assemblyFormat = "$a `,` `dim` `=` $dim attr-dict `:` type($a)";
  let hasVerifier = 1;
}

def Weft_GatherOp : Weft_ComputeOp<"gather", [Differentiable]> {
  let summary = "elements chosen by index along one dimension";
  let description = [{
    `kind = along`: the index tensor has the operand's rank, and the result, of the index's shape, is
    `a[i0, .., index[i0, .., in], .., in]` with the index in dimension `dim` (torch.gather); the index may be
    smaller than the operand in the other dimensions.
    `kind = points`: the index tensor's dimensions replace dimension `dim` (torch.index_select, embedding).
    An index outside `[0, size)` is an error of the call: nothing that the function writes is changed.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_IntTensor:$index, I64Attr:$dim, Weft_GatherKindAttr:$kind);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` $index `,` `dim` `=` $dim `,` `kind` `=` $kind attr-dict `:` type($a) `,` type($index)";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def Weft_DotGeneralOp : Weft_ComputeOp<"dot_general", [Differentiable]> {
  let summary = "sum of products over the contracted dimensions";
  let description = [{
    The result has the batch dimensions, then the other dimensions of a, then those of b. `bias`, a vector
    of the result's last dimension, is added and `relu` applied after the sum: the epilogue that fusion attaches.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_Tensor:$b, Optional<Weft_Tensor>:$bias,
                       DenseI64ArrayAttr:$batch_a, DenseI64ArrayAttr:$batch_b,
                       DenseI64ArrayAttr:$contract_a, DenseI64ArrayAttr:$contract_b, UnitAttr:$relu);
  let results = (outs Weft_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Composites: kept whole until fusion
//===----------------------------------------------------------------------===//

class Weft_Composite<string mnemonic, list<Trait> traits = []> :
    Weft_ComputeOp<mnemonic, [DeclareOpInterfaceMethods<Weft_DecomposableOp>] # traits>;

class Weft_SoftmaxLike<string mnemonic, string summaryText> : Weft_Composite<mnemonic, [Differentiable]> {
  let summary = summaryText;
  let arguments = (ins Weft_FloatTensor:$a, I64Attr:$dim);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `,` `dim` `=` $dim attr-dict `:` type($a)";
  let hasVerifier = 1;
}
def Weft_SoftmaxOp : Weft_SoftmaxLike<"softmax", "exp(a - max) / sum(exp(a - max)) along a dimension">;
def Weft_LogSoftmaxOp : Weft_SoftmaxLike<"log_softmax", "a - max - log(sum(exp(a - max))) along a dimension">;

def Weft_CrossEntropyOp : Weft_Composite<"cross_entropy", [Differentiable]> {
  let summary = "negative log-likelihood of the target classes under softmax(logits)";
  let description = [{
    `logits` is N x C, `target` N class numbers (i64). Rows whose target is `ignore_index` count for nothing. The mean
    divides by the number of rows that count; if there is none the result is NaN. `lse`, the log of the sum
    of exponentials of each row, is what the derivative needs. A target outside `[0, C)` is an error of the call.
  }];
  let arguments = (ins Weft_FloatTensor:$logits, Weft_IntTensor:$target, Weft_ReductionKindAttr:$reduction,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs Weft_Tensor:$loss, Weft_Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $target `,` `reduction` `=` $reduction (`ignore_index` `=` $ignore_index^)? attr-dict
    `:` type($logits) `,` type($target)
  }];
  let hasVerifier = 1;
}

class Weft_OptimizerStep<string mnemonic> : Weft_ComputeOp<mnemonic> {
  let hasVerifier = 1;
}

def Weft_SgdStepOp : Weft_OptimizerStep<"sgd_step"> {
  let summary = "one step of stochastic gradient descent, as torch.optim.SGD";
  let description = [{
    d = g + decay p; with a buffer: buf' = d at the first step, else momentum buf + (1 - dampening) d, and d is
    buf', or d + momentum buf' with `nesterov`; p' = p - lr d. `step` is the number of steps already done.
  }];
  let arguments = (ins Weft_FloatTensor:$p, Weft_FloatTensor:$g, Optional<Weft_FloatTensor>:$buf, Weft_I64Scalar:$step,
                       Weft_F64Scalar:$lr, Weft_F64Scalar:$momentum, Weft_F64Scalar:$dampening, Weft_F64Scalar:$decay,
                       UnitAttr:$nesterov, UnitAttr:$maximize);
  let results = (outs Weft_Tensor:$p_new, Optional<Weft_Tensor>:$buf_new);
  let assemblyFormat = [{
    `(` $p `,` $g (`buf` $buf^)? `,` `step` $step `,` `lr` $lr `,` `momentum` $momentum `,`
    `dampening` $dampening `,` `decay` $decay `)` (`nesterov` $nesterov^)? (`maximize` $maximize^)? attr-dict `:`
    type($p) `,` type($g) (`buf` type($buf)^)? `,` type($step) `,` custom<OperandTypes>(type($lr), type($momentum),
    type($dampening), type($decay))
  }];
}

def Weft_AdamStepOp : Weft_OptimizerStep<"adam_step"> {
  let summary = "one step of Adam, as torch.optim.Adam, or AdamW if `decoupled`";
  let description = [{
    t = step + 1, where `step` is the number of steps already done. g' = g + decay p, or p' = p (1 - lr decay) if
    `decoupled`; m' = m + (1 - beta1)(g' - m); v' = beta2 v + (1 - beta2) g'^2; with `vmax`, vmax' = max(vmax, v') and
    v' is replaced by it below; p' = p - (lr / (1 - beta1^t)) m' / (sqrt(v') / sqrt(1 - beta2^t) + eps). The
    scalars are computed in f64 once and rounded last.
  }];
  let arguments = (ins Weft_FloatTensor:$p, Weft_FloatTensor:$g, Weft_FloatTensor:$m, Weft_FloatTensor:$v,
                       Optional<Weft_FloatTensor>:$vmax, Weft_I64Scalar:$step, Weft_F64Scalar:$lr,
                       Weft_F64Scalar:$beta1, Weft_F64Scalar:$beta2, Weft_F64Scalar:$eps, Weft_F64Scalar:$decay,
                       UnitAttr:$decoupled, UnitAttr:$maximize);
  let results = (outs Weft_Tensor:$p_new, Weft_Tensor:$m_new, Weft_Tensor:$v_new, Optional<Weft_Tensor>:$vmax_new);
  let assemblyFormat = [{
    `(` $p `,` $g `,` `m` $m `,` `v` $v (`vmax` $vmax^)? `,` `step` $step `,` `lr` $lr `,` `betas` $beta1 `,`
    $beta2 `,` `eps` $eps `,` `decay` $decay `)` (`decoupled` $decoupled^)? (`maximize` $maximize^)? attr-dict `:`
    type($p) `,` type($g) `,` type($m) `,` type($v) (`vmax` type($vmax)^)? `,` type($step) `,`
    custom<OperandTypes>(type($lr), type($beta1), type($beta2), type($eps), type($decay))
  }];
}

//===----------------------------------------------------------------------===//
// Devices, state, functions
//===----------------------------------------------------------------------===//

def Weft_TransferOp : Weft_Op<"transfer", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<Weft_InterpretableOp>, Differentiable]> {
  let summary = "the same tensor on another device; the only op whose operand and result devices differ";
  let arguments = (ins Weft_Tensor:$a, Weft_DeviceAttr:$to, UnitAttr:$non_blocking);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `to` $to (`non_blocking` $non_blocking^)? attr-dict `:` type($a)";
  let hasFolder = 1;
}

def Weft_GradientOp : Weft_Op<"gradient", [Weft_SameDevice, Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "derivative of a value with respect to others";
  let description = [{
    Result i is the gradient of the sum of the elements of `of` with respect to `wrt[i]`, taken along the ops between them in the same function. Differentiation replaces it; a value
    that `of` does not depend on gets zeros.
  }];
  let arguments = (ins Weft_FloatTensor:$of, Variadic<Weft_FloatTensor>:$wrt);
  let results = (outs Variadic<Weft_FloatTensor>:$gradients);
  let assemblyFormat = "$of `wrt` $wrt attr-dict `:` type($of) `,` type($wrt)";
  let hasVerifier = 1;
}

def Weft_RngStateLoadOp : Weft_Op<"rng_state_load", [MemoryEffects<[MemRead]>]> {
  let summary = "key and counter of a generator, at function entry";
  let arguments = (ins StrAttr:$generator);
  let results = (outs Weft_I64Scalar:$key, Weft_I64Scalar:$counter);
  let assemblyFormat = "$generator attr-dict `:` type($key) `,` type($counter)";
}

def Weft_RngStateStoreOp : Weft_Op<"rng_state_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "advances a generator, at function exit";
  let arguments = (ins Weft_I64Scalar:$counter, StrAttr:$generator);
  let assemblyFormat = "$counter `,` $generator attr-dict `:` type($counter)";
}

def Weft_FuncOp : Weft_Op<"func", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "a function: donated arguments, tied results";
  let description = [{
    Argument attributes: `weft.name` (string), `weft.role` ("argument", "state", "scalar", "random"), `weft.donated`.
    Result attributes: `weft.name`, `weft.tied = N`: the result is written to the storage of argument N, which must be
    donated and of the same type.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility,
                       OptionalAttr<DictArrayAttr>:$arg_attrs, OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region AnyRegion:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::mlir::FunctionType":$type)>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::mlir::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return isExternal() ? nullptr : &getBody(); }
    /// The argument that result `i` is tied to, or -1.
    int64_t getTiedArgument(unsigned i);
    bool isDonated(unsigned argument);
  }];
}

def Weft_ReturnOp : Weft_Op<"return", [Pure, HasParent<"FuncOp">, Terminator, ReturnLike]> {
  let summary = "ends a function";
  let arguments = (ins Variadic<Weft_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let builders = [OpBuilder<(ins), [{}]>];
  let hasVerifier = 1;
}

def Weft_CallOp : Weft_Op<"call", [CallOpInterface, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls a function of the module; inlined before anything else happens";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<Weft_Tensor>:$values);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = "$callee `(` $values `)` attr-dict `:` functional-type($values, results)";
  let extraClassDeclaration = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() { return getCalleeAttr(); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getValues(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getValuesMutable(); }
  }];
}

//===----------------------------------------------------------------------===//
// Later stages
//===----------------------------------------------------------------------===//

def Weft_FusionOp : Weft_Op<"fusion", [Weft_SameDevice, IsolatedFromAbove, Pure,
                                       SingleBlock, DeclareOpInterfaceMethods<Weft_InterpretableOp>]> {
  let summary = "ops that become one kernel";
  let description = [{
    The body computes on whole tensors; block argument i is operand i. What the body may hold follows from `kind`:

    - `loop`: all results have one shape, the domain; no reductions.
    - `row`: the domain is the shape that every reduction in the body reduces over its trailing dimensions;
      results have the domain's shape, or the shape that is left. Reductions may depend on each other.
    - `column`: every reduction reduces leading dimensions of the domain; results have the domain's shape, or
      the shape that is left. No reduction depends on another.
    - `multi_tensor`: independent optimiser steps over any number of tensors.

    A `schedule` is attached by scheduling, `slices` (one per result) by the memory plan.
  }];
  let arguments = (ins Variadic<Weft_Tensor>:$inputs, Weft_FusionKindAttr:$kind,
                       OptionalAttr<Weft_ScheduleAttr>:$schedule, OptionalAttr<ArrayAttr>:$slices);
  let results = (outs Variadic<Weft_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The shape that the kernel iterates over; empty for `multi_tensor`.
    ::llvm::SmallVector<int64_t> getDomain();
    /// The number of trailing (`row`) or leading (`column`) dimensions that the body's reductions remove.
    unsigned getNumReducedDims();
  }];
}

def Weft_YieldOp : Weft_Op<"yield", [Pure, HasParent<"FusionOp">, Terminator, ReturnLike]> {
  let summary = "the results of a fusion";
  let arguments = (ins Variadic<Weft_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

#endif // WEFT_OPS_TD
