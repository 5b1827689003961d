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
    An op whose result element depends only on the operand elements at the same index. Its definition has its scalar
    code once, and every backend uses it.
  }];
  let methods = [
    InterfaceMethod<[{
        Emits the op's code on scalars, or on vectors of the same length, in `arith` and `math`. `in` has one value
        per operand. All integers are signless; `k.isUnsigned(i)` tells which operands are unsigned.
      }], "::mlir::Value", "emitScalar", (ins "::weft::ir::ScalarEmitter &":$k, "::mlir::ValueRange":$in)>,
    InterfaceMethod<[{ The error bound of a kernel's result on exact operands. }],
      "::weft::ir::Accuracy", "accuracy", (ins)>,
  ];
}

def Weft_CostOp : Weft_Interface<"CostOp"> {
  let description = [{
    An op with a cost other than 0. Without this interface the cost of an op is 0: it only moves or adds up elements.
    See `additionsPerElement` in ir/OpFacts.h.
  }];
  let methods = [
    InterfaceMethod<[{ The time for one f32 element in vector code, in units of an addition. }],
      "int64_t", "additionsPerElement", (ins)>,
  ];
}

def Weft_FallibleOp : Weft_Interface<"FallibleOp"> {
  let description = [{
    An op that may fail because of the values of its operands, such as an index out of bounds or an assertion.
  }];
  let methods = [
    InterfaceMethod<[{ Whether this op may fail. An op whose index is assumed to be in range does not. }],
      "bool", "mayFail", (ins)>,
  ];
}

def Weft_KeywordOp : Weft_Interface<"KeywordOp"> {
  let description = [{
    An op with enum attributes that callers set by their keyword, as text.
  }];
  let methods = [
    StaticInterfaceMethod<[{ The value of attribute `name` for a keyword; null if there is none. }],
      "::mlir::Attribute", "keywordAttr",
      (ins "::mlir::MLIRContext *":$context, "::llvm::StringRef":$name, "::llvm::StringRef":$keyword)>,
  ];
}

/// The C++ code for one enum attribute in the body of `keywordAttr`.
class Weft_Keyword<string attribute, string enumName> {
  code text = "if (name == \"" # attribute # "\") if (auto value = ::weft::ir::symbolize" # enumName #
              "(keyword)) return ::weft::ir::" # enumName # "Attr::get(context, *value);\n";
}
/// The function `keywordAttr` for all enum attributes of an op.
class Weft_Keywords<list<Weft_Keyword> keywords> {
  code text = "static ::mlir::Attribute keywordAttr(::mlir::MLIRContext *context, ::llvm::StringRef name, "
              "::llvm::StringRef keyword) {\n" #
              !foldl("", keywords, all, one, all # one.text) # "return {};\n}\n";
}

def Weft_InterpretableOp : Weft_Interface<"InterpretableOp"> {
  let description = [{
    The semantics of an op, as a plain function on doubles and 64-bit integers. It shares no code with the scalar code
    of kernels, so tests that compare the two find errors in either.
  }];
  let methods = [
    InterfaceMethod<[{
        Computes `results`, which have their shapes, from `operands`. Emits an error on the op if the values are
        invalid, for example an index out of bounds.
      }], "::mlir::LogicalResult", "interpret",
      (ins "::llvm::ArrayRef<const ::weft::ir::Literal *>":$operands,
           "::llvm::MutableArrayRef<::weft::ir::Literal>":$results)>,
  ];
}

def Weft_DifferentiableOp : Weft_Interface<"DifferentiableOp"> {
  let description = [{
    An op with a vector-Jacobian product. A gradient through an op without this interface is an error. An op whose
    derivative is zero everywhere has an empty rule.
  }];
  let methods = [
    InterfaceMethod<[{
        Builds the cotangents of the operands for which `vjp.needs()` is true from those of the results, and passes
        them to `vjp.set()`. An operand that is not set has no gradient.
      }], "::mlir::LogicalResult", "buildVjp", (ins "::weft::ir::VjpBuilder &":$vjp)>,
  ];
}

def Weft_DecomposableOp : Weft_Interface<"DecomposableOp"> {
  let description = [{ A composite, which has a decomposition into primitives. }];
  let methods = [
    InterfaceMethod<[{ Builds the decomposition before the op and returns one value per result. }],
      "::llvm::SmallVector<::mlir::Value>", "decompose", (ins "::mlir::OpBuilder &":$builder)>,
  ];
}

def Weft_CaptureOp : Weft_Interface<"CaptureOp"> {
  let description = [{ An op that cannot be part of a captured graph, with the reason. }];
  let methods = [
    InterfaceMethod<[{ The reason code ("WEFT-C001") and the reason as text, for reports and errors. }],
      "std::pair<::llvm::StringRef, ::llvm::StringRef>", "whyNotCapturable", (ins)>,
  ];
}

#endif // WEFT_INTERFACES_TD
