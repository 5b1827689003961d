//===- EmitLoop.cpp - Elementwise kernels ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A task is a chunk of the domain in row-major order. The domain is seen as rows of its innermost dimensions:
// as many as can be merged without an operand having to be read lane by lane. If that is all of them, there
// is one loop.
//
//===----------------------------------------------------------------------===//
#include "codegen/emit/EmitKernel.h"
#include "codegen/emit/Loops.h"

#include "ir/Schedule.h"

using namespace mlir;
namespace weft::codegen {

namespace {

/// The body over the domain seen as [rows][columns], once for vectors and once for scalars.
struct LoopBody {
  LoopBody(ir::FusionOp fusion, unsigned outerDims, int64_t lanes)
      : space(ir::rangesOf(fusion)), graph(fusion, space) {
    SmallVector<int64_t> domain = fusion.getDomain();
    auto rank = static_cast<unsigned>(domain.size());
    int64_t outer = ir::countOf(ArrayRef(domain).take_front(outerDims));
    int64_t inner = ir::countOf(ArrayRef(domain).drop_front(outerDims));
    space.lanes = lanes;
    row = space.addLoop(ir::subSizes(outer, 1));
    column = space.addLoop(ir::subSizes(inner, 1), outer == 1 || ir::isMultipleOf(inner, lanes) ? lanes : 1);
    TensorIndex index;
    if (outerDims)
      index.groups.push_back({outerDims, outer, outer == 1 ? IndexExpr() : space.expr(row)});
    IndexExpr at = space.expr(column);
    at.lane = lanes > 1;
    if (rank > outerDims)
      index.groups.push_back({rank - outerDims, inner, at});
    address = linearIndex(space, index);
    for (Value value : fusion.getBody().front().getTerminator()->getOperands())
      roots.push_back(graph.request(value, index));
    status = graph.expand();
  }

  IndexSpace space;
  BodyGraph graph;
  VarId row, column;
  IndexExpr address;
  SmallVector<int> roots;
  Status status;
};

/// How many leading dimensions stay outside of the inner loop.
/// Of a dynamic number of elements vectors are made, and the rest is done one by one.
bool isShort(int64_t count, int64_t lanes) { return !ir::isSymbolic(count) && count < lanes; }

unsigned chooseOuterDims(ir::FusionOp fusion, int64_t lanes) {
  SmallVector<int64_t> domain = fusion.getDomain();
  unsigned best = 0;
  int64_t least = INT64_MAX;
  for (unsigned outer = 0; outer < std::max<size_t>(domain.size(), 1); ++outer) {
    int64_t inner = ir::countOf(ArrayRef(domain).drop_front(outer));
    if (outer > 0 && domain[outer - 1] == 1)
      continue;
    LoopBody body(fusion, outer, lanes);
    // In units of one vector operation over a whole vector: a read by lanes costs about one a lane, and a
    // column that fills no vector is computed by scalars.
    auto nodes = static_cast<int64_t>(body.graph.size());
    int64_t laneReads = body.graph.countLaneReads(body.roots),
            divisions = body.graph.countDivisions(body.roots, body.column);
    int64_t cost = nodes + laneReads * 2 * lanes + divisions * 4;
    if (isShort(inner, lanes))
      cost = nodes * lanes;
    if (cost < least) {
      least = cost;
      best = outer;
    }
    if (laneReads + divisions == 0)
      break;
  }
  return best;
}

} // namespace

Status detail::emitLoop(KernelBuilder &kernel) {
  ir::FusionOp fusion = kernel.fusion;
  SmallVector<int64_t> domain = fusion.getDomain();
  int64_t lanes = fusion.getSchedule()->getVector(), count = ir::countOf(domain);
  if (isShort(count, lanes))
    lanes = 1;
  unsigned outerDims = chooseOuterDims(fusion, lanes);
  int64_t inner = ir::countOf(ArrayRef(domain).drop_front(outerDims));
  if (isShort(inner, lanes))
    lanes = 1;
  LoopBody vectors(fusion, outerDims, lanes), scalars(fusion, outerDims, 1);
  if (!vectors.status.ok())
    return vectors.status;
  if (!scalars.status.ok())
    return scalars.status;

  int64_t chunk = ir::loopChunk(fusion);
  Value from = kernel.mul(kernel.begin, chunk);
  Value to = kernel.minimum(kernel.mul(kernel.end, chunk), kernel.index(count));
  bool streaming = fusion.getSchedule()->getStreaming() && lanes > 1 && ir::isMultipleOf(inner, lanes);

  auto emit = [&](ArrayRef<Value> streams) {
    BodyEmitter vectorEmitter(kernel, vectors.graph), scalarEmitter(kernel, scalars.graph);
    auto step = [&](LoopBody &body, BodyEmitter &emitter, Value column) {
      emitter.setVar(body.column, column);
      // All values first: an operand may share its buffer with a result.
      SmallVector<Value> values;
      for (int root : body.roots)
        values.push_back(emitter.emit(root));
      for (auto [i, value] : llvm::enumerate(values)) {
        bool stream = body.address.lane != 0 && !streams.empty() && streams[i];
        emitter.store(stream ? streams[i] : kernel.result(static_cast<unsigned>(i)), body.address, value,
                      stream);
      }
    };
    auto segment = [&](Value low, Value high, bool exact) {
      strip(kernel, low, high, lanes, exact, [&](Value column, bool vector) {
        if (vector)
          step(vectors, vectorEmitter, column);
        else
          step(scalars, scalarEmitter, column);
      });
    };
    if (inner == count) {
      vectorEmitter.setVar(vectors.row, kernel.index(0));
      scalarEmitter.setVar(scalars.row, kernel.index(0));
      segment(from, to, ir::isMultipleOf(count, lanes));
      return;
    }
    Value width = kernel.index(inner);
    Value first = kernel.create<arith::DivUIOp>(from, width);
    Value last = kernel.create<arith::DivUIOp>(kernel.addIndex(to, ir::subSizes(inner, 1)), width);
    kernel.forLoop(first, last, 1, [&](Value row) {
      vectorEmitter.setVar(vectors.row, row);
      scalarEmitter.setVar(scalars.row, row);
      Value start = kernel.mul(row, inner);
      Value low = kernel.create<arith::MaxSIOp>(kernel.create<arith::SubIOp>(from, start), kernel.index(0));
      Value high = kernel.minimum(kernel.create<arith::SubIOp>(to, start), width);
      segment(low, high, ir::isMultipleOf(inner, lanes) && chunk % lanes == 0);
    });
  };
  emitWithStreams(kernel, streaming, lanes, emit);
  return {};
}

} // namespace weft::codegen
