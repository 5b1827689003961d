//===- Decoder.h - Statements to instructions ------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decoder has one kernel and, at any time, one statement. The functions of the families of instructions
// (decode*.cpp) take its modifiers and operands and emit instructions. What nobody takes is an error, so that
// an unknown modifier never passes.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DECODER_H
#define WEFT_TEST_CUDASIM_DECODER_H

#include "Program.h"

#include <map>
#include <unordered_map>

namespace weft::cudasim {

/// Where a symbol lives.
struct Symbol {
  Space space = Space::global;
  uint64_t offset = 0; ///< in shared, local or param memory
  int32_t variable = -1;
  uint64_t size = 0;
  bool callParameter = false;            ///< a parameter of a device function, which is local memory here
  const Variable *declaration = nullptr; ///< of a shared variable of the module, which each kernel places
};

/// A register of the kernel being decoded.
struct Slot {
  uint32_t offset = 0, bytes = 0; ///< 0 bytes: a predicate
};

/// How an address operand is reached.
struct Address {
  Space space = Space::generic;
  uint32_t base = 0;   ///< the register that holds the address without its offset
  bool narrow = false; ///< a register of 32 bits
  int64_t offset = 0;
};

class Decoder {
public:
  Decoder(Program &program, const std::vector<Function> &functions,
          const std::unordered_map<std::string_view, Symbol> &globals, uint64_t &remainingCode);

  /// Decodes a whole kernel.
  KernelCode decode(const Function &entry);

  //===--------------------------------------------------------------------===//
  // For the families: the current statement
  //===--------------------------------------------------------------------===//

  /// The opcode without modifiers.
  std::string_view base() const { return modifiers[0]; }
  /// Takes a modifier if it is there.
  bool take(std::string_view modifier);
  /// Whether a modifier is there; it is not taken.
  bool has(std::string_view modifier) const;
  /// The number of the one that is there, which is taken; -1 if none is.
  int takeOneOf(std::initializer_list<std::string_view> list);
  /// Takes the next modifier that is a type.
  Type takeType();
  /// The same; none if there is none.
  Type takeOptionalType();
  /// Fails if a modifier is left over, or the number of operands is not between the two.
  void finish(size_t least, size_t most);
  void finish(size_t count) { finish(count, count); }
  [[noreturn]] void fail(std::string message) const;
  [[noreturn]] void failType(Type type) const;

  size_t operandCount() const { return statement->operands.size(); }
  const Operand &operand(size_t number) const { return statement->operands.at(number); }
  /// The register that operand `number` writes, of as many bytes as `type`.
  uint32_t result(size_t number, Type type) { return resultOf(operand(number), type); }
  uint32_t resultOf(const Operand &operand, Type type);
  /// The register or constant that operand `number` reads, of as many bytes as `type`.
  uint32_t source(size_t number, Type type) { return sourceOf(operand(number), type); }
  uint32_t sourceOf(const Operand &operand, Type type);
  /// The same for a predicate; `negated` gets whether it is.
  uint32_t predicate(const Operand &operand, bool &negated);
  uint32_t resultPredicate(const Operand &operand);
  /// A register of the text of any width; null if the operand is none.
  std::optional<Slot> registerOf(const Operand &operand);
  /// A result of type `type` whose register may be wider: the second is the register that the instruction
  /// writes, and `widen` must be called after it was emitted.
  struct Wide {
    Slot real;
    uint32_t offset;
    Type type;
  };
  Wide wideResult(const Operand &operand, Type type);
  void widen(const Wide &wide);
  /// A source of type `type` whose register may be wider.
  uint32_t narrowSource(const Operand &operand, Type type);
  Address address(const Operand &operand, Space space);
  std::optional<Symbol> symbol(std::string_view name);
  /// An integer that must be known while reading.
  int64_t constantInteger(size_t number) const;

  uint32_t constant(uint64_t bits, uint32_t bytes, int32_t variable = -1);
  uint32_t temporary(uint32_t bytes);
  /// A register that is written and never read, for results that are not wanted.
  uint32_t scratch(uint32_t bytes);

  /// Adds an instruction with the statement's guard; operands are to be filled in by the caller.
  Instruction &emit(Handler handler, std::initializer_list<uint32_t> operands = {});
  /// A branch whose target is the label's, once it is known.
  void emitBranch(std::string_view label, bool guarded = true);
  /// The targets of a label of kind `.branchtargets`.
  std::vector<std::string_view> branchTargets(std::string_view label) const;
  /// Puts the body of a function here.
  void inlineCall();
  /// Where the arguments of this call of a function without a result are in local memory. Fails if their
  /// sizes are others.
  std::vector<uint32_t> argumentsOfCall(std::initializer_list<uint32_t> sizes);
  /// A jump to the end of the function that is being inlined, or null in a kernel.
  bool emitReturn();
  Handler branchHandler = nullptr;
  Instruction &last() { return kernel.code.back(); }
  uint32_t position() const { return uint32_t(kernel.code.size()); }
  KernelCode &code() { return kernel; }

private:
  struct Scope {
    std::unordered_map<std::string_view, const Registers *> registers;
    std::vector<const Registers *> ranges;
    std::unordered_map<std::string_view, Symbol> symbols;
  };
  struct Fixup {
    uint32_t instruction;
    std::string_view label;
    int line;
  };
  struct Frame {
    const Function *function = nullptr;
    size_t firstScope = 0;
    std::unordered_map<std::string_view, uint32_t> labels;
    std::unordered_map<std::string_view, const Statement *> targets;
    std::vector<Fixup> fixups;
    std::vector<uint32_t> returns;
  };

  void layoutParameters(const Function &entry);
  void body(const Function &function, std::unordered_map<std::string_view, Symbol> bound);
  void decodeStatement(const Statement &statement);
  void declare(const Variable &variable);
  Symbol placed(std::vector<uint8_t> &valid, const Variable &variable, Space space, uint64_t limit);
  void splitOpcode();
  std::optional<Slot> findRegister(std::string_view name);
  std::optional<uint32_t> findSpecial(std::string_view name, Type type);
  uint32_t allocate(uint32_t bytes);
  uint64_t immediateBits(const Operand &operand, Type type) const;
  std::vector<Symbol> callVariables(const Operand &list);

  Program &program;
  const std::vector<Function> &functions;
  const std::unordered_map<std::string_view, Symbol> &globals;
  uint64_t &remainingCode;
  KernelCode kernel;
  const Statement *statement = nullptr;
  std::vector<std::string_view> modifiers; ///< empty views are those that were taken
  std::vector<Scope> scopes;
  std::vector<Frame> frames;
  std::map<std::pair<const void *, uint32_t>, Slot> slots; ///< by declaration and number
  std::map<std::tuple<uint64_t, uint32_t, int32_t>, uint32_t> constants;
  std::map<Special, uint32_t> specials;
  std::map<const Variable *, Symbol> placedVariables;
  std::map<uint32_t, uint32_t> scratches;
  uint64_t dynamicAlignment = 16;
  std::unordered_map<std::string_view, uint32_t> opcodeNumbers;
};

/// A family: decodes the statement if it knows its opcode.
using Family = void (*)(Decoder &decoder);
struct OpcodeRow {
  std::string_view name;
  Family decode;
};
std::span<const OpcodeRow> integerOpcodes();
std::span<const OpcodeRow> bitOpcodes();
std::span<const OpcodeRow> floatOpcodes();
std::span<const OpcodeRow> convertOpcodes();
std::span<const OpcodeRow> compareOpcodes();
std::span<const OpcodeRow> memoryOpcodes();
std::span<const OpcodeRow> controlOpcodes();
std::span<const OpcodeRow> warpOpcodes();
std::span<const OpcodeRow> matrixOpcodes();

/// add, sub, mul, fma, min, max, abs and neg have one name for integers and floats: these decode them if the
/// type is a float, given the type that was taken.
void decodeFloatArithmetic(Decoder &decoder, Type type);
/// bar.warp.sync, after its modifiers.
void decodeWarpBarrier(Decoder &decoder);
/// The same for halves and packed halves.
void decodeHalfArithmetic(Decoder &decoder, Type type);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_DECODER_H
