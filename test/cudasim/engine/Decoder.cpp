//===- Decoder.cpp - Statements to instructions --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace weft::cudasim {
namespace {

constexpr uint64_t mostRegisterBytes = 16 << 20, mostLocalBytes = 512 << 10, mostSharedBytes = 256 << 10;
constexpr uint32_t mostParameterBytes = 32764;
/// Between variables, so that an access behind the end of one is not an access to the next.
constexpr uint32_t gap = 32;
/// Instead of a variable: the offset of dynamic shared memory, which is known when the kernel is complete.
constexpr int32_t dynamicShared = -2;

const std::unordered_map<std::string_view, Family> &opcodeTable() {
  static const auto table = [] {
    std::unordered_map<std::string_view, Family> made;
    for (auto rows : {integerOpcodes(), bitOpcodes(), floatOpcodes(), convertOpcodes(), compareOpcodes(),
                      memoryOpcodes(), controlOpcodes(), warpOpcodes(), matrixOpcodes()})
      for (const OpcodeRow &row : rows)
        made.emplace(row.name, row.decode);
    return made;
  }();
  return table;
}

struct SpecialRow {
  std::string_view name;
  Special special;
  uint32_t bytes;
};
constexpr SpecialRow specialRows[] = {
    {"%tid.x", Special::tidX, 4},
    {"%tid.y", Special::tidY, 4},
    {"%tid.z", Special::tidZ, 4},
    {"%ntid.x", Special::ntidX, 4},
    {"%ntid.y", Special::ntidY, 4},
    {"%ntid.z", Special::ntidZ, 4},
    {"%ctaid.x", Special::ctaidX, 4},
    {"%ctaid.y", Special::ctaidY, 4},
    {"%ctaid.z", Special::ctaidZ, 4},
    {"%nctaid.x", Special::nctaidX, 4},
    {"%nctaid.y", Special::nctaidY, 4},
    {"%nctaid.z", Special::nctaidZ, 4},
    {"%laneid", Special::laneid, 4},
    {"%warpid", Special::warpid, 4},
    {"%nwarpid", Special::nwarpid, 4},
    {"%smid", Special::smid, 4},
    {"%nsmid", Special::nsmid, 4},
    {"%gridid", Special::gridid, 8},
    {"%lanemask_eq", Special::lanemaskEq, 4},
    {"%lanemask_le", Special::lanemaskLe, 4},
    {"%lanemask_lt", Special::lanemaskLt, 4},
    {"%lanemask_ge", Special::lanemaskGe, 4},
    {"%lanemask_gt", Special::lanemaskGt, 4},
    {"%dynamic_smem_size", Special::dynamicSmemSize, 4},
    {"%total_smem_size", Special::totalSmemSize, 4},
    {"%clock", Special::clock, 4},
    {"%clock_hi", Special::clockHi, 4},
    {"%clock64", Special::clock64, 8},
    {"%globaltimer", Special::globaltimer, 8},
};

/// Time passes: such a register is read anew by each instruction.
bool isClock(Special special) { return special >= Special::clock; }

template <class T> void readClock(Warp &warp, const Instruction &i, uint32_t mask) {
  uint64_t time = warp.block->steps * 4;
  T value = T(i.mode ? time >> 32 : time);
  forLanes(mask, [&](uint32_t lane) { warp.at<T>(i.operand[0])[lane] = value; });
}

template <class To, class From> void resize(Warp &warp, const Instruction &i, uint32_t mask) {
  To values[lanesOfWarp];
  for (uint32_t lane = 0; lane < lanesOfWarp; ++lane)
    values[lane] = To(warp.at<From>(i.operand[1])[lane]);
  store(warp.at<To>(i.operand[0]), values, mask);
}

template <class From> Handler resizeFrom(uint32_t to) {
  switch (to) {
  case 1:
    return resize<uint8_t, From>;
  case 2:
    return std::is_signed_v<From> ? resize<int16_t, From> : resize<uint16_t, From>;
  case 4:
    return std::is_signed_v<From> ? resize<int32_t, From> : resize<uint32_t, From>;
  default:
    return std::is_signed_v<From> ? resize<int64_t, From> : resize<uint64_t, From>;
  }
}

Handler resizer(uint32_t to, uint32_t from, bool sign) {
  switch (from) {
  case 1:
    return sign ? resizeFrom<int8_t>(to) : resizeFrom<uint8_t>(to);
  case 2:
    return sign ? resizeFrom<int16_t>(to) : resizeFrom<uint16_t>(to);
  case 4:
    return sign ? resizeFrom<int32_t>(to) : resizeFrom<uint32_t>(to);
  default:
    return resizeFrom<uint64_t>(to);
  }
}

} // namespace

std::vector<std::string> knownOpcodes() {
  std::vector<std::string> names;
  for (const auto &row : opcodeTable())
    names.emplace_back(row.first);
  std::sort(names.begin(), names.end());
  return names;
}

Decoder::Decoder(Program &program, const std::vector<Function> &functions,
                 const std::unordered_map<std::string_view, Symbol> &globals, uint64_t &remainingCode)
    : program(program), functions(functions), globals(globals), remainingCode(remainingCode) {}

void Decoder::fail(std::string message) const {
  failParsing(statement ? statement->line : 0, std::move(message),
              statement && statement->kind == Statement::Kind::instruction ? statement->opcode : "");
}

void Decoder::failType(Type type) const {
  fail("unknown for this type" + std::string(type == Type::none ? ", or the type is missing" : ""));
}

//===----------------------------------------------------------------------===//
// Modifiers
//===----------------------------------------------------------------------===//

void Decoder::splitOpcode() {
  modifiers.clear();
  std::string_view rest = statement->opcode;
  for (size_t dot; (dot = rest.find('.')) != std::string_view::npos; rest.remove_prefix(dot + 1))
    modifiers.push_back(rest.substr(0, dot));
  modifiers.push_back(rest);
}

bool Decoder::take(std::string_view modifier) {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (modifiers[i] == modifier) {
      modifiers[i] = {};
      return true;
    }
  return false;
}

bool Decoder::has(std::string_view modifier) const {
  return std::find(modifiers.begin() + 1, modifiers.end(), modifier) != modifiers.end();
}

int Decoder::takeOneOf(std::initializer_list<std::string_view> list) {
  int number = 0;
  for (std::string_view one : list) {
    if (take(one))
      return number;
    ++number;
  }
  return -1;
}

Type Decoder::takeOptionalType() {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (Type type = typeNamed(modifiers[i]); !modifiers[i].empty() && type != Type::none) {
      modifiers[i] = {};
      return type;
    }
  return Type::none;
}

Type Decoder::takeType() {
  Type type = takeOptionalType();
  if (type == Type::none)
    fail("a type is missing");
  return type;
}

void Decoder::finish(size_t least, size_t most) {
  for (size_t i = 1; i < modifiers.size(); ++i)
    if (!modifiers[i].empty())
      fail("the modifier '." + std::string(modifiers[i]) + "' is not known here");
  if (operandCount() < least || operandCount() > most)
    fail("has " + std::to_string(operandCount()) + " operands, and needs " + std::to_string(least) +
         (most > least ? " to " + std::to_string(most) : ""));
}

//===----------------------------------------------------------------------===//
// Registers and constants
//===----------------------------------------------------------------------===//

uint32_t Decoder::allocate(uint32_t bytes) {
  uint32_t offset = kernel.registerBytes;
  // A predicate is one word; the registers behind it stay aligned to 32 bytes.
  kernel.registerBytes += bytes ? bytes * lanesOfWarp : 32;
  if (kernel.registerBytes > mostRegisterBytes)
    fail("the kernel needs too many registers");
  return offset;
}

std::optional<Slot> Decoder::findRegister(std::string_view name) {
  size_t digits = name.size();
  while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
    --digits;
  for (size_t i = scopes.size(); i-- > frames.back().firstScope;) {
    const Registers *found = nullptr;
    uint32_t number = 0;
    if (auto it = scopes[i].registers.find(name); it != scopes[i].registers.end())
      found = it->second;
    for (const Registers *range : scopes[i].ranges) {
      if (found || !name.starts_with(range->name) || range->name.size() < digits ||
          range->name.size() == name.size())
        continue;
      uint32_t value = 0;
      auto [end, error] = std::from_chars(name.data() + range->name.size(), name.data() + name.size(), value);
      if (error == std::errc() && value < range->count)
        found = range, number = value;
    }
    if (!found)
      continue;
    auto [slot, isNew] = slots.try_emplace({found, number}, Slot{});
    if (isNew)
      slot->second = {allocate(sizeOf(found->type)), sizeOf(found->type)};
    return slot->second;
  }
  return {};
}

std::optional<uint32_t> Decoder::findSpecial(std::string_view name, Type type) {
  if (name == "WARP_SZ")
    return constant(lanesOfWarp, sizeOf(type));
  for (const SpecialRow &row : specialRows) {
    if (row.name != name)
      continue;
    if (row.bytes != sizeOf(type))
      fail("'" + std::string(name) + "' has another width");
    if (isClock(row.special)) {
      uint32_t offset = temporary(row.bytes);
      emit(row.bytes == 8 ? readClock<uint64_t> : readClock<uint32_t>, {offset}).mode =
          row.special == Special::clockHi;
      return offset;
    }
    auto [slot, isNew] = specials.try_emplace(row.special, 0);
    if (isNew) {
      slot->second = allocate(row.bytes);
      kernel.specials.push_back({row.special, slot->second});
    }
    return slot->second;
  }
  return {};
}

std::optional<Slot> Decoder::registerOf(const Operand &operand) {
  if (operand.kind != Operand::Kind::name || operand.value)
    return {};
  return findRegister(operand.name);
}

uint32_t Decoder::constant(uint64_t bits, uint32_t bytes, int32_t variable) {
  if (bytes < 8)
    bits &= (uint64_t(1) << 8 * bytes) - 1;
  auto [slot, isNew] = constants.try_emplace({bits, bytes, variable}, 0);
  if (isNew) {
    slot->second = allocate(bytes);
    kernel.constants.push_back({slot->second, bytes, bits, variable});
  }
  return slot->second;
}

uint32_t Decoder::temporary(uint32_t bytes) { return allocate(bytes); }

uint32_t Decoder::scratch(uint32_t bytes) {
  auto [slot, isNew] = scratches.try_emplace(bytes, 0);
  if (isNew)
    slot->second = allocate(bytes);
  return slot->second;
}

uint32_t Decoder::resultOf(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::sink)
    return scratch(sizeOf(type));
  std::optional<Slot> slot = registerOf(operand);
  if (!slot || operand.negated)
    fail("'" + std::string(operand.name) + "' is not a register that can be written");
  if (slot->bytes != sizeOf(type))
    fail("the register '" + std::string(operand.name) + "' has another width than the instruction");
  return slot->offset;
}

uint64_t Decoder::immediateBits(const Operand &operand, Type type) const {
  uint32_t bytes = sizeOf(type);
  switch (operand.kind) {
  case Operand::Kind::integer:
    if (type == Type::f32)
      return std::bit_cast<uint32_t>(float(operand.value));
    if (type == Type::f64)
      return std::bit_cast<uint64_t>(double(operand.value));
    return uint64_t(operand.value);
  case Operand::Kind::real32:
    if (bytes == 8 && type == Type::f64)
      return std::bit_cast<uint64_t>(double(std::bit_cast<float>(uint32_t(operand.bits))));
    if (bytes != 4)
      fail("a constant of 32 bits is not of the instruction's type");
    return operand.bits;
  default:
    if (type == Type::f32)
      return std::bit_cast<uint32_t>(float(std::bit_cast<double>(operand.bits)));
    if (bytes != 8)
      fail("a constant of 64 bits is not of the instruction's type");
    return operand.bits;
  }
}

uint32_t Decoder::sourceOf(const Operand &operand, Type type) {
  switch (operand.kind) {
  case Operand::Kind::integer:
  case Operand::Kind::real32:
  case Operand::Kind::real64:
    return constant(immediateBits(operand, type), sizeOf(type));
  case Operand::Kind::name:
    break;
  default:
    fail("an operand must be a register or a constant");
  }
  if (operand.negated)
    fail("'!' is for predicates");
  if (std::optional<Slot> slot = registerOf(operand)) {
    if (slot->bytes != sizeOf(type))
      fail("the register '" + std::string(operand.name) + "' has another width than the instruction");
    return slot->offset;
  }
  if (std::optional<uint32_t> special = findSpecial(operand.name, type))
    return *special;
  if (std::optional<Symbol> found = symbol(operand.name)) {
    if (isFloat(type) || sizeOf(type) < 4 || (found->variable >= 0 && sizeOf(type) < 8))
      fail("an address is not of the instruction's type");
    return constant(found->offset + operand.value, sizeOf(type), found->variable);
  }
  fail("'" + std::string(operand.name) + "' is not known");
}

uint32_t Decoder::predicate(const Operand &operand, bool &negated) {
  negated = operand.negated;
  if (operand.kind == Operand::Kind::integer) {
    negated = (operand.value != 0) == operand.negated;
    // The constant of all lanes is a word of ones.
    return constant(~uint64_t(0), 8);
  }
  std::optional<Slot> slot = registerOf(operand);
  if (!slot || slot->bytes)
    fail("'" + std::string(operand.name) + "' is not a predicate");
  return slot->offset;
}

uint32_t Decoder::resultPredicate(const Operand &operand) {
  if (operand.kind == Operand::Kind::sink)
    return scratch(0);
  bool negated;
  std::optional<Slot> slot = registerOf(operand);
  if (!slot || slot->bytes || operand.negated)
    fail("'" + std::string(operand.name) + "' is not a predicate that can be written");
  return predicate(operand, negated);
}

Decoder::Wide Decoder::wideResult(const Operand &operand, Type type) {
  if (operand.kind == Operand::Kind::sink)
    return {{0, 0}, scratch(sizeOf(type)), Type::none};
  std::optional<Slot> slot = registerOf(operand);
  if (!slot || !slot->bytes || slot->bytes < sizeOf(type))
    fail("'" + std::string(operand.name) + "' is not a register that is wide enough");
  if (slot->bytes == sizeOf(type))
    return {*slot, slot->offset, Type::none};
  return {*slot, temporary(sizeOf(type)), type};
}

void Decoder::widen(const Wide &wide) {
  if (wide.type != Type::none)
    emit(resizer(wide.real.bytes, sizeOf(wide.type), isSigned(wide.type)), {wide.real.offset, wide.offset});
}

uint32_t Decoder::narrowSource(const Operand &operand, Type type) {
  std::optional<Slot> slot = registerOf(operand);
  if (!slot || slot->bytes <= sizeOf(type))
    return sourceOf(operand, type);
  uint32_t narrow = temporary(sizeOf(type));
  emit(resizer(sizeOf(type), slot->bytes, false), {narrow, slot->offset});
  return narrow;
}

int64_t Decoder::constantInteger(size_t number) const {
  if (operand(number).kind != Operand::Kind::integer)
    fail("operand " + std::to_string(number + 1) + " must be an integer constant");
  return operand(number).value;
}

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

std::optional<Symbol> Decoder::symbol(std::string_view name) {
  size_t first = frames.empty() ? 0 : frames.back().firstScope;
  for (size_t i = scopes.size(); i-- > first;)
    if (auto it = scopes[i].symbols.find(name); it != scopes[i].symbols.end())
      return it->second;
  auto it = globals.find(name);
  if (it == globals.end())
    return {};
  const Variable *variable = it->second.declaration;
  if (!variable)
    return it->second;
  if (variable->isExtern) {
    kernel.usesDynamicShared = true;
    dynamicAlignment = std::max<uint64_t>(dynamicAlignment, variable->alignment);
    return Symbol{Space::shared, 0, dynamicShared, 0, false};
  }
  Symbol &known = placedVariables[variable];
  if (!known.size) {
    known = placed(kernel.sharedValid, *variable, Space::shared, mostSharedBytes);
    kernel.info.staticSharedBytes += uint32_t(variable->size);
  }
  return known;
}

Address Decoder::address(const Operand &operand, Space space) {
  Address made;
  made.space = space;
  made.offset = operand.value;
  if (operand.kind != Operand::Kind::address)
    fail("an address in brackets is expected");
  if (operand.name.empty()) {
    made.base = constant(0, 8);
    return made;
  }
  if (std::optional<Slot> slot = findRegister(operand.name)) {
    if (slot->bytes != 4 && slot->bytes != 8)
      fail("an address needs a register of 32 or 64 bits");
    made.base = slot->offset;
    made.narrow = slot->bytes == 4;
    return made;
  }
  std::optional<Symbol> found = symbol(operand.name);
  if (!found)
    fail("'" + std::string(operand.name) + "' is not known");
  if (found->callParameter)
    made.space = Space::local;
  else if (space != Space::generic && found->space != space &&
           !(found->variable >= 0 && (space == Space::global || space == Space::constant)))
    fail("'" + std::string(operand.name) + "' is in another space than the instruction");
  else if (space == Space::generic)
    made.space = found->space;
  made.base = constant(found->offset, 8, found->variable);
  return made;
}

Symbol Decoder::placed(std::vector<uint8_t> &valid, const Variable &variable, Space space, uint64_t limit) {
  uint64_t alignment = std::max<uint64_t>(variable.alignment, 1);
  uint64_t offset = (valid.size() + alignment - 1) / alignment * alignment;
  if (variable.size > limit || offset + variable.size + gap > limit + limit)
    fail("the variables of the kernel are too large");
  valid.resize(offset + variable.size + gap);
  std::fill_n(valid.begin() + int64_t(offset), variable.size, 1);
  return {space, offset, -1, variable.size, variable.space == Space::param};
}

void Decoder::declare(const Variable &variable) {
  Symbol &known = placedVariables[&variable];
  if (!known.size) {
    if (variable.space == Space::shared) {
      known = placed(kernel.sharedValid, variable, Space::shared, mostSharedBytes);
      kernel.info.staticSharedBytes += uint32_t(variable.size);
    } else if (variable.space == Space::local || variable.space == Space::param) {
      known = placed(kernel.localValid, variable, Space::local, mostLocalBytes);
      kernel.info.localBytes += variable.space == Space::local ? uint32_t(variable.size) : 0;
    } else {
      fail("a variable of a function must be shared or local");
    }
  }
  scopes.back().symbols[variable.name] = known;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Instruction &Decoder::emit(Handler handler, std::initializer_list<uint32_t> operands) {
  if (!remainingCode)
    fail("the module has too many instructions, or inlines too many calls");
  --remainingCode;
  Instruction made;
  made.run = handler;
  made.line = statement->line;
  auto [number, isNew] = opcodeNumbers.try_emplace(statement->opcode, uint32_t(kernel.opcodes.size()));
  if (isNew)
    kernel.opcodes.emplace_back(statement->opcode);
  made.opcode = number->second;
  std::copy(operands.begin(), operands.end(), made.operand.begin());
  if (!statement->guard.empty()) {
    std::optional<Slot> slot = findRegister(statement->guard);
    if (!slot || slot->bytes)
      fail("the guard '" + std::string(statement->guard) + "' is not a predicate");
    made.guard = slot->offset;
    made.guarded = true;
    made.guardNegated = statement->guardNegated;
  }
  kernel.code.push_back(made);
  return kernel.code.back();
}

void Decoder::emitBranch(std::string_view label, bool guarded) {
  Instruction &made = emit(branchHandler);
  made.guarded = made.guarded && guarded;
  frames.back().fixups.push_back({position() - 1, label, statement->line});
}

std::vector<std::string_view> Decoder::branchTargets(std::string_view label) const {
  auto found = frames.back().targets.find(label);
  if (found == frames.back().targets.end())
    fail("'" + std::string(label) + "' is not a list of branch targets");
  std::vector<std::string_view> labels;
  for (const Operand &one : found->second->operands)
    labels.push_back(one.name);
  return labels;
}

bool Decoder::emitReturn() {
  if (frames.size() == 1)
    return false;
  emit(branchHandler);
  frames.back().returns.push_back(position() - 1);
  return true;
}

void Decoder::decodeStatement(const Statement &next) {
  statement = &next;
  switch (next.kind) {
  case Statement::Kind::open:
    scopes.emplace_back();
    return;
  case Statement::Kind::close:
    scopes.pop_back();
    return;
  case Statement::Kind::label:
    if (!frames.back().labels.try_emplace(next.opcode, position()).second)
      fail("the label '" + std::string(next.opcode) + "' is there twice");
    return;
  case Statement::Kind::targets:
    return;
  case Statement::Kind::variable:
    return declare(next.variable);
  case Statement::Kind::registers:
    for (const Registers &registers : next.registers) {
      if (registers.type == Type::b128)
        fail("registers of 128 bits are not known");
      if (registers.count)
        scopes.back().ranges.push_back(&registers);
      else
        scopes.back().registers[registers.name] = &registers;
    }
    return;
  case Statement::Kind::instruction:
    break;
  }
  splitOpcode();
  auto found = opcodeTable().find(base());
  if (found == opcodeTable().end())
    fail("the opcode '" + std::string(base()) + "' is not known");
  found->second(*this);
}

void Decoder::body(const Function &function, std::unordered_map<std::string_view, Symbol> bound) {
  frames.push_back({});
  frames.back().function = &function;
  frames.back().firstScope = scopes.size();
  scopes.emplace_back();
  scopes.back().symbols = std::move(bound);
  for (const Statement &one : function.body)
    if (one.kind == Statement::Kind::targets)
      frames.back().targets[one.opcode] = &one;
  for (const Statement &one : function.body)
    decodeStatement(one);
  for (const Fixup &fixup : frames.back().fixups) {
    auto label = frames.back().labels.find(fixup.label);
    if (label == frames.back().labels.end())
      failParsing(fixup.line, "the label '" + std::string(fixup.label) + "' is not known");
    kernel.code[fixup.instruction].target = label->second;
  }
  for (uint32_t jump : frames.back().returns)
    kernel.code[jump].target = position();
  scopes.resize(frames.back().firstScope);
  frames.pop_back();
}

void Decoder::layoutParameters(const Function &entry) {
  for (const Variable &one : entry.parameters) {
    uint64_t offset = (kernel.info.parameterBytes + one.alignment - 1) / one.alignment * one.alignment;
    if (one.size > mostParameterBytes || offset + one.size > mostParameterBytes)
      failParsing(one.line, "the parameters have more than 32,764 bytes");
    kernel.info.parameters.push_back({uint32_t(offset), uint32_t(one.size), one.alignment});
    kernel.info.parameterBytes = uint32_t(offset + one.size);
  }
}

KernelCode Decoder::decode(const Function &entry) {
  kernel.info.name = entry.name;
  kernel.info.maxBlock = entry.maxBlock;
  kernel.info.exactBlock = entry.exactBlock;
  layoutParameters(entry);
  std::unordered_map<std::string_view, Symbol> bound;
  for (size_t i = 0; i < entry.parameters.size(); ++i)
    bound[entry.parameters[i].name] = {Space::param, kernel.info.parameters[i].offset, -1,
                                       kernel.info.parameters[i].size, false};
  body(entry, std::move(bound));
  // A body that does not end in `ret` ends there all the same.
  Statement end;
  end.line = entry.line;
  end.opcode = "ret";
  statement = &end;
  frames.push_back({});
  splitOpcode();
  opcodeTable().at("ret")(*this);
  frames.pop_back();
  size_t base = (kernel.sharedValid.size() + dynamicAlignment - 1) / dynamicAlignment * dynamicAlignment;
  if (kernel.usesDynamicShared)
    kernel.sharedValid.resize(base);
  for (ConstantSlot &one : kernel.constants)
    if (one.variable == dynamicShared) {
      one.bits += base;
      one.variable = -1;
    }
  kernel.info.instructions = kernel.code.size();
  statement = nullptr;
  return std::move(kernel);
}

} // namespace weft::cudasim
