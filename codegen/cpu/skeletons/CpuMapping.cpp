//===- CpuMapping.cpp -----------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/skeletons/CpuMapping.h"

#include "codegen/emit/KernelBuilder.h"

using namespace mlir;
namespace weft::codegen {

Mapping::Tasks CpuMapping::tasks(KernelBuilder &, Tasks called) const { return called; }

void CpuMapping::parallelFor(KernelBuilder &kernel, Value low, Value high, int64_t lanes, bool exact,
                             ParallelBody body) const {
  Value middle = low;
  if (lanes > 1) {
    middle = exact ? high : kernel.endOfVectors(low, high, lanes);
    kernel.forLoop(low, middle, lanes, [&](Value at) { body(at, true); });
    if (exact)
      return;
  }
  kernel.forLoop(middle, high, 1, [&](Value at) { body(at, false); });
}

Mapping::State CpuMapping::reduce(KernelBuilder &kernel, State state, Combine combine) const {
  for (int64_t width = cast<VectorType>(state[0].getType()).getDimSize(0); width > 1; width /= 2) {
    State low, high;
    for (Value value : state) {
      if (!isa<VectorType>(value.getType())) { // the count, which is the same in all lanes
        low.push_back(value);
        high.push_back(value);
        continue;
      }
      low.push_back(kernel.create<vector::ExtractStridedSliceOp>(
          value, ArrayRef<int64_t>{0}, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{1}));
      high.push_back(kernel.create<vector::ExtractStridedSliceOp>(
          value, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{width / 2}, ArrayRef<int64_t>{1}));
    }
    state = combine(low, high);
  }
  State scalar;
  for (Value value : state)
    scalar.push_back(isa<VectorType>(value.getType())
                         ? kernel.create<vector::ExtractOp>(value, int64_t(0)).getResult()
                         : value);
  return scalar;
}

Value CpuMapping::scratch(KernelBuilder &kernel, int64_t offset, int64_t count, Type type) const {
  auto view = MemRefType::get({ShapedType::kDynamic}, type);
  return kernel.create<memref::ViewOp>(view, kernel.scratch, kernel.index(offset),
                                       ValueRange{kernel.index(count)});
}

void CpuMapping::barrier(KernelBuilder &) const {}

void CpuMapping::fail(KernelBuilder &kernel, int64_t check, Value position, Value value) const {
  Value found = kernel.create<memref::LoadOp>(kernel.check, ValueRange{kernel.index(1)});
  Value first = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::slt, position, found);
  auto record = kernel.create<scf::IfOp>(first, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(kernel.builder);
  kernel.builder.setInsertionPointToStart(record.thenBlock());
  Value number = kernel.create<arith::ConstantIntOp>(check, 64);
  for (auto [i, field] : llvm::enumerate(std::array<Value, 3>{number, position, value}))
    kernel.create<memref::StoreOp>(field, kernel.check, ValueRange{kernel.index(static_cast<int64_t>(i))});
}

void CpuMapping::withStreams(KernelBuilder &kernel, bool streaming, int64_t lanes, StreamBody emit) const {
  SmallVector<Value> streams(kernel.fusion.getNumResults());
  Value aligned;
  for (unsigned i = 0; streaming && i < streams.size(); ++i) {
    Value buffer = kernel.result(i);
    int64_t bytes = lanes * (cast<MemRefType>(buffer.getType()).getElementTypeBitWidth() / 8);
    // A streaming store of a part of a cache line is slower than an ordinary store.
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
