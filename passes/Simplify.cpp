//===- Simplify.cpp - Algebra that keeps every value ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ir/Decisions.h"
#include "ir/FunctionAttributes.h"
#include "passes/Passes.h"
#include "passes/simplify/Rules.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"
#include <map>

using namespace mlir;

namespace weft::passes {
#define GEN_PASS_DEF_SIMPLIFY
#include "passes/Passes.h.inc"

namespace {

/// How often a rule was applied.
struct Applied {
  int64_t count = 0;
  /// For rules that change bits within a bound: the count per source line, in the order of the rewrites.
  llvm::MapVector<std::string, int64_t, std::map<std::string, unsigned>> byLine;
};

/// A rule of the table as a pattern that counts its applications.
struct RulePattern : RewritePattern {
  RulePattern(MLIRContext *context, const Rule &rule, Applied &applied)
      : RewritePattern(MatchAnyOpTypeTag(), 1, context), rule(rule), applied(applied) {
    setDebugName(rule.name);
  }

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override {
    if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
      return failure();
    Value value = rule.apply(op, rewriter);
    if (!value)
      return failure();
    if (rule.exactness == Exactness::bounded)
      ++applied.byLine[ir::locationText(op->getLoc())];
    rewriter.replaceOp(op, value);
    ++applied.count;
    return success();
  }

  const Rule &rule;
  Applied &applied;
};

struct Simplify : impl::SimplifyBase<Simplify> {
  using SimplifyBase::SimplifyBase;

  void runOnOperation() override {
    ir::FuncOp function = getOperation();
    SmallVector<const Rule *> rules;
    for (ArrayRef<Rule> table :
         {getAlgebraRules(), getContractionRules(), getIndexingRules(), getReductionRules(), getShapeRules()})
      for (const Rule &rule : table)
        rules.push_back(&rule);
    if (!disable.empty() &&
        llvm::none_of(rules, [&](const Rule *rule) { return rule->name == disable.getValue(); })) {
      function.emitError() << "there is no rule '" << disable << "' to disable in --weft-simplify";
      return signalPassFailure();
    }

    bool fast = ir::hasFastNumerics(function);
    if (fast)
      for (const Rule &rule : getFastRules())
        rules.push_back(&rule);

    std::vector<Applied> applied(rules.size());
    RewritePatternSet patterns(&getContext());
    for (auto [rule, what] : llvm::zip(rules, applied))
      if (rule->name != disable.getValue())
        patterns.add(std::make_unique<RulePattern>(&getContext(), *rule, what));

    GreedyRewriteConfig config;
    config.useTopDownTraversal = true;
    config.enableRegionSimplification = GreedySimplifyRegionLevel::Disabled;
    config.maxIterations = maxIterations;
    bool changed = false;
    if (failed(applyPatternsAndFoldGreedily(function, std::move(patterns), config, &changed))) {
      function.emitError() << "the pattern set 'weft-simplify' still changes @" << function.getName()
                           << " after " << maxIterations.getValue() << " rounds; please report the program";
      return signalPassFailure();
    }
    static constexpr StringLiteral classes[] = {"bit-exact", "value-exact", "bounded"};
    std::vector<ir::Decision> decisions;
    for (auto [rule, what] : llvm::zip(rules, applied)) {
      if (printRules && what.count)
        function.emitRemark() << "rule " << rule->name << " ("
                              << classes[static_cast<size_t>(rule->exactness)] << ") applied "
                              << ir::amountText(what.count, "time");
      // Rewrites that change bits are always reported.
      for (const auto &[line, count] : what.byLine)
        decisions.push_back(
            {"WEFT-N008", line, rule->name.str(), "", 0,
             ir::amountText(count, "division") + " by a constant became a multiplication by its reciprocal"});
    }
    // All at once, because each call makes a new list, which the context keeps.
    ir::recordDecisions(function, decisions);
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
