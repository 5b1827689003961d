//===- WeftInterfaces.td - What an op states about itself --*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_INTERFACES_TD
#define WEFT_INTERFACES_TD

include "mlir/IR/OpBase.td"

class Weft_Interface<string name> : OpInterface<name> { let cppNamespace = "::weft::ir"; }

def Weft_ElementwiseOp : Weft_Interface<"ElementwiseOp"> {
  let description = [{
    An op whose result element depends on the operand elements at the same index only. It states its scalar
    body once; every backend reads that.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the body on scalars, or on vectors of the same length, in `arith` and `math`. `in` holds one value
        per operand. Signless integers everywhere: `k` knows which operands are unsigned.
      }], "::mlir::Value", "emitScalar", (ins "::weft::ir::ScalarEmitter &":$k, "::mlir::ValueRange":$in)>,
  ];
}

def Weft_InterpretableOp : Weft_Interface<"InterpretableOp"> {
  let description = [{
    The meaning of an op, as a plain function on doubles and 64-bit integers. It shares no arithmetic with the
    scalar body, so that a wrong body shows.
  }];
  let methods = [
    InterfaceMethod<[{
        Computes `results` (shaped already) from `operands`. A violation that only values can show (an index out
        of bounds) is emitted as an error on the op.
      }], "::mlir::LogicalResult", "interpret",
      (ins "::llvm::ArrayRef<const ::weft::ir::Literal *>":$operands,
           "::llvm::MutableArrayRef<::weft::ir::Literal>":$results)>,
  ];
}

def Weft_DifferentiableOp : Weft_Interface<"DifferentiableOp"> {
  let description = [{
    The op's vector-Jacobian product. An op without this interface stops a gradient with an error; an op whose
    derivative is zero everywhere says so with an empty rule.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands that `vjp` needs from those of the results, and hands them to
        `vjp.set`. An operand that is not set has no gradient.
      }], "::mlir::LogicalResult", "buildVjp", (ins "::weft::ir::VjpBuilder &":$vjp)>,
  ];
}

def Weft_DecomposableOp : Weft_Interface<"DecomposableOp"> {
  let description = [{ A composite: its meaning in terms of primitives. }];
  let methods = [
    InterfaceMethod<[{ Builds the decomposition before the op and returns one value per result. }],
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def Weft_CaptureOp : Weft_Interface<"CaptureOp"> {
  let description = [{ An op that cannot be part of a captured graph, and says why. }];
  let methods = [
    InterfaceMethod<[{ The reason code ("WEFT-C001") and the fact, for the report and for errors. }],
      "std::pair<::llvm::StringRef, ::llvm::StringRef>", "whyNotCapturable", (ins)>,
  ];
}

#endif // WEFT_INTERFACES_TD
