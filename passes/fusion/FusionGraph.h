//===- FusionGraph.h - The graph that fusion works on -----------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The graph that fusion works on. A node is an op that computes. Views and cheap generators (broadcast,
// transpose, slice, pad, reverse, reshape, iota, splats) have no node, unless an op that is not fused needs
// them in memory; otherwise each reader computes them as an index map. A group is a set of nodes that becomes
// one kernel. It starts with one node and grows by merging. The smaller group is merged into the larger, so
// that a chain of any length takes near-linear time.
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
  same,      ///< at the reader's own linear index; the shapes may differ
  broadcast, ///< through one broadcast
  mapped,    ///< through some other index map
  gathered,  ///< as the table of a gather that takes one element of each row
  stored     ///< from memory, so another kernel must have written it
};

/// The value that a read through views leads to.
struct ReadPath {
  mlir::Value source; ///< null if the views lead to a constant or iota
  ReadKind kind = ReadKind::same;
  ir::BroadcastInDimOp broadcast; ///< for ReadKind::broadcast
};

/// The indices at which a kernel computes a value: those of the domain, or those of the kept dimensions,
/// which its reductions do not remove.
enum class Place : uint8_t { domain, kept };

struct FusionEdge {
  unsigned from, to; ///< nodes
  unsigned value;    ///< number of a result of `from`
  unsigned operand;  ///< operand number in `to`
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
  bool opaque = false;    ///< an op that is not fused; it only takes part in the order
  bool inlined = false;   ///< computed by each of its readers instead of a kernel of its own
  bool pinned = false;    ///< holds an op whose meaning depends on its shape
  bool rowGather = false; ///< pinned only by gathers that take one element of each row
  bool joins = false;     ///< holds a concat, which is computed part by part
  ir::FusionKind kind = ir::FusionKind::loop;
  ir::DeviceAttr device;
  const ir::TargetDescription *target = nullptr; ///< the device's; null for an opaque group
  llvm::SmallVector<ir::Size> domain;
  ReducedDims reduced;
  unsigned reductions = 0, version = 0, outputs = 0;
  unsigned wide = 0; ///< ops with a result in f64
  int64_t flops = 0, readBytes = 0, writtenBytes = 0;
  unsigned lastNode = 0;
  unsigned rank = 0; ///< every edge leads to a group of higher rank: ranks are a topological order
  std::vector<unsigned> nodes, in, out;
  size_t tidyAt = 64; ///< above this many edges, those inside of the group are removed from `in` and `out`
  llvm::DenseMap<unsigned, unsigned> inputs; ///< values of other groups that it reads, and by how many edges
  /// The dimensions of the domain that the reductions do not remove, and their sizes.
  llvm::SmallVector<int64_t> keptDims() const;
  llvm::SmallVector<ir::Size> keptShape() const;
};

/// Why two groups are not merged.
struct FusionRefusal {
  llvm::StringRef code;
  std::string message;
};

/// The cost of two groups as two kernels and as one, by the cost model.
struct FusionPrice {
  int64_t apartPs = 0, togetherPs = 0; ///< launches included
  int64_t apartBytes = 0, togetherBytes = 0;
  int64_t operands = 0; ///< operands and results of the one kernel
  int64_t saved() const { return apartPs - togetherPs; }
  /// "2 kernels take 8200 ns and move 65536 bytes, one would take .."
  std::string text() const;
};

/// The kernel that two groups are merged into.
struct FusionMerge {
  ir::FusionKind kind;
  llvm::SmallVector<ir::Size> domain;
  ReducedDims reduced;
  Place placeA, placeB; ///< the place that the nodes of each group take, if it was a loop
  int64_t saved;
};

/// The groups of one function, and the rules by which they are merged. Nodes, groups and values have numbers.
/// A group that was merged into another is not alive, and its number is not used again. Only emitFusions()
/// changes the function itself.
class FusionGraph {
public:
  /// Makes a group of each op that computes. The target describes the devices of the function, and outlives
  /// the graph.
  FusionGraph(ir::FuncOp func, const ir::Target &target);

  /// \name Nodes, edges, groups
  /// @{
  ir::FuncOp getFunction() const { return func; }
  llvm::ArrayRef<FusionNode> getNodes() const { return nodes; }
  llvm::ArrayRef<FusionEdge> getEdges() const { return edges; }
  llvm::ArrayRef<FusionGroup> getGroups() const { return groups; }
  size_t getNumValues() const { return values.size(); }
  /// The number of a value that some node reads or computes.
  unsigned numberOf(mlir::Value value) const { return valueOf.lookup(value); }
  bool isNode(mlir::Operation *op) const { return nodeOf.count(op); }
  /// Whether the op is not fused.
  bool isOpaque(mlir::Operation *op) const;
  /// The group of a value's op, or -1.
  int64_t groupOf(mlir::Value value) const;
  /// The position of an op in the function.
  unsigned positionOf(mlir::Operation *op) const { return orderOf.lookup(op); }
  /// Whether the kernel that computes a value has to write it to memory.
  bool isStored(mlir::Value value) const { return isStored(values[numberOf(value)]); }
  /// The work of a group's kernel.
  KernelWork workOf(const FusionGroup &group) const;
  /// @}

  /// \name How values are read
  /// @{
  ReadPath pathOf(mlir::Value value);
  /// The value in memory that a reader of memory uses: the value itself, or the operand of its reshapes.
  mlir::Value memoryOf(mlir::Value value);
  /// Whether an op is a view or a cheap generator, which readers compute as an index map.
  static bool isView(mlir::Operation *op);
  static bool isReduction(mlir::Operation *op);
  /// Whether an op is a gather that takes one element of each row of its table.
  static bool isRowGather(mlir::Operation *op);
  /// @}

  /// \name Merging two groups
  /// @{
  /// The kernel of groups `a` and `b`, and the time that merging them saves. None if they must not be merged;
  /// then `refusal` says why.
  std::optional<FusionMerge> evaluate(unsigned a, unsigned b, FusionRefusal &refusal);
  /// The price of two groups that were refused. If they cannot be one kernel, the price assumes a kernel with
  /// as many tasks as the larger number of the two.
  FusionPrice priceOf(unsigned a, unsigned b) const;
  /// Merges `a` and `b`, and returns which of the two numbers remains. `merged` is the result of evaluate()
  /// for their current state.
  unsigned merge(unsigned a, unsigned b, const FusionMerge &merged);
  /// The time that is saved if every reader computes loop group `a` itself. None if that is not possible or
  /// costs time; then `refusal` says why.
  std::optional<int64_t> evaluateInlining(unsigned a, FusionRefusal &refusal);
  /// Makes every reader compute loop group `a`, which then has no kernel of its own.
  void inlineIntoReaders(unsigned a) { groups[a].inlined = true; }
  /// @}

private:
  /// A value that a kernel may read or write.
  struct FusionValue {
    mlir::Value value;
    int64_t node = -1; ///< the node that computes it; -1 for arguments
    int64_t bytes = 0;
    unsigned reads = 0;   ///< edges that read it
    unsigned inner = 0;   ///< those of them within the group that computes it
    bool escapes = false; ///< whether an opaque op reads it
  };

  /// \name Construction
  /// @{
  /// Fills `materialized`. `ops` are all ops in the order of the text.
  void findMaterialized(llvm::ArrayRef<mlir::Operation *> ops);
  void addNode(mlir::Operation &op, bool opaque);
  void addEdges(unsigned node);
  unsigned internValue(mlir::Value value);
  /// @}

  static bool isStored(const FusionValue &value) { return value.escapes || value.inner < value.reads; }
  int64_t tasksOf(const FusionGroup &group, ir::FusionKind kind, llvm::ArrayRef<ir::Size> domain,
                  const ReducedDims &reduced) const {
    return kernelTasks(*group.target, kind, ranges.largest(domain), reduced);
  }
  /// Bytes or operations at the largest sizes. The limit keeps sums over all values from overflow.
  int64_t costOf(ir::Size size) const { return std::min(ranges.largest(size), int64_t(1) << 44); }
  llvm::SmallVector<unsigned> edgesBetween(unsigned a, unsigned b) const;
  FusionPrice price(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between, int64_t tasks) const;

  /// \name Legality
  /// @{
  bool placesAgree(const FusionEdge &edge, const FusionMerge &merged, unsigned a, unsigned b,
                   FusionRefusal &refusal) const;
  /// The kernel that `a` and `b` form by their kinds and domains. `between`: the edges that connect them.
  std::optional<FusionMerge> combine(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                     FusionRefusal &refusal) const;
  std::optional<FusionMerge> combineLoops(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                          FusionRefusal &refusal) const;
  /// combine() for a scan and a loop.
  std::optional<FusionMerge> combineScan(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                         FusionRefusal &refusal) const;
  std::optional<FusionMerge> combineReductions(unsigned a, unsigned b, FusionRefusal &refusal) const;
  /// combine() for a loop and reductions along rows or columns.
  std::optional<FusionMerge> combineLoopAndReduction(unsigned a, unsigned b, llvm::ArrayRef<unsigned> between,
                                                     FusionRefusal &refusal) const;
  /// The place that the nodes of a loop take in the kernel of `anchor`, by the edges that connect the two.
  Place placeOfLoop(unsigned loop, const FusionGroup &anchor, llvm::ArrayRef<unsigned> between) const;
  /// Finds the groups ranked between `a` and `b` that depend on `a`, and those that `b` depends on. Returns
  /// false if a group is both, or if the search exceeds a limit.
  bool separate(unsigned a, unsigned b, llvm::SmallVectorImpl<unsigned> &after,
                llvm::SmallVectorImpl<unsigned> &before);
  /// @}

  /// \name Merging
  /// @{
  /// Gives `a` and `b` one rank, between the groups that come before and after them.
  void joinRanks(unsigned a, unsigned b);
  /// Removes from reads and writes of memory the values that edges between `a` and `b` carry.
  void absorbEdges(unsigned a, unsigned b);
  /// Adds the nodes, edges and inputs of `from` to `into`.
  void addMembers(unsigned into, unsigned from);
  /// @}

  ir::FuncOp func;
  const ir::Target &target;
  /// Dynamic sizes are counted at their largest, where most time is saved or lost.
  ir::SymbolRanges ranges;
  std::vector<FusionNode> nodes;
  std::vector<FusionGroup> groups;
  std::vector<FusionEdge> edges;
  std::vector<FusionValue> values;
  llvm::DenseMap<mlir::Value, unsigned> valueOf;
  llvm::DenseMap<mlir::Operation *, unsigned> nodeOf;
  llvm::DenseMap<mlir::Operation *, unsigned> orderOf; ///< position of every op of the function
  llvm::DenseMap<mlir::Value, ReadPath> paths;
  llvm::DenseMap<mlir::Operation *, bool> materialized; ///< views that must be in memory
  std::vector<unsigned> visited;                        ///< for each group, the last search that reached it
  unsigned visit = 0;
};

} // namespace weft::passes

#endif // WEFT_PASSES_FUSION_FUSIONGRAPH_H
