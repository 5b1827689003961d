//===- Loops.td - Ops whose body is a function -------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_LOOPS_TD
#define WEFT_LOOPS_TD

include "ir/Elementwise.td"
include "mlir/IR/SymbolInterfaces.td"

def Weft_ScanOp : Weft_Op<"scan", [Weft_SameDevice, Pure, AttrSizedOperandSegments, Weft_FallibleOp,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a loop of `length` trips, whose body is a function of the module";
  let description = [{
    The body has the arguments (carries.., slices of `xs`.., constants..) and the results (carries.., ys..). In each trip
    it gets the carries that the trip before returned, at first the operands, and row i of each of `xs`, whose first
    dimension is `length`. Row i of the op's ys is what trip i returns. The results are the carries after the last trip,
    which have the types of the operands, and then the ys.

    i goes from 0 to `length` - 1; with `reverse`, from `length` - 1 to 0. The body has no effects, and its arguments
    have no storage of their own: they are neither donated nor tied. `may_fail` says that an op of the body may fail.

    The derivative is a loop in the opposite direction. The loop itself then also stacks what the derivative reads.
    `--weft-unroll-scans` replaces a loop by its trips.
  }];
  let arguments = (ins FlatSymbolRefAttr:$body, Variadic<Weft_Tensor>:$carries, Variadic<Weft_Tensor>:$xs,
                       Variadic<Weft_Tensor>:$constants, I64Attr:$length, UnitAttr:$reverse, UnitAttr:$may_fail);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $body `(` $carries `)` `over` `(` $xs `)` `with` `(` $constants `)` `,` `length` `=` $length (`reverse` $reverse^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{
    bool mayFail() { return getMayFail(); }
    /// The function that the body is; null if the module has none of that name.
    ::weft::ir::FuncOp findBody();
    /// The values that each trip returns after the carries, stacked.
    ::mlir::ResultRange getYs() { return getResults().drop_front(getCarries().size()); }
  }];
}

def Weft_CondOp : Weft_Op<"cond", [Weft_SameDevice, Pure, Weft_FallibleOp,
                                   DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one of two functions of the module, as a predicate says";
  let description = [{
    The results are those of `then_body` if the predicate, a truth value without dimensions, is true, and those of
    `else_body` otherwise. Both take the inputs, and return values of the types of the results. They have no effects, and
    their arguments have no storage of their own: they are neither donated nor tied. `may_fail` says that an op of a
    branch may fail; `--weft-carry-checks` moves its check behind the op.

    The derivative is a `weft.cond` with the same predicate. Its branches compute what they need of the values of the
    branch again, and return zeros as the gradients of inputs that their branch does not read.
    `--weft-select-branches` replaces the op by both branches and selects.
  }];
  let arguments = (ins Weft_Tensor:$pred, FlatSymbolRefAttr:$then_body, FlatSymbolRefAttr:$else_body,
                       Variadic<Weft_Tensor>:$inputs, UnitAttr:$may_fail);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $pred `then` $then_body `else` $else_body `(` $inputs `)` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{ bool mayFail() { return getMayFail(); } }];
}

def Weft_WhileOp : Weft_Op<"while", [Weft_SameDevice, Pure, AttrSizedOperandSegments, Weft_FallibleOp,
                                     DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "a loop that goes on while a function of the module says so";
  let description = [{
    `condition` and `body` take the carries and the constants. Before each trip `condition` says whether there is one: it
    returns a truth value without dimensions. The body returns the carries for the next trip, at first they are the
    operands. The results are the carries for which the condition is false. Both functions have no effects, and their
    arguments have no storage of their own. The condition cannot fail. `may_fail` says that an op of the body may fail;
    `--weft-carry-checks` makes what it checks a carry, at whose first fault the loop ends.

    The derivative consists of while loops. The loop itself then also counts its trips. Because their number is not known
    when memory is planned, their carries are not kept, but computed again from those of a few trips that are.
  }];
  let arguments = (ins FlatSymbolRefAttr:$condition, FlatSymbolRefAttr:$body, Variadic<Weft_Tensor>:$carries,
                       Variadic<Weft_Tensor>:$constants, UnitAttr:$may_fail);
  let results = (outs Variadic<Weft_Tensor>:$results);
  let assemblyFormat = [{
    $condition `do` $body `(` $carries `)` `with` `(` $constants `)` attr-dict `:` functional-type(operands, results)
  }];
  let extraClassDeclaration = [{ bool mayFail() { return getMayFail(); } }];
}

#endif // WEFT_LOOPS_TD
