//===- CudaPrinter.cpp - Functions, loops and memory ----------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "codegen/cuda/CudaPrinter.h"

#include "codegen/kernel/KernelIR.h"
#include "codegen/math/ExpandMath.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace weft::codegen {

static bool isVector(Type type) { return isa<VectorType>(type); }
static int64_t widthOf(Type type) { return cast<VectorType>(type).getNumElements(); }

/// Without the brackets around all of it.
static std::string bare(const std::string &code) {
  if (code.empty() || code.front() != '(')
    return code;
  int depth = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    depth += code[i] == '(' ? 1 : code[i] == ')' ? -1 : 0;
    if (depth == 0)
      return i + 1 == code.size() ? code.substr(1, i - 1) : code;
  }
  return code;
}

/// Whether `code` has the identifier `name`.
static bool mentions(const std::string &code, const std::string &name) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = code.find(name); at != std::string::npos; at = code.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at == 0 || !isWord(code[at - 1])) && (end == code.size() || !isWord(code[end])))
      return true;
  }
  return false;
}

Status CudaPrinter::unknown(Operation *op, StringRef why) const {
  std::string message;
  llvm::raw_string_ostream os(message);
  os << op->getLoc() << ": '" << op->getName() << "' has no form in CUDA C++";
  if (!why.empty())
    os << ": " << why;
  return Status::error(message);
}

void CudaPrinter::open(const Twine &code) {
  line(code + " {");
  indent += 2;
}

void CudaPrinter::close() {
  indent -= 2;
  line("}");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::string CudaPrinter::read(Value value, const std::string &lane) {
  const Form &form = forms.find(value)->second;
  if (!form.array)
    return form.name;
  if (lane.empty() || form.offset == 0)
    return form.name + "[" + (lane.empty() ? "0" : lane) + "]";
  int64_t number;
  if (!StringRef(lane).getAsInteger(10, number))
    return form.name + "[" + std::to_string(number + form.offset) + "]";
  return form.name + "[" + lane + " + " + std::to_string(form.offset) + "]";
}

std::string CudaPrinter::memory(Value buffer, Value index) {
  return read(buffer) + "[" + bare(read(index)) + "]";
}

std::string CudaPrinter::declare(Value value, bool isConst) {
  Type type = value.getType();
  Form form;
  form.name = fresh(getElementTypeOrSelf(type).isIndex() ? "i" : "v");
  form.array = isVector(type);
  std::string code =
      (isConst && !form.array ? "const " : "") + typeOf(getElementTypeOrSelf(type)) + " " + form.name;
  if (form.array)
    code += "[" + std::to_string(widthOf(type)) + "]";
  forms[value] = std::move(form);
  return code;
}

void CudaPrinter::assign(const std::string &target, Value source) {
  if (!isVector(source.getType())) {
    line(target + " = " + bare(read(source)) + ";");
    return;
  }
  line("#pragma unroll");
  line("for (int l = 0; l < " + Twine(widthOf(source.getType())) + "; ++l)");
  line("  " + target + "[l] = " + read(source, "l") + ";");
}

void CudaPrinter::declareAll(ValueRange values, ValueRange initial) {
  for (auto [i, value] : llvm::enumerate(values)) {
    std::string code = declare(value, /*isConst=*/false);
    if (initial.empty() || isVector(value.getType()))
      line(code + ";");
    else
      line(code + " = " + bare(read(initial[i])) + ";");
    if (!initial.empty() && isVector(value.getType()))
      assign(forms[value].name, initial[i]);
  }
}

/// All sources are read before the first target is written.
void CudaPrinter::assignAll(ValueRange targets, ValueRange sources) {
  bool overlap = false;
  for (auto [i, target] : llvm::enumerate(targets))
    for (auto [k, source] : llvm::enumerate(sources))
      overlap |= k > i && mentions(read(source, "l"), forms[target].name);
  SmallVector<std::string> copies;
  for (auto [target, source] : llvm::zip_equal(targets, sources)) {
    if (read(target) == read(source) && forms[target].offset == forms[source].offset)
      continue;
    if (!overlap) {
      assign(forms[target].name, source);
      continue;
    }
    Form copy = forms[source];
    const std::string type = typeOf(getElementTypeOrSelf(source.getType()));
    copy.name = fresh("next");
    if (isVector(source.getType())) {
      line(type + " " + copy.name + "[" + Twine(widthOf(source.getType())) + "];");
      assign(copy.name, source);
    } else {
      line("const " + type + " " + copy.name + " = " + bare(read(source)) + ";");
    }
    copies.push_back(copy.name);
  }
  if (!overlap)
    return;
  const auto *copy = copies.begin();
  for (auto [target, source] : llvm::zip_equal(targets, sources)) {
    if (read(target) == read(source) && forms[target].offset == forms[source].offset)
      continue;
    Form form{*copy++, isVector(source.getType()), 0};
    std::swap(forms[source], form);
    assign(forms[target].name, source);
    std::swap(forms[source], form);
  }
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

/// Arithmetic on vectors, lane by lane.
bool CudaPrinter::isLanewise(Operation *op) const {
  return op->getNumResults() == 1 && op->getNumRegions() == 0 && isVector(op->getResult(0).getType()) &&
         isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op->getDialect());
}

void CudaPrinter::flushLanes() {
  if (lanes.empty())
    return;
  SmallVector<Operation *> group;
  std::swap(group, lanes);
  llvm::SmallPtrSet<Operation *, 16> members(group.begin(), group.end());
  SmallVector<std::string> declarations;
  for (Operation *op : group) {
    Value result = op->getResult(0);
    const bool isLocal =
        llvm::all_of(result.getUsers(), [&](Operation *user) { return members.contains(user); });
    std::string code = declare(result, /*isConst=*/false);
    if (isLocal) {
      forms[result].array = false;
      declarations.push_back("const " + typeOf(getElementTypeOrSelf(result.getType())) + " " +
                             forms[result].name);
    } else {
      line(code + ";");
      declarations.push_back(read(result, "l"));
    }
  }
  line("#pragma unroll");
  open("for (int l = 0; l < " + Twine(widthOf(group.front()->getResult(0).getType())) + "; ++l)");
  for (auto [op, code] : llvm::zip_equal(group, declarations))
    line(code + " = " + bare(expression(op, "l")) + ";");
  close();
}

bool CudaPrinter::makeConstant(arith::ConstantOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getValue());
  Type element = getElementTypeOrSelf(op.getType());
  if (!elements) {
    forms[op] = {literal(element, op.getValue())};
    return true;
  }
  if (elements.isSplat()) {
    forms[op] = {literal(element, elements.getSplatValue<Attribute>())};
    return true;
  }
  SmallVector<std::string> all;
  for (Attribute value : elements.getValues<Attribute>())
    all.push_back(literal(element, value));
  std::string code = declare(op, /*isConst=*/false);
  line("const " + code + " = {" + llvm::join(all, ", ") + "};");
  return true;
}

/// The product that becomes one operation with the sum `op`, by the flags of both; null if there is none.
static arith::MulFOp fusedProduct(Operation *op) {
  auto allows = [](Operation *each) {
    auto math = dyn_cast<arith::ArithFastMathInterface>(each);
    return math && bitEnumContainsAll(math.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::contract);
  };
  if (!isa<arith::AddFOp, arith::SubFOp>(op) || !allows(op))
    return {};
  for (Value operand : op->getOperands()) {
    auto product = operand.getDefiningOp<arith::MulFOp>();
    if (product && allows(product) && product->hasOneUse() && product->getBlock() == op->getBlock())
      return product;
  }
  return {};
}

std::string CudaPrinter::contracted(Operation *op, const std::string &lane) {
  arith::MulFOp product = fusedProduct(op);
  if (!product)
    return "";
  const bool isFirst = op->getOperand(0) == product.getResult();
  std::string a = read(product.getLhs(), lane), b = read(product.getRhs(), lane),
              c = read(op->getOperand(isFirst ? 1 : 0), lane);
  if (isa<arith::SubFOp>(op))
    (isFirst ? c : a) = "-" + (isFirst ? c : a);
  const char *name = getElementTypeOrSelf(op->getResult(0).getType()).isF64() ? "fma" : "fmaf";
  return std::string(name) + "(" + a + ", " + b + ", " + c + ")";
}

bool CudaPrinter::makeInline(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return makeConstant(constant);
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op); broadcast && !isVector(broadcast.getSourceType())) {
    forms[broadcast] = {read(broadcast.getSource())};
    return true;
  }
  if (auto extract = dyn_cast<vector::ExtractOp>(op)) {
    if (extract.hasDynamicPosition() || extract.getStaticPosition().size() != 1)
      return false;
    forms[extract] = {read(extract.getVector(), std::to_string(extract.getStaticPosition().front()))};
    return true;
  }
  if (auto slice = dyn_cast<vector::ExtractStridedSliceOp>(op)) {
    Form form = forms.find(slice.getVector())->second;
    form.offset += form.array ? cast<IntegerAttr>(slice.getOffsets()[0]).getInt() : 0;
    form.part = form.array;
    forms[slice] = std::move(form);
    return true;
  }
  if (auto product = dyn_cast<arith::MulFOp>(op); product && product->hasOneUse())
    if (fusedProduct(*product->user_begin()) == product)
      return true; // contracted() prints it
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIndex() || !op->hasOneUse() ||
      (*op->user_begin())->getBlock() != op->getBlock())
    return false;
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::IndexCastOp, gpu::BlockIdOp, gpu::ThreadIdOp>(
          op))
    return false;
  forms[op->getResult(0)] = {expression(op, "")};
  return true;
}

Status CudaPrinter::block(Block &block) {
  for (Operation &op : block.without_terminator()) {
    if (op.use_empty() && isMemoryEffectFree(&op) && op.getNumRegions() == 0)
      continue;
    if (Status status = operation(&op); !status)
      return status;
  }
  flushLanes();
  return {};
}

Status CudaPrinter::operation(Operation *op) {
  // Ops that wait are printed before what reads them, or what has a loop of another width.
  const bool isPart = isLanewise(op) && !isa<arith::ConstantOp>(op);
  auto isWaiting = [&](Value value) { return llvm::is_contained(lanes, value.getDefiningOp()); };
  if (isPart ? !lanes.empty() &&
                   widthOf(lanes.front()->getResult(0).getType()) != widthOf(op->getResult(0).getType())
             : op->getNumRegions() > 0 || llvm::any_of(op->getOperands(), isWaiting))
    flushLanes();
  if (makeInline(op))
    return {};
  if (isPart) {
    if (expression(op, "l").empty())
      return unknown(op);
    lanes.push_back(op);
    forms[op->getResult(0)] = {"waiting"}; // until flushLanes() names it
    return {};
  }
  return llvm::TypeSwitch<Operation *, Status>(op)
      .Case([&](scf::ForOp loop_) { return loop(loop_); })
      .Case([&](scf::IfOp branch_) { return branch(branch_); })
      .Case([&](scf::WhileOp loop_) { return whileLoop(loop_); })
      .Case([&](func::CallOp call_) { return call(call_); })
      .Case([&](gpu::BarrierOp) {
        line("__syncthreads();");
        return Status();
      })
      .Case([&](gpu::ShuffleOp shuffle) { return exchange(shuffle); })
      .Case<memref::LoadOp, memref::StoreOp, vector::LoadOp, vector::StoreOp, memref::ViewOp,
            memref::AllocaOp, memref::PrefetchOp>([&](auto) { return access(op); })
      .Case<vector::FromElementsOp, vector::ShuffleOp, vector::BitCastOp, vector::ReductionOp,
            vector::BroadcastOp>([&](auto) { return moveLanes(op); })
      .Default([&](Operation *) -> Status {
        std::string code = op->getNumResults() == 1 ? expression(op, "") : "";
        if (code.empty())
          return unknown(op);
        line(declare(op->getResult(0), /*isConst=*/true) + " = " + bare(code) + ";");
        return {};
      });
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// The type of accesses, and its alignment; 0 for single elements.
struct AccessUnit {
  std::string type;
  int64_t bytes;
};
} // namespace

/// The accesses for so many bytes: as wide as possible, and all equally wide. Only accesses to global memory
/// have 32 bytes.
static AccessUnit accessUnit(int64_t bytes, const std::string &element, bool isGlobal) {
  return bytes % 32 == 0 && isGlobal ? AccessUnit{"weft_wide", 32}
         : bytes % 16 == 0           ? AccessUnit{"uint4", 16}
         : bytes % 8 == 0            ? AccessUnit{"uint2", 8}
         : bytes % 4 == 0            ? AccessUnit{"unsigned", 4}
         : bytes % 2 == 0            ? AccessUnit{"unsigned short", 2}
                                     : AccessUnit{element, 0};
}

/// Whether it is memory that the threads of a block share.
static bool isWorkgroup(MemRefType type) {
  auto space = dyn_cast_if_present<gpu::AddressSpaceAttr>(type.getMemorySpace());
  return space && space.getValue() == gpu::AddressSpace::Workgroup;
}

Status CudaPrinter::access(Operation *op) {
  struct Unit {
    std::string type, suffix; ///< "_any" if the address may be unaligned to the type
  };
  auto unitOf = [&](VectorType type, Value base, Value index) -> Unit {
    // A helper's pointers come from a table, and NVRTC does not know where they point to.
    const bool isGlobal =
        !isHelper && isa<BlockArgument>(base) && !isWorkgroup(cast<MemRefType>(base.getType()));
    Type element = type.getElementType();
    const int64_t item = element.isIndex() ? 8 : (element.getIntOrFloatBitWidth() + 7) / 8;
    const AccessUnit unit = accessUnit(item * type.getNumElements(), typeOf(element), isGlobal);
    const bool isAligned = unit.bytes == 0 || alignments.isAligned(base, index, item, unit.bytes);
    return {unit.type, isAligned ? "" : "_any"};
  };
  auto at = [&](Value buffer, Value index) { return read(buffer) + " + " + bare(read(index)); };
  if (auto load = dyn_cast<memref::LoadOp>(op)) {
    if (isVector(load.getType()) || load.getIndices().size() != 1)
      return unknown(op, "it reads a vector from memory of vectors");
    line(declare(load, /*isConst=*/true) + " = " + memory(load.getMemref(), load.getIndices()[0]) + ";");
  } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
    if (isVector(store.getValue().getType()) || store.getIndices().size() != 1)
      return unknown(op, "it writes a vector to memory of vectors");
    line(memory(store.getMemref(), store.getIndices()[0]) + " = " + bare(read(store.getValue())) + ";");
  } else if (auto load = dyn_cast<vector::LoadOp>(op)) {
    line(declare(load, /*isConst=*/false) + ";");
    const Unit unit = unitOf(load.getVectorType(), load.getBase(), load.getIndices()[0]);
    line("weft_load" + unit.suffix + "<" + unit.type + ">(" + forms[load].name + ", " +
         at(load.getBase(), load.getIndices()[0]) + ");");
  } else if (auto store = dyn_cast<vector::StoreOp>(op)) {
    Form form = forms.find(store.getValueToStore())->second;
    if (!form.array || form.part) { // one scalar in all lanes, or the lanes of a part
      Form copy{fresh("v"), true, 0};
      line(typeOf(store.getVectorType().getElementType()) + " " + copy.name + "[" +
           Twine(store.getVectorType().getNumElements()) + "];");
      assign(copy.name, store.getValueToStore());
      form = copy;
    }
    const Unit unit = unitOf(store.getVectorType(), store.getBase(), store.getIndices()[0]);
    // Neither are vectors of a helper's table stored whole unless the text says that they are global.
    const bool isKnown = !isHelper || isWorkgroup(cast<MemRefType>(store.getBase().getType())) ||
                         !isa<BlockArgument>(store.getBase()) || !StringRef(unit.type).starts_with("uint");
    line((isKnown ? "weft_store" : "weft_store_global") + unit.suffix + "<" + unit.type + ">(" +
         at(store.getBase(), store.getIndices()[0]) + ", " + form.name + ");");
  } else if (auto alloca = dyn_cast<memref::AllocaOp>(op)) {
    MemRefType type = alloca.getType();
    if (!type.hasStaticShape() || type.getRank() != 1)
      return unknown(op, "its size is not known");
    const bool isShared = isWorkgroup(type);
    forms[alloca] = {fresh(isShared ? "shared" : "scratch")};
    // What a text may declare, on every target.
    constexpr int64_t mostDeclared = 48 << 10;
    const std::string aligned = "__align__(" + std::to_string(declaredAlignment) + ") ";
    if (isShared && type.getDimSize(0) > mostDeclared) {
      dynamicShared = type.getDimSize(0);
      line("extern __shared__ " + aligned + typeOf(type.getElementType()) + " " + forms[alloca].name + "[];");
      return {};
    }
    line(Twine(isShared ? "__shared__ " : "") + aligned + typeOf(type.getElementType()) + " " +
         forms[alloca].name + "[" + Twine(type.getDimSize(0)) + "];");
  } else if (auto view = dyn_cast<memref::ViewOp>(op)) {
    const std::string type = typeOf(view.getType().getElementType());
    if (isVector(view.getType().getElementType()))
      return unknown(op, "it is memory of vectors");
    forms[view] = {fresh("s")};
    line(type + " *const " + forms[view].name + " = (" + type + " *)(" + read(view.getSource()) + " + " +
         read(view.getByteShift()) + ");");
  } // a prefetch is a hint that is not taken
  return {};
}

//===----------------------------------------------------------------------===//
// Lanes that move
//===----------------------------------------------------------------------===//

Status CudaPrinter::moveLanes(Operation *op) {
  if (auto reduction = dyn_cast<vector::ReductionOp>(op)) {
    if (reduction.getKind() != vector::CombiningKind::OR || !reduction.getType().isInteger(1))
      return unknown(op, "the only combination of lanes is 'or' of i1");
    std::string code;
    for (int64_t lane = 0; lane < widthOf(reduction.getVector().getType()); ++lane)
      code += (lane ? " | " : "") + read(reduction.getVector(), std::to_string(lane));
    line(declare(op->getResult(0), /*isConst=*/true) + " = " + code + ";");
    return {};
  }
  if (isa<vector::BroadcastOp>(op))
    return unknown(op, "it spreads a vector");
  SmallVector<std::string> all;
  if (auto elements = dyn_cast<vector::FromElementsOp>(op)) {
    for (Value element : elements.getElements())
      all.push_back(bare(read(element)));
  } else if (auto shuffle = dyn_cast<vector::ShuffleOp>(op)) {
    const int64_t first = widthOf(shuffle.getV1().getType());
    for (int64_t position : llvm::map_range(shuffle.getMask().getAsRange<IntegerAttr>(),
                                            [](IntegerAttr lane) { return lane.getInt(); }))
      all.push_back(position < first ? read(shuffle.getV1(), std::to_string(position))
                                     : read(shuffle.getV2(), std::to_string(position - first)));
  } else {
    auto cast_ = cast<vector::BitCastOp>(op);
    Type from = cast_.getSourceVectorType().getElementType(),
         to = cast_.getResultVectorType().getElementType();
    if (!from.isInteger(64) || !to.isInteger(32))
      return unknown(op, "the only one is of i64 to i32");
    for (int64_t lane = 0; lane < cast_.getSourceVectorType().getNumElements(); ++lane)
      for (const char *half : {"", " >> 32"})
        all.push_back("(unsigned)(" + read(cast_.getSource(), std::to_string(lane)) + half + ")");
  }
  line(declare(op->getResult(0), /*isConst=*/false) + " = {" + llvm::join(all, ", ") + "};");
  return {};
}

/// Values that threads of a warp exchange.
Status CudaPrinter::exchange(gpu::ShuffleOp op) {
  if (!op.getValid().use_empty() || op.getMode() == gpu::ShuffleMode::XOR)
    return unknown(op, "a value comes from an earlier or later thread of the group or from one of a number, "
                       "and whether there is such a thread is not asked");
  const char *name = op.getMode() == gpu::ShuffleMode::DOWN ? "weft_later"
                     : op.getMode() == gpu::ShuffleMode::UP ? "weft_earlier"
                                                            : "weft_of";
  line(declare(op.getShuffleResult(), /*isConst=*/true) + " = " + name + "(" + bare(read(op.getValue())) +
       ", " + bare(read(op.getOffset())) + ", " + bare(read(op.getWidth())) + ");");
  return {};
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

Status CudaPrinter::loop(scf::ForOp op) {
  Value at = op.getInductionVar();
  declareAll(op.getRegionIterArgs(), op.getInitArgs());
  const std::string low = bare(read(op.getLowerBound())), high = bare(read(op.getUpperBound()));
  const std::string step = bare(read(op.getStep())), first = declare(at, /*isConst=*/false);
  const std::string &name = forms[at].name;
  if (op->hasAttr(rolledAttribute))
    line("#pragma unroll 1");
  open("for (" + Twine(first) + " = " + low + "; " + name + " < " + high + "; " +
       (step == "1" || step == "1ll" ? "++" + name : name + " += " + step) + ")");
  if (Status status = block(*op.getBody()); !status)
    return status;
  assignAll(op.getRegionIterArgs(), op.getBody()->getTerminator()->getOperands());
  close();
  for (auto [result, argument] : llvm::zip_equal(op.getResults(), op.getRegionIterArgs()))
    forms[result] = Form(forms[argument]);
  return {};
}

Status CudaPrinter::whileLoop(scf::WhileOp op) {
  declareAll(op.getBeforeArguments(), op.getInits());
  declareAll(op.getAfterArguments(), {});
  open("while (true)");
  if (Status status = block(op.getBefore().front()); !status)
    return status;
  scf::ConditionOp condition = op.getConditionOp();
  assignAll(op.getAfterArguments(), condition.getArgs());
  line("if (!" + read(condition.getCondition()) + ")");
  line("  break;");
  if (Status status = block(op.getAfter().front()); !status)
    return status;
  assignAll(op.getBeforeArguments(), op.getYieldOp()->getOperands());
  close();
  for (auto [result, argument] : llvm::zip_equal(op.getResults(), op.getAfterArguments()))
    forms[result] = Form(forms[argument]);
  return {};
}

Status CudaPrinter::branch(scf::IfOp op) {
  declareAll(op.getResults(), {});
  open("if (" + Twine(bare(read(op.getCondition()))) + ")");
  for (Region *region : {&op.getThenRegion(), &op.getElseRegion()}) {
    if (region->empty())
      continue;
    if (region == &op.getElseRegion()) {
      indent -= 2;
      open("} else");
    }
    if (Status status = block(region->front()); !status)
      return status;
    assignAll(op.getResults(), region->front().getTerminator()->getOperands());
  }
  close();
  return {};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

Status CudaPrinter::call(func::CallOp op) {
  const StringRef callee = op.getCallee();
  const bool isBuffer = callee.starts_with(bufferPrefix), isSize = callee == sizeFunction;
  if ((isBuffer || isSize || callee == failFunction) && isHelper)
    return unknown(op, "a helper has no table of the launch, and no record of failures");
  if (isBuffer) {
    usesTable = true;
    auto type = cast<MemRefType>(op.getResult(0).getType());
    const std::string pointer = typeOf(type.getElementType()) + " *";
    forms[op.getResult(0)] = {fresh("t")};
    line(pointer + "const " + forms[op.getResult(0)].name + " = (" + pointer + ")buffers[" +
         bare(read(op.getOperand(0))) + "];");
    return {};
  }
  std::string code;
  if (isSize) {
    usesTable = true;
    code = "sizes[" + bare(read(op.getOperand(0))) + "]";
  } else {
    SmallVector<std::string> arguments;
    if (callee == failFunction) {
      usesChecks = true;
      arguments.emplace_back("checks");
    }
    for (Value operand : op.getOperands()) {
      if (isVector(operand.getType()))
        return unknown(op, "an argument is a vector");
      arguments.push_back(bare(read(operand)));
    }
    StringRef name = callee;
    if (name == failFunction)
      name = "weft_fail";
    name.consume_front(importPrefix);
    code = name.str() + "(" + llvm::join(arguments, ", ") + ")";
  }
  if (op.getNumResults() == 0)
    line(code + ";");
  else
    line(declare(op.getResult(0), /*isConst=*/true) + " = " + code + ";");
  return {};
}

/// Whether a buffer is stored to, here or in a function that gets it.
bool CudaPrinter::isWritten(Value buffer) const {
  return llvm::any_of(buffer.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto call = dyn_cast<func::CallOp>(user)) {
      auto callee = call->getParentOfType<ModuleOp>().lookupSymbol<func::FuncOp>(call.getCallee());
      return !callee || callee.isDeclaration() || isWritten(callee.getArgument(use.getOperandNumber()));
    }
    return !isa<memref::LoadOp, vector::LoadOp, memref::PrefetchOp>(user);
  });
}

std::string CudaPrinter::parameters(func::FuncOp function, unsigned count) {
  SmallVector<std::string> all;
  for (BlockArgument argument : function.getArguments().take_front(count)) {
    if (auto buffer = dyn_cast<MemRefType>(argument.getType())) {
      forms[argument] = {fresh("b")};
      all.push_back((isWritten(argument) ? "" : "const ") + typeOf(buffer.getElementType()) + " *" +
                    forms[argument].name);
    } else if (argument.getType().isIndex() && !isHelper) {
      forms[argument] = {fresh("n")}; // a size of the launch
      all.push_back("long long " + forms[argument].name);
    } else {
      forms[argument] = {fresh("a")};
      all.push_back(typeOf(argument.getType()) + " " + forms[argument].name);
    }
  }
  return llvm::join(all, ", ");
}

Status CudaPrinter::printHelper(func::FuncOp function) {
  forms.clear();
  counts.clear();
  isHelper = true;
  if (function.getNumResults() > 1)
    return unknown(function, "it has several results");
  std::string type = function.getNumResults() ? typeOf(function.getResultTypes().front()) : "void";
  open("static __device__ " + Twine(type) + " " + function.getName() + "(" +
       parameters(function, function.getNumArguments()) + ")");
  Block &body = function.getBody().front();
  if (Status status = block(body); !status)
    return status;
  if (function.getNumResults())
    line("return " + bare(read(body.getTerminator()->getOperand(0))) + ";");
  close();
  return {};
}

Status CudaPrinter::printKernel(func::FuncOp kernel, int64_t threads, int64_t resident) {
  forms.clear();
  counts.clear();
  isHelper = false;
  const unsigned own = kernel.getNumArguments() - 4;
  for (BlockArgument argument : kernel.getArguments().drop_front(own))
    if (!argument.use_empty())
      return unknown(*argument.user_begin(),
                     "it uses the scratch, the record or the tasks of a CPU's kernel");
  // What the body needs decides on the last parameters.
  const std::string before = std::move(text);
  text.clear();
  indent = 2;
  std::string given = parameters(kernel, own);
  usesPredicate = kernel->hasAttr(predicatedAttribute);
  if (usesPredicate) {
    line("if (*failed != ~0ull)");
    line("  return; // the call has failed, and this would write an argument");
  }
  Status status = block(kernel.getBody().front());
  indent = 0;
  if (!status)
    return status;
  const std::string body = std::move(text);
  auto also = [&](const std::string &more) { given += (given.empty() ? "" : ", ") + more; };
  for (size_t i = 0; i < divisors.size(); ++i)
    also("weft_reciprocal r" + std::to_string(i));
  if (usesTable)
    also("void *const *buffers, const long long *sizes");
  if (usesChecks)
    also("weft_checks checks");
  if (usesPredicate)
    also("const unsigned long long *failed");
  text = before + "extern \"C\" __global__ void __launch_bounds__(" + std::to_string(threads) +
         (resident ? ", " + std::to_string(resident) : "") + ")\n" + kernel.getName().str() + "(" + given +
         ") {\n" + body + "}\n";
  return {};
}

} // namespace weft::codegen
