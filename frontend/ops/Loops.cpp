//===- Loops.cpp - Loops that are compiled as loops -----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "weft/loops.hpp"

#include "frontend/graph/Message.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Record.h"
#include "frontend/graph/Region.h"
#include "frontend/graph/Shapes.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"
#include "frontend/ops/Handle.h"

#include <algorithm>
#include <optional>

namespace weft::frontend {

namespace {

/// Records one trip of a loop, and then the loop.
class Scan {
public:
  Scan(const Flat &carry, const Flat &xs, int64_t length, const ScanOptions &options, Loc loc)
      : carry_(carry), xs_(xs), length_(length), options_(options), loc_(loc) {}

  FlatScan record(const FlatScanBody &body) {
    readOperands();
    std::optional<FlatScan> made;
    while (!made) // again, if another thread changed what the body reads
      made = recordBody(body);
    return *std::move(made);
  }

private:
  void readOperands();
  std::optional<FlatScan> recordBody(const FlatScanBody &body);
  void checkCarry(const std::vector<Ref> &after) const;
  void checkEffects(const Trace &trace, const std::vector<Trace::Change> &changes) const;
  void makeRegion(const std::vector<Ref> &results, const Trace &trace);
  FlatScan recordLoop() const;
  [[noreturn]] void refuseEffect(const std::string &what, Loc where) const {
    fail("the body of a loop " + what + " at " + str(where) +
             " (WEFT-T001): it is called once for all trips, and a trip computes values only; do that before "
             "or after the loop, with values that are its xs or its results",
         loc_, {}, "WEFT-T001");
  }

  const Flat &carry_, &xs_;
  int64_t length_;
  ScanOptions options_;
  Loc loc_;
  std::vector<Ref> operands_; ///< carries, xs
  std::vector<Ref> inputs_;   ///< what stands for them in the body
  Structure ysStructure_;
  std::string body_; ///< its text
  bool mayFail_ = false;
  std::vector<Spec> results_;
  std::vector<std::shared_ptr<Slot>> captured_;
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

/// Records a trip, and then the loop. Returns nothing if another thread changed what the trip depends on.
std::optional<FlatScan> Scan::recordBody(const FlatScanBody &body) {
  Trace *outer = Trace::current();
  Trace trace(Trace::Kind::body);
  if (outer) {
    trace.symbols = outer->symbols;
    trace.function = outer->function;
    trace.numerics = outer->numerics;
  }
  Flat carry{.tensors = {}, .structure = carry_.structure}, rows{.tensors = {}, .structure = xs_.structure};
  inputs_.clear();
  {
    GraphLock lock(graphMutex());
    for (size_t i = 0; i < operands_.size(); ++i) {
      Spec spec = operands_[i].spec();
      const bool isRow = i >= carry_.tensors.size();
      if (isRow)
        spec.shape.erase(spec.shape.begin());
      (isRow ? rows : carry).tensors.push_back(trace.addInput(spec, operands_[i].node->loc));
      inputs_.push_back(use((isRow ? rows : carry).tensors.back(), loc_));
    }
  }
  const FlatScan made = body(carry, rows);
  GraphLock lock(graphMutex());
  if (trace.isOutdated())
    return std::nullopt;
  if (made.carry.structure != carry_.structure || made.carry.tensors.size() != carry_.tensors.size())
    fail("the body of a loop returns a carry with another structure than it got (WEFT-T002): other numbers, "
         "or other sizes of containers",
         loc_, {}, "WEFT-T002");
  std::vector<Ref> results;
  for (const Flat *part : {&made.carry, &made.ys})
    for (const Tensor &tensor : part->tensors)
      results.push_back(use(tensor, loc_));
  checkCarry(results);
  ysStructure_ = made.ys.structure;
  // The function around the loop depends on the modes that the body reads.
  for (const ModeChange &mode : trace.modes())
    if (outer && mode.read)
      outer->readMode(mode.flag);
  if (trace.changedFlag())
    refuseEffect("sets requires_grad of a tensor that is older than the loop", loc_);
  const std::vector<Trace::Change> changes = trace.finish();
  checkEffects(trace, changes);
  if (trace.isCaptureOutdated())
    return std::nullopt;
  makeRegion(results, trace);
  return recordLoop();
}

void Scan::checkCarry(const std::vector<Ref> &after) const {
  for (size_t i = 0; i < carry_.tensors.size(); ++i)
    if (after[i].spec() != operands_[i].spec())
      fail("carry " + std::to_string(i) + " of a loop begins as " + operands_[i].spec().str() + ", and is " +
               after[i].spec().str() +
               " after a trip (WEFT-T002): return it in the shape, dtype and device in which it begins",
           loc_, {operands_[i], after[i]}, "WEFT-T002");
}

void Scan::checkEffects(const Trace &trace, const std::vector<Trace::Change> &changes) const {
  if (!trace.effects().empty())
    refuseEffect(std::string("has the effect '") + trace.effects()[0].node->name + "'",
                 trace.effects()[0].node->loc);
  for (const Trace::Change &change : changes) {
    const TouchedSlot &touched = change.touched;
    if (touched.input && change.after != touched.input)
      refuseEffect(touched.slot->name.starts_with("rng.")
                       ? "draws random numbers"
                       : "writes " + nameOf(*touched.slot) + ", which is older than the loop,",
                   change.after.node->loc);
    if (change.gradAfter != touched.gradBefore || touched.gradDropped)
      refuseEffect("sets the gradient of " + nameOf(*touched.slot), touched.slot->loc);
  }
  for (const ModeChange &mode : trace.modes())
    if (mode.after)
      refuseEffect("sets the mode of a module", loc_);
  if (trace.madeState())
    refuseEffect("makes state of an optimiser", loc_);
}

/// Makes the function that the body is: its arguments are the carries, the rows, and the values from outside
/// that it reads.
void Scan::makeRegion(const std::vector<Ref> &results, const Trace &trace) {
  Region region;
  region.name = "body";
  region.isBody = true;
  if (const Trace *outer = Trace::current())
    region.symbols = outer->symbols;
  std::vector<Ref> leaves;
  collect(results, /*numbersAreConstants=*/true, region.nodes, leaves);
  for (const Ref &input : inputs_)
    region.arguments.push_back({input, ""});
  captured_.clear();
  for (const Trace::Capture &captured : trace.captures())
    if (std::find(leaves.begin(), leaves.end(), captured.input) != leaves.end()) {
      region.arguments.push_back({captured.input, ""});
      captured_.push_back(captured.slot);
    }
  results_.clear();
  for (size_t i = 0; i < results.size(); ++i) {
    region.results.push_back({results[i], ""});
    Spec spec = results[i].spec();
    if (i >= carry_.tensors.size())
      spec.shape.insert(spec.shape.begin(), length_);
    results_.push_back(std::move(spec));
  }
  mayFail_ =
      std::any_of(region.nodes.begin(), region.nodes.end(), [](const Node *node) { return mayFail(*node); });
  Expected<std::string> text = textOfBody(region);
  if (!text)
    fail(text.status(), loc_);
  body_ = std::move(*text);
}

FlatScan Scan::recordLoop() const {
  std::vector<Ref> operands = operands_;
  for (const std::shared_ptr<Slot> &slot : captured_)
    operands.push_back(useSlot(slot, loc_));
  const auto count = [](size_t n) { return static_cast<int64_t>(n); };
  const std::shared_ptr<Node> node = frontend::recordLoop(
      std::move(operands),
      {{"body", body_},
       {"length", length_},
       {"reverse", options_.reverse},
       {"may_fail", mayFail_},
       {"operandSegmentSizes", std::vector<int64_t>{count(carry_.tensors.size()), count(xs_.tensors.size()),
                                                    count(captured_.size())}}},
      results_, loc_);
  FlatScan made;
  made.carry.structure = carry_.structure;
  made.ys.structure = ysStructure_;
  for (uint32_t i = 0; i < results_.size(); ++i)
    (i < carry_.tensors.size() ? made.carry : made.ys).tensors.push_back(wrap({node, i}, loc_));
  return made;
}

} // namespace

FlatScan scanFlat(const FlatScanBody &body, const Flat &carry, const Flat &xs, int64_t length,
                  const ScanOptions &options, Loc loc) {
  return Scan(carry, xs, length, options, loc).record(body);
}

} // namespace weft::frontend
