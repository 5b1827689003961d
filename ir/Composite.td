//===- Composite.td - Contractions, and ops that stay whole until fusion *- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_COMPOSITE_TD
#define WEFT_COMPOSITE_TD

include "ir/Elementwise.td"

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def Weft_DotGeneralOp : Weft_ComputeOp<"dot_general", [Differentiable, AttrSizedOperandSegments]> {
  let summary = "sum of products over the contracted dimensions";
  let description = [{
    The result has the batch dimensions, then the other dimensions of a, then those of b. The epilogue, which
    fusion attaches, comes after the sum and in this order: `bias`, a vector of the result's last dimension, is
    added, then `residual`, a tensor of the result's type, then `relu` applied. `library` is what a library of
    contractions answered when it was asked about this one.

    `plus` names further pairs of operands, of f32 or f64 and of the types of a and b: their products are rounded
    and added one after the other, (a b + residual) + a1 b1 + .., where there is neither bias nor relu.
    `--weft-merge-sums-of-contractions` makes them.
  }];
  let arguments = (ins Weft_Tensor:$a, Weft_Tensor:$b, Optional<Weft_Tensor>:$bias, Optional<Weft_Tensor>:$residual,
                       Variadic<Weft_Tensor>:$more, DenseI64ArrayAttr:$batch_a, DenseI64ArrayAttr:$batch_b,
                       DenseI64ArrayAttr:$contract_a, DenseI64ArrayAttr:$contract_b, UnitAttr:$relu,
                       OptionalAttr<Weft_LibraryAttr>:$library);
  let results = (outs Weft_Tensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Value":$a, "::mlir::Value":$b, "::mlir::Value":$bias,
                                 "::llvm::ArrayRef<int64_t>":$batchA, "::llvm::ArrayRef<int64_t>":$batchB,
                                 "::llvm::ArrayRef<int64_t>":$contractA, "::llvm::ArrayRef<int64_t>":$contractB,
                                 "bool":$relu, CArg<"::mlir::Value", "{}">:$residual,
                                 CArg<"::weft::ir::LibraryAttr", "{}">:$library,
                                 CArg<"::mlir::ValueRange", "{}">:$more), [{
    build($_builder, $_state, a, b, bias, residual, more, batchA, batchB, contractA, contractB, relu, library);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Composites
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

def Weft_CrossEntropyOp : Weft_Composite<"cross_entropy", [Differentiable, Weft_FallibleOp, Weft_KeywordOp]> {
  let summary = "negative log-likelihood of the target classes under softmax(logits)";
  let description = [{
    `logits` is N x C, `target` has N class numbers (i64). Rows whose target is `ignore_index` are ignored. The mean
    divides by the number of other rows, or, if `weight` gives a weight for each class, by the sum of the weights of
    their targets; if all rows are ignored, the result is NaN. With `label_smoothing` s the loss is (1 - s) times that
    of the target plus s/C times that of every class, each with its weight. The derivative uses `lse`, the log of the
    sum of exponentials of each row. A call with a target outside of `[0, C)` fails.
  }];
  let arguments = (ins Weft_FloatTensor:$logits, Weft_IntTensor:$target, Optional<Weft_FloatTensor>:$weight,
                       Weft_ReductionKindAttr:$reduction, DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                       DefaultValuedAttr<F64Attr, "0.0">:$label_smoothing);
  let results = (outs Weft_Tensor:$loss, Weft_Tensor:$lse);
  let assemblyFormat = [{
    $logits `,` $target (`weight` $weight^)? `,` `reduction` `=` $reduction (`ignore_index` `=` $ignore_index^)?
    (`label_smoothing` `=` $label_smoothing^)? attr-dict `:` type($logits) `,` type($target) (`,` type($weight)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool mayFail() { return true; }
  }] # Weft_Keywords<[Weft_Keyword<"reduction", "ReductionKind">]>.text;
}

def Weft_LayerNormOp : Weft_Composite<"layer_norm", [Differentiable, AttrSizedOperandSegments]> {
  let summary = "(a - mean) / sqrt(variance + eps) * weight + bias over the dimensions from `axis` on";
  let description = [{
    `weight` and `bias` have the shape of the normalised dimensions. The variance is the biased one. `mean` and `rstd`,
    which is 1/sqrt(variance + eps), have the shape of the dimensions before `axis`, and are f32 for f16 and bf16. The
    derivative uses them.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Optional<Weft_FloatTensor>:$weight, Optional<Weft_FloatTensor>:$bias,
                       I64Attr:$axis, F64Attr:$eps);
  let results = (outs Weft_FloatTensor:$y, Weft_FloatTensor:$mean, Weft_FloatTensor:$rstd);
  let assemblyFormat = [{
    $a (`weight` $weight^)? (`bias` $bias^)? `,` `axis` `=` $axis `,` `eps` `=` $eps attr-dict
    `:` type($a) (`weight` type($weight)^)? (`bias` type($bias)^)?
  }];
  let hasVerifier = 1;
}

def Weft_DropoutOp : Weft_Composite<"dropout", [Differentiable]> {
  let summary = "zeros elements with probability p and scales the others by 1/(1 - p)";
  let description = [{
    Element i is kept if the uniform number from lane i mod 4 of block counter + i/4 is not below p. The factor
    1/(1 - p) is rounded to f32, or to f64 for f64. The second result is counter + ceil(elements / 4). With p = 1 all
    elements are zero. The derivative computes the same mask again.
  }];
  let arguments = (ins Weft_FloatTensor:$a, Weft_I64Scalar:$key, Weft_I64Scalar:$counter, F64Attr:$p,
                       DefaultValuedAttr<I64Attr, "0">:$stream);
  let results = (outs Weft_FloatTensor:$y, Weft_I64Scalar:$next);
  let assemblyFormat = [{
    $a `,` $key `,` $counter `,` `p` `=` $p (`stream` `=` $stream^)? attr-dict
    `:` type($a) `,` custom<OperandTypes>(type($key), type($counter))
  }];
  let hasVerifier = 1;
}

class Weft_AttentionLike<string mnemonic, list<Trait> traits = []> : Weft_Composite<mnemonic, traits> {
  let hasVerifier = 1;
}

def Weft_SdpaOp : Weft_AttentionLike<"sdpa", [Differentiable]> {
  let summary = "scaled dot-product attention: softmax(scale q k^T + mask) v, row by row";
  let description = [{
    `q` is [.., L, E], `k` is [.., S, E] and `v` is [.., S, Ev], with the same batch dimensions; the result is
    [.., L, Ev]. `mask` has the rank of q, and its dimensions of size 1 broadcast to [.., L, S]. An i1 mask is true for
    the keys that take part; a mask of numbers, of the element type of q or of `lse`, is added to the scores. With
    `causal`, row i uses the first i + 1 keys. A row in which all keys are masked, or all scores are -inf, is 0. The
    derivative uses `lse`, the log of the sum of exponentials of each row. It is -inf for such a row, and f32 for f16
    and bf16.
  }];
  let arguments = (ins Weft_FloatTensor:$q, Weft_FloatTensor:$k, Weft_FloatTensor:$v, Optional<Weft_Tensor>:$mask,
                       F64Attr:$scale, UnitAttr:$causal);
  let results = (outs Weft_Tensor:$out, Weft_Tensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`mask` $mask^)? `,` `scale` `=` $scale (`causal` $causal^)? attr-dict
    `:` type($q) `,` type($k) `,` type($v) (`mask` type($mask)^)?
  }];
}

def Weft_SdpaBackwardOp : Weft_AttentionLike<"sdpa_backward"> {
  let summary = "the derivative of sdpa with respect to q, k and v";
  let description = [{
    `out` and `lse` are the results of `weft.sdpa` on the same operands, and `grad` is the cotangent of out. The
    probabilities are computed again: p = exp(scores - lse), and 0 in rows whose lse is -inf. With
    ds = p (grad v^T - sum(grad out)), the results are scale ds k, scale ds^T q and p^T grad. The op has no derivative
    of its own; a gradient through it uses its decomposition.
  }];
  let arguments = (ins Weft_FloatTensor:$q, Weft_FloatTensor:$k, Weft_FloatTensor:$v, Weft_FloatTensor:$out,
                       Weft_FloatTensor:$lse, Weft_FloatTensor:$grad, Optional<Weft_Tensor>:$mask, F64Attr:$scale,
                       UnitAttr:$causal);
  let results = (outs Weft_Tensor:$dq, Weft_Tensor:$dk, Weft_Tensor:$dv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $grad (`mask` $mask^)? `,` `scale` `=` $scale (`causal` $causal^)?
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($out) `,` type($lse) `,` type($grad)
    (`mask` type($mask)^)?
  }];
}

class Weft_OptimizerStep<string mnemonic> : Weft_ComputeOp<mnemonic, [AttrSizedOperandSegments]> {
  let hasVerifier = 1;
}

def Weft_SgdStepOp : Weft_OptimizerStep<"sgd_step"> {
  let summary = "one step of stochastic gradient descent, as torch.optim.SGD";
  let description = [{
    d = g + decay p. With a buffer, buf' = d at the first step, later buf' = momentum buf + (1 - dampening) d, and d
    becomes buf', or d + momentum buf' with `nesterov`. p' = p - lr d. `step` is the number of steps already done. With
    `maximize`, -g replaces g. If `found_inf` is true, all results are the old values.
  }];
  let arguments = (ins Weft_FloatTensor:$p, Weft_FloatTensor:$g, Optional<Weft_FloatTensor>:$buf, Weft_I64Scalar:$step,
                       Weft_F64Scalar:$lr, Weft_F64Scalar:$momentum, Weft_F64Scalar:$dampening, Weft_F64Scalar:$decay,
                       Optional<Weft_BoolScalar>:$found_inf, UnitAttr:$nesterov, UnitAttr:$maximize);
  let results = (outs Weft_Tensor:$p_new, Optional<Weft_Tensor>:$buf_new);
  let assemblyFormat = [{
    `(` $p `,` $g (`buf` $buf^)? `,` `step` $step `,` `lr` $lr `,` `momentum` $momentum `,`
    `dampening` $dampening `,` `decay` $decay (`,` `found_inf` $found_inf^)? `)` (`nesterov` $nesterov^)? (`maximize` $maximize^)? attr-dict `:`
    type($p) `,` type($g) (`buf` type($buf)^)? `,` type($step) `,` custom<OperandTypes>(type($lr), type($momentum),
    type($dampening), type($decay)) (`found_inf` type($found_inf)^)?
  }];
}

def Weft_AdamStepOp : Weft_OptimizerStep<"adam_step"> {
  let summary = "one step of Adam, as torch.optim.Adam, or AdamW if `decoupled`";
  let description = [{
    t = step + 1, where `step` is the number of steps already done. g' = g + decay p; if `decoupled`, g' = g and p is
    first multiplied by 1 - lr decay. m' = m + (1 - beta1)(g' - m). v' = beta2 v + (1 - beta2) g'^2. With `vmax`,
    vmax' = max(vmax, v'), which replaces v' in p' = p - (lr / (1 - beta1^t)) m' / (sqrt(v') / sqrt(1 - beta2^t) + eps).
    The scalars are computed in f64 and then rounded. With `maximize`, -g replaces g. If `found_inf` is true, all
    results are the old values.
  }];
  let arguments = (ins Weft_FloatTensor:$p, Weft_FloatTensor:$g, Weft_FloatTensor:$m, Weft_FloatTensor:$v,
                       Optional<Weft_FloatTensor>:$vmax, Weft_I64Scalar:$step, Weft_F64Scalar:$lr,
                       Weft_F64Scalar:$beta1, Weft_F64Scalar:$beta2, Weft_F64Scalar:$eps, Weft_F64Scalar:$decay,
                       Optional<Weft_BoolScalar>:$found_inf, UnitAttr:$decoupled, UnitAttr:$maximize);
  let results = (outs Weft_Tensor:$p_new, Weft_Tensor:$m_new, Weft_Tensor:$v_new, Optional<Weft_Tensor>:$vmax_new);
  let assemblyFormat = [{
    `(` $p `,` $g `,` `m` $m `,` `v` $v (`vmax` $vmax^)? `,` `step` $step `,` `lr` $lr `,` `betas` $beta1 `,`
    $beta2 `,` `eps` $eps `,` `decay` $decay (`,` `found_inf` $found_inf^)? `)` (`decoupled` $decoupled^)? (`maximize` $maximize^)? attr-dict `:`
    type($p) `,` type($g) `,` type($m) `,` type($v) (`vmax` type($vmax)^)? `,` type($step) `,`
    custom<OperandTypes>(type($lr), type($beta1), type($beta2), type($eps), type($decay))
    (`found_inf` type($found_inf)^)?
  }];
}

#endif // WEFT_COMPOSITE_TD
