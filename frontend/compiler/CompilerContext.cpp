//===- CompilerContext.cpp - Contexts of MLIR, one a thread ----------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiler/CompilerContext.h"

#include "ir/Dialect.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

using namespace mlir;

namespace weft::frontend {

static std::shared_ptr<MLIRContext> makeContext() {
  DialectRegistry registry;
  ir::registerDialect(registry);
  auto made = std::make_shared<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  made->loadDialect<ir::WeftDialect>();
  made->printOpOnDiagnostic(false);
  return made;
}

struct CompilerContext {
  std::shared_ptr<MLIRContext> mlir = makeContext();
  uint64_t weight = 0; ///< how much was built in it; see `weightOfInference`
  bool busy = false;   ///< guarded by the pool's mutex
};

namespace {

/// All contexts: one, unless threads compile at the same time.
struct ContextPool {
  std::mutex mutex;
  std::condition_variable released;
  std::vector<std::shared_ptr<CompilerContext>> contexts;
};

ContextPool &pool() {
  // Never destroyed: tensors in global variables may outlive every static object.
  static auto *made = new ContextPool;
  return *made;
}

/// The context that this thread uses, or null.
MLIRContext *&active() {
  thread_local MLIRContext *context = nullptr;
  return context;
}

} // namespace

ContextUse::ContextUse(uint64_t weight) {
  constexpr uint64_t most = 1 << 14; // some MiB
  const std::lock_guard lock(pool().mutex);
  auto &contexts = pool().contexts;
  std::erase_if(contexts, [](const auto &known) { return !known->busy && known->weight >= most; });
  const auto found = llvm::find_if(contexts, [](const auto &known) { return !known->busy; });
  if (found == contexts.end()) {
    context_ = std::make_shared<CompilerContext>();
    contexts.push_back(context_);
  } else {
    context_ = *found;
  }
  context_->weight += weight;
  begin();
}

ContextUse::ContextUse(std::shared_ptr<CompilerContext> context) : context_(std::move(context)) {
  std::unique_lock lock(pool().mutex);
  pool().released.wait(lock, [&] { return !context_->busy; });
  begin();
}

ContextUse::~ContextUse() {
  active() = previous_;
  const std::lock_guard lock(pool().mutex);
  context_->busy = false;
  pool().released.notify_all();
}

void ContextUse::begin() {
  context_->busy = true;
  previous_ = active();
  active() = context_->mlir.get();
}

MLIRContext &context() {
  assert(active() && "a ContextUse has to live");
  return *active();
}

} // namespace weft::frontend
