//===- ProductRefusalsTest.cpp - What the substitute for cuBLASLt refuses -===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Descriptions, preferences and algorithms: what is proposed, what is refused, and with which status.
//
//===----------------------------------------------------------------------===//
#include "test/unit/cudasim/driver/SoftwareProducts.h"

#include <cstring>
#include <gtest/gtest.h>

using namespace weft::cusim;
using lt::DataType;
using lt::Status;

namespace {

bool contains(const std::string &text, const std::string &part) {
  return text.find(part) != std::string::npos;
}

/// Runs with the library on a device, and gives what is written.
std::string withLibrary(const std::function<void(SoftwareProducts &)> &body) {
  return run({}, [&](SoftwareDriver &driver) {
    driver.start();
    SoftwareProducts library(driver);
    body(library);
  });
}

ProductCase sizes(int64_t m, int64_t n, int64_t k) {
  ProductCase what;
  what.m = m, what.n = n, what.k = k;
  return what;
}

template <class T>
T configured(SoftwareProducts &library, const lt::MatmulAlgo &algo, lt::AlgoConfigAttribute attribute) {
  T value{};
  size_t written = 0;
  EXPECT_EQ(library.cublasLtMatmulAlgoConfigGetAttribute(&algo, attribute, &value, sizeof value, &written),
            Status::success);
  EXPECT_EQ(written, sizeof value);
  return value;
}

uint64_t implementationOf(SoftwareProducts &library, const lt::MatmulAlgo &algo) {
  uint64_t flags = 0;
  EXPECT_EQ(library.cublasLtMatmulAlgoCapGetAttribute(&algo, lt::AlgoCapAttribute::numerical_impl_flags,
                                                      &flags, sizeof flags, nullptr),
            Status::success);
  return flags;
}

TEST(ProductAttributes, HaveASizeThatIsChecked) {
  const std::string output = withLibrary([](SoftwareProducts &library) {
    TestProduct product = library.make(sizes(4, 4, 4));
    using Attribute = lt::MatmulDescAttribute;
    uint32_t narrow = 1;
    uint64_t wide = 0;
    size_t written = 0;
    auto set = library.cublasLtMatmulDescSetAttribute;
    auto get = library.cublasLtMatmulDescGetAttribute;
    const lt::MatmulDesc desc = product.description;
    EXPECT_EQ(set(desc, Attribute::bias_pointer, &narrow, sizeof narrow), Status::invalid_value);
    EXPECT_EQ(set(desc, Attribute::epilogue, nullptr, sizeof narrow), Status::invalid_value);
    EXPECT_EQ(set(desc, Attribute(99), &narrow, sizeof narrow), Status::invalid_value);
    EXPECT_EQ(set(reinterpret_cast<lt::MatmulDesc>(product.a.layout), Attribute::epilogue, &narrow, 4),
              Status::invalid_value)
        << "a handle of another kind";
    EXPECT_EQ(get(desc, Attribute::epilogue, nullptr, 0, &written), Status::success);
    EXPECT_EQ(written, 4u) << "asked for with no place";
    EXPECT_EQ(get(desc, Attribute::epilogue, &wide, sizeof wide, &written), Status::invalid_value);
    EXPECT_EQ(get(desc, Attribute::epilogue, &narrow, sizeof narrow, nullptr), Status::success);
    EXPECT_EQ(narrow, uint32_t(lt::Epilogue::none));
    EXPECT_EQ(library.cublasLtMatrixLayoutGetAttribute(product.a.layout, lt::MatrixLayoutAttribute::columns,
                                                       &wide, sizeof wide, &written),
              Status::success);
    EXPECT_EQ(wide, 4u);
  });
  EXPECT_TRUE(contains(output, "cublasLtMatmulDescSetAttribute (call ")) << output;
  EXPECT_TRUE(contains(output, "the attribute has 8 bytes, and not 4")) << output;
}

TEST(ProductProposals, AreTheSameEachTimeAndKeepToTheWorkspace) {
  withLibrary([](SoftwareProducts &library) {
    TestProduct product = library.make(sizes(128, 10, 256));
    const auto all = library.propose(product), again = library.propose(product);
    ASSERT_GE(all.size(), 8u);
    ASSERT_EQ(all.size(), again.size());
    EXPECT_EQ(std::memcmp(all.data(), again.data(), all.size() * sizeof all[0]), 0);
    EXPECT_EQ(library.propose(product, 1 << 20, 3).size(), 3u);
    size_t withWorkspace = 0;
    for (const lt::HeuristicResult &one : all) {
      EXPECT_EQ(one.state, Status::success);
      EXPECT_GT(one.waves_count, 0);
      withWorkspace += one.workspace_size > 0;
    }
    EXPECT_GT(withWorkspace, 0u);
    for (const lt::HeuristicResult &one : library.propose(product, 0))
      EXPECT_EQ(one.workspace_size, 0u);
    for (const lt::HeuristicResult &one : library.propose(product, 20480))
      EXPECT_LE(one.workspace_size, 20480u);
  });
}

/// Asks with one attribute of the preference.
template <class T>
std::vector<lt::HeuristicResult> proposeWith(SoftwareProducts &library, const TestProduct &product,
                                             lt::MatmulPreferenceAttribute attribute, T value) {
  lt::MatmulPreference preference{};
  uint64_t most = 1 << 20;
  EXPECT_EQ(library.cublasLtMatmulPreferenceCreate(&preference), Status::success);
  auto set = [&](lt::MatmulPreferenceAttribute which, auto number) {
    EXPECT_EQ(library.cublasLtMatmulPreferenceSetAttribute(preference, which, &number, sizeof number),
              Status::success);
  };
  set(lt::MatmulPreferenceAttribute::max_workspace_bytes, most);
  set(attribute, value);
  std::vector<lt::HeuristicResult> results(64);
  int count = 0;
  library.cublasLtMatmulAlgoGetHeuristic(library.handle, product.description, product.a.layout,
                                         product.b.layout, product.c.layout, product.d.layout, preference, 64,
                                         results.data(), &count);
  results.resize(size_t(count));
  return results;
}

TEST(ProductProposals, KeepToThePreference) {
  withLibrary([](SoftwareProducts &library) {
    using Attribute = lt::MatmulPreferenceAttribute;
    using Config = lt::AlgoConfigAttribute;
    ProductCase what = sizes(64, 64, 256);
    what.compute = lt::ComputeType::f32_fast_tf32;
    TestProduct product = library.make(what);
    const size_t all = library.propose(product).size();
    const auto whole = proposeWith(library, product, Attribute::reduction_scheme_mask, 0u);
    EXPECT_LT(whole.size(), all);
    for (const lt::HeuristicResult &one : whole)
      EXPECT_EQ(configured<int32_t>(library, one.algo, Config::split_k_num), 1);
    using Flag = lt::NumericalImplFlag;
    const uint64_t plain = uint64_t(Flag::fma) | uint64_t(Flag::any_accumulator) | uint64_t(Flag::any_input);
    const auto byFma = proposeWith(library, product, Attribute::impl_mask, plain);
    EXPECT_FALSE(byFma.empty());
    for (const lt::HeuristicResult &one : byFma)
      EXPECT_TRUE(implementationOf(library, one.algo) & uint64_t(Flag::fma));
    // As on an H100, 43 needs operands at multiples of 16 bytes, and 23 does not.
    const auto misaligned = proposeWith(library, product, Attribute::min_alignment_a, 4u);
    bool has23 = false;
    for (const lt::HeuristicResult &one : misaligned) {
      const int32_t id = configured<int32_t>(library, one.algo, Config::id);
      has23 = has23 || id == 23;
      EXPECT_NE(id, 43);
    }
    EXPECT_TRUE(has23);
    EXPECT_TRUE(proposeWith(library, product, Attribute::min_alignment_d, 2u).empty());
  });
}

/// What asking for a case gives after a change.
Status refused(
    SoftwareProducts &library, const ProductCase &what,
    const std::function<void(TestProduct &)> &change = [](TestProduct &) {}) {
  TestProduct product = library.make(what);
  change(product);
  std::vector<lt::HeuristicResult> results;
  const Status status = library.ask(product, 1 << 20, 8, results);
  EXPECT_EQ(results.empty(), status != Status::success);
  return status;
}

TEST(ProductProposals, AreNoneForWhatIsNoProduct) {
  const std::string output = withLibrary([](SoftwareProducts &library) {
    const ProductCase plain = sizes(32, 32, 32);
    using Attribute = lt::MatrixLayoutAttribute;
    auto setOf = [&](auto which, Attribute attribute, auto value) {
      return [&library, which, attribute, value](TestProduct &product) {
        EXPECT_EQ(library.set((product.*which).layout, attribute, value), Status::success);
      };
    };
    EXPECT_EQ(refused(library, plain), Status::success);
    EXPECT_EQ(refused(library, plain, setOf(&TestProduct::a, Attribute::leading_dimension, int64_t(31))),
              Status::not_supported);
    EXPECT_EQ(refused(library, plain, setOf(&TestProduct::b, Attribute::rows, uint64_t(31))),
              Status::invalid_value);
    EXPECT_EQ(refused(library, plain, setOf(&TestProduct::d, Attribute::batch_count, int32_t(2))),
              Status::invalid_value);
    EXPECT_EQ(refused(library, plain, setOf(&TestProduct::d, Attribute::type, uint32_t(DataType::f16))),
              Status::not_supported);
    EXPECT_EQ(refused(library, plain,
                      [&](TestProduct &product) {
                        library.set(product.description, lt::MatmulDescAttribute::bias_pointer,
                                    reinterpret_cast<const void *>(product.a.address));
                      }),
              Status::invalid_value)
        << "as on an H100";
    ProductCase rowBias = plain;
    rowBias.epilogue = lt::Epilogue::bias, rowBias.orderD = lt::Order::row;
    EXPECT_EQ(refused(library, rowBias), Status::not_supported);
    ProductCase wide = plain;
    wide.compute = lt::ComputeType::f64, wide.scale = wide.in = wide.out = DataType::f64;
    EXPECT_EQ(refused(library, wide), Status::success);
    wide.epilogue = lt::Epilogue::relu;
    EXPECT_EQ(refused(library, wide), Status::not_supported);
    EXPECT_EQ(refused(library, sizes(32, 32, 0)), Status::success);
    EXPECT_EQ(refused(library, sizes(32, 0, 32)), Status::not_supported);
  });
  EXPECT_TRUE(contains(output, "the leading dimension 31 is less than 32")) << output;
  EXPECT_TRUE(contains(output, "the epilogue does not use the bias pointer, which is set")) << output;
}

TEST(ProductProposals, OfI8AreImmaForTransposedAAlone) {
  withLibrary([](SoftwareProducts &library) {
    ProductCase what = sizes(32, 32, 64);
    what.compute = lt::ComputeType::i32, what.scale = what.out = DataType::i32, what.in = DataType::i8;
    auto hasImma = [&](const ProductCase &one) {
      bool found = false;
      for (const lt::HeuristicResult &result : library.propose(library.make(one)))
        found = found || implementationOf(library, result.algo) & uint64_t(lt::NumericalImplFlag::imma);
      return found;
    };
    EXPECT_FALSE(hasImma(what));
    what.transposeA = true;
    EXPECT_TRUE(hasImma(what));
    what.m = 30; // no multiple of 4, nor is the leading dimension of D
    EXPECT_EQ(refused(library, what), Status::not_supported);
  });
}

TEST(ProductAlgorithms, AreMadeAndChangedByNumber) {
  withLibrary([](SoftwareProducts &library) {
    using Attribute = lt::AlgoConfigAttribute;
    const auto f32 = DataType::f32;
    int ids[8] = {}, count = 0;
    EXPECT_EQ(library.cublasLtMatmulAlgoGetIds(library.handle, lt::ComputeType::f32, f32, f32, f32, f32, f32,
                                               8, ids, &count),
              Status::success);
    EXPECT_EQ(count, 2);
    lt::MatmulAlgo algo{};
    auto init = library.cublasLtMatmulAlgoInit;
    EXPECT_EQ(init(library.handle, lt::ComputeType::f32, f32, f32, f32, f32, f32, 12345, &algo),
              Status::invalid_value);
    EXPECT_EQ(init(library.handle, lt::ComputeType::f32, f32, f32, f32, f32, f32, ids[0], &algo),
              Status::success);
    auto set = [&](Attribute attribute, auto value) {
      return library.cublasLtMatmulAlgoConfigSetAttribute(&algo, attribute, &value, sizeof value);
    };
    TestProduct product = library.make(sizes(16, 16, 64));
    lt::HeuristicResult result{};
    auto check = [&] {
      return library.cublasLtMatmulAlgoCheck(library.handle, product.description, product.a.layout,
                                             product.b.layout, product.c.layout, product.d.layout, &algo,
                                             &result);
    };
    EXPECT_EQ(check(), Status::success);
    EXPECT_EQ(result.workspace_size, 0u);
    EXPECT_EQ(set(Attribute::split_k_num, int32_t(4)), Status::success);
    EXPECT_EQ(check(), Status::not_supported) << "the scheme says how the parts are added";
    EXPECT_EQ(set(Attribute::reduction_scheme, uint32_t(lt::ReductionScheme::compute_type)), Status::success);
    EXPECT_EQ(check(), Status::success);
    EXPECT_EQ(result.workspace_size, 4u * 16 * 16 * 4);
    EXPECT_EQ(set(Attribute::tile_id, 999u), Status::success);
    EXPECT_EQ(check(), Status::not_supported);
    EXPECT_EQ(set(Attribute::tile_id, uint64_t(15)), Status::invalid_value) << "a wrong size";
    algo = {};
    EXPECT_EQ(check(), Status::invalid_value);
  });
}

TEST(ProductAlgorithms, AreForTheirTypesAndDevice) {
  withLibrary([](SoftwareProducts &library) {
    TestProduct product = library.make(sizes(16, 16, 64));
    ProductCase other = sizes(16, 16, 64);
    other.in = other.out = DataType::f16;
    TestProduct halves = library.make(other);
    lt::MatmulAlgo algo = library.propose(product)[0].algo;
    EXPECT_EQ(library.multiply(halves, &algo, nullptr), Status::not_supported);
    algo.words[1] ^= uint64_t(1) << 48; // where this library keeps the compute capability
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::arch_mismatch);
  });
}

TEST(ProductAlgorithms, NeedTheirWorkspaceAndAlignment) {
  const std::string output = withLibrary([](SoftwareProducts &library) {
    TestProduct product = library.make(sizes(16, 16, 64));
    lt::MatmulAlgo algo{};
    for (const lt::HeuristicResult &one : library.propose(product))
      if (one.workspace_size)
        algo = one.algo;
    const CUdeviceptr workspace = library.workspace;
    library.workspace = workspace + 8;
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::invalid_value);
    library.workspace = 0;
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::invalid_value);
    library.workspace = workspace;
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::success);
    product.a.address += 2;
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::not_supported);
    product.a.address = 0;
    EXPECT_EQ(library.multiply(product, &algo, nullptr), Status::invalid_value);
  });
  EXPECT_TRUE(contains(output, "the workspace must be at a multiple of 16 bytes")) << output;
  EXPECT_TRUE(contains(output, "the algorithm needs a workspace of ")) << output;
  EXPECT_TRUE(contains(output, "and A is none")) << output;
}

} // namespace
