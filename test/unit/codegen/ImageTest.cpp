//===- ImageTest.cpp - Images: what they hold, where they run, what is refused -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <thread>

namespace weft::testing {
namespace {

using codegen::CpuTarget;
constexpr CpuTarget v3{CpuTarget::v3}, v4{CpuTarget::v4};

const char *tail = "%scratch: memref<?xi8>, %check: memref<3xi64>, %begin: index, %end: index) ";

std::string streaming(int lanes) {
  std::string vector = "vector<" + std::to_string(lanes) + "xf32>";
  return "func.func @stream(%in: memref<?x" + vector + ">, %out: memref<?x" + vector + "> {llvm.noalias}, " +
         tail +
         "attributes {weft.buffers = array<i64: 0, 1>} {\n  %one = arith.constant 1 : index\n"
         "  scf.for %i = %begin to %end step %one {\n    %x = memref.load %in[%i] : memref<?x" +
         vector + ">\n" + "    %y = arith.addf %x, %x : " + vector + "\n" +
         "    memref.store %y, %out[%i] {nontemporal = true} : memref<?x" + vector + ">\n  }\n  return\n}\n";
}

std::string refusal(const std::string &text, CpuTarget target = v4) {
  auto module = parse(text);
  if (!module)
    return "no parse";
  auto object = codegen::compileKernelToObject(*module, target);
  return object ? "compiled" : object.status().message();
}

TEST(Assembly, StreamingStoresAreWholeVectorsAndFenced) {
  for (CpuTarget target : {v4, v3}) {
    auto module = parse(streaming(target == v4 ? 16 : 8));
    auto assembly = codegen::compileKernelToAssembly(*module, target);
    ASSERT_TRUE(assembly) << assembly.status().message();
    EXPECT_NE(assembly->find(target == v4 ? "vmovntps\t%zmm" : "vmovntps\t%ymm"), std::string::npos)
        << *assembly;
    EXPECT_NE(assembly->find("sfence"), std::string::npos) << *assembly;
    EXPECT_NE(assembly->find("\nstream:"), std::string::npos) << *assembly;
  }
}

TEST(Assembly, UsesTheWidthOfTheTargetAndNoContraction) {
  auto module = parse(mapKernel("k", "%p = arith.mulf %x0, %x1 : $T\n %y = arith.addf %p, %x0 : $T", 2, 16));
  auto wide = codegen::compileKernelToAssembly(*module, v4);
  ASSERT_TRUE(wide);
  EXPECT_NE(wide->find("%zmm"), std::string::npos);
  EXPECT_EQ(wide->find("vfmadd"), std::string::npos) << "a multiply-add that the kernel did not ask for";
  auto narrow = codegen::compileKernelToAssembly(*module, v3);
  ASSERT_TRUE(narrow);
  EXPECT_EQ(narrow->find("%zmm"), std::string::npos);
  EXPECT_NE(narrow->find("%ymm"), std::string::npos);
  auto ir = codegen::compileKernelToLLVM(*module, v4);
  ASSERT_TRUE(ir);
  EXPECT_NE(ir->find("define hidden void @k("), std::string::npos) << *ir;
}

TEST(Assembly, ElementaryFunctionsCallNothing) {
  for (const char *op : {"exp", "log", "tanh", "sin", "cos", "tan", "erf", "atan", "round", "roundeven",
                         "floor", "sqrt", "cbrt", "acosh"})
    for (CpuTarget target : {v4, v3}) {
      auto module = parse(mapKernel("k", "%y = math." + std::string(op) + " %x0 : $T", 1, 16));
      auto assembly = codegen::compileKernelToAssembly(*module, target);
      ASSERT_TRUE(assembly) << assembly.status().message();
      EXPECT_EQ(assembly->find("call"), std::string::npos) << op << "\n" << *assembly;
    }
}

TEST(Assembly, VectorisesScalarLoopsOnRequestOnly) {
  std::string text = mapKernel("k", "%y = arith.addf %x0, %x0 : $T", 1, 0);
  auto plain = codegen::compileKernelToAssembly(*parse(text), v4);
  text.replace(text.find("attributes {"), 12, "attributes {weft.vectorize, ");
  auto vectorised = codegen::compileKernelToAssembly(*parse(text), v4);
  ASSERT_TRUE(plain && vectorised);
  EXPECT_EQ(plain->find("vaddps"), std::string::npos) << *plain;
  EXPECT_NE(vectorised->find("%zmm"), std::string::npos) << *vectorised;
}

TEST(Refused, UnknownFunctionIsNamed) {
  std::string text = mapKernel("k", "%y = func.call @mystery(%x0) : (f32) -> f32", 1, 0);
  EXPECT_NE(refusal(text + "func.func private @mystery(f32) -> f32\n").find("'mystery'"), std::string::npos);
  std::string import =
      mapKernel("k", "%y = func.call @weft.import.sinpi(%x0) : (f64) -> f64", 1, 0, "f64", "f64");
  std::string message = refusal(import + "func.func private @weft.import.sinpi(f64) -> f64\n");
  EXPECT_NE(message.find("weft.import.sinpi"), std::string::npos) << message;
}

TEST(Refused, LibraryCallsOfCodeGenerationAreNamed) {
  // Heap allocations become calls of malloc; 128-bit division is a call of a runtime routine.
  std::string heap =
      mapKernel("k",
                "%m = memref.alloc(%i) : memref<?xf32>\n memref.store %x0, %m[%i] : memref<?xf32>\n"
                "%y = memref.load %m[%begin] : memref<?xf32>",
                1, 0);
  EXPECT_NE(refusal(heap).find("malloc"), std::string::npos) << refusal(heap);
  std::string division = mapKernel("k",
                                   "%a = arith.extsi %x0 : i64 to i128\n %b = arith.extsi %x1 : i64 to i128\n"
                                   "%s = arith.muli %a, %a : i128\n %q = arith.divsi %s, %b : i128\n"
                                   "%y = arith.trunci %q : i128 to i64",
                                   2, 0, "i64", "i64");
  EXPECT_NE(refusal(division).find("__divti3"), std::string::npos) << refusal(division);
}

TEST(Refused, ContractViolationsSayWhatIsWrong) {
  EXPECT_NE(refusal("func.func private @f()").find("no public"), std::string::npos);
  EXPECT_NE(refusal("func.func @f() { return }").find("last four"), std::string::npos);
  std::string twice =
      mapKernel("a", "%y = arith.negf %x0 : $T", 1, 0) + mapKernel("b", "%y = arith.negf %x0 : $T", 1, 0);
  EXPECT_NE(refusal(twice).find("two public"), std::string::npos);
  std::string slots = mapKernel("k", "%y = arith.negf %x0 : $T", 1, 0);
  slots.replace(slots.find("0, 1>"), 5, "0>");
  EXPECT_NE(refusal(slots).find("names 1 slots for 2"), std::string::npos) << refusal(slots);
  std::string rank = "func.func @k(%a: memref<?x?xf32>, " + std::string(tail) +
                     "attributes {weft.buffers = array<i64: 0>} { return }";
  EXPECT_NE(refusal(rank).find("1-D"), std::string::npos) << refusal(rank);
}

TEST(Kernel, ReadsSizesScratchAndWritesTheCheckRecord) {
  std::string text =
      "func.func @k(%n: index, %in: memref<?xi32>, %m: index, %again: memref<?xf32>, %out: memref<?xi64>, " +
      std::string(tail) +
      "attributes {weft.buffers = array<i64: 1, 1, 0>} {\n"
      "  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n  %c2 = arith.constant 2 : index\n"
      "  %b = arith.constant 77 : i8\n  memref.store %b, %scratch[%c1] : memref<?xi8>\n"
      "  %s = memref.load %scratch[%c1] : memref<?xi8>\n  %s64 = arith.extui %s : i8 to i64\n"
      "  memref.store %s64, %check[%c0] : memref<3xi64>\n"
      "  %v = memref.load %in[%begin] : memref<?xi32>\n  %f = memref.load %again[%begin] : memref<?xf32>\n"
      "  %bits = arith.bitcast %f : f32 to i32\n  %d = arith.subi %v, %bits : i32\n"
      "  %d64 = arith.extsi %d : i32 to i64\n  memref.store %d64, %check[%c1] : memref<3xi64>\n"
      "  %nm = arith.muli %n, %m : index\n  %e = func.call @helper(%nm, %end) : (index, index) -> i64\n"
      "  memref.store %e, %out[%c0] : memref<?xi64>\n  return\n}\n"
      "func.func private @helper(%a: index, %b: index) -> i64 {\n  %s = arith.addi %a, %b : index\n"
      "  %r = arith.index_cast %s : index to i64\n  return %r : i64\n}\n";
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(text, target);
    ASSERT_NE(kernel.fn, nullptr);
    int64_t out = 0, sizes[] = {6, 7};
    int32_t in[4] = {1, 2, 3, 4};
    void *buffers[] = {&out, in};
    alignas(64) char scratch[64];
    runtime::CheckRecord check;
    runtime::KernelFrame frame{buffers, sizes, importTable(), scratch, &check};
    kernel.fn(&frame, 2, 100);
    EXPECT_EQ(out, 142);
    EXPECT_EQ(check.check, 77);
    EXPECT_EQ(check.position, 0);
    EXPECT_EQ(check.value, 0);
  }
}

TEST(Kernel, AsksForBuffersAndSizesByTheirPlaces) {
  const std::string ask = "func.func private @weft.buffer.f32(index) -> memref<?xf32>\n"
                          "func.func private @weft.size(index) -> index\n";
  const std::string body = "  %n = func.call @weft.size(%begin) : (index) -> index\n"
                           "  %x = func.call @weft.buffer.f32(%n) : (index) -> memref<?xf32>\n"
                           "  %v = memref.load %x[%end] : memref<?xf32>\n"
                           "  %c0 = arith.constant 0 : index\n";
  const std::string head = "func.func @k(%out: memref<?xf32>, " + std::string(tail) +
                           "attributes {weft.buffers = array<i64: 0>} {\n";
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(ask + head + body + "  memref.store %v, %out[%c0] : memref<?xf32>\n  return\n}\n", target);
    float out = 0, first[] = {1, 2, 3}, second[] = {4, 5, 6};
    kernel.run({&out, first, second}, 3, 2, {9, 9, 9, 2});
    EXPECT_EQ(out, 6);
    kernel.run({&out, first, second}, 0, 1, {1});
    EXPECT_EQ(out, 2);
  }
  // Only the public function has the arrays.
  const std::string helper = ask + head + "  call @helper(%begin) : (index) -> ()\n  return\n}\n" +
                             "func.func private @helper(%i: index) {\n"
                             "  %n = func.call @weft.size(%i) : (index) -> index\n  return\n}\n";
  EXPECT_NE(refusal(helper).find("calls 'weft.size' in a helper"), std::string::npos) << refusal(helper);
  const std::string number = "func.func private @weft.size(index) -> f32\n" + head +
                             "  %n = func.call @weft.size(%begin) : (index) -> f32\n  return\n}\n";
  EXPECT_NE(refusal(number).find("declares 'weft.size' of another type"), std::string::npos)
      << refusal(number);
}

TEST(Kernel, MasksGathersReducesAndTransposes) {
  std::string text =
      "func.func @k(%in: memref<?xf32>, %out: memref<?xf32>, " + std::string(tail) +
      "attributes {weft.buffers = array<i64: 0, 1>} {\n"
      "  %c0 = arith.constant 0 : index\n  %c32 = arith.constant 32 : index\n  %c48 = arith.constant 48 : "
      "index\n"
      "  %zero = arith.constant 0.0 : f32\n  %pass = arith.constant dense<0.0> : vector<16xf32>\n"
      "  %mask = vector.create_mask %end : vector<16xi1>\n"
      "  %x = vector.maskedload %in[%c0], %mask, %pass : memref<?xf32>, vector<16xi1>, vector<16xf32> into "
      "vector<16xf32>\n"
      "  vector.maskedstore %out[%c0], %mask, %x : memref<?xf32>, vector<16xi1>, vector<16xf32>\n"
      "  %sum = vector.reduction <add>, %x, %zero : vector<16xf32> into f32\n"
      "  memref.store %sum, %out[%c32] : memref<?xf32>\n"
      "  %two = arith.constant dense<2> : vector<16xi32>\n  %lanes = vector.step : vector<16xindex>\n"
      "  %i = arith.index_cast %lanes : vector<16xindex> to vector<16xi32>\n"
      "  %even = arith.muli %i, %two : vector<16xi32>\n"
      "  %g = vector.gather %in[%c0] [%even], %mask, %pass : memref<?xf32>, vector<16xi32>, vector<16xi1>, "
      "vector<16xf32> into vector<16xf32>\n"
      "  %square = vector.shape_cast %g : vector<16xf32> to vector<4x4xf32>\n"
      "  %turned = vector.transpose %square, [1, 0] : vector<4x4xf32> to vector<4x4xf32>\n"
      "  %flat = vector.shape_cast %turned : vector<4x4xf32> to vector<16xf32>\n"
      "  vector.store %flat, %out[%c48] : memref<?xf32>, vector<16xf32>\n  return\n}\n";
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(text, target);
    std::vector<float> in(64), out(64, -1.0f);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = i + 1;
    kernel.run({in.data(), out.data()}, 0, 11);
    EXPECT_EQ(out[10], 11);
    EXPECT_EQ(out[11], -1);
    EXPECT_EQ(out[32], 66);
    for (int i = 0; i < 16; ++i) {
      int source = i % 4 * 4 + i / 4;
      EXPECT_EQ(out[48 + i], source < 11 ? 2 * source + 1 : 0) << i;
    }
  }
}

TEST(Kernel, StreamsRight) {
  for (CpuTarget target : runnableTargets()) {
    int lanes = target == v4 ? 16 : 8;
    Kernel kernel(streaming(lanes), target);
    alignas(64) float in[64], out[64] = {};
    for (int i = 0; i < 64; ++i)
      in[i] = i;
    kernel.run({in, out}, 1, 3);
    for (int i = 0; i < 64; ++i)
      EXPECT_EQ(out[i], i >= lanes && i < 3 * lanes ? 2.0f * i : 0.0f);
  }
}

TEST(Kernel, CopiesBecomeLoops) {
  std::string text = "func.func @k(%in: memref<?xf32>, %out: memref<?xf32>, " + std::string(tail) +
                     "attributes {weft.buffers = array<i64: 0, 1>} {\n"
                     "  %src = memref.reinterpret_cast %in to offset: [0], sizes: [1000], strides: [1] : "
                     "memref<?xf32> to memref<1000xf32>\n"
                     "  %dst = memref.reinterpret_cast %out to offset: [0], sizes: [1000], strides: [1] : "
                     "memref<?xf32> to memref<1000xf32>\n"
                     "  memref.copy %src, %dst : memref<1000xf32> to memref<1000xf32>\n  return\n}\n";
  for (CpuTarget target : runnableTargets()) {
    Kernel kernel(text, target);
    std::vector<float> in(1001), out(1001, -1.0f);
    for (size_t i = 0; i < in.size(); ++i)
      in[i] = i;
    kernel.run({in.data(), out.data()}, 0, 1);
    EXPECT_EQ(out[999], 999);
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1000], -1);
  }
}

TEST(Image, RunsAtAnyAddress) {
  std::vector<codegen::LinkInput> inputs;
  std::vector<std::string> ops = {"math.exp", "math.tanh", "math.sin"};
  CpuTarget target = runnableTargets().front();
  for (const std::string &op : ops) {
    auto module = parse(mapKernel("k", "%y = " + op + " %x0 : $T", 1, 8));
    auto object = codegen::compileKernelToObject(*module, target);
    ASSERT_TRUE(object) << object.status().message();
    inputs.push_back({op, std::make_shared<const std::vector<char>>(std::move(*object))});
  }
  auto linked = codegen::linkImage(inputs);
  ASSERT_TRUE(linked) << linked.status().message();
  EXPECT_EQ(linked->symbols.size(), 3u);
  EXPECT_EQ(linked->size % codegen::LinkedImage::pageSize, 0u);
  for (auto &[name, offset] : linked->symbols) {
    EXPECT_GE(offset, codegen::LinkedImage::padding);
    EXPECT_LT(offset, linked->text.size());
  }
  std::mt19937_64 random(5);
  float x[8] = {-3, -1, -0.25, 0, 0.25, 1, 2, 3}, y[8];
  void *buffers[] = {x, y};
  runtime::CheckRecord check;
  runtime::KernelFrame frame{buffers, nullptr, importTable(), nullptr, &check};
  for (int round = 0; round < 50; ++round) {
    void *address =
        reinterpret_cast<void *>((random() % (uint64_t(1) << 45) + (uint64_t(1) << 44)) & ~uint64_t(4095));
    LoadedImage image(*linked, address);
    image.function("math.exp")(&frame, 0, 8);
    for (int i = 0; i < 8; ++i)
      ASSERT_NEAR(y[i], std::exp(x[i]), 1e-5);
    image.function("math.sin")(&frame, 0, 8);
    for (int i = 0; i < 8; ++i)
      ASSERT_NEAR(y[i], std::sin(x[i]), 1e-6);
  }
}

TEST(Image, SharesEqualKernelsAndRefusesEqualNames) {
  auto a = parse(mapKernel("a", "%y = arith.negf %x0 : $T", 1, 8));
  auto b = parse(mapKernel("b", "%y = arith.negf %x0 : $T", 1, 8));
  auto objectA = codegen::compileKernelToObject(*a, v3), objectB = codegen::compileKernelToObject(*b, v3);
  ASSERT_TRUE(objectA && objectB);
  EXPECT_EQ(*objectA, *objectB) << "a kernel's name must not show in its object";
  auto shared = [](const std::vector<char> &bytes) {
    return std::make_shared<const std::vector<char>>(bytes);
  };
  auto linked = codegen::linkImage({{"a", shared(*objectA)}, {"b", shared(*objectB)}});
  ASSERT_TRUE(linked) << linked.status().message();
  EXPECT_EQ(linked->symbols[0].second, linked->symbols[1].second);
  auto clash = codegen::linkImage({{"a", shared(*objectA)}, {"a", shared(*objectB)}});
  ASSERT_FALSE(clash);
  EXPECT_NE(clash.status().message().find("'a'"), std::string::npos);
  auto broken = codegen::linkImage({{"a", shared(std::vector<char>(100, 'x'))}});
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.status().message().find("kernel 'a'"), std::string::npos);
  auto cut = *objectA;
  cut.resize(cut.size() / 2);
  EXPECT_FALSE(codegen::linkImage({{"a", shared(cut)}}));
}

TEST(Image, CompilesOnManyThreads) {
  std::string text = mapKernel("k", "%e = math.exp %x0 : $T\n %y = math.tanh %e : $T", 1, 16);
  auto module = parse(text);
  auto first = codegen::compileKernelToObject(*module, v4);
  ASSERT_TRUE(first);
  std::vector<std::thread> threads;
  std::atomic<int> same{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 3; ++i) {
        auto object = codegen::compileKernelToObject(*module, v4);
        same += object && *object == *first;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(same, 12);
}

} // namespace
} // namespace weft::testing
