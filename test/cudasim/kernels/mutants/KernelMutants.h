//===- KernelMutants.h - A kernel with one mistake each ---------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Mutants of a kernel's CUDA C++. Each differs from it in one place:
//
//   barrier    a barrier, a commit of cp.async or a wait for it is missing; a wait leaves one group more
//   mask       a shuffle reads another lane, is of half the group, or names other members
//   bound      a comparison of indices, or an index's limit, is one more or one less
//   offset     an access to shared memory is one element further, an array in it begins 16 bytes further
//   predicate  a condition always holds or never does, is negated, or is one of the two that it joins
//
// Functions of elements (weft_exp_f32) stay as they are: other tests try all their values. So do loops over
// registers, except that they may end early.
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_TEST_CUDASIM_KERNELS_MUTANTS_KERNELMUTANTS_H
#define WEFT_TEST_CUDASIM_KERNELS_MUTANTS_KERNELMUTANTS_H

#include <string>
#include <string_view>
#include <vector>

namespace weft::cudasim {

enum class MutantKind { barrier, mask, bound, offset, predicate };
inline constexpr MutantKind mutantKinds[] = {MutantKind::barrier, MutantKind::mask, MutantKind::bound,
                                             MutantKind::offset, MutantKind::predicate};
std::string_view nameOf(MutantKind kind);

struct KernelMutant {
  MutantKind kind = MutantKind::barrier;
  size_t line = 0;           ///< of the kernel's text, from 1
  std::string before, after; ///< that line, without the space at its ends
  std::string text;          ///< the whole kernel
};

/// All mutants of a text, in the order of its lines; with `functions` also those of what it calls.
std::vector<KernelMutant> mutantsOf(std::string_view text, bool functions);

} // namespace weft::cudasim

#endif // WEFT_TEST_CUDASIM_KERNELS_MUTANTS_KERNELMUTANTS_H
