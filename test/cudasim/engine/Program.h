//===- Program.h - Decoded kernels -----------------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_PROGRAM_H
#define WEFT_TEST_CUDASIM_PROGRAM_H

#include "Warp.h"

namespace weft::cudasim {

enum class Special : uint8_t {
  tidX,
  tidY,
  tidZ,
  ntidX,
  ntidY,
  ntidZ,
  ctaidX,
  ctaidY,
  ctaidZ,
  nctaidX,
  nctaidY,
  nctaidZ,
  laneid,
  warpid,
  nwarpid,
  smid,
  nsmid,
  gridid,
  lanemaskEq,
  lanemaskLe,
  lanemaskLt,
  lanemaskGe,
  lanemaskGt,
  dynamicSmemSize,
  totalSmemSize,
  clock,
  clockHi,
  clock64,
  globaltimer,
};

/// A special register that a kernel reads, and where it is kept.
struct SpecialSlot {
  Special special;
  uint32_t offset;
};

/// A constant operand: `bits`, and the address of a global variable unless `variable` is -1.
struct ConstantSlot {
  uint32_t offset, bytes;
  uint64_t bits;
  int32_t variable = -1;
};

struct KernelCode {
  KernelInfo info;
  std::vector<Instruction> code;
  std::vector<std::string> opcodes;
  uint32_t registerBytes = 0;
  std::vector<ConstantSlot> constants;
  std::vector<SpecialSlot> specials;
  /// Whether each byte belongs to a variable; between variables there are gaps.
  std::vector<uint8_t> sharedValid, localValid;
  bool usesDynamicShared = false;
};

struct GlobalVariable {
  std::string name;
  bool isConstant = false;
  uint64_t size = 0;
  uint64_t address = 0; ///< after loading
  struct Initializer {
    uint64_t offset;
    uint32_t size;
    uint64_t bits;
    int32_t variable;
  };
  std::vector<Initializer> initializers;
};

struct Program {
  int target = 0;
  std::vector<GlobalVariable> variables;
  std::vector<KernelCode> kernels;
  std::vector<KernelInfo> infos;
};

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_PROGRAM_H
