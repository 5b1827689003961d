//===- Loops.cpp - Loops that are compiled as loops -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/loops.hpp"

#include "frontend/graph/Message.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Shapes.h"
#include "frontend/graph/Symbols.h"
#include "frontend/ops/BodyRecord.h"
#include "frontend/ops/Handle.h"

#include <algorithm>

namespace weft::frontend {

namespace {

constexpr BodyWords tripWords = {"the body of a loop", "the loop",
                                 "it is called once for all trips, and a trip computes values only; do that "
                                 "before or after the loop, with "
                                 "values that are its xs or its results"};

/// Throws Error unless a body returns the carries in the structure and the types in which it got them.
void checkCarry(const BodyRecord &body, const Flat &carry, const std::vector<Ref> &operands, Loc loc) {
  if (body.structures()[0] != carry.structure || body.counts()[0] != carry.tensors.size())
    fail("the body of a loop returns a carry with another structure than it got (WEFT-T002): other numbers, "
         "or other sizes of containers",
         loc, {}, "WEFT-T002");
  const std::vector<Ref> &after = body.results();
  for (size_t i = 0; i < carry.tensors.size(); ++i)
    if (after[i].spec() != operands[i].spec())
      fail("carry " + std::to_string(i) + " of a loop begins as " + operands[i].spec().str() + ", and is " +
               after[i].spec().str() +
               " after a trip (WEFT-T002): return it in the shape, dtype and device in which it begins",
           loc, {operands[i], after[i]}, "WEFT-T002");
}

/// Appends values from outside.
void addCaptured(std::vector<Ref> &operands, const std::vector<CapturedValue> &captured, Loc loc) {
  for (const CapturedValue &value : captured)
    operands.push_back(value.outside(loc));
}

/// Records one trip of a loop, and then the loop.
class Scan {
public:
  Scan(const Flat &carry, const Flat &xs, int64_t length, const ScanOptions &options, Loc loc)
      : carry_(carry), xs_(xs), length_(length), options_(options), loc_(loc) {}

  FlatScan record(const FlatScanBody &body);

private:
  void readOperands();
  FlatScan recordLoop(const BodyRecord &body) const;

  const Flat &carry_, &xs_;
  int64_t length_;
  ScanOptions options_;
  Loc loc_;
  std::vector<Ref> operands_; ///< carries, xs
};

void Scan::readOperands() {
  GraphLock lock(graphMutex());
  for (const Tensor &tensor : carry_.tensors)
    operands_.push_back(use(tensor, loc_));
  for (const Tensor &tensor : xs_.tensors) {
    const Ref value = use(tensor, loc_);
    const Shape &shape = value.spec().shape;
    if (shape.empty())
      fail("scan goes over the first dimension of its xs, and one of them has none (WEFT-T003)", loc_,
           {value}, "WEFT-T003");
    if (length_ < 0)
      length_ = shape[0];
    if (shape[0] != length_)
      fail("the xs of scan have different first dimensions, " + sizeText(length_) + " and " +
               sizeText(shape[0]) + " (WEFT-T003): each has one row for each trip",
           loc_, {value}, "WEFT-T003");
    operands_.push_back(value);
  }
  if (xs_.tensors.empty() && length_ < 0)
    fail("scan has neither xs nor a number of trips that is not negative (WEFT-T003)", loc_, {}, "WEFT-T003");
  if (isSymbolic(length_))
    fail("scan has " + sizeText(length_) +
             " trips, which is not known when the function is compiled (WEFT-T003): declare that dimension "
             "as a number",
         loc_, {}, "WEFT-T003");
}

FlatScan Scan::record(const FlatScanBody &body) {
  readOperands();
  std::vector<BodyRecord::Input> inputs;
  for (size_t i = 0; i < operands_.size(); ++i) {
    inputs.push_back({operands_[i].spec(), operands_[i].node->loc});
    if (i >= carry_.tensors.size()) // a row
      inputs.back().spec.shape.erase(inputs.back().spec.shape.begin());
  }
  for (;;) { // again, if another thread changed what the body reads
    BodyRecord trip(tripWords, loc_);
    const bool isDone = trip.record(inputs, [&](const std::vector<Tensor> &given) -> std::vector<Flat> {
      const auto rows = given.begin() + static_cast<std::ptrdiff_t>(carry_.tensors.size());
      FlatScan made = body({{given.begin(), rows}, carry_.structure}, {{rows, given.end()}, xs_.structure});
      return {std::move(made.carry), std::move(made.ys)};
    });
    if (!isDone)
      continue;
    checkCarry(trip, carry_, operands_, loc_);
    GraphLock lock(graphMutex());
    if (!trip.isOutdated())
      return recordLoop(trip);
  }
}

FlatScan Scan::recordLoop(const BodyRecord &body) const {
  std::vector<Ref> operands = operands_;
  addCaptured(operands, body.captured(), loc_);
  std::vector<Spec> results;
  for (const Ref &result : body.results()) {
    Spec spec = result.spec();
    if (results.size() >= carry_.tensors.size())
      spec.shape.insert(spec.shape.begin(), length_);
    results.push_back(std::move(spec));
  }
  const auto count = [](size_t n) { return static_cast<int64_t>(n); };
  const std::shared_ptr<Node> node = recordBodies(
      "scan", std::move(operands),
      {{"body", body.text(body.captured())},
       {"length", length_},
       {"reverse", options_.reverse},
       {"may_fail", body.fallible() != nullptr},
       {"operandSegmentSizes", std::vector<int64_t>{count(carry_.tensors.size()), count(xs_.tensors.size()),
                                                    count(body.captured().size())}}},
      results, loc_);
  body.checkDerivative(node, body.captured(), carry_.tensors.size());
  FlatScan made;
  made.carry.structure = carry_.structure;
  made.ys.structure = body.structures()[1];
  for (uint32_t i = 0; i < results.size(); ++i)
    (i < carry_.tensors.size() ? made.carry : made.ys).tensors.push_back(wrap({node, i}, loc_));
  return made;
}

//===----------------------------------------------------------------------===//
// cond, while
//===----------------------------------------------------------------------===//

/// Throws Error unless a tensor is one truth value.
void checkPredicate(const Ref &value, const char *name, Loc loc) {
  const Spec &spec = value.spec();
  if (spec.dtype != DType::i1 ||
      std::any_of(spec.shape.begin(), spec.shape.end(), [](int64_t size) { return size != 1; }))
    fail(std::string(name) + " is " + spec.str() +
             ", expected a bool, or a tensor of one bool (WEFT-T006): compare, or reduce with any() or all()",
         loc, {value}, "WEFT-T006");
}

std::vector<BodyRecord::Input> inputsOf(const std::vector<Ref> &operands) {
  std::vector<BodyRecord::Input> inputs;
  for (const Ref &operand : operands)
    inputs.push_back({operand.spec(), operand.node->loc});
  return inputs;
}

std::vector<Ref> operandsOf(const Flat &flat, Loc loc) {
  GraphLock lock(graphMutex());
  std::vector<Ref> operands;
  for (const Tensor &tensor : flat.tensors)
    operands.push_back(use(tensor, loc));
  return operands;
}

std::vector<Spec> specsOf(const std::vector<Ref> &values) {
  std::vector<Spec> specs;
  for (const Ref &value : values)
    specs.push_back(value.spec());
  return specs;
}

/// The tensors of a node's results, in this structure.
Flat resultsOf(const std::shared_ptr<Node> &node, const Structure &structure, Loc loc) {
  Flat made{.tensors = {}, .structure = structure};
  for (uint32_t i = 0; i < node->results.size(); ++i)
    made.tensors.push_back(wrap({node, i}, loc));
  return made;
}

constexpr BodyWords conditionWords = {
    "the condition of a while loop", "the loop",
    "it is called once for all trips, and computes a value only; do that before or after the loop"};

constexpr BodyWords branchWords = {"a branch of cond", "cond",
                                   "both branches are called once, when cond is recorded, and compute values "
                                   "only; do that before or after cond, "
                                   "with values that are its operands or its results"};

/// Throws Error unless both branches return the same structure of the same types.
void checkBranches(const BodyRecord &then, const BodyRecord &otherwise, Loc loc) {
  const std::vector<Ref> &a = then.results(), &b = otherwise.results();
  if (a.size() != b.size() || then.structures() != otherwise.structures())
    fail("the branches of cond return other structures, of " + std::to_string(a.size()) + " and of " +
             std::to_string(b.size()) +
             " tensors (WEFT-T007): return the same from both, and the same numbers beside the tensors",
         loc, {}, "WEFT-T007");
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i].spec() != b[i].spec())
      fail("result " + std::to_string(i) + " of cond is " + a[i].spec().str() + " in the first branch, and " +
               b[i].spec().str() +
               " in the second (WEFT-T007): return it in one shape, dtype and device from both",
           loc, {a[i], b[i]}, "WEFT-T007");
}

} // namespace

FlatScan scanFlat(const FlatScanBody &body, const Flat &carry, const Flat &xs, int64_t length,
                  const ScanOptions &options, Loc loc) {
  return Scan(carry, xs, length, options, loc).record(body);
}

Flat whileFlat(const FlatBody &condition, const FlatBody &body, const Flat &carries, Loc loc) {
  const std::vector<Ref> operands = operandsOf(carries, loc);
  const std::vector<BodyRecord::Input> inputs = inputsOf(operands);
  const auto predicateOf = [&](const std::vector<Tensor> &given) -> std::vector<Flat> {
    Flat made = condition({given, carries.structure});
    checkPredicate(use(made.tensors[0], loc), "the condition of a while loop", loc);
    made.tensors[0] = made.tensors[0].reshape({}, loc);
    return {std::move(made)};
  };
  const auto nextOf = [&](const std::vector<Tensor> &given) -> std::vector<Flat> {
    return {body({given, carries.structure})};
  };
  for (;;) { // again, if another thread changed what the loop reads
    BodyRecord goesOn(conditionWords, loc), trip(tripWords, loc);
    if (!goesOn.record(inputs, predicateOf) || !trip.record(inputs, nextOf))
      continue;
    checkCarry(trip, carries, operands, loc);
    if (const Node *fallible = goesOn.fallible())
      fail(std::string("the condition of a while loop has '") + fallible->name + "' at " +
               str(fallible->loc) +
               ", which may fail (WEFT-T008): read by index in its body, and carry the values",
           loc, {}, "WEFT-T008");
    GraphLock lock(graphMutex());
    if (goesOn.isOutdated() || trip.isOutdated())
      continue;
    const std::vector<CapturedValue> captured = allCaptured({&goesOn, &trip});
    std::vector<Ref> all = operands;
    addCaptured(all, captured, loc);
    const std::vector<int64_t> groups = {static_cast<int64_t>(operands.size()),
                                         static_cast<int64_t>(captured.size())};
    const std::shared_ptr<Node> node = recordBodies("while", std::move(all),
                                                    {{"condition", goesOn.text(captured)},
                                                     {"body", trip.text(captured)},
                                                     {"may_fail", trip.fallible() != nullptr},
                                                     {"operandSegmentSizes", groups}},
                                                    specsOf(operands), loc);
    trip.checkDerivative(node, captured, operands.size());
    return resultsOf(node, carries.structure, loc);
  }
}

Flat condFlat(const Tensor &pred, const FlatBody &thenBody, const FlatBody &elseBody, const Flat &operands,
              Loc loc) {
  Ref predicate;
  {
    GraphLock lock(graphMutex());
    predicate = use(pred, loc);
  }
  checkPredicate(predicate, "the predicate of cond", loc);
  predicate = reshapeTo(predicate, {}, loc);
  const std::vector<Ref> inputs = operandsOf(operands, loc);
  const auto calling = [&](const FlatBody &function) -> BodyRecord::Function {
    return [&](const std::vector<Tensor> &given) -> std::vector<Flat> {
      return {function({given, operands.structure})};
    };
  };
  for (;;) { // again, if another thread changed what a branch reads
    BodyRecord then(branchWords, loc), otherwise(branchWords, loc);
    if (!then.record(inputsOf(inputs), calling(thenBody)) ||
        !otherwise.record(inputsOf(inputs), calling(elseBody)))
      continue;
    checkBranches(then, otherwise, loc);
    GraphLock lock(graphMutex());
    if (then.isOutdated() || otherwise.isOutdated())
      continue;
    if (then.results().empty())
      return {.tensors = {}, .structure = then.structures()[0]};
    const std::vector<CapturedValue> captured = allCaptured({&then, &otherwise});
    // A predicate that was computed elsewhere is moved to where the branches compute.
    std::vector<Ref> all = {transferTo(predicate, then.results()[0].spec().device, loc)};
    all.insert(all.end(), inputs.begin(), inputs.end());
    addCaptured(all, captured, loc);
    const std::shared_ptr<Node> node = recordBodies("cond", std::move(all),
                                                    {{"then_body", then.text(captured)},
                                                     {"else_body", otherwise.text(captured)},
                                                     {"may_fail", then.fallible() || otherwise.fallible()}},
                                                    specsOf(then.results()), loc);
    then.checkDerivative(node, captured, 0);
    otherwise.checkDerivative(node, captured, 0);
    return resultsOf(node, then.structures()[0], loc);
  }
}

} // namespace weft::frontend
