//===- Statistics.cpp - Statistics about passes ---------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "passes/Statistics.h"

#include "ir/Decisions.h"

#include "mlir/Pass/Pass.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace weft::passes {

// MLIR calls it from one thread at a time, even if passes run in parallel.
class PassStatistics::Instrumentation final : public PassInstrumentation {
public:
  explicit Instrumentation(PassStatistics &statistics) : statistics(statistics) {}

  void runBeforePass(Pass *pass, Operation *op) override {
    if (pass->getArgument().empty()) // runs other passes on the functions of a module
      return;
    Snapshot &before = running[{pass, op}];
    before = take(op);
    ++statistics.rowOf(pass->getArgument()).runs;
  }
  void runAfterPass(Pass *pass, Operation *op) override {
    auto found = running.find({pass, op});
    if (found == running.end())
      return;
    Snapshot before = std::move(found->second), after = take(op);
    running.erase(found);
    Row &row = statistics.rowOf(pass->getArgument());
    row.opsBefore += before.count;
    row.opsAfter += after.count;
    auto add = [](Counts &into, const Counts &counts, int64_t sign) {
      for (const auto &[name, count] : counts) {
        int64_t &sum = into[name];
        sum += sign * count;
        if (sum == 0)
          into.erase(name);
      }
    };
    add(row.ops, after.ops, 1);
    add(row.ops, before.ops, -1);
    add(row.decisions, after.decisions, 1);
    add(row.decisions, before.decisions, -1);
  }
  void runAfterPassFailed(Pass *pass, Operation *op) override { running.erase({pass, op}); }

private:
  struct Snapshot {
    int64_t count = 0;
    Counts ops, decisions;
  };
  static Snapshot take(Operation *op) {
    Snapshot made;
    op->walk([&](Operation *inner) {
      ++made.count;
      ++made.ops[inner->getName().getStringRef().str()];
      if (auto func = dyn_cast<ir::FuncOp>(inner))
        for (const ir::Decision &decision : ir::readDecisions(func))
          ++made.decisions[decision.code];
    });
    return made;
  }

  PassStatistics &statistics;
  std::map<std::pair<Pass *, Operation *>, Snapshot> running;
};

void PassStatistics::attach(PassManager &manager) {
  manager.addInstrumentation(std::make_unique<Instrumentation>(*this));
}

PassStatistics::Row &PassStatistics::rowOf(StringRef pass) {
  for (Row &row : rows)
    if (row.pass == pass)
      return row;
  rows.emplace_back().pass = pass.str();
  return rows.back();
}

std::string PassStatistics::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Row &row : rows) {
    os << llvm::left_justify(row.pass, 32) << llvm::format("%4lld", static_cast<long long>(row.runs))
       << (row.runs == 1 ? " run,  " : " runs, ") << row.opsBefore << " -> " << row.opsAfter << " ops";
    const char *separator = ": ";
    for (const auto &[name, count] : row.ops) {
      os << separator << name << (count > 0 ? " +" : " ") << count;
      separator = ", ";
    }
    separator = "; decisions: ";
    for (const auto &[code, count] : row.decisions) {
      os << separator << code << " " << count;
      separator = ", ";
    }
    os << "\n";
  }
  return text;
}

} // namespace weft::passes
