//===- ops_reductions.cpp - Reductions and scans --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ops_protocol.h"

using namespace weft;

void parity::addReductions(Table &table) {
  // Arguments: tensor, dims (none: all), keepdim.
  table["sum"] = [](const Args &a) { return Tensors{a.tensor(0).sum(a.list(1, {}), a.flag(2))}; };
  table["mean"] = [](const Args &a) { return Tensors{a.tensor(0).mean(a.list(1, {}), a.flag(2))}; };
  table["amax"] = [](const Args &a) { return Tensors{a.tensor(0).amax(a.list(1, {}), a.flag(2))}; };
  table["amin"] = [](const Args &a) { return Tensors{a.tensor(0).amin(a.list(1, {}), a.flag(2))}; };
  table["argmax"] = [](const Args &a) { return Tensors{a.tensor(0).argmax(a.whole(1), a.flag(2))}; };
  table["softmax"] = [](const Args &a) { return Tensors{softmax(a.tensor(0), a.whole(1))}; };
  table["log_softmax"] = [](const Args &a) { return Tensors{log_softmax(a.tensor(0), a.whole(1))}; };
}
