//===- ScanDerivative.cpp - The derivative of a loop -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/ScanDerivative.h"

#include "ir/FunctionAttributes.h"
#include "passes/reverse/BodyDerivative.h"
#include "passes/reverse/ReverseMode.h"

#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace weft::passes {

ScanDerivative::ScanDerivative(ReverseMode &mode, ir::ScanOp scan, ArrayRef<Value> incoming,
                               ArrayRef<bool> needs)
    : mode(mode), scan(scan), forward(scan), body(mode.symbols().lookup<ir::FuncOp>(scan.getBody())),
      incoming(incoming), needs(needs), carries(scan.getCarries().size()),
      rows(carries + scan.getXs().size()), cotangents(scan->getNumOperands()) {}

/// Appends the derivative of a trip to a copy of the body.
LogicalResult ScanDerivative::differentiateTrip() {
  joint = copyOf(mode.symbols(), body, ".joint");
  SmallVector<unsigned> wrt, of(activeCarries);
  for (const auto &list : {activeCarries, wantedRows, wantedConstants})
    llvm::append_range(wrt, list);
  llvm::append_range(of, givenYs);
  auto derivative = appendDerivative(mode, joint, wrt, of);
  if (failed(derivative))
    return failure();
  marker = derivative->marker;
  const ArrayRef<Value> given = derivative->cotangents;
  llvm::append_range(carryCotangents, given.take_front(activeCarries.size()));
  llvm::append_range(yCotangents, given.drop_front(activeCarries.size()));
  gradients = std::move(derivative->gradients);
  removeDeadOps(joint.getBody().front());
  return success();
}

/// Whether the derivative computes the op again, because that costs nothing, or is the same in every trip.
bool ScanDerivative::isMadeAgain(Operation *op) {
  if (isa<ir::ReshapeOp, ir::TransposeOp, ir::BroadcastInDimOp, ir::SliceOp>(op))
    return true;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    if (auto argument = dyn_cast<BlockArgument>(operand))
      return argument.getArgNumber() >= rows && argument.getArgNumber() < scan->getNumOperands();
    return isMadeAgain(operand.getDefiningOp());
  });
}

/// Notes how the derivative gets a value of the trip.
void ScanDerivative::require(Value value) {
  SmallVector<Value> pending{value};
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(next)) {
      const unsigned i = argument.getArgNumber();
      if (i >= scan->getNumOperands())
        continue; // a cotangent
      (i < carries ? residuals : i < rows ? readRows : readConstants).insert(next);
      continue;
    }
    Operation *op = next.getDefiningOp();
    if (!op->isBeforeInBlock(marker))
      continue; // of the derivative itself
    if (!isMadeAgain(op))
      residuals.insert(next);
    else if (again.insert(op))
      llvm::append_range(pending, op->getOperands());
  }
}

void ScanDerivative::divide() {
  for (Operation *op = marker->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>(); op = op->getNextNode())
    for (Value operand : op->getOperands())
      require(operand);
  for (Value gradient : gradients)
    require(gradient);
}

/// Makes the loop that also stacks the residuals.
void ScanDerivative::stackResiduals() {
  Operation *end = joint.getBody().front().getTerminator();
  const unsigned results = scan->getNumResults();
  SmallVector<Value> added;
  for (Value residual : residuals) {
    unsigned at = carries;
    while (at < results && end->getOperand(at) != residual)
      ++at;
    if (at < results) {
      stackedAs[residual] = at;
      continue;
    }
    stackedAs[residual] = results + static_cast<unsigned>(added.size());
    added.push_back(residual);
  }
  if (added.empty())
    return;
  auto stacking = cast<ir::FuncOp>(joint->clone());
  stacking.setName((body.getName() + ".stacking").str());
  mode.symbols().insert(stacking);
  IRMapping inStacking;
  Block &from = joint.getBody().front(), &to = stacking.getBody().front();
  for (auto [a, b] : llvm::zip(from.getArguments(), to.getArguments()))
    inStacking.map(a, b);
  for (auto [a, b] : llvm::zip(from, to))
    for (auto [x, y] : llvm::zip(a.getResults(), b.getResults()))
      inStacking.map(x, y);
  Operation *returns = to.getTerminator();
  returns->eraseOperands(results, returns->getNumOperands() - results);
  for (Value value : added)
    returns->insertOperands(returns->getNumOperands(), inStacking.lookup(value));
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(to)))
    if (isOpTriviallyDead(&op) || isa<ir::TokenOp>(op))
      op.erase();
  to.eraseArguments(scan->getNumOperands(), to.getNumArguments() - scan->getNumOperands());
  updateType(stacking);
  SmallVector<Type> types(scan->getResultTypes());
  for (Value value : added)
    types.push_back(ir::stackedType(ir::typeOf(value), static_cast<int64_t>(scan.getLength())));
  OpBuilder at(scan);
  forward = at.create<ir::ScanOp>(scan.getLoc(), types, stacking.getName(), scan.getCarries(), scan.getXs(),
                                  scan.getConstants(), scan.getLength(), scan.getReverse(),
                                  hasFallibleOps(stacking));
  stacking.setPrivate();
}

/// A value of the joint function in the body of the new loop.
Value ScanDerivative::inBody(Value value, OpBuilder &builder) {
  if (Value known = inNewBody.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    (void)inBody(operand, builder);
  builder.clone(*op, inNewBody);
  return inNewBody.lookup(value);
}

/// Makes the body of the new loop. Its arguments are the cotangents of active carries and the gradients of
/// constants so far; rows, residuals and cotangents of ys; constants.
ir::FuncOp ScanDerivative::makeBody() {
  const Location loc = scan.getLoc();
  OpBuilder builder(scan->getContext());
  builder.setInsertionPointAfter(body);
  auto made = builder.create<ir::FuncOp>(loc, (body.getName() + ".derivative").str(),
                                         builder.getFunctionType({}, {}));
  mode.symbols().insert(made);
  made.setPrivate();
  if (Attribute numerics = body->getAttr(ir::attr::numerics))
    made->setAttr(ir::attr::numerics, numerics);
  Block &block = made.getBody().front();
  const auto take = [&](auto &&values) {
    for (Value value : values)
      inNewBody.map(value, block.addArgument(value.getType(), loc));
  };
  take(carryCotangents);
  SmallVector<Value> sums;
  for (unsigned i : wantedConstants)
    sums.push_back(products.contains(i) ? Value() : block.addArgument(scan->getOperand(i).getType(), loc));
  take(readRows);
  take(residuals);
  take(yCotangents);
  take(readConstants);
  builder.setInsertionPointToEnd(&block);
  for (Operation *op = marker->getNextNode(); !op->hasTrait<OpTrait::IsTerminator>();
       op = op->getNextNode()) {
    for (Value operand : op->getOperands())
      (void)inBody(operand, builder);
    builder.clone(*op, inNewBody);
  }
  SmallVector<Value> returned, ofRows;
  for (auto [i, gradient] : llvm::enumerate(gradients)) {
    Value value = inBody(gradient, builder);
    const size_t row = i - activeCarries.size(), constant = row - wantedRows.size();
    if (i < activeCarries.size())
      returned.push_back(value);
    else if (row < wantedRows.size())
      ofRows.push_back(value);
    else if (sums[constant])
      returned.push_back(builder.create<ir::AddOp>(loc, sums[constant], value));
  }
  llvm::append_range(returned, ofRows);
  for (Value factor : factorsToStack)
    returned.push_back(inBody(factor, builder));
  builder.create<ir::ReturnOp>(loc, returned);
  removeDeadOps(block);
  updateType(made);
  declareSymbols(made, body);
  return made;
}

void ScanDerivative::makeLoop(OpBuilder &builder) {
  const Location loc = scan.getLoc();
  ir::FuncOp made = makeBody();
  SmallVector<Value> begins, stacks, constants;
  SmallVector<Type> types;
  const auto given = [&](unsigned result) {
    return incoming[result] ? incoming[result]
                            : filled(builder, loc, ir::typeOf(scan->getResult(result)), 0.0);
  };
  for (unsigned i : activeCarries)
    begins.push_back(given(i));
  for (unsigned i : wantedConstants)
    if (!products.contains(i))
      begins.push_back(filled(builder, loc, ir::typeOf(scan->getOperand(i)), 0.0));
  llvm::append_range(types, ValueRange(begins).getTypes());
  const auto operandOf = [&](Value argument) {
    return scan->getOperand(cast<BlockArgument>(argument).getArgNumber());
  };
  for (Value row : readRows)
    stacks.push_back(operandOf(row));
  for (Value residual : residuals)
    stacks.push_back(forward->getResult(stackedAs.lookup(residual)));
  for (unsigned i : givenYs)
    stacks.push_back(incoming[i]);
  for (Value constant : readConstants)
    constants.push_back(operandOf(constant));
  for (unsigned i : wantedRows)
    types.push_back(scan->getOperand(i).getType());
  for (Value factor : factorsToStack)
    types.push_back(ir::stackedType(ir::typeOf(factor), static_cast<int64_t>(scan.getLength())));
  backward = builder.create<ir::ScanOp>(loc, types, made.getName(), begins, stacks, constants,
                                        scan.getLength(), !scan.getReverse(), hasFallibleOps(made));
  unsigned next = 0;
  for (const auto &list : {activeCarries, wantedConstants, wantedRows})
    for (unsigned i : list)
      if (!products.contains(i))
        cotangents[i] = backward->getResult(next++);
  const size_t before = activeCarries.size() + wantedRows.size();
  for (auto [number, i] : llvm::enumerate(wantedConstants))
    if (products.contains(i))
      cotangents[i] = overAllTrips(builder, gradients[before + number]);
  // A carry may be active only because of what the body adds to it.
  for (unsigned i : activeCarries)
    if (!needs[i])
      cotangents[i] = {};
}

/// The number, among the wanted rows, of the one whose gradient this value of the trip is.
std::optional<unsigned> ScanDerivative::rowWithGradient(Value value) const {
  for (unsigned row = 0; row < wantedRows.size(); ++row)
    if (gradients[activeCarries.size() + row] == value)
      return row;
  return std::nullopt;
}

/// Whether the new loop has a stack with a row of this value for each trip.
bool ScanDerivative::isStacked(Value value) const {
  if (rowWithGradient(value) || residuals.contains(value) || factorsToStack.contains(value) ||
      llvm::is_contained(yCotangents, value))
    return true;
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && argument.getArgNumber() >= carries && argument.getArgNumber() < rows;
}

/// Collects what a gradient is a sum of products of, or a sum over dimensions. Returns false if it is
/// neither.
bool ScanDerivative::findFactors(Value gradient, llvm::SmallSetVector<Value, 4> &factors) const {
  Operation *op = gradient.getDefiningOp();
  if (!op || op->isBeforeInBlock(marker))
    return false;
  if (isa<ir::TransposeOp, ir::ReshapeOp, ir::AddOp>(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) { return findFactors(operand, factors); });
  auto dot = dyn_cast<ir::DotGeneralOp>(op);
  if (!isa<ir::SumOp>(op) && !(dot && dot.getBatchA().empty() && op->getNumOperands() == 2 && !dot.getRelu()))
    return false;
  factors.insert(op->operand_begin(), op->operand_end());
  return true;
}

/// Chooses the constants whose gradient is computed after the loop: where stacking what it is computed from
/// moves no more bytes than reading and writing a sum in each trip.
void ScanDerivative::chooseProducts() {
  // The largest first: what they stack is free for the others.
  SmallVector<std::pair<int64_t, size_t>> bySize;
  for (auto [number, i] : llvm::enumerate(wantedConstants))
    if (const auto bytes = ir::bytesOf(scan->getOperand(i).getType()).number())
      bySize.emplace_back(-*bytes, number);
  llvm::sort(bySize);
  for (const auto &[negative, number] : bySize) {
    llvm::SmallSetVector<Value, 4> factors;
    if (!findFactors(gradients[activeCarries.size() + wantedRows.size() + number], factors))
      continue;
    constexpr int64_t readAndWritten = 2;
    int64_t left = readAndWritten * -negative;
    for (Value factor : factors)
      if (!isStacked(factor))
        left -= ir::bytesOf(factor.getType()).number().value_or(left + 1);
    if (left < 0)
      continue;
    products.insert(wantedConstants[number]);
    for (Value factor : factors)
      if (!isStacked(factor))
        factorsToStack.insert(factor);
  }
}

/// The rows of a value for all trips.
Value ScanDerivative::stackOf(Value value) {
  if (residuals.contains(value))
    return forward->getResult(stackedAs.lookup(value));
  if (const auto *given = llvm::find(yCotangents, value); given != yCotangents.end())
    return incoming[givenYs[given - yCotangents.begin()]];
  // The last results are the gradients of rows, and then the factors.
  const auto factors = static_cast<size_t>(backward->getNumResults()) - factorsToStack.size();
  if (const std::optional<unsigned> row = rowWithGradient(value))
    return backward->getResult(static_cast<unsigned>(factors - wantedRows.size()) + *row);
  const auto factor = llvm::find(factorsToStack, value);
  if (factor == factorsToStack.end())
    return scan->getOperand(cast<BlockArgument>(value).getArgNumber());
  return backward->getResult(static_cast<unsigned>(factors + (factor - factorsToStack.begin())));
}

/// The sum of a gradient over all trips.
Value ScanDerivative::overAllTrips(OpBuilder &builder, Value gradient) {
  Operation *op = gradient.getDefiningOp();
  const Location loc = op->getLoc();
  const auto withTrips = [](ArrayRef<int64_t> dims) {
    SmallVector<int64_t> all{0};
    for (int64_t dim : dims)
      all.push_back(dim + 1);
    return all;
  };
  if (auto dot = dyn_cast<ir::DotGeneralOp>(op))
    return builder.create<ir::DotGeneralOp>(
        loc, stackOf(dot.getA()), stackOf(dot.getB()), Value(), ArrayRef<int64_t>(), ArrayRef<int64_t>(),
        withTrips(dot.getContractA()), withTrips(dot.getContractB()), false);
  if (auto sum = dyn_cast<ir::SumOp>(op))
    return builder.create<ir::SumOp>(loc, stackOf(sum.getA()), withTrips(sum.getDims()));
  Value a = overAllTrips(builder, op->getOperand(0));
  if (auto transpose = dyn_cast<ir::TransposeOp>(op))
    return builder.create<ir::TransposeOp>(loc, a, transpose.getPerm());
  if (isa<ir::ReshapeOp>(op))
    return builder.create<ir::ReshapeOp>(loc, a, ir::sizesOf(op->getResult(0)));
  return builder.create<ir::AddOp>(loc, a, overAllTrips(builder, op->getOperand(1)));
}

LogicalResult ScanDerivative::build(OpBuilder &builder) {
  activeCarries = findActiveCarries(body, carries, needs);
  for (unsigned i = carries; i < scan->getNumOperands(); ++i)
    if (needs[i] && isReal(scan->getOperand(i)))
      (i < rows ? wantedRows : wantedConstants).push_back(i);
  for (unsigned i = carries; i < scan->getNumResults(); ++i)
    if (incoming[i])
      givenYs.push_back(i);
  const bool flows = !givenYs.empty() ||
                     llvm::any_of(activeCarries, [&](unsigned i) { return static_cast<bool>(incoming[i]); });
  if (!flows || (activeCarries.empty() && wantedRows.empty() && wantedConstants.empty()))
    return success();
  if (failed(differentiateTrip()))
    return failure();
  divide();
  chooseProducts();
  stackResiduals();
  makeLoop(builder);
  mode.erase(joint);
  return success();
}

} // namespace weft::passes
