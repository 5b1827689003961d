//===- FusionGraph.h - Ops gathered into kernels --------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that fusion works on. A node is an op that computes; views and cheap generators (broadcast,
// transpose, slice, pad, reverse, reshape, iota, splats) are no nodes but ways of reading a value, unless
// something that is no kernel of ours needs them in memory. A group is a set of nodes that becomes one
// kernel. It starts as one node and grows by merging, small into large, so that a chain of any length takes
// near-linear time.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_FUSION_FUSIONGRAPH_H
#define WEFT_PASSES_FUSION_FUSIONGRAPH_H

#include "ir/Target.h"
#include "passes/fusion/FusionCost.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>
#include <string>
#include <vector>

namespace weft::passes {

/// How a value is read through views.
enum class ReadKind : uint8_t {
  same,      ///< at the reader's own linear index, perhaps under another shape
  broadcast, ///< through one broadcast
  mapped,    ///< through some other index map
  gathered,  ///< the table of a gather that picks one element a row
  stored     ///< only from memory
};

/// What a value is, seen through the views above it.
struct ReadPath {
  mlir::Value source; ///< null for constants and iota
  ReadKind kind = ReadKind::same;
  ir::BroadcastInDimOp broadcast; ///< for ReadKind::broadcast
};

/// Where in a kernel a value lives: at every point of the domain, or once for what the reductions leave.
enum class Place : uint8_t { domain, kept };

struct FusionEdge {
  unsigned from, to; ///< nodes
  unsigned value;    ///< of `from`
  unsigned operand;  ///< of `to`
  ReadKind kind;
  ir::BroadcastInDimOp broadcast;
};

struct FusionNode {
  mlir::Operation *op;
  unsigned group;
  Place place = Place::domain;
};

struct FusionGroup {
  bool alive = true;
  bool opaque = false;    ///< an op that is no kernel of ours: it takes part in the order only
  bool inlined = false;   ///< computed inside of each reader instead of on its own
  bool pinned = false;    ///< holds an op whose meaning depends on its shape
  bool rowGather = false; ///< pinned by gathers only that pick one element a row
  bool joins = false;     ///< holds a concat, which is computed part by part
  ir::FusionKind kind = ir::FusionKind::loop;
  ir::DeviceAttr device;
  const ir::TargetDescription *target = nullptr; ///< that of the device; null of an opaque group
  llvm::SmallVector<ir::Size> domain;
  ReducedDims reduced;
  unsigned reductions = 0, version = 0, outputs = 0;
  int64_t flops = 0, readBytes = 0, writtenBytes = 0;
  unsigned lastNode = 0;
  unsigned rank = 0; ///< edges lead to groups of a higher rank, so that groups are in order at every time
  std::vector<unsigned> nodes, in, out;
  size_t tidyAt = 64; ///< edges from which those inside of the group are dropped from `in` and `out`
  llvm::DenseMap<unsigned, unsigned> inputs; ///< values read from outside, and by how many edges
  /// The dimensions of the domain that its reductions leave.
  llvm::SmallVector<int64_t> keptDims() const;
  llvm::SmallVector<ir::Size> keptShape() const;
};

/// Why two groups stay two.
struct FusionRefusal {
  llvm::StringRef code;
  std::string message;
};

/// What two groups cost as two kernels and as one, by the cost model.
struct FusionPrice {
  int64_t apartPs = 0, togetherPs = 0; ///< launches included
  int64_t apartBytes = 0, togetherBytes = 0;
  int64_t operands = 0; ///< and results, of the one kernel
  int64_t saved() const { return apartPs - togetherPs; }
  /// "2 kernels take 8200 ns and move 65536 bytes, one would take .."
  std::string text() const;
};

/// What two groups become.
struct FusionMerge {
  ir::FusionKind kind;
  llvm::SmallVector<ir::Size> domain;
  ReducedDims reduced;
  Place placeA, placeB; ///< of a group that was a loop
  int64_t saved;
};

/// The groups of one function, and what they may become. Nodes, groups and values have numbers; a group that
/// was merged into another is not alive, and its number stays. The function itself is changed by
/// emitFusions() only.
class FusionGraph {
public:
  /// Each op that computes is a group of its own. The target, which outlives the graph, describes the device
  /// of each.
  FusionGraph(ir::FuncOp func, const ir::Target &target);

  /// \name The graph as it is
  /// @{
  ir::FuncOp getFunction() const { return func; }
  llvm::ArrayRef<FusionNode> getNodes() const { return nodes; }
  llvm::ArrayRef<FusionEdge> getEdges() const { return edges; }
  llvm::ArrayRef<FusionGroup> getGroups() const { return groups; }
  size_t getNumValues() const { return values.size(); }
  /// The number of a value that some node reads or makes.
  unsigned numberOf(mlir::Value value) const { return valueOf.lookup(value); }
  bool isNode(mlir::Operation *op) const { return nodeOf.count(op); }
  /// Whether the op is a group that is no kernel of ours, and stays as it is.
  bool isOpaque(mlir::Operation *op) const;
  /// The group of a value's op, or -1.
  int64_t groupOf(mlir::Value value) const;
  /// Where an op of the function stands among the others.
  unsigned positionOf(mlir::Operation *op) const { return orderOf.lookup(op); }
  /// Whether the kernel that makes a value has to write it to memory.
  bool isStored(mlir::Value value) const { return isStored(values[numberOf(value)]); }
  /// What a group's kernel reads, writes and computes.
  KernelWork workOf(const FusionGroup &group) const;
  /// @}

  /// \name How values are read
  /// @{
  ReadPath pathOf(mlir::Value value);
  /// What something that reads memory reads: the value itself, or what it is a reshape of.
  mlir::Value memoryOf(mlir::Value value);
  /// Whether an op is read through rather than computed.
  static bool isView(mlir::Operation *op);
  static bool isReduction(mlir::Operation *op);
  /// Whether an op picks one element of each row of its table.
  static bool isRowGather(mlir::Operation *op);
  /// @}

  /// \name What may become of two groups
  /// @{
  /// Whether groups `a` and `b` may become one, and what that saves.
  std::optional<FusionMerge> evaluate(unsigned a, unsigned b, FusionRefusal &refusal);
  /// What a refusal costs. Where the two cannot be one kernel it is that of one with as many tasks as the
  /// larger.
  FusionPrice priceOf(unsigned a, unsigned b) const;
  /// Makes them one, and returns which of the two numbers remains. `merged` is what evaluate() gave for them
  /// as they are now.
  unsigned merge(unsigned a, unsigned b, const FusionMerge &merged);
  /// What computing loop group `a` inside of every reader saves, or why that cannot be.
  std::optional<int64_t> evaluateInlining(unsigned a, FusionRefusal &refusal);
  /// Lets every reader compute loop group `a`, which then has no kernel of its own.
  void inlineIntoReaders(unsigned a) { groups[a].inlined = true; }
  /// @}

private:
  /// A value that a kernel may read or write.
  struct FusionValue {
    mlir::Value value;
    int64_t node = -1; ///< the node that makes it; none for arguments
    int64_t bytes = 0;
    unsigned reads = 0;   ///< edges that leave it
    unsigned inner = 0;   ///< of these, edges to the group that makes it
    bool escapes = false; ///< something that is no group reads it
  };

  /// \name Construction
  /// @{
  /// Notes the views that have to be in memory, of the ops in the order of the text.
  void findMaterialized(llvm::ArrayRef<mlir::Operation *> ops);
  void addNode(mlir::Operation &op, bool opaque);
  void addEdges(unsigned node);
  unsigned internValue(mlir::Value value);
  /// @}

  static bool isStored(const FusionValue &value) { return value.escapes || value.inner < value.reads; }
  int64_t tasksOf(const FusionGroup &group, ir::FusionKind kind, llvm::ArrayRef<ir::Size> domain,
                  ReducedDims reduced) const {
    return kernelTasks(*group.target, kind, ranges.largest(domain), reduced);
  }
  /// Bytes or operations as the model counts them: so few that those of all values can be added.
  int64_t costOf(ir::Size size) const { return std::min(ranges.largest(size), int64_t(1) << 44); }
  llvm::SmallVector<unsigned> edgesBetween(unsigned a, unsigned b) const;
  FusionPrice price(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between, int64_t tasks) const;

  /// \name Legality
  /// @{
  bool placesAgree(const FusionEdge &edge, const FusionMerge &merged, unsigned a, unsigned b,
                   FusionRefusal &refusal) const;
  /// What `a` and `b` become by their kinds and domains, which the edges `between` connect.
  std::optional<FusionMerge> combine(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                     FusionRefusal &refusal) const;
  std::optional<FusionMerge> combineLoops(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                          FusionRefusal &refusal) const;
  /// Of a scan and a loop.
  std::optional<FusionMerge> combineScan(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                         FusionRefusal &refusal) const;
  std::optional<FusionMerge> combineReductions(unsigned a, unsigned b, FusionRefusal &refusal) const;
  /// Of a loop and reductions along rows or columns.
  std::optional<FusionMerge> combineLoopAndReduction(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                                     FusionRefusal &refusal) const;
  /// The place that a loop takes beside the reductions of `anchor`, by what connects the two.
  Place placeOfLoop(unsigned loop, const FusionGroup &anchor, llvm::ArrayRef<unsigned> between) const;
  /// The groups between `a` and `b` that come after `a`, and those that come before `b`; false if one is
  /// both, or if finding out takes too long.
  bool separate(unsigned a, unsigned b, llvm::SmallVectorImpl<unsigned> &after,
                llvm::SmallVectorImpl<unsigned> &before);
  /// @}

  /// \name Merging
  /// @{
  /// Gives `a` and `b` one rank, between those of what comes before and after them.
  void joinRanks(unsigned a, unsigned b);
  /// What the edges between `a` and `b` carry is no longer read from memory by them.
  void absorbEdges(unsigned a, unsigned b);
  /// Adds the nodes, edges and inputs of `from` to `into`.
  void addMembers(unsigned into, unsigned from);
  /// @}

  ir::FuncOp func;
  const ir::Target &target;
  /// Dynamic sizes count at their largest: that is where time is saved or lost.
  ir::SymbolRanges ranges;
  std::vector<FusionNode> nodes;
  std::vector<FusionGroup> groups;
  std::vector<FusionEdge> edges;
  std::vector<FusionValue> values;
  llvm::DenseMap<mlir::Value, unsigned> valueOf;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  llvm::DenseMap<mlir::Operation *, unsigned> orderOf; ///< position of every op of the function
  llvm::DenseMap<mlir::Value, ReadPath> paths;
  llvm::DenseMap<mlir::Operation *, bool> materialized; ///< views that are in memory
  std::vector<unsigned> visited;                        ///< by group: the search that saw it last
  unsigned visit = 0;
};

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONGRAPH_H
