//===- Syntax.h - PTX text to statements -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The syntax of PTX without the meaning of its instructions: variables, functions, and lists of statements.
// The string views point into the text, which must outlive them.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_SYNTAX_H
#define WEFT_TEST_CUDASIM_SYNTAX_H

#include "Engine.h"

namespace weft::cudasim {

/// Ends reading; `Module::parse` makes a ParseResult of it.
[[noreturn]] void failParsing(int line, std::string message, std::string_view opcode = {});

enum class Type : uint8_t {
  none,
  b8,
  b16,
  b32,
  b64,
  b128,
  u8,
  u16,
  u32,
  u64,
  s8,
  s16,
  s32,
  s64,
  f16,
  bf16,
  f16x2,
  bf16x2,
  tf32,
  f32,
  f64,
  pred,
  e4m3x2,
  e5m2x2,
};

/// Bytes of a value of the type; 0 for none and pred.
uint32_t sizeOf(Type type);
/// The type that ".f32" or "f32" names; none if it names none.
Type typeNamed(std::string_view name);
bool isSigned(Type type);
bool isFloat(Type type);

enum class Space : uint8_t { generic, global, constant, shared, local, param };

struct Operand {
  enum class Kind : uint8_t { name, integer, real32, real64, address, vector, pair, sink };
  Kind kind = Kind::sink;
  bool negated = false;  ///< !%p, or a minus sign before a name
  std::string_view name; ///< of a register or symbol; empty for an address that is a number
  int64_t value = 0;     ///< an integer, or the offset of an address or symbol
  uint64_t bits = 0;     ///< of a real number
  std::vector<Operand> elements;
};

/// A variable of a module or function, or a parameter.
struct Variable {
  int line = 0;
  Space space = Space::global;
  Type type = Type::none;
  std::string_view name;
  uint64_t size = 0; ///< bytes; 0 for an extern array without size
  uint32_t alignment = 1;
  bool isExtern = false;
  struct Initializer {
    uint64_t offset;
    uint32_t size;
    uint64_t bits;
    std::string_view symbol; ///< whose address is added, if not empty
  };
  std::vector<Initializer> initializers;
};

/// Registers that one declaration makes: `name`, or `name0` to `name(count-1)`.
struct Registers {
  Type type = Type::none;
  std::string_view name;
  uint32_t count = 0; ///< 0 for a single register
};

struct Statement {
  enum class Kind : uint8_t { instruction, label, open, close, variable, registers, targets };
  Kind kind = Kind::instruction;
  int line = 0;
  std::string_view guard;
  bool guardNegated = false;
  std::string_view opcode; ///< with modifiers; for a label its name
  std::vector<Operand> operands;
  Variable variable;
  std::vector<Registers> registers;
};

struct Function {
  int line = 0;
  std::string_view name;
  bool isEntry = false, hasBody = false, exactBlock = false;
  std::vector<Variable> results, parameters;
  std::vector<Statement> body;
  Dim maxBlock{0, 0, 0};
};

struct Text {
  int target = 0;
  std::vector<Variable> variables;
  std::vector<Function> functions;
};

/// Reads a whole text; calls `failParsing` if it is malformed.
Text readSyntax(std::string_view text);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_SYNTAX_H
