//===- ParametrizeSlices.cpp - One kernel for fusions of several slices ----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a sequence often differ only in the slice that they read. Where a slice begins is a constant
// of its kernel, so each step would be a kernel of its own. Here such slices become windows whose place is an
// operand: the fusions have equal bodies, and are compiled once.
//
//===----------------------------------------------------------------------===//
#include "ir/Dialect.h"
#include "passes/Passes.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace mlir;
using namespace weft::ir;

namespace weft::passes {
#define GEN_PASS_DEF_PARAMETRIZESLICES
#include "passes/Passes.h.inc"

namespace {

/// Fewer fusions are not worth another operand.
constexpr size_t fewestFusions = 4;

/// Where a slice begins; empty if that cannot be an operand: its step is not 1, or a size or its place is not
/// known.
SmallVector<int64_t> startOf(SliceOp slice) {
  if (isDynamic(slice.getType()) || isDynamic(slice.getA().getType()) ||
      llvm::any_of(slice.getStep(), [](int64_t step) { return step != 1; }) ||
      !llvm::all_of(slice.getStart(), [](const Size &start) { return start.isNumber(); }))
    return {};
  SmallVector<int64_t> start;
  for (const Size &size : slice.getStart())
    start.push_back(size.asNumber());
  return start;
}

/// A fusion, as what it has in common with others, and the starts of its slices in which it may differ.
struct Member {
  FusionOp fusion;
  SmallVector<SliceOp> slices;
  SmallVector<SmallVector<int64_t>> starts; ///< of each slice, for each dimension
};

/// What the ops of a block are, apart from where slices begin: names, attributes, types, and which values
/// they read. Two blocks with one key differ in the starts of their slices only.
class BodyKey {
public:
  using Key = std::vector<uintptr_t>;

  BodyKey(Member &member) : member(member) {
    addAttributes(member.fusion);
    addTypes(member.fusion->getResultTypes());
    add(member.fusion.getBody());
  }
  Key take() { return std::move(key); }

private:
  void add(Region &region) {
    for (Block &block : region) {
      key.push_back(block.getNumArguments());
      for (BlockArgument argument : block.getArguments())
        define(argument);
      for (Operation &op : block)
        add(op);
    }
  }
  void add(Operation &op) {
    auto slice = dyn_cast<SliceOp>(op);
    SmallVector<int64_t> start = slice ? startOf(slice) : SmallVector<int64_t>();
    key.push_back(reinterpret_cast<uintptr_t>(op.getName().getAsOpaquePointer()));
    if (start.empty()) {
      addAttributes(&op);
    } else {
      member.slices.push_back(slice);
      member.starts.push_back(std::move(start));
    }
    for (Value operand : op.getOperands())
      key.push_back(numbers.lookup(operand));
    addTypes(op.getResultTypes());
    for (Value result : op.getResults())
      define(result);
    for (Region &region : op.getRegions())
      add(region);
  }
  void addAttributes(Operation *op) {
    key.push_back(reinterpret_cast<uintptr_t>(op->getAttrDictionary().getAsOpaquePointer()));
  }
  void addTypes(TypeRange types) {
    key.push_back(types.size());
    for (Type type : types)
      key.push_back(reinterpret_cast<uintptr_t>(type.getAsOpaquePointer()));
  }
  void define(Value value) {
    numbers[value] = numbers.size() + 1;
    key.push_back(reinterpret_cast<uintptr_t>(value.getType().getAsOpaquePointer()));
  }

  Member &member;
  Key key;
  llvm::DenseMap<Value, uintptr_t> numbers;
};

/// The places of one fusion, each an operand of it.
class Places {
public:
  explicit Places(FusionOp fusion) : fusion(fusion), body(fusion.getBody().front()) {}

  /// Replaces a slice by a window. Dimension d begins at `start[d]`, which is an operand where `differs`.
  void replace(SliceOp slice, ArrayRef<int64_t> start, const llvm::SmallBitVector &differs) {
    OpBuilder builder(slice);
    SmallVector<Value> starts;
    for (auto [dim, place] : llvm::enumerate(start))
      starts.push_back(differs[dim] ? operandOf(place) : constant(builder, slice.getLoc(), place));
    slice.replaceAllUsesWith(
        builder.create<DynamicSliceOp>(slice.getLoc(), slice.getA(), starts, sizesOf(slice.getType()))
            .getResult());
    slice.erase();
  }

private:
  RankedTensorType scalar() {
    return RankedTensorType::get({}, IntegerType::get(fusion.getContext(), 64),
                                 deviceOf(fusion->getResult(0).getType()));
  }
  Value constant(OpBuilder &builder, Location loc, int64_t value) {
    const RankedTensorType type = scalar();
    return builder.create<ConstantOp>(loc, type, DenseElementsAttr::get(type, value));
  }
  Value operandOf(int64_t place) {
    OpBuilder builder(fusion);
    Value value = constant(builder, fusion.getLoc(), place);
    fusion->insertOperands(fusion->getNumOperands(), value);
    return body.addArgument(value.getType(), fusion.getLoc());
  }

  FusionOp fusion;
  Block &body;
};

struct ParametrizeSlices : impl::ParametrizeSlicesBase<ParametrizeSlices> {
  /// The fusions of a function by their keys, in the order of the program.
  static std::vector<std::vector<Member>> findGroups(FuncOp func) {
    std::map<BodyKey::Key, size_t> numbers;
    std::vector<std::vector<Member>> groups;
    for (FusionOp fusion : func.getBody().front().getOps<FusionOp>()) {
      // What other kinds of kernels read is laid out by their schedules.
      if (fusion.getKind() != FusionKind::loop)
        continue;
      Member member{fusion, {}, {}};
      BodyKey key(member);
      if (member.slices.empty())
        continue;
      auto [at, isNew] = numbers.try_emplace(key.take(), groups.size());
      if (isNew)
        groups.emplace_back();
      groups[at->second].push_back(std::move(member));
    }
    return groups;
  }

  /// Makes operands of the starts in which the members differ. Returns false if they do not.
  static bool parametrize(std::vector<Member> &group) {
    const Member &first = group.front();
    std::vector<llvm::SmallBitVector> differs;
    bool any = false;
    for (size_t s = 0; s < first.slices.size(); ++s) {
      llvm::SmallBitVector &dims = differs.emplace_back(first.starts[s].size());
      for (size_t dim = 0; dim < dims.size(); ++dim)
        dims[dim] = llvm::any_of(
            group, [&](const Member &member) { return member.starts[s][dim] != first.starts[s][dim]; });
      any |= dims.any();
    }
    if (!any)
      return false;
    for (Member &member : group) {
      Places places(member.fusion);
      for (auto [s, slice] : llvm::enumerate(member.slices))
        if (differs[s].any())
          places.replace(slice, member.starts[s], differs[s]);
    }
    return true;
  }

  void runOnOperation() override {
    FuncOp func = getOperation();
    bool changed = false;
    if (!func.isExternal())
      for (std::vector<Member> &group : findGroups(func))
        changed |= group.size() >= fewestFusions && parametrize(group);
    if (!changed)
      markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace weft::passes
