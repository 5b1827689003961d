//===- Fixtures.h - What a device answers -----------------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a real device answers where documentation leaves it open, written by a program that needs the driver
// alone: attributes, what instructions give for which bits, what calls give after a fault, and which
// algorithms cuBLASLt proposes. test/gpu/replay.py compares two such files; CI does that with the answers of
// an H100 and those of the software device.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_GPU_FIXTURES_H
#define WEFT_TEST_GPU_FIXTURES_H

#include "weft/status.hpp"

#include <string>

namespace weft::testing {

/// Writes one JSON with the answers of a device to standard output. `like` names a file of answers whose
/// inputs of instructions are taken, or is empty. Each fault is a process of its own: `program` with
/// --fault=N.
Status write_fixtures(int ordinal, const std::string &like, const std::string &program);
/// Causes fault N and writes what calls give after it. Returns the exit code: 2 if there is no such fault.
int cause_fault(int ordinal, size_t number);

} // namespace weft::testing

#endif // WEFT_TEST_GPU_FIXTURES_H
