//===- Effects.td - Storage, host effects, order across queues *- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_EFFECTS_TD
#define WEFT_EFFECTS_TD

include "ir/Elementwise.td"

def Weft_CopyIntoOp : Weft_ComputeOp<"copy_into", [Differentiable]> {
  let summary = "overwrites the storage of dst with src";
  let description = [{
    The result is `dst` after the write, in the storage of `dst`. No op may read `dst` after the write. Both operands
    have the same shape, element type and device.
  }];
  let arguments = (ins Weft_Tensor:$dst, Weft_Tensor:$src);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$dst `,` $src attr-dict `:` custom<OperandTypes>(type($dst), type($src))";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Weft_AliasOp : Weft_ComputeOp<"alias", [Differentiable]> {
  let summary = "the same value in the same storage";
  let description = [{ A function that returns the result returns a view of `a`, not a copy. }];
  let arguments = (ins Weft_Tensor:$a);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a attr-dict `:` type($a)";
}

def Weft_ToHostScalarOp : Weft_Op<"to_host_scalar", [DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<Weft_InterpretableOp>, DeclareOpInterfaceMethods<Weft_CaptureOp>,
    MemoryEffects<[MemRead]>]> {
  let summary = "waits for a 0-dimensional tensor and copies its value to the host";
  let arguments = (ins Weft_Tensor:$a);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a attr-dict `:` type($a)";
  let hasVerifier = 1;
}

def Weft_PrintOp : Weft_Op<"print", [DeclareOpInterfaceMethods<Weft_InterpretableOp>,
    DeclareOpInterfaceMethods<Weft_CaptureOp>, MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "prints a tensor on the host when it is computed";
  let arguments = (ins Weft_Tensor:$a, DefaultValuedAttr<StrAttr, "\"\"">:$label);
  let assemblyFormat = "$a (`label` `=` $label^)? attr-dict `:` type($a)";
}

def Weft_AssertOp : Weft_Op<"assert", [DeclareOpInterfaceMethods<Weft_InterpretableOp>, Weft_FallibleOp, MemoryEffects<[MemWrite]>]> {
  let summary = "makes the call fail unless every element of the condition is true";
  let description = [{
    The error has the message and the op's location. If the call fails, no argument of the function is changed.
  }];
  let arguments = (ins Weft_BoolTensor:$condition, StrAttr:$message);
  let assemblyFormat = "$condition `,` $message attr-dict `:` type($condition)";
  let extraClassDeclaration = [{ bool mayFail() { return true; } }];
}

//===----------------------------------------------------------------------===//
// Order across queues
//===----------------------------------------------------------------------===//

class Weft_OrderOp<string mnemonic, list<Trait> traits = []> :
    Weft_Op<mnemonic, [DeclareOpInterfaceMethods<Weft_InterpretableOp>, MemoryEffects<[MemRead, MemWrite]>] # traits>;

def Weft_TokenOp : Weft_OrderOp<"token"> {
  let summary = "the start of a chain of effects";
  let results = (outs Weft_TokenType:$token);
  let assemblyFormat = "attr-dict";
}

def Weft_BarrierOp : Weft_OrderOp<"barrier"> {
  let summary = "comes after all tokens, and so orders effects across the streams of one program";
  let arguments = (ins Variadic<Weft_TokenType>:$tokens);
  let results = (outs Weft_TokenType:$token);
  let assemblyFormat = "$tokens attr-dict";
}

def Weft_EventRecordOp : Weft_OrderOp<"event_record"> {
  let summary = "an event that completes when all work that was queued before it has completed";
  let arguments = (ins Weft_TokenType:$after, UnitAttr:$timing);
  let results = (outs Weft_EventType:$event, Weft_TokenType:$token);
  let assemblyFormat = "$after (`timing` $timing^)? attr-dict";
}

def Weft_EventWaitOp : Weft_OrderOp<"event_wait"> {
  let summary = "makes work that is queued later wait for an event";
  let arguments = (ins Weft_EventType:$event, Weft_TokenType:$after);
  let results = (outs Weft_TokenType:$token);
  let assemblyFormat = "$event `,` $after attr-dict";
}

def Weft_StreamForkOp : Weft_OrderOp<"stream_fork"> {
  let summary = "makes streams wait for the work that was queued before; one token for each stream";
  let arguments = (ins Weft_TokenType:$after, DenseI64ArrayAttr:$streams);
  let results = (outs Variadic<Weft_TokenType>:$tokens);
  let assemblyFormat = "$after `,` `streams` `=` $streams attr-dict `:` type($tokens)";
  let hasVerifier = 1;
}

def Weft_StreamJoinOp : Weft_OrderOp<"stream_join"> {
  let summary = "makes the current stream wait for the streams of all tokens";
  let arguments = (ins Variadic<Weft_TokenType>:$tokens);
  let results = (outs Weft_TokenType:$token);
  let assemblyFormat = "$tokens attr-dict";
}

#endif // WEFT_EFFECTS_TD
