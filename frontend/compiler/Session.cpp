//===- Session.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/compiler/Session.h"

#include "frontend/compiler/CompilerContext.h"
#include "frontend/compiler/TraceFolder.h"
#include "frontend/graph/KernelParameter.h"
#include "frontend/graph/OpDefinitions.h"
#include "frontend/graph/Symbols.h"
#include "frontend/graph/Trace.h"

#include "codegen/Compile.h"
#include "codegen/kernel/KernelCompiler.h"
#include "ir/Diagnostics.h"
#include "ir/Dialect.h"
#include "ir/FunctionAttributes.h"
#include "ir/Loops.h"
#include "ir/RecordedLocation.h"
#include "ir/Specialize.h"
#include "ir/Target.h"
#include "runtime/device/Registry.h"
#include "runtime/queue/Profiler.h"
#include "runtime/support/LeastRecentlyUsed.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

#include <atomic>
#include <cassert>
#include <chrono>
#include <cstring>
#include <optional>

using namespace mlir;

namespace weft::frontend {

const std::vector<std::string> &fallibleOps() {
  // Never destroyed, like the contexts.
  static const auto *names = [] {
    auto *found = new std::vector<std::string>;
    const ContextUse use(0);
    for (RegisteredOperationName name : context().getRegisteredOperations())
      if (name.hasInterface<ir::FallibleOp>())
        found->push_back(name.stripDialect().str());
    return found;
  }();
  return *names;
}

static std::atomic<uint64_t> compiles{0};
uint64_t compileCount() { return compiles; }

//===----------------------------------------------------------------------===//
// From the frontend's types to MLIR's
//===----------------------------------------------------------------------===//

static ir::DeviceAttr toAttr(const Device &device) {
  return ir::DeviceAttr::get(&context(), device.is_cpu() ? ir::DeviceKind::cpu : ir::DeviceKind::cuda,
                             device.index().value_or(0));
}

static SmallVector<ir::Size> sizesOfEntries(ArrayRef<int64_t> entries) {
  SmallVector<ir::Size> sizes;
  for (int64_t entry : entries)
    sizes.push_back(sizeOf(entry));
  return sizes;
}

static RankedTensorType toType(const Spec &spec) {
  return ir::makeTensorType(sizesOfEntries(spec.shape), ir::toElementType(&context(), spec.dtype),
                            toAttr(spec.device));
}

static Spec toSpec(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  ir::DeviceAttr device = ir::deviceOf(type);
  Spec spec;
  spec.dtype = ir::dtypeOf(type);
  for (ir::Size size : ir::sizesOf(tensor))
    spec.shape.push_back(entryOf(size));
  spec.device = device.isCpu() ? Device() : Device(DeviceType::cuda, static_cast<int>(device.getIndex()));
  return spec;
}

static Attribute toAttr(const KernelParameter &parameter) {
  Builder b(&context());
  switch (parameter.role) {
  case KernelParameter::Role::in:
    return b.getStringAttr("in");
  case KernelParameter::Role::out:
    return b.getStringAttr("out");
  case KernelParameter::Role::in_out:
    return b.getStringAttr("in_out");
  case KernelParameter::Role::size:
    return ir::sizeAttr(&context(), sizeOf(static_cast<int64_t>(parameter.bits)));
  case KernelParameter::Role::number:
    break;
  }
  const Type type = ir::toElementType(&context(), parameter.dtype);
  const APInt bits = APInt(64, parameter.bits).trunc(type.getIntOrFloatBitWidth());
  if (auto real = dyn_cast<FloatType>(type))
    return FloatAttr::get(type, APFloat(real.getFloatSemantics(), bits));
  return IntegerAttr::get(type, bits);
}

/// In a module such an attribute is the name of the function.
bool isBodyAttr(std::string_view op, std::string_view name) {
  return (op == "scan" && name == "body") || (op == "cond" && (name == "then_body" || name == "else_body")) ||
         (op == "while" && (name == "condition" || name == "body"));
}

static Attribute toAttr(StringRef op, StringRef name, const AttrValue &value) {
  Builder b(&context());
  if (const auto *integer = std::get_if<int64_t>(&value))
    return ir::holdsSizes(name) ? Attribute(ir::SizeAttr::get(&context(), sizeOf(*integer)))
                                : b.getI64IntegerAttr(*integer);
  if (const auto *real = std::get_if<double>(&value))
    return b.getF64FloatAttr(*real);
  if (const auto *flag = std::get_if<bool>(&value))
    return *flag ? Attribute(b.getUnitAttr()) : Attribute();
  if (const auto *list = std::get_if<std::vector<int64_t>>(&value)) {
    // How many operands each of an op's groups has, where some are optional.
    if (name == "operandSegmentSizes")
      return b.getDenseI32ArrayAttr(SmallVector<int32_t>(list->begin(), list->end()));
    if (op == "raw_kernel" && name == "parameters")
      return b.getArrayAttr(llvm::map_to_vector(
          KernelParameter::read(*list), [](const KernelParameter &parameter) { return toAttr(parameter); }));
    return ir::holdsSizes(name) ? Attribute(ir::SizesAttr::get(&context(), sizesOfEntries(*list)))
                                : b.getDenseI64ArrayAttr(*list);
  }
  if (const auto *dtype = std::get_if<DType>(&value))
    return TypeAttr::get(ir::toElementType(&context(), *dtype));
  if (const auto *device = std::get_if<Device>(&value))
    return toAttr(*device);
  const auto &keyword = std::get<std::string>(value);
  if (isBodyAttr(op, name))
    return FlatSymbolRefAttr::get(&context(), keyword);
  if (auto registered = RegisteredOperationName::lookup(("weft." + op).str(), &context()))
    if (auto *keywords = registered->getInterface<ir::KeywordOp>())
      if (Attribute attr = keywords->keywordAttr(&context(), name, keyword))
        return attr;
  return b.getStringAttr(keyword);
}

/// Declares symbols on a function: those that one of its arguments has as a size.
static void declareSymbols(ir::FuncOp function, const std::vector<Dim> &symbols) {
  SmallVector<Attribute> attrs;
  for (const Dim &dim : symbols) {
    ir::Size size = ir::Size::symbol(dim.name());
    if (llvm::any_of(function.getArgumentTypes(),
                     [&](Type type) { return llvm::is_contained(ir::sizesOf(type), size); }))
      attrs.push_back(ir::SymbolAttr::get(&context(), dim.name(), dim.min(), dim.max()));
  }
  if (!attrs.empty())
    function->setAttr(ir::attr::symbols, ArrayAttr::get(&context(), attrs));
}

static Location toLocation(const Loc &loc) {
  return FileLineColLoc::get(&context(), loc.file_name(), loc.line(), loc.column());
}

/// Builds the op; its result types are inferred where `types` is empty, unless it has none.
static FailureOr<Operation *> buildOp(OpBuilder &builder, Location loc, StringRef name, ValueRange operands,
                                      ArrayRef<Attr> attrs, ArrayRef<Type> types, bool stopsGrad) {
  OperationState state(loc, ("weft." + name).str());
  state.addOperands(operands);
  for (const Attr &attr : attrs)
    if (Attribute value = toAttr(name, attr.name, attr.value))
      state.addAttribute(attr.name, value);
  auto registered = RegisteredOperationName::lookup(state.name.getStringRef(), &context());
  if (types.empty() && !(registered && registered->hasTrait<OpTrait::ZeroResults>())) {
    auto *inference = registered ? registered->getInterface<InferTypeOpInterface>() : nullptr;
    if (!inference)
      return failure();
    // Inference reads an op's attributes from its properties, which the op does not have before it exists.
    size_t bytes = registered->getOpPropertyByteSize();
    auto storage = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
    OpaqueProperties properties(bytes ? storage.get() : nullptr);
    DictionaryAttr dictionary = state.attributes.getDictionary(&context());
    if (bytes) {
      registered->initOpProperties(properties, nullptr);
      // Defaults first: what the attributes leave out keeps them.
      registered->populateDefaultProperties(properties);
    }
    auto release = llvm::make_scope_exit([&] {
      if (bytes)
        registered->destroyOpProperties(properties);
    });
    SmallVector<Type> inferred;
    if ((bytes && failed(registered->setOpPropertiesFromAttribute(*registered, properties, dictionary,
                                                                  [&] { return emitError(loc); }))) ||
        failed(inference->inferReturnTypes(&context(), loc, operands, dictionary, properties, {}, inferred)))
      return failure();
    state.addTypes(inferred);
  } else {
    state.addTypes(types);
  }
  // After inference: only the op's own attributes take part in that.
  if (stopsGrad)
    state.addAttribute(ir::attr::noGrad, builder.getUnitAttr());
  return builder.create(state);
}

//===----------------------------------------------------------------------===//
// Inference
//===----------------------------------------------------------------------===//

Expected<std::vector<Spec>> inferResults(const char *name, std::span<const Spec *const> operands,
                                         const std::vector<Attr> &attrs, std::span<const Spec> stated) {
  const ContextUse use(weightOfInference);
  ir::DiagnosticCollector said(&context());
  // A block with one argument per operand holds the op while its verifier looks at it.
  OpBuilder builder(&context());
  Location loc = UnknownLoc::get(&context());
  // The block stands in a function that declares the trace's symbols.
  OwningOpRef<ir::FuncOp> function = builder.create<ir::FuncOp>(loc, "f", builder.getFunctionType({}, {}));
  if (const Trace *trace = Trace::current(); trace && !trace->symbols.empty()) {
    SmallVector<Attribute> symbols;
    for (const Dim &dim : trace->symbols)
      symbols.push_back(ir::SymbolAttr::get(&context(), dim.name(), dim.min(), dim.max()));
    (*function)->setAttr(ir::attr::symbols, ArrayAttr::get(&context(), symbols));
  }
  Block &block = (*function).getBody().front();
  SmallVector<Value> values;
  for (const Spec *spec : operands)
    values.push_back(block.addArgument(toType(*spec), loc));
  builder.setInsertionPointToStart(&block);
  SmallVector<Type> types;
  for (const Spec &spec : stated)
    types.push_back(toType(spec));
  auto op = buildOp(builder, loc, name, values, attrs, types, false);
  if (failed(op) || failed(verify(*op)))
    return said.first(std::string("'weft.") + name + "' does not accept these operands");
  std::vector<Spec> specs;
  for (Type type : (*op)->getResultTypes())
    specs.push_back(toSpec(type));
  return specs;
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The constant of a node: numbers of the user by their bytes, since not every i64 is a double.
static Attribute splat(RankedTensorType type, const Node &node) {
  double value = node.number;
  int64_t whole = truncated(value);
  if (node.kind == NodeKind::number)
    std::memcpy(&whole, node.numberBytes.data(), sizeof(whole));

  Type element = type.getElementType();
  if (isa<FloatType>(element))
    return ir::splatOf(type, FloatAttr::get(element, value));
  if (element.isInteger(1))
    whole = value != 0;
  APInt bits = APInt(64, static_cast<uint64_t>(whole)).trunc(element.getIntOrFloatBitWidth());
  return ir::splatOf(type, IntegerAttr::get(element, bits));
}

static Spec onHost(Spec spec) {
  spec.device = Device();
  return spec;
}

static RankedTensorType inputType(const RegionArgument &argument) {
  return toType(isPassedOnHost(argument) ? onHost(argument.value.spec()) : argument.value.spec());
}
/// The name of a function in a module, by what it is made of. Equal bodies are one function.
static std::string nameOfBody(StringRef content) {
  return "body_" + llvm::utohexstr(llvm::xxh3_64bits(content), /*LowerCase=*/true, /*Width=*/16);
}

/// Makes the body of a loop, which its node has as text, a function of the module, and returns its name.
static std::string addBody(ModuleOp module, const std::string &text, const Region &region) {
  const std::string name = nameOfBody(text);
  if (module.lookupSymbol(name))
    return name;
  OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(text, ParserConfig(&context()));
  assert(parsed && "a printed body can be parsed");
  // The first function is the body, the others are those of loops in it.
  for (auto function : llvm::make_early_inc_range(parsed->getOps<ir::FuncOp>())) {
    if (function.getName() == "body")
      function.setName(name);
    if (module.lookupSymbol(function.getName()))
      continue;
    function.setPrivate();
    if (!region.options.numerics.empty())
      function->setAttr(ir::attr::numerics, StringAttr::get(&context(), region.options.numerics));
    function->moveBefore(module.getBody(), module.getBody()->end());
  }
  return name;
}

/// The attributes of a node in the module. Those that name bodies add them.
static std::vector<Attr> attrsOf(const Node &node, ModuleOp module, const Region &region) {
  std::vector<Attr> attrs = node.attrs;
  for (Attr &attr : attrs)
    if (isBodyAttr(node.name, attr.name))
      attr.value = addBody(module, std::get<std::string>(attr.value), region);
  return attrs;
}

static OwningOpRef<ModuleOp> emit(const Region &region) {
  Builder attrs(&context());
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context()));
  OpBuilder builder(module->getBodyRegion());
  SmallVector<Type> inputs, outputs;
  for (const RegionArgument &argument : region.arguments)
    inputs.push_back(inputType(argument));
  for (const RegionResult &result : region.results)
    outputs.push_back(toType(result.value.spec()));
  auto function =
      builder.create<ir::FuncOp>(module->getLoc(), region.name, attrs.getFunctionType(inputs, outputs));

  DenseMap<std::pair<const Node *, uint32_t>, Value> values;
  Block &block = function.getBody().front();
  // All at once: the attributes of a function's arguments are one array, copied whenever one is set.
  SmallVector<DictionaryAttr> argumentAttrs, resultAttrs;
  for (auto [i, argument] : llvm::enumerate(region.arguments)) {
    block.getArgument(i).setLoc(toLocation(argument.value.node->loc));
    values[{argument.value.node.get(), argument.value.result}] = block.getArgument(i);
    NamedAttrList list;
    if (!argument.name.empty())
      list.set(ir::attr::name, attrs.getStringAttr(argument.name));
    list.set(ir::attr::role, attrs.getStringAttr(ir::name(argument.role)));
    if (argument.donated)
      list.set(ir::attr::donated, attrs.getUnitAttr());
    if (!argument.strides.empty())
      list.set(ir::attr::strides, attrs.getDenseI64ArrayAttr(argument.strides));
    if (argument.alignment)
      list.set(ir::attr::alignment, attrs.getI64IntegerAttr(argument.alignment));
    argumentAttrs.push_back(list.getDictionary(&context()));
  }
  for (const RegionResult &result : region.results) {
    NamedAttrList list;
    if (!result.name.empty())
      list.set(ir::attr::name, attrs.getStringAttr(result.name));
    if (result.tiedTo >= 0)
      list.set(ir::attr::tied, attrs.getI64IntegerAttr(result.tiedTo));
    resultAttrs.push_back(list.getDictionary(&context()));
  }
  function.setAllArgAttrs(argumentAttrs);
  function.setAllResultAttrs(resultAttrs);

  declareSymbols(function, region.symbols);
  if (!region.options.numerics.empty())
    function->setAttr(ir::attr::numerics, attrs.getStringAttr(region.options.numerics));
  builder.setInsertionPointToStart(&block);
  for (auto [i, argument] : llvm::enumerate(region.arguments))
    if (isPassedOnHost(argument)) {
      const Ref &number = argument.value;
      values[{number.node.get(), number.result}] = builder.create<ir::TransferOp>(
          toLocation(number.node->loc), block.getArgument(i), ir::deviceOf(toType(number.spec())), true);
    }
  const std::unordered_set<const Node *> stops = gradientStops(region);
  int64_t fallible = 0;
  for (const Node *node : region.nodes) {
    Location loc = toLocation(node->loc);
    if (region.isLazy && mayFail(*node))
      loc = ir::recordedLocation(loc, fallible++);
    if (node->kind == NodeKind::constant || node->kind == NodeKind::number) {
      RankedTensorType type = toType(node->results[0].spec);
      values[{node, 0}] = builder.create<ir::ConstantOp>(loc, type, cast<ElementsAttr>(splat(type, *node)));
      continue;
    }
    SmallVector<Value> operands;
    for (const Ref &operand : node->operands)
      operands.push_back(values.lookup({operand.node.get(), operand.result}));
    SmallVector<Type> types;
    for (const NodeResult &result : node->results)
      types.push_back(toType(result.spec));
    Operation *op = *buildOp(builder, loc, node->name, operands, attrsOf(*node, *module, region), types,
                             stops.contains(node));
    for (uint32_t i = 0; i < op->getNumResults(); ++i)
      values[{node, i}] = op->getResult(i);
  }
  SmallVector<Value> returned;
  for (const RegionResult &result : region.results)
    returned.push_back(values.lookup({result.value.node.get(), result.value.result}));
  builder.create<ir::ReturnOp>(module->getLoc(), returned);
  return module;
}

/// Of a module that has been verified, which the printer would otherwise do once more.
static std::string print(ModuleOp module, bool withLines = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os, OpPrintingFlags().assumeVerified().enableDebugInfo(withLines));
  return text;
}

Expected<std::string> textOfBody(const Region &region) {
  const ContextUse use(weightOfInference);
  ir::DiagnosticCollector said(&context());
  OwningOpRef<ModuleOp> module = emit(region);
  if (failed(verify(*module)))
    return said.status("the body of a loop does not verify; this is an error of Weft");
  return print(*module, /*withLines=*/true); // those of its operations, which messages name
}

/// The text of a body with numbers in place of symbols.
static Expected<std::string> replaceSizes(const std::string &text,
                                          const std::map<std::string, int64_t> &sizes) {
  const ContextUse use(weightOfInference);
  ir::DiagnosticCollector said(&context());
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context()));
  assert(module && "a printed body can be parsed");
  std::string values;
  for (const auto &[symbol, value] : sizes)
    values += " " + symbol + "=" + std::to_string(value);
  // A module may run the bodies in it for several sizes.
  SymbolTable functions(*module);
  for (auto function : module->getOps<ir::FuncOp>())
    if (function.getName() != "body" &&
        failed(functions.rename(function, nameOfBody(function.getName().str() + values))))
      return Status::error("two bodies of a loop have one name; this is an error of Weft");
  if (failed(ir::specialize(*module, sizes)) || failed(verify(*module)))
    return said.status(
        "the body of a loop does not verify for the sizes of a call; this is an error of Weft");
  return print(*module, /*withLines=*/true);
}

Expected<std::string> textWithSizes(const std::string &text, const std::map<std::string, int64_t> &sizes) {
  if (sizes.empty())
    return text;
  constexpr size_t most = 256; // a call asks again for each of its bodies
  static auto *known =
      new runtime::LeastRecentlyUsed<std::pair<std::string, std::map<std::string, int64_t>>, std::string>(
          most);
  if (const std::string *found = known->find({text, sizes}))
    return *found;
  Expected<std::string> made = replaceSizes(text, sizes);
  if (made)
    known->insert({text, sizes}, *made);
  return made;
}

Expected<std::string> textWithoutLines(const std::string &text) {
  const ContextUse use(weightOfInference);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context()));
  assert(module && "a printed body can be parsed");
  // The names of the bodies in it are made of texts with lines.
  SymbolTable functions(*module);
  int64_t count = 0;
  for (auto function : module->getOps<ir::FuncOp>())
    if (function.getName() != "body" &&
        failed(functions.rename(function, "inner_" + std::to_string(count++))))
      return Status::error("two bodies of a loop have one name; this is an error of Weft");
  return print(*module);
}

struct TraceModule {
  std::shared_ptr<CompilerContext> context; ///< of the module, and destroyed after it
  OwningOpRef<ModuleOp> module;
};

bool isTargetOfPackages(const std::string &name) {
  std::string problem;
  const std::optional<ir::Target> target = ir::Target::parse(name, problem);
  return target && (target->isHostOnly() || target->getCuda());
}

Expected<std::vector<std::byte>> compileForShipping(const Program &program,
                                                    const std::vector<std::string> &targets) {
  const ContextUse use(program.trace->context);
  // The passes change the module that they run on.
  OwningOpRef<ModuleOp> module = program.trace->module->clone();
  // A package is for callers that are not known: they give row-major memory of the runtime's alignment.
  for (auto function : module->getOps<ir::FuncOp>()) {
    if (function.isPrivate()) // the body of a loop
      continue;
    SmallVector<DictionaryAttr> attributes;
    function.getAllArgAttrs(attributes);
    for (DictionaryAttr &own : attributes) {
      NamedAttrList kept(own);
      kept.erase(ir::attr::strides);
      kept.erase(ir::attr::alignment);
      own = kept.getDictionary(module->getContext());
    }
    function.setAllArgAttrs(attributes);
    llvm::BitVector dropped(function.getNumResults());
    for (unsigned i = 0; i < dropped.size(); ++i)
      dropped[i] = !program.shipped[i];
    function.getBody().front().getTerminator()->eraseOperands(dropped);
    function.eraseResults(dropped);
  }
  ir::CompilerOptions options = program.options;
  options.targets = targets;
  options.levels = {"x86-64-v3", "x86-64-v4"};
  options.strict.clear(); // an error then was one when the program was compiled
  auto compiled = codegen::compileModule(*module, options);
  if (!compiled)
    return compiled.status();
  return std::move(compiled->package);
}

/// The report of a program that was compiled, and the module with its launch lists, in the program's context.
static Expected<std::pair<codegen::CompileReport, OwningOpRef<ModuleOp>>>
reportAgain(const Program &program) {
  OwningOpRef<ModuleOp> module = program.trace->module->clone();
  ir::CompilerOptions options = program.options;
  options.strict.clear(); // an error then was one when the program was compiled
  auto report = codegen::explainModule(*module, options);
  if (!report)
    return report.status();
  report->passMs = program.passMs;
  report->kernelMs = program.kernelMs;
  report->kernelsCompiled = program.kernelsCompiled;
  report->kernelsFromCache = program.kernelsFromCache;
  return std::pair(std::move(*report), std::move(module));
}

Expected<std::string> explainInFull(const Program &program) {
  const ContextUse use(program.trace->context);
  auto made = reportAgain(program);
  if (!made)
    return made.status();
  return codegen::fullText(made->first, *made->second);
}

Expected<std::string> explainAsPage(const Program &program, const std::string &title,
                                    const std::string &notes) {
  const ContextUse use(program.trace->context);
  auto made = reportAgain(program);
  if (!made)
    return made.status();
  return codegen::htmlPage(made->first, title, notes);
}

/// The devices that the region has values on, beside the host.
static Expected<runtime::DeviceMap> devicesOf(const Region &region) {
  runtime::DeviceMap devices;
  Status status;
  const auto add = [&](const Spec &spec) {
    if (spec.device.is_cpu() || devices.contains(spec.device.str()))
      return;
    const Expected<runtime::Device *> found = runtime::open_device(spec.device.str());
    if (found)
      devices.insert({spec.device.str(), *found});
    else if (status.ok())
      status = found.status();
  };
  for (const RegionArgument &argument : region.arguments)
    add(argument.value.spec());
  for (const Node *node : region.nodes)
    for (const NodeResult &result : node->results)
      add(result.spec);
  for (const RegionResult &result : region.results)
    add(result.value.spec());
  if (!status.ok())
    return status;
  return devices;
}

/// The target for a program of the host and these devices, which are of one kind.
static std::string targetOf(const ir::CompilerOptions &options, const runtime::DeviceMap &devices) {
  std::string target = codegen::hostTarget(options);
  if (devices.empty())
    return target;
  const std::string_view code = devices.begin()->second->code();
  return target + "+" + (code == runtime::host_device().code() ? "host" : std::string(code));
}

/// Compiles the region; `record`, if given, gets its texts and numbers. The graph is read first. Then its
/// lock is released, if that is permitted, and `paused` says whether it was.
static Expected<std::shared_ptr<Program>> compileRecorded(const Region &region, CompilationRecord *record,
                                                          bool &paused) {
  auto start = std::chrono::steady_clock::now();
  // Declared before the context, so that the context is released before the lock is taken again: a thread
  // that waits for the context may hold the lock.
  std::optional<GraphPause> pause;
  const ContextUse use(weightOfCompilation);
  ir::DiagnosticCollector said(&context());
  OwningOpRef<ModuleOp> module = emit(region);
  auto program = std::make_shared<Program>();
  program->mayFail = !fallibleNodes(region).empty();
  if (failed(verify(*module)))
    return said.status("the trace does not verify; this is an error of Weft");
  program->traceText = print(*module);
  if (!region.isLazy) // lazy programs are not saved, and a kept module would keep its context
    program->trace = std::make_shared<TraceModule>(use.get(), module->clone());
  const Expected<runtime::DeviceMap> devices = devicesOf(region);
  if (!devices)
    return devices.status();
  program->options = region.options;
  program->options.target = targetOf(region.options, *devices);
  for (const RegionResult &result : region.results)
    program->shipped.push_back(result.shipped);
  paused = static_cast<bool>(pause.emplace());
  codegen::AfterPhase afterPhase;
  if (record) {
    record->recorded = program->traceText;
    afterPhase = [&](StringRef phase, ModuleOp after) {
      record->phases.emplace_back(phase.str(), print(after));
    };
  }
  auto compiled = codegen::compileModule(*module, program->options, afterPhase);
  if (!compiled)
    return said.empty() ? compiled.status() : compiled.status().context(said.text() + "\n");
  const codegen::CompileReport &report = compiled->report;
  program->planText = print(*module);
  program->explanation = report.str() + "every launch and decision: explain({.full = true})\n";
  program->passMs = report.passMs;
  program->kernelMs = report.kernelMs;
  program->kernelsCompiled = report.kernelsCompiled;
  program->kernelsFromCache = report.kernelsFromCache;
  if (record) {
    record->plan = program->planText;
    record->page = codegen::htmlPage(report, region.name, region.reason);
    for (const codegen::KernelReport &kernel : report.kernels)
      record->kernelIr += "// " + kernel.symbol + "\n" + kernel.kernelIr() + "\n";
    for (const codegen::FunctionReport &function : report.functions) {
      record->launches += function.launches.size();
      record->arenaBytes = std::max(record->arenaBytes, function.arenaBytes);
    }
    record->kernels = report.kernels.size();
    record->kernelsCompiled = report.kernelsCompiled;
    record->passMs = report.passMs;
    record->kernelMs = report.kernelMs;
  }
  program->package = std::move(compiled->package);
  auto package = runtime::Package::from_memory(program->package);
  if (!package)
    return package.status();
  auto executable = runtime::Executable::load(*package, region.name, nullptr, *devices);
  if (!executable)
    return executable.status();
  program->executable = std::move(*executable);
  program->compileMs = codegen::millisecondsSince(start);
  ++compiles;
  return program;
}

Expected<std::shared_ptr<Program>> compileRegion(const Region &region, bool &paused) {
  TraceFolder *folder = TraceFolder::current();
  const int64_t begin = runtime::Profiler::now();
  CompilationRecord record;
  auto program = compileRecorded(region, folder ? &record : nullptr, paused);
  const int64_t end = runtime::Profiler::now();
  const std::string name = region.isLazy ? "lazy" : region.name;
  if (runtime::Profiler::enabled())
    runtime::Profiler::get().record(runtime::Profiler::Span::compile, "compile '" + name + "'",
                                    region.reason + ", at " + str(region.loc), begin, end);
  if (folder) {
    record.name = name;
    record.reason = region.reason;
    record.signature = region.signature;
    record.place = str(region.loc);
    record.error = program ? "" : program.status().message();
    record.ms = static_cast<double>(end - begin) * 1e-6;
    folder->add(record);
  }
  return program;
}

} // namespace weft::frontend
