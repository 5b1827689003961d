//===- WeftBase.td - Dialect, attributes, constraints ------*- tablegen -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_BASE_TD
#define WEFT_BASE_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Weft_Dialect : Dialect {
  let name = "weft";
  let cppNamespace = "::weft::ir";
  let summary = "Tensor programs whose values carry their device";
  let description = [{
    Values are ranked tensors whose encoding is a device: `tensor<4x8xf32, #weft.device<cpu>>`. Every operand
    of a compute op has the same device; only `weft.transfer` changes it. There is no implicit promotion or
    broadcast: an importer inserts `weft.convert` and `weft.broadcast_in_dim`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasConstantMaterializer = 1;
}

//===----------------------------------------------------------------------===//
// Enumerations
//===----------------------------------------------------------------------===//

class Weft_Enum<string enumName, string summary, list<string> names> :
    I32EnumAttr<enumName, summary, !foreach(i, !range(!size(names)), I32EnumAttrCase<names[i], i>)> {
  let cppNamespace = "::weft::ir";
  let genSpecializedAttr = 0;
}
def Weft_DeviceKind : Weft_Enum<"DeviceKind", "kind of device", ["cpu", "cuda"]>;
def Weft_StorageKind : Weft_Enum<"StorageKind", "what holds a value", ["argument", "result", "arena", "constant"]>;
def Weft_FusionKind : Weft_Enum<"FusionKind", "what a fusion may hold, and the shape of its kernel",
    ["loop", "row", "column", "multi_tensor", "scan", "update"]>;
def Weft_GatherKind : Weft_Enum<"GatherKind", "how the index tensor lies in the result", ["along", "points"]>;
def Weft_IndexMode : Weft_Enum<"IndexMode", "what becomes of an index outside of its range", ["check", "clip", "assume"]>;
def Weft_ScatterKind : Weft_Enum<"ScatterKind", "how an element is combined with what is there",
    ["add", "set", "max", "min", "mul"]>;
def Weft_ReductionKind : Weft_Enum<"ReductionKind", "how a loss is reduced", ["none", "mean", "sum"]>;

class Weft_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Weft_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}
def Weft_FusionKindAttr : Weft_EnumAttr<Weft_FusionKind, "fusion_kind">;
def Weft_GatherKindAttr : Weft_EnumAttr<Weft_GatherKind, "gather_kind">;
def Weft_IndexModeAttr : Weft_EnumAttr<Weft_IndexMode, "index_mode">;
def Weft_ScatterKindAttr : Weft_EnumAttr<Weft_ScatterKind, "scatter_kind">;
def Weft_ReductionKindAttr : Weft_EnumAttr<Weft_ReductionKind, "reduction">;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

class Weft_Attr<string attrName, string attrMnemonic> : AttrDef<Weft_Dialect, attrName> {
  let mnemonic = attrMnemonic;
}

def Weft_DeviceAttr : Weft_Attr<"Device", "device"> {
  let summary = "the logical device that holds a tensor";
  let description = [{
    `#weft.device<cpu>` or `#weft.device<cuda:N>`. It is the encoding of every tensor type of the dialect.
    The number of a CUDA device is logical: loading a package takes a map to real devices.

    In the encoding of a type with dynamic dimensions it has their sizes too, one expression over the function's
    symbols for each `?`, in order: `tensor<?x784xf32, #weft.device<cpu, [batch]>>`.
  }];
  let parameters = (ins "::weft::ir::DeviceKind":$kind, "int64_t":$index, ArrayRefParameter<"::weft::ir::Size">:$sizes);
  let builders = [AttrBuilder<(ins "::weft::ir::DeviceKind":$kind, CArg<"int64_t", "0">:$index), [{
    return $_get($_ctxt, kind, index, ::llvm::ArrayRef<::weft::ir::Size>());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool isCpu() const { return getKind() == DeviceKind::cpu; }
    /// "cpu" or "cuda:0".
    std::string str() const;
    /// The device alone, and with the sizes of a type's dynamic dimensions.
    DeviceAttr withoutSizes() const;
    DeviceAttr withSizes(::llvm::ArrayRef<::weft::ir::Size> sizes) const;
  }];
}

def Weft_SymbolAttr : Weft_Attr<"Symbol", "symbol"> {
  let summary = "a size that each call of a function may choose anew";
  let description = [{
    `#weft.symbol<"batch", 1, 4096>` in the attribute `weft.symbols` of a function: the name that the sizes of its
    types use, and the least and the largest value. Some argument has a dimension of that size, which is where a
    call gets the value from.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$min, "int64_t":$max);
  let assemblyFormat = "`<` $name `,` $min `,` $max `>`";
  let genVerifyDecl = 1;
}

def Weft_LibraryAttr : Weft_Attr<"Library", "library"> {
  let summary = "what a library of contractions answered";
  let description = [{
    Recorded by `--weft-query-libraries` (ir/ContractionLibrary.h), and what later passes decide by. `name` is who
    multiplies: a library, or `weft`, a kernel of Weft's own. `epilogues` is what it applies (`bias`, `residual`,
    `relu`); below `least_flops` operations Weft's kernel is used, and the library gets up to `workspace` bytes.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::ArrayAttr":$epilogues, "int64_t":$least_flops,
                        "int64_t":$workspace);
  let assemblyFormat = [{
    `<` $name `,` `epilogues` `=` $epilogues `,` `least_flops` `=` $least_flops `,` `workspace` `=` $workspace `>`
  }];
  let genVerifyDecl = 1;
}

def Weft_ScheduleAttr : Weft_Attr<"Schedule", "schedule"> {
  let summary = "how a fusion becomes a kernel";
  let description = [{
    Every number that the shape of a kernel depends on. `--weft-choose-schedules` chooses them by a pure function of shapes,
    dtypes and target, and keeps a schedule that is there; the verifier of `weft.fusion` proves that a schedule is
    right for its fusion, and whoever makes a kernel chooses nothing. `#weft.schedule<row, vector = 16, lanes = 16,
    partials = 64, prefetch = 4096, tasks = 64, grain = 4, scratch = 0>` begins with the kind of its fusion. The
    fields, each `name = number` but for the last two:

    - `vector`: elements that one step of the innermost loop handles.
    - `chunk` (`loop`, `multi_tensor`, and `update` of a window): elements of one task.
    - `tile_rows`, `tile_columns`, `tile_dim`, `squares` (`loop`, in place of `chunk`): a task is a tile of the domain,
      `tile_rows` along the dimension `tile_dim` by `tile_columns` along the innermost one, in which up to `squares`
      operands are transposed by way of scratch.
    - `lanes` (`row`, `scan`), `partials` (`row`), `rows` (`column`): the order of a reduction. Each has one value that
      is right, whatever the target.
    - `block` (`column`, `scan`, `update`): columns of one task.
    - `range` (`update`): places to write to of one task.
    - `prefetch` (`row`): bytes that are asked for ahead of those that are read.
    - `tasks`: the number of independent pieces of work, handed to threads in runs of `grain`; a size where it depends
      on dynamic dimensions.
    - `scratch`: bytes that a thread needs beside operands and results.
    - `keep = [2, 5]` (`row`, `column`): ops of the body, by their number in it, whose results one pass over a row, or
      down the rows of a block, stores in scratch for later passes.
    - `streaming` (`loop`, `row`, `column`): stores bypass the cache.
  }];
  let parameters = (ins "::weft::ir::FusionKind":$kind, ArrayRefParameter<"int64_t">:$numbers,
                        "::weft::ir::Size":$tasks, ArrayRefParameter<"int64_t">:$keep);
  let builders = [AttrBuilder<(ins "const ::weft::ir::Schedule &":$schedule), [{
    return $_get($_ctxt, schedule.kind, ::llvm::ArrayRef<int64_t>(schedule.numbers), schedule.tasks,
                 ::llvm::ArrayRef<int64_t>(schedule.keep));
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    bool has(ScheduleField field) const { return number(field) != noNumber; }
    /// The value of a field; `noNumber` where it is absent.
    int64_t number(ScheduleField field) const { return getNumbers()[static_cast<size_t>(field)]; }
    int64_t getVector() const { return number(ScheduleField::vector); }
    int64_t getGrain() const { return number(ScheduleField::grain); }
    int64_t getScratch() const { return number(ScheduleField::scratch); }
    bool getStreaming() const { return has(ScheduleField::streaming); }
    /// The same numbers, to be changed.
    Schedule toSchedule() const;
  }];
}

def Weft_SizeAttr : Weft_Attr<"Size", "size"> {
  let summary = "a number of bytes or elements that may depend on symbols";
  let description = [{ `#weft.size<64 * batch>`. }];
  let parameters = (ins "::weft::ir::Size":$size);
  let hasCustomAssemblyFormat = 1;
}

def Weft_SizesAttr : Weft_Attr<"Sizes", "sizes"> {
  let summary = "a list of sizes";
  let description = [{ `#weft.sizes<[4, 64 * batch]>`; in the text of an op, the list alone. }];
  let parameters = (ins ArrayRefParameter<"::weft::ir::Size">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

// As arguments of ops, whose accessors give the sizes themselves.
class Weft_SizeArgument<string attr, string predicate, string type, string what> :
    Attr<And<[CPred<"::llvm::isa<" # attr # ">($_self)">, CPred<predicate>]>, what> {
  let storageType = attr;
  let returnType = type;
  let constBuilderCall = attr # "::get($_builder.getContext(), $0)";
}
def Weft_Size : Weft_SizeArgument<"::weft::ir::SizeAttr",
    "::llvm::cast<::weft::ir::SizeAttr>($_self).getSize().isExpressible()", "::weft::ir::Size",
    "a size that can be expressed"> {
  let convertFromStorage = "$_self.getSize()";
}
def Weft_Sizes : Weft_SizeArgument<"::weft::ir::SizesAttr",
    "::llvm::all_of(::llvm::cast<::weft::ir::SizesAttr>($_self).getSizes(), ::weft::ir::isPolynomial)",
    "::llvm::ArrayRef<::weft::ir::Size>", "numbers, or sums of products of symbols"> {
  let convertFromStorage = "$_self.getSizes()";
}

def Weft_SliceAttr : Weft_Attr<"Slice", "slice"> {
  let summary = "where the memory plan puts a value";
  let description = [{
    `#weft.slice<arena, 256, 1024>` is 1,024 bytes at offset 256 of the arena; `#weft.slice<result, 0, 4>` the
    storage of the function's first result, `#weft.slice<argument, 2, 512>` that of its third argument,
    `#weft.slice<constant, 0, 4096>` bytes of the constant section. Position and bytes are sizes:
    `#weft.slice<arena, 64 * batch + 256, 40 * batch>`.
  }];
  let parameters = (ins "::weft::ir::StorageKind":$storage, "::weft::ir::Size":$position, "::weft::ir::Size":$bytes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

class Weft_TypeDef<string typeName, string typeMnemonic, string summaryText> : TypeDef<Weft_Dialect, typeName> {
  let mnemonic = typeMnemonic;
  let summary = summaryText;
}
def Weft_TokenType : Weft_TypeDef<"Token", "token", "a point in the order of effects">;
def Weft_EventType : Weft_TypeDef<"Event", "event", "a point that other queues, or the host, can wait for">;

def Weft_Tensor : Type<CPred<"::weft::ir::isWeftTensor($_self)">,
    "tensor of at most 64 dimensions and a supported element type, with a device, and a size for each dynamic dimension, as its encoding", "::mlir::RankedTensorType">;
class Weft_TensorWhere<string predicate, string what> :
    Type<And<[Weft_Tensor.predicate, CPred<predicate>]>, what, "::mlir::RankedTensorType">;
def Weft_FloatTensor : Weft_TensorWhere<
    "::llvm::isa<::mlir::FloatType>(::mlir::getElementTypeOrSelf($_self))", "floating-point tensor with a device">;
def Weft_IntTensor : Weft_TensorWhere<
    "::llvm::isa<::mlir::IntegerType>(::mlir::getElementTypeOrSelf($_self))", "integer tensor with a device">;
def Weft_BoolTensor : Weft_TensorWhere<
    "::mlir::getElementTypeOrSelf($_self).isInteger(1)", "i1 tensor with a device">;
def Weft_NumberTensor : Weft_TensorWhere<
    "!::mlir::getElementTypeOrSelf($_self).isInteger(1)", "tensor of numbers (not i1) with a device">;
def Weft_BoolScalar : Weft_TensorWhere<
    "::mlir::getElementTypeOrSelf($_self).isInteger(1) && ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0",
    "0-dimensional i1 tensor with a device">;
def Weft_F64Scalar : Weft_TensorWhere<
    "::mlir::getElementTypeOrSelf($_self).isF64() && ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0",
    "0-dimensional f64 tensor with a device">;
def Weft_I64Scalar : Weft_TensorWhere<
    "::mlir::getElementTypeOrSelf($_self).isInteger(64) && ::llvm::cast<::mlir::RankedTensorType>($_self).getRank() == 0",
    "0-dimensional i64 tensor with a device">;

#endif // WEFT_BASE_TD
