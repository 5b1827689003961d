//===- Syntax.cpp - PTX text to statements -------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Lexer.h"

#include <algorithm>
#include <bit>
#include <charconv>

namespace weft::cudasim {

void failParsing(int line, std::string message, std::string_view opcode) {
  throw ParseError{line, std::string(opcode), std::move(message)};
}

namespace {
struct TypeRow {
  std::string_view name;
  Type type;
  uint32_t size;
};
constexpr TypeRow types[] = {
    {"b8", Type::b8, 1},         {"b16", Type::b16, 2},       {"b32", Type::b32, 4},
    {"b64", Type::b64, 8},       {"b128", Type::b128, 16},    {"u8", Type::u8, 1},
    {"u16", Type::u16, 2},       {"u32", Type::u32, 4},       {"u64", Type::u64, 8},
    {"s8", Type::s8, 1},         {"s16", Type::s16, 2},       {"s32", Type::s32, 4},
    {"s64", Type::s64, 8},       {"f16", Type::f16, 2},       {"bf16", Type::bf16, 2},
    {"f16x2", Type::f16x2, 4},   {"bf16x2", Type::bf16x2, 4}, {"tf32", Type::tf32, 4},
    {"f32", Type::f32, 4},       {"f64", Type::f64, 8},       {"pred", Type::pred, 0},
    {"e4m3x2", Type::e4m3x2, 2}, {"e5m2x2", Type::e5m2x2, 2},
};
} // namespace

uint32_t sizeOf(Type type) {
  for (const TypeRow &row : types)
    if (row.type == type)
      return row.size;
  return 0;
}

Type typeNamed(std::string_view name) {
  if (!name.empty() && name[0] == '.')
    name.remove_prefix(1);
  for (const TypeRow &row : types)
    if (row.name == name)
      return row.type;
  return Type::none;
}

bool isSigned(Type type) { return type >= Type::s8 && type <= Type::s64; }
bool isFloat(Type type) { return type >= Type::f16 && type <= Type::f64; }

namespace {

/// Bounds of what a text may ask for, so that a malformed one needs little memory.
constexpr uint64_t mostBytes = uint64_t(1) << 30;
constexpr uint32_t mostRegisters = 1 << 24;
constexpr int deepestScope = 200;

class Reader {
public:
  explicit Reader(std::string_view text) : tokens(tokenize(text)) {}

  Text run() {
    while (peek().kind != Token::Kind::end)
      topLevel();
    return std::move(result);
  }

private:
  const Token &peek(size_t ahead = 0) const { return tokens[std::min(at + ahead, tokens.size() - 1)]; }
  const Token &take() { return tokens[at + 1 < tokens.size() ? at++ : at]; }
  bool is(char symbol, size_t ahead = 0) const {
    return peek(ahead).kind == Token::Kind::symbol && peek(ahead).symbol == symbol;
  }
  bool is(std::string_view word) const { return peek().kind == Token::Kind::word && peek().word == word; }
  bool accept(char symbol) { return is(symbol) && (take(), true); }
  bool accept(std::string_view word) { return is(word) && (take(), true); }
  void expect(char symbol) {
    if (!accept(symbol))
      fail(std::string("'") + symbol + "' is expected here");
  }
  [[noreturn]] void fail(std::string message) const { failParsing(peek().line, std::move(message)); }
  bool isDirective() const { return peek().kind == Token::Kind::word && peek().word[0] == '.'; }

  std::string_view name() {
    if (peek().kind != Token::Kind::word || isDirective())
      fail("a name is expected here");
    return take().word;
  }
  uint64_t integer() {
    if (peek().kind != Token::Kind::integer)
      fail("an integer is expected here");
    return take().bits;
  }
  void skipLine() {
    for (int line = peek().line; peek().line == line && peek().kind != Token::Kind::end;)
      take();
  }

  void topLevel() {
    if (accept(".version")) {
      if (peek().kind != Token::Kind::real64)
        fail("the version of PTX is expected here, such as 9.0");
      take();
    } else if (accept(".target")) {
      target();
    } else if (accept(".address_size")) {
      if (integer() != 64)
        fail("addresses must have 64 bits");
    } else if (is(".file") || is(".loc")) {
      skipLine();
    } else if (accept(".section")) {
      skipBraces();
    } else if (accept(".pragma")) {
      skipPragma();
    } else {
      linkable();
    }
  }

  void target() {
    std::string_view word = name();
    if (word.starts_with("sm_"))
      std::from_chars(word.data() + 3, word.data() + word.size(), result.target);
    if (result.target < 50)
      fail("the target must be sm_50 or later");
    while (accept(','))
      name();
  }

  void skipPragma() {
    while (!is(';') && peek().kind != Token::Kind::end)
      take();
    expect(';');
  }

  void skipBraces() {
    while (!is('{') && peek().kind != Token::Kind::end)
      take();
    expect('{');
    for (int depth = 1; depth;) {
      if (peek().kind == Token::Kind::end)
        fail("a brace is not closed");
      depth += is('{') ? 1 : is('}') ? -1 : 0;
      take();
    }
  }

  void linkable() {
    bool isExtern = false;
    for (;; take()) {
      if (is(".extern"))
        isExtern = true;
      else if (!is(".visible") && !is(".weak") && !is(".common"))
        break;
    }
    if (is(".entry") || is(".func"))
      return function();
    variables(result.variables, isExtern);
    expect(';');
  }

  //===--------------------------------------------------------------------===//
  // Variables
  //===--------------------------------------------------------------------===//

  std::optional<Space> space() const {
    constexpr std::pair<std::string_view, Space> spaces[] = {{".global", Space::global},
                                                             {".const", Space::constant},
                                                             {".shared", Space::shared},
                                                             {".local", Space::local},
                                                             {".param", Space::param}};
    for (auto [word, space] : spaces)
      if (is(word))
        return space;
    return {};
  }

  /// A declaration without its semicolon: space, qualifiers, type, names with sizes and initialisers.
  void variables(std::vector<Variable> &list, bool isExtern) {
    Variable variable = declaration();
    variable.isExtern = isExtern;
    do {
      Variable one = variable;
      declarator(one);
      if (accept('='))
        initializer(one);
      list.push_back(std::move(one));
    } while (accept(','));
  }

  Variable declaration() {
    Variable variable;
    std::optional<Space> found = space();
    if (!found)
      fail("a declaration is expected here, not '" + std::string(peek().word) + "'");
    take();
    variable.space = *found;
    for (; isDirective(); take()) {
      if (accept(".align")) {
        uint64_t alignment = integer();
        if (!std::has_single_bit(alignment) || alignment > 4096)
          fail("an alignment must be a power of two up to 4096");
        variable.alignment = uint32_t(alignment);
        --at;
      } else if (is(".v2") || is(".v4")) {
        lanes = is(".v2") ? 2 : 4;
      } else if (is(".ptr") || space()) { // attributes of pointer parameters
      } else if (is(".attribute")) {
        fail("managed variables and other attributes are not known");
      } else if (Type type = typeNamed(peek().word); type != Type::none && sizeOf(type)) {
        variable.type = type;
      } else {
        fail("'" + std::string(peek().word) + "' is not known in a declaration");
      }
    }
    if (variable.type == Type::none)
      fail("a type is expected here");
    return variable;
  }

  void declarator(Variable &variable) {
    variable.line = peek().line;
    variable.name = name();
    uint32_t element = sizeOf(variable.type) * lanes;
    lanes = 1;
    variable.alignment = std::max(variable.alignment, element);
    variable.size = element;
    while (accept('[')) {
      uint64_t count = is(']') ? 0 : integer();
      if (count > mostBytes || variable.size * count > mostBytes)
        fail("'" + std::string(variable.name) + "' is larger than a gigabyte");
      variable.size *= count;
      expect(']');
    }
  }

  void initializer(Variable &variable) {
    uint64_t offset = 0;
    int depth = 0;
    do {
      while (accept('{'))
        ++depth;
      if (!is('}')) {
        initialValue(variable, offset);
        offset += sizeOf(variable.type);
      }
      while (depth && accept('}'))
        --depth;
      if (!depth)
        break;
      expect(',');
    } while (true);
    if (variable.size == 0)
      variable.size = offset;
    if (offset > variable.size)
      fail("'" + std::string(variable.name) + "' has more initial values than elements");
  }

  void initialValue(Variable &variable, uint64_t offset) {
    Variable::Initializer value{offset, sizeOf(variable.type), 0, {}};
    bool generic = false;
    if (peek().kind == Token::Kind::word) {
      generic = is("generic");
      std::string_view word = name();
      if (generic) {
        expect('(');
        word = name();
        expect(')');
      }
      value.symbol = word;
      if (value.size != 8)
        fail("an address needs 64 bits");
      if (accept('+'))
        value.bits = integer();
    } else {
      Operand number = operand();
      bool real = number.kind == Operand::Kind::real32 || number.kind == Operand::Kind::real64;
      value.bits = real ? number.bits : uint64_t(number.value);
      if (number.kind == Operand::Kind::real64 && variable.type == Type::f32)
        value.bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(number.bits)));
    }
    variable.initializers.push_back(value);
  }

  //===--------------------------------------------------------------------===//
  // Functions
  //===--------------------------------------------------------------------===//

  void function() {
    Function made;
    made.isEntry = is(".entry");
    made.line = take().line;
    if (accept(".noreturn")) { // says nothing that matters here
    }
    if (is('('))
      parameters(made.results);
    made.name = name();
    if (is('('))
      parameters(made.parameters);
    attributes(made);
    if (!accept(';')) {
      made.hasBody = true;
      body(made);
    }
    result.functions.push_back(std::move(made));
  }

  void parameters(std::vector<Variable> &list) {
    expect('(');
    if (accept(')'))
      return;
    do {
      if (!is(".param"))
        fail("parameters must be in the space .param");
      Variable variable = declaration();
      declarator(variable);
      list.push_back(std::move(variable));
    } while (accept(','));
    expect(')');
  }

  void attributes(Function &made) {
    for (; isDirective();) {
      if (is(".maxntid") || is(".reqntid")) {
        made.exactBlock = is(".reqntid");
        take();
        uint32_t *sizes[] = {&made.maxBlock.x, &made.maxBlock.y, &made.maxBlock.z};
        made.maxBlock = {1, 1, 1};
        for (uint32_t *size : sizes) {
          *size = uint32_t(std::min<uint64_t>(integer(), 1 << 16));
          if (!accept(','))
            break;
        }
      } else if (accept(".minnctapersm") || accept(".maxnreg") || accept(".maxnctapersm")) {
        integer();
      } else if (accept(".pragma")) {
        skipPragma();
      } else if (!accept(".noreturn")) {
        fail("'" + std::string(peek().word) + "' is not known as an attribute of a function");
      }
    }
  }

  void body(Function &made) {
    expect('{');
    for (int depth = 1; depth;) {
      Statement made1;
      made1.line = peek().line;
      if (peek().kind == Token::Kind::end)
        fail("the body of '" + std::string(made.name) + "' has no end");
      if (accept('{')) {
        if (++depth > deepestScope)
          fail("scopes are nested too deeply");
        made1.kind = Statement::Kind::open;
      } else if (accept('}')) {
        --depth;
        made1.kind = Statement::Kind::close;
      } else if (accept(';')) {
        continue;
      } else if (is(".loc") || is(".file")) {
        skipLine();
        continue;
      } else if (accept(".pragma")) {
        skipPragma();
        continue;
      } else if (is(".reg") || space()) {
        declarations(made);
        continue;
      } else {
        statement(made1);
      }
      made.body.push_back(std::move(made1));
    }
    made.body.pop_back(); // the brace that closes the body
  }

  void declarations(Function &made) {
    Statement statement;
    statement.line = peek().line;
    if (!is(".reg")) {
      std::vector<Variable> list;
      variables(list, false);
      expect(';');
      statement.kind = Statement::Kind::variable;
      for (Variable &variable : list) {
        statement.variable = std::move(variable);
        made.body.push_back(statement);
      }
      return;
    }
    take();
    statement.kind = Statement::Kind::registers;
    Type type = isDirective() ? typeNamed(peek().word) : Type::none;
    if (type == Type::none)
      fail("'" + std::string(peek().word) + "' is not known as the type of a register");
    take();
    do {
      Registers registers{type, name(), 0};
      if (accept('<')) {
        uint64_t count = integer();
        if (count > mostRegisters)
          fail("too many registers");
        registers.count = uint32_t(count);
        expect('>');
        if (!count)
          continue;
      }
      statement.registers.push_back(registers);
    } while (accept(','));
    expect(';');
    made.body.push_back(std::move(statement));
  }

  void statement(Statement &made) {
    if (peek().kind == Token::Kind::word && !isDirective() && is(':', 1)) {
      made.opcode = name();
      take();
      made.kind = Statement::Kind::label;
      if (accept(".branchtargets")) {
        made.kind = Statement::Kind::targets;
        operands(made);
      } else if (isDirective() && (is(".callprototype") || is(".calltargets"))) {
        fail("calls through pointers are not known");
      }
      return;
    }
    if (accept('@')) {
      made.guardNegated = accept('!');
      made.guard = name();
    }
    made.line = peek().line;
    made.opcode = name();
    operands(made);
  }

  void operands(Statement &made) {
    while (!is(';')) {
      made.operands.push_back(operand());
      if (!is(';'))
        expect(',');
    }
    take();
  }

  Operand operand(int depth = 0) {
    Operand made;
    const Token &token = peek();
    if (depth > 3)
      fail("operands are nested too deeply");
    if (is('{') || is('(')) {
      char close = is('{') ? '}' : ')';
      take();
      made.kind = Operand::Kind::vector;
      while (!accept(close)) {
        made.elements.push_back(operand(depth + 1));
        if (made.elements.size() > 64)
          fail("a list of operands is too long");
        if (!is(close))
          expect(',');
      }
      return made;
    }
    if (accept('['))
      return address();
    if (accept('!')) {
      made = operand(depth + 1);
      made.negated = true;
      return made;
    }
    if (is('-') || is('+') || token.kind == Token::Kind::integer || token.kind == Token::Kind::real32 ||
        token.kind == Token::Kind::real64)
      return number();
    made.name = name();
    made.kind = made.name == "_" ? Operand::Kind::sink : Operand::Kind::name;
    if (is('+') || is('-'))
      made.value = offset();
    if (accept('|')) {
      Operand pair;
      pair.kind = Operand::Kind::pair;
      pair.elements = {made, operand(depth + 1)};
      return pair;
    }
    return made;
  }

  Operand number() {
    Operand made;
    bool minus = accept('-');
    if (!minus)
      accept('+');
    const Token &token = take();
    if (token.kind == Token::Kind::integer) {
      made.kind = Operand::Kind::integer;
      made.value = int64_t(minus ? 0 - token.bits : token.bits);
    } else if (token.kind == Token::Kind::real32 || token.kind == Token::Kind::real64) {
      bool is32 = token.kind == Token::Kind::real32;
      made.kind = is32 ? Operand::Kind::real32 : Operand::Kind::real64;
      made.bits = token.bits ^ (minus ? uint64_t(1) << (is32 ? 31 : 63) : 0);
    } else {
      failParsing(token.line, "a number is expected here");
    }
    return made;
  }

  int64_t offset() {
    bool minus = is('-');
    take();
    if (accept('-')) // "[%rd1+-4]"
      minus = !minus;
    uint64_t value = integer();
    return int64_t(minus ? 0 - value : value);
  }

  Operand address() {
    Operand made;
    made.kind = Operand::Kind::address;
    if (peek().kind == Token::Kind::integer)
      made.value = int64_t(integer());
    else {
      made.name = name();
      if (is('+') || is('-'))
        made.value = offset();
    }
    expect(']');
    return made;
  }

  std::vector<Token> tokens;
  size_t at = 0;
  uint32_t lanes = 1;
  Text result;
};

} // namespace

Text readSyntax(std::string_view text) { return Reader(text).run(); }

} // namespace weft::cudasim
