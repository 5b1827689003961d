//===- Control.td - Devices, state and functions -----------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_CONTROL_TD
#define WEFT_CONTROL_TD

include "ir/Elementwise.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Weft_TransferOp : Weft_Op<"transfer", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<Weft_InterpretableOp>, Differentiable]> {
  let summary = "the same tensor on another device; the only op whose operand and result devices differ";
  let arguments = (ins Weft_Tensor:$a, Weft_DeviceAttr:$to, UnitAttr:$non_blocking);
  let results = (outs Weft_Tensor:$result);
  let assemblyFormat = "$a `to` $to (`non_blocking` $non_blocking^)? attr-dict `:` type($a)";
  let hasFolder = 1;
}

def Weft_GradientOp : Weft_Op<"gradient", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "derivative of a value with respect to others";
  let description = [{
    Result i is the gradient of the sum of the elements of `of` with respect to `wrt[i]`, through the ops between them
    in the same function. `--weft-differentiate` replaces the op. The gradient with respect to a value that `of` does
    not depend on is zero. The operands may be on different devices: a gradient flows back through transfers. With
    `weft.no_grad` no later gradient flows through the results.
  }];
  let arguments = (ins Weft_FloatTensor:$of, Variadic<Weft_FloatTensor>:$wrt);
  let results = (outs Variadic<Weft_FloatTensor>:$gradients);
  let assemblyFormat = "$of `wrt` $wrt attr-dict `:` type($of) `,` type($wrt)";
  let hasVerifier = 1;
}

def Weft_RngStateLoadOp : Weft_Op<"rng_state_load", [MemoryEffects<[MemRead]>]> {
  let summary = "key and counter of a generator at function entry";
  let arguments = (ins StrAttr:$generator);
  let results = (outs Weft_I64Scalar:$key, Weft_I64Scalar:$counter);
  let assemblyFormat = "$generator attr-dict `:` type($key) `,` type($counter)";
}

def Weft_RngStateStoreOp : Weft_Op<"rng_state_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "sets the counter of a generator at function exit";
  let arguments = (ins Weft_I64Scalar:$counter, StrAttr:$generator);
  let assemblyFormat = "$counter `,` $generator attr-dict `:` type($counter)";
}

def Weft_FuncOp : Weft_Op<"func", [FunctionOpInterface, IsolatedFromAbove, AutomaticAllocationScope]> {
  let summary = "function with donated arguments and tied results";
  let description = [{
    Argument attributes: `weft.name` (string), `weft.role` ("argument", "state", "scalar", "random"), `weft.donated`,
    `weft.strides`, `weft.alignment`. With `weft.strides = array<i64: 1, 64>`, calls pass memory with these strides, in
    elements, instead of row-major memory. `--weft-normalize-layouts` changes the type of such an argument to that of the
    row-major memory of which it is a view, and records the shape of the tensors that calls pass in `weft.shape`.
    `weft.alignment = 4 : i64` says that a GPU's calls pass memory at any multiple of 4 bytes; it is 32 if left out.

    In files and packages, an argument whose role is not "argument" is identified by its name. So no two such arguments
    of a function have the same name, unless the name is empty.

    Result attributes: `weft.name`, `weft.tied`. With `weft.tied = N`, the result is written to the storage of argument
    N, which must be donated and of the same type.

    `attributes {weft.numerics = "fast"}` allows the rewrites that docs/numerics.md lists under `fast`.

    `attributes {weft.symbols = [#weft.symbol<"batch", 1, 4096>]}` declares the symbols of dynamic dimensions.
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
  let summary = "calls a function of the module; the first phase of the pipeline inlines it";
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

#endif // WEFT_CONTROL_TD
