//===- ops_shapes.cpp - Functions that move elements ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

void parity::addShapes(Table &table) {
  table["reshape"] = [](const Args &a) { return Tensors{a.tensor(0).reshape(a.list(1))}; };
  table["flatten"] = [](const Args &a) {
    return Tensors{a.tensor(0).flatten(a.whole(1, 0), a.whole(2, -1))};
  };
  table["t"] = [](const Args &a) { return Tensors{a.tensor(0).t()}; };
  table["transpose"] = [](const Args &a) { return Tensors{a.tensor(0).transpose(a.whole(1), a.whole(2))}; };
  table["permute"] = [](const Args &a) { return Tensors{a.tensor(0).permute(a.list(1))}; };
  table["expand"] = [](const Args &a) { return Tensors{a.tensor(0).expand(a.list(1))}; };
  table["unsqueeze"] = [](const Args &a) { return Tensors{a.tensor(0).unsqueeze(a.whole(1))}; };
  table["squeeze"] = [](const Args &a) { return Tensors{a.tensor(0).squeeze(a.whole(1))}; };
  table["select"] = [](const Args &a) { return Tensors{a.tensor(0).select(a.whole(1), a.whole(2))}; };
  table["slice"] = [](const Args &a) {
    return Tensors{a.tensor(0).slice(a.whole(1), a.whole(2, 0), a.whole(3, INT64_MAX), a.whole(4, 1))};
  };
  table["gather"] = [](const Args &a) { return Tensors{a.tensor(0).gather(a.whole(1), a.tensor(2))}; };
  table["index_select"] = [](const Args &a) {
    return Tensors{a.tensor(0).index_select(a.whole(1), a.tensor(2))};
  };
  table["zeros_like"] = [](const Args &a) { return Tensors{zeros_like(a.tensor(0))}; };
  table["ones_like"] = [](const Args &a) { return Tensors{ones_like(a.tensor(0))}; };
}
