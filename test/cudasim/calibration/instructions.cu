//===- instructions.cu - What instructions and library functions give -----===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "exhaustive": every f32 value through each approximate instruction and each function of CUDA's library,
// compared with the double-precision function, rounded once. An error in ULP is the distance between the two
// floats, counted in floats. "vectors": operands and results as bits, for a substitute to agree with.
//
//===----------------------------------------------------------------------===//
#include "Calibration.h"

#include <cstdint>
#include <cstring>
#include <vector>

//===----------------------------------------------------------------------===//
// Functions of one f32
//===----------------------------------------------------------------------===//

#define PTX1(name, text)                                                                                     \
  struct name {                                                                                              \
    static constexpr const char *label = text;                                                               \
    __device__ static float run(float x) {                                                                   \
      float y;                                                                                               \
      asm volatile(text " %0, %1;" : "=f"(y) : "f"(x));                                                      \
      return y;                                                                                              \
    }                                                                                                        \
  }
#define LIB1(name, text)                                                                                     \
  struct name {                                                                                              \
    static constexpr const char *label = #text;                                                              \
    __device__ static float run(float x) { return text(x); }                                                 \
  }

PTX1(Ex2, "ex2.approx.f32");
PTX1(Ex2Ftz, "ex2.approx.ftz.f32");
PTX1(Lg2, "lg2.approx.f32");
PTX1(Lg2Ftz, "lg2.approx.ftz.f32");
PTX1(Rcp, "rcp.approx.f32");
PTX1(RcpFtz, "rcp.approx.ftz.f32");
PTX1(RcpRn, "rcp.rn.f32");
PTX1(Rsqrt, "rsqrt.approx.f32");
PTX1(RsqrtFtz, "rsqrt.approx.ftz.f32");
PTX1(Sqrt, "sqrt.approx.f32");
PTX1(SqrtRn, "sqrt.rn.f32");
PTX1(Sin, "sin.approx.f32");
PTX1(Cos, "cos.approx.f32");
PTX1(Tanh, "tanh.approx.f32");
LIB1(LibExp, expf);
LIB1(LibExp2, exp2f);
LIB1(LibExpm1, expm1f);
LIB1(LibLog, logf);
LIB1(LibLog2, log2f);
LIB1(LibLog10, log10f);
LIB1(LibLog1p, log1pf);
LIB1(LibSin, sinf);
LIB1(LibCos, cosf);
LIB1(LibTan, tanf);
LIB1(LibAsin, asinf);
LIB1(LibAcos, acosf);
LIB1(LibAtan, atanf);
LIB1(LibSinh, sinhf);
LIB1(LibCosh, coshf);
LIB1(LibTanh, tanhf);
LIB1(LibAsinh, asinhf);
LIB1(LibAcosh, acoshf);
LIB1(LibAtanh, atanhf);
LIB1(LibErf, erff);
LIB1(LibErfc, erfcf);
LIB1(LibRsqrt, rsqrtf);
LIB1(LibCbrt, cbrtf);
LIB1(LibLgamma, lgammaf);

__device__ double rcp(double x) { return 1 / x; }

struct Errors {
  unsigned long long inexact, notANumber, flushed, histogram[4], worst;
};

/// Floats in their order, so that neighbours differ by one; both zeros are 0.
__host__ __device__ inline int64_t ordered(float x) {
  int32_t bits;
  memcpy(&bits, &x, 4);
  return bits < 0 ? -static_cast<int64_t>(bits & 0x7fffffff) : bits;
}

template <typename F, typename Reference>
__global__ void sweep(Reference reference, float least, float most, Errors *errors) {
  unsigned long long inexact = 0, notANumber = 0, flushed = 0, histogram[4] = {}, worst = 0, worstInput = 0;
  for (uint64_t bits = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; bits < (uint64_t(1) << 32);
       bits += uint64_t(gridDim.x) * blockDim.x) {
    float x = __uint_as_float(static_cast<uint32_t>(bits));
    if (!(fabsf(x) >= least && fabsf(x) <= most))
      continue;
    float got = F::run(x);
    auto wanted = static_cast<float>(reference(static_cast<double>(x)));
    if (isnan(got) || isnan(wanted)) {
      notANumber += isnan(got) != isnan(wanted);
      continue;
    }
    auto distance = static_cast<unsigned long long>(llabs(ordered(got) - ordered(wanted)));
    if (got == 0 && wanted != 0 && fabsf(wanted) < 1.17549435e-38f) {
      ++flushed;
      continue;
    }
    inexact += distance != 0;
    ++histogram[distance > 3 ? 3 : distance];
    if (distance > worst) {
      worst = distance;
      worstInput = bits;
    }
  }
  atomicAdd(&errors->inexact, inexact);
  atomicAdd(&errors->notANumber, notANumber);
  atomicAdd(&errors->flushed, flushed);
  for (int i = 0; i < 4; ++i)
    atomicAdd(&errors->histogram[i], histogram[i]);
  // The larger error wins; its input goes with it in the low half, as no error of interest has 32 bits.
  atomicMax(&errors->worst, (worst > 0xffffffffull ? 0xffffffffull : worst) << 32 | worstInput);
}

template <typename F> __global__ void evaluate(const float *in, float *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    out[i] = F::run(in[i]);
}

static std::vector<float> samples() {
  std::vector<uint32_t> bits = {0,          1,          2,          0x007fffff, 0x00800000, 0x00800001,
                                0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f000000, 0x40000000, 0x40490fdb,
                                0x3fc90fdb, 0x42b17218, 0x42b17219, 0x42aeac50, 0x7f7fffff, 0x7f800000,
                                0x7fc00000, 0x7f800001, 0x4b800000, 0x5f000000, 0x33800000};
  for (size_t i = 0, count = bits.size(); i < count; ++i)
    bits.push_back(bits[i] ^ 0x80000000u);
  // Numbers of both signs and all kinds stand first, for what takes pairs.
  for (size_t i = 1; i < 24; i += 2)
    std::swap(bits[i], bits[i + 22]);
  uint32_t state = 1;
  auto next = [&] { return state = state * 1664525u + 1013904223u; };
  while (bits.size() < 160) // any bits
    bits.push_back(next() ^ next() >> 16);
  while (bits.size() < 256) { // moderate numbers of both signs
    float x = (static_cast<float>(next() >> 8) / (1 << 24) - 0.5f) * 32;
    uint32_t word;
    std::memcpy(&word, &x, 4);
    bits.push_back(word);
  }
  std::vector<float> values(bits.size());
  std::memcpy(values.data(), bits.data(), bits.size() * 4);
  return values;
}

static std::vector<float> inputs;
static float *deviceIn, *deviceOut;

static uint32_t word(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}

template <typename F> static std::string vectorsOf() {
  int count = static_cast<int>(inputs.size());
  evaluate<F><<<(count + 255) / 256, 256>>>(deviceIn, deviceOut, count);
  std::vector<float> out(inputs.size());
  CHECK(cudaMemcpy(out.data(), deviceOut, out.size() * 4, cudaMemcpyDeviceToHost));
  std::string text = "\"";
  char buffer[16];
  for (float x : out) {
    std::snprintf(buffer, sizeof buffer, "%08x", word(x));
    text += buffer;
  }
  return text + "\"";
}

template <typename F, typename Reference>
static void report(Json &json, Reference reference, float least = 0, float most = INFINITY) {
  Errors *errors;
  CHECK(cudaMallocManaged(&errors, sizeof *errors));
  *errors = {};
  sweep<F><<<132 * 8, 256>>>(reference, least, most, errors);
  CHECK(cudaDeviceSynchronize());
  json.open(F::label);
  if (least > 0 || most < INFINITY)
    json.value("range", "[%.9g, %.9g]", least, most);
  json.value("max_ulp", "%llu", errors->worst >> 32);
  json.value("at", "\"%08llx\"", errors->worst & 0xffffffffull);
  json.value("ulp_0_1_2_more", "[%llu, %llu, %llu, %llu]", errors->histogram[0], errors->histogram[1],
             errors->histogram[2], errors->histogram[3]);
  json.value("nan_differs", "%llu", errors->notANumber);
  json.value("subnormal_results_flushed", "%llu", errors->flushed);
  json.close();
  CHECK(cudaFree(errors));
}

#define REPORT(type, call, ...) report<type>(json, [] __device__(double x) { return call; }, ##__VA_ARGS__)

//===----------------------------------------------------------------------===//
// Operands and results as bits
//===----------------------------------------------------------------------===//

template <typename F> __global__ void evaluatePairs(const float *in, uint32_t *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count * count)
    out[i] = F::run(__float_as_uint(in[i / count]), __float_as_uint(in[i % count]));
}
// Whatever the instruction takes and gives, both are passed as words.
#define PTX2(name, text, type, result, operand, asOperand, asWord)                                           \
  struct name {                                                                                              \
    static constexpr const char *label = text;                                                               \
    __device__ static uint32_t run(uint32_t a, uint32_t b) {                                                 \
      type y;                                                                                                \
      asm volatile(text " %0, %1, %2;" : result(y) : operand(asOperand(a)), operand(asOperand(b)));          \
      return asWord(y);                                                                                      \
    }                                                                                                        \
  }
#define FLOATS2(name, text) PTX2(name, text, float, "=f", "f", __uint_as_float, __float_as_uint)
#define WORDS2(name, text) PTX2(name, text, uint32_t, "=r", "r", , )
#define PACKED2(name, text) PTX2(name, text, uint32_t, "=r", "f", __uint_as_float, )

FLOATS2(Add, "add.rn.f32");
FLOATS2(AddFtz, "add.rn.ftz.f32");
FLOATS2(Mul, "mul.rn.f32");
FLOATS2(Div, "div.rn.f32");
FLOATS2(DivFull, "div.full.f32");
FLOATS2(DivApprox, "div.approx.f32");
FLOATS2(Min, "min.f32");
FLOATS2(Max, "max.f32");
FLOATS2(MinNan, "min.NaN.f32");
FLOATS2(MaxNan, "max.NaN.f32");
FLOATS2(Copysign, "copysign.f32");
WORDS2(Add16, "add.rn.f16x2");
WORDS2(Mul16, "mul.rn.f16x2");
WORDS2(Max16, "max.NaN.f16x2");
WORDS2(AddB, "add.rn.bf16x2");
WORDS2(MulB, "mul.rn.bf16x2");
WORDS2(MaxB, "max.NaN.bf16x2");
PACKED2(Cvt16, "cvt.rn.f16x2.f32");
PACKED2(CvtB, "cvt.rn.bf16x2.f32");

template <typename F> static void pairs(Json &json) {
  constexpr int count = 24;
  uint32_t *out;
  CHECK(cudaMallocManaged(&out, count * count * 4));
  evaluatePairs<F><<<(count * count + 255) / 256, 256>>>(deviceIn, out, count);
  CHECK(cudaDeviceSynchronize());
  std::string text = "\"";
  char buffer[16];
  for (int i = 0; i < count * count; ++i) {
    std::snprintf(buffer, sizeof buffer, "%08x", out[i]);
    text += buffer;
  }
  json.value(F::label, "%s\"", text.c_str());
  CHECK(cudaFree(out));
}

#define CVT1(name, text, constraint, type)                                                                   \
  struct name {                                                                                              \
    static constexpr const char *label = text;                                                               \
    __device__ static float run(float x) {                                                                   \
      type y;                                                                                                \
      asm volatile(text " %0, %1;" : constraint(y) : "f"(x));                                                \
      return __uint_as_float(static_cast<uint32_t>(y));                                                      \
    }                                                                                                        \
  }
CVT1(ToS32, "cvt.rzi.s32.f32", "=r", int32_t);
CVT1(ToU32, "cvt.rzi.u32.f32", "=r", uint32_t);
CVT1(ToS32Rni, "cvt.rni.s32.f32", "=r", int32_t);
CVT1(ToS64Low, "cvt.rzi.s64.f32", "=l", int64_t);
PTX1(Rni, "cvt.rni.f32.f32");
PTX1(Rmi, "cvt.rmi.f32.f32");
PTX1(Rpi, "cvt.rpi.f32.f32");
PTX1(Rzi, "cvt.rzi.f32.f32");
PTX1(Sat, "cvt.sat.f32.f32");

template <typename... Fs> static void vectors(Json &json) {
  (json.value(Fs::label, "%s", vectorsOf<Fs>().c_str()), ...);
}

//===----------------------------------------------------------------------===//
// Functions of one f64, which Weft leaves to the vendor
//===----------------------------------------------------------------------===//

template <typename F> __global__ void evaluateWide(F f, const double *in, double *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    out[i] = f(in[i]);
}

template <typename F> static void wide(Json &json, const char *name, F f) {
  constexpr int count = 96;
  double *in, *out;
  CHECK(cudaMallocManaged(&in, count * 8));
  CHECK(cudaMallocManaged(&out, count * 8));
  uint64_t state = 7;
  for (int i = 0; i < count; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    double unit = static_cast<double>(state >> 11) / static_cast<double>(uint64_t(1) << 53);
    in[i] = i < 32 ? unit * 2 - 1 : i < 64 ? (unit - 0.5) * 40 : (unit - 0.5) * 1400;
  }
  evaluateWide<<<1, count>>>(f, in, out, count);
  CHECK(cudaDeviceSynchronize());
  json.open(name, '[');
  for (int i = 0; i < count; ++i)
    json.value(nullptr, "[\"%a\", \"%a\"]", in[i], out[i]);
  json.close(']');
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
}
#define WIDE(function) wide(json, #function, [] __device__(double x) { return function(x); })

int main() {
  inputs = samples();
  CHECK(cudaMalloc(&deviceIn, inputs.size() * 4));
  CHECK(cudaMalloc(&deviceOut, inputs.size() * 4));
  CHECK(cudaMemcpy(deviceIn, inputs.data(), inputs.size() * 4, cudaMemcpyHostToDevice));
  Json json;
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  json.value("device", "\"%s\"", properties.name);
  json.open("exhaustive");
  REPORT(Ex2, exp2(x));
  REPORT(Ex2Ftz, exp2(x));
  REPORT(Lg2, log2(x));
  REPORT(Lg2Ftz, log2(x));
  REPORT(Rcp, 1 / x);
  REPORT(RcpFtz, 1 / x);
  REPORT(RcpRn, 1 / x);
  REPORT(Rsqrt, 1 / sqrt(x));
  REPORT(RsqrtFtz, 1 / sqrt(x));
  REPORT(Sqrt, sqrt(x));
  REPORT(SqrtRn, sqrt(x));
  REPORT(Sin, sin(x), 1e-3f, 3.1415926f);
  REPORT(Cos, cos(x), 1e-3f, 3.1415926f);
  REPORT(Tanh, tanh(x));
  REPORT(LibExp, exp(x));
  REPORT(LibExp2, exp2(x));
  REPORT(LibExpm1, expm1(x));
  REPORT(LibLog, log(x));
  REPORT(LibLog2, log2(x));
  REPORT(LibLog10, log10(x));
  REPORT(LibLog1p, log1p(x));
  REPORT(LibSin, sin(x));
  REPORT(LibCos, cos(x));
  REPORT(LibTan, tan(x));
  REPORT(LibAsin, asin(x));
  REPORT(LibAcos, acos(x));
  REPORT(LibAtan, atan(x));
  REPORT(LibSinh, sinh(x));
  REPORT(LibCosh, cosh(x));
  REPORT(LibTanh, tanh(x));
  REPORT(LibAsinh, asinh(x));
  REPORT(LibAcosh, acosh(x));
  REPORT(LibAtanh, atanh(x));
  REPORT(LibErf, erf(x));
  REPORT(LibErfc, erfc(x));
  REPORT(LibRsqrt, 1 / sqrt(x));
  REPORT(LibCbrt, cbrt(x));
  REPORT(LibLgamma, lgamma(x), 0.01f, 1e30f);
  json.close();
  json.open("vectors");
  std::string text = "\"";
  for (float x : inputs) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "%08x", word(x));
    text += buffer;
  }
  json.value("inputs", "%s\"", text.c_str());
  json.open("of_one");
  vectors<Ex2, Ex2Ftz, Lg2, Lg2Ftz, Rcp, RcpFtz, RcpRn, Rsqrt, RsqrtFtz, Sqrt, SqrtRn, Sin, Cos, Tanh, LibExp,
          LibLog, LibSin, LibCos, LibTanh, LibErf, ToS32, ToU32, ToS32Rni, ToS64Low, Rni, Rmi, Rpi, Rzi, Sat>(
      json);
  json.close();
  json.open("of_two_of_the_first_24");
  pairs<Add>(json), pairs<AddFtz>(json), pairs<Mul>(json), pairs<Div>(json), pairs<DivFull>(json),
      pairs<DivApprox>(json), pairs<Min>(json), pairs<Max>(json), pairs<MinNan>(json), pairs<MaxNan>(json),
      pairs<Copysign>(json), pairs<Add16>(json), pairs<Mul16>(json), pairs<Max16>(json), pairs<AddB>(json),
      pairs<MulB>(json), pairs<MaxB>(json), pairs<Cvt16>(json), pairs<CvtB>(json);
  json.close();
  json.close();
  json.open("f64");
  WIDE(exp);
  WIDE(exp2);
  WIDE(expm1);
  WIDE(log);
  WIDE(log2);
  WIDE(log10);
  WIDE(log1p);
  WIDE(sin);
  WIDE(cos);
  WIDE(tan);
  WIDE(asin);
  WIDE(acos);
  WIDE(atan);
  WIDE(sinh);
  WIDE(cosh);
  WIDE(tanh);
  WIDE(asinh);
  WIDE(acosh);
  WIDE(atanh);
  WIDE(erf);
  WIDE(erfc);
  WIDE(rsqrt);
  WIDE(cbrt);
  WIDE(lgamma);
  WIDE(rcp);
  json.close();
  return 0;
}
