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

#endif // WEFT_LOOPS_TD
