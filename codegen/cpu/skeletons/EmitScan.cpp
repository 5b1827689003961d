//===- EmitScan.cpp - Kernels with running sums and products --------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The domain is seen as [outer][n][inner] with the scan along n.
//
// - inner = 1: a task is a line, which is read in vectors of 16 elements. Each vector is scanned by shifts of
//   1, 2, 4 and 8 lanes, then combined with the total of the vectors before it. The last n mod 16 elements in
//   memory are scanned one by one. So the order of the arithmetic depends on n alone.
// - inner > 1: a task is a block of columns. The running totals of its columns stay in registers.
//
// If `inner` is 1 in some calls only, the kernel has code for both cases, so that a call with dynamic sizes
// has the order of arithmetic of a call with the same static sizes.
//
//===----------------------------------------------------------------------===//
#include "codegen/cpu/skeletons/CpuSkeletons.h"
#include "codegen/emit/KernelBuilder.h"
#include "codegen/emit/ScanBody.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

class ScanEmitter {
public:
  ScanEmitter(KernelBuilder &kernel, const ir::ScanShape &shape, bool alongLine, int64_t lanes)
      : kernel(kernel), shape(shape), alongLine(alongLine), lanes(lanes),
        lineLanes(kernel.fusion.getSchedule()->number(ir::ScheduleField::lanes)),
        blockColumns(kernel.fusion.getSchedule()->number(ir::ScheduleField::block)),
        vectors(kernel.fusion, shape, alongLine, lanes), scalars(kernel.fusion, shape, alongLine, 1),
        reverse(vectors.reverse), exclusive(vectors.exclusive) {}
  Status emit();

private:
  Value identity(int64_t width) { return vectors.identity(kernel, width); }
  Value combine(Value a, Value b) { return vectors.combine(kernel, a, b); }
  Value elementOf(ScanBody &body, BodyEmitter &emitter) { return body.elementOf(kernel, emitter); }
  void finish(ScanBody &body, BodyEmitter &emitter, Value value) { body.finish(kernel, emitter, value); }
  Value shifted(Value value, int64_t by);
  void line(BodyEmitter &vector, BodyEmitter &scalar);
  void columns(ScanBody &body, BodyEmitter &emitter, Value first, int64_t count);
  void block(BodyEmitter &vector, BodyEmitter &scalar, Value number);

  KernelBuilder &kernel;
  ir::ScanShape shape;
  bool alongLine;
  int64_t lanes, lineLanes, blockColumns;
  ScanBody vectors, scalars;
  bool reverse, exclusive;
};

/// Moves each lane by `by` lanes in the scan's direction. Lanes without a source get the identity.
Value ScanEmitter::shifted(Value value, int64_t by) {
  SmallVector<int64_t> mask;
  for (int64_t i = 0; i < lineLanes; ++i) {
    int64_t from = reverse ? i + by : i - by;
    mask.push_back(from >= 0 && from < lineLanes ? from : lineLanes);
  }
  return kernel.create<vector::ShuffleOp>(value, identity(lineLanes), mask);
}

void ScanEmitter::line(BodyEmitter &vector, BodyEmitter &scalar) {
  vector.setVar(vectors.column, kernel.index(0));
  scalar.setVar(scalars.column, kernel.index(0));
  bool known = shape.extent.isNumber(), some = lanes > 1, rest = true;
  Value end = kernel.index(shape.extent), whole = kernel.index(0);
  if (known && some) {
    int64_t count = shape.extent.asNumber() / lineLanes * lineLanes;
    whole = kernel.index(count);
    rest = count != shape.extent;
  } else if (some) {
    Value left = kernel.create<arith::RemUIOp>(end, kernel.index(lineLanes));
    whole = kernel.create<arith::SubIOp>(end, left);
  }
  // The index of the `size` elements that are scanned at step `i` of [low, high). A reverse scan runs from
  // `high` down to `low`.
  auto place = [&](Value i, Value low, Value high, int64_t size) -> Value {
    if (!reverse)
      return i;
    Value last = kernel.create<arith::SubIOp>(kernel.add(low, high), kernel.index(size));
    return kernel.create<arith::SubIOp>(last, i);
  };
  Value zero = kernel.index(0);
  auto vectorPart = [&](Value carry) -> Value {
    if (!some)
      return carry;
    auto carried = kernel.forLoop(zero, whole, lineLanes, carry, [&](Value i, ValueRange state) {
      vector.setVar(vectors.step, place(i, zero, whole, lineLanes));
      Value own = elementOf(vectors, vector);
      for (int64_t by = 1; by < lineLanes; by *= 2)
        own = combine(shifted(own, by), own);
      Value before = kernel.create<vector::BroadcastOp>(cast<VectorType>(own.getType()), state[0]);
      Value last = kernel.create<vector::ExtractOp>(own, int64_t(reverse ? 0 : lineLanes - 1));
      finish(vectors, vector, combine(before, exclusive ? shifted(own, 1) : own));
      return SmallVector<Value>{combine(state[0], last)};
    });
    return carried[0];
  };
  auto scalarPart = [&](Value carry) -> Value {
    if (!rest)
      return carry;
    auto carried = kernel.forLoop(whole, end, 1, carry, [&](Value i, ValueRange state) {
      scalar.setVar(scalars.step, place(i, whole, end, 1));
      Value next = combine(state[0], elementOf(scalars, scalar));
      finish(scalars, scalar, exclusive ? Value(state[0]) : next);
      return SmallVector<Value>{next};
    });
    return carried[0];
  };
  if (reverse)
    vectorPart(scalarPart(identity(1)));
  else
    scalarPart(vectorPart(identity(1)));
}

/// Scans `count` columns, or vectors of columns, from `first` on.
void ScanEmitter::columns(ScanBody &body, BodyEmitter &emitter, Value first, int64_t count) {
  int64_t width = body.space.lanes;
  SmallVector<Value> initial(static_cast<size_t>(count), identity(width));
  kernel.forLoop(kernel.index(0), kernel.index(shape.extent), 1, initial, [&](Value i, ValueRange states) {
    Value at = reverse ? kernel.create<arith::SubIOp>(kernel.index(shape.extent - 1), i).getResult() : i;
    emitter.setVar(body.step, at);
    SmallVector<Value> next;
    for (int64_t u = 0; u < count; ++u) {
      kernel.pushScope(nullptr);
      emitter.setVar(body.column, kernel.addIndex(first, u * width));
      next.push_back(combine(states[static_cast<size_t>(u)], elementOf(body, emitter)));
      finish(body, emitter, exclusive ? Value(states[static_cast<size_t>(u)]) : next.back());
      kernel.popScope();
    }
    return next;
  });
}

/// Scans block `number` of the columns.
void ScanEmitter::block(BodyEmitter &vector, BodyEmitter &scalar, Value number) {
  const int64_t width = blockColumns;
  Value first = kernel.mul(number, width);
  auto some = [&](int64_t count) {
    int64_t full = lanes > 1 ? count / lanes : 0;
    if (full > 0)
      columns(vectors, vector, first, full);
    if (full * lanes < count)
      kernel.forLoop(kernel.addIndex(first, full * lanes), kernel.addIndex(first, count), 1,
                     [&](Value column) { columns(scalars, scalar, column, 1); });
  };
  if (!shape.inner.isNumber()) {
    Value end = kernel.minimum(kernel.addIndex(first, width), kernel.index(shape.inner));
    Value whole = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, end, kernel.addIndex(first, width));
    kernel.ifThen(
        whole, [&] { some(width); },
        [&] {
          kernel.parallelFor(first, end, lanes, /*exact=*/false, [&](Value column, bool isVector) {
            columns(isVector ? vectors : scalars, isVector ? vector : scalar, column, 1);
          });
        });
    return;
  }
  int64_t blocks = shape.blocks(blockColumns).asNumber(),
          last = shape.inner.asNumber() - (blocks - 1) * width;
  if (last == width || blocks == 1)
    return some(last);
  Value inside = kernel.create<arith::CmpIOp>(arith::CmpIPredicate::ne, number, kernel.index(blocks - 1));
  kernel.ifThen(inside, [&] { some(width); }, [&] { some(last); });
}

Status ScanEmitter::emit() {
  for (Status *status : {&vectors.status, &scalars.status})
    if (!status->ok())
      return *status;
  BodyEmitter vector(kernel, vectors.graph), scalar(kernel, scalars.graph);
  // With dynamic sizes there may be more tasks than lines or blocks.
  Value end = kernel.end;
  if (!shape.outer.isNumber() || !shape.inner.isNumber()) {
    Value most = kernel.index(shape.outer);
    if (!alongLine)
      most = kernel.create<arith::MulIOp>(most, kernel.index(shape.blocks(blockColumns)));
    end = kernel.minimum(end, most);
  }
  kernel.forLoop(kernel.begin, end, 1, [&](Value task) {
    Value outer = task, number;
    if (!alongLine) {
      outer = kernel.create<arith::DivUIOp>(task, kernel.index(shape.blocks(blockColumns)));
      number = kernel.create<arith::RemUIOp>(task, kernel.index(shape.blocks(blockColumns)));
    }
    vector.setVar(vectors.outer, outer);
    scalar.setVar(scalars.outer, outer);
    if (alongLine)
      line(vector, scalar);
    else
      block(vector, scalar, number);
  });
  return {};
}

} // namespace

Status detail::emitScan(KernelBuilder &kernel) {
  ir::ScanShape shape = ir::scanShape(kernel.fusion);
  if (shape.outer == 0 || shape.extent == 0 || shape.inner == 0)
    return {};
  auto emit = [&](bool alongLine) {
    ir::ScheduleAttr schedule = *kernel.fusion.getSchedule();
    int64_t lanes = alongLine ? schedule.number(ir::ScheduleField::lanes) : schedule.getVector();
    ir::Size along = alongLine ? shape.extent : shape.inner;
    bool isShort = along.number().value_or(lanes) < lanes;
    return ScanEmitter(kernel, shape, alongLine, isShort ? 1 : lanes).emit();
  };
  if (shape.inner.isNumber() || kernel.ranges.isAtLeast(shape.inner, 2))
    return emit(shape.inner == 1);
  Value isOne =
      kernel.create<arith::CmpIOp>(arith::CmpIPredicate::eq, kernel.index(shape.inner), kernel.index(1));
  Status lines, blocks;
  kernel.ifThen(isOne, [&] { lines = emit(true); }, [&] { blocks = emit(false); });
  return lines.ok() ? blocks : lines;
}

} // namespace weft::codegen
