//===- Module.cpp - Reading and loading modules --------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Decoder.h"

#include <algorithm>

namespace weft::cudasim {
namespace {

constexpr uint64_t mostInstructions = 1 << 20;
constexpr size_t mostText = 64 << 20;
constexpr uint64_t mostVariableBytes = uint64_t(1) << 32;

using Symbols = std::unordered_map<std::string_view, Symbol>;

void addVariables(const Text &text, Program &program, Symbols &symbols) {
  uint64_t total = 0;
  for (const Variable &one : text.variables) {
    if (one.space == Space::shared) {
      Symbol symbol{Space::shared, 0, -1, one.size, false};
      symbol.declaration = &one;
      symbols[one.name] = symbol;
      continue;
    }
    if (one.space != Space::global && one.space != Space::constant)
      failParsing(one.line, "a variable of a module must be global, constant or shared");
    if (one.isExtern)
      failParsing(one.line, "the variable '" + std::string(one.name) + "' is not defined here");
    total += one.size;
    if (total > mostVariableBytes)
      failParsing(one.line, "the variables of the module are too large");
    symbols[one.name] = {one.space, 0, int32_t(program.variables.size()), one.size, false};
    program.variables.push_back({std::string(one.name), one.space == Space::constant, one.size, 0, {}});
  }
  size_t number = 0;
  for (const Variable &one : text.variables) {
    if (one.space == Space::shared)
      continue;
    for (const Variable::Initializer &value : one.initializers) {
      int32_t variable = -1;
      if (!value.symbol.empty()) {
        auto found = symbols.find(value.symbol);
        if (found == symbols.end() || found->second.variable < 0)
          failParsing(one.line,
                      "'" + std::string(value.symbol) + "' is not a variable whose address is known");
        variable = found->second.variable;
      }
      program.variables[number].initializers.push_back({value.offset, value.size, value.bits, variable});
    }
    ++number;
  }
}

std::unique_ptr<Program> decodeText(std::string_view ptx) {
  if (ptx.size() > mostText)
    failParsing(0, "the text has more than 64 MiB");
  Text text = readSyntax(ptx);
  if (!text.target)
    failParsing(1, "'.target' is missing");
  auto program = std::make_unique<Program>();
  program->target = text.target;
  Symbols symbols;
  addVariables(text, *program, symbols);
  uint64_t remaining = mostInstructions;
  for (const Function &one : text.functions)
    if (one.isEntry && one.hasBody) {
      Decoder decoder(*program, text.functions, symbols, remaining);
      program->kernels.push_back(decoder.decode(one));
      program->infos.push_back(program->kernels.back().info);
    }
  return program;
}

} // namespace

std::string ParseError::str() const {
  std::string text = "PTX line " + std::to_string(line);
  if (!opcode.empty())
    text += ", " + opcode;
  return text + ": " + message;
}

Module::Module(std::unique_ptr<Program> program) : program(std::move(program)) {}
Module::~Module() = default;

ParseResult Module::parse(std::string_view ptx) {
  try {
    return {std::unique_ptr<Module>(new Module(decodeText(ptx))), {}};
  } catch (const ParseError &error) {
    return {nullptr, error};
  }
}

const std::vector<KernelInfo> &Module::kernels() const { return program->infos; }

const KernelInfo *Module::kernel(std::string_view name) const {
  for (const KernelInfo &one : program->infos)
    if (one.name == name)
      return &one;
  return nullptr;
}

int Module::target() const { return program->target; }

bool Module::load(Memory &memory) {
  for (GlobalVariable &one : program->variables) {
    one.address = memory.allocate(one.size);
    if (!one.address) {
      unload(memory);
      return false;
    }
    std::memset(memory.host(one.address, one.size), 0, one.size);
  }
  for (GlobalVariable &one : program->variables)
    for (const auto &value : one.initializers) {
      uint64_t bits =
          value.bits + (value.variable < 0 ? 0 : program->variables[size_t(value.variable)].address);
      std::memcpy(memory.host(one.address, one.size) + value.offset, &bits, value.size);
    }
  return true;
}

void Module::unload(Memory &memory) {
  for (GlobalVariable &one : program->variables) {
    if (one.address)
      memory.free(one.address);
    one.address = 0;
  }
}

std::pair<uint64_t, uint64_t> Module::global(std::string_view name) const {
  for (const GlobalVariable &one : program->variables)
    if (one.name == name && one.address)
      return {one.address, one.size};
  return {0, 0};
}

} // namespace weft::cudasim
