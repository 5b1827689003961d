//===- CublasLtProducts.cpp - Matrix products of a GPU's library ----------===//
//
// Part of Weft, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cuda/device/CublasLtProducts.h"

#include "runtime/cuda/CublasLt.h"
#include "runtime/memory/Layout.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

namespace weft::runtime {
namespace {

using cublaslt::ComputeType;
using cublaslt::Epilogue;
using cublaslt::MatmulAlgo;
using cublaslt::NumericalImplFlag;
using cublaslt::Table;
using LibraryStatus = cublaslt::Status;

/// How an element type is multiplied: in what, and what an algorithm may not do to be taken.
struct Arithmetic {
  cublaslt::DataType data = {};
  ComputeType compute = {};
  cublaslt::DataType scale = {};
  uint64_t refused = 0; ///< bits of NumericalImplFlag
  /// Parts of a sum may be added in the result's type, as that is the type of the sum.
  bool adds_in_result = false;
};

constexpr uint64_t bits(NumericalImplFlag flag) { return static_cast<uint64_t>(flag); }

std::optional<Arithmetic> arithmetic_of(DType dtype) {
  constexpr uint64_t halves = bits(NumericalImplFlag::input_f16) | bits(NumericalImplFlag::input_bf16) |
                              bits(NumericalImplFlag::accumulator_f16);
  constexpr uint64_t rounded = halves | bits(NumericalImplFlag::input_tf32) | bits(NumericalImplFlag::hmma);
  switch (dtype) {
  case DType::f32:
    return Arithmetic{cublaslt::DataType::f32, ComputeType::f32, cublaslt::DataType::f32, rounded, true};
  case DType::f64:
    return Arithmetic{cublaslt::DataType::f64, ComputeType::f64, cublaslt::DataType::f64,
                      rounded | bits(NumericalImplFlag::input_f32) | bits(NumericalImplFlag::accumulator_f32),
                      true};
  case DType::f16:
    return Arithmetic{cublaslt::DataType::f16, ComputeType::f32, cublaslt::DataType::f32,
                      bits(NumericalImplFlag::accumulator_f16)};
  case DType::bf16:
    return Arithmetic{cublaslt::DataType::bf16, ComputeType::f32, cublaslt::DataType::f32,
                      bits(NumericalImplFlag::accumulator_f16)};
  default:
    return std::nullopt;
  }
}

/// A variable of the environment with which the library computes other numbers than the program says; null
/// if none is set.
const char *override_of(DType dtype) {
  const auto is_set = [](const char *value) { return value && *value && std::string_view(value) != "0"; };
  if (dtype == DType::f32 && is_set(std::getenv("NVIDIA_TF32_OVERRIDE")))
    return "NVIDIA_TF32_OVERRIDE";
  if (dtype == DType::f32 && is_set(std::getenv("CUBLAS_EMULATE_SINGLE_PRECISION")))
    return "CUBLAS_EMULATE_SINGLE_PRECISION";
  if (dtype == DType::f64 && is_set(std::getenv("CUBLAS_EMULATE_DOUBLE_PRECISION")))
    return "CUBLAS_EMULATE_DOUBLE_PRECISION";
  return nullptr;
}

/// A matrix as the library takes it: columns of adjacent elements, or rows of them, which are the columns of
/// its transpose.
struct Matrix {
  int64_t rows = 0, columns = 0, leading = 0;
  bool transposed = false; ///< the library is given the transpose
};

/// Empty if neither dimension has adjacent elements, or elements are repeated.
std::optional<Matrix> matrix_of(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride) {
  if ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows))
    return Matrix{rows, columns, columns == 1 ? rows : column_stride, false};
  if ((columns == 1 || column_stride == 1) && row_stride >= columns)
    return Matrix{columns, rows, row_stride, true};
  return std::nullopt;
}

/// What the library makes, destroyed with this.
class Descriptors {
public:
  explicit Descriptors(const Table &table) : table_(table) {}
  Descriptors(const Descriptors &) = delete;
  Descriptors &operator=(const Descriptors &) = delete;
  ~Descriptors() {
    for (const cublaslt::MatrixLayout layout : {a, b, c})
      if (layout)
        (void)table_.cublasLtMatrixLayoutDestroy(layout);
    if (product)
      (void)table_.cublasLtMatmulDescDestroy(product);
  }

  template <typename T> LibraryStatus set(cublaslt::MatmulDescAttribute attribute, const T &value) const {
    return table_.cublasLtMatmulDescSetAttribute(product, attribute, static_cast<const void *>(&value),
                                                 sizeof value);
  }
  LibraryStatus add(cublaslt::MatrixLayout &made, cublaslt::DataType type, const Matrix &matrix,
                    int64_t batch, int64_t stride) const {
    LibraryStatus status =
        table_.cublasLtMatrixLayoutCreate(&made, type, static_cast<uint64_t>(matrix.rows),
                                          static_cast<uint64_t>(matrix.columns), matrix.leading);
    const auto count = static_cast<int32_t>(batch);
    if (status == LibraryStatus::success && batch > 1)
      status = table_.cublasLtMatrixLayoutSetAttribute(made, cublaslt::MatrixLayoutAttribute::batch_count,
                                                       &count, sizeof count);
    if (status == LibraryStatus::success && batch > 1)
      status = table_.cublasLtMatrixLayoutSetAttribute(
          made, cublaslt::MatrixLayoutAttribute::strided_batch_offset, &stride, sizeof stride);
    return status;
  }

  cublaslt::MatmulDesc product = nullptr;
  cublaslt::MatrixLayout a = nullptr, b = nullptr, c = nullptr; ///< the library's first, second and result

private:
  const Table &table_;
};

std::string status_text(const Table &table, LibraryStatus status) {
  return std::string(table.cublasLtGetStatusName(status)) + " (" + table.cublasLtGetStatusString(status) +
         ")";
}

/// The library counts columns first: its product is the transpose of ours, b first and then a.
class CublasLtContraction final : public Contraction {
public:
  CublasLtContraction(const CudaContext &context, const Table &table, cublaslt::Handle handle,
                      const ContractionShape &shape)
      : context_(context), table_(table), handle_(handle), shape_(shape), descriptors_(table) {}

  /// Makes the descriptors. An error is the library's.
  LibraryStatus describe(const Matrix &a, const Matrix &b, const Matrix &c, CUdeviceptr bias);
  /// Asks for algorithms, and takes the first that computes what is asked for. Text if there is none.
  std::optional<std::string> choose(size_t most_workspace, const ContractionAlignment &alignment);
  /// Takes the first of these algorithms that the library carries out as it is asked for. Text if there is
  /// none.
  std::optional<std::string> check(size_t most_workspace, const ContractionCandidates &candidates);
  /// What choose() was proposed and may be taken, best first.
  const std::vector<ContractionAlgorithm> &proposed() const { return proposed_; }

  const ContractionShape &shape() const { return shape_; }
  size_t scratch_bytes(int) const override { return workspace_; }
  size_t workspace_bytes() const override { return workspace_; }
  std::string implementation() const override { return implementation_; }

  Status run(const ContractionCall &call, const ContractionPlace &place) const override {
    if (!place.stream)
      return Status::error("cuBLASLt multiplies on a stream of '" + context_.name() + "' only");
    // The address of a bias is a field of the descriptor, which calls share.
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    LibraryStatus status = LibraryStatus::success;
    if (shape_.bias) {
      lock.lock();
      status = descriptors_.set(cublaslt::MatmulDescAttribute::bias_pointer, call.bias);
    }
    constexpr float one = 1, zero = 0;
    constexpr double wideOne = 1, wideZero = 0;
    const bool wide = shape_.dtype == DType::f64;
    const void *const alpha = wide ? static_cast<const void *>(&wideOne) : &one;
    const void *const beta = wide ? static_cast<const void *>(&wideZero) : &zero;
    if (status == LibraryStatus::success)
      status = table_.cublasLtMatmul(handle_, descriptors_.product, alpha, call.b, descriptors_.a, call.a,
                                     descriptors_.b, beta, call.c, descriptors_.c, call.c, descriptors_.c,
                                     &algorithm_, workspace_ ? call.scratch : nullptr, workspace_,
                                     static_cast<CUstream>(place.stream));
    if (status == LibraryStatus::success)
      return {};
    // An error of earlier work of the device may be told here first. The driver says so.
    const CUresult code = context_.table().cuStreamQuery(static_cast<CUstream>(place.stream));
    if (Status lost = context_.check(code, "multiplying by cuBLASLt"); context_.is_lost())
      return lost;
    return Status::error("'" + context_.name() + "', cuBLASLt: " + status_text(table_, status), "WEFT-E006");
  }

private:
  /// Whether an algorithm computes what is asked for.
  bool computes(const cublaslt::HeuristicResult &result, size_t most_workspace) const;
  /// Takes an algorithm, if the library says its number.
  bool take(const cublaslt::HeuristicResult &result);

  const CudaContext &context_;
  const Table &table_;
  const cublaslt::Handle handle_;
  const ContractionShape shape_;
  std::vector<ContractionAlgorithm> proposed_;
  Descriptors descriptors_;
  MatmulAlgo algorithm_ = {};
  size_t workspace_ = 0;
  std::string implementation_;
  mutable std::mutex mutex_;
};

LibraryStatus CublasLtContraction::describe(const Matrix &a, const Matrix &b, const Matrix &c,
                                            CUdeviceptr bias) {
  using cublaslt::MatmulDescAttribute;
  const Arithmetic arithmetic = *arithmetic_of(shape_.dtype);
  Descriptors &made = descriptors_;
  LibraryStatus status = table_.cublasLtMatmulDescCreate(&made.product, arithmetic.compute, arithmetic.scale);
  const auto then = [&](auto &&next) {
    if (status == LibraryStatus::success)
      status = next();
  };
  const auto operation = [](const Matrix &matrix) {
    return static_cast<int32_t>(matrix.transposed ? cublaslt::Operation::transpose
                                                  : cublaslt::Operation::none);
  };
  then([&] { return made.set(MatmulDescAttribute::trans_a, operation(b)); });
  then([&] { return made.set(MatmulDescAttribute::trans_b, operation(a)); });
  if (shape_.bias) {
    then([&] { return made.set(MatmulDescAttribute::epilogue, static_cast<uint32_t>(Epilogue::bias)); });
    // One that is there, because the library looks at it when it is asked for algorithms.
    then([&] { return made.set(MatmulDescAttribute::bias_pointer, reinterpret_cast<const void *>(bias)); });
  }
  then([&] { return made.add(made.a, arithmetic.data, b, shape_.batch, shape_.b_strides[0]); });
  then([&] { return made.add(made.b, arithmetic.data, a, shape_.batch, shape_.a_strides[0]); });
  then([&] { return made.add(made.c, arithmetic.data, c, shape_.batch, shape_.c_strides[0]); });
  return status;
}

/// A preference, destroyed with this.
class Preference {
public:
  explicit Preference(const Table &table)
      : table_(table), status_(table.cublasLtMatmulPreferenceCreate(&made_)) {}
  Preference(const Preference &) = delete;
  Preference &operator=(const Preference &) = delete;
  ~Preference() {
    if (made_)
      (void)table_.cublasLtMatmulPreferenceDestroy(made_);
  }
  template <typename T> void set(cublaslt::MatmulPreferenceAttribute attribute, T value) {
    if (status_ == LibraryStatus::success)
      status_ = table_.cublasLtMatmulPreferenceSetAttribute(made_, attribute, &value, sizeof value);
  }
  LibraryStatus status() const { return status_; }
  cublaslt::MatmulPreference get() const { return made_; }

private:
  const Table &table_;
  cublaslt::MatmulPreference made_ = nullptr;
  LibraryStatus status_;
};

std::optional<std::string> CublasLtContraction::choose(size_t most_workspace,
                                                       const ContractionAlignment &alignment) {
  using Attribute = cublaslt::MatmulPreferenceAttribute;
  const Arithmetic arithmetic = *arithmetic_of(shape_.dtype);
  constexpr uint32_t all = static_cast<uint32_t>(cublaslt::ReductionScheme::in_place) |
                           static_cast<uint32_t>(cublaslt::ReductionScheme::compute_type) |
                           static_cast<uint32_t>(cublaslt::ReductionScheme::output_type);
  Preference preference(table_);
  preference.set(Attribute::max_workspace_bytes, static_cast<uint64_t>(most_workspace));
  preference.set(Attribute::reduction_scheme_mask,
                 arithmetic.adds_in_result ? all
                                           : static_cast<uint32_t>(cublaslt::ReductionScheme::compute_type));
  preference.set(Attribute::min_alignment_a, alignment.b);
  preference.set(Attribute::min_alignment_b, alignment.a);
  preference.set(Attribute::min_alignment_c, alignment.c);
  preference.set(Attribute::min_alignment_d, alignment.c);
  if (preference.status() != LibraryStatus::success)
    return "cuBLASLt: " + status_text(table_, preference.status());
  constexpr int most = ContractionCandidates::most;
  std::array<cublaslt::HeuristicResult, most> found = {};
  int count = 0;
  const LibraryStatus status = table_.cublasLtMatmulAlgoGetHeuristic(
      handle_, descriptors_.product, descriptors_.a, descriptors_.b, descriptors_.c, descriptors_.c,
      preference.get(), most, found.data(), &count);
  if (status != LibraryStatus::success)
    return "cuBLASLt: " + status_text(table_, status);
  for (const cublaslt::HeuristicResult &result : std::span(found).first(static_cast<size_t>(count))) {
    if (!computes(result, most_workspace) || (proposed_.empty() && !take(result)))
      continue;
    std::ranges::copy(result.algo.words, proposed_.emplace_back().words.begin());
  }
  if (!proposed_.empty())
    return std::nullopt;
  return "cuBLASLt has no algorithm that computes it in " + std::string(name(shape_.dtype)) + " with " +
         std::to_string(most_workspace) + " bytes of workspace";
}

bool CublasLtContraction::computes(const cublaslt::HeuristicResult &result, size_t most_workspace) const {
  uint64_t computes = 0;
  size_t written = 0;
  return result.state == LibraryStatus::success && result.workspace_size <= most_workspace &&
         table_.cublasLtMatmulAlgoCapGetAttribute(&result.algo,
                                                  cublaslt::AlgoCapAttribute::numerical_impl_flags, &computes,
                                                  sizeof computes, &written) == LibraryStatus::success &&
         (computes & arithmetic_of(shape_.dtype)->refused) == 0;
}

bool CublasLtContraction::take(const cublaslt::HeuristicResult &result) {
  size_t written = 0;
  int32_t id = 0;
  if (table_.cublasLtMatmulAlgoConfigGetAttribute(&result.algo, cublaslt::AlgoConfigAttribute::id, &id,
                                                  sizeof id, &written) != LibraryStatus::success)
    return false;
  algorithm_ = result.algo;
  workspace_ = result.workspace_size;
  implementation_ = "cublaslt:" + std::to_string(id);
  return true;
}

std::optional<std::string> CublasLtContraction::check(size_t most_workspace,
                                                      const ContractionCandidates &candidates) {
  std::string last;
  for (const ContractionAlgorithm &candidate : candidates.algorithms) {
    MatmulAlgo words = {};
    std::ranges::copy(candidate.words, words.words);
    cublaslt::HeuristicResult result = {};
    const LibraryStatus status =
        table_.cublasLtMatmulAlgoCheck(handle_, descriptors_.product, descriptors_.a, descriptors_.b,
                                       descriptors_.c, descriptors_.c, &words, &result);
    // What the check writes of the algorithm is not documented.
    result.algo = words;
    if (status != LibraryStatus::success)
      last = ": " + status_text(table_, status);
    else if (computes(result, most_workspace) && take(result))
      return std::nullopt;
  }
  return "cuBLASLt takes none of the " + std::to_string(candidates.algorithms.size()) +
         " algorithms that the package has" + last +
         "; compile the package again with this library (WEFT-N012)";
}

/// Why the library is not even asked, or empty.
std::string refusal_of(const ContractionShape &shape, const ContractionChoice &choice,
                       const ContractionAlignment &alignment) {
  constexpr uint32_t alignmentOfBias = 16;
  if (choice.library != "cublaslt")
    return "the plan names '" + choice.library + "'";
  if (!arithmetic_of(shape.dtype))
    return "cuBLASLt does not multiply " + std::string(name(shape.dtype)) + " as Weft does";
  if (shape.residual || shape.relu || shape.more)
    return "cuBLASLt does not round a residual, a relu or a sum of products as single operations do";
  if (shape.bias && alignment.bias < alignmentOfBias)
    return "cuBLASLt takes a bias at addresses that are multiples of 16";
  if (shape.batch > INT32_MAX)
    return "cuBLASLt takes at most 2147483647 products";
  double flops = 2;
  for (const int64_t extent : {shape.batch, shape.m, shape.n, shape.k}) {
    if (extent == 0)
      return "there is nothing to multiply";
    flops *= static_cast<double>(extent);
  }
  if (flops < static_cast<double>(choice.library_flops))
    return "it is smaller than the plan gives to a library";
  if (const char *const changed = override_of(shape.dtype))
    return "with " + std::string(changed) + " in the environment, cuBLASLt does not compute " +
           std::string(name(shape.dtype)) + " as it is";
  return "";
}

} // namespace

Status CublasLtProducts::open() {
  if (handle_)
    return {};
  const CublasLt library = cublas_lt();
  if (!library.table)
    return Status::error("cuBLASLt: " + library.text());
  table_ = library.table;
  const LibraryStatus status = table_->cublasLtCreate(&handle_);
  if (status == LibraryStatus::success)
    return {};
  handle_ = nullptr;
  return Status::error("cuBLASLt cannot be used on '" + context_.name() +
                       "': " + status_text(*table_, status));
}

CublasLtProducts::~CublasLtProducts() {
  const ContextScope scope(context_);
  if (scope.status().ok() && handle_)
    (void)table_->cublasLtDestroy(handle_);
}

Expected<DeviceContraction> CublasLtProducts::find(const ContractionShape &shape,
                                                   const ContractionChoice &choice,
                                                   const ContractionAlignment &alignment) {
  const ContractionShape &s = shape;
  if (std::string refusal = refusal_of(shape, choice, alignment); !refusal.empty())
    return DeviceContraction{nullptr, std::move(refusal)};
  const auto a = matrix_of(s.k, s.m, s.a_strides[2], s.a_strides[1]);
  const auto b = matrix_of(s.n, s.k, s.b_strides[2], s.b_strides[1]);
  const auto c = matrix_of(s.n, s.m, s.c_strides[2], s.c_strides[1]);
  if (!a || !b || !c || c->transposed)
    return DeviceContraction{nullptr, "cuBLASLt does not take its strides"};
  const std::lock_guard lock(mutex_);
  if (Status status = open(); !status)
    return DeviceContraction{nullptr, status.message()};
  auto made = std::make_shared<CublasLtContraction>(context_, *table_, handle_, shape);
  if (const LibraryStatus status = made->describe(*a, *b, *c, aligned_); status != LibraryStatus::success)
    return DeviceContraction{nullptr, "cuBLASLt: " + status_text(*table_, status)};
  const auto workspace = static_cast<size_t>(choice.workspace_bytes);
  const ContractionCandidates &candidates = choice.candidates;
  const uint64_t release = table_->cublasLtGetVersion();
  const auto capability = static_cast<uint32_t>(capability_);
  // Algorithms for another GPU say nothing of this one.
  if (!candidates.algorithms.empty() && candidates.device == capability) {
    if (candidates.release != release)
      return DeviceContraction{
          nullptr,
          "the package has algorithms of cuBLASLt " + std::to_string(candidates.release) + ", and this is " +
              std::to_string(release) + "; compile the package again with this library (WEFT-N012)",
          true};
    if (auto refusal = made->check(workspace, candidates))
      return DeviceContraction{nullptr, *std::move(refusal), true};
    return DeviceContraction{std::move(made), ""};
  }
  if (auto refusal = made->choose(workspace, alignment))
    return DeviceContraction{nullptr, *std::move(refusal)};
  auto proposed = std::make_shared<const ContractionCandidates>(
      ContractionCandidates{release, capability, made->proposed()});
  return DeviceContraction{std::move(made), "", false, std::move(proposed)};
}

std::array<size_t, productOperands> product_bytes(const Contraction &product) {
  const ContractionShape &shape = static_cast<const CublasLtContraction &>(product).shape();
  const size_t item = itemsize(shape.dtype);
  // The plan's verifier has counted them, for its buffers.
  const auto reach = [&](int64_t rows, int64_t columns, const std::array<int64_t, 3> &strides) {
    return strided_elements(std::array{shape.batch, rows, columns}, strides).value_or(0) * item;
  };
  return {reach(shape.m, shape.k, shape.a_strides), reach(shape.k, shape.n, shape.b_strides),
          reach(shape.m, shape.n, shape.c_strides), shape.bias ? static_cast<size_t>(shape.n) * item : 0, 0};
}

} // namespace weft::runtime
