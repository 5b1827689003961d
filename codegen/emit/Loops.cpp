//===- Loops.cpp ----------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/Loops.h"

using namespace mlir;
namespace weft::codegen {

void strip(KernelBuilder &kernel, Value low, Value high, int64_t lanes, bool exact,
           llvm::function_ref<void(Value, bool)> body) {
  Value middle = low;
  if (lanes > 1) {
    if (exact) {
      middle = high;
    } else {
      Value extent = kernel.create<arith::SubIOp>(high, low);
      extent = kernel.create<arith::MaxSIOp>(extent, kernel.index(0));
      Value rest = kernel.create<arith::RemUIOp>(extent, kernel.index(lanes));
      middle = kernel.add(low, kernel.create<arith::SubIOp>(extent, rest));
    }
    kernel.forLoop(low, middle, lanes, [&](Value at) { body(at, true); });
    if (exact)
      return;
  }
  kernel.forLoop(middle, high, 1, [&](Value at) { body(at, false); });
}

void emitWithStreams(KernelBuilder &kernel, bool streaming, int64_t lanes,
                     llvm::function_ref<void(ArrayRef<Value>)> emit) {
  SmallVector<Value> streams(kernel.fusion.getNumResults());
  Value aligned;
  for (unsigned i = 0; streaming && i < streams.size(); ++i) {
    Value buffer = kernel.result(i);
    int64_t bytes = lanes * (cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
    // Streaming stores pay only for whole cache lines.
    if (bytes % 64 != 0)
      continue;
    streams[i] = kernel.resultAsVectors(i, lanes);
    Value address = kernel.create<memref::ExtractAlignedPointerAsIndexOp>(buffer);
    Value rest = kernel.create<arith::RemUIOp>(address, kernel.index(bytes));
    Value ok = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, rest, kernel.index(0));
    aligned = aligned ? kernel.create<arith::AndIOp>(aligned, ok).getResult() : ok;
  }
  if (!aligned)
    return emit({});
  kernel.ifThen(aligned, [&] { emit(streams); }, [&] { emit({}); });
}

} // namespace weft::codegen
