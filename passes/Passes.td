//===- Passes.td - The passes of Weft ----------------------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In alphabetical order; the order in which they run is in Pipeline.cpp. No pass uses `Statistic`: its
// layout depends on NDEBUG, which the libraries of LLVM are built with and Weft is not. Statistics.h
// counts from outside instead.
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

def AssignQueues : Weft_FuncPass<"weft-assign-queues"> {
  let summary = "orders launches and gives each its queue";
  let description = [{
    Launches keep their order, except that a copy between devices is issued as soon as its operand is there and an
    assertion as soon as its condition is; what the host sees (weft.print, weft.assert) keeps its order. Compute is on
    one queue a device, copies to it and from it on one each. A function with one queue has no attributes; with
    more, `weft.queues` names them and `weft.queue` is the number of each launch that is not on the first. Tokens,
    barriers, events, forks and joins of the program have done their work then and go: `weft-schedule-launches` puts
    in those that the queues need.
  }];
}

def AttachEpilogues : Weft_FuncPass<"weft-attach-epilogues"> {
  let summary = "lets contractions add a bias and a residual, and apply relu";
  let description = [{
    `add(dot_general, broadcast of a vector along the last dimension)`, `add` of a tensor of the result's type that is in
    memory anyway, and `max(.., 0)` become the bias, residual and relu of the `weft.dot_general`, in this order, for f32
    and f64, where the epilogue rounds as the single ops do. What comes in between must have no other reader; comparisons
    of the value before relu with zero are taken of the result, where that is exact. Which of the three are taken is the
    answer that `--weft-query-libraries` recorded; without one, that of the table of its device. WEFT-N001: a half type.
    WEFT-N003: the library does not take it. WEFT-N005: another activation, which a library would round otherwise. A half
    type under fast numerics takes bias and relu, and rounds once (WEFT-N007).
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "whose tables answer (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def Canonicalize : Weft_FuncPass<"weft-canonicalize"> {
  let summary = "folds and canonicalises, up to a bound";
  let description = [{
    The folders and canonicalisation patterns of the dialect, folding of elementwise ops on splat constants
    that are exact, and removal of dead code. Unlike `canonicalize`, a function that still changes after
    `max-iterations` rounds is an error that names the pattern set.
  }];
  let options = [Option<"maxIterations", "max-iterations", "int64_t", "10", "rounds over the function">];
}

def CanonicalizeContractions : Weft_FuncPass<"weft-canonicalize-contractions"> {
  let summary = "brings every contraction into a form with one stride a dimension";
  let description = [{
    Afterwards `getContractionShape` (ir/Contraction.h) describes every `weft.dot_general`: its batch, kept
    and contracted dimensions each lie in row-major storage as one strided dimension. An operand that does
    not is transposed first. A
    bias that is not one of the columns of that matrix product is added after it.
  }];
}

def CheckCalls : Weft_ModulePass<"weft-check-calls"> {
  let summary = "checks that inlining ends, and how much it makes";
  let description = [{
    Inlining copies a function into each call of it. The operations that every function then has follow from the calls,
    from those that call nothing upward; more than `max-ops` in all, and a function that calls itself, are errors. Run
    --symbol-dce first: what nobody calls is then not counted.
  }];
  let options = [Option<"maxOps", "max-ops", "uint64_t", "1048576", "operations of all functions after inlining">];
}

def ChooseSchedules : Weft_FuncPass<"weft-choose-schedules"> {
  let summary = "chooses the schedule of every fusion";
  let description = [{
    A pure function of shapes, dtypes and the description of the fusion's device (ir/Schedule.h). A fusion that has a
    schedule keeps it: the verifier has proven that it is right. WEFT-F009: there is none of its kind for the device, and
    each thread carries out tasks of its own.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "whose sizes decide (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record fallbacks in weft.decisions">];
}

def CleanTransfers : Weft_FuncPass<"weft-clean-transfers"> {
  let summary = "fewer and smaller copies between devices";
  let description = [{
    A constant or weft.iota is made on each device that reads it instead of copied; of a broadcast or weft.full the
    operand is copied; a widening cast is done after the copy, a narrowing one before it where nothing else reads
    the copy; equal copies become one.
  }];
}

def DecomposeComposites : Weft_FuncPass<"weft-decompose-composites"> {
  let summary = "replaces composites by their primitives";
  let description = [{
    softmax, log_softmax, cross_entropy and attention become primitives, with the same statistics in f32 for halves.
    It runs as late as fusion, so that what runs before can still see what the primitives are for.
  }];
}

def Differentiate : Weft_FuncPass<"weft-differentiate"> {
  let summary = "replaces weft.gradient by the derivative";
  let description = [{
    Reverse mode over the ops of the function, in the order of the text: only values on a path from a `wrt`
    value to `of` get a cotangent, which are added in op order. An op without a derivative on such a path is
    WEFT-G001; a composite without one is replaced by its decomposition first. Each op that is built carries the location of the op that it differentiates. A `wrt` value
    that `of` does not depend on gets zeros.
  }];
}

def ElideChecks : Weft_FuncPass<"weft-elide-checks"> {
  let summary = "drops the recorded checks that an op still makes";
  let description = [{
    The assertions of `--weft-record-checks` whose index is still checked by an op that something reads go, with what
    only they read. The others stay, as `weft.assert` of the program.
  }];
}

def EnforceStrict : Weft_FuncPass<"weft-enforce-strict"> {
  let summary = "makes recorded refusals errors";
  let description = [{
    `strict=fusion,donate,capture` makes every decision of these families in weft.decisions an error at its source
    line: what was not fused (codes F), copied instead of written in place (D), or not captured (C). Notes, such as
    WEFT-C020 and WEFT-F008, stay notes.
  }];
  let options = [Option<"strict", "strict", "std::string", "\"\"", "families, separated by commas">];
}

def Fuse : Weft_FuncPass<"weft-fuse"> {
  let summary = "gathers ops into kernels";
  let description = [{
    Afterwards the function holds weft.fusion, weft.dot_general, weft.reshape, weft.constant and weft.return only: every
    other op is in a fusion of kind loop, row or column. Merges are made in the order of the time that they save by an
    integer cost model, with the numbers of the device that the ops are on, ties by op order. Broadcasts, splat constants and iota are cloned into every
    reader. With `report` each decision is recorded in weft.decisions, refusals with a code, and with
    the time and bytes that the model computed for two kernels and for one:
    WEFT-F001 the domains or index maps do not fit, F002 a cycle, F003 a second scan or reduction beside a scan,
    F004 operands, F005 ops, F006 reductions over the limit, F007 a schedule with less parallel work, F008 the
    cost is negative. Under fast numerics fusions with a sum of products are marked `contract` (WEFT-N006).
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "whose costs decide (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record every decision in weft.decisions">];
}

def FuseOptimizerSteps : Weft_FuncPass<"weft-fuse-optimizer-steps"> {
  let summary = "makes the optimiser steps of all parameters one kernel";
  let description = [{
    All adam_step, and all sgd_step, ops of one element type that share their scalars, have equal flags and do not
    depend on each other become one weft.fusion of kind multi_tensor.
  }];
}

def GatherCapturable : Weft_FuncPass<"weft-gather-capturable"> {
  let summary = "moves launches across the cuts between captured graphs";
  let description = [{
    Launches that a graph may hold are issued together, as far as values, effects, writes of arguments and checks allow,
    and so are those that it may not: then there are fewer graphs, and larger ones. The order stays as it is where no
    launch more would be captured and no graph fewer be needed. With `report` a change is recorded in weft.decisions
    as `gathered`.
  }];
  let options = [Option<"minimum", "minimum", "int64_t", "3", "launches from which a graph pays">,
                 Option<"report", "report", "bool", "true", "record what was moved in weft.decisions">];
}

def LowerAttention : Weft_FuncPass<"weft-lower-attention"> {
  let summary = "makes attention and its derivative launches of their own";
  let description = [{
    `weft.sdpa` and `weft.sdpa_backward` become `weft.attention` where the runtime of the target computes them: on a
    CPU, from operands of f32, f16 or bf16 whose sizes are numbers. Their operands are read where they lie: views of a
    value that is in memory anyway (reshapes, transpositions, slices) become an offset and strides. Results are
    written in the order of dimensions that the queries have. What is left is decomposed; WEFT-N009 says why.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "a name of ir/devices">,
                 Option<"report", "report", "bool", "false", "record what is decomposed in weft.decisions">];
}

def MapDevices : Weft_ModulePass<"weft-map-devices"> {
  let summary = "maps every logical device to one of the target";
  let description = [{
    For a target without devices every logical device becomes `cpu`: types of values, arguments and functions, and
    attributes. Transfers between devices that are now one disappear. For a target with devices nothing changes of
    itself, since logical numbers are mapped when a package is loaded. `devices` says what does, for any target:
    `cuda:0` brings the whole program to a device, `cpu=cuda:0` what it has on the host, `cuda:1=cuda:0` makes two one.
    What an op gives to the host stays there, and what reads it on the device reads a copy.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "what the program is compiled for (ir/Target.h)">,
                 Option<"devices", "devices", "std::string", "\"\"", "a device for all, or from=to with commas between">];
}

def MaterializeRngState : Weft_FuncPass<"weft-materialize-rng-state"> {
  let summary = "makes the state of random generators arguments and results";
  let description = [{
    A function that loads the generator `g` gets the arguments `rng.g.key` and `rng.g.counter`, of role
    `random`, after its other arguments and ordered by generator name. If it stores the generator's counter,
    the counter is donated and a result `rng.g.counter` is tied to it.
  }];
}

def MergeSlicedContractions : Weft_FuncPass<"weft-merge-sliced-contractions"> {
  let summary = "one contraction of a whole for several of its slices";
  let description = [{
    Contractions of one right operand with slices of one value along one dimension, as the steps of a sequence are,
    become one contraction of the value, of whose result each takes its slice: the rows of the slices are rows of one
    matrix. At least four slices of one size, which together are all of the value and of which none is contracted or
    batched along the dimension that is sliced. f32 and f64, with AVX-512 the same sums in the same order. What is
    refused has a reason (WEFT-F011): slices that leave something out or overlap, a result that needs more memory than
    the operands together hold, sizes that are not known.
  }];
  let options = [Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def MergeSumsOfContractions : Weft_FuncPass<"weft-merge-sums-of-contractions"> {
  let summary = "one launch for contractions whose results are added one after the other";
  let description = [{
    A chain of contractions, each of which has the one before it as its residual, becomes one contraction with the
    operands of all of them (`plus`), where the last one stands: their products are added in the order of the program,
    each rounded first, so that every bit stays. For sums of at most 384 products, where the results in between are
    most of what is moved. The operands then live until the last product. A chain stays as it is, for a reason
    (WEFT-F010), where that would make the temporaries of the function larger at their peak, where an operand is
    overwritten in between, and where sums are longer.
  }];
  let options = [Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def NormalizeLayouts : Weft_FuncPass<"weft-normalize-layouts"> {
  let summary = "makes every argument row-major";
  let description = [{
    An argument with `weft.strides` gets the type of the row-major memory that the strides step through, and what reads
    it reads a slice, transposition or broadcast of that, which fusion makes index arithmetic. The shape that calls give
    stays beside the strides as `weft.shape`. Strides that are row-major are dropped.
  }];
}

def OrderLaunches : Weft_FuncPass<"weft-order-launches"> {
  let summary = "orders launches so that they need less memory";
  let description = [{
    A list schedule. Without a `limit`, or where the values that are alive at one time take no more bytes than that,
    the order stays as it is. Else the order of the text is kept as long as it stays within the limit, and beyond that the
    launch that is ready and frees most is next; a launch that leads to where memory becomes free may also be preferred
    from the start. Of these orders the first that keeps the limit is taken, or the one that needs least. Effects, writes
    of arguments, checks and updates in place keep their order. With `report` a change is recorded in weft.decisions as
    `ordered`.
  }];
  let options = [Option<"limit", "limit", "int64_t", "-1", "bytes of temporaries from which to reorder; -1 for none">,
                 Option<"report", "report", "bool", "true", "record what was moved in weft.decisions">];
}

def PartitionCapture : Weft_FuncPass<"weft-partition-capture"> {
  let summary = "marks the launches that become captured graphs";
  let description = [{
    A region is a maximal run of launches that a graph may hold, on all queues together; `weft.capture` is its number.
    What may not be in one ends the run, with a reason: WEFT-C001 the host reads a value, C002 the host prints, C003 a
    launch on the host among those of a device, C021 a copy of pageable memory, or what the op itself says
    (CaptureOp). A run of fewer than `minimum` launches stays plain, with the note WEFT-C020.
  }];
  let options = [Option<"minimum", "minimum", "int64_t", "3", "launches from which a graph pays">,
                 Option<"report", "report", "bool", "true", "record cuts in weft.decisions">];
}

def PlaceHostOperands : Weft_FuncPass<"weft-place-host-operands"> {
  let summary = "moves scalars and indices of the host to where they are used";
  let description = [{
    The mixtures of devices that the verifier lets through (ir/Placement.h) become explicit: the operand of the host
    is transferred, once for each device, and a scalar is stretched to the shape of the others.
  }];
}

def PlanMemory : Weft_FuncPass<"weft-plan-memory"> {
  let summary = "gives every value of the launch list its storage";
  let description = [{
    Results that are not tied get the storage of the result. A tied result is written to its argument's storage if no
    launch reads the argument afterwards, none that may fail follows, and the launch that writes reads it at the index
    that it writes; otherwise it is computed elsewhere and copied at the end, with a code: WEFT-D001 a later
    reader, D002 read at another index, D003 a later launch may fail, D004 the result is an argument or
    another result, D005 the value already has a storage, D009 an alias of an argument that is written. The base of
    an update is copied before, with D012, where something else still needs it. All else shares an arena: offsets are
    multiples of 64, each value goes to the best gap of its live range. Where temporaries lie on several devices, each
    device has a part of the arena (`weft.arena_devices`, `weft.arena_begins`), and memory for that part only. The plan
    is verified at once.
  }];
  let options = [Option<"report", "report", "bool", "true", "record refused donations in weft.decisions">,
                 Option<"target", "target", "std::string", "\"cpu\"", "what a copy costs (ir/Target.h)">];
}

def QueryLibraries : Weft_FuncPass<"weft-query-libraries"> {
  let summary = "asks the library of contractions what it takes";
  let description = [{
    Records the answer (ir/ContractionLibrary.h) in the `library` of every `weft.dot_general` that has none: who
    multiplies, which epilogues it takes, and how much workspace it may have. It is the only pass that asks; a recorded
    answer stays, so that what follows is a function of the text. By default the table of the contraction's device
    answers; compile() passes the library that is there, which is one of the host. WEFT-N004: the library refuses, and a kernel of Weft's own multiplies.
  }];
  let options = [Option<"target", "target", "std::string", "\"cpu\"", "whose tables answer (ir/Target.h)">,
                 Option<"report", "report", "bool", "false", "record what was refused in weft.decisions">];
}

def RecordChecks : Weft_FuncPass<"weft-record-checks"> {
  let summary = "writes the checks of the recorded program down";
  let description = [{
    What nothing in the program reads goes. Then each index that an op checks gets an assertion that it is in range, at the
    end: no rewrite that follows removes it, whatever becomes of the op's readers. `--weft-elide-checks` drops those
    that are not needed in the end.
  }];
}

def ScheduleLaunches : Weft_FuncPass<"weft-schedule-launches"> {
  let summary = "orders the queues of a launch list with events";
  let description = [{
    A launch waits for the launches on other queues that wrote what it reads, and for those that used the bytes that it
    writes, unless what its queue waited for before implies that. Every queue is forked from the first at the start
    and joined by it at the end. A function with one queue stays as it is.
  }];
}

def Simplify : Weft_FuncPass<"weft-simplify"> {
  let summary = "algebra that keeps every value";
  let description = [{
    A table of rewrites, each with its exactness: bit-exact, value-exact (up to the payload and sign of a NaN), or
    bounded, which is for functions with `weft.numerics = "fast"` only and leaves WEFT-N008 in the decisions.
    `print-rules` prints how often each applied.
  }];
  let options = [Option<"printRules", "print-rules", "bool", "false",
                        "print how often each rule applied, as remarks">,
                 Option<"disable", "disable", "std::string", "\"\"", "name of one rule not to use">,
                 Option<"maxIterations", "max-iterations", "int64_t", "10", "rounds over the function">];
}

def Specialize : Weft_ModulePass<"weft-specialize"> {
  let summary = "gives symbols of dynamic dimensions their values";
  let description = [{
    `--weft-specialize=sizes=batch=3,seq=16`: every type, attribute and constant that the symbols stand in gets
    numbers. A symbol that is not named stays. What is left without symbols is the static program, which the
    reference interpreter runs and a dynamic program is compared with.
  }];
  let options = [ListOption<"sizes", "sizes", "std::string", "the value of each symbol, as name=number">];
}

def SplitReductions : Weft_FuncPass<"weft-split-reductions"> {
  let summary = "splits long reductions with few results into two steps";
  let description = [{
    A reduction over trailing dimensions of at least `min-extent` elements with fewer than `max-results`
    results has too few rows to occupy a machine. It becomes a reduction of S pieces a row and one of the S
    partial results, where S follows from the shape alone, so that the order of additions does too. An
    extent without a good divisor is cut into S equal pieces and a rest that the last step adds.

    On a CPU, so does a reduction over neighbouring dimensions before the last, of at least 4,096 rows and 2^20
    elements, whose columns are too few tasks for 64 threads: each piece is read as it lies in memory. Rows that no
    good S divides stay whole.
  }];
  let options = [Option<"minExtent", "min-extent", "int64_t", "32768",
                        "reduced elements from which to split">,
                 Option<"maxResults", "max-results", "int64_t", "64", "results from which not to split">];
}

def TieResults : Weft_FuncPass<"weft-tie-results"> {
  let summary = "turns weft.copy_into and weft.alias into ties of results";
  let description = [{
    A write to a donated argument ties the result that returns it to the argument; a returned alias shares the storage
    of its argument or of an earlier result (`weft.alias_of_argument`, `weft.alias_of_result`). WEFT-D006: the old value
    is read after the write. WEFT-D007: the argument is not donated. WEFT-D008: what is written is not returned.
  }];
}

def VerifyMemoryPlan : Weft_FuncPass<"weft-verify-memory-plan"> {
  let summary = "proves that a memory plan is sound";
  let description = [{
    Every value of the launch list has a slice of its size, within its storage; no two values that are live at the same
    time overlap, but for views and for results that replace an operand element by element; every result ends in its
    storage and every tie is honoured; no launch that may fail follows a write to an argument.
  }];
}

def VerifyPlacement : Weft_ModulePass<"weft-verify-placement"> {
  let summary = "checks the device of every value of a module";
  let description = [{
    Every tensor has a device; every op, call and return keeps the rule that operands have one device
    (WEFT-P001), for all ops and not only up to the first that breaks it. What may lie on the host is in
    ir/Placement.h.
  }];
}

#endif // WEFT_PASSES_TD
