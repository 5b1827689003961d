//===- CarryChecks.cpp - Checks move out of branches ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A launch that runs a function of the package cannot report what fails in it. So a branch, or the body of a
// loop, returns the first index that a check would refuse, as a number, and goes on with an index that is in
// range. The check itself stands behind the launch. A number that is in range is returned as 0, as by the
// branch that is not taken. If a body checks several indices, it also returns the position of the one that is
// refused, and the check behind the launch is of as many indices, so that its message names that position. In
// a loop of a known number of trips these are the indices of all trips, row by row. In a dimension without
// elements no index is in range: there the number is 1 if there is an index, and an assertion stands behind
// the launch.
//
//===----------------------------------------------------------------------===//
#include "ir/CrossEntropy.h"
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/Placement.h"
#include "ir/Updates.h"
#include "ir/Vjp.h"
#include "passes/Passes.h"
#include "passes/reverse/BodyDerivative.h"
#include "passes/reverse/GuardedLoops.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <array>
#include <limits>
#include <tuple>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_CARRYCHECKS
#include "passes/Passes.h.inc"

namespace {

/// A check of a body, which is made behind what runs it: of an index, or, if there is a message, that the
/// number is 0.
struct Check {
  Location loc;
  ir::Size size;
  std::string name;
  int64_t dim;
  std::string message;
  ir::Size count = 1; ///< of the indices that are checked
};

/// What the checks of a body found.
struct Found {
  SmallVector<Value> numbers;   ///< the first index that is refused, or 0
  SmallVector<Value> positions; ///< where that is; null for a check of one index

  void add(Value number, Value position = {}) {
    numbers.push_back(number);
    positions.push_back(position);
  }
  /// The positions that are there.
  SmallVector<Value> severals() const {
    return llvm::to_vector(llvm::make_filter_range(positions, [](Value position) { return bool(position); }));
  }
  /// The numbers, and then the positions.
  SmallVector<Value> all() const {
    SmallVector<Value> values(numbers);
    llvm::append_range(values, severals());
    return values;
  }
};

/// An index that is refused, or 0, and its position; null if there is one index.
struct RefusedIndex {
  Value number, position;
};

/// A position below has its bits in each key of a failure.
constexpr int64_t mostPositions = int64_t(1) << 40;

ir::VjpBuilder symbolicFor(OpBuilder &builder, Operation *op) {
  return {builder, op, SmallVector<Value>(op->getNumResults()),
          SmallVector<bool>(op->getNumOperands(), false)};
}

bool runsWhatMayFail(Operation *op) { return !ir::bodiesOf(op).empty() && ir::mayFail(op); }

struct CarryChecks : impl::CarryChecksBase<CarryChecks> {
  void runOnOperation() override {
    SymbolTable table(getOperation());
    symbols = &table;
    bool changed = false;
    llvm::DenseSet<Operation *> bodies;
    getOperation().walk([&](Operation *op) {
      changed |= runsWhatMayFail(op);
      for (FlatSymbolRefAttr name : ir::bodiesOf(op))
        bodies.insert(table.lookup(name.getValue()));
    });
    if (!changed)
      return markAllAnalysesPreserved();
    // Bodies are copied by what runs them, so that those of other ops stay as they are.
    SmallVector<ir::FuncOp> functions(getOperation().getOps<ir::FuncOp>());
    for (ir::FuncOp function : functions)
      if (!function.isExternal() && !bodies.contains(function) && failed(carryIn(function, /*isBody=*/false)))
        return signalPassFailure();
    eraseUnused();
  }

private:
  /// Erases the bodies of which there are copies, and that nothing else runs.
  void eraseUnused() {
    SmallVector<ir::FuncOp> left(copied.begin(), copied.end());
    for (size_t before = left.size() + 1; left.size() < before;) {
      before = left.size();
      llvm::erase_if(left, [&](ir::FuncOp body) {
        const bool unused = body.isPrivate() && SymbolTable::symbolKnownUseEmpty(body, getOperation());
        if (unused)
          symbols->erase(body);
        return unused;
      });
    }
    copied.clear();
  }

  /// A copy of a body.
  ir::FuncOp copyBody(StringRef name) {
    auto body = symbols->lookup<ir::FuncOp>(name);
    copied.insert(body);
    return copyOf(*symbols, body, ".checked");
  }

  /// Replaces what may fail in a function by the same with its checks behind it. What nothing reads is not
  /// checked.
  LogicalResult carryIn(ir::FuncOp function, bool isBody) {
    Block &block = function.getBody().front();
    if (llvm::none_of(block, [](Operation &op) { return ir::mayFail(&op); }))
      return success();
    removeDeadOps(block);
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (!runsWhatMayFail(&op))
        continue;
      const LogicalResult done =
          llvm::TypeSwitch<Operation *, LogicalResult>(&op).Case<ir::CondOp, ir::WhileOp, ir::ScanOp>(
              [&](auto each) { return carry(each, isBody); });
      if (failed(done))
        return failure();
    }
    return success();
  }

  /// A copy of a body in which nothing fails. `checks` and `found` get what its ops checked.
  FailureOr<ir::FuncOp> withoutChecks(StringRef name, SmallVectorImpl<Check> &checks, Found &found) {
    ir::FuncOp made = copyBody(name);
    if (failed(carryIn(made, /*isBody=*/true)))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(made.getBody().front())) {
      if (!ir::mayFail(&op)) {
        // What is computed from an index that is refused may never end a loop behind it.
        if (!found.numbers.empty() && ir::runsWhile(&op))
          guard(&op, allZero(&op, found.numbers));
        continue;
      }
      if (auto loss = dyn_cast<ir::CrossEntropyOp>(op))
        removeCheck(loss, checks, found);
      else if (auto assertion = dyn_cast<ir::AssertOp>(op))
        removeCheck(assertion, checks, found);
      else
        removeIndexCheck(&op, checks, found);
    }
    return made;
  }

  void guard(Operation *op, Value runs) const {
    const auto nothing = [](ir::FuncOp) {};
    GuardedLoops(*symbols, nothing).guard(op, runs);
  }

  /// Whether no number before an op is that of an index that is refused.
  static Value allZero(Operation *before, ValueRange numbers) {
    OpBuilder b(before);
    const Location loc = before->getLoc();
    Value all;
    for (Value number : numbers) {
      Value isZero = b.create<ir::EqOp>(loc, number, zero(b, loc, ir::typeOf(number)));
      all = all ? b.create<ir::AndOp>(loc, all, isZero).getResult() : isZero;
    }
    return all;
  }

  void removeIndexCheck(Operation *op, SmallVectorImpl<Check> &checks, Found &found) {
    OpOperand &operand = ir::indexOperandOf(op);
    const ir::Size count = ir::elementsOf(ir::typeOf(operand.get())), size = ir::indexedSize(op);
    const std::string name = ir::indexNameOf(op).str();
    if (size == ir::Size(0) && count != ir::Size(0)) {
      const int64_t dim = ir::reportedDim(op);
      checks.push_back({op->getLoc(), size, name, dim, emptyMessage(name, dim)});
      OpBuilder b(op);
      ir::VjpBuilder symbolic = symbolicFor(b, op);
      found.add(isThere(symbolic, count));
      // The result of an update is its base, which has no elements.
      const auto type = ir::typeOf(op->getResult(0));
      Value made = ir::isUpdateOp(op) ? op->getOperand(0) : Value();
      if (!made)
        made = b.create<ir::ConstantOp>(op->getLoc(), type,
                                        ir::splatOf(type, b.getZeroAttr(type.getElementType())));
      op->getResult(0).replaceAllUsesWith(made);
      op->erase();
      return;
    }
    op->setAttr("mode", ir::IndexModeAttr::get(op->getContext(), ir::IndexMode::clip));
    if (count == ir::Size(0))
      return;
    OpBuilder b(op);
    ir::VjpBuilder symbolic = symbolicFor(b, op);
    RefusedIndex refused = refusedIndex(symbolic, symbolic.operand(operand.getOperandNumber()), size);
    Check check{op->getLoc(), size, name, ir::reportedDim(op), {}, count};
    // Behind a loop or a branch in the body.
    if (const auto carried = carriedPositions.find(op); carried != carriedPositions.end()) {
      std::tie(refused.position, check.count) = carried->second;
      carriedPositions.erase(carried);
    }
    checks.push_back(std::move(check));
    found.add(refused.number, refused.position);
  }

  /// The classes of the rows that are not ignored.
  static void removeCheck(ir::CrossEntropyOp loss, SmallVectorImpl<Check> &checks, Found &found) {
    OpBuilder b(loss);
    ir::VjpBuilder symbolic = symbolicFor(b, loss);
    loss->setAttr(ir::attr::targetsInRange, b.getUnitAttr());
    const ir::Sym target = symbolic.operand(1);
    const ArrayRef<ir::Size> shape = ir::sizesOf(loss.getLogits().getType());
    if (shape[0] == ir::Size(0))
      return;
    const ir::Sym zero = symbolic.like(target, 0);
    const ir::Sym ignored =
        symbolic.like(target, static_cast<double>(static_cast<int64_t>(loss.getIgnoreIndex())));
    const ir::Sym kept = symbolic.compare<ir::NeOp>(target, ignored);
    if (shape[1] == ir::Size(0)) {
      checks.push_back({loss.getLoc(), shape[1], "Target", 1, emptyMessage("Target", 1)});
      const ir::Sym some = symbolic.select(kept, symbolic.like(target, 1), zero);
      const ir::Sym any = symbolic.make<ir::RmaxOp>(some.value, ArrayRef<int64_t>{0});
      found.add(symbolic.convert(any, b.getI64Type()).value);
      const bool isMean = loss.getReduction() == ir::ReductionKind::mean; // of no rows
      const double none = isMean ? std::numeric_limits<double>::quiet_NaN() : 0.0;
      loss->replaceAllUsesWith(ValueRange{
          filled(b, loss.getLoc(), ir::typeOf(loss.getLoss()), none),
          filled(b, loss.getLoc(), ir::typeOf(loss.getLse()), -std::numeric_limits<double>::infinity())});
      loss.erase();
      return;
    }
    checks.push_back({loss.getLoc(), shape[1], "Target", 1, {}, shape[0]});
    const RefusedIndex index = refusedIndex(symbolic, symbolic.select(kept, target, zero), shape[1]);
    found.add(index.number, index.position);
    const ir::Sym refused{index.number, &symbolic};
    // If one is refused, all rows are of class 0: nobody sees their loss.
    const ir::Sym good = symbolic.compare<ir::EqOp>(refused, symbolic.like(refused, 0));
    const ir::Sym all =
        symbolic.make<ir::BroadcastInDimOp>(good.value, ArrayRef<int64_t>(), ArrayRef<ir::Size>{shape[0]});
    loss.getTargetMutable().assign(symbolic.select(all, target, zero).value);
  }

  /// Of an op that a body has instead of another one.
  static void removeCheck(ir::AssertOp assertion, SmallVectorImpl<Check> &checks, Found &found) {
    OpBuilder b(assertion);
    ir::VjpBuilder symbolic = symbolicFor(b, assertion);
    const ir::Sym good = symbolic.convert(symbolic.operand(0), b.getI64Type());
    found.add((symbolic.like(good, 1) - good).value);
    checks.push_back({assertion.getLoc(), 0, {}, 0, assertion.getMessage().str()});
    assertion.erase();
  }

  static std::string emptyMessage(StringRef name, int64_t dim) {
    return (name.empty() ? "an index is out of bounds for dimension " + std::to_string(dim) + " with size 0"
                         : name.str() + " is out of bounds: there are 0 classes");
  }

  /// 1 if a number of elements is not 0, or else 0.
  static Value isThere(ir::VjpBuilder &symbolic, ir::Size count) {
    OpBuilder &b = symbolic.builder;
    const ir::Sym none{zero(b, symbolic.loc, numberType(symbolic.op)), &symbolic},
        one = symbolic.like(none, 1);
    if (count.isNumber())
      return one.value;
    return symbolic.select(symbolic.compare<ir::LtOp>(none, sizeAsNumber(symbolic, count, none)), one, none)
        .value;
  }

  /// A size as a number of i64 on the device of another one.
  static ir::Sym sizeAsNumber(ir::VjpBuilder &symbolic, ir::Size size, ir::Sym like) {
    if (size.isNumber())
      return symbolic.like(like, static_cast<double>(size.asNumber()));
    OpBuilder &b = symbolic.builder;
    const ir::DeviceAttr device = ir::deviceOf(like.type());
    // A size that each call chooses is a number of the host. Elsewhere it is the last of size + 1 places.
    if (device.isCpu())
      return symbolic.make<ir::DimOp>(ir::makeTensorType({}, b.getI64Type(), device), size);
    const ir::Sym places =
        symbolic.make<ir::IotaOp>(ir::makeTensorType({size + 1}, b.getI64Type(), device), 0);
    const ir::Sym last = symbolic.make<ir::SliceOp>(places.value, ArrayRef<ir::Size>{size},
                                                    ArrayRef<ir::Size>{size + 1}, ArrayRef<int64_t>{1});
    return symbolic.reshape(last, {});
  }

  /// The first index that is out of range.
  static RefusedIndex refusedIndex(ir::VjpBuilder &symbolic, ir::Sym index, ir::Size size) {
    index = symbolic.convert(index, symbolic.builder.getI64Type());
    ir::Size count = ir::elementsOf(index.type());
    if (index.type().getRank() == 0) {
      const ir::Sym none = symbolic.like(index, 0);
      return {symbolic.select(isRefused(symbolic, index, size), index, none).value, {}};
    }
    const bool isOne = count == ir::Size(1);
    index = symbolic.reshape(index, {count});
    if (!ir::rangesOf(symbolic.op).isAtLeast(count, 1)) { // an element more, which is in range
      index = symbolic.make<ir::PadOp>(index.value, ArrayRef<ir::Size>{0}, ArrayRef<ir::Size>{1},
                                       ArrayRef<int64_t>{0});
      count = count + 1;
    }
    constexpr double nowhere = 0x1p62;
    const ir::Sym places = symbolic.make<ir::IotaOp>(index.type(), 0);
    const ir::Sym refused =
        symbolic.select(isRefused(symbolic, index, size), places, symbolic.like(places, nowhere));
    const ir::Sym first = symbolic.make<ir::RminOp>(refused.value, ArrayRef<int64_t>{0});
    const ir::Sym none = symbolic.like(first, 0);
    const ir::Sym some = symbolic.compare<ir::LtOp>(first, symbolic.like(first, nowhere));
    const ir::Sym at = symbolic.select(some, first, none);
    const ir::Sym number =
        symbolic.make<ir::GatherOp>(index.value, at.value, 0, ir::GatherKind::points, ir::IndexMode::assume);
    return {symbolic.select(some, number, none).value, isOne ? Value() : at.value};
  }

  /// Whether each index is outside of [0, size).
  static ir::Sym isRefused(ir::VjpBuilder &symbolic, ir::Sym index, ir::Size size) {
    const ir::Sym none = symbolic.like(index, 0);
    ir::Sym limit = sizeAsNumber(symbolic, size, none);
    if (const ArrayRef<ir::Size> sizes = ir::sizesOf(index.type()); !size.isNumber() && !sizes.empty()) {
      const auto type = ir::makeTensorType({}, index.type().getElementType(), ir::deviceOf(index.type()));
      const ir::Sym here{zero(symbolic.builder, symbolic.loc, type), &symbolic};
      limit = symbolic.make<ir::BroadcastInDimOp>((here + limit).value, ArrayRef<int64_t>(), sizes);
    }
    return symbolic.binary<ir::OrOp>(symbolic.compare<ir::LtOp>(index, none),
                                     symbolic.compare<ir::GeOp>(index, limit));
  }

  /// Makes the checks of numbers behind the op that returns them: `values` has the numbers, and then their
  /// positions.
  void check(Operation *op, ArrayRef<Check> checks, ValueRange values, bool isBody) {
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    ValueRange positions = values.drop_front(checks.size());
    for (const auto &[check, number] : llvm::zip(checks, values)) {
      ir::VjpBuilder symbolic = symbolicFor(b, op);
      const Location loc = CallSiteLoc::get(check.loc, op->getLoc());
      ir::Sym given{number, &symbolic};
      Value position;
      if (check.count != ir::Size(1)) {
        position = positions.front();
        positions = positions.drop_front();
      }
      if (!check.message.empty()) {
        const ir::Sym good = symbolic.compare<ir::EqOp>(given, symbolic.like(given, 0));
        b.create<ir::AssertOp>(loc, good.value, check.message);
        continue;
      }
      if (position && !isBody)
        given = numberAt(symbolic, given, {position, &symbolic}, check.count);
      const ir::Sym checked = symbolic.checkedIndex(given, check.size, check.name, check.dim);
      Operation *gather = checked.value.getDefiningOp();
      gather->setLoc(loc);
      if (isBody) { // whose own checks are moved next
        if (position)
          carriedPositions[gather] = {position, check.count};
        continue;
      }
      // One number is written, however many are checked.
      const ir::Sym least =
          position ? symbolic.make<ir::RminOp>(checked.value, ArrayRef<int64_t>{0}) : checked;
      const ir::Sym inside = symbolic.compare<ir::GeOp>(least, symbolic.like(least, 0));
      auto assertion = b.create<ir::AssertOp>(loc, inside.value, "an index is out of bounds");
      assertion->setAttr(ir::attr::recordedCheck, b.getUnitAttr());
    }
  }

  /// `count` numbers that are 0, but for this one at its position. If they may be none, there is one more.
  static ir::Sym numberAt(ir::VjpBuilder &symbolic, ir::Sym number, ir::Sym position, ir::Size count) {
    if (!ir::rangesOf(symbolic.op).isAtLeast(count, 1))
      count = count + 1;
    const auto type =
        ir::makeTensorType({count}, number.type().getElementType(), ir::deviceOf(number.type()));
    const auto all = [&](ir::Sym value) {
      return symbolic.make<ir::BroadcastInDimOp>(value.value, ArrayRef<int64_t>(), ArrayRef<ir::Size>{count});
    };
    const ir::Sym places = symbolic.make<ir::IotaOp>(type, 0);
    return symbolic.select(symbolic.compare<ir::EqOp>(places, all(position)), all(number),
                           all(symbolic.like(number, 0)));
  }

  static RankedTensorType numberType(Operation *op) {
    return ir::makeTensorType({}, IntegerType::get(op->getContext(), 64), ir::computeDevice(op));
  }

  static Value zero(OpBuilder &b, Location loc, RankedTensorType type) {
    return b.create<ir::ConstantOp>(loc, type, ir::splatOf(type, b.getI64IntegerAttr(0)));
  }

  LogicalResult carry(ir::CondOp cond, bool isBody) {
    SmallVector<Check> checks;
    SmallVector<ir::FuncOp> branches;
    std::array<Found, 2> found;
    const RankedTensorType type = numberType(cond);
    for (auto [i, name] : llvm::enumerate(ir::bodiesOf(cond))) {
      auto made = withoutChecks(name.getValue(), checks, found[i]);
      if (failed(made))
        return failure();
      branches.push_back(*made);
    }
    // The second branch returns zeros for the checks of the first, and the other way round.
    size_t count = 0;
    for (auto [i, branch] : llvm::enumerate(branches)) {
      Operation *end = branch.getBody().front().getTerminator();
      OpBuilder b(end);
      SmallVector<Value> returned(end->getOperands());
      const size_t before = returned.size();
      const auto add = [&, i = i](size_t of, ArrayRef<Value> values) {
        for (Value value : values)
          returned.push_back(of == i ? value : zero(b, cond.getLoc(), type));
      };
      for (size_t of = 0; of < 2; ++of)
        add(of, found[of].numbers);
      for (size_t of = 0; of < 2; ++of)
        add(of, found[of].severals());
      count = returned.size() - before;
      end->setOperands(returned);
      updateType(branch);
    }
    SmallVector<Type> types(cond->getResultTypes());
    types.append(count, type);
    OpBuilder b(cond);
    auto made = b.create<ir::CondOp>(cond.getLoc(), types, cond.getPred(), branches[0].getName(),
                                     branches[1].getName(), cond.getInputs(), /*may_fail=*/false);
    replace(cond, made, cond->getNumResults(), checks, isBody);
    return success();
  }

  LogicalResult carry(ir::WhileOp loop, bool isBody) {
    SmallVector<Check> checks;
    Found found;
    auto body = withoutChecks(loop.getBody(), checks, found);
    if (failed(body))
      return failure();
    ir::FuncOp condition = copyBody(loop.getCondition());
    const auto carries = static_cast<unsigned>(loop.getCarries().size());
    const RankedTensorType type = numberType(loop);
    const Location loc = loop.getLoc();
    const size_t count = found.all().size();
    addNumbers(*body, carries, found, type);
    // The loop ends with the first trip in which an index is refused.
    Operation *goesOn = condition.getBody().front().getTerminator();
    OpBuilder inCondition(goesOn);
    for (unsigned i = 0; i < count; ++i) {
      Value before = condition.getBody().front().insertArgument(carries + i, type, loc);
      if (i >= found.numbers.size()) // a position
        continue;
      Value fine = inCondition.create<ir::EqOp>(loc, before, zero(inCondition, loc, type));
      goesOn->setOperand(0, inCondition.create<ir::AndOp>(loc, goesOn->getOperand(0), fine));
    }
    updateType(condition);
    OpBuilder b(loop);
    SmallVector<Value> begins(loop.getCarries());
    begins.append(count, zero(b, loc, type));
    auto made = b.create<ir::WhileOp>(loc, ValueRange(begins).getTypes(), condition.getName(),
                                      body->getName(), begins, loop.getConstants(), /*may_fail=*/false);
    replace(loop, made, carries, checks, isBody);
    return success();
  }

  LogicalResult carry(ir::ScanOp loop, bool isBody) {
    SmallVector<Check> checks;
    Found found;
    auto body = withoutChecks(loop.getBody(), checks, found);
    if (failed(body))
      return failure();
    const auto carries = static_cast<unsigned>(loop.getCarries().size());
    const RankedTensorType type = numberType(loop);
    OpBuilder b(loop);
    SmallVector<Value> begins(found.numbers.size(), zero(b, loop.getLoc(), type));
    SmallVector<ir::Sym> steps;
    OpBuilder inBody(body->getBody().front().getTerminator());
    ir::VjpBuilder outside = symbolicFor(b, loop);
    ir::VjpBuilder inside = symbolicFor(inBody, body->getBody().front().getTerminator());
    for (auto [check, position] : llvm::zip_equal(checks, found.positions))
      countTrips(loop, check, position, begins, steps, outside, inside);
    addNumbers(*body, carries, found, type, steps);
    guardFurtherTrips(*body, carries, static_cast<unsigned>(found.numbers.size()));
    begins.insert(begins.begin(), loop.getCarries().begin(), loop.getCarries().end());
    SmallVector<Type> types(ValueRange(begins).getTypes());
    llvm::append_range(types, loop.getYs().getTypes());
    auto made = b.create<ir::ScanOp>(loop.getLoc(), types, body->getName(), begins, loop.getXs(),
                                     loop.getConstants(), loop.getLength(), loop.getReverse(),
                                     /*may_fail=*/false);
    replace(loop, made, carries, checks, isBody);
    return success();
  }

  /// Makes the position that a check has in a trip of a loop one among the indices of all trips. `begins`
  /// gets that of the first index in the first trip, and `steps` by how much the next trip's is larger.
  static void countTrips(ir::ScanOp loop, Check &check, Value &position, SmallVectorImpl<Value> &begins,
                         SmallVectorImpl<ir::Sym> &steps, ir::VjpBuilder &outside, ir::VjpBuilder &inside) {
    if (!check.message.empty())
      return;
    const auto length = static_cast<int64_t>(loop.getLength());
    const RankedTensorType type = numberType(loop);
    const ir::Sym none{zero(outside.builder, loop.getLoc(), type), &outside},
        noneInside{zero(inside.builder, loop.getLoc(), type), &inside};
    const ir::Size all = check.count * length;
    const bool isFew = length > 1 && all.isExpressible() && ir::rangesOf(loop).largest(all) <= mostPositions;
    if (!isFew) {
      if (position) {
        begins.push_back(none.value);
        steps.push_back({});
      }
      return;
    }
    if (!position)
      position = noneInside.value;
    const ir::Sym step = sizeAsNumber(inside, check.count, noneInside);
    steps.push_back(loop.getReverse() ? noneInside - step : step);
    begins.push_back(loop.getReverse() ? sizeAsNumber(outside, all - check.count, none).value : none.value);
    check.count = all;
  }

  /// Makes what the checks of a body found carries behind those that it has. What the first trip found in
  /// which a number is not 0 stays. In a loop that counts its trips, the position in a trip is added to that
  /// before, or the step of the next trip is.
  static void addNumbers(ir::FuncOp body, unsigned carries, const Found &found, RankedTensorType type,
                         ArrayRef<ir::Sym> steps = {}) {
    Block &block = body.getBody().front();
    const Location loc = body.getLoc();
    Operation *next = block.getTerminator();
    OpBuilder b(next);
    SmallVector<Value> before, after(found.all());
    const size_t numbers = found.numbers.size();
    Value isRefused;
    const auto orNotZero = [&](Value any, Value number) -> Value {
      Value isOne = b.create<ir::NeOp>(loc, number, zero(b, loc, type));
      return any ? b.create<ir::OrOp>(loc, any, isOne).getResult() : isOne;
    };
    for (unsigned i = 0; i < after.size(); ++i) {
      before.push_back(block.insertArgument(carries + i, type, loc));
      if (i < numbers)
        isRefused = orNotZero(isRefused, before[i]);
    }
    for (size_t i = numbers, of = 0; i < after.size() && !steps.empty(); ++i, ++of) {
      while (!found.positions[of])
        ++of;
      if (!steps[i - numbers].value)
        continue;
      Value isHere = orNotZero({}, found.numbers[of]);
      Value added = b.create<ir::SelectOp>(loc, isHere, after[i], steps[i - numbers].value);
      after[i] = b.create<ir::AddOp>(loc, before[i], added);
    }
    for (auto [i, value] : llvm::enumerate(after))
      next->insertOperands(carries + static_cast<unsigned>(i),
                           b.create<ir::SelectOp>(loc, isRefused, before[i], value).getResult());
    updateType(body);
  }

  /// The trips behind one that refuses an index go on with its results, so that their loops have no trips.
  void guardFurtherTrips(ir::FuncOp body, unsigned carries, unsigned numbers) const {
    Block &block = body.getBody().front();
    if (numbers == 0 || llvm::none_of(block, [](Operation &op) { return ir::runsWhile(&op); }))
      return;
    const Value isFine = allZero(&block.front(), block.getArguments().slice(carries, numbers));
    for (Operation &op : llvm::make_early_inc_range(block))
      if (ir::runsWhile(&op))
        guard(&op, isFine);
  }

  /// Replaces an op by one whose results from `at` on are also the numbers of the checks.
  void replace(Operation *op, Operation *made, unsigned at, ArrayRef<Check> checks, bool isBody) {
    const unsigned numbers = made->getNumResults() - op->getNumResults();
    for (unsigned i = 0; i < op->getNumResults(); ++i)
      op->getResult(i).replaceAllUsesWith(made->getResult(i < at ? i : i + numbers));
    if (Attribute stops = op->getAttr(ir::attr::noGrad))
      made->setAttr(ir::attr::noGrad, stops);
    op->erase();
    check(made, checks, made->getResults().slice(at, numbers), isBody);
  }

  SymbolTable *symbols = nullptr;
  llvm::SetVector<ir::FuncOp> copied;
  /// Of checks in bodies of what loops and branches found: the position of the index, and among how many.
  llvm::DenseMap<Operation *, std::pair<Value, ir::Size>> carriedPositions;
};

} // namespace
} // namespace weft::passes
