//===- MergeSumsOfContractions.cpp - Contractions whose results are added --===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a weight that every step of a sequence uses is a chain of products: each has the one before
// as its residual, so that all of the result is read and written in every step. One launch computes a part of
// the result over all steps, while it is in a thread's caches.
//
// Memory: the operands of all products live until the last one, and no result in between exists. A chain is
// merged only if the sum of all temporaries that are alive at one time, as they are made and read in the
// order of the text, has no larger maximum than before.
//
//===----------------------------------------------------------------------===//
#include "ir/Contraction.h"
#include "ir/Decisions.h"
#include "passes/Passes.h"
#include "passes/launch/LaunchGraph.h"
#include "passes/launch/LaunchStorage.h"

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_MERGESUMSOFCONTRACTIONS
#include "passes/Passes.h.inc"

namespace {

/// Longer sums cost more than their results do, and have a library's best kernel.
constexpr int64_t longestSum = 384;
/// Each trial of a chain looks at all temporaries once.
constexpr size_t mostTrials = 64;

using Chain = SmallVector<DotGeneralOp>;

/// The temporaries of a function, and when each is alive.
class Lifetimes {
public:
  Lifetimes(const LaunchGraph &graph, FuncOp func);

  /// The largest sum of temporaries that are alive at one time.
  int64_t peak() const;
  /// Makes the change that merging `chain` is. Returns what `restore` takes.
  std::vector<std::pair<size_t, unsigned>> merge(const Chain &chain);
  void restore(const std::vector<std::pair<size_t, unsigned>> &before);

private:
  struct Temporary {
    int64_t bytes;
    unsigned made, last; ///< the ops that make it and read it last; none is alive if last is before made
  };
  const LaunchGraph &graph;
  std::vector<Temporary> temporaries;
  llvm::DenseMap<Value, size_t> number; // by the head of its storage
};

Lifetimes::Lifetimes(const LaunchGraph &graph, FuncOp func) : graph(graph) {
  SymbolRanges ranges = rangesOf(func);
  const llvm::DenseSet<Value> returned = returnedHeads(func);
  StorageHeads heads;
  for (auto [i, op] : llvm::enumerate(graph.ops)) {
    if (graph.isFree(static_cast<unsigned>(i)))
      continue;
    for (Value operand : op->getOperands())
      if (auto it = number.find(heads.of(operand)); it != number.end())
        temporaries[it->second].last = static_cast<unsigned>(i);
    for (Value result : op->getResults()) {
      std::optional<int64_t> bytes = temporaryBytes(result, heads, returned, ranges);
      if (!bytes)
        continue;
      number[result] = temporaries.size();
      temporaries.push_back({*bytes, static_cast<unsigned>(i), static_cast<unsigned>(i)});
    }
  }
}

int64_t Lifetimes::peak() const {
  std::vector<int64_t> change(graph.ops.size() + 1);
  for (const Temporary &temporary : temporaries)
    if (temporary.made <= temporary.last) {
      change[temporary.made] += temporary.bytes;
      change[temporary.last + 1] -= temporary.bytes;
    }
  int64_t alive = 0, most = 0;
  for (int64_t bytes : change)
    most = std::max(most, alive += bytes);
  return most;
}

std::vector<std::pair<size_t, unsigned>> Lifetimes::merge(const Chain &chain) {
  std::vector<std::pair<size_t, unsigned>> before;
  const unsigned end = graph.number.lookup(chain.back());
  auto extend = [&](Value value) {
    if (auto it = number.find(storageHead(value)); it != number.end()) {
      before.push_back({it->second, temporaries[it->second].last});
      temporaries[it->second].last = std::max(temporaries[it->second].last, end);
    }
  };
  for (DotGeneralOp dot : chain) {
    extend(dot.getA());
    extend(dot.getB());
    if (dot == chain.front() && dot.getResidual())
      extend(dot.getResidual());
    if (auto it = number.find(dot.getResult()); it != number.end() && dot != chain.back()) {
      Temporary &result = temporaries[it->second];
      before.push_back({it->second, result.last});
      result.last = result.made ? result.made - 1 : 0;
    }
  }
  return before;
}

void Lifetimes::restore(const std::vector<std::pair<size_t, unsigned>> &before) {
  for (auto [temporary, last] : llvm::reverse(before))
    temporaries[temporary].last = last;
}

/// Whether one product may be one of several that are added. A sum of f64 has no kernel that adds while it
/// multiplies, and would be slower than products with residuals.
bool isTerm(DotGeneralOp dot) {
  return dot.getType().getElementType().isF32() && deviceOf(dot.getType()).isCpu() && !dot.getBias() &&
         !dot.getRelu() && dot.getMore().empty();
}

bool areAlike(DotGeneralOp a, DotGeneralOp b) {
  return a.getA().getType() == b.getA().getType() && a.getB().getType() == b.getB().getType() &&
         a.getBatchA() == b.getBatchA() && a.getBatchB() == b.getBatchB() &&
         a.getContractA() == b.getContractA() && a.getContractB() == b.getContractB() &&
         a.getLibraryAttr() == b.getLibraryAttr();
}

struct MergeSumsOfContractions : impl::MergeSumsOfContractionsBase<MergeSumsOfContractions> {
  using MergeSumsOfContractionsBase::MergeSumsOfContractionsBase;
  std::vector<Decision> decisions;

  /// Chains of at least two products, each with the next as the only reader of its result.
  std::vector<Chain> findChains(FuncOp func) {
    std::vector<Chain> chains;
    llvm::DenseMap<Operation *, size_t> endsIn;
    for (DotGeneralOp dot : func.getBody().front().getOps<DotGeneralOp>()) {
      if (!isTerm(dot))
        continue;
      auto before = dot.getResidual() ? dot.getResidual().getDefiningOp<DotGeneralOp>() : DotGeneralOp();
      auto it = before && before->hasOneUse() ? endsIn.find(before) : endsIn.end();
      size_t chain = it != endsIn.end() && areAlike(before, dot) ? it->second : chains.size();
      if (chain == chains.size())
        chains.emplace_back();
      chains[chain].push_back(dot);
      endsIn[dot] = chain;
    }
    llvm::erase_if(chains, [](const Chain &chain) { return chain.size() < 2; });
    return chains;
  }

  /// Why a chain stays; empty if nothing but memory may be against it.
  static std::string whyNot(const Chain &chain, const LaunchGraph &graph, const SymbolRanges &ranges) {
    std::optional<ContractionShape> shape = getContractionShape(chain.front());
    if (!shape)
      return "an operand has to be transposed first";
    if (int64_t k = ranges.largest(shape->k); k > longestSum)
      return "each is a sum of " + std::string(shape->k.isSymbolic() ? "up to " : "") + std::to_string(k) +
             " products, beside which the results in between cost little";
    // Besides values, the graph has the order of readers of storage and those who overwrite it.
    const unsigned end = graph.number.lookup(chain.back());
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      Operation *reader = chain[i + 1];
      for (unsigned later : graph.next[graph.number.lookup(chain[i])])
        if (graph.ops[later] != reader && later <= end)
          return "an operand is overwritten before the last of them";
    }
    return {};
  }

  void refuse(const Chain &chain, const std::string &why) {
    if (report)
      decisions.push_back({"WEFT-F010", locationText(chain.back()->getLoc()), "weft.dot_general",
                           "weft.dot_general", 0,
                           amountText(chain.size(), "product") + " that are added stay launches: " + why});
  }

  static void merge(const Chain &chain) {
    DotGeneralOp first = chain.front(), last = chain.back();
    SmallVector<Value> more;
    SmallVector<Location> locations;
    for (DotGeneralOp dot : chain) {
      locations.push_back(dot.getLoc());
      if (dot != first)
        more.append({dot.getA(), dot.getB()});
    }
    OpBuilder builder(last);
    Location loc = FusedLoc::get(builder.getContext(), locations);
    auto sum = builder.create<DotGeneralOp>(loc, first.getA(), first.getB(), Value(), first.getBatchA(),
                                            first.getBatchB(), first.getContractA(), first.getContractB(),
                                            false, first.getResidual(), first.getLibraryAttr(), more);
    last.getResult().replaceAllUsesWith(sum.getResult());
    for (DotGeneralOp dot : llvm::reverse(chain))
      dot->erase();
  }

  void runOnOperation() override {
    FuncOp func = getOperation();
    decisions.clear();
    std::vector<Chain> chains = func.isExternal() ? std::vector<Chain>() : findChains(func);
    if (chains.empty())
      return markAllAnalysesPreserved();
    SymbolRanges ranges = rangesOf(func);
    LaunchGraph graph(func);
    Lifetimes lifetimes(graph, func);
    int64_t peak = lifetimes.peak();
    size_t trials = 0;
    std::vector<const Chain *> merged;
    for (const Chain &chain : chains) {
      if (std::string why = whyNot(chain, graph, ranges); !why.empty()) {
        refuse(chain, why);
        continue;
      }
      if (++trials > mostTrials) {
        refuse(chain, "the function has more such chains than are looked at");
        continue;
      }
      std::vector<std::pair<size_t, unsigned>> before = lifetimes.merge(chain);
      if (int64_t after = lifetimes.peak(); after > peak) {
        lifetimes.restore(before);
        refuse(chain, "the operands of one launch would have to live longer: " + std::to_string(after) +
                          " bytes of temporaries at one time instead of " + std::to_string(peak));
        continue;
      }
      peak = lifetimes.peak();
      merged.push_back(&chain);
    }
    for (const Chain *chain : merged) {
      if (report)
        decisions.push_back({"merged", locationText(chain->back()->getLoc()), "weft.dot_general",
                             "weft.dot_general", 0,
                             amountText(chain->size(), "product") + " that are added are one launch"});
      merge(*chain);
    }
    recordDecisions(func, decisions);
  }
};

} // namespace
} // namespace weft::passes
