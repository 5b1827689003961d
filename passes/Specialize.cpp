//===- Specialize.cpp - Replaces symbols by given sizes -------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Specialize.h"
#include "passes/Passes.h"

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_SPECIALIZE
#include "passes/Passes.h.inc"

namespace {
struct Specialize : impl::SpecializeBase<Specialize> {
  using SpecializeBase::SpecializeBase;
  void runOnOperation() override {
    std::map<std::string, int64_t> values;
    for (const std::string &option : sizes) {
      auto [name, number] = StringRef(option).split('=');
      int64_t value = 0;
      if (number.getAsInteger(10, value) || !ir::isSymbolName(name.str())) {
        getOperation().emitError() << "--weft-specialize expects sizes=name=number, found '" << option << "'";
        return signalPassFailure();
      }
      values[name.str()] = value;
    }
    if (failed(ir::specialize(getOperation(), values)))
      signalPassFailure();
  }
};
} // namespace

} // namespace weft::passes
