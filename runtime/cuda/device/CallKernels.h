//===- CallKernels.h - The runtime's own kernels ----------------*- C++ -*-===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a call does on a GPU beside its launches: it resets its failure record, looks at the flags of its
// arguments, takes in the keys of other devices, sets flags at its end, and copies into arguments unless it
// has failed. The kernels are PTX, which the driver compiles when a device is opened, so that they fit every
// GPU and belong to no package. Those of loops are a text of their own (GraphLoops.h).
//
//===----------------------------------------------------------------------===//
#ifndef WEFT_RUNTIME_CUDA_DEVICE_CALLKERNELS_H
#define WEFT_RUNTIME_CUDA_DEVICE_CALLKERNELS_H

#include "runtime/execution/FailureRecord.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::runtime::call_kernels {

/// Flags that one launch takes, as parameters: a flag's address, plus 1 where weft_begin_call clears it. A
/// call with few flags has kernels with room for few, because all parameters are copied for each launch.
inline constexpr size_t mostFlags = 496;
inline constexpr size_t fewFlags = 32;
inline constexpr unsigned threads = 256;
/// How the texts below declare their flags, and what stands there in the kernels for few.
inline constexpr std::string_view manyDeclared = "flags[3968]", fewDeclared = "flags[256]";

template <size_t Count> struct Flags {
  uint64_t addresses[Count];
};
static_assert(sizeof(Flags<mostFlags>) == 3968 && sizeof(Flags<fewFlags>) == 256);

// The places of a record's members that the text has.
static_assert(offsetof(FailureRecord, key) == 0 && offsetof(FailureRecord, appended) == 8 &&
              offsetof(FailureRecord, foreign) == 144);
static_assert(FailureRecord::noKey == UINT64_MAX && FailureRecord::blockedKey == 0);

/// The beginning of the text, behind which the kernels follow.
inline constexpr const char *headText = R"(.version 7.0
.target sm_75
.address_size 64
)";

/// One block. Resets the record if `resets` is not 0. Clears those flags that say so. The call is blocked if
/// one of the others is set.
inline constexpr const char *beginCallText = R"(
.visible .entry weft_begin_call(
  .param .u64 record,
  .param .u32 count,
  .param .u32 resets,
  .param .align 8 .b8 flags[3968])
{
  .reg .pred %p<6>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<12>;

  ld.param.u64 %rd1, [record];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r1, [count];
  ld.param.u32 %r2, [resets];
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %ntid.x;
  mov.b64 %rd2, -1;
  mov.b64 %rd3, 0;
  setp.ne.u32 %p1, %r3, 0;
  setp.eq.u32 %p2, %r2, 0;
  or.pred %p1, %p1, %p2;
  @%p1 bra READY;
  st.global.u64 [%rd1], %rd2;
  st.global.u64 [%rd1+8], %rd3;
READY:
  bar.sync 0;
  mov.b64 %rd4, flags;
LOOP:
  setp.ge.u32 %p3, %r3, %r1;
  @%p3 bra DONE;
  mul.wide.u32 %rd5, %r3, 8;
  add.s64 %rd5, %rd4, %rd5;
  ld.param.u64 %rd6, [%rd5];
  and.b64 %rd7, %rd6, 1;
  and.b64 %rd6, %rd6, -2;
  cvta.to.global.u64 %rd6, %rd6;
  setp.eq.u64 %p4, %rd7, 0;
  @%p4 bra LOOK;
  st.global.u64 [%rd6], %rd3;
  bra NEXT;
LOOK:
  ld.global.u64 %rd8, [%rd6];
  setp.eq.u64 %p5, %rd8, 0;
  @%p5 bra NEXT;
  atom.global.min.u64 %rd9, [%rd1], %rd3;
NEXT:
  add.u32 %r3, %r3, %r4;
  bra LOOP;
DONE:
  ret;
}
)";

/// One block. Sets the flags if the call has failed.
inline constexpr const char *endCallText = R"(
.visible .entry weft_end_call(
  .param .u64 record,
  .param .u32 count,
  .param .align 8 .b8 flags[3968])
{
  .reg .pred %p<3>;
  .reg .b32 %r<4>;
  .reg .b64 %rd<8>;

  ld.param.u64 %rd1, [record];
  cvta.to.global.u64 %rd1, %rd1;
  ld.global.u64 %rd2, [%rd1];
  setp.eq.s64 %p1, %rd2, -1;
  @%p1 bra DONE;
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %ntid.x;
  mov.b64 %rd3, flags;
  mov.b64 %rd4, 1;
LOOP:
  setp.ge.u32 %p2, %r2, %r1;
  @%p2 bra DONE;
  mul.wide.u32 %rd5, %r2, 8;
  add.s64 %rd5, %rd3, %rd5;
  ld.param.u64 %rd6, [%rd5];
  cvta.to.global.u64 %rd6, %rd6;
  st.global.u64 [%rd6], %rd4;
  add.u32 %r2, %r2, %r3;
  bra LOOP;
DONE:
  ret;
}
)";

/// One thread. Lowers the key to the least of the keys of other devices that the bits of `devices` select.
inline constexpr const char *mergeKeysText = R"(
.visible .entry weft_merge_keys(
  .param .u64 record,
  .param .u32 devices)
{
  .reg .pred %p<3>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [record];
  cvta.to.global.u64 %rd1, %rd1;
  ld.param.u32 %r1, [devices];
  add.s64 %rd2, %rd1, 144;
LOOP:
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra NEXT;
  ld.global.u64 %rd3, [%rd2];
  atom.global.min.u64 %rd4, [%rd1], %rd3;
NEXT:
  shr.u32 %r1, %r1, 1;
  add.s64 %rd2, %rd2, 8;
  bra LOOP;
DONE:
  ret;
}
)";

/// Copies `bytes` bytes unless the call has failed: 16 at a time where both addresses allow it.
inline constexpr const char *copyText = R"(
.visible .entry weft_copy(
  .param .u64 to,
  .param .u64 from,
  .param .u64 bytes,
  .param .u64 record)
{
  .reg .pred %p<5>;
  .reg .b16 %h<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<16>;

  ld.param.u64 %rd1, [record];
  cvta.to.global.u64 %rd1, %rd1;
  ld.global.u64 %rd2, [%rd1];
  setp.ne.s64 %p1, %rd2, -1;
  @%p1 bra DONE;
  ld.param.u64 %rd3, [to];
  ld.param.u64 %rd4, [from];
  ld.param.u64 %rd5, [bytes];
  cvta.to.global.u64 %rd3, %rd3;
  cvta.to.global.u64 %rd4, %rd4;
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  cvt.u64.u32 %rd6, %r3;
  mul.wide.u32 %rd7, %r1, %r2;
  add.s64 %rd6, %rd6, %rd7;
  mov.u32 %r1, %nctaid.x;
  mul.wide.u32 %rd7, %r1, %r2;
  // %rd8: bytes that are copied 16 at a time
  mov.b64 %rd8, 0;
  or.b64 %rd9, %rd3, %rd4;
  and.b64 %rd9, %rd9, 15;
  setp.ne.s64 %p2, %rd9, 0;
  @%p2 bra TAIL;
  and.b64 %rd8, %rd5, -16;
  shl.b64 %rd10, %rd6, 4;
  shl.b64 %rd11, %rd7, 4;
WIDE:
  setp.ge.u64 %p3, %rd10, %rd8;
  @%p3 bra TAIL;
  add.s64 %rd12, %rd4, %rd10;
  ld.global.v4.u32 {%r4, %r5, %r6, %r7}, [%rd12];
  add.s64 %rd13, %rd3, %rd10;
  st.global.v4.u32 [%rd13], {%r4, %r5, %r6, %r7};
  add.s64 %rd10, %rd10, %rd11;
  bra WIDE;
TAIL:
  add.s64 %rd10, %rd8, %rd6;
BYTE:
  setp.ge.u64 %p4, %rd10, %rd5;
  @%p4 bra DONE;
  add.s64 %rd12, %rd4, %rd10;
  ld.global.u8 %h1, [%rd12];
  add.s64 %rd13, %rd3, %rd10;
  st.global.u8 [%rd13], %h1;
  add.s64 %rd10, %rd10, %rd7;
  bra BYTE;
DONE:
  ret;
}
)";

/// Declares what a driver of CUDA 12.4 or newer puts in when it loads a text.
inline constexpr const char *setConditionalText = R"(
.extern .func cudaGraphSetConditional(
  .param .b64 handle,
  .param .b32 value);
)";

/// One thread. Lets a loop of the graph go on if the predicate is true and the call has not failed.
inline constexpr const char *setConditionText = R"(
.visible .entry weft_set_condition(
  .param .u64 handle,
  .param .u64 predicate,
  .param .u64 record)
{
  .reg .pred %p<4>;
  .reg .b16 %h<2>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [handle];
  ld.param.u64 %rd2, [predicate];
  ld.param.u64 %rd3, [record];
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  ld.global.u8 %h1, [%rd2];
  ld.global.u64 %rd4, [%rd3];
  setp.ne.u16 %p1, %h1, 0;
  setp.eq.s64 %p2, %rd4, -1;
  and.pred %p3, %p1, %p2;
  selp.u32 %r1, 1, 0, %p3;
  {
    .param .b64 call_handle;
    .param .b32 call_value;
    st.param.b64 [call_handle], %rd1;
    st.param.b32 [call_value], %r1;
    call.uni cudaGraphSetConditional, (call_handle, call_value);
  }
  ret;
}
)";

/// One thread. Lets one of two branches of the graph run, as the predicate says, and none if the call has
/// failed.
inline constexpr const char *chooseBranchText = R"(
.visible .entry weft_choose_branch(
  .param .u64 if_true,
  .param .u64 if_false,
  .param .u64 predicate,
  .param .u64 record)
{
  .reg .pred %p<5>;
  .reg .b16 %h<2>;
  .reg .b32 %r<3>;
  .reg .b64 %rd<6>;

  ld.param.u64 %rd1, [if_true];
  ld.param.u64 %rd2, [if_false];
  ld.param.u64 %rd3, [predicate];
  ld.param.u64 %rd4, [record];
  cvta.to.global.u64 %rd3, %rd3;
  cvta.to.global.u64 %rd4, %rd4;
  ld.global.u8 %h1, [%rd3];
  ld.global.u64 %rd5, [%rd4];
  setp.ne.u16 %p1, %h1, 0;
  setp.eq.u16 %p2, %h1, 0;
  setp.eq.s64 %p3, %rd5, -1;
  and.pred %p1, %p1, %p3;
  and.pred %p2, %p2, %p3;
  selp.u32 %r1, 1, 0, %p1;
  selp.u32 %r2, 1, 0, %p2;
  {
    .param .b64 call_handle;
    .param .b32 call_value;
    st.param.b64 [call_handle], %rd1;
    st.param.b32 [call_value], %r1;
    call.uni cudaGraphSetConditional, (call_handle, call_value);
  }
  {
    .param .b64 call_handle;
    .param .b32 call_value;
    st.param.b64 [call_handle], %rd2;
    st.param.b32 [call_value], %r2;
    call.uni cudaGraphSetConditional, (call_handle, call_value);
  }
  ret;
}
)";

/// One thread. Counts one more, and says by the predicate whether the count is no multiple of `modulus`.
/// Beyond 64 it writes a failure, so that a loop whose predicate is another one ends, too.
inline constexpr const char *countTripText = R"(
.visible .entry weft_count_trip(
  .param .u64 count,
  .param .u64 predicate,
  .param .u32 modulus,
  .param .u64 record)
{
  .reg .pred %p<3>;
  .reg .b16 %h<2>;
  .reg .b32 %r<5>;
  .reg .b64 %rd<5>;

  ld.param.u64 %rd1, [count];
  ld.param.u64 %rd2, [predicate];
  ld.param.u32 %r1, [modulus];
  ld.param.u64 %rd3, [record];
  cvta.to.global.u64 %rd1, %rd1;
  cvta.to.global.u64 %rd2, %rd2;
  cvta.to.global.u64 %rd3, %rd3;
  ld.global.u32 %r2, [%rd1];
  add.u32 %r2, %r2, 1;
  st.global.u32 [%rd1], %r2;
  rem.u32 %r3, %r2, %r1;
  setp.ne.u32 %p1, %r3, 0;
  selp.u32 %r4, 1, 0, %p1;
  cvt.u16.u32 %h1, %r4;
  st.global.u8 [%rd2], %h1;
  setp.gt.u32 %p2, %r2, 64;
  mov.u64 %rd4, 0;
  @%p2 st.global.u64 [%rd3], %rd4;
  ret;
}
)";

} // namespace weft::runtime::call_kernels

#endif // WEFT_RUNTIME_CUDA_DEVICE_CALLKERNELS_H
