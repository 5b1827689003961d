//===- WhileDerivative.cpp - The derivative of a while loop ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/reverse/WhileDerivative.h"

#include "ir/FunctionAttributes.h"
#include "passes/reverse/BodyDerivative.h"
#include "passes/reverse/ReverseMode.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"

#include <array>

using namespace mlir;

namespace weft::passes {
namespace {

/// Computes with numbers of i64 on the device of a loop.
struct Numbers {
  OpBuilder &b;
  Location loc;
  RankedTensorType type;

  Value of(int64_t number) const {
    return b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getI64IntegerAttr(number)));
  }
  template <typename Op> Value make(Value x, Value y) const { return b.create<Op>(loc, x, y); }
  Value plus(Value x, int64_t y) const { return make<ir::AddOp>(x, of(y)); }
  Value minus(Value x, Value y) const { return make<ir::SubOp>(x, y); }
  Value oneLess(Value x) const { return minus(x, of(1)); }
  Value times(Value x, Value y) const { return make<ir::MulOp>(x, y); }
  Value divided(Value x, Value y) const { return make<ir::DivOp>(x, y); }
  Value dividedUp(Value x, Value y) const { return divided(oneLess(make<ir::AddOp>(x, y)), y); }
};

/// A stack of which no row is written.
Value emptyStack(OpBuilder &b, Location loc, RankedTensorType row) {
  const RankedTensorType type = ir::stackedType(row, WhileDerivative::slots);
  return b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getZeroAttr(type.getElementType())));
}

/// Where row `at` of a stack begins.
SmallVector<Value> startsOf(const Numbers &numbers, Value stack, Value at) {
  SmallVector<Value> starts(ir::typeOf(stack).getRank(), numbers.of(0));
  starts[0] = at;
  return starts;
}

Value rowOf(const Numbers &numbers, Value stack, Value at) {
  SmallVector<ir::Size> sizes(ir::sizesOf(stack));
  sizes[0] = 1;
  Value row = numbers.b.create<ir::DynamicSliceOp>(numbers.loc, stack, startsOf(numbers, stack, at), sizes);
  return numbers.b.create<ir::ReshapeOp>(numbers.loc, row, ArrayRef(sizes).drop_front());
}

Value withRow(const Numbers &numbers, Value stack, Value row, Value at) {
  SmallVector<ir::Size> sizes{1};
  llvm::append_range(sizes, ir::sizesOf(row));
  Value high = numbers.b.create<ir::ReshapeOp>(numbers.loc, row, sizes);
  return numbers.b.create<ir::DynamicUpdateSliceOp>(numbers.loc, stack, high, startsOf(numbers, stack, at));
}

/// What a function returns, by copies of its ops.
SmallVector<Value> inlined(OpBuilder &b, ir::FuncOp function, IRMapping &map) {
  Block &block = function.getBody().front();
  for (Operation &op : block.without_terminator())
    b.clone(op, map);
  return llvm::map_to_vector(block.getTerminator()->getOperands(),
                             [&](Value value) { return map.lookup(value); });
}

bool isConstant(Value value, int64_t number) {
  DenseElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<APInt>() == static_cast<uint64_t>(number);
}

/// The carry of a loop that counts its trips.
std::optional<unsigned> findCount(ir::WhileOp loop, ir::FuncOp body) {
  Block &block = body.getBody().front();
  for (auto [i, begin] : llvm::enumerate(loop.getCarries())) {
    const RankedTensorType type = ir::typeOf(begin);
    if (type.getRank() != 0 || !type.getElementType().isSignlessInteger(64) || !isConstant(begin, 0))
      continue;
    const auto number = static_cast<unsigned>(i);
    auto next = block.getTerminator()->getOperand(number).getDefiningOp<ir::AddOp>();
    if (!next)
      continue;
    const Value before = block.getArgument(number);
    if ((next.getA() == before && isConstant(next.getB(), 1)) ||
        (next.getB() == before && isConstant(next.getA(), 1)))
      return number;
  }
  return std::nullopt;
}

/// The ops of a function and of the functions that they run, those of a scan once for each trip and those of
/// a while loop twice. It is an estimate of the launches that a GPU makes, of which an op has at most a few.
/// Ends the count above `limit`.
uint64_t countOps(const SymbolTable &symbols, ir::FuncOp function, uint64_t limit) {
  uint64_t count = 0;
  for (Operation &op : function.getBody().front()) {
    ++count;
    auto scan = dyn_cast<ir::ScanOp>(op);
    const uint64_t times = scan ? scan.getLength() : isa<ir::WhileOp>(op) ? 2 : 1;
    for (FlatSymbolRefAttr name : ir::bodiesOf(&op)) {
      if (count > limit)
        return count;
      const auto body = symbols.lookup<ir::FuncOp>(name.getValue());
      count = llvm::SaturatingMultiplyAdd(countOps(symbols, body, limit), times, count);
    }
  }
  return count;
}

} // namespace

WhileDerivative::WhileDerivative(ReverseMode &mode, ir::WhileOp loop, ArrayRef<Value> incoming,
                                 ArrayRef<bool> needs)
    : mode(mode), loop(loop), forward(loop), body(mode.symbols().lookup<ir::FuncOp>(loop.getBody())),
      loc(loop.getLoc()), incoming(incoming), needs(needs), carries(loop.getCarries().size()),
      cotangents(loop->getNumOperands()) {}

/// The levels of this derivative.
unsigned WhileDerivative::chooseLevels() const {
  const WhileDerivatives &all = mode.whileLoops();
  if (const auto known = all.levels.find(body); known != all.levels.end())
    return known->second;
  if (ir::deviceOf(loop->getResultTypes().front()).isCpu())
    return mostLevels;
  const bool isSmall = !mode.isInBody() && countOps(mode.symbols(), body, smallBody) <= smallBody;
  return isSmall ? mostLevels : fewLevels;
}

/// Makes the derivative of a trip.
LogicalResult WhileDerivative::differentiateTrip() {
  SmallVector<unsigned> wrt(activeCarries);
  llvm::append_range(wrt, wantedConstants);
  auto made = derivativeOf(mode, body, wrt, activeCarries);
  if (failed(made))
    return failure();
  functions->derivative = *made;
  return success();
}

/// Finds what the derivative of a trip reads, and what is needed to compute that in the trips before. What
/// has a symbolic size is kept, because a function gets the values of symbols from its arguments.
void WhileDerivative::findState() {
  Block &block = body.getBody().front();
  const unsigned operands = loop->getNumOperands();
  llvm::BitVector isRead(operands);
  llvm::DenseSet<Value> seen;
  SmallVector<Value> pending;
  const auto require = [&](unsigned i) {
    if (isRead.test(i))
      return;
    isRead.set(i);
    if (i < carries)
      pending.push_back(block.getTerminator()->getOperand(i));
  };
  for (unsigned i = 0; i < operands; ++i)
    if (!functions->derivative.getBody().front().getArgument(i).use_empty() ||
        !ir::typeOf(loop->getOperand(i)).hasStaticShape())
      require(i);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (auto argument = dyn_cast<BlockArgument>(value))
      require(argument.getArgNumber());
    else
      llvm::append_range(pending, value.getDefiningOp()->getOperands());
  }
  for (unsigned i : isRead.set_bits())
    (i < carries ? functions->state : functions->readConstants).push_back(i);
}

/// The number of trips. A loop that does not count them is replaced by one that does.
Value WhileDerivative::tripsOf() {
  if (mode.whileLoops().levels.contains(body))
    return loop->getOperand(0);
  if (const std::optional<unsigned> known = findCount(loop, body))
    return loop->getResult(*known);
  return countTrips();
}

/// Replaces the loop by one that counts its trips. Returns their number.
Value WhileDerivative::countTrips() {
  OpBuilder b(loop);
  const Numbers outside{b, loc,
                        ir::makeTensorType({}, b.getI64Type(), ir::deviceOf(loop->getResultTypes().front()))};
  ir::FuncOp &condition = functions->countingCondition, &trip = functions->countingBody;
  if (!trip) {
    condition = copyOf(mode.symbols(), mode.symbols().lookup<ir::FuncOp>(loop.getCondition()), ".counting");
    trip = copyOf(mode.symbols(), body, ".counting");
    condition.getBody().front().insertArgument(carries, outside.type, loc);
    const Value before = trip.getBody().front().insertArgument(carries, outside.type, loc);
    Operation *end = trip.getBody().front().getTerminator();
    OpBuilder inTrip(end);
    end->insertOperands(carries, Numbers{inTrip, loc, outside.type}.plus(before, 1));
    updateType(condition);
    updateType(trip);
  }
  Values begins(loop.getCarries());
  begins.push_back(outside.of(0));
  forward = b.create<ir::WhileOp>(loc, ValueRange(begins).getTypes(), condition.getName(), trip.getName(),
                                  begins, loop.getConstants(), loop.getMayFail());
  return forward->getResult(carries);
}

/// A function of carries and constants of these types, without ops.
ir::FuncOp WhileDerivative::makeFunction(StringRef name, ValueRange given, ValueRange constants) {
  OpBuilder builder(loop->getContext());
  builder.setInsertionPointAfter(body);
  auto made = builder.create<ir::FuncOp>(loc, (body.getName() + name).str(), builder.getFunctionType({}, {}));
  mode.symbols().insert(made);
  made.setPrivate();
  if (Attribute numerics = body->getAttr(ir::attr::numerics))
    made->setAttr(ir::attr::numerics, numerics);
  for (ValueRange values : {given, constants})
    for (Value value : values)
      made.getBody().front().addArgument(value.getType(), loc);
  return made;
}

/// Completes a function that `makeFunction` made.
void WhileDerivative::finish(ir::FuncOp made) {
  removeDeadOps(made.getBody().front());
  updateType(made);
  declareSymbols(made, body);
}

/// Makes a loop of so many trips at `b`. Its functions are made with the first loop of a use. The derivative
/// of such a loop has `levelsOfUse` levels. Returns the carries.
SmallVector<Value> WhileDerivative::count(OpBuilder &b, CountedLoop &use, unsigned levelsOfUse, Value trips,
                                          ValueRange given, ValueRange constants, Trip trip) {
  const RankedTensorType type = ir::typeOf(trips);
  Values begins{trips};
  llvm::append_range(begins, given);
  if (!use.body) {
    ir::FuncOp condition = makeFunction((use.name + ".condition").str(), begins, constants);
    ir::FuncOp each = makeFunction(use.name, begins, constants);
    {
      Block &block = condition.getBody().front();
      OpBuilder inside = OpBuilder::atBlockEnd(&block);
      const Value none = Numbers{inside, loc, type}.of(0);
      Value goesOn = inside.create<ir::GtOp>(loc, block.getArgument(0), none);
      inside.create<ir::ReturnOp>(loc, goesOn);
    }
    Block &block = each.getBody().front();
    OpBuilder inside = OpBuilder::atBlockEnd(&block);
    const ValueRange arguments = block.getArguments();
    Values returned{Numbers{inside, loc, type}.oneLess(arguments[0])};
    llvm::append_range(returned, trip(inside, arguments[0], arguments.slice(1, given.size()),
                                      arguments.drop_front(1 + given.size())));
    inside.create<ir::ReturnOp>(loc, returned);
    finish(condition);
    finish(each);
    use.condition = condition;
    use.body = each;
    mode.whileLoops().levels[each] = levelsOfUse;
  }
  auto made = b.create<ir::WhileOp>(loc, ValueRange(begins).getTypes(), use.condition.getName(),
                                    use.body.getName(), begins, constants, hasFallibleOps(use.body));
  return Values(made->getResults().drop_front());
}

/// The state after some trips.
SmallVector<Value> WhileDerivative::advance(OpBuilder &b, ValueRange from, Value trips,
                                            ValueRange constants) {
  return count(b, functions->advancing, std::max(levels, 2U) - 1, trips, from, constants,
               [&](OpBuilder &in, Value, ValueRange before, ValueRange fixed) {
                 IRMapping map;
                 for (auto [i, value] : llvm::zip_equal(functions->state, before))
                   map.map(body.getArgument(i), value);
                 for (auto [i, value] : llvm::zip_equal(functions->readConstants, fixed))
                   map.map(body.getArgument(i), value);
                 const Values after = inlined(in, body, map);
                 return Values(llvm::map_range(functions->state, [&](unsigned i) { return after[i]; }));
               });
}

/// Runs so many trips, and returns stacks with the state before each of them whose number is a multiple of
/// `stride`.
SmallVector<Value> WhileDerivative::keep(OpBuilder &b, ValueRange from, Value trips, Value stride,
                                         ValueRange constants) {
  const Numbers numbers{b, loc, ir::typeOf(trips)};
  const Value rows = numbers.dividedUp(trips, stride);
  return ir::deviceOf(trips.getType()).isCpu() ? keepByScan(b, from, rows, stride, constants)
                                               : keepByWhile(b, from, rows, stride, constants);
}

/// The state behind a row, of which `left` are left with it. There are no trips behind the last row.
SmallVector<Value> WhileDerivative::nextRow(OpBuilder &b, ValueRange from, Value left, Value stride,
                                            ValueRange constants) {
  const Numbers numbers{b, loc, ir::typeOf(left)};
  Value goesOn = b.create<ir::GtOp>(loc, left, numbers.of(1));
  Value trips = b.create<ir::SelectOp>(loc, goesOn, stride, numbers.of(0));
  return advance(b, from, trips, constants);
}

/// On the host a loop of known length stacks its rows where they stay. It has a trip for each row of a stack,
/// and those behind the last one that is asked for return the state.
SmallVector<Value> WhileDerivative::keepByScan(OpBuilder &b, ValueRange from, Value rows, Value stride,
                                               ValueRange constants) {
  Values begins{rows}, fixed{stride};
  llvm::append_range(begins, from);
  llvm::append_range(fixed, constants);
  if (!functions->keeping.body) {
    ir::FuncOp each = makeFunction(functions->keeping.name, begins, fixed);
    Block &block = each.getBody().front();
    OpBuilder in = OpBuilder::atBlockEnd(&block);
    const ValueRange arguments = block.getArguments(), before = arguments.slice(1, from.size());
    const Value left = arguments[0];
    const ValueRange given = arguments.drop_front(begins.size());
    Values returned{Numbers{in, loc, ir::typeOf(left)}.oneLess(left)};
    llvm::append_range(returned, nextRow(in, before, left, given[0], given.drop_front()));
    llvm::append_range(returned, before);
    in.create<ir::ReturnOp>(loc, returned);
    finish(each);
    functions->keeping.body = each;
  }
  SmallVector<Type> types(ValueRange(begins).getTypes());
  for (Value value : from)
    types.push_back(ir::stackedType(ir::typeOf(value), slots));
  auto made = b.create<ir::ScanOp>(loc, types, functions->keeping.body.getName(), begins, ValueRange(), fixed,
                                   static_cast<uint64_t>(slots), /*reverse=*/false,
                                   hasFallibleOps(functions->keeping.body));
  return Values(made.getYs());
}

/// On other devices a trip of a loop that has a while loop in it would be launches of its own, so that there
/// are as many as rows are asked for.
SmallVector<Value> WhileDerivative::keepByWhile(OpBuilder &b, ValueRange from, Value rows, Value stride,
                                                ValueRange constants) {
  const size_t values = from.size();
  Values begins(from), fixed{rows, stride};
  for (Value value : from)
    begins.push_back(emptyStack(b, loc, ir::typeOf(value)));
  llvm::append_range(fixed, constants);
  const Values last = count(
      b, functions->keeping, 1, rows, begins, fixed,
      [&](OpBuilder &in, Value left, ValueRange before, ValueRange given) {
        const Numbers numbers{in, loc, ir::typeOf(left)};
        const Value row = numbers.minus(given[0], left);
        Values after = nextRow(in, before.take_front(values), left, given[1], given.drop_front(2));
        for (auto [value, stack] : llvm::zip_equal(before.take_front(values), before.drop_front(values)))
          after.push_back(withRow(numbers, stack, value, row));
        return after;
      });
  return Values(ArrayRef(last).drop_front(values));
}

/// The cotangents before a trip, and the gradients of constants with those of the trip.
SmallVector<Value> WhileDerivative::reverseTrip(OpBuilder &b, ValueRange before, ValueRange adjoints,
                                                ValueRange constants) {
  IRMapping map;
  for (auto [i, value] : llvm::zip_equal(functions->state, before))
    map.map(functions->derivative.getArgument(i), value);
  for (auto [i, value] : llvm::zip_equal(functions->readConstants, constants))
    map.map(functions->derivative.getArgument(i), value);
  const size_t active = activeCarries.size();
  for (auto [i, value] : llvm::enumerate(adjoints.take_front(active)))
    map.map(functions->derivative.getArgument(loop->getNumOperands() + static_cast<unsigned>(i)), value);
  Values after = inlined(b, functions->derivative, map);
  for (auto [i, sum] : llvm::enumerate(adjoints.drop_front(active)))
    after[active + i] = b.create<ir::AddOp>(loc, sum, after[active + i]);
  return after;
}

/// So many trips from the last to the first. `stacks` have the state before each `stride`-th.
SmallVector<Value> WhileDerivative::reverseEach(OpBuilder &b, ValueRange stacks, Value trips, Value stride,
                                                ValueRange adjoints, ValueRange constants) {
  const size_t kept = stacks.size();
  Values fixed{stride};
  llvm::append_range(fixed, stacks);
  llvm::append_range(fixed, constants);
  return count(b, functions->reversing, 1, trips, adjoints, fixed,
               [&](OpBuilder &in, Value left, ValueRange before, ValueRange given) {
                 const Numbers numbers{in, loc, ir::typeOf(left)};
                 const Value trip = numbers.oneLess(left), row = numbers.divided(trip, given[0]);
                 const ValueRange outside = given.drop_front(1 + kept);
                 Values nearest;
                 for (Value stack : given.slice(1, kept))
                   nearest.push_back(rowOf(numbers, stack, row));
                 const Value behind = numbers.minus(trip, numbers.times(row, given[0]));
                 return reverseTrip(in, advance(in, nearest, behind, outside), before, outside);
               });
}

/// The trips of a segment from the last to the first. `first` is the state before it, and `lengths` are those
/// of the segments that it consists of, of those that these consist of, and so on.
SmallVector<Value> WhileDerivative::reverseSegment(OpBuilder &b, ValueRange first, Value trips,
                                                   ValueRange lengths, ValueRange adjoints,
                                                   ValueRange constants) {
  const Values stacks = keep(b, first, trips, lengths[0], constants);
  if (lengths.size() == 1)
    return reverseEach(b, stacks, trips, lengths[0], adjoints, constants);
  const Numbers numbers{b, loc, ir::typeOf(trips)};
  const size_t depth = lengths.size(), kept = stacks.size();
  Values fixed{trips};
  llvm::append_range(fixed, lengths);
  llvm::append_range(fixed, stacks);
  llvm::append_range(fixed, constants);
  return count(b, functions->segments[depth - 2], 1, numbers.dividedUp(trips, lengths[0]), adjoints, fixed,
               [&](OpBuilder &in, Value left, ValueRange before, ValueRange given) {
                 const Numbers inside{in, loc, numbers.type};
                 const ValueRange within = given.slice(1, depth);
                 const Value number = inside.oneLess(left),
                             behind = inside.minus(given[0], inside.times(number, within[0])),
                             own = inside.make<ir::MinOp>(behind, within[0]);
                 Values begin;
                 for (Value stack : given.slice(1 + depth, kept))
                   begin.push_back(rowOf(inside, stack, number));
                 return reverseSegment(in, begin, own, within.drop_front(), before,
                                       given.drop_front(1 + depth + kept));
               });
}

/// All trips from the last to the first.
void WhileDerivative::reverseAll(OpBuilder &b, Value trips) {
  const Numbers numbers{b, loc, ir::typeOf(trips)};
  int64_t least = 1;
  for (unsigned level = 1; level < levels; ++level)
    least *= slots;
  Values lengths{numbers.make<ir::MaxOp>(numbers.dividedUp(trips, numbers.of(slots)), numbers.of(least))};
  while (lengths.size() < levels)
    lengths.push_back(numbers.dividedUp(lengths.back(), numbers.of(slots)));
  Values begin, outside, adjoints;
  for (unsigned i : functions->state)
    begin.push_back(loop->getOperand(i));
  for (unsigned i : functions->readConstants)
    outside.push_back(loop->getOperand(i));
  for (unsigned i : activeCarries)
    adjoints.push_back(incoming[i] ? incoming[i] : filled(b, loc, ir::typeOf(loop->getOperand(i)), 0.0));
  for (unsigned i : wantedConstants)
    adjoints.push_back(filled(b, loc, ir::typeOf(loop->getOperand(i)), 0.0));
  const Values gradients = reverseSegment(b, begin, trips, lengths, adjoints, outside);
  const size_t active = activeCarries.size();
  for (auto [i, carry] : llvm::enumerate(activeCarries))
    if (needs[carry]) // it may be active only because of what the body adds to it
      cotangents[carry] = gradients[i];
  for (auto [i, constant] : llvm::enumerate(wantedConstants))
    cotangents[constant] = gradients[active + i];
}

LogicalResult WhileDerivative::build(OpBuilder &builder) {
  activeCarries = findActiveCarries(body, carries, needs);
  for (unsigned i = carries; i < loop->getNumOperands(); ++i)
    if (needs[i] && isReal(loop->getOperand(i)))
      wantedConstants.push_back(i);
  // It passes nothing on if no carry depends on what wants a gradient, but for example its condition.
  if (llvm::none_of(activeCarries, [&](unsigned i) { return static_cast<bool>(incoming[i]); }))
    return success();
  WhileDerivatives &all = mode.whileLoops();
  levels = chooseLevels();
  const auto [entry, isNew] = all.functions.try_emplace(
      {mode.symbols().lookup(loop.getCondition()), body,
       std::vector<unsigned>(activeCarries.begin(), activeCarries.end()),
       std::vector<unsigned>(wantedConstants.begin(), wantedConstants.end()), levels});
  functions = &entry->second;
  if (isNew) {
    static constexpr std::array<StringLiteral, mostLevels - 1> names{".segments", ".groups"};
    for (StringRef name : ArrayRef(names).take_front(levels - 1))
      functions->segments.push_back({name, {}, {}});
    if (failed(differentiateTrip()))
      return failure();
    findState();
  }
  reverseAll(builder, tripsOf());
  if (isNew)
    mode.erase(functions->derivative);
  return success();
}

} // namespace weft::passes
