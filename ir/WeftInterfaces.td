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
    InterfaceMethod<[{ How far a kernel's result may be from the exact one, on exact operands. }],
      "::weft::ir::Accuracy", "accuracy", (ins)>,
  ];
}

def Weft_CostOp : Weft_Interface<"CostOp"> {
  let description = [{
    An op whose arithmetic is not free. Without this interface an op costs what one addition does, or nothing where it
    only moves elements: see `additionsPerElement` in ir/OpFacts.h.
  }];
  let methods = [
    InterfaceMethod<[{ The time for one element of f32 in the vectors of a kernel, in units of an addition. }],
      "int64_t", "additionsPerElement", (ins)>,
  ];
}

def Weft_FallibleOp : Weft_Interface<"FallibleOp"> {
  let description = [{
    An op that may find an error in the values that it is given when it runs: an index out of bounds, an assertion.
  }];
  let methods = [
    InterfaceMethod<[{ Whether this op does: an index may be promised to be in range. }], "bool", "mayFail", (ins)>,
  ];
}

def Weft_KeywordOp : Weft_Interface<"KeywordOp"> {
  let description = [{ An op with attributes that are keywords, for those who know them by their text. }];
  let methods = [
    StaticInterfaceMethod<[{ The attribute `name` of the op for a keyword; null where there is none. }],
      "::mlir::Attribute", "keywordAttr",
      (ins "::mlir::MLIRContext *":$context, "::llvm::StringRef":$name, "::llvm::StringRef":$keyword)>,
  ];
}

/// The C++ of an attribute that is a keyword, for the body of `keywordAttr`.
class Weft_Keyword<string attribute, string enumName> {
  code text = "if (name == \"" # attribute # "\") if (auto value = ::weft::ir::symbolize" # enumName #
              "(keyword)) return ::weft::ir::" # enumName # "Attr::get(context, *value);\n";
}
/// Those of an op together.
class Weft_Keywords<list<Weft_Keyword> keywords> {
  code text = "static ::mlir::Attribute keywordAttr(::mlir::MLIRContext *context, ::llvm::StringRef name, "
              "::llvm::StringRef keyword) {\n" #
              !foldl("", keywords, all, one, all # one.text) # "return {};\n}\n";
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
