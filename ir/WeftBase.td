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
    Values are ranked tensors whose encoding is a device: `tensor<4x8xf32, #weft.device<cpu>>`. All operands of a
    compute op are on the same device; only `weft.transfer` moves a value to another device. There is no implicit
    promotion or broadcast: an importer inserts `weft.convert` and `weft.broadcast_in_dim`.
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
def Weft_StorageKind : Weft_Enum<"StorageKind", "the storage of a value", ["argument", "result", "arena", "constant"]>;
def Weft_FusionKind : Weft_Enum<"FusionKind", "the ops that a fusion may contain, and the form of its kernel",
    ["loop", "row", "column", "multi_tensor", "scan", "update"]>;
def Weft_GatherKind : Weft_Enum<"GatherKind", "how the dimensions of the index tensor appear in the result", ["along", "points"]>;
def Weft_IndexMode : Weft_Enum<"IndexMode", "how an index outside of its range is handled", ["check", "clip", "assume"]>;
def Weft_ScatterKind : Weft_Enum<"ScatterKind", "how a written element is combined with the old one",
    ["add", "set", "max", "min", "mul"]>;
def Weft_Factorization : Weft_Enum<"Factorization", "how matrices are factorized", ["cholesky", "lu", "qr", "eigh", "svd"]>;
def Weft_FourierKind : Weft_Enum<"FourierKind", "which sides of a Fourier transform are complex", ["c2c", "r2c", "c2r"]>;
def Weft_ReductionKind : Weft_Enum<"ReductionKind", "how a loss is reduced", ["none", "mean", "sum"]>;

class Weft_EnumAttr<EnumAttrInfo info, string mnemonic> : EnumAttr<Weft_Dialect, info, mnemonic> {
  let assemblyFormat = "$value";
}
def Weft_FusionKindAttr : Weft_EnumAttr<Weft_FusionKind, "fusion_kind">;
def Weft_GatherKindAttr : Weft_EnumAttr<Weft_GatherKind, "gather_kind">;
def Weft_IndexModeAttr : Weft_EnumAttr<Weft_IndexMode, "index_mode">;
def Weft_ScatterKindAttr : Weft_EnumAttr<Weft_ScatterKind, "scatter_kind">;
def Weft_FactorizationAttr : Weft_EnumAttr<Weft_Factorization, "factorization">;
def Weft_FourierKindAttr : Weft_EnumAttr<Weft_FourierKind, "fourier_kind">;
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
    The number of a CUDA device is logical: the caller maps it to a real device when a package is loaded.

    In the encoding of a type with dynamic dimensions it also has their sizes: for each `?`, in order, an expression
    over the function's symbols, as in `tensor<?x784xf32, #weft.device<cpu, [batch]>>`.
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
    /// The device without sizes, and with other sizes of dynamic dimensions.
    DeviceAttr withoutSizes() const;
    DeviceAttr withSizes(::llvm::ArrayRef<::weft::ir::Size> sizes) const;
  }];
}

def Weft_SymbolAttr : Weft_Attr<"Symbol", "symbol"> {
  let summary = "a size that may differ between the calls of a function";
  let description = [{
    `#weft.symbol<"batch", 1, 4096>` in the attribute `weft.symbols` of a function is the name that sizes of its types
    use, with its smallest and largest value. Some argument has a dimension of exactly this size, and the argument of a
    call determines the value.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$min, "int64_t":$max);
  let assemblyFormat = "`<` $name `,` $min `,` $max `>`";
  let genVerifyDecl = 1;
}

def Weft_LibraryAttr : Weft_Attr<"Library", "library"> {
  let summary = "the answer of a library of contractions";
  let description = [{
    `--weft-query-libraries` records the answer (ir/ContractionLibrary.h), and later passes decide by it. `name` is the
    library that computes the contraction, or `weft` for a kernel of Weft's own. `epilogues` are the epilogues that it
    applies (`bias`, `residual`, `relu`). Below `least_flops` operations Weft's kernel is used, and the library gets up
    to `workspace` bytes.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::ArrayAttr":$epilogues, "int64_t":$least_flops,
                        "int64_t":$workspace);
  let assemblyFormat = [{
    `<` $name `,` `epilogues` `=` $epilogues `,` `least_flops` `=` $least_flops `,` `workspace` `=` $workspace `>`
  }];
  let genVerifyDecl = 1;
}

def Weft_ScheduleAttr : Weft_Attr<"Schedule", "schedule"> {
  let summary = "the numbers that determine the kernel of a fusion";
  let description = [{
    A schedule has every number that the code of a kernel depends on. `--weft-choose-schedules` chooses them by a pure
    function of shapes, dtypes and target, for each fusion without a schedule. The verifier of `weft.fusion` proves that
    a schedule is correct for its fusion, and code generation chooses nothing. `#weft.schedule<row, vector = 16, lanes =
    16, partials = 64, prefetch = 4096, tasks = 64, grain = 4, scratch = 0>` begins with the kind of its fusion. The
    fields are `name = number`, except for the last two:

    - `threads`: the threads of a device that share a task; absent for a CPU.
    - `vector`: elements of one step of the innermost loop.
    - `chunk` (`loop`, `multi_tensor`, and `update` of a window): elements of a task. Of a `row` that threads share: the
      elements that they hold in registers, which are the whole row.
    - `tile_rows`, `tile_columns`, `tile_dim`, `squares` (`loop`, instead of `chunk`): a task is a tile of the domain,
      with `tile_rows` elements along dimension `tile_dim` and `tile_columns` along the innermost dimension. Up to
      `squares` operands are transposed through scratch, by a block of threads in shared memory. On a device without
      `squares` (and for a window of an `update`), the rows of a tile lie along all dimensions up to `tile_dim`, and its
      columns along all dimensions after it.
    - `lanes` (`row`, `scan`), `partials` (`row`), `rows` (`column`): the order of a reduction. Each has one correct
      value. Of rows and columns that threads share, `lanes` and `rows` are the number of these threads.
    - `block` (`column`, `scan`, `update`): columns of a task. Of a `row` that threads share and do not hold in registers:
      the elements of whole vectors, which they hold in shared memory.
    - `range` (`update`): indices of the written dimension that a task writes to.
    - `prefetch` (`row`): the distance of prefetches, in bytes.
    - `tasks`: the number of tasks, which are independent; an expression if it depends on dynamic dimensions.
    - `grain`: the number of consecutive tasks that a thread takes at a time.
    - `scratch`: bytes of scratch memory of each thread.
    - `keep = [2, 5]` (`row`, `column`): the ops whose results one pass over the rows keeps in scratch for later passes,
      by their number in the body.
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
    /// The value of a field; `noNumber` if it is absent.
    int64_t number(ScheduleField field) const { return getNumbers()[static_cast<size_t>(field)]; }
    int64_t getVector() const { return number(ScheduleField::vector); }
    int64_t getGrain() const { return number(ScheduleField::grain); }
    int64_t getScratch() const { return number(ScheduleField::scratch); }
    bool getStreaming() const { return has(ScheduleField::streaming); }
    /// A copy of the numbers that can be changed.
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
  let description = [{ `#weft.sizes<[4, 64 * batch]>`. In the text of an op only the list is written. }];
  let parameters = (ins ArrayRefParameter<"::weft::ir::Size">:$sizes);
  let hasCustomAssemblyFormat = 1;
}

// Sizes as arguments of ops, whose accessors return Size and not the attribute.
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
  let summary = "the storage that the memory plan assigns to a value";
  let description = [{
    `#weft.slice<arena, 256, 1024>` is 1,024 bytes at offset 256 of the arena. `#weft.slice<result, 0, 4>` is the
    storage of the function's first result, and `#weft.slice<argument, 2, 512>` that of its third argument.
    `#weft.slice<constant, 0, 4096>` is the first 4,096 bytes of the constant section. Position and bytes are sizes:
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
