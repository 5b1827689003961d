//===- Trailer.h - The PTX behind a CUBIN -----------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The wrapper of NVRTC appends to the bytes of each CUBIN 16 bytes that mark the trailer, the length of the
// PTX in 8 bytes, the lowest first, and the PTX. The driver is given an address alone, so the trailer begins
// where the CUBIN, which is an ELF file, ends by its own headers.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_DRIVER_TRAILER_H
#define WEFT_TEST_CUDASIM_DRIVER_TRAILER_H

#include <array>
#include <cstdint>

namespace weft::cusim {

inline constexpr std::array<char, 16> trailerMark = {'c', 'u', 's', 'i', 'm', ' ', 'P', 'T',
                                                     'X', ' ', 't', 'e', 'x', 't', '1', '\n'};
/// Bytes of the trailer before the PTX.
inline constexpr uint64_t trailerHeadBytes = trailerMark.size() + 8;

} // namespace weft::cusim

#endif // WEFT_TEST_CUDASIM_DRIVER_TRAILER_H
