//===- StorageHeads.cpp - Values that hold their storage first ------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/StorageHeads.h"

#include "ir/Updates.h"

using namespace mlir;

namespace weft::ir {

Value storageRoot(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isStorageView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

Value StorageHeads::of(Value value) {
  SmallVector<Value> updates;
  Value head = storageRoot(value);
  for (;;) {
    if (auto known = heads.find(head); known != heads.end()) {
      head = known->second;
      break;
    }
    Operation *op = head.getDefiningOp();
    if (!op || !updateIn(op))
      break;
    updates.push_back(head);
    head = storageRoot(op->getOperand(0));
  }
  for (Value update : updates)
    heads[update] = head;
  return head;
}

Value storageHead(Value value) { return StorageHeads().of(value); }

} // namespace weft::ir
