//===- Record.h - Recording of operations and values ---------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_FRONTEND_GRAPH_RECORD_H
#define WEFT_FRONTEND_GRAPH_RECORD_H

#include "frontend/graph/Node.h"

namespace weft::frontend {

/// Records `weft.<name>`; the result types follow from the op's own definition. Throws Error where the op's
/// verifier refuses, with the source lines of the operation and of its operands.
std::shared_ptr<Node> record(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc);
/// The same for an op whose result types are stated and do not follow (`raw_kernel`).
std::shared_ptr<Node> recordStated(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs,
                                   std::vector<Spec> results, Loc loc);
/// Records a `scan`, `cond` or `while`, some of whose attributes are texts of functions, with these result
/// types.
std::shared_ptr<Node> recordBodies(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs,
                                   const std::vector<Spec> &results, Loc loc);
/// The same for an op whose result type does not follow from its operands (`iota`).
Ref recordTyped(const char *name, std::vector<Attr> attrs, Spec result, Loc loc);
Ref record1(const char *name, std::vector<Ref> operands, std::vector<Attr> attrs, Loc loc);
/// A node like this one, with these operands.
std::shared_ptr<Node> copyOf(const Node &node, std::vector<Ref> operands);
/// A splat known when the program is compiled.
Ref constant(Spec spec, double value, Loc loc);
/// A 0-dimensional number of the user.
Ref number(DType dtype, Device device, double real, int64_t whole, Loc loc);
/// The number of an operand, converted to `dtype`. An integer is rounded towards zero; NaN and numbers out of
/// range become the smallest i64 first.
Ref number(DType dtype, Device device, const Arg &value, Loc loc);
/// A real number without its fraction; the smallest i64 for NaN and for numbers out of range.
int64_t truncated(double number);
Ref leaf(Spec spec, std::shared_ptr<runtime::Buffer> buffer, Loc loc);
/// A new node with the same value.
Ref sameValue(Ref value, Loc loc);

/// Whether an operation can fail on the values of its operands, such as an index out of bounds.
bool mayFail(const Node &node);

/// \name The same value in another form
/// Nothing is recorded if the value has that form already.
/// @{
Ref convertTo(Ref value, DType dtype, Loc loc);
Ref transferTo(Ref value, Device device, Loc loc, MoveOptions options = {});
/// An operand that an operation may read on the host. In the body of a loop or a branch, which is on one
/// device, it is moved to that of the operation.
Ref movedInBody(Ref value, Device device, Loc loc);
/// These two throw Error if the value cannot have the shape.
Ref reshapeTo(Ref value, const Shape &shape, Loc loc);
Ref broadcastTo(Ref value, const Shape &shape, Loc loc);
/// @}

} // namespace weft::frontend

#endif // WEFT_FRONTEND_GRAPH_RECORD_H
