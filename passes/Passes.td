//===- Passes.td - The passes of Weft ----------------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The passes are in alphabetical order; Pipeline.cpp has the order in which they run. No pass uses MLIR's `Statistic`,
// whose layout depends on NDEBUG: LLVM's libraries are built with it, and Weft is not. passes/Statistics.h counts
// instead.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_PASSES_TD
#define WEFT_PASSES_TD

include "mlir/Pass/PassBase.td"

/// A pass on one function.
class Weft_FuncPass<string argument> : Pass<argument, "::weft::ir::FuncOp"> {
  let dependentDialects = ["::weft::ir::WeftDialect"];
}
/// A pass on a whole module.
class Weft_ModulePass<string argument> : Pass<argument, "::mlir::ModuleOp"> {
  let dependentDialects = ["::weft::ir::WeftDialect"];
}

def AlignLoopBodies : Weft_ModulePass<"weft-align-loop-bodies"> {
  let summary = "says how what loops on GPUs pass to their bodies is aligned";
  let description = [{
    A trip reads and writes rows of stacks, which begin at multiples of the bytes of a row and not of the widest access.
    On devices beside the host, the pass gives the arguments and results of bodies, and of conditions of while loops,
    `weft.alignment`: that of the memory that trips pass, as far as it is known. It runs when memory is planned, and
    replaces what is there.
  }];
}

def AssignQueues : Weft_FuncPass<"weft-assign-queues"> {
  let summary = "orders launches and assigns each a queue";
  let description = [{
    Launches keep their order, with two exceptions: a copy between devices is issued as soon as its operand is
    computed, and an assertion as soon as its condition is. Effects that the host sees (weft.print, weft.assert) keep
    their order. Each device has one queue for computation, one for copies to it, and one for copies from it. A function
    with one queue has no attributes. With more, `weft.queues` lists their names, and `weft.queue` of a launch is the
    number of its queue, unless that is the first. The program's tokens, barriers, events, forks and joins are removed,
    because the order of the list satisfies them; `--weft-schedule-launches` adds those that the queues need.
  }];
}

def AttachEpilogues : Weft_FuncPass<"weft-attach-epilogues"> {
  let summary = "merges a bias, a residual and relu into contractions and convolutions";
  let description = [{
    Three ops after a `weft.dot_general` become its bias, residual and relu, in this order: `add` of the broadcast of a
    vector along the last dimension; `add` of a tensor of the result's type that is in memory in any case; `max(.., 0)`.
    Values in between must have no other reader, except for comparisons of the value before relu with zero: if that is
    exact, they compare the result instead. The pass does so for f32 and f64, where the epilogue is rounded as the
    single ops are. The answer that `--weft-query-libraries` recorded tells which of the three are supported; without
    one, the table of the device does. WEFT-N001: the type is f16 or bf16. WEFT-N003: the library does not support it.
    WEFT-N005: another activation, which a library would round differently. With fast numerics, f16 and bf16 have bias
    and relu, and are rounded once (WEFT-N007).

    The epilogue of a `weft.implicit_gemm` is up to eight of these ops, as they come: `add`, `sub` and `mul` of the
    broadcast of a number for each output, `add` of a tensor of the result's type that is in memory in any case, and last
    `max(.., 0)`. Each is rounded as the single op.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target whose tables are used (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record refusals in weft.decisions">];
}

def CancelTranspositions : Weft_FuncPass<"weft-cancel-transpositions"> {
  let summary = "computes reductions of channels in the order of memory";
  let description = [{
    On a CPU, a region of elementwise ops and reductions, all of whose inputs are transposed so that the reduced
    dimensions come last, and all of whose results are transposed back or reduced, becomes the same ops without the
    transpositions. The last dimension stays the last one, and rows lie in pieces of whole vectors, so kernels read them
    where they are; the order of the reductions stays as it is.
  }];
}

def Canonicalize : Weft_FuncPass<"weft-canonicalize"> {
  let summary = "folds and canonicalises, up to a bound";
  let description = [{
    Applies the folders and canonicalisation patterns of the dialect, folds exact elementwise ops on splat constants,
    and removes dead code. Unlike with `canonicalize`, it is an error if a function still changes after `max-iterations`
    rounds; the error names the pattern set.
  }];
  let options = [Option<"maxIterations", "max-iterations", "int64_t", "10", "rounds over the function">];
}

def CanonicalizeContractions : Weft_FuncPass<"weft-canonicalize-contractions"> {
  let summary = "makes every contraction a batch of matrix products";
  let description = [{
    Afterwards `getContractionShape` (ir/Contraction.h) describes every `weft.dot_general`: the batch, free and
    contracted dimensions of an operand each form one strided dimension of its row-major storage. Other operands are
    transposed first. If the bias is not one of the columns of the matrix product, it is added by an op after it.
  }];
}

def CarryChecks : Weft_ModulePass<"weft-carry-checks"> {
  let summary = "moves checks of indices out of branches and loops";
  let description = [{
    An op of a branch that checks an index clamps it instead, and the branch returns the index as a number: one that is
    out of range, or 0. The check of this number stands behind the `weft.cond`, with the line of the op and that of the
    condition. A branch that is not taken fails for nothing. In a loop the numbers are carries, which keep those of the
    first trip in which one is not 0. Then a `weft.while` ends, and a `weft.scan` goes on, with indices in range. A
    `weft.cross_entropy` gets targets in range, and an attribute that says so. In a dimension without elements no index
    is in range: the number says whether there is one, and an assertion stands behind the op.
  }];
}

def CheckCalls : Weft_ModulePass<"weft-check-calls"> {
  let summary = "checks that inlining ends, and bounds the size of the module after it";
  let description = [{
    Inlining copies a function into each call of it. The pass computes the number of operations that every function
    then has, beginning with functions without calls. It is an error if there are more than `max-ops` in all, or if a
    function calls itself. Run --symbol-dce first, so that functions that are never called are not counted.
  }];
  let options = [Option<"maxOps", "max-ops", "uint64_t", "1048576", "operations of all functions after inlining">];
}

def ChooseSchedules : Weft_FuncPass<"weft-choose-schedules"> {
  let summary = "chooses the schedule of every fusion";
  let description = [{
    The choice is a pure function of shapes, dtypes and the description of the fusion's device (ir/Schedule.h). A fusion
    with a schedule keeps it, because the verifier has proven that it is correct. WEFT-F009: there is no schedule of
    this kind for the device, so each thread carries out whole tasks.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target that decides (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record fallbacks in weft.decisions">];
}

def CleanTransfers : Weft_FuncPass<"weft-clean-transfers"> {
  let summary = "removes copies between devices, and makes others smaller";
  let description = [{
    A constant or weft.iota is not copied but made on each device that reads it. For a broadcast or weft.full, the
    operand is copied. A widening cast is done after the copy. A narrowing cast is done before it, if no other op reads
    the copy. Equal copies are merged.
  }];
}

def DecomposeComposites : Weft_FuncPass<"weft-decompose-composites"> {
  let summary = "replaces composites by their primitives";
  let description = [{
    softmax, log_softmax, cross_entropy, layer_norm, dropout, sdpa and sdpa_backward become primitives; statistics of
    f16 and bf16 are in f32. weft.sort is a launch of the runtime on a CPU, and of a generated kernel on a GPU if a block holds its
    rows (ir/BlockSort.h); else it becomes merges of sorted runs. weft.factorize, weft.triangular_solve and weft.fft of other devices become copies to the host, a
    launch of the runtime there, and copies back. The pass runs just before fusion, so that earlier passes see whole composites.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target of the launches (ir/Target.h)">];
}

def Differentiate : Weft_ModulePass<"weft-differentiate"> {
  let summary = "replaces weft.gradient by the derivative";
  let description = [{
    Reverse-mode differentiation of the ops of each function. Only values on a path from a `wrt` value to `of` get a
    cotangent; contributions to a cotangent are added in reverse op order. An op on such a path that has no derivative
    is an error (WEFT-G001), but a composite without one is first replaced by its decomposition. Each new op has the
    location of the op that it differentiates. The gradient with respect to a `wrt` value that `of` does not depend on
    is zero.

    The derivative of a loop is a loop in the opposite direction, whose body is a new function; another new function is
    the body of the loop itself, which then also stacks what the derivative reads. Values that cost nothing to make
    again, such as views and what depends on the loop's constants only, are made again.

    The derivative of a while loop, whose number of trips is known only when it ends, is loops over its segments and
    their trips from the last to the first. Their memory does not depend on the number of trips: it has a stack of 16
    carries for the segments, and one for the trips of a segment. What is not in it is computed again.
  }];
}

def ElideChecks : Weft_FuncPass<"weft-elide-checks"> {
  let summary = "removes recorded checks that an op still makes";
  let description = [{
    Removes an assertion of `--weft-record-checks` if an op whose result is read checks the same index, together with
    the ops that only the assertion reads. The other assertions stay, like a `weft.assert` of the program.
  }];
}

def EnforceStrict : Weft_FuncPass<"weft-enforce-strict"> {
  let summary = "makes recorded refusals errors";
  let description = [{
    `strict=fusion,donate,capture` makes every refusal of these families in weft.decisions an error at its source line:
    ops that were not fused (codes F), values that were copied instead of written in place (D), launches that were not
    captured (C). Notes, such as WEFT-C020 and WEFT-F008, stay notes.
  }];
  let options = [Option<"strict", "strict", "std::string", "\"\"", "families, separated by commas">];
}

def Fuse : Weft_FuncPass<"weft-fuse"> {
  let summary = "forms kernels by fusing ops";
  let description = [{
    Afterwards every op that computes elements is in a weft.fusion. Contractions, weft.attention, transfers, effects,
    weft.reshape and weft.constant stay outside of fusions. Two groups of ops are merged if that saves time by an
    integer cost model with the numbers of their device; the merge that saves most comes first, ties are in op order.
    Broadcasts, splat constants and iota are cloned into every reader. With `report`, each decision is recorded in
    weft.decisions. A refusal has a code, and the time and bytes by the model for two kernels and for one: WEFT-F001 the
    domains or index maps do not fit; F002 a cycle; F003 a second scan, or a reduction beside a scan; too many operands
    (F004), ops (F005) or reductions (F006); F007 the merged kernel has fewer tasks; F008 it takes more time. With fast
    numerics, fusions with a sum of products are marked `contract` (WEFT-N006).
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target whose costs are used (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record every decision in weft.decisions">];
}

def FuseOptimizerSteps : Weft_FuncPass<"weft-fuse-optimizer-steps"> {
  let summary = "fuses the optimiser steps of all parameters";
  let description = [{
    adam_step ops, or sgd_step ops, that have the same element type, scalars and attributes and do not depend on each
    other become one weft.fusion of kind multi_tensor.
  }];
}

def FuseResultCopies : Weft_FuncPass<"weft-fuse-result-copies"> {
  let summary = "lets fusions write what is returned beside its own place";
  let description = [{
    A result that is an argument, or the same value as an earlier result, is a copy, which memory planning would give a
    launch of its own. A loop fusion of the same shape and device takes it as one more result: the one that computes the
    value, or one that reads the argument, or else any. Bodies of loops have such results: a carry that is also a row, or
    that the derivative needs from before the trip. Donated arguments, ties and aliases are left to memory planning.
  }];
}

def GatherCapturable : Weft_FuncPass<"weft-gather-capturable"> {
  let summary = "moves launches across the cuts between captured graphs";
  let description = [{
    Launches that may be in a graph are issued together, and so are the others, as far as values, effects, writes of
    arguments and checks allow. So there are fewer and larger graphs. The order changes only if more launches are
    captured or fewer graphs are needed. With `report` a change is recorded in weft.decisions as `gathered`.
  }];
  let options = [Option<"minimum", "minimum", "int64_t", "3", "the fewest launches of a graph">,
                 Option<"report", "report", "bool", "true", "record a change in weft.decisions">];
}

def LowerAttention : Weft_FuncPass<"weft-lower-attention"> {
  let summary = "makes attention and its derivative one launch each";
  let description = [{
    `weft.sdpa` and `weft.sdpa_backward` of f32, f16 or bf16 operands with static sizes become `weft.attention`, which
    is one launch: of the runtime on a CPU, of a generated kernel on a GPU, where heads have up to 256 features. If an operand is a view (reshape, transposition, slice, broadcast) of a
    value that is in memory in any case, the launch reads that value with an offset and strides. Results have the
    queries' order of dimensions. Other ops are left for decomposition, with the reason as WEFT-N009.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target of the launches (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record which ops are decomposed in weft.decisions">];
}

def LowerConvolutions : Weft_FuncPass<"weft-lower-convolutions"> {
  let summary = "makes convolutions one launch each";
  let description = [{
    A `weft.convolution` for which the library of its device has a launch becomes `weft.implicit_gemm`, which multiplies
    blocks of windows without storing them all: of f32 operands with static sizes on a CPU, where groups have more than
    one output. If an operand is a view (reshape, transposition, slice, reversal) of a value that is in memory in any
    case, the launch reads that value with an offset and strides. If a transposition is all that reads the result, it is
    written in that order. With fast numerics, a convolution of windows of 3 x 3 on a CPU, or its derivative, has
    Winograd's method where that takes less time (WEFT-N013). On a GPU, if there are zeros between the operand's elements
    and the places are fewer than the elements of a window, operand and weights exchange their roles first. Other ops are left for decomposition, with the reason as
    WEFT-N011.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target of the launches (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record which ops are decomposed in weft.decisions">];
}

def MapDevices : Weft_ModulePass<"weft-map-devices"> {
  let summary = "maps every logical device to one of the target";
  let description = [{
    For a target without devices, every logical device becomes `cpu`, in the types of values, arguments and functions
    and in attributes. Transfers between devices that become one are removed. For a target with devices, logical devices
    stay, because their numbers are mapped when a package is loaded. The option `devices` maps devices for any target:
    `cuda:0` moves the whole program to a device, `cpu=cuda:0` moves values of the host, and `cuda:1=cuda:0` merges two
    devices. Results of weft.to_host_scalar stay on the host, and ops on the device read a copy.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target of the program (ir/Target.h)">,
                 Option<"devices", "devices", "std::string", "\"\"", "a device for all, or from=to, separated by commas">];
}

def MaterializeRngState : Weft_FuncPass<"weft-materialize-rng-state"> {
  let summary = "makes the state of random generators arguments and results";
  let description = [{
    A function that loads the generator `g` gets the arguments `rng.g.key` and `rng.g.counter`, of role `random`, after
    its other arguments, ordered by generator name. If the function stores the generator's counter, the argument is
    donated, and a result `rng.g.counter` is tied to it.
  }];
}

def MergeSlicedContractions : Weft_FuncPass<"weft-merge-sliced-contractions"> {
  let summary = "one contraction of a whole for several of its slices";
  let description = [{
    Contractions of one right operand with slices of one value along one dimension, as the steps of a sequence are,
    become one contraction of the value, of whose result each takes its slice: the rows of the slices are rows of one
    matrix. A bias that each of them adds is added to the whole, so that it can be its epilogue. At least four slices,
    which together are all of the value and of which none is contracted or batched along the dimension that is sliced.
    f32 and f64 on a CPU, with AVX-512 the same sums in the same order. What
    is refused has a reason (WEFT-F011): slices that leave something out or overlap, few rows, results that together
    need more than 4 MiB and more than the largest sliced value, sizes that are not known.
  }];
  let options = [Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def MergeSumsOfContractions : Weft_FuncPass<"weft-merge-sums-of-contractions"> {
  let summary = "one launch for contractions whose results are added one after the other";
  let description = [{
    A chain of contractions, each of which has the one before it as its residual, becomes one contraction with the
    operands of all of them (`plus`), where the last one stands: their products are added in the order of the program,
    each rounded first, so that every bit stays. For sums of at most 384 products of f32 on a CPU, where the results in
    between are most of what is moved. The operands then live until the last product. A chain stays as it is, for a
    reason (WEFT-F010), where that would make the temporaries of the function larger at their peak, where an operand is
    overwritten in between, and where sums are longer.
  }];
  let options = [Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def NormalizeLayouts : Weft_FuncPass<"weft-normalize-layouts"> {
  let summary = "makes every argument row-major";
  let description = [{
    An argument with `weft.strides` gets the type of the row-major memory of which it is a view. Its readers read a
    slice, transposition or broadcast of that memory, which fusion turns into index arithmetic. The shape of the tensors
    that calls pass is recorded as `weft.shape`. Strides that are row-major are removed.
  }];
}

def OrderLaunches : Weft_FuncPass<"weft-order-launches"> {
  let summary = "orders launches so that they need less memory";
  let description = [{
    The order stays if there is no `limit`, or if the values that are live at the same time never exceed it. Otherwise
    the pass tries three orders: the order of the text as long as it stays within the limit, and then the ready launch
    after which the fewest bytes are live; always that launch; and a depth-first order from the results. It takes the
    first order that stays within the limit, or the one that needs least memory. Effects, writes of arguments, checks
    and updates in place keep their order. With `report` a change is recorded in weft.decisions as `ordered`.
  }];
  let options = [Option<"limit", "limit", "int64_t", "-1", "the most bytes of temporaries; -1 for no limit">,
                 Option<"report", "report", "bool", "true", "record a change in weft.decisions">];
}

def ParametrizeSlices : Weft_FuncPass<"weft-parametrize-slices"> {
  let summary = "one kernel for fusions that differ only in where their slices begin";
  let description = [{
    At least four elementwise fusions whose bodies are equal but for the starts of slices, as the steps of a sequence
    are, read the starts in which they differ from operands (`weft.dynamic_slice`), and so have one kernel. Slices with
    steps, and those of sizes that are not known, stay as they are.
  }];
}

def PartitionCapture : Weft_FuncPass<"weft-partition-capture"> {
  let summary = "marks the launches that become captured graphs";
  let description = [{
    A region is a maximal run of launches that may be in a graph, on all queues together; `weft.capture` is its number.
    A launch that may not be in a graph ends the run, with a reason: WEFT-C001 the host reads a value, C002 the host
    prints, C003 a launch on the host among those of a device, C021 a copy of pageable memory, or the reason of the op
    itself (CaptureOp). A run of fewer than `minimum` launches is not captured, with the note WEFT-C020.
  }];
  let options = [Option<"minimum", "minimum", "int64_t", "3", "the fewest launches of a graph">,
                 Option<"report", "report", "bool", "true", "record cuts in weft.decisions">];
}

def PlaceHostOperands : Weft_FuncPass<"weft-place-host-operands"> {
  let summary = "moves scalars and indices from the host to the devices of their users";
  let description = [{
    Makes the mixtures of devices that the verifier accepts (ir/Placement.h) explicit: a host operand is transferred,
    once for each device, and a scalar operand is broadcast to the shape of the result.
  }];
}

def PlanMemory : Weft_FuncPass<"weft-plan-memory"> {
  let summary = "assigns storage to every value of the launch list";
  let description = [{
    A result of the function that is not tied is computed in the storage of the result. A tied result is computed in its
    argument's storage if no later launch reads the argument, no later launch may fail, the writing launch reads the
    argument only at the index that it writes, and it does nothing after a failure, which a library call on a device
    cannot see. Otherwise it is computed elsewhere and copied at the end, with a code:
    WEFT-D001 a later reader, D002 a read at another index, D003 a later launch may fail, D004 the result is an argument
    or another result, D005 the value already has a storage, D009 an alias of an argument that is written, D015 a
    library call on a device. The base of
    an update is copied before the update, with D012, if it is still needed. All other values share an arena: offsets
    are multiples of 64, and each value goes to the best gap of its live range. If temporaries are on several devices,
    each device has a part of the arena (`weft.arena_devices`, `weft.arena_begins`), and memory only for that part. The
    pass verifies the plan.
  }];
  let options = [Option<"report", "report", "bool", "true", "record refused donations in weft.decisions">,
                 Option<"target", "target", "std::string", "\"cpu\"", "target for the cost of copies (ir/Target.h)">];
}

def QueryLibraries : Weft_FuncPass<"weft-query-libraries"> {
  let summary = "records which contractions the library supports";
  let description = [{
    Records the answer (ir/ContractionLibrary.h) in the `library` of every `weft.dot_general` that has none: the library
    that computes it, the epilogues that it supports, and its workspace. No other pass asks, and a recorded answer
    stays, so later passes depend only on the text. By default the table of the contraction's device answers; compile()
    passes the library of this process, which answers for the host. WEFT-N004: the library does not support the
    contraction, and a kernel of Weft's own computes it.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "target whose tables are used (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record refusals in weft.decisions">];
}

def RecordChecks : Weft_FuncPass<"weft-record-checks"> {
  let summary = "records the index checks of the program as assertions";
  let description = [{
    Removes the values that nothing in the program reads. Then it adds, for each op that checks an index, an assertion
    at the end of the function that the index is in range. Later rewrites do not remove it, even if they remove the op.
    `--weft-elide-checks` removes the assertions that are not needed.
  }];
}

def ScheduleLaunches : Weft_FuncPass<"weft-schedule-launches"> {
  let summary = "orders the queues of a launch list with events";
  let description = [{
    A launch waits for the launches on other queues that wrote its operands, and for those that used the bytes that it
    writes, unless earlier waits of its queue imply that. Every queue is forked from the first queue at the start of the
    function and joined by it at the end. A function with one queue does not change.
  }];
}

def SelectBranches : Weft_ModulePass<"weft-select-branches"> {
  let summary = "replaces conditions by both branches and selects";
  let description = [{
    Beside the host: the ops of both branches, and a select for each result. A condition stays if a branch of it has a
    loop, a sort or a kernel of the user, or computes `least-work` elements and multiplications of products or more, if
    all is on one device, if no `weft.scan` runs it, and if it is in fewer than 32 loops and branches. With `report`, a
    refusal (WEFT-T009) says that both are computed, and why. A `weft.while` of a branch that is not taken has no trip:
    its condition is then false. One that computes on several devices is an error (WEFT-T010). More than `max-ops`
    operations in all are an error (WEFT-T005).
  }];
  let options = [Option<"always", "always", "bool", "false", "conditions of the host as well">,
                 Option<"leastWork", "least-work", "uint64_t", "1048576",
                        "elements and multiplications of a branch from which on it is worth a decision">,
                 Option<"report", "report", "bool", "false", "record the decisions">,
                 Option<"maxOps", "max-ops", "uint64_t", "1048576", "operations of the module after it">];
}

def Simplify : Weft_FuncPass<"weft-simplify"> {
  let summary = "algebra that keeps every value";
  let description = [{
    Applies a table of rewrites, each of which is bit-exact, value-exact (up to the payload and sign of a NaN), or
    bounded. Bounded rewrites apply only to functions with `weft.numerics = "fast"` and are recorded as WEFT-N008.
    `print-rules` prints how often each rule was applied.
  }];
  let options = [Option<"printRules", "print-rules", "bool", "false",
                        "print how often each rule applied, as remarks">,
                 Option<"disable", "disable", "std::string", "\"\"", "name of a rule not to apply">,
                 Option<"maxIterations", "max-iterations", "int64_t", "10", "rounds over the function">];
}

def Specialize : Weft_ModulePass<"weft-specialize"> {
  let summary = "replaces symbols of dynamic dimensions by numbers";
  let description = [{
    `--weft-specialize=sizes=batch=3,seq=16` replaces the symbols in every type, attribute and constant. Symbols that
    are not named stay. A program without remaining symbols is static: the reference interpreter can run it, and a
    dynamic program is compared with it.
  }];
  let options = [ListOption<"sizes", "sizes", "std::string", "the value of each symbol, as name=number">];
}

def SplitReductions : Weft_FuncPass<"weft-split-reductions"> {
  let summary = "splits long reductions and scans with few rows into two steps";
  let description = [{
    A reduction over trailing dimensions of at least `min-extent` elements with fewer than `max-results`
    results has too few rows to occupy a machine. It becomes a reduction of S pieces a row and one of the S
    partial results, where S follows from the shape alone, so that the order of additions does too. An
    extent without a good divisor is cut into S equal pieces and a rest that the last step adds.

    On a CPU, so does a reduction over neighbouring dimensions before the last, of at least 4,096 rows and 2^20
    elements, whose columns are too few tasks for 64 threads: each piece is read as it lies in memory. Rows that no
    good S divides stay whole.

    On a GPU, where a row has one block, a reduction over rows in pieces, as the channels of images are, with as many elements
    and as few results as above, becomes one of each piece, of at least 64 elements, and one of the pieces' results.
  }];
  let options = [Option<"minExtent", "min-extent", "int64_t", "32768",
                        "the fewest reduced elements for a split">,
                 Option<"maxResults", "max-results", "int64_t", "64", "no split with this many results or more">];
}

def TieResults : Weft_FuncPass<"weft-tie-results"> {
  let summary = "turns weft.copy_into and weft.alias into ties of results";
  let description = [{
    If a write to a donated argument is returned, the result is tied to the argument. A returned alias shares the
    storage of its argument or of an earlier result (`weft.alias_of_argument`, `weft.alias_of_result`). WEFT-D006: the
    old value is read after the write. WEFT-D007: the argument is not donated. WEFT-D008: the written value is not
    returned.
  }];
}

def UnrollScans : Weft_ModulePass<"weft-unroll-scans"> {
  let summary = "replaces loops by their trips";
  let description = [{
    The ops of the body, once for each trip, with slices for the rows that a trip reads, and a concatenation of those that
    the trips return. Those are unrolled whose body is not on one device, or has a while loop on a device beside the host,
    which is launched apart; those of fewer than `least-trips` trips; and those whose body may fail, of which
    `--weft-carry-checks` leaves none. With `may-fail`, only loops whose body may fail, for one of the other reasons, and
    those with such a while loop. With `report`, a refusal (WEFT-T004) says why a loop is none in the plan. More than
    `max-ops` operations in all are an error.
  }];
  let options = [Option<"mayFail", "may-fail", "bool", "false", "only loops that may not wait for later passes">,
                 Option<"leastTrips", "least-trips", "int64_t", "4", "trips from which a loop is kept">,
                 Option<"report", "report", "bool", "false", "record the decisions">,
                 Option<"maxOps", "max-ops", "uint64_t", "1048576", "operations of the module after it">];
}

def UnrollWindows : Weft_FuncPass<"weft-unroll-windows"> {
  let summary = "turns reductions of small windows into chains over slices";
  let description = [{
    On a CPU, a sum, a largest or smallest element, or its index, over all elements of windows of at most 16 elements
    becomes a chain of elementwise ops over slices with the stride of the windows, one for each element of a window. A
    sum keeps the order that it has as a reduction. Sizes of windows and the number of places are numbers.
  }];
}

def VerifyMemoryPlan : Weft_FuncPass<"weft-verify-memory-plan"> {
  let summary = "proves that a memory plan is sound";
  let description = [{
    The pass proves that every value of the launch list has a slice of its size within its storage. No two values that
    are live at the same time overlap, except for views, and for results that replace an operand element by element.
    Every result ends in its storage, and a tied result in its argument's storage. No launch that may fail follows a
    write to an argument.
  }];
}

def VerifyPlacement : Weft_ModulePass<"weft-verify-placement"> {
  let summary = "checks the device of every value of a module";
  let description = [{
    Every tensor must have a device, and the operands of every op, call and return must be on one device (WEFT-P001).
    The pass reports all ops that violate this and does not stop at the first. ir/Placement.h has the exceptions for
    operands on the host.
  }];
}

#endif // WEFT_PASSES_TD
