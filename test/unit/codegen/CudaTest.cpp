//===- CudaTest.cpp - Kernels as CUDA C++ ---------------------------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Fusions of every kind as CUDA C++: NVRTC compiles them for three targets, loops without spills; and the
// same text, compiled for the host, where the threads run one after the other, gives the bits of the CPU's
// kernels.
//
//===----------------------------------------------------------------------===//
#include "CudaHarness.h"
#include "FusionCases.h"

#include "codegen/KernelTargets.h"
#include "codegen/cuda/CudaCompiler.h"
#include "codegen/cuda/PrintKernel.h"
#include "codegen/emit/EmitKernel.h"
#include "codegen/kernel/KernelCache.h"
#include "ir/CudaReductions.h"
#include "ir/CudaSchedule.h"
#include "ir/Schedule.h"
#include "runtime/execution/FailureRecord.h"
#include "test/unit/TemporaryFolder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <random>

using namespace mlir;
namespace weft::testing {

namespace {

/// The kernel of a program for a GPU, with the schedule that is chosen, or the fallback.
OwningOpRef<ModuleOp> emitFor(FusedProgram &program, bool fallback) {
  program.fusion.setScheduleAttr(fallback ? ir::chooseFallbackSchedule(program.fusion, hopper())
                                          : ir::chooseCudaSchedule(program.fusion, hopper()));
  return emitForHopper(program.fusion);
}

/// Printed kernels as programs of the host: what CUDA C++ has beyond C++, and conversions of f16, which are
/// PTX in the text.
constexpr const char *hostPrefix = R"(
#include <cmath>
#include <cstddef>
#include <cstring>
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(threads)
#define __align__(bytes) alignas(bytes)
struct Dim { unsigned x; };
static Dim blockIdx, threadIdx;
struct uint2 { unsigned x, y; };
struct uint4 { unsigned x, y, z, w; };
template <typename T> static T min(T a, T b) { return a < b ? a : b; }
template <typename T> static T max(T a, T b) { return a > b ? a : b; }
template <typename To, typename From> static To bits(From x) { To y; memcpy(&y, &x, sizeof y); return y; }
static unsigned __float_as_uint(float x) { return bits<unsigned>(x); }
static float __uint_as_float(unsigned x) { return bits<float>(x); }
static long long __double_as_longlong(double x) { return bits<long long>(x); }
static double __longlong_as_double(long long x) { return bits<double>(x); }
static unsigned long long atomicMin(unsigned long long *p, unsigned long long x) { auto old = *p; if (x < old) *p = x; return old; }
static unsigned long long atomicAdd(unsigned long long *p, unsigned long long x) { auto old = *p; *p += x; return old; }
template <typename T> static void __stwb(T *p, T x) { *p = x; }
static unsigned long long __umul64hi(unsigned long long x, unsigned long long y) { return (unsigned __int128)x * y >> 64; }
static long long ceildiv(long long n, long long d) { return (n + d - 1) / d; }
template <typename T> static T host_reciprocal(unsigned long long d) {
  unsigned long long shift = 0;
  while (shift < 64 && 1ull << shift < d)
    ++shift;
  return {(unsigned long long)((((unsigned __int128)1 << shift) - d << 64) / d) + 1, shift};
}
static float host_from_f16(unsigned short x) { return (float)bits<_Float16>(x); }
static unsigned short host_to_f16(float x) { return bits<unsigned short>((_Float16)x); }
)";

void replaceAll(std::string &text, const std::string &from, const std::string &to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// The text of one kernel with a function that runs all of its threads.
std::string hostText(const codegen::CudaText &kernel, ModuleOp module, const std::string &name) {
  std::string text = kernel.text;
  replaceAll(text, R"(asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));)", "x = host_from_f16(bits);");
  replaceAll(text, R"(asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));)", "bits = host_to_f16(x);");
  replaceAll(text, "extern \"C\" __global__", "static");
  std::string arguments;
  auto add = [&](const std::string &argument) { arguments += (arguments.empty() ? "" : ", ") + argument; };
  auto function = module.lookupSymbol<func::FuncOp>(codegen::canonicalSymbol);
  const auto slots = function->getAttrOfType<DenseI64ArrayAttr>("weft.buffers");
  for (int64_t slot : slots.asArrayRef())
    add("any(buffers[" + std::to_string(slot) + "])");
  const size_t taken = static_cast<size_t>(slots.size()) + 4;
  std::string sizes;
  for (size_t i = 0; i + taken < function.getNumArguments(); ++i) {
    const std::string number = std::to_string(i);
    sizes += "  const long long n" + number + " = sizes[" + number + "];\n";
    add("n" + number);
  }
  for (const ir::Size &divisor : kernel.divisors)
    add("host_reciprocal<weft_reciprocal>(" + ir::sizeText(divisor) + ")");
  if (kernel.usesTable)
    add("buffers, sizes");
  if (kernel.usesChecks)
    add("{(weft_failures *)record, 0, 1, 8}");
  return "namespace " + name + " {\n" + text +
         "struct any { void *p; any(void *p) : p(p) {} template <typename T> operator T *() const { return "
         "(T *)p; } };\n"
         "extern \"C\" void run_" +
         name + "(void *const *buffers, const long long *sizes, void *record, unsigned blocks) {\n" + sizes +
         "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
         "    for (threadIdx.x = " +
         std::to_string(kernel.threads) +
         "; threadIdx.x-- > 0;)\n"
         "      weft_kernel(" +
         arguments + ");\n}\n}\n";
}

using HostKernel = void (*)(void *const *, const int64_t *, void *, unsigned);

/// Compiles a program for the host, without contraction of products and sums.
HostKernel compileForHost(const std::string &text, const std::string &name, const std::string &folder) {
  const std::string source = folder + "/" + name + ".cpp", library = folder + "/" + name + ".so";
  std::ofstream(source) << hostPrefix << text;
  const std::string command = "clang++-19 -std=c++20 -O1 -w -mf16c -mfma -mavx2 -ffp-contract=off "
                              "-fno-strict-aliasing -shared -fPIC -o " +
                              library + " " + source;
  if (std::system(command.c_str()) != 0) {
    ADD_FAILURE() << command << " failed for\n" << text;
    return nullptr;
  }
  void *loaded = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) {
    ADD_FAILURE() << ::dlerror();
    return nullptr;
  }
  return reinterpret_cast<HostKernel>(::dlsym(loaded, ("run_" + name).c_str()));
}

class CudaKernels : public ::testing::TestWithParam<FusionCase> {};

} // namespace

TEST_P(CudaKernels, TheTextGivesTheBitsOfTheCpu) {
  const FusionCase &each = GetParam();
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  const auto arguments = program.randomArguments(12, 0.1, 1.5);
  const auto expected = bytesOf(program.run(arguments, runnableTargets().front(), each.inPlace));
  const test::TemporaryFolder folder;
  for (bool fallback : {false, true}) {
    OwningOpRef<ModuleOp> kernel = emitFor(program, fallback);
    ASSERT_TRUE(kernel);
    // Threads that exchange values cannot run one after the other (CudaReductionTest.cpp,
    // CudaEngineTest.cpp).
    const ir::Schedule schedule = program.fusion.getSchedule()->toSchedule();
    if (ir::isShared(schedule) &&
        (each.kind != ir::FusionKind::loop || schedule.has(ir::ScheduleField::squares)))
      continue;
    auto text = codegen::canonicalKernelText(*kernel);
    ASSERT_TRUE(text) << text.status().message();
    kernel = parseSourceString<ModuleOp>(*text, ParserConfig(program.module->getContext()));
    auto printed = codegen::printCuda(*kernel);
    ASSERT_TRUE(printed) << printed.status().message() << "\n" << *text;
    const std::string name = std::string(fallback ? "fallback_" : "chosen_") + each.name;
    HostKernel run = compileForHost(hostText(*printed, *kernel, name), name, folder.path());
    ASSERT_TRUE(run);
    const bool oneThread = ir::isFallback(program.fusion.getSchedule()->toSchedule());
    const auto found = program.launch(
        arguments, each.inPlace, 0, [&](const runtime::KernelFrame &frame, size_t, int64_t tasks) {
          runtime::FailureRecord record;
          record.reset();
          const int64_t blocks = oneThread ? (tasks + printed->threads - 1) / printed->threads : tasks;
          run(frame.buffers, frame.sizes, &record, static_cast<unsigned>(blocks));
          EXPECT_FALSE(record.failed());
        });
    EXPECT_EQ(bytesOf(found), expected) << printed->text;
  }
}

TEST_P(CudaKernels, NvrtcCompilesThem) {
  const FusionCase &each = GetParam();
  auto nvrtc = codegen::Nvrtc::get();
  if (!nvrtc)
    GTEST_SKIP() << nvrtc.status().message();
  FusedProgram program(each.text, each.kind);
  ASSERT_TRUE(program.valid());
  OwningOpRef<ModuleOp> kernel = emitFor(program, /*fallback=*/false);
  ASSERT_TRUE(kernel);
  codegen::KernelCache cache(codegen::KernelCache::Options{});
  for (const char *target : {"sm_80", "sm_90", "sm_100"}) {
    auto compiler = codegen::CudaCompiler::make(target);
    ASSERT_TRUE(compiler) << compiler.status().message();
    codegen::CompileStats stats;
    auto object = cache.get(*kernel, *compiler, &stats);
    ASSERT_TRUE(object) << object.status().message();
    auto made = codegen::CudaKernel::deserialize(**object);
    ASSERT_TRUE(made) << made.status().message();
    // A fallback keeps the partial results of all columns of a task, for which registers need not suffice.
    // To stay within 32 registers, ptxas keeps one value in local memory around the code of a failed check.
    const uint64_t tolerated = made->usesChecks ? 4 : 0;
    if (each.kind == ir::FusionKind::loop || ir::isShared(program.fusion.getSchedule()->toSchedule()))
      EXPECT_LE(made->resources.spillStoreBytes, tolerated) << target;
    EXPECT_GT(made->resources.registers, 0u);
    EXPECT_EQ(made->cubin.substr(1, 3), "ELF");
    EXPECT_NE(made->ptx.find(std::string(".target ") + target), std::string::npos);
    RecordProperty(std::string("registers_") + target, static_cast<int>(made->resources.registers));
    RecordProperty(std::string("milliseconds_") + target, static_cast<int>(stats.total()));
  }
  EXPECT_EQ(cache.counters().compiled, 3u) << "one for each target";
}

INSTANTIATE_TEST_SUITE_P(Kinds, CudaKernels, ::testing::ValuesIn(fusionCases().begin(), fusionCases().end()),
                         [](const auto &info) { return std::string(info.param.name); });

namespace {

/// Every elementwise op of a dtype, each with a result.
struct AllOps {
  explicit AllOps(const std::string &dtype, int64_t count) {
    const bool isReal = dtype.find('f') != std::string::npos;
    const std::string type = "tensor<" + std::to_string(count) + "x" + dtype + ", #cpu>";
    const std::string flags = "tensor<" + std::to_string(count) + "xi1, #cpu>";
    std::string body, results, types;
    int number = 0;
    auto add = [&](const std::string &op, const std::string &result) {
      const std::string name = "%r" + std::to_string(number++);
      body += "  " + name + " = weft." + op + " : " + type + "\n";
      results += (results.empty() ? "" : ", ") + name;
      types += (types.empty() ? "" : ", ") + result;
    };
    for (const char *op : {"neg", "abs", "sign"})
      add(op + std::string(" %x"), type);
    for (const char *op :
         {"ceil",  "floor", "round", "trunc", "sqrt",  "rsqrt", "recip", "exp",    "expm1", "log",
          "log1p", "sin",   "cos",   "tan",   "asin",  "acos",  "atan",  "log2",   "log10", "exp2",
          "sinh",  "cosh",  "tanh",  "asinh", "acosh", "atanh", "erf",   "sigmoid"})
      if (isReal)
        add(op + std::string(" %x"), type);
    for (const char *op : {"add", "sub", "mul", "div", "rem", "mod", "pow", "max", "min"})
      add(op + std::string(" %x, %y"), type);
    for (const char *op : {"atan2", "copysign"})
      if (isReal)
        add(op + std::string(" %x, %y"), type);
    for (const char *op : {"and", "or", "xor"})
      if (!isReal)
        add(op + std::string(" %x, %y"), type);
    for (const char *op : {"eq", "ne", "lt", "le", "gt", "ge"})
      add(op + std::string(" %x, %y"), flags);
    text = "weft.func @main(%x: " + type + ", %y: " + type + ") -> (" + types + ") {\n" + body +
           "  weft.return " + results + " : " + types + "\n}";
  }
  std::string text;
};

class CudaOps : public ::testing::TestWithParam<const char *> {};

} // namespace

/// All values of 16-bit floats; of other types those at the limits, and others of every magnitude.
TEST_P(CudaOps, TheTextGivesTheBitsOfTheCpu) {
  const std::string dtype = GetParam();
  constexpr int64_t count = 65536;
  FusedProgram program(AllOps(dtype, count).text, ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  auto arguments = program.randomArguments(5, -4, 4);
  std::mt19937_64 random(3);
  const size_t size = itemsize(arguments[0].dtype);
  for (auto [number, argument] : llvm::enumerate(arguments)) {
    std::vector<std::byte> bytes(static_cast<size_t>(count) * size);
    argument.toBytes(bytes.data());
    for (size_t i = 0; i < count; ++i) {
      // Half of the pairs have values of like magnitude.
      uint64_t pattern = size == 2 && number == 0 ? i : random();
      if (i % 2 == 0 || number == 0)
        std::memcpy(bytes.data() + i * size, &pattern, size);
    }
    argument = ir::Literal::fromBytes(argument.dtype, {count}, bytes.data());
  }
  const auto expected = program.run(arguments, runnableTargets().front());
  OwningOpRef<ModuleOp> kernel = emitFor(program, /*fallback=*/false);
  ASSERT_TRUE(kernel);
  kernel = parseSourceString<ModuleOp>(*codegen::canonicalKernelText(*kernel),
                                       ParserConfig(program.module->getContext()));
  auto printed = codegen::printCuda(*kernel);
  ASSERT_TRUE(printed) << printed.status().message();
  const test::TemporaryFolder folder;
  HostKernel run = compileForHost(hostText(*printed, *kernel, dtype), dtype, folder.path());
  ASSERT_TRUE(run);
  const auto found =
      program.launch(arguments, {}, 0, [&](const runtime::KernelFrame &frame, size_t, int64_t tasks) {
        run(frame.buffers, frame.sizes, nullptr, static_cast<unsigned>(tasks));
      });
  ASSERT_EQ(found.size(), expected.size());
  for (size_t r = 0; r < found.size(); ++r)
    for (int64_t i = 0; i < count; ++i) {
      if (!expected[r].isReal()) {
        ASSERT_EQ(found[r].whole[i], expected[r].whole[i]) << "result " << r << ", element " << i;
        continue;
      }
      const double a = expected[r].real[i], b = found[r].real[i];
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b)))
          << "result " << r << ", element " << i << ": " << a << " and " << b;
    }
}

INSTANTIATE_TEST_SUITE_P(Dtypes, CudaOps,
                         ::testing::Values("f32", "f16", "bf16", "f64", "i8", "i16", "i32", "i64"),
                         [](const auto &info) { return std::string(info.param); });

TEST(Cuda, MemoryMayHaveAnyAlignment) {
  FusedProgram program(
      R"(weft.func @main(%x: tensor<1003xf32, #cpu>, %y: tensor<1003xf32, #cpu>) -> tensor<1003xf32, #cpu> {
      %0 = weft.mul %x, %y : tensor<1003xf32, #cpu>
      weft.return %0 : tensor<1003xf32, #cpu>
    })",
      ir::FusionKind::loop);
  ASSERT_TRUE(program.valid());
  OwningOpRef<ModuleOp> kernel = emitFor(program, /*fallback=*/false);
  ASSERT_TRUE(kernel);
  kernel = parseSourceString<ModuleOp>(*codegen::canonicalKernelText(*kernel),
                                       ParserConfig(program.module->getContext()));
  auto printed = codegen::printCuda(*kernel);
  ASSERT_TRUE(printed) << printed.status().message();
  const test::TemporaryFolder folder;
  HostKernel run = compileForHost(hostText(*printed, *kernel, "shifted"), "shifted", folder.path());
  ASSERT_TRUE(run);
  alignas(16) float x[1008], y[1008], z[1008];
  for (int shift = 0; shift < 4; ++shift) {
    for (int i = 0; i < 1008; ++i) {
      x[i] = static_cast<float>(i);
      y[i] = static_cast<float>(i % 7);
      z[i] = -1;
    }
    void *const buffers[] = {x + shift, y, z + 4 - shift};
    run(buffers, nullptr, nullptr, 2); // 512 elements a block
    for (int i = 0; i < 1003; ++i)
      ASSERT_EQ(z[4 - shift + i], static_cast<float>(i + shift) * static_cast<float>(i % 7))
          << shift << " " << i;
    for (int i = 0; i < 4 - shift; ++i)
      EXPECT_EQ(z[i], -1);
    EXPECT_EQ(z[4 - shift + 1003], -1);
  }
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST(Cuda, ReportsOfPtxasAreRead) {
  auto found =
      codegen::parseResources("ptxas info    : 0 bytes gmem\n"
                              "ptxas info    : Compiling entry function 'weft_kernel' for 'sm_90'\n"
                              "ptxas info    : Function properties for weft_kernel\n"
                              "    40 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads\n"
                              "ptxas info    : Used 34 registers, used 1 barriers, 4096 bytes smem\n");
  ASSERT_TRUE(found) << found.status().message();
  EXPECT_EQ(found->registers, 34u);
  EXPECT_EQ(found->stackBytes, 40u);
  EXPECT_EQ(found->spillStoreBytes, 12u);
  EXPECT_EQ(found->spillLoadBytes, 8u);
  EXPECT_EQ(found->sharedBytes, 4096u);
  auto none = codegen::parseResources("nothing of the kind");
  ASSERT_FALSE(none);
  EXPECT_NE(none.status().message().find("no report of ptxas"), std::string::npos);
}

TEST(Cuda, BytesThatAreNoKernelAreRefused) {
  codegen::CudaKernel kernel;
  kernel.cubin = "cubin";
  kernel.ptx = "ptx";
  kernel.usesChecks = true;
  kernel.dynamicShared = 98304;
  std::vector<char> bytes = kernel.serialize();
  auto again = codegen::CudaKernel::deserialize(bytes);
  ASSERT_TRUE(again) << again.status().message();
  EXPECT_EQ(again->cubin, "cubin");
  EXPECT_EQ(again->ptx, "ptx");
  EXPECT_TRUE(again->usesChecks);
  EXPECT_EQ(again->dynamicShared, 98304u);
  EXPECT_FALSE(again->usesTable);
  for (size_t size : {size_t(0), size_t(7), bytes.size() - 1})
    EXPECT_FALSE(codegen::CudaKernel::deserialize(llvm::ArrayRef(bytes).take_front(size))) << size;
  bytes[0] ^= 1;
  EXPECT_FALSE(codegen::CudaKernel::deserialize(bytes));
}

} // namespace weft::testing
