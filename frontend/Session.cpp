//===- Session.cpp -------------------------------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "frontend/Session.h"

#include "frontend/Trace.h"

#include "codegen/Compile.h"
#include "ir/Dialect.h"
#include "ir/FunctionAttributes.h"
#include "ir/RecordedLocation.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/ScopeExit.h"

#include <atomic>
#include <chrono>
#include <cstring>

using namespace mlir;

namespace weft::frontend {

static MLIRContext &context() {
  // Never destroyed: tensors in global variables may outlive every static object.
  static MLIRContext *context = [] {
    DialectRegistry registry;
    ir::registerDialect(registry);
    auto *made = new MLIRContext(registry, MLIRContext::Threading::DISABLED);
    made->loadDialect<ir::WeftDialect>();
    made->printOpOnDiagnostic(false);
    return made;
  }();
  return *context;
}

const std::vector<std::string> &fallibleOps() {
  // Never destroyed, as the context.
  static const auto *names = [] {
    auto *found = new std::vector<std::string>;
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

static RankedTensorType toType(const Spec &spec) {
  return ir::makeTensorType(spec.shape, ir::toElementType(&context(), spec.dtype), toAttr(spec.device));
}

static Spec toSpec(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  ir::DeviceAttr device = ir::deviceOf(type);
  Spec spec;
  spec.dtype = ir::dtypeOf(type);
  spec.shape = ir::sizesOf(tensor).vec();
  spec.device = device.isCpu() ? Device() : Device(DeviceType::cuda, static_cast<int>(device.getIndex()));
  return spec;
}

static Attribute toAttr(StringRef op, StringRef name, const AttrValue &value) {
  Builder b(&context());
  if (const auto *integer = std::get_if<int64_t>(&value))
    return b.getI64IntegerAttr(*integer);
  if (const auto *real = std::get_if<double>(&value))
    return b.getF64FloatAttr(*real);
  if (const auto *flag = std::get_if<bool>(&value))
    return *flag ? Attribute(b.getUnitAttr()) : Attribute();
  if (const auto *list = std::get_if<std::vector<int64_t>>(&value)) {
    // How many operands each of an op's groups has, where some are optional.
    if (name == "operandSegmentSizes")
      return b.getDenseI32ArrayAttr(SmallVector<int32_t>(list->begin(), list->end()));
    return b.getDenseI64ArrayAttr(*list);
  }
  if (const auto *dtype = std::get_if<DType>(&value))
    return TypeAttr::get(ir::toElementType(&context(), *dtype));
  if (const auto *device = std::get_if<Device>(&value))
    return toAttr(*device);
  const auto &keyword = std::get<std::string>(value);
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
    int64_t size = ir::symbolSize(dim.name());
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
                                         const std::vector<Attr> &attrs) {
  std::string message;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    if (message.empty())
      message = diagnostic.str();
    return success();
  });
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
  auto op = buildOp(builder, loc, name, values, attrs, {}, false);
  if (failed(op) || failed(verify(*op))) {
    if (message.empty())
      message = std::string("'weft.") + name + "' cannot take these operands";
    return Status::error(message);
  }
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

static OwningOpRef<ModuleOp> emit(const Region &region) {
  Builder attrs(&context());
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(&context()));
  OpBuilder builder(module->getBodyRegion());
  SmallVector<Type> inputs, outputs;
  for (const RegionArgument &argument : region.arguments)
    inputs.push_back(toType(argument.value.spec()));
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
    list.set(ir::attr::role, attrs.getStringAttr(argument.role));
    if (argument.donated)
      list.set(ir::attr::donated, attrs.getUnitAttr());
    if (!argument.strides.empty())
      list.set(ir::attr::strides, attrs.getDenseI64ArrayAttr(argument.strides));
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
  if (region.fast)
    function->setAttr(ir::attr::numerics, attrs.getStringAttr("fast"));
  builder.setInsertionPointToStart(&block);
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
    Operation *op = *buildOp(builder, loc, node->name, operands, node->attrs, types, stops.contains(node));
    for (uint32_t i = 0; i < op->getNumResults(); ++i)
      values[{node, i}] = op->getResult(i);
  }
  SmallVector<Value> returned;
  for (const RegionResult &result : region.results)
    returned.push_back(values.lookup({result.value.node.get(), result.value.result}));
  builder.create<ir::ReturnOp>(module->getLoc(), returned);
  return module;
}

static std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

std::string emitText(const Region &region) { return print(*emit(region)); }

struct TraceModule {
  OwningOpRef<ModuleOp> module;
};

Expected<std::vector<std::byte>> compileForShipping(const Program &program) {
  // The passes change the module that they run on.
  OwningOpRef<ModuleOp> module = program.trace->module->clone();
  // A package is for callers that are not known: they give row-major memory.
  for (auto function : module->getOps<ir::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      function.removeArgAttr(i, ir::attr::strides);
  codegen::CompileOptions options;
  options.levels = {codegen::CpuTarget::v3, codegen::CpuTarget::v4};
  options.pipeline.memoryLimit = program.memoryLimit;
  auto compiled = codegen::compileModule(*module, options);
  if (!compiled)
    return compiled.status();
  return std::move(compiled->package);
}

Expected<std::shared_ptr<Program>> compileRegion(const Region &region) {
  auto start = std::chrono::steady_clock::now();
  std::string messages;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    std::string at;
    llvm::raw_string_ostream os(at);
    diagnostic.getLocation().print(os);
    messages += (messages.empty() ? "" : "\n") + diagnostic.str() + " " + at;
    return success();
  });
  OwningOpRef<ModuleOp> module = emit(region);
  auto program = std::make_shared<Program>();
  program->traceText = print(*module);
  program->mayFail = !fallibleNodes(region).empty();
  if (failed(verify(*module)))
    return Status::error(messages);
  program->trace = std::make_shared<TraceModule>(module->clone());
  codegen::CompileOptions options;
  options.pipeline.strict = region.strict;
  options.pipeline.memoryLimit = program->memoryLimit = region.memoryLimit;
  auto compiled = codegen::compileModule(*module, options);
  if (!compiled)
    return messages.empty() ? compiled.status() : compiled.status().context(messages + "\n");
  program->planText = print(*module);
  program->explanation = compiled->report.str();
  program->package = std::move(compiled->package);
  auto package = runtime::Package::from_memory(program->package);
  if (!package)
    return package.status();
  auto executable = runtime::Executable::load(*package, region.name);
  if (!executable)
    return executable.status();
  program->executable = std::move(*executable);
  program->compileMs =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  ++compiles;
  return program;
}

} // namespace weft::frontend
