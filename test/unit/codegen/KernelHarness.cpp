//===- KernelHarness.cpp - Runs kernels written as MLIR text ---------------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "KernelHarness.h"

#include "mlir/Parser/Parser.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/mman.h>

namespace weft::testing {

LoadedImage::LoadedImage(const codegen::LinkedImage &image, void *address) {
  size = image.size;
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | (address ? MAP_FIXED_NOREPLACE : 0);
  void *at = ::mmap(address, size, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (at == MAP_FAILED) {
    ADD_FAILURE() << "mapping " << size << " bytes at " << address << " failed";
    return;
  }
  bytes = static_cast<char *>(at);
  auto put = [&](const std::vector<char> &part, uint64_t offset) {
    if (!part.empty())
      std::memcpy(bytes + offset, part.data(), part.size());
  };
  put(image.text, image.textOffset);
  put(image.rodata, image.rodataOffset);
  put(image.data, image.dataOffset);
  EXPECT_EQ(0, ::mprotect(bytes, image.rodataOffset, PROT_READ | PROT_EXEC));
  if (image.dataOffset > image.rodataOffset) {
    EXPECT_EQ(0, ::mprotect(bytes + image.rodataOffset, image.dataOffset - image.rodataOffset, PROT_READ));
  }
  symbols.insert(image.symbols.begin(), image.symbols.end());
}

LoadedImage::~LoadedImage() {
  if (bytes)
    ::munmap(bytes, size);
}

runtime::KernelFn LoadedImage::function(const std::string &symbol) const {
  auto found = symbols.find(symbol);
  if (!bytes || found == symbols.end())
    return nullptr;
  return reinterpret_cast<runtime::KernelFn>(bytes + found->second);
}

mlir::MLIRContext &context() {
  static mlir::MLIRContext *made = [] {
    mlir::DialectRegistry registry;
    codegen::registerKernelDialects(registry);
    auto *fresh = new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    fresh->loadAllAvailableDialects();
    return fresh;
  }();
  return *made;
}

mlir::OwningOpRef<mlir::ModuleOp> parse(const std::string &text) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context()));
  EXPECT_TRUE(module) << text;
  return module;
}

bool canRun(codegen::CpuTarget target) {
  return target.level == codegen::CpuTarget::v4 ? __builtin_cpu_supports("x86-64-v4")
                                                : __builtin_cpu_supports("x86-64-v3");
}

std::vector<codegen::CpuTarget> runnableTargets() {
  std::vector<codegen::CpuTarget> targets;
  for (codegen::CpuTarget target : {codegen::CpuTarget{codegen::CpuTarget::v4}, {codegen::CpuTarget::v3}})
    if (canRun(target))
      targets.push_back(target);
  // Nearly all of a test's time goes into compiling its kernels.
  if (testLevel() == "quick" && targets.size() > 1)
    targets.resize(1);
  return targets;
}

Kernel::Kernel(const std::string &text, codegen::CpuTarget target) { build(text, target); }

void Kernel::build(const std::string &text, codegen::CpuTarget target) {
  auto module = parse(text);
  if (!module)
    return;
  auto symbol = codegen::kernelSymbol(*module);
  ASSERT_TRUE(symbol) << symbol.status().message();
  auto object = codegen::compileKernelToObject(*module, target, &stats);
  ASSERT_TRUE(object) << object.status().message();
  auto linked =
      codegen::linkImage({{*symbol, std::make_shared<const std::vector<char>>(std::move(*object))}});
  ASSERT_TRUE(linked) << linked.status().message();
  image = std::make_unique<LoadedImage>(*linked);
  fn = image->function(*symbol);
}

void Kernel::run(std::vector<void *> buffers, int64_t begin, int64_t end, std::vector<int64_t> sizes) const {
  ASSERT_NE(fn, nullptr);
  alignas(64) char scratch[4096] = {};
  runtime::CheckRecord check;
  runtime::KernelFrame frame{buffers.data(), sizes.data(), importTable(), scratch, &check};
  fn(&frame, begin, end);
}

void *const *importTable() {
  static void *const table[] = {
#define WEFT_IMPORT_ADDRESS(name) reinterpret_cast<void *>(static_cast<decltype(::name) *>(::name)),
      WEFT_KERNEL_IMPORTS(WEFT_IMPORT_ADDRESS)
#undef WEFT_IMPORT_ADDRESS
  };
  return table;
}

std::string mapKernel(const std::string &name, const std::string &body, int arity, int lanes,
                      const std::string &in, const std::string &out) {
  auto shaped = [&](const std::string &element) {
    return lanes ? "vector<" + std::to_string(lanes) + "x" + element + ">" : element;
  };
  std::string arguments, slots, loads;
  for (int i = 0; i < arity; ++i) {
    std::string n = std::to_string(i);
    arguments += "%b" + n + ": memref<?x" + in + ">, ";
    slots += n + ", ";
    loads +=
        lanes ? "      %x" + n + " = vector.load %b" + n + "[%i] : memref<?x" + in + ">, " + shaped(in) + "\n"
              : "      %x" + n + " = memref.load %b" + n + "[%i] : memref<?x" + in + ">\n";
  }
  std::string text = body;
  for (const auto &[from, to] : {std::pair<std::string, std::string>{"$T", shaped(in)}, {"$U", shaped(out)}})
    for (size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, from.size(), to);
  std::string store = lanes ? "      vector.store %y, %out[%i] : memref<?x" + out + ">, " + shaped(out) + "\n"
                            : "      memref.store %y, %out[%i] : memref<?x" + out + ">\n";
  return "func.func @" + name + "(" + arguments + "%out: memref<?x" + out +
         "> {llvm.noalias}, %scratch: memref<?xi8>, %check: memref<3xi64>, %begin: index, %end: index) "
         "attributes {weft.buffers = array<i64: " +
         slots + std::to_string(arity) + ">} {\n  %step = arith.constant " +
         std::to_string(lanes ? lanes : 1) + " : index\n  scf.for %i = %begin to %end step %step {\n" +
         loads + "      " + text + "\n" + store + "  }\n  return\n}\n";
}

} // namespace weft::testing
