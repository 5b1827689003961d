//===- ProductWorkspaces.h - Places of products' workspaces ------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A library of a GPU gives some of its algorithms a workspace. In a graph, products that share one wait for
// each other. So products that nothing else orders have places of their own, up to four of them; a product
// that comes after another one in any case takes its place.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_EXECUTION_PRODUCTWORKSPACES_H
#define WEFT_RUNTIME_EXECUTION_PRODUCTWORKSPACES_H

#include "runtime/execution/ExecutableImpl.h"

namespace weft::runtime {

/// Gives the products of each GPU of a function their places, and the GPU the bytes of all of them.
void place_workspaces(Executable::Impl &function, const fb::Plan &plan, std::span<const size_t> first_of);

} // namespace weft::runtime

#endif // WEFT_RUNTIME_EXECUTION_PRODUCTWORKSPACES_H
